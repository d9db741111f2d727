"""Packages that only some uses need."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any


@cache
def optional(module: str, extra: str = "cli") -> Any:
    """Import a module of an extra, or raise ImportError that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{module.partition('.')[0]} is missing: install lshfast[{extra}]") from error
