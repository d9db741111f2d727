"""Runs in stages against an index of earlier rows; tests/engine/executors compares their answers."""

import pytest

from lshfast import DataError, dedup_files, stages
from tests.cli.commands import failing, run
from tests.stages.runs import corpus, in_memory, in_stages, index_of, write_files


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
