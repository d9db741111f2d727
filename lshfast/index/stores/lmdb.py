"""An index in an LMDB environment, which several processes can use and may exceed memory.

The environment stores the sections and the directory of file-format.md, each as one value. Queries
read the map of the environment in place, without copying or decoding. Each inserted batch becomes a
new segment; segments are merged as in a file.

    key                        value
    "directory"                the directory; `where` of a section is its number
    "next"                     the next section's number, 8 bytes, little-endian
    "s" number, big-endian     a section
"""

from __future__ import annotations

import errno
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast._common.errors import FormatError
from lshfast._common.extras import optional
from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray, UInt8Array, UInt64Array
from lshfast.index.keys import Column
from lshfast.index.stores.base import Store
from lshfast.index.stores.file import check_keys
from lshfast.index.stores.file_format import (
    Directory,
    Section,
    SegmentRecord,
    check_segments,
    open_segment,
    write_segment,
)
from lshfast.index.stores.segment import Segment, built
from lshfast.index.stores.segments import Segments
from lshfast.index.stores.values import (
    CodesRequest,
    Found,
    Neighbors,
    OnDuplicate,
    Parameters,
    SearchRequest,
)
from lshfast.kernels.checksum import checksum
from lshfast.kernels.gate import Gate

# The most bytes of signatures in one segment: a value of LMDB is shorter than 4 GB, and merging
# needs memory.
MOST_BYTES = 1 << 30

# The most pages at the end of the file that LMDB may not have written.
MOST_UNWRITTEN = 16

_DIRECTORY = b"directory"
_NEXT = b"next"

Answer = TypeVar("Answer")


