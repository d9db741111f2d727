"""MinHashLSHEnsemble: its recall and precision beside datasketch, and the equal slots that it asks for."""

import pickle
from functools import cache
from math import comb

import numpy as np
import pytest

from lshfast.datasketch import LeanMinHash, MinHash, MinHashLSHEnsemble, lshensemble
from lshfast.datasketch.lshensemble_search import CELLS, cutoffs_of


@cache
def random_sets(count):
    """Return sets of 10 to 2,000 of 20,000 elements. Hardly any contains more than a tenth of another."""
    rng = np.random.default_rng(3)
    sizes = np.exp(rng.uniform(np.log(10), np.log(2001), count)).astype(int).tolist()
    return tuple(
        frozenset(rng.choice(20_000, size, replace=False).tolist()) for size in sizes
    )


@cache
def planted_sets(size, queries):
    """Return queries of this size, and for each 40 sets of 10 to 2,000 elements that contain a part of it."""
    rng, sets, asked = np.random.default_rng(size), [], []
    for first in range(0, queries * size, size):
        asked.append(frozenset(range(first, first + size)))
        for _ in range(40):
            whole = int(np.exp(rng.uniform(np.log(10), np.log(2001))))
            common = min(round(rng.uniform() * size), whole)
            fresh = 10**6 + 2001 * len(sets)
            sets.append(
                frozenset(
                    [
                        *range(first, first + common),
                        *range(fresh, fresh + whole - common),
                    ]
                )
            )
    return tuple(sets), tuple(asked)


@cache
def sketches_of(sets):
    return MinHash.bulk([[b"%d" % token for token in tokens] for tokens in sets])


@cache
def relevant_to(asked, sets, threshold):
    """Return the keys of the sets that each query should find."""
    return [
        {
            key
            for key, tokens in enumerate(sets)
            if len(query & tokens) >= threshold * len(query)
        }
        for query in asked
    ]


def rates(made, sets, asked, threshold, take=LeanMinHash):
    """Return recall and precision of a new ensemble over these sets."""
    made.index(
        [
            (key, take(sketch), len(sets[key]))
            for key, sketch in enumerate(sketches_of(sets))
        ]
    )
    found = right = relevant = 0
    for sketch, query, wanted in zip(
        sketches_of(asked), asked, relevant_to(asked, sets, threshold), strict=True
    ):
        answer = list(made.query(take(sketch), len(query)))
        assert len(set(answer)) == len(answer)
        found = found + len(answer)
        right = right + len(wanted & set(answer))
        relevant = relevant + len(wanted)
    return right / relevant, right / found


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    ("threshold", "precision"),
    [
        (0.7, 0.5),
        (0.9, 0.99),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in [(0.8, 0.95), (0.95, 0.99)]
        ),
    ],
)
def test_few_sets_reach_the_threshold(threshold, precision):
    """Almost only the query itself contains as much of it; large sets that contain little of it are left out."""
    sets = random_sets(300)
    found = rates(MinHashLSHEnsemble(threshold), sets, sets[::3], threshold)
    assert found[0] == 1
    assert found[1] >= precision


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("threshold", "recall", "precision"),
    [(0.3, 0.98, 0.8), (0.6, 0.95, 0.65), (0.9, 0.6, 0.5)],
)
def test_many_sets_reach_the_threshold(threshold, recall, precision):
    found = rates(MinHashLSHEnsemble(threshold), *planted_sets(100, 20), threshold)
    assert found[0] >= recall
    assert found[1] >= precision


@pytest.mark.weekly
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.95])
def test_recall_and_precision_beside_datasketch(threshold):
    """At least the recall, at no less precision, whether many sets reach the threshold or few."""
    peer, few = pytest.importorskip("datasketch"), random_sets(300)
    for sets, asked in (planted_sets(20, 20), planted_sets(100, 30), (few, few[::3])):
        theirs = rates(
            peer.MinHashLSHEnsemble(threshold), sets, asked, threshold, peer.LeanMinHash
        )
        ours = rates(MinHashLSHEnsemble(threshold), sets, asked, threshold)
        assert ours[0] >= theirs[0]
        assert ours[1] >= theirs[1]


@pytest.mark.slow
def test_a_greater_weight_of_false_negatives_finds_more():
    sets, asked = planted_sets(50, 10)
    recalls = [
        rates(MinHashLSHEnsemble(0.8, weights=(1 - w, w)), sets, asked, 0.8)[0]
        for w in (0.1, 0.5, 0.9)
    ]
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[2]


def at_least(equal, slots, s):
    """Return the probability that at least so many of the slots are equal, each with probability s."""
    return sum(
        comb(slots, n) * s**n * (1 - s) ** (slots - n) for n in range(equal, slots + 1)
    )


@pytest.mark.parametrize("slots", [2, 16, 100])
def test_sets_at_the_threshold_are_found_as_often_as_by_bands(slots):
    params = tuple(
        (bands, rows)
        for rows in (1, 2)
        for bands in {1, 2, slots // 2}
        if bands * rows <= slots
    )
    cutoffs = cutoffs_of(params, slots)
    assert cutoffs.shape == (len(params), CELLS)
    assert (np.diff(cutoffs) >= 0).all()
    for row, (bands, rows) in zip(cutoffs.tolist(), params, strict=True):
        for cell in (0, 7, 100, 1000, 2048, 4000, CELLS - 1):
            s = (cell + 0.5) / CELLS
            assert 1 <= row[cell] <= slots
            assert at_least(row[cell], slots, s) >= (1 - (1 - s**rows) ** bands) * (
                1 - 1e-6
            )


def test_one_equal_slot_is_enough_where_each_slot_is_a_band():
    assert (cutoffs_of(((16, 1),), 16)[0, : CELLS // 4] == 1).all()


def test_the_first_query_builds_nothing(monkeypatch):
    """`index` and the reading of a pickle make the trees and the numbers of equal slots."""
    cutoffs_of.cache_clear()
    rows = MinHash.bulk([[b"%d" % (n // 2), b"a"] for n in range(60)])
    ensemble = MinHashLSHEnsemble(threshold=0.9, num_part=4)
    ensemble.index((n, row, 2 + n % 9) for n, row in enumerate(rows))
    read = pickle.loads(pickle.dumps(ensemble))
    monkeypatch.setattr(lshensemble, "Search", None)
    before = cutoffs_of.cache_info().misses
    for index in (ensemble, read):
        assert set(index.query(rows[0], 2)) >= {0, 1}
    assert cutoffs_of.cache_info().misses == before
