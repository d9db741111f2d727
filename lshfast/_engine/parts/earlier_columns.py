"""Rows that are removed for an entry of an index, in the file of the task that sketches them."""

from __future__ import annotations

from lshfast._engine.against import Earlier
from lshfast._engine.parts.key_columns import key_columns, keys_of
from lshfast._engine.parts.task_files import TaskWriter
from lshfast._engine.parts.task_reader import TaskFile

COLUMNS_OF_EARLIER = {
    "earlier_rows": "<i8",
    "similarity": "<f8",
    "key_lengths": "<i8",
    "entries": "|u1",
}

# The number of the range with these rows.
OF_EARLIER = 4


def add_earlier(writer: TaskWriter, earlier: Earlier) -> None:
    """Write rows that are removed for an entry."""
    keys = key_columns(earlier.keys)
    writer.add(
        OF_EARLIER,
        earlier_rows=earlier.rows,
        similarity=earlier.similarity,
        key_lengths=keys["key_lengths"],
        entries=keys["keys"],
    )


def earlier_of(file: TaskFile, rows: int, kind: str | None) -> Earlier:
    """Return what `add_earlier` has written of `rows` rows; `kind` is that of the keys."""
    arrays = file.only(OF_EARLIER)
    arrays["keys"] = arrays["entries"]
    earlier_rows = arrays["earlier_rows"]
    file.check_lengths(arrays, "earlier_rows", "similarity")
    if (earlier_rows < 0).any() or (earlier_rows >= rows).any():
        raise file.fault("it has rows that are not there")
    keys = keys_of(file, arrays, len(earlier_rows), kind)
    return Earlier(earlier_rows, keys, arrays["similarity"])
