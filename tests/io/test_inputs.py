"""Inputs of every kind: folders, patterns, standard input, URLs, nulls, nested columns, and damaged files."""

from __future__ import annotations

import http.server
import io
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lshfast
from lshfast._io import DataError, open_corpus, write_rows
from tests.cli.commands import failing, read_jsonl, run, write_jsonl
from tests.corpora import (
    BATCH_BYTES,
    FORMATS,
    ROWS,
    TEXTS,
    bad_row,
    keep_all,
    load,
    make,
    pa,
    pack,
    pq,
    read,
)

# Which files


def test_a_folder_gives_its_shards(tmp_path: Path) -> None:
    for name in (
        "b.csv",
        "a/x.parquet",
        "a/y.jsonl.gz",
        "c.tsv",
        ".hidden.jsonl",
        ".git/z.jsonl",
        "n.txt",
        "m.json",
    ):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".tsv":
            path.write_text("text\nc.tsv\n")
        else:
            make(path, [{"text": name}])
    assert read(tmp_path / "in")[1] == ["a/x.parquet", "a/y.jsonl.gz", "b.csv", "c.tsv"]
    assert read(tmp_path / "in", format="csv")[1] == ["b.csv"]
    assert read(tmp_path / "in", glob="**/*.jsonl")[1] == [
        ".git/z.jsonl",
        ".hidden.jsonl",
    ]
    assert read(tmp_path / "in", glob="*.json")[1] == ["m.json"]
    assert read(tmp_path / "in", glob="*.json", format="text")[1] == [
        (tmp_path / "in" / "m.json").read_text()
    ]


def test_a_folder_without_shards_gives_its_texts(tmp_path: Path) -> None:
    for name in ("b.txt", "a/x.txt", ".hidden.txt", ".d/x.txt", "c.md"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    assert read(tmp_path / "in")[1] == ["a/x.txt", "b.txt"]
    assert read(tmp_path / "in", glob="*.md")[1] == ["c.md"]
    with pytest.raises(DataError, match=r"in/a: no parquet file in this folder"):
        open_corpus(tmp_path / "in" / "a", format="parquet")


def test_patterns_and_files_of_one_text(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name in ("d/b.txt", "d/a.txt", "d/e/c.txt", "d/.h.txt"):
        (tmp_path / name).write_text(name)
    assert read(f"{tmp_path}/d/*.txt")[1] == ["d/a.txt", "d/b.txt"]
    assert read(f"{tmp_path}/d/**/*.txt")[1] == ["d/a.txt", "d/b.txt", "d/e/c.txt"]
    corpus, texts = read([tmp_path / "d" / "b.txt", tmp_path / "d" / "a.txt"])
    assert texts == ["d/b.txt", "d/a.txt"]
    assert corpus.key(0) == f"{tmp_path}/d/b.txt"
    with pytest.raises(DataError, match=r"\*\.csv: no file matches this pattern"):
        open_corpus(f"{tmp_path}/*.csv")
    (tmp_path / "[x].jsonl").write_text('{"text": "brackets"}\n')
    assert read(tmp_path / "[x].jsonl")[1] == ["brackets"]


def test_format_says_what_names_do_not(tmp_path: Path) -> None:
    path = pack(b"text\ta\nx, y\t1\n", tmp_path / "table.data")
    with pytest.raises(
        DataError, match=r"table\.data: unknown kind of file: .*--format"
    ):
        open_corpus(path)
    assert read(path, format="tsv")[1] == ["x, y"]
    assert read(pack(b"text\nx\n", tmp_path / "table.gz"), format="csv")[1] == ["x"]
    with pytest.raises(
        ValueError, match=r"format must be one of jsonl, .*, text, lines, not 'xml'"
    ):
        open_corpus(path, format="xml")


def test_several_kinds_keep_their_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [7], "body": ["parquet"]}), tmp_path / "a.parquet")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("one text")
    write_jsonl(tmp_path / "b.jsonl", [{"body": "json", "n": 1.5}])
    inputs = [tmp_path / name for name in ("a.parquet", "d", "b.jsonl")]
    corpus, _ = read(inputs, column="body")
    rows = [
        {"id": 7, "body": "parquet", "path": None, "n": None},
        {"id": None, "body": "one text", "path": f"{tmp_path}/d/x.txt", "n": None},
        {"id": None, "body": "json", "path": None, "n": 1.5},
    ]
    write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    assert load(tmp_path / "out.parquet") == rows
    write_rows(corpus, tmp_path / "out.csv", keep=keep_all(corpus))
    cells = [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in rows
    ]
    assert load(tmp_path / "out.csv") == cells
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    given = [
        {name: value for name, value in row.items() if value is not None}
        for row in rows
    ]
    assert load(tmp_path / "out.jsonl") == given


