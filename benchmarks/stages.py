"""The time of each stage, measured in one run: the calls of a row take turns, and medians count.

    python benchmarks/stages.py [--folder DIR [--suffix .py ...] | --jsonl FILE] [--repeat 9] [--markdown]

The first table gives every CPU level of this machine on one thread, the second one thread and two, the third what
copies cost. The texts are the standard library of the Python that runs this, unless a folder or a JSONL file is named,
and made-up ones in other scripts. Ratios are medians over the turns too, so that a busy machine hurts them least;
where SHA-256, whose pieces share nothing, gains little from a second thread, there was no second core to be had.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import sysconfig
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
from data import copies, decoded, raw_files, read_jsonl, synthetic, zipf

import lshfast
from lshfast import MinHasher, TokenSets, candidates, kernels, shingle, verify
from lshfast._common.run_key import RunKey
from lshfast._common.types import UInt64Array
from lshfast._engine.clock import Clock
from lshfast._engine.columns import KeyedRows, ShingledTexts
from lshfast._engine.plan import make_plan
from lshfast._engine.sketching import SketchedRows, sketch_rows
from lshfast.kernels.text import Texts
from lshfast.shingling import Unit, check_shingles

LIBRARY = f"the standard library of Python {platform.python_version()}"
SHINGLES: tuple[tuple[Unit, int], ...] = (
    ("word", 5),
    ("char", 9),
    ("word", 3),
    ("stopword", 3),
)
THRESHOLD = 0.8

# Where the letters of the made-up texts begin; Chinese ones have a character a word.
SCRIPTS = {"Cyrillic": 0x430, "Arabic": 0x622, "Chinese": 0x4E00}
MADE_UP_BYTES = 4_000_000

NS, TOKENS, BYTES = "ns", "M tokens/s", "MB/s"


class Measure(NamedTuple):
    """A call, and the number of steps (for NS), tokens or bytes that it goes over."""

    name: str
    unit: str
    amount: int
    call: Callable[[], object]


def figure(unit: str, amount: int, seconds: float) -> float:
    """Return nanoseconds a step, or millions a second."""
    return seconds / amount * 1e9 if unit == NS else amount / seconds / 1e6


def library_texts() -> list[str]:
    """Return the sources of the running Python's standard library, in the order of their names."""
    files = sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
    installed = {"site-packages", "dist-packages"}
    return [
        text
        for _, text in decoded(
            raw_files((path for path in files if not installed & {*path.parts}), ())
        )
    ]


def made_up(script: str, nbytes: int = MADE_UP_BYTES, seed: int = 1) -> list[str]:
    """Return texts of some 400 words, about `nbytes` of UTF-8 in all; words are as frequent as in natural text."""
    rng = np.random.default_rng(seed)
    draw, start = zipf(rng), SCRIPTS[script]
    letters = str.maketrans(
        "abcdefghijklmnoprstuvz", "".join(map(chr, range(start, start + 22)))
    )
    texts, made = [], 0
    while made < nbytes:
        sentences = [draw(int(rng.integers(6, 20))) for _ in range(32)]
        if script == "Chinese":
            characters = [
                [chr(start + crc32(word.encode()) % 3000) for word in words]
                for words in sentences
            ]
            text = "".join("".join(words) + "\u3002" for words in characters)
        else:
            text = " ".join(
                " ".join(words).translate(letters).capitalize() + "."
                for words in sentences
            )
        texts.append(text)
        made += len(text.encode())
    return texts


def random_sets(rows: int, size: int, seed: int = 1) -> TokenSets:
    """Return rows of `size` random tokens each."""
    tokens = np.random.default_rng(seed).integers(
        0, 2**64, rows * size, dtype=np.uint64
    )
    return TokenSets(np.arange(rows + 1) * size, tokens)


def near_duplicates(documents: int, words: int = 300) -> list[str]:
    """Return made-up texts, half of which are near-duplicates of the other half."""
    return [text for _, text, _ in synthetic(documents, words, 0.5, (0.75, 0.85, 0.95))]


def sign(hasher: MinHasher, column: Any, unit: Unit, size: int) -> UInt64Array:
    """Go from a column of texts to signatures on one thread."""
    return hasher.sketch(shingle(column, unit, size, threads=1), threads=1)


