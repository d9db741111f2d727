"""Assignment beside a search of all choices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.records import assigned, match_records
from lshfast.records.assignment import EXACT_ROWS, equally_good
from tests.reference import records as reference

PAIRS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 20)), max_size=9, unique_by=lambda pair: pair[:2]
)


def arrays(pairs):
    i, j, scores = (np.array([pair[k] for pair in pairs], np.int64) for k in range(3))
    return i, j, scores.astype(np.float64)


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_one_to_one_has_the_greatest_sum(pairs):
    i, j, scores = arrays(pairs)
    links = assigned(i, j, scores, "one-to-one")
    assert (np.diff(links) > 0).all()
    assert len(set(i[links])) == len(set(j[links])) == len(links)
    assert scores[links].sum() == reference.best_matching([(("a", x), ("b", y), s) for x, y, s in pairs])


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_one_to_one_within_one_table(pairs):
    pairs = list({(min(i, j), max(i, j)): (min(i, j), max(i, j), s) for i, j, s in pairs if i != j}.values())
    i, j, scores = arrays(pairs)
    links = assigned(i, j, scores, "one-to-one", single=True)
    rows = [*i[links].tolist(), *j[links].tolist()]
    assert len(set(rows)) == len(rows)
    assert scores[links].sum() == reference.best_matching(pairs)


def test_scores_count_above_the_threshold():
    """Two links just above the threshold are not worth one that is far above it."""
    i, j, scores = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([20.0, 11.0, 12.0])
    assert assigned(i, j, scores, "one-to-one", least=10).tolist() == [0]
    assert assigned(i, j, scores, "one-to-one", least=0).tolist() == [1, 2]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_large_components_are_greedy(seed):
    rng = np.random.default_rng(seed)
    size = 3 * EXACT_ROWS
    chain = [(row, row, int(rng.integers(1, 1000))) for row in range(size)]
    chain += [(row, row + 1, int(rng.integers(1, 1000))) for row in range(size - 1)]
    i, j, scores = arrays(chain)
    links = assigned(i, j, scores, "one-to-one")
    expected = reference.greedy_matching([(x, y + size, s) for x, y, s in chain])
    assert {(x, y + size) for x, y in zip(i[links].tolist(), j[links].tolist(), strict=True)} == expected


def test_long_descending_chains_end():
    n = 20_000
    rows = np.arange(n)
    i, j = np.concatenate([rows, rows[:-1]]), np.concatenate([rows, rows[:-1] + 1])
    scores = np.concatenate([3.0 * n - 2 * rows, 3.0 * n - 2 * rows[:-1] - 1])
    assert assigned(i, j, scores, "one-to-one").tolist() == rows.tolist()


@given(PAIRS)
def test_one_side_takes_its_best(pairs):
    i, j, scores = arrays(pairs)
    for assign, side in (("many-to-one", i), ("one-to-many", j)):
        links = assigned(i, j, scores, assign)
        best = {}
        for place in sorted(range(len(pairs)), key=lambda p: (-scores[p], i[p], j[p])):
            best.setdefault(side[place], place)
        assert sorted(best.values()) == links.tolist()
    assert assigned(i, j, scores, "many-to-many").tolist() == list(range(len(pairs)))


def test_other_assignments_are_refused():
    with pytest.raises(ValueError, match=r"assign must be one of one-to-one, many-to-one, .*, not 'best'"):
        assigned(*arrays([(0, 0, 1)]), "best")
    with pytest.raises(ValueError, match=r"one shape \(n,\), not \(1,\), \(1,\) and \(2,\)"):
        assigned(*arrays([(0, 0, 1)])[:2], np.ones(2), "one-to-one")
    with pytest.raises(TypeError, match="i and j must be integers, not int64 and float64"):
        assigned([0], [0.5], [1.0], "one-to-one")
    with pytest.raises(ValueError, match="scores must be finite"):
        assigned([0], [0], [np.nan], "one-to-one")


@given(PAIRS)
def test_pairs_that_are_equally_good(pairs):
    i, j, scores = arrays(pairs)
    links = assigned(i, j, scores, "one-to-one")
    found = equally_good(i, j, scores, links, (5, 5))
    own = [dict(zip(side[links].tolist(), scores[links].tolist(), strict=True)) for side in (i, j)]
    for link, count in zip(links.tolist(), found.tolist(), strict=True):
        rivals = [
            sum(
                pairs[p][side] == pairs[link][side]
                and scores[p] >= scores[link]
                and own[1 - side].get(pairs[p][1 - side], 0) <= scores[link]
                for p in range(len(pairs))
                if p not in links
            )
            for side in (0, 1)
        ]
        assert count == 1 + max(rivals)


def groups_of_equals():
    """Make two tables with pairs of equal records, three equal records, and others."""
    names = [f"product {row * 7919 % 1000} of maker {row * 31 % 17}" for row in range(100)]
    names += ["twin one", "twin one", "triple thing", "triple thing", "triple thing"]
    table = {"name": names, "town": ["rome", "oslo", "bern"] * 35}
    return {**table, "town": table["town"][:100] + ["rome"] * 5}


def test_one_of_three_equal_pairs_is_no_link():
    table = groups_of_equals()
    found = match_records(table, table)
    assert found.i.tolist() == sorted(found.j.tolist()) == list(range(102))
    assert found.summary.ambiguous == 3
    assert "ambiguous" in repr(found.summary)
    assert (found.probabilities[100:] == 0.5).all()
    assert (found.probabilities[:100] > 0.9).all()
    why = "not linked, although the score is at least the threshold"
    assert why in found.explain_pair(102, 103)
    assert "several other pairs of these records are as good" in found.explain_pair(102, 103)
    step = found.summary.steps[2]
    assert step.links == 102


@pytest.mark.parametrize(("threshold", "links"), [(0.3, 105), (0.5, 102), (0.6, 100)])
def test_the_threshold_says_how_many_equal_pairs_are_too_many(threshold, links):
    table = groups_of_equals()
    assert len(match_records(table, table, threshold=threshold)) == links


def test_other_assignments_and_points_keep_equal_pairs():
    table = groups_of_equals()
    assert match_records(table, table, assign="many-to-one").summary.ambiguous == 0
    assert len(match_records(table, table, scoring="points")) == 105
