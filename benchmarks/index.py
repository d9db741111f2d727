"""lshfast's index beside its peers: the same signatures, the same run, answers held against brute force.

    python benchmarks/index.py [batch matrix single strings remove reopen churn lmdb] [--n 1000000] [--repeat 3]
                               [--peers rensa,datasketch] [--small 100000] [--churn 5000000] [--markdown]

Without names of parts all of them run; `python benchmarks/peers.py index ...` is the same. Each contestant runs each
part in a process of its own, on one CPU, and they take turns; medians count, and in brackets stands what a peer's
figure is to lshfast's in the same turn. Signatures have 128 slots in 16 bands of 8. datasketch, which has no batches,
gets the first --small of them, and as much less of --churn.

Sketches of the peers' own kinds are made of the signatures before the clock starts. rensa inserts fastest from a
digest matrix, which it makes of tokens only: the part `matrix` is that alone, of random tokens. Memory and cold starts
are measured on Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from contest import (
    BANDS,
    PERMUTATIONS,
    ROWS,
    SEED,
    THRESHOLD,
    Figures,
    compared,
    in_own_process,
    installed,
    keep_to_one_cpu,
    label,
    memory,
    names,
    print_table,
    take_turns,
    timed,
)
from contestants import CONTESTANTS, Contestant, Lshfast, Rensa
from data import band_matches, planted_signatures

SAMPLE = 1_000  # queries whose answers are checked
BATCH = 10_000  # items a batch, where there are many
BESIDE = "memory beside the signatures, bytes an item"


class Task(NamedTuple):
    """What a part works on: the first n of the signatures in a folder, whose keys are their places."""

    folder: Path
    n: int
    churn: int

    @property
    def signatures(self) -> np.ndarray:
        return np.load(self.folder / "signatures.npy", mmap_mode="r")[: self.n]

    def fill(self, one: Contestant) -> Sequence[Any]:
        """Insert all and return the sketches."""
        sketches = one.sketches(self.signatures)
        one.insert(one.keys(np.arange(self.n)), sketches)
        return sketches

    def check(
        self, one: Contestant, removed: Sequence[int] | np.ndarray = ()
    ) -> Figures:
        """Hold the candidates of some queries against those by brute force, as numbers query * n + key."""
        truth = np.load(self.folder / "truth.npz")
        queries, codes, n = truth["queries"], truth["codes"], int(truth["n"])
        codes = codes[(codes % n < self.n) & ~np.isin(codes % n, removed)]
        answers = zip(
            queries, one.candidates(one.sketches(self.signatures[queries])), strict=True
        )
        found = np.concatenate(
            [query * n + np.asarray(keys, np.int64) for query, keys in answers]
        )
        if one.exact and not np.array_equal(np.sort(found), codes):
            raise RuntimeError(
                f"{len(found)} candidates of {len(queries)} queries are not the {len(codes)} there are"
            )
        missing, wrong = (
            len(np.setdiff1d(*pair)) for pair in ((codes, found), (found, codes))
        )
        return {
            "recall of the candidates": 1 - missing / len(codes),
            "wrong candidates a query": wrong / len(queries),
        }


def batch(one: Contestant, task: Task) -> Figures:
    """All in one batch"""
    keys, before = one.keys(np.arange(task.n)), memory()
    sketches = one.sketches(task.signatures)
    made = memory()
    insert = timed(one.insert, keys, sketches)
    grown = memory() - made
    query, similar = timed(one.query, sketches), timed(one.similar, sketches)
    figures = {
        "insert, items/s": task.n / insert,
        "query, candidates, queries/s": task.n / query,
        f"query, estimates >= {THRESHOLD}, queries/s": task.n / similar,
        "peak memory of the process, MB": memory("VmHWM") / 1e6,
        "memory with the signatures, bytes an item": (made - before + grown) / task.n,
        BESIDE: grown / task.n,
    } | task.check(one)
    if isinstance(one, Lshfast):
        figures["the same by stats(), bytes an item"] = (
            one.index.stats().nbytes / task.n - sketches[0].nbytes
        )
        copying = Lshfast(copy=True)
        figures["insert, of a copy of the signatures, items/s"] = task.n / timed(
            copying.insert, keys, sketches
        )
    return figures


def matrix(one: Contestant, task: Task) -> Figures:
    """Insertion in one batch, rensa's of a digest matrix of random tokens"""
    if isinstance(one, Rensa):
        insert, args = one.index.insert_matrix, [one.matrix(task.n)]
    elif isinstance(one, Lshfast):
        insert, args = (
            one.insert,
            [one.keys(np.arange(task.n)), one.sketches(task.signatures)],
        )
    else:
        return {}
    before, taken = memory(), timed(insert, *args)
    return {"insert, items/s": task.n / taken, BESIDE: (memory() - before) / task.n}


