"""Weighted sets, and signatures whose equal slots estimate sum min / sum max of weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import checked_column
from lshfast._common.checks import SEED, SeedField, array_of, check_int
from lshfast._common.rows import int64_range, offsets_of, run_begins
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.kernels import sets as set_kernels
from lshfast.kernels import sketch as slot_kernels
from lshfast.kernels import weighted as kernels
from lshfast.sketch.arrays import made_by
from lshfast.sketch.minhash import MinHasher
from lshfast.sketch.sketcher import PIECE_TOKENS, SlotSketcher, check_token_sets
from lshfast.tokens import TokenSets

WeightedScheme: TypeAlias = Literal["shells", "icws"]

# The most pairs of all rows together that multisets are expanded into: 2 GiB of tokens if they are
# in one row.
MOST_PAIRS = 1 << 28


class WeightedSets:
    """Store rows of 64-bit tokens with weights.

    Row i is the slice ``offsets[i] : offsets[i + 1]`` of both arrays.

    If a row repeats a token, its weights are added. Tokens of weight 0 are removed. So each row has
    distinct tokens with weights above 0. The object is immutable and can be shared between threads.
    The arrays are copied, so later writes to the original arrays have no effect.

    Parameters
    ----------
    offsets : array_like of int64, shape (n + 1,)
        Start of each row, then the end of the last one. Non-decreasing, in 0..m.
    tokens : array_like of uint64, shape (m,)
        Tokens of all rows. They need not be hashes: every scheme mixes them first.
    weights : array_like of float64, shape (m,)
        Finite and at least 0.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    tokens : ndarray of uint64
    weights : ndarray of float64

    Raises
    ------
    TypeError
        If the weights are not numbers, or the other arrays do not contain integers.
    ValueError
        If a weight is NaN, negative or infinite (the error names its row and position), the weights
        of a token add up to more than a float64 can hold, or the offsets are not valid.

    See Also
    --------
    lshfast.WeightedMinHasher : Compute signatures of weighted sets.
    lshfast.TokenSets : Sets of tokens, as two arrays.

    Examples
    --------
    >>> from lshfast.sketch.weighted import WeightedSets
    >>> sets = WeightedSets([0, 3, 4], [7, 8, 7, 9], [1.0, 0.5, 2.0, 0.0])
    >>> len(sets), sets.counts.tolist(), sets.totals.tolist()
    (2, [2, 0], [3.5, 0.0])
    """

    __slots__ = ("offsets", "tokens", "weights")

    offsets: Int64Array
    tokens: UInt64Array
    weights: Float64Array

    def __init__(
        self, offsets: npt.ArrayLike, tokens: npt.ArrayLike, weights: npt.ArrayLike
    ) -> None:
        sets = TokenSets(offsets, tokens)
        sets = TokenSets(sets.offsets.copy(), sets.tokens.copy())
        columns = _add_up(*_without_zeros(sets, _checked_weights(sets, weights)))
        for name, array in zip(self.__slots__, columns, strict=True):
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("WeightedSets is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("WeightedSets is immutable")

    def __reduce__(
        self,
    ) -> tuple[type[WeightedSets], tuple[Int64Array, UInt64Array, Float64Array]]:
        return WeightedSets, (self.offsets, self.tokens, self.weights)

    @classmethod
    def from_sets(
        cls, rows: Iterable[Mapping[Any, float]], *, seed: int = 1
    ) -> WeightedSets:
        """Hash rows of elements with weights into tokens.

        Parameters
        ----------
        rows : iterable of mappings
            Each row maps elements (str, bytes or int, hashed as in `TokenSets.from_sets`) to
            weights, which are finite and at least 0.
        seed : int, default 1
            Seed of the hash, in 0..2**64 - 1. Only sets with the same seed can be compared.

        Returns
        -------
        WeightedSets

        Raises
        ------
        TypeError
            If a row is not a mapping, an element has another type, or a weight is not a number.
        ValueError
            If a weight is NaN, negative or infinite, or an element or the seed is not valid.

        Examples
        --------
        >>> from lshfast.sketch.weighted import WeightedSets
        >>> WeightedSets.from_sets([{"a": 2, "b": 0.5}, {"a": 1}]).totals.tolist()
        [2.5, 1.0]
        """
        if not (hasattr(rows, "__iter__") or hasattr(rows, "__getitem__")):
            raise TypeError(f"rows must be an iterable of mappings, not {rows!r}")
        checked_column(rows, "rows")
        mappings = list(rows)
        for number, row in enumerate(mappings):
            if not isinstance(row, Mapping):
                raise TypeError(
                    f"rows[{number}] is of type {type(row).__name__}, not a mapping of elements "
                    "to weights"
                )
        sets = TokenSets.from_sets([list(row) for row in mappings], seed=seed)
        return cls(
            sets.offsets,
            sets.tokens,
            [weight for row in mappings for weight in row.values()],
        )

    @classmethod
    def from_matrix(cls, matrix: Any) -> WeightedSets:
        """Convert the rows of a matrix; the column numbers are the tokens.

        Parameters
        ----------
        matrix : array_like of float, shape (n, d), or a sparse matrix or array of scipy
            Weights, finite and at least 0. An object with a method `tocsr` is treated as sparse.

        Returns
        -------
        WeightedSets
            n rows.

        Raises
        ------
        TypeError
            If the weights are not numbers.
        ValueError
            If the matrix does not have two dimensions, or a weight is NaN, negative or infinite.
            The error names its row and its position among the non-zero weights of the row.

        Examples
        --------
        >>> from lshfast.sketch.weighted import WeightedSets
        >>> sets = WeightedSets.from_matrix([[0.5, 0, 2], [0, 0, 0]])
        >>> sets.tokens.tolist(), sets.weights.tolist(), sets.counts.tolist()
        ([0, 2], [0.5, 2.0], [2, 0])
        """
        if hasattr(matrix, "tocsr"):
            rows = matrix.tocsr()
            return cls(rows.indptr, rows.indices, rows.data)
        dense = array_of(matrix, "matrix")
        if dense.ndim != 2:
            raise ValueError(f"matrix must have two dimensions, not {dense.ndim}")
        present = dense != 0  # true of NaN
        counts = np.count_nonzero(present, axis=1)
        offsets = offsets_of(counts)
        return cls(offsets, np.nonzero(present)[1], dense[present])

    @classmethod
    def counted(cls, sets: TokenSets) -> WeightedSets:
        """Count the occurrences of each token in each row, and use the counts as weights.

        Parameters
        ----------
        sets : TokenSets
            n rows.

        Returns
        -------
        WeightedSets
            n rows; the weights are whole numbers, at least 1.

        Raises
        ------
        TypeError
            If `sets` are not TokenSets.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> from lshfast.sketch.weighted import WeightedSets
        >>> sets = WeightedSets.counted(TokenSets([0, 3, 3], [7, 8, 7]))
        >>> dict(zip(sets.tokens.tolist(), sets.weights.tolist())), sets.counts.tolist()
        ({7: 2.0, 8: 1.0}, [2, 0])
        """
        check_token_sets(sets)
        return cls(sets.offsets, sets.tokens, np.ones(len(sets.tokens)))

    @property
    def counts(self) -> Int64Array:
        """Number of tokens of each row: int64 (n,)."""
        return np.diff(self.offsets)

    @property
    def totals(self) -> Float64Array:
        """Sum of the weights of each row, float64 (n,); inf if a float64 cannot hold it."""
        totals = np.zeros(len(self))
        rows = np.repeat(int64_range(len(self)), self.counts)
        with np.errstate(over="ignore"):
            np.add.at(totals, rows, self.weights)
        return totals

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"WeightedSets({len(self)} rows, {len(self.tokens)} tokens)"

    def pairs(self, *, most: int = MOST_PAIRS) -> TokenSets:
        """Expand each token x of weight w into the pairs (x, 1), ..., (x, w), as token sets.

        The Jaccard similarity of two such sets is sum min / sum max of the weights. Their union has
        the greater weight of each token. All functions on sets can be used. The pair (x, 1) is the
        token x itself, so rows whose weights are all 1 do not change.

        Parameters
        ----------
        most : int, default 2**28
            The most pairs of all rows together, in 0..2**48 - 1. It limits memory and time.

        Returns
        -------
        TokenSets

        Raises
        ------
        TypeError
            If `most` is not an int.
        ValueError
            If `most` is out of range, a weight is not a whole number, or there are more than `most`
            pairs.

        Examples
        --------
        >>> from lshfast.sketch.weighted import WeightedSets
        >>> WeightedSets([0, 2], [5, 6], [3, 1]).pairs().counts.tolist()
        [4]
        """
        counts = self._whole(most)
        offsets = offsets_of(counts)[self.offsets]
        return TokenSets(offsets, kernels.multisets(self.tokens, counts))

    def _whole(self, most: int) -> Int64Array:
        check_int("most", most, 0, 2**48 - 1)
        fractional_places = np.flatnonzero(self.weights % 1)
        if len(fractional_places):
            place = fractional_places[0]
            raise ValueError(
                f"weights must be whole numbers, not {self.weights[place]}{self._at(place)}"
            )
        with np.errstate(over="ignore"):
            total = self.weights.sum()
        if total > most:
            raise ValueError(
                f"weights add up to {total:.17g} pairs, more than most = {most}: scale them down, "
                "or use WeightedMinHasher, which takes no longer for large weights"
            )
        return self.weights.astype(np.int64)

    def _at(self, place: int) -> str:
        return _place(self.offsets, place)


def _place(offsets: Int64Array, place: int) -> str:
    row = int(np.searchsorted(offsets, place, side="right")) - 1
    return f" in row {row}, at place {place - offsets[row]}"


def _checked_weights(sets: TokenSets, weights: npt.ArrayLike) -> Float64Array:
    array = array_of(weights, "weights")
    if array.ndim != 1 or len(array) != len(sets.tokens):
        raise ValueError(
            f"weights must have one number per token, shape {sets.tokens.shape}, not {array.shape}"
        )
    if len(array) and array.dtype.kind not in "iuf":
        raise TypeError(f"weights must be numbers, not {array.dtype}")
    with np.errstate(over="ignore"):
        array = np.array(array, np.float64)
    first = sets.offsets[0]
    last = sets.offsets[-1]
    row_weights = array[first:last]
    wrong_places = np.flatnonzero(~((row_weights >= 0) & (row_weights < np.inf)))
    if len(wrong_places):
        place = int(wrong_places[0])
        where = _place(sets.offsets - first, place)
        raise ValueError(
            f"weights must be finite and at least 0, not {row_weights[place]}{where}"
        )
    return array


def _without_zeros(
    sets: TokenSets, weights: Float64Array
) -> tuple[Int64Array, UInt64Array, Float64Array]:
    """Return (offsets from 0, tokens, weights) of the tokens with weights above 0."""
    first = sets.offsets[0]
    last = sets.offsets[-1]
    offsets = sets.offsets - first
    tokens = sets.tokens[first:last]
    weights = weights[first:last]
    present = weights > 0
    if present.all():
        return offsets, tokens, weights
    ends = offsets_of(present)
    return ends[offsets], tokens[present], weights[present]


def _add_up(
    offsets: Int64Array, tokens: UInt64Array, weights: Float64Array
) -> tuple[Int64Array, UInt64Array, Float64Array]:
    """Add the weights of repeated tokens from the least on, so that their order changes no bit."""
    if len(set_kernels.distinct(offsets, tokens)[1]) == len(tokens):
        return offsets, tokens, weights
    rows = np.repeat(int64_range(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((weights, tokens, rows))
    rows = rows[order]
    tokens = tokens[order]
    weights = weights[order]
    is_first = run_begins(rows, tokens)
    sums = np.zeros(np.count_nonzero(is_first))
    with np.errstate(over="ignore"):
        np.add.at(sums, np.cumsum(is_first, dtype=np.int64) - 1, weights)
    new_offsets = offsets_of(np.bincount(rows[is_first], minlength=len(offsets) - 1))
    overflows = np.flatnonzero(np.isinf(sums))
    if len(overflows):
        token = tokens[is_first][overflows[0]]
        where = int(rows[is_first][overflows[0]])
        raise ValueError(
            f"the weights of token {token} in row {where} add up to more than a float64 holds"
        )
    return new_offsets, tokens[is_first], sums


@dataclass(frozen=True)
class WeightedMinHasher(SlotSketcher[WeightedSets]):
    """Compute signatures of weighted sets.

    Their slots are equal with probability sum min / sum max of the weights.

    This is the weighted Jaccard similarity of the given weights. It is not the "probability
    Jaccard" similarity, which normalises each set. Slots are independent, so the standard error at
    similarity s is sqrt(s (1 - s) / k). Weights can have any magnitude that a float64 can hold,
    also different magnitudes in one set. Multiplying all weights by a constant changes neither the
    accuracy nor the speed.

    In ``shells``, a slot stores the first point of a Poisson process over the weights of the
    tokens, as in BagMinHash, TreeMinHash and DartMinHash; only the method that finds the points
    differs. It takes O(n + k log k) steps for a set of n tokens. The slot-wise minimum of two
    signatures is the signature of the set with the greater weight of each token. ``icws`` is
    improved consistent weighted sampling, the reference. It takes n k steps, and its signatures
    cannot be merged.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a signature, k, in 1..65,536.
    scheme : {"shells", "icws"}, default "shells"
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.WeightedSets : Sets whose elements have weights.
    lshfast.MinHasher : Compute MinHash signatures of sets.
    lshfast.datasketch.WeightedMinHashGenerator : Sketch vectors of weights as datasketch does.

    References
    ----------
    ``shells``: O. Ertl, "BagMinHash - Minwise Hashing Algorithm for Weighted Sets", KDD 2018; T.
    Christiani, "DartMinHash: Fast Sketching for Weighted Sets", 2020. ``icws``: S. Ioffe, "Improved
    Consistent Sampling, Weighted Minhash and L1 Sketching", ICDM 2010.

    Examples
    --------
    >>> from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets
    >>> hasher = WeightedMinHasher(num_perm=256)
    >>> a, b = hasher.sketch(
    ...     WeightedSets.from_sets([{"x": 2e-9, "y": 4e-9}, {"x": 3e-9, "y": 3e-9}])
    ... )
    >>> bool(abs(hasher.similarity(a, b) - 5 / 7) < 0.1)
    True
    >>> both = hasher.sketch(WeightedSets.from_sets([{"x": 3e-9, "y": 4e-9}]))[0]
    >>> bool((hasher.merge(a, b) == both).all())
    True
    """

    num_perm: int = 128
    scheme: WeightedScheme = "shells"
    seed: SeedField = SEED
    _constants: tuple[int, UInt64Array] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        num_perm = check_int("num_perm", self.num_perm, 1, slot_kernels.MAX_NUM_PERM)
        object.__setattr__(self, "num_perm", num_perm)
        if self.scheme not in ("shells", "icws"):
            raise ValueError(f"scheme must be 'shells' or 'icws', not {self.scheme!r}")
        object.__setattr__(
            self, "_constants", kernels.constants(self.seed, self.num_perm)
        )

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> UInt64Array:
        """Merge signatures row by row.

        The result is the signature of the set with the greater weight of each token.

        Parameters
        ----------
        a, b : array_like of uint64, shape (..., num_perm)
            Signatures. Their leading dimensions are broadcast.

        Returns
        -------
        SketchArray, an ndarray of uint64, shape (..., num_perm)
            A new array, the slot-wise minimum.

        Raises
        ------
        TypeError
            If the signatures are not uint64.
        ValueError
            If the scheme is "icws"; or if they have a different number of slots, their numbers of
            rows do not match, or a different sketcher made them.

        Examples
        --------
        >>> from lshfast import WeightedMinHasher, WeightedSets
        >>> hasher = WeightedMinHasher(16)
        >>> a, b, both = hasher.sketch(
        ...     WeightedSets.from_sets([{"x": 1, "y": 4}, {"x": 3}, {"x": 3, "y": 4}])
        ... )
        >>> bool((hasher.merge(a, b) == both).all())
        True
        """
        if self.scheme != "shells":
            raise ValueError(
                f"signatures of scheme {self.scheme!r} cannot be merged: use scheme='shells'"
            )
        return super().merge(a, b)

    def _check_sets(self, sets: WeightedSets) -> None:
        if not isinstance(sets, WeightedSets):
            raise TypeError(
                "sets must be WeightedSets (see WeightedSets.from_matrix), not "
                f"{type(sets).__name__}"
            )

    def _costs(self, sets: WeightedSets) -> Int64Array:
        if self.scheme == "icws":
            return sets.counts * self.num_perm
        return sets.counts + int(self._points)

    @property
    def _points(self) -> float:
        """Return the number of points after which a slot is empty with probability 1 / (10 k)."""
        return self.num_perm * (math.log(self.num_perm) + 2.25)

    def _fill(self, sets: WeightedSets, rows: slice, signatures: UInt64Array) -> None:
        constant, slots = self._constants
        offsets = sets.offsets[rows.start : rows.stop + 1]
        if self.scheme == "shells":
            kernels.shells(
                offsets, sets.tokens, sets.weights, constant, self._points, signatures
            )
        else:
            kernels.icws(
                offsets, sets.tokens, sets.weights, constant, slots, signatures
            )


def sketch_multisets(
    hasher: MinHasher,
    sets: WeightedSets,
    *,
    most: int = MOST_PAIRS,
    threads: int | None = None,
) -> UInt64Array:
    """Compute MinHash signatures of multisets, by the pairs of `WeightedSets.pairs`.

    The results are signatures of the `MinHasher`. Two slots are equal with probability sum min /
    sum max of the multiplicities. The slot-wise minimum is the signature of the multiset with the
    greater multiplicity of each token. If all multiplicities are 1, the signatures are those of the
    plain sets.

    Parameters
    ----------
    hasher : MinHasher
    sets : WeightedSets
        n rows, with whole numbers as weights. `WeightedSets.counted` creates them from rows with
        repeated tokens.
    most : int, default 2**28
        The most pairs of all rows together, in 0..2**48 - 1. The number of pairs is the sum of the
        multiplicities.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.

    Returns
    -------
    SketchArray, an ndarray of uint64, shape (n, hasher.num_perm)

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If `most` or `threads` is out of range, a weight is not a whole number, or there are more
        pairs than `most`.

    See Also
    --------
    lshfast.WeightedMinHasher : Compute signatures of weighted sets.
    lshfast.WeightedSets : Sets whose elements have weights.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.sketch.weighted import WeightedSets, sketch_multisets
    >>> bags = WeightedSets.counted(
    ...     TokenSets.from_sets([["a", "a", "a", "b"], ["a", "b", "b"]])
    ... )
    >>> hasher = MinHasher(1024)
    >>> a, b = sketch_multisets(hasher, bags)
    >>> bool(abs(hasher.similarity(a, b) - 2 / 5) < 0.05)
    True
    """
    if not isinstance(hasher, MinHasher):
        raise TypeError(f"hasher must be a MinHasher, not {hasher!r}")
    if not isinstance(sets, WeightedSets):
        raise TypeError(
            f"sets must be WeightedSets (see WeightedSets.counted), not {type(sets).__name__}"
        )
    counts = sets._whole(most)
    signatures = np.empty((len(sets), hasher.num_perm), np.uint64)
    ends = offsets_of(counts)[sets.offsets]

    def work(rows: slice) -> None:
        first = sets.offsets[rows.start]
        last = sets.offsets[rows.stop]
        pairs = kernels.multisets(sets.tokens[first:last], counts[first:last])
        offsets = ends[rows.start : rows.stop + 1] - ends[rows.start]
        signatures[rows] = hasher.sketch(TokenSets(offsets, pairs), threads=1)

    for_each_piece(work, np.diff(ends), PIECE_TOKENS, threads)
    return made_by(hasher, signatures)
