"""Reading the data file of a task; `lshfast._engine.parts.task_files` has the format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.container import named_format
from lshfast._common.errors import FormatError
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.visible import printable
from lshfast._engine.parts.stage_index import DataFile, data_file
from lshfast._engine.parts.task_files import HEAD, TaskFolder, task_path
from lshfast.kernels.checksum import checksum

# A count above this would overflow sums of sizes.
_MOST_COUNT = 1 << 48

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


class TaskFile:
    """The data file of a task that is done, open for reading. Use it as a context manager.

    Parameters
    ----------
    folder : TaskFolder
    stage : str
    task : int
    low, high : int, optional
        Only the ranges of these numbers, low <= number < high, are used.

    Attributes
    ----------
    rows : int
        The rows of a task of sketch or band.

    Raises
    ------
    FormatError
        If a file is damaged, cut, or of another plan; the message names it. `ranges` raises it for
        a range.
    """

    def __init__(
        self,
        folder: TaskFolder,
        stage: str,
        task: int,
        low: int = 0,
        high: int | None = None,
    ) -> None:
        self._path = task_path(folder, stage, task, "data")
        self._columns = folder.columns[stage]
        written = data_file(folder, stage, task)
        if written is None:
            raise ValueError(
                f"{printable(folder.work)}: task {task} of stage {stage} is not done"
            )
        self.rows = written.rows
        try:
            self._file = open(self._path, "rb", buffering=0)  # noqa: SIM115
        except FileNotFoundError:
            raise self.fault("it is missing, and its task is done") from None
        try:
            self._index, self._offsets = self._checked(written, folder.stamp)
        except BaseException:
            self._file.close()
            raise
        if high is not None:
            begin, end = self._places(low, high)
            self._index = self._index[begin:end].copy()
            self._offsets = self._offsets[begin : end + 1]

    def __enter__(self) -> TaskFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _checked(self, written: DataFile, stamp: int) -> tuple[UInt64Array, list[int]]:
        """Check header, size and index; return the index, and where each range begins."""
        with named_format(self._path):
            _, index_checksum = HEAD.unpack(self._file.read(HEAD.size))
        if index_checksum != stamp:
            raise self.fault("it belongs to another plan")
        size = os.fstat(self._file.fileno()).st_size
        if size != written.nbytes:
            raise self.fault(f"it has {size} bytes, not {written.nbytes}")
        width = len(self._columns) + 2
        start = size - 8 * width * written.ranges
        if start < HEAD.size:
            raise self.fault("index: damaged")
        index = self._read(start, size - start)
        if checksum(index) != written.index_sum:
            raise self.fault("index: damaged")
        rows = index.view("<u8").astype(np.uint64, copy=False).reshape(-1, width)
        counts = rows[:, 1:-1]
        if (counts > _MOST_COUNT).any() or (rows[1:, 0] < rows[:-1, 0]).any():
            raise self.fault("index: values out of range")
        widths = np.array(
            [np.dtype(kind).itemsize for kind in self._columns.values()], np.uint64
        )
        sizes = (counts * widths).sum(axis=1).tolist() if len(widths) else []
        offsets = [HEAD.size]
        for nbytes in sizes:
            offsets.append(offsets[-1] + int(nbytes))
        if offsets[-1] != start:
            raise self.fault("index: it does not fit the size of the file")
        return rows, offsets

    def fault(self, reason: str) -> FormatError:
        """Return an error that names the file."""
        return FormatError(f"{printable(self._path)}: {reason}")

    def check_lengths(self, arrays: Arrays, *names: str) -> None:
        """Raise FormatError unless these columns of a range are equally long."""
        if len({len(arrays[name]) for name in names}) > 1:
            raise self.fault("its columns have different lengths")

    def check_rows(self, rows: Int64Array, low: int, high: int) -> None:
        """Raise FormatError unless all rows are those of a shard, low <= row < high."""
        if (rows < low).any() or (rows >= high).any():
            raise self.fault("it has rows of another shard")

    def _read(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        data = np.empty(nbytes, np.uint8)
        self._file.seek(offset)
        at = 0
        while at < nbytes:
            got = self._file.readinto(data[at:].data)
            if not got:
                raise self.fault("it was cut while it was read")
            at += got
        return data

    def _places(self, low: int, high: int) -> tuple[int, int]:
        """Return the places of the ranges of some numbers in the index."""
        begin, end = np.searchsorted(
            self._index[:, 0], np.array([low, high], np.uint64)
        ).tolist()
        return begin, end

    def only(self, number: int) -> Arrays:
        """Return the columns of the only range of this number."""
        ranges = list(self.ranges(number))
        if len(ranges) != 1:
            raise self.fault(f"it has {len(ranges)} ranges of number {number}, not one")
        return ranges[0]

    def joined(self, number: int) -> Arrays:
        """Return the columns of all ranges of this number, of which there must be one."""
        ranges = list(self.ranges(number))
        if not ranges:
            raise self.fault(f"it has no range of number {number}")
        return {
            name: np.concatenate([arrays[name] for arrays in ranges])
            for name in self._columns
        }

    def ranges(self, number: int) -> Iterator[Arrays]:
        """Yield the columns of each range of this number."""
        for place in range(*self._places(number, number + 1)):
            data = self._read(
                self._offsets[place], self._offsets[place + 1] - self._offsets[place]
            )
            if checksum(data) != int(self._index[place, -1]):
                raise self.fault(f"range {place}: damaged")
            arrays: Arrays = {}
            at = 0
            for (name, kind), count in zip(
                self._columns.items(), self._index[place, 1:-1].tolist(), strict=True
            ):
                end = at + count * np.dtype(kind).itemsize
                arrays[name] = (
                    data[at:end]
                    .view(kind)
                    .astype(np.dtype(kind).newbyteorder("="), copy=False)
                )
                at = end
            yield arrays
