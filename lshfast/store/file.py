"""An index in one file: mapped into memory, appended to in place, written anew on demand. See docs/file-format.md.

What is in the file is never changed but for its two headers, which say where the directory lies: new sections and a new
directory are appended and synced, then one header is written and synced, then the other. Whatever happens in between,
one of the headers is whole and leads to a state that is whole.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from lshfast.kernels.tables import checksum
from lshfast.readers.output import atomic_file
from lshfast.store.base import Column, FormatError, Parameters, Store
from lshfast.store.directory import (
    SECTIONS,
    VERSION,
    Directory,
    PartRecord,
    Section,
    check_part,
    open_part,
    write_part,
)
from lshfast.store.keys import concatenate, kind_of
from lshfast.store.memory import MemoryStore
from lshfast.store.parts import Part, built, empty_part, fold

MAGIC = b"LSHFAST\0"
HEADERS = 0, 4096  # offsets of the two
FIRST_SECTION = 8192
ALIGNMENT = 64

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
        self._open(verify)

    def _open(self, verify: bool | None) -> None:
        file = open(self.path, "rb" if self.mode == "r" else "r+b", buffering=0)  # noqa: SIM115 (it is kept)
        self._file: IO[bytes] | None = file
        try:
            if self.mode == "r+":
                _lock_or_say(file, self.path)
            with named_format(self.path):
                self._map, self._state, self._directory = _newest(file)
                check = len(self._map) <= VERIFIED_WHEN_OPENED if verify is None else verify
                self.fixed = [self._part(record, check) for record in self._directory.parts]
        except BaseException:
            self._let_go()
            raise
        self.loose = None
        self.parameters = self._directory.parameters

    def _part(self, record: PartRecord, verify: bool) -> Part:
        return open_part(self._directory, record, lambda section: _section(self._map, section), verify)

    def check_writable(self) -> None:
        super().check_writable()
        if self.mode == "r":
            raise ValueError(f"{self.path} is open for reading only: open it with mode='r+'")

    def commit(self) -> None:
        """Write what is new to the file, and wait until it is there.

        Parts of the file that are no larger than what is new are written anew together with it, so that an index of n
        entries has at most about log2 n parts.

        Raises
        ------
        OSError
            If it cannot be written. The file is in its old state then, and the index still holds what is new.
        """
        with self.gate.writing():
            self._check_open()
            self.check_writable()
            assert self.parameters is not None
            kept, new = fold(self.parameters, self.fixed, self.loose)
            self.check_sums([part for part in self.fixed if part not in kept])
            parts = [*kept, *([] if new is None else [new])]
            if new is None and len(kept) == len(self.fixed) and all(map(_is_written, kept)):
                return
            self._append(parts)

    def _append(self, parts: list[Part]) -> None:
        """Write parts that are not in the file yet behind its end, and a directory of all; then change the headers."""
        file = self._check_open()
        end = file.seek(0, os.SEEK_END)
        assert self.parameters is not None
        try:
            with named_errors(self.path):
                kind = parts[0].kind if parts else self._directory.kind
                directory = write_sections(file, self.parameters, kind, parts)
                header = write_directory(file, directory, self._state + 1)
                _sync(file)
                for place in HEADERS:
                    file.seek(place)
                    _write(file, header)
                    _sync(file)
        except BaseException:
            with suppress(OSError, FormatError):
                if self._on_disk() == self._state:
                    file.truncate(end)
            raise
        self._map = _mapped(file)
        self._state, self._directory = self._state + 1, directory
        self.fixed = [self._part(record, False) for record in directory.parts]
        self.loose = None

    def _on_disk(self) -> int:
        """Return the number of the state that the file is in."""
        return _read_headers(_mapped(self._check_open()))[0]

    def compact(self) -> None:
        """Write the file anew with all entries as one part, and without what is removed or lay waste; commits.

        The new file takes the place of the old one when it is complete: it needs as much space again meanwhile. Readers
        that have the old one open go on seeing that.
        """
        with self.gate.writing():
            self._check_open()
            self.check_writable()
            assert self.parameters is not None
            kind = self.kind or self._directory.kind
            self.check_sums(self.fixed)
            write_file(self.path, self.parameters, kind, self.parts, ours=True)
            self._let_go()
            self._open(False)

    def verify(self) -> None:
        """Check all of the file: both headers, all checksums, and that tables and entries belong together.

        The second header may be that of the last state: so it is when a commit ends in between.
        """
        with self.gate.reading(), named_format(self.path):
            data, _, _ = _newest(self._check_open())
            for place in HEADERS:
                if not _is_whole(bytes(data[place : place + _HEADER.size + 8])):
                    raise FormatError(f"header: the one at byte {place} is damaged (compact mends that)")
            for record in self._directory.parts:
                check_part(self._part(record, True))

    def check_sums(self, parts: list[Part]) -> None:
        """Check parts that are in the file before their content is written anew, under new checksums."""
        with named_format(self.path):
            for part in parts:
                self._part(part.where, True)

    def stats(self) -> dict[str, int]:
        figures = super().stats()
        used = sum(section.nbytes for record in self._directory.parts for section in record.sections)
        return {**figures, "file size": len(self._map), "file waste": max(0, len(self._map) - FIRST_SECTION - used)}

    def close(self) -> None:
        if self._file is not None and self.mode == "r+":
            self.commit()
        self.abandon()

    def abandon(self) -> None:
        """Let go of the file without a commit."""
        self._let_go()
        super().close()
        self._map = np.empty(0, np.uint8)

    def _let_go(self) -> None:
        if self._file is not None:
            if self.mode == "r+":
                with suppress(OSError):  # Windows: it is not ours
                    _unlock(self._file)  # the maps of it would keep the lock
            self._file.close()
        self._file = None

    def _room_for(self, keys: Column) -> Part:
        own = self.loose.kind if self.loose is not None and len(self.loose) else None
        if not self.fixed and kind_of(keys) not in (SECTIONS if own is None else [own]):
            raise TypeError("the keys of an index in a file are all ints of 64 bits, or all str, and these are not")
        return super()._room_for(keys)

    def _check_open(self) -> IO[bytes]:
        if self._file is None:
            raise ValueError(f"the index of {self.path} is closed")
        return self._file


def save_parts(path: str | os.PathLike[str], parameters: Parameters, store: Store) -> None:
    """Write the entries of any store to a new file."""
    if isinstance(store, MemoryStore):
        with store.gate.reading():
            if isinstance(store, FileStore):
                store.check_sums(store.fixed)
            write_file(path, parameters, store.kind or "int", store.parts)
        return
    whole: Part | None = None
    for keys, signatures in store.items():
        whole = whole or empty_part(parameters, kind_of(keys))
        whole.tables.write(whole.admit(keys)[0], signatures)
    write_file(path, parameters, whole.kind if whole else "int", [whole] if whole else [])


def write_file(
    path: str | os.PathLike[str], parameters: Parameters, kind: str, parts: list[Part], ours: bool = False
) -> None:
    """Write the entries of parts, as one part, to a new file that takes the name when it is complete.

    `ours` says that this process holds the lock of the file that may be there.
    """
    if kind == "object":  # as of now: others may have been removed
        keys = concatenate([part.names_of(part.tables.rows_in_use()) for part in parts])
        kind = kind_of(keys) if len(keys) else "int"
    if kind == "object":
        raise TypeError("only an index whose keys are all ints of 64 bits, or all strs, can be saved")
    if sys.byteorder != "little":
        raise OSError("files of an index are little-endian, and this machine is not")
    parts = [part for part in parts if len(part)]
    if parts[1:] or any(part.kind != kind or len(part) < part.tables.limit for part in parts):
        parts = [built(parameters, kind, parts)]
    parts = [Part(part.tables, kind) for part in parts]  # wherever they may be written already
    with nullcontext() if ours else _not_in_use(path), atomic_file(path, overwrite=True) as file:
        directory = write_sections(file, parameters, kind, parts)
        header = write_directory(file, directory, 1)
        for place in HEADERS:
            file.seek(place)
            _write(file, header)


def write_sections(file: Any, parameters: Parameters, kind: str, parts: list[Part]) -> Directory:
    """Append the sections of those parts that have none, and return the directory of all."""

    def put(arrays: list[npt.NDArray[Any]]) -> Section:
        start = max(file.seek(0, os.SEEK_END), FIRST_SECTION)
        start = -(-start // ALIGNMENT) * ALIGNMENT
        file.seek(start)
        for array in arrays:
            _write(file, array.reshape(-1).view(np.uint8).data)
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
    return newest[3:]


def _newest(file: IO[bytes]) -> tuple[npt.NDArray[np.uint8], int, Directory]:
    """Return a file's bytes, and the number and the directory of its newest state.

    Headers are read before the length: a writer makes the file longer first, and then changes the headers.
    """
    state, start, nbytes, wanted = _read_headers(_mapped(file))
    data = _mapped(file)
    if start + nbytes > len(data):
        raise FormatError(f"directory: it ends at byte {start + nbytes}, and the file at {len(data)}")
    found = bytes(data[start : start + nbytes])
    if checksum(found) != wanted:
        raise FormatError("directory: its checksum is wrong")
    return data, state, Directory.unpack(found)


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
