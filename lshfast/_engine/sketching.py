"""One pass over batches of rows: a piece is hashed and sketched while it is in the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.rows import evenly_spaced, int64_range, offsets_of
from lshfast._common.run_key import RunKey
from lshfast._common.threads import for_each_piece, ordered_map, pieces
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.clock import Clock, naming_stage
from lshfast._engine.columns import (
    Column,
    KeyedRows,
    PackedSets,
    ShingledTexts,
    joined_columns,
)
from lshfast._engine.plan import Plan
from lshfast.join.banded import number_buckets
from lshfast.join.copies import (
    compared_rows,
    copy_marks,
    equal_rows,
    sketches_of,
    without_rows,
)
from lshfast.join.short_rows import (
    LEAST_SHARE,
    SAMPLE_ROWS,
    SHORT_TOKENS,
    are_crowd,
    are_short,
    has_long_row,
)
from lshfast.kernels import text
from lshfast.shingling import PIECE_BYTES
from lshfast.sketch.minhash import EMPTY
from lshfast.tokens import TokenSets

Result = TypeVar("Result")

# The least bytes that a text counts in a piece: its signature takes memory too, 1 KB by
# default.
LEAST_ROW_BYTES = 512

# Short rows are sketched at once if more than half of the first so many may be in a similar pair.
SCREENED_ROWS = 1 << 16


class Sketched(NamedTuple):
    """Some rows, their tokens, and their signatures."""

    column: Column
    tokens: TokenSets
    signatures: UInt64Array


def sketched(
    batches: Iterable[text.Texts | Column],
    plan: Plan,
    clock: Clock,
    finish: Callable[[Sketched], Result],
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Yield finish(piece) for each sketched piece, in order; threads share the pieces."""

    hasher = plan.hasher
    seed = hasher.seed

    def process(column: Column) -> Result:
        tokens = column.tokens(seed)
        return finish(Sketched(column, tokens, hasher.sketch(tokens, threads=1)))

    return processed(batches, plan, clock, process, progress)


def processed(
    batches: Iterable[text.Texts | Column],
    plan: Plan,
    clock: Clock,
    process: Callable[[Column], Result],
    progress: Progress | None,
    stage: str = "sketch",
) -> Generator[Result, None, None]:
    """Yield process(piece) for each piece of the rows, in order.

    The stage "read" and the given one measure the time that the caller waits for results. The time
    that the caller itself takes between results is not included.
    """
    row = 0
    bytes_done = 0
    elsewhere = 0.0
    reading = 0.0
    start = time.perf_counter()
    # These come first, even if the caller measures a stage between results.
    clock.add("read", 0.0, 0)
    clock.add(stage, 0.0, 0)

    def portions() -> Iterator[tuple[int, Column]]:
        """Split the batches into pieces, and yield each with the number of its first row."""
        nonlocal row, reading
        source = iter(batches)
        with naming_stage("read"):
            while True:
                before = time.perf_counter()
                batch = next(source, None)
                reading += time.perf_counter() - before
                if batch is None:
                    return
                column = column_of_batch(batch, plan)
                nbytes = np.maximum(column.nbytes, LEAST_ROW_BYTES)
                for rows in pieces(nbytes, PIECE_BYTES):
                    yield row + rows.start, column.take(rows)
                row += len(nbytes)

    def work(portion: tuple[int, Column]) -> tuple[int, Result]:
        first_row, column = portion
        try:
            return int(column.nbytes.sum()), process(column)
        except text.TextError as error:
            raise text.TextError(error.row + first_row, error.reason) from None

    runs_alone = is_long if plan.capped else None
    with naming_stage(stage):
        for nbytes, result in ordered_map(work, portions(), plan.threads, runs_alone):
            bytes_done += nbytes
            if progress:
                progress(stage, bytes_done, None)
            before = time.perf_counter()
            yield result
            elsewhere += time.perf_counter() - before
    clock.add("read", reading, bytes_done)
    clock.add(stage, time.perf_counter() - start - reading - elsewhere, bytes_done)


