"""The tables of an index beside a plain model: rows, names and candidates; memory that runs out; damaged sections."""

import copy
import pickle
from contextlib import contextmanager, suppress
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lshfast import LSHIndex
from lshfast.kernels import tables
from lshfast.kernels.tables import BandTables, checksum
from tests.reference import tables as reference
from tests.reference.hashing import EMPTY

KINDS = ["int", "str", None]
MOST_ROWS, NO_ENTRY, SHARED = 2**31, 2**64 - 1, 2**31
GROUP, NAMES, BATCH = 16, 4096, 32768  # of the kernel: what is looked at, admitted and written in one go

EXTREMES = [0, -1, 1, 2**63 - 1, -(2**63), 2**32]
ODD_STRINGS = ["", "\0", "a", "a\0", "\0a", "ä", "\U0001f600", "eight by", "nine byte", "x" * 70]
NAMES_OF_KIND = {
    "int": st.one_of(st.integers(0, 40), st.sampled_from(EXTREMES)),
    "str": st.one_of(st.integers(0, 40).map(str), st.sampled_from(ODD_STRINGS)),
}


def array_of(signatures, k):
    """Return signatures as an array, which none of them may be missing from."""
    return np.array(signatures, np.uint64).reshape(len(signatures), k)


def column(kind, names):
    """Return names as the tables take them."""
    return np.array(names, np.int64) if kind == "int" else list(names)


def numbered(kind, numbers):
    """Return a name for each number."""
    return column(kind, numbers if kind == "int" else [f"name {number}" for number in numbers])


def listed(names):
    return names.tolist() if isinstance(names, np.ndarray) else names


def int64(*rows):
    return np.array(rows, np.int64)


def filled(kind, signatures, bands, rows, names=None):
    """Return tables that hold these signatures in rows 0, 1, 2, ..., by default under names for these numbers."""
    made = BandTables(signatures.shape[1], bands, rows, kind)
    n = len(signatures)
    taken = made.allot(n) if kind is None else made.admit(numbered(kind, range(n)) if names is None else names)[0]
    assert taken.tolist() == list(range(n))
    made.write(taken, signatures)
    return made


def answers(held, signatures, least=None):
    """Return the candidates of each query, with their equal slots if counted."""
    offsets, rows, agreements = held.query(np.ascontiguousarray(signatures), least)
    assert offsets.dtype == rows.dtype == np.int64
    assert len(offsets) == len(signatures) + 1
    assert (offsets[0], offsets[-1]) == (0, len(rows))
    found = rows.tolist()
    if least is not None:
        found = list(zip(found, agreements.tolist(), strict=True))
    else:
        assert agreements is None
    return [found[low:high] for low, high in pairwise(offsets.tolist())]


def brute_force(held, queries, bands, rows):
    """Return the rows that agree with each query in all slots of some band, none of them being empty."""
    found = []
    for query in queries:
        agree = (held == query)[:, : bands * rows].reshape(len(held), bands, rows).all(axis=2).any(axis=1)
        found.append(np.flatnonzero(agree & (held[:, 0] != EMPTY) & (query[0] != EMPTY)).tolist())
    return found


def packed(held):
    """Return the sections as they lie in a file: each in one piece, and read only."""
    sections = {}
    for name, arrays in held.sections().items():
        whole = np.concatenate(arrays) if arrays else np.empty((0, 1), np.uint64)
        sections[name] = np.frombuffer(whole.tobytes(), whole.dtype).reshape(whole.shape)
    return sections


def tables_over(held, k, bands, rows, kind, gone=None):
    """Return fixed tables over the sections of others."""
    sections = packed(held)
    if not len(held):
        sections["signatures"] = np.empty((0, k), np.uint64)
    return BandTables.over(k, bands, rows, kind, sections, gone)


# Beside the model


