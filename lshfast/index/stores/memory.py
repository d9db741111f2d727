"""The embedded store: entries in the tables of this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lshfast.index.stores.base import Column, Found, OnDuplicate, Parameters, Store
from lshfast.index.stores.keys import duplicate, kind_of, listed, take
from lshfast.index.stores.segments import PIECE, Part, built, empty_part, find_in, marks_of, query_parts
from lshfast.kernels.gate import Gate
from lshfast.kernels.tables import mark
from lshfast.tokens import BoolArray, Int64Array, UInt64Array


class MemoryStore(Store):
    """Keep entries in memory; fixed parts may lie beneath, in a file (`FileStore`).

    Any number of threads may read (`query`, `contains`, `items`, ...) while one or several write: a lock lets in many
    readers or one writer, and a batch that is written appears at once. `items` holds it a batch at a time: it gives the
    keys of when it began, each once, with their signatures of when it comes to them, but for those removed by then.
    """

    def __init__(self) -> None:
        self.parameters: Parameters | None = None
        self.gate = Gate()
        self.fixed: list[Part] = []
        self.loose: Part | None = None  # what grows: made by the first insertion
        self.closed = False

    def bind(self, parameters: Parameters) -> None:
        if self.parameters is None:
            self.parameters = parameters
        self.parameters.check_same(parameters)

    @property
    def parts(self) -> list[Part]:
        """All parts, the one that grows last."""
        parts = [*self.fixed, *([] if self.loose is None else [self.loose])]
        if self.closed:  # asked last: another thread may close it meanwhile
            raise ValueError("the index is closed")
        return parts

    @property
    def kind(self) -> str | None:
        """What the keys are: "int", "str" or "object"; None while there are none."""
        parts = self.parts
        return parts[0].kind if parts else None

    def __len__(self) -> int:
        with self.gate.reading():
            return sum(map(len, self.parts))

    def contains(self, keys: Column) -> BoolArray:
        with self.gate.reading():
            return find_in(self.parts, keys)[0] >= 0

    def contains_one(self, key: Any) -> bool:
        with self.gate.reading():
            if self.loose is not None and not self.fixed:
                row = self.loose.tables.find_one(key)
                if row is not None:
                    return row >= 0
        return super().contains_one(key)

    def insert(self, keys: Column, signatures: UInt64Array, on_duplicate: OnDuplicate, *, copy: bool = True) -> int:
        with self.gate.writing():
            self.check_writable()
            if not len(keys):
                return 0
            before = self.loose
            loose = self._room_for(keys)  # which changes no entry
            beneath, below = find_in(self.fixed, keys)
            known = beneath >= 0
            if on_duplicate == "skip" and known.any():
                keys, signatures, known = take(keys, np.flatnonzero(~known)), signatures[~known], known[~known]
            replaced = self._places(beneath, below) if on_duplicate == "replace" else []
            count = loose.insert(keys, signatures, on_duplicate, known, copy, replaced)
            if count < 0:
                self.loose = before
                raise duplicate(keys, -1 - count)
            return count

    def insert_one(self, key: Any, signature: UInt64Array, on_duplicate: OnDuplicate) -> int:
        with self.gate.writing():  # not by calls: an interrupt may come between one and its try
            # a part that grows is there only where it may be written to
            if self.loose is not None and not self.fixed and self.loose.tables.insert_one(key, signature):
                return 1
        return super().insert_one(key, signature, on_duplicate)

    def _room_for(self, keys: Column) -> Part:
        """Return the part that grows, made or changed so that it can name these keys."""
        assert self.parameters is not None
        kind = kind_of(keys)
        if self.fixed and kind != self.fixed[0].kind:
            kinds = {"int": "ints of 64 bits", "str": "str"}
            raise TypeError(f"the keys of this index are {kinds[self.fixed[0].kind]}, and these are not all that")
        if self.loose is None:
            self.loose = empty_part(self.parameters, kind)
        elif self.loose.kind not in (kind, "object"):
            self.loose = (
                built(self.parameters, "object", [self.loose]) if len(self.loose) else empty_part(self.parameters, kind)
            )
        return self.loose

    def remove(self, keys: Column) -> None:
        with self.gate.writing():
            self.check_writable()
            where, rows = find_in(self.parts, keys)
            if (where < 0).any():
                raise KeyError(listed(take(keys, np.flatnonzero(where < 0)[:1]))[0])
            beneath = self._places(where, rows)
            if self.loose is None:
                mark(marks_of(beneath))
            else:
                self.loose.discard(rows[where == len(self.fixed)], beneath)

    def remove_one(self, key: Any) -> None:
        with self.gate.writing():
            if self.loose is not None and not self.fixed and self.loose.tables.discard_one(key):
                return
        super().remove_one(key)

    def _places(self, where: Int64Array, rows: Int64Array) -> list[tuple[Part, Int64Array]]:
        """Return the fixed parts and the rows of each that are meant."""
        found = [(part, rows[where == number]) for number, part in enumerate(self.fixed)]
        return [(part, some) for part, some in found if len(some)]

    def query(self, signatures: UInt64Array, *, least: int | None, threads: int) -> Found:
        with self.gate.reading():
            return query_parts(self.parts, signatures, least, threads)

    def query_one(self, signature: UInt64Array, least: int | None) -> tuple[list[Any], list[int] | None]:
        loose = self.loose
        if loose is None or loose.kind == "object":
            return self._query_parts(signature, least)
        # what another thread puts in its place meanwhile is later than this query
        return loose.tables.query_one(signature, least, self.gate)

    def _query_parts(self, signature: UInt64Array, least: int | None) -> tuple[list[Any], list[int] | None]:
        """Do what `query_one` does, whatever the parts are."""
        keys: list[Any] = []
        agreements: list[int] = []
        with self.gate.reading():
            for part in self.parts:
                names, counts = part.tables.query_one(signature, least)
                keys += listed(part.names.take(np.array(names, np.int64))) if part.kind == "object" else names
                agreements += counts or ()
        return keys, None if least is None else agreements

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        for part, given_up, rows, names in self._held():
            for start in range(0, len(rows), PIECE):
                piece = slice(start, start + PIECE)
                keys = part.names_of(rows[piece]) if names is None else names[piece]
                with self.gate.reading():
                    keys, signatures = self._entries_of(keys, part, given_up, rows[piece])
                if len(keys):
                    yield keys, signatures

    def all_keys(self) -> Iterator[Column]:
        for part, _, rows, names in self._held():
            yield part.names_of(rows) if names is None else names

    def _held(self) -> list[tuple[Part, int, Int64Array, Column | None]]:
        """Return the parts, `given_up` and the rows in use of each, and their names unless it is fixed: as of now."""
        with self.gate.reading():
            held = [(part, part.given_up, part.tables.rows_in_use()) for part in self.parts]
            return [(*each, each[0].names_of(each[2]) if each[0].gone is None else None) for each in held]

    def _entries_of(self, keys: Column, part: Part, given_up: int, rows: Int64Array) -> tuple[Column, UInt64Array]:
        """Return those of the keys that are there still, and their signatures.

        They were in these rows of a part, and are unless rows of it are gone or were given up since, or it was written
        anew: then the keys tell where.
        """
        assert self.parameters is not None
        parts, where = self.parts, np.full(len(rows), -1, np.int64)
        if part in parts and part.given_up == given_up:
            where[slice(None) if part.gone is None else part.gone[rows] == 0] = parts.index(part)
        moved = np.flatnonzero(where < 0)
        if len(moved):
            rows = rows.copy()
            where[moved], rows[moved] = find_in(parts, take(keys, moved))
            there = np.flatnonzero(where >= 0)
            keys, where, rows = take(keys, there), where[there], rows[there]
        signatures = np.empty((len(rows), self.parameters.num_perm), np.uint64)
        for number in np.unique(where).tolist():
            here = np.flatnonzero(where == number)
            found = parts[number].tables.signatures_of(rows[here])
            if len(here) == len(rows):
                return keys, found
            signatures[here] = found
        return keys, signatures

    def stats(self) -> dict[str, int]:
        with self.gate.reading():
            return self._figures()

    def _figures(self) -> dict[str, int]:
        sizes = [part.tables.nbytes() for part in self.parts]
        signatures, tables, names = (sum(size[i] for size in sizes) for i in range(3))
        return {"signature bytes": signatures, "table bytes": tables, "key bytes": names, "parts": len(sizes)}

    def bucket_sizes(self) -> tuple[Int64Array, int, float]:
        """Return how many buckets hold 1, 2-3, 4-7, ... rows, the most rows of one, and the sum of their squares."""
        with self.gate.reading():
            found = [part.tables.bucket_sizes() for part in self.parts]
        sizes = np.sum([np.zeros(32, np.int64), *(each[0] for each in found)], axis=0)
        return sizes, max((each[1] for each in found), default=0), sum(each[2] for each in found)

    def check_writable(self) -> None:
        """Raise an error where nothing may be written."""
        if self.closed:
            raise ValueError("the index is closed")

    def close(self) -> None:
        with self.gate.writing():
            self._end()

    def _end(self) -> None:
        """Let go of all; for writers."""
        self.closed = True  # first: see `parts`
        self.fixed, self.loose = [], None
