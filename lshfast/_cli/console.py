"""Output for the user during and after a run: progress, closing tables, curves."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log2
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO, cast

from lshfast._common.choices import plural
from lshfast._common.display import Figure, bands_and_rows, counted, figure
from lshfast._common.startup import INTERRUPTED
from lshfast._common.visible import one_line, printable, visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from lshfast._engine.account.display import Account
    from lshfast._engine.forecasts.texts import Expected, Forecast
    from lshfast._engine.indexes.files import OpenedIndex
    from lshfast._engine.indexes.points import PointIndex
    from lshfast._engine.libraries import LibraryDefaults
    from lshfast._engine.plan import Plan
    from lshfast._io import Reject
    from lshfast.index.index_stats import IndexStats
    from lshfast.index.lsh_index import LSHIndex

UNITS = {
    "read": "bytes",
    "input": "bytes",
    "texts": "bytes",
    "hold": "bytes",
    "sample": "bytes",
    "compare": "pairs",
    "verify": "rows",
    "write": "bytes",
    "save": "bytes",
    "merge": "rows",
    "link": "stages",
    "hash": "images",
    "dedup": "images",
}
TITLES = {
    "read": "read and sketch",
    "input": "read",
    "texts": "read again",
    "hold": "read and hold",
    "sample": "read and sample",
    "compare": "compare",
    "verify": "verify",
    "write": "write",
    "save": "write the index",
    "merge": "merged",
    "link": "link",
    "hash": "read and hash",
    "dedup": "compare",
}
# The beginning of the names of stages that report tasks instead of their own units.
TASKS_OF = "tasks of "
OPEN_ENDED = {"merge"}  # their total is not known
PLAIN_EVERY = 5.0  # seconds between lines if there is no terminal


def interruption(error: BaseException) -> tuple[str, int] | None:
    """Return the message and the exit status of an interrupted run; None for another error.

    An interrupt also causes a SystemError if a C extension overlooks it, and a RuntimeError
    ("release unlocked lock") if a thread waits for a lock.
    """
    interrupt: BaseException | None = error
    while not isinstance(interrupt, KeyboardInterrupt):
        if interrupt is None:
            return None
        interrupt = interrupt.__cause__ or interrupt.__context__
    number = interrupt.args[0] if interrupt.args else signal.SIGINT
    if number == signal.SIGINT:
        return INTERRUPTED, 130
    return (
        f"stopped by {signal.Signals(number).name}; no output was left half-written",
        128 + number,
    )


class Watch:
    """Show progress on standard error: bars on a terminal, otherwise a line every 5 s.

    Nothing is shown if `quiet`, or if `output` is a terminal, where bars would mix with the rows.
    """

    def __init__(
        self,
        quiet: bool = False,
        output: str | None = None,
        stream: TextIO | None = None,
    ) -> None:
        # An interrupt before this is reported without numpy.
        from lshfast._io.streams import is_terminal

        self._quiet = quiet or (output is not None and is_terminal(output))
        self._stream = stream or sys.stderr
        self._bars: Bars | None = None
        self._tasks: dict[str, Any] = {}
        self._began: dict[str, float] = {}
        self._said = time.perf_counter()

    def __enter__(self) -> Watch:
        if not self._quiet and self._stream.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            columns = (
                "[bold]{task.description:>16}",
                "{task.percentage:>3.0f}%",
                "{task.fields[rate]:>14}",
            )
            self._bars = Progress(
                TextColumn(columns[0]),
                BarColumn(),
                TextColumn(columns[1]),
                TextColumn(columns[2]),
                TimeRemainingColumn(),
                console=Console(file=self._stream),
            )
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, amount_done: int, total: int | None) -> None:
        """Record progress: `amount_done` of `total` bytes, rows or pairs of a stage."""
        unit = "tasks" if stage.startswith(TASKS_OF) else UNITS.get(stage)
        if self._quiet or unit is None or not (total or stage in OPEN_ENDED):
            return
        now = time.perf_counter()
        seconds = now - self._began.setdefault(stage, now)
        has_rate = seconds > 0.05 and unit not in ("stages", "tasks")
        rate = amount_done / seconds if has_rate else 0.0
        speed = f"{rate / 1e6:.0f} MB/s" if unit == "bytes" else f"{rate:,.0f}/s"
        if not rate:
            speed = ""
        title = TITLES.get(stage, stage)
        if self._bars is not None:
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task(title, total=total, rate="")
            self._bars.update(
                self._tasks[stage], completed=amount_done, total=total, rate=speed
            )
        elif now - self._said >= PLAIN_EVERY:
            self._said = now
            share = _share_done(amount_done, total, rate, speed)
            print(f"lshfast: {title}: {share}", file=self._stream, flush=True)


def _share_done(amount_done: int, total: int | None, rate: float, speed: str) -> str:
    """Return how much of a stage is done, the speed, and the seconds that are left if known."""
    if not total:
        return f"{amount_done:,} {speed}"
    remaining_time = f", {(total - amount_done) / rate:.0f} s left" if rate else ""
    return f"{100 * amount_done / total:.0f} % {speed}{remaining_time}"


BAR = 24  # characters of the longest bar; with it, a line fits 60 columns
NOTE = 31  # the column where the notes of a table begin


def show(text: str, stream: TextIO) -> None:
    """Print lines of text; on a terminal, wrap long lines, with notes aligned below notes."""
    if stream.isatty():
        width = width_of(stream)
        text = "\n".join(_wrapped(line, width) for line in text.split("\n"))
    say(text, stream)


def width_of(stream: TextIO) -> int:
    """Return the columns of a terminal, 80 if the stream is none."""
    if not stream.isatty():
        return 80
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return int(columns)
    return os.get_terminal_size(stream.fileno()).columns or 80


def say(text: str, stream: TextIO) -> None:
    """Print text, with the control characters of what it quotes as escapes."""
    print(visible(text, lines=True), file=stream)


@contextmanager
def warnings_as_lines(quiet: bool) -> Iterator[None]:
    """Print the block's warnings for users on standard error at its end, unless `quiet`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        if not quiet and issubclass(warning.category, UserWarning):
            say(f"lshfast: warning: {visible(str(warning.message))}", sys.stderr)


