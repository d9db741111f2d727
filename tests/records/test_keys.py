"""Columns that number records are not compared; columns whose values agree across tables are."""

import numpy as np
import pytest

from lshfast.records import RecordTable, dedup_records, match_records
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import code_field
from lshfast.records.tables.fields import Field
from lshfast.records.tables.keys import keys_left_out
from tests.records.test_linking import people, with_errors

ROWS, SHARED = 300, 200


def left_out(a, b=None, keep=()):
    """Return what is left out, and why."""
    a, b = RecordTable(a), None if b is None else RecordTable(b)
    names = [name for name in a.names if b is None or name in b.names]
    tables = [a] if b is None else [a, b]
    fields = {name: code_field(Field(name), tables) for name in names}
    return {
        found.name: found.reason
        for found in keys_left_out(Linkage(tables, fields), keep)
    }


def shuffled(table, rng):
    order = rng.permutation(len(table["given"])).tolist()
    return {name: [values[row] for row in order] for name, values in table.items()}


@pytest.fixture(scope="module")
def tables():
    """Two tables without ids; the records 0..199 of the first are in the second, with errors, in another order."""
    rng = np.random.default_rng(5)
    a = people(ROWS, rng)
    others = people(ROWS - SHARED, rng)
    copies = with_errors({name: values[:SHARED] for name, values in a.items()}, rng)
    b = {name: copies[name] + others[name] for name in a if name != "id"}
    b["true"] = list(range(SHARED)) + list(range(ROWS, 2 * ROWS - SHARED))
    return {name: a[name] for name in a if name != "id"} | {
        "true": list(range(ROWS))
    }, shuffled(b, rng)


def both(tables, make):
    """Return the tables with a column "key", made from the row numbers and the true numbers of a table."""
    found = []
    for side, table in enumerate(tables):
        known = np.array(table["true"])
        plain = {name: values for name, values in table.items() if name != "true"}
        found.append({"key": make(side, np.arange(len(known)), known), **plain})
    return found


@pytest.mark.some_cases
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda side, row, known: row.tolist(), "row numbers"),
        (lambda side, row, known: (row + 1).astype(float).tolist(), "row numbers"),
        (lambda side, row, known: [f"{value}.0" for value in row], "row numbers"),
        (lambda side, row, known: np.random.default_rng(side).permutation(row + 700).tolist(), "row numbers"),
        (lambda side, row, known: np.random.default_rng(side).permutation(2 * row.max())[: len(row)].tolist(),
         "row numbers"),
        (lambda side, row, known: [f"A{value:04d}" for value in row], "running numbers"),
        (lambda side, row, known: [f"rec-{value}-org" for value in row], "running numbers"),
    ],
    ids=["0-n", "floats", "decimals", "shuffled", "half", "A0001", "rec-1-org"],
)  # fmt: skip
def test_running_numbers_of_two_tables(tables, make, kind):
    assert left_out(*both(tables, make)) == {
        "key": f"{kind}; records with equal ones are not alike"
    }


def test_running_numbers_without_common_ones(tables):
    made = both(
        tables, lambda side, row, known: [f"{'ab'[side]}{value}" for value in row]
    )
    assert left_out(*made) == {
        "key": "running numbers that no record of the other table has"
    }


def test_row_numbers_of_sorted_tables(tables):
    """Records with equal numbers have similar names then, but so have those with the next number."""
    ordered = []
    for table in tables:
        order = sorted(
            range(ROWS), key=lambda row, table=table: table["surname"][row] or ""
        )
        ordered.append(
            {name: [values[row] for row in order] for name, values in table.items()}
        )
    made = both(ordered, lambda side, row, known: row.tolist())
    assert left_out(*made) == {
        "key": "row numbers; records with equal ones are not alike"
    }


