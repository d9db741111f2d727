"""Why a row was removed or kept: as the run found it, from the stored options, and safe to print."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshfast
from lshfast import FormatError, dedup_files, stages
from lshfast._engine.options.stored import read_options
from lshfast._engine.pages.explanation import shared_of
from lshfast._engine.plan import make_plan
from tests.cli.commands import failing, run, write_jsonl
from tests.corpora import WORDS
from tests.reference.text import character_shingles, word_shingles

pytestmark = pytest.mark.usefixtures("little_work")

BASE = " ".join(WORDS[:40])
ROWS = [
    {"id": "first", "text": BASE},
    {"id": "near", "text": f"{BASE} and more"},
    {"id": "alone", "text": "nothing like it"},
    {"id": "copy", "text": BASE},
    {"id": "also near", "text": f"but {BASE}"},
]
TABLES = ["removed.csv", "removed.tsv.gz", "removed.jsonl", "removed.parquet"]


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", ROWS)


def explained(*arguments):
    result = run("explain", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", TABLES)
def test_a_removed_row(tmp_path, source, name):
    removed = tmp_path / name
    result = dedup_files(source, removed=removed, id_column="id", size=3)
    said = explained("near", source, "--removed", removed)
    assert said.startswith("near: removed; first is kept instead\n")
    assert (
        f"similarity        {result.similarity[1]:.4f}   the threshold is 0.8\n" in said
    )
    assert f"exact             {result.similarity[1]:.4f}" in said
    assert "4 rows   first is kept; also removed: copy, also near\n" in said
    assert "[-and more-]" in said
    assert repr(result.explain("near", [row["text"] for row in ROWS])) == said.rstrip(
        "\n"
    )


@pytest.mark.parametrize("name", TABLES[:1])
def test_a_kept_row_and_one_without_a_group(tmp_path, source, name):
    removed = tmp_path / name
    dedup_files(source, removed=removed, id_column="id", size=3)
    said = explained("first", source, "--removed", removed)
    assert said.splitlines()[0] == "first: kept"
    assert "4 rows   this row is kept; also removed: near, copy, also near" in said
    assert "no row was removed for this one" in explained(
        "alone", source, "--removed", removed
    )


@pytest.mark.parametrize("place", [0, 1, 5])
@pytest.mark.parametrize("bad_row", ['{"id": "bad"}', "no JSON", '{"text": "bad"}'])
def test_bad_rows_of_the_run_are_skipped(tmp_path, source, bad_row, place):
    rows = [json.dumps(row) for row in ROWS]
    rows.insert(place, bad_row)
    (tmp_path / "in.jsonl").write_text("\n".join(rows))
    removed = tmp_path / "removed.csv"
    dedup_files(source, removed=removed, id_column="id", on_error="skip")
    said = explained("near", source, "--removed", removed)
    assert said.startswith("near: removed; first is kept instead\n")
    assert "near: compared with alone" in explained(
        "near", source, "--with", "alone", "--id-column", "id"
    )
    said = failing(2, "explain", "bad", source, "--removed", removed)
    assert "the key 'bad'; 1 bad row skipped, the first is " in said
    assert f"in.jsonl:{place + 1}: " in said


@pytest.mark.parametrize("name", TABLES)
def test_a_run_that_removed_no_row(tmp_path, name):
    different = write_jsonl(tmp_path / "different.jsonl", ROWS[1:3])
    dedup_files(different, removed=tmp_path / name, id_column="id", size=3)
    assert (
        explained("near", different, "--removed", tmp_path / name).splitlines()[0]
        == "near: kept"
    )


def test_two_rows_that_were_not_compared(tmp_path, source):
    said = explained("near", source, "--with", "alone", "--id-column", "id")
    assert said.startswith("near: compared with alone\n")
    assert "below the threshold 0.8" in said


def test_a_row_removed_for_an_entry_of_an_index(tmp_path, source):
    index, removed = tmp_path / "old.lsh", tmp_path / "removed.csv"
    old = write_jsonl(tmp_path / "old.jsonl", [{"id": "old", "text": BASE}])
    dedup_files(old, id_column="id", save_index=index)
    dedup_files(source, removed=removed, id_column="id", against=index)
    said = explained("copy", source, "--removed", removed)
    assert said.startswith("copy: removed; old is kept instead\n")
    assert "Passages" not in said


def test_options_of_the_run_are_stored(tmp_path, source):
    for name in TABLES:
        removed = tmp_path / name
        result = dedup_files(
            source,
            removed=removed,
            id_column="id",
            unit="char",
            size=7,
            threshold=0.7,
            seed=5,
        )
        stored = read_options(str(removed))
        assert stored.options == result.options
        assert stored.options["size"] == 7
        assert stored.reading["id_column"] == "id"
        assert (tmp_path / f"{name}.options.json").exists() == (
            name != "removed.parquet"
        )


def test_no_options_beside_the_table(tmp_path, source):
    removed = tmp_path / "removed.csv"
    dedup_files(source, removed=removed, id_column="id")
    (tmp_path / "removed.csv.options.json").unlink()
    assert read_options(str(removed)) is None
    assert "near: removed" in explained(
        "near", source, "--removed", removed, "--id-column", "id"
    )


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"options": {}, "reading": {"column": 7}}',
        b'{"options": {"threshold": 7}, "reading": {}}',
        b'{"options": {"other": 7}, "reading": {}}',
        b'{"options": {}, "reading": {"paths": "x"}}',
        b"[" * 100_000,
    ],
)
def test_damaged_options_are_refused(tmp_path, source, damage):
    removed = tmp_path / "removed.csv"
    dedup_files(source, removed=removed, id_column="id")
    (tmp_path / "removed.csv.options.json").write_bytes(damage)
    with pytest.raises(
        FormatError,
        match=r"removed\.csv\.options\.json: the options of a run are damaged",
    ):
        read_options(str(removed))
    assert "are damaged" in failing(1, "explain", "near", source, "--removed", removed)


@pytest.mark.parametrize("end", [0, 7, -9])
def test_a_damaged_table_is_refused(tmp_path, source, end):
    removed = tmp_path / "removed.parquet"
    dedup_files(source, removed=removed, id_column="id")
    data = bytearray(removed.read_bytes())
    if end < 0:  # in the footer, whose length is the last number before the magic
        data[end - 60 : end] = b"\xff" * 60
    else:
        del data[end:]
    removed.write_bytes(data)
    with pytest.raises(
        FormatError, match=r"removed\.parquet: cannot be read as Parquet"
    ):
        read_options(str(removed))
    assert "removed.parquet: cannot be read" in failing(
        1, "explain", "near", source, "--removed", removed
    )


def test_a_missing_table_is_no_damaged_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_options(str(tmp_path / "removed.parquet"))


def test_existing_options_are_not_replaced(tmp_path, source):
    beside = tmp_path / "removed.csv.options.json"
    beside.write_text("mine")
    with pytest.raises(FileExistsError, match=r"removed\.csv\.options\.json"):
        dedup_files(source, removed=tmp_path / "removed.csv", id_column="id")
    assert beside.read_text() == "mine"
    assert not (tmp_path / "removed.csv").exists()
    dedup_files(
        source, removed=tmp_path / "removed.csv", id_column="id", overwrite=True
    )
    assert json.loads(beside.read_text())["options"]["size"] == 5


def test_wrong_uses(tmp_path, source):
    removed = tmp_path / "removed.csv"
    dedup_files(source, removed=removed, id_column="id")
    assert "no row of the inputs has the key 'nobody'" in failing(
        2, "explain", "nobody", source, "--removed", removed
    )
    assert "--removed FILE" in failing(2, "explain", "near", source)
    assert "not a table of removed rows" in failing(
        1, "explain", "near", source, "--removed", source
    )


def test_control_characters_are_shown_as_escapes(tmp_path):
    text = f"{BASE}\x1b]52;c;AAAA\x07"
    source = write_jsonl(
        tmp_path / "in.jsonl",
        [{"id": "a\x1b", "text": text}, {"id": "b\x1b", "text": f"{text} end"}],
    )
    dedup_files(source, removed=tmp_path / "removed.csv", id_column="id", size=2)
    said = explained("b\x1b", source, "--removed", tmp_path / "removed.csv")
    assert "\x1b" not in said
    assert r"\x1b]52;c;AAAA\x07" in said


def test_keys_of_results():
    result = lshfast.dedup(["a b c", "a b c"], keys=["x", "y"])
    assert result.explain("y").kept_key == "x"
    for key in (0, "z", None):
        with pytest.raises(KeyError):
            result.explain(key)
    with pytest.raises(KeyError):
        lshfast.dedup(["a"]).explain(1)
    with pytest.raises(ValueError, match="one text per row: 2 texts, not 1"):
        result.explain("x", ["a b c"])
    assert "<table>" in result.explain("y")._repr_html_()


TEXT = st.lists(
    st.sampled_from(["a", "B", "c", "東", "é", "-", "  "]), max_size=12
).map(" ".join)


@given(TEXT, TEXT, st.sampled_from(["word", "char"]), st.integers(1, 4))
def test_shared_shingles_are_those_of_the_reference(text, other, unit, size):
    shingles = word_shingles if unit == "word" else character_shingles
    own, second = (set(shingles(one, size, 1)) for one in (text, other))
    shared = shared_of(text, other, make_plan(unit=unit, size=size))
    assert (shared.own, shared.other, shared.shared) == (
        len(own),
        len(second),
        len(own & second),
    )
    for passage in shared.passages:
        assert set(shingles(passage, size, 1)) <= second


def test_damaged_options_of_a_folder_are_refused(tmp_path, source):
    folder = tmp_path / "removed"
    folder.mkdir()
    dedup_files(source, removed=folder / "part-0.csv", id_column="id", size=3)
    (folder / "_options.json").write_text(
        '{"options": {"threshold": 7}, "reading": {}}'
    )
    with pytest.raises(
        FormatError,
        match=r"_options\.json: the options of a run are damaged: threshold",
    ):
        read_options(str(folder))
    assert "are damaged" in failing(1, "explain", "near", source, "--removed", folder)


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_tables_of_a_run_in_stages(tmp_path, kind):
    sources = [
        write_jsonl(tmp_path / f"{part}.jsonl", ROWS[part::2]) for part in (0, 1)
    ]
    if kind == "parquet":
        for part, source in enumerate(sources):
            sources[part] = source.with_suffix(".parquet")
            pq.write_table(pa.Table.from_pylist(ROWS[part::2]), sources[part])
    removed = tmp_path / "removed"
    folders = {"output": tmp_path / "kept", "removed": removed}
    stages.plan(
        sources, work=tmp_path / "work", id_column="id", size=3, shards=2, **folders
    )
    for stage in ("sketch", "band", "join", "group", "collect", "verify", "apply"):
        stages.run(tmp_path / "work", stage)
    names = ["00000", "00001"]
    beside = [f"{name}.jsonl.options.json" for name in names] if kind == "jsonl" else []
    assert {path.name for path in removed.iterdir()} == {
        *(f"{name}.{kind}" for name in names),
        *beside,
    }
    assert read_options(str(removed)) == read_options(str(removed / f"00001.{kind}"))
    said = explained("near", *sources, "--removed", removed)
    assert said.startswith("near: removed; first is kept instead\n")
    assert "[-and more-]" in said


def test_a_folder_without_options(tmp_path, source):
    dedup_files(source, removed=tmp_path / "removed.csv", id_column="id")
    folder = tmp_path / "tables"
    folder.mkdir()
    (tmp_path / "removed.csv").rename(folder / "removed.csv")
    assert read_options(str(folder)) is None
    assert "near: removed" in explained(
        "near", source, "--removed", folder, "--id-column", "id"
    )


def test_a_notebook_shows_the_differences():
    texts = ["a b c d e f g", "A b, c d e f <g>!", "a b c d e f h"]
    result = lshfast.dedup(texts, threshold=0.4, size=2)
    shown = result.explain(2, texts)._repr_html_()
    assert "a b c d e f [-h-]" in shown
    assert "<pre" in shown
    shown = result.explain(1, texts)._repr_html_()
    assert "A b, c d e f &lt;g&gt;!" in shown
    assert "<pre" not in result.explain(2)._repr_html_()


def test_an_explanation_of_sets_does_not_speak_of_shingles():
    sets = [["red", "green", "blue"], ["blue", "red", "Green", "green"]]
    result = lshfast.dedup(sets, threshold=0.5)
    shown = repr(result.explain(1, sets))
    assert "shingle" not in shown
    assert "[-Green-] blue green red" in shown
    assert "without elements: 0" in repr(result.summary)
