"""New texts for some of the rows that are written; their other columns stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.types import BoolArray
from lshfast._io.files import DataError, File, Rows, column_index
from lshfast._io.parquet import replaced_texts

# Returns the new text of a row of the corpus, from its number and its text.
NewText: TypeAlias = Callable[[int, str], str]


@dataclass(frozen=True)
class Edits:
    """The rows of a corpus whose texts change, bool (n,), and how."""

    rows: BoolArray
    new_text: NewText


def edited(
    edits: Edits,
    file: File,
    names: list[str],
    rows: Rows,
    chunk: Any,
    misfit: Callable[[int, str], DataError],
) -> Any:
    """Return rows as `Corpus.again` yields them, with their new texts.

    `names` are the columns of the file, if it has some.
    """
    which = np.flatnonzero(edits.rows[rows]).tolist()
    if not which:
        return chunk
    (column,) = file.layout.columns  # texts that are joined cannot change

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
                chunk[i] = [
                    *chunk[i][:index],
                    new_text(i, chunk[i][index]),
                    *chunk[i][index + 1 :],
                ]
            else:
                chunk[i] = new_text(i, chunk[i])
        except (TypeError, ValueError) as error:
            raise misfit(i, str(error)) from error
    return chunk


def _line_with(line: bytes, column: str, new_text: Callable[[str], str]) -> bytes:
    """Return the line of an object with a new text; the other bytes do not change."""
    text_line = line.decode()
    members = _members(text_line, 0)
    start, end = members.get(column, (0, 0))
    for name in () if column in members else column.split("."):
        start, end = _members(text_line, start)[name]
    old = text_line[start:end]
    new = json.dumps(new_text(json.loads(old)), ensure_ascii=old.isascii())
    return (text_line[:start] + new + text_line[end:]).encode()


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+')


def _members(line: str, at: int) -> dict[str, tuple[int, int]]:
    """Return the places of the values of a JSON object; of equal names, the last counts."""
    places: dict[str, tuple[int, int]] = {}
    depth = 0
    name = None
    start = -1
    end = -1
    for token in _TOKEN.finditer(line, at):
        mark = token[0]
        if depth == 1 and mark in ",}":
            if name is not None:
                places[name] = start, end
            name = None
            start = -1
            if mark == "}":
                break
        elif depth == 1 and mark != ":" and start < 0:
            if name is None:
                name = json.loads(mark)
            else:
                start = token.start()
        depth += (mark in "{[") - (mark in "}]")
        end = token.end()
    return places
