"""What commands need of the terminal (`lshfast._engine.options.command.Console`)."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO

from lshfast._cli.console import (
    Watch,
    account_table,
    advice_line,
    finish,
    say,
    show,
    width_of,
)
from lshfast._cli.errors import memory_advice
from lshfast._common.visible import without_secrets

if TYPE_CHECKING:
    from lshfast._common.display import Figure
    from lshfast._engine.account.display import Account
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.options.declaration import Options
    from lshfast._engine.pages.run_pages import PageOutput
    from lshfast._engine.plan import AnyPlan


# The size of a screen without a terminal, and the most columns of one.
WIDTH = 80
HEIGHT = 40
MOST_COLUMNS = 120


class Terminal:
    """The standard streams of this process, for the command that runs."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._watch: Watch | None = None

    @property
    def width(self) -> int:
        return width_of(sys.stderr)

    @contextmanager
    def watching(
        self,
        output: str | None = None,
        source: Inputs | None = None,
        plan: AnyPlan | None = None,
    ) -> Iterator[Watch]:
        advice = nullcontext() if source is None else memory_advice(source, plan)
        with advice, Watch(self.quiet, output) as self._watch:
            yield self._watch

    def finish(self, account: Account, figures: Iterable[Figure] | None = None) -> None:
        finish(account, self.quiet, figures)

    def report(self, account: Account) -> None:
        if not self.quiet:
            show(account_table(account), sys.stdout)

    def show(self, text: str) -> None:
        show(text, sys.stdout)

    def note(self, text: str) -> None:
        show(text, sys.stderr)

    def advise(self, advice: str) -> None:
        self._end_bars()
        show(advice_line(advice), sys.stderr)

    def ask(
        self, screen: Callable[[int, int], str], prompt: str, keys: Container[str]
    ) -> str:
        self._end_bars()
        return ask_key(screen, prompt, keys)

    def _end_bars(self) -> None:
        """Show no bars of progress any more, below which a person reads and answers."""
        if self._watch is not None:
            self._watch.__exit__()

    def page(self, options: Options) -> PageOutput | None:
        from lshfast._engine.pages.run_pages import page_output

        return page_output(options, command_line(sys.argv))


def command_line(arguments: list[str]) -> str:
    """Return the arguments of this process as a command for a shell, without the secrets of
    URLs.
    """
    return shlex.join(["lshfast", *map(without_secrets, arguments[1:])])


def ask_key(
    screen: Callable[[int, int], str], prompt: str, keys: Container[str]
) -> str:
    """Show a screen on standard error, and return the key that is typed; "" at the end.

    Keys that mean nothing are asked for again.
    """
    columns, lines = WIDTH, HEIGHT
    if sys.stderr.isatty():
        columns, lines = shutil.get_terminal_size((WIDTH, HEIGHT))
    say(screen(min(columns, MOST_COLUMNS), lines), sys.stderr)
    while True:
        key = read_key(sys.stdin, prompt, keys)
        if not key or key in keys:
            return key


def read_key(stream: TextIO, prompt: str, keys: Container[str]) -> str:
    """Ask for one key from a terminal, or for the first character of a line; "" at the end.

    What was typed before the question is shown is discarded.
    """
    if not stream.isatty() or sys.platform == "win32":
        print(prompt, end="", file=sys.stderr, flush=True)
        line = stream.readline()
        return line and (line.strip().lower()[:1] or "\n")
    import termios
    import tty

    number = stream.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number)
        print(prompt, end="", file=sys.stderr, flush=True)
        key = os.read(number, 1).decode("utf-8", "replace").lower()
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
    print(key if key in keys and key.isprintable() else "", file=sys.stderr)
    return key
