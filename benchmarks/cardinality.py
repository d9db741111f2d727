"""HyperLogLog beside datasketch's: the same values, the same run, speed never without the error of the counts.

    python benchmarks/cardinality.py [--n 500000] [--sketches 200] [--p 14] [--repeat 3] [--markdown]

Each contestant runs in a process of its own, on one CPU, and they take turns; medians count, and in brackets stands
what a figure is to that of the first, `DistinctCounter` on hashed tokens, in the same turn. datasketch takes one value
at a time, and so does lshfast's drop-in by `update`; by `update_batch` it takes a list, and DistinctCounter an array of
hashes, or the bytes, which it hashes first. The error is the root mean square of that of so many sketches, each of
n / 100 to n values, of 1.04 / sqrt(2**p).
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

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
    timed,
)

Update = Callable[[Any, Any], None]


class Dropin:
    """A HyperLogLogPlusPlus, of datasketch or of lshfast."""

    module: str

    def __init__(self, p: int) -> None:
        import importlib

        self.make = lambda **registers: importlib.import_module(
            self.module
        ).HyperLogLogPlusPlus(p, **registers)

    def values(self, n: int) -> Any:
        return [b"value %d" % i for i in range(n)]

    def update(self, sketch: Any, values: Any) -> None:
        update = sketch.update
        for value in values:
            update(value)

    def of_registers(self, registers: np.ndarray) -> Any:
        return [self.make(reg=row.view(np.int8)) for row in registers]

    def count(self, sketches: Any) -> Any:
        return [sketch.count() for sketch in sketches]

    def merge(self, sketches: Any) -> None:
        total = self.make()
        for sketch in sketches:
            total.merge(sketch)


class Datasketch(Dropin):
    module = "datasketch"


class LshfastDropin(Dropin):
    module = "lshfast.datasketch.hyperloglog"


class LshfastDropinBatch(LshfastDropin):
    def update(self, sketch: Any, values: Any) -> None:
        sketch.update_batch(values)


class Lshfast:
    def __init__(self, p: int) -> None:
        from lshfast.sketch.cardinality import DistinctCounter

        self.counter = DistinctCounter(p)
        self.make = self.counter.empty

    def values(self, n: int) -> Any:
        return np.random.default_rng(SEED).integers(0, 2**64, n, np.uint64)

    def update(self, sketch: Any, values: Any) -> None:
        self.counter.update(sketch, values, threads=1)

    def of_registers(self, registers: np.ndarray) -> Any:
        return registers

    def count(self, sketches: Any) -> Any:
        return self.counter.count(sketches)

    def merge(self, sketches: Any) -> None:
        total = self.counter.empty()
        for sketch in sketches:
            np.maximum(total, sketch, out=total)


class LshfastBytes(Lshfast):
    def values(self, n: int) -> Any:
        return [b"value %d" % i for i in range(n)]

    def update(self, sketch: Any, values: Any) -> None:
        from lshfast.kernels import text

        self.counter.update(
            sketch, text.tokens_of_texts(text.Texts(values), SEED), threads=1
        )


CONTESTANTS: dict[tuple[str, str], Callable[[int], Dropin | Lshfast]] = {
    ("lshfast", "DistinctCounter, hashed"): Lshfast,
    ("lshfast", "DistinctCounter, bytes"): LshfastBytes,
    ("lshfast", "update_batch"): LshfastDropinBatch,
    ("lshfast", "update"): LshfastDropin,
    ("datasketch", "update"): Datasketch,
}


def again(call: Callable[[], object]) -> float:
    """Return the median of the seconds that a call takes, made again until half a second is over."""
    taken = [timed(call)]
    while sum(taken) < 0.5:
        taken.append(timed(call))
    return median(taken)


def random_registers(n: int, sketches: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return registers of sets of random hashes, as both libraries' ranks are spread, and the sizes of the sets."""
    from lshfast.sketch.cardinality import DistinctCounter

    rng, counter = np.random.default_rng(SEED), DistinctCounter(p)
    sizes = np.geomspace(n / 100, n, sketches).astype(np.int64)
    registers = counter.empty(sketches)
    for row, size in zip(registers, sizes, strict=True):
        counter.update(row, rng.integers(0, 2**64, size, np.uint64), threads=1)
    return np.asarray(registers), sizes


def run(name: str, way: str, n: int, sketches: int, p: int) -> None:
    """Be one contestant, and print its figures as JSON."""
    keep_to_one_cpu()
    warnings.simplefilter("ignore")
    one = CONTESTANTS[name, way](p)
    values = one.values(n)
    update = again(lambda: one.update(one.make(), values))
    registers, sizes = random_registers(n, sketches, p)
    made = one.of_registers(registers)
    errors = np.asarray(one.count(made)) / sizes - 1
    figures = {
        "update, values/s": n / update,
        "count, sketches/s": sketches / again(lambda: one.count(made)),
        "merge, sketches/s": sketches / again(lambda: one.merge(made)),
        "error of 1.04 / sqrt(2**p)": float(np.sqrt(np.mean(errors**2)))
        / (1.04 / math.sqrt(2**p)),
    }
    print(json.dumps(figures))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="cardinality.py", description="Run lshfast's HyperLogLog beside a peer's."
    )
    parser.add_argument("--n", type=int, default=500_000, help="values")
    parser.add_argument(
        "--sketches", type=int, default=200, help="to count and to merge"
    )
    parser.add_argument("--p", type=int, default=14, help="of 2**p registers")
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument(
        "--markdown", action="store_true", help="print a Markdown table"
    )
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    a = parser.parse_args(argv)
    if a.one:
        run(*a.one, a.n, a.sketches, a.p)
        return

    def turn(entrant: tuple[str, str], _: int) -> Figures:
        arguments = [
            "--one",
            *entrant,
            "--n",
            str(a.n),
            "--sketches",
            str(a.sketches),
            "--p",
            str(a.p),
        ]
        return in_own_process(str(Path(__file__)), arguments, ", ".join(entrant))

    took = take_turns(
        [entrant for entrant in CONTESTANTS if installed(entrant[0])], a.repeat, turn
    )
    header = ["", *(f"{label(name)}, {way}" for name, way in took)]
    print_table(header, [*compared(took, next(iter(took)))], a.markdown)


if __name__ == "__main__":
    main()
