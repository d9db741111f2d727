"""What follows from the declared options: which a way of running takes and refuses, and their
table.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, get_args

from lshfast._common.choices import Kind, plural
from lshfast._engine.options.declaration import (
    EVERY_DRIVER,
    Driver,
    Option,
    Options,
    Verb,
    check_names,
)
from lshfast._engine.options.declared import NAMES, OPTIONS
from lshfast._engine.options.details import DETAILS


def taken_by(*drivers: Driver) -> list[str]:
    """Return the names of the options that one of these ways of running takes, in their order.

    Examples
    --------
    >>> sorted(set(taken_by("files")) - set(taken_by("spark")))[:3]
    ['annotate', 'changes', 'clusters']
    """
    return [
        name for name, option in OPTIONS.items() if set(option.drivers) & set(drivers)
    ]


def refuse(driver: Driver, names: Iterable[str], command: str = "dedup") -> None:
    """Raise ValueError if an option that was given is not one of a way of running.

    The error names the way of running, with `command` in the place of dedup.

    Examples
    --------
    >>> refuse("spark", ["threshold", "work"], "pairs")
    Traceback (most recent call last):
    ...
    ValueError: work is not an option of lshfast pairs --engine spark: Spark's configuration ...
    """
    for name in names:
        if driver not in OPTIONS[name].drivers:
            raise ValueError(refusal(driver, name, command))


def refusal(driver: Driver, name: str, command: str = "dedup") -> str:
    """Return the message that a way of running does not take an option, with the reason."""
    name_of_driver = NAMES[driver].replace("lshfast dedup", f"lshfast {command}")
    return (
        f"{name} is not an option of {name_of_driver}: {OPTIONS[name].without[driver]}"
    )


def refuse_for_kind(kind: Kind, options: Mapping[str, Any]) -> None:
    """Raise ValueError if an option that is not for a kind differs from its default.

    Examples
    --------
    >>> refuse_for_kind("vector", {"threshold": 0.9, "size": None, "unit": "char"})
    Traceback (most recent call last):
    ...
    ValueError: unit is for texts, not for vectors
    """
    for name, value in options.items():
        option = OPTIONS.get(name)
        if option is None:
            continue
        if kind not in option.kinds and value != option.default:
            kinds = " and ".join(map(plural, option.kinds)).replace(
                " and ", ", ", len(option.kinds) - 2
            )
            raise ValueError(f"{name} is for {kinds}, not for {plural(kind)}")


def table() -> str:
    """Return the table of options and ways of running in Markdown."""
    lines = [
        f"| | {' | '.join(f'`{NAMES[driver]}`' for driver in EVERY_DRIVER)} |",
        f"|---|{'---|' * len(EVERY_DRIVER)}",
    ]
    for option in OPTIONS.values():
        if option.drivers != EVERY_DRIVER or option.off_only:
            lines.append(
                f"| `{option.shown}` | "
                f"{' | '.join(_cell(option, driver) for driver in EVERY_DRIVER)} |"
            )
    return "\n".join(lines) + "\n"


def _cell(option: Option, driver: Driver) -> str:
    """Return the cell of an option and a way of running in the table."""
    if driver in option.off_only:
        return f"`{option.shown.replace('--', '--no-', 1)}`"
    return "yes" if driver in option.drivers else ""


def taken_by_verb(verb: Verb, *drivers: Driver) -> list[Option]:
    """Return the options of a command in their order, in all or in some ways of running."""
    return [
        option
        for option in OPTIONS.values()
        if verb in option.verbs and (not drivers or set(option.drivers) & set(drivers))
    ]


@dataclass(frozen=True)
class Takes:
    """The options that a function takes: the options of a command in ways of running."""

    verb: Verb
    drivers: tuple[Driver, ...]
    without: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    # Whether None stands for the default of each option, which an index may determine.
    none_is_default: bool = False
    # An option that is always given: ways of running that refuse it are refused for its reason.
    always: str = ""

    @cached_property
    def names(self) -> list[str]:
        """The names of the options, in their order."""
        options = taken_by_verb(self.verb, *self.drivers)
        names = {option.name for option in options} | set(self.also)
        return [name for name in OPTIONS if name in names - set(self.without)]


# Of Spark, the caller has done what is about files before.
NOT_OF_FRAMES = (
    "column",
    "id_column",
    "removed",
    "overwrite",
    "dry_run",
    "html",
    "html_texts",
)
# What is about whole rows, and what is not about texts.
NOT_OF_PARAGRAPHS = (
    *(name for name, option in OPTIONS.items() if "text" not in option.kinds),
    "group_by",
    "item",
    "weight",
    "by",
    "exact_key",
    "max_removed",
    "annotate",
    "pairs",
    "top",
    "most",
    "html",
    "html_texts",
    "html_column",
    "against",
    "against_column",
    "against_id_column",
    "save_index",
    "on_duplicate",
    "clusters",
    "changes",
)
TAKES = {
    "dedup": Takes("dedup", ("memory",)),
    "pairs": Takes("pairs", ("memory",), also=("top", "most")),
    "check": Takes("check", ("memory",)),
    "dedup_files": Takes("dedup", ("files", "cap"), ("split",), none_is_default=True),
    "dedup_paragraphs": Takes(
        "dedup", ("files",), NOT_OF_PARAGRAPHS, none_is_default=True, always="split"
    ),
    "stages.plan": Takes("dedup", ("stages",)),
    "spark.dedup": Takes("dedup", ("spark",), (*NOT_OF_FRAMES, "top", "most")),
    "spark.pairs": Takes("pairs", ("spark",), NOT_OF_FRAMES),
    "spark.check": Takes("check", ("spark",), (*NOT_OF_FRAMES, "ignore_common")),
}

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_options(name: str) -> Callable[[Function], Function]:
    """Give a function with ``**options`` the signature and the docstring of what it takes.

    The options that it writes out stay as they are; the others follow. `name` is one of TAKES.
    """

    def completed(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        names = {parameter.name for parameter in parameters}
        rare = [OPTIONS[option] for option in TAKES[name].names if option not in names]
        written_parameters = [
            one for one in parameters if one.kind is not one.VAR_KEYWORD
        ]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*written_parameters, *map(_parameter_of, rare)]
        )
        documented = _documented_names(function.__doc__ or "")
        text = "".join(
            _paragraph_of(option) for option in rare if option.name not in documented
        )
        returns = "\n\n    Returns\n"
        described = function.__doc__ or ""
        function.__doc__ = described.replace(returns, f"\n{text.rstrip()}{returns}", 1)
        return function

    return completed


def _parameter_of(option: Option) -> inspect.Parameter:
    """Return the parameter of a function for an option."""
    annotation = option.type
    if option.default is None:
        annotation = option.type | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=annotation,
    )


def _documented_names(text: str) -> set[str]:
    """Return the names of the parameters that a docstring has."""
    parameters = text.partition("    Returns\n")[0]
    lines = re.findall(r"^    (\w[\w, ]*)(?: :.*)?$", parameters, re.MULTILINE)
    return {name for line in lines for name in re.split(r"[ ,]+", line)}


def _paragraph_of(option: Option) -> str:
    """Return the paragraph of a docstring for an option."""
    shown = "optional" if option.default is None else f"default {option.default!r}"
    values = get_args(option.type)
    kind = "{" + ", ".join(f'"{value}"' for value in values) + "}" if values else ""
    kind, text = DETAILS.get(
        option.name, (f"{kind or option.type.__name__}, {shown}", option.help)
    )
    lines = textwrap.wrap(text, 92, break_long_words=False, break_on_hyphens=False)
    return f"    {option.name} : {kind}\n" + "".join(
        f"        {line}\n" for line in lines
    )


def of_group(*groups: str) -> list[str]:
    """Return the names of the options of some groups."""
    return [name for name, option in OPTIONS.items() if option.group in groups]


NAMES_OF_PLAN = of_group("plan")


def _reason_without(option: Option, takes: Takes) -> str:
    """Return why a function does not take an option, or what takes it instead."""
    for driver in takes.drivers:
        if driver in option.without:
            return option.without[driver]
    if takes.always and not set(option.drivers) & set(takes.drivers):
        refused = OPTIONS[takes.always].without
        return next(refused[driver] for driver in option.drivers if driver in refused)
    if takes.verb not in option.verbs:
        return f"it is one of {' and '.join(option.verbs)}"
    if takes.verb == "dedup" and option.name in TAKES["dedup_files"].names:
        return "dedup_files, over files, takes it"
    end = " --engine spark" if "spark" in takes.drivers else ""
    return f"the command lshfast {takes.verb}{end} takes it"


def options_of(
    function: str, values: Mapping[str, Any], options: Mapping[str, Any]
) -> Options:
    """Return the options of a function in TAKES as a record.

    Parameters
    ----------
    function : str
    values : mapping of str
        The parameters of the function by name; those that are no options are ignored.
    options : mapping of str
        The others that were given.

    Raises
    ------
    TypeError
        If one of these is not an option of the function.
    """
    takes = TAKES[function]
    parameters = {name: values[name] for name in takes.names if name in values}
    if not options:
        return Options(OPTIONS.values(), parameters)
    for name in options:
        if name in OPTIONS and name not in takes.names:
            reason = _reason_without(OPTIONS[name], takes)
            raise TypeError(f"{function}() has no option {name!r}: {reason}")
    check_names(function, options, takes.names)
    record = Options(OPTIONS.values(), {**parameters, **options})
    return record if takes.none_is_default else record.with_(**options)
