"""Weighted sketches beside datasketch's: the same vectors, the same run.

    python benchmarks/weighted.py [dense sparse one jaccard own] [--n 1000] [--dim 1000] [--samples 128] [--repeat 3]
                                  [--threads 1] [--markdown]

Without names of parts all run. Each contestant runs each part in a process of its own, on one CPU if it has one thread,
and they take turns; medians count, and in brackets stands what a figure is to lshfast's in the same turn.

`dense`: `minhash_many` of --n vectors with no zero among their --dim weights; `sparse`: of a scipy matrix in which a
tenth of them is not 0; `one`: `minhash`, one vector after the other; `jaccard`: one pair after the other, and for
lshfast also all with all in one call. Both have the same hash values, which is checked. `own`: this library's own
signatures of the dense and of the sparse rows, of as many slots, by both schemes.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from contest import (
    Figures,
    compared,
    in_own_process,
    installed,
    keep_to_one_cpu,
    label,
    print_table,
    take_turns,
    timed,
)

from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets

MODULES = {"lshfast": "lshfast.datasketch.weighted_minhash", "datasketch": "datasketch"}
PARTS = {
    "dense": 2,
    "sparse": 2,
    "one": 2,
    "jaccard": 2,
    "own": 1,
}  # and how many of them can run it
ONES, PAIRS = 200, 2_000


def vectors(part: str, n: int, dim: int) -> Any:
    """Return weights of mean 1, all or a tenth of them not 0."""
    generator = np.random.default_rng(1)
    dense = generator.exponential(size=(n, dim))
    if part != "sparse":
        return dense
    return importlib.import_module("scipy.sparse").csr_matrix(
        dense * (generator.random((n, dim)) < 0.1)
    )


def again(call: Callable[[], object]) -> float:
    """Return the seconds of the second of two calls."""
    call()
    return timed(call)


def digest(made: Sequence[Any]) -> float:
    """Return a number that differs where hash values differ."""
    values = np.array([one.hashvalues for one in made[:ONES]], np.int64)
    return float(
        (
            values.astype(np.uint64).ravel()
            * np.arange(1, values.size + 1, dtype=np.uint64)
        ).sum()
        >> 12
    )


def of_datasketch(
    name: str, part: str, rows: Any, samples: int, threads: int
) -> Figures:
    generator = importlib.import_module(MODULES[name]).WeightedMinHashGenerator(
        rows.shape[1], samples
    )
    many = generator.minhash_many
    if name == "lshfast":
        many = lambda rows: generator.minhash_many(rows, threads=threads)  # noqa: E731
    n = rows.shape[0]
    if part in ("dense", "sparse"):
        made = many(rows[:ONES])
        return {
            "minhash_many, vectors/s": n / again(lambda: many(rows)),
            "hash values": digest(made),
        }
    if part == "one":
        made = [generator.minhash(row) for row in rows[:ONES]]
        taken = timed(lambda: [generator.minhash(row) for row in rows[:ONES]])
        return {"minhash, vectors/s": len(made) / taken, "hash values": digest(made)}
    made = many(rows[:ONES])
    pairs = [(made[i % len(made)], made[i * 7 % len(made)]) for i in range(PAIRS)]
    figures = {
        "jaccard, pairs/s": PAIRS / again(lambda: [a.jaccard(b) for a, b in pairs])
    }
    if name == "lshfast":
        values = generator.sketch(rows[:ONES])
        taken = again(lambda: generator.similarity(values, values))
        figures["all with all in one call: pairs a second"] = len(made) ** 2 / taken
    return figures | {"hash values": digest(made)}


def own(rows: Any, samples: int, threads: int) -> Figures:
    figures = {}
    tenth = rows * (np.random.default_rng(2).random(rows.shape) < 0.1)
    for what, weights in {"dense": rows, "sparse": tenth}.items():
        sets = WeightedSets.from_matrix(weights)
        for scheme in ("shells", "icws"):
            hasher = WeightedMinHasher(samples, scheme)
            taken = again(
                lambda hasher=hasher, sets=sets: hasher.sketch(sets, threads=threads)
            )
            figures[f"{scheme}, {what} rows a second"] = len(sets) / taken
    return figures


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="weighted.py",
        description="Run lshfast's weighted sketches beside a peer's.",
    )
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default"
    )
    parser.add_argument("--n", type=int, default=1_000, help="vectors")
    parser.add_argument("--dim", type=int, default=1_000, help="dimensions")
    parser.add_argument(
        "--samples", type=int, default=128, help="samples, or slots, of a sketch"
    )
    parser.add_argument(
        "--repeat", type=int, default=3, help="turns, whose medians count"
    )
    parser.add_argument("--threads", type=int, default=1, help="of lshfast")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--run",
        metavar="NAME",
        help="one contestant in this process (what the parts start)",
    )
    a = parser.parse_args(argv)
    if unknown := set(a.parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}: choose from {list(PARTS)}")
    if min(a.n, a.dim, a.samples) < 1:
        parser.error(
            f"--n, --dim and --samples must be at least 1, not {a.n}, {a.dim} and {a.samples}"
        )
    if a.run:
        if a.threads == 1:
            keep_to_one_cpu()
        rows = vectors(a.parts[0], a.n, a.dim)
        if a.parts[0] == "own":
            figures = own(rows, a.samples, a.threads)
        else:
            figures = of_datasketch(a.run, a.parts[0], rows, a.samples, a.threads)
        print(json.dumps(figures))
        return
    for part in a.parts or PARTS:

        def turn_of(name: str, turn: int, part: str = part) -> Figures:
            arguments = [
                part,
                f"--run={name}",
                f"--n={a.n}",
                f"--dim={a.dim}",
                f"--samples={a.samples}",
            ]
            return in_own_process(
                __file__,
                [*arguments, f"--threads={a.threads}"],
                f"{part}, {label(name)}",
            )

        entrants = [name for name in [*MODULES][: PARTS[part]] if installed(name)]
        took = take_turns(entrants, a.repeat, turn_of)
        values = {
            figures.pop("hash values", 0)
            for turns in took.values()
            for figures in turns
        }
        if len(values) > 1:
            raise SystemExit(f"{part}: the hash values differ")
        print(f"{part}: {a.n:,} vectors of {a.dim:,} dimensions, {a.samples} samples\n")
        header = [
            "",
            *(label(name, a.threads if name == "lshfast" else 1) for name in took),
        ]
        print_table(header, [*compared(took, next(iter(took)))], a.markdown)
        print(flush=True)


if __name__ == "__main__":
    main()
