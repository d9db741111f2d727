"""An index in one file, which is mapped into memory, extended in place, and rewritten on demand."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from traceback import clear_frames
from typing import IO, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from lshfast._common import container
from lshfast._common.atomic_files import atomic_file
from lshfast._common.container import mapped, named_format
from lshfast._common.errors import FormatError
from lshfast._common.progress import Progress
from lshfast._common.types import UInt8Array, UInt64Array
from lshfast.index.keys import RANGES, Column, concatenate, kind_of, refusal
from lshfast.index.stores import file_sections
from lshfast.index.stores.base import Store
from lshfast.index.stores.file_format import SECTIONS, check_segments
from lshfast.index.stores.file_sections import (
    FIRST_SECTION,
    HEADER,
    HEADERS,
    Meter,
    check_headers,
    headers_of,
    lock_file,
    locked_for_replacement,
    named_errors,
    newest,
    newest_header,
    read_headers,
    segment_of,
    segments_of,
    unlock,
    unpack_header,
    write_directory,
    write_sections,
)
from lshfast.index.stores.memory import LockedStore
from lshfast.index.stores.segment import PIECE_ROWS, Segment, built
from lshfast.index.stores.segments import Segments
from lshfast.index.stores.values import Parameters

Mode: TypeAlias = Literal["r", "r+", "c"]

# On Windows, a file that is open or mapped, also by this process, cannot be replaced.
OPEN_FILES_STAY = os.name == "nt"

# By default, all checksums of files up to this size, in bytes, are checked when they are opened.
VERIFIED_WHEN_OPENED = 64 << 20


class StoreAtPath(LockedStore):
    """Base class of stores in a file or a folder, which one process may write to."""

    path: str
    mode: Mode
    # Where the index can be saved instead, for an error.
    _other: ClassVar[str] = "file"
    # The process that opened it. A forked child shares the lock, but must neither write nor unlock.
    _pid: int

    def check_writable(self) -> None:
        super().check_writable()
        if self.mode == "r":
            raise ValueError(
                f"{self.path} is open for reading only: open it with mode='r+'"
            )
        if self.mode == "r+" and not self._is_owner():
            raise ValueError(
                f"{self.path} was opened before this process was forked: only the parent may "
                "write to it"
            )

    def _check_in_place(self) -> None:
        """Raise ValueError if changes cannot be written where the store is."""
        self.check_writable()
        if self.mode != "r+":
            raise ValueError(
                f"{self.path} is open for reading only: save the index to another {self._other}"
            )

    def _is_owner(self) -> bool:
        """Return whether this process opened the store, and is no child that was forked later."""
        return os.getpid() == self._pid


class FileStore(StoreAtPath):
    """Store entries in a file; changes stay in memory until `commit`.

    Parameters
    ----------
    path : path
        Path of a saved index.
    mode : {"r", "r+", "c"}
        "r" only reads. "r+" reads and writes. "c" keeps changes in memory, so that they can be
        saved to another file.
    verify : bool, optional
        See `LSHIndex.open`.
    header : bytes, optional
        The header of an earlier state, which is opened instead of the newest one.

    Attributes
    ----------
    opened_header : bytes
        The header of the state in memory.
    """

    # No method shares variables with a function within it, such as a comprehension: where memory is
    # refused for what they share, Python may lose references to the arguments. The file would stay
    # open and locked.
    path: str
    opened_header: bytes
    parameters: Parameters | None
    _file: IO[bytes] | None = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "r",
        *,
        verify: bool | None = None,
        header: bytes | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be 'r', 'r+' or 'c', not {mode!r}")
        if sys.byteorder != "little":
            raise OSError(
                "files of an index are little-endian, and this machine is not"
            )
        super().__init__()
        # The path is absolute, as the process may change its folder.
        self.path = os.path.abspath(path)
        self.mode = mode
        self._pid = os.getpid()
        self._open(verify, header)
        if verify:
            try:
                with named_format(self.path):
                    check_segments(self.segments.fixed, self._directory.parameters)
            except BaseException:
                self._release_file()
                raise

    def _open(self, verify: bool | None, header: bytes | None = None) -> None:
        file = open(self.path, "r+b" if self.mode == "r+" else "rb", buffering=0)  # noqa: SIM115 (it is kept)
        self._file = file
        try:
            if self.mode == "r+":
                lock_file(file, self.path)
            with named_format(self.path):
                state = newest(file, header)
                self._map, self._directory, self.opened_header = state
                check = (
                    len(self._map) <= VERIFIED_WHEN_OPENED if verify is None else verify
                )
                fixed = segments_of(self._directory, self._map, check)
        except BaseException:
            self._release_file()
            raise
        self.parameters = self._directory.parameters
        self._segments = Segments(self.parameters, fixed)

    def _alone_for_writing(self) -> Segment | None:
        growing = super()._alone_for_writing()
        return (
            None
            if growing is None or (self.mode == "r+" and not self._is_owner())
            else growing
        )

    def query_one(
        self, signature: UInt64Array, least: int | None
    ) -> tuple[list[Any], list[int] | None]:
        # `commit` may be moving the growing segment to the file.
        with self.gate.reading():
            return self.segments.query_one(signature, least)

    def commit(self, progress: Progress | None = None) -> None:
        """Write all changes to the file, and wait until they are on the disk.

        Segments of about the same size are merged, so that their number grows with the logarithm of
        the number of entries. `progress` is called with ("save", bytes done, bytes in total).

        Raises
        ------
        OSError
            If the file cannot be written. The index keeps the changes, and a later commit writes
            them. The file is in its old state; if only the last step fails, which syncs a header,
            it is in the new state.
        """
        with self.gate.writing():
            self._check_open()
            self._check_in_place()
            self._commit(progress)

    def _commit(self, progress: Progress | None) -> None:
        tell = Meter(progress)
        fixed = self.segments.fixed
        unchanged, new = self.segments.merged(tell=tell)
        self.check_sums(_without(fixed, unchanged))
        if (
            new is None
            and len(unchanged) == len(fixed)
            and all(map(_is_written, unchanged))
        ):
            return
        added = [] if new is None else [new]
        tell.expect(added)
        self._append([*unchanged, *added], tell)

    def _append(self, segments: list[Segment], tell: Meter) -> None:
        """Append new segments and a directory of all segments; then change the headers."""
        file = self._check_open()
        end = file.seek(0, os.SEEK_END)
        with named_format(self.path):
            # Newer than in memory if a commit failed in its last step.
            before = read_headers(self._on_disk()).state
        assert self.parameters is not None
        try:
            with named_errors(self.path), named_format(self.path):
                kind = segments[0].kind if segments else self._directory.kind
                directory = write_sections(file, self.parameters, kind, segments, tell)
                header = write_directory(file, directory, before + 1)
                tell.end()
                file_sections.sync(file)
                self._write_headers(file, header)
                data = mapped(file)
                all_segments = Segments(
                    self.parameters, segments_of(directory, data, False)
                )
        except BaseException:
            with suppress(OSError, FormatError):
                if read_headers(self._on_disk()).state == before:
                    file.truncate(end)
            raise
        # One call, so no signal handler runs in between, and no entry is both in the file and in
        # memory.
        vars(self).update(
            opened_header=header,
            _map=data,
            _directory=directory,
            _segments=all_segments,
        )

    def header(self) -> bytes:
        """Return the newest header of the file, which may be newer than the state in memory."""
        with named_format(self.path):
            return newest_header(self._on_disk())

    def is_changed(self) -> bool:
        """Return whether `commit` would write something."""
        growing = self.segments.growing
        has_new_rows = growing is not None and len(growing) > 0
        return has_new_rows or not all(map(_is_written, self.segments.fixed))

    def restore(self, header: bytes) -> None:
        """Make the state of an earlier header the newest one again; changes in memory are lost."""
        with self.gate.writing():
            file = self._check_open()
            self._check_in_place()
            with named_format(self.path):
                present = read_headers(self._on_disk())
                version, state, *directory = unpack_header(header)
            if state == present.state:
                return
            with named_errors(self.path):
                self._write_headers(
                    file, HEADER.pack(version, 0, present.state + 1, *directory)
                )
            self._reopen()

    def _write_headers(self, file: IO[bytes], header: bytes) -> None:
        for place in HEADERS:
            file.seek(place)
            container.write_all(file, header)
            file_sections.sync(file)

    def _on_disk(self) -> UInt8Array:
        """Return the present bytes of the file."""
        return mapped(self._check_open())

    def compact(self, progress: Progress | None = None) -> None:
        """Rewrite the file with all entries in one segment, without unused space; this commits.

        The new file replaces the old one when it is complete, so both need disk space until then.
        Readers that have the old file open continue to see it; on Windows, the file cannot be
        replaced while they do. A file that would not change is not written. `progress` is called
        with ("save", bytes done, bytes in total).

        Raises
        ------
        OSError
            If the file cannot be written. The old file is unchanged, and the index keeps the
            changes. If only the last step fails, which syncs the folder, the new file is in place.
            If the new file cannot be opened, the index is closed.
        """
        with self.gate.writing():
            self._check_open()
            self._check_in_place()
            assert self.parameters is not None
            if self._is_compact():
                self.segments.growing = None
                return
            # The old file is closed before the new one is renamed, which may fail.
            if OPEN_FILES_STAY:
                self._commit(None)
            kind = self.kind or self._directory.kind
            segments = list(filter(len, self.segments.all))
            self.check_sums(self.segments.fixed)
            room = (
                _room(segments[0])
                if len(segments) == 1 and segments[0].deleted is not None
                else PIECE_ROWS
            )
            try:
                write_file(
                    self.path,
                    self.parameters,
                    kind,
                    segments,
                    ours=self._release_file,
                    progress=progress,
                    batch=room,
                )
                self._reopen()
            except BaseException as error:
                if not self.closed and not self.is_current():
                    # An interrupt may leave the new file open and locked in one.
                    clear_frames(error.__traceback__)
                    self._reopen()
                raise

    def is_current(self) -> bool:
        """Return whether a file is open, and no other file has replaced it."""
        try:
            if self._file is None or self._file.closed:
                return False
            return os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path))
        except OSError:  # it is not known
            return True

    def _reopen(self) -> None:
        """Release the file and open the new file of the same name, or close the index."""
        try:
            self._release_file()
            self._open(False)
        except BaseException:
            self._end()  # the memory does not contain all entries
            raise

    def _is_compact(self) -> bool:
        """Return whether `compact` would write the same file: one full segment, no changes."""
        data = self._on_disk()
        _, state, start, nbytes, _ = read_headers(data)
        headers = headers_of(data)
        fixed = self.segments.fixed
        growing = self.segments.growing
        pending = growing is not None and len(growing)
        is_full = (
            all(len(segment) == segment.tables.limit for segment in fixed)
            and len(fixed) <= 1
        )
        return (
            state == 1
            and headers[0] == headers[1]
            and start + nbytes == len(data)
            and is_full
            and not pending
        )

    def verify(self) -> None:
        """Check the whole file: both headers, all checksums, and that tables and entries agree.

        The second header may be that of the previous state, as after a commit that ended between
        the two headers.
        """
        with self.gate.reading(), named_format(self.path):
            data, _, _ = newest(self._check_open())
            check_headers(headers_of(data))
            segments = segments_of(self._directory, self._map, True)
            check_segments(segments, self._directory.parameters)

    def check_sums(self, segments: list[Segment]) -> None:
        """Check the checksums of segments in the file, before they are written with new ones."""
        with named_format(self.path):
            for segment in segments:
                segment_of(self._directory, segment.where, self._map, True)

    def check_stored_sums(self) -> None:
        self.check_sums(self.segments.fixed)

    def stats(self) -> dict[str, int]:
        with self.gate.reading():
            return self.figures()

    def figures(self) -> dict[str, int]:
        """Return the figures of `stats`; the caller holds a lock."""
        figures = self.segments.figures()
        used_bytes = sum(
            section.nbytes
            for record in self._directory.segments
            for section in record.sections
        )
        return {
            **figures,
            "file size": len(self._map),
            "file waste": max(0, len(self._map) - FIRST_SECTION - used_bytes),
        }

    def __repr__(self) -> str:
        return f"FileStore({self.path!r}, mode={self.mode!r}, {self._size()})"

    def close(self) -> None:
        # Held until the end, as entries inserted after the commit would be lost.
        with self.gate.writing():
            if self._file is not None and self.mode == "r+" and self._is_owner():
                self._commit(None)
            self._end()

    def abandon(self) -> None:
        """Close the file without a commit."""
        super().close()

    def _end(self) -> None:
        super()._end()
        self._release_file()

    def _release_file(self) -> None:
        """Release the file, its map, and the segments in it; what needs memory comes last."""
        if self._file is not None and not self._file.closed:
            try:
                self._unlock()
            finally:
                self._file.close()
        self._file = None
        if self._segments is not None:
            self._segments.fixed = []
        self._map = np.empty(0, np.uint8)

    def _unlock(self) -> None:
        """Release the lock, which existing maps of the file would keep."""
        file = self._file
        if file is None or file.closed or self.mode != "r+" or not self._is_owner():
            return
        try:  # noqa: SIM105 (`suppress` needs memory before the file is closed)
            unlock(file)
        except OSError:  # Windows: another process holds the lock
            pass

    def __del__(self) -> None:
        self._unlock()  # where nobody has closed it

    def check_keys(self, keys: Column) -> None:
        with self.gate.reading():
            self._check_keys(keys)

    def _check_keys(self, keys: Column) -> None:
        check_keys(keys, self.segments)

    def _check_open(self) -> IO[bytes]:
        if self._file is None:
            raise ValueError(f"the index of {self.path} is closed")
        return self._file


def check_keys(keys: Column, segments: Segments) -> None:
    """Raise TypeError if keys cannot be added to those of segments in one file."""
    if segments.kind_with(keys) not in SECTIONS:
        raise refusal(keys, segments.stored_kind)


def check_target(
    path: str | os.PathLike[str], overwrite: bool = False, magic: bytes = HEADER.magic
) -> None:
    """Check that a new index may be written to a path: a new, an empty or an index file.

    Parameters
    ----------
    path : path
    overwrite : bool
        Whether other files may be replaced too.
    magic : bytes
        The first bytes of an index of the same class.

    Raises
    ------
    OSError
        IsADirectoryError for a folder; FileExistsError for a file that is not an index; OSError for
        a device, pipe or socket, and for "-", which is standard output in other places.
    """
    name = os.fspath(path)
    if name in ("-", b"-"):
        raise OSError(
            errno.EINVAL, "an index is written to a file, not to standard output", name
        )
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(mode):
        raise OSError(
            errno.EINVAL,
            "an index is written to a file, and this is a device, pipe or socket",
            name,
        )
    if not overwrite:
        with open(path, "rb") as file:
            if file.read(len(HEADER.magic)) not in (magic, b""):
                raise FileExistsError(
                    errno.EEXIST,
                    "this file is not an index; overwrite=True replaces it",
                    name,
                )


def save_store(
    path: str | os.PathLike[str],
    parameters: Parameters,
    store: Store,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the entries of a store of any kind to a new file."""
    check_target(path, overwrite)
    if isinstance(store, LockedStore):
        with store.gate.reading():
            store.check_stored_sums()
            write_file(
                path,
                parameters,
                store.kind or "int",
                store.segments.all,
                progress=progress,
            )
        return
    entries = Segments(parameters)
    for keys, signatures in store.items():
        entries.insert(keys, signatures, "skip", copy=True)
    write_file(path, parameters, entries.kind or "int", entries.all, progress=progress)


