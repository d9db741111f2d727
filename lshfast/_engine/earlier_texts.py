"""Runs against the texts of earlier rows: pairs of a new row and an earlier one are verified.

The new rows are in memory, and the earlier ones pass by once in pieces, so they take no memory but
for their ids. Without an index, a piece is sketched, and its candidates are the new rows that share
a bucket with it. With an index, the candidates are its entries, and only the texts of these are
compared. No more pairs at the threshold are missed than the bands promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, offsets_of, runs_of
from lshfast._common.types import (
    BoolArray,
    Float64Array,
    Int64Array,
    PairArray,
    UInt64Array,
)
from lshfast._engine.account.earlier import EarlierFigures
from lshfast._engine.against import Earlier
from lshfast._engine.clock import Clock
from lshfast._engine.columns import Column, KeyedRows, ShingledTexts
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import SketchedRows, processed, sketched
from lshfast.join.exact_join import join
from lshfast.join.jaccard import verify
from lshfast.join.pair_arrays import joined_pairs
from lshfast.join.screening import least_agreement
from lshfast.kernels.text import Texts
from lshfast.tokens import TokenSets

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.matches import Matches

# Rows of a query, and the matches of a row from which on it is queried alone, so that rows in large
# buckets take no memory for each pair of them: 24 bytes for a match.
QUERY_ROWS = 1 << 9
CROWD_MATCHES = 1 << 8

# Candidates that are compared at once, about. The texts of their new rows are hashed once for all
# of them, and not for each earlier row of a crowd.
BATCH_CANDIDATES = 1 << 18

# Candidates that are most pairs of some rows, as of a template, are found by an exact join, which
# compares few of the pairs below the threshold. They are at least LEAST_JOINED, and this share of
# all pairs. A join holds about MOST_JOINED_TOKENS tokens of each side, and up to MOST_JOINED_PAIRS.
LEAST_JOINED = BATCH_CANDIDATES // 2
LEAST_JOINED_SHARE = 0.5
MOST_JOINED_TOKENS = 1 << 19
MOST_JOINED_PAIRS = 1 << 17

# The similar earlier rows with which a new row is compared: 4,000 near-copies of 4,000 earlier rows
# take 3.5 s of CPU time instead of 16 s.
MOST_SIMILAR_ROWS = 1 << 8


def _no_rejected_rows() -> int:
    return 0


@dataclass(frozen=True)
class EarlierRowsRead:
    """The earlier rows of a run, which are read once.

    Attributes
    ----------
    batches : iterable of Texts or Column
    keys_of : callable
        Returns the keys of some rows that were read.
    name : str
        What the rows are called in messages.
    shown : bool
        Whether the texts of rows that are kept instead of new ones are held.
    rejected : callable
        Returns the number of rows that could not be read.
    faults : callable
        Returns a context in which the error of a text names its file and line.
    """

    batches: Iterable[Texts | Column]
    keys_of: Callable[[Int64Array], Sequence[Any]]
    name: str = "against"
    shown: bool = True
    rejected: Callable[[], int] = _no_rejected_rows
    faults: Callable[[], AbstractContextManager[None]] = nullcontext


@dataclass(frozen=True)
class EarlierRowsOf:
    """What a run is compared with: the earlier rows, and an index of them if there is one."""

    texts: EarlierRowsRead
    index: LSHIndex | None = None


def find_earlier_texts(
    sketches: SketchedRows,
    plan: Plan,
    against: EarlierRowsOf,
    progress: Progress | None = None,
) -> Earlier:
    """Return the rows similar to an earlier row, with the most similar one (ties: the first).

    With an index, the earlier rows are its entries. Entries whose texts are not read are compared
    by their signatures, for rows that are similar to no text that is read.
    """
    texts = against.texts
    best = _MostSimilar(sketches, plan, texts.shown)
    with texts.faults():
        if against.index is None:
            buckets = _NewRowBuckets(sketches, plan)
            read_count = buckets.compare(texts.batches, best, progress)
            figures = EarlierFigures(plan.verify, read_count, texts.rejected())
            return best.earlier(texts.keys_of, figures)
        entries = _EntriesOfIndex(against.index, sketches, plan)
        read_count = entries.compare(texts, best, progress)
    if read_count and entries.unknown == read_count:
        raise ValueError(
            f"{texts.name}: none of its {read_count:,} ids is a key of the index; id_column "
            "(--id-column) names the column of the keys"
        )
    estimated = entries.add_unread(best)
    figures = EarlierFigures(
        plan.verify,
        read_count,
        texts.rejected(),
        entries.unknown,
        len(entries.unread),
        estimated,
    )
    return best.earlier(entries.keys_of, figures)


class _EarlierCandidates(NamedTuple):
    """Pairs of a new row and a place in a piece of earlier rows, with their estimates."""

    rows: Int64Array
    places: Int64Array
    estimates: Float64Array


def _least_estimate(plan: Plan) -> float:
    """Return the estimate from which pairs are compared, or are similar without a comparison."""
    if plan.verify == "none":
        return 0.0
    if plan.verify == "signature":
        return plan.threshold
    slots = plan.hasher.num_perm
    return least_agreement(slots, plan.threshold) / slots


def _first_copies(sketches: SketchedRows) -> Int64Array:
    """Return the rows that are no copies of earlier rows of the run, and not empty."""
    rows = int64_range(len(sketches))
    return np.flatnonzero((sketches.copies == rows) & ~sketches.empty)


def _queried(
    index: LSHIndex, signatures: UInt64Array, plan: Plan
) -> Iterator[tuple[_EarlierCandidates, Sequence[Any]]]:
    """Yield the matches of signatures, whose numbers are in `rows`, and their keys."""
    least = _least_estimate(plan)
    for start in range(0, len(signatures), QUERY_ROWS):
        piece = signatures[start : start + QUERY_ROWS]
        matches = index.query(
            piece, k=CROWD_MATCHES, threshold=least, threads=plan.threads
        )
        first = 0
        for place in np.flatnonzero(np.diff(matches.offsets) == CROWD_MATCHES).tolist():
            yield _candidates_of(matches, slice(first, place), start)
            all_matches = index.query(
                piece[place : place + 1], threshold=least, threads=plan.threads
            )
            yield _candidates_of(all_matches, slice(0, 1), start + place)
            first = place + 1
        yield _candidates_of(matches, slice(first, len(piece)), start)


def _batches(
    candidates: Iterable[_EarlierCandidates],
) -> Iterator[_EarlierCandidates]:
    """Join candidates into batches of at least BATCH_CANDIDATES, except for the last."""
    batch: list[_EarlierCandidates] = []
    count = 0
    for part in candidates:
        batch.append(part)
        count += len(part.rows)
        if count >= BATCH_CANDIDATES:
            yield _EarlierCandidates(*map(np.concatenate, zip(*batch, strict=True)))
            batch = []
            count = 0
    if batch:
        yield _EarlierCandidates(*map(np.concatenate, zip(*batch, strict=True)))


def _candidates_of(
    matches: Matches[Any], queries: slice, first_row: int
) -> tuple[_EarlierCandidates, Sequence[Any]]:
    """Return the matches of some queries, which are rows from `first_row` on, and their keys."""
    offsets = matches.offsets[queries.start : queries.stop + 1]
    piece = slice(int(offsets[0]), int(offsets[-1]))
    numbers = int64_range(queries.start, queries.stop) + first_row
    rows = np.repeat(numbers, np.diff(offsets))
    similarity = matches.similarity
    assert similarity is not None
    keys: Any = matches.keys
    return _EarlierCandidates(rows, rows, similarity[piece]), keys[piece]


class _NewRowBuckets:
    """The new rows by their buckets, in which the candidates of earlier rows are found."""

    def __init__(self, sketches: SketchedRows, plan: Plan) -> None:
        from lshfast._engine.indexes.run_indexes import new_index

        rows = _first_copies(sketches)
        self._plan = plan
        self._index = new_index(plan, "error")
        self._index.insert(rows, sketches.signatures[rows], copy=False)

    def compare(
        self,
        batches: Iterable[Texts | Column],
        best: _MostSimilar,
        progress: Progress | None,
    ) -> int:
        """Compare earlier rows with the new rows, and return the number of earlier rows."""
        first_row = 0
        pieces = sketched(batches, self._plan, Clock(), lambda piece: piece, progress)
        for piece in pieces:
            places = int64_range(len(piece.column))
            self.compare_piece(piece.column, first_row, places, piece.signatures, best)
            first_row += len(piece.column)
        return first_row

    def compare_piece(
        self,
        column: Column,
        first_row: int,
        places: Int64Array,
        signatures: UInt64Array,
        best: _MostSimilar,
    ) -> Int64Array:
        """Compare earlier rows at some places of a piece, which have these signatures.

        Returns the places of those that are candidates of new rows.
        """
        candidate_places = [np.empty(0, np.int64)]
        numbers = int64_range(first_row, first_row + len(column))
        all_matches = (
            matches._replace(
                rows=np.asarray(keys, np.int64), places=places[matches.places]
            )
            for matches, keys in _queried(self._index, signatures, self._plan)
        )
        for candidates in _batches(all_matches):
            self._index.remove(best.compare(column, numbers, candidates))
            candidate_places.append(np.unique(candidates.places))
        return np.unique(np.concatenate(candidate_places))


class _EntriesOfIndex:
    """The entries of an index that are candidates of new rows.

    Candidates are found twice, so that no pairs of a row and an entry are held: rows are looked up
    in the index for the keys of candidates, and when the text of one of these passes by, its
    signature is looked up among the new rows. If a row has CROWD_MATCHES candidates or more, the
    signatures of all entries that pass by are looked up.

    Attributes
    ----------
    unknown : int
        Rows that were read whose ids are no keys of the index.
    unread : set
        Keys of entries without texts that were compared by estimates.
    """

    unknown: int
    unread: set[Any]

    def __init__(self, index: LSHIndex, sketches: SketchedRows, plan: Plan) -> None:
        self.unknown = 0
        self.unread = set()
        self._index = index
        self._plan = plan
        self._sketches = sketches
        self._buckets = _NewRowBuckets(sketches, plan)
        self._keys_of_read: Callable[[Int64Array], Sequence[Any]] = list
        # The candidates whose texts were read, and the entries for which rows are removed without.
        self._read_keys: set[Any] = set()
        self._unread_keys: list[Any] = []
        self._candidates = self._all_candidates()

    def _all_candidates(self) -> set[Any] | None:
        """Return the keys of all candidates, None if a row has CROWD_MATCHES."""
        from lshfast.index.keys import listed

        least = _least_estimate(self._plan)
        signatures = self._sketches.signatures[_first_copies(self._sketches)]
        candidates: set[Any] = set()
        for start in range(0, len(signatures), QUERY_ROWS):
            piece = signatures[start : start + QUERY_ROWS]
            matches = self._matches(piece, CROWD_MATCHES, least)
            if (np.diff(matches.offsets) == CROWD_MATCHES).any():
                return None
            candidates.update(listed(matches.keys))
        return candidates

    def keys_of(self, numbers: Int64Array) -> list[Any]:
        """Return the keys of rows that were read, or of unread entries, whose numbers are < 0."""
        read_keys = iter(self._keys_of_read(numbers[numbers >= 0]))
        return [
            next(read_keys) if number >= 0 else self._unread_keys[-1 - number]
            for number in numbers.tolist()
        ]

    def compare(
        self, texts: EarlierRowsRead, best: _MostSimilar, progress: Progress | None
    ) -> int:
        """Compare the texts of entries with the new rows; return how many texts were read."""
        kind = self._index.key_kind
        self._keys_of_read = lambda numbers: _keys_like(texts.keys_of(numbers), kind)
        first_row = 0
        pieces = processed(
            texts.batches, self._plan, Clock(), lambda column: column, progress
        )
        for column in pieces:
            numbers = int64_range(first_row, first_row + len(column))
            keys = self._keys_of_read(numbers)
            is_entry = self._index.contains(keys)
            self.unknown += int((~is_entry).sum())
            places = np.flatnonzero(is_entry).tolist()
            if self._candidates is not None:
                places = [place for place in places if keys[place] in self._candidates]
            if places:
                self._compare_entries(column, first_row, places, keys, best)
            first_row += len(column)
        return first_row

    def _compare_entries(
        self,
        column: Column,
        first_row: int,
        places: list[int],
        keys: Sequence[Any],
        best: _MostSimilar,
    ) -> None:
        """Compare the rows at some places of a piece, by the signatures of their entries."""
        from lshfast.index.keys import as_column, listed

        keys_of_places = [keys[place] for place in places]
        different_keys = as_column(dict.fromkeys(keys_of_places))
        entry_keys, signatures = self._index.store.entries_of(different_keys)
        row_of = {key: row for row, key in enumerate(listed(entry_keys))}
        rows = np.array([row_of[key] for key in keys_of_places], np.int64)
        candidate_places = self._buckets.compare_piece(
            column, first_row, np.array(places, np.int64), signatures[rows], best
        )
        self._read_keys.update(keys[place] for place in candidate_places.tolist())

    def add_unread(self, best: _MostSimilar) -> int:
        """Find entries without texts for the rows that have no similar text; count the rows."""
        rows = _first_copies(self._sketches)
        rows = rows[best.similarity[rows] < 0]
        signatures = self._sketches.signatures[rows]
        least = 0.0 if self._plan.verify == "none" else self._plan.threshold
        removed_rows: list[int] = []
        similarity: list[float] = []
        for start in range(0, len(rows), QUERY_ROWS):
            piece = signatures[start : start + QUERY_ROWS]
            all_matches = self._matches(piece, CROWD_MATCHES, least)
            for place, matches in enumerate(all_matches):
                match = self._first_unread(matches)
                if match is None and len(matches) == CROWD_MATCHES:
                    (matches,) = self._matches(piece[place : place + 1], None, least)
                    match = self._first_unread(matches)
                if match is not None:
                    removed_rows.append(int(rows[start + place]))
                    self._unread_keys.append(match.key)
                    similarity.append(match.similarity)
        row_numbers = np.array(removed_rows, np.int64)
        numbers = -1 - int64_range(len(row_numbers))
        best.take_estimates(row_numbers, numbers, np.array(similarity, np.float64))
        return best.count(row_numbers)

    def _matches(
        self, signatures: UInt64Array, most: int | None, least: float
    ) -> Matches[Any]:
        """Return the entries that are similar to signatures by estimates, the best first."""
        matches: Matches[Any] = self._index.query(
            signatures, k=most, threshold=least, threads=self._plan.threads
        )
        return matches

    def _first_unread(self, matches: Sequence[Any]) -> Any:
        """Return the first of some matches whose text was not read, None without one."""
        unread = [match for match in matches if match.key not in self._read_keys]
        self.unread.update(match.key for match in unread)
        return unread[0] if unread else None


def _keys_like(keys: Sequence[Any], kind: str | None) -> list[Any]:
    """Return ids as keys of the kind of an index, where they can be such keys."""
    if kind == "str":
        return list(map(str, keys))
    if kind in ("int", "uint"):
        from lshfast._engine.indexes.run_indexes import integer_of_cell

        return [integer_of_cell(key) if isinstance(key, str) else key for key in keys]
    return list(keys)


class _MostSimilar:
    """For each new row the most similar earlier row, by a number that its source gives it.

    Attributes
    ----------
    similarity : ndarray of float64, shape (n,)
        -1 for rows, and for copies of others, that are similar to none.
    """

    similarity: Float64Array

    def __init__(self, sketches: SketchedRows, plan: Plan, shown: bool) -> None:
        n = len(sketches)
        self.similarity = np.full(n, -1.0, np.float64)
        self._numbers = np.full(n, -1, np.int64)
        self._similar_rows = np.zeros(n, np.int64)
        self._is_estimate = np.full(n, plan.verify != "exact", np.bool_)
        self._rows = sketches.rows
        self._sizes = sketches.rows.column.sizes
        self._copies = sketches.copies
        self._plan = plan
        self._texts: dict[int, str] | None = {} if shown else None

    def compare(
        self, column: Column, numbers: Int64Array, candidates: _EarlierCandidates
    ) -> Int64Array:
        """Compare candidates whose earlier rows are in a column, with these numbers.

        Rows that have an equal earlier row, or MOST_SIMILAR_ROWS similar ones, are not compared
        again; those that come to have them are returned.
        """
        is_open = self._are_open(candidates.rows)
        if not is_open.any():
            return np.empty(0, np.int64)
        rows = candidates.rows[is_open]
        places = candidates.places[is_open]
        if self._plan.verify == "exact":
            rows, places, similarity = self._verified(column, rows, places)
        else:
            similarity = candidates.estimates[is_open]
        # Each row with its first similar rows: the result does not depend on the pieces.
        order = np.lexsort((places, rows))
        starts, ends = runs_of(rows[order])
        counts = ends - starts
        ranks = int64_range(len(order)) - np.repeat(starts, counts)
        is_first = ranks + self._similar_rows[rows[order]] < MOST_SIMILAR_ROWS
        self._similar_rows[rows[order[starts]]] += counts
        order = order[is_first]
        rows = rows[order]
        places = places[order]
        similarity = similarity[order]
        order = np.lexsort((places, -similarity, rows))
        rows, first = np.unique(rows[order], return_index=True)
        best_places = order[first]
        compared_rows = rows
        is_better = similarity[best_places] > self.similarity[rows]
        rows = rows[is_better]
        best_places = best_places[is_better]
        self.similarity[rows] = similarity[best_places]
        self._numbers[rows] = numbers[places[best_places]]
        self._hold_texts(column, rows, places[best_places])
        return compared_rows[~self._are_open(compared_rows)]

    def _are_open(self, rows: Int64Array) -> BoolArray:
        """Return for each of some rows whether it is compared with further earlier rows."""
        is_open = self.similarity[rows] < 1.0
        return is_open & (self._similar_rows[rows] < MOST_SIMILAR_ROWS)

    def _verified(
        self, column: Column, rows: Int64Array, places: Int64Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return the candidates whose exact similarity reaches the threshold."""
        new_rows, i = np.unique(rows, return_inverse=True)
        sides = _TwoSides(self._rows, new_rows, self._sizes[new_rows], column)
        if len(rows) >= LEAST_JOINED:
            earlier_places, j = np.unique(places, return_inverse=True)
            if sides.are_joined(len(rows), earlier_places):
                is_candidate = np.zeros((len(new_rows), len(earlier_places)), np.bool_)
                is_candidate[i.reshape(-1), j.reshape(-1)] = True
                pairs = sides.joined(earlier_places, self._plan)
                pairs = pairs[is_candidate[pairs["i"], pairs["j"]]]
                similarity = np.ascontiguousarray(pairs["similarity"])
                return new_rows[pairs["i"]], earlier_places[pairs["j"]], similarity
        pairs = verify(
            sides,
            i.reshape(-1),
            places + len(new_rows),
            self._plan.threshold,
            threads=self._plan.threads,
        )
        similarity = np.ascontiguousarray(pairs["similarity"])
        return new_rows[pairs["i"]], pairs["j"] - len(new_rows), similarity

    def _hold_texts(self, column: Column, rows: Int64Array, places: Int64Array) -> None:
        """Hold the texts of earlier rows, if these are texts and are shown."""
        if self._texts is None or not isinstance(column, ShingledTexts):
            return
        texts = column.texts.take(places)
        for place, row in enumerate(rows.tolist()):
            self._texts[row] = texts[place].decode("utf-8", "replace")

    def take_estimates(
        self, rows: Int64Array, numbers: Int64Array, estimates: Float64Array
    ) -> None:
        """Set the earlier rows of rows that have none, by estimates."""
        self.similarity[rows] = estimates
        self._numbers[rows] = numbers
        self._is_estimate[rows] = True

    def count(self, rows: Int64Array) -> int:
        """Return the number of some first copies and their copies."""
        return int(np.isin(self._copies, rows).sum())

    def earlier(
        self, keys_of: Callable[[Int64Array], Sequence[Any]], figures: EarlierFigures
    ) -> Earlier:
        """Return the rows, copies included, given how the numbers of earlier rows are named."""
        rows = np.flatnonzero(self.similarity[self._copies] >= 0)
        first_copies = self._copies[rows]
        numbers, places = np.unique(self._numbers[first_copies], return_inverse=True)
        keys = list(keys_of(numbers))
        texts = None
        if self._texts is not None:
            texts = list(map(self._texts.get, self._copies.tolist()))
        return Earlier(
            rows,
            [keys[place] for place in places.reshape(-1).tolist()],
            self.similarity[first_copies],
            self._is_estimate[first_copies],
            texts,
            figures,
        )


