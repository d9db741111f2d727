"""Writers, on real files: rows survive every change of format, and a file is whole or not there."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lshfast._common.atomic_files import all_or_none, atomic_file
from lshfast._io import (
    DataError,
    Output,
    check_output,
    check_rows,
    open_corpus,
    write_rejects,
    write_rows,
    write_table,
)
from lshfast._io.jsonl_again import COPIED_BYTES, GAP_BYTES
from lshfast._io.output import BEHIND_BYTES, BLOCK_BYTES, write_behind
from tests.corpora import (
    BATCH_BYTES,
    FORMATS,
    ROWS,
    keep_all,
    load,
    make,
    pa,
    pack,
    pq,
    read,
    unpack,
)
from tests.interrupts import interrupted, places

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
            assert unpack(tmp_path / "b.jsonl") == b"".join(
                lines[i] + b"\n" for i in range(4) if keep[i]
            )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_runs_of_lines_are_copied_in_order_whatever_their_length(
    tmp_path: Path, threads: int, suffix: str, end: bytes
) -> None:
    rng = np.random.default_rng(1)
    # Gaps are shorter and longer than GAP_BYTES, and pieces begin inside long runs.
    lengths = rng.choice([0, 10, 1000, GAP_BYTES, 3 * GAP_BYTES], 300)
    lengths[100] = 2 * COPIED_BYTES
    lines = [
        b'{"text":"%b"}' % (b"%c" % (97 + i % 26) * n) for i, n in enumerate(lengths)
    ]
    corpus, _ = read(pack(end.join(lines), tmp_path / "a.jsonl"))
    out = tmp_path / f"out.jsonl{suffix}"
    for keep in (
        rng.random(len(lines)) < 0.5,
        rng.random(len(lines)) < 0.97,
        np.arange(len(lines)) == len(lines) - 1,
        np.zeros(len(lines), np.bool_),
        np.ones(len(lines), np.bool_),
    ):
        write_rows(corpus, out, keep=keep, threads=threads, overwrite=True)
        kept = [
            line + b"\n" for line, is_kept in zip(lines, keep, strict=True) if is_kept
        ]
        assert unpack(out) == b"".join(kept)


class FailingStream:
    """A stream that takes some bytes, then fails."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = bytearray()

    def write(self, data: bytes) -> int:
        if len(self.taken) + len(data) > self.room:
            raise OSError(errno.ENOSPC, "no space")
        self.taken += data
        return len(data)


@pytest.mark.parametrize("room", [0, BLOCK_BYTES, 3 * BEHIND_BYTES])
def test_an_error_behind_is_raised_and_what_was_written_is_the_beginning(
    room: int,
) -> None:
    stream = FailingStream(room)
    pieces = [bytes([i]) * (BLOCK_BYTES // 3 + i) for i in range(100)]

    def write_all() -> None:
        with write_behind(stream) as sink:
            for piece in pieces:
                sink.write(piece)

    with pytest.raises(OSError, match="no space"):
        write_all()
    assert b"".join(pieces).startswith(stream.taken)


def test_what_is_written_behind_is_copied_at_once() -> None:
    stream = FailingStream(1 << 30)
    buffer = bytearray(BLOCK_BYTES)
    with write_behind(stream) as sink:
        for i in range(20):
            buffer[:] = bytes([i]) * len(buffer)
            sink.write(memoryview(buffer))
            buffer[:] = bytes(len(buffer))
    assert stream.taken == b"".join(bytes([i]) * BLOCK_BYTES for i in range(20))


@given(
    data=st.data(),
    end=st.sampled_from([b"\n", b"\r\n"]),
    last=st.booleans(),
    mark=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_lines_of_jsonl_are_copied_in_order(
    tmp_path: Path, data: Any, end: bytes, last: bool, mark: bool
) -> None:
    lines = data.draw(
        st.lists(
            st.sampled_from([b'{"text": "a"}', b' {"text": "bcd"}', b"", b"  "]),
            max_size=12,
        )
    )
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" * mark + end.join(lines) + end * (last and len(lines) > 0)
    )
    corpus, _ = read(
        str(path), batch_bytes=data.draw(st.sampled_from([16, 40, 1 << 20]))
    )
    rows = [line for line in lines if line.strip()]
    keep = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))),
        np.bool_,
    )
    write_rows(corpus, out, keep=keep, overwrite=True)
    assert out.read_bytes() == b"".join(
        row + b"\n" for row, kept in zip(rows, keep, strict=True) if kept
    )


