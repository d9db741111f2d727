"""Results of runs: the kept and removed rows, and the figures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.display import Figure, Shown, counted
from lshfast._common.extras import pa
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast._engine.account.display import (
    removed_as_html,
)
from lshfast._engine.account.summary import Summary as Summary
from lshfast._engine.account.summary import short_figures
from lshfast._items.measures import is_distance

if TYPE_CHECKING:
    from lshfast._engine.pages.explanation import Explanation
    from lshfast._io.pages.drawing import Drawing

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
        Similarity of the two, in [0, 1]; with measure="containment", how much of the removed row
        the kept one contains.

    See Also
    --------
    lshfast.DedupResult : What a deduplication returns.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Examples
    --------
    >>> import lshfast
    >>> lshfast.dedup(["one two three", "One, two, three!"]).removed
    [Removal(key=1, kept_key=0, similarity=1.0)]
    """

    key: Any
    kept_key: Any
    similarity: float


class DistanceRemoval(NamedTuple):
    """Describe a removed row of a run by distance.

    Attributes
    ----------
    key : object
        Key of the removed row.
    kept_key : object
        Key of the row that is kept instead of it.
    distance : float
        Distance of the two.

    Examples
    --------
    >>> import lshfast
    >>> lshfast.dedup([[0.0, 1.0], [0.0, 1.5]], measure="euclidean", radius=1).removed
    [DistanceRemoval(key=1, kept_key=0, distance=0.5)]
    """

    key: Any
    kept_key: Any
    distance: float


class Decision(NamedTuple):
    """Describe what a run decided for a row.

    Attributes
    ----------
    key : object
        Key of the row.
    keep : bool
        Whether the row is kept.
    kept_key : object
        Key of the row, or of the earlier entry of an index, that is kept instead; `key` if the row
        is kept.
    similarity : float
        Similarity of the row to that one, in [0, 1]; 1 if the row is kept. In a run by distance,
        their distance; 0 if the row is kept.
    group : int
        Number of the first row of the group.
    """

    key: Any
    keep: bool
    kept_key: Any
    similarity: float
    group: int


