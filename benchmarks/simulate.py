"""The bucket join of a run at a hundredth of its size: records of all bands, sorted and linked in bounded memory."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from resource import RUSAGE_SELF, getrusage

import numpy as np
import numpy.typing as npt

from lshfast.join.external import SortedRuns
from lshfast.join.external.components import links
from lshfast.join.external.contraction import (
    BUFFER_RECORD_BYTES,
    MERGE_SHARE,
    StarContraction,
)
from lshfast.join.external.run_file import RECORD_BYTES
from lshfast.kernels import runs as kernels

PIECE_ROWS = 1 << 16

# Every tenth row is a copy of the row before it, and has its key in a band with this probability:
# that of a pair with a similarity of .9 for 7 rows a band, the default.
PERIOD, SHARED = 10, 0.9**7

# Keys by chance are counted for the whole keys, which have hardly any, and for so many of their
# upper bits.
UPPER_BITS = 48

# Only a hundredth of the rows is drawn: the others would lie between them.
STRIDE = 100

Words = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]


class Simulation:
    """Bands of records, their links, and what they take.

    Parameters
    ----------
    records : int
        The rows, each of which has a record in each band.
    bands : int
    memory : int
        Bytes; half of them are for the records and half for the links.
    folder : str
    """

    def __init__(self, records: int, bands: int, memory: int, folder: str) -> None:
        self.records, self.bands, self.memory, self.folder = (
            records,
            bands,
            memory // 2,
            folder,
        )
        self.seconds = dict.fromkeys(["draw", "sort", "merge and link"], 0.0)
        self.links = self.by_chance = self.upper_by_chance = self.written = 0

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self.seconds[stage] += time.process_time() - start

    def all_links(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield the links of all bands, and count what is by chance."""
        for band in range(self.bands):
            rng = np.random.default_rng([1, band])
            memory = np.empty((2, self.memory // (2 * RECORD_BYTES), 2), np.uint64)
            with SortedRuns(self.folder, f"band-{band}", *memory) as runs:
                del memory
                self.fill(runs, rng)
                found = links(self.counted(runs))
                while True:
                    with self.clock("merge and link"):
                        some = next(found, None)
                    if some is None:
                        break
                    left, right = some
                    self.links += len(left)
                    self.by_chance += int((~are_planted(left, right)).sum())
                    yield left, right
                self.written += runs.written
            print(
                f"band {band + 1}: {self.links:,} links, {self.seconds}",
                file=sys.stderr,
            )

    def fill(self, runs: SortedRuns, rng: np.random.Generator) -> None:
        """Draw the keys of a band, and add its records."""
        for start in range(0, self.records, PIECE_ROWS):
            with self.clock("draw"):
                keys = rng.integers(
                    0, 2**64 - 1, (min(PIECE_ROWS, self.records - start), 1), np.uint64
                )
                copies = np.arange(-start % PERIOD + 1, len(keys), PERIOD)
                copies = copies[rng.random(len(copies)) < SHARED]
                keys[copies] = keys[copies - 1]
            with self.clock("sort"):
                at = 0
                while at < len(keys):
                    room = runs.room()
                    made = kernels.records_of_band(
                        keys[at : at + len(room)], 0, start + at, room
                    )
                    room[:made, 1] *= np.uint64(STRIDE)
                    runs.take(made)
                    at += made
        with self.clock("sort"):
            runs.spill()

    def counted(self, runs: SortedRuns) -> Iterator[Words]:
        """Yield sorted records, and count the neighbours that have the same upper bits by chance."""
        for records in runs.merged(self.memory):
            for at in range(0, len(records), PIECE_ROWS):
                part = records[at : at + PIECE_ROWS + 1]
                upper = part[:, 0] >> np.uint64(64 - UPPER_BITS)
                same = np.flatnonzero(upper[1:] == upper[:-1])
                rows = part[:, 1].astype(np.int64)
                self.upper_by_chance += int(
                    (~are_planted(rows[same], rows[same + 1])).sum()
                )
            yield records


def are_planted(left: Rows, right: Rows) -> npt.NDArray[np.bool_]:
    """Return whether rows are a copy and its original."""
    planted: npt.NDArray[np.bool_] = (right - left == STRIDE) & (
        right // STRIDE % PERIOD == 1
    )
    return planted


def simulate(options: argparse.Namespace) -> int:
    """Join records, and print what they take, and what a hundred times as many will."""
    memory = options.memory_bytes
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = Simulation(options.records, options.bands, memory, folder)
        merges = int(memory // 2 * MERGE_SHARE)
        start, nodes, components = time.process_time(), 0, 0
        with StarContraction(
            folder, "links", (memory // 2 - merges) // BUFFER_RECORD_BYTES, merges
        ) as contraction:
            for node, label in contraction.run(run.all_links()):
                nodes += len(node)
                components += int((node == label).sum())
            rounds, written = contraction.rounds, contraction.written
        run.seconds["contract"] = (
            time.process_time() - start - sum(run.seconds.values())
        )
    n, total = options.records, options.records * options.bands
    different = n - run.links / options.bands  # keys of a band
    print(
        f"{n:,} rows, {options.bands} bands, {memory / 1e9:.1f} GB of memory, {RECORD_BYTES} bytes a record\n"
    )
    print("| | CPU seconds | ns a record | bytes written a record |")
    print("|---|--:|--:|--:|")
    for stage, seconds in run.seconds.items():
        each = {"sort": run.written, "contract": written}.get(stage, 0) / total
        print(
            f"| {stage} | {seconds:,.1f} | {seconds / total * 1e9:,.0f} | {each:,.1f} |"
        )
    print(
        f"\nlinks {run.links:,}; nodes {nodes:,}; components {components:,}; star operations {rounds}"
    )
    for bits, found in ((64, run.by_chance), (UPPER_BITS, run.upper_by_chance)):
        print(
            f"equal by chance in {bits} bits: {found:,}, expected {options.bands * different**2 / 2 ** (bits + 1):,.4f}"
        )
    print(
        f"peak of resident memory {getrusage(RUSAGE_SELF).ru_maxrss * 1024 / 1e9:.2f} GB"
    )
    used = sum(run.seconds.values()) - run.seconds["draw"]
    by_chance = options.bands * (STRIDE * different) ** 2 / 2**65
    print(
        f"{STRIDE * n:,} rows: {STRIDE * used / 3600:,.0f} CPU hours, {STRIDE * total * RECORD_BYTES / 1e12:,.1f} TB of"
    )
    print(
        f"records, {STRIDE * written / 1e12:,.1f} TB for links, {by_chance:,.0f} equal keys by chance"
    )
    return 0
