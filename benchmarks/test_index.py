"""The index in memory and in a file, on one thread: 50,000 signatures in 16 bands of 8 slots, a tenth of them near."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conftest import Measure
from data import planted_signatures
from stages import NS

from lshfast import LSHIndex
from lshfast._common.types import UInt64Array

pytestmark = pytest.mark.benchmark(group="index", max_time=0.5)

N, ONES = 50_000, 1_000
ITEMS, QUERIES = "M items/s", "M queries/s"
KEYS: dict[str, Sequence[int | str]] = {
    "int keys": range(N),
    "str keys": [f"document-{row:09}" for row in range(N)],
}


def new_index() -> LSHIndex:
    return LSHIndex(0.8, 128, bands=16, rows_per_band=8)


@pytest.fixture(scope="module")
def signatures() -> UInt64Array:
    return planted_signatures(N, 128)


@pytest.fixture
def index(signatures: UInt64Array) -> LSHIndex:
    """Return an index of all, with integers for keys."""
    index = new_index()
    index.insert(range(N), signatures)
    return index


@pytest.mark.parametrize("kind", KEYS)
def test_insert(measure: Measure, signatures: UInt64Array, kind: str) -> None:
    def insert() -> int:
        return new_index().insert(KEYS[kind], signatures)

    assert measure(f"insert, {kind}", ITEMS, N, insert) == N


@pytest.mark.parametrize("kind", KEYS)
def test_query(measure: Measure, signatures: UInt64Array, kind: str) -> None:
    index = new_index()
    index.insert(KEYS[kind], signatures)
    found = measure(
        f"query, {kind}", QUERIES, N, partial(index.query, signatures, threads=1)
    )
    assert len(found) == N
    assert len(found.keys) > N


@pytest.mark.parametrize(
    "choice", [{"threshold": 0.8}, {"k": 1}], ids=["threshold=0.8", "k=1"]
)
def test_query_with_similarity(
    measure: Measure, index: LSHIndex, signatures: UInt64Array, choice: dict[str, float]
) -> None:
    name = " and ".join(f"{what}={value}" for what, value in choice.items())
    found = measure(
        f"query, {name}",
        QUERIES,
        N,
        partial(index.query, signatures, threads=1, **choice),
    )
    assert len(found) == N
    assert found.similarity.min() >= choice.get("threshold", 1)


def test_insert_and_remove_one_at_a_time(
    measure: Measure, index: LSHIndex, signatures: UInt64Array
) -> None:
    rows = list(enumerate(signatures[:ONES], N))

    def in_and_out() -> None:
        for key, signature in rows:
            index.insert(key, signature)
        for key, _ in rows:
            index.remove(key)

    measure("insert and remove, one at a time", ITEMS, ONES, in_and_out)
    assert len(index) == N


def test_query_one_at_a_time(
    measure: Measure, index: LSHIndex, signatures: UInt64Array
) -> None:
    rows = list(signatures[:ONES])
    found = measure(
        "query, one at a time",
        QUERIES,
        ONES,
        lambda: [index.query(row, threads=1) for row in rows],
    )
    assert all(row in keys for row, keys in enumerate(found))


def test_insert_and_remove(
    measure: Measure, index: LSHIndex, signatures: UInt64Array
) -> None:
    tenth = signatures[: N // 10]
    keys = np.arange(N, N + len(tenth))

    def in_and_out() -> None:
        index.insert(keys, tenth)
        index.remove(keys)

    measure("insert and remove a tenth", ITEMS, len(keys), in_and_out)
    assert len(index) == N


def test_open_and_first_answer(
    measure: Measure, index: LSHIndex, signatures: UInt64Array, tmp_path: Path
) -> None:
    index.save(tmp_path / "index")

    def answer() -> list[object]:
        with LSHIndex.open(tmp_path / "index") as opened:
            return opened.query(signatures[0])

    assert 0 in measure("open a file, to the first answer", NS, 1, answer)