class TableMachine(RuleBasedStateMachine):
    """Tables and their model: each step is done to both, and after each they hold the same."""

    @initialize(kind=st.sampled_from(KINDS), k=st.integers(1, 4), data=st.data())
    def begin(self, kind, k, data):
        r = data.draw(st.integers(1, k))
        b = data.draw(st.integers(1, k // r))
        self.kind, self.k = kind, k
        self.tables, self.model = BandTables(k, b, r, kind), reference.Tables(b, r)
        slots = st.lists(st.sampled_from([0, 1, 2, EMPTY - 1]), min_size=k, max_size=k).map(tuple)
        self.signature = st.one_of(slots, slots, slots, st.just((EMPTY,) * k))
        self.count = 0

    def admit(self, names):
        """Give rows to names, or as many without names; return those that are new."""
        if self.kind is None:
            rows = self.tables.allot(len(names)).tolist()
            fresh = rows
            self.model.in_use.update(rows)
        else:
            rows, marks = self.tables.admit(column(self.kind, names))
            assert (rows.dtype, marks.dtype) == (np.int64, bool)
            fresh = rows[marks].tolist()
            assert not self.model.in_use.intersection(fresh)
            assert (rows.tolist(), marks.tolist()) == self.model.admit(names, fresh)
        assert len(set(fresh)) == len(fresh)
        return fresh

    def write(self, rows, signatures):
        self.tables.write(int64(*rows), array_of(signatures, self.k))
        self.model.signatures.update(zip(rows, signatures, strict=True))

    def some(self, data, rows):
        """Draw some of these rows, in any order."""
        return data.draw(st.lists(st.sampled_from(sorted(rows)), unique=True, max_size=40)) if rows else []

    def unwritten(self):
        return self.model.in_use - self.model.signatures.keys()

    @rule(data=st.data())
    def take_rows(self, data):
        self.admit(data.draw(st.lists(NAMES_OF_KIND[self.kind or "int"], max_size=12)))

    @rule(data=st.data())
    def write_some(self, data):
        rows = self.some(data, self.unwritten())
        self.write(rows, data.draw(st.lists(self.signature, min_size=len(rows), max_size=len(rows))))

    @rule(data=st.data(), n=st.integers(1, 70), distinct=st.integers(1, 3))
    def crowd(self, data, n, distinct):
        """Buckets that become large: new rows of few signatures."""
        self.count += n
        rows = self.admit([*(-10 - i if self.kind == "int" else f"new {i}" for i in range(self.count - n, self.count))])
        signatures = data.draw(st.lists(self.signature, min_size=distinct, max_size=distinct))
        self.write(rows, [signatures[i % distinct] for i in range(n)])

    @precondition(lambda self: self.kind)
    @rule(data=st.data())
    def insert_one(self, data):
        name, signature = data.draw(NAMES_OF_KIND[self.kind]), data.draw(self.signature)
        known = name in self.model.names
        assert self.tables.insert_one(name, np.array(signature, np.uint64)) is not known
        if not known:
            row = int(self.tables.find(column(self.kind, [name]))[0])
            assert row not in self.model.in_use
            self.model.admit([name], [row])
            self.model.signatures[row] = signature

    @rule(data=st.data(), also_release=st.booleans(), everything=st.sampled_from([False, False, True]))
    def erase(self, data, also_release, everything):
        rows = list(self.model.signatures) if everything else self.some(data, self.model.signatures)
        self.tables.erase(int64(*rows))
        for row in rows:
            del self.model.signatures[row]
        if also_release:
            self.release_rows(rows)

    @rule(data=st.data())
    def release(self, data):
        self.release_rows(self.some(data, self.unwritten()))

    def release_rows(self, rows):
        self.tables.release(int64(*rows))
        self.model.release(rows)

    @rule(data=st.data(), least=st.one_of(st.none(), st.integers(0, 5)))
    def query(self, data, least):
        self.compare_answers(self.tables, data.draw(st.lists(self.signature, max_size=20)), least)

    def compare_answers(self, held, signatures, least, gone=frozenset()):
        names = {row: name for name, row in self.model.names.items()}
        expected = [[pair for pair in self.model.candidates(signature, least or 0) if pair[0] not in gone]
                    for signature in signatures]  # fmt: skip
        plain = expected if least is not None else [[row for row, _ in pairs] for pairs in expected]
        assert answers(held, array_of(signatures, self.k), least) == plain
        for signature, pairs in zip(signatures, expected, strict=True):
            found = held.query_one(np.array(signature, np.uint64), least)
            equal = None if least is None else [equal for _, equal in pairs]
            assert found == ([names.get(row, row) for row, _ in pairs], equal)

    @rule(data=st.data())
    def find(self, data):
        if self.kind is not None:
            names = data.draw(st.lists(NAMES_OF_KIND[self.kind], max_size=40))
            expected = [self.model.names.get(name, -1) for name in names]
            assert self.tables.find(column(self.kind, names)).tolist() == expected

    @rule()
    def signatures(self):
        rows = list(self.model.signatures)
        found = self.tables.signatures_of(int64(*rows)).tolist()
        assert found == [list(signature) for signature in self.model.signatures.values()]

    @rule(data=st.data())
    def lie_over(self, data):
        """Tables over the sections answer as the ones they are of, but for the rows that are gone."""
        if len(self.tables) < self.tables.limit:
            with pytest.raises(ValueError, match=r"rows are free: the tables must be built anew"):
                self.tables.sections()
            return
        gone = set(self.some(data, self.model.in_use)) if data.draw(st.booleans()) else set()
        marks = np.array([row in gone for row in range(self.tables.limit)], np.uint8)
        b, r = self.model.bands, self.model.rows
        fixed = tables_over(self.tables, self.k, b, r, self.kind, marks if gone else None)
        assert fixed.fixed
        assert fixed.unsound() is None
        assert fixed.rows_in_use().tolist() == sorted(self.model.in_use - gone)
        assert len(fixed) == len(self.model.in_use) - len(gone)
        self.compare_answers(fixed, data.draw(st.lists(self.signature, max_size=6)), 1, gone)
        if self.kind is not None:
            names = [*self.model.names, *data.draw(st.lists(NAMES_OF_KIND[self.kind], max_size=6))]
            rows = [self.model.names.get(name, -1) for name in names]
            assert fixed.find(column(self.kind, names)).tolist() == [-1 if row in gone else row for row in rows]
            assert listed(fixed.names_of(int64(*self.model.names.values()))) == list(self.model.names)
        given, again = packed(self.tables), fixed.sections()
        assert given.keys() == again.keys()
        for name, arrays in again.items():
            assert len(arrays) == 1
            assert arrays[0].tobytes() == given[name].tobytes()

    @invariant()
    def same(self):
        if not hasattr(self, "tables"):
            return
        held, model = self.tables, self.model
        assert held.unsound() is None
        assert not held.fixed
        assert len(held) == len(model.in_use) <= held.limit
        assert held.rows_in_use().tolist() == sorted(model.in_use)
        sizes, largest, squares = held.bucket_sizes()
        assert (sizes.tolist(), largest, squares) == model.bucket_sizes()
        if self.kind is not None:
            assert listed(held.names_of(int64(*model.names.values()))) == list(model.names)
            assert held.find(column(self.kind, list(model.names))).tolist() == list(model.names.values())


def test_beside_the_model():
    run_state_machine_as_test(TableMachine, settings=settings(max_examples=60, stateful_step_count=25))


# Growing and shrinking


@pytest.mark.parametrize("kind", ["int", None])
def test_one_bucket_of_thousands(kind):
    """Its rows come in batches of all sizes, and leave in another order."""
    n, generator = 6000, np.random.default_rng(1)
    one = np.array([[7, 8, 9]], np.uint64)
    held = BandTables(3, 1, 3, kind)
    rows = held.allot(n) if kind is None else held.admit(np.arange(n))[0]
    there = []
    order = generator.permutation(n)
    ends = [0, 1, 2, 3, 6, 7, 14, 15, 16, 22, 23, 46, 47, 93, 500, 3000, n]
    for low, high in pairwise(ends):
        held.write(rows[order[low:high]], np.repeat(one, high - low, axis=0))
        there = sorted(rows[order[:high]].tolist())
        assert held.unsound() is None
        assert answers(held, one) == [there]
    assert held.bucket_sizes()[1:] == (n, n * n)
    units = held.nbytes()[1]
    order = generator.permutation(n)
    for low, high in pairwise(ends):
        held.erase(rows[order[n - high : n - low]])
        there = sorted(set(there) - set(rows[order[n - high : n - low]].tolist()))
        assert held.unsound() is None
        assert answers(held, one, 3) == [[(row, 3) for row in there]]
    for low, high in pairwise(ends):
        held.write(rows[order[low:high]], np.repeat(one, high - low, axis=0))
    assert held.nbytes()[1] == units  # blocks are used again
    assert answers(held, one) == [rows.tolist()]


def test_a_bucket_that_grows_and_shrinks_by_one():
    """Every number of rows from one to ninety and back; twice, so that the blocks are ones that were used before."""
    one = np.array([[5, 5]], np.uint64)
    held = BandTables(2, 2, 1, "int")
    held.admit(np.arange(90))
    for _ in range(2):
        for row in range(90):
            held.write(int64(row), one)
            assert held.unsound() is None
            assert answers(held, one) == [list(range(row + 1))]
        for row in range(0, 90, 2):
            held.erase(int64(row))
        assert answers(held, one) == [list(range(1, 90, 2))]
        for row in range(89, 0, -2):
            held.erase(int64(row))
            assert held.unsound() is None
            assert answers(held, one) == [list(range(1, row, 2))]
        assert held.bucket_sizes()[1] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_growth_by_one(kind):
    """Rows come one at a time over many sizes of the tables, and go."""
    n, generator = 1500, np.random.default_rng(2)
    signatures = generator.integers(0, 900, (n, 2)).astype(np.uint64)
    held, names = BandTables(2, 2, 1, kind), numbered(kind, range(n))
    for row in range(n):
        if kind is None:
            held.write(held.allot(1), signatures[row : row + 1])
        else:
            assert held.insert_one(listed(names)[row] if kind == "str" else row, signatures[row])
            assert held.insert_one(listed(names)[row] if kind == "str" else row, signatures[0]) is False
        if row % 29 == 0:
            assert held.unsound() is None
    assert answers(held, signatures) == brute_force(signatures, signatures, 2, 1)
    if kind is not None:
        assert held.find(names).tolist() == list(range(n))
    for count, row in enumerate(generator.permutation(n).tolist()):
        held.erase(int64(row))
        held.release(int64(row))
        signatures[row] = EMPTY
        if count % 29 == 0:
            assert held.unsound() is None
        if count % 300 == 0:
            assert answers(held, signatures) == brute_force(signatures, signatures, 2, 1)
    assert (len(held), held.limit, held.bucket_sizes()[1]) == (0, 0, 0)


@pytest.mark.parametrize("size", [1, 97, 1000])
def test_tables_take_memory_in_proportion(size):
    """Some 12 bytes an entry, and not much more while they grow, whatever the batches that they grow by."""
    n, generator = 6000, np.random.default_rng(size)
    signatures = generator.integers(0, 2**60, (n, 4)).astype(np.uint64)
    held = BandTables(4, 4, 1, "int")
    for low in range(0, n, size):
        names = np.arange(low, min(n, low + size))
        if size == 1:
            held.insert_one(low, signatures[low])
        else:
            held.write(held.admit(names)[0], signatures[low : low + size])
    entries, capacity = np.concatenate(held.sections()["tables"]), np.concatenate(held.sections()["shape"])[:, 0]
    assert held.unsound() is None
    assert (capacity < 2 * n).all()
    assert len(entries) < 5 * (2 * n + 200)
    assert held.nbytes()[1] < 4 * n * 20 + 50_000


def tag_signatures(tags, k=2):
    """Return signatures of which each slot is a band with this tag; no two share a slot, so none are candidates."""
    return np.array(
        [[reference.slot_of_key(tag << 32 | i, band) for band in range(k)] for i, tag in enumerate(tags)], np.uint64
    )


CROWDED = {
    "at the front": lambda n: range(n),
    "at the end": lambda n: range(2**32 - n, 2**32),
    "in the middle": lambda n: range(2**31 - n // 2, 2**31 - n // 2 + n),
    "one tag": lambda n: [12345] * n,
    "the greatest": lambda n: [2**32 - 1] * n,
    "least and greatest": lambda n: [(2**32 - 1) * (i % 2) for i in range(n)],
    "evenly": lambda n: [i * 2**32 // n for i in range(n)],
    "two crowds": lambda n: [i + (i % 2) * (2**32 - n) for i in range(n)],
}


@pytest.mark.parametrize("crowd", CROWDED)
@pytest.mark.parametrize("at_once", [True, False])
def test_tags_that_crowd(crowd, at_once):
    """Tables stay sound wherever the tags lie, and rows that share a tag alone are no candidates of each other."""
    n, generator = 400, np.random.default_rng(3)
    tags = list(CROWDED[crowd](n))
    signatures = tag_signatures(tags)
    order = generator.permutation(n)
    held = BandTables(2, 2, 1)
    held.allot(n)
    for rows in [order] if at_once else np.array_split(order, 90):
        held.write(rows, signatures[rows])
        assert held.unsound() is None
    assert answers(held, signatures) == [[row] for row in range(n)]
    assert held.bucket_sizes()[0].sum() == 2 * len(set(tags))
    for rows in np.array_split(generator.permutation(n), 20):
        held.erase(rows)
        assert held.unsound() is None
        signatures[rows] = EMPTY
        assert answers(held, signatures) == [[] if signatures[row, 0] == EMPTY else [row] for row in range(n)]
    assert held.bucket_sizes()[0].sum() == 0


@pytest.mark.parametrize("band", [0, 1])
def test_a_meeting_by_hash_alone(band):
    """A row that shares a tag with the query in one band is a candidate only if it agrees with it in the other."""
    row, query, other = tag_signatures([99] * 3)
    query[1 - band] = row[1 - band]
    held = filled(None, np.array([row, other]), 2, 1)
    assert held.bucket_sizes()[1] == 2
    assert answers(held, query[None], 0) == [[(0, 1)]]


@pytest.mark.parametrize("crowd", CROWDED)
def test_names_whose_tags_crowd(crowd):
    n = 300
    names = np.array([reference.unmix64(tag << 32 | i) for i, tag in enumerate(CROWDED[crowd](n))], np.uint64)
    names = names.view(np.int64)
    held = BandTables(1, 1, 1, "int")
    for part in np.array_split(names, 7):
        held.admit(part)
        assert held.unsound() is None
    assert held.find(names).tolist() == list(range(n))
    held.release(np.arange(0, n, 2))
    assert held.unsound() is None
    assert held.find(names).tolist() == [row if row % 2 else -1 for row in range(n)]


@pytest.mark.parametrize("n", [1, GROUP - 1, GROUP, GROUP + 1, NAMES, NAMES + 1, BATCH - 1, BATCH, BATCH + 1])
def test_batches(n):
    """All of a batch is found again, whatever parts it is worked on in; then half of it, then nothing."""
    generator = np.random.default_rng(n)
    signatures = generator.integers(0, max(2, n // 8), (n, 2)).astype(np.uint64)
    signatures[generator.random(n) < 0.05] = EMPTY
    held = BandTables(2, 2, 1, "int")
    names = generator.permutation(n) * 3 - n
    rows, fresh = held.admit(names)
    assert fresh.all()
    held.write(rows, signatures)
    probe = generator.choice(n, min(n, 40), replace=False)
    for _ in range(2):
        assert held.unsound() is None
        assert held.find(names).tolist() == rows.tolist()
        found = answers(held, signatures)
        assert [len(each) for each in found] == counts(signatures)
        assert [found[i] for i in probe] == brute_force(signatures, signatures[probe], 2, 1)
        assert [answers(held, signatures[i : i + 1])[0] for i in probe] == [found[i] for i in probe]
        half = np.flatnonzero(generator.random(n) < 0.5)
        held.erase(rows[half])
        signatures[half] = EMPTY
    held.erase(rows[signatures[:, 0] != EMPTY])
    held.release(rows)
    assert (len(held), held.unsound(), held.bucket_sizes()[1]) == (0, None, 0)
    assert held.find(names).tolist() == [-1] * n


def counts(signatures):
    """Return how many of two-slot signatures equal each one in a slot: those in the one and the other but not both."""
    full = signatures[:, 0] != EMPTY
    total = np.zeros(len(signatures), np.int64)
    for columns, sign in (([0], 1), ([1], 1), ([0, 1], -1)):
        _, inverse, times = np.unique(signatures[:, columns], axis=0, return_inverse=True, return_counts=True)
        total += sign * times[inverse.reshape(-1)]
    return np.where(full, total, 0).tolist()


@pytest.mark.parametrize("most", [1, 60, 63, 64, 65, 68, 69, 2000])
def test_answers_larger_than_the_room_for_them(most):
    """Few and many candidates by turns: the walk over the queries stops for more memory, and goes on from there."""
    sizes = [most, 0, 1, 3 * most, 2, 0, most + 1] * 5
    held = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)[:, None]
    queries = np.arange(len(sizes), dtype=np.uint64)[:, None]
    index = filled(None, held, 1, 1)
    expected = brute_force(held, queries, 1, 1)
    assert answers(index, queries) == expected
    assert answers(index, queries, 1) == [[(row, 1) for row in rows] for rows in expected]
    assert answers(index, queries, 2) == [[] for _ in sizes]
    for query, rows in zip(queries, expected, strict=True):
        assert index.query_one(query, 0) == (rows, [1] * len(rows))


# Rows


def test_rows_are_used_again():
    held = BandTables(1, 1, 1)
    assert held.allot(5).tolist() == [0, 1, 2, 3, 4]
    held.release(int64(1, 3))
    assert sorted(held.allot(3).tolist()) == [1, 3, 5]
    held.release(int64(0, 5))
    assert sorted(held.allot(3).tolist()) == [0, 5, 6]
    held.release(int64(6))
    held.release(int64(5, 0, 1, 2, 3))
    assert (len(held), held.limit, held.rows_in_use().tolist()) == (1, 7, [4])
    held.release(int64(4))
    assert (len(held), held.limit) == (0, 0)
    assert held.allot(7).tolist() == list(range(7))
    assert held.allot(0).tolist() == []


def test_rows_are_used_again_where_there_are_many():
    """Free rows are handed out before new ones, over more than one block of signatures."""
    k = 16
    signatures = np.random.default_rng(5).integers(0, 50, (10_000, k)).astype(np.uint64)
    held = filled("int", signatures, 4, 4)
    gone = np.arange(0, 10_000, 3)
    held.erase(gone)
    held.release(gone)
    memory = held.nbytes()
    rows, fresh = held.admit(np.arange(-1, -1 - len(gone), -1))
    assert fresh.all()
    assert sorted(rows.tolist()) == gone.tolist()
    held.write(rows, signatures[rows])
    assert held.nbytes() == memory
    assert held.limit == 10_000
    assert (held.signatures_of(np.arange(10_000)) == signatures).all()
    assert held.find(int64(3, 4, -1)).tolist() == [-1, 4, rows[0]]
    assert answers(held, signatures[:50]) == brute_force(signatures, signatures[:50], 4, 4)


BAD_ROWS = {
    "behind the end": (int64(0, 3), "rows must be below 3"),
    "negative": (int64(-1), "rows must be below 3"),
    "least": (int64(-(2**63)), "rows must be below 3"),
    "greatest": (int64(2**63 - 1), "rows must be below 3"),
    "beyond 32 bits": (int64(2**32), "rows must be below 3"),
    "free": (int64(0, 1), "row 1 is not in use"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused(kind, case):
    held = filled(kind, np.array([[1], [2], [1]], np.uint64), 1, 1)
    held.erase(int64(1))
    held.release(int64(1))
    rows, message = BAD_ROWS[case]
    probe = np.array([[1], [2]], np.uint64)
    before = state(held, probe)
    for call in (
        lambda: held.write(rows, np.ones((len(rows), 1), np.uint64)),
        lambda: held.erase(rows),
        lambda: held.release(rows),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert state(held, probe) == before
    if case != "free":
        for call in (lambda: held.signatures_of(rows), lambda: held.names_of(rows)):
            with pytest.raises(ValueError, match=message):
                call()


def test_rows_that_come_twice_are_not_released():
    held = BandTables(1, 1, 1, "str")
    held.admit(["a" * 3000, "b" * 5000, "c"])
    for rows in (int64(0, 0), int64(1, 2, 1), int64(2, 0, 1, 2)):
        with pytest.raises(ValueError, match=f"row {rows[-1]} comes twice"):
            held.release(rows)
        assert held.rows_in_use().tolist() == [0, 1, 2]
        assert held.find(["c", "b" * 5000]).tolist() == [2, 1]


def test_wrong_shapes_are_refused():
    held = filled("int", np.ones((3, 4), np.uint64), 2, 2)
    for signatures in (np.ones((1, 4)), np.ones((3, 3)), np.ones((3, 5)), np.ones((0, 4))):
        with pytest.raises(ValueError, match=r"signatures must be \(3, 4\), not"):
            held.write(int64(0, 1, 2), signatures.astype(np.uint64))
    for signatures in (np.ones((1, 3)), np.ones((0, 5)), np.ones((2, 8))):
        with pytest.raises(ValueError, match="signatures must be"):
            held.query(signatures.astype(np.uint64))
    for slots in (0, 3, 5):
        for call in (held.query_one, lambda signature: held.insert_one(9, signature)):
            with pytest.raises(ValueError, match=f"signature must be of 4 slots, not {slots}"):
                call(np.ones(slots, np.uint64))
    with pytest.raises(ValueError, match=r"C-contiguous|strided|contig"):
        held.query(np.ones((4, 8), np.uint64)[:, ::2])
    with pytest.raises(ValueError, match="dtype mismatch"):
        held.query(np.ones((1, 4), np.int64))
    for call in (held.write, held.query, held.query_one, held.erase, held.release, held.signatures_of, held.names_of):
        with pytest.raises(TypeError):
            call(None, None) if call == held.write else call(None)
    assert (len(held), held.unsound()) == (3, None)


def test_no_rows_at_all():
    for kind in KINDS:
        held = BandTables(3, 1, 2, kind)
        for _ in range(2):
            none = np.empty((0, 3), np.uint64)
            held.write(int64(), none)
            held.erase(int64())
            held.release(int64())
            assert answers(held, none) == answers(held, none, 2) == []
            assert answers(held, np.ones((2, 3), np.uint64)) == [[], []]
            assert held.query_one(np.ones(3, np.uint64)) == ([], None)
            assert held.signatures_of(int64()).shape == (0, 3)
            assert (len(held), held.limit, held.unsound(), held.rows_in_use().tolist()) == (0, 0, None, [])
            if kind:
                assert held.find(column(kind, [])).tolist() == []
                assert listed(held.names_of(int64())) == []
                assert [array.tolist() for array in held.admit(column(kind, []))] == [[], []]
            held = tables_over(BandTables(3, 1, 2, kind), 3, 1, 2, kind) if _ else held


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 0, 2), r"1\.\.8, the length of the signatures, not 0 x 2"),
        ((8, 2, 0), r"1\.\.8, the length of the signatures, not 2 x 0"),
        ((8, 3, 3), "not 3 x 3"),
        ((8, 2**32, 2**32), "not 4294967296 x 4294967296"),
        ((0, 1, 1), "not 1 x 1"),
        ((2**16 + 1, 1, 1), "at most 65536 slots, not 65537"),
        ((2**64 - 1, 2**64 - 1, 1), "at most 65536 slots"),
        ((8, 2, 2, "bytes"), "kind must be 'int', 'str' or None, not 'bytes'"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BandTables(*arguments)


def test_signatures_of_the_most_slots():
    signatures = np.arange(2**16 * 3, dtype=np.uint64).reshape(3, 2**16)
    held = filled("str", signatures, 2**16, 1)
    assert answers(held, signatures, 2**16) == [[(row, 2**16)] for row in range(3)]
    held.erase(int64(1))
    assert answers(held, signatures) == [[0], [], [2]]
    assert held.unsound() is None


def test_a_table_is_made_once():
    """Making it again changes nothing; it is neither copied nor pickled, as it points into memory."""
    held = filled("int", np.ones((3, 4), np.uint64), 2, 2)
    BandTables.__init__(held)
    assert held.query_one(np.ones(4, np.uint64)) == ([0, 1, 2], None)
    assert BandTables.__new__(BandTables, 4, 2, 2).query_one(np.ones(4, np.uint64)) == ([], None)
    for each, way in product((held, tables.Gate(), tables.Gate().reading()), (copy.copy, pickle.dumps)):
        with pytest.raises(TypeError):
            way(each)


def test_read_only_buffers():
    arrays = [np.array([[1, 2], [1, 3]], np.uint64), int64(0, 1), int64(7, 8)]
    for array in arrays:
        array.flags.writeable = False
    signatures, rows, names = arrays
    held = BandTables(2, 2, 1, "int")
    assert held.admit(names)[0].tolist() == [0, 1]
    held.write(rows, signatures)
    assert answers(held, signatures) == [[0, 1], [0, 1]]
    assert held.query_one(signatures[1], 2) == ([8], [2])
    assert held.find(names).tolist() == held.rows_in_use().tolist()
    assert held.names_of(rows).tolist() == names.tolist()
    assert (held.signatures_of(rows) == signatures).all()
    held.erase(rows)
    held.release(rows)
    assert len(held) == 0


# Names


@pytest.mark.parametrize("batch", [True, False])
def test_odd_names(batch):
    for kind, names in (("int", EXTREMES), ("str", ODD_STRINGS)):
        held, one = BandTables(1, 1, 1, kind), np.ones(1, np.uint64)
        if batch:
            rows, fresh = held.admit(column(kind, names))
            assert fresh.all()
            held.write(rows, np.ones((len(names), 1), np.uint64))
            assert not held.admit(column(kind, names))[1].any()
        else:
            assert all(held.insert_one(name, one) for name in names)
            assert not any(held.insert_one(name, one) for name in names)
        assert held.find(column(kind, names)).tolist() == list(range(len(names)))
        assert listed(held.names_of(np.arange(len(names)))) == names
        assert held.query_one(one)[0] == names
        for row, name in enumerate(names):
            held.erase(int64(row))
            held.release(int64(row))
            assert held.find(column(kind, [name])).tolist() == [-1]
            assert held.query_one(one)[0] == names[row + 1 :]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), unique=True, max_size=40))
@example([""])
def test_any_strings(names):
    held = BandTables(1, 1, 1, "str")
    rows, fresh = held.admit([*names, *names[::-1]])
    assert rows.tolist() == [*range(len(names)), *reversed(range(len(names)))]
    assert fresh.tolist() == [True] * len(names) + [False] * len(names)
    assert held.names_of(rows[: len(names)]) == names
    assert held.unsound() is None


def tags_in(held, table):
    """Return the tags of a table, ascending."""
    sections = packed(held)
    lengths = sections["shape"][:, 1].astype(int) + 1
    start = int(lengths[:table].sum())
    entries = sections["tables"][start : start + int(lengths[table])].tolist()
    return [entry >> 32 for entry in entries if entry != NO_ENTRY]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=20), st.lists(st.text("abä\0", max_size=40)))
@example(EXTREMES, ["", "a", "a" * 7, "a" * 8, "a" * 9, "a" * 16, "a" * 17])
def test_tags_of_names(integers, strings):
    held = filled("int", np.full((len(integers), 1), 5, np.uint64), 1, 1, np.array(integers, np.int64))
    assert tags_in(held, 1) == sorted(map(reference.tag_of_integer, integers))
    strings = list(dict.fromkeys(strings))
    held = filled("str", np.full((len(strings), 1), 5, np.uint64), 1, 1, strings)
    assert tags_in(held, 1) == sorted({reference.tag_of_bytes(name.encode()) for name in strings})


@given(st.lists(st.lists(st.sampled_from([0, 1, 2**63, EMPTY - 1]), min_size=6, max_size=6), max_size=10))
def test_tags_of_bands(rows):
    held = filled(None, array_of(rows, 6), 3, 2)
    expected = [reference.band_tags(row, 3, 2) for row in rows]
    assert [tags_in(held, band) for band in range(3)] == [sorted({row[band] for row in expected}) for band in range(3)]


def test_names_that_share_a_tag():
    """Integers and strings are compared, not their hashes."""
    names = np.array([reference.unmix64(77 << 32 | i) for i in range(40)], np.uint64).view(np.int64)
    held = BandTables(1, 1, 1, "int")
    held.admit(names[:20])
    assert held.find(names).tolist() == [*range(20), *[-1] * 20]
    assert len(tags_in(held, 1)) == 1


def test_names_of_the_wrong_kind_are_refused():
    one = np.ones(1, np.uint64)
    strings, integers, nameless = BandTables(1, 1, 1, "str"), BandTables(1, 1, 1, "int"), BandTables(1, 1, 1)
    for names in (["a", "\ud800"], ["b", "x\udfffy"]):
        for call in (strings.admit, strings.find):
            with pytest.raises(ValueError, match="lone surrogate"):
                call(names)
        with pytest.raises(ValueError, match="lone surrogate"):
            strings.insert_one(names[1], one)
    for name in (1, b"a", None, 2.5):
        for call in (strings.admit, strings.find):
            with pytest.raises(TypeError, match="names must be str, not"):
                call(["c", name])
        with pytest.raises(TypeError, match="names must be str, not"):
            strings.insert_one(name, one)
    for names in (np.array(["a", "b"]), np.arange(3), ("a",), None, "ab"):
        for call in (strings.admit, strings.find):
            with pytest.raises(TypeError):
                call(names)
    for names in ([1, 2], None, "ab", ["a"]):
        for call in (integers.admit, integers.find):
            with pytest.raises(TypeError):
                call(names)
    for names in (np.arange(3.0), np.arange(3, dtype=np.int32), np.arange(3, dtype=np.uint64), np.arange(6)[::2]):
        for call in (integers.admit, integers.find):
            with pytest.raises(ValueError, match=r"dtype mismatch|contig"):
                call(names)
    for name in ("a", None, b"a"):
        with pytest.raises(TypeError):
            integers.insert_one(name, one)
    for name in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError):
            integers.insert_one(name, one)
    for call in (
        lambda: nameless.admit(int64(1)),
        lambda: nameless.find(int64(1)),
        lambda: nameless.names_of(int64()),
        lambda: nameless.insert_one(1, one),
    ):
        with pytest.raises(ValueError, match="rows of this index have no names"):
            call()
    for held in (strings, integers):
        with pytest.raises(ValueError, match="given by admit"):
            held.allot(300)
        assert (len(held), held.unsound(), held.rows_in_use().tolist()) == (0, None, [])


def test_the_bytes_of_removed_names_are_given_back():
    """Long names come and go: memory stays within a few times what is held, and the others keep their names."""
    held = BandTables(1, 1, 1, "str")
    stay = ["", "stays", "ä" * 1000]
    held.admit(stay)
    for turn in range(12):
        names = [f"{turn} {i} " + "x" * (100_000 + i) for i in range(8)]
        rows, fresh = held.admit([*names, f"kept {turn}"])
        assert fresh.all()
        stay.append(f"kept {turn}")
        assert held.names_of(rows[:-1]) == names
        held.release(rows[:-1])
        assert held.find(names).tolist() == [-1] * 8
        assert held.names_of(held.find(stay)) == stay
        assert held.unsound() is None
    assert held.nbytes()[2] < 6_000_000
    assert len(held) == len(stay)
    held.release(held.rows_in_use())
    assert held.admit(stay)[0].tolist() == list(range(len(stay)))


# Memory that runs out


@contextmanager
def failing(n, onwards=False, dtype=None):
    """Let numpy.empty raise MemoryError at its n-th call (for this type), and at all later ones if so told."""
    calls, real = 0, np.empty

    def empty(*arguments, **options):
        nonlocal calls
        calls += dtype is None or arguments[1:] == (dtype,)
        if calls == n or (onwards and calls > n):
            raise MemoryError("injected")
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", empty)
        yield


def state(held, probe, names=None):
    """Return what can be seen of tables by some queries, and by some names."""
    sizes, largest, squares = held.bucket_sizes()
    seen = [held.unsound(), held.rows_in_use().tolist(), answers(held, probe), sizes.tolist(), largest, squares]
    return [*seen, len(held), None if names is None else held.find(names).tolist()]


def until_it_succeeds(step, held, probe, names):
    """Let memory run out at each allocation of a step in turn; return how often it did, and the step's result.

    Each time the tables must be as before.
    """
    before = state(held, probe, names)
    for n in range(1, 1000):
        for onwards in (True, False):
            try:
                with failing(n, onwards):
                    return n - 1, step()
            except MemoryError:
                assert state(held, probe, names) == before
    raise AssertionError("the step never succeeds")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [0, 25, 4090])
