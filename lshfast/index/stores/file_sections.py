"""The bytes of an index file: two headers, sections, and a directory; and the file's lock.

Only the two headers are ever changed; they contain the place of the directory. To change an index,
new sections and a new directory are appended and synced, then one header is written and synced,
then the other. At any time, at least one header is valid and refers to a complete state.
docs/reference/file-format.md defines the format.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy.typing as npt

from lshfast._common import container
from lshfast._common.container import Bytes, Header, append, is_sealed, mapped
from lshfast._common.errors import FormatError
from lshfast._common.progress import Progress
from lshfast.index.stores.file_format import (
    SECTIONS,
    VERSIONS,
    Directory,
    Section,
    SegmentRecord,
    open_segment,
    write_segment,
)
from lshfast.index.stores.segment import Segment, Tell
from lshfast.index.stores.values import Parameters
from lshfast.kernels.checksum import checksum

HEADERS = 0, 4096  # offsets of the two headers
FIRST_SECTION = 8192
ALIGNMENT = 64

# 0, state number; offset, size and checksum of the directory
HEADER = Header(b"LSHFAST\0", VERSIONS, "IQQQQ", "an index of lshfast")

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
        self._progress = progress
        self._done = 0
        self._total = 0

    def expect(self, segments: list[Segment]) -> None:
        """Expect the bytes of these segments, from now on."""
        self._total = self._done + sum(
            sum(segment.tables.nbytes()) for segment in segments
        )

    def end(self) -> None:
        """Report that all bytes are done."""
        self.expect([])
        self(0)

    def __call__(self, nbytes: int) -> None:
        self._done += nbytes
        if self._progress:
            self._progress("save", self._done, max(self._done, self._total))


def write_sections(
    file: Any, parameters: Parameters, kind: str, segments: list[Segment], tell: Tell
) -> Directory:
    """Append the sections of new segments, and return the directory of all segments."""

    def put(arrays: list[npt.NDArray[Any]]) -> Section:
        start = max(file.seek(0, os.SEEK_END), FIRST_SECTION)
        start = -(-start // ALIGNMENT) * ALIGNMENT
        file.seek(start)
        append(file, arrays, tell)
        return Section(start, sum(array.nbytes for array in arrays), checksum(*arrays))

    return Directory(
        parameters, kind, tuple(write_segment(segment, put) for segment in segments)
    )


def write_directory(file: Any, directory: Directory, state: int) -> bytes:
    """Append a directory, and return the header that refers to it."""
    data = directory.pack()
    start = max(file.seek(0, os.SEEK_END), FIRST_SECTION)
    file.seek(start)
    container.write_all(file, data)
    return HEADER.pack(directory.version, 0, state, start, len(data), checksum(data))


# ---- reading ----


class State(NamedTuple):
    """The fields of a header: version, state, and offset, size and checksum of the directory."""

    version: int
    state: int
    start: int
    nbytes: int
    checksum: int


def headers_of(data: Bytes) -> list[bytes]:
    """Return both headers; they are shorter in a file that was cut."""
    return [bytes(data[place : place + HEADER.size]) for place in HEADERS]


def _is_whole(header: bytes) -> bool:
    return len(header) == HEADER.size and is_sealed(header)


def read_headers(data: Bytes) -> State:
    """Return the fields of the newest valid header."""
    return unpack_header(newest_header(data))


def newest_header(data: Bytes) -> bytes:
    """Return the newest valid header."""
    headers = list(filter(_is_whole, headers_of(data)))
    if not headers:
        has_magic = bytes(data[:8]) == HEADER.magic
        raise FormatError(
            "header: both copies are damaged"
            if has_magic
            else f"header: not {HEADER.name}"
        )
    return max(headers, key=_state_of)


def unpack_header(header: bytes) -> State:
    """Return the fields of a header, checked."""
    version, _, state, *directory = HEADER.unpack(header)
    if state == 2**64 - 1:
        raise FormatError(f"header: state {state}, which is too large")
    if state == 0:
        raise FormatError("header: state 0, but the first state is 1")
    return State(version, state, *directory)


def _state_of(header: bytes) -> int:
    return int(HEADER.struct.unpack_from(header)[3])


def check_headers(headers: list[bytes]) -> None:
    """Check both headers: the second is a copy of the first, or of an earlier state."""
    for place, header in zip(HEADERS, headers, strict=True):
        if not _is_whole(header):
            raise FormatError(
                f"header: the one at byte {place} is damaged (compact repairs it)"
            )
    states = [_state_of(header) for header in headers]
    begins = [HEADER.struct.unpack_from(header)[:2] for header in headers]
    is_of_same_file = begins[0] == begins[1] and states[1] <= states[0]
    if not is_of_same_file or (states[0] == states[1] and headers[0] != headers[1]):
        raise FormatError(
            f"header: the one at byte {HEADERS[1]} is not a copy of the first (compact repairs it)"
        )


def newest(
    file: IO[bytes], header: bytes | None = None
) -> tuple[Bytes, Directory, bytes]:
    """Return the bytes of a file, and directory and header of its newest state, or an earlier one.

    `header` is that of the earlier state. The headers are read before the length of the file,
    because a writer extends the file before it changes the headers.
    """
    if header is None:
        header = newest_header(mapped(file))
    data = mapped(file)

    def read(start: int, nbytes: int) -> Bytes:
        return data[start : start + nbytes]

    return data, read_directory(unpack_header(header), len(data), read), header


def read_directory(
    state: State, file_bytes: int, read: Callable[[int, int], Bytes]
) -> Directory:
    """Return the directory of a state of a file of this length; `read` reads a range of bytes."""
    version, _, start, nbytes, expected_sum = state
    if start < FIRST_SECTION:
        raise FormatError(
            f"directory: it begins at byte {start}, before {FIRST_SECTION}"
        )
    if start + nbytes > file_bytes:
        raise FormatError(
            f"directory: the file is cut off: it has {file_bytes} bytes of at least "
            f"{start + nbytes}"
        )
    directory_bytes = bytes(read(start, nbytes))
    if checksum(directory_bytes) != expected_sum:
        raise FormatError("directory: its checksum is wrong")
    directory = Directory.unpack(directory_bytes)
    if directory.version != version:
        raise FormatError(
            f"directory: version {directory.version}, but the header has version {version}"
        )
    _check_places(directory, start, nbytes)
    return directory


def _check_places(directory: Directory, start: int, nbytes: int) -> None:
    """Check that the directory and the sections are after the headers and do not overlap."""
    used_places = [(start, nbytes, "directory")]
    for record in directory.segments:
        names = SECTIONS[directory.kind]
        used_places += [
            (at.where, at.nbytes, name)
            for name, at in zip(names, record.sections, strict=True)
            if at.nbytes
        ]
    end = FIRST_SECTION
    before = "header"
    for where, length, name in sorted(used_places):
        if where < end:
            raise FormatError(
                f"directory: {name} lies at byte {where}, and {before} ends at byte {end}"
            )
        end = where + length
        before = name


def segment_of(
    directory: Directory, record: SegmentRecord, data: Bytes, verify: bool
) -> Segment:
    """Return a segment over the bytes of a file."""
    return open_segment(
        directory, record, lambda section: section_bytes(data, section), verify
    )


def segments_of(directory: Directory, data: Bytes, verify: bool) -> list[Segment]:
    """Return all segments over the bytes of a file."""
    return [
        segment_of(directory, record, data, verify) for record in directory.segments
    ]


def section_bytes(data: Bytes, section: Section) -> Bytes:
    """Return the bytes of a section, or raise FormatError if it is not inside the file."""
    if section.where % ALIGNMENT or section.where + section.nbytes > len(data):
        place = f"bytes {section.where} to {section.where + section.nbytes}"
        raise FormatError(
            f"a section lies at {place}, and the file ends at {len(data)}"
        )
    return data[section.where : section.where + section.nbytes]


# ---- errors and locks ----


def sync(file: IO[bytes]) -> None:
    """Wait until all written bytes are on the disk."""
    file.flush()
    os.fsync(file.fileno())


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
        raise BlockingIOError(
            f"{os.fspath(path)} is open for writing elsewhere"
        ) from None
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
