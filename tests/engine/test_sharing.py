"""The share of rows that share buckets, estimated from samples of rows whose groups are known."""

import numpy as np
import pytest

from lshfast._engine.forecasts.sharing import Sample, Sharing, rows_wanted, sharing
from lshfast._engine.marks import RowMarks

pytestmark = pytest.mark.usefixtures("little_work")

ROWS, BANDS, PLACE = 200_000, 3, 100


def groups(rng, share, sizes):
    """Return a group for each row: `share` of the rows, at places all over, are in groups of such sizes."""
    labels, chosen = np.arange(ROWS), rng.permutation(ROWS)[: round(share * ROWS)]
    starts = np.cumsum(np.resize(sizes, len(chosen)))
    starts = np.concatenate([[0], starts[starts < len(chosen) - 1]])
    labels[chosen] = chosen[
        starts[np.searchsorted(starts, np.arange(len(chosen)), side="right") - 1]
    ]
    return labels


def sample_of(labels, contents, places, inner=None, nbytes=10):
    """Return a sample of rows whose keys are equal within a group; rows of the content -1 have no shingles."""
    keys = np.repeat(labels[:, None].astype(np.uint64) + np.uint64(1), BANDS, axis=1)
    sizes = np.broadcast_to(nbytes, len(labels))
    marks = np.column_stack(
        [2 * sizes + (contents >= 0), contents + 1, contents + 1]
    ).astype(np.uint64)
    return Sample(
        keys,
        RowMarks(marks),
        places,
        np.ones(len(labels), bool) if inner is None else inner,
    )


def random_places(rng):
    return rng.choice(ROWS // PLACE, rows_wanted(ROWS) // PLACE, replace=False)


def estimate(labels, places, contents=None):
    own = np.isin(np.arange(len(labels)) // PLACE, places)
    contents = np.arange(len(labels)) if contents is None else contents
    return sharing(
        sample_of(labels[own], contents[own], 2 * (np.flatnonzero(own) // PLACE) + 1),
        ROWS,
    )


@pytest.mark.one_case
@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
@pytest.mark.parametrize(
    ("sizes", "error"),
    [
        ([2], 0.2),
        ([40], 0.2),
        ([2, 2, 2, 3, 2, 2, 3, 2, 4, 9], 0.2),
        ([2, 1000], 0.2),
        ([3], 0.3),
        ([6], 0.3),
    ],
)
def test_the_share_is_estimated_from_random_places(share, sizes, error):
    """Groups of three and more without any of two are taken for a mixture, so their share is overestimated."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found.append(estimate(groups(rng, share, sizes), random_places(rng)).rows)
    assert np.median(found) == pytest.approx(share, rel=error, abs=0.02)


@pytest.mark.one_case
@pytest.mark.parametrize(("copies", "error"), [(1, 0.2), (2, 0.25), (5, 0.6)])
def test_of_equal_texts_only_the_first_is_counted(copies, error):
    """Each text has so many copies all over; three in ten of the different texts have a near-duplicate."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        contents = rng.permutation(ROWS) % (ROWS // copies)
        near = rng.permutation(ROWS // copies)
        group = np.arange(ROWS // copies)
        some = near[: len(near) * 3 // 10 // 2 * 2]
        group[some[::2]] = some[1::2]
        found.append(estimate(group[contents], random_places(rng), contents).rows)
    assert np.median(found) == pytest.approx(0.3 / copies, rel=error)


def test_texts_without_shingles_share_no_bucket():
    rng = np.random.default_rng(1)
    contents = np.where(rng.random(ROWS) < 0.4, -1, np.arange(ROWS))
    found = estimate(
        np.where(contents < 0, 0, groups(rng, 0.5, [2])), random_places(rng), contents
    )
    assert found.rows == pytest.approx(0.5 * 0.6 * 0.6, abs=0.04)


def test_partners_beside_a_row_are_counted_as_they_are():
    labels = np.arange(ROWS)
    labels[: ROWS // 2] = labels[: ROWS // 2] // 2 * 2
    assert estimate(
        labels, random_places(np.random.default_rng(1))
    ).rows == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("distance", [1000, ROWS])
def test_a_stretch_tells_the_share_wherever_the_partners_are(distance):
    """Of a stretch of rows in four places, the two inner ones are counted."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labels, at = np.arange(ROWS), rng.permutation(ROWS)[: ROWS * 3 // 20]
        other = np.clip(
            at + rng.integers(-distance, distance + 1, len(at)), 0, ROWS - 1
        )
        labels[other] = at
        n = rows_wanted(ROWS)
        places = np.arange(n) * 4 // n + 1
        true = np.isin(
            labels, np.flatnonzero(np.bincount(labels, minlength=ROWS) > 1)
        ).mean()
        sample = sample_of(
            labels[:n], np.arange(n), places, (places > 1) & (places < 4)
        )
        found.append(sharing(sample, ROWS).rows / true)
    assert np.median(found) == pytest.approx(1, rel=0.2)


def test_all_rows_tell_the_exact_share_and_that_of_their_bytes():
    """The fourth row equals the first one, and the last one has no shingles."""
    labels, contents = np.array([0, 1, 0, 0, 4, 0]), np.array([0, 1, 2, 0, 4, -1])
    sample = sample_of(
        labels,
        contents,
        np.ones(6, np.int64),
        np.zeros(6, bool),
        np.array([30, 10, 30, 30, 20, 0]),
    )
    assert sharing(sample, 6) == (pytest.approx(2 / 6), pytest.approx(0.5))


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_rows_without_partners(n):
    assert sharing(
        sample_of(np.arange(n), np.arange(n), np.arange(n) * 2 + 1), n
    ) == Sharing(0, 0)


def test_one_large_group():
    assert estimate(
        np.zeros(ROWS, np.int64), random_places(np.random.default_rng(1))
    ).rows == pytest.approx(1)


@pytest.mark.parametrize("rows", [10**6, 10**9])
def test_a_sample_that_is_too_small_tells_nothing(rows):
    labels = np.arange(1000)
    labels[500] = 0
    assert (
        sharing(sample_of(labels, np.arange(1000), np.arange(1000) * 2 + 1), rows)
        is None
    )


def test_one_pair_that_meets_in_a_small_part_means_few():
    """It stands for n / part rows at most."""
    n, part = 50_000, 1 / 1000
    labels = np.arange(n)
    labels[40_000] = 0
    found = sharing(
        sample_of(labels, np.arange(n), np.arange(n) * 2 + 1), round(n / part)
    )
    assert 0 < found.rows <= 2 / n / part * 1.01


def test_the_sample_grows_with_the_root():
    assert rows_wanted(0) == 0
    assert rows_wanted(100) == 100
    assert rows_wanted(10**8) == 64 * 10**4