@pytest.mark.few_cases
@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_rows_survive_every_change_of_format(
    tmp_path: Path, source: str, target: str
) -> None:
    corpus, _ = read(make(tmp_path / f"a{source}", ROWS), batch_bytes=300)
    keep = np.arange(len(ROWS)) % 3 != 1
    passed: list[int] = []
    scores = np.arange(len(ROWS)) / 4
    out = tmp_path / f"b{target}"
    write_rows(
        corpus, out, keep=keep, annotations={"score": scores}, progress=passed.append
    )
    as_text = "csv" in source + target
    year: Any = str if as_text else int
    kept = [
        {**row, "year": year(row["year"])}
        for row, k in zip(ROWS, keep, strict=True)
        if k
    ]
    found = load(out)
    assert [
        {name: row[name] for name in ("key", "text", "year")} for row in found
    ] == kept
    assert [float(row["score"]) for row in found] == scores[keep].tolist()
    assert sum(passed) == corpus.total_bytes
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        {f"a{source}", f"b{target}"}
    )


def test_kept_rows_keep_their_order_over_several_inputs(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("t")
    paths = [
        make(tmp_path / f"{i}{kind}", ROWS)
        for i, kind in enumerate([".jsonl", ".jsonl.zst", ".jsonl.gz"])
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
        assert [row["text"] for row in load(out)] == texts[7:]
        assert load(out)[-3]["path"] == f"{tmp_path}/d/x.txt"


def test_parquet_keeps_its_schema_and_metadata(tmp_path: Path) -> None:
    fields = [
        pa.field("text", pa.large_string(), nullable=False, metadata={"note": "n"}),
        pa.field("vector", pa.list_(pa.float32(), 2)),
        pa.field("at", pa.timestamp("ms", "UTC")),
        pa.field("tag", pa.dictionary(pa.int32(), pa.string())),
        pa.field("small", pa.int8()),
    ]
    columns = [
        ["a", "b", "c"],
        [[1, 2], [5, 6], [3, 4]],
        [1, None, 3],
        ["x", "y", "x"],
        [1, None, -1],
    ]
    schema = pa.schema(fields, metadata={"made": "by hand"})
    table = pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, fields, strict=True)],
        schema=schema,
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    corpus, _ = read(tmp_path / "a.parquet")
    write_rows(corpus, tmp_path / "b.parquet", keep=np.array([True, False, True]))
    found = pq.read_table(tmp_path / "b.parquet")
    assert found.schema.equals(
        pq.read_table(tmp_path / "a.parquet").schema, check_metadata=True
    )
    assert found.to_pylist() == [table.to_pylist()[i] for i in (0, 2)]
    write_rows(
        corpus,
        tmp_path / "n.parquet",
        keep=np.zeros(3, bool),
        annotations={"why": [None, "x", None]},
    )
    assert pq.read_schema(tmp_path / "n.parquet").names == [*table.schema.names, "why"]


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="pyarrow has no views")
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("string_view", ["a", None, "c"]),
        ("binary_view", [b"a", None, b"c"]),
        ("list", [["a", None], None, []]),
        ("struct", [{"a": "x"}, None, {"a": None}]),
        ("map", [[("k", "v")], None, []]),
        ("large_list", [["a"], ["b"], ["c"]]),
        ("fixed_list", [["a"], ["b"], ["c"]]),
    ],
)
def test_views_of_parquet_are_read(
    tmp_path: Path, kind: str, values: list[Any]
) -> None:
    view = pa.string_view()
    types = {
        "string_view": view,
        "binary_view": pa.binary_view(),
        "list": pa.list_(view),
        "struct": pa.struct([("a", view)]),
        "map": pa.map_(pa.string(), view),
        "large_list": pa.large_list(view),
        "fixed_list": pa.list_(view, 1),
    }
    table = pa.table(
        {
            "text": pa.array(["x", None, "z"], view),
            "more": pa.array(values, types[kind]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    corpus, texts = read(tmp_path / "a.parquet")
    assert texts == ["x", "", "z"]
    write_rows(corpus, tmp_path / "b.parquet", keep=np.array([True, False, True]))
    assert load(tmp_path / "b.parquet") == [
        {"text": "x", "more": values[0]},
        {"text": "z", "more": values[2]},
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.list_(pa.timestamp("us")), [1 << 62]),
        (pa.struct([("at", pa.date32())]), {"at": (1 << 31) - 1}),
        (pa.map_(pa.string(), pa.timestamp("us")), [("at", 1 << 62)]),
        (pa.map_(pa.string(), pa.binary()), [("a", b"\xff")]),
    ],
)
def test_rows_of_parquet_that_jsonl_cannot_hold_are_bad(
    tmp_path: Path, kind: Any, value: Any
) -> None:
    column = pa.array([None, value, None], kind)
    pq.write_table(
        pa.table({"text": ["a", "b", "c"], "v": column}), tmp_path / "a.parquet"
    )
    corpus, texts = read(tmp_path / "a.parquet", on_error="skip", output="jsonl")
    assert texts == ["a", "c"]
    assert [reject.line for reject in corpus.rejected] == [2]
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    corpus, _ = read(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: row 2: column 'v' "):
        write_rows(corpus, tmp_path / "more.jsonl", keep=keep_all(corpus))


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
    with pytest.raises(
        DataError,
        match=r"3\.parquet: column 'n' is string, but int32 in the rows before",
    ):
        write_rows(corpus, tmp_path / "none.parquet", keep=keep_all(corpus))


def test_csv_inputs_must_have_one_header(tmp_path: Path) -> None:
    one, two = (
        pack(b"text,n\na,1\n", tmp_path / "1.csv"),
        pack(b"n,text\n1,a\n", tmp_path / "2.csv"),
    )
    corpus, _ = read([one, two])
    with pytest.raises(
        DataError,
        match=r"2\.csv:1: the header is not that of the inputs before: text, n",
    ):
        write_rows(corpus, tmp_path / "out.csv", keep=keep_all(corpus))
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    assert load(tmp_path / "out.jsonl") == [
        {"text": "a", "n": "1"},
        {"n": "1", "text": "a"},
    ]


@pytest.mark.parametrize("batch_bytes", [1, 8 << 20])
@pytest.mark.parametrize("numbers", [[7, 2**63, 1], [2**64 - 1, None, 0], [7, 1, 2]])
def test_unsigned_integers_of_json_in_parquet(
    tmp_path: Path, numbers: list[int | None], batch_bytes: int
) -> None:
    rows = [{"text": f"text {number}", "n": number} for number in numbers]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path = pack(lines.encode(), tmp_path / "a.jsonl")
    corpus, _ = read(path, batch_bytes=batch_bytes, output="parquet")
    write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column("n").to_pylist() == numbers
    is_unsigned = any(number is not None and number >= 2**63 for number in numbers)
    assert table.schema.field("n").type == (pa.uint64() if is_unsigned else pa.int64())


@pytest.mark.parametrize("numbers", [[-1, 2**63], [2**63, -1], [2**63, 0.5]])
def test_integers_that_no_column_of_parquet_holds(
    tmp_path: Path, numbers: list[float]
) -> None:
    rows = [{"text": f"text {number}", "n": number} for number in numbers]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path = pack(lines.encode(), tmp_path / "a.jsonl")
    with pytest.raises(DataError, match=r"a\.jsonl:2: column 'n' holds"):
        read(path, output="parquet")


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ('"n": 1', '"n": "s"', "a.jsonl:2: column 'n'"),
        ('"n": "s"', '"n": 1', "a.jsonl:2: column 'n'"),
        ('"n": {"x": 1}', '"n": {"x": "s"}', "a.jsonl:2: column 'n'"),
        ('"n": 9007199254740993', '"n": 0.5', "a.jsonl:[12]: column 'n'"),
        (
            '"n": -1',
            '"n": 9223372036854775808',
            "a.jsonl:2: column 'n': an integer is beyond 64 bits",
        ),
    ],
)
@pytest.mark.parametrize("batch_bytes", [1, 8 << 20])
def test_json_values_must_fit_one_column(
    tmp_path: Path, first: str, second: str, reason: str, batch_bytes: int
) -> None:
    path = pack(
        f'{{"text": "a", {first}}}\n{{"text": "b", {second}}}\n'.encode(),
        tmp_path / "a.jsonl",
    )
    corpus, _ = read(path, batch_bytes=batch_bytes)
    with pytest.raises(DataError, match=reason) as caught:
        write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("target", [".csv", ".parquet"])
