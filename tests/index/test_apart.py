"""Entries that are close, but no copies: `most` and `least` of every index, against brute force."""

import math

import numpy as np
import pytest

from lshfast import (
    HammingIndex,
    LSHEnsemble,
    LSHForest,
    LSHIndex,
    MinHasher,
    NearNeighbors,
    TanimotoIndex,
    TokenSets,
)
from lshfast.exact import PrefixIndex
from lshfast.index.stores.lmdb import LmdbStore
from lshfast.index.stores.redis import RedisStore
from tests.index.redis_server import needs_redis, redis_server

__all__ = ["redis_server"]  # a fixture

N = 120
RNG = np.random.default_rng(7)


def near_sets():
    """Return sets of which many are equal, and others share most or some of their elements."""
    bases = [set(RNG.integers(0, 10**6, 60).tolist()) for _ in range(4)]
    rows = []
    for row in range(N):
        base = sorted(bases[row % 4])
        rows.append(set(base[(row % 7) * 4 :]) if row % 3 else set(base))
    return rows


ROWS = near_sets()
SETS = TokenSets.from_sets(ROWS)
SIGNATURES = MinHasher(64).sketch(SETS)
CODES = RNG.integers(0, 2**64, (4, 2), np.uint64)[np.arange(N) % 4]
CODES[::3, 0] ^= np.uint64(1) << RNG.integers(0, 64, len(CODES[::3])).astype(np.uint64)
CODES[::5, 1] ^= np.uint64(0xFFFF)
VECTORS = np.random.default_rng(3).standard_normal((4, 8))[np.arange(N) % 4]
VECTORS[::3] += RNG.normal(0, 0.02, VECTORS[::3].shape)
VECTORS[::5] += RNG.normal(0, 0.2, VECTORS[::5].shape)
VECTORS = VECTORS.astype(np.float32)
KEYS = [f"row {row:03}" for row in range(N)]


def shares_of_slots(rows):
    return (SIGNATURES[rows][:, None] == SIGNATURES).mean(axis=2)


def bits_of(codes):
    return np.unpackbits(codes.view(np.uint8), axis=1).astype(np.int64)


def differences(rows):
    return (bits_of(CODES[rows])[:, None] != bits_of(CODES)).sum(axis=2)


def tanimoto(rows):
    a, b = bits_of(CODES[rows])[:, None], bits_of(CODES)
    return (a & b).sum(axis=2) / (a | b).sum(axis=2)


def jaccard(rows):
    return np.array(
        [
            [len(ROWS[row] & other) / len(ROWS[row] | other) for other in ROWS]
            for row in rows
        ]
    )


def cosines(rows):
    units = VECTORS.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return units[rows] @ units.T


def euclidean(rows):
    points = VECTORS.astype(np.float64)
    return np.linalg.norm(points[rows][:, None] - points, axis=2)


def containments(rows):
    """Return the containments that the ensemble estimates."""
    values = np.zeros((len(rows), N))
    index = CASES["ensemble"].index()
    answers = index.query(SIGNATURES[rows], SETS.counts[rows], threshold=1e-9)
    for row, answer in enumerate(answers):
        for key, value in answer:
            values[row, KEYS.index(key)] = value
    return values


class Case:
    """An index, its entries and queries, the words for its bounds, and its values by brute force."""

    def __init__(
        self,
        make,
        items,
        values,
        limits,
        *,
        word="most",
        bound=None,
        search="query",
        shown=lambda v: v,
    ):
        self.make, self.items, self.values, self.limits = make, items, values, limits
        self.word, self.bound, self.search, self.shown = word, bound, search, shown

    def index(self):
        index = self.make()
        index.insert(KEYS, *self.items)
        return index

    def limited(self, values, limit, bound):
        """Return which values are within the bounds."""
        if self.word == "least":
            return (values >= limit) & (values <= (np.inf if bound is None else bound))
        return (values <= limit) & (values >= (-np.inf if bound is None else bound))


