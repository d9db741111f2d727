"""Arrays of numpy, .npy and .npz, as record batches: each row has a value or a list.

Files are read in batches, and never as pickles. The array of an .npy file is the column of the
items; the arrays of an .npz file are columns by their names, all of one length.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from math import prod
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.extras import pa
from lshfast._common.types import AnyArray
from lshfast._common.visible import shortened
from lshfast._io.files import File, content_faults, long_row, steady

MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK"

# The most coordinates of a row, rows of a batch, and rows of a file, whose numbers are int64.
MOST_COORDINATES = 1 << 24
MOST_ROWS = 1 << 16
MOST_FILE_ROWS = (1 << 63) - 1

# The characters of the types that are read, whatever their byte order: those that Arrow has, and
# strings.
_TYPES = "?bBhHiIlLqQefdUS"

# The most bytes of the header of an array; numpy writes far fewer.
MOST_HEADER = 1 << 16

_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_WHAT = "an array of numpy"


class _StoredArray(NamedTuple):
    """An array in a file: its column, its stream behind the header, and what the header says."""

    name: str
    stream: Any
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        """The coordinates of a row."""
        return prod(self.shape[1:])

    @property
    def row_bytes(self) -> int:
        """The bytes of a row in the file."""
        return self.width * self.dtype.itemsize

    @property
    def decoded_bytes(self) -> int:
        """The bytes of the values of a row in Python, where each number takes 64 bits."""
        return self.width * max(8, self.dtype.itemsize)


def schema_of(file: File) -> Any:
    """Return the Arrow schema of the columns of a file."""
    with _opened(file) as arrays:
        return pa.schema(
            [pa.field(array.name, _column(array, b"", 0).type) for array in arrays]
        )


def record_batches(
    file: File, names: list[str] | None
) -> Iterator[tuple[int, Any, int]]:
    """Read some columns in batches: yield the first row from 1, the batch, the position."""
    row = 0
    with _opened(file) as arrays:
        selection = [array for array in arrays if names is None or array.name in names]
        rows = selection[0].shape[0] if selection else 0
        each = max(1, sum(array.row_bytes for array in selection))
        most = max(1, min(MOST_ROWS, file.layout.batch_bytes // each))
        while row < rows:
            count = min(most, rows - row)
            columns = [
                _column(array, _read(file, array, count), count) for array in selection
            ]
            batch = pa.RecordBatch.from_arrays(
                columns, [array.name for array in selection]
            )
            row += count
            yield row - count + 1, batch, file.size * row // rows


@contextmanager
def _opened(file: File) -> Iterator[list[_StoredArray]]:
    """Open the arrays of a file; an error of its format becomes one that names the file."""
    with content_faults(file, _WHAT), steady(file), ExitStack() as stack:
        stream = stack.enter_context(closing(file.source.open()))
        start = stream.read(len(MAGIC))
        stream.seek(0)
        if start.startswith(ZIP_MAGIC):
            archive = stack.enter_context(zipfile.ZipFile(stream))
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            arrays = [
                _array(
                    file,
                    name.removesuffix(".npy"),
                    stack.enter_context(archive.open(name)),
                )
                for name in members
            ]
        else:
            arrays = [_array(file, file.layout.column_name, stream)]
        if not arrays:
            raise file.fault(None, "there is no array in it")
        if len({array.shape[0] for array in arrays}) > 1:
            lengths = ", ".join(
                f"{array.name!r} has {array.shape[0]:,}" for array in arrays[:12]
            )
            raise file.fault(None, f"its arrays must have one length, but {lengths}")
        if sum(array.decoded_bytes for array in arrays) > file.layout.max_row_bytes:
            raise file.fault(None, long_row(file))
        yield arrays


def _array(file: File, name: str, stream: Any) -> _StoredArray:
    """Read the header of an array."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        major, minor = version
        raise file.fault(
            None,
            f"cannot be read as {_WHAT}: version {major}.{minor} of the format is not known",
        )
    # Numpy parses it as Python: its errors quote it, or name nodes of its syntax.
    try:
        shape, fortran, dtype = _HEADERS[version](stream, max_header_size=MOST_HEADER)
    except Exception as error:
        damage = f"the header of an array is damaged, cut off or longer than {MOST_HEADER:,} bytes"
        raise file.fault(None, f"cannot be read as {_WHAT}: {damage}") from error
    array = _StoredArray(name, stream, dtype, shape)
    reason = _unreadable(array, fortran)
    if reason:
        raise file.fault(None, f"array {name!r} {reason}")
    return array


def _unreadable(array: _StoredArray, fortran: bool) -> str:
    """Return why an array cannot be read as rows, or ""."""
    dtype = array.dtype
    shape = array.shape
    if dtype.hasobject or dtype.names is not None or dtype.char not in _TYPES:
        shown = shortened(dtype, str)
        return (
            f"has the type {shown}: only numbers and strings are read, and no objects"
        )
    if not 1 <= len(shape) <= 2 or (dtype.kind in "US" and len(shape) > 1):
        shown = shortened(shape)
        return (
            f"has the shape {shown}: rows must be numbers, strings, or lists of numbers"
        )
    if fortran and array.width > 1:
        return "is in Fortran's order: save np.ascontiguousarray(array)"
    if not 0 <= shape[0] <= MOST_FILE_ROWS:
        return f"must have 0..{MOST_FILE_ROWS:,} rows, not {shortened(shape[0])}"
    if len(shape) == 2 and not 1 <= array.width <= MOST_COORDINATES:
        shown = shortened(array.width)
        return f"must have 1..{MOST_COORDINATES:,} coordinates a row, not {shown}"
    if not dtype.itemsize:
        return f"has the type {dtype}, whose values take no bytes"
    return ""


def _read(file: File, array: _StoredArray, count: int) -> bytes:
    """Read the next rows of an array."""
    byte_count = count * array.row_bytes
    parts = []
    size = 0
    while size < byte_count and (part := array.stream.read(byte_count - size)):
        parts.append(part)
        size += len(part)
    if size < byte_count:
        raise file.fault(
            None, f"cannot be read as {_WHAT}: array {array.name!r} is cut off"
        )
    return b"".join(parts)


def _column(array: _StoredArray, data: bytes, count: int) -> Any:
    """Return rows as a column of Arrow."""
    values: AnyArray = np.frombuffer(data, array.dtype, count * array.width)
    values = values.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U":
        return pa.array(values.tolist(), pa.string())
    if array.dtype.kind == "S":
        return pa.array(values.tolist(), pa.binary())
    if len(array.shape) == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values), array.width)