def single(one: Contestant, task: Task) -> Figures:
    """One at a time, in a loop"""
    rows = list(one.sketches(task.signatures))

    def insert() -> None:
        method = one.index.insert
        for key, sketch in enumerate(rows):
            method(key, sketch)

    def query() -> None:
        method = one.index.query
        for sketch in rows:
            method(sketch)

    figures = {}
    for name, call in (
        ("insert, items/s", insert),
        ("query, candidates, queries/s", query),
    ):
        before = time.process_time()
        figures[name] = task.n / timed(call)
        figures[f"{call.__name__} one, µs of CPU"] = (
            1e6 * (time.process_time() - before) / task.n
        )
    return figures | task.check(one)


def strings(one: Contestant, task: Task) -> Figures:
    """Keys that are strings, in one batch"""
    if not one.strings:
        return {}
    keys, sketches = (
        [f"document-{row:09}" for row in range(task.n)],
        one.sketches(task.signatures),
    )
    before, insert = memory(), timed(one.insert, keys, sketches)
    beside = (memory() - before) / task.n
    query = timed(one.query, sketches)
    return {
        "insert, items/s": task.n / insert,
        "query, candidates, queries/s": task.n / query,
        BESIDE: beside,
    }


def remove(one: Contestant, task: Task) -> Figures:
    """A random tenth removed and put back, queries for others before and after"""
    sketches, half = task.fill(one), task.n // 2
    gone = np.random.default_rng(SEED).choice(
        np.arange(half, task.n), task.n // 10, replace=False
    )
    keys, theirs, others = (
        one.keys(gone),
        one.sketches(task.signatures[gone]),
        sketches[:half],
    )
    one.query(others)
    before, out, after = (
        timed(one.query, others),
        timed(one.remove, keys),
        timed(one.query, others),
    )
    checked = task.check(one, gone)
    back = timed(one.insert, keys, theirs)
    figures = {
        "remove, items/s": len(gone) / out,
        "put back, items/s": len(gone) / back,
    }
    figures |= {
        "time to remove / to put back": out / back,
        "query speed after / before": before / after,
    }
    if isinstance(one, Lshfast):
        again, one.copy = timed(one.remove, keys), True
        figures["time to remove / to put back a copy"] = again / timed(
            one.insert, keys, theirs
        )
    return figures | checked


def save(one: Contestant, task: Task) -> Figures:
    """An index saved, for the part `reopen`"""
    task.fill(one)
    taken = timed(one.save, task.folder / "saved")
    return {"save, s": taken, "saved, MB": size(task.folder / "saved") / 1e6}


def reopen(one: Contestant, task: Task) -> Figures:
    """A saved index opened in a fresh process, to the first answer, with its files in memory and not"""
    row = task.n // 2
    sketch = one.sketches(task.signatures[row : row + 1])[0]
    before = time.perf_counter()
    one.open(task.folder / "saved")
    answer = one.index.query(sketch)
    taken = time.perf_counter() - before
    if row not in answer:
        raise RuntimeError(f"the opened index does not find key {row}, but {answer}")
    return {"open and answer": taken * 1000}


def churn(one: Contestant, task: Task) -> Figures:
    """Churn: new items in and the oldest out, batch by batch"""
    for rows in np.split(np.arange(task.n), range(BATCH, task.n, BATCH)):
        one.insert(one.keys(rows), one.sketches(task.signatures[rows]))
    # Signatures come round again, but xored with a number of the round.
    rounds = np.random.default_rng(SEED).integers(
        0, 2**60, task.churn // task.n + 1, dtype=np.uint64
    )
    memories, taken, done = {"memory at the start, MB": memory() / 1e6}, 0.0, 0
    while done < task.churn:
        old = np.arange(done, min(done + BATCH, task.churn))
        sketches = one.sketches(
            task.signatures[old % task.n] ^ rounds[old // task.n, None]
        )
        keys, old_keys = one.keys(old + task.n), one.keys(old)
        taken += timed(one.insert, keys, sketches) + timed(one.remove, old_keys)
        done += len(old)
        while done * 10 >= task.churn * len(memories):
            memories[f"after {len(memories)}/10, MB"] = memory() / 1e6
    return {"in and out, items/s": done / taken} | memories


def lmdb(one: Contestant, task: Task) -> Figures:
    """In LMDB, batch by batch"""
    from lshfast.index.stores.lmdb import LmdbStore

    path = Path(tempfile.mkdtemp(dir=task.folder)) / "lmdb"
    keys, sketches = np.arange(task.n), one.sketches(task.signatures)
    batches = [slice(first, first + BATCH) for first in range(0, task.n, BATCH)]
    with closing(LmdbStore(path)) as store:
        one = Lshfast(store)
        insert = sum(
            timed(one.insert, keys[part], sketches[part]) for part in batches
        ) + timed(one.index.commit)
        query = sum(timed(one.query, sketches[part]) for part in batches)
        figures = {
            "insert, items/s": task.n / insert,
            "query, candidates, queries/s": task.n / query,
        }
        return figures | {"on disk, MB": size(path) / 1e6} | task.check(one)


PARTS = {
    part.__name__: part
    for part in (batch, matrix, single, strings, remove, reopen, churn, lmdb)
}


def run(name: str, part: str, task: Task) -> None:
    """Be one contestant in one part, and print its figures as JSON."""
    keep_to_one_cpu()
    importlib.import_module(name)
    print(json.dumps((PARTS | {"save": save})[part](CONTESTANTS[name](), task)))


def start(name: str, part: str, task: Task) -> Figures:
    """Run one contestant in a process of its own."""
    arguments = [
        part,
        f"--run={name}",
        f"--folder={task.folder}",
        f"--n={task.n}",
        f"--churn={task.churn}",
    ]
    return in_own_process(__file__, arguments, f"{part}, {label(name)}")


def save_and_reopen(name: str, task: Task, first: bool) -> Figures:
    """Save an index in a folder of its own, in the first turn, and open it warm and cold."""
    own = task._replace(folder=task.folder / name)
    figures: Figures = {}
    if first:
        own.folder.mkdir()
        (own.folder / "signatures.npy").symlink_to(task.folder / "signatures.npy")
        figures = start(name, "save", own)
    for state, prepare in (("warm", warm), ("cold", chill)):
        if all(map(prepare, files(own.folder / "saved"))):
            figures |= {
                f"{what}, {state}, ms": ms
                for what, ms in start(name, "reopen", own).items()
            }
    return figures


def files(path: Path) -> list[Path]:
    return (
        [path]
        if path.is_file()
        else [file for file in path.rglob("*") if file.is_file()]
    )


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in files(path))


