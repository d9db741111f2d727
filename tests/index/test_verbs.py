"""Both verbs of every index: the entries near a query, and all pairs of entries that are near each other."""

import numpy as np
import pytest

from lshfast import HammingIndex, LSHEnsemble, LSHForest, LSHIndex, MinHasher, NearNeighbors, TanimotoIndex, TokenSets
from lshfast.exact import PrefixIndex

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
    (TanimotoIndex(64, similarity=0.7), [CODES], {}),
    (NearNeighbors("angle", radius=0.2, dim=3, n=10), [POINTS], {}),
    (PrefixIndex(threshold=0.7), [ROWS], {}),
]


@pytest.mark.parametrize(("index", "items", "nearest"), INDEXES, ids=[type(each[0]).__name__ for each in INDEXES])
def test_f33_many_one_and_many_many(index, items, nearest):
    index.insert(KEYS, *items)
    assert {tuple(sorted(pair[:2])) for pair in index.pairs()} == {("like it", "one")}  # an ensemble has both orders
    found = index.query(*(each[:1] for each in items), **nearest)
    assert [[match.key for match in answer] for answer in found] == [["one", "like it"]]
    index.remove(["like it"])
    assert list(index.pairs()) == []
