"""Counts as statistics: bias and standard error against their formulas, from nothing to ten million.

Seeds are fixed, so a test passes always or never; four standard errors keep an honest seed from failing.
"""

import math

import numpy as np
import pytest

from lshfast import MinHasher, TokenSets
from lshfast.kernels import cardinality as kernels
from lshfast.sketch import (
    DistinctCounter,
    estimate_overlap,
    estimate_sizes,
    size_error,
)
from tests.reference import cardinality as reference

pytestmark = pytest.mark.slow

LIMIT = math.sqrt(3 * math.log(2) - 1)  # 1.039


def random_sets(n, trials, seed=1):
    """Return sets of n random tokens each."""
    tokens = np.random.default_rng(seed).integers(0, 2**64, n * trials, np.uint64)
    return TokenSets(np.arange(trials + 1) * n, tokens)


def assert_as_good(found, n, error, bias=0.0, spread=0.05):
    """Check the mean of estimates of n against n, and their deviation against the standard error of the formula.

    Beside four standard errors of the mean, `bias` allows for a share of the standard error; `spread` is what the
    formula itself may be off.
    """
    found = found / n
    error = error / n
    assert (
        abs(found.mean() - 1) <= 4 * error / math.sqrt(len(found)) + bias * error + 1e-9
    )
    deviation = found.std(ddof=1)
    assert abs(deviation / error - 1) <= 4 / math.sqrt(2 * len(found)) + spread


# HyperLogLog


def error_at(load, m):
    return math.sqrt(reference.exact_variance(load) / m)


def test_the_variance_in_use_is_near_the_exact_one():
    """It only takes off a bias of variance / m, so .02 of it is .02 / m."""
    for load in np.geomspace(0.01, 10_000, 200):
        assert abs(reference.variance(load) - reference.exact_variance(load)) < 0.017
    assert reference.variance(1e9) == pytest.approx(LIMIT**2, abs=1e-4)


LOADS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 40]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(
    ("p", "trials"), [(4, 20_000), (6, 10_000), (8, 4_000), (10, 1_000)]
)
def test_no_bumps(p, trials, load):
    """The estimate has one formula, and no seams at 2.5 or 5 times 2^p where those of others have theirs."""
    n = round(load * 2**p)
    counts = DistinctCounter(p).count(DistinctCounter(p).sketch(random_sets(n, trials)))
    # What errs is pairs of tokens, of which few have fewer.
    error = n * error_at(n / 2**p, 2**p) * math.sqrt(1 - 1 / n)
    assert_as_good(
        counts, n, error, bias=0.02 if p > 4 else 0.04, spread=0.02 if p > 4 else 0.12
    )


@pytest.mark.parametrize("p", [4, 8, 14, 18])
def test_the_smallest_sets_are_counted_exactly(p):
    """But for what the estimator swings by with the logarithm of the load, 10^-5 of the count."""
    counter = DistinctCounter(p)
    counts = counter.count(
        counter.sketch(TokenSets(np.array([0, 0, 1]), np.array([7], np.uint64)))
    )
    assert counts[0] == 0
    assert abs(counts[1] - 1) < 0.3 / 2**p + 1e-5


CHECKPOINTS = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    1000,
    10_000,
    20_000,
    40_000,
    80_000,
    10**5,
    3 * 10**5,
    10**6,
    3 * 10**6,
    10**7,
]


def test_from_one_to_ten_million():
    """Each of 16 streams is counted at all points, with p = 14 and its own seed."""
    m, streams = 2**14, 16
    counts = np.zeros((streams, len(CHECKPOINTS)))
    for stream in range(streams):
        counter = DistinctCounter(14, seed=stream)
        registers, done = counter.empty(), 0
        for column, n in enumerate(CHECKPOINTS):
            counter.update(registers, np.arange(done, n, dtype=np.uint64), threads=1)
            done = n
            counts[stream, column] = counter.count(registers)
    for column, n in enumerate(CHECKPOINTS):
        error = math.sqrt(reference.variance(n / m) / m)
        relative = counts[:, column] / n - 1
        assert abs(relative.mean()) <= 4 * error / math.sqrt(streams) + 1e-5, n
        if n >= 1000:  # below, hardly any two tokens of all streams meet
            assert np.sqrt(np.mean(relative**2)) <= error * (
                1 + 4 / math.sqrt(2 * streams)
            ), n
            assert abs(relative).max() <= 5 * LIMIT / math.sqrt(m), (
                n
            )  # of some hundred figures
    assert np.all(np.diff(counts) > 0)


@pytest.mark.parametrize("step", [1, 2**32, 2**56])
def test_structured_tokens_count_as_random_ones(step):
    tokens = np.arange(50, dtype=np.uint64) * np.uint64(step)
    counts = [
        float(counter.count(one(counter, tokens)))
        for counter in (DistinctCounter(6, seed) for seed in range(2000))
    ]
    assert_as_good(np.array(counts), 50, 50 * error_at(50 / 64, 64), bias=0.02)


def one(counter, tokens):
    registers = counter.empty()
    counter.update(registers, tokens, threads=1)
    return registers


@pytest.mark.parametrize("n", [1000, 100_000])
def test_sixty_four_bits_of_hash_and_thirty_two(n):
    """The same estimator for registers that datasketch's 32-bit hashes can raise."""
    hashes = np.random.default_rng(5).integers(0, 2**32, (300, n), np.uint64)
    registers = np.zeros((300, 256), np.uint8)
    for row, values in zip(registers, hashes, strict=True):
        kernels.update_hashes(values, 32, row)
    out = np.empty(300)
    kernels.register_estimates(registers, 32, out)
    assert_as_good(out, n, n * error_at(n / 256, 256), bias=0.02)


