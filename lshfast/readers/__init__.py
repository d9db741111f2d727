"""Read batches of texts from files and URLs, and write outputs: JSONL, CSV, TSV, Parquet and files
of one text.
"""

from lshfast.readers.corpus import Batch, Corpus, open_corpus
from lshfast.readers.edits import Edits
from lshfast.readers.files import DataError, Reject
from lshfast.readers.output import (
    Output,
    OutputFormat,
    check_different,
    check_file,
    check_output,
    check_outputs,
    check_place,
    rejects_beside,
)
from lshfast.readers.rows import check_rows, write_rows
from lshfast.readers.tables import write_rejects, write_table, write_tables
from lshfast.readers.to_parquet import id_kind

__all__ = [
    "Batch",
    "Corpus",
    "DataError",
    "Edits",
    "Output",
    "OutputFormat",
    "Reject",
    "check_different",
    "check_file",
    "check_output",
    "check_outputs",
    "check_place",
    "check_rows",
    "id_kind",
    "open_corpus",
    "rejects_beside",
    "write_rejects",
    "write_rows",
    "write_table",
    "write_tables",
]
