"""`Store.search` against a search of all entries in Python, in memory, in files, in LMDB and in Redis."""

import numpy as np
import pytest

from lshfast.families import NO_VALUE
from lshfast.index.keys import as_column
from lshfast.index.measure import Measure, measure_of
from lshfast.index.stores import segments
from lshfast.index.stores.base import Store
from lshfast.index.stores.file import FileStore, save_store
from lshfast.index.stores.lmdb import LmdbStore
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.redis import RedisStore
from lshfast.index.stores.values import Limit, Neighbors, Parameters
from tests.index.redis_server import needs_redis, redis_server

__all__ = ["redis_server"]  # a fixture

BANDS, DIM = 4, 3
POINTS = Measure("manhattan", "float32", DIM)
FAMILY = '{"family":"test"}'
PARAMETERS = Parameters(
    BANDS, BANDS, 1, "", 0, None, "", FAMILY, POINTS.words, POINTS.text
)


def rows_of(generator, n, buckets=6):
    """Return n rows: buckets, some without a value, and points that often have the same distance."""
    rows = np.zeros((n, PARAMETERS.words), np.uint64)
    rows[:, :BANDS] = generator.integers(0, buckets, (n, BANDS))
    rows[:, :BANDS][generator.random((n, BANDS)) < 0.2] = NO_VALUE
    rows[:, BANDS:].view(np.float32)[:, :DIM] = generator.integers(0, 4, (n, DIM))
    return rows


def queries_of(generator, m, probes, buckets=6):
    rows = rows_of(generator, m, buckets)
    found = generator.integers(0, buckets, (m, BANDS, probes)).astype(np.uint64)
    found[generator.random(found.shape) < 0.2] = NO_VALUE
    return found, rows[:, BANDS:].copy()


def coordinates(words):
    return words.view(np.float32)[:DIM].astype(float)


def expected(entries, buckets, point, most, within):
    """Return (distance, key) of the neighbors, and how many entries share a bucket with the query."""
    met = [
        (float(np.abs(coordinates(row[BANDS:]) - coordinates(point)).sum()), key)
        for key, row in entries.items()
        if any(row[j] != NO_VALUE and row[j] in buckets[j] for j in range(BANDS))
    ]
    near = sorted(pair for pair in met if within is None or pair[0] <= within)
    return near[:most], len(met)


def check(store, entries, buckets, points, most=None, within=None, threads=1):
    """Compare answers, also of a search that has room for the answers of one query at a time."""
    compare(store, entries, buckets, points, most, within, threads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "ROOM", 1)
        compare(store, entries, buckets, points, most, within, threads)


def compare(store, entries, buckets, points, most, within, threads):
    found = store.search(buckets, points, most=most, within=within, threads=threads)
    assert isinstance(found, Neighbors)
    for query in range(len(points)):
        own = slice(*found.offsets[query : query + 2])
        near, met = expected(entries, buckets[query], points[query], most, within)
        assert (
            list(zip(found.distances[own].tolist(), list(found.keys[own]), strict=True))
            == near
        )
        assert found.examined[query] == met
    assert len(found.offsets) == len(points) + 1


def filled(store, entries):
    store.bind(PARAMETERS)
    store.insert(as_column(list(entries)), np.stack(list(entries.values())), "error")
    return store


class SlowStore(MemoryStore):
    """A store that has no search of its own."""

    entries_of = Store.entries_of
    _search = Store._search


@pytest.fixture(
    params=[
        "memory",
        "slow",
        "file",
        "segments",
        "lmdb",
        pytest.param("redis", marks=needs_redis),
    ]
)
def store_of(request, tmp_path):
    """Return a function that makes a store with given entries, as a dict of key to row."""
    opened = []

    def make(entries):
        opened.append(_made(request, entries, tmp_path / str(len(opened))))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


def _made(request, entries, path):
    kind = request.param
    if kind in ("memory", "slow"):
        return filled(MemoryStore() if kind == "memory" else SlowStore(), entries)
    if kind == "lmdb":
        pytest.importorskip(
            "lmdb", reason="lmdb cannot be imported: install lshfast[lmdb]"
        )
        return filled(LmdbStore(path, sync=False), entries)
    if kind == "redis":
        return filled(
            RedisStore(request.getfixturevalue("redis_server").url, name=str(path)),
            entries,
        )
    half = len(entries) // 2 if kind == "segments" else len(entries)
    items = list(entries.items())
    save_store(path, PARAMETERS, filled(MemoryStore(), dict(items[:half])))
    store = FileStore(path, "r+")
    for start in range(half, len(items), 7):  # each commit adds a segment
        filled(store, dict(items[start : start + 7]))
        store.commit()
    return store


