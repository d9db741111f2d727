"""Work that is killed at random moments: indexes, runs within a memory and in stages, applications, and Spark.

    python benchmarks/kills.py [--kills 1000] [--ways commit compact save local stages records images]

Each way has a share of the kills (SHARES), each of work of its own.

- "commit", "compact" and "save": of a small index, killed (SIGKILL) while it is under way. What it leaves must pass
  `verify`.
- "local": `lshfast dedup --memory`, which goes on with `--resume`.
- "stages": `lshfast stage run` with two processes: in turns the command is killed with its processes, and started
  again; or one of its processes is, and the command repeats the task.
- "records" and "images": commands that replace outputs; they are run again.
- "spark", if it is named: `lshfast.spark.dedup` on two executors of one core. In turns an executor is killed, or a
  Python worker.

Each output that a kill leaves must be the old or the new one, complete. Then the work is done to its end. Its outputs
are compared with those of work that was not killed, and what is left in the temporary folder and beside the outputs is
printed. Seconds are those of killed work and of what went on with it, divided by the median of work that was not
killed, one in TURN. The exit status is 1 if a state is neither old nor new, outputs differ or files are left.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from data import synthetic, write_jsonl
from processes import described_run, processes_below

import lshfast.__main__

ROOT = Path(__file__).parents[1]

POLL_SECONDS = 0.002

# What commands import late.
IMPORTED = (
    "pyarrow.parquet",
    "pyarrow.csv",
    "pyarrow.compute",
    "PIL.Image",
    "imagehash",
    "pdqhash",
    "lshfast.images",
    "lshfast.records",
    "lshfast.stages",
)

# Work that is not killed comes before each TURN of killed ones.
TURN = 10

# Of the index that is killed.
ENTRIES = 1000
SLOTS = 16

WORDS = 150
JACCARD = (0.75, 0.85, 0.95)


# The kills of each way, of TOTAL; those of other ways are in proportion.
SHARES = {
    "commit": 200,
    "compact": 200,
    "save": 200,
    "local": 150,
    "stages": 150,
    "records": 50,
    "images": 50,
    "spark": 60,
}
DEFAULT_WAYS = [way for way in SHARES if way != "spark"]
TOTAL = sum(SHARES[way] for way in DEFAULT_WAYS)

HEADER = (
    "| way | kills | before the end | left old | left new | some of both "
    "| seconds without a kill | times that: mean | most | faults |"
)

# Files that a killed writer leaves, which the next one removes.
HIDDEN = re.compile(r"\..*\.part")


@dataclass
class Outcome:
    """What the kills of one way did."""

    whole: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    in_time: int = 0  # kills that came before the end of their work
    states: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def line(self, way: str) -> str:
        """Return the figures as a line of a table."""
        figures = [way, len(self.ratios), self.in_time]
        figures += [self.states[state] for state in ("old", "new", "some of both")]
        figures.append(f"{median(self.whole):.2f}")
        figures += [f"{mean(self.ratios):.2f}", f"{max(self.ratios):.2f}"]
        return f"| {' | '.join(map(str, [*figures, len(self.faults)]))} |"


def states_of(
    left: Mapping[str, str], old: Mapping[str, str], new: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Return the state of outputs that a kill left, and the names of those that are neither old nor new."""
    states = set()
    wrong = []
    for name in {*left, *old, *new}:
        content = left.get(name)
        if content not in (old.get(name), new.get(name)):
            wrong.append(name)
        elif old.get(name) != new.get(name):
            states.add("old" if content == old.get(name) else "new")
    if len(states) == 2:
        return "some of both", wrong
    return (states or {"old"}).pop(), wrong


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
    """Return the digest of each file in some folders, by its path; but of hidden ones."""
    digests = {}
    for folder in paths:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not HIDDEN.fullmatch(path.name):
                name = f"{folder.name}/{path.relative_to(folder)}"
                digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


