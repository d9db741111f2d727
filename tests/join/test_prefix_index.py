"""PrefixIndex beside a dict of sets: inserts, removals, queries and files; damage of each byte of a file."""

import os
import pickle
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from lshfast import FormatError, TokenSets, exact
from lshfast.common.container import sealed
from lshfast.exact import PrefixIndex
from lshfast.join.prefix_file import FILE
from lshfast.join.thresholds import MEASURES
from lshfast.kernels.checksum import checksum
from tests.join.test_exact_pairs import similarity

ROWS = st.lists(st.lists(st.integers(0, 12), max_size=10), max_size=5)


def matches(held, queries, measure, threshold):
    """Return (query, id, similarity) of all matches, best first, by comparing each with each."""
    found = []
    for number, query in enumerate(map(set, queries)):
        for key, row in held.items():
            if query and row and similarity(measure, query, row, True) >= float(threshold):
                found.append((number, key, similarity(measure, query, row, True)))
    return sorted(found, key=lambda match: (match[0], -match[2], match[1]))


class Machine(RuleBasedStateMachine):
    """An index and a dict from ids to sets, changed alike."""

    ids = Bundle("ids")

    @initialize(measure=st.sampled_from(MEASURES), threshold=st.sampled_from([0.8, 0.5, Fraction(11, 15), (8, 9), 1.0]))
    def begin(self, measure, threshold):
        self.measure = measure
        self.threshold = 2 if measure == "overlap" else threshold
        self.least = Fraction(*self.threshold) if isinstance(self.threshold, tuple) else self.threshold
        self.index = PrefixIndex(threshold=self.threshold, measure=measure, threads=1)
        self.held, self.next_id = {}, 0

    @rule(rows=ROWS, target=ids)
    def insert(self, rows):
        ids = self.index.insert(rows).tolist()
        assert ids == list(range(self.next_id, self.next_id + len(rows)))
        self.held |= dict(zip(ids, map(set, rows), strict=True))
        self.next_id += len(rows)
        return ids

    @rule(ids=consumes(ids))
    def remove(self, ids):
        self.index.remove(ids[::-1])
        for number in ids:
            del self.held[number]
        if ids:
            with pytest.raises(KeyError, match=f"does not contain id {ids[0]}"):
                self.index.remove(ids)

    @rule(rows=ROWS)
    def query(self, rows):
        rows = [*rows, *map(list, self.held.values())]
        assert self.index.query(rows).tolist() == matches(self.held, rows, self.measure, self.least)

    @rule()
    def save_and_open(self):
        path = f"/dev/shm/prefix_index.{os.getpid()}" if os.path.isdir("/dev/shm") else f"prefix.{os.getpid()}"
        try:
            self.index.save(path, overwrite=True)
            self.index = PrefixIndex.open(path, threads=1)
        finally:
            os.unlink(path)

    @invariant()
    def same_ids(self):
        if hasattr(self, "index"):
            assert len(self.index) == len(self.held)
            assert [number in self.index for number in range(self.next_id)] == [
                n in self.held for n in range(self.next_id)
            ]


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=40, stateful_step_count=15)


def test_f40_each_set_is_queried_and_then_inserted():
    """The pairs found one set after the other are those of a join."""
    rng = np.random.default_rng(40)
    rows = [rng.choice(30, rng.integers(1, 9), replace=False).tolist() for _ in range(80)]
    index, found = PrefixIndex(threshold=0.6, threads=1), []
    for number, row in enumerate(rows):
        found += [(earlier, number, similar) for _, earlier, similar in index.query([row]).tolist()]
        index.insert([row])
    assert sorted(found) == exact.pairs(rows, threshold=0.6).tolist()


def test_a_small_set_in_a_large_one(level):
    index = PrefixIndex(threshold=Fraction(9, 10), measure="containment")
    index.insert([range(100_000), range(50, 80), range(5)])
    assert index.query([range(60, 80), range(79, 100), []]).tolist() == [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0)]


