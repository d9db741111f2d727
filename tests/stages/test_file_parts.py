"""Files that several shards read: the outputs of all shards are those of `dedup_files`."""

import io
import json
import random
import re

import pytest

from lshfast import DataError, dedup_files, stages
from lshfast._io.file_parts import divided
from lshfast._io.files import Layout
from lshfast._io.listing import list_files
from lshfast._io.sources import LocalFile
from lshfast.stages import planning
from tests.stages.runs import corpus, in_memory, in_stages, joined, run_all


def lines_of(rows):
    return [json.dumps({"text": row["text"]}).encode() for row in rows]


def jsonl_with(end, rows):
    """Return lines of any length with blank ones between, beginning with a mark, and without an end at last."""
    lines = lines_of(rows)
    lines[3:3] = [b"", b"  ", b'{"text": "%s"}' % (b"long " * 30_000)]
    return b"\xef\xbb\xbf" + end.join(lines)


def texts(rows):
    """Return one text a line; some begin like compressed files, or with marks of encodings."""
    lines = [(row["text"] or "").replace("\n", " ").encode() for row in rows]
    lines[5::9] = [b"BZh91AY&SY", b"\xef\xbb\xbfmarked"] * (len(lines[5::9]) // 2) + [
        b"last"
    ] * (len(lines[5::9]) % 2)
    return b"\n".join(lines) + b"\n"


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("in.jsonl", lambda rows: jsonl_with(b"\n", rows), {}),
        ("in.jsonl", lambda rows: jsonl_with(b"\r\n", rows), {"keep": "last"}),
        ("in.txt", texts, {"format": "lines"}),
    ],
)
@pytest.mark.parametrize(
    "shards", [7, pytest.param(60, marks=pytest.mark.slow)], ids=str
)
def test_a_file_is_divided_by_bytes(tmp_path, name, content, options, shards):
    """Keys are lines of the file, whichever shard reads them; shards may be without a row."""
    source = tmp_path / name
    source.write_bytes(content(corpus(1, 40)))
    options = {"output_format": "jsonl"} | options
    wanted = in_memory(tmp_path, source, **options)
    assert in_stages(tmp_path, source, shards=shards, tasks=2, **options) == wanted


def test_a_file_at_a_url_is_divided(tmp_path):
    pytest.importorskip("fsspec")
    source = tmp_path / "in.jsonl"
    source.write_bytes(jsonl_with(b"\n", corpus(1, 20)))
    url = source.as_uri()
    assert in_stages(tmp_path, url, shards=4, tasks=1) == in_memory(tmp_path, url)


