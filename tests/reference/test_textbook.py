"""The numbers that five course texts print, recomputed with the reference.

Tests are named after the rows of the coverage checklist; where a text is wrong, the corrected
value is asserted and the printed one is quoted.
"""

import math
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest

from tests.reference import minhash, scurve, sets, textbook
from tests.reference.hashing import Domain, P, draw, multiplier

TENTHS = [s / 10 for s in range(1, 10)]


def near(value: float, printed: float, digits: int) -> bool:
    """Tell whether a value rounds to the printed number."""
    return abs(value - printed) <= 0.5000001 * 10**-digits


# Sets and shingles


def test_a4_jaccard_distance_is_a_metric():
    rows = range(4)
    subsets = [set(c) for size in range(1, 5) for c in combinations(rows, size)]
    for a, b, c in product(subsets, repeat=3):
        assert (1 - sets.jaccard(a, b)) + (1 - sets.jaccard(b, c)) >= 1 - sets.jaccard(
            a, c
        )


def test_d1_f1_character_shingles():
    assert textbook.shingle_set("abcab", 2) == {"ab", "bc", "ca"}
    assert textbook.shingle_set("abcdabd", 2) == {"ab", "bc", "cd", "da", "bd"}
    assert textbook.shingle_bag("abcdabd", 2) == ["ab", "bc", "cd", "da", "ab", "bd"]


def test_d2_change_of_one_word():
    which = textbook.shingle_set("The_dog_which_chased_the_cat", 3)
    that = textbook.shingle_set("The_dog_that_chased_the_cat", 3)
    assert which - that == {"g_w", "_wh", "whi", "hic", "ich", "ch_", "h_c"}
    assert that - which == {"g_t", "tha", "hat", "at_", "t_c"}
    numbers = {shingle: i for i, shingle in enumerate(sorted(which | that))}
    similarity = sets.jaccard([numbers[x] for x in which], [numbers[x] for x in that])
    assert similarity == Fraction(18, 30)


def test_d4_jaccard():
    assert sets.jaccard({0, 1, 2, 3, 4}, {2, 3, 4, 5, 6, 7}) == Fraction(3, 8)
    a, b = textbook.columns_of(["01", "10", "11", "00", "11", "01"])
    assert sets.jaccard(a, b) == Fraction(2, 5)
    assert sets.jaccard(set(), set()) == 0


# Minhashing with written-out permutations


