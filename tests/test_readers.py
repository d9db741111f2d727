"""Readers and writers, on real files: what goes in comes out, and what is wrong is said with its place."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lshfast.readers import Corpus, DataError, open_corpus
from lshfast.writers import atomic_file, check_output, write_rejects, write_rows, write_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("orjson")

TEXTS = ["plain", "", 'two\nlines, "quoted"', "Größe 漢字 😀", "nul \0 inside", "\ufeffmark", "x" * 5000, " "]
ROWS = [{"key": f"k{i}", "text": text, "year": 2000 + i} for i, text in enumerate(TEXTS)]
LINE_FORMATS = [kind + codec for kind in (".jsonl", ".csv") for codec in ("", ".gz", ".zst")]
FORMATS = [*LINE_FORMATS, ".parquet"]
HIDDEN = "\ue000"  # in the place of NUL, which the csv module of Python 3.10 refuses
BATCH_BYTES = [1, 100, 8 << 20]


def pack(data: bytes, path: Path) -> Path:
    """Write bytes, compressed as the name says."""
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(data)
        data = sink.getvalue().to_pybytes()
    path.write_bytes(data)
    return path


def unpack(path: Path) -> bytes:
    """Read a whole file, decompressed as the name says."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        with pa.CompressedInputStream(pa.BufferReader(path.read_bytes()), "zstd") as stream:
            return bytes(stream.read())
    return path.read_bytes()


