"""The store of an index on a remote file system, which is read by ranges of bytes."""

from __future__ import annotations

import os
from typing import Any, Literal, NoReturn

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.container import named_format
from lshfast._common.private_files import TemporaryFolder
from lshfast._common.threads import ordered_map
from lshfast._common.types import UInt64Array
from lshfast._common.visible import printable
from lshfast._io.sources import opened_url, remote_errors
from lshfast.index.keys import KIND_NAMES, Column
from lshfast.index.shards.blocks import BLOCK_BYTES, BlockCache, RemoteBytes
from lshfast.index.shards.folder import (
    RECORD_NAME,
    FolderRecord,
    check_keys_of,
    check_kinds,
    undo_names,
    unpack_undo,
)
from lshfast.index.shards.range_tables import range_segment
from lshfast.index.shards.store import check_parameters, missing_shard
from lshfast.index.stores.base import Store
from lshfast.index.stores.file import FileStore, check_keys
from lshfast.index.stores.file_format import Directory
from lshfast.index.stores.file_sections import (
    FIRST_SECTION,
    newest_header,
    read_directory,
    unpack_header,
)
from lshfast.index.stores.memory import LockedStore
from lshfast.index.stores.segment import Segment
from lshfast.index.stores.segments import Segments, joined_segments
from lshfast.index.stores.values import (
    CodesRequest,
    Found,
    Neighbors,
    Parameters,
    SearchRequest,
)

CACHE_BYTES = 1 << 28

# Segments that are searched at the same time; most of that time, the blocks are waited for.
MOST_WAITS = 8

_ONLY_READ = "is only read: change the index on a disk, and copy it there"


