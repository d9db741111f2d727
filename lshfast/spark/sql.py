"""The functions of Spark SQL, as `F`; they are imported when one of them is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lshfast._common.extras import OptionalModule

if TYPE_CHECKING:
    from pyspark.sql import functions as F
else:
    F = OptionalModule("pyspark.sql.functions", "spark")

__all__ = ["F"]