@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_text_a_line(tmp_path: Path, end: str, batch_bytes: int) -> None:
    lines = ["plain", "", 'a, "b"; {c}', "Größe 漢字", "x" * 5000, " ", "# last"]
    path = pack(end.join(lines).encode(), tmp_path / "a.md.gz")
    corpus, texts = read(path, format="lines", batch_bytes=batch_bytes, column="body")
    assert texts == lines
    assert corpus.key(2) == f"{path}:3"
    rows = [{"body": line} for line in lines]
    for name in ("out.jsonl", "out.csv", "out.parquet"):
        write_rows(corpus, tmp_path / name, keep=keep_all(corpus))
        assert load(tmp_path / name) == rows
    some = np.arange(len(lines)) % 2 == 1
    write_rows(corpus, tmp_path / "some.jsonl", keep=some)
    assert load(tmp_path / "some.jsonl") == rows[1::2]


def test_bad_lines_of_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good\ncaf\xe9\n" + b"x" * 5000 + b"\nfine\n")
    corpus, texts = read(
        tmp_path / "a.txt",
        format="lines",
        on_error="skip",
        max_row_bytes=1000,
        batch_bytes=100,
    )
    assert texts == ["good", "fine"]
    assert [(reject.line, reject.reason[:20]) for reject in corpus.rejected] == [
        (2, "not UTF-8: byte 0xe9"),
        (3, "a row of more than 1"),
    ]
    assert (
        "no column 'id'; columns are: text"
        in bad_row(tmp_path / "a.txt", format="lines", id_column="id").reason
    )


def test_the_command_reads_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b c d e f\nother\nA b c d e f!\n\n")
    for options in ([], ["--memory", "1500M", "--threads", "1"]):
        run(
            "dedup",
            tmp_path,
            "--format",
            "lines",
            "--glob",
            "a.txt",
            "-o",
            tmp_path / "b.jsonl",
            "--overwrite",
            *options,
        )
        assert read_jsonl(tmp_path / "b.jsonl") == [
            {"text": "a b c d e f"},
            {"text": "other"},
            {"text": ""},
        ]
    run(
        "dedup",
        tmp_path,
        "--format",
        "lines",
        "-o",
        tmp_path / "c.csv",
        "--removed",
        tmp_path / "r.csv",
    )
    assert (tmp_path / "r.csv").read_text().splitlines()[1:] == [
        f"{tmp_path}/a.txt:3,{tmp_path}/a.txt:1,1.0"
    ]
    assert (
        len(read(tmp_path / "a.txt")[1]) == 1
    )  # without --format, a .txt file is one text


# Standard input


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    data = make(tmp_path / f"a.{kind}", ROWS).read_bytes()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spool"))
    (tmp_path / "spool").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    corpus, texts = read("-", format=kind, id_column="key", batch_bytes=100)
    assert texts == TEXTS
    assert corpus.place(0)[0] == "<stdin>"
    assert corpus.total_bytes == len(data)
    for target in ("jsonl", "csv", "parquet"):
        write_rows(corpus, tmp_path / f"b.{target}", keep=keep_all(corpus))
        assert [row["text"] for row in load(tmp_path / f"b.{target}")] == TEXTS
    assert os.listdir(tmp_path / "spool") == []


def test_standard_input_of_the_command(tmp_path: Path) -> None:
    data = b'{"text": "a b c d e f"}\n{"text": "A b c d e f!"}\n'
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "lshfast",
            "dedup",
            "-",
            "--format",
            "jsonl",
            "-o",
            tmp_path / "out.jsonl",
        ],
        input=data,
    )
    assert done.returncode == 0
    assert (tmp_path / "out.jsonl").read_bytes() == data.splitlines(keepends=True)[0]
    assert "standard input (-) needs format (--format)" in failing(
        2, "dedup", "-", "-o", tmp_path / "b.jsonl"
    )