def test_values_that_are_nested_too_deep_name_their_place(
    tmp_path: Path, target: str
) -> None:
    data = b'{"text":"a"}\n{"text":"b","n":' + b"[" * 900 + b"]" * 900 + b"}\n"
    corpus, _ = read(pack(data, tmp_path / "a.jsonl"))
    with pytest.raises(
        DataError,
        match=r"a\.jsonl:2: column 'n'(: nested deeper than the 96 levels| holds an array)",
    ):
        write_rows(corpus, tmp_path / f"out{target}", keep=keep_all(corpus))
    write_rows(corpus, tmp_path / "out.jsonl", keep=keep_all(corpus))
    assert (tmp_path / "out.jsonl").read_bytes() == data


def test_objects_without_members_are_written(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "n": {}},
        {"text": "b", "n": {"x": [{}]}},
        {"text": "c", "m": {}},
    ]
    corpus, _ = read(make(tmp_path / "a.jsonl", rows))
    write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    assert [row["n"] for row in load(tmp_path / "out.parquet")] == [
        {"x": None},
        {"x": [{"": None}]},
        None,
    ]
    assert [row["m"] for row in load(tmp_path / "out.parquet")] == [
        None,
        None,
        {"": None},
    ]


def test_json_columns_are_joined(tmp_path: Path) -> None:
    data = b'{"text":"a","n":null}\n{"text":"b","o":[1]}\n{"n":0.5,"text":"c"}\n{"text":"d","n":2}\n'
    corpus, _ = read(pack(data, tmp_path / "a.jsonl"), batch_bytes=1)
    write_rows(corpus, tmp_path / "out.parquet", keep=keep_all(corpus))
    found = [(row["n"], row["o"]) for row in load(tmp_path / "out.parquet")]
    assert found == [(None, None), (None, [1]), (0.5, None), (2.0, None)]
    with pytest.raises(
        DataError,
        match=r"a\.jsonl:2: column 'o' holds an array: CSV output cannot hold it",
    ):
        write_rows(corpus, tmp_path / "out.csv", keep=keep_all(corpus))
    notes = {"b": [True, None, False, None]}
    write_rows(
        corpus,
        tmp_path / "out.csv",
        keep=np.array([1, 0, 1, 1], bool),
        annotations=notes,
    )
    assert (
        tmp_path / "out.csv"
    ).read_text() == "text,n,b\na,,true\nc,0.5,false\nd,2,\n"


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
    assert load(tmp_path / "b.jsonl") == [
        {"text": "t", "at": time, "x": None, "ok": True, "l": [1]}
    ]
    with pytest.raises(
        DataError, match=r"a\.parquet: column 'l' is list.*: CSV output cannot hold it"
    ):
        write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus))
    pq.write_table(pa.table({"text": ["t"], "b": [b"\xff"]}), tmp_path / "c.parquet")
    corpus, _ = read(tmp_path / "c.parquet")
    with pytest.raises(
        DataError, match=r"c\.parquet: row 1: column 'b' is binary: not UTF-8"
    ):
        write_rows(corpus, tmp_path / "d.jsonl", keep=keep_all(corpus))


