"""What a run has found: which rows stay, what was removed for whose sake, and the figures of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast.tokens import BoolArray, Float64Array, Int64Array


class Removal(NamedTuple):
    """One removed row: its key, the key of the row kept in its place, and their similarity."""

    key: Any
    kept_key: Any
    similarity: float


@dataclass(frozen=True)
class Stage:
    """Seconds that one stage took, and the bytes of text it went over."""

    seconds: float
    nbytes: int

    @property
    def mb_per_second(self) -> float:
        return self.nbytes / 1e6 / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Summary:
    """The figures of a run: read, which the source counted, = kept + removed + rejected, or RuntimeError is raised.

    Attributes
    ----------
    read, kept, removed, rejected, empty : int
        Rows; empty ones have no shingles and are kept.
    copies : int
        Rows whose tokens are exactly those of an earlier row.
    candidates, pairs : int
        Pairs that met in a band, and those of them that count as similar; exact copies only with the first of a kind.
    groups, largest_group : int
        Groups of two rows or more, and the rows of the largest.
    bands, rows : int
        The banding, b and r.
    recall : float
        The probability with which a pair exactly at the threshold was to be found.
    verify : str
        What `similarity` is: "exact", "signature" (an estimate), or "none" (an estimate, not compared to anything).
    stages : dict of str to Stage
        Where the time went. With several threads, reading and sketching overlap: each counts the seconds that it
        kept the run from going on.
    seconds : float
        From the first row to the last group.
    """

    read: int
    kept: int
    removed: int
    rejected: int
    empty: int
    copies: int
    candidates: int
    pairs: int
    groups: int
    largest_group: int
    bands: int
    rows: int
    recall: float
    verify: str
    stages: dict[str, Stage] = field(repr=False)
    seconds: float = field(repr=False)

    def __post_init__(self) -> None:
        if self.kept + self.removed + self.rejected != self.read:
            raise RuntimeError(
                f"rows were lost: {self.kept} kept + {self.removed} removed + {self.rejected} rejected "
                f"are not {self.read} read"
            )


@dataclass(frozen=True)
class DedupResult:
    """The result of `dedup`.

    Attributes
    ----------
    keep : ndarray of bool, shape (n,)
        True for the rows that stay.
    labels : ndarray of int64, shape (n,)
        The smallest row of each row's group.
    keeper : ndarray of int64, shape (n,)
        The row kept in each row's place: itself where it is kept.
    similarity : ndarray of float64, shape (n,)
        Similarity of each row to its keeper.
    pairs : structured ndarray with fields i, j, similarity
        The similar pairs, sorted by (i, j); an exact copy is paired with the first of its kind only.
    summary : Summary
    keys : sequence or None
        The rows' keys; their numbers where None.
    """

    keep: BoolArray
    labels: Int64Array
    keeper: Int64Array
    similarity: Float64Array
    pairs: npt.NDArray[np.void]
    summary: Summary
    keys: Sequence[Any] | None = None

    @property
    def removed(self) -> list[Removal]:
        """A record for each removed row, in the order of the rows."""
        return list(self.iter_removed())

    def iter_removed(self) -> Iterator[Removal]:
        """Yield a record for each removed row, in the order of the rows."""
        for row in np.flatnonzero(~self.keep).tolist():
            keeper = int(self.keeper[row])
            key, kept_key = (row, keeper) if self.keys is None else (self.keys[row], self.keys[keeper])
            yield Removal(key, kept_key, float(self.similarity[row]))
