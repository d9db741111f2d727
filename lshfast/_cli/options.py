"""What the options of all commands mean: the page of a run, and the command that repeats it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from lshfast._common.visible import without_secrets

if TYPE_CHECKING:
    from lshfast._engine.options.declaration import Options
    from lshfast._engine.pages.run_pages import PageOutput


def page_of(options: Options) -> PageOutput | None:
    """Return the page that is wanted, with the command that repeats this run."""
    if options.html is None:
        return None
    from lshfast._engine.pages.run_pages import PageOutput

    return PageOutput(
        options.html, options.html_texts, command_line(sys.argv), options.html_column
    )


def command_line(arguments: list[str]) -> str:
    """Return the arguments of this process as a command for a shell, without the secrets of
    URLs.
    """
    return shlex.join(["lshfast", *map(without_secrets, arguments[1:])])
