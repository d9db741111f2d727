"""The namespace ``lsh`` of polars: near-duplicates of frames.

Import this module to register it.

>>> import polars as pl
>>> import lshfast.polars
>>> df = pl.DataFrame(
...     {"id": [1, 2, 3], "text": ["a rose is a rose", "A rose is a rose!", "a dog"]}
... )
>>> df.lsh.dedup("text")["id"].to_list()
[1, 3]
"""

from __future__ import annotations

from typing import Any

from lshfast._common.checks import ADDED_COLUMNS, check_annotation
from lshfast._common.extras import optional
from lshfast._engine.column_options import items_of_frame, with_columns
from lshfast._engine.executors.memory import dedup as dedup_items
from lshfast._engine.executors.memory import pairs as pairs_of_items

pl = optional("polars", "polars")
ColumnNotFoundError = pl.exceptions.ColumnNotFoundError

__all__ = ["DataFrameLsh", "LazyFrameLsh"]


def _arrow_of(frame: Any) -> Any:
    """Return a frame as a table of Arrow."""
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


@pl.api.register_dataframe_namespace("lsh")
class DataFrameLsh:
    """Near-duplicates among the rows of a frame: ``df.lsh``.

    Parameters
    ----------
    frame : polars.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def dedup(
        self, column: str | list[str], *, annotate: bool = False, **options: Any
    ) -> Any:
        """Return the rows without near-duplicates, in their order.

        Parameters
        ----------
        column : str or list of str
            A column of strings (texts), of lists of strings or integers (sets), or of lists or
            arrays of floats (vectors). Several in a list, or a path such as
            ``messages[].content``: their texts, joined with a line end; nulls are left out.
        annotate : bool, default False
            Return all rows, with the columns duplicate_of, the number of the row that is kept
            instead, and similarity (of a run by distance, the distance); both are null for rows
            that are kept.
        **options
            Further arguments of `lshfast.dedup`: threshold, measure, ... `keep` may also be
            "max:COLUMN" or "min:COLUMN", the row with the greatest or least value of a column, and
            `by` the name of a column, with `max_removed`.

        Returns
        -------
        polars.DataFrame

        Raises
        ------
        polars.exceptions.ColumnNotFoundError
            If there is no such column; the error names the columns.
        ValueError, TypeError
            As for `lshfast.dedup`; with `annotate`, if there are columns of these names, or with
            `against`.

        Examples
        --------
        >>> import polars as pl, lshfast.polars
        >>> df = pl.DataFrame({"tags": [["red", "blue"], ["blue", "red"], ["green"]]})
        >>> df.lsh.dedup("tags", annotate=True)["duplicate_of"].to_list()
        [None, 0, None]
        """
        if annotate:
            check_annotation(self._frame.columns, options)
        run_options = with_columns(self._frame, options, ColumnNotFoundError)
        result = dedup_items(
            items_of_frame(self._frame, column, _arrow_of, ColumnNotFoundError),
            **run_options,
        )
        if not annotate:
            return self._frame.filter(pl.Series(result.keep))
        is_removed = pl.Series(~result.keep)
        values = zip(ADDED_COLUMNS, (result.keeper, result.similarity), strict=True)
        return self._frame.with_columns(
            pl.when(is_removed)
            .then(pl.Series(value))
            .otherwise(pl.lit(None))
            .alias(name)
            for name, value in values
        )

    def pairs(self, column: str | list[str], **options: Any) -> Any:
        """Return the pairs of similar rows.

        Parameters
        ----------
        column : str or list of str
            As for `dedup`.
        **options
            Further arguments of `lshfast.pairs`.

        Returns
        -------
        polars.DataFrame
            Columns i, j (row numbers, i < j) and similarity, or distance.

        Examples
        --------
        >>> import polars as pl, lshfast.polars
        >>> df = pl.DataFrame({"text": ["one two three", "One, two, three!", "four"]})
        >>> df.lsh.pairs("text").rows()
        [(0, 1, 1.0)]
        """
        similar_pairs = pairs_of_items(
            items_of_frame(self._frame, column, _arrow_of, ColumnNotFoundError),
            **options,
        )
        return pl.DataFrame(
            {name: similar_pairs[name] for name in similar_pairs.dtype.names or ()}
        )


@pl.api.register_lazyframe_namespace("lsh")
class LazyFrameLsh:
    """Near-duplicates among the rows of a lazy frame: ``lf.lsh``.

    Parameters
    ----------
    frame : polars.LazyFrame
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def dedup(
        self, column: str | list[str], *, annotate: bool = False, **options: Any
    ) -> Any:
        """Return a lazy frame of the rows without near-duplicates; it compares rows when collected.

        Parameters
        ----------
        column, annotate, **options
            As for `DataFrameLsh.dedup`.

        Returns
        -------
        polars.LazyFrame

        Examples
        --------
        >>> import polars as pl, lshfast.polars
        >>> lf = pl.LazyFrame({"text": ["one two three", "One, two, three!", "four"]})
        >>> lf.lsh.dedup("text").collect()["text"].to_list()
        ['one two three', 'four']
        """

        def work(frame: Any) -> Any:
            return DataFrameLsh(frame).dedup(column, annotate=annotate, **options)

        schema = None
        if annotate:
            frame_schema = self._frame.collect_schema()
            check_annotation(frame_schema, options)
            added = dict(zip(ADDED_COLUMNS, (pl.Int64, pl.Float64), strict=True))
            schema = pl.Schema({**frame_schema, **added})
        return self._frame.map_batches(
            work,
            schema=schema,
            streamable=False,
            projection_pushdown=False,
            slice_pushdown=False,
            predicate_pushdown=False,
        )
