"""What ``lshfast label`` shows of a pair of records: fields with marked differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lshfast._common.display import counted
from lshfast._common.visible import NONE, one_line, visible
from lshfast.quality.label_screen import (
    LEFT,
    OTHER_LINES,
    RIGHT,
    cut,
    cut_text,
    marked_spans,
    wrapped,
)

if TYPE_CHECKING:
    from lshfast.records.labelling.job import RecordQuestion
    from lshfast.records.results.field_pairs import FieldPair

# Columns of the name of a field.
NAME_WIDTH = 20


def record_lines(question: RecordQuestion, width: int, height: int) -> Iterator[str]:
    """Yield the ids, and each field: on one line if both values are equal."""
    for key, mark in zip(question.keys, "AB", strict=True):
        yield f"{mark}  {visible(one_line(key))}"
    yield ""
    shown, note = fitting(question.fields, max(4, height - OTHER_LINES))
    names = [cut_text(visible(one_line(pair.name)), NAME_WIDTH) for pair in shown]
    column = max(map(len, names), default=0)
    lines = max(1, (height - OTHER_LINES) // (2 * max(1, len(shown))))
    for name, pair in zip(names, shown, strict=True):
        yield from _field_lines(name.ljust(column), pair, width, lines)
    yield from [note, ""] if note else [""]


def fitting(fields: Sequence[FieldPair], lines: int) -> tuple[list[FieldPair], str]:
    """Return the fields that fit some lines, and a note about the others: equal ones go first."""
    if sum(1 if pair.equal else 2 for pair in fields) <= lines:
        return list(fields), ""
    different = [pair for pair in fields if not pair.equal]
    shown = different[: lines // 2]
    hidden_fields = [
        (len(fields) - len(different), "equal field"),
        (len(different) - len(shown), "different field"),
    ]
    return shown, " and ".join(
        f"{counted(number, noun)}" for number, noun in hidden_fields if number
    ) + " not shown"


def _field_lines(name: str, pair: FieldPair, width: int, lines: int) -> Iterator[str]:
    most = lines * max(10, width - len(name) - 6)
    if pair.equal:
        yield from wrapped(
            visible(cut_text(pair.left or "", most)), width, f"{name} = ", lines
        )
        return
    first = f"{name}   "
    sides = (
        pair.differences
        if pair.left is not None and pair.right is not None
        else (None, None)
    )
    for value, spans, marks in zip(
        (pair.left, pair.right), sides, (LEFT, RIGHT), strict=True
    ):
        if spans is not None:
            text = marked_spans(cut(spans, most), marks)
        else:
            text = NONE if value is None else visible(cut_text(value, most))
        yield from wrapped(text, width, first, lines)
        first = " " * len(first)
