"""The page of a check: recall, the similarities found, and effects of other parameters."""

from __future__ import annotations

from math import isnan
from typing import Any, NamedTuple

from lshfast._io.pages.page import render
from lshfast._io.pages.svg import Bin, histogram
from lshfast.quality.intervals import Estimate


class ShownEstimate(NamedTuple):
    """An estimate as text: its value, and its interval or ""."""

    value: str
    interval: str


def page_of(result: Any, *, title: str, command: str = "", texts: bool = True) -> str:
    """Return the page of a check.

    Parameters
    ----------
    result : CheckResult
    title : str
    command : str
        The command that repeats it.
    texts : bool
        Whether examples show texts.
    """
    return render(
        "check.html",
        title=title,
        result=result,
        recall=_share(result.recall),
        row_recall=_share(result.row_recall),
        unverified=_share(result.unverified_precision),
        pairs=_count(result.pairs),
        near_rows=_count(result.near_rows),
        histogram=_histogram(result),
        by_similarity=[
            (
                f"{one.low:g} to {one.high:g}",
                _count(one.pairs),
                _share(one.recall),
                f"{one.promised:.4f}",
            )
            for one in result.by_similarity
            if one.pairs.value
        ],
        alternatives=[
            (
                one,
                _count(one.pairs),
                None if one.recall is None else _share(one.recall),
                f"{one.promised:.4f}",
            )
            for one in result.alternatives
        ],
        examples=result.examples,
        command=command,
        texts=texts,
    )


def _histogram(result: Any) -> Any:
    """Return the pairs of the whole collection by similarity."""
    columns = [
        Bin(one.low, one.high, round(one.pairs.value)) for one in result.histogram
    ]
    low = columns[0].low if columns else 0.0
    return histogram(
        columns,
        "Pairs by similarity",
        axis=(low, 1.0),
        x_label=f"similarity; the dashed line is the threshold, {result.threshold:g}",
        mark=result.threshold,
    )


def _share(estimate: Estimate) -> ShownEstimate:
    if isnan(estimate.value):
        return ShownEstimate("unknown", "")
    interval = (
        ""
        if estimate.low == estimate.high
        else f"{estimate.low:.4f} to {estimate.high:.4f}"
    )
    return ShownEstimate(f"{estimate.value:.4f}", interval)


def _count(estimate: Estimate) -> ShownEstimate:
    interval = (
        ""
        if estimate.low == estimate.high
        else f"{estimate.low:,.0f} to {estimate.high:,.0f}"
    )
    return ShownEstimate(f"{estimate.value:,.0f}", interval)
