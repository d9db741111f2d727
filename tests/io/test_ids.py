"""Ids of 64 bits, signed and unsigned, and whole doubles, in all formats and ways of running."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import lshfast
from lshfast import DataError, stages
from lshfast._engine.indexes.run_indexes import add_entries
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
    for cell in ("x", "05", "18446744073709551616", "1.5"):
        later.write_text(f"id,text\n{cell},quite another text of some words\n")
        with pytest.raises(
            DataError, match=r"b.csv:2: key .*: the keys of .* integers"
        ):
            lshfast.dedup_files(later, **options)


@pytest.mark.parametrize("format", ["jsonl", "parquet", "csv"])
def test_an_index_of_ids_above_the_signed_integers(tmp_path, format):
    first = write_rows(tmp_path / "a.parquet", ROWS, pa.uint64())
    options = {"id_column": "id"}
    index = tmp_path / "a.lsh"
    lshfast.dedup_files(first, save_index=index, **options)
    with lshfast.LSHIndex.open(index) as opened:
        assert (list(opened), opened.key_kind) == ([2**64 - 1, 5], "uint")
    later = [
        {"text": ONE, "id": 7},
        {"text": "other words of a later month", "id": 2**64 - 2},
    ]
    path = tmp_path / f"b.{format}"
    if format == "csv":
        cells = "".join(f"{row['id']},{row['text']}\n" for row in later)
        path.write_text(f"id,text\n{cells}")
    else:
        write_rows(path, later, pa.uint64())
    removed = tmp_path / "removed.jsonl"
    for more in ({"memory": "1G", "exact": False}, {"save_index": index}):
        lshfast.dedup_files(
            path, against=index, removed=removed, overwrite=True, **options, **more
        )
        ((key, kept_key),) = removed_in(removed)
        assert (int(key), int(kept_key)) == (7, 2**64 - 1)
    with lshfast.LSHIndex.open(index) as opened:
        assert sorted(opened) == [5, 2**64 - 2, 2**64 - 1]
    negative = write_rows(tmp_path / "c.jsonl", [{"text": "a b c d e f", "id": -1}])
    with pytest.raises(DataError, match=r"c.jsonl:1: key -1 for .*a.lsh: .* ints must"):
        lshfast.dedup_files(negative, against=index, save_index=index, **options)
    folders = tmp_path / "work", tmp_path / "kept"
    stages.plan(
        first, *folders, removed=tmp_path / "out", id_column="id", against=index
    )
    run_all(folders[0])
    (table,) = (tmp_path / "out").glob("*.parquet")
    assert removed_in(table)[0] == (2**64 - 1, 2**64 - 1)


@pytest.mark.parametrize("kind", ["text", "vector"])
@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_the_commands_of_an_index(tmp_path, format, kind):
    vectors = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.25]]
    rows = [
        {"id": key, "item": [ONE, TWO][i] if kind == "text" else vectors[i]}
        for i, key in enumerate([2**64 - 1, 5])
    ]
    paths = []
    for name, part in (("a", rows[1:]), ("b", rows[:1])):
        paths.append(tmp_path / f"{name}.{format}")
        if format == "jsonl":
            write_jsonl(paths[-1], part)
        else:
            items = pa.array([row["item"] for row in part])
            ids = pa.array([row["id"] for row in part], pa.uint64())
            pq.write_table(pa.table({"id": ids, "item": items}), paths[-1])
    columns = (
        "--column",
        "item",
        "--id-column",
        "id",
        *(("--as", kind) * (kind != "text")),
    )
    index = tmp_path / "x.lsh"
    run("index", "build", paths[0], "-o", index, *columns, "-q")
    run("index", "add", index, paths[1], *columns[:4], "-q")
    answers = tmp_path / "answers.parquet"
    run("index", "query", index, paths[1], *columns[:4], "-o", answers, "-q")
    table = pq.read_table(answers)
    assert table.schema.field("match").type == pa.uint64()
    assert table["match"].to_pylist()[0] == 2**64 - 1
    run("index", "remove", index, str(2**64 - 1))
    assert "keys: integers" in run("index", "info", index).stdout
    negative = write_jsonl(tmp_path / "n.jsonl", [{**rows[0], "id": -(2**63)}])
    run("index", "add", index, negative, *columns[:4], "-q")  # no key is large now
    result = run("index", "add", index, paths[1], *columns[:4])
    assert result.exit_code != 0
    assert (
        "ints must be all in -2**63..2**63 - 1 or all in 0..2**64 - 1" in result.stderr
    )


@pytest.mark.parametrize(
    ("present", "ids", "line"),
    [
        (-5, [1, -7, 2**63 + 5], 4),
        (-5, [1, 2**63 + 5, -7], 3),
        (2**63, [2**63 + 5, -7], 3),
        (2**63, [-7, 2**63 + 5], 2),
        (5, [2**63 + 5, -7], 3),
        (5, [-7, 2**63 + 5], 3),
    ],
)
def test_the_first_cell_that_clashes_is_named(tmp_path, present, ids, line):
    texts = [ONE, TWO, "a b c d e f"]
    first = write_rows(tmp_path / "a.jsonl", [{"id": present, "text": ONE}])
    cells = [f"{key},{text}\n" for key, text in zip(ids, texts, strict=False)]
    (tmp_path / "b.csv").write_text(f"id,text\n{''.join(cells)}")
    index = tmp_path / "x.lsh"
    run("index", "build", first, "-o", index, "--id-column", "id", "-q")
    result = run("index", "add", index, tmp_path / "b.csv", "--id-column", "id")
    assert f"b.csv:{line}: key {ids[line - 2]} for " in result.stderr


@pytest.mark.parametrize("key", [3, -7, 2**63])
def test_other_faults_are_not_those_of_a_key(key):
    def insert(keys, items):
        raise TypeError("items are no items")

    corpus = SimpleNamespace(key=lambda row: key)
    with pytest.raises(TypeError, match=r"^items are no items$"):
        add_entries(insert, [5, key], "int", "x.lsh", corpus, np.arange(1), None)


def test_clusters_of_ids_above_the_signed_integers(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", ROWS)
    options = {"id_column": "id", "clusters": tmp_path / "groups.parquet"}
    index = tmp_path / "a.lsh"
    lshfast.dedup_files(path, **options, save_index=index)
    groups = pq.read_table(options["clusters"])
    assert groups.schema.field("key").type == pa.uint64()
    assert groups["key"].to_pylist() == IDS
    negative = write_rows(tmp_path / "b.jsonl", [{"text": ONE, "id": -1}])
    with pytest.raises(ValueError, match=r"all in -2\*\*63\.\."):
        lshfast.dedup_files(negative, **options, against=index)
