"""Tables of cells as lines of text, of which a wide character takes two columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from lshfast._common.visible import visible

GAP = "  "  # between columns


def aligned(rows: Iterable[Sequence[str]], left_columns: int = 1) -> str:
    """Return rows as lines of text: the first columns are aligned to the left, the others right.

    Examples
    --------
    >>> print(aligned([("rule", "pairs"), ("key:phone", "12")]))
    rule       pairs
    key:phone     12
    """
    cells_of_rows = [list(map(visible, row)) for row in rows]
    widths = [max(map(columns_of, cells)) for cells in zip(*cells_of_rows, strict=True)]
    lines = []
    for cells in cells_of_rows:
        padded = []
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            space = " " * (width - columns_of(cell))
            padded.append(cell + space if place < left_columns else space + cell)
        lines.append(GAP.join(padded).rstrip())
    return "\n".join(lines)


def columns_of(text: str) -> int:
    """Return the columns of a terminal that a text takes: 2 for wide characters, 0 for marks."""
    columns = len(text)
    for character in text:
        if unicodedata.combining(character):
            columns -= 1
        elif unicodedata.east_asian_width(character) in "WF":
            columns += 1
    return columns


def fitted(text: str, width: int) -> str:
    """Return a text in exactly so many columns of a terminal: cut, or with spaces after it."""
    if columns_of(text) > width:
        while text and columns_of(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - columns_of(text))


def signed(score: float) -> str:
    """Return a score with its sign and two decimals; what rounds to zero is positive."""
    return f"{round(score, 2) + 0.0:+.2f}"
