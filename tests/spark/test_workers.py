"""Workers that have another lshfast, or none, are refused in one line before the first stage, and by each task."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast
import lshfast.spark
from lshfast.spark import session, workers
from tests.engine.executors.other_version import copy_package

pytestmark = pytest.mark.slow

PACKAGE = str(Path(lshfast.__file__).parent.parent)

PROGRAM = """
import sys
from pyspark.sql import SparkSession
import lshfast.spark
import lshfast.spark.session as session_module

master, look = sys.argv[1:]
spark = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .getOrCreate()
)
if look == "tasks":  # as if the worker had come after the first look
    session_module.check_workers = lambda session: None
pages = spark.createDataFrame([(1, "one two three"), (2, "One, two, three!"), (3, "four")], ["id", "text"])
try:
    result = lshfast.spark.dedup(pages)
    print([row["keep"] for row in result.orderBy("id").collect()])
except (ImportError, lshfast.FormatError) as error:
    print(type(error).__name__, error)
"""

WRAPPER = """#!/bin/sh
case "$PWD" in
{places}) PYTHONPATH={folder}:$PYTHONPATH; cd {folder} ;;
esac
export PYTHONPATH
exec {python} "$@"
"""


def run_program(folder, master, look="workers", **variables):
    """Run the program on a cluster, and return what it printed and its errors."""
    pyspark = pytest.importorskip(
        "pyspark", reason="PySpark is missing: install lshfast[spark]"
    )
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONPATH": PACKAGE,
        **variables,
    }
    if "PYSPARK_PYTHON" not in variables:
        environment.pop("PYSPARK_PYTHON", None)
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, master, look]
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, done.stderr


def wrapper(path, folder, places="*"):
    """Write an interpreter that finds another lshfast in a folder, on some of the executors; return its path."""
    path.write_text(WRAPPER.format(places=places, folder=folder, python=sys.executable))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def without(tmp_path):
    """Return a folder with a package lshfast that cannot be imported, as if there were none."""
    package = tmp_path / "without" / "lshfast"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "raise ImportError(\"No module named 'lshfast'\")\n"
    )
    return package.parent


@pytest.mark.weekly
def test_the_environment_need_not_be_activated(tmp_path, without):
    """The python3 of PATH has no lshfast."""
    folder = tmp_path / "bin"
    folder.mkdir()
    wrapper(folder / "python3", without)
    said, _ = run_program(
        tmp_path, "local[2]", PATH=os.pathsep.join([str(folder), os.environ["PATH"]])
    )
    assert said == "[True, False, True]\n"


VERSION = "all processes of a run need the same version"
REFUSED = {
    "no lshfast": ("without", "*", "local-cluster[1,1,1024]", "workers", "ImportError the Python of the workers on ",
                   "cannot import lshfast: No module named 'lshfast'; set PYSPARK_PYTHON"),
    "one of two executors": ("other", "*/0", "local-cluster[2,1,1024]", "workers",
                             "FormatError the Python of the workers on ", VERSION),
    "a worker that comes later": ("other", "*", "local-cluster[1,1,1024]", "tasks",
                                  "FormatError a worker is of another version: the driver of the run has lshfast", ""),
}  # fmt: skip


# Each starts a cluster; workers of the session of the tests have the same faults below.
@pytest.mark.weekly
@pytest.mark.parametrize("name", REFUSED)
def test_workers_are_refused_in_one_line(tmp_path, without, name):
    folder, places, master, look, beginning, reason = REFUSED[name]
    package = without if folder == "without" else copy_package(tmp_path / "other")
    python = wrapper(tmp_path / "python", package, places)
    said, log = run_program(tmp_path, master, look, PYSPARK_PYTHON=python)
    assert said.startswith(beginning)
    assert reason in said
    assert said.count("\n") == 1
    assert look == "tasks" or "Traceback" not in log


ENTRIES = ["passages", "check", "dedup", "pairs", "dedup_records"]


@pytest.fixture
def unchecked(spark, monkeypatch):
    """Forget that the workers of the session were looked at; afterwards they have its interpreter again."""
    monkeypatch.setattr(workers, "_CHECKED_APPLICATIONS", set())
    monkeypatch.setattr(spark.sparkContext, "pythonExec", spark.sparkContext.pythonExec)
    return spark


@pytest.mark.one_case
@pytest.mark.parametrize("entry", ENTRIES)
def test_each_function_refuses_workers_of_another_version(tmp_path, unchecked, entry):
    other = copy_package(tmp_path / "other")
    unchecked.sparkContext.pythonExec = wrapper(tmp_path / "python", other)
    frame = unchecked.createDataFrame([(1, "one two")], "id int, text string")
    with pytest.raises(lshfast.FormatError, match=VERSION) as raised:
        getattr(lshfast.spark, entry)(frame)
    assert platform.node() in str(raised.value)
    assert str(raised.value).count("(code ") == 2  # both versions


@pytest.mark.weekly
def test_local_workers_run_the_interpreter_of_the_driver(
    tmp_path, monkeypatch, unchecked, without
):
    """That of the session has no lshfast, as the python3 of PATH may have none."""
    monkeypatch.delenv("PYSPARK_PYTHON")
    unchecked.sparkContext.pythonExec = wrapper(tmp_path / "python", without)
    texts = [(1, "one two three"), (2, "One, two, three!"), (3, "four")]
    frame = unchecked.createDataFrame(texts, "id int, text string")
    kept = [row["keep"] for row in lshfast.spark.dedup(frame).orderBy("id").collect()]
    assert kept == [True, False, True]


def test_workers_without_lshfast_are_refused(tmp_path, unchecked, without):
    unchecked.sparkContext.pythonExec = wrapper(tmp_path / "python", without)
    frame = unchecked.createDataFrame([(1, "one two")], "id int, text string")
    beginning, reason = REFUSED["no lshfast"][-2:]
    with pytest.raises(ImportError, match=re.escape(reason)) as raised:
        lshfast.spark.dedup(frame)
    said = f"ImportError {raised.value}"
    assert said.startswith(beginning)
    assert "\n" not in said


@pytest.mark.weekly
def test_tasks_refuse_a_worker_that_comes_later(tmp_path, monkeypatch, unchecked):
    """The workers of another version were not there when the session was looked at."""
    monkeypatch.setattr(session, "check_workers", lambda session: None)
    other = copy_package(tmp_path / "other")
    unchecked.sparkContext.pythonExec = wrapper(tmp_path / "python", other)
    frame = unchecked.createDataFrame([(1, "one two")], "id int, text string")
    with pytest.raises(lshfast.FormatError) as raised:
        lshfast.spark.dedup(frame)
    said = f"FormatError {raised.value}"
    assert said.startswith(REFUSED["a worker that comes later"][-2])
    assert "\n" not in said


def test_workers_that_do_not_start(unchecked):
    unchecked.sparkContext.pythonExec = "/no/such/python"
    frame = unchecked.createDataFrame([(1, "one two")], "id int, text string")
    reason = r"^the Python of the workers on \S+ does not start: .*/no/such/python"
    with pytest.raises(ImportError, match=reason) as raised:
        lshfast.spark.dedup(frame)
    assert "\n" not in str(raised.value)
    assert raised.value.__suppress_context__  # the hundred lines of Java are left out


@pytest.mark.parametrize("version", ["3.5.7", "4.0.1"])
def test_an_earlier_pyspark_is_refused_in_one_line(monkeypatch, version):
    pyspark = pytest.importorskip(
        "pyspark", reason="PySpark is missing: install lshfast[spark]"
    )
    monkeypatch.setattr(pyspark, "__version__", version)
    said = rf"^PySpark 4\.1 or later is needed, not {version}: pip install"
    with pytest.raises(ImportError, match=said):
        lshfast.spark.dedup(None)
    with pytest.raises(ImportError, match=said):
        session.session_of("local[1]")
