"""b-bit MinHash: signatures with a few bits per slot, smaller and faster to compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, numbers_of
from lshfast._common.threads import for_each_piece, ordered_map, thread_count
from lshfast._common.types import (
    AnyShape,
    Float64Array,
    Int32Array,
    Int64Array,
    Matrix,
    UInt64Array,
    Vector,
)
from lshfast.kernels import bits as kernels
from lshfast.sketch.arrays import checked, made_by
from lshfast.sketch.compare import best_rows, compared
from lshfast.sketch.minhash import MinHasher, check_signatures
from lshfast.sketch.sketcher import check_token_sets
from lshfast.tokens import TokenSets

WIDTHS = (1, 2, 4, 8, 16)

# The size of a piece of work: slots to pack, and sets to sketch and pack.
PIECE_SLOTS = 1 << 20
PIECE_SETS = 1 << 12


@dataclass(frozen=True)
class BBits:
    """Pack MinHash signatures into b bits per slot, and estimate similarities from them.

    A packed slot stores the lowest b bits of the mixed value of a slot. Different slots therefore
    agree by chance with probability C = 2**-b, for all sets. At Jaccard similarity s, a packed slot
    agrees with probability P = C + (1 - C) s. If the share p of the slots agrees, the unbiased
    estimate of s is (p - C) / (1 - C). At s = 1/2, a signature of 1 bit per slot needs three times
    as many slots as one of 64 bits for the same error, which is 21 times less memory.

    Parameters
    ----------
    bits : {1, 2, 4, 8, 16}
        Bits per slot, b.
    hasher : MinHasher, default MinHasher()
        Sketcher of the signatures, with any scheme, length and seed. Signatures of a different
        sketcher are refused.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.MinHasher : Compute MinHash signatures of token sets.
    lshfast.datasketch.bBitMinHash : A sketch of the lowest b bits.

    Notes
    -----
    An empty set is not similar to any set, not even to another empty set; its words are all 2**64 -
    1. Packed signatures cannot be merged, because the bits do not tell which of two slots is
    smaller, and they cannot be banded. Merge and band the full signatures, then pack them.

    References
    ----------
    P. Li, A. C. König, "b-Bit Minwise Hashing", WWW 2010.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.sketch import BBits
    >>> packer = BBits(2, MinHasher(1024))
    >>> packed = packer.sketch(
    ...     TokenSets.from_sets([range(0, 80), range(20, 100), range(500, 600), []])
    ... )
    >>> packed.shape, packed.dtype
    ((4, 32), dtype('uint64'))
    >>> bool(
    ...     abs(packer.similarity(packed[0], packed[1]) - 0.6)
    ...     < 4 * packer.standard_error(0.6)
    ... )
    True
    >>> packer.top(packed[0], packed, 2)[0].tolist()
    [0, 1]
    """

    bits: int
    hasher: MinHasher = field(default_factory=MinHasher)

    not_for_bands: ClassVar[str] = (
        "their slots of a few bits agree by chance; band the signatures that they were packed from"
    )

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or not isinstance(self.bits, (int, np.integer)):
            raise TypeError(f"bits must be an int, not {self.bits!r}")
        if self.bits not in WIDTHS:
            raise ValueError(
                f"bits must be one of {', '.join(map(str, WIDTHS))}, not {self.bits}"
            )
        object.__setattr__(self, "bits", int(self.bits))
        if not isinstance(self.hasher, MinHasher):
            raise TypeError(f"hasher must be a MinHasher, not {self.hasher!r}")

    @property
    def words(self) -> int:
        """64-bit words per packed signature."""
        return kernels.words_of(self.hasher.num_perm, self.bits)

    @property
    def chance(self) -> float:
        """Probability that the bits of two different slots are equal, C = 2**-b."""
        return 0.5**self.bits

    def sketch(
        self, sets: TokenSets, *, threads: int | None = None
    ) -> Matrix[np.uint64]:
        """Compute the packed signatures of sets; the full signatures are not stored.

        Parameters
        ----------
        sets : TokenSets
            n rows.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, words)
            Equal to ``pack(hasher.sketch(sets))``.

        Raises
        ------
        TypeError
            If `sets` are not TokenSets, or `threads` is not an int.
        ValueError
            If `threads` is less than 1.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> from lshfast.sketch import BBits
        >>> BBits(4).sketch(TokenSets.from_sets([["a"], ["b"]])).shape
        (2, 8)
        """
        check_token_sets(sets)
        packed = np.empty((len(sets), self.words), np.uint64)

        def work(rows: slice) -> None:
            part = TokenSets(sets.offsets[rows.start : rows.stop + 1], sets.tokens)
            kernels.pack(self.hasher.sketch(part, threads=1), self.bits, packed[rows])

        for_each_piece(work, np.ones(len(sets), np.int64), PIECE_SETS, threads)
        return made_by(self, packed)

    def pack(
        self, signatures: npt.ArrayLike, *, threads: int | None = None
    ) -> UInt64Array:
        """Pack signatures.

        Parameters
        ----------
        signatures : array_like of uint64, shape (n, num_perm) or (num_perm,)
            Signatures of `hasher`. The sketcher of plain arrays cannot be checked.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, words) or (words,)
            The attribute `hasher` is this BBits.

        Raises
        ------
        TypeError
            If the signatures are not uint64.
        ValueError
            If they have a different number of slots, or a different sketcher made them.

        Examples
        --------
        >>> from lshfast import MinHasher, TokenSets
        >>> from lshfast.sketch import BBits
        >>> signatures = MinHasher().sketch(TokenSets.from_sets([["a"], ["b"]]))
        >>> BBits(4).pack(signatures).nbytes, signatures.nbytes
        (128, 2048)
        """
        array = check_signatures(signatures, self.hasher)
        rows = np.require(array, requirements=("C", "A")).reshape(
            -1, self.hasher.num_perm
        )
        packed = np.empty((len(rows), self.words), np.uint64)

        def work(part: slice) -> None:
            kernels.pack(rows[part], self.bits, packed[part])

        for_each_piece(
            work, np.full(len(rows), rows.shape[1], np.int64), PIECE_SLOTS, threads
        )
        return made_by(self, packed.reshape(*array.shape[:-1], self.words))

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
        """Estimate the Jaccard similarity of packed signatures, row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., words)
            Packed signatures. Their leading dimensions are broadcast.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            At most 1. It is negative if fewer slots agree than are expected by chance, so that the
            estimate is unbiased. It is 0 if either set is empty.

        Raises
        ------
        TypeError
            If the packed signatures are not uint64.
        ValueError
            If they have a different number of words, their numbers of rows do not match, or a
            different BBits made them.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> from lshfast.sketch import BBits
        >>> packer = BBits(8)
        >>> packed = packer.sketch(TokenSets.from_sets([["a"], ["a"], []]))
        >>> packer.similarity(packed[0], packed).tolist()
        [1.0, 1.0, 0.0]
        """
        return self._estimates(self._equal(self._packed(a, "a"), self._packed(b, "b")))

    def top(
        self,
        queries: npt.ArrayLike,
        packed: npt.ArrayLike,
        most: int,
        *,
        threads: int | None = None,
    ) -> tuple[Int64Array, Float64Array]:
        """Find the rows that are most similar to each query, by comparing each query with all rows.

        Parameters
        ----------
        queries : array_like of uint64, shape (words,) or (m, words)
            Packed signatures.
        packed : array_like of uint64, shape (n, words)
            Packed signatures of the rows.
        most : int
            Rows to return per query, at least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        rows : ndarray of int64, shape (min(most, n),) or (m, min(most, n))
            The most similar row first; of equally similar rows, the smaller row first. Empty sets
            are not returned. If there are fewer rows, the answer is filled with -1.
        similarity : ndarray of float64, of the same shape
            Estimates as in `similarity`; 0 for -1.

        Raises
        ------
        TypeError
            If `most` is not an int, or the packed signatures are not uint64.
        ValueError
            If `most` is less than 1, or the packed signatures have wrong dimensions or a different
            BBits made them.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> from lshfast.sketch import BBits
        >>> packer = BBits(8)
        >>> packed = packer.sketch(TokenSets.from_sets([["a"], ["b"], ["a"]]))
        >>> packer.top(packed[2], packed, 2)[0].tolist()
        [0, 2]
        """
        queries = self._packed(queries, "queries")
        packed = self._packed(packed, "packed")
        if queries.ndim > 2 or packed.ndim != 2:
            raise ValueError(
                f"queries must have one or two dimensions and packed two, not {queries.ndim} and "
                f"{packed.ndim}"
            )
        check_int("most", most, 1)
        query_rows = queries.reshape(-1, self.words)
        rows = np.full((len(query_rows), min(int(most), len(packed))), -1, np.int64)
        equal = np.full(rows.shape, -1, np.int32)
        packed = np.require(packed, requirements=("C", "A"))

        def work(query: int) -> None:
            counts = self._equal(query_rows[query], packed)
            best = best_rows(counts, rows.shape[1])
            rows[query, : len(best)] = best
            equal[query, : len(best)] = counts[best]

        for _ in ordered_map(work, range(len(query_rows)), thread_count(threads)):
            pass
        shape = (*queries.shape[:-1], rows.shape[1])
        return rows.reshape(shape), self._estimates(equal.reshape(shape))

    @overload
    def variance(self, similarity: float) -> np.float64: ...
    @overload
    def variance(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def variance(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the variance of the estimate, P (1 - P) / (k (1 - C)**2) with P = C + (1 - C) s.

        This is exact for the scheme ``classic``, whose slots are independent, and an upper bound
        for ``fast``.

        Parameters
        ----------
        similarity : array_like of float
            True Jaccard similarities s, in [0, 1].

        Returns
        -------
        float64, or ndarray of float64 with the shape of `similarity`

        Raises
        ------
        TypeError
            If a similarity is not a number.
        ValueError
            If a similarity is out of range.

        Examples
        --------
        >>> from lshfast.sketch import BBits
        >>> float(BBits(1).variance(0.5))
        0.005859375
        """
        p = self.chance + (1 - self.chance) * numbers_of(similarity, "similarity", 0, 1)
        return np.asarray(
            p * (1 - p) / (self.hasher.num_perm * (1 - self.chance) ** 2)
        )[()]

    @overload
    def standard_error(self, similarity: float) -> np.float64: ...
    @overload
    def standard_error(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def standard_error(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the standard error of the estimate, the square root of `variance`.

        Parameters
        ----------
        similarity : array_like of float
            True Jaccard similarities s, in [0, 1].

        Returns
        -------
        float64, or ndarray of float64 with the shape of `similarity`

        Raises
        ------
        TypeError, ValueError
            As for `variance`.

        Examples
        --------
        >>> from lshfast.sketch import BBits
        >>> float(BBits(1).standard_error(0.5).round(4))
        0.0765
        """
        return np.asarray(np.sqrt(self.variance(similarity)))[()]

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> NoReturn:
        """Raise TypeError, because the bits of two slots do not tell which of the slots is smaller.

        Parameters
        ----------
        a, b : array_like
            They are not read.

        Raises
        ------
        TypeError
            Always. Merge the full signatures, and pack the result.

        Examples
        --------
        >>> from lshfast import MinHasher, TokenSets
        >>> from lshfast.sketch import BBits
        >>> packer = BBits(2)
        >>> a, b = packer.hasher.sketch(TokenSets.from_sets([["a"], ["b"]]))
        >>> packer.pack(packer.hasher.merge(a, b)).shape
        (4,)
        """
        raise TypeError(
            f"signatures with {self.bits} bits per slot cannot be merged, because the bits do not "
            "tell which slot is smaller: merge the signatures that they were packed from"
        )

    def _equal(self, a: UInt64Array, b: UInt64Array) -> Int32Array:
        """Return the numbers of equal slots, or -1 if either set is empty."""

        def kernel(one: UInt64Array, rows: UInt64Array, equal: Int32Array) -> None:
            kernels.compare_packed(one, rows, self.hasher.num_perm, self.bits, equal)

        return compared(kernel, a, b, 1)[0]

    def _estimates(self, equal: Int32Array) -> Float64Array:
        share = equal / self.hasher.num_perm
        return np.asarray(
            np.where(equal < 0, 0.0, (share - self.chance) / (1 - self.chance))
        )[()]

    def _packed(self, packed: npt.ArrayLike, name: str) -> UInt64Array:
        return checked(
            packed,
            name,
            self,
            np.uint64,
            self.words,
            "packed signatures of ",
            "words a signature",
        )