@pytest.mark.parametrize("source", FORMATS)
def test_annotations_never_hide_a_column(tmp_path: Path, source: str) -> None:
    corpus, _ = read(make(tmp_path / f"a{source}", ROWS))
    for target in FORMATS:
        with pytest.raises(DataError, match="there is a column 'year' already"):
            write_rows(
                corpus,
                tmp_path / f"b{target}",
                keep=keep_all(corpus),
                annotations={"year": [1] * len(ROWS)},
            )
    assert len(list(tmp_path.iterdir())) == 1


FORMULAS = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]
PLAIN = ["-5", "+1.5e-3", "-.5", "a=1", "", "'=1", " =1"]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_formulas_are_defused_on_request(tmp_path: Path, kind: Any) -> None:
    rows = [
        {"text": text, "=name": number}
        for text, number in zip(FORMULAS + PLAIN, range(-7, 8), strict=True)
    ]
    corpus, _ = read(make(tmp_path / "a.jsonl", rows))
    for defuse in (False, True):
        out = Output(str(tmp_path / "out"), kind, defuse)
        write_rows(
            corpus,
            out,
            keep=keep_all(corpus),
            overwrite=True,
            annotations={"@note": FORMULAS + PLAIN},
        )
        table = Output(str(tmp_path / "table"), kind, defuse)
        write_table(
            table, {"=x": FORMULAS + PLAIN, "n": list(range(-7, 8))}, overwrite=True
        )
        mark = "'" if defuse else ""
        texts = [mark + text for text in FORMULAS] + PLAIN
        for path, columns in (
            (out, [texts, range(-7, 8), texts]),
            (table, [texts, range(-7, 8)]),
        ):
            with open(path, newline="", encoding="utf-8") as stream:
                header, *found = csv.reader(
                    stream, delimiter="\t" if kind == "tsv" else ","
                )
            names = (
                ["text", f"{mark}=name", f"{mark}@note"]
                if path == out
                else [f"{mark}=x", "n"]
            )
            assert header == names
            assert found == [list(map(str, row)) for row in zip(*columns, strict=True)]


