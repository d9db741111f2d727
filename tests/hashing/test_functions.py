"""Hash functions: values, guarantees (over all functions of small primes, or as statistics), and what they refuse."""

import copy
import dataclasses
import pickle
from collections import Counter
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.hashing import (
    MixedTabulation,
    MultiplyAddShift,
    MultiplyShift,
    PolynomialHash,
    StronglyUniversal,
    WeaklyUniversal,
)
from lshfast.kernels import hashing as kernels
from tests.reference import hash_functions as reference

P = 2**61 - 1
WORDS = st.lists(
    st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, P, 2**63, 2**64 - 1]),
    max_size=20,
)
SEEDS = st.integers(0, 2**64 - 1)
FUNCTIONS = [
    WeaklyUniversal(100),
    StronglyUniversal(100),
    PolynomialHash(5, 100),
    MultiplyShift(7),
    MultiplyAddShift(100),
    MixedTabulation(100),
]


def values(keys, coefficients, prime, buckets):
    """Return the values of a polynomial with given coefficients, as the classes compute them."""
    out = np.empty(len(keys), np.uint64)
    assert (
        kernels.polynomial(
            np.array(keys, np.uint64),
            np.array(coefficients, np.uint64),
            prime,
            buckets,
            out,
        )
        == -1
    )
    return out.tolist()


@pytest.mark.slow
@given(
    WORDS,
    SEEDS,
    st.integers(1, 9),
    st.sampled_from([2, 3, 31, 65537, 2**32 - 5, P]),
    st.data(),
)
def test_polynomials(words, seed, k, prime, data):
    buckets = data.draw(st.integers(1, prime) | st.just(prime))
    keys = [word % prime for word in words]
    drawn = reference.coefficients(seed, k, prime)
    assert PolynomialHash(k, buckets, prime, seed).coefficients == tuple(drawn)
    expected = [reference.polynomial(drawn, x, prime, buckets) for x in keys]
    assert PolynomialHash(k, buckets, prime, seed).hash(keys).tolist() == expected
    weak = reference.weak_coefficients(seed, prime)
    expected = [reference.polynomial(weak, x, prime, buckets) for x in keys]
    assert WeaklyUniversal(buckets, prime, seed).hash(keys).tolist() == expected
    two = reference.coefficients(seed, 2, prime)
    expected = [reference.polynomial(two, x, prime, buckets) for x in keys]
    assert StronglyUniversal(buckets, prime, seed).hash(keys).tolist() == expected


def test_the_polynomial_of_extreme_coefficients():
    keys = [0, 1, 2, P - 2, P - 1] * 4
    for k in (1, 2, 3, 64):
        expected = [reference.polynomial([P - 1] * k, x, P, P) for x in keys]
        assert values(keys, [P - 1] * k, P, P) == expected


@given(WORDS, SEEDS, st.integers(1, 64), st.integers(1, 2**64) | st.just(2**64))
def test_functions_of_words(keys, seed, bits, buckets):
    expected = [reference.multiply_shift(seed, bits, x) for x in keys]
    assert MultiplyShift(bits, seed).hash(keys).tolist() == expected
    expected = [reference.multiply_add_shift(seed, buckets, x) for x in keys]
    assert MultiplyAddShift(buckets, seed).hash(keys).tolist() == expected
    expected = [reference.mixed_tabulation(seed, buckets, x) for x in keys]
    assert MixedTabulation(buckets, seed).hash(keys).tolist() == expected


@pytest.mark.parametrize(
    ("prime", "buckets"), [(2, 1), (5, 2), (11, 4), (31, 10), (31, 31)]
)
def test_a2_weakly_universal_over_all_functions(prime, buckets):
    collisions = Counter()
    for a in range(1, prime):
        for b in range(prime):
            images = values(range(prime), [a, b], prime, buckets)
            for x in range(prime):
                collisions.update((x, y) for y in range(x) if images[x] == images[y])
    for x in range(prime):
        for y in range(x):
            assert Fraction(collisions[x, y], prime * (prime - 1)) <= Fraction(
                1, buckets
            )
            if (
                buckets == prime
            ):  # e2: a x + b mod p has no collisions before the remainder
                assert collisions[x, y] == 0


