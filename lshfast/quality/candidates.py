"""The number of candidates of some plans: pairs that share a bucket, whatever their similarity.

Near pairs are known from the join. The others are counted between some rows and more rows, all
drawn uniformly: their keys are compared, and the candidates by their exact similarity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from lshfast._common.rows import concatenated, int64_range, parts_of_rows
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.join.jaccard import Rows, verify

# Rows of the one side if the other side is all rows, and of each side if keys have to be computed:
# sides of one size have most pairs for a number of keys.
FEW = 256
SIDE = 1 << 11

# Rows of the other side whose keys are compared at a time, and candidates of a plan that are
# compared exactly.
AT_ONCE = 1 << 14
MOST_COMPARED = 1 << 13

# About the most equal keys that are written out at a time: in a crowd, all rows share all keys.
MOST_EQUAL = 1 << 20

# Most keys are ruled out by their highest bits.
FILTER_BITS = 20
SHIFT = np.uint64(64 - FILTER_BITS)


@dataclass(frozen=True)
class Sides:
    """Rows that are compared with more rows, all drawn uniformly.

    Attributes
    ----------
    few, many : ndarray of int64
        The rows of each side.
    scale : float
        For how many pairs of all rows a row of the one side and a row of the other stand.
    complete : bool
        Whether both sides are all rows.
    """

    few: Int64Array
    many: Int64Array
    scale: float
    complete: bool

    @classmethod
    def draw(
        cls,
        members: Int64Array,
        all_rows: int,
        rng: np.random.Generator,
        few: int = FEW,
        many: float = inf,
    ) -> Sides:
        """Draw both sides of members, which are all rows, or were drawn uniformly of them.

        By default the other side is all members.
        """
        n = len(members)
        few_members = (
            members if n <= few else np.sort(rng.choice(members, few, replace=False))
        )
        many_members = members
        if n > many:
            many_members = np.sort(rng.choice(members, int(many), replace=False))
        complete = len(few_members) == all_rows and len(many_members) == all_rows
        few_scale = all_rows / max(1, len(few_members))
        scale = few_scale * all_rows / max(1, len(many_members)) / 2
        return cls(few_members, many_members, scale, complete)


@dataclass(frozen=True)
class Far:
    """How many candidates of a plan are less similar than a limit.

    Attributes
    ----------
    pairs : float
        Their estimated number.
    seen : int
        How many were seen.
    scale : float
        What one that was seen counts.
    complete : bool
        Whether all were seen.
    """

    pairs: float = 0.0
    seen: int = 0
    scale: float = 0.5
    complete: bool = True


def far_candidates(
    sides: Sides,
    few_keys: UInt64Array,
    many_keys: UInt64Array,
    sets: Rows,
    limit: float,
    rng: np.random.Generator,
) -> Far:
    """Estimate how many candidates are less similar than a limit.

    Parameters
    ----------
    sides : Sides
    few_keys, many_keys : ndarray of uint64, shape (m, b)
        The bucket keys of the rows of each side.
    sets : TokenSets, or other rows for `verify`
    limit : float
    rng : Generator
        Chooses the candidates that are compared, if there are too many.
    """
    parts = list(_met(sides, few_keys, many_keys))
    left_rows, right_rows = (
        concatenated(column) for column in zip(*parts, strict=True)
    )
    share = min(1.0, MOST_COMPARED / max(1, len(left_rows)))
    if share < 1:
        is_drawn = rng.random(len(left_rows)) < share
        left_rows = left_rows[is_drawn]
        right_rows = right_rows[is_drawn]
    similarity = verify(sets, left_rows, right_rows, 0.0, threads=1)["similarity"]
    count = int(np.count_nonzero(similarity < limit))
    scale = sides.scale / share
    return Far(count * sides.scale / share, count, scale, sides.complete and share == 1)


def _met(
    sides: Sides, few_keys: UInt64Array, many_keys: UInt64Array
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the rows of both sides that share a key in some band."""
    bands = few_keys.shape[1]
    few = few_keys.ravel()
    order = np.argsort(few)
    ordered = few[order]
    key_filter = np.zeros(1 << FILTER_BITS, np.bool_)
    key_filter[few >> SHIFT] = True
    for part in parts_of_rows(len(sides.many), AT_ONCE):
        many_rows = sides.many[part]
        keys = many_keys[part].ravel()
        # Take is fast with int64 only.
        possible = np.flatnonzero(key_filter.take((keys >> SHIFT).view(np.int64)))
        first = np.searchsorted(ordered, keys[possible])
        counts = np.searchsorted(ordered, keys[possible], side="right") - first
        pairs_of_pieces = [np.empty(0, np.int64)]
        for piece in _pieces_of_rows(possible // bands, counts):
            place, number = _equal(first[piece], counts[piece])
            few_places = order[place]
            many_places = possible[piece][number]
            same_band = few_places % bands == many_places % bands
            few_numbers = few_places[same_band] // bands
            many_numbers = many_places[same_band] // bands
            pairs = np.sort(few_numbers * len(many_rows) + many_numbers)
            # np.unique would import numpy.ma, which takes 9 ms.
            pairs_of_pieces.append(pairs[np.diff(pairs, prepend=-1) > 0])
        pairs = np.sort(np.concatenate(pairs_of_pieces))
        few_places, many_places = np.divmod(pairs, max(1, len(many_rows)))
        different = sides.few[few_places] != many_rows[many_places]
        yield sides.few[few_places][different], many_rows[many_places][different]


def _pieces_of_rows(rows: Int64Array, counts: Int64Array) -> Iterator[slice]:
    """Yield the places of the keys of whole rows, with about MOST_EQUAL equal keys each."""
    row_starts = np.flatnonzero(np.diff(rows, prepend=-1))
    numbers = (np.cumsum(counts, dtype=np.int64) - counts)[row_starts] // MOST_EQUAL
    starts = row_starts[np.diff(numbers, prepend=-1) > 0].tolist()
    yield from map(slice, starts, [*starts[1:], len(rows)])


def _equal(first: Int64Array, counts: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the places among sorted keys, and the numbers of the keys that equal those there.

    A key equals `counts` sorted keys, from `first` on.
    """
    number = np.repeat(int64_range(len(first)), counts)
    shifts = first - (np.cumsum(counts, dtype=np.int64) - counts)
    return shifts[number] + int64_range(len(number)), number
