"""How the figures of a run are named, and its removed rows as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from lshfast.common.display import escape
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


def place_of_recall(measure: PairMeasure) -> str:
    """Return for which pairs the recall of a run holds."""
    return "at the threshold" if measure == "jaccard" else "at the threshold, for texts of one size"


def delimiter_notes(delimiters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each delimiter, and how many files have it; `delimiters` are those of files, by name."""
    for delimiter in dict.fromkeys(delimiters.values()):
        files = [name for name, other in delimiters.items() if other == delimiter]
        more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
        yield "tab" if delimiter == "\t" else delimiter, f"separates the cells of {files[0]}{more}"


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


def _shown(key: Any) -> str:
    text = visible(str(key))
    return escape(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…")
