"""The counts and the example rows that the page of a deduplication shows with its account."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from lshfast._common.arrow_columns import checked_column, objects_of
from lshfast._common.choices import NormalForm
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast._engine.account.summary import Summary
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.plan import AnyPlan
from lshfast._io.pages.differences import (
    EVERYTHING,
    Counting,
    Differences,
    Span,
    compare,
    excerpt,
)
from lshfast._io.pages.page import over_range, short
from lshfast.join.pair_arrays import PAIR
from lshfast.kernels.text import Texts
from lshfast.shingling import normalized

# Rows that are shown with their texts, besides some over the whole range: the least similar ones,
# and of each large group.
LEAST = 8
LARGE_GROUPS = 6
OF_GROUP = 2

# Characters that are kept of a text, several times as many as `compare` compares.
TEXT_CHARACTERS = 1 << 20

COLUMNS = 40  # of the histogram, from 0 to 1

# What rows are examples of: removed rows (True), or similar pairs.
LEAST_SIMILAR = {
    True: "The least similar rows that were removed",
    False: "The least similar pairs",
}
WHOLE_RANGE = {
    True: "Removed rows over the whole range of similarities",
    False: "Pairs over the whole range of similarities",
}


class Decided(Protocol):
    """The decisions of a run for n rows: a `DedupResult`, or a part of it."""

    @property
    def keep(self) -> BoolArray: ...
    @property
    def labels(self) -> Int64Array: ...
    @property
    def keeper(self) -> Int64Array: ...
    @property
    def similarity(self) -> Float64Array: ...
    @property
    def keys(self) -> Sequence[Any] | None: ...
    @property
    def earlier_texts(self) -> Sequence[str | None] | None: ...
    @property
    def summary(self) -> Summary: ...
    def kept_key(self, row: int) -> Any: ...


class Compared(NamedTuple):
    """Two rows that are shown, and their similarity; `other` is -1 for an entry of an index."""

    row: int
    other: int
    similarity: float


class ExamplePair(NamedTuple):
    """Two rows side by side: their keys, similarity, and texts if they are shown."""

    key: str
    other_key: str
    similarity: float
    left: list[Span]
    right: list[Span]


class InputRows(NamedTuple):
    """Rows of one input, or of one value of a column."""

    name: str
    read: int
    removed: int

    @property
    def share(self) -> float:
        """The share that was removed, in [0, 1]."""
        return self.removed / max(self.read, 1)


class ComparedForm(NamedTuple):
    """In which form values are shown, and what counts when their differences are marked.

    The defaults are for values that a run does not compare as texts, such as elements of sets.
    """

    normalize: NormalForm = "none"
    counting: Counting = EVERYTHING
    in_order: bool = True

    def differences(self, first: str, second: str) -> Differences:
        """Return the spans of two texts."""
        if self.normalize != "none":
            normal = normalized(Texts([first, second]), self.normalize)
            first = normal[0].decode()
            second = normal[1].decode()
        return compare(first, second, self.counting, self.in_order)


AS_THEY_ARE = ComparedForm()


def compared_form(plan: AnyPlan) -> ComparedForm:
    """Return the form in which a run compares its items."""
    if plan.of_texts is None:
        return ComparedForm(in_order=plan.kind not in ("set", "weighted"))
    shingles = plan.of_texts.shingles
    counting = Counting(
        case=not shingles.lowercase,
        punctuation=shingles.unit in ("char", "symbol"),
        white_space=shingles.unit == "char",
    )
    return ComparedForm(shingles.normalize, counting)


@dataclass(frozen=True)
class Evidence:
    """The parts of a page that do not come from the summary.

    Attributes
    ----------
    similarities : ndarray of int64, shape (COLUMNS + 1,)
        Removed rows by similarity to the row kept instead, in COLUMNS equal parts of [0, 1), and at
        1.
    group_sizes : dict of int to int
        How many groups of two or more rows there are of each size, without rows that were removed
        for an earlier one.
    examples : dict of str to list of ExamplePair
        By what they are examples of.
    inputs : sequence of InputRows
    form : ComparedForm
        Of the values of the examples.
    """

    similarities: Int64Array
    group_sizes: Mapping[int, int]
    examples: Mapping[str, list[ExamplePair]]
    inputs: Sequence[InputRows] = field(default_factory=tuple)
    form: ComparedForm = AS_THEY_ARE


TextsOf: TypeAlias = Callable[[Int64Array], Mapping[int, str]]


def evidence_of(
    result: Decided,
    texts_of: TextsOf | None,
    inputs: Sequence[InputRows] = (),
    radius: float | None = None,
    form: ComparedForm = AS_THEY_ARE,
) -> Evidence:
    """Return the evidence of the removed rows of a result.

    Parameters
    ----------
    result : Decided
    texts_of : callable, optional
        Returns the texts of some ascending rows, by row. Without it no texts are shown.
    inputs : sequence of InputRows
    radius : float, optional
        The radius of a run by distance, which then takes the place of the similarity.
    form : ComparedForm
        Of the texts.
    """
    removed = np.flatnonzero(~result.keep)
    similarity = closeness(np.nan_to_num(result.similarity[removed]), radius)
    sizes = np.bincount(result.labels, minlength=1)
    pairs_by_reason = {
        reason: [
            Compared(row, int(result.keeper[row]), float(result.similarity[row]))
            for row in rows.tolist()
        ]
        for reason, rows in _choices(result, removed, similarity, sizes)
    }
    return _evidence(
        result, counts_of(similarity), pairs_by_reason, texts_of, inputs, form
    )


def evidence_of_pairs(
    sample: SampledPairs,
    result: Decided,
    texts_of: TextsOf | None,
    inputs: Sequence[InputRows] = (),
    form: ComparedForm = AS_THEY_ARE,
) -> Evidence:
    """Return the evidence of similar pairs; parameters as for `evidence_of`."""
    return _evidence(result, sample.counts, sample.chosen(), texts_of, inputs, form)


def texts_of_column(column: Sequence[Any]) -> TextsOf:
    """Return a function that looks up texts or sets in a sequence or a column."""
    checked_column(column, "texts")

    def texts_of(rows: Int64Array) -> dict[int, str]:
        if hasattr(column, "take") and not isinstance(column, np.ndarray):
            items = column.take(rows)
        elif hasattr(column, "gather"):
            items = column.gather(rows)
        else:
            items = [column[row] for row in rows.tolist()]
        return dict(
            zip(rows.tolist(), map(_text, objects_of(items, "texts")), strict=True)
        )

    return texts_of


def _text(item: Any) -> str:
    """Return a text, or the elements of a set in order."""
    if item is None or isinstance(item, str):
        return item or ""
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return " ".join(sorted(map(str, item))) if isinstance(item, Iterable) else str(item)


class SampledPairs:
    """A sample of similar pairs, taken in batches: the least similar, and some of each band.

    Parameters
    ----------
    radius : float, optional
        The radius of a run by distance, which then takes the place of the similarity.

    Attributes
    ----------
    counts : ndarray of int64, shape (COLUMNS + 1,)
        As `Evidence.similarities`, for all pairs.
    """

    counts: Int64Array

    def __init__(self, radius: float | None = None) -> None:
        self._radius = radius
        self.counts = np.zeros(COLUMNS + 1, np.int64)
        self._least = np.empty(0, PAIR)
        self._of_column: dict[int, Compared] = {}

    def of(self, batches: Iterable[PairArray]) -> Iterator[PairArray]:
        """Yield the batches, and look at them."""
        for pairs in batches:
            nearness = closeness(pairs["similarity"], self._radius)
            self.counts += counts_of(nearness)
            least = np.concatenate((self._least, pairs))
            self._least = least[
                np.argsort(closeness(least["similarity"], self._radius), kind="stable")[
                    :LEAST
                ]
            ]
            columns, first = np.unique(columns_of(nearness), return_index=True)
            for column, place in zip(columns.tolist(), first.tolist(), strict=True):
                self._of_column.setdefault(column, Compared(*pairs[place].tolist()))
            yield pairs

    def chosen(self) -> dict[str, list[Compared]]:
        """Return the pairs that are shown."""
        least = [Compared(*pair) for pair in self._least.tolist()]
        columns = sorted(self._of_column)
        places = over_range(len(columns)).tolist()
        pairs_of_columns = [self._of_column[columns[place]] for place in places]
        return {
            LEAST_SIMILAR[False]: least,
            WHOLE_RANGE[False]: [
                pair for pair in pairs_of_columns if pair not in least
            ],
        }


def of_large_group(size: int, first: object) -> str:
    """Return the heading of example rows of a large group, named by its first row's key."""
    return f"Of the group of {size:,} rows that begins with {short(first, 60)}"


