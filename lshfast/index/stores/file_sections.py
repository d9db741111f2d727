"""The bytes of an index file (two headers, sections, and a directory of the sections), and the lock of the file.

Only the two headers are ever changed; they contain the place of the directory. To change an index, new sections and a
new directory are appended and synced, then one header is written and synced, then the other. At any time, at least one
header is valid and refers to a complete state. docs/file-format.md defines the format.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast.common.errors import FormatError
from lshfast.common.progress import Progress
from lshfast.index.stores.base import Parameters
from lshfast.index.stores.file_format import (
    NAMED_VERSIONS,
    SECTIONS,
    VERSIONS,
    Directory,
    Section,
    SegmentRecord,
    open_segment,
    write_segment,
)
from lshfast.index.stores.segment import Segment, Tell
from lshfast.kernels.checksum import checksum

MAGIC = b"LSHFAST\0"
HEADERS = 0, 4096  # offsets of the two headers
FIRST_SECTION = 8192
ALIGNMENT = 64

# Bytes that are written between two reports of progress.
STEP_BYTES = 1 << 24

HEADER = struct.Struct("<8sIIQQQQ")  # magic, version, 0, state number; offset, size and checksum of the directory

if sys.platform == "win32":
    import msvcrt

    def lock(file: IO[bytes]) -> None:
        file.seek(1 << 62)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def unlock(file: IO[bytes]) -> None:
        file.seek(1 << 62)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


class Meter:
    """Report the bytes of a file that are done, and the bytes that are expected in total."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._done, self._total = progress, 0, 0

    def expect(self, segments: list[Segment]) -> None:
        """Expect the bytes of these segments, from now on."""
        self._total = self._done + sum(sum(segment.tables.nbytes()) for segment in segments)

    def end(self) -> None:
        """Report that all bytes are done."""
        self.expect([])
        self(0)

    def __call__(self, more: int) -> None:
        self._done += more
        if self._progress:
            self._progress("save", self._done, max(self._done, self._total))


