"""Choices of bands and rows: for a recall, for weights of errors, and for the least work.

Thresholds and histograms are distances of a family. Without a family they are similarities that
equal the collision probability of one function, as with MinHash.
"""

from __future__ import annotations

import math
from typing import Any

from lshfast._common.checks import check_int
from lshfast.banding.bands import (
    Bands,
    check_recall,
    check_weights,
    least_area,
    least_cost,
    most_rows,
)
from lshfast.banding.scurve import scurve
from lshfast.families.curves import Histogram
from lshfast.families.family import Family
from lshfast.families.plans import BandPlan, BandPlanner, Costs


def plan_bands(
    bands: Bands,
    threshold: float,
    *,
    family: Family[Any] | None = None,
    n: int | None = None,
    histogram: Histogram | None = None,
    costs: Costs | None = None,
    words: int | None = None,
) -> BandPlan:
    """Compute what to expect of given bands and rows.

    Parameters
    ----------
    bands : Bands
    threshold : float
        A distance of the family, or without a family a similarity in (0, 1].
    family : Family, optional
        The family whose functions are used.
    n : int, optional
        Number of items, at least 1. By default, the sum of the counts of the histogram.
    histogram : (counts, values) or (counts, edges), optional
        How many items are at which distance (without a family: similarity) of a query, as values,
        or as the bins of `numpy.histogram`, within which items are spread evenly. Counts of a
        sample are scaled to n.
    costs : Costs, optional
        What hash functions, buckets and candidates cost.
    words : int, optional
        64-bit words that the index keeps for an item. The default is bands x rows without a family
        and for families of MinHash, otherwise one word for each band.

    Returns
    -------
    BandPlan

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or the counts and the values of the histogram do not belong
        together.

    See Also
    --------
    lshfast.choose_bands : Choose bands and rows for a threshold and a recall.
    lshfast.families.plan_recall : Choose the most rows that reach a recall.

    Examples
    --------
    Ten million audio clips, of which 10 resemble a query completely, 10,000 by .9, and the others
    by .7. With probabilities that are rounded to .98 and .007, a text arrives at 79,740 candidates.

    >>> from lshfast import Bands
    >>> from lshfast.families import plan_bands
    >>> clips = [10, 10_000, 9_989_990], [1, 0.9, 0.7]
    >>> print(plan_bands(Bands(50, 25), 0.9, histogram=clips))
    bands x rows           50 x 25   functions: 1,250
    recall                  0.9759   at similarity 0.9
    half found at           0.8425   similarity
    candidates            76,535.5   a query, of 10,000,000 items
    false                 66,766.7   candidates beyond the threshold
    missed                   241.2   items within the threshold, not candidates
    work                  76,710.5   comparisons a query
    memory            106,120.0 MB   of an index
    """
    if not isinstance(bands, Bands):
        raise TypeError(f"bands must be Bands, not {bands!r}")
    return BandPlanner(threshold, family, n, histogram, costs).plan(bands, words)


def plan_recall(
    threshold: float,
    functions: int = 128,
    *,
    recall: float = 0.95,
    family: Family[Any] | None = None,
    n: int | None = None,
    histogram: Histogram | None = None,
    costs: Costs | None = None,
) -> BandPlan:
    """Choose the most rows that find a pair at the threshold with a recall, as `choose_bands` does.

    Parameters
    ----------
    threshold : float
        A distance of the family, or without a family a similarity in (0, 1].
    functions : int, default 128
        Number of hash functions (slots of a signature) to divide into bands, at least 1.
    recall : float, default 0.95
        Probability, in (0, 1).
    family, n, histogram, costs
        As for `plan_bands`.

    Returns
    -------
    BandPlan

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or the recall is out of reach of this number of functions.

    See Also
    --------
    lshfast.families.plan_work : Choose bands for a recall at the least work.
    lshfast.families.plan_bands : What to expect of given bands and rows.

    Examples
    --------
    >>> from lshfast.families import plan_recall
    >>> print(plan_recall(0.8, n=1_000_000))
    bands x rows            18 x 7   functions: 126
    recall                  0.9855   at similarity 0.8
    half found at           0.6262   similarity
    memory              1,252.0 MB   of an index
    """
    planner = BandPlanner(threshold, family, n, histogram, costs)
    check_int("functions", functions, 1)
    check_recall(recall)
    choice = most_rows(planner.p, functions, recall)
    if choice is None:
        most = scurve(planner.p, functions, 1)
        raise ValueError(
            f"{planner.beyond(recall)} of functions {functions}: at most {most:.4f}"
        )
    return planner.plan(choice, planner.words(functions, choice.bands))