def write_file(
    path: str | os.PathLike[str],
    parameters: Parameters,
    kind: str,
    segments: list[Segment],
    *,
    ours: Callable[[], None] | None = None,
    progress: Progress | None = None,
    batch: int = PIECE_ROWS,
    permissions_of: str | None = None,
) -> None:
    """Write the entries of segments, as one segment, to a new file, which may replace an old one.

    `ours` releases the old file, if this process has it open and locked. The list of segments is
    modified. See `built` for `batch`, and `atomic_file` for `permissions_of`.
    """
    kind = _kind_of_entries(segments, kind)
    if sys.byteorder != "little":
        raise OSError("files of an index are little-endian, and this machine is not")
    # In place, as the caller refers to the list, and memory must be released.
    segments[:] = filter(len, segments)
    tell = Meter(progress)
    if segments[1:] or any(
        each.kind != kind or len(each) < each.tables.limit for each in segments
    ):
        tell.expect(segments)
        segments[:] = [built(parameters, kind, segments, tell, batch)]
    # Without records of where they are stored.
    segments[:] = [Segment(segment.tables, kind) for segment in segments]
    tell.expect(segments)
    with ExitStack() as stack:
        if ours is None:
            stack.enter_context(locked_for_replacement(path))
        with atomic_file(path, overwrite=True, permissions_of=permissions_of) as file:
            directory = write_sections(file, parameters, kind, segments, tell)
            header = write_directory(file, directory, 1)
            tell.end()
            for place in HEADERS:
                file.seek(place)
                container.write_all(file, header)
            if OPEN_FILES_STAY:
                segments.clear()
                (stack.close if ours is None else ours)()


def _kind_of_entries(segments: list[Segment], kind: str) -> str:
    """Return the kind of the keys that are left; those of the kind of the index may be removed."""
    if kind == "object":
        keys = concatenate(
            [segment.names_of(segment.tables.rows_in_use()) for segment in segments]
        )
        kind = kind_of(keys) if len(keys) else "int"
    if kind == "object":
        raise TypeError(
            "only an index whose keys are all ints of 64 bits, or all strs, can be saved; "
            f"{RANGES}"
        )
    if kind == "uint" and all(segment.is_either() for segment in segments):
        return "int"
    return kind


def _room(segment: Segment) -> int:
    """Return the rows of a batch whose rebuilt tables are no longer than a fixed segment's."""
    return min(max(segment.tables.room(), 1), PIECE_ROWS)


def _without(segments: list[Segment], others: list[Segment]) -> list[Segment]:
    """Return the segments that are not among others."""
    return [segment for segment in segments if segment not in others]


def _is_written(segment: Segment) -> bool:
    """Return whether a fixed segment has no deletions that are not stored yet."""
    return (
        segment.deleted is not None
        and int(segment.deleted.sum()) == segment.deleted_when_written
    )
