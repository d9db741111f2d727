"""lshfast records: outputs in every format, accounts of all rows, and what is left when a run fails."""

import csv
import gzip
import json
import os
import signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lshfast._engine.inputs import Inputs
from lshfast._io import DataError
from lshfast._io.whole_tables import read_whole
from lshfast.records import LinkOptions
from lshfast.records.job import (
    LinkAccount,
    RecordInputs,
    RecordOutputs,
    link_files,
    read_synonyms,
)
from tests import corpora
from tests.cli.commands import ENDINGS, failing, read_jsonl, run, stopped

PEOPLE = [
    ("p1", "Ann Lee", "1 High Street", "1980-05-01"), ("p2", "Bob Ray", "22 Low Road", "1971-11-30"),
    ("p3", "Zoë Müller", "7 Mill Lane", "1966-01-02"), ("p4", "Eve Stone", "9 Oak Avenue", "1990-09-09"),
    ("p5", "William Jones", "4 Elm Court", "1955-03-04"),
]  # fmt: skip
OTHERS = [
    ("q1", "Zoe Mueller", "7 Mill Ln", "1966-01-02"), ("q2", "Bill Jones", "4 Elm Ct", "1955-03-04"),
    ("q3", "Ann Lee", "1 High St", ""), ("q4", "Ivan Orlov", "3 Sea View", "2001-07-07"),
]  # fmt: skip
NAMES = ("id", "name", "address", "born")
LINKS = [("p1", "q3"), ("p3", "q1"), ("p5", "q2")]
OPTIONS = "--id-column", "id", "--scoring", "points", "-q"


def rows_of(people):
    return [dict(zip(NAMES, person, strict=True)) for person in people]


@pytest.fixture
def a(tmp_path):
    return corpora.make(tmp_path / "a.csv", rows_of(PEOPLE))


@pytest.fixture
def b(tmp_path):
    return corpora.make(tmp_path / "b.csv", rows_of(OTHERS))


def links_of(path):
    return [
        (row["id_a"], row["id_b"])
        for row in csv.DictReader(path.read_text().splitlines())
    ]


@pytest.mark.parametrize(
    "form", [".csv", ".csv.gz", ".jsonl", ".jsonl.zst", ".parquet"]
)
def test_inputs_of_every_format(b, tmp_path, form):
    source = corpora.make(tmp_path / f"people{form}", rows_of(PEOPLE))
    out = tmp_path / "links.csv"
    assert run("records", "match", source, b, "-o", out, *OPTIONS).exit_code == 0
    assert links_of(out) == LINKS


@pytest.mark.parametrize("form", [".csv", ".tsv", ".jsonl", ".csv.gz", ".parquet"])
def test_outputs_of_every_format(a, b, tmp_path, form):
    out = tmp_path / f"links{form}"
    assert run("records", "match", a, b, "-o", out, *OPTIONS).exit_code == 0
    if form == ".parquet":
        table = pq.read_table(out)
        assert table.schema.field("id_a").type == pa.string()
        rows = table.to_pylist()
    elif form == ".jsonl":
        rows = read_jsonl(out)
    else:
        rows = list(
            csv.DictReader(
                corpora.unpack(out).decode().splitlines(),
                delimiter="\t" if form == ".tsv" else ",",
            )
        )
    assert [(row["id_a"], row["id_b"]) for row in rows] == LINKS
    assert list(rows[0]) == [
        "id_a",
        "id_b",
        "score",
        "score_name",
        "score_address",
        "score_born",
    ]
    assert float(rows[0]["score_born"]) == 50.0  # missing: half of the points


