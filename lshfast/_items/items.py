"""Vectors and codes from outside, checked, as words of the kernels' measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lshfast._common.arrow_columns import python_values, stored_lists
from lshfast._common.checks import array_of
from lshfast._common.choices import ItemMeasure, PointKind
from lshfast._common.decimal_codes import (
    DecimalDigits,
    are_decimal,
    decimal_number,
    note_on_decimal,
)
from lshfast._common.extras import pa
from lshfast._common.hex_codes import hex_digits
from lshfast._common.image_hashes import ImageHash
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import (
    AnyArray,
    BoolArray,
    Float64Array,
    Int64Array,
    UInt64Array,
)
from lshfast._common.visible import shortened
from lshfast._items.kind import decoded_lists
from lshfast.families.packed import codes_of
from lshfast.index.measure import MOST_WORDS
from lshfast.index.neighbors.points import MOST_COORDINATE, PointFormat
from lshfast.kernels.hamming import MAX_WORDS
from lshfast.kernels.text import Texts
from lshfast.tokens import places_of_rows

# The metric of a format for each measure of points.
METRICS: dict[ItemMeasure, str] = {"cosine": "angle", "tanimoto": "hamming"}

# The least sum of squares of a vector with a direction: a little more than `PointFormat` takes,
# whose sums have another order.
LEAST_SQUARES = MOST_COORDINATE**-2 * (1 + 1e-9)


@dataclass(frozen=True)
class PointBatch:
    """Points of consecutive rows, and which rows have none.

    Attributes
    ----------
    words : ndarray of uint64, shape (k, words)
        The words of the k rows that have a point; of weighted sets, of all elements.
    missing : ndarray of bool, shape (n,)
    counts : ndarray of int64, shape (k,), optional
        The number of elements of each of k weighted sets.
    """

    words: UInt64Array
    missing: BoolArray
    counts: Int64Array | None = None

    def __len__(self) -> int:
        return len(self.missing)

    @property
    def nbytes(self) -> int:
        """The bytes of the words."""
        return self.words.nbytes

    def take(self, rows: Int64Array) -> PointBatch:
        """Return some of the rows."""
        missing = self.missing[rows]
        places = (np.cumsum(~self.missing, dtype=np.int64) - 1)[rows[~missing]]
        if self.counts is None:
            return PointBatch(self.words[places], missing)
        offsets = offsets_of(self.counts)
        return PointBatch(
            self.words[places_of_rows(offsets, places)[1]], missing, self.counts[places]
        )


class PointReader:
    """Converts columns of vectors or codes to batches of points; the first row sets the format.

    Parameters
    ----------
    kind : {"vector", "code"}
    measure : str
    format : PointFormat, optional
        The format that all rows must have: the one of an index.

    Attributes
    ----------
    format : PointFormat or None
        None as long as no row has a point.
    image_hash : ImageHash or None
        The hash of images that the codes are; None if they are not known to be one.
    """

    format: PointFormat | None
    image_hash: ImageHash | None = None

    batch_bytes: None = None  # as for texts

    def __init__(
        self, kind: PointKind, measure: ItemMeasure, format: PointFormat | None = None
    ) -> None:
        self.format = format
        self._like = "as the rows before" if format is None else "as the index has"
        self._kind = kind
        self._metric = METRICS.get(measure, measure)
        words = None if format is None or kind == "vector" else format.measure.words
        self._form = _CodeForm(words, self._like)
        self._set_bits = measure == "tanimoto"

    @property
    def advice(self) -> str:
        """Advice if the rows that were read can have another meaning, or ""."""
        return self._form.decimal.advice

    def read(self, column: Any) -> tuple[PointBatch, dict[int, str]]:
        """Return the points of a column, and the reasons of its bad rows, which have no points."""
        if hasattr(column, "buffers"):
            column = stored_lists(column)
        if self._kind == "vector":
            values, has_point, bad = _vectors(
                column, None if self.format is None else self.format.dim, self._like
            )
        else:
            values, has_point, bad = _codes(column, self._form)
        if len(values) and self.format is None:
            self.format = self._format_of(values)
        if self.format is None:
            return PointBatch(np.empty((0, 1), np.uint64), ~has_point), bad
        if len(values):
            rows = np.flatnonzero(has_point)
            squares = self._squares_of(values)
            reasons = self._unsuitable(values, squares)
            bad |= {int(rows[place]): reason for place, reason in reasons.items()}
            suitable = self._have_content(values, squares)
            suitable[list(reasons)] = False
            if not suitable.all():
                has_point[rows[~suitable]] = False
                values = values[suitable]
        words = (
            self._words_of(values)
            if len(values)
            else np.empty((0, self.format.measure.words), np.uint64)
        )
        return PointBatch(words, ~has_point), bad

    def _squares_of(self, values: AnyArray) -> Float64Array:
        """Return the sums of squares of vectors in the type of the format; zeros for codes."""
        assert self.format is not None
        if self._kind == "code":
            return np.zeros(len(values))
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = values.astype(self.format.dtype, copy=False)
            return np.asarray(np.einsum("ij,ij->i", rounded, rounded, dtype=np.float64))

    def _have_content(self, values: AnyArray, squares: Float64Array) -> BoolArray:
        """Return which points can be similar to others: those with content.

        By Tanimoto similarity, codes without ones have none; by angles, vectors of zeros and
        vectors too short to have a direction.
        """
        assert self.format is not None
        if self._set_bits:
            return np.asarray(values.any(axis=1), np.bool_)
        if self.format.metric != "angle":
            return np.ones(len(values), np.bool_)
        return np.asarray(squares >= LEAST_SQUARES, np.bool_)

    def _format_of(self, values: AnyArray) -> PointFormat:
        if self._kind == "code":
            return PointFormat(
                "hamming", 64 * values.shape[1], "float32", None, self.image_hash
            )
        dtype = "float64" if values.dtype.itemsize > 4 else "float32"
        return PointFormat(self._metric, values.shape[1], dtype, None)

    def _words_of(self, values: AnyArray) -> UInt64Array:
        assert self.format is not None
        return values if self._kind == "code" else self.format.check(values)[1]

    def _unsuitable(self, values: AnyArray, squares: Float64Array) -> dict[int, str]:
        """Return the reasons of points that the format cannot hold, by their places."""
        assert self.format is not None
        if self._kind == "code":
            spare = self.format.dim % 64
            beyond = np.flatnonzero(values[:, -1] >> np.uint64(spare)) if spare else ()
            return dict.fromkeys(
                map(int, beyond),
                f"the code has more than {self.format.dim} bits, which the index has",
            )
        most = (
            MOST_COORDINATE
            if self.format.dtype == "float64"
            else float(np.finfo(np.float32).max)
        )
        reasons = dict[int, str]()
        # Not a number, infinite, or so large that a coordinate may be too large, which is looked at
        # again.
        with np.errstate(invalid="ignore"):
            doubtful = ~(squares <= most**2)
        if (most_nonzeros := self.format.nonzeros) is not None:
            nonzeros = np.count_nonzero(values, axis=1)
            for place in np.flatnonzero(nonzeros > most_nonzeros).tolist():
                reasons[place] = (
                    f"{nonzeros[place]} coordinates are not zero, more than {most_nonzeros}"
                )
        for place in np.flatnonzero(doubtful).tolist():
            row = values[place]
            finite = np.isfinite(values[place])
            if not finite.all():
                at = int(np.argmin(finite))
                reasons[place] = f"coordinate {at} is {row[at]}, not a finite number"
            elif (np.abs(row) > most).any():
                at = int(np.argmax(np.abs(row) > most))
                reasons[place] = (
                    f"coordinate {at} is {row[at]}, not in -{most:g}..{most:g}"
                )
        return reasons


# The values of the rows that have an item, (k, dim) or (k, words); which rows these are, (n,); the
# reasons of bad rows.
Read = tuple[AnyArray, BoolArray, dict[int, str]]


# ---- vectors ----


def _vectors(column: Any, dim: int | None, like: str) -> Read:
    """Return the vectors of a column with `dim` coordinates, as `like` describes in messages."""
    if isinstance(column, np.ndarray):
        if column.ndim != 2 or column.dtype.kind not in "iuf":
            raise ValueError(
                f"vectors must be numbers of shape (n, dim), not {column.dtype} {column.shape}"
            )
        values = _floats(column)
        (n, width) = column.shape
        if dim not in (None, width):
            return _all_bad(
                np.ones(n, np.bool_),
                _other_width(width, dim or 0, _most_coordinates(values), like),
            )
        if not 1 <= width <= _most_coordinates(values):
            raise ValueError(
                f"vectors must have 1..{_most_coordinates(values)} coordinates, not {width}"
            )
        return values, np.ones(n, np.bool_), {}
    if not hasattr(column, "buffers"):
        return _vectors_of_values(column, dim, like)
    types = pa.types
    if not types.is_nested(column.type) or not hasattr(column.type, "value_type"):
        items, undecodable = python_values(column)
        values, has_vector, bad = _vectors_of_values(items, dim, like)
        return values, has_vector, bad | undecodable
    has_vector = column.is_valid().to_numpy(zero_copy_only=False)
    column = column.drop_null() if column.null_count else column
    if types.is_fixed_size_list(column.type):
        width = column.type.list_size
        flat = column.values.slice(column.offset * width, len(column) * width)
        offsets = width * int64_range(len(column) + 1)
    else:
        offsets = np.asarray(column.offsets.to_numpy(zero_copy_only=False), np.int64)
        flat = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        offsets = offsets - offsets[0]
    if not (types.is_floating(flat.type) or types.is_integer(flat.type)):
        return _all_bad(
            np.ones(len(column), np.bool_),
            f"vectors must be lists of numbers, not {column.type}",
        )
    holes = flat.is_null().to_numpy(zero_copy_only=False) if flat.null_count else None
    return _ragged(
        _floats(flat.to_numpy(zero_copy_only=False)),
        offsets,
        has_vector,
        dim,
        like,
        holes,
    )


def _ragged(
    numbers: AnyArray,
    offsets: Int64Array,
    has_vector: BoolArray,
    dim: int | None,
    like: str,
    holes: BoolArray | None,
) -> Read:
    """Return rows as an array; valid row i has numbers offsets[i] to offsets[i + 1]."""
    widths = np.diff(offsets)
    most = _most_coordinates(numbers)
    bad = dict[int, str]()
    if dim is None:
        dim = int(next(iter(widths[(widths >= 1) & (widths <= most)]), 0))
    other = widths != dim if dim else np.ones(len(widths), np.bool_)
    reasons = {
        int(place): _other_width(int(widths[place]), dim, most, like)
        for place in np.flatnonzero(other)
    }
    if holes is not None:
        marks = offsets_of(holes)
        for place in np.flatnonzero(marks[offsets[1:]] > marks[offsets[:-1]]).tolist():
            reasons.setdefault(place, "a coordinate is null")
    if not reasons:
        return numbers.reshape(len(widths), dim or 1), has_vector, bad
    rows = np.flatnonzero(has_vector)
    places = np.delete(int64_range(len(widths)), list(reasons))
    bad |= {int(rows[place]): reason for place, reason in reasons.items()}
    has_vector = has_vector.copy()
    has_vector[list(bad)] = False
    return (
        numbers[offsets[places][:, np.newaxis] + int64_range(dim)],
        has_vector,
        bad,
    )


def _most_coordinates(values: AnyArray) -> int:
    """Return the most coordinates of a vector, of which one word is for its length."""
    return (MOST_WORDS - 1) * 8 // values.itemsize


def _all_bad(has_item: BoolArray, reason: str) -> Read:
    """Return no values, and the reason for each row that is given."""
    return (
        np.empty((0, 1)),
        np.zeros(len(has_item), np.bool_),
        dict.fromkeys(np.flatnonzero(has_item).tolist(), reason),
    )


def _other_width(width: int, dim: int, most: int, like: str) -> str:
    if width == 0:
        return "the vector has no coordinates"
    if width > most:
        return f"the vector has {width} coordinates, more than {most}"
    return f"the vector has {width} coordinates, not {dim} {like}"


def _vectors_of_values(items: Iterable[Any], dim: int | None, like: str) -> Read:
    """Return vectors from Python values: lists or arrays of numbers, their JSON texts, or None."""
    rows = list[AnyArray]()
    has_vector = list[bool]()
    bad = dict[int, str]()
    for row, item in enumerate(decoded_lists(items)):
        has_vector.append(item is not None)
        if item is None:
            continue
        try:
            objects = isinstance(item, np.ndarray) and item.dtype.kind == "O"
            array = array_of(item.tolist() if objects else item, "a vector")
            if array.ndim != 1 or (len(array) and array.dtype.kind not in "iuf"):
                raise ValueError
        except (ValueError, TypeError, OverflowError, RecursionError):
            bad[row] = f"not a list of numbers: {shortened(item)}"
            has_vector[row] = False
        else:
            rows.append(array)
    wide = any(array.dtype.itemsize > 4 for array in rows if len(array))
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    numbers = np.concatenate(
        [np.empty(0, np.float64 if wide else np.float32), *map(_floats, rows)]
    )
    values, is_valid, width_faults = _ragged(
        numbers, offsets, np.array(has_vector, np.bool_), dim, like, None
    )
    return values, is_valid, bad | width_faults


def _floats(array: AnyArray) -> AnyArray:
    """Return numbers as float32 or float64."""
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)


# ---- codes ----


@dataclass
class _CodeForm:
    """The form that the first codes set for others.

    Attributes
    ----------
    words : int or None
        Words of a code, unless an index says it.
    like : str
        What has codes of this form, for errors.
    length : tuple, optional
        The type of a code, and its length if all codes must have it.
    has_decimal_texts : bool
        Whether texts are decimal numbers.
    decimal : DecimalDigits
        Whether codes that are read as hexadecimal may be decimal.
    """

    words: int | None
    like: str
    length: tuple[type, int] | None = None
    has_decimal_texts: bool = False
    decimal: DecimalDigits = field(default_factory=DecimalDigits)


def _codes(column: Any, form: _CodeForm) -> Read:
    """Return the codes of a column."""
    if isinstance(column, Texts):
        column = [
            column[row].decode("ascii", "replace") or None for row in range(len(column))
        ]
    has_code = None
    if hasattr(column, "buffers"):
        has_code = column.is_valid().to_numpy(zero_copy_only=False)
        array = _codes_of_arrow(column.drop_null() if column.null_count else column)
        if array is None:
            items, undecodable = python_values(column)
            words, has_code, bad = _codes_of_values(items, form)
            return words, has_code, bad | undecodable
        column = array
    if not isinstance(column, np.ndarray):
        return _codes_of_values(column, form)
    has_code = np.ones(len(column), np.bool_) if has_code is None else has_code
    return _codes_of_array(column, has_code, form)


def _codes_of_array(column: AnyArray, has_code: BoolArray, form: _CodeForm) -> Read:
    """Return the codes of an array of words, or of bytes of one length."""
    if column.ndim == 2 and column.dtype in (np.int8, np.uint8):
        length = bytes, column.shape[1]
        if not 1 <= column.shape[1] <= 8 * MAX_WORDS:
            return _all_bad(
                has_code,
                f"the code must be 1..{8 * MAX_WORDS} bytes, not {column.shape[1]}",
            )
        if form.length not in (None, length):
            reason = (
                f"the code must be {_form_of(form.length)} as the rows before, not "
                f"{_form_of(length)}"
            )
            return _all_bad(has_code, reason)
        form.length = length
    try:
        words = codes_of(column, None, decimal=form.decimal)
    except ValueError as error:
        if column.ndim != 2 or not len(column):
            raise
        return _all_bad(has_code, _fault_of_code(error))
    if form.words not in (None, words.shape[1]):
        return _all_bad(
            has_code,
            f"the code has {64 * words.shape[1]} bits, not {64 * (form.words or 0)} {form.like}",
        )
    form.words = words.shape[1]
    return words, has_code, {}


def _codes_of_arrow(column: Any) -> AnyArray | None:
    """Return a column of words, or of bytes of one length, without nulls, as an array, or None."""
    types = pa.types
    n = len(column)
    kind = column.type
    if not n:
        return None
    if types.is_uint64(kind) or types.is_int64(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_fixed_size_binary(kind):
        width = kind.byte_width
        data = np.frombuffer(column.buffers()[1], np.uint8)
        return data[column.offset * width : (column.offset + n) * width].reshape(
            n, width
        )
    lists = (
        types.is_fixed_size_list(kind)
        or types.is_list(kind)
        or types.is_large_list(kind)
    )
    if (
        lists
        and types.is_integer(kind.value_type)
        and kind.value_type.bit_width in (8, 64)
    ):
        width = _width_of_lists(column)
        flat = column.flatten()
        word = np.uint8 if kind.value_type.bit_width == 8 else np.uint64
        if width is not None and not flat.null_count:
            return np.asarray(
                flat.to_numpy(zero_copy_only=False).view(word).reshape(n, width)
            )
    return None


def _width_of_lists(column: Any) -> int | None:
    """Return the length of all lists of a column without nulls; None if they differ in length."""
    if pa.types.is_fixed_size_list(column.type):
        return int(column.type.list_size)
    widths = np.diff(column.offsets.to_numpy(zero_copy_only=False))
    return int(widths[0]) if (widths == widths[0]).all() else None


def _codes_of_values(items: Sequence[Any], form: _CodeForm) -> Read:
    """Return codes from Python values: hexadecimal texts, bytes, ints, lists of bytes, or None."""
    has_code = np.array(
        [not (item is None or (isinstance(item, str) and not item)) for item in items],
        np.bool_,
    )
    rows = np.flatnonzero(has_code)
    codes: list[Any] = [_bytes_of(items[row]) for row in rows.tolist()]
    if form.length is None:
        bits = None if form.words is None else 64 * form.words
        form.has_decimal_texts = are_decimal(codes, bits)
    if form.has_decimal_texts:
        codes = [decimal_number(code) for code in codes]
    length = _length_of(codes[0]) if codes else None
    words = None
    if codes and form.length in (None, length):
        with suppress(TypeError, ValueError, RecursionError):
            words = codes_of(codes, None, decimal=form.decimal)
    if words is not None and form.words in (None, words.shape[1]):
        form.words = words.shape[1]
        form.length = length
        return words, has_code, {}
    return _codes_one_by_one(codes, rows, has_code, form)


def _codes_one_by_one(
    codes: Sequence[Any], rows: Int64Array, has_code: BoolArray, form: _CodeForm
) -> Read:
    """Return codes of which some may be bad, or are ints with fewer words than the first ones."""
    code_words = list[UInt64Array]()
    bad = dict[int, str]()
    ints = _length_of(0)
    for row, code in zip(rows.tolist(), codes, strict=True):
        length = _length_of(code)
        try:
            word = codes_of([code], None, decimal=form.decimal)[0]
        except (TypeError, ValueError, RecursionError) as error:
            bad[row] = f"{_fault_of_code(error)}{_note_on_code(code)}"
            continue
        if form.length not in (None, length):
            bad[row] = (
                f"the code must be {_form_of(form.length)} as the rows before, not "
                f"{shortened(code)}{_note_on_code(code)}"
            )
        elif form.words is not None and (
            len(word) > form.words or (len(word) < form.words and length != ints)
        ):
            note = _note_on_code(code) if len(word) > form.words else ""
            bad[row] = (
                f"the code has {64 * len(word)} bits, not {64 * form.words} {form.like}: "
                f"{shortened(code)}{note}"
            )
        else:
            form.words = form.words or len(word)
            form.length = length
            code_words.append(word)
    words = np.zeros((len(code_words), form.words or 1), np.uint64)
    for place, word in enumerate(code_words):
        words[place, : len(word)] = word
    has_code = has_code.copy()
    has_code[list(bad)] = False
    return words, has_code, bad


def _fault_of_code(error: Exception) -> str:
    """Return the message of an error of `codes_of` for one code."""
    return (
        str(error)
        .replace("codes must", "a code must")
        .replace(", and row 0 is", ", not")
    )


def _note_on_code(code: Any) -> str:
    """Return how to give a text that is no code, if it shows that; or ""."""
    if isinstance(code, str) and "\n" in code.strip():
        return '; format="lines" (--format lines) reads one code a line'
    return note_on_decimal(code)


def _length_of(code: Any) -> tuple[type, int]:
    """Return the type of a code, and its length if all codes must have it."""
    if isinstance(code, str):
        return str, len(hex_digits(code))
    if isinstance(code, bytes):
        return bytes, len(code)
    return (int, 0) if isinstance(code, (int, np.integer)) else (type(code), 0)


def _form_of(length: tuple[type, int]) -> str:
    """Describe codes of this type and length."""
    kind, units = length
    return {
        str: f"{units} hexadecimal digits",
        bytes: f"{units} bytes",
        int: "an integer",
    }.get(kind, "an array")


def _bytes_of(item: Any) -> Any:
    """Return a list or an array of bytes, signed or not, as bytes; other codes unchanged."""
    if (
        isinstance(item, np.ndarray)
        and item.ndim == 1
        and item.dtype in (np.int8, np.uint8)
    ):
        return item.tobytes()
    if not isinstance(item, (list, tuple)) or not all(
        isinstance(part, (int, np.int8, np.uint8)) for part in item
    ):
        return item
    if all(0 <= part < 256 for part in item):
        return bytes(item)
    if all(-128 <= part < 128 for part in item):
        return bytes(int(part) % 256 for part in item)
    return item
