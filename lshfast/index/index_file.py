"""Opens the index in a file of any class, by its first bytes and its parameters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from lshfast.index.lsh_index import LSHIndex
from lshfast.index.memory_index import MemoryIndex, magic_of
from lshfast.index.shards.folder import is_shard_folder
from lshfast.index.shards.places import is_remote, store_at
from lshfast.index.stores.base import Store
from lshfast.index.stores.file import OPEN_FILES_STAY, Mode, check_target
from lshfast.index.stores.file_sections import HEADER, lock_file
from lshfast.index.stores.values import OnDuplicate

if TYPE_CHECKING:
    from lshfast.index.hamming import HammingIndex, TanimotoIndex
    from lshfast.index.neighbors import NearNeighbors
    from lshfast.index.protocol import IndexOfPoints

# The first bytes of the files of all classes.
FAMILY = b"LSHF"

AnyIndex: TypeAlias = Union[LSHIndex, "IndexOfPoints"]


@contextmanager
def any_index(
    path: str,
    mode: Mode = "r",
    on_duplicate: OnDuplicate = "error",
    verify: bool | None = None,
) -> Iterator[AnyIndex]:
    """Open the index in a file, of texts, sets, vectors or codes, without writing at the end.

    Parameters
    ----------
    path : path
    mode : {"r", "r+", "c"}
        As for `FileStore`. An index of codes is read into memory, and with "r+" its file is locked.
    on_duplicate : {"error", "replace", "skip"}
    verify : bool, optional
        As for `LSHIndex.open`. A file of codes is always checked as a whole.

    Raises
    ------
    OSError
        If the file cannot be read, or another process has it open for writing.
    FormatError
        If the file is not such an index, or damaged.
    """
    codes = _class_of_codes(path)
    if codes is not None:
        with _locked(path, mode):
            yield codes.open(path, on_duplicate=on_duplicate)
        return
    store = store_at(path, mode, verify=verify)
    try:
        yield index_on(store, on_duplicate)
    finally:
        store.abandon()


def is_index(path: str) -> bool:
    """Return whether a file is an index of any class, by its first bytes, or a folder of shards."""
    if is_shard_folder(path):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(len(FAMILY)) == FAMILY
    except OSError:
        return False


def check_index_target(path: str, overwrite: bool, kind: type[Any]) -> None:
    """Check that a new index of a class may be written to a path; see `check_target`."""
    magic = magic_of(kind) if issubclass(kind, MemoryIndex) else HEADER.magic
    check_target(path, overwrite, magic)


def _class_of_codes(path: str) -> type[HammingIndex] | type[TanimotoIndex] | None:
    """Return the class of an index of codes, None for other files."""
    if is_remote(path) or os.path.isdir(path):
        return None
    with open(path, "rb") as file:
        head = file.read(len(HEADER.magic))
    if head == HEADER.magic:
        return None
    from lshfast.index.hamming import HammingIndex, TanimotoIndex

    return next(
        (
            index_class
            for index_class in (HammingIndex, TanimotoIndex)
            if magic_of(index_class) == head
        ),
        None,
    )


def index_on(store: Store, on_duplicate: OnDuplicate) -> LSHIndex | NearNeighbors:
    """Return the index whose entries are in a store."""
    # Only points have a measure.
    if store.parameters is not None and store.parameters.measure:
        from lshfast.families.family import family_of
        from lshfast.index.neighbors import NearNeighbors
        from lshfast.index.neighbors.plan import NeighborsPlan

        if isinstance(family_of(store.parameters.family), NeighborsPlan):
            return NearNeighbors.on(store, on_duplicate=on_duplicate)
    return LSHIndex.on(store, on_duplicate=on_duplicate)


@contextmanager
def _locked(path: str, mode: Mode) -> Iterator[None]:
    """Hold the lock of a file that is to be replaced; on Windows, open files cannot be replaced."""
    if mode != "r+" or OPEN_FILES_STAY:
        yield
        return
    with open(os.fspath(path), "r+b", buffering=0) as file:
        lock_file(file, path)
        yield