def test_the_tables_of_a_run(a, b, tmp_path):
    result = run(
        "records",
        "match",
        a,
        b,
        "-o",
        tmp_path / "links.csv",
        *OPTIONS[:-1],
        "--verbose",
    )
    assert result.exit_code == 0
    assert f"{a}: 3 linked + 2 unlinked + 0 rejected = 5 read" in result.stderr
    assert f"{b}: 3 linked + 1 unlinked + 0 rejected = 4 read" in result.stderr
    assert " 20   pairs, of 20; rules: 1\n" in result.stderr
    lines = [line.split() for line in result.stderr.splitlines()]
    assert ["address", "text"] in [line[:2] for line in lines]
    assert ["1", "all", "20", "20", "3"] in [line[:5] for line in lines]
    assert f"present in {a.name}  in {b.name}" in result.stderr
    tables = result.stderr[: result.stderr.index("\nrecords  ")]
    assert max(map(len, tables.splitlines())) <= 80


def test_the_reach_of_rules_and_equal_pairs_are_shown(tmp_path):
    names = [
        f"product {row * 7919 % 1000} of maker {row * 31 % 17}" for row in range(100)
    ] + ["triple thing"] * 3
    rows = [
        {"name": name, "town": f"{'ab'[row % 2]}{row}"}
        for row, name in enumerate(names)
    ]
    others = [
        {"name": name, "town": f"{'ac'[row % 2]}{row}"}
        for row, name in enumerate(names)
    ]
    tables = (
        corpora.make(tmp_path / "x.csv", rows),
        corpora.make(tmp_path / "y.csv", others),
    )
    options = (
        "--field",
        "name",
        "--block",
        "nearest",
        "--block",
        "key:name",
        "-o",
        tmp_path / "links.csv",
        "-v",
    )
    result = run("records", "match", *tables, *options)
    assert result.exit_code == 0, result.stderr
    assert "these rules reach 100.0% of 100 seed pairs without nearest" in result.stderr
    assert " 3   links left out: several others are as good\n" in result.stderr


def test_ids_are_places_without_a_column(a, b, tmp_path):
    out = tmp_path / "links.jsonl"
    fields = [f"--field={name}" for name in NAMES[1:]]
    assert (
        run(
            "records", "match", a, b, "-o", out, "--scoring", "points", "-q", *fields
        ).exit_code
        == 0
    )
    first = read_jsonl(out)[0]
    assert (first["id_a"], first["id_b"]) == (f"{a}:2", f"{b}:4")


def test_integer_ids_stay_integers(tmp_path):
    source = corpora.make(
        tmp_path / "a.jsonl",
        [{"id": 7, "name": "Ann Lee"}, {"id": 9, "name": "Ann Lee"}],
    )
    out = tmp_path / "links.parquet"
    assert run("records", "dedup", source, "-o", out, *OPTIONS).exit_code == 0
    assert pq.read_table(out).select(["id_a", "id_b"]).to_pylist() == [
        {"id_a": 7, "id_b": 9}
    ]


def test_groups_of_one_table(a, b, tmp_path):
    both = corpora.make(tmp_path / "both.csv", rows_of(PEOPLE + OTHERS))
    out, groups = tmp_path / "links.csv", tmp_path / "groups.jsonl"
    assert (
        run("records", "dedup", both, "-o", out, "--groups", groups, *OPTIONS).exit_code
        == 0
    )
    assert links_of(out) == LINKS
    found = {row["id"]: (row["group"], row["size"]) for row in read_jsonl(groups)}
    assert len(found) == 9
    assert found["q2"] == found["p5"] == ("p5", 2)
    assert found["p2"] == ("p2", 1)


def test_fields_rules_and_synonyms_are_options(a, b, tmp_path):
    out, words = tmp_path / "links.csv", tmp_path / "words.csv"
    words.write_text("Eve,Ivan\nStone,Orlov\n")
    rules = [
        "--block",
        "sort:name:window=30",
        "--block",
        "key:born",
        "--max-block",
        "5",
    ]
    result = run("records", "match", a, b, "-o", out, "--id-column", "id", "--scoring", "points", *rules,
                 "--field", "name:name:points=10:penalty=1", "--synonyms", words, "--threshold", "6",
                 "--assign", "many-to-one")  # fmt: skip
    assert result.exit_code == 2
    assert "no field 'born' to block by; fields are: name" in result.stderr
    result = run("records", "match", a, b, "-o", out, "--id-column", "id", "--scoring", "points", *rules[:2],
                 "--field", "name:name:points=10:penalty=1", "--synonyms", words, "--threshold", "6")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert links_of(out) == [*LINKS[:1], ("p3", "q1"), ("p4", "q4"), ("p5", "q2")]
    assert read_synonyms(words).related("eve", "ivan")


