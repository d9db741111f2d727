"""Runs a case on a library and compares two outcomes.

A case is a function of a `Library`, which has the names of the library under test. Its outcome is what the function
returns, or each value that it yields, the warnings, and the exception that ended it. A tuple compares several values at
once, as they are when the last of them is computed: a value that a later call changes, or that comes before a call that
may raise, is yielded on its own.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

# What an object of the library is, to a user who looks at it.
STATE = {
    "MinHash": ("seed", "num_perm", "scheme", "hashvalues"),
    "LeanMinHash": ("seed", "scheme", "hashvalues"),
    "bBitMinHash": ("seed", "b", "r", "scheme", "hashvalues"),
    "WeightedMinHash": ("seed", "hashvalues"),
    "HyperLogLog": ("p", "m", "reg"),
    "HyperLogLogPlusPlus": ("p", "m", "reg"),
}


@dataclass(frozen=True)
class Outcome:
    """What a case gave: values in plain form, names of warnings, and what the exception that ended it is one of."""

    values: tuple[Any, ...]
    warned: tuple[str, ...]
    errors: tuple[str, ...] = ()
    said: str = ""

    @property
    def error(self) -> str:
        """The name of the exception, or nothing."""
        return self.errors[0] if self.errors else ""

    def __str__(self) -> str:
        parts = [show(value) for value in self.values] + [
            f"warns {name}" for name in dict.fromkeys(self.warned)
        ]
        return "; ".join(
            parts + ([f"raises {self.error} ({self.said})"] if self.error else [])
        )


def kinds(error: BaseException) -> tuple[str, ...]:
    """Return the exceptions of Python that an exception is one of, the nearest first."""
    public = {
        "builtins": "",
        "_struct": "struct.",
        "struct": "struct.",
        "_pickle": "pickle.",
        "redis.exceptions": "redis.",
    }
    return tuple(
        public[kind.__module__] + kind.__name__
        for kind in type(error).__mro__
        if kind.__module__ in public
    )


def attempt(call: Any, *args: Any, **options: Any) -> Any:
    """Return what a call gives, or the name of its exception, and go on."""
    try:
        return call(*args, **options)
    except Exception as error:
        return f"raises {kinds(error)[0]}"


def plain(value: Any) -> Any:
    """Return a value as nested tuples that compare by type and content; an integer of numpy is the int that it is."""
    if isinstance(value, float | np.floating):
        return (type(value).__name__, float(value))
    if isinstance(value, np.integer):
        return ("int", int(value))
    if isinstance(value, np.ndarray):
        return (
            "ndarray",
            value.dtype.name,
            value.shape,
            tuple(map(plain, value.reshape(-1).tolist())),
        )
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(plain, value))
    if isinstance(value, set | frozenset):
        return (type(value).__name__, *sorted(map(plain, value), key=repr))
    if isinstance(value, dict):
        return (
            "dict",
            *sorted(
                ((plain(key), plain(item)) for key, item in value.items()), key=repr
            ),
        )
    if isinstance(value, bytes | bytearray):
        return (type(value).__name__, bytes(value))
    if value is None or isinstance(value, bool | int | str | np.generic):
        return (type(value).__name__, value)
    if isinstance(value, type):
        return ("class", value.__name__)
    name = type(value).__name__
    return (name, *(plain(getattr(value, part)) for part in STATE.get(name, ())))


def show(value: Any) -> str:
    """Return a plain value in few words."""
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "..."


def same(peer: Any, ours: Any) -> bool:
    """Tell whether two plain values are equal; floats may differ in the last digits."""
    if isinstance(peer, tuple) and isinstance(ours, tuple):
        return len(peer) == len(ours) and all(map(same, peer, ours))
    if isinstance(peer, float) and isinstance(ours, float):
        return math.isclose(peer, ours, rel_tol=1e-12, abs_tol=1e-15) or (
            math.isnan(peer) and math.isnan(ours)
        )
    return type(peer) is type(ours) and bool(peer == ours)


def number(data: Any) -> Any:
    """Hash a number to itself: for values that no SHA1 gives."""
    return data


def half(data: Any) -> int:
    """Hash bytes to 16 bits."""
    return sum((place + 1) * byte for place, byte in enumerate(data)) & 0xFFFF


class Library:
    """The library under test: its public names, and objects that many cases begin with, each made when it is used."""

    def __init__(
        self, package: ModuleType, config: dict[str, Any] | None = None
    ) -> None:
        self.package = package
        self.config = config

    def __getattr__(self, name: str) -> Any:
        return getattr(self.package, name)

    def sketch(self, words: str | range, num_perm: int = 128, **options: Any) -> Any:
        """Return a MinHash of words, or of numbers as words."""
        minhash = self.MinHash(num_perm, **options)
        minhash.update_batch(
            [
                word.encode()
                for word in (
                    words.split() if isinstance(words, str) else map(str, words)
                )
            ]
        )
        return minhash

    def lean(self, words: str | range, num_perm: int = 128, **options: Any) -> Any:
        """Return a LeanMinHash of words."""
        return self.LeanMinHash(self.sketch(words, num_perm, **options))

    def near(self, n: int, **options: Any) -> Any:
        """Return a MinHash that shares about n of 40 words with `near(40)`."""
        return self.sketch(range(40 - n, 80 - n), **{"num_perm": 64, **options})

    @cached_property
    def empty(self) -> Any:
        """An index, which is empty at first."""
        return self.MinHashLSH(threshold=0.5, num_perm=64, storage_config=self.config)

    @cached_property
    def index(self) -> Any:
        """The same index, with `near(n)` under the keys n40, n38, n35, n20 and n0."""
        for n in (40, 38, 35, 20, 0):
            self.empty.insert(f"n{n}", self.near(n))
        return self.empty

    def found(self, n: int) -> list[Any]:
        """Return the sorted keys that this index gives for `near(n)`."""
        return sorted(self.index.query(self.near(n)))

    @cached_property
    def forest(self) -> Any:
        """A forest with the entries of `index`."""
        forest = self.MinHashLSHForest(num_perm=64)
        for n in (40, 38, 35, 20, 0):
            forest.add(f"n{n}", self.near(n))
        return forest

    @cached_property
    def ensemble(self) -> Any:
        """An ensemble, which is empty at first."""
        return self.MinHashLSHEnsemble(threshold=0.8, num_perm=64, num_part=4, m=4)

    @cached_property
    def entries(self) -> Any:
        """Entries for an ensemble: the numbers from 0 as sets of 5 to 320."""
        return [
            (f"s{size}", self.sketch(range(size), 64), size)
            for size in (5, 10, 20, 40, 80, 160, 320)
        ]

    @cached_property
    def bloom(self) -> Any:
        """A filter, which is empty at first."""
        return self.MinHashLSHBloom(threshold=0.5, num_perm=64, n=100, fp=1e-6)


Function = Callable[..., Any]


def each(name: str, *axes: Iterable[Any]) -> Callable[[Function], dict[str, Function]]:
    """Make a dict of cases of a function with further parameters, one case for each combination of their values.

    Each axis holds the values of one parameter, the last parameters in their order. The name is formatted with the
    values, or with the keys of an axis that is a dict.
    """

    def decorate(function: Function) -> dict[str, Function]:
        parameters = list(inspect.signature(function).parameters)[-len(axes) :]
        labelled = [
            axis.items()
            if isinstance(axis, dict)
            else [(value, value) for value in axis]
            for axis in axes
        ]
        found: dict[str, Function] = {}
        for choice in itertools.product(*labelled):
            label = name.format(*(label for label, _ in choice))
            assert label not in found, label
            values = (value for _, value in choice)
            found[label] = functools.partial(
                function, **dict(zip(parameters, values, strict=True))
            )
        return found

    return decorate


def members(part: dict[str, Function] | type) -> Iterator[tuple[str, Function]]:
    """Yield the cases in a part of a group: a dict, or a class of functions and of what `each` makes of them."""
    if isinstance(part, dict):
        yield from part.items()
        return
    for name, member in vars(part).items():
        if not name.startswith("_"):
            yield from (
                member.items()
                if isinstance(member, dict)
                else [(name.replace("_", " "), member)]
            )


def given(make: Function) -> Callable[[Any], Any]:
    """Make a case of a function of what `make` returns for a Library, or cases of those in a dict or class."""

    def decorate(function: Any) -> Any:
        if isinstance(function, dict | type):
            return {name: decorate(one) for name, one in members(function)}

        def case(library: Library) -> Any:
            made = make(library)
            return function(*made) if isinstance(made, tuple) else function(made)

        return case

    return decorate


def cases(*modules: ModuleType) -> dict[str, Function]:
    """Return the cases of modules as "group | name"."""
    found: dict[str, Function] = {}
    for group, parts in (
        entry for module in modules for entry in module.GROUPS.items()
    ):
        for name, function in itertools.chain.from_iterable(map(members, parts)):
            assert f"{group} | {name}" not in found, name
            found[f"{group} | {name}"] = function
    return found


def values_of(function: Function, library: Library) -> Iterator[Any]:
    """Yield what a case returns, or yields."""
    value = function(library)
    if inspect.isgenerator(value):
        yield from value
    else:
        yield asyncio.run(value) if inspect.iscoroutine(value) else value


def run(
    package: ModuleType, case: Function, config: dict[str, Any] | None = None
) -> Outcome:
    """Run a case and return what came out."""
    values: list[Any] = []
    errors: tuple[str, ...] = ()
    said = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for value in values_of(case, Library(package, config)):
                values.append(plain(value))  # now: the case may change it afterwards
        except Exception as raised:
            errors, said = kinds(raised), " ".join(str(raised).split())
    warned = tuple(
        warning.category.__name__
        for warning in caught
        if warning.category is not ResourceWarning
    )
    return Outcome(tuple(values), warned, errors, said)


def difference(peer: Outcome, ours: Outcome) -> str:
    """Say in which way ours is not the peer's, or nothing: an exception has to be one of the peer's kind."""
    for place, (theirs, mine) in enumerate(zip(peer.values, ours.values, strict=False)):
        if not same(theirs, mine):
            return f"value {place}: {show(theirs)} there, {show(mine)} here"
    if len(peer.values) != len(ours.values) or (
        peer.error not in ours.errors if peer.error else ours.error
    ):
        return f"there: {peer}\n here: {ours}"
    return (
        ""
        if peer.error or set(peer.warned) == set(ours.warned)
        else f"warnings: {peer.warned} there, {ours.warned} here"
    )
