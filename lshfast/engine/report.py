"""Results of runs: the kept and removed rows, and the figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast.common.display import Figure, Shown, counted, figure
from lshfast.common.extras import optional
from lshfast.common.types import BoolArray, Float64Array, Int64Array
from lshfast.engine.display import (
    SIMILARITY_KINDS,
    SIMILARITY_NAMES,
    Account,
    delimiter_figures,
    empty_note,
    groups_figure,
    place_of_recall,
    removed_as_html,
)
from lshfast.engine.display import Stage as Stage  # for those that import it from here
from lshfast.engine.plan import Verify
from lshfast.join.jaccard import PairMeasure

# Rows that are converted to Python objects at a time.
ROWS_AT_ONCE = 4096


class Removal(NamedTuple):
    """Describe a removed row.

    Attributes
    ----------
    key : object
        Key of the removed row.
    kept_key : object
        Key of the row, or of the earlier entry of an index, that is kept instead of it.
    similarity : float
        Similarity of the two, in [0, 1]; with measure="containment", how much of the removed row the kept one contains.

    Examples
    --------
    >>> import lshfast
    >>> lshfast.dedup(["one two three", "One, two, three!"]).removed
    [Removal(key=1, kept_key=0, similarity=1.0)]
    """

    key: Any
    kept_key: Any
    similarity: float


class Decision(NamedTuple):
    """Describe what a run decided for a row.

    Attributes
    ----------
    key : object
        Key of the row.
    keep : bool
        Whether the row is kept.
    kept_key : object
        Key of the row, or of the earlier entry of an index, that is kept instead; `key` if the row is kept.
    similarity : float
        Similarity of the row to that one, in [0, 1]; 1 if the row is kept.
    group : int
        Number of the first row of the group.
    """

    key: Any
    keep: bool
    kept_key: Any
    similarity: float
    group: int


IGNORED = "different shingles that are common and did not count"


@dataclass(frozen=True, repr=False, kw_only=True)
class Summary(Account):
    """Hold the figures of a deduplication.

    Two summaries are equal if all attributes except `candidates`, `stages` and `seconds` are equal. A notebook shows a
    table.

    Attributes
    ----------
    read, kept, removed, rejected, empty : int
        Numbers of rows. read = kept + removed + rejected. Empty rows have no shingles and are kept.
    earlier : int
        Rows that were removed for an earlier entry of an index, by estimated similarity. `copies`, `candidates`,
        `pairs`, `groups` and `largest_group` describe the other rows.
    copies : int
        Rows with exactly the same tokens as an earlier row.
    candidates : int
        Pairs that were compared. Where many rows share buckets, bounds on hashes under the key of the run decide which
        pairs need no comparison, so this figure can differ a little from run to run. With `memory`, the pairs of rows
        that are ruled out before the second reading are not counted.
    pairs : int
        Similar pairs in `DedupResult.pairs`.
    groups : int
        Groups of two or more rows.
    largest_group : int
        Rows in the largest group.
    bands, rows_per_band : int
        b and r of the banding; 0 for an exact join.
    recall : float
        Probability, in (0, 1], that a pair whose similarity equals the threshold is found; with containment, a pair of
        sets of one size.
    verify : {"exact", "signature", "none"}
        Kind of the similarities: exact, estimated, or estimated without a comparison with the threshold.
    measure : {"jaccard", "containment"}
        What the similarities are.
    stages : dict of str to Stage
        Seconds and bytes of each stage. With several threads, reading and sketching overlap; for each, the time that
        the run waited for it is counted.
    seconds : float
        Time from the first row to the last group, in seconds.
    indexed : int or None
        Entries of the index that are new or replaced; None if no rows were inserted into an index.
    advice : str
        Better shingles (see `recommend`) if most texts are too short for those of the run; otherwise "".
    delimiters : dict of str to str
        The delimiters of CSV and TSV inputs that are not the comma, or the tab of TSV, by the names of the files.
    ignored_shingles : int or None
        Different shingles that did not count because they are common; None without `ignore_common`.
    top, most : int or None, float or None
        Which pairs are listed and counted in `pairs`; None for all.

    Raises
    ------
    RuntimeError
        If `read` is not kept + removed + rejected.

    Examples
    --------
    >>> import lshfast
    >>> summary = lshfast.dedup(["one two three", "One, two, three!", ""]).summary
    >>> summary.read, summary.kept, summary.removed, summary.empty
    (3, 2, 1, 1)
    """

    AFTERWARDS: ClassVar[tuple[str, ...]] = "write", "save"

    kept: int
    removed: int
    empty: int
    copies: int
    candidates: int = field(compare=False)
    pairs: int
    groups: int
    largest_group: int
    bands: int
    rows_per_band: int
    recall: float
    verify: Verify
    earlier: int = 0
    indexed: int | None = None
    measure: PairMeasure = "jaccard"
    ignored_shingles: int | None = None
    top: int | None = None
    most: float | None = None

    def figures(self, removing: bool = True) -> Iterator[Figure]:
        """Yield the lines of a table for a terminal, those of removal only if `removing`."""
        copies = counted(self.copies, "exact copy", "exact copies")
        yield figure("read", self.read, empty_note(self.empty), f"{copies} of earlier rows" if self.copies else "")
        if removing:
            estimates = "by estimates, which miss about half of the rows exactly at the threshold"
            earlier = f"{self.earlier:,} of them for an earlier entry, {estimates}" if self.earlier else ""
            yield figure("kept", self.kept)
            yield figure("removed", self.removed, earlier)
        yield figure("rejected", self.rejected)
        if removing:
            yield figure("", "", f"{self.parts} = {self.read:,} read")
        if self.indexed is not None:
            yield figure("indexed", self.indexed, "kept rows that are new or replaced in the index")
        found = "recall" if self.verify != "signature" else "recall of candidates, before estimates are compared,"
        kind = f"{SIMILARITY_NAMES[self.measure]}: {SIMILARITY_KINDS[self.verify]}"
        yield figure("candidates", self.candidates)
        copies = f"{self.copies:,} with exact copies" if self.copies and self.most in (None, 1) else ""
        most = "" if self.most is None else f"of at most {self.most:g}"
        top = "" if self.top is None else f"those with the {self.top} most similar of a row"
        yield figure("pairs", self.pairs, most, top, copies, kind)
        if removing or self.largest_group:  # not of a run on Spark that finds pairs only
            yield groups_figure(self.groups, self.largest_group, "row")
        if self.bands:
            recall = f"{found} {place_of_recall(self.measure)}: {self.recall:.4f}"
            yield figure("bands x rows", f"{self.bands} x {self.rows_per_band}", recall)
        else:
            yield figure("join", "exact", "every similar pair is found")
        if self.ignored_shingles is not None:
            yield figure("ignored", self.ignored_shingles, IGNORED)

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        return "Summary", _figures(self), self.advice


def _figures(s: Summary) -> Iterator[Figure]:
    """Yield the lines of the table; counts that are 0 in most runs are omitted if they are 0."""
    yield Figure("read", f"{s.read:,}", f"without shingles: {s.empty:,}")
    yield Figure("kept", f"{s.kept:,}")
    earlier = f"; for earlier entries: {s.earlier:,}" if s.earlier else ""
    yield Figure("removed", f"{s.removed:,}", f"copies of earlier rows: {s.copies:,}{earlier}")
    if s.rejected:
        yield Figure("rejected", f"{s.rejected:,}")
    if s.indexed is not None:
        yield Figure("indexed", f"{s.indexed:,}", "kept rows that are new or replaced in the index")
    kind = f"{SIMILARITY_NAMES[s.measure]}: {SIMILARITY_KINDS[s.verify]}"
    yield Figure("pairs", f"{s.pairs:,}", f"{kind}; candidates: {s.candidates:,}")
    yield Figure("groups", f"{s.groups:,}", f"rows of the largest: {s.largest_group:,}")
    if s.bands:
        yield Figure(
            "bands x rows", f"{s.bands} x {s.rows_per_band}", f"recall {place_of_recall(s.measure)}: {s.recall:.4f}"
        )
    else:
        yield Figure("join", "exact", "every similar pair is found")
    if s.ignored_shingles is not None:
        yield Figure("ignored", f"{s.ignored_shingles:,}", IGNORED)
    yield from delimiter_figures(s.delimiters)
    yield Figure("seconds", f"{s.seconds:,.2f}")


@dataclass(frozen=True, eq=False, repr=False)
class DedupResult(Shown):
    """Hold the result of `dedup` for n rows, and the figures of the run.

    ``len(result)`` is n, and iterating yields one `Decision` for each row. Two results are equal if their arrays and
    keys are equal, and their summaries are equal. pyarrow, polars and pandas accept a result as a table (see
    `to_arrow`), for example ``pandas.DataFrame(result)``. A terminal and a notebook show the figures.

    Attributes
    ----------
    keep : ndarray of bool, shape (n,)
        True for the rows that are kept.
    labels : ndarray of int64, shape (n,)
        The smallest row of each row's group. Rows that were removed for the same earlier entry are one group.
    keeper : ndarray of int64, shape (n,)
        The row that is kept instead of each row: the row itself if it is kept, -1 if it was removed for an earlier
        entry.
    similarity : ndarray of float64, shape (n,)
        Similarity of each row to its keeper, in [0, 1]; for an earlier entry, the estimate by signatures. With
        measure="containment", how much of the row the keeper contains.
    pairs : structured ndarray with fields i, j (int64, i < j) and similarity (float64)
        The similar pairs that determine the groups, sorted by (i, j). For stars: each removed row with its keeper. For
        components: enough pairs to connect the rows of each group. An exact copy is paired with the first row that has
        the same tokens. A row that was removed for an earlier entry is in no pair. To find all similar pairs, use
        `lshfast.pairs`, or let `dedup_files` write them to a file.
    summary : Summary
    keys : sequence or None
        Keys of the rows; None if the row numbers are the keys.
    earlier : list or None
        For each row the key of the earlier entry that it was removed for, or None; None if there was no index.

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

    def __iter__(self) -> Iterator[Decision]:
        for start in range(0, len(self), ROWS_AT_ONCE):
            rows = range(len(self))[start : start + ROWS_AT_ONCE]
            keys = rows if self.keys is None else (self.keys[row] for row in rows)
            keep, similarity, labels = (
                column[rows.start : rows.stop].tolist() for column in (self.keep, self.similarity, self.labels)
            )
            yield from map(Decision, keys, keep, map(self.kept_key, rows), similarity, labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DedupResult):
            return NotImplemented
        return all(_equal(getattr(self, name.name), getattr(other, name.name)) for name in fields(self))

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        return f"DedupResult of {counted(len(self), 'row')}", _figures(self.summary), self.summary.advice

    def _repr_html_(self) -> str:
        return super()._repr_html_() + removed_as_html(self.iter_removed(), self.summary.removed, self.summary.measure)

    @property
    def removed(self) -> list[Removal]:
        """One `Removal` for each removed row, in row order."""
        return list(self.iter_removed())

    def iter_removed(self) -> Iterator[Removal]:
        """Yield one `Removal` for each removed row, in row order.

        Yields
        ------
        Removal

        Examples
        --------
        >>> import lshfast
        >>> next(lshfast.dedup(["one two three", "One, two, three!"]).iter_removed())
        Removal(key=1, kept_key=0, similarity=1.0)
        """
        for row in np.flatnonzero(~self.keep).tolist():
            key = row if self.keys is None else self.keys[row]
            yield Removal(key, self.kept_key(row), float(self.similarity[row]))

    def kept_key(self, row: int) -> Any:
        """Return the key of the row, or of the earlier entry, that is kept instead of a row.

        Parameters
        ----------
        row : int
            In -n..n - 1.

        Returns
        -------
        object
            The key of the row itself if it is kept.

        Raises
        ------
        IndexError
            If there is no such row.

        Examples
        --------
        >>> import lshfast
        >>> lshfast.dedup(["one two three", "One, two, three!"], keys=["a", "b"]).kept_key(1)
        'a'
        """
        keeper = int(self.keeper[row])
        if keeper < 0 and self.earlier is not None:
            return self.earlier[row]
        return keeper if self.keys is None else self.keys[keeper]

    def to_arrow(self) -> Any:
        """Convert the result to a table with one row for each row of the input, in order.

        Returns
        -------
        pyarrow.Table
            key : key of the row; its number (int64) if no keys were given.
            keep : bool, whether the row is kept.
            kept_key : key of the row or earlier entry that is kept instead; the key of the row itself if it is kept.
            similarity : double, similarity to that row or entry; 1 if the row is kept.
            group : int64, number of the first row of the group.
            earlier : bool, whether the row was removed for an earlier entry; only after a run against an index.

            If keys of rows and of earlier entries have different types, `kept_key` contains strings.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        TypeError
            If Arrow has no type for the keys.

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
    """Return keys; convert them to strings if they have several types, as ids of a run and keys of an index can."""
    return list(map(str, keys)) if len(set(map(type, keys))) > 1 else keys


def _arrow_column(keys: Any) -> Any:
    pa = optional("pyarrow")
    try:
        return pa.array(keys)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"these keys are no Arrow column: {error}") from None


def _equal(a: Any, b: Any) -> bool:
    """Compare two attributes of results; lazy sequences of keys compare as lists."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        return len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))
    return bool(a == b)
