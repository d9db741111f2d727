"""Indexes from the command line: built, added to, asked, held against; and what is left when a run fails."""

import io
import json
import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lshfast import LSHIndex, MinHasher, shingle
from lshfast._cli.console import MatchPrinter
from lshfast._engine.indexes.files import add_to_index, build_index, compact_index
from lshfast._engine.inputs import Inputs
from lshfast._engine.plan import make_plan
from tests import corpora
from tests.cli.commands import (
    ENDINGS,
    failing,
    process,
    read_jsonl,
    run,
    stopped,
    write_jsonl,
    write_long,
)

WORDS = np.random.default_rng(6).integers(0, 5000, (40, 120))
TEXTS = [" ".join(f"w{word}" for word in row) for row in WORDS]


def near(text, number=1):
    """Change a few words at the end: .92 of the shingles stay."""
    return " ".join([*text.split()[:-3], *(f"n{number}{i}" for i in range(3))])


# Row 25 is like row 3, row 26 a copy of row 5, row 27 is empty.
DAY_1 = [*TEXTS[:25], near(TEXTS[3]), TEXTS[5].upper(), "..."]
# Like rows 7 and 25 of the day before, and a copy of 5; new ones; like the new row 3 of this day.
DAY_2 = [
    near(TEXTS[7]),
    near(TEXTS[3], 2),
    TEXTS[5],
    *TEXTS[25:30],
    near(TEXTS[25]),
    "",
]


def rows_of(day, texts):
    return [
        {"id": f"{day}/{row}", "number": 100 * day + row, "text": text}
        for row, text in enumerate(texts)
    ]


def sketch(*texts):
    return MinHasher().sketch(shingle(list(texts)))


@pytest.fixture
def first(tmp_path):
    return write_jsonl(tmp_path / "day1.jsonl", rows_of(1, DAY_1))


@pytest.fixture
def second(tmp_path):
    return write_jsonl(tmp_path / "day2.jsonl", rows_of(2, DAY_2))


@pytest.fixture
def index(first, tmp_path):
    """An index of the first day, by ids."""
    assert (
        run(
            "index",
            "build",
            first,
            "-o",
            tmp_path / "day1.lsh",
            "--id-column",
            "id",
            "-q",
        ).exit_code
        == 0
    )
    return tmp_path / "day1.lsh"


def keys_of(path):
    with LSHIndex.open(path) as index:
        index.verify()
        return list(index)


