"""Views of a MinHashLSH in memory with the interface of datasketch's storages: its `keys` and
`hashtables`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, KeysView
from typing import Any, Protocol

from lshfast.datasketch.storage import DictListStorage, DictSetStorage


class Viewed(Protocol):
    """The methods of the entries that a view calls."""

    buffer_size: int
    lock: Any
    numbers: dict[Any, Any]
    released: bool

    def show(self) -> None:
        """Update the dicts, and set the attribute `_dict` of all views until entries change."""

    def release(self) -> None:
        """Replace the store by the dicts, so that they may be changed."""


class _Shown:
    """The dict of a view that must be updated. After the update an attribute of the view hides this
    descriptor.
    """

    def __get__(self, view: DictView | None, owner: type) -> Any:
        if view is None:
            return self
        view._entries.show()
        return view.held


class DictView(DictListStorage):
    """A storage whose dict is updated before it is read, and replaces the store before it is
    changed.

    Parameters
    ----------
    entries : Viewed
    held : defaultdict
        The dict, which `entries` updates.
    """

    _plain: type[DictListStorage] = DictListStorage
    _dict = _Shown()

    held: defaultdict[Any, Any]

    def __init__(self, entries: Viewed, held: defaultdict[Any, Any]) -> None:
        self._entries = entries
        self.held = held

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.keys()))  # other threads may change the dict

    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        with self._entries.lock:
            return super().itemcounts()

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        if not self._entries.released:  # checked here, because it is true for most calls
            self._entries.release()
        self.held[key].extend(vals)

    def remove(self, *keys: Any, **kwargs: Any) -> None:
        if not self._entries.released:
            self._entries.release()
        for key in keys:
            del self.held[key]

    def remove_val(self, key: Any, val: Any, **kwargs: Any) -> None:
        if not self._entries.released:
            self._entries.release()
        (self.held.get(key) or self.get(key)).remove(val)

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

    def has_key(self, key: Any) -> bool:
        return key in self._entries.numbers

    def size(self) -> int:
        return len(self._entries.numbers)

    def keys(self) -> KeysView[Any]:
        return self._entries.numbers.keys()


class BucketView(DictView, DictSetStorage):
    """The buckets of one band of a MinHashLSH in memory, each a set of keys as they are stored."""

    _plain = DictSetStorage

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        if not self._entries.released:
            self._entries.release()
        self.held[key].update(vals)


def storage_of(kind: type[DictListStorage], content: defaultdict[Any, Any]) -> DictListStorage:
    """Return a storage of this class with this content, to unpickle a view."""
    made = kind(None)
    made._dict = content
    return made
