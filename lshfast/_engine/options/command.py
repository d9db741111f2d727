"""How a command is declared: what it takes, what it runs, and what it needs of the terminal.

A command is declared in the package whose work it starts. Such a package imports nothing of the
command line, which renders the declarations: a run gets its options as one record, and a `Console`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from lshfast._common.choices import PairMeasure
from lshfast._engine.options.declaration import Group, Option, Options
from lshfast._engine.options.declared import OPTIONS

if TYPE_CHECKING:
    from lshfast._common.display import Figure
    from lshfast._common.progress import Progress
    from lshfast._engine.account.display import Account
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.pages.run_pages import PageOutput
    from lshfast._engine.plan import AnyPlan


class Console(Protocol):
    """What a command needs of the terminal it runs in."""

    @property
    def quiet(self) -> bool:
        """Whether no progress and no closing table are wanted."""
        ...

    @property
    def width(self) -> int:
        """The columns of the terminal of standard error."""
        ...

    def watching(
        self,
        output: str | None = None,
        source: Inputs | None = None,
        plan: AnyPlan | None = None,
    ) -> AbstractContextManager[Progress]:
        """Show the progress that the block reports, unless it would mix with rows of `output`.

        With a source, a MemoryError of the block gets advice: what the plan needs of memory.
        """
        ...

    def finish(self, account: Account, figures: Iterable[Figure] | None = None) -> None:
        """Show the closing table of a run: these figures of the account, by default all."""
        ...

    def report(self, account: Account) -> None:
        """Show an account that is the answer of the command, unless it is to be quiet."""
        ...

    def show(self, text: str) -> None:
        """Print the answer of the command, on standard output."""
        ...

    def note(self, text: str) -> None:
        """Print what is no part of the answer, on standard error."""
        ...

    def advise(self, advice: str) -> None:
        """Print advice about the inputs of a run, which names its options, on standard error."""
        ...

    def ask(
        self, screen: Callable[[int, int], str], prompt: str, keys: Container[str]
    ) -> str:
        """Show a screen in the size of the terminal; return a pressed key, "" if input ends."""
        ...

    def page(self, options: Options) -> PageOutput | None:
        """Return the page of --html, with the command that repeats this run."""
        ...


@dataclass(frozen=True)
class Argument:
    """What a command takes by position."""

    name: str
    metavar: str
    help: str
    type: Any = list[str]
    required: bool = True


INPUTS = Argument(
    "inputs",
    "INPUT",
    ".jsonl, .csv, .tsv, .txt (also .gz, .zst, .bz2, .xz), .parquet, .arrow, .feather, folders, "
    "'patterns*', URLs, - (stdin).",
)

Run: TypeAlias = Callable[[Options, Console], None]


@dataclass(frozen=True)
class Command:
    """A command: its name, what it runs, and what it takes; the docstring of `run` is its help.

    The options are in the order of the help, under their headings. `examples` are commands with
    which the help ends.
    """

    name: str
    run: Run
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...] = (INPUTS,)
    help: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one name."""

    name: str
    help: str
    commands: tuple[Command, ...]


QUIET = Option(
    "quiet",
    False,
    "Print no progress and no closing table.",
    bool,
    letter="q",
    daily=True,
    heading="Help",
)


def options_named(*names: str) -> tuple[Option, ...]:
    """Return options of a deduplication, which other commands take as well."""
    return tuple(OPTIONS[name] for name in names)


def daily_option(
    name: str, default: Any, help: str, type: Any = str, **fields: Any
) -> Option:
    """Return an option that the short help shows."""
    return Option(name, default, help, type, daily=True, **fields)


def file_option(
    name: str, help: str, type: Any = str, group: Group = "output"
) -> Option:
    """Return a daily option for the path of a file; of several with ``list[str]``."""
    return daily_option(name, None, help, type, metavar="FILE", group=group)


def output_option(help: str, metavar: str = "OUT", *, required: bool = True) -> Option:
    """Return the option -o of a command."""
    return Option(
        "output",
        None,
        help,
        group="output",
        letter="o",
        metavar=metavar,
        required=required,
        daily=True,
    )


# How tables and texts are read, by all commands that read them.
READING = options_named(
    "glob", "encoding", "format", "max_row_bytes", "zstd_window", "delimiter"
)

# Of commands that compare texts alone.
LEAST_SIMILARITY = replace(
    OPTIONS["threshold"], default=0.8, help="Least similarity, in (0, 1]."
)
MEASURE_OF_TEXTS = replace(
    OPTIONS["measure"],
    default="jaccard",
    help="jaccard; or containment: how much of the shorter text the longer one contains.",
    type=PairMeasure,
    metavar="",
)
