"""`CodesPlan`: near-neighbour search by a scan of codes, and the probabilities of codes.

A code has the sides of random hyperplanes on which a vector lies. Two vectors at the angle a lie on
different sides of each one with probability a / pi, so the number of different bits has a binomial
distribution. The bits of one rotation vary less together than independent ones, so a promise that
is computed for independent bits is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.types import Float64Array, UInt8Array, UInt64Array
from lshfast.families.rotated import Projection
from lshfast.families.vectors import Hyperplanes
from lshfast.index.neighbors.plan import BUCKET_BYTES, KEY_BYTES, NeighborsPlan
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.stores.values import HEAD_WORDS
from lshfast.kernels.tables import CELLS_FROM
from lshfast.kernels.tables_codes import CodeSearcher

HEAD_BITS = 64 * HEAD_WORDS

# The share of the misses that the heads of codes cause. With more misses by heads, fewer codes
# pass.
HEAD_MISSES = 0.5

# Bytes of a row in its cell: its number, a mark, and its share of a group of 32 rows and of the
# last group of the cell.
CELL_BYTES = 6

# Angles at which probabilities are computed.
ANGLES = 1024


@dataclass(frozen=True)
class CodesPlan(NeighborsPlan):
    """The plan of an index of near neighbours by codes; it is stored with the entries.

    A query scans the codes of all entries, and computes its distance to the entries with near
    codes, the nearest codes first. The plan has one table, which no query reads: a store needs one.

    Attributes
    ----------
    bits : int
        Bits of a code.
    reach : int
        The distance of an entry is computed if its code differs from the code of the query in at
        most `reach` bits, and its first 128 bits in fewer.
    """

    name: ClassVar[str] = "near-neighbors-codes"

    bits: int
    reach: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric != "angle":
            raise ValueError(f"codes are for the metric 'angle', not {self.metric!r}")
        bits = check_int("bits", self.bits, HEAD_BITS + 64, 4096)
        if bits % 64:
            raise ValueError(f"bits must be a multiple of 64, not {bits}")
        check_int("reach", self.reach, 0, bits)
        if not 0 < self.recall < 1:
            raise ValueError(f"recall must be in (0, 1), not {self.recall}")

    @property
    def slots(self) -> int:
        return self.bits // 64

    @property
    def head_bits(self) -> int:
        """Bits of the head of a code."""
        return HEAD_BITS

    @property
    def entry_bytes(self) -> int:
        return bytes_of_codes(self.bits, self.points, self.n)

    @cached_property
    def searched(self) -> int:
        """Distances that a query may compute if all entries are beyond c times the radius."""
        far = min((self.c or 2.0) * self.radius, math.pi)
        return max(1, math.ceil(self.n * float(self.recall_at(far))))

    def row_slots(self, items: Any, *, threads: int | None = None) -> UInt64Array:
        """Return the codes of items, uint64 (n, slots)."""
        words: UInt64Array = self.base.codes(items, self.bits, threads=threads).words  # type: ignore[attr-defined]
        return words

    def searcher(self) -> CodeSearcher | None:
        """Return what searches for one dense point at a time, if codes are signs of rotations."""
        base = self.base
        points = self.points
        if points.nonzeros is not None or not isinstance(base, Hyperplanes):
            return None
        projection = Projection(base.dim, base.seed, base.structured)
        factors = projection.kept_factors(self.bits)
        if factors is None:
            return None
        return CodeSearcher(
            points.measure.kernel,
            factors,
            self.bits,
            self.near,
            self.enough,
            points.most_coordinate,
            points.least_squares,
        )

    @cached_property
    def near(self) -> UInt8Array:
        """For each level up to `reach`, the bits of the head in which a code may differ."""
        return levels_of(self.bits, self.recall)[0][: self.reach + 1]

    @cached_property
    def enough(self) -> Float64Array:
        """For each level, the greatest value whose entries reach it with at least the recall.

        It is -1 if there is no such value.
        """
        angles = levels_of(self.bits, self.recall)[1][: self.reach + 1]
        return np.where(angles < 0, -1.0, 2 * np.sin(angles / 2) ** 2)

    def recall_at(self, distance: npt.ArrayLike) -> Float64Array:
        """Return the probability that `within` finds an entry at these distances.

        `query` stops earlier if it has found k entries. It finds each of the k nearest at least
        with this probability or with the promised one, whichever is less.
        """
        angles = np.asarray(distance, np.float64)
        head_reach = int(self.near[-1])
        probabilities = found_within(
            angles.reshape(-1) / np.pi, self.bits, head_reach, self.reach
        )
        return np.asarray(probabilities.reshape(angles.shape))

    def expected_candidates(self, distances: npt.ArrayLike) -> float:
        return self.n * float(np.mean(self.recall_at(distances)))

    def __str__(self) -> str:
        size = self.entry_bytes
        at_radius = float(self.recall_at(self.radius))
        at_half = float(self.recall_at(self.radius / 2))
        return "\n".join(
            [
                self.title,
                f"  family      {self.base!r}",
                f"  codes       {self.bits} bits, which a query scans; up to {self.reach} may "
                "differ",
                f"  recall      {at_radius:.4f} at the radius, {at_half:.4f} at half of it",
                f"  candidates  about {self.candidates:,.0f} a query, of "
                f"{8 * self.points.measure.words:,} bytes each",
                f"  work        about {self.work / 1e6:.2g} ms a query",
                f"  memory      {size:,} bytes an entry, {self.n * size / 1e6:,.1f} MB in all",
            ]
        )


def bytes_of_codes(bits: int, points: PointFormat, n: int) -> int:
    """Return the bytes of one of n entries: its codes, point, key and bucket."""
    cell = bits // 8 + CELL_BYTES if n >= CELLS_FROM and points.nonzeros is None else 0
    return 2 * bits // 8 + cell + 8 * points.measure.words + KEY_BYTES + BUCKET_BYTES


# ---- probabilities ----


def binomial(n: int, p: npt.ArrayLike) -> Float64Array:
    """Return the probabilities of 0..n successes in n trials, (m, n + 1), for m values of p."""
    logs = np.array([math.lgamma(i + 1) for i in range(n + 1)], np.float64)
    p = np.clip(np.asarray(p, np.float64)[:, np.newaxis], 1e-300, 1 - 1e-16)
    successes = np.arange(n + 1, dtype=np.int64)
    log_ways = logs[n] - logs - logs[::-1]
    return np.asarray(
        np.exp(log_ways + successes * np.log(p) + (n - successes) * np.log1p(-p))
    )


def found_within(
    p: Float64Array, bits: int, head_reach: int, reach: int
) -> Float64Array:
    """Return the probability that at most `near` bits of the head and `reach` in all differ."""
    head_reach = min(head_reach, HEAD_BITS, reach)
    heads = binomial(HEAD_BITS, p)[:, : head_reach + 1]
    tails = np.cumsum(binomial(bits - HEAD_BITS, p), axis=1, dtype=np.float64)
    tail_reach = np.minimum(
        reach - np.arange(head_reach + 1, dtype=np.int64), bits - HEAD_BITS
    )
    return np.asarray(np.minimum((heads * tails[:, tail_reach]).sum(axis=1), 1.0))


def quantile(n: int, p: float, share: float) -> int:
    """Return the least number of successes that n trials exceed with at most 1 - `share`."""
    chances = np.cumsum(binomial(n, np.array([p], np.float64))[0], dtype=np.float64)
    return min(int(np.searchsorted(chances, share)), n)


def reach_for(bits: int, recall: float, p: float) -> tuple[int, int]:
    """Return (near, reach) that find an entry whose bits differ with probability p often enough."""
    head_reach = quantile(HEAD_BITS, p, 1 - (1 - recall) * HEAD_MISSES)
    reach = quantile(bits, p, recall)
    while (
        reach < bits
        and found_within(np.array([p], np.float64), bits, head_reach, reach)[0] < recall
    ):
        reach += 1
    return head_reach, reach


@lru_cache(maxsize=16)
def levels_of(bits: int, recall: float) -> tuple[UInt8Array, Float64Array]:
    """Return for each level its `near`, and the greatest angle that is often within it, or -1."""
    p = np.arange(1, ANGLES, dtype=np.int64) / ANGLES
    heads = np.cumsum(binomial(HEAD_BITS, p), axis=1, dtype=np.float64)
    tails = np.cumsum(binomial(bits - HEAD_BITS, p), axis=1, dtype=np.float64)
    totals = np.cumsum(binomial(bits, p), axis=1, dtype=np.float64)
    # Angles of the levels if the heads had no misses, and the bits of heads at these angles.
    last = (totals >= 1 - (1 - recall) * (1 - HEAD_MISSES)).sum(axis=0) - 1
    head_reach = (heads < 1 - (1 - recall) * HEAD_MISSES).sum(axis=1)[
        np.maximum(last, 0)
    ]
    head_reach = np.minimum(
        np.maximum.accumulate(head_reach), np.arange(bits + 1, dtype=np.int64)
    )
    chance = np.diff(heads, axis=1, prepend=0)
    angles = np.full(bits + 1, -1, np.float64)
    for level in range(bits + 1):
        differ = np.arange(min(head_reach[level], HEAD_BITS) + 1, dtype=np.int64)
        tail_chances = tails[:, np.minimum(level - differ, bits - HEAD_BITS)]
        probabilities = (chance[:, differ] * tail_chances).sum(axis=1)
        count = int((probabilities >= recall).sum())
        if count:
            angles[level] = np.pi * p[count - 1]
    levels = (
        np.minimum(head_reach, HEAD_BITS).astype(np.uint8),
        np.maximum.accumulate(angles),
    )
    for array in levels:
        array.flags.writeable = False
    return levels
