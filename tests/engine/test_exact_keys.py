"""Exact keys: of the rows with equal ones, the preferred row is compared, and the others are removed for it."""

import json
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshfast
import lshfast.pandas
import lshfast.polars
from lshfast import DataError, dedup, dedup_files, stages
from lshfast._common import exact_keys
from lshfast._common.exact_keys import ExactKeys, bytes_of_key
from lshfast.join.copies import equal_rows, find_copies, without_rows
from lshfast.tokens import TokenSets
from tests.cli.commands import failing, run, write_jsonl

NOTES = ["one two three four", "other words stand here", "one two three four", "a dog"]


# The bytes of keys


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("é", "é".encode()),
        (b"\xff", b"\xff"),
        (5, b"5"),
        (5.0, b"5"),
        (0.5, b"0.5"),
        (True, b"true"),
        ({"b": 1, "a": "é"}, '{"a": "é", "b": 1}'.encode()),
        ("\ud800", "\ud800".encode(errors="surrogatepass")),
    ],
)
def test_bytes_of_values(value, data):
    assert bytes_of_key(value, False) == b"\0" + data


@pytest.mark.parametrize(
    "value", [None, "", b"", float("nan"), np.nan, pd.NA, np.datetime64("NaT")]
)
@pytest.mark.parametrize("is_url", [True, False])
def test_a_missing_value_is_no_key(value, is_url):
    assert bytes_of_key(value, is_url) is None


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("http://a.example/b", "https://u@A.example:443/b#c", True),
        ("http://a.example", "a.example/", True),
        ("http://a.example/b?utm_source=x&id=1", "http://a.example/b?id=1", True),
        (b"http://a.example/b", "http://a.example/b", True),
        ("http://a.example/b?id=1", "http://a.example/b?id=2", False),
        ("http://a.example/B", "http://a.example/b", False),
        ("http://a.example:8080/", "http://a.example/", False),
        ("no url", "no url ", False),
        (b"\xff", "\ufffd", False),
        ("a.example\n/b", "http://a.example/b", False),
    ],
)
def test_urls(one, other, equal):
    assert (bytes_of_key(one, True) == bytes_of_key(other, True)) == equal


@given(
    st.lists(
        st.one_of(st.none(), st.sampled_from(["", "a", "b", "a" * 300]), st.text())
    )
)
def test_equal_keys_are_rows_with_equal_hashes(values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_keys, "PENDING_KEYS", 3)
        patch.setattr(exact_keys, "PENDING_BYTES", 500)
        prints = ExactKeys(values).prints
    first = equal_rows(prints).tolist()
    row_of = {}
    assert first == [
        row_of.setdefault(value, row) if value else row
        for row, value in enumerate(values)
    ]
    restored = ExactKeys.restored(prints.reshape(-1))
    assert (restored.prints == prints).all()


@given(st.lists(st.integers(0, 5), max_size=12), st.data())
def test_copies_without_some_rows(kinds, data):
    copies = find_copies(TokenSets.from_sets([[kind] for kind in kinds]))
    rows = data.draw(st.sets(st.integers(0, max(0, len(kinds) - 1)))) if kinds else ()
    found = without_rows(copies, np.array(sorted(rows), np.int64)).tolist()
    for row, kind in enumerate(kinds):
        others = [
            other for other in range(row) if other not in rows and kinds[other] == kind
        ]
        assert found[row] == (row if row in rows or not others else others[0])


# What is removed


def test_a_key_removes_a_row_whatever_its_text():
    result = dedup(NOTES, exact_key=["k", "k", None, ""])
    assert result.removed == [(1, 0, 1.0), (2, 0, 1.0)]
    assert result.same_key.tolist() == [False, True, False, False]
    assert result.labels.tolist() == [0, 0, 0, 3]
    summary = result.summary
    assert (summary.same_key, summary.copies, summary.removed) == (1, 1, 2)
    assert "1 of them with the key of another row" in str(list(summary.figures()))
    assert "with the key of another row: 1" in repr(result)
    assert result.to_arrow().column("same_key").to_pylist() == result.same_key.tolist()


def test_a_row_removed_by_its_key_removes_no_other():
    """Row 1 would bridge two texts that are not similar, and a writer of texts could place it."""
    result = dedup(
        ["a b c d e f", "u v w x y z", "u v w x y z"], exact_key=["k", "k", None]
    )
    assert result.keep.tolist() == [True, False, True]


def test_all_rows_of_a_key_name_the_row_that_stays():
    """The preferred row of the key is removed for a row without a key."""
    result = dedup(
        [NOTES[1], NOTES[0], NOTES[2]], exact_key=["k", "k", None], keep="last"
    )
    assert result.keeper.tolist() == [2, 2, 2]
    assert result.same_key.tolist() == [True, False, False]


