"""Files of entries: a header, the keys, and columns of 64-bit words.

    header    kind of the keys (0 int, 1 str, 2 uint), fields of the index, number of entries,
              bytes of the keys, and checksums
    note      of some indexes, a text and its checksum, in version 2
    keys      int64 or uint64 (n,); or of strs, int64 (n + 1,) places in the UTF-8 bytes that follow
    columns   uint64 (n, words) each, the rows of the entries

Each section begins at a multiple of 64 bytes. docs/reference/file-format.md defines the format.
Tables and trees over the entries are built when a file is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lshfast._common.container import Bytes, Container
from lshfast._common.errors import FormatError
from lshfast._common.progress import Progress
from lshfast._common.types import UInt64Array
from lshfast.index.keys import INTEGERS, RANGES, Column, check_utf8, kind_of

KINDS = ("int", "str", "uint")

_DTYPES = {"int": "<i8", "uint": "<u8"}

# A header of 68 bytes, a note and its checksum end before the first section, at 128.
NOTE_BYTES = 48


class EntryFile:
    """A kind of file.

    Parameters
    ----------
    magic : bytes
    fields : str
        The fields of the index, as for `struct`.
    name : str
        The kind of file, for errors.
    columns : tuple of str
        The names of the columns.
    most : int
        The most entries.
    noted : bool
        Whether the last of the fields is a text, "" for none, which `fields` leaves out.
    """

    def __init__(
        self,
        magic: bytes,
        fields: str,
        name: str,
        columns: tuple[str, ...],
        most: int,
        noted: bool = False,
    ) -> None:
        versions = (1, 2) if noted else (1,)
        note_bytes = NOTE_BYTES if noted else 0
        sections = ("keys", *columns)
        self.container: Container = Container(
            magic, versions, f"I{fields}QQ", name, sections, 64, 128, note_bytes
        )
        self._most = most

    def write(
        self,
        path: str | os.PathLike[str],
        fields: Sequence[Any],
        keys: Column,
        columns: Sequence[UInt64Array],
        overwrite: bool,
        progress: Progress | None,
    ) -> None:
        """Write a file, which appears when it is complete.

        Raises
        ------
        TypeError
            If the keys are neither all ints of 64 bits nor all strs.
        FileExistsError
            If the file exists and is of another kind, and `overwrite` is false.
        """
        kind, packed = packed_keys(keys)
        arrays = [
            [packed],
            *([np.ascontiguousarray(column, "<u8")] for column in columns),
        ]
        note = ""
        if self.container.note_bytes:
            *fields, note = fields
        head = (kind, *fields, len(keys), len(packed))
        may_replace = overwrite or self.container.is_at(path)
        self.container.write(path, head, arrays, may_replace, progress, note)

    def read(
        self, path: str | os.PathLike[str], widths: Callable[..., Sequence[int]]
    ) -> tuple[tuple[Any, ...], Column, list[UInt64Array]]:
        """Return the fields, keys and columns of a file, all checked except for equal keys.

        `widths` checks the fields, and returns the words of a row of each column. It is called with
        the fields.

        Raises
        ------
        FormatError
            If the file is of another kind, or damaged.
        """

        def sizes(kind: int, *values: Any) -> list[int]:
            fields, n, key_bytes = self._split(values)
            words = widths(*fields)
            if kind >= len(KINDS) or n > self._most:
                raise FormatError(
                    f"header: keys of kind {kind} or {n} entries are out of range"
                )
            return [key_bytes, *(8 * width * n for width in words)]

        (kind, *header_values), (keys, *columns) = self.container.read(path, sizes)
        fields, n, _ = self._split(header_values)
        rows = [np.array(column.view("<u8"), np.uint64) for column in columns]
        shaped = [
            row.reshape(n, width)
            for row, width in zip(rows, widths(*fields), strict=True)
        ]
        return fields, unpacked_keys(keys, kind, n), shaped

    def _split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], int, int]:
        """Return the fields of the index, the number of entries and the bytes of the keys."""
        if self.container.note_bytes:
            *fields, n, key_bytes, note = values
            return (*fields, note), n, key_bytes
        *fields, n, key_bytes = values
        return tuple(fields), n, key_bytes


def packed_keys(keys: Column) -> tuple[int, Bytes]:
    """Return the number of the kind of keys, and the keys as bytes; ints and strs only."""
    kind = kind_of(keys) if len(keys) else "int"
    if kind not in KINDS:
        raise TypeError(
            f"a file needs keys that are all ints of 64 bits or all strs; {RANGES}"
        )
    if isinstance(keys, np.ndarray):
        return KINDS.index(kind), np.ascontiguousarray(keys, _DTYPES[kind]).view(
            np.uint8
        )
    check_utf8(keys)
    parts = [key.encode() for key in keys]
    places = np.cumsum([0, *map(len, parts)], dtype="<i8")
    texts = np.frombuffer(b"".join(parts), np.uint8)
    return KINDS.index(kind), np.concatenate([places.view(np.uint8), texts])


def unpacked_keys(data: Bytes, kind: int, n: int) -> Column:
    """Return keys from the number of their kind and their bytes, or raise FormatError."""
    if KINDS[kind] in INTEGERS:
        if len(data) != 8 * n:
            raise FormatError(f"keys: {len(data)} bytes for {n} ints")
        integers = data.view(_DTYPES[KINDS[kind]])
        return integers.astype(integers.dtype.newbyteorder("="))
    if len(data) < 8 * (n + 1):
        raise FormatError(f"keys: {len(data)} bytes for the places of {n} strs")
    places = data[: 8 * (n + 1)].view("<i8").tolist()
    texts = bytes(data[8 * (n + 1) :])
    if (
        places[0] != 0
        or places[-1] != len(texts)
        or any(a > b for a, b in pairwise(places))
    ):
        raise FormatError(f"keys: places must ascend from 0 to {len(texts)}")
    try:
        return [texts[a:b].decode() for a, b in pairwise(places)]
    except UnicodeDecodeError:
        raise FormatError("keys: not valid UTF-8") from None
