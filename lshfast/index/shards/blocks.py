"""Bytes of remote files, fetched by ranges and kept in a cache of blocks."""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from lshfast._common.errors import FormatError
from lshfast._common.types import Int64Array, UInt8Array
from lshfast._io.sources import remote_errors

# A block is 4 kB: 512 entries of a table, or 4 signatures of 128 slots. A search needs few bytes of
# each, so that larger blocks fill the cache with others.
BLOCK_BYTES = 1 << 12

# Blocks with at most so many others between them, 64 kB, are fetched in one range: that takes less
# time than a further request.
MOST_GAP = 16

# Blocks that are put together at a time: 16 MB.
MOST_BLOCKS = 1 << 12

# A file, by its number, and the block in it.
BlockKey: TypeAlias = tuple[int, int]


class BlockCache:
    """The blocks of several files that were used last.

    Any number of threads may use a cache.

    Parameters
    ----------
    nbytes : int
        The most bytes of its blocks.
    """

    def __init__(self, nbytes: int) -> None:
        self._most = max(1, nbytes // BLOCK_BYTES)
        self._blocks = OrderedDict[BlockKey, UInt8Array]()
        self._lock = threading.Lock()

    def take(self, file: int, blocks: list[int]) -> dict[int, UInt8Array]:
        """Return those of some blocks that are in the cache."""
        present_blocks = {}
        with self._lock:
            for block in blocks:
                data = self._blocks.get((file, block))
                if data is not None:
                    self._blocks.move_to_end((file, block))
                    present_blocks[block] = data
        return present_blocks

    def put(self, file: int, blocks: dict[int, UInt8Array]) -> None:
        """Keep blocks, in the place of those that were used first."""
        with self._lock:
            for block, data in blocks.items():
                self._blocks[file, block] = data
            while len(self._blocks) > self._most:
                self._blocks.popitem(last=False)

    @property
    def nbytes(self) -> int:
        """Bytes of the blocks in the cache."""
        with self._lock:
            return sum(len(data) for data in self._blocks.values())


class RemoteBytes:
    """The bytes of a file of an fsspec file system.

    Parameters
    ----------
    system : file system
    path : str
    number : int
        The number of the file in the cache.
    cache : BlockCache

    Attributes
    ----------
    name : str
        The URL of the file, for errors.
    nbytes : int
    """

    name: str
    nbytes: int

    def __init__(self, system: Any, path: str, number: int, cache: BlockCache) -> None:
        self._system = system
        self.path: str = path
        self._number = number
        self._cache = cache
        with remote_errors():
            self.name = str(system.unstrip_protocol(path))
            try:
                self.nbytes = int(system.size(path))
            except FileNotFoundError:
                raise FileNotFoundError(
                    errno.ENOENT, os.strerror(errno.ENOENT), self.name
                ) from None

    def read(self, start: int, nbytes: int) -> UInt8Array:
        """Return a range of bytes, which is not kept in the cache.

        Raises
        ------
        FormatError
            If it is not inside the file.
        """
        if start + nbytes > self.nbytes:
            raise FormatError(
                f"bytes {start} to {start + nbytes} are needed, and the file ends at {self.nbytes}"
            )
        if not nbytes:
            return np.empty(0, np.uint8)
        with remote_errors():
            data = self._system.cat_file(self.path, start=start, end=start + nbytes)
        return self._checked(data, start, nbytes)

    def windows(self, starts: Int64Array, nbytes: int) -> UInt8Array:
        """Return windows of equal length that begin at some places, uint8 (n, nbytes).

        All of them lie inside the file, and are at most as long as a block.
        """
        result = np.empty((len(starts), nbytes), np.uint8)
        order = np.argsort(starts, kind="stable")
        step = MOST_BLOCKS // 2
        for first in range(0, len(starts), step):
            places = order[first : first + step]
            result[places] = self._windows(starts[places], nbytes)
        return result

    def _windows(self, starts: Int64Array, nbytes: int) -> UInt8Array:
        blocks = np.unique(
            np.concatenate(
                [starts // BLOCK_BYTES, (starts + nbytes - 1) // BLOCK_BYTES]
            )
        )
        data: UInt8Array = np.concatenate([*self._blocks(blocks.tolist()).values()])
        # All blocks but the last one of the file are full.
        places = np.searchsorted(blocks, starts // BLOCK_BYTES) * BLOCK_BYTES
        places += starts % BLOCK_BYTES
        return sliding_window_view(data, nbytes)[places]

    def _blocks(self, blocks: list[int]) -> dict[int, UInt8Array]:
        """Return blocks, in the given ascending order."""
        present_blocks = self._cache.take(self._number, blocks)
        missing = [block for block in blocks if block not in present_blocks]
        if missing:
            fetched_blocks = self._fetched(missing)
            self._cache.put(self._number, fetched_blocks)
            present_blocks.update(fetched_blocks)
        return {block: present_blocks[block] for block in blocks}

    def _fetched(self, blocks: list[int]) -> dict[int, UInt8Array]:
        """Fetch blocks, those that are near together in one range, all ranges at the same time."""
        numbers = np.array(blocks, np.int64)
        runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > MOST_GAP + 1) + 1)
        starts = [int(run[0]) * BLOCK_BYTES for run in runs]
        ends = [min((int(run[-1]) + 1) * BLOCK_BYTES, self.nbytes) for run in runs]
        with remote_errors():
            parts = self._system.cat_ranges([self.path] * len(runs), starts, ends)
        fetched_blocks = {}
        for run, part, start, end in zip(runs, parts, starts, ends, strict=True):
            data = self._checked(part, start, end - start)
            for block in run.tolist():
                place = block * BLOCK_BYTES - start
                fetched_blocks[block] = data[place : place + BLOCK_BYTES].copy()
        return fetched_blocks

    def _checked(self, data: Any, start: int, nbytes: int) -> UInt8Array:
        """Return the bytes of a range, or raise OSError if the server sent something else."""
        if isinstance(data, Exception):
            raise OSError(f"{self.name}: {data}") from data
        if not isinstance(data, bytes) or len(data) != nbytes:
            raise OSError(
                f"{self.name}: bytes {start} to {start + nbytes} were requested, and "
                f"{len(data)} bytes received"
            )
        return np.frombuffer(data, np.uint8)
