"""The share of rows that share buckets, estimated from samples of rows whose groups are known."""

import numpy as np
import pytest

from lshfast.jobs.sharing import rows_wanted, sharing

ROWS, BANDS, PLACE = 200_000, 3, 100


def groups(rng, share, sizes):
    """Return a group for each row: `share` of the rows, at places all over, are in groups of such sizes."""
    labels, chosen = np.arange(ROWS), rng.permutation(ROWS)[: round(share * ROWS)]
    starts = np.cumsum(np.resize(sizes, len(chosen)))
    starts = np.concatenate([[0], starts[starts < len(chosen) - 1]])
    labels[chosen] = chosen[starts[np.searchsorted(starts, np.arange(len(chosen)), side="right") - 1]]
    return labels


def keys_of(labels):
    """Return keys that are equal within a group."""
    return np.repeat(labels[:, None].astype(np.uint64) + np.uint64(1), BANDS, axis=1)


def estimate(labels, places, rows=ROWS, inner=None):
    own = np.isin(np.arange(len(labels)) // PLACE, places)
    numbers = 2 * (np.flatnonzero(own) // PLACE) + 1
    inner = np.ones(own.sum(), bool) if inner is None else inner[own]
    return sharing(keys_of(labels[own]), np.full(own.sum(), 10), numbers, inner, rows)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
@pytest.mark.parametrize(
    ("sizes", "error"),
    [([2], 0.2), ([40], 0.2), ([2, 2, 2, 3, 2, 2, 3, 2, 4, 9], 0.2), ([2, 1000], 0.2), ([3], 0.3), ([6], 0.3)],
)
def test_the_share_is_estimated_from_random_places(share, sizes, error):
    """Groups of three and more without any of two are taken for a mixture, so their share is overestimated."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        places = rng.choice(ROWS // PLACE, rows_wanted(ROWS) // PLACE, replace=False)
        found.append(estimate(groups(rng, share, sizes), places).rows)
    assert np.median(found) == pytest.approx(share, rel=error, abs=0.02)


def test_partners_beside_a_row_are_counted_as_they_are():
    labels = np.arange(ROWS)
    labels[: ROWS // 2] = labels[: ROWS // 2] // 2 * 2
    places = np.random.default_rng(1).choice(ROWS // PLACE, rows_wanted(ROWS) // PLACE, replace=False)
    assert estimate(labels, places).rows == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("distance", [1000, ROWS])
def test_a_stretch_tells_the_share_wherever_the_partners_are(distance):
    """Of a stretch of rows in four places, the two inner ones are counted."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labels, at = np.arange(ROWS), rng.permutation(ROWS)[: ROWS * 3 // 20]
        other = np.clip(at + rng.integers(-distance, distance + 1, len(at)), 0, ROWS - 1)
        labels[other] = at
        n = rows_wanted(ROWS)
        numbers = np.arange(n) * 4 // n + 1
        keys = keys_of(labels[:n])
        true = np.isin(labels, np.flatnonzero(np.bincount(labels, minlength=ROWS) > 1)).mean()
        inner = (numbers > 1) & (numbers < 4)
        found.append(sharing(keys, np.full(n, 10), numbers, inner, ROWS).rows / true)
    assert np.median(found) == pytest.approx(1, rel=0.2)


def test_all_rows_tell_the_exact_share_and_that_of_their_bytes():
    labels = np.array([0, 1, 0, 3, 4])
    numbers = np.ones(5, np.int64)
    found = sharing(keys_of(labels), np.array([30, 10, 30, 10, 20]), numbers, np.zeros(5, bool), 5)
    assert found == (0.4, pytest.approx(0.6))


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_rows_without_partners(n):
    found = sharing(keys_of(np.arange(n)), np.full(n, 10), np.arange(n) * 2 + 1, np.ones(n, bool), 10**9)
    assert found == (0, 0)


def test_one_large_group():
    places = np.random.default_rng(1).choice(ROWS // PLACE, rows_wanted(ROWS) // PLACE, replace=False)
    assert estimate(np.zeros(ROWS, np.int64), places).rows == pytest.approx(1)


def test_the_sample_grows_with_the_root():
    assert rows_wanted(0) == 0
    assert rows_wanted(100) == 100
    assert rows_wanted(10**8) == 64 * 10**4