@pytest.mark.parametrize("codec", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("texts", [["a b", "c"], []])
def test_compressed_bytes_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, texts: list[str]
) -> None:
    data = "".join(f'{{"text": "{text}"}}\n' for text in texts).encode()
    packed = pack(data, tmp_path / f"a.jsonl{codec}").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    corpus, found = read("-", format="jsonl")
    assert found == texts
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    assert (tmp_path / "out.jsonl").read_bytes() == data
    (tmp_path / "unnamed.jsonl").write_bytes(packed)
    assert read(tmp_path / "unnamed.jsonl")[1] == texts
    (tmp_path / "cut.jsonl").write_bytes(packed[: len(packed) - 5])
    if codec != ".zst" and texts:
        assert "data: " in bad_row(tmp_path / "cut.jsonl").reason


def test_text_that_begins_like_compressed_bytes_is_text(tmp_path: Path) -> None:
    for text in ("BZh9 is a name", "BZh", "(\u00b5/\u00fd"):
        path = tmp_path / "a.txt"
        path.write_text(text)
        assert read(path)[1] == [text]


# Other file systems


@pytest.fixture
def memory() -> Any:
    system = pytest.importorskip("fsspec").filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.mark.parametrize("kind", FORMATS)
def test_files_of_other_file_systems(tmp_path: Path, memory: Any, kind: str) -> None:
    data = make(tmp_path / f"a{kind}", ROWS).read_bytes()
    memory.pipe(f"/bucket/d/a{kind}", data)
    memory.pipe(f"/bucket/d/.hidden/b{kind}", data)
    url = f"memory://bucket/d/a{kind}"
    for given in (
        url,
        "memory://bucket/d",
        "memory://bucket/d/",
        "memory://bucket/**/a.*",
    ):
        corpus, texts = read(given, id_column="key", batch_bytes=300)
        assert texts == TEXTS
        write_rows(corpus, tmp_path / f"b{kind}", keep=keep_all(corpus), overwrite=True)
        assert [row["text"] for row in load(tmp_path / f"b{kind}")] == TEXTS
    assert read(url)[0].place(0)[0] == url
    assert read(f"file://{tmp_path}/a{kind}")[1] == TEXTS


def test_faults_of_other_file_systems(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/b/a.jsonl", b'{"text": "a"}\n{"text": 5}\n')
    memory.pipe("/b/x.txt", b"text")
    memory.pipe("/b/c.parquet", b"PAR1")
    assert (
        str(bad_row("memory://b/a.jsonl"))
        == "memory://b/a.jsonl:2: column 'text' is a number, not a string"
    )  # type: ignore[arg-type]
    assert "c.parquet: cannot be read as Parquet" in str(
        bad_row("memory://b/c.parquet")
    )  # type: ignore[arg-type]
    assert read("memory://b/", glob="*.txt")[1] == ["text"]
    for url, reason in (
        (
            "memory://b/none.jsonl",
            "memory://b/none.jsonl: cannot be read: No such file",
        ),
        ("memory://b/*.csv", "no file matches this pattern"),
        ("memory://b", "a.jsonl: input named twice"),
        ("nosuch://b/a.jsonl", "Protocol not known"),
    ):
        with pytest.raises(ValueError, match=reason):
            open_corpus([url, "memory://b/a.jsonl"])
    corpus, _ = read("memory://b/a.jsonl", on_error="skip")
    memory.pipe("/b/a.jsonl", b'{"text": "b"}\n{"text": 5}\n')
    with pytest.raises(DataError, match="changed while it was in use"):
        write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))


@pytest.mark.parametrize(
    ("url", "package"),
    [("s3://b/a.jsonl", "s3fs"), ("hf://datasets/a/b", "huggingface_hub")],
)
def test_a_url_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, url: str, package: str
) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, package, None)
    said = failing(2, "dedup", url, "--dry-run")
    # fsspec says the second of packages that are installed and cannot be imported.
    assert re.match(
        f"lshfast: error: {url}: (Install {package} to access |Unable to load filesystem .*{package})",
        said,
    )
    assert said.endswith("; install it beside lshfast[remote]")


