"""Shared passages of Python's own sources against the equal runs that a suffix array by prefix doubling finds."""

import re
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lshfast import passages

BYTES = 1_500_000


@cache
def sources():
    """Return modules of the standard library that are ASCII, and the numbers of their words."""
    texts, vocabulary, size = [], {}, 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        data = path.read_bytes()
        if data.isascii() and size < BYTES:
            texts.append(data.decode())
            size += len(data)
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    return texts, [
        [vocabulary.setdefault(word, len(vocabulary)) for word in row] for row in words
    ]


def ranks_of_runs(numbers, length):
    """Return the rank of the run of so many words at each place of all texts, -1 for none; and the text of each place.

    The rank of a run of 2 n words is that of the ranks of its halves, so equal ranks are equal runs, and no others.
    """
    rank = np.array([number for row in numbers for number in [*row, -1]], np.int64)
    text = np.repeat(np.arange(len(numbers)), [len(row) + 1 for row in numbers])
    size = 1
    while size < length:
        step = min(size, length - size)
        other = np.append(rank[step:], np.full(step, -1))
        whole = (rank >= 0) & (other >= 0)
        whole[:-step] &= text[step:] == text[:-step]
        rank[whole] = np.unique(
            rank[whole] * len(rank) + other[whole], return_inverse=True
        )[1]
        rank[~whole] = -1
        size += step
    return rank, text


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("length", [5, 12, 30])
def test_later_copies_of_sources(length):
    texts, numbers = sources()
    rank, text = ranks_of_runs(numbers, length)
    seen = np.zeros(rank.max() + 1, np.bool_)
    later = np.zeros(len(rank) + 1, np.int64)
    for place in np.flatnonzero(rank >= 0).tolist():
        if seen[rank[place]]:
            later[[place, place + length]] += [1, -1]
        seen[rank[place]] = True
    covered = np.bincount(text[np.cumsum(later)[:-1] > 0], minlength=len(texts))
    assert covered.sum() > 1000
    for most in (1, 16):
        assert (
            passages.find(texts, length=length, most_copies=most).covered.tolist()
            == covered.tolist()
        )


def test_passages_of_sources():
    texts, numbers = sources()
    length = 20
    rank, text = ranks_of_runs(numbers, length)
    places = {}
    for place in np.flatnonzero(rank >= 0).tolist():
        places.setdefault(rank[place], []).append(place)
    pairs = {(i, j) for group in places.values() for i in group for j in group if i < j}
    begins = sorted((i, j) for i, j in pairs if (i - 1, j - 1) not in pairs)
    found = passages.find(texts, length=length, most_copies=None)
    starts = np.searchsorted(text, np.arange(len(texts)))
    spans = found.spans
    listed = [(starts[spans[side]] + spans[f"{side}_unit"]).tolist() for side in "ij"]
    assert sorted(zip(*listed, strict=True)) == begins
    assert (spans["units"] - length + 1).sum() == len(pairs)
