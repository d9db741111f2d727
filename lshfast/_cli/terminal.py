"""What commands need of the terminal (`lshfast._engine.options.command.Console`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from lshfast._cli.console import Watch, account_table, finish, show, width_of
from lshfast._cli.errors import memory_advice
from lshfast._cli.options import page_of
from lshfast._cli.questions import ask_key

if TYPE_CHECKING:
    from lshfast._common.display import Figure
    from lshfast._engine.account.display import Account
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.options.declaration import Options
    from lshfast._engine.pages.run_pages import PageOutput
    from lshfast._engine.plans import AnyPlan


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

    def ask(
        self, screen: Callable[[int, int], str], prompt: str, keys: Container[str]
    ) -> str:
        if self._watch is not None:
            self._watch.__exit__()  # no bars while a person answers
        return ask_key(screen, prompt, keys)

    def page(self, options: Options) -> PageOutput | None:
        return page_of(options)
