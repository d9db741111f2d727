"""CSV and TSV: the outputs of all shards, each with a header, are that of `dedup_files`."""

import csv
import gzip
import io

import pytest

from lshfast import DataError, dedup_files, stages
from tests.drivers.tasks.runs import corpus, run_all


def table(rows, delimiter, names=("id", "number", "text")):
    """Return rows as CSV."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, delimiter=delimiter)
    writer.writerow(names)
    for row in rows:
        writer.writerow([row.get(name) for name in names])
    return lines.getvalue().encode()


def write_tables(folder, rows, files, suffix, delimiters, opener=bytes):
    """Write rows to files in a new folder; the delimiters take turns."""
    folder.mkdir()
    for number in range(files):
        some = rows[number * len(rows) // files : (number + 1) * len(rows) // files]
        data = table(some, delimiters[number % len(delimiters)])
        (folder / f"{number:02}.{suffix}").write_bytes(opener(data))
    return folder


def joined(folder):
    """Return the contents of the files of a folder, one after another, with one header."""
    parts = [path.read_bytes() for path in sorted(folder.iterdir())]
    (header,) = {part.split(b"\n")[0] for part in parts}
    return header + b"\n" + b"".join(part[len(header) + 1 :] for part in parts)


def check(folder, source, kind, shards, **options):
    """Compare a run in stages with one in memory; return the rows."""
    outputs = {name: folder / f"{name}.{kind}" for name in ("kept", "removed")}
    result = dedup_files(source, outputs["kept"], removed=outputs["removed"], threads=1, **options)
    work = folder / "work"
    stages.plan(source, work, folder / "kept", removed=folder / "removed", shards=shards, tasks=2, **options)
    run_all(work)
    assert stages.status(work).summary == result.summary
    assert stages.status(work).summary.delimiters == result.summary.delimiters
    for name, path in outputs.items():
        assert {found.suffix for found in (folder / name).iterdir()} == {f".{kind}"}
        assert joined(folder / name) == path.read_bytes()
    return outputs["kept"].read_bytes()


def rows_with_quotes(n):
    """Return rows whose texts have delimiters, quotes and line ends."""
    rows = corpus(4, n)
    for row in rows[::5]:
        row["text"] = row["text"] and row["text"].replace(" ", ' "; \r\n,\t', 1)
    return rows


@pytest.mark.few_cases
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(
    ("suffix", "delimiters", "options"),
    [
        ("csv", ",", {}),
        ("csv", ",;|", {"id_column": "id", "keep": "max:number"}),
        ("tsv", "\t", {"annotate": True, "id_column": "number", "keep": "min:id"}),
        ("csv.gz", ",", {"annotate": True}),
        ("csv", "#", {"delimiter": "#"}),
        ("tsv", "\t", {"format": "tsv", "column": "text", "groups": "components"}),
    ],
)
def test_equals_the_run_in_memory(tmp_path, shards, suffix, delimiters, options):
    opener = gzip.compress if suffix.endswith(".gz") else bytes
    source = write_tables(tmp_path / "in", rows_with_quotes(400), 5, suffix, delimiters, opener)
    check(tmp_path, source, suffix.split(".")[0], shards, **options)


def test_zstandard(tmp_path):
    pa = pytest.importorskip("pyarrow")
    codec = pa.Codec("zstd")
    source = write_tables(
        tmp_path / "in", corpus(5, 200), 3, "csv.zst", ",", lambda data: codec.compress(data, asbytes=True)
    )
    check(tmp_path, source, "csv", 2)


def test_formulas(tmp_path):
    rows = [{"id": f"=1+{i}", "number": -i, "text": f"+text {i // 2} a b c d"} for i in range(20)]
    source = write_tables(tmp_path / "in", rows, 2, "csv", ",")
    assert b"\n'=1+0,0,'+text" in check(tmp_path, source, "csv", 2, defuse_formulas=True, id_column="id")


def test_pairs(tmp_path):
    source = write_tables(tmp_path / "in", corpus(6, 300), 3, "csv", ",")
    dedup_files(source, pairs=tmp_path / "pairs.csv", threads=1)
    stages.plan(source, tmp_path / "work", tmp_path / "kept", pairs=tmp_path / "pairs", tasks=1, shards=3)
    run_all(tmp_path / "work")
    assert joined(tmp_path / "pairs") == (tmp_path / "pairs.csv").read_bytes()


def test_bad_rows(tmp_path):
    source = write_tables(tmp_path / "in", corpus(6, 100), 2, "csv", ",")
    for path in source.iterdir():
        path.write_bytes(path.read_bytes() + b"too,few\n" + table([{"id": 1, "text": "a b"}], ",").split(b"\n", 1)[1])
    wanted = dedup_files(source, tmp_path / "wanted.csv", on_error="skip", threads=1)
    stages.plan(source, tmp_path / "work", tmp_path / "kept", rejected=tmp_path / "rejected", shards=2)
    run_all(tmp_path / "work")
    assert stages.status(tmp_path / "work").summary == wanted.summary
    found = b"".join(path.read_bytes() for path in sorted((tmp_path / "rejected").iterdir()))
    assert found == (tmp_path / "wanted.csv.rejects.jsonl").read_bytes()
    assert found.count(b"\n") == 2


def test_refused_before_anything_is_written(tmp_path):
    """Headers that differ, as by `dedup_files`; a column that is to be added; a delimiter that cannot be one."""
    source = write_tables(tmp_path / "in", corpus(6, 30), 2, "csv", ",")
    (source / "03.csv").write_bytes(table([{"similarity": 1, "text": "a"}], ",", ("similarity", "text")))
    for options, error, reason in (
        ({}, DataError, "03.csv:1: the header is not that of the inputs before: id, number, text"),
        ({"annotate": True}, DataError, "there is a column 'similarity' already, so none can be added"),
        ({"delimiter": "ab"}, ValueError, "delimiter must be one ASCII character"),
    ):
        with pytest.raises(error, match=reason):
            dedup_files(source, tmp_path / "wanted.csv", threads=1, **options)
        with pytest.raises(error, match=reason):
            stages.plan(source, tmp_path / "work", tmp_path / "kept", **options)
        assert not (tmp_path / "work").exists()


def test_files_without_rows_or_header(tmp_path):
    source = write_tables(tmp_path / "in", corpus(6, 2), 4, "csv", ",")
    (source / "00a.csv").touch()
    dedup_files(source, tmp_path / "wanted.csv", threads=1)
    stages.plan(source, tmp_path / "work", tmp_path / "kept", shards=5)
    run_all(tmp_path / "work")
    header, *rest = (tmp_path / "wanted.csv").read_bytes().splitlines()
    found = [path.read_bytes().splitlines() for path in sorted((tmp_path / "kept").iterdir())]
    assert [line for lines in found for line in lines if line != header] == rest
    assert [bool(lines) for lines in found] == [True, False, True, True, True]
    assert {lines[0] for lines in found if lines} == {header}
