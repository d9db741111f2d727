"""Cells of rows (code_cells.h): searches by codes have the same answers with them, and examine fewer rows."""

from itertools import pairwise

import numpy as np
import pytest

from lshfast.index.neighbors.points import PointFormat
from lshfast.kernels.tables import BandTables, search_codes

WORDS, DIM, HEAD, TOPICS = 4, 12, 2, 20
NEAR = (0.6 * np.arange(121)).astype(np.uint8) + 4
ENOUGH = 1 - np.cos(np.pi * np.maximum(np.arange(121) - 20, 0) / (64 * WORDS))


class World:
    """Points in clusters, whose codes are the sides of hyperplanes, and tables of them."""

    def __init__(self, n, dtype="float32", clusters=TOPICS):
        rng = np.random.default_rng(n)
        topics = rng.standard_normal((clusters, DIM))
        self.form = PointFormat("angle", DIM, dtype, None)
        self.planes = rng.standard_normal((DIM, 64 * WORDS))
        self.rows = self.rows_of(
            topics[rng.integers(0, clusters, n)] + rng.standard_normal((n, DIM)) / 4
        )
        self.queries = self.rows_of(
            topics[rng.integers(0, clusters, 30)] + rng.standard_normal((30, DIM)) / 4
        )

    def rows_of(self, points):
        bits = np.packbits(points @ self.planes > 0, axis=1, bitorder="little")
        return np.concatenate(
            [bits.view(np.uint64), self.form.check(points)[1]], axis=1
        )

    def tables(self, rows):
        held = BandTables(
            WORDS, 1, 1, payload=self.form.measure.words, apart=True, head=HEAD
        )
        held.write(held.allot(len(rows)), rows)
        return held

    def arrange(self, held, least=1):
        return held.arrange(self.form.measure.kernel, least)

    def found(self, tables, *arguments, measure=None):
        """Return {row: distance} of each query, and the number of rows that were examined."""
        codes = np.ascontiguousarray(self.queries[:, :WORDS])
        points = np.ascontiguousarray(self.queries[:, WORDS:])
        measure = measure or self.form.measure.kernel
        offsets, rows, distances, examined = search_codes(
            tables, codes, points, measure, NEAR, ENOUGH, *arguments
        )
        pairs = [*zip(rows.tolist(), distances.tolist(), strict=True)]
        return [dict(pairs[a:b]) for a, b in pairwise(offsets)], examined.sum()


SEARCHES = [
    (10,),
    (1, 0.02),
    (None, 0.05),
    (None, 0.0),
    (None, None),
    (10**6,),
    (3, None, ("closest", 20)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 15, 16, 33, 1500])
def test_the_answers_are_those_without_cells(level, n, dtype):
    world = World(n, dtype)
    without, held = world.tables(world.rows), world.tables(world.rows)
    assert world.arrange(held)
    for arguments in SEARCHES:
        assert (
            world.found([held], *arguments)[0] == world.found([without], *arguments)[0]
        )


def test_far_cells_are_skipped():
    world = World(10_000)
    without, held = world.tables(world.rows), world.tables(world.rows)
    world.arrange(held)
    assert (
        world.found([held], None, 0.02)[1] < 0.5 * world.found([without], None, 0.02)[1]
    )
    assert sum(held.nbytes()) > sum(without.nbytes())


def test_other_measures_use_no_cells():
    world = World(1000)
    without, held = world.tables(world.rows), world.tables(world.rows)
    assert world.arrange(held)
    world.queries = world.rows[:30]
    bits = "hamming", "bits", world.form.measure.words
    found = world.found([held], None, 0.0, measure=bits)
    assert found == world.found([without], None, 0.0, measure=bits)
    assert found[0] == [{row: 0.0} for row in range(30)]


