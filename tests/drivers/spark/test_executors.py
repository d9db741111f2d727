"""A cluster of two executors, one of which is killed during a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast

PACKAGE = str(Path(lshfast.__file__).parent.parent)

# Each worker is a child of a daemon, which is a child of the executor. The first task of the chosen stage kills it.
PROGRAM = """
import os, signal, sys
from pyspark.sql import SparkSession
import lshfast.drivers.spark.run as run
from lshfast.drivers.spark.tasks import EngineTask, SketchTask
from tests.drivers.spark.answers import corpus, distributed, native

mark, stage = sys.argv[1:]

def parent(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])

class Killing:
    def __init__(self, task):
        self.task = task

    def __call__(self, batches):
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(parent(os.getppid()), signal.SIGKILL)
        yield from self.task(batches)

own = getattr(run, stage)
setattr(run, stage, lambda *arguments, **options: Killing(own(*arguments, **options)))
spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "3")
    .getOrCreate()
)
ids, texts = corpus(200)
frame = spark.createDataFrame(list(zip(ids, texts)), "id long, text string").repartition(5)
assert distributed(frame) == native(ids, texts)
assert os.path.exists(mark)
print("equal")
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the executor is found through /proc")
@pytest.mark.parametrize("stage", ["SketchTask", "EngineTask"])
def test_an_executor_that_is_killed_once(tmp_path, stage):
    pyspark = pytest.importorskip("pyspark", reason="PySpark is missing: install lshfast[spark]")
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONPATH": PACKAGE,
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "mark"), stage]
    found = subprocess.run(command, env=environment, cwd=PACKAGE, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stderr[-3000:]
    assert found.stdout.endswith("equal\n")
