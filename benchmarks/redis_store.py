"""The Redis store beside datasketch's index on Redis: the same signatures, one server, in turns.

    python benchmarks/redis_store.py [--n 100000] [--queries 10000] [--repeat 3] [--markdown]

Signatures have 128 slots in 16 bands of 8, and keys are ints. The server, on this machine, is started here and empty
before each turn; medians count. datasketch inserts in a session, with its look for duplicates and without, and has
no queries in batches; it keeps no signatures, which lshfast does, and compares before it answers. Answers to
--queries of the inserted are held against brute force.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from contest import (
    BANDS,
    PERMUTATIONS,
    ROWS,
    SEED,
    THRESHOLD,
    Figures,
    label,
    print_table,
)
from contestants import lean_minhashes
from data import band_matches, planted_signatures

sys.path.append(str(Path(__file__).parents[1]))
from tests.index.redis_server import RedisServer

ONES = 1_000  # entries that are inserted and queried one at a time
BATCH = 10_000

Answers = list[tuple[int, int]]  # query, key


def clocked(work: Iterator[Any]) -> float:
    before = time.perf_counter()
    for _ in work:
        pass
    return time.perf_counter() - before


def with_lshfast(
    server: RedisServer, signatures: np.ndarray, queries: np.ndarray
) -> tuple[Figures, Answers]:
    from lshfast.index.stores.redis import RedisStore
    from lshfast.index.stores.values import Parameters

    store = RedisStore(server.url)
    store.bind(Parameters(PERMUTATIONS, BANDS, ROWS, "fast", SEED, THRESHOLD))
    n, found = len(signatures), []

    def insert(low: int, high: int, step: int) -> Iterator[int]:
        for first in range(low, high, step):
            keys = np.arange(first, min(first + step, high))
            yield store.insert(keys, signatures[keys], "error")

    def query(step: int, count: int) -> Iterator[Any]:
        for first in range(0, count, step):
            rows = queries[first : first + step]
            answer = store.query(signatures[rows], least=0, threads=1)
            found.append((np.repeat(rows, np.diff(answer.offsets)), answer.keys))
            yield

    seconds = {"insert": clocked(insert(0, n, BATCH))}
    seconds["query"] = clocked(query(BATCH, len(queries)))
    answers = np.concatenate(found, axis=1).T
    seconds["query one"] = clocked(query(1, ONES))
    figures = server_figures(server, n)
    seconds["remove"] = clocked(
        map(store.remove, (np.arange(i, min(i + BATCH, n)) for i in range(0, n, BATCH)))
    )
    if len(store):
        raise RuntimeError("entries are left over")
    seconds["insert one"] = clocked(insert(0, ONES, 1))
    store.close()
    return rates(seconds, n, len(queries)) | figures, [*map(tuple, answers.tolist())]


def with_datasketch(
    server: RedisServer, signatures: np.ndarray, queries: np.ndarray, check: bool
) -> tuple[Figures, Answers]:
    from datasketch import MinHashLSH

    sketches = lean_minhashes(signatures)
    storage = {
        "type": "redis",
        "basename": b"bench",
        "redis": {"host": "127.0.0.1", "port": server.port},
    }
    index = MinHashLSH(
        num_perm=PERMUTATIONS, params=(BANDS, ROWS), storage_config=storage
    )
    n, found = len(sketches), []

    def insert() -> Iterator[None]:
        with index.insertion_session() as session:
            for key, sketch in enumerate(sketches):
                yield session.insert(key, sketch, check_duplication=check)

    def query(rows: list[int]) -> Iterator[None]:
        for row in rows:
            found.extend((row, key) for key in index.query(sketches[row]))
            yield

    seconds = {"insert": clocked(insert())}
    figures = server_figures(server, n)
    seconds["query"] = seconds["query one"] = clocked(query(queries.tolist()))
    seconds["query one"] *= ONES / len(queries)
    if check:
        few = range(0, n, max(1, n // ONES))
        seconds["remove"] = clocked(map(index.remove, few)) * n / len(few)
        seconds["insert one"] = (
            clocked(map(index.insert, few, (sketches[row] for row in few)))
            * ONES
            / len(few)
        )
    return rates(seconds, n, len(queries)) | figures, found


def rates(seconds: dict[str, float], n: int, queries: int) -> Figures:
    amounts = {
        "insert": n,
        "query": queries,
        "remove": n,
        "query one": ONES,
        "insert one": ONES,
    }
    return {f"{part}/s": amounts[part] / taken for part, taken in seconds.items()}


def server_figures(server: RedisServer, n: int) -> Figures:
    with server.client() as client:
        return {
            "server bytes an item": client.info("memory")["used_memory_dataset"] / n
        }


CONTESTANTS: dict[str, Callable[..., tuple[Figures, Answers]]] = {
    label("lshfast"): with_lshfast,
    f"{label('datasketch')}, checked": lambda *common: with_datasketch(
        *common, check=True
    ),
    f"{label('datasketch')}, unchecked": lambda *common: with_datasketch(
        *common, check=False
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Run the Redis store beside datasketch's."
    )
    parser.add_argument("--n", type=int, default=100_000, help="signatures")
    parser.add_argument("--queries", type=int, default=10_000, help="of them")
    parser.add_argument(
        "--repeat", type=int, default=3, help="turns of each; the median counts"
    )
    parser.add_argument("--markdown", action="store_true")
    choices = parser.parse_args()
    signatures = planted_signatures(choices.n, PERMUTATIONS)
    queries = np.sort(
        np.random.default_rng(SEED).choice(
            choices.n, min(choices.queries, choices.n), replace=False
        )
    )
    truth = band_matches(signatures, queries, BANDS, ROWS).tolist()
    turns: dict[str, list[Figures]] = {name: [] for name in CONTESTANTS}
    with RedisServer() as server:
        for _ in range(choices.repeat):
            for name, contestant in CONTESTANTS.items():
                with server.client() as client:
                    client.flushall()
                figures, answers = contestant(server, signatures, queries)
                if sorted(query * choices.n + key for query, key in answers) != truth:
                    raise RuntimeError(
                        f"{name}: {len(answers)} answers are not the {len(truth)} there are"
                    )
                turns[name].append(figures)
                print(name, figures, file=sys.stderr)
    parts = [
        "insert/s",
        "query/s",
        "remove/s",
        "insert one/s",
        "query one/s",
        "server bytes an item",
    ]
    rows = []
    for name, figures in turns.items():
        cells = [
            f"{median(turn[part] for turn in figures):,.0f}"
            if part in figures[0]
            else "-"
            for part in parts
        ]
        rows.append([name, *cells])
    print_table(["", *parts], rows, choices.markdown)


if __name__ == "__main__":
    main()