@pytest.mark.parametrize(
    ("size", "other", "common"),
    [(500, 500, 0), (500, 500, 250), (3000, 300, 300), (5000, 5000, 500)],
)
def test_overlaps_of_registers(size, other, common):
    """Inclusion and exclusion has no bias where it need not be cut off, and at most the union's standard error."""
    counter, trials, union = DistinctCounter(8), 500, size + other - common
    tokens = np.random.default_rng(3).integers(0, 2**64, (trials, union), np.uint64)
    starts = np.arange(trials + 1)
    a = counter.sketch(
        TokenSets(starts * size, np.ascontiguousarray(tokens[:, :size]).ravel())
    )
    b = counter.sketch(
        TokenSets(
            starts * other, np.ascontiguousarray(tokens[:, size - common :]).ravel()
        )
    )
    found = counter.overlap(a, b)
    limit = LIMIT / 16 * union
    uncut = counter.count(a) + counter.count(b) - found.union
    assert abs(uncut.mean() - common) <= 4 * limit / math.sqrt(trials)
    assert uncut.std() <= limit * (1 + 4 / math.sqrt(2 * trials))
    assert np.abs(found.intersection - common).mean() <= limit
    assert abs(found.union.mean() / union - 1) <= 4 * LIMIT / 16 / math.sqrt(trials)


# MinHash signatures


@pytest.mark.parametrize("n", [1, 2, 5, 20, 128, 1000])
@pytest.mark.parametrize("k", [16, 100, 128, 300])
@pytest.mark.parametrize("scheme", ["classic", "fast"])
def test_sizes(scheme, k, n):
    """Slots of `fast` share bits of their hash with the value from k = 257 on, or where k is no power of 2."""
    hasher = MinHasher(k, scheme)
    trials = min(4000, 400_000 // n) if scheme == "classic" else 4000
    found = estimate_sizes(hasher.sketch(random_sets(n, trials)))
    assert_as_good(
        found, n, size_error(n, hasher), bias=0.02, spread=0.08 if k == 16 else 0.02
    )


@pytest.mark.parametrize(("k", "bias"), [(3, 0.12), (4, 0.09), (8, 0.04)])
@pytest.mark.parametrize("scheme", ["classic", "fast"])
def test_sizes_of_short_signatures(scheme, k, bias):
    """Slots of `fast` depend on each other, and the fewer they are the more of it the formulas leave out."""
    hasher = MinHasher(k, scheme)
    for n in (1, 2, 8, 100):
        found = estimate_sizes(hasher.sketch(random_sets(n, 4000)))
        error = size_error(n, hasher)
        assert (
            abs(found.mean() - n)
            <= (4 / math.sqrt(4000) + bias * (scheme == "fast")) * error
        )


@pytest.mark.parametrize("k", [1024, 5000])
def test_sizes_of_long_signatures(k):
    hasher = MinHasher(k)
    for n in (10, 1000, 20_000):
        found = estimate_sizes(hasher.sketch(random_sets(n, 150)))
        assert_as_good(found, n, size_error(n, hasher), spread=0.02)


def test_sizes_up_to_ten_million():
    tokens = TokenSets(
        np.array([0, 10**5, 10**6, 10**7]), np.arange(10**7, dtype=np.uint64)
    )
    for n, found in zip(
        tokens.counts, estimate_sizes(MinHasher(512).sketch(tokens)), strict=True
    ):
        assert abs(found - n) <= 4 * size_error(float(n), MinHasher(512))


def test_fast_signatures_know_small_sets_better():
    """Half the variance of the classic scheme below k tokens, and the same far above."""
    assert kernels.fast_variance(50, 1024) == pytest.approx(0.5, abs=0.002)
    assert kernels.fast_variance(1e9, 1024) == pytest.approx(1, abs=1e-5)
    for k in (16, 128, 1000):
        for n in (1, 3, 50, 1000, 1e6):
            assert kernels.fast_variance(n, k) == pytest.approx(
                reference.variance_of_fast(n, k), rel=1e-9
            )


@pytest.mark.parametrize("scheme", ["classic", "fast"])
def test_overlaps_of_signatures(scheme):
    """Sets of 300 and 600 that share 150: by the estimated sizes, and better by the true ones."""
    hasher, trials = MinHasher(128, scheme), 1500
    tokens = np.random.default_rng(9).integers(0, 2**64, (trials, 750), np.uint64)
    starts = np.arange(trials + 1)
    a = hasher.sketch(
        TokenSets(starts * 300, np.ascontiguousarray(tokens[:, :300]).ravel())
    )
    b = hasher.sketch(
        TokenSets(starts * 600, np.ascontiguousarray(tokens[:, 150:]).ravel())
    )
    estimated = estimate_overlap(a, b)
    told = estimate_overlap(a, b, sizes_a=300, sizes_b=600)
    for found in (estimated, told):
        error = found.intersection.std() / math.sqrt(trials)
        assert abs(found.intersection.mean() - 150) <= 4 * error + 0.01 * 150
    assert told.intersection.std() < estimated.intersection.std()
    assert (
        told.intersection.std()
        <= 900 / (1 + 0.2) ** 2 * math.sqrt(0.2 * 0.8 / 128) * 1.1
    )
