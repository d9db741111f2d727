"""PrefixIndex beside a dict of sets: inserts, removals, queries and files; damage of each byte of a file."""

import os
import pickle
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lshfast import FormatError, TokenSets, exact
from lshfast._common.container import sealed
from lshfast.exact import PrefixIndex
from lshfast.exact.prefix_file import FILE, NUMBERED
from lshfast.index.keys import DuplicateKeyError
from lshfast.join.thresholds import MEASURES
from lshfast.kernels.checksum import checksum
from tests.join.test_exact_pairs import similarity

SET = st.lists(st.integers(0, 12), max_size=10)
ROWS = st.lists(SET, max_size=5)
ENTRIES = st.lists(st.tuples(st.sampled_from("abcdefghij"), SET), max_size=5)


def matches(held, queries, measure, threshold):
    """Return the (key, similarity) of all matches of each query, best first, by comparing each with each."""
    found = []
    for query in map(set, queries):
        found.append([])
        for key, row in held.items():
            if (
                query
                and row
                and similarity(measure, query, row, True) >= float(threshold)
            ):
                found[-1].append((key, similarity(measure, query, row, True)))
        found[-1].sort(key=lambda match: (-match[1], match[0]))
    return found


class Machine(RuleBasedStateMachine):
    """An index and a dict from keys to sets, changed alike."""

    @initialize(
        measure=st.sampled_from(MEASURES),
        threshold=st.sampled_from([0.8, 0.5, Fraction(11, 15), (8, 9), 1.0]),
        on_duplicate=st.sampled_from(["error", "replace", "skip"]),
    )
    def begin(self, measure, threshold, on_duplicate):
        self.measure, self.on_duplicate = measure, on_duplicate
        self.threshold = 2 if measure == "overlap" else threshold
        self.least = (
            Fraction(*self.threshold)
            if isinstance(self.threshold, tuple)
            else self.threshold
        )
        self.index = PrefixIndex(
            threshold=self.threshold,
            measure=measure,
            on_duplicate=on_duplicate,
            threads=1,
        )
        self.held = {}

    @rule(entries=ENTRIES)
    def insert(self, entries):
        keys, rows = [key for key, _ in entries], [row for _, row in entries]
        if self.on_duplicate == "error" and (
            len(set(keys)) < len(keys) or self.held.keys() & set(keys)
        ):
            with pytest.raises(DuplicateKeyError):
                self.index.insert(keys, rows)
            return
        entries = [(key, set(row)) for key, row in entries]
        if self.on_duplicate == "skip":
            entries = [(key, row) for key, row in entries[::-1] if key not in self.held]
        new = dict(entries)
        assert self.index.insert(keys, rows) == len(new)
        for key, row in new.items():
            self.held.pop(key, None)
            self.held[key] = row

    @rule(data=st.data())
    def remove(self, data):
        keys = (
            data.draw(st.lists(st.sampled_from(sorted(self.held)), unique=True))
            if self.held
            else []
        )
        self.index.remove(keys)
        for key in keys:
            del self.held[key]
        for key in keys[:1]:
            with pytest.raises(KeyError, match=key):
                self.index.remove([*self.held, key])

    @rule(rows=ROWS)
    def query(self, rows):
        rows = [*rows, *map(list, self.held.values())]
        assert list(self.index.query(rows)) == matches(
            self.held, rows, self.measure, self.least
        )

    @rule()
    def save_and_open(self):
        path = (
            f"/dev/shm/prefix_index.{os.getpid()}"
            if os.path.isdir("/dev/shm")
            else f"prefix.{os.getpid()}"
        )
        try:
            self.index.save(path, overwrite=True)
            self.index = PrefixIndex.open(
                path, on_duplicate=self.on_duplicate, threads=1
            )
        finally:
            os.unlink(path)

    @rule()
    def forget_the_numbers(self):
        """As an interruption of a writer does."""
        self.index._numbers = None

    @invariant()
    def same_keys(self):
        if hasattr(self, "index"):
            assert len(self.index) == len(self.held)
            assert sorted(self.index) == sorted(self.held)
            assert [key in self.index for key in "abcdefghij"] == [
                key in self.held for key in "abcdefghij"
            ]


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=40, stateful_step_count=15)


