"""An index in one file: mapped into memory, appended to in place, written anew on demand. See docs/file-format.md.

What is in the file is never changed but for its two headers, which say where the directory lies: new sections and a new
directory are appended and synced, then one header is written and synced, then the other. Whatever happens in between,
one of the headers is whole and leads to a state that is whole.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from lshfast.index.stores.base import Column, FormatError, Parameters, Progress, Store
from lshfast.index.stores.file_format import (
    SECTIONS,
    VERSION,
    Directory,
    PartRecord,
    Section,
    check_parts,
    open_part,
    write_part,
)
from lshfast.index.stores.keys import concatenate, kind_of
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.segments import PIECE, Part, Tell, built, empty_part, fold
from lshfast.kernels.checksum import checksum
from lshfast.readers.output import atomic_file
from lshfast.tokens import UInt64Array

MAGIC = b"LSHFAST\0"
HEADERS = 0, 4096  # offsets of the two
FIRST_SECTION = 8192
ALIGNMENT = 64

# Bytes that are written between two notes of progress.
STEP = 1 << 24

# A file that is open or mapped, by this process too, cannot be replaced there.
OPEN_FILES_STAY = os.name == "nt"

# Files up to this size are checked whole when they are opened, unless the caller says otherwise.
VERIFIED_WHEN_OPENED = 64 << 20

_HEADER = struct.Struct("<8sIIQQQQ")  # magic, version, 0, number of the state, directory: offset, bytes, checksum

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        file.seek(1 << 62)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def _unlock(file: IO[bytes]) -> None:
        file.seek(1 << 62)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


class FileStore(MemoryStore):
    """Keep entries in a file, and what is new in memory until `commit`.

    Parameters
    ----------
    path : path
        Of a saved index.
    mode : {"r", "r+"}
    verify : bool, optional
        See `LSHIndex.open`.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: Literal["r", "r+"] = "r", *, verify: bool | None = None
    ) -> None:
        if mode not in ("r", "r+"):
            raise ValueError(f"mode must be 'r' or 'r+', not {mode!r}")
        if sys.byteorder != "little":
            raise OSError("files of an index are little-endian, and this machine is not")
        super().__init__()
        self.path, self.mode = os.path.abspath(path), mode  # that of now, wherever the process may go
        self._pid = os.getpid()  # a child shares the lock, but must neither write nor unlock
        self._open(verify)
        if verify:
            try:
                with named_format(self.path):
                    check_parts(self.fixed, self._directory.parameters)
            except BaseException:
                self._let_go()
                raise

    def _open(self, verify: bool | None) -> None:
        file = open(self.path, "rb" if self.mode == "r" else "r+b", buffering=0)  # noqa: SIM115 (it is kept)
        self._file: IO[bytes] | None = file
        try:
            if self.mode == "r+":
                _lock_or_say(file, self.path)
            with named_format(self.path):
                self._map, self._directory = _newest(file)
                check = len(self._map) <= VERIFIED_WHEN_OPENED if verify is None else verify
                self.fixed = [self._part(record, check) for record in self._directory.parts]
        except BaseException:
            self._let_go()
            raise
        self.loose = None
        self.parameters = self._directory.parameters

    def _part(self, record: PartRecord, verify: bool) -> Part:
        return _part_of(self._directory, record, self._map, verify)

    def check_writable(self) -> None:
        super().check_writable()
        if self.mode == "r":
            raise ValueError(f"{self.path} is open for reading only: open it with mode='r+'")
        if not self._is_owner():
            raise ValueError(f"{self.path} was opened before this process was forked: only the parent may write to it")

    def _is_owner(self) -> bool:
        """Tell whether this is the process that opened the file, not a child that was forked since."""
        return os.getpid() == self._pid

    def query_one(self, signature: UInt64Array, least: int | None) -> tuple[list[Any], list[int] | None]:
        return self._query_parts(signature, least)  # what lies beneath the part that grows may be about to change

    def commit(self, progress: Progress | None = None) -> None:
        """Write what is new to the file, and wait until it is there.

        Parts of the file that are no larger than what is new are written anew together with it, so that an index of n
        entries has at most about log2 n parts. `progress` is called with ("save", bytes done, bytes in all).

        Raises
        ------
        OSError
            If it cannot be written. The index still holds what is new, and a later commit writes it. The file is in its
            old state, or in the new one if only the last step failed, which is to sync a header.
        """
        with self.gate.writing():
            self._check_open()
            self.check_writable()
            self._commit(progress)

    def _commit(self, progress: Progress | None) -> None:
        assert self.parameters is not None
        tell = _Meter(progress)
        kept, new = fold(self.parameters, self.fixed, self.loose, tell=tell)
        self.check_sums([part for part in self.fixed if part not in kept])
        parts = [*kept, *([] if new is None else [new])]
        if new is None and len(kept) == len(self.fixed) and all(map(_is_written, kept)):
            return
        tell.expect([] if new is None else [new])
        self._append(parts, tell)

    def _append(self, parts: list[Part], tell: _Meter) -> None:
        """Write parts that are not in the file yet behind its end, and a directory of all; then change the headers."""
        file = self._check_open()
        end = file.seek(0, os.SEEK_END)
        before = _read_headers(self._on_disk())[0]  # later than that read last if a commit failed in its last step
        assert self.parameters is not None
        try:
            with named_errors(self.path):
                kind = parts[0].kind if parts else self._directory.kind
                directory = write_sections(file, self.parameters, kind, parts, tell)
                header = write_directory(file, directory, before + 1)
                tell.end()
                _sync(file)
                for place in HEADERS:
                    file.seek(place)
                    _write(file, header)
                    _sync(file)
            mapped = _mapped(file)
            fixed = [_part_of(directory, record, mapped, False) for record in directory.parts]
        except BaseException:
            with suppress(OSError, FormatError):
                if _read_headers(self._on_disk())[0] == before:
                    file.truncate(end)
            raise
        # One call, which no signal handler interrupts, so that no entry is both in the file and in memory.
        vars(self).update(_map=mapped, _directory=directory, fixed=fixed, loose=None)

    def _on_disk(self) -> npt.NDArray[np.uint8]:
        """Return the bytes of the file as it is now."""
        return _mapped(self._check_open())

    def compact(self, progress: Progress | None = None) -> None:
        """Write the file anew with all entries as one part, and without what is removed or lay waste; commits.

        The new file takes the place of the old one when it is complete: it needs as much space again meanwhile. Readers
        that have the old one open go on seeing that; on Windows it cannot be replaced while they do. A file that is as
        it would be written is left alone. `progress` is called with ("save", bytes done, bytes in all).

        Raises
        ------
        OSError
            If it cannot be written: the old file stands, and the index still holds what is new. If only the last step
            fails, which is to sync the folder, the new file stands. If that cannot be opened, the index is closed.
        """
        with self.gate.writing():
            self._check_open()
            self.check_writable()
            assert self.parameters is not None
            if self._is_compact():
                self.loose = None
                return
            if OPEN_FILES_STAY:  # it is let go of before the new one has its name, which may fail
                self._commit(None)
            kind = self.kind or self._directory.kind
            self.check_sums(self.fixed)
            room = _room(self.fixed[0]) if len(self.fixed) == 1 and not self.loose else PIECE
            try:
                write_file(
                    self.path, self.parameters, kind, self.parts, ours=self._let_go, progress=progress, batch=room
                )
                self._reopen()
            except BaseException:
                if not self.closed and not self._is_current():
                    self._reopen()
                raise

    def _is_current(self) -> bool:
        """Tell whether a file is open, and no other has taken its place."""
        try:
            if self._file is None or self._file.closed:
                return False
            return os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path))
        except OSError:  # nobody can tell
            return True

    def _reopen(self) -> None:
        """Let go of the file and open that of its name, which holds all of the index; else close the index."""
        try:
            self._let_go()
            self._open(False)
        except BaseException:
            self._end()  # what is left in memory is not all
            raise

    def _is_compact(self) -> bool:
        """Tell whether the file is what `compact` would write: of the first state, whole, and nothing to be changed."""
        data = self._on_disk()
        state, start, nbytes, _ = _read_headers(data)
        headers = [bytes(data[place : place + _HEADER.size + 8]) for place in HEADERS]
        pending = self.loose is not None and len(self.loose)
        written = all(len(part) == part.tables.limit for part in self.fixed) and len(self.fixed) <= 1
        return state == 1 and headers[0] == headers[1] and start + nbytes == len(data) and written and not pending

    def verify(self) -> None:
        """Check all of the file: both headers, all checksums, and that tables and entries belong together.

        The second header may be that of the last state: so it is when a commit ends in between.
        """
        with self.gate.reading(), named_format(self.path):
            data, _ = _newest(self._check_open())
            _check_headers([bytes(data[place : place + _HEADER.size + 8]) for place in HEADERS])
            check_parts([self._part(record, True) for record in self._directory.parts], self._directory.parameters)

    def check_sums(self, parts: list[Part]) -> None:
        """Check parts that are in the file before their content is written anew, under new checksums."""
        with named_format(self.path):
            for part in parts:
                self._part(part.where, True)

    def _figures(self) -> dict[str, int]:
        figures = super()._figures()
        used = sum(section.nbytes for record in self._directory.parts for section in record.sections)
        return {**figures, "file size": len(self._map), "file waste": max(0, len(self._map) - FIRST_SECTION - used)}

    def close(self) -> None:
        with self.gate.writing():  # throughout: what is inserted after the commit would be lost
            if self._file is not None and self.mode == "r+" and self._is_owner():
                self._commit(None)
            self._end()

    def abandon(self) -> None:
        """Let go of the file without a commit."""
        super().close()

    def _end(self) -> None:
        super()._end()
        self._let_go()

    def _let_go(self) -> None:
        """Let go of the file and its map, with all that lies in it."""
        self.fixed, self._map = [], np.empty(0, np.uint8)
        if self._file is not None and not self._file.closed:
            if self.mode == "r+" and self._is_owner():
                with suppress(OSError):  # Windows: it is not ours
                    _unlock(self._file)  # the maps of it would keep the lock
            self._file.close()
        self._file = None

    def check_kind(self, kind: str) -> None:
        with self.gate.reading():
            self._check_kind(kind)

    def _check_kind(self, kind: str) -> None:
        held = [part.kind for part in self.parts if part in self.fixed or len(part)]
        check_kind(kind, held[0] if held else None)

    def _room_for(self, keys: Column) -> Part:
        self._check_kind(kind_of(keys))
        return super()._room_for(keys)

    def _check_open(self) -> IO[bytes]:
        if self._file is None:
            raise ValueError(f"the index of {self.path} is closed")
        return self._file


