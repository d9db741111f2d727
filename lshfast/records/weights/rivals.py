"""Candidates that are very probably matches, called seeds, and the rivals of their records.

Seeds are each other's nearest by far, as whole texts. Between two tables, a record has one match at
most, so both records have no other candidate that is nearly as similar. Within one table, a record
may have several matches: those before the first gap among its nearest records, if the gap of the
other record says so as well. Rivals are other candidates of the records of seeds.
"""

from __future__ import annotations

import numpy as np

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.choices import Assignment

# The most similarity of its rivals, as a part of the similarity of a seed.
MARGIN = 0.75
# Within one table: the least similarity of a seed, and the most records before the gap.
LEAST_SIMILARITY = 0.5
MOST_BEFORE_GAP = 10
# Of the best scores of different records, at which the share of matches is read.
QUANTILES = (0.3, 0.5, 0.7)
TINY = 1e-6


class PairsBetween:
    """Pairs of records of two tables.

    Parameters
    ----------
    i, j : ndarray of int64, shape (pairs,)
    sizes : (int, int)
    assign : {"one-to-one", "many-to-one", "one-to-many"}
        Which other candidates of a seed's records are rivals: those of both records, or of the one
        that has one link.
    """

    def __init__(
        self, i: Int64Array, j: Int64Array, sizes: tuple[int, int], assign: Assignment
    ) -> None:
        self._sides = [(i, sizes[0]), (j, sizes[1])]
        single_sides = {"one-to-one": [0, 1], "many-to-one": [0], "one-to-many": [1]}
        self._single_sides = single_sides[assign]
        # Of the smaller table, most records may have a match.
        self._counted = min(self._single_sides, key=lambda side: sizes[side])

    def seeds(self, similarity: Float64Array) -> tuple[BoolArray, BoolArray]:
        """Return which pairs are seeds, and which are rivals of seeds."""
        greatest, is_best = self._greatest_of_rivals(similarity)
        seeds = is_best & (greatest < MARGIN * similarity) & (similarity > 0)
        return seeds, self.rivals(seeds)

    def rivals(self, links: BoolArray) -> BoolArray:
        """Return which other pairs have a record of a chosen pair."""
        has_record = np.zeros(len(links), bool)
        for side in self._single_sides:
            rows, size = self._sides[side]
            has = np.zeros(size, bool)
            has[rows[links]] = True
            has_record |= has[rows]
        return has_record & ~links

    def matches(self, scores: Float64Array, seeds: BoolArray) -> int:
        """Estimate the number of matches among pairs that are the best of their records.

        The greater of two estimates, both of which are rather too low: by the scores as log odds,
        whose prior is found by expectation maximisation, and by `records_by_rivals`.
        """
        rows, size = self._sides[self._counted]
        best = np.full(size, -np.inf, np.float64)
        np.maximum.at(best, rows, scores)
        greatest, is_best = self._greatest_of_rivals(scores)
        by_odds = int((scores[is_best] + prior_odds(best) > 0).sum())
        by_rivals = records_by_rivals(best, greatest[seeds & is_best])
        return max(by_odds, min(int(is_best.sum()), by_rivals))

    def best(self, scores: Float64Array, count: int) -> Int64Array:
        """Return the `count` pairs with the greatest scores that are the best of both records."""
        mutual = np.flatnonzero(self._greatest_of_rivals(scores)[1])
        return mutual[np.argsort(-scores[mutual], kind="stable")][:count]

    def _greatest_of_rivals(
        self, scores: Float64Array
    ) -> tuple[Float64Array, BoolArray]:
        """Return for each pair the greatest score of its rivals, and whether it is the best.

        The score is -inf if there is no rival. Only the records that have one link count. Of
        equal pairs, the first is the best.
        """
        greatest = np.full(len(scores), -np.inf, np.float64)
        is_best = np.ones(len(scores), bool)
        for side in self._single_sides:
            rows, size = self._sides[side]
            best = np.full(size, -np.inf, np.float64)
            second = np.full(size, -np.inf, np.float64)
            place = np.full(size, -1, np.int64)
            np.maximum.at(best, rows, scores)
            firsts = np.flatnonzero(scores == best[rows])[::-1]
            # Of repeated assignments the last stays: the first pair's.
            place[rows[firsts]] = firsts
            is_first = place[rows] == np.arange(len(rows), dtype=np.int64)
            later = np.flatnonzero(~is_first)
            np.maximum.at(second, rows[later], scores[later])
            greatest = np.maximum(
                greatest, np.where(is_first, second[rows], best[rows])
            )
            is_best &= is_first
        return greatest, is_best