class Command:
    """A command of lshfast in a forked process group, with a temporary folder of its own.

    What commands import is imported before, so that kills come while the command works.
    """

    def __init__(self, arguments: Sequence[str], temporary: Path) -> None:
        temporary.mkdir(exist_ok=True)
        for module in IMPORTED:
            importlib.import_module(module)
        self._pid = os.fork()
        if self._pid:
            # In the child too: a kill may come before it runs, and a child before this.
            with contextlib.suppress(PermissionError, ProcessLookupError):
                os.setpgid(self._pid, self._pid)
            return
        status = 1
        try:
            os.setpgid(0, 0)
            os.environ |= {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
            tempfile.tempdir = None
            sys.argv = ["lshfast", *arguments]
            lshfast.__main__.main()
            status = 0
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)

    def kill_after(self, seconds: float, kill: Callable[[int], bool]) -> bool:
        """Kill what `kill` chooses after some seconds; return whether the command still ran."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return False
            time.sleep(POLL_SECONDS)
        return kill(self._pid)

    def ended(self) -> int:
        """Wait for the end, and return the status; negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def kill_process(pid: int) -> bool:
    """Kill a process."""
    os.kill(pid, signal.SIGKILL)
    return True


def kill_group(pid: int) -> bool:
    """Kill a process and those that it has started."""
    os.killpg(pid, signal.SIGKILL)
    return True


class Run(NamedTuple):
    """Work that was done to its end: its seconds, and the outputs that a kill left; None if it was not killed."""

    seconds: float
    left: dict[str, str] | None


class CommandRuns:
    """Runs of commands that can be killed; `kills` are what is killed, in turns."""

    # Names beside the outputs that may be there.
    expected = ("kept", "removed", "work")

    def __init__(self, folder: Path, rows: Path) -> None:
        self.folder = folder
        self.rows = rows
        self.temporary = folder / "tmp"
        self.outputs = [folder / "kept", folder / "removed"]
        self.old: dict[str, str] = {}
        self.killed: Callable[[int], bool] | None = None  # what was killed last

    def prepare(self) -> None:
        """Remove what an earlier run has written."""
        for path in (*self.outputs, self.folder / "work", self.temporary):
            shutil.rmtree(path, ignore_errors=True)

    def command(self) -> list[str]:
        """Return the command, which goes on with a run that was killed."""
        raise NotImplementedError

    def kills(self, rng: random.Random) -> list[Callable[[int], bool]]:
        """Return what is killed, in turns."""
        return [kill_group]

    def is_done(self, status: int) -> bool:
        """Return whether nothing is left to do after a command that ended with a status."""
        raise NotImplementedError

    def run(
        self, kill: Callable[[int], bool] | None = None, moment: float = 0.0
    ) -> Run:
        """Run to the end."""
        self.prepare()
        self.killed = kill
        start = time.perf_counter()
        command = Command(self.command(), self.temporary)
        is_killed = kill is not None and command.kill_after(moment, kill)
        status = command.ended()
        left = contents(self.outputs) if is_killed else None
        if is_killed and not self.is_done(status):
            status = Command(self.command(), self.temporary).ended()
        seconds = time.perf_counter() - start
        if status > 0 or not self.is_done(status):
            raise RuntimeError(f"the run ended with status {status}")
        return Run(seconds, left)

    def result(self) -> Any:
        """Return what has to be equal."""
        return contents(self.outputs)

    def left(self) -> list[str]:
        """Return the names of files that should not be there."""
        beside = {path.name for path in self.folder.iterdir()}
        beside -= {*self.expected, self.temporary.name}
        hidden = [
            str(path)
            for folder in (*self.outputs, self.folder / "work")
            for path in folder.rglob(".*")
        ]
        return sorted(beside) + hidden + os.listdir(self.temporary)


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

    def is_done(self, status: int) -> bool:
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

    def is_done(self, status: int) -> bool:
        return len(list((self.folder / "work").glob("apply-*.json"))) == 4

    def left(self) -> list[str]:
        """Return the names of files that should not be there; killed commands leave temporary folders."""
        names = super().left()
        if self.killed is kill_group:
            names = [name for name in names if not name.startswith("lshfast-")]
        return names


