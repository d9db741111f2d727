"""Values of options that are converted without pydantic, whose import takes a quarter of the start of a command.

Some versions of typer convert each value, defaults included, with an adapter that pydantic makes when it is first used.
"""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

_OTHER = object()


def convert_plainly(command: Any, context: Any) -> None:
    """Have the plain values of a command's parameters converted here, and all others by typer."""
    hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    for parameter in command.get_params(context):
        if not isinstance(parameter.process_value, _PlainValues):
            parameter.process_value = _PlainValues(parameter, hints.get(parameter.name))


class _PlainValues:
    """Process the values of a parameter; where one is not plain, typer does, so messages of errors are its own."""

    def __init__(self, parameter: Any, hint: Any) -> None:
        self._parameter, self._by_typer, self._info = parameter, parameter.process_value, None
        if get_origin(hint) is Annotated:
            hint, self._info = get_args(hint)
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        self._kind = kinds[0] if NoneType in get_args(hint) and len(kinds) == 1 else hint

    def __call__(self, context: Any, value: Any) -> Any:
        parameter = self._parameter
        if value is None:
            plain: Any = () if parameter.multiple or parameter.nargs == -1 else None
        else:
            plain = _plain_value(value, self._kind, getattr(self._info, "parser", None))
        if plain is _OTHER or (parameter.required and plain in (None, (), [])):
            return self._by_typer(context, value)
        return plain if parameter.callback is None else parameter.callback(context, parameter, plain)


def _plain_value(value: Any, kind: Any, parser: Any) -> Any:
    """Return the value that a default or an argument stands for, or _OTHER if typer has to decide."""
    if parser is not None:
        try:
            return parser(value)
        except ValueError:
            return _OTHER
    if kind in (bool, int, float, str) and type(value) is kind:
        return value
    if get_origin(kind) is Literal and value in get_args(kind):
        return value
    if kind == list[str] and isinstance(value, (list, tuple)) and all(type(item) is str for item in value):
        return list(value)
    if type(value) is str and value.isascii():
        if kind is int and value.isdecimal() and len(value) < 20:
            return int(value)
        if kind is float and value.replace(".", "", 1).isdecimal():
            return float(value)
    return _OTHER
