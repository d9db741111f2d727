"""Files of folders that are not read, and files of one text with many lines, are in the account of a run."""

import json

import numpy as np
import pytest

from lshfast import dedup_files, stages
from lshfast.genomes import sketch_files
from lshfast.images import list_images
from tests.cli.commands import run


@pytest.fixture
def folder(tmp_path):
    """Three data files, among others at two depths."""
    names = [
        "a.docx",
        "b.DOCX",
        "in/c.docx",
        "d.pdf",
        "photo.cr2",
        "README",
        "notes.txt",
        "old.txt.gz",
        "x.json",
    ]
    hidden = [".git/config", ".DS_Store", "_SUCCESS", "in/._x"]
    (tmp_path / "rows").mkdir()
    for name in [*names, *hidden]:
        path = tmp_path / "rows" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("one two three\n")
    for name in ("a.jsonl", "b.jsonl", "in/c.jsonl"):
        (tmp_path / "rows" / name).write_text(
            json.dumps({"text": f"one two {name}"}) + "\n"
        )
    return tmp_path / "rows"


LEFT_OUT = {
    ".docx": 3,
    "": 1,
    ".cr2": 1,
    ".json": 1,
    ".pdf": 1,
    ".txt": 1,
    ".txt.gz": 1,
}
SHOWN = "3 .docx, 1 without a suffix, 1 .cr2, 1 .json, 1 .pdf, 1 .txt, 1 .txt.gz"


@pytest.mark.parametrize("command", [
    ["dedup", "-o", "out.jsonl"], ["dedup", "-o", "out.jsonl", "--memory", "500M"], ["pairs", "-o", "out.csv"],
    ["check"], ["passages", "-o", "out.csv"], ["index", "build", "-o", "out.lsh"],
])  # fmt: skip
def test_the_account_names_what_was_left_out(folder, monkeypatch, command):
    monkeypatch.chdir(folder.parent)
    result = run(*command, folder)
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    assert f"left out 9 files of folders that are not read: {SHOWN}" in shown


def test_the_page_and_the_summary_name_it(folder, tmp_path):
    page = tmp_path / "page.html"
    summary = dedup_files(folder, tmp_path / "out.jsonl", html=page).summary
    assert summary.unread == LEFT_OUT
    assert SHOWN in page.read_text()
    assert "left out" in repr(summary)


def test_nothing_is_left_out_of_named_files_and_patterns(folder, tmp_path):
    for inputs, options in (
        ([folder / "a.jsonl"], {}),
        (folder, {"glob": "*.jsonl"}),
        (str(folder / "*.jsonl"), {}),
    ):
        summary = dedup_files(
            inputs, tmp_path / "out.jsonl", overwrite=True, **options
        ).summary
        assert summary.unread == {}


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt", "c.md"):
        (tmp_path / "texts" / name).write_text(name)
    assert dedup_files(tmp_path / "texts", tmp_path / "out.jsonl").summary.unread == {
        ".md": 1
    }


def test_two_folders_add_up(folder, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "z.jsonl").write_text('{"text": "a b"}\n')
    (tmp_path / "more" / "z.docx").write_text("")
    summary = dedup_files([tmp_path / "more", folder], tmp_path / "out.jsonl").summary
    assert summary.unread == LEFT_OUT | {".docx": 4}


def test_many_suffixes_are_counted(tmp_path):
    (tmp_path / "rows").mkdir()
    for number in range(20):
        (tmp_path / "rows" / f"a.s{number:02}").touch()
    (tmp_path / "rows" / "a.jsonl").write_text('{"text": "a b"}\n')
    shown = " ".join(
        run("dedup", tmp_path / "rows", "-o", tmp_path / "out.jsonl").output.split()
    )
    assert "left out 20 files" in shown
    assert "1 .s07, 12 more suffixes" in shown


def test_images(folder):
    images = pytest.importorskip("PIL.Image")
    images.fromarray(np.zeros((9, 9), np.uint8)).save(folder / "a.png")
    found = list_images(folder)
    assert found.other == sum(found.left_out.values()) == 12
    assert found.left_out == LEFT_OUT | {".jsonl": 3}
    output = run("images", folder, "-o", folder / "out.csv").output
    assert "3 .docx, 3 .jsonl" in " ".join(output.split())


def test_records(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.csv").write_text(
        "id,name\n" + "".join(f"{row},bob{row}\n" for row in range(9))
    )
    (tmp_path / "rows" / "a.xlsx").touch()
    output = run(
        "records", "dedup", tmp_path / "rows", "-o", tmp_path / "out.csv"
    ).output
    assert "left out 1 files of folders that are not read: 1 .xlsx" in " ".join(
        output.split()
    )


def test_genomes_are_chosen_by_a_pattern(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGTACGTACGT\n")
    (tmp_path / "a.docx").touch()
    assert len(sketch_files([tmp_path], k=5, scaled=1, glob="*.fa").names) == 1


@pytest.mark.parametrize(
    ("files", "lines", "named"),
    [(1, 2, True), (1, 1, False), (3, 2, False), (3, 1_000, True)],
)
def test_a_text_of_many_lines(tmp_path, files, lines, named):
    for number in range(files):
        (tmp_path / f"{number}.txt").write_text(
            f"a line of {number}\n" * (lines if number == 0 else 1)
        )
    result = run("dedup", *sorted(tmp_path.glob("*.txt")), "-o", tmp_path / "out.jsonl")
    shown = " ".join(result.output.split())
    assert (
        "format lines (--format lines) reads a text from each line" in shown
    ) == named
    read = run(
        "dedup", tmp_path / "0.txt", "--format", "lines", "-o", tmp_path / "lines.jsonl"
    ).output
    assert f"read {lines:,}" in " ".join(read.split())
    assert "reads a text from each line" not in read


def test_tasks(folder, tmp_path):
    stages.plan(folder, tmp_path / "work", tmp_path / "kept", shards=2)
    for stage in stages.STAGES:
        for task in range(stages.tasks(tmp_path / "work", stage)):
            stages.run(tmp_path / "work", stage, task)
    assert stages.status(tmp_path / "work").summary.unread == LEFT_OUT
