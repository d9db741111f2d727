"""MinHashLSHEnsemble beside datasketch's: recall, precision and time of containment queries over sets of many sizes.

    python benchmarks/ensemble.py [--entries 20000] [--thresholds .1,.3] [--queries 20,100] [--few 1500] [--markdown]

Both libraries index the same sets and answer the same queries in one process. There are two kinds of data:

- planted: each query has 40 sets planted for it. The share of the query that a set contains is uniform in [0, 1], its
  size is log-uniform in the range given, and all other elements of the set are in no other set, so that the exact
  containment is known.
- random: sets of such sizes are drawn from 20,000 elements, and every tenth is a query. Hardly any set but the query
  itself reaches a high threshold.

A set is relevant to a query if it contains at least the threshold of it. Times are microseconds a query, of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import datasketch
import numpy as np
from contest import installed, keep_to_one_cpu, names, print_table, show

import lshfast.datasketch as ours

PLANTED = 40  # sets for each query
UNIVERSE = 20_000  # elements that random sets are drawn from
EVERY = 10  # of the random sets, one in so many is a query


class Data(NamedTuple):
    """Entries as the libraries take them, and of each query its sketches, its size and the containment of each key."""

    entries: dict[str, list[tuple[int, Any, int]]]
    queries: list[tuple[dict[str, Any], int, dict[int, float]]]


def make_data(
    entries: int, size: int, sizes: Sequence[int], num_perm: int, seed: int
) -> Data:
    """Return entries, and queries of `size` elements."""
    generator = np.random.default_rng(seed)
    sets, queries, fresh = [], [], 0
    for first in range(0, entries, PLANTED):
        query = np.arange(fresh, fresh + size)
        fresh += size
        contained = {}
        for key in range(first, min(first + PLANTED, entries)):
            whole = log_uniform(generator, sizes)
            common = min(round(generator.uniform() * size), whole)
            sets.append(
                np.concatenate(
                    [
                        generator.choice(query, common, False),
                        np.arange(fresh, fresh + whole - common),
                    ]
                )
            )
            fresh += whole - common
            contained[key] = common / size
        queries.append((query, contained))
    return sketched(sets, queries, num_perm)


def make_random(entries: int, sizes: Sequence[int], num_perm: int, seed: int) -> Data:
    """Return random sets, few of which contain much of another."""
    generator = np.random.default_rng(seed)
    sets = [
        generator.choice(UNIVERSE, log_uniform(generator, sizes), False)
        for _ in range(entries)
    ]
    held = np.zeros((entries, UNIVERSE), bool)
    for row, tokens in zip(held, sets, strict=True):
        row[tokens] = True
    queries = [
        (query, dict(enumerate((held[:, query].sum(axis=1) / len(query)).tolist())))
        for query in sets[::EVERY]
    ]
    return sketched(sets, queries, num_perm)


def log_uniform(generator: np.random.Generator, sizes: Sequence[int]) -> int:
    return int(np.exp(generator.uniform(np.log(sizes[0]), np.log(sizes[1] + 1))))


def sketched(
    sets: Sequence[np.ndarray],
    queries: Sequence[tuple[np.ndarray, dict[int, float]]],
    num_perm: int,
) -> Data:
    """Return sets, and queries with the containment of each key, as the libraries take them."""
    rows = [*sets, *(query for query, _ in queries)]
    sketches = ours.MinHash.bulk(
        [[b"%d" % token for token in row.tolist()] for row in rows], num_perm=num_perm
    )
    values = [
        {
            "lshfast": mine,
            "datasketch": datasketch.MinHash(
                hashvalues=mine.hashvalues, scheme="affine32"
            ),
        }
        for mine in sketches
    ]
    return Data(
        {
            library: [
                (key, values[key][library], len(row)) for key, row in enumerate(sets)
            ]
            for library in ("datasketch", "lshfast")
        },
        [
            (values[len(sets) + i], len(query), contained)
            for i, (query, contained) in enumerate(queries)
        ],
    )


def measure(
    ensemble: Any, library: str, data: Data, threshold: float
) -> tuple[float, float, float]:
    """Return recall, precision, and microseconds a query."""
    found = relevant = right = 0
    took = 0.0
    sketches, size, _ = data.queries[0]
    next(
        ensemble.query(sketches[library], size), None
    )  # the first query may prepare what the others use
    for sketches, size, contained in data.queries:
        before = time.perf_counter()
        keys = list(ensemble.query(sketches[library], size))
        took += time.perf_counter() - before
        wanted = {key for key, share in contained.items() if share >= threshold}
        found, relevant, right = (
            found + len(keys),
            relevant + len(wanted),
            right + len(wanted.intersection(keys)),
        )
    return (
        right / max(relevant, 1),
        right / max(found, 1),
        took / len(data.queries) * 1e6,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=20000)
    parser.add_argument("--thresholds", default=".1,.2,.3,.4,.5,.6,.7,.8,.9,.95")
    parser.add_argument(
        "--queries", default="20,100,500", help="elements of a planted query"
    )
    parser.add_argument("--few", type=int, default=1500, help="random sets")
    parser.add_argument(
        "--sizes", default="10,2000", help="the least and the most elements of an entry"
    )
    parser.add_argument("--num-perm", type=int, default=128)
    parser.add_argument("--num-part", type=int, default=16)
    parser.add_argument("--m", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    keep_to_one_cpu()
    rows = []
    sizes = [int(size) for size in names(options.sizes)]
    tried = {
        f"planted, {size}": make_data(
            options.entries, size, sizes, options.num_perm, options.seed
        )
        for size in map(int, names(options.queries))
    }
    if options.few:
        tried["random"] = make_random(
            options.few, sizes, options.num_perm, options.seed
        )
    for name, data in tried.items():
        for threshold in map(float, names(options.thresholds)):
            row = [name, str(threshold)]
            for library, kind in (("datasketch", datasketch), ("lshfast", ours)):
                ensemble = kind.MinHashLSHEnsemble(
                    threshold, options.num_perm, options.num_part, options.m
                )
                ensemble.index(list(data.entries[library]))
                recall, precision, took = measure(ensemble, library, data, threshold)
                row += [f"{recall:.3f}", f"{precision:.3f}", show(took)]
            rows.append(row)
    header = [
        "queries",
        "threshold",
        *(
            f"{what} {by}"
            for by in ("peer", "ours")
            for what in ("recall", "precision", "µs")
        ),
    ]
    print_table(header, rows, options.markdown)


if __name__ == "__main__":
    if not installed("datasketch"):
        raise SystemExit("datasketch is not installed: pip install 'lshfast[bench]'")
    main()
