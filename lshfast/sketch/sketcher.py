"""What sketchers share: checks of what they made, and all that signatures of 64-bit slots have in common."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import for_each_piece
from lshfast.sketch.arrays import checked, made_by
from lshfast.sketch.compare import equal_slots, fitted
from lshfast.tokens import AnyShape, Float64Array, Int64Array, Matrix, TokenSets, UInt64Array, Vector

Sets = TypeVar("Sets", bound=Any)

# Work of a thread at a time: its constants and signatures stay in the cache.
PIECE_TOKENS = 1 << 17


def check_token_sets(sets: Any) -> None:
    """Raise TypeError, with advice, if these are no TokenSets."""
    if not isinstance(sets, TokenSets):
        raise TypeError(f"sets must be TokenSets (see TokenSets.from_sets), not {type(sets).__name__}")


class SlotSketcher(Generic[Sets]):
    """A maker of signatures of `num_perm` slots, whose share of equal slots estimates a similarity.

    A subclass says which sets it takes, what a row of them costs, and how rows are filled.
    """

    num_perm: int

    def sketch(self, sets: Sets, *, threads: int | None = None) -> Matrix[np.uint64]:
        """Return the signatures of the sets.

        Parameters
        ----------
        sets : TokenSets, or WeightedSets for a sketcher of weights
            n rows. The order of a row's tokens does not matter; nor do repetitions in TokenSets.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (n, num_perm)
            A slot without a value is 2**64 - 1; so are all slots of an empty set.

        Raises
        ------
        TypeError
            If the sets or `threads` are of the wrong kind.
        ValueError
            If `threads` is below 1.
        """
        self._check_sets(sets)
        signatures = np.empty((len(sets), self.num_perm), np.uint64)
        for_each_piece(lambda rows: self._fill(sets, rows, signatures[rows]), self._costs(sets), PIECE_TOKENS, threads)
        return made_by(self, signatures)

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> UInt64Array:
        """Return the slot-wise minimum: the signatures of the unions, or of the greater weight of each token.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., num_perm)
            Signatures; one may be broadcast against many.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (..., num_perm)
            A new array.

        Raises
        ------
        TypeError
            If they are not uint64.
        ValueError
            If they have another number of slots, other numbers of rows, or are known to be another sketcher's; or if
            signatures of this scheme cannot be merged.

        Examples
        --------
        >>> from lshfast import MinHasher, TokenSets
        >>> sketcher = MinHasher(16)
        >>> a, b, both = sketcher.sketch(TokenSets.from_sets([[1, 2], [2, 3], [1, 2, 3]]))
        >>> bool((sketcher.merge(a, b) == both).all())
        True
        """
        left, right = self._own(a, "a"), self._own(b, "b")
        fitted(left, right, "merged")
        return made_by(self, np.minimum(left, right))

    @overload
    def similarity(self, a: AnyShape[np.uint64], b: npt.ArrayLike) -> Any: ...
    @overload
    def similarity(self, a: npt.ArrayLike, b: AnyShape[np.uint64]) -> Any: ...
    @overload
    def similarity(self, a: Vector[np.uint64], b: Vector[np.uint64]) -> np.float64: ...
    @overload
    def similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array: ...
    def similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the estimated similarity of signatures, row by row: the share of equal slots.

        Of one permutation, only slots with a value on either side count.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., num_perm)
            Signatures; one may be broadcast against many.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [0, 1]; 0 where either set is empty. The Jaccard similarity of sets, or sum min / sum max of weights.

        Raises
        ------
        TypeError
            If they are not uint64.
        ValueError
            If they have another number of slots, other numbers of rows, or are known to be another sketcher's.
        """
        return np.asarray(self._shares(self._own(a, "a"), self._own(b, "b")))[()]

    def _check_sets(self, sets: Sets) -> None:
        check_token_sets(sets)

    def _costs(self, sets: Sets) -> Int64Array:
        """Return what each row costs, in tokens."""
        return np.asarray(sets.counts)

    def _fill(self, sets: Sets, rows: slice, signatures: UInt64Array) -> None:
        """Write the signatures of some rows."""
        raise NotImplementedError

    def _shares(self, a: UInt64Array, b: UInt64Array) -> Float64Array:
        """Return the share of equal slots of signatures, row by row."""
        return equal_slots(a, b) / self.num_perm

    def _own(self, signatures: npt.ArrayLike, name: str) -> UInt64Array:
        """Return signatures of this sketcher, (..., num_perm), as a plain array, or say why they are none."""
        return checked(signatures, name, self, np.uint64, self.num_perm, "signatures of ", "slots a signature")