def test_annotations_are_spliced_into_the_line(tmp_path: Path) -> None:
    path = pack(b'{"text": "a}" } \n{"text":"b"}', tmp_path / "a.jsonl")
    corpus, _ = read(path)
    notes: dict[str, Any] = {'the "kept"': ["é", None], "n": np.array([1.5, 2])}
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), annotations=notes)
    expected = '{"text": "a}" ,"the \\"kept\\"":"é","n":1.5} \n{"text":"b","the \\"kept\\"":null,"n":2.0}\n'
    assert (tmp_path / "b.jsonl").read_text() == expected


@pytest.mark.parametrize("spelled", ['"größe"', '"gr\\u00f6\\u00dfe"', '"größe" '])
def test_a_name_is_taken_in_utf8_or_escaped(tmp_path: Path, spelled: str) -> None:
    data = f'{{"text": "größe, \\"größe\\"", "o": {{"n": ["größe"]}}}}\n{{{spelled}: 1, "text": "b"}}\n'
    corpus, _ = read(pack(data.encode(), tmp_path / "a.jsonl"))
    notes = {"größe": [0, 0]}
    with pytest.raises(
        DataError, match=r"a\.jsonl:2: there is a column 'größe' already"
    ):
        write_rows(
            corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), annotations=notes
        )
    write_rows(
        corpus, tmp_path / "b.jsonl", keep=np.array([True, False]), annotations=notes
    )
    assert load(tmp_path / "b.jsonl") == [
        {"text": 'größe, "größe"', "o": {"n": ["größe"]}, "größe": 0}
    ]


def test_headers_and_schemas_are_checked_before_the_work(tmp_path: Path) -> None:
    csv_file, folder = pack(b"text,n\na,1\n", tmp_path / "a.csv"), tmp_path / "d"
    other = pack(b"n,text\n1,a\n", tmp_path / "b.csv")
    jsonl = pack(b'{"text": "a", "new": 1}\n', tmp_path / "a.jsonl")
    one, two = (
        make(tmp_path / f"{n}.parquet", [{"text": "t", "v": v}])
        for n, v in (("1", [1]), ("2", "s"))
    )
    folder.mkdir()
    (folder / "x.txt").touch()
    out = tmp_path / "new"
    for inputs, kind, names, reason in (
        (
            [jsonl, csv_file],
            ".jsonl",
            ["n"],
            "a.csv: there is a column 'n' already, so none can be added",
        ),
        ([jsonl, one], ".jsonl.gz", ["v"], "1.parquet: there is a column 'v' already"),
        ([jsonl, one], ".parquet", ["v"], "1.parquet: there is a column 'v' already"),
        ([folder], ".csv", ["path"], "x.txt: there is a column 'path' already"),
        (
            [csv_file, other],
            ".csv",
            [],
            "b.csv:1: the header is not that of the inputs before: text, n",
        ),
        ([csv_file, one], ".csv", [], "1.parquet: column 'v' is list"),
        (
            [one, jsonl, two],
            ".parquet",
            [],
            "2.parquet: column 'v' is string, but list",
        ),
    ):
        with pytest.raises(DataError, match=re.escape(reason)):
            check_rows(open_corpus(inputs), f"{out}{kind}", names)
        corpus, _ = read(inputs)
        check_rows(corpus, f"{out}.jsonl", ["new"])
        notes = {name: range(corpus.accepted) for name in names}
        with pytest.raises(DataError, match=re.escape(reason)):
            write_rows(corpus, f"{out}{kind}", keep=keep_all(corpus), annotations=notes)
    check_rows(open_corpus([csv_file, other, jsonl, folder]), f"{out}.csv", ["new"])
    with pytest.raises(ValueError, match="unknown kind of output"):
        check_rows(open_corpus(jsonl), "a.txt")


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
        write_rows(
            corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), annotations={"x": [1]}
        )
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
    with pytest.raises(DataError, match=r"a\.jsonl: changed while it was in use"):
        write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))


# Files that are whole or not there


