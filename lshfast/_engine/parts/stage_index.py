"""What later tasks need of the manifests of a stage whose tasks are all done, in one file.

A task that reads from all tasks of a stage would otherwise open all their manifests. The file has
a row of numbers for each task, in order, and their checksum; it is written by the first task that
finds all of them done, and by no other.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.atomic_files import atomic_file
from lshfast._common.container import Header, named_format
from lshfast._common.errors import FormatError
from lshfast._common.types import UInt64Array
from lshfast._common.visible import printable
from lshfast._engine.parts.task_files import TaskFolder, index_path, manifest_of
from lshfast.kernels.checksum import checksum

VERSION = 1
HEAD = Header(b"LSHFIDX\0", (VERSION,), "QQQ", "the index of a stage")


class DataFile(NamedTuple):
    """What the manifest of a task says of its data file, and the rows of the task."""

    nbytes: int
    ranges: int
    index_sum: int
    rows: int

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> DataFile:
        """Return what a manifest says."""
        return cls(
            manifest["nbytes"],
            manifest["ranges"],
            manifest["index"],
            manifest["figures"].get("rows", 0),
        )


def has_index(folder: TaskFolder, stage: str) -> bool:
    """Return whether the index of a stage is written, so that all its tasks are done."""
    return os.path.exists(index_path(folder, stage))


def write_index(folder: TaskFolder, stage: str, files: list[DataFile]) -> None:
    """Write the index of a stage whose tasks are all done."""
    numbers = np.array(files, "<u8").reshape(-1)
    head = HEAD.pack(
        VERSION, folder.stamp, len(files), checksum(numbers.view(np.uint8))
    )
    with atomic_file(index_path(folder, stage), overwrite=True) as stream:
        stream.write(head)
        stream.write(numbers.view(np.uint8).data)


def data_file(folder: TaskFolder, stage: str, task: int) -> DataFile | None:
    """Return what is known of the data file of a task; None for one that is not done.

    Raises
    ------
    FormatError
        If the index, or the manifest, is damaged or of another plan; the message names it.
    """
    if stage not in folder.indexes and has_index(folder, stage):
        folder.indexes[stage] = _read_index(folder, stage)
    if stage in folder.indexes and task < len(folder.indexes[stage]):
        return DataFile(*folder.indexes[stage][task].tolist())
    manifest = manifest_of(folder, stage, task)
    return None if manifest is None else DataFile.of(manifest)


def _read_index(folder: TaskFolder, stage: str) -> UInt64Array:
    path = index_path(folder, stage)
    with open(path, "rb") as file:
        content = file.read()
    with named_format(path):
        _, stamp, count, numbers_sum = HEAD.unpack(content)
    numbers = np.frombuffer(content, np.uint8, offset=HEAD.size)
    width = len(DataFile._fields)
    if stamp != folder.stamp:
        raise FormatError(f"{printable(path)}: it belongs to another plan")
    if len(numbers) != 8 * width * count or checksum(numbers) != numbers_sum:
        raise FormatError(f"{printable(path)}: damaged: its checksum differs")
    return numbers.view("<u8").astype(np.uint64).reshape(-1, width)
