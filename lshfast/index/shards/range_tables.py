"""Fixed tables of entries in a remote file, which are probed by ranges of bytes.

`RangeTables` has the methods of `BandTables` that a reader needs. A search reads the places of the
tables where the tags of the queries are, all bands of a piece of queries at a time. The rows with
equal tags are copied to tables in memory, so that the kernels compare them, and the answers are the
same. docs/reference/file-format.md defines the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from lshfast._common.errors import FormatError
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import Int64Array, UInt8Array, UInt32Array, UInt64Array
from lshfast.index.keys import (
    INTEGERS,
    Column,
    is_either,
    kind_of,
    listed,
    lists_of,
    take,
)
from lshfast.index.shards.blocks import BLOCK_BYTES, RemoteBytes
from lshfast.index.stores.file_format import (
    DTYPES,
    SECTIONS,
    Directory,
    Section,
    SegmentRecord,
)
from lshfast.index.stores.file_sections import ALIGNMENT
from lshfast.index.stores.segment import PIECE_ROWS, Segment
from lshfast.kernels.bands import band_keys
from lshfast.kernels.checksum import checksum
from lshfast.kernels.tables import BandTables
from lshfast.sketch.minhash import EMPTY

# Entries that are read at a time from the home bucket of a tag on; most tags end in the first 16.
WINDOW_ENTRIES = 16

# Slots of a block of the pool that are read at a time.
POOL_SLOTS = 16

# Queries that are searched together.
PIECE_QUERIES = 1 << 10

_NO_ROW = 2**32 - 1
_ROW_BITS = np.uint64(2**31 - 1)
_SEVERAL = np.uint64(2**31)
_HALF = np.uint64(32)


class RangeTables:
    """Tables of a segment over the ranges of a remote file.

    Parameters
    ----------
    data : RemoteBytes
    directory : Directory
    record : SegmentRecord
    shape : ndarray of uint64, shape (bands + 1, 3)
        Capacity, length and count of each table.
    deleted : ndarray of uint8, shape (n,)

    Attributes
    ----------
    limit : int
        The number of rows, n.
    """

    limit: int

    def __init__(
        self,
        data: RemoteBytes,
        directory: Directory,
        record: SegmentRecord,
        shape: UInt64Array,
        deleted: UInt8Array,
    ) -> None:
        self.limit = record.rows
        self._data = data
        self._parameters = directory.parameters
        self._kind = directory.kind
        self._sections = dict(
            zip(SECTIONS[directory.kind], record.sections, strict=True)
        )
        self._capacities = shape[:, 0].copy()
        self._lengths = shape[:, 1].astype(np.int64)
        self._first_entries = offsets_of(self._lengths + 1)[:-1]
        self._deleted = deleted

    def __len__(self) -> int:
        return self.limit - int(self._deleted.sum())

    # ---- names and signatures ----

    def rows_in_use(self) -> Int64Array:
        return np.flatnonzero(self._deleted == 0)

    def signatures_of(
        self, rows: Int64Array, out: UInt64Array | None = None
    ) -> UInt64Array:
        words = self._parameters.words
        # A window is at most as long as a block.
        step = BLOCK_BYTES // 8
        columns = [
            self._values("signatures", rows * words + first, min(step, words - first))
            for first in range(0, words, step)
        ]
        result = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        if out is None:
            return result
        out[:] = result
        return out

    def names_of(self, rows: Int64Array) -> Column:
        # A row may be an answer to many queries.
        distinct_rows, places = np.unique(rows, return_inverse=True)
        with self._errors():
            return take(self._names_of(distinct_rows), places)

    def _names_of(self, rows: Int64Array) -> Column:
        if self._kind in INTEGERS:
            integers = self._values("integers", rows, 1)[:, 0]
            return integers.view("<u8") if self._kind == "uint" else integers
        starts = self._values("starts", rows, 1)[:, 0]
        lengths = self._values("lengths", rows, 1)[:, 0].astype(np.int64)
        ends = self._sections["bytes"].nbytes - lengths
        if ((starts < 0) | (starts > ends)).any():
            raise FormatError("bytes: a key is not inside the section")
        return self._texts(starts, lengths)

    def _texts(self, starts: Int64Array, lengths: Int64Array) -> list[str]:
        """Return the keys in the section of bytes; those of about one length are read together."""
        texts = [""] * len(starts)
        end = self._sections["bytes"].nbytes
        width = 64
        waiting = np.flatnonzero(lengths)
        while len(waiting):
            width = min(width, BLOCK_BYTES, end)
            is_last = width in (BLOCK_BYTES, end)
            is_short = lengths[waiting] <= width
            short = waiting[is_short]
            firsts = np.minimum(starts[short], end - width)
            windows = self._bytes("bytes", firsts, width)
            for place, window, first in zip(
                short.tolist(), windows, (starts[short] - firsts).tolist(), strict=True
            ):
                name = window[first : first + int(lengths[place])]
                texts[place] = _decoded(name.tobytes())
            waiting = waiting[~is_short]
            if is_last:
                break
            width *= 8
        for place in waiting.tolist():
            start = self._sections["bytes"].where + int(starts[place])
            texts[place] = _decoded(
                self._data.read(start, int(lengths[place])).tobytes()
            )
        return texts

    def is_either(self) -> bool:
        """Return whether all keys are in 0..2**63 - 1."""
        return is_either(self.names_of(self.rows_in_use()))

    def read_as(self, kind: str) -> None:
        """Read keys that are `is_either` as those of another kind of integers."""
        self._kind = kind

    def find(self, names: Column) -> Int64Array:
        """Return the row of each name, or -1 if it has none."""
        if not len(names) or not self.limit:
            return np.full(len(names), -1, np.int64)
        scratch = BandTables(1, 1, 1, kind_of(names))
        tags = np.unique(scratch.tags_of(scratch.admit(names)[0]))
        tables = np.full(len(tags), self._parameters.bands, np.int64)
        with self._errors():
            candidates = self._rows_under(tables, tags)
        candidates = candidates[self._deleted[candidates] == 0]
        stored_names = listed(self.names_of(candidates))
        row_of_name = dict(zip(stored_names, candidates.tolist(), strict=True))
        rows = (row_of_name.get(name, -1) for name in listed(names))
        return np.fromiter(rows, np.int64, len(names))

    # ---- queries ----

    def query(
        self, signatures: UInt64Array, least: int | None = None, room: int | None = None
    ) -> tuple[Int64Array, Int64Array, Int64Array | None]:
        """Return (offsets, rows, equal slots) of the first queries, as `BandTables.query` does."""
        parts = []
        row_count = 0
        for start in range(0, max(len(signatures), 1), PIECE_QUERIES):
            with self._errors():
                part = self._query(signatures[start : start + PIECE_QUERIES], least)
            parts.append(part)
            row_count += len(part[1])
            if room is not None and row_count >= room:
                break
        counts = np.concatenate([np.diff(offsets) for offsets, _, _ in parts])
        rows = np.concatenate([part_rows for _, part_rows, _ in parts])
        if least is None:
            return offsets_of(counts), rows, None
        agreements = np.concatenate([np.asarray(values) for _, _, values in parts])
        return offsets_of(counts), rows, agreements

    def query_one(
        self, signature: UInt64Array, least: int | None = None
    ) -> tuple[list[Any], list[int] | None]:
        _, rows, agreements = self.query(signature[np.newaxis], least)
        names = listed(self.names_of(rows))
        return names, None if agreements is None else agreements.tolist()

    def _query(
        self, signatures: UInt64Array, least: int | None
    ) -> tuple[Int64Array, Int64Array, Int64Array | None]:
        p = self._parameters
        m = len(signatures)
        keys = np.empty((m, p.bands), np.uint64)
        band_keys(
            np.ascontiguousarray(signatures), p.bands, p.rows_per_band, keys, p.apart
        )
        queries, bands = np.nonzero(keys != EMPTY)
        tags = keys[queries, bands] >> _HALF
        # Many queries may have the same bucket.
        buckets = np.unique(bands.astype(np.uint64) << _HALF | tags)
        candidates = self._rows_under(
            (buckets >> _HALF).astype(np.int64), buckets.astype(np.uint32)
        )
        candidates = np.unique(candidates)
        candidates = candidates[self._deleted[candidates] == 0]
        answer_rows = [np.empty(0, np.int64)]
        answer_queries = [np.empty(0, np.int64)]
        answer_values = [np.empty(0, np.int64)]
        # Rows are compared in pieces, as a crowded bucket may have very many.
        for start in range(0, len(candidates), PIECE_ROWS):
            rows = candidates[start : start + PIECE_ROWS]
            offsets, places, values = self._compared(rows, signatures, least)
            answer_rows.append(rows[places])
            answer_queries.append(lists_of(offsets))
            if values is not None:
                answer_values.append(values)
        query_of_row = np.concatenate(answer_queries)
        order = np.argsort(query_of_row, kind="stable")
        counts = np.bincount(query_of_row, minlength=m).astype(np.int64)
        agreements = None if least is None else np.concatenate(answer_values)[order]
        return offsets_of(counts), np.concatenate(answer_rows)[order], agreements

    def _compared(
        self, rows: Int64Array, signatures: UInt64Array, least: int | None
    ) -> tuple[Int64Array, Int64Array, Int64Array | None]:
        """Query the rows in tables in memory."""
        p = self._parameters
        tables = BandTables(
            p.num_perm,
            p.bands,
            p.rows_per_band,
            "int",
            payload=p.payload,
            apart=p.apart,
            bits=p.bits,
            head=p.head,
        )
        numbers, _ = tables.admit(int64_range(len(rows)))
        tables.write(numbers, self.signatures_of(rows), copy=False)
        offsets, places, values = tables.query(signatures, least)
        return offsets, tables.names_of(places), values

    def search(self, *_: Any) -> NoReturn:
        raise ValueError(
            f"{self._data.name}: an index of points is not searched by ranges: copy it to a disk"
        )

    # ---- tables ----

    def _rows_under(self, tables: Int64Array, tags: UInt32Array) -> Int64Array:
        """Return the rows under different tags of some tables."""
        entries = self._entries_of(tables, tags)
        entries = entries[entries != EMPTY]
        is_several = (entries & _SEVERAL) != 0
        rows = (entries[~is_several] & _ROW_BITS).astype(np.int64)
        units = (entries[is_several] & _ROW_BITS).astype(np.int64)
        all_rows = np.concatenate([rows, self._rows_of_blocks(units)])
        if (all_rows >= self.limit).any():
            raise FormatError(f"tables: a row is not below {self.limit}")
        return all_rows

    def _entries_of(self, tables: Int64Array, tags: UInt32Array) -> UInt64Array:
        """Return the entry of each tag in its table, or EMPTY if it has none."""
        entries = np.full(len(tags), EMPTY, np.uint64)
        wide_tags = tags.astype(np.uint64)
        positions = (wide_tags * self._capacities[tables] >> _HALF).astype(np.int64)
        positions &= ~7
        waiting = int64_range(len(tags))
        while len(waiting):
            lengths = self._lengths[tables[waiting]]
            # Windows end with the table at the latest, with NO_ENTRY, which ends all searches.
            width = int(min(WINDOW_ENTRIES, lengths.min() + 1))
            firsts = np.minimum(positions[waiting], lengths + 1 - width)
            places = self._first_entries[tables[waiting]] + firsts
            windows = self._values("tables", places, width)
            is_before = (
                firsts[:, np.newaxis] + int64_range(width)
                < (positions[waiting, np.newaxis])
            )
            is_end = (windows >> _HALF) >= wide_tags[waiting, np.newaxis]
            is_end &= ~is_before
            ends = is_end.argmax(axis=1)
            is_found = is_end.any(axis=1)
            stopped = windows[int64_range(len(waiting)), ends]
            is_equal = is_found & (stopped >> _HALF == wide_tags[waiting])
            entries[waiting[is_equal]] = stopped[is_equal]
            positions[waiting] = firsts + width
            if (~is_found & (positions[waiting] > lengths)).any():
                raise FormatError("tables: a table has no end")
            waiting = waiting[~is_found]
        return entries

    def _rows_of_blocks(self, units: Int64Array) -> Int64Array:
        """Return the rows of different blocks of the pool."""
        if not len(units):
            return units
        words = self._sections["pool"].nbytes // 4
        firsts = 4 * units
        self._check_pool(firsts + 2)
        slots = self._values("pool", firsts + 1, 1)[:, 0].astype(np.int64)
        self._check_pool(firsts + 2 + slots)
        # Otherwise, a small file could require any amount of memory.
        if int(slots.sum()) > words:
            raise FormatError("pool: blocks overlap")
        # Slots are read in windows of equal width; those behind a block are left out.
        window_counts = -(-slots // POOL_SLOTS)
        places = np.repeat(int64_range(len(units)), window_counts)
        ranks = int64_range(len(places))
        ranks -= np.repeat(offsets_of(window_counts)[:-1], window_counts)
        starts = firsts[places] + 2 + POOL_SLOTS * ranks
        ends = firsts[places] + 2 + slots[places]
        width = min(POOL_SLOTS, words)
        window_starts = np.minimum(starts, words - width)
        windows = self._values("pool", window_starts, width)
        numbers = window_starts[:, np.newaxis] + int64_range(width)
        is_slot = (numbers >= starts[:, np.newaxis]) & (numbers < ends[:, np.newaxis])
        is_slot &= windows != _NO_ROW
        rows: Int64Array = windows[is_slot].astype(np.int64)
        return rows

    def _check_pool(self, ends: Int64Array) -> None:
        if (ends > self._sections["pool"].nbytes // 4).any():
            raise FormatError("pool: a block is not inside the section")

    # ---- bytes ----

    def _values(self, name: str, places: Int64Array, width: int) -> npt.NDArray[Any]:
        """Return values of a section that begin at some places, (n, width)."""
        dtype = np.dtype(DTYPES[name])
        windows = self._bytes(name, places * dtype.itemsize, width * dtype.itemsize)
        return windows.view(dtype)

    def _bytes(self, name: str, starts: Int64Array, nbytes: int) -> UInt8Array:
        return self._data.windows(self._sections[name].where + starts, nbytes)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Add the name of the file to a FormatError."""
        try:
            yield
        except FormatError as error:
            if str(error).startswith(self._data.name):
                raise
            raise FormatError(f"{self._data.name}: {error}") from None

    # ---- whole sections and figures ----

    def sections(self) -> dict[str, list[npt.NDArray[Any]]]:
        """Return all sections as `BandTables.sections` does, from the whole file."""
        with self._errors():
            bytes_of = _whole_sections(self._data, self._sections)
            return {
                name: [bytes_of(name).view(DTYPES[name])]
                for name in SECTIONS[self._kind][1:]
            }

    def nbytes(self) -> tuple[int, int, int]:
        sizes = {name: section.nbytes for name, section in self._sections.items()}
        signatures = sizes.pop("signatures")
        tables = sizes.pop("tables") + sizes.pop("pool") + sizes.pop("shape")
        return signatures, tables, sum(sizes.values())

    def bucket_sizes(self) -> tuple[Int64Array, int, float]:
        return np.zeros(32, np.int64), 0, 0.0


