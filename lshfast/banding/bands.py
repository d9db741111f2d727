"""Banding: cut signatures into bands, key each band, and choose how many bands of how many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from lshfast.banding.scurve import false_rates, half_point, scurve
from lshfast.kernels import bands as kernels
from lshfast.sketch.minhash import check_for_bands
from lshfast.tokens import Float64Array, UInt64Array, check_number


@dataclass(frozen=True)
class Bands:
    """b bands of r rows (slots) each: rows that agree in all of a band become candidates.

    Parameters
    ----------
    bands, rows : int
        Each at least 1; bands x rows slots of a signature are used.

    Examples
    --------
    >>> from lshfast import Bands
    >>> float(Bands(20, 5).probability(0.8).round(5))
    0.99964
    """

    bands: int
    rows: int

    def __post_init__(self) -> None:
        for name in ("bands", "rows"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                raise TypeError(f"{name} must be an int, not {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")

    @classmethod
    def choose(
        cls, threshold: float, num_perm: int, *, recall: float, bands: int | None = None, rows: int | None = None
    ) -> Bands:
        """Return the given bands and rows, or those that `choose_bands` chooses for a recall where both are None.

        Raises
        ------
        TypeError, ValueError
            If only one of the two is given, they need more than `num_perm` slots, or an argument is out of range.
        """
        if (bands is None) != (rows is None):
            raise ValueError("bands and rows go together: give both, or neither and a recall")
        if bands is None or rows is None:
            return choose_bands(threshold, num_perm, recall=recall)
        choice = cls(bands, rows)
        if choice.slots > num_perm:
            raise ValueError(f"bands x rows must be at most num_perm = {num_perm}, not {bands} x {rows}")
        return choice

    @property
    def slots(self) -> int:
        """Slots of a signature in use."""
        return self.bands * self.rows

    @property
    def half_point(self) -> float:
        """The similarity at which half of the pairs are found."""
        return half_point(self.bands, self.rows)

    @overload
    def probability(self, similarity: float) -> np.float64: ...
    @overload
    def probability(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def probability(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the probability that a pair of this similarity is found: 1 - (1 - s**r)**b."""
        return scurve(similarity, self.bands, self.rows)

    def keys(self, signatures: UInt64Array) -> UInt64Array:
        """Return the bucket keys of signatures, uint64 (n, bands); an empty row's keys are all 2**64 - 1.

        Raises
        ------
        ValueError
            If the signatures are shorter than bands x rows.
        """
        check_for_bands(signatures)
        signatures = np.ascontiguousarray(signatures)
        if signatures.ndim != 2 or signatures.dtype != np.uint64:
            raise TypeError(f"signatures must be uint64 (n, k), not {signatures.dtype} {signatures.shape}")
        if self.slots > signatures.shape[1]:
            raise ValueError(f"{self.bands} x {self.rows} slots do not fit in signatures of {signatures.shape[1]}")
        keys = np.empty((len(signatures), self.bands), np.uint64)
        kernels.band_keys(signatures, self.bands, self.rows, keys)
        return keys


def check_threshold(threshold: float) -> float:
    """Return the threshold as a float, or raise an error that names the range."""
    threshold = check_number("threshold", threshold)
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], not {threshold}")
    return threshold


def choose_bands(
    threshold: float, num_perm: int = 128, *, recall: float = 0.95, weights: tuple[float, float] | None = None
) -> Bands:
    """Choose bands and rows for a threshold.

    By default the choice keeps a promise: a pair exactly at the threshold is found with probability at least `recall`
    (pairs above it with more), with the most rows, and so the fewest false candidates, that allow it. The S-curve
    behind it is that of independent slots; slots of `fast` signatures repel each other a little, which finds more
    above its half-point and less below, and up to .08 less where there are only one or two bands: a promise of .9 or
    more is kept by either scheme, a lower one by `classic`. With `weights`
    it is the other libraries' instead: the least weighted sum of the areas under the S-curve below the threshold and
    over it above, which finds only a third to two thirds of the pairs at the threshold.

    Parameters
    ----------
    threshold : float
        In (0, 1].
    num_perm : int, default 128
        Slots of a signature.
    recall : float, default 0.95
        In (0, 1).
    weights : (float, float), optional
        Weights of false positives and false negatives, not negative and not both 0.

    Raises
    ------
    ValueError
        If an argument is out of range, or `num_perm` slots are too few for the recall.

    Examples
    --------
    >>> from lshfast import choose_bands
    >>> choose_bands(0.8)
    Bands(bands=18, rows=7)
    >>> choose_bands(0.8, weights=(0.5, 0.5))
    Bands(bands=9, rows=13)
    """
    threshold = check_threshold(threshold)
    if isinstance(num_perm, bool) or not isinstance(num_perm, (int, np.integer)):
        raise TypeError(f"num_perm must be an int, not {num_perm!r}")
    if num_perm < 1:
        raise ValueError(f"num_perm must be at least 1, not {num_perm}")
    if weights is not None:
        if not isinstance(weights, (tuple, list)) or len(weights) != 2:
            raise TypeError(f"weights must be two numbers, of false positives and false negatives, not {weights!r}")
        return _least_area(threshold, num_perm, *(check_number("weights", weight) for weight in weights))
    if not 0 < check_number("recall", recall) < 1:
        raise ValueError(f"recall must be in (0, 1), not {recall}")
    for rows in range(num_perm, 0, -1):
        if scurve(threshold, num_perm // rows, rows) >= recall:
            return Bands(num_perm // rows, rows)
    most = float(scurve(threshold, num_perm, 1))
    raise ValueError(
        f"recall {recall} at threshold {threshold} is out of reach of num_perm {num_perm}: at most {most:.4f}"
    )


def _least_area(threshold: float, num_perm: int, positive: float, negative: float) -> Bands:
    if not (positive >= 0 and negative >= 0 and 0 < positive + negative < np.inf):
        raise ValueError(f"weights must be finite, not negative, and not both 0, as {(positive, negative)} are")

    def cost(choice: Bands) -> float:
        fp, fn = false_rates(threshold, choice.bands, choice.rows)
        return positive * fp + negative * fn

    return min((Bands(b, r) for b in range(1, num_perm + 1) for r in range(1, num_perm // b + 1)), key=cost)
