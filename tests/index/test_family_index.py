"""Indexes of families other than MinHash: beside a model in all stores, and with the items of every family."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from lshfast import (
    Bands,
    LSHIndex,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    WeightedSets,
    candidates,
)
from lshfast.families import (
    NO_VALUE,
    BitSampling,
    CauchyLines,
    Covering,
    CrossPolytope,
    GaussianLines,
    GridSquares,
    Hyperplanes,
    MinHashFamily,
    PlaneLines,
    SignVectors,
    SimHashFamily,
    UnaryBits,
    WeightedMinHashFamily,
)
from lshfast.index.stores.lmdb import LmdbStore
from lshfast.index.stores.redis import RedisStore
from lshfast.sketch import SignSketcher
from tests.index.index_files import content
from tests.index.index_machine import run
from tests.index.redis_server import needs_redis, redis_server
from tests.reference import index_file

__all__ = ["redis_server"]  # a fixture
from tests.index.family_kit import DigitsStage, PlacesStage

# Beside a model


@pytest.fixture(params=[PlacesStage, DigitsStage], ids=["places", "digits"])
def family(request):
    return request.param


@pytest.mark.parametrize("examples", [10, pytest.param(25, marks=pytest.mark.slow)])
def test_in_memory(family, examples):
    run(family(), examples=examples)


@pytest.mark.one_case
def test_in_a_file(family, tmp_path):
    paths = (tmp_path / str(number) for number in itertools.count())

    class InFile(family):
        kinds = ("int", "uint", "str")
        exact_stats = False

        def make(self):
            path = next(paths)
            self.in_memory().save(path)
            return LSHIndex.open(path, "r+")

        def renew(self, index):
            index.commit()
            index.verify()
            page = index_file.read(Path(index.store.path).read_bytes())
            held = content(index)
            assert page.entries() == held
            for row in held.values():
                assert page.candidates(row) == sorted(
                    index.store.query_one(np.array(row, np.uint64), None)[0]
                )
            index.compact()
            index.close()
            return LSHIndex.open(index.store.path, "r+", verify=True)

        def close(self, index):
            index.store.abandon()

    run(InFile(), examples=12)


@pytest.mark.one_case
def test_in_lmdb(family, tmp_path):
    pytest.importorskip("lmdb", reason="lmdb cannot be imported: install lshfast[lmdb]")
    paths = (tmp_path / str(number) for number in itertools.count())

    class InLmdb(family):
        kinds = ("int", "uint", "str")
        exact_stats = False

        def make(self):
            return self.in_memory(
                store=LmdbStore(next(paths), map_size=1 << 24, sync=False)
            )

        def renew(self, index):
            path = index.store.path
            index.verify()
            index.compact()
            index.close()
            return LSHIndex.on(LmdbStore(path, map_size=1 << 24, sync=False))

    run(InLmdb(), examples=10)


@pytest.mark.slow
@pytest.mark.one_case
@needs_redis
def test_in_redis(family, redis_server):
    names = (f"{family.__name__} {number}" for number in itertools.count())

    class InRedis(family):
        kinds = ("int", "uint", "str")
        exact_stats = False
        absent = -17, "absent"

        def make(self):
            self.name = next(names)
            return self.in_memory(store=RedisStore(redis_server.url, self.name))

        def renew(self, index):
            index.verify()
            index.close()
            return LSHIndex.on(RedisStore(redis_server.url, self.name))

    run(InRedis(), examples=10)


# What goes in


@pytest.fixture(scope="module")
def sets():
    generator = np.random.default_rng(1)
    rows = [generator.integers(0, 300, 40).tolist() for _ in range(120)]
    return TokenSets.from_sets([*rows, *(row[:36] for row in rows), [], []])


def answers(index, queries, **options):
    return list(index.query(queries, **options))


@pytest.mark.parametrize(
    ("family", "hasher", "options"),
    [
        (
            SimHashFamily(seed=3),
            SimHasher(192, seed=3),
            {"bands": 20, "rows_per_band": 9},
        ),
        (
            SimHashFamily(seed=3),
            SimHasher(256, seed=3),
            {"bands": 3, "rows_per_band": 65},
        ),
        (
            MinHashFamily("classic", 3),
            MinHasher(128, "classic", 3),
            {"bands": 20, "rows_per_band": 5},
        ),
        (MinHashFamily("classic", 3), MinHasher(128, "classic", 3), {}),
    ],
)
def test_sets_and_their_sketches_are_the_same(sets, family, hasher, options):
    of_sets, of_sketches = (LSHIndex(0.6, family=family, **options) for _ in range(2))
    of_sets.insert(range(240), sets.take(np.arange(240)))
    sketches = hasher.sketch(sets)
    of_sketches.insert(list(range(239)), sketches[:239])
    of_sketches.insert(239, sketches[239])
    assert answers(of_sets, sets, threshold=0.1) == answers(
        of_sketches, sketches, threshold=0.1
    )
    found = of_sets.query(sketches[120], k=1)
    assert found == answers(of_sets, sketches[120:121], k=1)[0]
    assert 120 in of_sets.query(sketches[120])
    assert list(of_sets.pairs(0.3)) == list(of_sketches.pairs(0.3))


def test_weighted_sets_and_their_signatures_are_the_same(tmp_path):
    generator = np.random.default_rng(2)
    rows = [
        {
            int(token): weight
            for token, weight in (generator.random((30, 2)) * 50).tolist()
        }
        for _ in range(40)
    ]
    items = WeightedSets.from_sets(rows * 2)
    signatures = WeightedMinHasher(128, seed=5).sketch(items)
    index = LSHIndex(0.5, family=WeightedMinHashFamily(seed=5))
    index.insert(range(80), items)
    index.save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index", verify=True) as saved:
        assert answers(saved, signatures, k=5) == answers(index, items, k=5)
        for i in range(40):
            found = dict(saved.query(signatures[i], threshold=0))
            assert found[i] == found[i + 40] == 1
            equal = np.count_nonzero(signatures == signatures[i], axis=1) / 128
            assert all(similarity == equal[key] for key, similarity in found.items())
    assert (index.bands, index.family) == (
        LSHIndex(0.5).bands,
        WeightedMinHashFamily(seed=5),
    )


VECTORS = np.random.default_rng(8).standard_normal((60, 24))
CODES = np.random.default_rng(9).integers(0, 2**64, (60, 2), np.uint64)
GRIDS = [
    np.random.default_rng(i).choice(400, 60, replace=False).tolist() for i in range(60)
]

# A family, its items with those of the second half close to those of the first, and bands and rows.
FAMILIES = {
    "bit sampling": (
        BitSampling(128),
        np.concatenate([CODES, CODES ^ np.uint64(1)]),
        20,
        10,
    ),
    "covering": (Covering(128, 2), np.concatenate([CODES, CODES ^ np.uint64(5)]), 7, 1),
    "unary": (
        UnaryBits(9, 24),
        np.abs(np.concatenate([VECTORS, VECTORS]) * 3).astype(int),
        20,
        10,
    ),
    "plane": (
        PlaneLines(2.0),
        np.concatenate([9 * VECTORS[:, :2], 9 * VECTORS[:, :2] + 0.02]),
        20,
        3,
    ),
    "grid": (
        GridSquares(400),
        TokenSets(np.arange(121) * 60, np.ravel(GRIDS + GRIDS).astype(np.uint64)),
        2000,
        1,
    ),
    "hyperplanes": (Hyperplanes(24), np.concatenate([VECTORS, 2 * VECTORS]), 20, 10),
    "sign vectors": (SignVectors(24), np.concatenate([VECTORS, 2 * VECTORS]), 20, 10),
    "cross-polytope": (
        CrossPolytope(24),
        np.concatenate([VECTORS, 2 * VECTORS]),
        10,
        2,
    ),
    "Gaussian lines": (
        GaussianLines(24, 4),
        np.concatenate([VECTORS, VECTORS + 0.001]),
        20,
        3,
    ),
    "Cauchy lines": (
        CauchyLines(24, 40),
        np.concatenate([VECTORS, VECTORS + 0.001]),
        20,
        3,
    ),
    "simhash": (SimHashFamily(), TokenSets.from_sets(GRIDS + GRIDS), 20, 10),
    "minhash": (MinHashFamily(), TokenSets.from_sets(GRIDS + GRIDS), 16, 4),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name, tmp_path):
    """What shares a bucket, and nothing else, is found; in memory and in a file, and after half of it is removed."""
    family, items, bands, rows = FAMILIES[name]
    index = LSHIndex(family=family, bands=bands, rows_per_band=rows)
    index.insert(range(120), items)
    buckets = Bands(bands, rows).keys(items, family=family)
    share = ((buckets[:, None] == buckets[None]) & (buckets != NO_VALUE)[:, None]).any(
        axis=2
    )
    found = list(index.query(items))
    if name != "minhash":  # its first slots depend on their number
        assert found == [np.flatnonzero(row).tolist() for row in share]
    assert sum(i in found[i + 60] for i in range(60)) >= 57
    index.save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index", "r+", verify=True) as saved:
        saved.verify()
        assert saved.family == family
        assert (saved.bands, list(saved.query(items, k=5))) == (
            Bands(bands, rows),
            list(index.query(items, k=5)),
        )
        for each in (index, saved):
            each.remove(range(60))
            assert list(each.query(items)) == [
                [key for key in keys if key >= 60] for keys in found
            ]
        assert saved.stats().entries == 60
    if isinstance(items, np.ndarray):
        assert index.query(items[70]) == list(index.query(items))[70]
        assert items.dtype == np.uint64 or index.query(
            items[70].tolist()
        ) == index.query(items[70])
        assert index.insert("one", items[0]) == 1


@pytest.mark.parametrize("name", FAMILIES)
def test_one_against_many_and_many_against_many(name):
    """Each item is asked for and then inserted; together the answers are the pairs that the index finds at the end."""
    family, items, bands, rows = FAMILIES[name]
    index, found = LSHIndex(family=family, bands=bands, rows_per_band=rows), {}
    for i in (*range(30), *range(60, 90)):
        item = items[i : i + 1] if isinstance(items, np.ndarray) else items.take([i])
        found |= {
            (match.key, i): match.similarity
            for match in index.query(item, threshold=0)[0]
        }
        index.insert([i], item)
    pairs = {(left, right): similarity for left, right, similarity in index.pairs(0)}
    assert pairs == found
    assert sum((i, i + 60) in pairs for i in range(30)) >= 27
    assert len(index.pairs(0.99)) == sum(
        similarity >= 0.99 for similarity in found.values()
    )


@pytest.mark.parametrize("zero", ["minus", "random"])
def test_codes_of_vectors(zero):
    vectors = np.random.default_rng(1).integers(-2, 3, (80, 6))
    family = SignVectors(6, seed=4, zero=zero)
    sketcher = SignSketcher(6, 96, seed=4, zero=zero)
    of_vectors, of_codes = (
        LSHIndex(family=family, bands=12, rows_per_band=8) for _ in range(2)
    )
    of_vectors.insert(range(80), vectors)
    of_codes.insert(range(80), sketcher.sketch(vectors))
    assert list(of_vectors.query(vectors, k=9)) == list(
        of_codes.query(sketcher.sketch(vectors), k=9)
    )
    similarity = np.array(
        [(match.key, match.similarity) for match in of_codes.query(vectors[0], k=1)]
    )
    assert similarity.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="are of SignSketcher"):
        of_codes.query(SignSketcher(6, 96, seed=5, zero=zero).sketch(vectors))


def test_texts(sets):
    texts = [
        "the cat sat on the mat",
        "The cat sat on the mat!",
        "a dog is not a cat",
        "",
    ]
    index = LSHIndex(
        family=SimHashFamily(), bands=16, rows_per_band=8, shingles="word:2"
    )
    index.insert(range(4), texts)
    assert index.query(texts[0]) == index.query(texts)[1] == [0, 1]
    assert index.query("") == []
    with pytest.raises(
        TypeError, match="items must be TokenSets or codes, uint64, not <U2"
    ):
        LSHIndex(family=SimHashFamily(), bands=16, rows_per_band=8).insert(
            range(4), texts
        )


def test_minhash_is_the_plain_index(sets):
    index = LSHIndex(0.7, 64, family=MinHashFamily(seed=9))
    assert index.parameters == LSHIndex(0.7, 64, seed=9).parameters
    assert (index.hasher, index.family) == (
        MinHasher(64, seed=9),
        MinHashFamily(seed=9),
    )


def test_a_family_with_and_is_the_same_family(sets):
    one = LSHIndex(family=SimHashFamily(), bands=8, rows_per_band=12)
    for family, rows in (
        (SimHashFamily().and_(12), None),
        (SimHashFamily().and_(3).and_(2), 2),
    ):
        other = LSHIndex(family=family, bands=8, rows_per_band=rows)
        assert (other.parameters, other.family, other.bands) == (
            one.parameters,
            SimHashFamily(),
            Bands(8, 12),
        )


@pytest.mark.parametrize("rows", [1, 7, 63, 64, 70])
def test_bands_and_candidates(sets, rows):
    """A bucket of each item in each band, or none: pairs are those that share one."""
    codes = SimHasher(256).sketch(sets)
    bands = Bands(3, rows)
    for given in (codes, sets):
        keys = bands.keys(given, family=SimHashFamily())
        assert (keys[240:] == NO_VALUE).all()
        bits = SimHashFamily().hash(sets, 3 * rows).reshape(len(sets), 3, rows)
        same = (bits[:, None] == bits[None]).all(axis=3)
        same[240:] = False
        assert ((keys[:, None] == keys[None])[:240] == same[:240]).all()
    i, j = candidates(keys)
    assert (
        np.stack([i, j], axis=1).tolist()
        == np.argwhere(np.triu(same.any(axis=2), 1)).tolist()
    )


def test_candidates_of_values_that_are_missing():
    keys = np.array(
        [
            [1, NO_VALUE],
            [NO_VALUE, 2],
            [1, 2],
            [NO_VALUE, NO_VALUE],
            [NO_VALUE, NO_VALUE],
            [3, 2],
        ],
        np.uint64,
    )
    i, j = candidates(keys)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [
        (0, 2),
        (1, 2),
        (1, 5),
        (2, 5),
    ]
