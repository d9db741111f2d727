"""Completion of columns: a shell that completes an option lists the columns of the input files.

Only the schema, the header or the first row of one local file is read. Completion never raises, and
prints nothing.
"""

from __future__ import annotations

import glob
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import typer

ROW_BYTES = 1 << 20  # of the longest header or first row that is read
MOST_FILES = 1000  # of a folder that are looked at


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns, starting with `incomplete`, of the first input file that has columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in _paths(ctx):
            with suppress(Exception):
                names = [name for name in _columns(path, ctx.params) if _is_plain(name)]
                if names:
                    return [name for name in names if name.startswith(incomplete)]
    return []


def _paths(ctx: typer.Context) -> Iterator[str]:
    """Yield the first existing local file of each argument."""
    arguments = [
        ctx.params.get(parameter.name or "")
        for parameter in ctx.command.params
        if parameter.param_type_name == "argument"
    ]
    # The parser leaves them here at an option without a value, as the one to be completed is.
    for paths in (*arguments, ctx.args):
        for path in [paths] if isinstance(paths, str) else paths or []:
            with suppress(Exception):
                path = os.path.expanduser(path)
                file = path if os.path.exists(path) else next(glob.iglob(path), path)
                mode = os.stat(file).st_mode
                if stat.S_ISDIR(mode):
                    yield from _in_folder(file)
                elif stat.S_ISREG(mode):  # opening a pipe would wait
                    yield file


def _in_folder(path: str) -> Iterator[str]:
    from lshfast._io.files import file_format

    with os.scandir(path) as entries:
        names = sorted(
            entry.name for entry in islice(entries, MOST_FILES) if entry.is_file()
        )
    yield from islice(
        (os.path.join(path, name) for name in names if file_format(name)), 1
    )


def _columns(path: str, values: dict[str, Any]) -> list[str]:
    """Return the columns of a file, read as the options say."""
    from lshfast._io.files import Layout
    from lshfast._io.listing import list_files
    from lshfast._io.readers import columns_of

    options = {
        name: values[name]
        for name in ("encoding", "format", "delimiter")
        if values.get(name)
    }
    (file,) = list_files(
        [path], Layout(batch_bytes=1 << 16, max_row_bytes=ROW_BYTES, **options)
    )
    return [] if file.format in ("text", "lines") else columns_of(file)


def _is_plain(name: str) -> bool:
    """Return whether shells take a name literally: it is one word that they do not expand."""
    letters = name.replace("_", "").replace("-", "").replace(".", "")
    return letters.isalnum() and not name.startswith("-")
