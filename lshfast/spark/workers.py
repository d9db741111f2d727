"""The Python workers of a cluster: their interpreter, their lshfast, and their errors.

Workers with another version of lshfast may compute other values. They are looked for before the
first stage, and each task is sent with the version of the driver, so a worker that comes later does
not compute either.
"""

from __future__ import annotations

import os
import pickle
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lshfast._common.code_version import check_code_version, code_version
from lshfast._common.errors import FormatError
from lshfast._common.extras import OptionalModule, optional

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Prepared = TypeVar("Prepared")

pa: Any = OptionalModule("pyarrow", "spark")

# The most tasks of the job that looks for the workers.
MOST_LOOKS = 1000

# The applications of Spark whose workers were found to have this version.
_CHECKED_APPLICATIONS: set[str] = set()


class WorkerTask:
    """A task for the workers; a worker with another version of lshfast refuses it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return received_task, (
            code_version(),
            pickle.dumps((type(self), self.__dict__)),
        )


# What this process has prepared for all its tasks of the last run, by the number of the run.
_PREPARED: dict[int, Any] = {}


def prepared_once(number: int, prepare: Callable[[], Prepared]) -> Prepared:
    """Return what a worker prepares once for all its tasks of a run, which alone has the number."""
    if number not in _PREPARED:
        _PREPARED.clear()
        _PREPARED[number] = prepare()
    prepared: Prepared = _PREPARED[number]
    return prepared


def received_task(version: str, content: bytes) -> Any:
    """Return a task that was sent, or raise FormatError if the sender has another version."""
    try:
        check_code_version(version, DRIVER)
    except FormatError as error:
        raise FormatError(f"{error} (host {platform.node()})") from None
    kind, attributes = pickle.loads(content)
    task = kind.__new__(kind)
    task.__dict__.update(attributes)
    return task


DRIVER = "the driver of the run"


class Worker(NamedTuple):
    """What a worker says of itself."""

    host: str
    interpreter: str
    version: str | None  # None if lshfast cannot be imported
    reason: str


@contextmanager
def local_interpreter(session: SparkSession) -> Iterator[None]:
    """Let local workers run this interpreter in the block, unless PYSPARK_PYTHON is set.

    Spark would start the python3 of PATH, which has no lshfast where the environment is not
    activated.
    """
    context: Any = getattr(
        session, "sparkContext", None
    )  # there is none with Spark Connect
    if (
        context is None
        or not context.master.startswith("local")
        or "PYSPARK_PYTHON" in os.environ
    ):
        yield
        return
    before = context.pythonExec
    context.pythonExec = context.getConf().get("spark.pyspark.python", sys.executable)
    try:
        yield
    finally:
        context.pythonExec = before


def check_workers(session: SparkSession) -> None:
    """Run a small job that asks the workers for their lshfast, once an application.

    Raises
    ------
    ImportError
        If a worker cannot start, or cannot import lshfast; the message says which interpreter it
        runs, and on which machine.
    FormatError
        If a worker has another version.
    """
    context: Any = getattr(session, "sparkContext", None)
    if context is None or context.applicationId in _CHECKED_APPLICATIONS:
        return

    def describe(_: Iterable[int]) -> Iterator[tuple[str, str, str | None, str]]:
        """Describe the worker; nested, so that it is pickled by value without this module."""
        import importlib
        import platform
        import sys

        version = None
        reason = ""
        try:
            importlib.import_module("pyarrow")
            from lshfast._common.code_version import code_version

            version = code_version()
        except ImportError as error:
            reason = str(error)
        yield platform.node(), sys.executable, version, reason

    looks = min(max(context.defaultParallelism, 1), MOST_LOOKS)
    with _errors_of_start(context):
        answers = set(
            context.parallelize(range(looks), looks).mapPartitions(describe).collect()
        )
    for answer in answers:
        worker = Worker(*answer)
        name = f"the Python of the workers on {worker.host}, {worker.interpreter},"
        if worker.version is None:
            raise ImportError(
                f"{name} cannot import lshfast: {worker.reason}; {ADVICE}"
            )
        check_code_version(worker.version, name.rstrip(","))
    _CHECKED_APPLICATIONS.add(context.applicationId)


# What to do where the Python of the workers cannot be used.
ADVICE = (
    "set PYSPARK_PYTHON to a Python on the executors, of the version of the driver, in which "
    'pip install "lshfast[spark]" was run'
)

# What an error of Spark says of a worker that did not start: the host, and the reason.
FAILED_HOST = re.compile(r"\(TID \d+\) \((\S+) executor")
START_ERROR = re.compile(
    r"Cannot run program [^\n]*|^[\w.]+(?:Error|Exception): [^\n]*", re.MULTILINE
)


@contextmanager
def _errors_of_start(context: Any) -> Iterator[None]:
    """Raise ImportError in one line if the Python of a worker does not start."""
    from pyspark.errors import PySparkException

    java_error: Any = optional("py4j.protocol", "spark").Py4JError
    try:
        yield
    except (java_error, PySparkException) as error:
        message = str(error)
        reason = START_ERROR.search(message)
        if reason is None:
            raise
        raise ImportError(
            f"the Python of the workers on {_failed_host(context, message)} does not start: "
            f"{reason[0].rstrip('.')}; {ADVICE}"
        ) from None


def _failed_host(context: Any, message: str) -> str:
    """Return the host that an error names, or the hosts of all executors."""
    failed_host = FAILED_HOST.search(message)
    if failed_host is not None:
        return failed_host[1]
    executors = context._jsc.sc().statusTracker().getExecutorInfos()
    return ", ".join(sorted({executor.host() for executor in executors}))


# What a worker says of an id that is null, if no job has looked for one.
NULL_ID = "id must not be null, as it is in some of the rows"

# The last line of the traceback of a worker that found a row that cannot be used.
TASK_ERROR = re.compile(
    rf"ValueError: ((?:against: )?the (?:text|vector) with id .*|{NULL_ID})"
)

# Those of a worker with another version of lshfast, or none.
VERSION_ERROR = re.compile(rf"\.FormatError: ({DRIVER} .*)")
IMPORT_ERROR = re.compile(
    r"(ModuleNotFoundError: No module named 'lshfast.*|AttributeError: Can't get attribute .* on "
    r"<module 'lshfast.*)"
)


class BadTextError(ValueError):
    """A text or an id that cannot be used; the message names the id."""


@contextmanager
def errors_of_tasks() -> Iterator[None]:
    """Raise BadTextError for an unusable text, and FormatError for a worker's other version."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        message = str(error)
        bad_text = TASK_ERROR.search(message)
        if bad_text:
            raise BadTextError(bad_text[1]) from error
        other_version = VERSION_ERROR.search(message)
        if other_version:
            raise FormatError(
                f"a worker is of another version: {other_version[1]}"
            ) from None
        missing = IMPORT_ERROR.search(message)
        if missing:
            raise FormatError(
                f"a worker has another version of lshfast, or none: {missing[1]}"
            ) from None
        raise