def sketch_stage(
    column: Any, unit: Unit = "word", size: int = 5, threads: int = 1
) -> SketchedRows:
    """Go from a column of texts to signatures, band keys and fingerprints, piece by piece as dedup does."""
    return sketch_rows(
        [Texts(column)], make_plan(unit=unit, size=size, threads=threads), Clock()
    )


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], markdown: bool = False
) -> str:
    """Lay out a table: the first column to the left, all others to the right."""
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = [
        "-" * widths[0],
        *("-" * (width - markdown) + ":" * markdown for width in widths[1:]),
    ]
    cells = [
        [line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]
        for line in (header, rule, *lines[1:])
    ]
    return "\n".join(
        f"| {' | '.join(line)} |" if markdown else "  ".join(line) for line in cells
    )


def take_turns(
    calls: Mapping[Any, Callable[[], object]], repeat: int
) -> dict[Any, list[float]]:
    """Return the seconds of each call in each turn, after one turn that does not count."""
    seconds: dict[Any, list[float]] = {key: [] for key in calls}
    for _ in range(repeat + 1):
        for key, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[key].append(time.perf_counter() - start)
    return {key: taken[1:] for key, taken in seconds.items()}


def ratio(slow: Sequence[float], fast: Sequence[float]) -> str:
    """Say how many times as long the one took as the other did in the same turn."""
    return f"{median(a / b for a, b in zip(slow, fast, strict=True)):.2f}"


