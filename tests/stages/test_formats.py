"""Outputs whose folders are named like files: of other formats, and compressed, with the content of `dedup_files`."""

import bz2
import csv
import gzip
import json
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lshfast import DataError, dedup_files, stages
from tests.stages.runs import corpus, run_all, tables, write_files

ROWS = [
    {key: value for key, value in row.items() if value is not None}
    for row in corpus(3, 120)
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = write_files(tmp_path_factory.mktemp("formats") / "in", ROWS, 1)
    with open(folder / "00.jsonl", "a") as file:
        file.write("no JSON\n")
    return folder


def run(folder, source, names, **options):
    """Run in one shard, with outputs in folders of these names; return the only file of each."""
    folder.mkdir(exist_ok=True)
    places = {name: folder / place for name, place in names.items()}
    stages.plan(source, folder / "work", rejected=folder / "bad", **places, **options)
    run_all(folder / "work")
    return {name: tables(place)[0] for name, place in places.items()}


def wanted(folder, source, suffix):
    """Return the outputs of `dedup_files`, by names."""
    paths = {
        name: folder / f"wanted {name}.{suffix}"
        for name in ("output", "pairs", "removed")
    }
    dedup_files(source, on_error="skip", threads=1, **paths)
    return {name: path.read_bytes() for name, path in paths.items()}


@pytest.mark.parametrize(
    ("suffix", "end", "opened"),
    [("jsonl", "gz", gzip.open), ("csv", "bz2", bz2.open), ("tsv", "xz", lzma.open)],
)
def test_compressed(tmp_path, source, suffix, end, opened):
    expected = wanted(tmp_path, source, suffix)
    found = run(
        tmp_path, source, {name: f"my {name}.{suffix}.{end}" for name in expected}
    )
    assert {path.name for path in found.values()} == {f"00000.{suffix}.{end}"}
    for name, path in found.items():
        with opened(path) as file:
            assert file.read() == expected[name]


def test_parquet_from_rows_of_json(tmp_path, source):
    pq = pytest.importorskip("pyarrow.parquet")
    wanted(tmp_path, source, "parquet")
    tables = {"pairs": "pairs.parquet", "removed": "removed.PARQUET"}
    found = run(tmp_path, source, {"output": "kept"} | tables)
    # A name without a suffix has the format of the inputs.
    assert found["output"].name == "00000.jsonl"
    found |= run(
        tmp_path / "again", source, {"output": "kept.gz"}, output_format="parquet"
    )
    assert {path.name for path in found.values()} == {"00000.parquet"}
    for name, path in found.items():
        assert (
            pq.read_table(path).to_pylist()
            == pq.read_table(tmp_path / f"wanted {name}.parquet").to_pylist()
        )


def test_rejected_rows_are_compressed(tmp_path, source):
    stages.plan(
        source, tmp_path / "work", tmp_path / "kept", rejected=tmp_path / "bad.csv.gz"
    )
    run_all(tmp_path / "work")
    (path,) = (tmp_path / "bad.csv.gz").iterdir()
    assert path.name == "00000.jsonl.gz"
    assert b"not valid JSON" in gzip.decompress(path.read_bytes())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "kept.txt"}, "unknown kind of output"),
        ({"removed": "removed.arrow"}, "unknown kind of output"),
        ({"output": "kept.npy"}, r".parquet holds vectors; in Python, vectors\["),
        (
            {"output_format": "xml"},
            "output_format must be one of jsonl, csv, tsv, parquet, not 'xml'",
        ),
        ({"max_columns": 0}, "max_columns must be at least 1, not 0"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path, monkeypatch, source, options, message
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        stages.plan(source, "work", **{"output": "kept"} | options)
    assert [*tmp_path.iterdir()] == []


def test_columns_are_limited(tmp_path):
    """Rows of JSON have a name for each column, so a name that is one too many makes a row bad."""
    source = write_files(
        tmp_path / "in",
        [{"text": "a b", str(number): number} for number in range(3)],
        1,
    )
    stages.plan(source, tmp_path / "work", tmp_path / "kept.csv", max_columns=3)
    with pytest.raises(
        DataError, match=r"00\.jsonl:3: more than 3 columns in all rows; max_columns"
    ):
        stages.run(tmp_path / "work", "sketch")
    stages.plan(source, tmp_path / "more", tmp_path / "more.csv", max_columns=4)
    run_all(tmp_path / "more")
    with open(tmp_path / "more.csv" / "00000.csv", newline="") as file:
        assert next(csv.reader(file)) == ["text", "0"]  # of the rows that are kept


@pytest.mark.one_case
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("shards", [1, 3])
def test_inputs_of_several_formats(tmp_path, suffix, shards):
    """The rows that stay are those of `dedup_files`, with keys and types of their own files."""
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    rows = [row for row in ROWS if "text" in row]
    folder = write_files(tmp_path / "in", rows[:40], 1)
    table = pyarrow.Table.from_pylist(rows[40:70])
    parquet.write_table(table, folder / "01.parquet")
    feather.write_feather(pyarrow.Table.from_pylist(rows[70:]), folder / "02.arrow")
    (folder / "03.txt").write_text(rows[3]["text"])
    kept = tmp_path / ("kept" if suffix == "jsonl" else f"kept.{suffix}")
    options = {"shards": shards, "removed": tmp_path / "removed.jsonl"}
    sources = sorted(folder.iterdir())
    stages.plan(sources, tmp_path / "work", kept, **options)
    summary = stages.run_all(tmp_path / "work", executor="inline")
    result = dedup_files(sources, tmp_path / f"all.{suffix}")
    assert (summary.read, summary.kept) == (len(rows) + 1, int(result.keep.sum()))
    removed = [
        json.loads(line)
        for path in tables(tmp_path / "removed.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert [(row["key"], row["kept_key"]) for row in removed] == [
        (entry.key, entry.kept_key) for entry in result.removed
    ]
    if suffix == "jsonl":
        written = b"".join(path.read_bytes() for path in tables(kept))
        assert written == (tmp_path / "all.jsonl").read_bytes()


@pytest.mark.one_case
@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize("keep", ["first", "max:score"])
def test_all_formats_together(tmp_path, suffix, keep):
    """The cells of CSV have the types of the other inputs, which other shards read."""
    rows = [
        {"id": i, "text": f"row {i % 7} {'of the same words ' * 9}", "score": i / 4}
        for i in range(30)
    ]
    source = write_files(tmp_path / "in", rows[:10], 1)
    pq.write_table(pa.Table.from_pylist(rows[10:20]), source / "b.parquet")
    lines = ["id,text,score", *(",".join(map(str, row.values())) for row in rows[20:])]
    (source / "c.csv").write_text("\n".join(lines) + "\n")
    whole = tmp_path / f"whole.{suffix}"
    expected = dedup_files(source, whole, id_column="id", keep=keep)
    assert expected.summary.removed > 15
    out = tmp_path / f"out.{suffix}"
    work = tmp_path / "work"
    stages.plan(source, work, out, id_column="id", keep=keep, shards=3)
    run_all(work)
    if suffix == "parquet":
        kept = [row for part in tables(out) for row in pq.read_table(part).to_pylist()]
        assert kept == pq.read_table(whole).to_pylist()
        return
    kept = [line for part in tables(out) for line in part.read_text().splitlines()]
    header = lines[0] if suffix == "csv" else None
    assert [line for line in kept if line != header] == [
        line for line in whole.read_text().splitlines() if line != header
    ]
