"""Values as people and libraries write them: types of columns, missing values, ages, leading zeros, encodings."""

import json
import random
import unicodedata
from datetime import date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lshfast._cli.main import app
from lshfast.records import RecordTable, dedup_records, match_records

NUMBERS = [5644477053 + 7919 * row for row in range(150)]
STRINGS = list(map(str, NUMBERS))
SYLLABLES = [
    "an",
    "be",
    "cor",
    "da",
    "el",
    "fi",
    "gu",
    "ha",
    "in",
    "jo",
    "ka",
    "lo",
    "mi",
    "ne",
    "os",
    "pa",
    "ri",
]


def coded(values, other=None, **options):
    """Return the field of a column of one table, or of two."""
    rules = ["key:x"]
    if other is None:
        return dedup_records(
            {"x": values}, fields=["x"], rules=rules, scoring="points", **options
        ).fields[0]
    return match_records(
        {"x": values},
        {"x": other},
        fields=["x"],
        rules=rules,
        scoring="points",
        **options,
    ).fields[0]


def relation(values):
    frame = pd.DataFrame({"phone": pd.array(values, "Int64")})
    return duckdb.from_df(frame)


WRITTEN = {
    "strings": lambda: {"phone": list(map(str, NUMBERS))},
    "floats as strings": lambda: {"phone": [f"{number}.0" for number in NUMBERS]},
    "integers": lambda: {"phone": NUMBERS},
    "floats and a gap": lambda: {"phone": [*map(float, NUMBERS[:-1]), None]},
    "mixed": lambda: {"phone": [str(number) if row % 2 else number for row, number in enumerate(NUMBERS)]},
    "decimals": lambda: {"phone": [Decimal(f"{number}.00") for number in NUMBERS]},
    "records": lambda: [{"phone": number} for number in NUMBERS],
    "numpy": lambda: {"phone": np.array(NUMBERS, np.float64)},
    "pandas, mixed": lambda: pd.DataFrame({"phone": pd.Series([*NUMBERS[:75], *map(str, NUMBERS[75:])], dtype=object)}),
    "pandas, floats": lambda: pd.DataFrame({"phone": [*map(float, NUMBERS[:-1]), np.nan]}),
    "polars": lambda: pl.DataFrame({"phone": NUMBERS}),
    "polars, objects": lambda: pl.DataFrame({"phone": pl.Series([*NUMBERS[:9], *STRINGS[9:]], dtype=pl.Object)}),
    "polars, a mapping": lambda: {"phone": pl.Series(list(map(str, NUMBERS)))},
    "polars, categories": lambda: pl.DataFrame({"phone": pl.Series(list(map(str, NUMBERS)), dtype=pl.Categorical)}),
    "duckdb": lambda: relation(NUMBERS),
    "arrow, chunks": lambda: pa.table({"phone": pa.chunked_array([NUMBERS[:9], NUMBERS[9:]])}),
    "arrow, dictionary": lambda: pa.table({"phone": pa.array(list(map(str, NUMBERS))).dictionary_encode()}),
    "arrow, decimals": lambda: pa.table({"phone": pa.array(list(map(Decimal, NUMBERS)), pa.decimal128(20, 2))}),
    "arrow, lists": lambda: pa.table({"phone": [[number] for number in NUMBERS]}),
    "arrow, batch": lambda: pa.record_batch({"phone": NUMBERS}),
}  # fmt: skip


@pytest.mark.some_cases
@pytest.mark.parametrize("way", WRITTEN)
def test_a_number_is_one_value_however_it_is_stored(way):
    rules = ["key:phone"]
    for a, b in (
        (WRITTEN["strings"](), WRITTEN[way]()),
        (WRITTEN[way](), WRITTEN["floats as strings"]()),
    ):
        found = match_records(a, b, fields=["phone"], rules=rules, scoring="points")
        expected = 149 if "floats and" in way or way == "pandas, floats" else 150
        assert found.pairs() == [(row, row) for row in range(expected)]


