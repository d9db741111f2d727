"""Near-duplicates and shared passages of the rows of a Spark DataFrame, as on one machine.

It needs PySpark 4.1 or later: ``pip install "lshfast[spark]"``, on the driver and on each executor.
"""

from lshfast.spark.api import dedup, dedup_with_summary, pairs, pairs_with_summary
from lshfast.spark.checked_sample import check
from lshfast.spark.run import Limits
from lshfast.spark.shared_passages import passages

__all__ = [
    "Limits",
    "check",
    "dedup",
    "dedup_with_summary",
    "pairs",
    "pairs_with_summary",
    "passages",
]
