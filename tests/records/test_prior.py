"""The share of matches from the scores of all pairs, and the tables of which all pairs are compared."""

import numpy as np
import pytest

from lshfast.records import dedup_records, match_records
from lshfast.records.candidates import defaults as default_rules
from lshfast.records.weights.prior import LEAST_MISSED, prior_of_scores


def test_the_share_is_the_mean_probability():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(18, 5, 400), rng.normal(-2, 4, 2000)])
    found = prior_of_scores(scores, 0.001, 100_000)
    odds = np.exp2(scores) * found / (1 - found)
    assert found == pytest.approx((odds / (1 + odds)).sum() / 100_000, rel=1e-3)
    assert 0.0035 < found < 0.0055


def test_a_small_or_no_difference_changes_nothing():
    scores = np.full(int(10 * LEAST_MISSED) - 1, 30.0)
    assert prior_of_scores(scores, 0.01, 1000) == 0.01
    assert prior_of_scores(np.empty(0), 0.01, 1000) == 0.01
    assert (
        prior_of_scores(np.full(1000, 50.0), 0.4, 1000) == 0.4
    )  # at most half of all pairs


def table(n=220):
    """Return records, each second one a duplicate that has another value in one field."""
    rng = np.random.default_rng(1)
    columns = {
        name: ["".join(rng.choice(list("abcdefghij"), 8)) for _ in range(n)]
        for name in ("given", "surname", "town")
    }
    for row in range(0, n, 2):
        for place, name in enumerate(columns):
            if row // 2 % 6 != place:
                columns[name][row + 1] = columns[name][row]
    return columns


def test_all_pairs_of_one_table_are_compared_if_they_are_few(monkeypatch):
    one = table()
    result = dedup_records(one)
    assert result.summary.compared == result.summary.all_pairs == 220 * 219 // 2
    assert [report.rule for report in result.summary.rules] == ["all"]
    assert (
        sum(second == first + 1 and first % 2 == 0 for first, second in result.pairs())
        > 100
    )
    assert dedup_records(one, rules=["key:given"]).summary.compared < 1000
    monkeypatch.setattr(default_rules, "COMPARE_ALL_SINGLE", 1000)
    assert dedup_records(one).summary.compared < 10_000


def test_points_and_two_tables():
    one = table()
    assert dedup_records(one, scoring="points").summary.compared == 220 * 219 // 2
    assert [report.rule for report in match_records(one, one).summary.rules] == ["all"]


def test_a_threshold_is_a_probability_at_the_share_of_all_pairs():
    loose, strict = (
        dedup_records(table(), threshold=threshold) for threshold in (0.01, 0.99)
    )
    for found, least in ((loose, 0.01), (strict, 0.99)):
        assert (found.probabilities >= least - 1e-9).all()
    assert set(strict.pairs()) <= set(loose.pairs())


@pytest.mark.slow
def test_matches_that_the_rules_do_not_bring_are_expected():
    one = table()
    for row in range(0, 220, 2):
        if row // 2 % 6 > 2:
            one["given"][row + 1] = f"new{row}"
    one["born"] = [
        f"{1950 + row // 2 % 50}-03-{1 + row // 2 % 28:02}" for row in range(220)
    ]
    one["phone"] = [f"0{700000000 + 7919 * (row // 2)}" for row in range(220)]
    every, blocked = dedup_records(one), dedup_records(one, rules=["key:given"])
    assert every.weights.matches == pytest.approx(110, abs=8)
    assert len(blocked) < 60  # the rule brings 36 of 110
    # The others are sampled.
    assert blocked.weights.matches == pytest.approx(110, abs=40)
    good = sum(
        second == first + 1 and first % 2 == 0 for first, second in every.pairs()
    )
    assert good >= 0.9 * 110
    assert good >= 0.95 * len(every)
