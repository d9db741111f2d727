"""The external join beside the one in memory: seconds, peak memory and bytes of temporary files, on the same records.

    python benchmarks/external_join.py [--rows 10000000] [--bands 8] [--memory 512] [--repeat 3] [--folder DIR]

Keys are random, and a tenth of the rows repeats the keys of another row. They are read from a file. Each run is a
process of its own. The data segment of "external" is limited to the cap (RLIMIT_DATA), so it fails if it takes more.
The peak is the largest resident memory of the process, with the interpreter and its libraries. Exits with 1 if the
pairs differ or the peak exceeds the cap by 5 %.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from contest import compared, in_own_process, memory, print_table, take_turns

from lshfast import candidates
from lshfast.join.external import ExternalJoin

IN_MEMORY, EXTERNAL, DIGEST = "in memory", "external", "digest"

MB = 1 << 20

# What a process takes before the join begins, and for pieces that the join does not count.
OVERHEAD = 80 * MB

PART_ROWS = 1 << 16


def make_keys(path: str, rows: int, bands: int) -> None:
    """Write keys, a tenth of them those of other rows."""
    random = np.random.default_rng(1)
    keys = np.memmap(path, np.uint64, "w+", shape=(rows, bands))
    for start in range(0, rows, PART_ROWS):
        part = keys[start : start + PART_ROWS]
        part[:] = random.integers(0, 2**64 - 1, part.shape, np.uint64)
        if start:
            some = random.random(len(part)) < 0.1
            part[some] = keys[random.integers(0, start, some.sum())]


def parts_of(path: str, bands: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Read the keys in parts, without mapping them."""
    with open(path, "rb") as file:
        while len(part := np.fromfile(file, np.uint64, PART_ROWS * bands)):
            yield part.reshape(-1, bands)


def digest_of(i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> int:
    """Return a sum over pairs, which does not depend on how they are divided into arrays."""
    words = (i.astype(np.uint64) << np.uint64(32) | j.astype(np.uint64)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    return int((words ^ words >> np.uint64(29)).sum(dtype=np.uint64))


def run(name: str, path: str, bands: int, cap: int, folder: str) -> dict[str, float]:
    """Join, and return the figures of this process."""
    digest, pairs, written = 0, 0, 0
    start = time.perf_counter()
    if name == EXTERNAL:
        resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
        with ExternalJoin(bands, folder, memory=cap - OVERHEAD) as join:
            for part in parts_of(path, bands):
                join.add(part)
            for i, j, _ in join.pairs():
                pairs += len(i)
                digest += digest_of(i, j)
            written = join.written
    else:
        i, j = candidates(np.fromfile(path, np.uint64).reshape(-1, bands), threads=1)
        pairs = len(i)
        digest = digest_of(i, j)
    return {
        "time, s": time.perf_counter() - start,
        "peak memory, MB": memory("VmHWM") / MB,
        "written, MB": written / MB,
        "pairs": pairs,
        DIGEST: digest % 2**64,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--bands", type=int, default=8)
    parser.add_argument("--memory", type=int, default=512, help="the cap in MB")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--folder",
        help="where files are written; by default the system's folder for temporary files",
    )
    parser.add_argument(
        "--run", nargs=3, metavar=("NAME", "KEYS", "FOLDER"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    cap = options.memory * MB
    if options.run:
        name, path, folder = options.run
        print(json.dumps(run(name, path, options.bands, cap, folder)))
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, "keys")
        make_keys(path, options.rows, options.bands)

        def run_once(name: str, turn: int) -> dict[str, float]:
            given = [
                "--bands",
                str(options.bands),
                "--memory",
                str(options.memory),
                "--run",
                name,
                path,
                folder,
            ]
            return in_own_process(__file__, given, f"{name}, turn {turn + 1}")

        took = take_turns([IN_MEMORY, EXTERNAL], options.repeat, run_once)
    same = (
        len({figures.pop(DIGEST) for turns in took.values() for figures in turns}) == 1
    )
    print(f"{options.rows:,} rows, {options.bands} bands, a cap of {options.memory} MB")
    print_table(["", *took], list(compared(took, IN_MEMORY)), markdown=True)
    peak = max(figures["peak memory, MB"] for figures in took[EXTERNAL])
    if not same:
        print("the pairs differ", file=sys.stderr)
    return int(not same or peak > 1.05 * options.memory)


if __name__ == "__main__":
    sys.exit(main())
