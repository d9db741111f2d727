"""The parts of an index: tables in memory that grow, and fixed ones in a file; what is asked of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map
from lshfast.index.stores.base import Column, Found, OnDuplicate, Parameters
from lshfast.index.stores.keys import concatenate, equal_int, take
from lshfast.kernels.tables import BandTables, KeyTable
from lshfast.tokens import BoolArray, Int64Array, UInt64Array

# Queries of a piece of work, the least and the most: many at once walk over the tables in order; rows of a batch of
# items.
PIECE = 1 << 13
LONGEST = 1 << 18

# What is told how many more bytes are done.
Tell: TypeAlias = Callable[[int], None]

# How many parts of about one size become one.
FAN_BITS = 4
FAN = 1 << FAN_BITS


@dataclass(eq=False)
class Part:
    """Tables, and where the names of their rows are.

    Attributes
    ----------
    tables : BandTables
    kind : str
        "int" or "str" where the tables know the names of their rows, else "object".
    names : KeyTable
        The names of rows of kind "object".
    gone : ndarray of uint8 or None
        Of fixed tables: 1 where a row was removed.
    gone_when_written : int
        How many rows its file knows to be removed.
    where : object
        Of fixed tables: the record of where they are written.
    given_up : int
        How many times rows were taken from their names, which others may have by now.
    """

    tables: BandTables
    kind: str
    names: KeyTable = field(default_factory=KeyTable)
    gone: npt.NDArray[np.uint8] | None = None
    gone_when_written: int = 0
    where: Any = None
    given_up: int = 0

    def __len__(self) -> int:
        return len(self.tables)

    def find(self, keys: Column) -> Int64Array:
        """Return the row of each key, -1 where it has none."""
        if self.kind == "object":
            return self.names.find(keys)
        if self.kind == "int" and isinstance(keys, np.ndarray):
            return self.tables.find(keys)
        if self.kind == "str" and isinstance(keys, list) and all(type(key) is str for key in keys):
            return self.tables.find(keys)
        rows = np.full(len(keys), -1, np.int64)  # a key that equals none of this kind has no row
        if isinstance(keys, list):
            mine = [key if type(key) is str else None for key in keys] if self.kind == "str" else map(equal_int, keys)
            own = {place: key for place, key in enumerate(mine) if key is not None}
            names = list(own.values())
            rows[list(own)] = self.tables.find(np.array(names, np.int64) if self.kind == "int" else names)
        return rows

    def admit(self, keys: Column) -> tuple[Int64Array, BoolArray]:
        """Give each key a row unless it has one; return the rows, and where they are new."""
        return self.tables.admit(keys, self._table)

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        known: BoolArray,
        copy: bool,
        gone: list[tuple[Part, Int64Array]],
    ) -> int:
        """Insert entries and mark rows of fixed parts as removed, all or nothing: see `BandTables.insert`."""
        self.given_up += on_duplicate == "replace"
        return self.tables.insert(keys, signatures, on_duplicate, known, copy, marks_of(gone), self._table)

    def discard(self, rows: Int64Array, gone: list[tuple[Part, Int64Array]]) -> None:
        """Free rows with their names and signatures, and mark rows of fixed parts as removed, all or nothing."""
        self.given_up += 1
        self.tables.discard(rows, marks_of(gone), self._table)

    @property
    def _table(self) -> KeyTable | None:
        return self.names if self.kind == "object" else None

    def names_of(self, rows: Int64Array) -> Column:
        """Return the keys of rows."""
        found: Column = self.names.take(rows) if self.kind == "object" else self.tables.names_of(rows)
        return found

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        """Give the keys and signatures of all rows in use, in batches."""
        rows = self.tables.rows_in_use()
        for start in range(0, len(rows), PIECE):
            batch = rows[start : start + PIECE]
            yield self.names_of(batch), self.tables.signatures_of(batch)

    def query(self, signatures: UInt64Array, least: int | None, threads: int) -> tuple[Any, Any, Any]:
        """Return (offsets, rows, agreements) of the candidates in this part."""
        if threads == 1 or len(signatures) <= PIECE:
            return self.tables.query(signatures, least)
        step = min(max(PIECE, -(-len(signatures) // threads)), LONGEST)
        slices = [slice(start, start + step) for start in range(0, len(signatures), step)]
        found = list(ordered_map(lambda rows: self.tables.query(signatures[rows], least), slices, threads))
        counts = np.concatenate([np.diff(offsets) for offsets, _, _ in found])
        agreements = None if least is None else np.concatenate([each for _, _, each in found])
        return np.concatenate([[0], np.cumsum(counts)]), np.concatenate([rows for _, rows, _ in found]), agreements


def marks_of(places: list[tuple[Part, Int64Array]]) -> list[tuple[npt.NDArray[np.uint8], Int64Array]]:
    """Return the marks of fixed parts, and which of them are meant."""
    return [(part.gone, rows) for part, rows in places if part.gone is not None]


def empty_part(parameters: Parameters, kind: str) -> Part:
    """Return a part in memory without any rows."""
    names = kind if kind != "object" else None
    return Part(BandTables(parameters.num_perm, parameters.bands, parameters.rows, names), kind)


def built(
    parameters: Parameters, kind: str, parts: Iterable[Part], tell: Tell = lambda _: None, batch: int = PIECE
) -> Part:
    """Return one new part in memory with the entries of several; no key is in two of them.

    `tell` is told the bytes of the signatures that are in it, a piece after the other. Tables grow as if all rows of a
    batch went into buckets of their own: the smaller it is, the tighter they are, and the longer it takes.
    """
    parts, done = list(parts), 0
    whole = empty_part(parameters, kind)
    signatures = np.empty((sum(map(len, parts)), parameters.num_perm), np.uint64)
    for part in parts:
        held = part.tables.rows_in_use()
        for start in range(0, len(held), PIECE):
            rows = held[start : start + PIECE]
            piece = part.tables.signatures_of(rows, signatures[done : done + len(rows)])
            places, _ = whole.admit(part.names_of(rows))
            for first in range(0, len(rows), batch):
                whole.tables.write(places[first : first + batch], piece[first : first + batch], copy=False)
            done += len(rows)
            tell(piece.nbytes)
    whole.tables.tidy()
    return whole


def fold(
    parameters: Parameters,
    fixed: list[Part],
    loose: Part | None,
    most: int = 2**31,
    tell: Tell = lambda _: None,
) -> tuple[list[Part], Part | None]:
    """Choose what is written anew when the entries of `loose` join the fixed parts.

    Parts that are half gone are written anew, and so are parts of about one size (to a factor of FAN) as soon as there
    are FAN of them. So their number grows with the logarithm of the entries, and so does the number of times that an
    entry is written. No part is made of more than `most` rows unless one is that large already.

    Returns
    -------
    kept : list of Part
        The fixed parts that stay as they are.
    new : Part or None
        One part in memory with all other entries, without free rows; None if there are none.
    """
    kept = sorted((part for part in fixed if 2 * len(part) > part.tables.limit), key=len)
    taken = [part for part in fixed if part not in kept and len(part)]
    if loose is not None and len(loose):
        taken.append(loose)
    if not taken:
        return kept, None
    while True:
        count = sum(map(len, taken))
        alike = [part for part in kept if _tier(len(part)) <= _tier(count)]
        if len(alike) + 1 < FAN or sum(map(len, alike)) + count > most:
            break
        kept = [part for part in kept if part not in alike]
        taken += alike
    if taken == [loose] and loose is not None and len(loose) == loose.tables.limit:
        return kept, loose
    return kept, built(parameters, taken[0].kind, taken, tell)


def _tier(rows: int) -> int:
    """Return the tier of a part: the logarithm of its rows to the base FAN."""
    return (rows.bit_length() - 1) // FAN_BITS


def find_in(parts: Sequence[Part], keys: Column) -> tuple[Int64Array, Int64Array]:
    """Return which part each key is in, -1 for none, and its row there."""
    where, rows = np.full(len(keys), -1, np.int64), np.full(len(keys), -1, np.int64)
    for number, part in enumerate(parts):
        found = part.find(keys)
        here = found >= 0
        where[here], rows[here] = number, found[here]
    return where, rows


def query_parts(parts: Sequence[Part], signatures: UInt64Array, least: int | None, threads: int) -> Found:
    """Ask all parts, and bring together what they answer."""
    found = [part.query(signatures, least, threads) for part in parts]
    if len(found) == 1:
        offsets, rows, agreements = found[0]
        return Found(offsets, parts[0].names_of(rows), agreements)
    counts = [np.zeros(len(signatures), np.int64), *(np.diff(offsets) for offsets, _, _ in found)]
    offsets = np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))])
    query = np.concatenate([np.repeat(np.arange(len(count)), count) for count in counts])
    order = np.argsort(query, kind="stable")
    keys = concatenate([part.names_of(rows) for part, (_, rows, _) in zip(parts, found, strict=True)])
    if least is None:
        return Found(offsets, take(keys, order), None)
    agreements = np.concatenate([np.empty(0, np.int64), *(each for _, _, each in found)])
    return Found(offsets, take(keys, order), agreements[order])