def test_a_url_without_fsspec_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from lshfast._common.extras import optional

    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    optional.cache_clear()
    with pytest.raises(
        ImportError, match=r'fsspec is missing: pip install "lshfast\[remote\]"'
    ):
        open_corpus("s3://bucket/a.jsonl")
    optional.cache_clear()


# Nulls, and values that only some formats hold


@pytest.mark.parametrize("kind", [".jsonl", ".parquet"])
@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
def test_a_null_text_is_kept_and_written_back(
    tmp_path: Path, kind: str, batch_bytes: int
) -> None:
    rows = [{"text": text, "n": i} for i, text in enumerate(["a b", None, "c", None])]
    corpus, texts = read(make(tmp_path / f"a{kind}", rows), batch_bytes=batch_bytes)
    assert texts == ["a b", "", "c", ""]
    for target in (".jsonl", ".parquet"):
        write_rows(
            corpus, tmp_path / f"b{target}", keep=keep_all(corpus), overwrite=True
        )
        assert load(tmp_path / f"b{target}") == rows
    write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus), overwrite=True)
    assert (tmp_path / "b.csv").read_text() == "text,n\na b,0\n,1\nc,2\n,3\n"


def test_null_texts_are_nobodys_duplicates(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "a.jsonl",
        [{"text": "a b c d e"}, {"text": None}, {"text": None}, {"text": ""}],
    )
    result = run("dedup", path, "-o", tmp_path / "b.jsonl")
    assert "3 without shingles (empty)" in result.stderr
    assert (tmp_path / "b.jsonl").read_bytes() == path.read_bytes()


def test_a_parquet_column_of_nulls_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.nulls(2)}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet")[1] == ["", ""]


ODD = [
    b'{"text": "a", "other": "\\ud800 x", "\\udc00": [NaN]}',
    b'{"text": "b", "n": NaN}',
    b'{"text": "c", "n": -Infinity}',
]


def test_values_beside_the_text_reject_no_row(tmp_path: Path) -> None:
    path = pack(b"\n".join(ODD) + b"\n", tmp_path / "a.jsonl")
    corpus, texts = read(path)
    assert texts == ["a", "b", "c"]
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    assert (tmp_path / "b.jsonl").read_bytes() == path.read_bytes()
    write_rows(
        corpus,
        tmp_path / "c.jsonl",
        keep=keep_all(corpus),
        annotations={"x": [1, 2, 3]},
    )
    assert (tmp_path / "c.jsonl").read_bytes() == b"".join(
        line[:-1] + b',"x":%d}\n' % i for i, line in enumerate(ODD, 1)
    )
    write_rows(corpus, tmp_path / "b.parquet", keep=keep_all(corpus))
    first, second, third = load(tmp_path / "b.parquet")
    assert first["other"] == "\ufffd x"
    assert np.isnan(second["n"])
    assert third["n"] == -np.inf
    write_rows(corpus, tmp_path / "d.csv", keep=np.array([False, True, True]))
    assert (tmp_path / "d.csv").read_text() == "text,n\nb,nan\nc,-inf\n"


def test_an_id_must_be_writable(tmp_path: Path) -> None:
    path = pack(b'{"text": "a", "id": "\\ud800"}\n', tmp_path / "a.jsonl")
    assert "holds a lone surrogate" in bad_row(path, id_column="id").reason
    for value, reason in {
        b"NaN": "is missing, null or empty",
        b"true": "neither a string nor a 64-bit integer",
        b"1.5": "neither a string nor a 64-bit integer",
        b"1e30": "neither a string nor a 64-bit integer",
    }.items():
        path = pack(b'{"text": "a", "id": %s}\n' % value, tmp_path / "a.jsonl")
        assert reason in bad_row(path, id_column="id").reason


# Columns


def test_nested_columns(tmp_path: Path) -> None:
    rows = [
        {"a": {"b": {"c": "x"}, "id": 1}},
        {"a": {"b": {"c": None}, "id": 2}},
        {"a": {"b": None, "id": 3}},
    ]
    for kind in (".jsonl", ".parquet"):
        path = make(tmp_path / f"a{kind}", rows)
        corpus, texts = read(path, column="a.b.c", id_column="a.id")
        assert texts == ["x", "", ""]
        assert corpus.ids == [1, 2, 3]
        write_rows(corpus, tmp_path / f"b{kind}", keep=keep_all(corpus))
        assert load(tmp_path / f"b{kind}") == rows
        assert "no column 'text'; columns are: a.b" in bad_row(path).reason
        assert "no column 'a.x'" in bad_row(path, column="a.x").reason
        dotted = make(tmp_path / f"c{kind}", [{"a.b": "this", "a": {"b": "not this"}}])
        assert read(dotted, column="a.b")[1] == ["this"]


