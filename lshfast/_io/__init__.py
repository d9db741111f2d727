"""Read batches of texts from files and URLs, and write outputs in several formats.

Files:

- listing.py, sources.py: which files the inputs are; where their bytes come from.
- files.py, corpus.py, batches.py, row_places.py, keys.py, cells.py: what readers share; the rows of
  several inputs, in two passes, and their batches; the lines of rows; ids and order values; cells
  of CSV as typed values.
- encodings.py, lines.py, line_buffers.py: decoding; lines of plain and compressed files; lines in
  a buffer.
- csv_files.py, jsonl.py, parquet.py, arrow_files.py, npy_files.py, folder.py, text_lines.py: one
  module a format; folder.py reads files of one text, text_lines.py one text a line.
- documents.py, zstd_windows.py: texts of Word and PDF documents; Zstandard with large windows.
- readers.py: the reader of each format by its name, the columns of a file, and values as pages show
  them.
- jsonl_again.py, json_records.py, json_text.py: accepted lines of JSONL again; one line, its
  members and its text; JSON by the standard library.
- delimiters.py, row_groups.py, views.py: the delimiter of a CSV file and the ends of its records;
  Parquet in batches of bounded size; string views of Arrow as strings.
- advice.py, contents.py: what to try if a file cannot be read; what a file contains.
- row_types.py: whether the output can hold a row of JSONL.
- stored_texts.py: texts that are read again in a file.
- file_parts.py: parts of a file that are read by themselves.
- string_file.py: ids, order values and rejected rows in files.
- whole_tables.py, hash_lists.py: all columns of some inputs; lists of hashes of images.
- notes.py: delimiters, files left out and lines of texts, for the account of a run.
- output.py, remote_output.py, streams.py: where outputs may be; uploads; standard output and pipes.
- selection.py, edits.py: the rows to keep; new texts of rows.
- rows.py, tables.py, to_csv.py, to_jsonl.py, to_parquet.py: rows and tables in each format.
- pages/: pages of HTML and their pictures.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names
from lshfast._io.batches import Batch
from lshfast._io.corpus import Corpus, open_corpus
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

if TYPE_CHECKING:
    from lshfast._io.edits import Edits
    from lshfast._io.tables import write_rejects, write_table, write_tables
    from lshfast._io.to_parquet import id_kind
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "edits": "Edits",
            "tables": "write_rejects write_table write_tables",
            "to_parquet": "id_kind",
        },
    )

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
