"""`MemoryStore`, and `LockedStore`, the base class of the stores in memory and in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lshfast._common.display import counted
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.index.keys import Column, DuplicateKeyError
from lshfast.index.stores.base import MOST_NEAREST, Store
from lshfast.index.stores.segment import Segment
from lshfast.index.stores.segments import Segments
from lshfast.index.stores.values import (
    CodesRequest,
    Found,
    Neighbors,
    OnDuplicate,
    Parameters,
    PointAnswer,
    SearchRequest,
)
from lshfast.kernels.gate import Gate
from lshfast.kernels.tables_codes import CodeSearcher


class LockedStore(Store):
    """Segments with a read-write lock.

    Any number of threads may read (`query`, `contains`, `items`, ...) and write at the same time.
    The lock admits either several readers or one writer, so readers see a batch completely or not
    at all. `items` locks one batch at a time. It yields the keys that were present at the start,
    each once; keys removed since then are skipped.

    Attributes
    ----------
    gate : Gate
        The read-write lock.
    closed : bool
    """

    scans = True
    gate: Gate
    closed: bool

    def __init__(self) -> None:
        self.parameters: Parameters | None = None
        self.gate = Gate()
        self.closed = False
        self._segments: Segments | None = Segments()  # None after `close`

    def bind(self, parameters: Parameters) -> None:
        if self.parameters is None:
            self.segments.parameters = self.parameters = parameters
        self.parameters.check_same(parameters)

    @property
    def segments(self) -> Segments:
        """The segments; ValueError after `close`."""
        segments = self._segments
        if segments is None:
            raise ValueError("the index is closed")
        return segments

    def _alone_for_writing(self) -> Segment | None:
        """Return the growing segment if it is the only one and writable, else None."""
        segments = self._segments
        return None if segments is None or segments.fixed else segments.growing

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size()})"

    def _size(self) -> str:
        segments = self._segments
        return (
            "closed" if segments is None else counted(len(segments), "entry", "entries")
        )

    @property
    def kind(self) -> str | None:
        return self.segments.kind

    def __len__(self) -> int:
        with self.gate.reading():
            return len(self.segments)

    def contains(self, keys: Column) -> BoolArray:
        with self.gate.reading():
            return self.segments.contains(keys)

    def contains_one(self, key: Any) -> bool:
        with self.gate.reading():
            # They are read here, as a method call adds a tenth to the time.
            segments = self._segments
            if (
                segments is not None
                and not segments.fixed
                and segments.growing is not None
            ):
                row = segments.growing.tables.find_one(key)
                if row is not None:
                    return row >= 0
        return super().contains_one(key)

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        *,
        copy: bool = True,
    ) -> int:
        with self.gate.writing():
            self.check_writable()
            if len(keys):
                self._check_keys(keys)
            count = self.segments.insert(keys, signatures, on_duplicate, copy=copy)
        return count

    def insert_one(
        self, key: Any, signature: UInt64Array, on_duplicate: OnDuplicate
    ) -> int:
        with self.gate.writing():
            growing = self._alone_for_writing()
            if growing is not None:
                # None if the key is of another kind.
                inserted = growing.tables.insert_one(key, signature)
                if inserted:
                    return 1
                if inserted is False and on_duplicate == "error":
                    raise DuplicateKeyError(key, 0)
                if inserted is False and on_duplicate == "skip":
                    return 0
        return super().insert_one(key, signature, on_duplicate)

    def remove(self, keys: Column) -> None:
        with self.gate.writing():
            self.check_writable()
            self.segments.remove(keys)

    def remove_one(self, key: Any) -> None:
        with self.gate.writing():
            growing = self._alone_for_writing()
            if growing is not None and growing.tables.discard_one(key):
                return
        super().remove_one(key)

    def query(
        self,
        signatures: UInt64Array,
        *,
        least: int | None,
        threads: int,
        most: int | None = None,
    ) -> Found:
        with self.gate.reading():
            return self.segments.query(signatures, least, threads, most)

    def query_one(
        self, signature: UInt64Array, least: int | None
    ) -> tuple[list[Any], list[int] | None]:
        segments = self._segments
        growing = None if segments is None or segments.fixed else segments.growing
        if growing is None or growing.kind == "object":
            with self.gate.reading():
                return self.segments.query_one(signature, least)
        # If another thread replaces the segments now, that change is later than this query.
        return growing.tables.query_one(signature, least, self.gate)

    def _search(self, search: SearchRequest) -> Neighbors:
        with self.gate.reading():
            return self.segments.search(search)

    def _search_codes(self, search: CodesRequest) -> Neighbors:
        with self.gate.reading():
            return self.segments.search_codes(search)

    def search_point(
        self,
        searcher: CodeSearcher,
        point: Any,
        most: int | None = None,
        within: float | None = None,
    ) -> PointAnswer | None:
        if most is not None and most > MOST_NEAREST:
            return None
        with self.gate.reading():
            return self.segments.search_point(searcher, point, most, within)

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        with self.gate.reading():
            present_rows = self.segments.held()
        for each in present_rows:
            for keys, rows in each.batches():
                with self.gate.reading():
                    present_keys, signatures = self.segments.still_held(
                        keys, each, rows
                    )
                if len(present_keys):
                    yield present_keys, signatures

    def all_keys(self) -> Iterator[Column]:
        with self.gate.reading():
            present_rows = self.segments.held()
        for each in present_rows:
            yield each.segment.names_of(each.rows) if each.names is None else each.names

    def entries_of(self, keys: Column) -> tuple[Column, UInt64Array]:
        """Return the keys that have an entry, and their signatures."""
        with self.gate.reading():
            return self.segments.entries_of(keys)

    def stats(self) -> dict[str, int]:
        with self.gate.reading():
            return self.segments.figures()

    def bucket_sizes(self) -> tuple[Int64Array, int, float]:
        with self.gate.reading():
            return self.segments.bucket_sizes()

    def _check_keys(self, keys: Column) -> None:
        """Raise TypeError if keys of this type cannot be stored; the write lock is held."""

    def check_stored_sums(self) -> None:
        """Check the checksums of stored segments, before they are written with new ones."""

    def check_writable(self) -> None:
        """Raise an error if the store is not writable."""
        if self.closed:
            raise ValueError("the index is closed")

    def close(self) -> None:
        with self.gate.writing():
            self._end()

    def _end(self) -> None:
        """Release everything; called with the lock held for writing."""
        self.closed = True
        self._segments = None


class MemoryStore(LockedStore):
    """Store entries in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._writing = self.gate.writing()

    def insert_plain(self, key: Any, signature: Any) -> bool:
        with self._writing:
            segments = self._segments
            if segments is None or segments.growing is None or segments.fixed:
                return False
            return segments.growing.tables.insert_plain(key, signature)

    def query_plain(self, signature: Any) -> list[Any] | None:
        segments = self._segments
        if segments is None or segments.growing is None or segments.fixed:
            return None
        # If another thread replaces the segments now, that change is later than this query.
        return segments.growing.tables.query_plain(signature, self.gate)
