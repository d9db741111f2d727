"""The page of a run that links records: what the threshold, the fields and the blocking rules
contributed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lshfast._common.display import Figure, counted
from lshfast._io.pages.drawing import Drawing, Panel
from lshfast._io.pages.page import render, short
from lshfast._io.pages.svg import BAR, HEIGHT, Bar, Bin, bars, histogram
from lshfast.records.linkage import SkippedBlock
from lshfast.records.links.decision import PROBABILITY
from lshfast.records.results.display import all_notes
from lshfast.records.results.explain import Explainer
from lshfast.records.results.linked import Linked
from lshfast.records.results.near import NearPairs, margin_of
from lshfast.records.results.overview import (
    expected_steps,
    names_of,
    sentences,
    threshold_changes,
)
from lshfast.records.results.page_links import (
    MOST_FIELDS,
    NAME_CHARACTERS,
    doubtful_examples,
    examples_over_range,
    groups,
    signed,
)
from lshfast.records.results.rates import RateTable
from lshfast.records.results.summary import LinkSummary
from lshfast.records.tables.fields import as_field
from lshfast.records.tables.record_table import CodedField
from lshfast.records.values.missing import checked_missing
from lshfast.records.weights.fellegi_sunter import LinkWeights

# What is shown: levels in tables, and skipped blocks.
MOST_LEVELS = 240
MOST_BLOCKS = 10

COLUMNS_ABOVE = 30  # of the histogram, above the threshold


class LevelRow(NamedTuple):
    """The weight of a level of a field; `field` is empty if it is that of the row before."""

    field: str
    level: str
    m: str
    u: str
    bits: str


def page_of(
    result: Linked,
    explainer: Explainer,
    below: NearPairs,
    *,
    title: str,
    command: str = "",
    texts: bool = True,
) -> str:
    """Return the page of a run.

    Parameters
    ----------
    result : Linked
    explainer : Explainer
        Of the same run.
    below : NearPairs
        The pairs that a lower threshold would link.
    title : str
    command : str
        The command that repeats the run.
    texts : bool
        Whether values of records are shown; the page says so if not.
    """
    summary = result.summary
    return render(
        "records.html",
        title=title,
        result=result,
        summary=summary,
        unit="points" if result.weights is None else "bits",
        probability=None
        if result.weights is None
        else float(result.weights.probability(summary.threshold)),
        names=[short(name, NAME_CHARACTERS) for name in names_of(result.tables)],
        sentences=[short(sentence, 600) for sentence in sentences(result)],
        account=[*summary.figures()],
        texts=texts,
        scores=_scores(result, below, margin_of(explainer)),
        steps=expected_steps([(f"{step.threshold:g}", step) for step in summary.steps]),
        changes=threshold_changes(result, explainer, below),
        rates=None if result.rates is None else _rates(result.rates, summary.threshold),
        contributions=_contributions(result),
        fields=[_field(coded) for coded in result.fields[:MOST_FIELDS]],
        more_fields=max(len(result.fields) - MOST_FIELDS, 0),
        notes=_notes(result),
        levels=_levels(result.weights),
        rules=summary.rules,
        skipped=_skipped(summary, texts),
        doubtful=doubtful_examples(result, explainer, below, texts),
        over_range=examples_over_range(result, explainer, texts),
        groups=dict(groups(result, explainer, texts)) if result.single else {},
        options=_options(result),
        command=command,
        seconds=[
            Figure(name, f"{seconds:,.2f}") for name, seconds in summary.seconds.items()
        ],
    )


def drawing_of(result: Linked, explainer: Explainer, below: NearPairs) -> Drawing:
    """Return a drawing of the scores, of the rates of true matches if they are known, and of what
    the fields added.
    """
    scores = _scores(result, below, margin_of(explainer))
    panels = [Panel("Links, and pairs below the threshold, by score", scores, HEIGHT)]
    if result.rates is not None:
        rates = _rates(result.rates, result.summary.threshold)
        panels.append(
            Panel("Pairs, and the rate of true matches, by score", rates, HEIGHT)
        )
    if len(result.scores):
        height = BAR * len(result.fields[:MOST_FIELDS])
        panels.append(
            Panel(
                "The mean score of each field in the links",
                _contributions(result),
                height,
            )
        )
    return Drawing(panels)


def _notes(result: Linked) -> list[str]:
    notes = all_notes(result.fields, result.dependent, result.left_out)
    return [short(note, 200) for note in notes[:MOST_FIELDS]]


def _options(result: Linked) -> list[tuple[str, str]]:
    """Return the options with their values as text: for defaults that depend on the data, what was
    chosen.

    Those that are not given and have no default are left out, and the number of threads, which
    changes no link.
    """
    options = result.options
    summary = result.summary
    threshold = summary.threshold if result.weights is None else PROBABILITY
    values = {
        "fields": ", ".join(_notations(result)),
        "ignore": ", ".join(options.ignore),
        "rules": ", ".join(rule.rule for rule in summary.rules),
        "scoring": options.scoring,
        "threshold": f"{threshold if options.threshold is None else options.threshold:g}",
        "assign": options.assign,
        "synonyms": "English"
        if options.synonyms is None
        else counted(len(options.synonyms), "word"),
        "frequencies": str(options.frequencies),
        "held_out": "" if options.held_out is None else as_field(options.held_out).name,
        "labels": counted(len(options.labels), "pair") if options.labels else "",
        "missing": ", ".join(
            f"{column or ''}={value}"
            for column, value in checked_missing(options.missing or ())
        ),
        "seed": str(options.seed),
    }
    return [(name, value) for name, value in values.items() if value]


def _notations(result: Linked) -> list[str]:
    """Return the fields as the option writes them, with their kinds."""
    addresses = result.options.addresses
    parts = tuple(f"{address.name}." for address in addresses)
    names = [name for name in result.tables[0].names if not name.startswith(parts)]
    fields = [coded.field for coded in result.fields if coded.field.name in names]
    return [field.notation for field in (*fields, *addresses)]


def _scores(result: Linked, below: NearPairs, margin: float) -> Any:
    """Return the histogram of scores, of which the threshold is the border of two columns."""
    least = result.summary.threshold
    width = max(float(result.scores.max(initial=least)) - least, margin) / COLUMNS_ABOVE
    first = -int(np.ceil(margin / width))
    size = COLUMNS_ABOVE - first
    counts = []
    for scores in (below.scores, result.scores):
        places = np.floor((scores - least) / width).astype(np.int64) - first
        counts.append(np.bincount(np.clip(places, 0, size - 1), minlength=size))
    columns = [
        Bin(
            least + (first + place) * width,
            least + (first + place + 1) * width,
            int(number),
            kind,
        )
        for kind, numbers in zip(("removed", "kept"), counts, strict=True)
        for place, number in enumerate(numbers.tolist())
    ]
    unit = "points" if result.weights is None else "bits"
    return histogram(
        columns,
        "Links, and pairs below the threshold, by score",
        axis=(columns[0].low, columns[-1].high),
        x_label=f"score ({unit}); the dashed line is the threshold, {least:.2f}",
        mark=least,
    )


def _rates(rates: RateTable, least: float) -> Any:
    """Return the histogram of the pairs of a rate table, and the rate over it."""
    edges = rates.edges.tolist()
    pairs = rates.pairs.tolist()
    columns = [Bin(*own) for own in zip(edges[:-1], edges[1:], pairs, strict=True)]
    known = [
        ((column.low + column.high) / 2, min(max(rate, 0.0), 1.0))
        for column, rate in zip(columns, rates.rates.tolist(), strict=True)
        if column.rows
    ]
    title = (
        "Pairs, and the estimated rate of true matches, by score, from "
        f"{short(rates.field, NAME_CHARACTERS)}"
    )
    return histogram(
        columns,
        title,
        axis=(edges[0], edges[-1]),
        x_label="score",
        curve=known,
        mark=least,
    )


def _contributions(result: Linked) -> Any:
    """Return what each field added to the scores of the links, on average."""
    if not len(result.scores):
        return None
    means = result.parts.mean(axis=0).tolist()
    rows = [
        Bar(
            short(coded.field.name, 20),
            abs(mean),
            signed(mean),
            "kept" if mean >= 0 else "removed",
        )
        for coded, mean in zip(result.fields[:MOST_FIELDS], means, strict=False)
    ]
    return bars(rows, "The mean score of each field in the links")


def _field(coded: CodedField) -> tuple[str, str, int, float, float]:
    """Return the name, kind and number of values of a field, and how many rows of each table have
    one.
    """
    name = coded.field.name + (f"={coded.field.other}" if coded.field.other else "")
    return short(name, NAME_CHARACTERS), coded.kind, len(coded.values), *coded.present


def _levels(weights: LinkWeights | None) -> list[LevelRow]:
    rows: list[LevelRow] = []
    for field in [] if weights is None else weights.fields[:MOST_FIELDS]:
        name = short(field.field, NAME_CHARACTERS) + (
            f" × {field.factor:.2f}" if field.factor != 1 else ""
        )
        for label, m, u, bits in list(
            zip(field.labels, field.m, field.u, field.bits, strict=True)
        )[1:]:
            rows.append(LevelRow(name, label, f"{m:.4f}", f"{u:.3g}", signed(bits)))
            name = ""
    return rows[:MOST_LEVELS]


def _skipped(summary: LinkSummary, texts: bool) -> list[tuple[int, str, str]]:
    """Return the number of each rule that left out blocks, how many, and their keys, which are
    values of records.
    """

    def named(block: SkippedBlock) -> str:
        return f"{short(block.key, NAME_CHARACTERS)!r} ({counted(block.pairs, 'pair')})"

    return [
        (
            number,
            f"{counted(rule.skipped, 'block')} with {counted(rule.skipped_pairs, 'pair')}",
            ", ".join(map(named, rule.largest_skipped[:MOST_BLOCKS])) if texts else "",
        )
        for number, rule in enumerate(summary.rules, 1)
        if rule.skipped
    ]
