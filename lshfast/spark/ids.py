"""The ids of a DataFrame must be different, and not null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_ids(frame: DataFrame) -> int:
    """Return the number of rows; raise ValueError for ids that are null or equal."""
    from pyspark.sql import functions as F

    figures = frame.agg(
        F.count("*").alias("read"),
        F.count("id").alias("ids"),
        F.count_distinct("id").alias("different"),
    ).collect()[0]
    refuse_ids(frame, figures.asDict())
    return int(figures["read"])


def refuse_ids(frame: DataFrame, figures: dict[str, Any]) -> None:
    """Raise ValueError for ids that are null or equal.

    `figures` are the numbers of rows that were read, of their ids, and of different ids.
    """
    nulls = figures["read"] - figures["ids"]
    if nulls:
        raise ValueError(f"id must not be null, as it is in {nulls} of the rows")
    if figures["different"] < figures["ids"]:
        twice = frame.groupBy("id").count().where("count > 1").orderBy("id").first()
        assert twice is not None
        raise ValueError(
            f"the values of id must be different, and {twice['id']!r} occurs {twice['count']} "
            "times"
        )
