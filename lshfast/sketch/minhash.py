"""MinHash: signatures whose slots agree with probability equal to the Jaccard similarity of the sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map, thread_count
from lshfast.kernels import sketch as kernels
from lshfast.shingling import pieces
from lshfast.sketch.arrays import MadeArray, checked
from lshfast.sketch.compare import equal_slots, fitted
from lshfast.tokens import SEED, Float64Array, SeedField, TokenSets, UInt64Array, array_of, check_int

Scheme: TypeAlias = Literal["fast", "classic"]

EMPTY = np.uint64(2**64 - 1)
UINT64 = np.dtype(np.uint64)

# Tokens a piece of work.
PIECE = 1 << 17


class Signatures(MadeArray):
    """Signatures that know who made them: an array of uint64, (n, num_perm), whose rows and slices know it too.

    Whatever is computed from them is a plain array again; what is written into them in place leaves them their maker's
    name, though they are no longer what it says: write into a plain copy, ``np.array(signatures)``. What takes
    signatures refuses those of another `MinHasher`; plain arrays are taken on trust.

    Attributes
    ----------
    hasher : MinHasher, OnePermutation, BBits or None

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> signatures = MinHasher(seed=7).sketch(TokenSets.from_sets([["a"], ["b"]]))
    >>> signatures[0].hasher
    MinHasher(num_perm=128, scheme='fast', seed=7)
    >>> type(signatures == signatures[0]).__name__
    'ndarray'
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return signatures_of, (np.asarray(self), self.hasher)


def signatures_of(array: UInt64Array, hasher: Any) -> UInt64Array:
    """Return an array as the signatures of a MinHasher, or of what else makes signatures."""
    made: Signatures = np.asarray(array).view(Signatures)
    made.hasher = hasher
    return made


def check_for_bands(signatures: npt.ArrayLike, name: str = "signatures") -> None:
    """Raise ValueError, and say why, if signatures are known to be such as must not be banded or indexed."""
    hasher = getattr(signatures, "hasher", None)
    reason = getattr(hasher, "not_for_bands", None)
    if reason is not None:
        raise ValueError(f"{name} are of {hasher}: {reason}")


def check_signatures(signatures: npt.ArrayLike, hasher: MinHasher, name: str = "signatures") -> UInt64Array:
    """Return signatures as a plain, contiguous array, (n, num_perm) or (num_perm,), or say why they are none.

    Raises
    ------
    TypeError
        If they are not uint64.
    ValueError
        If they have another number of slots, or are known to be another sketcher's.
    """
    if type(signatures) is np.ndarray and kernels.is_signature(signatures, hasher.num_perm):
        return signatures
    plain = type(signatures) is np.ndarray
    if not plain:
        check_for_bands(signatures, name)
    array = array_of(signatures, name)
    if array.dtype is not UINT64 and array.dtype != UINT64:
        raise TypeError(f"{name} must be uint64, not {array.dtype}")
    if array.ndim not in (1, 2) or array.shape[-1] != hasher.num_perm:
        raise ValueError(f"{name} must have num_perm = {hasher.num_perm} slots each, not shape {array.shape}")
    other = None if plain else getattr(signatures, "hasher", None)
    if other is not None and other != hasher:
        for what in ("scheme", "seed"):
            mine, theirs = getattr(hasher, what), getattr(other, what, None)
            if mine != theirs:
                raise ValueError(f"{name} are of {what} {theirs!r}; {mine!r} is needed here")
        raise ValueError(f"{name} are of {other}, not of {hasher}")
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def own_signatures(signatures: npt.ArrayLike, hasher: Any, name: str) -> UInt64Array:
    """Return signatures of a sketcher, (..., num_perm), as a plain array, or say why they are none."""
    return checked(signatures, name, hasher, np.uint64, hasher.num_perm, "signatures of ", "slots a signature")


def merged(a: npt.ArrayLike, b: npt.ArrayLike, hasher: Any) -> UInt64Array:
    """Return the slot-wise minimum of two arrays of a sketcher's signatures."""
    left, right = own_signatures(a, hasher, "a"), own_signatures(b, hasher, "b")
    fitted(left, right, "merged")
    return signatures_of(np.minimum(left, right), hasher)


