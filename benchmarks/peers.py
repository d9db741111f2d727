r"""lshfast beside its peers: the same data, the same run, speed never without recall.

    python benchmarks/peers.py dedup CORPUS.jsonl [--repeat 5] [--peers rensa,gaoya,datasketch]
                                                  [--threads 1 2] [--markdown]
    python benchmarks/peers.py signatures [--repeat 9] [--markdown]
    python benchmarks/peers.py index|forest [parts and options of benchmarks/index.py, of benchmarks/forest.py]

``dedup`` removes the texts with a Jaccard similarity of at least .8 over word 5-grams to an earlier text that
is kept: from JSONL to JSONL, outputs written. It measures whole processes from outside, from start to exit:
the command ``lshfast dedup CORPUS.jsonl -o OUT.jsonl``, and the programs of ``dedup_peers.py``. The
contestants take turns, so that a busy machine slows them alike; the figures are medians, and CPU seconds
those of the user and the system.

All are judged by the lines they wrote and by an exact join. A text that was removed is right if a kept text
is similar to it. A text that was kept is missed if an earlier kept text is similar to it. Precision is the
share of the removed that is right, and recall the share of right ones among right and missed ones; of the
texts that have no earlier copy too.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from contest import (
    ONE_THREAD,
    PERMUTATIONS,
    SEED,
    THRESHOLD,
    Figures,
    installed,
    keep_to_one_cpu,
    label,
    names,
    print_table,
    take_turns,
)
from data import read_jsonl
from dedup_peers import PEERS, SIZE
from judge import exact_pairs, word_shingles

PROGRAMS = Path(__file__).with_name("dedup_peers.py")
COLUMNS = [
    "contestant",
    "seconds",
    "CPU s",
    "system s",
    "to lshfast",
    "CPU to lshfast",
    "MB/s of CPU",
    "memory / input",
    "removed",
    "recall",
    "not copies",
    "precision",
]
# How many tokens a call signs, and the call.
Calls = dict[str, tuple[int, Callable[[], object]]]


def true_pairs(corpus: Path, judge: str) -> tuple[int, np.ndarray]:
    """Return the number of texts and the exact pairs, which are kept beside the corpus."""
    cache = corpus.with_name(f"{corpus.name}.{judge}-{SIZE}-{THRESHOLD}.npz")
    stamp = [corpus.stat().st_size, corpus.stat().st_mtime_ns]
    if cache.exists() and (kept := np.load(cache))["stamp"].tolist() == stamp:
        return int(kept["texts"]), kept["pairs"]
    _, texts = read_jsonl(corpus)
    if judge == "lshfast":
        import lshfast

        pairs = lshfast.exact.pairs(
            lshfast.shingle(texts, unit="word", size=SIZE), threshold=THRESHOLD
        )
    else:
        pairs = exact_pairs(*word_shingles(texts, SIZE), THRESHOLD)
    np.savez(cache, texts=len(texts), pairs=pairs, stamp=stamp)
    return len(texts), pairs


def dedup(
    corpus: Path,
    repeat: int,
    entrants: list[tuple[str, int]],
    judge: str,
    markdown: bool,
) -> None:
    """Compare whole processes that write the texts to keep."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = {
            (name, threads): Path(folder, f"{name}-{threads}.jsonl")
            for name, threads in entrants
            if installed(name)
        }

        def turn_of(entrant: tuple[str, int], _: int) -> Figures:
            outputs[entrant].unlink(missing_ok=True)
            return whole_process(command(*entrant, corpus, outputs[entrant]), entrant)

        took = take_turns(outputs, repeat, turn_of)
        kept = {entrant: kept_rows(corpus, out) for entrant, out in outputs.items()}
    # The exact join comes last: a process inherits the peak memory of the one that started it.
    texts, truth = true_pairs(corpus, judge)
    size = corpus.stat().st_size
    print(
        f"{corpus.name}: {size / 1e6:,.0f} MB, {texts:,} texts, {len(truth):,} pairs at {THRESHOLD} or more"
        f" by the shingles of {judge}; whole processes, outputs written, medians of {repeat} turns"
    )
    rows = []
    for entrant in entrants:
        turns = took.get(entrant)
        if turns is None:
            rows.append([label(*entrant), "not installed", *[""] * (len(COLUMNS) - 2)])
            continue
        figures = {what: median(turn[what] for turn in turns) for what in turns[0]}
        row = [label(*entrant)]
        row += [f"{figures[what]:.2f}" for what in ("seconds", "cpu", "system")]
        ours = took["lshfast", 1]
        for what in ("seconds", "cpu"):
            ratios = [
                one[what] / our[what] for one, our in zip(turns, ours, strict=True)
            ]
            row.append(f"{median(ratios):.2f}")
        row.append(f"{size / figures['cpu'] / 1e6:.0f}")
        row.append(f"{figures['peak'] / size:.2f}")
        rows.append([*row, *quality(kept[entrant], truth)])
    print_table(COLUMNS, rows, markdown)