def texts_of(rng, n):
    words = "abcdefghijklmnop"
    base = [" ".join(rng.choice(words) for _ in range(12)) for _ in range(n // 3)]
    texts = []
    for _ in range(n):
        text = rng.choice(base).split()
        if rng.random() < 0.4:
            text[rng.randrange(12)] = rng.choice("qrst")
        texts.append(" ".join(text) if rng.random() < 0.95 else "")
    return texts


@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("options", [{}, {"exact": True}, {"measure": "containment"}])
@pytest.mark.parametrize("keep", ["first", "last", "longest", "values"])
def test_the_rest_is_deduplicated_as_if_the_removed_rows_were_not_there(
    keep, options, groups
):
    rng = random.Random(5)
    for _ in range(8):
        texts = texts_of(rng, 40)
        keys = [rng.choice([None, "", *range(12)]) for _ in texts]
        values = [rng.random() for _ in texts]
        how = {
            "size": 2,
            "threshold": 0.6,
            "recall": 0.999,
            "groups": groups,
            **options,
        }
        result = dedup(
            texts, exact_key=keys, keep=values if keep == "values" else keep, **how
        )
        rest = np.flatnonzero(~result.same_key)
        of_rest = dedup(
            [texts[row] for row in rest],
            keep=[values[row] for row in rest] if keep == "values" else keep,
            **how,
        )
        assert rest[of_rest.keeper].tolist() == result.keeper[rest].tolist()
        assert (of_rest.similarity == result.similarity[rest]).all()
        for name in ("copies", "pairs"):
            assert getattr(of_rest.summary, name) == getattr(result.summary, name)
        best = {
            "first": lambda row: -row,
            "last": lambda row: row,
            "longest": lambda row, texts=texts: len(texts[row]),
            "values": lambda row, values=values: values[row],
        }[keep]
        for key in range(12):
            rows = [row for row in range(40) if keys[row] == key]
            stays = [row for row in rows if not result.same_key[row]]
            assert len(stays) == bool(rows)
            assert all(best(stays[0]) >= best(row) for row in rows)
            assert {result.keeper[row] for row in rows} <= {
                result.keeper[row] for row in stays
            }


@pytest.mark.parametrize(
    ("keep", "keeper"), [("first", [0, 0, 2, 0, 0, 5]), ("last", [1, 1, 2, 4, 4, 5])]
)
def test_vectors(keep, keeper):
    vectors = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
    vectors[3] = vectors[0]
    keys = [1, 1, 2, 3, 3, None]
    result = dedup(vectors, exact_key=keys, keep=keep)
    assert result.keeper.tolist() == keeper
    far = dedup(vectors, exact_key=keys, keep=keep, measure="euclidean", radius=1e-6)
    assert far.keeper.tolist() == keeper
    assert far.removed[0].distance == 0


@pytest.mark.parametrize("keep", ["longest", "shortest"])
def test_weighted_sets_and_a_row_without_one(keep):
    sets = [{"a": 1.0, "b": 2.0}, {"c": 1.0}, {}, {"d": 1.0}]
    result = dedup(sets, kind="weighted", exact_key=["k", "k", "k", None], keep=keep)
    stays = 0 if keep == "longest" else 2
    assert result.keeper.tolist() == [stays, stays, stays, 3]


def test_with_earlier_rows():
    """All rows of a key are removed for the earlier entry that the preferred row is similar to."""
    for against in ({"may": NOTES[0]}, index_of({"may": NOTES[0]})):
        result = dedup(NOTES, exact_key=[7, 7, None, None], against=against)
        assert [removal[:2] for removal in result.removed] == [
            (0, "may"),
            (1, "may"),
            (2, "may"),
        ]
        assert (result.summary.earlier, result.summary.same_key) == (2, 1)
        if result.earlier_texts is not None:
            assert list(result.earlier_texts) == [NOTES[0]] * 3 + [None]
        # The other row of the key is preferred, and similar to no entry.
        result = dedup(
            NOTES, exact_key=[7, 7, None, None], keep="last", against=against
        )
        assert [removal[:2] for removal in result.removed] == [(0, 1), (2, "may")]
        assert (result.summary.earlier, result.summary.same_key) == (1, 1)


def index_of(texts):
    index = lshfast.LSHIndex(shingles="word:5")
    dedup(list(texts.values()), keys=list(texts), against=index, add=True)
    return index


# Frames and files


def test_columns_of_frames():
    urls = ["http://a.example/x?sid=1", "https://a.example/x", None, None]
    frame = pd.DataFrame({"text": NOTES, "url": urls})
    kept = frame.lsh.dedup("text", exact_key="url:url", threshold=1.0)
    assert kept.index.tolist() == [0, 3]
    assert (
        pl.DataFrame({"text": NOTES, "url": urls})
        .lsh.dedup("text", exact_key="url")
        .height
        == 3
    )


@pytest.fixture
def rows():
    rng = random.Random(8)
    return [
        {
            "id": number,
            "text": text,
            "link": rng.choice(
                [None, "", f"http://x.example/{rng.randrange(90)}?utm_id={number}"]
            ),
            "size": rng.random(),
        }
        for number, text in enumerate(texts_of(rng, 240))
    ]


@pytest.mark.few_cases
@pytest.mark.parametrize("memory", [None, "1G"])
@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest", "max:size"])
def test_files_of_any_format_and_within_a_cap(tmp_path, rows, keep, memory):
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "in.parquet")
    table.to_pandas().to_csv(tmp_path / "in.csv", index=False)
    write_jsonl(tmp_path / "in.jsonl", rows)
    how = {"exact_key": "url:link", "keep": keep, "size": 2, "threshold": 0.6}
    results = [
        dedup_files(tmp_path / f"in.{suffix}", id_column="id", memory=memory, **how)
        for suffix in ("parquet", "csv", "jsonl")
    ]
    values = [row["size"] for row in rows]
    found = dedup(
        [row["text"] for row in rows],
        exact_key=[bytes_of_key(row["link"], True) for row in rows],
        keep=values if ":" in keep else keep,
        size=2,
        threshold=0.6,
    )
    assert found.summary.same_key > 20
    for result in results:
        assert result.keeper.tolist() == found.keeper.tolist()
        assert result.same_key.tolist() == found.same_key.tolist()


def test_the_outputs_say_which_rows_a_key_has_removed(tmp_path):
    lines = [
        {"text": text, "link": key} for text, key in zip(NOTES, "kk  ", strict=True)
    ]
    lines[2]["link"] = lines[3]["link"] = None
    path = write_jsonl(tmp_path / "in.jsonl", lines)
    done = run("dedup", path, "-o", tmp_path / "all.jsonl", "--exact-key", "link",
               "--annotate", "--removed", tmp_path / "removed.jsonl", "--html", tmp_path / "page.html")  # fmt: skip
    assert "2 removed + 0 rejected = 4 read" in done.stderr
    assert "1 of them with the key of another row" in done.stderr
    removed = [
        json.loads(line)
        for line in (tmp_path / "removed.jsonl").read_text().splitlines()
    ]
    assert [(row["similarity"], row["same_key"]) for row in removed] == [
        (1, True),
        (1, False),
    ]
    assert {row["kept_key"] for row in removed} == {f"{path}:1"}
    annotated = [
        json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()
    ]
    assert [row["same_key"] for row in annotated] == [None, True, False, None]
    assert "same key" in (tmp_path / "page.html").read_text()


# Refusals


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        (
            "url",
            TypeError,
            "exact_key must be a sequence with one value per text, not 'url'",
        ),
        ([1], ValueError, "exact_key must have one value per text: 4 values, not 1"),
        (7, TypeError, "exact_key must be a sequence with one value per text, not 7"),
    ],
)
def test_bad_keys(keys, error, message):
    with pytest.raises(error, match=message):
        dedup(NOTES, exact_key=keys)


