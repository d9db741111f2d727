"""A threshold from labels: which pairs to label, and the precision and recall they show.

Similar pairs are counted by bands of similarity, and some pairs of each band, drawn at random, are
labelled "same" or "different". The bands are the strata of a stratified sample.

Estimates assume that the share of "same" does not fall as the similarity rises: they are the means
of Beta(1/2, 1/2), Jeffreys' prior, given the labels, projected onto such shares by isotonic
regression.

Intervals assume nothing. Of s "same" and d "different" labels of a band, the share is at least a
draw of Beta(s + 1/4, d + 3/4), or 0 if s is 0, and at most one of Beta(s + 3/4, d + 1/4), or 1 if d
is 0: between the bounds of Jeffreys and of Clopper and Pearson (Brown, Cai and DasGupta,
Statistical Science 2001). The pairs without a label are "same" by chance with this share, so a band
that is labelled completely is known. The bounds of a rate are quantiles over draws of all bands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_number
from lshfast._common.display import Figure, Shown, counted, figure
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast._engine.pages.pair_sample import band_of
from lshfast._engine.pages.pair_sample import edges_from as edges_from

# Labels that a band gets before the bands are weighed against each other.
FIRST_LABELS = 2

# The parameter of the prior, Beta(PRIOR, PRIOR), and how far bounds are from it; draws; the
# probability of an interval.
PRIOR = 0.5
SHIFT = 0.25
DRAWS = 2000
CONFIDENCE = 0.95
TAILS = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2

# Labels suffice for most purposes once the interval of the precision at the threshold is at most ±
# this.
ENOUGH = 0.05

Numbers = TypeVar("Numbers", Float64Array, Int64Array)

NOTE = (
    "Pairs below {:g} are not known: recall is the share of the same pairs from there on that "
    "is found."
)


class Interval(NamedTuple):
    """The ends of an interval that holds a value with a probability of 95 %.

    See Also
    --------
    lshfast.quality.ThresholdEstimate : What labels say about thresholds.
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f}"


class Labels(NamedTuple):
    """The labels of the pairs of each band.

    Attributes
    ----------
    pairs : ndarray of int64, shape (bands,)
        All pairs of each band.
    same, different : ndarray of int64, shape (bands,)
        How many of them have this label.
    """

    pairs: Int64Array
    same: Int64Array
    different: Int64Array

    @property
    def known(self) -> Int64Array:
        """The pairs of each band that have a label."""
        return self.same + self.different

    @property
    def weights(self) -> Float64Array:
        """The labels of each band, and those that the prior counts for."""
        return (self.known + 2 * PRIOR).astype(np.float64)


@dataclass(frozen=True, repr=False, eq=False)
class ThresholdEstimate(Shown):
    """The precision and the recall of thresholds, and the threshold that the labels support.

    Attributes
    ----------
    thresholds : ndarray of float64, shape (t,)
        Ascending; the first one is the least similarity of all pairs that are counted.
    pairs : ndarray of int64, shape (t,)
        The pairs at or above each threshold.
    labelled, same : ndarray of int64, shape (t,)
        The labelled pairs from each threshold to the next, and those with the label "same".
    precision, recall, f1 : ndarray of float64, shape (t,)
        Estimates. Recall is among the pairs at or above the first threshold.
    precision_intervals, recall_intervals : list of Interval
        Each holds the value with a probability of 95 %.
    threshold : float or None
        The threshold of the largest F1, or the least one with the wanted precision; None if there
        are no labels, or no threshold has this precision.
    interval : Interval or None
        Holds the best threshold with a probability of 95 %.
    wanted : float or None
        The precision that is wanted.

    See Also
    --------
    lshfast.quality.threshold_of : Estimate precision and recall of thresholds from labels.
    """

    thresholds: Float64Array
    pairs: Int64Array
    labelled: Int64Array
    same: Int64Array
    precision: Float64Array
    recall: Float64Array
    f1: Float64Array
    precision_intervals: list[Interval]
    recall_intervals: list[Interval]
    threshold: float | None
    interval: Interval | None
    wanted: float | None = None

    @property
    def at_threshold(self) -> Interval | None:
        """The interval of the precision at the threshold; None without a threshold."""
        if self.threshold is None:
            return None
        row: int = self.thresholds.tolist().index(self.threshold)
        return self.precision_intervals[row]

    def __repr__(self) -> str:
        title, _, note = self._shown()
        return "\n".join([title, *self.lines(), note])

    def lines(self) -> Iterator[str]:
        """Yield the lines of a table, of at most 80 characters."""
        header = f"{'threshold':>9}{'pairs':>13}{'same':>7}{'of':>4}"
        yield f"{header}  {'precision':<19}{'recall':<19}{'F1':>4}"
        for row, threshold in enumerate(self.thresholds.tolist()):
            labels = f"{self.same[row]:>7}{self.labelled[row]:>4}"
            counts = f"{threshold:>9g}{self.pairs[row]:>13,}{labels}"
            rates = "".join(
                f"{value[row]:>6.2f} {f'({intervals[row].low:.2f}-{intervals[row].high:.2f})':<12}"
                for value, intervals in (
                    (self.precision, self.precision_intervals),
                    (self.recall, self.recall_intervals),
                )
            )
            mark = " *" if threshold == self.threshold else ""
            yield f"{counts}{rates}{self.f1[row]:>6.2f}{mark}"

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        why = (
            "largest F1"
            if self.wanted is None
            else f"least with precision {self.wanted:g}"
        )
        if self.threshold is not None:
            title = (
                f"threshold {self.threshold:g} ({why}; {self.interval} with probability "
                f"{CONFIDENCE:g})"
            )
        elif self.labelled.any():
            title = f"no threshold has precision {self.wanted:g}"
        else:
            title = "no pairs are labelled"
        return (
            f"{title}, from {counted(int(self.labelled.sum()), 'label')}",
            self._figures(),
            self.note,
        )

    @property
    def note(self) -> str:
        """A sentence about the pairs that are not known."""
        note = (
            NOTE.format(self.thresholds[0])
            if len(self.thresholds)
            else "There are no pairs."
        )
        if self.threshold is not None and self.threshold == self.thresholds[0]:
            note += " A lower threshold may be better."
        return note

    def _figures(self) -> Iterator[Figure]:
        for row, threshold in enumerate(self.thresholds.tolist()):
            yield figure(
                f"{threshold:g}",
                int(self.pairs[row]),
                f"{self.same[row]} of {self.labelled[row]} labelled pairs are the same",
                f"precision {self.precision[row]:.2f} ({self.precision_intervals[row]})",
                f"recall {self.recall[row]:.2f} ({self.recall_intervals[row]})",
                f"F1 {self.f1[row]:.2f}",
            )


