"""The rate of true matches at each score, estimated from a field that takes no part in the score.

The field differs by h0 on average between the two records of a match, and by h1 between two random
records. If it differs by h between the pairs of some score, and the field does not depend on the
score otherwise, the part f = (h1 - h) / (h1 - h0) of these pairs are matches, because f h0 + (1 -
f) h1 = h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int, check_number
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast._common.visible import visible
from lshfast.records.results.text_tables import aligned

# Pairs of the highest scores from which h0 is estimated, at least, but at most this part of all:
LEAST_SURE = 30
MOST_SURE = 0.1


def true_match_rate(h: npt.ArrayLike, h0: float, h1: float) -> Float64Array:
    """Return the share of matches from the mean difference of a field outside the score.

    Parameters
    ----------
    h : array_like of float
        The mean difference of the pairs.
    h0 : float
        The mean difference of matches.
    h1 : float
        The mean difference of random pairs, other than `h0`.

    Returns
    -------
    ndarray of float64
        (h1 - h) / (h1 - h0). It is not limited to [0, 1]: errors of the means lead beyond.

    Raises
    ------
    ValueError
        If h0 equals h1, or one of them is not finite.

    See Also
    --------
    lshfast.records.rate_table : Estimate the rate of true matches in ranges of scores.
    lshfast.records.plot_rates : Draw the rate of true matches over the score.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.3.

    Examples
    --------
    Records of matches were made 10 days apart on average, and random records 45 days:

    >>> true_match_rate([10, 27.5, 45], h0=10, h1=45).tolist()
    [1.0, 0.5, 0.0]
    """
    h0 = check_number("h0", h0)
    h1 = check_number("h1", h1)
    if not (np.isfinite(h0) and np.isfinite(h1)) or h0 == h1:
        raise ValueError(
            f"h0 and h1 must be different finite numbers, not {h0} and {h1}: "
            "the field tells nothing"
        )
    return np.asarray((h1 - array_of(h, "h").astype(np.float64)) / (h1 - h0))


@dataclass(frozen=True)
class RateTable:
    """The rate of true matches by score.

    Attributes
    ----------
    field : str
        The field from which the rate is estimated.
    edges : ndarray of float64, shape (bins + 1,)
        The ends of the ranges of scores, ascending. A range includes its lower end; the last
        includes both.
    pairs : ndarray of int64, shape (bins,)
        Pairs with such scores and both values of the field.
    means : ndarray of float64, shape (bins,)
        Mean difference of the field, h; NaN without pairs.
    rates : ndarray of float64, shape (bins,)
        (h1 - h) / (h1 - h0).
    errors : ndarray of float64, shape (bins,)
        Standard errors of the rates, without those of h0 and h1; NaN for fewer than 2 pairs.
    h0, h1 : float
        Mean difference of the field between matches, and between random records.

    See Also
    --------
    lshfast.records.rate_table : Estimate the rate of true matches by score.
    lshfast.records.plot_rates : Draw the rates.
    """

    field: str
    edges: Float64Array
    pairs: Int64Array
    means: Float64Array
    rates: Float64Array
    errors: Float64Array
    h0: float
    h1: float

    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the table as columns."""
        return {
            "score_from": self.edges[:-1].round(4),
            "score_to": self.edges[1:].round(4),
            "pairs": self.pairs,
            "mean_difference": self.means.round(6),
            "true_match_rate": self.rates.round(6),
            "standard_error": self.errors.round(6),
        }

    def __str__(self) -> str:
        title = (
            f"true matches by {visible(self.field)}: "
            f"mean difference {self.h0:.4g} of matches, {self.h1:.4g} of random pairs"
        )
        rows = [("score", "pairs", "difference", "rate", "error")]
        for place in np.flatnonzero(self.pairs).tolist():
            scores = f"{self.edges[place]:.4g} .. {self.edges[place + 1]:.4g}"
            rates = f"{self.rates[place]:.3f}", f"{self.errors[place]:.3f}"
            pairs = f"{self.pairs[place]:,}"
            rows.append((scores, pairs, f"{self.means[place]:.4g}", *rates))
        return f"{title}\n{aligned(rows, left_columns=0)}"


