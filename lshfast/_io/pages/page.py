"""Pages of HTML: templates, escaped values, and a policy that forbids everything from outside."""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from lshfast._common.atomic_files import atomic_file
from lshfast._common.extras import optional
from lshfast._common.types import Int64Array, PathLike
from lshfast._common.version import VERSION
from lshfast._common.visible import printable, visible
from lshfast._io.pages.svg import gauge

# The most characters of a key, a path or an option that a page shows.
MOST_CHARACTERS = 120

# Characters between the parts of a name.
NAME_BORDERS = "/\\_|- "

# Examples that a page shows of a range of similarities.
OVER_RANGE = 8

# The most characters of a word that is left out whole where a text is cut.
LONG_WORD = 20


def render(template: str, *, styles: Sequence[str] = (), **values: Any) -> str:
    """Return a page.

    Parameters
    ----------
    template : str
        The name of a file in `templates`.
    styles : sequence of str
        Names of style sheets in `templates` that only this page has.
    **values
        What the template names. Strings are escaped, and their control characters and marks of
        bidirectional text are shown as escapes; what is `markupsafe.Markup` stays as it is.
    """
    import hashlib  # with OpenSSL, which takes time at each start

    environment = _environment()
    folder = resources.files("lshfast._io.pages") / "templates"
    style = "".join(
        (folder / name).read_text(encoding="utf-8")
        for name in ("style.css", "pictures.css", *styles)
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page: str = environment.get_template(template).render(
        **values,
        style=_markup(style),
        style_digest=digest,
        version=VERSION,
        date=_date(),
    )
    return page


def check_page(path: PathLike) -> None:
    """Raise an error if a page cannot be written: wrong suffix, or a missing package."""
    name = printable(os.fspath(path))
    if not name.lower().endswith((".html", ".htm")):
        raise ValueError(f"{name}: a page (html) must be named .html")
    for package in ("jinja2", "rapidfuzz"):
        optional(package)


def write_page(path: PathLike, page: str, overwrite: bool = False) -> None:
    """Write a page as a file that appears whole."""
    with atomic_file(path, overwrite) as stream:
        stream.write(page.encode("utf-8"))


def short(value: object, most: int = MOST_CHARACTERS) -> str:
    """Return a value as text of at most `most` characters, cut in the middle, between words.

    Examples
    --------
    >>> short("to define a function with many annotations", 30)
    'to define a … annotations'
    >>> short("abcdefghijklmnopqrstuvwxyz", 10)
    'abcde…wxyz'
    """
    text = str(value)
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    first_part = re.sub(rf"(?<=\s)\S{{,{LONG_WORD}}}\Z", "", text[: most - 1 - half])
    last_part = re.sub(rf"\A\S{{,{LONG_WORD}}}(?=\s)", "", text[-half:])
    return f"{first_part}…{last_part}"


def brief_names(names: Sequence[str], most: int = 24) -> list[str]:
    """Return short forms of names in which what distinguishes them stays.

    These are the last parts of paths if these parts differ, without what all names have in common
    at their begin and end, and then cut as by `short`.

    Examples
    --------
    >>> brief_names(["a/GCF_000000001.1_genomic.fna", "b/GCF_000000002.1_genomic.fna"])
    ['000000001.1', '000000002.1']
    >>> brief_names(["genomes/alder-1.fa"]), brief_names(["x/all.fa", "y/all.fa"])
    (['alder-1.fa'], ['x/all.fa', 'y/all.fa'])
    """
    parts = [os.path.basename(name) or name for name in names]
    if len(set(parts)) < len(set(names)):
        parts = list(names)
    if len(set(parts)) > 1:
        # Of characters, not of folders.
        start = os.path.commonprefix(parts)  # noqa: RUF071
        end = os.path.commonprefix([part[::-1] for part in parts])[::-1]  # noqa: RUF071
        start = start[: 1 + max(map(start.rfind, NAME_BORDERS))]
        borders = [place for place in map(end.find, NAME_BORDERS) if place >= 0]
        end = end[min(borders, default=len(end)) :]
        inner = [part[len(start) : len(part) - len(end)] for part in parts]
        if all(inner) and max(map(len, parts)) > most:
            parts = inner
    return [short(part, most) for part in parts]


def sentence(text: str) -> str:
    """Return a text that begins with a capital and ends with a full stop.

    A name before a colon, such as that of a column, stays as it is.
    """
    begins_with_name = text.partition(" ")[0].endswith(":")
    start = text[:1] if begins_with_name else text[:1].upper()
    return f"{start}{text[1:].rstrip('.')}."


def over_range(count: int, most: int = OVER_RANGE) -> Int64Array:
    """Return up to `most` places over the whole of `count` examples, the first and last included.

    Examples
    --------
    >>> over_range(3).tolist(), over_range(10, 4).tolist()
    ([0, 1, 2], [0, 3, 6, 9])
    """
    places = np.linspace(0, max(count - 1, 0), min(count, most)).round()
    return places.astype(np.int64)


def _markup(text: str) -> Any:
    return optional("markupsafe").Markup(text)


def _breakable(name: str) -> Any:
    """Return a name that is broken between its parts where it is too long for its box."""
    escaped = str(optional("markupsafe").escape(visible(name, lines=True)))
    return _markup(re.sub(r"(?<=[/_])(?=.)|(?=\.)", "<wbr>", escaped))


def _date() -> str:
    """Return the date and time in UTC, or that of SOURCE_DATE_EPOCH."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = float(seconds) if seconds.isdecimal() else time.time()
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))


@cache
def _environment() -> Any:
    jinja2 = optional("jinja2")
    markup = optional("markupsafe").Markup

    def shown(value: Any) -> Any:
        if isinstance(value, str) and not isinstance(value, markup):
            return visible(value, lines=True)
        return value

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lshfast._io.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": "{:,}".format,
        "share": "{:.1%}".format,
        "short": short,
        "sentence": sentence,
        "gauge": gauge,
        "breakable": _breakable,
    }
    return environment
