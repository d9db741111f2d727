"""Codes in the forms that users have, as packed bits: words, numbers, bytes, hexadecimal strings,
booleans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of
from lshfast._common.decimal_codes import DecimalDigits, warn_of_decimal_codes
from lshfast._common.types import UInt64Array
from lshfast.kernels.hamming import MAX_WORDS

Bytes: TypeAlias = npt.NDArray[np.uint8]

FORMS = "uint64, int64, booleans, bytes, hexadecimal strings or ints"


def codes_of(
    codes: Any, bits: int | None, name: str = "codes", decimal: DecimalDigits | None = None
) -> UInt64Array:
    """Return codes as words, (n, words), or one code as (words,), or raise an error that names the
    argument.

    Warn if all of them are texts of decimal digits, or add them to `decimal`.

    Bit i of a code is bit i % 64 of word i // 64, the lowest first. Strings, bytes and booleans are
    numbers that begin with the highest bit. So ``"0f"``, ``b"\\x0f"``, ``15`` and ``[0, 0, 0, 0, 1,
    1, 1, 1]`` as booleans are one code.

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
        What the reader of codes in several batches knows of their digits, and warns of itself.

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
    given: Any = (
        np.array([codes], codes.dtype)
        if isinstance(codes, np.integer)
        else [codes]
        if single
        else codes
    )
    if not isinstance(given, (list, tuple)) or not _is_number(given[0] if given else 0):
        column = not isinstance(codes, (list, tuple, np.ndarray))
        given = array_of(given, name)
        if given.ndim == 1 and (given.dtype.kind in "OU" or (column and given.dtype.kind in "iu")):
            if given.dtype == np.int64 and (bits is None or bits == 64):
                given = given.view(np.uint64)  # as databases hold codes of 64 bits
            given = given.tolist()
    if isinstance(given, np.ndarray):
        words = _words_of_array(given, bits, name)
    else:
        words = _words_of_numbers(given, bits, name)
        digits = DecimalDigits() if decimal is None else decimal
        digits.add(given)
        if decimal is None:
            warn_of_decimal_codes(digits.advice)
    if bits is not None and bits % 64:
        beyond = words[..., -1] >> np.uint64(bits % 64) != 0
        if beyond.any():
            row = int(np.argmax(beyond))
            raise ValueError(
                f"{name} must have zeros in bit {bits} and above, but row {row} has not"
            )
    return np.ascontiguousarray(words[0] if single else words)


def _is_number(item: Any) -> bool:
    return isinstance(item, (str, bytes, int, np.integer)) and not isinstance(item, bool)


