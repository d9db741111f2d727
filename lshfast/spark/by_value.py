"""The account by the values of a column of a DataFrame, and the guard that uses it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.errors import TooManyRemovedError
from lshfast._common.value_codes import MISSING, MOST_CHARACTERS, OTHER, ValueCodes
from lshfast._engine.account.by_value import CountsByValue
from lshfast._engine.account.guard import MOST_GROUPS, check_max_removed, check_removed
from lshfast._engine.account.report import Summary
from lshfast._engine.clock import Stage
from lshfast.spark.session import configured
from lshfast.spark.sql import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Types of columns that have no values to count by.
NESTED = "array", "map", "struct", "variant"

# Where the values are, beside the result of a run.
VALUE = "value of by"


@dataclass(frozen=True)
class Guard:
    """By what rows are counted, and what ends a run.

    Attributes
    ----------
    by : str or None
        A column.
    max_removed : float or None
        The largest share of rows that may be removed.
    name : str
        The name of the column in the account, if it has another one.
    refused : callable, optional
        Called with the result, its figures and the error before a run ends because too many rows
        are removed.
    """

    by: str | None = None
    max_removed: float | None = None
    name: str = ""
    refused: Callable[[DataFrame, Summary, TooManyRemovedError], object] | None = None

    def check(self, df: DataFrame) -> None:
        """Raise an error if rows cannot be counted by the column, or the limit is no share."""
        check_max_removed(self.max_removed)
        if self.by is None:
            return
        if not isinstance(self.by, str):
            raise TypeError(f"by must be the name of a column, not {self.by!r}")
        kind = self._kind(df)
        if kind.startswith(NESTED):
            raise TypeError(
                f"by: column {self.by!r} must have values like strings or numbers, not {kind}"
            )

    def floats(self, df: DataFrame) -> bool:
        """Return whether the values are floating-point numbers."""
        return self._kind(df) in ("float", "double")

    def _kind(self, df: DataFrame) -> str:
        from pyspark.errors import AnalysisException

        assert self.by is not None
        try:
            return df.select(F.col(self.by)).schema[0].dataType.simpleString()
        except AnalysisException:
            raise ValueError(
                f"by: there is no column {self.by!r} among {', '.join(df.columns)}"
            ) from None


def counted_by(
    df: DataFrame, id: str, result: DataFrame, summary: Summary, guard: Guard
) -> Summary:
    """Return the figures with counts by value; too many removed rows raise an error.

    Parameters
    ----------
    df : DataFrame
    id : str
        The column of ids.
    found : DataFrame
        The result of the run.
    summary : Summary
    guard : Guard

    Raises
    ------
    TooManyRemovedError
        If more are removed than the guard allows.
    """
    start = time.perf_counter()
    counts = None
    texts = list[str | None]()
    rows = result
    if guard.by is not None:
        floats = guard.floats(df)
        rows = result.join(_values(df, id, guard.by, floats), "id")
        with configured(df.sparkSession):
            counts, texts = _counts(rows, guard.name or guard.by, floats)
        seconds = time.perf_counter() - start
        stages = {**summary.stages, "by": Stage(seconds, 0)}
        summary = replace(
            summary,
            by=counts.summary(),
            stages=stages,
            seconds=summary.seconds + seconds,
        )

    def groups_of(place: int | None) -> list[tuple[Any, int]]:
        return _largest_groups(rows, None if place is None else (texts[place],))

    try:
        check_removed(
            guard.max_removed, summary.read, summary.removed, counts, groups_of
        )
    except TooManyRemovedError as error:
        if guard.refused is not None:
            guard.refused(result, summary, error)
        raise
    return summary


def _values(df: DataFrame, id: str, by: str, floats: bool) -> DataFrame:
    """Return ids and values as text; missing, empty and non-numeric values are null."""
    text: Column = F.substring(F.col(by).cast("string"), 1, MOST_CHARACTERS)
    missing = ["", "NaN"] if floats else [""]
    return df.select(
        F.col(id).alias("id"), F.when(~text.isin(missing), text).alias(VALUE)
    )


def _counts(
    rows: DataFrame, by: str, floats: bool
) -> tuple[CountsByValue, list[str | None]]:
    """Count the rows of each value; return also the text that each place has in Spark."""
    codes = ValueCodes(by)
    texts = list[str | None]([None])
    rows_read, removed = np.zeros((2, 1 << 10), np.int64)
    grouped = rows.groupBy(VALUE).agg(
        F.count("*").alias("read"), F.count_if(~F.col("keep")).alias("removed")
    )
    for row in grouped.toLocalIterator():
        text = row[VALUE]
        # As Python writes it.
        code = codes.code_of(float(text) if floats and text is not None else text)
        if code >= len(texts) + MISSING:
            texts.append(text)
        place = code - OTHER
        if place >= len(rows_read):
            rows_read = np.concatenate([rows_read, rows_read * 0])
            removed = np.concatenate([removed, removed * 0])
        rows_read[place] += row["read"]
        removed[place] += row["removed"]
    end = len(codes.names) + MISSING - OTHER + 1
    return CountsByValue.of_totals(
        by, codes.names, rows_read[:end], removed[:end]
    ), texts


def _largest_groups(
    rows: DataFrame, value: tuple[str | None] | None
) -> list[tuple[Any, int]]:
    """Return the largest groups among the removed rows, or among those with a value."""
    removed = rows.where(~F.col("keep"))
    if value is not None:
        (text,) = value
        removed = removed.where(
            F.col(VALUE).isNull() if text is None else F.col(VALUE) == text
        )
    of_group = [name for name in ("kept_key", "earlier") if name in rows.columns]
    sizes = (
        removed.groupBy(*of_group)
        .count()
        .orderBy(F.desc("count"), "kept_key")
        .limit(MOST_GROUPS)
    )
    return [(row["kept_key"], row["count"]) for row in sizes.collect()]