def untouched(folder):
    """Return all files of a folder and what is in them."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Building


@pytest.mark.parametrize("options", [[], ["--as", "set"], ["--as", "weighted"]])
def test_empty_rows_of_sets_are_without_items(tmp_path, options):
    is_weighted = "weighted" in options
    sets = [{"a": 1, "b": 2}, {}] if is_weighted else [["a", "b"], []]
    rows = write_jsonl(tmp_path / "sets.jsonl", [{"items": items} for items in sets])
    path = tmp_path / "sets.lsh"
    reading = ["--column", "items", *options]
    built = run("index", "build", rows, "-o", path, *reading)
    added = run("index", "add", path, rows, "--on-duplicate", "skip", *reading)
    asked = run("index", "query", path, rows, *reading)
    for result in (built, added, asked):
        assert result.exit_code == 0, result.stderr
        assert "1 without elements (empty)" in result.stderr


@pytest.mark.parametrize("threads", [1, 3])
def test_build_makes_an_index_that_python_reads(first, tmp_path, threads):
    path = tmp_path / "new.lsh"
    result = run(
        "index", "build", first, "-o", path, "--id-column", "id", "--threads", threads
    )
    assert result.exit_code == 0
    assert "28 added + 0 rejected; 1 without shingles (empty)" in result.stderr
    assert "keys: strings" in result.stderr
    with LSHIndex.open(path) as index:
        assert list(index) == [f"1/{row}" for row in range(28)]
        assert index.parameters.shingles == "word:5"
        assert index.query(sketch(TEXTS[5]))[0] == ["1/26", "1/5"]


def test_choices_are_kept_with_the_index(first, tmp_path):
    path = tmp_path / "new.lsh"
    choices = (
        "--unit char --size 9 --num-perm 64 --scheme classic --seed 7 "
        "--threshold 0.7 --bands 10 --rows-per-band 6"
    )
    assert run("index", "build", first, "-o", path, *choices.split()).exit_code == 0
    with LSHIndex.open(path) as index:
        p = index.parameters
        assert (p.shingles, p.num_perm, p.scheme, p.seed, p.threshold, p.bands, p.rows_per_band) == (
            "char:9", 64, "classic", 7, 0.7, 10, 6,
        )  # fmt: skip
        found = index.query(
            MinHasher(64, "classic", 7).sketch(shingle([TEXTS[0]], "char", 9, seed=7))[
                0
            ],
            k=1,
        )
        assert found == [(f"{first}:1", 1.0)]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["--id-column", "id"], [f"1/{row}" for row in range(28)]),
        (["--id-column", "number"], list(range(100, 128))),
        ([], [f"{{}}:{row}" for row in range(1, 29)]),
    ],
)
def test_keys_are_ids_of_one_kind_or_places(first, tmp_path, options, keys):
    path = tmp_path / "new.lsh"
    run("index", "build", first, "-o", path, *options)
    assert keys_of(path) == [
        key.format(first) if isinstance(key, str) else key for key in keys
    ]


def test_inputs_of_all_formats(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", [{"body": text} for text in TEXTS[:3]])
    pq.write_table(pa.table({"body": TEXTS[3:5]}), tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text(
        "".join(f"{line}\n" for line in ["body", *TEXTS[5:7]])
    )
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "one.md").write_text(TEXTS[7])
    inputs = [tmp_path / name for name in ("a.jsonl", "b.parquet", "c.csv", "d")]
    result = run(
        "index",
        "build",
        *inputs,
        "-o",
        tmp_path / "x.lsh",
        "--column",
        "body",
        "--glob",
        "*.md",
    )
    assert "8 added" in result.stderr
    with LSHIndex.open(tmp_path / "x.lsh") as index:
        answers = index.query(sketch(*TEXTS[:8]))
    places = [
        "a.jsonl:1",
        "a.jsonl:2",
        "a.jsonl:3",
        "b.parquet:1",
        "b.parquet:2",
        "c.csv:2",
        "c.csv:3",
        "d/one.md",
    ]
    assert list(answers) == [[str(tmp_path / place)] for place in places]


def test_an_index_without_rows_takes_keys_of_either_kind(first, tmp_path):
    (tmp_path / "none.jsonl").touch()
    for column, path in (("id", tmp_path / "a.lsh"), ("number", tmp_path / "b.lsh")):
        assert (
            "keys: none yet"
            in run("index", "build", tmp_path / "none.jsonl", "-o", path).stderr
        )
        assert run("index", "query", path, first).stdout == ""
        assert run("index", "add", path, first, "--id-column", column).exit_code == 0
        assert len(keys_of(path)) == 28


@pytest.mark.parametrize(
    ("on_duplicate", "said", "found"),
    [
        ("skip", "1 added + 1 skipped + 0 rejected", {0: ["a"], 1: []}),
        ("replace", "1 added + 1 replaced + 0 rejected", {0: [], 1: ["a"]}),
    ],
)
def test_one_id_twice_in_the_inputs(tmp_path, on_duplicate, said, found):
    rows = [{"id": "a", "text": text} for text in TEXTS[:2]]
    inputs = write_jsonl(tmp_path / "in.jsonl", rows)
    command = "index", "build", inputs, "-o", tmp_path / "x.lsh", "--id-column", "id"
    assert "in.jsonl:2: id 'a' is taken by" in failing(1, *command)
    assert said in run(*command, "--on-duplicate", on_duplicate).stderr
    with LSHIndex.open(tmp_path / "x.lsh") as index:
        assert {i: index.query(sketch(TEXTS[i])[0]) for i in found} == found


def test_bad_rows_stop_the_building_or_are_named_beside_the_index(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(
        json.dumps({"text": TEXTS[0]})
        + '\n{"text": 5}\n'
        + json.dumps({"text": TEXTS[1]})
        + "\n"
    )
    path = tmp_path / "x.lsh"
    before = untouched(tmp_path)
    assert "bad.jsonl:2: " in failing(1, "index", "build", bad, "-o", path)
    assert untouched(tmp_path) == before
    assert (
        "2 added + 1 rejected"
        in run("index", "build", bad, "-o", path, "--on-error", "skip").stderr
    )
    (reject,) = read_jsonl(tmp_path / "x.lsh.rejects.jsonl")
    assert (reject["file"], reject["line"]) == (str(bad), 2)
    assert keys_of(path) == [f"{bad}:1", f"{bad}:3"]
    command = "index", "add", path, bad, "--on-error", "skip", "--on-duplicate", "skip"
    before = untouched(tmp_path)
    assert "x.lsh.rejects.jsonl: the output exists already" in failing(2, *command)
    assert untouched(tmp_path) == before
    assert "0 added + 2 skipped + 1 rejected" in run(*command, "--overwrite").stderr


def test_wrong_places_for_an_index(first, index, tmp_path):
    before = untouched(tmp_path)
    assert "exists already" in failing(2, "index", "build", first, "-o", index)
    assert "one of the inputs" in failing(
        2, "index", "build", first, "-o", first, "--overwrite"
    )
    assert "does not exist" in failing(
        1, "index", "build", first, "-o", tmp_path / "no" / "x.lsh"
    )
    assert "threshold must be in (0, 1], not 0.0" in failing(
        2, "index", "build", first, "-o", tmp_path / "x.lsh", "--threshold", 0
    )
    assert untouched(tmp_path) == before
    assert run("index", "build", first, "-o", index, "--overwrite").exit_code == 0
    assert keys_of(index)[0] == f"{first}:1"


# Adding and removing


def test_add_goes_by_what_the_index_says(first, second, tmp_path):
    path = tmp_path / "x.lsh"
    run(
        "index",
        "build",
        first,
        "-o",
        path,
        "--id-column",
        "id",
        "--unit",
        "char",
        "--size",
        9,
        "--seed",
        3,
    )
    result = run("index", "add", path, second, "--id-column", "id")
    assert "10 added + 0 rejected; 1 without shingles (empty)" in result.stderr
    assert f"{'entries':<14}{38:>14,}" in result.stderr
    assert set(keys_of(path)) == {f"1/{row}" for row in range(28)} | {
        f"2/{row}" for row in range(10)
    }
    whole = tmp_path / "whole.lsh"
    run(
        "index",
        "build",
        first,
        second,
        "-o",
        whole,
        "--id-column",
        "id",
        "--unit",
        "char",
        "--size",
        9,
        "--seed",
        3,
    )
    assert sorted(
        run("index", "query", path, second, "-k", 3, "-q").stdout.splitlines()
    ) == sorted(run("index", "query", whole, second, "-k", 3, "-q").stdout.splitlines())


def test_a_key_that_is_there_already(index, tmp_path):
    again = write_jsonl(
        tmp_path / "again.jsonl",
        [{"id": "2/0", "text": TEXTS[30]}, {"id": "1/0", "text": TEXTS[31]}],
    )
    command = "index", "add", index, again, "--id-column", "id"
    before = untouched(tmp_path)
    said = failing(1, *command)
    assert (
        f"again.jsonl:2: key '1/0' is in {index} already (on-duplicate skip or replace allows that)"
        in said
    )
    assert untouched(tmp_path) == before
    assert "1 added + 1 skipped" in run(*command, "--on-duplicate", "skip").stderr
    assert run("index", "query", index, "--text", TEXTS[31]).stdout == ""
    assert "0 added + 2 replaced" in run(*command, "--on-duplicate", "replace").stderr
    assert run("index", "query", index, "--text", TEXTS[31]).stdout == "1/0\t1.0\n"
    assert run("index", "query", index, "--text", TEXTS[0]).stdout == ""


def test_keys_of_another_kind_are_refused(index, second, tmp_path):
    before = untouched(tmp_path)
    said = failing(1, "index", "add", index, second, "--id-column", "number")
    assert f"day2.jsonl:1: key 200: the keys of {index} are strings" in said
    assert untouched(tmp_path) == before


def test_remove(index, tmp_path):
    assert (
        run("index", "remove", index, "1/0", "1/3", "1/0").stderr
        == "2 removed, 26 left\n"
    )
    keys = tmp_path / "keys.txt"
    keys.write_bytes(b"1/1\r\n\n1/2")
    assert run("index", "remove", index, "1/4", "--keys", keys, "-q").stderr == ""
    assert (
        run("index", "remove", index, "--keys", "-", input="1/5\n1/6\n").exit_code == 0
    )
    assert set(keys_of(index)) == {f"1/{row}" for row in range(7, 28)}
    assert (
        run("index", "query", index, "--text", TEXTS[24].upper()).stdout
        == "1/24\t1.0\n"
    )
    assert run("index", "query", index, "--text", TEXTS[0]).stdout == ""


def test_remove_what_is_not_there(index, tmp_path):
    before = untouched(tmp_path)
    assert "there is no key '1/99'; nothing was removed" in failing(
        1, "index", "remove", index, "1/1", "1/99"
    )
    assert "keys are needed" in failing(2, "index", "remove", index)
    assert untouched(tmp_path) == before
    (tmp_path / "keys.txt").write_bytes(b"1/1\n\xff\n")
    assert "keys.txt:2: not UTF-8" in failing(
        1, "index", "remove", index, "--keys", tmp_path / "keys.txt"
    )
    assert (
        run("index", "remove", index, "1/99", "1/1", "--on-missing", "skip").stderr
        == "1 removed, 27 left\n"
    )


def test_remove_integers(first, tmp_path):
    path = tmp_path / "x.lsh"
    run("index", "build", first, "-o", path, "--id-column", "number")
    assert (
        run("index", "remove", path, "100", "+101", "--on-missing", "skip").stderr
        == "2 removed, 26 left\n"
    )
    for key in ("x", "1.5", ""):
        assert f"key {key!r}: the keys of this index are integers" in failing(
            1, "index", "remove", path, "102", key
        )
    assert "there is no key 99999999999999999999" in failing(
        1, "index", "remove", path, "102", "9" * 20
    )
    assert keys_of(path) == list(range(102, 128))


# Asking


def test_query_prints_keys_and_similarities(index, second):
    result = run("index", "query", index, second, "--id-column", "id")
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    with LSHIndex.open(index) as opened:
        answers = opened.query(sketch(*DAY_2), threshold=0.8)
    assert lines == [
        [f"2/{row}", key, str(similarity)]
        for row, found in enumerate(answers)
        for key, similarity in found
    ]
    assert sorted(line[:2] for line in lines) == [
        ["2/0", "1/7"], ["2/1", "1/25"], ["2/1", "1/3"], ["2/2", "1/26"], ["2/2", "1/5"],
    ]  # fmt: skip
    assert "rows that are similar to an entry" in result.stderr
    assert "1 without shingles (empty)" in result.stderr


@pytest.mark.parametrize(
    "name", ["out.csv", "out.jsonl", "out.jsonl.gz", "out.parquet"]
)
def test_query_writes_tables(index, second, tmp_path, name):
    out = tmp_path / name
    result = run(
        "index", "query", index, second, "--id-column", "id", "-k", 1, "-o", out
    )
    assert (result.exit_code, result.stdout) == (0, "")
    rows = corpora.load(out)
    assert list(rows[0]) == ["key", "match", "similarity"]
    found = [
        (row["key"], row["match"]) for row in rows if float(row["similarity"]) > 0.8
    ]
    assert [found[0], found[2]] == [("2/0", "1/7"), ("2/2", "1/26")]
    assert "exists already" in failing(2, "index", "query", index, second, "-o", out)


@pytest.mark.parametrize("column", ["id", "number"])
def test_tables_have_one_type_whatever_was_found(first, tmp_path, column):
    """Keys of the run are strings; those of the index are strings or integers."""
    index = tmp_path / "x.lsh"
    other = write_jsonl(tmp_path / "other.jsonl", [{"text": "of its own"}])
    run("index", "build", first, "-o", index, "--id-column", column)
    kind = {"id": "string", "number": "int64"}[column]
    out = tmp_path / "o.parquet"
    removed = tmp_path / "r.parquet"
    for inputs in (first, other):
        assert (
            run("index", "query", index, inputs, "-o", out, "--overwrite").exit_code
            == 0
        )
        assert list(map(str, pq.read_schema(out).types)) == ["string", kind, "double"]
        command = (
            "dedup",
            inputs,
            "--against",
            index,
            "-o",
            out,
            "--annotate",
            "--removed",
            removed,
            "--overwrite",
        )
        assert run(*command).exit_code == 0
        assert list(map(str, pq.read_schema(removed).types)) == [
            "string",
            "string",
            "double",
            "bool",
            "bool",
        ]
        assert list(map(str, pq.read_schema(out).types))[-4:] == [
            "string",
            "double",
            "bool",
            "bool",
        ]
    assert (
        run(
            "index", "query", index, "--text", "none", "-o", out, "--overwrite"
        ).exit_code
        == 0
    )
    assert list(map(str, pq.read_schema(out).types)) == [kind, "double"]


def test_query_one_text(index, tmp_path):
    assert (
        run("index", "query", index, "--text", TEXTS[5]).stdout
        == "1/26\t1.0\n1/5\t1.0\n"
    )
    assert (
        run("index", "query", index, "--text", TEXTS[5], "-k", 1).stdout
        == "1/26\t1.0\n"
    )
    assert (
        run(
            "index", "query", index, "--text", near(TEXTS[7]), "--threshold", 0.99
        ).stdout
        == ""
    )
    assert run("index", "query", index, "--text", "").stdout == ""
    assert run("index", "query", index, "--text", TEXTS[5]).stderr == ""
    said = f"lshfast: no match: no entry of {index} is similar enough to the text\n"
    assert run("index", "query", index, "--text", "of its own").stderr == said
    assert run("index", "query", index, "--text", "of its own", "-q").stderr == ""
    other = write_jsonl(tmp_path / "other.jsonl", [{"text": "of its own"}])
    result = run("index", "query", index, other)
    assert result.stdout == ""
    assert result.stderr.endswith(
        f"lshfast: no match: no entry of {index} is similar enough to a row of INPUT\n"
    )
    out = tmp_path / "out.csv"
    assert (
        run("index", "query", index, "--text", TEXTS[5], "-k", 1, "-o", out).stdout
        == ""
    )
    assert out.read_text() == "match,similarity\n1/26,1.0\n"


def test_k_takes_any_similarity_and_a_threshold_as_well_only_such(first, tmp_path):
    path = tmp_path / "x.lsh"
    run(
        "index",
        "build",
        first,
        "-o",
        path,
        "--id-column",
        "id",
        "--bands",
        128,
        "--rows-per-band",
        1,
    )
    half = " ".join([*TEXTS[0].split()[:60], *TEXTS[1].split()[60:]])
    both = [
        line.split("\t")[0]
        for line in run(
            "index", "query", path, "--text", half, "-k", 2
        ).stdout.splitlines()
    ]
    assert sorted(both) == ["1/0", "1/1"]
    assert (
        run("index", "query", path, "--text", half, "-k", 2, "--threshold", 0.9).stdout
        == ""
    )
    assert (
        len(
            run(
                "index", "query", path, "--text", half, "--threshold", 0.2
            ).stdout.splitlines()
        )
        == 2
    )


def test_most_leaves_out_copies(index, second, tmp_path):
    command = ["index", "query", index, second, "--id-column", "id", "-q"]
    every = [line.split("\t") for line in run(*command).stdout.splitlines()]
    limited = [
        line.split("\t") for line in run(*command, "--most", 0.99).stdout.splitlines()
    ]
    assert limited == [match for match in every if float(match[2]) <= 0.99]
    assert 0 < len(limited) < len(every)
    first_ones = run(*command, "-k", 1, "--most", 0.99).stdout
    assert all(float(line.split("\t")[2]) <= 0.99 for line in first_ones.splitlines())
    one = run("index", "query", index, "--text", DAY_1[25], "--most", 0.99, "-k", 1)
    assert float(one.stdout.split("\t")[1]) <= 0.99
    assert f"{index}: most must be in 0.8..1, from the threshold, not 0.5" in failing(
        2, *command, "--most", 0.5
    )
    assert "least is a lower bound of distances" in failing(2, *command, "--least", 0.5)


def test_bad_queries(index, second, tmp_path):
    before = untouched(tmp_path)
    assert "either INPUT... or --text" in failing(2, "index", "query", index)
    assert "either INPUT... or --text" in failing(
        2, "index", "query", index, second, "--text", "x"
    )
    assert "k must be at least 1, not 0" in failing(
        2, "index", "query", index, second, "-k", 0
    )
    assert "threshold must be in" in failing(
        2, "index", "query", index, second, "--threshold", 1.5
    )
    assert "day2.jsonl:1: no column 'body'" in failing(
        1, "index", "query", index, second, "--column", "body"
    )
    assert "unknown kind of output" in failing(
        2, "index", "query", index, second, "-o", tmp_path / "o.txt"
    )
    assert untouched(tmp_path) == before


def test_rows_passed_over_by_queries_are_named(index, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": 5}\n' + json.dumps({"text": TEXTS[8]}) + "\n")
    result = run("index", "query", index, bad, "--on-error", "skip", "-q")
    assert result.stdout == f"{bad}:2\t1/8\t1.0\n"
    assert result.stderr.startswith(f"lshfast: skipped: {bad}:1: ")
    result = run(
        "index",
        "query",
        index,
        bad,
        "--on-error",
        "skip",
        "-q",
        "-o",
        tmp_path / "o.csv",
    )
    assert [
        reject["line"] for reject in read_jsonl(tmp_path / "o.csv.rejects.jsonl")
    ] == [1]


def test_keys_with_tabs_and_line_ends_stay_on_one_line(tmp_path):
    key = "a\tb\nc\\n"
    rows = write_jsonl(tmp_path / "in.jsonl", [{"id": key, "text": TEXTS[0]}])
    run("index", "build", rows, "-o", tmp_path / "x.lsh", "--id-column", "id")
    shown = "a\\tb\\nc\\\\n"
    assert (
        run("index", "query", tmp_path / "x.lsh", rows, "--id-column", "id").stdout
        == f"{shown}\t{shown}\t1.0\n"
    )


def test_a_terminal_gets_a_table():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    printer = MatchPrinter(stream)
    printer(["a", "b"], ["longer", "x\ty"], [1.0, 0.5])
    assert stream.getvalue() == ""
    printer(["c"], [7], [0.25])
    printer.close()
    assert stream.getvalue().splitlines() == [
        "key  match   similarity", "a    longer  1.0", "b    x\\ty    0.5", "c    7       0.25",
    ]  # fmt: skip
    stream.truncate(stream.seek(0))
    printer = MatchPrinter(stream)
    printer(["a"], [3.0], name="distance")
    printer.close()
    assert stream.getvalue().splitlines() == ["match  distance", "a      3.0"]


@pytest.mark.slow
def test_who_has_seen_enough_may_leave(index, first):
    child = process("index", "query", index, first, "--threshold", 0.5, "-q")
    child.stdout.close()
    _, said = child.communicate(timeout=60)
    assert said == ""


# Looking at it


def test_info(index):
    shown = run("index", "info", index).stdout
    figures = (
        "28   keys: strings",
        "word:5",
        "128 slots, fast, seed 1",
        "18 x 7   recall at the threshold: 0.9855",
    )
    sizes = "signature ", "table ", "key ", "file size ", "file waste ", "segments "
    with LSHIndex.open(index) as opened:
        stats = opened.stats()
    buckets = [
        f"{'1':<14}{stats.bucket_sizes[1]:>14,}   {'#' * 24}\n",
        f"{'2':<14}{stats.bucket_sizes[2]:>14,}   #",
    ]
    for part in (
        *figures,
        *sizes,
        *buckets,
        f"{stats.expected_candidates:,.2f}   a query is compared with about this many",
    ):
        assert part in shown
    run("index", "remove", index, "1/0")
    assert "27   keys: strings" in run("index", "info", index).stdout


def test_verify_and_compact(index, tmp_path):
    size = index.stat().st_size
    assert (
        run("index", "verify", index).stdout
        == f"{index}: sound, 28 entries, {size:,} bytes\n"
    )
    run("index", "remove", index, *(f"1/{row}" for row in range(20)))
    before = index.stat().st_size
    said = run("index", "compact", index).stderr
    after = index.stat().st_size
    assert said == f"{index}: {before:,} bytes before, {after:,} after\n"
    assert after < before
    assert keys_of(index) == [f"1/{row}" for row in range(20, 28)]


def test_what_takes_long_tells_of_its_progress(index, second, tmp_path):
    told = []

    def note(stage, done, total):
        assert total is None or done <= total
        told.append((stage, done))

    plan, inputs = make_plan(), Inputs([str(second)], id_column="id")
    for act in (
        lambda: build_index(inputs, str(tmp_path / "x.lsh"), plan, progress=note),
        lambda: add_to_index(str(index), inputs, progress=note),
        lambda: compact_index(str(index), progress=note),
    ):
        told.clear()
        act()
        assert [done for stage, done in told if stage == "save"][-1] >= 10 * 128 * 8


def test_a_file_that_is_no_index_is_replaced_if_that_is_asked_for(first, tmp_path):
    (tmp_path / "x.lsh").write_text("notes")
    command = "index", "build", first, "-o", tmp_path / "x.lsh"
    assert "exists already" in failing(2, *command)
    assert (tmp_path / "x.lsh").read_text() == "notes"
    assert run(*command, "--overwrite").exit_code == 0
    assert len(keys_of(tmp_path / "x.lsh")) == 28


@pytest.mark.skipif(os.name != "posix", reason="pipes have names there")
def test_a_device_or_pipe_is_no_place_for_an_index(first, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in failing(
        1, "index", "build", first, "-o", tmp_path / "pipe", "--overwrite"
    )
    assert "no column 'none'" not in failing(1, "index", "build", first, "-o", os.devnull, "--overwrite",
                                             "--column", "none")  # fmt: skip
    assert not os.path.isfile(os.devnull)


def test_damage_is_named(index, second, tmp_path):
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 1
    index.write_bytes(data)
    for command in (
        ["verify", index],
        ["query", index, second],
        ["add", index, second],
        ["info", index],
    ):
        assert "signatures: its checksum is wrong" in failing(1, "index", *command)
    assert "signatures: its checksum is wrong" in failing(
        1, "dedup", second, "--against", index, "-o", tmp_path / "o.jsonl"
    )
    assert index.read_bytes() == data


def test_what_is_no_index_of_texts(first, tmp_path):
    assert "No such file" in failing(1, "index", "info", tmp_path / "none.lsh")
    assert "not an index of lshfast" in failing(1, "index", "verify", first)
    plain = LSHIndex()
    plain.insert(["a"], sketch(TEXTS[0]))
    plain.save(tmp_path / "plain.lsh")
    for command in (
        ["index", "query"],
        ["index", "add"],
        ["dedup", "--dry-run", "--against"],
    ):
        assert "plain.lsh: the shingles of this index are not known" in failing(
            2, *command, tmp_path / "plain.lsh", first
        )
    assert (
        f"{'shingles':<31}unknown"
        in run("index", "info", tmp_path / "plain.lsh").stdout
    )
    assert run("index", "verify", tmp_path / "plain.lsh").exit_code == 0
    assert run("index", "remove", tmp_path / "plain.lsh", "a").exit_code == 0


def test_one_writer_at_a_time(index, second):
    with LSHIndex.open(index, "r+"):
        for command in (
            ["add", index, second],
            ["remove", index, "1/1"],
            ["compact", index],
        ):
            assert "is open for writing elsewhere" in failing(1, "index", *command)
        assert run("index", "query", index, "--text", TEXTS[0]).exit_code == 0


# dedup against an index


def test_new_rows_against_earlier_ones_and_each_other(index, second, tmp_path):
    out = tmp_path / "kept.jsonl"
    removed = tmp_path / "removed.csv"
    pairs = tmp_path / "pairs.csv"
    result = run("dedup", second, "--against", index, "-o", out, "--removed", removed, "--pairs", pairs,
                 "--id-column", "id")  # fmt: skip
    assert result.exit_code == 0
    assert [row["id"] for row in read_jsonl(out)] == [
        "2/3",
        "2/4",
        "2/5",
        "2/6",
        "2/7",
        "2/9",
    ]
    account = corpora.load(removed)
    assert [(row["key"], row["earlier"], row["estimated"]) for row in account] == [
        ("2/0", "true", "true"), ("2/1", "true", "true"), ("2/2", "true", "true"), ("2/8", "false", "false"),
    ]  # fmt: skip
    assert [row["kept_key"] for row in account][0::2] == ["1/7", "1/26"]
    assert account[1]["kept_key"] in ("1/3", "1/25")
    assert account[3]["kept_key"] == "2/3"
    assert all(0.8 <= float(row["similarity"]) <= 1 for row in account)
    assert [(row["key_i"], row["key_j"]) for row in corpora.load(pairs)] == [
        ("2/3", "2/8")
    ]
    assert "6 kept + 4 removed + 0 rejected = 10 read" in result.stderr
    assert (
        f"{'removed':<14}{4:>14,}   3 of them for an earlier entry, by estimates"
        in result.stderr
    )
    assert len(keys_of(index)) == 28


def test_annotations_name_earlier_keys(index, second, tmp_path):
    out = tmp_path / "all.parquet"
    run(
        "dedup",
        second,
        "--against",
        index,
        "-o",
        out,
        "--annotate",
        "--id-column",
        "id",
        "--verify",
        "signature",
    )
    rows = pq.read_table(out).to_pylist()
    assert [row["duplicate_of"] for row in rows][0::2] == [
        "1/7",
        "1/26",
        None,
        None,
        "2/3",
    ]
    assert [row["earlier"] for row in rows] == [
        True,
        True,
        True,
        None,
        None,
        None,
        None,
        None,
        False,
        None,
    ]
    assert [row["estimated"] for row in rows] == [
        True,
        True,
        True,
        None,
        None,
        None,
        None,
        None,
        True,
        None,
    ]


def test_keys_of_two_kinds_become_strings(first, second, tmp_path):
    run("index", "build", first, "-o", tmp_path / "x.lsh", "--id-column", "number")
    out = tmp_path / "removed.parquet"
    run(
        "dedup",
        second,
        "--against",
        tmp_path / "x.lsh",
        "-o",
        tmp_path / "o.csv",
        "--removed",
        out,
    )
    kept = pq.read_table(out)["kept_key"].to_pylist()
    assert [kept[0], kept[2], kept[3]] == ["107", "105", f"{second}:4"]


@pytest.mark.parametrize("scheme", ["fast", "classic"])
def test_day_by_day_as_all_at_once(first, second, tmp_path, scheme):
    """The rows that stay are the same, where no similarity is near the threshold."""
    run("dedup", first, second, "-o", tmp_path / "joint.jsonl", "--scheme", scheme)
    run("dedup", first, "-o", tmp_path / "a.jsonl", "--save-index", tmp_path / "seen.lsh", "--id-column", "id",
        "--scheme", scheme)  # fmt: skip
    result = run("dedup", second, "--against", tmp_path / "seen.lsh", "--save-index", tmp_path / "seen.lsh",
                 "-o", tmp_path / "b.jsonl", "--id-column", "id")  # fmt: skip
    kept = [
        read_jsonl(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "joint.jsonl")
    ]
    assert kept[0] + kept[1] == kept[2]
    assert set(keys_of(tmp_path / "seen.lsh")) == {row["id"] for row in kept[2]}
    assert f"{'indexed':<14}{6:>14,}" in result.stderr


def test_save_elsewhere_leaves_the_earlier_index(index, second, tmp_path):
    before, both = index.read_bytes(), tmp_path / "both.lsh"
    index.chmod(0o444)
    command = (
        "dedup",
        second,
        "--against",
        index,
        "--save-index",
        both,
        "--id-column",
        "id",
        "-o",
        tmp_path / "o.jsonl",
    )
    assert run(*command).exit_code == 0
    assert index.read_bytes() == before
    new = ["2/3", "2/4", "2/5", "2/6", "2/7", "2/9"]
    assert set(keys_of(both)) == {f"1/{row}" for row in range(28)} | set(new)
    assert run("index", "query", both, "--text", TEXTS[26]).stdout == "2/4\t1.0\n"
    assert "both.lsh: the output exists already" in failing(
        2, *command[:-1], tmp_path / "p.jsonl"
    )
    assert run(*command, "--overwrite").exit_code == 0


@pytest.mark.parametrize("elsewhere", [False, True])
def test_dry_run_finds_keys_that_clash(index, second, tmp_path, elsewhere):
    """As the run itself would, before it writes."""
    new = write_jsonl(tmp_path / "new.jsonl", [{"id": "1/4", "text": TEXTS[30]}])
    save = tmp_path / "x.lsh" if elsewhere else index
    against = "--against", index, "--save-index", save, "--dry-run"
    before = untouched(tmp_path)
    assert f"new.jsonl:1: key '1/4' is in {index} already" in failing(
        1, "dedup", new, *against, "--id-column", "id"
    )
    assert "key 200: the keys of" in failing(
        1, "dedup", second, *against, "--id-column", "number"
    )
    result = run(
        "dedup", new, *against, "--id-column", "id", "--on-duplicate", "replace"
    )
    assert f"{'indexed':<14}{1:>14,}" in result.stderr
    index.chmod(0o444)
    assert run("dedup", second, *against, "--id-column", "id").exit_code == 0
    assert untouched(tmp_path) == before
    if elsewhere:
        save.write_text("notes")
        assert "x.lsh: the output exists already" in failing(
            2, "dedup", second, *against
        )
        assert run("dedup", second, *against, "--overwrite").exit_code == 0
        assert save.read_text() == "notes"


def test_another_file_is_replaced_by_a_saved_index_if_that_is_asked_for(
    second, tmp_path
):
    (tmp_path / "x.lsh").write_text("notes")
    command = (
        "dedup",
        second,
        "--save-index",
        tmp_path / "x.lsh",
        "-o",
        tmp_path / "o.jsonl",
    )
    assert "exists already" in failing(2, *command)
    assert run(*command, "--overwrite").exit_code == 0
    assert len(keys_of(tmp_path / "x.lsh")) == 9


@pytest.mark.skipif(os.name != "posix", reason="devices are files there")
def test_a_device_is_no_place_for_an_output(second, tmp_path):
    (tmp_path / "o.jsonl").symlink_to(os.devnull)
    said = failing(1, "dedup", second, "-o", tmp_path / "o.jsonl", "--overwrite")
    assert "o.jsonl: the output is a device, pipe or socket, not a file" in said


def test_dry_run_leaves_all_as_it_is(index, second, tmp_path):
    before = untouched(tmp_path)
    result = run(
        "dedup", second, "--against", index, "--save-index", index, "--dry-run"
    )
    assert "6 kept + 4 removed" in result.stderr
    assert untouched(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threshold", 0.7], "day1.lsh: threshold is 0.8 in this index, not 0.7"),
        (["--unit", "char"], "day1.lsh: unit is word in this index, not char"),
        (["--size", 4], "day1.lsh: size is 5 in this index, not 4"),
        (["--num-perm", 64], "day1.lsh: num_perm is 128 in this index, not 64"),
        (
            ["--scheme", "classic"],
            "day1.lsh: scheme is fast in this index, not classic",
        ),
        (["--seed", 2], "day1.lsh: seed is 1 in this index, not 2"),
        (["--bands", 20], "day1.lsh: bands is 18 in this index, not 20"),
        (["--rows-per-band", 5], "day1.lsh: rows_per_band is 7 in this index, not 5"),
        (["--recall", 0.9999], "day1.lsh: recall 0.9999 needs"),
        (
            ["--groups", "components"],
            "day1.lsh: groups must be star against earlier rows",
        ),
        (["--verify", "maybe"], None),
    ],
)
def test_options_that_contradict_the_index(index, second, tmp_path, options, said):
    command = "dedup", second, "--against", index, "-o", tmp_path / "o.jsonl", *options
    before = untouched(tmp_path)
    if said is None:
        assert run(*command).exit_code == 2
    else:
        assert said in failing(2, *command)
    assert untouched(tmp_path) == before


def test_options_that_repeat_what_the_index_says(first, second, tmp_path):
    choices = "--unit char --size 9 --num-perm 64 --scheme classic --seed 7 --threshold 0.7 --recall 0.9"
    run("index", "build", first, "-o", tmp_path / "x.lsh", *choices.split())
    for given in ("", choices):
        result = run(
            "dedup",
            second,
            "--against",
            tmp_path / "x.lsh",
            "--dry-run",
            *given.split(),
        )
        assert "6 kept + 4 removed" in result.stderr


def test_outputs_and_indexes_of_one_name(index, second, tmp_path):
    before = untouched(tmp_path)
    out = tmp_path / "o.jsonl"
    assert "two outputs of one name" in failing(
        2, "dedup", second, "-o", out, "--save-index", out
    )
    assert "one of the inputs" in failing(
        2, "dedup", second, "-o", out, "--save-index", second, "--overwrite"
    )
    assert "does not exist" in failing(
        1, "dedup", second, "-o", out, "--save-index", tmp_path / "no" / "x.lsh"
    )
    assert untouched(tmp_path) == before


# Keys that clash


def test_a_row_that_stays_and_whose_key_is_taken(index, tmp_path):
    # The first is not to be added.
    rows = [{"id": "1/3", "text": TEXTS[3]}, {"id": "1/4", "text": TEXTS[30]}]
    new, out = write_jsonl(tmp_path / "new.jsonl", rows), tmp_path / "o.jsonl"
    command = (
        "dedup",
        new,
        "--against",
        index,
        "--save-index",
        index,
        "--id-column",
        "id",
        "-o",
        out,
    )
    before = untouched(tmp_path)
    assert f"new.jsonl:2: key '1/4' is in {index} already" in failing(1, *command)
    assert untouched(tmp_path) == before

    assert f"{'indexed':<14}{0:>14,}" in run(*command, "--on-duplicate", "skip").stderr
    assert read_jsonl(out) == rows[1:]
    assert run("index", "query", index, "--text", TEXTS[4]).stdout == "1/4\t1.0\n"

    result = run(*command, "--on-duplicate", "replace", "--overwrite")
    assert f"{'indexed':<14}{1:>14,}" in result.stderr
    assert run("index", "query", index, "--text", TEXTS[30]).stdout == "1/4\t1.0\n"
    assert run("index", "query", index, "--text", TEXTS[4]).stdout == ""


def test_keys_that_cannot_join_stop_the_run_at_the_first_row(index, second, tmp_path):
    before = untouched(tmp_path)
    command = (
        "dedup",
        second,
        "--against",
        index,
        "--id-column",
        "number",
        "-o",
        tmp_path / "o.jsonl",
    )
    assert "day2.jsonl:1: key 200: the keys of" in failing(
        1, *command, "--save-index", index
    )
    assert untouched(tmp_path) == before
    assert run(*command).exit_code == 0


# What is left when a run ends early


def test_outputs_that_cannot_be_written_leave_the_index(index, tmp_path):
    rows = [{"text": TEXTS[30], "more": {"a": 1}}]  # CSV holds no objects
    new = write_jsonl(tmp_path / "new.jsonl", rows)
    before = untouched(tmp_path)
    for save in (index, tmp_path / "other.lsh"):
        failing(
            1,
            "dedup",
            new,
            "--against",
            index,
            "--save-index",
            save,
            "-o",
            tmp_path / "o.csv",
        )
        assert untouched(tmp_path) == before


def limited(size):
    resource = pytest.importorskip(
        "resource", reason="only POSIX limits the size of files"
    )
    return {
        "preexec_fn": lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        )
    }


@pytest.mark.slow
def test_an_index_that_cannot_be_written_leaves_the_outputs_and_its_old_state(
    index, second, tmp_path
):
    out = tmp_path / "o.jsonl"
    child = process(
        "dedup", second, "--against", index, "--save-index", index, "-o", out, "-q",
        **limited(index.stat().st_size + 5000),
    )  # fmt: skip
    _, said = child.communicate(timeout=60)
    assert child.returncode == 1
    assert len(said.splitlines()) == 1
    assert "day1.lsh" in said
    assert "(the outputs are complete, the index is as it was)" in said
    assert len(read_jsonl(out)) == 6
    assert keys_of(index) == [f"1/{row}" for row in range(28)]
    assert sorted(os.listdir(tmp_path)) == [
        "day1.jsonl",
        "day1.lsh",
        "day2.jsonl",
        "o.jsonl",
    ]


@pytest.mark.slow
def test_a_new_index_that_cannot_be_written_leaves_nothing(index, second, tmp_path):
    before = untouched(tmp_path)
    commands = [
        [
            "dedup",
            second,
            "--against",
            index,
            "--save-index",
            tmp_path / "x.lsh",
            "-o",
            tmp_path / "o.jsonl",
            "-q",
        ],
        ["index", "build", second, "-o", tmp_path / "x.lsh"],
        ["index", "add", index, second],
    ]
    for command in commands:
        child = process(*command, **limited(20_000))
        _, said = child.communicate(timeout=60)
        assert (child.returncode, len(said.splitlines())) == (1, 1)
        assert ".lsh" in said
        assert untouched(tmp_path) == before


@pytest.mark.slow
@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"),
    reason="tells by /proc when the run is under way",
)
def test_interrupts_leave_the_old_state(index, tmp_path):
    big = write_long(tmp_path / "in.jsonl.gz", TEXTS[0])
    before = untouched(tmp_path)
    against = "--against", index, "--save-index", index
    for number, command in (
        (signal.SIGINT, ["index", "build", big, "-o", tmp_path / "new.lsh"]),
        (signal.SIGTERM, ["index", "add", index, big]),
        (signal.SIGINT, ["dedup", big, *against, "-o", tmp_path / "out.jsonl"]),
    ):
        assert stopped(number, big, *command) == ENDINGS[number]
        assert untouched(tmp_path) == before


# A seed that nobody can know


def test_an_index_of_a_random_seed(first, second, tmp_path):
    """The file keeps the number, so that later runs need none; each build draws another."""
    files = [tmp_path / "a.lsh", tmp_path / "b.lsh"]
    for file in files:
        options = "--id-column", "id", "--seed", "random", "-q"
        assert run("index", "build", first, "-o", file, *options).exit_code == 0
    seeds = []
    for file in files:
        with LSHIndex.open(file) as opened:
            seeds.append(opened.hasher.seed)
    assert len({1, *seeds}) == 3
    answer = run(
        "index",
        "query",
        files[0],
        second,
        "--id-column",
        "id",
        "-o",
        tmp_path / "found.jsonl",
    )
    assert answer.exit_code == 0
    assert {row["key"] for row in read_jsonl(tmp_path / "found.jsonl")} >= {
        "2/0",
        "2/2",
    }
    out = tmp_path / "out.jsonl"
    options = (
        "--id-column",
        "id",
        "--against",
        files[0],
        "--save-index",
        tmp_path / "c.lsh",
        "-q",
    )
    assert run("dedup", second, "-o", out, *options).exit_code == 0
    assert not {"2/0", "2/2"} & {row["id"] for row in read_jsonl(out)}
    with LSHIndex.open(tmp_path / "c.lsh") as saved:
        assert saved.hasher.seed == seeds[0]
    said = failing(
        2,
        "dedup",
        second,
        "-o",
        tmp_path / "o.jsonl",
        "--against",
        files[0],
        "--seed",
        "random",
    )
    assert f"seed is {seeds[0]} in this index, not random" in said


def test_random_seeds_of_runs(second, tmp_path):
    for command in ("dedup", "pairs"):
        written = []
        for number, seed in enumerate(("random", "random", "7", str(2**64 - 1))):
            out = tmp_path / f"{command}{number}.jsonl"
            assert (
                run(
                    command,
                    second,
                    "-o",
                    out,
                    "--id-column",
                    "id",
                    "--seed",
                    seed,
                    "-q",
                ).exit_code
                == 0
            )
            written.append(read_jsonl(out))
        assert written == written[:1] * 4


@pytest.mark.parametrize("seed", ["Random", "1.5", "9" * 5000, "", "²"])
def test_wrong_seeds(second, tmp_path, seed):
    said = failing(2, "dedup", second, "-o", tmp_path / "out.jsonl", "--seed", seed)
    assert f"seed must be an int or 'random', not {seed!r}" in said
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range(second, tmp_path, seed):
    assert f"seed must be in 0..2**64 - 1, not {seed}" in failing(
        2, "dedup", second, "-o", "x.jsonl", "--seed", seed
    )


@pytest.mark.parametrize("column", ["text", "code"])
def test_the_closing_table_says_what_became_of_the_file_of_an_index(tmp_path, column):
    first, second = (
        write_jsonl(
            tmp_path / f"{name}.jsonl",
            [
                {
                    "id": f"{name}{n}",
                    "text": f"{name} {n} {name * n} x{n}",
                    "code": f"{n * 77 + start:016x}",
                }
                for n in range(9)
            ],
        )
        for name, start in (("a", 0), ("b", 1 << 40))
    )
    seen, copy = tmp_path / "seen.lsh", tmp_path / "copy.lsh"
    options = ["--id-column", "id", "--column", column, "--overwrite"]
    options += (
        ["--size", 1, "--threshold", 0.99]
        if column == "text"
        else ["--as", "code", "--radius", 0]
    )

    def entries(path):
        return int(
            run("index", "info", path)
            .stdout.split("entries")[1]
            .split()[0]
            .replace(",", "")
        )

    def said(source, *more):
        done = run("dedup", source, "-o", tmp_path / "kept.jsonl", *options, *more)
        assert done.exit_code == 0, done.stderr
        return next(
            " ".join(line.split()[2:])
            for line in done.stderr.splitlines()
            if line.startswith("indexed")
        )

    assert (
        said(first, "--save-index", seen, "--dry-run")
        == f"kept rows that are not saved: {seen} is as it was"
    )
    assert not seen.exists()
    assert said(first, "--save-index", seen) == f"kept rows in the new index {seen}"
    assert (
        said(second, "--save-index", seen)
        == f"kept rows in the new index {seen}, which replaced the file"
    )
    assert entries(seen) == 9  # those of the first run are lost
    added = f"kept rows that are new in {seen}, or replaced its entries"
    assert said(first, "--against", seen, "--save-index", seen) == added
    assert entries(seen) == 18
    copied = f"kept rows added to the entries of {seen} in the new index {copy}"
    assert said(first, "--against", seen, "--save-index", copy) == copied
    assert (
        said(first, "--against", seen, "--save-index", copy)
        == f"{copied}, which replaced the file"
    )
    assert (entries(seen), entries(copy)) == (18, 18)


def test_build_says_that_it_replaced_a_file(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": "a b c"}])
    index = tmp_path / "i.lsh"
    assert "replaced" not in run("index", "build", source, "-o", index).stderr
    assert (
        f"{index}; replaced the file before"
        in run("index", "build", source, "-o", index, "--overwrite").stderr
    )


def test_the_help_says_which_files_are_replaced():
    said = " ".join(run("dedup", "--help-all").stdout.split())
    assert (
        "without --against, a new index of these alone, which with --overwrite replaces the file"
        in said
    )
    assert "which FILE has if it exists, and replace FILE" in said
    assert "in FILE, which is replaced" in " ".join(
        run("tune", "--help").stdout.split()
    )
