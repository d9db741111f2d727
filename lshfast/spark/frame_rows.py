"""The rows of a run on Spark, and the order in which they are preferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lshfast.spark.exact_keys import TIE, KeyColumn
from lshfast.spark.sql import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The column of a run and of its result with the URL of the file of each row, if they are wanted.
FILE = "file of the row"


@dataclass(frozen=True)
class FrameRows:
    """The rows of a run.

    Attributes
    ----------
    frame : DataFrame
        Its columns are id and text, value if the rows to keep are chosen by values, KEY if rows
        have exact keys, and FILE if files are counted.
    keep : str or None
        A policy; None to keep the row with the greatest value.
    exact_key : KeyColumn, optional
        How KEY is read.
    """

    frame: DataFrame
    keep: str | None
    exact_key: KeyColumn | None = None

    def type_of(self, name: str) -> str:
        """Return the type of a column as Spark writes it in a schema."""
        return str(self.frame.schema[name].dataType.simpleString())

    @property
    def files(self) -> list[str]:
        """The column of files, if there is one."""
        return [FILE] if FILE in self.frame.columns else []

    def order(self) -> list[Column]:
        """Return the order of preference of rows with equal texts."""
        if self.keep is None:
            return [F.col("value").desc(), F.col("id").asc()]
        return [F.col("id").desc() if self.keep == "last" else F.col("id").asc()]

    @property
    def by_length(self) -> bool:
        """Whether rows are preferred by their lengths."""
        return self.keep in ("longest", "shortest")

    def order_of_keys(self) -> list[Column]:
        """Return the order of preference of rows with equal keys, whose texts may differ."""
        if not self.by_length:
            return self.order()
        length = F.col("length")
        by_length = length.desc() if self.keep == "longest" else length.asc()
        return [by_length, F.col(TIE).desc(), F.col("id").asc()]