@pytest.mark.parametrize("target", FORMATS)
def test_ctrl_c_leaves_nothing(tmp_path: Path, target: str) -> None:
    corpus, _ = read(make(tmp_path / "a.jsonl", ROWS * 20), batch_bytes=1000)

    def interrupt(size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(
            corpus, tmp_path / f"b{target}", keep=keep_all(corpus), progress=interrupt
        )
    assert os.listdir(tmp_path) == ["a.jsonl"]


DISK_FULL = """
import resource, sys
from lshfast._io import open_corpus, write_rows
corpus = open_corpus(sys.argv[1])
rows = sum(len(batch.texts) for batch in corpus.batches())
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
import numpy
try:
    write_rows(corpus, sys.argv[2], keep=numpy.ones(rows, bool), overwrite=len(sys.argv) > 3)
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.one_case
@pytest.mark.parametrize("target", FORMATS)
def test_a_full_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, target: str
) -> None:
    source = make(
        tmp_path / "a.jsonl", [{"text": os.urandom(500).hex()} for _ in range(200)]
    )
    out = tmp_path / f"b{target}"
    command = [sys.executable, "-c", DISK_FULL, str(source), str(out)]
    if target == ".jsonl":
        out.write_text("old")
        command.append("overwrite")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"OSError [Errno 27] File too large: '{out}'\n"
    assert not done.stderr
    assert sorted(os.listdir(tmp_path)) == sorted(
        {"a.jsonl", *([out.name] if target == ".jsonl" else [])}
    )
    assert target != ".jsonl" or out.read_text() == "old"


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with atomic_file(path) as stream:
        stream.write(b"all")
        assert not path.exists()
    assert path.read_bytes() == b"all"
    assert os.listdir(tmp_path) == ["a.bin"]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    with atomic_file(path, overwrite=True) as stream:
        stream.write(b"new")
        assert path.read_bytes() == b"all"
    assert path.read_bytes() == b"new"


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with pytest.raises(FileExistsError, match=r"a\.bin"), atomic_file(path) as stream:  # noqa: PT012
        stream.write(b"mine")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a.bin"]
    with (
        pytest.raises(FileNotFoundError, match=r"none/a\.bin"),
        atomic_file(tmp_path / "none" / "a.bin"),
    ):
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows renames to new names only")
def test_a_new_name_appears_with_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed at any place leaves no empty file under the final name."""
    path, calls, link = tmp_path / "a.bin", [], os.link

    def watched(source: str, target: str) -> None:
        calls.append(path.exists())
        link(source, target)
        calls.append(path.read_bytes() == b"all")

    monkeypatch.setattr(os, "link", watched)
    with atomic_file(path) as stream:
        stream.write(b"all")
    assert calls == [False, True]
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.skipif(os.name == "nt", reason="Windows renames to new names only")
@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSPC])
def test_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The name is reserved there instead; other errors are errors."""

    def link(source: str, target: str) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "a.bin"
    if number == errno.ENOSPC:
        with pytest.raises(OSError, match=r"a\.bin"), atomic_file(path) as stream:
            stream.write(b"all")
        assert os.listdir(tmp_path) == []
        return
    with atomic_file(path) as stream:
        stream.write(b"all")
    assert path.read_bytes() == b"all"
    assert os.listdir(tmp_path) == ["a.bin"]
    with pytest.raises(FileExistsError, match=r"a\.bin"), atomic_file(path) as stream:
        stream.write(b"more")
    assert path.read_bytes() == b"all"


def test_a_failed_close_leaves_no_hidden_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = os.close

    def failing(number: int) -> None:
        close(number)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def write() -> None:
        with all_or_none():
            for name in ("a.bin", "b.bin"):
                with atomic_file(tmp_path / name) as stream:
                    stream.write(b"all")
            monkeypatch.setattr(os, "close", failing)
            raise ValueError("the run ends")

    with pytest.raises(ValueError, match="the run ends"):
        write()
    monkeypatch.undo()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes of this kind")
def test_only_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    names = sorted(os.listdir(tmp_path))
    for name, message in (
        ("pipe", "device, pipe or socket"),
        ("link", "device, pipe"),
        ("folder", "directory"),
    ):
        with (
            pytest.raises(OSError, match=f"{message}.*{name}"),
            atomic_file(tmp_path / name, overwrite=True),
        ):
            pass
    assert sorted(os.listdir(tmp_path)) == names
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_a_file_that_replaces_another_has_its_permissions(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(mode)
    with atomic_file(path, overwrite=True) as stream:
        stream.write(b"new")
        (hidden,) = tmp_path.glob(".a.csv.*.part")
        assert hidden.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
def test_a_file_that_replaces_another_has_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o640)
    os.chown(path, 1234, 5678)
    write_table(path, {"a": [1]}, overwrite=True)
    state = path.stat()
    assert (state.st_uid, state.st_gid, state.st_mode & 0o777) == (1234, 5678, 0o640)


KILLED = """
import os, signal, sys
from lshfast._common.atomic_files import atomic_file
with atomic_file(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    if sys.argv[2:]:
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def test_the_next_writer_removes_the_hidden_file_of_a_killed_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    subprocess.run(
        [sys.executable, "-c", KILLED, str(path), "kill"],
        capture_output=True,
        check=False,
    )
    (left,) = os.listdir(tmp_path)
    assert re.fullmatch(r"\.a\.csv\.[0-9a-f]{16}\.part", left)
    write_table(tmp_path / "other.csv", {"a": [1]})
    assert left in os.listdir(tmp_path)
    write_table(path, {"a": [1]})
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "other.csv"]


