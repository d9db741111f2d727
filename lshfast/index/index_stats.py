"""The figures of an index: `IndexStats` of signatures, `EntryStats` of other items in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lshfast._common.display import Figure, Shown, counted
from lshfast.index.stores.base import Store


@dataclass(frozen=True, repr=False)
class IndexStats(Shown):
    """The figures of an `LSHIndex`. A terminal and a notebook show a table of them.

    Attributes
    ----------
    entries : int
    bands, rows_per_band : int
        b and r of the banding.
    bucket_sizes : dict of int to int
        For each power of two p, the number of buckets, in all bands, with at least p and less than
        2 p entries. It is empty if the store cannot count them. In a file that was changed since it
        was saved or compacted, the buckets of each segment are counted separately, and include
        removed and replaced entries; after `compact`, this figure and the next two are exact. In a
        folder of shards, the buckets of each shard are always counted separately.
    largest_bucket : int
        Entries in the largest bucket.
    expected_candidates : float
        Mean number of other entries in the buckets of an entry; an entry in several of these
        buckets counts several times. It is the sum of the squares of the bucket sizes, divided by
        `entries`, minus `bands`.
    nbytes : int
        Memory or disk space of the index, in bytes.
    store : dict of str to int
        Figures of the store. Their names say what they are; sizes are in bytes.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures that finds similar sets.
    lshfast.index.NeighborStats : The figures of an index of near neighbours.
    """

    entries: int
    bands: int
    rows_per_band: int
    bucket_sizes: dict[int, int]
    largest_bucket: int
    expected_candidates: float
    nbytes: int
    store: dict[str, int]

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        title = f"{type(self).__name__} of {counted(self.entries, 'entry', 'entries')}"
        return title, self.figures(), ""

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of the table."""
        yield Figure(
            "bands", f"{self.bands:,}", f"of {counted(self.rows_per_band, 'row')} each"
        )
        if self.bucket_sizes:
            largest = (
                f"the largest has {counted(self.largest_bucket, 'entry', 'entries')}"
            )
            yield Figure("buckets", f"{sum(self.bucket_sizes.values()):,}", largest)
            yield candidates_figure(self.expected_candidates)
        yield from figures_of(self.nbytes, self.store)


def candidates_figure(expected_candidates: float) -> Figure:
    """Return the line of a table that says what a query costs."""
    note = "a query is compared with about this many entries"
    return Figure("candidates", f"{expected_candidates:,.2f}", note)


def stats_of(store: Store, bands: int, rows_per_band: int) -> IndexStats:
    """Return the figures of the index on a store."""
    figures = store.stats()
    entries = len(store)
    sizes, largest, squares = store.bucket_sizes()
    return IndexStats(
        entries=entries,
        bands=bands,
        rows_per_band=rows_per_band,
        bucket_sizes={1 << i: int(count) for i, count in enumerate(sizes) if count},
        largest_bucket=largest,
        expected_candidates=max(0.0, squares / entries - bands) if entries else 0.0,
        nbytes=bytes_of(figures),
        store=figures,
    )


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
