"""Columns of two tables that have other names and the same values: a run names what to type."""

import numpy as np
import pytest

from lshfast.records import match_records
from lshfast.records.chosen_fields import shared_fields
from lshfast.records.tables.alike_columns import (
    MOST_CHARACTERS,
    alike_columns,
    fields_to_give,
    samples_of,
)
from lshfast.records.tables.record_table import RecordTable

RNG = np.random.default_rng(3)
WORDS = ["".join(RNG.choice(list("abdeiklmnorstu"), 6)) for _ in range(200)]
NAMES = [f"{WORDS[i]} {WORDS[j]}" for i, j in RNG.integers(0, 200, (120, 2))]
PHONES = [f"0{number}" for number in RNG.integers(10**8, 10**9, 120)]
TOWNS = [WORDS[place] for place in RNG.integers(0, 12, 120)]
HERE = {
    "name": NAMES[:80],
    "phone": PHONES[:80],
    "town": TOWNS[:80],
    "visits": [*map(str, range(80))],
}
THERE = {
    "tel": [f"({phone[:3]}) {phone[3:]}" for phone in PHONES[40:]],
    "full name": [", ".join(reversed(name.split())).title() for name in NAMES[40:]],
    "place": [town.upper() for town in TOWNS[40:]],
    "note": ["-"] * 80,
}


def test_columns_are_paired_by_their_values_and_words():
    pairs = alike_columns(HERE.items(), THERE.items())
    assert pairs == [("name", "full name"), ("phone", "tel"), ("town", "place")]
    given = fields_to_give(pairs)
    assert given == "--field 'name=full name' --field phone=tel --field town=place"


def test_names_decide_between_columns_with_nearly_the_same_values():
    """Each team plays at home and away, and slightly more values are in the wrong column."""
    teams = [f"team {number}" for number in range(12)]
    first = {"home": teams[:10], "away": teams[2:]}
    second = {"home_team": teams[1:11], "away_team": teams[1:11]}
    assert alike_columns(first.items(), second.items()) == [
        ("home", "home_team"),
        ("away", "away_team"),
    ]
    swapped = dict(reversed(second.items()))
    assert set(alike_columns(first.items(), swapped.items())) == {
        ("home", "home_team"),
        ("away", "away_team"),
    }


def test_the_error_without_fields_says_what_to_type():
    with pytest.raises(
        ValueError,
        match=r"words: --field 'name=full name' --field phone=tel --field town=place$",
    ):
        match_records(HERE, THERE)
    with pytest.raises(ValueError, match=r"others$"):
        match_records({"name": NAMES}, {"tel": PHONES})


def test_a_run_warns_of_columns_that_it_does_not_compare():
    there = {**THERE, "phone": THERE["tel"]}
    del there["tel"]
    warned = match_records(HERE, there).summary.warnings[0]
    assert warned.endswith(
        "if they mean the same: --field phone --field 'name=full name' --field town=place"
    )
    fields = ["name=full name", "phone", "town=place"]
    result = match_records(HERE, there, fields=fields)
    assert not [text for text in result.summary.warnings if "other names" in text]
    assert sorted(result.pairs()) == [(row + 40, row) for row in range(40)]
    ignored = match_records(HERE, there, ignore=["name", "place"])
    assert not [text for text in ignored.summary.warnings if "other names" in text]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["1", "2", "3", "4"], ["one", "two", "three"]),
        (["a", "b"], ["a", "b"]),
        ([None, "", " "], ["x", "y", "z"]),
        ([], []),
    ],
)
def test_columns_that_are_not_alike(first, second):
    assert alike_columns([("a", first)], [("b", second)]) == []


def test_a_value_of_a_megabyte_and_many_columns_are_looked_at_in_part():
    long = [str(place) + "x" * 1_000_000 for place in range(4)]
    many = [(f"c{place}", long) for place in range(3)]
    assert alike_columns(many, many[:1]) == [("c0", "c0")]


@pytest.mark.slow
def test_many_columns_of_long_texts_are_looked_at_in_part():
    rows = MOST_CHARACTERS // 8 // 200 + 400
    columns = [
        (f"c{place}", [f"{place}x{row}".ljust(300, "x") for row in range(rows)])
        for place in range(8)
    ]
    samples = samples_of(columns)
    sizes = [sum(map(len, sample.values)) for sample in samples]
    assert max(sizes) <= MOST_CHARACTERS // 8
    assert min(sizes) > MOST_CHARACTERS // 20
    assert all(one.likeness(one) == 1 for one in samples)


def test_many_values_are_those_of_both_tables():
    """A tenth of the values of each table are kept, and the same of both."""
    numbers = RNG.permutation(200_000)[:90_000] + 10**8
    phones = [f"0{number}" for number in numbers.tolist()]
    written = [f"({phone[:3]}) {phone[3:]}" for phone in sorted(phones[30_000:])]
    assert alike_columns([("tel", phones)], [("phone", written)]) == [("tel", "phone")]


@pytest.mark.parametrize(
    "values", [[{"a": 1}, {"a": 2}, {"a": 3}], [["a", {"b": 1}], "x", 3]]
)
def test_values_that_are_no_strings_are_not_looked_at(values):
    names = ["ann lee", "bob ray", "cy dunn"]
    found = match_records({"name": names, "m": values}, {"name": names, "n": names})
    assert not [text for text in found.summary.warnings if "other names" in text]


@pytest.mark.parametrize("name", ["x:y", "x=y", "x\ny", ""])
def test_names_that_cannot_be_typed_are_left_out(name):
    values = ["ab", "cd", "ef"]
    assert alike_columns([(name, values)], [("z", values)]) == []


def test_what_to_do_if_a_compared_column_cannot_be_typed():
    here = {"name": NAMES[:40], "a:b": TOWNS[:40], "tel": PHONES[:40]}
    there = {"name": NAMES[:40], "a:b": TOWNS[:40], "phone": PHONES[:40]}
    (warning,) = [
        text
        for text in match_records(here, there).summary.warnings
        if "other names" in text
    ]
    assert warning.endswith(
        "if they mean the same, give them one name: 'tel' as 'phone'"
    )


def test_the_names_of_many_columns_are_listed_once():
    class Table(RecordTable):
        listed = 0

        @property
        def names(self):
            self.listed += 1
            return super().names

    values = {str(place): ["a", "b"] for place in range(100)}
    tables = [Table(values), Table(values)]
    assert len(shared_fields(tables)) == 100
    assert [table.listed for table in tables] == [1, 1]
