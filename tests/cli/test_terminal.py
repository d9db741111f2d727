"""What data can print on a terminal: no control character, whatever ids, paths, names and bad rows contain."""

import io
import json
import re
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import lshfast
from lshfast.cli.main import app
from lshfast.common.visible import visible
from lshfast.readers import DataError
from lshfast.records import match_records
from tests.cli.commands import read_jsonl, run, write_jsonl

# Writes the clipboard, begins a control sequence, turns the line around, ends it; and markup of rich.
EVIL = "\x1b]52;c;QUJD\x07\x9b2J\u202e\u2066\u2028\u061c[red][link]"
SHOWN = r"\x1b]52;c;QUJD\x07\x9b2J\u202e\u2066\u2028\u061c[red][link]"
CONTROL = re.compile(
    "\x1b]|[\x00-\x08\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
TEXT = "one two three four five six seven eight nine ten"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """Return a function that runs a command with a terminal, and returns what it printed and its exit status."""

    def run_there(*arguments):
        stream = Terminal()
        monkeypatch.setenv("COLUMNS", "400")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "stderr", stream)
            with pytest.raises(SystemExit) as ended:
                app([str(argument) for argument in arguments])
        return stream.getvalue(), ended.value.code

    return run_there


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a hostile name, with rows and tables that have hostile names and values."""
    folder = tmp_path / EVIL
    folder.mkdir()
    rows = [{"id": f"{EVIL}{i}", "text": TEXT, EVIL: i} for i in range(3)]
    write_jsonl(folder / "a.jsonl", rows)
    (folder / "bad.jsonl").write_text(json.dumps(rows[0]) + "\n" + json.dumps({"id": 1, EVIL: 1}) + "\n")
    pq.write_table(pa.table({name: [row[name] for row in rows] for name in rows[0]}), folder / "a.parquet")
    (folder / "people.csv").write_text(f"id,name,{EVIL.replace(chr(0x2028), '')}\n1{EVIL},Ann Lee,5\n2,Ann Lee,5\n")
    (folder / "urls.txt").write_text(f"http://a.com/x\n{EVIL}\n")
    (folder / "links.txt").write_text("a b\nc b\na\n")
    run("index", "build", folder / "a.jsonl", "-o", folder / "a.lsh", "--id-column", "id", "-q")
    return folder


COMMANDS = {
    "query": ("index query {}/a.lsh {}/a.jsonl --id-column id", 0),
    "query of one text": ("index query {}/a.lsh --text 'TEXT'", 0),
    "query without a match": ("index query {}/a.lsh --text other", 0),
    "query of bad rows": ("index query {}/a.lsh {}/bad.jsonl --on-error skip", 0),
    "info": ("index info {}/a.lsh", 0),
    "verify": ("index verify {}/a.lsh", 0),
    "compact": ("index compact {}/a.lsh", 0),
    "remove": ("index remove {}/a.lsh --id EVIL0 --id EVILabsent", None),
    "add again": ("index add {}/a.lsh {}/a.jsonl --id-column id", None),
    "dedup": ("dedup {}/a.jsonl -o {}/o.jsonl --id-column id", 0),
    "bad row": ("dedup {}/bad.jsonl -o {}/o.jsonl", 1),
    "bad rows": ("dedup {}/bad.jsonl -o {}/o.jsonl --on-error skip", 0),
    "no such column": ("dedup {}/a.parquet -o {}/o.jsonl --column EVIL1", None),
    "a column of numbers": ("dedup {}/a.parquet -o {}/o.jsonl --column EVIL", None),
    "no such file": ("dedup {}/absent.jsonl -o {}/o.jsonl", None),
    "no such format": ("dedup {}/a.lsh -o {}/o.jsonl", None),
    "no such option": ("dedup {}/a.jsonl --EVIL", None),
    "no such value": ("dedup {}/a.jsonl -o {}/o.jsonl --keep EVIL", None),
    "capped": ("dedup {}/a.jsonl -o {}/o.jsonl --memory 300M --work {}/work", 0),
    "pairs": ("dedup {}/a.jsonl -o {}/o.jsonl --pairs {}/p.csv", 0),
    "tune": ("tune {}/a.jsonl", 0),
    "passages": ("passages {}/a.jsonl -o {}/o.csv --against {}/bad.jsonl --on-error skip", None),
    "contaminated": ("passages {}/a.jsonl -o {}/o.csv --id-column id --against {}/a.parquet --min-words 5", 0),
    "fingerprints": ("fingerprints match {}/urls.txt -o {}/o.csv --square 1", None),
    "match": ("records match {}/people.csv {}/people.csv -o {}/o.csv --id-column id", 0),
    "build": ("index build {}/a.jsonl -o {}/b.lsh --id-column EVIL", 0),
    "records": ("records dedup {}/people.csv -o {}/o.csv --id-column id --field name=name", None),
    "mirrors": ("web mirrors {}/urls.txt -o {}/o.csv", None),
    "contract": ("web contract {}/links.txt -o {}/o.csv", None),
    "stages": ("stage plan {}/a.jsonl --work {}/stages -o {}/out", None),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_no_control_characters(name, folder, on_terminal):
    command, status = COMMANDS[name]
    arguments = [
        part.format(*[folder] * 3).replace("EVIL", EVIL).replace("'TEXT'", TEXT) for part in command.split(" ")
    ]
    printed, ended = on_terminal(*arguments)
    assert printed
    assert not CONTROL.search(printed), ascii(CONTROL.search(printed))
    assert status is None or ended in (status, None if status == 0 else status)


def test_ids_are_shown_with_escapes_and_piped_as_they_are(folder, on_terminal):
    arguments = "index", "query", folder / "a.lsh", "--text", TEXT, "-q"
    printed, _ = on_terminal(*arguments)
    assert [line.split()[0] for line in printed.splitlines()] == ["match", *(f"{SHOWN}{i}" for i in range(3))]
    piped = CliRunner().invoke(app, list(map(str, arguments))).stdout
    assert [line.split("\t")[0] for line in piped.split("\n")[:-1]] == [f"{EVIL}{i}" for i in range(3)]


def test_data_in_files_stays_as_it_is(folder):
    run("dedup", folder / "a.jsonl", "-o", folder / "o.jsonl", "--id-column", "id", "-q")
    assert read_jsonl(folder / "o.jsonl") == [{"id": f"{EVIL}0", "text": TEXT, EVIL: 0}]


def test_reports_in_python():
    """The text of links, and the HTML of a notebook."""
    table = {"id": [EVIL, "2"], f"name{EVIL}": ["Ann Lee", "Bob Ray"], "zip": [EVIL, "12345"]}
    found = match_records(
        table, table, fields={f"name{EVIL}": "name", "zip": "exact"}, id_column="id", scoring="points"
    )
    for text in (found.explain(0), found.describe()):
        assert SHOWN in text
        assert not CONTROL.search(text)
    html = lshfast.dedup([TEXT, TEXT], keys=[EVIL, f"<{EVIL}>"])._repr_html_()
    assert f"&lt;{SHOWN}&gt;"[:40] in html
    assert not CONTROL.search(html)


def test_errors_in_python(folder):
    with pytest.raises(DataError, match="no file matches") as found:
        lshfast.dedup_files(folder / "absent.jsonl", folder / "o.jsonl")
    assert not CONTROL.search(str(found.value))


def test_which_characters_are_shown_as_escapes():
    plain = "".join(map(chr, [*range(32, 127), 0xA0, 0xE9, 0x200D, 0x5D0, 0x627, 0x1F600]))
    assert visible(plain) == plain
    assert visible("a\tb\nc", lines=True) == "a\tb\nc"
    assert visible("a\tb\nc\r\ud800") == r"a\tb\nc\r\ud800"
    assert visible("".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x7F, 0x85]))).isascii()
