"""LSHForest and LSHEnsemble beside datasketch's: the same signatures, the same run, speed never without recall.

    python benchmarks/forest.py [top contained] [--n 100000] [--k 10] [--queries 2000] [--repeat 3] [--markdown]
                                [--recall 0.9 0.95] [--best 1 2] [--trees 8] [--sets 5000] [--least 0.8 0.6]

Without names of parts both run; `python benchmarks/peers.py forest ...` is the same. Each contestant runs each part in
a process of its own, on one CPU, and they take turns; medians count, and in brackets stands what a figure is to that
of lshfast, with the first of its choices, in the same turn.

`top`: signatures lie in groups of 3 k around a centre, with which they share .3 to .95 of their slots; those of other
groups share one slot in a hundred. Queries are the centres, which are not among the entries. A returned entry is right
if it shares as many slots with the query as the true kth does. datasketch returns the first k that it meets: with
--best 2 it is asked for 2 k, and the most similar k of them by their sketches are taken, as its documentation
recommends.

`contained`: for each query, of 50 to 5,000 elements, there are ten sets with .3 to 1 of them and up to 20 times as many
elements; the others share none. Sets that hold .8 of a query or more are right. lshfast, which estimates, gives those
whose estimate is --least or more; datasketch, of threshold .8, does not estimate. It takes some 10 ms to insert a set,
which is why there are but --sets. Signatures are drawn as those of such sets would be.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from contest import (
    PERMUTATIONS,
    SEED,
    THRESHOLD,
    Figures,
    compared,
    in_own_process,
    installed,
    keep_to_one_cpu,
    label,
    memory,
    print_table,
    take_turns,
    timed,
)
from contestants import lean_minhashes
from data import grouped_signatures, nth_agreements

GROUP = 3  # times k, the signatures of a group
SETS, WIDEST = (
    10,
    20,
)  # sets planted for a query, and the size of the largest, in times the query's
ONES = 1_000  # queries made one at a time
Answers = list[Sequence[int]]


class Contestant:
    """A forest or an ensemble of entries whose keys are their places."""

    kept: int  # bytes of an entry's signature that it keeps

    def sketches(self, signatures: np.ndarray) -> Any:
        """Return what this contestant takes in place of signatures."""
        return lean_minhashes(signatures)

    def insert(self, entries: Any, sizes: list[int]) -> None:
        raise NotImplementedError

    def query(self, sketch: Any, size: int) -> Any:
        raise NotImplementedError

    def query_all(self, sketches: Any, sizes: list[int]) -> Answers:
        return [*map(self.query, sketches, sizes)]


class Lshfast(Contestant):
    index: Any
    kept = 8 * PERMUTATIONS

    def sketches(self, signatures: np.ndarray) -> np.ndarray:
        return signatures


class LshfastForest(Lshfast):
    def __init__(self, choices: Choices) -> None:
        from lshfast import LSHForest

        self.index, self.k = (
            LSHForest(PERMUTATIONS, recall=choices.own, seed=SEED),
            choices.k,
        )

    def insert(self, entries: Any, sizes: list[int]) -> None:
        self.index.insert(range(len(entries)), entries)

    def query(self, sketch: Any, size: int) -> Any:
        return self.index.query(sketch, self.k, threads=1)

    def query_all(self, sketches: Any, sizes: list[int]) -> Answers:
        found = self.index.query(sketches, self.k, threads=1)
        return np.split(np.asarray(found.keys), found.offsets[1:-1])


class DatasketchForest(Contestant):
    kept = 4 * PERMUTATIONS

    def __init__(self, choices: Choices) -> None:
        from datasketch import MinHashLSHForest

        self.index, self.k, self.best = (
            MinHashLSHForest(PERMUTATIONS, choices.trees),
            choices.k,
            int(choices.own),
        )

    def insert(self, entries: Any, sizes: list[int]) -> None:
        for key, sketch in enumerate(entries):
            self.index.add(key, sketch)
        self.index.index()
        self.entries = entries

    def query(self, sketch: Any, size: int) -> Any:
        found = self.index.query(sketch, self.best * self.k)
        if self.best > 1:
            found.sort(key=lambda key: -sketch.jaccard(self.entries[key]))
        return found[: self.k]


class LshfastEnsemble(Lshfast):
    def __init__(self, choices: Choices) -> None:
        from lshfast import LSHEnsemble

        self.index = LSHEnsemble(choices.own, PERMUTATIONS, seed=SEED)

    def insert(self, entries: Any, sizes: list[int]) -> None:
        self.index.insert(range(len(entries)), entries, sizes)

    def query(self, sketch: Any, size: int) -> Any:
        return self.index.query(sketch, size, threads=1)

    def query_all(self, sketches: Any, sizes: list[int]) -> Answers:
        found = self.index.query(sketches, sizes, threads=1)
        return np.split(np.asarray(found.keys), found.offsets[1:-1])


class DatasketchEnsemble(Contestant):
    kept = 0

    def __init__(self, choices: Choices) -> None:
        from datasketch import MinHashLSHEnsemble

        self.index = MinHashLSHEnsemble(THRESHOLD, PERMUTATIONS)

    def insert(self, entries: Any, sizes: list[int]) -> None:
        self.index.index([*zip(range(len(entries)), entries, sizes, strict=True)])

    def query(self, sketch: Any, size: int) -> Any:
        return [
            *{*self.index.query(sketch, size)}
        ]  # partitions are several indexes, whose answers may repeat


class Choices(NamedTuple):
    """What all are asked for, and a choice of the contestant's own."""

    k: int
    trees: int
    own: float


