"""The screen of ``lshfast label``: two texts, or two records by field, with differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from lshfast._common.display import counted
from lshfast._common.visible import NONE, one_line, visible

if TYPE_CHECKING:
    from lshfast._io.pages.differences import Span
    from lshfast.quality.label_job import TextQuestion
    from lshfast.quality.label_sheet import Question
    from lshfast.records.field_pairs import FieldPair
    from lshfast.records.label_job import RecordQuestion

# Lines of a screen that are not text or fields.
OTHER_LINES = 8

# Columns of the name of a field.
NAME_WIDTH = 20

LEFT = ("[-", "-]")
RIGHT = ("{+", "+}")


def screen(question: Question, similarity: bool, width: int, height: int) -> str:
    """Return a question as lines of text: what was done, and the two rows."""
    from lshfast.quality.label_job import TextQuestion
    from lshfast.records.label_job import RecordQuestion

    if isinstance(question, RecordQuestion):
        name = "score"
        lines = _record_lines(question, width, height)
    else:
        assert isinstance(question, TextQuestion)
        name = "similarity"
        lines = _text_lines(question, width, height)
    shown_similarity = f"{name} {question.similarity:.4f}; " if similarity else ""
    return "\n".join(["", "-" * (width - 1), shown_similarity + progress_of(question), *lines])


def _text_lines(question: TextQuestion, width: int, height: int) -> Iterator[str]:
    most = max(3, (height - OTHER_LINES) // 2) * (width - 5)
    for key, spans, marks in zip(question.keys, question.differences, (LEFT, RIGHT), strict=True):
        yield visible(one_line(key))
        yield from _wrapped(_marked(cut(spans, most), marks), width, "    ")
        yield ""


def _record_lines(question: RecordQuestion, width: int, height: int) -> Iterator[str]:
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
    """Return the fields that fit on `lines`, different ones first, and a note about the others."""
    if sum(1 if pair.equal else 2 for pair in fields) <= lines:
        return list(fields), ""
    different = [pair for pair in fields if not pair.equal]
    shown = different[: lines // 2]
    hidden_counts = [
        (len(fields) - len(different), "equal field"),
        (len(different) - len(shown), "different field"),
    ]
    notes = [counted(number, noun) for number, noun in hidden_counts if number]
    return shown, f"{' and '.join(notes)} not shown"


def _field_lines(name: str, pair: FieldPair, width: int, lines: int) -> Iterator[str]:
    most = lines * max(10, width - len(name) - 6)
    if pair.equal:
        yield from _wrapped(visible(cut_text(pair.left or "", most)), width, f"{name} = ", lines)
        return
    first = f"{name}   "
    sides = pair.differences if pair.left is not None and pair.right is not None else (None, None)
    for value, spans, marks in zip((pair.left, pair.right), sides, (LEFT, RIGHT), strict=True):
        if spans is not None:
            text = _marked(cut(spans, most), marks)
        else:
            text = NONE if value is None else visible(cut_text(value, most))
        yield from _wrapped(text, width, first, lines)
        first = " " * len(first)


def progress_of(question: Question) -> str:
    """Return the number of labels, and the precision that they show."""
    from lshfast.quality.labels import ENOUGH

    progress = f"{question.labelled - question.unsure} labelled"
    if question.unsure:
        progress += f", {question.unsure} unsure"
    precision = question.estimate.at_threshold
    if precision is None:
        return progress
    half = (precision.high - precision.low) / 2
    enough = f"enough for ±{ENOUGH:g}" if half <= ENOUGH else f"±{half:.2f}"
    return f"{progress}; precision at {question.estimate.threshold:g}: {precision} ({enough})"


def cut(spans: list[Span], most: int) -> list[Span]:
    """Return the first spans, with at most `most` characters, and with spaces around gaps."""
    first_spans: list[Span] = []
    for span in spans:
        if len(span.text) > most:
            return [*first_spans, span._replace(text=f"{span.text[:most]}…")]
        first_spans.append(span._replace(text=f" {span.text} ") if span.kind == "gap" else span)
        most -= len(span.text)
    return first_spans


def cut_text(text: str, most: int) -> str:
    """Return the beginning of a text, of at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _marked(spans: list[Span], marks: tuple[str, str]) -> str:
    from lshfast._engine.explanation import marked

    return marked(spans, *marks)


def _wrapped(text: str, width: int, first: str, most: int | None = None) -> list[str]:
    """Return a text in at most `most` lines; further lines are indented like the first."""
    return wrap(
        " ".join(text.split()),
        width - 1,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        max_lines=most,
        placeholder=" …",
    ) or [first]
