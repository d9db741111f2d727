"""The families of sets: their values, distances, collisions and errors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import MinHasher, SimHasher, TokenSets, WeightedMinHasher, WeightedSets
from lshfast.families import MinHashFamily, SimHashFamily, WeightedMinHashFamily
from tests.conftest import csr
from tests.families.laws import check_description, check_law
from tests.reference import families_sets as reference
from tests.reference import minhash, sets, simhash, weighted
from tests.reference.families_bits import bucket_of_bits
from tests.reference.hashing import EMPTY, MASK64

TOKEN = st.one_of(st.integers(0, 5), st.integers(0, MASK64))
ROWS = st.lists(st.lists(TOKEN, max_size=6), min_size=1, max_size=4)
WEIGHT = st.one_of(st.integers(1, 4).map(float), st.floats(5e-324, 1.7e308))
WEIGHED = st.lists(
    st.dictionaries(st.integers(0, 4), WEIGHT, max_size=4), min_size=1, max_size=4
)


def sets_of(rows):
    return TokenSets(*csr(rows))


def weighted_of(rows):
    offsets, tokens = csr([list(row) for row in rows])
    return WeightedSets(
        offsets, tokens, [weight for row in rows for weight in row.values()]
    )


def overlapping(size, shares):
    """Return two lists of rows, of which pair i has the share of common tokens shares[i]."""
    rows = [
        (range(size), range(size - round(share * size), 2 * size - round(share * size)))
        for share in shares
    ]
    return sets_of([list(a) for a, _ in rows]), sets_of([list(b) for _, b in rows])


# Values


@settings(max_examples=30)
@given(rows=ROWS, seed=st.integers(0, MASK64))
def test_minhash_values(level, rows, seed):
    for scheme, signature in (("fast", minhash.fast), ("classic", minhash.classic)):
        family = MinHashFamily(scheme, seed)
        assert family.hash(sets_of(rows), 9).tolist() == [
            signature(row, 9, seed) for row in rows
        ]
        assert family.buckets(sets_of(rows), 2, 3).tolist() == [
            minhash.band_keys(signature(row, 6, seed), 2, 3) for row in rows
        ]


@pytest.mark.one_case
@settings(max_examples=15)
@given(rows=WEIGHED, seed=st.integers(0, MASK64))
def test_weighted_values(level, rows, seed):
    for scheme, signature in (("shells", weighted.shells), ("icws", weighted.icws)):
        found = WeightedMinHashFamily(scheme, seed).hash(weighted_of(rows), 5).tolist()
        assert found == [signature(row, 5, seed) for row in rows]


@settings(max_examples=30)
@given(
    rows=ROWS,
    seed=st.integers(0, MASK64),
    count=st.sampled_from([1, 7, 63, 64, 65, 130]),
)
def test_simhash_values(level, rows, seed, count):
    family = SimHashFamily(seed)
    expected = [reference.simhash_bits(row, count, seed) for row in rows]
    assert family.hash(sets_of(rows), count).tolist() == [
        bits or [EMPTY] * count for bits in expected
    ]
    words, without = family.codes(sets_of(rows), count)
    assert (without is not None and without.tolist()) == (
        None in expected and [bits is None for bits in expected]
    )
    assert words.tolist() == [
        simhash.words_of(bits or [0] * count) for bits in expected
    ]


@pytest.mark.parametrize(("bands", "rows"), [(5, 13), (1, 63), (3, 1), (2, 64)])
def test_buckets_of_simhash(level, bands, rows):
    items = [list(range(30)), [], [5]]
    family = SimHashFamily(3)
    found = family.buckets(sets_of(items), bands, rows).tolist()
    assert found[1] == [EMPTY] * bands
    for item, buckets in zip((items[0], items[2]), (found[0], found[2]), strict=True):
        bits = reference.simhash_bits(item, bands * rows, 3)
        groups = [bits[start : start + rows] for start in range(0, bands * rows, rows)]
        assert buckets == (
            minhash.band_keys(bits, bands, rows)
            if rows > 63
            else [bucket_of_bits(g) for g in groups]
        )


def test_sketches_are_items():
    rows = sets_of([[1, 2, 3], [], [7]])
    weights = weighted_of([{1: 0.5}, {}, {3: 2.0, 4: 1.0}])
    for family, items, widest in (
        (MinHashFamily("fast", 5), MinHasher(24, "fast", 5).sketch(rows), 24),
        (MinHashFamily("classic", 5), MinHasher(40, "classic", 5).sketch(rows), 24),
        (
            WeightedMinHashFamily("shells", 5),
            WeightedMinHasher(24, "shells", 5).sketch(weights),
            24,
        ),
        (
            WeightedMinHashFamily("icws", 5),
            WeightedMinHasher(40, "icws", 5).sketch(weights),
            24,
        ),
        (SimHashFamily(5), SimHasher(128, 5).sketch(rows), 100),
    ):
        whole = weights if isinstance(family, WeightedMinHashFamily) else rows
        assert (family.hash(items, widest) == family.hash(whole, widest)).all(), family
        assert (
            family.hash(np.asarray(items), widest) == family.hash(whole, widest)
        ).all(), family
        assert (family.hash(items[2], widest) == family.hash(items, widest)[2]).all(), (
            family
        )


# Distances


@given(a=ROWS, b=ROWS)
def test_jaccard_distances(a, b):
    a, b = a[: min(len(a), len(b))], b[: min(len(a), len(b))]
    family = MinHashFamily()
    expected = [float(1 - sets.jaccard(x, y)) for x, y in zip(a, b, strict=True)]
    assert family.distance(sets_of(a), sets_of(b)) == pytest.approx(expected, abs=1e-15)
    one = [float(1 - sets.jaccard(a[0], y)) for y in b]
    assert family.distance(sets_of(a[:1]), sets_of(b)) == pytest.approx(one, abs=1e-15)
    assert family.distance(sets_of(b), sets_of(a[:1])) == pytest.approx(one, abs=1e-15)


@given(a=WEIGHED, b=WEIGHED)
def test_weighted_distances(a, b):
    family, n = WeightedMinHashFamily(), min(len(a), len(b))
    expected = [
        float(reference.weighted_distance(x, y))
        for x, y in zip(a[:n], b[:n], strict=True)
    ]
    assert family.distance(weighted_of(a[:n]), weighted_of(b[:n])) == pytest.approx(
        expected, abs=1e-14
    )
    one = [float(reference.weighted_distance(a[0], y)) for y in b]
    assert family.distance(weighted_of(a[:1]), weighted_of(b)) == pytest.approx(
        one, abs=1e-14
    )


@given(a=ROWS, b=ROWS)
def test_angles(a, b):
    family, n = SimHashFamily(), min(len(a), len(b))
    expected = [reference.angle(x, y) for x, y in zip(a[:n], b[:n], strict=True)]
    assert family.distance(sets_of(a[:n]), sets_of(b[:n])) == pytest.approx(
        expected, abs=1e-14
    )


def test_pieces_of_large_rows(monkeypatch):
    monkeypatch.setattr("lshfast.families.set_distances.PIECE_TOKENS", 100)
    rows = [list(range(i, i + 30)) for i in range(20)]
    counts = weighted_of([dict.fromkeys(row, 1.0) for row in rows])
    assert WeightedMinHashFamily().distance(counts, counts) == pytest.approx(
        np.zeros(20)
    )
    first = weighted_of([dict.fromkeys(rows[0], 1.0)])
    expected = [1 - max(0, 30 - i) / (30 + min(i, 30)) for i in range(20)]
    assert WeightedMinHashFamily().distance(counts, first) == pytest.approx(expected)


def test_rows_that_begin_after_other_tokens():
    whole = sets_of([[9, 8], [1, 2, 3], [3, 4, 3]])
    part = TokenSets([2, 5, 8], [9, 8, 1, 2, 3, 3, 4, 3])
    for family in (MinHashFamily(), SimHashFamily()):
        assert (
            family.distance(part, part.take([1]))
            == family.distance(whole, whole.take([2]))[1:]
        ).all()
        assert (family.hash(part, 5) == family.hash(whole, 5)[1:]).all()


# Collisions


@pytest.mark.parametrize("scheme", ["fast", "classic"])
def test_minhash_collisions(level, scheme):
    """`fast` slots are negatively correlated, so that their share varies less than that of independent ones."""
    check_law(
        MinHashFamily(scheme, 11),
        *overlapping(60, [0, 0.2, 0.5, 0.8, 0.9, 0.95, 1]),
        4096,
    )


@pytest.mark.parametrize("scheme", ["shells", "icws"])
def test_weighted_collisions(level, scheme):
    weights = np.random.default_rng(1).lognormal(0, 2, 12)
    rows = [dict(enumerate(weights.tolist()))] * 5
    others = [
        {t: w * factor**t for t, w in rows[0].items()}
        for factor in (1, 1.05, 1.3, 0.5, 30)
    ]
    check_law(
        WeightedMinHashFamily(scheme, 2), weighted_of(rows), weighted_of(others), 4096
    )


def test_simhash_collides_as_the_exact_law_of_signs_says(level):
    for common, own in ((0, 2), (2, 2), (3, 4), (12, 4)):
        row, other = list(range(common + own)), [*range(common), *range(100, 100 + own)]
        share = SimHashFamily(4).collide(sets_of([row]), sets_of([other]), 4096).mean()
        exact = 1 - float(simhash.probability_of_difference(common, own, own))
        assert abs(share - exact) < 4 * math.sqrt(exact * (1 - exact) / 4096)
    assert 1 - simhash.probability_of_difference(0, 2, 2) == 5 / 8


def test_simhash_collides_as_hyperplanes_do_where_rows_are_long(level):
    """The exact law of 300 tokens a row is within .02 of 1 - angle / pi."""
    a, b = overlapping(300, [0, 0.25, 0.5, 0.9, 0.99, 1])
    family = SimHashFamily(6)
    shares = family.collide(a, b, 4096).mean(axis=1)
    expected = family.collision_probability(family.distance(a, b))
    assert np.abs(shares - expected).max() < 0.02 + 4 * 0.5 / math.sqrt(4096)


def test_b9_the_two_formulas_of_simhash():
    """1 - angle / pi and (cos(angle) + 1) / 2 agree at 0, pi / 2 and pi, and differ most at .6901, by .10526."""
    angles = np.linspace(0, np.pi, 100_001)
    errors = (np.cos(angles) + 1) / 2 - SimHashFamily().collision_probability(angles)
    assert SimHashFamily().collision_probability(
        [0, np.pi / 2, np.pi]
    ) == pytest.approx([1, 0.5, 0])
    assert errors[[0, 50_000, 100_000]] == pytest.approx([0, 0, 0], abs=1e-12)
    assert errors.max() == pytest.approx(0.10526, abs=5e-6)
    assert angles[errors.argmax()] == pytest.approx(0.6901, abs=1e-4)


# Descriptions and errors


def test_descriptions():
    assert (
        check_description(MinHashFamily("classic", 7))
        == '{"family":"minhash","scheme":"classic","seed":7}'
    )
    check_description(WeightedMinHashFamily("icws", 2**64 - 1))
    check_description(SimHashFamily("random"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MinHashFamily("slow"), ValueError, "scheme must be"),
        (lambda: MinHashFamily(seed=-1), ValueError, "seed must be in"),
        (lambda: WeightedMinHashFamily("slow"), ValueError, "scheme must be"),
        (lambda: SimHashFamily(1.5), TypeError, "seed must be"),
        (lambda: MinHashFamily().hash(sets_of([[1]]), 0), ValueError, "count must be"),
        (lambda: MinHashFamily().hash([["a"]], 4), TypeError, "items must be uint64"),
        (
            lambda: MinHashFamily().hash(MinHasher(8).sketch(sets_of([[1]])), 4),
            ValueError,
            "num_perm = 4",
        ),
        (
            lambda: MinHashFamily("classic").hash(np.zeros((1, 3), np.uint64), 4),
            ValueError,
            "num_perm = 4",
        ),
        (
            lambda: MinHashFamily(seed=2).hash(MinHasher(4).sketch(sets_of([[1]])), 4),
            ValueError,
            "of seed 1; 2",
        ),
        (
            lambda: MinHashFamily().hash(SimHasher().sketch(sets_of([[1]])), 1),
            ValueError,
            "words of codes",
        ),
        (
            lambda: WeightedMinHashFamily().hash(sets_of([[1]]), 4),
            TypeError,
            "must be uint64",
        ),
        (
            lambda: SimHashFamily().hash(sets_of([[1]]), 4097),
            ValueError,
            "count must be in 1..4096",
        ),
        (
            lambda: SimHashFamily().hash(sets_of([[1]]), 0),
            ValueError,
            "count must be at least 1",
        ),
        (
            lambda: SimHashFamily().hash(np.zeros((1, 1), np.uint64), 65),
            ValueError,
            "at least 2 words",
        ),
        (lambda: SimHashFamily().hash(np.zeros((1, 1)), 5), TypeError, "uint64"),
        (
            lambda: SimHashFamily(2).hash(SimHasher().sketch(sets_of([[1]])), 5),
            ValueError,
            "seed 2",
        ),
        (
            lambda: MinHashFamily().distance(sets_of([[1]] * 2), sets_of([[1]] * 3)),
            ValueError,
            "not 2 and 3",
        ),
        (
            lambda: MinHashFamily().distance(
                np.zeros((1, 4), np.uint64), sets_of([[1]])
            ),
            TypeError,
            "not sketches",
        ),
        (
            lambda: SimHashFamily().distance([[1]], [[1]]),
            TypeError,
            "must be TokenSets",
        ),
        (
            lambda: WeightedMinHashFamily().distance(sets_of([[1]]), sets_of([[1]])),
            TypeError,
            "a must be WeightedSets",
        ),
        (
            lambda: MinHashFamily().collision_probability(1.1),
            ValueError,
            "distance must be in 0..1",
        ),
        (
            lambda: MinHashFamily().collision_probability(float("nan")),
            ValueError,
            "distance must be in 0..1",
        ),
        (
            lambda: SimHashFamily().collision_probability([-0.1]),
            ValueError,
            "distance must be in",
        ),
        (
            lambda: WeightedMinHashFamily().collision_probability("a"),
            TypeError,
            "distance must be numbers",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