def next_band(
    labels: Labels,
    asked: Int64Array,
    open_pairs: Int64Array,
    precision: float | None = None,
) -> int | None:
    """Return the band from which a pair is labelled next; None if no pair is left.

    Each band gets FIRST_LABELS labels, the most similar ones first. Then it is the band in which
    one more label is expected to reduce the variance of F1 at the threshold with the largest F1
    most; if a precision is wanted, the variance of the precision one band below the least threshold
    that has it. A label in a band of N pairs, n of them labelled, reduces the variance of the share
    of "same" by var / (n + 2), and F1 changes with the share by N times its derivative (delta
    method).

    Parameters
    ----------
    labels : Labels
    asked : ndarray of int64, shape (bands,)
        Pairs of each band that have been asked, those without a label too.
    open_pairs : ndarray of int64, shape (bands,)
        Pairs of each band that can still be asked.
    precision : float, optional
        The precision that is wanted.
    """
    open_bands = np.flatnonzero(open_pairs > 0)
    if not len(open_bands):
        return None
    few = open_bands[asked[open_bands] < FIRST_LABELS]
    if len(few):
        return int(few[np.lexsort((-few, asked[few]))[0]])
    labelled_bands = np.flatnonzero(labels.pairs > 0)
    used_labels = Labels(*(values[labelled_bands] for values in labels))
    share = _shares(used_labels)
    rates = _rates(
        used_labels.pairs,
        used_labels.same + (used_labels.pairs - used_labels.known) * share,
    )
    best_band = int(_chosen(rates, precision))
    if precision is not None:
        best_band = max(0, (best_band if best_band >= 0 else len(labelled_bands)) - 1)
    above = int64_range(len(labelled_bands)) >= best_band
    pairs = rates.pairs[best_band]
    total = rates.pairs[best_band] + rates.same
    change = (
        above / pairs
        if precision is not None
        else (2 * above - rates.f1[best_band]) / total
    )
    size = used_labels.weights
    variance = share * (1 - share) / (size + 1)
    gain = np.zeros(len(labels.pairs))
    gain[labelled_bands] = (
        ((used_labels.pairs - used_labels.known) * change) ** 2 * variance / (size + 1)
    )
    return int(open_bands[np.argmax(gain[open_bands])])


