"""Records that are sorted in bounded memory: full buffers go to sorted files, which are merged.

A round of the merge takes the records that do not come after the smallest last record of all
buffers, and sorts them: the radix sort takes no longer than a tree of comparisons. Each round
empties a buffer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress

import numpy as np

from lshfast._common.types import UInt64Array
from lshfast.join.external.records import (
    WORD_BYTES,
    Words,
    count_until,
    sort_records,
    sorting_bytes,
    words_of,
)
from lshfast.join.external.run_file import (
    BLOCK_RECORDS,
    RECORD_BYTES,
    RunReader,
    write_run,
)

# Arrays of the size of the input buffers that a merge takes: the buffers, what a round takes from
# them, and the space to sort it.
MERGE_ARRAYS = 3

# The least memory of a merge: two files, a block of each.
LEAST_MEMORY = 2 * MERGE_ARRAYS * BLOCK_RECORDS * RECORD_BYTES

# Files that are open at once.
MOST_FILES = 256


class SortedRuns:
    """Records in sorted order, on disk as far as they do not fit into a buffer.

    Use it as a context manager, which removes its files at the end.

    Parameters
    ----------
    folder : str
        An existing folder, in which no other files have names that begin with `name`.
    name : str
    buffer, scratch : ndarray of uint64, shape (m, words)
        The memory for records of 2 or more words, and the memory for sorting them; the latter may
        be shared with others that are used at other times.
    stamp : int, default 0
        In 0..2**64 - 1, written to the files.

    Attributes
    ----------
    written : int
        Bytes of records that were written to files so far.

    See Also
    --------
    lshfast.join.ExternalJoin : Find rows that share buckets in bounded memory.
    lshfast.join.contract_links : Label the components of links in bounded memory.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from lshfast.join import SortedRuns
    >>> memory = np.empty((2, 4, 2), np.uint64)
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     SortedRuns(folder, "pairs", *memory) as runs,
    ... ):
    ...     for first in (7, 3, 5, 1, 4, 6):
    ...         runs.add(np.array([[first, 0]], np.uint64))
    ...     [first for records in runs.merged(1 << 20) for first, _ in records.tolist()]
    [1, 3, 4, 5, 6, 7]
    """

    def __init__(
        self,
        folder: str,
        name: str,
        buffer: UInt64Array,
        scratch: UInt64Array,
        stamp: int = 0,
    ) -> None:
        self._folder = folder
        self._name = name
        self._stamp = stamp
        self._words = buffer.shape[1]
        self._buffer: UInt64Array | None = buffer
        self._scratch = scratch
        self._filled = 0
        self._paths: list[str] = []
        self._files = 0
        self.written: int = 0

    def __enter__(self) -> SortedRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the files, and forget the memory."""
        self._buffer = None
        self._scratch = self._scratch[:0].copy()
        while self._paths:
            with suppress(FileNotFoundError):
                os.unlink(self._paths[-1])
            self._paths.pop()

    def room(self) -> UInt64Array:
        """Return the free part of the buffer, at least one record; `take` adds its beginning."""
        assert self._buffer is not None
        if self._filled == len(self._buffer):
            self.spill()
        return self._buffer[self._filled :]

    def take(self, count: int) -> None:
        """Add the first `count` records of `room`."""
        self._filled += count

    def add(self, records: UInt64Array) -> None:
        """Add records, uint64 (m, words), in any order."""
        while len(records):
            room = self.room()
            part = records[: len(room)]
            room[: len(part)] = part
            self.take(len(part))
            records = records[len(part) :]

    def spill(self) -> None:
        """Write the buffer to a file, if there is anything in it."""
        assert self._buffer is not None
        if self._filled:
            self._write(iter([self._sorted()]))
            self._filled = 0

    def release(self) -> None:
        """Write the buffer to a file and forget the memory.

        Only `resume`, `merged` and `close` may be called after this.
        """
        self.spill()
        self._buffer = None
        self._scratch = self._scratch[:0].copy()

    def resume(self, buffer: UInt64Array, scratch: UInt64Array) -> None:
        """Use other memory after `release`."""
        self._buffer = buffer
        self._scratch = scratch

    def _sorted(self) -> UInt64Array:
        assert self._buffer is not None
        records = self._buffer[: self._filled]
        sort_records(records, self._scratch)
        return records

    def _write(self, batches: Iterator[UInt64Array]) -> None:
        path = os.path.join(self._folder, f"{self._name}-{self._files}.run")
        self._files += 1
        self._paths.append(path)
        try:
            count = write_run(path, batches, self._stamp, self._words)
            self.written += WORD_BYTES * self._words * count
        except BaseException:
            self._paths.remove(path)  # it was not written
            raise

    def merged(self, memory: int) -> Iterator[UInt64Array]:
        """Yield all records in sorted order, in arrays that are valid until the next one.

        Parameters
        ----------
        memory : int
            Bytes of memory for the merge, at least LEAST_MEMORY. The buffer is forgotten if records
            are in files.
        """
        if not self._paths:
            if self._buffer is not None and self._filled:
                yield self._sorted()
            return
        if self._buffer is not None:
            self.release()
        fan_in = most_files(memory, self._words)
        while len(self._paths) > fan_in:
            merged_paths = self._paths[: min(fan_in, len(self._paths) - fan_in + 1)]
            self._write(merge_runs(merged_paths, memory, self._stamp, self._words))
            for path in merged_paths:
                os.unlink(path)
                self._paths.remove(path)
        yield from merge_runs(self._paths, memory, self._stamp, self._words)


