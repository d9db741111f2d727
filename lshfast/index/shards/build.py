"""Builds a folder of shards from the rows of tasks: in this process, in several, or on a cluster.

    start      creates the folder of the build and its plan
    rows       each task writes its rows to one file, divided by shard
    shards     each shard is built from the rows of all tasks, in the order of the tasks; a record
               says from which rows
    finish     if these are the rows of all tasks, the folder of shards gets its new record, and the
               folder of the build is removed

The tasks can run at the same time, each in its own process, and so can the shards.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from typing import NamedTuple

from lshfast._common.atomic_files import at_once, atomic_file
from lshfast._common.checks import check_int
from lshfast._common.container import Manifest
from lshfast._common.errors import FormatError
from lshfast._common.locks import locked
from lshfast._common.progress import Progress
from lshfast._common.visible import printable
from lshfast.index.keys import INTEGERS, RANGES, DuplicateKeyError
from lshfast.index.shards.folder import (
    BUILD_NAME,
    MOST_SHARDS,
    RECORD_NAME,
    FolderRecord,
    is_ours,
    is_shard_folder,
    new_build_id,
    read_record,
    shard_name,
    write_record,
)
from lshfast.index.shards.places import is_remote
from lshfast.index.shards.spool import SpooledRows, SpoolStore
from lshfast.index.stores.base import Store
from lshfast.index.stores.file import FileStore, write_file
from lshfast.index.stores.file_sections import locked_for_replacement
from lshfast.index.stores.segments import Segments
from lshfast.index.stores.values import OnDuplicate, Parameters, check_on_duplicate

PLAN_NAME = "plan.json"
PLAN = Manifest(1, "build parameters")

# The checksums of the rows that a shard was built from, by task.
ROWS_OF_SHARD = Manifest(1, "rows")

MOST_TASKS = 1_000_000

# Bytes of rows for which a further process is started, which takes about half a second.
PROCESS_BYTES = 1 << 27

# The shards that the message about missing rows names.
NAMED_SHARDS = 8

_ROWS_NAME = re.compile("rows-([0-9]{6})")


class BuildPlan(NamedTuple):
    """What all steps of a build know."""

    record: FolderRecord
    on_duplicate: OnDuplicate
    parameters: Parameters


def check_shards(shards: int) -> int:
    """Return a number of shards, or raise an error that names the range."""
    return check_int("shards", shards, 1, MOST_SHARDS)


def check_folder_target(path: str) -> None:
    """Check that shards may be written to a path: a new folder, an empty one, or one of shards.

    Raises
    ------
    OSError
        NotADirectoryError for a file; FileExistsError for a folder with other files; OSError for
        "-", which is standard output in other places.
    ValueError
        If the path is a URL.
    """
    if is_remote(path):
        raise ValueError(
            f"{printable(path)}: shards are built in a local folder, to be copied to this URL"
        )
    if path == "-":
        raise OSError(
            errno.EINVAL,
            "an index of shards is a folder, and not standard output",
            path,
        )
    try:
        other_names = [name for name in os.listdir(path) if not is_ours(name)]
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise NotADirectoryError(
            errno.ENOTDIR, "an index of shards is a folder, and this is a file", path
        ) from None
    if other_names:
        raise FileExistsError(
            errno.EEXIST,
            f"this folder has other files than those of shards, such as {other_names[0]!r}",
            path,
        )


# ---- steps ----


def start_build(
    path: str,
    parameters: Parameters,
    shards: int,
    on_duplicate: OnDuplicate,
    restart: bool,
) -> None:
    """Create the folder of a build."""
    check_shards(shards)
    check_on_duplicate(on_duplicate)
    check_folder_target(path)
    build_path = os.path.join(path, BUILD_NAME)
    if os.path.lexists(build_path):
        if not restart:
            raise FileExistsError(
                errno.EEXIST,
                "a build of this folder has not ended; restart=True removes what it has",
                path,
            )
        shutil.rmtree(build_path)
    _make_folder(path)
    os.mkdir(build_path)
    build = {"shards": shards, "build": new_build_id(), "on_duplicate": on_duplicate}
    _write_record_of_build(path, PLAN_NAME, PLAN.pack(build, asdict(parameters)))


def _make_folder(path: str) -> None:
    """Create a folder unless it exists; a symbolic link is followed."""
    os.makedirs(os.path.realpath(path), exist_ok=True)


def _write_record_of_build(path: str, name: str, data: bytes) -> None:
    record_path = os.path.join(path, BUILD_NAME, name)
    permissions_of = _former_record(path)
    with (
        at_once(),
        atomic_file(record_path, overwrite=True, permissions_of=permissions_of) as file,
    ):
        file.write(data)


def _former_record(path: str) -> str | None:
    """Return the record of the index that is replaced; files of a build get its permissions."""
    return os.path.join(path, RECORD_NAME) if is_shard_folder(path) else None


def read_plan(path: str) -> BuildPlan:
    """Return the plan of the build of a folder."""
    plan_path = os.path.join(path, BUILD_NAME, PLAN_NAME)
    try:
        with open(plan_path, "rb") as file:
            build, values = PLAN.unpack(file.read(), plan_path)
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, "no build of this folder has been started", path
        ) from None
    try:
        record = FolderRecord(build["shards"], build["build"])
        record = FolderRecord.unpack(record.pack(), plan_path)
        on_duplicate = check_on_duplicate(build["on_duplicate"])
        return BuildPlan(record, on_duplicate, Parameters(**values))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{printable(plan_path)}: {error}") from None


def task_store(path: str, task: int) -> SpoolStore:
    """Return the store that takes the rows of a task."""
    check_int("task", task, 0, MOST_TASKS - 1)
    plan = read_plan(path)
    rows_path = os.path.join(path, BUILD_NAME, f"rows-{task:06d}")
    return SpoolStore(
        rows_path, plan.parameters, plan.record.shards, _former_record(path)
    )


def build_shard(path: str, shard: int) -> int:
    """Build a shard from the rows of all tasks, and return the number of its entries."""
    plan = read_plan(path)
    check_int("shard", shard, 0, plan.record.shards - 1)
    shard_path = os.path.join(path, shard_name(plan.record.build, shard))
    if _is_finished(path, plan.record):  # the shard may have changed since
        return _entries_in(shard_path)
    spools = _rows_of_tasks(path, plan)
    kinds = {spool.kind for spool in spools.values() if spool.kind is not None}
    if len(kinds) > 1 and not kinds <= INTEGERS.keys():
        raise TypeError(
            "the keys of an index in files must be all ints of 64 bits, or all strs, in all tasks"
        )
    segments = Segments(plan.parameters)
    for spool in spools.values():
        for keys, rows in spool.rows_of(shard):
            try:
                segments.insert(keys, rows, plan.on_duplicate, copy=False)
            except DuplicateKeyError as error:
                raise ValueError(
                    f"key {error.key!r} occurs twice, in shard {shard} "
                    "(on_duplicate='replace' or 'skip' allows that)"
                ) from None
    kind = segments.kind or next(iter(kinds), "int")
    rows_name = _name_of_rows_record(shard)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(path, BUILD_NAME, rows_name))
    with at_once():
        write_file(
            shard_path,
            plan.parameters,
            kind,
            segments.all,
            permissions_of=_former_record(path),
        )
    sums = _sums_of_rows(spools, shard)
    _write_record_of_build(path, rows_name, ROWS_OF_SHARD.pack(sums))
    return len(segments)


def _name_of_rows_record(shard: int) -> str:
    return f"shard-{shard:05d}.json"


def _rows_of_tasks(path: str, plan: BuildPlan) -> dict[int, SpooledRows]:
    """Return the rows of all tasks that have ended, in the order of the tasks."""
    build_path = os.path.join(path, BUILD_NAME)
    spools = {}
    for name in sorted(os.listdir(build_path)):
        task = _ROWS_NAME.fullmatch(name)
        if task is not None:
            rows_path = os.path.join(build_path, name)
            spools[int(task[1])] = SpooledRows(
                rows_path, plan.parameters, plan.record.shards
            )
    return spools


def _sums_of_rows(spools: dict[int, SpooledRows], shard: int) -> dict[str, int]:
    """Return the checksum of the rows of a shard of each task that has some."""
    sums = {}
    for task, spool in spools.items():
        sum_of_rows = spool.sum_of(shard)
        if sum_of_rows is not None:
            sums[str(task)] = sum_of_rows
    return sums


def _is_finished(path: str, record: FolderRecord) -> bool:
    """Return whether the shards of a build are those of the folder already."""
    try:
        return read_record(path) == record
    except (
        IsADirectoryError,
        FormatError,
    ):  # no record, or a damaged one, which is replaced
        return False


def _entries_in(shard_path: str) -> int:
    store = FileStore(shard_path, verify=False)
    try:
        return len(store)
    finally:
        store.abandon()


def finish_build(path: str) -> None:
    """Let the new shards be those of the folder, and remove the folder of the build."""
    plan = read_plan(path)
    if not _is_finished(path, plan.record):
        _replace_shards(path, plan)
    shutil.rmtree(os.path.join(path, BUILD_NAME), ignore_errors=True)


def _replace_shards(path: str, plan: BuildPlan) -> None:
    """Check the new shards, and let them be those of the folder."""
    _check_rows(path, plan)
    paths_by_kind: dict[str | None, list[str]] = {}
    for name in plan.record.names():
        shard_path = os.path.join(path, name)
        store = FileStore(shard_path, verify=False)
        parameters = store.parameters
        paths_by_kind.setdefault(store.kind, []).append(shard_path)
        store.abandon()
        if parameters != plan.parameters:
            raise FormatError(
                f"{printable(shard_path)}: its parameters are not those of the build"
            )
    if "uint" in paths_by_kind:
        _check_not_negative(paths_by_kind.get("int", []))
    with ExitStack() as stack:
        for former_path in _former_shards(path):
            stack.enter_context(locked_for_replacement(former_path))
        write_record(path, plan.record)


def _check_not_negative(paths: list[str]) -> None:
    """Raise TypeError if a key in some shards is negative: one in another shard is above int64."""
    for path in paths:
        store = FileStore(path, verify=False)
        are_either = all(segment.is_either() for segment in store.segments.all)
        store.abandon()
        if not are_either:
            raise TypeError(
                f"the keys of shards are ints of 64 bits; in all tasks, {RANGES}"
            )


def _check_rows(path: str, plan: BuildPlan) -> None:
    """Raise FormatError if a shard is not built, or a task has written rows since."""
    spools = _rows_of_tasks(path, plan)
    late_tasks = set[int]()
    old_shards = list[int]()
    for shard, name in enumerate(plan.record.names()):
        rows_path = os.path.join(path, BUILD_NAME, _name_of_rows_record(shard))
        try:
            with open(rows_path, "rb") as file:
                (built_sums,) = ROWS_OF_SHARD.unpack(file.read(), rows_path)
        except FileNotFoundError:
            built_sums = None
        if built_sums is None or not os.path.exists(os.path.join(path, name)):
            raise FormatError(f"{printable(path)}: shard {shard} is not built yet")
        sums = _sums_of_rows(spools, shard)
        tasks = [int(task) for task in sums if sums[task] != built_sums.get(task)]
        if tasks:
            late_tasks.update(tasks)
            old_shards.append(shard)
    if old_shards:
        shards = ", ".join(map(str, old_shards[:NAMED_SHARDS]))
        if old_shards[NAMED_SHARDS:]:
            shards += f" and {len(old_shards) - NAMED_SHARDS} more"
        raise FormatError(
            f"{printable(path)}: task {min(late_tasks)} ended after shards were built that lack "
            f"its rows; build these shards again: {shards}"
        )


def _former_shards(path: str) -> list[str]:
    if not is_shard_folder(path):
        return []
    try:
        names = read_record(path).names()
    except FormatError:  # a damaged record is replaced
        return []
    return [os.path.join(path, name) for name in names]


# ---- all shards ----


def build_all(path: str, processes: int, progress: Progress | None = None) -> None:
    """Build all shards in several processes, and finish the build."""
    build_each(path, processes, progress)
    finish_build(path)


def build_each(path: str, processes: int, progress: Progress | None = None) -> None:
    """Build all shards in several processes."""
    shards = read_plan(path).record.shards
    check_int("processes", processes, 1)
    nbytes = _spooled_bytes(path)
    processes = min(processes, shards, 1 + nbytes // PROCESS_BYTES)

    def tell(done: int) -> None:
        # All shards have about as many rows.
        if progress is not None:
            progress("save", nbytes * done // shards, nbytes)

    if processes == 1:
        for shard in range(shards):
            build_shard(path, shard)
            tell(shard + 1)
    else:
        _build_in_processes(path, shards, processes, tell)


def _spooled_bytes(path: str) -> int:
    build_path = os.path.join(path, BUILD_NAME)
    names = filter(_ROWS_NAME.fullmatch, os.listdir(build_path))
    return sum(os.path.getsize(os.path.join(build_path, name)) for name in names)


def _build_in_processes(
    path: str, shards: int, processes: int, tell: Callable[[int], None]
) -> None:
    # Imported here, as they take 20 ms.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        futures = [pool.submit(build_shard, path, shard) for shard in range(shards)]
        for shard, future in enumerate(futures):
            try:
                future.result()
            except BrokenProcessPool:
                raise OSError(
                    f"{printable(path)}: the process that builds shard {shard} or a later one has "
                    "ended: it may need more memory, or more shards"
                ) from None
            tell(shard + 1)
    finally:
        pool.shutdown(cancel_futures=True)


def save_shards(
    path: str | os.PathLike[str],
    parameters: Parameters,
    store: Store,
    shards: int,
    progress: Progress | None = None,
) -> None:
    """Write the entries of a store of any kind to a folder of shards."""
    folder = os.fsdecode(path)
    check_shards(shards)
    check_folder_target(folder)
    with only_build(folder):
        start_build(folder, parameters, shards, "error", restart=True)
        rows = task_store(folder, 0)
        try:
            for keys, signatures in store.items():
                rows.insert(keys, signatures, "error")
        except BaseException:
            rows.abandon()
            raise
        rows.close()
        build_all(folder, 1, progress)


@contextmanager
def only_build(path: str) -> Iterator[None]:
    """Hold the lock of a build in one call, which replaces one that was interrupted.

    If the block raises an error, what the build has written is removed.
    """
    is_new = not os.path.exists(path)
    _make_folder(path)
    lock_path = os.path.join(path, f"{BUILD_NAME}.lock")
    refusal = f"{printable(path)} is being built elsewhere"
    try:
        with locked(lock_path, refusal, remove=True):
            try:
                yield
            except BaseException:
                _remove_build(path)
                raise
    finally:
        if is_new and not os.listdir(path):
            with suppress(OSError):
                os.rmdir(os.path.realpath(path))


def _remove_build(path: str) -> None:
    """Remove the files of a build, except shards that are those of the folder already."""
    with suppress(OSError, FormatError):
        record = read_plan(path).record
        if not _is_finished(path, record):
            for name in record.names():
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(path, name))
    shutil.rmtree(os.path.join(path, BUILD_NAME), ignore_errors=True)