class RangeStore(LockedStore):
    """Read an index on an object store or another file system of fsspec, by ranges of bytes.

    The index is a folder of shards or one file, and is only read, or changed in memory. A search
    fetches the places of the tables where the queries are, and the signatures of candidates, in
    blocks of 4 kB. A batch of queries fetches its blocks together, so that it needs far fewer
    requests than as many single queries.

    Parameters
    ----------
    url : str
        Such as "s3://bucket/folder".
    mode : {"r", "c"}, default "r"
        With "c", entries can be inserted and removed in memory, and be saved to a file.
    cache_bytes : int, default 2**28
        The most bytes of blocks that are kept in memory. A search needs up to 150 MB more, and the
        memory of its answers.

    Attributes
    ----------
    url : str

    Raises
    ------
    ImportError
        If fsspec, or the package that it needs for this URL, is not installed.
    OSError
        If there is nothing at the URL, or it cannot be read.
    FormatError
        If it is no index, or damaged. Checksums of tables and signatures are not checked, since
        they are not read as a whole; `verify` does that.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures; its method `open` accepts URLs.

    Examples
    --------
    >>> import fsspec
    >>> from lshfast import LSHIndex
    >>> from lshfast.index import RangeStore
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = LSHIndex(shingles="word:2")
    ...     index.insert(["a", "b"], ["one two three", "four five six"])
    ...     index.save(folder, shards=2)
    ...     fsspec.filesystem("memory").put(
    ...         f"{folder}/", "/range-store/", recursive=True
    ...     )
    2
    >>> remote = LSHIndex.on(RangeStore("memory://range-store", cache_bytes=2**24))
    >>> remote.query("One two three!")
    ['a']
    """

    url: str

    def __init__(
        self,
        url: str,
        mode: Literal["r", "c"] = "r",
        *,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        if mode not in ("r", "c"):
            raise ValueError(
                f"{printable(url)} is only read: mode must be 'r' or 'c', not {mode!r}"
            )
        super().__init__()
        self.mode: Literal["r", "c"] = mode
        check_int("cache_bytes", cache_bytes, BLOCK_BYTES)
        self.url = os.fspath(url)
        self._cache = BlockCache(cache_bytes)
        self._system, self._path = opened_url(self.url)
        self._record: FolderRecord | None = None
        self._files = self._opened_files()
        directories = [self._directory(number) for number in range(len(self._files))]
        self.parameters: Parameters | None = check_parameters(
            [
                (file.name, directory.parameters)
                for file, directory in zip(self._files, directories, strict=True)
            ]
        )
        segments = list[Segment]()
        for file, directory in zip(self._files, directories, strict=True):
            with named_format(file.name):
                segments += [
                    range_segment(directory, record, file)
                    for record in directory.segments
                ]
        self._segments = Segments(self.parameters, segments)

    def _opened_files(self) -> list[RemoteBytes]:
        """Return the shards of a folder, or the single file of an index."""
        folder = self._path.rstrip("/")
        self._former_headers = dict[int, bytes]()
        with remote_errors():
            self._system.invalidate_cache()
            try:
                data = self._system.cat_file(f"{folder}/{RECORD_NAME}")
            # Some stores say that what does not exist is not permitted.
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                return [RemoteBytes(self._system, self._path, 0, self._cache)]
        self._record = FolderRecord.unpack(data, f"{self.url}/{RECORD_NAME}")
        self._read_undo_records(folder)
        files = []
        for number, name in enumerate(self._record.names()):
            path = f"{folder}/{name}"
            try:
                files.append(RemoteBytes(self._system, path, number, self._cache))
            except FileNotFoundError:
                raise missing_shard(self.url, name) from None
        return files

    def _read_undo_records(self, folder: str) -> None:
        """Read the headers before commits that had not ended when the folder was copied."""
        assert self._record is not None
        with remote_errors():
            paths = self._system.ls(folder, detail=False)
            names = undo_names(str(path).rpartition("/")[2] for path in paths)
            for name in names:
                data = self._system.cat_file(f"{folder}/{name}")
                headers = unpack_undo(data, f"{self.url}/{name}", self._record)
                self._former_headers.update(headers)

    def _directory(self, number: int) -> Directory:
        file = self._files[number]
        with named_format(file.name):
            header = self._former_headers.get(number)
            if header is None:
                header = newest_header(file.read(0, min(FIRST_SECTION, file.nbytes)))
            return read_directory(unpack_header(header), file.nbytes, file.read)

    # ---- queries ----

    def query(
        self,
        signatures: UInt64Array,
        *,
        least: int | None,
        threads: int,
        most: int | None = None,
    ) -> Found:
        """Find the candidates of each query; several segments are searched at the same time."""

        def answer(segment: Segment) -> Found:
            return Segments(self.parameters, [segment]).query(
                signatures, least, 1, most
            )

        with self.gate.reading():
            segments = self.segments.all
            if len(segments) <= 1:
                return self.segments.query(signatures, least, threads, most)
            waits = min(len(segments), MOST_WAITS)
            return joined_segments(list(ordered_map(answer, segments, waits)))

    def query_one(
        self, signature: UInt64Array, least: int | None
    ) -> tuple[list[Any], list[int] | None]:
        return Store.query_one(self, signature, least)

    # ---- what is refused ----

    def check_writable(self) -> None:
        super().check_writable()
        if self.mode == "r":
            self._refuse(_ONLY_READ)

    def check_keys(self, keys: Column) -> None:
        with self.gate.reading():
            self._check_keys(keys)

    def _check_keys(self, keys: Column) -> None:
        check_keys(keys, self.segments)

    def commit(self, progress: Any = None) -> None:
        self._refuse(_ONLY_READ)

    def compact(self, progress: Any = None) -> None:
        self._refuse(_ONLY_READ)

    def _search(self, search: SearchRequest) -> Neighbors:
        self._refuse("has points, which are not searched by ranges: copy it to a disk")

    def _search_codes(self, search: CodesRequest) -> Neighbors:
        self._refuse("has points, which are not searched by ranges: copy it to a disk")

    def _refuse(self, reason: str) -> NoReturn:
        raise ValueError(f"{printable(self.url)} {reason}")

    # ---- checks and figures ----

    def verify(self) -> None:
        """Check all files as `FileStore.verify` does; each is copied to a temporary file."""
        self.segments  # noqa: B018 (ValueError after `close`)
        kinds = {*KIND_NAMES}
        for number, file in enumerate(self._files):
            with TemporaryFolder() as folder, named_format(file.name):
                path = os.path.join(folder, "shard")
                with remote_errors():
                    self._system.get_file(file.path, path)
                store = FileStore(
                    path, verify=False, header=self._former_headers.get(number)
                )
                try:
                    store.verify()
                    if self._record is not None:
                        check_keys_of(store, "keys", number, self._record.shards)
                        kinds = check_kinds(store.segments.all, "keys", kinds)
                finally:
                    store.abandon()

    def stats(self) -> dict[str, int]:
        figures = super().stats()
        return {
            "shards": len(self._files),
            **figures,
            "file size": sum(file.nbytes for file in self._files),
            "cache size": self._cache.nbytes,
        }

    def bucket_sizes(self) -> tuple[Any, int, float]:
        """Return zeros: to count the buckets, all tables would have to be read."""
        return np.zeros(32, np.int64), 0, 0.0

    def __repr__(self) -> str:
        return f"RangeStore({self.url!r}, {self._size()})"
