"""Links of tables with a column that differs in every match, such as the number of a price list."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from tests.records.syllables import SYLLABLES


def wares(rng, count):
    def word():
        return "".join(rng.choice(SYLLABLES, 3))

    makers = [word() for _ in range(40)]
    titles = [[word(), word(), word(), str(rng.choice(makers))] for _ in range(count)]
    return [
        [" ".join(title), str(rng.integers(10**9, 10**10)), title[3]]
        for title in titles
    ]


def in_list(rows, rng, columns, edition):
    """Return records as one price list has them: with columns that no other list agrees in."""
    values = {
        "list": lambda: f"PL-{edition}{rng.integers(100, 999)}",
        "stock": lambda: str(rng.integers(0, 9000)),
        "price": lambda: f"{rng.lognormal(3, 1):.2f}",
        "counted": lambda: (
            f"202{edition}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
        ),
    }
    table = {
        name: [row[place] for row in rows]
        for place, name in enumerate(("title", "code", "maker"))
    }
    return table | {name: [values[name]() for _ in rows] for name in columns}


def again(rows, rng):
    return [
        [title, "" if rng.random() < 0.3 else code, maker]
        for title, code, maker in rows
    ]


def joined(first, second):
    return {name: first[name] + second[name] for name in first}


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(["stock", "price"], marks=pytest.mark.weekly),
        ["list", "stock", "price", "counted"],
    ],
)
def test_columns_that_differ_in_every_match_of_two_tables_do_not_outvote_equal_titles_and_codes(
    columns,
):
    rng = np.random.default_rng(5)
    rows = wares(rng, 900)
    a = in_list(rows[:600], rng, columns, 1)
    b = in_list(again(rows[400:], rng), rng, columns, 2)
    pairs = set(match_records(a, b).pairs())
    true = {(400 + k, k) for k in range(200)}
    assert len(pairs & true) > 0.95 * len(true)
    assert len(pairs - true) < 0.05 * len(true)


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(["list"], marks=pytest.mark.weekly),
        ["list", "stock", "price", "counted"],
    ],
)
def test_columns_that_differ_in_every_duplicate_of_a_table_do_not_outvote_the_others(
    columns,
):
    rng = np.random.default_rng(6)
    rows = wares(rng, 600)
    table = joined(
        in_list(rows, rng, columns, 1), in_list(again(rows[:200], rng), rng, columns, 2)
    )
    pairs = set(dedup_records(table).pairs())
    true = {(k, 600 + k) for k in range(200)}
    assert len(pairs & true) > 0.95 * len(true)
    assert len(pairs - true) < 0.05 * len(true)


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(["list"], marks=pytest.mark.weekly),
        ["list", "stock", "price", "counted"],
    ],
)
def test_tables_without_matches_have_no_links_whatever_columns_differ(columns):
    rng = np.random.default_rng(7)
    rows = wares(rng, 1000)
    a = in_list(rows[:500], rng, columns, 1)
    b = in_list(rows[500:], rng, columns, 2)
    assert match_records(a, b).pairs() == []
    assert dedup_records(a).pairs() == []