@dataclass(frozen=True, eq=False, repr=False)
class DedupResult(Shown):
    """Hold the result of `dedup` for n rows, and the figures of the run.

    ``len(result)`` is n, and iterating yields one `Decision` for each row. Two results are equal if
    their arrays and keys are equal, and their summaries are equal. pyarrow, polars and pandas
    accept a result as a table (see `to_arrow`), for example ``pandas.DataFrame(result)``. A
    terminal and a notebook show the figures.

    Attributes
    ----------
    keep : ndarray of bool, shape (n,)
        True for the rows that are kept.
    labels : ndarray of int64, shape (n,)
        The smallest row of each row's group. Rows that were removed for the same earlier entry are
        one group.
    keeper : ndarray of int64, shape (n,)
        The row that is kept instead of each row: the row itself if it is kept, -1 if it was removed
        for an earlier entry.
    similarity : ndarray of float64, shape (n,)
        Similarity of each row to its keeper, in [0, 1]; for an earlier entry, the estimate by
        signatures. With measure="containment", how much of the row the keeper contains. If
        `summary.measure` is a distance, the distance of each row to its keeper.
    pairs : structured ndarray with fields i, j (int64, i < j) and similarity, or distance (float64)
        The similar pairs that determine the groups, sorted by (i, j). For stars: each removed row
        with its keeper. For components: enough pairs to connect the rows of each group. An exact
        copy is paired with the first row that has the same tokens. A row that was removed for an
        earlier entry is in no pair. To find all similar pairs, use `lshfast.pairs`, or let
        `dedup_files` write them to a file.
    summary : Summary
    keys : sequence or None
        Keys of the rows; None if the row numbers are the keys.
    earlier : list or None
        For each row the key of the earlier entry that it was removed for, or None; None if there
        were no earlier rows.
    earlier_texts : sequence or None
        For each row the text of this entry, or None; None if no earlier texts were read or shown.
    estimated : ndarray of bool, shape (n,), or None
        Which rows were removed for an earlier entry by an estimated similarity; None if there were
        no earlier rows.
    same_key : ndarray of bool, shape (n,), or None
        Which rows were removed by their exact keys; their similarity is that of copies, 1 (a
        distance of 0), and their keeper is what is kept instead of the preferred row with their
        key. None without exact keys.
    options : dict
        The arguments of the run that decide its answer, as values of JSON, with the bands and rows
        that `recall` led to. Not compared.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.Summary : The figures of a run.
    lshfast.Removal : A removed row, and the row kept in its place.

    Examples
    --------
    >>> import lshfast
    >>> result = lshfast.dedup(
    ...     ["one two three", "One, two, three!", "four"], keys=["a", "b", "c"]
    ... )
    >>> len(result), result.keep.tolist()
    (3, [True, False, True])
    >>> result == lshfast.dedup(
    ...     ["one two three", "One, two, three!", "five"], keys=["a", "b", "c"]
    ... )
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
    earlier_texts: Sequence[str | None] | None = None
    estimated: BoolArray | None = None
    same_key: BoolArray | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keep)

    def __iter__(self) -> Iterator[Decision]:
        for start in range(0, len(self), ROWS_AT_ONCE):
            rows = range(len(self))[start : start + ROWS_AT_ONCE]
            keys = rows if self.keys is None else (self.keys[row] for row in rows)
            keep, similarity, labels = (
                column[rows.start : rows.stop].tolist()
                for column in (self.keep, self.similarity, self.labels)
            )
            yield from map(
                Decision, keys, keep, map(self.kept_key, rows), similarity, labels
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DedupResult):
            return NotImplemented
        return all(
            _equal(getattr(self, name.name), getattr(other, name.name))
            for name in fields(self)[:-1]
        )

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        return (
            f"DedupResult of {counted(len(self), 'row')}",
            short_figures(self.summary),
            self.summary.advice,
        )

    def _sentences(self) -> list[str]:
        from lshfast._engine.account.sentences import removal_sentences
        from lshfast._engine.plan import plan_of_options

        if not self.options:
            return []
        return removal_sentences(
            self.summary, plan_of_options(self.options, self.summary.items)
        )

    def _repr_html_(self) -> str:
        return super()._repr_html_() + removed_as_html(
            self.iter_removed(), self.summary.removed, self.summary.measure
        )

    @property
    def removed(self) -> list[Removal]:
        """One `Removal` (for distances, `DistanceRemoval`) for each removed row, in row order."""
        return list(self.iter_removed())

    def iter_removed(self) -> Iterator[Removal]:
        """Yield a `Removal` (for distances, `DistanceRemoval`) for each removed row, in row order.

        Yields
        ------
        Removal or DistanceRemoval

        Examples
        --------
        >>> import lshfast
        >>> next(lshfast.dedup(["one two three", "One, two, three!"]).iter_removed())
        Removal(key=1, kept_key=0, similarity=1.0)
        """
        make: Any = DistanceRemoval if is_distance(self.summary.measure) else Removal
        for row in np.flatnonzero(~self.keep).tolist():
            key = row if self.keys is None else self.keys[row]
            yield make(key, self.kept_key(row), float(self.similarity[row]))

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
        >>> lshfast.dedup(
        ...     ["one two three", "One, two, three!"], keys=["a", "b"]
        ... ).kept_key(1)
        'a'
        """
        keeper = int(self.keeper[row])
        if keeper < 0 and self.earlier is not None:
            return self.earlier[row]
        return keeper if self.keys is None else self.keys[keeper]

    def explain(self, key: Any, texts: Sequence[Any] | None = None) -> Explanation:
        """Explain why a row was removed or kept.

        Parameters
        ----------
        key : object
            The key of the row; its number if no keys were given.
        texts : sequence of length n, optional
            The texts of the rows, as they were given to `dedup`. With them, the explanation has
            what the row and the kept one share, and how they differ.

        Returns
        -------
        Explanation
            With the attributes kept, kept_key, similarity, group, shared and differences.

        Raises
        ------
        KeyError
            If no row has this key.
        ValueError
            If there is not one text for each row.
        ImportError
            If `texts` are given, and rapidfuzz is not installed (``pip install "lshfast[cli]"``).

        Examples
        --------
        >>> import lshfast
        >>> texts = ["the cat sat on the mat", "a dog", "The cat sat on the mat!"]
        >>> lshfast.dedup(texts).explain(2, texts)
        2: removed; 0 is kept instead
          similarity        1.0000   the threshold is 0.8
          group             2 rows   0 is kept; no other row was removed for it
          shingles               2   in both; 2 in this row, 2 in the other
          exact             1.0000   similarity of the two texts
          found with        1.0000   the probability that bands find a pair of this similarity
        <BLANKLINE>
          Passages that both have:
            The cat sat on the mat
        <BLANKLINE>
          2  (words of this row only are between [- and -], moved ones between < and >)
            The cat sat on the mat!
        <BLANKLINE>
          0  (words of this row only are between {+ and +})
            the cat sat on the mat
        """
        from lshfast._engine.pages.evidence import texts_of_column
        from lshfast._engine.pages.explanation import explain_row
        from lshfast._engine.plan import plan_of_options

        row = self._row_of(key)
        if texts is not None and len(texts) != len(self):
            raise ValueError(
                f"texts must have one text per row: {len(self)} texts, not {len(texts)}"
            )
        texts_of = None if texts is None else texts_of_column(texts)
        return explain_row(
            self, row, plan_of_options(self.options, self.summary.items), texts_of
        )

    def _row_of(self, key: Any) -> int:
        """Return the row of a key, or raise KeyError."""
        if self.keys is None:
            if isinstance(key, (int, np.integer)) and 0 <= key < len(self):
                return int(key)
        else:
            for row in range(len(self)):
                if self.keys[row] == key:
                    return row
        raise KeyError(key)

    def plot(self) -> Drawing:
        """Draw the similarities of removed rows, the curve of the plan, and the group sizes.

        Returns
        -------
        Drawing
            A notebook shows it; ``save("plot.svg")`` writes it.

        Raises
        ------
        ImportError
            If jinja2 is not installed (``pip install "lshfast[cli]"``); matplotlib is not needed.

        Examples
        --------
        >>> import lshfast
        >>> lshfast.dedup(
        ...     ["the cat sat on the mat", "The cat sat on the mat!", "a dog"]
        ... ).plot()
        <Drawing: Removed rows by similarity; not drawn: 1 of similarity 1; Groups by number
        of rows>
        """
        from lshfast._engine.pages.dedup import drawing_of

        return drawing_of(self, self.summary, self.options)

    def to_html(
        self,
        path: str | os.PathLike[str],
        texts: Sequence[Any] | None = None,
        *,
        title: str = "Near-duplicates",
        overwrite: bool = False,
    ) -> None:
        """Write a page that shows what was removed and why.

        The page needs no network and no script: the account, the similarities and the curve of the
        plan, the sizes of groups, and removed rows beside the kept ones.

        Parameters
        ----------
        path : path
            The file for the page, named .html.
        texts : sequence of length n, optional
            The texts or sets of the rows, as they were given to `dedup`: some are shown, with their
            differences marked. Without them, the page shows keys and similarities.
        title : str
            The title of the page.
        overwrite : bool, default False
            Replace an existing file.

        Raises
        ------
        ImportError
            If jinja2 or rapidfuzz is not installed (``pip install "lshfast[cli]"``).
        ValueError
            If the path has another suffix, or there is not one text for each row.
        OSError
            If the file exists, or cannot be written.

        Examples
        --------
        >>> import lshfast, os, tempfile
        >>> texts = ["the cat sat on the mat", "The cat sat on the mat!", "a dog"]
        >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
        >>> lshfast.dedup(texts).to_html(path, texts)
        >>> os.path.getsize(path) > 5000
        True
        """
        from lshfast._engine.pages.dedup import page_of, radius_of
        from lshfast._engine.pages.evidence import (
            compared_form,
            evidence_of,
            texts_of_column,
        )
        from lshfast._engine.pages.run_pages import PageOutput
        from lshfast._engine.plan import plan_of_options
        from lshfast._io.pages.page import check_page, write_page

        check_page(path)
        if texts is not None and len(texts) != len(self):
            raise ValueError(
                f"texts must have one text per row: {len(self)} texts, not {len(texts)}"
            )
        plan = plan_of_options(self.options, self.summary.items)
        evidence = evidence_of(
            self,
            None if texts is None else texts_of_column(texts),
            radius=radius_of(plan),
            form=compared_form(plan),
        )
        output = PageOutput(os.fspath(path), texts is not None)
        page = page_of(self.summary, self.options, evidence, output, title=title)
        write_page(path, page, overwrite)

    def to_arrow(self) -> Any:
        """Convert the result to a table with one row for each row of the input, in order.

        Returns
        -------
        pyarrow.Table
            key : key of the row; its number (int64) if no keys were given.
            keep : bool, whether the row is kept.
            kept_key : key of the row or earlier entry that is kept instead; of a kept row its own.
            similarity : double, similarity to that row or entry; 1 if the row is kept.
            group : int64, number of the first row of the group.
            earlier : bool, whether it was removed for an earlier entry; after a run against one.
            same_key : bool, whether it was removed by its exact key; after a run with such keys.

            If keys of rows and of earlier entries have different types, `kept_key` contains
            strings.

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
        rows = range(len(self))
        keys = (
            int64_range(len(self))
            if self.keys is None
            else [self.keys[row] for row in rows]
        )
        columns: dict[str, Any] = {"key": _arrow_column(keys), "keep": self.keep}
        if self.earlier is None:
            columns["kept_key"] = columns["key"].take(pa.array(self.keeper))
        else:
            columns["kept_key"] = _arrow_column(
                of_one_kind([self.kept_key(row) for row in rows])
            )
        columns |= {"similarity": self.similarity, "group": self.labels}
        if self.earlier is not None:
            columns["earlier"] = self.keeper < 0
        if self.same_key is not None:
            columns["same_key"] = self.same_key
        return pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def of_one_kind(keys: list[Any]) -> list[Any]:
    """Return keys of one type: as strings if they have several, like ids and index keys."""
    return list(map(str, keys)) if len(set(map(type, keys))) > 1 else keys


def _arrow_column(keys: Any) -> Any:
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
