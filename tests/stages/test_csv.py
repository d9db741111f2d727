"""CSV and TSV: the outputs of all shards, each with a header, are that of `dedup_files`."""

import csv
import io

import pytest

from lshfast import DataError, dedup_files, stages
from tests.stages.runs import corpus, run_all, tables


def table(rows, names=("id", "number", "text")):
    """Return rows as CSV."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(names)
    for row in rows:
        writer.writerow([row.get(name) for name in names])
    return lines.getvalue().encode()


def write_tables(folder, rows, files):
    """Write rows to CSV files in a new folder."""
    folder.mkdir()
    for number in range(files):
        some = rows[number * len(rows) // files : (number + 1) * len(rows) // files]
        (folder / f"{number:02}.csv").write_bytes(table(some))
    return folder


def joined(folder):
    """Return the contents of the tables of a folder, one after another, with one header."""
    parts = [path.read_bytes() for path in tables(folder)]
    (header,) = {part.split(b"\n")[0] for part in parts}
    return header + b"\n" + b"".join(part[len(header) + 1 :] for part in parts)


def test_pairs(tmp_path):
    source = write_tables(tmp_path / "in", corpus(6, 300), 3)
    dedup_files(source, pairs=tmp_path / "pairs.csv", threads=1)
    stages.plan(
        source,
        tmp_path / "work",
        tmp_path / "kept",
        pairs=tmp_path / "pairs",
        tasks=1,
        shards=3,
    )
    run_all(tmp_path / "work")
    assert joined(tmp_path / "pairs") == (tmp_path / "pairs.csv").read_bytes()


def test_files_without_rows_or_header(tmp_path):
    source = write_tables(tmp_path / "in", corpus(6, 2), 4)
    (source / "00a.csv").touch()
    dedup_files(source, tmp_path / "wanted.csv", threads=1)
    stages.plan(source, tmp_path / "work", tmp_path / "kept", shards=5)
    run_all(tmp_path / "work")
    header, *rest = (tmp_path / "wanted.csv").read_bytes().splitlines()
    found = [
        path.read_bytes().splitlines() for path in sorted((tmp_path / "kept").iterdir())
    ]
    assert [line for lines in found for line in lines if line != header] == rest
    assert [bool(lines) for lines in found] == [True, False, True, True, True]
    assert {lines[0] for lines in found if lines} == {header}


def test_refused_before_anything_is_written(tmp_path):
    """Headers that differ, as by `dedup_files`; a column that is to be added; a delimiter that cannot be one."""
    source = write_tables(tmp_path / "in", corpus(6, 30), 2)
    (source / "03.csv").write_bytes(
        table([{"similarity": 1, "text": "a"}], ("similarity", "text"))
    )
    for options, error, reason in (
        (
            {},
            DataError,
            "03.csv:1: the header is not that of the inputs before: id, number, text",
        ),
        (
            {"annotate": True},
            DataError,
            "there is a column 'similarity' already, so none can be added",
        ),
        ({"delimiter": "ab"}, ValueError, "delimiter must be one ASCII character"),
    ):
        with pytest.raises(error, match=reason):
            dedup_files(source, tmp_path / "wanted.csv", threads=1, **options)
        with pytest.raises(error, match=reason):
            stages.plan(source, tmp_path / "work", tmp_path / "kept", **options)
        assert not (tmp_path / "work").exists()
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(
        pa.table({"text": ["a"], "duplicate_of": ["b"]}), tmp_path / "a.parquet"
    )
    with pytest.raises(DataError, match="there is a column 'duplicate_of' already"):
        stages.plan(
            tmp_path / "a.parquet", tmp_path / "work", tmp_path / "kept", annotate=True
        )
    assert not (tmp_path / "work").exists()