def test_ids_inside_a_struct_keep_their_type_without_rows(tmp_path: Path) -> None:
    kind = pa.struct([("id", pa.int64())])
    pq.write_table(
        pa.table({"text": pa.array([], pa.string()), "a": pa.array([], kind)}),
        tmp_path / "in.parquet",
    )
    removed = "--removed", tmp_path / "r.parquet"
    run(
        "dedup",
        tmp_path / "in.parquet",
        "--id-column",
        "a.id",
        "-o",
        tmp_path / "o.parquet",
        *removed,
    )
    assert pq.read_schema(tmp_path / "r.parquet").field("key").type == pa.int64()


@pytest.mark.parametrize(
    "kind",
    [
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
        pa.binary(),
        pa.large_binary(),
        pa.large_string(),
    ],
    ids=str,
)
def test_parquet_columns_that_hold_text(tmp_path: Path, kind: Any) -> None:
    values = ["Größe", None, "b", "Größe"]
    if "binary" in str(kind):
        values = [value and value.encode() for value in values]
    array = pa.array(
        values, kind if not pa.types.is_dictionary(kind) else kind.value_type
    ).cast(kind)
    pq.write_table(pa.table({"text": array}), tmp_path / "a.parquet")
    corpus, texts = read(tmp_path / "a.parquet")
    assert texts == ["Größe", "", "b", "Größe"]
    write_rows(corpus, tmp_path / "b.parquet", keep=keep_all(corpus))
    assert pq.read_table(tmp_path / "b.parquet").equals(
        pq.read_table(tmp_path / "a.parquet")
    )
    for target in ("b.jsonl", "b.csv"):
        write_rows(corpus, tmp_path / target, keep=keep_all(corpus))
        assert [row["text"] or None for row in load(tmp_path / target)] == [
            "Größe",
            None,
            "b",
            "Größe",
        ]


def test_parquet_bytes_that_are_no_text(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"text": pa.array([b"a", b"\xff", b"c"], pa.binary(1))}),
        tmp_path / "a.parquet",
    )
    assert str(bad_row(tmp_path / "a.parquet")).endswith(
        "a.parquet: row 2: not UTF-8: byte 0xff at offset 0 of the text"
    )
    assert read(tmp_path / "a.parquet", on_error="skip")[1] == ["a", "c"]


def test_decimals_become_numbers_with_all_digits(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a"],
            "d": [Decimal("12345678901234567890.10")],
            "s": [{"d": Decimal("1.50")}],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    corpus, _ = read(tmp_path / "a.parquet")
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    assert (
        tmp_path / "b.jsonl"
    ).read_text() == '{"text":"a","d":12345678901234567890.10,"s":{"d":1.50}}\n'


def test_a_value_that_json_cannot_hold_names_its_column(tmp_path: Path) -> None:
    table = pa.table(
        {"text": ["a"], "l": [[b"\xff"]], "t": pa.array([5], pa.duration("us"))}
    )
    for name in ("l", "t"):
        pq.write_table(table.select(["text", name]), tmp_path / "a.parquet")
        corpus, _ = read(tmp_path / "a.parquet")
        with pytest.raises(
            DataError, match=rf"a\.parquet: row 1: column '{name}' holds"
        ):
            write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))


# Damaged and hostile files


