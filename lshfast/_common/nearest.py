"""The nearest of some names, for errors about an unknown column, option or file."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import islice

from lshfast._common.column_paths import path_fault
from lshfast._common.visible import printable

# The most names that are compared: of columns of a wide table, or of files of a folder.
MOST_NAMES = 10_000
# The most columns, and characters of each, that a message shows.
MOST_SHOWN = 30
MOST_CHARACTERS = 60
# The most columns of which a message is remembered.
MOST_REMEMBERED = 1_000
# The most files that a message shows.
MOST_FILES = 5


def nearest(name: str, names: Iterable[str], least: float = 0.6) -> list[str]:
    """Return at most two of the names, the ones most like `name` in any case, or none.

    Parameters
    ----------
    name : str
        The name that is looked for.
    names : iterable of str
        The names that there are. Only the first 10,000 are compared.
    least : float, default 0.6
        The least similarity, of `difflib.get_close_matches`, in 0..1.

    Returns
    -------
    list of str
        The most similar first.

    Examples
    --------
    >>> nearest("txt", ["id", "text", "url"])
    ['text']
    >>> nearest("TEXT", ["id", "text"])
    ['text']
    """
    from difflib import get_close_matches

    most_characters = 4 * len(name) + 8
    by_lower = {}
    for candidate in islice(names, MOST_NAMES):
        if len(candidate) <= most_characters:
            by_lower[candidate.lower()] = candidate
    return [
        by_lower[lower] for lower in get_close_matches(name.lower(), by_lower, 2, least)
    ]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the nearest name as the end of a message; "" if no name is like it.

    Examples
    --------
    >>> did_you_mean("txt", ["id", "text"])
    "; did you mean 'text'?"
    >>> did_you_mean("body", ["id", "text"])
    ''
    """
    similar_names = nearest(name, names)
    return f"; did you mean {similar_names[0]!r}?" if similar_names else ""


def no_column(name: str, columns: Iterable[str], fault: str = "no column") -> str:
    """Return the message for a column that is not there: the columns that are, and the nearest one.

    Parameters
    ----------
    name : str
        The column that is looked for.
    columns : iterable of str
        The columns that there are. Those of the first rows of JSON Lines are a part of them.
    fault : str, default "no column"
        What is wrong.

    Returns
    -------
    str

    Examples
    --------
    >>> no_column("txt", ["id", "text"])
    "no column 'txt'; columns are: id, text; did you mean 'text'?"
    >>> no_column("a[", ["id", "a"])
    "no column 'a[': unclosed bracket; columns are: id, a; did you mean 'a'?"
    """
    present_columns = tuple(columns)
    is_remembered = len(present_columns) <= MOST_REMEMBERED
    message = _no_column if is_remembered else _no_column.__wrapped__
    return message(name, present_columns, fault)


@lru_cache(16)
def _no_column(name: str, there: tuple[str, ...], fault: str) -> str:
    """Return the message of `no_column`; rejected rows mostly have equal columns."""
    shown = ", ".join(
        one if len(one) <= MOST_CHARACTERS else f"{one[:MOST_CHARACTERS]}..."
        for one in there[:MOST_SHOWN]
    )
    others_note = (
        f" and {len(there) - MOST_SHOWN:,} more" if len(there) > MOST_SHOWN else ""
    )
    bracket = path_fault(name)
    what = f"{fault} {name!r}" + (f": {bracket}" if bracket else "")
    return f"{what}; columns are: {shown}{others_note}{did_you_mean(name, there)}"


def nearest_file(error: OSError) -> str:
    """Return what there is in place of a file that is not there, as the end of a message.

    That is the nearest name in its folder; or the first folder of its path that does not exist.
    """
    return _nearest_in(error.filename) if isinstance(error.filename, str) else ""


def _nearest_in(path: str) -> str:
    folder, name = os.path.split(path)
    if folder and not os.path.isdir(folder):
        outer = os.path.dirname(folder)
        while outer and outer != folder and not os.path.isdir(outer):
            folder = outer
            outer = os.path.dirname(folder)
        if folder == path:
            return ""
        return f"; there is no folder {printable(folder)}{_nearest_in(folder)}"
    with suppress(OSError), os.scandir(folder or ".") as entries:
        # A common suffix does not make names alike.
        by_stem = defaultdict[str, list[str]](list)
        for entry in islice(entries, MOST_NAMES):
            by_stem[entry.name.partition(".")[0].lower()].append(entry.name)
        similar_stems = nearest(name.partition(".")[0], by_stem, 0.7)
        if similar_stems:
            candidates = sorted(by_stem[similar_stems[0]])
            other = (nearest(name, candidates, 0) or candidates)[0]
            return f"; did you mean {printable(os.path.join(folder, other))}?"
    return ""


def files_of(pattern: str) -> str:
    """Return some file names of the folder of a pattern without matches, to end a message."""
    folder = os.path.dirname(pattern)
    with suppress(OSError):
        there = sorted(
            one
            for one in islice(os.listdir(folder or "."), MOST_NAMES)
            if not one.startswith(".")
        )
        if there:
            others_note = (
                f" and {len(there) - MOST_FILES:,} more"
                if len(there) > MOST_FILES
                else ""
            )
            names = ", ".join(map(printable, there[:MOST_FILES]))
            return f"; in its folder are {names}{others_note}"
    return ""
