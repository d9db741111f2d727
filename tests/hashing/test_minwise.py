"""Min-wise permutations: exact families by enumeration, and the bias of linear permutations."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import lcm, log, pi, sqrt

import numpy as np
import pytest

from lshfast.hashing import HalvingFamily, LinearPermutation, linear_first_probability
from lshfast.kernels import hashing as kernels


def all_of(n):
    family = HalvingFamily(n)
    return np.array([family.permutation(i) for i in range(family.size)])


def test_a8_sizes():
    assert [HalvingFamily(n).size for n in (2, 4, 8, 16)] == [2, 12, 840, 10_810_800]
    assert [lcm(*range(1, n + 1)) for n in (4, 8, 16)] == [12, 840, 720_720]
    for n in (2, 4, 8, 16, 32):
        assert HalvingFamily(n).size % lcm(*range(1, n + 1)) == 0
        assert HalvingFamily(n).size < 4**n


@pytest.mark.parametrize("n", [2, 4, 8])
def test_a8_enumeration_is_exactly_min_wise(n):
    permutations = all_of(n)
    assert len({tuple(row) for row in permutations.tolist()}) == len(permutations)
    assert (np.sort(permutations, axis=1) == np.arange(n)).all()
    for size in range(1, n + 1):
        for chosen in combinations(range(n), size):
            firsts = np.bincount(permutations[:, chosen].argmin(axis=1), minlength=size)
            assert (firsts * size == len(permutations)).all()


@pytest.mark.parametrize("n", [16, 32])
def test_drawn_permutations_are_min_wise(n):
    count = 2000
    drawn = HalvingFamily(n).draw(count, seed=3)
    assert (np.sort(drawn, axis=1) == np.arange(n)).all()
    for chosen in ([0, 1], [0, n // 2, n - 1], list(range(0, n, 3)), list(range(n))):
        size = len(chosen)
        firsts = np.bincount(drawn[:, chosen].argmin(axis=1), minlength=size) / count
        assert (abs(firsts - 1 / size) < 4.5 * sqrt((1 - 1 / size) / size / count)).all()


def test_drawn_permutations_follow_the_seed():
    family = HalvingFamily(16)
    assert (family.draw(5, seed=1) == family.draw(9, seed=1)[:5]).all()
    assert (family.draw(5, seed=1) != family.draw(5, seed=2)).any()
    assert (family.draw(5, seed="random") != family.draw(5, seed="random")).any()
    assert family.draw(0).shape == (0, 16)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: HalvingFamily(6), ValueError, "n must be a power of two, not 6"),
        (lambda: HalvingFamily(64), ValueError, "n must be in 2..32, not 64"),
        (lambda: HalvingFamily(4.0), TypeError, "n must be an int"),
        (lambda: HalvingFamily(4).permutation(12), ValueError, "i must be in 0..11, not 12"),
        (lambda: HalvingFamily(4).draw(-1), ValueError, "count must be at least 0"),
        (lambda: LinearPermutation(12), ValueError, "a multiple of 2"),
        (lambda: LinearPermutation(13).hash([13]), ValueError, "below the prime, 13"),
        (lambda: linear_first_probability(0), ValueError, "k must be in 1..10000, not 0"),
        (lambda: linear_first_probability(2.0), TypeError, "k must be an int"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("prime", [2, 7, 31])
def test_linear_permutations_are_permutations(prime):
    for seed in range(10):
        assert sorted(LinearPermutation(prime, seed).hash(range(prime)).tolist()) == list(range(prime))


@pytest.mark.parametrize(("k", "least"), [(3, 240), (5, 156), (8, 85)])
def test_a9_least_probability_of_linear_permutations(k, least):
    """The least Pr[x comes first of X] over all X of k elements mod 31 and x in X.

    By b, x is 0, and by a, another element is 1. Of the functions with this a, 0 comes first if b is at most 30 minus
    the greatest a y mod p of the other elements y.
    """
    p = 31
    rest = np.array(list(combinations(range(2, p), k - 2)), np.int8).reshape(-1, k - 2)
    good = np.zeros(len(rest), np.int64)
    for a in range(1, p):
        images = (np.arange(p) * a % p).astype(np.int8)
        greatest = np.full(len(rest), images[1], np.int8)
        for column in rest.T:
            np.maximum(greatest, images[column], out=greatest)
        good += p - greatest
    assert good.min() == least
    assert least / (p * (p - 1)) >= 1 / (2 * (k - 1))
    worst = np.array([0, 1, *rest[good.argmin()].tolist()], np.uint64)
    out, firsts = np.empty(k, np.uint64), 0
    for a in range(1, p):
        for b in range(p):
            kernels.polynomial(worst, np.array([a, b], np.uint64), p, p, out)
            firsts += int(out.argmin() == 0)
    assert firsts == least


@pytest.mark.parametrize(
    ("k", "expected", "ratio"),
    [
        (2, 0.375, None),
        (10, 0.1319444, 1.45),
        (30, 0.0558031, 1.73),
        (100, 0.0204894, 2.07),
        (300, 0.0079486, 2.39),
        (1000, 0.0027515, 2.75),
    ],
)
def test_c2_bias_of_linear_permutations(k, expected, ratio):
    assert linear_first_probability(k) == pytest.approx(expected, abs=6e-8)
    if ratio:
        assert linear_first_probability(k) * (k + 1) == pytest.approx(ratio, abs=0.006)


def test_c2_the_sum_is_that_over_farey_fractions():
    for k in (1, 2, 7, 20):
        fractions = sorted({Fraction(c, d) for d in range(1, k + 1) for c in range(d + 1)})
        exact = sum(Fraction(1, 2 * low.denominator * high.denominator**2) for low, high in pairwise(fractions))
        assert linear_first_probability(k) == pytest.approx(float(exact), rel=1e-14)


def test_c2_the_leading_term():
    """The ratio to 3 / pi**2 ln k / k falls to 1, slowly."""
    ratios = [linear_first_probability(k) * k / (3 / pi**2 * log(k)) for k in (10, 100, 1000, 2000)]
    assert ratios == sorted(ratios, reverse=True)
    assert 1 < ratios[-1] < 1.3


@pytest.mark.parametrize(("prime", "k"), [(1009, 2), (1009, 10)])
def test_c2_over_all_functions_of_a_prime(prime, k):
    """Of the b of a multiplier, p minus the greatest of the images a x mod p, x in 1..k, let 0 come first."""
    a = np.arange(1, prime)
    images = a[:, None] * np.arange(1, k + 1) % prime
    probability = (prime - images.max(axis=1)).sum() / (prime * (prime - 1))
    assert probability == pytest.approx(linear_first_probability(k), abs=2 / prime)


def test_c2_of_drawn_functions():
    count = 4000
    firsts = sum(int(LinearPermutation(seed=seed).hash(range(11)).argmin() == 0) for seed in range(count))
    p = linear_first_probability(10)
    assert abs(firsts / count - p) < 4 * sqrt(p * (1 - p) / count)
