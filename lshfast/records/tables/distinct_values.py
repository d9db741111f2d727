"""The distinct values of columns as strings: one string for one value, however it is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from lshfast._common.arrow_columns import chunks_of, objects_of
from lshfast._common.extras import optional
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import Int64Array
from lshfast.kernels.pairs import codes_of_keys
from lshfast.kernels.text import Texts, tokens_of_texts

MISSING = -1  # the code of a missing value
NO_HASH = 2**64 - 1  # of a missing value
BETWEEN = ", "  # the values of a list
# Least part of the decimals of a column that end in .0, if these are whole numbers that were
# floats.
WHOLE = 0.95
SAMPLE = 1000  # values that are looked at first; if few end in .0, no others are
LISTS = (list, tuple, set, frozenset, np.ndarray)
# White space within the line: a value may have a million blank lines.
_WHOLE_LINE = re.compile(r"^[^\S\n]*-?\d+\.0[^\S\n]*$", re.MULTILINE)
_WHOLE_DECIMAL = re.compile(r"\s*(-?\d+)\.0\s*")
_DECIMAL = re.compile(r"\s*-?\d+\.\d+\s*")


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NA, an empty or blank string, or an empty list."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if isinstance(value, LISTS):
        return all(map(is_missing, value))
    try:
        return bool(value != value)  # NaN
    except TypeError:  # NA of pandas
        return True


def as_text(value: Any) -> str:
    """Return a value as a string; a missing one as an empty string.

    A whole number of any type is written as an integer, a moment at midnight as a date, and a list
    as the set of its values. A string is returned as it is.

    Raises
    ------
    TypeError
        If a value has parts with names, or is a list of lists.

    Examples
    --------
    >>> from decimal import Decimal
    >>> as_text(5644477053.0), as_text(Decimal("12.50")), as_text(["b", "a", "b"])
    ('5644477053', '12.5', 'a, b')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        raise TypeError(_unusable("a struct"))
    if is_missing(value):
        return ""
    if isinstance(value, LISTS):
        return _list_text(value)
    if isinstance(value, np.floating):
        value = float(str(value))
    elif isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    # Of integers with missing values.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, Decimal):
        is_whole = value == value.to_integral_value()
        return str(int(value)) if is_whole else format(value.normalize(), "f")
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return str(value)


def _list_text(values: Iterable[Any]) -> str:
    """Return the different values of a list, sorted: lists are sets of values."""
    texts = set[str]()
    for value in values:
        if isinstance(value, LISTS):
            raise TypeError(_unusable("a list of lists"))
        texts.add(as_text(value).strip())
    return BETWEEN.join(sorted(texts - {""}))


def _unusable(what: str) -> str:
    return (
        f"values must be strings, numbers or dates, not {what}; make a column of each of its "
        "parts, or leave the column out (ignore=, --ignore)"
    )


def encoded(
    parts: Iterable[Any], *, lists: bool = False
) -> tuple[list[Int64Array], list[Any]]:
    """Return the number of each value of several columns, and the values in order of occurrence.

    With `lists`, lists are strings; otherwise they are an error.
    """
    columns = list(parts)
    by_arrow = _encoded_by_arrow(columns)
    if by_arrow is not None:
        return by_arrow
    numbers: dict[Any, int] = {}
    codes = []
    for column in columns:
        values = objects_of(column, "a column")
        if lists:
            values = list(map(_hashable, values))
        numbered = (
            MISSING if is_missing(value) else numbers.setdefault(value, len(numbers))
            for value in values
        )
        try:
            codes.append(np.fromiter(numbered, np.int64, len(values)))
        except TypeError:
            unhashable = [value for value in values if not isinstance(value, Hashable)]
            kinds = {type(value).__name__ for value in unhashable} or {"arrays"}
            raise TypeError(
                f"values must be strings, numbers or dates, not {', '.join(sorted(kinds))}"
            ) from None
    return codes, [*numbers]


def _hashable(value: Any) -> Any:
    """Return a list, which has no hash, as a string, and other values as they are."""
    return as_text(value) if isinstance(value, (*LISTS, Mapping)) else value


def _encoded_by_arrow(columns: list[Any]) -> tuple[list[Int64Array], list[Any]] | None:
    """Do the same by pyarrow, ten times as fast; None without it or for values of several types."""
    try:
        pa = optional("pyarrow")
    except ImportError:
        return None
    try:
        joined_columns = _joined(pa, [_arrow_array(pa, column) for column in columns])
        if joined_columns is None:
            return None
        is_text = pa.types.is_large_string(joined_columns.type)
        coded = None if is_text else _dictionary(joined_columns)
    except (pa.ArrowException, TypeError, OverflowError, ValueError):
        return None
    codes, values = (
        coded or _encoded_texts(joined_columns) or _dictionary(joined_columns)
    )
    ends = np.cumsum(list(map(len, columns)), dtype=np.int64)
    return np.split(codes, ends[:-1]), values


def _joined(pa: Any, arrays: Sequence[Any]) -> Any:
    """Return arrays of pyarrow as one chunked array; None for several types, or nested ones."""
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) > 1 or any(map(pa.types.is_nested, kinds)):
        return None
    kind = kinds.pop() if kinds else pa.large_string()
    chunks = [chunk for array in arrays for chunk in chunks_of(array.cast(kind))]
    return pa.chunked_array(chunks, kind)