def make(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format that the name says, by other means than lshfast's."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
        return path
    if ".csv" in path.name:
        out = io.StringIO()
        csv.writer(out).writerow(rows[0])
        csv.writer(out).writerows([str(v).replace("\0", HIDDEN) for v in row.values()] for row in rows)
        return pack(out.getvalue().replace(HIDDEN, "\0").encode(), path)
    return pack("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(), path)


def load(path: Path) -> list[dict[str, Any]]:
    """Read rows back, by other means than lshfast's."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    text = unpack(path).decode()
    if ".csv" in path.name:
        rows = list(csv.reader(io.StringIO(text.replace("\0", HIDDEN), newline=""), strict=True))
        return [dict(zip(rows[0], (v.replace(HIDDEN, "\0") for v in row), strict=True)) for row in rows[1:]]
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read(inputs: Any, **options: Any) -> tuple[Corpus, list[str]]:
    """Run pass one; the texts of all batches."""
    corpus = open_corpus(inputs, **options)
    texts: list[str] = []
    for batch in corpus.batches():
        texts += batch.texts if isinstance(batch.texts, list) else batch.texts.to_pylist()
    return corpus, texts


def keep_all(corpus: Corpus) -> Any:
    return np.ones(corpus.accepted, bool)


def bad_row(path: Path, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    return caught.value


# Pass one: texts, keys and places


@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
@pytest.mark.parametrize("kind", [*FORMATS, ".ndjson", ".json", ".JSONL", ".json.gz"])
def test_every_format_gives_the_same_texts(tmp_path: Path, kind: str, batch_bytes: int) -> None:
    path = make(tmp_path / f"a{kind}", ROWS)
    corpus = open_corpus(path, id_column="key", batch_bytes=batch_bytes)
    batches = list(corpus.batches())
    texts = [t for b in batches for t in (b.texts if isinstance(b.texts, list) else b.texts.to_pylist())]
    assert texts == TEXTS
    assert [corpus.key(row) for row in range(corpus.accepted)] == [row["key"] for row in ROWS]
    assert sum(batch.source_bytes for batch in batches) == corpus.total_bytes == path.stat().st_size
    assert (corpus.read, corpus.rejected) == (len(TEXTS), [])


def test_parquet_texts_stay_in_arrow(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array(["a", "b"], pa.large_string()), "other": [1, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    (batch,) = open_corpus(tmp_path / "a.parquet").batches()
    assert batch.texts.type == pa.large_string()
    dictionary = pa.table({"text": pa.array(["a", "b", "a"]).dictionary_encode()})
    pq.write_table(dictionary, tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet")[1] == ["a", "b", "a"]


def test_batches_hold_about_what_was_asked_for(tmp_path: Path) -> None:
    rows = [{"text": "y" * 100} for _ in range(500)]
    for kind in FORMATS:
        corpus = open_corpus(make(tmp_path / f"a{kind}", rows), batch_bytes=4000)
        sizes = [len(batch.texts) for batch in corpus.batches()]
        assert sum(sizes) == 500 and max(sizes) <= 45, kind


def test_small_files_share_batches(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{i}.jsonl", [{"text": str(i)}]) for i in range(20)]
    (batch,) = open_corpus(paths).batches()
    assert batch.texts == [str(i) for i in range(20)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
def test_jsonl_marks_blank_lines_and_line_ends(tmp_path: Path, end: bytes, batch_bytes: int) -> None:
    lines = [b'\xef\xbb\xbf{"text": "a"}', b"", b"  \t", b' {"text": "b"} ', b"", b'{"text": "c"}']
    corpus, texts = read(pack(end.join(lines), tmp_path / "a.jsonl"), batch_bytes=batch_bytes)
    assert texts == ["a", "b", "c"]
    assert [corpus.place(row)[1] for row in range(3)] == [1, 4, 6]
    assert corpus.key(2) == f"{tmp_path}/a.jsonl:6"
    with pytest.raises(IndexError):
        corpus.place(3)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_marks_blank_lines_and_line_ends(tmp_path: Path, end: str) -> None:
    lines = ["\ufefftext,n", "a,1", "", f'"b{end}b",2', "c,3"]
    corpus, texts = read(pack(end.join(lines).encode(), tmp_path / "a.csv"))
    assert texts == ["a", f"b{end}b", "c"]
    assert [corpus.place(row)[1] for row in range(3)] == [2, 4, 6]


def test_csv_fields_may_be_long(tmp_path: Path) -> None:
    assert read(make(tmp_path / "a.csv", [{"text": "z" * 300_000}]))[1] == ["z" * 300_000]


def test_a_folder_is_read_sorted_and_by_glob(tmp_path: Path) -> None:
    for name, data in {"b.txt": b"2", "a/z.txt": b"\xef\xbb\xbf1", "c.md": b"no", "c.txt": b""}.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    (tmp_path / "in" / "folder.txt").mkdir()
    corpus, texts = read(tmp_path / "in", id_column="key")
    assert texts == ["1", "2", ""]
    assert [corpus.key(i) for i in range(3)] == [f"{tmp_path}/in/{n}" for n in ("a/z.txt", "b.txt", "c.txt")]
    assert corpus.place(0) == (f"{tmp_path}/in/a/z.txt", None)
    assert read(f"{tmp_path}/in/", glob="*.md")[1] == ["no"]


def test_inputs_keep_their_order_and_places(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("t")
    paths: list[Path] = [make(tmp_path / f"{i}{kind}", ROWS) for i, kind in enumerate(FORMATS)]
    empty = pack(b"", tmp_path / "e.jsonl")
    corpus, texts = read([paths[6], tmp_path / "d", empty, *paths[:6]], batch_bytes=200)
    assert texts == [*TEXTS, "t", *TEXTS * 6]
    assert corpus.key(1) == f"{paths[6]}:2" and corpus.key(8) == f"{tmp_path}/d/x.txt"
    assert corpus.key(9) == f"{paths[0]}:1" and corpus.key(9 + 8 * 3 + 7) == f"{paths[3]}:10"


def test_inputs_without_a_row_count_as_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "a.parquet")
    paths = [tmp_path / "a.parquet", pack(b"text\n", tmp_path / "b.csv"), pack(b"\n\n", tmp_path / "c.jsonl")]
    for inputs in (paths, *([path] for path in paths)):
        corpus = open_corpus(inputs)
        batches = list(corpus.batches())
        assert sum(batch.source_bytes for batch in batches) == corpus.total_bytes
        assert (corpus.read, corpus.complete) == (0, True)
        for kind in FORMATS:
            write_rows(corpus, tmp_path / f"out{kind}", keep=np.zeros(0, bool), overwrite=True)
            assert load(tmp_path / f"out{kind}") == []


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz", "a.csv.zst"])
def test_an_empty_file_has_no_rows(tmp_path: Path, name: str) -> None:
    for path in (pack(b"", tmp_path / name), tmp_path / f"zero.{name}"):
        path.touch()
        corpus, texts = read(path)
        assert (texts, corpus.read) == ([], 0)


# Pass one: what is wrong

BAD_LINES = {
    b'{"text": "a"': "not valid JSON",
    b"not json": "not valid JSON",
    b'{"text": NaN}': "not valid JSON",
    b'{"text": "a"} {}': "not valid JSON",
    b'["text"]': "the line is an array, not a JSON object",
    b'"text"': "the line is a string, not a JSON object",
    b"[" * 100_000: "nested too deep",
    b"{}": "no column 'text'",
    b'{"text": null}': "column 'text' is null",
    b'{"text": 5}': "column 'text' is a number",
    b'{"text": ["a"]}': "column 'text' is an array",
    b'{"text": "\xff"}': "not UTF-8: byte 0xff at offset 10",
    b'{"text": "\xed\xa0\x80"}': "not UTF-8: byte 0xed at offset 10",
    b'{"text": "\\ud800"}': "lone surrogate \\ud800",
    b'{"text": "a", "b": "\\udc00"}': "lone surrogate \\udc00",
    b'{"text": "raw \0 nul"}': "not valid JSON",
    b"\xef\xbb\xbf{}": "not valid JSON",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: repr(line[:20]))
def test_bad_jsonl_lines(tmp_path: Path, line: bytes) -> None:
    path = pack(b'{"text": "1"}\n\n' + line + b'\n{"text": "2"}\n', tmp_path / "a.jsonl")
    error = bad_row(path)
    assert (error.path, error.line) == (str(path), 3) and BAD_LINES[line] in error.reason
    assert str(error) == f"{path}:3: {error.reason}"
    for batch_bytes in BATCH_BYTES:
        corpus, texts = read(path, on_error="skip", batch_bytes=batch_bytes)
        assert texts == ["1", "2"] and corpus.read == 3
        assert corpus.rejected == [(str(path), 3, error.reason)]
        assert [corpus.place(i)[1] for i in range(2)] == [1, 4]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" * 400, "123456789012345678901234567890", "0.10"])
def test_numbers_that_no_machine_holds_pass_from_jsonl_to_jsonl(tmp_path: Path, number: str) -> None:
    line = b'{"text": "a", "n": ' + number.encode() + b"}\n"
    corpus, texts = read(pack(line, tmp_path / "a.jsonl"))
    assert texts == ["a"]
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), annotations={"x": [1]})
    assert (tmp_path / "b.jsonl").read_bytes() == line[:-2] + b',"x":1}\n'
    for name in ("b.csv", "b.parquet"):
        if number == "0.10":
            continue
        with pytest.raises(DataError, match=r"a\.jsonl:1: .*(64 bits|double)"):
            write_rows(corpus, tmp_path / name, keep=keep_all(corpus))
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a\n", "row has 1 fields, the header 2"),
        (b"a,b,c\n", "row has 3 fields, the header 2"),
        (b"a\xff,b\n", "not UTF-8: byte 0xff at offset 1 of line 3"),
        (b'"a"b,c\n', "not valid CSV"),
        (b'"a\nb",c,d\n', "row has 3 fields, the header 2 (lines 3 to 4)"),
    ],
)
def test_bad_csv_rows(tmp_path: Path, line: bytes, reason: str) -> None:
    path = pack(b"text,n\n1,1\n" + line + b"2,2\n", tmp_path / "a.csv")
    error = bad_row(path)
    assert (error.path, error.line) == (str(path), 3) and reason in error.reason
    corpus, texts = read(path, on_error="skip")
    assert texts == ["1", "2"] and len(corpus.rejected) == 1 and corpus.read == 3


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a,b\n1,2\n", "no column 'text'; columns are: a, b"),
        (b"text,a,a\n1,2,3\n", "the header names a column twice: a"),
        (b"te\xffxt\n1\n", "not UTF-8"),
        (b'text,n\n1,1\n"2,2\n3,3\n', ":3: a quote opened in this row is never closed"),
    ],
)
def test_bad_csv_files(tmp_path: Path, data: bytes, reason: str, on_error: str) -> None:
    assert reason in str(bad_row(pack(data, tmp_path / "a.csv"), on_error=on_error))


def test_bad_parquet_rows(tmp_path: Path) -> None:
    raw = pa.array([b"1", None, b"\xff\xfe", b"2"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 4, raw.buffers(), raw.null_count)
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    assert str(bad_row(tmp_path / "a.parquet")) == f"{tmp_path}/a.parquet: row 2: column 'text' is null"
    corpus, good = read(tmp_path / "a.parquet", on_error="skip")
    assert good == ["1", "2"] and [corpus.place(i)[1] for i in range(2)] == [1, 4]
    assert [(r.line, r.reason[:9]) for r in corpus.rejected] == [(2, "column 't"), (3, "not UTF-8")]


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_bad_parquet_files(tmp_path: Path, on_error: str) -> None:
    path = make(tmp_path / "a.parquet", ROWS)
    assert "no column 'body'; columns are: key, text, year" in str(
        bad_row(path, column="body", on_error=on_error)
    )
    assert "column 'year' is int64, not strings" in str(bad_row(path, column="year", on_error=on_error))
    whole = path.read_bytes()
    for damaged in (b"", whole[:-9], whole[: len(whole) // 2], whole[:4] + b"\xaa" * 300 + whole[304:]):
        path.write_bytes(damaged)
        assert "cannot be read as Parquet" in str(bad_row(path, on_error=on_error))


def test_bad_folder_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good")
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfab\xc3")
    assert str(bad_row(tmp_path)) == f"{tmp_path}/b.txt: not UTF-8: byte 0xc3 at offset 5 of the file"
    corpus, texts = read(tmp_path, on_error="skip")
    assert texts == ["good"] and corpus.rejected[0][:2] == (f"{tmp_path}/b.txt", None)


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("kind", [".jsonl.gz", ".jsonl.zst", ".csv.gz", ".csv.zst"])
def test_cut_off_streams_are_errors(tmp_path: Path, kind: str, on_error: str) -> None:
    path = make(tmp_path / f"a{kind}", [{"text": os.urandom(200).hex()} for _ in range(200)])
    whole = path.read_bytes()
    for size in (1, 5, 20, len(whole) // 2, len(whole) - 4, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "damaged or cut off" in str(bad_row(path, on_error=on_error)), size
    path.write_bytes(whole + b"garbage")
    assert "damaged or cut off" in str(bad_row(path, on_error=on_error))


@pytest.mark.parametrize("kind", [".jsonl.gz", ".jsonl.zst"])
@pytest.mark.parametrize("size", [10, 70_000])
def test_streams_of_several_members_are_read_whole(tmp_path: Path, kind: str, size: int) -> None:
    rows = [{"text": os.urandom(size).hex()} for _ in range(5)]
    parts = [make(tmp_path / f"{i}{kind}", [row]).read_bytes() for i, row in enumerate(rows)]
    (tmp_path / f"all{kind}").write_bytes(b"".join(parts))
    assert read(tmp_path / f"all{kind}")[1] == [row["text"] for row in rows]


def test_inputs_that_cannot_be(tmp_path: Path) -> None:
    path = make(tmp_path / "a.jsonl", ROWS)
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "x.txt").touch()
    (tmp_path / "link.jsonl").symlink_to(path)
    os.mkfifo(tmp_path / "p.jsonl")
    for inputs, reason in (
        (tmp_path / "none.jsonl", "none.jsonl: cannot be read: No such file or directory"),
        (tmp_path / "a.xml", "a.xml: cannot be read"),
        (pack(b"", tmp_path / "b.xml"), "b.xml: unknown kind of file"),
        (pack(b"", tmp_path / "b.parquet.gz"), "b.parquet.gz: unknown kind of file"),
        (tmp_path / "p.jsonl", "is neither a file nor a folder"),
        ([path, path], "a.jsonl: input named twice"),
        ([path, tmp_path / "d" / ".." / "a.jsonl"], "input named twice (first as"),
        ([path, tmp_path / "link.jsonl"], "input named twice (first as"),
        ([tmp_path / "d", tmp_path / "d" / "e"], "x.txt: input named twice"),
        ([], "no inputs"),
    ):
        with pytest.raises(ValueError) as caught:
            open_corpus(inputs)
        assert reason in str(caught.value) and "\n" not in str(caught.value)
    for options, reason in (
        ({"glob": "*.md"}, r"no file in this folder matches '\*.md'"),
        ({"glob": "/x"}, "glob '/x'"),
        ({"order_column": "n"}, "has no order column 'n'"),
        ({"on_error": "ignore"}, "on_error must be 'stop' or 'skip', not 'ignore'"),
        ({"batch_bytes": 0}, "batch_bytes must be at least 1"),
    ):
        with pytest.raises(ValueError, match=reason):
            open_corpus(tmp_path / "d", **options)


# Ids and order values


@pytest.mark.parametrize("kind", FORMATS)
def test_an_id_is_taken_once(tmp_path: Path, kind: str) -> None:
    rows = [{"key": key, "text": str(i)} for i, key in enumerate(["a", "b", "a"])]
    first, second = make(tmp_path / f"1{kind}", rows[:2]), make(tmp_path / f"2{kind}", rows[1:])
    line = 2 if "csv" in kind else 1
    where = f" row {line}:" if kind == ".parquet" else f"{line}:"
    with pytest.raises(DataError) as caught:
        read([first, second], id_column="key")
    assert str(caught.value) == f"{second}:{where} id 'b' is taken by {first}:{line + 1}"
    corpus, texts = read([first, second], id_column="key", on_error="skip")
    assert texts == ["0", "1"] and corpus.ids == ["a", "b"]
    reasons = [reject.reason for reject in corpus.rejected]
    assert reasons == [f"id '{key}' is taken by {first}:{n}" for key, n in (("b", line + 1), ("a", line))]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('{"text": "t"}', "missing, null or empty"),
        ('{"text": "t", "key": null}', "missing, null or empty"),
        ('{"text": "t", "key": ""}', "missing, null or empty"),
        ('{"text": "t", "key": 1.5}', "neither a string nor a 64-bit integer"),
        ('{"text": "t", "key": true}', "neither a string nor a 64-bit integer"),
        ('{"text": "t", "key": 18446744073709551615}', "neither a string nor a 64-bit integer"),
        ('{"text": "t", "key": "7"}', "id '7' is a string, the ids before it are not"),
    ],
)
def test_bad_ids(tmp_path: Path, value: str, reason: str) -> None:
    path = pack(b'{"text": "t", "key": 7}\n' + value.encode(), tmp_path / "a.jsonl")
    assert reason in bad_row(path, id_column="key").reason
    corpus, _ = read(path, id_column="key", on_error="skip")
    assert corpus.ids == [7] and corpus.key(0) == 7 and len(corpus.rejected) == 1


@pytest.mark.parametrize("kind", FORMATS)
def test_order_values(tmp_path: Path, kind: str) -> None:
    corpus, _ = read(make(tmp_path / f"a{kind}", ROWS), order_column="year")
    assert isinstance(corpus.order, np.ndarray) and corpus.order.dtype == np.int64
    assert corpus.order.tolist() == [row["year"] for row in ROWS]
    corpus, _ = read(tmp_path / f"a{kind}", order_column="key")
    assert corpus.order == [row["key"] for row in ROWS]
    assert corpus.ids is None and read(tmp_path / f"a{kind}")[0].order is None


def test_integers_become_doubles_when_a_fraction_comes(tmp_path: Path) -> None:
    for kind in (".jsonl", ".csv"):
        corpus, _ = read(
            make(tmp_path / f"a{kind}", [{"text": "", "n": n} for n in (3, 0.5, -2)]), order_column="n"
        )
        assert isinstance(corpus.order, np.ndarray) and corpus.order.tolist() == [3.0, 0.5, -2.0]


def test_times_of_parquet_are_strings_that_sort(tmp_path: Path) -> None:
    berlin = pa.array([1_700_000_000_000, 1_700_000_000_500], pa.timestamp("ms", "Europe/Berlin"))
    finer = pa.array([1_700_000_000_000_001, 0], pa.timestamp("us"))
    for i, (times, name) in enumerate(
        [(berlin, "a"), (finer, "b"), (pa.array([19_675, 0], pa.date32()), "c")]
    ):
        pq.write_table(pa.table({"text": ["", ""], "at": times}), tmp_path / f"{i}{name}.parquet")
    corpus, _ = read([tmp_path / f"{name}.parquet" for name in ("0a", "1b", "2c")], order_column="at")
    assert isinstance(corpus.order, list) and corpus.order[0] == "2023-11-14 22:13:20.000"
    assert np.argsort(corpus.order).tolist() == [5, 3, 4, 0, 2, 1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("null", "is missing or null"),
        ('"2020"', "holds '2020', a string, but those before it are not"),
        ("true", "holds True, neither a string nor a 64-bit number"),
        ("[1]", "holds [1], neither a string nor a 64-bit number"),
        ("18446744073709551615", "holds 18446744073709551615, neither a string nor a 64-bit number"),
    ],
)
def test_bad_order_values(tmp_path: Path, value: str, reason: str) -> None:
    lines = [f'{{"text": "{k}", "n": {n}, "k": "{k[0]}"}}\n' for k, n in (("a", 1), ("b", value), ("bb", 3))]
    path = pack("".join(lines).encode(), tmp_path / "a.jsonl")
    error = bad_row(path, order_column="n", id_column="k")
    assert error.line == 2 and f"order column 'n' {reason}" in error.reason
    corpus, texts = read(path, order_column="n", id_column="k", on_error="skip")
    assert texts == ["a", "bb"] and corpus.ids == ["a", "b"]
    assert isinstance(corpus.order, np.ndarray) and corpus.order.tolist() == [1, 3]


# Pass two


def test_jsonl_lines_are_copied_as_they_stand(tmp_path: Path) -> None:
    lines = [
        b'{ "text" : "\\u0061" ,"n":1.0 }',
        b'{"text":"b","text":"c"}',
        b'  {"text":"d"}\t',
        b'{"text":"e"}',
    ]
    data = b"\xef\xbb\xbf%b\r\n\n%b\nbad\n%b\n%b" % tuple(lines)
    path = pack(data, tmp_path / "a.jsonl")
    for batch_bytes in BATCH_BYTES:
        corpus, texts = read(path, on_error="skip", batch_bytes=batch_bytes)
        assert texts == ["a", "c", "d", "e"]
        for kept in range(16):
            keep = np.array([kept >> i & 1 for i in range(4)], bool)
            write_rows(corpus, tmp_path / "b.jsonl", keep=keep, overwrite=True)
            assert unpack(tmp_path / "b.jsonl") == b"".join(lines[i] + b"\n" for i in range(4) if keep[i])


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_rows_survive_every_change_of_format(tmp_path: Path, source: str, target: str) -> None:
    corpus, _ = read(make(tmp_path / f"a{source}", ROWS), batch_bytes=300)
    keep = np.arange(len(ROWS)) % 3 != 1
    passed: list[int] = []
    scores = np.arange(len(ROWS)) / 4
    out = tmp_path / f"b{target}"
    write_rows(corpus, out, keep=keep, annotations={"score": scores}, progress=passed.append)
    as_text = "csv" in source + target
    year: Any = str if as_text else int
    kept = [{**row, "year": year(row["year"])} for row, k in zip(ROWS, keep, strict=True) if k]
    found = load(out)
    assert [{name: row[name] for name in ("key", "text", "year")} for row in found] == kept
    assert [float(row["score"]) for row in found] == scores[keep].tolist()
    assert sum(passed) == corpus.total_bytes
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted({f"a{source}", f"b{target}"})


def test_kept_rows_keep_their_order_over_several_inputs(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("t")
    paths = [
        make(tmp_path / f"{i}{kind}", ROWS) for i, kind in enumerate([".jsonl", ".jsonl.zst", ".jsonl.gz"])
    ]
    others = [
        tmp_path / "d",
        make(tmp_path / "c.csv", [{"text": "c"}]),
        make(tmp_path / "p.parquet", [{"text": "p"}]),
    ]
    corpus, texts = read([*paths, *others])
    for kind in FORMATS:
        out = tmp_path / f"out{kind}"
        write_rows(corpus, out, keep=np.arange(corpus.accepted) >= 7)
        assert [row["text"] for row in load(out)] == texts[7:] and load(out)[-3][
            "id"
        ] == f"{tmp_path}/d/x.txt"


def test_parquet_keeps_its_schema_and_metadata(tmp_path: Path) -> None:
    fields = [
        pa.field("text", pa.large_string(), nullable=False, metadata={"note": "n"}),
        pa.field("vector", pa.list_(pa.float32(), 2)),
        pa.field("at", pa.timestamp("ms", "UTC")),
        pa.field("tag", pa.dictionary(pa.int32(), pa.string())),
        pa.field("small", pa.int8()),
    ]
    columns = [["a", "b", "c"], [[1, 2], [5, 6], [3, 4]], [1, None, 3], ["x", "y", "x"], [1, None, -1]]
    schema = pa.schema(fields, metadata={"made": "by hand"})
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, fields, strict=True)], schema=schema)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    corpus, _ = read(tmp_path / "a.parquet")
    write_rows(corpus, tmp_path / "b.parquet", keep=np.array([True, False, True]))
    found = pq.read_table(tmp_path / "b.parquet")
    assert found.schema.equals(pq.read_table(tmp_path / "a.parquet").schema, check_metadata=True)
    assert found.to_pylist() == [table.to_pylist()[i] for i in (0, 2)]
    write_rows(corpus, tmp_path / "n.parquet", keep=np.zeros(3, bool), annotations={"why": [None, "x", None]})
    assert pq.read_schema(tmp_path / "n.parquet").names == [*table.schema.names, "why"]


def test_parquet_inputs_must_fit_together(tmp_path: Path) -> None:
    def table(name: str, **columns: Any) -> Path:
        pq.write_table(pa.table({"text": ["t"], **columns}), tmp_path / name)
        return tmp_path / name

    one, two = (
        table("1.parquet", n=pa.array([1], pa.int32())),
        table("2.parquet", n=pa.array([1 << 40]), m=["m"]),
    )
    corpus, _ = read([one, two])
    write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    assert load(tmp_path / "out.parquet") == [
        {"text": "t", "n": 1, "m": None},
        {"text": "t", "n": 1 << 40, "m": "m"},
    ]
    corpus, _ = read([one, table("3.parquet", n=["s"])])
    with pytest.raises(DataError, match=r"3\.parquet: column 'n' is string, but int32 in the rows before"):
        write_rows(corpus, tmp_path / "none.parquet", keep=keep_all(corpus))


def test_csv_inputs_must_have_one_header(tmp_path: Path) -> None:
    one, two = pack(b"text,n\na,1\n", tmp_path / "1.csv"), pack(b"n,text\n1,a\n", tmp_path / "2.csv")
    corpus, _ = read([one, two])
    with pytest.raises(DataError, match=r"2\.csv:1: the header is not that of the inputs before: text, n"):
        write_rows(corpus, tmp_path / "out.csv", keep=keep_all(corpus))
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    assert load(tmp_path / "out.jsonl") == [{"text": "a", "n": "1"}, {"n": "1", "text": "a"}]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ('"n": 1', '"n": "s"', "a.jsonl:2: column 'n'"),
        ('"n": "s"', '"n": 1', "a.jsonl:2: column 'n'"),
        ('"n": {"x": 1}', '"n": {"x": "s"}', "a.jsonl:2: column 'n'"),
        ('"n": 9007199254740993', '"n": 0.5', "a.jsonl:[12]: column 'n'"),
        ('"n": 1', '"n": 9223372036854775808', "a.jsonl:2: column 'n': an integer is beyond 64 bits"),
        ('"n": {}', '"n": {}', "struct"),
    ],
)
@pytest.mark.parametrize("batch_bytes", [1, 8 << 20])
def test_json_values_must_fit_one_column(
    tmp_path: Path, first: str, second: str, reason: str, batch_bytes: int
) -> None:
    path = pack(f'{{"text": "a", {first}}}\n{{"text": "b", {second}}}\n'.encode(), tmp_path / "a.jsonl")
    corpus, _ = read(path, batch_bytes=batch_bytes)
    with pytest.raises(DataError, match=reason) as caught:
        write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.parquet").exists()


def test_json_columns_are_joined(tmp_path: Path) -> None:
    data = b'{"text":"a","n":null}\n{"text":"b","o":[1]}\n{"n":0.5,"text":"c"}\n{"text":"d","n":2}\n'
    corpus, _ = read(pack(data, tmp_path / "a.jsonl"), batch_bytes=1)
    write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    found = [(row["n"], row["o"]) for row in load(tmp_path / "out.parquet")]
    assert found == [(None, None), (None, [1]), (0.5, None), (2.0, None)]
    with pytest.raises(DataError, match=r"a\.jsonl:2: column 'o' holds an array, which CSV output cannot"):
        write_rows(corpus, tmp_path / "out.csv", keep=keep_all(corpus))
    notes = {"b": [True, None, False, None]}
    write_rows(corpus, tmp_path / "out.csv", keep=np.array([1, 0, 1, 1], bool), annotations=notes)
    assert (tmp_path / "out.csv").read_text() == "text,n,b\na,,true\nc,0.5,false\nd,2,\n"


def test_parquet_values_in_other_formats(tmp_path: Path) -> None:
    columns = {
        "text": ["t"],
        "at": pa.array([0], pa.timestamp("ns")),
        "x": [float("nan")],
        "ok": [True],
        "l": [[1]],
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    corpus, _ = read(tmp_path / "a.parquet")
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    time = "1970-01-01 00:00:00.000000000"
    assert load(tmp_path / "b.jsonl") == [{"text": "t", "at": time, "x": None, "ok": True, "l": [1]}]
    with pytest.raises(DataError, match=r"a\.parquet: column 'l' is list.*: CSV output cannot hold it"):
        write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus))
    pq.write_table(pa.table({"text": ["t"], "b": [b"\xff"]}), tmp_path / "c.parquet")
    corpus, _ = read(tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"c\.parquet: row 1: .*bytes"):
        write_rows(corpus, tmp_path / "d.jsonl", keep=keep_all(corpus))


@pytest.mark.parametrize("source", FORMATS)
def test_annotations_never_hide_a_column(tmp_path: Path, source: str) -> None:
    corpus, _ = read(make(tmp_path / f"a{source}", ROWS))
    for target in FORMATS:
        with pytest.raises(DataError, match="there is a column 'year' already"):
            write_rows(
                corpus, tmp_path / f"b{target}", keep=keep_all(corpus), annotations={"year": [1] * len(ROWS)}
            )
    assert len(list(tmp_path.iterdir())) == 1


def test_annotations_are_spliced_into_the_line(tmp_path: Path) -> None:
    path = pack(b'{"text": "a}" } \n{"text":"b"}', tmp_path / "a.jsonl")
    corpus, _ = read(path)
    notes: dict[str, Any] = {'the "kept"': ["é", None], "n": np.array([1.5, 2])}
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), annotations=notes)
    expected = '{"text": "a}" ,"the \\"kept\\"":"é","n":1.5} \n{"text":"b","the \\"kept\\"":null,"n":2.0}\n'
    assert (tmp_path / "b.jsonl").read_text() == expected


def test_write_rows_checks_its_arguments(tmp_path: Path) -> None:
    path = make(tmp_path / "a.jsonl", ROWS)
    corpus, _ = read(path)
    keep: Any
    with pytest.raises(ValueError, match="the corpus has not been read to its end"):
        write_rows(open_corpus(path), tmp_path / "b.jsonl", keep=np.zeros(0, bool))
    for keep in (np.ones(3, bool), np.ones(len(ROWS))):
        with pytest.raises(ValueError, match=r"keep must be bool of shape \(8,\)"):
            write_rows(corpus, tmp_path / "b.jsonl", keep=keep)
    with pytest.raises(ValueError, match="annotation 'x' has 1 values for 8 rows"):
        write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), annotations={"x": [1]})
    with pytest.raises(ValueError, match="the output is one of the inputs"):
        write_rows(corpus, path, keep=keep_all(corpus), overwrite=True)


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".parquet", ".txt"])
def test_a_file_that_changed_between_the_passes(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a{kind}"
    path.write_text("t") if kind == ".txt" else make(path, ROWS)
    corpus, _ = read(tmp_path if kind == ".txt" else path)
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    with pytest.raises(DataError, match=f"a{kind}: changed while it was in use"):
        write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    path.unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    assert not (tmp_path / "b.jsonl").exists()


def test_a_file_that_changed_and_hides_it(tmp_path: Path) -> None:
    path = pack(b'{"text": "a"}\n{"text": "b"}\n', tmp_path / "a.jsonl")
    corpus, _ = read(path)
    state = path.stat()
    path.write_bytes(b'{"text": "a"}' + b" " * 15)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(DataError, match="a.jsonl: changed while it was in use"):
        write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))


# Files that are whole or not there


@pytest.mark.parametrize("target", FORMATS)
def test_ctrl_c_leaves_nothing(tmp_path: Path, target: str) -> None:
    corpus, _ = read(make(tmp_path / "a.jsonl", ROWS * 20), batch_bytes=1000)

    def interrupt(size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(corpus, tmp_path / f"b{target}", keep=keep_all(corpus), progress=interrupt)
    assert os.listdir(tmp_path) == ["a.jsonl"]


DISK_FULL = """
import resource, sys
from lshfast.readers import open_corpus
from lshfast.writers import write_rows
corpus = open_corpus(sys.argv[1])
rows = sum(len(batch.texts) for batch in corpus.batches())
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
import numpy
try:
    write_rows(corpus, sys.argv[2], keep=numpy.ones(rows, bool), overwrite=len(sys.argv) > 3)
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("target", FORMATS)
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, target: str) -> None:
    source = make(tmp_path / "a.jsonl", [{"text": os.urandom(500).hex()} for _ in range(200)])
    out = tmp_path / f"b{target}"
    command = [sys.executable, "-c", DISK_FULL, str(source), str(out)]
    if target == ".jsonl":
        out.write_text("old")
        command.append("overwrite")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"OSError [Errno 27] File too large: '{out}'\n" and not done.stderr
    assert sorted(os.listdir(tmp_path)) == sorted({"a.jsonl", *([out.name] if target == ".jsonl" else [])})
    assert target != ".jsonl" or out.read_text() == "old"


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with atomic_file(path) as stream:
        stream.write(b"all")
        assert not path.exists()
    assert path.read_bytes() == b"all" and os.listdir(tmp_path) == ["a.bin"]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    with atomic_file(path, overwrite=True) as stream:
        stream.write(b"new")
        assert path.read_bytes() == b"all"
    assert path.read_bytes() == b"new"


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with pytest.raises(FileExistsError, match="a.bin"), atomic_file(path) as stream:
        stream.write(b"mine")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs" and os.listdir(tmp_path) == ["a.bin"]
    with pytest.raises(FileNotFoundError, match="none/a.bin"), atomic_file(tmp_path / "none" / "a.bin"):
        pass


def test_an_output_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "d" / "real.csv")
    write_table(tmp_path / "link.csv", {"a": [1]})
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "d" / "real.csv").read_text() == "a\n1\n"