def test_a_table_is_divided_by_row_groups(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "in.parquet"
    table = pa.table({"text": [row["text"] for row in corpus(1, 40)]})
    pq.write_table(table, source, row_group_size=7)
    wanted = in_memory(tmp_path, source, output_format="jsonl")
    options = {"shards": 4, "tasks": 2, "output_format": "jsonl"}
    assert in_stages(tmp_path, source, **options)[:2] == wanted[:2]
    assert sum(path.stat().st_size > 0 for path in (tmp_path / "kept").iterdir()) == 4


def bad_rows(folder):
    """Write rows of which some are bad, one has the id of an earlier one, and two files have none of these."""
    rows = [json.dumps({"id": i, "text": f"text of row {i}"}) for i in range(40)]
    rows[11] = rows[31] = "{"
    rows[35] = json.dumps({"id": 34, "text": "an id that is taken"})
    folder.mkdir()
    (folder / "a.jsonl").write_text("\n".join(rows[:2]))
    (folder / "b.jsonl").write_text("\n\n" + "\n".join(rows[2:]))
    (folder / "c.jsonl").write_text('{"id": 99, "text": "last"}')
    return folder


def test_rejected_rows_have_their_lines_in_the_file(tmp_path):
    source = bad_rows(tmp_path / "in")
    options = {"id_column": "id"}
    dedup_files(source, tmp_path / "kept.jsonl", on_error="skip", **options)
    rejected = tmp_path / "rejected"
    kept = in_stages(tmp_path, source, shards=6, rejected=rejected, **options)[1]
    assert (kept, joined(rejected)) == (
        (tmp_path / "kept.jsonl").read_bytes(),
        (tmp_path / "kept.jsonl.rejects.jsonl").read_bytes(),
    )


@pytest.mark.parametrize("shards", [1, 6])
def test_errors_name_lines_of_the_file(tmp_path, shards):
    source = bad_rows(tmp_path / "in")
    stages.plan(source, tmp_path / "work", tmp_path / "kept", shards=shards)
    with pytest.raises(DataError, match=r"b\.jsonl:12: not valid JSON"):
        run_all(tmp_path / "work")


@pytest.mark.parametrize("fault", ["bad row", "text", "equal ids"])
def test_errors_of_a_part_whose_lines_before_cannot_be_read(
    tmp_path, monkeypatch, fault
):
    """The error is the one of the row; it says from which byte on its line is counted."""
    memory = pytest.importorskip("fsspec.implementations.memory")
    rows = [json.dumps({"id": i, "text": f"text of row {i}"}) for i in range(40)]
    rows[-1] = {
        "bad row": "{",
        "text": json.dumps({"id": 39, "text": "\ud800"}),
        "equal ids": json.dumps({"id": 38, "text": "an id that is taken"}),
    }[fault]
    content = "\n".join(rows).encode()
    system = memory.MemoryFileSystem()
    system.pipe("/parts/in.jsonl", content)
    url = "memory://parts/in.jsonl"
    options = {"shards": 2, "id_column": "id"}
    stages.plan(url, tmp_path / "work", tmp_path / "kept", **options)

    places = []

    def readinto(stream, target):
        places.append(stream.tell())
        if places[-1] == 0 and max(places) > 0:  # after the part was read
            raise OSError(5, "Input/output error")
        return io.BytesIO.readinto(stream, target)

    monkeypatch.setattr(memory.MemoryFile, "readinto", readinto, raising=False)
    try:
        with pytest.raises(DataError) as error:
            stages.run(tmp_path / "work", "sketch", 1)
    finally:
        system.rm("/parts", recursive=True)
    place = re.search(
        r"in\.jsonl: .+ \(line (\d+) from byte (\d+) on; the lines before were not counted: "
        r"Input/output error\)",
        str(error.value),
    )
    assert content[: int(place[2])].count(b"\n") + int(place[1]) == len(rows)
    assert error.value.line is None


def test_late_tasks_open_the_manifest_of_their_own_shard(tmp_path):
    """So that a run does not open as many manifests as the square of its shards."""
    source = tmp_path / "in.jsonl"
    source.write_bytes(jsonl_with(b"\n", corpus(1, 40)))
    wanted = in_memory(tmp_path, source)
    assert in_stages(tmp_path, source, shards=5, tasks=1) == wanted
    work = tmp_path / "work"
    for path in work.glob("sketch-0000[0-3].json"):
        path.unlink()
    for stage in ("collect", "apply"):
        (work / f"{stage}-00004.json").unlink()
        stages.run(work, stage, 4)
    assert joined(tmp_path / "kept") == wanted[1]


def test_equal_ids_in_parts_of_a_file(tmp_path):
    source = tmp_path / "in.jsonl"
    rows = [{"id": i % 29, "text": f"text of row {i}"} for i in range(30)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    stages.plan(source, tmp_path / "work", tmp_path / "kept", id_column="id", shards=5)
    with pytest.raises(DataError, match=r"jsonl:30: id 0 is taken by .*jsonl:1;"):
        run_all(tmp_path / "work")


def test_a_divided_file_that_has_changed(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a text"}\n' * 20)
    stages.plan(source, tmp_path / "work", tmp_path / "kept", shards=3)
    source.write_text('{"text": "a text"}\n' * 21)
    with pytest.raises(DataError, match="has changed since the plan"):
        stages.run(tmp_path / "work", "sketch", 2)


def test_parts_are_whole_lines_of_similar_bytes(tmp_path):
    rng = random.Random(1)
    lines = [b"x" * rng.randrange(200) + b"\n" for _ in range(1000)]
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(lines))
    begins = {sum(map(len, lines[:number])) for number in range(1001)}
    (file,) = list_files(path, Layout())
    for count in (1, 2, 3, 50, 5000):
        parts = divided(file, count)
        assert [part.begin for part in parts[1:]] == [part.end for part in parts[:-1]]
        assert (parts[0].begin, parts[-1].end) == (0, file.size)
        assert {part.begin for part in parts} <= begins
        assert max(part.nbytes for part in parts) <= file.size / count + 200


def test_long_lines_are_searched_once(tmp_path, monkeypatch):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"x" * (1 << 22) + b"\n" + b"\xef\xbb\xbfx\n" * 1000)
    (file,) = list_files(path, Layout())
    nbytes_read = []

    class CountedFile(io.FileIO):
        def read(self, count=-1):
            data = super().read(count)
            nbytes_read.append(len(data))
            return data

    monkeypatch.setattr(LocalFile, "open", lambda source: CountedFile(path))
    parts = divided(file, 50)
    assert {part.begin for part in parts[1:]} == {file.size}
    assert sum(nbytes_read) < 1.1 * file.size


@pytest.mark.parametrize("shards", [None, 6])
def test_row_groups_that_state_wrong_sizes(tmp_path, monkeypatch, shards):
    """All rows are read once, if the footer says that each row group has fewer bytes than none."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(planning, "SHARD_BYTES", 500)
    source = tmp_path / "in.parquet"
    table = pa.table({"text": [f"{'word' * 20} {place}" for place in range(60)]})
    pq.write_table(table, source, row_group_size=10)
    # Thrift has twice the number, and one more for negative ones; the number of rows follows.
    content, count = re.subn(
        rb"(?s)\x16([\x80-\xff])([\x00-\x7f])(?=\x16\x14)",
        lambda size: bytes([0x16, size[1][0] | 1, size[2][0]]),
        source.read_bytes(),
    )
    assert count == 6
    source.write_bytes(content)
    options = {"output_format": "jsonl"}
    wanted = in_memory(tmp_path, source, **options)
    run = in_stages(tmp_path, source, shards=shards, tasks=1, **options)
    assert run[:2] == wanted[:2]


@pytest.mark.parametrize("suffix", ["csv", "jsonl.gz"])
def test_files_that_cannot_be_divided(tmp_path, suffix):
    source = tmp_path / f"in.{suffix}"
    dedup_files(write_rows(tmp_path), source)
    with pytest.raises(
        ValueError, match="shards must be at most 1, the number of input"
    ):
        stages.plan(source, tmp_path / "work", tmp_path / "kept", shards=2)


def write_rows(folder):
    path = folder / "rows.jsonl"
    path.write_text('{"text": "one text"}\n{"text": "another text"}\n')
    return path
