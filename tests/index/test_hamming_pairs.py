"""hamming_pairs, dedup_codes and the choice of blocks: against the reference, crowded codes, and bad input."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import kernels
from lshfast.families.draws import draw
from lshfast.index.hamming import dedup as hamming_dedup
from lshfast.index.hamming import join as hamming_join
from lshfast.index.hamming import plan as hamming_plan
from lshfast.index.hamming.dedup import dedup_codes
from lshfast.index.hamming.join import hamming_pairs
from lshfast.index.hamming.plan import (
    buckets_within,
    choose_blocks,
    fit_blocks,
    levels_for,
)
from lshfast.index.hamming.sampled import TablePlan, choose_tables, missed, plan_tables
from tests.index.hamming_codes import clustered, scan, use_plan
from tests.reference import hamming as reference

# Pairs


@pytest.mark.few_cases
@settings(max_examples=40)
@given(
    data=st.data(),
    words=st.sampled_from([1, 2, 4, 16]),
    radius=st.sampled_from([0, 1, 3, 8, 40]),
)
def test_pairs_and_keepers_of_any_codes(level, data, words, radius):
    codes = clustered(
        data.draw(st.integers(0, 60)),
        words,
        flips=data.draw(st.integers(0, 6)),
        seed=data.draw(st.integers(0, 99)),
    )
    wanted = reference.pairs(codes.tolist(), radius)
    assert [*hamming_pairs(codes, radius)] == wanted
    assert dedup_codes(codes, radius).keeper.tolist() == reference.keepers(
        codes.tolist(), radius
    )


def counted_pairs(codes, radius):
    """Return all pairs of codes of 64 bits."""
    found = []
    for i in range(len(codes) - 1):
        bits = np.unpackbits(
            (codes[i + 1 :] ^ codes[i]).view(np.uint8).reshape(-1, 8), axis=1
        ).sum(axis=1)
        found += [
            (i, i + 1 + j, int(bits[j]))
            for j in np.flatnonzero(bits <= radius).tolist()
        ]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("radius", [1, 3, pytest.param(5, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("crowd", [0, 4, 8192])
def test_pairs_of_crowded_blocks(monkeypatch, radius, crowd):
    """Codes that are alike in three quarters of their bits are divided by the other bits, again and again."""
    monkeypatch.setattr(hamming_join, "CROWD", crowd)
    use_plan(monkeypatch, blocks_for_few)
    codes = clustered(200, 1).ravel() & np.uint64(0xFFFF)
    codes[::3] |= np.uint64(2**40)
    assert [*hamming_pairs(codes, radius)] == counted_pairs(codes, radius)


def blocks_for_few(n, bits, radius, free, **_):
    """Choose blocks where a scan would be chosen, unless there are very few codes or bits."""
    few = n < 20 or free < 24
    return (
        scan(n, bits, radius)
        if few
        else hamming_plan.plan_of(n, bits, radius, (8, 8, 8))
    )


@pytest.mark.slow
def test_many_codes_that_share_a_block():
    """100,000 codes with the same 32 bits: a bucket of all of them is not compared pair by pair."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**32, 100_000, np.uint64)
    codes[:1000] = codes[1000:2000] ^ np.uint64(0b1001)
    progress = []
    pairs = hamming_pairs(codes, 3, progress=lambda *step: progress.append(step))
    ordered = np.sort(codes)
    assert {
        (int(left), int(right)) for left, right, distance in pairs if distance == 0
    } == equal_pairs(codes)
    assert len(np.unique(ordered)) > 90_000
    assert {(row, row + 1000) for row in range(1000)} <= {
        (left, right) for left, right, _ in pairs
    }
    assert progress[-1][1] == progress[-1][2]


def equal_pairs(codes):
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order])) + 1
    return {
        pair
        for group in np.split(order, ends)
        if len(group) > 1
        for pair in combinations(group.tolist(), 2)
    }


# Keepers


