"""Guards: the account by the values of a column, and runs that end because they would remove too much."""

import dataclasses
import json
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

import lshfast
from lshfast import DataError, TooManyRemovedError, dedup, dedup_files, stages
from lshfast._common.value_codes import (
    MISSING,
    MOST_VALUES,
    OTHER,
    ValueCodes,
    text_of_value,
)
from lshfast._engine.account.by_value import (
    MOST_LISTED,
    MOST_SHOWN,
    CountsByValue,
    OtherRows,
    ValueRows,
)
from lshfast._engine.account.guard import LEAST_ROWS, check_removed
from tests.cli.commands import failing, run, write_jsonl
from tests.corpora import WORDS

TEMPLATE = "the same words stand on each page of this site"


def rows(web=30, books=30):
    """Return rows of which those of one source are copies, and others are alone."""
    copies = [{"text": TEMPLATE, "source": "web"} for _ in range(web)]
    others = [
        {"text": " ".join(WORDS[i * 7 : i * 7 + 7]), "source": "books"}
        for i in range(books)
    ]
    return copies + others


def columns(some):
    return [row["text"] for row in some], [row["source"] for row in some]


# the values


def test_values_as_texts():
    long = "é" * 300
    values = [
        "en",
        5,
        1.5,
        True,
        b"\xff",
        ["a"],
        "",
        None,
        float("nan"),
        long,
        "a\ud800",
    ]
    wanted = [
        "en",
        "5",
        "1.5",
        "true",
        "\ufffd",
        '["a"]',
        None,
        None,
        None,
        long[:200],
        "a\\ud800",
    ]
    assert list(map(text_of_value, values)) == wanted


@given(st.lists(st.sampled_from(["a", "b", "c", "dd", None, ""])), st.data())
def test_counts_are_those_of_a_dictionary(values, data):
    kept = data.draw(
        st.lists(st.booleans(), min_size=len(values), max_size=len(values))
    )
    found = CountsByValue.of(ValueCodes("c", values), np.array(kept, bool)).summary()
    read = Counter(value or None for value in values)
    gone = Counter(
        value or None for value, own in zip(values, kept, strict=True) if not own
    )
    wanted = sorted((-gone[value], -read[value], value or "") for value in read)
    assert [
        (-row.removed, -row.read, row.value or "") for row in found.values
    ] == wanted
    assert found.others is None


def test_values_beyond_the_limits_are_summed():
    by = ValueCodes(
        "c", ["a", "bbbb", "cc", "a", None, "cc"], most_values=3, most_bytes=5
    )
    assert by.names == ["a", "bbbb"]
    assert by.codes.tolist() == [0, 1, OTHER, 0, MISSING, OTHER]
    counts = CountsByValue.of(by, np.array([True, True, False, False, True, True]))
    assert counts.summary().others == OtherRows(1, 2, 1)


def test_more_values_than_are_listed():
    values = [f"{i:05}" for i in range(3000)] + ["00007"] * 2
    kept = np.ones(len(values), bool)
    kept[-1] = False
    by = CountsByValue.of(ValueCodes("c", values), kept).summary()
    assert by.values[0] == ValueRows("00007", 3, 1)
    assert [row.value for row in by.values[1:4]] == ["00000", "00001", "00002"]
    assert (len(by.values), by.others) == (MOST_LISTED, OtherRows(2000, 2000, 0))
    lines = list(by.shown())
    assert len(lines) == MOST_SHOWN + 1
    assert lines[-1] == ("2,980 other values", 2980, 0)


@pytest.mark.weekly
@pytest.mark.filterwarnings("ignore::lshfast.ShortTextsWarning")
def test_a_million_values(tmp_path):
    n = 1_100_000
    (tmp_path / "in.jsonl").write_text(
        "".join(f'{{"text":"t{i}","u":"http://example.org/{i}"}}\n' for i in range(n))
    )
    result = dedup_files(tmp_path / "in.jsonl", by="u", max_removed=0.5, size=1)
    by = result.summary.by
    assert len(by.values) == MOST_LISTED
    assert sum(row.read for row in by.values) + by.others.read == n
    assert by.others.values <= MOST_VALUES


# in memory


def test_the_account_of_a_run():
    texts, sources = columns(rows())
    sources[-1] = None
    summary = dedup(texts, by=sources).summary
    assert summary.by.column == "value"
    assert summary.by.values == (("web", 30, 29), ("books", 29, 0), (None, 1, 0))
    shown = repr(summary)
    assert "removed of 30 read, 96.7%: web" in shown
    assert "(none)" in shown
    assert "96.7%: web" in summary._repr_html_()
    json.dumps(dataclasses.asdict(summary))