@pytest.mark.few_cases
@pytest.mark.parametrize("probes", [1, 3])
@pytest.mark.parametrize(
    ("most", "within"),
    [(None, None), (3, None), (None, 2.0), (2, 3.0), (1, 0.0), (100, 1.5)],
)
def test_search_finds_what_shares_a_bucket(store_of, probes, most, within):
    generator = np.random.default_rng([probes, most or 0])
    entries = dict(enumerate(rows_of(generator, 60)))
    store = store_of(entries)
    buckets, points = queries_of(generator, 9, probes)
    check(store, entries, buckets, points, most, within)
    store.remove(as_column([0, 7, 31]))
    for key in (0, 7, 31):
        del entries[key]
    check(store, entries, buckets, points, most, within, threads=2)


@pytest.mark.parametrize("count", [1, 5, 40])
def test_limits(store_of, count):
    """Which entries are examined depends on the store, and how many does not."""
    generator = np.random.default_rng(count)
    entries = dict(enumerate(rows_of(generator, 60)))
    store, (buckets, points) = store_of(entries), queries_of(generator, 8, 2)
    closest = store.search(buckets, points, limit=Limit("closest", count))
    first = store.search(buckets, points, within=2.0, limit=Limit("first", count))
    for query in range(8):
        met = {
            key: distance
            for distance, key in expected(
                entries, buckets[query], points[query], None, None
            )[0]
        }
        own = slice(*closest.offsets[query : query + 2])
        found = dict(
            zip(closest.keys[own], closest.distances[own].tolist(), strict=True)
        )
        assert closest.examined[query] == len(found) == min(count, len(met))
        assert found.items() <= met.items()
        own = slice(*first.offsets[query : query + 2])
        found = dict(zip(first.keys[own], first.distances[own].tolist(), strict=True))
        far = first.examined[query] - len(found)
        assert (
            found.items()
            <= {key: distance for key, distance in met.items() if distance <= 2}.items()
        )
        assert len(found) == 1 or far == min(count, len(met))
        assert len(found) <= 1
        assert far <= count


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"buckets": np.zeros((2, 3, 1), np.uint64)},
            r"buckets must be uint64 \(m, 4, probes\), not uint64 \(2, 3, 1\)",
        ),
        ({"buckets": np.zeros((2, 4, 0), np.uint64)}, "buckets must be uint64"),
        ({"buckets": np.zeros((2, 4, 1), np.int64)}, "buckets must be uint64"),
        (
            {"points": np.zeros((2, 3), np.uint64)},
            r"points must be uint64 \(2, 2\), not uint64 \(2, 3\)",
        ),
        (
            {"points": np.zeros((1, 2), np.uint64)},
            r"points must be uint64 \(2, 2\), not uint64 \(1, 2\)",
        ),
        ({"points": np.zeros((2, 2))}, "points must be uint64"),
        ({"most": 0}, "most must be in 1"),
        ({"within": float("nan")}, "within must be a number, not NaN"),
    ],
)
def test_arguments_that_are_refused(change, said):
    store = filled(MemoryStore(), dict(enumerate(rows_of(np.random.default_rng(0), 3))))
    arguments = {
        "buckets": np.zeros((2, 4, 1), np.uint64),
        "points": np.zeros((2, 2), np.uint64),
    } | change
    with pytest.raises(ValueError, match=said):
        store.search(arguments.pop("buckets"), arguments.pop("points"), **arguments)


def test_stores_and_limits_that_are_refused():
    for parameters in (
        None,
        Parameters(8, 4, 2, "fast", 1, None),
        Parameters(4, 4, 1, "", 0, None, "", FAMILY, 2),
    ):
        store = MemoryStore()
        if parameters is not None:
            store.bind(parameters)
        with pytest.raises(
            ValueError, match="the parameters of the store name no measure"
        ):
            store.search(np.zeros((1, 4, 1), np.uint64), np.zeros((1, 2), np.uint64))
    for arguments, kind in [
        (("nearest", 1), ValueError),
        (("first", 0), ValueError),
        (("first", 1.5), TypeError),
    ]:
        with pytest.raises(kind):
            Limit(*arguments)
    for text in ("", "euclidean", "euclidean:float32:0", "euclidean:float32:03", "euclidean:bits:3", "hamming:bits:1e9",
                 "hamming:bits:4194305", "cosine:float64:65536", "hamming:bits:-1", "hamming:bits:١"):  # fmt: skip
        with pytest.raises(ValueError, match=r"measure|dim|words"):
            measure_of(text)
    assert measure_of("cosine:float32:768") == Measure("cosine", "float32", 768)
