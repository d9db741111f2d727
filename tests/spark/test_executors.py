"""A cluster of two executors, one of which is killed during each of two stages of a run.

The slow tests end a worker of a local session instead, in test_dedup.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast

PACKAGE = str(Path(lshfast.__file__).parent.parent)

# Each worker is a child of a daemon, which is a child of the executor. The first task of a stage
# kills it.
PROGRAM = """
import os, signal, sys
from pyspark.sql import SparkSession
import lshfast.spark.run as run
from lshfast.spark.set_tasks import EngineTask
from lshfast.spark.tasks import SketchTask
from tests.spark.answers import corpus, distributed, native

folder = sys.argv[1]

def parent(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])

class Killing:
    def __init__(self, task, mark):
        self.task, self.mark = task, mark

    def __call__(self, batches):
        if not os.path.exists(self.mark):
            open(self.mark, "w").close()
            os.kill(parent(os.getppid()), signal.SIGKILL)
        yield from self.task(batches)

spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "3")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .getOrCreate()
)
ids, texts = corpus(200)
frame = spark.createDataFrame(list(zip(ids, texts)), "id long, text string").repartition(5)
marks = []
for stage in ["SketchTask", "EngineTask"]:
    task, mark = getattr(run, stage), os.path.join(folder, stage)
    setattr(run, stage, lambda *given, task=task, mark=mark, **options: Killing(task(*given, **options), mark))
    marks.append(mark)
assert distributed(frame) == native(ids, texts)
assert all(map(os.path.exists, marks))
print("equal")
"""


@pytest.mark.weekly
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the executor is found through /proc"
)
def test_an_executor_that_is_killed_once_in_each_stage(tmp_path):
    pyspark = pytest.importorskip(
        "pyspark", reason="PySpark is missing: install lshfast[spark]"
    )
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONPATH": PACKAGE,
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path)]
    found = subprocess.run(
        command,
        env=environment,
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    assert found.stdout.endswith("equal\n")
