"""Weighted sets, and signatures whose slots agree with probability sum min / sum max of the weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import for_each_piece
from lshfast.kernels import sets as set_kernels
from lshfast.kernels import sketch as slot_kernels
from lshfast.kernels import weighted as kernels
from lshfast.sketch.arrays import made_by
from lshfast.sketch.minhash import MinHasher
from lshfast.sketch.sketcher import PIECE_TOKENS, SlotSketcher, check_token_sets
from lshfast.tokens import (
    SEED,
    Float64Array,
    Int64Array,
    SeedField,
    TokenSets,
    UInt64Array,
    array_of,
    check_int,
)

WeightedScheme: TypeAlias = Literal["shells", "icws"]

# Pairs that a multiset may be spread out into, of all rows together: 2 GiB of tokens, were they all in one row.
MOST_PAIRS = 1 << 28


class WeightedSets:
    """Rows of 64-bit tokens with weights: row i is ``tokens[offsets[i]:offsets[i + 1]]`` and those of `weights`.

    Weights of a token that a row repeats are added up, and tokens of weight 0 are left out, so that the rows hold
    different tokens with weights above 0. Immutable, and safe to share between threads: arrays are copied before they
    are checked, so that whoever gave them may go on writing to them.

    Parameters
    ----------
    offsets : array_like of int64, shape (n + 1,)
        Where rows begin: never falling, from 0 or above to at most m.
    tokens : array_like of uint64, shape (m,)
        Tokens of all rows. They need not be hashes: every scheme mixes them first.
    weights : array_like of float64, shape (m,)
        Finite and at least 0.

    Raises
    ------
    TypeError
        If the weights are not numbers, or the other arrays not integers.
    ValueError
        If a weight is NaN, negative or infinite, with its row and place; or the offsets point outside the tokens.

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

    def __init__(self, offsets: npt.ArrayLike, tokens: npt.ArrayLike, weights: npt.ArrayLike) -> None:
        sets = TokenSets(offsets, tokens)
        sets = TokenSets(sets.offsets.copy(), sets.tokens.copy())
        kept = _add_up(*_without_zeros(sets, _checked_weights(sets, weights)))
        for name, array in zip(self.__slots__, kept, strict=True):
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("WeightedSets is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("WeightedSets is immutable")

    def __reduce__(self) -> tuple[type[WeightedSets], tuple[Int64Array, UInt64Array, Float64Array]]:
        return WeightedSets, (self.offsets, self.tokens, self.weights)

    @classmethod
    def from_sets(cls, rows: Iterable[Mapping[Any, float]], *, seed: int = 1) -> WeightedSets:
        """Hash rows of elements with weights into tokens.

        Parameters
        ----------
        rows : iterable of mappings
            Each row's elements (str, bytes or int, hashed as `TokenSets.from_sets` does) and their weights.
        seed : int, default 1
            Seed of the hash, in 0..2**64 - 1. Only sets of one seed can be compared.

        Raises
        ------
        TypeError, ValueError
            If a row is no mapping, an element of another kind, or a weight NaN, negative or infinite.

        Examples
        --------
        >>> from lshfast.sketch.weighted import WeightedSets
        >>> WeightedSets.from_sets([{"a": 2, "b": 0.5}, {"a": 1}]).totals.tolist()
        [2.5, 1.0]
        """
        if not (hasattr(rows, "__iter__") or hasattr(rows, "__getitem__")):
            raise TypeError(f"rows must be an iterable of mappings, not {rows!r}")
        held = list(rows)
        for number, row in enumerate(held):
            if not isinstance(row, Mapping):
                raise TypeError(f"rows[{number}] is of type {type(row).__name__}, not a mapping of elements to weights")
        sets = TokenSets.from_sets([list(row) for row in held], seed=seed)
        return cls(sets.offsets, sets.tokens, [weight for row in held for weight in row.values()])

    @classmethod
    def from_matrix(cls, matrix: Any) -> WeightedSets:
        """Take the rows of a matrix, with the numbers of its columns as tokens.

        Parameters
        ----------
        matrix : array_like of float, shape (n, d), or a sparse matrix or array of scipy
            Weights: finite and at least 0. Whatever has a method `tocsr` is taken as sparse.

        Raises
        ------
        TypeError
            If the weights are not numbers.
        ValueError
            If the matrix has not two dimensions, or a weight is NaN, negative or infinite, with its row and its place
            among the row's weights.

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
        offsets = np.concatenate([[0], np.cumsum(np.count_nonzero(present, axis=1), dtype=np.int64)])
        return cls(offsets, np.nonzero(present)[1], dense[present])

    @classmethod
    def counted(cls, sets: TokenSets) -> WeightedSets:
        """Return the tokens of each row, weighted by the times that it repeats them.

        Parameters
        ----------
        sets : TokenSets
            n rows.

        Returns
        -------
        WeightedSets
            n rows of whole numbers, at least 1.

        Raises
        ------
        TypeError
            If they are not TokenSets.

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
        """Tokens of each row: int64 (n,)."""
        return np.diff(self.offsets)

    @property
    def totals(self) -> Float64Array:
        """The sum of each row's weights: float64 (n,), infinite where it is more than a float64 holds."""
        totals = np.zeros(len(self))
        with np.errstate(over="ignore"):
            np.add.at(totals, np.repeat(np.arange(len(self), dtype=np.int64), self.counts), self.weights)
        return totals

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"WeightedSets({len(self)} rows, {len(self.tokens)} tokens)"

    def pairs(self, *, most: int = MOST_PAIRS) -> TokenSets:
        """Return the pairs (x, 1) ... (x, w) of each token x of weight w, as sets of tokens.

        The Jaccard similarity of such sets is the sum of the least weights over the sum of the greatest, their union
        has the greatest weights, and whatever works on sets works on them. The pair (x, 1) is the token x itself, so
        that rows whose weights are all 1 stay as they are.

        Parameters
        ----------
        most : int, default 2**28
            Pairs of all rows together, in 0..2**48 - 1: memory and time grow with it.

        Raises
        ------
        TypeError
            If `most` is no int.
        ValueError
            If `most` is out of range, a weight is no whole number, or there would be more pairs than that.

        Examples
        --------
        >>> from lshfast.sketch.weighted import WeightedSets
        >>> WeightedSets([0, 2], [5, 6], [3, 1]).pairs().counts.tolist()
        [4]
        """
        counts = self._whole(most)
        offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[self.offsets]
        return TokenSets(offsets, kernels.multisets(self.tokens, counts))

    def _whole(self, most: int) -> Int64Array:
        check_int("most", most, 0, 2**48 - 1)
        broken = np.flatnonzero(self.weights % 1)
        if len(broken):
            raise ValueError(f"weights must be whole numbers, not {self.weights[broken[0]]}{self._at(broken[0])}")
        with np.errstate(over="ignore"):
            total = self.weights.sum()
        if total > most:
            raise ValueError(
                f"weights add up to {total:.17g} pairs, more than most = {most}: scale them down, or use "
                "WeightedMinHasher, which takes no longer for large weights"
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
        raise ValueError(f"weights must be {len(sets.tokens)}, one a token, not of shape {array.shape}")
    if len(array) and array.dtype.kind not in "iuf":
        raise TypeError(f"weights must be numbers, not {array.dtype}")
    with np.errstate(over="ignore"):
        array = np.array(array, np.float64)
    first, last = sets.offsets[0], sets.offsets[-1]
    held = array[first:last]
    wrong = np.flatnonzero(~((held >= 0) & (held < np.inf)))
    if len(wrong):
        place = int(wrong[0])
        where = _place(sets.offsets - first, place)
        raise ValueError(f"weights must be finite and at least 0, not {held[place]}{where}")
    return array


def _without_zeros(sets: TokenSets, weights: Float64Array) -> tuple[Int64Array, UInt64Array, Float64Array]:
    """Return (offsets from 0, tokens, weights) of what is above 0."""
    first, last = sets.offsets[0], sets.offsets[-1]
    offsets, tokens, weights = sets.offsets - first, sets.tokens[first:last], weights[first:last]
    present = weights > 0
    if present.all():
        return offsets, tokens, weights
    return np.concatenate([[0], np.cumsum(present, dtype=np.int64)])[offsets], tokens[present], weights[present]


def _add_up(
    offsets: Int64Array, tokens: UInt64Array, weights: Float64Array
) -> tuple[Int64Array, UInt64Array, Float64Array]:
    """Add up the weights of repeated tokens, the least first: the same bits in whatever order they come."""
    if len(set_kernels.distinct(offsets, tokens)[1]) == len(tokens):
        return offsets, tokens, weights
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    order = np.lexsort((weights, tokens, rows))
    rows, tokens, weights = rows[order], tokens[order], weights[order]
    new = np.concatenate([[True], (rows[1:] != rows[:-1]) | (tokens[1:] != tokens[:-1])])
    sums = np.zeros(np.count_nonzero(new))
    with np.errstate(over="ignore"):
        np.add.at(sums, np.cumsum(new, dtype=np.int64) - 1, weights)
    kept = np.zeros(len(offsets), np.int64)
    np.cumsum(np.bincount(rows[new], minlength=len(offsets) - 1), out=kept[1:])
    over = np.flatnonzero(np.isinf(sums))
    if len(over):
        token, where = tokens[new][over[0]], int(rows[new][over[0]])
        raise ValueError(f"the weights of token {token} in row {where} add up to more than a float64 holds")
    return kept, tokens[new], sums


@dataclass(frozen=True)
class WeightedMinHasher(SlotSketcher[WeightedSets]):
    """Sketch weighted sets into signatures whose slots agree with probability sum min / sum max of the weights.

    That is the weighted Jaccard similarity of the weights as they are; it is not the "probability Jaccard" similarity,
    in which each set is scaled to its own best. Slots are independent, so that the standard error at similarity s is
    sqrt(s (1 - s) / k). Weights may be of any size that a float64 holds, and of very different sizes: multiplying all
    of them by a number makes no estimate worse, and none slower.

    ``shells`` keeps in each slot the first point of a Poisson process over the token's weight (as TreeMinHash and
    BagMinHash of Ertl 2018 and DartMinHash of Christiani 2020 do, from whom it differs in how points are found), in
    O(n + k log k) steps for a set of n tokens; the slot-wise minimum of two signatures is the signature of the greater
    weights. ``icws`` (improved consistent weighted sampling, Ioffe 2010) is the reference: n k steps, and no merge.

    Parameters
    ----------
    num_perm : int, default 128
        Slots of a signature, k: 1 to 65,536.
    scheme : {"shells", "icws"}, default "shells"
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random" the operating system draws the number, which `seed` then holds.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets
    >>> hasher = WeightedMinHasher(num_perm=256)
    >>> a, b = hasher.sketch(WeightedSets.from_sets([{"x": 2e-9, "y": 4e-9}, {"x": 3e-9, "y": 3e-9}]))
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
        object.__setattr__(self, "num_perm", check_int("num_perm", self.num_perm, 1, slot_kernels.MAX_NUM_PERM))
        if self.scheme not in ("shells", "icws"):
            raise ValueError(f"scheme must be 'shells' or 'icws', not {self.scheme!r}")
        object.__setattr__(self, "_constants", kernels.constants(self.seed, self.num_perm))

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> UInt64Array:
        """Return the signatures of the greater weights, as `SlotSketcher.merge` does; "icws" raises ValueError."""
        if self.scheme != "shells":
            raise ValueError(f"signatures of scheme {self.scheme!r} cannot be merged: take scheme='shells'")
        return super().merge(a, b)

    def _check_sets(self, sets: WeightedSets) -> None:
        if not isinstance(sets, WeightedSets):
            raise TypeError(f"sets must be WeightedSets (see WeightedSets.from_matrix), not {type(sets).__name__}")

    def _costs(self, sets: WeightedSets) -> Int64Array:
        if self.scheme == "icws":
            return sets.counts * self.num_perm
        return sets.counts + int(self._points)

    @property
    def _points(self) -> float:
        """Return the number of points after which a slot is empty with a probability of a tenth of 1 / k."""
        return self.num_perm * (math.log(self.num_perm) + 2.25)

    def _fill(self, sets: WeightedSets, rows: slice, signatures: UInt64Array) -> None:
        constant, slots = self._constants
        offsets = sets.offsets[rows.start : rows.stop + 1]
        if self.scheme == "shells":
            kernels.shells(offsets, sets.tokens, sets.weights, constant, self._points, signatures)
        else:
            kernels.icws(offsets, sets.tokens, sets.weights, constant, slots, signatures)


def sketch_multisets(
    hasher: MinHasher, sets: WeightedSets, *, most: int = MOST_PAIRS, threads: int | None = None
) -> UInt64Array:
    """Return the signatures of multisets: whole numbers as weights, by the pairs of `WeightedSets.pairs`.

    They are signatures of the `MinHasher` like any others: they agree in a slot with probability sum min / sum max of
    the multiplicities, their slot-wise minimum is the signature of the greater multiplicities, and where these are all
    1 they are the signatures of the plain sets.

    Parameters
    ----------
    hasher : MinHasher
    sets : WeightedSets
        n rows, with whole numbers as weights; `WeightedSets.counted` makes them of rows that repeat tokens.
    most : int, default 2**28
        Pairs of all rows together, the sum of the multiplicities: in 0..2**48 - 1.
    threads : int, optional
        At least 1; the CPUs this process may use by default. The result does not depend on it.

    Returns
    -------
    SketchArray, an ndarray of uint64, shape (n, hasher.num_perm)

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If `most` is out of range, a weight is no whole number, or there are more pairs than `most`.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.sketch.weighted import WeightedSets, sketch_multisets
    >>> bags = WeightedSets.counted(TokenSets.from_sets([["a", "a", "a", "b"], ["a", "b", "b"]]))
    >>> hasher = MinHasher(1024)
    >>> a, b = sketch_multisets(hasher, bags)
    >>> bool(abs(hasher.similarity(a, b) - 2 / 5) < 0.05)
    True
    """
    if not isinstance(hasher, MinHasher):
        raise TypeError(f"hasher must be a MinHasher, not {hasher!r}")
    if not isinstance(sets, WeightedSets):
        raise TypeError(f"sets must be WeightedSets (see WeightedSets.counted), not {type(sets).__name__}")
    counts = sets._whole(most)
    signatures = np.empty((len(sets), hasher.num_perm), np.uint64)
    ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[sets.offsets]

    def work(rows: slice) -> None:
        first, last = sets.offsets[rows.start], sets.offsets[rows.stop]
        pairs = kernels.multisets(sets.tokens[first:last], counts[first:last])
        offsets = ends[rows.start : rows.stop + 1] - ends[rows.start]
        signatures[rows] = hasher.sketch(TokenSets(offsets, pairs), threads=1)

    for_each_piece(work, np.diff(ends), PIECE_TOKENS, threads)
    return made_by(hasher, signatures)
