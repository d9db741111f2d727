"""Meetings of rows in buckets: every CPU level against the reference, batches of any size, and what is refused."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast import kernels
from lshfast.index.neighbors.points import PointFormat
from lshfast.kernels.distances import distances_of_pairs
from lshfast.kernels.meetings import LEAST_ROOM, Meetings
from tests.reference import meetings as reference

NO_KEY = reference.NO_KEY
KEYS = st.sampled_from([0, 1, 7, 2**63, NO_KEY - 1, NO_KEY])

# One row a bucket, and all rows in one: around the rows that are compared at a time, 512.
CROWDS = [0, 1, 511, 512, 513, 1025]


def listed(keys, rows):
    """Return the keys and rows of a list in their order."""
    order = np.lexsort((rows, keys))
    return keys[order], rows[order]


def find(meetings, room=LEAST_ROOM, between=None):
    """Return all pairs, (right row, left row), in the order in which they are written."""
    found, out = [], np.empty(room, np.uint64)
    while not meetings.done:
        pairs = out[: meetings.find(out)].tolist()
        new = [(pair >> 32, pair & 2**32 - 1) for pair in pairs]
        found += new
        if between is not None:
            between(new)
    assert meetings.find(out) == 0
    assert len(found) == len(set(found))
    return found


@st.composite
def cases(draw):
    n = draw(st.integers(0, 24))
    keys = np.array(draw(st.lists(KEYS, min_size=n, max_size=n)), np.uint64)
    rows = np.arange(n, dtype=np.int32)
    words = draw(st.integers(0, 5))
    bits = draw(st.lists(st.integers(0, 2), min_size=n * words, max_size=n * words))
    codes = np.array([2**63 * (bit == 2) + bit for bit in bits], np.uint64).reshape(
        n, words
    )
    number = st.integers(-1, n + 1)
    limits = draw(
        st.one_of(st.just(list(range(n))), st.lists(number, min_size=n, max_size=n))
    )
    labels = draw(
        st.one_of(st.none(), st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    )
    sides = [
        listed(keys[chosen], rows[chosen])
        for chosen in (draw(subsets(n)), draw(subsets(n)))
    ]
    return *sides, codes, draw(st.integers(-1, 8)), np.array(limits, np.int32), labels


def subsets(n):
    return st.lists(st.booleans(), min_size=n, max_size=n).map(
        lambda chosen: np.array(chosen, np.bool_)
    )


@settings(max_examples=40)
@given(case=cases())
def test_pairs_are_those_of_the_reference(level, case):
    left, right, codes, most, limits, labels = case
    of_rows = None if labels is None else np.array(labels, np.int32)
    found = find(Meetings(*left, *right, codes, most, limits, of_rows))
    sides = [
        list(zip(keys.tolist(), rows.tolist(), strict=True))
        for keys, rows in (left, right)
    ]
    assert set(found) == reference.pairs(
        *sides, codes.tolist(), most, limits.tolist(), labels
    )


@pytest.mark.one_case
@pytest.mark.parametrize("words", [0, 1, 3])
@pytest.mark.parametrize("n", CROWDS)
def test_crowds(level, n, words):
    """Each pair is written once, in calls that have the least room, and codes are compared with all of a bucket."""
    rows, keys = np.arange(n, dtype=np.int32), np.full(n, 3, np.uint64)
    codes = (rows % 3).astype(np.uint64)[:, np.newaxis] * np.ones(words, np.uint64)
    meetings = Meetings(keys, rows, keys, rows, codes, words, rows)
    found = find(meetings, LEAST_ROOM)
    # Residues 1 and 2 differ in two bits of each word, others in one.
    expected = {
        (row, other)
        for row in range(n)
        for other in range(row)
        if not words or {row % 3, other % 3} != {1, 2}
    }
    assert set(found) == expected
    assert meetings.compared == n * (n - 1) // 2


def points_around_one(n, dim, dtype, seed=3):
    """Return points in a crowd, with some pairs of nearly equal ones, their format and their words."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal(dim) + 0.3 * rng.standard_normal((n, dim))
    points[: n // 8] = points[n // 4 : n // 4 + n // 8] + 0.01 * rng.standard_normal(
        (n // 8, dim)
    )
    layout = PointFormat("angle", dim, dtype, None)
    return layout, layout.check(points.astype(dtype))[1]


def values_of(layout, words, pairs):
    packed = np.array([row << 32 | other for row, other in pairs], np.uint64)
    values = np.empty(len(packed))
    distances_of_pairs(words, packed, *layout.measure.kernel, values)
    return values


@pytest.mark.few_cases
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [1, 7, 64, 129])
@pytest.mark.parametrize("n", [15, 16, 17, 33, 511, 513, 700])
def test_points_leave_out_only_pairs_beyond_the_value(level, n, dim, dtype):
    layout, words = points_around_one(n, dim, dtype)
    rows = np.arange(n, dtype=np.int32)
    keys = np.zeros(n, np.uint64)
    codes = np.zeros((n, 1), np.uint64)
    order = rows[::-1].astype(np.int64)
    pairs = [(row, other) for row in range(n) for other in range(row)]
    values = values_of(
        layout, words, [(int(order[row]), int(order[other])) for row, other in pairs]
    )
    value = float(np.quantile(values, 0.1))
    meetings = Meetings(
        keys,
        rows,
        keys,
        rows,
        codes,
        0,
        rows,
        None,
        words,
        layout.measure.kernel,
        order,
        value,
    )
    found = set(find(meetings))
    near = {
        pair for pair, at in zip(pairs, values.tolist(), strict=True) if at <= value
    }
    assert near <= found <= set(pairs)
    assert len(found) + meetings.screened == len(pairs) == meetings.compared
    with kernels.use("scalar"):
        again = Meetings(
            keys,
            rows,
            keys,
            rows,
            codes,
            0,
            rows,
            None,
            words,
            layout.measure.kernel,
            order,
            value,
        )
        assert set(find(again)) == found


