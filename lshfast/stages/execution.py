"""All tasks of a plan: they are started, watched, and repeated where they fail."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias

from lshfast._common.errors import DataError, FormatError, TooManyRemovedError
from lshfast._common.extras import optional
from lshfast._common.progress import Progress
from lshfast._common.threads import thread_count
from lshfast._common.visible import printable
from lshfast.stages.slurm import SlurmQueue
from lshfast.stages.stage_plan import StagePlan, read_stage_plan
from lshfast.stages.task_order import STAGES, StageName, is_done, run_task, tasks_of
from lshfast.stages.worker import WorkerProcess

ExecutorName: TypeAlias = Literal["inline", "processes", "slurm", "ray", "dask"]

# What becomes of the tasks of a stage: each with None or its error, in the order of their ends.
Outcomes: TypeAlias = Iterator[tuple[int, BaseException | None]]
RunTasks: TypeAlias = Callable[[StageName, Sequence[int]], Outcomes]

# Errors that a second attempt would meet again.
LASTING_ERRORS = (DataError, FormatError, TooManyRemovedError, ValueError, TypeError)


class TasksFailedError(RuntimeError):
    """Tasks failed more often than they were to be repeated; the message names them.

    What is done stays done: the run goes on where it ended if it is started again.

    See Also
    --------
    lshfast.stages.run_all : Run all tasks of a plan.

    Examples
    --------
    >>> from lshfast import stages
    >>> issubclass(stages.TasksFailedError, RuntimeError)
    True
    """


def run_plan(
    plan: StagePlan,
    run_tasks: RunTasks,
    retries: int,
    progress: Progress | None = None,
) -> None:
    """Run the tasks of all stages that are not done; see `lshfast.stages.run_all`."""
    for stage in STAGES:
        count = tasks_of(plan, stage)
        left = [task for task in range(count) if not is_done(plan, stage, task)]
        done = count - len(left)
        errors: dict[int, BaseException] = {}
        for _ in range(retries + 1):
            if not left:
                break
            errors = {}
            for task, error in run_tasks(stage, left):
                if isinstance(error, LASTING_ERRORS):
                    raise error
                if error is None:
                    done += 1
                else:
                    errors[task] = error
                if progress:
                    progress(stage, done, count)
            left = sorted(errors)
        if errors:
            raise TasksFailedError(_failures(plan, stage, errors, retries))


def _failures(
    plan: StagePlan, stage: StageName, errors: dict[int, BaseException], retries: int
) -> str:
    """Return the message about tasks that failed."""
    task, error = min(errors.items())
    more = f", and {len(errors) - 1} more tasks" if len(errors) > 1 else ""
    reason = str(error) or type(error).__name__
    return (
        f"{printable(plan.work)}: {stage} {task} failed in {retries + 1} attempts{more}: "
        f"{reason}"
    )


@contextmanager
def executor_of(
    plan: StagePlan,
    name: ExecutorName,
    workers: int | None,
    address: str | None,
    sbatch: Sequence[str],
) -> Iterator[RunTasks]:
    """Yield what runs tasks of a stage, by the name of an executor."""
    with ExitStack() as stack:
        if name == "inline":
            yield partial(_inline, plan)
        elif name == "slurm":
            yield SlurmQueue(plan, sbatch).run
        else:
            makers: dict[str, Callable[[], AbstractContextManager[_Submit]]] = {
                "processes": lambda: _processes(plan.work, thread_count(workers)),
                "ray": lambda: _on_ray(plan.work, address),
                "dask": lambda: _on_dask(plan.work, address),
            }
            submit = stack.enter_context(makers[name]())
            yield partial(_submitted, submit)


_Submit: TypeAlias = Callable[[StageName, int], "Future[bool]"]


def _inline(plan: StagePlan, stage: StageName, tasks: Sequence[int]) -> Outcomes:
    """Run tasks in this process, one after another."""
    for task in tasks:
        try:
            run_task(plan, stage, task)
        except (OSError, MemoryError) as error:
            yield task, error
        else:
            yield task, None


def _submitted(submit: _Submit, stage: StageName, tasks: Sequence[int]) -> Outcomes:
    """Run tasks where `submit` has them run."""
    task_of = {submit(stage, task): task for task in tasks}
    for future in as_completed(task_of):
        yield task_of[future], future.exception()


@contextmanager
def _processes(work: str, workers: int) -> Iterator[_Submit]:
    """Run tasks in processes of this machine; a thread waits for each."""
    idle: queue.SimpleQueue[WorkerProcess] = queue.SimpleQueue()

    def run(stage: StageName, task: int) -> bool:
        process = idle.get()
        try:
            return process.run(stage, task)
        finally:
            idle.put(process)

    with ExitStack() as stack:
        # At the end, no further task begins; then the processes end, and the threads that wait.
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        for _ in range(workers):
            idle.put(stack.enter_context(WorkerProcess(work)))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        yield lambda stage, task: pool.submit(run, stage, task)


def run_by_path(work: str, stage: StageName, task: int) -> bool:
    """Run a task of the plan in a folder that this machine sees."""
    return run_task(read_stage_plan(work), stage, task)


@contextmanager
def _on_ray(work: str, address: str | None) -> Iterator[_Submit]:
    """Run tasks on a Ray cluster: the one in use, that at the address, or a new one here."""
    ray = optional("ray", "ray")
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False)
    task_of_ray: Any = ray.remote(max_retries=0)(run_by_path)
    try:
        yield lambda stage, task: task_of_ray.remote(work, stage, task).future()
    finally:
        if started:
            ray.shutdown()


@contextmanager
def _on_dask(work: str, address: str | None) -> Iterator[_Submit]:
    """Run tasks on a Dask cluster: that at the address, or that of the client in use."""
    distributed = optional("distributed", "dask")
    with ExitStack() as stack:
        if address is not None:
            client = stack.enter_context(
                distributed.Client(address, set_as_default=False)
            )
        else:
            try:
                client = distributed.get_client()
            except ValueError:
                raise ValueError(
                    "executor 'dask' needs the address of a scheduler (--address), or a client"
                ) from None
        pool = client.get_executor(pure=False, retries=0)
        yield lambda stage, task: pool.submit(run_by_path, work, stage, task)
