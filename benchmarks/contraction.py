"""Components of links under a cap of memory, beside a union-find of all nodes in memory, on the same links.

    python benchmarks/contraction.py [--links 100000000] [--memory 256] [--graph groups random path] [--folder DIR]

"groups" has paths of 8 nodes in the mean, as near-duplicates do, and an eighth fewer links. "random" joins each node to
a random one, so nearly all of them are one component. "path" is one path through all nodes. The nodes have random
numbers, and links come in random order. Each run is a process of its own. The data segment of "external" is limited to
the cap (RLIMIT_DATA), so it fails if it takes more. Exits with 1 if the labels differ.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from contest import in_own_process, print_table

from lshfast.join.external.contraction import (
    BUFFER_RECORD_BYTES,
    MERGE_SHARE,
    StarContraction,
)
from lshfast.kernels.sets import Components

IN_MEMORY, EXTERNAL = "in memory", "external"
MB = 1 << 20

# What a process takes before it begins, and for pieces that are not counted.
OVERHEAD = 60 * MB

PIECE_LINKS = 1 << 16

Numbers = npt.NDArray[np.int64]


def scrambled(numbers: Numbers, bits: int) -> Numbers:
    """Return the places of numbers below 2**bits in a fixed permutation of them."""
    mask, words = np.uint64((1 << bits) - 1), numbers.astype(np.uint64)
    for odd in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x94D049BB133111EB):
        words = words * np.uint64(odd) & mask
        words ^= words >> np.uint64(bits // 2)
    return words.astype(np.int64)


def links_of(graph: str, links: int, bits: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield links over nodes below 2**bits."""
    random = np.random.default_rng(1)
    for at in range(0, 1 << bits, PIECE_LINKS):
        left = scrambled(
            np.arange(at, at + PIECE_LINKS, dtype=np.int64), bits
        )  # each node once
        left = left[left < links]
        if graph == "groups":
            left = left[
                scrambled(left, 32) % 8 != 0
            ]  # a path ends before one node in eight
        right = random.integers(0, links, len(left)) if graph == "random" else left + 1
        yield scrambled(left, bits), scrambled(right, bits)


def run(
    name: str, graph: str, links: int, bits: int, cap: int, folder: str
) -> dict[str, float]:
    """Find the components, and return the figures of this process."""
    digest, rounds, written = 0, 0, 0
    start = time.process_time()
    if name == EXTERNAL:
        resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
        merges = int((cap - OVERHEAD) * MERGE_SHARE)
        records = (cap - OVERHEAD - merges) // BUFFER_RECORD_BYTES
        with StarContraction(folder, "links", records, merges) as contraction:
            for nodes, labels in contraction.run(links_of(graph, links, bits)):
                digest += digest_of(nodes, labels)
            rounds, written = contraction.rounds, contraction.written
    else:
        components = Components(1 << bits)
        for left, right in links_of(graph, links, bits):
            components.join(left, right)
        found = components.finished()
        for at in range(0, len(found), PIECE_LINKS):
            labels = found[at : at + PIECE_LINKS]
            digest += digest_of(np.arange(at, at + len(labels), dtype=np.int64), labels)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "digest": float(digest % (1 << 52)),
        "processor time, s": time.process_time() - start,
        "peak memory, MB": usage.ru_maxrss * 1024 / MB,
        "written, GB": written / 1e9,
        "star operations": rounds,
    }


def digest_of(nodes: Numbers, labels: Numbers) -> int:
    """Return a sum over nodes that are not their own label."""
    own = nodes != labels
    words = nodes[own].astype(np.uint64) << np.uint64(32) ^ labels[own].astype(
        np.uint64
    )
    words *= np.uint64(0x9E3779B97F4A7C15)
    return int((words ^ words >> np.uint64(29)).sum(dtype=np.uint64))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, default=100_000_000)
    parser.add_argument("--memory", type=int, default=256, help="the cap in MB")
    parser.add_argument(
        "--graph",
        nargs="+",
        choices=["groups", "random", "path"],
        default=["groups", "random", "path"],
    )
    parser.add_argument(
        "--folder",
        help="where files are written; by default the system's folder for temporary files",
    )
    parser.add_argument(
        "--run", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    bits = max(PIECE_LINKS.bit_length() - 1, (options.links + 1).bit_length())
    if options.run:
        name, folder = options.run
        print(
            json.dumps(
                run(
                    name,
                    options.graph[0],
                    options.links,
                    bits,
                    options.memory * MB,
                    folder,
                )
            )
        )
        return 0
    different = False
    for graph in options.graph:
        figures = {}
        for name in (IN_MEMORY, EXTERNAL):
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                given = [
                    "--links",
                    str(options.links),
                    "--memory",
                    str(options.memory),
                    "--graph",
                    graph,
                ]
                figures[name] = in_own_process(
                    __file__, [*given, "--run", name, folder], f"{graph}, {name}"
                )
        different |= len({found.pop("digest") for found in figures.values()}) > 1
        print(f"{graph}: {options.links:,} links, a cap of {options.memory} MB")
        lines = [
            [label, *(f"{found[label]:,.1f}" for found in figures.values())]
            for label in figures[IN_MEMORY]
        ]
        print_table(["", *figures], lines, markdown=True)
    if different:
        print("the labels differ", file=sys.stderr)
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
