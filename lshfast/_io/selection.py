"""The rows of the inputs to write to an output, with their annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.lazy import LazyModule
from lshfast._common.types import AnyArray, BoolArray
from lshfast._io.cells import CellType, converter
from lshfast._io.corpus import Corpus
from lshfast._io.files import MOST_CELLS, ROW_CELLS, DataError, File, Rows
from lshfast._io.json_records import exact_object
from lshfast._io.output import CsvStyle, Output
from lshfast._io.readers import columns_of
from lshfast._io.row_types import taken, too_many

if TYPE_CHECKING:
    from lshfast._io import folder, parquet, text_lines
    from lshfast._io.edits import Edits
else:
    folder = LazyModule("lshfast._io.folder")
    parquet = LazyModule("lshfast._io.parquet")
    text_lines = LazyModule("lshfast._io.text_lines")

Columns: TypeAlias = Mapping[str, Sequence[Any] | AnyArray]
Annotations: TypeAlias = "Mapping[str, Sequence[Any] | AnyArray | SparseColumn]"
# Returns the error for a value of the i-th of the current rows.
Misfit: TypeAlias = Callable[[int, str], DataError]

# The bytes of lines of JSON, and of columns, that are converted at a time: as Python values they
# take up to 30 times as much. Each line counts ROW_BYTES more.
PARSED_BYTES = 1 << 20
ROW_BYTES = 64


class SparseColumn:
    """An annotation of some rows, made when they are written; it is None in the other rows.

    Parameters
    ----------
    rows : ndarray of int64, shape (m,)
        The rows that have it, ascending.
    values : callable
        Returns the values of some of them, given their places in `rows`.
    length : int
        The number of all rows.
    """

    def __init__(
        self, rows: Rows, values: Callable[[Rows], Sequence[Any]], length: int
    ) -> None:
        self._rows = rows
        self._values = values
        self._length = length

    def __len__(self) -> int:
        return self._length

    def at(self, rows: Rows) -> list[Any]:
        """Return the values of some rows."""
        places = np.searchsorted(self._rows, rows)
        places[places == len(self._rows)] = 0
        have = (
            np.flatnonzero(self._rows[places] == rows)
            if len(self._rows)
            else places[:0]
        )
        row_values: list[Any] = [None] * len(rows)
        for i, value in zip(
            have.tolist(), plain(self._values(places[have])), strict=True
        ):
            row_values[i] = value
        return row_values


class Selection:
    """The rows of a corpus to write to `output`; `keep` is None while they are unknown."""

    corpus: Corpus
    output: Output
    keep: BoolArray | None
    annotations: Annotations
    kinds: Mapping[str, str]

    def __init__(
        self,
        corpus: Corpus,
        output: Output,
        keep: BoolArray | None,
        annotations: Annotations,
        progress: Callable[[int], object] | None = None,
        kinds: Mapping[str, str] | None = None,
        edits: Edits | None = None,
    ) -> None:
        self.corpus = corpus
        self.output = output
        self.keep = keep
        self.annotations = annotations
        self.kinds = kinds or {}
        self._edits = edits
        self._format = output.format_and_codec[0]
        self.style: CsvStyle = output.csv_style
        typed = corpus.layout.typed and self._format in ("jsonl", "parquet")
        self.types: Mapping[str, CellType] = corpus.types if typed else {}
        self._tick = progress or (lambda size: None)
        self._names: dict[str, list[str]] = {}

    def chunks(self, join_lines: bool = False) -> Iterator[tuple[File, Rows, Any]]:
        """Read the rows to keep: yield file, row numbers, and rows as yielded by `Corpus.again`.

        With `join_lines`, lines of JSONL that are written as they are read are `JoinedLines`.
        """
        join_lines = join_lines and not self.annotations and self._edits is None
        for index, file in enumerate(self.corpus.files):
            last_position = 0
            for rows, chunk, position in self._again(
                index, join_lines and file.format == "jsonl"
            ):
                if self._edits is not None and len(rows):
                    from lshfast._io.edits import edited

                    names = self.names(file) if file.delimited else []
                    chunk = edited(
                        self._edits, file, names, rows, chunk, self.misfit(rows)
                    )
                yield file, rows, chunk
                self._tick(position - last_position)
                last_position = position
            self._tick(file.size - last_position)

    def ahead(self) -> Iterator[tuple[File, Rows, Any]]:
        """Read what determines the columns: rows of JSONL, if known; other files without rows."""
        for index, file in enumerate(self.corpus.files):
            if file.format != "jsonl":
                yield file, np.zeros(0, np.int64), None
            elif self.keep is not None:
                for rows, chunk, _ in self._again(index):
                    yield file, rows, chunk

    def _again(
        self, index: int, join_lines: bool = False
    ) -> Iterator[tuple[Rows, Any, int]]:
        assert self.keep is not None
        first, last = self.corpus.span(index)
        rows = np.flatnonzero(self.keep[first:last]) + first
        at = 0
        for chunk, position in self.corpus.again(index, rows, join_lines=join_lines):
            for part in self._parts(chunk):
                yield rows[at : at + len(part)], part, position
                at += len(part)
        if at != len(rows):
            raise self.corpus.files[index].changed()

    def _parts(self, chunk: Any) -> Iterator[Any]:
        """Split a chunk into parts that are small as Python values; Parquet may stay Parquet."""
        if isinstance(chunk, list) and chunk and isinstance(chunk[0], bytes):
            ends = np.cumsum(
                np.fromiter(map(len, chunk), np.int64, len(chunk)) + ROW_BYTES,
                dtype=np.int64,
            )
            cuts = [
                0,
                *(np.flatnonzero(np.diff(ends // PARSED_BYTES)) + 1).tolist(),
                len(chunk),
            ]
            return (chunk[at:end] for at, end in pairwise(cuts))
        if self._format == "parquet" or not hasattr(chunk, "num_columns"):
            return iter([chunk])
        cells = min(
            MOST_CELLS, MOST_CELLS * PARSED_BYTES // max(PARSED_BYTES, chunk.nbytes)
        )
        step = max(1, cells // (chunk.num_columns + ROW_CELLS))
        return (chunk.slice(at, step) for at in range(0, len(chunk), step))

    def misfit(self, rows: Rows) -> Misfit:
        """Return a function that creates errors for values of these rows."""
        return lambda i, reason: self.corpus.fault(int(rows[i]), reason)

    def names(self, file: File) -> list[str]:
        """Return the column names of a file other than JSONL; none if the file is empty."""
        if file.path not in self._names:
            names = columns_of(file)
            if len(set(names)) < len(names):
                raise file.fault(None, "two columns have one name")
            self._names[file.path] = self._not_taken(file, names)
        return self._names[file.path]

    def check_width(self) -> None:
        """Raise `DataError` if the columns of a file make the rows of other inputs too wide."""
        files = self.corpus.files
        names = [[] if file.format == "jsonl" else self.names(file) for file in files]
        widths = list(map(len, names))
        total = len(set().union(*names))
        if total > max(self.corpus.layout.max_columns, min(widths)):
            raise files[widths.index(max(widths))].fault(
                None, too_many(self.corpus.layout.max_columns)
            )

    def record_names(self, file: File, records: list[dict[str, Any]]) -> list[str]:
        """Return the column names of JSON rows, in order of first occurrence."""
        names = dict.fromkeys(name for record in records for name in record)
        return self._not_taken(file, list(names))

    def _not_taken(self, file: File, names: list[str]) -> list[str]:
        for name in self.annotations:
            if name in names:
                raise file.fault(None, taken(name))
        return names

    def added(self, rows: Rows) -> list[dict[str, Any]]:
        """Return the annotations of some rows."""
        columns = self.added_columns(rows).values()
        added = [
            dict(zip(self.annotations, row, strict=True))
            for row in zip(*columns, strict=True)
        ]
        return added or [{} for _ in rows]

    def added_columns(self, rows: Rows) -> dict[str, list[Any]]:
        """Return the annotations of some rows by their names."""
        columns = {}
        for name, values in self.annotations.items():
            if isinstance(values, SparseColumn):
                columns[name] = values.at(rows)
            else:
                if isinstance(values, np.ndarray):
                    row_values: Any = values[rows]
                else:
                    row_values = [values[row] for row in rows]
                columns[name] = plain(row_values)
        return columns

    def written_records(
        self, file: File, rows: Rows, chunk: Any, cast: Callable[[Any], Any]
    ) -> Iterator[dict[str, Any]]:
        """Yield rows as `records` returns them, with their annotations."""
        records = self.records(file, rows, chunk, cast)
        for record, additions in zip(records, self.added(rows), strict=True):
            yield {**record, **additions}

    def records(
        self, file: File, rows: Rows, chunk: Any, cast: Callable[[Any], Any]
    ) -> list[dict[str, Any]]:
        """Return rows as Python values; `cast` converts columns of Parquet for the output."""
        if file.format == "jsonl":
            return list(each(exact_object, chunk, self.misfit(rows)))
        names = self.names(file)
        if file.delimited:
            convert = converter(names, self.types)
            rows_of_values = (
                chunk if convert is None else each(convert, chunk, self.misfit(rows))
            )
            return [dict(zip(names, fields, strict=True)) for fields in rows_of_values]
        if file.format in ("text", "lines"):
            record = folder.record if file.format == "text" else text_lines.record
            return [record(file, text) for text in chunk]
        values = []
        for name, column in zip(names, chunk.columns, strict=True):
            try:
                values.append(cast(column).to_pylist())
            except MemoryError:
                raise
            except (
                optional("pyarrow").ArrowException,
                ValueError,
                OverflowError,
            ) as error:
                for i, reason in parquet.undecodable_values(column, name):
                    raise self.misfit(rows)(i, reason) from None
                raise file.fault(
                    None, f"column {name!r} is {column.type}: {error}"
                ) from error
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def each(
    convert: Callable[[Any], Any], rows: Iterable[Any], misfit: Misfit
) -> Iterator[Any]:
    """Convert rows; a failed conversion raises an error that names the row."""
    for i, row in enumerate(rows):
        try:
            line = convert(row)
        except (TypeError, ValueError) as error:
            raise misfit(i, str(error)) from error
        except RecursionError:
            raise misfit(i, "objects or arrays are nested too deep") from None
        yield line


def plain(values: Sequence[Any] | AnyArray) -> list[Any]:
    """Convert a column to Python values."""
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    return [
        value.item() if isinstance(value, np.generic) else value for value in values
    ]


def write_lines(stream: Any, lines: Iterable[bytes]) -> None:
    """Write many short lines with few calls."""
    remaining = iter(lines)
    while part := b"".join(islice(remaining, 4096)):
        stream.write(part)