def command(name: str, threads: int, corpus: Path, out: Path) -> list[str]:
    """Return the command of a contestant."""
    if name != "lshfast":
        return [sys.executable, str(PROGRAMS), name, str(corpus), str(out)]
    options = [f"--threads={threads}", f"--threshold={THRESHOLD}"]
    files = [str(corpus), "-o", str(out)]
    return [sys.executable, "-m", "lshfast", "dedup", *files, *options]


def whole_process(command: list[str], entrant: tuple[str, int]) -> Figures:
    """Run a command and return what it took from its start to its end."""
    # An installed package has compiled modules; so has a checkout, once a process that may write
    # them has imported it.
    environment = os.environ | ONE_THREAD
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    silent = [
        (os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0)
        for stream in (sys.stdout.fileno(), sys.stderr.fileno())
    ]
    before = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - before
    if status:
        sys.exit(f"{label(*entrant)} failed: {' '.join(command)}")
    return {
        "seconds": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "system": used.ru_stime,
        "peak": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }


def kept_rows(corpus: Path, out: Path) -> np.ndarray:
    """Return which lines of a corpus are in an output, as bool; they are in its order."""
    kept = []
    with open(corpus, "rb") as lines, open(out, "rb") as kept_lines:
        wanted = next(kept_lines, None)
        for line in lines:
            kept.append(line == wanted)
            if kept[-1]:
                wanted = next(kept_lines, None)
    if wanted is not None:
        sys.exit(f"{out} has a line that is not in {corpus}, or not in its order")
    return np.array(kept)


def quality(kept: np.ndarray, truth: np.ndarray) -> list[str]:
    """Return how many were removed, recall, recall of those that are no copies, and precision."""
    earlier = truth["i"]
    later = truth["j"]
    right = np.zeros(len(kept), dtype=bool)
    right[later[kept[earlier]]] = True
    right[earlier[kept[later]]] = True
    right &= ~kept
    missed = np.zeros(len(kept), dtype=bool)
    missed[later[kept[earlier] & kept[later]]] = True
    copy = np.zeros(len(kept), dtype=bool)
    copy[later[truth["similarity"] == 1]] = True
    removed = np.count_nonzero(~kept)
    return [
        f"{removed:,}",
        share(right, right | missed),
        share(right & ~copy, (right | missed) & ~copy),
        share(right, ~kept),
    ]


def signatures(repeat: int, markdown: bool) -> None:
    """Compare signing alone, of tokens that are hashed already, in million tokens a second on one CPU."""
    os.environ.update(ONE_THREAD)
    keep_to_one_cpu()
    rows = {name: [label(name)] for name in ("lshfast", "rensa", "datasketch")}
    for length, documents in ((200, 20_000), (2_000, 5_000)):
        tokens = np.random.default_rng(SEED).integers(
            0, 2**64, length * documents, dtype=np.uint64
        )
        speeds = alternate(signers(np.arange(documents + 1) * length, tokens), repeat)
        for name, row in rows.items():
            row.append(
                f"{median(speeds[name]) / 1e6:.1f}"
                if name in speeds
                else "not installed"
            )
    header = (
        "million tokens a second",
        "200 tokens a document",
        "2,000 tokens a document",
    )
    print_table(header, list(rows.values()), markdown)


