"""The application: the commands, each from the module that declares it.

A module is imported when its command is called, and all of them for the overview.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Annotated, Any

import typer

from lshfast._cli.generated import add_command, add_group
from lshfast._cli.overview import Overview
from lshfast._common.version import VERSION
from lshfast._engine.options.command import Command, CommandGroup

# The modules that declare the commands, in their tuples COMMANDS.
MODULES = {
    "index": "lshfast._cli.index",
    "records": "lshfast.records.command",
    "web": "lshfast.web.command",
    "fingerprints": "lshfast.fingerprints.command",
    "stage": "lshfast._cli.stage",
    "dedup": "lshfast._cli.dedup",
    "pairs": "lshfast._cli.dedup",
    "explain": "lshfast._cli.explain",
    "check": "lshfast.quality.check_command",
    "label": "lshfast.records.labelling.command",
    "passages": "lshfast.passages.command",
    "genomes": "lshfast.genomes.command",
    "images": "lshfast.images.command",
    "tune": "lshfast._cli.tune",
    "demo": "lshfast._cli.demo",
}


def declared(name: str) -> Command | CommandGroup:
    """Import the declaration of a command or group."""
    module: Any = importlib.import_module(MODULES[name])
    by_name: dict[str, Command | CommandGroup] = {
        one.name: one for one in module.COMMANDS
    }
    return by_name[name]


def application(names: list[str]) -> typer.Typer:
    """Return an application with some commands."""
    command_group = typer.Typer(
        cls=Overview,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 120,
        },
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Find and remove near-duplicate texts, exactly verified.",
        epilog="lshfast COMMAND -h lists the options of a command. lshfast demo needs no data.",
    )
    command_group.callback()(root)
    for command in map(declared, names):
        if isinstance(command, CommandGroup):
            add_group(command_group, command)
        else:
            add_command(command_group, command)
    return command_group


@cache
def whole_application() -> typer.Typer:
    """Return the application with all commands."""
    return application(list(MODULES))


def app_for(arguments: list[str]) -> typer.Typer:
    """Return the application, with only the command or group that the arguments name: to prepare
    all of them takes 0.3 s.
    """
    if arguments and arguments[0] in MODULES:
        return application(arguments[:1])
    return whole_application()


def __getattr__(name: str) -> typer.Typer:
    """Return `app`, the whole application, which takes time to prepare."""
    if name == "app":
        return whole_application()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"lshfast {VERSION}")
        raise typer.Exit


def root(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find and remove near-duplicate texts, exactly verified."""