def test_the_hidden_file_of_a_running_writer_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"writing\n"
        with all_or_none():
            write_table(path, {"a": [1]})  # complete, and not renamed yet
            hidden = set(os.listdir(tmp_path))
            assert len(hidden) == 2
            subprocess.run([*command, "kill"], capture_output=True, check=False)
            assert hidden < set(os.listdir(tmp_path))
        _, said = other.communicate()
    assert b"FileExistsError" in said
    assert path.read_text() == "a\n1\n"
    write_table(path, {"a": [2]}, overwrite=True)
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links, pipes and owners of POSIX")
def test_only_regular_files_of_the_user_are_taken_for_abandoned(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    names = [f".a.csv.{number:016x}.part" for number in range(4)]
    (tmp_path / names[0]).symlink_to(victim)
    os.mkfifo(tmp_path / names[1])
    (tmp_path / names[2]).mkdir()
    (tmp_path / ".a.csv.notes.part").touch()
    if os.geteuid() == 0:
        (tmp_path / names[3]).touch()
        os.chown(tmp_path / names[3], 1234, 5678)
    before = set(os.listdir(tmp_path))
    write_table(tmp_path / "a.csv", {"a": [1]})
    assert set(os.listdir(tmp_path)) == before | {"a.csv"}
    assert victim.read_text() == "precious"


@pytest.mark.skipif(os.name != "posix", reason="only POSIX syncs folders")
def test_a_folder_that_cannot_be_synced_leaves_the_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real_sync = tmp_path / "a.csv", os.fsync
    path.write_text("old")

    def sync(number: int) -> None:
        if stat.S_ISDIR(os.fstat(number).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real_sync(number)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(
        OSError,
        match=r"while its folder was synced; the new file is in place: .*a\.csv",
    ):
        write_table(path, {"a": [1]}, overwrite=True)
    assert path.read_text() == "a\n1\n"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_an_output_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "d" / "real.csv")
    write_table(tmp_path / "link.csv", {"a": [1]})
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "d" / "real.csv").read_text() == "a\n1\n"


def test_outputs_are_checked_before_the_work(tmp_path: Path) -> None:
    there = make(tmp_path / "a.jsonl", ROWS)
    (tmp_path / "d.csv").mkdir()
    for path, kind, reason in (
        (there, FileExistsError, "the output exists already"),
        (tmp_path / "a.txt", ValueError, "unknown kind of output"),
        (tmp_path / "a.parquet.gz", ValueError, "unknown kind of output"),
        (
            tmp_path / "no" / "a.csv",
            FileNotFoundError,
            "the folder of the output does not exist",
        ),
        (there / "a.csv", NotADirectoryError, "the folder of the output is a file"),
        (tmp_path / "d.csv", IsADirectoryError, "the output is a folder"),
    ):
        with pytest.raises(kind) as caught:
            check_output(path)
        assert str(caught.value).startswith(f"{path}: {reason}")
        assert "\n" not in str(caught.value)
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


