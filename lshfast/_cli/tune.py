"""The command `lshfast tune`: what a run finds, and what it takes, before it is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from lshfast._cli.console import (
    advice_line,
    forecast_table,
    memory_table,
    plan_table,
    table_lines,
)
from lshfast._common.choices import PointKind, plural
from lshfast._engine.libraries import LIBRARIES, library_defaults
from lshfast._engine.options.command import (
    Argument,
    Command,
    Console,
    daily_option,
    file_option,
)
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.rules import taken_by_verb

if TYPE_CHECKING:
    from lshfast._common.choices import Kind
    from lshfast._engine.executors.local.cap import Cap
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.libraries import LibraryDefaults
    from lshfast._engine.plan import Plan
    from lshfast._io import Corpus
    from lshfast._items.measures import PointPlan

TUNE_INPUTS = Argument("inputs", "INPUT", "As for dedup.", required=False)
TUNE_OPTIONS = (
    *taken_by_verb("tune"),
    daily_option("rows", None, "Number of rows, without INPUT.", int, metavar="N"),
    daily_option("mean_bytes", 5000, "Mean bytes of a text or set, with --rows.", int),
    daily_option(
        "dim",
        None,
        "Coordinates of a vector or bits of a code, without INPUT.",
        int,
        metavar="N",
    ),
    file_option(
        "plot", "Draw the S-curve in FILE, which is replaced: .png, .svg, .pdf.", Path
    ),
    daily_option(
        "like",
        None,
        f"Also show what the defaults of a library find; repeatable: {', '.join(LIBRARIES)}.",
        list[str],
        metavar="LIBRARY",
    ),
)
PLAN_OPTIONS = [
    option.name for option in taken_by_verb("tune") if option.group == "plan"
]


def tune(options: Options, console: Console) -> None:
    """Show the recall and the memory of a run.

    Nothing is compared: recall follows from the options, and memory from the size of INPUT. With
    INPUT, shingles and a threshold are recommended for texts of this length. With --memory, also
    what a run within it takes. For vectors and codes, also the plan of an index; for these and
    weighted sets, with INPUT also how near random rows are. With --like, also what the default
    settings of other libraries find, at each similarity of their own shingles.
    """
    from lshfast._engine.executors.local.cap import cap_of
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.plan import plan_for

    source = Inputs.of(options.inputs, options)
    kind: Kind = source.kind_of_items() if options.inputs else options.kind or "text"
    plan = plan_for(kind, options.picked(PLAN_OPTIONS))
    cap = cap_of(options.memory, None, False)
    _check(options, cap)
    libraries = [library_defaults(name) for name in dict.fromkeys(options.like or [])]
    TUNING[kind](options, source, plan, cap, libraries, console)


def _check(options: Options, cap: Cap | None) -> None:
    """Raise ValueError for options that need inputs, or stand for them."""
    if cap is not None and not options.inputs:
        raise ValueError("memory needs INPUT, of which a run is estimated")
    if cap is not None and "-" in options.inputs:
        raise ValueError(
            "memory needs INPUT that can be read several times, not standard input"
        )
    for name in ("rows", "dim"):
        if options[name] is not None and options.inputs:
            raise ValueError(f"{name} is for a plan without INPUT, and INPUT is given")
    if options.by is not None and not options.inputs:
        raise ValueError("by needs INPUT, whose values are counted")
    rows = options.rows
    if (rows is not None and rows < 0) or options.mean_bytes < 0:
        raise ValueError(
            f"rows and mean_bytes must not be negative, not {rows} and {options.mean_bytes}"
        )


def _tune_points(
    options: Options,
    source: Inputs,
    plan: PointPlan,
    cap: Cap | None,
    libraries: list[LibraryDefaults],
    console: Console,
) -> None:
    """Show what is found of weighted sets, vectors or codes."""
    from lshfast._engine.forecasts.points import forecast_points

    if options.dim is not None and plan.kind == "weighted":
        raise ValueError("dim is for vectors and codes, not for weighted sets")
    table = "the table shows what is found at each similarity or distance"
    drawing = "index.plan.plot() of a NearNeighbors draws its recall"
    instead = {
        "memory": "the table shows what a run needs with and without --memory",
        "plot": drawing if plan.kind == "vector" else table,
        "like": table,
    }
    for name, reason in instead.items():
        if options[name]:
            raise ValueError(
                f"{name} is for texts and sets, not for {plural(plan.kind)}: {reason}"
            )
    inputs = source if options.inputs else None
    console.show(
        "\n".join(forecast_points(inputs, plan, options.rows, options.dim).lines())
    )
    if options.inputs:
        print(
            "\nlshfast check, with these options, counts the similar pairs and what share of "
            "them is found"
        )


def _tune_sets(
    options: Options,
    source: Inputs,
    plan: Plan,
    cap: Cap | None,
    libraries: list[LibraryDefaults],
    console: Console,
) -> None:
    """Show what is found of texts or sets, the memory of a run, and better shingles."""
    from lshfast._engine.budget import bytes_of_values
    from lshfast._engine.inputs import measure_inputs

    _check_of_sets(options, plan, cap)
    rows = options.rows
    amount = None if rows is None else (rows, rows * options.mean_bytes)
    corpus = source.sample(plan) if options.inputs else None
    values = 0
    if corpus is not None:
        amount = measure_inputs(corpus)
        values = bytes_of_values(corpus.by, amount[0])
    if options.plot is not None:
        _plot(options.plot, plan, libraries)
    console.show(plan_table(plan, libraries))
    if amount is not None:
        texts_held = corpus is None or corpus.held
        print(
            f"\n{memory_table(plan, *amount, texts_in_memory=texts_held, values=values)}"
        )
    if cap is not None:
        _show_forecast(source, plan, cap)
    if corpus is not None:
        _show_inputs(corpus, plan)


def _check_of_sets(options: Options, plan: Plan, cap: Cap | None) -> None:
    """Raise ValueError for options that say nothing about texts or sets under this plan."""
    from lshfast._common.checks import check_plot
    from lshfast._engine.plan import check_bands_only

    if options.dim is not None:
        raise ValueError(f"dim is for vectors and codes, not for {plural(plan.kind)}")
    if plan.exact and not plan.exact_by_default:
        for name in ("plot", "like"):
            if options[name]:
                raise ValueError(
                    f"{name} shows what bands find, and an exact join has none: leave out --exact"
                )
    if cap is not None:
        check_bands_only(plan, "cap", "tune")
    if options.plot is not None:
        check_plot(options.plot, svg_needs_it=False)


# What shows the plan of a kind of items.
TUNING: dict[Kind, Callable[..., None]] = {
    "text": _tune_sets,
    "set": _tune_sets,
    **dict.fromkeys(get_args(PointKind), _tune_points),
}


def _plot(path: Path, plan: Plan, libraries: list[LibraryDefaults]) -> None:
    """Draw the S-curve of the bands."""
    if path.suffix.lower() == ".svg":
        from lshfast._engine.pages.dedup import drawing_of_plan

        drawing_of_plan(plan, libraries).save(path, overwrite=True)
        return
    from lshfast.families.plots import plot_curve

    curves = {
        f"{library.name} {library.version}": library.banding for library in libraries
    }
    plot_curve(plan.bands, threshold=plan.equal_jaccard, path=path, others=curves)


def _show_forecast(source: Inputs, plan: Plan, cap: Cap) -> None:
    """Print what a run within the memory takes."""
    from lshfast._engine.forecasts.texts import forecast

    expected = forecast(source, plan, cap.memory)
    table = f"there are no {plural(plan.kind)}"
    if expected is not None:
        table = forecast_table(expected, plan, cap.memory)
    print(f"\n{table}")


def _show_inputs(corpus: Corpus, plan: Plan) -> None:
    """Print how the inputs were read, and the shingles that suit texts of this length."""
    from lshfast._engine.account.display import input_figures
    from lshfast._engine.account.short_texts import recommendation, threshold_for
    from lshfast._engine.executors.local.run import lengths_of_inputs
    from lshfast._engine.inputs import input_notes

    notes = input_notes(corpus)
    lines = table_lines(
        input_figures(notes["delimiters"], notes["unread"], notes["lines"])
    )
    if lines:
        print("\n" + "\n".join(lines))
    lengths = None if plan.of_texts is None else lengths_of_inputs(corpus)
    if lengths is None:
        return
    better = recommendation(lengths)
    least = threshold_for(plan.measure, better)
    options = f"--unit {better.unit} --size {better.size} --threshold {least:g}"
    print(f"\nrecommended for texts of this length: {options}")
    advice = lengths.forms.advice(plan.shingles.normalize)
    if advice:
        print(advice_line(advice))


COMMANDS = (
    Command(
        "tune",
        tune,
        TUNE_OPTIONS,
        (TUNE_INPUTS,),
        examples=(
            "lshfast tune crawl.jsonl --memory 4G",
            "lshfast tune --threshold 0.8 --rows 1000000 --plot curve.svg",
            "lshfast tune --threshold 0.8 --like datatrove",
        ),
    ),
)