@pytest.mark.one_case
@pytest.mark.parametrize(
    "way", ["polars", "duckdb", "pandas, mixed", "arrow, dictionary"]
)
def test_tables_with_codes_are_linked_without_fields(way):
    """Codes of a hundred rows and more are looked at one by one."""
    source = WRITTEN[way]()
    names = [f"{first} {second}" for first in SYLLABLES for second in SYLLABLES][:150]
    if way == "polars":
        source = source.with_columns(name=pl.Series(names))
    elif way == "pandas, mixed":
        source = source.assign(name=names)
    else:
        source = pa.table(source).append_column("name", pa.array(names))
        source = duckdb.from_arrow(source) if way == "duckdb" else source
    found = match_records(
        source, {"phone": NUMBERS, "name": names}, rules=["key:phone"]
    )
    assert found.pairs() == [(row, row) for row in range(150)]


def test_single_precision_and_moments_are_as_they_were_written():
    assert coded(np.array([1.1, 2.5], np.float32), ["1.1", "2.5"]).codes[
        1
    ].tolist() == [0, 1]
    days = [date(1984, 5, 2), date(1990, 12, 31)]
    moments = [datetime(1984, 5, 2), datetime(1990, 12, 31)]
    for other in (
        days,
        moments,
        np.array(days, "datetime64[ns]"),
        ["19840502", "31.12.1990"],
        pd.Series(moments),
    ):
        field = coded(["1984-05-02T00:00:00Z", "1990-12-31T10:00:00"], other)
        assert (field.kind, field.codes[1].tolist()) == ("date", [0, 1])


def test_lists_are_sets_of_values():
    lists = [["b", "a"], ["a", "b", "b"], [], None]
    for source in (
        lists,
        pa.array(lists),
        pl.Series(lists),
        [tuple(v or ()) for v in lists],
        ['["a", "b"]'] * 2,
    ):
        assert coded(source).codes[0].tolist()[:2] == [0, 0]
    for struct in ([{"a": 1}], pa.array([{"a": 1}]), [[["a"]]]):
        with pytest.raises(
            TypeError,
            match=r"column 'x': values must be .*make a column of each of its parts",
        ):
            coded(struct)


def test_leading_zeros_and_the_message_for_codes():
    codes = [f"{number:07}" for number in range(1000, 90000, 611)]
    rng = random.Random(1)
    names = ["".join(rng.choices(SYLLABLES, k=4)) for _ in codes]
    a = {"account": codes, "name": names}
    found = match_records(
        a, {"account": [code.lstrip("0") for code in codes], "name": names}
    )
    assert found.names[0] == "account"
    assert len(found) == len(codes)
    typed = match_records(a, {"account": [f"{code}9" for code in codes], "name": names})
    (left_out,) = typed.left_out
    assert "--field account" in str(left_out)


# ---- missing values ----


def people(rows, seed):
    """Make people who are unlike each other."""
    rng = random.Random(seed)
    first = ["".join(rng.choices(SYLLABLES, k=2)).title() for _ in range(100)]
    last = ["".join(rng.choices(SYLLABLES, k=3)).title() for _ in range(400)]
    return [
        {
            "given": rng.choice(first),
            "surname": rng.choice(last),
            "born": f"{rng.randrange(1930, 2005)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            "phone": str(rng.randrange(2 * 10**9, 9 * 10**9)),
        }
        for _ in range(rows)
    ]


MARKERS = {
    "given": ["nan", "unknown", "N/A", "?"],
    "surname": ["NULL", "unknown", "Unbekannt"],
    "born": ["1900-01-01", "unknown", "01/01/1900"],
    "phone": ["9999999999", "N/A", "000-000-0000", "0"],
}


def with_markers(rows, part, seed, empty=False):
    """Replace a part of the values by markers of missing values, or by nothing."""
    rng = random.Random(seed)
    found = []
    for row in rows:
        found.append({})
        for name, value in row.items():
            marker = rng.choice(MARKERS[name])
            found[-1][name] = (
                value if rng.random() >= part else None if empty else marker
            )
    return found


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("part", [0.3, 0.7])
def test_markers_are_as_empty_values(part):
    rows = people(1100, 1)
    a, b = rows[:600], rows[500:]
    marked = match_records(
        with_markers(a, part, 3),
        with_markers(b, part, 4),
        rules=["key:surname", "key:phone"],
    )
    empty = match_records(
        with_markers(a, part, 3, empty=True),
        with_markers(b, part, 4, empty=True),
        rules=["key:surname", "key:phone"],
    )
    for own, other in zip(marked.fields, empty.fields, strict=True):
        assert own.values == other.values
    assert marked.pairs() == empty.pairs()
    assert marked.summary.missing["phone"].keys() == {*MARKERS["phone"]}
    assert "phone: counts as missing: " in marked.describe()
    assert "counts as missing" in marked.page()


