"""The ids of a DataFrame: their types, and that they are different and not null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lshfast.spark.sql import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ID_TYPES = "tinyint", "smallint", "int", "bigint", "string"


def common_type(first: str, second: str) -> str:
    """Return the type of ID_TYPES that has ids of two of them; string for a string and a number.

    Examples
    --------
    >>> common_type("int", "bigint"), common_type("int", "string")
    ('bigint', 'string')
    """
    return max(first, second, key=ID_TYPES.index)


def check_ids(frame: DataFrame, name: str = "id") -> int:
    """Return the number of rows; raise ValueError for ids that are null or equal.

    `name` is that of the ids in errors.
    """
    figures = frame.agg(
        F.count("*").alias("read"),
        F.count("id").alias("ids"),
        F.count_distinct("id").alias("different"),
    ).collect()[0]
    refuse_ids(frame, figures.asDict(), name)
    return int(figures["read"])


def refuse_ids(frame: DataFrame, figures: dict[str, Any], name: str = "id") -> None:
    """Raise ValueError for ids that are null or equal.

    `figures` are the numbers of rows that were read, of their ids, and of different ids.
    """
    nulls = figures["read"] - figures["ids"]
    if nulls:
        raise ValueError(f"{name} must not be null, as it is in {nulls} of the rows")
    if figures["different"] < figures["ids"]:
        twice = frame.groupBy("id").count().where("count > 1").orderBy("id").first()
        assert twice is not None
        raise ValueError(
            f"the values of {name} must be different, and {twice['id']!r} occurs "
            f"{twice['count']} times"
        )
