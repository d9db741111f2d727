"""Near-duplicates, passages and records of Spark DataFrames, with the results of one machine.

It needs PySpark 4.1 or later: ``pip install "lshfast[spark]"``, on the driver and on each executor.
"""

from lshfast.spark.api import dedup, dedup_with_summary, pairs, pairs_with_summary
from lshfast.spark.checked_sample import check
from lshfast.spark.record_run import RecordLimits
from lshfast.spark.records import dedup_records, match_records
from lshfast.spark.run import Limits
from lshfast.spark.shared_passages import passages

__all__ = [
    "Limits",
    "RecordLimits",
    "check",
    "dedup",
    "dedup_records",
    "dedup_with_summary",
    "match_records",
    "pairs",
    "pairs_with_summary",
    "passages",
]