@pytest.mark.parametrize("name", ["uuid", "path"])
def test_codes_of_one_table_only(tables, name):
    rng = np.random.default_rng(9)

    def make(side, row, known):
        if name == "path":
            return [
                f"conf/{value:x}/{side}/x" for value in rng.integers(0, 2**30, len(row))
            ]
        return [f"{value:016x}-{side}" for value in rng.integers(0, 2**60, len(row))]

    assert left_out(*both(tables, make)) == {
        "key": "codes that no record of the other table has"
    }


def test_codes_that_agree_by_chance(tables):
    def make(side, row, known):
        return (
            17 * np.random.default_rng(side).permutation(2 * ROWS)[:ROWS] + 10_000
        ).tolist()

    assert left_out(*both(tables, make)) == {
        "key": "codes; records with equal ones are not alike"
    }


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("scale", [1, 7919], ids=["dense", "sparse"])
def test_numbers_that_agree_with_the_other_fields_stay(tables, scale):
    """A number of persons or books is evidence, also if it runs from 1 on."""
    made = both(tables, lambda side, row, known: (scale * known + 1).tolist())
    assert left_out(*made) == {}
    found = match_records(*made)
    assert found.names[0] == "key"
    assert len(found) >= 0.98 * SHARED
    for table, key in zip(made, ("ann@x1.org", "bob@x1.org"), strict=True):
        table["key"] = [
            key if value % 2 else f"p{value}@x1.org" for value in table["key"]
        ]
    assert left_out(*made) == {}


def test_few_common_numbers_stay_if_their_records_are_alike(tables):
    made = both(
        tables,
        lambda side, row, known: np.where(
            known < 5, known, known + 1000 * (side + 1)
        ).tolist(),
    )
    for table in made:
        table["key"] = [f"{7919 * value:08d}" for value in table["key"]]
    assert left_out(*made) == {}


def test_texts_names_dates_and_prices_that_all_differ_stay():
    rng = np.random.default_rng(3)
    one = {
        "title": [
            f"The {value:x} story of {row}"
            for row, value in enumerate(rng.integers(0, 2**40, ROWS))
        ],
        "name": ["".join(rng.choice(list("abcdefgh"), 9)) for _ in range(ROWS)],
        "price": [f"{value / 100:.2f}" for value in rng.permutation(90_000)[:ROWS]],
        "day": [f"{1900 + row // 12}-{row % 12 + 1:02d}-07" for row in range(ROWS)],
        "id": list(range(ROWS)),
    }
    assert left_out(one) == {"id": "row numbers"}
    other = {name: values[::-1] for name, values in one.items()} | {"id": one["id"]}
    assert left_out(one, other) == {
        "id": "row numbers; records with equal ones are not alike"
    }


@pytest.mark.slow
def test_numbers_of_one_table(tables):
    rng = np.random.default_rng(8)
    a = people(ROWS, rng)
    b = with_errors(a, rng)
    one = {name: a[name] + b[name] for name in a}
    one["row"] = [f"{row + 1}" for row in range(2 * ROWS)]
    one["uuid"] = [f"{value:016x}" for value in rng.integers(0, 2**60, 2 * ROWS)]
    person = 7919 * rng.permutation(2 * ROWS)
    one["person"] = np.append(
        person[:ROWS], np.append(person[:20], person[ROWS + 20 :])
    ).tolist()
    assert left_out({name: one[name] for name in one if name != "id"}) == {
        "row": "row numbers",
        "uuid": "codes that no other record has",
    }
    found = dedup_records({name: one[name] for name in one if name != "id"})
    assert found.names == ["given", "surname", "address", "born", "person"]


def test_small_tables():
    three = {
        "phone": ["5550101", "5550102", "5550103"],
        "name": ["Ann Lee", "Bob Ray", "Eve Orr"],
    }
    assert left_out(three) == left_out(three, three) == {}
    five = {
        "id": [1, 2, 3, 4, 5],
        "name": ["Ann Lee", "Bob Ray", "Eve Orr", "Ivan Orlov", "Zoe Blum"],
    }
    assert left_out(five) == {"id": "row numbers"}
    turned = {"id": five["id"], "name": five["name"][1:] + five["name"][:1]}
    assert left_out(five, turned) == {
        "id": "row numbers; records with equal ones are not alike"
    }
    assert left_out(five, five) == {}


