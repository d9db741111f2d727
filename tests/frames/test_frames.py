"""polars, pandas and DuckDB: each answers as `lshfast.dedup` and `lshfast.pairs` do."""

import random

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lshfast
import lshfast.duckdb
import lshfast.pandas
import lshfast.polars
from tests.corpora import similar_texts

TEXTS = [*similar_texts(random.Random(1), 200), None]
VECTORS = np.random.default_rng(1).standard_normal((len(TEXTS), 8)).astype(np.float32)
VECTORS[150:] = VECTORS[: len(TEXTS) - 150]
TAGS = [[f"t{value % 7}", f"t{value % 11}"] for value in range(len(TEXTS))]
TABLE = pa.table(
    {
        "id": [f"r{number}" for number in range(len(TEXTS))],
        "text": TEXTS,
        "tags": TAGS,
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.reshape(-1)), 8),
    }
)
CASES = [
    ("text", {"threshold": 0.6, "size": 2}),
    ("text", {"keep": "longest", "groups": "components"}),
    ("tags", {"threshold": 0.5}),
    ("vector", {"threshold": 0.9}),
    ("vector", {"measure": "euclidean", "radius": 1.0, "keep": "last"}),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


def expected(case):
    column, options = case
    return lshfast.dedup(TABLE[column], **options)


def test_polars(case):
    column, options = case
    result, df = expected(case), pl.from_arrow(TABLE)
    kept = [
        key
        for key, keep in zip(TABLE["id"].to_pylist(), result.keep.tolist(), strict=True)
        if keep
    ]
    assert df.lsh.dedup(column, **options)["id"].to_list() == kept
    lazy = df.lazy().lsh.dedup(column, **options)
    assert lazy.collect()["id"].to_list() == kept
    assert (
        lazy.filter(pl.col("id") != kept[0]).select("id").collect()["id"].to_list()
        == kept[1:]
    )
    marked = df.lsh.dedup(column, annotate=True, **options)
    assert marked["id"].to_list() == TABLE["id"].to_pylist()
    assert marked.filter(pl.col("duplicate_of").is_null())["id"].to_list() == kept
    gone = np.flatnonzero(~result.keep)
    assert marked[gone]["duplicate_of"].to_list() == result.keeper[gone].tolist()
    assert marked[gone]["similarity"].to_list() == result.similarity[gone].tolist()
    assert (
        df.lazy().lsh.dedup(column, annotate=True, **options).collect().equals(marked)
    )
    pairs = {
        name: value for name, value in options.items() if name not in ("keep", "groups")
    }
    found = lshfast.pairs(TABLE[column], **pairs)
    assert df.lsh.pairs(column, **pairs).rows() == found.tolist()


def test_pandas(case):
    column, options = case
    result = expected(case)
    df = pd.DataFrame(TABLE.to_pydict(), index=TABLE["id"].to_pylist()[::-1])
    if column == "vector":
        df["vector"] = list(VECTORS)
    kept = df[result.keep]
    assert df.lsh.dedup(column, **options).equals(kept)
    marked = df.lsh.dedup(column, annotate=True, **options)
    gone = np.flatnonzero(~result.keep)
    assert (
        marked["duplicate_of"].iloc[gone].tolist()
        == df.index[result.keeper[gone]].tolist()
    )
    assert marked["similarity"].iloc[gone].tolist() == result.similarity[gone].tolist()
    assert marked["similarity"].isna().sum() == len(kept)
    assert list(df.columns) == TABLE.column_names  # the frame is as it was
    pairs = {
        name: value for name, value in options.items() if name not in ("keep", "groups")
    }
    found = lshfast.pairs(TABLE[column], **pairs)
    answer = df.lsh.pairs(column, **pairs)
    assert answer["i"].tolist() == df.index[found["i"]].tolist()
    assert answer.iloc[:, 2].tolist() == found[found.dtype.names[2]].tolist()


def test_duckdb(case):
    column, options = case
    result, con = expected(case), duckdb.connect()
    docs = con.from_arrow(TABLE)
    kept = [
        key
        for key, keep in zip(TABLE["id"].to_pylist(), result.keep.tolist(), strict=True)
        if keep
    ]
    answer = lshfast.duckdb.dedup(docs, column, con=con, **options)
    assert [row[0] for row in answer.fetchall()] == kept
    pairs = {
        name: value for name, value in options.items() if name not in ("keep", "groups")
    }
    found = lshfast.pairs(TABLE[column], **pairs)
    keys = TABLE["id"].to_pylist()
    wanted = [(keys[i], keys[j], value) for i, j, value in found.tolist()]
    assert (
        lshfast.duckdb.pairs(docs, column, "id", con=con, **pairs).fetchall() == wanted
    )
    assert (
        lshfast.duckdb.pairs(docs, column, con=con, **pairs).fetchall()
        == found.tolist()
    )


@pytest.mark.slow
def test_functions_of_sql():
    con = duckdb.connect()
    lshfast.duckdb.register(con)
    lshfast.duckdb.register(con)  # changes nothing
    texts = [text or "" for text in TEXTS[:60]] + ["", None]
    con.execute("create table docs (id int, text varchar)")
    con.executemany("insert into docs values (?, ?)", list(enumerate(texts)))
    pairs = con.sql(
        "with b as (select id, text, unnest(lsh_buckets(text, size := 2)) as bucket from docs), "
        "c as (select distinct x.id as i, y.id as j, lsh_similarity(x.text, y.text, 2) as s from b x "
        "join b y on x.bucket = y.bucket and x.id < y.id) select * from c where s >= 0.8 order by i, j"
    ).fetchall()
    assert (
        pairs
        == lshfast.pairs(
            texts, threshold=0.8, size=2, bands=18, rows_per_band=7, copies="all"
        ).tolist()
    )
    signatures = con.sql(
        "select lsh_signature(text, size := 2, slots := 16) from docs order by id"
    ).fetchall()
    wanted = lshfast.MinHasher(16).sketch(
        lshfast.shingle([text or "" for text in texts], size=2)
    )
    none = [2**64 - 1] * 16
    assert [row[0] for row in signatures] == [
        None if row.tolist() == none else row.tolist() for row in wanted
    ]
    (estimate,) = con.sql(
        "select lsh_estimate(lsh_signature(a.text), lsh_signature(b.text)) from docs a, docs b "
        "where a.id = b.id and a.text > ''"
    ).fetchall()[0]
    assert estimate == 1
    assert con.sql(
        "select lsh_similarity(text, 'x') from docs where text is null"
    ).fetchall() == [(None,)]
    assert con.sql("select lsh_similarity('', '')").fetchall() == [(0.0,)]
    for query, said in (
        ("select lsh_similarity('a', 'b', 0)", "size must be in 1..256, not 0"),
        (
            "select lsh_signature(text, slots := id) from docs",
            "slots must be one number for all rows",
        ),
        (
            "select lsh_keys(text, bands := 0) from docs",
            "bands must be in 1..65536, not 0",
        ),
    ):
        with pytest.raises(duckdb.Error, match=said):
            con.sql(query).fetchall()


def test_columns_that_are_not_there():
    frames = (
        (pl.from_arrow(TABLE), pl.exceptions.ColumnNotFoundError),
        (TABLE.to_pandas(), KeyError),
    )
    for frame, error in frames:
        message = "no column 'texts'; columns are: id, text, tags, vector; did you mean"
        for work in (frame.lsh.dedup, frame.lsh.pairs):
            with pytest.raises(error, match=message):
                work("texts")
        for option in ("by", "exact_key"):
            with pytest.raises(error, match=message):
                frame.lsh.dedup("text", **{option: "texts"})
    with pytest.raises(KeyError, match="no column '7'; columns are: id"):
        TABLE.to_pandas().lsh.dedup(7)
    for function in (lshfast.duckdb.dedup, lshfast.duckdb.pairs):
        with pytest.raises(
            ValueError,
            match="there is no column 'nothing'; columns are: id, text, tags, vector",
        ):
            function(duckdb.from_arrow(TABLE), "nothing")
    with pytest.raises(ValueError, match="there is no column 'number'"):
        lshfast.duckdb.pairs(duckdb.from_arrow(TABLE), "text", "number")


def test_rows_are_not_annotated_where_a_column_or_a_key_would_be_lost():
    index = lshfast.LSHIndex(threshold=0.8)
    lshfast.dedup(
        TEXTS[:5], against=index, add=True, keys=[f"k{row}" for row in range(5)]
    )
    for frame in (pl.from_arrow(TABLE), pl.from_arrow(TABLE).lazy(), TABLE.to_pandas()):
        with pytest.raises(
            ValueError,
            match="annotate cannot be used with against, whose entries are no rows",
        ):
            frame.lsh.dedup("text", annotate=True, against=index)
    for name in ("duplicate_of", "similarity"):
        table = TABLE.append_column(name, TABLE["id"])
        for frame in (
            pl.from_arrow(table),
            pl.from_arrow(table).lazy(),
            table.to_pandas(),
        ):
            with pytest.raises(
                ValueError,
                match=f"there is a column '{name}' already; annotate adds duplicate_of and",
            ):
                frame.lsh.dedup("text", annotate=True)
    assert name in table.to_pandas().lsh.dedup("text").columns


def test_signatures_of_different_lengths_are_not_estimated():
    con = duckdb.connect()
    lshfast.duckdb.register(con)
    with pytest.raises(
        duckdb.Error, match="must have the same number of slots, not 128 and 64"
    ):
        con.sql(
            "select lsh_estimate(lsh_signature('a'), lsh_signature('a', slots := 64))"
        ).fetchall()
    assert con.sql(
        "select lsh_estimate(lsh_signature(''), lsh_signature('a'))"
    ).fetchall() == [(None,)]


def test_a_relation_with_two_columns_of_a_name():
    con = duckdb.connect()
    docs = con.sql("select 'one two' as text, 1 as id, 2 as id")
    assert lshfast.duckdb.dedup(docs, "text", con=con).fetchall() == [("one two", 1, 2)]
    with pytest.raises(
        ValueError, match="there are 2 columns 'id'; columns are: text, id, id"
    ):
        lshfast.duckdb.pairs(docs, "text", "id", con=con)


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize(
    "values",
    [[3, 5, 4], [0.5, 7.5, 1.0], ["b", "c", "bb"]],
    ids=["int", "float", "str"],
)
def test_the_greatest_or_least_value_of_a_column_is_kept(library, values):
    df = library.DataFrame({"text": ["one two three"] * 3, "rank": values})
    kept = [
        list(df.lsh.dedup("text", keep=f"{rule}:rank")["rank"])
        for rule in ("max", "min")
    ]
    assert kept == [[values[1]], [values[0]]]
    for keep, error, message in (
        ("max:", ValueError, "keep must be"),
        ("max:other", (KeyError, pl.exceptions.ColumnNotFoundError), "other"),
    ):
        with pytest.raises(error, match=message):
            df.lsh.dedup("text", keep=keep)
    missing = library.DataFrame({"text": ["a", "b"], "rank": [values[0], None]})
    with pytest.raises(ValueError, match="value of row 1 in column 'rank' is missing"):
        missing.lsh.dedup("text", keep="max:rank")


@pytest.mark.parametrize("library", [pd, pl])
def test_rows_are_counted_by_the_values_of_a_column(library):
    texts = [f"number {number} of many texts" for number in range(30)]
    columns = {
        "text": [*texts, *["one two three"] * 30],
        "source": ["a"] * 30 + ["b"] * 30,
    }
    df = library.DataFrame(columns)
    assert len(df.lsh.dedup("text", by="source", max_removed=1.0)) == 31
    assert len(df.lsh.dedup("text", max_removed=0.8)) == 31
    with pytest.raises(lshfast.TooManyRemovedError, match="with value b"):
        df.lsh.dedup("text", by="source", max_removed=0.8)


NESTED = [
    {
        "id": number,
        "ask": text or "",
        "reply": {"body": f"reply {number % 5}"},
        "messages": [{"content": text}, {"content": None}, {"content": "end"}],
    }
    for number, text in enumerate(TEXTS[:60])
]


@pytest.mark.parametrize("frame", ["pandas", "polars", "lazy", "duckdb"])
@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (["ask", "reply.body"], [f"{row['ask']}\n{row['reply']['body']}" for row in NESTED]),
        ("messages[].content", [f"{row['ask']}\nend" for row in NESTED]),
        ("reply.body", [row["reply"]["body"] for row in NESTED]),
        (["ask"], [row["ask"] for row in NESTED]),
    ],
)  # fmt: skip
def test_paths_and_several_columns(frame, column, texts):
    expected = np.flatnonzero(lshfast.dedup(texts, size=2).keep).tolist()
    if frame == "pandas":
        kept = pd.DataFrame(NESTED).lsh.dedup(column, size=2)["id"].tolist()
    elif frame == "polars":
        kept = pl.DataFrame(NESTED).lsh.dedup(column, size=2)["id"].to_list()
    elif frame == "lazy":
        found = pl.LazyFrame(NESTED).lsh.dedup(column, size=2).collect()
        kept = found["id"].to_list()
    else:
        rows = duckdb.from_arrow(pa.Table.from_pylist(NESTED))
        found = lshfast.duckdb.dedup(rows, column, size=2)
        kept = [row[0] for row in found.fetchall()]
    assert kept == expected


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (["ask", "no"], KeyError, "no column 'no'; columns are: id, ask"),
        ("messages.content", ValueError, "there is no 'messages.content' in"),
        (["ask", "id"], TypeError, "^column 'id' is int64, and only strings are"),
        (["ask", "ask"], ValueError, "must have different names, not 'ask' twice"),
        ([], ValueError, "must have at least one name"),
    ],
)
def test_columns_that_are_not_joined(column, error, message):
    for find in (pd.DataFrame(NESTED).lsh.dedup, pd.DataFrame(NESTED).lsh.pairs):
        with pytest.raises(error, match=message):
            find(column)
