"""What data can print on a terminal: no control character, whatever ids, paths, names and bad rows contain."""

import io
import json
import re
import shutil
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner

import lshfast
from lshfast._cli.main import app
from lshfast._common.visible import visible
from lshfast._io import DataError
from lshfast.records import match_records
from tests.cli.commands import read_jsonl, run, write_jsonl

# Writes the clipboard, begins a control sequence, turns the line around, ends it; and markup of
# rich.
EVIL = "\x1b]52;c;QUJD\x07\x9b2J\u202e\u2066\u2028\u061c[red][link]"
SHOWN = r"\x1b]52;c;QUJD\x07\x9b2J\u202e\u2066\u2028\u061c[red][link]"
CONTROL = re.compile(
    "\x1b]|[\x00-\x08\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
TEXT = "one two three four five six seven eight nine ten"


class Terminal(io.StringIO):
    def isatty(self):
        return True

    @property
    def buffer(self):
        return ScreenBytes(self)


class ScreenBytes(io.BufferedIOBase):
    def __init__(self, terminal):
        self.terminal = terminal

    def write(self, data):
        self.terminal.write(bytes(data).decode())
        return len(data)


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


@pytest.fixture(scope="module")
def hostile_files(tmp_path_factory):
    """Return a folder with rows, tables and an index that have hostile names and values."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [{"id": f"{EVIL}{i}", "text": TEXT, EVIL: i} for i in range(3)]
    write_jsonl(folder / "a.jsonl", rows)
    (folder / "bad.jsonl").write_text(
        json.dumps(rows[0]) + "\n" + json.dumps({"id": 1, EVIL: 1}) + "\n"
    )
    pq.write_table(
        pa.table({name: [row[name] for row in rows] for name in rows[0]}),
        folder / "a.parquet",
    )
    (folder / "people.csv").write_text(
        f"id,name,{EVIL.replace(chr(0x2028), '')}\n1{EVIL},Ann Lee,5\n2,Ann Lee,5\n"
    )
    (folder / "urls.txt").write_text(f"http://a.com/x\n{EVIL}\n")
    (folder / "links.txt").write_text("a b\nc b\na\n")
    run(
        "index",
        "build",
        folder / "a.jsonl",
        "-o",
        folder / "a.lsh",
        "--id-column",
        "id",
        "-q",
    )
    return folder


@pytest.fixture
def folder(hostile_files, tmp_path):
    """Return a copy of these files, in a folder with a hostile name."""
    return shutil.copytree(hostile_files, tmp_path / EVIL)


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
    "passages": (
        "passages {}/a.jsonl -o {}/o.csv --against {}/bad.jsonl --on-error skip",
        None,
    ),
    "contaminated": (
        "passages {}/a.jsonl -o {}/o.csv --id-column id --against {}/a.parquet --min-words 5",
        0,
    ),
    "fingerprints": ("fingerprints match {}/urls.txt -o {}/o.csv --square 1", None),
    "match": (
        "records match {}/people.csv {}/people.csv -o {}/o.csv --id-column id",
        0,
    ),
    "build": ("index build {}/a.jsonl -o {}/b.lsh --id-column EVIL", 0),
    "records": (
        "records dedup {}/people.csv -o {}/o.csv --id-column id --field name=name",
        None,
    ),
    "mirrors": ("web mirrors {}/urls.txt -o {}/o.csv", None),
    "contract": ("web contract {}/links.txt -o {}/o.csv", None),
    "stages": ("stage plan {}/a.jsonl --work {}/stages -o {}/out", None),
}


# Ends a line too, so that what follows could pass for a line of ours.
ENDING = f"{EVIL}\nforged"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder whose name and the names of whose files end lines, with data of all verbs."""
    place = tmp_path_factory.mktemp("verbs") / f"p{ENDING}"
    place.mkdir()

    def path(name):
        stem, _, suffix = name.partition(".")
        return place / f"{stem}{ENDING}.{suffix}"

    rows = [
        {f"id{ENDING}": f"k{i}{ENDING}", "by": f"v{i % 2}{ENDING}", "text": f"{TEXT} {'x' * (i % 2)} {EVIL}",
         "v": [float(i % 2), 1.0, 2.0], "c": f"{i % 2:016x}", "s": [f"s{i % 2}{ENDING}", "t"],
         "w": {f"s{i % 2}{ENDING}": 1.5, "t": 2}}
        for i in range(6)
    ]  # fmt: skip
    write_jsonl(path("a.jsonl"), rows)
    path("semi.csv").write_text(
        "id;text\n" + "".join(f"{i};{TEXT}\n" for i in range(20))
    )
    for name in ("a.fa", "b.fa", "c.fa"):
        path(name).write_text(
            f">r{EVIL}\n"
            + "".join("ACGT"[i * i * 7919 % 11 % 4] for i in range(3000))
            + "\n"
        )
    path("empty.fa").write_text("")
    pixels = Image.effect_mandelbrot((64, 64), (-2, -1, 1, 1), 20)
    images = place / f"images{ENDING}"
    images.mkdir()
    for name in ("a", "b"):
        pixels.save(images / f"{name}{ENDING}.png")
    (images / f"broken{ENDING}.png").write_bytes(b"no image")
    (images / f"c{ENDING}.cr2").write_bytes(b"")
    path("hashes.csv").write_text(f'path,hash,kind\n"a{EVIL}",{"0" * 64},"k{EVIL}"\n')
    texts = place / f"texts{ENDING}"
    texts.mkdir()
    (texts / f"one{ENDING}.txt").write_text(TEXT)
    (texts / f"many{ENDING}.txt").write_text(
        "\n".join(f"line {i} of a list of texts" for i in range(300))
    )
    (texts / f"c.doc{EVIL}").write_bytes(b"")
    path("urls.txt").write_text(
        "".join(
            f"http://h{h}.com/a{p}/b{p}/c.html\n" for h in range(2) for p in range(30)
        )
    )
    path("links.csv").write_text(
        "source,target\n"
        + "".join(
            f'"n{i}{ENDING}","t{j}{ENDING}"\n' for i in range(3) for j in range(9)
        )
    )
    path("people.csv").write_text(
        f'id,"name{ENDING}","town{ENDING}"\n'
        + "".join(f'{i},"Ann Lee{i % 9}{ENDING}",b{i % 9}\n' for i in range(18))
    )
    run(
        "index",
        "build",
        path("a.jsonl"),
        "-o",
        path("a.lsh"),
        "--id-column",
        f"id{ENDING}",
        "-q",
    )
    run(
        "index",
        "build",
        path("a.jsonl"),
        "-o",
        path("c.lsh"),
        "--column",
        "c",
        "--as",
        "code",
        "--radius",
        1,
        "-q",
    )
    return place


# Names in braces are paths of the folder, ID is the column of ids.
VERBS = {
    "dedup": "dedup {a.jsonl} -o {o.jsonl} --id-column ID --by by --html {o.html} --removed {r.csv}",
    "dedup of too many": "dedup {a.jsonl} -o {o1.jsonl} --id-column ID --by by --max-removed 0.1",
    "clusters": "dedup {a.jsonl} -o {o2.jsonl} --id-column ID --clusters {c.parquet} --changes {ch.csv}",
    "memory": "dedup {a.jsonl} -o {o3.jsonl} --memory 300M --work {work.d}",
    "index of a run": "dedup {a.jsonl} -o {o4.jsonl} --id-column ID --against {a.lsh} --save-index {b.lsh}",
    "vectors": "dedup {a.jsonl} -o {o5.jsonl} --column v --id-column ID",
    "codes": "pairs {a.jsonl} -o - --output-format csv --column c --as code --radius 1 --id-column ID",
    "sets": "pairs {a.jsonl} -o {p1.csv} --column s --as set --id-column ID --html {p1.html}",
    "weighted sets": "dedup {a.jsonl} -o {o6.jsonl} --column w --id-column ID",
    "delimiters": "dedup {semi.csv} -o {o7.csv}",
    "files that are left out": "dedup {texts} -o {o8.jsonl} --html {o8.html}",
    "check": "check {a.jsonl} --id-column ID --examples --html {c.html}",
    "check of vectors": "check {a.jsonl} --column v",
    "tune": "tune {a.jsonl} --by by",
    "tune of a folder": "tune {texts}",
    "explain": "explain {a.jsonl} k1ENDING --with k3ENDING --id-column ID",
    "build": "index build {a.jsonl} -o {new.lsh} --id-column ID",
    "build of vectors": "index build {a.jsonl} -o {v.lsh} --column v --id-column ID",
    "query": "index query {a.lsh} {a.jsonl} --id-column ID",
    "no match": "index query {a.lsh} --text ENDING",
    "info": "index info {a.lsh}",
    "info of codes": "index info {c.lsh}",
    "verify": "index verify {a.lsh}",
    "compact": "index compact {a.lsh}",
    "passages": "passages {a.jsonl} -o {pa.csv} --id-column ID --min-words 5 --html {pa.html}",
    "images": "images {images} -o {i.csv} --save-hashes {h.csv} --html {i.html}",
    "images to the screen": "images {images} -o - --output-format csv",
    "a bad image": "images {images} -o {i2.csv} --on-error stop",
    "a bad list of hashes": "images {images} -o {i3.csv} --against {hashes.csv}",
    "genomes": "genomes {a.fa} {b.fa} -o {g.csv} --html {g.html}",
    "records of genomes": "genomes {a.fa} {b.fa} --records -o - --output-format csv",
    "an empty genome": "genomes {a.fa} {empty.fa} -o {g2.csv}",
    "empty genomes": "genomes {a.fa} {empty.fa} -o {g3.csv} --on-error skip",
    "mirrors": "web mirrors {urls.txt} -o {m.csv}",
    "contract": "web contract {links.csv} -o {l.csv}",
    "records": "records dedup {people.csv} -o {rd.csv} --id-column id --html {rd.html}",
    "stages": "stage plan {a.jsonl} --work {st.w} -o {st.o}",
    "nothing": "dedup {none.jsonl} -o {o9.jsonl}",
}


@pytest.mark.some_cases
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in VERBS))
        for name in COMMANDS
    ],
)  # the verbs run below, on names that also end lines
def test_commands_print_no_control_characters(name, folder, on_terminal):
    command, status = COMMANDS[name]
    arguments = [
        part.format(*[folder] * 3).replace("EVIL", EVIL).replace("'TEXT'", TEXT)
        for part in command.split(" ")
    ]
    printed, ended = on_terminal(*arguments)
    assert printed
    assert not CONTROL.search(printed), ascii(CONTROL.search(printed))
    assert status is None or ended in (status, None if status == 0 else status)