@pytest.mark.parametrize(
    "name",
    ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv", "a.csv.bz2", "a.txt", "a.txt.xz"],
)
def test_a_row_has_a_largest_size(tmp_path: Path, name: str) -> None:
    if "jsonl" in name:
        data, line = b'{"text": "a"}\n{"text": "' + b"x" * 3000 + b'"}\n', 2
    else:
        data, line = (
            b'text\na\n"' + b"x\n" * 1500 + b'"\n',
            3 if "csv" in name else None,
        )
    most = (
        500 if "csv" in name else 2000
    )  # of lines in quotes the blocks are counted that they fill
    path = pack(data, tmp_path / name)
    reason = f"a row of more than {most:,} bytes; max_row_bytes (--max-row-bytes) raises this limit"
    error = bad_row(path, max_row_bytes=most)
    assert error.line == line
    assert reason in error.reason
    corpus, texts = read(path, max_row_bytes=most, on_error="skip")
    assert texts == ([] if "txt" in name else ["a"])
    (fault,) = corpus.rejected
    assert (fault.path, fault.line) == (str(path), line)
    assert fault.reason == reason + (" (lines 3 to 1503)" if "csv" in name else "")
    assert len(read(path, max_row_bytes=4000)[1]) == (1 if "txt" in name else 2)
    assert f"{name}:" in failing(1, "dedup", path, "--max-row-bytes", most, "--dry-run")


@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
def test_rows_around_one_that_is_too_long_stay(
    tmp_path: Path, batch_bytes: int
) -> None:
    options: dict[str, Any] = {
        "max_row_bytes": 200,
        "on_error": "skip",
        "batch_bytes": batch_bytes,
        "id_column": "id",
    }
    lines = [
        f'{{"id": {i}, "text": "{"x" * (5000 if i in (1, 2, 5, 9) else i)}"}}\r\n'
        for i in range(10)
    ]
    corpus, _ = read(
        pack("".join(lines)[:-2].encode(), tmp_path / "a.jsonl"), **options
    )
    assert corpus.ids == [0, 3, 4, 6, 7, 8]
    assert [fault.line for fault in corpus.rejected] == [2, 3, 6, 10]
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    assert [row["id"] for row in load(tmp_path / "b.jsonl")] == corpus.ids
    run(
        "dedup",
        tmp_path / "a.jsonl",
        "-o",
        tmp_path / "c.jsonl",
        "--max-row-bytes",
        200,
        "--on-error",
        "skip",
    )
    assert len(read_jsonl(tmp_path / "c.jsonl.rejects.jsonl")) == 4


@pytest.mark.slow
def test_a_bomb_is_refused_by_name(tmp_path: Path) -> None:
    path = pack(
        b'{"text": "a"}\n{"text": "' + b"\0" * (300 << 20), tmp_path / "a.jsonl.gz"
    )
    assert path.stat().st_size < 1 << 20
    assert str(bad_row(path)).startswith(
        f"{path}:2: a row of more than 268,435,456 bytes"
    )


