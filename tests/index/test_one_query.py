"""One query at a time: the answer is the one that the query has in a batch."""

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast import HammingIndex, NearNeighbors, kernels

KEYS = {"int": int, "str": str, "object": lambda i: (i, str(i))}


def index_of(points, keys, metric="angle", dtype="float32", radius=0.6, **options):
    """Return an index of codes, and the points that it was made of."""
    bound = {"threshold": np.cos(radius)} if metric == "cosine" else {"radius": radius}
    index = NearNeighbors(
        metric,
        **bound,
        dim=points.shape[1],
        n=max(1, len(points)),
        dtype=dtype,
        method="codes",
        **options,
    )
    index.insert([KEYS[keys](i) for i in range(len(points))], points)
    index.warns = False
    return index


def points_near(n, dim, dtype, seed, copies=2):
    """Return points in clusters, some of them equal."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((5, dim))
    points = centres[rng.integers(0, 5, n)] + 0.2 * rng.standard_normal((n, dim))
    points[rng.integers(0, n, n // 4)] = points[rng.integers(0, n, n // 4)]
    return points.astype(dtype)


@given(
    st.sampled_from(["angle", "cosine"]),
    st.integers(1, 90),
    st.sampled_from([1, 2, 7, 64, 100, 256, 300]),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([np.float16, np.float32, np.float64, ">f4", int, list]),
    st.sampled_from(list(KEYS)),
    st.sampled_from([1, 3, 10, 1000]),
    st.integers(0, 2**32),
)
@example("angle", 60, 64, "float32", np.float32, "str", 10, 1)
@example("angle", 60, 64, "float64", np.float32, "int", 10, 1)
@example("cosine", 60, 7, "float32", np.float64, "int", 1000, 1)
@settings(max_examples=6)
def test_one_point_is_answered_as_in_a_batch(
    metric, n, dim, stored, kind, keys, k, seed
):
    points = points_near(n, dim, np.float64, seed)
    index = index_of(points, keys, metric, stored)
    removed = range(0, n, 3)
    index.remove(KEYS[keys](removed[-1]))
    queries = points_near(6, dim, np.float64, seed + 1) * 4
    queries = queries.round().astype(int) + 1 if kind is int else queries
    queries[0] = points[0] if kind is not int else queries[0]
    rows = queries.tolist() if kind is list else queries.astype(kind)
    assert [index.query(row, k) for row in rows] == list(index.query(rows, k))
    assert [index.within(row) for row in rows] == list(index.within(rows))
    strided = np.repeat(np.asarray(rows), 2, axis=1)[:, ::2]
    assert [index.query(row, k, threads=1) for row in strided] == list(
        index.query(rows, k)
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", kernels.available())
def test_one_point_in_cells_is_answered_as_in_a_batch(level, tmp_path):
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((100, 24))
    points = centres[np.arange(40_000) % 100] + 0.1 * rng.standard_normal((40_000, 24))
    index = index_of(points.astype(np.float32), "int", radius=0.1)
    index.remove(range(0, 40_000, 7))
    index.insert(range(50_000, 50_500), points[:500] * 2)
    queries = (points[:40] + 0.02 * rng.standard_normal((40, 24))).astype(np.float32)
    with kernels.use(level):
        assert [index.query(row, 4) for row in queries] == list(index.query(queries, 4))


def test_one_point_of_an_index_in_a_file(tmp_path):
    points = points_near(500, 40, np.float32, 5)
    index_of(points[:400], "str").save(tmp_path / "index")
    with NearNeighbors.open(tmp_path / "index", "c") as index:
        index.warns = False
        index.insert([f"new {i}" for i in range(100)], points[400:])
        index.remove([str(i) for i in range(0, 400, 2)])
        queries = points[:30]
        assert [index.query(row) for row in queries] == list(index.query(queries))


def test_an_index_without_entries():
    index = NearNeighbors("angle", 0.5, dim=8, n=9, method="codes")
    assert index.query(np.ones(8, np.float32)) == []
    index.insert([1], np.ones((1, 8)))
    index.remove(1)
    assert index.query(np.ones(8, np.float32)) == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_that_are_refused_in_a_batch(dtype):
    index = index_of(points_near(50, 6, np.float32, 7), "int", dtype=dtype)

    def answer(query):
        try:
            return list(index.query(query))
        except ValueError as error:
            return str(error)

    for value in (np.nan, np.inf, -np.inf, 1e39, 1e76, 1e300, 0, 1e-200, 1e-30):
        for kind in (np.float32, np.float64):
            with np.errstate(over="ignore"):
                point = np.array([0, 0, value, 0, 0, 0]).astype(kind)
            batch = answer(point[np.newaxis])
            assert answer(point) == (batch[0] if isinstance(batch, list) else batch)


@pytest.mark.parametrize("k", [2**62 + 1, 2**64, 2**65])
def test_too_many_neighbors_are_refused_as_in_a_batch(k):
    points = points_near(20, 6, np.float32, 7)
    index = index_of(points, "int")
    for queries in (points, points[0]):
        with pytest.raises(ValueError, match=r"k must be in 1\.\.4611686018427387904"):
            index.query(queries, k)
        with pytest.raises(ValueError, match=r"k must be in 1\.\.4611686018427387904"):
            index.scan(queries, k)


def test_the_warning_of_single_queries_comes_from_the_caller():
    points = np.random.default_rng(1).standard_normal((1000, 16)).astype(np.float32)
    index = NearNeighbors("angle", 0.2, dim=16, n=1000, method="codes")
    index.insert(range(1000), points)
    with pytest.warns(UserWarning, match="queries found fewer than k=10") as warned:
        [index.query(point) for point in points[:100]]
    assert [warning.filename for warning in warned] == [__file__]


def test_threads_share_an_index():
    from concurrent.futures import ThreadPoolExecutor

    points = points_near(3000, 32, np.float32, 9)
    index = index_of(points, "int")
    right = list(index.query(points[:200], 5))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda row: index.query(row, 5), points[:200])) == right


@given(
    st.sampled_from([1, 5, 64, 70, 128, 256]),
    st.integers(0, 60),
    st.sampled_from([np.uint64, np.int64, ">u8"]),
    st.sampled_from(list(KEYS)),
    st.integers(0, 2**32),
)
@example(64, 60, np.uint64, "int", 1)
@settings(max_examples=10)
def test_one_code_is_answered_as_in_a_batch(bits, n, dtype, keys, seed):
    rng = np.random.default_rng(seed)
    words = -(-bits // 64)
    codes = rng.integers(0, 2**64, (n + 9, words), dtype=np.uint64)
    codes[:, -1] >>= np.uint64(-bits % 64)
    codes[n // 2 :] = codes[: n + 9 - n // 2] ^ np.uint64(1)
    index = HammingIndex(bits, radius=min(bits, 3))
    index.insert([KEYS[keys](i) for i in range(n)], codes[:n])
    index.remove([KEYS[keys](i) for i in range(0, n, 3)])
    queries = codes.astype(dtype, copy=False)
    for search in (index.query, index.within, partial(index.query, k=2)):
        assert [search(code) for code in queries] == list(search(queries[:, :]))
    assert [index.within(code, bits) for code in queries] == list(
        index.within(queries, bits)
    )


def test_one_code_among_blocks_is_answered_as_in_a_batch():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2**64, (30_000, 1), dtype=np.uint64)
    index = HammingIndex(64, radius=3)
    index.insert(range(20_000), codes[:20_000])
    index.insert(range(20_000, 30_000), codes[20_000:])
    index.remove(range(0, 30_000, 11))
    queries = codes[rng.integers(0, 30_000, 40)] ^ np.uint64(65)
    for search in (index.query, index.within, partial(index.within, radius=2)):
        assert [search(code) for code in queries] == list(search(queries))


@pytest.mark.parametrize("bits", [5, 70])
def test_one_code_with_bits_beyond_is_refused(bits):
    index = HammingIndex(bits, radius=2)
    code = np.full(-(-bits // 64), 2**63, np.uint64)
    for search in (index.query, index.within):
        with pytest.raises(ValueError, match=f"zeros in bit {bits} and above"):
            search(code)
