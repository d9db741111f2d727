"""The options of a run that links records."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, TypeVar, get_args

import numpy as np

from lshfast._common.checks import check_bool, check_number, check_seed
from lshfast._common.threads import thread_count
from lshfast._engine.options.declaration import check_names
from lshfast.records.candidates.names import checked_rules
from lshfast.records.choices import Assignment, Scoring
from lshfast.records.comparison.synonyms import Synonyms
from lshfast.records.linkage import BlockingRule
from lshfast.records.links.assignment import check_assignment
from lshfast.records.links.labels import marked_pairs
from lshfast.records.results.rates import check_window
from lshfast.records.tables.fields import Field, as_field
from lshfast.records.values.missing import checked_missing

Function = TypeVar("Function", bound=Callable[..., Any])


class LinkOptionTypes(TypedDict, total=False):
    """The attributes of `LinkOptions`, for type checkers of functions with ``**options``."""

    fields: Sequence[str | Field] | None
    ignore: Sequence[str]
    rules: Sequence[BlockingRule | str] | None
    scoring: Scoring
    threshold: float | None
    assign: Assignment | None
    synonyms: Synonyms | None
    frequencies: bool
    held_out: str | Field | None
    held_out_window: float | None
    seed: int | Literal["random"]
    threads: int | None
    labels: Any
    missing: Any


@dataclass(frozen=True)
class LinkOptions:
    """The options of a run; see `match_records`.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.
    lshfast.records.dedup_records : Find the records of one table that are the same.
    """

    fields: Sequence[Any] | None = None
    ignore: Sequence[str] = ()
    rules: Sequence[Any] | None = None
    scoring: Scoring = "weights"
    threshold: float | None = None
    assign: Assignment | None = None
    synonyms: Synonyms | None = None
    frequencies: bool = True
    held_out: str | Field | None = None
    held_out_window: float | None = None
    seed: int | Literal["random"] = 1
    threads: int | None = None
    labels: Any = ()
    missing: Any = None

    @classmethod
    def of(cls, function: str, options: Mapping[str, Any]) -> LinkOptions:
        """Return the options that were passed to a function; TypeError if one does not exist."""
        check_names(function, options, inspect.signature(cls).parameters)
        return cls(**options)

    @property
    def addresses(self) -> list[Field]:
        """The fields that are addresses, whose parts are compared."""
        fields = map(as_field, self.fields or ())
        return [field for field in fields if field.kind == "address"]

    def __post_init__(self) -> None:
        if self.scoring not in get_args(Scoring):
            raise ValueError(
                f"scoring must be one of {', '.join(get_args(Scoring))}, not {self.scoring!r}"
            )
        if self.assign is not None:
            check_assignment(self.assign)
        check_bool("frequencies", self.frequencies)
        if self.rules is not None:
            object.__setattr__(self, "rules", checked_rules(self.rules))
        if self.synonyms is not None and not isinstance(self.synonyms, Synonyms):
            raise TypeError(
                f"synonyms must be a Synonyms object, not {type(self.synonyms).__name__}"
            )
        if isinstance(self.ignore, str):
            raise TypeError("ignore must be a list of names, not one name")
        if self.threshold is not None:
            value = check_number("threshold", self.threshold)
            if self.scoring == "weights" and not 0 < value < 1:
                raise ValueError(
                    f"threshold must be a probability in (0, 1), not {self.threshold}"
                )
            if not np.isfinite(value):
                raise ValueError(f"threshold must be finite, not {self.threshold}")
        check_window(self.held_out_window, "held_out_window")
        if self.held_out_window is not None and self.held_out is None:
            raise ValueError("held_out_window needs a field that is held out: held_out")
        object.__setattr__(self, "labels", marked_pairs(self.labels))
        if self.missing is not None:
            checked_missing(self.missing)
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "threads", thread_count(self.threads))

    def assignment(self, single: bool) -> Assignment:
        """Return the assignment by which links are first chosen, in one table or between two."""
        if self.assign is not None:
            return self.assign
        return "many-to-many" if single else "one-to-one"


def takes_link_options(function: Function) -> Function:
    """Give a function with ``**options`` the signature with the attributes of `LinkOptions`."""
    signature = inspect.signature(function)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    for option in inspect.signature(LinkOptions).parameters.values():
        parameters.append(option.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters
    )
    return function