def test_columns_of_a_known_type_keep_it_without_a_value(tmp_path: Path) -> None:
    kinds = {"key": "string", "n": "int64", "s": "double", "b": "bool"}
    for columns in ({name: [] for name in kinds}, {name: [None] for name in kinds}):
        write_table(tmp_path / "t.parquet", columns, overwrite=True, kinds=kinds)
        assert {
            field.name: str(field.type)
            for field in pq.read_schema(tmp_path / "t.parquet")
        } == kinds
    write_table(
        tmp_path / "t.parquet",
        {"f": np.zeros(0), "i": np.zeros(0, np.int64)},
        overwrite=True,
    )
    assert list(map(str, pq.read_schema(tmp_path / "t.parquet").types)) == [
        "double",
        "int64",
    ]


def test_a_column_of_empty_strings_keeps_its_rows(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", {"text": ["", "a", ""]})
    assert read(tmp_path / "t.csv")[1] == ["", "a", ""]


def test_tables_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"columns must be of one length, not \[1, 2\]"
    ):
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
        {
            "file": str(path),
            "line": 2,
            "reason": "column 'text' is a number, not a string",
        },
        {
            "file": str(path),
            "line": 3,
            "reason": "the line is an array, not a JSON object",
        },
    ]
    with pytest.raises(ValueError, match=r"rejected rows are written as \.jsonl"):
        write_rejects(tmp_path / "r.csv", corpus.rejected)


# Any rows at all

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ANY_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3)
    ),
    max_leaves=5,
)
ANY_ROW = st.fixed_dictionaries(
    {"text": ANY_TEXT}, optional={"a": ANY_VALUE, "\x00": ANY_VALUE}
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(
        st.tuples(
            ANY_ROW,
            st.booleans(),
            st.booleans(),
            st.sampled_from(["\n", "\r\n", "\n\n \n"]),
        ),
        max_size=8,
    ),
    batch_bytes=st.sampled_from(BATCH_BYTES),
    kind=st.sampled_from([".jsonl", ".jsonl.gz", ".jsonl.zst"]),
)
def test_any_jsonl_round_trip(
    tmp_path: Path, rows: list[Any], batch_bytes: int, kind: str
) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row, _, ascii_only, _ in rows]
    data = "".join(line + end for line, (_, _, _, end) in zip(lines, rows, strict=True))
    corpus, texts = read(
        pack(data.encode(), tmp_path / f"a{kind}"), batch_bytes=batch_bytes
    )
    assert texts == [row["text"] for row, _, _, _ in rows]
    keep = np.array([kept for _, kept, _, _ in rows], bool)
    write_rows(corpus, tmp_path / f"b{kind}", keep=keep, overwrite=True)
    kept = [line for line, k in zip(lines, keep, strict=True) if k]
    assert unpack(tmp_path / f"b{kind}").decode() == "".join(
        line + "\n" for line in kept
    )
    write_rows(
        corpus,
        tmp_path / f"c{kind}",
        keep=keep,
        annotations={"new": range(len(rows))},
        overwrite=True,
    )
    expected = [
        {**json.loads(line), "new": int(i)}
        for line, i in zip(kept, np.flatnonzero(keep), strict=True)
    ]
    assert load(tmp_path / f"c{kind}") == expected


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=8),
    batch_bytes=st.sampled_from(BATCH_BYTES),
)
def test_any_csv_round_trip(
    tmp_path: Path, rows: list[tuple[str, str]], batch_bytes: int
) -> None:
    write_table(
        tmp_path / "a.csv",
        {"text": [a for a, _ in rows], "b": [b for _, b in rows]},
        overwrite=True,
    )
    corpus, texts = read(tmp_path / "a.csv", batch_bytes=batch_bytes)
    assert texts == [a for a, _ in rows]
    write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus), overwrite=True)
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), overwrite=True)
    assert load(tmp_path / "b.jsonl") == [{"text": a, "b": b} for a, b in rows]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.one_case
@pytest.mark.parametrize(("exists", "most"), [(True, 60), (False, 1000), (True, 1000)])
def test_an_interrupt_at_any_place_leaves_the_file_or_nothing(
    tmp_path: Path, exists: bool, most: int
) -> None:
    path = tmp_path / "a.csv"

    def write() -> None:
        write_table(path, {"a": [1, 2]}, overwrite=True)

    def prepare() -> None:
        path.unlink(missing_ok=True)
        if exists:
            path.write_text("old")

    prepare()
    count, _ = interrupted(write, 0)
    whole = path.read_text()
    for place in places(count, most):
        prepare()
        interrupted(write, place)
        assert [one.name for one in tmp_path.iterdir()] in (
            ["a.csv"],
            [] if not exists else ["a.csv"],
        )
        assert not path.exists() or path.read_text() in (whole, "old")
