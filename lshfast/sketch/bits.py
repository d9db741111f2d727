"""b-bit MinHash: signatures of a few bits a slot, made from full ones, many times smaller and quicker to compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, overload

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import for_each_piece, ordered_map, thread_count
from lshfast.kernels import bits as kernels
from lshfast.sketch.arrays import checked, made_by
from lshfast.sketch.compare import Int32Array, best_rows, compared
from lshfast.sketch.minhash import MinHasher, check_signatures
from lshfast.sketch.sketcher import check_token_sets
from lshfast.tokens import AnyShape, Float64Array, Int64Array, Matrix, TokenSets, UInt64Array, Vector, numbers_of

WIDTHS = (1, 2, 4, 8, 16)

# Work of a thread at a time: of one that packs, and of one that sketches and packs.
PIECE_SLOTS = 1 << 20
PIECE_SETS = 1 << 12


@dataclass(frozen=True)
class BBits:
    """Pack MinHash signatures into b bits a slot, and estimate similarities from these (Li and Koenig 2010).

    A slot keeps the lowest b bits of its mixed value, so that slots which differ agree by chance with probability
    C = 2**-b, whatever the sets are. Of slots that agree with probability P = C + (1 - C) s at Jaccard similarity s,
    the share p found gives the unbiased estimate (p - C) / (1 - C). At s = 1/2 a signature of 1 bit a slot needs three
    times as many slots for the same error as one of 64 bits, and so 21 times less memory.

    Parameters
    ----------
    bits : {1, 2, 4, 8, 16}
        Bits a slot, b.
    hasher : MinHasher, default MinHasher()
        Of the signatures: either scheme, any length and seed. Those of others are refused.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Notes
    -----
    An empty set equals nothing, another empty set included; its words are all 2**64 - 1. Packed signatures cannot be
    merged, since which slot was the lesser is no longer known, and cannot be banded: pack what was merged and banded.

    Examples
    --------
    >>> from lshfast import BBits, MinHasher, TokenSets
    >>> packer = BBits(2, MinHasher(1024))
    >>> packed = packer.sketch(TokenSets.from_sets([range(0, 80), range(20, 100), range(500, 600), []]))
    >>> packed.shape, packed.dtype
    ((4, 32), dtype('uint64'))
    >>> bool(abs(packer.similarity(packed[0], packed[1]) - 0.6) < 4 * packer.standard_error(0.6))
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
            raise ValueError(f"bits must be one of {', '.join(map(str, WIDTHS))}, not {self.bits}")
        object.__setattr__(self, "bits", int(self.bits))
        if not isinstance(self.hasher, MinHasher):
            raise TypeError(f"hasher must be a MinHasher, not {self.hasher!r}")

    @property
    def words(self) -> int:
        """Words of 64 bits a packed signature."""
        return kernels.words_of(self.hasher.num_perm, self.bits)

    @property
    def chance(self) -> float:
        """The probability that slots which differ agree in their bits, C = 2**-b."""
        return 0.5**self.bits

    def sketch(self, sets: TokenSets, *, threads: int | None = None) -> Matrix[np.uint64]:
        """Return the packed signatures of the sets, as `pack` does, without keeping the full ones.

        Parameters
        ----------
        sets : TokenSets
            n rows.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, words)
        """
        check_token_sets(sets)
        packed = np.empty((len(sets), self.words), np.uint64)

        def work(rows: slice) -> None:
            part = TokenSets(sets.offsets[rows.start : rows.stop + 1], sets.tokens)
            kernels.pack(self.hasher.sketch(part, threads=1), self.bits, packed[rows])

        for_each_piece(work, np.ones(len(sets), np.int64), PIECE_SETS, threads)
        return made_by(self, packed)

    def pack(self, signatures: npt.ArrayLike, *, threads: int | None = None) -> UInt64Array:
        """Return the packed form of signatures.

        Parameters
        ----------
        signatures : array_like of uint64, shape (n, num_perm) or (num_perm,)
            Of `hasher`; plain arrays are taken on trust.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, words) or (words,)
            That know this BBits, as `hasher`.

        Raises
        ------
        TypeError
            If they are not uint64.
        ValueError
            If they have another number of slots, or are known to be another sketcher's.
        """
        array = check_signatures(signatures, self.hasher)
        rows = np.require(array, requirements=("C", "A")).reshape(-1, self.hasher.num_perm)
        packed = np.empty((len(rows), self.words), np.uint64)

        def work(part: slice) -> None:
            kernels.pack(rows[part], self.bits, packed[part])

        for_each_piece(work, np.full(len(rows), rows.shape[1], np.int64), PIECE_SLOTS, threads)
        return made_by(self, packed.reshape(*array.shape[:-1], self.words))

    @overload
    def similarity(self, a: AnyShape[np.uint64], b: npt.ArrayLike) -> Any: ...
    @overload
    def similarity(self, a: npt.ArrayLike, b: AnyShape[np.uint64]) -> Any: ...
    @overload
    def similarity(self, a: Vector[np.uint64], b: Vector[np.uint64]) -> np.float64: ...
    @overload
    def similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array: ...
    def similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the estimated Jaccard similarity of packed signatures, row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., words)
            Packed signatures; one may be broadcast against many.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            At most 1, and below 0 where fewer slots agree than would by chance: so it is without bias. 0 where either
            set is empty.

        Raises
        ------
        TypeError
            If they are not uint64.
        ValueError
            If they have another number of words, other numbers of rows, or are known to be of another BBits.
        """
        return self._estimates(self._equal(self._packed(a, "a"), self._packed(b, "b")))

    def top(
        self, queries: npt.ArrayLike, packed: npt.ArrayLike, most: int, *, threads: int | None = None
    ) -> tuple[Int64Array, Float64Array]:
        """Return the rows most similar to a query, or to each of many, by comparison with all of them.

        Parameters
        ----------
        queries : array_like of uint64, shape (words,) or (m, words)
        packed : array_like of uint64, shape (n, words)
        most : int
            At least 1: rows to return for a query.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        rows : ndarray of int64, shape (min(most, n),) or (m, min(most, n))
            Best first, and the smaller row first of two that are equally similar. Empty sets are in no answer; where
            there are not enough others, an answer ends in -1.
        similarity : ndarray of float64, of the same shape
            Estimates as `similarity` gives them; 0 beside -1.

        Raises
        ------
        TypeError, ValueError
            If `most` is no int of at least 1, or the signatures are such as `similarity` refuses or have other
            dimensions.
        """
        queries, packed = self._packed(queries, "queries"), self._packed(packed, "packed")
        if queries.ndim > 2 or packed.ndim != 2:
            raise ValueError(
                f"queries must have one or two dimensions and packed two, not {queries.ndim} and {packed.ndim}"
            )
        if isinstance(most, bool) or not isinstance(most, (int, np.integer)):
            raise TypeError(f"most must be an int, not {most!r}")
        if most < 1:
            raise ValueError(f"most must be at least 1, not {most}")
        asked = queries.reshape(-1, self.words)
        rows = np.full((len(asked), min(int(most), len(packed))), -1, np.int64)
        equal = np.full(rows.shape, -1, np.int32)
        packed = np.require(packed, requirements=("C", "A"))

        def work(query: int) -> None:
            counts = self._equal(asked[query], packed)
            best = best_rows(counts, rows.shape[1])
            rows[query, : len(best)] = best
            equal[query, : len(best)] = counts[best]

        for _ in ordered_map(work, range(len(asked)), thread_count(threads)):
            pass
        shape = (*queries.shape[:-1], rows.shape[1])
        return rows.reshape(shape), self._estimates(equal.reshape(shape))

    @overload
    def variance(self, similarity: float) -> np.float64: ...
    @overload
    def variance(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def variance(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the variance of the estimate, P (1 - P) / (k (1 - C)**2) with P = C + (1 - C) s.

        That is for the scheme ``classic``, whose slots are independent; with ``fast`` it is at most that.

        Parameters
        ----------
        similarity : array_like of float
            True Jaccard similarities s, in [0, 1].

        Returns
        -------
        float64 or ndarray of float64
            Of the same shape.

        Raises
        ------
        TypeError, ValueError
            If they are no numbers, or out of range.
        """
        p = self.chance + (1 - self.chance) * numbers_of(similarity, "similarity", 0, 1)
        return np.asarray(p * (1 - p) / (self.hasher.num_perm * (1 - self.chance) ** 2))[()]

    @overload
    def standard_error(self, similarity: float) -> np.float64: ...
    @overload
    def standard_error(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def standard_error(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the standard error of the estimate at a similarity in [0, 1]: the square root of `variance`."""
        return np.asarray(np.sqrt(self.variance(similarity)))[()]

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> NoReturn:
        """Raise TypeError: from the bits of two slots it cannot be told which was the least of the union."""
        raise TypeError(
            f"signatures of {self.bits} bits a slot cannot be merged: which slot was the lesser is no longer known; "
            "merge the signatures that they were packed from"
        )

    def _equal(self, a: UInt64Array, b: UInt64Array) -> Int32Array:
        """Return the numbers of equal slots, -1 where either set is empty."""

        def kernel(one: UInt64Array, rows: UInt64Array, equal: Int32Array) -> None:
            kernels.compare_packed(one, rows, self.hasher.num_perm, self.bits, equal)

        return compared(kernel, a, b, 1)[0]

    def _estimates(self, equal: Int32Array) -> Float64Array:
        share = equal / self.hasher.num_perm
        return np.asarray(np.where(equal < 0, 0.0, (share - self.chance) / (1 - self.chance)))[()]

    def _packed(self, packed: npt.ArrayLike, name: str) -> UInt64Array:
        return checked(packed, name, self, np.uint64, self.words, "packed signatures of ", "words a signature")