def signers(offsets: np.ndarray, tokens: np.ndarray) -> Calls:
    """Return a call for each contestant that is installed."""
    calls: Calls = {}
    if installed("lshfast"):
        import lshfast

        sets = lshfast.TokenSets(offsets, tokens)
        hasher = lshfast.MinHasher(num_perm=PERMUTATIONS, scheme="fast", seed=SEED)
        calls["lshfast"] = len(tokens), lambda: hasher.sketch(sets)
    if installed("rensa"):
        from rensa import RMinHash

        flat = RMinHash.digest_matrix_from_flat_token_hashes
        calls["rensa"] = len(tokens), lambda: flat(tokens, offsets, PERMUTATIONS, SEED)
    if installed("datasketch"):
        from datasketch import MinHash

        few = [
            row.tolist()
            for row in np.split(tokens >> np.uint64(32), offsets[1:-1])[:250]
        ]
        choices = {"num_perm": PERMUTATIONS, "hashfunc": int}
        calls["datasketch"] = sum(map(len, few)), lambda: MinHash.bulk(few, **choices)
    return calls


def alternate(calls: Calls, repeat: int) -> dict[str, list[float]]:
    """Time the calls in turns, after one that does not count, and return tokens a second."""
    speeds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat + 1):
        for name, (count, call) in calls.items():
            before = time.perf_counter()
            call()
            speeds[name].append(count / (time.perf_counter() - before))
    return {name: measured[1:] for name, measured in speeds.items()}


def share(rows: np.ndarray, all_rows: np.ndarray) -> str:
    """Say how many of all rows, as bool, these are."""
    count = np.count_nonzero(all_rows)
    return f"{np.count_nonzero(rows) / count:.4f}" if count else "-"


def main(argv: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else [*argv]
    if arguments[:1] in (["index"], ["forest"]):
        importlib.import_module(arguments[0]).main(arguments[1:])
        return
    parser = argparse.ArgumentParser(description="Run lshfast beside its peers.")
    commands = parser.add_subparsers(dest="command", required=True)
    whole = commands.add_parser(
        "dedup", help="from a JSONL corpus to the texts to keep, as whole processes"
    )
    whole.add_argument("corpus", type=Path)
    whole.add_argument("--repeat", type=int, default=5, help="turns; the median counts")
    whole.add_argument("--peers", type=names, default=[*PEERS])
    whole.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=[1, 2],
        help="of lshfast, 1 among them",
    )
    judges = ["words", "lshfast"][: 1 + installed("lshfast")]
    whole.add_argument(
        "--judge",
        choices=judges,
        default=judges[-1],
        help=r"shingles: lshfast's, or \w+",
    )
    signing = commands.add_parser(
        "signatures", help="signing alone, of prehashed tokens"
    )
    signing.add_argument("--repeat", type=int, default=9)
    commands.add_parser(
        "index", help="the index, as benchmarks/index.py does", add_help=False
    )
    commands.add_parser(
        "forest", help="the forest, as benchmarks/forest.py does", add_help=False
    )
    for command in (whole, signing):
        command.add_argument("--markdown", action="store_true")
    a = parser.parse_args(arguments)
    if a.command == "signatures":
        signatures(a.repeat, a.markdown)
        return
    if unknown := set(a.peers) - set(PEERS):
        parser.error(f"unknown peers {sorted(unknown)}: choose from {list(PEERS)}")
    threads = sorted({1, *a.threads})
    entrants = [("lshfast", count) for count in threads]
    entrants += [(peer, 1) for peer in a.peers]
    dedup(a.corpus, a.repeat, entrants, a.judge, a.markdown)


if __name__ == "__main__":
    main()
