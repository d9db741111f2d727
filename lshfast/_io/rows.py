"""Pass two of a corpus: write the rows to keep to a file.

If input and output have the same format, rows are copied. Otherwise they are converted through
Python values, and a value that the output cannot hold raises an error that names its position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lshfast._common.lazy import LazyModule
from lshfast._common.types import BoolArray, PathLike
from lshfast._io import to_jsonl
from lshfast._io.corpus import Corpus
from lshfast._io.files import Format
from lshfast._io.output import Output, check_output, open_output, write_behind
from lshfast._io.selection import Annotations, Selection

if TYPE_CHECKING:
    from lshfast._io import to_csv, to_parquet
    from lshfast._io.edits import Edits
else:
    to_csv = LazyModule("lshfast._io.to_csv")
    to_parquet = LazyModule("lshfast._io.to_parquet")


class _Writer(Protocol):
    def check(self, selection: Selection) -> object: ...
    def write(self, selection: Selection, stream: Any) -> None: ...


_WRITERS: dict[Format, _Writer] = {
    "jsonl": to_jsonl,
    "csv": to_csv,
    "tsv": to_csv,
    "parquet": to_parquet,
}


def check_rows(corpus: Corpus, out: PathLike, annotations: Iterable[str] = ()) -> None:
    """Check the headers and schemas for `write_rows` before the inputs are read.

    Parameters
    ----------
    corpus : Corpus
        The corpus; it need not have been read.
    out : path
        The output; its suffix determines the format.
    annotations : iterable of str
        The names of the columns to add.

    Raises
    ------
    DataError
        If a CSV header or a Parquet schema has a column with the name of an annotation, or is not
        compatible with the other inputs or with the output's format. The columns of JSONL are only
        checked in `write_rows`.
    ValueError
        If the output's name has no known suffix.
    """
    output = Output.of(out)
    writer = _WRITERS[output.format_and_codec[0]]
    writer.check(Selection(corpus, output, None, dict.fromkeys(annotations, ())))


def write_rows(
    corpus: Corpus,
    out: PathLike,
    *,
    keep: BoolArray,
    annotations: Annotations | None = None,
    kinds: Mapping[str, str] | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] | None = None,
    threads: int = 1,
    edits: Edits | None = None,
) -> None:
    """Read a corpus again and write the rows to keep, in input order, with all their columns.

    JSONL to JSONL copies lines byte for byte, except that a byte order mark is removed and line
    ends become LF. Parquet to Parquet keeps schema and metadata. CSV to CSV keeps all fields.
    Outputs are always UTF-8. A file of one text becomes a row with its ``path`` and its text in the
    text column. Columns that an input lacks are null. If the format changes:

    - Parquet to JSONL or CSV: dates and times become strings like ``2024-05-01 12:00:00.123456``;
      with a time zone, they are in UTC and end with Z. Bytes become strings (UTF-8).
    - CSV to JSONL or Parquet: cells become values of the column's type in other inputs
      (`Corpus.types`).
    - Parquet to JSONL: decimals become numbers; NaN and infinities become null.
    - JSONL to CSV or Parquet: a lone surrogate becomes U+FFFD; NaN and infinities stay. A null is
      an empty CSV cell.

    Parameters
    ----------
    corpus : Corpus
        Read to its end by `Corpus.batches`.
    out : path
        The output; its suffix determines format and compression.
    keep : bool array of shape (corpus.accepted,)
        Which rows to write.
    annotations : mapping of str to sequences or SparseColumn of length corpus.accepted, optional
        Columns to add: a value or None for each row, including rows that are not kept.
    kinds : mapping of str to str, optional
        Arrow's names for the types of annotations in Parquet ("string", "int64", "double", "bool").
        By default the types are inferred from the values, and a column with only None has the type
        null.
    overwrite : bool
        Whether an existing file is replaced. An input is never replaced.
    progress : callable, optional
        Called with the bytes on disk read since the last call; their sum is ``corpus.total_bytes``.
    threads : int
        With two or more, JSONL and CSV are compressed and written in a separate thread.
    edits : Edits, optional
        New texts for some rows. In a line of JSONL, the text alone is replaced.

    Raises
    ------
    DataError
        If an input has changed, a column has the name of an annotation, or columns are not
        compatible with another input or with the output's format.
    ValueError
        If the corpus was not read to its end, `keep` or an annotation has the wrong length or type,
        or the output is an input.
    OSError
        As for `check_output` and `atomic_file`.
    """
    if not corpus.complete:
        raise ValueError("the corpus has not been read to its end")
    keep = np.asarray(keep)
    extra = dict(annotations or {})
    if keep.dtype != np.bool_ or keep.shape != (corpus.accepted,):
        raise ValueError(
            f"keep must be bool of shape ({corpus.accepted},), not {keep.dtype} {keep.shape}"
        )
    for name, values in extra.items():
        if len(values) != corpus.accepted:
            raise ValueError(
                f"annotation {name!r} has {len(values)} values for {corpus.accepted} rows"
            )
    if edits is not None and edits.rows.shape != keep.shape:
        raise ValueError(f"edits are for {len(edits.rows)} rows, not {corpus.accepted}")
    output = Output.of(out)
    check_output(output, [file.location for file in corpus.files], overwrite)
    kind = output.format_and_codec[0]
    selection = Selection(corpus, output, keep, extra, progress, kinds, edits)
    writing = write_behind if threads > 1 and kind != "parquet" else nullcontext
    with (
        open_output(output, overwrite, at_once=True) as stream,
        writing(stream) as sink,
    ):
        _WRITERS[kind].write(selection, sink)
