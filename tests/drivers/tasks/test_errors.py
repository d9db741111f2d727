"""Errors that name the input: those of one run by `dedup_files`."""

import pytest

from lshfast import DataError, dedup_files, stages
from tests.drivers.tasks.runs import corpus, in_memory, in_stages, write_files
from tests.drivers.tasks.test_csv import table, write_tables


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        (["a", "b", "c", "d", "b", "f"], "id 'b' is taken by {}:2"),
        ([1, 2, 3, 4, 5, 1], "id 1 is taken by {}:1"),
        (["a", "b", "c", 4, 5, 6], "id 4 is a number, the ids before it are not"),
    ],
)
def test_ids_are_checked_over_all_shards(tmp_path, ids, reason):
    source = write_files(tmp_path / "in", [{"id": own, "text": f"text {own}"} for own in ids], 2)
    with pytest.raises(DataError) as wanted:
        in_memory(tmp_path, source, id_column="id")
    with pytest.raises(DataError) as found:
        in_stages(tmp_path, source, id_column="id", shards=2)
    assert str(found.value) == str(wanted.value)
    assert str(found.value).endswith(reason.format(source / "00.jsonl"))


@pytest.mark.parametrize(
    "values", [[1, 2, 3, "a"], ["a", "b", 1.5, 2], ["a", "b", "c", None], [1, 2, [], 4], [0, 1, 2, "x" * 99]]
)
def test_values_that_cannot_be_compared(tmp_path, values):
    rows = [{"text": f"text {i}", "value": value} for i, value in enumerate(values)]
    source = write_files(tmp_path / "in", rows, 4)
    with pytest.raises(DataError) as wanted:
        in_memory(tmp_path, source, keep="max:value")
    with pytest.raises(DataError) as found:
        in_stages(tmp_path, source, shards=4, keep="max:value")
    assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("keep", ["longer", "max", "max:", "first:a", "Max:a"])
def test_policies_that_there_are_not(tmp_path, keep):
    source = write_files(tmp_path / "in", corpus(1, 9), 1)
    reason = "keep must be first, last, longest, shortest, max:COLUMN or min:COLUMN, not"
    with pytest.raises(ValueError, match=reason):
        in_memory(tmp_path, source, keep=keep)
    with pytest.raises(ValueError, match=reason):
        stages.plan(source, tmp_path / "work", tmp_path / "kept", keep=keep)
    assert not (tmp_path / "work").exists()


def test_a_column_that_is_there_already(tmp_path):
    """A row of JSON Lines is a bad row; Parquet is refused before anything is written."""
    rows = [{"text": "a b"}, {"text": "c d", "similarity": 1}]
    source = write_files(tmp_path / "in", rows, 2)
    with pytest.raises(DataError) as wanted:
        in_memory(tmp_path, source, annotate=True)
    with pytest.raises(DataError) as found:
        in_stages(tmp_path, source, shards=2, annotate=True)
    assert str(found.value) == str(wanted.value)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": ["a"], "duplicate_of": ["b"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="there is a column 'duplicate_of' already"):
        stages.plan(tmp_path / "a.parquet", tmp_path / "new", tmp_path / "rows", annotate=True)
    assert not (tmp_path / "new").exists()


def test_refused_before_anything_is_written(tmp_path):
    """Headers that differ, as by `dedup_files`; a column that is to be added; a delimiter that cannot be one."""
    source = write_tables(tmp_path / "in", corpus(6, 30), 2)
    (source / "03.csv").write_bytes(table([{"similarity": 1, "text": "a"}], ("similarity", "text")))
    for options, error, reason in (
        ({}, DataError, "03.csv:1: the header is not that of the inputs before: id, number, text"),
        ({"annotate": True}, DataError, "there is a column 'similarity' already, so none can be added"),
        ({"delimiter": "ab"}, ValueError, "delimiter must be one ASCII character"),
    ):
        with pytest.raises(error, match=reason):
            dedup_files(source, tmp_path / "wanted.csv", threads=1, **options)
        with pytest.raises(error, match=reason):
            stages.plan(source, tmp_path / "work", tmp_path / "kept", **options)
        assert not (tmp_path / "work").exists()
