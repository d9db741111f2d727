"""The command line as a person meets it: what it writes, what it says, how it ends."""

import gzip
import json
import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands import ENDINGS, failing, process, read_jsonl, run, stopped, write_jsonl, write_long

WORDS = np.random.default_rng(5).integers(0, 5000, (40, 120))
TEXTS = [" ".join(f"w{word}" for word in row) for row in WORDS]
NEAR = TEXTS[3].replace("w", "W", 40) + " and one more"  # like row 3
ROWS = [{"id": f"r{i}", "text": text, "score": i % 7} for i, text in enumerate([*TEXTS, NEAR, TEXTS[5], "", "..."])]
LIKE_3, LIKE_5 = 40, 41


@pytest.fixture
def corpus(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", ROWS)


def test_dedup_writes_what_stays_verbatim_and_accounts_for_the_rest(corpus, tmp_path):
    out, removed, pairs = tmp_path / "out.jsonl", tmp_path / "removed.csv", tmp_path / "pairs.parquet"
    result = run("dedup", corpus, "-o", out, "--removed", removed, "--pairs", pairs, "--id-column", "id")
    assert result.exit_code == 0
    lines = corpus.read_bytes().splitlines(keepends=True)
    assert out.read_bytes() == b"".join(line for i, line in enumerate(lines) if i not in (LIKE_3, LIKE_5))
    account = [line.split(",") for line in removed.read_text().splitlines()]
    assert account[0] == ["key", "kept_key", "similarity"]
    assert [row[:2] for row in account[1:]] == [["r40", "r3"], ["r41", "r5"]]
    assert 0.8 <= float(account[1][2]) < 1 == float(account[2][2])
    assert pq.read_table(pairs).to_pylist() == [
        {"key_i": "r3", "key_j": "r40", "similarity": float(account[1][2])},
        {"key_i": "r5", "key_j": "r41", "similarity": 1.0},
    ]
    assert "42 kept + 2 removed + 0 rejected = 44 read" in result.stderr
    assert "(empty): 2" in result.stderr


def test_annotate_keeps_all_rows(corpus, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run("dedup", corpus, "-o", out, "--annotate", "--quiet").stderr == ""
    rows = read_jsonl(out)
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert rows[LIKE_5]["duplicate_of"] == f"{corpus}:6"
    assert rows[LIKE_5]["similarity"] == 1.0
    assert rows[0]["duplicate_of"] is None


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
        stay = {best(("r3", "r40"), key=keep_scores.get), best(("r5", "r41"), key=keep_scores.get)}
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
    assert run("pairs", corpus, "-o", out, "--threshold", "0.7", "--id-column", "id").exit_code == 0
    assert [(row["key_i"], row["key_j"]) for row in read_jsonl(out)] == [("r3", "r40"), ("r5", "r41")]


def test_tune_shows_curve_memory_and_plot(corpus, tmp_path):
    plot = tmp_path / "curve.png"
    result = run("tune", corpus, "--threshold", "0.8", "--plot", plot)
    assert result.exit_code == 0
    assert "18 bands of 7 rows: 126 of 128 slots" in result.stdout
    assert "recall at the threshold 0.8: 0.9855" in result.stdout
    assert "about 44 texts" in result.stdout
    assert "in all" in result.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "about 1,000 texts of 3 MB" in run("tune", "--documents", 1000, "--mean-bytes", 3000).stdout


def test_demo_finds_what_the_standard_library_repeats():
    result = run("demo")
    assert result.exit_code == 0
    assert "is like" in result.stdout
    assert "= " in result.stderr


def test_version_and_help():
    assert run("--version").stdout.startswith("lshfast ")
    assert "--threshold" in run("dedup", "--help").stdout


# Usage errors: exit status 2, before any work.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threshold", "0"], "threshold must be in (0, 1], not 0.0"),
        (["--threshold", "1.5"], "threshold must be in (0, 1], not 1.5"),
        (["--threshold", "nan"], "threshold must be in (0, 1], not nan"),
        (["--recall", "1"], "recall must be in (0, 1), not 1.0"),
        (["--num-perm", "0"], "num_perm must be in 1..65536, not 0"),
        (["--num-perm", "4", "--threshold", "0.3"], "recall 0.95 at threshold 0.3 is out of reach of num_perm 4"),
        (["--bands", "20", "--rows", "7"], "bands x rows must be at most num_perm = 128, not 20 x 7"),
        (["--bands", "20"], "bands and rows go together"),
        (["--size", "0"], "size must be in 1..256, not 0"),
        (["--threads", "0"], "threads must be at least 1, not 0"),
        (["--seed", "-1"], "seed must be in 0..2**64 - 1, not -1"),
        (["--keep", "best"], "keep must be first, last, longest, shortest, max:COLUMN or min:COLUMN, not 'best'"),
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
    assert "one of the inputs" in failing(2, "dedup", corpus, "-o", corpus, "--overwrite")
    assert "two outputs of one name" in failing(
        2, "dedup", corpus, "-o", tmp_path / "o.csv", "--removed", tmp_path / "o.csv"
    )
    assert "folder of the output does not exist" in failing(1, "dedup", corpus, "-o", tmp_path / "no" / "o.jsonl")
    failing(2, "dedup", corpus, "-o", tmp_path / "out.docx")
    assert corpus.read_bytes() == before
    assert run("dedup", corpus, "-o", exists, "--overwrite").exit_code == 0


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
    twice = write_jsonl(tmp_path / "twice.jsonl", [{"id": 1, "text": "a"}, {"id": 1, "text": "b"}])
    assert "twice.jsonl:2: " in failing(1, "dedup", twice, "-o", out, "--id-column", "id")
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
    assert run("dedup", write_jsonl(tmp_path / "nul.jsonl", rows), "-o", out).exit_code == 0
    assert read_jsonl(out) == rows[:1]


# The process itself.


def test_full_disk_leaves_nothing(corpus, tmp_path):
    resource = pytest.importorskip("resource", reason="only POSIX limits the size of files")
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


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="tells by /proc when the run is under way")
@pytest.mark.parametrize("number", ENDINGS)
def test_interrupt_leaves_nothing(tmp_path, number):
    big = write_long(tmp_path / "in.jsonl.gz", TEXTS[0])
    outputs = "-o", tmp_path / "out.jsonl", "--removed", tmp_path / "removed.csv"
    assert stopped(number, big, "dedup", big, *outputs) == ENDINGS[number]
    assert os.listdir(tmp_path) == ["in.jsonl.gz"]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.csv", "out.parquet"])
def test_threads_change_no_byte(corpus, tmp_path, name):
    outputs = [tmp_path / f"{threads}.{name}" for threads in (1, 3)]
    for threads, out in zip((1, 3), outputs, strict=True):
        assert run("dedup", corpus, "-o", out, "--annotate", "--threads", threads).exit_code == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
