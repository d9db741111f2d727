"""Calls of WeightedMinHash and WeightedMinHashGenerator."""

from __future__ import annotations

VECTORS = {
    "small integers": "[3, 0, 1, 7, 2, 0, 4, 1]",
    "a tuple": "(1, 2, 3, 4, 5, 6, 7, 8)",
    "floats": "[0.5, 1e-3, 2.25, 0, 0, 1e4, 3.0, 1.0]",
    "one element": "[0, 0, 0, 0, 0, 5, 0, 0]",
    "all ones": "np.ones(8)",
    "an array of integers": "np.arange(8)",
    "an array of float32": "np.linspace(0, 4, 8, dtype=np.float32)",
    "an array of float64": "np.linspace(0, 4, 8) ** 5",
    "far apart": "[1e-30, 1e30, 1, 0, 0, 1e-10, 1e10, 1]",
    "booleans": "np.array([True, False] * 4)",
    "all zero": "np.zeros(8)",
    "all zero, a list": "[0] * 8",
    "a negative": "[1, -1, 1, 1, 1, 1, 1, 1]",
    "all negative": "-np.ones(8)",
    "nan": "[1, float('nan'), 1, 1, 1, 1, 1, 1]",
    "all nan": "[float('nan')] * 8",
    "infinite": "[1, float('inf'), 1, 1, 1, 1, 1, 1]",
    "beyond float32": "[1e-60, 1, 1, 1, 1, 1, 1, 1e60]",
    "too short": "[1, 2, 3]",
    "too long": "[1] * 9",
    "empty": "[]",
    "a number": "5",
    "None": "None",
    "an iterator": "iter([1] * 8)",
    "text": "'12345678'",
    "words": "['a'] * 8",
    "None within": "[None] * 8",
    "two dimensions": "np.ones((8, 2))",
    "complex": "np.ones(8) * 1j",
}

MATRICES = {
    "dense": "np.arange(40).reshape(5, 8) % 7",
    "dense with an empty row": "np.array([[1, 2, 0, 0, 0, 0, 0, 1], [0] * 8, [0, 0, 0, 0, 9, 0, 0, 0.5]])",
    "all rows empty": "np.zeros((3, 8))",
    "no rows": "np.zeros((0, 8))",
    "csr": "sparse.csr_matrix(np.arange(40).reshape(5, 8) % 5)",
    "csc": "sparse.csc_matrix(np.arange(40).reshape(5, 8) % 5)",
    "coo": "sparse.coo_matrix(np.arange(40).reshape(5, 8) % 5)",
    "csr, repeated entries": "sparse.csr_matrix((np.ones(4), [1, 1, 0, 2], [0, 3, 4]), shape=(2, 8))",
    "csr, zeros stored": "sparse.csr_matrix((np.array([0.0, 2, 0]), [1, 3, 0], [0, 2, 3]), shape=(2, 8))",
    "csr, unsorted": "sparse.csr_matrix((np.array([1.0, 2, 3]), [7, 3, 0], [0, 3]), shape=(1, 8))",
    "csr array": "sparse.csr_array(np.arange(40).reshape(5, 8) % 5)",
    "float32": "(np.arange(40).reshape(5, 8) % 7).astype(np.float32) / 3",
    "a list of lists": "[[1] * 8]",
    "a list of arrays": "[np.ones(8)]",
    "one dimension": "np.ones(8)",
    "three dimensions": "np.ones((2, 8, 1))",
    "too narrow": "np.ones((2, 7))",
    "a negative": "-np.ones((2, 8))",
    "nan": "np.full((1, 8), np.nan)",
    "infinite": "np.full((1, 8), np.inf)",
    "None": "None",
    "text": "'abc'",
    "objects": "np.full((1, 8), 'a', object)",
}

