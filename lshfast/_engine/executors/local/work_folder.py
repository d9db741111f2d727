"""The work folder of a run: what its stages have made, so that a run that ended early can go on.

The folder holds `manifest.json`, which is replaced as a whole after each stage, and the files that
it names. It says what the run is (parameters, inputs with their sizes), and for each stage that is
over its figures and the checksums of its files. Files that it does not name are remains of a stage
that ended early, and are removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from lshfast._common.container import Manifest
from lshfast._common.errors import FormatError
from lshfast._common.locks import locked
from lshfast._common.private_files import make_folder, private
from lshfast._common.visible import printable
from lshfast.kernels.checksum import checksum

MANIFEST = "manifest.json"
LOCK = "lock"
VERSION = 6
_MANIFEST = Manifest(VERSION, "run stages")

# Bytes of a file that are read at a time for its checksum.
PIECE_BYTES = 1 << 20

# The stage after which the files are removed.
OVER = "over"

_OWN = re.compile(
    r"manifest\.json|lock|\..*\.part|(rows|common|earlier|texts|part-\d+)\.npz|part-\d+\.(texts|signatures)|(slots|points)\.bin"
    r"|(ids|orders)\.strings|rejects\.jsonl|(band|pairs)-\d+-\d+\.run|pairs-(\d+|copies|copies-\d+|merged-\d+)\.run"
)

Arrays = Mapping[str, npt.NDArray[Any]]


class WorkFolder:
    """A folder for the files of one run; see `opened`.

    Attributes
    ----------
    path : str
    temporary : bool
        Whether the folder is a temporary one, so that the run cannot be resumed.
    """

    def __init__(
        self, path: str, run: Mapping[str, Any], temporary: bool = False
    ) -> None:
        self.path: str = path
        self.temporary: bool = temporary
        self._run = dict(run)
        self._stages: dict[str, Any] = {}

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
                    over = not folder._stages  # there is nothing to go on with
                    raise
                else:
                    with suppress(OSError):  # the outputs are complete
                        folder.finish(OVER, {})
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
        foreign = sorted(name for name in names if not _OWN.fullmatch(name))
        if foreign:
            raise FormatError(
                f"{printable(self.path)}: this folder holds {foreign[0]!r}, which is no file of a "
                "run"
            )
        if MANIFEST in names:
            self._stages = self._checked(self._read())
            if OVER in self._stages:  # its files were being removed
                self._stages = {
                    name: stage
                    for name, stage in self._stages.items()
                    if not stage["files"]
                }
                del self._stages[OVER]
        known = {
            MANIFEST,
            LOCK,
            *(name for stage in self._stages.values() for name in stage["files"]),
        }
        for name in names - known:
            os.unlink(os.path.join(self.path, name))
        self._write()

    def _read(self) -> dict[str, Any]:
        path = os.path.join(self.path, MANIFEST)
        with open(path, "rb", opener=private) as file:
            run, stages = _MANIFEST.unpack(file.read(), path)
        return {"run": run, "stages": stages}

    def _checked(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the stages of a manifest, after comparing what its run is."""
        own: dict[str, Any] = json.loads(json.dumps(self._run))
        for name in dict.fromkeys([*own, *found["run"]]):
            mine = own.get(name)
            theirs = found["run"].get(name)
            if isinstance(mine, dict) and isinstance(theirs, dict):
                reason = _difference(name, mine, theirs)
            else:
                reason = "" if mine == theirs else f"{name} was {theirs}, and is {mine}"
            if reason:
                raise ValueError(
                    f"{printable(self.path)}: this folder belongs to another run: {reason}"
                )
        files = [name for stage in found["stages"].values() for name in stage["files"]]
        if not all(map(_OWN.fullmatch, files)):
            raise FormatError(
                f"{printable(os.path.join(self.path, MANIFEST))}: damaged: it names other files"
            )
        return dict(found["stages"])

    def done(self, stage: str) -> dict[str, Any] | None:
        """Return the figures of a stage that is over, or None."""
        return self._stages[stage]["figures"] if stage in self._stages else None

    def check_inputs(self, before: Mapping[str, int], now: Mapping[str, int]) -> None:
        """Raise ValueError if the checksums of the inputs differ."""
        if before != now:
            reason = _difference("inputs", now, before)
            raise ValueError(
                f"{printable(self.path)}: this folder belongs to another run: {reason}"
            )

    def finish(
        self,
        stage: str,
        figures: Mapping[str, Any],
        files: Mapping[str, int | None] | None = None,
    ) -> None:
        """Record that a stage is over: its figures, as values of JSON, and its files with the
        checksums of `save`.
        """
        self._stages[stage] = {"figures": figures, "files": dict(files or {})}
        self._write()

    def forget(self, stage: str) -> None:
        """Remove the files of a stage that are not needed any more, and keep its figures."""
        for name in self._stages[stage]["files"]:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, name))
        self._stages[stage]["files"] = {}
        self._write()

    def save(self, name: str, arrays: Arrays) -> dict[str, int | None]:
        """Write arrays to a file, and return its name and checksum for `finish`."""
        with self._replacing(name) as file:
            np.savez(file, **dict[str, Any](arrays))
        return self.sums([name])

    def sums(self, names: Iterable[str]) -> dict[str, int | None]:
        """Return the checksums of complete files for `finish`."""
        found = dict[str, int | None]()
        for name in names:
            with open(
                os.path.join(self.path, name), "rb", buffering=0, opener=private
            ) as file:
                found[name] = _sum_of_file(file)
        return found

    def check(self, stage: str, names: Iterable[str]) -> None:
        """Compare files with the checksums of a stage; a FormatError names a file that is
        damaged.
        """
        for name in names:
            with self._checked_file(stage, name):
                pass

    def load(self, stage: str, name: str) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a file of a stage; a FormatError names a file that is damaged."""
        with (
            self._checked_file(stage, name) as file,
            np.load(file, allow_pickle=False) as content,
        ):
            return {key: content[key] for key in content.files}

    @contextmanager
    def _checked_file(self, stage: str, name: str) -> Iterator[BinaryIO]:
        path = os.path.join(self.path, name)
        try:
            with open(path, "rb", opener=private) as file:
                if _sum_of_file(file) != self._stages[stage]["files"].get(name):
                    raise FormatError(
                        f"{printable(path)}: damaged: its checksum differs"
                    )
                file.seek(0)
                yield file
        except OSError as error:
            raise FormatError(
                f"{printable(path)}: damaged or missing: {error.strerror or error}"
            ) from None

    def _write(self) -> None:
        with self._replacing(MANIFEST) as file:
            file.write(_MANIFEST.pack(self._run, self._stages))

    @contextmanager
    def _replacing(self, name: str) -> Iterator[BinaryIO]:
        """Open a file that gets its name, complete, when the block ends; the outputs' files wait,
        these do not.
        """
        path = os.path.join(self.path, name)
        hidden = os.path.join(self.path, f".{name}.part")
        try:
            with open(hidden, "xb", opener=private) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(hidden, path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, printable(path)) from error
        finally:
            with suppress(OSError):
                os.unlink(hidden)

    def _remove(self) -> None:
        """Remove the files of the run, the manifest last; the lock is still in use."""
        with suppress(OSError):
            for name in sorted(os.listdir(self.path), key=MANIFEST.__eq__):
                if name != LOCK:
                    os.unlink(os.path.join(self.path, name))


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


def _sum_of_file(file: BinaryIO) -> int:
    """Return the checksum of the checksums of the pieces of a file."""
    sums = [checksum(piece) for piece in iter(lambda: file.read(PIECE_BYTES), b"")]
    return checksum(np.array(sums, "<u8"))
