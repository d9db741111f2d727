"""How an option is declared, and what follows from its declaration.

An option is declared once, in `lshfast._engine.options.declared` or beside the verb that alone has
it. From the declaration come the record that travels (`Options`), the command line and its help,
the signatures of functions, the table in the docs, and the refusals.
"""

from __future__ import annotations

import difflib
from collections.abc import (
    Callable,
    Collection,
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from lshfast._common.choices import Kind

Driver: TypeAlias = Literal["memory", "files", "cap", "stages", "spark"]
Group: TypeAlias = Literal["input", "plan", "output", "run"]
Verb: TypeAlias = Literal["dedup", "pairs", "check", "tune"]

# The headings of the help, in their order, and those of groups. The options of a verb alone, which
# name no group, come first.
OWN_HEADING = "Options"
HEADINGS = (
    OWN_HEADING,
    "Inputs",
    "What is similar",
    "Which row stays",
    "Outputs",
    "Large runs",
    "Advanced",
    "Help",
)
HEADING_OF_GROUP: Mapping[Group, str] = {
    "input": "Inputs",
    "plan": "What is similar",
    "output": "Outputs",
    "run": OWN_HEADING,
}

EVERY_DRIVER: tuple[Driver, ...] = get_args(Driver)
EVERY_VERB: tuple[Verb, ...] = get_args(Verb)


@dataclass(frozen=True)
class Option:
    """An option.

    Attributes
    ----------
    name : str
        The name in Python; on the command line, hyphens take the place of underscores.
    default : object
    help : str
        One sentence.
    type : type or Literal
        The type of its values; None stands for an option that is not given.
    group : {"input", "plan", "output", "run"}
        What it is about: reading, what is found, what is written, or how it runs.
    verbs : tuple of str
        The commands that take it.
    daily : bool
        Whether the short help shows it.
    drivers : tuple of str
        The ways of running that take it.
    off_only : tuple of str
        Those of them that take only False.
    without : mapping of str to str
        For ways of running that do not take it: why, or what is there instead.
    kinds : tuple of str
        The kinds of items for which it means something.
    spelling : str
        The name on the command line, if it is another word than in Python.
    negative : str
        The name on the command line that turns it off.
    letter : str
        A short name on the command line, such as -o.
    metavar : str
        What the help shows for the value.
    names_column : bool
        Whether the value is a column of the inputs, which shells complete.
    parse : callable, optional
        Converts the text of the command line.
    required : bool
        Whether it must be given.
    several : bool
        Whether the command line takes it several times, for a tuple of values.
    heading : str
        The heading under which the help has it, of HEADINGS, if it is not that of its group.
    """

    name: str
    default: Any
    help: str
    type: Any = str
    group: Group = "run"
    verbs: tuple[Verb, ...] = EVERY_VERB
    daily: bool = False
    drivers: tuple[Driver, ...] = EVERY_DRIVER
    off_only: tuple[Driver, ...] = ()
    without: Mapping[Driver, str] = field(default_factory=dict, hash=False)
    kinds: tuple[Kind, ...] = get_args(Kind)
    spelling: str = ""
    negative: str = ""
    letter: str = ""
    metavar: str = ""
    names_column: bool = False
    parse: Callable[[object], Any] | None = None
    required: bool = False
    several: bool = False
    heading: str = ""

    @property
    def section(self) -> str:
        """The heading under which the help has it."""
        return self.heading or HEADING_OF_GROUP[self.group]

    @property
    def shown(self) -> str:
        """The option as users write it on the command line; one letter has one hyphen."""
        name = self.spelling or self.name.replace("_", "-")
        return f"-{name}" if len(name) == 1 else f"--{name}"


class Options(Mapping[str, Any]):
    """The options of a run: a record that does not change, with a value for each declared name.

    Values are attributes and items. An option that was not given, or is None, has its default.

    Examples
    --------
    >>> threshold = Option("threshold", None, "Least similarity.", float)
    >>> unit = Option("unit", "word", "What shingles are made of.")
    >>> options = Options([threshold, unit], {"threshold": 0.7, "unit": None})
    >>> options.threshold, options.unit, sorted(options.given)
    (0.7, 'word', ['threshold'])
    """

    given: frozenset[str]
    _values: dict[str, Any]

    def __init__(
        self,
        declared: Iterable[Option],
        values: Mapping[str, Any],
        given_by_user: Iterable[str] | None = None,
    ) -> None:
        all_values = {option.name: option.default for option in declared}
        given_names = set(given_by_user or ())
        for name, value in values.items():
            if value is not None:
                all_values[name] = value
                if given_by_user is None:
                    given_names.add(name)
        # As attributes too, so that reading one calls no function.
        self.__dict__.update(
            all_values, _values=all_values, given=frozenset(given_names)
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"options do not change: {name}")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no option {name}")

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def items(self) -> ItemsView[str, Any]:
        """Return the names and the values."""
        return self._values.items()

    def with_(self, **further: Any) -> Options:
        """Return these options and further values."""
        changed = Options([], {}, self.given)
        changed._values.update(self._values, **further)
        changed.__dict__.update(changed._values)
        return changed

    def picked(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the options that have one of these names."""
        values = self._values
        return {name: values[name] for name in names if name in values}


def check_names(function: str, names: Iterable[str], declared: Collection[str]) -> None:
    """Raise TypeError if a name is none of the declared ones; the error has the nearest one.

    Examples
    --------
    >>> check_names("dedup_files", ["treshold"], ["threshold", "unit"])
    Traceback (most recent call last):
    ...
    TypeError: dedup_files() has no option 'treshold'; did you mean 'threshold'?
    """
    for name in names:
        if name not in declared:
            nearest = difflib.get_close_matches(name, declared, 1)
            question = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise TypeError(f"{function}() has no option {name!r}{question}")