NAMES = ["Smith", "Jones", "Lee", "Brown", "Khan", "Diaz", "Orlov"]


@pytest.mark.some_cases
@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ([*NAMES, "Null", "None"], set()),
        ([*NAMES * 9, *["Null"] * 9], set()),
        ([*NAMES * 3, *["Null"] * 30], {"Null"}),
        ([*NAMES, "NULL", "none", "N/A"], {"NULL", "none", "N/A"}),
        ([name.lower() for name in NAMES * 9] + ["null"] * 9, set()),
        (["Springfield"] * 300 + [f"{a}{b}" for a in NAMES for b in NAMES], set()),
        (["NO", "DE", "US", "NA", "FR", "NO", "DE"], set()),
        (["yes", "no", "no", "no", "no", "no"], set()),
        (["-", "--", "?", "…", "Ann"], {"-", "--", "?", "…"}),
        ([f"{row}" for row in range(2000, 2040)] + ["0", "0"], set()),
        ([f"{row}" for row in range(2000000, 2000040)] + ["0", "0000000", "unknown"], {"0", "0000000", "unknown"}),
        ([f"12{row}-44-{row}31" for row in range(10, 99)] + ["123-45-6789", "999-99-9999"],
         {"123-45-6789", "999-99-9999"}),
        ([f"19{row}-05-17" for row in range(40, 99)] + ["1/1/1900", "0001-01-01", "9999-12-31"],
         {"1/1/1900", "0001-01-01", "9999-12-31"}),
        ([f"190{row}-0{row + 1}-17" for row in range(8)] * 5 + ["1900-01-01"], set()),
        ([f"{row}.5" for row in range(10, 99)] + ["9999"] * 9, {"9999"}),
        ([f"{row}.5" for row in range(10, 99)] + ["99"] * 3, set()),
        (["Иванов", "Петров", "неизвестно", "Сидоров"], {"неизвестно"}),
        (["Weiß", "Groß", "k. A.", "unbekannt", "Klein"], {"k. A.", "unbekannt"}),
        (["ann@x.org", "bob@y.com", "none@none.com", "eve@z.net"], {"none@none.com"}),
    ],
)  # fmt: skip
def test_markers_are_recognised_by_form_and_frequency(values, missing):
    field = coded(values)
    assert {marker.value for marker in field.markers} == missing
    assert int((field.codes[0] < 0).sum()) == sum(value in missing for value in values)


@pytest.mark.slow
def test_frequent_values_are_missing_if_other_fields_tell_the_records_apart():
    rows = people(300, 2)
    for row in rows[:60]:
        row["phone"] = "5551234567"
    assert dedup_records(rows).summary.missing["phone"] == {"5551234567": (60,)}
    copies = people(300, 2) + people(1, 5) * 60
    assert "phone" not in dedup_records(copies, rules=["key:phone"]).summary.missing


def test_missing_values_are_given_or_not_recognised():
    values = ["Ann", "Bob", "Eve", "nobody", "N/A", "x=y"]
    assert [m.value for m in coded(values, missing=["Nobody"]).markers] == [
        "nobody",
        "N/A",
    ]
    assert [m.value for m in coded(values, missing=["none", "x=nobody"]).markers] == [
        "nobody"
    ]
    assert [m.value for m in coded(values, missing={"x": ["x=y"]}).markers] == [
        "N/A",
        "x=y",
    ]
    assert [m.value for m in coded(values, missing="==y").markers] == ["N/A"]
    assert coded(values, missing="none").markers == ()
    assert (
        len(
            coded(
                ["1984-05-02", "2.5.1984", "1990-12-01"], missing=["1984-05-02"]
            ).values
        )
        == 1
    )
    assert len(coded([2.5, 9999, 3.5], missing=[9999]).values) == 2
    with pytest.raises(
        ValueError,
        match="missing: no column 'y'; columns are: x; =VALUE is a value of any column",
    ):
        coded(values, missing=["y=1"])
    with pytest.raises(
        TypeError, match="missing must be strings such as 'N/A' or 'phone=0', not None"
    ):
        coded(values, missing=[None])


# ---- dates, numbers and ages ----


