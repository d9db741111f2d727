"""The page of a check: recall, the similarities found, and effects of other parameters."""

from __future__ import annotations

from math import isnan
from typing import Any, NamedTuple

from lshfast._common.display import counted
from lshfast._engine.account.display import contents_of
from lshfast._io.pages.drawing import Drawing, Panel
from lshfast._io.pages.page import render
from lshfast._io.pages.svg import HEIGHT, Bin, histogram
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
        sentences=sentences(result),
        result=result,
        contents=contents_of("jaccard", result.items),
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


def sentences(result: Any) -> list[str]:
    """Return what the check of texts or sets has found, as the page and a notebook begin."""
    bound = f"similar by at least {result.threshold:g}"
    if not result.pairs.value:
        return [
            f"No two rows were seen that are {bound}; {counted(result.read, 'row')} in all."
        ]
    about = "" if result.complete else "about "
    near_rows = f"{result.near_rows.value:,.0f} of {counted(result.read, 'row')}"
    rows = f"{about.capitalize()}{near_rows} are {bound} to another one"
    pairs = f"there are {about}{_in_words(_count(result.pairs))} such pairs"
    recall = _percent(result.recall)
    finds = f"The run finds {about}{_in_words(recall)} of these pairs"
    return [f"{rows}; {pairs}.", f"{finds}; it promises {result.promised:.1%}."]


def drawing_of(result: Any) -> Drawing:
    """Return the drawing of a check that a notebook shows."""
    return Drawing([Panel("Pairs by similarity", _histogram(result), HEIGHT)])


def _in_words(estimate: ShownEstimate) -> str:
    """Return an estimate with its interval in parentheses, if it has one."""
    return (
        f"{estimate.value} ({estimate.interval})"
        if estimate.interval
        else estimate.value
    )


def _percent(estimate: Estimate) -> ShownEstimate:
    interval = (
        ""
        if estimate.low == estimate.high
        else f"{estimate.low:.1%} to {estimate.high:.1%}"
    )
    return ShownEstimate(f"{estimate.value:.1%}", interval)


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