def test_outputs_are_checked_before_the_work(tmp_path: Path) -> None:
    there = make(tmp_path / "a.jsonl", ROWS)
    (tmp_path / "d.csv").mkdir()
    for path, kind, reason in (
        (there, FileExistsError, "the output exists already"),
        (tmp_path / "a.txt", ValueError, "unknown kind of output"),
        (tmp_path / "a.parquet.gz", ValueError, "unknown kind of output"),
        (tmp_path / "no" / "a.csv", FileNotFoundError, "the folder of the output does not exist"),
        (there / "a.csv", NotADirectoryError, "the folder of the output is a file"),
        (tmp_path / "d.csv", IsADirectoryError, "the output is a folder"),
    ):
        with pytest.raises(kind) as caught:
            check_output(path)
        assert str(caught.value).startswith(f"{path}: {reason}") and "\n" not in str(caught.value)
    check_output(there, overwrite=True)
    with pytest.raises(ValueError, match="the output is one of the inputs"):
        check_output(tmp_path / "d.csv" / ".." / "a.jsonl", [there], overwrite=True)
    check_output("new.jsonl.zst")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_leave_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="may not be written to"):
        check_output(tmp_path / "a.csv")


# Small tables


@pytest.mark.parametrize("kind", FORMATS)
def test_tables(tmp_path: Path, kind: str) -> None:
    columns: dict[str, Any] = {
        "i": np.arange(10_000),
        "key": [f"ü{i}" for i in range(10_000)],
        "s": np.linspace(0, 1, 10_000),
        "z": [None, np.int64(1)] * 5000,
    }
    write_table(tmp_path / f"t{kind}", columns)
    found = load(tmp_path / f"t{kind}")
    assert [int(row["i"]) for row in found] == list(range(10_000))
    assert [row["key"] for row in found] == columns["key"]
    assert [float(row["s"]) for row in found] == columns["s"].tolist()
    assert {str(row["z"] or "") for row in found} == {"", "1"}
    write_table(tmp_path / f"t{kind}", {"i": [], "j": []}, overwrite=True)
    assert load(tmp_path / f"t{kind}") == []


