"""What the kernels of exact joins refuse, and the search in steps; tests/join/test_exact_pairs.py has the results."""

import signal
import threading
import time

import numpy as np
import pytest

from lshfast import TokenSets, exact
from lshfast.join.thresholds import rule_of
from lshfast.kernels import setjoin
from tests.conftest import csr
from tests.kernels.test_sampling import unaligned

RULE = rule_of("jaccard", 0.5).of_kernels


def u32(*numbers):
    return np.array(numbers, np.uint32)


def records(sizes=(2, 3), counts=(2, 3), starts=(0, 2), ranks=(0, 1, 0, 1, 2), most=3):
    return setjoin.SetRecords(
        u32(*sizes), u32(*counts), np.array(starts, np.uint64), u32(*ranks), most
    )


def ranked(rows):
    """Return the table of some rows, and its tokens in the order of their ranks."""
    offsets, tokens = csr(rows)
    table = setjoin.TokenRanks()
    table.count(offsets, tokens, np.arange(len(rows), dtype=np.int64))
    found, counts = table.entries()
    order = np.lexsort((found, counts))
    table.assign(found[order])
    return table, found[order].tolist(), counts[order].tolist()


def test_ranks():
    rows = [[5, 0, 2**64 - 1], [0, 5], [5, 5, 7]]
    table, tokens, counts = ranked(rows)
    assert (tokens, counts) == ([7, 2**64 - 1, 0, 5], [1, 1, 2, 4])
    sizes, number, ranks = table.number(*csr(rows), np.arange(3), RULE, False)
    assert (sizes.tolist(), number.tolist(), ranks.tolist()) == (
        [3, 2, 2],
        [3, 2, 2],
        [1, 2, 3, 2, 3, 0, 3],
    )


