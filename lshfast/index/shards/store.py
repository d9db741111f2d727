"""The store of a folder of shards: their segments are searched and changed as one index.

Each shard is a `FileStore`. The first change of a shard locks its file, so several processes may
change different shards at the same time, and `shards_of` says which keys are in which.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from lshfast._common.errors import FormatError
from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.visible import printable
from lshfast.index.keys import (
    INTEGERS,
    KIND_NAMES,
    Column,
    as_column,
    check_present,
    kind_of,
    listed,
    matched,
    take,
)
from lshfast.index.shards.folder import (
    check_keys_of,
    check_kinds,
    new_undo_name,
    places_by_shard,
    read_record,
    shards_of,
    undo_records,
    write_undo,
)
from lshfast.index.stores.file import (
    VERIFIED_WHEN_OPENED,
    FileStore,
    Mode,
    StoreAtPath,
    check_keys,
)
from lshfast.index.stores.segment import Segment
from lshfast.index.stores.segments import Segments, find_in, names_in
from lshfast.index.stores.values import OnDuplicate, Parameters, places_to_insert

# How often a folder is opened anew because a writer changed it meanwhile.
MOST_ATTEMPTS = 100


@dataclass(eq=False)
class ShardSegments(Segments):
    """The segments of all shards, and the changes of each.

    Parameters
    ----------
    shards : list of Segments
        The segments of each shard.
    """

    shards: list[Segments] = field(default_factory=list)

    @property
    def all(self) -> list[Segment]:
        return [segment for shard in self.shards for segment in shard.all]

    def find(self, keys: Column) -> tuple[Int64Array, Int64Array]:
        kind = kind_of(keys)
        are_integers = kind in INTEGERS and self.kind in INTEGERS
        if kind != self.kind and not are_integers:
            # Keys of other types may equal those here.
            return find_in(self.all, keys)
        where = np.full(len(keys), -1, np.int64)
        rows = np.full(len(keys), -1, np.int64)
        lengths = [0, *(len(shard.all) for shard in self.shards)]
        first_segments = np.cumsum(lengths, dtype=np.int64)
        for number, places in places_by_shard(keys, len(self.shards)):
            segment, row = find_in(self.shards[number].all, take(keys, places))
            where[places] = np.where(segment < 0, -1, segment + first_segments[number])
            rows[places] = row
        return where, rows

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        *,
        copy: bool,
    ) -> int:
        places = places_to_insert(keys, self.find(keys)[1], on_duplicate)
        parts = deque(
            places_by_shard(take(keys, places), len(self.shards), places=places)
        )
        # The keys are distinct now, and new unless they are replaced. So an insertion that an
        # interrupt leaves in the middle can be repeated.
        repeatable: OnDuplicate = "skip" if on_duplicate == "error" else on_duplicate
        try:
            self._insert_parts(keys, signatures, parts, repeatable)
        except KeyboardInterrupt:
            self._insert_parts(keys, signatures, parts, repeatable)
            raise
        return len(places)

    def _insert_parts(
        self,
        keys: Column,
        signatures: UInt64Array,
        parts: deque[tuple[int, Int64Array]],
        on_duplicate: OnDuplicate,
    ) -> None:
        while parts:
            number, places = parts[0]
            self.shards[number].insert(
                take(keys, places), signatures[places], on_duplicate, copy=False
            )
            parts.popleft()

    def remove(self, keys: Column) -> None:
        where, rows = self.find(keys)
        check_present(keys, where)
        stored_keys = listed(names_in(self.all, (where << 32) + rows))
        shard_of_segment = [
            number for number, shard in enumerate(self.shards) for _ in shard.all
        ]
        keys_of_shards: dict[int, dict[Any, None]] = {}
        for segment, key in zip(where.tolist(), stored_keys, strict=True):
            number = shard_of_segment[segment]
            keys_of_shards.setdefault(number, {})[key] = None
        # Those of one shard have one kind, those of several may not: see `check_kinds`.
        parts = deque(
            (number, as_column(shard_keys))
            for number, shard_keys in keys_of_shards.items()
        )
        try:
            self._remove_parts(parts)
        except KeyboardInterrupt:
            self._remove_parts(parts)
            raise

    def _remove_parts(self, parts: deque[tuple[int, Column]]) -> None:
        while parts:
            number, shard_keys = parts[0]
            shard = self.shards[number]
            present_places = np.flatnonzero(shard.contains(shard_keys))
            shard.remove(take(shard_keys, present_places))
            parts.popleft()


class ShardStore(StoreAtPath):
    """Store entries in a folder of shards; changes stay in memory until `commit`.

    A commit of several shards is seen as a whole: other processes open the former state until it
    ends, also if the writer is killed.

    Parameters
    ----------
    path : path
        A folder that `ShardBuild`, or `save` with `shards`, has written.
    mode : {"r", "r+", "c"}
        As for `FileStore`. With "r+", a shard is locked when it is changed first, until the index
        is closed. Other shards can be changed by other processes.
    verify : bool, optional
        As for `LSHIndex.open`. The size is that of all shards together.

    Attributes
    ----------
    path : str
    shards : int
        Number of shards.

    Raises
    ------
    IsADirectoryError
        If the folder has no complete index of shards.
    FormatError
        If a shard is missing or damaged; the error names the shard.

    See Also
    --------
    lshfast.index.ShardBuild : Build a folder by tasks.
    lshfast.LSHIndex : An index of signatures; its method `open` opens folders.

    Examples
    --------
    >>> import tempfile
    >>> from lshfast import LSHIndex
    >>> from lshfast.index import ShardStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     LSHIndex(shingles="word:2").save(folder, shards=4)
    ...     with LSHIndex.on(ShardStore(folder, "r+")) as index:
    ...         index.insert(["a", "b"], ["one two three", "four five six"])
    ...         index.store.shards_of(["a", "b"]).tolist()
    2
    [0, 2]
    """

    shards: int
    _other = "place"

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "r",
        *,
        verify: bool | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be 'r', 'r+' or 'c', not {mode!r}")
        super().__init__()
        self.path: str = os.path.abspath(os.fsdecode(path))
        self.mode: Mode = mode
        self._pid = os.getpid()
        self._undo_name = new_undo_name()
        self._undo_headers = dict[int, bytes]()
        self._stores = self._opened(verify)
        self.shards = len(self._stores)
        try:
            self.parameters: Parameters | None = check_parameters(
                [(store.path, store.segments.bound) for store in self._stores]
            )
            self._gather_segments()
            if verify:
                self._check_shards()
        except BaseException:
            self._release_shards()
            raise

    def _opened(self, verify: bool | None) -> list[FileStore]:
        """Open all shards in one state."""
        for _ in range(MOST_ATTEMPTS):
            self._record = read_record(self.path)
            former_headers = self._former_headers()
            stores = list[FileStore]()
            try:
                self._open_shards(stores, former_headers, verify)
            except BaseException as error:
                _abandon(stores)
                # A shard may have been replaced since its header was read.
                if self._has_changed(former_headers):
                    continue
                if isinstance(error, FileNotFoundError):
                    name = os.path.basename(str(error.filename))
                    raise missing_shard(self.path, name) from None
                if isinstance(error, OSError) and error.errno == errno.EMFILE:
                    raise self._too_many_files() from None
                raise
            if self._is_one_state(stores, former_headers):
                return stores
            _abandon(stores)
        raise BlockingIOError(
            f"{printable(self.path)} is changed by other processes all the time"
        )

    def _too_many_files(self) -> OSError:
        shards = self._record.shards
        return OSError(
            errno.EMFILE,
            f"{shards} shards need up to {2 * shards} open files at the same time, more than this "
            "process may have: raise the limit (ulimit -n)",
            self.path,
        )

    def _open_shards(
        self,
        stores: list[FileStore],
        former_headers: Mapping[int, bytes],
        verify: bool | None,
    ) -> None:
        paths = [os.path.join(self.path, name) for name in self._record.names()]
        if verify is None:
            verify = sum(map(os.path.getsize, paths)) <= VERIFIED_WHEN_OPENED
        mode: Mode = "c" if self.mode == "c" else "r"
        for number, path in enumerate(paths):
            header = former_headers.get(number)
            stores.append(FileStore(path, mode, verify=verify, header=header))

    def _is_one_state(
        self, stores: list[FileStore], former_headers: Mapping[int, bytes]
    ) -> bool:
        """Return whether no commit began or ended since the former headers were read."""
        return not self._has_changed(former_headers) and all(
            store.is_current()
            and (number in former_headers or store.header() == store.opened_header)
            for number, store in enumerate(stores)
        )

    def _has_changed(self, former_headers: Mapping[int, bytes]) -> bool:
        """Return whether the records of the folder are no longer those that were read."""
        return (
            read_record(self.path) != self._record
            or self._former_headers() != former_headers
        )

    def _former_headers(self) -> dict[int, bytes]:
        """Return the headers of shards before commits that have not ended."""
        headers = dict[int, bytes]()
        for record in undo_records(self.path, self._record).values():
            headers.update(record)
        return headers

    def _gather_segments(self) -> None:
        """Search the present segments of all shards from now on."""
        shards = [store.segments for store in self._stores]
        self._segments = ShardSegments(self.parameters, shards=shards)

    # ---- changes ----

    def check_keys(self, keys: Column) -> None:
        with self.gate.reading():
            check_keys(keys, self.segments)

    def _check_keys(self, keys: Column) -> None:
        if kind_of(keys) in KIND_NAMES:  # others are refused, and have no shard
            self._lock_shards_of([keys])
        # The locked shards are in their newest states now.
        check_keys(keys, self.segments)
        self.segments.agree(keys)

    def remove(self, keys: Column) -> None:
        with self.gate.writing():
            self.check_writable()
            if len(keys):
                self._lock_shards_of(self._as_stored(keys))
            self.segments.remove(keys)

    def _as_stored(self, keys: Column) -> list[Column]:
        """Return the keys of each kind that could be here, such as 1 for 1.0."""
        kinds = {segment.kind for segment in self.segments.all}
        if not kinds:
            kinds = {*KIND_NAMES}
        elif not kinds.isdisjoint(INTEGERS):
            kinds.update(INTEGERS)
        columns = list[Column]()
        for kind in kinds:
            names, is_name = matched(keys, kind)
            columns.append(take(names, np.flatnonzero(is_name)))
        return columns

    def shards_of(self, keys: Any) -> Int64Array:
        """Return the number of the shard of each of a batch of keys, int64 (n,).

        Processes that each insert and remove the keys of different shards can write at the same
        time.
        """
        return shards_of(as_column(keys), self.shards)

    def _lock_shards_of(self, columns: list[Column]) -> None:
        """Lock the shards of keys that are about to be inserted or removed."""
        if self.mode == "r+":
            numbers = [shards_of(keys, self.shards) for keys in columns]
            self._lock_shards(np.unique(np.concatenate(numbers)).tolist())

    def _lock_shards(self, numbers: list[int]) -> None:
        """Lock the files of shards, and open their newest states."""
        for number in numbers:
            store = self._stores[number]
            if store.mode == "r+":
                store.check_writable()
                continue
            locked_store = self._locked(store.path)
            try:
                self._undo_commits_of(number, locked_store)
            except BaseException:
                locked_store.abandon()
                raise
            self._stores[number] = locked_store
            store.abandon()
        self._gather_segments()

    def _locked(self, path: str) -> FileStore:
        """Lock a shard, and open its newest state."""
        try:
            return FileStore(path, "r+", verify=False)
        except FileNotFoundError:
            if read_record(self.path) == self._record:
                raise missing_shard(self.path, os.path.basename(path)) from None
            raise BlockingIOError(
                f"{printable(self.path)} has just been replaced elsewhere: open it again"
            ) from None

    def _undo_commits_of(self, number: int, locked_store: FileStore) -> None:
        """Undo the commits of a shard whose writers, which had its lock, did not end them."""
        for name, headers in undo_records(self.path, self._record).items():
            if number not in headers or name == self._undo_name:
                continue
            other_stores = list[FileStore]()
            try:
                for shard, header in headers.items():
                    store = locked_store
                    if shard != number:
                        path = self._stores[shard].path
                        store = FileStore(path, "r+", verify=False)
                        other_stores.append(store)
                    store.restore(header)
                write_undo(self.path, name, self._record.build, {})
            finally:
                _abandon(other_stores)

    def commit(self, progress: Progress | None = None) -> None:
        """Write all changes to the shards, and wait until they are on the disk.

        Raises
        ------
        OSError
            If a shard cannot be written; the error names it. The index keeps the changes, and a
            later commit writes them. Until then, others open the former state of all shards.
        """
        with self.gate.writing():
            self._check_in_place()
            self._commit(progress)

    def _commit(self, progress: Progress | None) -> None:
        changed = [
            number
            for number, store in enumerate(self._stores)
            if store.mode == "r+" and store.is_changed()
        ]
        if len(changed) > 1 or self._undo_headers:
            headers = {number: self._stores[number].header() for number in changed}
            self._undo_headers = {**headers, **self._undo_headers}
            self._write_undo(self._undo_headers)
        try:
            for number in changed:
                self._stores[number].commit(progress)
        finally:
            self._gather_segments()
        if self._undo_headers:
            self._write_undo({})
            self._undo_headers = {}

    def _write_undo(self, headers: Mapping[int, bytes]) -> None:
        write_undo(self.path, self._undo_name, self._record.build, headers)

    def compact(self, progress: Progress | None = None) -> None:
        """Rewrite each shard without removed entries; this commits first.

        Raises
        ------
        OSError
            If a shard is open for writing elsewhere, or cannot be written. Those before it are
            rewritten; no entry has changed.
        """
        with self.gate.writing():
            self._check_in_place()
            self._lock_shards(list(range(self.shards)))
            self._commit(None)
            try:
                for store in self._stores:
                    store.compact(progress)
            finally:
                self._gather_segments()

    # ---- checks and figures ----

    def verify(self) -> None:
        """Check all shards as `FileStore.verify` does, and that their keys can be in one index."""
        with self.gate.reading():
            self.segments  # noqa: B018 (ValueError after `close`)
            for store in self._stores:
                store.verify()
            self._check_shards()

    def check_stored_sums(self) -> None:
        for store in self._stores:
            store.check_stored_sums()

    def _check_shards(self) -> None:
        """Raise FormatError if a shard has a key of another one, or one that others refuse."""
        kinds = {*KIND_NAMES}
        for number, store in enumerate(self._stores):
            check_keys_of(store, store.path, number, self.shards)
            kinds = check_kinds(store.segments.all, store.path, kinds)

    def stats(self) -> dict[str, int]:
        with self.gate.reading():
            return self._figures()

    def _figures(self) -> dict[str, int]:
        figures = {"shards": self.shards}
        self.segments  # noqa: B018 (ValueError after `close`)
        for store in self._stores:
            for name, value in store.figures().items():
                figures[name] = figures.get(name, 0) + value
        return figures

    def __repr__(self) -> str:
        return f"ShardStore({self.path!r}, mode={self.mode!r}, {self._size()})"

    # ---- the end ----

    def close(self) -> None:
        with self.gate.writing():
            if not self.closed and self.mode == "r+" and self._is_owner():
                self._commit(None)
            self._end()

    def abandon(self) -> None:
        """Close the shards without a commit."""
        super().close()

    def _end(self) -> None:
        super()._end()
        self._release_shards()

    def _release_shards(self) -> None:
        _abandon(self._stores)


def _abandon(stores: list[FileStore]) -> None:
    for store in stores:
        store.abandon()


def missing_shard(path: str, name: str) -> FormatError:
    """Return the error that names a shard that is not there."""
    return FormatError(f"{printable(path)}: the shard {printable(name)} is missing")


def check_parameters(stores: list[tuple[str, Parameters]]) -> Parameters:
    """Return the parameters of all shards, or raise FormatError that names one with others."""
    first = stores[0][1]
    for name, parameters in stores[1:]:
        if parameters != first:
            try:
                first.check_same(parameters)
                reason = f"threshold is {first.threshold!r} in the first shard"
            except ValueError as error:
                reason = str(error)
            raise FormatError(f"{printable(name)}: {reason}")
    return first
