"""The rows that a task puts into a build of shards: a file of pieces, each of one shard.

    pieces    keys, as in `packed_keys`, zeros up to a multiple of 8, and the rows, uint64
    table     for each piece: shard, rows, bytes of the keys, offset and checksum, uint64
    trailer   kind of the keys, words of a row, number of pieces, offset and checksum of the table

The pieces of one shard are read from their places, so a task writes one file for all shards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any, NoReturn

import numpy as np

from lshfast._common.atomic_files import at_once, atomic_file
from lshfast._common.container import Bytes, Header, append, mapped, named_format
from lshfast._common.errors import FormatError
from lshfast._common.types import BoolArray, UInt64Array
from lshfast.index.entry_file import KINDS, packed_keys, unpacked_keys
from lshfast.index.keys import (
    Column,
    check_utf8,
    concatenate,
    kind_of,
    refusal,
    sample,
    take,
)
from lshfast.index.shards.folder import places_by_shard
from lshfast.index.stores.base import Store
from lshfast.index.stores.values import Found, OnDuplicate, Parameters
from lshfast.kernels.checksum import checksum

# Fields: kind of the keys, words of a row, number of pieces, offset and checksum of their table.
TRAILER = Header(b"LSHFROW\0", (1,), "IQQQQ", "rows of a build of shards")

# Rows are collected until a batch has this many bytes, so that pieces are long.
BATCH_BYTES = 1 << 26

PIECE_FIELDS = 5  # shard, rows, bytes of the keys, offset, checksum


class SpoolStore(Store):
    """Store entries that are only written, for a build of shards.

    Equal keys are found when the shards are built.

    Parameters
    ----------
    path : str
        The file, which appears when the store is closed.
    parameters : Parameters
    shards : int
    permissions_of : str or None
        As for `atomic_file`.
    """

    parameters: Parameters | None

    def __init__(
        self,
        path: str,
        parameters: Parameters,
        shards: int,
        permissions_of: str | None,
    ) -> None:
        self.parameters = parameters
        self._shards = shards
        self._words = parameters.words
        self._kind: str | None = None
        self._sample: Column = []  # of all keys
        self._rows = 0
        self._batches = list[tuple[Column, UInt64Array]]()
        self._batch_bytes = 0
        self._pieces = list[tuple[int, ...]]()
        self._stack = ExitStack()
        with at_once():
            file = self._stack.enter_context(
                atomic_file(path, overwrite=True, permissions_of=permissions_of)
            )
        self._file: Any = file

    @property
    def kind(self) -> str | None:
        return self._kind

    def bind(self, parameters: Parameters) -> None:
        assert self.parameters is not None
        self.parameters.check_same(parameters)

    def __len__(self) -> int:
        return self._rows

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        *,
        copy: bool = True,
    ) -> int:
        self._check_open()
        if not len(keys):
            return 0
        samples = [self._sample, sample(keys)] if self._rows else [sample(keys)]
        joint_sample = sample(concatenate(samples))
        kind = kind_of(joint_sample)
        if kind not in KINDS:
            raise refusal(keys, self._kind)
        check_utf8(keys)
        self._kind = kind
        self._sample = joint_sample
        is_waiting = signatures.nbytes < BATCH_BYTES
        rows = signatures.copy() if copy and is_waiting else signatures
        # The keys may be the array of the caller, who may change it before they are written.
        self._batches.append((keys.copy(), rows))
        self._batch_bytes += rows.nbytes
        self._rows += len(keys)
        if self._batch_bytes >= BATCH_BYTES:
            self._write_batch()
        return len(keys)

    def _write_batch(self) -> None:
        batches = self._batches
        if not batches:
            return
        keys = concatenate([keys for keys, _ in batches])
        rows = (
            batches[0][1]
            if len(batches) == 1
            else np.concatenate([part for _, part in batches])
        )
        for shard, places in places_by_shard(keys, self._shards):
            _, shard_keys = packed_keys(take(keys, places))
            self._write_piece(shard, shard_keys, rows[places])
        self._batches = []
        self._batch_bytes = 0

    def _write_piece(self, shard: int, keys: Bytes, rows: UInt64Array) -> None:
        start = self._file.tell()
        padding = np.zeros(-len(keys) % 8, np.uint8)
        arrays = (keys, padding, np.ascontiguousarray(rows, "<u8"))
        append(self._file, arrays, lambda _: None)
        sum_of_piece = checksum(*(array.reshape(-1).view(np.uint8) for array in arrays))
        self._pieces.append((shard, len(rows), len(keys), start, sum_of_piece))

    def _write_end(self) -> None:
        self._write_batch()
        start = self._file.tell()
        table = np.array(self._pieces, "<u8").reshape(-1, PIECE_FIELDS)
        append(self._file, [table], lambda _: None)
        sum_of_table = checksum(table.reshape(-1).view(np.uint8))
        kind = KINDS.index(self._kind or "int")
        self._file.write(
            TRAILER.pack(1, kind, self._words, len(table), start, sum_of_table)
        )

    def close(self) -> None:
        if self._file is None:
            return
        self._write_end()
        self._file = None
        self._stack.close()

    def abandon(self) -> None:
        """Remove the rows."""
        if self._file is None:
            return
        self._file = None
        with suppress(_AbandonedError), self._stack:
            raise _AbandonedError

    def stats(self) -> dict[str, int]:
        return {"signature bytes": 8 * self._words * self._rows}

    def _check_open(self) -> None:
        if self._file is None:
            raise ValueError("the rows of this task are complete: begin another task")

    def _refuse(self) -> NoReturn:
        raise ValueError(
            "the entries of a build cannot be searched or removed before its end: open the folder "
            "then"
        )

    def contains(self, keys: Column) -> BoolArray:
        self._refuse()

    def remove(self, keys: Column) -> None:
        self._refuse()

    def query(
        self,
        signatures: UInt64Array,
        *,
        least: int | None,
        threads: int,
        most: int | None = None,
    ) -> Found:
        self._refuse()

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        self._refuse()


class _AbandonedError(Exception):
    """Ends the block of a file that is to be removed."""


class SpooledRows:
    """The rows of a task: a mapped file, whose pieces are checked when they are read.

    Parameters
    ----------
    path : str
    parameters : Parameters
    shards : int

    Attributes
    ----------
    kind : str or None
        The type of the keys; None without rows.
    nbytes : int

    Raises
    ------
    FormatError
        If the file is damaged, or of another build.
    """

    kind: str | None
    nbytes: int

    def __init__(self, path: str, parameters: Parameters, shards: int) -> None:
        self._path = path
        self._words = parameters.words
        with open(path, "rb") as file, named_format(path):
            self._data = mapped(file)
            _, kind, words, pieces, start, sum_of_table = TRAILER.unpack(
                bytes(self._data[-TRAILER.size :])
            )
            end = len(self._data) - TRAILER.size
            if kind >= len(KINDS) or words != self._words:
                raise FormatError(f"trailer: kind {kind}, {words} words a row")
            if start > end or end - start != 8 * PIECE_FIELDS * pieces:
                raise FormatError(f"trailer: {pieces} pieces at byte {start} of {end}")
            table = self._data[start:end]
            if checksum(table) != sum_of_table:
                raise FormatError("table: its checksum is wrong")
            self._table = np.frombuffer(bytes(table), "<u8").reshape(-1, PIECE_FIELDS)
            if (self._table[:, 0] >= shards).any():
                raise FormatError(f"table: a shard is not in 0..{shards - 1}")
        self._kind_number = int(kind)
        self.kind = KINDS[kind] if pieces else None
        self.nbytes = len(self._data)

    def sum_of(self, shard: int) -> int | None:
        """Return a checksum of the rows of a shard; None if it has none."""
        pieces = self._table[self._table[:, 0] == shard]
        return checksum(pieces.reshape(-1).view(np.uint8)) if len(pieces) else None

    def rows_of(self, shard: int) -> Iterator[tuple[Column, UInt64Array]]:
        """Yield the keys and rows of a shard, in the order in which they were put.

        The rows are read-only parts of the mapped file.
        """
        for piece in self._table[self._table[:, 0] == shard].tolist():
            _, rows, key_bytes, start, expected_sum = piece
            row_start = start + key_bytes + -key_bytes % 8
            end = row_start + 8 * self._words * rows
            with named_format(self._path):
                if start % 8 or end > len(self._data):
                    raise FormatError(f"a piece lies at bytes {start} to {end}")
                if checksum(self._data[start:end]) != expected_sum:
                    raise FormatError(
                        f"the piece at byte {start}: its checksum is wrong"
                    )
                keys = unpacked_keys(
                    self._data[start : start + key_bytes], self._kind_number, rows
                )
            row_bytes = self._data[row_start:end]
            yield keys, row_bytes.view("<u8").reshape(rows, self._words)