@pytest.mark.parametrize("n", range(1, 8))
def test_a5_collisions_over_all_permutations(n):
    ranks = list(permutations(range(n)))
    for union in range(1, n + 1):
        for common in range(union + 1):
            a = set(range(common + (union - common) // 2))
            b = set(range(common)) | set(range(len(a), union))
            if not a or not b:
                continue
            equal = 0
            for rank in ranks:
                x, y = textbook.minhash_by_rank([a, b], rank)
                equal += x == y
            placings = math.comb(n, union) * math.factorial(n - union)
            assert equal == placings * common * math.factorial(union - 1)
            assert Fraction(equal, math.factorial(n)) == sets.jaccard(a, b)


def test_a6_variance_of_the_estimate():
    a, b = {0, 1, 2}, {1, 2, 3}
    values = [textbook.minhash_by_rank([a, b], rank) for rank in permutations(range(4))]
    hits = [x == y for x, y in values]
    estimates = [Fraction(x + y, 2) for x in hits for y in hits]
    mean = sum(estimates) / len(estimates)
    variance = sum((e - mean) ** 2 for e in estimates) / len(estimates)
    j = sets.jaccard(a, b)
    assert (mean, variance) == (j, j * (1 - j) / 2)


def test_d5_d6_signatures_and_their_similarity():
    columns = textbook.columns_of(
        ["0110", "0011", "1000", "0101", "0001", "1100", "0010"]
    )
    ranks = [(1, 2, 3, 4, 5, 6, 7), (7, 6, 5, 4, 3, 2, 1), (6, 3, 1, 7, 2, 5, 4)]
    rows = [textbook.minhash_by_rank(columns, rank) for rank in ranks]
    assert rows == [[3, 1, 1, 2], [2, 2, 1, 3], [1, 5, 3, 2]]
    signatures = list(zip(*rows, strict=False))
    expected = {
        (1, 2): (Fraction(1, 4), Fraction(1, 3)),
        (1, 3): (0, 0),
        (1, 4): (0, 0),
        (2, 3): (Fraction(1, 5), Fraction(1, 3)),
        (2, 4): (Fraction(1, 5), 0),
        (3, 4): (Fraction(1, 5), 0),
    }
    for (i, j), (true, estimate) in expected.items():
        assert sets.jaccard(columns[i - 1], columns[j - 1]) == true
        assert minhash.similarity(signatures[i - 1], signatures[j - 1]) == float(
            estimate
        )


def test_f6_minhash_of_the_order_beadc():
    columns = [set("ad"), set("c"), set("bde"), set("acd")]
    assert textbook.minhash_by_order(columns, "beadc") == ["a", "c", "b", "a"]


def test_d7_row_algorithm():
    hashes = [lambda x: x % 5, lambda x: (2 * x + 1) % 5]
    trace = textbook.row_algorithm([{1, 3, 4}, {2, 3, 5}], hashes, range(1, 6))
    assert trace[5] == [(1, 2), (0, 0)]


def test_f7_row_algorithm_row_by_row():
    columns = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
    hashes = [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5]
    trace = textbook.row_algorithm(columns, hashes, range(5))
    none = (textbook.NO_VALUE, textbook.NO_VALUE)
    assert trace[0] == [(1, 1), none, none, (1, 1)]
    # One version of the text prints "row 2".
    assert trace[1] == [(1, 1), none, (2, 4), (1, 1)]
    assert trace[2] == [(1, 1), (3, 2), (2, 4), (1, 1)]
    # The text already calls this one final.
    assert trace[3] == [(1, 0), (3, 2), (2, 0), (1, 0)]
    assert trace[4] == [(1, 0), (3, 2), (0, 0), (1, 0)]
    assert list(zip(*trace[4], strict=False)) == [(1, 3, 0, 1), (0, 2, 0, 0)]
    expected = {
        (1, 4): (Fraction(2, 3), 1),
        (1, 3): (Fraction(1, 4), 0.5),
        (1, 2): (0, 0),
        (3, 4): (Fraction(1, 5), 0.5),
        (2, 4): (Fraction(1, 3), 0),
    }
    for (i, j), (true, estimate) in expected.items():
        assert sets.jaccard(columns[i - 1], columns[j - 1]) == true
        assert minhash.similarity(trace[4][i - 1], trace[4][j - 1]) == estimate


def test_f11_candidates_of_one_band():
    columns = [[1, 3, 0], [0, 2, 1], [0, 1, 3], [0, 2, 1], [2, 2, 1]]
    assert minhash.candidate_pairs([minhash.band_keys(c, 1, 3) for c in columns]) == [
        (1, 3)
    ]


# Linear functions


def farey_collision(k: int) -> float:
    """Return Pr[0 has the least value of 0 .. k] for x -> (ax + b) mod 1, a and b uniform.

    Between the neighbours p/b < q/d of the Farey sequence of order k the value next below that of
    0 belongs to d; its distance, averaged over a, gives 1 / (2 b d^2) or its mirror image.
    """
    terms = []
    p, b, q, d = 0, 1, 1, k
    while True:
        terms.append(1 / (2 * b * d * d))
        if (q, d) == (1, 1):
            return math.fsum(terms)
        step = (k + b) // d
        p, b, q, d = q, d, step * q - p, step * d - b


def linear_collision(k: int, prime: int) -> float:
    """Return the same probability for x -> (ax + b) mod prime, a in [1, prime), b in [0, prime).

    Adding b keeps 0 the least exactly if no other value lies between it and the wrap.
    """
    shifts = sum(
        prime - max(a * x % prime for x in range(k + 1)) for a in range(1, prime)
    )
    return shifts / (prime * (prime - 1))


@pytest.mark.parametrize(
    ("k", "exact", "times_ideal"),
    [
        (2, 0.375, 1.125),
        (10, 0.1319444, 1.45),
        (30, 0.0558031, 1.73),
        (100, 0.0204894, 2.07),
        (300, 0.0079486, 2.39),
        (1000, 0.0027515, 2.75),
    ],
)
def test_c2_linear_permutations_are_not_min_wise(k, exact, times_ideal):
    assert near(farey_collision(k), exact, 7)
    assert near(farey_collision(k) * (k + 1), times_ideal, 2)


def test_c2_by_counting():
    prime = 23
    wins = sum(
        min(range(4), key=lambda x: (a * x + b) % prime) == 0
        for a in range(1, prime)
        for b in range(prime)
    )
    assert wins == round(linear_collision(3, prime) * prime * (prime - 1))
    for k in (2, 10, 30):
        assert linear_collision(k, 10007) == pytest.approx(farey_collision(k), rel=2e-3)


def test_c13_wrapped_products_lose_residues():
    # The text prints P = 2^64 - 57, which is composite; the largest prime below 2^64 is 2^64 - 59.
    keys = range(8, 8 * 20_001, 8)
    prime = 2**64 - 59
    # A / P is above .01: a tiny multiplier would hardly ever be reduced.
    for seed in (0, 2, 3):
        a = draw(seed, Domain.CLASSIC, 0) | 1
        assert len({a * x % 2**64 % prime % 256 for x in keys}) == 32
        assert len({a * x % prime % 256 for x in keys}) == 256
        assert len({multiplier(a) * x % P % 256 for x in keys}) == 256
    assert len({minhash.classic([x], 1, 0)[0] % 256 for x in keys}) == 256


# S-curves


def test_b4_seven_tables():
    assert near(scurve.probability(0.5, 7, 1), 0.99219, 5)
    assert near(scurve.probability(0.25, 7, 1), 0.86652, 5)


def test_b6_threshold():
    approximate = scurve.approximate_threshold(30, 5)
    assert near(approximate, 0.50650, 5)
    # The text prints "probability 1/2" at this point; it is 1 - (1 - 1/t)^t there.
    assert near(scurve.probability(approximate, 30, 5), 0.638, 3)
    assert near(scurve.half_point(30, 5), 0.46961, 5)
    assert near(scurve.half_point(10, 10), 0.7631, 4)
    assert near(scurve.approximate_threshold(10, 10), 0.7943, 4)


def test_b7_scan_of_ten_million_clips():
    assert near(0.9**25, 0.07179, 5)
    assert near(0.7**25, 1.341e-4, 7)
    close, far = scurve.probability(0.9, 50, 25), scurve.probability(0.7, 50, 25)
    assert near(close, 0.97588, 5)
    assert near(far, 0.006683, 6)
    assert round(10 + 0.98 * 10_000 + 0.007 * 9_989_990) == 79_740
    # The text prints about 80,000, from the rounded probabilities.
    assert round(10 + close * 10_000 + far * 9_989_990) == 76_536


def test_d9_hundred_thousand_columns():
    n = 100_000
    assert n * 100 * 4 == 40_000_000
    assert math.comb(n, 2) == 4_999_950_000
    assert near(scurve.probability(0.8, 1, 5), 0.32768, 5)
    missed = 1 - scurve.probability(0.8, 20, 5)
    assert near(missed, 0.000356, 6)
    assert round(1 / missed) == 2809
    assert near(scurve.probability(0.4, 1, 5), 0.01024, 5)
    # The text prints 1 - .99^20 = .182, below .2.
    assert near(scurve.probability(0.4, 20, 5), 0.186, 3)


def test_d10_table():
    printed = [0.006381, 0.047494, 0.186050, 0.470051, 0.801902, 0.974781, 0.999644]
    for s, value in zip(TENTHS[1:8], printed, strict=True):
        assert near(scurve.probability(s, 20, 5), value, 6)


def test_d11_steepest_point():
    # The text prints a slope of about 2.3, which is that near s = .41.
    point, slope = scurve.steepest(20, 5)
    assert near(point, 0.52636, 5)
    assert near(slope, 3.5061, 4)
    assert near(scurve.slope(scurve.half_point(20, 5), 20, 5), 3.466, 3)
    assert near(scurve.slope(0.41, 20, 5), 2.3, 1)


def test_f12_threshold():
    assert scurve.approximate_threshold(16, 4) == 0.5
    assert near(scurve.half_point(16, 4), 0.45377, 5)
    assert near(scurve.approximate_threshold(20, 5), 0.54928, 5)
    assert near(scurve.half_point(20, 5), 0.50870, 5)


def test_f13_twenty_bands_of_five():
    assert near(1 - scurve.probability(0.8, 1, 5), 0.672, 3)
    assert near(scurve.probability(0.8, 20, 5), 0.99964, 5)  # the text prints .99965
    # The text prints .672^20 = .00035, which rounds .000356 down.
    assert math.trunc(1e5 * (1 - scurve.probability(0.8, 20, 5))) == 35
    rise = scurve.probability(0.6, 20, 5) - scurve.probability(0.4, 20, 5)
    assert rise > 0.6
    assert rise / 0.2 > 3


@pytest.mark.parametrize(
    ("rows", "bands", "printed", "half", "approximate"),
    [
        (3, 10, ".00996 .0772 .2394 .4839 .7369 .9123 .9850 .9992 1", 0.40609, 0.46416),
        (
            6,
            20,
            ".00002 .00128 .01448 .0788 .2702 .6154 .9182 .9977 1",
            0.56935,
            0.60696,
        ),
        (5, 50, ".0005 .0159 .1145 .4023 .7956 .9825 .9999 1 1", 0.42439, 0.45731),
    ],
)
def test_f15_exercises(rows, bands, printed, half, approximate):
    for s, value in zip(TENTHS, printed.split(), strict=True):
        digits = len(value.partition(".")[2]) or 4
        assert near(scurve.probability(s, bands, rows), float(value), digits)
    assert near(scurve.half_point(bands, rows), half, 5)
    assert near(scurve.approximate_threshold(bands, rows), approximate, 5)
    assert scurve.probability(0.01, bands, rows) == pytest.approx(
        bands * 0.01**rows, rel=1e-3
    )


@pytest.mark.parametrize(
    ("num_perm", "threshold", "bands_rows"),
    [
        (128, 0.5, (42, 3)),
        (128, 0.7, (25, 5)),
        (128, 0.8, (18, 7)),
        (128, 0.9, (10, 12)),
        (256, 0.5, (64, 4)),
        (256, 0.7, (36, 7)),
        (256, 0.8, (28, 9)),
        (256, 0.9, (16, 16)),
    ],
)
def test_bands_for_a_recall_of_95_percent(num_perm, threshold, bands_rows):
    assert scurve.choose(threshold, num_perm, 0.95) == bands_rows