GENERATOR = {
    "attributes": "g = WeightedMinHashGenerator(8, 4, 3); g.dim; g.sample_size; g.seed",
    "the usual": "g = WeightedMinHashGenerator(8); g.sample_size; g.seed",
    "by name": "WeightedMinHashGenerator(dim=8, sample_size=4, seed=2).minhash([1] * 8)",
    "its draws": "g = WeightedMinHashGenerator(5, 3, 7); g.rs; g.ln_cs; g.betas",
    **{
        f"dim {dim}": f"WeightedMinHashGenerator({dim}, 4).minhash([1])"
        for dim in ("0", "-1", "'8'", "1.0", "2.5", "None", "True")
    },
    **{
        f"sample_size {size}": f"WeightedMinHashGenerator(2, {size}).minhash([1, 2])"
        for size in ("-1", "'8'", "1.0", "2.5", "None", "1", "np.int64(3)")
    },
    "dim 0, not used": "WeightedMinHashGenerator(0).dim",
    "sample_size 0": "len(WeightedMinHashGenerator(2, 0).minhash([1, 2]))",
    **{
        f"seed {seed}": f"WeightedMinHashGenerator(2, 4, {seed}).minhash([1, 2])"
        for seed in ("0", "2**32 - 1", "-1", "2**32", "1.5", "'a'", "True")
    },
    "copy and pickle": (
        "g = WeightedMinHashGenerator(8, 4); h = pickle.loads(pickle.dumps(g)); "
        "h.minhash([1] * 8) == g.minhash([1] * 8)\n"
        "copy.deepcopy(g).minhash([2] * 8)"
    ),
    "the vector stays as it is": "g = WeightedMinHashGenerator(4, 4); v = np.array([1, 0, 2, 0], np.float32); "
    "g.minhash(v); v",
    "the matrix stays as it is": "g = WeightedMinHashGenerator(4, 4); v = sparse.csr_matrix(np.eye(4)); "
    "len(g.minhash_many(v)); v.toarray()",
    "a long vector": "WeightedMinHashGenerator(300, 64).minhash(np.random.RandomState(5).gamma(1, 3, 300))",
    "a long matrix": "WeightedMinHashGenerator(60, 32).minhash_many(np.random.RandomState(5).poisson(1, (40, 60)))",
}

MINHASH = {f"minhash, {what}": f"WeightedMinHashGenerator(8, 16).minhash({vector})" for what, vector in VECTORS.items()}
MANY = {
    f"minhash_many, {what}": f"WeightedMinHashGenerator(8, 16).minhash_many({rows})" for what, rows in MATRICES.items()
}

TWO = (
    "g = WeightedMinHashGenerator(8, 64); "
    "a, b = g.minhash([1, 2, 3, 4, 0, 0, 1, 1]), g.minhash([1, 2, 4, 2, 0, 1, 1, 0])\n"
)
WEIGHTED = {
    "by hand": "a = WeightedMinHash(1, np.array([[1, 2], [3, 4]])); a; a.seed; a.hashvalues; len(a); a.digest()",
    "by name": "WeightedMinHash(seed=1, hashvalues=np.array([[1, 2]]))",
    "of a list": "a = WeightedMinHash(1, [[1, 2], [3, 4]]); len(a); a.jaccard(WeightedMinHash(1, [[1, 2], [3, 5]]))",
    "without values": "WeightedMinHash(1)",
    "jaccard": TWO + "a.jaccard(b); b.jaccard(a); a.jaccard(a); a == b; a == a",
    "what it is": TWO + "type(a.hashvalues).__name__; a.hashvalues.dtype.name; a.hashvalues.shape; len(a); a.seed",
    **{
        f"jaccard of {what}": f"WeightedMinHashGenerator(2, 4).minhash([1, 2]).jaccard({other})"
        for what, other in {
            "another seed": "WeightedMinHashGenerator(2, 4, 2).minhash([1, 2])",
            "another length": "WeightedMinHashGenerator(2, 5).minhash([1, 2])",
            "another dim": "WeightedMinHashGenerator(3, 4).minhash([1, 2, 3])",
            "a MinHash": "MinHash(4)",
            "text": "'a'",
            "None": "None",
        }.items()
    },
    "digest and copy": TWO + "c = a.copy(); d = a.digest(); d[:] = 0; a == c; c.hashvalues[:] = 0; a == c; a",
    "copies": TWO + "copy.copy(a) == a; copy.deepcopy(a) == a; pickle.loads(pickle.dumps(a)) == a; "
    "pickle.loads(pickle.dumps(a))",
    "equality": TWO + "a == WeightedMinHash(2, a.hashvalues); a == WeightedMinHash(1, a.hashvalues); a == 'a'; "
    "a != b; a == None",
    "no hash": "hash(WeightedMinHash(1, np.zeros((2, 2))))",
}

CASES = {
    "WeightedMinHashGenerator": GENERATOR,
    "WeightedMinHashGenerator.minhash": MINHASH,
    "WeightedMinHashGenerator.minhash_many": MANY,
    "WeightedMinHash": WEIGHTED,
}
