"""HammingIndex: against the reference, beside a dict, files, threads and bad input."""

import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from lshfast._common.container import sealed
from lshfast._common.errors import FormatError
from lshfast.index.hamming.hamming_index import HammingIndex
from lshfast.index.hamming.segments import method_of
from lshfast.index.keys import DuplicateKeyError
from lshfast.kernels.checksum import checksum
from tests.index.hamming_codes import clustered, grow, small_segments
from tests.reference import hamming as reference

BITS = [64, 128, 256, 1024, 4096]


def answers(matches):
    return [[(match.key, match.distance) for match in answer] for answer in matches]


# The index


@pytest.mark.few_cases
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 300])
def test_queries(level, bits, n):
    codes, queries = clustered(n, bits // 64), clustered(12, bits // 64)
    index = HammingIndex(bits)
    assert index.insert(range(n), codes) == n == len(index)
    for radius in (0, 3, bits // 2, bits):
        wanted = [
            reference.within(codes.tolist(), query, radius)
            for query in queries.tolist()
        ]
        assert answers(index.within(queries, radius)) == wanted
    for k in (1, 10, n + 5):
        wanted = [
            reference.nearest(codes.tolist(), query, k) for query in queries.tolist()
        ]
        assert answers(index.query(queries, k)) == wanted
    assert index.within(queries[0]) == index.within(queries[:1])[0]
    assert index.query(queries[0], 1) == index.query(queries[:1], 1)[0]


@pytest.mark.slow
@pytest.mark.few_cases
@pytest.mark.parametrize("bits", [64, 128])
def test_queries_of_several_segments(level, bits, monkeypatch):
    """Rows that were inserted in many batches, some removed and some replaced, are in segments and in none."""
    small_segments(monkeypatch)
    codes = clustered(600, bits // 64)
    index = HammingIndex(bits, on_duplicate="replace")
    model = grow(index, codes)
    assert method_of(index._entries.view(), bits, 3) == "blocks"
    assert len(index._entries.view().segments) > 1
    names, held, queries = [*model], [*model.values()], codes[::40]
    assert [*index] == names
    for radius in (0, 2, 5, 30):
        wanted = [
            [(names[row], d) for row, d in reference.within(held, query, radius)]
            for query in queries.tolist()
        ]
        found = index.within(queries, radius)
        assert answers(found) == wanted
        assert found.method == "blocks"
    for k in (1, 5, 1000):
        wanted = [
            [(names[row], d) for row, d in reference.nearest(held, query, k)]
            for query in queries.tolist()
        ]
        assert answers(index.query(queries, k)) == wanted
    wanted = [(names[i], names[j], d) for i, j, d in reference.pairs(held, 3)]
    assert [*index.pairs(3)] == wanted


def test_the_method_depends_on_the_radius_and_the_number_of_codes():
    rng = np.random.default_rng(1)
    index = HammingIndex()
    index.insert(range(20_000), rng.integers(0, 2**64, (20_000, 1), np.uint64))
    query = np.zeros((1, 1), np.uint64)
    assert [index.within(query, radius).method for radius in (3, 25)] == [
        "blocks",
        "scan",
    ]
    assert index.describe(3).startswith("blocks of")
    assert index.describe(25) == "scan of 20,000 codes of 64 bits"
    few = HammingIndex()
    few.insert(range(8), rng.integers(0, 2**64, (8, 1), np.uint64))
    assert few.within(query).method == few.query(query).method == "scan"


def test_codes_that_share_all_but_a_few_bits_are_scanned():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**6, (20_000, 1), np.uint64)
    index = HammingIndex()
    index.insert(range(20_000), codes)
    found = index.within(codes[:1], 3)
    assert found.method == "scan"
    distances = np.array(
        [bin(int(code)).count("1") for code in (codes ^ codes[0]).ravel()]
    )
    assert len(found[0]) == np.count_nonzero(distances <= 3)


def test_keys_of_any_kind():
    codes, index = clustered(6, 1), HammingIndex()
    index.insert([1, 2, 3], codes[:3])
    assert 1 in index
    assert True in index
    assert 2.0 in index
    assert 2.5 not in index
    assert "a" not in index
    index.insert("a", codes[3])
    index.insert([("b", 1), 2**70], codes[4:])
    assert [*index] == [1, 2, 3, "a", ("b", 1), 2**70]
    assert index.within(codes[3], 0)[0].key in ("a", *range(4))
    index.remove([True, "a"])
    assert [*index] == [2, 3, ("b", 1), 2**70]


@pytest.mark.parametrize("keys", [[5, 6, 5, 7], ["a", "b", "a", "c"]])
def test_duplicates(keys):
    codes = np.arange(4, dtype=np.uint64)[:, None]
    index = HammingIndex()
    with pytest.raises(DuplicateKeyError) as caught:
        index.insert(keys, codes)
    assert (caught.value.key, caught.value.position) == (keys[0], 2)
    assert len(index) == 0
    index.insert(keys[:2], codes[:2])
    with pytest.raises(DuplicateKeyError, match=r"keys\[1\]"):
        index.insert([keys[3], keys[1]], codes[:2])
    assert [*index] == keys[:2]
    for rule_, held in (("replace", [1, 2, 3]), ("skip", [0, 1, 3])):
        index = HammingIndex(on_duplicate=rule_)
        assert index.insert(keys, codes) == 3
        assert sorted(index.items()[1].ravel().tolist()) == held
        assert index.insert(keys[0], codes[3]) == (rule_ == "replace")


def alternating(key):
    """Return a key that is negative, small or above 2**63 - 1."""
    return key + [-60, 0, 2**63][key % 3]


class BesideADict(RuleBasedStateMachine):
    """Inserts, removals and queries in any order, beside a dict."""

    @initialize(
        words=st.integers(1, 2),
        kind=st.sampled_from([int, str, lambda key: key << 58 | key, alternating]),
    )
    def begin(self, words, kind):
        self.words, self.kind, self.model = words, kind, {}
        self.index = HammingIndex(64 * words, radius=2, on_duplicate="replace")
        self.pool = clustered(40, words, bits=10)

    def codes(self, places):
        return self.pool[places].reshape(-1, self.words)

    @rule(
        entries=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 39)), max_size=30)
    )
    def insert(self, entries):
        keys = [self.kind(key) for key, _ in entries]
        codes = self.codes([place for _, place in entries])
        wanted = dict(zip(keys, codes.tolist(), strict=True))
        assert self.index.insert(keys, codes) == len(wanted)
        last = {key: place for place, key in enumerate(keys)}
        for key in sorted(wanted, key=last.__getitem__):
            self.model.pop(key, None)
            self.model[key] = wanted[key]

    @rule(keys=st.lists(st.integers(0, 60), max_size=20))
    def remove(self, keys):
        keys = [self.kind(key) for key in keys]
        if all(key in self.model for key in keys):
            self.index.remove(keys)
            for key in keys:
                self.model.pop(key, None)
        else:
            with pytest.raises(KeyError):
                self.index.remove(keys)

    @rule(place=st.integers(0, 39), radius=st.integers(0, 12))
    def within(self, place, radius):
        names = [*self.model]
        found = reference.within(
            [*self.model.values()], self.pool[place].tolist(), radius
        )
        assert self.index.within(self.pool[place], radius) == [
            (names[row], d) for row, d in found
        ]

    @rule(place=st.integers(0, 39), k=st.integers(1, 70))
    def nearest(self, place, k):
        names = [*self.model]
        found = reference.nearest([*self.model.values()], self.pool[place].tolist(), k)
        assert self.index.query(self.pool[place], k) == [
            (names[row], d) for row, d in found
        ]

    @invariant()
    def has_the_same_keys(self):
        if hasattr(self, "model"):
            assert [*self.index] == [*self.model]
            assert len(self.index) == len(self.model)


