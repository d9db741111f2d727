"""The records (mixed bucket key, row) of all bands, sorted band by band."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lshfast._common.types import BoolArray, UInt64Array
from lshfast.join.external.run_file import BLOCK_RECORDS, RECORD_BYTES
from lshfast.join.external.sorted_runs import LEAST_MEMORY, SortedRuns
from lshfast.kernels import runs as kernels

# Rows whose keys are written to all bands before the next rows, so that they stay in the
# cache.
ROWS = 1 << 12


class BucketRuns:
    """Records of bucket keys, sorted band by band.

    Use it as a context manager, which removes its files at the end.

    Parameters
    ----------
    folder : str
        An existing folder without files of an earlier run.
    bands : int
        At least 1.
    memory : int
        Bytes for the records of all bands and for sorting them, at least `least_memory(bands)`.
    stamp : int, default 0
        Written to the files, see `write_run`.

    Attributes
    ----------
    n : int
        The number of rows that were added.
    memory : int
    """

    def __init__(self, folder: str, bands: int, memory: int, stamp: int = 0) -> None:
        self.memory: int = memory
        self.n: int = 0
        buffers, scratch = _buffers(bands, memory)
        self._bands = [
            SortedRuns(folder, f"band-{band}", buffer, scratch, stamp)
            for band, buffer in enumerate(buffers)
        ]

    def __enter__(self) -> BucketRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._bands)

    @property
    def written(self) -> int:
        """Bytes of records that were written to files so far."""
        return sum(band.written for band in self._bands)

    def close(self) -> None:
        """Remove the files."""
        for band in self._bands:
            band.close()

    def add(self, keys: UInt64Array, is_added: BoolArray | None = None) -> None:
        """Add the next rows with their keys, uint64 (m, b).

        Rows that are not chosen count but have no records.
        """
        marks = (
            None if is_added is None else np.ascontiguousarray(is_added).view(np.uint8)
        )
        for start in range(0, len(keys), ROWS):
            part = keys[start : start + ROWS]
            for band, runs in enumerate(self._bands):
                at = 0
                while at < len(part):
                    room = runs.room()
                    band_keys = part[at : at + len(room)]
                    stop = at + len(band_keys)
                    key_marks = (
                        None if marks is None else marks[start + at : start + stop]
                    )
                    first_row = self.n + at
                    count = kernels.records_of_band(
                        band_keys, band, first_row, room, key_marks
                    )
                    runs.take(count)
                    at = stop
            self.n += len(part)

    def add_records(self, band: int, records: UInt64Array) -> None:
        """Add records (m, 2) of a band, in any order; their rows do not count."""
        self._bands[band].add(records)

    def shrink(self, memory: int) -> None:
        """Use less memory from now on, at least `least_memory(bands)`."""
        for band in self._bands:
            band.release()
        self.memory = memory
        buffers, scratch = _buffers(len(self._bands), memory)
        for band, buffer in zip(self._bands, buffers, strict=True):
            band.resume(buffer, scratch)

    def settle(self) -> None:
        """Free the memory of the records; few records stay. Nothing may be added after this."""
        has_files = any(band.written for band in self._bands)
        if has_files or 2 * RECORD_BYTES * self.n * len(self) > self.memory:
            for band in self._bands:
                band.release()

    def records(self, band: int, memory: int) -> Iterator[UInt64Array]:
        """Yield the sorted records of a band, in arrays that are valid until the next one."""
        return self._bands[band].merged(memory)

    def forget(self, band: int) -> None:
        """Remove the files of a band."""
        self._bands[band].close()


def _buffers(bands: int, memory: int) -> tuple[UInt64Array, UInt64Array]:
    """Return the buffers of all bands, and the memory for sorting one of them."""
    capacity = memory // RECORD_BYTES // (bands + 1)
    return np.empty((bands, capacity, 2), np.uint64), np.empty((capacity, 2), np.uint64)


def least_memory(bands: int) -> int:
    """Return the least memory that `BucketRuns` needs for the records of these bands."""
    return max(2 * LEAST_MEMORY, (bands + 1) * BLOCK_RECORDS * RECORD_BYTES)
