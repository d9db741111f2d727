"""New texts for some of the rows that are written; their other columns stay as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.readers.files import DataError, File, Rows, column_index
from lshfast.readers.jsonl import exact_object, value_at
from lshfast.readers.parquet import replaced_texts

# Returns the new text of a row of the corpus, from its number and its text.
NewText: TypeAlias = Callable[[int, str], str]


@dataclass(frozen=True)
class Edits:
    """The rows of a corpus whose texts change, bool (n,), and how."""

    rows: npt.NDArray[np.bool_]
    new_text: NewText


def edited(
    edits: Edits, file: File, names: list[str], rows: Rows, chunk: Any, misfit: Callable[[int, str], DataError]
) -> Any:
    """Return rows as `Corpus.again` yields them, with their new texts; `names` are the columns of a file with some."""
    which = np.flatnonzero(edits.rows[rows]).tolist()
    if not which:
        return chunk
    column = file.layout.column

    def new_text(i: int, text: str) -> str:
        return edits.new_text(int(rows[i]), text)

    if file.columnar:
        return replaced_texts(chunk, column, which, new_text)
    chunk = list(chunk)
    index = column_index(file, names, column) if file.delimited else 0
    for i in which:
        try:
            if file.format == "jsonl":
                chunk[i] = _line_with(chunk[i], column, partial(new_text, i))
            elif file.delimited:
                chunk[i] = [*chunk[i][:index], new_text(i, chunk[i][index]), *chunk[i][index + 1 :]]
            else:
                chunk[i] = new_text(i, chunk[i])
        except (TypeError, ValueError) as error:
            raise misfit(i, str(error)) from error
    return chunk


def _line_with(line: bytes, column: str, new_text: Callable[[str], str]) -> bytes:
    """Return the line of an object with a new text.

    The old text is replaced in the line, and nothing else changes, if it occurs there once, in one of two spellings.
    Any other line is written anew.
    """
    record = exact_object(line)
    old = value_at(record, column)
    new = new_text(old)
    for ascii_only in (False, True):
        spelled = json.dumps(old, ensure_ascii=ascii_only).encode()
        if line.count(spelled) == 1:
            made = line.replace(spelled, json.dumps(new, ensure_ascii=ascii_only).encode())
            if value_at(exact_object(made), column) == new:
                return made
    holder, name = record, column
    while name not in holder:
        outer, _, name = name.partition(".")
        holder = holder[outer]
    holder[name] = new
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