LITTLE_MEMORY = """
import resource, sys
from lshfast._io import open_corpus
corpus = open_corpus(sys.argv[1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), used + (200 << 20)))
try:
    list(corpus.batches())
except MemoryError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_too_little_memory_names_the_file(tmp_path: Path) -> None:
    path = pack(b'{"text": "' + b"x" * (250 << 20), tmp_path / "a.jsonl.gz")
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(path) in done.stdout


@pytest.mark.few_cases
@pytest.mark.parametrize(
    "value",
    [
        "[" * 900 + "]" * 900,
        '{"a":' * 900 + "1" + "}" * 900,
        "[" * 900 + "1e30" + "]" * 900,
    ],
)
@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_deep_json_names_its_line(tmp_path: Path, value: str, kind: str) -> None:
    path = pack(
        f'{{"text": "a"}}\n{{"text": "b", "n": {value}}}\n'.encode(),
        tmp_path / "a.jsonl",
    )
    corpus, _ = read(path)
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    assert (tmp_path / "b.jsonl").read_bytes() == path.read_bytes()
    with pytest.raises(
        DataError, match=r"a\.jsonl:2: (JSON is nested too deep|column 'n')"
    ):
        write_rows(corpus, tmp_path / f"b{kind}", keep=keep_all(corpus))
    assert not (tmp_path / f"b{kind}").exists()


def test_options_of_inputs_reach_every_command(tmp_path: Path) -> None:
    path = pack(
        "id|text\n".replace("|", "\t").encode("utf-16")
        + "1\ta b c\n2\tA, b, c\n".encode("utf-16-le"),
        tmp_path / "a",
    )
    options = [
        path,
        "--format",
        "tsv",
        "--encoding",
        "utf-16",
        "--id-column",
        "id",
        "-q",
    ]
    assert run("dedup", *options, "-o", tmp_path / "out.jsonl").exit_code == 0
    assert read_jsonl(tmp_path / "out.jsonl") == [{"id": "1", "text": "a b c"}]
    assert run("pairs", *options, "-o", tmp_path / "pairs.tsv").exit_code == 0
    assert (
        tmp_path / "pairs.tsv"
    ).read_text() == "key_i\tkey_j\tsimilarity\n1\t2\t1.0\n"
    assert run("index", "build", *options, "-o", tmp_path / "a.lsh").exit_code == 0
    assert "1\t1\t1" in run("index", "query", tmp_path / "a.lsh", *options).stdout
    assert run("tune", *options[:5]).exit_code == 0
    assert "unknown encoding 'x'" in failing(
        2, "dedup", path, "--encoding", "x", "-o", tmp_path / "b.jsonl"
    )


def test_a_column_of_objects_names_the_strings_inside(tmp_path: Path) -> None:
    doc = {"title": "a", "body": {"en": "b", "n": 1}, "tags": ["c"]}
    error = bad_row(
        write_jsonl(tmp_path / "a.jsonl", [{"id": 1, "doc": doc}]), column="doc"
    )
    assert (
        error.reason
        == "column 'doc' is an object, not a string; strings inside it are: doc.title, "
        "doc.body.en, doc.tags[]"
    )
    error = bad_row(
        write_jsonl(tmp_path / "a.jsonl", [{"id": 1, "doc": {}}]), column="doc"
    )
    assert error.reason == "column 'doc' is an object, not a string"


@pytest.mark.parametrize("target", ["out.jsonl", "out.csv"])
def test_values_of_parquet_that_no_text_output_can_hold_are_bad_rows(
    tmp_path: Path, target: str
) -> None:
    def strings(*values: bytes | None) -> Any:
        return pa.array(values, pa.binary()).view(pa.string())

    columns = {
        "text": strings(b"a", b"b", b"c", b"d", b"e"),
        "note": strings(b"n", b"bad \xff", None, b"m", b"o"),
        "tag": pa.array(["s", None, "t", "s", "t"]).dictionary_encode(),
    }
    reasons = {
        2: "column 'note' is string: not UTF-8: byte 0xff at offset 4 of the value"
    }
    if target == "out.jsonl":
        deep = [[{"b": b"x"}], [], [{"b": b"y"}], [{"b": b"z"}, {"b": b"\xff"}], None]
        deep_type = pa.list_(pa.field("element", pa.struct([("b", pa.binary())])))
        columns["deep"] = pa.array(deep, deep_type)
        reasons[4] = f"column 'deep' is {deep_type}: a value inside it is not UTF-8"
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
    assert "not UTF-8" in failing(
        1, "dedup", tmp_path / "a.parquet", "-o", tmp_path / target
    )
    run("dedup", tmp_path / "a.parquet", "-o", tmp_path / target, "--on-error", "skip")
    assert [row["text"] for row in load(tmp_path / target)] == [
        "abcde"[i] for i in range(5) if i + 1 not in reasons
    ]
    rejected = read_jsonl(tmp_path / f"{target}.rejects.jsonl")
    assert {row["line"]: row["reason"] for row in rejected} == reasons
    run(
        "dedup",
        tmp_path / "a.parquet",
        "-o",
        tmp_path / "out.parquet",
        "--on-error",
        "skip",
    )
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 5


@contextmanager
def web_server(status):
    """Run a server that answers each request with a status, and yield its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, "cannot be read: No such file or directory"),
        (403, "cannot be read: the server answers 403 Forbidden"),
        (503, "cannot be read: the server answers 503 Service Unavailable"),
    ],
)
def test_what_a_web_server_answers(status, reason):
    pytest.importorskip("aiohttp")
    with web_server(status) as url, pytest.raises(DataError, match=reason):
        lshfast.dedup_files(f"{url}/a.jsonl")


def test_a_web_server_that_does_not_answer(tmp_path):
    pytest.importorskip("aiohttp")
    with web_server(200) as url:
        pass  # nothing listens there any more
    write = tmp_path / "a.jsonl"
    write.write_text('{"text": "a"}\n')
    for options in ({"against": f"{url}/a.jsonl"}, {}):
        inputs = write if options else f"{url}/a.jsonl"
        with pytest.raises(DataError, match="the server does not answer: "):
            lshfast.dedup_files(inputs, **options)
