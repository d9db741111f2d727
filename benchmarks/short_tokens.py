"""What tokens of 4 bytes cost: shingles that texts share by chance, and the similarity of texts that share some.

    python benchmarks/short_tokens.py [--most 1000000]

Two texts of n words have nothing in common, and two others have four fifths of their words in common: their similarity
is 2/3. Each word is a shingle. With tokens of 64 bits, no pair shares a word by chance, and similarities are exact.
"""

from __future__ import annotations

import argparse

import numpy as np

from lshfast import exact, shingle
from lshfast.shingling import expected_occurrences

COMMON = 0.8


def text_of(name: str, words: int, common: int = 0) -> str:
    """Return a text of different words, the first of which have a name that all texts share."""
    return " ".join(f"{'common' if at < common else name}{at}" for at in range(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--most", type=int, default=1_000_000, help="words of the longest texts"
    )
    most = parser.parse_args().most
    print(
        "words a text   shared by chance: expected   32 bits   64 bits   similarity for 2/3"
    )
    words = 1000
    while words <= most:
        shared = []
        for bits in (32, 64):
            first, second = shingle(
                [text_of("a", words), text_of("b", words)], size=1, bits=bits
            )
            shared.append(len(np.intersect1d(first, second)))
        common = int(COMMON * words)
        similar = shingle(
            [text_of("a", words, common), text_of("b", words, common)], size=1, bits=32
        )
        similarity = exact.pairs(similar, threshold=0.5)["similarity"][0]
        expected = words * expected_occurrences(words, 32, symbols=2)
        print(
            f"{words:12,} {expected:27.5f} {shared[0]:9,} {shared[1]:9,} {similarity:20.7f}"
        )
        words *= 10


if __name__ == "__main__":
    main()
