"""CSV: a record that is bad is one rejected row, and all others are as Python's csv module reads them."""

from __future__ import annotations

import codecs
import csv
import encodings
import gc
import io
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lshfast._io import DataError, open_corpus, write_rows
from tests.corpora import BATCH_BYTES, bad_row, keep_all, pack, read

FUZZ = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.mark.parametrize(
    ("data", "kept", "rejected"),
    [
        (
            b'7,"first \xff\nsecond line, with a comma"\n8,good\n',
            b"8,good\n",
            [(2, "(lines 2 to 3)")],
        ),
        (
            b'1,"hello\nbad \xff end"\n2,good row\n3,"good row b"\n4,c\n',
            b"2,good row\n3,good row b\n4,c\n",
            [(2, "byte 0xff at offset 4 of line 3")],
        ),
        (
            b'1,"hello\nbad \xff end"\n2,good\n3,good b\n',
            b"2,good\n3,good b\n",
            [(2, "not UTF-8: byte 0xff")],
        ),
        (b'1,"a"x,"two\nlines"\n2,b\n', b"2,b\n", [(2, "not valid CSV")]),
        (
            b'1,"a"x\n2,"b"y\n3,"c"z\n4,d\n',
            b"4,d\n",
            [(2, "not valid"), (3, "not valid"), (4, "not valid")],
        ),
        (b"1,a\r2,b\r3,\xff\r4,d\n", b"1,a\n2,b\n4,d\n", [(4, "not UTF-8")]),
    ],
)
@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
def test_a_bad_record_is_one_rejected_row(
    tmp_path: Path,
    data: bytes,
    kept: bytes,
    rejected: list[tuple[int, str]],
    batch_bytes: int,
) -> None:
    path = pack(b"id,text\n" + data, tmp_path / "a.csv")
    corpus, _ = read(path, on_error="skip", batch_bytes=batch_bytes)
    write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus))
    assert (tmp_path / "b.csv").read_bytes() == b"id,text\n" + kept
    assert [reject.line for reject in corpus.rejected] == [line for line, _ in rejected]
    assert all(
        reason in reject.reason
        for reject, (_, reason) in zip(corpus.rejected, rejected, strict=True)
    )


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_quote_that_is_never_closed_is_said(tmp_path: Path, on_error: str) -> None:
    for data in (b'text\na\n"b\n', b'text\na\n"b"x,"\nc\n', b'text\na\n"\xff\nc\n'):
        error = bad_row(pack(data, tmp_path / "a.csv"), on_error="skip")
        assert (error.line, error.reason) == (
            3,
            "a quote opened in this row is never closed",
        )


def _records_of(data: bytes) -> list[tuple[list[str], bool]]:
    """Find records by Python's csv module, and whether each is valid: decodable, and strictly quoted."""
    text = data.decode("utf-8", "surrogateescape")
    lines = list(io.StringIO(text, newline=""))
    records, done = [], 0
    reader = csv.reader(lines)
    for fields in reader:
        own, done = lines[done : reader.line_num], reader.line_num
        try:
            strict = next(csv.reader(own, strict=True)) == fields
            "".join(own).encode()
        except (csv.Error, UnicodeEncodeError):
            strict = False
        if fields or not strict:
            records.append((fields, strict))
    return records


def _open_at_the_end(data: bytes) -> bool:
    """Tell whether a quote is open at the end of a file: then a row that is put after it is not read."""
    text = (data + b"\nrow,1\n").decode("utf-8", "surrogateescape")
    return list(csv.reader(io.StringIO(text, newline="")))[-1] != ["row", "1"]


def _check(path: Path, body: bytes, batch_bytes: int) -> None:
    data = b"text,n\n" + body
    path.write_bytes(data)
    corpus = open_corpus(path, on_error="skip", batch_bytes=batch_bytes)
    try:
        texts = [text for batch in corpus.batches() for text in batch.strings()]
    except DataError as error:
        if "never closed" in error.reason and _open_at_the_end(data):
            return
        raise
    expected = _records_of(data)[1:]
    good = [fields for fields, valid in expected if valid and len(fields) == 2]
    assert texts == [fields[0] for fields in good]
    assert corpus.read == len(expected)
    rows = [
        row for chunk, _ in corpus.again(0, np.arange(corpus.accepted)) for row in chunk
    ]
    assert rows == good


