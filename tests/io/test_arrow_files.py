"""Arrow files and streams, and the folders in which `datasets` saves a data set."""

from __future__ import annotations

import io
import json
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lshfast
from lshfast._io import DataError, open_corpus, write_rows
from tests.cli.commands import failing, run
from tests.corpora import BATCH_BYTES, ROWS, TEXTS, bad_row, keep_all, load, pa, read

TABLE = pa.Table.from_pylist(ROWS)
FEATHER = pa.ipc.IpcWriteOptions(compression="lz4")


def save(path: Path, table: Any = TABLE, kind: str = "stream", rows: int = 3) -> Path:
    """Write a table as a file, a stream or a compressed file of Arrow, some rows in a batch."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options = FEATHER if kind == "feather" else None
    new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with (
        pa.OSFile(str(path), "wb") as sink,
        new(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table, max_chunksize=rows)
    return path


@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
@pytest.mark.parametrize("kind", ["stream", "file", "feather"])
def test_files_and_streams(tmp_path: Path, kind: str, batch_bytes: int) -> None:
    path = save(tmp_path / ("a.feather" if kind == "feather" else "a.arrow"), kind=kind)
    corpus, texts = read(
        path, batch_bytes=batch_bytes, id_column="key", order_column="year"
    )
    assert texts == TEXTS
    assert corpus.ids == [row["key"] for row in ROWS]
    for name in ("out.parquet", "out.jsonl"):
        write_rows(corpus, tmp_path / name, keep=keep_all(corpus))
        assert load(tmp_path / name) == ROWS
    assert sum(batch.source_bytes for batch in corpus.batches()) == corpus.total_bytes


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in ("stream", "file"):
        data = io.BytesIO(save(tmp_path / "a", kind=kind).read_bytes())
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
        assert read("-", format="arrow")[1] == TEXTS


def test_columns_of_every_kind(tmp_path: Path) -> None:
    texts = ["a b", None, "c" * 20, "a b"]
    kinds = [
        pa.large_string(),
        pa.binary(),
        pa.string_view(),
        pa.binary_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ]
    columns = {str(kind): pa.array(texts).cast(kind) for kind in kinds}
    columns["in"] = pa.StructArray.from_arrays([pa.array(texts)], names=["side"])
    path = save(tmp_path / "a.arrow", pa.table(columns | {"id": [1, 2, 3, 4]}))
    for name in [*map(str, kinds), "in.side"]:
        corpus, found = read(path, column=name, id_column="id", batch_bytes=1)
        assert found == [text or "" for text in texts]
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    same = dict.fromkeys(map(str, kinds))
    rows = [same | dict.fromkeys(same, text) | {"in": {"side": text}} for text in texts]
    assert load(tmp_path / "out.jsonl") == [
        row | {"id": place} for place, row in enumerate(rows, 1)
    ]
    assert "column 'id' is int64, not strings" in bad_row(path, column="id").reason


def test_batches_are_divided_by_the_bytes_of_their_values(tmp_path: Path) -> None:
    long = "x" * 100_000
    texts = pa.array(["a", long, "b"] * 100)
    table = pa.table(
        {
            "text": texts,
            "same": texts.dictionary_encode(),
            "view": texts.cast(pa.string_view()),
        }
    )
    path = save(tmp_path / "a.arrow", table, rows=300)
    for column in table.column_names:
        batches = list(
            open_corpus(path, column=column, batch_bytes=1_000_000).batches()
        )
        assert [
            text for batch in batches for text in batch.strings()
        ] == texts.to_pylist()
        assert max(batch.texts.nbytes for batch in batches) < 1_300_000


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "string_view", "dictionary", "struct"]
)
def test_bytes_that_are_not_utf8_are_bad_rows(tmp_path: Path, kind: str) -> None:
    strings = pa.array([b"good", b"caf\xe9", b"fine"]).view(pa.string())
    if kind == "dictionary":
        strings = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), strings)
    elif kind == "struct":
        strings = pa.StructArray.from_arrays([strings], names=["a"])
    else:
        size = kind.replace("string", "binary")
        strings = strings.view(pa.binary()).cast(size).view(pa.type_for_alias(kind))
    column = "text.a" if kind == "struct" else "text"
    path = save(tmp_path / "a.arrow", pa.table({"text": strings}))
    assert (
        str(bad_row(path, column=column))
        == f"{path}: row 2: not UTF-8: byte 0xe9 at offset 3 of the text"
    )
    corpus, texts = read(path, on_error="skip", column=column)
    assert texts == ["good", "fine"]
    assert [reject.line for reject in corpus.rejected] == [2]


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["stream", "file", "feather"])
def test_damaged_files_are_errors_that_name_them(tmp_path: Path, kind: str) -> None:
    data = save(tmp_path / "a.arrow", kind=kind).read_bytes()
    path = tmp_path / "b.arrow"
    for size in [0, 3, 8, *range(16, len(data), 211), len(data) - 8, len(data) - 1]:
        path.write_bytes(data[:size])
        assert str(bad_row(path)).startswith(f"{path}: cannot be read as Arrow")
    for place in range(0, len(data), 71):
        path.write_bytes(data[:place] + b"\xff\xff\xff\x7f" + data[place + 4 :])
        with suppress(DataError):
            read(path)


@pytest.mark.parametrize("kind", ["stream", "file"])
@pytest.mark.parametrize("rows", [[0], [0, 2], [1, 0, 1], [2, 0]])
def test_batches_without_rows(tmp_path: Path, kind: str, rows: list[int]) -> None:
    new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with (
        pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink,
        new(sink, TABLE.schema) as writer,
    ):
        for count in rows:
            writer.write_batch(TABLE.to_batches()[0].slice(0, count))
    corpus, texts = read(tmp_path / "a.arrow")
    assert len(texts) == sum(rows)
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    assert len(load(tmp_path / "out.jsonl")) == sum(rows)


@pytest.mark.parametrize("output", ["out.jsonl", "out.parquet"])
def test_tables_of_polars(tmp_path: Path, output: str) -> None:
    pl = pytest.importorskip("polars")
    texts = [
        "some words that are longer than a view",
        "b",
        "some words that are longer than a view",
        None,
    ]
    frame = pl.DataFrame(
        {"text": pl.Series(texts, dtype=pl.Categorical), "n": [1, 2, 3, 4]}
    ).with_columns(
        strings=pl.Series([["x"], None, ["y", "z"], []], dtype=pl.List(pl.String)),
        inner=pl.Series([["x"], None, ["y", "z"], []], dtype=pl.List(pl.Categorical)),
        pair=pl.Series(
            [["x", "y"], None, ["y", "z"], ["z", None]], dtype=pl.Array(pl.String, 2)
        ),
        struct=pl.struct(a=pl.col("text"), b=pl.col("text").cast(pl.String)),
        kind=pl.Series(["u", "v", None, "u"], dtype=pl.Enum(["u", "v"])),
    )
    frame.write_ipc(tmp_path / "a.arrow")
    assert read(tmp_path / "a.arrow", column="struct.b", batch_bytes=1)[1] == [
        text or "" for text in texts
    ]
    lshfast.dedup_files(tmp_path / "a.arrow", tmp_path / output, column="text", size=2)
    assert load(tmp_path / output) == [row for row in frame.to_dicts() if row["n"] != 3]


def test_columns_that_pyarrow_cannot_select_from(tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3], pa.int32()), pa.array(["x", "y"])
    )
    views = pa.array(["a b", "c", "a b"], pa.string_view())
    path = save(tmp_path / "a.arrow", pa.table({"text": views, "runs": runs}))
    assert read(path)[1] == ["a b", "c", "a b"]
    with pytest.raises(
        DataError, match=r"a\.arrow: cannot be read as Arrow: .*run_end_encoded"
    ):
        lshfast.dedup_files(path, tmp_path / "out.jsonl", size=2)


def test_lengths_are_checked(tmp_path: Path) -> None:
    offsets, data = (
        pa.array([0, 1 << 30, 3], pa.int32()).buffers()[1],
        pa.py_buffer(b"abc"),
    )
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    path = save(tmp_path / "a.arrow", pa.table({"text": broken}))
    assert "cannot be read as Arrow" in bad_row(path, on_error="skip").reason
    path.write_bytes(save(path).read_bytes()[:-8])
    assert bad_row(path).reason.endswith(
        "mark at the end of the stream is missing; its writer adds it when closed"
    )
    path.write_bytes(save(path).read_bytes() * 2)
    assert "data behind the end of the stream" in bad_row(path).reason
    path.write_bytes(b"FEA1" + bytes(20))
    assert "Feather of version 1" in bad_row(path).reason


def test_row_counts_are_checked(tmp_path: Path) -> None:
    rows = 1 << 30
    path = save(tmp_path / "a.arrow", pa.table({"text": pa.nulls(rows)}), rows=rows)
    assert (
        bad_row(path).reason
        == "cannot be read as Arrow: a batch has 1,073,741,824 rows in 0 bytes"
    )
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.nulls(rows))
    assert read(save(path, pa.table({"text": column})))[1] == ["", ""]
    assert (
        read(save(path, pa.table({"text": pa.nulls(70_000)}), rows=70_000))[1]
        == [""] * 70_000
    )


# Saved data sets


def dataset(folder: Path, *parts: list[str], **state: Any) -> None:
    """Write what `Dataset.save_to_disk` writes."""
    names = [
        f"data-{number:05}-of-{len(parts):05}.arrow" for number in range(len(parts))
    ]
    for name, texts in zip(names, parts, strict=True):
        save(folder / name, pa.table({"text": texts}))
    (folder / "dataset_info.json").write_text(
        '{"features": {"text": {"dtype": "string", "_type": "Value"}}}'
    )
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": name} for name in names]} | state)
    )


def test_a_saved_dataset(tmp_path: Path) -> None:
    dataset(
        tmp_path / "d", ["one two three four five"], ["One two three four five!", "six"]
    )
    save(
        tmp_path / "d" / "cache-0123456789abcdef.arrow", pa.table({"text": ["a cache"]})
    )
    result = lshfast.dedup_files(tmp_path / "d", tmp_path / "kept.parquet")
    assert result.summary.removed == 1
    assert load(tmp_path / "kept.parquet") == [
        {"text": "one two three four five"},
        {"text": "six"},
    ]
    dataset(tmp_path / "dd" / "train", ["a"], ["b"])
    dataset(tmp_path / "dd" / "test", ["c"])
    (tmp_path / "dd" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert read(tmp_path / "dd")[1] == ["c", "a", "b"]
    assert read(tmp_path / "dd" / "train")[1] == ["a", "b"]
    (tmp_path / "dd" / "train" / "state.json").write_text("[]")
    assert read(tmp_path / "dd" / "train")[1] == ["a", "b"]


def test_a_saved_dataset_that_is_incomplete(tmp_path: Path) -> None:
    dataset(tmp_path / "d", ["a"], ["b"])
    (tmp_path / "d" / "data-00001-of-00002.arrow").unlink()
    assert failing(1, "dedup", tmp_path / "d", "--dry-run") == (
        f"lshfast: error: {tmp_path}/d/state.json: names 'data-00001-of-00002.arrow', which is not in this folder"
    )
    dataset(tmp_path / "e", ["a"], _indices_data_files=[{"filename": "indices.arrow"}])
    with pytest.raises(
        DataError, match=r"e/state\.json: the dataset is a selection of rows"
    ):
        open_corpus(tmp_path / "e")


def test_every_command_reads_arrow(tmp_path: Path) -> None:
    names = [f"person{n % 20} name{n % 20}" for n in range(40)]
    path = save(tmp_path / "a.arrow", pa.table({"id": range(40), "text": names}))
    for arguments in (
        [
            "dedup",
            path,
            "-o",
            tmp_path / "a.csv",
            "--memory",
            "1500M",
            "--threads",
            "1",
        ],
        ["pairs", path, "-o", tmp_path / "b.csv"],
        [
            "records",
            "dedup",
            path,
            "-o",
            tmp_path / "c.csv",
            "--field",
            "text",
            "--id-column",
            "id",
        ],
        ["index", "build", path, "-o", tmp_path / "d.lsh", "--id-column", "id"],
        ["tune", path],
    ):
        assert run(*arguments).exit_code == 0
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 21
    assert "unknown kind of output" in failing(
        2, "dedup", path, "-o", tmp_path / "b.arrow"
    )
