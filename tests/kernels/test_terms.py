"""Products of rows of terms, and the rows with the greatest products, against the definition."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels.terms import TermIndex, TermRows
from tests.reference import terms as reference

TERMS = 7
ROWS = st.lists(
    st.dictionaries(
        st.integers(0, TERMS - 1), st.sampled_from([1e-100, 0.25, 0.3, 0.5, 1.0, 1e100])
    ),
    max_size=12,
)
ALIKE = [{0: 0.5, 3: 0.5}] * 12


def arrays(rows):
    offsets = np.cumsum([0, *map(len, rows)])
    entries = [entry for row in rows for entry in sorted(row.items())]
    terms = np.array([term for term, _ in entries], np.int32)
    return offsets, terms, np.array([weight for _, weight in entries], np.float64)


def vectors_of(rows):
    return TermRows(*arrays(rows), TERMS)


@given(ROWS)
@example([{}])
@example(ALIKE)
def test_products(rows):
    pairs = np.array(
        [(i, j) for i in range(len(rows)) for j in range(len(rows))], np.int64
    ).reshape(-1, 2)
    pairs = np.concatenate([pairs, pairs[::-1]])
    left, right = map(np.ascontiguousarray, pairs.T)
    expected = [reference.product(rows[i], rows[j]) for i, j in pairs.tolist()]
    assert vectors_of(rows).products(left, right).tolist() == expected


@given(ROWS, st.integers(0, 14), st.sets(st.integers(0, TERMS - 1)), st.data())
@example(ALIKE, 5, {0, 3}, None)
def test_nearest_rows(rows, neighbors, kept, data):
    n = len(rows)
    chosen = (
        list(range(n))
        if data is None
        else data.draw(st.lists(st.sampled_from(range(n)), unique=True))
        if n
        else []
    )
    own = [
        -1 if data is None else data.draw(st.integers(-1, len(chosen) - 1))
        for _ in rows
    ]
    vectors = vectors_of(rows)
    index = TermIndex(
        vectors,
        np.array(chosen, np.int64),
        np.array([term in kept for term in range(TERMS)], np.uint8),
    )
    found, counts = index.nearest(
        vectors, np.arange(n), np.array(own, np.int32), neighbors
    )
    assert (index.n, found.shape) == (len(chosen), (n, min(neighbors, len(chosen))))
    others = [rows[row] for row in chosen]
    for row, near, count, left_out in zip(
        rows, found.tolist(), counts.tolist(), own, strict=True
    ):
        expected = reference.nearest(row, others, kept, left_out, neighbors)
        assert sorted(near[:count]) == sorted(expected)


def test_input_need_not_be_aligned():
    rows = [{0: 0.5, 2: 1.0}, {2: 2.0}]
    offsets, terms, weights = (
        np.frombuffer(b"-" + array.tobytes(), np.uint8)[1:].view(array.dtype)
        for array in arrays(rows)
    )
    assert TermRows(offsets, terms, weights, TERMS).products(
        np.array([0]), np.array([1])
    ).tolist() == [2.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1.0]}, "as many weights as terms are needed, not 1 and 3"),
        ({"offsets": [0, 4]}, "offsets must rise from 0 to at most 3"),
        ({"offsets": []}, "offsets must rise from 0 to at most 3"),
        ({"offsets": [0, 2, 1]}, "offsets must rise from 0 to at most 3"),
        ({"terms": [0, 2, TERMS]}, r"terms must be in 0\.\.6, not 7"),
        ({"terms": [0, -1, 2]}, r"terms must be in 0\.\.6, not -1"),
        ({"terms": [0, 2, 2]}, "terms of a row must rise, unlike 2 and 2 at place 2"),
        ({"weights": [1.0, 0.0, 1.0]}, "weights must be in 1e-100..1e.100, not 0.0"),
        ({"weights": [1.0, np.nan, 1.0]}, "weights must be in 1e-100..1e.100, not nan"),
        ({"terms_count": 2**31}, r"terms_count must be at most 2\*\*31 - 1"),
    ],
)
def test_bad_rows_are_refused(arguments, message):
    given = {
        "offsets": [0, 3],
        "terms": [0, 2, 5],
        "weights": [1.0, 1.0, 1.0],
        "terms_count": TERMS,
    } | arguments
    kinds = {"offsets": np.int64, "terms": np.int32, "weights": np.float64}
    with pytest.raises(ValueError, match=message):
        TermRows(
            *(np.array(given[name], kind) for name, kind in kinds.items()),
            given["terms_count"],
        )


def test_bad_pairs_and_probes_are_refused():
    vectors, some = vectors_of([{0: 1.0}, {1: 1.0}]), np.array([0])
    kept = np.ones(TERMS, np.uint8)
    index = TermIndex(vectors, some, kept)
    bad = np.array([2])
    own = np.array([-1], np.int32)
    for call, message in [
        (lambda: vectors.products(some, bad), "rows of pairs must be below 2"),
        (lambda: vectors.products(-bad, some), "rows of pairs must be below 2"),
        (
            lambda: vectors.products(some, np.array([0, 1])),
            "as many lefts as rights are needed, not 1 and 2",
        ),
        (lambda: TermIndex(vectors, bad, kept), "rows must be below 2"),
        (
            lambda: TermIndex(vectors, some, kept[1:]),
            "kept must have 7 elements, one for each term, not 6",
        ),
        (lambda: index.nearest(vectors, bad, own, 1), "rows must be below 2"),
        (
            lambda: index.nearest(vectors, some, own[1:], 1),
            "own must have 1 elements, one for each row, not 0",
        ),
        (
            lambda: index.nearest(vectors, some, own + 2, 1),
            r"own must be in -1\.\.0, not 1",
        ),
        (
            lambda: index.nearest(vectors, some, own - 1, 1),
            r"own must be in -1\.\.0, not -2",
        ),
        (
            lambda: index.nearest(TermRows(*arrays([{0: 1.0}]), 1), some, own, 1),
            "vectors must have 7 terms, not 1",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
