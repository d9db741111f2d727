"""Both verbs of every index: the entries near a query, and all pairs of entries that are near each other."""

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
from lshfast.families.sets import WeightedMinHashFamily

KEYS = ["one", "like it", "other"]
ROWS = [set(range(30)), set(range(1, 30)), set(range(100, 130))]
SETS = TokenSets.from_sets(ROWS)
SIGNATURES = MinHasher(128).sketch(SETS)
CODES = np.array([[0b111], [0b1111], [2**63]], np.uint64)
POINTS = np.array([[1, 0, 0], [1, 0.01, 0], [-1, 0, 1]], np.float32)

INDEXES = [
    (LSHIndex(0.5, 128), [SIGNATURES], {"k": 2}),
    (LSHForest(128), [SIGNATURES], {}),
    (LSHEnsemble(0.5, 128), [SIGNATURES, SETS.counts], {}),
    (HammingIndex(64, radius=2), [CODES], {"k": 2}),
    (TanimotoIndex(64, threshold=0.7), [CODES], {}),
    (NearNeighbors("angle", radius=0.2, dim=3, n=10), [POINTS], {}),
    (PrefixIndex(threshold=0.7), [ROWS], {}),
]


@pytest.mark.parametrize(
    ("index", "items", "nearest"),
    INDEXES,
    ids=[type(each[0]).__name__ for each in INDEXES],
)
def test_f33_many_one_and_many_many(index, items, nearest):
    index.insert(KEYS, *items)
    # An ensemble has both orders.
    assert {tuple(sorted(pair[:2])) for pair in index.pairs()} == {("like it", "one")}
    found = index.query(*(each[:1] for each in items), **nearest)
    assert [[match.key for match in answer] for answer in found] == [["one", "like it"]]
    index.remove(["like it"])
    assert list(index.pairs()) == []


HOLDS = ["set", "set", "set", "code", "code", "vector", "set"]


@pytest.mark.parametrize(
    ("case", "holds"),
    [*zip(INDEXES, HOLDS, strict=True)],
    ids=[type(each[0]).__name__ for each in INDEXES],
)
@pytest.mark.parametrize("keys", [["a", "b", "c"], [7, 8, 9]])
def test_an_index_says_what_it_holds(case, holds, keys, tmp_path):
    index, items, _ = case
    index.remove(list(index))
    index.insert(keys, *items)
    index.save(tmp_path / "index")
    index.remove(keys[1])
    assert index.contains(keys).tolist() == [True, False, True]
    assert (index.holds, index.key_kind) == (holds, type(keys[0]).__name__)
    opened = type(index).open(tmp_path / "index")
    assert (opened.holds, opened.key_kind, opened.contains(keys).all()) == (
        holds,
        type(keys[0]).__name__,
        True,
    )
    if hasattr(opened, "close"):
        opened.close()


def test_an_index_of_weighted_sets_says_so():
    assert LSHIndex(0.7, family=WeightedMinHashFamily(seed=1)).holds == "weighted"
    assert (
        LSHIndex(0.7, family=WeightedMinHashFamily(seed=1), shingles="weighted").holds
        == "weighted"
    )
    assert NearNeighbors("hamming", radius=2, dim=64, n=10).holds == "code"
    assert (LSHIndex().key_kind, LSHIndex().contains(["a"]).tolist()) == (None, [False])
