"""Recall and precision on 2,618 licence texts, whose near-duplicates are real and whose pairs are known exactly.

    python benchmarks/licensedb.py DATA_DIR

DATA_DIR holds licensedb_texts.tar.gz and exact_jaccard_pairs_ge0.5_word3gram.tsv.gz. Word 3-grams are compared at
five thresholds, exact copies included. There are two truths. An exact join over the library's shingles says what
should have been found; it is made by lshfast.exact and by judge.py, which shares no code with it. The file, made by
others, says what is there if a word is a \\w+ of the text in lower case. The words of six texts in Chinese and Japanese
differ, where the library takes each character for one: pairs that for this reason are on different sides of the
threshold are counted in "words differ". Exits with 1 if the two joins differ, a pair is found that is not one, or fewer
than were promised.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from data import decoded, raw_members
from judge import distinct, exact_pairs, word_shingles

import lshfast

TEXTS, TRUTH = "licensedb_texts.tar.gz", "exact_jaccard_pairs_ge0.5_word3gram.tsv.gz"
SIZE, LEAST_SHINGLES, RECALL = 3, 10, 0.95
THRESHOLDS = [0.5, 0.6, 0.7, 0.8, 0.9]
COLUMNS = [
    "threshold",
    "bands",
    "at threshold",
    "expected",
    "found",
    "pairs",
    "recall",
    "precision",
    "wrong J",
]
COLUMNS += ["file pairs", "file recall", "file precision", "words differ", "seconds"]
Pairs = dict[tuple[int, int], float]


class Corpus(NamedTuple):
    """The texts, the exact pairs over the library's shingles, and those of the file with the rows it speaks of."""

    texts: list[str]
    own: Pairs
    file: Pairs
    rows: set[int]


def read(folder: Path) -> Corpus:
    """Read the texts and both truths."""
    names, texts = zip(*decoded(raw_members(folder / TEXTS)), strict=True)
    row_of = {name: row for row, name in enumerate(names)}
    file: Pairs = {}
    with gzip.open(folder / TRUTH, "rt", encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                a, b, similarity = line.rstrip("\n").split("\t")
                i, j = sorted((row_of[a], row_of[b]))
                file[i, j] = float(similarity)
    counts = np.diff(distinct(*word_shingles(texts, SIZE))[0])
    sets = lshfast.shingle(list(texts), size=SIZE)
    own = lshfast.exact.pairs(sets, threshold=min(THRESHOLDS))
    if not np.array_equal(own, exact_pairs(sets.offsets, sets.tokens, min(THRESHOLDS))):
        sys.exit("FAILED: lshfast.exact and judge.py find different pairs")
    return Corpus(
        list(texts),
        as_dict(own),
        file,
        set(np.flatnonzero(counts >= LEAST_SHINGLES).tolist()),
    )


def as_dict(pairs: np.ndarray) -> Pairs:
    """Return pairs as a dict of similarities."""
    return {(i, j): similarity for i, j, similarity in pairs.tolist()}


def share(part: int, whole: int) -> float:
    """Return part / whole, 1 where there is nothing."""
    return part / whole if whole else 1.0


def compare(corpus: Corpus, threshold: float) -> tuple[list[str], bool]:
    """Return a line of the table, and whether the library kept its word."""
    start = time.perf_counter()
    pairs = lshfast.pairs(
        corpus.texts, threshold=threshold, size=SIZE, recall=RECALL, copies="all"
    )
    seconds = time.perf_counter() - start
    found = as_dict(pairs)
    own = {pair: s for pair, s in corpus.own.items() if s >= threshold}
    right = found.keys() & own.keys()
    wrong = sum(found[pair] != own[pair] for pair in right)
    recall, precision = share(len(right), len(own)), share(len(right), len(found))

    covered = {pair for pair in found if corpus.rows.issuperset(pair)}
    file = {pair for pair, s in corpus.file.items() if s >= threshold}
    differ = file ^ {pair for pair in own if corpus.rows.issuperset(pair)}

    bands = lshfast.choose_bands(threshold, recall=RECALL)
    at_threshold = float(bands.probability(threshold))
    expected = float(np.mean(bands.probability(list(own.values()))))
    line = [
        f"{threshold}",
        f"{bands.bands} x {bands.rows_per_band}",
        f"{at_threshold:.4f}",
        f"{expected:.4f}",
    ]
    line += [
        f"{len(found):,}",
        f"{len(own):,}",
        f"{recall:.4f}",
        f"{precision:.4f}",
        f"{wrong}",
    ]
    line += [f"{len(file):,}", f"{share(len(covered & file), len(file)):.4f}"]
    line += [
        f"{share(len(covered & file), len(covered)):.4f}",
        f"{len(differ)}",
        f"{seconds:.2f}",
    ]
    return line, precision == 1 and wrong == 0 and len(pairs) == len(
        found
    ) and recall >= RECALL


def table(lines: Sequence[Sequence[str]]) -> str:
    """Lay out lines of cells in columns, to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Recall and precision on the texts of licences."
    )
    parser.add_argument(
        "folder", type=Path, metavar="DATA_DIR", help=f"holds {TEXTS} and {TRUTH}"
    )
    folder = parser.parse_args(argv).folder
    for name in (TEXTS, TRUTH):
        if not (folder / name).is_file():
            parser.error(f"{folder / name} is missing")
    corpus = read(folder)
    results = [compare(corpus, threshold) for threshold in THRESHOLDS]
    print(
        f"{len(corpus.texts):,} texts, {len(corpus.rows):,} of them with {LEAST_SHINGLES} word {SIZE}-grams or more."
    )
    print(
        f"Recall: {RECALL} promised; what the bands give at the threshold, and over the pairs there are; what came."
    )
    print(table([COLUMNS, *(line for line, _ in results)]))
    failed = [
        threshold
        for threshold, (_, kept) in zip(THRESHOLDS, results, strict=True)
        if not kept
    ]
    if failed:
        print(
            f"FAILED at {', '.join(map(str, failed))}: precision below 1 or recall below {RECALL}",
            file=sys.stderr,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
