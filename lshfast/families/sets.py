"""Families of sets: MinHash, weighted MinHash and SimHash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, array_of, check_int, numbers_of
from lshfast._common.types import BoolArray, Float64Array, UInt64Array
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.family import Family
from lshfast.families.set_distances import angles_of_counts, jaccard, weighted_distances
from lshfast.kernels.simhash import MAX_BITS
from lshfast.kernels.sketch import MAX_NUM_PERM
from lshfast.sketch.codes import EMPTY
from lshfast.sketch.minhash import MinHasher, Scheme, check_signatures
from lshfast.sketch.simhash import SimHasher
from lshfast.sketch.weighted import WeightedMinHasher, WeightedScheme, WeightedSets
from lshfast.tokens import TokenSets

# Sets, or the signatures that a sketcher made of them.
SetsOrSignatures: TypeAlias = TokenSets | UInt64Array
WeightedSetsOrSignatures: TypeAlias = WeightedSets | UInt64Array


@dataclass(frozen=True)
class MinHashFamily(Family[SetsOrSignatures]):
    """MinHash: two sets collide with a probability equal to their Jaccard similarity.

    The distance is the Jaccard distance, d = 1 - |A & B| / |A | B|; the collision probability is
    1 - d. Repeated tokens count once. An empty set has no value. Its distance is 1 from every set,
    also from itself.

    The functions are the slots of a `MinHasher` with the same scheme and seed: the items are sets,
    or signatures that it made. The slots of ``fast`` depend on their number. Signatures of ``fast``
    must therefore have `count` slots; signatures of ``classic`` may have more.

    Parameters
    ----------
    scheme : {"fast", "classic"}, default "fast"
        As for `MinHasher`.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.WeightedMinHashFamily : MinHash of weighted sets.
    lshfast.MinHasher : Compute MinHash signatures of token sets.

    References
    ----------
    A. Z. Broder, "On the resemblance and containment of documents", 1997. P. Indyk, R. Motwani,
    "Approximate Nearest Neighbors: Towards Removing the Curse of Dimensionality", STOC 1998.
    Lectures that call |A & B| / |A | B| the distance of this family mean a similarity: their
    inequalities are reversed.

    Examples
    --------
    >>> from lshfast import TokenSets
    >>> from lshfast.families import MinHashFamily
    >>> family = MinHashFamily(seed=7)
    >>> a, b = (
    ...     TokenSets.from_sets([range(0, 80)]),
    ...     TokenSets.from_sets([range(20, 100)]),
    ... )
    >>> family.distance(a, b).tolist(), family.collision_probability(0.4).tolist()
    ([0.4], 0.6)
    >>> bool(abs(family.collide(a, b, 1024).mean() - 0.6) < 0.05)
    True
    """

    name: ClassVar[str] = "minhash"

    scheme: Scheme = "fast"
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        MinHasher(1, self.scheme, self.seed)

    @property
    def max_distance(self) -> float:
        """The largest distance: 1."""
        return 1.0

    def hasher(self, num_perm: int) -> MinHasher:
        """Return the sketcher whose slots are the first `num_perm` functions."""
        return MinHasher(num_perm, self.scheme, self.seed)

    def hash(
        self, items: SetsOrSignatures, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the values of sets under the first `count` functions: their signatures.

        Parameters
        ----------
        items : TokenSets, or ndarray of uint64, shape (n, k)
            n sets, or signatures of a `MinHasher` with the scheme and the seed of the family.
        count : int
            In 1..65,536.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            `NO_VALUE` in the rows of empty sets.

        Raises
        ------
        TypeError
            If the items are neither sets nor signatures.
        ValueError
            If an argument is out of range, or signatures have too few slots, or a different
            sketcher made them.
        """
        hasher = self.hasher(check_int("count", count, 1, MAX_NUM_PERM))
        if isinstance(items, TokenSets):
            return np.asarray(hasher.sketch(items, threads=threads))
        return _signatures(items, hasher, prefix=self.scheme == "classic")

    def distance(self, a: SetsOrSignatures, b: SetsOrSignatures) -> Float64Array:
        """Compute the exact Jaccard distances of pairs of sets.

        Parameters
        ----------
        a, b : TokenSets
            n sets each; one of them may be a single set. Signatures have no exact distances.

        Returns
        -------
        ndarray of float64, shape (n,)
            In [0, 1].

        Raises
        ------
        TypeError
            If these are not TokenSets.
        ValueError
            If the numbers of sets differ.
        """
        return np.asarray(1 - jaccard(a, b))

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 1 - d.

        Parameters
        ----------
        distance : array_like of float
            Jaccard distances d, in [0, 1].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return np.asarray(1 - numbers_of(distance, "distance", 0, self.max_distance))