def _arrow_array(pa: Any, column: Any) -> Any:
    """Return a column as an array of pyarrow, strings as large strings."""
    array = column
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        array = pa.array(column, from_pandas=True)
    is_text = pa.types.is_string(array.type) or str(array.type) == "string_view"
    return array.cast(pa.large_string()) if is_text else array


def _dictionary(column: Any) -> tuple[Int64Array, list[Any]]:
    """Return the codes and the distinct values of a chunked array of pyarrow; NaN is missing."""
    encoded = column.dictionary_encode().combine_chunks()
    encoded = encoded.combine_chunks() if hasattr(encoded, "chunks") else encoded
    codes = encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
    codes = codes.astype(np.int64)
    values = encoded.dictionary.to_pylist()
    nan = [code for code, value in enumerate(values) if value != value]
    if nan:
        codes[np.isin(codes, nan)] = MISSING
    return codes, values


def _encoded_texts(column: Any) -> tuple[Int64Array, list[str]] | None:
    """Do the same for strings by hashes under a secret key, up to twice as fast.

    None if two different ones have the same hash, which is improbable.
    """
    texts = Texts(column)
    hashes = tokens_of_texts(texts, draw_hash_key())
    if column.null_count:
        hashes[column.is_null().to_numpy()] = NO_HASH
    codes, _, firsts = codes_of_keys(hashes, hashes[:0], NO_HASH)
    rows = np.flatnonzero(codes >= 0)
    if len(rows) + column.null_count < len(codes):
        return None
    if not texts.equal(firsts[codes[rows]], rows).all():
        return None
    return codes, column.take(firsts).to_pylist()


def distinct_texts(
    columns: Iterable[Any],
    rewrite: Callable[[Sequence[str]], list[str]] | None = None,
    are_whole: bool | None = None,
) -> tuple[list[Int64Array], list[str]]:
    """Return the number of each value of several columns, and the different strings of the values.

    A whole number is one string, whether it is an integer, a float or a string of either, as in a
    file that a library wrote from floats. So are a list and a string of JSON with the same values.
    A number is -1 for None, NaN and NA. Strings may be empty.

    Parameters
    ----------
    columns : iterable of columns
    rewrite : callable, optional
        Applied to the strings.
    are_whole : bool, optional
        Whether decimals that end in .0 are whole numbers; by default, those of a column are if
        nearly all its decimals end so.

    Examples
    --------
    >>> codes, texts = distinct_texts([["5644477053", 7], [5644477053.0, "7.0"]])
    >>> [part.tolist() for part in codes], texts
    ([[0, 1], [0, 1]], ['5644477053', '7'])
    """
    codes, values = encoded(columns, lists=True)
    are_strings = set(map(type, values)) <= {str}
    texts = values if are_strings else list(map(as_text, values))
    lines = "\n".join(texts)
    if "[" in lines:
        texts = list(map(_text_of_json, texts))
    if rewrite is not None:
        texts = rewrite(texts)
    sides = [texts] * len(codes)
    if are_whole is not False and _WHOLE_LINE.search(lines):
        sides = [_without_zeros(texts, part, bool(are_whole)) for part in codes]
    if all(side is values for side in sides):  # all different
        return codes, values
    return _merged(codes, sides)


def _text_of_json(text: str) -> str:
    """Return a list in JSON as text; other strings as they are."""
    if not text.lstrip().startswith("["):
        return text
    try:
        return _list_text(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return text


def has_whole_decimals(
    column: Any, rewrite: Callable[[Sequence[str]], list[str]] | None = None
) -> bool:
    """Return whether the decimals of a column that end in .0 are whole numbers."""
    (codes,), texts = distinct_texts([column], rewrite, False)
    return _without_zeros(texts, codes) is not texts


def _without_zeros(
    texts: list[str], codes: Int64Array, are_whole: bool = False
) -> list[str]:
    """Return strings without the .0 of whole numbers, if nearly all decimals end so.

    With `are_whole`, it is known that they are whole numbers.
    """
    places = _used(codes, len(texts)).tolist()
    for sample in (places[:SAMPLE], places):
        decimals = [place for place in sample if _DECIMAL.fullmatch(texts[place])]
        integers = [
            place for place in decimals if _WHOLE_DECIMAL.fullmatch(texts[place])
        ]
        if not are_whole and len(integers) < WHOLE * len(decimals):
            return texts
    shortened = list(texts)
    for place in integers:
        shortened[place] = _WHOLE_DECIMAL.sub(r"\1", texts[place])
    return shortened if integers else texts


def _used(codes: Int64Array, size: int) -> Int64Array:
    """Return the numbers that occur among codes below `size`."""
    return np.flatnonzero(np.bincount(codes + 1, minlength=size + 1)[1:])


def _merged(
    codes: Sequence[Int64Array], sides: Sequence[Sequence[str]]
) -> tuple[list[Int64Array], list[str]]:
    """Number the different strings of several columns, of which some codes have equal ones."""
    numbers: dict[str, int] = {}
    new_codes = []
    for table_codes, texts in zip(codes, sides, strict=True):
        places = _used(table_codes, len(texts))
        # The last one is that of missing values.
        number_of = np.full(len(texts) + 1, MISSING, np.int64)
        number_of[places] = [
            numbers.setdefault(texts[place], len(numbers)) for place in places.tolist()
        ]
        new_codes.append(number_of[table_codes])
    return new_codes, [*numbers]