def _blocks_in(memory: int, words: int) -> int:
    """Return the number of blocks that can be merged at once in this memory."""
    of_record = MERGE_ARRAYS * WORD_BYTES * words + sorting_bytes(words)
    return memory // (of_record * BLOCK_RECORDS)


def most_files(memory: int, words: int = 2) -> int:
    """Return the number of files that can be merged at once in this memory."""
    return min(MOST_FILES, max(2, _blocks_in(memory, words)))


def merge_runs(
    paths: Sequence[str], memory: int, stamp: int = 0, words: int = 2
) -> Iterator[UInt64Array]:
    """Yield the records of sorted files in order, in arrays that are valid until the next one.

    There may be at most `most_files(memory, words)` files.
    """
    share = max(1, _blocks_in(memory, words) // len(paths)) * BLOCK_RECORDS
    with ExitStack() as stack:
        inputs = [
            _Input(stack.enter_context(RunReader(path, stamp, words)), share, words)
            for path in paths
        ]
        room = sum(len(source.buffer) for source in inputs)
        work = np.empty((2, room, words), np.uint64)
        while True:
            inputs = [source for source in inputs if source.fill()]
            if not inputs:
                return
            # Records of a source that has been read to its end limit nothing.
            last = min(
                (source.last for source in inputs if source.reader.left), default=None
            )
            at = 0
            for source in inputs:
                records = source.taken(last)
                work[0, at : at + len(records)] = records
                at += len(records)
            if len(inputs) > 1:
                sort_records(work[0, :at], work[1])
            yield work[0, :at]


class _Input:
    """A file of a merge: its records from `start` to `stop` are in the buffer."""

    def __init__(self, reader: RunReader, share: int, words: int) -> None:
        self.reader = reader
        whole_blocks = -(-reader.left // BLOCK_RECORDS) * BLOCK_RECORDS
        self.buffer = np.empty((min(share, whole_blocks), words), np.uint64)
        self.start = 0
        self.stop = 0

    @property
    def last(self) -> Words:
        """The last record in the buffer."""
        return words_of(self.buffer, self.stop - 1)

    def fill(self) -> bool:
        """Read records if at least half of the buffer is free; return whether there are any."""
        record_count = self.stop - self.start
        half_free = self.start >= max(record_count, BLOCK_RECORDS)
        if self.reader.left and (record_count == 0 or half_free):
            self.buffer[:record_count] = self.buffer[self.start : self.stop]
            self.start = 0
            self.stop = record_count
            while self.reader.left and (
                got := self.reader.read(self.buffer[self.stop :])
            ):
                self.stop += got
        return self.start < self.stop

    def taken(self, last: Words | None) -> UInt64Array:
        """Take the records that do not come after `last`; all of them if it is None."""
        count = self.stop - self.start
        if last is not None:
            count = count_until(self.buffer[self.start : self.stop], last)
        self.start += count
        return self.buffer[self.start - count : self.start]