def plan_weights(
    threshold: float,
    functions: int = 128,
    *,
    weights: tuple[float, float] = (0.5, 0.5),
    family: Family[Any] | None = None,
    n: int | None = None,
    histogram: Histogram | None = None,
    costs: Costs | None = None,
) -> BandPlan:
    """Choose the bands and rows of the least weighted sum of false positives and false negatives.

    With a histogram, these are the expected numbers of candidates beyond the threshold, and of
    items within it that are not candidates. Without one, they are the areas of `choose_bands`: all
    collision probabilities of one function are equally frequent.

    Parameters
    ----------
    threshold : float
        A distance of the family, or without a family a similarity in (0, 1].
    functions : int, default 128
        Number of hash functions (slots of a signature) to divide into bands, at least 1.
    weights : (float, float), default (0.5, 0.5)
        Weights of false positives and false negatives: finite, not negative, and not both 0.
    family, n, histogram, costs
        As for `plan_bands`.

    Returns
    -------
    BandPlan

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range.

    See Also
    --------
    lshfast.families.plan_recall : Choose the most rows that reach a recall.
    lshfast.families.plan_work : Choose bands for a recall at the least work.

    Examples
    --------
    >>> from lshfast.families import plan_weights
    >>> plan = plan_weights(0.8)
    >>> plan.bands, plan.rows_per_band
    (9, 13)
    """
    planner = BandPlanner(threshold, family, n, histogram, costs)
    check_int("functions", functions, 1)
    positive, negative = check_weights(weights)
    if planner.spread is None:
        choice = least_area(planner.p, functions, (positive, negative))
    else:

        def cost(bands: Bands) -> float:
            _, false, missed = planner.candidates(bands)
            return positive * false + negative * missed

        choice = least_cost(functions, cost)
    return planner.plan(choice, planner.words(functions, choice.bands))


def plan_work(
    threshold: float,
    histogram: Histogram,
    *,
    n: int | None = None,
    recall: float = 0.95,
    family: Family[Any] | None = None,
    costs: Costs | None = None,
    functions: int = 2048,
    memory: int | None = None,
) -> BandPlan:
    """Choose the bands and rows that reach a recall at the least expected work of a query.

    The work is the cost of the hash functions, of the buckets, and of the candidates. In a join of
    n items, each candidate pair is a candidate of two queries, so there are n / 2 times as many as
    a query has.

    Parameters
    ----------
    threshold : float
        A distance of the family, or without a family a similarity in (0, 1].
    histogram : (counts, values) or (counts, edges)
        As for `plan_bands`.
    n : int, optional
        Number of items, at least 1. By default, the sum of the counts of the histogram.
    recall : float, default 0.95
        Probability, in (0, 1).
    family, costs
        As for `plan_bands`.
    functions : int, default 2048
        The most hash functions, at least 1. More of them may save candidates, but need more memory.
    memory : int, optional
        The most bytes of an index of the n items, at least 1.

    Returns
    -------
    BandPlan

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or the recall is out of reach of these functions or this
        memory.

    See Also
    --------
    lshfast.families.plan_recall : Choose the most rows that reach a recall.
    lshfast.families.rho : The exponent of the number of tables.

    Examples
    --------
    >>> from lshfast.families import plan_work
    >>> clips = [10, 10_000, 9_989_990], [1, 0.9, 0.7]
    >>> print(plan_work(0.9, clips, recall=0.975, memory=100_000_000_000))
    bands x rows           45 x 24   functions: 1,080
    recall                  0.9763   at similarity 0.9
    half found at           0.8401   similarity
    candidates            95,535.9   a query, of 10,000,000 items
    false                 85,763.3   candidates beyond the threshold
    missed                   237.4   items within the threshold, not candidates
    work                  95,688.9   comparisons a query
    memory             91,920.0 MB   of an index
    """
    planner = BandPlanner(threshold, family, n, histogram, costs)
    check_recall(recall)
    check_int("functions", functions, 1)
    if memory is not None:
        check_int("memory", memory, 1)
    best = None
    least = math.inf
    for rows in range(1, functions + 1):
        band_count = least_bands(planner.p, rows, recall, functions // rows)
        if band_count is None:
            break  # more rows need no fewer bands
        words = planner.words(band_count * rows, band_count)
        if memory is not None and planner.memory(band_count, words) > memory:
            break
        bands_and_rows = Bands(band_count, rows)
        if planner.least_work(bands_and_rows, recall) >= least:
            break  # more rows do not cost less
        work = planner.work(bands_and_rows)
        if work < least:
            best = bands_and_rows
            least = work
    if best is None:
        limit = f"functions {functions}" + (
            "" if memory is None else f" and memory {memory}"
        )
        raise ValueError(f"{planner.beyond(recall)} of {limit}")
    return planner.plan(best)


def least_bands(p: float, rows: int, recall: float, most: int) -> int | None:
    """Return the least number of bands that find a pair, at most `most`, or None.

    `p` is the collision probability of the pair under one function.
    """
    all_rows = p**rows
    if all_rows == 1:
        return 1
    exact_bands = (
        math.log1p(-recall) / math.log1p(-all_rows) if all_rows > 0 else math.inf
    )
    if exact_bands > most:
        return None
    bands = max(1, math.ceil(exact_bands))
    if bands > 1 and scurve(p, bands - 1, rows) >= recall:
        bands -= 1
    elif scurve(p, bands, rows) < recall:
        bands += 1
    return bands if bands <= most else None