@pytest.mark.slow
def test_beside_a_dict(monkeypatch):
    small_segments(monkeypatch)
    run_state_machine_as_test(
        BesideADict,
        settings=settings(max_examples=30, stateful_step_count=20, deadline=None),
    )


def test_readers_see_batches_completely(monkeypatch):
    """Each batch has the same code 50 times; queries in other threads count multiples of 50."""
    small_segments(monkeypatch)
    index = HammingIndex()
    code = np.full((1, 1), 7, np.uint64)
    over = threading.Event()
    counts = []

    def read():
        # A thread that only asks would keep the others from the interpreter.
        while not over.wait(0.001):
            counts.append(len(index.within(code, 0)[0]))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for batch in range(12):
        index.insert(range(50 * batch, 50 * batch + 50), np.repeat(code, 50, axis=0))
        if batch % 3 == 2:
            index.remove(range(50 * batch - 50, 50 * batch))
    over.set()
    for reader in readers:
        reader.join()
    assert len(index.within(code, 0)[0]) == 400
    assert {count % 50 for count in counts} == {0}


# Files


@pytest.mark.parametrize("keys", [[5, -7, 2**62], ["a", "", "schön"], []])
@pytest.mark.parametrize("bits", [60, 64, 130])
def test_files(tmp_path, keys, bits):
    words = -(-bits // 64)
    codes = clustered(len(keys), words)
    codes[:, -1] &= np.uint64(2 ** (bits - 64 * words + 64) - 1)
    index = HammingIndex(bits, radius=2)
    index.insert(keys, codes)
    index.save(tmp_path / "codes.ham")
    index.save(tmp_path / "codes.ham")  # replaces it
    other = HammingIndex.open(tmp_path / "codes.ham")
    assert (other.bits, other.radius, [*other]) == (bits, 2, keys)
    assert other.items()[1].tolist() == codes.tolist()


def test_files_of_removed_and_replaced_entries(tmp_path):
    codes, index = clustered(9, 1), HammingIndex(on_duplicate="replace")
    index.insert(range(9), codes)
    index.remove([3, 4])
    index.insert(0, codes[8])
    index.save(tmp_path / "codes.ham")
    other = HammingIndex.open(tmp_path / "codes.ham")
    assert [*other] == [*index] == [1, 2, 5, 6, 7, 8, 0]
    assert (other.items()[1] == index.items()[1]).all()


def test_every_damaged_byte_is_found(tmp_path):
    path = tmp_path / "codes.ham"
    index = HammingIndex()
    index.insert(["a", "bb"], clustered(2, 1))
    index.save(path)
    data = path.read_bytes()
    for at in [*range(64), *range(128, 128 + 27), *range(192, len(data))]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with pytest.raises(
            FormatError, match=r"codes\.ham: (header|keys|codes|the file)"
        ):
            HammingIndex.open(path)
    for length in (0, 5, 63, 100, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(FormatError):
            HammingIndex.open(path)
    path.write_bytes(data + b"x")
    with pytest.raises(FormatError, match="the header requires"):
        HammingIndex.open(path)


def rewritten(path, **changes):
    """Write a file with valid checksums and wrong content."""
    header = HammingIndex._file.container.struct
    data = path.read_bytes()
    names = [
        "magic",
        "version",
        "kind",
        "bits",
        "radius",
        "n",
        "key_bytes",
        "key_sum",
        "code_sum",
    ]
    fields = dict(zip(names, header.unpack(data[: header.size]), strict=True)) | {
        name: value for name, value in changes.items() if name in names
    }
    keys = changes.get("keys", data[128 : 128 + fields["key_bytes"]])
    codes = changes.get("codes", data[128 + -(-fields["key_bytes"] // 64) * 64 :])
    fields["key_bytes"] = changes.get("key_bytes", len(keys))
    fields["key_sum"], fields["code_sum"] = map(checksum, (keys, codes))
    packed = sealed(header.pack(*fields.values()))
    path.write_bytes(
        packed.ljust(128, b"\0") + keys.ljust(-(-len(keys) // 64) * 64, b"\0") + codes
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 3}, "version 3; this library reads versions 1 and 2"),
        ({"version": 2}, "note: its checksum is wrong"),
        ({"kind": 3}, "kind 3 or 2 entries are out of range"),
        ({"bits": 0}, "0 bits"),
        ({"bits": 4097}, "4097 bits"),
        ({"bits": 60}, "one has bits at 60"),
        ({"radius": 65}, "radius 65"),
        ({"n": 2**63}, "entries are out of range"),
        ({"n": 3}, "the header requires"),
        ({"key_bytes": 2**63}, "the header requires"),
        ({"keys": np.array([5, 5]).tobytes()}, "in the index already, or twice"),
        ({"keys": b"12345678"}, "8 bytes for 2 ints"),
        ({"kind": 1}, "16 bytes for the places of 2 strs"),
        (
            {"kind": 1, "keys": np.array([0, 3, 2]).tobytes() + b"ab"},
            "places must ascend",
        ),
        (
            {"kind": 1, "keys": np.array([0, -1, 2]).tobytes() + b"ab"},
            "places must ascend",
        ),
        (
            {"kind": 1, "keys": np.array([0, 1, 2]).tobytes() + b"a\xff"},
            "not valid UTF-8",
        ),
        (
            {"kind": 1, "keys": np.array([0, 1, 2]).tobytes() + b"aa"},
            "in the index already, or twice",
        ),
    ],
)
def test_files_with_wrong_content_are_refused(tmp_path, changes, message):
    path = tmp_path / "codes.ham"
    index = HammingIndex()
    index.insert([5, 6], np.array([[2**63], [1]], np.uint64))
    index.save(path)
    rewritten(path, **changes)
    with pytest.raises(FormatError, match=message):
        HammingIndex.open(path)


def test_other_files_are_not_replaced(tmp_path):
    path = tmp_path / "text"
    path.write_text("some text")
    with pytest.raises(FileExistsError):
        HammingIndex().save(path)
    HammingIndex().save(path, overwrite=True)
    assert len(HammingIndex.open(path)) == 0
    index = HammingIndex()
    index.insert([1.5], clustered(1, 1))
    with pytest.raises(TypeError, match="all ints of 64 bits or all strs"):
        index.save(tmp_path / "other")


# Bad input

INDEX = HammingIndex(100)
CODE, CODES = np.zeros(2, np.uint64), np.zeros((3, 2), np.uint64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: HammingIndex(0), ValueError, r"bits must be in 1\.\.4096, not 0"),
        (lambda: HammingIndex(4097), ValueError, r"bits must be in 1\.\.4096, not 4097"),
        (lambda: HammingIndex(64.0), TypeError, r"bits must be an int, not 64\.0"),
        (lambda: HammingIndex(radius=65), ValueError, r"radius must be in 0\.\.64, not 65"),
        (lambda: HammingIndex(radius=True), TypeError, "radius must be an int, not True"),
        (lambda: HammingIndex(on_duplicate="keep"), ValueError, "on_duplicate must be one of"),
        (lambda: INDEX.within(CODE, -1), ValueError, r"radius must be in 0\.\.100, not -1"),
        (lambda: INDEX.within(CODE, 101), ValueError, r"radius must be in 0\.\.100, not 101"),
        (lambda: INDEX.within(CODE, 1.5), TypeError, r"radius must be an int, not 1\.5"),
        (lambda: INDEX.within(CODE, float("nan")), TypeError, "radius must be an int, not nan"),
        (lambda: INDEX.within(CODES[:, :1]), ValueError, r"codes must have shape \(n, 2\) or \(2,\), not \(3, 1\)"),
        (lambda: INDEX.within(CODES[None]), ValueError, r"not \(1, 3, 2\)"),
        (lambda: INDEX.within(np.array(1, np.uint64)), ValueError, r"not \(\)"),
        (lambda: INDEX.within(~CODES), ValueError, "zeros in bit 100 and above, but row 0 has not"),
        (lambda: INDEX.within(CODE, threads=0), ValueError, "threads must be at least 1"),
        (lambda: INDEX.query(CODE, 0), ValueError, "k must be at least 1, not 0"),
        (lambda: INDEX.query(CODE, 2.0), TypeError, r"k must be an int, not 2\.0"),
        (lambda: INDEX.insert([1, 2], CODES), ValueError, "a key for each code, not 2 for 3"),
        (lambda: INDEX.insert([1, 2, None], CODES), TypeError, r"keys\[2\] is None"),
        (lambda: INDEX.insert([1, 2, float("nan")], CODES), TypeError, r"keys\[2\] is nan"),
        (lambda: INDEX.insert([1, 2, 1], CODES), DuplicateKeyError, r"keys\[2\] = 1"),
        (lambda: INDEX.insert([1, 2, 3], CODES + 0.5), TypeError, "codes must be uint64, .* not float64"),
        (lambda: INDEX.remove([4]), KeyError, "4"),
        (lambda: INDEX.remove("a"), KeyError, "a"),
        (lambda: INDEX.pairs(-1), ValueError, r"radius must be in 0\.\.100"),
        (lambda: INDEX.describe(200), ValueError, r"radius must be in 0\.\.100"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert len(INDEX) == 0
