"""What the comparisons share: their parameters, turns in processes of their own, the clock, memory, and tables."""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

THRESHOLD, SEED, BANDS, ROWS, PERMUTATIONS = 0.8, 1, 16, 8, 128
ONE_THREAD = {
    "RAYON_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
Entrant = TypeVar("Entrant")
Figures = dict[str, float]


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def label(name: str, threads: int = 1) -> str:
    """Name a contestant with its version and its threads."""
    version = next(
        (f" {found.version}" for found in importlib.metadata.distributions(name=name)),
        "",
    )
    return name + version + (f", {threads} threads" if threads > 1 else "")


def names(text: str) -> list[str]:
    """Read a list of names with commas between them."""
    return [*filter(None, text.split(","))]


def in_own_process(script: str, arguments: Iterable[str], what: str) -> Figures:
    """Run a script, which is to use one thread unless it is told more, and return the figures that it prints."""
    done = subprocess.run(
        [sys.executable, script, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    if done.returncode:
        sys.exit(f"{what} failed:\n{done.stderr}")
    print(f"{what}:", done.stdout.strip(), file=sys.stderr)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def take_turns(
    entrants: Iterable[Entrant], repeat: int, run: Callable[[Entrant, int], Figures]
) -> dict[Entrant, list[Figures]]:
    """Run all entrants one after the other, in so many turns, and return what each measured in each turn.

    Every turn begins with another of them: the first finds the memory of the machine as others left it.
    """
    took: dict[Entrant, list[Figures]] = {entrant: [] for entrant in entrants}
    order = [*took]
    for turn in range(repeat):
        for entrant in order:
            took[entrant].append(run(entrant, turn))
        order = order[1:] + order[:1]
    return took


def keep_to_one_cpu() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def timed(call: Callable[..., object], *args: Any) -> float:
    """Return the seconds a call takes, without those it takes to free what it returns."""
    before = time.perf_counter()
    result = call(*args)
    taken = time.perf_counter() - before
    del result
    return taken


def memory(what: str = "RssAnon") -> float:
    """Return the bytes of memory in use that are no file's, or, of VmHWM, the most there ever was in use."""
    gc.collect()
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def compared(
    took: Mapping[Entrant, list[Figures]], first: Entrant
) -> Iterator[list[str]]:
    """Yield a row for each figure: medians, and behind those with a unit the median ratio to the first's, by turns."""
    for what in dict.fromkeys(
        what for turns in took.values() for figures in turns for what in figures
    ):
        row = [what]
        for entrant, turns in took.items():
            values = [figures[what] for figures in turns if what in figures]
            ours = [figures[what] for figures in took.get(first, []) if what in figures]
            row.append(show(median(values)) if values else "-")
            if (
                entrant != first
                and "," in what
                and values
                and all(ours)
                and len(values) == len(ours)
            ):
                row[-1] += (
                    f" ({median(a / b for a, b in zip(values, ours, strict=True)):.3g})"
                )
        yield row


def show(value: float) -> str:
    return (
        "-"
        if math.isnan(value)
        else f"{value:,.0f}"
        if abs(value) >= 1000
        else f"{value:.4g}"
    )


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool
) -> None:
    """Print a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    ends = [""] + [":" * markdown] * (len(widths) - 1)
    rule = [end.rjust(width, "-") for end, width in zip(ends, widths, strict=True)]
    for line in (header, rule, *rows):
        cells = [line[0].ljust(widths[0])]
        cells += [
            cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)
        ]
        print(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells))
