"""SimHash: codes of the signs of dot products with vectors of ±1, which estimate angles.

The dot products of a token set, its counters, are integers. Counters can be added and subtracted;
codes cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, array_of, check_int
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Int64Array, Matrix, UInt64Array
from lshfast.kernels import simhash as kernels
from lshfast.sketch.arrays import checked, made_by
from lshfast.sketch.codes import PIECE_TOKENS, CodeSketcher, as_int64, check_sums
from lshfast.sketch.compare import fitted
from lshfast.sketch.sketcher import check_token_sets
from lshfast.tokens import TokenSets


@dataclass(frozen=True)
class SimHasher(CodeSketcher):
    """Compute SimHash codes of token sets.

    Each token's hash defines a vector of ±1, one component per bit. The counters of a row are the
    sum of these vectors, each multiplied by the weight of its token. A bit of the code is one if
    the counter is above zero, and zero otherwise. A repeated token counts each time;
    ``sketch(sets.distinct())`` counts it once. Two codes differ in a bit with a probability of
    about angle / pi, where the angle is that between the vectors of the token weights. The
    similarity of rows with a small, even number of tokens is overestimated, because counters of
    zero are frequent and give equal bits. For example, two rows of two tokens each, without a
    common token, have 5/8 equal bits.

    The code of an empty row, and of a row whose counters are all zero, is all ones. No other row
    has this code: if it is the result, the lowest bit is set to zero. The methods treat such a row
    as different from every row, also from another empty one. Other software does not, so call
    `is_empty` before you pass codes to it.

    Parameters
    ----------
    bits : int, default 64
        Bits of a code, a multiple of 64 in 64..4,096.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.MinHasher : Compute MinHash signatures of sets.
    lshfast.HammingIndex : An exact index of binary codes.
    lshfast.hamming_pairs : Find all pairs of codes within a Hamming distance.

    References
    ----------
    M. S. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; G. S.
    Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007.

    Examples
    --------
    >>> from lshfast import SimHasher, TokenSets
    >>> hasher = SimHasher(bits=256)
    >>> sets = TokenSets.from_sets([range(0, 100), range(10, 110), range(500, 600), []])
    >>> codes = hasher.sketch(sets)
    >>> codes.shape, codes.dtype
    ((4, 4), dtype('uint64'))
    >>> (
    ...     bool(abs(hasher.cosine(codes[0], codes[1]) - 0.9) < 0.15),
    ...     bool(abs(hasher.cosine(codes[0], codes[2])) < 0.4),
    ... )
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
        object.__setattr__(
            self, "bits", check_int("bits", self.bits, 64, kernels.MAX_BITS)
        )
        if self.bits % 64:
            raise ValueError(f"bits must be a multiple of 64, not {self.bits}")
        object.__setattr__(self, "_constants", kernels.constants(self.seed, self.words))

    def sketch(
        self,
        sets: TokenSets,
        weights: npt.ArrayLike | None = None,
        *,
        threads: int | None = None,
    ) -> Matrix[np.uint64]:
        """Compute the codes of sets.

        Parameters
        ----------
        sets : TokenSets
            n rows. The order of the tokens in a row does not change its code.
        weights : array_like of integers, shape (m,), optional
            One weight for each of the m elements of ``sets.tokens``; the default is 1. Weights may
            be negative or zero. The absolute weights of a row must add up to less than 2**63.
            Floats are refused: multiply them by a power of two and round them.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

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

        costs = sets.counts if weighed is None else sets.counts + self.bits
        for_each_piece(work, costs, PIECE_TOKENS, threads)
        return made_by(self, codes)

    def counters(
        self,
        sets: TokenSets,
        weights: npt.ArrayLike | None = None,
        *,
        threads: int | None = None,
    ) -> Matrix[np.int64]:
        """Compute the counters of sets, from which `codes_of` computes codes.

        Parameters
        ----------
        sets, weights, threads
            As for `sketch`.

        Returns
        -------
        SketchArray, an ndarray of int64, shape (n, bits)
            For each bit, the weights of the tokens whose hash has the bit, minus the weights of the
            other tokens. All zero if a row is empty.

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
            kernels.counters(
                offsets, sets.tokens, weighed, self._constants, counters[rows]
            )

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
        codes = self._settled(
            dots.reshape(int(np.prod(dots.shape[:-1])), self.bits), "minus", 0
        )
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
            If a sum is outside -2**63..2**63 - 1, there are not `bits` counters per row, the
            numbers of rows do not match, or a different sketcher made them.

        Examples
        --------
        >>> from lshfast import SimHasher, TokenSets
        >>> hasher = SimHasher()
        >>> a, b, both = hasher.counters(
        ...     TokenSets.from_sets([["x", "y"], ["y"], ["x", "y", "y"]])
        ... )
        >>> (
        ...     bool((hasher.merge(a, b) == both).all()),
        ...     bool((hasher.subtract(both, b) == a).all()),
        ... )
        (True, True)
        """
        a = self._counters(a, "a")
        b = self._counters(b, "b")
        fitted(a, b, "merged")
        return self._unless_wrapped(a + b, a, b, "+")

    def subtract(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Int64Array:
        """Subtract counters row by row: the result is the counters without the tokens of b.

        Parameters
        ----------
        a, b : array_like of int64, shape (..., bits)
            Counters. Their leading dimensions are broadcast. It is not checked that a contains the
            tokens of b.

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
        >>> a, b, rest = hasher.counters(
        ...     TokenSets.from_sets([["x", "y"], ["y"], ["x"]])
        ... )
        >>> bool((hasher.subtract(a, b) == rest).all())
        True
        """
        a = self._counters(a, "a")
        b = self._counters(b, "b")
        fitted(a, b, "subtracted")
        return self._unless_wrapped(a - b, a, ~b, "-")

    def _unless_wrapped(
        self, result: Int64Array, a: Int64Array, b: Int64Array, sign: str
    ) -> Int64Array:
        """Return counters, or raise ValueError if one overflowed.

        The sign of an overflow differs from the signs of both operands.
        """
        wrapped = np.argwhere(((a ^ result) & (b ^ result)) < 0)
        if len(wrapped):
            raise ValueError(
                f"a {sign} b leaves -2**63..2**63 - 1 at {tuple(wrapped[0].tolist())}"
            )
        return made_by(self, result)

    def _counters(self, counters: npt.ArrayLike, name: str) -> Int64Array:
        return checked(counters, name, self, np.int64, self.bits, "", "counters a row")


def _weights_of(sets: TokenSets, weights: npt.ArrayLike | None) -> Int64Array | None:
    """Return weights as int64, or raise an error if they do not match the sets."""
    check_token_sets(sets)
    if weights is None:
        return None
    array = array_of(weights, "weights")
    if array.shape != sets.tokens.shape:
        raise ValueError(
            f"weights must have one number per token, shape {sets.tokens.shape}, not {array.shape}"
        )
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(
            f"weights must be integers, not {array.dtype}: multiply floats by a power of two and "
            "round"
        )
    array = as_int64(array, "weights")
    check_sums(sets.offsets, array, "weights")
    return array