def test_repeated_elements_that_the_index_does_not_know():
    index = PrefixIndex(threshold=0.5)
    index.insert([[1]])
    assert index.query([[1, 2, 2, 2]]).tolist() == [(0, 0, 0.5)]


def test_token_sets_and_a_given_seed():
    index = PrefixIndex(threshold=1, seed=5)
    sets = TokenSets.from_sets([["a", "b"], ["c"]], seed=5)
    index.insert(sets)
    assert index.query([["b", "a", "a"]]).tolist() == [(0, 0, 1.0)]
    assert index.query(sets)["id"].tolist() == [0, 1]
    assert (index.seed, index.threshold, repr(index)) == (
        5, 1, "PrefixIndex(2 sets, threshold=1, measure='jaccard')",
    )  # fmt: skip


def test_bad_arguments():
    index = PrefixIndex(threads=1)
    index.insert([[1], [2], [3]])
    for ids, error in [("12", TypeError), (1, TypeError), ([1.0], TypeError), ([[1]], TypeError), ([True], TypeError)]:
        with pytest.raises(error, match="ids must be a sequence of ints"):
            index.remove(ids)
    for ids, message in [([1, 1], "id 1 is given twice"), ([0, 3], "id 3"), ([-1], "id -1"), ([2**63], "id 9223")]:
        with pytest.raises(KeyError, match=message):
            index.remove(np.array(ids))
    assert len(index) == 3
    assert [key in index for key in (0, 3, -1, 2**64, "0", 1.0, True, None)] == [True] + [False] * 7
    with pytest.raises(TypeError, match="sets must be"):
        index.insert("text")
    with pytest.raises(TypeError, match=r"rows\[1\]"):
        index.insert([[1], [None]])
    assert index.insert([]).tolist() == []
    assert index.insert([[4]]).tolist() == [3]
    with pytest.raises(ValueError, match="threshold"):
        PrefixIndex(threshold=2)
    with pytest.raises(ValueError, match="seed"):
        PrefixIndex(seed=-1)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "sets"
    index = PrefixIndex(threshold=(8, 9), measure="dice", seed=3)
    index.insert([[1, 2, 3], [4], [], [2, 3]])
    index.remove([1])
    index.save(path)
    return path


def with_header(data, **changes):
    """Return the file with other values in its header, and the right checksum of it."""
    names = ["magic", "version", "measure", "fraction", "held", "p", "q", "seed", "next_id", "n", "m", "sections"]
    values = dict(zip(names, FILE.struct.unpack_from(data), strict=True))
    return sealed(FILE.struct.pack(*(values | changes).values())) + data[FILE.size :]


def with_sections(data, *sections):
    sections = [np.array(section, dtype) for section, dtype in zip(sections, ("<i8", "<i8", "<u8"), strict=True)]
    body = b"".join(section.tobytes() for section in sections)
    head = with_header(data, n=len(sections[0]), m=len(sections[2]), sections=checksum(*sections))
    return head[: FILE.size] + body


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
        (lambda data: with_header(data, next_id=2**63), "out of range"),
        (lambda data: with_header(data, next_id=3), "ids: they must rise from 0 to below 3"),
        (lambda data: with_header(data, n=2**62), "the file has"),
        (lambda data: with_header(data, q=bytes(8)), "threshold"),
        (lambda data: with_header(data, p=struct.pack("<Q", 10)), "threshold must be in"),
        (lambda data: with_header(data, fraction=0, p=struct.pack("<d", float("nan"))), "threshold must be finite"),
        (lambda data: with_sections(data, [0, 0], [0, 1, 2], [1, 2]), "ids"),
        (lambda data: with_sections(data, [-1, 2], [0, 1, 2], [1, 2]), "ids"),
        (lambda data: with_sections(data, [0, 1], [0, 2, 1], [1, 2]), "offsets fall"),
        (lambda data: with_sections(data, [0, 1], [0, 1, 9], [1, 2]), "offsets must be in"),
        (lambda data: with_sections(data, [0, 1], [1, 1, 2], [1, 2]), "cover all tokens"),
        (lambda data: with_sections(data, [0, 1], [0, 1, 1], [1, 2]), "cover all tokens"),
        (lambda data: with_sections(data, [0, 1], [0, 0, 2], [7, 7]), "different ones in each set"),
    ],
)
def test_files_with_right_checksums(saved, change, message):
    saved.write_bytes(change(saved.read_bytes()))
    with pytest.raises(FormatError, match=message):
        PrefixIndex.open(saved)