def test_a_column_of_empty_strings_keeps_its_rows(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", {"text": ["", "a", ""]})
    assert read(tmp_path / "t.csv")[1] == ["", "a", ""]


def test_tables_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"columns must be of one length, not \[1, 2\]"):
        write_table(tmp_path / "t.csv", {"a": [1], "b": [1, 2]})
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        with pytest.raises(ValueError, match=f"{name}: row 2: "):
            write_table(tmp_path / name, {"a": [1, object()]})
    (tmp_path / "t.csv").touch()
    with pytest.raises(FileExistsError):
        write_table(tmp_path / "t.csv", {"a": [1]})


def test_rejected_rows_are_written_with_their_reason(tmp_path: Path) -> None:
    path = pack(b'{"text": "a"}\n{"text": 5}\n[]\n', tmp_path / "a.jsonl")
    corpus, _ = read(path, on_error="skip")
    write_rejects(tmp_path / "r.jsonl.gz", corpus.rejected)
    assert load(tmp_path / "r.jsonl.gz") == [
        {"file": str(path), "line": 2, "reason": "column 'text' is a number, not a string"},
        {"file": str(path), "line": 3, "reason": "the line is an array, not a JSON object"},
    ]
    with pytest.raises(ValueError, match="rejected rows are written as .jsonl"):
        write_rejects(tmp_path / "r.csv", corpus.rejected)