@pytest.mark.parametrize(("prime", "buckets"), [(3, 2), (7, 3), (13, 13), (13, 4)])
def test_a2_strongly_universal_over_all_functions(prime, buckets):
    """All pairs (y1, y2) occur equally often, those with y1 = y2 included (e2)."""
    found = {(x1, x2): Counter() for x1 in range(prime) for x2 in range(x1)}
    for a in range(prime):
        for b in range(prime):
            images = values(range(prime), [a, b], prime, buckets)
            for (x1, x2), counter in found.items():
                counter[images[x1], images[x2]] += 1
    sizes = [len(range(y, prime, buckets)) for y in range(buckets)]
    expected = {
        (y1, y2): sizes[y1] * sizes[y2]
        for y1 in range(buckets)
        for y2 in range(buckets)
    }
    assert all(counter == expected for counter in found.values())


@pytest.mark.parametrize(("prime", "k"), [(5, 3), (5, 4), (7, 3)])
def test_polynomials_are_k_wise_independent_over_all_functions(prime, k):
    keys = [0, 1, 3, 4][:k]
    found = Counter()
    for number in range(prime**k):
        found[
            tuple(
                values(
                    keys, [number // prime**j % prime for j in range(k)], prime, prime
                )
            )
        ] += 1
    assert len(found) == prime**k
    assert set(found.values()) == {1}


PAIRS = [(0, 1), (1, 2), (0, 2**60), (12345, 12345 + 2**32), (P - 2, P - 1)]


@pytest.mark.one_case
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("family", "most"),
    [
        (lambda seed: WeaklyUniversal(64, seed=seed), 1 / 64),
        (lambda seed: StronglyUniversal(64, seed=seed), 1 / 64),
        (lambda seed: PolynomialHash(4, 64, seed=seed), 1 / 64),
        (lambda seed: MultiplyShift(6, seed=seed), 2 / 64),
        (lambda seed: MultiplyAddShift(64, seed=seed), 1 / 64),
    ],
)
def test_collisions_of_drawn_functions(family, most, pair):
    count = 2000
    collisions = sum(int(np.ptp(family(seed).hash(pair)) == 0) for seed in range(count))
    assert collisions / count <= most + 4 * sqrt(most / count)


@pytest.mark.one_case
@pytest.mark.parametrize("pair", [(0, 1), (0, 2**63), (2**64 - 2, 2**64 - 1)])
@pytest.mark.parametrize("kind", [MultiplyAddShift, StronglyUniversal])
def test_pairs_of_buckets_of_drawn_functions(kind, pair):
    count, buckets = 6000, 3
    pair = [x % P for x in pair] if kind is StronglyUniversal else pair
    found = Counter(
        tuple(kind(buckets, seed=seed).hash(pair).tolist()) for seed in range(count)
    )
    p = 1 / buckets**2
    for y1 in range(buckets):
        for y2 in range(buckets):
            assert abs(found[y1, y2] / count - p) < 4 * sqrt(p * (1 - p) / count)


def test_triples_of_buckets_of_mixed_tabulation():
    """Up to three keys that share most characters are independent; the four of a square have no constant xor."""
    count, keys = 1500, [0, 1, 256, 257]
    hashes = np.array([MixedTabulation(2, seed).hash(keys) for seed in range(count)])
    for bits in (1, 2, 3):
        for chosen in (range(0, bits), range(4 - bits, 4)):
            parity = hashes[:, list(chosen)].sum(axis=1) % 2
            assert abs(parity.mean() - 0.5) < 4 * 0.5 / sqrt(count)
    assert abs((hashes.sum(axis=1) % 2).mean() - 0.5) < 4 * 0.5 / sqrt(count)


@pytest.mark.parametrize(
    "f",
    [
        MultiplyAddShift(1000, 3),
        MixedTabulation(1000, 3),
        PolynomialHash(4, 1000, seed=3),
    ],
    ids=repr,
)
def test_buckets_of_structured_keys_are_even(f):
    """A chi-square of 1,000 buckets, on keys of which all but 16 bits are constant; it has 999 degrees of freedom."""
    keys = (np.arange(2**16, dtype=np.uint64) << np.uint64(20)) + np.uint64(5)
    counts = np.bincount(f.hash(keys).astype(np.int64), minlength=1000)
    mean = len(keys) / 1000
    assert ((counts - mean) ** 2 / mean).sum() < 999 + 6 * sqrt(2 * 999)


