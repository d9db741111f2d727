"""SimHasher and SignSketcher: their laws, their statistics, a textbook's numbers, and their errors."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import SimHasher, TokenSets
from lshfast.sketch import SignSketcher
from tests.conftest import csr
from tests.reference import simhash as reference
from tests.reference.hashing import MASK64

WORD64 = st.integers(0, MASK64)
TOKENS = st.lists(st.integers(0, 9), max_size=12)
EMPTY = [MASK64, MASK64]
ROWS = [[3, 1, 2], [], [MASK64], list(range(300)), [5, 5, 6], [5, 6, 5]]


def sets_of(rows):
    return TokenSets(*csr(rows))


# SimHasher


@pytest.mark.parametrize("bits", [64, 128, 192])
def test_simhasher(level, bits):
    hasher = SimHasher(bits, seed=9)
    counters = [reference.counters(row, bits // 64, 9) for row in ROWS]
    codes = hasher.sketch(sets_of(ROWS))
    assert codes.dtype == np.uint64
    assert codes.tolist() == [reference.code(row) for row in counters]
    assert hasher.counters(sets_of(ROWS)).tolist() == counters
    assert hasher.codes_of(hasher.counters(sets_of(ROWS))).tolist() == codes.tolist()
    assert hasher.words == bits // 64


@settings(max_examples=40)
@given(
    rows=st.lists(
        st.lists(st.tuples(WORD64, st.integers(-4, 2**40)), max_size=9), max_size=4
    ),
    seed=WORD64,
)
def test_weights(level, rows, seed):
    hasher = SimHasher(128, seed)
    sets = sets_of([[token for token, _ in row] for row in rows])
    weights = [weight for row in rows for _, weight in row]
    right = [
        reference.counters([t for t, _ in row], 2, seed, [w for _, w in row])
        for row in rows
    ]
    assert hasher.counters(sets, weights).tolist() == right
    assert hasher.sketch(sets, weights).tolist() == [
        reference.code(row) for row in right
    ]


@given(row=TOKENS, seed=WORD64)
def test_occurrences_are_weights(row, seed):
    hasher, sets = SimHasher(64, seed), sets_of([row])
    once = sets.distinct()
    counts = [row.count(token) for token in once.tokens.tolist()]
    assert hasher.counters(once, counts).tolist() == hasher.counters(sets).tolist()
    assert hasher.sketch(once, counts).tolist() == hasher.sketch(sets).tolist()


@pytest.mark.few_cases
@settings(max_examples=40)
@given(
    row=st.lists(WORD64, max_size=40),
    other=st.lists(WORD64, max_size=9),
    data=st.data(),
)
def test_order_pieces_and_what_came_and_went_do_not_matter(level, row, other, data):
    hasher = SimHasher(128)
    whole, mixed = hasher.counters(sets_of([row, data.draw(st.permutations(row))]))
    cut = data.draw(st.integers(0, len(row)))
    first, rest, guest = hasher.counters(sets_of([row[:cut], row[cut:], other]))
    assert mixed.tolist() == whole.tolist()
    assert hasher.merge(first, rest).tolist() == whole.tolist()
    assert hasher.merge(rest, first).tolist() == whole.tolist()
    both = hasher.merge(whole, guest)
    assert both.tolist() == hasher.counters(sets_of([row + other]))[0].tolist()
    assert hasher.subtract(both, guest).tolist() == whole.tolist()
    assert hasher.is_empty(hasher.codes_of(hasher.subtract(whole, whole)))


def test_zero_is_minus_and_all_zeros_are_empty():
    hasher = SimHasher(128)
    counters = np.zeros((4, 128), np.int64)
    counters[1, 3], counters[2, 70], counters[3] = -1, 1, 1
    codes = hasher.codes_of(counters)
    assert codes.tolist() == [EMPTY, [0, 0], [0, 1 << 6], [MASK64 - 1, MASK64]]
    assert hasher.is_empty(codes).tolist() == [True, False, False, False]
    # Tokens whose weights cancel are as good as none, and one whose weight is zero too.
    assert hasher.sketch(sets_of([[4, 4], [4]]), [1, -1, 0]).tolist() == [EMPTY, EMPTY]


def test_empty_rows_match_nothing():
    hasher = SimHasher(128)
    codes = hasher.sketch(sets_of([[], [], [1, 2, 3]]))
    assert hasher.is_empty(codes).tolist() == [True, True, False]
    assert hasher.is_empty(codes[0])
    table = hasher.distance(codes[:, None], codes)
    assert table.tolist() == [[129, 129, 129], [129, 129, 129], [129, 129, 0]]
    assert hasher.similarity(codes[:, None], codes).tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
    ]
    assert hasher.cosine(codes[:, None], codes).tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
    ]
    assert np.isnan(hasher.angle(codes[:, None], codes)).tolist() == [
        [1, 1, 1],
        [1, 1, 1],
        [1, 1, 0],
    ]


@pytest.mark.weekly
def test_threads_change_nothing():
    generator = np.random.default_rng(2)
    offsets = np.concatenate([[0], np.cumsum(generator.integers(0, 60_000, 60))])
    sets = TokenSets(offsets, generator.integers(0, 2**64, offsets[-1], np.uint64))
    weights = generator.integers(-5, 100, offsets[-1])
    hasher = SimHasher(128)
    for weighed in (None, weights):
        alone = hasher.sketch(sets, weighed, threads=1)
        counters = hasher.counters(sets, weighed, threads=1)
        assert hasher.codes_of(counters).tolist() == alone.tolist()
        for threads in (2, 5, None):
            assert (hasher.sketch(sets, weighed, threads=threads) == alone).all()
            assert (hasher.counters(sets, weighed, threads=threads) == counters).all()


def test_no_sets():
    hasher = SimHasher(128)
    codes = hasher.sketch(TokenSets([0], []))
    assert codes.shape == (0, 2)
    assert hasher.sketch(TokenSets([0], []), []).shape == (0, 2)
    assert hasher.counters(TokenSets([0, 0], []), []).tolist() == [[0] * 128]
    assert hasher.codes_of(hasher.counters(TokenSets([0], []))).shape == (0, 2)
    assert hasher.distance(codes, codes).shape == (0,)
    assert hasher.distance(codes, np.zeros(2, np.uint64)).shape == (0,)


def test_distances_one_by_one_and_broadcast():
    hasher = SimHasher(128)
    codes = hasher.sketch(sets_of([[i, i + 1, i + 2] for i in range(7)]))
    table = [
        [reference.distance(a, b, 128) for b in codes.tolist()] for a in codes.tolist()
    ]
    assert hasher.distance(codes[0], codes[1]) == table[0][1]
    assert hasher.distance(codes, codes).tolist() == [0] * 7
    assert hasher.distance(codes[2], codes).tolist() == table[2]
    assert hasher.distance(codes, codes[2]).tolist() == table[2]
    assert hasher.distance(codes[:, None], codes).tolist() == table
    assert hasher.distance(codes[:, None], codes[None, :1]).tolist() == [
        [row[0]] for row in table
    ]
    assert hasher.distance(codes[::2], codes[1::2][[0, 1, 2, 0]]).tolist() == [
        table[i][j] for i, j in ((0, 1), (2, 3), (4, 5), (6, 1))
    ]


# Statistics


@pytest.mark.parametrize(
    ("common", "alone"), [(51, 0), (45, 6), (25, 26), (0, 51), (1, 4), (1, 1), (0, 2)]
)
def test_distances_are_binomial(common, alone):
    """Each bit differs with the exact probability, and with angle / pi about, if the rows are long and without ties."""
    pairs, bits = 1500, 64
    tokens = np.random.default_rng(common).integers(
        0, 2**64, (pairs, common + 2 * alone), np.uint64
    )
    length = common + alone
    rows = np.concatenate(
        [tokens[:, :length], tokens[:, :common], tokens[:, length:]], axis=1
    )
    codes = SimHasher(bits, seed=3).sketch(
        TokenSets(np.arange(2 * pairs + 1) * length, rows.ravel())
    )
    distances = SimHasher(bits, seed=3).distance(codes[::2], codes[1::2])
    p = float(reference.probability_of_difference(common, alone, alone))
    variance = bits * p * (1 - p)
    assert abs(distances.mean() - bits * p) <= 4 * math.sqrt(variance / pairs)
    fourth = 3 * variance**2 + variance * (1 - 6 * p * (1 - p))
    assert abs(distances.var() - variance) <= 4 * math.sqrt(
        (fourth - variance**2) / pairs
    )
    if length == 51:
        assert abs(p - math.acos(common / length) / math.pi) < 0.01


def test_standard_errors():
    pairs, common, length = 400, 60, 101
    tokens = np.random.default_rng(5).integers(
        0, 2**64, (pairs, 2 * length - common), np.uint64
    )
    rows = np.concatenate(
        [tokens[:, :length], tokens[:, :common], tokens[:, length:]], axis=1
    )
    hasher = SimHasher(1024)
    codes = hasher.sketch(TokenSets(np.arange(2 * pairs + 1) * length, rows.ravel()))
    cosine, similarity = common / length, 1 - math.acos(common / length) / math.pi
    for found, true, error in (
        (
            hasher.similarity(codes[::2], codes[1::2]),
            similarity,
            hasher.similarity_error(similarity),
        ),
        (hasher.cosine(codes[::2], codes[1::2]), cosine, hasher.cosine_error(cosine)),
    ):
        # The ends of four standard errors, of a deviation of 400 normal values and of their mean.
        assert abs(found.std() / error - 1) < 4 / math.sqrt(2 * pairs)
        assert abs(found.mean() - true) < 4 * error / math.sqrt(pairs) + 0.003


def test_standard_errors_by_formula():
    hasher = SimHasher(256)
    assert hasher.similarity_error([0, 0.5, 1]).tolist() == [0, 0.5 / 16, 0]
    assert hasher.cosine_error(0.0) == pytest.approx(math.pi / 32)
    assert hasher.cosine_error([1, -1]).tolist() == [0, 0]
    step = 1e-6  # the error of the angle, times the slope of the cosine
    q = math.acos(0.3) / math.pi
    slope = (math.cos(math.pi * (q + step)) - math.cos(math.pi * (q - step))) / (
        2 * step
    )
    assert hasher.cosine_error(0.3) == pytest.approx(
        -slope * hasher.similarity_error(q)
    )


def test_drawn_signs_estimate_the_angle():
    generator = np.random.default_rng(11)
    sketcher = SignSketcher(200, 4096)
    a, b = generator.normal(size=(2, 12, 200))
    b += np.linspace(-3, 3, 12)[:, None] * a
    cosines = (
        (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    )
    similarity = 1 - np.arccos(cosines) / math.pi
    found = sketcher.similarity(sketcher.sketch(a), sketcher.sketch(b))
    assert (
        np.abs(found - similarity) < 4 * sketcher.similarity_error(similarity) + 0.002
    ).all()


# A textbook's ±1 sketches


def degrees(sketcher, x, y):
    return float(np.degrees(sketcher.angle(sketcher.sketch(x), sketcher.sketch(y))))


def test_f25_three_vectors(level):
    """The printed second dot product with x, 3, is 2; its sign is the same."""
    x, y = [3, 4, 5, 6], [4, 3, 2, 1]
    vectors = [[1, -1, 1, 1], [-1, 1, -1, 1], [1, 1, -1, -1]]
    for zero in ("minus", "plus", "random"):
        sketcher = SignSketcher.of_vectors(vectors, zero=zero)
        assert sketcher.dots(x).tolist() == [10, 2, -4]
        assert sketcher.dots(y).tolist() == [4, -2, 4]
        assert sketcher.signs(sketcher.sketch([x, y])).tolist() == [
            [1, 1, -1],
            [1, -1, 1],
        ]
        assert degrees(sketcher, x, y) == pytest.approx(120)
    assert np.dot(x, y) == 40
    assert np.linalg.norm([x, y], axis=1).tolist() == pytest.approx(
        [9.274, 5.477], abs=5e-4
    )
    cosine = 40 / np.prod(np.linalg.norm([x, y], axis=1))
    assert cosine == pytest.approx(0.7875, abs=5e-5)
    assert math.degrees(math.acos(cosine)) == pytest.approx(38.05, abs=5e-3)


ALL = list(product([1, -1], repeat=4))


@pytest.mark.parametrize("zero", ["minus", "plus"])
def test_f25_all_vectors(zero):
    x, y = [3, 4, 5, 6], [4, 3, 2, 1]
    sketcher = SignSketcher.of_vectors(ALL, zero=zero)
    assert sketcher.distance(sketcher.sketch(x), sketcher.sketch(y)) == 4
    assert degrees(sketcher, x, y) == pytest.approx(45)
    assert np.count_nonzero((sketcher.dots([x, y]) == 0).all(axis=0)) == 2


def test_f26(level):
    a, b, c = np.array([[2, 3, 4, 5], [-2, 3, -4, 5], [2, -3, 4, -5]])
    four = SignSketcher.of_vectors(
        [[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]]
    )
    assert four.dots([a, b, c]).tolist() == [
        [4, 6, 8, 10],
        [-8, 10, -4, 6],
        [8, -10, 4, -6],
    ]
    assert [degrees(four, *pair) for pair in ((a, b), (a, c), (b, c))] == pytest.approx(
        [90, 90, 180]
    )
    true = [math.degrees(math.acos(x @ y / 54)) for x, y in ((a, b), (a, c), (b, c))]
    assert true == pytest.approx([74.97, 105.03, 180], abs=5e-3)
    zeros = SignSketcher.of_vectors(ALL).dots([a, b, c]) == 0
    assert [
        np.count_nonzero(zeros[i] | zeros[j]) for i, j in ((0, 1), (0, 2), (1, 2))
    ] == [4, 4, 2]
    found = {
        zero: degrees(SignSketcher.of_vectors(ALL, zero=zero), b, c)
        for zero in ("minus", "plus", "random")
    }
    assert found == pytest.approx({"minus": 157.5, "plus": 157.5, "random": 180})


# SignSketcher


@pytest.mark.few_cases
@settings(max_examples=80)
@given(data=st.data(), zero=st.sampled_from(["minus", "plus", "random"]), seed=WORD64)
def test_given_vectors(level, data, zero, seed):
    dim = data.draw(st.integers(1, 6))
    bits = data.draw(st.integers(1, 130))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    vectors = generator.choice([-1, 1], (bits, dim))
    rows = data.draw(
        st.lists(
            st.lists(st.integers(-2, 2), min_size=dim, max_size=dim),
            min_size=1,
            max_size=3,
        )
    )
    sketcher = SignSketcher.of_vectors(vectors, zero=zero, seed=seed)
    assert sketcher.vectors.tolist() == vectors.tolist()
    dots = [reference.dots(row, vectors.tolist()) for row in rows]
    for x in (
        np.array(rows, np.int8),
        np.array(rows) / 2,
        np.array(rows, np.float32, order="F"),
    ):
        scale = 2 if x.dtype == np.float64 else 1
        assert (sketcher.dots(x) * scale).tolist() == dots
        codes = sketcher.sketch(x)
        assert codes.tolist() == [reference.code(row, zero, seed) for row in dots]
    assert (sketcher.sketch(rows[0]) == codes[0]).all()
    right = [
        [0] * bits if not any(row) else sketcher.signs(code).tolist()
        for row, code in zip(dots, codes, strict=True)
    ]
    assert sketcher.signs(codes).tolist() == right


@given(x=st.lists(st.integers(-2, 2), min_size=4, max_size=4), bits=st.integers(1, 130))
def test_random_zeros_keep_parallels_and_opposites(x, bits):
    vectors = np.random.default_rng(bits).choice([-1, 1], (bits, 4))
    sketcher = SignSketcher.of_vectors(vectors, zero="random")
    codes = sketcher.sketch([x, [3 * c for c in x], [-c for c in x]])
    if sketcher.is_empty(codes[0]):
        assert (codes == codes[0]).all()
    else:
        assert sketcher.distance(codes[0], codes[1]) == 0
        assert sketcher.distance(codes[0], codes[2]) == bits


def test_random_zeros_are_even():
    """Ones among 64 zeros that each of many vectors has, and what two vectors have in common there."""
    n, halves = 500, 64
    vectors = np.zeros((n, 2 + 20), np.int64)
    vectors[:, 2:] = np.random.default_rng(1).integers(1, 9, (n, 20))
    signs = np.random.default_rng(2).choice([-1, 1], (64 + halves, 22))
    signs[:halves, 2:] = np.tile([1, -1], 10)
    vectors[:, 2::2] = vectors[:, 3::2]
    sketcher = SignSketcher.of_vectors(signs, zero="random")
    assert (sketcher.dots(vectors)[:, :halves] == 0).all()
    drawn = sketcher.signs(sketcher.sketch(vectors))[:, :halves]
    assert abs(drawn.sum()) < 4 * math.sqrt(n * halves)
    assert abs((drawn[::2] * drawn[1::2]).sum()) < 4 * math.sqrt(n / 2 * halves)


@settings(max_examples=30)
@given(x=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=20), seed=WORD64)
def test_drawn_vectors_are_those_of_tokens(level, x, seed):
    sketcher, hasher = SignSketcher(len(x), 128, seed), SimHasher(128, seed)
    tokens = sets_of([range(len(x))])
    assert sketcher.dots(x).tolist() == hasher.counters(tokens, x)[0].tolist()
    assert sketcher.sketch(x).tolist() == hasher.sketch(tokens, x)[0].tolist()
    columns = [reference.vector(j, 2, seed) for j in range(len(x))]
    assert SignSketcher(len(x), 70, seed).vectors.T.tolist() == [
        column[:70] for column in columns
    ]


@pytest.mark.parametrize("dim", [1, 2, 3, 9, 48, 1000, 4097, 65537, 2**20 - 1])
def test_no_sum_of_floats_is_infinite(dim):
    sketcher = SignSketcher.of_vectors(np.ones((1, dim)))
    most = np.finfo(np.float64).max / dim
    near = np.full(dim, most * (1 - 2**-28))
    assert np.isfinite(sketcher.dots([near, -near])).all()
    with pytest.raises(ValueError, match="vectors must be in"):
        sketcher.dots(np.full(dim, most))  # for many dim the sum of these is infinite


def test_floats_are_summed_from_the_first_to_the_last(level):
    sketcher = SignSketcher.of_vectors([[1, 1, 1, 1], [1, 1, 1, -1], [1, -1, 1, 1]])
    assert sketcher.dots([1.0, 2.0**53, -(2.0**53), 1.0]).tolist() == [
        1.0,
        -1.0,
        -(2.0**54),
    ]
    x = np.random.default_rng(3).normal(size=(3, 500)) * 10.0 ** np.arange(500) ** 0.5
    drawn = SignSketcher(500, 100)
    assert drawn.dots(x).tolist() == [
        reference.dots(row, drawn.vectors.tolist()) for row in x.tolist()
    ]


def test_vectors_of_zeros_match_nothing():
    sketcher = SignSketcher(5, 70)
    codes = sketcher.sketch([[0] * 5, [0] * 5, [1, 2, 3, 4, 5]])
    assert sketcher.is_empty(codes).tolist() == [True, True, False]
    assert sketcher.distance(codes[:2], codes[1:]).tolist() == [71, 71]
    assert sketcher.signs(codes)[:2].tolist() == [[0] * 70] * 2
    assert sketcher.sketch(np.zeros((0, 5))).shape == (0, 2)
    assert sketcher.dots(np.zeros((0, 5))).shape == (0, 70)


def test_threads_change_no_signs():
    x = np.random.default_rng(2).integers(-3, 4, (9000, 100))
    sketcher = SignSketcher(100, 100, zero="random")
    alone = sketcher.sketch(x, threads=1)
    for threads in (2, 5, None):
        assert (sketcher.sketch(x, threads=threads) == alone).all()
        assert (
            sketcher.dots(x, threads=threads)
            == sketcher.dots(x.astype(float), threads=1)
        ).all()


# What is refused


def test_of_another_sketcher():
    sets = sets_of([[1, 2, 3]])
    hasher, other = SimHasher(64), SimHasher(64, seed=2)
    codes, counters = other.sketch(sets), other.counters(sets)
    assert codes[0].hasher == other
    for call in (hasher.is_empty, lambda found: hasher.distance(found, found)):
        with pytest.raises(
            ValueError,
            match=r"of SimHasher\(bits=64, seed=2\), not of SimHasher\(bits=64, seed=1\)",
        ):
            call(codes)
    for call in (
        hasher.codes_of,
        lambda found: hasher.merge(found, found),
        lambda found: hasher.subtract(found, found),
    ):
        with pytest.raises(ValueError, match="seed=2"):
            call(counters)
    with pytest.raises(
        ValueError,
        match=r"a are of SignSketcher\(dim=3, bits=64, seed=1, zero='minus'\), not of SimH",
    ):
        hasher.distance(SignSketcher(3).sketch([1, 2, 3]), codes[0])
    given = SignSketcher.of_vectors([[1, -1]])
    turned = SignSketcher.of_vectors([[-1, 1]])
    assert given == SignSketcher.of_vectors([[1.0, -1.0]])
    with pytest.raises(ValueError, match="are of"):
        given.distance(given.sketch([2, 1]), turned.sketch([2, 1]))
    assert type(codes == codes[0]) is np.ndarray
    assert hasher.distance(np.asarray(codes), np.asarray(codes)).tolist() == [
        0
    ]  # on trust


@pytest.mark.parametrize(
    "sketcher",
    [
        SimHasher(128, 3),
        SignSketcher(4, 9, 3, "plus"),
        SignSketcher.of_vectors([[1, -1]]),
    ],
)
def test_pickles(sketcher):
    again = pickle.loads(pickle.dumps(sketcher))
    assert again == sketcher
    assert hash(again) == hash(sketcher)
    if isinstance(sketcher, SimHasher):
        codes = sketcher.sketch(sets_of(ROWS))
        found = again.sketch(sets_of(ROWS))
    else:
        rows = np.arange(4 * sketcher.dim).reshape(4, -1)
        codes, found = sketcher.sketch(rows), again.sketch(rows)
    assert (found == codes).all()
    assert pickle.loads(pickle.dumps(codes)).hasher == sketcher


BITS = r"bits must be in 64\.\.4096, not "
SEED = r"seed must be "


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"bits": 0}, ValueError, BITS + "0"),
        ({"bits": -64}, ValueError, BITS + "-64"),
        ({"bits": 4160}, ValueError, BITS + "4160"),
        ({"bits": 100}, ValueError, "bits must be a multiple of 64, not 100"),
        ({"bits": 64.0}, TypeError, r"bits must be an int, not 64\.0"),
        ({"bits": True}, TypeError, "bits must be an int, not True"),
        ({"seed": -1}, ValueError, SEED + r"in 0\.\.2\*\*64 - 1, not -1"),
        (
            {"seed": 2**64},
            ValueError,
            SEED + r"in 0\.\.2\*\*64 - 1, not 18446744073709551616",
        ),
        ({"seed": 1.5}, TypeError, SEED + r"an int or 'random', not 1\.5"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        SimHasher(**arguments)


@pytest.mark.parametrize("call", ["sketch", "counters"])
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (
            [1.0, 2.0, 3.0],
            TypeError,
            "weights must be integers, not float64: multiply floats",
        ),
        ([True, False, True], TypeError, "weights must be integers, not bool"),
        (
            [1, 2],
            ValueError,
            r"weights must have one number per token, shape \(3,\), not \(2,\)",
        ),
        (
            [[1, 2, 3]],
            ValueError,
            r"weights must have one number per token, shape \(3,\), not \(1, 3\)",
        ),
        (
            5,
            ValueError,
            r"weights must have one number per token, shape \(3,\), not \(\)",
        ),
        (
            np.array([1, 2, 2**63], np.uint64),
            ValueError,
            "and one is 9223372036854775808",
        ),
        (
            [0, 2**62, 2**62],
            ValueError,
            r"less than 2\*\*63, but those of row 1 do not",
        ),
        ([1, -(2**63), 0], ValueError, r"less than 2\*\*63, but those of row 1 do not"),
    ],
)
def test_bad_weights_are_named(call, weights, error, message):
    with pytest.raises(error, match=message):
        getattr(SimHasher(), call)(sets_of([[1], [2, 3]]), weights)


@pytest.mark.parametrize("call", ["distance", "similarity", "angle", "cosine"])
@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (np.zeros(2, np.int64), TypeError, "must be uint64, not int64"),
        ([1, 2], TypeError, "must be uint64, not int"),
        (
            np.zeros(1, np.uint64),
            ValueError,
            r"must have 2 words a code, not shape \(1,\)",
        ),
        (np.uint64(1), ValueError, r"must have 2 words a code, not shape \(\)"),
    ],
)
def test_wrong_codes_are_named(call, side, wrong, error, message):
    right = np.zeros(2, np.uint64)
    with pytest.raises(error, match=f"{side} {message}"):
        getattr(SimHasher(128), call)(
            *((wrong, right) if side == "a" else (right, wrong))
        )


def test_wrong_counters_are_named():
    hasher, right = SimHasher(), np.zeros(64, np.int64)
    with pytest.raises(TypeError, match="counters must be int64, not float64"):
        hasher.codes_of(np.zeros(64))
    with pytest.raises(
        ValueError, match=r"b must have 64 counters a row, not shape \(63,\)"
    ):
        hasher.merge(right, right[1:])
    most, least = (np.full(64, end) for end in (2**63 - 1, -(2**63)))
    assert hasher.merge(most, least).tolist() == [-1] * 64
    assert hasher.subtract(least, least).tolist() == [0] * 64
    assert hasher.subtract(right - 1, least).tolist() == most.tolist()
    many = np.zeros((3, 64), np.int64)
    many[2, 5] = 1
    with pytest.raises(
        ValueError, match=r"a \+ b leaves -2\*\*63\.\.2\*\*63 - 1 at \(2, 5\)"
    ):
        hasher.merge(many, most)
    with pytest.raises(
        ValueError, match=r"a - b leaves -2\*\*63\.\.2\*\*63 - 1 at \(2, 5\)"
    ):
        hasher.subtract(least, many)
    with pytest.raises(ValueError, match=r"a - b leaves .* at \(0,\)"):
        hasher.subtract(right, least)


def test_wrong_sets_threads_and_values():
    with pytest.raises(
        TypeError, match=r"TokenSets \(see TokenSets\.from_sets\), not list"
    ):
        SimHasher().sketch([[1, 2]])
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        SimHasher().sketch(TokenSets([0], []), threads=0)
    for wrong in (-0.1, 1.5, math.nan):
        with pytest.raises(
            ValueError, match=rf"similarity must be in 0\.\.1, not {wrong}"
        ):
            SimHasher().similarity_error(wrong)
    with pytest.raises(ValueError, match=r"cosine must be in -1\.\.1, not -2"):
        SimHasher().cosine_error([0, -2])
    with pytest.raises(TypeError, match="cosine must be numbers, not "):
        SimHasher().cosine_error("0")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ValueError, r"dim must be in 1\.\.16777216, not 0"),
        ((1.0,), TypeError, r"dim must be an int, not 1\.0"),
        ((3, 0), ValueError, r"bits must be in 1\.\.4096, not 0"),
        ((3, 4097), ValueError, r"bits must be in 1\.\.4096, not 4097"),
        ((3, True), TypeError, "bits must be an int, not True"),
        ((3, 64, -1), ValueError, "seed must be"),
        (
            (3, 64, 1, "up"),
            ValueError,
            "zero must be 'minus', 'plus' or 'random', not 'up'",
        ),
    ],
)
def test_bad_sketchers_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        SignSketcher(*arguments)


@pytest.mark.parametrize(
    ("vectors", "error", "message"),
    [
        ([[1, -1], [1, 0]], ValueError, r"of \+1 and -1, and \(1, 1\) is 0"),
        ([[math.nan]], ValueError, r"and \(0, 0\) is nan"),
        ([1, -1], ValueError, r"shape \(bits, dim\), not \(2,\)"),
        ([["+"]], TypeError, "vectors must be numbers"),
        ([[True]], TypeError, "vectors must be numbers"),
        (np.zeros((0, 3)), ValueError, r"bits must be in 1\.\.4096, not 0"),
        (np.zeros((3, 0)), ValueError, r"dim must be in 1\.\.16777216, not 0"),
    ],
)
def test_bad_signs_are_named(vectors, error, message):
    with pytest.raises(error, match=message):
        SignSketcher.of_vectors(vectors)


@pytest.mark.parametrize("call", ["sketch", "dots"])
@pytest.mark.parametrize(
    ("vectors", "error", "message"),
    [
        ([1, 2, 3], ValueError, r"shape \(n, 2\) or \(2,\), not \(3,\)"),
        (np.zeros((1, 1, 2)), ValueError, r"not \(1, 1, 2\)"),
        ([[True, False]], TypeError, "integers or floats of up to 64 bits, not bool"),
        ([["1", "2"]], TypeError, "integers or floats of up to 64 bits"),
        ([[1, 2j]], TypeError, "not complex128"),
        ([[1, 2], [math.nan, 1]], ValueError, r"and \(1, 0\) is nan"),
        ([[1, math.inf]], ValueError, r"and \(0, 1\) is inf"),
        (
            [[1e308, 1.0]],
            ValueError,
            r"vectors must be in -8\.988e\+307\.\.8\.988e\+307, and \(0, 0\) is 1e\+308",
        ),
        ([[1, 2], [2**62, 2**62]], ValueError, "but those of row 1 do not"),
        (np.array([2**63, 0], np.uint64), ValueError, "and one is 9223372036854775808"),
    ],
)
def test_bad_vectors_are_named(call, vectors, error, message):
    with pytest.raises(error, match=message):
        getattr(SignSketcher(2), call)(vectors)