@pytest.mark.some_cases
@pytest.mark.parametrize("name", VERBS)
def test_what_verbs_print_begins_no_line(name, place, on_terminal, tmp_path):
    outputs = tmp_path / f"o{ENDING}"
    outputs.mkdir()

    def path_of(found):
        stem, mark, suffix = found[1].partition(".")
        inside = place / f"{stem}{ENDING}{mark}{suffix}"
        return str(inside if inside.exists() else outputs / inside.name)

    words = [re.sub(r"{(.*)}", path_of, word) for word in VERBS[name].split()]
    words = [
        word.replace("ENDING", ENDING) if word != "ID" else f"id{ENDING}"
        for word in words
    ]
    printed, _ = on_terminal(*words)
    assert printed
    assert not CONTROL.search(printed), ascii(CONTROL.search(printed))
    if "-o -" not in VERBS[name]:  # a cell of CSV may have several lines, in quotes
        assert not [
            line for line in printed.split("\n") if line.strip().startswith("forged")
        ]
    for page in outputs.glob("*.html"):
        text = page.read_text("utf-8")
        assert not CONTROL.search(text), ascii(CONTROL.search(text))
        assert "[red]" in text


def test_ids_are_shown_with_escapes_and_piped_as_they_are(folder, on_terminal):
    arguments = "index", "query", folder / "a.lsh", "--text", TEXT, "-q"
    printed, _ = on_terminal(*arguments)
    assert [line.split()[0] for line in printed.splitlines()] == [
        "match",
        *(f"{SHOWN}{i}" for i in range(3)),
    ]
    piped = CliRunner().invoke(app, list(map(str, arguments))).stdout
    assert [line.split("\t")[0] for line in piped.split("\n")[:-1]] == [
        f"{EVIL}{i}" for i in range(3)
    ]


def test_data_in_files_stays_as_it_is(folder):
    run(
        "dedup", folder / "a.jsonl", "-o", folder / "o.jsonl", "--id-column", "id", "-q"
    )
    assert read_jsonl(folder / "o.jsonl") == [{"id": f"{EVIL}0", "text": TEXT, EVIL: 0}]


def test_reports_in_python():
    """The text of links, and the HTML of a notebook."""
    table = {
        "id": [EVIL, "2"],
        f"name{EVIL}": ["Ann Lee", "Bob Ray"],
        "zip": [EVIL, "12345"],
    }
    found = match_records(
        table,
        table,
        fields={f"name{EVIL}": "name", "zip": "exact"},
        id_column="id",
        scoring="points",
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
    plain = "".join(
        map(chr, [*range(32, 127), 0xA0, 0xE9, 0x200D, 0x5D0, 0x627, 0x1F600])
    )
    assert visible(plain) == plain
    assert visible("a\tb\nc", lines=True) == "a\tb\nc"
    assert visible("a\tb\nc\r\ud800") == r"a\tb\nc\r\ud800"
    assert visible(
        "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x7F, 0x85]))
    ).isascii()