@pytest.mark.one_case
@pytest.mark.parametrize(
    "radius",
    [0, 3, 64, *(pytest.param(radius, marks=pytest.mark.slow) for radius in (1, 10))],
)
def test_keepers(radius, monkeypatch):
    codes = clustered(1000, 1, flips=6).ravel()
    weights = np.random.default_rng(5).integers(0, 50, 1000)
    for keep, order in (
        ("first", range(1000)),
        ("last", range(999, -1, -1)),
        (weights, sorted(range(1000), key=lambda row: (-weights[row], row))),
    ):
        results = []
        for threads in (1, 2):
            for name in kernels.available():
                with kernels.use(name):
                    results.append(
                        dedup_codes(codes, radius, keep=keep, threads=threads)
                    )
        first = results[0]
        assert all((result.keeper == first.keeper).all() for result in results)
        check_keepers(codes, radius, [*order], first)


def check_keepers(codes, radius, order, result):
    """Check that the keepers are those of the definition."""
    rank = np.empty(len(codes), np.int64)
    rank[order] = np.arange(len(codes))
    distances = np.zeros((len(codes), len(codes)), np.uint8)
    for i, code in enumerate(codes):
        distances[i] = np.unpackbits(
            (codes ^ code).view(np.uint8).reshape(-1, 8), axis=1
        ).sum(axis=1)
    kept = np.array([row for row in order if result.keep[row]])
    near = distances[:, kept] <= radius
    assert near[kept].sum() == len(kept)  # only themselves
    assert (
        result.keeper == kept[near.argmax(axis=1)]
    ).all()  # the first of those within the radius
    assert (rank[result.keeper] <= rank).all()
    assert (result.distance == distances[np.arange(len(codes)), result.keeper]).all()
    assert (result.keep == (result.keeper == np.arange(len(codes)))).all()


def test_keepers_in_several_batches(monkeypatch):
    monkeypatch.setattr(hamming_dedup, "LEAST_BATCH", 100)
    codes = clustered(20_000, 1, flips=3).ravel()
    plain = dedup_codes(codes, 2)
    assert plain.method == "blocks"
    use_plan(monkeypatch, scan)
    scanned = dedup_codes(codes, 2)
    assert scanned.method == "scan"
    assert (plain.keeper == scanned.keeper).all()
    assert (plain.distance == scanned.distance).all()


def test_result_of_dedup():
    codes = np.array([[0, 1], [0, 0], [0, 3], [7, 0], [0, 1]], np.uint64)
    steps = []
    result = dedup_codes(
        codes,
        1,
        keys="abcde",
        keep=[1, 2, 1, 2, 5.0],
        progress=lambda *step: steps.append(step),
    )
    assert result.removed == [("a", "e", 0), ("b", "e", 1), ("c", "e", 1)]
    assert result.keep.tolist() == [False, False, False, True, True]
    assert (len(result), result.copies) == (5, 1)
    assert (
        repr(result)
        == "CodeDedup(5 codes: 2 kept, 3 removed within distance 1, 1 of them copies)"
    )
    assert steps == [("dedup", 4, 4)]
    assert [*dedup_codes(codes[:0], 1).keep] == []
    assert dedup_codes(codes[:1], 128).keep.tolist() == [True]


def test_equal_codes_are_not_compared():
    codes = np.zeros(300_000, np.uint64)
    codes[1::2] = 3
    result = dedup_codes(codes, 1)
    assert np.flatnonzero(result.keep).tolist() == [0, 1]
    assert result.copies == 299_998


def test_weights_of_any_size():
    codes = np.array([1, 1, 1], np.uint64)
    for weights in (
        [-(2**63), 2**63 - 1, 0],
        [0.0, np.inf, -np.inf],
        [False, True, False],
        np.array([0, 2**64 - 1, 1], np.uint64),
    ):
        assert dedup_codes(codes, 0, keep=weights).keep.tolist() == [False, True, False]


# The choice of blocks


def test_levels_add_up():
    for blocks in range(1, 17):
        for radius in range(70):
            levels = levels_for(blocks, radius)
            assert sum(levels) == radius + 1
            assert max(levels) - min(levels) <= 1
    assert [buckets_within(4, level) for level in range(7)] == [0, 1, 5, 11, 15, 16, 16]


