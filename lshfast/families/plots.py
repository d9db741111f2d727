"""Plots of S-curves with matplotlib, without pyplot: they change no global state."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from lshfast._common.checks import check_number
from lshfast._common.extras import optional
from lshfast._common.types import Float64Array
from lshfast.banding import Bands
from lshfast.families.cascade import Cascade
from lshfast.families.curves import (
    Histogram,
    collision_probability,
    distance_at,
    histogram_arrays,
    weighted_points,
)
from lshfast.families.family import Amplified, Family
from lshfast.families.plans import BandPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Axis: TypeAlias = Literal["distance", "similarity"]

# Points of a curve.
POINTS = 1001
# If distances are unlimited, the curve is drawn down to this probability.
FAINT = 0.05
SIZE_INCHES = (7.0, 4.8)
DOTS_PER_INCH = 150
# The ratio of the highest bar of a histogram to the median one from which counts are logarithmic.
LOGARITHMIC = 50
# The width of a bar of a histogram of values, as a share of the axis.
POINT_WIDTH = 1 / 80
# Colours that differ in lightness too, for grey print and for readers who see fewer colours (Okabe
# and Ito, 2008).
CURVE = "#0072B2"
ONE_FUNCTION = "#707070"
THRESHOLD = "#D55E00"
HALF = "#009E73"
POINT = "#000000"
# Markers at the edges of the axes are not clipped.
MARKER: dict[str, Any] = {
    "markersize": 6,
    "zorder": 4,
    "clip_on": False,
}
OTHERS = ("#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-.", "--", ":", "-")
ITEMS = "#DDE3EA"
CANDIDATES = "#8FA9C4"


def plot_curve(
    curve: Family[Any] | Bands | BandPlan,
    *,
    over: Axis | None = None,
    threshold: float | None = None,
    sensitivity: tuple[float, float] | None = None,
    histogram: Histogram | None = None,
    limits: tuple[float, float] | None = None,
    others: Mapping[str, Bands] | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability that items collide or become candidates, over their distance.

    The axis may also be their similarity.

    Parameters
    ----------
    curve : Family, Bands or BandPlan
        The curve to draw. With an amplified family, bands, or a plan, the curve of one hash
        function is drawn too.
    over : {"distance", "similarity"}, optional
        The values on the axis. The default is distances for a family or a plan with one, otherwise
        similarities. The similarity of a family is the collision probability of one function; the
        distance of bands is 1 - similarity.
    threshold : float, optional
        A value on the axis to mark, with its probability. By default, the threshold of a plan.
    sensitivity : (float, float), optional
        Two values on the axis to mark with their probabilities, such as d1 and d2 of
        `Family.sensitivity`.
    histogram : (counts, values) or (counts, edges), optional
        How many items are at which value, or in which bin, as of `numpy.histogram`. It is drawn
        below the curve, with the expected candidates in a darker colour.
    limits : (float, float), optional
        The ends of the axis; marks outside are not drawn. By default, all values, or, if distances
        are unlimited, as far as the curve, the marks and the histogram need.
    others : mapping of str to Bands, optional
        Other bands to draw if `curve` is Bands, by their names in the legend.
    path : str or path, optional
        Save the figure into this file; the suffix (.png, .svg, .pdf) determines the format.
    ax : matplotlib.axes.Axes, optional
        Where to draw, with a legend inside. By default, in a figure of its own, with a legend above
        the curve.

    Returns
    -------
    matplotlib.axes.Axes
        A notebook shows axes in a figure of their own as a picture.

    Raises
    ------
    ImportError
        If matplotlib is missing (``pip install "lshfast[plots]"``).
    TypeError
        If an argument has the wrong type.
    ValueError
        If a value is out of range, or matplotlib does not know the format.

    See Also
    --------
    lshfast.choose_bands : Choose bands and rows for a threshold and a recall.
    lshfast.Bands : A division of signatures into bands, with its S-curve.

    Examples
    --------
    >>> from lshfast import Bands
    >>> from lshfast.families import plot_curve
    >>> ax = plot_curve(Bands(18, 7), threshold=0.8)
    >>> ax.get_xlabel()
    'similarity'
    """
    shape = _Shape.of(curve, over)
    if threshold is None and isinstance(curve, BandPlan):
        threshold = shape.place(curve.threshold)
    marks = [] if threshold is None else [shape.checked("threshold", threshold)]
    ends = _sensitivity_ends(shape, sensitivity)
    bars = None if histogram is None else histogram_arrays(histogram, shape.axis_family)
    bar_places: list[float] = [] if bars is None else bars[1].tolist()
    low, high = _limits(shape, limits, [*marks, *ends, *bar_places])
    if others and not all(
        isinstance(bands, Bands) for bands in (curve, *others.values())
    ):
        raise TypeError("others must be Bands, and need a curve that is Bands")
    legend_above = ax is None
    if ax is None:
        ax = new_axes()
    if bars is not None:
        _draw_histogram(ax, shape, *bars, low, high)
    _draw_curves(ax, shape, others or {}, np.linspace(low, high, POINTS))
    _draw_marks(
        ax, shape, _between(low, high, marks), _between(low, high, ends), (low, high)
    )
    ax.set(
        xlabel=shape.axis_label, ylabel=shape.outcome, xlim=(low, high), ylim=(0, 1.02)
    )
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    _legend(ax, above=legend_above)
    if path is not None:
        ax.figure.canvas.print_figure(os.fspath(path), dpi=DOTS_PER_INCH)
    return ax