def test_memory_runs_out_in_a_batch(kind, base):
    n, k = 4200, 4
    generator = np.random.default_rng(base)
    # a band of few values, whose buckets are large, and one of many
    signatures = np.ascontiguousarray(generator.integers(0, [9, 1, 5000, 1], (base + n, k)), np.uint64)
    names = numbered(kind, range(base + n))
    held = filled(kind, signatures[:base], 2, 2)
    seen = held, signatures[::97], None if kind is None else column(kind, names[::50])
    fails, admitted = until_it_succeeds(lambda: held.allot(n) if kind is None else held.admit(names[base:]), *seen)
    rows = admitted if kind is None else admitted[0]
    assert fails >= 3
    assert rows.tolist() == list(range(base, base + n)) or base
    fails, _ = until_it_succeeds(lambda: held.write(rows, signatures[base:]), *seen)
    assert fails >= 2
    placed = np.empty_like(signatures)
    placed[:base], placed[rows] = signatures[:base], signatures[base:]
    assert answers(held, signatures[::97]) == brute_force(placed, signatures[::97], 2, 2)
    if kind is not None:
        assert held.find(names).tolist() == [*range(base), *rows.tolist()]
    # Giving back asks for no memory that it cannot do without.
    with failing(1, onwards=True):
        held.erase(rows)
        held.release(rows)
    assert (len(held), held.unsound()) == (base, None)
    assert answers(held, signatures[:base:7]) == brute_force(signatures[:base], signatures[:base:7], 2, 2)


