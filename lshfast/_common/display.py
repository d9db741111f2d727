"""Results as tables of figures: text for a terminal, and HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lshfast._common.visible import visible


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    value: str
    note: str = ""


def figure(name: str, value: object = "", *notes: str) -> Figure:
    """Return a line of a table, with separators in whole numbers and without empty notes."""
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return Figure(name, text, "; ".join(filter(None, notes)))


class Shown:
    """Base class of results that are shown as a table of figures."""

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        """Return the title, the lines of the table, and a sentence below it or ""."""
        raise NotImplementedError

    def _sentences(self) -> list[str]:
        """Return what a notebook shows first, as a page of the result does."""
        return []

    def __repr__(self) -> str:
        return as_text(*self._shown())

    def _repr_html_(self) -> str:
        return paragraphs(self._sentences()) + as_html(*self._shown())


def as_text(title: str, figures: Iterable[Figure], advice: str) -> str:
    """Return a title, the table and the advice, if there is any, as lines of text."""
    cells = (map(visible, figure_line) for figure_line in figures)
    lines = [visible(title, lines=True)]
    for name, value, note in cells:
        lines.append(f"  {name:<12}{value:>12}   {note}".rstrip())
    if advice:
        lines.append(f"  {visible(advice, lines=True)}")
    return "\n".join(lines)


def as_html(title: str, figures: Iterable[Figure], advice: str) -> str:
    """Return a title, the table and the advice, if there is any, as HTML."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td "
        f"style='text-align:right'>{escape(value)}</td>"
        f"<td style='text-align:left'>{escape(note)}</td></tr>"
        for name, value, note in (map(visible, one) for one in figures)
    )
    shown = f"<p>{escape(advice)}</p>" if advice else ""
    return f"<p><b>{escape(title)}</b></p><table>{rows}</table>{shown}"


def paragraphs(sentences: Iterable[str]) -> str:
    """Return sentences as paragraphs of HTML."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, for example "1 row" or "2 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def bands_and_rows(bands: int, rows_per_band: int) -> str:
    """Return bands and rows in words, for example "18 bands of 7 rows"."""
    return f"{counted(bands, 'band')} of {counted(rows_per_band, 'row')}"


def escape(text: str) -> str:
    """Return text as HTML."""
    import html

    return html.escape(visible(text, lines=True))