def is_long(portion: tuple[int, Column]) -> bool:
    """Return whether a portion of work is one long row, which takes much memory."""
    return int(portion[1].nbytes.sum()) > PIECE_BYTES


def column_of_batch(batch: text.Texts | Column, plan: Plan) -> Column:
    """Return a batch as a column of packed sets, or of texts split into shingles."""
    if not isinstance(batch, text.Texts):
        return batch
    if plan.kind == "set":
        return PackedSets(batch)
    return ShingledTexts(batch, plan.shingles)


@dataclass
class SketchedRows:
    """The rows of a run, their signatures, bucket keys and copies, and which of them are empty.

    If only some rows were sketched, because the others are in no similar pair, `sketched` has their
    numbers, ascending, and `signatures` and `keys` have a row for each of them.

    For an exact join, and for a crowd of short rows, `signatures` and `keys` have no columns, and
    `tokens` holds the sets, hashed with the key of the run, until `take_tokens` is called.
    """

    rows: KeyedRows
    signatures: UInt64Array
    keys: UInt64Array
    copies: Int64Array
    empty: BoolArray
    tokens: TokenSets | None = None
    sketched: Int64Array | None = None
    # Rows that are excluded from comparisons; none at first.
    aside: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __post_init__(self) -> None:
        if not len(self.aside):
            self.aside = np.zeros(len(self), np.bool_)

    def __len__(self) -> int:
        return len(self.copies)

    @property
    def compared_rows(self) -> Int64Array:
        """The rows that are compared: first copies that have content and are not set aside."""
        is_first = self.copies == int64_range(len(self))
        return np.flatnonzero(is_first & ~self.empty & ~self.aside)

    def meeting(self, threads: int) -> Int64Array:
        """Return the first copies that share a bucket with another one."""
        _, members = compared_rows(len(self.keys), self.copies, self.sketched)
        sketches = sketches_of(members, self.sketched)
        buckets, _ = number_buckets(self.keys, sketches, threads)
        return np.asarray(members[(buckets >= 0).any(axis=1)])

    def set_sizes(self, of: Int64Array, threads: int) -> Int64Array:
        """Return the number of tokens of first copies and their copies, as `verify` counts.

        Other rows have 0. The tokens are made with the key of the run, so nobody can choose texts
        whose sets appear larger or smaller.
        """
        sizes = np.zeros(len(self), np.int64)
        start = 0
        for counts in self.rows.in_pieces(
            lambda rows: self.rows.take(rows).distinct().counts, of, threads
        ):
            sizes[of[start : start + len(counts)]] = counts
            start += len(counts)
        return np.asarray(sizes[self.copies])

    def set_aside(self, rows: Int64Array) -> None:
        """Exclude rows from all later comparisons. All rows must be sketched, or hashed."""
        self.keys[rows] = EMPTY
        self.copies = without_rows(self.copies, rows)
        self.aside[rows] = True

    def take_tokens(self) -> TokenSets | None:
        """Return and drop the token sets of all rows; None if they are not in memory."""
        tokens = self.tokens
        self.tokens = None
        return tokens


class RowStore(Protocol):
    """A container of rows that come in parts, such as `GrowingArray`."""

    def extend(self, part: UInt64Array, /) -> None:
        """Add rows at the end."""

    def finished(self) -> UInt64Array:
        """Return all rows; nothing may be added after this."""


class _Piece(NamedTuple):
    signatures: UInt64Array
    keys: UInt64Array
    marks: UInt64Array