CASES = {
    "lsh": Case(
        lambda: LSHIndex(0.2, 64, bands=64, rows_per_band=1),
        [SIGNATURES],
        shares_of_slots,
        (0.5, 0.9, 0.999, 1.0),
        bound="threshold",
    ),
    "forest": Case(
        lambda: LSHForest(64, trees=64, recall=0.999999),
        [SIGNATURES],
        shares_of_slots,
        (0.5, 0.9, 0.999, 1.0),
    ),
    "ensemble": Case(
        lambda: LSHEnsemble(0.3, 64, recall=0.999999),
        [SIGNATURES, SETS.counts],
        containments,
        (0.5, 0.9, 0.999, 1.0),
        bound="threshold",
    ),
    "hamming": Case(
        lambda: HammingIndex(128, radius=20),
        [CODES],
        differences,
        (0, 1, 2, 20),
        word="least",
    ),
    "tanimoto": Case(
        lambda: TanimotoIndex(128, threshold=0.3),
        [CODES],
        tanimoto,
        (0.4, 0.9, 0.999, 1.0),
    ),
    "cosine": Case(
        lambda: NearNeighbors("cosine", threshold=0.0, dim=8, n=N, recall=0.99999),
        [VECTORS],
        cosines,
        (0.5, 0.95, 0.9999),
        shown=lambda values: 1 - values,
    ),
    "euclidean": Case(
        lambda: NearNeighbors("euclidean", radius=6.0, dim=8, n=N, recall=0.99999),
        [VECTORS],
        euclidean,
        (0.0, 1e-6, 0.1, 0.5),
        word="least",
    ),
    "prefix": Case(
        lambda: PrefixIndex(threshold=0.2), [ROWS], jaccard, (0.5, 0.9, 0.999, 1.0)
    ),
}
QUERIES = np.arange(0, N, 17)


def queries_of(case, rows):
    return [
        [items[row] for row in rows] if isinstance(items, list) else items[rows]
        for items in case.items
    ]


def check_answers(case, answers, rows, limit, bound, k):
    """Compare the answers with the values of all entries: the same values, each of its entry.

    The k nearest may be beyond the threshold, where not all are found: these are not compared.
    """
    values = case.values(rows)
    allowed = case.limited(values, limit, bound)
    if case.word == "most" and bound is None:
        allowed &= values > 0
    for matches, entries, marks in zip(answers, values, allowed, strict=True):
        answer = [match for match in matches if bound or case.shown(match[1]) > 0]
        if case.word == "least":
            answer = list(matches)
        expected = np.sort(entries[marks])
        expected = (expected if case.word == "least" else expected[::-1])[:k]
        np.testing.assert_allclose(
            [case.shown(value) for _, value in answer], expected, atol=1e-6
        )
        for key, value in answer:
            row = KEYS.index(key)
            np.testing.assert_allclose(case.shown(value), entries[row], atol=1e-6)
            assert marks[row]
        assert len({key for key, _ in answer}) == len(answer)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("k", [1, 3, 20, N])
def test_the_k_best_that_are_no_copies(name, k):
    case = CASES[name]
    index = case.index()
    bound = {"lsh": None, "ensemble": 0.3, "prefix": 0.2}.get(name)
    for limit in case.limits:
        answers = index.query(*queries_of(case, QUERIES), k=k, **{case.word: limit})
        check_answers(case, answers, QUERIES, limit, bound, k)
        if name != "prefix":  # takes batches only
            one = index.query(
                *(items[0] for items in queries_of(case, QUERIES)),
                k=k,
                **{case.word: limit},
            )
            assert one == answers[0]
            assert list(
                index.query(
                    *queries_of(case, QUERIES), k=k, threads=2, **{case.word: limit}
                )
            ) == list(answers)


@pytest.mark.some_cases
@pytest.mark.parametrize(
    ("name", "method", "bound"),
    [
        ("lsh", "query", {"threshold": 0.4}),
        ("ensemble", "query", {"threshold": 0.4}),
        ("prefix", "query", {}),
        ("hamming", "within", {"radius": 30}),
        ("tanimoto", "within", {"threshold": 0.35}),
        ("cosine", "within", {"threshold": 0.4}),
        ("euclidean", "within", {"radius": 4.0}),
    ],
)
def test_all_within_a_bound_that_are_no_copies(name, method, bound):
    case = CASES[name]
    search = getattr(case.index(), method)
    least = next(iter(bound.values()), 0.2)
    for limit in case.limits:
        answers = search(*queries_of(case, QUERIES), **bound, **{case.word: limit})
        check_answers(case, answers, QUERIES, limit, least, None)


