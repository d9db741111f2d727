"""The figures of the earlier rows whose texts a run was compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lshfast._common.display import Figure, figure
from lshfast._engine.plan import Verify


@dataclass(frozen=True)
class EarlierFigures:
    """Hold the figures of earlier rows whose texts a run was compared with.

    Attributes
    ----------
    verify : {"exact", "signature", "none"}
        How pairs of a new row and an earlier text were compared: see `Summary.verify`.
    read, rejected : int
        Earlier rows that were read, and those that could not be read.
    unknown : int
        Rows that were read but are no entries of the index, with which the run was compared.
    unread : int
        Entries of the index whose texts were not read, and that are similar by estimates to a new
        row that is similar to no text. Of each row, the 256 most similar ones are counted.
    estimated : int
        Rows that were removed for such an entry, by an estimate.

    See Also
    --------
    lshfast.Summary : The figures of a deduplication, which has this as `earlier_texts`.

    Examples
    --------
    >>> import lshfast
    >>> summary = lshfast.dedup(
    ...     ["one two three"], against=["One, two, three!", "four"]
    ... ).summary
    >>> summary.earlier_texts.read, summary.earlier_texts.verify, summary.earlier
    (2, 'exact', 1)
    """

    verify: Verify
    read: int
    rejected: int = 0
    unknown: int = 0
    unread: int = 0
    estimated: int = 0

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        unknown = f"{self.unknown:,} not in the index" if self.unknown else ""
        rejected = f"{self.rejected:,} rejected" if self.rejected else ""
        yield figure("earlier", self.read, "texts of earlier rows", unknown, rejected)
        if self.unread:
            yield figure(
                "unread", self.unread, "entries without a text, compared by estimates"
            )
