"""Shared passages from the command line: the tables, the rows without copies, and what is left when a run fails."""

import csv
import json
import os
import signal

import pytest

from lshfast import passages
from tests.cli.commands import (
    ENDINGS,
    failing,
    read_jsonl,
    run,
    stopped,
    write_jsonl,
    write_long,
)
from tests.corpora import load
from tests.io.pages.pages import read_page

pq = pytest.importorskip("pyarrow.parquet")

RHYME = "Mary had a little lamb, its fleece was white as snow"
TEXTS = [
    f"One. {RHYME}.",
    "Nothing is shared here, not a word of it.",
    f"«{RHYME.upper()}!» Größe",
    "",
    f"{RHYME}, {RHYME}",
    RHYME,
]
OPTIONS = "--id-column", "id", "--min-words", "6"
TABLE = [
    "key_i", "start_i", "end_i", "start_byte_i", "end_byte_i", "key_j", "start_j", "end_j", "start_byte_j",
    "end_byte_j", "words", "text",
]  # fmt: skip


@pytest.fixture
def corpus(tmp_path):
    return write_jsonl(
        tmp_path / "in.jsonl",
        [{"id": f"r{i}", "text": text, "n": i} for i, text in enumerate(TEXTS)],
    )


@pytest.fixture
def benchmarks(tmp_path):
    first = [
        {"question": "Whose fleece was white as snow, and why?"},
        {"question": "Short?"},
    ]
    second = [
        {"question": f"Go on: {RHYME[:26]}"},
        {"question": "What is not in this corpus, I wonder, at all?"},
    ]
    return write_jsonl(tmp_path / "first.jsonl", first), write_jsonl(
        tmp_path / "second.jsonl", second
    )


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet", "out.tsv.gz"])
def test_the_table_of_passages(corpus, tmp_path, name):
    result = run("passages", corpus, "-o", tmp_path / name, *OPTIONS)
    assert result.exit_code == 0, result.stderr
    found = passages.find(TEXTS, length=6)
    if name.endswith((".jsonl", ".parquet", ".csv")):
        rows = load(tmp_path / name)
        assert [list(row) for row in rows] == [TABLE] * len(found)
        wanted = [
            (
                f"r{p.i}",
                p.i_start,
                p.i_end,
                f"r{p.j}",
                p.j_start,
                p.j_end,
                p.units,
                p.text,
            )
            for p in found
        ]
        columns = (
            "key_i",
            "start_i",
            "end_i",
            "key_j",
            "start_j",
            "end_j",
            "words",
            "text",
        )
        numbers = {
            column for column in columns if not column.startswith(("key", "text"))
        }
        got = [
            tuple(int(row[c]) if c in numbers else row[c] for c in columns)
            for row in rows
        ]
        assert got == wanted
    assert f"passages{len(found):>20}   in 3 rows" in result.stderr
    assert "1 too short for a passage" in result.stderr


def test_removal_keeps_the_first_copy_and_all_other_columns(corpus, tmp_path):
    outputs = (
        "-o",
        tmp_path / "out.jsonl",
        "--passages",
        tmp_path / "passages.csv",
        "--report",
        tmp_path / "report.csv",
    )
    result = run("passages", corpus, "--remove", "first", *outputs, *OPTIONS)
    assert result.exit_code == 0, result.stderr
    lines = corpus.read_text().splitlines()
    kept = (tmp_path / "out.jsonl").read_text().splitlines()
    assert kept[:2] == lines[:2]
    assert [json.loads(line) for line in kept[2:]] == [
        {"id": "r2", "text": "«Größe", "n": 2},
        {"id": "r3", "text": "", "n": 3},
    ]
    assert "4 kept + 2 removed + 0 rejected = 6 read" in result.stderr
    assert "1 of them shortened" in result.stderr
    with open(tmp_path / "report.csv") as report:
        assert list(csv.DictReader(report)) == [
            {
                "file": str(corpus),
                "documents": "6",
                "short": "1",
                "shared": "3",
                "passages": str(4 + 3 + 2 + 1),
            }
        ]


