"""Tasks as job arrays of Slurm."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from lshfast._common.visible import printable
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.task_order import StageName, is_done

# The size of arrays by Slurm's default, if it cannot be asked.
DEFAULT_ARRAY_SIZE = 1001

# The folder in the work folder for what jobs print.
LOGS = "logs"

# What a process takes beside the memory of its task.
PROCESS_MEGABYTES = 200


# Seconds between looks at a stage that began just now, and after a long time.
LEAST_PAUSE = 0.5
MOST_PAUSE = 10.0

# A file that another machine wrote can be seen so many seconds late.
LATEST = 30.0


class JobFailedError(RuntimeError):
    """A job ended, and its task is not done."""


class SlurmQueue:
    """Run tasks as job arrays, each within the largest size that Slurm takes.

    Parameters
    ----------
    plan : StagePlan
    sbatch : sequence of str
        Further arguments of sbatch, such as ``--partition=long``.
    """

    def __init__(self, plan: StagePlan, sbatch: Sequence[str]) -> None:
        self._plan = plan
        self._sbatch = list(sbatch)
        self._array_size = array_size()

    def run(
        self, stage: StageName, tasks: Sequence[int]
    ) -> Iterator[tuple[int, BaseException | None]]:
        """Submit tasks, and yield what became of each."""
        os.makedirs(os.path.join(self._plan.work, LOGS), mode=0o700, exist_ok=True)
        arrays: dict[int, list[int]] = {}
        for task in tasks:
            arrays.setdefault(task // self._array_size, []).append(task)
        waiting: dict[str, set[int]] = {}
        try:
            for array, numbers in arrays.items():
                job = self._submitted(stage, array * self._array_size, numbers)
                waiting[job] = set(numbers)
            yield from self._ends(stage, waiting)
        finally:
            for job in waiting:
                subprocess.run(["scancel", job], check=False)

    def _ends(
        self, stage: StageName, waiting: dict[str, set[int]]
    ) -> Iterator[tuple[int, BaseException | None]]:
        """Yield the tasks of jobs as they end; jobs whose tasks have ended are left out."""
        pause = LEAST_PAUSE
        ended: dict[str, float] = {}
        while waiting:
            time.sleep(pause)
            pause = min(pause * 1.2, MOST_PAUSE)
            now = time.monotonic()
            running = queued_jobs(waiting)
            for job, tasks in list(waiting.items()):
                for task in sorted(tasks):
                    if is_done(self._plan, stage, task):
                        tasks.remove(task)
                        yield task, None
                if job not in running and tasks:
                    seen = ended.setdefault(job, now)
                    if now - seen >= LATEST or self._says_why(stage, job, tasks):
                        for task in sorted(tasks):
                            reason = self._reason(stage, job, task)
                            yield task, JobFailedError(reason)
                        tasks.clear()
                if not tasks:
                    del waiting[job]

    def _submitted(self, stage: StageName, first: int, tasks: Sequence[int]) -> str:
        """Submit tasks as an array whose numbers count from `first`; return the job's number."""
        program = f"{shlex.quote(sys.executable)} -m lshfast stage {stage}"
        task = f"$((SLURM_ARRAY_TASK_ID + {first}))"
        work = os.path.abspath(self._plan.work)
        # In the name of a folder, % is no pattern of Slurm.
        folder = os.path.join(work, LOGS).replace("%", "%%")
        log = os.path.join(folder, f"{stage}-%A-%a.log")
        megabytes = -(-self._plan.budget.memory // (1 << 20)) + PROCESS_MEGABYTES
        command = [
            "sbatch",
            "--parsable",
            f"--job-name=lshfast-{stage}",
            f"--mem={megabytes}M",
            f"--cpus-per-task={self._plan.engine.threads}",
            *self._sbatch,
            f"--array={ranges([number - first for number in tasks])}",
            f"--output={log}",
            f"--wrap={program} {shlex.quote(work)} --task {task}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise OSError(
                "sbatch was not found: start the run where jobs of Slurm are submitted"
            ) from None
        # JOB or JOB;CLUSTER
        job = done.stdout.partition(";")[0].strip()
        if done.returncode or not job:
            reason = " ".join(done.stderr.split())
            raise ValueError(f"sbatch refused the tasks of {stage}: {reason}")
        return job

    def _log(self, stage: StageName, job: str, task: int) -> str:
        """Return the path of what the job of a task printed."""
        name = f"{stage}-{job}-{task % self._array_size}.log"
        return os.path.join(self._plan.work, LOGS, name)

    def _says_why(self, stage: StageName, job: str, tasks: set[int]) -> bool:
        """Return whether all these jobs printed an error."""
        return all(_last_line(self._log(stage, job, task)) for task in tasks)

    def _reason(self, stage: StageName, job: str, task: int) -> str:
        """Return why a task failed: the last line that its job printed, if there is one."""
        path = self._log(stage, job, task)
        line = _last_line(path)
        if line:
            return f"{line} ({printable(path)})"
        return f"its job {job} ended without a message; Slurm may have stopped it"


def _last_line(path: str) -> str:
    """Return the last line of a log, "" if there is none."""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
        return lines[-1] if lines else ""
    return ""


def queued_jobs(jobs: Iterable[str]) -> set[str]:
    """Return those of some jobs that have not ended; all of them if Slurm does not answer."""
    command = ["squeue", "--noheader", "--format=%A %F", "--me"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return set(jobs)
    return set(done.stdout.split())


def array_size() -> int:
    """Return the largest number of tasks that an array of this cluster may have."""
    try:
        shown = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return DEFAULT_ARRAY_SIZE
    size = re.search(r"^MaxArraySize\s*=\s*(\d+)", shown, re.MULTILINE)
    return DEFAULT_ARRAY_SIZE if size is None else max(1, int(size[1]))


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as Slurm's --array takes them, like 0-3,7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)
