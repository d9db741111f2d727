"""Fixtures of runs: little memory, few draws of estimates, and a Spark session."""

import os
import shutil
import sys
import warnings
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

import lshfast
from lshfast._engine import budget
from lshfast._engine.forecasts import texts as forecast
from lshfast.join.external import slot_file
from lshfast.quality import labels

# Warnings of PySpark itself.
OF_PYSPARK = (
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning",
)


def mark_spark_tests(items):
    """Mark tests that start Spark as slow, and ignore the warnings of PySpark itself."""
    for item in items:
        starts = "spark" in getattr(item, "fixturenames", ())
        if starts or item.nodeid.startswith("tests/spark/"):
            for warning in OF_PYSPARK:
                item.add_marker(pytest.mark.filterwarnings(warning))
        if starts:  # each process of the suite would start a JVM
            item.add_marker(pytest.mark.slow)


@contextmanager
def little_costs():
    """Let the memory of a run be that of its records and parts alone."""
    with pytest.MonkeyPatch.context() as patch:
        names = [field.name for field in fields(budget.MemoryCosts)]
        patch.setattr(budget, "COSTS", budget.MemoryCosts(**dict.fromkeys(names, 0)))
        patch.setattr(slot_file, "BLOCK_BYTES", 1 << 14)
        yield


@pytest.fixture
def little_work(monkeypatch):
    """Let estimates be made of few draws, and times be measured on few rows."""
    monkeypatch.setattr(
        labels, "DRAWS", 200
    )  # for each question; tests/engine/test_labels.py has the full number
    monkeypatch.setattr(forecast, "BENCH_ROWS", 1 << 12)


@pytest.fixture
def small_parts():
    with little_costs():
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    pytest.importorskip("pyspark", reason="PySpark is missing: install lshfast[spark]")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    package = str(Path(lshfast.__file__).parent.parent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2,4]")  # a task is tried four times
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            # The code of a short session is not worth more than one compilation, and that of a
            # query none.
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config(
                "spark.driver.extraJavaOptions",
                "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            )
            .config(
                "spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))
            )
            .config(
                "spark.executorEnv.PYTHONPATH",
                os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]),
            )
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
