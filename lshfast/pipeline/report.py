"""What a run has found: which rows stay, what was removed for whose sake, and the figures of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast.common.extras import optional
from lshfast.pipeline.display import as_html, as_text, removed_as_html
from lshfast.pipeline.plan import Verify
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


@dataclass(frozen=True, repr=False)
class Summary:
    """The figures of a run: read, which the source counted, = kept + removed + rejected, or RuntimeError is raised.

    Two summaries are equal if all is equal but the time that the runs took. A notebook shows a table.

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
        Pairs that were compared, and similar pairs in `DedupResult.pairs`.
    groups, largest_group : int
        Groups of two rows or more, and the rows of the largest.
    bands, rows : int
        The banding, b and r.
    recall : float
        The probability with which a pair exactly at the threshold was to be found.
    verify : {"exact", "signature", "none"}
        What `similarity` is: exact, an estimate, or an estimate that was not compared to the threshold.
    stages : dict of str to Stage
        Where the time went. With several threads, reading and sketching overlap: each counts the seconds that it
        kept the run from going on.
    seconds : float
        From the first row to the last group.
    indexed : int or None
        Rows that are new or replaced in an index, where those that stay were put into one.
    advice : str
        Better shingles for short texts (see `recommend`), where most texts are too short for those of the run; else "".
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
    verify: Verify
    stages: dict[str, Stage] = field(compare=False)
    seconds: float = field(compare=False)
    earlier: int = 0
    indexed: int | None = None
    advice: str = ""

    def __post_init__(self) -> None:
        if self.kept + self.removed + self.rejected != self.read:
            raise RuntimeError(
                f"rows were lost: {self.kept} kept + {self.removed} removed + {self.rejected} rejected "
                f"are not {self.read} read"
            )

    def __repr__(self) -> str:
        return as_text("Summary", self)

    def _repr_html_(self) -> str:
        return as_html("Summary", self)


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


@dataclass(frozen=True, eq=False, repr=False)
class DedupResult:
    """The result of `dedup`: one entry for each row, as arrays, and the figures of the run.

    ``len(result)`` is the number of rows. Two results are equal if all of their arrays, keys and figures are, but for
    the time that the runs took. pyarrow, polars and pandas take a result as a table (see `to_arrow`). A terminal and a
    notebook show the figures.

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
        The similar pairs that the groups rest on, sorted by (i, j): of stars, each removed row with the one kept in its
        place; of components, as many pairs as join their rows. An exact copy is paired with the first of its kind, and
        a row that was removed for an earlier entry is in no pair. `lshfast.pairs` finds all similar pairs, and so does
        `dedup_files` if it writes them to a file.
    summary : Summary
    keys : sequence or None
        The rows' keys; their numbers where None.
    earlier : list or None
        Of each row the key of the earlier entry that it was removed for, or None; None where there was no index.

    Examples
    --------
    >>> import lshfast
    >>> result = lshfast.dedup(["one two three", "One, two, three!", "four"], keys=["a", "b", "c"])
    >>> len(result), result.keep.tolist()
    (3, [True, False, True])
    >>> result == lshfast.dedup(["one two three", "One, two, three!", "five"], keys=["a", "b", "c"])
    True
    >>> result.to_arrow().column("kept_key").to_pylist()
    ['a', 'a', 'c']
    """

    keep: BoolArray
    labels: Int64Array
    keeper: Int64Array
    similarity: Float64Array
    pairs: npt.NDArray[np.void]
    summary: Summary
    keys: Sequence[Any] | None = None
    earlier: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.keep)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DedupResult):
            return NotImplemented
        return all(_equal(getattr(self, name.name), getattr(other, name.name)) for name in fields(self))

    def __repr__(self) -> str:
        return as_text(f"DedupResult of {len(self):,} rows", self.summary)

    def _repr_html_(self) -> str:
        return as_html(f"DedupResult of {len(self):,} rows", self.summary) + removed_as_html(self)

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

    def to_arrow(self) -> Any:
        """Return a table with one row for each row of the input, in order.

        Returns
        -------
        pyarrow.Table
            key : the row's key, its number (int64) where no keys were given.
            keep : bool, whether the row stays.
            kept_key : the key of the row or earlier entry that is kept in its place; its own key where it stays.
            similarity : double, to that row or entry; 1 where the row stays.
            group : int64, the number of the first row of its group.
            earlier : bool, whether it was removed for an earlier entry; only after a run against an index.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        TypeError
            If Arrow has no type for the keys. Where keys of texts and of earlier entries differ in type, kept keys are
            strings.

        Examples
        --------
        >>> import lshfast, polars
        >>> result = lshfast.dedup(["one two three", "One, two, three!", "four"])
        >>> polars.DataFrame(result.to_arrow()).filter("keep")["key"].to_list()
        [0, 2]
        """
        pa = optional("pyarrow")
        rows = range(len(self))
        keys = np.arange(len(self), dtype=np.int64) if self.keys is None else [self.keys[row] for row in rows]
        columns: dict[str, Any] = {"key": _arrow_column(keys), "keep": self.keep}
        if self.earlier is None:
            columns["kept_key"] = columns["key"].take(pa.array(self.keeper))
        else:
            columns["kept_key"] = _arrow_column(of_one_kind([self.kept_key(row) for row in rows]))
        columns |= {"similarity": self.similarity, "group": self.labels}
        if self.earlier is not None:
            columns["earlier"] = self.keeper < 0
        return pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def of_one_kind(keys: list[Any]) -> list[Any]:
    """Return keys, as strings if they are of several types: ids of a run, and others of an index."""
    return list(map(str, keys)) if len(set(map(type, keys))) > 1 else keys


def _arrow_column(keys: Any) -> Any:
    pa = optional("pyarrow")
    try:
        return pa.array(keys)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"these keys are no Arrow column: {error}") from None


def _equal(a: Any, b: Any) -> bool:
    """Compare two attributes of results; keys that are made when asked for compare as lists."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        return len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))
    return bool(a == b)
