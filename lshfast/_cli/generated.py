"""Commands from declarations: the options of a command, its help, and the record that it runs with.

A command is a function of one record, and a list of options (`lshfast._engine.declaration`). The
short help, ``-h`` and ``--help``, shows the daily options; ``--help-all`` shows all.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from lshfast._cli.completion import columns
from lshfast._cli.errors import one_line_errors
from lshfast._engine.declaration import Option, Options
from lshfast._engine.options import OPTIONS

HELP_ALL = "help_all"


class GeneratedCommand(TyperCommand):
    """A command whose short help leaves out the options that are rarely needed."""

    def __init__(self, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self.rare: frozenset[str] = frozenset()

    def format_options(self, ctx: Any, formatter: Any) -> None:
        if HELP_ALL in ctx.meta or not self.rare:
            super().format_options(ctx, formatter)
            return
        parameters: list[Any] = [one for one in self.params if one.param_type_name == "option"]
        states = [(one, one.hidden, one.help) for one in parameters]
        for parameter in parameters:
            parameter.hidden = parameter.name in self.rare
            parameter.help = _first_clause(parameter.help or "")
        try:
            super().format_options(ctx, formatter)
        finally:
            for parameter, hidden, text in states:
                parameter.hidden = hidden
                parameter.help = text


def _first_clause(text: str) -> str:
    """Return what the short help says of an option: its help up to the first clause."""
    return re.split(r"; |\. (?!Default)", text.removesuffix("."), maxsplit=1)[0] + "."


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta[HELP_ALL] = True
        print(context.get_help())
        raise typer.Exit


def _parameter_of(option: Option) -> inspect.Parameter:
    """Return an option as a parameter of the function that the parser calls."""
    names = [option.shown if not option.negative else f"{option.shown}/{option.negative}"]
    if option.letter:
        names.insert(0, f"-{option.letter}")
    optional = option.default is None and not option.required
    value_type = str if option.parse else option.type
    declared = typer.Option(
        *names,
        metavar=option.metavar or None,
        help=option.help,
        show_default=option.default is not None and not option.required,
        autocompletion=columns if option.names_column else None,
        parser=option.parse,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.required else option.default,
        annotation=Annotated[value_type | None if optional else value_type, declared],
    )


def add_command(
    app: typer.Typer,
    name: str,
    run: Callable[[Options], None],
    options: Iterable[Option],
    *,
    inputs: Any = None,
    optional_inputs: bool = False,
) -> None:
    """Add a command that converts its options to a record and calls `run`, whose docstring is the
    help.

    Parameters
    ----------
    app : Typer
    name : str
    run : callable
    options : iterable of Option
        In the order of the help.
    inputs : annotation, optional
        The argument of the command, which the record has under this name.
    optional_inputs : bool, default False
    """
    options = list(options)
    declared = [Option("inputs", [], ""), *OPTIONS.values(), *options]
    parameters = [
        inspect.Parameter(
            "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
    ]
    if inputs is not None:
        parameters.append(
            inspect.Parameter(
                "inputs",
                inspect.Parameter.KEYWORD_ONLY,
                default=None if optional_inputs else inspect.Parameter.empty,
                annotation=inputs,
            )
        )
    parameters += sorted(map(_parameter_of, options), key=lambda one: one.default is not one.empty)
    every = typer.Option(
        "--help-all",
        help=f"Show all {len(options)} options.",
        is_eager=True,
        expose_value=False,
        callback=_show_all,
    )
    rare = frozenset(option.name for option in options if not option.daily)
    if rare:
        parameters.append(
            inspect.Parameter(
                HELP_ALL,
                inspect.Parameter.KEYWORD_ONLY,
                default=False,
                annotation=Annotated[bool, every],
            )
        )

    def command(context: typer.Context, **values: Any) -> None:
        with one_line_errors():
            sources = {name: context.get_parameter_source(name) for name in values}
            given = [name for name, source in sources.items() if source and source.name == GIVEN]
            run(Options(declared, values, given))

    command.__doc__ = run.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    app.command(name=name, cls=_class_with(rare), no_args_is_help=not optional_inputs)(command)


GIVEN = "COMMANDLINE"


def _class_with(rare: frozenset[str]) -> type[GeneratedCommand]:
    """Return a class of commands with these options left out of the short help."""

    class Command(GeneratedCommand):
        def __init__(self, *args: Any, **arguments: Any) -> None:
            super().__init__(*args, **arguments)
            self.rare = rare

    return Command
