"""The pages of runs over files, as all drivers and jobs have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lshfast._common.errors import TooManyRemovedError
from lshfast._common.visible import without_secrets
from lshfast._io import check_place

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class PageOutput:
    """A page to write: path, whether it shows texts, the command it names, and its column.

    Without a column it shows the column of the items, unless they are vectors.
    """

    path: str
    texts: bool = True
    command: str = ""
    column: str | None = None


def refusal_of(error: TooManyRemovedError | None) -> str:
    """Return the text for an error that ends a run before its outputs are written, or ""."""
    return "" if error is None else f"No rows were written: {error}."


def check_page_output(
    output: PageOutput, inputs: Iterable[str], overwrite: bool
) -> None:
    """Check before the work that a page can be written: its place, name and packages."""
    from lshfast._io.pages.page import check_page

    check_page(output.path)
    check_place(output.path, inputs, overwrite)


def named(names: Sequence[str]) -> str:
    """Return the first names of inputs without the secrets of URLs, and how many more there are."""
    more_names = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(map(without_secrets, names[:3])) + more_names
