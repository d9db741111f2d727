"""Read batches of texts from files and URLs, and write outputs: JSONL, CSV, TSV, Parquet and files
of one text.
"""

from lshfast._io.corpus import Batch, Corpus, open_corpus
from lshfast._io.edits import Edits
from lshfast._io.files import DataError, Reject
from lshfast._io.output import (
    Output,
    OutputFormat,
    check_different,
    check_file,
    check_output,
    check_outputs,
    check_place,
    rejects_beside,
)
from lshfast._io.rows import check_rows, write_rows
from lshfast._io.tables import write_rejects, write_table, write_tables
from lshfast._io.to_parquet import id_kind

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
