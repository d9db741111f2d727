"""All rows with the columns duplicate_of and similarity: the output of `dedup_files` with annotate."""

import pytest

from lshfast import DataError, dedup_files, stages
from tests.drivers.tasks.runs import corpus, in_memory, in_stages, run_all, write_files


@pytest.mark.few_cases
@pytest.mark.parametrize(
    "options",
    [{}, {"id_column": "number", "keep": "last"}, {"measure": "containment", "groups": "components"}],
)
@pytest.mark.parametrize(("shards", "tasks"), [(1, 1), (5, 3)])
def test_equals_the_run_in_memory(tmp_path, options, shards, tasks):
    source = write_files(tmp_path / "in", corpus(3, 600), 7)
    wanted = in_memory(tmp_path, source, annotate=True, exact=False, **options)
    assert wanted[1].count(b'"duplicate_of":null') < wanted[1].count(b"\n") == 600
    assert in_stages(tmp_path, source, shards=shards, tasks=tasks, annotate=True, **options) == wanted


@pytest.mark.parametrize("id_column", [None, "id"])
def test_parquet(tmp_path, id_column):
    """The columns have their types also in a shard in which no row is removed."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in").mkdir()
    for number, texts in enumerate([["a b c d e f", "x"], ["A b c d e f", "y z"]]):
        pq.write_table(
            pa.table({"text": texts, "id": [2 * number, 2 * number + 1]}), tmp_path / "in" / f"{number}.parquet"
        )
    dedup_files(tmp_path / "in", tmp_path / "all.parquet", annotate=True, id_column=id_column, threads=1)
    stages.plan(tmp_path / "in", tmp_path / "work", tmp_path / "all", annotate=True, id_column=id_column, shards=2)
    run_all(tmp_path / "work")
    tables = [pq.read_table(path) for path in sorted((tmp_path / "all").iterdir())]
    assert pa.concat_tables(tables).equals(pq.read_table(tmp_path / "all.parquet"))


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
