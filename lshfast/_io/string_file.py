"""Ids, order values and rejected rows in files, for runs with too little memory for them."""

from __future__ import annotations

import io
import json
import os
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lshfast._common.atomic_files import naming
from lshfast._common.private_files import private
from lshfast._common.rows import int64_range, offsets_of, parts_of_rows, runs_of
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import (
    AnyArray,
    Int64Array,
    UInt8Array,
    UInt64Array,
)
from lshfast._io.files import Reject
from lshfast.kernels.json import read_spans
from lshfast.kernels.text import Texts, tokens_of_texts

# Bytes that are held before they are written.
HELD_BYTES = 1 << 16

# Words of 8 bytes of the strings that are read at a time while they are ranked, and the most of a
# string.
RANKED_WORDS = 1 << 21
MOST_WORDS = 8


class _Appended:
    """A file to which bytes are appended; `path` is a new file, or one that was written before."""

    def __init__(self, path: str, exists: bool) -> None:
        self.path = path
        self._held: list[bytes] = []
        self._size = 0
        with naming(path):
            self.file = io.FileIO(path, "r" if exists else "w+", opener=private)
        weakref.finalize(self, self.file.close)

    def append(self, data: bytes) -> None:
        """Add bytes at the end; they are buffered until `flush` or HELD_BYTES."""
        self._held.append(data)
        self._size += len(data)
        if self._size >= HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the buffered bytes."""
        if self._held:
            remaining = memoryview(b"".join(self._held))
            self._held = []
            self._size = 0
            with naming(self.path):
                self.file.seek(0, os.SEEK_END)
                while len(remaining):
                    remaining = remaining[self.file.write(remaining) :]


class StringFile(Sequence[str]):
    """A sequence of strings in a file; the end of each is in memory and takes 8 bytes.

    Parameters
    ----------
    path : str
        A new file, or one that was written before.
    ends : ndarray of int64, optional
        The `ends` of a file that was written before.
    """

    def __init__(self, path: str, ends: Int64Array | None = None) -> None:
        self._file = _Appended(path, ends is not None)
        self._ends = array("q", [0] if ends is None else ends.tobytes())

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, row: Any) -> Any:
        return self.take(np.array([row], np.int64))[0]

    def append(self, text: str) -> None:
        """Add a string, which may hold lone surrogates."""
        data = text.encode(errors="surrogatepass")
        self._file.append(data)
        self._ends.append(self._ends[-1] + len(data))

    def ends(self) -> Int64Array:
        """Write all strings, and return the place of the end of each, after a 0."""
        self._file.flush()
        return np.array(self._ends, np.int64)

    def lengths(self, rows: Int64Array) -> Int64Array:
        """Return the bytes of some strings."""
        ends = np.frombuffer(self._ends, np.int64)
        return ends[rows + 1] - ends[rows]

    def take(self, rows: Int64Array) -> list[str]:
        """Return some strings."""
        data, sizes = self._read(rows, 0, None)
        texts = Texts.of_buffer(data, offsets_of(sizes))
        return [texts[i].decode(errors="surrogatepass") for i in range(len(texts))]

    def ranks(self) -> Int64Array:
        """Return the order of the strings by characters, which is that of their UTF-8 bytes.

        Strings with equal beginnings are compared by their next bytes, until all are different or
        at their ends.
        """
        ranks = np.zeros(len(self), np.int64)
        ties = int64_range(len(self))
        depth = 0
        while len(ties):
            count = min(MOST_WORDS, max(1, RANKED_WORDS // len(ties)))
            keys = [ranks[ties], *self._words(ties, depth, count)]
            depth += 8 * count
            # 1 if there are more bytes.
            byte_counts = np.clip(self.lengths(ties) - depth, -8 * count, 1)
            order = np.lexsort([byte_counts, *keys[::-1]])
            first = _starts(keys[0][order])
            equal = _starts(*(key[order] for key in (*keys, byte_counts)))
            ties = ties[order]
            byte_counts = byte_counts[order]
            ranks[ties] += equal - first
            several = np.bincount(equal, minlength=len(ties))[equal] > 1
            ties = ties[several & (byte_counts > 0)]
        return ranks

    def _words(self, rows: Int64Array, depth: int, count: int) -> list[UInt64Array]:
        """Return words of 8 bytes of some strings, with zeros after the end, as ordered numbers."""
        words = [np.empty(len(rows), np.uint64) for _ in range(count)]
        for part in parts_of_rows(len(rows), RANKED_WORDS // count):
            data, sizes = self._read(rows[part], depth, 8 * count)
            filled = np.zeros((len(sizes), 8 * count), np.uint8)
            filled[int64_range(8 * count) < sizes[:, None]] = data
            for word, column in zip(words, filled.view(">u8").T, strict=True):
                word[part] = column
        return words

    def _read(
        self, rows: Int64Array, depth: int, most: int | None
    ) -> tuple[UInt8Array, Int64Array]:
        """Return up to `most` bytes of some strings from `depth` on, and how many these are."""
        self._file.flush()
        sizes = np.clip(self.lengths(rows) - depth, 0, most)
        starts = np.frombuffer(self._ends, np.int64)[rows] + depth
        data = np.empty(int(sizes.sum()), np.uint8)
        with naming(self._file.path):
            if not read_spans(self._file.file.fileno(), starts, sizes, data):
                raise OSError(0, "has been cut")
        return data, sizes


class RejectFile:
    """Rejected rows in a file, which take no memory.

    Parameters
    ----------
    path : str
        A new file, or one that was written before.
    count : int, optional
        The number of rows in a file that was written before.
    """

    def __init__(self, path: str, count: int | None = None) -> None:
        self._file = _Appended(path, count is not None)
        self._count = count or 0

    def __len__(self) -> int:
        return self._count

    def append(self, reject: Reject) -> None:
        """Add a row."""
        self._file.append(json.dumps(reject).encode() + b"\n")
        self._count += 1

    def __iter__(self) -> Iterator[Reject]:
        self._file.flush()
        with (
            naming(self._file.path),
            open(self._file.path, "rb", opener=private) as file,
        ):
            for line in file:
                yield Reject(*json.loads(line))

    def flush(self) -> None:
        """Write all rows."""
        self._file.flush()


class HashedKeys:
    """The rows of keys, found by hashes of 64 bits: 16 bytes a key.

    The hashes have a secret key, so nobody can choose keys with equal hashes. The caller compares
    the key of a row that is found.
    """

    def __init__(self) -> None:
        self._secret = draw_hash_key()
        # Sorted; each at least twice as long as the next.
        self._runs: list[tuple[UInt64Array, Int64Array]] = []

    def add(self, keys: Sequence[Any], rows: Int64Array) -> None:
        """Add keys with their rows."""
        if not len(keys):
            return
        self._runs.append(_sorted_run(self._hashes(keys), rows))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(
            self._runs[-1][0]
        ):
            one = self._runs.pop()
            other = self._runs.pop()
            hashes, rows = (
                np.concatenate(parts) for parts in zip(one, other, strict=True)
            )
            del one, other
            self._runs.append(_sorted_run(hashes, rows))

    def find(self, keys: Sequence[Any]) -> Int64Array:
        """Return for each key a row whose key has the same hash, or -1."""
        hashes = self._hashes(keys)
        rows_of_keys = np.full(len(keys), -1, np.int64)
        order = np.argsort(hashes)
        for hashes_of_run, rows in self._runs:
            places = np.searchsorted(hashes_of_run, hashes[order])
            places[places == len(hashes_of_run)] = 0
            same = hashes_of_run[places] == hashes[order]
            rows_of_keys[order[same]] = rows[places[same]]
        return rows_of_keys

    def _hashes(self, keys: Sequence[Any]) -> UInt64Array:
        return tokens_of_texts(
            Texts([str(key).encode(errors="surrogatepass") for key in keys]),
            self._secret,
        )


def _sorted_run(
    hashes: UInt64Array, rows: Int64Array
) -> tuple[UInt64Array, Int64Array]:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], rows[order]


def _starts(*columns: AnyArray) -> Int64Array:
    """Return for each row where its run of rows with equal values begins."""
    starts, stops = runs_of(*columns)
    return np.repeat(starts, stops - starts)
