"""The rate of true matches from a field that takes no part in the score (section 3.8.3)."""

import numpy as np
import pytest

from lshfast.records import plot_rates, rate_table, true_match_rate


@pytest.mark.parametrize(("days", "rate"), [(10, 1.0), (45, 0.0), (27.5, 0.5)])
def test_f30_dates(days, rate):
    """Matches differ by 10 days on average, random records by 45: (45 - x) / 35."""
    assert true_match_rate(days, 10, 45) == rate == (45 - days) / 35


def test_f30_years_of_publication():
    """Exercise 3.8.1: two of ten years differ by 3.3 on average, not by 5."""
    years = np.arange(10)
    table = rate_table(
        [1.0], [2.0], random=np.abs(years[:, None] - years).ravel(), h0=0.1, bins=1
    )
    assert table.h1 == pytest.approx(3.3)
    assert table.rates == pytest.approx(13 / 32)
    assert (
        true_match_rate(2, 0.1, 3.3)
        == pytest.approx((3.3 - 2) / (3.3 - 0.1))
        == pytest.approx(0.40625)
    )


def test_f30_scores():
    """At 185 points and above, all pairs are matches; at 115, where differences are nearly random, some still are."""
    rng = np.random.default_rng(4)
    scores = np.repeat([300.0, 185.0, 150.0, 115.0], 500)
    parts = [
        rng.permutation(np.repeat([10.0, 45.0], counts))
        for counts in ([1000, 0], [250, 250], [50, 450])
    ]
    days = np.concatenate(parts)
    table = rate_table(scores, days, h0=10, h1=45, bins=37, field="created")
    used = table.pairs > 0
    assert table.edges[:-1][used].tolist() == [115, 150, 185, 295]
    assert table.rates[used].tolist() == pytest.approx([0.1, 0.5, 1.0, 1.0])
    assert table.errors[used] == pytest.approx(
        [0.3 / np.sqrt(499), 0.5 / np.sqrt(499), 0, 0]
    )
    assert "0.500" in str(table)
    assert set(table.columns()) >= {"score_from", "true_match_rate", "pairs"}


def test_the_rate_of_a_mixture_within_its_error():
    rng = np.random.default_rng(6)
    scores = rng.uniform(0, 10, 20_000)
    true = rng.random(20_000) < scores / 10
    apart = np.where(true, rng.exponential(10, 20_000), rng.exponential(45, 20_000))
    table = rate_table(scores, apart, h0=10, h1=45, bins=10)
    middle = (table.edges[1:] + table.edges[:-1]) / 20
    assert (np.abs(table.rates - middle) < 4 * table.errors).all()


def test_f30_pairs_within_a_window():
    """Random dates of a year that are at most 90 days apart differ by 45 days or a little less."""
    rng = np.random.default_rng(5)
    random = np.abs(np.subtract(*rng.uniform(0, 3650, (2, 100_000))))
    scores = np.repeat([10.0, 0.0], 2000)
    days = np.concatenate([rng.uniform(0, 20, 2000), random[:2000]])
    table = rate_table(scores, days, random=random, window=90, bins=2)
    assert abs(table.h0 - 10) < 1
    assert abs(table.h1 - 45) < 2
    assert table.pairs[1] == 2000
    assert table.pairs[0] == (random[:2000] <= 90).sum()
    assert abs(table.rates - [0, 1]).max() < 0.3
    wide = rate_table(scores, days, random=random, bins=2)
    assert wide.h1 > 1000
    for arguments, message in (
        ({"window": 0}, "window must be above 0, not 0"),
        ({"window": "a week"}, "window must be a number"),
        ({"window": 1e-9, "h1": 1}, "that differ by at most 1e-09"),
        ({"window": 1, "random": [2.0]}, "random pairs .* that differ by at most 1"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            rate_table([1.0], [1.0], **arguments)


def test_a_window_without_end_is_no_window():
    scores = [1.0, 2.0, 2.0, 3.0]
    differences = [4.0, np.inf, 0.0, np.nan]
    arguments = {"random": [5.0, np.inf], "h0": 1, "bins": 2}
    endless = rate_table(scores, differences, **arguments, window=np.inf)
    assert str(endless) == str(rate_table(scores, differences, **arguments))


def test_means_of_matches_and_of_random_pairs():
    scores = np.repeat([10.0, 5.0, 0.0], [50, 100, 400])
    apart = np.repeat([1.0, 3.0, 9.0], [50, 100, 400])
    table = rate_table(scores, apart, random=[8.0, 10.0, np.nan], bins=4)
    assert (table.h0, table.h1) == (1.0, 9.0)
    assert table.rates[table.pairs > 0].tolist() == [0.0, 0.75, 1.0]


def test_bad_arguments():
    with pytest.raises(
        ValueError, match=r"h0 and h1 must be different finite numbers, not 3.0 and 3.0"
    ):
        true_match_rate(1, 3, 3)
    with pytest.raises(ValueError, match=r"one shape \(n,\), not \(2,\) and \(1,\)"):
        rate_table([1, 2], [1], h1=3)
    with pytest.raises(ValueError, match=r"no compared pair has both values of 'born'"):
        rate_table([1.0], [np.nan], h1=3, field="born")
    with pytest.raises(
        ValueError, match=r"h1 is needed, or random pairs with both values of 'field'"
    ):
        rate_table([1.0], [1.0], random=[np.nan])
    with pytest.raises(
        ValueError,
        match=r"'born' differs by 3 on average between matches and also between rand",
    ):
        rate_table([1.0], [3.0], random=[3.0], field="born")
    with pytest.raises(
        ValueError, match=r"scores must be finite, and differences at least 0"
    ):
        rate_table([np.inf], [1.0], h1=2)
    with pytest.raises(ValueError, match=r"bins must be in 1\.\.10000, not 0"):
        rate_table([1.0], [1.0], h1=2, bins=0)


@pytest.mark.slow
def test_the_plot_has_the_rates(tmp_path):
    table = rate_table([1, 2, 2, 3], [9, 5, 4, 1], h0=1, h1=9, bins=2, field="born")
    axes = plot_rates(table, threshold=2, unit="points", path=tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")
    assert axes.get_xlabel() == "points"
    line = axes.containers[0].lines[0]
    assert line.get_ydata().tolist() == pytest.approx(table.rates.tolist())
