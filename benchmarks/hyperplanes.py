"""Hyperplane codes beside numpy's and faiss's: the same vectors, the same process, one thread each.

    python benchmarks/hyperplanes.py [--n 20000] [--dim 768] [--bits 256] [--repeat 9] [--pairs 200] [--markdown]

The contestants take turns; medians count, and in brackets stands what a figure is to that of lshfast in the same turn.
numpy multiplies the vectors by a Gaussian matrix in float32 and packs the signs. faiss is `IndexLSH`, whose matrix is
orthogonal. The second table says how often the bits of two vectors agree, in per cent, beside 1 - angle / pi: --pairs
pairs in random directions for each angle, under matrices of three seeds. It shows that all have the same curve; in
brackets stands the standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

import numpy as np
from contest import (
    ONE_THREAD,
    SEED,
    Figures,
    compared,
    installed,
    keep_to_one_cpu,
    label,
    print_table,
    take_turns,
    timed,
)

Coder = Callable[[np.ndarray], np.ndarray]  # vectors to packed bits, uint8
ANGLES = (2, 10, 30, 60, 90, 150)  # degrees
SEEDS = 3


def of_lshfast(dim: int, bits: int, seed: int, structured: bool = True) -> Coder:
    from lshfast.families import Hyperplanes

    family = Hyperplanes(dim, seed, structured)
    return lambda vectors: family.codes(vectors, bits, threads=1).words.view(np.uint8)[
        :, : -(-bits // 8)
    ]


def of_numpy(dim: int, bits: int, seed: int) -> Coder:
    matrix = np.random.default_rng(seed).standard_normal((dim, bits), np.float32)
    return lambda vectors: np.packbits(
        vectors.astype(np.float32, copy=False) @ matrix > 0, axis=1, bitorder="little"
    )


def of_faiss(dim: int, bits: int, seed: int) -> Coder:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexLSH(dim, bits)
    index.rrot.init(seed)
    return lambda vectors: index.sa_encode(vectors.astype(np.float32, copy=False))


def contestants(dim: int, bits: int, seed: int) -> dict[str, Coder]:
    found = {"lshfast": of_lshfast(dim, bits, seed), "numpy": of_numpy(dim, bits, seed)}
    if installed("faiss") and bits <= dim:
        found["faiss"] = of_faiss(dim, bits, seed)
    found["lshfast, Gaussian"] = of_lshfast(dim, bits, seed, structured=False)
    return found


def curve(dim: int, bits: int, pairs: int) -> list[list[str]]:
    """Return rows of the table of collisions."""
    random, rows = np.random.default_rng(SEED), []
    for degrees in ANGLES:
        a, b = random.standard_normal((2, pairs, dim))
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        b -= (a * b).sum(axis=1, keepdims=True) * a
        b /= np.linalg.norm(b, axis=1, keepdims=True)
        b = np.cos(np.radians(degrees)) * a + np.sin(np.radians(degrees)) * b
        a, b = a.astype(np.float32), b.astype(np.float32)
        shares: dict[str, list[np.ndarray]] = {}
        for seed in range(SEEDS):
            for name, code in contestants(dim, bits, seed).items():
                differ = np.unpackbits(code(a) ^ code(b), axis=1).sum(
                    axis=1, dtype=np.int64
                )
                shares.setdefault(name, []).append(1 - differ / bits)
        row = [f"{degrees}°", f"{100 - degrees / 1.8:.2f}"]
        for parts in shares.values():
            every = np.concatenate(parts)
            row.append(
                f"{100 * every.mean():.2f} ({100 * every.std() / np.sqrt(len(every)):.2f})"
            )
        rows.append(row)
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="hyperplanes.py",
        description="Run lshfast's hyperplanes beside its peers'.",
    )
    parser.add_argument("--n", type=int, default=20_000, help="vectors")
    parser.add_argument("--dim", type=int, default=768, help="coordinates of a vector")
    parser.add_argument("--bits", type=int, default=256, help="bits of a code")
    parser.add_argument("--repeat", type=int, default=9, help="turns")
    parser.add_argument("--pairs", type=int, default=200, help="pairs at each angle")
    parser.add_argument("--markdown", action="store_true")
    a = parser.parse_args(argv)
    keep_to_one_cpu()
    vectors = np.random.default_rng(SEED).standard_normal((a.n, a.dim), np.float32)
    coders = contestants(a.dim, a.bits, SEED)
    for code in coders.values():
        code(vectors[:1000])

    def run(name: str, turn: int) -> Figures:
        return {"vectors/s, float32": a.n / timed(coders[name], vectors)}

    took = take_turns(coders, a.repeat, run)
    print(f"{a.n:,} vectors of {a.dim:,} coordinates to {a.bits:,} bits\n")
    print_table(["", *map(label_of, took)], [*compared(took, "lshfast")], a.markdown)
    print("\nagreement in per cent\n")
    print_table(
        ["angle", "1 - angle / pi", *map(label_of, took)],
        curve(a.dim, a.bits, a.pairs),
        a.markdown,
    )


def label_of(name: str) -> str:
    package, _, kind = name.partition(", ")
    return label(package) + (f", {kind}" if kind else "")


if __name__ == "__main__":
    if (
        not ONE_THREAD.items() <= os.environ.items()
    ):  # numpy and faiss read it when they are imported
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main()
