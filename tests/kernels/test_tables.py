"""The tables of an index beside a plain model, on each CPU level; how they grow and shrink."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lshfast import kernels
from lshfast.kernels import tables
from lshfast.kernels.tables import BandTables
from tests.kernels.tables_kit import (
    BATCH,
    CROWDED,
    GROUP,
    KINDS,
    NAMES,
    NAMES_OF_KIND,
    answers,
    array_of,
    brute_force,
    column,
    filled,
    int64,
    listed,
    numbered,
    packed,
    tables_over,
    tag_signatures,
)
from tests.reference import tables as reference
from tests.reference.hashing import EMPTY

# Beside the model


LEVELS = st.sampled_from(kernels.available())


class TableMachine(RuleBasedStateMachine):
    """Tables and their model: each step is done to both, and after each they hold the same.

    Blocks of signatures are small, so that whole ones may lie in arrays that are given.
    """

    def __init__(self):
        super().__init__()
        self.level = kernels.level()
        self.given = []  # arrays that may be kept, and what must stay in them

    def teardown(self):
        kernels.use(self.level)

    @initialize(
        kind=st.sampled_from(KINDS),
        k=st.integers(1, 4),
        block=st.sampled_from([1, 64, 2**22]),
        data=st.data(),
    )
    def begin(self, kind, k, block, data):
        r = data.draw(st.integers(1, k))
        b = data.draw(st.integers(1, k // r))
        self.run_on(data.draw(LEVELS))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "BLOCK_BYTES", block)
            self.tables = BandTables(k, b, r, kind)
        self.kind, self.k, self.model = kind, k, reference.Tables(b, r)
        slots = st.lists(
            st.sampled_from([0, 1, 2, EMPTY - 1]), min_size=k, max_size=k
        ).map(tuple)
        self.signature = st.one_of(slots, slots, slots, st.just((EMPTY,) * k))
        self.count = 0

    def admit(self, names):
        """Give rows to names, or as many without names; return those that are new."""
        if self.kind is None:
            rows = self.tables.allot(len(names)).tolist()
            fresh = rows
            self.model.allot(rows)
        else:
            rows, marks = self.tables.admit(column(self.kind, names))
            assert (rows.dtype, marks.dtype) == (np.int64, bool)
            fresh = rows[marks].tolist()
            assert not self.model.in_use.intersection(fresh)
            assert (rows.tolist(), marks.tolist()) == self.model.admit(names, fresh)
        assert len(set(fresh)) == len(fresh)
        return fresh

    def write(self, rows, signatures, copy):
        array = array_of(signatures, self.k)
        self.tables.write(int64(*rows), array, copy)
        if copy:
            array[:] = 7  # it is not needed any more
        else:
            self.given.append((array, array.copy()))
        self.model.signatures.update(zip(rows, signatures, strict=True))

    def some(self, data, rows):
        """Draw some of these rows, in any order."""
        return (
            data.draw(st.lists(st.sampled_from(sorted(rows)), unique=True, max_size=40))
            if rows
            else []
        )

    def unwritten(self):
        return self.model.in_use - self.model.signatures.keys()

    @rule(level=LEVELS)
    def run_on(self, level):
        kernels.use(level)

    @rule(data=st.data())
    def take_rows(self, data):
        self.admit(data.draw(st.lists(NAMES_OF_KIND[self.kind or "int"], max_size=12)))

    def signatures_for(self, data, rows):
        return data.draw(
            st.lists(self.signature, min_size=len(rows), max_size=len(rows))
        )

    @rule(data=st.data(), copy=st.booleans())
    def write_some(self, data, copy):
        rows = self.some(data, self.unwritten())
        self.write(rows, self.signatures_for(data, rows), copy)

    @rule(
        data=st.data(),
        n=st.integers(1, 70),
        distinct=st.integers(1, 3),
        copy=st.booleans(),
    )
    def crowd(self, data, n, distinct, copy):
        """Buckets that become large: new rows of few signatures."""
        self.count += n
        rows = self.admit(
            [
                *(
                    -10 - i if self.kind == "int" else f"new {i}"
                    for i in range(self.count - n, self.count)
                )
            ]
        )
        signatures = data.draw(
            st.lists(self.signature, min_size=distinct, max_size=distinct)
        )
        self.write(rows, [signatures[i % distinct] for i in range(n)], copy)

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

    @precondition(lambda self: self.kind)
    @rule(data=st.data())
    def discard_one(self, data):
        held = [
            name
            for name, row in self.model.names.items()
            if row in self.model.signatures
        ]
        name = data.draw(
            st.one_of(
                *([st.sampled_from(sorted(held))] if held else []),
                NAMES_OF_KIND[self.kind],
            )
        )
        row = self.model.names.get(name)
        assert self.tables.find_one(name) == (-1 if row is None else row)
        if row not in self.unwritten():
            assert self.tables.discard_one(name) is (row is not None)
            if row is not None:
                del self.model.signatures[row]
                self.model.release([row])

    @rule(
        data=st.data(),
        also_release=st.booleans(),
        everything=st.sampled_from([False, False, True]),
    )
    def erase(self, data, also_release, everything):
        rows = (
            list(self.model.signatures)
            if everything
            else self.some(data, self.model.signatures)
        )
        self.tables.erase(int64(*rows))
        for row in rows:
            del self.model.signatures[row]
        if also_release:
            self.release_rows(rows)

    @rule(data=st.data(), copy=st.booleans())
    def hand_over(self, data, copy):
        """Other rows, with signatures of their own, take the names of some."""
        old = self.some(data, self.model.signatures)
        new = self.tables.allot(len(old)).tolist()
        assert not self.model.in_use.intersection(new)
        self.model.allot(new)
        self.write(new, self.signatures_for(data, new), copy)
        self.tables.hand_over(int64(*old), int64(*new))
        self.model.hand_over(old, new)

    @rule(data=st.data())
    def release(self, data):
        self.release_rows(self.some(data, self.unwritten()))

    def release_rows(self, rows):
        self.tables.release(int64(*rows))
        self.model.release(rows)

    @rule(data=st.data(), least=st.one_of(st.none(), st.integers(0, 5)))
    def query(self, data, least):
        self.compare_answers(
            self.tables, data.draw(st.lists(self.signature, max_size=20)), least
        )

    def compare_answers(self, held, signatures, least, gone=frozenset()):
        names = {row: name for name, row in self.model.names.items()}
        expected = [[pair for pair in self.model.candidates(signature, least or 0) if pair[0] not in gone]
                    for signature in signatures]  # fmt: skip
        plain = (
            expected
            if least is not None
            else [[row for row, _ in pairs] for pairs in expected]
        )
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
        assert found == [
            list(signature) for signature in self.model.signatures.values()
        ]

    @rule(data=st.data())
    def lie_over(self, data):
        """Tables over the sections answer as the ones they are of, but for the rows that are gone."""
        if len(self.tables) < self.tables.limit:
            with pytest.raises(
                ValueError, match=r"rows are free: the tables must be built anew"
            ):
                self.tables.sections()
            return
        gone = (
            set(self.some(data, self.model.in_use))
            if data.draw(st.booleans())
            else set()
        )
        marks = np.array([row in gone for row in range(self.tables.limit)], np.uint8)
        b, r = self.model.bands, self.model.rows
        fixed = tables_over(
            self.tables, self.k, b, r, self.kind, marks if gone else None
        )
        assert fixed.fixed
        assert fixed.unsound() is None
        assert fixed.rows_in_use().tolist() == sorted(self.model.in_use - gone)
        assert len(fixed) == len(self.model.in_use) - len(gone)
        self.compare_answers(
            fixed, data.draw(st.lists(self.signature, max_size=6)), 1, gone
        )
        if self.kind is not None:
            names = [
                *self.model.names,
                *data.draw(st.lists(NAMES_OF_KIND[self.kind], max_size=6)),
            ]
            rows = [self.model.names.get(name, -1) for name in names]
            assert fixed.find(column(self.kind, names)).tolist() == [
                -1 if row in gone else row for row in rows
            ]
            assert listed(fixed.names_of(int64(*self.model.names.values()))) == list(
                self.model.names
            )
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
            assert listed(held.names_of(int64(*model.names.values()))) == list(
                model.names
            )
            assert held.find(column(self.kind, list(model.names))).tolist() == list(
                model.names.values()
            )
        assert all(array.tobytes() == before.tobytes() for array, before in self.given)


def test_beside_the_model():
    run_state_machine_as_test(
        TableMachine, settings=settings(max_examples=40, stateful_step_count=25)
    )


# Growing and shrinking


@pytest.mark.parametrize("kind", ["int", None])
def test_one_bucket_of_thousands(kind, level):
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


def test_a_bucket_that_grows_and_shrinks_by_one(level):
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
def test_growth_by_one(kind, level):
    """Rows come one at a time over many sizes of the tables, and go."""
    n, generator = 700, np.random.default_rng(2)
    signatures = generator.integers(0, 420, (n, 2)).astype(np.uint64)
    held, names = BandTables(2, 2, 1, kind), numbered(kind, range(n))
    for row in range(n):
        if kind is None:
            held.write(held.allot(1), signatures[row : row + 1])
        else:
            assert held.insert_one(
                listed(names)[row] if kind == "str" else row, signatures[row]
            )
            assert (
                held.insert_one(
                    listed(names)[row] if kind == "str" else row, signatures[0]
                )
                is False
            )
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
            assert answers(held, signatures) == brute_force(
                signatures, signatures, 2, 1
            )
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
    entries = np.concatenate(held.sections()["tables"])
    capacity = np.concatenate(held.sections()["shape"])[:, 0]
    assert held.unsound() is None
    assert (capacity < 2 * n).all()
    assert len(entries) < 5 * (2 * n + 200)
    assert held.nbytes()[1] < 4 * n * 20 + 50_000


@pytest.mark.parametrize("crowd", CROWDED)
@pytest.mark.parametrize("at_once", [True, False])
def test_tags_that_crowd(crowd, at_once, level):
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
        assert answers(held, signatures) == [
            [] if signatures[row, 0] == EMPTY else [row] for row in range(n)
        ]
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
    names = np.array(
        [reference.unmix64(tag << 32 | i) for i, tag in enumerate(CROWDED[crowd](n))],
        np.uint64,
    )
    names = names.view(np.int64)
    held = BandTables(1, 1, 1, "int")
    for part in np.array_split(names, 7):
        held.admit(part)
        assert held.unsound() is None
    assert held.find(names).tolist() == list(range(n))
    held.release(np.arange(0, n, 2))
    assert held.unsound() is None
    assert held.find(names).tolist() == [row if row % 2 else -1 for row in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "n",
    [
        1,
        *(size + more for size in (GROUP, NAMES) for more in (-1, 0, 1)),
        pytest.param(BATCH, marks=pytest.mark.weekly),
        BATCH + 1,
    ],
)
def test_batches(n, level):
    """All of a batch is found again, whatever parts it is worked on in; then half of it, then nothing."""
    generator = np.random.default_rng(n)
    signatures = generator.integers(0, max(2, n // 8), (n, 2)).astype(np.uint64)
    signatures[generator.random(n) < 0.05] = EMPTY
    held = BandTables(2, 2, 1, "int")
    names = generator.permutation(n) * 3 - n
    rows, fresh = held.admit(names)
    assert fresh.all()
    held.write(rows, signatures)
    in_tables = np.ones(n, np.bool_)
    probe = generator.choice(n, min(n, 40), replace=False)
    for _ in range(2):
        assert held.unsound() is None
        assert held.find(names).tolist() == rows.tolist()
        found = answers(held, signatures)
        assert [len(each) for each in found] == counts(signatures)
        assert [found[i] for i in probe] == brute_force(
            signatures, signatures[probe], 2, 1
        )
        assert [answers(held, signatures[i : i + 1])[0] for i in probe] == [
            found[i] for i in probe
        ]
        half = np.flatnonzero((generator.random(n) < 0.5) & in_tables)
        held.erase(rows[half])
        in_tables[half] = False
        signatures[half] = EMPTY
    held.erase(rows[in_tables])
    held.release(rows)
    assert (len(held), held.unsound(), held.bucket_sizes()[1]) == (0, None, 0)
    assert held.find(names).tolist() == [-1] * n


def counts(signatures):
    """Return how many of two-slot signatures equal each one in a slot: those in the one and the other but not both."""
    full = signatures[:, 0] != EMPTY
    total = np.zeros(len(signatures), np.int64)
    for columns, sign in (([0], 1), ([1], 1), ([0, 1], -1)):
        _, inverse, times = np.unique(
            signatures[:, columns], axis=0, return_inverse=True, return_counts=True
        )
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
    assert answers(index, queries, 1) == [
        [(row, 1) for row in rows] for rows in expected
    ]
    assert answers(index, queries, 2) == [[] for _ in sizes]
    for query, rows in zip(queries, expected, strict=True):
        assert index.query_one(query, 0) == (rows, [1] * len(rows))
