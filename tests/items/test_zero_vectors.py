"""Vectors without a direction, by cosine and angle: in every way of running they are kept and counted, as nulls are."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import lshfast
from tests.cli.commands import read_jsonl, run, write_jsonl

VECTORS = [[0.0, -0.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.001], [1e-90, 0.0], [3.0, -1.0]]
EMPTY = [0, 2, 4]
REMOVED = [3]
KEPT = [0, 1, 2, 4, 5]

BOUNDS = {"cosine": {"threshold": 0.9}, "angle": {"radius": 0.1}}
COLUMNS = {
    "lists": lambda: VECTORS,
    "numpy": lambda: np.array(VECTORS),
    "numpy of objects": lambda: np.array([*map(np.array, VECTORS), None], object)[:-1],
    "arrow": lambda: pa.array(VECTORS),
    "arrow of one length": lambda: pa.array(VECTORS, pa.list_(pa.float64(), 2)),
    "pandas": lambda: pd.Series(VECTORS),
    "polars": lambda: pl.Series(VECTORS),
    "texts": lambda: [json.dumps(vector) for vector in VECTORS],
}


@pytest.mark.few_cases
@pytest.mark.parametrize("measure", BOUNDS)
@pytest.mark.parametrize("name", COLUMNS)
def test_in_memory(name, measure):
    options = {"kind": "vector", "measure": measure, **BOUNDS[measure]}
    for more in ({}, {"exact": True}, {"groups": "components"}):
        result = lshfast.dedup(COLUMNS[name](), **options, **more)
        assert np.flatnonzero(result.keep).tolist() == KEPT
        assert result.summary.empty == len(EMPTY)
    for copies in ("first", "all"):  # equal rows without a direction are no copies
        found = lshfast.pairs(COLUMNS[name](), copies=copies, **options)
        assert found[["i", "j"]].tolist() == [(1, 3)]
    checked = lshfast.check(COLUMNS[name](), **options)
    assert (checked.read, checked.empty, checked.pairs.value) == (6, len(EMPTY), 1)


@pytest.mark.parametrize(
    "column", [np.zeros((3, 2)), [[0.0, 0.0], None], np.zeros((3, 2), np.float32)]
)
def test_of_nothing_else(column):
    result = lshfast.dedup(column, kind="vector")
    assert result.keep.all()
    assert result.summary.empty == len(column)
    assert lshfast.pairs(column, kind="vector").tolist() == []


@pytest.mark.parametrize("measure", ["euclidean", "manhattan"])
def test_zeros_are_vectors_like_others_by_distances(measure):
    result = lshfast.dedup(np.array(VECTORS), measure=measure, radius=0.5)
    assert np.flatnonzero(result.keep).tolist() == [0, 1, 5]
    assert result.summary.empty == 0


def files_of(folder, suffix):
    path = folder / f"rows.{suffix}"
    if suffix == "jsonl":
        write_jsonl(
            path, [{"id": row, "v": vector} for row, vector in enumerate(VECTORS)]
        )
    elif suffix == "csv":
        path.write_text(
            "id,v\n"
            + "".join(f'{row},"{vector}"\n' for row, vector in enumerate(VECTORS))
        )
    else:
        parquet.write_table(pa.table({"id": range(len(VECTORS)), "v": VECTORS}), path)
    return path


WAYS = [
    (),
    ("--memory", "600M"),
    ("--exact",),
    ("--on-error", "skip"),
    ("--memory", "600M", "--on-error", "skip"),
]


@pytest.mark.few_cases
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_in_files(tmp_path, suffix, way):
    rows, out = files_of(tmp_path, suffix), tmp_path / "out.jsonl"
    result = run(
        "dedup",
        rows,
        "--column",
        "v",
        "--as",
        "vector",
        "--threshold",
        0.9,
        "-o",
        out,
        *way,
    )
    assert result.exit_code == 0, result.output
    assert [int(row["id"]) for row in read_jsonl(out)] == KEPT
    assert "3 without a vector or a direction (empty)" in result.stderr
    rejects = tmp_path / "out.jsonl.rejects.jsonl"
    assert not rejects.exists() or rejects.read_text() == ""


def test_in_arrays_of_files(tmp_path):
    np.save(tmp_path / "rows.npy", np.array(VECTORS, np.float32))
    result = run("dedup", tmp_path / "rows.npy", "-o", tmp_path / "out.parquet")
    assert result.exit_code == 0
    assert parquet.read_table(tmp_path / "out.parquet").num_rows == len(KEPT)
    assert "3 without a vector or a direction" in result.stderr


def test_with_null_rows_and_bad_ones(tmp_path):
    """NaN and infinite coordinates are errors as before; what is null is counted together with zeros."""
    lines = [
        '{"v": null}',
        '{"v": [0, 0]}',
        '{"v": [1, NaN]}',
        '{"v": [1e999, 1]}',
        '{"v": [1, 2]}',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")
    options = ["--column", "v", "--as", "vector", "--on-error", "skip"]
    result = run(
        "dedup", tmp_path / "rows.jsonl", *options, "-o", tmp_path / "out.jsonl"
    )
    assert result.exit_code == 0
    assert [row["v"] for row in read_jsonl(tmp_path / "out.jsonl")] == [
        None,
        [0, 0],
        [1, 2],
    ]
    assert "2 without a vector or a direction" in result.stderr


def test_in_an_index(tmp_path):
    rows, index = files_of(tmp_path, "jsonl"), tmp_path / "x.lsh"
    options = ["--column", "v", "--id-column", "id"]
    built = run(
        "index",
        "build",
        rows,
        *options,
        "--as",
        "vector",
        "--threshold",
        0.9,
        "-o",
        index,
    )
    assert (
        "3 added + 3 skipped + 0 rejected; 3 without a vector or a direction"
        in built.stderr
    )
    found = run("index", "query", index, rows, *options)
    assert {line.split("\t")[0] for line in found.stdout.splitlines()} == {
        "1",
        "3",
        "5",
    }
    assert "3 without a vector or a direction" in found.stderr
    assert "no match" in run("index", "query", index, "--text", "[0, 0]").stderr
    against = run(
        "dedup",
        rows,
        *options,
        "--threshold",
        0.9,
        "--against",
        index,
        "-o",
        tmp_path / "out.jsonl",
    )
    assert against.exit_code == 0
    assert [row["id"] for row in read_jsonl(tmp_path / "out.jsonl")] == EMPTY


def test_in_a_check_of_files(tmp_path):
    checked = run(
        "check", files_of(tmp_path, "parquet"), "--column", "v", "--as", "vector"
    )
    assert checked.exit_code == 0
    assert "3 without a vector or a direction" in checked.output
