"""Plan a run in stages, run its tasks, and tell which of them are done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from lshfast._common.checks import check_bytes, check_int
from lshfast._common.choices import PairMeasure
from lshfast._common.progress import Progress
from lshfast._engine.account.report import Summary
from lshfast._engine.indexes.run_indexes import (
    OF_INDEX,
    against_of,
    plan_of_items,
    refuse_index_with_texts,
)
from lshfast._engine.inputs import Inputs
from lshfast._engine.kinds import item_kind
from lshfast._engine.options.declared import OPTIONS
from lshfast._engine.options.rules import options_of, takes_options
from lshfast._engine.pages.run_pages import PageOutput
from lshfast._engine.pairs.listed import check_listing
from lshfast._engine.plan import Grouping, Plan, check_bands_only
from lshfast.shingling import Unit
from lshfast.stages.execution import ExecutorName, executor_of, run_plan
from lshfast.stages.page import write_page_of_run
from lshfast.stages.planning import check_local_places, make_stage_plan
from lshfast.stages.stage_plan import MOST_SHARDS, read_stage_plan
from lshfast.stages.stages_status import StagesStatus, status_of, watch_tasks
from lshfast.stages.task_order import StageName, run_task, tasks_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lshfast._engine.options.types import StageOptions

FilePath: TypeAlias = str | os.PathLike[str]

DEFAULT_MEMORY = 2 << 30
MOST_RETRIES = 100
EXECUTORS: tuple[ExecutorName, ...] = get_args(ExecutorName)


@takes_options("stages.plan")
def plan(
    inputs: FilePath | Iterable[FilePath],
    work: FilePath,
    output: FilePath,
    *,
    shards: int | None = None,
    tasks: int | None = None,
    memory: int | str = DEFAULT_MEMORY,
    pairs: FilePath | None = None,
    removed: FilePath | None = None,
    rejected: FilePath | None = None,
    column: str | Sequence[str] = "text",
    id_column: str | None = None,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    exact: bool | None = None,
    groups: Grouping = "star",
    measure: PairMeasure | None = None,
    keep: str = "first",
    threads: int | None = 1,
    **options: Unpack[StageOptions],
) -> None:
    """Plan a deduplication of files as tasks of separate processes, which share a file system.

    The plan is the file plan.json in the work folder. It holds secret keys, so only the user can
    read it. `run` runs a task of it.

    Parameters
    ----------
    inputs : path or iterable of paths
        Files that every task can open under the same path or URL, of any formats; folders and
        patterns as for `lshfast.dedup_files`.
    work : path
        The folder for the plan and for the files of the tasks, on the shared file system: new or
        empty.
    output : path
        The folder for the rows that are kept, new or empty: a file for each shard, 00000.jsonl,
        .... The name of the folder determines format and compression, as for the output of
        `lshfast.dedup_files`: kept.csv, kept.jsonl.gz. Without a suffix, the files have the format
        of the inputs, and are JSON Lines if these have several. The other folders are named in the
        same way.
    shards : int, optional
        The number of portions of the inputs, in 1..2**20. A shard has whole files, or a part of a
        large one: of JSON Lines or one text a line in UTF-8 that are not compressed, or of Parquet.
        If no file can be divided, there are at most as many shards as files. By default a shard has
        about a gigabyte, or more, so that there are at most 4,096.
    tasks : int, optional
        The number of tasks of the stages join and verify, in 1..2**20. By default the number of
        shards.
    memory : int or str, default 2**31
        Bytes that a task may take, or like "4G". Rows that are too long for it are bad rows. The
        stage group takes more if very many rows share buckets; docs/how-to/stages.md has the bytes
        of a row.
    pairs : path, optional
        A folder for tables of all similar pairs (key_i, key_j, similarity), a file for each verify
        task; new or empty. In a file, the pairs are in the order of their rows, first key_i, then
        key_j; a pair is in one file.
    ignore_common : float, optional
        As for `lshfast.dedup`. The stages count and recount have tasks then; each reads the inputs
        once more.
    top, most : optional
        Which pairs are written to `pairs`, as for `lshfast.pairs`.
    removed : path, optional
        A folder for tables of the removed rows (key, kept_key, similarity), a file for each shard,
        with the options of the run as for `lshfast.dedup_files`; new or empty.
    rejected : path, optional
        A folder for tables of bad rows, which are skipped then. Without it, a bad row is an error.
    column, id_column
        As for `lshfast.dedup_files`.
    threshold, unit, size, groups, measure
        As for `lshfast.dedup`.
    exact : bool, optional
        The tasks have no exact join. So True is an error, and measure="containment" needs False:
        bands then find the pairs, and miss most pairs of very different lengths.
    against : path or sequence of paths, optional
        Earlier rows, as for `lshfast.dedup_files`: an index, which every task of sketch opens, or
        files of texts, of which each is read by further tasks. They must stay as they are until
        these are done. Options that an index stores, and that are not the defaults here, must be as
        in the index.
    by, max_removed : optional
        As for `lshfast.dedup_files`. If too many rows would be removed, the tasks of the stage
        apply raise `TooManyRemovedError`, and write nothing; `pairs` have been written by then.
    keep, annotate
        As for `lshfast.dedup_files`. With `annotate`, `output` has all rows.
    threads : int or None, default 1
        The threads of a task; None for the CPUs that this process may use.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or a folder is not empty.
    DataError
        If an input cannot be read.
    OSError
        If a folder or the plan cannot be written.

    See Also
    --------
    lshfast.stages.run : Run a task.
    lshfast.stages.status : Which tasks are done.
    lshfast.dedup_files : Remove near-duplicate rows of files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lshfast import stages
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for number, text in enumerate(
    ...     ["a rose is a rose", "A rose is a rose!", "is it?"]
    ... ):
    ...     _ = (folder / f"{number}.jsonl").write_text(f'{{"text": "{text}"}}\\n')
    >>> stages.plan(folder, folder / "work", folder / "kept", shards=3, size=2)
    >>> for stage in stages.STAGES:
    ...     for task in range(stages.tasks(folder / "work", stage)):
    ...         _ = stages.run(folder / "work", stage, task)
    >>> [path.read_text() for path in sorted((folder / "kept").iterdir())]
    ['{"text": "a rose is a rose"}\\n', '', '{"text": "is it?"}\\n']
    >>> stages.status(folder / "work").summary.removed
    1
    """
    record = options_of("stages.plan", locals(), options)
    if record.top is not None or record.most is not None:
        check_listing(pairs)
    # Before inputs and the index are opened, which may be at a server.
    outputs = [_path(place) for place in (output, pairs, removed, rejected)]
    check_local_places(os.fspath(work), outputs, _paths(record.against or []))
    source = Inputs.of(_paths(inputs), record)
    # The signature has values where other functions have None: they are not those of the user.
    given = [name for name in OF_INDEX if record[name] != OPTIONS[name].default]
    engine = cast(Plan, plan_of_items(source, record, given))
    if not item_kind(engine.kind).in_parts:
        raise ValueError(
            f"a run in stages is for texts and sets, and {record.column!r} has items of kind "
            f"{engine.kind}"
        )
    check_bands_only(engine, "stages")
    against = against_of(record, source)
    refuse_index_with_texts(against, "a run in stages")
    make_stage_plan(
        source,
        os.fspath(work),
        os.fspath(output),
        engine,
        keep=keep,
        annotate=record.annotate,
        output_kind=record.output_format,
        defuse=record.defuse_formulas,
        shards=None if shards is None else check_int("shards", shards, 1, MOST_SHARDS),
        tasks=None if tasks is None else check_int("tasks", tasks, 1, MOST_SHARDS),
        memory=check_bytes("memory", memory),
        pairs=_path(pairs),
        removed=_path(removed),
        rejected=_path(rejected),
        max_removed=record.max_removed,
        against=against,
    )


def _path(path: FilePath | None) -> str | None:
    return None if path is None else os.fspath(path)


def _paths(paths: FilePath | Iterable[FilePath]) -> list[str]:
    """Return one path, or several, as strings."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [os.fspath(path) for path in paths]


