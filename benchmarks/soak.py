"""An index in a file under changes, queries and kills for hours; its answers are those of a dictionary.

    python benchmarks/soak.py [--entries 5000000] [--seconds 7200] [--between 20] [--folder DIR]

A process inserts, replaces and removes entries, queries, commits and compacts. It is killed (SIGKILL) after a random
time of up to twice `--between` seconds, and the next process goes on with the file. Each answer is compared with that
of a dictionary. After each kill the file must pass `verify`, and hold all entries of the dictionary as it was at the
last commit, or at the commit that was under way.

Each process notes its peak of memory, and the bytes of the file after each act. The exit status is 1 if an answer or a
state is wrong, if files are left beside the index, or if the median of the peaks, or of the files after compactions, is
larger in the second half of the time than in the first by more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # this process forks

import numpy as np
from numpy.typing import NDArray
from processes import described_run

from lshfast import LSHIndex

SLOTS = 16
OPTIONS: dict[str, Any] = {"num_perm": SLOTS, "bands": 4, "rows_per_band": 4}

# Neighbouring keys share a base signature, of which each changes one slot: two of them agree in at
# least 14 slots, and so in at least two bands. Other keys agree in no slot.
NEIGHBOURS = 4

# Of five keys four are present on average: an insertion has four times the keys of a removal.
KEYS_OF_ENTRIES = 5 / 4

# The acts, and how often each is chosen.
ACTS = {"insert": 30, "remove": 30, "query": 30, "commit": 15, "compact": 1}
WRITING = ("commit", "compact")

STATES = ("the last commit", "the next one")

# The most that medians may grow from the first to the second half of the time.
MOST_GROWTH = 1.1

MINUTE = 60.0


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of numbers (the finalizer of splitmix64)."""
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))


def signatures(
    keys: NDArray[np.int64], versions: NDArray[np.uint16]
) -> NDArray[np.uint64]:
    """Return the signatures of versions of keys, (n, SLOTS)."""
    groups = keys.astype(np.uint64)[:, None] // np.uint64(NEIGHBOURS)
    slots = np.arange(1, SLOTS + 1, dtype=np.uint64)
    rows = mixed(groups * np.uint64(SLOTS + 1) + slots)
    own = mixed(keys.astype(np.uint64) + np.uint64(1 << 40))
    changed_slots = (own % np.uint64(SLOTS)).astype(np.intp)
    rows[np.arange(len(keys)), changed_slots] = mixed(own + versions)
    return rows


