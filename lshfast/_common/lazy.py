"""Names of packages, and modules, that are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose names are imported when used.

    ``dir`` lists the names before they are imported, and imports none. It lists no other modules,
    and nothing that the package itself has imported.

    Packages hide both from type checkers, which would take a misspelt name for Any, and import all
    public names for them instead.

    Parameters
    ----------
    package : str
    names : mapping of str to str
        The names in each module of the package, separated by spaces. "." stands for the package:
        then they are modules.

    Returns
    -------
    (callable, callable)
        The first returns the value of a name, which is from then on an attribute of the package,
        and raises AttributeError for other names. The second returns the sorted names of the
        package.

    Examples
    --------
    >>> import sys, types
    >>> sys.modules["lazy_json"] = package = types.ModuleType("lazy_json")
    >>> package.__path__ = __import__("json").__path__
    >>> package.__getattr__, package.__dir__ = lazy_names(
    ...     "lazy_json", {"decoder": "JSONDecoder", ".": "scanner"}
    ... )
    >>> "JSONDecoder" in vars(package), {"JSONDecoder", "scanner"} <= {*dir(package)}
    (False, True)
    >>> package.JSONDecoder
    <class 'lazy_json.decoder.JSONDecoder'>
    >>> for name in [
    ...     name for name in sys.modules if name.partition(".")[0] == "lazy_json"
    ... ]:
    ...     del sys.modules[name]
    """
    module_of = _modules_by_name(names)

    def value_of(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module_of[name] == ".":
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        setattr(importlib.import_module(package), name, value)
        return value

    def all_names() -> list[str]:
        present_names = vars(sys.modules[package])
        special = [name for name in present_names if name.startswith("__")]
        without_underscore = [
            name for name in present_names if not name.startswith("_")
        ]
        public = present_names.get("__all__", without_underscore)
        return sorted({*special, *public, *module_of})

    return value_of, all_names


class LazyModule:
    """A module that is imported when one of its names is first used.

    Type checkers import the module itself.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> from lshfast._common.lazy import LazyModule
    >>> LazyModule("json").dumps([1])
    '[1]'
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


def _modules_by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name, from the names of each module."""
    modules = {}
    for module, names_of_module in names.items():
        for name in names_of_module.split():
            modules[name] = module
    return modules