def _decoded(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"bytes: a key is no UTF-8: {error}") from None


def range_segment(
    directory: Directory, record: SegmentRecord, data: RemoteBytes
) -> Segment:
    """Return a segment over the ranges of a remote file.

    Raises
    ------
    FormatError
        If the length of a section is wrong, or it is not inside the file; or the checksum of a
        section that is read as a whole is wrong.
    """
    p = directory.parameters
    n = record.rows
    sections = dict(zip(SECTIONS[directory.kind], record.sections, strict=True))
    for name, section in sections.items():
        if section.where % ALIGNMENT or section.where + section.nbytes > data.nbytes:
            raise FormatError(
                f"{name}: it lies at bytes {section.where} to {section.where + section.nbytes}, "
                f"and the file ends at {data.nbytes}"
            )
    expected_sizes = {
        "shape": 24 * (p.bands + 1),
        "signatures": 8 * n * p.words,
        "integers": 8 * n,
        "starts": 8 * n,
        "lengths": 4 * n,
    }
    for name, nbytes in expected_sizes.items():
        if name in sections and sections[name].nbytes != nbytes:
            raise FormatError(f"{name}: {sections[name].nbytes} bytes, not {nbytes}")
    if n > 2**31 or sections["pool"].nbytes % 16:
        raise FormatError(f"pool: {sections['pool'].nbytes} bytes of {n} rows")
    if sections["deleted"].nbytes not in (0, (n + 7) // 8):
        raise FormatError(f"deleted: {sections['deleted'].nbytes} bytes for {n} rows")
    bytes_of = _whole_sections(data, sections)
    shape = bytes_of("shape").view("<u8").reshape(-1, 3)
    _check_shape(shape, sections["tables"].nbytes)
    bits = bytes_of("deleted")
    deleted = (
        np.unpackbits(bits, count=n, bitorder="little")
        if bits.size
        else np.zeros(n, np.uint8)
    )
    tables: Any = RangeTables(data, directory, record, shape, deleted)
    return Segment(
        tables,
        directory.kind,
        deleted=deleted,
        deleted_when_written=int(deleted.sum()),
        where=record,
    )


def _whole_sections(
    data: RemoteBytes, sections: dict[str, Section]
) -> Callable[[str], UInt8Array]:
    """Return a function that reads a section as a whole, and checks it."""

    def read(name: str) -> UInt8Array:
        where, nbytes, expected_sum = sections[name]
        section_bytes = data.read(where, nbytes)
        if checksum(section_bytes) != expected_sum:
            raise FormatError(f"{name}: its checksum is wrong")
        return section_bytes

    return read


def _check_shape(shape: UInt64Array, table_bytes: int) -> None:
    entries = 0
    for table, (capacity, length, _) in enumerate(shape.tolist()):
        if not 1 <= capacity <= 2**32 or length < capacity:
            raise FormatError(
                f"tables: table {table} has capacity {capacity} and length {length}"
            )
        entries += length + 1
    if 8 * entries != table_bytes:
        raise FormatError(
            f"tables: {table_bytes} bytes, not those of {entries} entries"
        )
