"""Paragraphs that are deduplicated: which go, how rows are put together again, and what is left when a run fails."""

import io
import os
import random
import re
import signal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lshfast
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.inputs import Inputs
from lshfast._engine.paragraphs import (
    join_paragraphs,
    run_paragraphs,
    split_lines,
    split_paragraphs,
    split_sentences,
)
from lshfast._engine.plan import make_plan
from lshfast._io import DataError
from tests.cli.commands import ENDINGS, failing, run, stopped, write_long
from tests.corpora import load, make
from tests.reference.sentences import sentences

pytestmark = pytest.mark.usefixtures("little_work")

PARTS = st.lists(
    st.sampled_from(["a", "é b", "\n", "\n\n", " ", "\t", "\r\n", "\u2028", "\x0b"]),
    max_size=20,
)


@given(PARTS.map("".join))
@example("")
@example("\n\n")
@example("a\n \t\r\n\n  b\n\n")
def test_paragraphs_end_with_blank_lines(text):
    found = split_paragraphs(text)
    assert "".join(found) == text
    assert join_paragraphs(found, [True] * len(found)) == text
    # A paragraph ends before a line that follows a blank one and is not.
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", text)
    blank = [not line.strip(" \t\r\n\f\v") and line.endswith("\n") for line in lines]
    wanted, number = [""], 0
    for number, line in enumerate(lines):
        if number > 1 and blank[number - 1] and not blank[number]:
            wanted.append("")
        wanted[-1] += line
    assert found == wanted


def corpus_of(path, n=40):
    draw = random.Random(4)
    pool = [
        " ".join(draw.choices([f"w{i}" for i in range(300)], k=draw.randrange(8, 30)))
        for _ in range(90)
    ]
    texts = ["\n\n".join(draw.choices(pool, k=draw.randrange(0, 6))) for _ in range(n)]
    texts[5], texts[6] = "...\n\n" + texts[4], " ".join(pool[0].split()[:-1]) + "\n\n!"
    return texts, make(
        path, [{"id": f"r{i}", "text": text, "n": i} for i, text in enumerate(texts)]
    )


@pytest.mark.one_case
@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_rows_are_put_together_again(tmp_path, kind, keep):
    texts, path = corpus_of(tmp_path / f"in{kind}")
    paragraphs = [
        (row, text) for row, whole in enumerate(texts) for text in whole.split("\n\n")
    ]
    dedup = lshfast.dedup([text for _, text in paragraphs], keep=keep)
    wanted = []
    for row, whole in enumerate(texts):
        parts = [
            (text, kept)
            for (number, text), kept in zip(paragraphs, dedup.keep, strict=True)
            if number == row
        ]
        left = [text for text, kept in parts if kept]
        if len(left) == len(parts):
            wanted.append({"id": f"r{row}", "text": whole, "n": row})
        elif any(re.search(r"\w", text) for text in left):
            wanted.append({"id": f"r{row}", "text": "\n\n".join(left), "n": row})
    out, removed = tmp_path / f"out{kind}", tmp_path / "removed.jsonl"
    source = Inputs([str(path)], id_column="id")
    found = run_paragraphs(
        source, Outputs(str(out), removed=str(removed)), make_plan(threads=2), keep=keep
    )
    assert [dict(row, n=int(row["n"])) for row in load(out)] == wanted
    assert (found.read, found.kept, found.rejected) == (40, len(wanted), 0)
    assert found.shortened == sum(texts[row["n"]] != row["text"] for row in wanted) > 0
    assert found.paragraphs == dedup.summary
    table = load(removed)
    assert len(table) == dedup.summary.removed
    for row in table:
        first, second = ((row[f"{p}key"], row[f"{p}paragraph"]) for p in ("", "kept_"))
        a, b = (
            texts[int(key[1:])].split("\n\n")[number] for key, number in (first, second)
        )
        assert lshfast.dedup([a, b]).removed[0].similarity == row["similarity"]


@given(PARTS.map("".join))
@example("")
@example("a\n")
def test_lines_end_with_line_feeds(text):
    lines = split_lines(text)
    assert lines == ([*io.StringIO(text, newline="\n")] or [""])


