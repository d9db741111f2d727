"""Completion of columns, by the variables that the scripts of the shells set, and in a real bash."""

import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.commands import run, write_jsonl

ROW = {"id": "a", "text": "one two", "title": "t"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    write_jsonl(folder / "rows.jsonl", [ROW] * 3)
    pq.write_table(pa.Table.from_pylist([ROW]), folder / "rows.parquet")
    (folder / "rows.csv").write_text("id,text,title\n1,b,c\n")
    (folder / "semicolons.csv").write_text("id;text;title\n1;b;c\n")
    (folder / "latin.csv").write_bytes("id,text,titré\n".encode("latin-1"))
    (folder / "bad.parquet").write_bytes(b"PAR1 no more")
    (folder / "bad.jsonl").write_bytes(b"\xff\n")
    (folder / "long.jsonl").write_bytes(b'{"text": "' + b"a" * (2 << 20))
    write_jsonl(
        folder / "hostile.jsonl",
        [{"$(touch x)": 1, "a b": 1, "`x`": 1, "a\nb": 1, "-o": 1, "good.one": 1}],
    )
    (folder / "shards").mkdir()
    write_jsonl(folder / "shards" / "part-1.jsonl", [ROW])
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.jsonl")
    return folder


def complete(folder, shell, words, last=""):
    """Return what the command prints for a shell that completes `last`."""
    line = f"lshfast {words} {last}"
    variables = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(1 + len(words.split()))},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        },
    }[shell]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = run(
            env={**variables, "_LSHFAST_COMPLETE": f"complete_{shell}"},
            prog_name="lshfast",
        )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.parquet", "rows.csv", "semicolons.csv", "shards"]
)
def test_columns_of_files(folder, name):
    assert complete(folder, "bash", f"dedup {name} --column") == ["id", "text", "title"]


def test_all_shells(folder):
    assert complete(folder, "fish", "dedup rows.csv --column", "ti") == ["title"]
    assert (
        "".join(complete(folder, "zsh", "dedup rows.csv --column", "t"))
        == """_arguments'*::(("text""title"))'"""
    )
    assert complete(folder, "bash", "dedup rows.csv --column", "t") == ["text", "title"]


@pytest.mark.parametrize(
    "words",
    [
        "dedup -o out.jsonl rows.jsonl --id-column",
        "dedup rows.jsonl --by",
        "pairs rows.jsonl --html-column",
        "check rows.jsonl --column",
        "index build rows.jsonl --id-column",
        "index query a.lsh rows.jsonl --column",
        "records match rows.csv rows.jsonl --field",
        "records dedup rows.csv --id-column",
        "web contract rows.csv --source-column",
        "dedup none.jsonl rows.jsonl --column",
    ],
)
def test_commands_and_options(folder, words):
    assert complete(folder, "bash", words) == ["id", "text", "title"]


def test_options_of_reading_are_used(folder):
    assert complete(folder, "bash", "dedup latin.csv --encoding latin-1 --column") == [
        "id",
        "text",
        "titré",
    ]


@pytest.mark.one_case
@pytest.mark.parametrize(
    "name",
    [
        "none.jsonl",
        "bad.parquet",
        "bad.jsonl",
        "long.jsonl",
        "pipe.jsonl",
        "-",
        "s3://bucket/a.jsonl",
        "",
    ],
)
def test_files_that_cannot_be_read_have_no_completions(folder, name):
    assert complete(folder, "bash", f"dedup {name} --column") == []


def test_names_that_a_shell_would_expand_are_left_out(folder):
    for shell in ("bash", "fish"):
        assert complete(folder, shell, "dedup hostile.jsonl --column") == ["good.one"]
    assert "touch" not in "".join(
        complete(folder, "zsh", "dedup hostile.jsonl --column")
    )


def test_names_of_commands_and_values_are_completed_as_before(folder):
    assert complete(folder, "bash", "index", "co") == ["compact"]
    assert complete(folder, "bash", "dedup rows.jsonl --unit", "w") == ["word"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_in_bash(folder, tmp_path):
    """Have bash call the function of the script that `--show-completion` prints, as it does for the tab key."""
    script = subprocess.run(
        [sys.executable, "-m", "lshfast", "--show-completion", "bash"],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    command = tmp_path / "lshfast"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lshfast "$@"\n')
    command.chmod(0o755)
    steps = (
        "COMP_WORDS=(lshfast dedup rows.parquet --column ti); COMP_CWORD=4; COMP_LINE='lshfast dedup rows.parquet "
        "--column ti'; _lshfast_completion lshfast; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{steps}"],
        cwd=folder,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("title\n", "")
