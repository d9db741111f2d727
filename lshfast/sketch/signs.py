"""Codes of dense vectors: the signs of their dot products with vectors of ±1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, Seed, SeedField, array_of, check_int
from lshfast._common.rows import int64_range
from lshfast._common.threads import for_each_piece
from lshfast._common.types import AnyArray, Float64Array, Int64Array, UInt64Array
from lshfast.kernels import simhash as kernels
from lshfast.kernels.checksum import checksum
from lshfast.sketch.arrays import made_by
from lshfast.sketch.codes import (
    PIECE_TOKENS,
    ZEROS,
    CodeSketcher,
    Zero,
    as_int64,
    check_sums,
    packed,
    unpacked,
)

MAX_DIM = 2**24


@dataclass(frozen=True)
class SignSketcher(CodeSketcher):
    """Compute codes of dense vectors: the signs of dot products with vectors of ±1.

    Coordinate j of the random vector of a bit is +1 if the hash of token j, as computed by a
    `SimHasher` with the same seed, has the bit. So the code of a vector x of integers is the
    SimHash code of the tokens 0..dim - 1 with weights x. Dot products of integers are exact. Dot
    products of floats are added in float64 from the first to the last coordinate, so they are equal
    on all machines.

    The code of a vector of zeros, and of a vector whose dot products are all zero, is all ones. No
    other vector has this code.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, in 1..2**24.
    bits : int, default 64
        Bits of a code, which is the number of vectors of ±1, in 1..4,096.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.
    zero : {"minus", "plus", "random"}, default "minus"
        The sign of a dot product of zero. Random signs are derived from the signs of the other dot
        products of the vector. Parallel vectors therefore have equal codes, and opposite vectors
        have opposite codes.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.SimHasher : Compute SimHash codes of token sets.
    lshfast.families.SignVectors : Random vectors of ±1, for angles.

    References
    ----------
    M. S. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; D.
    Achlioptas, "Database-friendly random projections", 2003: vectors of ±1.

    Examples
    --------
    >>> from lshfast.sketch import SignSketcher
    >>> sketcher = SignSketcher.of_vectors(
    ...     [[1, -1, 1, 1], [-1, 1, -1, 1], [1, 1, -1, -1]]
    ... )
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
        object.__setattr__(
            self, "bits", check_int("bits", self.bits, 1, kernels.MAX_BITS)
        )
        if self.zero not in ZEROS:
            raise ValueError(
                f"zero must be 'minus', 'plus' or 'random', not {self.zero!r}"
            )
        if self._given is None:
            tokens = np.arange(self.dim, dtype=np.uint64)
            constants = kernels.constants(self.seed, self.words).tolist()
            hashed = [kernels.hashes(tokens, constant) for constant in constants]
            masks = np.ascontiguousarray(np.stack(hashed, axis=1))
        else:
            words = np.frombuffer(self._given, "<u8").astype(np.uint64)
            masks = words.reshape(self.dim, self.words)
        object.__setattr__(self, "_masks", masks)

    def __repr__(self) -> str:
        settings = (
            f"dim={self.dim}, bits={self.bits}, seed={self.seed}, zero={self.zero!r}"
        )
        drawn = f"SignSketcher({settings})"
        return (
            drawn
            if self._given is None
            else f"{drawn} of vectors {checksum(self._given):016x}"
        )

    @classmethod
    def of_vectors(
        cls, vectors: npt.ArrayLike, *, zero: Zero = "minus", seed: Seed = 1
    ) -> SignSketcher:
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
            If they do not have two dimensions, contain a number other than +1 and -1, or `bits` or
            `dim` is out of range.

        Examples
        --------
        >>> from lshfast.sketch import SignSketcher
        >>> SignSketcher.of_vectors([[1, 1], [1, -1]]).vectors.tolist()
        [[1, 1], [1, -1]]
        """
        array = array_of(vectors, "vectors")
        if array.dtype.kind not in "iuf":
            raise TypeError(f"vectors must be numbers, +1 and -1, not {array.dtype}")
        if array.ndim != 2:
            raise ValueError(f"vectors must have shape (bits, dim), not {array.shape}")
        wrong_places = np.argwhere(np.abs(array) != 1)
        if len(wrong_places):
            place = tuple(wrong_places[0].tolist())
            raise ValueError(
                f"vectors must be of +1 and -1, and {place} is {array[place]}"
            )
        bits, dim = array.shape
        check_int("bits", bits, 1, kernels.MAX_BITS)
        masks = packed(array.T > 0, -(-bits // 64)).astype("<u8")
        return cls(dim, bits, seed, zero, masks.tobytes())

    @property
    def vectors(self) -> npt.NDArray[np.int8]:
        """The vectors of ±1: int8 (bits, dim)."""
        return np.ascontiguousarray(unpacked(self._masks, self.bits).T)

    @overload
    def dots(
        self, vectors: npt.NDArray[np.integer[Any]], *, threads: int | None = None
    ) -> Int64Array: ...
    @overload
    def dots(
        self, vectors: npt.NDArray[np.floating[Any]], *, threads: int | None = None
    ) -> Float64Array: ...
    @overload
    def dots(
        self, vectors: npt.ArrayLike, *, threads: int | None = None
    ) -> Int64Array | Float64Array: ...
    def dots(
        self, vectors: npt.ArrayLike, *, threads: int | None = None
    ) -> Int64Array | Float64Array:
        """Compute the dot products of vectors with the vectors of ±1.

        Parameters
        ----------
        vectors : array_like of integers or floats, shape (n, dim) or (dim,)
            The absolute values of integers in a row must add up to less than 2**63. Floats must be
            finite; their absolute values must be at most (1 - 2**-28) times the largest float64 /
            dim, so that no sum overflows.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of int64 or float64, shape (n, bits) or (bits,)

        Raises
        ------
        TypeError
            If the vectors are neither integers nor floats of at most 64 bits.
        ValueError
            If they have a different shape, or a coordinate or the sum of a row is out of range. NaN
            is out of range.

        Examples
        --------
        >>> from lshfast.sketch import SignSketcher
        >>> SignSketcher.of_vectors([[1, 1], [1, -1]]).dots([[2, 1], [0.5, 3]]).tolist()
        [[3.0, 1.0], [3.5, -2.5]]
        """
        array = self._vectors(vectors)
        rows = array.reshape(-1, self.dim)
        dots = np.empty((len(rows), self.bits), rows.dtype)

        def work(part: slice) -> None:
            dots[part] = self._dots(rows[part])

        for_each_piece(
            work,
            np.full(len(rows), self.dim + self.bits, np.int64),
            PIECE_TOKENS,
            threads,
        )
        return dots.reshape(*array.shape[:-1], self.bits)

    def sketch(
        self, vectors: npt.ArrayLike, *, threads: int | None = None
    ) -> UInt64Array:
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
        >>> from lshfast.sketch import SignSketcher
        >>> sketcher = SignSketcher.of_vectors([[1, 1], [1, -1]])
        >>> sketcher.sketch([[2, 1], [1, 2]]).tolist()
        [[3], [1]]
        """
        array = self._vectors(vectors)
        rows = array.reshape(-1, self.dim)
        codes = np.empty((len(rows), self.words), np.uint64)

        def work(part: slice) -> None:
            codes[part] = self._settled(self._dots(rows[part]), self.zero, self.seed)

        for_each_piece(
            work,
            np.full(len(rows), self.dim + self.bits, np.int64),
            PIECE_TOKENS,
            threads,
        )
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
        >>> from lshfast.sketch import SignSketcher
        >>> sketcher = SignSketcher.of_vectors([[1, 1], [1, -1]])
        >>> sketcher.signs(sketcher.sketch([[2, 1], [1, 2], [0, 0]])).tolist()
        [[1, 1], [1, -1], [0, 0]]
        """
        array = self._codes(codes, "codes")
        signs = unpacked(array, self.bits) * ~self.is_empty(array)[..., None]
        return np.asarray(signs, np.int8)

    def _dots(self, rows: AnyArray) -> AnyArray:
        dots = np.empty((len(rows), 64 * self.words), rows.dtype)
        kernel = kernels.dots if rows.dtype == np.int64 else kernels.dots_of_doubles
        kernel(rows, self._masks, dots)
        return dots[:, : self.bits]

    def _vectors(self, vectors: npt.ArrayLike) -> AnyArray:
        """Return vectors as int64 or float64; raise an error if dot products may overflow."""
        array = array_of(vectors, "vectors")
        if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
            raise TypeError(
                f"vectors must be integers or floats of up to 64 bits, not {array.dtype}"
            )
        if array.ndim not in (1, 2) or array.shape[-1] != self.dim:
            raise ValueError(
                f"vectors must have shape (n, {self.dim}) or ({self.dim},), not {array.shape}"
            )
        if array.dtype.kind == "f":
            array = np.ascontiguousarray(array, np.float64)
            # Rounding adds at most 2**-29 of a sum.
            most = np.finfo(np.float64).max / self.dim * (1 - 2**-28)
            wrong_places = np.argwhere(~(np.abs(array) <= most))
            if len(wrong_places):
                place = tuple(wrong_places[0].tolist())
                raise ValueError(
                    f"vectors must be in -{most:.4g}..{most:.4g}, and {place} is {array[place]}"
                )
            return array
        array = as_int64(array, "vectors")
        offsets = int64_range(array.size // self.dim + 1) * self.dim
        check_sums(offsets, array.ravel(), "vectors")
        return array
