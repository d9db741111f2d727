"""SimHash: codes whose bits are the signs of dot products with +1s and -1s, so that they differ as the angle is wide.

The dot products of token sets are kept as integers where asked: counters add up and can be taken apart, codes cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import for_each_piece
from lshfast.kernels import simhash as kernels
from lshfast.kernels.checksum import checksum
from lshfast.sketch.arrays import checked, made_by
from lshfast.sketch.compare import Int32Array, compared, fitted
from lshfast.sketch.sketcher import check_token_sets
from lshfast.tokens import (
    SEED,
    AnyShape,
    BoolArray,
    Float64Array,
    Int64Array,
    Matrix,
    Seed,
    SeedField,
    TokenSets,
    UInt64Array,
    Vector,
    array_of,
    check_int,
    numbers_of,
)

Zero: TypeAlias = Literal["minus", "plus", "random"]
ZEROS = ("minus", "plus", "random")

EMPTY = np.uint64(2**64 - 1)
INT64 = np.iinfo(np.int64)
MAX_DIM = 2**24

# Work of a thread at a time, in tokens or coordinates.
PIECE_TOKENS = 1 << 19


class CodeSketcher:
    """A maker of codes, and what can be done with them: a code has `bits` bits in uint64 words, the lowest first."""

    bits: int
    not_for_bands: ClassVar[str] = "the words of codes are no slots"

    @property
    def words(self) -> int:
        """Words of a code."""
        return -(-self.bits // 64)

    @overload
    def is_empty(self, codes: AnyShape[np.uint64]) -> Any: ...
    @overload
    def is_empty(self, codes: Vector[np.uint64]) -> np.bool_: ...
    @overload
    def is_empty(self, codes: npt.ArrayLike) -> BoolArray: ...
    def is_empty(self, codes: npt.ArrayLike) -> np.bool_ | BoolArray:
        """Tell which codes are those of empty sets or vectors of zeros.

        Parameters
        ----------
        codes : array_like of uint64, shape (..., words)

        Returns
        -------
        bool or ndarray of bool, shape (...)

        Raises
        ------
        TypeError
            If codes are not uint64.
        ValueError
            If they have another number of words, or are known to be another sketcher's.
        """
        empty: BoolArray = np.asarray((self._codes(codes, "codes") == EMPTY).all(axis=-1))[()]
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
        """Return the Hamming distance of codes, row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., words)
            Codes; one may be broadcast against many.

        Returns
        -------
        int64 or ndarray of int64, shape (...)
            In 0..bits; bits + 1 where either is empty, which is farther than any two codes can be.

        Raises
        ------
        TypeError
            If codes are not uint64.
        ValueError
            If they have another number of words, other numbers of rows, or are known to be another sketcher's.
        """
        a, b = self._codes(a, "a"), self._codes(b, "b")

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
    def similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the share of equal bits, an estimate of 1 - angle / pi; takes and refuses what `distance` does.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [0, 1]; 0 where either is empty. Its standard error is `similarity_error`.
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
        """Return the estimated angle in radians, pi times the share of bits that differ, of what `distance` takes.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [0, pi]; nan where either is empty, which has no direction.
        """
        distance = self.distance(a, b)
        return np.asarray(np.where(distance > self.bits, np.nan, np.pi * distance / self.bits))[()]

    @overload
    def cosine(self, a: AnyShape[np.uint64], b: npt.ArrayLike) -> Any: ...
    @overload
    def cosine(self, a: npt.ArrayLike, b: AnyShape[np.uint64]) -> Any: ...
    @overload
    def cosine(self, a: Vector[np.uint64], b: Vector[np.uint64]) -> np.float64: ...
    @overload
    def cosine(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array: ...
    def cosine(self, a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the estimated cosine of the angle, cos(pi distance / bits), of what `distance` takes.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [-1, 1]; 0 where either is empty. Its standard error is about `cosine_error`.
        """
        return np.asarray(np.nan_to_num(np.cos(self.angle(a, b)), nan=0.0))[()]

    @overload
    def similarity_error(self, similarity: float) -> np.float64: ...
    @overload
    def similarity_error(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def similarity_error(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the standard error of `similarity` where it truly is s, in [0, 1]: sqrt(s (1 - s) / bits)."""
        s = numbers_of(similarity, "similarity", 0, 1)
        return np.asarray(np.sqrt(s * (1 - s) / self.bits))[()]

    @overload
    def cosine_error(self, cosine: float) -> np.float64: ...
    @overload
    def cosine_error(self, cosine: npt.ArrayLike) -> Float64Array: ...
    def cosine_error(self, cosine: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the standard error of `cosine` where it truly is c, in [-1, 1], to first order.

        With q = arccos(c) / pi, the probability that a bit differs, it is pi sqrt(1 - c**2) sqrt(q (1 - q) / bits).
        """
        c = numbers_of(cosine, "cosine", -1, 1)
        q = np.arccos(c) / np.pi
        return np.asarray(np.pi * np.sqrt((1 - c * c) * q * (1 - q) / self.bits))[()]

    def _codes(self, codes: npt.ArrayLike, name: str) -> UInt64Array:
        return checked(codes, name, self, np.uint64, self.words, "", "words a code")

    def _settled(self, dots: npt.NDArray[Any], zero: Zero, seed: int) -> UInt64Array:
        """Return the codes of dot products, (n, bits)."""
        codes, zeros = _packed(dots > 0, self.words), _packed(dots == 0, self.words)
        kernels.settle(codes, zeros, self.bits, ZEROS.index(zero), seed)
        return codes


@dataclass(frozen=True)
class SimHasher(CodeSketcher):
    """Sketch token sets into SimHash codes, fingerprints whose bits differ as often as the angle is wide.

    A token is as good as a vector of +1s and -1s, one a bit, drawn from its hash. The counters of a row are the sum of
    its tokens' vectors, each times its weight; a bit of the code is one where the counter is above zero, and zero
    where it is zero or below (Charikar 2002; Manku, Jain and Das Sarma 2007). Tokens count each time they occur:
    ``sketch(sets.distinct())`` counts each of them once. Two codes differ in a bit with probability angle / pi about,
    where the angle is that between the vectors of the tokens' weights. Rows of few tokens, and an even number of them,
    seem nearer than they are, since the many counters at zero agree: those of two other tokens each share 5/8 of bits.

    An empty row, and one whose counters are all zero, has the code of all ones, which no other row has (the lowest bit
    of one that would is zero instead). It is no nearer to another empty one than to any code: see `is_empty` before
    you hand codes to something else.

    Parameters
    ----------
    bits : int, default 64
        Of a code: a multiple of 64, up to 4,096.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random" the operating system draws the number, which `seed` then holds.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> from lshfast import SimHasher, TokenSets
    >>> hasher = SimHasher(bits=256)
    >>> sets = TokenSets.from_sets([range(0, 100), range(10, 110), range(500, 600), []])
    >>> codes = hasher.sketch(sets)
    >>> codes.shape, codes.dtype
    ((4, 4), dtype('uint64'))
    >>> bool(abs(hasher.cosine(codes[0], codes[1]) - 0.9) < 0.15), bool(abs(hasher.cosine(codes[0], codes[2])) < 0.4)
    (True, True)
    >>> hasher.is_empty(codes).tolist()
    [False, False, False, True]

    Counters add up, and what was added can be taken out again:

    >>> counters = hasher.counters(sets)
    >>> both = hasher.merge(counters[0], counters[2])
    >>> bool((hasher.codes_of(hasher.subtract(both, counters[2])) == codes[0]).all())
    True
    """

    bits: int = 64
    seed: SeedField = SEED
    _constants: UInt64Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", check_int("bits", self.bits, 64, kernels.MAX_BITS))
        if self.bits % 64:
            raise ValueError(f"bits must be a multiple of 64, not {self.bits}")
        object.__setattr__(self, "_constants", kernels.constants(self.seed, self.words))

    def sketch(
        self, sets: TokenSets, weights: npt.ArrayLike | None = None, *, threads: int | None = None
    ) -> Matrix[np.uint64]:
        """Return the codes of the sets.

        Parameters
        ----------
        sets : TokenSets
            n rows, of m tokens. Their order changes nothing.
        weights : array_like of integers, shape (m,), optional
            One a token of ``sets.tokens``; 1 by default. They may be negative or zero; those of a row must add up to
            less than 2**63 without their signs. Floats are refused: multiply them by a power of two and round.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, bits / 64)
            All ones where a row is empty.

        Raises
        ------
        TypeError
            If sets are no TokenSets, or weights no integers.
        ValueError
            If there is not one weight a token, or those of a row add up to too much.
        """
        weighed = _weights_of(sets, weights)
        codes = np.empty((len(sets), self.words), np.uint64)

        def work(rows: slice) -> None:
            offsets = sets.offsets[rows.start : rows.stop + 1]
            if weighed is None:
                kernels.codes(offsets, sets.tokens, self._constants, codes[rows])
                return
            counters = np.empty((len(offsets) - 1, self.bits), np.int64)
            kernels.counters(offsets, sets.tokens, weighed, self._constants, counters)
            codes[rows] = self._settled(counters, "minus", 0)

        for_each_piece(work, sets.counts if weighed is None else sets.counts + self.bits, PIECE_TOKENS, threads)
        return made_by(self, codes)

    def counters(
        self, sets: TokenSets, weights: npt.ArrayLike | None = None, *, threads: int | None = None
    ) -> Matrix[np.int64]:
        """Return the counters of the sets, of which `codes_of` makes codes.

        Parameters
        ----------
        sets, weights, threads
            As `sketch` takes them.

        Returns
        -------
        SketchArray, an ndarray of int64, shape (n, bits)
            For each bit the weights of the tokens whose hash has it, less those of the others. All zero where a row
            is empty.

        Raises
        ------
        TypeError, ValueError
            As by `sketch`.
        """
        weighed = _weights_of(sets, weights)
        counters = np.empty((len(sets), self.bits), np.int64)

        def work(rows: slice) -> None:
            offsets = sets.offsets[rows.start : rows.stop + 1]
            kernels.counters(offsets, sets.tokens, weighed, self._constants, counters[rows])

        for_each_piece(work, sets.counts + self.bits, PIECE_TOKENS, threads)
        return made_by(self, counters)

    def codes_of(self, counters: npt.ArrayLike) -> UInt64Array:
        """Return the codes of counters.

        Parameters
        ----------
        counters : array_like of int64, shape (..., bits)
            As `counters`, `merge` and `subtract` make them.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (..., bits / 64)
            All ones where the counters are all zero.

        Raises
        ------
        TypeError
            If they are not int64.
        ValueError
            If they are not `bits` a row, or are known to be another sketcher's.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher, sets = SimHasher(128), TokenSets.from_sets([["a", "b", "c"], []])
        >>> bool((hasher.codes_of(hasher.counters(sets)) == hasher.sketch(sets)).all())
        True
        """
        dots = self._counters(counters, "counters")
        codes = self._settled(dots.reshape(int(np.prod(dots.shape[:-1])), self.bits), "minus", 0)
        return made_by(self, codes.reshape(*dots.shape[:-1], self.words))

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Int64Array:
        """Return the counters of the rows taken together: a + b.

        Parameters
        ----------
        a, b : array_like of int64, shape (..., bits)
            Counters; one may be broadcast against many.

        Returns
        -------
        SketchArray, an ndarray of int64, shape (..., bits)
            An array of its own, whatever a and b are.

        Raises
        ------
        TypeError
            If they are not int64.
        ValueError
            If a sum is outside -2**63..2**63 - 1; or they are not `bits` a row, have other numbers of rows, or are
            known to be another sketcher's.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> a, b, both = hasher.counters(TokenSets.from_sets([["x", "y"], ["y"], ["x", "y", "y"]]))
        >>> bool((hasher.merge(a, b) == both).all()), bool((hasher.subtract(both, b) == a).all())
        (True, True)
        """
        a, b = self._counters(a, "a"), self._counters(b, "b")
        fitted(a, b, "merged")
        return self._unless_wrapped(a + b, a, b, "+")

    def subtract(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Int64Array:
        """Return the counters of the rows of a after the tokens of b were taken out: a - b.

        Parameters
        ----------
        a, b : array_like of int64, shape (..., bits)
            Counters; one may be broadcast against many. That the tokens of b are among those of a is not checked.

        Returns
        -------
        SketchArray, an ndarray of int64, shape (..., bits)

        Raises
        ------
        TypeError, ValueError
            As by `merge`, and where a difference is outside -2**63..2**63 - 1.
        """
        a, b = self._counters(a, "a"), self._counters(b, "b")
        fitted(a, b, "taken together")
        return self._unless_wrapped(a - b, a, ~b, "-")

    def _unless_wrapped(self, result: Int64Array, a: Int64Array, b: Int64Array, sign: str) -> Int64Array:
        """Return counters, or say where they left int64: a sum differs in sign from both of its summands there."""
        wrapped = np.argwhere(((a ^ result) & (b ^ result)) < 0)
        if len(wrapped):
            raise ValueError(f"a {sign} b leaves -2**63..2**63 - 1 at {tuple(wrapped[0].tolist())}")
        return made_by(self, result)

    def _counters(self, counters: npt.ArrayLike, name: str) -> Int64Array:
        return checked(counters, name, self, np.int64, self.bits, "", "counters a row")


@dataclass(frozen=True)
class SignSketcher(CodeSketcher):
    """Sketch dense vectors by the signs of their dot products with given or drawn vectors of +1s and -1s.

    A drawn vector's coordinate j is +1 where token j has the bit in SimHasher's hash of the same seed, so that the
    code of integers x is that of the tokens 0..dim - 1 of weights x. Dot products of integers are exact, those of
    floats are sums from the first coordinate to the last in float64, the same everywhere.

    The code of a vector of zeros, and of one whose dot products are all zero, is all ones, which no other vector has.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, 1 to 2**24.
    bits : int, default 64
        Vectors of +1s and -1s, 1 to 4,096.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random" the operating system draws the number, which `seed` then holds.
    zero : {"minus", "plus", "random"}, default "minus"
        The sign of a dot product of zero. Random signs are drawn from the signs of the vector's other dot products:
        parallel vectors have equal codes, opposite ones have opposite codes, and all others have ties of their own.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> from lshfast import SignSketcher
    >>> sketcher = SignSketcher.of_vectors([[1, -1, 1, 1], [-1, 1, -1, 1], [1, 1, -1, -1]])
    >>> sketcher.dots([[3, 4, 5, 6], [4, 3, 2, 1]]).tolist()
    [[10, 2, -4], [4, -2, 4]]
    >>> codes = sketcher.sketch([[3, 4, 5, 6], [4, 3, 2, 1]])
    >>> sketcher.signs(codes).tolist()
    [[1, 1, -1], [1, -1, 1]]
    >>> print(round(float(sketcher.angle(*codes)) * 180 / 3.14159265))
    120
    """

    dim: int
    bits: int = 64
    seed: SeedField = SEED
    zero: Zero = "minus"
    _given: bytes | None = field(default=None, repr=False)
    _masks: UInt64Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_int("dim", self.dim, 1, MAX_DIM))
        object.__setattr__(self, "bits", check_int("bits", self.bits, 1, kernels.MAX_BITS))
        if self.zero not in ZEROS:
            raise ValueError(f"zero must be 'minus', 'plus' or 'random', not {self.zero!r}")
        if self._given is None:
            tokens = np.arange(self.dim, dtype=np.uint64)
            constants = kernels.constants(self.seed, self.words).tolist()
            hashed = [kernels.hashes(tokens, constant) for constant in constants]
            masks = np.ascontiguousarray(np.stack(hashed, axis=1))
        else:
            masks = np.frombuffer(self._given, "<u8").astype(np.uint64).reshape(self.dim, self.words)
        object.__setattr__(self, "_masks", masks)

    def __repr__(self) -> str:
        drawn = f"SignSketcher(dim={self.dim}, bits={self.bits}, seed={self.seed}, zero={self.zero!r})"
        return drawn if self._given is None else f"{drawn} of vectors {checksum(self._given):016x}"

    @classmethod
    def of_vectors(cls, vectors: npt.ArrayLike, *, zero: Zero = "minus", seed: Seed = 1) -> SignSketcher:
        """Return the sketcher of given vectors.

        Parameters
        ----------
        vectors : array_like of numbers, shape (bits, dim)
            +1s and -1s.
        zero : {"minus", "plus", "random"}, default "minus"
        seed : int, default 1
            What the signs of zero are drawn from where they are random.

        Raises
        ------
        TypeError
            If the vectors are not numbers.
        ValueError
            If they have not two dimensions, hold anything but +1 and -1, or are more or longer than may be.
        """
        array = array_of(vectors, "vectors")
        if array.dtype.kind not in "iuf":
            raise TypeError(f"vectors must be numbers, +1 and -1, not {array.dtype}")
        if array.ndim != 2:
            raise ValueError(f"vectors must have shape (bits, dim), not {array.shape}")
        wrong = np.argwhere(np.abs(array) != 1)
        if len(wrong):
            at = tuple(wrong[0].tolist())
            raise ValueError(f"vectors must be of +1 and -1, and {at} is {array[at]}")
        bits, dim = array.shape
        check_int("bits", bits, 1, kernels.MAX_BITS)
        return cls(dim, bits, seed, zero, _packed(array.T > 0, -(-bits // 64)).astype("<u8").tobytes())

    @property
    def vectors(self) -> npt.NDArray[np.int8]:
        """The vectors of +1s and -1s: int8 (bits, dim)."""
        return np.ascontiguousarray(_unpacked(self._masks, self.bits).T)

    @overload
    def dots(self, vectors: npt.NDArray[np.integer[Any]], *, threads: int | None = None) -> Int64Array: ...
    @overload
    def dots(self, vectors: npt.NDArray[np.floating[Any]], *, threads: int | None = None) -> Float64Array: ...
    @overload
    def dots(self, vectors: npt.ArrayLike, *, threads: int | None = None) -> Int64Array | Float64Array: ...
    def dots(self, vectors: npt.ArrayLike, *, threads: int | None = None) -> Int64Array | Float64Array:
        """Return the dot products of vectors with those of +1s and -1s.

        Parameters
        ----------
        vectors : array_like of integers or floats, shape (n, dim) or (dim,)
            Integers of a row must add up to less than 2**63 without their signs; floats must be finite, and at most
            the largest float64 / dim, less 2**-28 of it for what rounding adds to a sum.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        ndarray of int64 or float64, shape (n, bits) or (bits,)

        Raises
        ------
        TypeError
            If the vectors are neither integers nor floats of up to 64 bits.
        ValueError
            If they have another shape, or a coordinate or a row's sum is out of range; NaN is out of every range.
        """
        array = self._vectors(vectors)
        rows = array.reshape(-1, self.dim)
        dots = np.empty((len(rows), self.bits), rows.dtype)

        def work(part: slice) -> None:
            dots[part] = self._dots(rows[part])

        for_each_piece(work, np.full(len(rows), self.dim + self.bits, np.int64), PIECE_TOKENS, threads)
        return dots.reshape(*array.shape[:-1], self.bits)

    def sketch(self, vectors: npt.ArrayLike, *, threads: int | None = None) -> UInt64Array:
        """Return the codes of vectors: bit i is the sign of the dot product with vector i.

        Parameters
        ----------
        vectors, threads
            As `dots` takes them.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, words) or (words,)
            The bits behind the last vector's are zero. All ones where all dot products are zero.

        Raises
        ------
        TypeError, ValueError
            As by `dots`.
        """
        array = self._vectors(vectors)
        rows = array.reshape(-1, self.dim)
        codes = np.empty((len(rows), self.words), np.uint64)

        def work(part: slice) -> None:
            codes[part] = self._settled(self._dots(rows[part]), self.zero, self.seed)

        for_each_piece(work, np.full(len(rows), self.dim + self.bits, np.int64), PIECE_TOKENS, threads)
        return made_by(self, codes.reshape(*array.shape[:-1], self.words))

    def signs(self, codes: npt.ArrayLike) -> npt.NDArray[np.int8]:
        """Return codes as signs.

        Parameters
        ----------
        codes : array_like of uint64, shape (..., words)

        Returns
        -------
        ndarray of int8, shape (..., bits)
            +1 and -1; 0 throughout where a code is empty.

        Raises
        ------
        TypeError
            If codes are not uint64.
        ValueError
            If they have another number of words, or are known to be another sketcher's.

        Examples
        --------
        >>> from lshfast import SignSketcher
        >>> sketcher = SignSketcher.of_vectors([[1, 1], [1, -1]])
        >>> sketcher.signs(sketcher.sketch([[2, 1], [1, 2], [0, 0]])).tolist()
        [[1, 1], [1, -1], [0, 0]]
        """
        array = self._codes(codes, "codes")
        signs = _unpacked(array, self.bits) * ~self.is_empty(array)[..., None]
        return np.asarray(signs, np.int8)

    def _dots(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        dots = np.empty((len(rows), 64 * self.words), rows.dtype)
        (kernels.dots if rows.dtype == np.int64 else kernels.dots_of_doubles)(rows, self._masks, dots)
        return dots[:, : self.bits]

    def _vectors(self, vectors: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return vectors as a contiguous array of int64 or float64 whose dot products fit, or say why they do not."""
        array = array_of(vectors, "vectors")
        if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
            raise TypeError(f"vectors must be integers or floats of up to 64 bits, not {array.dtype}")
        if array.ndim not in (1, 2) or array.shape[-1] != self.dim:
            raise ValueError(f"vectors must have shape (n, {self.dim}) or ({self.dim},), not {array.shape}")
        if array.dtype.kind == "f":
            array = np.ascontiguousarray(array, np.float64)
            most = np.finfo(np.float64).max / self.dim * (1 - 2**-28)  # rounding adds at most 2**-29 of a sum
            wrong = np.argwhere(~(np.abs(array) <= most))
            if len(wrong):
                at = tuple(wrong[0].tolist())
                raise ValueError(f"vectors must be in -{most:.4g}..{most:.4g}, and {at} is {array[at]}")
            return array
        array = _as_int64(array, "vectors")
        offsets = np.arange(array.size // self.dim + 1, dtype=np.int64) * self.dim
        _check_sums(offsets, array.ravel(), "vectors")
        return array


def _as_int64(array: npt.NDArray[Any], name: str) -> Int64Array:
    if array.dtype.kind == "u" and array.max(initial=0) > INT64.max:
        raise ValueError(f"{name} must be in -2**63..2**63 - 1, and one is {array.max()}")
    return np.ascontiguousarray(array, np.int64)


def _check_sums(offsets: Int64Array, numbers: Int64Array, name: str) -> None:
    row = kernels.overflowing(offsets, numbers)
    if row >= 0:
        raise ValueError(f"{name} must add up to less than 2**63 without their signs, unlike those of row {row}")


def _weights_of(sets: TokenSets, weights: npt.ArrayLike | None) -> Int64Array | None:
    """Return weights as int64, or say why they are none for these sets."""
    check_token_sets(sets)
    if weights is None:
        return None
    array = array_of(weights, "weights")
    if array.shape != sets.tokens.shape:
        raise ValueError(f"weights must be one a token, shape {sets.tokens.shape}, not {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"weights must be integers, not {array.dtype}: multiply floats by a power of two and round")
    array = _as_int64(array, "weights")
    _check_sums(sets.offsets, array, "weights")
    return array


def _packed(bits: BoolArray, words: int) -> UInt64Array:
    """Return bits, (n, k), as words of 64, the lowest first."""
    octets = np.zeros((len(bits), 8 * words), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8").astype(np.uint64, copy=False)


def _unpacked(words: UInt64Array, bits: int) -> npt.NDArray[np.int8]:
    """Return the first bits of words, (..., w), as +1 and -1."""
    octets = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    held = np.unpackbits(octets, axis=-1, count=bits, bitorder="little").astype(np.int8)
    return np.asarray(2 * held - 1, np.int8)