@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("base", [0, 4090])
def test_memory_runs_out_in_a_batch_of_one(kind, base):
    n = 300 if base == 0 else 12
    generator = np.random.default_rng(base)
    signatures = np.ascontiguousarray(generator.integers(0, [3, 100_000], (base + n, 2)), np.uint64)
    names = numbered(kind, range(base + n))
    held = filled(kind, signatures[:base], 2, 1)
    fails = 0
    for i in range(base, base + n):
        fail, done = until_it_succeeds(
            lambda i=i: held.insert_one(names[i], signatures[i]), held, signatures[i : i + 1], names[i : i + 1]
        )
        assert done is True
        fails += fail
    assert fails >= 2
    assert held.unsound() is None
    rows = held.find(names)
    placed = np.empty_like(signatures)
    placed[rows] = signatures
    assert answers(held, signatures[:20]) == brute_force(placed, signatures[:20], 2, 1)


def test_memory_runs_out_in_the_second_part_of_a_batch():
    """The parts that are written already are taken out again."""
    n = BATCH + 3000
    signatures = np.arange(n, dtype=np.uint64)[:, None]
    signatures[BATCH:] //= np.uint64(10)  # buckets of several rows
    held = BandTables(1, 1, 1)
    rows, probe = held.allot(n), signatures[::1000]
    fails, _ = until_it_succeeds(lambda: held.write(rows, signatures), held, probe, None)
    assert fails >= 2
    assert held.unsound() is None
    assert answers(held, probe) == brute_force(signatures, probe, 1, 1)