def test_a_crowd_of_points_is_left_out():
    """Of points just beyond the value, at most a twentieth is left to be compared exactly."""
    layout, words = points_around_one(3000, 128, "float32")
    rows, keys = np.arange(3000, dtype=np.int32), np.zeros(3000, np.uint64)
    for codes in (np.zeros((3000, 2), np.uint64), np.empty((3000, 0), np.uint64)):
        meetings = Meetings(
            keys,
            rows,
            keys,
            rows,
            codes,
            0,
            rows,
            None,
            words,
            layout.measure.kernel,
            rows.astype(np.int64),
            0.05,
        )
        assert len(find(meetings, 1 << 16)) <= 0.05 * meetings.compared
        assert meetings.screened >= 0.95 * meetings.compared


def test_points_beyond_limits_and_of_one_label_are_no_pairs(level):
    """Near codes, limits and labels rule out pairs as without points, whatever is left out."""
    n = 900
    rng = np.random.default_rng(8)
    layout, words = points_around_one(n, 16, "float32")
    rows = np.arange(n, dtype=np.int32)
    keys = np.sort(rng.integers(0, 2, n)).astype(np.uint64)
    limits = rng.integers(0, n, n).astype(np.int32)
    labels = rng.integers(0, 3, n).astype(np.int32)
    codes = rng.integers(0, 4, (n, 1)).astype(np.uint64)
    points = (words, layout.measure.kernel, rows.astype(np.int64), 0.03)
    meetings = Meetings(keys, rows, keys, rows, codes, 1, limits, labels, *points)
    found = set(find(meetings))
    every = find(Meetings(keys, rows, keys, rows, codes, 1, limits, labels))
    near = values_of(layout, words, every) <= 0.03
    assert (
        {pair for pair, is_near in zip(every, near.tolist(), strict=True) if is_near}
        <= found
        <= set(every)
    )
    assert len(found) + meetings.screened == len(every)
    assert meetings.screened


