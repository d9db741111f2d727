"""Min-wise permutations: exact families by enumeration, and the bias of linear permutations."""

from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import factorial, lcm, log, pi, sqrt

import numpy as np
import pytest

from lshfast.hashing import (
    HalvingFamily,
    LinearPermutation,
    RestrictedFamily,
    linear_first_probability,
    linear_first_range,
    minwise_error,
)


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


def test_g3_families_for_sets_of_at_most_k_elements():
    """The size of a k-restricted family is a multiple of lcm(1, .., k); 2 for k = 2 and 6 for k = 3 exist for n = 4."""
    two = [range(4), range(3, -1, -1)]
    three = [
        [0, 1, 2, 3],
        [0, 3, 2, 1],
        [2, 0, 3, 1],
        [2, 1, 0, 3],
        [2, 3, 0, 1],
        [3, 1, 2, 0],
    ]
    for k, family in ((2, two), (3, three), (4, all_of(4))):
        assert [minwise_error(family, each) for each in range(1, k + 1)] == [0] * k
        assert k == 4 or minwise_error(family, k + 1) > 0
        assert len(family) == lcm(*range(1, k + 1))
    assert lcm(*range(1, 9)) == HalvingFamily(8).size == 840
    every = list(
        permutations(range(3))
    )  # of 1 to 5 of the six permutations of three elements, none is for k = 3
    for size in range(1, 6):
        assert all(
            minwise_error(some, 2) + minwise_error(some, 3) > 0
            for some in combinations(every, size)
        )


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("n", "k", "size"),
    [
        (1, 1, 1),
        (2, 2, 2),
        (9, 2, 2),
        (3, 3, 12),
        (4, 4, 12),
        (7, 3, 168),
        (8, 4, 168),
        (8, 5, 840),
        (6, 5, 840),
    ],
)
def test_g3_families_that_are_built(n, k, size):
    family = RestrictedFamily(n, k)
    every = np.array([family.permutation(i) for i in range(family.size)])
    assert len(every) == family.size == size
    assert size % lcm(*range(1, k + 1)) == 0
    assert [minwise_error(every, each) for each in range(1, k + 1)] == [0] * k
    if size == 2:
        assert n == 2 or minwise_error(every, 3) > 0
    if size == 168:
        assert minwise_error(every, 5) > 0
    for i in (0, size // 2, size - 1):
        images = family.images(i, range(n))
        assert images.argsort().argsort().tolist() == every[i].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("n", [13, 16])
def test_g3_all_permutations_of_a_larger_family(n):
    family = RestrictedFamily(n, 4)
    assert (family.size, family.bits) == (5040, 13)
    every = [family.permutation(i) for i in range(family.size)]
    assert len({tuple(row) for row in np.array(every).tolist()}) == 5040
    assert minwise_error(every, 4) == 0


@pytest.mark.slow
def test_g3_a_large_universe():
    """Images are those of a permutation, and each of four elements is first equally often."""
    family = RestrictedFamily(2**32, 4)
    assert family.bits == 559
    elements = np.array([0, 1, 2, 77, 2**31, 2**32 - 1])
    images = [family.images(d.number, elements) for d in family.draw_numbers(600)]
    assert all(len(set(row.tolist())) == 6 for row in images)
    assert max(row.max() for row in images) < 2**32
    for chosen in combinations(range(6), 4):
        firsts = np.bincount([row[list(chosen)].argmin() for row in images])
        assert abs(firsts - 150).max() < 4 * sqrt(600 * 3 / 16)
    small = RestrictedFamily(2**12, 3)
    permutation = small.permutation(small.size // 3)
    assert sorted(permutation.tolist()) == list(range(2**12))
    with pytest.raises(ValueError, match=r"at most 2\*\*24 .* use images"):
        family.permutation(0)


@pytest.mark.one_case
@pytest.mark.parametrize(
    "family", [HalvingFamily(4), RestrictedFamily(7, 3), RestrictedFamily(2**14, 3)]
)
def test_g3_a_draw_says_how_many_bits_it_took(family):
    draws = family.draw_numbers(2000, seed=3)
    taken = np.array([draw.bits for draw in draws])
    assert set(taken % family.bits) == {0}
    # A draw is rejected as often as bits name no permutation.
    rejected = 1 - family.size / 2**family.bits
    assert abs((taken > family.bits).mean() - rejected) < 4 * sqrt(1 / 4 / 2000)
    assert all(0 <= draw.number < family.size for draw in draws)
    assert draws[:5] == family.draw_numbers(5, seed=3)
    if family.size == 12:
        counts = np.bincount([draw.number for draw in draws], minlength=12)
        assert abs(counts - 2000 / 12).max() < 4 * sqrt(2000 / 12)
    assert RestrictedFamily(5, 1).draw_numbers(2) == [(0, 0), (0, 0)]
    assert RestrictedFamily(9, 3).draw(2, seed=5).shape == (2, 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "n must be"),
        ((2**33, 2), "n must be"),
        ((4, 5), "k must be in 1..4"),
        ((33, 5), "n must be at most 32 for k above 4, not 33"),
    ],
)
def test_bounds_of_restricted_families(arguments, message):
    with pytest.raises(ValueError, match=message):
        RestrictedFamily(*arguments)
    with pytest.raises(ValueError, match=r"elements must be in 0\.\.8, not 9"):
        RestrictedFamily(9, 3).images(0, [9])


