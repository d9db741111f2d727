r"""lshfast beside its peers: the same data, the same run, speed never without recall.

    python benchmarks/peers.py dedup CORPUS.jsonl [--repeat 3] [--peers rensa,gaoya,datasketch]
                                                  [--threads 1 2] [--markdown]
    python benchmarks/peers.py process CORPUS.jsonl [--repeat 5] [--peers rensa] [--threads 1 2] [--markdown]
    python benchmarks/peers.py signatures [--repeat 9] [--markdown]
    python benchmarks/peers.py index|forest [parts and options of benchmarks/index.py, of benchmarks/forest.py]

``dedup`` goes from JSONL to the list of pairs with a Jaccard similarity of at least .8 over word
5-grams. Each run is a process of its own, so that its peak memory is its own, and the contestants take
turns, so that a busy machine slows them alike. lshfast runs with its defaults, verification included.
The peers have one thread and 128 permutations in 16 bands of 8, and report what they estimate at .8 or
more; each goes the fastest way through its interface that keeps all tokens: rensa over lists of 5-gram
strings, datasketch in bulk, gaoya with its own splitter (which parts words at "_" too). A text of one
to four words is one shingle for all of them: left to themselves, gaoya would pair all such texts, and
rensa and datasketch all texts without words.

``process`` measures whole processes from outside, imports and exit included: the command ``lshfast dedup
--dry-run``, and the same runs of the peers. CPU seconds are those of the user and the system; the ratios
are medians over the turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np
from contest import (
    BANDS,
    ONE_THREAD,
    PERMUTATIONS,
    ROWS,
    SEED,
    THRESHOLD,
    Figures,
    in_own_process,
    installed,
    keep_to_one_cpu,
    label,
    names,
    print_table,
    take_turns,
)
from data import iter_jsonl, read_jsonl
from judge import exact_pairs, word_shingles

SIZE = 5
COLUMNS = [
    "contestant",
    "seconds",
    "CPU s",
    "to lshfast",
    "MB/s",
    "memory / input",
    "pairs",
]
COLUMNS += ["recall", "not copies", "precision"]
Pairs = list[tuple[int, int]]
Calls = dict[
    str, tuple[int, Callable[[], object]]
]  # how many tokens a call signs, and the call


def grams(text: str) -> list[str]:
    """Split a text into word 5-grams, a shorter text into one of all its words."""
    words = re.findall(r"\w+", text.lower())
    if len(words) < SIZE:
        return [" ".join(words)] if words else []
    return list(
        map(" ".join, zip(*(words[start:] for start in range(SIZE)), strict=False))
    )


def batches(path: str, size: int = 100) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield the rows that have words, and their 5-grams, a batch at a time."""
    rows = (
        (row, found)
        for row, (_, text) in enumerate(iter_jsonl(path))
        if (found := grams(text))
    )
    while batch := list(islice(rows, size)):
        yield [row for row, _ in batch], [found for _, found in batch]


def with_lshfast(path: str, threads: int, **choices: str) -> np.ndarray:
    import lshfast

    return lshfast.pairs(
        read_jsonl(path)[1], threshold=THRESHOLD, threads=threads, **choices
    )


def with_rensa(path: str) -> Pairs:
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(THRESHOLD, PERMUTATIONS, BANDS)
    rows, sketches, pairs = [], [], []
    for batch_rows, batch in batches(path):
        new = RMinHash.from_token_sets(batch, PERMUTATIONS, SEED)
        index.insert_many(new, len(sketches))
        rows += batch_rows
        sketches += new
    for i, found in enumerate(index.query_all(sketches)):
        own = sketches[i]
        pairs += [
            (rows[i], rows[j])
            for j in found
            if j > i and own.jaccard(sketches[j]) >= THRESHOLD
        ]
    return pairs


def with_gaoya(path: str) -> Pairs:
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(
        32, THRESHOLD, BANDS, ROWS, None, "word", True, (SIZE, SIZE), "smallvec"
    )
    pairs = []
    for row, (_, text) in enumerate(iter_jsonl(path)):
        if sum(1 for _ in islice(re.finditer(r"\w+", text), SIZE)) == SIZE:
            found = index.query(text, True)
            index.insert_document(row, text)
        elif short := grams(text):
            found = index.minhash_index.query_tokens_return_similarity(short)
            index.minhash_index.insert_tokens(row, short)
        else:
            continue
        pairs += [(other, row) for other, estimate in found if estimate >= THRESHOLD]
    return pairs


