"""Exact set-similarity self-join in numpy, and word shingles: the judge of recall and precision.

It shares no code with lshfast. Sets meet over a prefix filter (tokens rarest first), a length filter
and the overlap of their prefixes; what is left is counted in full. Every bound is a ratio of integers,
so a pair at the threshold is never lost to rounding. Equal sets are joined once and expanded at the
end.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np

PAIRS = np.dtype([("i", np.int64), ("j", np.int64), ("similarity", np.float64)])

# Meetings of two sets expanded at a time, which takes a little less than a gigabyte.
CHUNK = 20_000_000


def exact_pairs(
    offsets: np.ndarray, tokens: np.ndarray, threshold: float | Fraction
) -> np.ndarray:
    """Find all pairs of rows whose sets of tokens have a Jaccard similarity of at least the threshold.

    Parameters
    ----------
    offsets : array of int64, shape (n + 1,)
        Row i is ``tokens[offsets[i]:offsets[i + 1]]``. An empty row is in no pair.
    tokens : array of uint64, shape (m,)
        Token hashes; a token that a row repeats counts once.
    threshold : float or Fraction
        In (0, 1]. A float means the decimal number that it prints as: .8 is 4/5.

    Returns
    -------
    array of (i int64, j int64, similarity float64)
        i < j, sorted by (i, j), equal rows included.
    """
    ratio = (
        threshold
        if isinstance(threshold, Fraction)
        else Fraction(repr(float(threshold)))
    )
    if not 0 < ratio <= 1:
        raise ValueError(f"threshold must be in (0, 1], not {threshold}")
    starts, ids = distinct(
        np.asarray(offsets, dtype=np.int64), np.asarray(tokens, dtype=np.uint64)
    )
    if int(np.diff(starts).max(initial=0)) * 2 * ratio.denominator >= 2**62:
        raise ValueError(
            f"threshold {threshold} has too many digits for sets of this size"
        )
    label, first = equal_rows(starts, ids)
    starts, ids = rarest_first(*take_rows(starts, ids, first))
    left, right, shared = join(starts, ids, ratio)
    sizes = np.diff(starts)
    similarity = shared / (sizes[left] + sizes[right] - shared)
    return expand(label, left, right, similarity)


def distinct(offsets: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the tokens from 0 and keep each once a row, rows in ascending order of number."""
    n = len(offsets) - 1
    tokens = tokens[offsets[0] : offsets[-1]]
    universe, ids = np.unique(tokens, return_inverse=True)
    keys = ids.astype(np.uint64) + np.repeat(
        np.arange(n, dtype=np.uint64), np.diff(offsets)
    ) * len(universe)
    del ids
    keys.sort()
    keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)]]
    bounds = np.arange(n + 1, dtype=np.uint64) * len(universe)
    return np.searchsorted(keys, bounds).astype(np.int64), (
        keys % max(1, len(universe))
    ).astype(np.int64)


