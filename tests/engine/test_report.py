"""What a run has found, as people and other libraries see it: repr, HTML, length, equality, Arrow."""

from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lshfast import LSHIndex, dedup

TEXTS = [
    "one two three four five",
    "a dog",
    "One, two, three, four, five!",
    "",
    "A dog?",
    "a cat",
]
COLUMNS = {
    "key": ["a", "b", "c", "d", "e", "f"],
    "keep": [True, True, False, True, False, True],
    "kept_key": ["a", "b", "a", "d", "b", "f"],
    "similarity": [1.0] * 6,
    "group": [0, 1, 0, 3, 1, 5],
}


@pytest.fixture(scope="module")
def result():
    return dedup(TEXTS, keys="abcdef")


def against(new, **options):
    index = LSHIndex(shingles="word:5")
    dedup(["one two three four five"], keys=[17], against=index, add=True)
    return dedup(TEXTS, keys=new, against=index, **options)


# In a terminal and a notebook


@pytest.mark.parametrize("part", ["result", "summary"])
def test_repr_is_a_short_table(result, part):
    shown = repr(result if part == "result" else result.summary)
    lines = shown.splitlines()
    assert lines[0] == ("DedupResult of 6 rows" if part == "result" else "Summary")
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["read", "6"],
        ["kept", "4"],
        ["removed", "2"],
    ]
    assert len(lines) < 12
    assert max(map(len, lines)) <= 100
    assert "array" not in shown


def test_repr_does_not_grow_with_the_rows():
    assert len(repr(dedup([f"text {row}" for row in range(99)])).splitlines()) < 12


def test_repr_tells_what_only_some_runs_have():
    assert "rejected" not in repr(dedup(TEXTS))
    shown = repr(against("abcdef", add=True))
    assert "for earlier entries: 2" in shown
    assert "indexed" in shown


def test_html_names_figures_and_removed_rows(result):
    shown = result._repr_html_()
    assert shown.count("<tr>") == shown.count("</tr>") > 8
    assert (
        "<tr><td>c</td><td>a</td><td>1.0000</td></tr><tr><td>e</td><td>b</td><td>1.0000</td></tr>"
        in shown
    )
    assert "<td" in result.summary._repr_html_()
    assert "similarity</th>" not in dedup(["a", "b"])._repr_html_()


def test_html_shows_some_removed_rows_and_counts_the_others():
    shown = dedup(["a b c"] * 20)._repr_html_()
    assert shown.count("<td>1.0000</td>") == 5
    assert "and 14 more" in shown


def test_html_escapes_and_cuts_keys():
    shown = dedup(["a b", "a b"], keys=["<script>&", "x" * 1000])._repr_html_()
    assert "&lt;script&gt;&amp;" in shown
    assert "<script>" not in shown
    assert "x" * 59 + "…" in shown
    assert "x" * 60 not in shown


# Length and equality


def test_len_is_the_number_of_rows(result):
    assert len(result) == 6
    assert len(dedup([])) == 0


def test_equality_is_of_contents_not_of_time(result):
    assert result == dedup(TEXTS, keys="abcdef")
    assert (result != dedup(TEXTS, keys="abcdef")) is False
    assert result.summary == replace(result.summary, seconds=1e9, stages={})


@pytest.mark.parametrize(
    "other",
    [
        lambda: dedup(TEXTS, keys="abcdeg"),
        lambda: dedup(TEXTS),
        lambda: dedup(TEXTS, keys="abcdef", keep="last"),
        lambda: dedup(TEXTS[:5], keys="abcde"),
        lambda: dedup(TEXTS, keys="abcdef", threshold=0.7),
        lambda: against("abcdef"),
        lambda: 5,
        lambda: None,
    ],
)
def test_what_differs_is_not_equal(result, other):
    assert (result == other()) is False
    assert (result != other()) is True


# Arrow

READERS = {
    "to_arrow": lambda result: result.to_arrow().to_pydict(),
    "pyarrow": lambda result: pa.table(result).to_pydict(),
    "polars": lambda result: pl.DataFrame(result).to_dict(as_series=False),
    "pandas": lambda result: pd.DataFrame(result).to_dict("list"),
    "rows": lambda result: {
        name: [getattr(row, name) for row in result] for name in COLUMNS
    },
}
if hasattr(pd.DataFrame, "from_arrow"):
    READERS["pandas from_arrow"] = lambda result: pd.DataFrame.from_arrow(
        result
    ).to_dict("list")


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_libraries_take_a_result_as_a_table(result, read):
    assert read(result) == COLUMNS


def test_arrow_types(result):
    kinds = {
        "keep": pa.bool_(),
        "kept_key": pa.string(),
        "similarity": pa.float64(),
        "group": pa.int64(),
    }
    for numbered in (result, dedup(TEXTS)):
        key = pa.string() if numbered is result else pa.int64()
        types = dict(zip(COLUMNS, numbered.to_arrow().schema.types, strict=True))
        assert types == kinds | {"key": key, "kept_key": key}
    assert dedup([]).to_arrow().schema == dedup(TEXTS).to_arrow().schema
    assert dedup(TEXTS).to_arrow().column("kept_key").to_pylist() == [0, 1, 0, 3, 1, 5]


def test_earlier_entries_in_arrow():
    table = against(list(range(6))).to_arrow()
    assert table.column("kept_key").to_pylist() == [17, 1, 17, 3, 1, 5]
    assert table.column("earlier").to_pylist() == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]
    assert against("abcdef").to_arrow().column("kept_key").to_pylist() == [
        "17",
        "b",
        "17",
        "d",
        "b",
        "f",
    ]


def test_keys_without_an_arrow_type_are_named():
    with pytest.raises(TypeError, match="these keys are no Arrow column"):
        dedup(["a", "b"], keys=[1, "x"]).to_arrow()
