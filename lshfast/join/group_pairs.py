"""Pairs for groups: only the comparisons that the definition of the groups needs.

For stars, each row is compared with the kept rows that share a bucket with it; for chains, with the
rows of other components. A bucket of n similar rows takes n comparisons; all pairs would be n²/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.types import (
    BoolArray,
    Int32Array,
    Int64Array,
    PairArray,
    UInt64Array,
)
from lshfast.join.banded import number_buckets
from lshfast.join.comparison import Comparison
from lshfast.join.copies import compared_rows, sketches_of
from lshfast.join.groups import by_preference
from lshfast.join.jaccard import Rows
from lshfast.join.pair_arrays import as_pairs, sorted_pairs
from lshfast.join.shared_slots import share_slots
from lshfast.join.short_rows import are_short, place_short_rows
from lshfast.kernels import grouping as kernels
from lshfast.tokens import TokenSets

# Where memory is limited, a run of rows with more than LARGE times the tokens of a run is processed
# alone.
LARGE = 2

# When a row needs the tokens of an earlier row, the tokens that the next rows may need are fetched
# too. The values are the number of next rows and the number of earlier rows for each. In a crowd a
# prediction costs more, and nearly all rows that are compared are similar. AHEAD_OF_ONE is the
# number of earlier rows for a single row.
AHEAD = (512, 1)
AHEAD_IN_CROWD = (32, 8)
AHEAD_OF_ONE = 512

# The number of rows of a crowd whose tokens are counted. A token is frequent if at least one in
# FREQUENT_ROWS of these rows has it.
SAMPLE_ROWS = 512
FREQUENT_ROWS = 64


def pairs_for_groups(
    rows: Rows,
    signatures: UInt64Array,
    keys: UInt64Array,
    comparison: Comparison,
    *,
    copies: Int64Array | None = None,
    preference: npt.ArrayLike | None = None,
    sketched: Int64Array | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[PairArray, int]:
    """Return similar pairs from which `star_groups` or `component_groups` form the same groups.

    They are a subset of all similar pairs.

    Parameters
    ----------
    rows : TokenSets, or an object with the interface `Rows`
    signatures : ndarray of uint64, shape (m, k)
    keys : ndarray of uint64, shape (m, b)
        Bucket keys of the signatures.
    comparison : Comparison
    copies, preference
        As for `star_groups`.
    sketched : ndarray of int64, shape (m,), optional
        The rows of the signatures, ascending; all n rows by default. The other rows are in no pair.
    progress : callable, optional
        Called with (rows done, total), where the total is the number of rows that share a bucket
        with another row.

    Returns
    -------
    pairs : structured ndarray with fields i, j, similarity
        Sorted by (i, j). For stars: each removed row with its keeper; for chains: a spanning
        forest, or the pairs that climb. Copies are not included.
    compared : int
        The number of pairs that were compared.
    """
    threads = comparison.threads
    first, first_rows = compared_rows(len(keys), copies, sketched)
    members = by_preference(first_rows, first, preference)
    sketches = sketches_of(members, sketched)
    buckets, counts = number_buckets(keys, sketches, threads)
    labels = kernels.join_buckets(buckets, counts)
    places = _meeting(labels, sketches, signatures, comparison)
    if len(places) == 0:
        return as_pairs(places, places, 0.0), 0
    walked = members[places]
    starts = np.flatnonzero(np.diff(labels[places], prepend=-1))
    buckets = np.ascontiguousarray(buckets[places])
    state = kernels.Grouping(
        buckets,
        counts,
        signatures,
        sketches[places],
        comparison.least_slots(signatures.shape[1]),
        comparison.threshold,
        comparison.exact,
        comparison.chains,
        comparison.measure == "containment",
    )
    compared = _Walk(state, rows, walked, comparison, progress).run(starts)
    in_pair = state.left >= 0
    i = walked[state.left[in_pair]]
    j = walked[state.right[in_pair]]
    return sorted_pairs(i, j, state.similarity[in_pair]), compared


def _meeting(
    labels: Int64Array,
    sketches: Int64Array,
    signatures: UInt64Array,
    comparison: Comparison,
) -> Int64Array:
    """Return the places of rows that may be similar to others, component by component.

    `sketches` has the place of the signature of each row.
    """
    sizes = np.bincount(labels, minlength=1)
    may_match = sizes[labels] > 1
    large = np.flatnonzero(sizes > comparison.limits.screened)
    least = 0
    if len(large):
        least = comparison.least_shared(signatures.shape[1])
    if least:
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(sizes, dtype=np.int64)
        for label in large.tolist():
            places = order[ends[label] - sizes[label] : ends[label]]
            may_match[places] = share_slots(
                signatures, sketches[places], least, comparison.threads
            )
        sizes = np.bincount(labels, weights=may_match, minlength=1)
        may_match &= sizes[labels] > 1
    meeting = np.flatnonzero(may_match)
    return meeting[np.argsort(labels[meeting], kind="stable")]


class _Walk:
    """The pass over rows that share buckets: small components in parallel, large ones in pieces."""

    def __init__(
        self,
        state: kernels.Grouping,
        rows: Rows,
        walked: Int64Array,
        comparison: Comparison,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.state = state
        self.rows = rows
        self.walked = walked
        self.comparison = comparison
        self.limits = comparison.limits
        self._progress = progress
        self._done = 0
        self._ahead = AHEAD
        # The number of tokens of each hold of earlier rows that were fetched.
        self._fetched: dict[int, int] = {}
        self._sizes = (
            rows.sizes[walked] if comparison.exact else np.ones(len(walked), np.int64)
        )
        self._ends = np.cumsum(self._sizes, dtype=np.int64)

    def run(self, starts: Int64Array) -> int:
        """Process all components, which begin at `starts`; return the number of compared pairs."""
        compared = 0
        stops = np.append(starts[1:], len(self.walked))
        small = np.ones(len(starts), bool)
        if self.comparison.exact:
            small = self._tokens(starts, stops) <= self.limits.piece_tokens
            small &= stops - starts <= self.limits.few
        runs = self._runs(starts, stops, small)
        threads = self.comparison.threads
        for count, rows in ordered_map(self._walk_piece, runs, threads, self._is_large):
            compared += count
            self._report_done(rows)
        for start, stop in zip(
            starts[~small].tolist(), stops[~small].tolist(), strict=True
        ):
            compared += self._walk_large(start, stop)
        return compared

    def _report_done(self, rows: int) -> None:
        self._done += rows
        if self._progress:
            self._progress(self._done, len(self.walked))

    def _tokens(self, starts: Int64Array, stops: Int64Array) -> Int64Array:
        return np.asarray(
            self._ends[stops - 1] - np.where(starts > 0, self._ends[starts - 1], 0)
        )

    def _is_large(self, run: tuple[int, int]) -> bool:
        """Return whether a run of rows takes so much memory that it is processed alone."""
        begin, end = run
        limited = self.comparison.capped and self.comparison.exact
        return (
            limited
            and int(self._sizes[begin:end].sum()) > LARGE * self.limits.run_tokens
        )

    def _runs(
        self, starts: Int64Array, stops: Int64Array, small: BoolArray
    ) -> Iterator[tuple[int, int]]:
        """Yield runs of complete small components of about `run_tokens` tokens each."""
        most = self.limits.run_tokens
        begin = 0
        end = 0
        filled = 0
        small_starts = starts[small].tolist()
        small_stops = stops[small].tolist()
        sizes = self._tokens(starts, stops)[small].tolist()
        for start, stop, size in zip(small_starts, small_stops, sizes, strict=True):
            if start != end or filled + size > most:
                if end > begin:
                    yield begin, end
                begin = start
                filled = 0
            end = stop
            filled += size
        if end > begin:
            yield begin, end

    def _take(self, begin: int, end: int) -> TokenSets:
        return self.rows.take(self.walked[begin:end]).distinct()

    @contextmanager
    def _holding(self, begin: int, sets: TokenSets) -> Iterator[None]:
        """Hold the tokens of consecutive rows in memory during the block."""
        rows = np.arange(begin, begin + len(sets), dtype=np.int32)
        number = self.state.hold(rows, sets.offsets, sets.tokens)
        try:
            yield
        finally:
            self.state.release(number)

    def _walk_piece(self, run: tuple[int, int]) -> tuple[int, int]:
        begin, end = run
        if not self.comparison.exact:
            return self.state.walk(begin, end), end - begin
        with self._holding(begin, self._take(begin, end)):
            return self.state.walk(begin, end), end - begin

    def _walk_large(self, start: int, stop: int) -> int:
        """Process one component in pieces, and fetch the tokens of earlier rows when needed."""
        self.state.start(start, self.limits.crowd)
        self._ahead = AHEAD
        pieces = self._pieces(start, stop)
        pieces_with_sets = ordered_map(
            lambda piece: (piece, self._take(*piece)),
            pieces,
            self.comparison.threads,
            self._is_large,
        )
        for (begin, end), sets in pieces_with_sets:
            with self._holding(begin, sets):
                compared = self._walk_rows(start, stop, begin, end)
            if compared is not None:
                self._forget()
                self._report_done(stop - begin)
                return compared
            self._report_done(end - begin)
        self._forget()
        self.state.end_crowd()
        return int(self.state.compared)

    def _walk_rows(self, start: int, stop: int, begin: int, end: int) -> int | None:
        """Process the rows begin..end of the component start..stop; their tokens are in memory.

        If the component is a crowd of short rows, all its rows are processed, and the number of
        pairs that were compared is returned.
        """
        fetched_for = -1
        while True:
            reason, row, needed = self.state.step(end)
            if reason == kernels.DONE:
                return None
            if reason == kernels.FULL:
                self.state.make_room()
            elif reason == kernels.CROWDED:
                compared = self._join_short(start, stop)
                if compared is not None:
                    return compared
                self._make_crowd(start, stop, begin, row)
                self._ahead = AHEAD_IN_CROWD
            elif row != fetched_for:
                rows, most = self._ahead
                self._fetch(needed, self.state.missing(min(end, row + rows), most))
                fetched_for = row
            else:  # the predicted rows were not enough: this row may need many more
                self._fetch(needed, self.state.missing(row + 1, AHEAD_OF_ONE))

    def _join_short(self, start: int, stop: int) -> int | None:
        """Process the rows of a component by an exact join; None unless they are short."""
        if not self.comparison.join_short or not are_short(self._sizes[start:stop]):
            return None
        first_done = self._done
        total = len(self.walked)
        progress = self._progress

        def report(rows_joined: int, rows: int) -> None:
            if progress:
                progress(max(first_done, min(total, start + rows_joined)), total)

        return place_short_rows(
            self.state,
            self.rows,
            self.walked[start:stop],
            start,
            self.comparison,
            report,
        )

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield consecutive runs of rows of about `run_tokens` tokens each."""
        while start < stop:
            before = int(self._ends[start - 1]) if start else 0
            limit = before + self.limits.run_tokens
            count = int(np.searchsorted(self._ends[start:stop], limit, side="right"))
            end = start + max(1, count)
            yield start, end
            start = end

    def _fetch(self, needed: int, likely: Int32Array) -> None:
        """Fetch the tokens of an earlier row, and of as many likely rows as fit."""
        most = self.limits.piece_tokens
        rows = np.concatenate([np.array([needed], np.int32), likely[likely != needed]])
        ends = np.cumsum(self._sizes[rows], dtype=np.int64)
        fit = int(np.searchsorted(ends, most, side="right"))
        rows = rows[: max(1, fit)]
        if sum(self._fetched.values()) + int(self._sizes[rows].sum()) > most:
            self._forget()
        sets = self.rows.take(self.walked[rows]).distinct()
        self._fetched[self.state.hold(rows, sets.offsets, sets.tokens)] = len(
            sets.tokens
        )

    def _forget(self) -> None:
        for number in self._fetched:
            self.state.release(number)
        self._fetched.clear()

    def _make_crowd(self, start: int, stop: int, begin: int, row: int) -> None:
        """Make a crowd of the rows start..row; the tokens of rows from `begin` on are in memory."""
        counts = np.zeros(1 << kernels.COUNT_BITS, np.uint8)
        tokens = int(
            self._tokens(np.array([start], np.int64), np.array([stop], np.int64))[0]
        )
        rows_in_memory = (stop - start) * 4 * self.limits.piece_tokens // max(1, tokens)
        sample_size = min(SAMPLE_ROWS, stop - start, max(1, rows_in_memory))
        sample = np.linspace(start, stop - 1, sample_size).astype(np.int64)
        self.state.count(self.rows.take(self.walked[sample]).distinct().tokens, counts)
        self.state.begin_crowd(counts, max(2, sample_size // FREQUENT_ROWS))
        self._forget()
        for low, high in self._pieces(start, begin):
            with self._holding(low, self._take(low, high)):
                self.state.add_to_crowd(low, high)
        self.state.add_to_crowd(begin, row)