@pytest.mark.slow
def test_a_column_that_is_alone_or_named_stays(tables):
    rows = {"id": list(range(50))}
    assert left_out(rows) == left_out(rows, rows) == {}
    assert left_out(rows | {"empty": [None] * 50}) == {}
    table = both(tables, lambda side, row, known: row.tolist())[0]
    assert left_out(table, keep=["key"]) == {}
    assert dedup_records(table, fields=["key", "surname"]).names == ["key", "surname"]
    assert "key" in dedup_records(table, rules=["sort:key", "key:surname"]).names
    assert "key" not in dedup_records(table, rules=["key:surname"]).names


def test_the_result_tells_what_is_left_out(tables):
    found = match_records(*both(tables, lambda side, row, known: row.tolist()))
    assert [own.name for own in found.left_out] == ["key"]
    assert (
        "\nkey: row numbers; records with equal ones are not alike, not compared\n"
        in found.describe()
    )


def test_many_values_are_sampled(monkeypatch, tables):
    monkeypatch.setattr("lshfast.records.tables.keys.MOST_SORTED", 100)
    monkeypatch.setattr("lshfast.records.tables.keys.SAMPLE_VALUES", 200)
    monkeypatch.setattr("lshfast.records.tables.keys.SAMPLE_PAIRS", 50)
    assert left_out(*both(tables, lambda side, row, known: (31 * known).tolist())) == {}
    made = both(tables, lambda side, row, known: row.tolist())
    assert left_out(*made) == {
        "key": "row numbers; records with equal ones are not alike"
    }


def test_long_values_are_no_keys():
    """Patterns are not searched in values of megabytes."""
    long = [f"{'x' * 200}{value}" for value in range(ROWS)]
    table = {"long": long, "surname": ["Lee", "Ray", "Orr"] * 100}
    assert left_out(table) == {}


@pytest.mark.one_case
@pytest.mark.parametrize("written", ["as it is", "with zeros", "with an error"])
def test_an_account_that_is_written_otherwise_is_compared(written):
    """Few names differ from all others, so the account decides."""
    rng = np.random.default_rng(6)
    accounts = [str(number) for number in rng.integers(10**6, 10**7, ROWS)]
    others = list(accounts)
    if written == "with zeros":
        others = [account.zfill(10) for account in accounts]
    if written == "with an error":
        others[::20] = [account[:3] + account[4:] for account in accounts[::20]]
    names = rng.choice(["Ann Lee", "Bo Fox", "Cy Day", "Di Orr"], ROWS).tolist()
    order = rng.permutation(ROWS).tolist()
    found = match_records(
        {"account": accounts, "name": names},
        {
            "account": [others[row] for row in order],
            "name": [names[row] for row in order],
        },
    )
    assert found.names == ["account", "name"]
    assert sorted((order[j], i) for i, j in found.pairs()) == [
        (row, row) for row in range(ROWS)
    ]


def test_accounts_that_all_have_an_error_are_named_with_the_option():
    accounts = [str(number) for number in range(10**6, 10**7, 30_011)]
    names = ["Ann Lee", "Bo Fox", "Cy Day"] * 100
    wrong = [account[:3] + account[4:] for account in accounts]
    tables = (
        {"account": accounts[:ROWS], "name": names},
        {"account": wrong[:ROWS], "name": names},
    )
    (column,) = match_records(*tables).left_out
    assert "codes that no record of the other table has" in str(column)
    assert "--field account" in str(column)
    found = match_records(*tables, fields=["account", "name"])
    assert found.pairs() == [(row, row) for row in range(ROWS)]
