"""Hyperplanes and minhash on the same pages: precision of the pairs on one site and on different sites.

    python benchmarks/same_site.py [--sites 400] [--pages 25] [--seed 1] [--names FOLDER]

After M. Henzinger, "Finding near-duplicate web pages: a large-scale evaluation of algorithms", SIGIR 2006, with her
parameters:

- minhash: shingles of 8 words, 84 slots in 6 super-shingles of 14, of which 2 must be equal;
- hyperplanes: codes of 384 bits of all words, of which at least 372 must be equal;
- both: pairs of minhash whose codes have at least 355 equal bits.

The last line is `lshfast.pairs`, with an exact similarity of .9 of the shingles of 8 words.

The pages are made up, so that it is known which pairs are right: those of pages with one article. All pages of a site
have its frame of 50 to 600 words. A page has an article of 10 to 500 words, an address, and three words of its own,
such as a date or a count of visitors. One page in ten is another version of a page of its site. One site in ten is a
mirror of another one, and one in ten has the frame of another one, with articles of its own. --names takes the names
of sites from this folder of opendns/public-domain-lists.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import numpy as np
from data import zipf
from web import host_names

import lshfast
from lshfast import Bands, MinHasher, SimHasher

BITS, LEAST_EQUAL, LEAST_EQUAL_OF_BOTH = 384, 372, 355
SUPER_SHINGLES, LEAST_SUPER = Bands(6, 14), 2
Pairs = set[tuple[int, int]]


def build(
    sites: int, pages: int, names: list[str], seed: int
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the texts of all pages, their sites, and their articles."""
    rng = np.random.default_rng(seed)
    words = zipf(rng)
    frames: list[list[str]] = []
    contents: list[list[tuple[int, list[str]]]] = []
    texts, site_of, article_of, articles = [], [], [], 0
    for site in range(sites):
        kind, other = int(rng.integers(10)), int(rng.integers(site)) if site else 0
        frame = (
            frames[other]
            if site and kind in (0, 1)
            else words(int(rng.integers(50, 601)))
        )
        own: list[tuple[int, list[str]]] = []
        for page in range(pages):
            if site and kind == 0:
                own.append(contents[other][page])
            elif page and rng.random() < 0.1:
                own.append(own[int(rng.integers(page))])
            else:
                own.append((articles, words(int(10 * 50 ** rng.random()))))
                articles += 1
        frames.append(frame)
        contents.append(own)
        cut = len(frame) // 2
        for page, (article, body) in enumerate(own):
            marks = [
                f"{names[site]} page {page}",
                *(f"n{number}" for number in rng.integers(10**6, size=3)),
            ]
            texts.append(
                " ".join([*marks[:2], *frame[:cut], *body, *frame[cut:], *marks[2:]])
            )
            site_of.append(site)
            article_of.append(article)
    return texts, np.array(site_of), np.array(article_of)


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    seconds[name] = time.process_time() - start


def as_pairs(i: np.ndarray, j: np.ndarray) -> Pairs:
    return set(zip(i.tolist(), j.tolist(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=400)
    parser.add_argument("--pages", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", type=Path)
    arguments = parser.parse_args()
    names = host_names(arguments.sites, arguments.names)
    texts, sites, articles = build(
        arguments.sites, arguments.pages, names, arguments.seed
    )
    right = {pair for rows in rows_by(articles) for pair in combinations(rows, 2)}
    here = {pair for pair in right if sites[pair[0]] == sites[pair[1]]}
    print(
        f"{len(texts):,} pages, {len(here):,} right pairs on one site, {len(right - here):,} on different sites"
    )

    found: dict[str, Pairs] = {}
    seconds: dict[str, float] = {}
    with timed(seconds, "minhash"):
        signatures = MinHasher(84, "classic", arguments.seed).sketch(
            lshfast.shingle(texts, size=8)
        )
        keys = SUPER_SHINGLES.keys(signatures)
        i, j = lshfast.candidates(keys)
        enough = (keys[i] == keys[j]).sum(axis=1) >= LEAST_SUPER
        found["minhash"] = as_pairs(i[enough], j[enough])
    with timed(seconds, "hyperplanes"):
        codes = SimHasher(BITS, arguments.seed).sketch(lshfast.shingle(texts, size=1))
        near = lshfast.hamming_pairs(codes, BITS - LEAST_EQUAL)
        found["hyperplanes"] = as_pairs(near.left, near.right)
    with timed(seconds, "both"):
        words = np.bitwise_count if hasattr(np, "bitwise_count") else bit_counts
        different = words(
            np.asarray(codes)[i[enough]] ^ np.asarray(codes)[j[enough]]
        ).sum(axis=1)
        alike = different <= BITS - LEAST_EQUAL_OF_BOTH
        found["both"] = as_pairs(i[enough][alike], j[enough][alike])
    seconds["both"] += seconds["minhash"]
    with timed(seconds, "exact similarity of .9"):
        verified = lshfast.pairs(texts, size=8, threshold=0.9)
        found["exact similarity of .9"] = as_pairs(verified["i"], verified["j"])

    print(
        "| | pairs | one site | precision | different sites | precision | recall | seconds of CPU |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, pairs in found.items():
        own = {pair for pair in pairs if sites[pair[0]] == sites[pair[1]]}
        parts = [
            f"{len(part):,} | {len(part & right) / max(1, len(part)):.2f}"
            for part in (own, pairs - own)
        ]
        recall = len(pairs & right) / len(right)
        print(
            f"| {name} | {len(pairs):,} | {' | '.join(parts)} | {recall:.2f} | {seconds[name]:.1f} |"
        )


def rows_by(numbers: np.ndarray) -> list[list[int]]:
    """Return the rows of each number."""
    order = np.argsort(numbers, kind="stable")
    return [
        part.tolist()
        for part in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
    ]


def bit_counts(words: np.ndarray) -> np.ndarray:
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1)


if __name__ == "__main__":
    main()
