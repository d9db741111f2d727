"""Bit sampling and covering: their values, distances, collisions, guarantee and errors."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import LSHIndex, SimHasher, TokenSets
from lshfast.families import BitSampling, Covering
from tests.families.laws import check_description, check_law
from tests.reference import families_bits as reference
from tests.reference import minhash, simhash
from tests.reference.hashing import MASK64

WIDTHS = st.sampled_from([1, 2, 5, 63, 64, 65, 96, 128, 130])


def packed(codes, bits):
    """Return codes, Python integers, as words."""
    return np.array(
        [[code >> 64 * w & MASK64 for w in range(-(-bits // 64))] for code in codes],
        np.uint64,
    ).reshape(len(codes), -(-bits // 64))


@st.composite
def codes_of(draw):
    bits = draw(WIDTHS)
    return bits, draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=5))


# Values


@settings(max_examples=40)
@given(
    items=codes_of(),
    seed=st.integers(0, MASK64),
    count=st.sampled_from([1, 5, 64, 65, 130]),
)
def test_sampled_bits(level, items, seed, count):
    bits, codes = items
    family = BitSampling(bits, seed)
    expected = [
        [reference.sampled_bit(code, bits, seed, j) for j in range(count)]
        for code in codes
    ]
    assert family.hash(packed(codes, bits), count).tolist() == expected
    words, without = family.codes(packed(codes, bits), count)
    assert without is None
    assert words.tolist() == [simhash.words_of(row) for row in expected]
    assert family.positions(count).tolist() == [
        reference.scaled(reference.draw(seed, reference.BIT_SAMPLING, j), bits)
        for j in range(count)
    ]


@settings(max_examples=40)
@given(
    items=codes_of(),
    seed=st.integers(0, MASK64),
    shape=st.sampled_from([(1, 1), (3, 21), (2, 63), (2, 64), (1, 70)]),
)
def test_buckets_of_sampled_bits(items, seed, shape):
    (bits, codes), (bands, rows) = items, shape
    found = BitSampling(bits, seed).buckets(packed(codes, bits), bands, rows).tolist()
    for code, buckets in zip(codes, found, strict=True):
        values = [
            reference.sampled_bit(code, bits, seed, j) for j in range(bands * rows)
        ]
        groups = [
            values[start : start + rows] for start in range(0, bands * rows, rows)
        ]
        right = [reference.bucket_of_bits(group) for group in groups]
        assert buckets == (
            minhash.band_keys(values, bands, rows) if rows > 63 else right
        )


@pytest.mark.few_cases
@settings(max_examples=40)
@given(items=codes_of(), seed=st.integers(0, MASK64), radius=st.integers(0, 4))
def test_covered_codes(level, items, seed, radius):
    bits, codes = items
    family = Covering(bits, radius, seed)
    expected = [
        [reference.covering(code, bits, radius, seed, j) for j in range(family.tables)]
        for code in codes
    ]
    assert family.hash(packed(codes, bits), family.tables).tolist() == expected
    assert family.buckets(packed(codes, bits), family.tables, 1).tolist() == expected


def test_many_items_and_threads():
    codes = np.random.default_rng(1).integers(0, 2**64, (3000, 3), np.uint64)
    for family in (BitSampling(192), Covering(192, 5)):
        whole = family.hash(codes, 63, threads=1)
        assert (family.hash(codes, 63, threads=3) == whole).all()
        assert (
            np.concatenate([family.hash(codes[i : i + 7], 63) for i in range(0, 70, 7)])
            == whole[:70]
        ).all()


# Distances


@given(items=codes_of(), other=st.integers(0))
def test_hamming_distances(items, other):
    bits, codes = items
    other %= 2**bits
    expected = [(code ^ other).bit_count() for code in codes]
    for family in (BitSampling(bits), Covering(bits, 1)):
        one, rows = packed([other], bits), packed(codes, bits)
        assert family.distance(one, rows).tolist() == expected
        assert family.distance(rows, one[0]).tolist() == expected
        assert (
            family.distance(rows, np.repeat(one, len(codes), axis=0)).tolist()
            == expected
        )


def test_codes_of_all_ones_are_codes():
    """SimHasher gives them to empty sets; here they are codes as others are."""
    codes = SimHasher().sketch(TokenSets.from_sets([[], []]))
    assert BitSampling(64).distance(codes[0], codes).tolist() == [0, 0]
    assert BitSampling(64).collide(codes[0], codes, 5).all()


# Collisions


@pytest.mark.parametrize("bits", [64, 100])
def test_a17_collisions_of_bit_sampling(level, bits):
    distances = [0, 1, bits // 3, bits // 2, 2 * bits // 3, bits - 1, bits]
    check_law(
        BitSampling(bits, 5),
        packed([0], bits),
        packed([2**d - 1 for d in distances], bits),
        8192,
    )


def test_a17_distances_of_a_third():
    family = BitSampling(99)
    assert (family.collision_probability(np.arange(34)) >= 2 / 3 - 1e-15).all()
    assert (family.collision_probability(np.arange(66, 100)) <= 1 / 3 + 1e-15).all()


def test_amplified_bit_sampling_has_its_exact_curve():
    """Positions are drawn with repetition: 8 functions of 12 bits agree with probability (1 - d / 12)**8."""
    bits, count = 12, 20_000
    family = BitSampling(bits, 3).and_(8)
    for distance in (1, 2, 3):
        share = family.collide(
            packed([0], bits), packed([2**distance - 1], bits), count
        ).mean()
        expected = (1 - distance / bits) ** 8
        assert family.collision_probability(distance) == pytest.approx(expected)
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / count)


def test_f23_there_are_as_many_functions_as_bits():
    """Ex 3.7.1 of MMDS: in which functions the pairs of 000000, 110011, 010101, 011100 agree."""
    vectors = ["000000", "110011", "010101", "011100"]
    codes = packed([int(v[::-1], 2) for v in vectors], 6)
    family = BitSampling(6, 1)
    positions = family.positions(200)
    assert set(positions.tolist()) == set(range(6))
    agreed = [
        {int(i) + 1 for i in positions[family.collide(codes[a], codes[b], 200)[0]]}
        for a, b in combinations(range(4), 2)
    ]
    assert agreed == [{3, 4}, {1, 3, 5}, {1, 5, 6}, {2, 3, 6}, {2}, {1, 2, 4, 5}]


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("distance", [1, 2, 3, 5])
def test_collisions_of_a_covering(distance):
    """The functions of one covering depend on each other; coverings with different seeds do not."""
    a, b = packed([0], 40), packed([2**distance - 1], 40)
    families = [Covering(40, 2, seed) for seed in range(700)]
    shares = np.array(
        [family.collide(a, b, family.tables).mean() for family in families]
    )
    expected = families[0].collision_probability(distance)
    assert expected == 2.0**-distance
    assert abs(shares.mean() - expected) < 4 * shares.std() / np.sqrt(len(shares))


# The guarantee of a covering


@pytest.mark.parametrize("radius", [0, 1, 2, 3])
def test_a_covering_has_no_false_negatives(radius):
    """All pairs of codes within the radius that differ in given bits, for all sets of these, and many seeds."""
    bits = 11
    differences = [
        sum(1 << i for i in chosen)
        for size in range(radius + 1)
        for chosen in combinations(range(bits), size)
    ]
    for seed in range(60):
        family = Covering(bits, radius, seed)
        code = seed * 31 % 2**bits
        close = packed([code ^ difference for difference in differences], bits)
        assert (
            family.collide(packed([code], bits), close, family.tables).any(axis=1).all()
        )


@settings(max_examples=40)
@given(st.data())
def test_a_covering_of_long_codes_has_no_false_negatives(data):
    bits, radius = data.draw(WIDTHS), data.draw(st.integers(0, 6))
    code = data.draw(st.integers(0, 2**bits - 1))
    flipped = data.draw(st.sets(st.integers(0, bits - 1), max_size=radius))
    family = Covering(bits, radius, data.draw(st.integers(0, MASK64)))
    other = code ^ sum(1 << i for i in flipped)
    assert family.collide(
        packed([code], bits), packed([other], bits), family.tables
    ).any()


def test_an_index_of_a_covering_has_no_false_negatives():
    """All codes within the radius of 500 queries are in the answers, and what is in them shares a bucket."""
    generator, family = np.random.default_rng(3), Covering(128, 3, 7)
    codes = generator.integers(0, 2**64, (500, 2), np.uint64)
    queries = codes.copy()
    for query in queries:
        for place in generator.choice(
            128, generator.integers(0, 4), replace=False
        ).tolist():
            query[place // 64] ^= np.uint64(1 << place % 64)
    index = LSHIndex(family=family, bands=family.tables)
    index.insert(range(500), codes)
    assert all(key in found for key, found in enumerate(index.query(queries)))
    index.remove(range(0, 500, 2))
    found = index.query(queries)
    assert all((key in keys) == key % 2 for key, keys in enumerate(found))


def test_codes_beyond_the_radius_collide_by_chance_only():
    """With half of the bits flipped, 7 functions collide with probability 2**-32 each."""
    family = Covering(64, 2)
    codes = np.random.default_rng(2).integers(0, 2**64, (2, 2000, 1), np.uint64)
    assert not family.collide(codes[0], codes[1], family.tables).any()


# Descriptions and errors


def test_descriptions():
    assert (
        check_description(BitSampling(96, 7))
        == '{"bits":96,"family":"bit-sampling","seed":7}'
    )
    assert (
        check_description(Covering(96, 3))
        == '{"bits":96,"family":"covering","radius":3,"seed":1}'
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: BitSampling(0), ValueError, "bits must be in 1..16777216"),
        (lambda: BitSampling(6.0), TypeError, "bits must be an int"),
        (lambda: Covering(2**16 + 1, 1), ValueError, "bits must be in 1..65536"),
        (lambda: Covering(64, 11), ValueError, "radius must be in 0..10"),
        (lambda: Covering(64, -1), ValueError, "radius must be in 0..10"),
        (
            lambda: Covering(64, 1).hash(packed([0], 64), 4),
            ValueError,
            "radius 1 has 3 functions, fewer than 4",
        ),
        (
            lambda: Covering(64, 1).buckets(packed([0], 64), 2, 2),
            ValueError,
            "has 3 functions",
        ),
        (
            lambda: BitSampling(64).hash(packed([0], 64), 0),
            ValueError,
            "count must be at least 1",
        ),
        (
            lambda: BitSampling(64).hash(packed([0], 64), True),
            TypeError,
            "count must be an int",
        ),
        (
            lambda: BitSampling(64).hash(packed([0], 128), 3),
            ValueError,
            r"items must have shape \(n, 1\)",
        ),
        (
            lambda: BitSampling(64).hash(np.zeros((1, 1, 1), np.uint64), 3),
            ValueError,
            r"not \(1, 1, 1\)",
        ),
        (
            lambda: BitSampling(64).hash([[1.0]], 3),
            TypeError,
            "items must be uint64, int64, .* not float64",
        ),
        (
            lambda: BitSampling(63).hash(packed([0, 2**63], 64), 3),
            ValueError,
            "zeros in bit 63 and above, but row 1",
        ),
        (
            lambda: BitSampling(64).distance(packed([0] * 2, 64), packed([0] * 3, 64)),
            ValueError,
            "not 2 and 3",
        ),
        (
            lambda: BitSampling(64).distance(packed([0], 64), np.zeros((1, 1))),
            TypeError,
            "b must be uint64",
        ),
        (
            lambda: BitSampling(64).collision_probability(65),
            ValueError,
            "distance must be in 0..64",
        ),
        (
            lambda: Covering(64, 1).collision_probability(-1),
            ValueError,
            "distance must be in 0..64",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
