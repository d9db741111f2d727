"""The command line as a person meets it: what it writes, what it says, how it ends."""

import errno
import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from lshfast._cli.errors import one_line_errors
from lshfast._common.extras import optional
from lshfast._common.value_codes import MOST_VALUES, ValueCodes
from lshfast._engine.budget import COSTS, bytes_of_values
from tests import corpora
from tests.cli.commands import (
    ENDINGS,
    HEEDING,
    failing,
    on_terminal,
    process,
    read_jsonl,
    run,
    stopped,
    write_jsonl,
    write_long,
)

WORDS = np.random.default_rng(5).integers(0, 5000, (40, 120))
TEXTS = [" ".join(f"w{word}" for word in row) for row in WORDS]
NEAR = TEXTS[3].replace("w", "W", 40) + " and one more"  # like row 3
ROWS = [
    {"id": f"r{i}", "text": text, "score": i % 7}
    for i, text in enumerate([*TEXTS, NEAR, TEXTS[5], "", "..."])
]
LIKE_3, LIKE_5 = 40, 41


@pytest.fixture
def corpus(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", ROWS)


def test_dedup_writes_what_stays_verbatim_and_accounts_for_the_rest(corpus, tmp_path):
    out = tmp_path / "out.jsonl"
    removed = tmp_path / "removed.csv"
    pairs = tmp_path / "pairs.parquet"
    result = run(
        "dedup",
        corpus,
        "-o",
        out,
        "--removed",
        removed,
        "--pairs",
        pairs,
        "--id-column",
        "id",
    )
    assert result.exit_code == 0
    lines = corpus.read_bytes().splitlines(keepends=True)
    assert out.read_bytes() == b"".join(
        line for i, line in enumerate(lines) if i not in (LIKE_3, LIKE_5)
    )
    account = [line.split(",") for line in removed.read_text().splitlines()]
    assert account[0] == ["key", "kept_key", "similarity"]
    assert [row[:2] for row in account[1:]] == [["r40", "r3"], ["r41", "r5"]]
    assert 0.8 <= float(account[1][2]) < 1 == float(account[2][2])
    assert pq.read_table(pairs).to_pylist() == [
        {"key_i": "r3", "key_j": "r40", "similarity": float(account[1][2])},
        {"key_i": "r5", "key_j": "r41", "similarity": 1.0},
    ]
    assert "42 kept + 2 removed + 0 rejected = 44 read" in result.stderr
    assert "2 without shingles (empty); 1 exact copy of earlier rows" in result.stderr
    assert "1 with exact copies; similarity: exact" in result.stderr


def test_annotate_keeps_all_rows(corpus, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run("dedup", corpus, "-o", out, "--annotate", "--quiet").stderr == ""
    rows = read_jsonl(out)
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert rows[LIKE_5]["duplicate_of"] == f"{corpus}:6"
    assert rows[LIKE_5]["similarity"] == 1.0
    assert rows[0]["duplicate_of"] is None


def types_in(path):
    return {field.name: str(field.type) for field in pq.read_schema(path)}


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ([], "string"),
        (["--id-column", "name"], "string"),
        (["--id-column", "number"], "int64"),
    ],
)
@pytest.mark.parametrize("texts", [[], TEXTS[:3], [TEXTS[0]] * 3])
def test_parquet_columns_have_one_type_whatever_was_found(
    tmp_path, options, kind, texts
):
    columns = {
        "text": texts,
        "name": [f"r{i}" for i in range(len(texts))],
        "number": range(len(texts)),
    }
    types = {"text": pa.string(), "name": pa.string(), "number": pa.int64()}
    table = pa.table(
        {name: pa.array(values, types[name]) for name, values in columns.items()}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    out, removed, pairs = (
        tmp_path / f"{name}.parquet" for name in ("out", "removed", "pairs")
    )
    result = run("dedup", tmp_path / "in.parquet", "-o", out, "--annotate", "--removed", removed, "--pairs", pairs,
                 *options)  # fmt: skip
    assert result.exit_code == 0
    assert types_in(out) == {"text": "string", "name": "string", "number": "int64", "duplicate_of": kind,
                             "similarity": "double"}  # fmt: skip
    assert types_in(removed) == {"key": kind, "kept_key": kind, "similarity": "double"}
    assert types_in(pairs) == {"key_i": kind, "key_j": kind, "similarity": "double"}
    command = "pairs", tmp_path / "in.parquet", "-o", pairs, "--overwrite", *options
    assert run(*command).exit_code == 0
    assert types_in(pairs) == {"key_i": kind, "key_j": kind, "similarity": "double"}


@pytest.mark.parametrize(
    ("keep", "gone"),
    [
        ("first", {"r40", "r41"}),
        ("last", {"r3", "r5"}),
        ("longest", {"r3", "r41"}),
        ("shortest", {"r40", "r41"}),
        ("max:score", {"r40", "r41"} if ROWS[40]["score"] < 3 else {"r3", "r41"}),
        ("min:score", {"r40", "r5"} if ROWS[41]["score"] < 5 else {"r40", "r41"}),
    ],
)
def test_keep(corpus, tmp_path, keep, gone):
    out = tmp_path / "out.jsonl"
    keep_scores = {"r3": 3, "r40": ROWS[40]["score"], "r5": 5, "r41": ROWS[41]["score"]}
    if ":" in keep:
        best = max if keep.startswith("max") else min
        stay = {
            best(("r3", "r40"), key=keep_scores.get),
            best(("r5", "r41"), key=keep_scores.get),
        }
        gone = set(keep_scores) - stay
    assert run("dedup", corpus, "-o", out, "--keep", keep).exit_code == 0
    assert {row["id"] for row in ROWS} - {row["id"] for row in read_jsonl(out)} == gone


def test_several_inputs_of_several_formats(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", [{"text": text} for text in TEXTS[:10]])
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS[8:20])
    pq.write_table(pa.table({"text": TEXTS[18:30]}), tmp_path / "c.parquet")
    folder = tmp_path / "d"
    folder.mkdir()
    for i, text in enumerate(TEXTS[28:]):
        (folder / f"{i:02}.txt").write_text(text)
    out = tmp_path / "out.parquet"
    names = ["a.jsonl", "b.jsonl.gz", "c.parquet", "d"]
    assert run("dedup", *(tmp_path / name for name in names), "-o", out).exit_code == 0
    assert pq.read_table(out)["text"].to_pylist() == TEXTS


def test_dry_run_writes_nothing(corpus, tmp_path):
    result = run("dedup", corpus, "--dry-run", "--removed", tmp_path / "removed.csv")
    assert "42 kept + 2 removed" in result.stderr
    assert os.listdir(tmp_path) == ["in.jsonl"]


def test_pairs_command(corpus, tmp_path):
    out = tmp_path / "pairs.jsonl"
    assert (
        run(
            "pairs", corpus, "-o", out, "--threshold", "0.7", "--id-column", "id"
        ).exit_code
        == 0
    )
    assert [(row["key_i"], row["key_j"]) for row in read_jsonl(out)] == [
        ("r3", "r40"),
        ("r5", "r41"),
    ]


@pytest.mark.slow
def test_tune_shows_curve_memory_and_plot(corpus, tmp_path):
    plot = tmp_path / "curve.png"
    result = run("tune", corpus, "--threshold", "0.8", "--plot", plot)
    assert result.exit_code == 0
    assert "18 bands of 7 rows: 126 of 128 slots" in result.stdout
    assert "recall at the threshold 0.8: 0.9855" in result.stdout
    assert "about 44 texts" in result.stdout
    assert "in all" in result.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert (
        "about 1,000 texts of 3.0 MB"
        in run("tune", "--rows", 1000, "--mean-bytes", 3000).stdout
    )


@pytest.mark.parametrize("name", ["-", "curve", "curve.gif"])
def test_the_suffix_of_a_plot_is_checked(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert (
        failing(2, "tune", "--plot", name)
        == f"lshfast: error: {name}: a plot must be .png, .svg or .pdf"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_tune_knows_the_shingles(tmp_path):
    """Long words of which one letter differs have common characters only."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghij", k=500)) for _ in range(50)]
    corpus = write_jsonl(
        tmp_path / "in.jsonl", [{"text": word + end} for word in words for end in "xy"]
    )
    assert "about 0% are read again" in run("tune", corpus, "--memory", "1G").stdout
    assert (
        "about 100% are read again"
        in run("tune", corpus, "--memory", "1G", "--unit", "char", "--size", 9).stdout
    )
    result = run("tune", corpus, "--size", 0)
    assert result.exit_code == 2
    assert "size must be" in result.stderr


@pytest.mark.slow
def test_demo_finds_what_the_standard_library_repeats():
    result = run("demo")
    assert result.exit_code == 0
    assert "is like" in result.stdout
    assert "= " in result.stderr


@pytest.mark.one_case
@pytest.mark.parametrize(
    "data", ["news", "customers", "products", "genomes", "photos", "essays"]
)
def test_demo_writes_a_data_set_once(tmp_path, monkeypatch, data):
    if data == "photos":
        pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    result = run("demo", data)
    assert result.exit_code == 0
    # Nothing hidden remains.
    assert [path.name for path in tmp_path.iterdir()] == [data]
    named = [
        tmp_path / line
        for line in result.stdout.splitlines()[1:]
        if line.startswith(f"{data}/")
    ]
    assert 0 < len(named) <= 5
    assert all(path.stat().st_size for path in named)
    assert result.stdout.splitlines()[-1].startswith("lshfast ")
    again = run("demo", data)
    assert again.exit_code == 2
    assert f"the folder {data} exists" in again.stderr


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


def test_demo_leaves_nothing_if_it_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    optional.cache_clear()
    result = run("demo", "photos")
    optional.cache_clear()
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("csv.DictWriter", interrupt)
    assert run("demo", "customers").exit_code == 130
    assert list(tmp_path.iterdir()) == []
    assert (
        "--quiet is for the demo without DATA" in run("demo", "news", "--quiet").stderr
    )
    assert "'news', 'customers'" in run("demo", "nothing").stderr
    assert list(tmp_path.iterdir()) == []


def test_version_and_help():
    assert run("--version").stdout.startswith("lshfast ")
    assert "--threshold" in run("dedup", "--help").stdout


GROUPS = {("stage",): ("plan", "run", "status", "count", "recount", "sketch", "band", "join", "group",
                       "collect", "verify", "apply"),
          ("records",): ("match", "dedup"),
          ("web",): ("mirrors", "contract"),
          ("fingerprints",): ("match",),
          ("index",): ("build", "add", "remove", "query", "info", "verify", "compact")}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_help_names_all_commands_with_complete_summaries(group):
    helps = {name: run(*group, name, "-h").stdout for name in GROUPS[group]}
    for columns in (60, 80, 160):
        shown = run(*group, "-h", terminal_width=columns).stdout
        assert shown == run(*group, "--help", terminal_width=columns).stdout
        lines = [
            line.split(maxsplit=1)
            for line in shown.partition("Commands:\n")[2].splitlines()
        ]
        assert tuple(name for name, _ in lines) == GROUPS[group]
        for name, summary in lines:
            assert summary.endswith(".")
            assert not summary.endswith("...")
            assert summary in helps[name]


def test_a_command_without_arguments_shows_its_help():
    for command in ((), ("dedup",), ("index",), ("index", "query")):
        result = run(*command)
        assert result.exit_code == 2
        assert (result.stderr or result.stdout).startswith(
            f"Usage: {' '.join(('root', *command))}"
        )


@pytest.mark.slow
def test_shell_completion():
    words = {
        "_LSHFAST_COMPLETE": "complete_bash",
        "COMP_WORDS": "lshfast index co",
        "COMP_CWORD": "2",
    }
    child = process(env={**os.environ, **words})
    assert child.communicate(timeout=60) == ("compact\n", "")
    # The shell is named, not detected.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    child = process("--show-completion", "bash", env={**os.environ, **named})
    said, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert "complete -o default -F _lshfast_completion lshfast" in said


@pytest.mark.one_case
@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
@pytest.mark.parametrize("columns", [60, pytest.param(80, marks=pytest.mark.slow), 160])
def test_the_closing_table_fits_the_terminal(corpus, tmp_path, columns):
    shown = on_terminal(columns, "dedup", corpus, "-o", tmp_path / "out.jsonl")
    table = shown[shown.index("read   ") :].splitlines()
    assert max(map(len, table)) <= columns
    text = " ".join(shown.split())
    for sentence in ("42 kept + 2 removed + 0 rejected = 44 read", "1 exact copy of earlier rows",
                     "recall at the threshold: 0.9855", "1 with exact copies; similarity: exact"):  # fmt: skip
        assert sentence in text
    notes = [line for line in table[: table.index("")] if len(line) > 31]
    assert all(line[28:31] == "   " for line in notes)


def test_figures_without_a_meaning_are_left_out(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "a b c"}\n[]\n')
    said = run("dedup", source, "-o", out, "--on-error", "skip").stderr
    assert "1 kept + 0 removed + 1 rejected = 2 read" in said
    for phrase in ("copies", "(empty)", "the largest"):
        assert phrase not in said
    command = "dedup", source, "-o", out, "--on-error", "skip", "--overwrite", "-q"
    assert run(*command).stderr == "lshfast: 1 row rejected\n"
    assert (
        "1 band of 1 row: 1 of 1 slot\n"
        in run("tune", "--num-perm", 1, "--bands", 1, "--rows-per-band", 1).stdout
    )
    assert (
        "about 1 text of "
        in run("tune", write_jsonl(tmp_path / "one.jsonl", ROWS[:1])).stdout
    )


# Usage errors: exit status 2, before any work.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dedup", "in.jsonl", "--nope"], "No such option"),
        (["dedup", "in.jsonl", "--threshhold", "0.5"], "--threshold"),
        (["dedup", "-o", "out.jsonl"], "Missing argument 'INPUT'"),
        (["pairs", "in.jsonl"], "Missing option '-o' / '--output'"),
        (["dedup", "in.jsonl", "-o"], "'-o' requires an argument"),
        (
            ["dedup", "in.jsonl", "--unit", "letter"],
            "'--unit': 'letter' is not one of 'word', 'char'",
        ),
        (["dedup", "in.jsonl", "--size", "five"], "Invalid value for '--size': "),
        (["dedup", "in.jsonl", "--size", "five"], "'five'"),
        (["nope"], "No such command 'nope'"),
        (["index", "nope"], "No such command 'nope'"),
        (["index", "info", "a.lsh", "b.lsh"], "unexpected extra argument"),
        (["--nope"], "No such option"),
    ],
)
def test_wrong_arguments(arguments, said):
    assert said in failing(2, *arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threshold", "0"], "threshold must be in (0, 1], not 0.0"),
        (["--threshold", "1.5"], "threshold must be in (0, 1], not 1.5"),
        (["--threshold", "nan"], "threshold must be in (0, 1], not nan"),
        (["--recall", "1"], "recall must be in (0, 1), not 1.0"),
        (["--num-perm", "0"], "num_perm must be in 1..65536, not 0"),
        (
            ["--num-perm", "4", "--threshold", "0.3"],
            "recall 0.95 at threshold 0.3 is out of reach of num_perm 4",
        ),
        (
            ["--bands", "20", "--rows-per-band", "7"],
            "bands x rows must be at most num_perm = 128, not 20 x 7",
        ),
        (["--bands", "20"], "bands and rows_per_band go together"),
        (["--size", "0"], "size must be in 1..256, not 0"),
        (["--threads", "0"], "threads must be at least 1, not 0"),
        (["--seed", "-1"], "seed must be in 0..2**64 - 1, not -1"),
        (
            ["--keep", "best"],
            "keep must be first, last, longest, shortest, max:COLUMN or min:COLUMN, not 'best'",
        ),
        (["--keep", "max:"], "keep must be"),
    ],
)
def test_wrong_usage(corpus, tmp_path, options, said):
    assert said in failing(2, "dedup", corpus, "-o", tmp_path / "out.jsonl", *options)
    assert os.listdir(tmp_path) == ["in.jsonl"]


def test_wrong_outputs(corpus, tmp_path):
    before = corpus.read_bytes()
    exists = write_jsonl(tmp_path / "exists.jsonl", ROWS)
    assert "an output is needed" in failing(2, "dedup", corpus)
    assert "exists" in failing(2, "dedup", corpus, "-o", exists)
    assert "one of the inputs" in failing(
        2, "dedup", corpus, "-o", corpus, "--overwrite"
    )
    assert "two outputs of one name" in failing(
        2, "dedup", corpus, "-o", tmp_path / "o.csv", "--removed", tmp_path / "o.csv"
    )
    for options in ((), ("--memory", "1G")):
        said = failing(1, "dedup", corpus, "-o", tmp_path / "no" / "o.jsonl", *options)
        assert said.endswith(
            "no/o.jsonl: the folder of the output does not exist; make it first"
        )
    failing(2, "dedup", corpus, "-o", tmp_path / "out.docx")
    assert corpus.read_bytes() == before
    assert run("dedup", corpus, "-o", exists, "--overwrite").exit_code == 0


def test_the_advice_to_resume(corpus, tmp_path, monkeypatch):
    start = ["dedup", corpus, "-o", tmp_path / "out.jsonl", "--memory", "1G", "-q"]
    command = [*start, "--work", tmp_path / "work"]

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "out.jsonl")

    with monkeypatch.context() as patch:
        patch.setattr("lshfast._engine.executors.local.writing.write_rows", full)
        result = run(*command)
    assert result.exit_code == 1
    assert (
        f"{tmp_path / 'work'} holds what is done; the same command with --resume goes on"
        in result.stderr
    )
    assert "this work folder is not empty; resume" in failing(
        2, *command
    )  # one line: it says enough
    assert "threshold was 0.8, and is 0.7" in failing(
        2, *command, "--resume", "--threshold", "0.7"
    )
    assert run(*command, "--resume").exit_code == 0
    assert (tmp_path / "out.jsonl").exists()
    assert "the work folder is a file" in failing(
        1, *start, "--work", corpus, "--overwrite"
    )


def test_tune_measures_input_or_is_told_its_size(corpus):
    assert "without INPUT, and INPUT is given" in failing(
        2, "tune", corpus, "--rows", 1000
    )
    assert "by needs INPUT, whose values are counted" in failing(
        2, "tune", "--rows", 1000, "--by", "source"
    )


@pytest.mark.weekly
@pytest.mark.parametrize(
    "suffix",
    [
        pytest.param("jsonl", marks=pytest.mark.weekly),
        pytest.param("csv", marks=pytest.mark.weekly),
        "parquet",
    ],
)
def test_tune_estimates_the_memory_of_values(tmp_path, suffix):
    rows = [
        {"text": TEXTS[0], "few": f"s{row % 5}", "own": f"user {row:06}"}
        for row in range(30_000)
    ]
    source = tmp_path / f"in.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), source)
    else:
        corpora.make(source, rows)

    def told(*options):
        lines = [
            line.split() for line in run("tune", source, *options).stdout.splitlines()
        ]
        return {
            " ".join(line[:-2]): int(line[-2].replace(",", ""))
            for line in lines
            if line[-1:] == ["MB"]
        }

    without, own = told(), told("--by", "own")
    assert "values of --by" not in without
    assert told("--by", "few")["values of --by"] == 0
    assert own["values of --by"] == 6  # 4 + 192 + 11 bytes each
    assert own["in all"] in (without["in all"] + 6, without["in all"] + 7)
    least = [int(run("tune", source, "--memory", "1G", *by).stdout.split(" MB at least")[0].split()[-1]) for by in
             ((), ("--by", "few"))]  # fmt: skip
    assert (
        218 <= least[1] - least[0] <= 220
    )  # the values that may come, and 4 bytes a row


def test_values_that_occur_once_tell_how_many_there_are():
    few, own = (
        ValueCodes("by", [f"{row % most:04}" for row in range(1000)])
        for most in (7, 1000)
    )
    assert bytes_of_values(None, 10**9) == 0
    assert (
        bytes_of_values(few, 1000)
        == bytes_of_values(few, 10**6) - 4 * (10**6 - 1000)
        == 4000 + 7 * 196
    )
    assert bytes_of_values(own, 5000) == 5000 * 4 + 5000 * 196
    assert bytes_of_values(own, 10**9) == 4 * 10**9 + min(
        COSTS.values, MOST_VALUES * 196
    )
    assert bytes_of_values(ValueCodes("by"), 10) == 40


# Faults of the data: exit status 1, one line with file, line and reason, nothing written.

GOOD = json.dumps({"text": TEXTS[0]}).encode()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"text": "cut', "bad.jsonl:2: "),
        (b"[1, 2]", "bad.jsonl:2: "),
        (b'{"body": "x"}', "bad.jsonl:2: "),
        (b'{"text": 5}', "bad.jsonl:2: "),
        (b'{"text": "\xff"}', "bad.jsonl:2: "),
        (b'{"text": "\\ud800"}', "bad.jsonl:2: "),
    ],
)
def test_bad_line(tmp_path, line, said):
    bad, out = tmp_path / "bad.jsonl", tmp_path / "out.jsonl"
    bad.write_bytes(GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    assert said in failing(1, "dedup", bad, "-o", out)
    assert os.listdir(tmp_path) == ["bad.jsonl"]

    result = run("dedup", bad, "-o", out, "--on-error", "skip")
    assert result.exit_code == 0
    assert "1 kept + 1 removed + 1 rejected = 3 read" in result.stderr
    assert out.read_bytes() == GOOD + b"\n"
    (reject,) = read_jsonl(tmp_path / "out.jsonl.rejects.jsonl")
    assert (reject["file"], reject["line"]) == (str(bad), 2)
    assert reject["reason"]


def test_other_faults_of_the_data(tmp_path):
    out = tmp_path / "out.jsonl"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "cannot be read" in failing(1, "dedup", tmp_path / "none.jsonl", "-o", out)
    assert str(empty) in failing(1, "dedup", empty, "-o", out)
    twice = write_jsonl(
        tmp_path / "twice.jsonl", [{"id": 1, "text": "a"}, {"id": 1, "text": "b"}]
    )
    assert "twice.jsonl:2: " in failing(
        1, "dedup", twice, "-o", out, "--id-column", "id"
    )
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(GOOD * 50)[:-20])
    assert "cut.jsonl.gz" in failing(1, "dedup", cut, "-o", out)
    latin = tmp_path / "folder" / "latin.txt"
    latin.parent.mkdir()
    latin.write_bytes("Füße".encode("latin-1"))
    assert "latin.txt" in failing(1, "dedup", latin.parent, "-o", out)
    assert not out.exists()


def test_parquet_that_is_not_utf8(tmp_path):
    column = pa.array([b"good text", b"\xff\xfe"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "p.parquet")
    line = failing(1, "dedup", tmp_path / "p.parquet", "-o", tmp_path / "o.parquet")
    assert "p.parquet: row 2: " in line


def test_a_run_that_fails_replaces_none_of_its_outputs(tmp_path):
    rows = [{"text": TEXTS[0], "more": {"a": 1}}, {"text": TEXTS[0], "more": {"b": 2}}]
    old = tmp_path / "removed.csv"
    old.write_text("an older account")
    failing(1, "dedup", write_jsonl(tmp_path / "in.jsonl", rows), "-o", tmp_path / "o.csv", "--removed", old,
            "--overwrite")  # fmt: skip
    assert old.read_text() == "an older account"
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl", "removed.csv"]


def test_empty_file_is_a_corpus_without_rows(tmp_path):
    empty, out = tmp_path / "empty.jsonl", tmp_path / "out.jsonl"
    empty.touch()
    result = run("dedup", empty, "-o", out)
    assert result.exit_code == 0
    assert "0 kept + 0 removed + 0 rejected = 0 read" in result.stderr
    assert out.read_bytes() == b""


def test_nul_bytes_are_characters(tmp_path):
    rows = [{"text": "a\0b c d e f"}, {"text": "a b\0c d e f"}]
    out = tmp_path / "out.jsonl"
    assert (
        run("dedup", write_jsonl(tmp_path / "nul.jsonl", rows), "-o", out).exit_code
        == 0
    )
    assert read_jsonl(out) == rows[:1]


# The process itself.


def test_full_disk_leaves_nothing(corpus, tmp_path):
    resource = pytest.importorskip(
        "resource", reason="only POSIX limits the size of files"
    )
    out = tmp_path / "out.jsonl"
    child = process(
        "dedup", corpus, "-o", out, "--pairs", tmp_path / "pairs.csv", "--removed", tmp_path / "removed.csv", "-q",
        preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))),
    )  # fmt: skip
    _, said = child.communicate(timeout=60)
    assert child.returncode == 1
    assert len(said.splitlines()) == 1
    assert "out.jsonl" in said
    assert os.listdir(tmp_path) == ["in.jsonl"]


LITTLE_MEMORY = """
import resource, sys
import lshfast._cli.main, lshfast._engine.executors.local.run, pyarrow.parquet
from lshfast.__main__ import main
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = held + (int(sys.argv.pop(1)) << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux",
    reason="limits the address space to a little more than is in use",
)
@pytest.mark.parametrize(
    ("name", "megabytes", "options", "said"),
    [
        ("in.jsonl", 250, ["--num-perm", "16384"],
         r"while (making signatures|finding candidates) \(Unable to .*\); the run needs about \d\d\d MB in all: "
         r"a smaller --num-perm and fewer --threads need less, and `lshfast tune INPUT` shows what takes how much"),
        ("in.parquet", 60, [],
         r"while reading \(\S+in\.parquet: (m|re)alloc of size \d+ failed\); .*`lshfast tune INPUT`"),
        ("in.jsonl.gz", 60, [],
         r"while reading \((rows of \S+in\.jsonl\.gz; a smaller max_row_bytes \(--max-row-bytes\) limits what one row "
         r"takes|\S+in\.jsonl\.gz: Unable to allocate output buffer\.)\); .*`lshfast tune INPUT`"),  # or zlib says so
    ],
    ids=["signatures", "arrow", "one-row"],
)  # fmt: skip
def test_lack_of_memory_says_what_for_and_what_helps(
    tmp_path, name, megabytes, options, said
):
    source, out = tmp_path / name, tmp_path / "out.jsonl"
    if name == "in.jsonl":
        write_jsonl(
            source, [{"text": f"row {number} of many " * 20} for number in range(4000)]
        )
    elif name == "in.parquet":
        pq.write_table(
            pa.table({"text": ["a b " * 4_000_000] * 4}), source, compression="zstd"
        )
    else:
        source.write_bytes(
            gzip.compress(b'{"text": "' + b"a b " * 16_000_000 + b'"}\n', 1)
        )
    command = [
        sys.executable,
        "-c",
        LITTLE_MEMORY,
        str(megabytes),
        "dedup",
        source,
        "-o",
        out,
        "--threads",
        "1",
        "-q",
    ]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert re.fullmatch(f"lshfast: error: out of memory {said}.*\n", done.stderr), (
        done.stderr
    )
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"),
    reason="tells by /proc when the run is under way",
)
@pytest.mark.one_case
@pytest.mark.parametrize("number", ENDINGS)
def test_interrupt_leaves_nothing(tmp_path, number):
    big = write_long(tmp_path / "in.jsonl.gz", TEXTS[0])
    outputs = "-o", tmp_path / "out.jsonl", "--removed", tmp_path / "removed.csv"
    assert stopped(number, big, "dedup", big, *outputs) == ENDINGS[number]
    assert os.listdir(tmp_path) == ["in.jsonl.gz"]


INTERRUPTED = """
import os, signal, sys
wanted, number = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
def hook(event, about):
    if event == "import" and about[0] == wanted:
        os.kill(os.getpid(), number)
sys.addaudithook(hook)
from lshfast.__main__ import main
main()
"""


@pytest.mark.one_case
@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize(
    "module", ["typer", "lshfast._engine.libraries", "matplotlib.artist"]
)
def test_interrupt_while_a_module_is_imported(tmp_path, number, module):
    command = [
        sys.executable,
        "-c",
        INTERRUPTED,
        module,
        str(int(number)),
        "tune",
        "--plot",
        tmp_path / "curve.png",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, **HEEDING
    )
    assert (done.returncode, done.stderr) == ENDINGS[number]
    assert os.listdir(tmp_path) == []


INTERRUPTED_IN_FINALIZER = """
import os, signal, sys
path, number = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), number)
def hook(event, about):
    if event == "open" and about[0] == path:
        Finalized()
sys.addaudithook(hook)
from lshfast.__main__ import main
main()
"""


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupt_in_a_finalizer(tmp_path, number):
    big = write_long(tmp_path / "in.jsonl.gz", TEXTS[0])
    command = [sys.executable, "-c", INTERRUPTED_IN_FINALIZER, big, str(int(number))]
    done = subprocess.run(
        [*command, "dedup", big, "-o", tmp_path / "out.jsonl"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **HEEDING,
    )
    assert (done.returncode, done.stderr) == ENDINGS[number]
    assert os.listdir(tmp_path) == ["in.jsonl.gz"]


INTERRUPTED_IN_IMPORT_SYSTEM = """
import os, signal, sys, time
from lshfast import __main__ as program
number, ended = int(sys.argv[1]), False
signal.signal(number, program._stop)
code = "os.kill(os.getpid(), number); ended = True"
try:
    exec(compile(code, program.IMPORT_SYSTEM, "exec"))
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(0 if ended else "interrupted in the import system")
"""


@pytest.mark.one_case
@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupt_in_the_import_system_comes_after_it(number):
    """It would keep the lock of imports, and the next import of another thread would wait forever."""
    command = [sys.executable, "-c", INTERRUPTED_IN_IMPORT_SYSTEM, str(int(number))]
    subprocess.run(command, check=True, timeout=50, **HEEDING)


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupt_that_an_extension_overlooks(number):
    """Python makes a SystemError of it: "returned a result with an exception set"."""
    said = io.StringIO()
    with pytest.raises(typer.Exit) as left, one_line_errors(said):
        raise SystemError(
            "returned a result with an exception set"
        ) from KeyboardInterrupt(number)
    assert (left.value.exit_code, said.getvalue()) == ENDINGS[number]
    with pytest.raises(SystemError, match="internal"), one_line_errors(said):
        raise SystemError("internal")


@pytest.mark.parametrize(
    "reason",
    [
        "error return without exception set",
        "<ufunc 'add'> returned NULL without setting an exception",
    ],
)
def test_a_library_that_fails_without_a_reason(reason):
    """So does numpy if memory is refused within a reduction."""
    said = io.StringIO()
    with pytest.raises(typer.Exit) as left, one_line_errors(said):
        raise SystemError(reason)
    assert left.value.exit_code == 1
    assert said.getvalue() == (
        f"lshfast: error: a C library failed, probably for lack of memory: {reason}\n"
    )


def test_a_library_that_returns_a_result_though_memory_was_refused():
    """So does numpy if memory is refused for a list of records."""
    said = io.StringIO()
    with pytest.raises(typer.Exit) as left, one_line_errors(said):
        raise SystemError("returned a result with an exception set") from MemoryError()
    assert left.value.exit_code == 1
    assert said.getvalue() == "lshfast: error: out of memory\n"


@pytest.mark.parametrize("number", ENDINGS)
def test_an_interrupt_while_a_thread_waits_for_a_lock(number):
    """The lock may not be held when the with statement of the standard library releases it."""
    said, lock = io.StringIO(), threading.Lock()

    def wait(error=None):
        with one_line_errors(said), lock:
            lock.release()
            if error is not None:
                raise error

    with pytest.raises(typer.Exit) as left:
        wait(KeyboardInterrupt(number))
    assert (left.value.exit_code, said.getvalue()) == ENDINGS[number]
    with pytest.raises(typer.Exit) as left:
        wait()
    assert (left.value.exit_code, said.getvalue().splitlines()[1:]) == (
        1,
        ["lshfast: error: release unlocked lock"],
    )


@pytest.mark.parametrize(
    "name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.csv", "out.parquet"]
)
def test_threads_change_no_byte(corpus, tmp_path, name):
    outputs = [tmp_path / f"{threads}.{name}" for threads in (1, 3)]
    for threads, out in zip((1, 3), outputs, strict=True):
        assert (
            run(
                "dedup", corpus, "-o", out, "--annotate", "--threads", threads
            ).exit_code
            == 0
        )
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