@pytest.mark.parametrize(
    "make",
    [list, np.array, pa.array, lambda values: pa.array(values).dictionary_encode()],
)
def test_values_of_other_libraries(make):
    texts, sources = columns(rows())
    assert dedup(texts, by=make(sources)).summary.by.values[0] == ("web", 30, 29)


def test_the_error_names_values_and_groups():
    texts, sources = columns(rows())
    keys = [f"key{i}" for i in range(len(texts))]
    with pytest.raises(TooManyRemovedError) as caught:
        dedup(texts, keys=keys, by=sources, max_removed=0.4)
    error = caught.value
    assert error.limit == 0.4
    assert error.excesses == (
        (None, None, 60, 29, (("key0", 29),)),
        ("value", "web", 30, 29, (("key0", 29),)),
    )
    said = "48.3% of all rows are removed (29 of 60), and max_removed is 0.4; largest groups: 29 for key0; "
    assert (
        str(error)
        == said
        + "96.7% of the rows with value web are removed (29 of 30); largest groups: 29 for key0"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_nothing_is_added_to_an_index():
    texts, sources = columns(rows())
    index = lshfast.LSHIndex(shingles="word:5")
    with pytest.raises(TooManyRemovedError):
        dedup(texts, by=sources, max_removed=0.5, against=index, add=True)
    assert len(index) == 0
    dedup(texts, by=sources, max_removed=0.97, against=index, add=True)
    assert len(index) == 31
    with pytest.raises(
        TooManyRemovedError, match=r"100.0% of all rows are removed .* for 0"
    ):
        dedup(
            texts, keys=[f"new{i}" for i in range(60)], max_removed=0.97, against=index
        )


def test_small_values_are_not_compared():
    for web, ends in ((LEAST_ROWS, True), (LEAST_ROWS - 1, False)):
        texts, sources = columns(rows(web))
        if ends:
            with pytest.raises(TooManyRemovedError):
                dedup(texts, by=sources, max_removed=0.6)
        else:
            dedup(texts, by=sources, max_removed=0.6)


def test_a_share_of_the_limit_is_allowed():
    check_removed(0.1, 10, 1, None, lambda place: [])
    check_removed(1.0, 10, 10, None, lambda place: [])
    check_removed(None, 10, 10, None, lambda place: [])
    check_removed(0.5, 0, 0, None, lambda place: [])
    with pytest.raises(TooManyRemovedError):
        check_removed(0.1, 100, 11, None, lambda place: [])


@pytest.mark.parametrize("limit", [0, 1.5, -1, float("nan")])
def test_limits_that_are_no_shares(limit):
    with pytest.raises(ValueError, match=r"max_removed must be in \(0, 1\], not"):
        dedup(["a"], max_removed=limit)
    with pytest.raises(ValueError, match=r"max_removed must be in \(0, 1\], not"):
        dedup_files("no.jsonl", max_removed=limit)


def test_values_that_are_not_one_for_each_text():
    with pytest.raises(ValueError, match="one value per text: 1 values, not 2"):
        dedup(["a"], by=["x", "y"])
    for wrong in ("source", 5):
        with pytest.raises(TypeError, match="by must be a sequence"):
            dedup(["a"], by=wrong)


# files


@pytest.mark.parametrize("more", [[], ["--memory", "2G"]])
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_files(tmp_path, monkeypatch, ending, more):
    monkeypatch.chdir(tmp_path)
    some = rows()
    some[1]["source"] = None
    path = Path(f"in.{ending}")
    table = pa.Table.from_pylist(some)
    if ending == "jsonl":
        write_jsonl(path, some)
    elif ending == "csv":
        csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    page, kept = tmp_path / "page.html", tmp_path / f"kept.{ending}"
    outputs = [
        "-o",
        kept,
        "--removed",
        "removed.csv",
        "--html",
        page,
        "--pairs",
        "pairs.csv",
    ]
    said = failing(
        3, "dedup", path, *outputs, "--by", "source", "--max-removed", "0.8", *more
    )
    assert (
        "96.6% of the rows with source web are removed (28 of 29), and max_removed is 0.8"
        in said
    )
    assert f"28 for {path}:{2 if ending == 'csv' else 1}" in said
    assert {file.name for file in tmp_path.iterdir()} == {path.name, page.name}
    shown = page.read_text()
    assert "No rows were written: 96.6%" in shown
    assert "Rows of each source" in shown
    assert "(none)" in shown
    done = run(
        "dedup",
        path,
        *outputs,
        "--by",
        "source",
        "--max-removed",
        "0.97",
        "--overwrite",
        *more,
    )
    assert done.exit_code == 0
    assert "removed of 29 read, 96.6%: web" in done.stderr
    assert "No rows were written" not in page.read_text()


def test_dry_runs(tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", rows())
    failing(3, "dedup", path, "--dry-run", "--max-removed", "0.4")
    assert run("dedup", path, "--dry-run", "--max-removed", "0.5").exit_code == 0


def test_outputs_that_exist_stay_as_they_are(tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", rows())
    (tmp_path / "kept.jsonl").write_text("before")
    failing(
        3,
        "dedup",
        path,
        "-o",
        tmp_path / "kept.jsonl",
        "--overwrite",
        "--max-removed",
        "0.4",
    )
    assert (tmp_path / "kept.jsonl").read_text() == "before"


def test_an_index_stays_as_it_is(tmp_path):
    path, index = write_jsonl(tmp_path / "in.jsonl", rows()), tmp_path / "index.lsh"
    failing(
        3, "dedup", path, "--dry-run", "--max-removed", "0.4", "--save-index", index
    )
    failing(
        3,
        "dedup",
        path,
        "-o",
        tmp_path / "kept.jsonl",
        "--max-removed",
        "0.4",
        "--save-index",
        index,
    )
    assert not index.exists()
    dedup_files(path, save_index=index)
    before = index.read_bytes()
    options = [
        "--against",
        index,
        "--save-index",
        index,
        "--overwrite",
        "--on-duplicate",
        "skip",
    ]
    failing(
        3,
        "dedup",
        path,
        "-o",
        tmp_path / "kept.jsonl",
        "--max-removed",
        "0.4",
        *options,
    )
    assert index.read_bytes() == before


def test_a_run_that_was_refused_is_resumed_with_another_limit(tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", rows())
    kept = tmp_path / "kept.jsonl"
    work = tmp_path / "work"
    options = ["--by", "source", "--memory", "2G", "--work", work]
    refused = run("dedup", path, "-o", kept, "--max-removed", "0.4", *options)
    assert refused.exit_code == 3
    assert (
        "the same command with --resume and another --max-removed goes on"
        in refused.stderr
    )
    assert not kept.exists()
    said = failing(
        2,
        "dedup",
        path,
        "-o",
        kept,
        "--resume",
        "--memory",
        "2G",
        "--work",
        work,
        "--by",
        "text",
    )
    assert "this folder belongs to another run: by was source, and is text" in said
    resumed = run("dedup", path, "-o", kept, "--max-removed", "1", "--resume", *options)
    assert resumed.exit_code == 0
    assert "removed of 30 read, 96.7%: web" in resumed.stderr
    assert not work.exists()


def test_a_run_with_values_needs_more_memory(tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", rows())
    dedup_files(path, memory="250M", threads=1)
    with pytest.raises(ValueError, match="memory must be at least"):
        dedup_files(path, memory="250M", threads=1, by="source")


def test_bad_options(tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", rows())
    for share in ("0", "1.5", "x"):
        failing(2, "dedup", path, "--dry-run", "--max-removed", share)
        failing(
            2,
            "stage",
            "plan",
            path,
            "--work",
            tmp_path / "w",
            "-o",
            tmp_path / "o",
            "--max-removed",
            share,
        )
    assert (
        "no column 'sorce'; columns are: text, source; did you mean 'source'?"
        in failing(1, "dedup", path, "--dry-run", "--by", "sorce")
    )
    (tmp_path / "in.csv").write_text("id,text\n1,a\n")
    assert "no column 'source'" in failing(
        1, "dedup", tmp_path / "in.csv", "--dry-run", "--by", "source"
    )
    (tmp_path / "in.txt").write_text("a text")
    assert "no column 'source'" in failing(
        1, "dedup", tmp_path / "in.txt", "--dry-run", "--by", "source"
    )
    lines = ["--format", "lines", "--dry-run"]
    assert "no column 'source'" in failing(
        1, "dedup", tmp_path / "in.txt", "--by", "source", *lines
    )
    assert run("dedup", tmp_path / "in.txt", "--by", "text", *lines).exit_code == 0
    failing(2, "dedup", path, "--dry-run", "--split", "paragraph", "--by", "source")
    failing(
        2, "dedup", path, "--dry-run", "--split", "paragraph", "--max-removed", "0.5"
    )


def test_a_column_makes_no_row_bad(tmp_path):
    """The values may be of any type, missing, or damaged, and the column may be that of the ids or the texts."""
    values = ["a", 5, 2**70, None, [1], {"b": "\ud800"}, True, 0.5, "\ud800"]
    lines = [
        json.dumps({"id": f"{i}", "text": f"t{i}", "v": value})
        for i, value in enumerate(values)
    ]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, '{"id": "x", "text": "y"}']))
    for by in ("v", "id", "text", "v.b"):
        for output in ("kept.jsonl", None):
            result = dedup_files(
                tmp_path / "in.jsonl",
                output and tmp_path / output,
                id_column="id",
                by=by,
                overwrite=True,
                size=1,
            )
            assert (
                sum(row.read for row in result.summary.by.values) == len(result) == 10
            )
    damaged = pa.array([b"\xff", b"ok"]).cast(pa.binary())
    pq.write_table(
        pa.table({"text": ["a", "b"], "v": damaged}), tmp_path / "in.parquet"
    )
    found = dedup_files(tmp_path / "in.parquet", by="v", size=1).summary.by
    assert [row.value for row in found.values] == ["ok", "\ufffd"]


def test_cells_are_not_converted(tmp_path):
    """A cell of CSV that is no number of the other input is a value like any other."""
    (tmp_path / "a.csv").write_text("text,v\none,1\ntwo,x\n")
    (tmp_path / "b.jsonl").write_text('{"text": "three", "v": 1}\n')
    found = dedup_files(
        [tmp_path / "a.csv", tmp_path / "b.jsonl"], by="v", size=1
    ).summary.by
    assert found.values == (("1", 2, 0), ("x", 1, 0))


# stages


def planned(tmp_path, **options):
    (tmp_path / "in").mkdir()
    some = rows()
    for number in range(3):
        write_jsonl(tmp_path / "in" / f"{number}.jsonl", some[number::3])
    work, kept = tmp_path / "work", tmp_path / "kept"
    stages.plan(
        tmp_path / "in",
        work,
        kept,
        removed=tmp_path / "removed",
        shards=3,
        tasks=2,
        **options,
    )
    for stage in stages.STAGES[:-1]:
        stages.run(work, stage)
    return work, kept


def test_stages(tmp_path):
    work, kept = planned(tmp_path, by="source", max_removed=0.4)
    for task in (0, 2, 0):
        with pytest.raises(TooManyRemovedError) as caught:
            stages.run(work, "apply", task)
        first = f"{tmp_path / 'in'}/0.jsonl:1"
        assert caught.value.excesses == (
            (None, None, 60, 29, ((first, 29),)),
            ("source", "web", 30, 29, ((first, 29),)),
        )
    assert "29 of 60" in failing(3, "stage", "apply", work, "--task", "1")
    assert not [*kept.iterdir(), *(tmp_path / "removed").iterdir()]
    found = stages.status(work)
    assert found.done["apply"] == []
    assert found.summary.by.values == (("web", 30, 29), ("books", 30, 0))
    assert "96.7%: web" in run("stage", "status", work).stdout


def test_stages_with_a_limit_only(tmp_path):
    work, kept = planned(tmp_path, max_removed=0.4)
    with pytest.raises(TooManyRemovedError, match="29 of 60"):
        stages.run(work, "apply")
    assert not [*kept.iterdir()]


def test_stages_below_the_limit(tmp_path):
    work, kept = planned(tmp_path, by="source", max_removed=0.97)
    stages.run(work, "apply")
    assert sum(path.read_text().count("\n") for path in kept.iterdir()) == 31


def test_stages_refuse_a_column_that_no_row_of_any_shard_has(tmp_path):
    paths = [
        write_jsonl(
            tmp_path / f"{number}.jsonl", [{"text": "a text", "a": None}, {"text": "b"}]
        )
        for number in range(2)
    ]
    write_jsonl(paths[0], [{"text": "a text"}, {"text": "b"}])
    options = {"shards": 2, "tasks": 1, "threads": 1}
    stages.plan(paths, tmp_path / "w1", tmp_path / "out1", by="a", **options)
    for stage in stages.STAGES:
        stages.run(tmp_path / "w1", stage)
    assert stages.status(tmp_path / "w1").summary.read == 4
    stages.plan(paths, tmp_path / "w2", tmp_path / "out2", by="c", **options)
    for stage in stages.STAGES[: stages.STAGES.index("group")]:
        stages.run(tmp_path / "w2", stage)
    with pytest.raises(DataError, match="no column 'c'; columns are: text"):
        stages.run(tmp_path / "w2", "group")
