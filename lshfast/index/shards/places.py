"""Opens the store at any place: a file, a folder of shards, or a URL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lshfast._common.visible import printable
from lshfast.index.shards.store import ShardStore
from lshfast.index.stores.file import FileStore, Mode
from lshfast.index.stores.memory import LockedStore


def store_at(
    path: str | os.PathLike[str], mode: Mode = "r", *, verify: bool | None = None
) -> LockedStore:
    """Open the store at a place."""
    place = os.fsdecode(path)
    if is_remote(place):
        return _store_of_url(place, mode, bool(verify))
    if os.path.isdir(place):
        return ShardStore(place, mode, verify=verify)
    return FileStore(place, mode, verify=verify)


def _store_of_url(url: str, mode: Mode, verify: bool) -> LockedStore:
    # Few programs need it.
    from lshfast.index.shards.range_store import RangeStore

    if mode == "r+":
        raise ValueError(
            f"{printable(url)} is only read: mode must be 'r' or 'c', not 'r+'"
        )
    with _naming(url):
        store = RangeStore(url, mode)
        if verify:
            store.verify()
    return store


@contextmanager
def _naming(url: str) -> Iterator[None]:
    """Add the URL to an error of a file system that names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or url in str(error):
            raise
        raise OSError(f"{printable(url)}: {error}") from error


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return whether a place is a URL, and no path."""
    place = os.fsdecode(path)
    if "://" not in place:
        return False
    # The readers of inputs take 100 ms to import.
    from lshfast._io.sources import is_url

    return is_url(place)


def bytes_at(path: str) -> int:
    """Return the size of an index: a file, a folder of shards, or a URL."""
    if is_remote(path) or os.path.isdir(path):
        store = store_at(path, verify=False)
        try:
            return store.stats()["file size"]
        finally:
            store.abandon()
    return os.path.getsize(path)
