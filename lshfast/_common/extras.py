"""Packages that only some uses need."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any


@cache
def optional(module: str, extra: str = "cli") -> Any:
    """Import a module of an extra, or raise an error.

    The error is an ImportError that names the extra to install if the package is missing, and
    otherwise what the import raised: a MemoryError, or an ImportError that says why the package
    cannot be imported.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        absent = (
            isinstance(error, ModuleNotFoundError)
            and (error.name or "").partition(".")[0] == package
        )
        reason = (
            f'is missing: pip install "lshfast[{extra}]"'
            if absent
            else f"cannot be imported: {error}"
        )
        raise ImportError(f"{package} {reason}") from error


class OptionalModule:
    """A module of an extra that is imported, as by `optional`, when one of its names is used.

    Parameters
    ----------
    module, extra : str
    """

    def __init__(self, module: str, extra: str = "cli") -> None:
        self._module = module
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        return getattr(optional(self._module, self._extra), name)


pa: Any = OptionalModule("pyarrow")
