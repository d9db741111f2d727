"""Fingerprints from the command line: within and against, accounts, bad rows, and runs that fail."""

import csv
import signal

import numpy as np
import pytest

from lshfast._engine.inputs import Inputs
from lshfast.families import GridSquares
from lshfast.fingerprints import FingerprintGrid, FingerprintMatcher
from lshfast.fingerprints.job import match_fingerprints
from tests.cli.commands import ENDINGS, failing, read_jsonl, run, stopped


def minutiae(path, names, tables, generator):
    """Write prints, given as squares of a grid of 20 x 20 squares of side 5, with minutiae anywhere in the squares."""
    rows = [
        (
            name,
            5 * (square % 20 + generator.random()),
            5 * (square // 20 + generator.random()),
        )
        for name, table in zip(names, tables, strict=True)
        for square in np.flatnonzero(table).tolist()
    ]
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(["y", "id", "extra", "x"])
        writer.writerows(
            (y, name, "", x)
            for name, x, y in generator.permutation(np.array(rows, object))
        )
    return path


@pytest.fixture
def two(tmp_path):
    """Two prints of each of 40 fingers."""
    generator = np.random.default_rng(1)
    fingers = generator.random((40, 400)) < 0.2
    again = np.where(
        fingers,
        generator.random(fingers.shape) < 0.9,
        generator.random(fingers.shape) < 0.02,
    )
    first = minutiae(
        tmp_path / "first.csv", [f"a{i}" for i in range(40)], fingers, generator
    )
    return first, minutiae(
        tmp_path / "second.tsv", [f"b{i}" for i in range(40)], again, generator
    )


def test_within_and_against(two, tmp_path):
    first, second = two
    out, within = tmp_path / "out.jsonl", tmp_path / "within.csv"
    result = run(
        "fingerprints", "match", second, "-o", out, "--square", 5, "--against", first
    )
    assert result.exit_code == 0, result.stderr
    found = {(row["id"], row["match"]) for row in read_jsonl(out)}
    same = {(f"b{i}", f"a{i}") for i in range(40)}
    assert len(found & same) >= 38
    assert all(
        row["common"] > 30
        for row in read_jsonl(out)
        if row["id"][1:] == row["match"][1:]
    )
    assert "40   compared with 40 prints" in result.stderr
    assert "expected: 97.03% of prints of one finger, 0.40% of others" in result.stderr
    assert (
        run(
            "fingerprints", "match", first, second, "-o", within, "--square", 5, "-q"
        ).stderr
        == ""
    )
    with open(within) as stream:
        pairs = {frozenset((row["id"], row["match"])) for row in csv.DictReader(stream)}
    assert {frozenset(pair) for pair in found} <= pairs


def test_bad_rows(tmp_path):
    source, out = tmp_path / "m.csv", tmp_path / "out.csv"
    source.write_text(
        "id,x,y\nf1,1,1\nf1,100,1\nf1,nan,1\n,1,1\nf2,a,1\nf2,1\n\nf2,1_0,1\nf2,1,1\n"
    )
    line = failing(1, "fingerprints", "match", source, "-o", out, "--square", 5)
    assert "m.csv:3: not on the grid, 0 <= x < 100 and 0 <= y < 100: (100, 1)" in line
    assert not out.exists()
    grid = FingerprintGrid(5)
    matcher = FingerprintMatcher(GridSquares(grid.size, 1), 4000, 1)
    summary = match_fingerprints(
        Inputs([str(source)], on_error="skip"), str(out), grid, matcher
    )
    assert (summary.read, summary.minutiae, summary.rejected) == (8, 2, 6)
    assert (summary.prints, summary.matches, summary.matched) == (2, 1, 2)
    assert out.read_text() == "id,match,common,similarity\nf1,f2,1,1.0\n"
    assert [row["line"] for row in read_jsonl(tmp_path / "out.csv.rejects.jsonl")] == [
        3,
        4,
        5,
        6,
        7,
        9,
    ]


def test_rows_that_are_not_csv_are_skipped(tmp_path):
    source, out = tmp_path / "m.csv", tmp_path / "out.csv"
    long, quoted = 200_000 * "7", 200_000 * "a"
    source.write_bytes(
        b"\xef\xbb\xbfid,x,y\n"
        + f'f1,{long},1\n"{quoted}",1,z\nf1,"1"2,1\nf1,1,1,1\n'.encode()
        + b"\xff,1,1\nf2,1,1\n"
    )
    assert (
        len(failing(1, "fingerprints", "match", source, "-o", out, "--square", 5))
        < 1000
    )
    result = run(
        "fingerprints", "match", source, "-o", out, "--square", 5, "--on-error", "skip"
    )
    assert result.exit_code == 0, result.stderr
    rejects = read_jsonl(tmp_path / "out.csv.rejects.jsonl")
    assert [row["line"] for row in rejects] == [2, 3, 4, 5, 6]
    assert rejects[1]["reason"] == "x and y must be numbers, not '1' and 'z'"
    assert all(len(row["reason"]) < 200 for row in rejects)


def test_wrong_inputs_and_options(two, tmp_path):
    first, _ = two
    out = tmp_path / "out.csv"
    text = tmp_path / "m.jsonl"
    table = tmp_path / "other.csv"
    text.write_text("{}\n")
    table.write_text("id,x\n1,2\n")
    assert "minutiae must be CSV or TSV" in failing(
        1, "fingerprints", "match", text, "-o", out, "--square", 5
    )
    assert "no column 'y'" in failing(
        1, "fingerprints", "match", table, "-o", out, "--square", 5
    )
    assert "square must be above 0" in failing(
        2, "fingerprints", "match", first, "-o", out, "--square", 0
    )
    assert "functions must be in" in failing(
        2, "fingerprints", "match", first, "-o", out, "--square", 5, "--functions", 0
    )
    assert "is one of the inputs" in failing(
        2, "fingerprints", "match", first, "-o", first, "--square", 5, "--overwrite"
    )
    assert not out.exists()
    with pytest.raises(ValueError, match="grid of 9 squares, not of 400"):
        match_fingerprints(
            Inputs([str(first)]),
            str(out),
            FingerprintGrid(5),
            FingerprintMatcher(GridSquares(9)),
        )


@pytest.mark.slow
def test_interrupted_runs_leave_nothing(tmp_path):
    source = tmp_path / "m.csv"
    source.write_text(
        "id,x,y\n" + "".join(f"f{row},1,1\n" for row in range(1000)) * 400
    )
    ending = stopped(
        signal.SIGINT,
        source,
        "fingerprints",
        "match",
        source,
        "-o",
        tmp_path / "out.csv",
        "--square",
        5,
    )
    assert ending == ENDINGS[signal.SIGINT]
    assert list(tmp_path.iterdir()) == [source]
