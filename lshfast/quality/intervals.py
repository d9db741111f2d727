"""Estimates from a sample of rows with unequal chances, and their 95 % intervals.

Each row is drawn or not, independently of the others, so the variance of a weighted sum over the
drawn rows is known without bias, however the rows are grouped. Intervals are those of a binomial or
Poisson count with the same relative variance: they stay right where few events, or none, were seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p, nan, sqrt

import numpy as np

from lshfast._common.types import Float64Array

# The share of each tail outside of an interval, and the quantile of the normal distribution there.
TAIL = 0.025
NORMAL = 1.959964

# Quantiles of the beta distribution are found to this relative precision, and so are those of the
# gamma distribution; from the shape LARGE on, an approximation is better than this.
PRECISION = 1e-6
LARGE = 500

# A count at least this large stands for infinitely many.
MANY = 1e12


@dataclass(frozen=True)
class Estimate:
    """A number that was estimated from a sample, and its 95 % interval.

    Attributes
    ----------
    value : float
    low, high : float
        The interval; both equal `value` if all rows were in the sample.

    See Also
    --------
    lshfast.quality.CheckResult : The result for texts and sets.
    lshfast.quality.PointCheck : The result for weighted sets, vectors and codes.
    """

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether the number was counted, not estimated."""
        return self.low == self.high

    def __str__(self) -> str:
        if self.exact:
            return f"{self.value:.4f}"
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


def share_of(
    part: Float64Array,
    totals: Float64Array,
    rates: Float64Array,
    pairs: int,
    complete: bool,
) -> Estimate:
    """Estimate sum(part) / sum(totals) over all rows, such as the share of missed pairs.

    Parameters
    ----------
    part, totals : ndarray of float64, shape (m,)
        The weighted values of each row of the sample; 0 <= part <= totals.
    rates : ndarray of float64, shape (m,)
        The probabilities with which these rows were drawn.
    pairs : int
        How many different pairs are behind `totals`; no interval is narrower than for this
        number of independent ones.
    complete : bool
        Whether the sample is all rows.

    Returns
    -------
    Estimate
        In [0, 1]; nan if `totals` is 0 throughout. The interval is that of Clopper and Pearson for
        the number of independent observations with the same variance.

    References
    ----------
    E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", Survey Methodology 24, 1998.
    """
    total = float(totals.sum())
    if total <= 0:
        return Estimate(nan, 0.0, 1.0)
    share = min(1.0, float(part.sum()) / total)
    if complete:
        return Estimate(share, share, share)
    missing_rates = 1 - rates
    sum_variance = float((missing_rates * totals * totals).sum()) / total**2
    rows = 1 / sum_variance if sum_variance > 0 else inf
    variance = float((missing_rates * (part - share * totals) ** 2).sum()) / total**2
    if 0 < share < 1:
        # One more row like the others, which differs from them as a single pair does, is added to
        # the variance.
        count = rows
        if variance > 0:
            one_row_variance = share * (1 - share)
            count = one_row_variance / (variance + one_row_variance * sum_variance**2)
        seldom = float((missing_rates * totals).sum()) / total
        count = min(count, pairs / seldom if seldom > 0 else inf)
    else:
        count = rows
    row_count = int(np.count_nonzero((totals > 0) & (missing_rates > 0)))
    count *= _small_sample(row_count)
    if count > MANY:
        low = share
        high = share
    else:
        hits = share * count
        low = 0.0 if hits <= 0 else beta_quantile(TAIL, hits, count - hits + 1)
        high = 1.0 if hits >= count else beta_quantile(1 - TAIL, hits + 1, count - hits)
    # A pair that was not seen may be one of the part, or not.
    low = min(low, share * total / (total + 1))
    high = max(high, (share * total + 1) / (total + 1))
    return Estimate(share, low, high)


def total_of(total: float, variance: float, unit: float, complete: bool) -> Estimate:
    """Return the interval of a sum over all rows, estimated from those of a sample.

    It is that of a Poisson count with the same relative variance. Where nothing was seen, an event
    would have counted `unit`.

    References
    ----------
    M. P. Fay, E. J. Feuer, "Confidence intervals for directly standardized rates", Statistics in
    Medicine 16, 1997.
    """
    if complete:
        return Estimate(total, total, total)
    if total <= 0:
        return Estimate(0.0, 0.0, -log(TAIL) * unit)
    count = total * total / variance if variance > 0 else inf
    if count > MANY:
        return Estimate(total, total, total + 1)
    low = gamma_quantile(TAIL, count) / count * total
    high = gamma_quantile(1 - TAIL, count + 1) / count * total
    return Estimate(total, low, max(high, total + 1))


def variance_of(values: Float64Array, rates: Float64Array) -> float:
    """Estimate the variance of a weighted sum over rows that were drawn with these rates."""
    return float(((1 - rates) * values * values).sum())


def _small_sample(rows: int) -> float:
    """Return by how much a count shrinks because the variance comes from few rows: (z / t)^2."""
    if rows < 3:
        return 0.25
    # Cornish and Fisher, for the quantile of the t distribution.
    wider = 1 + (NORMAL**2 + 1) / (4 * (rows - 1))
    return 1 / wider**2


def beta_quantile(q: float, a: float, b: float) -> float:
    """Return the quantile of the beta distribution, for q = TAIL or 1 - TAIL."""
    low = 0.0
    high = 1.0
    while high - low > PRECISION * high and high > 1e-15:
        middle = (low + high) / 2
        if beta_probability(middle, a, b) < q:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def gamma_quantile(q: float, shape: float) -> float:
    """Return the quantile of the gamma distribution with scale 1, for q = TAIL or 1 - TAIL.

    The gamma distribution is a limit of the beta distribution.

    References
    ----------
    E. B. Wilson, M. M. Hilferty, "The distribution of chi-square", PNAS 17, 1931: for large shapes.
    """
    if shape > LARGE:
        normal = NORMAL if q > 0.5 else -NORMAL
        return shape * (1 - 1 / (9 * shape) + normal / (3 * sqrt(shape))) ** 3
    size = 1e9 * max(1.0, shape)
    return -log1p(-beta_quantile(q, shape, size)) * size


def beta_probability(x: float, a: float, b: float) -> float:
    """Return the distribution function of the beta distribution, by its continued fraction.

    References
    ----------
    W. J. Lentz, "Generating Bessel functions in Mie scattering calculations using continued
    fractions", 1976.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_probability(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    tiny = 1e-300
    c = 1.0
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 1000 + 10 * int(sqrt(max(a, min(b, 1e9))))):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-10:
            break
    return min(1.0, front * value)