def test_telephones_addresses_dates_and_nicknames(tmp_path):
    ours = [{"id": "p1", "name": "Aaron Иванов", "phone": "(212) 736-5000", "home": "4 Elm Court Apt 3, Dover, DE",
             "born": "03/05/1980"}]  # fmt: skip
    theirs = [{"id": "q1", "name": "Ronnie Ivanov", "phone": "+1 212 736 5000", "home": "4 Elm Ct #3, Dover, Delaware",
               "born": "1980-03-05"}]  # fmt: skip
    a = corpora.make(tmp_path / "a.csv", ours)
    b = corpora.make(tmp_path / "b.csv", theirs)
    fields = (
        "name:latin=yes",
        "phone:phone:region=US",
        "home:address",
        "born:date:order=mdy",
    )
    options = [part for field in fields for part in ("--field", field)]
    out = tmp_path / "links.csv"
    options = ["--id-column", "id", "--scoring", "points", "--nicknames", *options]
    done = run("records", "match", a, b, "-o", out, *options)
    assert done.exit_code == 0
    (link,) = csv.DictReader(out.read_text().splitlines())
    assert [link[f"score_{name}"] for name in ("name", "phone", "born")] == [
        "99.0",
        "100.0",
        "100.0",
    ]
    assert [link[f"score_home.{part}"] for part in ("number", "street", "state")] == [
        "20.0",
        "19.0",
        "20.0",
    ]
    assert "phone in a.csv: region US\n" in done.stderr
    assert "born in a.csv: read as month, day, year\n" in done.stderr
    assert read_synonyms(None, nicknames=True).related("aaron", "ronnie")
    shown = failing(
        2,
        "records",
        "match",
        a,
        b,
        "-o",
        out,
        "--overwrite",
        "--field",
        "phone:phone:region=us",
    )
    assert "region must be two capital letters such as 'US', not 'us'" in shown


def test_synonyms_that_are_not_csv(tmp_path):
    words = tmp_path / "words.csv"
    words.write_text("Eve," + 200_000 * "x" + "\n")
    limit = csv.field_size_limit(131072)  # the default, which readers of tables raise
    try:
        with pytest.raises(
            DataError,
            match=r"words.csv: not valid CSV: field larger than field limit \(131072\)",
        ):
            read_synonyms(words)
    finally:
        csv.field_size_limit(limit)


def test_columns_of_other_names(a, tmp_path):
    renamed = [
        {"key": person[0], "full name": person[1], "birthday": person[3]}
        for person in OTHERS
    ]
    b = corpora.make(tmp_path / "b.jsonl", renamed)
    out = tmp_path / "links.csv"
    result = run("records", "match", a, b, "-o", out, *OPTIONS, "--id-column-b", "key", "--field", "name=full name",
                 "--field", "born=birthday:date", "--threshold", "140")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert links_of(out) == LINKS


