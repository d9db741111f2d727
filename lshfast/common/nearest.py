"""The nearest of some names, for errors about a name that is not among them: a column, an option, a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from lshfast.common.atomic_files import printable

# The most names that are compared: of columns of a wide table, or of files of a folder.
MOST_NAMES = 10_000


def nearest(name: str, names: Iterable[str], least: float = 0.6) -> list[str]:
    """Return at most two of the names, those most like `name`, whatever the case; none if no name is like it.

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

    by_lower = {one.lower(): one for one in islice(names, MOST_NAMES) if len(one) <= 4 * len(name) + 8}
    return [by_lower[one] for one in get_close_matches(name.lower(), by_lower, 2, least)]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the nearest name as the end of a message; "" if no name is like it.

    Examples
    --------
    >>> did_you_mean("txt", ["id", "text"])
    "; did you mean 'text'?"
    >>> did_you_mean("body", ["id", "text"])
    ''
    """
    found = nearest(name, names)
    return f"; did you mean {found[0]!r}?" if found else ""


def nearest_file(path: str) -> str:
    """Return where the path of a file ends that is not there, as the end of a message.

    That is the nearest name in its folder; or the first folder of the path that does not exist.
    """
    folder, name = os.path.split(path)
    while folder and not os.path.isdir(folder):
        parent, inner = os.path.split(folder)
        if parent == folder:
            return ""
        if not parent or os.path.isdir(parent):
            other = nearest_file(folder)
            return f"; there is no folder {printable(folder)}{other}"
        folder, name = parent, inner
    with suppress(OSError), os.scandir(folder or ".") as entries:
        found = nearest(name, (entry.name for entry in entries))
        if found:
            return f"; did you mean {printable(os.path.join(folder, found[0]))}?"
    return ""
