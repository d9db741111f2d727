"""Dates, and the order of day, month and year in a column."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.records import Field, dedup_records, match_records
from lshfast.records.results.display import fields_text
from lshfast.records.tables.fields import guess_kind
from lshfast.records.values.dates import (
    LATEST,
    LEAST_YEARS,
    DateForm,
    date_forms,
    day_of,
    days_of,
)
from lshfast.records.values.forms import readers_of


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-02-29", date(2024, 2, 29)), ("20240229", date(2024, 2, 29)), ("29.2.2024", date(2024, 2, 29)),
        ("02/29/2024", date(2024, 2, 29)), ("3/4/2020", date(2020, 4, 3)), ("2024/1/5", date(2024, 1, 5)),
        ("2024-02-29T10:00:00Z", date(2024, 2, 29)), ("2024-02-29 10:00", date(2024, 2, 29)),
        ("2023-02-29", None), ("20231301", None), ("31/31/2020", None), ("hello", None), ("", None),
        ("0000-01-01", None), ("12/13/14", date(2014, 12, 13)), ("1/2/99", date(1999, 2, 1)),
        ("01.02.68", date(2068, 2, 1)), ("1.2.68", None), ("1.2.10", None), ("12 13 14", None), ("12-13/14", None),
        ("1/2/3", None), ("123/1/99", None), ("1/2/020", None), ("99991231", None), ("１９９９0101", None),
        ("2020-01-2020", None), ("99/12/31", None),
    ],
)  # fmt: skip
def test_dates(text, day):
    assert day_of(text) == (day and day.toordinal())


@given(st.dates(date(1600, 1, 1), date(2399, 12, 31)))
def test_every_date_is_read(day):
    number = day.toordinal()
    assert day_of(day.isoformat()) == day_of(day.strftime("%Y%m%d")) == number
    assert day_of(f"{day.day}.{day.month}.{day.year}") == number
    assert (
        day_of(f"{day.month}/{day.day}/{day.year}", DateForm("mdy", strict=True))
        == number
    )
    short = f"{day.year % 100:02}-{day.month}-{day.day}"
    assert (
        day_of(short, DateForm("ymd", latest=day.year))
        == day_of(short, DateForm("ymd", latest=day.year + 99))
        == number
    )


@given(
    st.lists(st.text("0129", min_size=8, max_size=8) | st.text("019 /-x", max_size=10))
)
def test_many_dates_are_read_as_one_is(texts):
    """Strings of eight digits are read at once; others, also those with spaces around them, one by one."""
    days = [day_of(text) for text in texts]
    forms = [
        "" if day is None else date.fromordinal(day).strftime("%Y%m%d") for day in days
    ]
    reader, _ = readers_of(Field("born", kind="date"), [texts])[0]
    assert reader(texts) == forms
    assert days_of(forms).tolist() == [day or 0 for day in days]


def test_other_orders_are_read_unless_the_order_is_given():
    assert day_of("25/12/2020", DateForm("mdy")) == date(2020, 12, 25).toordinal()
    assert day_of("25/12/2020", DateForm("mdy", strict=True)) is None
    assert (
        day_of("2020-12-25", DateForm("mdy", strict=True))
        == date(2020, 12, 25).toordinal()
    )


@pytest.mark.parametrize(
    ("dates", "order", "note"),
    [
        (["03/04/2021", "25/04/2021"], "dmy", "read as day, month, year"),
        (["03/04/2021", "04/25/2021"], "mdy", "read as month, day, year"),
        (["04/25/2021", "04/26/2021", "25/04/2021"], "mdy", "read as month, day, year"),
        (
            ["99-12-31", "98-01-02"],
            "ymd",
            "read as year, month, day; years of two digits are 1969 to 2068",
        ),
        (
            ["03/04/2021"],
            "dmy",
            "read as day, month, year, which no date decides; order=mdy reads it otherwise",
        ),
        (["2021-03-04", "20210304"], "dmy", ""),
        (["no date"], "dmy", ""),
        ([], "dmy", ""),
    ],
)
def test_the_column_decides_the_order(dates, order, note):
    ((form, found),) = date_forms([dates])
    assert (form.order, form.strict, found) == (order, False, note)


def test_a_table_that_does_not_decide_takes_the_order_of_the_other():
    first, second = date_forms([["03/04/2021"], ["04/25/2021"]])
    assert first[0].order == second[0].order == "mdy"
    assert "as in the other table" in first[1]
    one, other = date_forms([["25/04/2021"], ["04/25/2021"]])
    assert (one[0].order, other[0].order) == ("dmy", "mdy")


def test_years_of_four_digits_tell_the_century():
    births = [f"{year}-05-01" for year in range(1930, 1930 + 4 * LEAST_YEARS)]
    ((form, _), (other, note)) = date_forms(
        [births, ["25/12/30", "25/12/09", "25/12/12"]]
    )
    assert form.latest == other.latest == 2009
    assert note.endswith("years of two digits are 1910 to 2009")
    assert [
        date.fromordinal(day_of(f"25/12/{year}", other)).year
        for year in ("30", "09", "12")
    ] == [1930, 2009, 1912]
    assert date_forms([births[: LEAST_YEARS - 1]])[0][0].latest == LATEST


@pytest.mark.parametrize(
    ("others", "is_read"),
    [
        (["01.12.80", "5.6.1951"], True),
        (["17.11.62"], True),
        (["9.1.1962"], True),
        ([], False),
        (["1962-01-09"], False),
        (["17.11.62", "1.2.3", "2.0.1", "5.6.2"], False),
    ],
)
def test_dots_with_one_digit_are_dates_if_the_column_has_such_dates(others, is_read):
    short = ["16.2.73", "1.12.80", "5.6.51"]
    texts = [*short, *others]
    ((form, note),) = date_forms([texts])
    assert form.dotted == is_read
    expected = date(1973, 2, 16).toordinal() if is_read else None
    assert day_of("16.2.73", form) == expected
    assert ("years of two digits" in note) == (is_read or "17.11.62" in others)
    found = dedup_records(
        {"born": texts}, fields=["born:date"], rules=["all"], scoring="points"
    )
    versions = sum(len(text) == 5 for text in others)
    refused = 0 if is_read else len(short) + versions
    assert found.fields[0].refused == (refused, refused)


def test_columns_of_versions_are_no_dates():
    versions = [f"{major}.{minor}.{patch}" for major in range(1, 4)
                for minor in range(1, 10) for patch in range(8, 14)]  # fmt: skip
    _, counts = np.unique(versions, return_counts=True)
    assert guess_kind(versions, counts) == "code"


def test_few_years_of_two_digits_are_typing_errors():
    dates = [f"20{year}-05-01" for year in range(10, 29)]
    ((form, note),) = date_forms([[*dates, "20-05-01"]])
    assert (form.short, note) == (False, "")
    assert day_of("20-05-01", form) is None
    assert day_of("20.5.2001", form) == date(2001, 5, 20).toordinal()
    assert date_forms([[*dates, "20-05-01", "21-05-01", "22-05-01"]])[0][0].short
    found = dedup_records(
        {"born": [*dates, "20-05-01"]}, fields=["born:date"], scoring="points"
    )
    assert found.fields[0].refused == (1, 1)


def test_columns_of_other_numbers_are_no_dates():
    for values, kind in (
        (["1.2.10", "3.11.4", "1.0.19", "2.2.0"], "code"),
        (["20-45-67", "60-83-71", "11-04-33", "40-47-59"], "code"),
        (["12/25/99", "11/30/98", "01/02/97", "31/31/31"], "code"),
        (["12/25/99", "11/30/98", "01/02/97", "10/10/10"], "code"),
        (["12/25/99", "11/30/98", "01/02/97", "10/10/2010"], "date"),
        (["12/25/99", "11/30/98", "01/02/97", "20101010"], "date"),
        ([*(f"2010-10-{day}" for day in range(10, 29)), "10-10-10"], "date"),
    ):
        assert guess_kind(values, np.ones(len(values), np.int64)) == kind


def people(order):
    """Return a table whose dates have an order; records are equal in all tables."""
    days = [date(1950 + row, 1 + row % 12, 1 + row * 7 % 28) for row in range(40)]
    form = {
        "mdy": "{0.month:02}/{0.day:02}/{0.year}",
        "dmy": "{0.day}.{0.month}.{0.year}",
        "iso": "{0}",
    }[order]
    return {
        "name": [f"person {row}" for row in range(40)],
        "born": [form.format(day) for day in days],
    }


@pytest.mark.parametrize(
    "orders", [("mdy", "dmy"), ("dmy", "mdy"), ("mdy", "iso"), ("iso", "dmy")]
)
def test_tables_with_dates_in_different_orders_agree(orders):
    a, b = map(people, orders)
    found = match_records(a, b, fields=["born"], scoring="points", rules=["key:born"])
    assert found.pairs() == [(row, row) for row in range(40)]
    assert (found.scores == 100).all()
    assert found.fields[0].kind == "date"
    assert len(found.fields[0].values) == 40
    text = fields_text(found)
    for side, order in zip("ab", orders, strict=True):
        name = {"mdy": "month, day, year", "dmy": "day, month, year"}.get(order)
        assert (f"born in {side}: read as {name}" in text) == (name is not None)
    assert ("born in a" in found.page()) == (orders[0] != "iso")


def test_a_given_order_is_kept():
    table = {"born": ["03/04/2021", "25/04/2021", "04/25/2021", "2021-04-25"]}
    found = dedup_records(table, fields=["born:date:order=mdy"], scoring="points")
    assert found.fields[0].values == ["20210304", "20210425"]
    assert found.fields[0].refused == (1, 1)
    assert found.pairs() == [(2, 3)]
    assert "born: read as month, day, year\n" in found.describe()


def test_orders_are_checked():
    with pytest.raises(
        ValueError, match="order must be one of dmy, mdy, ymd, not 'ydm'"
    ):
        Field("born", kind="date", order="ydm")
    for field in ("born:order=dmy", "born:text:order=dmy"):
        with pytest.raises(ValueError, match="order belongs to the kind date, not to"):
            Field.parse(field)
    assert Field.parse("born=b:date:order=ymd").notation == "born=b:date:order=ymd"
