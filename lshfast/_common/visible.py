"""Text from data, made safe to display.

A terminal acts on control characters: it moves the cursor, changes its title, and some write the
clipboard. Characters for bidirectional text show the characters of a line in another order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

# How rows without a value are shown. The same text is shown in quotes.
NONE = "(none)"

# C0 and C1 without tab and LF, DEL, marks and embeddings of bidirectional text, other line ends,
# halves of surrogates.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LINE = re.compile(rf"[\t\n{_CONTROL.pattern[1:]}")


def visible(text: str, lines: bool = False) -> str:
    r"""Return text with control characters as escapes such as ``\x1b`` and ``\u202e``.

    Parameters
    ----------
    text : str
    lines : bool
        Whether tabs and line feeds stay.

    Examples
    --------
    >>> from lshfast._common.visible import visible
    >>> print(visible("\x1b]0;title\x07 a\n"))
    \x1b]0;title\x07 a\n
    """
    return (_CONTROL if lines else _LINE).sub(
        lambda found: found[0].encode("unicode_escape").decode(), text
    )


def printable(path: str) -> str:
    """Return a path as one line of valid Unicode, without control characters."""
    return visible(os.fsencode(path).decode("utf-8", "backslashreplace"))


def without_secrets(place: str) -> str:
    """Return a path or URL; the user and the query of a URL, which may hold a key, become "…".

    Examples
    --------
    >>> from lshfast._common.visible import without_secrets
    >>> without_secrets("https://me:secret@host/a.jsonl?key=secret")
    'https://…@host/a.jsonl?…'
    """
    scheme, mark, place_in_scheme = place.partition("://")
    if not mark:
        return place
    address, question, _ = place_in_scheme.partition("?")
    host, slash, path = address.partition("/")
    user, at, name = host.rpartition("@")
    return f"{scheme}://{'…' * bool(user)}{at}{name}{slash}{path}{question}{'…' * bool(question)}"


def is_writable(text: str) -> bool:
    """Return whether a text can be written as UTF-8: it has no lone surrogate."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def cut_off(text: str, most: int = 60) -> str:
    """Return a text, with dots in place of the end of a long one: `most` characters in all.

    Examples
    --------
    >>> from lshfast._common.visible import cut_off
    >>> cut_off("a very long text", 9)
    'a very...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shortened(value: object, shown_by: Callable[[Any], str] = repr) -> str:
    """Return the beginning of a value as `shown_by` writes it, at most 60 characters.

    Examples
    --------
    >>> from lshfast._common.visible import shortened
    >>> shortened([1.5, "a"]), shortened(10**5000)
    ("[1.5, 'a']", 'a value of type int, which is too large to be shown')
    """
    try:
        shown = shown_by(value)
    except (ValueError, RecursionError):  # too many digits, or lists nested too deeply
        return f"a value of type {type(value).__name__}, which is too large to be shown"
    return cut_off(shown)


def one_line(key: object) -> str:
    """Return a key as one line without tabs."""
    text = str(key)
    if any(mark in text for mark in "\\\t\n\r"):
        text = (
            text.replace("\\", "\\\\")
            .replace("\t", "\\t")
            .replace("\n", "\\n")
            .replace("\r", "\\r")
        )
    return text


def name_of(value: str | None) -> str:
    """Return a value as it is shown.

    Examples
    --------
    >>> from lshfast._common.visible import name_of
    >>> name_of("en"), name_of(None), name_of("(none)")
    ('en', '(none)', "'(none)'")
    """
    return NONE if value is None else repr(value) if value == NONE else value