def test_memory_runs_out_while_names_are_brought_together():
    """The bytes of removed names stay where they are, until another release finds memory."""
    held = BandTables(1, 1, 1, "str")
    rows, _ = held.admit([f"{i}" * 400_000 for i in range(8)] + ["short"])
    with failing(1, onwards=True):
        held.release(rows[:8])
    assert held.names_of(rows[8:]) == ["short"]
    memory = held.nbytes()[2]
    held.release(held.admit(["another"])[0])
    assert held.nbytes()[2] < memory
    assert held.names_of(held.find(["short"])) == ["short"]


def test_memory_runs_out_in_an_index():
    """Names and signatures come and go together."""
    index = LSHIndex(num_perm=1, bands=1, rows=1)
    index.insert(["seed"], np.zeros((1, 1), np.uint64))
    index.remove(["seed"])
    keys, signatures = [str(i) for i in range(200)], np.arange(1, 201, dtype=np.uint64)[:, None]
    fails = 0
    for n in range(1, 100):
        try:
            with failing(n, onwards=True, dtype=np.uint64):
                index.insert(keys, signatures)
        except MemoryError:
            fails += 1
            assert (len(index), index.stats().bucket_sizes, list(index)) == (0, {}, [])
            assert not any(index.query(signatures))
        else:
            break
    assert fails >= 3
    assert [index.query(signature) for signature in signatures] == [[key] for key in keys]
    index.remove(keys)
    index.insert(["x"], np.array([[999]], np.uint64))
    assert not any(index.query(signatures))