@pytest.mark.parametrize("columns", [["id", "text"], ["tags[]"]])
def test_texts_that_are_joined_are_not_shortened(tmp_path, columns):
    rows = [{"id": f"r{row}", "text": RHYME, "tags": [RHYME]} for row in range(3)]
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    options = [option for column in columns for option in ("--column", column)]
    command = "passages", path, *options, "--min-words", "5", "-o", tmp_path / "o.jsonl"
    for remove in "first", "all":
        message = failing(2, *command, "--remove", remove)
        assert f"one column of strings, not {', '.join(columns)}: texts that" in message
        assert not (tmp_path / "o.jsonl").exists()
    assert run(*command, "--remove", "rows").exit_code == 0
    assert len(read_jsonl(tmp_path / "o.jsonl")) == 1


def test_contamination_by_benchmark(corpus, benchmarks, tmp_path):
    first, second = benchmarks
    options = (
        "--against",
        first,
        "--against",
        second,
        "--against-column",
        "question",
        "--min-words",
        "5",
    )
    outputs = "--report", tmp_path / "report.jsonl", "-o", tmp_path / "passages.jsonl"
    result = run("passages", corpus, *options, *outputs, "--id-column", "id")
    assert result.exit_code == 0, result.stderr
    assert read_jsonl(tmp_path / "report.jsonl") == [
        {"file": str(first), "documents": 2, "short": 1, "shared": 1, "passages": 5},
        {"file": str(second), "documents": 2, "short": 0, "shared": 1, "passages": 5},
    ]
    assert f"contaminated{1:>16}   of 2 rows of {first}; 1 too short" in result.stderr
    found = read_jsonl(tmp_path / "passages.jsonl")
    assert [(row["key_i"], row["key_j"]) for row in found[:2]] == [
        ("r0", f"{second}:1"),
        ("r0", f"{first}:1"),
    ]
    assert found[0]["text"] == "Mary had a little lamb"
    named = [" ".join(line.split()) for line in result.stderr.splitlines()]
    place = named.index(f"62% {first}:1: 5 of 8 words in passages")
    assert named[place + 1] == f"62% {second}:1: 5 of 8 words in passages"


def test_many_contaminated_questions(corpus, tmp_path):
    """Those with the greatest shares are named, in their order if they are equal; the others are counted."""
    questions = [f"question {row} {'word ' * (row % 5)}{RHYME}" for row in range(25)]
    against = write_jsonl(
        tmp_path / "many.jsonl",
        [{"id": f"q{row}", "text": text} for row, text in enumerate(questions)],
    )
    options = (
        "--against",
        against,
        "--against-id-column",
        "id",
        "--min-words",
        "5",
        "-o",
        tmp_path / "out.jsonl",
    )
    result = run("passages", corpus, *options)
    lines = [
        line.split()
        for line in result.stderr.splitlines()
        if "words in passages" in line
    ]
    assert [line[1] for line in lines[:6]] == [
        "q0:",
        "q5:",
        "q10:",
        "q15:",
        "q20:",
        "q1:",
    ]
    assert len(lines) == 20
    assert "and 5 rows with smaller shares" in result.stderr


def test_removal_of_benchmarks(corpus, benchmarks, tmp_path):
    options = (
        "--against",
        benchmarks[0],
        "--against-column",
        "question",
        "--min-words",
        "5",
        "--remove",
        "first",
    )
    assert (
        run("passages", corpus, *options, "-o", tmp_path / "out.parquet").exit_code == 0
    )
    found = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert found["n"] == [0, 1, 2, 3, 4, 5]
    assert found["text"][0] == "One. Mary had a little lamb, its "
    assert found["text"][2] == "«MARY HAD A LITTLE LAMB, ITS Größe"
    assert found["text"][5] == "Mary had a little lamb, its "


def test_the_other_texts_may_be_read_in_batches(corpus, benchmarks, tmp_path):
    tables = []
    for options in ([], ["--stream-against"]):
        out, report, clean = (
            tmp_path / f"{len(options)}{name}"
            for name in (".jsonl", ".csv", ".clean.jsonl")
        )
        options += [
            "--against",
            benchmarks[0],
            "--against",
            benchmarks[1],
            "--against-column",
            "question",
        ]
        outputs = (
            "--remove",
            "first",
            "-o",
            clean,
            "--passages",
            out,
            "--report",
            report,
            "--min-words",
            "5",
        )
        assert run("passages", corpus, *options, *outputs).exit_code == 0
        rows = [
            {name: value for name, value in row.items() if name != "text"}
            for row in read_jsonl(out)
        ]
        tables.append((rows, report.read_bytes(), clean.read_bytes()))
    assert tables[0] == tables[1]
    assert "--stream-against needs --against" in failing(
        2, "passages", corpus, "-o", tmp_path / "o.csv", "--stream-against"
    )


