"""The files of a task: one data file, and one manifest that says that the task is done.

A data file has a header (`lshfast._common.container`) with the stamp of the plan (uint64). Then
come ranges: each has a number, and holds a part of each column, one column after another. The index
comes last: for each range its number, the counts of its columns, and its checksum (uint64). Numbers
do not descend, so what another task needs, the ranges of one number, is one contiguous part of the
file.

The manifest is JSON: the stamp, the columns with their types, the size of the data file, the number
of ranges, the checksum of the index, the figures of the task, and a checksum of all that. It is
written after the data file; both appear complete or not at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from lshfast._common.atomic_files import atomic_file, sync_file
from lshfast._common.container import Header, Manifest
from lshfast._common.errors import FormatError
from lshfast._common.types import UInt64Array
from lshfast._common.visible import printable
from lshfast.kernels.checksum import checksum

VERSION = 5
HEAD = Header(b"LSHFTSK\0", (VERSION,), "Q", "a data file of a task")
_MANIFEST = Manifest(VERSION, "task")

# The largest number of bytes in a range that tasks write at a time, where they have a choice.
RANGE_BYTES = 8 << 20


class TaskFolder(Protocol):
    """What has its tasks' files in a folder: the plan of a run in stages, or a run within a cap."""

    @property
    def work(self) -> str:
        """The path of the folder."""
        ...

    @property
    def stamp(self) -> int:
        """The number that all files of the run bear."""
        ...

    @property
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """The columns of the data files of each stage, with their types.

        Wider types come first, so that arrays are aligned.
        """
        ...

    @property
    def indexes(self) -> dict[str, UInt64Array]:
        """The indexes of stages that were read: see `lshfast._engine.parts.stage_index`."""
        ...


def task_path(folder: TaskFolder, stage: str, task: int, suffix: str) -> str:
    """Return the path of a file of a task; the suffixes are data and json."""
    return os.path.join(folder.work, f"{stage}-{task:05}.{suffix}")


def index_path(folder: TaskFolder, stage: str) -> str:
    """Return the path of the index of a stage; see `lshfast._engine.parts.stage_index`."""
    return os.path.join(folder.work, f"{stage}.index")


class TaskWriter:
    """Write ranges to a data file; see `writing`.

    Attributes
    ----------
    figures : dict
        Values of JSON for the manifest; the seconds of the task are added.
    """

    def __init__(
        self, stream: BinaryIO, columns: Mapping[str, str], stamp: int
    ) -> None:
        self.figures: dict[str, Any] = {}
        self._began = time.perf_counter()
        self._stream = stream
        self._columns = columns
        self._stamp = stamp
        self._index: list[list[int]] = []
        stream.write(HEAD.pack(VERSION, stamp))
        self._nbytes = HEAD.size

    def add(self, number: int, **arrays: npt.NDArray[Any]) -> None:
        """Add a range: its number, at least the last one, and the columns that are not empty."""
        assert not self._index or number >= self._index[-1][0]
        parts = []
        for name, kind in self._columns.items():
            parts.append(
                np.ascontiguousarray(arrays.pop(name, np.empty(0, kind)), kind).reshape(
                    -1
                )
            )
        assert not arrays
        for part in parts:
            self._stream.write(part.view(np.uint8).data)
        self._nbytes += sum(part.nbytes for part in parts)
        self._index.append(
            [
                number,
                *map(len, parts),
                checksum(*(part.view(np.uint8) for part in parts)),
            ]
        )

    def finish(self) -> bytes:
        """Write the index, and return the manifest."""
        index = np.array(self._index, "<u8").reshape(-1)
        self._stream.write(index.view(np.uint8).data)
        content = {
            "stamp": self._stamp,
            "columns": self._columns,
            "nbytes": self._nbytes + index.nbytes,
            "ranges": len(self._index),
            "index": checksum(index.view(np.uint8)),
            "figures": {**self.figures, "seconds": time.perf_counter() - self._began},
        }
        return _MANIFEST.pack(content)


@contextmanager
def writing(folder: TaskFolder, stage: str, task: int) -> Iterator[TaskWriter]:
    """Write the data file of a task, and its manifest if the block ends without an error.

    The files are private. The hidden files of killed attempts are removed, but not those that
    another process writes. Further files of the folder that the task needs, which its figures name
    under "files", are synced before the manifest says that it is done.
    """
    with atomic_file(task_path(folder, stage, task, "data"), True, True) as stream:
        writer = TaskWriter(stream, folder.columns[stage], folder.stamp)
        yield writer
        for name in writer.figures.get("files", ()):
            sync_file(os.path.join(folder.work, name))
        manifest = writer.finish()
    with atomic_file(task_path(folder, stage, task, "json"), True, True) as stream:
        stream.write(manifest)
    folder.indexes.pop(stage, None)
    with suppress(FileNotFoundError):  # it is of another attempt at this task
        os.unlink(index_path(folder, stage))


def manifest_of(folder: TaskFolder, stage: str, task: int) -> dict[str, Any] | None:
    """Return the manifest of a task that is done, None for another one.

    Raises
    ------
    FormatError
        If the manifest is damaged, of another version or of another plan; the message names it.
    """
    path = task_path(folder, stage, task, "json")
    shown = printable(path)
    try:
        with open(path, "rb") as file:
            (content,) = _MANIFEST.unpack(file.read(), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OSError(error.errno, error.strerror, shown) from error
    if (
        content.get("stamp") != folder.stamp
        or content.get("columns") != folder.columns[stage]
    ):
        raise FormatError(f"{shown}: it belongs to another plan")
    sizes = [content.get(name) for name in ("nbytes", "ranges", "index")]
    if (
        any(type(size) is not int or size < 0 for size in sizes)
        or type(content.get("figures")) is not dict
    ):
        raise FormatError(f"{shown}: damaged: its values are out of range")
    return content


def figures_of(folder: TaskFolder, stage: str, task: int) -> dict[str, Any]:
    """Return the figures of a task that is done."""
    manifest = manifest_of(folder, stage, task)
    if manifest is None:
        raise ValueError(
            f"{printable(folder.work)}: task {task} of stage {stage} is not done"
        )
    return dict(manifest["figures"])