def rate_table(
    scores: npt.ArrayLike,
    differences: npt.ArrayLike,
    *,
    random: npt.ArrayLike | None = None,
    h0: float | None = None,
    h1: float | None = None,
    window: float | None = None,
    bins: int = 20,
    field: str = "field",
) -> RateTable:
    """Estimate the rate of true matches in ranges of scores.

    Parameters
    ----------
    scores : array_like of float, shape (n,)
        Scores of pairs, computed without the field; at least one pair.
    differences : array_like of float, shape (n,)
        How much the field differs between the records of each pair, at least 0; NaN if one has no
        value.
    random : array_like of float, optional
        The same of random pairs, whose mean is h1.
    h0 : float, optional
        The mean difference of matches. The default is that of the highest scores: of the highest
        ranges with at least 30 pairs, or a tenth of all if these are fewer.
    h1 : float, optional
        The mean difference of random pairs; either this or `random` is needed.
    window : float, optional
        The greatest difference that a match may have, above 0, such as 90 days. Pairs that differ
        by more are left out, random ones too.
    bins : int, default 20
        Ranges of equal width, in 1..10,000.
    field : str
        The name of the field.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value, no pair has both values of the field, or the
        field differs as much between matches as between random pairs.

    See Also
    --------
    lshfast.records.plot_rates : Draw the rate of true matches over the score.
    lshfast.records.true_match_rate : Estimate the part of pairs that are matches.

    Examples
    --------
    >>> table = rate_table([300, 300, 200, 200], [10, 10, 45, 10], h0=10, h1=45, bins=1)
    >>> table.rates.round(3).tolist()
    [0.75]
    """
    bins = check_int("bins", bins, 1, 10_000)
    window = check_window(window)
    score, difference = _pairs_with_both(scores, differences, field, window)
    if h1 is None:
        h1 = _mean_difference([] if random is None else random, field, window)
    edges = np.linspace(score.min(), score.max(), bins + 1)
    place = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, bins - 1)
    pairs = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(place, difference, minlength=bins) / pairs
        squares = np.bincount(place, (difference - means[place]) ** 2, minlength=bins)
        errors = np.sqrt(np.where(pairs > 1, squares / (pairs - 1) / pairs, np.nan))
    if h0 is None:
        fewest = max(1.0, min(LEAST_SURE, MOST_SURE * len(score)))
        pairs_from_here = np.cumsum(pairs[::-1], dtype=np.float64)[::-1]
        lowest = int(np.flatnonzero(pairs_from_here >= fewest)[-1])
        h0 = float(difference[place >= lowest].mean())
    if h0 == h1:
        raise ValueError(
            f"{field!r} differs by {h0:g} on average between matches and also between random pairs"
        )
    return RateTable(
        field,
        edges,
        pairs.astype(np.int64),
        means,
        true_match_rate(means, h0, h1),
        errors / abs(h1 - h0),
        h0,
        h1,
    )


def check_window(window: float | None, name: str = "window") -> float | None:
    """Return the greatest difference of a match, or raise an error that names the argument."""
    if window is not None and not check_number(name, window) > 0:
        raise ValueError(f"{name} must be above 0, not {window}")
    return window


def _within(differences: Float64Array, window: float | None) -> BoolArray:
    """Return which pairs have both values, with a difference within the window if there is one."""
    most = np.inf if window is None else window
    return np.asarray(np.isfinite(differences) & (differences <= most))


def _text_of_window(window: float | None) -> str:
    return "" if window is None else f" that differ by at most {window:g}"


def _pairs_with_both(
    scores: npt.ArrayLike,
    differences: npt.ArrayLike,
    field: str,
    window: float | None,
) -> tuple[Float64Array, Float64Array]:
    """Return the scores and differences of the pairs that have both values, after checks."""
    score = array_of(scores, "scores").astype(np.float64)
    difference = array_of(differences, "differences").astype(np.float64)
    if score.ndim != 1 or score.shape != difference.shape:
        raise ValueError(
            f"scores and differences must have one shape (n,), not {score.shape} and "
            f"{difference.shape}"
        )
    if not np.isfinite(score).all() or (difference < 0).any():
        raise ValueError("scores must be finite, and differences at least 0 or NaN")
    is_counted = _within(difference, window)
    if not is_counted.any():
        raise ValueError(
            f"no compared pair has both values of {field!r}{_text_of_window(window)}"
        )
    return score[is_counted], difference[is_counted]


def _mean_difference(random: npt.ArrayLike, field: str, window: float | None) -> float:
    """Return the mean difference of random pairs."""
    by_chance = array_of(random, "random").astype(np.float64)
    by_chance = by_chance[_within(by_chance, window)]
    if not len(by_chance):
        raise ValueError(
            f"h1 is needed, or random pairs with both values of {field!r}"
            f"{_text_of_window(window)}"
        )
    return float(by_chance.mean())
