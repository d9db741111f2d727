"""`lshfast stage`: the commands, what they print, and their errors."""

import re

import pytest

from lshfast.stages.slurm import ranges
from tests.cli.commands import failing, run, write_jsonl


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for number, texts in enumerate(
        [["one two three", "One, two, three!"], ["four five"], [None, "four five"]]
    ):
        write_jsonl(
            tmp_path / "in" / f"{number}.jsonl", [{"text": text} for text in texts]
        )
    return tmp_path


def plan(folder, *options):
    arguments = (
        "stage",
        "plan",
        folder / "in",
        "--work",
        folder / "work",
        "-o",
        folder / "kept",
    )
    return arguments + options


def test_a_run(folder):
    removed = folder / "removed"
    shown = run(
        *plan(folder, "--removed", removed, "--shards", 2, "--tasks", 3, "--size", 2)
    ).stdout
    assert re.findall(r"^(\w+) +(\d+) +0  all$", shown, re.MULTILINE) == [
        ("sketch", "2"), ("band", "2"), ("join", "3"), ("group", "1"), ("collect", "2"), ("verify", "3"),
        ("apply", "2"),
    ]  # fmt: skip
    assert (
        run("stage", "sketch", folder / "work", "--task", 1).stderr
        == "sketch 1: done\n"
    )
    assert (
        run("stage", "sketch", folder / "work").stderr
        == "sketch 0: done\nsketch 1: done already\n"
    )
    assert re.search(
        r"^sketch +2 +2$", run("stage", "status", folder / "work").stdout, re.MULTILINE
    )
    for stage in ("band", "join", "group", "collect", "verify", "apply"):
        result = run("stage", stage, folder / "work", "-q")
        assert (result.exit_code, result.stderr) == (0, "")
    shown = run("stage", "status", folder / "work").stdout
    assert "3 kept + 2 removed + 0 rejected = 5 read" in shown
    run(
        "dedup",
        folder / "in",
        "-o",
        folder / "a.jsonl",
        "--removed",
        folder / "r.jsonl",
        "--size",
        2,
        "-q",
    )
    for name, wanted in (("kept", "a.jsonl"), ("removed", "r.jsonl")):
        found = "".join(
            path.read_text() for path in sorted((folder / name).glob("*.jsonl"))
        )
        assert found == (folder / wanted).read_text()


def test_options_of_dedup(folder):
    own = "--annotate", "--keep", "max:date", "--size", 2
    for number in range(3):
        path = folder / "in" / f"{number}.jsonl"
        path.write_text(
            path.read_text().replace("}", f', "date": "2024-05-0{number}"}}')
        )
    run(*plan(folder, "--pairs", folder / "pairs", "--tasks", 1, *own))
    for stage in ("sketch", "band", "join", "group", "collect", "verify", "apply"):
        run("stage", stage, folder / "work", "-q")
    run(
        "dedup",
        folder / "in",
        "-o",
        folder / "a.jsonl",
        "--pairs",
        folder / "p.jsonl",
        *own,
        "-q",
    )
    assert (folder / "pairs" / "00000.jsonl").read_text() == (
        folder / "p.jsonl"
    ).read_text()
    assert (folder / "kept" / "00000.jsonl").read_text() == (
        folder / "a.jsonl"
    ).read_text()
    assert '"duplicate_of":"' in (folder / "a.jsonl").read_text()


def test_errors(folder):
    work = folder / "work"
    assert failing(2, "stage", "sketch", work).endswith(
        f"{work}: there is no plan in this folder: `lshfast stage plan` makes it"
    )
    assert "shards must be in 1..1048576, not 0" in failing(
        2, *plan(folder, "--shards", 0)
    )
    assert "memory must be at least" in failing(2, *plan(folder, "--memory", "1M"))
    assert "keep" in failing(2, *plan(folder, "--keep", "longer"))
    assert not work.exists()
    run(*plan(folder, "--shards", 2))
    assert f"{work}: this work folder has a plan already" in failing(2, *plan(folder))
    assert f"{work}: join 0 needs tasks that are not done: band 0, 1" in failing(
        2, "stage", "join", work
    )
    assert "task must be in 0..1, not 2" in failing(
        2, "stage", "band", work, "--task", 2
    )
    assert "task must be a number or all, not '-1'" in failing(
        2, "stage", "band", work, "--task=-1"
    )
    (work / "plan.json").write_text(
        (work / "plan.json").read_text().replace("0.8", "0.7")
    )
    assert f"{work / 'plan.json'}: damaged: its checksum differs" in failing(
        1, "stage", "band", work
    )


def test_plans_that_are_refused(folder):
    (folder / "kept").mkdir()
    (folder / "kept" / "a").touch()
    assert f"{folder / 'kept'}: this folder is not empty" in failing(2, *plan(folder))
    same = plan(folder, "--removed", folder / "work")
    assert "must be different" in failing(2, *same)
    standard = (
        "stage",
        "plan",
        "-",
        "--format",
        "jsonl",
        "--work",
        folder / "w",
        "-o",
        folder / "o",
    )
    assert (
        "<stdin>: the inputs of a run in stages are files that every task can open"
        in failing(2, *standard)
    )


def test_ranges():
    assert ranges([]) == ""
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
