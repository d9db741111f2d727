"""The pairs of a sample with all rows, by an exact join, and which of them bands find.

The sample is indexed and all rows are queries, a piece at a time, so memory depends on the sample
and on the pairs of a piece. A pair of rows i and j is seen once for each end that was drawn: p_i +
p_j times on average, if p are the probabilities of the rows. Each time it counts 1 / (p_i + p_j),
so on average it counts 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.columns import KeyedRows
from lshfast.banding.bands import Bands
from lshfast.join.pair_arrays import sort_pairs
from lshfast.join.prefix_segment import PrefixSegment
from lshfast.join.set_ranks import Collection, tokens_of
from lshfast.join.thresholds import rule_of
from lshfast.quality.sampling import RowSample
from lshfast.tokens import TokenSets

# Pairs whose signatures are compared at once: 1 KB each at 128 slots, twice.
PAIRS_AT_ONCE = 1 << 13

# Pairs whose similarities are nearly equal have one probability to be found: similarities in steps
# of 1 / FINE.
FINE = 4096

# Pairs of a part of the rows, about 160 bytes each, if each row is similar to the whole sample; and
# the least rows of a part.
PAIRS_OF_PART = 1 << 21
LEAST_ROWS = 64

# The filter of the tokens of a sample has PLACES places for each, within these bits. The place of a
# token is the high bits of its product with an odd number.
PLACES = 4
LEAST_BITS = 12
MOST_BITS = 22
ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Near:
    """Pairs of a row of the sample, by its place there, with any other row."""

    place: Int64Array
    row: Int64Array
    similarity: Float64Array
    found: BoolArray  # (m, plans)


class Tally:
    """Sums over the pairs of each row of the sample, by similarity and by the plans that find them.

    Attributes
    ----------
    edges : ndarray of float64, shape (h + 1,)
        The limits of the bins of similarities.
    weights : ndarray of float64, shape (m, h)
        For each row of the sample, what its pairs in each bin count.
    found : ndarray of float64, shape (m, h, plans)
        The same of pairs that a plan finds.
    seen : ndarray of int64, shape (h,)
        Different pairs that were seen.
    by_row : ndarray of float64, shape (n,), or None
        What the pairs of each row of the other side count, if the sample is not compared with all
        rows.
    """

    def __init__(
        self,
        sample: RowSample,
        edges: Float64Array,
        plans: Sequence[Bands],
        among: RowSample | None = None,
    ) -> None:
        m = len(sample.rows)
        h = len(edges) - 1
        self._sample = sample
        self._plans = plans
        self._among = among
        self._drawn = np.zeros(len(sample.rates), np.bool_)
        self._drawn[sample.rows] = True
        self.edges: Float64Array = edges
        self.weights: Float64Array = np.zeros((m, h))
        self.found: Float64Array = np.zeros((m, h, len(plans)))
        self._fine = np.zeros(h * (FINE + 1))
        self._similar = np.zeros(h * (FINE + 1))
        self.seen: Int64Array = np.zeros(h, np.int64)
        self.by_row: Float64Array | None = (
            None if among is None else np.zeros(len(sample.rates))
        )

    def add(self, pairs: Near) -> None:
        """Count pairs."""
        rows = self._sample.rows[pairs.place]
        weight = 1 / self._expected(rows, pairs.row)
        if self.by_row is not None:
            np.add.at(self.by_row, pairs.row, weight)
        m, h = self.weights.shape
        bins = np.minimum(
            np.searchsorted(self.edges, pairs.similarity, side="right") - 1, h - 1
        )
        cell = pairs.place * h + bins
        self.weights += np.bincount(cell, weight, m * h).reshape(m, h)
        for number in range(len(self._plans)):
            found_weight = weight * pairs.found[:, number]
            self.found[:, :, number] += np.bincount(cell, found_weight, m * h).reshape(
                m, h
            )
        fine = bins * (FINE + 1) + (pairs.similarity * FINE).astype(np.int64)
        self._fine += np.bincount(fine, weight, len(self._fine))
        self._similar += np.bincount(fine, weight * pairs.similarity, len(self._fine))
        once = ~self._drawn[pairs.row] | (rows < pairs.row)
        self.seen += np.bincount(bins[once], minlength=h)

    def _expected(self, i: Int64Array, j: Int64Array) -> Float64Array:
        """Return how often pairs are seen on average."""
        rates = self._sample.rates
        if self._among is None:
            return rates[i] + rates[j]
        other_rates = self._among.rates
        return rates[i] * other_rates[j] + rates[j] * other_rates[i]

    def promised(self, bins: slice, plan: int = 0) -> float:
        """Return the sum of the probabilities that a plan finds the pairs of some bins."""
        fine_bins = slice(
            bins.start and bins.start * (FINE + 1), bins.stop and bins.stop * (FINE + 1)
        )
        counts = self._fine[fine_bins]
        similar = self._similar[fine_bins]
        filled_bins = np.flatnonzero(counts)
        counts = counts[filled_bins]
        similarities = np.minimum(1.0, similar[filled_bins] / counts)
        return float(counts @ self._plans[plan].probability(similarities))

    def bin_at(self, similarity: float) -> int:
        """Return the first bin at or above a similarity, which must be one of the limits."""
        return int(np.searchsorted(self.edges, similarity))


class SampleJoin:
    """An index of the rows of a sample, for all pairs with other rows from some similarity on.

    Parameters
    ----------
    rows : KeyedRows
    sample : Int64Array
        The rows of the sample.
    least : float
        The least similarity.
    threads : int
    """

    def __init__(
        self, rows: KeyedRows, sample: Int64Array, least: float, threads: int
    ) -> None:
        self._rule = rule_of("jaccard", least, "probing")
        self._sample = sample
        tokens = tokens_of(rows, sample, threads).distinct()
        self._segment = PrefixSegment.of(tokens, self._rule, 1)
        bits = min(
            MOST_BITS, max(LEAST_BITS, (PLACES * len(tokens.tokens)).bit_length())
        )
        self._shift = np.uint64(64 - bits)
        self._held = np.zeros(1 << bits, np.bool_)
        self._held[(tokens.tokens * ODD >> self._shift).view(np.int64)] = True
        self._least = least - 1e-9

    def near(
        self, rows: Int64Array, tokens: TokenSets
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return the pairs of the sample with some rows: places, rows, similarities."""
        queries = tokens.distinct()
        return self._matches(rows, queries, self._possible(queries))

    def near_in_parts(
        self, rows: Int64Array, tokens: TokenSets
    ) -> Iterator[tuple[Int64Array, Int64Array, Float64Array]]:
        """Yield the pairs of `near` for consecutive parts of the rows.

        A part has few rows if the sample is large, so its pairs fit in memory in any case.
        """
        queries = tokens.distinct()
        possible = self._possible(queries)
        step = max(LEAST_ROWS, PAIRS_OF_PART // max(1, len(self._sample)))
        for part in parts_of_rows(len(possible), step):
            first = int(possible[part.start])
            stop = int(possible[part.stop - 1]) + 1
            part_queries = TokenSets(queries.offsets[first : stop + 1], queries.tokens)
            yield self._matches(rows[first:stop], part_queries, possible[part] - first)

    def keep_first(self, size: int) -> None:
        """Leave out all but the first rows of the sample, in further parts as well."""
        tokens = self._segment.collection.sets
        first_tokens = TokenSets(tokens.offsets[: size + 1], tokens.tokens)
        self._segment = PrefixSegment.of(first_tokens, self._rule, 1)
        self._sample = self._sample[:size]

    def _matches(
        self, rows: Int64Array, queries: TokenSets, possible: Int64Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return the pairs of `near` of the queries that may be in one."""
        collection = Collection(queries, int64_range(len(rows)), possible)
        matches = self._segment.matches(collection, self._rule, 1)
        matches = matches[self._sample[matches["i"]] != rows[matches["j"]]]
        sort_pairs(matches)  # then sums do not depend on the key of the run
        return matches["i"].astype(np.int64), rows[matches["j"]], matches["similarity"]

    def _possible(self, queries: TokenSets) -> Int64Array:
        """Return the rows that may be similar to one of the sample, by their common tokens."""
        rows = np.flatnonzero(queries.counts > 0)
        if not len(rows):
            return rows.astype(np.int64)
        # Take is fast with int64 only.
        is_sampled = self._held.take(
            (queries.tokens * ODD >> self._shift).view(np.int64)
        )
        sampled_counts = np.add.reduceat(
            is_sampled, queries.offsets[rows], dtype=np.int32
        )
        return rows[sampled_counts >= self._least * queries.counts[rows]].astype(
            np.int64
        )


def finder(
    signatures: UInt64Array, plans: Sequence[Bands]
) -> Callable[[Int64Array, Int64Array], BoolArray]:
    """Return a function that tells which of the plans find each of some pairs, bool (m, plans)."""

    def find(left_rows: Int64Array, right_rows: Int64Array) -> BoolArray:
        is_found = np.empty((len(left_rows), len(plans)), np.bool_)
        for part in parts_of_rows(len(left_rows), PAIRS_AT_ONCE):
            equal = (signatures[left_rows[part]] == signatures[right_rows[part]]).T
            # The bits of eight pairs in a byte, a line for each slot.
            words = np.packbits(equal, axis=1)
            for number, plan in enumerate(plans):
                bands = words[: plan.slots].reshape(plan.bands, plan.rows_per_band, -1)
                any_band = np.bitwise_or.reduce(
                    np.bitwise_and.reduce(bands, axis=1), axis=0
                )
                is_found[part, number] = np.unpackbits(any_band, count=equal.shape[1])
        return is_found

    return find