class PairsWithin:
    """Pairs of records of one table.

    Parameters
    ----------
    i, j : ndarray of int64, shape (pairs,)
    size : int
    """

    def __init__(self, i: Int64Array, j: Int64Array, size: int) -> None:
        # Each pair stands under both of its records.
        self._rows = np.append(i, j)
        self._size = size
        self._pairs = np.tile(np.arange(len(i), dtype=np.int64), 2)

    def seeds(self, similarity: Float64Array) -> tuple[BoolArray, BoolArray]:
        """Return which pairs are seeds, and which are rivals: beyond the gaps of both records."""
        values = similarity[self._pairs]
        order = np.lexsort((-values, self._rows))
        rows = self._rows[order]
        values = values[order]
        pairs = self._pairs[order]
        places = np.arange(len(rows), dtype=np.int64)
        is_first = np.diff(rows, prepend=-1) != 0
        starts = np.maximum.accumulate(np.where(is_first, places, 0))
        gaps = np.zeros(len(rows), bool)
        gaps[:-1] = ~is_first[1:] & (values[1:] < MARGIN * values[:-1])
        before = np.cumsum(gaps, dtype=np.int64) - gaps
        before -= before[starts]
        has_gap = np.zeros(self._size, bool)
        has_gap[rows[gaps & (before == 0) & (places - starts < MOST_BEFORE_GAP)]] = True
        before_gap = pairs[has_gap[rows] & (before == 0)]
        sides_before = np.bincount(before_gap, minlength=len(similarity))
        seeds = (sides_before == 2) & (similarity >= LEAST_SIMILARITY)
        beyond = np.zeros(len(similarity), bool)
        beyond[pairs[self._records(seeds)[rows] & (before > 0)]] = True
        return seeds, beyond & (sides_before == 0)

    def rivals(self, links: BoolArray) -> BoolArray:
        """Return which other pairs have a record of a chosen pair."""
        has_record = np.zeros(len(links), bool)
        has_record[self._pairs[self._records(links)[self._rows]]] = True
        return has_record & ~links

    def matches(self, scores: Float64Array, seeds: BoolArray) -> int:
        """Estimate the number of records that have a match, by the scores as log odds.

        Rivals of seeds do not show it: copies with errors are less like the records that are alike
        but different.
        """
        best = self._best_of_records(scores)
        return int((best + prior_odds(best) > 0).sum())

    def best(self, scores: Float64Array, count: int) -> Int64Array:
        """Return the pairs with at least the greatest scores of `count` records."""
        best = np.sort(self._best_of_records(scores))
        places = np.flatnonzero(scores >= best[-count])
        return places[np.argsort(-scores[places], kind="stable")]

    def _records(self, links: BoolArray) -> BoolArray:
        """Return which records have a chosen pair."""
        has_link = np.zeros(self._size, bool)
        has_link[self._rows[links[self._pairs]]] = True
        return has_link

    def _best_of_records(self, scores: Float64Array) -> Float64Array:
        """Return the greatest score of the pairs of each record, -inf if it has none."""
        best = np.full(self._size, -np.inf, np.float64)
        np.maximum.at(best, self._rows, scores[self._pairs])
        return best


def pairs_of_records(
    i: Int64Array,
    j: Int64Array,
    sizes: tuple[int, int],
    single: bool,
    assign: Assignment = "one-to-one",
) -> PairsBetween | PairsWithin:
    """Return pairs of records of two tables, or of one."""
    return PairsWithin(i, j, sizes[0]) if single else PairsBetween(i, j, sizes, assign)


def records_by_rivals(best: Float64Array, rivals: Float64Array) -> int:
    """Estimate how many records have a match, from the greatest score of each record.

    Parameters
    ----------
    best : ndarray of float64, shape (records,)
        -inf if a record has no candidate.
    rivals : ndarray of float64, shape (n,)
        The greatest scores of candidates that are no matches; those that are not finite are left
        out. They show how many records of which the best candidate is different have a score below
        some value.

    Returns
    -------
    int
        Rather too low.

    Examples
    --------
    Four of ten records have a score that no rival comes near.

    >>> import numpy as np
    >>> scores = np.arange(6.0)
    >>> records_by_rivals(np.append(scores, [90, 91, 92, 93]), scores)
    4
    """
    rivals = rivals[np.isfinite(rivals)]
    if not len(rivals):
        return 0
    limits = np.quantile(rivals, QUANTILES)
    shares = [
        1 - (best < limit).mean() / part
        for limit, part in zip(limits, QUANTILES, strict=True)
    ]
    return int(max(0.0, float(np.median(shares))) * len(best))


def prior_odds(scores: Float64Array) -> float:
    """Return the log odds of a match before the scores are known, which are log odds."""
    share = 0.5
    for _ in range(200):
        odds = np.clip(scores + np.log(share / (1 - share)), -700, 700)
        mean = float((1 / (1 + np.exp(-odds))).mean())
        new_share = min(max(mean, TINY), 1 - 1e-3)
        if abs(new_share - share) < TINY:
            break
        share = new_share
    return float(np.log(share / (1 - share)))