def _draw_curves(
    ax: Axes, shape: _Shape, other_bands: Mapping[str, Bands], values: Float64Array
) -> None:
    """Draw the curve, the one of a single function if it differs, and the ones of other bands."""
    probabilities = shape.probability(values)
    ax.plot(
        values, probabilities, color=CURVE, linewidth=2.2, label=shape.label, zorder=3
    )
    if shape.amplified:
        ax.plot(
            values,
            shape.one(values),
            color=ONE_FUNCTION,
            linewidth=1,
            linestyle=(0, (6, 2)),
            label="one function",
        )
    for number, (name, bands) in enumerate(other_bands.items()):
        other_shape = _Shape.of(bands, shape.over)
        ax.plot(
            values,
            other_shape.probability(values),
            color=OTHERS[number % len(OTHERS)],
            linestyle=DASHES[number % len(DASHES)],
            linewidth=1.4,
            label=f"{name}: {other_shape.label}",
        )


def _draw_marks(
    ax: Axes,
    shape: _Shape,
    thresholds: list[float],
    ends: list[float],
    limits: tuple[float, float],
) -> None:
    """Mark thresholds, the point of probability 1/2, and the two ends of a sensitivity."""
    low, high = limits
    for value in thresholds:
        probability = float(shape.probability(value))
        label = f"threshold {value:.4g}: {probability:.4f}"
        ax.axvline(value, color=THRESHOLD, linewidth=1.2, linestyle="--")
        ax.plot(value, probability, "o", color=THRESHOLD, label=label, **MARKER)
    half = shape.half_point()
    if half is not None and low <= half <= high:
        ax.plot(
            [half, half, low], [0, 0.5, 0.5], color=HALF, linewidth=1.2, linestyle=":"
        )
        ax.plot(half, 0.5, "s", color=HALF, label=f"half at {half:.4g}", **MARKER)
    for value, marker in zip(ends, "^v", strict=False):
        probability = float(shape.probability(value))
        label = f"at {value:.4g}: {probability:.4g}"
        heights = [0, probability, probability]
        ax.plot(
            [value, value, low], heights, color=POINT, linewidth=0.8, linestyle="-."
        )
        ax.plot(value, probability, marker, color=POINT, label=label, **MARKER)


def new_axes() -> Axes:
    """Return axes in a figure of their own, which a notebook shows as a picture."""
    figure = optional("matplotlib.figure", "plots").Figure(
        figsize=SIZE_INCHES, dpi=DOTS_PER_INCH, layout="constrained"
    )
    ax: Axes = figure.add_subplot()
    setattr(ax, "_repr_svg_", partial(_as_svg, figure))  # noqa: B010  matplotlib does not declare it
    return ax