@pytest.mark.one_case
@pytest.mark.parametrize("name", CASES)
def test_pairs_that_are_no_copies(name):
    case = CASES[name]
    index = case.index()
    options = {"k": N} if name == "forest" else {}
    everything = list(index.pairs(**options))
    for limit in case.limits:
        pairs = list(index.pairs(**options, **{case.word: limit}))
        wanted = [
            p
            for p in everything
            if case.limited(np.array(case.shown(p[2])), limit, None)
        ]
        assert pairs == wanted
    assert (
        0
        < len(list(index.pairs(**options, **{case.word: case.limits[1]})))
        < len(everything)
    )


@pytest.mark.one_case
@pytest.mark.parametrize("name", CASES)
def test_an_index_from_a_file_answers_alike(name, tmp_path):
    case = CASES[name]
    index = case.index()
    index.save(tmp_path / "index")
    opened = type(index).open(tmp_path / "index")
    for limit in case.limits:
        queries = queries_of(case, QUERIES)
        assert list(opened.query(*queries, k=4, **{case.word: limit})) == list(
            index.query(*queries, k=4, **{case.word: limit})
        )
        assert list(opened.pairs(**{case.word: limit})) == list(
            index.pairs(**{case.word: limit})
        )
    if hasattr(opened, "close"):
        opened.close()


def test_lmdb_answers_alike(tmp_path):
    check_store(LmdbStore(tmp_path / "store", map_size=1 << 24, sync=False))


@needs_redis
def test_redis_answers_alike(redis_server):
    check_store(RedisStore(redis_server.url, "entries that are apart"))


def check_store(store):
    index = CASES["lsh"].index()
    with LSHIndex(0.2, 64, bands=64, rows_per_band=1, store=store) as stored:
        stored.insert(KEYS, SIGNATURES)
        for options in (
            {"most": 0.9},
            {"k": 5, "most": 0.9},
            {"k": 5, "threshold": 0.3, "most": 0.99},
        ):
            assert list(stored.query(SIGNATURES[:20], **options)) == list(
                index.query(SIGNATURES[:20], **options)
            )
        assert list(stored.pairs(most=0.9)) == list(index.pairs(most=0.9))


