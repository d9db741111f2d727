"""Packages that only some uses need."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

# A requirement of an extra in the metadata, such as: pdqhash>=0.2.7; extra == "images"
_REQUIREMENT = re.compile(
    r"""(?P<package>[\w.-]+)[^;]*; *extra *== *["'](?P<extra>\w+)["']$"""
)


@cache
def optional(module: str, extra: str = "cli") -> Any:
    """Import a module of an extra, or raise an error.

    The error is an ImportError if the package is missing: it names the extra to install, with
    all of its packages that are missing. Otherwise the error is what the import raised: a
    MemoryError, or an ImportError that says why the package cannot be imported.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        absent = (
            isinstance(error, ModuleNotFoundError)
            and (error.name or "").partition(".")[0] == package
        )
        if not absent:
            raise ImportError(f"{package} cannot be imported: {error}") from error
        packages = _missing_packages(extra) or [package]
        verb = "is" if len(packages) == 1 else "are"
        raise ImportError(
            f'{", ".join(packages)} {verb} missing: pip install "lshfast[{extra}]"'
        ) from error


def _missing_packages(extra: str) -> list[str]:
    """Return the packages of an extra that are not installed, by the metadata of lshfast."""
    from importlib import metadata

    try:
        requirements = metadata.requires("lshfast") or []
    except metadata.PackageNotFoundError:
        # The sources are imported without an installation.
        return []
    missing_packages = []
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None or match["extra"] != extra:
            continue
        try:
            metadata.version(match["package"])
        except metadata.PackageNotFoundError:
            missing_packages.append(match["package"])
    return missing_packages


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
        # Tools such as doctest ask every object for `__wrapped__`.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(optional(self._module, self._extra), name)


pa: Any = OptionalModule("pyarrow")