def warm(path: Path) -> bool:
    """Read a file, so that the operating system has it in memory."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass
    return True


def chill(path: Path) -> bool:
    """Have the operating system drop a file from its memory, and say whether it did."""
    if not hasattr(os, "posix_fadvise") or not hasattr(os, "RWF_NOWAIT"):
        return False
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            return not os.preadv(
                file.fileno(), [bytearray(1)], path.stat().st_size // 2, os.RWF_NOWAIT
            )
        except BlockingIOError:  # it would have to be read from the disk
            return True


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="index.py", description="Run lshfast's index beside its peers."
    )
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default"
    )
    parser.add_argument("--n", type=int, default=1_000_000, help="signatures")
    parser.add_argument(
        "--repeat",
        type=int,
        default=3,
        help="turns, whose medians count; churn has one",
    )
    parser.add_argument("--peers", type=names, default=[*CONTESTANTS][1:])
    parser.add_argument(
        "--small", type=int, default=100_000, help="signatures for datasketch"
    )
    parser.add_argument(
        "--churn",
        type=int,
        default=5_000_000,
        help="items in and out; the full run has 50,000,000",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the data goes, instead of a temporary folder's usual place",
    )
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--run",
        metavar="NAME",
        help="one contestant in this process (what the parts start)",
    )
    a = parser.parse_args(argv)
    if a.run:
        run(a.run, a.parts[0], Task(a.folder, a.n, a.churn))
        return
    for what, given, known in (
        ("parts", a.parts, PARTS),
        ("peers", a.peers, CONTESTANTS),
    ):
        if unknown := set(given) - set(known):
            parser.error(f"unknown {what} {sorted(unknown)}: choose from {list(known)}")
    if min(a.n, a.small) < 1000:
        parser.error(f"--n and --small must be at least 1000, not {a.n} and {a.small}")
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        folder, small = Path(name), min(a.n, a.small)
        signatures = planted_signatures(a.n, PERMUTATIONS, SEED)
        np.save(folder / "signatures.npy", signatures)
        queries = np.sort(
            np.random.default_rng(SEED).choice(small, SAMPLE, replace=False)
        )
        codes = band_matches(signatures, queries, BANDS, ROWS)
        np.savez(folder / "truth.npz", queries=queries, codes=codes, n=a.n)
        del signatures
        tasks = {
            name: Task(folder, a.n, a.churn)
            for name in ("lshfast", *a.peers)
            if installed(name)
        }
        if "datasketch" in tasks:
            tasks["datasketch"] = Task(folder, small, a.churn * small // a.n)
        for part in a.parts or PARTS:
            entrants = [*tasks]
            if part == "lmdb":
                try:
                    importlib.import_module("lshfast.index.stores.lmdb")
                except ImportError as error:
                    print(f"{PARTS[part].__doc__}: left out, {error}\n", flush=True)
                    continue
                entrants = ["lshfast"]

            def turn_of(name: str, turn: int, part: str = part) -> Figures:
                task = tasks[name]
                return (
                    save_and_reopen(name, task, turn == 0)
                    if part == "reopen"
                    else start(name, part, task)
                )

            took = take_turns(entrants, 1 if part == "churn" else a.repeat, turn_of)
            took = {name: figures for name, figures in took.items() if any(figures)}
            heads = [
                label(name) + f", {small:,} items" * (name == "datasketch")
                for name in took
            ]
            print(f"{PARTS[part].__doc__}: {a.n:,} items\n")
            print_table(["", *heads], [*compared(took, "lshfast")], a.markdown)
            print(flush=True)


if __name__ == "__main__":
    main()
