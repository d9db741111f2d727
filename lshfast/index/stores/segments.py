"""`Segments`: search and change several segments as one, in memory, files and LMDB.

It has no locks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.threads import ordered_map
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.index.keys import (
    INTEGERS,
    Column,
    check_present,
    concatenate,
    duplicate,
    joint_kind,
    kind_of,
    listed,
    matched,
    refusal,
    take,
)
from lshfast.index.matches import best_first, nearest_first
from lshfast.index.measure import measure_of
from lshfast.index.stores.segment import (
    PIECE_ROWS,
    Segment,
    Tell,
    built,
    empty_segment,
    marks_of,
)
from lshfast.index.stores.values import (
    CodesRequest,
    Found,
    FoundOrNeighbors,
    Neighbors,
    OnDuplicate,
    Parameters,
    PointAnswer,
    SearchRequest,
    joined,
)
from lshfast.kernels.tables import mark, search_codes, search_point
from lshfast.kernels.tables_codes import CodeSearcher

# FAN segments of about the same size are merged into one.
FAN_BITS = 4
FAN = 1 << FAN_BITS

# The most queries in one piece of work; PIECE_ROWS is the least. Many queries at a time read the
# tables in order.
LONGEST_PIECE_ROWS = 1 << 18

# The least searches in one piece of work, and pieces of work for each thread: a search takes much
# longer than a query, and some take longer than others.
PIECE_SEARCHES = 8
PIECES_EACH = 4

# Rows that are found before the nearest or most similar ones of each query are chosen, at about 64
# bytes each.
ROOM = 1 << 20

# The answer of a segment: offsets, rows, and their equal slots or distances.
_Rows: TypeAlias = tuple[Int64Array, Int64Array, npt.NDArray[Any] | None]


class Held(NamedTuple):
    """The rows of a segment at some time, its `reuses`, and names of rows that are not fixed."""

    segment: Segment
    reuses: int
    rows: Int64Array
    names: Column | None

    def batches(self) -> Iterator[tuple[Column, Int64Array]]:
        """Yield names and rows in batches."""
        for start in range(0, len(self.rows), PIECE_ROWS):
            rows = self.rows[start : start + PIECE_ROWS]
            if self.names is None:
                yield self.segment.names_of(rows), rows
            else:
                yield self.names[start : start + PIECE_ROWS], rows


@dataclass(eq=False)
class Segments:
    """Fixed segments, whose rows can be deleted, and one growing segment in memory.

    A key is in at most one of them.

    Parameters
    ----------
    parameters : Parameters or None
        None where nothing can be inserted yet.
    fixed : list of Segment
    growing : Segment or None
        Created by the first insertion.
    """

    parameters: Parameters | None = None
    fixed: list[Segment] = field(default_factory=list)
    growing: Segment | None = None

    @property
    def all(self) -> list[Segment]:
        """All segments, the growing one last."""
        growing = self.growing
        return [*self.fixed] if growing is None else [*self.fixed, growing]

    @property
    def bound(self) -> Parameters:
        """The parameters; ValueError if there are none yet."""
        if self.parameters is None:
            raise ValueError(
                "the store is empty: give it to LSHIndex(..., store=store) first"
            )
        return self.parameters

    @property
    def kind(self) -> str | None:
        """Kind of the keys: "int", "uint", "str" or "object"; None if there are no segments."""
        kinds = [segment.kind for segment in self.all]
        # The files of a folder may differ in the kinds of integers.
        return "uint" if "uint" in kinds else kinds[0] if kinds else None

    @property
    def _stored(self) -> list[Segment]:
        """The segments whose kind the keys of others must fit: those with entries, or in files."""
        return [
            segment
            for segment in self.all
            if segment.deleted is not None or len(segment)
        ]

    @property
    def stored_kind(self) -> str | None:
        """Kind of the keys that entries or files have; None without them."""
        kinds = [segment.kind for segment in self._stored]
        return "uint" if "uint" in kinds else kinds[0] if kinds else None

    def kind_with(self, keys: Column) -> str:
        """Return the kind of the stored keys and others together."""
        kind = kind_of(keys)
        stored = self._stored
        kinds = {kind, *(segment.kind for segment in stored)}
        if len(kinds) == 1:
            return kind
        if not kinds <= INTEGERS.keys():
            return "object"
        return joint_kind(
            keys,
            self.stored_kind or kind,
            lambda joint: all(segment.fits(joint) for segment in stored),
        )

    def agree(self, keys: Column) -> str:
        """Bring all segments to one kind with keys that are about to be inserted; return it.

        Raises
        ------
        TypeError
            If a file cannot have keys of these kinds.
        """
        kind = self.kind_with(keys)
        if kind in INTEGERS:
            for segment in self.all:
                if segment.kind in INTEGERS and segment.kind != kind:
                    segment.read_as(kind)
        return kind

    def __len__(self) -> int:
        return sum(map(len, self.all))

    def find(self, keys: Column) -> tuple[Int64Array, Int64Array]:
        """Return, for each key, the number of its segment in `all`, or -1, and its row in it."""
        return find_in(self.all, keys)

    def contains(self, keys: Column) -> BoolArray:
        """Return which keys have an entry."""
        return np.asarray(self.find(keys)[0] >= 0)

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        *,
        copy: bool,
    ) -> int:
        """Store entries, all or none: see `Store.insert`."""
        if not len(keys):
            return 0
        before = self.growing
        growing = self._growing_for(keys)  # this changes no entry
        if growing.kind in INTEGERS:
            keys, _ = matched(keys, growing.kind)
        where, rows = find_in(self.fixed, keys)
        in_fixed = where >= 0
        if on_duplicate == "skip" and in_fixed.any():
            keys = take(keys, np.flatnonzero(~in_fixed))
            signatures = signatures[~in_fixed]
            in_fixed = in_fixed[~in_fixed]
        replaced = self._places(where, rows) if on_duplicate == "replace" else []
        count = growing.insert(keys, signatures, on_duplicate, in_fixed, copy, replaced)
        if count < 0:
            self.growing = before
            raise duplicate(keys, -1 - count)
        if self.bound.head:
            growing.tables.arrange(measure_of(self.bound.measure).kernel)
        return count

    def _growing_for(self, keys: Column) -> Segment:
        """Return the growing segment; create or convert it if it cannot store keys of this type."""
        kind = self.agree(keys)
        if self.fixed and kind == "object":
            raise refusal(keys, self.fixed[0].kind)
        growing = self.growing
        if growing is None or (
            growing.kind not in (kind, "object") and not len(growing)
        ):
            self.growing = growing = empty_segment(self.bound, kind)
        elif growing.kind not in (kind, "object"):
            self.growing = growing = built(self.bound, "object", [growing])
        return growing

    def remove(self, keys: Column) -> None:
        """Remove entries, all or none: see `Store.remove`."""
        where, rows = self.find(keys)
        check_present(keys, where)
        fixed_rows = self._places(where, rows)
        if self.growing is None:
            mark(marks_of(fixed_rows))
        else:
            self.growing.discard(rows[where == len(self.fixed)], fixed_rows)

    def _places(
        self, where: Int64Array, rows: Int64Array
    ) -> list[tuple[Segment, Int64Array]]:
        """Return the fixed segments that contain some of the rows, each with these rows."""
        places = []
        for number, segment in enumerate(self.fixed):
            segment_rows = rows[where == number]
            if len(segment_rows):
                places.append((segment, segment_rows))
        return places

    def query(
        self,
        signatures: UInt64Array,
        least: int | None,
        threads: int,
        most: int | None = None,
    ) -> Found:
        """Query all segments, and join their answers: see `Store.query`."""
        m = len(signatures)
        segments = self.all

        def answer(part: slice) -> Found:
            answers: list[_Rows] = []
            for segment in segments:
                room = None if most is None else _room(threads, answers)
                answers.append(segment.tables.query(signatures[part], least, room))
                part = _answered(part, answers)
            offsets, keys, agreements = _joined(segments, part, answers, np.int64)
            if most is None or least is None:
                return Found(offsets, keys, None if least is None else agreements)
            offsets, keys, best = best_first(offsets, keys, agreements, most)
            return Found(offsets, keys, None if best is None else best.view(np.int64))

        step = min(max(PIECE_ROWS, -(-m // threads)), LONGEST_PIECE_ROWS)
        return joined(_in_pieces(answer, m, step, threads))

    def search(self, search: SearchRequest) -> Neighbors:
        """Search all segments, one after the other, and join their answers: see `Store.search`."""
        m = len(search.buckets)
        segments = self.all

        def answer(part: slice) -> Neighbors:
            answers: list[_Rows] = []
            progress = np.zeros((part.stop - part.start, 3), np.int64)
            for segment in segments:
                answers.append(
                    segment.search(
                        search, part, progress, _room(search.threads, answers)
                    )
                )
                part = _answered(part, answers)
                progress = progress[: part.stop - part.start]
            offsets, keys, distances = _joined(segments, part, answers, np.float64)
            nearest = nearest_first(offsets, keys, distances, search.most)
            return Neighbors(*nearest, progress[:, 0].copy())

        step = max(PIECE_SEARCHES, -(-m // (PIECES_EACH * search.threads)))
        return joined(
            _in_pieces(answer, m, m if search.threads == 1 else step, search.threads)
        )

    def search_codes(self, search: CodesRequest) -> Neighbors:
        """Search the codes of all segments together: see `Store.search_codes`."""
        m = len(search.codes)
        segments = self.all
        limit = (
            None if search.limit is None else (search.limit.kind, search.limit.count)
        )

        def answer(part: slice) -> Neighbors:
            if not segments:
                no_offsets = np.zeros(part.stop - part.start + 1, np.int64)
                return Neighbors(no_offsets, [], np.empty(0), np.zeros(m, np.int64))
            offsets, rows, distances, examined = search_codes(
                [segment.tables for segment in segments],
                search.codes[part],
                search.points[part],
                search.measure.kernel,
                search.near,
                search.enough,
                search.most,
                search.within,
                limit,
                max(1, ROOM // search.threads),
            )
            keys = names_in(segments, rows)
            return Neighbors(
                *nearest_first(offsets, keys, distances, search.most), examined
            )

        step = max(PIECE_SEARCHES, -(-m // search.threads))
        return joined(_in_pieces(answer, m, step, search.threads))

    def search_point(
        self,
        searcher: CodeSearcher,
        point: Any,
        most: int | None,
        within: float | None,
    ) -> PointAnswer | None:
        """Search the codes of all segments for one point: see `Store.search_point`."""
        segments = self.all
        if not segments or segments[0].kind == "object":
            return None
        tables = [segment.tables for segment in segments]
        return search_point(tables, searcher, point, most, within)

    def query_one(
        self, signature: UInt64Array, least: int | None
    ) -> tuple[list[Any], list[int] | None]:
        """Query all segments for one signature: see `Store.query_one`."""
        keys: list[Any] = []
        agreements: list[int] = []
        for segment in self.all:
            names, counts = segment.tables.query_one(signature, least)
            keys += (
                listed(segment.names.take(np.array(names, np.int64)))
                if segment.kind == "object"
                else names
            )
            agreements += counts or ()
        return keys, None if least is None else agreements

    def held(self) -> list[Held]:
        """Return the present rows of all segments; `still_held` finds their entries later."""
        # All rows are read before the first name.
        present = [
            (segment, segment.reuses, segment.tables.rows_in_use())
            for segment in self.all
        ]
        states = []
        for segment, reuses, rows in present:
            names = segment.names_of(rows) if segment.deleted is None else None
            states.append(Held(segment, reuses, rows, names))
        return states

    def still_held(
        self, keys: Column, before: Held, rows: Int64Array
    ) -> tuple[Column, UInt64Array]:
        """Return the keys that still have an entry, and their signatures.

        `rows` are the rows of the keys in an earlier state of a segment. A key that has moved,
        because its row was deleted or reused or the segment was rewritten, is looked up again.
        """
        segments = self.all
        where = np.full(len(rows), -1, np.int64)
        if before.segment in segments and before.segment.reuses == before.reuses:
            deleted = before.segment.deleted
            present = slice(None) if deleted is None else deleted[rows] == 0
            where[present] = segments.index(before.segment)
        moved = np.flatnonzero(where < 0)
        if len(moved):
            rows = rows.copy()
            where[moved], rows[moved] = find_in(segments, take(keys, moved))
        return self._read(keys, where, rows)

    def entries_of(self, keys: Column) -> tuple[Column, UInt64Array]:
        """Return the keys that have an entry, and their signatures."""
        return self._read(keys, *self.find(keys))

    def _read(
        self, keys: Column, where: Int64Array, rows: Int64Array
    ) -> tuple[Column, UInt64Array]:
        """Return the keys whose row is known, and their signatures; `where` as by `find`."""
        if (where < 0).any():
            there = np.flatnonzero(where >= 0)
            keys = take(keys, there)
            where = where[there]
            rows = rows[there]
        signatures = np.empty((len(rows), self.bound.words), np.uint64)
        segments = self.all
        for number in np.unique(where).tolist():
            here = np.flatnonzero(where == number)
            signatures_here = segments[number].tables.signatures_of(rows[here])
            if len(here) == len(rows):
                return keys, signatures_here
            signatures[here] = signatures_here
        return keys, signatures

    def figures(self) -> dict[str, int]:
        """Return bytes of signatures, tables and keys, and the number of segments."""
        sizes = [segment.tables.nbytes() for segment in self.all]
        signatures, tables, names = (sum(size[i] for size in sizes) for i in range(3))
        return {
            "signature bytes": signatures,
            "table bytes": tables,
            "key bytes": names,
            "segments": len(sizes),
        }

    def bucket_sizes(self) -> tuple[Int64Array, int, float]:
        """Return the sizes of buckets: see `Store.bucket_sizes`."""
        sizes_of_segments = [segment.tables.bucket_sizes() for segment in self.all]
        sizes = np.zeros(32, np.int64)
        largest = 0
        squares = 0.0
        for segment_sizes, segment_largest, segment_squares in sizes_of_segments:
            sizes += segment_sizes
            largest = max(largest, segment_largest)
            squares += segment_squares
        return sizes, largest, squares

    def merged(
        self, most: int = 2**31, tell: Tell = lambda _: None
    ) -> tuple[list[Segment], Segment | None]:
        """Merge segments, when the growing segment is about to be written.

        The new segment contains the entries of the growing segment and of segments of which at
        least half of the rows are deleted. FAN segments of about the same size (up to a factor of
        FAN) are also merged. So the number of segments, and the number of times that an entry is
        written, grow with the logarithm of the number of entries. A merged segment has at most
        `most` rows, unless one of its segments already has more.

        Returns
        -------
        kept : list of Segment
            The fixed segments that do not change.
        new : Segment or None
            One segment in memory with all other entries, without free rows; None if there are no
            other entries.
        """
        unchanged, sources = self._sources_of_merge()
        if not sources:
            return unchanged, None
        while True:
            count = sum(map(len, sources))
            similar_size = [seg for seg in unchanged if _tier(len(seg)) <= _tier(count)]
            is_too_large = sum(map(len, similar_size)) + count > most
            if len(similar_size) + 1 < FAN or is_too_large:
                break
            unchanged = [
                segment for segment in unchanged if segment not in similar_size
            ]
            sources += similar_size
        first = sources[0]
        is_growing = first is self.growing and len(sources) == 1
        if is_growing and len(first) == first.tables.limit:
            return unchanged, first
        return unchanged, built(self.bound, first.kind, sources, tell)

    def _sources_of_merge(self) -> tuple[list[Segment], list[Segment]]:
        """Return the segments that are more than half full, by length, and the other segments."""
        unchanged = []
        sources = []
        for segment in self.fixed:
            if 2 * len(segment) > segment.tables.limit:
                unchanged.append(segment)
            elif len(segment):
                sources.append(segment)
        if self.growing is not None and len(self.growing):
            sources.append(self.growing)
        return sorted(unchanged, key=len), sources


def _in_pieces(
    answer: Callable[[slice], FoundOrNeighbors], m: int, step: int, threads: int
) -> list[FoundOrNeighbors]:
    """Return the answers to m queries, in parts of `step` queries that threads share.

    answer(part) answers the first queries of a part: at least one, unless the part is empty.
    """

    def answers(start: int) -> list[FoundOrNeighbors]:
        parts = list[FoundOrNeighbors]()
        end = min(start + step, m)
        while not parts or start < end:
            parts.append(answer(slice(start, end)))
            start += len(parts[-1].offsets) - 1
        return parts

    starts = range(0, max(m, 1), max(step, 1))
    return list(chain.from_iterable(ordered_map(answers, starts, threads)))


def _room(threads: int, answers: list[_Rows]) -> int:
    """Return the number of rows that a thread may find in the next segment."""
    return max(1, ROOM // threads - sum(len(rows) for _, rows, _ in answers))


def _answered(part: slice, answers: list[_Rows]) -> slice:
    """Return the part of the queries that the last segment answered."""
    return slice(part.start, part.start + len(answers[-1][0]) - 1)


def _joined(
    segments: list[Segment], part: slice, answers: list[_Rows], kind: type[np.generic]
) -> tuple[Int64Array, Column, npt.NDArray[Any]]:
    """Return (offsets, keys, values) of the queries that all segments answered."""
    m = part.stop - part.start
    answers = [
        (offsets[: m + 1], rows[: offsets[m]], values)
        for offsets, rows, values in answers
    ]
    keys = concatenate(
        [
            segment.names_of(rows)
            for segment, (_, rows, _) in zip(segments, answers, strict=True)
        ]
    )
    values = np.concatenate(
        [
            np.empty(0, kind),
            *(each[: len(rows)] for _, rows, each in answers if each is not None),
        ]
    )
    return _by_query(m, [offsets for offsets, _, _ in answers], keys, values)


def joined_segments(answers: list[Found]) -> Found:
    """Return the answers of several segments, at least one, to all of the queries."""
    keys = concatenate([answer.keys for answer in answers])
    no_values = np.empty(0, np.int64)
    values = np.concatenate(
        [no_values if each.agreements is None else each.agreements for each in answers]
    )
    offsets = [answer.offsets for answer in answers]
    all_offsets, keys, values = _by_query(len(offsets[0]) - 1, offsets, keys, values)
    has_values = answers[0].agreements is not None
    return Found(all_offsets, keys, values if has_values else None)


def _by_query(
    m: int, offsets: list[Int64Array], keys: Column, values: npt.NDArray[Any]
) -> tuple[Int64Array, Column, npt.NDArray[Any]]:
    """Return answers of segments, one after the other, in the order of the m queries."""
    if len(offsets) == 1:
        return offsets[0], keys, values
    counts = [np.zeros(m, np.int64), *map(np.diff, offsets)]
    all_offsets = offsets_of(np.sum(counts, axis=0))
    query = np.concatenate([np.repeat(int64_range(m), count) for count in counts])
    order = np.argsort(query, kind="stable")
    return all_offsets, take(keys, order), values[order] if len(values) else values


def names_in(segments: list[Segment], rows: Int64Array) -> Column:
    """Return the keys of rows; the rows of segment i are increased by i * 2**32."""
    if len(segments) == 1:
        return segments[0].names_of(rows)
    numbers = rows >> 32
    places = np.empty(len(rows), np.int64)
    order = np.argsort(numbers, kind="stable")
    places[order] = int64_range(len(rows))
    ends = np.searchsorted(numbers[order], int64_range(len(segments) + 1))
    rows = rows[order] & 0xFFFFFFFF
    names = [
        segment.names_of(rows[ends[i] : ends[i + 1]])
        for i, segment in enumerate(segments)
    ]
    return take(concatenate(names), places)


def _tier(rows: int) -> int:
    """Return the tier of a segment: the logarithm of its rows to the base FAN."""
    return (rows.bit_length() - 1) // FAN_BITS


def find_in(segments: list[Segment], keys: Column) -> tuple[Int64Array, Int64Array]:
    """Return, for each key, the number of its segment, or -1, and its row in it."""
    where = np.full(len(keys), -1, np.int64)
    rows = np.full(len(keys), -1, np.int64)
    for number, segment in enumerate(segments):
        segment_rows = segment.find(keys)
        here = segment_rows >= 0
        where[here] = number
        rows[here] = segment_rows[here]
    return where, rows
