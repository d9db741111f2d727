"""Values of options that are converted without pydantic, whose import takes a quarter of the start of a command.

Some versions of typer convert each value, defaults included, with an adapter that pydantic makes when it is first used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

_OTHER = object()

# What this module uses of a parameter of typer. Where a version has something else, typer converts all values.
_OF_TYPER = "_runtime_param", "type_descriptor", "get_runtime_param", "multiple", "nargs"


def convert_plainly(parameters: Iterable[Any]) -> None:
    """Have the plain values of some parameters converted here, if typer would use pydantic; all others by typer."""
    for parameter in parameters:
        known = all(hasattr(parameter, name) for name in _OF_TYPER)
        if known and parameter._runtime_param is None:
            parameter._runtime_param = _PlainValues()


class _PlainValues:
    """Stands for the converter of a parameter until a value is not plain; so messages of errors are those of typer."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        descriptor = param.type_descriptor
        if value is None:
            return () if several else None
        plain = _plain_value(value, descriptor.annotation, descriptor.parameter_info)
        if plain is _OTHER:
            param._runtime_param = None  # typer makes its own
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
        return plain


def _plain_value(value: Any, annotation: Any, info: Any) -> Any:
    """Return the value that a default or an argument stands for, or _OTHER if typer has to decide."""
    if info.parser is not None:
        try:
            return info.parser(value)
        except ValueError:
            return _OTHER
    if info.min is not None or info.max is not None:
        return _OTHER
    if annotation in (bool, int, float, str) and type(value) is annotation:
        return value
    if get_origin(annotation) is Literal and value in get_args(annotation):
        return value
    if annotation == list[str] and isinstance(value, (list, tuple)) and all(type(item) is str for item in value):
        return list(value)
    if type(value) is str and value.isascii():
        if annotation is int and value.isdecimal() and len(value) < 20:
            return int(value)
        if annotation is float and value.replace(".", "", 1).isdecimal():
            return float(value)
    return _OTHER