WITHOUT_MODULE = """
import sys
from lshfast.readers import open_corpus
sys.modules[sys.argv[1]] = None
list(open_corpus(sys.argv[2]).batches())
"""


@pytest.mark.parametrize(
    ("module", "name"), [("orjson", "a.jsonl"), ("pyarrow", "a.parquet"), ("pyarrow", "a.csv.zst")]
)
def test_a_missing_extra_says_what_to_install(tmp_path: Path, module: str, name: str) -> None:
    make(tmp_path / name, ROWS)
    command = [sys.executable, "-c", WITHOUT_MODULE, module, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr.endswith(f"ImportError: {module} is missing: install lshfast[cli]\n")


# Any rows at all

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ANY_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)
ANY_ROW = st.fixed_dictionaries({"text": ANY_TEXT}, optional={"a": ANY_VALUE, "\x00": ANY_VALUE})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(ANY_ROW, st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n \n"])),
        max_size=8,
    ),
    batch_bytes=st.sampled_from(BATCH_BYTES),
    kind=st.sampled_from([".jsonl", ".jsonl.gz", ".jsonl.zst"]),
)
def test_any_jsonl_round_trip(tmp_path: Path, rows: list[Any], batch_bytes: int, kind: str) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row, _, ascii_only, _ in rows]
    data = "".join(line + end for line, (_, _, _, end) in zip(lines, rows, strict=True))
    corpus, texts = read(pack(data.encode(), tmp_path / f"a{kind}"), batch_bytes=batch_bytes)
    assert texts == [row["text"] for row, _, _, _ in rows]
    keep = np.array([kept for _, kept, _, _ in rows], bool)
    write_rows(corpus, tmp_path / f"b{kind}", keep=keep, overwrite=True)
    kept = [line for line, k in zip(lines, keep, strict=True) if k]
    assert unpack(tmp_path / f"b{kind}").decode() == "".join(line + "\n" for line in kept)
    write_rows(
        corpus, tmp_path / f"c{kind}", keep=keep, annotations={"new": range(len(rows))}, overwrite=True
    )
    expected = [
        {**json.loads(line), "new": int(i)} for line, i in zip(kept, np.flatnonzero(keep), strict=True)
    ]
    assert load(tmp_path / f"c{kind}") == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=8), batch_bytes=st.sampled_from(BATCH_BYTES))
def test_any_csv_round_trip(tmp_path: Path, rows: list[tuple[str, str]], batch_bytes: int) -> None:
    write_table(tmp_path / "a.csv", {"text": [a for a, _ in rows], "b": [b for _, b in rows]}, overwrite=True)
    corpus, texts = read(tmp_path / "a.csv", batch_bytes=batch_bytes)
    assert texts == [a for a, _ in rows]
    write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus), overwrite=True)
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), overwrite=True)
    assert load(tmp_path / "b.jsonl") == [{"text": a, "b": b} for a, b in rows]