REFUSALS = [
    (
        "lsh",
        "query",
        {"most": 1.1},
        ValueError,
        r"most must be in 0\.\.1, from the threshold, not 1\.1",
    ),
    ("lsh", "query", {"most": -0.1}, ValueError, r"most must be in 0\.\.1"),
    ("lsh", "query", {"most": math.nan}, ValueError, r"most must be in 0\.\.1"),
    ("lsh", "query", {"most": "0.9"}, TypeError, "most must be a number, not '0.9'"),
    (
        "lsh",
        "query",
        {"threshold": 0.8, "most": 0.7},
        ValueError,
        r"most must be in 0\.8\.\.1, from the threshold, not 0\.7",
    ),
    ("lsh", "pairs", {"most": 0.1}, ValueError, r"most must be in 0\.2\.\.1"),
    ("forest", "query", {"most": 2}, ValueError, r"most must be in 0\.\.1"),
    ("forest", "pairs", {"most": -1}, ValueError, r"most must be in 0\.\.1"),
    ("ensemble", "query", {"most": 0.2}, ValueError, r"most must be in 0\.3\.\.1"),
    (
        "ensemble",
        "query",
        {"threshold": 0.6, "most": 0.5},
        ValueError,
        r"most must be in 0\.6\.\.1",
    ),
    ("ensemble", "pairs", {"most": 0.2}, ValueError, r"most must be in 0\.3\.\.1"),
    (
        "hamming",
        "query",
        {"least": 129},
        ValueError,
        r"least must be in 0\.\.128, not 129",
    ),
    ("hamming", "query", {"least": 0.5}, TypeError, "least must be an int"),
    (
        "hamming",
        "within",
        {"least": 21},
        ValueError,
        r"least must be in 0\.\.20, not 21",
    ),
    (
        "hamming",
        "pairs",
        {"radius": 3, "least": 4},
        ValueError,
        r"least must be in 0\.\.3, not 4",
    ),
    ("tanimoto", "query", {"most": 1.5}, ValueError, r"most must be in 0\.\.1"),
    ("tanimoto", "within", {"most": 0.2}, ValueError, r"most must be in 0\.3\.\.1"),
    (
        "tanimoto",
        "pairs",
        {"threshold": 0.9, "most": 0.8},
        ValueError,
        r"most must be in 0\.9\.\.1",
    ),
    ("cosine", "query", {"most": -1.5}, ValueError, r"most must be in -1\.\.1"),
    (
        "cosine",
        "within",
        {"threshold": 0.9, "most": 0.8},
        ValueError,
        r"most must be in 0\.9\.\.1",
    ),
    (
        "cosine",
        "query",
        {"least": 0.1},
        ValueError,
        r"cosine is a similarity: pass most=0\.9",
    ),
    ("cosine", "query", {"least": "x"}, TypeError, "least must be a number"),
    (
        "euclidean",
        "query",
        {"most": 0.9},
        ValueError,
        "euclidean is a distance: pass least, the least distance",
    ),
    ("euclidean", "query", {"least": -1}, ValueError, r"least must be in 0\.\.inf"),
    (
        "euclidean",
        "within",
        {"radius": 1, "least": 2},
        ValueError,
        r"least must be in 0\.\.1, up to the radius, not 2",
    ),
    (
        "euclidean",
        "pairs",
        {"least": 7},
        ValueError,
        r"least must be in 0\.\.6, up to the radius, not 7",
    ),
    ("prefix", "query", {"most": 0.1}, ValueError, r"most must be in 0\.2\.\.1"),
    ("prefix", "query", {"k": 0}, ValueError, "k must be at least 1"),
    ("prefix", "pairs", {"most": 1.1}, ValueError, r"most must be in 0\.2\.\.1"),
]


@pytest.mark.parametrize(("name", "method", "options", "error", "message"), REFUSALS)
def test_bounds_out_of_range_are_refused(name, method, options, error, message):
    case = CASES[name]
    items = [] if method == "pairs" else queries_of(case, [0])
    with pytest.raises(error, match=message):
        getattr(case.index(), method)(*items, **options)


def test_shared_elements_have_no_greatest_number():
    index = PrefixIndex(threshold=2, measure="overlap")
    index.insert(range(3), [{1, 2, 3, 4}, {1, 2, 3}, {1, 2}])
    assert list(index.query([{1, 2, 3, 4, 5}], most=3)) == [[(1, 3.0), (2, 2.0)]]
    assert list(index.query([{1, 2, 3, 4, 5}], k=1, most=3)) == [[(1, 3.0)]]
    with pytest.raises(ValueError, match=r"most must be in 2\.\.inf"):
        index.query([{1}], most=1)


def test_a_fraction_as_threshold_is_itself_allowed_as_most():
    index = PrefixIndex(threshold=(2, 3))
    index.insert("a", {1, 2})
    assert list(index.query([{1, 2, 3}], most=2 / 3)) == [[("a", 2 / 3)]]


@pytest.mark.parametrize("name", CASES)
def test_removed_and_empty(name):
    case = CASES[name]
    index = case.index()
    index.remove(KEYS[1:])
    assert list(
        index.query(*queries_of(case, [0]), k=3, **{case.word: case.limits[1]})
    ) == [[]]
    index.remove(KEYS[:1])
    assert list(
        index.query(*queries_of(case, [0, 1]), k=3, **{case.word: case.limits[1]})
    ) == [[], []]
    assert (
        list(index.query(*queries_of(case, []), k=3, **{case.word: case.limits[1]}))
        == []
    )