def test_points_whose_norm_is_wrong_leave_out_no_pair():
    layout, words = points_around_one(600, 16, "float32")
    words = words.copy()
    words[:, 0] = np.full(600, 7.0).view(np.uint64)
    rows, keys = np.arange(600, dtype=np.int32), np.zeros(600, np.uint64)
    options = (
        np.empty((600, 0), np.uint64),
        0,
        rows,
        None,
        words,
        layout.measure.kernel,
        rows.astype(np.int64),
        0.0,
    )
    assert len(find(Meetings(keys, rows, keys, rows, *options))) == 600 * 599 // 2


@pytest.mark.parametrize(
    ("metric", "nonzeros"), [("euclidean", None), ("manhattan", None), ("angle", 16)]
)
def test_points_of_other_measures_leave_out_no_pair(metric, nonzeros):
    layout = PointFormat(metric, 16, "float32", nonzeros)
    words = layout.check(np.random.default_rng(1).standard_normal((600, 16)))[1]
    rows, keys = np.arange(600, dtype=np.int32), np.zeros(600, np.uint64)
    options = (
        np.empty((600, 0), np.uint64),
        0,
        rows,
        None,
        words,
        layout.measure.kernel,
        rows.astype(np.int64),
        0.0,
    )
    assert len(find(Meetings(keys, rows, keys, rows, *options))) == 600 * 599 // 2


@pytest.mark.slow
def test_the_pairs_do_not_depend_on_the_room():
    rng = np.random.default_rng(1)
    left = listed(
        rng.integers(0, 3, 1500).astype(np.uint64), np.arange(1500, dtype=np.int32)
    )
    right = listed(
        rng.integers(0, 3, 300).astype(np.uint64), np.arange(1400, 1700, dtype=np.int32)
    )
    limits = rng.integers(0, 1600, 1700).astype(np.int32)
    codes = rng.integers(0, 4, (1700, 1)).astype(np.uint64)
    sides = [
        list(zip(keys.tolist(), rows.tolist(), strict=True))
        for keys, rows in (left, right)
    ]
    wanted = reference.pairs(*sides, codes.tolist(), 1, limits.tolist())
    for room in (LEAST_ROOM, LEAST_ROOM + 1, 2 * LEAST_ROOM - 1, 5000):
        assert set(find(Meetings(*left, *right, codes, 1, limits), room)) == wanted


@pytest.mark.slow
def test_limits_that_fall_between_calls_rule_out_pairs():
    rows, keys = np.arange(1200, dtype=np.int32), np.zeros(1200, np.uint64)
    limits = rows.copy()

    def first_only(found):
        for row, other in found:
            limits[row] = min(limits[row], other)

    meetings = Meetings(
        keys, rows, keys, rows, np.empty((1200, 0), np.uint64), 0, limits
    )
    found = find(meetings, between=first_only)
    assert {(row, 0) for row in range(1, 1200)} <= set(found)
    assert meetings.compared < 600 * 1200  # half of all pairs


def test_rows_of_one_label_are_passed_without_a_comparison():
    n = 5000
    rows = np.arange(n, dtype=np.int32)
    keys = np.zeros(n, np.uint64)
    labels = np.arange(n, dtype=np.int32)

    def join(_):
        labels[:] = 0

    meetings = Meetings(
        keys, rows, keys, rows, np.zeros((n, 1), np.uint64), 0, rows, labels
    )
    find(meetings, between=join)
    assert meetings.compared <= 2 * LEAST_ROOM

    labels[:] = 4
    labels[n - 1] = 5
    assert find(
        Meetings(keys, rows, keys, rows, np.zeros((n, 1), np.uint64), 0, rows, labels)
    ) == [(n - 1, row) for row in range(n - 1)]


