"""`SlotSketcher`, the base class of sketchers whose signatures have 64-bit slots."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import for_each_piece
from lshfast._common.types import (
    AnyShape,
    Float64Array,
    Int64Array,
    Matrix,
    UInt64Array,
    Vector,
)
from lshfast.sketch.arrays import checked, made_by
from lshfast.sketch.compare import equal_slots, fitted
from lshfast.tokens import TokenSets

Sets = TypeVar("Sets", bound=Any)

# Tokens in one piece of work. The constants and signatures stay in the cache.
PIECE_TOKENS = 1 << 17


def check_token_sets(sets: Any) -> None:
    """Raise TypeError, with advice, if these are not TokenSets."""
    if not isinstance(sets, TokenSets):
        raise TypeError(
            f"sets must be TokenSets (see TokenSets.from_sets), not {type(sets).__name__}"
        )


class SlotSketcher(Generic[Sets]):
    """Base class of sketchers of `num_perm` slots, whose equal share estimates a similarity.

    A subclass defines which sets it takes, the cost of a row, and how signatures are computed.
    """

    num_perm: int

    def sketch(self, sets: Sets, *, threads: int | None = None) -> Matrix[np.uint64]:
        """Compute the signatures of sets.

        Parameters
        ----------
        sets : TokenSets, or WeightedSets for a `WeightedMinHasher`
            n rows. The order of the tokens in a row, and repetitions in TokenSets, do not change
            the signature.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, num_perm)
            All slots of an empty set, and slots without a value, are 2**64 - 1.

        Raises
        ------
        TypeError
            If `sets` or `threads` has the wrong type.
        ValueError
            If `threads` is less than 1.

        Examples
        --------
        >>> from lshfast import MinHasher, TokenSets
        >>> MinHasher(16).sketch(TokenSets.from_sets([["a", "b"], []])).shape
        (2, 16)
        """
        self._check_sets(sets)
        signatures = np.empty((len(sets), self.num_perm), np.uint64)
        for_each_piece(
            lambda rows: self._fill(sets, rows, signatures[rows]),
            self._costs(sets),
            PIECE_TOKENS,
            threads,
        )
        return made_by(self, signatures)

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> UInt64Array:
        """Merge signatures row by row, by the slot-wise minimum.

        The result is the signature of the union of two sets. For weighted sets, it is the signature
        of the set with the greater weight of each token.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., num_perm)
            Signatures. Their leading dimensions are broadcast.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (..., num_perm)
            A new array.

        Raises
        ------
        TypeError
            If the signatures are not uint64.
        ValueError
            If they have a different number of slots, their numbers of rows do not match, a
            different sketcher made them, or signatures of this scheme cannot be merged.

        Examples
        --------
        >>> from lshfast import MinHasher, TokenSets
        >>> sketcher = MinHasher(16)
        >>> a, b, both = sketcher.sketch(
        ...     TokenSets.from_sets([[1, 2], [2, 3], [1, 2, 3]])
        ... )
        >>> bool((sketcher.merge(a, b) == both).all())
        True
        """
        left_signatures = self._own(a, "a")
        right_signatures = self._own(b, "b")
        fitted(left_signatures, right_signatures, "merged")
        return made_by(self, np.minimum(left_signatures, right_signatures))

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
        """Estimate the similarity of signatures, row by row, by the share of equal slots.

        For sets it is the Jaccard similarity, for weighted sets sum min / sum max of the weights. A
        `OnePermutation` ignores slots that have no value in both signatures.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., num_perm)
            Signatures. Their leading dimensions are broadcast.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [0, 1]; 0 if either set is empty.

        Raises
        ------
        TypeError
            If the signatures are not uint64.
        ValueError
            If they have a different number of slots, their numbers of rows do not match, or a
            different sketcher made them.

        Examples
        --------
        >>> from lshfast import MinHasher, TokenSets
        >>> hasher = MinHasher()
        >>> signatures = hasher.sketch(TokenSets.from_sets([["a"], ["a"], ["b"], []]))
        >>> hasher.similarity(signatures[0], signatures).tolist()
        [1.0, 1.0, 0.0, 0.0]
        """
        return np.asarray(self._shares(self._own(a, "a"), self._own(b, "b")))[()]

    def _check_sets(self, sets: Sets) -> None:
        check_token_sets(sets)

    def _costs(self, sets: Sets) -> Int64Array:
        """Return the cost of each row, in tokens."""
        return np.asarray(sets.counts)

    def _fill(self, sets: Sets, rows: slice, signatures: UInt64Array) -> None:
        """Write the signatures of some rows."""
        raise NotImplementedError

    def _shares(self, a: UInt64Array, b: UInt64Array) -> Float64Array:
        """Return the share of equal slots, row by row."""
        return equal_slots(a, b) / self.num_perm

    def _own(self, signatures: npt.ArrayLike, name: str) -> UInt64Array:
        """Return signatures of this sketcher, (..., num_perm), as a plain array."""
        return checked(
            signatures,
            name,
            self,
            np.uint64,
            self.num_perm,
            "signatures of ",
            "slots a signature",
        )
