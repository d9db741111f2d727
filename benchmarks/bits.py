"""Small signatures beside numpy: how many slots of one signature a core compares with those of many others, a second.

    python benchmarks/bits.py [signatures groups packed making] [--n 1000 100000] [--k 128] [--repeat 3] [--markdown]

No peer compares one signature with many in a call, so what is measured beside lshfast is the shortest numpy for the
same answer: of full signatures `(one == all).mean(axis=1)`, of packed ones the xor, folded and counted with
`np.bitwise_count`. Each runs in a process of its own, on one CPU, and they take turns; medians count, and in brackets
stands what a figure is to that of lshfast in the same turn. With --n 1000 what is compared lies in the cache, with
--n 100000 in memory. `making` is lshfast alone: the signatures of sets of 200 tokens, and packing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import numpy as np
from contest import (
    PERMUTATIONS,
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

WIDTHS = (1, 2, 4, 8, 16)
TOKENS, SETS = 200, 5_000
NONE = np.uint64(2**64 - 1)
Call = Callable[[], object]


def plant(n: int, k: int) -> np.ndarray:
    """Return n signatures; those in the first half share half of their slots with the first one."""
    signatures = np.random.default_rng(SEED).integers(0, 2**56, (n, k), np.uint64)
    signatures[: n // 2, ::2] = signatures[0, ::2]
    return signatures


def fold(differing: np.ndarray, width: int) -> np.ndarray:
    """Return of each slot of some words the lowest bit: whether any of its own is set."""
    shift = 1
    while shift < width:
        differing |= differing >> np.uint64(shift)
        shift *= 2
    return differing & np.uint64((2**64 - 1) // (2**width - 1))


def lshfast(part: str, n: int, k: int) -> Iterator[tuple[str, int, Call]]:
    """Yield what lshfast does: its name, how many slots or tokens there are, and the call."""
    from lshfast import MinHasher, TokenSets
    from lshfast.sketch import BBits, OnePermutation
    from lshfast.sketch.compare import equal_slots

    signatures = plant(n, k)
    if part == "signatures":
        yield (
            f"full, {n:,} in all, slots/s",
            n * k,
            lambda: equal_slots(signatures[0], signatures) / k,
        )
    if part == "groups":
        signatures[:, 3::4] = NONE
        sketcher = OnePermutation(k)
        yield (
            f"one permutation, {n:,} in all, slots/s",
            n * k,
            lambda: sketcher.similarity(signatures[0], signatures),
        )
    if part == "packed":
        for width in WIDTHS:
            packer = BBits(width, MinHasher(k))
            packed = np.asarray(packer.pack(signatures, threads=1))
            what = f"{width} bits a slot, {n:,} in all, slots/s"
            yield what, n * k, lambda p=packer, rows=packed: p.similarity(rows[0], rows)
    if part == "making":
        tokens = np.random.default_rng(SEED).integers(
            0, 2**64, SETS * TOKENS, np.uint64
        )
        sets = TokenSets(np.arange(SETS + 1) * TOKENS, tokens)
        sketcher = OnePermutation(k)
        yield (
            "sketch by one permutation, tokens/s",
            SETS * TOKENS,
            lambda: sketcher.sketch(sets, threads=1),
        )
        fast = MinHasher(k)
        yield (
            "sketch by the scheme fast, tokens/s",
            SETS * TOKENS,
            lambda: fast.sketch(sets, threads=1),
        )
        for width in WIDTHS:
            packer = BBits(width, fast)
            what = f"pack {width} bits a slot, {n:,} in all, slots/s"
            yield what, n * k, lambda p=packer: p.pack(signatures, threads=1)


def plain_numpy(part: str, n: int, k: int) -> Iterator[tuple[str, int, Call]]:
    """Yield the same calls in numpy."""
    signatures = plant(n, k)
    if part == "signatures":
        yield (
            f"full, {n:,} in all, slots/s",
            n * k,
            lambda: (signatures[0] == signatures).mean(axis=1),
        )
    if part == "groups":
        signatures[:, 3::4] = NONE

        def three_cases() -> np.ndarray:
            one = signatures[0]
            equal, none = signatures == one, (signatures & one) == NONE
            return (equal.sum(axis=1) - none.sum(axis=1)) / np.maximum(
                k - none.sum(axis=1), 1
            )

        yield f"one permutation, {n:,} in all, slots/s", n * k, three_cases
    if part == "packed" and hasattr(np, "bitwise_count"):
        for width in WIDTHS:
            packed = np.random.default_rng(SEED).integers(
                0, 2**64, (n, k * width // 64), np.uint64
            )

            def differing(
                packed: np.ndarray = packed, width: int = width
            ) -> np.ndarray:
                equal = k - np.bitwise_count(fold(packed ^ packed[0], width)).sum(
                    axis=1
                )
                return (equal / k - 0.5**width) / (1 - 0.5**width)

            yield f"{width} bits a slot, {n:,} in all, slots/s", n * k, differing


CONTESTANTS = {"lshfast": lshfast, "numpy": plain_numpy}
PARTS = {
    "signatures": [*CONTESTANTS],
    "groups": [*CONTESTANTS],
    "packed": [*CONTESTANTS],
    "making": ["lshfast"],
}


def run(name: str, part: str, counts: Sequence[int], k: int) -> None:
    """Be one contestant in one part, and print its figures as JSON."""
    keep_to_one_cpu()
    figures = {}
    for n in counts:
        for what, amount, call in CONTESTANTS[name](part, n, k):
            timed(call)
            taken = [timed(call)]
            while sum(taken) < 0.3 or len(taken) < 3:
                taken.append(timed(call))
            figures[what] = amount / median(taken)
    print(json.dumps(figures))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="bits.py", description="Compare small signatures beside numpy."
    )
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default"
    )
    parser.add_argument(
        "--n",
        type=int,
        nargs="+",
        default=[1_000, 100_000],
        help="signatures to compare with",
    )
    parser.add_argument(
        "--k",
        type=int,
        default=PERMUTATIONS,
        help="slots a signature, a multiple of 64",
    )
    parser.add_argument(
        "--repeat", type=int, default=3, help="turns, whose medians count"
    )
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--run",
        metavar="NAME",
        help="one contestant in this process (what the parts start)",
    )
    a = parser.parse_args(argv)
    if unknown := set(a.parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}: choose from {list(PARTS)}")
    if a.k < 64 or a.k % 64:
        parser.error(f"--k must be a multiple of 64, not {a.k}")
    if a.run:
        run(a.run, a.parts[0], a.n, a.k)
        return
    for part in a.parts or PARTS:

        def turn_of(name: str, turn: int, part: str = part) -> Figures:
            arguments = [part, f"--run={name}", "--n", *map(str, a.n), f"--k={a.k}"]
            return in_own_process(__file__, arguments, f"{part}, {label(name)}")

        took = take_turns(
            [name for name in PARTS[part] if installed(name)], a.repeat, turn_of
        )
        print_table(["", *map(label, took)], [*compared(took, "lshfast")], a.markdown)
        print(flush=True)


if __name__ == "__main__":
    main()
