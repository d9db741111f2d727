"""New texts of rows that are written: in every format, and nothing else of a row changes."""

import numpy as np
import pytest

from lshfast._io import Edits, open_corpus, write_rows
from tests.corpora import FORMATS, ROWS, load, make

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(source, out, rows, new_text, **options):
    corpus = open_corpus(source, output=out.suffix.removeprefix("."), **options)
    list(corpus.batches())
    keep = np.ones(corpus.accepted, np.bool_)
    write_rows(
        corpus,
        out,
        keep=keep,
        edits=Edits(np.isin(np.arange(corpus.accepted), rows), new_text),
    )


def upper(row, text):
    return f"{row} {text.upper()}"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("out", ["out.jsonl", "out.csv", "out.parquet"])
def test_each_format(tmp_path, kind, out):
    source = make(tmp_path / f"in{kind}", ROWS)
    changed = [0, 2, 3, 4, 5]
    write(source, tmp_path / out, changed, upper)
    wanted = [
        dict(row, text=upper(i, row["text"]) if i in changed else row["text"])
        for i, row in enumerate(ROWS)
    ]
    found = [dict(row, year=int(row["year"])) for row in load(tmp_path / out)]
    assert found == wanted


LINES = [
    b'{ "n": 1.50, "text": "caf\\u00e9 \\"x\\"" ,"big": 123456789012345678901234567890}',
    '{"text": "café", "again": "café"}'.encode(),
    b'{"text": "a\\/b", "nan": NaN}',
    b'{"text": "first", "text": "last"}',
    b'{"a": {"b": 1}, "text": "text"}',
    b'{"x": 1e999, "\\u0074ext": "ten", "y": [{"text": "}"}, "\\\\\\""]}',
    b'{"n": ' + b"9" * 400 + b', "text": "ten"}',
    b'{"lone": "\\ud800", "text": "ten"}',
    b'{"deep": ' + b"[" * 900 + b"]" * 900 + b', "text":"ten"}',
]


def test_lines_change_in_the_text_alone(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"\n".join([*LINES, b""]))
    write(
        tmp_path / "in.jsonl",
        tmp_path / "out.jsonl",
        range(len(LINES)),
        lambda row, text: "neu é",
    )
    found = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert (
        found[0]
        == b'{ "n": 1.50, "text": "neu \\u00e9" ,"big": 123456789012345678901234567890}'
    )
    assert found[1] == '{"text": "neu é", "again": "café"}'.encode()
    assert found[2] == b'{"text": "neu \\u00e9", "nan": NaN}'
    assert found[3] == b'{"text": "first", "text": "neu \\u00e9"}'
    assert found[4] == b'{"a": {"b": 1}, "text": "neu \\u00e9"}'
    assert found[5:] == [line.replace(b'"ten"', b'"neu \\u00e9"') for line in LINES[5:]]


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "binary", "large_binary", "dictionary"]
)
def test_types_of_parquet_stay(tmp_path, kind):
    texts = pa.array(["one", None, "two", "one"])
    texts = texts.dictionary_encode() if kind == "dictionary" else texts.cast(kind)
    pq.write_table(
        pa.table({"text": texts, "n": [1, 2, 3, 4]}), tmp_path / "in.parquet"
    )
    write(tmp_path / "in.parquet", tmp_path / "out.parquet", [2, 3], upper)
    before, after = (
        pq.read_table(tmp_path / "in.parquet"),
        pq.read_table(tmp_path / "out.parquet"),
    )
    assert after.schema == before.schema
    assert after["text"].cast("string").to_pylist() == ["one", None, "2 TWO", "3 ONE"]
    assert after["n"] == before["n"]


@pytest.mark.parametrize("kind", [".jsonl", ".parquet"])
def test_columns_inside_of_others(tmp_path, kind):
    rows = [
        {"page": {"body": {"text": "one"}, "n": 1}},
        {"page": None},
        {"page": {"body": {"text": "two"}, "n": 3}},
    ]
    source = make(tmp_path / f"in{kind}", rows)
    write(source, tmp_path / f"out{kind}", [2], upper, column="page.body.text")
    found = load(tmp_path / f"out{kind}")
    assert found == [*rows[:2], {"page": {"body": {"text": "2 TWO"}, "n": 3}}]


def test_files_of_one_text(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    write(tmp_path / "a.txt", tmp_path / "out.jsonl", [0], upper)
    assert load(tmp_path / "out.jsonl") == [
        {"path": str(tmp_path / "a.txt"), "text": "0 ONE"}
    ]


def test_errors_name_the_row(tmp_path):
    source = make(tmp_path / "in.jsonl", ROWS)

    def refuse(row, text):
        raise ValueError("not this one")

    with pytest.raises(ValueError, match=r"in\.jsonl:3: not this one$"):
        write(source, tmp_path / "out.jsonl", [2], refuse)
    assert not (tmp_path / "out.jsonl").exists()
    corpus = open_corpus(source)
    list(corpus.batches())
    with pytest.raises(ValueError, match="edits are for 1 rows, not 8"):
        write_rows(
            corpus,
            tmp_path / "out.jsonl",
            keep=np.ones(8, np.bool_),
            edits=Edits(np.ones(1, np.bool_), upper),
        )
