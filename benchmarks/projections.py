"""p-stable projections beside numpy: the same points, the same run, one thread.

    python benchmarks/projections.py [--n 4000] [--dim 768] [--functions 128] [--repeat 9] [--markdown]

numpy multiplies the points by a matrix of Gaussian numbers, and rounds the sums down, without any checks. `hash` is
GaussianLines.hash, checks of its input included: of float32 and float64 points, of a CSR matrix of which a tenth of the
coordinates is not zero, and of one point at a time. `buckets` and `probe` are of bands of 8 functions. All calls take
turns on one CPU, and medians count; in brackets stands the rate relative to numpy's for the same points in the same
turn. (scipy multiplies the CSR matrix.)
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from contest import SEED, Figures, in_own_process, keep_to_one_cpu, print_table, show
from contest import timed as seconds_of

WIDTH, ROWS, PROBES, SINGLE = 4.0, 8, 16, 200
Calls = dict[
    str, tuple[int, Callable[[], object]]
]  # the points of a call, and the call


def calls(n: int, dim: int, functions: int) -> tuple[Calls, dict[str, str]]:
    """Return what is timed, and by which call of numpy each is divided."""
    from scipy.sparse import csr_matrix

    from lshfast.families import CauchyLines, GaussianLines

    generator = np.random.default_rng(SEED)
    floats = generator.standard_normal((n, dim), dtype=np.float32)
    doubles, few = (
        floats.astype(np.float64),
        csr_matrix(floats * (generator.random((n, dim)) < 0.1)),
    )
    matrix = generator.standard_normal((dim, functions), dtype=np.float32)
    wide, offset = matrix.astype(np.float64), generator.random(functions)
    narrow = offset.astype(np.float32)
    gaussian, cauchy = GaussianLines(dim, WIDTH), CauchyLines(dim, WIDTH)

    def cells(sums: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return np.floor(sums / sums.dtype.type(WIDTH) + offsets).astype(np.int64)

    made: Calls = {
        "numpy, float32": (n, lambda: cells(floats @ matrix, narrow)),
        "numpy, float64": (n, lambda: cells(doubles @ wide, offset)),
        "numpy, CSR": (n, lambda: cells(few @ matrix, narrow)),
        "numpy, one point": (
            SINGLE,
            lambda: [cells(point @ matrix, narrow) for point in floats[:SINGLE]],
        ),
        "hash, float32": (n, lambda: gaussian.hash(floats, functions, threads=1)),
        "hash, float64": (n, lambda: gaussian.hash(doubles, functions, threads=1)),
        "hash, CSR": (n, lambda: gaussian.hash(few, functions, threads=1)),
        "hash, one point": (
            SINGLE,
            lambda: [gaussian.hash(x, functions, threads=1) for x in floats[:SINGLE]],
        ),
        "Cauchy hash, float32": (n, lambda: cauchy.hash(floats, functions, threads=1)),
        "buckets, float32": (
            n,
            lambda: gaussian.buckets(floats, functions // ROWS, ROWS, threads=1),
        ),
        f"{PROBES} probes, float32": (
            n,
            lambda: gaussian.probe(floats, functions // ROWS, ROWS, PROBES, threads=1),
        ),
    }
    beside = {
        name: "numpy, " + name.split(", ")[1]
        for name in made
        if not name.startswith("numpy")
    }
    return made, beside


def measured(n: int, dim: int, functions: int, repeat: int) -> Figures:
    """Return the points a second of each call, and its median ratio to numpy's."""
    made, beside = calls(n, dim, functions)
    for _, call in made.values():
        call()
    turns = [
        {name: points / seconds_of(call) for name, (points, call) in made.items()}
        for _ in range(repeat)
    ]
    figures = {name: median(turn[name] for turn in turns) for name in made}
    for name, other in beside.items():
        figures[f"{name} / {other}"] = median(
            turn[name] / turn[other] for turn in turns
        )
    return figures


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="projections.py", description="Run lshfast's projections beside numpy."
    )
    parser.add_argument("--n", type=int, default=4_000, help="points")
    parser.add_argument("--dim", type=int, default=768, help="coordinates of a point")
    parser.add_argument(
        "--functions", type=int, default=128, help="functions, a multiple of 8"
    )
    parser.add_argument(
        "--repeat", type=int, default=9, help="turns, whose medians count"
    )
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--run",
        action="store_true",
        help="measure in this process (what the parent starts)",
    )
    a = parser.parse_args(argv)
    if min(a.n, a.dim, a.repeat) < 1 or a.functions < ROWS or a.functions % ROWS:
        parser.error(
            f"--n, --dim and --repeat must be at least 1, and --functions a multiple of {ROWS}"
        )
    if a.run:
        keep_to_one_cpu()
        print(json.dumps(measured(a.n, a.dim, a.functions, a.repeat)))
        return
    arguments = [
        "--run",
        f"--n={a.n}",
        f"--dim={a.dim}",
        f"--functions={a.functions}",
        f"--repeat={a.repeat}",
    ]
    figures = in_own_process(__file__, arguments, "projections")
    print(f"{a.n:,} points of {a.dim:,} coordinates, {a.functions:,} functions\n")
    rows = []
    for name, value in figures.items():
        if " / " not in name:
            ratio = next(
                (
                    f" ({other:.3g})"
                    for key, other in figures.items()
                    if key.startswith(f"{name} / ")
                ),
                "",
            )
            rows.append([name, show(value) + ratio])
    print_table(["", "points/s"], rows, a.markdown)


if __name__ == "__main__":
    main()