def test_g3_random_bits_of_a_draw():
    """A number in 0..size - 1: 10 bits for n = 8 and 24 for n = 16, where all permutations need 16 and 45."""
    assert [(HalvingFamily(n).size - 1).bit_length() for n in (4, 8, 16, 32)] == [
        4,
        10,
        24,
        53,
    ]
    assert [(factorial(n) - 1).bit_length() for n in (8, 16)] == [16, 45]
    assert len({tuple(HalvingFamily(8).permutation(i)) for i in range(840)}) == 840


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("n", [16, 32])
def test_drawn_permutations_are_min_wise(n):
    count = 2000
    drawn = HalvingFamily(n).draw(count, seed=3)
    assert (np.sort(drawn, axis=1) == np.arange(n)).all()
    for chosen in ([0, 1], [0, n // 2, n - 1], list(range(0, n, 3)), list(range(n))):
        size = len(chosen)
        firsts = np.bincount(drawn[:, chosen].argmin(axis=1), minlength=size) / count
        assert (
            abs(firsts - 1 / size) < 4.5 * sqrt((1 - 1 / size) / size / count)
        ).all()


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
        (
            lambda: HalvingFamily(4).permutation(12),
            ValueError,
            "i must be in 0..11, not 12",
        ),
        (
            lambda: HalvingFamily(4).draw(-1),
            ValueError,
            r"count must be in 0\.\.16777216, not -1",
        ),
        (
            lambda: HalvingFamily(4).draw_numbers(2**24 + 1),
            ValueError,
            "count must be in 0..16777216, not 16777217",
        ),
        (lambda: LinearPermutation(12), ValueError, "a multiple of 2"),
        (lambda: LinearPermutation(13).hash([13]), ValueError, "below the prime, 13"),
        (lambda: linear_first_range(12, 3), ValueError, "a multiple of 2"),
        (
            lambda: linear_first_range(31, 32),
            ValueError,
            r"k must be in 2\.\.31, not 32",
        ),
        (
            lambda: linear_first_range(101, 9),
            ValueError,
            "k must be such that .* at most 500,000,000, not 9",
        ),
        (
            lambda: linear_first_range(1009, 1008),
            ValueError,
            r"prime \* k \* comb\(prime - 2, k - 2\) .*, not 1008",
        ),
        (
            lambda: linear_first_range(32749, 32748),
            ValueError,
            "at most 500,000,000, not 32748",
        ),
        (
            lambda: minwise_error([0, 1], 1),
            ValueError,
            r"shape \(m, n\) with m and n at least 1, not \(2,\)",
        ),
        (lambda: minwise_error([[0, 1]], 3), ValueError, r"k must be in 1\.\.2, not 3"),
        (
            lambda: minwise_error([range(30)], 15),
            ValueError,
            r"m \* k \* comb\(n, k\) is at most 500,000,000, not 15",
        ),
        (
            lambda: minwise_error([[0, 0, 0, 0]], 2),
            ValueError,
            r"\[0\] must have each of 0..3 once, not \[0, 0, 0, 0\]",
        ),
        (
            lambda: minwise_error([[1, 0], [-5, 7]], 2),
            ValueError,
            r"permutations\[1\] must have .*, not \[-5, 7\]",
        ),
        (
            lambda: minwise_error([[0.5, 1]], 1),
            TypeError,
            "permutations must be integers, not float64",
        ),
        (
            lambda: linear_first_probability(0),
            ValueError,
            "k must be in 1..10000, not 0",
        ),
        (lambda: linear_first_probability(2.0), TypeError, "k must be an int"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("prime", [2, 7, 31])
def test_linear_permutations_are_permutations(prime):
    for seed in range(10):
        assert sorted(
            LinearPermutation(prime, seed).hash(range(prime)).tolist()
        ) == list(range(prime))


@pytest.mark.one_case
@pytest.mark.parametrize(("k", "least"), [(3, 240), (5, 156), (8, 85)])
def test_a9_least_probability_of_linear_permutations(k, least):
    """Modulo 31, some element comes first with .258, .168 and .091 only, never with less than 1 / (2 (k - 1))."""
    found = linear_first_range(31, k)
    assert found[0] == Fraction(least, 930) >= Fraction(1, 2 * (k - 1))
    assert found[1] > Fraction(1, k)


@pytest.mark.parametrize(("p", "k"), [(2, 2), (7, 2), (7, 4), (11, 3), (13, 13)])
def test_a9_range_over_all_sets(p, k):
    functions = [(a, b) for a in range(1, p) for b in range(p)]
    images = np.array([[(a * x + b) % p for x in range(p)] for a, b in functions])
    firsts = np.array(
        [
            np.bincount(images[:, x].argmin(axis=1), minlength=k)
            for x in combinations(range(p), k)
        ]
    )
    least, greatest = linear_first_range(p, k)
    assert (least, greatest) == (
        Fraction(int(firsts.min()), len(images)),
        Fraction(int(firsts.max()), len(images)),
    )
    assert minwise_error(images, k) == pytest.approx(
        max(float(k * greatest - 1), float(1 - k * least))
    )


def test_a9_random_permutations_are_approximately_min_wise():
    """The error falls with the square root of the number of permutations."""
    draw = np.random.default_rng(9).permuted
    families = [draw(np.tile(np.arange(6), (m, 1)), axis=1) for m in (200, 20_000)]
    few, many = (
        max(minwise_error(family, k) for k in (2, 3, 4)) for family in families
    )
    assert many < 0.06 < few < 0.6
    assert minwise_error(all_of(8), 5) == 0
    assert minwise_error([range(22), range(21, -1, -1)], 6) == 2  # two batches of sets


@pytest.mark.slow
def test_e6_equal_minhashes_under_approximate_families():
    """J (1 +- error), and the error itself for some sets with one common element. A talk has J +- error |A u B|."""
    family = np.random.default_rng(6).permuted(np.tile(np.arange(6), (150, 1)), axis=1)
    for size in range(2, 7):
        error, most = minwise_error(family, size), 0
        for union in permutations(range(6), size):
            for common in range(1, size):
                a, b = (
                    list(union[:common] + union[common + part :: 2]) for part in (0, 1)
                )
                equal = (family[:, a].min(axis=1) == family[:, b].min(axis=1)).mean()
                most = max(most, abs(equal * size / common - 1))
        assert most == pytest.approx(error)
        assert 0.1 < error < size / 2


@pytest.mark.one_case
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
        fractions = sorted(
            {Fraction(c, d) for d in range(1, k + 1) for c in range(d + 1)}
        )
        exact = sum(
            Fraction(1, 2 * low.denominator * high.denominator**2)
            for low, high in pairwise(fractions)
        )
        assert linear_first_probability(k) == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.slow
def test_c2_the_leading_term():
    """The ratio to 3 / pi**2 ln k / k falls to 1, slowly."""
    ratios = [
        linear_first_probability(k) * k / (3 / pi**2 * log(k))
        for k in (10, 100, 1000, 2000)
    ]
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
    firsts = sum(
        int(LinearPermutation(seed=seed).hash(range(11)).argmin() == 0)
        for seed in range(count)
    )
    p = linear_first_probability(10)
    assert abs(firsts / count - p) < 4 * sqrt(p * (1 - p) / count)
