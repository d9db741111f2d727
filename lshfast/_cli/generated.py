"""Commands from declarations: the options of a command, its help, and the record that it runs with.

A command is a function of one record and the terminal, with a tuple of options
(`lshfast._engine.options.command`). The short help, ``-h`` and ``--help``, shows the daily options;
``--help-all`` shows all.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

import typer
from typer.core import TyperCommand

from lshfast._cli.completion import columns
from lshfast._cli.errors import Commands, one_line_errors
from lshfast._cli.terminal import Terminal
from lshfast._engine.options.command import Argument, Command, CommandGroup
from lshfast._engine.options.declaration import (
    HEADINGS,
    OWN_HEADING,
    Option,
    Options,
)
from lshfast._engine.options.declared import OPTIONS

HELP_ALL = "help_all"


class GeneratedCommand(TyperCommand):
    """A command whose short help leaves out the options that are rarely needed."""

    # The options by name, and the examples, of the declaration.
    declared: ClassVar[Mapping[str, Option]]
    examples: ClassVar[tuple[str, ...]]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the line of usage: [OPTIONS] INPUT... [KEY]."""
        pieces = [self.options_metavar] if self.options_metavar else []
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
                name = parameter.make_metavar(ctx)
                name += "..." if parameter.nargs == -1 else ""
                pieces.append(name if parameter.required else f"[{name}]")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[HelpRow]] = {}
        for parameter in self.get_params(ctx):
            row = self._row_of(parameter, ctx)
            if row is not None:
                rows.setdefault(self.heading_of(parameter), []).append(row)
        if len(rows.keys() - {ARGUMENTS, HELP}) < FEWEST_HEADINGS:
            rows = _under_one_heading(rows)
        arguments = rows.pop(ARGUMENTS, None)
        if arguments:
            with formatter.section(ARGUMENTS):
                formatter.write_dl(arguments)
        width = max(len(name) for section in rows.values() for name, _ in section)
        for heading in HEADINGS:
            if heading in rows:
                with formatter.section(heading):
                    formatter.write_dl(_as_wide(rows[heading], width))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        super().format_epilog(ctx, formatter)

    def heading_of(self, parameter: Any) -> str:
        """Return the heading of the help under which a parameter stands."""
        if parameter.param_type_name == "argument":
            return ARGUMENTS
        option = self.declared.get(parameter.name)
        return HELP if option is None else option.section

    def _row_of(self, parameter: Any, ctx: Any) -> HelpRow | None:
        """Return the names of a parameter and its help; None if the help leaves it out."""
        option = self.declared.get(parameter.name)
        whole_help = parameter.help
        if option is not None and self.has_rare and HELP_ALL not in ctx.meta:
            if not option.daily:
                return None
            parameter.help = _first_clause(whole_help or "")
        try:
            row: HelpRow | None = parameter.get_help_record(ctx)
        finally:
            parameter.help = whole_help
        return row

    @property
    def has_rare(self) -> bool:
        """Whether the short help leaves out options."""
        return any(not option.daily for option in self.declared.values())


# The names of an option, and its help.
HelpRow: TypeAlias = tuple[str, str]

ARGUMENTS = "Arguments"
HELP = HEADINGS[-1]

# A help with fewer headings has one for all options.
FEWEST_HEADINGS = 3

# The most columns of the names of options, as click has them.
NAME_COLUMNS = 30


def _under_one_heading(rows: Mapping[str, list[HelpRow]]) -> dict[str, list[HelpRow]]:
    """Return the rows with all options under one heading."""
    options = [row for heading in HEADINGS for row in rows.get(heading, ())]
    sections = {ARGUMENTS: rows.get(ARGUMENTS, []), OWN_HEADING: options}
    return {heading: section for heading, section in sections.items() if section}


def _as_wide(rows: list[HelpRow], width: int) -> list[HelpRow]:
    """Return rows whose second column begins where that of other sections does."""
    (name, text), *other_rows = rows
    return [(name.ljust(min(width, NAME_COLUMNS)), text), *other_rows]


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
    several_names = [option.name for option in options if option.several]
    parameters = _parameters_of(command)

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
    app.command(name=command.name, cls=_class_of(command), no_args_is_help=required)(
        call
    )


def _parameters_of(command: Command) -> list[inspect.Parameter]:
    """Return the parameters of the function of a command: its context, arguments and options."""
    options = command.options
    parameters = [
        inspect.Parameter(
            "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
    ]
    parameters += map(_parameter_of_argument, command.arguments)
    parameters += sorted(
        map(_parameter_of, options), key=lambda one: one.default is not one.empty
    )
    if not all(option.daily for option in options):
        all_option = typer.Option(
            "--help-all",
            help=f"Show all {len(options)} options.",
            is_eager=True,
            expose_value=False,
            callback=_show_all,
        )
        parameters.append(
            inspect.Parameter(
                HELP_ALL,
                inspect.Parameter.KEYWORD_ONLY,
                default=False,
                annotation=Annotated[bool, all_option],
            )
        )
    return parameters


GIVEN = "COMMANDLINE"


def _class_of(command: Command) -> type[GeneratedCommand]:
    """Return the class of a command, which has its declaration."""

    class DeclaredCommand(GeneratedCommand):
        declared: ClassVar = {option.name: option for option in command.options}
        examples = command.examples

    return DeclaredCommand