PARTS = [
    b"a",
    b",",
    b'"',
    b"\n",
    b"\r\n",
    b"\r",
    b"\xff",
    b"\xc3",
    b"\xa9",
    b"x,y\n",
    b'"p,\nq",z\n',
]


@FUZZ
@given(
    body=st.lists(st.sampled_from(PARTS)),
    batch_bytes=st.sampled_from(BATCH_BYTES),
)
def test_any_bytes_are_read_as_the_csv_module_does(
    tmp_path: Path, body: list[bytes], batch_bytes: int
) -> None:
    _check(tmp_path / "a.csv", b"".join(body), batch_bytes)


CELL = st.text(st.sampled_from('ab,"\n\ré漢'), max_size=6)


@FUZZ
@given(
    rows=st.lists(
        st.tuples(CELL, CELL, st.sampled_from([b"", b"\xff", b"\xe6\xbc"])), max_size=12
    ),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    end=st.sampled_from(["\n", "\r\n"]),
    batch_bytes=st.sampled_from(BATCH_BYTES),
)
def test_rows_beside_undecodable_ones_are_untouched(
    tmp_path: Path, rows: list[Any], quoting: Any, end: str, batch_bytes: int
) -> None:
    body = b""
    for text, other, broken in rows:
        line = io.StringIO()
        csv.writer(line, quoting=quoting, lineterminator=end).writerow(
            [text + "MARK", other]
        )
        body += line.getvalue().encode().replace(b"MARK", broken)
    _check(tmp_path / "a.csv", body, batch_bytes)


@pytest.mark.parametrize("kind", [".tsv", ".tsv.gz"])
def test_tab_separated_values_in_and_out(tmp_path: Path, kind: str) -> None:
    data = b'id\ttext\n1\ta, b\n2\t"two\nlines\tand a tab"\n'
    corpus, texts = read(pack(data, tmp_path / f"a{kind}"), id_column="id")
    assert texts == ["a, b", "two\nlines\tand a tab"]
    write_rows(corpus, tmp_path / "b.tsv", keep=keep_all(corpus))
    assert (tmp_path / "b.tsv").read_bytes() == data
    write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus))
    assert (
        tmp_path / "b.csv"
    ).read_bytes() == b'id,text\n1,"a, b"\n2,"two\nlines\tand a tab"\n'


# Encodings


def _lines_of(encoding: str) -> tuple[str, list[str]]:
    texts = (
        ["Größe", 'naïve, "quoted"\nand more', "plain"]
        if encoding != "gbk"
        else ["漢字", 'a,\n"字', "plain"]
    )
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [["id", "text"], *([i, text] for i, text in enumerate(texts))]
    )
    return out.getvalue(), texts


