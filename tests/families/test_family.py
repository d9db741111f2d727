"""The interface of families: collisions, buckets, descriptions, and their errors."""

import json
import re
from dataclasses import dataclass
from inspect import isabstract
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import TokenSets, families
from lshfast.families import (
    NO_VALUE,
    Amplified,
    BitFamily,
    BitSampling,
    CrossPolytope,
    Family,
    GaussianLines,
    GridSquares,
    Hyperplanes,
    MinHashFamily,
    PlaneLines,
    Probing,
    Sensitivity,
    SignVectors,
    SimHashFamily,
    UnaryBits,
    family_of,
)
from lshfast.families.draws import draw, following, scaled
from lshfast.families.family import joined
from tests.reference import hashing, minhash
from tests.reference.hashing import EMPTY, GOLDEN, MASK64

WORD64 = st.integers(0, MASK64)


@dataclass(frozen=True)
class Remainders(Family[list[int]]):
    """A family of the tests: numbers have the value of their remainder; odd ones have none."""

    name: ClassVar[str] = "tests-remainders"

    modulus: int
    value_bits = 8

    def hash(self, items, count, *, threads=None):
        values = np.array(items, np.uint64)[:, np.newaxis] % np.uint64(
            self.modulus
        ) + np.arange(count, dtype=np.uint64)
        values[np.array(items) % 2 == 1] = NO_VALUE
        return values

    def distance(self, a, b):
        return np.abs(np.subtract(a, b)).astype(float)

    def collision_probability(self, distance):
        return np.maximum(0, 1 - np.asarray(distance) / self.modulus)


# Values and buckets


def test_items_without_a_value_collide_with_nothing():
    family = Remainders(4)
    assert family.collide([0, 2, 1, 5], [4, 4, 1, 5], 2).tolist() == [
        [True] * 2,
        [False] * 2,
        [False] * 2,
        [False] * 2,
    ]
    assert family.buckets([1], 2, 3).tolist() == [[EMPTY, EMPTY]]
    assert family.collide([0], [4, 8, 2], 1).ravel().tolist() == [True, True, False]
    with pytest.raises(ValueError, match=r"same number of items.*not 2 and 3"):
        family.collide([0, 2], [0, 2, 4], 1)


def test_buckets_of_few_bits_are_the_values_side_by_side():
    assert Remainders(4).buckets([2], 2, 3).tolist() == [[0x040302, 0x070605]]
    assert Remainders(4).buckets([2], 3, 1).tolist() == [[2, 3, 4]]


@given(
    st.lists(
        st.lists(st.one_of(WORD64, st.just(EMPTY)), min_size=6, max_size=6), max_size=3
    )
)
def test_buckets_of_words_are_band_keys(rows):
    """A band without NO_VALUE has the key of the reference, also if the first function of the row has no value."""
    values = np.array(rows, np.uint64).reshape(-1, 6)
    kept = values.copy()
    keys = joined(values, 3, 64)
    assert (values == kept).all()
    for row, found in zip(rows, keys.tolist(), strict=True):
        alone = [
            minhash.band_keys([1, 1, 1, *row[3:]], 2, 3)[1],
            minhash.band_keys([*row[:3], 1, 1, 1], 2, 3)[0],
        ]
        assert found == [
            EMPTY if EMPTY in row[:3] else alone[1],
            EMPTY if EMPTY in row[3:] else alone[0],
        ]


def test_sixty_four_bits_together_are_hashed():
    values = np.full((1, 8), 255, np.uint64)
    assert joined(values, 8, 8).tolist() != [[MASK64]]
    assert joined(values, 8, 8)[0, 0] == minhash.band_keys([255] * 8, 1, 8)[0]


@pytest.mark.parametrize(
    ("family", "items"),
    [
        (MinHashFamily(), TokenSets([0, 2, 3], [5, 6, 7])),
        (SimHashFamily(), TokenSets([0, 2, 3], [5, 6, 7])),
        (GridSquares(9, 1), TokenSets([0, 2, 3], [5, 6, 7])),
        (BitSampling(64), np.array([[5], [6]], np.uint64)),
        (UnaryBits(9, 2), [[1, 2], [8, 9]]),
        (PlaneLines(0.1), np.eye(2)),
        (GaussianLines(2, 0.1), np.eye(2)),
        (Hyperplanes(2), np.eye(2)),
        (SignVectors(2), np.eye(2)),
        (CrossPolytope(2), np.eye(2)),
        (Hyperplanes(2).and_(100), np.eye(2)),
    ],
    ids=lambda value: value.name if isinstance(value, Family) else "",
)
def test_small_integers_of_numpy_count_as_others(family, items):
    """Their products, such as rows times the bits of a value, overflow."""
    few, many = np.uint8(4), np.uint8(200)
    assert (family.buckets(items, few, few) == family.buckets(items, 4, 4)).all()
    assert (family.buckets(items, few, many) == family.buckets(items, 4, 200)).all()
    assert (family.hash(items, many) == family.hash(items, 200)).all()
    if isinstance(family, BitFamily):
        assert (family.codes(items, many).words == family.codes(items, 200).words).all()
    if isinstance(family, Probing):
        assert (
            family.probe(items, few, np.uint8(70), few) == family.probe(items, 4, 70, 4)
        ).all()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_the_largest_distance_of_a_narrow_type_is_in_range(kind):
    for family in (Hyperplanes(3), SignVectors(3), CrossPolytope(3), SimHashFamily()):
        for amplified in (family, family.and_(3).or_(4)):
            assert amplified.collision_probability(kind(np.pi)) == pytest.approx(
                0, abs=2e-3
            )
            assert (
                amplified.collision_probability(np.array([0, np.pi], kind)).min() >= 0
            )
    assert BitSampling(70000).collision_probability(np.float16(7)) == 1 - 7 / 70000
    with pytest.raises(ValueError, match="distance must be in"):
        BitSampling(70000).collision_probability(np.float16(np.inf))


