"""Codes in the forms that users have, as packed bits: words, numbers, bytes, strings, booleans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.checks import array_of
from lshfast._common.decimal_codes import (
    DecimalDigits,
    are_decimal,
    decimal_number,
    note_on_decimal,
    warn_of_decimal_codes,
)
from lshfast._common.hex_codes import hex_digits
from lshfast._common.types import AnyArray, BoolArray, UInt8Array, UInt64Array
from lshfast._common.visible import shortened
from lshfast.kernels.hamming import MAX_WORDS

Bytes: TypeAlias = UInt8Array

FORMS = "uint64, int64, booleans, bytes, hexadecimal strings or ints"


def codes_of(
    codes: Any,
    bits: int | None,
    name: str = "codes",
    decimal: DecimalDigits | None = None,
) -> UInt64Array:
    """Return codes as words, (n, words), or one code as (words,); errors name the argument.

    Warn if all of them are texts of decimal digits, or add them to `decimal`.

    Bit i of a code is bit i % 64 of word i // 64, the lowest first. Strings, bytes and booleans are
    numbers that begin with the highest bit; a string may begin with 0x or the name of a hash of
    images, as in ``"pdq f8f8..."``. So ``"0f"``, ``b"\\x0f"``, ``15`` and ``[0, 0, 0, 0, 1, 1, 1,
    1]`` as booleans are one code. Strings are decimal numbers if `are_decimal` says so.

    Parameters
    ----------
    codes : array_like
        Words: uint64, or int64 of the same bits, shape (n, words) or (words,); for codes of one
        word also (n,), where shape (1,) is one code alone unless `bits` is None. Booleans, shape
        (n, ...) or (...), where all axes after the first are one code. Bytes, uint8, shape (n,
        bytes) or (bytes,), or int8 of the same bits, shape (n, bytes). Or ints, bytes objects or
        hexadecimal strings, one for each code: one alone, a list, or a column of numpy, pandas,
        polars or pyarrow.
    bits : int or None
        Bits of a code; higher bits must be zeros. If None, codes have as many words as they need,
        up to MAX_WORDS, an array of one dimension is codes of one word, and one code alone is an
        error.
    name : str
        Name of the argument in errors.
    decimal : DecimalDigits, optional
        The digits of codes in several batches; then the caller warns of them.

    Raises
    ------
    TypeError
        If the codes have another type.
    ValueError
        If they have a wrong shape or length, digits that are not hexadecimal, or bits beyond
        `bits`.

    Examples
    --------
    >>> codes_of(["000000000000000f", "00000000000000ff"], 64).tolist()
    [[15], [255]]
    >>> codes_of([[True, False, True]], None).tolist()
    [[5]]
    """
    single = _is_number(codes)
    if single and bits is None:
        raise TypeError(
            f"{name} must be a list or a column of codes, not one {type(codes).__name__}"
        )
    items = _array_or_numbers(codes, bits, name)
    if isinstance(items, np.ndarray):
        words = _words_of_array(items, bits, name)
    else:
        digits = DecimalDigits() if decimal is None else decimal
        if are_decimal(items, bits):
            items = [decimal_number(item) for item in items]
        digits.add(items)
        if items and isinstance(items[0], str):
            items = [
                hex_digits(item) if isinstance(item, str) else item for item in items
            ]
        words = _words_of_numbers(items, bits, name)
        if decimal is None:
            warn_of_decimal_codes(digits.advice)
    if bits is not None and bits % 64:
        _refuse_high_bits(words, bits, name)
    return np.ascontiguousarray(words[0] if single else words)


def _array_or_numbers(
    codes: Any, bits: int | None, name: str
) -> AnyArray | Sequence[Any]:
    """Return codes as an array, or as a sequence of strings, bytes or ints."""
    items: Any = codes
    if isinstance(codes, np.integer):
        items = np.array([codes], codes.dtype)
    elif _is_number(codes):
        items = [codes]
    if isinstance(items, (list, tuple)) and _is_number(items[0] if items else 0):
        return items
    array = array_of(items, name)
    is_column = not isinstance(codes, (list, tuple, np.ndarray))
    has_objects = array.dtype.kind in "OU"
    has_numbers = has_objects or (is_column and array.dtype.kind in "iu")
    if array.ndim != 1 or not has_numbers:
        return array
    if array.dtype == np.int64 and bits in (None, 64):
        array = array.view(np.uint64)  # as databases hold codes of 64 bits
    numbers: list[Any] = array.tolist()
    return numbers


def _refuse_high_bits(words: UInt64Array, bits: int, name: str) -> None:
    """Raise an error if the last word of a code has a bit from `bits` on."""
    has_high_bits = words[..., -1] >> np.uint64(bits % 64) != 0
    if has_high_bits.any():
        row = int(np.argmax(has_high_bits))
        raise ValueError(
            f"{name} must have zeros in bit {bits} and above, but row {row} has not"
        )


def _is_number(item: Any) -> bool:
    return isinstance(item, (str, bytes, int, np.integer)) and not isinstance(
        item, bool
    )


def _words_of_array(array: AnyArray, bits: int | None, name: str) -> UInt64Array:
    if array.dtype == bool:
        return _words_of_booleans(array, bits, name)
    if array.dtype.kind == "S" and array.ndim == 1:
        octets = np.ascontiguousarray(array).view(np.uint8)
        array = octets.reshape(len(array), array.dtype.itemsize)
    if array.dtype == np.int8 and array.ndim == 2:
        array = np.ascontiguousarray(array).view(np.uint8)
    if array.dtype == np.uint8:
        return _words_of_bytes(array, bits, name)
    return _words_of_integers(array, bits, name)


def _words_of_integers(array: AnyArray, bits: int | None, name: str) -> UInt64Array:
    """Return integers as words: rows of words, or one word for each code."""
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be {FORMS}, not {array.dtype}")
    may_be_negative = array.dtype.kind == "i" and array.dtype.itemsize < 8
    if may_be_negative and (array < 0).any():
        raise ValueError(
            f"{name} must not be negative, as {array[array < 0][0]} is, unless they are int64"
        )
    array = array.astype(np.uint64, copy=False)
    one_word_each = bits is None or bits <= 64
    if array.ndim == 1 and one_word_each and (bits is None or len(array) != 1):
        array = array.reshape(-1, 1)
    words = array.shape[-1] if array.ndim else 0
    if bits is None:
        has_shape = 1 <= words <= MAX_WORDS
        rows_shape = f"(n, words) with 1..{MAX_WORDS} words"
    else:
        needed_words = -(-bits // 64)
        has_shape = words == needed_words
        rows_shape = f"(n, {needed_words})"
    if array.ndim not in (1, 2) or not has_shape:
        row_shape = (
            "(n,) with a word for each code" if one_word_each else f"({needed_words},)"
        )
        raise ValueError(
            f"{name} must have shape {rows_shape} or {row_shape}, not {array.shape}"
        )
    code_words: UInt64Array = np.asarray(array)
    return code_words


def _words_of_booleans(array: BoolArray, bits: int | None, name: str) -> UInt64Array:
    row_bits = int(np.prod(array.shape[1:]))
    if bits is not None and array.size == bits != row_bits:
        return np.asarray(_words_of_booleans(array.reshape(1, -1), bits, name)[0])
    if bits is None:
        has_shape = 1 <= row_bits <= 64 * MAX_WORDS
        allowed = f"(n, ...) with 1..{64 * MAX_WORDS} bits"
    else:
        has_shape = row_bits == bits
        allowed = f"(n, {bits}), or {bits} in all"
    if array.ndim < 2 or not has_shape:
        raise ValueError(
            f"booleans in {name} must have shape {allowed}, not {array.shape}"
        )
    rows = np.zeros((len(array), -(-row_bits // 8) * 8), np.bool_)
    rows[:, rows.shape[1] - row_bits :] = array.reshape(len(array), row_bits)
    return _words_of_bytes(np.packbits(rows, axis=1), bits, name)


def _words_of_bytes(array: Bytes, bits: int | None, name: str) -> UInt64Array:
    """Return numbers, the highest byte first, as words."""
    row_bytes = array.shape[-1] if array.ndim else 0
    needed_bytes = row_bytes if bits is None else -(-bits // 8)
    if array.ndim == 1 and bits is not None and row_bytes == needed_bytes:
        return np.asarray(_words_of_bytes(array.reshape(1, -1), bits, name)[0])
    if bits is None:
        has_shape = 1 <= row_bytes <= 8 * MAX_WORDS
        allowed = f"1..{8 * MAX_WORDS} bytes"
    else:
        has_shape = row_bytes == needed_bytes
        allowed = f"{needed_bytes} bytes, for {bits} bits"
    if array.ndim != 2 or not has_shape:
        raise ValueError(
            f"{name} must be codes of {allowed}, not bytes of shape {array.shape}"
        )
    padded = np.zeros((len(array), -(-row_bytes // 8) * 8), np.uint8)
    padded[:, :row_bytes] = array[:, ::-1]
    return padded.view("<u8").astype(np.uint64, copy=False)


def _words_of_numbers(
    numbers: Sequence[Any], bits: int | None, name: str
) -> UInt64Array:
    """Return hexadecimal strings, bytes or ints, all of one type, as words."""
    kinds: tuple[Any, ...] = str, bytes, (int, np.integer)
    kind = next(
        (kind for kind in kinds if numbers and isinstance(numbers[0], kind)), kinds[-1]
    )
    for row, number in enumerate(numbers):
        if not isinstance(number, kind) or isinstance(number, bool):
            allowed = "of one type" if row else FORMS
            raise TypeError(
                f"{name} must be {allowed}, and row {row} is a {type(number).__name__}: {number!r}"
            )
    if kind is kinds[-1]:
        return _words_of_ints([int(number) for number in numbers], bits, name)
    length = len(numbers[0])
    for row, number in enumerate(numbers):
        if len(number) != length:
            raise ValueError(
                f"{name} must be of one length, {length} as row 0, and row {row} is "
                f"{shortened(number)}{note_on_decimal(number)}"
            )
    if kind is bytes:
        octets = np.frombuffer(b"".join(numbers), np.uint8).reshape(
            len(numbers), length
        )
        return _words_of_bytes(octets, bits, name)
    return _words_of_hexadecimal(numbers, bits, name)


def _words_of_hexadecimal(
    numbers: Sequence[str], bits: int | None, name: str
) -> UInt64Array:
    """Return hexadecimal strings of one length as words."""
    digits = len(numbers[0])
    if bits is not None and digits != -(-bits // 4):
        raise ValueError(
            f"{name} must have {-(-bits // 4)} hexadecimal digits, for {bits} bits, and row 0 is "
            f"{numbers[0]!r}"
        )
    lead = "0" * (digits % 2)
    try:
        packed = bytes.fromhex("".join(lead + number for number in numbers))
    except ValueError:
        packed = b""
    row_bytes = (digits + 1) // 2
    if len(packed) != row_bytes * len(numbers):  # fromhex ignores white space
        allowed = set("0123456789abcdefABCDEF")
        row = next(row for row, number in enumerate(numbers) if set(number) - allowed)
        raise ValueError(
            f"{name} must be hexadecimal digits, and row {row} is {shortened(numbers[row])}"
        )
    octets = np.frombuffer(packed, np.uint8).reshape(len(numbers), row_bytes)
    return _words_of_bytes(octets, None if bits is None else 8 * row_bytes, name)


def _words_of_ints(numbers: Sequence[int], bits: int | None, name: str) -> UInt64Array:
    most_bits = 64 * MAX_WORDS if bits is None else bits
    width = max((number.bit_length() for number in numbers), default=0)
    if width > most_bits or min(numbers, default=0) < 0:
        row = next(
            row
            for row, number in enumerate(numbers)
            if number < 0 or number.bit_length() > most_bits
        )
        number = numbers[row]
        is_short = abs(number) < 1 << 80
        description = (
            f"{number}" if is_short else f"a number of {number.bit_length()} bits"
        )
        raise ValueError(
            f"{name} must be in 0..2**{most_bits} - 1, and row {row} is {description}"
        )
    words = max(1, -(-(width if bits is None else bits) // 64))
    packed = b"".join(number.to_bytes(8 * words, "little") for number in numbers)
    return np.frombuffer(packed, "<u8").astype(np.uint64).reshape(len(numbers), words)


def batch_of_codes(codes: Any, bits: int, name: str = "items") -> UInt64Array:
    """Return codes as words, (n, words), as `codes_of` does; one code is n = 1."""
    return codes_of(codes, bits, name).reshape(-1, -(-bits // 64))
