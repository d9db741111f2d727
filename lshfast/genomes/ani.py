"""Average nucleotide identity (ANI) from the similarity of sketches, with intervals.

Logarithms and roots are computed from +, -, * and / alone, so they have the same bits on every
machine.
"""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int, numbers_of
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import Float64Array, Int64Array
from lshfast.genomes.sketches import MOST_SCALED
from lshfast.kernels.kmers import MOST_LETTERS

# The quantile of the normal distribution for intervals of 95 %.
NORMAL_95 = 1.959963984540054

# The fewest hashes of the smaller sketch from which an ANI is estimated, unless sketches have all
# k-mers. Of pairs with an ANI of 0.85 (k=31), 0.65 % share the hash of a sketch of one, which would
# be an ANI of 1; with 8 hashes, 0.12 % reach an ANI of 0.95.
LEAST_HASHES = 8

# Each of both ends of an exact interval is left out with this probability.
TAIL_95 = 0.025

LOG_2 = 0.6931471805599453
ROOT_HALF = 0.7071067811865476
LOG_TERMS = 12  # of the series; the last one is below 1e-18 of the sum
STEPS = 60  # of a bisection, and at most of Newton's method
ROWS = 1 << 14  # intervals that are computed at a time


def ani_of_jaccard(jaccard: npt.ArrayLike, k: int) -> Float64Array:
    """Return the ANI by the Mash distance: 1 - D with D = -ln(2 j / (1 + j)) / k.

    Parameters
    ----------
    jaccard : array_like of float, shape (n,)
        Jaccard similarities j of sets of k-mers, in [0, 1].
    k : int
        Letters of a k-mer, in 1..64.

    Returns
    -------
    ndarray of float64, shape (n,)
        In [0, 1]; 0 where j is 0.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.genomes.ani_of_containment : Average nucleotide identity by a containment.
    lshfast.genomes.ani_interval : An interval of the average nucleotide identity.

    References
    ----------
    B. D. Ondov et al., "Mash: fast genome and metagenome distance estimation using MinHash", Genome
    Biology 17:132, 2016.

    Examples
    --------
    >>> from lshfast import genomes
    >>> genomes.ani_of_jaccard([0, 0.5, 1], k=21).round(6).tolist()
    [0.0, 0.980692, 1.0]
    """
    k = check_int("k", k, 1, MOST_LETTERS)
    j = numbers_of(jaccard, "jaccard", 0, 1)
    common = 2 * j / (1 + j)
    return np.maximum(
        0.0,
        1 + np.where(common > 0, _log(np.where(common > 0, common, 1.0)), -np.inf) / k,
    )


def ani_of_containment(containment: npt.ArrayLike, k: int) -> Float64Array:
    """Return the ANI by the containment c of k-mers of one sequence in another: c ** (1 / k).

    Each letter is assumed to be different independently, with the probability 1 - ANI.

    Parameters
    ----------
    containment : array_like of float, shape (n,)
        In [0, 1].
    k : int
        Letters of a k-mer, in 1..64.

    Returns
    -------
    ndarray of float64, shape (n,)
        In [0, 1].

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.genomes.ani_of_jaccard : Average nucleotide identity by a Jaccard similarity.
    lshfast.genomes.ani_interval : An interval of the average nucleotide identity.

    References
    ----------
    M. R. Hera, N. T. Pierce-Ward, D. Koslicki, "Deriving confidence intervals for mutation rates
    across a wide range of evolutionary distances using FracMinHash", Genome Research 33:1061-1068,
    2023.

    Examples
    --------
    >>> from lshfast import genomes
    >>> genomes.ani_of_containment([0, 0.5, 1], k=31).round(6).tolist()
    [0.0, 0.977889, 1.0]
    """
    k = check_int("k", k, 1, MOST_LETTERS)
    c = numbers_of(containment, "containment", 0, 1)
    return np.where(c > 0, _root(np.where(c > 0, c, 1.0), k), 0.0)


