"""The command ``lshfast demo``, and its input that is available everywhere: the source files of the
running Python's standard library.
"""

from __future__ import annotations

import sysconfig
import warnings
from dataclasses import replace
from pathlib import Path
from typing import get_args

from lshfast._common.choices import DemoData
from lshfast._common.display import counted
from lshfast._engine.options.command import (
    LEAST_SIMILARITY,
    QUIET,
    Argument,
    Command,
    Console,
    options_named,
)
from lshfast._engine.options.declaration import Options

OTHERS = {"site-packages", "dist-packages", "__pycache__"}

# Removed files that the demo shows.
MOST_SHOWN = 25

# What to type after the demo without DATA.
NEXT = (
    "Now try your own file, or lshfast demo news for one:\n"
    "lshfast dedup FILE.jsonl -o kept.jsonl --html report.html"
)

DATA = Argument(
    "data",
    "DATA",
    "The data set: " + ", ".join(get_args(DemoData)) + ".",
    DemoData,
    required=False,
)
DEMO_OPTIONS = (
    replace(LEAST_SIMILARITY, default=0.5),
    *options_named("threads"),
    QUIET,
)


def demo(options: Options, console: Console) -> None:
    """Write a small data set to try commands on.

    DATA is written into a new folder of that name, and a command to begin with is printed. Without
    DATA, near-duplicates among the sources of Python's standard library are shown.
    """
    if options.data is None:
        _deduplicate_library(options, console)
        return
    for option in DEMO_OPTIONS:
        if option.name in options.given:
            raise ValueError(f"{option.shown} is for the demo without DATA")
    from lshfast._cli.demo_data import write_data

    print(write_data(options.data, Path(options.data)))


def _deduplicate_library(options: Options, console: Console) -> None:
    """Print the near-duplicates in the standard library, the largest files first."""
    from lshfast._engine.account.short_texts import CodeTextsWarning
    from lshfast._engine.executors.memory import dedup
    from lshfast._engine.plan import make_plan

    plan = make_plan(threshold=options.threshold, threads=options.threads)
    names, texts = standard_library()
    count = counted(len(texts), "source file")
    console.show(
        f"{count} of this Python's standard library, word 5-grams, threshold "
        f"{options.threshold:g}\n"
    )
    with warnings.catch_warnings():
        # Words show well what files have in common; symbols, which code should have, show it worse.
        warnings.simplefilter("ignore", CodeTextsWarning)
        result = dedup(
            texts, threshold=plan.threshold, keys=names, threads=plan.threads
        )
    length = dict(zip(names, map(len, texts), strict=True))
    by_length = sorted(result.removed, key=lambda removal: -length[removal.key])
    for removal in by_length[:MOST_SHOWN]:
        print(f"{removal.similarity:.3f}  {removal.key}  is like  {removal.kept_key}")
    if len(by_length) > MOST_SHOWN:
        print(f"... and {len(by_length) - MOST_SHOWN:,} more")
    print()
    console.finish(result.summary)
    if not console.quiet:
        console.note(f"\n{NEXT}\n")


def standard_library() -> tuple[list[str], list[bytes]]:
    """Return the names and texts of the standard library's .py files, without files that are not
    UTF-8.
    """
    root = Path(sysconfig.get_path("stdlib"))
    names = []
    texts = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if OTHERS.isdisjoint(name.parts) and path.is_file():
            source = path.read_bytes()
            try:
                source.decode("utf-8")
            except UnicodeDecodeError:
                continue
            names.append(name.as_posix())
            texts.append(source)
    return names, texts


COMMANDS = (Command("demo", demo, DEMO_OPTIONS, (DATA,)),)