def places_in_group(removed: int) -> list[int]:
    """Return which of the removed rows of a large group are shown: up to OF_GROUP places."""
    return list(range(0, removed, max(1, removed // OF_GROUP)))[:OF_GROUP]


def closeness(values: Float64Array, radius: float | None) -> Float64Array:
    """Return similarities as they are, and distances as 1 - the share of the radius."""
    return values if radius is None else 1 - values / (radius or 1.0)


def counts_of(similarity: Float64Array) -> Int64Array:
    """Return how many similarities are in each column of the histogram, and how many are 1."""
    return np.bincount(columns_of(similarity), minlength=COLUMNS + 1).astype(np.int64)


def columns_of(similarity: Float64Array) -> Int64Array:
    """Return the column of the histogram for each similarity; the last one is for 1."""
    return np.clip(np.floor(similarity * COLUMNS), 0, COLUMNS).astype(np.int64)


def _evidence(
    result: Decided,
    counts: Int64Array,
    pairs_by_reason: Mapping[str, list[Compared]],
    texts_of: TextsOf | None,
    inputs: Sequence[InputRows],
    form: ComparedForm,
) -> Evidence:
    rows = set[int]()
    for pairs in pairs_by_reason.values():
        for pair in pairs:
            rows.update(row for row in (pair.row, pair.other) if row >= 0)
    texts: Mapping[int, str] | None = None
    if texts_of is not None:
        texts = texts_of(np.array(sorted(rows), np.int64)) if rows else {}
    examples = {
        reason: [_example(result, pair, texts, form) for pair in pairs]
        for reason, pairs in pairs_by_reason.items()
        if pairs
    }
    return Evidence(counts, group_sizes_of(result), examples, inputs, form)


def group_sizes_of(result: Decided) -> dict[int, int]:
    """Return how many groups of two or more rows there are of each size.

    Rows that were removed for an earlier one are in none, as in `Summary.groups`.
    """
    sizes = np.bincount(result.labels[result.keeper >= 0], minlength=1)
    values, counts = np.unique(sizes[sizes > 1], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _choices(
    result: Decided, removed: Int64Array, similarity: Float64Array, sizes: Int64Array
) -> Iterator[tuple[str, Int64Array]]:
    """Yield reasons and rows to show: one row of each group at most, except of the largest."""
    order = removed[np.argsort(similarity, kind="stable")]
    _, first = np.unique(result.labels[order], return_index=True)
    one_of_each_group = order[np.sort(first)]  # the least similar row of each group
    yield LEAST_SIMILAR[True], one_of_each_group[:LEAST]
    further_rows = order[~np.isin(order, one_of_each_group[:LEAST])]
    yield WHOLE_RANGE[True], further_rows[over_range(len(further_rows))]
    largest = np.argsort(-sizes, kind="stable")[:LARGE_GROUPS]
    for group in largest[sizes[largest] > 2].tolist():
        rows_of_group = removed[result.labels[removed] == group]
        key = result.keys[group] if result.keys is not None else group
        places = places_in_group(len(rows_of_group))
        yield of_large_group(int(sizes[group]), key), rows_of_group[places]


def _example(
    result: Decided,
    pair: Compared,
    texts: Mapping[int, str] | None,
    form: ComparedForm,
) -> ExamplePair:
    keys = [
        str(row if result.keys is None else result.keys[row])
        for row in (pair.row, max(pair.other, 0))
    ]
    if pair.other < 0:
        keys[1] = str(result.kept_key(pair.row))
    earlier_text = None
    if pair.other < 0 and result.earlier_texts is not None:
        earlier_text = result.earlier_texts[pair.row]
    spans: tuple[list[Span], list[Span]] = ([], [])
    if texts is not None:
        spans = compared_spans(pair, texts, earlier_text, form)
    return ExamplePair(keys[0], keys[1], pair.similarity, *spans)


def compared_spans(
    pair: Compared,
    texts: Mapping[int, str],
    earlier_text: str | None = None,
    form: ComparedForm = AS_THEY_ARE,
) -> tuple[list[Span], list[Span]]:
    """Return the texts of two rows with their differences; an entry of an index may have none."""
    removed_text = texts[pair.row]
    if pair.other < 0 and earlier_text is None:
        reason = Span(
            "gap",
            "an entry of the index, which stores no texts; a second --against, with the file that "
            "has the text, shows it in a run in memory",
        )
        return excerpt(removed_text), [reason]
    kept_text = texts[pair.other] if earlier_text is None else earlier_text
    return form.differences(removed_text[:TEXT_CHARACTERS], kept_text[:TEXT_CHARACTERS])
