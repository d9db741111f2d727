"""Calls of WeightedMinHash and WeightedMinHashGenerator."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from scipy import sparse

from tests.datasketch.conformance.kit import each, given

INF, NAN = float("inf"), float("nan")
RAMP = np.arange(40).reshape(5, 8)
VECTORS = {
    "small integers": [3, 0, 1, 7, 2, 0, 4, 1],
    "a tuple": (1, 2, 3, 4, 5, 6, 7, 8),
    "floats": [0.5, 1e-3, 2.25, 0, 0, 1e4, 3.0, 1.0],
    "one element": [0, 0, 0, 0, 0, 5, 0, 0],
    "all ones": np.ones(8),
    "an array of integers": np.arange(8),
    "an array of float32": np.linspace(0, 4, 8, dtype=np.float32),
    "an array of float64": np.linspace(0, 4, 8) ** 5,
    "far apart": [1e-30, 1e30, 1, 0, 0, 1e-10, 1e10, 1],
    "booleans": np.array([True, False] * 4),
    "all zero": np.zeros(8),
    "all zero, a list": [0] * 8,
    "a negative": [1, -1, 1, 1, 1, 1, 1, 1],
    "all negative": -np.ones(8),
    "nan": [1, NAN, 1, 1, 1, 1, 1, 1],
    "all nan": [NAN] * 8,
    "infinite": [1, INF, 1, 1, 1, 1, 1, 1],
    "beyond float32": [1e-60, 1, 1, 1, 1, 1, 1, 1e60],
    "too short": [1, 2, 3],
    "too long": [1] * 9,
    "empty": [],
    "a number": 5,
    "None": None,
    "text": "12345678",
    "words": ["a"] * 8,
    "None within": [None] * 8,
    "two dimensions": np.ones((8, 2)),
    "complex": np.ones(8) * 1j,
}
MATRICES = {
    "dense": RAMP % 7,
    "dense with an empty row": np.array(
        [[1, 2, 0, 0, 0, 0, 0, 1], [0] * 8, [0, 0, 0, 0, 9, 0, 0, 0.5]]
    ),
    "all rows empty": np.zeros((3, 8)),
    "no rows": np.zeros((0, 8)),
    "csr": sparse.csr_matrix(RAMP % 5),
    "csc": sparse.csc_matrix(RAMP % 5),
    "coo": sparse.coo_matrix(RAMP % 5),
    "csr, repeated entries": sparse.csr_matrix(
        (np.ones(4), [1, 1, 0, 2], [0, 3, 4]), shape=(2, 8)
    ),
    "csr, zeros stored": sparse.csr_matrix(
        (np.array([0.0, 2, 0]), [1, 3, 0], [0, 2, 3]), shape=(2, 8)
    ),
    "csr, unsorted": sparse.csr_matrix(
        (np.array([1.0, 2, 3]), [7, 3, 0], [0, 3]), shape=(1, 8)
    ),
    "csr array": sparse.csr_array(RAMP % 5),
    "float32": (RAMP % 7).astype(np.float32) / 3,
    "a list of lists": [[1] * 8],
    "a list of arrays": [np.ones(8)],
    "one dimension": np.ones(8),
    "three dimensions": np.ones((2, 8, 1)),
    "too narrow": np.ones((2, 7)),
    "a negative": -np.ones((2, 8)),
    "nan": np.full((1, 8), NAN),
    "infinite": np.full((1, 8), INF),
    "None": None,
    "text": "abc",
    "objects": np.full((1, 8), "a", object),
}
OTHERS = {
    "another seed": lambda ds: ds.WeightedMinHashGenerator(2, 4, 2).minhash([1, 2]),
    "another length": lambda ds: ds.WeightedMinHashGenerator(2, 5).minhash([1, 2]),
    "another dim": lambda ds: ds.WeightedMinHashGenerator(3, 4).minhash([1, 2, 3]),
    "a MinHash": lambda ds: ds.MinHash(4),
    "text": lambda ds: "a",
    "None": lambda ds: None,
}
VECTOR = np.random.RandomState(5).gamma(1, 3, 300)
MATRIX = np.random.RandomState(5).poisson(1, (40, 60))


def generator(ds):
    return ds.WeightedMinHashGenerator(8, 16)


def used(generator):
    return generator.minhash([1, 2])


MINHASH = {
    **each("minhash, {}", VECTORS)(
        lambda generator, vector: generator.minhash(copy.deepcopy(vector))
    ),
    "minhash, an iterator": lambda generator: generator.minhash(iter([1] * 8)),
}
MANY = each("minhash_many, {}", MATRICES)(
    lambda generator, rows: generator.minhash_many(copy.deepcopy(rows))
)
GENERATOR = {
    "attributes": lambda ds: (
        g := ds.WeightedMinHashGenerator(8, 4, 3),
        g.dim,
        g.sample_size,
        g.seed,
    ),
    "the usual": lambda ds: (
        g := ds.WeightedMinHashGenerator(8),
        g.sample_size,
        g.seed,
    ),
    "by name": lambda ds: ds.WeightedMinHashGenerator(
        dim=8, sample_size=4, seed=2
    ).minhash([1] * 8),
    "its draws": lambda ds: (
        g := ds.WeightedMinHashGenerator(5, 3, 7),
        g.rs,
        g.ln_cs,
        g.betas,
    ),
    **each("dim {!r}", (0, -1, "8", 1.0, 2.5, None, True))(
        lambda ds, dim: ds.WeightedMinHashGenerator(dim, 4).minhash([1])
    ),
    **each("sample_size {!r}", (-1, "8", 1.0, 2.5, None, 1, np.int64(3)))(
        lambda ds, size: used(ds.WeightedMinHashGenerator(2, size))
    ),
    "dim 0, not used": lambda ds: ds.WeightedMinHashGenerator(0).dim,
    "sample_size 0": lambda ds: len(used(ds.WeightedMinHashGenerator(2, 0))),
    **each("seed {!r}", (0, 2**32 - 1, -1, 2**32, 1.5, "a", True))(
        lambda ds, seed: used(ds.WeightedMinHashGenerator(2, 4, seed))
    ),
    "a long vector": lambda ds: ds.WeightedMinHashGenerator(300, 64).minhash(VECTOR),
    "a long matrix": lambda ds: ds.WeightedMinHashGenerator(60, 32).minhash_many(
        MATRIX
    ),
}


class Generator:
    def copy_and_pickle(ds):
        g = ds.WeightedMinHashGenerator(8, 4)
        h = pickle.loads(pickle.dumps(g))
        return h.minhash([1] * 8) == g.minhash([1] * 8), copy.deepcopy(g).minhash(
            [2] * 8
        )

    def what_is_given_stays_as_it_is(ds):
        g = ds.WeightedMinHashGenerator(4, 4)
        v = np.array([1, 0, 2, 0], np.float32)
        m = sparse.csr_matrix(np.eye(4))
        yield g.minhash(v), v
        yield len(g.minhash_many(m)), m.toarray()


def two(ds):
    g = ds.WeightedMinHashGenerator(8, 64)
    return g.minhash([1, 2, 3, 4, 0, 0, 1, 1]), g.minhash([1, 2, 4, 2, 0, 1, 1, 0])


BY_HAND = {
    "by hand": lambda ds: (
        a := ds.WeightedMinHash(1, np.array([[1, 2], [3, 4]])),
        a.seed,
        a.hashvalues,
        len(a),
        a.digest(),
    ),
    "by name": lambda ds: ds.WeightedMinHash(seed=1, hashvalues=np.array([[1, 2]])),
    "without values": lambda ds: ds.WeightedMinHash(1),
    **each("jaccard of {}", OTHERS)(
        lambda ds, other: used(ds.WeightedMinHashGenerator(2, 4)).jaccard(other(ds))
    ),
    "no hash": lambda ds: hash(ds.WeightedMinHash(1, np.zeros((2, 2)))),
}
ON_TWO = {
    "jaccard": lambda a, b: (a.jaccard(b), b.jaccard(a), a.jaccard(a), a == b, a == a),
    "what it is": lambda a, b: (
        type(v := a.hashvalues).__name__,
        v.dtype.name,
        v.shape,
        len(a),
        a.seed,
    ),
    "copies": lambda a, b: [
        copied == a
        for copied in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)))
    ],
    "pickle": lambda a, b: pickle.loads(pickle.dumps(a)),
}


class Weighted:
    def of_a_list(ds):
        a = ds.WeightedMinHash(1, [[1, 2], [3, 4]])
        b = ds.WeightedMinHash(1, [[1, 2], [3, 5]])
        return len(a), a.jaccard(b)

    @given(two)
    def digest_and_copy(a, b):
        c, d = a.copy(), a.digest()
        d[:] = 0
        yield a == c
        c.hashvalues[:] = 0
        yield a == c, a

    def equality(ds):
        a, b = two(ds)
        yield (
            a == ds.WeightedMinHash(2, a.hashvalues),
            a == ds.WeightedMinHash(1, a.hashvalues),
            a == "a",
            a != b,
        )
        yield a == None  # noqa: E711


GROUPS = {
    "WeightedMinHashGenerator": (GENERATOR, Generator),
    "WeightedMinHashGenerator.minhash": (given(generator)(MINHASH),),
    "WeightedMinHashGenerator.minhash_many": (given(generator)(MANY),),
    "WeightedMinHash": (BY_HAND, given(two)(ON_TWO), Weighted),
}
