"""Commands from declarations: the options of a command, its help, and the record that it runs with.

A command is a function of one record and the terminal, with a tuple of options
(`lshfast._engine.options.command`). The short help, ``-h`` and ``--help``, shows the daily options;
``--help-all`` shows all.
"""

from __future__ import annotations

import inspect
import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from lshfast._cli.completion import columns
from lshfast._cli.errors import Commands, one_line_errors
from lshfast._cli.terminal import Terminal
from lshfast._engine.options.command import Argument, Command, CommandGroup
from lshfast._engine.options.declaration import Option, Options
from lshfast._engine.options.declared import OPTIONS

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
        parameters: list[Any] = [
            one for one in self.params if one.param_type_name == "option"
        ]
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


# Characters of a help that is whole in the short help: about two lines of a terminal.
SHORT_HELP = 80


def _first_clause(text: str) -> str:
    """Return what the short help says of an option: its help, up to the first clause if it is
    long.
    """
    if len(text) <= SHORT_HELP:
        return text
    return re.split(r"; |\. (?!Default)", text.removesuffix("."), maxsplit=1)[0] + "."


def _show_all(context: typer.Context, is_wanted: bool) -> None:
    if is_wanted:
        context.meta[HELP_ALL] = True
        print(context.get_help())
        raise typer.Exit


def _parameter_of(option: Option) -> inspect.Parameter:
    """Return an option as a parameter of the function that the parser calls."""
    names = [
        option.shown if not option.negative else f"{option.shown}/{option.negative}"
    ]
    if option.letter:
        names.insert(0, f"-{option.letter}")
    optional = option.default is None and not option.required
    value_type = str if option.parse else option.type
    default = option.default
    if option.several:
        value_type = list[value_type]  # type: ignore[valid-type]
        default = [default]
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
        default=inspect.Parameter.empty if option.required else default,
        annotation=Annotated[value_type | None if optional else value_type, declared],
    )


def _parameter_of_argument(argument: Argument) -> inspect.Parameter:
    """Return an argument as a parameter of the function that the parser calls."""
    declared = typer.Argument(
        metavar=argument.metavar, help=argument.help, show_default=False
    )
    value_type = argument.type if argument.required else argument.type | None
    return inspect.Parameter(
        argument.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if argument.required else None,
        annotation=Annotated[value_type, declared],
    )


def add_group(app: typer.Typer, group: CommandGroup) -> None:
    """Add commands under one name."""
    below = typer.Typer(
        cls=Commands, no_args_is_help=True, rich_markup_mode=None, help=group.help
    )
    for command in group.commands:
        add_command(below, command)
    app.add_typer(below, name=group.name)


def add_command(app: typer.Typer, command: Command) -> None:
    """Add a command, which converts its options to a record and runs with it."""
    options = command.options
    not_given = [
        Option(argument.name, [] if argument.type == list[str] else None, "")
        for argument in command.arguments
    ]
    declared = [*OPTIONS.values(), *not_given, *options]
    parameters = [
        inspect.Parameter(
            "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
    ]
    parameters += map(_parameter_of_argument, command.arguments)
    parameters += sorted(
        map(_parameter_of, options), key=lambda one: one.default is not one.empty
    )
    all_option = typer.Option(
        "--help-all",
        help=f"Show all {len(options)} options.",
        is_eager=True,
        expose_value=False,
        callback=_show_all,
    )
    rare = frozenset(option.name for option in options if not option.daily)
    several_names = [option.name for option in options if option.several]
    if rare:
        parameters.append(
            inspect.Parameter(
                HELP_ALL,
                inspect.Parameter.KEYWORD_ONLY,
                default=False,
                annotation=Annotated[bool, all_option],
            )
        )

    def call(context: typer.Context, **values: Any) -> None:
        with one_line_errors():
            sources = {name: context.get_parameter_source(name) for name in values}
            named_options = [
                name
                for name, source in sources.items()
                if source and source.name == GIVEN
            ]
            for name in several_names:
                values[name] = (
                    values[name][0] if len(values[name]) == 1 else values[name]
                )
            record = Options(declared, values, named_options)
            command.run(record, Terminal(record.get("quiet", False)))

    call.__doc__ = command.help or command.run.__doc__
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    required = any(one.default is one.empty for one in parameters[1:])
    app.command(name=command.name, cls=_class_with(rare), no_args_is_help=required)(
        call
    )


GIVEN = "COMMANDLINE"


def _class_with(rare: frozenset[str]) -> type[GeneratedCommand]:
    """Return a class of commands with these options left out of the short help."""

    class CommandWithRareOptions(GeneratedCommand):
        def __init__(self, *args: Any, **arguments: Any) -> None:
            super().__init__(*args, **arguments)
            self.rare = rare

    return CommandWithRareOptions
