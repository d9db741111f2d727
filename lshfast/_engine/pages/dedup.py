"""The HTML page of a deduplication, from its figures and its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.choices import plural
from lshfast._common.display import Figure, counted
from lshfast._common.types import Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES, bound_name
from lshfast._engine.account.sentences import (
    near_threshold,
    pair_sentences,
    removal_sentences,
)
from lshfast._engine.account.summary import Summary
from lshfast._engine.libraries import LibraryDefaults
from lshfast._engine.pages.evidence import (
    COLUMNS,
    Decided,
    Evidence,
    InputRows,
    closeness,
    counts_of,
    group_sizes_of,
)
from lshfast._engine.pages.run_pages import PageOutput
from lshfast._engine.plan import AnyPlan, Plan, plan_of_options
from lshfast._io.pages.drawing import Drawing, Panel
from lshfast._io.pages.page import render
from lshfast._io.pages.svg import BAR, HEIGHT, Bar, Bin, bars, histogram
from lshfast._items.measures import is_distance
from lshfast.banding import Bands

# Inputs that are named, where the others are summed; and those that are not folded.
MOST_SOURCES = 40
FIRST_SOURCES = 8


def page_of(
    summary: Summary,
    options: Mapping[str, Any],
    evidence: Evidence,
    output: PageOutput,
    *,
    title: str,
    removing: bool = True,
    refusal: str = "",
) -> str:
    """Return the page of a deduplication.

    Parameters
    ----------
    summary : Summary
    options : mapping
        The arguments of the run.
    evidence : Evidence
    output : PageOutput
        The page says if texts are not shown, and names the command that repeats the run.
    title : str
    removing : bool
        Whether the run removed rows, or listed pairs.
    refusal : str
        Why the run has written nothing else, if so.
    """
    plan = plan_of_options(options, summary.items)
    what = "Removed rows" if removing else "Similar pairs"
    return render(
        "dedup.html",
        title=title,
        summary=summary,
        removing=removing,
        funnel=_funnel(summary) if removing else None,
        account=[
            *replace(summary, by=None).figures(removing),
            *summary.input_figures(),
        ],
        advice=summary.advice,
        refusal=refusal,
        sentences=_sentences(summary, plan, evidence, removing, bool(refusal)),
        similarities=_similarities(summary, plan, evidence.similarities, what),
        measure=SIMILARITY_NAMES[summary.measure],
        nearest=0 if is_distance(summary.measure) else 1,
        identical=int(evidence.similarities[-1]),
        curve=bool(summary.bands and summary.measure == "jaccard"),
        sizes=bars(_sizes(evidence.group_sizes), "Groups by number of rows"),
        group_sizes=evidence.group_sizes,
        sources=list(_sources(summary, evidence)),
        examples=list(evidence.examples.items()),
        texts=output.texts,
        uncounted=evidence.form.counting.uncounted,
        left_out="Texts are" if plan.of_texts else f"The {plural(plan.kind)} are",
        options=_options(options, plan),
        command=output.command,
        stages=[
            Figure(name, f"{stage.seconds:,.2f}")
            for name, stage in summary.stages.items()
        ],
    )


def drawing_of(
    result: Decided, summary: Summary, options: Mapping[str, Any]
) -> Drawing:
    """Return a drawing of the similarities of removed rows, and of the sizes of groups."""
    plan = plan_of_options(options, summary.items)
    counts = counts_of(
        closeness(np.nan_to_num(result.similarity[~result.keep]), radius_of(plan))
    )
    measure = SIMILARITY_NAMES[summary.measure]
    nearest = 0 if is_distance(summary.measure) else 1
    left_out = (
        f"; not drawn: {counts[-1]:,} of {measure} {nearest}" if counts[-1] else ""
    )
    similarities = _similarities(summary, plan, counts, "Removed rows")
    panels = [Panel(f"Removed rows by {measure}{left_out}", similarities, HEIGHT)]
    sizes = _sizes(group_sizes_of(result))
    if sizes:
        sizes_title = "Groups by number of rows"
        panels.append(Panel(sizes_title, bars(sizes, sizes_title), BAR * len(sizes)))
    return Drawing(panels)


def drawing_of_plan(plan: Plan, libraries: Sequence[LibraryDefaults] = ()) -> Drawing:
    """Return a drawing of the probability to find a pair by its similarity, with libraries'."""
    bands = counted(plan.bands.bands, "band"), counted(plan.bands.rows_per_band, "row")
    title = f"Probability that a pair is found: {bands[0]} of {bands[1]}"
    label = f"Jaccard similarity; the vertical line is the threshold, {plan.equal_jaccard:.4g}"
    library_curves = {library.name: _curve(library) for library in libraries}
    curves = histogram(
        [],
        title,
        axis=(0.0, 1.0),
        x_label=label,
        curve=_curve(plan.bands),
        mark=plan.equal_jaccard,
        others=library_curves,
    )
    return Drawing([Panel(title, curves, HEIGHT)])


def _curve(bands: Bands | LibraryDefaults) -> list[tuple[float, float]]:
    """Return the probability that a pair is found, at similarities from 0 to 1."""
    places = np.linspace(0.0, 1.0, 101)
    return list(zip(places.tolist(), bands.probability(places).tolist(), strict=True))