def test_files(saved, tmp_path):
    index = PrefixIndex.open(saved)
    assert (index.threshold, index.measure, index.seed, len(index)) == (Fraction(8, 9), "dice", 3, 3)
    assert index.insert([[9]]).tolist() == [4]
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
    resource = pytest.importorskip("resource", reason="this system has no limits of processes")
    index, before = PrefixIndex.open(saved), saved.read_bytes()
    index.insert([range(10_000)])
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
        index.insert(rows)
        with pytest.raises(TypeError, match="a PrefixIndex cannot be pickled: save it to a file"):
            pickle.dumps(index)


def test_sets_of_another_seed_are_refused(tmp_path):
    """With a random seed, TokenSets and sets that the index hashes would never match."""
    sets, tokens = [["a", "b"]], TokenSets.from_sets([["a", "b"]])
    for first, other in ((sets, tokens), (tokens, sets)):
        index = exact.PrefixIndex()
        assert len(index.query(first)) == len(index.query(other)) == 0
        index.insert(first)
        index.save(tmp_path / "sets", overwrite=True)
        for held in (index, exact.PrefixIndex.open(tmp_path / "sets")):
            for call in (held.query, held.insert):
                with pytest.raises(TypeError, match="like those that this index holds: its seed is random"):
                    call(other)
            assert held.query(first)["id"].tolist() == [0]
            assert len(held) == 1
    both = exact.PrefixIndex(seed=1)
    both.insert(sets)
    assert both.insert(tokens).tolist() == [1]
    both.save(tmp_path / "both")
    assert len(exact.PrefixIndex.open(tmp_path / "both").query(tokens)) == 2
    index = exact.PrefixIndex()
    index.save(tmp_path / "none")
    index = exact.PrefixIndex.open(tmp_path / "none")
    index.insert(tokens)
    with pytest.raises(TypeError, match="sets must be TokenSets"):
        index.insert(sets)


@pytest.mark.parametrize("measure", MEASURES)
def test_pairs_figures_and_verification(measure):
    rng = np.random.default_rng(5)
    rows = [rng.choice(30, rng.integers(0, 9), replace=False).tolist() for _ in range(60)]
    threshold = 3 if measure == "overlap" else 0.5
    index = PrefixIndex(threshold=threshold, measure=measure)
    for start in range(0, 60, 7):
        index.insert(rows[start : start + 7])
    gone = {0, 13, 59}
    index.remove(list(gone))
    kept = [number for number in range(60) if number not in gone]
    found = exact.pairs([rows[number] for number in kept], threshold=threshold, measure=measure)
    wanted = [(kept[i], kept[j], s) for i, j, s in found.tolist()]
    assert index.pairs().tolist() == wanted
    assert len(wanted) > 10
    index.verify()
    figures = index.stats()
    assert (figures.entries, figures.store["removed sets"] <= 3) == (57, True)
    assert index.nbytes == figures.nbytes > 8 * sum(map(len, rows))
    assert index.describe() == f"all sets whose similarity to a query ({measure}) is at least {threshold}"


def test_a_set_that_is_not_found_is_named(monkeypatch):
    index = PrefixIndex()
    index.insert([[1, 2], [], [3]])
    other = PrefixIndex(seed=index.seed)
    other.insert([[1, 2], [], [4]])
    monkeypatch.setattr(index, "_matches", lambda state, sets: other.query(sets))
    with pytest.raises(FormatError, match="tables: set 2 is not found"):
        index.verify()