@dataclass
class Model:
    """What the index must hold: which keys are present, and the version of each."""

    present: NDArray[np.bool_]
    versions: NDArray[np.uint16]

    def copy(self) -> Model:
        """Return a copy, which changes alone."""
        return Model(self.present.copy(), self.versions.copy())

    def __len__(self) -> int:
        return int(np.count_nonzero(self.present))

    def answers(
        self, queries: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return offsets, keys and similarities of the answers to the signatures of keys."""
        first = queries // NEIGHBOURS * NEIGHBOURS
        keys = first[:, None] + np.arange(NEIGHBOURS)
        rows = signatures(keys.ravel(), self.versions[keys.ravel()])
        asked = signatures(queries, self.versions[queries])
        is_equal = rows.reshape(-1, NEIGHBOURS, SLOTS) == asked[:, None, :]
        agreements = is_equal.sum(axis=2)
        present = self.present[keys]
        # The most similar first, equally similar ones by their keys; absent keys come last.
        order = np.argsort(np.where(present, -agreements, 1), axis=1, kind="stable")
        is_answer = np.take_along_axis(present, order, axis=1)
        answer_keys = np.take_along_axis(keys, order, axis=1)[is_answer]
        answer_agreements = np.take_along_axis(agreements, order, axis=1)[is_answer]
        offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return offsets, answer_keys, answer_agreements / SLOTS


class Act(NamedTuple):
    """An act, and the keys that it is about."""

    name: str
    keys: NDArray[np.int64]


def acts(model: Model, seed: int) -> Iterator[Act]:
    """Yield acts without end, which depend on the model and the seed only; the model follows them."""
    chance = np.random.default_rng(seed)
    names = [*ACTS]
    shares = np.array([*ACTS.values()]) / sum(ACTS.values())
    size = len(model.present)
    while True:
        name = names[chance.choice(len(names), p=shares)]
        count = int(chance.integers(1, max(8, size // 1000)))
        if name == "insert":
            count *= NEIGHBOURS
        keys = np.unique(chance.integers(0, size // NEIGHBOURS * NEIGHBOURS, count))
        if name == "insert":
            model.versions[keys] += np.uint16(1)
        elif name == "remove":
            keys = keys[model.present[keys]]
        yield Act(name, keys)
        if name in ("insert", "remove"):
            model.present[keys] = name == "insert"


def next_commit(acts_of_model: Iterator[Act]) -> None:
    """Bring a model to the next state that is written."""
    for act in acts_of_model:
        if act.name in WRITING:
            return


def expect(holds: bool, fault: str) -> None:
    """Raise an error unless something holds."""
    if not holds:
        raise RuntimeError(fault)


def work(path: Path, model: Model, seed: int, notes: Any) -> None:
    """Open the index and change and query it without end; note each act that is done."""
    with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
        for act in acts(model, seed):
            if act.name == "insert":
                index.insert(act.keys, signatures(act.keys, model.versions[act.keys]))
            elif act.name == "remove":
                index.remove(act.keys)
            elif act.name == "query":
                query(index, model, act.keys)
            else:
                getattr(index, act.name)()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            note = [act.name, path.stat().st_size, peak]
            notes.write(json.dumps(note).encode() + b"\n")


def query(index: LSHIndex[Any], model: Model, keys: NDArray[np.int64]) -> None:
    """Compare answers of an index with those of the model."""
    answers: Any = index.query(signatures(keys, model.versions[keys]), threshold=0.5)
    offsets, answer_keys, similarities = model.answers(keys)
    expect(np.array_equal(answers.offsets, offsets), "other numbers of answers")
    expect(np.array_equal(answers.keys, answer_keys), "other keys in answers")
    expect(np.array_equal(answers.similarity, similarities), "other similarities")
    expect(np.array_equal(index.contains(keys), model.present[keys]), "other keys")
    expect(len(index) == len(model), "another size")


def state_of(path: Path, states: list[Model]) -> int:
    """Check all of a file; return the number of the state that it holds."""
    seen = np.zeros(len(states[0].present), bool)
    is_equal = [True] * len(states)
    with LSHIndex.open(path, verify=True) as index:
        index.verify()
        for keys, rows in index.store.items():
            keys = np.asarray(keys, np.int64)
            expect(not seen[keys].any(), "a key is there twice")
            seen[keys] = True
            for number, state in enumerate(states):
                expected = signatures(keys, state.versions[keys])
                is_equal[number] &= np.array_equal(rows, expected)
        expect(len(index) == np.count_nonzero(seen), "another size")
    for number, state in enumerate(states):
        if is_equal[number] and np.array_equal(seen, state.present):
            return number
    raise RuntimeError("the file holds neither the last commit nor the next one")


def fill(path: Path, model: Model) -> None:
    """Save an index of the entries of a model."""
    index = LSHIndex(**OPTIONS)
    for keys in np.array_split(np.flatnonzero(model.present), 100):
        index.insert(keys, signatures(keys, model.versions[keys]))
    index.save(path)


def compact(path: Path) -> None:
    """Compact a file."""
    with LSHIndex.open(path, "r+") as index:
        index.compact()


def forked(act: Callable[[], object]) -> int:
    """Do something in a process of its own; return its number."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        act()
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def done(act: Callable[[], object]) -> None:
    """Do something in a process of its own, and wait for it: this process starts no threads."""
    status = os.waitpid(forked(act), 0)[1]
    expect(status == 0, "a process failed")


@dataclass
class Figures:
    """What the processes did and took."""

    acts: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    peaks: list[int] = field(default_factory=list)
    compacted: list[int] = field(default_factory=list)
    largest: int = 0

    def add(self, notes: list[list[Any]]) -> None:
        """Take what a process noted."""
        for name, nbytes, _ in notes:
            self.acts[name] += 1
            self.largest = max(self.largest, nbytes)
            if name == "compact":
                self.compacted.append(nbytes)
        if notes:
            self.peaks.append(notes[-1][2])

    def growth(self) -> dict[str, float]:
        """Return the medians of the second half of the time, divided by those of the first half."""
        return {
            name: median(values[len(values) // 2 :])
            / median(values[: len(values) // 2])
            for name, values in (("memory", self.peaks), ("file", self.compacted))
            if len(values) > 1
        }

    def lines(self) -> list[str]:
        """Return the figures in words."""
        counts = [f"{count:,} {name}" for name, count in sorted(self.acts.items())]
        states = [f"{count:,} {name}" for name, count in sorted(self.states.items())]
        growth = [f"{name} {ratio:.3f}" for name, ratio in self.growth().items()]
        compacted = max(self.compacted, default=0) / 1e6
        return [
            f"acts: {', '.join(counts)}",
            f"kills: {self.states.total():,}, which left {', '.join(states)}",
            f"memory of a process: {max(self.peaks, default=0) / 1e6:,.0f} MB at most",
            f"file: {compacted:,.0f} MB after compactions, {self.largest / 1e6:,.0f} MB at most",
            f"second half of the time / first half: {', '.join(growth)}",
        ]


class Soak:
    """An index in a file, and the model of what was last committed."""

    def __init__(self, folder: Path, entries: int, seed: int) -> None:
        self.folder = folder
        self.path = folder / "index.lsh"
        self.notes = folder / "notes"
        self.chance = random.Random(seed)
        self.figures = Figures()
        size = int(entries * KEYS_OF_ENTRIES)
        present = np.random.default_rng(seed).random(size) < 1 / KEYS_OF_ENTRIES
        self.model = Model(present, np.zeros(size, np.uint16))
        done(lambda: fill(self.path, self.model))

    def turn(self, seconds: float) -> None:
        """Let a process work until it is killed after some seconds, and check what it leaves."""
        seed = self.chance.getrandbits(32)
        with open(self.notes, "wb", buffering=0) as notes:
            pid = forked(lambda: work(self.path, self.model, seed, notes))
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        expect(os.WIFSIGNALED(status), "a process failed")
        lines = [json.loads(line) for line in self.notes.read_bytes().splitlines()]
        self.figures.add(lines)
        self._check(seed, sum(name in WRITING for name, _, _ in lines))

    def _check(self, seed: int, commits: int) -> None:
        """Find out which commit the file holds; its state is that of the next process."""
        model = self.model.copy()
        acts_of_model = acts(model, seed)
        for _ in range(commits):
            next_commit(acts_of_model)
        last = model.copy()
        next_commit(acts_of_model)
        states = [last, model]
        answer = self.folder / "state"
        done(lambda: answer.write_text(str(state_of(self.path, states))))
        number = int(answer.read_text())
        answer.unlink()
        self.figures.states[STATES[number]] += 1
        self.model = states[number]

    def end(self) -> list[str]:
        """Compact the file; return what is wrong at the end."""
        done(lambda: compact(self.path))
        done(lambda: state_of(self.path, [self.model]))
        left = {path.name for path in self.folder.iterdir()}
        left -= {self.path.name, self.notes.name}
        faults = [f"files are left: {sorted(left)}"] if left else []
        for name, ratio in self.figures.growth().items():
            if ratio > MOST_GROWTH:
                faults.append(f"{name} grows: {ratio:.2f} times that of the first half")
        return faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=5_000_000)
    parser.add_argument("--seconds", type=float, default=7200.0)
    parser.add_argument("--between", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="where a temporary folder is made")
    options = parser.parse_args()
    print(f"{described_run()}, {options.entries:,} entries", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        soak = Soak(Path(folder), options.entries, options.seed)
        begin = time.monotonic()
        told = begin
        while time.monotonic() - begin < options.seconds:
            soak.turn(soak.chance.uniform(0, 2 * options.between))
            if time.monotonic() - told > MINUTE:
                told = time.monotonic()
                print(
                    f"after {told - begin:,.0f} s:", *soak.figures.lines(), sep="\n  "
                )
                sys.stdout.flush()
        faults = soak.end()
    print(*soak.figures.lines(), *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