@dataclass(frozen=True)
class MinHasher:
    """Sketch token sets into MinHash signatures.

    Both schemes give an unbiased estimate of the Jaccard similarity, with 64-bit slots, and merge by the slot-wise
    minimum. ``fast`` (Fast Similarity Sketching, Dahlgaard, Knudsen and Thorup 2017, with bounded rounds) takes
    O(n + k log k) steps for a set of n tokens and has half the variance of the other for n <= k; ``classic`` (k
    independent functions a x + b mod 2**61 - 1, Broder 1997) takes n k. Signatures of different schemes, lengths or
    seeds mean nothing to each other.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a signature, k: 1 to 65,536. The standard error at similarity s is at most sqrt(s (1 - s) / k).
    scheme : {"fast", "classic"}, default "fast"
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random" the operating system draws the number, which `seed` then holds.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> hasher = MinHasher(num_perm=256)
    >>> signatures = hasher.sketch(TokenSets.from_sets([range(0, 80), range(20, 100)]))
    >>> signatures.shape, signatures.dtype
    ((2, 256), dtype('uint64'))
    >>> bool(abs(hasher.similarity(signatures[0], signatures[1]) - 0.6) < 0.1)
    True
    """

    num_perm: int = 128
    scheme: Scheme = "fast"
    seed: SeedField = SEED
    _constants: tuple[UInt64Array, UInt64Array] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_perm", check_int("num_perm", self.num_perm, 1, kernels.MAX_NUM_PERM))
        if self.scheme not in ("fast", "classic"):
            raise ValueError(f"scheme must be 'fast' or 'classic', not {self.scheme!r}")
        draw = kernels.fast_constants if self.scheme == "fast" else kernels.classic_constants
        object.__setattr__(self, "_constants", draw(self.seed, self.num_perm))

    def sketch(self, sets: TokenSets, *, threads: int | None = None) -> UInt64Array:
        """Return the signatures of the sets.

        Parameters
        ----------
        sets : TokenSets
            n rows. Repeated tokens and their order change nothing.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.

        Returns
        -------
        Signatures, an ndarray of uint64, shape (n, num_perm)
            An empty set's row is all 2**64 - 1.
        """
        if not isinstance(sets, TokenSets):
            raise TypeError(f"sets must be TokenSets (see TokenSets.from_sets), not {type(sets).__name__}")
        kernel = kernels.fast if self.scheme == "fast" else kernels.classic
        signatures = np.empty((len(sets), self.num_perm), np.uint64)

        def work(rows: slice) -> None:
            offsets = sets.offsets[rows.start : rows.stop + 1]
            kernel(offsets, sets.tokens, *self._constants, signatures[rows])

        for _ in ordered_map(work, pieces(sets.counts, PIECE), thread_count(threads)):
            pass
        return signatures_of(signatures, self)

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> UInt64Array:
        """Return the signatures of the unions: the slot-wise minimum.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., num_perm)
            Signatures; one may be broadcast against many.

        Returns
        -------
        Signatures, an ndarray of uint64, shape (..., num_perm)
            An array of its own, whatever a and b are.

        Raises
        ------
        TypeError
            If they are not uint64.
        ValueError
            If they have another number of slots, other numbers of rows, or are known to be another sketcher's.

        Examples
        --------
        >>> from lshfast import MinHasher, TokenSets
        >>> sketcher = MinHasher(16)
        >>> a, b, both = sketcher.sketch(TokenSets.from_sets([[1, 2], [2, 3], [1, 2, 3]]))
        >>> bool((sketcher.merge(a, b) == both).all())
        True
        """
        return merged(a, b, self)

    def similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array:
        """Return the estimated Jaccard similarity of signatures, row by row.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., num_perm)
            Signatures; one may be broadcast against many.

        Returns
        -------
        float64 or ndarray of float64, shape (...)
            In [0, 1]; 0 where either set is empty.

        Raises
        ------
        TypeError, ValueError
            As by `merge`.
        """
        a, b = own_signatures(a, self, "a"), own_signatures(b, self, "b")
        return np.asarray(equal_slots(a, b) / self.num_perm)[()]
