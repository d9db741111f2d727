"""Errors that say what to do: files in other encodings, and JSON that is not JSON Lines."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lshfast._io import DataError, open_corpus
from tests.cli.commands import failing
from tests.corpora import bad_row, pack, read

ROWS = [{"id": n, "text": f'text "{n}"', "parts": [{"a": 1}]} for n in range(3)]
PRETTY = "\n".join(json.dumps(row, indent=2) for row in ROWS)


@pytest.mark.parametrize(
    ("content", "program"),
    [
        (json.dumps(ROWS), "'.[]'"),
        ("\n\n" + json.dumps(ROWS, indent=1), "'.[]'"),
        (PRETTY, "."),
        (json.dumps({"version": 1, "data": ROWS}), "'.data[]'"),
        (json.dumps({"my data": ROWS}, indent=4), "'.[\"my data\"][]'"),
        (
            json.dumps(
                {
                    "meta": [{"a": [{"text": 1}]}],
                    "in": {"x": [{"text": 1}]},
                    "data": ROWS,
                }
            ),
            "'.data[]'",
        ),
    ],
)
def test_json_that_is_not_json_lines(
    tmp_path: Path, content: str, program: str
) -> None:
    path = tmp_path / "a b.json"
    path.write_text(content)
    lines = tmp_path / "a b.jsonl"
    command = f"jq -c {program} '{path}' > '{lines}'"
    for options in ({}, {"max_row_bytes": 1}, {"encoding": "latin-1"}):
        assert bad_row(path, **options).reason.endswith(
            f"; `{command}` makes JSON Lines, one object a line"
        )
    assert (
        f"`jq -c {program}` makes"
        in bad_row(pack(content.encode(), tmp_path / "b.json.gz")).reason
    )
    if shutil.which("jq"):
        subprocess.run(command, shell=True, check=True)
        assert [json.loads(line) for line in lines.read_text().splitlines()] == ROWS


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_strings(tmp_path: Path, indent: int | None) -> None:
    texts = ["one 'quoted'", "two"]
    (tmp_path / "a.json").write_text(json.dumps(texts, indent=indent))
    command = f"""jq -c '.[] | {{"body": .}}' {tmp_path}/a.json > {tmp_path}/a.jsonl"""
    assert (
        f"; `{command}` makes JSON Lines"
        in bad_row(tmp_path / "a.json", column="body").reason
    )
    if shutil.which("jq"):
        subprocess.run(command, shell=True, check=True)
        assert read(tmp_path / "a.jsonl", column="body")[1] == texts


@pytest.mark.parametrize(
    "content",
    [
        '["id", "text"]\n["1", "a"]\n',
        '{"text": "a" "b"}\n{"text": "b"}\n',
        '{"text": "cut\n{"text": "b"}\n',
        '{"other": "a", "parts": [{"a": 1}]}\n{"other": "b"}\n',
        '{"text": "a"}\n[1, 2]\n',
        "[1, 2]\n",
        '{"txt": "a", "tags": [{"x": 1}]}\n',
        '{"text": "a"}\n{\n',
        "text\n",
    ],
)
def test_a_bad_row_of_json_lines_is_no_other_json(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    assert "jq" not in bad_row(tmp_path / "a.jsonl").reason


def test_names_of_files_are_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, command in (
        ("-a.json", "./-a.json > ./-a.jsonl"),
        ("$b;.json", "'$b;.json' > '$b;.jsonl'"),
    ):
        Path(name).write_text(PRETTY)
        assert f"`jq -c . {command}` makes" in bad_row(name).reason
    for name in ("c\n.json", "c  d.json", "c\x1b.json"):
        Path(name).write_text(PRETTY)
        assert "`jq -c .` makes" in bad_row(name).reason


@pytest.mark.parametrize("kind", ["csv", "jsonl", "lines", "text"])
@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("café – so".encode("cp1252"), "cp1252"),
        (b"caf\xe9 \x81", "latin-1"),
        ("été à côté".encode() + b" caf\xe9", None),
        (b"caf\xe9 \0", None),
        (b"a lone surrogate \xed\xa0\x80", None),
    ],
)
def test_the_encoding_to_try(
    tmp_path: Path, kind: Any, data: bytes, encoding: str | None
) -> None:
    start, end = {"csv": (b"text\n", b"\n"), "jsonl": (b'{"text":"', b'"}\n')}.get(
        kind, (b"", b"")
    )
    path = pack(start + data + end, tmp_path / "a.x.gz")
    said = bad_row(path, format=kind).reason
    if encoding is None:
        assert "--encoding" not in said
    else:
        assert said.endswith(f"; try encoding {encoding} (--encoding {encoding})")
        assert len(read(path, format=kind, encoding=encoding)[1]) == 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    for kind, content in (
        ("csv", "id;text\n1;Größe\n"),
        ("jsonl", '{"text": "Größe"}\n'),
    ):
        data = content.encode(encoding)
        (tmp_path / "a").write_bytes(data)
        assert bad_row(tmp_path / "a", format=kind).reason.endswith(
            f"try encoding {encoding} (--encoding {encoding})"
        )
        assert read(tmp_path / "a", format=kind, encoding=encoding)[1] == ["Größe"]
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        with pytest.raises(DataError, match=encoding):
            list(open_corpus("-", format=kind).batches())


def test_every_command_gives_the_advice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,x,y,text\n1,2,3,caf\xe9\n")
    (tmp_path / "h.csv").write_bytes(b"id,text,caf\xe9\n")
    (tmp_path / "u.txt").write_bytes(b"http://a.org/caf\xe9\n")
    (tmp_path / "a.json").write_text(PRETTY)
    for arguments in (
        ["dedup", tmp_path / "a.csv", "--dry-run"],
        ["dedup", tmp_path / "h.csv", "-o", tmp_path / "o.csv"],
        ["records", "dedup", tmp_path / "a.csv", "-o", tmp_path / "o.csv"],
        ["web", "mirrors", tmp_path / "u.txt", "-o", tmp_path / "o.csv"],
        [
            "fingerprints",
            "match",
            tmp_path / "a.csv",
            "-o",
            tmp_path / "o.csv",
            "--square",
            "1",
        ],
    ):
        said = failing(1, *arguments)
        assert said.count("try encoding cp1252 (--encoding cp1252)") == 1
    assert f"`jq -c . {tmp_path}/a.json > {tmp_path}/a.jsonl`" in failing(
        1, "records", "dedup", tmp_path / "a.json", "-o", "o.csv"
    )


def test_no_advice_in_rejects(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text\ncaf\xe9\n")
    corpus, _ = read(tmp_path / "a.csv", on_error="skip")
    assert [reject.reason for reject in corpus.rejected] == [
        "not UTF-8: byte 0xe9 at offset 3 of line 2"
    ]
