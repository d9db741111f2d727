"""Readers, on real files: what goes in comes out, and what is wrong is said with its place."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lshfast._io import (
    DataError,
    open_corpus,
    write_rows,
)
from lshfast._io.whole_tables import read_whole
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
    texts_of,
)

# Pass one: texts, keys and places


@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
@pytest.mark.parametrize("kind", [*FORMATS, ".ndjson", ".json", ".JSONL", ".json.gz"])
def test_every_format_gives_the_same_texts(
    tmp_path: Path, kind: str, batch_bytes: int
) -> None:
    path = make(tmp_path / f"a{kind}", ROWS)
    corpus = open_corpus(path, id_column="key", batch_bytes=batch_bytes)
    batches = list(corpus.batches())
    texts = [text for batch in batches for text in texts_of(batch)]
    assert texts == TEXTS
    assert [corpus.key(row) for row in range(corpus.accepted)] == [
        row["key"] for row in ROWS
    ]
    assert (
        sum(batch.source_bytes for batch in batches)
        == corpus.total_bytes
        == path.stat().st_size
    )
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
        assert sum(sizes) == 500, kind
        assert max(sizes) <= 45, kind


def test_small_files_share_batches(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{i}.jsonl", [{"text": str(i)}]) for i in range(20)]
    (batch,) = open_corpus(paths).batches()
    assert texts_of(batch) == [str(i) for i in range(20)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
def test_jsonl_marks_blank_lines_and_line_ends(
    tmp_path: Path, end: bytes, batch_bytes: int
) -> None:
    lines = [
        b'\xef\xbb\xbf{"text": "a"}',
        b"",
        b"  \t",
        b' {"text": "b"} ',
        b"",
        b'{"text": "c"}',
    ]
    corpus, texts = read(
        pack(end.join(lines), tmp_path / "a.jsonl"), batch_bytes=batch_bytes
    )
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
    assert read(make(tmp_path / "a.csv", [{"text": "z" * 300_000}]))[1] == [
        "z" * 300_000
    ]


def test_a_folder_is_read_sorted_and_by_glob(tmp_path: Path) -> None:
    for name, data in {
        "b.txt": b"2",
        "a/z.txt": b"\xef\xbb\xbf1",
        "c.md": b"no",
        "c.txt": b"",
    }.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    (tmp_path / "in" / "folder.txt").mkdir()
    corpus, texts = read(tmp_path / "in", id_column="key")
    assert texts == ["1", "2", ""]
    assert [corpus.key(i) for i in range(3)] == [
        f"{tmp_path}/in/{n}" for n in ("a/z.txt", "b.txt", "c.txt")
    ]
    assert corpus.place(0) == (f"{tmp_path}/in/a/z.txt", None)
    assert read(f"{tmp_path}/in/", glob="*.md")[1] == ["no"]


def test_inputs_keep_their_order_and_places(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("t")
    paths: list[Path] = [
        make(tmp_path / f"{i}{kind}", ROWS) for i, kind in enumerate(FORMATS)
    ]
    empty = pack(b"", tmp_path / "e.jsonl")
    corpus, texts = read([paths[6], tmp_path / "d", empty, *paths[:6]], batch_bytes=200)
    assert texts == [*TEXTS, "t", *TEXTS * 6]
    assert corpus.key(1) == f"{paths[6]}:2"
    assert corpus.key(8) == f"{tmp_path}/d/x.txt"
    assert corpus.key(9) == f"{paths[0]}:1"
    assert corpus.key(9 + 8 * 3 + 7) == f"{paths[3]}:10"


def test_inputs_without_a_row_count_as_read(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"text": pa.array([], pa.string())}), tmp_path / "a.parquet"
    )
    paths = [
        tmp_path / "a.parquet",
        pack(b"text\n", tmp_path / "b.csv"),
        pack(b"\n\n", tmp_path / "c.jsonl"),
    ]
    for inputs in (paths, *([path] for path in paths)):
        corpus = open_corpus(inputs)
        batches = list(corpus.batches())
        assert sum(batch.source_bytes for batch in batches) == corpus.total_bytes
        assert (corpus.read, corpus.complete) == (0, True)
        for kind in FORMATS:
            write_rows(
                corpus, tmp_path / f"out{kind}", keep=np.zeros(0, bool), overwrite=True
            )
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
    b'{"text": NaN}': "column 'text' is a number",
    b'{"text": "a"} {}': "not valid JSON",
    b'["text"]': "the line is an array, not a JSON object",
    b'"text"': "the line is a string, not a JSON object",
    b"[" * 100_000: "nested too deep",
    b"{}": "no column 'text'",
    b'{"text": 5}': "column 'text' is a number",
    b'{"text": ["a"]}': "column 'text' is an array",
    b'{"text": "\xff"}': "not UTF-8: byte 0xff at offset 10",
    b'{"text": "\xed\xa0\x80"}': "not UTF-8: byte 0xed at offset 10",
    b'{"text": "\\ud800"}': "lone surrogate \\ud800",
    b'{"text": "raw \0 nul"}': "not valid JSON: Invalid control character (column",
    b"\xef\xbb\xbf{}": "not valid JSON",
    b'{"text": "a", "n": '
    + b"9" * 5000
    + b"}": "an integer has 5,000 digits, which are too many",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: repr(line[:20]))
def test_bad_jsonl_lines(tmp_path: Path, line: bytes) -> None:
    path = pack(
        b'{"text": "1"}\n\n' + line + b'\n{"text": "2"}\n', tmp_path / "a.jsonl"
    )
    error = bad_row(path)
    assert (error.path, error.line) == (str(path), 3)
    assert BAD_LINES[line] in error.reason
    assert str(error) == f"{path}:3: {error.reason}"
    for batch_bytes in BATCH_BYTES:
        corpus, texts = read(path, on_error="skip", batch_bytes=batch_bytes)
        assert texts == ["1", "2"]
        assert corpus.read == 3
        assert corpus.rejected == [
            (str(path), 3, re.split("; try encoding|; choose ", error.reason)[0])
        ]
        assert [corpus.place(i)[1] for i in range(2)] == [1, 4]


@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", "1" * 400, "123456789012345678901234567890", "0.10"]
)
def test_numbers_that_no_machine_holds_pass_from_jsonl_to_jsonl(
    tmp_path: Path, number: str
) -> None:
    line = b'{"text": "a", "n": ' + number.encode() + b"}\n"
    corpus, texts = read(pack(line, tmp_path / "a.jsonl"))
    assert texts == ["a"]
    write_rows(
        corpus, tmp_path / "b.jsonl", keep=keep_all(corpus), annotations={"x": [1]}
    )
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
    assert (error.path, error.line) == (str(path), 3)
    assert reason in error.reason
    corpus, texts = read(path, on_error="skip")
    assert texts == ["1", "2"]
    assert len(corpus.rejected) == 1
    assert corpus.read == 3


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


def test_a_header_of_very_many_columns(tmp_path: Path) -> None:
    """If each name were compared with all others, this would take minutes."""
    names = ["text", *(f"column{i}" for i in range(60_000))]
    path = pack(
        f"{','.join(names)}\n{','.join('x' for _ in names)}\n".encode(),
        tmp_path / "a.csv",
    )
    assert read(path)[1] == ["x"]
    assert len(read_whole(path).columns) == len(names)


def test_bad_parquet_rows(tmp_path: Path) -> None:
    raw = pa.array([b"1", None, b"\xff\xfe", b"2"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 4, raw.buffers(), raw.null_count)
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    reason = "not UTF-8: byte 0xff at offset 0 of the text"
    assert (
        str(bad_row(tmp_path / "a.parquet")) == f"{tmp_path}/a.parquet: row 3: {reason}"
    )
    corpus, good = read(tmp_path / "a.parquet", on_error="skip")
    assert good == ["1", "", "2"]
    assert [corpus.place(i)[1] for i in range(3)] == [1, 2, 4]
    assert [(r.line, r.reason) for r in corpus.rejected] == [(3, reason)]


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_bad_parquet_files(tmp_path: Path, on_error: str) -> None:
    path = make(tmp_path / "a.parquet", ROWS)
    assert "no column 'body'; columns are: key, text, year" in str(
        bad_row(path, column="body", on_error=on_error)
    )
    hint = "column 'year' is int64, not strings; columns of strings are: key, text"
    assert hint in str(bad_row(path, column="year", on_error=on_error))
    whole = path.read_bytes()
    for damaged in (
        b"",
        whole[:-9],
        whole[: len(whole) // 2],
        whole[:4] + b"\xaa" * 300 + whole[304:],
    ):
        path.write_bytes(damaged)
        assert "cannot be read as Parquet" in str(bad_row(path, on_error=on_error))


def test_bad_folder_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good")
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfab\xc3")
    assert (
        str(bad_row(tmp_path))
        == f"{tmp_path}/b.txt: not UTF-8: byte 0xc3 at offset 5 of the file"
    )
    corpus, texts = read(tmp_path, on_error="skip")
    assert texts == ["good"]
    assert corpus.rejected[0][:2] == (f"{tmp_path}/b.txt", None)


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("kind", [".jsonl.gz", ".jsonl.zst", ".csv.gz", ".csv.zst"])
def test_cut_off_streams_are_errors(tmp_path: Path, kind: str, on_error: str) -> None:
    path = make(
        tmp_path / f"a{kind}", [{"text": os.urandom(200).hex()} for _ in range(200)]
    )
    whole = path.read_bytes()
    for size in (1, 5, 20, len(whole) // 2, len(whole) - 4, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "damaged or cut off" in str(bad_row(path, on_error=on_error)), size
    path.write_bytes(whole + b"garbage")
    assert "damaged or cut off" in str(bad_row(path, on_error=on_error))


@pytest.mark.parametrize("kind", [".jsonl.gz", ".jsonl.zst"])
@pytest.mark.parametrize("size", [10, 70_000])
def test_streams_of_several_members_are_read_whole(
    tmp_path: Path, kind: str, size: int
) -> None:
    rows = [{"text": os.urandom(size).hex()} for _ in range(5)]
    parts = [
        make(tmp_path / f"{i}{kind}", [row]).read_bytes() for i, row in enumerate(rows)
    ]
    (tmp_path / f"all{kind}").write_bytes(b"".join(parts))
    assert read(tmp_path / f"all{kind}")[1] == [row["text"] for row in rows]


def test_inputs_that_cannot_be(tmp_path: Path) -> None:
    path = make(tmp_path / "a.jsonl", ROWS)
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "x.txt").touch()
    (tmp_path / "link.jsonl").symlink_to(path)
    os.mkfifo(tmp_path / "p.jsonl")
    for inputs, reason in (
        (
            tmp_path / "none.jsonl",
            "none.jsonl: cannot be read: No such file or directory",
        ),
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
        with pytest.raises(ValueError, match=re.escape(reason)) as caught:
            open_corpus(inputs)
        assert "\n" not in str(caught.value)
    for options, reason in (
        (
            {"glob": "*.md"},
            r"no file in this folder matches '\*.md'; in its folder are",
        ),
        (
            {"glob": "x.t?t"},
            r"matches 'x.t\?t'; '\*\*/x.t\?t' matches files of its folders",
        ),
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
    first, second = (
        make(tmp_path / f"1{kind}", rows[:2]),
        make(tmp_path / f"2{kind}", rows[1:]),
    )
    line = 2 if "csv" in kind else 1
    where = f" row {line}:" if kind == ".parquet" else f"{line}:"
    with pytest.raises(DataError) as caught:
        read([first, second], id_column="key")
    assert str(caught.value).startswith(
        f"{second}:{where} id 'b' is taken by {first}:{line + 1}; without id_column"
    )
    corpus, texts = read([first, second], id_column="key", on_error="skip")
    assert texts == ["0", "1"]
    assert corpus.ids == ["a", "b"]
    reasons = [reject.reason for reject in corpus.rejected]
    assert reasons == [
        f"id '{key}' is taken by {first}:{n}"
        for key, n in (("b", line + 1), ("a", line))
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('{"text": "t"}', "missing, null or empty"),
        ('{"text": "t", "key": null}', "missing, null or empty"),
        ('{"text": "t", "key": ""}', "missing, null or empty"),
        ('{"text": "t", "key": 1.5}', "neither a string nor a 64-bit integer"),
        ('{"text": "t", "key": true}', "neither a string nor a 64-bit integer"),
        (
            '{"text": "t", "key": 18446744073709551616}',
            "neither a string nor a 64-bit integer",
        ),
        ('{"text": "t", "key": "7"}', "id '7' is a string, the ids before it are not"),
        (
            '{"text": "t", "key": ' + "9" * 5000 + "}",
            "an integer has 5,000 digits, which are too many",
        ),
    ],
)
def test_bad_ids(tmp_path: Path, value: str, reason: str) -> None:
    path = pack(b'{"text": "t", "key": 7}\n' + value.encode(), tmp_path / "a.jsonl")
    assert reason in bad_row(path, id_column="key").reason
    corpus, _ = read(path, id_column="key", on_error="skip")
    assert corpus.ids == [7]
    assert corpus.key(0) == 7
    assert len(corpus.rejected) == 1


@pytest.mark.parametrize("kind", FORMATS)
def test_order_values(tmp_path: Path, kind: str) -> None:
    corpus, _ = read(make(tmp_path / f"a{kind}", ROWS), order_column="year")
    assert isinstance(corpus.order, np.ndarray)
    assert corpus.order.dtype == np.int64
    assert corpus.order.tolist() == [row["year"] for row in ROWS]
    corpus, _ = read(tmp_path / f"a{kind}", order_column="key")
    assert corpus.order == [row["key"] for row in ROWS]
    assert corpus.ids is None
    assert read(tmp_path / f"a{kind}")[0].order is None


def test_integers_become_doubles_when_a_fraction_comes(tmp_path: Path) -> None:
    for kind in (".jsonl", ".csv"):
        corpus, _ = read(
            make(tmp_path / f"a{kind}", [{"text": "", "n": n} for n in (3, 0.5, -2)]),
            order_column="n",
        )
        assert isinstance(corpus.order, np.ndarray)
        assert corpus.order.tolist() == [3.0, 0.5, -2.0]


def test_times_of_parquet_are_strings_that_sort(tmp_path: Path) -> None:
    berlin = pa.array(
        [1_700_000_000_000, 1_700_000_000_500], pa.timestamp("ms", "Europe/Berlin")
    )
    finer = pa.array([1_700_000_000_000_001, 0], pa.timestamp("us"))
    for i, (times, name) in enumerate(
        [(berlin, "a"), (finer, "b"), (pa.array([19_675, 0], pa.date32()), "c")]
    ):
        pq.write_table(
            pa.table({"text": ["", ""], "at": times}), tmp_path / f"{i}{name}.parquet"
        )
    corpus, _ = read(
        [tmp_path / f"{name}.parquet" for name in ("0a", "1b", "2c")], order_column="at"
    )
    assert isinstance(corpus.order, list)
    assert corpus.order[0] == "2023-11-14 22:13:20.000"
    assert np.argsort(corpus.order).tolist() == [5, 3, 4, 0, 2, 1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("null", "is missing or null"),
        ('"2020"', "holds '2020', a string, but those before it are not"),
        ("true", "holds True, neither a string nor a 64-bit number"),
        ("[1]", "holds [1], neither a string nor a 64-bit number"),
        (
            "18446744073709551615",
            "holds 18446744073709551615, neither a string nor a 64-bit number",
        ),
    ],
)
def test_bad_order_values(tmp_path: Path, value: str, reason: str) -> None:
    lines = [
        f'{{"text": "{k}", "n": {n}, "k": "{k[0]}"}}\n'
        for k, n in (("a", 1), ("b", value), ("bb", 3))
    ]
    path = pack("".join(lines).encode(), tmp_path / "a.jsonl")
    error = bad_row(path, order_column="n", id_column="k")
    assert error.line == 2
    assert f"order column 'n' {reason}" in error.reason
    corpus, texts = read(path, order_column="n", id_column="k", on_error="skip")
    assert texts == ["a", "bb"]
    assert corpus.ids == ["a", "b"]
    assert isinstance(corpus.order, np.ndarray)
    assert corpus.order.tolist() == [1, 3]


EXTRAS = (
    "pyarrow",
    "typer",
    "rich",
    "matplotlib",
    "lmdb",
    "redis",
    "fsspec",
    "pandas",
    "polars",
    "asyncio",
)


def test_the_package_imports_without_its_extras() -> None:
    code = "import sys, lshfast; print(*(name for name in sys.argv[1:] if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, *EXTRAS],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "\n"


WITHOUT_MODULE = """
import sys
from lshfast._io import open_corpus
sys.modules[sys.argv[1]] = None
list(open_corpus(sys.argv[2]).batches())
"""


@pytest.mark.parametrize(
    ("module", "name"), [("pyarrow", "a.parquet"), ("pyarrow", "a.csv.zst")]
)
def test_a_missing_extra_says_what_to_install(
    tmp_path: Path, module: str, name: str
) -> None:
    make(tmp_path / name, ROWS)
    command = [sys.executable, "-c", WITHOUT_MODULE, module, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr.endswith(
        f'ImportError: {module} is missing: pip install "lshfast[cli]"\n'
    )


def test_import_loads_no_modules_that_only_some_uses_need() -> None:
    modules = [
        "bz2",
        "concurrent.futures",
        "hashlib",
        "html",
        "lzma",
        "pathlib",
        "secrets",
        "shutil",
        "tempfile",
    ]
    code = f"import sys, numpy; new = set({modules}) - set(sys.modules); import lshfast; print(new & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