@pytest.mark.slow
def test_f40_each_set_is_queried_and_then_inserted():
    """The pairs found one set after the other are those of a join."""
    rng = np.random.default_rng(40)
    rows = [
        rng.choice(30, rng.integers(1, 9), replace=False).tolist() for _ in range(80)
    ]
    index, found = PrefixIndex(threshold=0.6, threads=1), []
    for number, row in enumerate(rows):
        found += [
            (earlier, number, similar) for earlier, similar in index.query([row])[0]
        ]
        index.insert(number, row)
    assert sorted(found) == exact.pairs(rows, threshold=0.6).tolist()


def test_a_small_set_in_a_large_one(level):
    index = PrefixIndex(threshold=Fraction(9, 10), measure="containment")
    index.insert(range(3), [range(100_000), range(50, 80), range(5)])
    assert list(index.query([range(60, 80), range(79, 100), []])) == [
        [(0, 1.0), (1, 1.0)],
        [(0, 1.0)],
        [],
    ]


def test_repeated_elements_that_the_index_does_not_know():
    index = PrefixIndex(threshold=0.5)
    index.insert("a", [1])
    assert index.query([[1, 2, 2, 2]])[0] == [("a", 0.5)]


def test_token_sets_and_a_given_seed():
    index = PrefixIndex(threshold=1, seed=5)
    sets = TokenSets.from_sets([["a", "b"], ["c"]], seed=5)
    index.insert(["ab", "c"], sets)
    assert list(index.query([["b", "a", "a"]])) == [[("ab", 1.0)]]
    assert list(index.query(sets)) == [[("ab", 1.0)], [("c", 1.0)]]
    assert (index.seed, index.threshold, repr(index)) == (
        5, 1, "PrefixIndex(2 sets, threshold=1, measure='jaccard')",
    )  # fmt: skip


def test_keys_of_any_kind():
    keys = [("a", 1), 7, "text", frozenset({2}), 2**70]
    index = PrefixIndex(threshold=0.5, threads=1)
    assert index.insert(keys, [[i, i + 1] for i in range(5)]) == 5
    assert list(index) == keys
    assert [key in index for key in [*keys, 7.0, "7", ()]] == [True] * 6 + [False] * 2
    assert [
        {key for key, _ in found} for found in index.query([[0, 1], [3, 4, 5]])
    ] == [{keys[0]}, set(keys[3:])]
    with pytest.raises(
        TypeError, match="a file needs keys that are all ints of 64 bits or all strs"
    ):
        index.save("nowhere")
    index.remove(keys[0])
    index.remove(keys[1:2])
    assert list(index) == keys[2:]
    assert list(index.pairs()) == []


def test_keys_are_copied():
    index, keys = PrefixIndex(threads=1), np.arange(3)
    index.insert(keys, [[1], [2], [3]])
    keys[:] = 7
    assert list(index) == [0, 1, 2]
    assert index.query([[3]])[0] == [(2, 1.0)]


def test_bad_arguments():
    index = PrefixIndex(threads=1)
    index.insert([0, 1, 2], [[1], [2], [3]])
    with pytest.raises(KeyError, match="3"):
        index.remove([0, 3, 4])
    with pytest.raises(TypeError, match=r"keys\[1\] is None"):
        index.remove([0, None])
    with pytest.raises(
        DuplicateKeyError, match=r"keys\[1\] = 2 is in the index already"
    ):
        index.insert([5, 2], [[1], [2]])
    with pytest.raises(ValueError, match="a key for each set, not 1 for 2"):
        index.insert([5], [[1], [2]])
    assert len(index) == 3
    assert [key in index for key in (0, 3, -1, 2**64, "0", 1.0)] == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]
    with pytest.raises(TypeError, match="sets must be"):
        index.insert([8], "text")
    with pytest.raises(TypeError, match=r"rows\[1\]"):
        index.insert([8, 9], [[1], [None]])
    assert index.insert([], []) == 0
    assert index.insert(3, [4]) == 1
    with pytest.raises(ValueError, match="threshold"):
        PrefixIndex(threshold=2)
    with pytest.raises(ValueError, match="seed"):
        PrefixIndex(seed=-1)
    with pytest.raises(ValueError, match="on_duplicate"):
        PrefixIndex(on_duplicate="keep")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "sets"
    index = PrefixIndex(threshold=(8, 9), measure="dice", seed=3)
    index.insert(["a", "gone", "", "key c"], [[1, 2, 3], [4], [], [2, 3]])
    index.remove("gone")
    index.save(path)
    return path


NAMES = [
    "magic",
    "version",
    "measure",
    "fraction",
    "held",
    "kind",
    "p",
    "q",
    "seed",
    "n",
    "m",
    "bytes",
    "keys",
    "sets",
]
NUMBERED_NAMES = [
    "magic",
    "version",
    "measure",
    "fraction",
    "held",
    "p",
    "q",
    "seed",
    "next_id",
    "n",
    "m",
    "sections",
]


