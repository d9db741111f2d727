"""Arrow files (also called Feather) and streams, as record batches.

Datasets that `save_to_disk` writes are streams.

Batches are read, not mapped: a mapped file that another process truncates would end this process.
Lengths in a file are checked before they are used: a read ends with the file, and all offsets and
indices of a batch are validated.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from lshfast._common.arrow_columns import check_arrow
from lshfast._common.extras import optional, pa
from lshfast._io.files import File, Rows, content_faults, steady
from lshfast._io.views import holds_dictionary, selectable, without_views

_MAGIC = b"ARROW1"
_OLD_MAGIC = b"FEA1"
_CUT = "cannot be read as Arrow, it is cut off: "
MOST_ROWS = 1 << 16  # of a part of a batch
_FREE_ROWS = 1 << 20  # whose values may take no bytes, as nulls do
_ROWS_A_BYTE = 8  # of the file, and of its decoded batches


def schema_of(file: File) -> Any:
    """Return the schema of a file, with strings and bytes instead of views of them."""
    with _opened(file) as stream:
        schema = _reader(file, stream, None).schema
        level = list(schema)
        while level:  # decode the names at all depths, where an error names the file
            _ = [field.name for field in level]
            level = [
                field.type.field(place)
                for field in level
                for place in range(field.type.num_fields)
            ]
        return pa.schema([without_views(field) for field in schema], schema.metadata)


def record_batches(
    file: File, names: list[str] | None
) -> Iterator[tuple[int, Any, int]]:
    """Read some columns: yield the first row from 1, a batch of about `batch_bytes`, the position.

    A batch has at most `MOST_ROWS` rows, and is never empty.
    """
    row = 1
    data = file.size
    with _opened(file) as stream:
        for batch, position in _stored_batches(file, stream, names):
            for column in batch.columns:
                check_arrow(column)
            data += batch.nbytes
            if row + len(batch) > _FREE_ROWS + _ROWS_A_BYTE * data:
                reason = f"a batch has {len(batch):,} rows in {batch.nbytes:,} bytes"
                raise file.fault(None, f"cannot be read as Arrow: {reason}")
            for part in _parts(batch, file.layout.batch_bytes):
                yield row, part, position
                row += len(part)


class _Bounded:
    """A stream for pyarrow, in which a damaged length beyond the end takes no memory."""

    closed = False

    def __init__(self, stream: Any, size: int) -> None:
        self._stream = io.BufferedReader(stream)
        self._size = size
        self.seek = self._stream.seek
        self.tell = self._stream.tell

    def read(self, count: int) -> bytes:
        return self._stream.read(max(0, min(count, self._size - self.tell())))


@contextmanager
def _opened(file: File) -> Iterator[_Bounded]:
    """Open a file; any error of pyarrow is raised as an error that names the file."""
    try:
        with (
            content_faults(file, "Arrow"),
            steady(file),
            closing(file.source.open()) as stream,
        ):
            yield _Bounded(stream, file.size)
    except pa.ArrowMemoryError as error:
        raise file.fault(
            None, f"a batch is damaged or does not fit into memory: {error}"
        ) from error


def _reader(file: File, stream: _Bounded, names: list[str] | None) -> Any:
    """Return pyarrow's reader of some columns of a file or stream."""
    stream.seek(0)
    start = stream.read(len(_MAGIC))
    if start.startswith(_OLD_MAGIC):
        raise file.fault(
            None,
            "Feather of version 1 is not read; pyarrow.feather.write_feather writes version 2",
        )
    open_reader = pa.ipc.open_file if start == _MAGIC else pa.ipc.open_stream
    stream.seek(max(0, file.size - len(_MAGIC)))
    if start == _MAGIC != stream.read(len(_MAGIC)):
        raise file.fault(None, f"{_CUT}the mark at the end of the file is missing")
    stream.seek(0)
    reader = open_reader(pa.PythonFile(stream, "r"))
    if names is None:
        return reader
    columns = reader.schema.names
    column_numbers = {
        columns.index(name if name in columns else name.partition(".")[0])
        for name in names
    }
    if len(column_numbers) == len(
        columns
    ):  # pyarrow copies the columns that it chooses
        return reader
    stream.seek(0)
    return open_reader(
        pa.PythonFile(stream, "r"),
        options=pa.ipc.IpcReadOptions(included_fields=sorted(column_numbers)),
    )


def _stored_batches(
    file: File, stream: _Bounded, names: list[str] | None
) -> Iterator[tuple[Any, int]]:
    """Yield the batches as they are stored, with the position behind each."""
    reader = _reader(file, stream, names)
    if hasattr(reader, "num_record_batches"):
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number), stream.tell()
        return
    before = stream.tell()
    for batch in reader:
        before = stream.tell()
        yield batch, before
    if before == file.size:
        raise file.fault(
            None,
            f"{_CUT}the mark at the end of the stream is missing; its writer adds it when closed",
        )
    if stream.tell() < file.size:
        raise file.fault(
            None, "cannot be read as Arrow: there are data behind the end of the stream"
        )


def _parts(batch: Any, batch_bytes: int) -> Iterator[Any]:
    """Divide a batch into parts of about `batch_bytes`, without views."""
    batch = selectable(
        batch, holds_dictionary
    )  # once, because all parts share the dictionary
    for first in range(0, len(batch), MOST_ROWS):
        rows = batch.slice(first, MOST_ROWS)
        sizes = sum(
            (_sizes(column) for column in rows.columns), np.zeros(len(rows), np.int64)
        )
        part_of = (np.cumsum(sizes, dtype=np.int64) - sizes) // batch_bytes
        starts = np.flatnonzero(np.diff(part_of, prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            yield selectable(rows.slice(start, end - start))


def _sizes(column: Any) -> Rows:
    """Return the bytes of each value without dictionaries; nested values have their mean."""
    pc = optional("pyarrow.compute")
    types = pa.types
    kind = column.type
    if types.is_dictionary(kind) and _is_binary(kind.value_type):
        places = (
            column.indices.cast(pa.int64()).fill_null(len(column.dictionary)).to_numpy()
        )
        of_values = np.append(_sizes(column.dictionary), 0)
        return np.asarray(of_values[places])
    if str(kind) in (
        "string_view",
        "binary_view",
    ):  # a view begins with its length, 32 bits
        views = np.frombuffer(column.buffers()[1], np.int32)[::4][column.offset :][
            : len(column)
        ]
        return np.where(
            column.is_valid().to_numpy(zero_copy_only=False), views, 0
        ).astype(np.int64)
    if _is_binary(kind):
        return np.asarray(pc.binary_length(column).fill_null(0).to_numpy(), np.int64)
    return np.full(len(column), column.nbytes // max(1, len(column)), np.int64)


def _is_binary(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "binary", "large_binary")
