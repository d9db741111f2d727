"""Standard output and named pipes as outputs: nothing before the run has succeeded, every format, closed readers."""

import io
import json
import os
import subprocess
import sys
import threading

import pytest

from lshfast import dedup_files
from tests.cli.commands import failing, on_terminal, read_jsonl, run, write_jsonl

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = [
    "the cat sat on the mat today",
    "a dog",
    "The cat sat on the mat, today!",
    "",
    "A dog?",
    "=1+1",
]
ROWS = [{"id": f"r{row}", "text": text} for row, text in enumerate(TEXTS)]
KEPT = [ROWS[row] for row in (0, 1, 3, 5)]


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", ROWS)


def command(*arguments):
    """Return the exit status, standard output as bytes, and standard error."""
    done = run(*arguments)
    return done.exit_code, done.stdout_bytes, done.stderr


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_rows_go_to_standard_output_and_the_account_to_standard_error(
    source, tmp_path, name
):
    removed = tmp_path / "removed.csv"
    status, out, said = command(
        "dedup", source, "-o", name, "--removed", removed, "--id-column", "id"
    )
    assert status == 0
    assert [json.loads(line) for line in out.splitlines()] == KEPT
    assert "4 kept + 2 removed + 0 rejected = 6 read" in said
    assert removed.read_text().splitlines()[1:] == ["r2,r0,1.0", "r4,r1,1.0"]
    names = ["in.jsonl", "removed.csv", "removed.csv.options.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize("memory", [[], ["--memory", "1G"]])
def test_parquet_goes_through_a_pipe(source, memory):
    status, out, _ = command(
        "dedup", source, "-o", "-", "--output-format", "parquet", *memory
    )
    assert status == 0
    assert pq.read_table(io.BytesIO(out)).to_pylist() == KEPT


def test_the_format_is_that_of_the_first_input(source, tmp_path):
    run("dedup", source, "-o", tmp_path / "in.parquet")
    run("dedup", source, "-o", tmp_path / "in.csv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a text")
    assert command("dedup", tmp_path / "in.parquet", "-o", "-")[1][:4] == b"PAR1"
    assert run("dedup", tmp_path / "in.csv", "-o", "-").stdout.startswith("id,text\n")
    assert (
        json.loads(run("dedup", tmp_path / "folder", "-o", "-").stdout)["text"]
        == "a text"
    )
    result = run(
        "dedup",
        "-",
        "--format",
        "csv",
        "-o",
        "-",
        "--output-format",
        "jsonl",
        input="text\na\n",
    )
    assert json.loads(result.stdout) == {"text": "a"}


def test_tables_of_all_commands_go_to_standard_output(source, tmp_path):
    def lines(*arguments):
        result = run(*arguments, "-o", "-", "--output-format", "csv", "--quiet")
        assert result.exit_code == 0, result.stderr
        return result.stdout.splitlines()

    assert lines("pairs", source, "--id-column", "id") == [
        "key_i,key_j,similarity",
        "r0,r2,1.0",
        "r1,r4,1.0",
    ]
    assert len(lines("passages", source, "--min-words", 2)) == 3
    assert lines("dedup", source, "--split", "paragraph") == lines("dedup", source)
    assert run("index", "build", source, "-o", tmp_path / "x.lsh").exit_code == 0
    assert len(lines("index", "query", tmp_path / "x.lsh", source)) == 10
    assert (
        lines("index", "query", tmp_path / "x.lsh", "--text", TEXTS[1])[0]
        == "match,similarity"
    )
    people = write_jsonl(
        tmp_path / "people.jsonl", [{"name": f"Ann Smith {i // 2}"} for i in range(40)]
    )
    assert lines("records", "dedup", people)[0].startswith("id_a,id_b")
    (tmp_path / "urls.txt").write_text(
        "".join(f"http://{host}.org/{i}\n" for host in "ab" for i in range(9))
    )
    assert lines("web", "mirrors", tmp_path / "urls.txt")[1].startswith("b.org,a.org")
    (tmp_path / "edges.txt").write_text("a c\nb c\na d\nb d\n")
    assert lines("web", "contract", tmp_path / "edges.txt") == [
        "source,target",
        "a,c",
        "a,d",
    ]
    (tmp_path / "prints.csv").write_text(
        "id,x,y\n" + "".join(f"{who},{i},{i}\n" for who in "pq" for i in range(19))
    )
    assert (
        lines("fingerprints", "match", tmp_path / "prints.csv", "--square", 1)[0]
        == "id,match,common,similarity"
    )


FAILING = [
    ("pairs", "-o", "-"),
    ("dedup", "-o", "-"),
    ("dedup", "-o", "OUT", "--pairs", "-"),
]


@pytest.mark.parametrize("arguments", FAILING)
def test_a_run_that_fails_writes_nothing(tmp_path, arguments):
    bad = write_jsonl(tmp_path / "bad.jsonl", [*ROWS, {"id": 1}])
    given = [
        tmp_path / "out.jsonl" if argument == "OUT" else argument
        for argument in arguments
    ]
    status, out, said = command(given[0], bad, *given[1:])
    assert (status, out) == (1, b"")
    assert said.startswith("lshfast: error: ")
    assert len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def test_a_pipe_gets_the_rows_when_it_is_read(source, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(
        target=lambda: found.append((tmp_path / "pipe").read_bytes())
    )
    reader.start()
    assert (
        command(
            "dedup", source, "-o", tmp_path / "pipe", "--removed", tmp_path / "r.csv"
        )[0]
        == 0
    )
    reader.join()
    assert [json.loads(line) for line in found[0].splitlines()] == KEPT
    assert (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("name", ["dedup", "pairs"])
def test_rejected_rows_are_written_to_standard_error(tmp_path, name):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a"}\n{"\\u001b\\u009b\\u007f": 1}\n')
    result = run(name, source, "-o", "-", "--on-error", "skip", "--quiet")
    assert result.exit_code == 0
    reject, said = result.stderr.splitlines()
    assert json.loads(reject) == {
        "file": str(source), "line": 2, "reason": "no column 'text'; columns are: \x1b\x9b\x7f",
    }  # fmt: skip
    assert reject.isascii()
    assert reject.isprintable()
    assert said == "lshfast: 1 row rejected"


def test_two_outputs_are_not_one_stream(source):
    assert "two outputs of one name" in failing(
        2, "dedup", source, "-o", "-", "--removed", "/dev/stdout"
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    "arguments",
    [
        ("dedup", "IN", "-o", "-"),
        ("pairs", "IN", "-o", "-"),
        ("tune",),
        ("--help",),
        ("dedup", "-h"),
    ],
)
def test_a_closed_pipe_ends_a_command_quietly(tmp_path, arguments):
    rows = write_jsonl(
        tmp_path / "in.jsonl",
        [{"text": f"words of row {i // 2}"} for i in range(20_000)],
    )
    read, write = os.pipe()
    os.close(read)
    given = [rows if argument == "IN" else argument for argument in arguments]
    try:
        child = subprocess.run(
            [sys.executable, "-m", "lshfast", *map(str, given)],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(write)
    assert (child.returncode, child.stderr) == (141, "")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("name", ["dedup", "pairs"])
def test_a_pipe_that_is_closed_after_some_rows(tmp_path, name, unbuffered):
    """The last write takes some of its bytes, without an error, and Python repeats it only if it has a buffer."""
    rows = write_jsonl(
        tmp_path / "in.jsonl",
        [{"text": f"{i // 2} {i // 2} words of this"} for i in range(20_000)],
    )
    command = [sys.executable, "-m", "lshfast", name, str(rows), "-o", "-", "--quiet"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as child:
        assert child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "build", "IN", "-o", "-"),
        ("dedup", "IN", "--save-index", "-", "-o", "o.csv"),
    ],
)
def test_an_index_is_not_written_to_standard_output(
    source, tmp_path, monkeypatch, arguments
):
    monkeypatch.chdir(tmp_path)
    said = failing(
        1, *(source if argument == "IN" else argument for argument in arguments)
    )
    assert (
        said
        == "lshfast: error: -: an index is written to a file, not to standard output"
    )
    assert not list(tmp_path.glob("-*")) + list(tmp_path.glob("o.csv"))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor by number")
def test_standard_error_may_be_closed(source):
    command = [sys.executable, "-m", "lshfast", "dedup", str(source), "-o", "-"]
    child = subprocess.run(
        command, stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2)
    )
    assert (
        child.returncode,
        [json.loads(line) for line in child.stdout.splitlines()],
    ) == (0, KEPT)


@pytest.mark.slow
def test_rows_on_a_terminal_are_not_mixed_with_bars(source):
    shown = on_terminal(100, "dedup", source, "-o", "-").splitlines()
    assert [json.loads(line) for line in shown[:4]] == KEPT
    assert shown[4].split()[:2] == ["read", "6"]
    with pytest.raises(AssertionError, match="Parquet is not for a terminal"):
        on_terminal(100, "dedup", source, "-o", "-", "--output-format", "parquet")


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "shown"), [("dedup", "id,text"), ("pairs", "key_i,key_j,similarity")]
)
def test_rows_on_a_terminal_have_no_control_characters(tmp_path, name, shown):
    evil = "\x1b]0;title\x07\x9b\u202e\u00e9"
    (tmp_path / "in.csv").write_text(f"id,text\n{evil},a b\n{evil}2,A B\n", "utf-8")
    given = (
        name,
        tmp_path / "in.csv",
        "-o",
        "-",
        "--id-column",
        "id",
        "--output-format",
        "csv",
        "-q",
    )
    header, row = on_terminal(100, *given).splitlines()
    assert header == shown
    assert row.startswith("\\x1b]0;title\\x07\\x9b\\u202e\u00e9,")
    assert row.replace(",", "").isprintable()
    assert evil in command(*given)[1].decode()


def test_the_python_api_writes_to_standard_output(source, capfdbinary):
    dedup_files(source, "-", output_format="csv", id_column="id")
    assert (
        capfdbinary.readouterr().out
        == b"id,text\nr0,the cat sat on the mat today\nr1,a dog\nr3,\nr5,=1+1\n"
    )


@pytest.mark.parametrize("output_format", ["jsonl", "csv", "parquet"])
def test_the_format_is_chosen_whatever_the_name_says(source, tmp_path, output_format):
    dedup_files(source, tmp_path / "out.data", output_format=output_format)
    data = (tmp_path / "out.data").read_bytes()
    assert data.startswith(
        {"jsonl": b'{"id"', "csv": b"id,text\n", "parquet": b"PAR1"}[output_format]
    )
    assert "unknown kind of output" in failing(
        2, "dedup", source, "-o", tmp_path / "more.data"
    )
    assert output_format != "jsonl" or read_jsonl(tmp_path / "out.data") == KEPT