def tasks(work: FilePath, stage: StageName) -> int:
    """Return the number of tasks of a stage; they are numbered from 0.

    Parameters
    ----------
    work : path
        The work folder of a plan.
    stage : {"count", "recount", "sketch", "band", "join", "group", "collect", "verify", "apply"}

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If there is no such stage, or no plan in the folder.

    See Also
    --------
    lshfast.stages.plan : Plan a run as tasks.
    lshfast.stages.run : Run a task.

    Examples
    --------
    See `plan`.
    """
    return tasks_of(read_stage_plan(os.fspath(work)), stage)


def run(work: FilePath, stage: StageName, task: int | Literal["all"] = "all") -> bool:
    """Run a task; a task that is done already is not repeated.

    A task that was killed can be run again, and two attempts at once do no harm: both write the
    same files, each of which appears complete or not at all.

    Parameters
    ----------
    work : path
        The work folder of a plan.
    stage : {"count", "recount", "sketch", "band", "join", "group", "collect", "verify", "apply"}
        The tasks of a stage need those of the stage before: of sketch and band the task of the same
        number, of the others all tasks.
    task : int or "all", default "all"
        The number of the task. "all" runs all tasks of the stage one after another.

    Returns
    -------
    bool
        False if the task, or all tasks, were done already.

    Raises
    ------
    MissingTasksError
        If tasks of the stage before are not done; the message names them.
    ValueError
        If there is no such task, or no plan.
    DataError
        If an input has changed since the plan was made, or is damaged.
    FormatError
        If a file of another task is damaged or of another plan; the message names it.
    OSError
        If a file cannot be written, for example because the disk is full.
    TooManyRemovedError
        If a task of apply finds that more rows would be removed than `max_removed` of the plan.

    See Also
    --------
    lshfast.stages.plan : Plan a run as tasks.
    lshfast.stages.tasks : The number of tasks of a stage.

    Examples
    --------
    See `plan`.
    """
    stage_plan = read_stage_plan(os.fspath(work))
    count = tasks_of(stage_plan, stage)
    if task != "all":
        return run_task(stage_plan, stage, check_int("task", task, 0, count - 1))
    return any([run_task(stage_plan, stage, number) for number in range(count)])


