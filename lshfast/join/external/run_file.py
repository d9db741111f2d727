"""Files of sorted records: written once, read once in order, and checked block by block.

A header of 48 bytes, little-endian: the magic number (8 bytes); the version and the records of a
block (uint32 each); the number of records, the stamp, the checksum of the table and the checksum of
the header before it (uint64 each). Then the records (two uint64 each, or as many more as writer and
reader agree on; sorted) and the table: the checksum of each block of records (uint64). Checksums
are by `lshfast.kernels.checksum`. The header is written last, so a file that was not written to its
end has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

import numpy as np

from lshfast._common.container import Header, named_format, write_all
from lshfast._common.errors import FormatError
from lshfast._common.private_files import private
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import UInt64Array
from lshfast._common.visible import printable
from lshfast.join.external.records import WORD_BYTES, Words, are_sorted, words_of
from lshfast.kernels.checksum import checksum

_HEAD = Header(
    b"LSHFRUN\0", (1,), "IQQQ", "a file of sorted records, or not written to its end"
)
HEADER_BYTES = _HEAD.size
RECORD_BYTES = 16
BLOCK_RECORDS = 4096
MOST_RECORDS = 2**56


def write_run(
    path: str, batches: Iterable[UInt64Array], stamp: int = 0, words: int = 2
) -> int:
    """Write batches of sorted records to a new file, and return the number of records.

    Parameters
    ----------
    path : str
        No file of this name may exist. If anything raises, the file is removed.
    batches : iterable of ndarray of uint64, shape (m, words)
        Their concatenation is sorted.
    stamp : int, default 0
        In 0..2**64 - 1. A reader refuses a file with another stamp.
    words : int, default 2
        At least 2.

    Raises
    ------
    OSError
        If the file cannot be written; the message names it.
    """
    try:
        with open(path, "xb", buffering=0, opener=private) as file:
            try:
                return _write(file, batches, stamp, words)
            except BaseException:
                with suppress(OSError):
                    os.unlink(path)
                raise
    except OSError as error:
        if error.filename is not None and error.filename != path:
            raise
        raise OSError(error.errno, error.strerror, printable(path)) from error


def _write(
    file: BinaryIO, batches: Iterable[UInt64Array], stamp: int, words: int
) -> int:
    sums: list[int] = []
    # The block that is not complete yet.
    open_block = np.empty((BLOCK_RECORDS, words), "<u8")
    count = 0
    write_all(file, bytes(HEADER_BYTES))
    for batch in batches:
        at = 0
        filled = count % BLOCK_RECORDS
        if filled:
            at = min(BLOCK_RECORDS - filled, len(batch))
            open_block[filled : filled + at] = batch[:at]
            if filled + at == BLOCK_RECORDS:
                sums.append(_write_block(file, open_block))
        end = at + (len(batch) - at) // BLOCK_RECORDS * BLOCK_RECORDS
        whole_blocks = np.ascontiguousarray(batch[at:end], "<u8")
        if len(whole_blocks):
            for part in parts_of_rows(len(whole_blocks), BLOCK_RECORDS):
                sums.append(checksum(whole_blocks[part]))
            write_all(file, whole_blocks.data.cast("B"))
            at += len(whole_blocks)
        if at < len(batch):
            open_block[: len(batch) - at] = batch[at:]
        count += len(batch)
    if count % BLOCK_RECORDS:
        sums.append(_write_block(file, open_block[: count % BLOCK_RECORDS]))
    table = np.array(sums, "<u8")
    write_all(file, table.data.cast("B") if sums else b"")
    file.seek(0)
    write_all(file, _HEAD.pack(1, BLOCK_RECORDS, count, stamp, checksum(table)))
    return count


def _write_block(file: BinaryIO, block: UInt64Array) -> int:
    write_all(file, block.data.cast("B"))
    return checksum(block)


class RunReader:
    """Read the records of a file in order. Use it as a context manager.

    Parameters
    ----------
    path : str
    stamp : int, default 0
        The stamp that the file must have.
    words : int, default 2
        The words of each record.

    Attributes
    ----------
    left : int
        The records that have not been read.

    Raises
    ------
    FormatError
        If the file is damaged or belongs to something else; the message names it. `read` raises it
        for a block.
    """

    def __init__(self, path: str, stamp: int = 0, words: int = 2) -> None:
        self.path = path
        self._record_bytes = WORD_BYTES * words
        self._file = open(path, "rb", buffering=0, opener=private)  # noqa: SIM115
        try:
            self._sums = self._checked(stamp)
        except BaseException:
            self._file.close()
            raise
        self._block = 0
        self._last: Words | None = None

    def __enter__(self) -> RunReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _checked(self, stamp: int) -> UInt64Array:
        """Check the header and the table, and return the table."""
        with named_format(self.path):
            _, block, count, own_stamp, own_sum = _HEAD.unpack(
                self._file.read(HEADER_BYTES)
            )
        if block != BLOCK_RECORDS or count > MOST_RECORDS:
            raise self._fault("header: values out of range")
        if own_stamp != stamp:
            raise self._fault("it belongs to another run")
        blocks = -(-count // BLOCK_RECORDS)
        nbytes = HEADER_BYTES + self._record_bytes * count + 8 * blocks
        size = os.fstat(self._file.fileno()).st_size
        if size != nbytes:
            raise self._fault(f"it has {size} bytes, not {nbytes}")
        table = np.empty(blocks, "<u8")
        self._file.seek(HEADER_BYTES + self._record_bytes * count)
        self._fill(table)
        if checksum(table) != own_sum:
            raise self._fault("table: damaged")
        self._file.seek(HEADER_BYTES)
        self.left: int = int(count)
        return table

    def _fault(self, reason: str) -> FormatError:
        return FormatError(f"{printable(self.path)}: {reason}")

    def _fill(self, array: UInt64Array) -> None:
        room = array.data.cast("B") if array.nbytes else memoryview(b"")
        while len(room):
            count = self._file.readinto(room)
            if not count:
                raise self._fault("it was cut while it was read")
            room = room[count:]

    def read(self, out: UInt64Array) -> int:
        """Read as many blocks as fit into `out`; return the number of records, 0 at the end.

        `out` is uint64 (m, words), contiguous.
        """
        count = min(self.left, len(out) // BLOCK_RECORDS * BLOCK_RECORDS)
        if count == 0 and self.left and self.left <= len(out):
            count = self.left  # the last block is short
        records = out[:count]
        self._fill(records)
        for part in parts_of_rows(count, BLOCK_RECORDS):
            if checksum(records[part]) != self._sums[self._block]:
                raise self._fault(f"block {self._block}: damaged")
            self._block += 1
        if records.dtype.newbyteorder("<") != records.dtype:
            records.byteswap(inplace=True)
        if count:
            follows = self._last is None or words_of(records, 0) >= self._last
            if not follows or not are_sorted(records):
                raise self._fault(
                    f"block {self._block - 1}: its records are not sorted"
                )
            self._last = words_of(records, -1)
            self.left -= count
        return count