class LmdbStore(Store):
    """Store the entries of an index in LMDB; the answers to queries are the same as in memory.

    Any number of processes and threads may read while one writes. Writers wait for each other, also
    across processes. Each call that writes is one transaction: when it returns, other processes see
    all of its changes, and a crash does not lose them. Each call that reads sees one state. Insert
    entries in batches, because each insertion is a transaction. `close` waits for running calls.
    Open the store after a fork, not before.

    Pass the store to `LSHIndex` or `LSHIndex.on`; the index calls the methods of the store.

    Parameters
    ----------
    path : path
        A folder, which is created if it does not exist.
    map_size : int, default 2**40
        The greatest size of the environment, in bytes. It reserves address space, not disk space.
    sync : bool, default True
        Wait for the disk after each transaction. With False, the last transactions may be lost if
        the machine (not only the process) stops; the stored state is consistent.

    Attributes
    ----------
    path : str
    parameters : Parameters or None
        Parameters of the stored index; None if nothing is stored.

    Raises
    ------
    ImportError
        If the package lmdb is not installed.
    OSError
        If the environment cannot be opened, or `map_size` is too small; also from all methods.
    FormatError
        If the environment is damaged, or contains other data.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures, in memory or in a file.
    lshfast.RedisStore : Keep the entries of an index in Redis.

    Examples
    --------
    >>> import tempfile
    >>> from lshfast import LSHIndex, MinHasher, TokenSets
    >>> from lshfast.index.stores.lmdb import LmdbStore
    >>> signatures = MinHasher().sketch(TokenSets.from_sets([["a"], ["b"]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LSHIndex(0.9, store=LmdbStore(folder)) as index:
    ...         index.insert([1, 2], signatures)
    ...     with LSHIndex.on(LmdbStore(folder)) as index:
    ...         index.query(signatures[1])
    2
    [2]
    """

    path: str

    scans = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        map_size: int = 1 << 40,
        sync: bool = True,
    ) -> None:
        self._lmdb = optional("lmdb", "lmdb")
        self.path = os.fspath(path)
        os.makedirs(self.path, exist_ok=True)
        with self._errors():
            self._env = self._lmdb.open(
                self.path,
                map_size=map_size,
                sync=sync,
                metasync=sync,
                readahead=False,
                max_readers=1024,
            )
            self._page = self._env.stat()["psize"]
        # The segments of the newest directory that was read.
        self._opened: dict[SegmentRecord, Segment] = {}
        self._seen = b""
        self._directory: Directory | None = None
        self._opening = threading.Lock()
        # All calls hold the lock for reading, `close` for writing.
        self._gate = Gate()
        self._closed = False
        self._pid = os.getpid()
        try:
            self._check_size()
            self.parameters = self._read(
                lambda directory, _: directory.parameters if directory else None
            )
        except BaseException:
            self.close()
            raise

    def bind(self, parameters: Parameters) -> None:
        with self._gate.reading(), self._errors(), self._begin(write=True) as txn:
            if txn.get(_DIRECTORY) is None:
                txn.put(_DIRECTORY, Directory(parameters, "int", ()).pack())
            self.parameters = self._unpacked(txn).parameters
        self.parameters.check_same(parameters)

    # ---- reading ----

    def _read(self, ask: Callable[[Directory | None, list[Segment]], Answer]) -> Answer:
        """Call a function with the directory and the segments of one state."""
        with self._gate.reading(), self._errors(), self._begin() as txn:
            return ask(*self._state(txn))

    def _begin(self, write: bool = False) -> Any:
        """Begin a transaction; the caller holds the lock, so the map is not closed."""
        self._check_open()
        return self._env.begin(write=write, buffers=True)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the index is closed")
        if os.getpid() != self._pid:
            raise ValueError(
                f"{self.path} was opened before this process was forked: open it after the fork"
            )

    def _check_size(self) -> None:
        """Check that the environment's file has all its pages; a missing one ends the process.

        LMDB does not write the last pages if they were allocated and freed in the same transaction,
        so a few pages may be missing. The file is then extended.
        """
        file = os.path.join(self.path, "data.mdb")

        def missing() -> int:
            expected_bytes = (self._env.info()["last_pgno"] + 1) * self._page
            return int(expected_bytes - os.path.getsize(file))

        if missing() > MOST_UNWRITTEN * self._page:
            raise FormatError(
                f"{self.path}: data.mdb is truncated: its last {missing()} bytes are missing"
            )
        if missing() > 0:
            # No other process writes now.
            with self._errors(), self._begin(write=True):
                os.truncate(file, os.path.getsize(file) + max(missing(), 0))

    def _state(self, txn: Any) -> tuple[Directory | None, list[Segment]]:
        data = txn.get(_DIRECTORY)
        if data is None:
            return None, []
        with self._opening:
            if data != self._seen:
                directory = self._unpacked(txn)
                former = self._directory
                # Integers may be read as another kind now, in segments that are opened anew.
                is_same_kind = former is not None and former.kind == directory.kind
                opened_state = self._opened if is_same_kind else {}
                self._opened = {
                    record: opened_state.get(record)
                    or self._segment(txn, record, False)
                    for record in directory.segments
                }
                self._directory = directory
                self._seen = bytes(data)
            return self._directory, list(self._opened.values())

    def _unpacked(self, txn: Any) -> Directory:
        data = txn.get(_DIRECTORY)
        if data is None:
            raise FormatError(f"{self.path}: there is no directory")
        try:
            directory = Directory.unpack(bytes(data))
        except FormatError as error:
            raise FormatError(f"{self.path}: {error}") from None
        numbers = [
            section.where
            for record in directory.segments
            for section in record.sections
            if section.nbytes
        ]
        if len(set(numbers)) < len(numbers):
            raise FormatError(f"{self.path}: directory: a section is listed twice")
        return directory

    def _segment(self, txn: Any, record: SegmentRecord, verify: bool) -> Segment:
        """Return a segment over the map.

        A value of a page or more stays in place as long as a state that contains it is read.
        Smaller values share a page, which LMDB moves when one of them changes, so they are copied
        here.
        """

        def read(section: Section) -> UInt8Array:
            data = txn.get(_name(section.where)) if section.nbytes else b""
            if data is None or len(data) != section.nbytes:
                raise FormatError(f"section {section.where} is missing or truncated")
            return np.frombuffer(
                data if len(data) > self._page else bytes(data), np.uint8
            )

        try:
            return open_segment(self._unpacked(txn), record, read, verify)
        except FormatError as error:
            raise FormatError(f"{self.path}: {error}") from None

    def __repr__(self) -> str:
        return f"LmdbStore({self.path!r}{', closed' if self._closed else ''})"

    @property
    def kind(self) -> str | None:
        """Kind of the keys: "int", "uint" or "str"; None if there are no keys."""
        return self._read(lambda _, segments: segments[0].kind if segments else None)

    def check_keys(self, keys: Column) -> None:
        self._read(
            lambda directory, segments: check_keys(keys, _as_one(directory, segments))
        )

    def __len__(self) -> int:
        return self._read(lambda _, segments: sum(map(len, segments)))

    def contains(self, keys: Column) -> BoolArray:
        return self._read(
            lambda directory, segments: _as_one(directory, segments).contains(keys)
        )

    def query(
        self,
        signatures: UInt64Array,
        *,
        least: int | None,
        threads: int,
        most: int | None = None,
    ) -> Found:
        return self._read(
            lambda directory, segments: _as_one(directory, segments).query(
                signatures, least, threads, most
            )
        )

    def _search(self, search: SearchRequest) -> Neighbors:
        return self._read(
            lambda directory, segments: _as_one(directory, segments).search(search)
        )

    def _search_codes(self, search: CodesRequest) -> Neighbors:
        return self._read(
            lambda directory, segments: _as_one(directory, segments).search_codes(
                search
            )
        )

    def entries_of(self, keys: Column) -> tuple[Column, UInt64Array]:
        return self._read(
            lambda directory, segments: _as_one(directory, segments).entries_of(keys)
        )

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        return self._each(Segment.items)

    def all_keys(self) -> Iterator[Column]:
        return self._each(
            lambda segment: iter([segment.names_of(segment.tables.rows_in_use())])
        )

    def _each(
        self, batches_of: Callable[[Segment], Iterator[Answer]]
    ) -> Iterator[Answer]:
        """Yield the batches of all segments of one state; the store may be closed in between."""
        txn = None
        try:
            with self._gate.reading(), self._errors():
                txn = self._begin()
                batches = chain.from_iterable(map(batches_of, self._state(txn)[1]))
            while True:
                with self._gate.reading(), self._errors():
                    self._check_open()
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch
        finally:
            with self._gate.reading():
                if txn is not None and not self._closed:
                    txn.abort()

    def stats(self) -> dict[str, int]:
        def figures(
            directory: Directory | None, segments: list[Segment]
        ) -> dict[str, int]:
            sections = [
                section
                for record in (directory.segments if directory else ())
                for section in record.sections
            ]
            return {
                "section bytes": sum(section.nbytes for section in sections),
                "file size": (self._env.info()["last_pgno"] + 1) * self._page,
                "segments": len(segments),
            }

        return self._read(figures)

    def verify(self) -> None:
        with self._gate.reading(), self._errors(), self._begin() as txn:
            directory = self._unpacked(txn)
            segments = [
                self._segment(txn, record, True) for record in directory.segments
            ]
            try:
                check_segments(segments, directory.parameters)
            except FormatError as error:
                raise FormatError(f"{self.path}: {error}") from None
            last = struct.unpack("<Q", bytes(txn.get(_NEXT) or bytes(8)))[0]
            if any(
                section.where > last
                for record in directory.segments
                for section in record.sections
            ):
                raise FormatError(
                    f"{self.path}: next: a section has a number above {last}"
                )

    # ---- writing ----

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        *,
        copy: bool = True,
    ) -> int:
        def change(segments: Segments) -> int:
            if len(keys):
                check_keys(keys, segments)
            # The signatures are written before this returns, so they need no copy.
            return segments.insert(keys, signatures, on_duplicate, copy=False)

        return self._write_through(change)

    def remove(self, keys: Column) -> None:
        self._write_through(lambda segments: segments.remove(keys))

    def compact(self, progress: Progress | None = None) -> None:
        """Merge the entries into few segments, without deleted rows; LMDB reuses the space.

        Segments of the greatest allowed size do not change. `progress` is called with ("save",
        bytes of signatures done, bytes in total).
        """
        with self._gate.reading(), self._errors(), self._begin(write=True) as txn:
            directory = self._unpacked(txn)
            p = directory.parameters
            bytes_done = 0
            groups = _together(
                [self._segment(txn, record, False) for record in directory.segments],
                _most_rows(p),
            )
            again = [
                group
                for group in groups
                if len(group) > 1 or len(group[0]) < group[0].tables.limit
            ]
            total = (
                8 * p.words * sum(len(segment) for group in again for segment in group)
            )

            def tell(nbytes: int) -> None:
                nonlocal bytes_done
                bytes_done += nbytes
                if progress:
                    progress("save", bytes_done, total)

            segments = [
                built(p, directory.kind, group, tell) if group in again else group[0]
                for group in groups
            ]
            self._write(txn, directory, segments)

    def _write_through(self, change: Callable[[Segments], Answer]) -> Answer:
        """Change the segments of the newest state and write them, in one transaction."""
        with self._gate.reading(), self._errors(), self._begin(write=True) as txn:
            directory = self._unpacked(txn)
            fixed = [self._segment(txn, record, False) for record in directory.segments]
            segments = Segments(directory.parameters, fixed)
            answer = change(segments)
            unchanged, new = segments.merged(_most_rows(directory.parameters))
            self._write(txn, directory, [*unchanged, *([] if new is None else [new])])
            return answer

    def _write(self, txn: Any, directory: Directory, segments: list[Segment]) -> None:
        number = struct.unpack("<Q", bytes(txn.get(_NEXT) or bytes(8)))[0]

        def put(arrays: list[npt.NDArray[Any]]) -> Section:
            nonlocal number
            data = [array.reshape(-1).view(np.uint8) for array in arrays]
            content = (
                data[0]
                if len(data) == 1
                else np.concatenate([np.empty(0, np.uint8), *data])
            )
            number += 1
            if len(content):
                txn.put(_name(number), content.data, append=True)
            return Section(number, len(content), checksum(content))

        kind = segments[0].kind if segments else directory.kind
        records = tuple(write_segment(segment, put) for segment in segments)
        used_places = {
            section.where for record in records for section in record.sections
        }
        for record in directory.segments:
            for section in record.sections:
                if section.where not in used_places and section.nbytes:
                    txn.delete(_name(section.where))
        txn.put(_NEXT, struct.pack("<Q", number))
        txn.put(_DIRECTORY, Directory(directory.parameters, kind, records).pack())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert the errors of LMDB to OSError and FormatError, with the path."""
        try:
            yield
        except self._lmdb.MapFullError:
            raise OSError(
                errno.ENOSPC,
                "map_size is too small for what is to be stored",
                self.path,
            ) from None
        except (
            self._lmdb.InvalidError,
            self._lmdb.CorruptedError,
            self._lmdb.VersionMismatchError,
        ) as error:
            raise FormatError(f"{self.path}: {error}") from None
        except self._lmdb.Error as error:
            raise OSError(errno.EIO, str(error), self.path) from None

    def close(self) -> None:
        with self._gate.writing():
            self._closed = True
            self._opened = {}
            self._seen = b""
            if os.getpid() == self._pid:  # LMDB forbids it in a forked child
                self._env.close()


def _most_rows(parameters: Parameters) -> int:
    """Return the most rows of a segment."""
    return max(1, MOST_BYTES // (8 * parameters.words))


def _as_one(directory: Directory | None, segments: list[Segment]) -> Segments:
    return Segments(None if directory is None else directory.parameters, segments)


def _together(segments: list[Segment], most: int) -> list[list[Segment]]:
    """Group segments of at most `most` entries together, or one longer segment."""
    groups: list[list[Segment]] = []
    for segment in sorted(filter(len, segments), key=len):
        if groups and sum(map(len, groups[-1])) + len(segment) <= most:
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _name(number: int) -> bytes:
    return b"s" + struct.pack(">Q", number)