# Over the memory of others


def test_fixed_tables_are_not_written():
    held = filled("int", np.ones((3, 2), np.uint64), 1, 2)
    fixed = tables_over(held, 2, 1, 2, "int")
    before = {name: arrays[0].tobytes() for name, arrays in fixed.sections().items()}
    for call in (
        lambda: fixed.admit(int64(1, 9)),
        lambda: fixed.allot(1),
        lambda: fixed.release(int64(0)),
        lambda: fixed.write(int64(0), np.ones((1, 2), np.uint64)),
        lambda: fixed.erase(int64(0)),
        lambda: fixed.insert_one(9, np.ones(2, np.uint64)),
        lambda: fixed.insert_one(1, np.ones(2, np.uint64)),
    ):
        with pytest.raises(ValueError, match="these tables are fixed"):
            call()
    assert {name: arrays[0].tobytes() for name, arrays in fixed.sections().items()} == before
    assert len(fixed) == 3


def test_the_same_array_may_be_given_again():
    held = filled("str", np.arange(12, dtype=np.uint64).reshape(6, 2), 2, 1)
    sections = packed(held)
    fixed = BandTables.over(2, 2, 1, "str", sections)
    assert {name: arrays[0] is sections[name] for name, arrays in fixed.sections().items()} == dict.fromkeys(
        sections, True
    )
    again = BandTables.over(2, 2, 1, "str", {name: arrays[0] for name, arrays in fixed.sections().items()})
    assert again.names_of(again.rows_in_use()) == [f"name {i}" for i in range(6)]
    assert again.nbytes()[0] == 6 * 2 * 8


