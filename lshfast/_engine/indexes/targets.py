"""Where a new index is written: a file, or a folder of shards."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from lshfast._common.progress import Progress
from lshfast._common.threads import thread_count
from lshfast._common.visible import printable
from lshfast._engine.frame import Job
from lshfast._engine.indexes.items import ItemIndex
from lshfast._io import check_place

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex


class FileTarget:
    """A file.

    Parameters
    ----------
    path : path
    overwrite : bool
        Whether an existing one is replaced.
    """

    def __init__(self, path: str, overwrite: bool) -> None:
        self.path: str = path
        self.overwrite: bool = overwrite

    def check(self, inputs: Iterable[str], index_class: type[Any]) -> None:
        """Raise OSError or ValueError if the index may not be written here."""
        from lshfast.index.index_file import check_index_target

        check_place(self.path, inputs, self.overwrite)
        check_index_target(self.path, self.overwrite, index_class)

    def exists(self) -> bool:
        """Return whether there is something that the index replaces."""
        return os.path.exists(self.path)

    @contextmanager
    def filling(self, index: Any) -> Iterator[Any]:
        """Yield the index into which rows are inserted; it is `written` in the block."""
        yield index

    def written(self, index: Any, job: Job, progress: Progress | None) -> Any:
        """Write the index and the rejected rows; return the index for the account."""
        with job.writing("save"):
            job.write_rejects()
            index.save(self.path, overwrite=self.overwrite, progress=progress)
        return index


class ShardTarget(FileTarget):
    """A folder of shards, which are built in several processes.

    Parameters
    ----------
    path, overwrite
        As for `FileTarget`.
    shards : int
    threads : int or None
        The number of processes.
    """

    def __init__(
        self, path: str, overwrite: bool, shards: int, threads: int | None
    ) -> None:
        from lshfast.index.shards.build import check_shards

        super().__init__(path, overwrite)
        self._shards = check_shards(shards)
        self._processes = thread_count(threads)
        self._stack = ExitStack()  # what `filling` closes

    def check(self, inputs: Iterable[str], index_class: type[Any]) -> None:
        from lshfast.index.lsh_index import LSHIndex
        from lshfast.index.shards.build import check_folder_target
        from lshfast.index.shards.folder import is_shard_folder

        if not issubclass(index_class, LSHIndex):
            raise ValueError(
                "shards are for texts and sets, whose index is planned before the rows are read: "
                f"leave out shards ({self._shards})"
            )
        check_folder_target(self.path)
        if is_shard_folder(self.path) and not self.overwrite:
            raise FileExistsError(
                f"{printable(self.path)}: the output exists already; overwrite=True replaces it"
            )
        if not os.path.isdir(self.path):
            check_place(self.path, inputs, self.overwrite)

    def exists(self) -> bool:
        from lshfast.index.shards.folder import is_shard_folder

        return is_shard_folder(self.path)

    @contextmanager
    def filling(self, index: Any) -> Iterator[Any]:
        from lshfast.index.lsh_index import LSHIndex
        from lshfast.index.shards.build import only_build, start_build, task_store

        signatures = _signatures_in(index)
        with only_build(self.path), ExitStack() as self._stack:
            start_build(
                self.path,
                signatures.parameters,
                self._shards,
                index.on_duplicate,
                restart=True,
            )
            store = task_store(self.path, 0)
            self._stack.callback(store.abandon)
            stored_index = LSHIndex.on(store, on_duplicate=index.on_duplicate)
            yield (
                replace(index, index=stored_index)
                if isinstance(index, ItemIndex)
                else stored_index
            )

    def written(self, index: Any, job: Job, progress: Progress | None) -> Any:
        from lshfast.index.lsh_index import LSHIndex
        from lshfast.index.shards.build import build_each, finish_build
        from lshfast.index.shards.store import ShardStore

        with job.clock.stage("save"):
            _signatures_in(index).close()
            build_each(self.path, self._processes, progress)
        with job.writing():
            job.write_rejects()
        finish_build(self.path)
        store = ShardStore(self.path, verify=False)
        self._stack.callback(store.abandon)
        return LSHIndex.on(store, on_duplicate=index.on_duplicate)


def _signatures_in(index: Any) -> LSHIndex:
    """Return the index of signatures that an index is, or holds."""
    return cast("LSHIndex", getattr(index, "index", index))