@pytest.mark.some_cases
@pytest.mark.parametrize(
    "text",
    ["Sep 19, 1965", "19. September 1965", "19-SEP-1965", "19 septembre 1965", "19 de septiembre de 1965",
     "19 settembre 1965", "19 de setembro de 1965", "19 września 1965 r.", "19 сентября 1965 г.", "19 sept. 1965",
     "Sunday, September 19th, 1965", "1965-Sep-19", "den 19. september 1965", "Sun, 19 Sep 1965 10:00:00 GMT",
     "9/19/1965", "19.9.1965", "1965-09-19T10:00:00+02:00", "19650919T101500"],
)  # fmt: skip
def test_dates_are_read_as_they_are_written(text):
    found = coded([text, "1950-03-04", "2001-11-30", "1999-12-01"], missing="none")
    assert found.kind == "date"
    assert found.values[0] == "19650919"


def test_years_of_two_digits_with_names_of_months():
    field = coded(
        ["19-SEP-65", "4-Mar-72"], [f"19{year}-03-04" for year in range(60, 90)]
    )
    assert (field.kind, field.values[:2]) == ("date", ["19650919", "19720304"])
    assert field.notes[0] == "years of two digits are 1890 to 1989"


@pytest.mark.parametrize(
    "text", ["19 Main Street 65", "May 1965", "jui 19 1965", "April", "31 April 1999"]
)
def test_other_texts_are_no_dates(text):
    assert coded([text], ["1950-03-04"]).refused[0] == 1


def test_values_that_are_not_of_their_kind_are_warned_of():
    days = [f"19{row}-05-17" for row in range(40, 98)]
    found = dedup_records(
        {"born": [*days, "soon", "in May", "later", "17th"]}, scoring="points"
    )
    (text,) = (text for text in found.summary.warnings if "no dates" in text)
    assert text.startswith(
        "born: values that are no dates count as missing, 6% in a, such as 'soon', 'in May', 'later'"
    )
    assert not any(
        "no dates" in text
        for text in dedup_records({"born": [*days, "soon"]}).summary.warnings
    )
    first = RecordTable({"born": days}, name="files/ours.csv")
    second = RecordTable(
        {"born": [f"the {day}" for day in days]}, name="files/theirs.csv"
    )
    other = match_records(first, second, scoring="points")
    assert any(
        "100% in theirs.csv, such as 'the 1940-05-17'" in text
        for text in other.summary.warnings
    )
    sums = match_records(
        {"sum": ["1.5"] * 10},
        {"sum": ["about 2"] * 10},
        fields=["sum:number"],
        scoring="points",
    )
    assert any(
        "no numbers" in text and "'about 2'" in text for text in sums.summary.warnings
    )


def test_decimal_signs_are_seen_from_the_column():
    numbers = [1234.5, 0.25, 1999.0, 12.125]
    for written in (
        ["1.234,5", "0,25", "1.999", "12,125"],
        ["1 234,50 €", "0,25 €", "1 999,00 €", "12,125 €"],
        ["1'234.5", "0.25", "1'999", "12.125"],
        ["$1,234.50", "$0.25", "$1,999.00", "$12.125"],
    ):
        field = coded(written, numbers)
        assert field.kind == "number"
        assert field.codes[1].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("what", ["age", "year"])
def test_ages_and_years_are_compared_with_dates_of_birth(what):
    rng = random.Random(4)
    days = [
        date(rng.randrange(1930, 2005), rng.randrange(1, 13), rng.randrange(1, 29))
        for _ in range(300)
    ]
    today = date(2019, 10, 1)
    ages = [today.year - day.year - ((day.month, day.day) > (10, 1)) for day in days]
    numbers = [day.year for day in days] if what == "year" else ages
    found = match_records(
        {"born": days},
        {"age": numbers},
        fields=["born=age"],
        rules=["all"],
        scoring="points",
        threshold=99,
    )
    field = found.fields[0]
    assert field.kind == "age"
    assert (
        np.abs(field.numbers[field.codes[0]] - field.numbers[field.codes[1]]) <= 1
    ).all()
    assert (field.codes[0] == field.codes[1]).mean() > (
        0.999 if what == "year" else 0.7
    )
    assert (
        "born in a: years of birth" in found.describe()
        or "estimated from both tables" in found.describe()
    )


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_forms_of_unicode_are_equal(form):
    texts = [
        "Zoë Ångström",
        "ﬁnal ™ ①",
        "ℌilbert",
        "한국어",
        "हिन्दी",
        "Ǆ x",
        "Ⅷ",
        "ᾳ̈",
        "İstanbul",
    ]
    assert coded(texts, [unicodedata.normalize(form, text) for text in texts]).codes[
        1
    ].tolist() == [*range(len(texts))]