def with_header(data, layout=FILE, names=NAMES, **changes):
    """Return the file with other values in its header, and the right checksum of it."""
    values = dict(zip(names, layout.struct.unpack_from(data), strict=True))
    return (
        sealed(layout.struct.pack(*(values | changes).values())) + data[layout.size :]
    )


def with_sets(data, keys, offsets, tokens):
    """Return the file with other contents; keys are ints."""
    keys, *sets = (
        np.array(part, dtype)
        for part, dtype in ((keys, "<i8"), (offsets, "<i8"), (tokens, "<u8"))
    )
    changes = {"kind": 0, "n": len(keys), "m": len(tokens), "bytes": 8 * len(keys)}
    head = with_header(data, **changes, keys=checksum(keys), sets=checksum(*sets))
    padding = bytes(-FILE.size % 8)
    return (
        head[: FILE.size] + padding + b"".join(part.tobytes() for part in (keys, *sets))
    )


def with_numbers(numbers, **changes):
    """Return a file of version 1 with these numbers of sets, each of one token."""
    n = len(numbers)
    parts = (
        np.array(numbers, "<i8"),
        np.arange(n + 1, dtype="<i8"),
        np.arange(n, dtype="<u8"),
    )
    terms = struct.pack("<d", 0.5), bytes(8)
    head = NUMBERED.pack(1, 0, 0, 0, *terms, 5, 4, n, n, checksum(*parts))
    return with_header(
        head + b"".join(part.tobytes() for part in parts),
        NUMBERED,
        NUMBERED_NAMES,
        **changes,
    )


def test_damage(saved):
    data = saved.read_bytes()
    for at in range(len(data)):
        saved.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        with pytest.raises(FormatError, match=saved.name):
            PrefixIndex.open(saved)
    for end in range(0, len(data), 7):
        saved.write_bytes(data[:end])
        with pytest.raises(FormatError, match=saved.name):
            PrefixIndex.open(saved)
    saved.write_bytes(data + b"\0")
    with pytest.raises(FormatError, match="the file has"):
        PrefixIndex.open(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: with_header(data, version=9), "version 9"),
        (lambda data: with_header(data, measure=5), "out of range"),
        (lambda data: with_header(data, fraction=2), "out of range"),
        (lambda data: with_header(data, held=4), "out of range"),
        (lambda data: with_header(data, kind=3), "out of range"),
        (lambda data: with_numbers([0, 3], next_id=2**63), "out of range"),
        (
            lambda data: with_numbers([0, 3], next_id=3),
            "ids: they must rise from 0 to below 3",
        ),
        (lambda data: with_numbers([0, 3], measure=5), "out of range"),
        (lambda data: with_numbers([0, 0]), "ids"),
        (lambda data: with_numbers([-1, 2]), "ids"),
        (lambda data: with_header(data, n=2**62), "the file has"),
        (lambda data: with_header(data, q=bytes(8)), "threshold"),
        (
            lambda data: with_header(data, p=struct.pack("<Q", 10)),
            "threshold must be in",
        ),
        (
            lambda data: with_header(
                data, fraction=0, p=struct.pack("<d", float("nan"))
            ),
            "threshold must be finite",
        ),
        (
            lambda data: with_sets(data, [5, 5], [0, 1, 2], [1, 2]),
            "keys: one occurs twice",
        ),
        (lambda data: with_sets(data, [0, 1], [0, 2, 1], [1, 2]), "offsets fall"),
        (lambda data: with_sets(data, [0, 1], [0, 1, 9], [1, 2]), "offsets must be in"),
        (lambda data: with_sets(data, [0, 1], [1, 1, 2], [1, 2]), "cover all tokens"),
        (lambda data: with_sets(data, [0, 1], [0, 1, 1], [1, 2]), "cover all tokens"),
        (
            lambda data: with_sets(data, [0, 1], [0, 0, 2], [7, 7]),
            "different ones in each set",
        ),
    ],
)
def test_files_with_right_checksums(saved, change, message):
    saved.write_bytes(change(saved.read_bytes()))
    with pytest.raises(FormatError, match=message):
        PrefixIndex.open(saved)


