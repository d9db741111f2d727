"""Vectors and codes from outside, checked, as words of the kernels' measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.choices import ItemMeasure
from lshfast.common.extras import optional
from lshfast.common.types import BoolArray, Int64Array, UInt64Array
from lshfast.families.packed import codes_of
from lshfast.index.neighbors.points import PointFormat
from lshfast.kernels.text import Texts
from lshfast.kinds.kind import decoded_lists, shortened
from lshfast.kinds.measures import PointKind

# The metric of a format for each measure of points.
METRICS: dict[ItemMeasure, str] = {"cosine": "cosine", "angle": "cosine"}


@dataclass(frozen=True)
class PointBatch:
    """Points of consecutive rows, as words of a format, and which rows have none: their words are zeros."""

    words: UInt64Array
    missing: BoolArray

    def __len__(self) -> int:
        return len(self.missing)

    @property
    def nbytes(self) -> int:
        """The bytes of the words."""
        return self.words.nbytes

    def take(self, rows: Int64Array) -> PointBatch:
        """Return some of the rows."""
        return PointBatch(self.words[rows], self.missing[rows])


class PointReader:
    """Converts columns of vectors or codes to batches of points of one format, which the first row decides.

    Parameters
    ----------
    kind : {"vector", "code"}
    measure : str

    Attributes
    ----------
    format : PointFormat or None
        None as long as no row has a point.
    """

    format: PointFormat | None

    def __init__(self, kind: PointKind, measure: ItemMeasure) -> None:
        self.format = None
        self._kind, self._metric = kind, METRICS.get(measure, measure)

    def read(self, column: Any) -> tuple[PointBatch, dict[int, str]]:
        """Return the points of a column, and the reasons of its bad rows, whose points are not valid."""
        n = len(column)
        values, missing, bad = (_vectors if self._kind == "vector" else _codes)(column, self._width)
        good = ~missing
        good[list(bad)] = False
        if self.format is None:
            if not good.any():
                return PointBatch(np.zeros((n, 1), np.uint64), missing), bad
            self.format = self._format_of(values)
        if self._kind == "vector":
            bad |= self._unsuitable(values, good)
            good[list(bad)] = False
        words = np.zeros((n, self.format.measure.words), np.uint64)
        if good.all():
            words = self._words_of(values)
        elif good.any():
            words[good] = self._words_of(values[good])
        return PointBatch(words, missing), bad

    @property
    def _width(self) -> int | None:
        """The coordinates of vectors or the bits of codes; None as long as no row has been read."""
        return None if self.format is None else self.format.dim

    def _format_of(self, values: npt.NDArray[Any]) -> PointFormat:
        if self._kind == "code":
            return PointFormat("hamming", 64 * values.shape[1], "float32", None)
        dtype = "float64" if values.dtype.itemsize > 4 else "float32"
        return PointFormat(self._metric, values.shape[1], dtype, None)

    def _words_of(self, values: npt.NDArray[Any]) -> UInt64Array:
        assert self.format is not None
        return values if self._kind == "code" else self.format.check(values)[1]

    def _unsuitable(self, values: npt.NDArray[Any], good: BoolArray) -> dict[int, str]:
        """Return the reasons of vectors that the format cannot hold."""
        assert self.format is not None
        bad: dict[int, str] = {}
        with np.errstate(over="ignore", invalid="ignore"):
            # A sum is finite if all coordinates are and it does not overflow, which is looked at again.
            sums = values.sum(axis=1, dtype=np.float64)
            rounded = values if values.dtype == self.format.dtype else values.astype(self.format.dtype)
            doubtful = ~np.isfinite(sums) | (self.format.metric == "cosine") & (sums == 0)
            if rounded is not values:
                doubtful |= ~np.isfinite(rounded).all(axis=1)
        for row in np.flatnonzero(doubtful & good).tolist():
            finite = np.isfinite(values[row])
            if not finite.all():
                at = int(np.argmin(finite))
                bad[row] = f"coordinate {at} is {values[row, at]}, not a finite number"
            elif not np.isfinite(rounded[row]).all():
                bad[row] = f"a coordinate is too large for {self.format.dtype}"
            elif self.format.metric == "cosine" and not values[row].any():
                bad[row] = "the vector is zero, which has no direction"
        return bad


def read_points(items: Any, kind: PointKind, measure: ItemMeasure) -> tuple[PointBatch, PointFormat | None]:
    """Return the points of a collection in memory; the first bad row raises ValueError."""
    reader = PointReader(kind, measure)
    batch, bad = reader.read(_column(items))
    if bad:
        row = min(bad)
        raise ValueError(f"row {row}: {bad[row]}")
    return batch, reader.format


def _column(items: Any) -> Any:
    """Return a collection as an array of numpy or pyarrow, or as a list."""
    if isinstance(items, np.ndarray):
        return items if items.dtype != object else list(items)
    if hasattr(items, "__arrow_c_stream__") or hasattr(items, "__arrow_c_array__"):
        pa = optional("pyarrow")
        return items if isinstance(items, pa.Array) else pa.chunked_array(items).combine_chunks()
    return list(items)


Read = tuple[npt.NDArray[Any], BoolArray, dict[int, str]]


# ---- vectors ----


def _vectors(column: Any, dim: int | None) -> Read:
    """Return vectors as an array, (n, dim), which rows have none, and the reasons of bad rows."""
    if isinstance(column, np.ndarray):
        if column.ndim != 2 or column.dtype.kind not in "iuf":
            raise ValueError(f"vectors must be numbers of shape (n, dim), not {column.dtype} {column.shape}")
        if dim not in (None, column.shape[1]):
            raise ValueError(f"vectors must have {dim} coordinates, as the rows before, not {column.shape[1]}")
        return _floats(column), np.zeros(len(column), np.bool_), {}
    if not hasattr(column, "buffers"):
        return _vectors_of_values(column, dim)
    types, n = optional("pyarrow").types, len(column)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if not types.is_nested(column.type) or not hasattr(column.type, "value_type"):
        return _vectors_of_values(column.to_pylist(), dim)
    if types.is_fixed_size_list(column.type):
        width = column.type.list_size
        flat = column.values.slice(column.offset * width, n * width)
        offsets = width * np.arange(n + 1, dtype=np.int64)
    else:
        offsets = np.asarray(column.offsets.to_numpy(zero_copy_only=False), np.int64)
        flat = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        offsets = offsets - offsets[0]
    if not (types.is_floating(flat.type) or types.is_integer(flat.type)):
        raise ValueError(f"vectors must be lists of numbers, not {column.type}")
    numbers = flat.to_numpy(zero_copy_only=False)
    holes = flat.is_null().to_numpy(zero_copy_only=False) if flat.null_count else None
    return _ragged(_floats(numbers), offsets, missing, dim, holes)


def _ragged(
    numbers: npt.NDArray[Any], offsets: Int64Array, missing: BoolArray, dim: int | None, holes: BoolArray | None
) -> Read:
    """Return rows, which are ``numbers[offsets[i]:offsets[i + 1]]``, as an array."""
    n, bad = len(missing), dict[int, str]()
    widths = np.diff(offsets)
    present = np.flatnonzero(~missing)
    if dim is None:
        dim = int(widths[present[0]]) if len(present) else 1
        if dim == 0:
            bad[int(present[0])] = "the vector has no coordinates"
            dim = 1
    for row in present[widths[present] != dim].tolist():
        bad.setdefault(row, f"the vector has {widths[row]} coordinates, not {dim} as the rows before")
    if holes is not None:
        marks = np.concatenate([[0], np.cumsum(holes, dtype=np.int64)])
        for row in np.flatnonzero((marks[offsets[1:]] > marks[offsets[:-1]]) & ~missing).tolist():
            bad.setdefault(row, "a coordinate is null")
    if len(numbers) == n * dim and (widths == dim).all():
        return numbers.reshape(n, dim), missing, bad
    values = np.zeros((n, dim), numbers.dtype)
    fit = np.flatnonzero(~missing & (widths == dim))
    values[fit] = numbers[offsets[fit][:, np.newaxis] + np.arange(dim, dtype=np.int64)]
    return values, missing, bad


def _vectors_of_values(items: Iterable[Any], dim: int | None) -> Read:
    """Return vectors that are Python values: lists or arrays of numbers, JSON texts of them, or None."""
    rows, lost, bad = list[npt.NDArray[Any]](), list[bool](), dict[int, str]()
    for row, item in enumerate(decoded_lists(items)):
        lost.append(item is None)
        try:
            array = np.asarray([] if item is None else item)
            if item is not None and (array.ndim != 1 or (len(array) and array.dtype.kind not in "iuf")):
                raise ValueError
        except ValueError:
            bad[row], array = f"not a list of numbers: {shortened(item)}", np.empty(0)
        rows.append(array)
    wide = any(array.dtype.itemsize > 4 for array in rows if len(array))
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    numbers = np.concatenate([np.empty(0, np.float64 if wide else np.float32), *map(_floats, rows)])
    values, missing, others = _ragged(numbers, offsets, np.array([*lost], np.bool_), _first_dim(rows, bad, dim), None)
    return values, missing, others | bad


def _first_dim(rows: Sequence[npt.NDArray[Any]], bad: dict[int, str], dim: int | None) -> int | None:
    if dim is not None:
        return dim
    return next((len(array) for row, array in enumerate(rows) if len(array) and row not in bad), None)


def _floats(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as float32 or float64."""
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)


