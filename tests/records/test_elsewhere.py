"""Values that stand in another column than theirs are noticed, and missing ones are not."""

from pathlib import Path

import numpy as np
import pytest

from lshfast.records import match_records
from lshfast.records.tables.coded_fields import code_field
from lshfast.records.tables.elsewhere import fields_elsewhere
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import RecordTable

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SYLLABLES = ["ka", "lo", "mi", "ren", "sol", "tu", "ver", "wan", "xe", "yor"]


def books(rows, seed=1):
    rng = np.random.default_rng(seed)

    def words(count):
        return " ".join("".join(rng.choice(SYLLABLES, 3)) for _ in range(count))

    journals = [words(2) for _ in range(12)]
    return {
        "title": [words(5) for _ in range(rows)],
        "journal": [str(rng.choice(journals)) for _ in range(rows)],
        "year": [str(rng.integers(1950, 2020)) for _ in range(rows)],
    }


def without(columns, names, share, into=None, seed=2):
    """Take a share of the values out of some columns, and put them into another column or nowhere."""
    rng = np.random.default_rng(seed)
    columns = {name: list(values) for name, values in columns.items()}
    for name in names:
        for row in np.flatnonzero(rng.random(len(columns[name])) < share).tolist():
            if into is not None:
                columns[into][row] += f" {columns[name][row]}"
            columns[name][row] = ""
    return columns


def elsewhere(*tables):
    kinds = {"title": "text", "journal": "category", "year": "code"}
    fields = [Field(name, kind=kinds.get(name, "text")) for name in tables[0]]
    tables = [RecordTable(columns) for columns in tables]
    fields = [code_field(field, tables) for field in fields]
    return fields_elsewhere(fields, 1)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_moved_values_are_noticed_in_either_table(share):
    whole = books(400)
    moved = without(whole, ["journal", "year"], share, "title")
    assert elsewhere(whole, moved) == ["journal", "year"]
    assert elsewhere(moved, whole) == ["journal", "year"]
    assert elsewhere(moved) == ["journal", "year"]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_missing_values_are_not(share):
    whole = books(400)
    assert elsewhere(whole, without(whole, ["journal", "year"], share)) == []
    assert elsewhere(without(whole, ["journal"], share)) == []


def test_words_that_all_records_have_elsewhere_say_nothing():
    columns = books(400)
    columns["title"] = [
        f"{title} {journal}"
        for title, journal in zip(columns["title"], columns["journal"], strict=True)
    ]
    assert elsewhere(without(columns, ["journal"], 0.5)) == []


def test_wide_tables_are_judged_by_the_fields_that_are_missing_most():
    columns = books(200)
    notes = {f"note {number}": books(200, number)["title"] for number in range(2, 42)}
    moved = without(columns, ["journal", "year"], 0.5, "title")
    assert elsewhere(without(notes, list(notes), 0.3) | moved) == ["journal", "year"]


@pytest.mark.parametrize("rows", [0, 1, 59])
def test_few_rows_show_nothing(rows):
    assert elsewhere(without(books(rows), ["journal"], 0.5, "title")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["products", pytest.param("stops", marks=pytest.mark.weekly)]
)
def test_two_tables_of_moved_values_are_linked_by_whole_records(name, monkeypatch):
    """By their columns alone, F1 is .35 of products and .63 of stops."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from linkage_cases import all_cases

    tables = all_cases(None)[f"calibration/{name}"].make()
    sides = []
    for side in (tables.a, tables.b):
        columns = {name: [*map(str, values)] for name, values in side.items()}
        longest = max(columns, key=lambda name: sum(map(len, columns[name])))
        others = [name for name in columns if name != longest]
        sides.append(without(columns, others, 0.5, longest))
    result = match_records(*sides, threads=1)
    links = set(result.pairs())
    matches = set(map(tuple, tables.true_pairs.tolist()))
    right = len(links & matches)
    assert 2 * right / (len(links) + len(matches)) >= 0.9
    assert "in another column" in " ".join(result.summary.warnings)
