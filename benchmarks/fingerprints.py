"""SimHash codes beside gaoya's and simhash's: the same tokens, the same run.

    python benchmarks/fingerprints.py [--n 10000] [--tokens 200 2000] [--bits 64] [--slow 500] [--repeat 3] [--markdown]

Each contestant runs in a process of its own, on one CPU, and they take turns; medians count, and in brackets stands
what a figure is to that of lshfast in the same turn. All make codes of the same --n texts of so many tokens, or of the
first --slow of them where a contestant takes one token at a time.

lshfast takes 64-bit tokens in an array, and mixes them. simhash, which takes str, is spared the hashing: its hash
function returns the bytes it is given, of which it keeps the last eight. gaoya hashes str itself, and has no call that
makes a code and does nothing else: it is asked what an empty index holds near to each text. This file is not called
simhash.py because it would be imported in place of that package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from contest import (
    SEED,
    Figures,
    compared,
    in_own_process,
    installed,
    keep_to_one_cpu,
    label,
    print_table,
    take_turns,
)
from contest import timed as seconds_of

TURN = 0.5  # seconds that a call is made again for
Calls = dict[
    str, tuple[int, Callable[[], object]]
]  # the tokens of a call, and the call


def with_lshfast(rows: np.ndarray, bits: int, slow: int) -> Calls:
    from lshfast import SimHasher, TokenSets

    hasher, (n, tokens) = SimHasher(bits), rows.shape
    sets = TokenSets(np.arange(n + 1) * tokens, rows.ravel())
    weights = np.random.default_rng(SEED).integers(1, 100, rows.size)
    return {
        "codes": (rows.size, lambda: hasher.sketch(sets, threads=1)),
        "counters": (rows.size, lambda: hasher.counters(sets, threads=1)),
        "codes of weighted tokens": (
            rows.size,
            lambda: hasher.sketch(sets, weights, threads=1),
        ),
    }


def with_gaoya(rows: np.ndarray, bits: int, slow: int) -> Calls:
    from gaoya.simhash import SimHashStringIndex

    texts = [[*map(str, row)] for row in rows[:slow].tolist()]
    index = SimHashStringIndex(bits, 6, 5).index
    return {"codes": (slow * rows.shape[1], lambda: [*map(index.query_tokens, texts)])}


def with_simhash(rows: np.ndarray, bits: int, slow: int) -> Calls:
    from simhash import Simhash

    texts = [
        [f"{token:x}".rjust(bits // 8, "0") for token in row]
        for row in rows[:slow].tolist()
    ]
    return {
        "codes": (
            slow * rows.shape[1],
            lambda: [Simhash(text, bits, hashfunc=bytes) for text in texts],
        )
    }


CONTESTANTS = {"lshfast": with_lshfast, "gaoya": with_gaoya, "simhash": with_simhash}


def run(name: str, n: int, tokens: int, bits: int, slow: int) -> None:
    """Be one contestant, and print its figures as JSON."""
    keep_to_one_cpu()
    rows = np.random.default_rng(SEED).integers(0, 2**64, (n, tokens), np.uint64)
    figures = {}
    for what, (count, call) in CONTESTANTS[name](rows, bits, min(slow, n)).items():
        taken = [seconds_of(call)]
        while sum(taken) < TURN:
            taken.append(seconds_of(call))
        figures[f"{what}, M tokens/s"] = count / median(taken) / 1e6
    print(json.dumps(figures))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="fingerprints.py", description="Run lshfast's SimHash beside its peers'."
    )
    parser.add_argument("--n", type=int, default=10_000, help="texts")
    parser.add_argument(
        "--tokens", type=int, nargs="+", default=[200, 2_000], help="tokens a text"
    )
    parser.add_argument(
        "--bits",
        type=int,
        default=64,
        choices=(64, 128),
        help="of a code; gaoya has no others",
    )
    parser.add_argument(
        "--slow",
        type=int,
        default=500,
        help="texts where tokens are taken one at a time",
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--run", metavar="NAME", help="one contestant in this process")
    a = parser.parse_args(argv)
    if a.run:
        run(a.run, a.n, a.tokens[0], a.bits, a.slow)
        return
    for tokens in a.tokens:

        def turn_of(name: str, turn: int, tokens: int = tokens) -> Figures:
            arguments = [
                f"--run={name}",
                f"--n={a.n}",
                f"--tokens={tokens}",
                f"--bits={a.bits}",
                f"--slow={a.slow}",
            ]
            return in_own_process(
                __file__, arguments, f"{tokens} tokens, {label(name)}"
            )

        took = take_turns(
            [name for name in CONTESTANTS if installed(name)], a.repeat, turn_of
        )
        print(f"{a.bits} bits, {a.n:,} texts of {tokens:,} tokens\n")
        print_table(["", *map(label, took)], [*compared(took, "lshfast")], a.markdown)
        print(flush=True)


if __name__ == "__main__":
    main()
