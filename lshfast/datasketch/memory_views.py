"""The storages `keys` and `hashtables` of a MinHashLSH in memory, as views of its entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, KeysView
from typing import Any, Protocol

from lshfast.datasketch.storage import DictListStorage, DictSetStorage

# The names of the buckets of each key, then for each band the keys of each bucket.
Dicts = list[defaultdict[Any, Any]]


class Viewed(Protocol):
    """The entries of a view; `dicts` is None if the dicts must be built before they are read."""

    buffer_size: int
    lock: Any
    numbers: dict[Any, Any]
    dicts: Dicts | None
    stored: Any
    unread_changes: int

    def show(self) -> Dicts:
        """Return the dicts; build them if necessary."""

    def release(self) -> None:
        """Replace the store by the dicts, so that they may be changed."""


class DictView(DictListStorage):
    """A storage whose dict is built before it is read, and replaces the store if it is changed."""

    _plain: type[DictListStorage] = DictListStorage

    def __init__(self, entries: Viewed, place: int) -> None:
        self._entries = entries
        self._place = place

    @property
    def _dict(self) -> defaultdict[Any, Any]:  # type: ignore[override]
        entries = self._entries
        entries.unread_changes = 0
        dicts = entries.dicts
        if dicts is None:
            dicts = entries.show()
        return dicts[self._place]

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.keys()))  # other threads may change the dict

    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        with self._entries.lock:
            return super().itemcounts()

    def _changeable_dict(self) -> Any:
        entries = self._entries
        if entries.stored is None:
            entries.release()
        return self._dict

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        self._changeable_dict()[key].extend(vals)

    def remove(self, *keys: Any, **kwargs: Any) -> None:
        content = self._changeable_dict()
        for key in keys:
            del content[key]

    def remove_val(self, key: Any, val: Any, **kwargs: Any) -> None:
        (self._changeable_dict().get(key) or self.get(key)).remove(val)

    @property
    def buffer_size(self) -> int:
        """The number of pending changes of the index at which they are sent."""
        return self._entries.buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._entries.buffer_size = value

    def __reduce__(self) -> Any:
        return storage_of, (self._plain, self._dict)


class KeyView(DictView):
    """The keys of a MinHashLSH in memory, as they are stored, and the names of the buckets of each.

    Methods that do not need names of buckets do not use the dict.
    """

    def __init__(self, entries: Viewed) -> None:
        super().__init__(entries, 0)

    def has_key(self, key: Any) -> bool:
        return key in self._entries.numbers

    def size(self) -> int:
        return len(self._entries.numbers)

    def keys(self) -> KeysView[Any]:
        return self._entries.numbers.keys()


class BucketView(DictView, DictSetStorage):
    """The buckets of one band of a MinHashLSH in memory, each a set of keys as they are stored."""

    _plain = DictSetStorage

    def __init__(self, entries: Viewed, band: int) -> None:
        super().__init__(entries, 1 + band)

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        self._changeable_dict()[key].update(vals)


def storage_of(
    kind: type[DictListStorage], content: defaultdict[Any, Any]
) -> DictListStorage:
    """Return a storage of this class with this content, to unpickle a view."""
    storage = kind(None)
    storage._dict = content
    return storage
