"""Ids of 64 bits, signed and unsigned, and whole doubles, in all formats and ways of running."""

import json

import pytest

import lshfast
from lshfast import DataError, stages
from lshfast._io import open_corpus
from tests.cli.commands import read_jsonl, run, write_jsonl
from tests.stages.runs import run_all

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ONE = "one two three four five six seven"
TWO = "a text of other words than those of one"
IDS = [2**64 - 1, 5, 2**63, 2**63 - 1]
ROWS = [
    {"text": text, "id": key} for text, key in zip([ONE, TWO] * 2, IDS, strict=True)
]
REMOVED = [(2**63, 2**64 - 1), (2**63 - 1, 5)]


def write_rows(path, rows, kind=None):
    if path.suffix == ".jsonl":
        return write_jsonl(path, rows)
    ids = pa.array([row["id"] for row in rows], kind)
    pq.write_table(pa.table({"text": [row["text"] for row in rows], "id": ids}), path)
    return path


def removed_in(path):
    if path.suffix == ".jsonl":
        return [(row["key"], row["kept_key"]) for row in read_jsonl(path)]
    return [(row["key"], row["kept_key"]) for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_ids_above_the_signed_integers(tmp_path, format):
    path = write_rows(tmp_path / f"a.{format}", ROWS, pa.uint64())
    for suffix in ("parquet", "jsonl"):
        removed = tmp_path / f"removed.{suffix}"
        for options in ((), ("--memory", "1G", "--no-exact")):
            arguments = "--id-column", "id", "--removed", removed, "--overwrite", "-q"
            run("dedup", path, "-o", tmp_path / f"b.{format}", *arguments, *options)
            assert removed_in(removed) == REMOVED
    folders = {name: tmp_path / name for name in ("work", "kept", "removed")}
    stages.plan(
        path, *list(folders.values())[:2], removed=folders["removed"], id_column="id"
    )
    run_all(folders["work"])
    (table,) = folders["removed"].glob(f"*.{format}")
    assert removed_in(table) == REMOVED


def test_what_a_run_has_recorded_can_be_restored(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", ROWS)
    corpora = [open_corpus(path, id_column="id") for _ in range(2)]
    for corpus in corpora:
        corpus.hold_in_files(str(tmp_path))
    assert len(list(corpora[0].batches()))
    arrays, values = corpora[0].state()
    stored_values = json.loads(json.dumps(values))
    corpora[1].restore(arrays, stored_values, corpora[0].files_of_state)
    assert list(corpora[1].ids) == IDS
    assert corpora[1].has_unsigned_ids


def test_csv_holds_ids_above_the_signed_integers(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", ROWS)
    lshfast.dedup_files(path, tmp_path / "b.csv", id_column="id")
    assert (tmp_path / "b.csv").read_text().count("18446744073709551615") == 1


@pytest.mark.parametrize("ids", [[-1, 2**63], [2**64 - 1, -(2**63)]], ids=str)
@pytest.mark.parametrize("options", [{}, {"memory": "1G", "exact": False}], ids=str)
def test_no_type_has_negative_ids_and_these(tmp_path, ids, options):
    rows = [{"text": ONE, "id": key} for key in ids]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    with pytest.raises(DataError, match=r"a.jsonl:2: id .* before it is"):
        lshfast.dedup_files(path, id_column="id", **options)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_whole_doubles_are_integers(tmp_path, format):
    rows = [{"text": ONE, "id": 7.0}, {"text": ONE, "id": 2.0**53}]
    path = write_rows(tmp_path / f"a.{format}", rows)
    removed = tmp_path / "removed.jsonl"
    lshfast.dedup_files(path, id_column="id", removed=removed)
    assert removed_in(removed) == [(2**53, 7)]
    twice = write_rows(tmp_path / f"b.{format}", [rows[0], rows[0]])
    with pytest.raises(DataError, match=r"id 7 is taken"):
        lshfast.dedup_files(twice, id_column="id")
    for value in (2.5, 2.0**53 + 2, float("inf")):
        bad = write_rows(tmp_path / f"c.{format}", [{"text": ONE, "id": value}])
        with pytest.raises(DataError, match="neither a string nor a 64-bit integer"):
            lshfast.dedup_files(bad, id_column="id")


def test_cells_are_keys_of_an_index_of_integers(tmp_path):
    index = tmp_path / "a.lsh"
    first = write_jsonl(tmp_path / "a.jsonl", [{"text": ONE, "id": 1}])
    lshfast.dedup_files(first, id_column="id", save_index=index)
    later = tmp_path / "b.csv"
    later.write_text(f"id,text\n3,{ONE}\n4,{TWO}\n")
    options = {"id_column": "id", "against": index, "save_index": index}
    assert lshfast.dedup_files(later, **options).summary.removed == 1
    with lshfast.LSHIndex.open(index) as opened:
        assert sorted(opened) == [1, 4]
    for cell in ("x", "05", "9223372036854775808", "1.0"):
        later.write_text(f"id,text\n{cell},quite another text of some words\n")
        with pytest.raises(
            DataError, match=r"b.csv:2: key .*: the keys of .* integers"
        ):
            lshfast.dedup_files(later, **options)


def test_an_index_names_a_key_that_it_cannot_hold(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", ROWS)
    with pytest.raises(
        DataError, match=r"a.jsonl:1: key 18446744073709551615 is above"
    ):
        lshfast.dedup_files(path, id_column="id", save_index=tmp_path / "a.lsh")