@given(PARTS.map("".join))
@example("")
@example('He said "No." Then he left.\nWhy? (Ask.) ')
def test_sentences_make_up_the_text(text):
    found = split_sentences(text)
    assert "".join(found) == text
    assert found == ([part for part in sentences(text) if part] or [""])


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".parquet"])
def test_sentences_are_removed_from_rows(tmp_path, kind):
    notice = "We use cookies on this site to serve you."
    texts = [
        f"The first story is about rain in the north. {notice} It ends, e.g. here.",
        f"{notice} The second story tells of snow and of wind!  {notice}",
        f" {notice} (...)\n",
        "A row that has one sentence only",
        f"他走了。{notice} 我留下。",
        "",
    ]
    path = make(
        tmp_path / f"in{kind}",
        [{"id": f"r{i}", "text": text} for i, text in enumerate(texts)],
    )
    out, removed = tmp_path / f"out{kind}", tmp_path / "removed.jsonl"
    options = "--split", "sentence", "--id-column", "id", "--removed", removed
    answer = run("dedup", path, "-o", out, *options)
    assert [(row["id"], row["text"] or "") for row in load(out)] == [
        ("r0", texts[0]),
        ("r1", "The second story tells of snow and of wind!"),
        ("r3", texts[3]),
        ("r4", "他走了。我留下。"),
        ("r5", ""),
    ]
    table = [
        (row["key"], row["sentence"], row["kept_key"], row["kept_sentence"])
        for row in load(removed)
    ]
    assert table == [
        ("r1", 0, "r0", 1),
        ("r1", 2, "r0", 1),
        ("r2", 0, "r0", 1),
        ("r4", 1, "r0", 1),
    ]
    assert re.search(r"sentences +13 ", answer.stderr)


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".parquet"])
def test_lines_are_removed_from_rows(tmp_path, kind):
    notice = "we use cookies on this site to serve you"
    texts = [
        f"{notice}\nthe first story is about rain in the north\nend",
        f"the second story tells of snow and of wind\r\n{notice}\r\n\nlast words",
        f"\n{notice}\n \n",
        "a row that has one line only",
        "",
    ]
    path = make(
        tmp_path / f"in{kind}",
        [{"id": f"r{i}", "text": text} for i, text in enumerate(texts)],
    )
    out, removed = tmp_path / f"out{kind}", tmp_path / "removed.jsonl"
    options = "--split", "line", "--id-column", "id", "--removed", removed
    answer = run("dedup", path, "-o", out, *options)
    assert [(row["id"], row["text"] or "") for row in load(out)] == [
        ("r0", texts[0]),
        ("r1", "the second story tells of snow and of wind\r\n\nlast words"),
        ("r3", texts[3]),
        ("r4", ""),
    ]
    table = [
        (row["key"], row["line"], row["kept_key"], row["kept_line"])
        for row in load(removed)
    ]
    assert table == [("r1", 1, "r0", 0), ("r2", 1, "r0", 0)]
    assert re.search(r"lines +12 ", answer.stderr)


def test_the_table_names_the_measure(tmp_path):
    long = "we moved our office to a bigger house near the station in May and invite you all"
    path = make(tmp_path / "in.jsonl", [{"text": f"{long}\n\n{long[:50]}"}])
    plan = make_plan(measure="containment", size=2, exact=True)
    run_paragraphs(
        Inputs([str(path)]), Outputs(removed=str(tmp_path / "removed.jsonl")), plan
    )
    (row,) = load(tmp_path / "removed.jsonl")
    key = f"{path}:1"
    assert row == {
        "key": key,
        "paragraph": 1,
        "kept_key": key,
        "kept_paragraph": 0,
        "containment": 0.9,
    }


def test_the_command(tmp_path):
    path = corpus_of(tmp_path / "in.jsonl")[1]
    results = [
        run(
            "dedup",
            path,
            "--split",
            "paragraph",
            "-o",
            tmp_path / f"{threads}.jsonl",
            "--threads",
            threads,
        )
        for threads in (1, 3)
    ]
    assert [result.exit_code for result in results] == [0, 0]
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "3.jsonl").read_bytes()
    assert re.search(
        r"\d+ kept \+ \d+ removed \+ 0 rejected = 40 read", results[0].stderr
    )
    assert re.search(r"paragraphs +\d+", results[0].stderr)
    for options in (
        ["--annotate"],
        ["--pairs", tmp_path / "p.csv"],
        ["--save-index", tmp_path / "i"],
    ):
        said = failing(
            2,
            "dedup",
            path,
            "--split",
            "paragraph",
            "-o",
            tmp_path / "o.jsonl",
            *options,
        )
        assert (
            "paragraphs are deduplicated without pairs, html, annotate and indexes"
            in said
        )
    said = failing(
        2,
        "dedup",
        path,
        "--split",
        "paragraph",
        "-o",
        tmp_path / "o.jsonl",
        "--memory",
        "1G",
    )
    assert "paragraphs, lines and sentences are deduplicated in memory" in said
    said = failing(
        2,
        "dedup",
        path,
        "--split",
        "paragraph",
        "-o",
        tmp_path / "o.jsonl",
        "--keep",
        "max:n",
    )
    assert (
        "keep must be first, last, longest or shortest for paragraphs, not 'max:n'"
        in said
    )
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "1.jsonl",
        "3.jsonl",
        "in.jsonl",
    ]