def test_a_table_that_grows():
    """More tokens than the first table holds; each occurs as often as its number says."""
    rows = [list(range(start, 3000)) for start in range(0, 3000, 500)]
    _, tokens, counts = ranked(rows)
    assert tokens == list(range(3000))
    assert counts == [token // 500 + 1 for token in tokens]


def test_count_stops():
    offsets, tokens = csr([list(range(2000))])
    assert not setjoin.TokenRanks().count(offsets, tokens, np.zeros(1, np.int64), 512)
    assert setjoin.TokenRanks().count(offsets, tokens, np.zeros(1, np.int64), 2000)


def test_rows_without_a_rank_in_their_prefix():
    table = ranked([[1, 2]])[0]
    rows = [[*range(100, 108), 1, 2], [*range(200, 210), 1, 2]]
    for threshold, expected in [(0.9, [0, 0]), (0.2, [2, 0]), (0.1, [2, 2])]:
        rule = rule_of("jaccard", threshold).of_kernels
        assert (
            table.number(*csr(rows), np.arange(2), rule, False)[1].tolist() == expected
        )


def test_unaligned_records():
    sets = setjoin.SetRecords(
        *map(
            unaligned,
            (u32(2, 3), u32(2, 3), np.array([0, 2], np.uint64), u32(0, 1, 0, 1, 2)),
        ),
        3,
    )
    assert sets.bitmaps(False)[:2].tolist() == [[3], [7]]


def test_longest_prefixes():
    """A set of 10 needs its first 2 tokens at .9 if its partner may be larger; it may be as small as 9."""
    rule = rule_of("jaccard", 0.9).of_kernels
    assert setjoin.longest_prefixes(rule, u32(9, 10, 20), False).tolist() == [1, 2, 3]
    rule = rule_of("containment", 1.0, "indexed").of_kernels
    assert setjoin.longest_prefixes(rule, u32(5), False).tolist() == [1]
    assert setjoin.longest_prefixes(rule, u32(5), True).tolist() == [5]


@pytest.mark.weekly
def test_a_search_in_many_steps(level):
    """More pairs than are returned at a time, and merges of more steps than are made between two pauses."""
    long = np.arange(1_500_000, dtype=np.uint64)
    sets = TokenSets(
        np.arange(3) * len(long), np.concatenate([long, long + np.uint64(3)])
    )
    assert exact.pairs(sets, threads=1)["similarity"].tolist() == [
        (len(long) - 3) / (len(long) + 3)
    ]
    rows = [[number, 500, 501, 502, 503] for number in range(400)]
    for method in ("prefix", "bitmap"):
        assert (
            len(exact.pairs(rows, threshold=0.6, method=method, threads=1))
            == 400 * 399 // 2
        )


@pytest.mark.parametrize("method", ["prefix", "bitmap"])
def test_a_search_ends_when_there_are_too_many_pairs(method):
    """4,000 sets are 8 million pairs; a search for at most a thousand looks at few of them."""
    n = 4000
    ranks = np.tile(u32(0, 1, 2, 3, 0), (n, 1))
    ranks[:, 4] = 4 + np.arange(n) % 100
    sizes, starts = np.full(n, 5, np.uint32), 5 * np.arange(n, dtype=np.uint64)
    sets = setjoin.SetRecords(sizes, sizes, starts, ranks.ravel(), 104)
    if method == "prefix":
        search = setjoin.Search(setjoin.Prefixes(RULE, sets, True), sets)
    else:
        search = setjoin.BitSearch(
            setjoin.SizeClasses(RULE, sets),
            sets.bitmaps(True),
            sets,
            sets.bitmaps(False),
            True,
        )
    assert len(search.run(0, 10, 45)) == 45
    assert len(search.run(10, n, 1000)) > 1000
    assert search.candidates < 10**6
    with pytest.raises(ValueError, match="ended early cannot go on"):
        search.run(0, 1)


@pytest.mark.parametrize("method", ["prefix", "bitmap"])
def test_searches_can_be_interrupted(method):
    rng = np.random.default_rng(1)
    tokens = rng.permuted(
        np.tile(np.arange(52, dtype=np.uint64), (150_000, 1)), axis=1
    )[:, :26]
    rows = TokenSets(np.arange(150_001) * 26, tokens.ravel())
    threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        exact.pairs(rows, threshold=0.75, method=method, threads=1)
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: setjoin.need((9, 1, 2, 0.5), 1, 1), ValueError, "rule must be"),
        (lambda: setjoin.need((0, 1, 0, 0.5), 1, 1), ValueError, "rule must be"),
        (lambda: setjoin.need((0, 2**32, 1, 0.5), 1, 1), ValueError, "rule must be"),
        (lambda: setjoin.need((5, 0, 1, float("nan")), 1, 1), ValueError, "rule must be"),
        (lambda: setjoin.need(RULE, 0, 1), ValueError, "sizes must be in 1..536870912, not 0 and 1"),
        (lambda: setjoin.indexed_prefixes(RULE, u32(2, 1), True), ValueError, "sizes must rise"),
        (lambda: setjoin.indexed_prefixes(RULE, u32(0), True), ValueError, "sizes must rise"),
        (lambda: records(sizes=(3, 2)), ValueError, "sizes must rise"),
        (lambda: records(counts=(2, 4), ranks=(0, 1, 0, 1, 2, 2)), ValueError, "at most its size"),
        (lambda: records(starts=(0, 3)), ValueError, "at most its size"),
        (lambda: records(starts=(0, 2**63)), ValueError, "at most its size"),
        (lambda: records(ranks=(0, 1, 0, 1, 3)), ValueError, "rise below 3"),
        (lambda: records(ranks=(0, 1, 0, 0, 2)), ValueError, "rise below 3"),
        (lambda: records(counts=(2,)), ValueError, "counts and starts must be 2"),
        (lambda: records(most=2**32), OverflowError, "4294967296 different tokens are too many"),
        (lambda: records(most=513).bitmaps(True), ValueError, "at most 512 ranks, not 513"),
        (lambda: setjoin.Search(setjoin.Prefixes(RULE, records(), True), records()), ValueError, "its own sets only"),
        (
            lambda: setjoin.Search(setjoin.Prefixes(RULE, records(), False), records(most=4)),
            ValueError,
            "must have the ranks of the index, 3, not 4",
        ),
        (
            lambda: setjoin.Search(setjoin.Prefixes(RULE, records(), False), records()).run(0, 3),
            ValueError,
            "must be in 0..2, not 0..3",
        ),
        (lambda: setjoin.TokenRanks().assign(np.ones(1, np.uint64)), ValueError, "there are 0 tokens"),
        (lambda: setjoin.longest_prefixes(RULE, u32(2, 1), True), ValueError, "sizes must rise"),
        (lambda: setjoin.TokenRanks().count(*csr([[1]]), np.ones(1, np.int64)), ValueError, "rows must be below 1"),
        (
            lambda: setjoin.TokenRanks().count(np.array([0, 2]), np.ones(1, np.uint64), np.zeros(1, np.int64)),
            ValueError,
            "offsets must rise from 0 to at most 1",
        ),
        (
            lambda: setjoin.BitSearch(
                setjoin.SizeClasses(RULE, records()),
                np.zeros((1, 2), np.uint64),
                records(),
                np.zeros((3, 1), np.uint64),
                False,
            ),
            ValueError,
            "words must be the bitmaps",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
