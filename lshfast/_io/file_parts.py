"""Parts of a file that can be read without the rest: ranges of bytes, or of row groups of Parquet.

A row belongs to the part in which it begins. Files of lines are cut where a line begins. CSV is not
divided, since only the file up to a line end shows whether this is inside quotes; neither are
compressed files, which are read from their beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lshfast._io import parquet
from lshfast._io.encodings import actual_encoding
from lshfast._io.files import File, codec_of_bytes, reason_of
from lshfast._io.lines import BOM, is_plain
from lshfast._io.sources import ByteRange, LocalFile, RemoteFile

# Bytes in which the end of a line is looked for at a time, and those at the beginning of a file by
# which an encoding or a compression is recognized.
SEARCHED_BYTES = 1 << 16
HEAD_BYTES = 10

# The bytes that a row group of Parquet counts at most: a damaged file may state any number.
MOST_GROUP_BYTES = 1 << 40


class FilePart(NamedTuple):
    """Where a part of a file begins and ends, and its bytes.

    It begins and ends at a byte; in Parquet, at a row group.
    """

    begin: int
    end: int
    nbytes: int


def can_be_divided(file: File) -> bool:
    """Return whether parts of a file can be read without those before."""
    if file.format == "parquet":
        return True
    return (
        file.format in ("jsonl", "lines")
        and file.codec is None
        and isinstance(file.source, (LocalFile, RemoteFile))
        and is_plain(file)
    )


def divided(file: File, count: int) -> list[FilePart]:
    """Return consecutive parts of about the same size; some may be empty.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    if file.format == "parquet":
        sizes = np.clip(parquet.bytes_of_row_groups(file), 0, MOST_GROUP_BYTES)
        ends = np.cumsum([0, *sizes], dtype=np.int64)
        groups = np.searchsorted(ends, _targets(int(ends[-1]), count))
        cuts = [0, *groups.tolist(), len(sizes)]
        nbytes = np.diff(ends[cuts]).tolist()
    else:
        try:
            with closing(file.source.open()) as stream:
                cuts = _lines_after(stream, _targets(file.size, count), file.size)
        except OSError as error:
            raise file.fault(None, f"cannot be read: {reason_of(error)}") from error
        cuts = [0, *cuts, file.size]
        nbytes = np.diff(cuts).tolist()
    return list(map(FilePart, cuts[:-1], cuts[1:], nbytes))


def _targets(size: int, count: int) -> list[int]:
    """Return where parts begin, except the first one, if they can begin anywhere."""
    return [size * part // count for part in range(1, count)]


def _lines_after(stream: Any, targets: Sequence[int], size: int) -> list[int]:
    """Return where the first line at or after each of some ascending bytes begins, or `size`.

    No byte is searched twice, however long lines are.
    """
    begins: list[int] = []
    for target in targets:
        if not begins or begins[-1] < target:
            begins.append(_line_after(stream, target, size))
        else:
            begins.append(begins[-1])
    return begins


def _line_after(stream: Any, target: int, size: int) -> int:
    """Return where the first line at or after a byte begins; `size` if none does."""
    at = max(0, target - 1)
    while True:
        stream.seek(at)
        piece = stream.read(SEARCHED_BYTES + HEAD_BYTES)
        if not piece:
            return size
        begin: int = piece.find(b"\n", 0, SEARCHED_BYTES) + 1
        while begin:
            if _is_plain_beginning(piece[begin : begin + HEAD_BYTES]):
                return at + begin
            begin = piece.find(b"\n", begin, SEARCHED_BYTES) + 1
        at += min(len(piece), SEARCHED_BYTES)


def _is_plain_beginning(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is read as plain UTF-8 from its first."""
    return (
        codec_of_bytes(head) is None
        and actual_encoding(head, "utf-8") == "utf-8"
        and not head.startswith(BOM)
    )


def part_of(file: File, begin: int, end: int, lines_before: int | None) -> File:
    """Return a part of a file as a file, given the lines before it if these are known."""
    if file.format == "parquet":  # its rows have their numbers in the file
        return replace(file, row_groups=(begin, end))
    assert isinstance(file.source, (LocalFile, RemoteFile))
    return replace(
        file,
        source=ByteRange(file.source, begin, end, file.size),
        size=end - begin,
        lines_before=lines_before if begin else 0,
    )
