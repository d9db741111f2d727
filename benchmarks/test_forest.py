"""The forest and the ensemble on one thread: 50,000 signatures in groups of 20, which are to be told apart."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from conftest import Measure
from data import grouped_signatures

from lshfast import LSHEnsemble, LSHForest
from lshfast._common.types import UInt64Array

pytestmark = pytest.mark.benchmark(group="forest", max_time=0.5)

GROUPS, SIZE, ONES = 2_500, 20, 1_000
N, ITEMS, QUERIES = GROUPS * SIZE, "M items/s", "M queries/s"


@pytest.fixture(scope="module")
def made() -> tuple[UInt64Array, UInt64Array]:
    """Return entries, and queries of which each has a group of near ones."""
    shares = np.random.default_rng(1).uniform(0.3, 0.95, (GROUPS, SIZE))
    signatures, _, centres = grouped_signatures(shares, 128)
    return signatures, centres


@pytest.fixture
def forest(made: tuple[UInt64Array, UInt64Array]) -> LSHForest:
    forest = LSHForest()
    forest.insert(range(N), made[0])
    return forest


def test_insert(measure: Measure, made: tuple[UInt64Array, UInt64Array]) -> None:
    assert (
        measure("insert", ITEMS, N, lambda: LSHForest().insert(range(N), made[0])) == N
    )


def test_query(
    measure: Measure, forest: LSHForest, made: tuple[UInt64Array, UInt64Array]
) -> None:
    found = measure(
        "top 10", QUERIES, GROUPS, partial(forest.query, made[1], threads=1)
    )
    assert len(found.keys) == 10 * GROUPS


def test_query_one_at_a_time(
    measure: Measure, forest: LSHForest, made: tuple[UInt64Array, UInt64Array]
) -> None:
    rows = list(made[1][:ONES])
    found = measure(
        "top 10, one at a time",
        QUERIES,
        ONES,
        lambda: [forest.query(row, threads=1) for row in rows],
    )
    assert all(len(matches) == 10 for matches in found)


def test_insert_and_remove_one_at_a_time(
    measure: Measure, forest: LSHForest, made: tuple[UInt64Array, UInt64Array]
) -> None:
    rows = list(enumerate(made[1][:ONES], N))

    def in_and_out() -> None:
        for key, signature in rows:
            forest.insert(key, signature)
        for key, _ in rows:
            forest.remove(key)

    measure("insert and remove, one at a time", ITEMS, ONES, in_and_out)
    assert len(forest) == N


def test_containment(measure: Measure, made: tuple[UInt64Array, UInt64Array]) -> None:
    signatures, queries = made
    sizes = np.random.default_rng(1).integers(100, 1_000, N)
    ensemble = LSHEnsemble()
    ensemble.insert(range(N), signatures, sizes)
    asked = np.full(GROUPS, 100)
    found = measure(
        "containment of 0.8",
        QUERIES,
        GROUPS,
        partial(ensemble.query, queries, asked, threads=1),
    )
    assert len(found) == GROUPS
    assert found.similarity.min() >= 0.8
