"""What a run has found: which rows stay, what was removed for whose sake, and the figures of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast.readers.files import Reject
from lshfast.tokens import BoolArray, Float64Array, Int64Array


class Removal(NamedTuple):
    """One removed row: its key, the key of the row or earlier entry kept in its place, and their similarity."""

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
    earlier : int
        Rows that were removed for an entry of an index of earlier ones, by an estimate; the figures below are of the
        other rows.
    copies : int
        Rows whose tokens are exactly those of a row before.
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
    indexed : int or None
        Rows that are new or replaced in an index, where those that stay were put into one.
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
    earlier: int = 0
    indexed: int | None = None

    def __post_init__(self) -> None:
        if self.kept + self.removed + self.rejected != self.read:
            raise RuntimeError(
                f"rows were lost: {self.kept} kept + {self.removed} removed + {self.rejected} rejected "
                f"are not {self.read} read"
            )


@dataclass(frozen=True)
class IndexSummary:
    """The figures of a run that put rows into an index: read = added + replaced + skipped + rejected.

    Attributes
    ----------
    read, added, replaced, skipped, rejected, empty : int
        Rows: those with new keys, those that took the place of an entry or of a row before, those that did not because
        their key was taken, bad ones; empty ones, among the others, have no shingles and match nothing.
    entries : int
        Of the index after the run.
    kind : str or None
        What its keys are: "int" or "str"; None where there are none.
    file_bytes : int
    expected_candidates : float
        See `IndexStats`.
    stages, seconds
        As for `Summary`.
    """

    read: int
    added: int
    replaced: int
    skipped: int
    rejected: int
    empty: int
    entries: int
    kind: str | None
    file_bytes: int
    expected_candidates: float
    stages: dict[str, Stage] = field(repr=False)
    seconds: float = field(repr=False)

    def __post_init__(self) -> None:
        if self.added + self.replaced + self.skipped + self.rejected != self.read:
            raise RuntimeError(
                f"rows were lost: {self.added} added + {self.replaced} replaced + {self.skipped} skipped + "
                f"{self.rejected} rejected are not {self.read} read"
            )


@dataclass(frozen=True)
class QuerySummary:
    """The figures of a run of queries.

    Attributes
    ----------
    read, empty, matched, matches : int
        Rows read; those without shingles; those that matched something; matches in all.
    rejected : sequence of Reject
        Bad rows that were passed over.
    threshold : float
        The least estimated similarity of a match.
    recall : float
        The probability with which an entry exactly at that similarity becomes a candidate.
    stages, seconds
        As for `Summary`.
    """

    read: int
    rejected: Sequence[Reject]
    empty: int
    matched: int
    matches: int
    threshold: float
    recall: float
    stages: dict[str, Stage] = field(repr=False)
    seconds: float = field(repr=False)


@dataclass(frozen=True)
class DedupResult:
    """The result of `dedup`.

    Attributes
    ----------
    keep : ndarray of bool, shape (n,)
        True for the rows that stay.
    labels : ndarray of int64, shape (n,)
        The smallest row of each row's group; rows removed for one earlier entry are a group.
    keeper : ndarray of int64, shape (n,)
        The row kept in each row's place: itself where it is kept, -1 where that is no row but an earlier entry.
    similarity : ndarray of float64, shape (n,)
        Similarity of each row to its keeper; to an earlier entry as their signatures estimate it.
    pairs : structured ndarray with fields i, j, similarity
        The similar pairs, sorted by (i, j); an exact copy is paired with the first of its kind only, and a row that
        was removed for an earlier entry is in none.
    summary : Summary
    keys : sequence or None
        The rows' keys; their numbers where None.
    earlier : list or None
        Of each row the key of the earlier entry that it was removed for, or None; None where there was no index.
    """

    keep: BoolArray
    labels: Int64Array
    keeper: Int64Array
    similarity: Float64Array
    pairs: npt.NDArray[np.void]
    summary: Summary
    keys: Sequence[Any] | None = None
    earlier: list[Any] | None = None

    @property
    def removed(self) -> list[Removal]:
        """A record for each removed row, in the order of the rows."""
        return list(self.iter_removed())

    def iter_removed(self) -> Iterator[Removal]:
        """Yield a record for each removed row, in the order of the rows."""
        for row in np.flatnonzero(~self.keep).tolist():
            key = row if self.keys is None else self.keys[row]
            yield Removal(key, self.kept_key(row), float(self.similarity[row]))

    def kept_key(self, row: int) -> Any:
        """Return the key of the row, or of the earlier entry, that is kept in a row's place."""
        keeper = int(self.keeper[row])
        if keeper < 0 and self.earlier is not None:
            return self.earlier[row]
        return keeper if self.keys is None else self.keys[keeper]