def _words_of_array(array: npt.NDArray[Any], bits: int | None, name: str) -> UInt64Array:
    if array.dtype == bool:
        return _words_of_booleans(array, bits, name)
    if array.dtype.kind == "S" and array.ndim == 1:
        array = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.dtype.itemsize)
    if array.dtype == np.int8 and array.ndim == 2:
        array = np.ascontiguousarray(array).view(np.uint8)
    if array.dtype == np.uint8:
        return _words_of_bytes(array, bits, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be {FORMS}, not {array.dtype}")
    if array.dtype.kind == "i" and array.dtype.itemsize < 8 and (array < 0).any():
        raise ValueError(
            f"{name} must not be negative, as {array[array < 0][0]} is, unless they are int64"
        )
    array = array.astype(np.uint64, copy=False)
    one_word_each = bits is None or bits <= 64
    if array.ndim == 1 and one_word_each and (bits is None or len(array) != 1):
        array = array.reshape(-1, 1)
    words = array.shape[-1] if array.ndim else 0
    wanted = words if bits is None else -(-bits // 64)
    if (
        array.ndim not in (1, 2)
        or words != wanted
        or (bits is None and not 1 <= words <= MAX_WORDS)
    ):
        in_rows = f"(n, {wanted})" if bits is not None else f"(n, words) with 1..{MAX_WORDS} words"
        in_a_row = "(n,) with a word for each code" if one_word_each else f"({wanted},)"
        raise ValueError(f"{name} must have shape {in_rows} or {in_a_row}, not {array.shape}")
    words_of: UInt64Array = np.asarray(array)
    return words_of


def _words_of_booleans(array: npt.NDArray[np.bool_], bits: int | None, name: str) -> UInt64Array:
    each = int(np.prod(array.shape[1:]))
    if bits is not None and array.size == bits != each:
        return np.asarray(_words_of_booleans(array.reshape(1, -1), bits, name)[0])
    if (
        array.ndim < 2
        or each != (bits or each)
        or (bits is None and not 1 <= each <= 64 * MAX_WORDS)
    ):
        allowed = (
            f"(n, ...) with 1..{64 * MAX_WORDS} bits"
            if bits is None
            else f"(n, {bits}), or {bits} in all"
        )
        raise ValueError(f"booleans in {name} must have shape {allowed}, not {array.shape}")
    rows = np.zeros((len(array), -(-each // 8) * 8), np.bool_)
    rows[:, rows.shape[1] - each :] = array.reshape(len(array), each)
    return _words_of_bytes(np.packbits(rows, axis=1), bits, name)


def _words_of_bytes(array: Bytes, bits: int | None, name: str) -> UInt64Array:
    """Return numbers, the highest byte first, as words."""
    each = array.shape[-1] if array.ndim else 0
    wanted = each if bits is None else -(-bits // 8)
    if array.ndim == 1 and bits is not None and each == wanted:
        return np.asarray(_words_of_bytes(array.reshape(1, -1), bits, name)[0])
    if array.ndim != 2 or each != wanted or (bits is None and not 1 <= each <= 8 * MAX_WORDS):
        allowed = (
            f"1..{8 * MAX_WORDS} bytes" if bits is None else f"{wanted} bytes, for {bits} bits"
        )
        raise ValueError(f"{name} must be codes of {allowed}, not bytes of shape {array.shape}")
    padded = np.zeros((len(array), -(-each // 8) * 8), np.uint8)
    padded[:, :each] = array[:, ::-1]
    return padded.view("<u8").astype(np.uint64, copy=False)


def _words_of_numbers(numbers: Sequence[Any], bits: int | None, name: str) -> UInt64Array:
    """Return hexadecimal strings, bytes or ints, all of one type, as words."""
    kinds: tuple[Any, ...] = str, bytes, (int, np.integer)
    kind = next((kind for kind in kinds if numbers and isinstance(numbers[0], kind)), kinds[-1])
    for row, number in enumerate(numbers):
        if not isinstance(number, kind) or isinstance(number, bool):
            if row:
                raise TypeError(
                    f"{name} must be of one type, and row {row} is a {type(number).__name__}: "
                    f"{number!r}"
                )
            raise TypeError(
                f"{name} must be {FORMS}, and row 0 is a {type(number).__name__}: {number!r}"
            )
    if kind is kinds[-1]:
        return _words_of_ints([int(number) for number in numbers], bits, name)
    digits = len(numbers[0])
    for row, number in enumerate(numbers):
        if len(number) != digits:
            raise ValueError(
                f"{name} must be of one length, {digits} as row 0, and row {row} is {number!r}"
            )
    if kind is bytes:
        return _words_of_bytes(
            np.frombuffer(b"".join(numbers), np.uint8).reshape(len(numbers), digits), bits, name
        )
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
    each = (digits + 1) // 2
    if len(packed) != each * len(numbers):  # fromhex ignores white space
        row = next(
            row for row, number in enumerate(numbers) if set(number) - set("0123456789abcdefABCDEF")
        )
        raise ValueError(f"{name} must be hexadecimal digits, and row {row} is {numbers[row]!r}")
    array = np.frombuffer(packed, np.uint8).reshape(len(numbers), each)
    return _words_of_bytes(array, None if bits is None else 8 * each, name)


def _words_of_ints(numbers: Sequence[int], bits: int | None, name: str) -> UInt64Array:
    most = 64 * MAX_WORDS if bits is None else bits
    width = max((number.bit_length() for number in numbers), default=0)
    if width > most or min(numbers, default=0) < 0:
        row = next(
            row for row, number in enumerate(numbers) if number < 0 or number.bit_length() > most
        )
        shown = (
            f"{numbers[row]}"
            if abs(numbers[row]) < 1 << 80
            else f"a number of {numbers[row].bit_length()} bits"
        )
        raise ValueError(f"{name} must be in 0..2**{most} - 1, and row {row} is {shown}")
    words = max(1, -(-(width if bits is None else bits) // 64))
    packed = b"".join(number.to_bytes(8 * words, "little") for number in numbers)
    return np.frombuffer(packed, "<u8").astype(np.uint64).reshape(len(numbers), words)


def batch_of_codes(codes: Any, bits: int, name: str = "items") -> UInt64Array:
    """Return codes as words, (n, words), in the forms and with the errors of `codes_of`; one code
    is n = 1.
    """
    return codes_of(codes, bits, name).reshape(-1, -(-bits // 64))
