"""Runs a case on a library and compares two outcomes.

A case is a few lines of Python, as a user would write them; the names of the library are those of the library asked.
Its outcome is the value of each line that is an expression, the warnings, and the exception that ended it.
"""

from __future__ import annotations

import ast
import copy
import importlib
import math
import pickle
import struct
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse

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
        parts = [show(value) for value in self.values] + [f"warns {name}" for name in dict.fromkeys(self.warned)]
        return "; ".join(parts + ([f"raises {self.error} ({self.said})"] if self.error else []))


def kinds(error: BaseException) -> tuple[str, ...]:
    """Return the exceptions of Python that an exception is one of, the nearest first."""
    public = {
        "builtins": "",
        "_struct": "struct.",
        "struct": "struct.",
        "_pickle": "pickle.",
        "redis.exceptions": "redis.",
    }
    return tuple(public[kind.__module__] + kind.__name__ for kind in type(error).__mro__ if kind.__module__ in public)


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
        return ("ndarray", value.dtype.name, value.shape, tuple(map(plain, value.reshape(-1).tolist())))
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(plain, value))
    if isinstance(value, set | frozenset):
        return (type(value).__name__, *sorted(map(plain, value), key=repr))
    if isinstance(value, dict):
        return ("dict", *sorted(((plain(key), plain(item)) for key, item in value.items()), key=repr))
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
        return math.isclose(peer, ours, rel_tol=1e-12, abs_tol=1e-15) or (math.isnan(peer) and math.isnan(ours))
    return type(peer) is type(ours) and bool(peer == ours)


def named(library: ModuleType) -> dict[str, Any]:
    """Return the names that a case may use: the library's, and the helpers."""

    def sketch(words: str, **options: Any) -> Any:
        minhash = library.MinHash(**options)
        minhash.update_batch([word.encode() for word in words.split()])
        return minhash

    def lean(words: str, **options: Any) -> Any:
        return library.LeanMinHash(sketch(words, **options))

    def counter(words: str, kind: str = "HyperLogLog", **options: Any) -> Any:
        found = getattr(library, kind)(**options)
        for word in words.split():
            found.update(word.encode())
        return found

    def count(first: int, last: int) -> str:
        return " ".join(map(str, range(first, last)))

    public = {name: getattr(library, name) for name in library.__all__}
    helpers = {"sketch": sketch, "lean": lean, "counter": counter, "count": count, "attempt": attempt}
    helpers |= {"number": number, "half": half}
    helpers |= {name: importlib.import_module(f"{library.__name__}.{name}") for name in ("lsh", "lsh_bloom", "storage")}
    return {**public, **helpers, "np": np, "pickle": pickle, "copy": copy, "struct": struct, "sparse": scipy.sparse}


def number(data: Any) -> Any:
    """Hash a number to itself: for values that no SHA1 gives."""
    return data


def half(data: Any) -> int:
    """Hash bytes to 16 bits."""
    return sum((place + 1) * byte for place, byte in enumerate(data)) & 0xFFFF


def run(library: ModuleType, source: str, **names: Any) -> Outcome:
    """Run a case and return what came out."""
    space = {**named(library), **names}
    values: list[Any] = []
    errors: tuple[str, ...] = ()
    said = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for statement in ast.parse(source).body:
                if isinstance(statement, ast.Expr):
                    code = compile(ast.Expression(statement.value), "<case>", "eval")
                    values.append(plain(eval(code, space)))
                else:
                    exec(compile(ast.Module([statement], []), "<case>", "exec"), space)
        except Exception as raised:
            errors, said = kinds(raised), " ".join(str(raised).split())
    warned = tuple(warning.category.__name__ for warning in caught if warning.category is not ResourceWarning)
    return Outcome(tuple(values), warned, errors, said)


def difference(peer: Outcome, ours: Outcome) -> str:
    """Say in which way ours is not the peer's, or nothing: an exception has to be one of the peer's kind."""
    for place, (theirs, mine) in enumerate(zip(peer.values, ours.values, strict=False)):
        if not same(theirs, mine):
            return f"value {place}: {show(theirs)} there, {show(mine)} here"
    if len(peer.values) != len(ours.values) or (peer.error not in ours.errors if peer.error else ours.error):
        return f"there: {peer}\n here: {ours}"
    return (
        ""
        if peer.error or set(peer.warned) == set(ours.warned)
        else f"warnings: {peer.warned} there, {ours.warned} here"
    )
