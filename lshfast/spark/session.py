"""The session of Spark, and its configuration during a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lshfast._common.extras import optional
from lshfast.spark.workers import local_interpreter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def session_of(master: str | None) -> SparkSession:
    """Return the session of this process, or start one."""
    builder: Any = optional("pyspark.sql", "spark").SparkSession.builder.appName(
        "lshfast"
    )
    session: SparkSession = (
        builder if master is None else builder.master(master)
    ).getOrCreate()
    return session


@contextmanager
def configured(session: SparkSession) -> Iterator[None]:
    """Set CONFIGURATION and the local workers' interpreter in a session for the block."""
    before = {name: session.conf.get(name) for name in CONFIGURATION}
    try:
        for name, value in CONFIGURATION.items():
            session.conf.set(name, value)
        with local_interpreter(session):
            yield
    finally:
        for name, old in before.items():
            session.conf.set(name, str(old))
