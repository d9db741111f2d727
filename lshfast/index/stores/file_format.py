"""The directory of a saved index: its parameters, its segments, and the places of their sections.

docs/reference/file-format.md defines the format.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.container import check_version, is_sealed, sealed
from lshfast._common.errors import FormatError
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt8Array, UInt32Array, UInt64Array
from lshfast.index.keys import Column, listed, take
from lshfast.index.stores.segment import PIECE_ROWS, Segment
from lshfast.index.stores.values import MOST_FAMILY, Parameters
from lshfast.kernels.bands import band_keys
from lshfast.kernels.checksum import checksum
from lshfast.kernels.tables import BandTables
from lshfast.kernels.text import tokens_of_integers
from lshfast.sketch.minhash import EMPTY, Scheme

# Version 1 is for MinHash signatures, and version 2 for families.
VERSIONS = 1, 2

_HEAD = struct.Struct("<8sIIQQQQd16s8s16s")
_FAMILY = struct.Struct("<QII")  # payload; bytes of the family and of the measure
_SECTION = struct.Struct("<QQQ")
_MAGIC = b"LSHFDIR\0"

_OF_INTEGERS = "deleted", "shape", "tables", "pool", "signatures", "integers"

# The sections of a segment by the kind of its keys, in order, and their dtypes. Integers of the
# kind "uint" are the unsigned values of the same 8 bytes.
SECTIONS = {
    "int": _OF_INTEGERS,
    "uint": _OF_INTEGERS,
    "str": (
        "deleted",
        "shape",
        "tables",
        "pool",
        "signatures",
        "starts",
        "lengths",
        "bytes",
    ),
}
DTYPES = {
    "deleted": "u1",
    "shape": "<u8",
    "tables": "<u8",
    "pool": "<u4",
    "signatures": "<u8",
    "integers": "<i8",
    "starts": "<i8",
    "lengths": "<u4",
    "bytes": "u1",
}


class Section(NamedTuple):
    """The place (an offset or number), the size in bytes, and the checksum of a section."""

    where: int
    nbytes: int
    checksum: int


@dataclass(frozen=True)
class SegmentRecord:
    """One segment: the number of its rows, and its sections in the order of SECTIONS."""

    rows: int
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Directory:
    """All data that is needed to open an index."""

    parameters: Parameters
    kind: str
    segments: tuple[SegmentRecord, ...]

    @property
    def version(self) -> int:
        """Version of the format: for MinHash signatures or for families."""
        return VERSIONS[bool(self.parameters.family)]

    def pack(self) -> bytes:
        """Return the directory as bytes."""
        p = self.parameters
        threshold = math.nan if p.threshold is None else p.threshold
        head = _HEAD.pack(
            _MAGIC,
            self.version,
            len(self.segments),
            p.num_perm,
            p.bands,
            p.rows_per_band,
            p.seed,
            threshold,
            p.scheme.encode("ascii"),
            self.kind.encode("ascii"),
            p.shingles.encode("ascii"),
        )
        body = [head]
        if p.family:
            family = p.family.encode()
            measure = p.measure.encode("ascii")
            body += [
                _FAMILY.pack(p.payload, len(family), len(measure)),
                family,
                measure,
            ]
        for segment in self.segments:
            body.append(struct.pack("<Q", segment.rows))
            body += [_SECTION.pack(*section) for section in segment.sections]
        return sealed(b"".join(body))

    @classmethod
    def unpack(cls, data: bytes) -> Directory:
        """Read a directory from bytes, and check all of them.

        Raises
        ------
        FormatError
            If `pack` did not make the bytes.
        """
        if len(data) < _HEAD.size + 8 or not data.startswith(_MAGIC):
            raise FormatError("directory: not that of an index")
        _, version, count, num_perm, bands, rows, seed, threshold, *names = (
            _HEAD.unpack_from(data)
        )
        check_version(version, VERSIONS, "directory")
        if not is_sealed(data):
            raise FormatError("directory: its checksum is wrong")
        scheme, kind, shingles = _unpack_names(version, names)
        if not (math.isnan(threshold) or 0 < threshold <= 1):
            raise FormatError(f"directory: threshold {threshold}, not in (0, 1]")
        are_bands = bands >= 1 and rows >= 1 and bands <= num_perm // rows
        if not are_bands or num_perm > 65536:
            raise FormatError(
                f"directory: {bands} bands of {rows} rows over {num_perm} slots"
            )
        body = _HEAD.size
        family = ""
        payload = 0
        measure = ""
        if version == 2:
            body, family, payload, measure = _unpack_family(data)
        records = _unpack_segments(data, body, count, kind)
        try:
            threshold_or_none = None if math.isnan(threshold) else threshold
            parameters = Parameters(
                num_perm,
                bands,
                rows,
                scheme,
                seed,
                threshold_or_none,
                shingles,
                family,
                payload,
                measure,
            )
        except ValueError as error:
            raise FormatError(f"directory: {error}") from None
        return cls(parameters, kind, records)


def _unpack_names(version: int, names: list[bytes]) -> tuple[str, str, str]:
    """Return the scheme, the kind of keys and the shingles in a directory, checked."""
    try:
        scheme, kind, shingles = (name.rstrip(b"\0").decode("ascii") for name in names)
    except UnicodeDecodeError:
        raise FormatError(
            "directory: scheme, kind of keys or shingles is no ASCII"
        ) from None
    if version == 1 and scheme not in get_args(Scheme):
        raise FormatError(
            f"directory: signatures of scheme {scheme!r}, not {' or '.join(get_args(Scheme))}"
        )
    if version == 2 and scheme:
        raise FormatError(
            f"directory: signatures of scheme {scheme!r}, but those of a family have none"
        )
    if kind not in SECTIONS:
        raise FormatError(
            f"directory: keys of kind {kind!r}, not {' or '.join(SECTIONS)}"
        )
    return scheme, kind, shingles


def _unpack_segments(
    data: bytes, body: int, count: int, kind: str
) -> tuple[SegmentRecord, ...]:
    """Return the records of the segments in a directory, which begin at `body`."""
    record_bytes = 8 + _SECTION.size * len(SECTIONS[kind])
    end = body + record_bytes * count
    if len(data) != end + 8:
        raise FormatError(
            f"directory: {len(data)} bytes, not those of {count} segments"
        )
    records = []
    for start in range(body, end, record_bytes):
        fields = _SECTION.iter_unpack(data[start + 8 : start + record_bytes])
        sections = tuple(Section(*values) for values in fields)
        records.append(
            SegmentRecord(struct.unpack_from("<Q", data, start)[0], sections)
        )
    return tuple(records)


def _unpack_family(data: bytes) -> tuple[int, str, int, str]:
    """Return the start of the segments in a directory, the family, payload and measure."""
    start = _HEAD.size + _FAMILY.size
    if len(data) < start + 8:
        raise FormatError(f"directory: {len(data)} bytes, which do not hold a family")
    payload, family, measure = _FAMILY.unpack_from(data, _HEAD.size)
    if not 1 <= family <= MOST_FAMILY or start + family + measure > len(data) - 8:
        raise FormatError(
            f"directory: a family of {family} bytes and a measure of {measure}"
        )
    texts = (
        data[start : start + family],
        data[start + family : start + family + measure],
    )
    try:
        return (
            start + family + measure,
            texts[0].decode(),
            payload,
            texts[1].decode("ascii"),
        )
    except UnicodeDecodeError as error:
        raise FormatError(
            f"directory: the family is no UTF-8, or the measure no ASCII: {error}"
        ) from None


Put = Callable[["list[npt.NDArray[Any]]"], Section]


def write_segment(segment: Segment, put: Put) -> SegmentRecord:
    """Write the sections of a segment that are not stored yet, each with a call of `put`."""
    if isinstance(segment.where, SegmentRecord):
        if (
            segment.deleted is None
            or int(segment.deleted.sum()) == segment.deleted_when_written
        ):
            return segment.where
        return SegmentRecord(
            segment.where.rows, (put(_deleted(segment)), *segment.where.sections[1:])
        )
    table_sections = segment.tables.sections()
    stored_sections = [put(_deleted(segment))]
    for name in SECTIONS[segment.kind][1:]:
        stored_sections.append(
            put(
                [
                    np.ascontiguousarray(array, DTYPES[name])
                    for array in table_sections[name]
                ]
            )
        )
    return SegmentRecord(segment.tables.limit, tuple(stored_sections))


def _deleted(segment: Segment) -> list[npt.NDArray[Any]]:
    """Return the content of the section of deleted rows: nothing, or one bit per row."""
    deleted = segment.deleted
    return (
        []
        if deleted is None or not deleted.any()
        else [np.packbits(deleted, bitorder="little")]
    )


def open_segment(
    directory: Directory,
    record: SegmentRecord,
    bytes_of_section: Callable[[Section], UInt8Array],
    verify: bool,
) -> Segment:
    """Return a segment over its sections, which `read` returns as arrays of bytes.

    Raises
    ------
    FormatError
        If the length, the checksum (if `verify`) or the content of a section is wrong; the error
        names the section.
    """
    names = SECTIONS[directory.kind]
    p = directory.parameters
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, section in zip(names, record.sections, strict=True):
        data = bytes_of_section(section)
        if verify and checksum(data) != section.checksum:
            raise FormatError(f"{name}: its checksum is wrong")
        if section.nbytes % np.dtype(DTYPES[name]).itemsize:
            raise FormatError(
                f"{name}: {section.nbytes} bytes are not a whole number of values"
            )
        arrays[name] = data.view(DTYPES[name])
    n = record.rows
    if n > 2**31 or arrays["signatures"].size != n * p.words:
        raise FormatError(
            f"signatures: {arrays['signatures'].size} slots, not {n} x {p.words}"
        )
    if arrays["shape"].size % 3:
        raise FormatError(f"shape: {arrays['shape'].size} values, not three a table")
    arrays["signatures"] = arrays["signatures"].reshape(n, p.words)
    arrays["shape"] = arrays["shape"].reshape(-1, 3)
    bits = arrays.pop("deleted")
    if bits.size not in (0, (n + 7) // 8):
        raise FormatError(f"deleted: {bits.size} bytes for {n} rows")
    deleted = (
        np.unpackbits(bits, count=n, bitorder="little")
        if bits.size
        else np.zeros(n, np.uint8)
    )
    try:
        tables = BandTables.over(
            p.num_perm,
            p.bands,
            p.rows_per_band,
            directory.kind,
            arrays,
            deleted,
            payload=p.payload,
            apart=p.apart,
            bits=p.bits,
            head=p.head,
        )
    except ValueError as error:
        raise FormatError(f"tables: {error}") from None
    return Segment(
        tables,
        directory.kind,
        deleted=deleted,
        deleted_when_written=int(deleted.sum()),
        where=record,
    )


def check_segments(segments: list[Segment], parameters: Parameters) -> None:
    """Check fixed segments that have just been opened, after their checksums.

    Raises
    ------
    FormatError
        If a section is damaged; the error names it.
    """
    for segment in segments:
        _check_segment(segment, parameters)
    # The keys of each segment are looked up in all larger ones.
    segments = sorted(segments, key=len)
    for number, segment in enumerate(segments[:-1]):
        for keys, _ in _keys_of(segment):
            for other in segments[number + 1 :]:
                again = np.flatnonzero(other.find(keys) >= 0)
                if len(again):
                    raise FormatError(
                        f"tables: key {listed(take(keys, again[:1]))[0]!r} is in two segments"
                    )


def _keys_of(segment: Segment) -> Iterator[tuple[Column, Int64Array]]:
    """Yield the keys of all rows that are not deleted, and these rows, in batches."""
    in_use = segment.tables.rows_in_use()
    for start in range(0, len(in_use), PIECE_ROWS):
        rows = in_use[start : start + PIECE_ROWS]
        try:
            yield segment.names_of(rows), rows
        except ValueError as error:
            raise FormatError(f"bytes: {error}") from None


def _check_segment(segment: Segment, parameters: Parameters) -> None:
    """Check that the tables of a segment agree with its rows."""
    assert segment.deleted is not None
    if segment.where.sections[0].nbytes and not segment.deleted.any():
        raise FormatError("deleted: the section marks no row")
    unsound = segment.tables.unsound()
    if unsound is not None:
        raise FormatError(f"tables: table {unsound} is not in order")
    for keys, rows in _keys_of(segment):
        if (segment.find(keys) != rows).any():
            raise FormatError("tables: a key does not lead to its row")
    _check_rows(segment, parameters)


def _check_rows(segment: Segment, p: Parameters) -> None:
    """Check that valid tables contain each row once, under its tag.

    The actual and the expected contents are compared by the sum of the hashes of their entries.
    This needs no memory, and reads tables and signatures sequentially.
    """
    expected_sums = np.zeros((2, p.bands + 1), np.uint64)
    for start in range(0, segment.tables.limit, PIECE_ROWS):
        rows = int64_range(start, min(start + PIECE_ROWS, segment.tables.limit))
        try:
            tags = segment.tables.tags_of(rows).astype(np.uint64)
        except ValueError as error:
            raise FormatError(f"bytes: {error}") from None
        expected_sums[:, -1] += _sums(tags << _HALF | rows.astype(np.uint64))
        signatures = segment.tables.signatures_of(rows)
        keys = np.empty((len(signatures), p.bands), np.uint64)
        band_keys(signatures, p.bands, p.rows_per_band, keys, p.apart)
        for band in range(p.bands):
            full = keys[:, band] != EMPTY
            expected_sums[:, band] += _sums(
                keys[full, band] >> _HALF << _HALF | rows[full].astype(np.uint64)
            )
    sections = {name: arrays[0] for name, arrays in segment.tables.sections().items()}
    end = 0
    for table, (_, length, _) in enumerate(sections["shape"].tolist()):
        start = end
        end = end + length + 1
        sums = np.zeros(2, np.uint64)
        for entries in _entries(sections["tables"][start:end], sections["pool"]):
            sums += _sums(entries)
        if (sums != expected_sums[:, table]).any():
            what = "the table of keys" if table == p.bands else f"band {table}"
            expected_rows = expected_sums[0, table]
            raise FormatError(
                f"tables: {what} has {sums[0]} rows, not each of {expected_rows} once under its tag"
            )


_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_SEVERAL = np.uint64(2**31)
_NO_ROW = np.uint32(2**32 - 1)


def _sums(records: UInt64Array) -> UInt64Array:
    """Return the number of records, and the sum of their hashes."""
    return np.array(
        [len(records), tokens_of_integers(records, 0).sum(dtype=np.uint64)], np.uint64
    )


def _entries(table: UInt64Array, pool: UInt32Array) -> Iterator[UInt64Array]:
    """Yield the rows of a valid table, in pieces, as entries with tags in the upper half."""
    for start in range(0, len(table), PIECE_ROWS):
        piece = table[start : start + PIECE_ROWS]
        piece = piece[piece != EMPTY]
        several = (piece & _SEVERAL) != 0
        yield piece[~several]
        blocks = piece[several]
        first = 4 * (blocks & np.uint64(2**31 - 1)).astype(np.int64) + 2
        slots = pool[first - 1].astype(np.int64)
        tags = blocks & ~_LOW
        small = slots <= PIECE_ROWS // 64
        ends = np.cumsum(slots[small], dtype=np.int64)
        at = int64_range(slots[small].sum())
        at += np.repeat(first[small] - (ends - slots[small]), slots[small])
        yield _rows_of(np.repeat(tags[small], slots[small]), pool[at])
        for block in np.flatnonzero(~small).tolist():
            for low in range(0, int(slots[block]), PIECE_ROWS):
                high = min(low + PIECE_ROWS, int(slots[block]))
                yield _rows_of(
                    tags[block], pool[first[block] + low : first[block] + high]
                )


def _rows_of(tags: Any, slots: UInt32Array) -> UInt64Array:
    """Return the rows in some slots of blocks, with their tags in the upper half."""
    return np.asarray((slots.astype(np.uint64) | tags)[slots != _NO_ROW])
