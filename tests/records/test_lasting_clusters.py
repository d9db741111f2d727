"""lshfast records with groups whose ids last: all records of one table, and new records beside earlier ones."""

import csv

import pyarrow.parquet as pq
import pytest

from lshfast._engine.clusters.file import ClusterOutput
from lshfast._engine.inputs import Inputs
from lshfast.records import LinkOptions, parse_rule
from lshfast.records.job import RecordInputs, RecordOutputs, link_files
from tests import corpora
from tests.cli.commands import failing, run

ANN = ("Ann Lee", "1 High Street")
BOB = ("Bob Ray", "22 Low Road")
ZOE = ("Zoe Mueller", "7 Mill Lane")
FLAGS = "--id-column", "id", "--scoring", "points", "--block", "all"


def table(path, **people):
    return corpora.make(
        path,
        [
            {"id": key, "name": name, "address": place}
            for key, (name, place) in people.items()
        ],
    )


def ids_of(path):
    return {row["key"]: row["cluster"] for row in pq.read_table(path).to_pylist()}


def changes_of(path):
    return [
        tuple(row.values()) for row in csv.DictReader(path.read_text().splitlines())
    ]


@pytest.fixture
def month(tmp_path):
    """Run `records dedup` over all records, or `records match` of new ones with earlier ones."""

    def run_month(*tables, flags=()):
        command = "dedup" if len(tables) == 1 else "match"
        done = run(
            "records", command, *tables, "-o", tmp_path / "links.csv", "--clusters", tmp_path / "groups.parquet",
            "--changes", tmp_path / "changes.csv", "--overwrite", *FLAGS, *flags,
        )  # fmt: skip
        assert done.exit_code == 0, done.stderr
        return (
            ids_of(tmp_path / "groups.parquet"),
            changes_of(tmp_path / "changes.csv"),
            done.stderr,
        )

    return run_month


def test_all_records_of_three_months(month, tmp_path):
    path = tmp_path / "people.csv"
    ids, _, said = month(table(path, a=ANN, b=BOB, c=ANN))
    assert ids == {"a": 1, "b": 2, "c": 1}
    assert " 2   of 3 rows in run 1; 3 rows new\n" in said
    ids, changes, _ = month(table(path, z=ZOE, b=BOB, c=ANN, d=BOB))
    assert ids == {"b": 2, "c": 1, "z": 3, "d": 2}
    assert changes == [
        ("", "removed", "1", "a"),
        ("3", "new", "", "z"),
        ("2", "joined", "", "d"),
    ]
    ids, changes, said = month(table(path, z=ZOE, b=BOB, c=ANN, d=BOB))
    assert changes == []
    assert "of 4 rows in run 3; nothing changed" in said


def test_new_records_join_the_groups_of_earlier_ones(month, tmp_path):
    earlier = table(tmp_path / "earlier.csv", a=ANN, b=BOB, c=ANN)
    month(earlier)
    new = table(tmp_path / "new.csv", d=BOB, e=ZOE)
    ids, changes, _ = month(new, earlier)
    assert ids == {"a": 1, "b": 2, "c": 1, "d": 2, "e": 3}
    assert changes == [("2", "joined", "", "d"), ("3", "new", "", "e")]


def test_a_new_record_connects_groups_if_it_may_have_several_links(month, tmp_path):
    near = ("Ann Lee", "1 High Stret")
    month(
        table(tmp_path / "earlier.csv", a=ANN, b=near), flags=["--threshold", 1000]
    )  # above all scores: no links
    earlier = tmp_path / "earlier.csv"
    new = table(tmp_path / "new.csv", c=("Ann Lee", "1 High Streets"))
    ids, changes, _ = month(new, earlier, flags=["--assign", "many-to-many"])
    assert ids == {"a": 1, "b": 1, "c": 1}
    assert changes == [("1", "merged", "2", "b"), ("1", "joined", "", "c")]


def test_the_groups_are_those_of_the_run(tmp_path):
    source = table(tmp_path / "people.csv", a=ANN, b=BOB, c=ANN, d=ZOE, e=BOB)
    inputs = RecordInputs([Inputs([str(source)], id_column="id")])
    options = LinkOptions(
        rules=[parse_rule("all")], scoring="points", assign="many-to-many"
    )
    outputs = RecordOutputs(
        None, clusters=ClusterOutput(str(tmp_path / "groups.parquet"))
    )
    result, account = link_files(inputs, outputs, options)
    groups = [[*"abcde"][row] for row in result.groups().tolist()]
    assert groups == ["a", "b", "a", "d", "b"]
    assert ids_of(tmp_path / "groups.parquet") == {
        "a": 1,
        "b": 2,
        "c": 1,
        "d": 3,
        "e": 2,
    }
    assert (account.clusters.new, account.clusters.clusters) == (5, 3)


def test_what_is_refused(month, tmp_path):
    earlier = table(tmp_path / "earlier.csv", a=ANN, b=BOB)
    month(earlier)
    before = (tmp_path / "groups.parquet").read_bytes()
    clusters = ["--clusters", tmp_path / "groups.parquet"]
    for new in (
        table(tmp_path / "new.csv", b=ZOE),
        table(tmp_path / "gone.csv", a=ZOE),
    ):
        said = failing(
            2,
            "records",
            "match",
            new,
            earlier,
            "-o",
            tmp_path / "out.csv",
            *clusters,
            *FLAGS,
        )
        assert "is that of an earlier record; those of new records must be new" in said
    for path, reason in (
        (earlier, "must be a file named .parquet"),
        (tmp_path / "none" / "g.parquet", "the folder"),
    ):
        said = failing(
            1 if "none" in str(path) else 2,
            "records", "dedup", earlier, "-o", tmp_path / "out.csv", "--clusters", path, *FLAGS,
        )  # fmt: skip
        assert reason in said
    said = failing(
        2,
        "records",
        "dedup",
        earlier,
        "-o",
        tmp_path / "out.csv",
        "--changes",
        tmp_path / "c.csv",
        *FLAGS,
    )
    assert "changes (--changes) needs clusters (--clusters)" in said
    with ClusterOutput(str(tmp_path / "groups.parquet")).opened():
        said = failing(
            2,
            "records",
            "dedup",
            earlier,
            "-o",
            tmp_path / "out.csv",
            *clusters,
            *FLAGS,
        )
    assert "another run uses this file" in said
    assert (tmp_path / "groups.parquet").read_bytes() == before
    assert not (tmp_path / "out.csv").exists()
