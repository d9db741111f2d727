"""The theory of near neighbours: rho, the rows and tables that it gives, and their promises."""

from __future__ import annotations

import math

from lshfast._common.checks import check_int, check_number
from lshfast.banding import Bands
from lshfast.banding.bands import check_recall
from lshfast.families.planning import least_bands, plan_bands
from lshfast.families.plans import BandPlan

# A number of rows or tables that exceeds an integer by at most this share is rounded down to it.
ROUNDING = 1e-12
MOST_TABLES = 2**53


def rho(p1: float, p2: float) -> float:
    """Return ln(1 / p1) / ln(1 / p2), the exponent of the number of tables: n**rho.

    For bit sampling with p1 = 1 - r/d and p2 = 1 - (1 + epsilon) r/d, it is below 1 / (1 +
    epsilon); a text gives this limit for r/d towards 0 as the value.

    Parameters
    ----------
    p1, p2 : float
        Probabilities that two near items collide, and that two far ones do; 0 <= p2 < p1 <= 1.

    Returns
    -------
    float
        In [0, 1).

    Raises
    ------
    TypeError, ValueError
        If the arguments are not numbers in this order.

    See Also
    --------
    lshfast.families.plan_work : Choose bands for a recall at the least work.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate nearest neighbors: towards removing the curse of
    dimensionality", STOC 1998.

    Examples
    --------
    >>> from lshfast.families import rho
    >>> round(rho(2 / 3, 1 / 3), 5)
    0.36907
    >>> round(rho(1 - 10 / 100, 1 - 20 / 100), 5)
    0.47216
    """
    p1, p2 = _checked(p1, p2)
    return 0.0 if p2 == 0 else math.log(p1) / math.log(p2)


def amplification_for(
    n: int, p1: float, p2: float, *, recall: float | None = None
) -> BandPlan:
    """Return the k rows and the L bands (tables) of the theory for n items.

    k is ln(n) / ln(1 / p2), rounded up, so that a query meets at most one far item in a table, in
    expectation. L is n**rho, rounded up. The theory promises a recall of 1 - 1/e. That holds for
    the k that is not rounded. With the rounded k the recall may be lower; the plan gives the true
    one, and `recall` demands as many tables as it needs.

    Parameters
    ----------
    n : int
        Number of items, at least 1.
    p1, p2 : float
        Probabilities that two near items collide, and that two far ones do; 0 <= p2 < p1 <= 1.
    recall : float, optional
        Probability, in (0, 1). By default, there are n**rho tables.

    Returns
    -------
    BandPlan
        Its threshold is p1. Its expected candidates are for n items that collide with p2.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or the recall needs more than 2**53 tables.

    See Also
    --------
    lshfast.families.plan_bands : What to expect of given bands and rows.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate nearest neighbors: towards removing the curse of
    dimensionality", STOC 1998.

    Examples
    --------
    >>> from lshfast.families import amplification_for
    >>> plan = amplification_for(10**6, 2 / 3, 1 / 3)
    >>> plan.rows_per_band, plan.bands, round(plan.recall, 4)
    (13, 164, 0.5704)
    >>> amplification_for(10**6, 2 / 3, 1 / 3, recall=0.6322).bands
    195
    """
    check_int("n", n, 1)
    p1, p2 = _checked(p1, p2)
    rows = 1 if p2 == 0 else max(1, _rounded_up(math.log(n) / -math.log(p2)))
    tables = _rounded_up(n ** rho(p1, p2))
    if recall is not None:
        enough = least_bands(p1, rows, check_recall(recall), MOST_TABLES)
        if enough is None:
            raise ValueError(
                f"recall {recall} needs more than 2**53 tables of {rows} rows with p1 = {p1}"
            )
        tables = enough
    return plan_bands(Bands(tables, rows), p1, n=n, histogram=([n], [p2]))


def probe_success(
    n: int,
    p1: float,
    p2: float,
    rows_per_band: float,
    tables: float,
    *,
    far_limit: float = 2.0,
) -> float:
    """Return a lower bound of the probability that a search with a limit finds a near item.

    The search looks through the buckets of a query, returns the first item that is not far, and
    stops after far_limit * L far ones, each counted in every table. It fails only if no table has
    the near item in the bucket of the query, or the limit is exceeded; by Markov's inequality, the
    latter has a probability of at most n p2**k / far_limit. With the k and L of the theory, not
    rounded, the bound is 1/2 - 1/e for a limit of 2 L, and 2/3 - 1/e for one of 3 L.

    Two texts differ. One counts all items towards the limit, and returns only items within r. Then
    items at distances between r and c r exhaust the limit, and the bound does not hold. Another has
    the ratio 1 / rho in place of rho as the exponent of p1**k = n**-rho.

    Parameters
    ----------
    n : int
        Number of items, at least 1.
    p1, p2 : float
        Probabilities that two near items collide, and that two far ones do; 0 <= p2 < p1 <= 1.
    rows_per_band, tables : float
        k and L, each at least 1.
    far_limit : float, default 2
        Far items that the search looks at, for each table; above 0.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.NearNeighbors : An index of points.
    lshfast.families.plan_recall : Choose the most rows that reach a recall.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate nearest neighbors: towards removing the curse of
    dimensionality", STOC 1998.

    Examples
    --------
    >>> from lshfast.families import probe_success
    >>> round(probe_success(10**6, 2 / 3, 1 / 3, rows_per_band=13, tables=195), 4)
    0.3202
    """
    check_int("n", n, 1)
    p1, p2 = _checked(p1, p2)
    for name, value in (("rows_per_band", rows_per_band), ("tables", tables)):
        if not 1 <= check_number(name, value) < math.inf:
            raise ValueError(f"{name} must be at least 1 and finite, not {value}")
    if not 0 < check_number("far_limit", far_limit) < math.inf:
        raise ValueError(f"far_limit must be above 0 and finite, not {far_limit}")
    hit = (
        1.0
        if p1 == 1
        else -math.expm1(tables * math.log1p(-math.pow(p1, rows_per_band)))
    )
    return max(0.0, hit - n * math.pow(p2, rows_per_band) / far_limit)


def _checked(p1: float, p2: float) -> tuple[float, float]:
    p1 = check_number("p1", p1)
    p2 = check_number("p2", p2)
    if not 0 <= p2 < p1 <= 1:
        raise ValueError(
            f"probabilities must be 0 <= p2 < p1 <= 1, not p1 = {p1} and p2 = {p2}"
        )
    return p1, p2


def _rounded_up(number: float) -> int:
    return math.ceil(number * (1 - ROUNDING))
