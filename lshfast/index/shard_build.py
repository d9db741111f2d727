"""`ShardBuild`: build an index of shards by tasks, in several processes or on a cluster."""

from __future__ import annotations

import os
from typing import Any

from lshfast._common.progress import Progress
from lshfast.index.index_file import index_on
from lshfast.index.shards.build import (
    build_all,
    build_shard,
    finish_build,
    read_plan,
    start_build,
    task_store,
)
from lshfast.index.stored import StoredIndex


class ShardBuild:
    """Build an index in a folder of shards by tasks, which may run in different processes.

    `start` creates the build. Then tasks insert the entries, each under a number of its own, which
    also gives their order. When all tasks have ended, `build_shard` builds each shard, and `finish`
    lets the folder be the new index; or `build_all` does both. Until then, an index of shards that
    is in the folder keeps its state.

    Each step opens the build by the path of the folder. So on a cluster, tasks and shards are two
    arrays of jobs on a shared file system. A step that was interrupted can be repeated.

    Parameters
    ----------
    path : path
        The folder, in which `start` has created a build.

    Attributes
    ----------
    path : str
    shards : int
        Number of shards.

    Raises
    ------
    FileNotFoundError
        If no build of the folder has been started.
    FormatError
        If the plan of the build is damaged.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures, which opens the folder.

    Notes
    -----
    A task writes its rows to the disk, divided by shard; they need 8 * num_perm bytes each until
    the end of the build. To build a shard, a process needs memory for the tables of its entries:
    about 12 bytes for each band and entry. The rows are mapped. If the build replaces an index of
    shards, its files have the permissions of the `shards.json` of that index.

    Examples
    --------
    >>> import os, tempfile
    >>> from lshfast import LSHIndex
    >>> from lshfast.index import ShardBuild
    >>> texts = ["one two three", "four five six", "one two three"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build = ShardBuild.start(folder, LSHIndex(shingles="word:2"), shards=2)
    ...     for number, text in enumerate(texts):  # each could be a process
    ...         with ShardBuild(folder).task(number) as index:
    ...             _ = index.insert(number, text)
    ...     build.build_all()
    ...     with LSHIndex.open(folder) as index:
    ...         index.query("One two three!")
    [0, 2]
    """

    path: str
    shards: int

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self.shards = read_plan(self.path).record.shards

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        index: StoredIndex,
        shards: int,
        *,
        restart: bool = False,
    ) -> ShardBuild:
        """Create a build of an index with the parameters of another one.

        Parameters
        ----------
        path : path
            The folder: a new one, an empty one, or one with an index of shards, which is replaced
            at the end of the build.
        index : LSHIndex
            The index that determines the parameters, and the action for equal keys
            (`on_duplicate`). Its entries are not inserted.
        shards : int
            Number of shards, in 1..512. Each query searches all shards, so that few large shards
            are faster than many small ones.
        restart : bool, default False
            Whether a build of this folder that has not ended is removed.

        Returns
        -------
        ShardBuild

        Raises
        ------
        TypeError
            If `index` is not an index with a store.
        FileExistsError
            If a build of this folder has not ended and `restart` is false, or the folder has other
            files.

        Examples
        --------
        >>> import tempfile
        >>> from lshfast import LSHIndex
        >>> from lshfast.index import ShardBuild
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     build = ShardBuild.start(folder, LSHIndex(0.9), shards=4)
        ...     build.build_all()
        ...     with LSHIndex.open(folder) as index:
        ...         index.stats().store["shards"]
        4
        """
        if not isinstance(index, StoredIndex):
            raise TypeError(f"index must be an LSHIndex, not {index!r}")
        folder = os.path.abspath(os.fsdecode(path))
        start_build(folder, index.parameters, shards, index.on_duplicate, restart)
        return cls(folder)

    def task(self, number: int) -> Any:
        """Return an index whose insertions are the entries of a task.

        Use it in a with statement: if the block raises an exception, the task has no entries. A
        task that is repeated replaces the entries that it had before.

        Parameters
        ----------
        number : int
            The number of the task, in 0..999,999. If `on_duplicate` is "skip" or "replace", the
            first or last of equal keys is the one of the least or greatest task.

        Returns
        -------
        LSHIndex
            It only inserts and closes. Other methods raise ValueError.

        Examples
        --------
        >>> import tempfile
        >>> from lshfast import LSHIndex
        >>> from lshfast.index import ShardBuild
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     build = ShardBuild.start(folder, LSHIndex(shingles="word:2"), shards=4)
        ...     with build.task(0) as index:
        ...         index.insert(["a", "b"], ["one two three", "four five six"])
        2
        """
        store = task_store(self.path, number)
        try:
            return index_on(store, read_plan(self.path).on_duplicate)
        except BaseException:
            store.abandon()
            raise

    def build_shard(self, shard: int) -> int:
        """Build a shard from the entries of all tasks that have ended.

        Parameters
        ----------
        shard : int
            The number of the shard, in 0..shards - 1.

        Returns
        -------
        int
            The number of its entries.

        Raises
        ------
        ValueError
            If a key occurs twice and `on_duplicate` is "error"; the error names the key.
        FormatError
            If the rows of a task are damaged.
        OSError
            If the shard cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from lshfast import LSHIndex
        >>> from lshfast.index import ShardBuild
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     build = ShardBuild.start(folder, LSHIndex(shingles="word:2"), shards=1)
        ...     with build.task(0) as index:
        ...         _ = index.insert(["a", "b"], ["one two three", "four five six"])
        ...     build.build_shard(0)
        ...     build.finish()
        2
        """
        return build_shard(self.path, shard)

    def finish(self) -> None:
        """Let the folder be the new index, and remove the files of the build.

        Raises
        ------
        FormatError
            If a shard has not been built, or a task ended later and has rows of the shard. The
            error names the shard and the task; build the shard again.
        BlockingIOError
            If a shard of the index before is open for writing elsewhere.

        Examples
        --------
        >>> import tempfile
        >>> from lshfast import LSHIndex
        >>> from lshfast.index import ShardBuild
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     build = ShardBuild.start(folder, LSHIndex(0.9), shards=2)
        ...     _ = [build.build_shard(shard) for shard in range(build.shards)]
        ...     build.finish()
        ...     with LSHIndex.open(folder) as index:
        ...         len(index)
        0
        """
        finish_build(self.path)

    def build_all(
        self, processes: int = 1, *, progress: Progress | None = None
    ) -> None:
        """Build all shards on this machine, and finish the build.

        Parameters
        ----------
        processes : int, default 1
            The most processes; small builds use fewer. As with `multiprocessing`, a script that
            uses several must protect its start with ``if __name__ == "__main__":``.
        progress : callable, optional
            Called with ("save", bytes of the rows done, bytes in total).

        Raises
        ------
        ValueError, OSError, FormatError
            As for `build_shard` and `finish`. The folder keeps its former state.

        Examples
        --------
        >>> import tempfile
        >>> from lshfast import LSHIndex
        >>> from lshfast.index import ShardBuild
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ShardBuild.start(folder, LSHIndex(0.9), shards=2).build_all()
        ...     with LSHIndex.open(folder) as index:
        ...         len(index)
        0
        """
        build_all(self.path, processes, progress)

    def __repr__(self) -> str:
        return f"ShardBuild({self.path!r}, {self.shards} shards)"