# ---- codes ----


def _codes(column: Any, bits: int | None) -> Read:
    """Return codes as words, (n, words), which rows have none, and the reasons of bad rows."""
    if isinstance(column, Texts):
        column = [column[row].decode("ascii", "replace") or None for row in range(len(column))]
    elif hasattr(column, "buffers"):
        whole = _codes_of_arrow(column)
        column = column.to_pylist() if whole is None else whole
    if isinstance(column, np.ndarray):
        words = codes_of(column, None)
        if bits not in (None, 64 * words.shape[1]):
            raise ValueError(f"codes must have {bits} bits, as the rows before, not {64 * words.shape[1]}")
        return words, np.zeros(len(words), np.bool_), {}
    return _codes_of_values(column, bits)


def _codes_of_arrow(column: Any) -> npt.NDArray[Any] | None:
    """Return a column without nulls of words or of bytes of one length as an array; None for others."""
    types, n, kind = optional("pyarrow").types, len(column), column.type
    if column.null_count or not n:
        return None
    if types.is_uint64(kind) or types.is_int64(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_fixed_size_binary(kind):
        width = kind.byte_width
        data = np.frombuffer(column.buffers()[1], np.uint8)
        return data[column.offset * width : (column.offset + n) * width].reshape(n, width)
    if types.is_fixed_size_list(kind) and types.is_integer(kind.value_type) and kind.value_type.bit_width in (8, 64):
        width = kind.list_size
        flat = column.values.slice(column.offset * width, n * width)
        word = np.uint8 if kind.value_type.bit_width == 8 else np.uint64
        return None if flat.null_count else flat.to_numpy(zero_copy_only=False).view(word).reshape(n, width)
    return None


def _codes_of_values(items: Sequence[Any], bits: int | None) -> Read:
    """Return codes that are Python values: hexadecimal texts, bytes, ints, lists of bytes, or None."""
    items = [None if isinstance(item, str) and not item else item for item in items]
    missing = np.array([item is None for item in items], np.bool_)
    given: list[Any] = [bytes(item) if _is_bytes(item) else item for item in items]
    present = [given[row] for row in np.flatnonzero(~missing).tolist()]
    bad: dict[int, str] = {}
    if not present:
        return np.zeros((len(items), 1), np.uint64), missing, bad
    try:
        words = codes_of(present, None)
    except (TypeError, ValueError):
        words = None
    width = 0 if words is None else words.shape[1]
    if words is None or (bits is not None and bits != 64 * width):
        return _codes_one_by_one(given, missing, bits)
    values = np.zeros((len(items), width), np.uint64)
    values[~missing] = words
    return values, missing, bad


def _codes_one_by_one(given: Sequence[Any], missing: BoolArray, bits: int | None) -> Read:
    """Return codes of which some are bad."""
    rows, bad, length = dict[int, UInt64Array](), dict[int, str](), None
    for row in np.flatnonzero(~missing).tolist():
        item = given[row]
        own = (type(item), len(item)) if isinstance(item, (str, bytes)) else (type(item), 0)
        try:
            word = codes_of([item], None)[0]
        except (TypeError, ValueError) as error:
            bad[row] = str(error).replace("codes must", "a code must").replace(", and row 0 is", ", not")
            continue
        if bits is not None and 64 * len(word) != bits:
            bad[row] = f"the code has {64 * len(word)} bits, not {bits} as the rows before: {shortened(item)}"
        elif length not in (None, own):
            bad[row] = f"the code is not like the rows before: {shortened(item)}"
        else:
            rows[row], length = word, own
    width = len(next(iter(rows.values()))) if rows else 1
    values = np.zeros((len(given), width), np.uint64)
    for row, word in rows.items():
        values[row] = word
    return values, missing, bad


def _is_bytes(item: Any) -> bool:
    """Return whether an item is a list of bytes."""
    return isinstance(item, (list, tuple)) and all(isinstance(part, int) and 0 <= part < 256 for part in item)