def _wrapped(line: str, width: int) -> str:
    indent = " " * NOTE if line[:NOTE].endswith("   ") and width > NOTE + 20 else ""
    return "\n".join(
        wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def finish(
    account: Account, quiet: bool, figures: Iterable[Figure] | None = None
) -> None:
    """Print an account on standard error; if quiet, only how many rows were bad."""
    from lshfast._engine.executors.local.run import peak_memory

    if not quiet:
        show(account_table(account, peak_memory(), figures), sys.stderr)
    elif account.refused:
        print(f"lshfast: {counted(account.refused, 'row')} rejected", file=sys.stderr)


def account_table(
    account: Account, memory: int | None = None, figures: Iterable[Figure] | None = None
) -> str:
    """Return an account as lines of text: `figures` (default: all), advice and times."""
    shown = account.figures() if figures is None else figures
    lines = table_lines([*shown, *account.input_figures()])
    if account.advice:
        lines.append(advice_line(account.advice))
    lines += map("note: {}".format, notes(account))
    return "\n".join([*lines, "", *_time_lines(account, memory)])


def advice_line(advice: str) -> str:
    """Return the line of advice about texts, with options as the command line writes them."""
    advice = re.sub(
        r"unit (\S+), size (\S+), threshold (\S+)$",
        r"--unit \1 --size \2 --threshold \3",
        advice,
    )
    return "note: " + re.sub(r"unit (\S+)$", r"--unit \1", advice)


def _time_lines(account: Account, memory: int | None) -> Iterator[str]:
    """Yield the lines for the times of an account, and for the peak memory if given."""
    stages = account.stages
    total = account.seconds + sum(
        stages[name].seconds for name in account.AFTERWARDS if name in stages
    )
    peak = "" if memory is None else f"{'peak memory':<14}{memory / 1e6:>11,.0f} MB"
    if not stages:
        yield f"{'in all':<14}{total:>12.2f} s"
    else:
        yield f"{'stage':<14}{'seconds':>14}{'MB/s':>10}"
        for name, stage in stages.items():
            rate = (
                f"{stage.mb_per_second:>10,.0f}"
                if stage.nbytes and stage.seconds > 0.1
                else ""
            )
            yield f"{name:<14}{stage.seconds:>14.2f}{rate}"
        first_stages = ("sketch", "sample", "hash", "compare", "read")
        nbytes = next(stages[name].nbytes for name in first_stages if name in stages)
        speed = nbytes / 1e6 / total if total else 0
        yield f"{'in all':<14}{total:>14.2f}{speed:>10,.0f}"
        if memory is not None and nbytes > 50e6:
            peak += f"   {memory / nbytes:.2f} x the text"
    if peak:
        yield peak


def notes(account: Account) -> Iterator[str]:
    """Yield why a run found nothing, and what to do: no rows, none but bad rows, or no pairs."""
    if not account.read:
        yield "the inputs have no rows"
    elif account.read == account.rejected:
        yield "all rows were rejected; --on-error stop shows the reason of the first"
    elif (
        not account.advice
        and account.read > 1
        and getattr(account, "pairs", None) == 0
        and not getattr(account, "earlier", 0)
    ):
        yield f"there is no such pair; {account.finding_more}"


def table_lines(figures: Iterable[Figure]) -> list[str]:
    """Return the lines of a table."""
    return [_line(*each) for each in figures]


def _line(name: str, value: object = "", *notes: str) -> str:
    """Return a line of a table: name, figure, and the notes that are not empty."""
    name, shown, note = map(visible, figure(name, value, *notes))
    return f"{name:<14}{shown:>14}   {note}".rstrip()


def index_table(path: str, index: OpenedIndex, kind: str | None) -> str:
    """Return the settings and the size of an index as lines, with a histogram of its buckets."""
    from lshfast._engine.indexes.files import KEYS
    from lshfast._engine.indexes.run_indexes import POINTS
    from lshfast.index.index_stats import candidates_figure

    if index.holds in POINTS:
        entries = _line("entries", len(index), f"{index.holds}s; keys: {KEYS[kind]}")
        return "\n".join(
            [printable(path), entries, cast("PointIndex", index).describe()]
        )
    signatures = cast("LSHIndex", getattr(index, "index", index))
    stats = signatures.stats()
    entries = _line("entries", stats.entries, f"keys: {KEYS[kind]}")
    lines = [printable(path), entries, *_settings(signatures), ""]
    lines += [*_sizes(stats.store), ""]
    if stats.entries and not stats.bucket_sizes:  # the store cannot count them
        return "\n".join(lines[:-1])
    lines.append(_line(*candidates_figure(stats.expected_candidates)))
    return "\n".join([*lines, *_histogram(stats)])


def _settings(index: LSHIndex) -> Iterator[str]:
    """Yield what an index has of texts, sets or vectors, and which pairs its bands find."""
    from lshfast._engine.plan import SETS
    from lshfast.index.lsh_index import WEIGHTED

    p = index.parameters
    without_shingles = {SETS: "none: sets", WEIGHTED: "none: weighted sets"}
    shingles = without_shingles.get(p.shingles, p.shingles)
    shingles = shingles or "unknown; the command line needs LSHIndex(shingles='word:5')"
    yield _line("shingles", "", shingles)
    if p.family:
        yield _line("family", "", p.family)
    else:
        slots = counted(p.num_perm, "slot")
        yield _line("signatures", "", f"{slots}, {p.scheme}, seed {p.seed}")
    yield _line("threshold", "unknown" if p.threshold is None else f"{p.threshold:g}")
    recall = ""
    if p.threshold is not None and not p.apart:
        probability = float(index.bands.probability(p.threshold))
        recall = f"recall at the threshold: {probability:.4f}"
    yield _line(
        "bands x rows",
        f"{index.bands.bands} x {index.bands.rows_per_band}",
        recall,
        f"half found at {index.bands.half_point:.4f}",
    )


def _sizes(store: Mapping[str, int]) -> Iterator[str]:
    """Yield the bytes of a store, and the number of its parts."""
    counts = [name for name in ("shards", "segments") if name in store]
    for name, size in store.items():
        if name not in counts:
            yield f"{name.removesuffix(' bytes'):<14}{size:>14,} bytes"
    for name in counts:
        yield _line(name, store[name])


def _histogram(stats: IndexStats) -> Iterator[str]:
    """Yield the numbers of buckets by the entries in them."""
    yield f"{'entries':<14}{'buckets':>14}   (bars: logarithmic)"
    widest = log2(1 + max(stats.bucket_sizes.values(), default=1))
    for least, count in stats.bucket_sizes.items():
        most = min(2 * least - 1, stats.largest_bucket)
        label = f"{least:,}" if least == most else f"{least:,}-{most:,}"
        yield _line(label, count, "#" * round(BAR * log2(1 + count) / widest))


def reject_line(fault: Reject) -> str:
    """Return the line for a rejected row."""
    line = "" if fault.line is None else f"{fault.line}:"
    return visible(f"lshfast: skipped: {fault.path}:{line} {fault.reason}")


class MatchPrinter:
    """Print matches on standard output: at once, with tabs; on a terminal, a table at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._name = "similarity"
        self._table: list[tuple[str, ...]] | None = (
            [] if self._stream.isatty() else None
        )

    def __call__(self, *columns: Sequence[Any], name: str = "similarity") -> None:
        """Add rows of matches: columns of keys, and last the similarities or distances (`name`)."""
        self._name = name
        *keys, similarity = columns
        rows = zip(
            *([one_line(key) for key in column] for column in keys),
            map(str, similarity),
            strict=True,
        )
        if self._table is None:
            self._stream.write("".join("\t".join(row) + "\n" for row in rows))
        else:
            self._table += rows

    def close(self) -> None:
        """Print the table on a terminal, and flush the stream."""
        if self._table:
            names = ("key", "match", self._name)[-len(self._table[0]) :]
            self._table = [tuple(map(visible, row)) for row in self._table]
            widths = [
                max(map(len, column))
                for column in zip(names, *self._table, strict=True)
            ]
            for row in (names, *self._table):
                cells = [
                    f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)
                ]
                self._stream.write("  ".join(cells).rstrip() + "\n")
        self._stream.flush()


def plan_table(plan: Plan, libraries: Sequence[LibraryDefaults] = ()) -> str:
    """Return the recall of a plan as lines; for a default exact join, also the recall of bands."""
    joins_exactly = "exact join: every similar pair is found"
    if not plan.exact:
        return bands_table(plan, libraries)
    if not plan.exact_by_default:
        return joins_exactly
    try:
        by_bands = bands_table(plan, libraries)
    except ValueError as error:  # their recall is out of reach of the slots
        by_bands = str(error)
    return f"{joins_exactly}\n\nwith --no-exact:\n{by_bands}"


def bands_table(plan: Plan, libraries: Sequence[LibraryDefaults] = ()) -> str:
    """Return the recall of the bands of a plan, and of libraries, as lines of text."""
    bands = plan.bands
    slots = counted(plan.hasher.num_perm, "slot")
    place = f"at the threshold {plan.threshold:g}"
    place += (
        f", for {plural(plan.kind)} of one size"
        if plan.measure == "containment"
        else ""
    )
    recall = f"recall {place}: {float(bands.probability(plan.equal_jaccard)):.4f}"
    tables = [
        f"{bands_and_rows(bands.bands, bands.rows_per_band)}: {bands.slots} of {slots}\n"
        f"{recall}; half of the pairs found at {bands.half_point:.4f}",
        curve_table(plan, libraries),
    ]
    if libraries:
        tables.append(library_table(plan, libraries))
    if plan.measure == "containment":
        tables.append(ratio_table(plan))
    return "\n\n".join(tables)


def curve_table(plan: Plan, libraries: Sequence[LibraryDefaults] = ()) -> str:
    """Return the S-curve of a plan as lines, with bars, or with columns for libraries."""
    points = [round(0.05 * i, 2) for i in range(1, 21)]
    threshold = plan.equal_jaccard
    if threshold not in points:
        points = sorted([*points, threshold])
    curves = {"here" if libraries else "found": plan.bands} | {
        library.name: library.banding for library in libraries
    }
    widths = [max(8, len(name)) for name in curves]
    head = [f"{name:>{width}}" for name, width in zip(curves, widths, strict=True)]
    lines = [
        "  ".join(
            [f"{'similarity' if plan.measure == 'jaccard' else 'Jaccard':>10}", *head]
        )
    ]
    for s in points:
        probabilities = [float(curve.probability(s)) for curve in curves.values()]
        cells = [
            f"{each:>{width}.6f}"
            for each, width in zip(probabilities, widths, strict=True)
        ]
        bar = "" if libraries else f"  {'#' * round(BAR * probabilities[0]):<{BAR}}"
        mark = "  <- threshold" if s == threshold else ""
        lines.append(f"{'  '.join([f'{s:>10.4g}', *cells])}{bar}{mark}".rstrip())
    return "\n".join(lines)


DECISIONS = {
    "candidate": "pairs that share a band count as similar, and nothing is compared",
    "estimate": "pairs that share a band are similar if their estimate is at least {threshold:g}",
    "exact": "pairs that share a band are compared exactly",
}

# Changes of single words, after which the similarity by other shingles of a library is shown.
CHANGES = 5
WORDS = 500


def library_table(plan: Plan, libraries: Iterable[LibraryDefaults]) -> str:
    """Return the settings of libraries as lines, and their similarity after some changes."""
    from lshfast._engine.account.short_texts import (
        BYTES_PER_WORD,
        CHANGED,
        similarity_after,
    )

    def similarity_of(unit: Any, size: int | None) -> str:
        """Return the similarity after the changes; "" if words do not determine it."""
        if (
            plan.kind == "set"
            or unit not in CHANGED
            or size is None
            or (unit, size) == ("word", 1)
        ):
            return ""
        length = WORDS * (BYTES_PER_WORD if unit == "char" else 1)
        return f"{similarity_after(CHANGES, length, unit, size):.2f}"

    lines = []
    shingles = plan.shingles
    for library in libraries:
        target = (
            ""
            if library.threshold is None
            else f", for a threshold of {library.threshold:g}"
        )
        bands = library.banding
        slots = f"{bands.slots} of {counted(library.num_perm, 'slot')}"
        lines += [
            f"{library.name} {library.version}: "
            f"{bands_and_rows(bands.bands, bands.rows_per_band)}: {slots}{target}",
            f"    {DECISIONS[library.decision].format(threshold=library.threshold)}",
            f"    its similarity: of {library.shingles}",
        ]
        there = similarity_of(library.unit, library.size)
        here = similarity_of(shingles.unit, shingles.size)
        if (
            there
            and here
            and (library.unit, library.size) != (shingles.unit, shingles.size)
        ):
            lines.append(
                f"    {CHANGES} changed words in a text of {WORDS} leave a similarity of {there}, "
                f"and {here} here"
            )
        lines.append(f"    set by {library.source}")
    return "\n".join(lines)


def forecast_table(forecast: Forecast, plan: Plan, memory: int) -> str:
    """Return the expected memory, disk space and time of a run with a memory cap, as lines."""
    fits = (
        "" if memory >= forecast.least_memory else f", more than {memory / 1e6:,.0f} MB"
    )
    items = (
        f"{counted(forecast.rows, plan.kind)} of {forecast.nbytes / 1e6:,.0f} MB in all"
    )
    shared = (
        ""
        if forecast.sharing is None
        else f", of which about {forecast.sharing:.0%} are read again"
    )

    def amount(expected: Expected, unit: float) -> tuple[str, str]:
        value, least, most = (
            None if number is None else f"{number / unit:,.0f}" for number in expected
        )
        return (
            value or f"{least} to {most}",
            f"{least} if no {plural(plan.kind)} shared buckets, {most} if all did",
        )

    (disk, disk_range) = amount(forecast.disk, 1e6)
    (seconds, seconds_range) = amount(forecast.seconds, 1)
    return "\n".join(
        [
            f"with --memory, for {items}{shared}:",
            f"{'memory':>22}{-(-forecast.least_memory // 10**6):>12,} MB at least{fits}",
            f"{'work folder':>22}{disk:>12} MB ({disk_range})",
            f"{'time':>22}{seconds:>12} s with {counted(plan.threads, 'thread')} ({seconds_range})",
        ]
    )


# Lengths of a containing text, as multiples of the length of the contained one.
RATIOS = 1, 1.25, 1.5, 2, 3, 5, 10


def ratio_table(plan: Plan) -> str:
    """Return the probability to find pairs by containment, for ratios of lengths, as lines."""
    lines = [
        f"{'shingles, times':>15}  {'found, at the threshold':>23}  "
        f"{'found, contained completely':>27}"
    ]
    for ratio in RATIOS:
        jaccard = [c / (1 + ratio - c) for c in (plan.threshold, 1.0)]
        at_threshold, complete = (float(plan.bands.probability(s)) for s in jaccard)
        lines.append(f"{ratio:>15g}  {at_threshold:>23.6f}  {complete:>27.6f}")
    return "\n".join(lines)


def memory_table(
    plan: Plan, rows: int, nbytes: int, texts_in_memory: bool = True, values: int = 0
) -> str:
    """Return the estimated peak memory of a run as lines; `values` are the bytes for --by."""
    parts = plan.memory(rows, nbytes, texts_in_memory) | (
        {"values of --by": values} if values else {}
    )
    size = f"{nbytes / 1e6:,.{0 if nbytes >= 10e6 else 1}f} MB"
    lines = [f"about {counted(rows, plan.kind)} of {size} in all; the run needs about"]
    lines += [
        f"{name:>22}{texts_in_memory / 1e6:>12,.0f} MB"
        for name, texts_in_memory in parts.items()
    ]
    return "\n".join([*lines, f"{'in all':>22}{sum(parts.values()) / 1e6:>12,.0f} MB"])
