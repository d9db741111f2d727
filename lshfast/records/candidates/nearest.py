"""Blocking by nearest neighbours: each record is compared with those that have the most similar
text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.records.candidates.blocks import (
    check_total,
    distinct_places,
    pairs_of_values,
)
from lshfast.records.candidates.record_texts import RecordTexts
from lshfast.records.choices import MAX_BLOCK, NEIGHBORS
from lshfast.records.linkage import Linkage, RulePairs


@dataclass(frozen=True, init=False)
class NearestBlocks:
    """Compare each record with those that are nearest by the character trigrams in some fields,
    rare ones above all.

    Parameters
    ----------
    *fields : str
        Names of fields, whose values are joined; by default all fields.
    neighbors : int, default 10
        Different texts of the other table that a text is compared with, at least 1.
    max_block : int, default 10,000
        The largest number of pairs of records with the same two texts; larger blocks are left out
        and reported.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value.

    See Also
    --------
    lshfast.records.LshBlocks : Compare records whose n-grams are similar.
    lshfast.records.EveryPair : Compare all pairs.
    lshfast.records.parse_rule : Read a rule that is written as text.

    Examples
    --------
    >>> from lshfast.records import NearestBlocks
    >>> NearestBlocks("title", neighbors=5).name, NearestBlocks().name
    ('nearest:title:neighbors=5', 'nearest')
    """

    fields: tuple[str, ...]
    neighbors: int
    max_block: int

    def __init__(
        self, *fields: str, neighbors: int = NEIGHBORS, max_block: int = MAX_BLOCK
    ) -> None:
        if not all(isinstance(field, str) for field in fields):
            raise TypeError(f"fields must be names of fields, not {fields!r}")
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "neighbors", check_int("neighbors", neighbors, 1))
        object.__setattr__(self, "max_block", check_int("max_block", max_block, 1))

    @property
    def name(self) -> str:
        """The rule as the command line writes it."""
        shown = ":".join(["nearest", *(["+".join(self.fields)] if self.fields else [])])
        return (
            shown
            if self.neighbors == NEIGHBORS
            else f"{shown}:neighbors={self.neighbors}"
        )

    def pairs(self, linkage: Linkage) -> RulePairs:
        """Return the pairs of records with near texts, and of those with equal texts."""
        return self.pairs_of(linkage, None)

    def pairs_of(self, linkage: Linkage, sample: Int64Array | None) -> RulePairs:
        """Return the same for some texts of the first table, by their numbers, and for the nearest
        ones of these.
        """
        texts = linkage.record_texts
        if self.fields:
            coded = [linkage.field(name) for name in self.fields]
            texts = RecordTexts(coded, linkage.b is None, linkage.threads)
        left, right = texts.nearest(self.neighbors, sample)
        if linkage.b is None:
            left, right = np.minimum(left, right), np.maximum(left, right)
        count = np.uint64(max(1, len(texts.texts)))
        pairs: UInt64Array = left.astype(np.uint64) * count + right.astype(np.uint64)
        check_total(len(pairs))
        pairs = distinct_places([pairs])
        left, right = (part.astype(np.int64) for part in np.divmod(pairs, count))
        sides = [np.unique(place[place >= 0]) for place in texts.places]
        alike = np.intersect1d(sides[0], sides[-1])
        left = np.append(left, alike)
        right = np.append(right, alike)
        return pairs_of_values(
            linkage, texts.places, (left, right), self.max_block, texts.texts
        )
