"""`StoredIndex`: the base class of indexes whose entries are in a store."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, TypeVar

from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray
from lshfast.index.index_stats import bytes_of
from lshfast.index.keys import Column, KeyedEntries, as_column, listed
from lshfast.index.shards.places import store_at
from lshfast.index.stores.base import Store
from lshfast.index.stores.file import Mode, save_store
from lshfast.index.stores.values import OnDuplicate, Parameters

AnIndex = TypeVar("AnIndex", bound="StoredIndex")


class StoredIndex(KeyedEntries):
    """Base class of indexes whose entries are in a store.

    Attributes
    ----------
    store : Store
    parameters : Parameters
    on_duplicate : {"error", "replace", "skip"}
    """

    store: Store
    parameters: Parameters
    on_duplicate: OnDuplicate

    @abstractmethod
    def _use_store(self, store: Store, on_duplicate: OnDuplicate) -> None:
        """Set the attributes by the parameters of a store."""

    @classmethod
    def on(
        cls: type[AnIndex], store: Store, *, on_duplicate: OnDuplicate = "error"
    ) -> AnIndex:
        """Open an index on the entries and parameters of a store.

        Parameters
        ----------
        store : Store
        on_duplicate : {"error", "replace", "skip"}, default "error"

        Returns
        -------
        LSHIndex or NearNeighbors

        Raises
        ------
        TypeError
            If `store` is not a Store.
        ValueError
            If `store` has no parameters yet.

        Examples
        --------
        >>> from lshfast import LSHIndex, MinHasher, TokenSets
        >>> index = LSHIndex(0.9)
        >>> index.insert("a", MinHasher().sketch(TokenSets.from_sets([["x"]]))[0])
        1
        >>> list(LSHIndex.on(index.store))
        ['a']
        """
        index = cls.__new__(cls)
        index._use_store(store, on_duplicate)
        return index

    @classmethod
    def open(
        cls: type[AnIndex],
        path: str | os.PathLike[str],
        mode: Mode = "r",
        *,
        on_duplicate: OnDuplicate = "error",
        verify: bool | None = None,
    ) -> AnIndex:
        """Open a saved index; the file is mapped, so any size opens in milliseconds.

        Parameters
        ----------
        path : path
            A file, or a folder of shards. Or the URL of one of these on an object store, or another
            file system of fsspec, which is only read, by ranges of bytes (see `RangeStore`).
        mode : {"r", "r+", "c"}, default "r"
            "r" only reads. "r+" also inserts and removes; `commit` and `close` write the changes to
            the file. Only one process can open a file with "r+" at a time; readers continue to see
            the state that they opened. "c" inserts and removes in memory only; `save` writes the
            index to another file.
        on_duplicate : {"error", "replace", "skip"}, default "error"
        verify : bool, optional
            True checks everything that the method `verify` checks, except that one of the two
            headers may be damaged, as after a power failure. This reads the whole file and computes
            the bands of each row again, to compare them with the tables. It takes 6 to 10 times as
            long as checking the checksums, about 3 s for a million entries of 128 slots. Use it for
            files from sources that you do not trust. False checks only the directory, and each
            reference when it is used; the time does not depend on the size of the file. The default
            also checks the checksums of all sections in files of at most 64 MB.

        Returns
        -------
        LSHIndex or NearNeighbors

        Raises
        ------
        OSError
            If the file cannot be opened, or is open for writing elsewhere.
        FormatError
            If the file is not an index, has another version, or is damaged; the error names the
            section.
        ValueError
            If the family of the file is not known (define its class first), or the file is of
            `NearNeighbors`.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a"], ["the cat sat on the mat"])
        1
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     index.save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh")) as saved:
        ...         saved.query("the cat sat on the mat")
        ['a']
        """
        store = store_at(path, mode, verify=verify)
        try:
            return cls.on(store, on_duplicate=on_duplicate)
        except ValueError as error:
            store.abandon()
            raise ValueError(f"{os.fspath(path)}: {error}") from None
        except BaseException:
            store.abandon()
            raise

    def _remove(self, keys: Column) -> None:
        self.store.remove(keys)

    def _remove_one(self, key: Any) -> None:
        self.store.remove_one(key)

    def __len__(self) -> int:
        return len(self.store)

    @property
    def nbytes(self) -> int:
        """Memory or disk space of the index, in bytes."""
        return bytes_of(self.store.stats())

    def __contains__(self, key: Any) -> bool:
        return self.store.contains_one(key)

    @property
    def key_kind(self) -> str | None:
        return self.store.kind

    def contains(self, keys: Any) -> BoolArray:
        return self.store.contains(as_column(keys))

    def __iter__(self) -> Iterator[Any]:
        for keys in self.store.all_keys():
            yield from listed(keys)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        shards: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write the index to a file, or to a folder of shards, which appears when it is complete.

        If the file exists and is an index, or is empty, it is replaced when the new file is
        complete. The new file has the same permissions. A symbolic link is followed. Processes that
        have the old file open continue to see the old state; on Windows, an open file cannot be
        replaced.

        Parameters
        ----------
        path : path
        overwrite : bool, default False
            Replace also a file that is not an index.
        shards : int, optional
            Write a folder of this many files, in 1..512, to which the entries are distributed by a
            hash of their keys. `open` opens the folder like a file, with the same answers. An index
            of shards in the folder is replaced, and the new files have the permissions of its
            `shards.json`; `overwrite` has no effect.
        progress : callable, optional
            Called from time to time with ("save", bytes done, bytes in total).

        Raises
        ------
        TypeError
            If the keys are neither all ints of 64 bits nor all strs.
        FileExistsError
            If the file exists and is not an index, and `overwrite` is false.
        OSError
            If `path` is a folder, device or pipe, or the file cannot be written or is open for
            writing elsewhere. The old file is unchanged, with one exception: if only the last step
            fails, which syncs the folder, the new file is in place.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex().save(os.path.join(folder, "index.lsh"))
        ...     os.listdir(folder)
        ['index.lsh']
        """
        if shards is not None:
            from lshfast.index.shards.build import save_shards

            save_shards(path, self.parameters, self.store, shards, progress)
            return
        save_store(
            path, self.parameters, self.store, overwrite=overwrite, progress=progress
        )

    def commit(self, *, progress: Progress | None = None) -> None:
        """Write the changes since the last commit to the file; other stores need no commit.

        Parameters
        ----------
        progress : callable, optional
            As for `save`.

        Raises
        ------
        OSError
            If the file cannot be written. The index keeps the changes. The file is in its old
            state; if only the last step fails, which syncs a header, it is in the new state.
        ValueError
            If the index is closed, or its file is not open with mode "r+".

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex(shingles="word:2").save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh"), "r+") as index:
        ...         index.insert("a", "the cat sat on the mat")
        ...         index.commit()
        1
        """
        self.store.commit(progress)

    def write_back(self, path: str, *, progress: Progress | None = None) -> None:
        """Write the changes to the file from which the index was opened."""
        self.commit(progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Rewrite the file or LMDB environment without removed and replaced entries.

        Parameters
        ----------
        progress : callable, optional
            As for `save`.

        Raises
        ------
        OSError
            If the file cannot be written; the index is unchanged. If only the last step fails,
            which syncs the folder, the new file is in place. If the new file cannot be opened, it
            is in place and complete, and the index is closed.
        ValueError
            If the index is closed, or its file is not open with mode "r+".

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex(shingles="word:2").save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh"), "r+") as index:
        ...         index.insert(
        ...             ["a", "b"], ["the cat sat on the mat", "a dog is not a cat"]
        ...         )
        ...         index.remove("a")
        ...         index.compact()
        ...         index.stats().store["segments"]
        2
        1
        """
        self.store.compact(progress)

    def verify(self) -> None:
        """Check the whole file or store: all checksums, and that tables and entries agree.

        Raises
        ------
        FormatError
            If something is damaged; the error names the section.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast import LSHIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     LSHIndex().save(os.path.join(folder, "index.lsh"))
        ...     with LSHIndex.open(os.path.join(folder, "index.lsh")) as index:
        ...         index.verify()
        """
        self.store.verify()

    def close(self) -> None:
        """Commit, and close files and connections.

        Afterwards, queries and changes raise ValueError.

        Use the index in a with statement to close it at the end of the block. If the block raises
        an exception, the index is closed without a commit.

        Raises
        ------
        OSError
            If the commit fails, as for `commit`. The index stays open and keeps the changes.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex()
        >>> index.close()
        >>> len(index)
        Traceback (most recent call last):
        ...
        ValueError: the index is closed
        """
        self.store.close()

    def __enter__(self: AnIndex) -> AnIndex:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self.close()
        else:
            self.store.abandon()


def check_store(store: Store) -> Store:
    """Return the store, or raise TypeError if it is not a Store."""
    if not isinstance(store, Store):
        raise TypeError(
            f"store must be a Store, such as LmdbStore or RedisStore, not {store!r}"
        )
    return store
