"""Ranks of the tokens of many sets, against their definition: sets of ranks share as much as the sets of tokens."""

import signal
import threading
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast import TokenSets, exact
from lshfast.kernels import ranks
from tests.conftest import csr

ROWS = st.lists(
    st.lists(st.integers(0, 30) | st.integers(2**64 - 3, 2**64 - 1), max_size=20),
    max_size=12,
)


def numbers_of(rows):
    return np.arange(len(rows), dtype=np.int64)


def pick(rows, limit, slices=1):
    """Note the tokens of rows, slice by slice, and pick the rows that have fewer unique tokens than the limit."""
    offsets, tokens = csr(rows)
    found = ranks.TokenFilter(
        2**22
    )  # so many counters that two of these tokens hardly share one
    for slice_ in range(slices):
        found.note(offsets, tokens, numbers_of(rows), slice_, slices)
    return found.pick(
        offsets, tokens, numbers_of(rows), np.full(len(rows), limit, np.uint64)
    )


def grouped(pieces):
    parts = ranks.TokenParts(pieces)
    for piece in range(len(pieces)):
        parts.divide(piece)
    middle = parts.parts // 2
    parts.group(middle, parts.parts)
    parts.group(0, middle)
    return parts.ranks()


def check(rows, once, counts, found, most):
    """Compare with the definition; `once` counts all tokens that are in one set."""
    held = Counter(token for row in rows for token in set(row))
    assert once.tolist() == [
        sum(held[token] == 1 for token in set(row)) for row in rows
    ]
    assert counts.tolist() == [
        sum(held[token] > 1 for token in set(row)) for row in rows
    ]
    sets = (
        [part.tolist() for part in np.split(found, np.cumsum(counts)[:-1])]
        if rows
        else []
    )
    assert all(part == sorted(set(part)) for part in sets)
    for (i, left), (j, right) in combinations(enumerate(sets), 2):
        assert len(set(left) & set(right)) == len(set(rows[i]) & set(rows[j]))
    shared = Counter(rank for part in sets for rank in part)
    assert sorted(shared) == list(range(most))
    assert [shared[rank] for rank in range(most)] == sorted(shared.values())


@given(rows=ROWS, slices=st.integers(1, 5), cut=st.integers(0, 12))
@example(rows=[], slices=1, cut=0)
@example(rows=[[], [7, 7], [7]], slices=2, cut=1)
@example(rows=[[number, 1, 2] for number in range(100, 115)] + [[1]], slices=1, cut=3)
def test_ranks(rows, slices, cut):
    kept, once, counts, hashes = pick(rows, 1000, slices)
    assert kept.all()
    assert (once + counts).tolist() == list(map(len, rows))
    cut = min(cut, len(rows))
    at = int(counts[:cut].sum())
    own, ranked, found, most = grouped(
        [(counts[:cut], hashes[:at]), (counts[cut:], hashes[at:])]
    )
    check(rows, once + own, ranked, found, most)


def test_many_parts():
    """More tokens than one part has, in classes of all kinds: token i is in about 60000 / i of 3000 sets."""
    rng = np.random.default_rng(1)
    rows = [
        sorted(set((20 / rng.random(40)).astype(int).tolist())) for _ in range(3000)
    ]
    _, once, counts, hashes = pick(rows, 1000, 3)
    own, ranked, found, most = grouped([(counts, hashes)])
    held = Counter(token for row in rows for token in row)
    assert (once + own).tolist() == [
        sum(held[token] == 1 for token in row) for row in rows
    ]
    shared = np.bincount(found, minlength=most)
    assert sorted(shared.tolist()) == sorted(
        count for count in held.values() if count > 1
    )
    # Numbers from 16 on are in order up to an eighth.
    assert np.all(np.maximum.accumulate(shared) <= shared * 9 / 8)
    assert max(shared) > 1000
    large = [
        np.arange(start, start + 60_000, dtype=np.uint64).tolist()
        for start in (0, 30_000)
    ]
    _, once, counts, hashes = pick(large, 60_000)
    assert ranks.TokenParts([(counts, hashes)]).parts > 1
    own, ranked, found, most = grouped([(counts, hashes)])
    assert ((once + own).tolist(), ranked.tolist(), most) == (
        [30_000] * 2,
        [30_000] * 2,
        30_000,
    )
    assert np.array_equal(found[:30_000], found[30_000:])


def test_rows_with_too_many_unique_tokens_are_left_out():
    rows = [[1, 2, 3, 4], [1, 2, 8, 9], [1, 5, 6, 7], [], [10]]
    assert pick(rows, 4)[0].tolist() == [True] * 5
    kept, once, counts, hashes = pick(rows, 1)
    assert kept.tolist() == [False, False, False, True, False]
    assert (once.tolist(), counts.tolist(), len(hashes)) == ([0], [0], 0)
    kept, once, counts, _ = pick(rows, 3)
    assert kept.tolist() == [True, True, False, True, True]
    assert (once.tolist(), counts.tolist()) == ([2, 2, 0, 1], [2, 2, 0, 0])


@pytest.mark.parametrize("threads", [1, 2])
def test_ranking_can_be_interrupted(threads):
    tokens = np.random.default_rng(1).integers(0, 2**64, 8_000_000, dtype=np.uint64)
    sets = TokenSets(np.arange(0, len(tokens) + 1, 1000), tokens)
    threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        [exact.pairs(sets, threads=threads) for _ in range(100)]
    assert threading.active_count() < 20


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ranks.TokenFilter(1).note(*csr([[1]]), np.ones(1, np.int64)),
            ValueError,
            "rows must be below 1",
        ),
        (
            lambda: ranks.TokenFilter(1).note(
                np.array([0, 2]), np.ones(1, np.uint64), np.zeros(1, np.int64)
            ),
            ValueError,
            "offsets must rise from 0 to at most 1",
        ),
        (
            lambda: ranks.TokenFilter(1).note(*csr([[1]]), np.zeros(1, np.int64), 2, 2),
            ValueError,
            "slice must be below slices, and slices at most 65536, not 2 and 2",
        ),
        (
            lambda: ranks.TokenFilter(1).pick(
                *csr([[1]]), np.zeros(1, np.int64), np.zeros(2, np.uint64)
            ),
            ValueError,
            "limits must be 1, one for each row, not 2",
        ),
        (
            lambda: ranks.TokenParts([(np.ones(1, np.uint32), np.ones(2, np.uint64))]),
            ValueError,
            "must add up",
        ),
        (
            lambda: ranks.TokenParts([]).divide(0),
            ValueError,
            "piece 0 is divided already, or there is none",
        ),
        (
            lambda: ranks.TokenParts([]).group(0, 2),
            ValueError,
            "parts 0..2 are grouped already, or there are none",
        ),
        (
            lambda: ranks.TokenParts([]).ranks(),
            ValueError,
            "all parts must be grouped before",
        ),
        (lambda: [grouped_twice()], ValueError, "all parts must be grouped before"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def grouped_twice():
    parts = ranks.TokenParts([(np.ones(1, np.uint32), np.ones(1, np.uint64))])
    parts.divide(0)
    with pytest.raises(ValueError, match="piece 0 is divided already"):
        parts.divide(0)
    parts.group(0, 1)
    with pytest.raises(ValueError, match="grouped already"):
        parts.group(0, 1)
    parts.ranks()
    return parts.ranks()