def test_letters_that_newer_versions_of_unicode_assign_are_pinned():
    """U+10570 has a small letter since Unicode 14, U+1C89 since 16; interpreters know one of them, both or none."""
    assert coded(["\U00010570", "\U00010597", "a\u1c89b", "a b"]).values == [
        "\U00010597",
        "a b",
    ]


# ---- files ----


def test_files_of_two_encodings_delimiters_and_decimal_signs(tmp_path):
    rows = [
        (f"{row['given']} Müller {row['surname']}", 10 + number * 1.25)
        for number, row in enumerate(people(60, 7))
    ]
    first = "sep=;\r\nname;sum\r\n" + "".join(
        f"{name};{number:.2f}\r\n".replace(".", ",") for name, number in rows
    )
    (tmp_path / "a.csv").write_bytes(first.encode("utf-16"))
    second = "name,sum\n" + "".join(f"{name},{number:.2f}\n" for name, number in rows)
    (tmp_path / "b.csv").write_bytes(second.encode("cp1252"))
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv", "links.csv")]
    options = [
        "--encoding-b",
        "cp1252",
        "--missing",
        "sum=10",
        "--field",
        "name",
        "--field",
        "sum",
    ]
    run = CliRunner().invoke(
        app, ["records", "match", *paths[:2], "-o", paths[2], *options]
    )
    assert run.exit_code == 0, run.output
    assert len((tmp_path / "links.csv").read_text().splitlines()) == 61
    assert "sum in a.csv: read with a comma as decimal sign" in run.output + run.stderr
    assert "sum: counts as missing: '10,00' (1 and 1)" in run.output + run.stderr


@pytest.mark.parametrize(
    ("bad", "option"), [("a", "--encoding"), ("b", "--encoding-b")]
)
def test_the_encoding_to_try_is_that_of_the_bad_table(tmp_path, bad, option):
    for name in ("a", "b"):
        encoding = "cp1252" if name == bad else "utf-8"
        (tmp_path / f"{name}.csv").write_bytes("name\nMüller\n".encode(encoding))
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv", "links.csv")]
    run = CliRunner().invoke(app, ["records", "match", *paths[:2], "-o", paths[2]])
    assert f"{bad}.csv" in run.stderr
    assert f"try encoding cp1252 ({option} cp1252)" in run.stderr


def test_a_mark_of_utf8_overrides_the_encoding_of_both_tables(tmp_path):
    rows = "Name\n" + "".join(
        f"{row['given']} Müller {row['surname']}\n" for row in people(60, 7)
    )
    (tmp_path / "a.csv").write_bytes(rows.encode("cp1252"))
    (tmp_path / "b.csv").write_bytes(rows.encode("utf-8-sig"))
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv", "links.csv")]
    arguments = ["records", "match", *paths[:2], "-o", paths[2]]
    run = CliRunner().invoke(
        app, [*arguments, "--encoding", "cp1252", "--field", "Name"]
    )
    assert run.exit_code == 0, run.output


def test_lists_of_files_are_sets_of_values(tmp_path):
    lists = [["b", f"a{row}"] for row in range(30)]
    (tmp_path / "a.csv").write_text(
        "tags\n" + "".join(f'"{values[1]}, b"\n' for values in lists)
    )
    pq.write_table(pa.table({"tags": lists}), tmp_path / "b.parquet")
    (tmp_path / "b.jsonl").write_text(
        "".join(json.dumps({"tags": values}) + "\n" for values in lists)
    )
    links = tmp_path / "links.csv"
    for other in ("b.parquet", "b.jsonl"):
        options = [
            "--block",
            "key:tags",
            "--field",
            "tags",
            "--scoring",
            "points",
            "--overwrite",
        ]
        paths = [str(tmp_path / "a.csv"), str(tmp_path / other), "-o", str(links)]
        run = CliRunner().invoke(app, ["records", "match", *paths, *options])
        assert run.exit_code == 0, run.output
        assert len(links.read_text().splitlines()) == 31
