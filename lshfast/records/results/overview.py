"""What a run found, in few lines: sentences, other thresholds, and the most doubtful pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lshfast._common.display import counted
from lshfast._common.visible import NONE, one_line, visible
from lshfast._io.pages.page import short
from lshfast.records.links.decision import PROBABILITY
from lshfast.records.results.display import notes_of
from lshfast.records.results.outlook import ThresholdStep
from lshfast.records.results.run_view import Linked, RunView, ScoredPair
from lshfast.records.results.text_tables import aligned, columns_of, fitted
from lshfast.records.tables.record_table import names_of

# Pairs, and lines about columns, that a terminal shows.
DOUBTFUL = 3
MOST_NOTES = 4
# The width of a value in a terminal.
LEAST_VALUE_COLUMNS = 4
VALUE_COLUMNS = 24
STEPS = (1 / 2, 1 / 4, 1 / 8)  # up and down, as parts of the margin below the threshold


class ThresholdChange(NamedTuple):
    """The links that another threshold gives, and how many more these are."""

    name: str
    threshold: str
    links: int
    change: int


def sentences(run: Linked, separator: str = " ") -> list[str]:
    """Return what was found as sentences; the separator is before the number of wrong links."""
    summary = run.summary
    first, second = names_of(run.tables)
    if not summary.links:
        where = first if run.single else f"{first} and {second}"
        return [f"No records of {where} are linked."]
    wrong = wrong_links(run)
    end = f";{separator}{wrong}." if wrong else "."
    linked_a, linked_b = summary.linked
    if run.single:
        groups = 0 if summary.clusters is None else summary.clusters.groups
        records = counted(summary.records[0], "record")
        return [
            f"{linked_a:,} of {records} of {first} are linked, "
            f"in {counted(groups, 'group')}{end}"
        ]
    verb = "is" if linked_a == 1 else "are"
    records = counted(linked_a, "record")
    unlinked_a, unlinked_b = summary.unlinked
    return [
        f"{records} of {first} {verb} linked to {linked_b:,} of {second}{end}",
        f"{counted(unlinked_a, 'record')} of {first} and {unlinked_b:,} of {second} have no "
        "link.",
    ]


def wrong_links(run: Linked) -> str:
    """Return how many links are expected to be wrong, as a clause; nothing for points."""
    if run.probabilities is None or not len(run):
        return ""
    links = counted(len(run), "link")
    wrong = round(float((1 - run.probabilities).sum()))
    precision = run.summary.precision
    interval = ""
    if precision is not None:
        least = round((1 - precision.high) * len(run))
        most = round((1 - precision.low) * len(run))
        if run.summary.is_open:
            return f"{least:,} to {most:,} of {links} may be wrong"
        interval = f", probably {least:,} to {most:,}"
    if not wrong:
        return f"of {links}, fewer than 1 is expected to be wrong{interval}"
    verb = "is" if wrong == 1 else "are"
    return f"about {wrong:,} of {links} {verb} wrong{interval}"


def threshold_changes(view: RunView) -> list[ThresholdChange]:
    """Return what some steps of the threshold up and down would change; marked links stay."""
    run = view.run
    stays = run.labels.mark(run.i, run.j)
    changes = []
    for part in (*STEPS, 0.0, *(-part for part in reversed(STEPS))):
        least = view.least + part * view.margin
        links = int((stays | (run.scores >= least)).sum())
        links += int((view.below.scores >= least).sum())
        name = f"{'up' if part > 0 else 'down'} by {abs(part * view.margin):g}"
        if not part:
            links = len(run)
            name = "now"
        changes.append(ThresholdChange(name, f"{least:.2f}", links, links - len(run)))
    return changes


def steps_around(run: Linked) -> list[tuple[str, ThresholdStep]]:
    """Return the next lower threshold, the threshold of the run, and the next higher one."""
    steps = run.summary.telling_steps
    if run.probabilities is None or not steps or not steps[0].links:
        return []
    threshold = run.options.threshold
    now = PROBABILITY if threshold is None else threshold
    right = float(run.probabilities.sum())
    matches = max(
        step.links * step.precision / step.recall if step.recall else 0.0
        for step in steps
    )
    precision = right / len(run) if len(run) else 1.0
    recall = right / matches if matches else 1.0
    current = ThresholdStep(now, len(run), precision, recall)
    lower = [step for step in steps if step.threshold < now][-1:]
    higher = [step for step in steps if step.threshold > now][:1]
    named_steps = [(f"{step.threshold:g}", step) for step in (*lower, *higher)]
    named_steps.insert(len(lower), (f"{now:g} (now)", current))
    return named_steps


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


def thresholds_text(view: RunView) -> str:
    """Return what the thresholds around that of the run give, as lines of text."""
    run = view.run
    steps = steps_around(run)
    if steps:
        rows = [["threshold", "links", "wrong, about", "missed, about"]]
        for name, *numbers in expected_steps(steps):
            rows.append([name, *(f"{number:,}" for number in numbers)])
        return aligned(rows)
    if not len(run) and not len(view.below.scores):
        return ""
    changes = threshold_changes(view)
    middle = len(changes) // 2
    rows = [["threshold", "links"]]
    for change in reversed(changes[middle - 1 : middle + 2]):
        now = " (now)" if change.name == "now" else ""
        rows.append([f"{change.threshold}{now}", f"{change.links:,}"])
    return aligned(rows)


def overview_text(view: RunView, width: int) -> str:
    """Return what a run found as lines of `width` columns, but for long names of tables."""
    parts = ["\n".join(sentences(view.run, "\n")), thresholds_text(view)]
    pairs = [*view.doubtful_links(DOUBTFUL), *view.pairs_below(DOUBTFUL)]
    pairs.sort(key=lambda pair: abs(pair.score - view.least))
    if pairs:
        lines = ["the most doubtful pairs (--review FILE writes more of them):"]
        for pair in pairs[:DOUBTFUL]:
            lines += _pair_lines(view, pair, width)
        parts.append("\n".join(lines))
    parts.append(notes_text(view.run))
    return visible("\n\n".join(filter(None, parts)), lines=True)


def notes_text(run: Linked) -> str:
    """Return what values of columns decided, and the columns not compared, as a few lines."""
    notes = notes_of(run)
    lines = [one_line(note) for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        lines.append(f"{counted(len(notes) - MOST_NOTES, 'more note')} with --verbose")
    return "\n".join(lines)


def _pair_lines(view: RunView, pair: ScoredPair, width: int) -> list[str]:
    """Return a line for each record of a pair: probability or points, id, and values."""
    lines = ["  ", "  "]
    for place, column in enumerate(_pair_columns(view, pair)):
        cells = [visible(one_line(cell)) for cell in column]
        free_columns = width - 1 - columns_of(lines[0])
        widest = max(map(columns_of, cells))
        if place > 1 and free_columns < min(widest, LEAST_VALUE_COLUMNS):
            break
        size = min(widest, VALUE_COLUMNS, free_columns)
        for record, cell in enumerate(cells):
            lines[record] += f"{fitted(cell, size)}  "
    return [line.rstrip() for line in lines]


def _pair_columns(view: RunView, pair: ScoredPair) -> Iterator[Sequence[str]]:
    """Yield the two cells of each column of a pair: the fields that differ come first."""
    score = pair.score if pair.probability is None else pair.probability
    yield f"{score:.2f}", "link" if pair.is_link else "no"
    rows = zip(view.run.tables, pair.rows, strict=True)
    # Without their middle, as FILE:LINE.
    yield [short(table.ids[row], VALUE_COLUMNS) for table, row in rows]
    pairs = [field.pair for field in view.compared(pair)]
    fields = [pair for pair in pairs if pair is not None and not pair.missing]
    for field in sorted(fields, key=lambda pair: pair.equal):
        yield [NONE if text is None else text for text in field[1:]]