def test_headers_with_spaces(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id, name\n1, Ann Lee\n2, Ann Lee\n")
    out = tmp_path / "links.csv"
    assert (
        run("records", "dedup", path, "-o", out, *OPTIONS, "--field", "name").exit_code
        == 0
    )
    assert links_of(out) == [("1", "2")]


@pytest.mark.slow
def test_the_rate_of_true_matches(tmp_path):
    rows = [{"id": k, "name": f"name{k % 40}", "town": f"t{k % 40 % 7}", "made": f"{k % 40 * 10 + k // 40}.5"}
            for k in range(80)]  # fmt: skip
    source = corpora.make(tmp_path / "a.jsonl", rows)
    out, rates, plot = (
        tmp_path / name for name in ("links.csv", "rates.csv", "rates.svg")
    )
    given = "--hold-out", "made:number", "--rates", rates, "--plot", plot
    result = run("records", "dedup", source, "-o", out, "--id-column", "id", *given)
    assert result.exit_code == 0, result.stderr
    assert "true matches by made: mean difference 1" in result.stderr
    found = list(csv.DictReader(rates.read_text().splitlines()))
    assert float(found[-1]["true_match_rate"]) == 1.0
    assert b"<svg" in plot.read_bytes()
    command = [
        "records",
        "dedup",
        source,
        "-o",
        tmp_path / "w.csv",
        "--id-column",
        "id",
    ]
    result = run(*command, "--hold-out", "made:number", "--hold-out-window", 20)
    assert result.exit_code == 0, result.stderr
    line = failing(2, *command, "--hold-out-window", 20)
    assert "held_out_window needs a field that is held out" in line
    assert failing(
        2,
        "records",
        "dedup",
        source,
        "-o",
        tmp_path / "x.csv",
        "--rates",
        tmp_path / "r.csv",
    ) == (
        "lshfast: error: the rate of true matches needs a field that is held out of the scores"
    )


def test_two_records_are_explained(a, b, tmp_path):
    given = "--id-column", "id", "--scoring", "points", "-q"
    result = run(
        "records",
        "match",
        a,
        b,
        "-o",
        tmp_path / "1.csv",
        *given,
        "--explain",
        "p4",
        "q4",
    )
    assert result.exit_code == 0, result.stderr
    assert result.stderr.splitlines()[:2] == [
        "p4 - q4: 55.00 points",
        "  not linked: the score is below the threshold of 225.00",
    ]
    both = corpora.make(tmp_path / "both.csv", rows_of(PEOPLE + OTHERS))
    result = run(
        "records",
        "dedup",
        both,
        "-o",
        tmp_path / "2.csv",
        *given,
        "--explain",
        "q2",
        "p5",
    )
    assert "p5 - q2: " in result.stderr
    assert "  linked: the score is at least the threshold" in result.stderr
    places = run(
        "records",
        "match",
        a,
        b,
        "-o",
        tmp_path / "3.csv",
        *given[2:],
        "--explain",
        f"{a}:2",
        f"{b}:4",
    )
    assert places.stderr.startswith(f"{a}:2 - {b}:4: ")
    out = tmp_path / "4.csv"
    assert failing(
        2, "records", "match", a, b, "-o", out, *given, "--explain", "p4", "q9"
    ) == (f"lshfast: error: {b}: no record has the id 'q9'")
    assert not out.exists()


def test_row_numbers_are_named(tmp_path):
    rows = [
        {"number": number, "name": name}
        for number, name in enumerate(["Ann Lee", "Bob Ray", "Eve", "Ivan", "Zoe"])
    ]
    source = corpora.make(tmp_path / "a.jsonl", rows)
    result = run(
        "records", "dedup", source, "-o", tmp_path / "o.csv", "--scoring", "points"
    )
    assert "number: row numbers, not compared\n" in result.stderr
    assert "score_number" not in (tmp_path / "o.csv").read_text()


def test_the_help_says_what_all_pairs_cost():
    for command in ("match", "dedup"):
        said = " ".join(run("records", command, "--help-all").output.split())
        assert "all: compare all pairs" in said
        assert "Compare this column, and only those given" in said
        assert "a million pairs (1,000 x 1,000) take about 5 s" in said


# Bad rows


def test_bad_rows_are_skipped_and_counted(b, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,name,address,born\n" + "".join(",".join(person) + "\n" for person in PEOPLE)
                    + "p1,again,,\n,no id,,\nshort,row\n", encoding="utf-8")  # fmt: skip
    out = tmp_path / "links.csv"
    assert failing(1, "records", "match", path, b, "-o", out, *OPTIONS).endswith(
        f"id 'p1' is taken by {path}:2; without id_column (--id-column), ids are the places of rows"
    )
    assert not out.exists()
    result = run(
        "records", "match", path, b, "-o", out, *OPTIONS[:-1], "--on-error", "skip"
    )
    assert result.exit_code == 0
    assert f"{path}: 3 linked + 2 unlinked + 3 rejected = 8 read" in result.stderr
    assert links_of(out) == LINKS
    assert [
        row["line"] for row in read_jsonl(tmp_path / "links.csv.rejects.jsonl")
    ] == [7, 8, 9]


def test_bad_lines_and_values_of_jsonl(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [
        '{"id": 1, "name": "Ann", "more": {"x": [1]}}',
        "[1]",
        "{",
        '{"id": "2", "name": "Bob"}',
        '{"id": 3}',
    ]
    path.write_text("\n".join(lines) + "\n\n")
    table = read_whole(path, id_column="id", on_error="skip")
    assert (len(table), table.read, list(table.ids)) == (2, 5, [1, 3])
    assert table.columns == {
        "id": [1, 3],
        "name": ["Ann", None],
        "more": ['{"x":[1]}', None],
    }
    assert [reject.line for reject in table.rejected] == [2, 3, 4]
    with pytest.raises(
        DataError, match=r"a.jsonl:2: the line is an array, not a JSON object"
    ):
        read_whole(path)


@pytest.mark.parametrize(
    "value",
    ['{"\\ud800": 1}', '["\\ud800"]', "[" * 500 + "]" * 500, f"[{10**20}, NaN]"],
)
def test_nested_values_that_cannot_be_strings_are_bad(tmp_path, value):
    path = tmp_path / "a.jsonl"
    path.write_text(
        f'{{"id": 1, "name": "Ann"}}\n{{"id": 2, "name": {value}}}\n{{"id": 2, "name": "Bob"}}\n'
    )
    table = read_whole(path, id_column="id", on_error="skip")
    assert table.columns == {"id": [1, 2], "name": ["Ann", "Bob"]}
    assert [reject.line for reject in table.rejected] == [2]
    with pytest.raises(
        DataError,
        match=r"a.jsonl:2: column 'name' holds an? \w+ that cannot be a string: ",
    ):
        read_whole(path)


@pytest.mark.parametrize("form", [".csv", ".jsonl", ".parquet"])
def test_a_name_that_cannot_be_written_is_bad(tmp_path, form):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"name": "Ann Lee"}\n{"name": "Ann Lee", "\\ud800": "x"}\n{"name": "Ann Lee"}\n'
    )
    out = tmp_path / f"links{form}"
    result = run(
        "records", "dedup", path, "-o", out, "--scoring", "points", "--on-error", "skip"
    )
    assert "2 linked + 0 unlinked + 1 rejected = 3 read" in result.stderr
    (reject,) = read_jsonl(tmp_path / f"links{form}.rejects.jsonl")
    assert (
        reject["reason"]
        == "the column name '\\ud800' holds a lone surrogate, which is no character"
    )


