"""Signatures as statistics: bias, variance, recall and the odds of meeting in a band, against their formulas.

Seeds are fixed, so a test passes always or never; four standard errors keep an honest seed from failing.
Where nothing else is said, the tokens of a pair of sets are random and each pair is one trial.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import Bands, MinHasher, TokenSets, choose_bands
from lshfast.join.screening import screen
from lshfast.kernels import sketch as kernels
from tests.reference.hashing import Domain, P, draw, multiplier

pytestmark = pytest.mark.slow

SCHEMES = pytest.mark.parametrize("scheme", ["fast", "classic"])
SIMILARITIES = [0.1, 0.3, 0.5, 0.8, 0.95]


def shape(n, similarity):
    """Return (common, other): n tokens, `common` of them in a set of common + other, nearest to the similarity.

    No shape has similarity 1; of several as good, the one whose sets differ least in size is taken.
    """
    shapes = [
        (c, y)
        for c in range(1, n + 1)
        for y in {max(0, round(c / similarity) - n), n - c}
        if c < n + y and y <= 2 * n
    ]
    return min(
        shapes,
        key=lambda s: (
            round(abs(s[0] / (n + s[1]) - similarity), 9),
            abs(n - s[0] - s[1]),
        ),
    )


def planted(n, common, other, trials, seed=1):
    """Return pairs of sets (rows 2i and 2i + 1) of n and common + other random tokens, and their similarity."""
    tokens = np.random.default_rng(seed).integers(
        0, 2**64, (trials, n + other), dtype=np.uint64
    )
    both = np.concatenate([tokens[:, :n], tokens[:, :common], tokens[:, n:]], axis=1)
    counts = np.tile([n, common + other], trials)
    return TokenSets(np.concatenate([[0], np.cumsum(counts)]), both.ravel()), common / (
        n + other
    )


def estimates(hasher, sets):
    """Return the estimated similarity of each pair of rows 2i and 2i + 1."""
    signatures = hasher.sketch(sets)
    return hasher.similarity(signatures[0::2], signatures[1::2])


def assert_unbiased(found, similarity):
    error = found.std(ddof=1) / math.sqrt(len(found))
    assert abs(found.mean() - similarity) <= 4 * error


def share_met(hasher, bands, sets):
    """Return the fraction of pairs of rows 2i and 2i + 1 that become candidates."""
    keys = bands.keys(hasher.sketch(sets))
    return float((keys[0::2] == keys[1::2]).any(axis=1).mean())


def test_planted_sets_are_as_similar_as_they_say():
    sets, similarity = planted(10, *shape(10, 0.5), trials=3)
    for i in range(0, 6, 2):
        a, b = set(sets[i].tolist()), set(sets[i + 1].tolist())
        assert len(a & b) / len(a | b) == similarity == 0.5


# Bias


@SCHEMES
@pytest.mark.parametrize("n", [5, 50, 500, 5000])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_estimates_are_unbiased(scheme, n, similarity):
    sets, true = planted(
        n, *shape(n, similarity), trials=max(200, min(4000, 400_000 // n))
    )
    # Sets of five have few similarities.
    assert abs(true - similarity) < (0.15 if n == 5 else 0.01)
    assert_unbiased(estimates(MinHasher(128, scheme), sets), true)


@SCHEMES
@pytest.mark.parametrize("hashed", [True, False], ids=["from_sets", "raw"])
@pytest.mark.parametrize("step", [1, 8, 2**16, 2**20])
@pytest.mark.parametrize("similarity", [1 / 3, 0.8])
def test_structured_integers_are_unbiased(scheme, hashed, step, similarity):
    """Ranges: a linear family gives .73 for .8, and products that wrap .28 and .43 for a third."""
    n, trials = 90, 2000
    common, _ = shape(n, similarity)
    starts = np.arange(trials)[:, None] * 1000
    rows = step * np.concatenate(
        [starts + np.arange(n), starts + np.arange(n) + n - common], axis=1
    ).reshape(-1, n)
    sets = (
        TokenSets.from_sets(rows)
        if hashed
        else TokenSets(np.arange(len(rows) + 1) * n, rows.ravel())
    )
    assert_unbiased(estimates(MinHasher(128, scheme), sets), common / (2 * n - common))


@SCHEMES
@pytest.mark.parametrize("step", [1, 8, 2**16, 2**20])
def test_structured_integers_over_seeds(scheme, step):
    """The same two ranges under many hash functions, where the test above has many ranges under one."""
    rows = step * np.array([range(100), range(50, 150)])
    sets = TokenSets([0, 100, 200], rows.ravel())
    found = np.concatenate(
        [estimates(MinHasher(128, scheme, seed), sets) for seed in range(1000)]
    )
    assert_unbiased(found, 1 / 3)


# Variance


@pytest.mark.parametrize("k", [32, 64, 128, 256])
@pytest.mark.parametrize(
    "times", [1 / 16, 1 / 4, 1 / 2, 1, 2, 4], ids=lambda times: f"{times}k"
)
def test_variance_of_fast(k, times):
    """At most .70 of J (1 - J) / k for sets of n <= k tokens, 1.05 of it for larger ones.

    The empirical variance is a mean of squared errors, and its standard error is their deviation over the root of
    the trials: 1 to 2 % of the formula here, of which four are allowed. What is measured is .50 to .61 up to n = k,
    and below .90 at 4 k.
    """
    n = max(5, round(k * times))
    for similarity in SIMILARITIES:
        sets, true = planted(
            n,
            *shape(n, similarity),
            trials=max(4000, min(10_000, 1_000_000 // n)),
            seed=k,
        )
        squares = (estimates(MinHasher(k, "fast"), sets) - true) ** 2
        formula = true * (1 - true) / k
        allowance = 4 * squares.std() / math.sqrt(len(squares))
        assert allowance < 0.1 * formula
        assert squares.mean() <= (0.70 if n <= k else 1.05) * formula + allowance


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_variance_of_classic_is_that_of_independent_functions(similarity):
    sets, true = planted(50, *shape(50, similarity), trials=4000)
    squares = (estimates(MinHasher(128, "classic"), sets) - true) ** 2
    allowance = 4 * squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - true * (1 - true) / 128) <= allowance


# Unions


@SCHEMES
@given(
    rows=st.lists(
        st.tuples(*[st.lists(st.integers(0, 2**64 - 1), max_size=40)] * 2), max_size=4
    ),
    k=st.integers(1, 70),
)
@settings(deadline=None)
def test_signature_of_a_union_is_the_minimum(scheme, rows, k):
    hasher = MinHasher(k, scheme)
    a, b, either = (
        hasher.sketch(TokenSets.from_sets(part))
        for part in (
            [a for a, _ in rows],
            [b for _, b in rows],
            [{*a, *b} for a, b in rows],
        )
    )
    assert np.array_equal(np.minimum(a, b), either)
    assert np.array_equal(hasher.merge(a, b), either)


@SCHEMES
def test_signature_of_a_large_union_is_the_minimum(scheme):
    tokens = np.random.default_rng(1).integers(0, 2**64, 30_000, dtype=np.uint64)
    sets = TokenSets.from_sets([tokens[:20_000], tokens[10_000:], tokens])
    a, b, either = MinHasher(256, scheme).sketch(sets)
    assert np.array_equal(np.minimum(a, b), either)


def test_only_token_sets_are_sketched():
    with pytest.raises(
        TypeError, match=r"sets must be TokenSets \(see TokenSets.from_sets\), not list"
    ):
        MinHasher().sketch([[1, 2]])


# Meeting in a band


@SCHEMES
@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize("similarity", [0.3, 0.4, 0.5, 0.6, 0.7])
def test_candidates_follow_the_s_curve(scheme, n, similarity):
    """Exactly so for independent slots; those of `fast` hinder each other and make the curve a little steeper."""
    bands, trials = Bands(20, 5), 10_000
    sets, true = planted(n, *shape(n, similarity), trials=trials)
    expected = 1 - (1 - true**5) ** 20
    found = share_met(MinHasher(100, scheme), bands, sets)
    allowed = (
        0.02 if scheme == "fast" else 4 * math.sqrt(expected * (1 - expected) / trials)
    )
    assert abs(found - expected) <= allowed


# Sets of equal size whose similarity is the threshold to the last bit: 2 t / (1 + t) of each is
# shared.
AT_THRESHOLD = pytest.mark.parametrize(
    ("threshold", "n"),
    [
        (t, times * n)
        for t, n in [(0.5, 3), (0.7, 17), (0.8, 9), (0.9, 19)]
        for times in (1, 10, 60)
    ],
)


def at_threshold(threshold, n, trials):
    exact = Fraction(str(threshold))
    common = 2 * exact / (1 + exact) * n
    assert common.denominator == 1
    sets, true = planted(n, int(common), n - int(common), trials)
    assert true == threshold
    return sets


@SCHEMES
@AT_THRESHOLD
def test_recall_at_the_threshold_is_as_promised(scheme, threshold, n):
    recall, trials = 0.95, 4000
    bands = choose_bands(threshold, 128, recall=recall)
    found = share_met(MinHasher(128, scheme), bands, at_threshold(threshold, n, trials))
    assert found >= recall - 4 * math.sqrt(recall * (1 - recall) / trials)
    # What a run's summary says, and more than was asked for.
    said = float(bands.probability(threshold))
    assert said >= recall
    assert found >= said - 4 * math.sqrt(said * (1 - said) / trials)


# A look at the signatures before the sets


@SCHEMES
@AT_THRESHOLD
def test_screen_keeps_pairs_at_the_threshold(scheme, threshold, n):
    """One in 10**6 may go; of 4,000 none does."""
    trials = 4000
    signatures = MinHasher(128, scheme).sketch(at_threshold(threshold, n, trials))
    i = np.arange(0, 2 * trials, 2)
    assert screen(signatures, i, i + 1, threshold).all()


@pytest.mark.parametrize("k", [1, 5, 128, 300])
@pytest.mark.parametrize("threshold", ["0.05", "0.5", "0.8", "0.95", "1"])
def test_screen_asks_for_the_agreement_that_the_binomial_tail_allows(k, threshold):
    """A pair goes if its agreement or less is seen at the threshold with probability 10**-6 at most."""
    rows = np.arange(1, k + 2, dtype=np.uint64)[:, None] * np.ones(k, np.uint64)
    rows[np.tril_indices(k + 1, -1, k)] = (
        0  # row a agrees with the last one, all 0, in its first a slots
    )
    agreement = np.arange(k + 1)
    stays = screen(rows, agreement, np.full(k + 1, k), float(threshold))
    t, tail = Fraction(threshold), Fraction(0)
    for a in range(k + 1):
        tail += math.comb(k, a) * t**a * (1 - t) ** (k - a)
        assert stays[a] == (tail > Fraction(1, 10**6))


# The war story: h(x) = (a x mod p) mod 2^8 of keys that are divisible by 8


def before_mixing(values):
    """Return the tokens that mix64 takes to these values: what the kernels multiply is then the values themselves."""
    x = values ^ values >> np.uint64(31) ^ values >> np.uint64(62)
    x = x * np.uint64(pow(0x94D049BB133111EB, -1, 2**64))
    x = x ^ x >> np.uint64(27) ^ x >> np.uint64(54)
    x = x * np.uint64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
    return x ^ x >> np.uint64(30) ^ x >> np.uint64(60)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_products_keep_all_residues(seed):
    keys = np.arange(8, 8 * 20_001, 8, dtype=np.uint64)
    offsets, prime = np.arange(len(keys) + 1), np.uint64(2**64 - 59)

    wrapped = (
        np.uint64(draw(seed, Domain.CLASSIC, 0) | 1) * keys % prime % np.uint64(256)
    )
    assert len(np.unique(wrapped)) == 32

    a = multiplier(draw(seed, Domain.CLASSIC, 0))
    b = draw(seed, Domain.CLASSIC, 1) % P
    out = np.empty((len(keys), 1), np.uint64)
    kernels.classic(
        offsets, before_mixing(keys), *kernels.classic_constants(seed, 1), out
    )
    assert out[:, 0].tolist() == [(a * x + b) % P for x in keys.tolist()]
    assert len(np.unique(out % np.uint64(256))) == 256

    signatures = MinHasher(1, "classic", seed).sketch(TokenSets(offsets, keys))
    assert len(np.unique(signatures % np.uint64(256))) == 256