@settings(max_examples=20)
@given(n=st.integers(0, 40), shift=st.booleans())
@example(n=0, shift=True)
def test_unaligned_and_read_only_arrays(n, shift):
    def copied(array):
        bytes_of = np.empty(array.nbytes + 1, np.uint8)[int(shift) :][: array.nbytes]
        bytes_of[:] = np.frombuffer(array.tobytes(), np.uint8)
        given = bytes_of.view(array.dtype).reshape(array.shape)
        given.flags.writeable = False
        return given

    rows = np.arange(n, dtype=np.int32)
    keys = np.zeros(n, np.uint64)
    codes = np.zeros((n, 2), np.uint64)
    lists = [copied(keys), copied(rows), copied(keys), copied(rows)]
    assert len(find(Meetings(*lists, copied(codes), 0, rows))) == n * (n - 1) // 2


POINTS, ORDER = np.ones((5, 3), np.uint64), np.arange(4, dtype=np.int64)


def arguments(**others):
    rows, keys = np.arange(4, dtype=np.int32), np.array([1, 1, 2, 2], np.uint64)
    given = dict(
        left_keys=keys,
        left_rows=rows,
        right_keys=keys,
        right_rows=rows,
        codes=np.zeros((4, 1), np.uint64),
    )
    return given | dict(most=0, limits=rows, measure=("cosine", "float32", 4)) | others


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        (
            {"left_keys": np.array([1, 1, 2, 1], np.uint64)},
            "left_keys must rise, and rows of one key too.* place 3",
        ),
        (
            {"right_rows": np.array([1, 1, 2, 3], np.int32)},
            "right_keys must rise, and rows of one key too.* place 1",
        ),
        (
            {"left_rows": np.array([0, 1, 2, 4], np.int32)},
            r"left_rows must be within 0\.\.3, not 4",
        ),
        (
            {"right_rows": np.array([-1, 1, 2, 3], np.int32)},
            r"right_rows must be within 0\.\.3, not -1",
        ),
        (
            {"left_rows": np.arange(3, dtype=np.int32)},
            "left_rows must have 4 elements, one for each key, not 3",
        ),
        (
            {"limits": np.arange(3, dtype=np.int32)},
            "limits must have 4 elements, one for each code, not 3",
        ),
        (
            {"labels": np.arange(5, dtype=np.int32)},
            "labels must have 4 elements, one for each code, not 5",
        ),
        (
            {"points": np.ones((5, 2), np.uint64), "order": ORDER},
            "points must have rows of 3 words, not of 2",
        ),
        ({"points": POINTS}, "order must have 4 elements, one for each code"),
        (
            {"points": POINTS, "order": ORDER[:3]},
            "order must have 4 elements, one for each code",
        ),
        ({"points": POINTS, "order": ORDER + 3}, r"order must be within 0\.\.4, not 5"),
        (
            {"points": POINTS, "order": ORDER - 1},
            r"order must be within 0\.\.4, not -1",
        ),
    ],
)
def test_wrong_lists_are_refused(others, reason):
    with pytest.raises(ValueError, match=reason):
        Meetings(**arguments(**others))


@pytest.mark.parametrize(
    "others",
    [
        {"left_keys": None},
        {"codes": None},
        {"limits": None},
        {"most": "1"},
        {"left_keys": [1, 2]},
    ],
)
def test_wrong_types_are_refused(others):
    with pytest.raises(TypeError):
        Meetings(**arguments(**others))


def test_the_room_has_a_least_size():
    meetings = Meetings(**arguments())
    for room in (0, LEAST_ROOM - 1):
        with pytest.raises(
            ValueError,
            match=f"out must have at least {LEAST_ROOM} elements, not {room}",
        ):
            meetings.find(np.empty(room, np.uint64))
    assert find(meetings) == [(1, 0), (3, 2)]
