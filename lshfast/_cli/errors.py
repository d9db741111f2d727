"""Errors of the command line: one line on standard error, and the exit status."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from lshfast._cli.console import interruption, say
from lshfast._common.errors import DataError, FormatError, TooManyRemovedError
from lshfast._common.nearest import nearest
from lshfast._common.startup import CLOSED_PIPE
from lshfast._common.visible import printable

if TYPE_CHECKING:
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.plan import AnyPlan

# The status of a run that ends because it would have removed too many rows.
TOO_MANY_REMOVED = 3

# The options of the command that runs: messages of the library name options that it may lack.
own_options: ContextVar[frozenset[str] | None] = ContextVar("own_options", default=None)

# An option as messages of the library name it, such as ``column (--column)``.
_IN_PARENTHESES = re.compile(r" \((--[a-z][a-z-]*)[^()]*\)")

# The errors of the parser. Some versions of typer have click's class, others their own, which they
# do not name.
UsageError: Any = typer.BadParameter.__base__


@contextmanager
def one_line_errors(stream: Any = None) -> Iterator[None]:
    """Print errors in one line: exit status 2 for wrong usage, 1 for errors of data or system.

    A run that would have removed too many rows has a status of its own.
    """

    def leave(message: object, status: int, usage: bool = False) -> typer.Exit:
        line = " ".join(str(message).split())
        if not usage:
            line = with_own_options(line)
        say(f"lshfast: error: {line}{next_step(line)}", stream or sys.stderr)
        return typer.Exit(status)

    try:
        yield
    except typer.Exit:
        raise
    except UsageError as error:
        # A command without arguments shows its help.
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise leave(usage_message(error), 2, usage=True) from None
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED_PIPE) from None
    except (Exception, KeyboardInterrupt) as error:
        end = _end_of(error)
        if end is None:
            raise
        raise leave(*end) from None


def _end_of(error: BaseException) -> tuple[str, int] | None:
    """Return the message and the exit status of an error; None for a fault of the program."""
    for kinds, status, message in ENDS:
        if isinstance(error, kinds):
            return message(error), status
    end = None
    if isinstance(error, INTERRUPTIONS):
        end = interruption(error)
        if end is None and not isinstance(error, SystemError):
            end = str(error) or type(error).__name__, 1
        elif end is None and WITHOUT_REASON.search(str(error)):
            end = f"a C library failed, probably for lack of memory: {error}", 1
        elif end is None and isinstance(error.__cause__, MemoryError):
            return _end_of(error.__cause__)  # numpy returned a result all the same
    return end


def _of_system(error: Any) -> str:
    from lshfast._io.files import reason_of  # it needs numpy

    if error.filename is not None and error.strerror:
        return f"{error.filename}: {reason_of(error)}"
    return str(error) or type(error).__name__


# What Python says of a C library that gives no reason for its failure, as numpy does if memory is
# refused within a reduction.
WITHOUT_REASON = re.compile(r"(?:error return|returned NULL) without .*exception")


def _of_existing(error: FileExistsError) -> str:
    """Return the message of a file that exists, with the option in place of the argument."""
    return str(error).replace("overwrite=True", "--overwrite")


INTERRUPTIONS = KeyboardInterrupt, SystemError, RuntimeError, OverflowError

# The first that an error is one of: its exit status, and its message.
ENDS: tuple[tuple[tuple[type[Exception], ...], int, Callable[[Any], str]], ...] = (
    ((DataError, FormatError), 1, str),
    ((TooManyRemovedError,), TOO_MANY_REMOVED, str),
    ((FileExistsError,), 2, _of_existing),
    ((ValueError, TypeError, ImportError), 2, str),
    ((OSError,), 1, _of_system),
    ((MemoryError,), 1, lambda error: str(error) or "out of memory"),
)


# The words of click, and of later versions of Typer, before a value that is no number.
NOT_A_NUMBER = r"(?:as a number|for '[^']+'): "

# Advice for errors of the library that know neither percents nor commands.
NEXT_STEPS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (
        r"must be in (?:\(0, 1[])]|\[0, 1]|0\.\.1), not (\d+)(?:\.0+)?$",
        lambda found: _percent(float(found[1])),
    ),
    (NOT_A_NUMBER + r"'(\d*),(\d+)'", lambda found: f"; write {found[1]}.{found[2]}"),
    (NOT_A_NUMBER + r"'(\d+(?:\.\d+)?) ?%'", lambda found: _percent(float(found[1]))),
    (
        r"(: an empty file; FASTA and FASTQ have at least one record|proteins \(amino acids\): "
        r".*|: FASTQ: .*|:(?: row )?[0-9]+: id column '.*' is missing, null or empty)$",
        lambda _: "; --on-error skip leaves it out",
    ),
    (
        r"header: not an index of lshfast$",
        lambda _: "; lshfast index build INPUT -o FILE.lsh makes one",
    ),
)


def next_step(message: str) -> str:
    """Return the advice for an error, as the end of its message; "" if the message has it.

    Examples
    --------
    >>> next_step("threshold must be in (0, 1], not 80.0")
    '; 80 % is 0.8'
    """
    for pattern, step in NEXT_STEPS:
        match = re.search(pattern, message)
        if match:
            return step(match)
    return ""


def _percent(value: float) -> str:
    return f"; {value:g} % is {value / 100:g}" if 1 < value <= 100 else ""


# Options of runs that a command does not have, and what to do instead.
INSTEAD = {
    (
        "check",
        "--memory",
    ): "a run finds the same with and without it; if the rows do not fit, check some of the files",
    (
        "check",
        "--exact",
    ): "such a run finds all pairs, and lshfast check counts them; its recall is 1",
    (
        "check",
        "--against",
    ): "an index holds no texts; give the files that it was made of as further inputs",
    ("check", "--verify"): "the table has the precision of a run with --verify none",
    (
        "check",
        "--engine",
    ): "Spark finds the same pairs, so check a part of the files on one machine",
}


def usage_message(error: Any) -> str:
    """Return the message of a usage error, with the value and the command that shows help."""
    option = getattr(error, "option_name", None)
    context = getattr(error, "ctx", None)
    if option is not None and context is not None:
        instead = INSTEAD.get((context.command.name, option))
        if instead:
            return f"{option} is not an option of lshfast {context.command.name}: {instead}"
        if context.command_path.endswith("stage plan"):
            reason = _reason_without_stages(option)
            if reason:
                return f"{option} is not an option of lshfast stage plan: {reason}"
    if option is None:
        text = error.format_message()
    else:
        text = f"{error.message}{nearest_option(option, context)}"
    text = text.rstrip(".").replace(": Value error, ", ": ")
    # Typer names the value only in the cause of its own error.
    with suppress(AttributeError, LookupError):
        value = repr(error.__cause__.errors()[0]["input"])
        text += "" if value in text else f": {value}"
    return (
        text if error.ctx is None else f"{text} (see {error.ctx.command_path} --help)"
    )


def _reason_without_stages(shown: str) -> str:
    """Return why stages lack an option of `lshfast dedup`; "" for others."""
    from lshfast._engine.options.declared import ENGINE, MASTER, OPTIONS

    for option in (*OPTIONS.values(), ENGINE, MASTER):
        if shown in (option.shown, option.negative):
            return option.without.get("stages", "")
    return ""


# Options for the least nearness of a pair; a command has some of them.
BOUNDS = ("--threshold", "--radius", "--ani")


def nearest_option(name: str, context: Any) -> str:
    """Return a question with the options that `name` may stand for, as the end of a message."""
    options = (
        [option for parameter in context.command.params for option in parameter.opts]
        if context
        else []
    )
    bounds = [option for option in BOUNDS if option in options]
    if name in BOUNDS and bounds:
        similar_options = bounds
    elif name.startswith("--"):
        similar_options = nearest(name, options, 0.7)
    else:  # a letter, which few options have
        similar_options = [
            option for option in options if option.startswith(f"-{name}")
        ]
    if similar_options:
        return f". Did you mean {' or '.join(similar_options)}?"
    if context and context.parent is None and name not in ("-h", "--help"):
        return ". Options of a command come after its name: lshfast COMMAND OPTIONS"
    return ""


# Names that newcomers may try for a command.
OTHER_NAMES = {
    "search": "index query",
    "find": "pairs",
    "link": "records match",
    "cluster": "dedup",
    "help": "--help",
    "version": "--version",
}


class Commands(TyperGroup):
    """Commands whose usage errors and interrupts are reported in one line."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            resolved = super().resolve_command(ctx, args)
            own_options.set(frozenset(options_below(resolved[1])))
        except UsageError as error:
            if "Did you mean" not in error.message:
                error.message = f"{error.message.rstrip('.')}{self._meant(args[0])}"
            raise
        _refuse_repeated(ctx, resolved[1], resolved[2])
        return resolved

    def _meant(self, name: str) -> str:
        """Return a question with the command that an unknown word may stand for."""
        inner = [
            f"{group} {name}"
            for group, command in self.commands.items()
            if name in getattr(command, "commands", ())
        ]
        if not inner and name in OTHER_NAMES and "index" in self.commands:
            inner = [OTHER_NAMES[name]]
        if inner:
            return f". Did you mean {' or '.join(f'lshfast {command}' for command in inner)}?"
        if os.path.exists(name) and "dedup" in self.commands:
            return f". A command comes first: lshfast dedup {shlex.quote(name)} -o OUT"
        return f". There are {', '.join(self.commands)}"

    def make_context(self, *args: Any, **options: Any) -> Any:
        with one_line_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