def test_bad_values_of_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    names = pa.array([b"Ann", b"\xff", b"Bob"], pa.binary())
    pq.write_table(
        pa.table({"name": names, "n": [1, 2, 3], "inner": [{"x": 1}, None, {"x": 2}]}),
        path,
    )
    table = read_whole(path, on_error="skip")
    assert table.columns == {
        "name": ["Ann", "Bob"],
        "n": [1, 3],
        "inner": ["{'x': 1}", "{'x': 2}"],
    }
    assert [reject.line for reject in table.rejected] == [2]
    assert list(table.ids) == [f"{path}:1", f"{path}:3"]


def test_several_files_of_one_table(tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    corpora.make(folder / "1.jsonl", [{"id": "x", "name": "Ann"}])
    corpora.make(folder / "2.csv", [{"id": "y", "town": "Rome"}])
    table = read_whole(folder, id_column="id")
    assert table.columns == {
        "id": ["x", "y"],
        "name": ["Ann", None],
        "town": [None, "Rome"],
    }
    with pytest.raises(
        DataError, match=r"1.jsonl: no column 'key'|id column 'key' is missing"
    ):
        read_whole(folder, id_column="key")


def test_a_table_that_may_not_be_divided_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("id;name\n1;Ann Lee\n2;Bob\n3;Cy;Orlov\n")
    said = run("records", "dedup", tmp_path / "a.csv", "-o", tmp_path / "o.csv").stderr
    assert f"{tmp_path}/a.csv has one column; try --delimiter ';'" in said
    (tmp_path / "b.csv").write_text("name\nAnn; Lee\nBob\n")
    assert (
        "one column"
        not in run(
            "records", "dedup", tmp_path / "b.csv", "-o", tmp_path / "p.csv"
        ).stderr
    )


def test_files_without_columns_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    message = failing(
        1, "records", "dedup", tmp_path / "a.txt", "-o", tmp_path / "links.csv"
    )
    assert message.endswith(
        "a file of texts has no columns; records are in CSV, JSONL, Parquet or Arrow"
    )
    (tmp_path / "b.csv").write_text("a,a \n1,2\n")
    assert "the header names a column twice: a" in failing(
        1, "records", "dedup", tmp_path / "b.csv", "-o", "x.csv"
    )


# Failing runs


def test_outputs_are_checked_before_the_inputs_are_read(a, b, tmp_path):
    out = tmp_path / "links.csv"
    out.write_text("old")
    for given, message in [
        (["-o", out], "exists already"),
        (["-o", tmp_path / "links.doc"], "unknown kind of output"),
        (
            ["-o", tmp_path / "none" / "links.csv"],
            "folder of the output does not exist",
        ),
        (["-o", a, "--overwrite"], "the output is one of the inputs"),
        (
            [
                "-o",
                tmp_path / "x.csv",
                "--hold-out",
                "born",
                "--plot",
                tmp_path / "x.jpg",
            ],
            "must be .png, .svg or .pdf",
        ),
        (
            [
                "-o",
                tmp_path / "x.csv",
                "--hold-out",
                "born",
                "--rates",
                tmp_path / "x.csv",
            ],
            "two outputs of one name",
        ),
        (["-o", tmp_path / "x.csv", "--block", "word:name"], "a blocking rule must be"),
    ]:
        result = run("records", "match", a, b, *given, "-q")
        assert result.exit_code in (1, 2)
        assert message in result.stderr
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.csv",
        "b.csv",
        "links.csv",
    ]
    assert (
        run("records", "match", a, b, "-o", out, "--overwrite", *OPTIONS).exit_code == 0
    )
    assert links_of(out) == LINKS


