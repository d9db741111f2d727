"""Mirror hosts and contraction of a link graph, on built data with fixed seeds: seconds, recall and precision.

    python benchmarks/web.py [--hosts 100000] [--edges 10000000] [--names FOLDER] [--only mirrors]

Mirrors: hosts with 8 to 40 URLs. One in ten is a mirror of another one: it has nine tenths of its paths. As many are
decoys, which run the same software as another host: four tenths of their paths are equal. A pair that is reported is
right if the paths that were planted are similar, and found if its similarity is at least the threshold. With --names,
the hosts have the names of this folder of opendns/public-domain-lists, with numbers.

Contraction: sites of 64 pages, each a tree of links to its own pages, and links to popular pages of other sites. One
site in ten has a mirror with other pages, which has lost one link in 500. Mirrors can only be found from the leaves
upwards, page by page.

Seconds of CPU are those of the process; on a machine with other work, they say more than the seconds of the clock.
Exits with 1 if a target is missed: 60 s of the clock each, all reported hosts are mirrors, and at least .95 of the
planted ones are found.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from lshfast.web import contract, find_mirrors

WORDS = 3000
MOST_SECONDS, LEAST_RECALL = 60, 0.95


@contextmanager
def measured(name: str, taken: list[float]) -> Iterator[None]:
    """Print the figures of a block, and append its seconds to `taken`."""
    start, cpu = time.perf_counter(), time.process_time()
    yield
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{name:<28} {seconds:7.1f} s  {cpu:7.1f} s of CPU  peak {memory:.2f} GB")
    taken.append(seconds)


def host_names(count: int, folder: Path | None) -> list[str]:
    names = ["example.org"]
    if folder is not None:
        names = [
            name.rstrip(".")
            for name in (folder / "opendns-random-domains.txt").read_text().split()
        ]
    return [f"h{row}.{names[row % len(names)]}" for row in range(count)]


def paths_of(rng: np.random.Generator, count: int) -> list[str]:
    """Return paths of a site: words below a few folders."""
    folders = rng.integers(0, WORDS, 4)
    below, words = (
        rng.integers(0, 4, count).tolist(),
        rng.integers(0, WORDS, (count, 2)).tolist(),
    )
    return [
        f"/{WORD[folders[f]]}/{WORD[a]}/{WORD[b]}.html"
        for f, (a, b) in zip(below, words, strict=True)
    ]


_LETTERS = np.random.default_rng(0).integers(97, 123, (WORDS, 7)).astype(np.uint8)
WORD = [bytes(row).decode() for row in _LETTERS]


def build_hosts(
    count: int, folder: Path | None, seed: int = 1
) -> tuple[list[str], dict[str, tuple[str, float]]]:
    """Return the URLs, and for each mirror and decoy its original and the similarity of their paths."""
    rng = np.random.default_rng(seed)
    names = host_names(count, folder)
    sites = [paths_of(rng, int(rng.integers(8, 41))) for _ in range(count - count // 5)]
    truth = {}
    for row in range(len(sites), count):
        original = int(rng.integers(count - count // 5))
        own = sites[original]
        share = 0.9 if row % 2 else 0.4
        paths = [path for path in own if rng.random() < share]
        if row % 2 == 0:
            paths += paths_of(rng, len(own) - len(paths))
        sites.append(paths)
        a, b = set(own), set(paths)
        truth[names[row]] = names[original], len(a & b) / len(a | b)
    urls = [
        f"http://{name}{path}"
        for name, paths in zip(names, sites, strict=True)
        for path in paths
    ]
    return urls, truth


def mirrors(count: int, folder: Path | None, threshold: float = 0.6) -> bool:
    """Measure the search for mirrors; return whether its targets are reached."""
    taken: list[float] = []
    urls, truth = build_hosts(count, folder)
    print(
        f"{count:,} hosts, {len(urls):,} URLs, {sum(s >= threshold for _, s in truth.values()):,} planted mirrors"
    )
    with measured("mirrors", taken):
        found = find_mirrors(urls, threshold=threshold)
    # Mirrors of one host are mirrors of each other, so pairs are compared by their originals.
    original = {name: name for name in found.hosts} | {
        name: first for name, (first, _) in truth.items()
    }
    planted = {
        name for name, (_, similarity) in truth.items() if similarity >= threshold
    }
    reported = {mirror.host: mirror.mirror_of for mirror in found.removed}
    joined = {
        name for name in planted if name in reported or truth[name][0] in reported
    }
    right = sum(original[host] == original[kept] for host, kept in reported.items())
    recall, precision = len(joined) / len(planted), right / len(reported)
    print(
        f"recall {recall:.4f}  precision {precision:.4f}  {len(reported):,} reported  {found.compared:,} compared"
    )
    return taken[0] <= MOST_SECONDS and recall >= LEAST_RECALL and precision == 1


def link_graph(
    edges: int, seed: int = 1, site: int = 64
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Return links, the number of pages, and the number of pages that are mirrored: page i by page i + n."""
    rng = np.random.default_rng(seed)
    sites = round(edges / 11 / site)
    n = sites * site
    page = np.tile(np.arange(site), sites)
    parts = []
    for child in (2 * page + 1, 2 * page + 2):
        has = np.flatnonzero(child < site)
        parts.append(np.column_stack([has, (np.arange(n) - page + child)[has]]))
    source = np.arange(n).repeat(rng.geometric(1 / 9, n))
    parts.append(
        np.column_stack([source, (n * rng.random(len(source)) ** 6).astype(np.int64)])
    )
    links = np.concatenate(parts)
    mirrored = sites // 10 * site
    copies = links[(links[:, 0] < mirrored) & (rng.random(len(links)) > 1 / 500)]
    inside = copies[:, 0] // site == copies[:, 1] // site
    copies = copies + n * np.column_stack([np.ones(len(copies), np.int64), inside])
    source, target = np.concatenate([links, copies]).T.copy()
    return source, target, n, mirrored


def contraction(edges: int, threshold: float = 0.8) -> bool:
    """Measure the contraction of a graph; return whether its target is reached."""
    taken: list[float] = []
    source, target, n, mirrored = link_graph(edges)
    print(
        f"{len(source):,} links, {n + mirrored:,} pages, {mirrored:,} of them mirrors"
    )
    with measured("contraction", taken):
        found = contract(source, target, threshold=threshold, min_links=2)
    joined = found.labels[n : n + mirrored] == found.labels[:mirrored]
    print(
        f"{found.rounds} rounds  {found.removed:,} merged  {joined.mean():.3f} of the mirrors"
    )
    return taken[0] <= MOST_SECONDS


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument(
        "--names", type=Path, help="folder with opendns-random-domains.txt"
    )
    parser.add_argument("--only", choices=["mirrors", "contraction"])
    options = parser.parse_args()
    good = options.only == "contraction" or mirrors(options.hosts, options.names)
    return (
        0 if (options.only == "mirrors" or contraction(options.edges)) and good else 1
    )


if __name__ == "__main__":
    sys.exit(main())
