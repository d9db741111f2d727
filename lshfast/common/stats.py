"""`EntryStats`: the figures of an index that is held in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EntryStats:
    """The figures of an index that is held in memory.

    Attributes
    ----------
    entries : int
    nbytes : int
        Memory of the index, in bytes.
    store : dict of str to int
        Figures of its parts. Their names say what they are; sizes are in bytes.
    """

    entries: int
    nbytes: int
    store: dict[str, int]


def bytes_of(figures: dict[str, int]) -> int:
    """Return the sum of the figures that are sizes."""
    return sum(size for name, size in figures.items() if name.endswith("bytes"))
