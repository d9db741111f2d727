"""The page of a run in stages shows what that of the run in memory shows, for any division into tasks."""

import re

import numpy as np
import pytest

from lshfast import FormatError, TooManyRemovedError, dedup_files, stages
from lshfast.stages.stage_plan import read_stage_plan
from tests.cli.commands import failing, run, write_jsonl
from tests.io.pages.pages import read_page
from tests.stages.runs import corpus, index_of, rewritten, run_all, write_files


def between(text, begin, end):
    """Return the part of a text from one mark to another; both are there."""
    _, found, rest = text.partition(begin)
    part, ended, _ = rest.partition(end)
    assert (found, ended) == (begin, end)
    return part


def parts(page):
    """Return what does not depend on the way of running: counts, sizes of groups, inputs, and most examples."""
    text = page.read_text(encoding="utf-8")
    histogram = re.findall(r"<title>(0\.\d\d to [^<]*)</title>", text)
    sizes = re.findall(
        r'class="name">([\d,]+(?: to [\d,]+)? rows)</text>.*?class="label">([\d,]+)<',
        text,
    )
    removed = re.search(r"<dt>removed</dt><dd>([\d,]+)", text)[1]
    inputs = between(text, "<h2>Where the rows come from</h2>", "</section>")
    least = between(
        text, "The least similar rows that were removed", "<h3>Removed rows over"
    )
    groups = between(
        text.partition("<h3>Removed rows over")[2],
        "<h3>Of the group of",
        "<summary>The account",
    )
    return removed, histogram, sizes, inputs, least, groups


@pytest.fixture
def source(tmp_path):
    return write_files(tmp_path / "in", corpus(3, 900), 4)


def planned(source, folder, shards, tasks, **options):
    stages.plan(
        source,
        folder / "work",
        folder / "kept",
        id_column="id",
        shards=shards,
        tasks=tasks,
        threshold=0.6,
        **options,
    )
    return folder / "work"


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    ("shards", "tasks", "data"), [(1, 1, "texts"), (4, 3, "sets"), (3, 4, "an index")]
)
def test_the_page_is_that_of_the_run_in_memory(tmp_path, source, shards, tasks, data):
    options = {}
    if data == "sets":
        rows = corpus(3, 900)
        sets = [row | {"text": (row["text"] or "").split()} for row in rows]
        source = write_files(tmp_path / "sets", sets, 4)
    if data == "an index":
        options["against"] = index_of(tmp_path, corpus(3, 900)[::9], threshold=0.6)
    dedup_files(
        source,
        html=tmp_path / "memory.html",
        id_column="id",
        threshold=0.6,
        exact=False,
        **options,
    )
    work = planned(source, tmp_path, shards, tasks, **options)
    page = tmp_path / "stages.html"
    assert "the page of a run needs all tasks of verify" in failing(
        2, "stage", "status", work, "--html", page
    )
    run_all(work)
    assert run("stage", "status", work, "--html", page).exit_code == 0
    assert parts(page) == parts(tmp_path / "memory.html")
    assert "exists already" in failing(2, "stage", "status", work, "--html", page)


def test_texts_are_left_out(tmp_path, source):
    work = planned(source, tmp_path, 2, 2)
    run_all(work)
    stages.write_page(work, tmp_path / "page.html", texts=False)
    text = (tmp_path / "page.html").read_text()
    assert "Texts are left out of this page." in text
    assert "<h4>" not in text


def test_the_page_of_a_run_that_removes_too_much(tmp_path, source):
    work = tmp_path / "work"
    stages.plan(
        source,
        work,
        tmp_path / "kept",
        id_column="id",
        shards=2,
        threshold=0.6,
        max_removed=0.1,
    )
    with pytest.raises(TooManyRemovedError):
        run_all(work)
    stages.write_page(work, tmp_path / "page.html")
    text = read_page(tmp_path / "page.html")
    assert "No rows were written: " in text
    assert "of all rows are removed" in text
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_file_without_rows_and_groups_of_two(tmp_path):
    texts = ["one two three four five six seven", "eight nine ten eleven twelve"]
    paths = [write_jsonl(tmp_path / f"{name}.jsonl", [{"text": text} for text in some])
             for name, some in (("a", texts), ("b", []), ("c", texts[:1]))]  # fmt: skip
    stages.plan(paths, tmp_path / "work", tmp_path / "kept", shards=2, tasks=3)
    run_all(tmp_path / "work")
    stages.write_page(tmp_path / "work", tmp_path / "page.html")
    text = read_page(tmp_path / "page.html")
    rows = [
        f"{tmp_path}/{name}.jsonl {figures}"
        for name, figures in (("a", "2 0 0.0%"), ("c", "1 1 100.0%"))
    ]
    assert all(row in text for row in rows)
    assert f"{tmp_path}/b.jsonl 0 0 0.0%" in text
    assert "Of the group of" not in text


@pytest.mark.parametrize("counts", [[0], [-1, 2], [4, 1]])
def test_damaged_counts_of_files(tmp_path, source, counts):
    work = planned(source, tmp_path, 2, 1)
    run_all(work)

    def change(ranges):
        number, part = ranges[-1]
        assert number == 3
        ranges[-1] = number, part | {"rows": np.array(counts, np.int64)}

    rewritten(read_stage_plan(str(work)), "verify", change)
    with pytest.raises(
        FormatError,
        match=r"verify-00000\.data: it has counts of files that are not there",
    ):
        stages.write_page(work, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