@pytest.mark.parametrize(
    "encoding",
    ["cp1252", "latin-1", "gbk", "utf-16", "utf-16-le", "utf-32", "utf_8_sig", "cp037"],
)
@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
def test_inputs_in_any_encoding(
    tmp_path: Path, encoding: str, batch_bytes: int
) -> None:
    written, texts = _lines_of(encoding)
    path = pack(written.encode(encoding), tmp_path / "a.csv")
    corpus, found = read(
        path, encoding=encoding, id_column="id", batch_bytes=batch_bytes
    )
    assert found == texts
    write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus))
    assert (tmp_path / "b.csv").read_bytes() == written.encode()
    line = (
        '{"text": "Größe", "é": 1}' if encoding != "gbk" else '{"text": "漢", "字": 1}'
    )
    corpus, _ = read(
        pack(f"{line}\n".encode(encoding), tmp_path / "a.jsonl.gz"), encoding=encoding
    )
    write_rows(corpus, tmp_path / "b.jsonl", keep=keep_all(corpus))
    assert (tmp_path / "b.jsonl").read_text("utf-8") == f"{line}\n"
    assert (
        read(pack(texts[0].encode(encoding), tmp_path / "a.txt"), encoding=encoding)[1]
        == texts[:1]
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_is_recognised(tmp_path: Path, encoding: str) -> None:
    for codec in (f"{encoding}-le", f"{encoding}-be"):
        for name, data in (
            ("a.csv", "text\nGröße\n"),
            ("a.jsonl", '{"text": "Größe"}\n'),
            ("a.txt", "Größe"),
        ):
            assert read(pack(f"\ufeff{data}".encode(codec), tmp_path / name))[1] == [
                "Größe"
            ]


MARKED = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("expected", ["cp1252", "gbk", "cp037", "utf-16", "utf-32-le"])
@pytest.mark.parametrize("actual", MARKED)
@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
def test_a_byte_order_mark_overrides_the_given_encoding(
    tmp_path: Path, expected: str, actual: str, batch_bytes: int
) -> None:
    for name, data, kind in (
        ("a.csv", "text\nGröße\n漢\n", None),
        ("a.jsonl", '{"text": "Größe"}\n{"text": "漢"}\n', None),
        ("a.txt", "Größe\n漢\n", "lines"),
    ):
        path = pack(f"\ufeff{data}".encode(actual), tmp_path / name)
        texts = read(path, encoding=expected, format=kind, batch_bytes=batch_bytes)[1]
        assert texts == ["Größe", "漢"]
    path = pack("\ufeffGröße".encode(actual), tmp_path / "b.txt")
    assert read(path, encoding=expected)[1] == ["Größe"]


def test_a_bad_byte_behind_a_mark_of_utf8_is_named(tmp_path: Path) -> None:
    for name, data, place in (
        ("a.csv", b"text\n\xff\n", "character 0 of line 2"),
        ("a.jsonl", b'{"text": "\xff"}\n', "character 10 of the line"),
        ("a.txt", b"a\xff", "offset 4 of the file"),
    ):
        path = pack(b"\xef\xbb\xbf" + data, tmp_path / name)
        reason = bad_row(path, encoding="cp1252").reason
        assert reason == f"not UTF-8: byte 0xff at {place}"


def test_a_byte_that_the_encoding_does_not_know_is_named(tmp_path: Path) -> None:
    path = pack(b'id,text\n1,"caf\xe9\nde \x81 x"\n2,g\xf6t\n', tmp_path / "a.csv")
    error = bad_row(path, encoding="cp1252")
    assert (
        str(error)
        == f"{path}:2: not cp1252: byte 0x81 at character 3 of line 3 (lines 2 to 3)"
    )
    assert read(path, encoding="cp1252", on_error="skip")[1] == ["göt"]
    error = bad_row(
        pack(b'{"text": "\xe9\x81"}', tmp_path / "a.jsonl"), encoding="cp1252"
    )
    assert error.reason == "not cp1252: byte 0x81 at character 11 of the line"
    assert "not cp1252: byte 0x81 at offset 1 of" in str(
        bad_row(pack(b"a\x81", tmp_path / "a.txt"), encoding="cp1252")
    )
    path = pack(
        "text\na\nb\ud800\nc\n".encode("utf-16", "surrogatepass"), tmp_path / "b.csv"
    )
    assert read(path, on_error="skip")[1] == ["a", "c"]
    assert "not UTF-16" in bad_row(path).reason
    assert read(
        pack(b"text\n\xc3\xa9\nb\n", tmp_path / "c.csv"),
        encoding="ascii",
        on_error="skip",
    )[1] == ["b"]


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        ("utf-9", "unknown encoding 'utf-9'"),
        ("\0", "unknown encoding"),
        ("base64", "'base64' is no encoding of texts"),
    ],
)
def test_an_encoding_that_is_none(tmp_path: Path, encoding: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        open_corpus(pack(b"text\n", tmp_path / "a.csv"), encoding=encoding)


def test_every_encoding_of_python_reads_what_it_writes(tmp_path: Path) -> None:
    text = "text,n\na,1\n" + '"b\nc",2\n' * 30
    known = 0
    for _, name, _ in pkgutil.iter_modules(encodings.__path__):
        try:
            if (
                not codecs.lookup(name)._is_text_encoding
                or text.encode(name).decode(name) != text
            ):
                continue
        except (LookupError, UnicodeError, AttributeError, NotImplementedError):
            continue
        if name in ("idna", "punycode", "undefined"):
            continue
        known += 1
        assert read(pack(text.encode(name), tmp_path / "a.csv"), encoding=name)[1] == [
            "a",
            *["b\nc"] * 30,
        ], name
    assert known > 80


# Records that are too long


FIELD = st.text(st.sampled_from('a,"\n\t x'), max_size=12)
LONG = FIELD.filter(bool).map(lambda text: text * 900)


@FUZZ
@given(
    rows=st.lists(st.tuples(FIELD, FIELD | LONG), min_size=1, max_size=8),
    batch_bytes=st.sampled_from([1, 100, 1000, 8 << 20]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    kind=st.sampled_from(["csv", "tsv"]),
)
def test_records_around_those_that_are_too_long_are_whole(
    tmp_path: Path,
    rows: list[tuple[str, str]],
    batch_bytes: int,
    line_end: str,
    kind: str,
) -> None:
    out = io.StringIO()
    writer = csv.writer(
        out, delimiter="," if kind == "csv" else "\t", lineterminator=line_end
    )
    starts = []
    for row in [("id", "text"), *rows]:
        starts.append(out.getvalue().count("\n") + 1)
        writer.writerow(row)
    path = pack(out.getvalue().encode(), tmp_path / f"a.{kind}")
    corpus, _ = read(path, on_error="skip", batch_bytes=batch_bytes, max_row_bytes=400)
    rejected = {
        starts.index(fault.line) for fault in corpus.rejected if fault.line is not None
    }
    assert all("more than 400 bytes" in fault.reason for fault in corpus.rejected)
    assert all(len(rows[i - 1][1]) > 300 for i in rejected)
    kept = [row for i, row in enumerate(rows, 1) if i not in rejected]
    assert corpus.accepted == len(kept)
    places = [start for i, start in enumerate(starts) if i > 0 and i not in rejected]
    assert [corpus.place(i)[1] for i in range(len(kept))] == places
    write_rows(corpus, tmp_path / "b.csv", keep=keep_all(corpus), overwrite=True)
    with open(tmp_path / "b.csv", newline="") as file:
        assert [tuple(row) for row in csv.reader(file)][1:] == kept
    lines_over = {
        i
        for i, (_, text) in enumerate(rows, 1)
        if max(map(len, text.split("\n"))) > 500
    }
    assert lines_over <= rejected


@pytest.mark.parametrize("tail", ["", "\n"])
def test_a_last_record_that_is_too_long(tmp_path: Path, tail: str) -> None:
    path = pack(b"id,text\n1,a\n2," + b"x" * 5000 + tail.encode(), tmp_path / "a.csv")
    corpus, texts = read(path, on_error="skip", max_row_bytes=400)
    assert texts == ["a"]
    assert [fault.line for fault in corpus.rejected] == [3]


def test_a_quote_that_is_never_closed_stops_in_any_case(tmp_path: Path) -> None:
    path = pack(b'id,text\n1,a\n2,"' + b"x\n" * 50_000, tmp_path / "a.csv")
    for on_error in ("stop", "skip"):
        error = bad_row(path, on_error=on_error, max_row_bytes=400)
        assert error.line == 3
        assert error.reason.endswith("is a quote in it never closed?")


def test_a_header_that_is_too_long_stops_in_any_case(tmp_path: Path) -> None:
    path = pack(b"id,text" + b"x" * 5000 + b"\n1,a\n", tmp_path / "a.csv")
    for on_error in ("stop", "skip"):
        assert (
            "a row of more than 400 bytes"
            in bad_row(path, on_error=on_error, max_row_bytes=400).reason
        )


@pytest.mark.slow
def test_a_file_that_is_refused_is_closed_at_once(tmp_path: Path) -> None:
    """Not when garbage is collected."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\n0,"a\xc3b"\r\n1,c\r\n')
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(DataError, match="not UTF-8"):
            list(open_corpus(path).batches())
        files = [each for each in gc.get_objects() if isinstance(each, io.FileIO)]
        assert not [
            file for file in files if file.name == str(path) and not file.closed
        ]
    finally:
        gc.enable()
