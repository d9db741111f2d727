"""Runs that are killed at random moments: within a memory, in stages, and on Spark.

    python benchmarks/kills.py [--kills 60] [--ways local stages spark] [--rows 20000] [--folder DIR]

"local" is `lshfast dedup --memory`: the process is killed (SIGKILL), and `--resume` goes on. "stages" is `lshfast stage
run` with two processes: in turns the command is killed with its processes, and started again; or one of its processes
is, and the command repeats the task. "spark" is `lshfast.spark.dedup` on two executors of one core: in turns an
executor is killed, or a Python worker. Each way has a third of the kills, each in a run of its own.

After each run, its outputs are compared with those of a run that was not killed, and what is left in the temporary
folder and beside the outputs is printed. Seconds are those of a killed run and of what went on with it, divided by the
median of runs that were not killed, one in TURN. The exit status is 1 if outputs differ or files are left.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from data import synthetic, write_jsonl
from processes import described_run, processes_below

ROOT = Path(__file__).parents[1]

# A run that is not killed comes before each TURN of those that are.
TURN = 10

WORDS = 150
JACCARD = (0.75, 0.85, 0.95)


@dataclass
class Outcome:
    """What the kills of one way did."""

    whole: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    in_time: int = 0  # kills that came before the end of their run
    faults: list[str] = field(default_factory=list)

    def line(self, way: str) -> str:
        """Return the figures as a line of a table."""
        slower = f"{mean(self.ratios):.2f} | {max(self.ratios):.2f}"
        return (
            f"| {way} | {len(self.ratios)} | {self.in_time} | {median(self.whole):.1f} | {slower} | "
            f"{len(self.faults)} |"
        )


def kill_one(pid: int, word: str, rng: random.Random) -> bool:
    """Kill one of the processes below a process that have a word in their commands."""
    chosen = [
        child
        for child, process in processes_below(pid).items()
        if word in process.command
    ]
    if not chosen:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(rng.choice(chosen), signal.SIGKILL)
        return True
    return False


def contents(paths: Sequence[Path]) -> dict[str, str]:
    """Return the digest of each file in some folders, by its path."""
    digests = {}
    for folder in paths:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = f"{folder.name}/{path.relative_to(folder)}"
                digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


class Command:
    """A command of lshfast in a process group of its own, with a temporary folder of its own."""

    def __init__(self, arguments: Sequence[str], temporary: Path) -> None:
        temporary.mkdir(exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lshfast", *arguments],
            env=environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def kill_after(self, seconds: float, kill: Callable[[int], bool]) -> bool:
        """Kill what `kill` chooses after some seconds; return whether the command still ran."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return kill(self._process.pid)
        return False

    def ended(self) -> int:
        """Wait for the end, and return the status."""
        _, messages = self._process.communicate()
        if self._process.returncode > 0:
            print(messages.decode(), file=sys.stderr)
        return self._process.returncode


def kill_group(pid: int) -> bool:
    """Kill a process and those that it has started."""
    os.killpg(pid, signal.SIGKILL)
    return True