def test_rows_that_are_gone():
    """They are in no answer, from the moment that they are marked."""
    signatures = np.ones((5, 2), np.uint64)
    gone = np.zeros(5, np.uint8)
    fixed = tables_over(filled("int", signatures, 2, 1), 2, 2, 1, "int", gone)
    assert fixed.query_one(signatures[0]) == ([0, 1, 2, 3, 4], None)
    gone[[1, 4]] = 1
    assert fixed.query_one(signatures[0], 1) == ([0, 2, 3], [2, 2, 2])
    assert answers(fixed, signatures[:1]) == [[0, 2, 3]]
    assert fixed.find(np.arange(6)).tolist() == [0, -1, 2, 3, -1, -1]
    assert (len(fixed), fixed.rows_in_use().tolist(), fixed.limit) == (3, [0, 2, 3], 5)
    gone[:] = 1
    assert (len(fixed), fixed.query_one(signatures[0])) == (0, ([], None))
    gone[:] = 0
    gone[0] = 2  # anything but 0
    assert len(fixed) == 4
    with pytest.raises(ValueError, match="gone must have 5 marks, not 4"):
        tables_over(filled("int", signatures, 2, 1), 2, 2, 1, "int", np.zeros(4, np.uint8))


def test_sections_over_several_blocks_of_signatures():
    signatures = np.random.default_rng(6).integers(0, 400, (9000, 4)).astype(np.uint64)
    held = filled("int", signatures[:4000], 2, 2)
    for low, high in ((4000, 4097), (4097, 9000)):
        held.write(held.admit(np.arange(low, high))[0], signatures[low:high])
    fixed = tables_over(held, 4, 2, 2, "int")
    assert len(held.sections()["signatures"]) > 1
    assert (fixed.signatures_of(np.arange(9000)) == signatures).all()
    assert answers(fixed, signatures, 3) == answers(held, signatures, 3)
    assert fixed.nbytes()[0] == signatures.nbytes
    assert fixed.bucket_sizes()[1:] == held.bucket_sizes()[1:]


def changed(name, change):
    """Return a function that changes one section."""

    def apply(sections):
        sections[name] = change(sections[name].copy())

    return apply


def at(place, value):
    """Return a function that changes one value of an array."""

    def apply(array):
        array.reshape(-1)[place] = value
        return array

    return apply