def test_a_failing_output_leaves_none(a, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lshfast._engine.frame.write_table", fail)
    inputs = RecordInputs([Inputs([str(a)], id_column="id")])
    outputs = (str(tmp_path / "links.csv"), str(tmp_path / "groups.csv"))
    with pytest.raises(OSError, match="No space left"):
        link_files(
            inputs,
            RecordOutputs(*outputs),
            LinkOptions(scoring="points", assign="many-to-many"),
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_lost_rows_are_an_error():
    with pytest.raises(
        RuntimeError, match=r"1 linked \+ 2 unlinked \+ 3 rejected are not 7 read"
    ):
        LinkAccount(
            read=7, linked=1, unlinked=2, rejected=3, seconds=0, tables=[], summary=None
        )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupted_run_leaves_nothing(tmp_path, number):
    member = gzip.compress(
        "".join(
            json.dumps({"name": f"n{k}" * 40}) + "\n" for k in range(2000)
        ).encode(),
        9,
    )
    path = tmp_path / "long.jsonl.gz"
    path.write_bytes(member * 400)
    status, said = stopped(
        number, path, "records", "dedup", path, "-o", tmp_path / "links.csv", "-q"
    )
    assert (status, said) == ENDINGS[number]
    assert [found.name for found in tmp_path.iterdir()] == ["long.jsonl.gz"]
