"""The search of an index of any kind: its options, and the matches of rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from lshfast._common.checks import check_least
from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.decimal_codes import warn_of_decimal_codes
from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.frame import Job
from lshfast._engine.indexes.files import plan_of_any
from lshfast._engine.indexes.items import Apart
from lshfast._engine.indexes.run_indexes import naming
from lshfast._engine.inputs import text_batches
from lshfast._engine.sketching import column_of_batch, sketched
from lshfast._io import Corpus
from lshfast._items.measures import check_most_by, is_distance
from lshfast._items.sets import SetReader
from lshfast.index.keys import listed
from lshfast.kernels.text import Texts
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast._engine.indexes.files import OpenedIndex
    from lshfast._engine.indexes.items import ItemIndex
    from lshfast._items.items import PointBatch
    from lshfast.index.lsh_index import LSHIndex


@dataclass(frozen=True)
class NearQuery:
    """The options of a search for the entries near to a row.

    Attributes
    ----------
    k : int, optional
        Only the k most similar entries.
    threshold, radius : float, optional
        Only entries with this least similarity, or greatest distance. By default the
        bound of the index; none with `k`.
    measure : str, optional
        One of the measures of the index, by default the first one.
    most, least : float, optional
        Only entries with this greatest similarity, or least distance: close, but no copies.
    threads : int, optional
        By default the CPUs that the process may use.
    """

    k: int | None = None
    threshold: float | None = None
    radius: float | None = None
    measure: ItemMeasure | None = None
    most: float | None = None
    least: float | None = None
    threads: int | None = None

    @property
    def unbounded(self) -> bool:
        """Whether entries may be at any distance."""
        return self.threshold == 0 or (
            self.k is not None and self.threshold is None and self.radius is None
        )


class FoundEntries(NamedTuple):
    """The matches of consecutive rows: row i has matches offsets[i] to offsets[i + 1].

    `values` are similarities or distances, and `empty` is the number of rows that have nothing to
    be looked up.
    """

    offsets: Int64Array
    keys: list[Any]
    values: list[float]
    empty: int


class SetSearch:
    """The search of an index of texts or sets.

    Attributes
    ----------
    plan : Plan
    bound : float or None
        The least similarity; None if there is none.
    """

    def __init__(
        self,
        index: LSHIndex,
        path: str,
        query: NearQuery,
        kind: Kind | None,
    ) -> None:
        if query.radius is not None:
            raise ValueError(
                f"radius is for distances: give a threshold, not {query.radius}"
            )
        if query.measure not in (None, "jaccard"):
            raise ValueError(
                f"measure must be jaccard for this index, not {query.measure!r}"
            )
        self.plan: Any = plan_of_any(index, path, kind, query.threads)
        self._index = index
        self._k = query.k
        self._least = query.threshold
        if query.k is None and query.threshold is None:
            self._least = index.parameters.threshold or 0.0
        self.bound: float | None = self._least or None
        with naming(path):
            self.apart = check_apart(query, "jaccard", self._least or 0.0)

    @property
    def recall(self) -> float:
        """The probability that an entry at the bound is a candidate."""
        return float(self._index.bands.probability(self._least or 0.0))

    def one(self, text: str) -> FoundEntries:
        """Look up one text, or one set in a text."""
        is_set = self.plan.kind == "set"
        one = _read_one(text, SetReader().read) if is_set else Texts([text])
        column = column_of_batch(one, self.plan)
        return self._found(
            self.plan.hasher.sketch(column.tokens(self.plan.hasher.seed), threads=1)
        )

    def every(
        self, corpus: Corpus, job: Job, progress: Progress | None
    ) -> Generator[FoundEntries]:
        """Look up the rows of a corpus, some at a time."""
        texts = text_batches(corpus, progress)
        pieces = sketched(
            texts,
            self.plan,
            job.clock,
            lambda piece: self._found(piece.signatures),
            progress,
        )
        with closing(pieces) as entries:
            yield from entries

    def _found(self, signatures: UInt64Array) -> FoundEntries:
        matches: Any = self._index.query(
            signatures,
            k=self._k,
            threshold=self._least,
            most=self.apart.most,
            threads=1,
        )
        empty = int((signatures[:, 0] == EMPTY).sum())
        similarities = matches.similarity.tolist()
        return FoundEntries(matches.offsets, listed(matches.keys), similarities, empty)


class PointSearch:
    """The search of an index of vectors, codes or weighted sets; see `SetSearch`."""

    def __init__(
        self,
        index: ItemIndex[Any],
        query: NearQuery,
        kind: Kind | None,
    ) -> None:
        self.plan = index.plan(
            kind,
            query.measure,
            query.threshold,
            query.radius,
            unbounded=query.unbounded,
            threads=query.threads,
        )
        self._index = index
        self._k = query.k
        self.bound: float | None = None if query.unbounded else self.plan.bound
        with naming(index.name):
            self.apart = check_apart(query, self.plan.measure, self.plan.bound)

    @property
    def recall(self) -> float:
        """The probability that an entry at the bound is found."""
        return 1.0 if self.bound is None else self._index.recall(self.plan)

    def one(self, text: str) -> FoundEntries:
        """Look up one vector, code or weighted set in a text."""
        reader = self._index.reader(self.plan)
        item = _read_one(text, reader.read)
        warn_of_decimal_codes(reader.advice)
        return self._found(item)

    def every(
        self, corpus: Corpus, job: Job, progress: Progress | None
    ) -> Generator[FoundEntries]:
        """Look up the rows of a corpus, some at a time."""
        for batch in job.points(corpus, progress):
            with job.clock.stage("query", batch.nbytes):
                entries = self._found(batch)
            yield entries

    def _found(self, batch: PointBatch) -> FoundEntries:
        offsets, keys, values = self._index.answers(
            self._index.points_of(batch.words), self.plan, self._k, self.apart
        )
        places = np.cumsum(np.concatenate([[False], ~batch.missing]), dtype=np.int64)
        return FoundEntries(
            offsets[places], keys, values.tolist(), int(np.count_nonzero(batch.missing))
        )


Search: TypeAlias = SetSearch | PointSearch


def search_of(
    index: OpenedIndex, path: str, query: NearQuery, kind: Kind | None
) -> Search:
    """Return the search of an index in a file; `kind` is what the user says that the items are."""
    if index.holds == "set":
        return SetSearch(cast("LSHIndex", index), path, query, kind)
    return PointSearch(cast("ItemIndex[Any]", index), query, kind)


def check_apart(query: NearQuery, measure: ItemMeasure, bound: float) -> Apart:
    """Return the bound of a search beyond which entries are copies, or raise an error."""
    if is_distance(measure):
        check_most_by(measure, bound, query.most)
        return Apart(least=check_least(query.least, bound))
    if query.least is not None:
        raise ValueError(
            f"least is a lower bound of distances, and measure={measure!r} is a similarity: give "
            f"most, not {query.least}"
        )
    check_most_by(measure, bound, query.most)
    return Apart(most=query.most)


def _read_one(
    text: str, convert: Callable[[Sequence[Any]], tuple[Any, dict[int, str]]]
) -> Any:
    """Return the item in a text, in a batch of its own."""
    items, bad = convert([text])
    if bad:
        raise ValueError(f"text: {bad[0]}")
    return items