def sketch_rows(
    batches: Iterable[text.Texts | Column],
    plan: Plan,
    clock: Clock,
    progress: Progress | None = None,
    *,
    indexed: bool = False,
    grouped: bool = False,
    screened: bool = False,
    store: RowStore | None = None,
) -> SketchedRows:
    """Hash, sketch and band each row, and find the copies; `store` may hold the signatures.

    Rows are only hashed, unless they are `indexed`, for an exact join and, if `grouped`, for a
    crowd of short rows, which `find_duplicates` sketches if necessary. If `screened`, short rows
    are hashed first, and only those that may be in a similar pair are sketched.
    """
    columns: list[Column] = []
    if plan.exact and not indexed:
        hashed = _hashed_rows(batches, plan, clock, progress, columns)
        assert hashed is not None
        return hashed
    if screened and not indexed and _compares_sets(plan):
        batches, first = _peeked(batches, plan, clock)
        if first is not None and len(first) and are_short(first.sizes):
            is_crowd = grouped and _are_crowd(first, plan)
            hashed = _hashed_rows(
                batches, plan, clock, progress, columns, _Screen(plan, is_crowd)
            )
            if hashed is not None:
                return hashed if is_crowd else _screened(hashed, plan, clock)
            if not isinstance(batches, list):
                batches = chain(columns, batches)
            columns = []

    bands = plan.bands

    def finish(piece: Sketched) -> _Piece:
        keys = bands.keys(piece.signatures)
        return _Piece(piece.signatures, keys, copy_marks(piece.tokens))

    room = sum(map(len, batches)) if isinstance(batches, list) else 0
    if store is None:
        store = GrowingArray(np.uint64, plan.hasher.num_perm, room=room)
    keys = GrowingArray(np.uint64, bands.bands, room=room)
    marks = GrowingArray(np.uint64, 2, room=room)
    with naming_stage("sketch"):
        for piece in sketched(
            noted(batches, plan, columns), plan, clock, finish, progress
        ):
            with clock.stage("sketch"):
                store.extend(piece.signatures)
                keys.extend(piece.keys)
                marks.extend(piece.marks)
    with clock.stage("match", clock.stages["sketch"].nbytes):
        signatures = store.finished()
        bucket_keys = keys.finished()
        copies = equal_rows(marks.finished())
        rows = KeyedRows(joined_columns(columns, plan.shingles), RunKey.draw())
        copies = rows.confirmed(copies, plan.threads)
        is_empty = signatures[:, 0] == EMPTY
        return SketchedRows(rows, signatures, bucket_keys, copies, is_empty)


def signatures_of(column: Column, rows: Int64Array, plan: Plan) -> UInt64Array:
    """Return the signatures of some rows, which are hashed again: uint64 (m, k)."""
    hasher = plan.hasher
    signatures = np.empty((len(rows), hasher.num_perm), np.uint64)

    def work(part: slice) -> None:
        tokens = column.take(rows[part]).tokens(hasher.seed)
        signatures[part] = hasher.sketch(tokens, threads=1)

    nbytes = np.maximum(column.nbytes[rows], LEAST_ROW_BYTES)
    for_each_piece(work, nbytes, PIECE_BYTES, plan.threads)
    return signatures


def _screened(hashed: SketchedRows, plan: Plan, clock: Clock) -> SketchedRows:
    """Sketch and band the hashed rows that may be in a similar pair."""
    from lshfast.join.set_ranks import Collection, rows_in_pairs
    from lshfast.join.thresholds import rule_of

    column = hashed.rows.column
    with clock.stage("match"):
        tokens = hashed.take_tokens()
        assert tokens is not None
        collection = Collection(tokens, hashed.copies, hashed.compared_rows)
        del tokens
        paired = rows_in_pairs(
            collection, rule_of(plan.measure, plan.threshold), plan.threads
        )
        del collection
    with clock.stage("sketch"):
        signatures = signatures_of(column, paired, plan)
        keys = plan.bands.keys(signatures)
    return replace(hashed, signatures=signatures, keys=keys, sketched=paired)


def _compares_sets(plan: Plan) -> bool:
    """Return whether rows are compared as sets by Jaccard similarity, in memory."""
    return plan.verify == "exact" and plan.measure == "jaccard" and not plan.capped


def _peeked(
    batches: Iterable[text.Texts | Column], plan: Plan, clock: Clock
) -> tuple[Iterable[text.Texts | Column], Column | None]:
    """Return the batches, and the first one if it is a list's only one, or not of a list."""
    if isinstance(batches, list):
        if len(batches) != 1:
            return batches, None
        return batches, column_of_batch(batches[0], plan)
    source = iter(batches)
    start = time.perf_counter()
    with naming_stage("read"):
        first = next(source, None)
    clock.add("read", time.perf_counter() - start, 0)
    if first is None:
        return [], None
    return chain([first], source), column_of_batch(first, plan)