def write_sections(file: Any, parameters: Parameters, kind: str, segments: list[Segment], tell: Tell) -> Directory:
    """Append the sections of segments that are not stored yet, and return the directory of all segments."""

    def put(arrays: list[npt.NDArray[Any]]) -> Section:
        start = max(file.seek(0, os.SEEK_END), FIRST_SECTION)
        start = -(-start // ALIGNMENT) * ALIGNMENT
        file.seek(start)
        for array in arrays:
            whole = array.reshape(-1).view(np.uint8)
            for at in range(0, len(whole), STEP_BYTES):
                write_all(file, whole[at : at + STEP_BYTES].data)
                tell(len(whole[at : at + STEP_BYTES]))
        return Section(start, sum(array.nbytes for array in arrays), checksum(*arrays))

    return Directory(parameters, kind, tuple(write_segment(segment, put) for segment in segments))


def write_directory(file: Any, directory: Directory, state: int) -> bytes:
    """Append a directory, and return the header that refers to it."""
    data = directory.pack()
    start = max(file.seek(0, os.SEEK_END), FIRST_SECTION)
    file.seek(start)
    write_all(file, data)
    header = HEADER.pack(MAGIC, directory.version, 0, state, start, len(data), checksum(data))
    return header + struct.pack("<Q", checksum(header))


# ---- reading ----


def mapped(file: IO[bytes]) -> npt.NDArray[np.uint8]:
    """Map a file, and return its bytes as a read-only array."""
    if not os.fstat(file.fileno()).st_size:
        return np.empty(0, np.uint8)
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _is_whole(header: bytes) -> bool:
    """Return whether this is a header with a valid checksum."""
    if len(header) < HEADER.size + 8:
        return False
    return bool(struct.unpack_from("<Q", header, HEADER.size)[0] == checksum(header[: HEADER.size]))


class Header(NamedTuple):
    """The fields of a header: the version, the state, and the offset, size and checksum of the directory."""

    version: int
    state: int
    start: int
    nbytes: int
    checksum: int


def read_headers(data: npt.NDArray[np.uint8]) -> Header:
    """Return the newest valid header."""
    headers = [bytes(data[place : place + HEADER.size + 8]) for place in HEADERS]
    found = [HEADER.unpack_from(header) for header in headers if _is_whole(header)]
    if not found:
        start = bytes(data[:8])
        raise FormatError("header: not an index of lshfast" if start != MAGIC else "header: both copies are damaged")
    newest = max(found, key=lambda fields: fields[3])
    if newest[0] != MAGIC:
        raise FormatError("header: not an index of lshfast")
    if newest[1] not in VERSIONS:
        raise FormatError(f"header: version {newest[1]}; this library reads {NAMED_VERSIONS}")
    if newest[3] == 2**64 - 1:
        raise FormatError(f"header: state {newest[3]}, which is too large")
    if newest[3] == 0:
        raise FormatError("header: state 0, but the first state is 1")
    return Header(newest[1], *newest[3:])


def check_headers(headers: list[bytes]) -> None:
    """Check both headers: the second is a copy of the first, or of an earlier state after an interrupted commit."""
    for place, header in zip(HEADERS, headers, strict=True):
        if not _is_whole(header):
            raise FormatError(f"header: the one at byte {place} is damaged (compact repairs it)")
    (*kind, _, first), (*other, _, second) = (HEADER.unpack_from(header)[:4] for header in headers)
    if kind != other or second > first or (second == first and headers[0] != headers[1]):
        raise FormatError(f"header: the one at byte {HEADERS[1]} is not a copy of the first (compact repairs it)")


def newest(file: IO[bytes]) -> tuple[npt.NDArray[np.uint8], Directory]:
    """Return the bytes of a file, and the directory of its newest state.

    The headers are read before the length of the file, because a writer extends the file before it changes the headers.
    """
    version, _, start, nbytes, wanted = read_headers(mapped(file))
    data = mapped(file)
    if start < FIRST_SECTION:
        raise FormatError(f"directory: it begins at byte {start}, before {FIRST_SECTION}")
    if start + nbytes > len(data):
        raise FormatError(f"directory: it ends at byte {start + nbytes}, and the file at {len(data)}")
    found = bytes(data[start : start + nbytes])
    if checksum(found) != wanted:
        raise FormatError("directory: its checksum is wrong")
    directory = Directory.unpack(found)
    if directory.version != version:
        raise FormatError(f"directory: version {directory.version}, but the header has version {version}")
    _check_places(directory, start, nbytes)
    return data, directory


def _check_places(directory: Directory, start: int, nbytes: int) -> None:
    """Check that the directory and the sections are after the headers and do not overlap."""
    used = [(start, nbytes, "directory")]
    for record in directory.segments:
        names = SECTIONS[directory.kind]
        used += [(at.where, at.nbytes, name) for name, at in zip(names, record.sections, strict=True) if at.nbytes]
    end, before = FIRST_SECTION, "header"
    for where, length, name in sorted(used):
        if where < end:
            raise FormatError(f"directory: {name} lies at byte {where}, and {before} ends at byte {end}")
        end, before = where + length, name


def segment_of(directory: Directory, record: SegmentRecord, data: npt.NDArray[np.uint8], verify: bool) -> Segment:
    """Return a segment over the bytes of a file."""
    return open_segment(directory, record, lambda section: section_bytes(data, section), verify)


def section_bytes(data: npt.NDArray[np.uint8], section: Section) -> npt.NDArray[np.uint8]:
    """Return the bytes of a section, or raise FormatError if it is not inside the file."""
    if section.where % ALIGNMENT or section.where + section.nbytes > len(data):
        place = f"bytes {section.where} to {section.where + section.nbytes}"
        raise FormatError(f"a section lies at {place}, and the file ends at {len(data)}")
    return data[section.where : section.where + section.nbytes]


# ---- errors and locks ----


def write_all(file: Any, data: Any) -> None:
    """Write all bytes; an unbuffered file may need several calls of its method `write`."""
    view = memoryview(data)
    while len(view):
        view = view[file.write(view) :]


def sync(file: IO[bytes]) -> None:
    """Wait until all written bytes are on the disk."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def named_format(path: Any) -> Iterator[None]:
    """Add the path of the file to a FormatError."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from None


@contextmanager
def named_errors(path: Any) -> Iterator[None]:
    """Add the path of the file to an OSError without a path, as for a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


def lock_file(file: IO[bytes], path: Any) -> None:
    """Lock a file, or raise BlockingIOError if another process has locked or replaced it."""
    try:
        lock(file)
    except OSError:
        raise BlockingIOError(f"{os.fspath(path)} is open for writing elsewhere") from None
    if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
        raise BlockingIOError(f"{os.fspath(path)} has just been replaced elsewhere")


@contextmanager
def locked_for_replacement(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a file that is about to be replaced, if it exists."""
    try:
        file = open(path, "r+b", buffering=0)  # noqa: SIM115 (it may not exist)
    except FileNotFoundError:
        yield
        return
    with file:
        lock_file(file, path)
        try:
            yield
        finally:
            unlock(file)
