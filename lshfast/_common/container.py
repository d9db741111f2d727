"""Files with checksums: a header, and sections after it, all checked before use.

A header is a magic number, a version, further fields of fixed width, and the checksum of all that
before it. Numbers are little-endian. A manifest is the same for objects of JSON.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, TypeAlias

import numpy as np

from lshfast._common.atomic_files import atomic_file
from lshfast._common.errors import FormatError
from lshfast._common.progress import Progress
from lshfast._common.types import AnyArray, PathLike, UInt8Array
from lshfast._common.visible import printable
from lshfast.kernels.checksum import checksum
from lshfast.kernels.filemap import FileMap

Bytes: TypeAlias = UInt8Array
Arrays: TypeAlias = Sequence[AnyArray]

# Bytes that are written between two reports of progress.
STEP_BYTES = 1 << 24

_SUM = struct.Struct("<Q")


def sealed(data: bytes) -> bytes:
    """Return bytes with their checksum after them."""
    return data + _SUM.pack(checksum(data))


def is_sealed(data: bytes | memoryview) -> bool:
    """Return whether the last eight bytes are the checksum of those before them."""
    return len(data) >= _SUM.size and bool(
        _SUM.unpack(data[-_SUM.size :])[0] == checksum(data[: -_SUM.size])
    )


def check_version(version: Any, versions: Sequence[int], where: str) -> None:
    """Raise FormatError if a version is not one of those that can be read."""
    if version not in versions:
        readable_versions = (
            f"version{'s' * (len(versions) > 1)} {' and '.join(map(str, versions))}"
        )
        raise FormatError(
            f"{where}: version {version}; this library reads {readable_versions}"
        )


class Header:
    """The header of one kind of file.

    Parameters
    ----------
    magic : bytes
        The magic number, 8 bytes.
    versions : tuple of int
        Those that can be read.
    fields : str
        The fields after the version, as for `struct`.
    name : str
        What the file is, for errors.

    Attributes
    ----------
    struct : Struct
        The magic number, the version and the fields.
    size : int
        Bytes of the header, with its checksum.
    """

    struct: struct.Struct
    size: int

    def __init__(
        self, magic: bytes, versions: tuple[int, ...], fields: str, name: str
    ) -> None:
        self.magic: bytes = magic
        self.versions: tuple[int, ...] = versions
        self.name: str = name
        self.struct = struct.Struct(f"<8sI{fields}")
        self.size = self.struct.size + _SUM.size

    def pack(self, version: int, *fields: Any) -> bytes:
        """Return a header as bytes."""
        return sealed(self.struct.pack(self.magic, version, *fields))

    def unpack(self, data: bytes) -> tuple[Any, ...]:
        """Return the version and the fields of a header, or raise FormatError."""
        head = data[: self.size]
        if not head.startswith(self.magic) or len(head) < self.size:
            raise FormatError(f"header: not {self.name}")
        if not is_sealed(head):
            raise FormatError("header: its checksum is wrong")
        _, version, *fields = self.struct.unpack_from(head)
        check_version(version, self.versions, "header")
        return version, *fields


class Container(Header):
    """A kind of file that is written once: a header with checksums, and sections.

    Parameters
    ----------
    magic, versions, fields, name
        As for `Header`; the fields without the checksums of the sections.
    sections : tuple of str
        Their names, for errors.
    alignment : int
        Each section begins at a multiple of it; zeros are before it.
    first : int
        The least place of the first section, a multiple of `alignment`.
    note_bytes : int
        The most bytes of a note: a text of UTF-8 without control characters. With a note, a file
        has the last version and, after its header, the note with zeros behind it and a checksum.
        Without one, it has the first version.
    """

    def __init__(
        self,
        magic: bytes,
        versions: tuple[int, ...],
        fields: str,
        name: str,
        sections: tuple[str, ...],
        alignment: int,
        first: int = 0,
        note_bytes: int = 0,
    ) -> None:
        super().__init__(magic, versions, f"{fields}{len(sections)}Q", name)
        self.note_bytes: int = note_bytes
        self.sections: tuple[str, ...] = sections
        self.alignment: int = alignment
        self.first: int = first

    def write(
        self,
        path: PathLike,
        fields: Sequence[Any],
        sections: Sequence[Arrays],
        overwrite: bool,
        progress: Progress | None = None,
        note: str = "",
    ) -> None:
        """Write a file, which appears under its name when it is complete.

        A section is the bytes of several arrays. `progress` is called with ("save", bytes done,
        bytes in total).
        """
        written_bytes = 0
        total = sum(array.nbytes for arrays in sections for array in arrays)

        def tell(nbytes: int) -> None:
            nonlocal written_bytes
            written_bytes += nbytes
            if progress:
                progress("save", written_bytes, total)

        with atomic_file(path, overwrite) as file:
            sums = [checksum(*map(_bytes, arrays)) for arrays in sections]
            noted = not self.note_bytes or bool(note)
            head = self.pack(self.versions[-1 if noted else 0], *fields, *sums)
            if note:
                head += self._packed_note(note)
            file.write(head.ljust(self.first, b"\0"))
            for arrays in sections:
                file.write(bytes(-file.tell() % self.alignment))
                append(file, arrays, tell)

    def _packed_note(self, note: str) -> bytes:
        data = note.encode()
        if len(data) > self.note_bytes or not note.isprintable():
            raise ValueError(
                f"a note has at most {self.note_bytes} bytes and no control characters, not "
                f"{note!r}"
            )
        return sealed(data.ljust(self.note_bytes, b"\0"))

    def _unpacked_note(self, data: bytes) -> str:
        if not is_sealed(data):
            raise FormatError("note: its checksum is wrong")
        try:
            note = data[: self.note_bytes].rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise FormatError("note: not valid UTF-8") from None
        if not note or not note.isprintable():
            raise FormatError("note: it is empty, or has control characters")
        return note

    def read(
        self, path: PathLike, sizes: Callable[..., Sequence[int]]
    ) -> tuple[tuple[Any, ...], list[Bytes]]:
        """Return the fields and the sections of a file; the file is mapped as long as they exist.

        If there may be a note, it is the last of the fields, "" without one. `sizes` checks the
        fields, and returns the bytes of each section. It is called with the fields.

        Raises
        ------
        FormatError
            If the file is of another kind or version, or damaged; the error names the file and the
            part.
        OSError
            If it cannot be read.
        """
        with open(path, "rb") as file, named_format(path):
            data = mapped(file)
            version, *fields = self.unpack(bytes(data[: self.size]))
            values = tuple(fields[: -len(self.sections)])
            sums = fields[-len(self.sections) :]
            places = []
            padding = []
            end = self.size
            if self.note_bytes:
                noted = version != self.versions[0]
                end += (self.note_bytes + _SUM.size) * noted
                values += (
                    self._unpacked_note(bytes(data[self.size : end])) if noted else "",
                )
            for nbytes in sizes(*values):
                start = max(end, self.first)
                start += -start % self.alignment
                padding.append(slice(end, start))
                end = start + nbytes
                places.append(slice(start, end))
            if end != len(data):
                raise FormatError(
                    f"the file has {len(data)} bytes; the header requires {end}"
                )
            if any(data[gap].any() for gap in padding):
                raise FormatError("the bytes between the sections are not 0")
            for name, place, expected_sum in zip(
                self.sections, places, sums, strict=True
            ):
                if checksum(data[place]) != expected_sum:
                    raise FormatError(f"{name}: the checksum is wrong")
            return values, [data[place] for place in places]

    def is_at(self, path: PathLike) -> bool:
        """Return whether a file is of this kind, or empty, so that a new one may replace it."""
        try:
            with open(path, "rb") as file:
                return file.read(len(self.magic)) in (self.magic, b"")
        except FileNotFoundError:
            return False


class Manifest:
    """A record of objects of JSON, with a version and a checksum.

    Parameters
    ----------
    version : int
    names : str
        The names of its objects, with spaces between them.
    """

    def __init__(self, version: int, names: str) -> None:
        self.version: int = version
        self._names = names.split()

    def sum_of(self, *values: Mapping[str, Any]) -> int:
        """Return the checksum of objects."""
        return checksum(
            json.dumps(values if values[1:] else values[0], sort_keys=True).encode()
        )

    def pack(self, *values: Mapping[str, Any], indent: int | None = 1) -> bytes:
        """Return objects as a record."""
        entries = dict(zip(self._names, values, strict=True))
        record = {"version": self.version, "checksum": self.sum_of(*values), **entries}
        return json.dumps(record, indent=indent).encode()

    def unpack(self, data: bytes, path: str) -> list[dict[str, Any]]:
        """Return the objects of a record, or raise FormatError, which names the file."""
        shown = printable(path)
        try:
            entries = json.loads(data)
            version = entries["version"]
            stored_sum = entries["checksum"]
            values = [dict(entries[name]) for name in self._names]
            own_sum = self.sum_of(*values)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FormatError(f"{shown}: damaged") from None
        check_version(version, [self.version], shown)
        if stored_sum != own_sum:
            raise FormatError(f"{shown}: damaged: its checksum differs")
        return values


def append(file: Any, arrays: Arrays, tell: Callable[[int], None]) -> None:
    """Write the bytes of arrays, and call `tell` with the number of bytes of each write."""
    for array in arrays:
        octets = _bytes(array)
        for at in range(0, len(octets), STEP_BYTES):
            write_all(file, octets[at : at + STEP_BYTES].data)
            tell(len(octets[at : at + STEP_BYTES]))


def write_all(file: Any, data: Any) -> None:
    """Write all bytes; an unbuffered file may need several calls of its method `write`."""
    view = memoryview(data)
    while len(view):
        view = view[file.write(view) :]


def mapped(file: IO[bytes]) -> Bytes:
    """Map a file, and return its bytes as a read-only array; the file may be closed.

    An OSError names the file.
    """
    nbytes = os.fstat(file.fileno()).st_size
    if not nbytes:
        return np.empty(0, np.uint8)
    try:
        if sys.platform == "win32":
            buffer = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        else:
            buffer = memoryview(FileMap(file.fileno(), nbytes))
    except OSError as error:
        raise OSError(error.errno, error.strerror, file.name) from None
    return np.frombuffer(buffer, np.uint8)


@contextmanager
def named_format(path: PathLike) -> Iterator[None]:
    """Add the path of the file to a FormatError."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{printable(os.fspath(path))}: {error}") from None


def _bytes(array: AnyArray) -> Bytes:
    return array.reshape(-1).view(np.uint8)