def _are_crowd(column: Column, plan: Plan) -> bool:
    """Return whether nearly all of some short rows form one crowd by their bands."""
    n = len(column)
    if n < LEAST_SHARE * SAMPLE_ROWS:
        return False
    sample = column.take(evenly_spaced(n, SAMPLE_ROWS)).tokens(plan.hasher.seed)
    return are_crowd(sample, n, plan.hasher, plan.bands, plan.threshold)


class _Screen:
    """Tells, while rows are hashed, whether they should be sketched at once instead.

    They should if they are not short, or, unless they are a crowd, if most of the first
    SCREENED_ROWS may be in a similar pair.
    """

    def __init__(self, plan: Plan, is_crowd: bool) -> None:
        self._plan = plan
        self._tries_rows = not is_crowd

    def fails(
        self, tokens: GrowingArray, counts: GrowingArray, marks: GrowingArray
    ) -> bool:
        """Return whether the rows so far fail; all of them are given each time."""
        n = len(counts)
        if len(tokens) > SHORT_TOKENS * n:
            return True
        if not self._tries_rows or n < SCREENED_ROWS:
            return False
        self._tries_rows = False
        from lshfast.join.set_ranks import Collection, rows_in_pairs
        from lshfast.join.thresholds import rule_of

        offsets = offsets_of(counts.rows())
        copies = equal_rows(marks.rows())
        is_compared = (copies == int64_range(n)) & (counts.rows() > 0)
        rows = np.flatnonzero(is_compared)
        collection = Collection(TokenSets(offsets, tokens.rows()), copies, rows)
        rule = rule_of(self._plan.measure, self._plan.threshold)
        paired = rows_in_pairs(collection, rule, self._plan.threads)
        return 2 * len(paired) > len(rows)


def _hashed_rows(
    batches: Iterable[text.Texts | Column],
    plan: Plan,
    clock: Clock,
    progress: Progress | None,
    columns: list[Column],
    screen: _Screen | None = None,
) -> SketchedRows | None:
    """Hash each row with the key of the run, and find the copies.

    The batches are appended to `columns`. If the rows so far fail the screen, None is returned, and
    no further batch is taken.
    """
    key = RunKey.draw()
    room = 0
    if isinstance(batches, list):
        room = sum(int(column_of_batch(batch, plan).sizes.sum()) for batch in batches)

    def process(column: Column) -> tuple[TokenSets, UInt64Array]:
        tokens = column.tokens(key.tokens)
        return tokens, copy_marks(tokens)

    tokens = GrowingArray(np.uint64, room=room)
    counts = GrowingArray(np.int64)
    marks = GrowingArray(np.uint64, 2)
    with naming_stage("sketch"):
        for part, marks_of_part in processed(
            noted(batches, plan, columns), plan, clock, process, progress
        ):
            with clock.stage("sketch"):
                tokens.extend(part.tokens[part.offsets[0] : part.offsets[-1]])
                counts.extend(part.counts)
                marks.extend(marks_of_part)
                if screen is not None and (
                    has_long_row(part.counts) or screen.fails(tokens, counts, marks)
                ):
                    return None
    with clock.stage("match", clock.stages["sketch"].nbytes):
        rows = KeyedRows(joined_columns(columns, plan.shingles), key)
        sizes = counts.finished()
        copies = rows.confirmed(equal_rows(marks.finished()), plan.threads)
        none = np.empty((len(sizes), 0), np.uint64)
        offsets = offsets_of(sizes)
        return SketchedRows(
            rows, none, none, copies, sizes == 0, TokenSets(offsets, tokens.finished())
        )


def noted(
    batches: Iterable[text.Texts | Column], plan: Plan, columns: list[Column]
) -> Iterator[Column]:
    """Yield batches as columns; append each to `columns` without texts that can be read again."""
    for batch in batches:
        column = column_of_batch(batch, plan)
        columns.append(column.released())
        yield column