def test_characters(corpus, tmp_path):
    assert (
        run(
            "passages", corpus, "-o", tmp_path / "out.csv", "--min-chars", "40"
        ).exit_code
        == 0
    )
    rows = load(tmp_path / "out.csv")
    found = passages.find(TEXTS, length=40, unit="char")
    assert [(int(row["chars"]), row["text"]) for row in rows] == [
        (p.units, p.text) for p in found
    ]
    assert len(rows) == 10


def test_bad_rows(corpus, tmp_path):
    with open(corpus, "a") as file:
        file.write('{"id": "r9"}\n')
    said = failing(1, "passages", corpus, "-o", tmp_path / "out.csv")
    assert "in.jsonl:7: no column 'text'" in said
    other = write_jsonl(tmp_path / "other.jsonl", [{"text": 5}, {"text": RHYME}])
    options = "--on-error", "skip", "--against", other, "--remove", "first", "-q"
    result = run(
        "passages", corpus, "-o", tmp_path / "out.jsonl", *options, "--min-words", "6"
    )
    assert (result.exit_code, result.stderr) == (0, "lshfast: 2 rows rejected\n")
    rejects = read_jsonl(tmp_path / "out.jsonl.rejects.jsonl")
    assert [(row["file"], row["line"]) for row in rejects] == [
        (str(corpus), 7),
        (str(other), 1),
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            [],
            "an output is needed: -o FILE, --pairs FILE, --places FILE, --report FILE or",
        ),
        (["--remove", "first"], "--remove needs an output for the rows: -o FILE"),
        (["-o", "{}/out.csv", "--passages", "{}/p.csv"], "--passages needs --remove"),
        (["-o", "{}/out.csv", "--report", "{}/out.csv"], "two outputs of one name"),
        (["-o", "{}/in.jsonl", "--overwrite"], "the output is one of the inputs"),
        (["-o", "{}/out.txt"], "unknown kind of output"),
        (
            ["-o", "{}/out.csv", "--min-words", "0"],
            "--min-words must be in 1..65536, not 0",
        ),
        (
            ["-o", "{}/out.csv", "--min-chars", "65537"],
            "--min-chars must be in 1..65536, not 65537",
        ),
        (
            ["-o", "{}/out.csv", "--against-column", "body"],
            "--against-column needs --against",
        ),
        (
            ["-o", "{}/out.csv", "--against-id-column", "id"],
            "--against-id-column needs --against",
        ),
        (
            ["-o", "{}/out.csv", "--most-copies", "-1"],
            "most_copies must be in 1..2147483647, not -1",
        ),
        (["-o", "{}/out.csv", "--remove", "last"], "--remove"),
    ],
)
def test_wrong_options(corpus, tmp_path, options, said):
    assert said in failing(
        2,
        "passages",
        corpus,
        *(option.replace("{}", str(tmp_path)) for option in options),
    )
    assert os.listdir(tmp_path) == ["in.jsonl"]


def test_the_other_texts_are_not_overwritten(corpus, benchmarks):
    said = failing(
        2,
        "passages",
        corpus,
        "--against",
        benchmarks[0],
        "-o",
        benchmarks[0],
        "--overwrite",
    )
    assert "the output is one of the inputs" in said


def test_a_corpus_without_rows(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"")
    assert (
        run("passages", tmp_path / "in.jsonl", "-o", tmp_path / "out.csv").exit_code
        == 0
    )
    assert load(tmp_path / "out.csv") == []