def test_rows_that_are_written_later(level):
    """Rows that are gone, used again, or new since the cells were made are where they should be, and only once."""
    world = World(2000)
    held, rng = world.tables(world.rows[:1500]), np.random.default_rng(1)
    world.arrange(held)
    held.discard(rng.permutation(1500)[:300])
    again = held.allot(400)
    assert again.max() >= 1500 > again.min()
    held.write(again, world.rows[1500:1900])
    rows = held.rows_in_use()
    fresh = world.tables(held.signatures_of(rows))
    for arguments in SEARCHES[:-1]:
        expected = [
            {rows[row]: d for row, d in each.items()}
            for each in world.found([fresh], *arguments)[0]
        ]
        assert world.found([held], *arguments)[0] == expected
    both = world.tables(world.rows[1900:])
    world.arrange(both)
    joined = world.tables(np.concatenate([held.signatures_of(rows), world.rows[1900:]]))
    for mine, theirs in zip(
        world.found([held, both], 10)[0], world.found([joined], 10)[0], strict=True
    ):
        assert sorted(mine.values()) == sorted(theirs.values())


def test_cells_are_made_again_after_many_changes():
    world = World(3000)
    held = world.tables(world.rows[:1000])
    assert world.arrange(held)
    assert not world.arrange(held)
    held.write(held.allot(400), world.rows[1000:1400])
    assert not world.arrange(held)
    held.write(held.allot(200), world.rows[1400:1600])
    assert world.arrange(held)
    held.discard(np.arange(300))
    held.write(held.allot(300), world.rows[1600:1900])
    assert world.arrange(held)
    held.discard(held.rows_in_use())
    assert not world.arrange(held)
    assert world.found([held], 10)[0] == [{}] * 30


def test_what_has_no_cells():
    world = World(100)
    held = world.tables(world.rows)
    assert not world.arrange(held, 101)
    assert not held.arrange(("euclidean", "float32", DIM), 1)
    assert not held.arrange(("cosine", "sparse32", 4), 1)
    assert not held.arrange(("cosine", "float32", DIM + 2), 1)
    assert not BandTables(4, 4, 1, payload=7, apart=True).arrange(
        ("cosine", "float32", DIM), 1
    )


def test_equal_points_and_points_without_a_direction():
    """The words of a file may be anything: a point whose distances are no angles is in no cell."""
    world = World(50)
    rows = np.repeat(world.rows, 40, axis=0)
    rows[::13, WORDS] += np.uint64(1 << 52)
    rows[::17, WORDS] -= np.uint64(1 << 52)
    rows[::11, WORDS] = 0
    without, held = world.tables(rows), world.tables(rows)
    assert world.arrange(held)
    for arguments in [(None, 0.05), (3,)]:
        assert (
            world.found([held], *arguments)[0] == world.found([without], *arguments)[0]
        )
    rows[::7, WORDS] = np.uint64(0x7FF8 << 48)
    without, held = world.tables(rows), world.tables(rows)
    assert world.arrange(held)
    found, expected = (
        world.found([tables], None, 0.05)[0] for tables in (held, without)
    )
    assert repr([sorted(each.items()) for each in found]) == repr(
        [sorted(each.items()) for each in expected]
    )


def test_queries_without_an_angle(level):
    """A row of a damaged file may be a query: where its norm is not that of its coordinates, no cell is skipped."""
    world = World(3000)
    without, held = world.tables(world.rows), world.tables(world.rows)
    assert world.arrange(held)
    world.queries[::3, WORDS] += np.uint64(1 << 52)
    world.queries[1::3, WORDS] -= np.uint64(1 << 51)
    for arguments in SEARCHES[:4]:
        assert (
            world.found([held], *arguments)[0] == world.found([without], *arguments)[0]
        )


def test_cells_that_would_skip_little_are_not_used():
    """Points in all directions: near ones are in some groups of most cells, and farther ones in nearly all groups."""
    world = World(10_000, clusters=10_000)
    without, held = world.tables(world.rows), world.tables(world.rows)
    world.arrange(held)
    assert (
        world.found([held], None, 0.01)[1] < 0.5 * world.found([without], None, 0.01)[1]
    )
    assert world.found([held], None, 0.6)[1] == world.found([without], None, 0.6)[1]
