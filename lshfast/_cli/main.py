"""The commands: they convert options to arguments and contain no other logic."""

from __future__ import annotations

import sys
from copy import copy
from pathlib import Path
from typing import Annotated, get_args

import typer

from lshfast._cli.check import CHECK_OPTIONS, check
from lshfast._cli.console import (
    finish,
    show,
)
from lshfast._cli.dedup import DEDUP_OPTIONS, PAIRS_OPTIONS, dedup, pairs
from lshfast._cli.errors import one_line_errors
from lshfast._cli.explain import explain_command
from lshfast._cli.fingerprints import fingerprints_app
from lshfast._cli.generated import add_command
from lshfast._cli.genomes import genomes_command
from lshfast._cli.images import images_command
from lshfast._cli.index import index_app
from lshfast._cli.label import label_command
from lshfast._cli.options import (
    Paths,
    Quiet,
    Threads,
    Threshold,
    given,
)
from lshfast._cli.overview import Overview
from lshfast._cli.passages import passages_command
from lshfast._cli.records import records_app
from lshfast._cli.stage import stage_app
from lshfast._cli.tune import TUNE_INPUTS, TUNE_OPTIONS, tune
from lshfast._cli.web import web_app
from lshfast._common.choices import DemoData
from lshfast._common.display import counted
from lshfast._common.version import VERSION

app: typer.Typer = typer.Typer(
    cls=Overview,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find and remove near-duplicate texts, exactly verified.",
    epilog="lshfast COMMAND -h lists the options of a command. lshfast demo needs no data.",
)

app.add_typer(index_app, name="index")
app.add_typer(records_app, name="records")
app.add_typer(web_app, name="web")
app.add_typer(fingerprints_app, name="fingerprints")
app.add_typer(stage_app, name="stage")


def app_for(arguments: list[str]) -> typer.Typer:
    """Return the application, with only the command or group that the arguments name: typer
    prepares all there are.
    """
    first = arguments[0] if arguments else ""
    commands = [
        info
        for info in app.registered_commands
        if first == (info.name or getattr(info.callback, "__name__", ""))
    ]
    groups = [info for info in app.registered_groups if first == info.name]
    if not commands + groups:
        return app
    one = copy(app)
    one.registered_commands = commands
    one.registered_groups = groups
    return one


add_command(app, "dedup", dedup, DEDUP_OPTIONS, inputs=Paths)
add_command(app, "pairs", pairs, PAIRS_OPTIONS, inputs=Paths)
app.command(name="explain", no_args_is_help=True)(explain_command)
add_command(app, "check", check, CHECK_OPTIONS, inputs=Paths)
app.command(name="label", no_args_is_help=True)(label_command)
app.command(name="passages", no_args_is_help=True)(passages_command)
app.command(name="genomes", no_args_is_help=True)(genomes_command)
app.command(name="images", no_args_is_help=True)(images_command)


add_command(app, "tune", tune, TUNE_OPTIONS, inputs=TUNE_INPUTS, optional_inputs=True)


@app.command()
def demo(
    context: typer.Context,
    data: Annotated[
        DemoData | None,
        typer.Argument(
            metavar="DATA",
            help="The data set: " + ", ".join(get_args(DemoData)) + ".",
            show_default=False,
        ),
    ] = None,
    threshold: Threshold = 0.5,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write a small data set to try commands on.

    DATA is written into a new folder of that name, and a command to begin with is printed. Without
    DATA, near-duplicates among the sources of Python's standard library are shown.
    """
    with one_line_errors():
        if data is not None:
            for option in given(
                context, {"threshold": threshold, "threads": threads, "quiet": quiet}
            ):
                raise ValueError(f"--{option} is for the demo without DATA")
            from lshfast._cli.demo_data import write_data

            print(write_data(data, Path(data)))
            return
        from lshfast._cli.demo import standard_library
        from lshfast._engine.executors.memory import dedup as dedup_texts
        from lshfast._engine.plan import make_plan

        plan = make_plan(threshold=threshold, threads=threads)
        names, texts = standard_library()
        count = counted(len(texts), "source file")
        show(
            f"{count} of this Python's standard library, word 5-grams, threshold {threshold:g}\n",
            sys.stdout,
        )
        result = dedup_texts(texts, threshold=plan.threshold, keys=names, threads=plan.threads)
        length = dict(zip(names, map(len, texts), strict=True))
        shown = sorted(result.removed, key=lambda removal: -length[removal.key])
        for removal in shown[:25]:
            print(f"{removal.similarity:.3f}  {removal.key}  is like  {removal.kept_key}")
        if len(shown) > 25:
            print(f"... and {len(shown) - 25:,} more")
        print()
        finish(result.summary, quiet)


def version(wanted: bool) -> None:
    if wanted:
        print(f"lshfast {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find and remove near-duplicate texts, exactly verified."""
