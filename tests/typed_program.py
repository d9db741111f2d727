"""A user's program, whose types checkers must know: `test_typing.py` runs it, and gives it to mypy and pyright."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from typing_extensions import assert_type

import lshfast
from lshfast.datasketch import MinHash, MinHashLSH, MinHashLSHEnsemble, MinHashLSHForest
from lshfast.exact import PrefixIndex
from lshfast.families import GaussianLines, plan_recall

texts = ["the cat sat on the mat", "The cat sat on the mat!", "a dog is no cat"]

# dedup and pairs

result = lshfast.dedup(texts, size=2, keep="longest", keys=["a", "b", "c"])
assert_type(result, lshfast.DedupResult)
assert_type(result.removed, list[lshfast.Removal])
assert_type(result.removed[0].similarity, float)
assert_type(result.summary.kept, int)
assert_type(result.keep, npt.NDArray[np.bool_])
frame = pl.DataFrame({"text": texts})
kept = lshfast.dedup(frame["text"], size=2).keep.tolist()
assert_type(lshfast.dedup(frame["text"], size=2), lshfast.DedupResult)
found = lshfast.pairs(texts, size=2, threshold=0.4)
assert_type(found, npt.NDArray[np.void])
better = lshfast.recommend(texts * 40)
assert_type(better.size, int)

# Stage by stage

sets = lshfast.shingle(texts, "word", 2)
assert_type(sets, lshfast.TokenSets)
hasher = lshfast.MinHasher(num_perm=128, scheme="fast")
signatures = hasher.sketch(sets)
one: npt.NDArray[np.uint64] = signatures[0]
assert_type(hasher.similarity(signatures, signatures), npt.NDArray[np.float64])
similarity: float = hasher.similarity(signatures[0], signatures[1])
assert_type(lshfast.sketch.estimate_sizes(signatures), npt.NDArray[np.float64])
size: float = lshfast.sketch.estimate_sizes(signatures[0], hasher)
bands = lshfast.choose_bands(0.8)
assert_type(bands, lshfast.Bands)
assert_type(bands.probability(0.8), np.float64)
assert_type(bands.probability([0.7, 0.8]), npt.NDArray[np.float64])

# An index

index = lshfast.LSHIndex(threshold=0.5, shingles="word:2")
assert_type(index.insert(["a", "b", "c"], texts), int)
assert_type(index.query("the cat sat on the mat"), list[Any])
assert_type(index.query(b"the cat sat on the mat", k=2), list[lshfast.index.Match])
assert_type(index.query("the cat sat on the mat", threshold=0.5)[0].similarity, float)
assert_type(index.query(texts), lshfast.index.Matches[Any])
assert_type(
    index.query(texts, k=1, threads=1), lshfast.index.Matches[lshfast.index.Match]
)
assert_type(index.query(signatures), lshfast.index.Matches[Any])
for answer in index.query(signatures, k=2):
    assert_type(answer, list[lshfast.index.Match])
matches: list[lshfast.index.Match] = index.query(signatures[0], k=2)
unknown: lshfast.index.Matches[lshfast.index.Match] | list[lshfast.index.Match] = (
    index.query(one, k=2)
)
assert_type(len(index), int)
assert_type(index.hasher, lshfast.MinHasher)
assert_type(index.bands, lshfast.Bands)
assert_type(index.stats().entries, int)
assert_type([similarity for _, _, similarity in index.pairs()], list[float])

# A forest, an ensemble

forest = lshfast.LSHForest()
assert_type(forest.insert(["a", "b", "c"], signatures), int)
assert_type(forest.query(signatures, k=2), lshfast.index.Matches[lshfast.index.Match])
assert_type(forest.query(signatures, k=2)[0][0].similarity, float)
nearest: list[lshfast.index.Match] = forest.query(signatures[0], 2)
assert_type(forest.trees, int)
ensemble = lshfast.LSHEnsemble(threshold=0.5)
assert_type(ensemble.insert(["a", "b", "c"], signatures, sets.distinct().counts), int)
assert_type(
    ensemble.query(signatures, sets.distinct().counts),
    lshfast.index.Matches[lshfast.index.Match],
)
assert_type(ensemble.query(signatures[0], 5), list[lshfast.index.Match])
assert_type(ensemble.recall, float)

# Other sketchers

codes = lshfast.SimHasher().sketch(sets)
assert_type(lshfast.SimHasher().distance(codes, codes), npt.NDArray[np.int64])
vectors = lshfast.sketch.SignSketcher(3, 64)
assert_type(vectors.dots(np.ones((2, 3))), npt.NDArray[np.float64])
assert_type(vectors.dots(np.ones((2, 3), np.int64)), npt.NDArray[np.int64])
counter = lshfast.DistinctCounter()
assert_type(counter.count(counter.sketch(sets)), npt.NDArray[np.float64])
weighted = lshfast.WeightedMinHasher()
weights = weighted.sketch(
    lshfast.WeightedSets.from_sets([{"milk": 2.0}, {"milk": 1.0}])
)
assert_type(weighted.similarity(weights, weights), npt.NDArray[np.float64])
packed = lshfast.sketch.BBits(4, hasher).sketch(sets)
assert_type(lshfast.sketch.BBits(4, hasher).standard_error(0.5), np.float64)

# Points and codes

place, places = np.zeros(2), np.ones((2, 2))
near = lshfast.NearNeighbors("euclidean", radius=2.0, dim=2, n=2)
near.insert([1, 2], places)
assert_type(near.query(place, k=1), list[lshfast.index.Neighbor])
assert_type(near.query(places, k=1), lshfast.index.NeighborLists)
assert_type(near.within(place), list[lshfast.index.Neighbor])
assert_type(near.near(place), lshfast.index.Neighbor | None)
assert_type(near.scan(places), lshfast.index.NeighborLists)
assert_type(near.pairs(), lshfast.index.NeighborPairs)
assert_type(near.plan.recall, float)
codes = np.array([[1], [3]], np.uint64)
hamming = lshfast.HammingIndex(64, radius=1)
hamming.insert([1, 2], codes)
assert_type(lshfast.dedup_codes(codes, 1), lshfast.index.hamming.CodeDedup)
assert_type(
    lshfast.hamming_pairs(codes, 1, recall=0.9, seed=2), lshfast.index.hamming.CodePairs
)
tanimoto = lshfast.TanimotoIndex(128, threshold=0.5)
tanimoto.insert([1, 2], places.astype(np.uint64))
assert_type(
    tanimoto.within(places.astype(np.uint64)),
    lshfast.index.Matches[lshfast.index.Match],
)
assert_type(
    tanimoto.query(places.astype(np.uint64), 1),
    lshfast.index.Matches[lshfast.index.Match],
)
assert_type(lshfast.tanimoto_pairs(codes, 0.5), lshfast.index.KeyPairs)
assert_type(
    tanimoto.query(places.astype(np.uint64), most=0.9),
    lshfast.index.Matches[lshfast.index.Match],
)
apart: lshfast.index.hamming.HammingMatches = hamming.query(codes, least=1)
assert_type(near.within(place, least=0.1), list[lshfast.index.Neighbor])
every_index: list[lshfast.index.Index] = [
    lshfast.LSHIndex(),
    lshfast.LSHForest(),
    lshfast.LSHEnsemble(),
    near,
    hamming,
    tanimoto,
    PrefixIndex(),
]
assert_type([len(index) for index in every_index], list[int])
family = GaussianLines(2, 1.0)
assert_type(
    family.and_(4).or_(8).collision_probability([0.5, 1.0]), npt.NDArray[np.float64]
)
assert_type(plan_recall(0.8, 128, recall=0.95).bands, int)


# The names of datasketch

first, second = MinHash(num_perm=64), MinHash(num_perm=64)
first.update_batch([b"the", b"cat"])
second.update(b"the")
assert_type(first.jaccard(second), float)
assert_type(first.hashfunc(b"the"), Any)
lsh = MinHashLSH(threshold=0.2, num_perm=64)
lsh.insert("first", first)
assert_type(lsh.query(first), list[Any])
assert_type(lsh.query(first, with_scores=True), list[tuple[Any, float]])
assert_type(lsh.b, int)
tree = MinHashLSHForest(num_perm=64)
tree.add("first", first)
tree.index()
assert_type(tree.query(first, 1), list[Any])
assert_type(tree.query(first, 1, with_scores=True), list[tuple[Any, float]])
contained = MinHashLSHEnsemble(num_perm=64)
contained.index([("first", first, 2)])
assert_type(contained.query(first, 2), Iterator[Any])
assert_type(contained.query(first, 2, with_scores=True), Iterator[tuple[Any, float]])


def of_files(path: Path | os.PathLike[str]) -> int:
    """Remove the near-duplicates of a file, and look up what an index holds."""
    summary = lshfast.dedup_files(path, "kept.jsonl", on_error="skip").summary
    with lshfast.LSHIndex.open(path, "r", verify=True) as opened:
        assert_type(opened, lshfast.LSHIndex)
        return summary.kept + len(opened)
