"""What ``lshfast label`` shows of a pair of texts, with their differences marked, and what its
screens of any pair have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from lshfast._common.visible import one_line, visible

if TYPE_CHECKING:
    from lshfast._io.pages.differences import Span
    from lshfast.quality.label_job import TextQuestion
    from lshfast.quality.label_sheet import Question

# Lines of a screen that are not text or fields.
OTHER_LINES = 8

LEFT = ("[-", "-]")
RIGHT = ("{+", "+}")


def screen(
    question: Question, lines: Iterable[str], shown_similarity: str, width: int
) -> str:
    """Return a question as lines of text: what is known and what was done, and the two rows."""
    return "\n".join(
        ["", "-" * (width - 1), shown_similarity + progress_of(question), *lines]
    )


def text_lines(question: TextQuestion, width: int, height: int) -> Iterator[str]:
    """Yield the keys and the beginnings of both texts."""
    most = max(3, (height - OTHER_LINES) // 2) * (width - 5)
    for key, spans, marks in zip(
        question.keys, question.differences, (LEFT, RIGHT), strict=True
    ):
        yield visible(one_line(key))
        yield from wrapped(marked_spans(cut(spans, most), marks), width, "    ")
        yield ""


def progress_of(question: Question) -> str:
    """Return how many labels there are, and how much they say."""
    from lshfast.quality.labels import ENOUGH

    labels = f"{question.labelled - question.unsure} labelled"
    if question.unsure:
        labels += f", {question.unsure} unsure"
    similarity_known = question.estimate.at_threshold
    if similarity_known is None:
        return labels
    half = (similarity_known.high - similarity_known.low) / 2
    enough = f"enough for ±{ENOUGH:g}" if half <= ENOUGH else f"±{half:.2f}"
    return f"{labels}; precision at {question.estimate.threshold:g}: {similarity_known} ({enough})"


def cut(spans: list[Span], most: int) -> list[Span]:
    """Return the first spans, with at most so many characters, and with spaces around gaps."""
    shown_spans: list[Span] = []
    for span in spans:
        if len(span.text) > most:
            return [*shown_spans, span._replace(text=f"{span.text[:most]}…")]
        shown_spans.append(
            span._replace(text=f" {span.text} ") if span.kind == "gap" else span
        )
        most -= len(span.text)
    return shown_spans


def cut_text(text: str, most: int) -> str:
    """Return the beginning of a text, of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def marked_spans(spans: list[Span], marks: tuple[str, str]) -> str:
    """Return a text with marks around its differences."""
    from lshfast._engine.pages.explanation import marked

    return marked(spans, *marks)


def wrapped(text: str, width: int, first: str, most: int | None = None) -> list[str]:
    """Return the words of a text in lines, at most so many; the others are indented as the first
    one is.
    """
    return wrap(
        " ".join(text.split()),
        width - 1,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        max_lines=most,
        placeholder=" …",
    ) or [first]