@pytest.mark.parametrize("split", ["paragraph", "line", "sentence"])
def test_the_function_is_the_command(tmp_path, split):
    folder = tmp_path / "in"
    folder.mkdir()
    notices = [
        "We use cookies here to serve you.",
        "Please read our terms of use first.",
    ]
    for number in range(2):
        texts = [
            f"Story {number}{i} tells of rain, snow and wind {i}.{end}{notices[i % 2]}"
            for i, end in enumerate(["\n\n", "\n", " ", "\n \n", "\n"])
        ]
        rows = [{"id": f"r{number}{i}", "body": text} for i, text in enumerate(texts)]
        make(folder / f"{number}.jsonl", [*rows, {"id": "bad", "body": 5}])
    options = {
        "column": "body",
        "id_column": "id",
        "keep": "last",
        "threshold": 0.9,
        "on_error": "skip",
        "normalize": "NFC",
    }
    answers = []
    for name in ("command", "function"):
        out, removed = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.csv"
        if name == "command":
            words = [
                word
                for option, value in options.items()
                for word in (f"--{option.replace('_', '-')}", str(value))
            ]
            answer = run(
                "dedup",
                folder,
                "--split",
                split,
                "-o",
                out,
                "--removed",
                removed,
                *words,
            )
            assert answer.exit_code == 0
        else:
            summary = lshfast.dedup_paragraphs(
                folder, out, split=split, removed=removed, **options
            )
        rejects = tmp_path / f"{name}.jsonl.rejects.jsonl"
        answers.append([path.read_bytes() for path in (out, removed, rejects)])
    assert answers[0] == answers[1]
    assert isinstance(summary, lshfast.ParagraphsSummary)
    assert (summary.unit, summary.read, summary.rejected) == (split, 12, 2)
    assert summary.shortened > 0
    assert summary.paragraphs.removed == len(load(tmp_path / "function.csv"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"split": "word"},
            ValueError,
            "split must be one of paragraph, line, sentence",
        ),
        ({"split": None}, ValueError, "split must be one of paragraph, line, sentence"),
        (
            {"keep": "max:n"},
            ValueError,
            "keep must be first, last, longest or shortest",
        ),
        ({"kind": "set"}, ValueError, "split is for texts, not for sets"),
        ({"memory": "1G"}, TypeError, "'memory': paragraphs, lines and sentences are "),
        ({"resume": True}, TypeError, "'resume': paragraphs, lines and sentences are "),
        ({"pairs": "p.csv"}, TypeError, "'pairs': dedup_files, over files, takes it"),
        (
            {"against": "a.jsonl"},
            TypeError,
            "'against': dedup_files, over files, takes",
        ),
        ({"radius": 3}, TypeError, "'radius': dedup_files, over files, takes it"),
        ({"treshold": 0.9}, TypeError, "did you mean 'threshold'?"),
    ],
)
def test_the_function_refuses(tmp_path, options, error, message):
    path = make(tmp_path / "in.jsonl", [{"text": "one\n\ntwo", "n": 1}])
    with pytest.raises(error, match=re.escape(message)):
        lshfast.dedup_paragraphs(path, tmp_path / "out.jsonl", **options)
    assert [file.name for file in tmp_path.iterdir()] == ["in.jsonl"]


def test_the_function_warns_and_writes_nothing_when_dry(tmp_path):
    text = "if (a > b) { return f(x)[0] + y; }"
    path = make(tmp_path / "in.jsonl", [{"text": f"{text} // {i}"} for i in range(200)])
    with pytest.warns(lshfast.CodeTextsWarning) as warned:
        summary = lshfast.dedup_paragraphs(
            [path], tmp_path / "out.jsonl", split="line", dry_run=True
        )
    assert warned[0].filename == __file__
    assert (summary.read, summary.paragraphs.read) == (200, 200)
    assert [file.name for file in tmp_path.iterdir()] == ["in.jsonl"]


def test_bad_rows(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "one\\n\\ntwo"}\n{"text": 5}\n{"text": "one"}\n')
    out = tmp_path / "out.jsonl"
    with pytest.raises(DataError, match=r"in\.jsonl:2: "):
        run_paragraphs(Inputs([str(path)]), Outputs(str(out)), make_plan())
    assert not out.exists()
    found = run_paragraphs(
        Inputs([str(path)], on_error="skip"),
        Outputs(str(out)),
        make_plan(),
        indexes=Indexes(),
    )
    assert (found.read, found.kept, found.removed, found.rejected) == (3, 1, 1, 1)
    assert out.read_bytes() == b'{"text": "one\\n\\ntwo"}\n'
    assert [row["line"] for row in load(tmp_path / "out.jsonl.rejects.jsonl")] == [2]


@pytest.mark.slow
@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"),
    reason="tells by /proc when the run is under way",
)
def test_interrupt_leaves_nothing(tmp_path):
    big = write_long(
        tmp_path / "in.jsonl.gz", "one two three\n\nfour five six\n\none two three"
    )
    outputs = (
        "--split",
        "paragraph",
        "-o",
        tmp_path / "out.jsonl",
        "--removed",
        tmp_path / "removed.csv",
    )
    assert stopped(signal.SIGINT, big, "dedup", big, *outputs) == ENDINGS[signal.SIGINT]
    assert [file.name for file in tmp_path.iterdir()] == ["in.jsonl.gz"]


def test_no_rows(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"")
    found = run_paragraphs(
        Inputs([str(tmp_path / "in.jsonl")]),
        Outputs(str(tmp_path / "out.jsonl")),
        make_plan(),
    )
    assert (found.read, found.paragraphs.read) == (0, 0)
