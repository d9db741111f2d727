"""What forests and ensembles are made of, and other attributes that programs look at."""

from __future__ import annotations

import copy
import importlib
import pickle

import numpy as np

from tests.datasketch.conformance.kit import each, given

SCHEMES = ("affine32", "affine64", "legacy")
ENSEMBLES = (
    (0.5, 64, 4, 4),
    (0.9, 128, 2, 8, (0.2, 0.8)),
    (0.2,),
    (0.99, 16, 2, 2),
    (0.0, 16, 2, 2),
)
R = ((1, 0.2, 0.2), (2, 0.2, 0.3), (3, 0.2, 0.2), (4, 0.1, 0.5), (8, 0.5, 0.5))


def forest(ds):
    made = ds.MinHashLSHForest(16, 4)
    for name, words in (("a", "x y z"), ("b", "x y z w"), ("c", "v"), ("d", "v")):
        made.add(name, ds.sketch(words, 16))
    return made


def tables(forest):
    """Return all that is in the tables of a forest."""
    names = [
        forest.hashtables[i][name]
        for key in forest.keys
        for i, name in enumerate(forest.keys[key])
    ]
    lengths = [len(table) for table in forest.hashtables]
    return (
        forest.keys,
        forest.hashtables,
        lengths,
        forest.sorted_hashtables,
        forest.hashranges,
        names,
    )


class Forest:
    @given(forest)
    def before_and_after_index(f):
        yield tables(f)
        yield f.index(), tables(f)

    def read_and_added_to(ds):
        f = forest(ds)
        yield f.hashtables, f.index()
        yield f.sorted_hashtables, f.add("e", ds.sketch("e", 16))
        yield f.index(), tables(f)

    def of_weighted_sketches(ds):
        f, generator = ds.MinHashLSHForest(16, 4), ds.WeightedMinHashGenerator(3, 16)
        for name, weights in (("a", [1, 2, 3]), ("b", [3, 2, 1])):
            f.add(name, generator.minhash(weights))
        yield tables(f)
        yield f.index(), tables(f)

    def pickled(ds):
        f = forest(ds)
        yield f.index()
        again = pickle.loads(pickle.dumps(f))
        yield (
            again.keys == f.keys,
            again.hashtables == f.hashtables,
            again.sorted_hashtables == f.sorted_hashtables,
        )
        yield (
            again.is_empty(),
            again.add("e", ds.sketch("e", 16)),
            again.index(),
            again.hashtables,
        )

    def keys_of_two(ds):
        f = forest(ds)
        return copy.deepcopy(f).keys == f.keys, f.keys == ds.MinHashLSHForest(
            16, 4
        ).keys

    @each("of scheme {}", SCHEMES)
    def of_scheme(ds, scheme):
        f = ds.MinHashLSHForest(8, 2)
        return (
            f.add("a", ds.sketch("a", 8, scheme=scheme)),
            f.keys,
            f.hashtables,
            f.get_minhash_hashvalues("a"),
        )


def ensemble(ds):
    entries = [
        (f"s{size}", ds.sketch(range(size), 64), size)
        for size in (5, 6, 20, 21, 80, 81, 82, 320)
    ]
    return ds.MinHashLSHEnsemble(0.8, 64, 3, 4), entries


def partitions(ds, sizes, counts, number):
    module = importlib.import_module(f"{ds.package.__name__}.lshensemble_partition")
    return module.optimal_partitions(np.array(sizes), np.array(counts), number)


ON_ENSEMBLE = {
    "before index": lambda e, entries: (
        e.lowers,
        e.uppers,
        e.xqs,
        e.params,
        len(e.indexes),
        sorted(map(int, e.indexes[0])),
    ),
}
ENSEMBLE = {
    **each("params {}", ENSEMBLES)(
        lambda ds, arguments: (e := ds.MinHashLSHEnsemble(*arguments), e.params, e.xqs)
    ),
    **each("partitions, {} of them", (0, 1, 2, 3, 5, 9))(
        lambda ds, n: partitions(ds, [1, 2, 50, 60, 900], [5, 5, 5, 5, 1], n)
    ),
    "partitions of a single size": lambda ds: partitions(ds, [1], [5], 3),
    "partitions, a single size first": lambda ds: partitions(
        ds, [70, 86, 114, 194, 249], [15, 2, 3, 11, 16], 4
    ),
}


class Ensemble:
    @given(ensemble)
    def read_before_index(e, entries):
        yield e.lowers
        yield e.indexes[0][1]

    @given(ensemble)
    def after_index(e, entries):
        yield e.index(entries), e.lowers, e.uppers
        indexes = [i for d in e.indexes for _, i in sorted(d.items())]
        yield (
            [[key in i for key, _, _ in entries] for i in indexes],
            [(i.b, i.r, i.h) for i in indexes],
        )


class Written:
    def of_a_seed(ds):
        m = ds.MinHash(8)
        m.permutations[0][:] = 1
        return m.update(b"a"), m

    def read(ds):
        m = ds.MinHash(8)
        return m.permutations, m.permutations is m.permutations, m.copy().permutations


@each("b {0[0]}, r {0[1]}, {0[2]}", R)
def jaccard(ds, arguments):
    b, r, other = arguments
    return ds.bBitMinHash(ds.sketch(range(60)), b, r).jaccard(
        ds.bBitMinHash(ds.sketch(range(30, 90)), b, other)
    )


class Saved:
    def by_attributes(ds):
        g = ds.WeightedMinHashGenerator(4, 8, 3)
        h = ds.WeightedMinHashGenerator.__new__(ds.WeightedMinHashGenerator)
        h.dim, h.sample_size, h.seed, h.rs, h.ln_cs, h.betas = (
            4,
            8,
            3,
            g.rs,
            g.ln_cs,
            g.betas,
        )
        return h.minhash([1, 2, 3, 4]), h.minhash([1, 2, 3, 4]) == g.minhash(
            [1, 2, 3, 4]
        )


GROUPS = {
    "parts of a forest": (Forest,),
    "parts of an ensemble": (ENSEMBLE, given(ensemble)(ON_ENSEMBLE), Ensemble),
    "permutations that are written to": (Written,),
    "bBitMinHash with r": (jaccard,),
    "a generator of saved arrays": (Saved,),
}