def _as_svg(figure: Figure) -> str:
    picture = io.StringIO()
    figure.canvas.print_figure(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


@dataclass(frozen=True)
class _Shape:
    """A curve over an axis."""

    # The family of one function; None if similarities are collision probabilities.
    family: Family[Any] | None
    over: Axis
    # Returns the probability of the curve for the probability of one function.
    of_one: Callable[[Float64Array], Any]
    # The probabilities of one function at which the curve is 1/2, and FAINT.
    half: float
    faint: float
    amplified: bool
    label: str
    outcome: str

    @classmethod
    def of(cls, curve: Family[Any] | Bands | BandPlan, over: Axis | None) -> _Shape:
        if over not in (None, *get_args(Axis)):
            raise ValueError(
                f"over must be one of {', '.join(get_args(Axis))}, not {over!r}"
            )
        if isinstance(curve, (Bands, BandPlan)):
            bands = Bands(curve.bands, curve.rows_per_band)
            family = curve.family if isinstance(curve, BandPlan) else None
            inverse = Cascade().and_(bands.rows_per_band).or_(bands.bands).inverse
            band_noun = "band" if bands.bands == 1 else "bands"
            row_noun = "row" if bands.rows_per_band == 1 else "rows"
            label = f"{bands.bands:,} {band_noun} of {bands.rows_per_band:,} {row_noun}"
            if family is not None:
                label = f"{family.name}, {label}"
            outcome = "probability of becoming a candidate"
            default: Axis = "similarity" if family is None else "distance"
            return cls(
                family,
                over or default,
                bands.probability,
                bands.half_point,
                float(inverse(FAINT)),
                bands.slots > 1,
                label,
                outcome,
            )
        if not isinstance(curve, Family):
            raise TypeError(
                f"curve must be a Family, Bands or a BandPlan, not {curve!r}"
            )
        base = curve
        cascade = Cascade()
        if isinstance(curve, Amplified):
            base = curve.base
            cascade = curve.cascade
        steps = [f"{step.upper()} of {count:,}" for step, count in cascade.steps]
        label = ", ".join([base.name, *steps])
        return cls(
            base,
            over or "distance",
            cascade.curve,
            cascade.half_point,
            float(cascade.inverse(FAINT)),
            bool(cascade.steps),
            label,
            "collision probability",
        )

    @property
    def axis_family(self) -> Family[Any] | None:
        """The family whose distances are on the axis; None if they are in [0, 1]."""
        return self.family if self.over == "distance" else None

    @property
    def axis_label(self) -> str:
        if self.family is None:
            return (
                "similarity"
                if self.over == "similarity"
                else "distance (1 − similarity)"
            )
        if self.over == "distance":
            return "distance"
        return f"collision probability of one function of {self.family.name}"

    def one(self, values: Any) -> Float64Array:
        """Return the collision probability of one function at values on the axis."""
        p = collision_probability(self.axis_family, values)
        return 1 - p if self.family is None and self.over == "distance" else p

    def probability(self, values: Any) -> Float64Array:
        """Return the probability of the curve at values on the axis."""
        return np.asarray(self.of_one(self.one(values)))

    def place(self, value: float) -> float:
        """Return the place on the axis of a distance of the family, or else of a similarity."""
        if self.family is not None and self.over == "similarity":
            return float(collision_probability(self.family, value))
        return 1 - value if self.family is None and self.over == "distance" else value

    def value_at(self, p: float) -> float | None:
        """Return the value at which one function has this collision probability, or None."""
        if self.over == "similarity":
            return p
        if self.family is None:
            return 1 - p
        if float(self.one(0.0)) < p:
            return None
        return distance_at(self.family, p)

    def half_point(self) -> float | None:
        """Return the finite value at which the curve is 1/2, or None."""
        value = self.value_at(self.half)
        if value is None or not isfinite(value):
            return None
        is_half = abs(float(self.probability(value)) - 0.5) < 0.01
        return value if is_half else None

    def checked(self, name: str, value: float) -> float:
        """Return a value on the axis, or raise an error that names its range."""
        value = check_number(name, value)
        most = 1.0 if self.axis_family is None else self.axis_family.max_distance
        if not (0 <= value <= most and isfinite(value)):
            raise ValueError(
                f"{name} must be a {self.over} in 0..{most:g}, not {value}"
            )
        return value


def _sensitivity_ends(
    shape: _Shape, sensitivity: tuple[float, float] | None
) -> list[float]:
    """Return the checked values of a sensitivity, or an empty list."""
    if sensitivity is None:
        return []
    if not isinstance(sensitivity, (tuple, list)) or len(sensitivity) < 2:
        raise TypeError(f"sensitivity must be two values, not {sensitivity!r}")
    return [shape.checked("sensitivity", value) for value in sensitivity[:2]]


def _between(low: float, high: float, values: list[float]) -> list[float]:
    return [value for value in values if low <= value <= high]


def _limits(
    shape: _Shape, limits: tuple[float, float] | None, values: list[float]
) -> tuple[float, float]:
    """Return the ends of the axis."""
    if limits is not None:
        if not isinstance(limits, (tuple, list)) or len(limits) != 2:
            raise TypeError(f"limits must be two values, not {limits!r}")
        low, high = (shape.checked("limits", value) for value in limits)
        if low >= high:
            raise ValueError(f"limits must be increasing, not {limits}")
        return low, high
    family = shape.axis_family
    if family is None or isfinite(family.max_distance):
        return 0.0, 1.0 if family is None else family.max_distance
    reach = shape.value_at(shape.faint)
    if reach is None or not isfinite(reach):
        reach = 0.0
    high = max(reach, 1.05 * max(values, default=0.0))
    return 0.0, high or 1.0


def _draw_histogram(
    ax: Axes,
    shape: _Shape,
    counts: Float64Array,
    places: Float64Array,
    low: float,
    high: float,
) -> None:
    """Draw bars of all items and of the expected candidates behind the curve.

    Their axis of counts is at the right.
    """
    if len(places) > len(counts):
        left_edges = places[:-1]
        widths = np.diff(places)
    else:
        widths = np.full(len(places), POINT_WIDTH * (high - low), np.float64)
        left_edges = np.clip(places - widths / 2, low, high - widths)
    values, part_counts = weighted_points(counts, places)
    candidates = (part_counts * shape.probability(values)).sum(axis=1)
    bar_axes = ax.twinx()
    bar_axes.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
    kinds_of_bars = (
        (counts, ITEMS, "items"),
        (candidates, CANDIDATES, "expected candidates"),
    )
    for heights, color, label in kinds_of_bars:
        bar_axes.bar(
            left_edges,
            heights,
            widths,
            align="edge",
            color=color,
            label=label,
            linewidth=0,
        )
    positive_counts = counts[counts > 0]
    least = float(positive_counts.min())
    most = float(positive_counts.max())
    median = float(np.median(positive_counts))
    if most > LOGARITHMIC * median or most > LOGARITHMIC**2 * least:
        bar_axes.set_yscale("log")
        bar_axes.set_ylim(min(0.8, least / 2), most * 2)
    else:
        bar_axes.set_ylim(0, most * 1.02)
        if most >= 1000:
            bar_axes.yaxis.set_major_formatter("{x:,.0f}")
    bar_axes.set_ylabel("items")
    bar_axes.spines[["top", "left"]].set_visible(False)


def _legend(ax: Axes, above: bool) -> None:
    """Draw a legend of the lines and the bars, above the axes or where it hides least."""
    handles, labels = ax.get_legend_handles_labels()
    for sibling in ax.get_shared_x_axes().get_siblings(ax):
        if sibling is not ax and sibling.bbox.bounds == ax.bbox.bounds:
            bar_handles, bar_labels = sibling.get_legend_handles_labels()
            handles = handles + bar_handles
            labels = labels + bar_labels
    if above:
        place: dict[str, Any] = {
            "loc": "lower center",
            "bbox_to_anchor": (0.5, 1.0),
            "ncols": 3,
            "frameon": False,
        }
    else:
        place = {"loc": "best"}
    ax.legend(handles, labels, fontsize="small", **place)
