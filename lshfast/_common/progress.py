"""The type of the callbacks that report progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# Arguments: the name of the stage, the amount done, and the total amount (None if it is not known).
Progress: TypeAlias = Callable[[str, int, "int | None"], None]


def without_stage(report: Callable[[int, int], None] | None) -> Progress | None:
    """Return a report of a stage that hands its numbers on to a report of (done, total)."""
    return (lambda _, done, total: report(done, total or 0)) if report else None
