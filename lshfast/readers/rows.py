"""Pass two of a corpus: the rows to keep, in a file of their own.

Rows are copied as they stand where input and output have one format. Only a change of format goes through
values, and then a value that the output cannot hold is an error that names its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lshfast.readers import to_csv, to_jsonl, to_parquet
from lshfast.readers.corpus import Corpus
from lshfast.readers.files import Format
from lshfast.readers.output import check_output, open_output, output_format, write_behind
from lshfast.readers.selection import Columns, Selection


class _Writer(Protocol):
    def check(self, selection: Selection) -> object: ...
    def write(self, selection: Selection, stream: Any) -> None: ...


_WRITERS: dict[Format, _Writer] = {"jsonl": to_jsonl, "csv": to_csv, "tsv": to_csv, "parquet": to_parquet}


def check_rows(corpus: Corpus, out: str | os.PathLike[str], annotations: Iterable[str] = ()) -> None:
    """Check what can be known of `write_rows` before the inputs are read: headers and schemas.

    Parameters
    ----------
    corpus : Corpus
        Read or not.
    out : path
        The output; its name says the format.
    annotations : iterable of str
        The names of the columns to add.

    Raises
    ------
    DataError
        If a CSV header or a Parquet schema has a column of that name, or does not fit with those of the other
        inputs or into the output's format. What JSONL holds shows only in `write_rows`.
    ValueError
        If the output's name is of no known format.
    """
    _WRITERS[output_format(out)[0]].check(Selection(corpus, out, None, dict.fromkeys(annotations, ())))


def write_rows(
    corpus: Corpus,
    out: str | os.PathLike[str],
    *,
    keep: npt.NDArray[np.bool_],
    annotations: Columns | None = None,
    kinds: Mapping[str, str] | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] | None = None,
    threads: int = 1,
) -> None:
    """Read a corpus again and write the rows to keep, in input order, with all their columns.

    JSONL to JSONL copies lines byte for byte, except a byte order mark and line ends, which become LF. Parquet to
    Parquet keeps schema and metadata. CSV to CSV keeps all fields. Outputs are UTF-8, whatever the inputs are in. A
    file of one text is a row of its ``path`` and of its text in the text column; columns that an input lacks are null.
    Where the format changes:

    - Parquet to JSONL or CSV: dates and times become strings like ``2024-05-01 12:00:00.123456``, those with a zone in
      UTC, with a Z at the end; bytes become strings (UTF-8).
    - CSV to JSONL or Parquet: cells become values of the column's type in other inputs (`Corpus.types`).
    - Parquet to JSONL: decimals become numbers; NaN and infinities become null.
    - JSONL to CSV or Parquet: a lone surrogate becomes U+FFFD; NaN and infinities stay. A null is an empty cell of CSV.

    Parameters
    ----------
    corpus : Corpus
        Read to its end by `Corpus.batches`.
    out : path
        The output; its name says format and compression.
    keep : bool array of shape (corpus.accepted,)
        Which rows to write.
    annotations : mapping of str to sequences of length corpus.accepted, optional
        Columns to add: a value or None for each row, kept or not.
    kinds : mapping of str to str, optional
        Arrow's names for the types of annotations in Parquet ("string", "int64", "double", "bool"). Without it the
        values decide, and a column of None alone has the type null.
    overwrite : bool
        Whether an existing file is replaced; never an input.
    progress : callable, optional
        Called with the bytes on disk passed since the last call; they sum to ``corpus.total_bytes``.
    threads : int
        With two or more, JSONL and CSV are compressed and written in a thread of their own.

    Raises
    ------
    DataError
        If an input changed, a column has the name of an annotation, or columns do not fit with those of
        another input or into the output's format.
    ValueError
        If the corpus was not read to its end, `keep` or an annotation has the wrong length or type, or the
        output is an input.
    OSError
        As `check_output` and `atomic_file` say.
    """
    if not corpus.complete:
        raise ValueError("the corpus has not been read to its end")
    keep, extra = np.asarray(keep), dict(annotations or {})
    if keep.dtype != np.bool_ or keep.shape != (corpus.accepted,):
        raise ValueError(f"keep must be bool of shape ({corpus.accepted},), not {keep.dtype} {keep.shape}")
    for name, values in extra.items():
        if len(values) != corpus.accepted:
            raise ValueError(f"annotation {name!r} has {len(values)} values for {corpus.accepted} rows")
    check_output(out, (file.path for file in corpus.files), overwrite)
    kind = output_format(out)[0]
    apart = write_behind if threads > 1 and kind != "parquet" else nullcontext
    with open_output(out, overwrite) as stream, apart(stream) as sink:
        _WRITERS[kind].write(Selection(corpus, out, keep, extra, progress, kinds), sink)
