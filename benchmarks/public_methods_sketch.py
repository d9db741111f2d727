"""What benchmarks/public_methods.py measures of the sketches, the forest and the ensemble."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from contest import PERMUTATIONS, SEED
from public_methods import Call, Method

WORDS = [b"token-%d" % i for i in range(200)]
OTHERS = [b"token-%d" % i for i in range(50, 250)]
ENTRIES = 2_000
DIM = 200


@cache
def minhashes(library: Any) -> tuple[Any, Any]:
    pair = library.MinHash(PERMUTATIONS), library.MinHash(PERMUTATIONS)
    for sketch, words in zip(pair, (WORDS, OTHERS), strict=True):
        sketch.update_batch(words)
    return pair


@cache
def crowd(library: Any) -> list[Any]:
    """Return 500 sketches."""
    return library.MinHash.bulk(
        [[b"%d" % (row + i) for i in range(20)] for row in range(500)],
        num_perm=PERMUTATIONS,
    )


@cache
def leans(library: Any) -> tuple[Any, Any]:
    first, second = minhashes(library)
    return library.LeanMinHash(first), library.LeanMinHash(second)


@cache
def bits(library: Any) -> tuple[Any, Any]:
    first, second = minhashes(library)
    return library.bBitMinHash(first, 4), library.bBitMinHash(second, 4)


@cache
def counters(library: Any, kind: str, p: int = 8, tokens: int = 200) -> tuple[Any, Any]:
    pair = getattr(library, kind)(p), getattr(library, kind)(p)
    for sketch, words in zip(pair, (WORDS, OTHERS), strict=True):
        for word in words[:tokens]:
            sketch.update(word)
    return pair


@cache
def generator(library: Any) -> Any:
    return library.WeightedMinHashGenerator(DIM, PERMUTATIONS, SEED)


@cache
def weighted(library: Any) -> tuple[Any, Any]:
    rows = np.random.default_rng(SEED).uniform(0, 5, (2, DIM))
    return tuple(generator(library).minhash(row) for row in rows)


@cache
def entries(library: Any) -> list[tuple[str, Any, int]]:
    """Return keys, sketches and sizes of sets that overlap those beside them."""
    made = []
    for number in range(ENTRIES):
        size = 20 + number * 37 % 180
        sketch = library.MinHash(PERMUTATIONS)
        sketch.update_batch([b"%d" % (number * 10 + i) for i in range(size)])
        made.append((f"key {number}", library.LeanMinHash(sketch), size))
    return made


@cache
def forest(library: Any) -> Any:
    made = library.MinHashLSHForest(PERMUTATIONS)
    for key, sketch, _ in entries(library):
        made.add(key, sketch)
    made.index()
    return made


@cache
def ensemble(library: Any) -> Any:
    made = library.MinHashLSHEnsemble(0.8, PERMUTATIONS)
    made.index(list(entries(library)))
    return made


def of(
    made: Callable[..., Any], call: Callable[..., object], *arguments: Any
) -> Callable[[Any], Call]:
    """Prepare a call on what is made, whose parts are the arguments of the call if it is a tuple."""

    def prepare(library: Any) -> Call:
        found = made(library, *arguments)
        if isinstance(found, tuple):
            first, second = found
            return lambda: call(first, second)
        return lambda: call(found)

    return prepare


def loaded(made: Callable[..., Any], *arguments: Any) -> Callable[[Any], Call]:
    """Prepare the reading of a pickle."""

    def prepare(library: Any) -> Call:
        found = made(library, *arguments)
        data = pickle.dumps(found[0] if isinstance(found, tuple) else found)
        return lambda: pickle.loads(data)

    return prepare


def making(name: str, *arguments: Any) -> Callable[[Any], Call]:
    """Prepare a call of a class or function of the library."""

    return lambda library: partial(getattr(library, name), *arguments)


def shared(
    name: str, made: Callable[..., Any], *arguments: Any, merges: bool = True
) -> list[Method]:
    """Return the methods that all sketches have."""
    calls: dict[str, Callable[[Any, Any], object]] = {
        "copy": lambda a, b: a.copy(),
        "digest": lambda a, b: a.digest(),
        "==": lambda a, b: a == b,
        "len": lambda a, b: len(a),
        "copy.copy": lambda a, b: copy.copy(a),
        "copy.deepcopy": lambda a, b: copy.deepcopy(a),
        "pickle.dumps": lambda a, b: pickle.dumps(a),
    }
    if merges:
        calls |= {
            "count": lambda a, b: a.count(),
            "is_empty": lambda a, b: a.is_empty(),
            "merge": lambda a, b: a.merge(b),
            "union": lambda a, b: type(a).union(a, b),
        }
    found = [
        Method(
            f"{name}.{what}" if what.isalpha() else f"{what}({name})",
            of(made, call, *arguments),
        )
        for what, call in calls.items()
    ]
    return [*found, Method(f"pickle.loads({name})", loaded(made, *arguments))]


def of_minhash() -> list[Method]:
    many = [[b"%d" % (row + i) for i in range(50)] for row in range(100)]

    def own(
        call: Callable[[Any], object], words: list[bytes] = WORDS
    ) -> Callable[[Any], Call]:
        def prepare(library: Any) -> Call:
            sketch = library.MinHash(PERMUTATIONS)
            sketch.update_batch(words)
            return lambda: call(sketch)

        return prepare

    def after_copy(call: Callable[[Any], object]) -> Callable[[Any], Call]:
        def prepare(library: Any) -> Call:
            sketch = minhashes(library)[0].copy()
            sketch.copy()
            return lambda: call(sketch)

        return prepare

    def given(library: Any) -> Call:
        first, _ = minhashes(library)
        values, permutations = first.hashvalues, first.permutations
        return partial(
            library.MinHash,
            hashvalues=values,
            permutations=permutations,
            scheme="affine32",
        )

    def of_values(library: Any) -> Call:
        values = minhashes(library)[0].hashvalues
        return partial(library.MinHash, hashvalues=values, scheme="affine32")

    def listed(library: Any) -> Call:
        kind = library.MinHash
        return lambda: list(kind.generator(many))

    def function(data: bytes) -> int:
        return len(data)

    def with_function(library: Any) -> Call:
        sketch = library.MinHash(PERMUTATIONS, hashfunc=function)
        return lambda: sketch.update_batch(WORDS)

    return [
        Method("MinHash()", making("MinHash")),
        Method("MinHash(hashvalues)", of_values),
        Method("MinHash(hashvalues, permutations)", given),
        Method("MinHash.update", own(lambda sketch: sketch.update(b"token"))),
        Method("MinHash.update_batch", own(lambda sketch: sketch.update_batch(WORDS))),
        Method(
            "MinHash.update_batch, 1 token",
            own(lambda sketch: sketch.update_batch([b"token"])),
        ),
        Method("MinHash.update_batch, hashfunc", with_function),
        Method("MinHash.jaccard", of(minhashes, lambda a, b: a.jaccard(b))),
        Method("MinHash.clear", own(lambda sketch: sketch.clear())),
        Method("MinHash.bulk", lambda library: partial(library.MinHash.bulk, many)),
        Method("MinHash.generator", listed),
        Method("MinHash.hashvalues", of(minhashes, lambda a, b: a.hashvalues)),
        Method("MinHash.permutations", of(minhashes, lambda a, b: a.permutations)),
        Method("MinHash.hashfunc", of(minhashes, lambda a, b: a.hashfunc)),
        Method(
            "MinHash.hashvalues, copied before",
            after_copy(lambda sketch: sketch.hashvalues),
        ),
        Method(
            "MinHash.permutations, copied before",
            after_copy(lambda sketch: sketch.permutations),
        ),
        Method("MinHash.seed", of(minhashes, lambda a, b: a.seed)),
        Method(
            "MinHash.union of 500",
            lambda library: partial(library.MinHash.union, *crowd(library)),
        ),
        *shared("MinHash", minhashes),
        Method("sha1_hash32", making("sha1_hash32", b"token")),
        Method("sha1_hash64", making("sha1_hash64", b"token")),
    ]


def of_lean() -> list[Method]:
    def parts(library: Any) -> Call:
        values = leans(library)[0].hashvalues
        return partial(
            library.LeanMinHash, seed=SEED, hashvalues=values, scheme="affine32"
        )

    def to_buffer(library: Any) -> Call:
        lean = leans(library)[0]
        buffer = bytearray(lean.bytesize())
        return lambda: lean.serialize(buffer)

    def from_buffer(library: Any) -> Call:
        lean = leans(library)[0]
        buffer = bytearray(lean.bytesize())
        lean.serialize(buffer)
        return partial(library.LeanMinHash.deserialize, buffer)

    def of_minhash(library: Any) -> Call:
        sketch = minhashes(library)[0]
        return partial(library.LeanMinHash, sketch)

    def united(library: Any) -> Call:
        return partial(
            library.LeanMinHash.union, *map(library.LeanMinHash, crowd(library))
        )

    return [
        Method("LeanMinHash.union of 500", united),
        Method("LeanMinHash(minhash)", of_minhash),
        Method("LeanMinHash(hashvalues)", parts),
        Method("LeanMinHash.jaccard", of(leans, lambda a, b: a.jaccard(b))),
        Method("LeanMinHash.bytesize", of(leans, lambda a, b: a.bytesize())),
        Method("LeanMinHash.serialize", to_buffer),
        Method("LeanMinHash.deserialize", from_buffer),
        Method("hash(LeanMinHash)", of(leans, lambda a, b: hash(a))),
        *shared("LeanMinHash", leans),
    ]


def of_bits() -> list[Method]:
    def made(b: int) -> Callable[[Any], Call]:
        def prepare(library: Any) -> Call:
            sketch = minhashes(library)[0]
            return partial(library.bBitMinHash, sketch, b)

        return prepare

    return [
        Method("bBitMinHash(b=1)", made(1)),
        Method("bBitMinHash(b=8)", made(8)),
        Method("bBitMinHash.jaccard", of(bits, lambda a, b: a.jaccard(b))),
        Method("bBitMinHash.bytesize", of(bits, lambda a, b: a.bytesize())),
        Method("bBitMinHash ==", of(bits, lambda a, b: a == b)),
        Method("pickle.dumps(bBitMinHash)", of(bits, lambda a, b: pickle.dumps(a))),
        Method("pickle.loads(bBitMinHash)", loaded(bits)),
    ]


def of_counters(kind: str) -> list[Method]:
    def registers(library: Any) -> Call:
        return partial(getattr(library, kind), reg=counters(library, kind)[0].reg)

    def to_buffer(library: Any) -> Call:
        counter = counters(library, kind)[0]
        buffer = bytearray(counter.bytesize())
        return lambda: counter.serialize(buffer)

    def from_buffer(library: Any) -> Call:
        counter = counters(library, kind)[0]
        buffer = bytearray(counter.bytesize())
        counter.serialize(buffer)
        return partial(getattr(library, kind).deserialize, buffer)

    def updated(library: Any) -> Call:
        counter = getattr(library, kind)(8)
        return lambda: counter.update(b"token")

    def changing(library: Any) -> Call:
        counter, tokens = (
            getattr(library, kind)(8),
            iter([b"%d" % i for i in range(2_000_000)]),
        )
        return lambda: counter.update(next(tokens))

    def cleared(library: Any) -> Call:
        counter = getattr(library, kind)(8)
        return lambda: counter.clear()

    def of_p(p: int) -> Callable[[Any], Call]:
        return making(kind, p)

    def united(library: Any) -> Call:
        counter = counters(library, kind)[0]
        return partial(type(counter).union, *(counter.copy() for _ in range(500)))

    return [
        *(
            Method(
                f"{kind}.count, {n} tokens, p={p}",
                of(counters, lambda a, b: a.count(), kind, p, n),
            )
            for p in (8, 14)
            for n in (0, 60)
        ),
        Method(f"{kind}.union of 500", united),
        Method(f"{kind}()", of_p(8)),
        Method(f"{kind}(p=14)", of_p(14)),
        Method(f"{kind}(reg)", registers),
        Method(f"{kind}.update", updated),
        Method(f"{kind}.update, other tokens", changing),
        Method(f"{kind}.clear", cleared),
        Method(f"{kind}.serialize", to_buffer),
        Method(f"{kind}.deserialize", from_buffer),
        Method(f"{kind}.bytesize", of(counters, lambda a, b: a.bytesize(), kind)),
        Method(f"{kind}.reg", of(counters, lambda a, b: a.reg, kind)),
        *shared(kind, counters, kind),
    ]


def of_weighted() -> list[Method]:
    vector = np.random.default_rng(SEED).uniform(0, 5, DIM)
    matrix = np.random.default_rng(SEED).uniform(0, 5, (20, DIM))

    def parts(library: Any) -> Call:
        values = weighted(library)[0].hashvalues
        return partial(library.WeightedMinHash, SEED, values)

    return [
        Method("WeightedMinHash()", parts),
        Method("WeightedMinHash.jaccard", of(weighted, lambda a, b: a.jaccard(b))),
        *shared("WeightedMinHash", weighted, merges=False),
        Method(
            "WeightedMinHashGenerator()",
            making("WeightedMinHashGenerator", DIM, PERMUTATIONS),
        ),
        Method(
            "WeightedMinHashGenerator.minhash",
            of(generator, lambda made: made.minhash(vector)),
        ),
        Method(
            "WeightedMinHashGenerator.minhash_many",
            of(generator, lambda made: made.minhash_many(matrix)),
        ),
        Method("WeightedMinHashGenerator.rs", of(generator, lambda made: made.rs)),
        Method("pickle.dumps(WeightedMinHashGenerator)", of(generator, pickle.dumps)),
        Method("pickle.loads(WeightedMinHashGenerator)", loaded(generator)),
        Method("copy.deepcopy(WeightedMinHashGenerator)", of(generator, copy.deepcopy)),
    ]


def of_forest() -> list[Method]:
    def added(library: Any) -> Call:
        made = library.MinHashLSHForest(PERMUTATIONS)
        for key, sketch, _ in entries(library)[:1000]:
            made.add(key, sketch)
        _, sketch, _ = entries(library)[1000]
        return lambda: made.add("new", sketch)

    def filled(library: Any) -> Call:
        found = entries(library)

        def fill() -> object:
            made = library.MinHashLSHForest(PERMUTATIONS)
            for key, sketch, _ in found:
                made.add(key, sketch)
            made.index()
            return made

        return fill

    def indexed(library: Any) -> Call:
        made = library.MinHashLSHForest(PERMUTATIONS)
        for key, sketch, _ in entries(library):
            made.add(key, sketch)
        return made.index

    def query(k: int) -> Callable[[Any], Call]:
        def prepare(library: Any) -> Call:
            made, (_, sketch, _) = forest(library), entries(library)[700]
            return lambda: made.query(sketch, k)

        return prepare

    def bucket(library: Any) -> Call:
        made = forest(library)
        name = made.keys["key 7"][0]
        return lambda: made.hashtables[0][name]

    return [
        Method("MinHashLSHForest()", making("MinHashLSHForest", PERMUTATIONS)),
        Method("MinHashLSHForest.add", added, once=True),
        Method("MinHashLSHForest.index", indexed, once=True),
        Method("MinHashLSHForest.add of 2,000, and index", filled),
        Method("MinHashLSHForest.query(k=1)", query(1)),
        Method("MinHashLSHForest.query(k=10)", query(10)),
        Method(
            "MinHashLSHForest.get_minhash_hashvalues",
            of(forest, lambda made: made.get_minhash_hashvalues("key 7")),
        ),
        Method("MinHashLSHForest.is_empty", of(forest, lambda made: made.is_empty())),
        Method("in MinHashLSHForest", of(forest, lambda made: "key 7" in made)),
        Method(
            "MinHashLSHForest.keys[key]", of(forest, lambda made: made.keys["key 7"])
        ),
        Method(
            "MinHashLSHForest.keys.items()",
            of(forest, lambda made: [*made.keys.items()]),
        ),
        Method("MinHashLSHForest.hashranges", of(forest, lambda made: made.hashranges)),
        Method(
            "MinHashLSHForest.hashtables[0]",
            of(forest, lambda made: made.hashtables[0]),
        ),
        Method("MinHashLSHForest.hashtables[0][name]", bucket),
        Method(
            "MinHashLSHForest.hashtables, iterated",
            of(forest, lambda made: [[*table.items()] for table in made.hashtables]),
        ),
        Method(
            "MinHashLSHForest.sorted_hashtables[0]",
            of(forest, lambda made: made.sorted_hashtables[0]),
        ),
        Method("copy.deepcopy(MinHashLSHForest)", of(forest, copy.deepcopy)),
        Method("pickle.dumps(MinHashLSHForest)", of(forest, pickle.dumps)),
        Method("pickle.loads(MinHashLSHForest)", loaded(forest)),
    ]


def of_ensemble() -> list[Method]:
    def indexed(library: Any) -> Call:
        made = library.MinHashLSHEnsemble(0.8, PERMUTATIONS)
        found = list(entries(library))
        return lambda: made.index(found)

    def indexed_and_queried(library: Any) -> Call:
        made = library.MinHashLSHEnsemble(0.8, PERMUTATIONS)
        found = list(entries(library))
        _, sketch, held = found[51]

        def call() -> None:
            made.index(found)
            list(made.query(sketch, held))

        return call

    def query(number: int, size: int | None = None) -> Callable[[Any], Call]:
        def prepare(library: Any) -> Call:
            made, (_, sketch, held) = ensemble(library), entries(library)[number]
            return lambda: [*made.query(sketch, size or held)]

        return prepare

    return [
        Method("MinHashLSHEnsemble()", making("MinHashLSHEnsemble", 0.8, PERMUTATIONS)),
        Method("MinHashLSHEnsemble.index", indexed, once=True),
        Method("MinHashLSHEnsemble.index and query", indexed_and_queried, once=True),
        Method("MinHashLSHEnsemble.query, 20 elements", query(180)),
        Method("MinHashLSHEnsemble.query, 107 elements", query(51)),
        Method("MinHashLSHEnsemble.query, 199 elements", query(107)),
        Method("MinHashLSHEnsemble.query, no answer", query(107, 10_000)),
        Method(
            "MinHashLSHEnsemble.is_empty", of(ensemble, lambda made: made.is_empty())
        ),
        Method("in MinHashLSHEnsemble", of(ensemble, lambda made: "key 7" in made)),
        Method("MinHashLSHEnsemble.lowers", of(ensemble, lambda made: made.lowers)),
        Method("MinHashLSHEnsemble.uppers", of(ensemble, lambda made: made.uppers)),
        Method("MinHashLSHEnsemble.params", of(ensemble, lambda made: made.params)),
        Method("MinHashLSHEnsemble.xqs", of(ensemble, lambda made: made.xqs)),
        Method("MinHashLSHEnsemble.indexes", of(ensemble, lambda made: made.indexes)),
        Method("pickle.dumps(MinHashLSHEnsemble)", of(ensemble, pickle.dumps)),
        Method("pickle.loads(MinHashLSHEnsemble)", loaded(ensemble)),
    ]


def methods() -> list[Method]:
    """Return all public methods of sketches, forest and ensemble."""
    return [
        *of_minhash(),
        *of_lean(),
        *of_bits(),
        *of_counters("HyperLogLog"),
        *of_counters("HyperLogLogPlusPlus"),
        *of_weighted(),
        *of_forest(),
        *of_ensemble(),
    ]