def with_datasketch(path: str) -> Pairs:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS))
    sketches, pairs = {}, []
    for rows, batch in batches(path):
        tokens = ([gram.encode() for gram in found] for found in batch)
        for row, sketch in zip(
            rows, MinHash.bulk(tokens, num_perm=PERMUTATIONS), strict=True
        ):
            pairs += [
                (i, row)
                for i in index.query(sketch)
                if sketch.jaccard(sketches[i]) >= THRESHOLD
            ]
            index.insert(row, sketch)
            sketches[row] = sketch
    return pairs


PEERS = {"rensa": with_rensa, "gaoya": with_gaoya, "datasketch": with_datasketch}


def run(name: str, threads: int, corpus: str, save: str) -> None:
    """Be one contestant: print as JSON what it took, and save its pairs, all pairs of copies among them."""
    importlib.import_module(name)
    wall, cpu = time.perf_counter(), time.process_time()
    pairs = with_lshfast(corpus, threads) if name == "lshfast" else PEERS[name](corpus)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    print(json.dumps({"seconds": wall, "cpu": cpu, "peak": peak}))
    if save and name == "lshfast":
        pairs = with_lshfast(corpus, threads, copies="all")[["i", "j"]].tolist()
    if save:
        np.save(save, np.array(pairs, dtype=np.int64).reshape(-1, 2))


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
    with tempfile.TemporaryDirectory() as folder:
        saved = {
            (name, threads): f"{folder}/{name}-{threads}.npy"
            for name, threads in entrants
            if installed(name)
        }

        def turn_of(entrant: tuple[str, int], turn: int) -> Figures:
            name, threads = entrant
            save = "" if turn else saved[entrant]
            arguments = [
                "run",
                name,
                str(corpus),
                f"--threads={threads}",
                f"--save={save}",
            ]
            return in_own_process(__file__, arguments, label(name, threads))

        took = take_turns(saved, repeat, turn_of)
        found = {entrant: np.load(path) for entrant, path in saved.items()}
    # The exact join comes last: a process inherits the peak memory of the one that started it.
    texts, truth = true_pairs(corpus, judge)
    true = truth["i"] * texts + truth["j"]
    near = true[truth["similarity"] < 1]
    size = corpus.stat().st_size
    print(
        f"{corpus.name}: {size / 1e6:,.0f} MB, {texts:,} texts; judged by the shingles of {judge}:"
    )
    print(
        f"{len(true):,} pairs at {THRESHOLD} or more, {len(near):,} of them not copies"
    )
    rows = []
    for entrant in entrants:
        runs, ours = took.get(entrant), took.get(("lshfast", 1), [])
        if not runs:
            rows.append([label(*entrant), "not installed", *[""] * (len(COLUMNS) - 2)])
            continue
        seconds, cpu, peak = (
            median(one[what] for one in runs) for what in ("seconds", "cpu", "peak")
        )
        ratios = [
            one["seconds"] / our["seconds"]
            for one, our in zip(runs, ours, strict=bool(ours))
        ]
        codes = np.unique(found[entrant] @ [texts, 1])
        row = [
            label(*entrant),
            f"{seconds:.2f}",
            f"{cpu:.2f}",
            f"{median(ratios):.2f}" if ours else "",
        ]
        row += [f"{size / seconds / 1e6:.1f}", f"{peak / size:.2f}", f"{len(codes):,}"]
        rows.append([*row, share(true, codes), share(near, codes), share(codes, true)])
    print_table(COLUMNS, rows, markdown)


