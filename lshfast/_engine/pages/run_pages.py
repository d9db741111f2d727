"""The pages of runs over files, as all drivers and jobs have them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lshfast._common.display import counted
from lshfast._common.errors import TooManyRemovedError
from lshfast._common.visible import without_secrets
from lshfast._engine.options.declaration import Options
from lshfast._io import check_place


@dataclass(frozen=True)
class PageOutput:
    """A page to write: path, whether it shows texts, the command it names, and its column.

    Without a column it shows the column of the items, unless they are vectors.
    """

    path: str
    texts: bool = True
    command: str = ""
    column: str | None = None

    def __post_init__(self) -> None:
        """Check the name and the packages, before any file is looked for."""
        from lshfast._io.pages.page import check_page

        check_page(self.path)


def page_output(options: Options, command: str = "") -> PageOutput | None:
    """Return the page of a run from its options, None for none; `command` is named on the page."""
    if options.html is None:
        if options.html_column is not None:
            raise ValueError(
                "html_column (--html-column) needs html (--html), the page that shows the column"
            )
        return None
    path = os.fspath(options.html)
    return PageOutput(path, options.html_texts, command, options.html_column)


def refusal_of(error: TooManyRemovedError | None) -> str:
    """Return the text for an error that ends a run before its outputs are written, or ""."""
    return "" if error is None else f"No rows were written: {error}."


def check_page_output(
    output: PageOutput, inputs: Iterable[str], overwrite: bool
) -> None:
    """Check before the work that a page can be written at its place."""
    check_place(output.path, inputs, overwrite)


def named(names: Sequence[str], noun: str = "file") -> str:
    """Return one or two names of inputs, or their number and folder, without secrets of URLs.

    Examples
    --------
    >>> from lshfast._engine.pages.run_pages import named
    >>> named(["a.csv", "b.csv"])
    'a.csv and b.csv'
    >>> named(["news/a.csv", "news/b.csv", "news/old/c.csv"])
    '3 files of news'
    """
    shown_names = list(map(without_secrets, names))
    if len(shown_names) <= 2:
        return " and ".join(shown_names)
    count = counted(len(shown_names), noun)
    folder = _common_folder(shown_names)
    return f"{count} of {folder}" if folder else count


def _common_folder(names: Sequence[str]) -> str:
    """Return the folder that paths or URLs have in common, or ""."""
    folders = [re.split(r"(?<=[/\\])", name)[:-1] for name in names]
    common_parts = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        common_parts.append(parts[0])
    return "".join(common_parts).rstrip("/\\")
