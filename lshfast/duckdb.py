"""Near-duplicates in DuckDB: functions of SQL, and functions from relation to relation.

>>> import duckdb, lshfast.duckdb
>>> con = duckdb.connect()
>>> lshfast.duckdb.register(con)
>>> con.sql(
...     "select lsh_similarity('a rose is a rose', 'A rose is a rose!', 2)"
... ).fetchall()
[(1.0,)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lshfast._common.column_paths import checked_columns
from lshfast._common.extras import optional, pa
from lshfast._common.nearest import no_column
from lshfast._common.rows import int64_range, offsets_of
from lshfast._engine.column_options import column_of_table, stored_columns
from lshfast._engine.executors.memory import dedup as dedup_items
from lshfast._engine.executors.memory import pairs as pairs_of_items
from lshfast.banding.bands import Bands
from lshfast.join.jaccard import verify
from lshfast.shingling import shingle
from lshfast.sketch.minhash import MinHasher

__all__ = ["dedup", "pairs", "register"]

# Words of a shingle, and slots and bands of signatures, where a query does not say.
SIZE = 5
SLOTS = 128
BANDS = 18

# Macros in terms of the functions: the lists that a join of candidates unnests.
MACROS = """
create or replace macro lsh_signature(text, size := 5, slots := 128) as lsh_signature_of(text, size, slots);
create or replace macro lsh_keys(text, size := 5, bands := 18, rows_per_band := 7) as
    lsh_keys_of(text, size, bands, rows_per_band);
create or replace macro lsh_buckets(text, size := 5, bands := 18, rows_per_band := 7) as
    list_transform(lsh_keys_of(text, size, bands, rows_per_band), lambda key, band : {'band': band, 'key': key});
create or replace macro lsh_estimate(a, b) as
    case when len(a) = len(b)
        then list_sum(list_transform(list_zip(a, b), lambda pair : (pair[1] = pair[2])::int)) / len(a)
        when len(a) <> len(b)
        then error('lsh_estimate: signatures must have the same number of slots, not ' || len(a) || ' and ' || len(b))
    end;