def run_all(
    work: FilePath,
    *,
    executor: ExecutorName = "processes",
    workers: int | None = None,
    address: str | None = None,
    sbatch: Iterable[str] = (),
    retries: int = 2,
    progress: Progress | None = None,
) -> Summary:
    """Run all tasks of all stages that are not done, and return the figures of the run.

    The tasks of a stage run beside each other, where `executor` has them run. Tasks that fail are
    repeated, unless the input or the plan is wrong. What is done is not repeated, so a run that
    ended early goes on where it ended.

    Parameters
    ----------
    work : path
        The work folder of a plan.
    executor : {"processes", "inline", "slurm", "ray", "dask"}, default "processes"
        "processes" starts processes on this machine, and "inline" runs the tasks one after another
        in this one. "slurm" submits job arrays with `sbatch`, within the largest size that the
        cluster takes; what jobs print is in the folder logs of `work`. "ray" and "dask" use the
        cluster at `address`.
    workers : int, optional
        The processes of "processes"; by default the CPUs that this process may use.
    address : str, optional
        Of the Ray cluster, or of the Dask scheduler. By default the cluster to which this process
        is connected; without one, Ray starts one on this machine.
    sbatch : iterable of str
        Further arguments of sbatch, such as ``"--partition=long"``. Memory and CPUs of a job
        follow from the plan, and can be given here instead.
    retries : int, default 2
        How often a task is repeated that fails, in 0..100.
    progress : callable, optional
        Called with (stage, tasks done, tasks).

    Returns
    -------
    lshfast.Summary
        As of `status`.

    Raises
    ------
    TasksFailedError
        If a task failed in all attempts. The message has the first one, and its error.
    ImportError
        If Ray or Dask is not installed.
    ValueError, DataError, FormatError, OSError, TooManyRemovedError
        As for `run`.

    See Also
    --------
    lshfast.stages.plan : Plan a run as tasks.
    lshfast.stages.run : Run a task.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lshfast import stages
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for number, text in enumerate(
    ...     ["a rose is a rose", "A rose is a rose!", "is it?"]
    ... ):
    ...     _ = (folder / f"{number}.jsonl").write_text(f'{{"text": "{text}"}}\\n')
    >>> stages.plan(folder, folder / "work", folder / "kept", shards=3, size=2)
    >>> stages.run_all(folder / "work", executor="inline").kept
    2
    """
    if executor not in EXECUTORS:
        raise ValueError(
            f"executor must be one of {', '.join(EXECUTORS)}, not {executor!r}"
        )
    if workers is not None:
        check_int("workers", workers, 1)
    check_int("retries", retries, 0, MOST_RETRIES)
    stage_plan = read_stage_plan(os.fspath(work))
    with executor_of(stage_plan, executor, workers, address, list(sbatch)) as run_tasks:
        run_plan(stage_plan, run_tasks, retries, progress)
    summary = status_of(stage_plan).summary
    assert summary is not None
    return summary