@pytest.mark.slow
def test_c3_minima_of_a_run_of_numbers():
    """Pr[0 comes first of 0..100] times 101: 2.07 for a x + b (c2), and about 1 for three and more coefficients."""
    count, keys = 20_000, np.arange(101, dtype=np.uint64)
    out = np.empty(101, np.uint64)
    for k, expected in ((2, 2.0694), (3, 1), (4, 1), (5, 1)):
        drawn = kernels.words(11, 61, 0, count * k).reshape(count, k) % np.uint64(P)
        firsts = 0
        for coefficients in drawn:
            kernels.polynomial(keys, coefficients, P, P, out)
            firsts += int(out.argmin()) == 0
        error = sqrt(expected / 101 / count)
        assert abs(firsts / count - expected / 101) < 4 * error


def test_minima_of_a_run_of_numbers_by_mixed_tabulation():
    count, keys = 1500, np.arange(16, dtype=np.uint64)
    firsts = [
        int(MixedTabulation(2**64, seed).hash(keys).argmin()) for seed in range(count)
    ]
    expected = count / 16
    assert (
        (np.bincount(firsts, minlength=16) - expected) ** 2 / expected
    ).sum() < 15 + 5 * sqrt(2 * 15)


def test_a2_the_fullest_of_n_bins():
    """The n keys' fullest bucket of n: ln n / ln ln n = 5.26 for 10**6, of the order that random functions have."""
    n = 10**6
    load = np.bincount(MixedTabulation(n, 5).hash(np.arange(n)).astype(np.int64)).max()
    assert np.log(n) / np.log(np.log(n)) == pytest.approx(5.26, abs=0.005)
    assert 5.26 < load < 3 * 5.26


def test_c13_products_that_are_not_wrapped():
    """Keys divisible by 8 reach all 256 buckets; a product that is wrapped at 2**64 reaches 32 of them."""
    keys = 8 * np.arange(20_000, dtype=np.uint64)
    a, _ = StronglyUniversal(256, seed=1).coefficients
    wrapped = keys * np.uint64(a | 1) % np.uint64(2**64 - 59) % np.uint64(256)
    assert len(set(wrapped.tolist())) == 32
    assert len(set(StronglyUniversal(256, seed=1).hash(keys).tolist())) == 256


def test_e10_2_to_64_minus_57_is_composite():
    n = 2**64 - 57
    assert pow(3, n - 1, n) != 1
    assert all(pow(base, 2**64 - 60, 2**64 - 59) == 1 for base in (2, 3, 5, 7))


@pytest.mark.parametrize("f", FUNCTIONS, ids=repr)
def test_functions_are_values(f):
    keys = np.arange(100)
    assert f == dataclasses.replace(f)
    assert hash(f) == hash(dataclasses.replace(f))
    other = dataclasses.replace(f, seed=2)
    assert f != other
    assert (f.hash(keys) != other.hash(keys)).any()
    for made in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert made == f
        assert (made.hash(keys) == f.hash(keys)).all()
    assert (
        dataclasses.replace(f, seed="random").seed
        != dataclasses.replace(f, seed="random").seed
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        f.buckets = 5


@pytest.mark.parametrize("f", FUNCTIONS, ids=repr)
def test_keys_of_all_kinds(f):
    expected = f.hash(np.array([0, 5, 7, 200], np.uint64)).tolist()
    for dtype in (np.uint8, np.int16, np.int64, ">u8"):
        assert f.hash(np.array([0, 5, 7, 200], dtype)).tolist() == expected
    assert f.hash((0, 5, 7, 200)).tolist() == expected
    assert (
        f.hash(np.repeat(np.array([0, 5, 7, 200], np.uint64), 2)[::2]).tolist()
        == expected
    )
    assert f.hash([]).shape == (0,)
    assert f.hash([]).dtype == np.uint64


@pytest.mark.parametrize("f", FUNCTIONS, ids=repr)
@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([1.5], TypeError, "keys must be integers"),
        (np.array([1.0]), TypeError, "keys must be integers, not float64"),
        ([True], TypeError, "keys must be integers"),
        (["1"], TypeError, "keys must be integers"),
        ([None], TypeError, "keys must be integers"),
        ([2, -1], ValueError, r"keys must be in 0..2\*\*64 - 1, not -1"),
        (
            [2**64],
            ValueError,
            r"keys must be in 0..2\*\*64 - 1, not 18446744073709551616",
        ),
        ([[1]], ValueError, "keys must have one dimension"),
        ([[1], [1, 2]], ValueError, "keys must be an array with rows of one length"),
        (5, ValueError, "keys must have one dimension"),
        ({1, 2}, TypeError, "keys must be an array or a sequence of integers, not set"),
        (iter([1]), TypeError, "not list_iterator"),
        ("12", TypeError, "not str"),
        (None, TypeError, "not NoneType"),
    ],
)
def test_keys_that_are_refused(f, keys, error, message):
    with pytest.raises(error, match=message):
        f.hash(keys)