BAD_SECTIONS = {
    "signatures too narrow": (changed("signatures", lambda a: a[:, :1].copy()), "must have 2 slots, not 1"),
    "no table of names": (changed("shape", lambda a: a[:2]), r"shape must be \(3, 3\), not \(2, 3\)"),
    "a shape of two": (changed("shape", lambda a: a[:, :2].copy()), r"shape must be \(3, 3\), not \(3, 2\)"),
    "no capacity": (changed("shape", at(0, 0)), "table 0 has capacity 0"),
    "too large a capacity": (changed("shape", at(3, 2**32 + 1)), "table 1 has capacity 4294967297"),
    "a capacity beyond the length": (changed("shape", at(4, 1)), "table 1 has capacity .* and length 1,"),
    "a length beyond the end": (changed("shape", at(1, 2**40)), "table 0 has"),
    "the greatest length": (changed("shape", at(7, 2**64 - 1)), "table 2 has"),
    "another length": (changed("shape", at(1, 80)), r"tables must have \d+ entries, not \d+"),
    "no end": (changed("tables", at(-1, 5)), "table 2 has no end"),
    "an entry too few": (changed("tables", lambda a: a[:-1]), "table 2 has"),
    "an entry too many": (changed("tables", lambda a: np.append(a, a[-1:])), "tables must have"),
    "no entries": (changed("tables", lambda a: a[:0]), "table 0 has"),
    "half a unit": (changed("pool", lambda a: a[:-2]), "the pool must have whole blocks, not"),
    "an integer too few": (changed("integers", lambda a: a[:-1]), "there must be 8 integers, not 7"),
    "a row too few": (changed("signatures", lambda a: a[:-1]), "there must be 7 integers, not 8"),
    "a start too few": (changed("starts", lambda a: a[:-1]), "there must be 8 starts and lengths, not 7 and 8"),
    "a length too many": (changed("lengths", lambda a: np.append(a, a)), "starts and lengths, not 8 and 16"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_SECTIONS)
def test_sections_that_do_not_belong_together_are_refused(case):
    change, message = BAD_SECTIONS[case]
    kind = "str" if case in ("a start too few", "a length too many") else "int"
    sections = packed(filled(kind, np.arange(16, dtype=np.uint64).reshape(8, 2) % 3, 2, 1))
    change(sections)
    with pytest.raises(ValueError, match=message):
        BandTables.over(2, 2, 1, kind, sections)


def read_all(fixed, queries, kind):
    """Call every reading method: each gives an answer or a ValueError. Return what `unsound` says."""
    rows, n = fixed.rows_in_use(), fixed.limit
    calls = [
        lambda: fixed.query(queries),
        lambda: fixed.query(queries, 1),
        lambda: fixed.query_one(queries[0], 0),
        lambda: fixed.signatures_of(rows),
        fixed.bucket_sizes,
        fixed.nbytes,
        fixed.sections,
    ]
    if kind is not None:
        calls += [lambda: fixed.find(numbered(kind, range(-2, n + 5))), lambda: fixed.names_of(rows)]
    for call in calls:
        with suppress(ValueError):
            call()
    return fixed.unsound()


def damaged(sections, name, place, flip):
    """Return the sections with one byte changed."""
    data = bytearray(sections[name].tobytes())
    data[place] ^= flip
    array = np.frombuffer(bytes(data), sections[name].dtype).reshape(sections[name].shape)
    return {**sections, name: array}


@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_may_be_damaged(kind):
    """One byte of the sections is changed: fixed tables refuse it, give an answer or a ValueError, and never crash."""
    signatures = np.array([[0, 1], [0, 1], [0, 2], [1, 2], [1, 1], [EMPTY] * 2, [0, 0], [0, 5]], np.uint64)
    sections = packed(filled(kind, signatures, 2, 1))
    counts_of_bands = sections["shape"][:, 2].sum()
    found = 0
    for name, array in sections.items():
        for place in range(array.nbytes):
            for flip in {0xFF, 1 << place % 8}:
                try:
                    fixed = BandTables.over(2, 2, 1, kind, damaged(sections, name, place, flip))
                except ValueError:
                    continue
                found += read_all(fixed, signatures, kind) is not None
    assert found > counts_of_bands  # damage to the entries, if nothing else


WORDS = st.sampled_from([0, 1, 2, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1])


@settings(max_examples=150)
@given(st.data())
def test_sections_may_be_damaged_in_many_places(data):
    kind = data.draw(st.sampled_from(KINDS))
    n = data.draw(st.sampled_from([0, 1, 20, 60]))
    signatures = np.random.default_rng(n).integers(0, 3, (n, 4)).astype(np.uint64)
    sections = {name: array.copy() for name, array in packed(filled(kind, signatures, 2, 2)).items()}
    sections["signatures"] = sections["signatures"].reshape(n, 4)
    for _ in range(data.draw(st.integers(1, 5))):
        name = data.draw(st.sampled_from(sorted(sections)))
        flat = sections[name].reshape(-1)
        if not flat.size:
            continue
        place, value = data.draw(st.integers(0, flat.size - 1)), data.draw(WORDS)
        flat[place] = np.array([value], np.uint64).view(flat.dtype)[0]
    gone = data.draw(st.sampled_from([None, np.arange(n, dtype=np.uint8) % 2]))
    try:
        fixed = BandTables.over(4, 2, 2, kind, sections, gone)
    except ValueError:
        return
    read_all(fixed, np.ones((3, 4), np.uint64), kind)


def rewritten(sections, change):
    """Return the sections with each entry of all tables changed."""
    entries = sections["tables"].copy()
    there = entries != NO_ENTRY
    entries[there] = [change(entry) for entry in entries[there].tolist()]
    return {**sections, "tables": entries}


LEADS = {
    "to the row behind the last": lambda entry, units: entry >> 32 << 32 | 40,
    "one unit behind the pool": lambda entry, units: entry >> 32 << 32 | SHARED + units,
    "far behind the pool": lambda entry, units: entry >> 32 << 32 | 2 * SHARED - 2,
    "into the middle of a block": lambda entry, units: entry + (1 if entry & SHARED else 0),
    "to no row": lambda entry, units: entry >> 32 << 32 | SHARED - 1,
}


@pytest.mark.parametrize("lead", LEADS)
def test_entries_that_lead_nowhere(lead):
    signatures = np.random.default_rng(1).integers(0, 2, (40, 4)).astype(np.uint64)
    sections = packed(filled("int", signatures, 2, 2))
    units = len(sections["pool"]) // 4
    fixed = BandTables.over(4, 2, 2, "int", rewritten(sections, lambda entry: LEADS[lead](entry, units)))
    assert fixed.unsound() == 0
    read_all(fixed, signatures, "int")
    if lead != "into the middle of a block":
        with pytest.raises(ValueError, match="an entry of the tables leads out of them"):
            fixed.query(signatures)
        with pytest.raises(ValueError, match="an entry of the tables leads out of them"):
            fixed.query_one(signatures[0])
        assert (fixed.find(np.arange(40)) < 40).all()


def test_an_entry_that_leads_to_an_empty_signature():
    """It matches nothing, wherever it may be found."""
    sections = packed(filled(None, np.array([[EMPTY], [5]], np.uint64), 1, 1))
    entries = sections["tables"].copy()
    entries[sections["shape"][0, 0] - 1] = 0xFFFFFFFF << 32
    fixed = BandTables.over(1, 1, 1, None, {**sections, "tables": entries})
    assert answers(fixed, np.array([[EMPTY], [5]], np.uint64)) == [[], [1]]
    assert fixed.query_one(np.array([EMPTY], np.uint64), 0) == ([], [])


def test_names_that_lie_outside_of_all_names():
    sections = packed(filled("str", np.ones((4, 1), np.uint64), 1, 1))
    size = len(sections["bytes"])
    for start, length in ((-1, 6), (size, 1), (size + 1, 0), (0, size + 1), (2**63 - 1, 2**32 - 1), (-(2**63), 6)):
        sections["starts"], sections["lengths"] = int64(0, 0, start, 0), np.array([6, 6, length, 6], np.uint32)
        fixed = BandTables.over(1, 1, 1, "str", sections)
        with pytest.raises(ValueError, match="the name of row 2 lies outside of all names"):
            fixed.names_of(int64(2))
        with pytest.raises(ValueError, match="the name of row 2 lies outside of all names"):
            fixed.query_one(np.ones(1, np.uint64))
        assert fixed.find(["name 2"]).tolist() == [-1]
    sections["bytes"] = np.full(size, 0xFF, np.uint8)
    with pytest.raises(UnicodeDecodeError):
        BandTables.over(1, 1, 1, "str", sections).names_of(int64(0))


def test_the_empty_name_over_no_bytes_at_all():
    held = filled("str", np.ones((1, 4), np.uint64), 2, 2, [""])
    assert held.find([""]).tolist() == [0]
    fixed = tables_over(held, 4, 2, 2, "str")
    assert (fixed.find(["", "a"]).tolist(), fixed.names_of(int64(0))) == ([0, -1], [""])
    assert fixed.query_one(np.ones(4, np.uint64)) == ([""], None)


def test_a_damaged_file_is_read_without_a_crash(tmp_path):
    """Entries that lead out of the pool, in a file that is not verified: figures leave them out."""
    index = LSHIndex(num_perm=8, bands=4, rows=2)
    index.insert(range(100), np.random.default_rng(0).integers(0, 5, (100, 8), np.uint64))
    index.save(tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    entries = index.store.loose.tables.sections()["tables"][0].copy()
    start = data.find(entries.tobytes())
    assert start > 0
    entries[entries != NO_ENTRY] |= np.uint64(0xC0000000)
    data[start : start + entries.nbytes] = entries.tobytes()
    (tmp_path / "index").write_bytes(data)
    with LSHIndex.open(tmp_path / "index", verify=False) as damaged_index:
        assert damaged_index.stats().entries == 100
        with pytest.raises(ValueError, match="leads out of"):
            damaged_index.query(np.random.default_rng(0).integers(0, 5, (100, 8), np.uint64))


# Checksums


def test_checksums():
    """Of all lengths up to some blocks of 32 bytes and more."""
    data = np.random.default_rng(1).bytes(1000)
    for length in [*range(101), 127, 128, 129, 1000]:
        assert checksum(data[:length]) == reference.checksum(data[:length])
        assert checksum(b"\0" * length) == reference.checksum(b"\0" * length)
    assert len({checksum(b"\0" * length) for length in range(200)}) == 200
    assert checksum() == checksum(b"") == checksum(b"", b"") == reference.checksum(b"")


@given(st.lists(st.binary(max_size=90), max_size=8))
@example([b"a" * 31, b"b", b"", b"c" * 33, b"d" * 64])
@example([b"x"] * 70)
def test_checksums_of_pieces(pieces):
    assert checksum(*pieces) == reference.checksum(b"".join(pieces))


def test_any_split_gives_the_same_checksum():
    data = np.random.default_rng(2).bytes(100)
    wanted = reference.checksum(data)
    assert {checksum(data[:i], data[i:]) for i in range(101)} == {wanted}
    splits = ((i, j) for i in range(0, 101, 3) for j in range(i, 101, 7))
    assert {checksum(data[:i], data[i:j], data[j:]) for i, j in splits} == {wanted}


def test_any_change_changes_the_checksum():
    data = np.random.default_rng(3).bytes(100)
    sums = {checksum(data)}
    for place, flip in product(range(100), range(1, 256)):
        sums.add(checksum(data[:place], bytes([data[place] ^ flip]), data[place + 1 :]))
    assert len(sums) == 1 + 100 * 255


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int64, np.uint64, np.float64])
def test_checksums_of_arrays(dtype):
    array = np.arange(60).astype(dtype).reshape(12, 5)
    array.flags.writeable = False
    assert checksum(array, array[3:4], array[:0]) == reference.checksum(array.tobytes() + array[3:4].tobytes())
    with pytest.raises(TypeError):
        checksum(array[:, ::2])
    with pytest.raises(TypeError):
        checksum("text")
