"""The figures of a run as a table, in text for a terminal and in HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from lshfast.common.visible import visible
from lshfast.join.jaccard import PairMeasure

# The kind of the similarities for each value of `verify`.
SIMILARITY_KINDS = {
    "exact": "exact",
    "signature": "estimated by signatures",
    "none": "estimated, not compared to the threshold",
}

# The name of the similarity for each value of `measure`.
SIMILARITY_NAMES = {"jaccard": "similarity", "containment": "containment"}

# The most removed rows in the HTML report, and the most characters of a key.
SHOWN_ROWS = 5
SHOWN_CHARACTERS = 60


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    value: str
    note: str = ""


def place_of_recall(measure: PairMeasure) -> str:
    """Return for which pairs the recall of a run holds."""
    return "at the threshold" if measure == "jaccard" else "at the threshold, for texts of one size"


def as_text(title: str, figures: Iterable[Figure], advice: str) -> str:
    """Return a title, the table and the advice, if there is any, as lines of text."""
    lines = [f"  {name:<12}{value:>12}   {note}".rstrip() for name, value, note in figures]
    return "\n".join([title, *lines, *([f"  {advice}"] if advice else [])])


def as_html(title: str, figures: Iterable[Figure], advice: str) -> str:
    """Return a title, the table and the advice, if there is any, as HTML."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:right'>{escape(value)}</td>"
        f"<td style='text-align:left'>{escape(note)}</td></tr>"
        for name, value, note in figures
    )
    shown = f"<p>{escape(advice)}</p>" if advice else ""
    return f"<p><b>{escape(title)}</b></p><table>{rows}</table>{shown}"


def removed_as_html(removals: Iterator[tuple[Any, Any, float]], count: int, measure: PairMeasure) -> str:
    """Return the first of `count` removed rows as a table in HTML, or an empty string if there is none.

    A removal is the key of a row, that of the row kept instead, and their similarity.
    """
    removed = list(islice(removals, SHOWN_ROWS))
    if not removed:
        return ""
    names = f"<tr><th>removed</th><th>kept</th><th>{SIMILARITY_NAMES[measure]}</th></tr>"
    rows = "".join(
        f"<tr><td>{_shown(key)}</td><td>{_shown(kept)}</td><td>{similarity:.4f}</td></tr>"
        for key, kept, similarity in removed
    )
    left = count - len(removed)
    more = f"<p>and {left:,} more in <code>removed</code></p>" if left else ""
    return f"<table>{names}{rows}</table>{more}"


def escape(text: str) -> str:
    """Return text as HTML."""
    import html

    return html.escape(visible(text, lines=True))


def _shown(key: Any) -> str:
    text = visible(str(key))
    return escape(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…")
