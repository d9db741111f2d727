"""The page of a run in stages shows what that of the run in memory shows, for any division into tasks."""

import re

import pytest

from lshfast import dedup_files, stages
from tests.cli.commands import failing, run
from tests.drivers.tasks.runs import corpus, run_all, write_files


def parts(page):
    """Return what does not depend on the way of running: the counts, the sizes of groups, and the first examples."""
    text = page.read_text(encoding="utf-8")
    histogram = re.findall(r"<title>(0\.\d\d to [^<]*)</title>", text)
    sizes = re.findall(r'class="name">([\d,]+(?: to [\d,]+)? rows)</text>.*?class="label">([\d,]+)<', text)
    removed = re.search(r"<dt>removed</dt><dd>([\d,]+)", text)[1]
    least = text.partition("The least similar rows that were removed")[2].partition("<h3>Removed rows over")[0]
    return removed, histogram, sizes, re.findall(r"<h4>(?:removed|kept): ([^<]*)</h4>", least)


@pytest.fixture
def source(tmp_path):
    return write_files(tmp_path / "in", corpus(3, 900), 4)


def planned(source, folder, shards, tasks):
    stages.plan(source, folder / "work", folder / "kept", id_column="id", shards=shards, tasks=tasks, threshold=0.6)
    return folder / "work"


@pytest.mark.parametrize(("shards", "tasks"), [(1, 1), (4, 3)])
def test_the_page_is_that_of_the_run_in_memory(tmp_path, source, shards, tasks):
    dedup_files(source, html=tmp_path / "memory.html", id_column="id", threshold=0.6, exact=False)
    work = planned(source, tmp_path, shards, tasks)
    page = tmp_path / "stages.html"
    assert "the page of a run needs all tasks of verify" in failing(2, "stage", "status", work, "--html", page)
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
