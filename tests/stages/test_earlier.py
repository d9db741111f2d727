"""Runs in stages against an index of earlier rows; tests/engine/executors compares their answers."""

import pytest

from lshfast import DataError, dedup_files, stages
from tests.cli.commands import failing, run
from tests.stages.runs import (
    corpus,
    in_memory,
    in_stages,
    index_of,
    run_all,
    write_files,
)


@pytest.fixture
def source(tmp_path):
    return write_files(tmp_path / "in", corpus(5, 300), 3)


@pytest.fixture
def index(tmp_path):
    return index_of(tmp_path, corpus(5, 300)[::7])


@pytest.mark.parametrize("annotate", [False, True])
def test_keys_of_entries_of_another_type_are_strings(tmp_path, source, index, annotate):
    options = {"id_column": "number", "against": index, "annotate": annotate}
    summary, *outputs = in_stages(tmp_path, source, tasks=2, **options)
    wanted, *wanted_outputs = in_memory(tmp_path, source, exact=False, **options)
    assert outputs == wanted_outputs
    assert summary.earlier == wanted.earlier > 10
    assert summary.removed == wanted.removed


def test_an_index_that_has_changed_since_the_plan_is_refused(tmp_path, source, index):
    work = tmp_path / "work"
    options = {"id_column": "id", "against": index}
    stages.plan(source, work, tmp_path / "kept", shards=2, **options)
    stages.run(work, "sketch", 0)
    dedup_files(source, save_index=index, **options)
    with pytest.raises(ValueError, match=r"earlier\.lsh: this index has changed since"):
        stages.run(work, "sketch", 1)


def test_options_of_the_index_take_effect_and_others_are_refused(tmp_path, source):
    index = index_of(tmp_path, corpus(5, 300)[::7], threshold=0.5, unit="char", size=9)
    plan = ("stage", "plan", source, "--against", index, "-o", tmp_path / "kept")
    said = failing(2, *plan, "--work", tmp_path / "other", "--threshold", "0.7")
    assert "threshold is 0.5 in this index, not 0.7" in said
    assert not (tmp_path / "other").exists()
    work = tmp_path / "work"
    done = run(*plan, "--work", work)
    assert done.exit_code == 0, done.stderr
    assert run("stage", "run", work, "--executor", "inline").exit_code == 0
    wanted = dedup_files(source, against=index, exact=False).summary
    summary = stages.status(work).summary
    assert summary.earlier == wanted.earlier > 10
    assert summary.removed == wanted.removed


def test_a_run_against_an_index_cannot_ignore_common_shingles(tmp_path, source, index):
    with pytest.raises(ValueError, match="ignore_common"):
        stages.plan(
            source, tmp_path / "w", tmp_path / "k", against=index, ignore_common=0.5
        )
    assert not (tmp_path / "w").exists()


def test_an_index_that_is_missing_is_named(tmp_path, source):
    with pytest.raises((OSError, DataError), match=r"none\.lsh"):
        stages.plan(
            source, tmp_path / "w", tmp_path / "k", against=tmp_path / "none.lsh"
        )


# Earlier files


@pytest.fixture
def earlier(tmp_path):
    return write_files(tmp_path / "earlier", corpus(5, 300)[::7], 2)


@pytest.mark.slow
@pytest.mark.parametrize("annotate", [False, True])
def test_ids_of_earlier_files_of_another_type(tmp_path, source, earlier, annotate):
    options = {"id_column": "number", "against": earlier, "annotate": annotate}
    options |= {"against_id_column": "id"}
    summary, *outputs = in_stages(tmp_path, source, shards=3, tasks=2, **options)
    wanted, *wanted_outputs = in_memory(tmp_path, source, exact=False, **options)
    assert outputs == wanted_outputs
    assert summary.earlier == wanted.earlier > 10
    assert summary.earlier_texts == wanted.earlier_texts


def test_an_earlier_file_that_has_changed_is_named(tmp_path, source, earlier):
    work = tmp_path / "work"
    stages.plan(source, work, tmp_path / "kept", shards=2, against=earlier)
    last_file = earlier / "01.jsonl"
    last_file.write_bytes(last_file.read_bytes() + b"\n")
    with pytest.raises(DataError, match=r"01\.jsonl.*has changed since the plan"):
        stages.run(work, "sketch")


def test_the_page_shows_earlier_texts(tmp_path, source, earlier):
    work = tmp_path / "work"
    stages.plan(source, work, tmp_path / "kept", shards=2, tasks=2, against=earlier)
    run_all(work)
    page = tmp_path / "page.html"
    stages.write_page(work, page)
    html = page.read_text()
    assert "of earlier entries" in html
    assert "stores no texts" not in html
    assert f"{earlier}/0" in html