@dataclass(frozen=True)
class _TwoSides:
    """Some new rows, then the earlier rows of a piece, as `verify` takes them."""

    rows: KeyedRows
    new_rows: Int64Array
    new_sizes: Int64Array
    column: Column

    @property
    def sizes(self) -> Int64Array:
        return np.concatenate([self.new_sizes, self.column.sizes])

    def are_joined(self, candidates: int, places: Int64Array) -> bool:
        """Return whether candidates of all new rows and some earlier ones are found by a join."""
        if candidates < LEAST_JOINED_SHARE * len(self.new_rows) * len(places):
            return False
        most_tokens = max(self.new_sizes.max(), self.column.sizes[places].sum())
        return bool(most_tokens <= MOST_JOINED_TOKENS)

    def joined(self, places: Int64Array, plan: Plan) -> PairArray:
        """Return all similar pairs of a new row and one of some earlier rows, by its number."""
        earlier_sets = self.earlier_sets(places)
        parts = []
        # A join may find all pairs of its rows.
        pairs_before = int64_range(len(self.new_rows)) * len(places)
        pieces = np.cumsum(self.new_sizes, dtype=np.int64) // MOST_JOINED_TOKENS
        pieces += pairs_before // MOST_JOINED_PAIRS
        for first, end in zip(*runs_of(pieces), strict=True):
            new_sets = self.rows.take(self.new_rows[first:end])
            pairs = join(
                new_sets, earlier_sets, threshold=plan.threshold, threads=plan.threads
            ).pairs
            pairs["i"] += first
            parts.append(pairs)
        return joined_pairs(parts)

    def earlier_sets(self, places: Int64Array) -> TokenSets:
        """Return the token sets of some earlier rows."""
        return self.column.take(places).tokens(self.rows.key.tokens)

    def take(self, rows: Int64Array) -> TokenSets:
        """Return the token sets of ascending rows."""
        first_earlier = int(np.searchsorted(rows, len(self.new_rows)))
        new_sets = self.rows.take(self.new_rows[rows[:first_earlier]])
        earlier_sets = self.earlier_sets(rows[first_earlier:] - len(self.new_rows))
        counts = np.concatenate([new_sets.counts, earlier_sets.counts])
        offsets = offsets_of(counts)
        return TokenSets(
            offsets.astype(np.int64),
            np.concatenate([_tokens_of(new_sets), _tokens_of(earlier_sets)]),
        )


def _tokens_of(sets: TokenSets) -> UInt64Array:
    return sets.tokens[sets.offsets[0] : sets.offsets[-1]]