def _funnel(summary: Summary) -> Any:
    rows = [
        ("read", summary.read, "plain"),
        ("rejected", summary.rejected, "removed"),
        ("exact copies", summary.copies, "removed"),
        ("same key", summary.same_key, "removed"),
        ("near-duplicates", summary.near_duplicates, "removed"),
        ("of earlier entries", summary.earlier, "removed"),
        ("kept", summary.kept, "kept"),
    ]
    drawn = [
        Bar(name, number, f"{number:,} ({number / max(summary.read, 1):.1%})", kind)
        for name, number, kind in rows
        if number or name in ("read", "kept")
    ]
    return bars(drawn, "; ".join(f"{row.name}: {row.label}" for row in drawn))


def _similarities(
    summary: Summary, plan: AnyPlan, counts: Int64Array, what: str
) -> Any:
    """Return the histogram of similarities or distances, below the curve of the plan."""
    edges = np.arange(COLUMNS + 1, dtype=np.float64) / COLUMNS
    radius = radius_of(plan)
    rows = counts[:-1]
    if radius is not None:
        edges = edges * (radius or 1.0)
        rows = rows[::-1]
    columns = [
        Bin(*column)
        for column in zip(
            edges[:-1].tolist(), edges[1:].tolist(), rows.tolist(), strict=True
        )
    ]
    name = SIMILARITY_NAMES[summary.measure]
    bound = bound_name(summary.measure)
    curve: list[tuple[float, float]] = []
    if summary.bands and summary.measure == "jaccard" and plan.bands is not None:
        curve = _curve(plan.bands)
    return histogram(
        columns,
        f"{what} by {name}",
        axis=(0.0, float(edges[-1])),
        x_label=f"{name}; the dashed line is the {bound}, {plan.threshold:g}",
        curve=curve,
        mark=plan.threshold,
    )


def radius_of(plan: AnyPlan) -> float | None:
    """Return the radius of a run by distance; None for similarities."""
    return plan.threshold if is_distance(plan.measure) else None


def _sizes(sizes: Mapping[int, int]) -> list[Bar]:
    """Return how many groups there are of each size, in steps that double from 4 on."""
    rows: list[Bar] = []
    low = 2
    largest = max(sizes, default=0)
    while low <= largest:
        high = low if low < 4 else 2 * low - 1
        count = sum(groups for size, groups in sizes.items() if low <= size <= high)
        name = f"{low:,} rows" if low == high else f"{low:,} to {high:,} rows"
        rows.append(Bar(name, count, f"{count:,}"))
        low = high + 1
    return rows


def _sentences(
    summary: Summary,
    plan: AnyPlan,
    evidence: Evidence,
    removing: bool,
    refused: bool,
) -> list[str]:
    """Return the sentences at the top of the page."""
    if not removing:
        return pair_sentences(summary, plan, evidence.group_sizes)
    near = near_threshold(plan, summary.measure, evidence.similarities)
    return removal_sentences(summary, plan, near, refused)


class Sources(NamedTuple):
    """The rows of each input, or value of a column: a few with the greatest loss, and the rest."""

    column: str
    first: Sequence[InputRows]
    more: Sequence[InputRows]


def _sources(summary: Summary, evidence: Evidence) -> Iterator[Sources]:
    """Yield what distinguishes rows: several inputs, and values of a column."""
    if len(evidence.inputs) > 1:
        yield _by_loss("input", _inputs(evidence.inputs))
    if summary.by is not None:
        values = [InputRows(*row_counts) for row_counts in summary.by.shown()]
        yield _by_loss(summary.by.column, values)


def _by_loss(column: str, rows: Sequence[InputRows]) -> Sources:
    """Return a few rows in their order, or of many those first that lost the greatest share."""
    if len(rows) <= FIRST_SOURCES:
        return Sources(column, rows, ())
    ordered = sorted(rows, key=lambda source: -source.share)
    return Sources(column, ordered[:FIRST_SOURCES], ordered[FIRST_SOURCES:])


def _inputs(inputs: Sequence[InputRows]) -> list[InputRows]:
    """Return the inputs of which most rows were removed, and the sum of the others."""
    if len(inputs) <= MOST_SOURCES:
        return list(inputs)
    ordered = sorted(inputs, key=lambda row_counts: -row_counts.removed)
    small_inputs = ordered[MOST_SOURCES - 1 :]
    sum_of_small = InputRows(
        counted(len(small_inputs), "other input"),
        sum(row_counts.read for row_counts in small_inputs),
        sum(row_counts.removed for row_counts in small_inputs),
    )
    return [*ordered[: MOST_SOURCES - 1], sum_of_small]


def _options(options: Mapping[str, Any], plan: AnyPlan) -> list[tuple[str, str]]:
    """Return the options with their values as text."""
    values = {
        name: value
        for name, value in options.items()
        if value is not None and name != "stop_words"
    }
    stop_words = None if plan.of_texts is None else plan.of_texts.shingles.stop_words
    if stop_words is not None:
        values["stop_words"] = stop_words.language or f"{len(stop_words.words)} words"
    return [(name, str(value)) for name, value in values.items()]
