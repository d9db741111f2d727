"""The number of candidates of some plans: pairs that share a bucket, whatever their similarity.

Near pairs are known from the join. The others are counted among some rows, drawn uniformly, and some more of them:
they are compared by their keys, and candidates by their exact similarity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lshfast.banding.bands import Bands
from lshfast.common.types import BoolArray, Int64Array, UInt64Array
from lshfast.join.jaccard import verify
from lshfast.tokens import TokenSets

# Rows on both sides, and rows of the second side at a time.
FEW, MANY, AT_ONCE = 256, 1 << 15, 1 << 12

# Candidates that are compared exactly.
MOST_COMPARED = 1 << 15


@dataclass(frozen=True)
class Sides:
    """Rows that are compared with more rows, all drawn uniformly.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Ascending: the rows of both sides.
    few, many : ndarray of int64
        The rows of each side, as places in `rows`.
    scale : float
        For how many unordered pairs of all rows an ordered pair of both sides stands.
    """

    rows: Int64Array
    few: Int64Array
    many: Int64Array
    scale: float

    @classmethod
    def draw(cls, members: Int64Array, rng: np.random.Generator) -> Sides:
        """Draw both sides."""
        n = len(members)
        few, many = (np.sort(rng.choice(n, min(n, size), replace=False)) for size in (FEW, MANY))
        places = np.union1d(few, many)
        scale = (n / max(1, len(few))) * (n / max(1, len(many))) / 2
        return cls(members[places], np.searchsorted(places, few), np.searchsorted(places, many), scale)

    def counts_all(self, n: int) -> bool:
        """Return whether both sides are all of n rows."""
        return len(self.few) == len(self.many) == n


@dataclass(frozen=True)
class Far:
    """How many candidates of a plan are less similar than some limit: an estimate, and how many were seen."""

    pairs: float
    seen: int


def far_candidates(
    sides: Sides,
    signatures: UInt64Array,
    tokens: TokenSets,
    plans: Sequence[Bands],
    limit: float,
    rng: np.random.Generator,
) -> list[Far]:
    """Estimate how many candidates of each plan are less similar than a limit.

    Parameters
    ----------
    sides : Sides
    signatures : ndarray of uint64, shape (m, k)
    tokens : TokenSets
        Of `sides.rows`.
    plans : sequence of Bands
    limit : float
    rng : Generator
        Chooses the candidates that are compared, if there are too many.
    """
    left, right, found = _met(sides, signatures, plans)
    share = min(1.0, MOST_COMPARED / max(1, len(left)))
    if share < 1:
        chosen = rng.random(len(left)) < share
        left, right, found = left[chosen], right[chosen], found[chosen]
    similar = verify(tokens, left, right, 0.0, threads=1)["similarity"]
    counts = found[similar < limit].sum(axis=0).tolist()
    return [Far(count * sides.scale / share, count) for count in counts]


def _met(sides: Sides, signatures: UInt64Array, plans: Sequence[Bands]) -> tuple[Int64Array, Int64Array, BoolArray]:
    """Return the pairs of both sides that a plan finds, and which plans find each."""
    parts: list[tuple[Int64Array, Int64Array, BoolArray]] = []
    own = [plan.keys(np.ascontiguousarray(signatures[sides.few])) for plan in plans]
    for start in range(0, len(sides.many), AT_ONCE):
        others = sides.many[start : start + AT_ONCE]
        some = np.ascontiguousarray(signatures[others])
        met = np.stack([_sharing(mine, plan.keys(some)) for mine, plan in zip(own, plans, strict=True)])
        left, right = np.nonzero(met.any(axis=0) & (sides.few[:, None] != others[None, :]))
        parts.append((sides.few[left], others[right], met[:, left, right].T))
    left, right, found = (np.concatenate(column) for column in zip(*parts, strict=True))
    return left, right, found


def _sharing(left: UInt64Array, right: UInt64Array) -> BoolArray:
    """Return which rows share a key in some band, bool (m, n)."""
    shared = np.zeros((len(left), len(right)), np.bool_)
    for band in range(left.shape[1]):
        one, other = left[:, band], right[:, band]
        columns = np.flatnonzero(np.isin(other, one))
        shared[:, columns] |= one[:, None] == other[columns][None, :]
    return shared
