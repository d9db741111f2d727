"""The type of the callbacks that report progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# Arguments: the name of the stage, the amount done, and the total amount (None if it is not known).
Progress: TypeAlias = Callable[[str, int, "int | None"], None]