CONTESTANTS: dict[tuple[str, str], Callable[[Choices], Contestant]] = {
    ("top", "lshfast"): LshfastForest,
    ("top", "datasketch"): DatasketchForest,
    ("contained", "lshfast"): LshfastEnsemble,
    ("contained", "datasketch"): DatasketchEnsemble,
}


def plant_top(n: int, k: int, queries: int) -> dict[str, np.ndarray]:
    """Plant groups for `top`, and find out how many slots the kth of each query shares with it."""
    shares = np.random.default_rng(SEED).uniform(
        0.3, 0.95, (-(-n // (GROUP * k)), GROUP * k)
    )
    signatures, _, centres = grouped_signatures(shares, PERMUTATIONS, seed=SEED)
    kth = nth_agreements(signatures, centres[:queries], k)
    ones = np.ones(len(signatures), np.int64)
    return {
        "signatures": signatures,
        "queries": centres[:queries],
        "kth": kth,
        "sizes": ones,
        "asked": ones[:queries],
    }


def plant_contained(n: int, k: int, queries: int) -> dict[str, np.ndarray]:
    """Plant sets for `contained`, and say which hold enough of which query, as query * n + entry."""
    rng = np.random.default_rng(SEED)
    asked = np.exp(rng.uniform(np.log(50), np.log(5_000), -(-n // SETS))).astype(
        np.int64
    )
    held = rng.uniform(0.3, 1, (len(asked), SETS))
    common = np.ceil(held * asked[:, None]).astype(np.int64)
    sizes = np.exp(rng.uniform(np.log(common), np.log(WIDEST * asked[:, None]))).astype(
        np.int64
    )
    similarity = common / (sizes + asked[:, None] - common)
    signatures, places, centres = grouped_signatures(
        similarity, PERMUTATIONS, background=0, seed=SEED
    )
    own, column = np.nonzero(common[:queries] >= THRESHOLD * asked[:queries, None])
    arrays = {
        "signatures": signatures,
        "queries": centres[:queries],
        "sizes": np.empty(sizes.size, np.int64),
    }
    arrays["sizes"][places] = sizes
    return arrays | {
        "asked": asked[:queries],
        "codes": own * sizes.size + places[own, column],
    }


PLANT = {"top": plant_top, "contained": plant_contained}


def check(answers: Answers, data: Any, k: int) -> Figures:
    """Hold answers against what is true."""
    found = np.concatenate([np.asarray(keys, np.int64) for keys in answers])
    query = np.repeat(np.arange(len(answers)), [len(keys) for keys in answers])
    if "kth" in data:
        right = (data["signatures"][found] == data["queries"][query]).sum(
            axis=1
        ) >= data["kth"][query]
        return {f"recall of the {k}": float(right.sum()) / (k * len(answers))}
    codes, true = query * len(data["signatures"]) + found, data["codes"]
    right = int(np.isin(codes, true).sum())
    return {
        "recall": right / len(true),
        "precision": right / len(codes),
        "answers a query": len(codes) / len(answers),
    }


def again(call: Callable[[], object]) -> float:
    """Return the median of the seconds that a call takes, made again until half a second is over."""
    taken = [timed(call)]
    while sum(taken) < 0.5:
        taken.append(timed(call))
    return median(taken)


def run(name: str, part: str, folder: Path, choices: Choices) -> None:
    """Be one contestant in one part, and print its figures as JSON."""
    keep_to_one_cpu()
    importlib.import_module(name)
    one = CONTESTANTS[part, name](choices)
    data = {path.stem: np.load(path) for path in (folder / part).iterdir()}
    entries, queries = one.sketches(data["signatures"]), one.sketches(data["queries"])
    sizes, asked = data["sizes"].tolist(), data["asked"].tolist()
    before = memory()
    insert = timed(one.insert, entries, sizes)
    grown = (memory() - before) / len(entries)
    answers = one.query_all(queries, asked)
    batch = again(lambda: one.query_all(queries, asked))
    ones = [*zip(queries[:ONES], asked, strict=False)]
    single = again(lambda: [one.query(sketch, size) for sketch, size in ones])
    figures = {
        "query in one batch, queries/s": len(queries) / batch,
        "query one at a time, queries/s": len(ones) / single,
        "build, items/s": len(entries) / insert,
        "memory, bytes an item": grown,
        "beside the signatures that it keeps, bytes an item": grown - one.kept,
    }
    print(json.dumps(check(answers, data, choices.k) | figures))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="forest.py",
        description="Run lshfast's forest and ensemble beside a peer's.",
    )
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PLANT)}; both by default"
    )
    parser.add_argument(
        "--n", type=int, default=100_000, help="signatures in the forest"
    )
    parser.add_argument(
        "--k", type=int, default=10, help="how many of the most similar are asked for"
    )
    parser.add_argument(
        "--queries",
        type=int,
        default=2_000,
        help="at most; a group of signatures has one",
    )
    parser.add_argument(
        "--repeat", type=int, default=3, help="turns, whose medians count"
    )
    parser.add_argument(
        "--recall",
        type=float,
        nargs="+",
        default=[0.9, 0.95],
        help="of lshfast's forest",
    )
    parser.add_argument(
        "--best",
        type=int,
        nargs="+",
        default=[1, 2],
        help="times k that datasketch's is asked for",
    )
    parser.add_argument("--trees", type=int, default=8, help="of datasketch's forest")
    parser.add_argument(
        "--sets", type=int, default=5_000, help="signatures in the ensemble"
    )
    parser.add_argument(
        "--least",
        type=float,
        nargs="+",
        default=[0.8, 0.6],
        help="threshold of lshfast's ensemble",
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
    parser.add_argument("--own", type=float, help="its choice")
    a = parser.parse_args(argv)
    if a.run:
        run(a.run, a.parts[0], a.folder, Choices(a.k, a.trees, a.own))
        return
    if unknown := set(a.parts) - set(PLANT):
        parser.error(f"unknown parts {sorted(unknown)}: choose from {list(PLANT)}")
    if min(a.n, a.sets) < 1000:
        parser.error(f"--n and --sets must be at least 1000, not {a.n} and {a.sets}")
    forests = {("lshfast", own): f"recall={own}" for own in a.recall}
    forests |= {
        ("datasketch", own): f"l={a.trees}" + f", best of {own * a.k}" * (own > 1)
        for own in a.best
    }
    ensembles = {("lshfast", own): f"threshold {own}" for own in a.least}
    ensembles |= {("datasketch", 0): f"threshold {THRESHOLD}"}
    heads = {"top": forests, "contained": ensembles}
    for part in a.parts or PLANT:
        with tempfile.TemporaryDirectory(dir=a.folder) as name:
            folder = Path(name)
            (folder / part).mkdir()
            data = PLANT[part](a.n if part == "top" else a.sets, a.k, a.queries)
            for what, array in data.items():
                np.save(folder / part / f"{what}.npy", array)

            def turn_of(
                entrant: tuple[str, float],
                turn: int,
                part: str = part,
                folder: Path = folder,
            ) -> Figures:
                arguments = [
                    part,
                    f"--run={entrant[0]}",
                    f"--own={entrant[1]}",
                    f"--folder={folder}",
                ]
                arguments += [f"--k={a.k}", f"--trees={a.trees}"]
                return in_own_process(
                    __file__,
                    arguments,
                    f"{part}, {label(entrant[0])}, {heads[part][entrant]}",
                )

            entrants = [entrant for entrant in heads[part] if installed(entrant[0])]
            took = take_turns(entrants, a.repeat, turn_of)
        n, queries = len(data["signatures"]), len(data["queries"])
        print(f"{part}: {n:,} signatures, {queries:,} queries\n")
        header = [
            "",
            *(f"{label(entrant[0])}, {heads[part][entrant]}" for entrant in took),
        ]
        print_table(header, [*compared(took, next(iter(took)))], a.markdown)
        print(flush=True)


if __name__ == "__main__":
    main()