def equal_rows(starts: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give each row the number of its distinct set (-1: empty), and each distinct set its first row."""
    label = np.full(len(starts) - 1, -1, dtype=np.int64)
    first: list[int] = []
    seen: dict[bytes, int] = {}
    narrow = ids.astype(np.uint32) if ids.max(initial=0) < 2**32 else ids
    for row, (low, high) in enumerate(pairwise(starts.tolist())):
        if low < high:
            label[row] = seen.setdefault(narrow[low:high].tobytes(), len(first))
            if label[row] == len(first):
                first.append(row)
    return label, np.array(first, dtype=np.int64)


def take_rows(
    starts: np.ndarray, ids: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Copy the named rows into a CSR of their own."""
    at = ranges(starts[rows], starts[rows + 1])
    return np.concatenate(([0], np.cumsum(starts[rows + 1] - starts[rows]))), ids[at]


def rarest_first(starts: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber the tokens by how many rows hold them, rarest first, and sort each row."""
    held = np.bincount(ids)
    number = np.empty(len(held), dtype=np.int64)
    number[np.argsort(held, kind="stable")] = np.arange(len(held))
    keys = (
        np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * len(held) + number[ids]
    )
    keys.sort()
    return starts, keys % max(1, len(held))


def join(
    starts: np.ndarray, ids: np.ndarray, ratio: Fraction
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Join distinct non-empty sets: the pairs at the threshold and how many tokens they share."""
    num, den = ratio.numerator, ratio.denominator
    sizes = np.diff(starts)
    order = np.argsort(sizes, kind="stable")
    # Two sets at the threshold share a token among the first |x| - ceil(t |x|) + 1 of each. The
    # smaller one needs no more than |x| - ceil(2 t / (1 + t) |x|) + 1, since the larger is at least
    # as large.
    probe = sizes + num * sizes // -den + 1
    index = sizes + 2 * num * sizes // -(num + den) + 1
    smallest = np.searchsorted(sizes[order], -(num * sizes[order] // -den))
    last_index, last_probe = ids[starts[:-1] + index - 1], ids[starts[:-1] + probe - 1]
    found = [(np.empty(0, dtype=np.int64),) * 3]
    for met in meetings(starts[:-1][order], ids, index[order], probe[order], smallest):
        new = np.flatnonzero(np.diff(met, prepend=-1))
        overlap = np.diff(new, append=len(met))
        x, y = order[met[new] % len(order)], order[met[new] // len(order)]
        # What they share up to the end of the prefix that ends first is known; its set has this
        # much left.
        rest = np.where(
            last_index[x] <= last_probe[y], sizes[x] - index[x], sizes[y] - probe[y]
        )
        likely = (overlap + rest) * (num + den) >= num * (sizes[x] + sizes[y])
        found.append(confirm(starts, ids, x[likely], y[likely], num, den))
    left, right, shared = (np.concatenate(part) for part in zip(*found, strict=True))
    return left, right, shared


def meetings(
    starts: np.ndarray,
    ids: np.ndarray,
    index: np.ndarray,
    probe: np.ndarray,
    smallest: np.ndarray,
) -> Iterator[np.ndarray]:
    """Yield y * n + x for each token that the index prefix of x and the probe prefix of y share.

    The sets are numbered by size, the smallest first, and y meets x from smallest[y] to y - 1. All
    meetings of one y come together, in ascending order, about CHUNK of them at a time.
    """
    n = len(starts)
    posted = ids[ranges(starts, starts + index)] * n + np.repeat(np.arange(n), index)
    posted.sort()  # token by token, the sets that show it in ascending order
    shown = ids[ranges(starts, starts + probe)] * n
    prober = np.repeat(np.arange(n), probe)
    low = np.searchsorted(posted, shown + smallest[prober])
    counts = np.searchsorted(posted, shown + prober) - low
    posted %= max(1, n)
    probed = np.concatenate(([0], np.cumsum(probe)))
    before = np.concatenate(([0], np.cumsum(counts)))[probed]
    begin = 0
    while begin < n:
        end = max(
            begin + 1, int(np.searchsorted(before, before[begin] + CHUNK, "right")) - 1
        )
        own = slice(probed[begin], probed[end])
        met = (
            np.repeat(prober[own], counts[own]) * n
            + posted[ranges(low[own], low[own] + counts[own])]
        )
        met.sort()
        yield met
        begin = end


def confirm(
    starts: np.ndarray,
    ids: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    num: int,
    den: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count what each x shares with its y, pairs grouped by y, and keep those at the threshold."""
    shared = np.zeros(len(x), dtype=np.int64)
    sizes = np.diff(starts)
    mark = np.zeros(int(ids.max(initial=-1)) + 1, dtype=bool)
    edges = np.flatnonzero(np.diff(y, prepend=-1, append=-1))
    for begin, end in pairwise(edges):
        own = ids[starts[y[begin]] : starts[y[begin] + 1]]
        mark[own] = True
        rows = x[begin:end]
        hits = mark[ids[ranges(starts[rows], starts[rows + 1])]]
        shared[begin:end] = np.add.reduceat(
            hits, np.cumsum(sizes[rows]) - sizes[rows], dtype=np.int64
        )
        mark[own] = False
    keep = shared * (num + den) >= num * (sizes[x] + sizes[y])
    return x[keep], y[keep], shared[keep]


def expand(
    label: np.ndarray, left: np.ndarray, right: np.ndarray, similarity: np.ndarray
) -> np.ndarray:
    """Turn pairs of distinct sets into pairs of rows, and add the pairs of equal rows."""
    rows = np.argsort(label, kind="stable")
    rows = rows[np.count_nonzero(label < 0) :]
    copies = np.bincount(label[rows])
    start = np.cumsum(copies) - copies
    same = np.flatnonzero(copies > 1)
    left, right = np.concatenate((left, same)), np.concatenate((right, same))
    similarity = np.concatenate((similarity, np.ones(len(same))))
    pairs = copies[left] * copies[right]
    which = np.repeat(np.arange(len(left)), pairs)
    within = ranges(np.zeros(len(left), dtype=np.int64), pairs)
    a = rows[start[left[which]] + within // copies[right[which]]]
    b = rows[start[right[which]] + within % copies[right[which]]]
    keep = (left[which] != right[which]) | (a < b)
    out = np.empty(int(keep.sum()), dtype=PAIRS)
    out["i"], out["j"] = np.minimum(a, b)[keep], np.maximum(a, b)[keep]
    out["similarity"] = similarity[which][keep]
    return out[np.lexsort((out["j"], out["i"]))]


def ranges(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Concatenate arange(start, end) over all pairs of a start and an end."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def word_shingles(texts: Iterable[str], size: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Hash the word n-grams of texts, a word being ``\w+`` of the text in lower case.

    A text of fewer than ``size`` words is one shingle of all of them; one without words has none.

    Returns
    -------
    offsets : array of int64, shape (n + 1,)
    tokens : array of uint64, shape (m,)
    """
    find = re.compile(r"\w+").findall
    number = WordHashes()
    lengths, parts = [0], [np.empty(0, dtype=np.uint64)]
    for text in texts:
        words = np.fromiter(
            map(number.__getitem__, find(text.lower())), dtype=np.uint64
        )
        width = min(size, len(words))
        count = len(words) - width + 1 if width else 0
        shingle = np.zeros(count, dtype=np.uint64)
        for place in range(width):
            shingle = shuffled(shingle * np.uint64(3) + words[place : place + count])
        lengths.append(count)
        parts.append(shingle)
    return np.cumsum(lengths), np.concatenate(parts)


class WordHashes(dict[str, int]):
    """The 64-bit hash of each word that was asked for."""

    def __missing__(self, word: str) -> int:
        digest = hashlib.blake2b(
            word.encode("utf-8", "surrogatepass"), digest_size=8
        ).digest()
        self[word] = int.from_bytes(digest, "little")
        return self[word]


def shuffled(x: np.ndarray) -> np.ndarray:
    """Apply the finaliser of MurmurHash3, a bijection, so that the order of words counts."""
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))
