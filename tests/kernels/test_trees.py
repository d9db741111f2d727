"""Runs of sorted codes and the searches in them, against the reference, which compares all codes with all."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import trees as kernels
from lshfast.kernels.trees import Run, Snapshot, slot_marks
from tests.reference import forest as reference
from tests.reference.hashing import EMPTY

WORD64 = st.integers(0, EMPTY - 1)
NEVER = 2**31

# Signatures of few values, so that rows share slots; values whose bits of a level are equal by
# chance are among them.
SMALL = st.integers(0, 3)
MANY = st.integers(0, 400)
SHAPES = [
    (1, 1),
    (2, 1),
    (4, 2),
    (6, 6),
    (9, 1),
    (9, 2),
    (8, 3),
    (16, 4),
    (17, 2),
]  # k and trees


def array_of(rows, k):
    return np.array(rows, np.uint64).reshape(len(rows), k)


def filled(rows):
    """Return the numbers of the rows that are not empty."""
    return [i for i, row in enumerate(rows) if row[0] != EMPTY]


def snapshot_of(
    rows, k, trees, runs, loose=(), dead=(), sizes=None, steps=(), singles=False
):
    """Return a snapshot of rows of which each list in `runs` is a group of one run, or of several."""
    signatures = array_of(rows, k)
    live = np.ones(len(rows), np.uint8)
    live[list(dead)] = 0
    groups = [
        [
            Run.build(signatures, np.array(own, np.int64), trees, singles)
            for own in group
        ]
        for group in runs
    ]
    steps = np.array(steps, np.uint32).reshape(-1, 3)
    sizes = None if sizes is None else np.array(sizes, np.int64)
    for array in (signatures, live, steps):
        array.flags.writeable = False
    return Snapshot(
        signatures,
        slot_marks(signatures),
        live,
        sizes,
        trees,
        groups,
        list(loose),
        steps,
        [],
        singles,
    )


def lists(found):
    """Return (offsets, rows, scores) as a list of (row, score) for each query."""
    offsets, rows, scores = found
    assert offsets.dtype == rows.dtype == np.int64
    pairs = list(zip(rows.tolist(), scores.tolist(), strict=True))
    return [pairs[low:high] for low, high in pairwise(offsets.tolist())]


# Codes and marks


@pytest.mark.parametrize("levels", range(1, kernels.MOST_LEVELS + 1))
def test_codes_of_each_number_of_levels(levels):
    widths = reference.widths(levels)
    assert sum(widths) <= 64
    assert widths[0] >= 22
    rows = np.random.default_rng(levels).integers(
        0, 2**63, (20, 2 * levels), dtype=np.uint64
    )
    run = Run.build(rows, np.arange(20), 2)
    for tree in range(2):
        codes = [reference.whole_code(row, 2, tree) for row in rows.tolist()]
        assert run.codes[tree].tolist() == sorted(codes)


@st.composite
def tables(draw_from, most=12):
    """Rows of a shape, empty ones among them, some of them equal, and the shape."""
    k, trees = draw_from(st.sampled_from(SHAPES))
    slot = draw_from(st.sampled_from([SMALL, MANY, WORD64]))
    row = st.one_of(st.lists(slot, min_size=k, max_size=k), st.just([EMPTY] * k))
    rows = draw_from(st.lists(row, max_size=most))
    copies = (
        draw_from(st.lists(st.integers(0, max(len(rows) - 1, 0)), max_size=3))
        if rows
        else []
    )
    return k, trees, [*rows, *(list(rows[i]) for i in copies)]


@given(tables())
@example((5, 5, []))
@example((4, 2, [[7, 7, 7, 7]] * 5))
@example((128, 16, [list(range(128))]))
@example((200, 2, [[7] * 200, list(range(200))]))
def test_runs_hold_the_codes_in_order(case):
    k, trees, rows = case
    own = filled(rows)[::-1]
    run = Run.build(array_of(rows, k), np.array(own, np.int64), trees)
    assert (len(run), run.codes.shape, run.rows.shape) == (
        len(own),
        (trees, len(own)),
        (trees, len(own)),
    )
    for tree in range(trees):
        codes = [(reference.whole_code(rows[row], trees, tree), row) for row in own]
        assert list(
            zip(run.codes[tree].tolist(), run.rows[tree].tolist(), strict=True)
        ) == sorted(codes, key=lambda pair: pair[0])


@pytest.mark.parametrize("n", [0, 1, 47, 48, 49, 1000, 5000])
@pytest.mark.parametrize("slots", [1, 2, 2**62])
def test_sorting_many(n, slots):
    """Up to 48 codes go by insertion, more by radix; equal codes keep the order of their rows."""
    signatures = np.random.default_rng(n).integers(0, slots, (n, 2), dtype=np.uint64)
    rows = np.random.default_rng(1).permutation(n)
    run = Run.build(signatures, rows, 1)
    codes = {
        slots: reference.whole_code(slots, 1, 0)
        for slots in {tuple(row) for row in signatures.tolist()}
    }
    keys = [codes[tuple(signatures[row].tolist())] for row in rows.tolist()]
    order = sorted(range(n), key=keys.__getitem__)
    assert run.rows[0].tolist() == [int(rows[i]) for i in order]
    assert run.codes[0].tolist() == [keys[i] for i in order]


@given(tables(), st.data())
def test_merging_is_building_from_the_live_rows(case, data):
    k, trees, rows = case
    own = filled(rows)
    first = data.draw(st.sets(st.sampled_from(own))) if own else set()
    dead = data.draw(st.sets(st.sampled_from(own))) if own else set()
    signatures = array_of(rows, k)
    live = np.array([i not in dead for i in range(len(rows))], np.uint8)
    parts = [np.array(sorted(part), np.int64) for part in (first, set(own) - first)]
    merged = Run.merge(*(Run.build(signatures, part, trees) for part in parts), live)
    stay = [row for part in parts for row in part.tolist() if row not in dead]
    built = Run.build(signatures, np.array(stay, np.int64), trees)
    assert merged.codes.tolist() == built.codes.tolist()
    assert merged.rows.tolist() == built.rows.tolist()
    assert merged.crowds.tolist() == built.crowds.tolist()


@given(tables(most=30))
def test_crowds(case):
    k, trees, rows = case
    own, levels = filled(rows), reference.levels_of(k, trees)
    run = Run.build(array_of(rows, k), np.array(own, np.int64), trees)
    every = -(-trees // kernels.SAMPLE)
    for depth in range(1, levels + 1):
        met = [
            len(
                reference.met(
                    rows[row], [rows[other] for other in own], trees, (tree, depth, 0)
                )
            )
            for tree in range(0, trees, every)
            for row in own
        ]
        assert run.crowds[depth - 1] == pytest.approx(sum(met) / len(met) if met else 0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 300_000])
def test_runs_are_immutable(n):
    """Small arrays, and ones in large pages; what a run gives of itself are copies."""
    signatures = np.arange(4 * n, dtype=np.uint64).reshape(n, 4)
    run = Run.build(signatures, np.arange(n - 1, -1, -1), 2)
    before = run.codes, run.rows, run.crowds
    assert before[1].nbytes >= kernels.LARGE // 2 or n == 2
    assert sorted(run.members.tolist()) == list(range(n))
    assert run.members.tolist() == run.rows[0].tolist()
    for array in (run.codes, run.rows, run.members, run.crowds):
        array[:] = 0
    for array, again in zip(before, (run.codes, run.rows, run.crowds), strict=True):
        assert np.array_equal(array, again)
    assert run.nbytes >= run.codes.nbytes + run.rows.nbytes
    with pytest.raises(TypeError, match=r"Run\.build"):
        Run()


@pytest.mark.parametrize(
    "shape",
    [(0,), (5, 3), (kernels.LARGE // 8 - 1,), (kernels.LARGE // 8, 3), (3, 0, 10**9)],
)
def test_large_arrays(shape):
    arrays = [kernels.large_empty(shape, np.uint64) for _ in range(2)]
    for i, array in enumerate(arrays):
        assert (array.shape, array.dtype, array.flags.c_contiguous) == (
            shape,
            np.uint64,
            True,
        )
        array[...] = i
    assert all((array == i).all() for i, array in enumerate(arrays))


@pytest.mark.parametrize("k", [*range(1, 20), 127, 128, 129, 240, 241, 300, 1000])
def test_marks(k):
    """Lower halves come before upper ones, sixteen to a word; the slots that fill up the last word have mark 0."""
    rows = np.random.default_rng(k).integers(0, 2**64 - 1, (3, k), dtype=np.uint64)
    rows.flags.writeable = False
    found = slot_marks(rows).reshape(3, 2, -1, 1)
    low, high = (
        ((found >> np.arange(0, 64, 4, dtype=np.uint64)) & np.uint64(15))
        .reshape(3, 2, -1)
        .swapaxes(0, 1)
    )
    marks = (high << np.uint64(4) | low).tolist()
    missing = [0] * (-k % 16)
    assert marks == [
        [reference.mark(slot) for slot in row] + missing for row in rows.tolist()
    ]


# Searches


@st.composite
def searches(draw_from, most=12):
    """A table, queries, how its rows lie in runs, which are dead, and steps."""
    k, trees, rows = draw_from(tables(most))
    own = filled(rows)
    where = [draw_from(st.integers(0, 3)) for _ in own]  # 3: loose
    dead = draw_from(st.sets(st.sampled_from(own))) if own else set()
    levels = reference.levels_of(k, trees)
    steps = []
    for tree in draw_from(st.lists(st.integers(0, trees - 1), max_size=2 * trees)):
        left = (
            min(
                (depth for other, depth, _ in steps if other == tree),
                default=levels + 1,
            )
            - 1
        )
        if left:
            steps.append((tree, draw_from(st.integers(1, left)), NEVER))
    changed = st.lists(st.one_of(SMALL, WORD64), min_size=k, max_size=k)
    queries = [*rows[:4], [EMPTY] * k, *draw_from(st.lists(changed, max_size=3))]
    queries = [row if row[0] != EMPTY else [EMPTY] * k for row in queries]
    runs = [
        [row for row, at in zip(own, where, strict=True) if at == run]
        for run in range(3)
    ]
    return (
        k,
        trees,
        rows,
        queries,
        runs,
        [row for row, at in zip(own, where, strict=True) if at == 3],
        dead,
        steps,
    )


def all_met(query, rows, trees, runs, loose, steps):
    """Return the rows that a query is compared with after these steps."""
    if query[0] == EMPTY:
        return set()
    within = {row for run in runs for row in run}
    return set(loose) | {
        row
        for step in steps
        for row in reference.met(query, rows, trees, step)
        if row in within
    }


@settings(max_examples=60)
@given(searches(), st.integers(1, 20))
def test_top_of_all_that_is_met(case, most):
    """A search that is never told to end gives the best of all rows that it meets; of copies of the query, any."""
    k, trees, rows, queries, runs, loose, dead, steps = case
    snapshot = snapshot_of(rows, k, trees, [runs], loose, dead, steps=steps)
    for query, found in zip(
        queries, lists(snapshot.top(array_of(queries, k), most)), strict=True
    ):
        best = reference.ranked(
            query, rows, all_met(query, rows, trees, runs, loose, steps) - dead
        )
        if [equal for _, equal in best[:most]] == [k] * most:
            assert {equal for _, equal in found} == {k}
            assert len(found) == most
            assert set(found) <= set(best)
        else:
            assert found == best[:most]


@settings(max_examples=60)
@given(searches(), st.integers(1, 4), st.data())
def test_a_search_ends_when_it_has_enough(case, most, data):
    """Where it did not meet all, the last match has what a step asks for, and no row met by then is better."""
    k, trees, rows, queries, runs, loose, dead, steps = case
    enough = sorted(
        data.draw(
            st.lists(st.integers(0, k + 1), min_size=len(steps), max_size=len(steps))
        ),
        reverse=True,
    )
    steps = [
        (tree, depth, least)
        for (tree, depth, _), least in zip(steps, enough, strict=True)
    ]
    snapshot = snapshot_of(rows, k, trees, [runs], loose, dead, steps=steps)
    for query, found in zip(
        queries, lists(snapshot.top(array_of(queries, k), most)), strict=True
    ):
        chosen = all_met(query, rows, trees, runs, loose, steps) - dead
        assert set(found) <= set(reference.ranked(query, rows, chosen))
        assert found == sorted(found, key=lambda match: (-match[1], match[0]))

        def is_best(so_far, found=found, query=query):
            before = all_met(query, rows, trees, runs, loose, so_far) - dead
            best = reference.ranked(query, rows, before | {row for row, _ in found})
            return found == best[:most]

        ends = [len(found) == most and found[-1][1] >= least for least in (k, *enough)]
        assert is_best(steps) or any(
            end and is_best(steps[:i]) for i, end in enumerate(ends)
        )


@pytest.mark.parametrize(("enough", "found"), [(0, 0), (2, 0), (3, 1), (4, 1)])
def test_a_row_behind_the_end_is_not_met(enough, found):
    """Two equal slots are enough after the first step, or the search goes on to the row of three, eight steps later."""
    query = list(range(1, 19))
    rows = [[1, 2, *[0] * 16], [1, *[0] * 15, 17, 18]]
    steps = [(tree, 2, enough) for tree in range(9)]
    snapshot = snapshot_of(rows, 18, 9, [[[0, 1]]], steps=steps)
    assert lists(snapshot.top(array_of([query], 18), 1)) == [[(found, 2 + found)]]
    assert lists(snapshot.top(array_of([query], 18), 2)) == [[(1, 3), (0, 2)]]


@settings(max_examples=60)
@given(searches(), st.data(), st.floats(0.01, 1))
def test_within(case, data, threshold):
    k, trees, rows, queries, runs, loose, dead, steps = case
    size = st.one_of(st.integers(1, 9), st.integers(1, 2**53))
    sizes = [data.draw(size) for _ in rows]
    q = [data.draw(size) for _ in queries]
    counts = [[data.draw(st.integers(0, len(steps))) for _ in runs] for _ in queries]
    snapshot = snapshot_of(
        rows, k, trees, [[run] for run in runs], loose, dead, sizes, steps
    )
    found = snapshot.within(
        array_of(queries, k),
        np.array(q),
        np.array(counts, np.uint32).reshape(-1, 3),
        threshold,
    )
    for i, (query, matches) in enumerate(zip(queries, lists(found), strict=True)):
        met = all_met(query, rows, trees, [], loose, [])
        for run, count in zip(runs, counts[i], strict=True):
            met |= all_met(query, rows, trees, [run], [], steps[:count])
        shares = {
            row: reference.containment(equal, k, q[i], sizes[row])
            for row, equal in reference.ranked(query, rows, met - dead)
        }
        assert len({row for row, _ in matches}) == len(matches)
        for row, share in matches:
            assert share == pytest.approx(float(shares[row]), rel=1e-12)
            assert share >= threshold
        assert {
            row for row, share in shares.items() if share > threshold * (1 + 1e-12)
        } <= {row for row, _ in matches}


@settings(max_examples=80)
@given(searches(), st.data(), st.sampled_from([0.0, 0.5, 1.5, 10.0]))
def test_within_of_single_trees_and_slack(case, data, slack):
    """Trees of all other slots meet each row that shares a slot; a slack takes in what falls a little short."""
    k, trees, rows, queries, runs, loose, dead, _ = case
    threshold = data.draw(st.sampled_from([0.1, 0.5, 0.9, 1.0]))
    sizes = [data.draw(st.integers(1, 40)) for _ in rows]
    q = [data.draw(st.integers(1, 40)) for _ in queries]
    steps = [(tree, 1, NEVER) for tree in range(k)]
    snapshot = snapshot_of(
        rows, k, trees, [runs], loose, dead, sizes, steps, singles=True
    )
    count = data.draw(st.integers(0, k))
    counts = np.full((len(queries), 1), count, np.uint32)
    found = snapshot.within(array_of(queries, k), np.array(q), counts, threshold, slack)
    for i, (query, matches) in enumerate(zip(queries, lists(found), strict=True)):
        met = all_met(query, rows, trees, runs, loose, steps[:count]) - dead
        equal = dict(reference.ranked(query, rows, met))
        if count == k:
            assert (
                set(equal)
                == {
                    row
                    for row in range(len(rows))
                    if reference.agreement(query, rows[row])
                }
                - dead
            )
        given = {row for row, _ in matches}
        assert given <= set(equal)
        for row, agreement in equal.items():
            share = float(reference.containment(agreement, k, q[i], sizes[row]))
            near = (
                abs(share - threshold) < 1e-9
                or abs(sizes[row] - threshold * q[i]) < 1e-9
            )
            wanted = [
                reference.reaches(agreement, k, q[i], sizes[row], threshold, slack * s)
                for s in (1 - 1e-9, 1 + 1e-9)
            ]
            assert near or row in given or not all(wanted)
            assert near or row not in given or any(wanted)


def test_within_makes_room_for_many():
    """More matches than there is room for at first, in several queries."""
    n = 3 * kernels.FIRST_PIECE
    rows = [[1, 2, 3, 4]] * n + [[5, 6, 7, 8]]
    snapshot = snapshot_of(
        rows, 4, 2, [[range(n + 1)]], sizes=[10] * (n + 1), steps=[(0, 2, 0), (1, 2, 0)]
    )
    queries = array_of([rows[-1], rows[0], rows[0], rows[-1]], 4)
    found = lists(
        snapshot.within(queries, np.full(4, 10), np.full((4, 1), 2, np.uint32), 0.5)
    )
    assert [sorted(row for row, _ in matches) for matches in found] == [
        [n],
        [*range(n)],
        [*range(n)],
        [n],
    ]
    assert {share for matches in found for _, share in matches} == {1.0}


@pytest.mark.parametrize(
    "n",
    [1, 2, 7, 8, 9, 63, 64, 65, 71, 72, 73, 511, 512, 513, 576, 577, 4095, 4096, 4097],
)
def test_lookups_in_runs_of_all_sizes(n):
    """Fences come in eights: each row finds itself in every tree, and rows between the codes find nothing."""
    signatures = np.random.default_rng(n).integers(
        0, 2**64 - 1, (2 * n, 4), dtype=np.uint64
    )
    signatures[n // 2 : n // 2 + 20] = signatures[n // 2]  # a stretch of equal codes
    own = np.arange(n)
    run = Run.build(signatures, own, 2)
    assert run.nbytes <= 14 * 2 * n + 400
    marks, live = slot_marks(signatures), np.ones(2 * n, np.uint8)
    copies = defaultdict(list)
    for i, signature in enumerate(signatures[:n].tolist()):
        copies[tuple(signature)].append((i, 4))
    for tree in (0, 1):
        steps = np.array([(tree, 2, NEVER)], np.uint32)
        snapshot = Snapshot(signatures, marks, live, None, 2, [[run]], [], steps, [])
        found = lists(snapshot.top(signatures, n))
        assert found == [copies[tuple(signature)] for signature in signatures.tolist()]


@pytest.mark.slow
def test_a_search_may_take_many_steps_and_rows():
    """Lookups are under way for sixteen steps ahead, and 32 rows are gathered at a time: more of both, in two runs."""
    generator = np.random.default_rng(5)
    rows = generator.integers(0, 4, (300, 64), dtype=np.uint64).tolist()
    steps = [(tree, 2, NEVER) for tree in range(32)] + [
        (tree, 1, NEVER) for tree in range(31, -1, -1)
    ]
    queries = generator.integers(0, 4, (5, 64), dtype=np.uint64).tolist()
    runs, loose = [list(range(0, 120)), list(range(120, 260))], list(range(260, 300))
    for count in (1, 16, 17, 40, 64):
        snapshot = snapshot_of(rows, 64, 32, [runs], loose, steps=steps[:count])
        for query, found in zip(
            queries, lists(snapshot.top(array_of(queries, 64), 25)), strict=True
        ):
            chosen = all_met(query, rows, 32, runs, loose, steps[:count])
            assert found == reference.ranked(query, rows, chosen)[:25]


def test_a_million_copies_cost_a_search_nothing():
    """Rows as good as can be end a search at once, however many more there are."""
    signatures = np.ones((10**6, 4), np.uint64)
    run = Run.build(signatures, np.arange(10**6), 1)
    steps = np.array([(0, 4, 4)], np.uint32)
    live = np.ones(10**6, np.uint8)
    snapshot = Snapshot(
        signatures, slot_marks(signatures), live, None, 1, [[run]], [], steps, []
    )
    assert [len(found) for found in lists(snapshot.top(signatures[:2000], 3))] == [
        3
    ] * 2000


def test_memory_is_left_for_the_next_search():
    rows = [[1, 2], [1, 3], [2, 2]]
    signatures, spare = array_of(rows, 2), []
    run, live = Run.build(signatures, np.arange(3), 1), np.ones(3, np.uint8)
    steps = np.array([(0, 1, NEVER)], np.uint32)
    snapshot = Snapshot(
        signatures, slot_marks(signatures), live, None, 1, [[run]], [], steps, spare
    )
    for _ in range(3):
        assert lists(snapshot.top(signatures, 5)) == [
            [(0, 2), (1, 1)],
            [(1, 2), (0, 1)],
            [(2, 2)],
        ]
        assert len(spare) == 1
        assert not spare[0].any()
    live[1] = 0  # a row that falls away is not given any more
    assert lists(snapshot.top(signatures, 5)) == [[(0, 2)], [(0, 1)], [(2, 2)]]


def test_no_rows():
    none = np.empty((0, 8), np.uint64)
    steps = np.array([(0, 1, 0)], np.uint32)
    empty = Run.build(none, np.empty(0, np.int64), 4)
    for groups in (
        [],
        [[]],
        [[empty], [Run.merge(empty, empty, np.empty(0, np.uint8))]],
    ):
        snapshot = Snapshot(
            none,
            slot_marks(none),
            np.empty(0, np.uint8),
            np.empty(0, np.int64),
            4,
            groups,
            [],
            steps,
            [],
        )
        assert lists(snapshot.top(none, 3)) == []
        assert lists(snapshot.top(np.ones((2, 8), np.uint64), 3)) == [[], []]
        counts = np.ones((2, len(groups)), np.uint32)
        assert lists(
            snapshot.within(
                np.ones((2, 8), np.uint64), np.ones(2, np.int64), counts, 0.5
            )
        ) == [[], []]


# Arguments


@pytest.mark.parametrize(
    ("k", "rows", "trees", "message"),
    [
        (4, [0], 0, r"trees must be in 1\.\.4"),
        (4, [0], 5, r"trees must be in 1\.\.4"),
        (0, [0], 1, "at least one slot"),
        (4, [2], 2, r"rows must be in 0\.\.1"),
        (4, [-1], 2, r"rows must be in 0\.\.1"),
        (4, [0, 2**40], 2, r"rows must be in 0\.\.1"),
        (4, [0, 1], 2, "row 1 is that of an empty set"),
    ],
)
def test_bad_runs_are_refused(k, rows, trees, message):
    signatures = np.ones((2, k), np.uint64)
    signatures[1] = EMPTY
    with pytest.raises(ValueError, match=message):
        Run.build(signatures, np.array(rows, np.int64), trees)


def test_bad_merges_are_refused():
    signatures = np.ones((9, 4), np.uint64)
    a = Run.build(signatures, np.arange(4), 2)
    b = Run.build(signatures, np.arange(4, 9), 2)
    with pytest.raises(
        ValueError, match="runs of 2 and 4 trees over 4 and 4 slots do not merge"
    ):
        Run.merge(a, Run.build(signatures, np.arange(3), 4), np.ones(9, np.uint8))
    with pytest.raises(
        ValueError, match="runs of 2 and 2 trees over 4 and 3 slots do not merge"
    ):
        Run.merge(
            a,
            Run.build(np.ones((9, 3), np.uint64), np.arange(3), 2),
            np.ones(9, np.uint8),
        )
    with pytest.raises(ValueError, match="live must tell of 9 rows, not 8"):
        Run.merge(a, b, np.ones(8, np.uint8))
    with pytest.raises(TypeError):
        Run.merge(a, None, np.ones(9, np.uint8))


def parts(**changes):
    """Return the arguments of a snapshot of three rows, some of them changed."""
    signatures = np.arange(12, dtype=np.uint64).reshape(3, 4)
    given_ones = {
        "signatures": signatures,
        "marks": slot_marks(signatures),
        "live": np.ones(3, np.uint8),
        "sizes": np.ones(3, np.int64),
        "trees": 2,
        "groups": [[Run.build(signatures, np.arange(3), 2)]],
        "loose": [],
        "steps": np.array([(0, 1, 0)], np.uint32),
        "spare": [],
    }
    return list((given_ones | changes).values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"marks": np.zeros((3, 1), np.uint64)},
            r"marks must be \(3, 2\), not \(3, 1\)",
        ),
        (
            {"marks": np.zeros((2, 2), np.uint64)},
            r"marks must be \(3, 2\), not \(2, 2\)",
        ),
        ({"live": np.ones(2, np.uint8)}, "live and sizes must tell of 3 rows"),
        ({"sizes": np.ones(4, np.int64)}, "live and sizes must tell of 3 rows"),
        ({"trees": 0}, r"trees must be in 1\.\.4"),
        (
            {"trees": 4},
            "a run of 2 trees over 3 rows of 4 slots is not one of 4 trees over 3 rows of 4 slots",
        ),
        (
            {"groups": [[Run.build(np.ones((4, 4), np.uint64), np.arange(2), 2)]]},
            "a run of 2 trees over 4 rows",
        ),
        (
            {"groups": [[Run.build(np.ones((3, 5), np.uint64), np.arange(2), 2)]]},
            "3 rows of 5 slots is not one",
        ),
        ({"loose": [3]}, r"loose rows must be in 0\.\.2"),
        ({"loose": [-1]}, r"loose rows must be in 0\.\.2"),
        ({"loose": [2**32]}, r"loose rows must be in 0\.\.2"),
        (
            {"steps": np.array([(2, 1, 0)], np.uint32)},
            r"steps must go into trees 0\.\.1, to depths 1\.\.2, not 2, 1",
        ),
        ({"steps": np.array([(0, 0, 0)], np.uint32)}, "not 0, 0"),
        ({"steps": np.array([(0, 3, 0)], np.uint32)}, "not 0, 3"),
        (
            {"steps": np.array([(0, 1)], np.uint32)},
            r"steps must be \(s, 3\), not \(1, 2\)",
        ),
    ],
)
def test_bad_snapshots_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Snapshot(*parts(**changes))


def test_snapshots_are_immutable():
    snapshot = Snapshot(*parts())
    with pytest.raises(TypeError, match="immutable"):
        snapshot.__init__(*parts())
    with pytest.raises(TypeError):
        Snapshot(*parts(spare=None))


@pytest.mark.parametrize(
    ("queries", "sizes", "counts", "message"),
    [
        ((2, 3), 2, (2, 1), "queries must have 4 slots, not 3"),
        ((2, 4), 1, (2, 1), "as many sizes as queries are needed, not 1 and 2"),
        ((2, 4), 2, (1, 1), r"counts must be \(2, 1\), not \(1, 1\)"),
        ((2, 4), 2, (2, 2), r"counts must be \(2, 1\), not \(2, 2\)"),
    ],
)
def test_bad_queries_are_refused(queries, sizes, counts, message):
    snapshot = Snapshot(*parts())
    with pytest.raises(ValueError, match=message):
        snapshot.within(
            np.ones(queries, np.uint64),
            np.ones(sizes, np.int64),
            np.ones(counts, np.uint32),
            0.5,
        )
    if queries[1] != 4:
        with pytest.raises(ValueError, match=message):
            snapshot.top(np.ones(queries, np.uint64), 1)


def test_numbers_out_of_range_are_refused():
    snapshot, one = Snapshot(*parts()), np.ones((1, 4), np.uint64)
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        snapshot.top(one, 0)
    with pytest.raises(OverflowError):
        snapshot.top(one, -1)
    with pytest.raises(ValueError, match="sizes of queries must be at least 1, not 0"):
        snapshot.within(one, np.zeros(1, np.int64), np.ones((1, 1), np.uint32), 0.5)
    with pytest.raises(
        ValueError, match=r"counts must be in 0\.\.1, the steps there are, not 2"
    ):
        snapshot.within(one, np.ones(1, np.int64), np.full((1, 1), 2, np.uint32), 0.5)
    with pytest.raises(ValueError, match="the rows have no sizes"):
        Snapshot(*parts(sizes=None)).within(
            one, np.ones(1, np.int64), np.ones((1, 1), np.uint32), 0.5
        )
    with pytest.raises(ValueError, match="at least one slot"):
        slot_marks(np.ones((1, 0), np.uint64))
