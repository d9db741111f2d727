"""What a run found, in few lines: sentences, other thresholds, and the most doubtful pairs."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lshfast._common.display import counted
from lshfast._common.visible import NONE, one_line, visible, without_secrets
from lshfast._io.pages.page import short
from lshfast.records.links.decision import PROBABILITY
from lshfast.records.results.display import all_notes
from lshfast.records.results.explain import Explainer, PairScore
from lshfast.records.results.field_pairs import FieldPair
from lshfast.records.results.linked import Linked
from lshfast.records.results.near import NearPairs, margin_of
from lshfast.records.results.outlook import ThresholdStep
from lshfast.records.results.review import doubtful_links
from lshfast.records.tables.record_table import RecordTable

# pairs, and lines on columns, in a terminal
DOUBTFUL = 3
MOST_NOTES = 4
# of a value in a terminal
LEAST_VALUE_COLUMNS = 4
VALUE_COLUMNS = 24
STEPS = (1 / 2, 1 / 4, 1 / 8)  # up and down, as parts of the margin below the threshold


class ThresholdChange(NamedTuple):
    """The links that another threshold gives, and how many more these are."""

    name: str
    threshold: str
    links: int
    change: int


class DoubtfulPair(NamedTuple):
    """A pair near the threshold; `probability` is None for points."""

    pair: PairScore
    probability: float | None
    linked: bool


def names_of(tables: Sequence[RecordTable]) -> list[str]:
    """Return short names of tables: file names without folders, if these are different."""
    names = [visible(without_secrets(table.name)) for table in tables]
    files = [os.path.basename(name) or name for name in names]
    return files if len(set(files)) == len(set(names)) else names


def sentences(result: Linked, separator: str = " ") -> list[str]:
    """Return what was found as sentences; the separator is before the number of wrong links."""
    summary = result.summary
    first, second = names_of(result.tables)
    if not summary.links:
        where = f"of {first}" if result.single else f"of {first} and {second}"
        return [f"No records {where} are linked."]
    wrong = wrong_links(result)
    end = f";{separator}{wrong}." if wrong else "."
    linked = summary.linked
    if result.single:
        groups = counted(
            0 if summary.clusters is None else summary.clusters.groups, "group"
        )
        sentence = (
            f"{linked[0]:,} of {counted(summary.records[0], 'record')} of {first} are linked, "
            f"in {groups}"
        )
        return [f"{sentence}{end}"]
    verb = "is" if linked[0] == 1 else "are"
    others = f"{linked[1]:,} of {second}"
    sentence = f"{counted(linked[0], 'record')} of {first} {verb} linked to {others}"
    unlinked = summary.unlinked
    return [
        f"{sentence}{end}",
        f"{counted(unlinked[0], 'record')} of {first} and {unlinked[1]:,} of {second} have no "
        "link.",
    ]


def wrong_links(result: Linked) -> str:
    """Return how many links are expected to be wrong, as a clause; nothing for points."""
    if result.probabilities is None or not len(result.probabilities):
        return ""
    links = counted(len(result.probabilities), "link")
    wrong = round(float((1 - result.probabilities).sum()))
    precision = result.summary.precision
    interval = ""
    if precision is not None:
        counts = [
            round((1 - limit) * len(result.probabilities))
            for limit in (precision.high, precision.low)
        ]
        interval = f", probably {counts[0]:,} to {counts[1]:,}"
    if not wrong:
        return f"of {links}, fewer than 1 is expected to be wrong{interval}"
    return f"about {wrong:,} of {links} {'is' if wrong == 1 else 'are'} wrong{interval}"


def threshold_changes(
    result: Linked, explainer: Explainer, below: NearPairs
) -> list[ThresholdChange]:
    """Return what some steps of the threshold up and down would change; marked links stay."""
    margin = margin_of(explainer)
    stays = explainer.labels.mark(result.i, result.j)
    changes = []
    for part in (*STEPS, 0.0, *(-part for part in reversed(STEPS))):
        least = result.summary.threshold + part * margin
        links = int((stays | (result.scores >= least)).sum()) + int(
            (below.scores >= least).sum()
        )
        name = f"{'up' if part > 0 else 'down'} by {abs(part * margin):g}"
        if not part:
            links = len(result.scores)
            name = "now"
        changes.append(
            ThresholdChange(name, f"{least:.2f}", links, links - len(result.scores))
        )
    return changes


def steps_around(result: Linked) -> list[tuple[str, ThresholdStep]]:
    """Return the next lower threshold, that of the run, and the next higher, with figures."""
    steps = result.summary.steps
    if result.probabilities is None or not steps or not steps[0].links:
        return []
    now = PROBABILITY if result.options.threshold is None else result.options.threshold
    right = float(result.probabilities.sum())
    every = max(
        step.links * step.precision / step.recall if step.recall else 0.0
        for step in steps
    )
    links = len(result.probabilities)
    own = ThresholdStep(
        now, links, right / links if links else 1.0, right / every if every else 1.0
    )
    lower = [step for step in steps if step.threshold < now][-1:]
    higher = [step for step in steps if step.threshold > now][:1]
    return [
        (f"{step.threshold:g}{' (now)' if step is own else ''}", step)
        for step in (*lower, own, *higher)
    ]


class ExpectedStep(NamedTuple):
    """What a threshold gives: name, links, and the expected wrong and missed ones."""

    name: str
    links: int
    wrong: int
    missed: int


def expected_steps(steps: Sequence[tuple[str, ThresholdStep]]) -> list[ExpectedStep]:
    """Return what some thresholds give in numbers of links."""
    expected = []
    for name, step in steps:
        right = step.links * step.precision
        missed = right / step.recall - right if step.recall else 0.0
        expected.append(
            ExpectedStep(name, step.links, round(step.links - right), round(missed))
        )
    return expected


def thresholds_text(result: Linked, explainer: Explainer, below: NearPairs) -> str:
    """Return what the thresholds around that of the run give, as lines of text."""
    steps = steps_around(result)
    if not steps:
        if not len(result.scores) and not len(below):
            return ""
        changes = threshold_changes(result, explainer, below)
        middle = len(changes) // 2
        lines = [f"{'threshold':<16}{'links':>9}"]
        for change in reversed(changes[middle - 1 : middle + 2]):
            name = f"{change.threshold}{' (now)' if change.name == 'now' else ''}"
            lines.append(f"{name:<16}{change.links:>9,}")
        return "\n".join(lines)
    lines = [f"{'threshold':<16}{'links':>9}{'wrong, about':>15}{'missed, about':>16}"]
    for name, links, wrong, missed in expected_steps(steps):
        lines.append(f"{name:<16}{links:>9,}{wrong:>15,}{missed:>16,}")
    return "\n".join(lines)


def doubtful_pairs(
    result: Linked, explainer: Explainer, below: NearPairs, most: int
) -> list[DoubtfulPair]:
    """Return the pairs nearest to the threshold that nobody has marked, the nearest first."""
    pairs = []
    for link in doubtful_links(explainer)[:most].tolist():
        pair = PairScore(
            (int(result.i[link]), int(result.j[link])),
            float(result.scores[link]),
            result.parts[link],
        )
        probability = (
            None if result.probabilities is None else float(result.probabilities[link])
        )
        pairs.append(DoubtfulPair(pair, probability, True))
    for i, j in zip(below.i[:most].tolist(), below.j[:most].tolist(), strict=True):
        pair = explainer.score((i, j))
        pairs.append(DoubtfulPair(pair, explainer.probability(pair.score), False))
    return sorted(
        pairs, key=lambda doubtful: abs(doubtful.pair.score - explainer.least)
    )[:most]


def overview_text(
    result: Linked, explainer: Explainer, below: NearPairs, width: int
) -> str:
    """Return what a run found as lines of `width` columns, but for long names of tables."""
    parts = [
        "\n".join(sentences(result, "\n")),
        thresholds_text(result, explainer, below),
    ]
    pairs = doubtful_pairs(result, explainer, below, DOUBTFUL)
    if pairs:
        lines = ["the most doubtful pairs (--review FILE writes more of them):"]
        for doubtful in pairs:
            lines += _pair_lines(explainer, doubtful, width)
        parts.append("\n".join(lines))
    parts.append(notes_text(result))
    return visible("\n\n".join(filter(None, parts)), lines=True)


def notes_text(result: Linked) -> str:
    """Return what values of columns decided, and the columns not compared, as a few lines."""
    notes = all_notes(result.fields, result.dependent, result.left_out)
    lines = [one_line(note) for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        lines.append(f"{counted(len(notes) - MOST_NOTES, 'more note')} with --verbose")
    return "\n".join(lines)


def _pair_lines(
    explainer: Explainer, doubtful: DoubtfulPair, width: int
) -> Iterator[str]:
    """Yield a line for each record of a pair: probability or points, id, and values."""
    score = (
        doubtful.pair.score if doubtful.probability is None else doubtful.probability
    )
    marks = f"{score:.2f}", "link" if doubtful.linked else "no"
    rows = zip(explainer.tables, doubtful.pair.rows, strict=True)
    # Without their middle, as FILE:LINE.
    ids = tuple(short(table.ids[row], VALUE_COLUMNS) for table, row in rows)
    compared = [field.pair for field in explainer.compared(doubtful.pair)]
    fields = [pair for pair in compared if pair is not None and not pair.missing]
    different = [pair for pair in fields if not pair.equal]
    equal = [pair for pair in fields if pair.equal]
    columns = [marks, ids, *map(_values, (*different, *equal))]
    lines = ["  ", "  "]
    for place, column in enumerate(columns):
        cells = [visible(one_line(cell)) for cell in column]
        free_columns = width - 1 - columns_of(lines[0])
        widest = max(map(columns_of, cells))
        if place > 1 and free_columns < min(widest, LEAST_VALUE_COLUMNS):
            break
        size = min(widest, VALUE_COLUMNS, free_columns)
        lines = [
            f"{line}{fitted(cell, size)}  "
            for line, cell in zip(lines, cells, strict=True)
        ]
    yield from (line.rstrip() for line in lines)


def _values(pair: FieldPair) -> tuple[str, str]:
    return (NONE if pair.left is None else pair.left), (
        NONE if pair.right is None else pair.right
    )


def columns_of(text: str) -> int:
    """Return the columns of a terminal that a text takes: 2 for wide characters, 0 for marks."""
    return sum(
        0
        if unicodedata.combining(character)
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


def fitted(text: str, width: int) -> str:
    """Return a text in exactly so many columns of a terminal: cut, or with spaces after it."""
    if columns_of(text) > width:
        while text and columns_of(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - columns_of(text))
