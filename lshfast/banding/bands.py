"""`Bands`: the bucket keys of signatures; `choose_bands`: bands and rows for a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, check_number
from lshfast._common.types import Float64Array, UInt64Array
from lshfast.banding.scurve import (
    approximate_threshold,
    false_rates,
    half_point,
    scurve,
)
from lshfast.kernels import bands as kernels
from lshfast.kernels.sketch import MAX_NUM_PERM
from lshfast.sketch.minhash import check_for_bands


class Bucketing(Protocol):
    """The part of a family of hash functions that `Bands.keys` needs."""

    def buckets(self, items: Any, bands: int, rows_per_band: int) -> UInt64Array:
        """Return the values of the buckets of n items, (n, bands); 2**64 - 1 for none."""


@dataclass(frozen=True)
class Bands:
    """Split signatures into b bands of r rows (slots) each.

    Two signatures become candidates if they agree in all slots of at least one band.

    Parameters
    ----------
    bands, rows_per_band : int
        b and r, each at least 1. The first b * r slots of a signature are used.

    Raises
    ------
    TypeError
        If `bands` or `rows_per_band` is not an int.
    ValueError
        If `bands` or `rows_per_band` is less than 1.

    See Also
    --------
    lshfast.choose_bands : Choose bands and rows for a threshold and a recall.
    lshfast.candidates : Find the pairs of rows that share a bucket.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.4.

    Examples
    --------
    >>> from lshfast import Bands
    >>> float(Bands(20, 5).probability(0.8).round(5))
    0.99964
    """

    bands: int
    rows_per_band: int

    def __post_init__(self) -> None:
        for name in ("bands", "rows_per_band"):
            check_int(name, getattr(self, name), 1)

    @classmethod
    def choose(
        cls,
        threshold: float,
        num_perm: int,
        *,
        recall: float,
        bands: int | None = None,
        rows_per_band: int | None = None,
    ) -> Bands:
        """Return the given bands and rows; if both are None, call `choose_bands`.

        Parameters
        ----------
        threshold : float
            Similarity, in (0, 1].
        num_perm : int
            Slots of a signature, at least 1.
        recall : float
            In (0, 1). It is ignored if `bands` and `rows_per_band` are given.
        bands, rows_per_band : int, optional
            Both or neither. bands * rows_per_band must be at most `num_perm`.

        Returns
        -------
        Bands

        Raises
        ------
        TypeError
            If an argument has the wrong type.
        ValueError
            If only one of `bands` and `rows_per_band` is given, they need more than `num_perm`
            slots, or an argument is out of range.

        Examples
        --------
        >>> from lshfast import Bands
        >>> Bands.choose(0.8, 128, recall=0.95)
        Bands(bands=18, rows_per_band=7)
        >>> Bands.choose(0.8, 128, recall=0.95, bands=32, rows_per_band=4)
        Bands(bands=32, rows_per_band=4)
        """
        if (bands is None) != (rows_per_band is None):
            raise ValueError(
                "bands and rows_per_band go together: give both, or neither and a recall"
            )
        if bands is None or rows_per_band is None:
            return choose_bands(threshold, num_perm, recall=recall)
        choice = cls(bands, rows_per_band)
        if choice.slots > num_perm:
            raise ValueError(
                f"bands x rows must be at most num_perm = {num_perm}, not {bands} x {rows_per_band}"
            )
        return choice

    @property
    def slots(self) -> int:
        """Number of slots that are used: bands * rows_per_band."""
        return self.bands * self.rows_per_band

    @property
    def half_point(self) -> float:
        """Similarity at which a pair is found with probability 1/2: (1 - 2**(-1/b))**(1/r)."""
        return half_point(self.bands, self.rows_per_band)

    @property
    def approximate_threshold(self) -> float:
        """The approximation (1/b)**(1/r) of textbooks to the half point.

        A pair is found there with probability 1 - (1 - 1/b)**b.
        """
        return approximate_threshold(self.bands, self.rows_per_band)

    @overload
    def probability(
        self, similarity: float, *, buckets: int | None = None
    ) -> np.float64: ...
    @overload
    def probability(
        self, similarity: npt.ArrayLike, *, buckets: int | None = None
    ) -> Float64Array: ...
    def probability(
        self, similarity: npt.ArrayLike, *, buckets: int | None = None
    ) -> np.float64 | Float64Array:
        """Return the probability that a pair becomes a candidate: 1 - (1 - s**r)**b.

        If each band has a table of m buckets only, such as ``keys % m``, different bands share one
        with probability 1 / m, and the result is 1 - ((1 - s**r) (1 - 1 / m))**b.

        Parameters
        ----------
        similarity : array_like of float
            s, in [0, 1].
        buckets : int, optional
            m, at least 1. By default, only equal bands share a bucket, as with the 64-bit keys.

        Returns
        -------
        float64, or ndarray of float64 with the shape of `similarity`

        Raises
        ------
        TypeError
            If `buckets` is not an int.
        ValueError
            If a similarity is outside [0, 1], or `buckets` is less than 1.

        Examples
        --------
        >>> from lshfast import Bands
        >>> Bands(20, 5).probability([0.2, 0.5, 0.8]).round(6).tolist()
        [0.006381, 0.470051, 0.999644]
        >>> Bands(1, 1).probability([0, 0.5, 1], buckets=10).round(6).tolist()
        [0.1, 0.55, 1.0]
        """
        return scurve(similarity, self.bands, self.rows_per_band, buckets)

    def keys(self, signatures: Any, *, family: Bucketing | None = None) -> UInt64Array:
        """Compute the bucket keys of signatures, or of the items of a family.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (n, k)
            Signatures of `MinHasher` or `WeightedMinHasher`, with k at least bands * rows_per_band.
            With `family`, n items of the family, or sketches with its functions, such as the codes
            of a `SimHasher` for a `SimHashFamily`.
        family : Family, optional
            A family of hash functions, whose `buckets` are the keys.

        Returns
        -------
        ndarray of uint64, shape (n, bands)
            Two rows meet in a band if their keys are equal. 2**64 - 1 meets nothing: all keys of an
            empty row, and the keys of items without a value in a band.

        Raises
        ------
        TypeError
            If the signatures are not a uint64 array with two dimensions, or the family does not
            take the items.
        ValueError
            If the signatures have fewer than bands * rows_per_band slots, they are of a kind that
            cannot be banded, or a sketcher with other functions than the family made them.

        Examples
        --------
        >>> from lshfast import Bands, MinHasher, TokenSets
        >>> signatures = MinHasher(128).sketch(
        ...     TokenSets.from_sets([{1, 2}, {1, 2}, set()])
        ... )
        >>> keys = Bands(18, 7).keys(signatures)
        >>> keys.shape, bool((keys[0] == keys[1]).all())
        ((3, 18), True)

        >>> from lshfast import SimHasher
        >>> from lshfast.families import SimHashFamily
        >>> codes = SimHasher(128).sketch(TokenSets.from_sets([{1, 2}, {1, 2}, set()]))
        >>> Bands(8, 16).keys(codes, family=SimHashFamily()).shape
        (3, 8)
        """
        if family is not None:
            return family.buckets(signatures, self.bands, self.rows_per_band)
        check_for_bands(signatures)
        signatures = np.ascontiguousarray(signatures)
        if signatures.ndim != 2 or signatures.dtype != np.uint64:
            raise TypeError(
                f"signatures must be uint64 (n, k), not {signatures.dtype} {signatures.shape}"
            )
        if self.slots > signatures.shape[1]:
            raise ValueError(
                f"{self.bands} x {self.rows_per_band} slots do not fit in signatures of "
                f"{signatures.shape[1]}"
            )
        keys = np.empty((len(signatures), self.bands), np.uint64)
        kernels.band_keys(signatures, self.bands, self.rows_per_band, keys)
        return keys


def check_threshold(threshold: float) -> float:
    """Return the threshold as a float, or raise an error that names the range."""
    threshold = check_number("threshold", threshold)
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], not {threshold}")
    return threshold


def choose_bands(
    threshold: float,
    num_perm: int = 128,
    *,
    recall: float = 0.95,
    weights: tuple[float, float] | None = None,
) -> Bands:
    """Choose the numbers of bands and rows for a threshold.

    By default, the result finds a pair whose similarity equals the threshold with probability at
    least `recall`, and a more similar pair with a higher probability. Of all such choices it has
    the most rows, and so the fewest false candidates. The computation assumes independent slots.
    The slots of `fast` signatures are slightly negatively correlated: they find more pairs above
    the half point of the S-curve and fewer below it, up to .08 fewer with one or two bands. Both
    schemes reach a recall of .9 or more; only `classic` guarantees a lower one.

    With `weights`, the result minimises the weighted sum of the area under the S-curve below the
    threshold and the area over it above the threshold, as other libraries do. It finds only a third
    to two thirds of the pairs at the threshold.

    Parameters
    ----------
    threshold : float
        Similarity, in (0, 1].
    num_perm : int, default 128
        Slots of a signature, in 1..65536.
    recall : float, default 0.95
        Probability, in (0, 1). It is ignored if `weights` is given.
    weights : (float, float), optional
        Weights of false positives and false negatives: finite, not negative, and not both 0.

    Returns
    -------
    Bands

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `num_perm` slots are too few for the recall.

    See Also
    --------
    lshfast.Bands : A division of signatures into bands, with its S-curve.
    lshfast.check : Measure what a deduplication finds and misses.
    lshfast.families.plan_bands : What to expect of given bands and rows.

    References
    ----------
    E. Zhu, F. Nargesian, K. Q. Pu, R. J. Miller, "LSH Ensemble: Internet-Scale Domain Search", VLDB
    2016: false positives and false negatives as areas.

    Examples
    --------
    >>> from lshfast import choose_bands
    >>> choose_bands(0.8)
    Bands(bands=18, rows_per_band=7)
    >>> choose_bands(0.8, weights=(0.5, 0.5))
    Bands(bands=9, rows_per_band=13)
    """
    threshold = check_threshold(threshold)
    check_int("num_perm", num_perm, 1, MAX_NUM_PERM)
    if weights is not None:
        return least_area(threshold, num_perm, check_weights(weights))
    check_recall(recall)
    choice = most_rows(threshold, num_perm, recall)
    if choice is None:
        most = float(scurve(threshold, num_perm, 1))
        slots = least_slots(threshold, recall)
        step = "; give a lower recall"
        if slots <= MAX_NUM_PERM:
            step = f"; num_perm {slots} reaches it"
        raise ValueError(
            f"recall {recall} at threshold {threshold} is out of reach of num_perm {num_perm}: at "
            f"most {most:.4f}{step}"
        )
    return choice


def least_slots(threshold: float, recall: float) -> int:
    """Return the least number of slots that reach a recall at the threshold, in rows of one."""
    if threshold == 1:
        return 1
    slots = max(1, math.ceil(math.log1p(-recall) / math.log1p(-threshold)))
    # The logarithms are rounded.
    return slots if float(scurve(threshold, slots, 1)) >= recall else slots + 1


def check_recall(recall: float) -> float:
    """Return the recall as a float, or raise an error that names the range."""
    recall = check_number("recall", recall)
    if not 0 < recall < 1:
        raise ValueError(f"recall must be in (0, 1), not {recall}")
    return recall


def check_weights(weights: tuple[float, float]) -> tuple[float, float]:
    """Return the weights of false positives and negatives as floats, or raise an error."""
    if not isinstance(weights, (tuple, list)) or len(weights) != 2:
        raise TypeError(
            f"weights must be two numbers, of false positives and false negatives, not {weights!r}"
        )
    positive, negative = (check_number("weights", weight) for weight in weights)
    if not (positive >= 0 and negative >= 0 and 0 < positive + negative < np.inf):
        raise ValueError(
            f"weights must be finite, not negative, and not both 0; they are {(positive, negative)}"
        )
    return positive, negative


def most_rows(probability: float, slots: int, recall: float) -> Bands | None:
    """Return the bands with the most rows that reach a recall, or None if there are none.

    `probability` is the chance that a slot of the pair is equal.
    """
    fewest = 0  # with more rows a band, and so fewer bands, the recall is lower
    most = slots
    while fewest < most:
        rows = (fewest + most + 1) // 2
        if scurve(probability, slots // rows, rows) >= recall:
            fewest = rows
        else:
            most = rows - 1
    return Bands(slots // most, most) if most else None


def least_cost(slots: int, cost: Callable[[Bands], float]) -> Bands:
    """Return the bands of the least cost among all of at most this number of slots."""
    choices = (
        Bands(b, r) for b in range(1, slots + 1) for r in range(1, slots // b + 1)
    )
    return min(choices, key=cost)


def least_area(threshold: float, slots: int, weights: tuple[float, float]) -> Bands:
    """Return the bands with the least weighted sum of false areas."""

    def cost(choice: Bands) -> float:
        positive, negative = false_rates(threshold, choice.bands, choice.rows_per_band)
        return weights[0] * positive + weights[1] * negative

    return least_cost(slots, cost)
