"""hamming_pairs, dedup_codes and the choice of blocks: against the reference, crowded codes, and bad input."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import kernels
from lshfast.index.hamming import dedup as hamming_dedup
from lshfast.index.hamming import join as hamming_join
from lshfast.index.hamming import plan as hamming_plan
from lshfast.index.hamming.dedup import dedup_codes
from lshfast.index.hamming.join import hamming_pairs
from lshfast.index.hamming.plan import buckets_within, choose_blocks, fit_blocks, levels_for
from tests.index.hamming_codes import clustered, scan, use_plan
from tests.reference import hamming as reference

# Pairs


@pytest.mark.few_cases
@settings(max_examples=40)
@given(data=st.data(), words=st.sampled_from([1, 2, 4, 16]), radius=st.sampled_from([0, 1, 3, 8, 40]))
def test_pairs_and_keepers_of_any_codes(level, data, words, radius):
    codes = clustered(
        data.draw(st.integers(0, 60)), words, flips=data.draw(st.integers(0, 6)), seed=data.draw(st.integers(0, 99))
    )
    wanted = reference.pairs(codes.tolist(), radius)
    assert [*hamming_pairs(codes, radius)] == wanted
    assert dedup_codes(codes, radius).keeper.tolist() == reference.keepers(codes.tolist(), radius)


def counted_pairs(codes, radius):
    """Return all pairs of codes of 64 bits."""
    found = []
    for i in range(len(codes) - 1):
        bits = np.unpackbits((codes[i + 1 :] ^ codes[i]).view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1)
        found += [(i, i + 1 + j, int(bits[j])) for j in np.flatnonzero(bits <= radius).tolist()]
    return found


@pytest.mark.few_cases
@pytest.mark.parametrize("radius", [1, 3, pytest.param(5, marks=pytest.mark.slow)])
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
    return scan(n, bits, radius) if few else hamming_plan.plan_of(n, bits, radius, (8, 8, 8))


def test_many_codes_that_share_a_block():
    """100,000 codes with the same 32 bits: a bucket of all of them is not compared pair by pair."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**32, 100_000, np.uint64)
    codes[:1000] = codes[1000:2000] ^ np.uint64(0b1001)
    progress = []
    pairs = hamming_pairs(codes, 3, progress=lambda *step: progress.append(step))
    ordered = np.sort(codes)
    assert {(int(left), int(right)) for left, right, distance in pairs if distance == 0} == equal_pairs(codes)
    assert len(np.unique(ordered)) > 90_000
    assert {(row, row + 1000) for row in range(1000)} <= {(left, right) for left, right, _ in pairs}
    assert progress[-1][1] == progress[-1][2]


def equal_pairs(codes):
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order])) + 1
    return {pair for group in np.split(order, ends) if len(group) > 1 for pair in combinations(group.tolist(), 2)}


# Keepers


@pytest.mark.parametrize("radius", [0, 3, 64, *(pytest.param(radius, marks=pytest.mark.slow) for radius in (1, 10))])
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
                    results.append(dedup_codes(codes, radius, keep=keep, threads=threads))
        first = results[0]
        assert all((result.keeper == first.keeper).all() for result in results)
        check_keepers(codes, radius, [*order], first)


def check_keepers(codes, radius, order, result):
    """Check that the keepers are those of the definition."""
    rank = np.empty(len(codes), np.int64)
    rank[order] = np.arange(len(codes))
    distances = np.zeros((len(codes), len(codes)), np.uint8)
    for i, code in enumerate(codes):
        distances[i] = np.unpackbits((codes ^ code).view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1)
    kept = np.array([row for row in order if result.keep[row]])
    near = distances[:, kept] <= radius
    assert near[kept].sum() == len(kept)  # only themselves
    assert (result.keeper == kept[near.argmax(axis=1)]).all()  # the first of those within the radius
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
    result = dedup_codes(codes, 1, keys="abcde", keep=[1, 2, 1, 2, 5.0], progress=lambda *step: steps.append(step))
    assert result.removed == [("a", "e", 0), ("b", "e", 1), ("c", "e", 1)]
    assert result.keep.tolist() == [False, False, False, True, True]
    assert (len(result), result.copies) == (5, 1)
    assert repr(result) == "CodeDedup(5 codes: 2 kept, 3 removed within distance 1, 1 of them copies)"
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
    assert int(np.bitwise_or.reduce(masks, axis=None)).bit_count() == sum(plan.block_bits)


# Bad input

CODES = np.zeros((3, 2), np.uint64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hamming_pairs(CODES, 129), ValueError, r"radius must be in 0\.\.128, not 129"),
        (lambda: hamming_pairs(CODES, 0.5), TypeError, r"radius must be an int, not 0\.5"),
        (lambda: hamming_pairs(np.zeros((2, 65), np.uint64), 1), ValueError, r"1\.\.64 words, not \(2, 65\)"),
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
