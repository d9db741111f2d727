"""Groups of records: average linkage against its definition, chains that are cut or stay, and long chains."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.records import dedup_records
from lshfast.records.links.clusters import (
    AGAINST_BITS,
    FOR_BITS,
    average_linkage,
    cluster_rows,
)


def reference(n, evidence):
    """Join the two groups with the greatest mean evidence, the smallest rows first, until none is above 0."""
    groups = [[row] for row in range(n)]

    def mean(first, second):
        pairs = [evidence[min(a, b), max(a, b)] for a in first for b in second]
        return sum(pairs) / len(pairs)

    while len(groups) > 1:
        best = max(
            combinations(groups, 2),
            key=lambda two: (mean(*two), -two[0][0], -two[1][0]),
        )
        if mean(*best) <= 0:
            break
        groups = sorted(
            [
                *(group for group in groups if group not in best),
                sorted(best[0] + best[1]),
            ]
        )
    return sorted(groups)


def groups_of(labels):
    return sorted(
        np.flatnonzero(labels == label).tolist() for label in np.unique(labels)
    )


def clustered(n, evidence):
    """Return the clusters of rows with some evidence for each pair; pairs at or above 0 are links."""
    links = sorted(pair for pair, gain in evidence.items() if gain >= 0)
    i, j = (np.array([pair[side] for pair in links], np.int64) for side in (0, 1))

    def others(first, second):
        found = [
            evidence[pair] for pair in zip(first.tolist(), second.tolist(), strict=True)
        ]
        return np.array(found, np.float64)

    return cluster_rows(
        n, i, j, np.array([evidence[pair] for pair in links], np.float64), others
    )


@given(st.integers(0, 9), st.randoms(use_true_random=False))
def test_groups_are_those_of_average_linkage(n, random):
    evidence = {
        pair: random.uniform(-AGAINST_BITS, FOR_BITS) - 2
        for pair in combinations(range(n), 2)
    }
    evidence = {
        pair: max(-AGAINST_BITS, gain) or 0.5 for pair, gain in evidence.items()
    }
    found = clustered(n, evidence)
    assert groups_of(found.labels) == reference(n, evidence)
    assert all(
        row in group and row == group[0]
        for group in groups_of(found.labels)
        for row in found.labels[group]
    )
    cut = sum(
        gain >= 0 and found.labels[i] != found.labels[j]
        for (i, j), gain in evidence.items()
    )
    assert found.cut == cut
    assert found.groups == sum(len(group) > 1 for group in groups_of(found.labels))


def test_a_wrong_link_joins_no_groups_and_a_missing_link_divides_none():
    two = [(0, 1, 2, 3), (4, 5, 6, 7)]
    evidence = dict.fromkeys(combinations(range(8), 2), -9.0)
    for group in two:
        evidence |= dict.fromkeys(combinations(group, 2), 8.0)
    evidence[0, 4] = 1.0  # wrong
    evidence[1, 3] = -4.0  # missing
    found = clustered(8, evidence)
    assert groups_of(found.labels) == [list(group) for group in two]
    assert found.cut == 1


def test_chains_of_links_only_need_no_other_pairs():
    def none(first, second):
        raise AssertionError("no pair is open")

    i, j = np.array([0, 0, 1, 5]), np.array([1, 2, 2, 6])
    found = cluster_rows(8, i, j, np.zeros(4), none)
    assert found.labels.tolist() == [0, 0, 0, 3, 4, 5, 5, 7]
    assert (found.cut, found.groups) == (0, 2)
    empty = np.empty(0, np.int64)
    assert cluster_rows(0, empty, empty, np.empty(0), none).groups == 0


def test_the_order_of_the_links_does_not_matter():
    rng = np.random.default_rng(3)
    pairs = np.array([*combinations(range(30), 2)])
    pairs = pairs[rng.random(len(pairs)) < 0.15]
    gains = rng.random(len(pairs)) * 8

    def evidence(first, second):
        return -((first * 7 + second * 13) % 6).astype(np.float64)

    found = cluster_rows(30, pairs[:, 0], pairs[:, 1], gains, evidence)
    order = rng.permutation(len(pairs))
    again = cluster_rows(30, pairs[order, 0], pairs[order, 1], gains[order], evidence)
    assert found.labels.tolist() == again.labels.tolist()
    assert found.cut == again.cut > 0


def test_long_chains_lose_their_weakest_links_first():
    rows = np.arange(99)
    gains = np.where(rows % 3 == 2, 1.0, 5.0)  # rows 0-1-2, 3-4-5, ... hold together

    def evidence(first, second):
        return np.where(first // 3 == second // 3, 3.0, -5.0)

    found = cluster_rows(100, rows, rows + 1, gains, evidence, most_rows=10)
    assert found.labels.tolist() == [row // 3 * 3 for row in range(100)]
    assert found.cut == 33


def test_long_chains_in_which_most_pairs_are_links_stay_whole():
    pairs = np.array([pair for pair in combinations(range(40), 2) if sum(pair) % 5])
    gains, against = np.ones(len(pairs)), lambda a, b: np.full(len(a), -5.0)
    found = cluster_rows(40, pairs[:, 0], pairs[:, 1], gains, against, most_rows=10)
    assert not found.labels.any()
    assert found.cut == 0


def test_few_pairs_are_scored_within_many_long_chains():
    scored = []

    def evidence(first, second):
        scored.append(len(first))
        return np.full(len(first), -1.0)

    rows = np.flatnonzero(np.arange(6000) % 60 != 59)
    gains = np.random.default_rng(1).random(len(rows))
    cluster_rows(6000, rows, rows + 1, gains, evidence, most_pairs=1000)
    assert sum(scored) <= 1000 + 4 * len(rows)


def test_average_linkage_treats_sets_apart():
    rng = np.random.default_rng(5)
    values = rng.normal(0, 3, (20, 7, 7))
    values = values + values.transpose(0, 2, 1)
    values[:, np.arange(7), np.arange(7)] = -np.inf
    together = average_linkage(values.copy())
    for one, labels in zip(values, together, strict=True):
        assert average_linkage(one[None].copy())[0].tolist() == labels.tolist()


NAMES = ["Ann Lee", "Anne Lee", "Bob Stone", "Bob Stone"]


@pytest.mark.parametrize("scoring", ["weights", "points"])
def test_groups_of_a_result_and_their_closure(scoring):
    table = {
        "name": NAMES * 5,
        "code": [f"{place:05}" for place in range(10) for _ in range(2)],
    }
    result = dedup_records(table, scoring=scoring)
    whole = result.groups(closure=True)
    assert (whole[result.i] == whole[result.j]).all()
    labels, found = result.groups(), result.summary.clusters
    assert (labels[result.i] != labels[result.j]).sum() == found.cut
    assert (whole[labels] == whole).all()  # groups divide those of the closure
    assert "groups" in str(result.summary)
    with pytest.raises(TypeError, match="closure must be True or False"):
        result.groups(closure=1)
