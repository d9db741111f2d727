"""The figures of a run as a table, in text for a terminal and in HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lshfast.pipeline.report import DedupResult, Summary

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


def figures(s: Summary) -> Iterator[Figure]:
    """Yield the lines of the table; counts that are 0 in most runs are omitted if they are 0."""
    yield Figure("read", f"{s.read:,}", f"without shingles: {s.empty:,}")
    yield Figure("kept", f"{s.kept:,}")
    earlier = f"; for earlier entries: {s.earlier:,}" if s.earlier else ""
    yield Figure("removed", f"{s.removed:,}", f"copies of earlier rows: {s.copies:,}{earlier}")
    if s.rejected:
        yield Figure("rejected", f"{s.rejected:,}")
    if s.indexed is not None:
        yield Figure("indexed", f"{s.indexed:,}", "kept rows that are new or replaced in the index")
    kind = f"{SIMILARITY_NAMES[s.measure]}: {SIMILARITY_KINDS[s.verify]}"
    yield Figure("pairs", f"{s.pairs:,}", f"{kind}; candidates: {s.candidates:,}")
    yield Figure("groups", f"{s.groups:,}", f"rows of the largest: {s.largest_group:,}")
    if s.bands:
        yield Figure("bands x rows", f"{s.bands} x {s.rows}", f"recall {place_of_recall(s)}: {s.recall:.4f}")
    else:
        yield Figure("join", "exact", "every similar pair is found")
    yield Figure("seconds", f"{s.seconds:,.2f}")


def place_of_recall(s: Summary) -> str:
    """Return for which pairs the recall of a run holds."""
    return "at the threshold" if s.measure == "jaccard" else "at the threshold, for texts of one size"


def as_text(title: str, summary: Summary) -> str:
    """Return a title and the table as lines of text."""
    lines = [f"  {name:<12}{value:>12}   {note}".rstrip() for name, value, note in figures(summary)]
    return "\n".join([title, *lines, *([f"  {summary.advice}"] if summary.advice else [])])


def as_html(title: str, summary: Summary) -> str:
    """Return a title and the table as HTML."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:right'>{escape(value)}</td>"
        f"<td style='text-align:left'>{escape(note)}</td></tr>"
        for name, value, note in figures(summary)
    )
    advice = f"<p>{escape(summary.advice)}</p>" if summary.advice else ""
    return f"<p><b>{escape(title)}</b></p><table>{rows}</table>{advice}"


def removed_as_html(result: DedupResult) -> str:
    """Return the first removed rows as a table in HTML, or an empty string if no row was removed."""
    removed = list(islice(result.iter_removed(), SHOWN_ROWS))
    if not removed:
        return ""
    names = f"<tr><th>removed</th><th>kept</th><th>{SIMILARITY_NAMES[result.summary.measure]}</th></tr>"
    rows = "".join(
        f"<tr><td>{_shown(key)}</td><td>{_shown(kept)}</td><td>{similarity:.4f}</td></tr>"
        for key, kept, similarity in removed
    )
    left = result.summary.removed - len(removed)
    more = f"<p>and {left:,} more in <code>removed</code></p>" if left else ""
    return f"<table>{names}{rows}</table>{more}"


def escape(text: str) -> str:
    """Return text as HTML."""
    import html

    return html.escape(text)


def _shown(key: Any) -> str:
    text = str(key)
    return escape(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…")