def ani_interval(
    containment: npt.ArrayLike, sizes: npt.ArrayLike, k: int, scaled: int
) -> tuple[Float64Array, Float64Array]:
    """Return intervals of 95 % for the ANI by the containment of FracMinHash sketches.

    For an identity x, the containment of the sketches is about normal, with the mean x ** k and a
    variance that follows from the sampling and from the number of k-mers that are different. The
    interval is all x for which the containment is within 1.96 standard deviations of the mean. The
    containment of fewer than 8 hashes is not normal: then, the interval also has all x with which
    at least this number and at most this number of hashes are shared, with a probability of at
    least 2.5 % each (Clopper and Pearson). For one shared hash of one and k=31, it is 0.888..1.

    Parameters
    ----------
    containment : array_like of float, shape (n,)
        In [0, 1]: shared hashes / sizes.
    sizes : array_like of int, shape (n,)
        Hashes of the sketch that is contained, at least 1.
    k : int
        Letters of a k-mer, in 1..64.
    scaled : int
        See `Sampling`, in 1..2**32.

    Returns
    -------
    (ndarray of float64, ndarray of float64), each of shape (n,)
        The lower and the upper ends, in [0, 1]. Both are 0 where the containment is 0.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.genomes.ani_of_containment : Average nucleotide identity by a containment.
    lshfast.genomes.ani_of_jaccard : Average nucleotide identity by a Jaccard similarity.

    References
    ----------
    As for `ani_of_containment`; the variance of the number of different k-mers is that of A.
    Blanca, R. S. Harris, D. Koslicki, P. Medvedev, "The statistics of k-mers from a sequence
    undergoing a simple mutation process without spurious matches", Journal of Computational Biology
    29:155-168, 2022.

    Examples
    --------
    >>> from lshfast import genomes
    >>> low, high = genomes.ani_interval([0.5], [4000], k=31, scaled=1000)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.9769], [0.9789])
    """
    k = check_int("k", k, 1, MOST_LETTERS)
    scaled = check_int("scaled", scaled, 1, MOST_SCALED)
    c = numbers_of(containment, "containment", 0, 1)
    counts = array_of(sizes, "sizes")
    if counts.shape != c.shape or c.ndim != 1:
        raise ValueError(
            f"containment and sizes must be two columns of one length, not {c.shape} and "
            f"{counts.shape}"
        )
    if counts.dtype.kind not in "iu" and len(counts):
        raise TypeError(f"sizes must be integers, not {counts.dtype}")
    if len(counts) and counts.min() < 1:
        raise ValueError(f"sizes must be at least 1, not {counts.min()}")
    low = np.empty(len(c), np.float64)
    high = np.empty(len(c), np.float64)
    for rows in parts_of_rows(len(c), ROWS):
        distribution = _Spread(counts[rows].astype(np.int64), k, scaled)
        part = c[rows]
        middle = ani_of_containment(part, k)
        low[rows] = distribution.end(part, np.zeros_like(middle), middle, 1)
        high[rows] = distribution.end(part, middle, np.ones_like(middle), -1)
    few = np.flatnonzero((counts < LEAST_HASHES) & (c > 0))
    shared = np.rint(c[few] * counts[few])
    low[few] = np.minimum(low[few], _exact_end(shared, counts[few], k, 1))
    high[few] = np.maximum(high[few], _exact_end(shared, counts[few], k, -1))
    return low, high


def _exact_end(
    shared: Float64Array, sizes: Int64Array, k: int, side: int
) -> Float64Array:
    """Return the identity for which a number of shared hashes is at an end of its interval.

    At least (side 1) or at most (-1) this number has the probability `TAIL_95`.
    """
    low = np.zeros(len(shared))
    high = np.ones(len(shared))
    for _ in range(STEPS):
        x = (low + high) / 2
        same = _power(x, np.full(len(x), k, np.int64))
        tail = np.zeros(len(x))
        for number in range(LEAST_HASHES):
            ways = np.array([comb(size, number) for size in sizes.tolist()], np.float64)
            counted = (number - shared) * side >= 0
            other_shares = _power(1 - same, np.maximum(sizes - number, 0))
            shares = _power(same, np.full(len(x), number, np.int64))
            tail += np.where(counted, ways * shares * other_shares, 0.0)
        above = (tail >= TAIL_95) == (side == 1)
        low = np.where(above, low, x)
        high = np.where(above, x, high)
    certain = (shared == sizes) if side == -1 else np.zeros(len(shared), bool)
    return np.where(certain, 1.0, (low + high) / 2)


