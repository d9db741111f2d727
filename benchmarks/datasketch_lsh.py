"""The drop-in's MinHashLSH, forest and Redis storage beside datasketch's: same calls, same hash values, same run.

    python benchmarks/datasketch_lsh.py [memory redis forest] [--n 20000] [--threshold 0.8] [--repeat 3] [--markdown]

All calls are made one at a time, as programs written for datasketch make them. A tenth of the entries is similar to an
earlier one; each entry is queried. Each contestant runs in a process of its own, on one CPU, and they take turns;
medians count, and in brackets stands what a figure is to that of lshfast in the same turn. `redis` needs redis-server,
which both share; it begins empty for each.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from contest import (
    PERMUTATIONS,
    SEED,
    THRESHOLD,
    Figures,
    compared,
    in_own_process,
    installed,
    keep_to_one_cpu,
    label,
    memory,
    print_table,
    take_turns,
    timed,
)
from data import planted_signatures

LIBRARIES = {"lshfast": "lshfast.datasketch", "datasketch": "datasketch"}
K = 10  # of the forest's queries


def each(call: Callable[..., object], *columns: Sequence[Any]) -> float:
    """Return how many calls a second can be made, with one of each column's values."""

    def run() -> None:
        for arguments in zip(*columns, strict=True):
            call(*arguments)

    return len(columns[0]) / timed(run)


def index(library: Any, sketches: list[Any], options: dict[str, Any]) -> Figures:
    keys = [f"document {number}" for number in range(len(sketches))]
    lsh, before = library.MinHashLSH(num_perm=PERMUTATIONS, **options), memory()
    figures = {"insert, calls/s": each(lsh.insert, keys, sketches)}
    if "storage_config" not in options:
        figures["memory, bytes an entry"] = (memory() - before) / len(keys)
    figures["query, calls/s"] = each(lsh.query, sketches)
    if library.__name__.startswith("lshfast"):
        figures["query with_scores=True, calls/s"] = each(
            lambda sketch: lsh.query(sketch, with_scores=True), sketches
        )
    figures["answers a query"] = sum(
        len(lsh.query(sketch)) for sketch in sketches[:1000]
    ) / len(sketches[:1000])
    figures["remove, calls/s"] = each(lsh.remove, keys)
    with lsh.insertion_session() as session:
        insert = each(session.insert, keys, sketches)
    return figures | {"insert in a session, calls/s": insert}


def forest(library: Any, sketches: list[Any], options: dict[str, Any]) -> Figures:
    made = library.MinHashLSHForest(PERMUTATIONS)
    build = timed(
        lambda: (each(made.add, range(len(sketches)), sketches), made.index())
    )
    asked = sketches[:2000]
    return {
        "add and index, entries/s": len(sketches) / build,
        f"query of {K}, calls/s": each(lambda sketch: made.query(sketch, K), asked),
        "found itself": sum(
            key in made.query(sketch, K) for key, sketch in enumerate(asked)
        )
        / len(asked),
    }


def run(name: str, part: str, n: int, threshold: float, port: int | None) -> None:
    """Be one contestant, and print its figures as JSON."""
    keep_to_one_cpu()
    library = importlib.import_module(LIBRARIES[name])
    values = (planted_signatures(n, PERMUTATIONS, SEED) >> np.uint64(32)).astype(
        np.uint32
    )
    sketches = [
        library.LeanMinHash(seed=SEED, hashvalues=row, scheme="affine32")
        for row in values
    ]
    options: dict[str, Any] = {"threshold": threshold}
    if part == "redis":
        options["storage_config"] = {
            "type": "redis",
            "redis": {"host": "127.0.0.1", "port": port},
        }
    print(
        json.dumps((forest if part == "forest" else index)(library, sketches, options))
    )


@contextmanager
def server() -> Iterator[int]:
    """Give the port of a Redis server that saves nothing."""
    with socket.socket() as taken, tempfile.TemporaryDirectory() as folder:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
        taken.close()
        command = [
            "redis-server",
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            folder,
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            for _ in range(200):
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield port
        finally:
            process.kill()
            process.wait()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="datasketch_lsh.py",
        description="Run the drop-in beside the peer's indexes.",
    )
    parts = ("memory", "redis", "forest")
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(parts)}; all by default"
    )
    parser.add_argument(
        "--n", type=int, default=20_000, help="entries; a tenth of them on Redis"
    )
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument(
        "--repeat", type=int, default=3, help="turns, whose medians count"
    )
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--run",
        metavar="NAME",
        help="one contestant in this process (what the parts start)",
    )
    parser.add_argument("--port", type=int, help="of the Redis server")
    a = parser.parse_args(argv)
    if unknown := set(a.parts) - set(parts):
        parser.error(f"unknown parts {sorted(unknown)}: choose from {list(parts)}")
    if a.run:
        run(a.run, a.parts[0], a.n, a.threshold, a.port)
        return
    for part in a.parts or parts:
        if part == "redis" and not shutil.which("redis-server"):
            print("redis: redis-server is not installed\n")
            continue
        n = max(a.n // 10, 100) if part == "redis" else a.n

        def turn_of(name: str, turn: int, part: str = part, n: int = n) -> Figures:
            arguments = [
                part,
                f"--run={name}",
                f"--n={n}",
                f"--threshold={a.threshold}",
            ]
            if part != "redis":
                return in_own_process(__file__, arguments, f"{part}, {label(name)}")
            with server() as port:
                return in_own_process(
                    __file__, [*arguments, f"--port={port}"], f"{part}, {label(name)}"
                )

        took = take_turns(
            [name for name in LIBRARIES if installed(name)], a.repeat, turn_of
        )
        print(f"{part}: {n:,} entries\n")
        print_table(
            ["", *map(label, took)], [*compared(took, next(iter(took)))], a.markdown
        )
        print(flush=True)


if __name__ == "__main__":
    main()
