"""What forests and ensembles are made of, and other attributes that programs look at."""

FOREST = """
forest = MinHashLSHForest(16, 4)
for name, words in (("a", "x y z"), ("b", "x y z w"), ("c", "v"), ("d", "v")):
    forest.add(name, sketch(words, num_perm=16))
"""
WEIGHTED = """
forest, generator = MinHashLSHForest(16, 4), WeightedMinHashGenerator(3, 16)
for name, weights in (("a", [1, 2, 3]), ("b", [3, 2, 1])):
    forest.add(name, generator.minhash(weights))
"""
TABLES = (
    "forest.keys; forest.hashtables; [len(t) for t in forest.hashtables]; forest.sorted_hashtables; forest.hashranges; "
    "[forest.hashtables[i][name] for key in forest.keys for i, name in enumerate(forest.keys[key])]\n"
)
ENSEMBLE = """
import importlib
partition = importlib.import_module(MinHash.__module__.rpartition(".")[0] + ".lshensemble_partition")
entries = [(f"s{size}", sketch(count(0, size), num_perm=64), size) for size in (5, 6, 20, 21, 80, 81, 82, 320)]
e = MinHashLSHEnsemble(0.8, 64, 3, 4)
"""
CASES = {
    "parts of a forest": {
        "before index": FOREST + TABLES,
        "after index": FOREST + "forest.index()\n" + TABLES,
        "read, and added to": FOREST
        + "forest.hashtables; forest.index(); forest.sorted_hashtables; forest.add('e', sketch('e', num_perm=16))\n"
        + "forest.index()\n"
        + TABLES,
        "of weighted sketches": WEIGHTED + TABLES + "forest.index()\n" + TABLES,
        "pickled": FOREST
        + "forest.index(); again = pickle.loads(pickle.dumps(forest)); again.keys == forest.keys; "
        + "again.hashtables == forest.hashtables; again.sorted_hashtables == forest.sorted_hashtables\n"
        + "again.is_empty()\n"
        + "again.add('e', sketch('e', num_perm=16)); again.index(); again.hashtables\n",
        "keys of two": FOREST
        + "copy.deepcopy(forest).keys == forest.keys; forest.keys == MinHashLSHForest(16, 4).keys",
        **{
            f"of scheme {scheme}": "f = MinHashLSHForest(8, 2); "
            f"f.add('a', sketch('a', num_perm=8, scheme={scheme!r})); "
            "f.keys; f.hashtables; f.get_minhash_hashvalues('a')"
            for scheme in ("affine32", "affine64", "legacy")
        },
    },
    "parts of an ensemble": {
        "before index": ENSEMBLE
        + "e.lowers; e.uppers; e.xqs; e.params; len(e.indexes); sorted(map(int, e.indexes[0]))",
        "after index": ENSEMBLE
        + "e.index(entries); e.lowers; e.uppers; [[key in i for key, _, _ in entries] for d in e.indexes "
        + "for _, i in sorted(d.items())]; [(i.b, i.r, i.h) for d in e.indexes for _, i in sorted(d.items())]\n",
        "read before index": ENSEMBLE + "e.lowers; e.indexes[0][1]; e.index(entries); e.uppers; e.lowers",
        **{
            f"params {arguments}": f"e = MinHashLSHEnsemble({arguments}); e.params; e.xqs"
            for arguments in ("0.5, 64, 4, 4", "0.9, 128, 2, 8, (0.2, 0.8)", "0.2", "0.99, 16, 2, 2", "0.0, 16, 2, 2")
        },
        "partitions": ENSEMBLE
        + "sizes, counts = np.array([1, 2, 50, 60, 900]), np.array([5, 5, 5, 5, 1])\n"
        + "[partition.optimal_partitions(sizes, counts, n) for n in (0, 1, 2, 3, 5, 9)]; "
        + "partition.optimal_partitions(sizes[:1], counts[:1], 3)",
        "partitions, a single size first": ENSEMBLE
        + "partition.optimal_partitions(np.array([70, 86, 114, 194, 249]), np.array([15, 2, 3, 11, 16]), 4)",
    },
    "permutations that are written to": {
        "of a seed": "m = MinHash(8); m.permutations[0][:] = 1; m.update(b'a'); m",
        "read": "m = MinHash(8); m.permutations; m.permutations is m.permutations; m.copy().permutations",
    },
    "bBitMinHash with r": {
        f"b {b}, r {r}, {other}": (
            f"a = bBitMinHash(sketch(count(0, 60)), {b}, {r}); b = bBitMinHash(sketch(count(30, 90)), {b}, {other}); "
            "a.jaccard(b)"
        )
        for b, r, other in ((1, 0.2, 0.2), (2, 0.2, 0.3), (3, 0.2, 0.2), (4, 0.1, 0.5), (8, 0.5, 0.5))
    },
    "a generator of saved arrays": {
        "by attributes": (
            "g, h = WeightedMinHashGenerator(4, 8, 3), WeightedMinHashGenerator.__new__(WeightedMinHashGenerator)\n"
            "h.dim, h.sample_size, h.seed, h.rs, h.ln_cs, h.betas = 4, 8, 3, g.rs, g.ln_cs, g.betas\n"
            "h.minhash([1, 2, 3, 4]); h.minhash([1, 2, 3, 4]) == g.minhash([1, 2, 3, 4])"
        ),
    },
}