@dataclass(frozen=True)
class WeightedMinHashFamily(Family[WeightedSetsOrSignatures]):
    """Weighted MinHash: weighted sets collide with probability sum min / sum max of their weights.

    The distance is d = 1 - sum min / sum max; the collision probability is 1 - d. A set without
    tokens has no value. Its distance is 1 from every set, also from itself.

    The functions are the slots of a `WeightedMinHasher` with the same scheme and seed: the items
    are weighted sets, or signatures that it made. Signatures must have `count` slots; signatures of
    ``icws`` may have more.

    Parameters
    ----------
    scheme : {"shells", "icws"}, default "shells"
        As for `WeightedMinHasher`.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.MinHashFamily : MinHash, for Jaccard similarity.
    lshfast.WeightedMinHasher : Compute signatures of weighted sets.

    References
    ----------
    As for `WeightedMinHasher`.

    Examples
    --------
    >>> from lshfast import WeightedSets
    >>> from lshfast.families import WeightedMinHashFamily
    >>> family = WeightedMinHashFamily()
    >>> a, b = (
    ...     WeightedSets.from_sets([{"x": 2, "y": 4}]),
    ...     WeightedSets.from_sets([{"x": 3, "y": 3, "z": 3}]),
    ... )
    >>> family.distance(a, b).tolist()
    [0.5]
    >>> bool(abs(family.collide(a, b, 1024).mean() - 0.5) < 0.07)
    True
    """

    name: ClassVar[str] = "weighted-minhash"

    scheme: WeightedScheme = "shells"
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        WeightedMinHasher(1, self.scheme, self.seed)

    @property
    def max_distance(self) -> float:
        """The largest distance: 1."""
        return 1.0

    def hasher(self, num_perm: int) -> WeightedMinHasher:
        """Return the sketcher whose slots are the first `num_perm` functions."""
        return WeightedMinHasher(num_perm, self.scheme, self.seed)

    def hash(
        self, items: WeightedSetsOrSignatures, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the values of weighted sets under the first `count` functions: their signatures.

        Parameters
        ----------
        items : WeightedSets, or ndarray of uint64, shape (n, k)
            n sets, or signatures of a `WeightedMinHasher` with the scheme and the seed of the
            family.
        count : int
            In 1..65,536.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            `NO_VALUE` in the rows of empty sets.

        Raises
        ------
        TypeError
            If the items are neither weighted sets nor signatures.
        ValueError
            If an argument is out of range, or signatures have too few slots, or a different
            sketcher made them.
        """
        hasher = self.hasher(check_int("count", count, 1, MAX_NUM_PERM))
        if isinstance(items, WeightedSets):
            return np.asarray(hasher.sketch(items, threads=threads))
        return _signatures(items, hasher, prefix=self.scheme == "icws")

    def distance(
        self, a: WeightedSetsOrSignatures, b: WeightedSetsOrSignatures
    ) -> Float64Array:
        """Compute the distances 1 - sum min / sum max of pairs of weighted sets.

        Parameters
        ----------
        a, b : WeightedSets
            n sets each; one of them may be a single set. Signatures have no exact distances.

        Returns
        -------
        ndarray of float64, shape (n,)
            In [0, 1].

        Raises
        ------
        TypeError
            If these are not WeightedSets.
        ValueError
            If the numbers of sets differ.
        """
        return weighted_distances(a, b)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 1 - d.

        Parameters
        ----------
        distance : array_like of float
            Distances d, in [0, 1].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return np.asarray(1 - numbers_of(distance, "distance", 0, self.max_distance))


@dataclass(frozen=True)
class SimHashFamily(BitFamily[SetsOrSignatures]):
    """SimHash: bits of the codes of token sets; p is about 1 - angle / pi.

    The distance is the angle, in radians, between the vectors of the numbers of occurrences of the
    tokens. A function is the sign of the product with a vector of +1s and -1s, one for each token.
    For rows of many tokens, none of which has most of the weight, the products are nearly normal,
    and the probability p of a collision is as for hyperplanes. It is an approximation, since sums
    of a few signs are often zero: two rows of two tokens each without a common token have an angle
    of pi / 2 and collide with probability 5/8, not 1/2.

    The functions are the bits of a `SimHasher` with the same seed: the items are sets, or codes
    that it made. Rows that are empty or whose counters are all zero have no value. For an empty
    row, the distance is pi / 2.

    Parameters
    ----------
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If the seed has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.MinHashFamily : MinHash, for Jaccard similarity.
    lshfast.SimHasher : Compute SimHash codes of token sets.

    References
    ----------
    M. S. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002. 1 -
    angle / pi and (cos(angle) + 1) / 2, which texts use for it, differ by up to 0.105.

    Examples
    --------
    >>> from lshfast import TokenSets
    >>> from lshfast.families import SimHashFamily
    >>> family = SimHashFamily()
    >>> a, b = (
    ...     TokenSets.from_sets([range(0, 100)]),
    ...     TokenSets.from_sets([range(50, 150)]),
    ... )
    >>> (
    ...     family.distance(a, b).round(4).tolist(),
    ...     family.collision_probability(1.0472).round(4).tolist(),
    ... )
    ([1.0472], 0.6667)
    >>> bool(abs(family.collide(a, b, 1024).mean() - 0.6667) < 0.06)
    True
    """

    name: ClassVar[str] = "simhash"

    seed: SeedField = SEED

    def __post_init__(self) -> None:
        SimHasher(64, self.seed)

    @property
    def max_distance(self) -> float:
        """The largest angle: pi. Token sets have at most pi / 2."""
        return float(np.pi)

    def hasher(self, bits: int) -> SimHasher:
        """Return the sketcher whose bits are the first functions; `bits` is a multiple of 64."""
        return SimHasher(bits, self.seed)

    def codes(
        self, items: SetsOrSignatures, count: int, *, threads: int | None = None
    ) -> BitCodes:
        """Compute the bits of sets under the first `count` functions, packed.

        Parameters
        ----------
        items : TokenSets, or ndarray of uint64, shape (n, words)
            n rows, or codes of a `SimHasher` with the seed of the family, of at least `count` bits.
        count : int
            In 1..4,096.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        BitCodes
            Rows of zeros for items without a value.

        Raises
        ------
        TypeError
            If the items are neither sets nor codes.
        ValueError
            If an argument is out of range, or codes have too few bits, or a different sketcher made
            them.
        """
        count = check_int("count", count, 1, MAX_BITS)
        hasher = self.hasher(-(-count // 64) * 64)
        if isinstance(items, TokenSets):
            codes = np.asarray(hasher.sketch(items, threads=threads))
        else:
            codes = _codes(items, hasher)
        without: BoolArray = np.asarray((codes == EMPTY).all(axis=1))
        codes = np.array(codes[:, : hasher.words], order="C")
        codes[without] = 0
        if count % 64:
            codes[:, -1] &= np.uint64(2 ** (count % 64) - 1)
        return BitCodes(codes, without if without.any() else None)

    def distance(self, a: SetsOrSignatures, b: SetsOrSignatures) -> Float64Array:
        """Compute the exact angles between the counts of occurrences of token sets.

        Parameters
        ----------
        a, b : TokenSets
            n rows each; one of them may be a single row. `SimHasher.angle` estimates the angles of
            codes.

        Returns
        -------
        ndarray of float64, shape (n,)
            In radians, in [0, pi / 2]; pi / 2 if either row is empty.

        Raises
        ------
        TypeError
            If these are not TokenSets.
        ValueError
            If the numbers of rows differ.
        """
        return angles_of_counts(a, b)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 1 - angle / pi, which is approximate for token sets.

        Parameters
        ----------
        distance : array_like of float
            Angles in radians, in [0, pi].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return np.asarray(
            1 - numbers_of(distance, "distance", 0, self.max_distance) / np.pi
        )


def _signatures(items: Any, hasher: Any, prefix: bool) -> UInt64Array:
    """Return the first slots of signatures of the sketcher, or raise an error."""
    count = hasher.num_perm
    if (
        prefix
        and isinstance(items, np.ndarray)
        and items.ndim
        and items.shape[-1] > count
    ):
        hasher = type(hasher)(items.shape[-1], hasher.scheme, hasher.seed)
    signatures = np.atleast_2d(check_signatures(items, hasher, "items"))
    return np.ascontiguousarray(np.asarray(signatures)[:, :count])


def _codes(items: Any, hasher: SimHasher) -> UInt64Array:
    """Return codes of a SimHasher with the same seed and at least as many bits, or raise."""
    array = array_of(items, "items")
    if array.dtype != np.uint64:
        raise TypeError(f"items must be TokenSets or codes, uint64, not {array.dtype}")
    if array.ndim not in (1, 2) or array.shape[-1] < hasher.words:
        raise ValueError(
            f"items must be codes of at least {hasher.words} words, not of shape {array.shape}"
        )
    maker = getattr(items, "hasher", None)
    if maker is not None and (
        type(maker) is not SimHasher or maker.seed != hasher.seed
    ):
        raise ValueError(
            f"items are of {maker}, not of a SimHasher with seed {hasher.seed}"
        )
    return np.atleast_2d(np.asarray(array))