def test_files(saved, tmp_path):
    index = PrefixIndex.open(saved)
    assert (index.threshold, index.measure, index.seed, list(index)) == (
        Fraction(8, 9),
        "dice",
        3,
        ["a", "", "key c"],
    )
    with pytest.raises(DuplicateKeyError):
        index.insert("a", [9])
    assert (
        PrefixIndex.open(saved, on_duplicate="skip").insert(["a", "b"], [[9], [9]]) == 1
    )
    with pytest.raises(FileExistsError, match=saved.name):
        index.save(saved)
    with pytest.raises(FileNotFoundError):
        index.save(tmp_path / "missing" / "sets")
    with pytest.raises(FileNotFoundError):
        PrefixIndex.open(tmp_path / "missing")
    assert os.listdir(tmp_path) == [saved.name]
    empty = tmp_path / "empty"
    PrefixIndex().save(empty)
    assert len(PrefixIndex.open(empty)) == 0


def test_a_full_disk_leaves_the_old_file(saved):
    resource = pytest.importorskip(
        "resource", reason="this system has no limits of processes"
    )
    index, before = PrefixIndex.open(saved), saved.read_bytes()
    index.insert("long", range(10_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        for path in (saved, saved.parent / "new"):
            with pytest.raises(OSError, match=path.name):
                index.save(path, overwrite=path == saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_an_index_is_saved_and_not_pickled():
    for rows in ([], [[1, 2]]):
        index = PrefixIndex()
        index.insert(range(len(rows)), rows)
        with pytest.raises(
            TypeError, match="a PrefixIndex cannot be pickled: save it to a file"
        ):
            pickle.dumps(index)


def test_sets_of_another_seed_are_refused(tmp_path):
    """With a random seed, TokenSets and sets that the index hashes would never match."""
    sets, tokens = [["a", "b"]], TokenSets.from_sets([["a", "b"]])
    for first, other in ((sets, tokens), (tokens, sets)):
        index = exact.PrefixIndex()
        assert index.query(first)[0] == index.query(other)[0] == []
        index.insert([0], first)
        index.save(tmp_path / "sets", overwrite=True)
        for held in (index, exact.PrefixIndex.open(tmp_path / "sets")):
            for call in (held.query, lambda sets, held=held: held.insert([1], sets)):
                with pytest.raises(
                    TypeError,
                    match="like those that this index holds: its seed is random",
                ):
                    call(other)
            assert held.query(first)[0] == [(0, 1.0)]
            assert len(held) == 1
    both = exact.PrefixIndex(seed=1)
    both.insert([0], sets)
    assert both.insert(1, tokens) == 1
    both.save(tmp_path / "both")
    assert len(exact.PrefixIndex.open(tmp_path / "both").query(tokens)[0]) == 2
    index = exact.PrefixIndex()
    index.save(tmp_path / "none")
    index = exact.PrefixIndex.open(tmp_path / "none")
    index.insert([0], tokens)
    with pytest.raises(TypeError, match="sets must be TokenSets"):
        index.insert([1], sets)


@pytest.mark.parametrize("measure", MEASURES)
def test_pairs_figures_and_verification(measure):
    rng = np.random.default_rng(5)
    rows = [
        rng.choice(30, rng.integers(0, 9), replace=False).tolist() for _ in range(60)
    ]
    threshold = 3 if measure == "overlap" else 0.5
    index = PrefixIndex(threshold=threshold, measure=measure)
    for start in range(0, 60, 7):
        index.insert(range(start, min(60, start + 7)), rows[start : start + 7])
    gone = {0, 13, 59}
    index.remove(list(gone))
    kept = [number for number in range(60) if number not in gone]
    found = exact.pairs(
        [rows[number] for number in kept], threshold=threshold, measure=measure
    )
    wanted = [(kept[i], kept[j], s) for i, j, s in found.tolist()]
    assert list(index.pairs()) == wanted
    assert len(wanted) > 10
    index.verify()
    figures = index.stats()
    assert (figures.entries, figures.store["removed sets"] <= 3) == (57, True)
    assert index.nbytes == figures.nbytes > 8 * sum(map(len, rows))
    assert (
        index.describe()
        == f"all sets whose similarity to a query ({measure}) is at least {threshold}"
    )


def test_a_set_that_is_not_found_is_named(monkeypatch):
    index = PrefixIndex()
    index.insert(["a", "b", "c"], [[1, 2], [], [3]])
    other = PrefixIndex(seed=index.seed)
    other.insert(["a", "b", "c"], [[1, 2], [], [4]])
    monkeypatch.setattr(
        index,
        "_matches",
        lambda state, sets: PrefixIndex._matches(other, other._state, sets),
    )
    with pytest.raises(FormatError, match="tables: the set of key 'c' is not found"):
        index.verify()