def test_keys_above_the_prime_are_refused():
    with pytest.raises(ValueError, match="below the prime, 31, and key 2 is 31"):
        WeaklyUniversal(10, 31).hash([0, 30, 31, 32])
    for at in (0, 70_000, 199_999):
        keys = np.zeros(200_000, np.uint64)
        keys[at] = P
        with pytest.raises(ValueError, match=f"key {at} is {P}"):
            PolynomialHash(3, 10).hash(keys)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: WeaklyUniversal(0), ValueError, "buckets must be in 1.."),
        (
            lambda: WeaklyUniversal(32, 31),
            ValueError,
            "buckets must be in 1..31, not 32",
        ),
        (lambda: WeaklyUniversal(2.0), TypeError, "buckets must be an int"),
        (lambda: StronglyUniversal(5, 33), ValueError, "not 33, a multiple of 3"),
        (
            lambda: StronglyUniversal(5, 2**32 + 15),
            ValueError,
            r"prime must be 2\*\*61 - 1 or below",
        ),
        (lambda: StronglyUniversal(5, 1), ValueError, "prime must be in"),
        (lambda: PolynomialHash(0, 5), ValueError, r"k must be in 1..64, not 0"),
        (lambda: PolynomialHash(65, 5), ValueError, r"k must be in 1..64, not 65"),
        (lambda: MultiplyShift(0), ValueError, "bits must be in 1..64"),
        (lambda: MultiplyShift(65), ValueError, "bits must be in 1..64"),
        (lambda: MultiplyAddShift(2**64 + 1), ValueError, "buckets must be in"),
        (lambda: MixedTabulation(0), ValueError, "buckets must be in"),
        (lambda: MixedTabulation(5, -1), ValueError, "seed must be in"),
        (lambda: MixedTabulation(5, "x"), TypeError, "seed must be an int or 'random'"),
    ],
)
def test_functions_that_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_inputs_of_kernels_may_lie_anywhere():
    keys = np.random.default_rng(1).integers(0, P, 300, np.uint64)
    elsewhere = np.empty(keys.nbytes + 1, np.uint8)[1:].view(np.uint64)
    elsewhere[:] = keys
    elsewhere.flags.writeable = False
    for f in FUNCTIONS:
        assert (f.hash(elsewhere) == f.hash(keys)).all()


def test_kernels_check_their_arguments():
    keys, out = np.arange(3, dtype=np.uint64), np.empty(3, np.uint64)
    line, tables = np.zeros(4, np.uint64), np.zeros(kernels.TABLE_WORDS, np.uint64)
    spare = np.empty(25, np.uint8)[1:].view(np.uint64)
    for call, message in (
        (lambda: kernels.polynomial(keys, line, 31, 5, out[:2]), "out must have 3"),
        (
            lambda: kernels.polynomial(keys, line[:0], 31, 5, out),
            "coefficients must have",
        ),
        (
            lambda: kernels.polynomial(keys, line + np.uint64(31), 31, 5, out),
            "below the prime, 31, not 31",
        ),
        (lambda: kernels.polynomial(keys, line, 2**32, 5, out), "prime must be"),
        (
            lambda: kernels.polynomial(keys, line, 31, 32, out),
            "buckets must be in 1..31",
        ),
        (lambda: kernels.multiply_shift(keys, 2, 5, out), "a must be odd"),
        (lambda: kernels.multiply_shift(keys, 1, 65, out), "bits must be"),
        (lambda: kernels.multiply_shift(keys, 1, 5, spare), "out must be aligned"),
        (lambda: kernels.lines(keys, line[:3], 5, out), "line must have 4 words"),
        (lambda: kernels.tabulation(keys, tables[1:], 5, out), "tables must have"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
