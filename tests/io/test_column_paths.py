"""Texts of several columns, and at paths into objects and lists, in all formats and ways of running."""

import gzip
import re

import numpy as np
import pytest

import lshfast
from lshfast import DataError, stages
from lshfast._io import open_corpus
from lshfast._io.batches import Batch
from tests.cli.commands import failing, read_jsonl, run, write_jsonl
from tests.stages.runs import run_all

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

ROWS = [
    {
        "id": number,
        "prompt": f"which number is {number} of this list",
        "response": None if number == 2 else f"it is {number} and no other",
        "messages": messages,
        "meta": {"doc": {"text": f"text {number}"}, "tags": ["a", None, f"b{number}"]},
    }
    for number, messages in enumerate(
        [
            [{"content": "one two three"}, {"content": None}, {"content": "four"}],
            [],
            None,
            [{"content": "é"}],
            [{"content": ""}, {"content": "five"}],
            [{"content": "one two three"}, {"content": "four"}],
        ]
    )
]
PATHS = {
    "meta.doc.text": [f"text {number}" for number in range(6)],
    "messages[].content": [
        "one two three\nfour",
        "",
        "",
        "é",
        "\nfive",
        "one two three\nfour",
    ],
    "meta.tags[]": [f"a\nb{number}" for number in range(6)],
    ("response", "meta.doc.text"): [
        "text 2" if number == 2 else f"it is {number} and no other\ntext {number}"
        for number in range(6)
    ],
    ("meta.doc.text", "messages[].content"): [
        "text 0\none two three\nfour",
        "text 1",
        "text 2",
        "text 3\né",
        "text 4\n\nfive",
        "text 5\none two three\nfour",
    ],
    # Both are null in row 2.
    ("response", "messages[].content"): [
        "it is 0 and no other\none two three\nfour",
        "it is 1 and no other",
        "",
        "it is 3 and no other\né",
        "it is 4 and no other\n\nfive",
        "it is 5 and no other\none two three\nfour",
    ],
}
FORMATS = "jsonl", "jsonl.gz", "parquet", "arrow"
TWO = "prompt", "messages[].content"
TWO_OPTIONS = "--column", TWO[0], "--column", TWO[1], "--id-column", "id"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    import pyarrow.feather
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("rows")
    lines = write_jsonl(folder / "a.jsonl", ROWS)
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines.read_bytes()))
    table = pa.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, folder / "a.parquet", row_group_size=4)
    pyarrow.feather.write_feather(table, folder / "a.arrow")
    return folder


def texts_of(path, column):
    corpus = open_corpus(path, column=column)
    texts = [text for batch in corpus.batches() for text in batch.strings()]
    rows = np.arange(len(texts), dtype=np.int64)
    again = [
        text
        for _, batch, _ in corpus.texts_of(rows)
        for text in Batch(batch, 0).strings()
    ]
    assert again == texts
    return texts


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("column", PATHS, ids=str)
def test_texts_at_paths(inputs, format, column):
    assert texts_of(inputs / f"a.{format}", column) == PATHS[column]


def test_columns_of_csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b[].c\n1,2\n,x\n")
    assert texts_of(path, ["b[].c", "a"]) == ["2\n1", "x\n"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_with_the_name_of_a_path_comes_first(tmp_path, format):
    rows = [{"a[].b": "whole", "a": [{"b": "inside"}]}]
    if format.startswith("jsonl"):
        path = write_jsonl(tmp_path / "a.jsonl", rows)
    else:
        path = tmp_path / f"a.{format}"
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as stream:
            if format == "arrow":
                with pa.ipc.new_file(stream, table.schema) as writer:
                    writer.write_table(table)
            else:
                pa.parquet.write_table(table, stream)
    assert texts_of(path, "a[].b") == ["whole"]


@pytest.mark.parametrize("format", ["jsonl", "parquet", "arrow"])
@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("messages", "messages[].content"),
        ("messages[].contents", "did you mean 'messages[].content'?"),
        ("prompt[].x", "no column 'prompt[].x'"),
        ("messages[", "no column 'messages[': unclosed bracket"),
        ("messages]", "no column 'messages]': unopened bracket"),
        ("messages[0].content", "'messages[0].content': a step into a list is []"),
        (("prompt", "id"), "column 'id' is "),
        (("prompt", "other"), "no column 'other'"),
    ],
    ids=str,
)
def test_what_is_no_text_is_named(inputs, format, column, reason):
    with pytest.raises(DataError, match=re.escape(reason)):
        texts_of(inputs / f"a.{format}", column)


@pytest.mark.parametrize("column", [[], ["a", "a"], ["a", 1], 7], ids=str)
def test_bad_columns(inputs, column):
    with pytest.raises((ValueError, TypeError), match="column must"):
        lshfast.dedup_files(inputs / "a.jsonl", column=column)


def test_all_ways_of_running_join_the_same_texts(inputs, tmp_path):
    rows = [row | {"prompt": "the same for all"} for row in ROWS]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    kept_ids = [0, 1, 3, 4]  # 2 is like 1, and 5 like 0
    out = tmp_path / "kept.jsonl"
    for options in ((), ("--memory", "1G", "--no-exact")):
        run("dedup", path, "-o", out, "--overwrite", "-q", *TWO_OPTIONS, *options)
        assert [row["id"] for row in read_jsonl(out)] == kept_ids
    stages.plan(path, tmp_path / "work", tmp_path / "kept", column=TWO, shards=1)
    run_all(tmp_path / "work")
    (part,) = (tmp_path / "kept").glob("*.jsonl")
    assert [row["id"] for row in read_jsonl(part)] == kept_ids


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_a_list_of_strings_is_a_text_or_a_set(inputs, format):
    path = inputs / f"a.{format}"
    column = "messages[].content"
    texts = lshfast.dedup_files(path, column=column, size=1)
    sets = lshfast.dedup_files(path, column=column, kind="set")
    assert texts.summary.empty == 2
    assert [texts.summary.removed, sets.summary.removed] == [1, 1]


def test_removed_rows_are_explained(inputs, tmp_path):
    removed = tmp_path / "removed.parquet"
    path = inputs / "a.parquet"
    column = "messages[].content"
    lshfast.dedup_files(path, column=[column], id_column="id", removed=removed)
    answer = run("explain", "5", path, "--removed", removed)
    assert "one two three" in answer.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--split", "paragraph"), "split needs one column of strings, not prompt, "),
        (("--as", "set"), "column must be one column for kind='set'"),
        (("--column", "prompt"), "column must have different names"),
    ],
)
def test_refusals_on_the_command_line(inputs, options, message):
    arguments = "dedup", inputs / "a.jsonl", "--dry-run", *TWO_OPTIONS, *options
    assert message in failing(2, *arguments)


def test_texts_without_columns(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    with pytest.raises(DataError, match="without columns, so none are a, b"):
        lshfast.dedup_files(path, column=["a", "b"])
