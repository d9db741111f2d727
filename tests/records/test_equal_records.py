"""Links between records that are equal in all fields: copies, or members of a group that no field tells apart."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from tests.records.test_mixture import Population, columns_of, quality, two_tables

SIZE = 600
SHARED = "last street town phone", "last street town", "last phone"


def only(table, fields):
    return {name: table[name] for name in fields.split()}


def doubts_of(result):
    return [
        text for text in result.summary.warnings if "are equal in all fields" in text
    ]


def twice(fields, both, families, exact=False):
    """Return a table in which the first people stand twice, and the number of rows before the second records."""
    population = Population(3)
    people = population.people(SIZE, families)
    again = [person if exact else population.again(person) for person in people[:both]]
    return only(columns_of(people + again, 8), fields)


@pytest.mark.one_case
@pytest.mark.parametrize("fields", SHARED)
@pytest.mark.parametrize("both", [0, 60, 300])
def test_equal_records_of_one_table_may_be_members_of_a_household(both, fields):
    result = dedup_records(twice(fields, both, families=1))
    right = int(((result.j - result.i == SIZE) & (result.i < both)).sum())
    low, high = result.summary.precision[1:]
    assert right < 0.5 * len(result)
    assert low <= right / len(result) <= high
    (text,) = doubts_of(result)
    assert f"({', '.join(fields.split())})" in text
    assert f"up to {len(result):,} links" in text


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("fields", SHARED)
@pytest.mark.parametrize("both", [0, 60, 300])
def test_equal_records_within_two_tables_show_what_those_of_both_are(both, fields):
    a, b = two_tables(SIZE, both, 8, families=1)
    result = match_records(only(a, fields), only(b, fields))
    precision = quality(result, both)[0] if both else 0.0
    low, high = result.summary.precision[1:]
    assert low <= precision <= high
    assert len(doubts_of(result)) == 1


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    ("fields", "families"),
    [
        ("first last born", 0),
        ("last street born phone", 1),
        ("first last street phone", 1),  # relatives differ in the first name
        ("first last street phone email", 1),  # in two fields
    ],
)
def test_fields_that_tell_members_apart_raise_no_doubt(fields, families):
    result = dedup_records(twice(fields, 200, families, exact=True))
    precision, recall = quality_of_copies(result, 200)
    assert precision > 0.85
    assert recall == 1
    assert not result.summary.in_doubt
    assert not doubts_of(result)


def quality_of_copies(result, both):
    right = int(((result.j - result.i == SIZE) & (result.i < both)).sum())
    return right / len(result), right / both


@pytest.mark.slow
def test_full_names_tell_persons_apart():
    table = twice("first last street", 100, 0, exact=True)
    pairs = zip(table["first"], table["last"], strict=True)
    names = [f"{first.title()} {last.title()}" for first, last in pairs]
    result = dedup_records({"name": names, "street": table["street"]})
    assert len(result) == 100
    assert not doubts_of(result)


def test_neighbours_do_not_show_that_members_are_told_apart():
    """Surnames tell the households of a street apart, but not the members of a household."""
    rng = np.random.default_rng(2)
    lasts = Population(1).lasts
    homes = [
        (lasts[rng.integers(900)], f"{street} lane", street % 7)
        for street in rng.integers(0, 20, 300).tolist()
    ]
    people = [home for home in homes for _ in range(rng.integers(1, 4))]
    columns = zip(*people, strict=True)
    names = "surname", "street", "town"
    table = {
        name: [str(value) for value in column]
        for name, column in zip(names, columns, strict=True)
    }
    assert len(doubts_of(dedup_records(table))) == 1


@pytest.mark.slow
def test_records_that_differ_in_nothing_within_one_table_only_raise_no_doubt():
    """Copies within the second table are members of no group, as the first has none."""
    a, b = two_tables(SIZE, 300, 4, families=0)
    b = {name: values + values[:60] for name, values in b.items()}
    fields = "first last street"
    assert not match_records(only(a, fields), only(b, fields)).summary.in_doubt


def test_few_equal_records_raise_no_doubt():
    people = Population(4).people(60, 0)
    table = only(columns_of(people + people[:9], 8), "last street phone")
    assert not dedup_records(table).summary.in_doubt


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    "fields",
    [
        "first last email town",
        "first last phone town",
        "last street town phone",
        "email town",
    ],
)
@pytest.mark.parametrize("both", [60, 200, 600])
def test_exact_copies_in_one_table_raise_no_doubt(fields, both):
    result = dedup_records(twice(fields, both, families=0, exact=True))
    assert quality_of_copies(result, both)[1] == 1
    assert not result.summary.in_doubt


@pytest.mark.slow
def test_copies_of_random_records_raise_no_doubt():
    """Some are copied several times."""
    population = Population(3)
    people = population.people(SIZE, 0)
    chosen = np.random.default_rng(1).integers(0, SIZE, SIZE // 4)
    table = columns_of(people + [people[row] for row in chosen], 8)
    result = dedup_records(only(table, "first last email town"))
    assert len(result) > SIZE // 8
    assert not result.summary.in_doubt


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("fields", ["first last email town", "first last born town"])
def test_copies_within_both_tables_raise_no_doubt(fields):
    tables = two_tables(SIZE, 400, 8, families=0)
    a, b = (
        only({name: values + values[:60] for name, values in table.items()}, fields)
        for table in tables
    )
    result = match_records(a, b)
    assert len(result) > 300
    assert not result.summary.in_doubt


@pytest.mark.slow
def test_marks_take_links_out_of_doubt():
    table = twice("last phone", 100, 1, exact=True)
    result = dedup_records(table)
    assert result.summary.in_doubt == 1
    marks = [(i, j, "same") for i, j in result.pairs()]
    marked = len(marks) // 2
    half = dedup_records(table, labels=marks[:marked]).summary
    assert half.in_doubt == pytest.approx(0.5, abs=0.1)
    assert half.precision.low == pytest.approx(1 - half.in_doubt)
    assert not dedup_records(table, labels=marks).summary.in_doubt


def test_links_in_doubt_have_no_expected_precision(tmp_path):
    result = dedup_records(twice("last street phone", 0, families=1))
    count = f"{len(result):,}"
    assert f"0 to {count} of {count} links may be wrong." in result.overview()
    assert "missed, about" not in result.overview()
    assert "expected precision" not in result.describe()
    assert "unknown" in repr(result.summary)
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "0 to" in page
    assert "missed, about" not in page


@pytest.mark.slow
def test_a_fit_that_ends_at_its_bound_is_named():
    """Records of the second table that stand twice in it make more matches than one for each record of the first."""
    a, b = two_tables(400, 300, 4, families=0)
    b = {name: values + values[:300] for name, values in b.items()}
    result = match_records(a, b, assign="one-to-one")
    (text,) = result.summary.warnings
    assert text.startswith("1.5 times as many pairs look like matches")
    assert "'first', 'last', 'born' and 1 more" in text
    (text,) = match_records(a, b).summary.warnings
    assert "one-to-many" in text
    a, b = two_tables(400, 400, 4, families=0)
    assert not match_records(a, b, assign="one-to-one").summary.warnings
