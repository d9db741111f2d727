"""Delimiters of CSV and TSV: which one is detected, and which files stay as they are."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lshfast
from lshfast._io import write_rows
from tests.cli.commands import failing, run
from tests.corpora import BATCH_BYTES, bad_row, keep_all, load, pack, read

TABLE = [
    ["id", "text"],
    ["1", 'a; "quoted", | text'],
    ["2", "two\nlines\tand # more"],
    ["3", "x" * 70_000],
    ["4", ""],
]


def table(delimiter: str, end: str = "\n", rows: list[list[str]] = TABLE) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("batch_bytes", BATCH_BYTES)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "#"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_the_delimiter_is_detected(
    tmp_path: Path, name: str, delimiter: str, batch_bytes: int
) -> None:
    path = pack(table(delimiter).encode(), tmp_path / name)
    corpus, texts = read(path, batch_bytes=batch_bytes, id_column="id")
    assert texts == [row[1] for row in TABLE[1:]]
    own = "\t" if name == "a.tsv" else ","
    assert corpus.delimiters == ({} if delimiter == own else {str(path): delimiter})
    write_rows(corpus, tmp_path / "out.csv", keep=keep_all(corpus))
    assert load(tmp_path / "out.csv") == [
        dict(zip(TABLE[0], row, strict=True)) for row in TABLE[1:]
    ]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_encodings(tmp_path: Path, end: str) -> None:
    rows = [["id", "text"], ["1", "é, é"], ["2", "z"]]
    (tmp_path / "a.csv").write_bytes(table(";", end, rows).encode("utf-16"))
    (tmp_path / "b.csv").write_bytes(table(";", end, rows).encode("cp1252"))
    assert read(tmp_path / "a.csv")[1] == ["é, é", "z"]
    assert read(tmp_path / "b.csv", encoding="cp1252")[1] == ["é, é", "z"]


def test_standard_input_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(table(";").encode()))
    )
    corpus, texts = read("-", format="csv")
    assert texts[1] == "two\nlines\tand # more"
    assert corpus.delimiters == {"<stdin>": ";"}


def test_tune_reads_standard_input_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(table(";", rows=TEXTS))
    wanted = run("tune", tmp_path / "t.csv").stdout
    piped = run("tune", "-", "--format", "csv", input=table(";", rows=TEXTS)).stdout
    assert piped.replace("<stdin>", f"{tmp_path}/t.csv") == wanted
    assert "recommended" in wanted


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("text\none; two\nthree; four\n", ["text"]),  # the header has one name
        ('text\n"a;b\nc;d"\n', ["text"]),
        ("Ticket #\nTicket #1\nTicket #2\n", ["Ticket #"]),
        ("a;b,c\n1;2,3\n4;5,6\n", ["a;b", "c"]),  # the comma divides all rows
        ("a;b\n1;2\n3;4;5\n", ["a;b"]),  # the rows differ
        ('"a;b"\n"1;2"\n', ["a;b"]),  # never inside quotes
        ("text\n", ["text"]),
    ],
)
def test_other_files_stay_as_they_are(
    tmp_path: Path, text: str, header: list[str]
) -> None:
    (tmp_path / "a.csv").write_text(text)
    corpus, _ = read(tmp_path / "a.csv", column=header[0])
    assert corpus.delimiters == {}
    write_rows(corpus, tmp_path / "out.csv", keep=keep_all(corpus))
    assert next(csv.reader((tmp_path / "out.csv").read_text().splitlines())) == header


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id;text\n", ";"),
        (";id;text\n0;1;a\n", ";"),
        ("id;text;\n1;a;\n", ";"),
        ("id;name, first;text\n1;A, B;a\n2;C;b\n", ";"),
        ('id|text\n1|"a|b"\n\n2|c', "|"),
        ("text;id|x;n\na;1|2;3\n", ";"),
    ],
)
def test_other_tables_are_divided(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert set(read(tmp_path / "a.csv")[0].delimiters.values()) == {found}


def test_a_given_delimiter_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id:text\n1:a;b\n")
    (tmp_path / "b.csv").write_text("id;text\n1;c\n")
    (tmp_path / "c.csv").write_text("id\ttext\n1\td\n")
    assert read(tmp_path / "a.csv", delimiter=":")[1] == ["a;b"]
    assert [
        read(tmp_path / "c.csv", delimiter=name)[1] for name in ("\t", "\\t", "tab")
    ] == [["d"]] * 3
    assert bad_row(tmp_path / "b.csv", delimiter=",").reason.endswith(
        "columns are: id;text; try --delimiter ';'"
    )
    for wrong in ("", "::", "é", '"', "\n"):
        with pytest.raises(ValueError, match="delimiter must be one ASCII character"):
            read(tmp_path / "a.csv", delimiter=wrong)


@pytest.mark.parametrize(
    ("name", "delimiter", "option"),
    [
        ("a.csv", ";", "';'"),
        ("a.csv", "\t", "tab"),
        ("a.csv", "|", "'|'"),
        ("a.tsv", ",", ","),
    ],
)
def test_the_delimiter_to_try(
    tmp_path: Path, name: str, delimiter: str, option: str
) -> None:
    path = tmp_path / name
    path.write_text("id;text\n1;one\n3;x;y\n".replace(";", delimiter))
    assert bad_row(path).reason.endswith(f"; try --delimiter {option}")
    assert "row has 3 fields" in bad_row(path, delimiter=delimiter).reason
    path.write_text("id\n1\n")
    assert (
        bad_row(path).reason
        == "no column 'text'; columns are: id; choose another with column (--column)"
    )


def test_each_file_has_its_own(tmp_path: Path) -> None:
    texts = [
        "the quick brown fox jumps over it",
        "something else that is not like it",
        "and one more of them here",
    ]
    for name, delimiter, text in zip("abc", ",;|", texts, strict=True):
        (tmp_path / f"{name}.csv").write_text(
            table(delimiter, rows=[["id", "text"], [name, text], [name * 2, text]])
        )
    result = lshfast.dedup_files(
        tmp_path, tmp_path / "kept.csv", id_column="id", size=2
    )
    assert [removal.key for removal in result.removed] == ["aa", "bb", "cc"]
    assert result.summary.delimiters == {
        str(tmp_path / "b.csv"): ";",
        str(tmp_path / "c.csv"): "|",
    }
    assert f"| separates the cells of {tmp_path}/c.csv" in " ".join(
        str(result.summary).split()
    )
    assert (tmp_path / "kept.csv").read_text() == table(
        ",", rows=[["id", "text"], *map(list, zip("abc", texts, strict=True))]
    )
    (tmp_path / "kept.csv").unlink()
    capped = lshfast.dedup_files(tmp_path, id_column="id", size=2, memory="1G")
    assert capped.summary == result.summary


PEOPLE = [
    ["id", "name", "city"],
    *([str(n), f"person{n} name{n % 7}", f"city{n % 5}"] for n in range(40)),
]
TEXTS = [
    ["id", "text"],
    *([str(n), f"some words of a text with a number {n}"] for n in range(9)),
]


def test_every_command_detects_and_names_it(tmp_path: Path) -> None:
    def file(name: str, rows: list[list[str]]) -> Path:
        (tmp_path / name).write_text(table(";", rows=rows))
        return tmp_path / name

    def told(*arguments: Any) -> str:
        done = run(*arguments)
        assert done.exit_code == 0, done.stderr
        assert "delimiter" in done.stderr + done.stdout
        return " ".join((done.stderr + done.stdout).split())

    texts, people = file("t.csv", TEXTS), file("p.csv", PEOPLE)
    urls = file(
        "u.csv", [["url", "n"], ["http://a.org/1", "1"], ["http://b.org/1", "2"]]
    )
    edges = file("e.csv", [["source", "target"], ["a", "b"], ["c", "b"]])
    minutiae = file("m.csv", [["id", "x", "y"], ["one", "1", "2"], ["two", "1", "2"]])
    out = tmp_path / "out"
    told("dedup", texts, "-o", f"{out}1.csv")
    assert Path(f"{out}1.csv").read_text() == table(",", rows=TEXTS)
    told("dedup", texts, "--split", "paragraph", "-o", f"{out}2.csv")
    told("pairs", texts, "-o", f"{out}3.csv")
    told("tune", texts)
    told("index", "build", texts, "-o", f"{out}.lsh", "--id-column", "id")
    assert "matched 9" in told("index", "query", f"{out}.lsh", texts, "-k", "1")
    told("passages", texts, "-o", f"{out}4.csv", "--min-words", "3")
    assert "; separates the cells of" in told(
        "records", "dedup", people, "-o", f"{out}5.csv", "--field", "name"
    )
    told(
        "records",
        "match",
        people,
        people,
        "-o",
        f"{out}6.csv",
        "--field",
        "name",
        "--id-column",
        "id",
    )
    told("web", "mirrors", urls, "-o", f"{out}7.csv")
    told("web", "contract", edges, "-o", f"{out}8.csv")
    told("fingerprints", "match", minutiae, "-o", f"{out}9.csv", "--square", "5")
    assert "delimiter must be" in failing(
        2, "dedup", texts, "--dry-run", "--delimiter", ";;"
    )
    assert "columns are: id;text" in failing(
        1, "dedup", texts, "--dry-run", "--delimiter", ","
    )
    assert "columns are: id;text" in failing(
        1, "index", "query", f"{out}.lsh", texts, "--delimiter", ","
    )