def test_blocks_take_at_most_the_memory():
    for n in (10, 1000, 10**5, 10**7, 10**9):
        for bits in (1, 20, 64, 130, 1024):
            for radius in {0, min(3, bits), bits // 4, bits}:
                plan = choose_blocks(n, bits, radius)
                assert plan.memory <= 80 * n
                assert sum(plan.block_bits) <= bits
                assert (plan.method == "scan") == (plan.block_bits == ())


@pytest.mark.parametrize("varying", [24, 32, 40])
def test_bits_that_are_always_equal_are_left_out(varying):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**varying, (100_000, 1), np.uint64) << np.uint64(12)
    plan, masks = fit_blocks(codes, 64, 3)
    assert plan.method == "blocks"
    assert plan.candidates < len(codes) / 20  # all codes are equal in half of the bits
    assert [int(mask[0]).bit_count() for mask in masks] == [*plan.block_bits]
    assert int(np.bitwise_or.reduce(masks, axis=None)).bit_count() == sum(
        plan.block_bits
    )


# Tables of sampled bits


@pytest.mark.parametrize(
    ("bits", "radius", "width"),
    [(12, 3, 2), (10, 2, 3), (9, 5, 4), (8, 8, 2), (8, 0, 3)],
)
def test_the_probability_of_missing_a_pair(bits, radius, width):
    """All sets of bits in which a pair may differ are counted."""
    for tables in range(bits // width + 1):
        blocks = [set(range(i * width, (i + 1) * width)) for i in range(tables)]
        differing = [set(places) for places in combinations(range(bits), radius)]
        in_none = sum(all(block & places for block in blocks) for places in differing)
        assert missed(bits, radius, width, tables) == Fraction(in_none, len(differing))


@pytest.mark.parametrize("recall", [0.1, 0.5, 0.9, 0.99, 0.999999])
@pytest.mark.parametrize(
    ("n", "bits", "radius"),
    [(10**6, 256, 31), (1000, 64, 10), (10**9, 1024, 50), (100, 7, 1)],
)
def test_a_plan_promises_the_recall_with_the_fewest_tables(n, bits, radius, recall):
    plan = plan_tables(n, bits, radius, recall)
    miss = [missed(bits, radius, plan.width, tables) for tables in plan.tables]
    assert 1 - np.prod([*map(float, miss)]) == pytest.approx(plan.recall)
    assert plan.recall >= recall
    last = missed(bits, radius, plan.width, plan.tables[-1] - 1)
    assert 1 - float(np.prod([*map(float, miss[:-1])])) * float(last) < recall
    assert sum(plan.tables) * plan.width <= len(plan.tables) * bits


def test_plans_with_too_many_tables_are_none():
    assert plan_tables(10**6, 256, 200, 0.99) is None
    assert plan_tables(10**6, 256, 250, 0.99) is None
    assert plan_tables(10**6, 20, 20, 0.5) is None


def planted(n, pairs, radius, seed):
    """Return codes of 256 bits: some pairs at exactly this distance, all others far apart; and the distance's rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2**64, (n, 4), np.uint64)
    flips = np.zeros((pairs, 256), np.bool_)
    for row in flips:
        row[rng.permutation(256)[:radius]] = True
    codes[n - pairs :] = codes[:pairs] ^ np.packbits(
        flips, axis=1, bitorder="little"
    ).view(np.uint64)
    return codes


def test_the_promised_recall_is_kept():
    """Pairs at the radius are found as often as promised, up to four standard errors."""
    codes = planted(20_000, 5000, 31, seed=3)
    for recall in (0.5, 0.9, 0.99):
        plan, _ = choose_tables(codes, 31, recall, 1)
        found = hamming_pairs(codes, 31, recall=recall)
        assert (found.distance == 31).all()
        assert (found.right - found.left == 15_000).all()
        assert (
            abs(len(found) / 5000 - plan.recall)
            <= 4 * (plan.recall * (1 - plan.recall) / 5000) ** 0.5
        )


def test_sampled_pairs_are_the_same_with_any_threads_and_differ_by_seed(level):
    codes, steps = planted(5000, 1000, 31, seed=4), []
    first = hamming_pairs(
        codes, 31, recall=0.6, threads=1, progress=lambda *step: steps.append(step)
    )
    assert steps[-1][1] == steps[-1][2] == len(steps)
    for threads in (2, 5):
        again = hamming_pairs(codes, 31, recall=0.6, threads=threads)
        assert [*again] == [*first]
    other = hamming_pairs(codes, 31, recall=0.6, seed=2)
    assert [*other] != [*first]
    every = {*hamming_pairs(codes, 31)}
    assert {*first} | {*other} <= every
    assert len(every) == 1000


def test_golden_sampled_pairs():
    """The samples are the same on each platform and with each version of numpy."""
    words = draw(1, 99, 40_000).reshape(10, 1000, 4)
    codes = np.concatenate(
        [words[0], words[0] ^ np.bitwise_and.reduce(words[1:5], axis=0)]
    )
    found = hamming_pairs(codes, 20, recall=0.5)
    assert (len(found), int(found.left.sum()), int(found.right.sum())) == GOLDEN


GOLDEN = 681, 339003, 1020003


def test_crowds_of_sampled_tables(monkeypatch):
    """Buckets with many codes are divided by blocks of the other bits."""
    monkeypatch.setattr(hamming_join, "CROWD", 4)
    use_plan(monkeypatch, blocks_for_few)
    codes = clustered(300, 1).ravel() & np.uint64(0xFFFF)
    plan = TablePlan(3, (4,) * 10, 0.999)
    free = np.arange(16, dtype=np.int64)
    found = hamming_join._sampled(codes[:, None], 2, plan, free, 1, 2, None)
    pairs = [(pair >> 32, pair & 2**32 - 1) for pair in found.tolist()]
    every = [(i, j) for i, j, _ in counted_pairs(codes, 2)]
    assert pairs == sorted({*pairs})
    assert {*pairs} <= {*every}
    assert len(pairs) > 0.99 * len(every)


def test_codes_that_share_most_bits_are_searched_completely():
    """Where tables would have crowded buckets, the answer is complete."""
    rng = np.random.default_rng(5)
    codes = np.zeros((3000, 16), np.uint64)
    codes[np.arange(3000), rng.integers(0, 16, 3000)] = np.uint64(1) << rng.integers(
        0, 64, 3000
    ).astype(np.uint64)
    assert choose_tables(codes, 1, 0.5, 1) is None
    assert [*hamming_pairs(codes, 1, recall=0.5)] == [*hamming_pairs(codes, 1)]
    assert len(hamming_pairs(np.ones(3, np.uint64), 0, recall=0.5)) == 3
    assert len(hamming_pairs(np.ones((0, 2), np.uint64), 3, recall=0.5)) == 0


# Bad input

CODES = np.zeros((3, 2), np.uint64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hamming_pairs(CODES, 129), ValueError, r"radius must be in 0\.\.128, not 129"),
        (lambda: hamming_pairs(CODES, 0.5), TypeError, r"radius must be an int, not 0\.5"),
        (lambda: hamming_pairs(np.zeros((2, 65), np.uint64), 1), ValueError, r"a word for each code, not \(2, 65\)"),
        (lambda: hamming_pairs(CODES, 1, recall=0), ValueError, "recall must be above 0 and at most 1, not 0"),
        (lambda: hamming_pairs(CODES, 1, recall=1.1), ValueError, r"above 0 and at most 1, not 1\.1"),
        (lambda: hamming_pairs(CODES, 1, recall="all"), TypeError, "recall must be a number, not 'all'"),
        (lambda: hamming_pairs(CODES, 1, seed=-1), ValueError, "seed must be in 0.*, not -1"),
        (lambda: hamming_pairs([1, None], 1), TypeError, "of one type, and row 1 is a NoneType: None"),
        (lambda: dedup_codes(CODES, -1), ValueError, r"radius must be in 0\.\.128, not -1"),
        (lambda: dedup_codes(CODES, 1, keep="best"), ValueError, "'first', 'last' or an array of weights, not 'best'"),
        (lambda: dedup_codes(CODES, 1, keep=[1, 2]), ValueError, r"keep must have 3 weights, .* not shape \(2,\)"),
        (lambda: dedup_codes(CODES, 1, keep=[1, float("nan"), 2]), ValueError, "must not be NaN, and weight 1 is"),
        (lambda: dedup_codes(CODES, 1, keep=["a", "b", "c"]), TypeError, "an array of numbers, not <U1"),
        (lambda: dedup_codes(CODES, 1, keys=["a"]), ValueError, "keys must have 3 elements, one for each code, not 1"),
        (lambda: dedup_codes(CODES.astype(np.float32), 1), TypeError, "codes must be uint64, .* not float32"),
        (lambda: dedup_codes(CODES, 1, threads=1.5), TypeError, "threads must be an int or None"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
