"""Near-duplicates, passages and records of Spark DataFrames, with the results of one machine.

It needs PySpark 4.1 or later: ``pip install "lshfast[spark]"``, on the driver and on each executor.

Files:

- api.py, run.py, page.py, by_value.py: `dedup` and `pairs`; the stages of a run; the page; the
  account by the values of a column.
- frame_rows.py, limits.py: the rows of a run; its limits.
- tasks.py, set_tasks.py, binary_columns.py, text_columns.py: the work of Python workers in these
  stages; their work on the texts of components; arrays as columns; columns of texts by their paths.
- earlier.py, exact_keys.py: earlier rows, with which new ones are compared; exact keys of rows.
- points.py, point_tasks.py: the stages of a run over vectors; the work of workers in them.
- components.py, row_filter.py: components of buckets, on the driver or on the cluster; a join of
  texts with the ids that need them.
- records.py, record_run.py, record_model.py, record_tasks.py: `match_records` and `dedup_records`;
  their run; a model that workers can use; the work of workers.
- shared_passages.py, passage_tasks.py: `passages`; the work of workers.
- checked_sample.py, draw.py, check_tasks.py: `check`; the rows of its sample, and all that are near
  to them; the work of workers.
- session.py, workers.py, ids.py, sql.py: the session; the interpreters of workers and their errors;
  ids; the functions of Spark SQL.
- files.py, file_inputs.py, file_outputs.py, places.py: the job over files; what it reads and
  writes; files and folders in any file system.
"""

from lshfast.spark.api import dedup, dedup_with_summary, pairs, pairs_with_summary
from lshfast.spark.checked_sample import check
from lshfast.spark.limits import Limits
from lshfast.spark.record_run import RecordLimits
from lshfast.spark.records import dedup_records, match_records
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
