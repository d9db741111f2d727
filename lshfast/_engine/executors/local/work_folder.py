"""The work folder of a run: what its stages have made, so that a run that ended early can go on.

The folder holds `manifest.json`, which says what the run is (parameters, inputs with their sizes),
and the files of the stages that are over (`lshfast._engine.parts.task_files`). Their figures name
further files. What no stage names is what is left of a stage that ended early, and is removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from lshfast._common.atomic_files import atomic_file, sync_folder
from lshfast._common.container import Manifest
from lshfast._common.errors import FormatError
from lshfast._common.locks import locked
from lshfast._common.private_files import make_folder, private
from lshfast._common.types import UInt64Array
from lshfast._common.visible import printable
from lshfast._engine.parts.earlier_columns import COLUMNS_OF_EARLIER
from lshfast._engine.parts.task_files import (
    figures_of,
    manifest_of,
    task_path,
    writing,
)
from lshfast.kernels.checksum import checksum

MANIFEST = "manifest.json"
LOCK = "lock"
VERSION = 9
_MANIFEST = Manifest(VERSION, "run")

# Bytes of a file that are read at a time for its checksum.
PIECE_BYTES = 1 << 20

# The stage after which the files are removed, and the one that names the outputs.
OVER = "over"
OUTPUTS = "outputs"

COLUMNS: dict[str, dict[str, str]] = {
    "sketch": {
        "nbytes": "<i8",
        "first": "<i8",
        "labels": "<i8",
        "lines": "<i8",
        "starts": "<i8",
        "ids": "<i8",
        "orders": "<u8",
        "by": "<i8",
        "exact_keys": "<u8",
        "tokens": "<u8",
        "alone": "|u1",
        "values": "|u1",
        **COLUMNS_OF_EARLIER,
    },
    "texts": {"sums": "<u8"},
    "part": {
        "keeper": "<i8",
        "similarity": "<f8",
        "copies": "<i8",
        "pairs": "<u8",
        "earlier": "<i8",
    },
    OUTPUTS: {},
    OVER: {},
}

# The suffixes of the files of a task.
KINDS = "data", "json"

_TASK = re.compile(rf"({'|'.join(COLUMNS)})-(\d{{5,}})\.json")
_OWN = re.compile(
    rf"manifest\.json|lock|\..*\.part|({'|'.join(COLUMNS)})-\d{{5,}}\.(json|data)"
    r"|part-\d+\.(texts|signatures)|(slots|points)\.bin"
    r"|(earlier-)?((ids|orders)\.strings|rejects\.jsonl)|earlier\.strings"
    r"|(band|pairs)-\d+-\d+\.run|pairs-(\d+|copies|copies-\d+|merged-\d+)\.run"
)


class WorkFolder:
    """A folder for the files of one run; see `opened`.

    Attributes
    ----------
    path : str
    temporary : bool
        Whether the folder is a temporary one, so that the run cannot be resumed.
    work, stamp, columns, indexes
        As in `lshfast._engine.parts.task_files.TaskFolder`.
    """

    def __init__(
        self, path: str, run: Mapping[str, Any], temporary: bool = False
    ) -> None:
        self.path: str = path
        self.temporary: bool = temporary
        self._run: dict[str, Any] = json.loads(json.dumps(run))
        self.work: str = path
        self.stamp: int = _MANIFEST.sum_of(self._run)
        self.columns = COLUMNS
        self.indexes: dict[str, UInt64Array] = {}

    @classmethod
    @contextmanager
    def opened(
        cls, path: str, run: Mapping[str, Any], resume: bool, temporary: bool = False
    ) -> Iterator[WorkFolder]:
        """Create a work folder, or go on with an existing one; it is removed when the block ends
        without an error.

        Parameters
        ----------
        path : str
            A folder that does not exist or is empty, unless `resume` is true.
        run : mapping
            What the run is, as values of JSON. A folder of another run is refused, and the error
            names the difference. A value that is a mapping has an order, as inputs have.
        resume : bool
            Go on with the stages of an earlier attempt, if there was one.
        temporary : bool
            Whether the folder is a temporary one.

        Raises
        ------
        ValueError
            If the folder holds files and `resume` is false, it belongs to a run with other
            parameters or inputs, or another process uses it.
        FormatError
            If the manifest is damaged or of another version.
        OSError
            If the folder cannot be written, belongs to another user, or other users can write to
            it.
        """
        shown = printable(path)
        try:
            if not temporary:  # some file systems keep no owners and modes
                make_folder(path)
            names = os.listdir(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, shown) from error
        if names and not resume:
            raise ValueError(
                f"{shown}: this work folder is not empty; resume (--resume) continues its run"
            )
        folder = cls(path, run, temporary)
        over = False
        try:
            with locked(
                os.path.join(path, LOCK),
                f"{shown}: another process uses this work folder",
            ):
                try:
                    folder._begin()
                except BaseException:
                    if LOCK not in names:  # a folder of something else stays as it was
                        os.unlink(os.path.join(path, LOCK))
                    raise
                try:
                    yield folder
                except BaseException:
                    over = not any(folder._tasks())  # there is nothing to go on with
                    raise
                else:
                    with suppress(OSError):  # the outputs are complete
                        folder.finish(OVER)
                    over = True
                finally:
                    if over:
                        folder._remove()
        finally:
            if over:
                with suppress(OSError):
                    os.unlink(os.path.join(path, LOCK))
                    os.rmdir(path)

    def _begin(self) -> None:
        names = set(os.listdir(self.path))
        if MANIFEST in names:  # files of other versions have other names
            self._check_run()
        foreign = sorted(name for name in names if not _OWN.fullmatch(name))
        if foreign:
            raise FormatError(
                f"{printable(self.path)}: this folder holds {foreign[0]!r}, which is no file of a "
                "run"
            )
        tasks = list(self._tasks()) if MANIFEST in names else []
        kept_names = {MANIFEST, LOCK}
        is_over = (OVER, 0) in tasks  # its files were being removed
        for stage, task in tasks:
            if not is_over or stage == OUTPUTS:
                of_task = (task_path(self, stage, task, kind) for kind in KINDS)
                kept_names.update(map(os.path.basename, of_task))
                kept_names.update(figures_of(self, stage, task)["files"])
        self._unlink(names - kept_names)
        if MANIFEST not in names:
            with atomic_file(os.path.join(self.path, MANIFEST), private=True) as file:
                file.write(_MANIFEST.pack(self._run))

    def _tasks(self) -> Iterator[tuple[str, int]]:
        """Yield the stage and the number of each task that is done."""
        for name in os.listdir(self.path):
            match = _TASK.fullmatch(name)
            if match:
                yield match[1], int(match[2])

    def _check_run(self) -> None:
        """Raise ValueError unless the folder belongs to this run."""
        path = os.path.join(self.path, MANIFEST)
        with open(path, "rb", opener=private) as file:
            (other_run,) = _MANIFEST.unpack(file.read(), path)
        for name in dict.fromkeys([*self._run, *other_run]):
            mine = self._run.get(name)
            theirs = other_run.get(name)
            if isinstance(mine, dict) and isinstance(theirs, dict):
                reason = _difference(name, mine, theirs)
            else:
                reason = "" if mine == theirs else f"{name} was {theirs}, and is {mine}"
            if reason:
                raise ValueError(
                    f"{printable(self.path)}: this folder belongs to another run: {reason}"
                )

    def done(self, stage: str, task: int = 0) -> dict[str, Any] | None:
        """Return the figures of a task that is done, or None."""
        manifest = manifest_of(self, stage, task)
        return None if manifest is None else dict(manifest["figures"])

    def check_inputs(self, before: Mapping[str, int], now: Mapping[str, int]) -> None:
        """Raise ValueError if the checksums of the inputs differ."""
        if before != now:
            reason = _difference("inputs", now, before)
            raise ValueError(
                f"{printable(self.path)}: this folder belongs to another run: {reason}"
            )

    def finish(self, stage: str, **figures: Any) -> None:
        """Record that a stage without columns is over, if the run can be resumed."""
        if self.temporary:
            return
        with writing(self, stage, 0) as writer:
            writer.figures = {"files": [], **figures}

    def sums(self, names: Iterable[str]) -> dict[str, int]:
        """Return the checksums of complete files."""
        return {name: self._sum_of(name) for name in names}

    def check(self, sums: Mapping[str, int]) -> None:
        """Compare files with their checksums; a FormatError names a file that is damaged."""
        for name, sum_before in sums.items():
            path = os.path.join(self.path, name)
            try:
                is_damaged = self._sum_of(name) != sum_before
            except OSError as error:
                raise FormatError(
                    f"{printable(path)}: damaged or missing: {error.strerror or error}"
                ) from None
            if is_damaged:
                raise FormatError(f"{printable(path)}: damaged: its checksum differs")

    def _sum_of(self, name: str) -> int:
        """Return the checksum of the checksums of the pieces of a file."""
        path = os.path.join(self.path, name)
        with open(path, "rb", buffering=0, opener=private) as file:
            pieces = iter(lambda: file.read(PIECE_BYTES), b"")
            return checksum(np.array([checksum(piece) for piece in pieces], "<u8"))

    def _unlink(self, names: Set[str]) -> None:
        """Remove files; the last ones say that the run is over, and which outputs it has.

        After a crash these must be there if others are.
        """
        last_names = (f"{OVER}-00000.json", f"{OUTPUTS}-00000.json", MANIFEST)
        removed_names = sorted(set(names) - set(last_names))
        for name in removed_names:
            os.unlink(os.path.join(self.path, name))
        if removed_names and not self.temporary:
            with suppress(OSError):  # a full disk keeps no file from being removed
                sync_folder(self.path)
        for name in last_names:
            if name in names:
                os.unlink(os.path.join(self.path, name))

    def _remove(self) -> None:
        """Remove the files of the run, as far as possible; the lock is still in use."""
        for _ in range(2):  # memory may be refused once
            with suppress(OSError):
                self._unlink(set(os.listdir(self.path)) - {LOCK})


def _difference(name: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return how the named states of this run differ from those of another one, "" if they
    do not.
    """
    for key in dict.fromkeys([*mine, *theirs]):
        if key not in theirs:
            return f"{printable(key)} is not one of its {name}"
        if key not in mine:
            return f"{printable(key)} is one of its {name}, and is missing now"
        if mine[key] != theirs[key]:
            return f"{printable(key)} has changed since"
    return "" if list(mine) == list(theirs) else f"its {name} are in another order"