def _refuse_repeated(ctx: Any, command: Any, arguments: list[str]) -> None:
    """Raise a usage error if an option of one value is given twice: the first would be ignored."""
    if getattr(command, "commands", None):
        return
    parser = command.make_parser(ctx)
    # A group's parser stops at the name of its command.
    parser.allow_interspersed_args = True
    try:
        _, _, parameters = parser.parse_args(args=list(arguments))
    except UsageError:
        return  # the command raises it, with its own context
    for parameter, count in Counter(parameters).items():
        single = parameter.param_type_name == "option" and not parameter.multiple
        if single and count > 1 and not parameter.is_flag:
            name = max(parameter.opts, key=len)
            raise UsageError(f"{name} takes one value, and is given {count} times", ctx)


@contextmanager
def memory_advice(inputs: Inputs, plan: AnyPlan | None = None) -> Iterator[None]:
    """Add to a MemoryError the memory that the run needs, and the options that reduce it."""
    try:
        yield
    except MemoryError as error:
        text = str(error) or "out of memory"
        cause: BaseException | None = error
        while cause is not None:  # the variables of the run's functions hold its memory
            traceback.clear_frames(cause.__traceback__)
            cause = cause.__context__
        raise MemoryError(f"{text}{needs(inputs, plan)}") from None
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        raise MemoryError(
            "out of memory or of processes while starting a thread; fewer --threads need less"
        ) from None