class ReplacingRuns(CommandRuns):
    """Runs that replace the outputs of another run; a killed run is done again."""

    expected = ("outputs", "first", "inputs")

    def __init__(self, folder: Path, rows: Path) -> None:
        super().__init__(folder, rows)
        self.outputs = [folder / "outputs"]
        self.inputs = folder / "inputs"
        self.inputs.mkdir()
        self.make_inputs(rows, 0)
        self.outputs[0].mkdir()
        if Command(self.command(), self.temporary).ended():
            raise RuntimeError("the first run failed")
        shutil.copytree(self.outputs[0], folder / "first")
        self.old = contents(self.outputs)
        self.make_inputs(rows, 1)

    def make_inputs(self, rows: Path, number: int) -> None:
        """Write inputs; those of each number have other outputs."""
        raise NotImplementedError

    def prepare(self) -> None:
        super().prepare()
        shutil.copytree(self.folder / "first", self.outputs[0])

    def is_done(self, status: int) -> bool:
        return status == 0


class RecordRuns(ReplacingRuns):
    """Runs of `lshfast records dedup`."""

    def make_inputs(self, rows: Path, number: int) -> None:
        chance = random.Random(number)
        with open(self.inputs / "records.csv", "w") as file:
            file.write("id,name,street,phone\n")
            for row in range(120):
                words = ["".join(chance.choices("abcdefgh", k=7)) for _ in range(3)]
                phone = chance.randrange(10**9, 10**10)
                file.write(f"a{row},{words[0]} {words[1]},{words[2]},{phone}\n")
                if row % 3 == 0:
                    file.write(f"b{row},{words[0]} {words[1]},{words[2]}x,{phone}\n")

    def command(self) -> list[str]:
        outputs = self.outputs[0]
        return [
            *("records", "dedup", str(self.inputs / "records.csv")),
            *("--id-column", "id", "-o", str(outputs / "links.csv")),
            *("--groups", str(outputs / "groups.csv")),
            *("--merged", str(outputs / "merged.csv"), "--overwrite", "--quiet"),
        ]


class ImageRuns(ReplacingRuns):
    """Runs of `lshfast images`."""

    def make_inputs(self, rows: Path, number: int) -> None:
        import numpy as np
        from PIL import Image

        chance = np.random.default_rng(number)
        for name in range(8):
            colours = chance.integers(0, 256, (5, 7, 3), dtype=np.uint8)
            picture = Image.fromarray(colours).resize((64, 48))
            picture.save(self.inputs / f"{name}.png")
            picture.save(self.inputs / f"{name}.jpg", quality=80)

    def command(self) -> list[str]:
        outputs = self.outputs[0]
        return [
            *("images", str(self.inputs), "-o", str(outputs / "copies.csv")),
            *("--save-hashes", str(outputs / "hashes.parquet")),
            *("--threads", "1", "--overwrite", "--quiet"),
        ]


class IndexRuns:
    """Changes of an index that are killed in the process that makes them."""

    act = ""

    def __init__(self, folder: Path, rows: Path) -> None:
        from lshfast import LSHIndex

        self.folder = folder
        self.path = folder / "index.lsh"
        first = LSHIndex(num_perm=SLOTS, bands=4, rows_per_band=4)
        self._insert(first, 0, ENTRIES)
        first.save(folder / "first")
        self.old = self._read(folder / "first")

    def _insert(self, index: Any, low: int, high: int) -> None:
        import numpy as np

        keys = np.arange(low, high)
        rows = np.random.default_rng(low).integers(0, 3, (len(keys), SLOTS))
        index.insert(keys, rows.astype(np.uint64))

    def _read(self, path: Path) -> dict[str, str]:
        """Return the digest of all entries, which are checked."""
        from lshfast import LSHIndex

        entries = {}
        with LSHIndex.open(path, verify=True) as index:
            index.verify()
            for keys, rows in index.store.items():
                entries |= dict(zip(keys, rows.tolist(), strict=True))
        lines = repr(sorted((int(key), row) for key, row in entries.items()))
        return {"index": hashlib.sha256(lines.encode()).hexdigest()}

    def kills(self, rng: random.Random) -> list[Callable[[int], bool]]:
        """Return what is killed: the process, which has no other ones."""
        return [kill_process]

    def _change(self, begun: int) -> None:
        """Change the index and write it."""
        from lshfast import LSHIndex

        with LSHIndex.open(self.path, "r+") as index:
            self._insert(index, ENTRIES, ENTRIES + 400)
            index.remove(list(range(0, ENTRIES, 9)))
            os.write(begun, b".")
            if self.act == "save":
                index.save(self.folder / "saved.lsh", overwrite=True)
            else:
                getattr(index, self.act)()

    def _forked(self) -> tuple[int, int]:
        """Begin the change in a process of its own; return its number, when it begins to write, and a pipe."""
        reading, begun = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                self._change(begun)
                status = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        os.close(begun)
        os.read(reading, 1)
        return pid, reading

    def _ended(self, pid: int, reading: int) -> bool:
        """Wait for a process; return whether it was killed."""
        os.close(reading)
        status = os.waitpid(pid, 0)[1]
        if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
            raise RuntimeError("the change failed")
        return os.WIFSIGNALED(status)

    def _written(self) -> Path:
        return self.folder / "saved.lsh" if self.act == "save" else self.path

    def run(
        self, kill: Callable[[int], bool] | None = None, moment: float = 0.0
    ) -> Run:
        """Change the index, again if a kill left the old state."""
        for name in ("index.lsh", "saved.lsh"):
            shutil.copy(self.folder / "first", self.folder / name)
        pid, reading = self._forked()
        start = time.perf_counter()
        if kill is not None:
            time.sleep(moment)
            kill(pid)
        is_killed = self._ended(pid, reading)
        left = self._read(self._written()) if is_killed else None
        if left == self.old:
            self._ended(*self._forked())
        return Run(time.perf_counter() - start, left)

    def result(self) -> Any:
        """Return what the index holds."""
        return self._read(self._written())

    def left(self) -> list[str]:
        """Return the names of files that should not be there."""
        names = {path.name for path in self.folder.iterdir()}
        return sorted(names - {"first", "index.lsh", "saved.lsh"})


