"""Which method finds which duplicates, at what cost: identical items by hashes, positions and filters, beside LSH.

    python benchmarks/identical.py [--n 50000] [--words 300] [--strings 1000000] [--repeat 5] [--markdown]

The corpus has n texts, of which a tenth are exact copies of other texts, and a tenth near copies with a Jaccard
similarity of .9. All methods take turns in one process on one CPU, each with new bytes objects, since a bytes object
keeps its hash for dict; medians count. The columns:

    exact, near   the share of the copies that the method finds, in percent; of the filter, those that it does not
                  report as new; of the count, its error in percent is told instead
    wrong         of the texts that are no copies, the share that the method takes for copies, in percent
    us a text, MB/s
    bytes a text  the most memory that the method takes at a time (tracemalloc), without the texts

Then --strings strings of about 28 bytes, a third of which occur before, beside Python's set and polars: seconds of
processor time, in turns, from a list of Python and from a column of Arrow.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from contest import SEED, keep_to_one_cpu, print_table, show, timed
from data import synthetic

BATCH = 1000


class Texts(NamedTuple):
    """Texts as UTF-8, and which of them are exact copies and near copies of earlier ones."""

    texts: list[bytes]
    exact: npt.NDArray[np.bool_]
    near: npt.NDArray[np.bool_]

    def fresh(self) -> list[bytes]:
        """Return the texts as new objects."""
        return [bytes(bytearray(text)) for text in self.texts]


def corpus(n: int, words: int) -> Texts:
    """Make the texts."""
    rng = np.random.default_rng(SEED)
    texts: list[bytes] = []
    exact, near = [], []
    for _, text, planted in synthetic(n - n // 10, words, 1 / 9, [0.9], SEED):
        texts.append(text.encode())
        exact.append(False)
        near.append(planted is not None)
    originals = np.flatnonzero(~np.array(near))
    texts += [texts[row] for row in rng.choice(originals, n // 10)]
    exact, near = exact + [True] * (n // 10), near + [False] * (n // 10)
    return Texts(texts, np.array(exact), np.array(near))


def batches(texts: list[bytes]) -> Iterator[list[bytes]]:
    return (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))


def by_digest(texts: list[bytes]) -> npt.NDArray[np.bool_]:
    seen: set[bytes] = set()
    found = []
    for text in texts:
        digest = hashlib.blake2b(text, digest_size=16).digest()
        found.append(digest in seen)
        seen.add(digest)
    return np.array(found)


def by_dict(texts: list[bytes]) -> npt.NDArray[np.bool_]:
    seen: set[bytes] = set()
    found = []
    for text in texts:
        found.append(text in seen)
        seen.add(text)
    return np.array(found)


def methods(n: int) -> dict[str, Callable[[list[bytes]], Any]]:
    """Return each method as a call that returns which texts are copies, or their number."""
    import lshfast
    from lshfast.join import (
        ItemFilter,
        count_distinct,
        find_identical,
        find_identical_in_batches,
    )

    def copies(first: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        return first != np.arange(len(first))

    def by_filter(texts: list[bytes]) -> npt.NDArray[np.bool_]:
        seen = ItemFilter(n)
        return ~np.concatenate([seen.add(batch) for batch in batches(texts)])

    def in_batches(texts: list[bytes]) -> npt.NDArray[np.bool_]:
        found = np.zeros(n, bool)
        found[find_identical_in_batches(lambda: batches(texts), n, threads=1)[:, 0]] = (
            True
        )
        return found

    return {
        "set of texts (Python)": by_dict,
        "set of BLAKE2b, 128 bits (Python)": by_digest,
        "find_identical, hash": lambda texts: copies(
            find_identical(texts, method="hash", threads=1)
        ),
        "find_identical, positions": lambda texts: copies(
            find_identical(texts, threads=1)
        ),
        "ItemFilter": by_filter,
        "find_identical_in_batches": in_batches,
        "count_distinct": lambda texts: count_distinct(batches(texts), threads=1),
        "dedup at .8": lambda texts: ~lshfast.dedup(texts, threads=1).keep,
    }


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.4g}"


def strings(n: int, repeat: int) -> None:
    """Print what short strings take."""
    import polars as pl  # its threads are those of the CPUs that this process may use

    from lshfast.join import count_distinct, find_identical

    items = [
        f"item number {number} of the list"
        for number in np.random.default_rng(SEED).integers(0, n, n)
    ]
    series = pl.Series(items)
    column = series.to_arrow()
    calls: dict[str, Callable[[], Any]] = {
        "find_identical, list": lambda: find_identical(items),
        "polars is_first_distinct, list": lambda: pl.Series(items).is_first_distinct(),
        "find_identical, Arrow": lambda: find_identical(column),
        "polars is_first_distinct": lambda: series.is_first_distinct(),
        "count_distinct, list": lambda: count_distinct(items),
        "set of strings (Python)": lambda: len(set(items)),
        "count_distinct, Arrow": lambda: count_distinct(column),
        "polars approx_n_unique": lambda: series.approx_n_unique(),
    }
    turns = [
        {name: _processor_time(call) for name, call in calls.items()}
        for _ in range(repeat + 1)
    ][1:]
    print(f"\n{n:,} strings, seconds of processor time")
    for name in calls:
        print(f"{name:34}{median(turn[name] for turn in turns):9.4f}")


def _processor_time(call: Callable[[], Any]) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="identical.py", description="Compare methods that find duplicates."
    )
    parser.add_argument("--n", type=int, default=50_000, help="texts")
    parser.add_argument("--words", type=int, default=300, help="words a text")
    parser.add_argument("--strings", type=int, default=1_000_000, help="short strings")
    parser.add_argument(
        "--repeat", type=int, default=5, help="turns, whose medians count"
    )
    parser.add_argument("--markdown", action="store_true")
    a = parser.parse_args(argv)
    if a.n < 100 or a.words < 10 or a.repeat < 1:
        parser.error(
            "--n must be at least 100, --words at least 10, and --repeat at least 1"
        )
    keep_to_one_cpu()
    texts, calls = corpus(a.n, a.words), methods(a.n)
    nbytes = sum(map(len, texts.texts))
    turns = [
        {name: timed(call, texts.fresh()) for name, call in calls.items()}
        for _ in range(a.repeat)
    ]
    rows = []
    for name, call in calls.items():
        fresh = texts.fresh()
        tracemalloc.start()
        found = call(fresh)
        memory = tracemalloc.get_traced_memory()[1] / a.n
        tracemalloc.stop()
        if isinstance(found, float):
            distinct = a.n - int(texts.exact.sum())
            answers = [f"count: {100 * (found / distinct - 1):+.2f}", "-", "-"]
        else:
            alone = ~texts.exact & ~texts.near
            answers = [
                percent(int((found & kind).sum()), int(kind.sum()))
                for kind in (texts.exact, texts.near, alone)
            ]
        seconds = median(turn[name] for turn in turns)
        rows.append(
            [
                name,
                *answers,
                f"{seconds / a.n * 1e6:.3g}",
                show(math.floor(nbytes / seconds / 1e6)),
                show(memory),
            ]
        )
    print(
        f"{a.n:,} texts of {nbytes / a.n:,.0f} bytes; BLAKE2b in C of Python, one CPU\n"
    )
    print_table(
        ["", "exact %", "near %", "wrong %", "us a text", "MB/s", "bytes a text"],
        rows,
        a.markdown,
    )
    if a.strings:
        strings(a.strings, a.repeat)


if __name__ == "__main__":
    main()
