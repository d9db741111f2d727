"""Perfect maps: beside a dict, the bounds of both levels, redraws, equal keys, and what they refuse."""

import copy
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.hashing import PerfectMap
from lshfast.kernels import hashing as kernels
from tests.reference.hashing import draw, mix64

WORDS = st.integers(0, 2**64 - 1)
NEAR = st.integers(0, 40) | st.integers(2**64 - 40, 2**64 - 1)


@given(
    st.dictionaries(WORDS | NEAR, WORDS, max_size=60),
    st.lists(WORDS | NEAR, max_size=60),
    WORDS,
)
def test_a_map_beside_a_dict(entries, others, seed):
    made = PerfectMap(list(entries), list(entries.values()), seed=seed)
    assert len(made) == len(entries)
    asked = [*entries, *others]
    assert made.get(asked, default=7).tolist() == [entries.get(key, 7) for key in asked]
    assert made.contains(asked).tolist() == [key in entries for key in asked]
    for key in asked:
        assert (key in made) == (key in entries)
        if key in entries:
            assert made[key] == entries[key]
        else:
            with pytest.raises(KeyError):
                made[key]


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 1000, 70_000])
def test_positions(n):
    keys = np.random.default_rng(n).permutation(4 * n)[:n].astype(np.uint64)
    made = PerfectMap(keys, seed=n)
    expected = np.full(4 * n, -1, np.int64)
    expected[keys.astype(np.int64)] = np.arange(n)
    assert (made.positions(np.arange(4 * n)) == expected).all()
    assert (made.contains(np.arange(4 * n)) == (expected >= 0)).all()


@pytest.mark.one_case
@pytest.mark.parametrize(
    "keys",
    [
        np.arange(200_000, dtype=np.uint64),
        np.arange(200_000, dtype=np.uint64) << np.uint64(40),
        np.random.default_rng(1).integers(0, 2**64, 200_000, np.uint64),
    ],
    ids=["consecutive", "high", "random"],
)
def test_a3_bounds_of_both_levels(keys):
    """beta = 4 and alpha = 2: the sum of squares, the cells, and the redraws, of which at most a quarter fails."""
    n = len(keys)
    squares = []
    for seed in range(8):
        stats = PerfectMap(keys, seed=seed).stats
        squares.append(stats.squares)
        assert stats.squares <= 4 * n
        assert stats.cells <= 2 * stats.squares <= 8 * n
        assert stats.first_draws == 1
        buckets = sum(stats.second_draws)
        failed = sum(count for draw, count in enumerate(stats.second_draws) if draw)
        assert failed / buckets < 0.25 + 4 * np.sqrt(0.25 * 0.75 / buckets)
        assert stats.nbytes <= (16 * 8 + 8) * n + 10_000
    assert np.mean(squares) <= (2 * n - 1) * 1.02


@pytest.mark.slow
def test_a3_draws_of_the_first_function():
    """At most 2 draws in expectation, for sizes at which a draw often fails, and within 4 n whatever was drawn."""
    for n in (5, 6, 8, 12):
        stats = [PerfectMap(range(n), seed=seed).stats for seed in range(1500)]
        assert max(each.squares for each in stats) <= 4 * n
        draws = np.array([each.first_draws for each in stats])
        assert draws.mean() < 2
        assert draws.min() == 1
    assert any(
        each.first_draws > 1
        for n in (5, 6)
        for each in [PerfectMap(range(n), seed=s).stats for s in range(900)]
    )


def test_a3_pairs_collide_in_a_quarter_of_the_draws_at_most():
    """Buckets of two keys have four cells: a draw of the second function fails for 1/4 of them."""
    taken = np.zeros(kernels.SECOND_DRAWS)
    for seed in range(4):
        drawn = PerfectMap(np.arange(100_000), seed=seed).stats.second_draws
        taken[: len(drawn)] += drawn
    tries = sum(count * (draw + 1) for draw, count in enumerate(taken.tolist()))
    failed = tries - taken.sum()
    assert 0.2 < failed / tries < 0.25 + 4 * np.sqrt(0.25 * 0.75 / tries)


@pytest.mark.slow
def test_a_known_seed_can_be_attacked_and_a_random_one_not():
    """Keys that fall into one bucket of the function of seed 1 cost a redraw there, and none for other seeds."""
    n = 64
    words = [draw(1, 65, j) for j in range(4)]
    a, b = words[0] << 64 | words[1], words[2] << 64 | words[3]
    keys = [
        x for x in range(200_000) if ((a * mix64(x) + b) % 2**128 >> 64) * n >> 64 == 0
    ][:n]
    attacked = PerfectMap(keys, seed=1)
    assert attacked.stats.first_draws > 1
    assert attacked.positions(keys).tolist() == list(range(n))
    assert np.mean([PerfectMap(keys).stats.first_draws for _ in range(20)]) < 2
    assert PerfectMap(keys).seed != PerfectMap(keys).seed


def test_equal_keys_are_named():
    with pytest.raises(
        ValueError, match="keys must be different, and 7 is at positions 0 and 2"
    ):
        PerfectMap([7, 8, 7, 8])
    with pytest.raises(ValueError, match="and 5 is at positions 1 and 2"):
        PerfectMap([3, 5, 5, 5, 5, 3])
    keys = np.arange(100_000, dtype=np.uint64)
    keys[77_777] = 1234
    with pytest.raises(ValueError, match="and 1234 is at positions 1234 and 77777"):
        PerfectMap(keys)
    with pytest.raises(ValueError, match="and 0 is at positions 0 and 1"):
        PerfectMap(np.zeros(300_000, np.uint64))