def test_ways_of_running_that_have_no_keys_say_why(tmp_path):
    path = write_jsonl(
        tmp_path / "in.jsonl", [{"text": text, "a": 1} for text in NOTES]
    )
    with pytest.raises(
        TypeError, match="'exact_key': rows with equal keys may be in several shards"
    ):
        stages.plan(path, tmp_path / "work", tmp_path / "out", exact_key="a")
    out = ["-o", tmp_path / "out.jsonl"]
    for options, message in [
        (["--split", "line"], "by, exact_key and max_removed are for rows, not lines"),
        (
            ["--group-by", "a", "--item", "text"],
            "exact_key is not an option of a run with group_by",
        ),
    ]:
        assert message in failing(2, "dedup", path, *out, "--exact-key", "a", *options)
    assert "COLUMN or url:COLUMN, not 'url:'" in failing(
        2, "dedup", path, *out, "--exact-key", "url:"
    )
    (tmp_path / "in.csv").write_text("text\nx\n")
    assert "no column 'a'" in failing(
        1, "dedup", tmp_path / "in.csv", *out, "--exact-key", "a"
    )
    (tmp_path / "in.txt").write_text("x")
    assert "no column 'a' (exact_key)" in failing(
        1, "dedup", tmp_path / "in.txt", *out, "--exact-key", "a"
    )


@pytest.mark.parametrize("exact_key", ["a", "url:a", "a.b"])
@pytest.mark.parametrize("memory", [None, "500M"])
def test_a_column_that_no_row_has_is_an_error(tmp_path, exact_key, memory):
    """A row of JSON Lines may lack the column, or have a null there, but not all rows lack it."""
    options = {"exact_key": exact_key, "memory": memory, "threads": 1}
    column = exact_key.removeprefix("url:")
    path = tmp_path / "in.jsonl"
    write_jsonl(path, [{"text": text, "b": 1} for text in NOTES])
    with pytest.raises(DataError) as caught:
        dedup_files(path, **options)
    assert str(caught.value) == (
        f"{path}: no column {column!r}; columns are: text, b; choose another with exact_key "
        "(--exact-key)"
    )
    write_jsonl(path, [{"text": NOTES[0]}, {"text": NOTES[1], "a": None}])
    assert dedup_files(path, **options).summary.read == 2
    path.write_text("")
    assert dedup_files(path, **options).summary.read == 0
