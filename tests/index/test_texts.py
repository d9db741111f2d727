"""An index that knows its shingles takes texts where it takes signatures."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lshfast import LSHIndex, MinHasher, dedup, shingle

TEXTS = [
    "the cat sat on the mat today",
    "The cat sat on the mat today!",
    "a dog is not a cat",
    "",
    "Füße und Hände",
]
KEYS = ["a", "b", "c", "d", "e"]
OPTIONS = {"threshold": 0.5, "num_perm": 64, "seed": 7, "scheme": "classic"}
COLUMNS = {
    "list": list,
    "tuple": tuple,
    "bytes": lambda texts: [text.encode() for text in texts],
    "numpy strings": np.array,
    "numpy objects": lambda texts: np.array(texts, object),
    "pandas": pd.Series,
    "pandas categories": lambda texts: pd.Series(texts, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda texts: pa.chunked_array([texts[:2], texts[2:]]),
}


def signatures_of(texts, unit="word", size=2):
    return MinHasher(64, "classic", 7).sketch(shingle(texts, unit, size, seed=7))


@pytest.fixture
def index():
    index = LSHIndex(**OPTIONS, shingles="word:2")
    index.insert(KEYS, signatures_of(TEXTS))
    return index


@pytest.mark.parametrize("text", [*TEXTS, "THE CAT SAT ON A MAT", TEXTS[4].encode()])
@pytest.mark.parametrize("options", [{}, {"k": 1}, {"threshold": 0.3}])
def test_a_text_is_its_signature(index, text, options):
    assert index.query(text, **options) == index.query(
        signatures_of([text])[0], **options
    )


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_column_of_texts_is_its_signatures(index, column):
    found = index.query(column(TEXTS), threshold=0.5)
    expected = index.query(signatures_of(TEXTS), threshold=0.5)
    assert list(found) == list(expected)
    assert [[match.key for match in row] for row in found] == [
        ["a", "b"],
        ["a", "b"],
        ["c"],
        [],
        ["e"],
    ]


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("shingles", ["word:2", "char:4"])
def test_texts_are_inserted_as_their_signatures(column, shingles):
    unit, size = shingles.split(":")
    filled = LSHIndex(**OPTIONS, shingles=shingles)
    assert filled.insert(KEYS, column(TEXTS)) == 5
    assert filled.insert("f", TEXTS[0]) == 1
    with pytest.raises(ValueError, match="key"):
        filled.insert(["g", "h"], ["one text"])
    expected = LSHIndex(**OPTIONS, shingles=shingles)
    expected.insert([*KEYS, "f"], signatures_of([*TEXTS, TEXTS[0]], unit, int(size)))
    for (keys, rows), (other_keys, other_rows) in zip(
        filled.store.items(), expected.store.items(), strict=True
    ):
        assert list(keys) == list(other_keys)
        assert np.array_equal(rows, other_rows)


def test_no_texts_and_null_texts(index):
    assert len(index.query([])) == 0
    assert index.insert([], []) == 0
    assert list(index.query([None, TEXTS[2], float("nan")])) == [[], ["c"], []]


def test_texts_and_dedup_agree(index):
    """What `dedup` puts into an index is found by text."""
    seen = LSHIndex(shingles="word:5")
    dedup(TEXTS[:3], keys=KEYS[:3], against=seen, add=True)
    assert seen.query(TEXTS[1]) == ["a"]


def test_an_index_in_a_file_takes_texts(index, tmp_path):
    index.save(tmp_path / "seen.lsh")
    with LSHIndex.open(tmp_path / "seen.lsh", "r+") as opened:
        opened.insert("g", TEXTS[2])
        assert opened.query(TEXTS[2]) == ["c", "g"]


@pytest.mark.parametrize(
    "column", [lambda texts: texts[0], lambda texts: b"one text", *COLUMNS.values()]
)
@pytest.mark.parametrize(
    ("shingles", "named"), [("", "unknown shingles"), ("colours", "shingles 'colours'")]
)
def test_an_index_that_does_not_know_its_shingles_says_so(column, shingles, named):
    index = LSHIndex(shingles=shingles)
    index.insert("a", MinHasher().sketch(shingle(["a text"]))[0])
    message = f"not texts: this index has {named}; one created with shingles='word:5' accepts texts"
    for call in (
        lambda: index.query(column(TEXTS)),
        lambda: index.insert(KEYS, column(TEXTS)),
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            call()
    assert list(index) == ["a"]
