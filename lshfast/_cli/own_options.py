"""The options of the command that runs: messages of the library name options that it may lack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

# The options of the command that runs.
own_options: ContextVar[frozenset[str] | None] = ContextVar("own_options", default=None)

# An option as messages of the library name it, such as ``column (--column)``.
_IN_PARENTHESES = re.compile(r" \((--[a-z][a-z-]*)[^()]*\)")


def options_below(command: Any) -> Iterator[str]:
    """Yield the options of a command and of all commands below it."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for below in getattr(command, "commands", {}).values():
        yield from options_below(below)


def with_own_options(message: str) -> str:
    """Return a message of the library without options, as ``(--column)``, that the command lacks.

    Advice after a semicolon is dropped with its option, unless it names a command; elsewhere the
    parentheses are.
    """
    options = own_options.get()
    if options is None:
        return message

    def is_own(clause: str) -> bool:
        return "lshfast " in clause or options.issuperset(
            _IN_PARENTHESES.findall(clause)
        )

    first, *advice = message.split("; ")
    first = _IN_PARENTHESES.sub(
        lambda found: found[0] if found[1] in options else "", first
    )
    return "; ".join([first, *filter(is_own, advice)])
