"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# Called with the name of a stage, how much of it is done, and how much there is in all (None: not known).
Progress: TypeAlias = Callable[[str, int, "int | None"], None]
