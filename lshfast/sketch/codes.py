"""Codes: packed bits whose Hamming distance estimates an angle."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import numbers_of
from lshfast._common.types import (
    AnyArray,
    AnyShape,
    BoolArray,
    Float64Array,
    Int32Array,
    Int64Array,
    UInt64Array,
    Vector,
)
from lshfast.kernels import simhash as kernels
from lshfast.sketch.arrays import checked
from lshfast.sketch.compare import compared

Zero: TypeAlias = Literal["minus", "plus", "random"]
ZEROS = ("minus", "plus", "random")

EMPTY = np.uint64(2**64 - 1)
INT64 = np.iinfo(np.int64)

# Tokens or coordinates in one piece of work.
PIECE_TOKENS = 1 << 19


class CodeSketcher:
    """Base class of sketchers of codes of `bits` bits in uint64 words, the lowest bit first."""

    bits: int
    not_for_bands: ClassVar[str] = (
        "the words of codes are not slots; name their family, such as "
        "LSHIndex(family=SimHashFamily(), bands=8, rows_per_band=8)"
    )

    @property
    def words(self) -> int:
        """64-bit words per code."""
        return -(-self.bits // 64)

    @overload
    def is_empty(self, codes: AnyShape[np.uint64]) -> Any: ...
    @overload
    def is_empty(self, codes: Vector[np.uint64]) -> np.bool_: ...
    @overload
    def is_empty(self, codes: npt.ArrayLike) -> BoolArray: ...
    def is_empty(self, codes: npt.ArrayLike) -> np.bool_ | BoolArray:
        """Return whether each code is all ones, as for empty sets and vectors of zeros.

        Parameters
        ----------
        codes : array_like of uint64, shape (..., words)

        Returns
        -------
        bool or ndarray of bool, shape (...)

        Raises
        ------
        TypeError
            If the codes are not uint64.
        ValueError
            If they have a different number of words, or a different sketcher made them.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> hasher.is_empty(hasher.sketch(TokenSets.from_sets([["a"], []]))).tolist()
        [False, True]
        """
        empty: BoolArray = np.asarray(
            (self._codes(codes, "codes") == EMPTY).all(axis=-1)
        )[()]
        return empty

    @overload
    def distance(self, a: AnyShape[np.uint64], b: npt.ArrayLike) -> Any: ...
    @overload
    def distance(self, a: npt.ArrayLike, b: AnyShape[np.uint64]) -> Any: ...
    @overload
    def distance(self, a: Vector[np.uint64], b: Vector[np.uint64]) -> np.int64: ...
    @overload
    def distance(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Int64Array: ...
    def distance(self, a: npt.ArrayLike, b: npt.ArrayLike) -> np.int64 | Int64Array:
        """Compute the Hamming distance of codes, row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., words)
            Codes. Their leading dimensions are broadcast.

        Returns
        -------
        int64 or ndarray of int64, shape (...)
            In 0..bits. It is bits + 1, more than for any two codes, if either is empty.

        Raises
        ------
        TypeError
            If the codes are not uint64.
        ValueError
            If they have a different number of words, their numbers of rows do not match, or a
            different sketcher made them.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> codes = hasher.sketch(TokenSets.from_sets([["a"], ["a"], []]))
        >>> hasher.distance(codes[0], codes).tolist()
        [0, 0, 65]
        """
        a = self._codes(a, "a")
        b = self._codes(b, "b")

        def kernel(one: UInt64Array, rows: UInt64Array, distances: Int32Array) -> None:
            kernels.distances(one, rows, self.bits, distances)

        return np.asarray(compared(kernel, a, b, 1)[0], np.int64)[()]

    @overload
    def similarity(self, a: AnyShape[np.uint64], b: npt.ArrayLike) -> Any: ...
    @overload
    def similarity(self, a: npt.ArrayLike, b: AnyShape[np.uint64]) -> Any: ...
    @overload
    def similarity(self, a: Vector[np.uint64], b: Vector[np.uint64]) -> np.float64: ...
    @overload
    def similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array: ...
    def similarity(
        self, a: npt.ArrayLike, b: npt.ArrayLike
    ) -> np.float64 | Float64Array:
        """Compute the share of equal bits, an estimate of 1 - angle / pi, row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., words)
            Codes, as for `distance`.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [0, 1]; 0 if either is empty. The standard error is `similarity_error`.

        Raises
        ------
        TypeError, ValueError
            As for `distance`.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> codes = hasher.sketch(TokenSets.from_sets([["a"], ["a"], []]))
        >>> hasher.similarity(codes[0], codes).tolist()
        [1.0, 1.0, 0.0]
        """
        return np.asarray(np.maximum(1 - self.distance(a, b) / self.bits, 0.0))[()]

    @overload
    def angle(self, a: AnyShape[np.uint64], b: npt.ArrayLike) -> Any: ...
    @overload
    def angle(self, a: npt.ArrayLike, b: AnyShape[np.uint64]) -> Any: ...
    @overload
    def angle(self, a: Vector[np.uint64], b: Vector[np.uint64]) -> np.float64: ...
    @overload
    def angle(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array: ...
    def angle(self, a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
        """Estimate the angle in radians by pi distance / bits, row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., words)
            Codes, as for `distance`.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [0, pi]; NaN if either is empty.

        Raises
        ------
        TypeError, ValueError
            As for `distance`.

        Examples
        --------
        >>> from lshfast.sketch import SignSketcher
        >>> sketcher = SignSketcher.of_vectors([[1, 1], [1, -1]])
        >>> float(sketcher.angle(*sketcher.sketch([[2, 1], [1, 2]])).round(4))
        1.5708
        """
        distance = self.distance(a, b)
        return np.asarray(
            np.where(distance > self.bits, np.nan, np.pi * distance / self.bits)
        )[()]

    @overload
    def cosine(self, a: AnyShape[np.uint64], b: npt.ArrayLike) -> Any: ...
    @overload
    def cosine(self, a: npt.ArrayLike, b: AnyShape[np.uint64]) -> Any: ...
    @overload
    def cosine(self, a: Vector[np.uint64], b: Vector[np.uint64]) -> np.float64: ...
    @overload
    def cosine(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array: ...
    def cosine(self, a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
        """Estimate the cosine of the angle by cos(pi distance / bits), row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., words)
            Codes, as for `distance`.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [-1, 1]; 0 if either is empty. The standard error is about `cosine_error`.

        Raises
        ------
        TypeError, ValueError
            As for `distance`.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> codes = hasher.sketch(TokenSets.from_sets([["a"], ["a"], []]))
        >>> hasher.cosine(codes[0], codes).tolist()
        [1.0, 1.0, 0.0]
        """
        return np.asarray(np.nan_to_num(np.cos(self.angle(a, b)), nan=0.0))[()]

    @overload
    def similarity_error(self, similarity: float) -> np.float64: ...
    @overload
    def similarity_error(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def similarity_error(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the standard error of `similarity`, sqrt(s (1 - s) / bits).

        Parameters
        ----------
        similarity : array_like of float
            True similarities s = 1 - angle / pi, in [0, 1].

        Returns
        -------
        float64, or ndarray of float64 with the shape of `similarity`

        Raises
        ------
        TypeError, ValueError
            If a similarity is not a number, or out of range.

        Examples
        --------
        >>> from lshfast import SimHasher
        >>> float(SimHasher(64).similarity_error(0.5))
        0.0625
        """
        s = numbers_of(similarity, "similarity", 0, 1)
        return np.asarray(np.sqrt(s * (1 - s) / self.bits))[()]

    @overload
    def cosine_error(self, cosine: float) -> np.float64: ...
    @overload
    def cosine_error(self, cosine: npt.ArrayLike) -> Float64Array: ...
    def cosine_error(self, cosine: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the standard error of `cosine` to first order.

        It is pi sqrt(1 - c**2) sqrt(q (1 - q) / bits).

        q = arccos(c) / pi is the probability that a bit differs.

        Parameters
        ----------
        cosine : array_like of float
            True cosines c, in [-1, 1].

        Returns
        -------
        float64, or ndarray of float64 with the shape of `cosine`

        Raises
        ------
        TypeError, ValueError
            If a cosine is not a number, or out of range.

        Examples
        --------
        >>> from lshfast import SimHasher
        >>> float(SimHasher(64).cosine_error(0).round(4))
        0.1963
        """
        c = numbers_of(cosine, "cosine", -1, 1)
        q = np.arccos(c) / np.pi
        return np.asarray(np.pi * np.sqrt((1 - c * c) * q * (1 - q) / self.bits))[()]

    def _codes(self, codes: npt.ArrayLike, name: str) -> UInt64Array:
        return checked(codes, name, self, np.uint64, self.words, "", "words a code")

    def _settled(self, dots: AnyArray, zero: Zero, seed: int) -> UInt64Array:
        """Return the codes of dot products, (n, bits)."""
        codes = packed(dots > 0, self.words)
        zeros = packed(dots == 0, self.words)
        kernels.settle(codes, zeros, self.bits, ZEROS.index(zero), seed)
        return codes


def as_int64(array: AnyArray, name: str) -> Int64Array:
    """Return integers as a contiguous int64 array, or raise ValueError if one is too large."""
    if array.dtype.kind == "u" and array.max(initial=0) > INT64.max:
        raise ValueError(
            f"{name} must be in -2**63..2**63 - 1, and one is {array.max()}"
        )
    return np.ascontiguousarray(array, np.int64)


def check_sums(offsets: Int64Array, numbers: Int64Array, name: str) -> None:
    """Raise ValueError if the absolute values of some row add up to 2**63 or more."""
    row = kernels.overflowing(offsets, numbers)
    if row >= 0:
        raise ValueError(
            f"the absolute values of {name} must add up to less than 2**63, but those of row "
            f"{row} do not"
        )


def packed(bits: BoolArray, words: int) -> UInt64Array:
    """Return bits, (n, k), as 64-bit words, (n, words), the lowest bit first."""
    octets = np.zeros((len(bits), 8 * words), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8").astype(np.uint64, copy=False)


def unpacked(words: UInt64Array, bits: int) -> npt.NDArray[np.int8]:
    """Return the first bits of words, (..., w), as +1 and -1."""
    octets = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    single_bits = np.unpackbits(octets, axis=-1, count=bits, bitorder="little").astype(
        np.int8
    )
    return np.asarray(2 * single_bits - 1, np.int8)
