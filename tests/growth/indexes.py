"""Worst inputs of the indexes: equal entries, clusters, few cells, and changes one by one."""

import numpy as np

import lshfast
from lshfast.datasketch import MinHash, MinHashLSH
from tests.growth.cases import case


def signatures(n, seed=0):
    row = np.random.default_rng(seed).integers(0, 2**60, (1, 128), dtype=np.uint64)
    return np.tile(row, (n, 1))


def near_point(n, spread, dim=64):
    generator = np.random.default_rng(0)
    center = generator.normal(size=(1, dim))
    return (center + spread * generator.normal(size=(n, dim))).astype(np.float32)


def filled_and_queried(index, rows, queries, **options):
    """Return the work: rows are inserted, and some queries answered."""

    def work():
        index.insert(np.arange(len(rows)), rows)
        index.query(queries, **options)

    return work


def one_by_one(index, rows, **options):
    """Return the work: each row is inserted, and then looked up."""

    def work():
        for row in range(len(rows)):
            index.insert(np.array([row]), rows[row : row + 1])
            index.query(rows[row], **options)

    return work


@case("LSHIndex", 300)
def signatures_that_are_equal(n):
    rows = signatures(n)
    return filled_and_queried(lshfast.LSHIndex(0.8, 128), rows, rows[:20])


def unmixed(numbers):
    """Return integers whose mix64 (src/field.h) are the given numbers."""
    numbers = numbers ^ numbers >> 31 ^ numbers >> 62
    numbers = numbers * 0x319642B2D24D8EC3 % 2**64
    numbers = numbers ^ numbers >> 27 ^ numbers >> 54
    numbers = numbers * 0x96DE1B173F119089 % 2**64
    return numbers ^ numbers >> 30 ^ numbers >> 60


@case("LSHIndex", 300)
def keys_with_one_hash(n):
    """The upper half of the hash, by which a table finds a key, is the same for all."""
    keys = np.array([unmixed(9 << 32 | row) for row in range(n)], np.uint64)
    keys = keys.astype(np.int64)
    rows = np.random.default_rng(1).integers(0, 2**60, (n, 16), dtype=np.uint64)
    index = lshfast.LSHIndex(num_perm=16, bands=4, rows_per_band=4)

    def work():
        index.insert(keys, rows)
        assert index.contains(keys).all()
        index.remove(keys[::2])
        index.insert(keys[::2], rows[::2])

    return work


@case("LSHIndex", 200)
def equal_signatures_that_are_removed(n):
    rows = signatures(n)
    index = lshfast.LSHIndex(0.8, 128)

    def work():
        index.insert(np.arange(n), rows)
        for key in range(0, n, 2):
            index.remove(key)
        index.query(rows[:5])

    return work


@case("LSHForest", 200)
def trees_of_equal_signatures(n):
    rows = signatures(n)
    return filled_and_queried(lshfast.LSHForest(128), rows, rows[:20], k=5)


@case("LSHForest", 200)
def trees_with_insertions_one_by_one(n):
    return one_by_one(lshfast.LSHForest(128), signatures(n), k=5)


@case("LSHEnsemble", 200)
def sets_of_equal_signatures(n):
    rows = signatures(n)
    index = lshfast.LSHEnsemble(0.8, 128)

    def work():
        index.insert(np.arange(n), rows, sizes=np.full(n, 100))
        index.query(rows[:5], sizes=np.full(5, 100))

    return work


def neighbors(n, method, dim):
    return lshfast.NearNeighbors("angle", radius=0.5, dim=dim, n=n, method=method)


@case("NearNeighbors", 40)
def tables_of_equal_points(n):
    rows = near_point(n, 0)
    return filled_and_queried(neighbors(n, "tables", 64), rows, rows[:50], k=10)


@case("NearNeighbors", 200)
def codes_of_equal_points(n):
    rows = near_point(n, 0)
    return filled_and_queried(neighbors(n, "codes", 64), rows, rows[:50], k=10)


@case("NearNeighbors", 200)
def a_cluster_in_one_cell(n):
    rows = near_point(n, 1e-3)
    others = np.random.default_rng(1).normal(size=(n // 100, 64))
    rows[: n // 100] = others
    return filled_and_queried(neighbors(n, "codes", 64), rows, rows[-50:], k=10)


@case("NearNeighbors", 25)
def points_one_by_one(n):
    rows = np.random.default_rng(0).normal(size=(n, 32)).astype(np.float32)
    return one_by_one(neighbors(n, "codes", 32), rows, k=3)


@case("NearNeighbors", 200)
def points_that_are_removed(n):
    rows = np.random.default_rng(0).normal(size=(n, 32)).astype(np.float32)
    index = neighbors(n, "codes", 32)

    def work():
        index.insert(np.arange(n), rows)
        for key in range(0, n, 2):
            index.remove(key)
        index.query(rows[:20], k=10)

    return work


@case("HammingIndex", 300)
def index_of_equal_codes(n):
    rows = np.zeros(n, np.uint64)
    return filled_and_queried(lshfast.HammingIndex(64, radius=3), rows, rows[:50], k=10)


@case("HammingIndex", 30)
def codes_one_by_one(n):
    rows = np.random.default_rng(0).integers(0, 2**63, n, dtype=np.uint64)
    return one_by_one(lshfast.HammingIndex(64, radius=3), rows, k=3)


@case("TanimotoIndex", 300)
def index_of_equal_fingerprints(n):
    rows = np.full((n, 32), 0x5555, np.uint64)
    return filled_and_queried(lshfast.TanimotoIndex(2048), rows, rows[:20], k=10)


@case("hamming_pairs", 50)
def pairs_of_equal_codes(n):
    codes = np.zeros(n, np.uint64)
    return lambda: {"output": len(lshfast.hamming_pairs(codes, 3, threads=1))}


@case("tanimoto_pairs", 50)
def pairs_of_equal_fingerprints(n):
    codes = np.full((n, 32), 0x5555, np.uint64)
    return lambda: {"output": len(lshfast.tanimoto_pairs(codes, 0.7, threads=1))}


@case("dedup_codes", 200)
def equal_codes_of_an_image(n):
    codes = np.zeros(n, np.uint64)

    def work():
        lshfast.dedup_codes(codes, 3, threads=1)

    return work


@case("datasketch.MinHashLSH", 30)
def drop_in_with_equal_sketches(n):
    sketch = MinHash(num_perm=32)
    sketch.update(b"a")

    def work():
        index = MinHashLSH(threshold=0.8, num_perm=32)
        for row in range(n):
            index.insert(row, sketch)
        for row in range(0, n, 2):
            index.remove(row)
        return {"output": len(index.query(sketch))}

    return work