class CommitRuns(IndexRuns):
    """Commits."""

    act = "commit"


class CompactRuns(IndexRuns):
    """Compactions."""

    act = "compact"


class SaveRuns(IndexRuns):
    """Saves over an old index."""

    act = "save"


class SparkRuns:
    """Runs on executors of this machine, in one session, without outputs."""

    old = None

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
    ) -> Run:
        """Run to the end."""
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
        return Run(time.perf_counter() - start, {} if any(kills) else None)

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
    "commit": CommitRuns,
    "compact": CompactRuns,
    "save": SaveRuns,
    "local": LocalRuns,
    "stages": StageRuns,
    "records": RecordRuns,
    "images": ImageRuns,
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
    expected: Any = None
    for number in range(kills):
        if number % TURN == 0:
            outcome.whole.append(runs.run().seconds)
            expected = expected or runs.result()
        kinds = runs.kills(rng)
        whole = median(outcome.whole)
        moment = rng.uniform(0, whole)
        run = runs.run(kinds[number % len(kinds)], moment)
        outcome.ratios.append(run.seconds / whole)
        faults = [f"left {name}" for name in runs.left()]
        if run.left is not None:
            outcome.in_time += 1
            if runs.old is not None:
                state, wrong = states_of(run.left, runs.old, expected)
                outcome.states[state] += 1
                faults += [f"{name} is neither old nor new" for name in wrong]
        if runs.result() != expected:
            faults.append("other outputs")
        outcome.faults += [f"kill {number} after {moment:.3f} s: {f}" for f in faults]
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=TOTAL, help="of the default ways")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS], default=DEFAULT_WAYS)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--folder", help="where a temporary folder is made")
    options = parser.parse_args()
    rng = random.Random(1)
    faults = []
    killed = 0
    in_time = 0
    print(f"{described_run()}, {options.rows:,} rows", flush=True)
    print(HEADER)
    print("|---" + "|--:" * 9 + "|", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = Path(folder, "rows.jsonl")
        documents = (
            (key, text) for key, text, _ in synthetic(options.rows, WORDS, 0.3, JACCARD)
        )
        write_jsonl(rows, documents)
        for way in options.ways:
            with opened(way, Path(folder, way), rows) as runs:
                kills = max(1, options.kills * SHARES[way] // TOTAL)
                outcome = outcome_of(runs, kills, rng)
            print(outcome.line(way), flush=True)
            in_time += outcome.in_time
            killed += len(outcome.ratios)
            faults += [f"{way}: {fault}" for fault in outcome.faults]
    print(f"{killed:,} kills, {in_time:,} before the end, {len(faults):,} faults")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
