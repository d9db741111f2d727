"""A process that runs tasks for another one: it reads them from its input, and answers each.

It is a fresh interpreter, so a script that starts it needs no guard of its main module, and
a worker that is killed ends no other.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lshfast._common.private_files import TemporaryFolder
from lshfast.stages.stage_plan import read_stage_plan
from lshfast.stages.task_order import StageName, run_task

if TYPE_CHECKING:
    from typing_extensions import Self

# What the interpreter of a worker runs; paths are those of the process that starts it.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from lshfast.stages.worker import serve; serve(sys.argv[1])"
)


class WorkerEndedError(RuntimeError):
    """A process ended while it ran a task."""


def serve(work: str) -> None:
    """Run the tasks that come from standard input, and write what became of each.

    What else is printed goes to standard error.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # An interruption of the terminal reaches all processes; the one that started this decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        stage, number = line.split()
        outcome = _outcome(work, stage, int(number))
        answers.write(outcome)
        answers.flush()


def _outcome(work: str, stage: Any, task: int) -> bytes:
    """Run a task; return whether it was run, or its error, as bytes."""
    try:
        return pickle.dumps(run_task(read_stage_plan(work), stage, task))
    except Exception as error:
        try:
            return pickle.dumps(error)
        except Exception:  # an error of a library that cannot be sent
            return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))


class WorkerProcess:
    """A process that runs tasks one after another; use it as a context manager.

    Its temporary files are in a folder that is removed when it has ended, also if it was killed.

    Parameters
    ----------
    work : str
        The work folder of a plan.
    """

    def __init__(self, work: str) -> None:
        self._work = work
        self._process: subprocess.Popen[bytes] | None = None
        self._temporary: TemporaryFolder | None = None
        self._is_closed = False
        self._in_use = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._in_use:  # the thread that waits for an answer has ended
            self._forget()

    def _forget(self) -> int:
        """Wait for the end of the process, if there is one, and return its status."""
        process = self._process
        self._process = None
        status = 0
        if process is not None:
            with suppress(OSError), process:
                process.communicate()
            status = process.wait()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None
        return status

    def run(self, stage: StageName, task: int) -> bool:
        """Run a task as `run_task` does.

        Raises
        ------
        WorkerEndedError
            If the process ended; the next task gets a new one.
        """
        with self._in_use:
            outcome = self._answer(f"{stage} {task}\n".encode())
        if isinstance(outcome, BaseException):
            raise outcome
        return bool(outcome)

    def _answer(self, question: bytes) -> Any:
        """Send a line to the process, which is started if there is none; return its answer."""
        if self._process is None:
            command = [sys.executable, "-c", _PROGRAM, self._work, *sys.path]
            pipe = subprocess.PIPE
            self._temporary = TemporaryFolder()
            environment = {**os.environ, "TMPDIR": self._temporary.name}
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, env=environment
            )
        process = self._process
        if self._is_closed:
            process.kill()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(question)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise WorkerEndedError(_ending(self._forget())) from None


def _ending(status: int) -> str:
    """Return how a process ended, in words."""
    if status == -signal.SIGKILL:
        return "its process was killed, as the system does where memory runs out"
    if status < 0:
        return f"its process ended by signal {-status}"
    return f"its process ended with status {status}"