class CommandRuns:
    """Runs of commands that can be killed; `kills` are what is killed, in turns."""

    def __init__(self, folder: Path, rows: Path) -> None:
        self.folder = folder
        self.rows = rows
        self.temporary = folder / "tmp"
        self.outputs = [folder / "kept", folder / "removed"]

    def prepare(self) -> None:
        """Remove what an earlier run has written."""
        for path in (*self.outputs, self.folder / "work", self.temporary):
            shutil.rmtree(path, ignore_errors=True)

    def command(self) -> list[str]:
        """Return the command, which goes on with a run that was killed."""
        raise NotImplementedError

    def kills(self, rng: random.Random) -> list[Callable[[int], bool]]:
        """Return what is killed, in turns."""
        raise NotImplementedError

    def is_done(self) -> bool:
        """Return whether the run had ended before it was killed."""
        raise NotImplementedError

    def run(
        self, kill: Callable[[int], bool] | None = None, moment: float = 0.0
    ) -> tuple[float, bool]:
        """Run to the end; return the seconds, and whether something was killed."""
        self.prepare()
        start = time.perf_counter()
        command = Command(self.command(), self.temporary)
        is_killed = kill is not None and command.kill_after(moment, kill)
        status = command.ended()
        if is_killed and status and not self.is_done():
            status = Command(self.command(), self.temporary).ended()
        seconds = time.perf_counter() - start
        if status > 0 or not self.is_done():
            raise RuntimeError(f"the run ended with status {status}")
        return seconds, is_killed

    def result(self) -> Any:
        """Return what has to be equal."""
        return contents(self.outputs)

    def left(self) -> list[str]:
        """Return the names of files that should not be there."""
        beside = [str(path.relative_to(self.folder)) for path in self.folder.iterdir()]
        expected = {"kept", "removed", "tmp", "work", self.rows.name}
        hidden = [str(path) for path in (self.folder / "work").rglob(".*")]
        return sorted({*beside} - expected) + hidden + os.listdir(self.temporary)


class LocalRuns(CommandRuns):
    """Runs within a memory."""

    def prepare(self) -> None:
        super().prepare()
        for folder in self.outputs:
            folder.mkdir()

    def command(self) -> list[str]:
        kept, removed = (str(folder / "rows.jsonl") for folder in self.outputs)
        work = str(self.folder / "work")
        options = ["--memory", "300M", "--work", work, "--resume", "--threads", "1"]
        return [
            "dedup",
            str(self.rows),
            "-o",
            kept,
            "--removed",
            removed,
            "--quiet",
            *options,
        ]

    def kills(self, rng: random.Random) -> list[Callable[[int], bool]]:
        return [kill_group]

    def is_done(self) -> bool:
        return (self.outputs[0] / "rows.jsonl").exists() and not (
            self.folder / "work"
        ).exists()


class StageRuns(CommandRuns):
    """Runs in stages."""

    def prepare(self) -> None:
        super().prepare()
        kept, removed = map(str, self.outputs)
        options = ["--removed", removed, "--shards", "4", "--tasks", "3", "--quiet"]
        arguments = [
            "stage",
            "plan",
            str(self.rows),
            "--work",
            str(self.folder / "work"),
            "-o",
            kept,
            *options,
        ]
        if Command(arguments, self.temporary).ended():
            raise RuntimeError("the run was not planned")

    def command(self) -> list[str]:
        return ["stage", "run", str(self.folder / "work"), "--workers", "2", "--quiet"]

    def kills(self, rng: random.Random) -> list[Callable[[int], bool]]:
        return [kill_group, lambda pid: kill_one(pid, "", rng)]

    def is_done(self) -> bool:
        return len(list((self.folder / "work").glob("apply-*.json"))) == 4


