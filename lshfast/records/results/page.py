"""The page of a run that links records: the threshold, the fields, and the blocking rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from lshfast._common.display import Figure, counted
from lshfast._io.pages.drawing import Drawing, Panel
from lshfast._io.pages.page import render, short
from lshfast._io.pages.svg import BAR, HEIGHT, Bar, Bin, bars, histogram
from lshfast.records.links.decision import PROBABILITY
from lshfast.records.results.display import (
    columns_shown,
    level_rows,
    notes_of_values,
    skipped_lines,
    unpaired_notes,
)
from lshfast.records.results.field_pairs import IN_NORMAL_FORM
from lshfast.records.results.overview import (
    expected_steps,
    sentences,
    threshold_changes,
)
from lshfast.records.results.page_links import (
    MOST_FIELDS,
    NAME_CHARACTERS,
    doubtful_examples,
    examples_over_range,
    groups,
)
from lshfast.records.results.rates import RateTable
from lshfast.records.results.run_view import Linked, RunView
from lshfast.records.results.text_tables import signed
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.fields import as_field
from lshfast.records.tables.record_table import names_of
from lshfast.records.values.missing import checked_missing

SCORES = "Links, and pairs below the threshold, by score"
CONTRIBUTIONS = "The mean score of each field in the links"
NOTE_CHARACTERS = 700
COLUMNS_ABOVE = 30  # of the histogram, above the threshold


def page_of(view: RunView, *, title: str, command: str = "", texts: bool = True) -> str:
    """Return the page of a run.

    Parameters
    ----------
    view : RunView
    title : str
    command : str
        The command that repeats the run.
    texts : bool
        Whether values of records are shown; the page says so if not.
    """
    run = view.run
    summary = run.summary
    has_scores = bool(len(run) or len(view.below.scores))
    named_steps = [(f"{step.threshold:g}", step) for step in summary.telling_steps]
    return render(
        "records.html",
        title=title,
        result=run,
        summary=summary,
        unit=_unit(run),
        probability=view.probability(summary.threshold),
        names=[short(name, NAME_CHARACTERS) for name in names_of(run.tables)],
        sentences=[short(sentence, 600) for sentence in sentences(run)],
        account=[*summary.figures()],
        texts=texts,
        uncounted=IN_NORMAL_FORM.uncounted,
        unpaired=[short(note, NOTE_CHARACTERS) for note in unpaired_notes(run)],
        scores=_scores(view) if has_scores else None,
        steps=expected_steps(named_steps),
        changes=threshold_changes(view),
        rates=None if run.rates is None else _rates(run.rates, summary.threshold),
        contributions=_contributions(run),
        fields=[_field(coded) for coded in run.fields[:MOST_FIELDS]],
        more_fields=max(len(run.fields) - MOST_FIELDS, 0),
        notes=[
            short(note, NOTE_CHARACTERS) for note in notes_of_values(run)[:MOST_FIELDS]
        ],
        levels=[] if run.weights is None else level_rows(run.weights, MOST_FIELDS),
        rules=summary.rules,
        skipped=list(skipped_lines(summary.rules, texts)),
        doubtful=doubtful_examples(view, texts),
        over_range=examples_over_range(view, texts),
        groups=dict(groups(view, texts)) if run.single else {},
        options=_options(run),
        command=command,
        seconds=[
            Figure(name, f"{seconds:,.2f}") for name, seconds in summary.seconds.items()
        ],
    )


def drawing_of(view: RunView) -> Drawing:
    """Draw the scores, the rates of true matches if they are known, and the parts of the fields."""
    run = view.run
    panels = [Panel(SCORES, _scores(view), HEIGHT)]
    if run.rates is not None:
        rates = _rates(run.rates, view.least)
        title = "Pairs, and the rate of true matches, by score"
        panels.append(Panel(title, rates, HEIGHT))
    if len(run):
        height = BAR * len(run.fields[:MOST_FIELDS])
        panels.append(Panel(CONTRIBUTIONS, _contributions(run), height))
    return Drawing(panels)


def _unit(run: Linked) -> str:
    return "points" if run.weights is None else "bits"


def _options(run: Linked) -> list[tuple[str, str]]:
    """Return the options with their values as text, or what was chosen for them from the data.

    Options without a value are left out, and the number of threads, which changes no link.
    """
    options = run.options
    threshold = options.threshold
    if threshold is None:
        threshold = run.summary.threshold if run.weights is None else PROBABILITY
    synonyms = options.synonyms
    missing = checked_missing(options.missing or ())
    values = {
        "fields": ", ".join(_notations(run)),
        "ignore": ", ".join(options.ignore),
        "rules": ", ".join(rule.rule for rule in run.summary.rules),
        "scoring": options.scoring,
        "threshold": f"{threshold:g}",
        "assign": options.assign,
        "synonyms": "English" if synonyms is None else counted(len(synonyms), "word"),
        "frequencies": str(options.frequencies),
        "held_out": "" if options.held_out is None else as_field(options.held_out).name,
        "labels": counted(len(options.labels), "pair") if options.labels else "",
        "missing": ", ".join(f"{column or ''}={value}" for column, value in missing),
        "seed": str(options.seed),
    }
    return [(name, value) for name, value in values.items() if value]


def _notations(run: Linked) -> list[str]:
    """Return the fields as the option writes them, with their kinds."""
    addresses = run.options.addresses
    parts = tuple(f"{address.name}." for address in addresses)
    names = [name for name in run.tables[0].names if not name.startswith(parts)]
    fields = [coded.field for coded in run.fields if coded.field.name in names]
    return [field.notation for field in (*fields, *addresses)]


def _scores(view: RunView) -> Any:
    """Return the histogram of scores, of which the threshold is the border of two columns."""
    least = view.least
    greatest = float(view.run.scores.max(initial=least))
    width = max(greatest - least, view.margin) / COLUMNS_ABOVE
    first = -int(np.ceil(view.margin / width))
    size = COLUMNS_ABOVE - first
    columns = []
    for kind, scores in (("removed", view.below.scores), ("kept", view.run.scores)):
        places = np.floor((scores - least) / width).astype(np.int64) - first
        counts = np.bincount(np.clip(places, 0, size - 1), minlength=size)
        for place, count in enumerate(counts.tolist(), first):
            low = least + place * width
            high = least + (place + 1) * width
            columns.append(Bin(low, high, count, kind))
    unit = _unit(view.run)
    return histogram(
        columns,
        SCORES,
        axis=(columns[0].low, columns[-1].high),
        x_label=f"score ({unit}); the dashed line is the threshold, {least:.2f}",
        mark=least,
    )


def _rates(rates: RateTable, least: float) -> Any:
    """Return the histogram of the pairs of a rate table, and the rate over it."""
    edges = rates.edges.tolist()
    columns = list(map(Bin, edges[:-1], edges[1:], rates.pairs.tolist()))
    curve = [
        ((column.low + column.high) / 2, min(max(rate, 0.0), 1.0))
        for column, rate in zip(columns, rates.rates.tolist(), strict=True)
        if column.rows
    ]
    field = short(rates.field, NAME_CHARACTERS)
    return histogram(
        columns,
        f"Pairs, and the estimated rate of true matches, by score, from {field}",
        axis=(edges[0], edges[-1]),
        x_label="score",
        curve=curve,
        mark=least,
    )


def _contributions(run: Linked) -> Any:
    """Return what each field added to the scores of the links, on average."""
    if not len(run):
        return None
    means = run.parts.mean(axis=0).tolist()[:MOST_FIELDS]
    rows = []
    for name, mean in zip(run.names, means, strict=False):
        kind = "kept" if mean >= 0 else "removed"
        rows.append(Bar(short(name, 20), abs(mean), signed(mean), kind))
    return bars(rows, CONTRIBUTIONS)


def _field(coded: CodedField) -> tuple[str, str, int, float, float]:
    """Return the name, kind and number of values of a field, and the share of rows with a value."""
    name = short(columns_shown(coded.field), NAME_CHARACTERS)
    return name, coded.kind, len(coded.values), *coded.present