def threshold_of(
    similarity: npt.ArrayLike,
    same: npt.ArrayLike,
    edges: npt.ArrayLike,
    counts: npt.ArrayLike,
    *,
    precision: float | None = None,
    seed: int = 1,
) -> ThresholdEstimate:
    """Estimate the precision and the recall of thresholds from labelled pairs.

    Parameters
    ----------
    similarity : array_like of float, shape (m,)
        The similarities of the labelled pairs: of each band, some pairs drawn at random, whatever
        their labels are.
    same : array_like of bool, shape (m,)
        Whether the two rows of a pair are the same.
    edges : array_like of float, shape (bands + 1,)
        Ascending: the ends of the bands. They are the thresholds that are considered.
    counts : array_like of int, shape (bands,)
        The number of all pairs of each band.
    precision : float, optional
        Choose the least threshold with this precision, in (0, 1], instead of the one with the
        largest F1.
    seed : int, default 1
        Of the draws from the posterior distribution.

    Returns
    -------
    ThresholdEstimate

    Raises
    ------
    ValueError
        If the shapes do not fit each other, a similarity is outside of the bands, or more pairs of
        a band are labelled than there are.

    See Also
    --------
    lshfast.quality.edges_from : The ends of the bands of similarities.
    lshfast.check : Measure what a deduplication finds and misses.

    Examples
    --------
    >>> from lshfast.quality import threshold_of
    >>> similarity = [0.82, 0.83, 0.88, 0.87, 0.93, 0.91, 0.97, 0.99]
    >>> same = [False, False, True, False, True, True, True, True]
    >>> found = threshold_of(
    ...     similarity, same, [0.8, 0.85, 0.9, 0.95, 1.0], [40, 30, 30, 20]
    ... )
    >>> found.threshold
    0.85
    """
    if precision is not None and not 0 < check_number("precision", precision) <= 1:
        raise ValueError(f"precision must be in (0, 1], not {precision}")
    ends = np.asarray(edges, np.float64)
    labels = _counted(
        np.asarray(similarity, np.float64),
        np.asarray(same, np.bool_),
        ends,
        np.asarray(counts, np.int64),
    )
    labelled_bands = np.flatnonzero(labels.pairs > 0)
    used_labels = Labels(*(values[labelled_bands] for values in labels))
    thresholds = ends[labelled_bands].copy()
    if not len(labelled_bands):
        empty = thresholds
        counts_of_bands = used_labels.pairs, used_labels.known, used_labels.same
        rates_of_bands = empty, empty, empty
        return ThresholdEstimate(
            empty, *counts_of_bands, *rates_of_bands, [], [], None, None, precision
        )
    thresholds[0] = ends[0]
    unlabelled = used_labels.pairs - used_labels.known
    rates = _rates(
        used_labels.pairs, used_labels.same + unlabelled * _shares(used_labels)
    )
    random = np.random.default_rng(seed)
    low, high = _drawn(used_labels, random)
    low_precision = _precision(low, used_labels.pairs)
    high_precision = _precision(high, used_labels.pairs)
    precisions = _intervals(low_precision, high_precision, rates.precision)
    best = int(_chosen(rates, precision)) if used_labels.known.any() else -1
    interval = None
    if best >= 0:
        if precision is None:
            first, last = _best_f1(used_labels, random)
        else:
            first, last = _reaching(precisions, precision)
        lower = float(thresholds[min(first, best)])
        upper = float(thresholds[max(last, best)])
        interval = Interval(lower, upper)
    return ThresholdEstimate(
        thresholds,
        rates.pairs,
        used_labels.known,
        used_labels.same,
        rates.precision,
        rates.recall,
        rates.f1,
        precisions,
        _intervals(_recall(low, high), _recall(high, low), rates.recall),
        float(thresholds[best]) if best >= 0 else None,
        interval,
        precision,
    )


class _Rates(NamedTuple):
    """Rates at the lower end of each band, of one estimate or of many draws."""

    pairs: Int64Array
    same: Float64Array
    precision: Float64Array
    recall: Float64Array
    f1: Float64Array


def _counted(
    similarity: Float64Array, same: BoolArray, edges: Float64Array, counts: Int64Array
) -> Labels:
    """Return the labels of each band."""
    if similarity.ndim != 1 or similarity.shape != same.shape:
        raise ValueError(
            f"one label per similarity: {similarity.shape} similarities, {same.shape} labels"
        )
    fit = edges.ndim == 1 and counts.shape == (len(edges) - 1,)
    if not fit or not (np.diff(edges) > 0).all() or (counts < 0).any():
        raise ValueError(
            "edges must ascend, and there must be one count, at least 0, between two of them"
        )
    if not ((similarity >= edges[0]) & (similarity <= edges[-1])).all():
        raise ValueError(
            f"similarity must be in {edges[0]:g}..{edges[-1]:g}, the edges"
        )
    bands = band_of(similarity, edges)
    size = len(counts)
    labels = Labels(
        counts,
        np.bincount(bands[same], minlength=size),
        np.bincount(bands[~same], minlength=size),
    )
    if (labels.known > counts).any():
        raise ValueError("more pairs of a band are labelled than counts has")
    return labels


def _shares(labels: Labels) -> Float64Array:
    """Return the posterior means of the shares of "same", which do not fall from band to band."""
    return np.asarray(
        _rising(((labels.same + PRIOR) / labels.weights)[None], labels.weights)[0]
    )


