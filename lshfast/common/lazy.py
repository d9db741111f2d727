"""Names of a package whose modules are imported when the names are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a function that imports a name of a package, for its ``__getattr__``, and give the package a ``__dir__``.

    ``dir`` lists the names before they are imported, and imports none.

    Parameters
    ----------
    package : str
    names : mapping of str to str
        The names in each module of the package, separated by spaces. "." stands for the package: then they are modules.

    Returns
    -------
    callable
        It returns the value of a name, which is from then on an attribute of the package, and raises AttributeError for
        other names.

    Examples
    --------
    >>> import email
    >>> lazy_names("email", {"message": "Message EmailMessage", ".": "policy"})("Message")
    <class 'email.message.Message'>
    >>> {"EmailMessage", "policy"} <= {*dir(email)}
    True
    """
    module_of = {name: module for module, several in names.items() for name in several.split()}

    def value_of(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module_of[name] == ".":
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        setattr(importlib.import_module(package), name, value)
        return value

    def all_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    sys.modules[package].__dir__ = all_names  # type: ignore[method-assign]
    return value_of