def check_kind(kind: str, held: str | None) -> None:
    """Raise TypeError unless keys of this kind can join those held, None for none, where all are of one kind."""
    if held is None and kind not in SECTIONS:
        raise TypeError("the keys of an index in a file or in LMDB are all ints of 64 bits, or all strs; these are not")
    if held not in (None, kind):
        kinds = {"int": "ints of 64 bits", "str": "strs"}
        raise TypeError(f"the keys of this index are {kinds[str(held)]}, and these are not all that")


def check_target(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Check that an index may be written where something stands already: in the place of an index or an empty file.

    Parameters
    ----------
    path : path
        Of an index that is to be written.
    overwrite : bool
        Whether any other file may be replaced too.

    Raises
    ------
    OSError
        IsADirectoryError for a folder; FileExistsError for a file that is no index; others for what is no file at all.
    """
    name = os.fspath(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "an index is written to a file, and this is a device, pipe or socket", name)
    if not overwrite:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) not in (MAGIC, b""):
                raise FileExistsError(errno.EEXIST, "this file is not an index; overwrite replaces it", name)


def save_parts(
    path: str | os.PathLike[str],
    parameters: Parameters,
    store: Store,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the entries of any store to a new file."""
    check_target(path, overwrite)
    if isinstance(store, MemoryStore):
        with store.gate.reading():
            if isinstance(store, FileStore):
                store.check_sums(store.fixed)
            write_file(path, parameters, store.kind or "int", store.parts, progress=progress)
        return
    whole: Part | None = None
    for keys, signatures in store.items():
        whole = whole or empty_part(parameters, kind_of(keys))
        whole.tables.write(whole.admit(keys)[0], signatures)
    write_file(path, parameters, whole.kind if whole else "int", [whole] if whole else [], progress=progress)


def write_file(
    path: str | os.PathLike[str],
    parameters: Parameters,
    kind: str,
    parts: list[Part],
    *,
    ours: Callable[[], None] | None = None,
    progress: Progress | None = None,
    batch: int = PIECE,
) -> None:
    """Write the entries of parts, as one part, to a new file that takes the name, and the permissions, of one there is.

    `ours` lets go of that file where this process has it open and locked. The list of parts is changed. See `built` for
    `batch`.
    """
    if kind == "object":  # as of now: others may have been removed
        keys = concatenate([part.names_of(part.tables.rows_in_use()) for part in parts])
        kind = kind_of(keys) if len(keys) else "int"
    if kind == "object":
        raise TypeError("only an index whose keys are all ints of 64 bits, or all strs, can be saved")
    if sys.byteorder != "little":
        raise OSError("files of an index are little-endian, and this machine is not")
    parts[:] = filter(len, parts)  # in place, as the caller's frame may hold the list until this returns
    tell = _Meter(progress)
    if parts[1:] or any(part.kind != kind or len(part) < part.tables.limit for part in parts):
        tell.expect(parts)
        parts[:] = [built(parameters, kind, parts, tell, batch)]
    parts[:] = [Part(part.tables, kind) for part in parts]  # wherever they may be written already
    tell.expect(parts)
    with ExitStack() as held:
        if ours is None:
            held.enter_context(_not_in_use(path))
        with atomic_file(path, overwrite=True) as file:
            directory = write_sections(file, parameters, kind, parts, tell)
            header = write_directory(file, directory, 1)
            tell.end()
            for place in HEADERS:
                file.seek(place)
                _write(file, header)
            if OPEN_FILES_STAY:
                parts.clear()
                (held.close if ours is None else ours)()


class _Meter:
    """Tell how many bytes of a file are done, of those that are expected."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._done, self._total = progress, 0, 0

    def expect(self, parts: list[Part]) -> None:
        """Say that parts are to be gone over from here on."""
        self._total = self._done + sum(sum(part.tables.nbytes()) for part in parts)

    def end(self) -> None:
        """Say that nothing is left to be done."""
        self.expect([])
        self(0)

    def __call__(self, more: int) -> None:
        self._done += more
        if self._progress:
            self._progress("save", self._done, max(self._done, self._total))


def write_sections(file: Any, parameters: Parameters, kind: str, parts: list[Part], tell: Tell) -> Directory:
    """Append the sections of those parts that have none, and return the directory of all."""

    def put(arrays: list[npt.NDArray[Any]]) -> Section:
        start = max(file.seek(0, os.SEEK_END), FIRST_SECTION)
        start = -(-start // ALIGNMENT) * ALIGNMENT
        file.seek(start)
        for array in arrays:
            whole = array.reshape(-1).view(np.uint8)
            for at in range(0, len(whole), STEP):
                _write(file, whole[at : at + STEP].data)
                tell(len(whole[at : at + STEP]))
        return Section(start, sum(array.nbytes for array in arrays), checksum(*arrays))

    return Directory(parameters, kind, tuple(write_part(part, put) for part in parts))


def write_directory(file: Any, directory: Directory, state: int) -> bytes:
    """Append a directory, and return the header that leads to it."""
    data = directory.pack()
    start = max(file.seek(0, os.SEEK_END), FIRST_SECTION)
    file.seek(start)
    _write(file, data)
    header = _HEADER.pack(MAGIC, VERSION, 0, state, start, len(data), checksum(data))
    return header + struct.pack("<Q", checksum(header))


def _room(part: Part) -> int:
    """Return how many rows to put at once into tables that should become no longer than those of a fixed part."""
    return min(max(part.tables.room(), 1), PIECE)


def _is_written(part: Part) -> bool:
    """Tell whether nothing was removed from a fixed part since it was written."""
    return part.gone is not None and int(part.gone.sum()) == part.gone_when_written


# ---- reading ----


def _mapped(file: IO[bytes]) -> npt.NDArray[np.uint8]:
    """Return a file's bytes as they lie there, read only."""
    if not os.fstat(file.fileno()).st_size:
        return np.empty(0, np.uint8)
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _is_whole(header: bytes) -> bool:
    """Tell whether this is a header and its checksum."""
    if len(header) < _HEADER.size + 8:
        return False
    return bool(struct.unpack_from("<Q", header, _HEADER.size)[0] == checksum(header[: _HEADER.size]))


def _read_headers(data: npt.NDArray[np.uint8]) -> tuple[int, int, int, int]:
    """Return (state, directory's offset, bytes, checksum) of the newest header that is whole."""
    headers = [bytes(data[place : place + _HEADER.size + 8]) for place in HEADERS]
    found = [_HEADER.unpack_from(header) for header in headers if _is_whole(header)]
    if not found:
        start = bytes(data[:8])
        raise FormatError(
            "header: not an index of lshfast" if start != MAGIC else "header: it is damaged, and so is its copy"
        )
    newest = max(found, key=lambda fields: fields[3])
    if newest[0] != MAGIC:
        raise FormatError("header: not an index of lshfast")
    if newest[1] != VERSION:
        raise FormatError(f"header: version {newest[1]}; this library reads version {VERSION}")
    if newest[3] == 2**64 - 1:
        raise FormatError(f"header: state {newest[3]}, which no other can follow")
    if newest[3] == 0:
        raise FormatError("header: state 0, and the first is 1")
    return newest[3:]


def _check_headers(headers: list[bytes]) -> None:
    """Check both headers: the second is a copy of the first, or of an earlier state if a commit ended in between."""
    for place, header in zip(HEADERS, headers, strict=True):
        if not _is_whole(header):
            raise FormatError(f"header: the one at byte {place} is damaged (compact mends that)")
    (*kind, _, first), (*other, _, second) = (_HEADER.unpack_from(header)[:4] for header in headers)
    if kind != other or second > first or (second == first and headers[0] != headers[1]):
        raise FormatError(f"header: the one at byte {HEADERS[1]} is no copy of the first (compact mends that)")


def _newest(file: IO[bytes]) -> tuple[npt.NDArray[np.uint8], Directory]:
    """Return a file's bytes and the directory of its newest state.

    Headers are read before the length: a writer makes the file longer first, and then changes the headers.
    """
    _, start, nbytes, wanted = _read_headers(_mapped(file))
    data = _mapped(file)
    if start < FIRST_SECTION:
        raise FormatError(f"directory: it begins at byte {start}, before {FIRST_SECTION}")
    if start + nbytes > len(data):
        raise FormatError(f"directory: it ends at byte {start + nbytes}, and the file at {len(data)}")
    found = bytes(data[start : start + nbytes])
    if checksum(found) != wanted:
        raise FormatError("directory: its checksum is wrong")
    directory = Directory.unpack(found)
    _check_places(directory, start, nbytes)
    return data, directory


def _check_places(directory: Directory, start: int, nbytes: int) -> None:
    """Check that the directory and the sections lie behind the headers, and none over another."""
    used = [(start, nbytes, "directory")]
    for part in directory.parts:
        names = SECTIONS[directory.kind]
        used += [(at.where, at.nbytes, name) for name, at in zip(names, part.sections, strict=True) if at.nbytes]
    end, before = FIRST_SECTION, "header"
    for where, length, name in sorted(used):
        if where < end:
            raise FormatError(f"directory: {name} lies at byte {where}, and {before} ends at byte {end}")
        end, before = where + length, name


def _part_of(directory: Directory, record: PartRecord, data: npt.NDArray[np.uint8], verify: bool) -> Part:
    return open_part(directory, record, lambda section: _section(data, section), verify)


def _section(data: npt.NDArray[np.uint8], section: Section) -> npt.NDArray[np.uint8]:
    if section.where % ALIGNMENT or section.where + section.nbytes > len(data):
        place = f"bytes {section.where} to {section.where + section.nbytes}"
        raise FormatError(f"a section lies at {place}, and the file ends at {len(data)}")
    return data[section.where : section.where + section.nbytes]


# ---- errors and locks ----


def _write(file: Any, data: Any) -> None:
    """Write all of some bytes: a file without a buffer, which keeps nothing back, may take them in several goes."""
    view = memoryview(data)
    while len(view):
        view = view[file.write(view) :]


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def named_format(path: Any) -> Iterator[None]:
    """Name the file in a FormatError."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from None


@contextmanager
def named_errors(path: Any) -> Iterator[None]:
    """Name the file in an OSError that names none (disk full, say)."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


def _lock_or_say(file: IO[bytes], path: Any) -> None:
    try:
        _lock(file)
    except OSError:
        raise BlockingIOError(f"{os.fspath(path)} is open for writing elsewhere") from None
    if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
        raise BlockingIOError(f"{os.fspath(path)} has just been written anew elsewhere")


@contextmanager
def _not_in_use(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a file that is to be replaced, if there is one."""
    try:
        file = open(path, "r+b", buffering=0)  # noqa: SIM115 (it may not be there)
    except FileNotFoundError:
        yield
        return
    with file:
        _lock_or_say(file, path)
        try:
            yield
        finally:
            _unlock(file)