@contextmanager
def resume_advice(work: str | None) -> Iterator[None]:
    """Print that a run can be resumed, if it ends early and its work folder holds something.

    A ValueError says that the options, the inputs or the folder are wrong: the same command would
    raise it again.
    """
    try:
        yield
    except (OSError, MemoryError, RuntimeError, KeyboardInterrupt) as error:
        other = (
            " and another --max-removed"
            if isinstance(error, TooManyRemovedError)
            else ""
        )
        with suppress(OSError):
            if work is not None and any(
                name.endswith(".data") for name in os.listdir(work)
            ):
                say(
                    f"lshfast: {printable(work)} holds what is done; the same command with "
                    f"--resume{other} goes on",
                    sys.stderr,
                )
        raise


def needs(inputs: Inputs, plan: AnyPlan | None) -> str:
    """Return the estimated memory of a run, and advice, as the end of a message."""
    memory = getattr(plan, "memory", None)
    if memory is None:
        return "; fewer --threads need less"
    advice = (
        "a smaller --num-perm and fewer --threads need less, and `lshfast tune INPUT` shows "
        "what takes how much"
    )
    with suppress(Exception):  # there may be too little memory even for that
        from lshfast._engine.budget import bytes_of_values
        from lshfast._engine.inputs import measure_inputs

        corpus = inputs.sample()
        rows, nbytes = measure_inputs(corpus)
        total = sum(memory(rows, nbytes, corpus.held).values()) + bytes_of_values(
            corpus.by, rows
        )
        return f"; the run needs about {total / 1e6:,.0f} MB in all: {advice}"
    return f"; {advice}"


def options_below(command: Any) -> Iterator[str]:
    """Yield the options of a command and of all commands below it."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for below in getattr(command, "commands", {}).values():
        yield from options_below(below)


def with_own_options(message: str) -> str:
    """Return a message of the library without options, as ``(--column)``, that the command lacks.

    Advice after a semicolon is dropped with its option, unless it names a command; elsewhere the
    parentheses are.
    """
    options = own_options.get()
    if options is None:
        return message

    def is_own(clause: str) -> bool:
        return "lshfast " in clause or options.issuperset(
            _IN_PARENTHESES.findall(clause)
        )

    first, *advice = message.split("; ")
    first = _IN_PARENTHESES.sub(
        lambda found: found[0] if found[1] in options else "", first
    )
    return "; ".join([first, *filter(is_own, advice)])
