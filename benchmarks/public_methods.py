"""Every public method of the drop-in beside datasketch's: the same call on the same data, in turns, in one process.

    python benchmarks/public_methods.py [part of a name ...] [--repeat 25] [--limit 1.2] [--slower] [--markdown]

One CPU, one thread. Each library in turn makes the call for about two milliseconds, or once. The table shows the median
time of a call in microseconds, and the median over the turns of the ratio lshfast / datasketch: below 1, lshfast is
faster. Ratios above `--limit` are marked with an asterisk, and the exit status is then 1.

The methods stand in the modules named in `LISTS`, each a function `methods()` that returns `Method` objects.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from statistics import median
from typing import Any

from contest import installed, keep_to_one_cpu, label, print_table, show

TURN = 0.002  # seconds that a library's turn takes, if a call is shorter
LISTS = ("public_methods_lsh", "public_methods_redis", "public_methods_sketch")
LIBRARIES = {"datasketch": "datasketch", "lshfast": "lshfast.datasketch"}
Call = Callable[[], object]


@dataclass(frozen=True)
class Method:
    """A public method and how to call it.

    Attributes
    ----------
    name : str
        What the table shows, such as ``"MinHashLSH.query"``.
    prepare : callable
        From the library's module to the call, a function without arguments. What it does itself is not timed.
    once : bool
        Whether the call changes what it works on, so that it is prepared anew before each call.
    """

    name: str
    prepare: Callable[[Any], Call]
    once: bool = False


def lasts(method: Method, library: Any, call: Call, times: int) -> float:
    """Return the seconds that a call takes, the mean of so many."""
    clock = time.perf_counter
    if not method.once:
        before = clock()
        for _ in repeat(None, times):
            call()
        return (clock() - before) / times
    taken = 0.0
    for _ in repeat(None, times):
        call = method.prepare(library)
        before = clock()
        call()
        taken += clock() - before
    return taken / times


def measure(method: Method, turns: int) -> dict[str, list[float]]:
    """Return the seconds of a call for each library, a number for each turn."""
    libraries = {
        name: importlib.import_module(module) for name, module in LIBRARIES.items()
    }
    calls = {name: method.prepare(library) for name, library in libraries.items()}
    times = {}
    for name, library in libraries.items():
        lasts(method, library, calls[name], 10 if not method.once else 1)
        times[name] = max(
            1, round(TURN / max(lasts(method, library, calls[name], 3), 1e-8))
        )
        if method.once:
            times[name] = 1
    took: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(turns):
        for name, library in libraries.items():
            took[name].append(lasts(method, library, calls[name], times[name]))
    return took


def all_methods() -> list[Method]:
    """Return the methods of all lists that there are."""
    return [
        method
        for name in LISTS
        if installed(name)
        for method in importlib.import_module(name).methods()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part of a name",
        help="methods to measure; all by default",
    )
    parser.add_argument(
        "--repeat", type=int, default=25, help="turns, whose medians are shown"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=1.2,
        help="the ratio above which a method is marked",
    )
    parser.add_argument(
        "--slower", action="store_true", help="show only the methods that are marked"
    )
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if not installed("datasketch"):
        parser.error("datasketch is not installed: pip install 'lshfast[bench]'")
    keep_to_one_cpu()
    warnings.simplefilter("ignore")
    rows, marked = [], 0
    for method in all_methods():
        if options.parts and not any(part in method.name for part in options.parts):
            continue
        took = measure(method, options.repeat)
        ratio = median(
            ours / theirs
            for theirs, ours in zip(took["datasketch"], took["lshfast"], strict=True)
        )
        marked += ratio > options.limit
        if ratio > options.limit or not options.slower:
            times = [show(median(took[name]) * 1e6) for name in LIBRARIES]
            rows.append(
                [
                    method.name,
                    *times,
                    f"{ratio:.2f}{'*' if ratio > options.limit else ''}",
                ]
            )
    header = ["µs a call", label("datasketch"), label("lshfast"), "ratio"]
    print_table(header, rows or [["(none)", "", "", ""]], options.markdown)
    return int(marked > 0)


if __name__ == "__main__":
    sys.exit(main())