@pytest.mark.parametrize("arguments", [(0, 1), (1, 0), (-1, 2), (True, 1), (1.0, 2)])
def test_bands_and_rows_are_at_least_one(arguments):
    for family, items in (
        (BitSampling(64), np.zeros((1, 1), np.uint64)),
        (Remainders(3), [0]),
    ):
        with pytest.raises(
            (TypeError, ValueError), match=r"(bands|rows_per_band) must be"
        ):
            family.buckets(items, *arguments)


# Descriptions


def test_a_family_of_ones_own_is_known_by_its_name():
    assert Remainders(5).describe() == '{"family":"tests-remainders","modulus":5}'
    assert family_of(Remainders(5).describe()) == Remainders(5)
    assert Remainders(np.int64(5)).describe() == Remainders(5).describe()


def test_two_classes_cannot_have_one_name():
    with pytest.raises(
        ValueError, match=r"'minhash' already: lshfast.families.sets.MinHashFamily"
    ):

        class Other(Remainders):
            name = "minhash"

    assert family_of(MinHashFamily().describe()) == MinHashFamily()


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("", "not the description"),
        ("[]", "not the description"),
        ("7", "not the description"),
        ("{}", "not the description"),
        ("[" * 100_000, "not the description"),
        ('{"family":"minhash","seed":[]}', "not the description"),
        ('{"family":"minhash","sed":1}', "not the description"),
        ('{"family":"bit-sampling"}', "not the description"),
        ('{"family":"no-such-thing"}', "no family is called 'no-such-thing'"),
        ('{"family":["minhash"]}', "not the description"),
        ('{"family":"minhash","seed":-1}', "seed must be in"),
        ('{"family":"minhash","seed":"random"}', "seed is 'random' in the description"),
        ('{"family":"bit-sampling","bits":0}', "bits must be in"),
        (None, "not the description"),
    ],
)
def test_damaged_descriptions(description, message):
    with pytest.raises(ValueError, match=message):
        family_of(description)


def test_what_json_lacks_is_no_parameter():
    with pytest.raises(TypeError, match="complex cannot be a parameter"):
        Remainders(1j).describe()


def test_a_description_is_canonical():
    shuffled = json.dumps({"seed": 3, "bits": 64, "family": "bit-sampling"})
    assert (
        family_of(shuffled).describe() == '{"bits":64,"family":"bit-sampling","seed":3}'
    )


def test_the_pages_list_and_count_the_families():
    root = Path(__file__).parents[2]
    public = [getattr(families, name) for name in families.__all__]
    own = [
        each
        for each in public
        if isinstance(each, type) and issubclass(each, Family) and not isabstract(each)
    ]
    table = (
        (root / "docs" / "understand" / "families.md")
        .read_text(encoding="utf-8")
        .partition("## The families")[2]
    )
    rows = re.findall(r"^\| `(\w+)\(", table.partition("| class |")[0], re.MULTILINE)
    assert sorted(rows) == sorted(
        each.__name__ for each in own if each is not Amplified
    )
    assert len(rows) == 14


# Sensitivity


def test_f18_minhash():
    """Ex 3.17 of MMDS: (.3, .6, .7, .4)."""
    assert MinHashFamily().sensitivity(0.3, 0.6) == Sensitivity(0.3, 0.6, 0.7, 0.4)


def test_a18_hamming():
    """With c = 2 and r = N / 3, P1 = 1 - r / N = 2/3 and P2 = 1 - c r / N = 1/3."""
    assert BitSampling(300).sensitivity(100, 200) == pytest.approx(
        (100, 200, 2 / 3, 1 / 3)
    )


def test_c6_a_distance_that_is_a_similarity_reverses_the_inequalities():
    """E7: the family of Indyk's slides is sensitive to distances; J(A, B) itself is a similarity."""
    family, similarities = MinHashFamily(), np.linspace(0, 1, 11)
    probabilities = family.collision_probability(1 - similarities)
    assert (np.diff(probabilities) > 0).all()
    assert probabilities == pytest.approx(similarities)


@pytest.mark.parametrize(
    ("d1", "d2", "error"),
    [
        (1, 1, ValueError),
        (2, 1, ValueError),
        (-1, 1, ValueError),
        (0, float("nan"), ValueError),
        ("0", 1, TypeError),
    ],
)
def test_distances_of_a_sensitivity(d1, d2, error):
    with pytest.raises(error, match="must be"):
        BitSampling(64).sensitivity(d1, d2)


# Draws


@given(WORD64, st.integers(0, 100), st.integers(1, 20))
def test_draws(seed, domain, count):
    assert draw(seed, domain, count).tolist() == [
        hashing.draw(seed, domain, i) for i in range(count)
    ]
    words = draw(seed, domain, count)
    expected = [
        hashing.mix64((word + GOLDEN * domain) & MASK64) for word in words.tolist()
    ]
    assert following(words, domain).tolist() == expected


@given(st.lists(WORD64, max_size=9), st.integers(1, 2**63))
def test_scaled_words(words, limit):
    assert scaled(np.array(words, np.uint64), limit).tolist() == [
        word * limit >> 64 for word in words
    ]


def test_no_items():
    assert MinHashFamily().collide(
        TokenSets.from_sets([]), TokenSets.from_sets([]), 3
    ).shape == (0, 3)
    assert UnaryBits(3, 2).buckets(np.empty((0, 2), int), 4, 5).shape == (0, 4)
