"""The session of Spark, and its configuration during a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lshfast._common.extras import optional
from lshfast.spark.workers import check_workers, errors_of_tasks, local_interpreter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The least version of Spark and PySpark: earlier ones pass no Arrow tables to and from the driver.
LEAST_VERSION = 4, 1

# Configuration of Spark during a run: the largest batch that it passes to a Python worker, and the
# rows that it decodes from Parquet at a time. With 4096 rows, its default, decoding texts of 15 KB
# takes 1.6 times as long. The others let Spark join small partitions of persisted frames, which
# otherwise have as many as a shuffle, 200 by default, and keep it from joining large ones, whose
# texts would be sorted on disk.
CONFIGURATION = {
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    "spark.sql.parquet.columnarReaderBatchSize": "512",
}


def check_pyspark() -> None:
    """Raise ImportError if PySpark or what it needs is missing, or if it is an earlier version."""
    pyspark = optional("pyspark", "spark")
    _check_version("PySpark", pyspark.__version__)
    optional("pyspark.sql.pandas.functions", "spark")


def _check_version(name: str, version: str) -> None:
    """Raise ImportError for an earlier version of Spark than is needed."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < LEAST_VERSION:
        least = ".".join(map(str, LEAST_VERSION))
        raise ImportError(
            f"{name} {least} or later is needed, not {version}: pip install "
            '"lshfast[spark]" installs PySpark, and the cluster needs the same version'
        )


def session_of(master: str | None) -> SparkSession:
    """Return the session of this process, or start one.

    Raises
    ------
    ImportError
        If PySpark is missing, or an earlier version than is needed.
    ConnectionError
        If the cluster starts no session.
    """
    check_pyspark()
    builder: Any = optional("pyspark.sql", "spark").SparkSession.builder.appName(
        "lshfast"
    )
    java_error: Any = optional("py4j.protocol", "spark").Py4JError

    try:
        session: SparkSession = (
            builder if master is None else builder.master(master)
        ).getOrCreate()
    except java_error as error:
        reason = str(error).partition("\n: ")[2].partition("\n")[0] or str(error)
        place = "of its configuration" if master is None else master
        raise ConnectionError(
            f"Spark cannot start a session with the master {place}: {reason}"
        ) from None
    return session


@contextmanager
def running(session: SparkSession) -> Iterator[None]:
    """Configure a session for a run, check its workers, and raise the errors of its tasks."""
    with configured(session), errors_of_tasks():
        check_workers(session)
        yield


@contextmanager
def configured(session: SparkSession) -> Iterator[None]:
    """Set CONFIGURATION and the local workers' interpreter in a session for the block."""
    _check_version("Spark", session.version)
    before = {name: session.conf.get(name) for name in CONFIGURATION}
    try:
        for name, value in CONFIGURATION.items():
            session.conf.set(name, value)
        with local_interpreter(session):
            yield
    finally:
        for name, old in before.items():
            session.conf.set(name, str(old))