def process(
    corpus: Path, repeat: int, entrants: list[tuple[str, int]], markdown: bool
) -> None:
    """Compare whole processes, from their start to their end."""
    # An installed package has compiled modules; so has a checkout, once a process that may write
    # them has imported it.
    environment = os.environ | ONE_THREAD
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    silent = [(os.POSIX_SPAWN_OPEN, sys.stdout.fileno(), os.devnull, os.O_WRONLY, 0)]

    def turn_of(entrant: tuple[str, int], _: int) -> Figures:
        name, threads = entrant
        command = [sys.executable, __file__, "run", name, str(corpus)]
        if name == "lshfast":
            options = [
                f"--threads={threads}",
                "--threshold",
                str(THRESHOLD),
                "--dry-run",
                "--quiet",
            ]
            command = [sys.executable, "-m", "lshfast", "dedup", str(corpus), *options]
        before = time.perf_counter()
        child = os.posix_spawn(command[0], command, environment, file_actions=silent)
        _, status, used = os.wait4(child, 0)
        wall = time.perf_counter() - before
        if status:
            sys.exit(f"{label(name, threads)} failed: {' '.join(command)}")
        peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return {
            "seconds": wall,
            "cpu": used.ru_utime + used.ru_stime,
            "system": used.ru_stime,
            "peak": peak,
        }

    took = take_turns(
        [entrant for entrant in entrants if installed(entrant[0])], repeat, turn_of
    )
    ours, size = took["lshfast", 1], corpus.stat().st_size
    rows = []
    for entrant, turns in took.items():
        seconds, cpu, system, peak = (
            median(turn[what] for turn in turns) for what in turns[0]
        )
        row = [label(*entrant), f"{seconds:.2f}", f"{cpu:.2f}", f"{system:.2f}"]
        for what in ("seconds", "cpu"):
            row.append(
                f"{median(one[what] / our[what] for one, our in zip(turns, ours, strict=True)):.2f}"
            )
        rows.append([*row, f"{size / seconds / 1e6:.0f}", f"{peak / size:.2f}"])
    print(
        f"{corpus.name}: {size / 1e6:,.0f} MB; whole processes, medians of {repeat} turns"
    )
    header = [
        "contestant",
        "seconds",
        "CPU s",
        "system s",
        "to lshfast",
        "CPU to lshfast",
        "MB/s",
        "memory / input",
    ]
    print_table(header, rows, markdown)


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


def share(pairs: np.ndarray, others: np.ndarray) -> str:
    """Say how many of the pairs are among the others."""
    return f"{np.isin(pairs, others).mean():.4f}" if len(pairs) else "-"


def main(argv: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else [*argv]
    if arguments[:1] in (["index"], ["forest"]):
        importlib.import_module(arguments[0]).main(arguments[1:])
        return
    parser = argparse.ArgumentParser(description="Run lshfast beside its peers.")
    commands = parser.add_subparsers(dest="command", required=True)
    whole = commands.add_parser(
        "dedup", help="from a JSONL corpus to its near-duplicate pairs"
    )
    whole.add_argument("corpus", type=Path)
    whole.add_argument(
        "--repeat", type=int, default=3, help="runs of each; the median counts"
    )
    whole.add_argument("--peers", type=names, default=[*PEERS])
    whole.add_argument(
        "--threads", type=int, nargs="+", default=[1, 2], help="of lshfast"
    )
    judges = ["words", "lshfast"][: 1 + installed("lshfast")]
    whole.add_argument(
        "--judge",
        choices=judges,
        default=judges[-1],
        help=r"shingles: lshfast's, or \w+",
    )
    outside = commands.add_parser(
        "process", help="the same as whole processes, with imports and exit"
    )
    outside.add_argument("corpus", type=Path)
    outside.add_argument(
        "--repeat", type=int, default=5, help="turns; the median counts"
    )
    outside.add_argument("--peers", type=names, default=["rensa"])
    outside.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=[1, 2],
        help="of lshfast, 1 among them",
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
    for command in (whole, outside, signing):
        command.add_argument("--markdown", action="store_true")
    one = commands.add_parser(
        "run", help="one contestant in this process (what dedup starts)"
    )
    one.add_argument("name", choices=("lshfast", *PEERS))
    one.add_argument("corpus")
    one.add_argument("--threads", type=int, default=1, help="of lshfast")
    one.add_argument("--save", default="", help="write the pairs to this .npy")
    a = parser.parse_args(arguments)
    if a.command in ("dedup", "process"):
        if unknown := set(a.peers) - set(PEERS):
            parser.error(f"unknown peers {sorted(unknown)}: choose from {list(PEERS)}")
        entrants = [("lshfast", count) for count in a.threads] + [
            (peer, 1) for peer in a.peers
        ]
        if a.command == "process":
            process(
                a.corpus,
                a.repeat,
                [("lshfast", 1), *(one for one in entrants if one != ("lshfast", 1))],
                a.markdown,
            )
        else:
            dedup(a.corpus, a.repeat, entrants, a.judge, a.markdown)
    elif a.command == "signatures":
        signatures(a.repeat, a.markdown)
    else:
        run(a.name, a.threads, a.corpus, a.save)


if __name__ == "__main__":
    main()