def test_the_empty_map():
    made = PerfectMap([])
    assert len(made) == 0
    assert made.get([1, 2], default=9).tolist() == [9, 9]
    assert made.positions([1]).tolist() == [-1]
    assert 1 not in made
    assert made.get([]).dtype == np.uint64


def test_the_map_keeps_no_reference_to_its_keys():
    keys = np.arange(1000, dtype=np.uint64)
    values = keys + np.uint64(5)
    made = PerfectMap(keys, values)
    keys[:], values[:] = 0, 0
    assert made.get(range(1000)).tolist() == list(range(5, 1005))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: PerfectMap([1, 2], [1]),
            ValueError,
            "values must have 2 elements, as keys has, not 1",
        ),
        (lambda: PerfectMap([1.5]), TypeError, "keys must be integers"),
        (lambda: PerfectMap([1], ["a"]), TypeError, "values must be integers"),
        (lambda: PerfectMap([1], [-1]), ValueError, "values must be in 0"),
        (lambda: PerfectMap([-1]), ValueError, "keys must be in 0"),
        (
            lambda: PerfectMap({1: 2}),
            TypeError,
            "keys must be an array or a sequence of integers, not dict",
        ),
        (lambda: PerfectMap([[1]]), ValueError, "keys must have one dimension"),
        (lambda: PerfectMap([1], seed=-1), ValueError, "seed must be in"),
        (
            lambda: PerfectMap([1], seed=None),
            TypeError,
            "seed must be an int or 'random'",
        ),
        (
            lambda: PerfectMap([1]).get([1], default=-1),
            ValueError,
            "default must be in 0",
        ),
        (
            lambda: PerfectMap([1]).get([1], default=None),
            TypeError,
            "default must be integers",
        ),
        (
            lambda: PerfectMap([1]).get("1"),
            TypeError,
            "keys must be an array or a sequence of integers, not str",
        ),
        (lambda: PerfectMap([1])["1"], TypeError, "key must be integers"),
        (
            lambda: PerfectMap([1], [5]).positions([1]),
            ValueError,
            "has values, not positions",
        ),
        (lambda: copy.copy(PerfectMap([1])), TypeError, "cannot be pickled"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_is_no_key_is_not_in_the_map():
    made = PerfectMap([0, 1, 5])
    assert not any(other in made for other in ("5", 5.0, -1, 2**64, True, None))
    assert 5 in made
    assert np.uint64(5) in made


def arrays_of_a_map(n):
    keys = np.random.default_rng(3).permutation(n).astype(np.uint64)
    first = kernels.words(4, 65, 0, 4)
    second = kernels.words(4, 66, 0, 1024).reshape(-1, 4)
    _, directory, cells, _ = kernels.build(keys, keys, first, second, 4 * n)
    return first, second, directory, cells


def test_a_damaged_directory_leads_to_no_other_memory():
    first, second, directory, cells = arrays_of_a_map(1000)
    keys = np.arange(5000, dtype=np.uint64)
    values, found = np.zeros(5000, np.uint64), np.zeros(5000, np.uint8)
    for wrong in (np.uint64(2**64 - 1), np.uint64(2**40 - 1), np.uint64(2**56 - 2**40)):
        kernels.look_up(keys, first, second, np.full(1000, wrong), cells, values, found)
        assert (values < 1000).all()
    kernels.look_up(keys, first, second, directory, cells, values, found)
    assert found.sum() == 1000


def test_kernels_check_their_arguments():
    first, second, directory, cells = arrays_of_a_map(10)
    keys = np.arange(3, dtype=np.uint64)
    values = np.zeros(3, np.uint64)
    found = np.zeros(3, np.uint8)
    for call, message in (
        (
            lambda: kernels.look_up(
                keys, first[1:], second, directory, cells, values, found
            ),
            "first must have 4",
        ),
        (
            lambda: kernels.look_up(
                keys, first, second[1:], directory, cells, values, found
            ),
            "second must be",
        ),
        (
            lambda: kernels.look_up(
                keys, first, second, directory[:0], cells, values, found
            ),
            "at least one key",
        ),
        (
            lambda: kernels.look_up(
                keys, first, second, directory, cells[:0], values, found
            ),
            "at least one key",
        ),
        (
            lambda: kernels.look_up(
                keys, first, second, directory, cells, values[1:], found
            ),
            "out must have 3",
        ),
        (
            lambda: kernels.look_up(
                keys, first, second, directory, cells, values, found[1:]
            ),
            "found must have 3",
        ),
        (
            lambda: kernels.build(keys, values[1:], first, second, 99),
            "values must have 3",
        ),
        (
            lambda: kernels.build(keys[:0], values[:0], first, second, 99),
            "keys must be 1",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_keys_that_change_while_a_map_is_made():
    """Another thread writes the keys again and again: the map is one of what was there, or an error."""
    keys, over = np.arange(50_000, dtype=np.uint64), threading.Event()

    def change():
        while not over.is_set():
            keys[:] = keys[::-1].copy()

    thread = threading.Thread(target=change)
    thread.start()
    lengths, messages = {50_000}, []
    try:
        for _ in range(20):
            try:
                lengths.add(len(PerfectMap(keys)))
            except ValueError as error:
                messages.append(str(error))
    finally:
        over.set()
        thread.join()
    assert lengths == {50_000}
    assert all(message.startswith("keys must be different") for message in messages)