def write_page(
    work: FilePath,
    path: FilePath,
    *,
    texts: bool = True,
    command: str = "",
    overwrite: bool = False,
) -> None:
    """Write a page that shows what a run removes and why, once all tasks of verify are done.

    If more rows are removed than `max_removed` of the plan, the page says that no rows were
    written.

    Parameters
    ----------
    work : path
        The work folder of a plan.
    path : path
        The file, named .html.
    texts : bool, default True
        Whether the page shows texts of some rows; these are read from the inputs.
    command : str
        A command that the page names.
    overwrite : bool, default False
        Replace an existing file.

    Raises
    ------
    ImportError
        If jinja2 or rapidfuzz is not installed (``pip install "lshfast[cli]"``).
    ValueError
        If tasks of verify are not done, or the path has another suffix.
    DataError, FormatError, OSError
        As for `run`.

    See Also
    --------
    lshfast.stages.run : Run a task.

    Examples
    --------
    See `plan`.
    """
    write_page_of_run(
        read_stage_plan(os.fspath(work)),
        PageOutput(os.fspath(path), texts, command),
        overwrite,
    )


def watch(work: FilePath, progress: Progress) -> None:
    """Wait until all tasks are done, which other processes run, and report their progress.

    Parameters
    ----------
    work : path
        The work folder of a plan.
    progress : callable
        Called with (stage, tasks done, tasks), every two seconds.

    Raises
    ------
    ValueError
        If there is no plan in the folder.
    FormatError
        If a manifest is damaged or of another plan.

    See Also
    --------
    lshfast.stages.run_all : Run all tasks of a plan.
    lshfast.stages.status : Which tasks are done.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lshfast import stages
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.jsonl").write_text('{"text": "a"}\\n')
    >>> stages.plan(folder / "in.jsonl", folder / "work", folder / "kept")
    >>> _ = stages.run_all(folder / "work", executor="inline")
    >>> stages.watch(folder / "work", lambda stage, done, tasks: None)
    """
    watch_tasks(read_stage_plan(os.fspath(work)), progress)


def status(work: FilePath) -> StagesStatus:
    """Return which tasks are done.

    Parameters
    ----------
    work : path
        The work folder of a plan.

    Returns
    -------
    StagesStatus

    Raises
    ------
    ValueError
        If there is no plan in the folder.
    FormatError
        If a manifest is damaged or of another plan.

    See Also
    --------
    lshfast.stages.plan : Plan a run as tasks.
    lshfast.stages.tasks : The number of tasks of a stage.

    Examples
    --------
    See `plan`.
    """
    return status_of(read_stage_plan(os.fspath(work)))
