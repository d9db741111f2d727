"""The errors of a first hour: each says the next step, in every command that reads the same kind of input."""

import errno
import gzip
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lshfast._common.nearest import files_of, nearest, nearest_file, no_column
from lshfast._io.contents import content_of, not_compressed, unknown_suffix
from lshfast._io.files import reason_of
from tests.cli.commands import failing, run, write_jsonl

ROWS = [
    {"id": i % 8, "text": f"one two three four five six seven {i // 2}", "url": f"u{i}"}
    for i in range(10)
]

# The commands that read texts, and the one that reads records, with INPUT as a place.
READERS = {
    "dedup": "dedup INPUT -o out.jsonl --overwrite",
    "pairs": "pairs INPUT -o out.csv --overwrite",
    "build": "index build INPUT -o out.lsh --overwrite",
    "query": "index query crawl.lsh INPUT",
    "check": "check INPUT",
    "tune": "tune INPUT",
    "passages": "passages INPUT -o out.csv --overwrite",
    "match": "records match INPUT a.csv -o out.csv --overwrite",
}

# What is given, the exit status, and what is said.
INPUTS = {
    "a near name": (
        "craw.jsonl",
        "craw.jsonl: cannot be read: No such file or directory; did you mean crawl.jsonl?",
    ),
    "another suffix": ("crawl.json", "did you mean crawl.jsonl?"),
    "no such folder": ("foldr/x.txt", "there is no folder foldr; did you mean folder?"),
    "a pattern": (
        "folder/*.csv",
        "no file matches this pattern; in its folder are x.txt",
    ),
    "JSON as gzip": (
        "plain.jsonl.gz",
        "not gzip data but JSON; take the suffix of the compression off its name",
    ),
    "zstd as gzip": (
        "zstd.jsonl.gz",
        "not gzip data but zstd data; name it by its compression, such as .gz or .zst",
    ),
    "a ZIP as gzip": (
        "zip.jsonl.gz",
        "not gzip data but a ZIP archive, an Excel workbook or a Word document; unpack it",
    ),
    "JSON as zstd": ("plain.jsonl.zst", "not zstd data but JSON"),
    "half of a file": ("half.jsonl.gz", "damaged or cut off gzip data"),
    "Parquet as JSON": (
        "parquet.jsonl",
        "begins like a Parquet file, not like jsonl; format parquet (--format",
    ),
    "Parquet as CSV": (
        "parquet.csv",
        "begins like a Parquet file, not like csv; format parquet (--format parquet)",
    ),
    "JSON as Parquet": (
        "jsonl.parquet",
        "begins like JSON, not like parquet; format jsonl (--format jsonl) reads it",
    ),
    "an array": (
        "array.json",
        "`jq -c '.[]' array.json > array.jsonl` makes JSON Lines",
    ),
    "a workbook": ("book.xlsx", "book.xlsx: unknown kind of file: not .jsonl"),
    "a workbook, too": ("book.xlsx", "; save the sheet as CSV"),
    "a PDF": ("paper.pdf", "error: paper.pdf: "),
    "another encoding": ("latin.csv", "try encoding cp1252 (--encoding cp1252)"),
    "no format": ("-", "standard input (-) needs format (--format): one of jsonl, csv"),
    "an empty folder": (
        "empty",
        "no .parquet, .arrow, .jsonl, .csv, .tsv, .txt, .docx or .pdf file in this folder; glob (--glob)",
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with files that have a wrong name, or are not what they seem."""
    folder = tmp_path_factory.mktemp("files")
    plain = write_jsonl(folder / "crawl.jsonl", ROWS).read_bytes()
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "crawl.parquet")
    parquet = (folder / "crawl.parquet").read_bytes()
    for name, data in {
        "plain.jsonl.gz": plain,
        "plain.jsonl.zst": plain,
        "jsonl.parquet": plain,
        "zstd.jsonl.gz": pa.compress(plain, "zstd", asbytes=True),
        "zip.jsonl.gz": b"PK\x03\x04" + bytes(100),
        "half.jsonl.gz": gzip.compress(plain)[:-20],
        "parquet.jsonl": parquet,
        "parquet.csv": parquet,
        "array.json": json.dumps(ROWS).encode(),
        "book.xlsx": b"PK\x03\x04" + bytes(100),
        "paper.pdf": b"%PDF-1.4",
        "latin.csv": "id,text\n1,café au lait\n".encode("latin-1"),
        "empty.jsonl": b"",
        "header.csv": b"id,text\n",
        "a.csv": b"id,name,city\n1,Ann Lee,Rome\n2,Bob Ray,Oslo\n",
        "exists.jsonl": b"",
    }.items():
        (folder / name).write_bytes(data)
    (folder / "empty").mkdir()
    (folder / "folder").mkdir()
    (folder / "folder" / "x.txt").write_text("one text")
    assert (
        run(
            "index", "build", folder / "crawl.jsonl", "-o", folder / "crawl.lsh", "-q"
        ).exit_code
        == 0
    )
    return folder


@pytest.fixture
def inside(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def command(name, given, *options):
    return [
        given if part == "INPUT" else part for part in READERS[name].split()
    ] + list(options)


@pytest.mark.few_cases
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("case", INPUTS)
def test_inputs(inside, name, case):
    given, said = INPUTS[case]
    assert said in failing(2 if given == "-" else 1, *command(name, given))
    assert not (inside / "out.jsonl").exists()


@pytest.mark.parametrize("name", [name for name in READERS if name != "match"])
@pytest.mark.parametrize("given", ["crawl.jsonl", "crawl.parquet"])
def test_columns_of_texts(inside, name, given):
    said = failing(1, *command(name, given, "--column", "txt"))
    assert said.endswith(
        "no column 'txt'; columns are: id, text, url; did you mean 'text'?"
    )
    said = failing(1, *command(name, given, "--column", "body"))
    assert said.endswith(
        "no column 'body'; columns are: id, text, url; choose another with column (--column)"
    )


def test_an_empty_last_row_is_left_out_as_the_error_says(inside):
    inside.joinpath("people.csv").write_text(
        "nr;name;town\n1;Ann;Rome\n2;Bob;Oslo\n;;\n"
    )
    arguments = ["records", "dedup", "people.csv", "--id-column", "nr", "-o", "x.csv"]
    said = failing(1, *arguments)
    assert said.endswith(
        "people.csv:4: id column 'nr' is missing, null or empty; --on-error skip leaves it out"
    )
    result = run(*arguments, "--on-error", "skip")
    assert result.exit_code == 0, result.output


def test_other_columns(inside):
    said = failing(1, *command("dedup", "crawl.jsonl", "--id-column", "ids"))
    assert said.endswith(
        "id column 'ids' is missing, null or empty; columns are: id, text, url; did you mean 'id'?"
    )
    said = failing(1, *command("dedup", "crawl.jsonl", "--keep", "max:ulr"))
    assert said.endswith(
        "is missing or null; columns are: id, text, url; did you mean 'url'?"
    )
    said = failing(1, *command("dedup", "crawl.parquet", "--id-column", "ids"))
    assert said.endswith(
        "no column 'ids'; columns are: id, text, url; did you mean 'id'?"
    )
    said = failing(1, *command("dedup", "crawl.jsonl", "--id-column", "id"))
    assert said.endswith(
        "id 0 is taken by crawl.jsonl:1; without id_column (--id-column), ids are the places of rows"
    )
    said = failing(2, *command("match", "a.csv", "--field", "nmae=name"))
    assert said.endswith(
        "no column 'nmae'; columns are: id, name, city; did you mean 'name'?"
    )
    said = failing(1, *command("match", "a.csv", "--id-column", "idd"))
    assert said.endswith(
        "no column 'idd'; columns are: id, name, city; did you mean 'id'?"
    )
    said = failing(
        2,
        *command(
            "match",
            "header.csv",
            "--ignore",
            "id",
            "--ignore",
            "name",
            "--ignore",
            "city",
        ),
    )
    assert "column" in said


@pytest.mark.parametrize("name", ["dedup", "pairs", "build", "check", "tune"])
def test_numbers(inside, name):
    said = failing(2, *command(name, "crawl.jsonl", "--threshold", "80"))
    assert said.endswith("threshold must be in (0, 1], not 80.0; 80 % is 0.8")
    assert failing(2, *command(name, "crawl.jsonl", "--recall", "95")).endswith(
        "; 95 % is 0.95"
    )
    assert failing(2, *command(name, "crawl.jsonl", "--threshold", "0,8")).endswith(
        "; write 0.8"
    )
    assert failing(2, *command(name, "crawl.jsonl", "--threshold", "80%")).endswith(
        "; 80 % is 0.8"
    )
    assert "%" not in failing(2, *command(name, "crawl.jsonl", "--threshold", "800"))
    said = failing(2, *command(name, "crawl.jsonl", "--encoding", "utf9"))
    assert said.endswith("; did you mean 'utf-8'?")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dedup", "--html", "out.txt", "-o", "out.csv"], "must be named .html"),
        (["pairs", "--html", "out.txt", "-o", "out.csv"], "must be named .html"),
        (["check", "--html", "out.txt"], "must be named .html"),
        (["passages", "--html", "out.txt", "-o", "out.csv"], "must be named .html"),
        (["images", "--html", "out.txt"], "must be named .html"),
        (["genomes", "--html", "out.txt", "-o", "out.csv"], "must be named .html"),
        (["web", "mirrors", "--html", "out.txt", "-o", "out.csv"], "be named .html"),
        (["images", "--radius", "900", "-o", "out.csv"], "radius must be in 0..256"),
        (["genomes", "--ani", "7", "-o", "out.csv"], "ani must be in 0..1, not 7"),
        (["dedup", "--keep", "biggest", "-o", "out.csv"], "keep must be first, last"),
    ],
)
def test_a_wrong_value_is_named_before_a_file_that_is_not_there(
    inside, arguments, said
):
    assert said in failing(2, *arguments, "nothing.txt")


def test_outputs(inside):
    for output, status, said in (
        (
            "exists.jsonl",
            2,
            "the output exists already; --overwrite replaces it",
        ),
        ("folder", 1, "folder: the output is a folder; name a file in it"),
        ("none/out.jsonl", 1, "the folder of the output does not exist; make it first"),
        ("crawl.jsonl", 2, "the output is one of the inputs; give it another name"),
        ("out.xlsx", 2, "or .parquet; output_format (--output-format) says what it is"),
    ):
        assert failing(status, "dedup", "crawl.jsonl", "-o", output).endswith(said)
    assert "folder: the output is a folder" in failing(
        1, "index", "build", "crawl.jsonl", "-o", "folder"
    )
    assert "an output is needed: -o FILE" in failing(2, "dedup", "crawl.jsonl")


def test_indexes(inside):
    for arguments in (
        ["query", "craw.lsh", "--text", "x"],
        ["info", "craw.lsh"],
        ["add", "craw.lsh", "crawl.jsonl"],
    ):
        assert failing(1, "index", *arguments).endswith(
            "craw.lsh: No such file or directory; did you mean crawl.lsh?"
        )
    said = failing(1, "index", "query", "crawl.jsonl", "--text", "x")
    assert said.endswith(
        "not an index of lshfast; lshfast index build INPUT -o FILE.lsh makes one"
    )


def test_images_and_genomes(inside):
    pytest.importorskip("PIL")
    assert failing(1, "images", "foldr", "-o", "out.csv").endswith(
        "No such file or directory; did you mean folder?"
    )
    assert "no image in this folder; images end in .apng" in failing(
        1, "images", "folder", "-o", "out.csv"
    )
    assert "did you mean crawl.jsonl?" in failing(
        1, "genomes", "craw.jsonl", "-o", "out.csv"
    )
    assert "must begin with > or @" in failing(
        1, "genomes", "crawl.jsonl", "-o", "out.csv"
    )
    assert failing(2, "genomes", "crawl.jsonl", "-o", "o.csv", "--ani", "95").endswith(
        "not 95; 95 % is 0.95"
    )


@pytest.mark.parametrize(
    "name", ["dedup", "pairs", "build", "query", "check", "passages"]
)
@pytest.mark.parametrize("given", ["empty.jsonl", "header.csv"])
def test_inputs_without_rows_are_noted(inside, tmp_path, name, given):
    result = run(
        *[part.replace("out.", f"{tmp_path}/out.") for part in command(name, given)]
    )
    assert result.exit_code == 0
    assert "note: the inputs have no rows" in result.output


def test_runs_that_find_nothing_are_noted(inside, tmp_path):
    long = write_jsonl(
        tmp_path / "a.jsonl",
        [{"text": " ".join(f"{row}w{i}" for i in range(60))} for row in "abc"],
    )
    said = run("pairs", long, "-o", tmp_path / "o.csv").stderr
    assert "note: there is no such pair; a lower --threshold" in said
    bad = write_jsonl(tmp_path / "b.jsonl", [{"body": "x"}] * 3)
    said = run("dedup", bad, "-o", tmp_path / "o.jsonl", "--on-error", "skip").stderr
    assert (
        "note: all rows were rejected; --on-error stop shows the reason of the first"
        in said
    )
    assert (
        "note: "
        not in run(
            "pairs", "crawl.jsonl", "-o", tmp_path / "p.csv", "--threshold", "0.5"
        ).stderr
    )


# The parts of the messages


def test_nearest_names():
    assert nearest("Text", ["id", "text", "tex"]) == ["text", "tex"]
    assert nearest("x" * 9, ["y" * 100_000]) == []
    columns = [f"column{i}" for i in range(50)]
    assert "column29 and 20 more" in no_column("zzz", columns)
    assert no_column("x", ["y" * 500]).endswith(f"{'y' * 60}...")


def test_nearest_files(tmp_path):
    for name in ("report.csv", "other.csv", "report.parquet"):
        (tmp_path / name).write_text("")

    def said(name):
        return nearest_file(FileNotFoundError(errno.ENOENT, "", str(tmp_path / name)))

    assert said("repotr.csv") == f"; did you mean {tmp_path}/report.csv?".replace(
        "/", os.sep
    )
    assert said("Report.parqet").endswith("report.parquet?")
    assert said("b.csv") == ""  # the suffix alone makes no names alike
    assert said("a/b/c.csv").count("there is no folder") == 1
    long_name = f"x.{'long-' * 9}name"
    (tmp_path / long_name).write_text("")
    assert said("x").endswith(f"{long_name}?")
    (tmp_path / long_name).unlink()
    assert nearest_file(FileNotFoundError("nothing")) == ""
    assert (
        files_of(str(tmp_path / "*.txt"))
        == "; in its folder are other.csv, report.csv, report.parquet"
    )
    assert files_of(str(tmp_path / "none" / "*.txt")) == ""


def test_no_permission():
    error = PermissionError(errno.EACCES, "Permission denied", "a.jsonl")
    assert (
        reason_of(error)
        == "Permission denied: its owner decides who may read it (chmod)"
    )


def test_contents():
    assert content_of(b"<!DOCTYPE html>")[0] == "HTML or XML"
    assert content_of(b"a text") is None
    assert content_of(b"") is None
    assert not_compressed("gzip", b"\x1f") == ""  # too short to tell
    assert not_compressed("gzip", b"some plain text").startswith(
        "not gzip data but text; take the suffix"
    )
    assert (
        not_compressed("xz", bytes(20))
        == "not xz data but something else; write or download it again"
    )
    assert unknown_suffix("A.XLSX") == "; save the sheet as CSV"
    assert unknown_suffix("a.xyz") == ""
