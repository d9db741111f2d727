"""An index in an LMDB environment: shared by processes, each call a transaction, larger than memory if need be.

It holds the sections and the directory of docs/file-format.md, each as one value: what a query follows lies in the map
of the environment, and nothing is copied or decoded. A batch that is inserted becomes a segment of its own; segments
are merged as in a file.

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

from lshfast.common.errors import FormatError
from lshfast.common.extras import optional
from lshfast.common.progress import Progress
from lshfast.index.stores.base import Column, Found, OnDuplicate, Parameters, Store
from lshfast.index.stores.file import check_kind
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
from lshfast.kernels.checksum import checksum
from lshfast.kernels.gate import Gate
from lshfast.tokens import BoolArray, UInt64Array

# Signatures of one segment take at most so many bytes: a value of LMDB is shorter than 4 GB, and merging needs memory.
MOST_BYTES = 1 << 30

# Pages at the end of the file that LMDB may have left out.
MOST_UNWRITTEN = 16

_DIRECTORY, _NEXT = b"directory", b"next"

Answer = TypeVar("Answer")


class LmdbStore(Store):
    """Keep entries in LMDB; the answers are those of the memory index.

    Any number of processes and threads may read while one writes; writers wait for each other, also across processes. A
    call that writes is one transaction: it is there as a whole, for others and after a crash, when the call returns. A
    call that reads sees one state. As every insertion is a transaction, insert in batches. Closing waits for the calls
    under way. Open it after a fork, not before.

    Parameters
    ----------
    path : path
        A folder, which is made if it is not there.
    map_size : int, default 2**40
        The most bytes that it may ever hold; this much address space is set aside, not disk space.
    sync : bool, default True
        Wait for the disk after each transaction; without, the last ones may be lost, all in all consistent, where the
        machine (not only the process) stops.

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

    def __init__(self, path: str | os.PathLike[str], *, map_size: int = 1 << 40, sync: bool = True) -> None:
        self._lmdb = optional("lmdb", "lmdb")
        self.path = os.fspath(path)
        os.makedirs(self.path, exist_ok=True)
        with self._errors():
            self._env = self._lmdb.open(
                self.path, map_size=map_size, sync=sync, metasync=sync, readahead=False, max_readers=1024
            )
            self._page = self._env.stat()["psize"]
        self._opened: dict[SegmentRecord, Segment] = {}  # those of the newest directory seen
        self._seen = b""
        self._opening = threading.Lock()
        self._gate, self._closed = Gate(), False  # all calls enter as readers, and who closes as the writer
        self._pid = os.getpid()
        try:
            self._check_size()
            self.parameters = self._read(lambda directory, _: directory.parameters if directory else None)
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
        """Return what a function finds in the directory and the segments of one state, which stays until then."""
        with self._gate.reading(), self._errors(), self._begin() as txn:
            return ask(*self._state(txn))

    def _begin(self, write: bool = False) -> Any:
        """Begin a transaction: for whom has entered the gate, as what it reads lies in the map of the environment."""
        self._check_open()
        return self._env.begin(write=write, buffers=True)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the index is closed")
        if os.getpid() != self._pid:
            raise ValueError(f"{self.path} was opened before this process was forked: open it after the fork")

    def _check_size(self) -> None:
        """Check that the file of the environment has all of its pages: reading others would end the process.

        LMDB does not write the last pages if they became free in the transaction that took them, so a few may be
        missing; the file is made longer then.
        """
        file = os.path.join(self.path, "data.mdb")

        def missing() -> int:
            wanted = (self._env.info()["last_pgno"] + 1) * self._page
            return int(wanted - os.path.getsize(file))

        if missing() > MOST_UNWRITTEN * self._page:
            raise FormatError(f"{self.path}: data.mdb is cut: its last {missing()} bytes are missing")
        if missing() > 0:
            with self._errors(), self._begin(write=True):  # nobody else writes meanwhile
                os.truncate(file, os.path.getsize(file) + max(missing(), 0))

    def _state(self, txn: Any) -> tuple[Directory | None, list[Segment]]:
        data = txn.get(_DIRECTORY)
        if data is None:
            return None, []
        with self._opening:
            if data != self._seen:
                self._directory = self._unpacked(txn)
                known = self._opened
                records = self._directory.segments
                self._opened = {record: known.get(record) or self._segment(txn, record, False) for record in records}
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
        numbers = [section.where for record in directory.segments for section in record.sections if section.nbytes]
        if len(set(numbers)) < len(numbers):
            raise FormatError(f"{self.path}: directory: a section is listed twice")
        return directory

    def _segment(self, txn: Any, record: SegmentRecord, verify: bool) -> Segment:
        """Return a segment over the map.

        A value of a page or more stays in its place as long as some state that is being read has it; smaller ones share
        pages, which are copied when others of them change, so these are copied here.
        """

        def read(section: Section) -> npt.NDArray[np.uint8]:
            data = txn.get(_name(section.where)) if section.nbytes else b""
            if data is None or len(data) != section.nbytes:
                raise FormatError(f"section {section.where} is missing or cut")
            return np.frombuffer(data if len(data) > self._page else bytes(data), np.uint8)

        try:
            return open_segment(self._unpacked(txn), record, read, verify)
        except FormatError as error:
            raise FormatError(f"{self.path}: {error}") from None

    @property
    def kind(self) -> str | None:
        """What the keys are: "int" or "str"; None while there are none."""
        return self._read(lambda _, segments: segments[0].kind if segments else None)

    def check_kind(self, kind: str) -> None:
        check_kind(kind, self.kind)

    def __len__(self) -> int:
        return self._read(lambda _, segments: sum(map(len, segments)))

    def contains(self, keys: Column) -> BoolArray:
        return self._read(lambda directory, segments: _as_one(directory, segments).contains(keys))

    def query(self, signatures: UInt64Array, *, least: int | None, threads: int) -> Found:
        return self._read(lambda directory, segments: _as_one(directory, segments).query(signatures, least, threads))

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        return self._each(Segment.items)

    def all_keys(self) -> Iterator[Column]:
        return self._each(lambda segment: iter([segment.names_of(segment.tables.rows_in_use())]))

    def _each(self, batches_of: Callable[[Segment], Iterator[Answer]]) -> Iterator[Answer]:
        """Yield the batches of all segments of one state; the store may be closed between two batches."""
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
        def figures(directory: Directory | None, segments: list[Segment]) -> dict[str, int]:
            sections = [section for record in (directory.segments if directory else ()) for section in record.sections]
            return {
                "section bytes": sum(section.nbytes for section in sections),
                "file size": (self._env.info()["last_pgno"] + 1) * self._page,
                "segments": len(segments),
            }

        return self._read(figures)

    def verify(self) -> None:
        with self._gate.reading(), self._errors(), self._begin() as txn:
            directory = self._unpacked(txn)
            segments = [self._segment(txn, record, True) for record in directory.segments]
            try:
                check_segments(segments, directory.parameters)
            except FormatError as error:
                raise FormatError(f"{self.path}: {error}") from None
            last = struct.unpack("<Q", bytes(txn.get(_NEXT) or bytes(8)))[0]
            if any(section.where > last for record in directory.segments for section in record.sections):
                raise FormatError(f"{self.path}: next: a section has a number above {last}")

    # ---- writing ----

    def insert(self, keys: Column, signatures: UInt64Array, on_duplicate: OnDuplicate, *, copy: bool = True) -> int:
        # not copied: they are written before this returns
        return self._write_through(lambda segments: segments.insert(keys, signatures, on_duplicate, copy=False))

    def remove(self, keys: Column) -> None:
        self._write_through(lambda segments: segments.remove(keys))

    def compact(self, progress: Progress | None = None) -> None:
        """Bring the entries together in few segments, without what is removed; LMDB uses the space again.

        Segments that are as large as they may be stay as they are. `progress` is called with ("save", bytes of
        signatures done, bytes in all).
        """
        with self._gate.reading(), self._errors(), self._begin(write=True) as txn:
            directory = self._unpacked(txn)
            p, done = directory.parameters, 0
            groups = _together([self._segment(txn, record, False) for record in directory.segments], _most_rows(p))
            again = [group for group in groups if len(group) > 1 or len(group[0]) < group[0].tables.limit]
            total = 8 * p.num_perm * sum(len(segment) for group in again for segment in group)

            def tell(more: int) -> None:
                nonlocal done
                done += more
                if progress:
                    progress("save", done, total)

            written = [built(p, directory.kind, group, tell) if group in again else group[0] for group in groups]
            self._write(txn, directory, written)

    def _write_through(self, change: Callable[[Segments], Answer]) -> Answer:
        """Change the segments of the newest state, and write what became of them: a transaction."""
        with self._gate.reading(), self._errors(), self._begin(write=True) as txn:
            directory = self._unpacked(txn)
            fixed = [self._segment(txn, record, False) for record in directory.segments]
            segments = Segments(directory.parameters, fixed)
            answer = change(segments)
            kept, new = segments.merged(_most_rows(directory.parameters))
            self._write(txn, directory, [*kept, *([] if new is None else [new])])
            return answer

    def _write(self, txn: Any, directory: Directory, segments: list[Segment]) -> None:
        number = struct.unpack("<Q", bytes(txn.get(_NEXT) or bytes(8)))[0]

        def put(arrays: list[npt.NDArray[Any]]) -> Section:
            nonlocal number
            data = [array.reshape(-1).view(np.uint8) for array in arrays]
            whole = data[0] if len(data) == 1 else np.concatenate([np.empty(0, np.uint8), *data])
            number += 1
            if len(whole):
                txn.put(_name(number), whole.data, append=True)
            return Section(number, len(whole), checksum(whole))

        kind = segments[0].kind if segments else directory.kind
        if kind == "object":
            raise TypeError("keys must be all ints of 64 bits, or all strs, to be kept in LMDB")
        records = tuple(write_segment(segment, put) for segment in segments)
        used = {section.where for record in records for section in record.sections}
        for record in directory.segments:
            for section in record.sections:
                if section.where not in used and section.nbytes:
                    txn.delete(_name(section.where))
        txn.put(_NEXT, struct.pack("<Q", number))
        txn.put(_DIRECTORY, Directory(directory.parameters, kind, records).pack())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the errors of LMDB into those of the operating system, with the path."""
        try:
            yield
        except self._lmdb.MapFullError:
            raise OSError(errno.ENOSPC, "map_size is too small for what is to be stored", self.path) from None
        except (self._lmdb.InvalidError, self._lmdb.CorruptedError, self._lmdb.VersionMismatchError) as error:
            raise FormatError(f"{self.path}: {error}") from None
        except self._lmdb.Error as error:
            raise OSError(errno.EIO, str(error), self.path) from None

    def close(self) -> None:
        with self._gate.writing():
            self._closed = True
            self._opened, self._seen = {}, b""
            if os.getpid() == self._pid:  # LMDB forbids it in a child
                self._env.close()


def _most_rows(parameters: Parameters) -> int:
    """Return how many rows a segment may have."""
    return max(1, MOST_BYTES // (8 * parameters.num_perm))


def _as_one(directory: Directory | None, segments: list[Segment]) -> Segments:
    return Segments(None if directory is None else directory.parameters, segments)


def _together(segments: list[Segment], most: int) -> list[list[Segment]]:
    """Sort segments into groups of at most so many entries, but for segments that have more by themselves."""
    groups: list[list[Segment]] = []
    for segment in sorted(filter(len, segments), key=len):
        if groups and sum(map(len, groups[-1])) + len(segment) <= most:
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _name(number: int) -> bytes:
    return b"s" + struct.pack(">Q", number)