def sketch_measures(columns: Mapping[str, Any]) -> list[Measure]:
    """Return what is measured on every CPU level, on one thread."""
    classic, fast = MinHasher(128, "classic"), MinHasher(128)
    call: Callable[[], object] = partial(
        classic.sketch, random_sets(200, 1000), threads=1
    )
    found = [
        Measure(
            "classic, 1,000 tokens a set, a token and function",
            NS,
            200 * 1000 * 128,
            call,
        )
    ]
    for size in (20, 200, 2_000):
        call = partial(fast.sketch, random_sets(1_000_000 // size, size), threads=1)
        found.append(Measure(f"fast, {size:,} tokens a set", TOKENS, 1_000_000, call))
    for name, column in columns.items():
        nbytes = Texts(column).nbytes
        for unit, size in SHINGLES:
            what = f"{name}, {unit}s {size}"
            found.append(
                Measure(
                    f"{what}: to tokens",
                    BYTES,
                    nbytes,
                    partial(shingle, column, unit, size, threads=1),
                )
            )
            found.append(
                Measure(
                    f"{what}: to fast signatures",
                    BYTES,
                    nbytes,
                    partial(sign, fast, column, unit, size),
                )
            )
            call = partial(sketch_stage, column, unit, size)
            found.append(
                Measure(f"{what}: to band keys, by dedup", BYTES, nbytes, call)
            )
    return found


def on_level(level: str, call: Callable[[], object]) -> None:
    """Make a call on a CPU level."""
    with kernels.use(level):
        call()


def table_of_levels(columns: Mapping[str, Any], repeat: int, markdown: bool) -> str:
    """Measure sketching on every CPU level."""
    levels, rows = kernels.available(), []
    for name, unit, amount, call in sketch_measures(columns):
        seconds = take_turns(
            {level: partial(on_level, level, call) for level in levels}, repeat
        )
        figures = [
            f"{figure(unit, amount, median(seconds[level])):.3g}" for level in levels
        ]
        rows.append(
            [name, unit, *figures, ratio(seconds["scalar"], seconds[levels[-1]])]
        )
    return table(
        ["k = 128, one thread", "", *levels, f"{levels[-1]} to scalar"], rows, markdown
    )


def hash_bytes(threads: int) -> None:
    """Keep one thread or two busy with work that shares nothing."""
    with ThreadPoolExecutor(threads) as pool:
        list(
            pool.map(
                lambda piece: hashlib.sha256(piece).digest(), [bytes(1 << 21)] * 32
            )
        )


def thread_measures(column: Any, documents: int) -> dict[str, Callable[[int], object]]:
    """Return the calls that are measured with one thread and with two."""
    near = Texts(pa.array(near_duplicates(documents)))
    sets, corpus, rows = (
        shingle(near),
        sketch_stage(near),
        KeyedRows(ShingledTexts(near, check_shingles("word")), RunKey.draw()),
    )
    i, j = candidates(corpus.keys, copies=corpus.copies)
    return {
        "shingle the texts": lambda threads: shingle(column, threads=threads),
        "texts to band keys, by dedup": lambda threads: sketch_stage(
            column, threads=threads
        ),
        "dedup of the texts": lambda threads: lshfast.dedup(column, threads=threads),
        f"shingle {documents:,} near-duplicates": lambda threads: shingle(
            near, threads=threads
        ),
        "- sketch, classic": lambda threads: MinHasher(128, "classic").sketch(
            sets, threads=threads
        ),
        "- sketch, fast": lambda threads: MinHasher(128).sketch(sets, threads=threads),
        "- candidates": lambda threads: candidates(corpus.keys, threads=threads),
        f"- verify {len(i):,} pairs of texts": lambda threads: verify(
            rows, i, j, THRESHOLD, threads=threads
        ),
        f"- verify {len(i):,} pairs of token sets": lambda threads: verify(
            sets, i, j, THRESHOLD, threads=threads
        ),
        "- dedup of the near-duplicates": lambda threads: lshfast.dedup(
            near, threads=threads
        ),
    }


def table_of_threads(column: Any, documents: int, repeat: int, markdown: bool) -> str:
    """Measure what a second thread gains, and in the same turns what the machine has to give."""
    rows = []
    for name, call in thread_measures(column, documents).items():
        calls = {
            (work, threads): partial(work, threads)
            for work in (call, hash_bytes)
            for threads in (1, 2)
        }
        seconds = take_turns(calls, repeat)
        one, two = seconds[call, 1], seconds[call, 2]
        machine = ratio(seconds[hash_bytes, 1], seconds[hash_bytes, 2])
        rows.append(
            [name, f"{median(one):.3f}", f"{median(two):.3f}", ratio(one, two), machine]
        )
    return table(
        ["stage", "one thread, s", "two threads, s", "gain", "gain of sha256"],
        rows,
        markdown,
    )


def table_of_copies(n: int, words: int, repeat: int, markdown: bool) -> str:
    """Measure what it costs that one text in eleven is a copy of one text, of the same bytes or with other letters."""
    same = [text for _, text in copies(n // 10, n, words)]
    corpora = {
        f"{n // 10:,} copies of one text, {n:,} others": same,
        "the same, every second text in capitals": [
            text.upper() if row % 2 else text for row, text in enumerate(same)
        ],
        f"{n + n // 10:,} different texts": [
            text for _, text in copies(n // 10, n, words, distinct=True)
        ],
    }
    columns = {name: Texts(pa.array(texts)) for name, texts in corpora.items()}
    seconds = take_turns(
        {name: partial(lshfast.dedup, column) for name, column in columns.items()},
        repeat,
    )
    without = seconds[next(reversed(columns))]
    rows = [
        [
            name,
            f"{columns[name].nbytes / 1e6:.0f}",
            f"{median(taken):.2f}",
            ratio(taken, without),
        ]
        for name, taken in seconds.items()
    ]
    return table(
        [f"texts of {words} words", "MB", "dedup, s", "to different"], rows, markdown
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure each stage of lshfast.")
    corpus = parser.add_mutually_exclusive_group()
    corpus.add_argument(
        "--folder", type=Path, help="the texts of a folder and of those below it"
    )
    corpus.add_argument("--jsonl", type=Path, help='the field "text" of a JSONL file')
    parser.add_argument(
        "--suffix", nargs="+", default=[], help="of a folder, only files that end so"
    )
    parser.add_argument(
        "--repeat", type=int, default=9, help="turns; the median counts"
    )
    parser.add_argument("--markdown", action="store_true")
    a = parser.parse_args(argv)
    if a.folder:
        texts = [
            text
            for _, text in decoded(
                raw_files(sorted(a.folder.rglob("*")), tuple(a.suffix))
            )
        ]
    else:
        texts = read_jsonl(a.jsonl)[1] if a.jsonl else library_texts()
    if not texts:
        parser.error("there are no texts to measure")
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    size = f"{len(texts):,} texts, {Texts(column).nbytes / 1e6:,.1f} MB"
    print(
        f"texts: {a.folder or a.jsonl or LIBRARY}, {size}; medians of {a.repeat} turns\n"
    )
    columns = {"texts": column} | {
        script: pa.array(made_up(script)) for script in SCRIPTS
    }
    print(table_of_levels(columns, a.repeat, a.markdown), end="\n\n", flush=True)
    print(
        table_of_threads(column, 40_000, a.repeat, a.markdown), end="\n\n", flush=True
    )
    print(table_of_copies(100_000, 100, max(1, a.repeat // 3), a.markdown), flush=True)


if __name__ == "__main__":
    main()
