"""ANI and its intervals: by the formulas, at the ends of their ranges, and as statistics."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast import genomes
from lshfast.genomes.ani import NORMAL_95

shares = st.floats(0, 1, allow_subnormal=False)
ks = st.integers(1, 64)


@given(shares, ks)
@example(1.0, 31)
@example(0.0, 31)
@example(2.0**-29, 64)
def test_formulas(share, k):
    mash = 0.0 if share == 0 else max(0.0, 1 + math.log(2 * share / (1 + share)) / k)
    assert genomes.ani_of_jaccard([share], k)[0] == pytest.approx(
        mash, rel=1e-13, abs=1e-13
    )
    if share == 0 or share > 2**-40:
        assert genomes.ani_of_containment([share], k)[0] == pytest.approx(
            share ** (1 / k), rel=1e-13
        )


def moments(x, n, k, scaled):
    """Return the mean and the variance of the containment for an identity, by the formulas of the papers, exactly."""
    x, s = Fraction(x), Fraction(1, scaled)
    p = 1 - x
    q = 1 - x**k
    mean = n * q
    variance = (
        n * (1 - q) * (q * (2 * k + 2 / p - 1) - 2 * k) + k * (k - 1) * (1 - q) ** 2
    )
    variance += 2 * (1 - q) / p**2 * ((1 + (k - 1) * (1 - q)) * p - q)
    bias = 1 - (1 - s) ** n
    sampled = (1 - s) / (s * n**3 * bias**2) * (n * mean - variance - mean**2)
    return float(1 - q), float(sampled + variance / Fraction(n) ** 2)


@pytest.mark.one_case
@pytest.mark.parametrize("k", [1, 21, 31])
@pytest.mark.parametrize("scaled", [1, 10])
@pytest.mark.parametrize(
    ("shared", "size"),
    [(1, 10), (5, 10), (9, 10), (50, 100), (99, 100), (100, 100), (3, 300)],
)
def test_ends_of_intervals(k, scaled, shared, size):
    """At both ends, the containment is 1.96 standard deviations from the mean."""
    c = shared / size
    low, high = (float(end[0]) for end in genomes.ani_interval([c], [size], k, scaled))
    ani = c ** (1 / k)
    assert 0 <= low <= ani <= high <= 1 + 1e-15
    for end, side in ((low, 1), (high, -1)):
        if 1e-6 < end < 1 - 1e-9:
            mean, variance = moments(end, size * scaled, k, scaled)
            assert mean + side * NORMAL_95 * math.sqrt(
                max(variance, 0)
            ) == pytest.approx(c, abs=1e-6)


@pytest.mark.slow
def test_intervals_hold_the_identity_as_often_as_they_say():
    """Of 400 pairs of sequences that differ by substitutions, about 95 %."""
    rng = np.random.default_rng(4)
    base = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (400, 8000))]
    other = base.copy()
    places = rng.random(base.shape) < 0.03
    other[places] = np.frombuffer(b"ACGT", np.uint8)[
        (
            np.searchsorted([65, 67, 71, 84], base[places])
            + rng.integers(1, 4, places.sum())
        )
        % 4
    ]
    first, second = (
        genomes.sketch([row.tobytes() for row in rows], k=21, scaled=20)
        for rows in (base, other)
    )
    found = genomes.pairs(first, second, ani=0)
    found = found[found["i"] == found["j"]]
    assert len(found) == 400
    held = np.mean((found["ani_low"] <= 0.97) & (found["ani_high"] >= 0.97))
    assert held == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / 400) ** 0.5)
    assert found["ani"].mean() == pytest.approx(0.97, abs=0.001)


def binomial_tail(numbers, size, share):
    return sum(
        math.comb(size, number) * share**number * (1 - share) ** (size - number)
        for number in numbers
    )


@pytest.mark.one_case
@pytest.mark.parametrize("k", [1, 21, 31])
@pytest.mark.parametrize("scaled", [1, 1000])
@pytest.mark.parametrize(
    ("shared", "size"), [(1, 1), (1, 2), (2, 2), (1, 7), (5, 7), (7, 7)]
)
def test_intervals_of_few_hashes_hold_exact_ones(k, scaled, shared, size):
    """An identity is in the interval if the number of shared hashes has at least 2.5 % on each side."""
    low, high = (
        float(end[0])
        for end in genomes.ani_interval([shared / size], [size], k, scaled)
    )
    for identity in np.linspace(0.001, 0.999, 400).tolist():
        at_least = binomial_tail(range(shared, size + 1), size, identity**k)
        at_most = binomial_tail(range(shared + 1), size, identity**k)
        if min(at_least, at_most) >= 0.0251:
            assert low <= identity <= high
    assert 0 <= low <= (shared / size) ** (1 / k) <= high <= 1


def test_equal_numbers_have_equal_intervals():
    c, sizes = np.tile([0.5, 0.25, 0.0, 1.0], 5), np.tile([100, 100, 7, 100], 5)
    low, high = genomes.ani_interval(c, sizes, 31, 1000)
    for end in (low, high):
        assert (end.reshape(5, 4) == end[:4]).all()
    assert (low[2], high[2], high[3]) == (0, 0, 1)
    assert [len(end) for end in genomes.ani_interval([], [], 31, 1000)] == [0, 0]


def test_errors():
    for call, error, reason in [
        (lambda: genomes.ani_of_jaccard([0.5], 0), ValueError, r"k must be in 1\.\.64"),
        (
            lambda: genomes.ani_of_jaccard([1.5], 21),
            ValueError,
            "jaccard must be in 0..1, not 1.5",
        ),
        (
            lambda: genomes.ani_of_containment([-1], 21),
            ValueError,
            "containment must be in 0..1, not -1",
        ),
        (
            lambda: genomes.ani_of_containment(["a"], 21),
            TypeError,
            "containment must be numbers",
        ),
        (
            lambda: genomes.ani_interval([0.5], [0], 21, 10),
            ValueError,
            "sizes must be at least 1, not 0",
        ),
        (
            lambda: genomes.ani_interval([0.5], [1.5], 21, 10),
            TypeError,
            "sizes must be integers",
        ),
        (
            lambda: genomes.ani_interval([0.5], [1, 2], 21, 10),
            ValueError,
            "two columns of one length",
        ),
        (
            lambda: genomes.ani_interval([0.5], [1], 21, 0),
            ValueError,
            r"scaled must be in 1\.\.",
        ),
    ]:
        with pytest.raises(error, match=reason):
            call()
