"""`EntryStats`: the figures of an index that is held in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lshfast._common.display import Figure, Shown, counted


@dataclass(frozen=True, repr=False)
class EntryStats(Shown):
    """The figures of an index in memory; a terminal and a notebook show a table of them.

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

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        title = f"EntryStats of {counted(self.entries, 'entry', 'entries')}"
        return title, figures_of(self.nbytes, self.store), ""


def figures_of(nbytes: int, store: dict[str, int]) -> Iterator[Figure]:
    """Yield the lines of a table: the bytes of an index, and the figures of its store."""
    yield Figure("bytes", f"{nbytes:,}")
    for name, value in store.items():
        yield Figure("", f"{value:,}", name.replace("_", " "))


def bytes_of(figures: dict[str, int]) -> int:
    """Return the sum of the figures that are sizes."""
    return sum(size for name, size in figures.items() if name.endswith("bytes"))