@pytest.mark.slow
@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"),
    reason="tells by /proc when the run is under way",
)
@pytest.mark.parametrize(
    "which", ["within", pytest.param("against", marks=pytest.mark.slow)]
)
def test_interrupt_leaves_nothing(tmp_path, which):
    big = write_long(tmp_path / "in.jsonl.gz", TEXTS[0])
    options = (
        []
        if which == "within"
        else ["--against", write_jsonl(tmp_path / "b.jsonl", [{"text": RHYME}])]
    )
    outputs = (
        "--remove",
        "first",
        "-o",
        tmp_path / "out.jsonl",
        "--passages",
        tmp_path / "passages.csv",
    )
    before = sorted(os.listdir(tmp_path))
    assert (
        stopped(signal.SIGINT, big, "passages", big, *options, *outputs)
        == ENDINGS[signal.SIGINT]
    )
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv.gz", "out.parquet"])
def test_threads_change_no_byte(corpus, tmp_path, name):
    outputs = [tmp_path / f"{threads}.{name}" for threads in (1, 3)]
    for threads, out in zip((1, 3), outputs, strict=True):
        table = tmp_path / f"{threads}.passages.csv"
        options = (
            "--remove",
            "first",
            "--passages",
            table,
            "--threads",
            threads,
            *OPTIONS,
        )
        assert run("passages", corpus, "-o", out, *options).exit_code == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert (tmp_path / "1.passages.csv").read_bytes() == (
        tmp_path / "3.passages.csv"
    ).read_bytes()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("unit", ["words", "chars"])
@pytest.mark.parametrize("copies", [2, 5, 40])
def test_all_outputs_say_which_questions_have_no_passage_in_the_table(
    tmp_path, copies, unit, stream
):
    """Questions whose copies are more than --most-copies: of these, the first one is in the table."""
    question = "whose fleece was white as snow"
    other = "how many little lambs had Mary at home"
    source = write_jsonl(
        tmp_path / "in.jsonl",
        [
            {"id": f"r{row}", "text": f"{row} begins {question} and ends"}
            for row in range(3)
        ]
        + [{"id": "x", "text": other}],
    )
    asked = [{"id": f"q{row}", "text": question} for row in range(12)]
    asked += [
        {"id": "both", "text": f"{question}. Or else {other}"},
        {"id": "none", "text": "not here"},
    ]
    first, second = (
        write_jsonl(tmp_path / f"{part}.jsonl", rows)
        for part, rows in enumerate((asked[:6], asked[6:]))
    )
    table, report, page = (
        tmp_path / name for name in ("out.jsonl", "report.jsonl", "page.html")
    )
    options = [
        "--against",
        first,
        "--against",
        second,
        "--id-column",
        "id",
        "--against-id-column",
        "id",
    ]
    options += [
        f"--min-{unit}",
        6 if unit == "words" else 20,
        "--most-copies",
        copies,
        *["--stream-against"] * stream,
    ]
    done = run(
        "passages", source, *options, "-o", table, "--report", report, "--html", page
    )
    assert done.exit_code == 0, done.stderr
    listed = {row["key_j"] for row in read_jsonl(table)}
    # with --stream-against, copies count in INPUT, which has three
    left_out = (copies < 3) if stream else (copies < 13)
    assert listed == (
        {"q0", "both"}
        if left_out and not stream
        else {f"q{row}" for row in range(12)} | {"both"}
    )
    lines = [" ".join(line.split()) for line in done.stderr.splitlines()]
    counts = [row.get("unlisted") for row in read_jsonl(report)]
    shown = read_page(page)
    covered = [line for line in lines if line.startswith("100% q") or "% both" in line]
    assert len(covered) == 13
    if not left_out:
        assert counts == [None, None]
        assert "listed" not in done.stderr + shown
        return
    if stream:  # rows of INPUT
        assert counts == [None, None]
        assert "not listed 2 rows with passages that are not in the table" in lines
        assert shown.count("not listed") >= 3
        return
    assert counts == [5, 7]
    assert "not listed 12 rows with passages that are not in the table" in lines
    assert [
        line.endswith("none of them listed")
        for line in covered
        if "% q0" not in line and "both" not in line
    ] == [True] * 11
    assert sum("with passages that are not listed" in line for line in lines) == 2
    assert not any("listed" in line for line in covered if "% q0:" in line)
    [both] = [line for line in covered if "both" in line]
    assert both.endswith("of them not listed")
    assert shown.count("100.0% not listed") == 11
    assert (
        f"12 texts with passages that are not listed: of runs of {options[9]} {unit[:4]}"
        in shown
    )
