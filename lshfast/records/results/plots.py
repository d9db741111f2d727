"""A plot of the rate of true matches with matplotlib. It uses no pyplot, so it needs no display."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from lshfast.families.plots import (
    CURVE,
    DOTS_PER_INCH,
    HALF,
    ITEMS,
    THRESHOLD,
    new_axes,
)
from lshfast.records.results.rates import RateTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_rates(
    table: RateTable,
    *,
    threshold: float | None = None,
    unit: str = "score",
    path: str | os.PathLike[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the estimated rate of true matches over the score, with two standard errors.

    Bars show the numbers of pairs.

    Parameters
    ----------
    table : RateTable
    threshold : float, optional
        A score to mark.
    unit : str
        The label of the axis of scores.
    path : str or path, optional
        Save the figure into this file; the suffix (.png, .svg, .pdf) determines the format.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a figure of its own, which a notebook shows as a picture.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing (``pip install "lshfast[plots]"``).
    ValueError
        If matplotlib does not know the format.

    See Also
    --------
    lshfast.records.rate_table : Estimate the rate of true matches in ranges of scores.

    Examples
    --------
    >>> from lshfast.records import plot_rates, rate_table
    >>> table = rate_table([300, 300, 115, 115], [10, 10, 45, 45], h0=10, h1=45, bins=5)
    >>> plot_rates(table).get_ylabel()
    'estimated rate of true matches'
    """
    has_own_figure = ax is None
    if ax is None:
        ax = new_axes()
    has_pairs = table.pairs > 0
    middle = (table.edges[:-1] + table.edges[1:]) / 2
    widths = np.diff(table.edges)
    below = ax.twinx()
    below.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
    below.bar(
        table.edges[:-1],
        table.pairs,
        widths,
        align="edge",
        color=ITEMS,
        label="pairs",
        linewidth=0,
    )
    if table.pairs.max() > 50 * np.median(table.pairs[has_pairs]):
        below.set_yscale("log")
        below.set_ylim(0.8, float(table.pairs.max()) * 2)
    else:
        below.yaxis.set_major_formatter("{x:,.0f}")
    below.set_ylabel("pairs")
    below.spines[["top", "left"]].set_visible(False)
    errors = 2 * np.nan_to_num(table.errors[has_pairs])
    ax.errorbar(
        middle[has_pairs],
        np.clip(table.rates[has_pairs], -0.1, 1.1),
        errors,
        color=CURVE,
        marker="o",
        markersize=4,
        linewidth=1.6,
        elinewidth=0.8,
        capsize=2,
        label=f"rate by {table.field}, ± 2 standard errors",
    )
    for value in (0.0, 1.0):
        ax.axhline(value, color=HALF, linewidth=0.8, linestyle=":")
    if threshold is not None:
        ax.axvline(
            threshold,
            color=THRESHOLD,
            linewidth=1.2,
            linestyle="--",
            label=f"threshold {threshold:.4g}",
        )
    ax.set(xlabel=unit, ylabel="estimated rate of true matches", ylim=(-0.12, 1.12))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    handles, labels = ax.get_legend_handles_labels()
    more_handles, more_labels = below.get_legend_handles_labels()
    above_plot = {
        "loc": "lower center",
        "bbox_to_anchor": (0.5, 1.0),
        "ncols": 3,
        "frameon": False,
    }
    place = above_plot if has_own_figure else {"loc": "best"}
    ax.legend(handles + more_handles, labels + more_labels, fontsize="small", **place)
    if path is not None:
        ax.figure.canvas.print_figure(os.fspath(path), dpi=DOTS_PER_INCH)
    return ax
