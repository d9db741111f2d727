"""Columns of Arrow from arrays: words as signed integers, rows and lists of words as binary."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.spark.workers import pa

# The bit by which int64 and uint64 are in other orders.
SIGN_BIT = np.uint64(1 << 63)


def signed(numbers: UInt64Array) -> Int64Array:
    """Return the same bits as int64, because Spark has no unsigned integers."""
    return np.ascontiguousarray(numbers).view(np.int64)


def binary_column(rows: npt.NDArray[Any], nulls: BoolArray | None = None) -> Any:
    """Return the bytes of each row of an array as an Arrow column."""
    width = rows.shape[1] * rows.itemsize
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(width)
    valid = (
        None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    )
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.Array.from_buffers(pa.binary(), len(rows), buffers)


def _buffers_of(
    column: Any, kind: npt.DTypeLike
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return the ends of binary values, that before the first one too, and all bytes as values."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[
        column.offset : column.offset + len(column) + 1
    ]
    return ends, np.frombuffer(column.buffers()[2] or b"", kind)


def array_of_binary(column: Any, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an Arrow column of binary values of one length, without nulls, as rows."""
    ends, values = _buffers_of(column, kind)
    if not len(column):
        return values[:0].reshape(0, 1)
    return values.reshape(-1, (ends[1] - ends[0]) // values.itemsize)[
        ends[0] // (ends[1] - ends[0]) :
    ][: len(column)]


def binary_lists(values: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Any:
    """Return the bytes of consecutive values as an Arrow column, so many values a row."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts * values.itemsize, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.binary(), len(counts), buffers)


def lists_of_binary(
    column: Any, kind: npt.DTypeLike
) -> tuple[npt.NDArray[Any], Int64Array]:
    """Return the values in an Arrow column of `binary_lists`, and how many each row has."""
    ends, values = _buffers_of(column, kind)
    places = ends.astype(np.int64) // values.itemsize
    if not len(column):
        return values[:0], places[:0]
    return values[places[0] : places[-1]], np.diff(places)
