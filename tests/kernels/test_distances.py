"""Distance kernels: every CPU level against the reference, bit for bit, and what they refuse."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import distances as kernel
from tests.reference import distances as reference

# Around the registers (2, 4, 8) and the lanes (32).
DIMS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 95, 96, 97, 768]
MEASURES = ["cosine", "euclidean", "manhattan"]
FLOATS = {"float32": np.float32, "float64": np.float64}

POINT = st.dictionaries(
    st.integers(0, 40), st.floats(0.5, 10, width=32), min_size=1, max_size=9
)

RNG = np.random.default_rng(5)


def squares(values, layout, dim):
    """Return the sums of squares, with the order of the kernel."""
    out = np.zeros(len(values))
    nothing = np.zeros((1, values.shape[1]), np.uint64)
    kernel.distances(nothing, values, "euclidean", layout, dim, out)
    return out


def packed(vectors, measure):
    """Return vectors, (n, dim), as the words of points."""
    n, dim = vectors.shape
    layout = vectors.dtype.name
    values = np.zeros((n, kernel.words_of("euclidean", layout, dim)), np.uint64)
    values.view(vectors.dtype)[:, :dim] = vectors
    return with_norms(values, layout, dim) if measure == "cosine" else values


def packed_sparse(points, dtype, most, measure):
    """Return a list of dicts, index -> value, as the words of points with up to `most` values."""
    layout, half = "sparse" + dtype.name[5:], most // 2 + most % 2
    values = np.zeros(
        (len(points), kernel.words_of("euclidean", layout, most)), np.uint64
    )
    for row, point in zip(values, points, strict=True):
        row[0] = len(point)
        row[1 : 1 + half].view(np.uint32)[: len(point)] = sorted(point)
        row[1 + half :].view(dtype)[: len(point)] = [
            value for _, value in sorted(point.items())
        ]
    return with_norms(values, layout, most) if measure == "cosine" else values


def with_norms(values, layout, dim):
    norms = squares(values, layout, dim)
    return np.hstack([norms.view(np.uint64)[:, np.newaxis], values])


def distances(a, b, measure, layout, dim):
    out = np.full(len(b), np.nan)
    kernel.distances(a, b, measure, layout, dim, out)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("measure", MEASURES)
def test_dense_points(level, measure, dtype):
    for dim in DIMS:
        vectors = (
            RNG.standard_normal((6, dim)) * 10 ** RNG.uniform(-3, 3, (6, 1))
        ).astype(FLOATS[dtype])
        words = packed(vectors, measure)
        right = [
            reference.dense(measure, x, y)
            for x, y in zip(vectors[:3].tolist(), vectors[3:].tolist(), strict=True)
        ]
        assert distances(words[:3], words[3:], measure, dtype, dim).tolist() == right, (
            dim
        )
        first = vectors[0].tolist()
        right = [reference.dense(measure, first, y) for y in vectors.tolist()]
        assert distances(words[:1], words, measure, dtype, dim).tolist() == right, dim
        assert right[0] == 0


@settings(max_examples=40)
@given(
    pairs=st.lists(
        st.tuples(st.floats(-1e75, 1e75), st.floats(-1e75, 1e75)),
        min_size=1,
        max_size=70,
    ),
    measure=st.sampled_from(["euclidean", "manhattan"]),
)
@example(pairs=[(0.0, -0.0)], measure="euclidean")
@example(pairs=[(5e-324, -5e-324)] * 33, measure="manhattan")
def test_any_numbers(level, pairs, measure):
    vectors = np.array(pairs).T.copy()
    words = packed(vectors, measure)
    found = distances(words[:1], words[1:], measure, "float64", len(pairs)).tolist()
    assert found == [reference.dense(measure, *vectors.tolist())]


@pytest.mark.few_cases
@settings(max_examples=40)
@given(
    points=st.lists(
        st.dictionaries(
            st.integers(0, 40), st.floats(0.5, 10, width=32), min_size=1, max_size=9
        ),
        min_size=2,
    ),
    measure=st.sampled_from(MEASURES),
    dtype=st.sampled_from([np.float32, np.float64]),
    most=st.integers(9, 12),
)
@example(
    points=[{2**32 - 1: 1.0}, {0: 1.0}], measure="manhattan", dtype=np.float64, most=9
)
def test_sparse_points(level, points, measure, dtype, most):
    dtype = np.dtype(dtype)
    words = packed_sparse(points, dtype, most, measure)
    right = [reference.sparse(measure, points[0], point) for point in points]
    assert (
        distances(words[:1], words, measure, "sparse" + dtype.name[5:], most).tolist()
        == right
    )


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 16, 17])
def test_bits(level, words):
    codes = RNG.integers(0, 2**64, (9, words), np.uint64)
    codes[1], codes[2] = 0, 2**64 - 1
    for first in range(3):
        right = [
            reference.hamming(codes[first].tolist(), code) for code in codes.tolist()
        ]
        assert (
            distances(
                codes[first : first + 1], codes, "hamming", "bits", words
            ).tolist()
            == right
        )


def test_sums_are_accurate():
    """The sums are those of exact arithmetic but for the rounding of doubles, also for floats."""
    vectors = RNG.standard_normal((2, 10_000)).astype(np.float32)
    found = distances(
        *packed(vectors, "euclidean")[:, np.newaxis], "euclidean", "float32", 10_000
    )
    exact = ((vectors[0].astype(np.longdouble) - vectors[1]) ** 2).sum()
    assert abs(found[0] - exact) <= 1e-14 * exact


def test_a_count_that_is_too_large_counts_as_the_most(level):
    """Damaged files may contain any count."""
    points = packed_sparse(
        [{0: 1.0, 1: 2.0}, {0: 1.0, 1: 5.0}], np.dtype(np.float64), 2, "manhattan"
    )
    points[:, 0] = 2**64 - 1
    assert distances(points[:1], points, "manhattan", "sparse64", 2).tolist() == [0, 3]


def test_unaligned_and_read_only_rows(level):
    words = packed(RNG.standard_normal((4, 37)), "cosine")
    shifted = (
        np.empty(words.nbytes + 1, np.uint8)[1:].view(np.uint64).reshape(words.shape)
    )
    shifted[:] = words
    shifted.flags.writeable = False
    right = distances(words[:1], words, "cosine", "float64", 37)
    assert (
        distances(shifted[:1], shifted, "cosine", "float64", 37).tolist()
        == right.tolist()
    )
    assert distances(words[:1], words[:0], "cosine", "float64", 37).tolist() == []


def test_what_is_refused():
    words = np.zeros((2, 3), np.uint64)
    for measure, layout in [
        ("hamming", "float32"),
        ("cosine", "bits"),
        ("L2", "float32"),
        ("cosine", "float16"),
    ]:
        with pytest.raises(
            ValueError,
            match=f"no measure '{measure}' of points with the layout '{layout}'",
        ):
            kernel.words_of(measure, layout, 3)
    for dim in (0, 2**31):
        with pytest.raises(ValueError, match=r"dim must be in 1\.\.2\*\*31 - 1"):
            kernel.words_of("euclidean", "float64", dim)
    with pytest.raises(ValueError, match="rows of 2 words, not of 3 and 3"):
        kernel.distances(words, words, "euclidean", "float64", 2, np.empty(2))
    with pytest.raises(ValueError, match="a must have 1 row or 2, as b has, not 0"):
        kernel.distances(words[:0], words, "euclidean", "float64", 3, np.empty(2))
    with pytest.raises(ValueError, match="out must have 2 elements"):
        kernel.distances(words, words, "euclidean", "float64", 3, np.empty(3))
    with pytest.raises(ValueError, match="out must be aligned"):
        kernel.distances(
            words,
            words,
            "euclidean",
            "float64",
            3,
            np.empty(17, np.uint8)[1:].view(np.float64),
        )


# ---- pairs of rows ----


def of_pairs(points, pairs, measure, layout, dim):
    """Return the distances of pairs, (row, row)."""
    out = np.full(len(pairs), np.nan)
    numbers = np.array([right << 32 | left for left, right in pairs], np.uint64)
    kernel.distances_of_pairs(points, numbers, measure, layout, dim, out)
    return out.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("measure", MEASURES)
def test_distances_of_pairs_are_those_of_rows(level, measure, dtype):
    for dim in (1, 7, 33, 768):
        words = packed(RNG.standard_normal((9, dim)).astype(FLOATS[dtype]), measure)
        pairs = [(left, right) for left in range(9) for right in range(9)]
        for count in (0, 1, 3, 4, 5, 81):  # rows are fetched four pairs before
            some = pairs[:count]
            rows = [
                np.array([pair[side] for pair in some], np.int64) for side in range(2)
            ]
            right = (
                distances(words[rows[0]], words[rows[1]], measure, dtype, dim).tolist()
                if some
                else []
            )
            assert of_pairs(words, some, measure, dtype, dim) == right


@pytest.mark.parametrize("words", [1, 4, 5])
def test_distances_of_pairs_of_codes(level, words):
    codes = RNG.integers(0, 2**64, (5, words), np.uint64)
    pairs = [(0, 4), (4, 0), (2, 2)]
    right = [
        float(reference.hamming(codes[i].tolist(), codes[j].tolist())) for i, j in pairs
    ]
    assert of_pairs(codes, pairs, "hamming", "bits", words) == right


def test_pairs_that_are_refused():
    points = np.zeros((3, 2), np.uint64)
    for pairs in ([(0, 3)], [(3, 0)], [(0, 1), (1, 2**32 - 1)], [(2**32 - 1, 0)]):
        with pytest.raises(
            ValueError,
            match=f"below 3, the number of points, unlike those of pair {len(pairs) - 1}",
        ):
            of_pairs(points, pairs, "euclidean", "float64", 2)
    with pytest.raises(ValueError, match="rows of 3 words, not of 2"):
        of_pairs(points, [(0, 1)], "euclidean", "float64", 3)
    with pytest.raises(
        ValueError, match="out must have 1 elements, one for each pair, not 2"
    ):
        kernel.distances_of_pairs(
            points, np.zeros(1, np.uint64), "euclidean", "float64", 2, np.empty(2)
        )
    with pytest.raises(ValueError, match="below 0"):
        of_pairs(points[:0], [(0, 0)], "euclidean", "float64", 2)
    with pytest.raises(ValueError, match="no measure 'L2'"):
        of_pairs(points, [], "L2", "float64", 2)
