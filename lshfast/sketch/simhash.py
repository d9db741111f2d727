"""SimHash: codes whose bits are the signs of dot products with vectors of ±1, which estimate angles.

The dot products of a token set, its counters, are integers. Counters can be added and subtracted; codes cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import SEED, Seed, SeedField, array_of, check_int, numbers_of
from lshfast.common.threads import for_each_piece
from lshfast.common.types import AnyShape, BoolArray, Float64Array, Int64Array, Matrix, UInt64Array, Vector
from lshfast.kernels import simhash as kernels
from lshfast.kernels.checksum import checksum
from lshfast.sketch.arrays import checked, made_by
from lshfast.sketch.compare import Int32Array, compared, fitted
from lshfast.sketch.sketcher import check_token_sets
from lshfast.tokens import TokenSets

Zero: TypeAlias = Literal["minus", "plus", "random"]
ZEROS = ("minus", "plus", "random")

EMPTY = np.uint64(2**64 - 1)
INT64 = np.iinfo(np.int64)
MAX_DIM = 2**24

# Tokens or coordinates in one piece of work.
PIECE_TOKENS = 1 << 19


class CodeSketcher:
    """Base class of sketchers of codes; a code has `bits` bits in uint64 words, the lowest bit first."""

    bits: int
    not_for_bands: ClassVar[str] = "the words of codes are not slots"

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
        """Return which codes are all ones, as those of empty sets and of vectors of zeros.

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
            If they have a different number of words, their numbers of rows do not match, or a different sketcher made
            them.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> codes = hasher.sketch(TokenSets.from_sets([["a"], ["a"], []]))
        >>> hasher.distance(codes[0], codes).tolist()
        [0, 0, 65]
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
        >>> from lshfast import SignSketcher
        >>> sketcher = SignSketcher.of_vectors([[1, 1], [1, -1]])
        >>> float(sketcher.angle(*sketcher.sketch([[2, 1], [1, 2]])).round(4))
        1.5708
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
        """Return the standard error of `cosine` to first order, pi sqrt(1 - c**2) sqrt(q (1 - q) / bits).

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

    def _settled(self, dots: npt.NDArray[Any], zero: Zero, seed: int) -> UInt64Array:
        """Return the codes of dot products, (n, bits)."""
        codes, zeros = _packed(dots > 0, self.words), _packed(dots == 0, self.words)
        kernels.settle(codes, zeros, self.bits, ZEROS.index(zero), seed)
        return codes


@dataclass(frozen=True)
class SimHasher(CodeSketcher):
    """Compute SimHash codes of token sets.

    Each token's hash defines a vector of ±1, one component per bit. The counters of a row are the sum of these vectors,
    each multiplied by the weight of its token. A bit of the code is one if the counter is above zero, and zero
    otherwise. A repeated token counts each time; ``sketch(sets.distinct())`` counts it once. Two codes differ in a bit
    with a probability of about angle / pi, where the angle is that between the vectors of the token weights. The
    similarity of rows with a small, even number of tokens is overestimated, because counters of zero are frequent and
    give equal bits. For example, two rows of two tokens each, without a common token, have 5/8 equal bits.

    The code of an empty row, and of a row whose counters are all zero, is all ones. No other row has this code: if it
    is the result, the lowest bit is set to zero. The methods treat such a row as different from every row, also from
    another empty one. Other software does not, so call `is_empty` before you pass codes to it.

    Parameters
    ----------
    bits : int, default 64
        Bits of a code, a multiple of 64 in 64..4,096.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed` holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    References
    ----------
    M. S. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; G. S. Manku, A. Jain,
    A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007.

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

    Counters can be added and subtracted:

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
        """Compute the codes of sets.

        Parameters
        ----------
        sets : TokenSets
            n rows. The order of the tokens in a row does not change its code.
        weights : array_like of integers, shape (m,), optional
            One weight for each of the m elements of ``sets.tokens``; the default is 1. Weights may be negative or zero.
            The absolute weights of a row must add up to less than 2**63. Floats are refused: multiply them by a power
            of two and round them.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, bits / 64)
            All ones if a row is empty, or its counters are all zero.

        Raises
        ------
        TypeError
            If `sets` are not TokenSets, or the weights are not integers.
        ValueError
            If there is not one weight for each token, or the sum of a row is out of range.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> sets = TokenSets.from_sets([["a", "b"], ["b", "a", "a"]])
        >>> codes = SimHasher().sketch(sets, weights=[2, 1, 1, 1, 1])
        >>> codes.shape, bool(codes[0] == codes[1])
        ((2, 1), True)
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
        """Compute the counters of sets, from which `codes_of` computes codes.

        Parameters
        ----------
        sets, weights, threads
            As for `sketch`.

        Returns
        -------
        SketchArray, an ndarray of int64, shape (n, bits)
            For each bit, the weights of the tokens whose hash has the bit, minus the weights of the other tokens. All
            zero if a row is empty.

        Raises
        ------
        TypeError, ValueError
            As for `sketch`.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> counters = SimHasher().counters(TokenSets.from_sets([["a"]]), weights=[3])
        >>> counters.shape, sorted(set(counters[0].tolist()))
        ((1, 64), [-3, 3])
        """
        weighed = _weights_of(sets, weights)
        counters = np.empty((len(sets), self.bits), np.int64)

        def work(rows: slice) -> None:
            offsets = sets.offsets[rows.start : rows.stop + 1]
            kernels.counters(offsets, sets.tokens, weighed, self._constants, counters[rows])

        for_each_piece(work, sets.counts + self.bits, PIECE_TOKENS, threads)
        return made_by(self, counters)

    def codes_of(self, counters: npt.ArrayLike) -> UInt64Array:
        """Compute the codes of counters.

        Parameters
        ----------
        counters : array_like of int64, shape (..., bits)
            Counters, as returned by `counters`, `merge` and `subtract`.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (..., bits / 64)
            All ones if the counters of a row are all zero.

        Raises
        ------
        TypeError
            If the counters are not int64.
        ValueError
            If there are not `bits` counters per row, or a different sketcher made them.

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
        """Add counters row by row: the result is the counters of the concatenated rows.

        Parameters
        ----------
        a, b : array_like of int64, shape (..., bits)
            Counters. Their leading dimensions are broadcast.

        Returns
        -------
        SketchArray, an ndarray of int64, shape (..., bits)
            A new array.

        Raises
        ------
        TypeError
            If the counters are not int64.
        ValueError
            If a sum is outside -2**63..2**63 - 1, there are not `bits` counters per row, the numbers of rows do not
            match, or a different sketcher made them.

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
        """Subtract counters row by row: the result is the counters of the rows of a without the tokens of b.

        Parameters
        ----------
        a, b : array_like of int64, shape (..., bits)
            Counters. Their leading dimensions are broadcast. It is not checked that a contains the tokens of b.

        Returns
        -------
        SketchArray, an ndarray of int64, shape (..., bits)
            A new array.

        Raises
        ------
        TypeError, ValueError
            As for `merge`, with differences in place of sums.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> a, b, rest = hasher.counters(TokenSets.from_sets([["x", "y"], ["y"], ["x"]]))
        >>> bool((hasher.subtract(a, b) == rest).all())
        True
        """
        a, b = self._counters(a, "a"), self._counters(b, "b")
        fitted(a, b, "subtracted")
        return self._unless_wrapped(a - b, a, ~b, "-")

    def _unless_wrapped(self, result: Int64Array, a: Int64Array, b: Int64Array, sign: str) -> Int64Array:
        """Return counters, or raise ValueError if one overflowed; its sign then differs from that of both operands."""
        wrapped = np.argwhere(((a ^ result) & (b ^ result)) < 0)
        if len(wrapped):
            raise ValueError(f"a {sign} b leaves -2**63..2**63 - 1 at {tuple(wrapped[0].tolist())}")
        return made_by(self, result)

    def _counters(self, counters: npt.ArrayLike, name: str) -> Int64Array:
        return checked(counters, name, self, np.int64, self.bits, "", "counters a row")


@dataclass(frozen=True)
class SignSketcher(CodeSketcher):
    """Compute codes of dense vectors: the signs of their dot products with random or given vectors of ±1.

    Coordinate j of the random vector of a bit is +1 if the hash of token j, as computed by a `SimHasher` with the same
    seed, has the bit. So the code of a vector x of integers is the SimHash code of the tokens 0..dim - 1 with
    weights x. Dot products of integers are exact. Dot products of floats are added in float64 from the first to the
    last coordinate, so they are equal on all machines.

    The code of a vector of zeros, and of a vector whose dot products are all zero, is all ones. No other vector has
    this code.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, in 1..2**24.
    bits : int, default 64
        Bits of a code, which is the number of vectors of ±1, in 1..4,096.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed` holds it.
    zero : {"minus", "plus", "random"}, default "minus"
        The sign of a dot product of zero. Random signs are derived from the signs of the other dot products of the
        vector. Parallel vectors therefore have equal codes, and opposite vectors have opposite codes.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    References
    ----------
    M. S. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; D. Achlioptas,
    "Database-friendly random projections", 2003: vectors of ±1.

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
        """Create a sketcher from given vectors of ±1.

        Parameters
        ----------
        vectors : array_like of numbers, shape (bits, dim)
            +1 and -1.
        zero : {"minus", "plus", "random"}, default "minus"
            The sign of a dot product of zero.
        seed : int or "random", default 1
            Seed of random signs of zero, in 0..2**64 - 1.

        Returns
        -------
        SignSketcher

        Raises
        ------
        TypeError
            If the vectors are not numbers.
        ValueError
            If they do not have two dimensions, contain a number other than +1 and -1, or `bits` or `dim` is out of
            range.

        Examples
        --------
        >>> from lshfast import SignSketcher
        >>> SignSketcher.of_vectors([[1, 1], [1, -1]]).vectors.tolist()
        [[1, 1], [1, -1]]
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
        """The vectors of ±1: int8 (bits, dim)."""
        return np.ascontiguousarray(_unpacked(self._masks, self.bits).T)

    @overload
    def dots(self, vectors: npt.NDArray[np.integer[Any]], *, threads: int | None = None) -> Int64Array: ...
    @overload
    def dots(self, vectors: npt.NDArray[np.floating[Any]], *, threads: int | None = None) -> Float64Array: ...
    @overload
    def dots(self, vectors: npt.ArrayLike, *, threads: int | None = None) -> Int64Array | Float64Array: ...
    def dots(self, vectors: npt.ArrayLike, *, threads: int | None = None) -> Int64Array | Float64Array:
        """Compute the dot products of vectors with the vectors of ±1.

        Parameters
        ----------
        vectors : array_like of integers or floats, shape (n, dim) or (dim,)
            The absolute values of integers in a row must add up to less than 2**63. Floats must be finite; their
            absolute values must be at most (1 - 2**-28) times the largest float64 / dim, so that no sum overflows.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.

        Returns
        -------
        ndarray of int64 or float64, shape (n, bits) or (bits,)

        Raises
        ------
        TypeError
            If the vectors are neither integers nor floats of at most 64 bits.
        ValueError
            If they have a different shape, or a coordinate or the sum of a row is out of range. NaN is out of range.

        Examples
        --------
        >>> from lshfast import SignSketcher
        >>> SignSketcher.of_vectors([[1, 1], [1, -1]]).dots([[2, 1], [0.5, 3]]).tolist()
        [[3.0, 1.0], [3.5, -2.5]]
        """
        array = self._vectors(vectors)
        rows = array.reshape(-1, self.dim)
        dots = np.empty((len(rows), self.bits), rows.dtype)

        def work(part: slice) -> None:
            dots[part] = self._dots(rows[part])

        for_each_piece(work, np.full(len(rows), self.dim + self.bits, np.int64), PIECE_TOKENS, threads)
        return dots.reshape(*array.shape[:-1], self.bits)

    def sketch(self, vectors: npt.ArrayLike, *, threads: int | None = None) -> UInt64Array:
        """Compute the codes of vectors; bit i is the sign of the dot product with vector i.

        Parameters
        ----------
        vectors, threads
            As for `dots`.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, words) or (words,)
            Bits from `bits` on are zero. All ones if all dot products are zero.

        Raises
        ------
        TypeError, ValueError
            As for `dots`.

        Examples
        --------
        >>> from lshfast import SignSketcher
        >>> sketcher = SignSketcher.of_vectors([[1, 1], [1, -1]])
        >>> sketcher.sketch([[2, 1], [1, 2]]).tolist()
        [[3], [1]]
        """
        array = self._vectors(vectors)
        rows = array.reshape(-1, self.dim)
        codes = np.empty((len(rows), self.words), np.uint64)

        def work(part: slice) -> None:
            codes[part] = self._settled(self._dots(rows[part]), self.zero, self.seed)

        for_each_piece(work, np.full(len(rows), self.dim + self.bits, np.int64), PIECE_TOKENS, threads)
        return made_by(self, codes.reshape(*array.shape[:-1], self.words))

    def signs(self, codes: npt.ArrayLike) -> npt.NDArray[np.int8]:
        """Convert codes to signs.

        Parameters
        ----------
        codes : array_like of uint64, shape (..., words)

        Returns
        -------
        ndarray of int8, shape (..., bits)
            +1 and -1; all 0 if a code is empty.

        Raises
        ------
        TypeError
            If the codes are not uint64.
        ValueError
            If they have a different number of words, or a different sketcher made them.

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
        """Return vectors as a contiguous array of int64 or float64, or raise an error if dot products may overflow."""
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
        raise ValueError(f"the absolute values of {name} must add up to less than 2**63, but those of row {row} do not")


def _weights_of(sets: TokenSets, weights: npt.ArrayLike | None) -> Int64Array | None:
    """Return weights as int64, or raise an error if they do not match the sets."""
    check_token_sets(sets)
    if weights is None:
        return None
    array = array_of(weights, "weights")
    if array.shape != sets.tokens.shape:
        raise ValueError(f"weights must have one number per token, shape {sets.tokens.shape}, not {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"weights must be integers, not {array.dtype}: multiply floats by a power of two and round")
    array = _as_int64(array, "weights")
    _check_sums(sets.offsets, array, "weights")
    return array


def _packed(bits: BoolArray, words: int) -> UInt64Array:
    """Return bits, (n, k), as 64-bit words, (n, words), the lowest bit first."""
    octets = np.zeros((len(bits), 8 * words), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8").astype(np.uint64, copy=False)


def _unpacked(words: UInt64Array, bits: int) -> npt.NDArray[np.int8]:
    """Return the first bits of words, (..., w), as +1 and -1."""
    octets = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    held = np.unpackbits(octets, axis=-1, count=bits, bitorder="little").astype(np.int8)
    return np.asarray(2 * held - 1, np.int8)
