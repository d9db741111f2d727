"""The agreement patterns of all pairs of records: for each pattern of levels, how many pairs have
it.

Candidates are counted one by one. All other pairs are estimated from samples: some of all pairs,
and some of the pairs that agree in each field, since pairs that agree in common values are too many
to count and too rare in a sample of all pairs. A sampled pair stands for the inverse of the
expected number of times that it is drawn (Horvitz and Thompson, JASA 1952), so the counts add up to
all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.kernels import pairs as kernels
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.nearness import EXACT_LEVEL
from lshfast.records.distinct import distinct_rows, places_among
from lshfast.records.linkage import Linkage
from lshfast.records.weights.fellegi_sunter import random_rows

SAMPLED_PAIRS = 200_000  # of all pairs
SAMPLED_EQUAL = 40_000  # of the pairs that agree in one field
MOST_SAMPLED_EQUAL = 12 * SAMPLED_EQUAL  # of the pairs that agree in any field
SAMPLED_ROWS = 20_000  # of the smaller table, whose candidates are kept by row
PIECE = 1 << 18  # pairs that are compared at a time
SAMPLE_ERRORS = 1.0  # standard errors of sampled matches, which do not count

Levels = npt.NDArray[np.uint8]
Rows = tuple[Int64Array, Int64Array]


@dataclass(frozen=True)
class RowCandidates:
    """The candidates of some rows of one table, or of the smaller of two, at even distances.

    Attributes
    ----------
    rows : int
        How many rows were chosen.
    row, partner : ndarray of int64, shape (candidates,)
        The chosen row of each candidate, and the other one.
    pattern : ndarray of int64, shape (candidates,)
    """

    rows: int
    row: Int64Array
    partner: Int64Array
    pattern: Int64Array

    @classmethod
    def of(
        cls, linkage: Linkage, places: UInt64Array, patterns: Int64Array
    ) -> RowCandidates:
        """Choose rows, and return their candidates, of which all patterns are given."""
        smaller = int(np.argmin(linkage.sizes))
        size = linkage.sizes[smaller]
        step = max(1, -(-size // SAMPLED_ROWS))
        sides = linkage.rows_of(places)
        chosen_sides = (0, 1) if linkage.single else (smaller,)
        sampled_pairs = [
            np.flatnonzero(sides[side] % step == 0) for side in chosen_sides
        ]
        row = [
            sides[side][index]
            for side, index in zip(chosen_sides, sampled_pairs, strict=True)
        ]
        partner = [
            sides[1 - side][index]
            for side, index in zip(chosen_sides, sampled_pairs, strict=True)
        ]
        return cls(
            -(-size // step),
            np.concatenate(row),
            np.concatenate(partner),
            patterns[np.concatenate(sampled_pairs)],
        )

    def with_patterns(self, patterns: Int64Array) -> RowCandidates:
        """Return the candidates with new numbers of their patterns, by the old ones."""
        return replace(self, pattern=patterns[self.pattern])


@dataclass(frozen=True)
class PairPatterns:
    """The agreement patterns of all pairs.

    Attributes
    ----------
    levels : ndarray of uint8, shape (patterns, fields)
        The level of each field; see `lshfast.records.comparison.levels`.
    counts : ndarray of float64, shape (patterns,)
        How many pairs have the pattern.
    counted : ndarray of float64, shape (patterns,)
        How many candidates have it.
    variances : ndarray of float64, shape (patterns,)
        Of the counts, because of the sampling.
    candidates : ndarray of int64, shape (candidates,)
        The pattern of each candidate.
    same, different : ndarray of float64, shape (patterns,)
        How many of the candidates with the pattern people marked so.
    of_rows : RowCandidates or None
        None for some of the patterns.
    """

    levels: Levels
    counts: Float64Array
    counted: Float64Array
    variances: Float64Array
    candidates: Int64Array
    same: Float64Array
    different: Float64Array
    of_rows: RowCandidates | None = None

    def matches(self, probabilities: Float64Array) -> Float64Array:
        """Return how many pairs of each pattern are matches, from the probability of those that
        nobody marked.

        Pairs that were drawn are matches only beyond the error of their number: one of them may
        stand for a thousand.
        """
        sampled = np.maximum(
            0.0, self.counts - self.counted - SAMPLE_ERRORS * self.variances**0.5
        )
        unmarked = self.counted - self.same - self.different
        return (unmarked + sampled) * probabilities + self.same

    @property
    def total(self) -> float:
        """The number of all pairs."""
        return float(self.counts.sum())

    def part(self, numbers: Int64Array) -> PairPatterns:
        """Return some of the patterns, without candidates."""
        return PairPatterns(
            self.levels[numbers],
            self.counts[numbers],
            self.counted[numbers],
            self.variances[numbers],
            np.zeros(0, np.int64),
            self.same[numbers],
            self.different[numbers],
        )

    def thinned(self, numbers: Int64Array, step: int) -> PairPatterns:
        """Return some of the patterns, each of which stands for `step` patterns; without
        candidates.
        """
        part = self.part(numbers)
        counts = part.counts * step
        return replace(part, counts=counts, variances=counts**2)


def count_patterns(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    places: UInt64Array,
    sampled: float = 1.0,
) -> PairPatterns:
    """Count the agreement patterns of all pairs, of which those at `places` are candidates.

    The sizes of samples are the constants above times `sampled`.
    """
    candidate_levels = levels_of(comparers, linkage.rows_of(places), linkage.threads)
    sample, weights = sampled_pairs(linkage, comparers, places, sampled)
    columns = np.concatenate([candidate_levels, sample], axis=1)
    first, pattern = distinct_rows(list(columns))
    counts = np.bincount(
        pattern, np.append(np.ones(len(places)), weights), minlength=len(first)
    ).astype(np.float64)
    variances = np.bincount(
        pattern[len(places) :], weights**2, minlength=len(first)
    ).astype(np.float64)
    candidates = pattern[: len(places)]
    counted = np.bincount(candidates, minlength=len(first)).astype(np.float64)
    nothing = np.zeros(len(first))
    return PairPatterns(
        columns[:, first].T.copy(),
        counts,
        counted,
        variances,
        candidates,
        nothing,
        nothing,
        RowCandidates.of(linkage, places, candidates),
    )


def with_marks(
    patterns: PairPatterns, places: UInt64Array, marked: UInt64Array, same: BoolArray
) -> PairPatterns:
    """Return patterns with the candidates that people marked; marked pairs that are no candidates
    are left out.
    """
    candidates, is_candidate = places_among(marked, places)
    marked_patterns = patterns.candidates[candidates[is_candidate]]
    marked_same = same[is_candidate]
    size = len(patterns.counts)
    of_answer = [
        np.bincount(marked_patterns[marked_same == answer], minlength=size).astype(
            np.float64
        )
        for answer in (True, False)
    ]
    return replace(patterns, same=of_answer[0], different=of_answer[1])


def levels_of(comparers: Sequence[FieldComparer], rows: Rows, threads: int) -> Levels:
    """Return the levels of some pairs of rows, uint8 (fields, pairs)."""
    i, j = rows

    def compared(comparer: FieldComparer) -> Levels:
        starts = range(0, len(i), PIECE)
        pieces = [slice(start, start + PIECE) for start in starts]
        return np.concatenate(
            [
                np.zeros(0, np.uint8),
                *(comparer.levels_of_rows(i[piece], j[piece]) for piece in pieces),
            ]
        )

    return np.stack(list(ordered_map(compared, comparers, threads)))


def sampled_pairs(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    places: UInt64Array,
    sampled: float,
) -> tuple[Levels, Float64Array]:
    """Return the levels of sampled pairs that are no candidates, and how many pairs each of them
    stands for.
    """
    others_count = linkage.all_pairs - len(places)
    if others_count <= 0:
        return np.zeros((len(comparers), 0), np.uint8), np.zeros(0)
    samples = [
        ascending(
            linkage,
            random_rows(
                linkage, min(int(SAMPLED_PAIRS * sampled), 4 * linkage.all_pairs)
            ),
        )
    ]
    rates = [len(samples[0][0]) / linkage.all_pairs]
    equal = min(SAMPLED_EQUAL, MOST_SAMPLED_EQUAL // len(comparers))
    for number, comparer in enumerate(comparers):
        rows, total = equal_rows(linkage, comparer, number, int(equal * sampled))
        samples.append(ascending(linkage, rows))
        rates.append(len(rows[0]) / total if total else 0.0)
    i, j = (np.concatenate(side) for side in zip(*samples, strict=True))
    sampled_places = (i * linkage.sizes[1] + j).astype(np.uint64)
    _, is_candidate = places_among(sampled_places, places)
    outside = ~is_candidate
    levels = levels_of(comparers, (i[outside], j[outside]), linkage.threads)
    equal_rates = np.array(rates[1:])[:, None] * (levels == EXACT_LEVEL)
    weights = 1 / (rates[0] + equal_rates.sum(axis=0))
    return levels, weights * (others_count / weights.sum()) if len(weights) else weights


def ascending(linkage: Linkage, rows: Rows) -> Rows:
    """Return pairs of rows of two tables as they are; of one table, the smaller row first."""
    if linkage.b is not None:
        return rows
    return np.minimum(*rows), np.maximum(*rows)


def equal_rows(
    linkage: Linkage, comparer: FieldComparer, number: int, most: int
) -> tuple[Rows, float]:
    """Draw pairs of rows that agree in a field; return them, and how many such pairs there are."""
    rng = np.random.default_rng([linkage.seed, 7, number])
    codes = [side.astype(np.int64) for side in comparer.coded.codes]
    rows, starts = zip(
        *(kernels.rows_by_code(side, len(comparer.coded.values)) for side in codes),
        strict=True,
    )
    sizes = [np.diff(start) for start in starts]
    single = linkage.b is None
    pairs = (
        sizes[0] * (sizes[0] - 1) / 2
        if single
        else sizes[0].astype(np.float64) * sizes[1]
    )
    total = float(pairs.sum())
    if not total:
        return (np.zeros(0, np.int64), np.zeros(0, np.int64)), 0.0
    size = min(most, int(total))
    values = np.searchsorted(
        np.cumsum(pairs, dtype=np.float64), rng.random(size) * total, side="right"
    )
    values = np.minimum(values, len(pairs) - 1)
    first = (rng.random(size) * sizes[0][values]).astype(np.int64)
    second = (rng.random(size) * (sizes[1][values] - single)).astype(np.int64)
    if single:
        second += second >= first
    return (
        rows[0][starts[0][values] + first],
        rows[1][starts[1][values] + second],
    ), total