def _drawn(
    labels: Labels, random: np.random.Generator
) -> tuple[Float64Array, Float64Array]:
    """Return draws of the least and greatest number of "same" pairs by band, (DRAWS, bands)."""
    least = np.where(labels.same == 0, 0.0, _posterior(labels, random, -SHIFT))
    most = np.where(labels.different == 0, 1.0, _posterior(labels, random, SHIFT))
    return _filled(labels, least, random), _filled(labels, most, random)


def _posterior(
    labels: Labels, random: np.random.Generator, shift: float = 0.0
) -> Float64Array:
    """Return draws of the share of "same" of each band, shape (DRAWS, bands)."""
    ends = labels.same + PRIOR + shift, labels.different + PRIOR - shift
    return random.beta(*ends, (DRAWS, len(labels.pairs)))


def _filled(
    labels: Labels, shares: Float64Array, random: np.random.Generator
) -> Float64Array:
    """Return numbers of "same" pairs: the labelled ones, and others by chance."""
    return (labels.same + random.binomial(labels.pairs - labels.known, shares)).astype(
        np.float64
    )


def _best_f1(labels: Labels, random: np.random.Generator) -> tuple[int, int]:
    """Return the first and last band where F1 may be largest, from draws of ascending shares."""
    shares = _rising(_posterior(labels, random), labels.weights)
    places = _chosen(_rates(labels.pairs, _filled(labels, shares, random)), None)
    low, high = (
        np.quantile(places, TAILS, method="closest_observation")
        .astype(np.int64)
        .tolist()
    )
    return low, high


def _reaching(precisions: list[Interval], least: float) -> tuple[int, int]:
    """Return the first band whose precision may be `least`, and the first where it surely is."""
    last = len(precisions) - 1
    first = next(
        (place for place, (_, high) in enumerate(precisions) if high >= least), last
    )
    return first, next(
        (place for place, (low, _) in enumerate(precisions) if low >= least), last
    )


def _rising(values: Float64Array, weights: Float64Array) -> Float64Array:
    """Return the isotonic regression of each row.

    It is the largest, over starts, of the least mean over ends.
    """
    n = values.shape[1]
    sums = np.cumsum(
        np.pad(values * weights, ((0, 0), (1, 0))), axis=1, dtype=np.float64
    )
    sizes = np.cumsum(np.pad(weights, (1, 0)), dtype=np.float64)
    fitted = np.full(values.shape, -np.inf, np.float64)
    for start in range(n):
        totals = sums[:, start + 1 :] - sums[:, start : start + 1]
        means = totals / (sizes[start + 1 :] - sizes[start])
        # Over the ends from each place on.
        least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        np.maximum(fitted[:, start:], least, out=fitted[:, start:])
    return np.asarray(np.clip(fitted, 0.0, 1.0), np.float64)


def _rates(pairs: Int64Array, same: Float64Array) -> _Rates:
    """Return the rates for numbers of "same" pairs, of shape (..., bands)."""
    above = _above(pairs)
    true = _above(same)
    return _Rates(
        above,
        true[..., 0],
        true / above,
        _recall(same, same),
        2 * true / (above + true[..., :1]),
    )


def _chosen(rates: _Rates, precision: float | None) -> Int64Array:
    """Return the band of the best threshold for each draw; -1 if none has the precision."""
    if precision is None:
        return np.asarray(np.argmax(rates.f1, axis=-1), np.int64)
    enough = rates.precision >= precision
    return np.where(enough.any(axis=-1), np.argmax(enough, axis=-1), -1)


def _above(numbers: Numbers) -> Numbers:
    """Return the sums from each band on."""
    sums: Numbers = np.cumsum(numbers[..., ::-1], axis=-1, dtype=numbers.dtype)[
        ..., ::-1
    ]
    return sums


def _precision(same: Float64Array, pairs: Int64Array) -> Float64Array:
    return np.asarray(_above(same) / _above(pairs))


def _recall(same: Float64Array, below: Float64Array) -> Float64Array:
    """Return the recall at the lower end of each band, for numbers of "same" pairs.

    `true` are the pairs from the band on, `below` those below it.
    """
    true = _above(same)
    totals = true + np.cumsum(below, axis=-1, dtype=np.float64) - below
    return np.divide(true, totals, out=np.zeros_like(true), where=totals > 0)


def _intervals(
    low: Float64Array, high: Float64Array, estimates: Float64Array
) -> list[Interval]:
    """Return the intervals of rates from draws of the bounds; they hold the estimates too."""
    lows = np.minimum(np.quantile(low, TAILS[0], axis=0), estimates)
    highs = np.maximum(np.quantile(high, TAILS[1], axis=0), estimates)
    return list(map(Interval, lows.tolist(), highs.tolist()))
