"""One merged list of all records: a row for each entity, which record it shows, and files that Excel opens."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from lshfast.records import dedup_records, match_records
from tests import corpora
from tests.cli.commands import failing, read_jsonl, run

PEOPLE = {
    "id": ["x", "y", "z", "w"],
    "name": ["Ann Lee", "Anne Lee", "Ann Leee", "Bob Ray"],
    "mail": [None, "ann@example.org", "", "bob@example.org"],
    "phone": ["555 0100", "555 0100", "555 0100", "555 0199"],
    "changed": ["2024-05-01 10:00", "2023-01-01", "2024-05-01 09:30", None],
}
ONE = {"fields": ["name"], "scoring": "points", "id_column": "id"}


def rows_of(table):
    return [
        dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)
    ]


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("most-complete", "y"),
        ("first", "x"),
        ("newest:changed", "x"),
        ("newest:phone", "y"),
    ],
)
def test_a_group_of_one_table_has_one_row_by_a_rule(rule, kept):
    table = PEOPLE | {"phone": [1, 3, 2.5, 9]} if rule == "newest:phone" else PEOPLE
    merged = dedup_records(table, **ONE).merged(rule)
    assert merged["id"] == [kept, "w"]
    assert merged["ids"] == [[kept, *(key for key in "xyz" if key != kept)], ["w"]]
    assert merged["records"] == [3, 1]
    for name in ("name", "mail", "phone", "changed"):
        assert merged[name] == [table[name]["xyzw".index(key)] for key in (kept, "w")]


@pytest.mark.parametrize(
    "order", ["5.4.2021 3.5.2021 30.1.2021", "04/05/2021 05/03/2021 01/30/2021"]
)
def test_the_newest_is_found_by_dates_as_they_are_written(order):
    table = {"name": ["Ann Lee", "Anne Lee", "Ann Leee"], "changed": order.split()}
    assert dedup_records(table, fields=["name"], scoring="points").merged(
        "newest:changed"
    )["id"] == [1]


@pytest.mark.slow
def test_times_behind_much_white_space_take_no_quadratic_time():
    table = {
        "name": ["Ann Lee", "Anne Lee", "Ann Leee"],
        "changed": ["T" + " " * 10**6, "2024-01-02 08:30", "2024-01-02T \t 09:30"],
    }
    found = dedup_records(table, fields=["name"], scoring="points")
    assert found.merged("newest:changed")["id"] == [2]


def test_columns_of_the_names_of_the_list_stay():
    table = {"name": ["Ann Lee", "Anne Lee"], "id": [5, 6], "ids": ["p", "q"]}
    merged = dedup_records(table, fields=["name"], scoring="points").merged()
    assert list(merged) == ["id_", "ids_", "records", "name", "id", "ids"]
    assert (merged["id_"], merged["id"], merged["ids_"]) == ([0], [5], [[0, 1]])


A = {
    "id": [1, 2, 3],
    "name": ["Ann Lee", "Eve Stone", "Ivan Orlov"],
    "town": ["Rome", "Oslo", "Bonn"],
}
B = {
    "key": [7, 8, 9],
    "name": ["Vera Blum", "Ann Lee", "Anne Lee"],
    "born": ["1999-09-09", None, "1980-05-01"],
}
TWO = {"fields": ["name"], "scoring": "points", "id_column": ("id", "key")}


def test_two_tables_have_a_row_for_each_link_and_each_other_record():
    result = match_records(A, B, **TWO)
    merged = result.merged()
    assert list(merged) == ["id_a", "id_b", "a.name", "a.town", "b.name", "b.born"]
    pairs = list(zip(merged["id_a"], merged["id_b"], strict=True))
    assert pairs == [(1, 8), (2, None), (3, None), (None, 7), (None, 9)]
    assert merged["a.town"] == ["Rome", "Oslo", "Bonn", None, None]
    assert merged["b.name"] == ["Ann Lee", None, None, "Vera Blum", "Anne Lee"]


def test_two_tables_with_several_links_of_a_record_have_a_row_for_each_entity():
    merged = match_records(A, B, **TWO, assign="many-to-many").merged("newest:born")
    assert list(zip(merged["id_a"], merged["id_b"], strict=True)) == [
        (1, 9),
        (2, None),
        (3, None),
        (None, 7),
    ]
    assert merged["ids_a"] == [[1], [2], [3], []]
    assert merged["ids_b"] == [[9, 8], [], [], [7]]


def test_no_records_give_no_rows():
    assert dedup_records({"name": []}).merged()["id"] == []
    assert match_records({"name": []}, B, **TWO | {"id_column": None}).merged()[
        "id_b"
    ] == [0, 1, 2]


def test_parts_of_addresses_are_no_columns():
    pytest.importorskip("usaddress")
    table = {"home": ["4 Elm Court, Dover, DE", "4 Elm Ct, Dover, DE"]}
    merged = dedup_records(table, fields=["home:address"], scoring="points").merged()
    assert list(merged) == ["id", "ids", "records", "home"]


@pytest.mark.one_case
@pytest.mark.parametrize(
    "rule", ["newest", "oldest", "most-complete:name", "newest:none", "newest:name"]
)
def test_rules_that_cannot_be_are_refused(rule, tmp_path):
    with pytest.raises(
        ValueError,
        match=r"keep_record must be|no column 'none'|neither dates nor numbers",
    ):
        dedup_records(PEOPLE, **ONE).merged(rule)
    source = corpora.make(tmp_path / "a.csv", rows_of(PEOPLE))
    options = (
        "-o",
        tmp_path / "links.csv",
        "--merged",
        tmp_path / "m.csv",
        "--keep-record",
        rule,
    )
    failing(
        2,
        "records",
        "dedup",
        source,
        *options,
        "--scoring",
        "points",
        "--field",
        "name",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def merged_by(tmp_path, form, rows, *options):
    """Write a merged list of one table by the command, and return its path."""
    source = corpora.make(tmp_path / "people.jsonl", rows)
    path = tmp_path / f"merged{form}"
    common = (
        "-o",
        tmp_path / "links.csv",
        "--merged",
        path,
        "--id-column",
        "id",
        "--scoring",
        "points",
        "--field",
        "name",
    )
    result = run("records", "dedup", source, *common, "-q", *options)
    assert result.exit_code == 0, result.stderr
    return path


def test_files_of_every_format(tmp_path):
    more = {
        "mixed": [1, "two", None, 10**30],
        "whole": [1, 2, None, 4],
        "yes": [None, True, False, None],
    }
    rows = rows_of(PEOPLE | more)
    for row, number in zip(rows, (4, 1, 2, 3), strict=True):
        row["id"] = number
    (jsonl,) = [
        row
        for row in read_jsonl(merged_by(tmp_path, ".jsonl", rows, "--overwrite"))
        if row["records"] == 3
    ]
    assert (jsonl["ids"], jsonl["mixed"], jsonl["whole"]) == ([1, 4, 2], "two", 2)
    table = pq.read_table(merged_by(tmp_path, ".parquet", rows, "--overwrite"))
    assert {name: str(table.schema.field(name).type) for name in ("id", "whole", "mixed", "yes")} == {
        "id": "int64", "whole": "int64", "mixed": "string", "yes": "bool",
    }  # fmt: skip
    assert table.column("ids").to_pylist() == [[1, 4, 2], [3]]
    assert table.column("mixed").to_pylist() == ["two", "1e+30"]
    path = merged_by(tmp_path, ".csv", rows, "--overwrite")
    first = next(csv.DictReader(path.read_text().splitlines()))
    assert (first["ids"], first["mixed"], first["records"]) == ("1; 4; 2", "two", "3")


def test_no_list_is_written_if_another_output_fails(tmp_path):
    source = corpora.make(tmp_path / "a.csv", rows_of(PEOPLE))
    taken = tmp_path / "groups.csv"
    taken.write_text("mine")
    outputs = (
        "-o",
        tmp_path / "links.csv",
        "--merged",
        tmp_path / "m.csv",
        "--groups",
        taken,
    )
    assert "exists already" in failing(
        2, "records", "dedup", source, *outputs, "--scoring", "points"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "groups.csv"]
    assert "keep_record (--keep-record) needs merged" in failing(
        2,
        "records",
        "dedup",
        source,
        "-o",
        tmp_path / "links.csv",
        "--keep-record",
        "first",
    )


ALL_TABLES = "links", "groups", "review", "merged", "changes"


@pytest.mark.one_case
@pytest.mark.parametrize("delimiter", [";", "tab", "|", "^", "]"])
def test_all_tables_open_in_excel(tmp_path, delimiter):
    rows = rows_of(PEOPLE | {"mail": ["a;b", "c,d", 'e"f', "g\th|i^j]k"]})
    source = corpora.make(tmp_path / "people.csv", rows)
    paths = {name: tmp_path / f"{name}.csv" for name in ALL_TABLES}
    outputs = [part for name in ALL_TABLES[1:] for part in (f"--{name}", paths[name])]
    options = (
        "--id-column",
        "id",
        "--scoring",
        "points",
        "--field",
        "name",
        "--clusters",
        tmp_path / "c.parquet",
    )
    style = "--output-delimiter", delimiter, "--bom"
    result = run(
        "records",
        "dedup",
        source,
        "-o",
        paths["links"],
        *outputs,
        *options,
        *style,
        "-q",
    )
    assert result.exit_code == 0, result.stderr
    for name, path in paths.items():
        data = path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf"), name
        assert data.count(b"\xef\xbb\xbf") == 1
        lines = data.decode("utf-8-sig").splitlines()
        table = list(
            csv.reader(lines, delimiter="\t" if delimiter == "tab" else delimiter)
        )
        assert len(table) > 1
        assert {len(row) for row in table} == {len(table[0])}
        assert len(table[0]) > 2
    if delimiter not in "^]":  # which are not detected
        labels = "--labels", paths["review"]
        again = run(
            "records",
            "dedup",
            source,
            "-o",
            tmp_path / "2.csv",
            *labels,
            *options[:6],
            "-q",
        )
        assert again.exit_code == 0, again.stderr


def test_the_style_of_csv_needs_csv(tmp_path):
    source = corpora.make(tmp_path / "a.csv", rows_of(PEOPLE))
    for style in (["--bom"], ["--output-delimiter", ";"]):
        said = failing(
            2,
            "records",
            "dedup",
            source,
            "-o",
            tmp_path / "links.jsonl",
            *style,
            "--scoring",
            "points",
        )
        assert "need an output named .csv" in said
    said = failing(
        2,
        "records",
        "dedup",
        source,
        "-o",
        tmp_path / "links.csv",
        "--output-delimiter",
        "ab",
    )
    assert "delimiter must be one ASCII character" in said
    assert json.dumps([path.name for path in tmp_path.iterdir()]) == '["a.csv"]'


@pytest.mark.parametrize("defuse", [False, True])
def test_formulas_stay_unless_they_are_to_be_defused(tmp_path, defuse):
    rows = rows_of(PEOPLE | {"mail": ["=1+1"] * 4})
    path = merged_by(tmp_path, ".csv", rows, *["--defuse-formulas"] * defuse)
    assert {row["mail"] for row in csv.DictReader(path.read_text().splitlines())} == {
        "'=1+1" if defuse else "=1+1"
    }