class _Spread:
    """The standard deviation of containments, by the identity, for sketches of some sizes."""

    def __init__(self, sizes: Int64Array, k: int, scaled: int) -> None:
        self.k = k
        fraction = 1 / scaled
        self.kmers = sizes.astype(np.float64) * scaled
        # That a sketch has no hash.
        empty = _power(np.full(len(sizes), 1 - fraction, np.float64), sizes * scaled)
        self.sampling = (1 - fraction) / (fraction * self.kmers**3 * (1 - empty) ** 2)

    def end(
        self, c: Float64Array, low: Float64Array, high: Float64Array, side: int
    ) -> Float64Array:
        """Return the identity in low..high for which an end of the interval is c.

        The end is the mean and 1.96 standard deviations on this side of it.
        """
        low = low.copy()
        high = high.copy()
        for _ in range(STEPS):
            x = (low + high) / 2
            mean, deviation = self._moments(x)
            above = mean + side * NORMAL_95 * deviation >= c
            low = np.where(above, low, x)
            high = np.where(above, x, high)
        return np.where(c > 0, (low + high) / 2, 0.0)

    def _moments(self, x: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the mean and standard deviation of the containment for identities x in [0, 1]."""
        # The formula of the variance divides by 1 - x. These sums of powers of x are divided
        # already: `sums` is 1 + x + ... + x ** (k - 1), and the others are sums of such sums.
        k = self.k
        n = self.kmers
        p = 1 - x
        same = x
        sums = np.ones_like(x)
        all_sums = np.zeros_like(x)
        weighted = np.zeros_like(x)
        for _ in range(k - 1):
            all_sums += sums
            weighted = x * (weighted + sums)
            sums = sums + same
            same = same * x
        q = p * sums  # that a k-mer is different: 1 - x ** k
        different = n * q
        variance = n * same * (q * (2 * k - 1) - 2 * p * all_sums)
        variance = variance + k * (k - 1) * same**2 - 2 * same * weighted
        variance = np.maximum(variance, 0.0)
        sampled = n * different - variance - different**2
        total = self.sampling * np.maximum(sampled, 0.0) + variance / n**2
        return same, np.sqrt(total)


def _log(x: Float64Array) -> Float64Array:
    """Return the natural logarithm of numbers above 0, the same with every C library.

    It is within 2 units in the last place.
    """
    mantissa, exponent = np.frexp(x)
    small = mantissa < ROOT_HALF
    mantissa = np.where(small, 2 * mantissa, mantissa)
    exponent = exponent - small
    t: Float64Array = (mantissa - 1) / (mantissa + 1)
    square = t * t
    terms = np.zeros_like(t)
    for i in range(LOG_TERMS, 0, -1):
        terms = (terms + 1 / (2 * i - 1)) * (square if i > 1 else 1.0)
    return np.asarray(exponent * LOG_2 + 2 * t * terms)


def _root(c: Float64Array, k: int) -> Float64Array:
    """Return the k-th roots of numbers in (0, 1], by Newton's method from above."""
    if k == 1:
        return c
    x = np.ones_like(c)
    before = np.zeros_like(c)
    for _ in range(STEPS):
        if (x == before).all():
            break
        before = x
        power = x
        for _ in range(k - 2):
            power = power * x
        x = np.minimum(x, ((k - 1) * x + c / power) / k)
    return x


def _power(x: Float64Array, exponents: Int64Array) -> Float64Array:
    """Return x ** exponents for whole numbers, by squaring."""
    result = np.ones_like(x)
    remaining = exponents.copy()
    while remaining.any():
        result = np.where(remaining & 1, result * x, result)
        x = x * x
        remaining = remaining >> 1
    return result
