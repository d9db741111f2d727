"""Inputs at URLs: each task opens them by what the plan says of them."""

import json
import zipfile

import pytest

from lshfast import DataError, dedup_files, stages
from tests.stages.runs import corpus, in_memory, in_stages, joined, run_all, write_files

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def bucket(tmp_path):
    """A remote folder with the files of the folder `in`."""
    system = fsspec.filesystem("memory")
    for path in write_files(tmp_path / "in", corpus(3, 400), 4).iterdir():
        system.pipe(f"/bucket/d/{path.name}", path.read_bytes())
    yield system
    system.rm("/bucket", recursive=True)


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", [{}, {"id_column": "id", "keep": "max:number", "annotate": True}]
)
@pytest.mark.parametrize("given", ["memory://bucket/d", "memory://bucket/**/0*.jsonl"])
def test_equals_the_run_in_memory(tmp_path, bucket, given, options):
    wanted = in_memory(tmp_path, given, **options)
    assert in_stages(tmp_path, given, shards=3, tasks=2, **options) == wanted
    assert wanted[0].removed > 50


def test_with_local_files(tmp_path, bucket):
    inputs = [
        tmp_path / "in" / "00.jsonl",
        "memory://bucket/d/01.jsonl",
        (tmp_path / "in" / "02.jsonl").as_uri(),
    ]
    dedup_files(inputs, tmp_path / "wanted.jsonl", threads=1)
    stages.plan(inputs, tmp_path / "work", tmp_path / "kept", shards=3)
    run_all(tmp_path / "work")
    assert joined(tmp_path / "kept") == (tmp_path / "wanted.jsonl").read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_other_formats(tmp_path, bucket, suffix):
    rows = corpus(5, 60)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    csv = pytest.importorskip("pyarrow.csv")
    for number in range(2):
        table = pa.Table.from_pylist(
            [{**row, "text": row["text"] or ""} for row in rows[number::2]]
        )
        with bucket.open(f"/bucket/t/{number}.{suffix}", "wb") as file:
            pq.write_table(table, file) if suffix == "parquet" else csv.write_csv(
                table, file
            )
    wanted = dedup_files("memory://bucket/t", threads=1).summary
    stages.plan("memory://bucket/t", tmp_path / "work", tmp_path / "kept", shards=2)
    run_all(tmp_path / "work")
    assert stages.status(tmp_path / "work").summary == wanted


@pytest.mark.parametrize("stage", ["sketch", "collect", "apply"])
@pytest.mark.parametrize("change", ["text", "time", "missing"])
def test_changed_inputs_are_named(tmp_path, bucket, stage, change):
    work, path = tmp_path / "work", "/bucket/d/00.jsonl"
    stages.plan("memory://bucket/d", work, tmp_path / "kept", shards=2)
    for before in stages.STAGES[: stages.STAGES.index(stage)]:
        stages.run(work, before)
    content = bucket.cat(path)
    bucket.rm(path)
    if change != "missing":
        bucket.pipe(
            path, content.replace(b"word1", b"word2") if change == "text" else content
        )
    changed = "has changed since the plan of this run was made"
    missing = "cannot be read: No such file"
    reason = missing if change == "missing" else changed
    with pytest.raises(DataError, match=f"memory:///bucket/d/00.jsonl: {reason}"):
        stages.run(work, stage, 0)
    assert 0 not in stages.status(work).done[stage]


def test_files_that_their_url_does_not_name(tmp_path, bucket):
    """The URL of a file in an archive lacks the archive. Nothing is written."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.jsonl", json.dumps({"text": "a"}) + "\n")
    url = f"zip://a.jsonl::{(tmp_path / 'a.zip').as_uri()}"
    assert dedup_files(url, threads=1).summary.kept == 1
    with pytest.raises(
        ValueError,
        match="the inputs of a run in stages are files that every task can open",
    ):
        stages.plan(url, tmp_path / "work", tmp_path / "kept")
    assert not (tmp_path / "work").exists()