"""


def register(con: Any) -> None:
    """Register functions and macros for SQL on a connection.

    - ``lsh_similarity(a, b[, size])``: exact Jaccard similarity of two texts, by shingles of words
    - ``lsh_signature(text, size := 5, slots := 128)``: MinHash signature, a list of ubigint; null
      without words
    - ``lsh_estimate(signature_a, signature_b)``: estimate of the similarity from two signatures
    - ``lsh_keys(text, size := 5, bands := 18, rows_per_band := 7)``: bucket key of each band, a
      list
    - ``lsh_buckets(text, ...)``: the same as a list of structs band, key, to be unnested

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        The functions stay registered until it is closed. Registering them again does nothing.

    Raises
    ------
    ImportError
        If duckdb or pyarrow is not installed (``pip install "lshfast[duckdb]"``).

    See Also
    --------
    lshfast.duckdb.dedup : Remove near-duplicate rows of a relation of DuckDB.
    lshfast.duckdb.pairs : The similar pairs of a relation of DuckDB.

    Examples
    --------
    Candidates by a join of buckets, and their exact similarity:

    >>> import duckdb, lshfast.duckdb
    >>> con = duckdb.connect()
    >>> lshfast.duckdb.register(con)
    >>> _ = con.execute("create table docs (id int, text varchar)")
    >>> _ = con.execute(
    ...     "insert into docs values (1, 'a rose is a rose'), (2, 'A rose is a rose!')"
    ... )
    >>> con.sql('''
    ...     with buckets as (select id, text, unnest(lsh_buckets(text, size := 2)) as bucket from docs)
    ...     select distinct a.id, b.id, lsh_similarity(a.text, b.text, 2) as similarity
    ...     from buckets a join buckets b on a.bucket = b.bucket and a.id < b.id
    ... ''').fetchall()
    [(1, 2, 1.0)]
    """
    duckdb = optional("duckdb", "duckdb")
    optional("pyarrow", "duckdb")
    names = "select 1 from duckdb_functions() where function_name = 'lsh_similarity_of'"
    if con.sql(names).fetchall():
        return
    text = "VARCHAR"
    number = "INTEGER"
    words = "UBIGINT[]"
    functions = {
        "lsh_similarity_of": (_similarities, [text, text, number], "DOUBLE"),
        "lsh_signature_of": (_signatures, [text, number, number], words),
        "lsh_keys_of": (_keys, [text, number, number, number], words),
    }
    for name, (function, types, returned) in functions.items():
        con.create_function(
            name,
            function,
            [duckdb.type(kind) for kind in types],
            duckdb.type(returned),
            type="arrow",
            null_handling="special",
        )
    con.execute(
        "create or replace macro lsh_similarity(a, b, size := 5) as lsh_similarity_of(a, b, size)"
    )
    con.execute(MACROS)


def dedup(
    relation: Any, column: str | Sequence[str], *, con: Any = None, **options: Any
) -> Any:
    """Return the rows of a relation without near-duplicates.

    Parameters
    ----------
    relation : duckdb.DuckDBPyRelation
        It is read once, into memory, as Arrow.
    column : str or sequence of str
        A column of strings (texts), of lists of strings or integers (sets), or of lists or arrays
        of floats (vectors). Several, or a path such as ``messages[].content``: their texts, joined
        with a line end; nulls are left out.
    con : duckdb.DuckDBPyConnection, optional
        The connection of the result; by default that of the module duckdb.
    **options
        Further arguments of `lshfast.dedup`: threshold, keep, measure, ...

    Returns
    -------
    duckdb.DuckDBPyRelation

    Raises
    ------
    ValueError
        If there is no such column, and as for `lshfast.dedup`.

    See Also
    --------
    lshfast.duckdb.pairs : The similar pairs of a relation of DuckDB.
    lshfast.duckdb.register : Register functions for SQL with a connection of DuckDB.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Examples
    --------
    >>> import duckdb, lshfast.duckdb
    >>> docs = duckdb.sql(
    ...     "select unnest([1, 2, 3]) as id, unnest(['one two', 'One, two!', 'three']) as text"
    ... )
    >>> lshfast.duckdb.dedup(docs, "text").fetchall()
    [(1, 'one two'), (3, 'three')]
    """
    duckdb = optional("duckdb", "duckdb")
    pa = optional("pyarrow", "duckdb")
    names = checked_columns(column)
    table = _table(relation, *stored_columns(relation.columns, names))
    items = column_of_table(table, names)
    kept_rows = table.filter(pa.array(dedup_items(items, **options).keep))
    return (con or duckdb).from_arrow(kept_rows)


def pairs(
    relation: Any,
    column: str | Sequence[str],
    id: str | None = None,
    *,
    con: Any = None,
    **options: Any,
) -> Any:
    """Return the pairs of similar rows of a relation.

    Parameters
    ----------
    relation, column, con
        As for `dedup`.
    id : str, optional
        The column whose values name the rows; by default they are numbers from 0.
    **options
        Further arguments of `lshfast.pairs`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        Columns i, j and similarity, or distance.

    See Also
    --------
    lshfast.duckdb.dedup : Remove near-duplicate rows of a relation of DuckDB.
    lshfast.pairs : Find all pairs of similar items.

    Examples
    --------
    >>> import duckdb, lshfast.duckdb
    >>> docs = duckdb.sql(
    ...     "select unnest([7, 8, 9]) as id, unnest(['one two', 'One, two!', 'three']) as text"
    ... )
    >>> lshfast.duckdb.pairs(docs, "text", "id").fetchall()
    [(7, 8, 1.0)]
    """
    duckdb = optional("duckdb", "duckdb")
    pa = optional("pyarrow", "duckdb")
    names = checked_columns(column)
    table = _table(relation, *stored_columns(relation.columns, names), id)
    similar_pairs = pairs_of_items(column_of_table(table, names), **options)
    first, second, value = similar_pairs.dtype.names or ()
    ends = [
        similar_pairs[name]
        if id is None
        else table[id].take(pa.array(similar_pairs[name]))
        for name in (first, second)
    ]
    return (con or duckdb).from_arrow(
        pa.table({"i": ends[0], "j": ends[1], value: similar_pairs[value]})
    )


def _table(relation: Any, *names: str | None) -> Any:
    for name in names:
        if name is not None and (count := relation.columns.count(name)) != 1:
            columns = f"there are {count} columns" if count else "there is no column"
            raise ValueError(no_column(name, relation.columns, columns))
    return (
        relation.to_arrow_table()
        if hasattr(relation, "to_arrow_table")
        else relation.arrow()
    )


# ---- functions of SQL, on columns of Arrow ----


def _one(column: Any, name: str, most: int) -> int:
    """Return an argument from 1 to `most`, which has to be the same for all rows of a batch."""
    values: set[Any] = set()
    for chunk in column.chunks:
        values.update(chunk.unique().to_pylist())
    if not len(column):
        values = {1}
    if len(values) != 1 or None in values:
        raise ValueError(
            f"{name} must be one number for all rows, not {sorted(map(str, values))[:3]}"
        )
    (value,) = values
    if not 1 <= value <= most:
        raise ValueError(f"{name} must be in 1..{most}, not {value}")
    return int(value)


def _similarities(a: Any, b: Any, size: Any) -> Any:
    words = _one(size, "size", 256)
    both = pa.concat_arrays([chunk for column in (a, b) for chunk in column.chunks])
    sets = shingle(both, size=words)
    n = len(a)
    rows = int64_range(n)
    verified = verify(sets, rows, rows + n, 0.0)
    is_null = a.is_null().to_numpy() | b.is_null().to_numpy()
    return pa.array(verified["similarity"], mask=is_null)


def _signatures(text: Any, size: Any, slots: Any) -> Any:
    hasher = MinHasher(_one(slots, "slots", 65536))
    sets = shingle(text, size=_one(size, "size", 256))
    return _lists(np.asarray(hasher.sketch(sets)), sets.counts > 0)


def _keys(text: Any, size: Any, bands: Any, rows_per_band: Any) -> Any:
    split = Bands(
        _one(bands, "bands", 65536), _one(rows_per_band, "rows_per_band", 65536)
    )
    hasher = MinHasher(split.bands * split.rows_per_band)
    sets = shingle(text, size=_one(size, "size", 256))
    return _lists(split.keys(hasher.sketch(sets)), sets.counts > 0)


def _lists(rows: Any, present: Any) -> Any:
    """Return rows of numbers as lists; null where a text has no words."""
    width = rows.shape[1]
    ends = offsets_of(np.where(present, width, 0)).astype(np.int32)
    values = pa.array(np.ascontiguousarray(rows[present]).reshape(-1))
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=pa.array(~present))