class SparkRuns:
    """Runs on executors of this machine, in one session."""

    def __init__(self, folder: Path, rows: Path) -> None:
        import pyspark

        self._temporary = folder / "tmp"
        self._temporary.mkdir(exist_ok=True)
        self._local = folder / "local"
        os.environ |= {
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "TMPDIR": str(self._temporary),
        }
        # Few classes are compiled: the runs are short, and there are three virtual machines.
        virtual_machine = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        options = {
            "spark.driver.extraJavaOptions": virtual_machine,
            "spark.executor.extraJavaOptions": virtual_machine,
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.local.dir": str(self._local),
            "spark.deploy.maxExecutorRetries": "-1",
            "spark.sql.shuffle.partitions": "4",
        }
        builder: Any = pyspark.sql.SparkSession.builder.master(
            "local-cluster[2,1,1024]"
        )
        for name, value in options.items():
            builder = builder.config(name, value)
        self._session = builder.getOrCreate()
        self._session.sparkContext.setLogLevel("OFF")
        self._frame = self._session.read.json(str(rows)).repartition(6)
        self._rows: Any = None
        self.run()  # starts the workers

    def kills(self, rng: random.Random) -> list[Callable[[int], bool]]:
        """Return what is killed, in turns: an executor, and a Python worker."""
        words = ("CoarseGrainedExecutorBackend", "pyspark.daemon")
        return [lambda pid, word=word: kill_one(pid, word, rng) for word in words]

    def run(
        self, kill: Callable[[int], bool] | None = None, moment: float = 0.0
    ) -> tuple[float, bool]:
        """Run to the end; return the seconds, and whether something was killed."""
        import lshfast.spark

        has_ended = threading.Event()
        kills: list[bool] = []

        def wait_and_kill() -> None:
            if kill is not None and not has_ended.wait(moment):
                kills.append(kill(os.getpid()))

        thread = threading.Thread(target=wait_and_kill)
        start = time.perf_counter()
        thread.start()
        try:
            found = lshfast.spark.dedup(self._frame)
            self._rows = found.orderBy("id").toArrow().to_pylist()
            found.unpersist()
        finally:
            has_ended.set()
            thread.join()
        return time.perf_counter() - start, any(kills)

    def result(self) -> Any:
        """Return the rows of the last run."""
        return self._rows

    def left(self) -> list[str]:
        """Return the names of files that workers have left."""
        return [path.name for path in self._temporary.rglob("lshfast-*")]

    def close(self) -> None:
        """End the session, and remove the logs of the executors, which are beside Spark."""
        application = self._session.sparkContext.applicationId
        self._session.stop()
        logs = Path(os.environ["SPARK_HOME"], "work", application)
        shutil.rmtree(logs, ignore_errors=True)


WAYS: dict[str, Callable[[Path, Path], Any]] = {
    "local": LocalRuns,
    "stages": StageRuns,
    "spark": SparkRuns,
}


@contextlib.contextmanager
def opened(way: str, folder: Path, rows: Path) -> Iterator[Any]:
    """Yield the runs of a way, in a folder of their own."""
    folder.mkdir()
    runs = WAYS[way](folder, rows)
    try:
        yield runs
    finally:
        if way == "spark":
            runs.close()


def outcome_of(runs: Any, kills: int, rng: random.Random) -> Outcome:
    """Kill so many runs, and say what came of it."""
    outcome = Outcome()
    expected = None
    for number in range(kills):
        if number % TURN == 0:
            outcome.whole.append(runs.run()[0])
            expected = expected or runs.result()
        kinds = runs.kills(rng)
        whole = median(outcome.whole)
        moment = rng.uniform(0, whole)
        seconds, is_killed = runs.run(kinds[number % len(kinds)], moment)
        outcome.ratios.append(seconds / whole)
        outcome.in_time += is_killed
        if runs.result() != expected:
            outcome.faults.append(f"kill {number} after {moment:.2f} s: other outputs")
        outcome.faults += [
            f"kill {number} after {moment:.2f} s left {name}" for name in runs.left()
        ]
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=60, help="of all ways together")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS], default=[*WAYS])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--folder", help="where a temporary folder is made")
    options = parser.parse_args()
    rng = random.Random(1)
    faults = []
    print(f"{described_run()}, {options.rows:,} rows", flush=True)
    print(
        "| way | runs | killed before the end | seconds without a kill | times that: mean | most | faults |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = Path(folder, "rows.jsonl")
        documents = (
            (key, text) for key, text, _ in synthetic(options.rows, WORDS, 0.3, JACCARD)
        )
        write_jsonl(rows, documents)
        for way in options.ways:
            with opened(way, Path(folder, way), rows) as runs:
                outcome = outcome_of(
                    runs, max(1, options.kills // len(options.ways)), rng
                )
            print(outcome.line(way), flush=True)
            faults += [f"{way}: {fault}" for fault in outcome.faults]
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
