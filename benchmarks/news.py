"""Pages with one article in different frames: which pairs are found, by kind of frame, shingle and threshold.

    python benchmarks/news.py [--words 300] [--frames 5]

The articles are English prose that comes with Python, the topics of pydoc. Each is printed in several frames of the
length of the article: menus, with one stop word in 5, 7 or 14 words; or whole sentences, from other articles.
"""

from __future__ import annotations

import argparse
import re
from pydoc_data.topics import topics

import numpy as np

import lshfast
from lshfast._common.stop_words import stop_words_of

THRESHOLDS = 0.6, 0.5, 0.4, 0.3


def articles(words: int) -> list[list[str]]:
    """Return pieces of prose, each of `words` words, that have little in common."""
    pieces = []
    for name in sorted(topics):
        found = re.findall(r"[A-Za-z]+[.,;:]?", topics[name])
        pieces += [
            found[at : at + words] for at in range(0, len(found) - words + 1, words)
        ]
    texts = [" ".join(piece) for piece in pieces]
    different = lshfast.dedup(
        texts, size=3, threshold=0.05, exact=True, groups="components"
    ).keep
    return [
        piece for piece, keep in zip(pieces, different.tolist(), strict=True) if keep
    ]


def menu(
    generator: np.random.Generator,
    vocabulary: list[str],
    stops: list[str],
    words: int,
    every: int,
) -> str:
    """Return `words` words, of which each `every`-th is a stop word."""
    drawn = [str(word) for word in generator.choice(vocabulary, words)]
    drawn[::every] = [
        str(word) for word in generator.choice(stops, len(drawn[::every]))
    ]
    return " ".join(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--words", type=int, default=300, help="of an article, and of a frame"
    )
    parser.add_argument(
        "--frames", type=int, default=5, help="in which each article is printed"
    )
    options = parser.parse_args()
    generator, stops = np.random.default_rng(1), list(stop_words_of("english").words)
    pieces = articles(options.words)
    words = [word.strip(".,;:").lower() for piece in pieces for word in piece]
    stop_set = set(stops)
    vocabulary = sorted(set(words) - stop_set)
    share = sum(word in stop_set for word in words) / len(words)
    half = len(pieces) // 2
    print(
        f"{half} articles of {options.words} words, {share:.0%} of them stop words; {options.frames} frames each"
    )
    sites = {
        f"menus, a stop word in {every}": [
            menu(generator, vocabulary, stops, options.words, every)
            for _ in range(options.frames)
        ]
        for every in (5, 7, 14)
    }
    sites["whole sentences"] = [
        " ".join(piece) for piece in pieces[half : half + options.frames]
    ]
    print(
        f"{'frames':<26}{'shingles':<10}"
        + "".join(f"{f'at {threshold}':>18}" for threshold in THRESHOLDS)
    )
    print(f"{'':<36}" + f"{'recall precision':>18}" * len(THRESHOLDS))
    for name, frames in sites.items():
        pages = [
            f"{frame}\n{' '.join(piece)}" for piece in pieces[:half] for frame in frames
        ]
        of_one_article = options.frames * (options.frames - 1) // 2 * half
        for unit, size in (("stopword", 3), ("word", 3)):
            figures = ""
            for threshold in THRESHOLDS:
                found = [(i // options.frames, j // options.frames) for i, j, _ in
                         lshfast.pairs(pages, unit=unit, size=size, threshold=threshold, exact=True)]  # fmt: skip
                right = sum(i == j for i, j in found)
                precision = f"{right / len(found):.3f}" if found else "-"
                figures += f"{right / of_one_article:>8.3f}{precision:>10}"
            print(f"{name:<26}{unit:<10}{figures}")


if __name__ == "__main__":
    main()
