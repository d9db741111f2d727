"""Assignment beside a search of all choices."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.records import assigned, match_records
from lshfast.records.links.assignment import (
    FEW_ROWS,
    ExactWork,
    equally_good,
    one_to_one,
)
from tests.reference import records as reference

PAIRS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 20)),
    max_size=9,
    unique_by=lambda pair: pair[:2],
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
    assert scores[links].sum() == reference.best_matching(
        [(("a", x), ("b", y), s) for x, y, s in pairs]
    )


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_one_to_one_within_one_table(pairs):
    pairs = list(
        {
            (min(i, j), max(i, j)): (min(i, j), max(i, j), s)
            for i, j, s in pairs
            if i != j
        }.values()
    )
    i, j, scores = arrays(pairs)
    links = assigned(i, j, scores, "one-to-one", single=True)
    rows = [*i[links].tolist(), *j[links].tolist()]
    assert len(set(rows)) == len(rows)
    assert scores[links].sum() == reference.best_matching(pairs)


def test_scores_count_above_the_threshold():
    """Two links just above the threshold are not worth one that is far above it."""
    i = np.array([0, 0, 1])
    j = np.array([0, 1, 0])
    scores = np.array([20.0, 11.0, 12.0])
    assert assigned(i, j, scores, "one-to-one", least=10).tolist() == [0]
    assert assigned(i, j, scores, "one-to-one", least=0).tolist() == [1, 2]


@pytest.mark.parametrize("single", [False, True])
def test_pairs_without_rivals_do_not_change_the_others(single):
    """They are links in any case, and the others are those that are chosen among themselves."""
    few = chain_of(3, 5)
    lone = [(10 + 2 * k, 11 + 2 * k, 5) for k in range(20)]
    pairs = [pair for k in range(20) for pair in (lone[k], *few[k : k + 1])]
    i, j, scores = arrays(pairs)
    j += single * 100
    found = [
        pairs[link] for link in assigned(i, j, scores, "one-to-one", single=single)
    ]
    own = arrays(few)
    among = [
        few[link]
        for link in assigned(
            own[0], own[1] + single * 100, own[2], "one-to-one", single=single
        )
    ]
    assert [pair for pair in found if pair in lone] == lone
    assert [pair for pair in found if pair not in lone] == among


def chain_of(seed, size, most=1000):
    """Return the pairs of two tables of `size` rows that one chain connects, and some more."""
    rng = np.random.default_rng(seed)
    found = {(row, row): int(rng.integers(1, most)) for row in range(size)}
    found |= {(row, row + 1): int(rng.integers(1, most)) for row in range(size - 1)}
    found |= {
        (int(rng.integers(size)), int(rng.integers(size))): int(rng.integers(1, most))
        for _ in range(size)
    }
    return [(x, y, score) for (x, y), score in found.items()]


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(FEW_ROWS, 2 * FEW_ROWS),
    st.sampled_from([2, 4, 1000]),
)
def test_large_components_have_the_greatest_sum(seed, size, most):
    pairs = chain_of(seed, size, most)
    i, j, scores = arrays(pairs)
    found = one_to_one(i, j, scores, single=False)
    assert found.greedy == 0
    assert (np.diff(found.links) > 0).all()
    assert len(set(i[found.links])) == len(set(j[found.links])) == len(found.links)
    best = reference.best_bipartite_sum(pairs, size, size)
    assert scores[found.links].sum() == best
    # The same within one table, where the rows of both sides have numbers in any order.
    place = np.random.default_rng(seed).permutation(2 * size)
    ends = np.sort(np.stack([place[i], place[size + j]]), axis=0)
    links, greedy = one_to_one(ends[0], ends[1], scores, single=True)
    assert (scores[links].sum(), greedy) == (best, 0)
    greedy_sum = sum(
        s
        for x, y, s in pairs
        if (x, y + size) in reference.greedy_matching(shifted(pairs, size))
    )
    assert best >= greedy_sum >= best / 2


def test_pairs_that_outweigh_both_others_need_no_search(monkeypatch):
    """Records and their copies, which weak pairs connect to one large component: the copies settle it."""
    monkeypatch.setattr("lshfast.records.links.assignment.optional", None)
    monkeypatch.setattr("lshfast.records.links.assignment._best_matching", None)
    size = 5 * FEW_ROWS
    pairs = [(row, row, 30) for row in range(size)] + [
        (row, row + 1, 10 + row % 5) for row in range(size - 1)
    ]
    links, greedy = one_to_one(*arrays(pairs), single=False)
    assert (links.tolist(), greedy) == (list(range(size)), 0)


def shifted(pairs, size):
    return [(x, y + size, s) for x, y, s in pairs]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([ExactWork(component=100), ExactWork(every=100)]),
)
def test_larger_components_are_greedy_and_counted(seed, work):
    size = 3 * FEW_ROWS
    pairs = chain_of(seed, size)
    i, j, scores = arrays(pairs)
    links, greedy = one_to_one(i, j, scores, single=False, work=work)
    expected = reference.greedy_matching(shifted(pairs, size))
    assert {
        (x, y + size) for x, y in zip(i[links].tolist(), j[links].tolist(), strict=True)
    } == expected
    assert greedy == len(expected)


def test_the_smallest_components_are_exact_if_not_all_can_be():
    """Two chains, of which the greedy choice loses: the middle one of each three pairs is the best."""
    chain = [
        (0, 0, 10),
        *((row, row + 1, 15 if row % 2 == 0 else 10) for row in range(20)),
    ]
    chain += [(row, row, 10) for row in range(1, 21)]
    longer = [(row + 50, other + 50, score) for row, other, score in chain_of(3, 40)]
    i, j, scores = arrays([*chain, *longer])
    links, greedy = one_to_one(
        i, j, scores, single=False, work=ExactWork(every=len(chain) * 21)
    )
    own = links[i[links] < 50]
    assert scores[own].sum() == reference.best_bipartite_sum(chain, 21, 21)
    assert (
        greedy
        == len(links) - len(own)
        == len(reference.greedy_matching(shifted(longer, 100)))
    )


def test_odd_circles_of_one_table_are_greedy():
    size = 2 * FEW_ROWS + 1
    i, j = np.arange(size), (np.arange(size) + 1) % size
    pairs = [
        (min(x, y), max(x, y), int(s))
        for x, y, s in zip(i.tolist(), j.tolist(), i * 37 % 25 + 1, strict=True)
    ]
    i, j, scores = arrays(pairs)
    links, greedy = one_to_one(i, j, scores, single=True)
    expected = reference.greedy_matching(pairs)
    assert set(zip(i[links].tolist(), j[links].tolist(), strict=True)) == expected
    assert greedy == len(expected)


def test_stars_and_scores_at_the_threshold():
    i, j = np.zeros(40, np.int64), np.arange(40)
    links, greedy = one_to_one(i, j, np.arange(40.0), single=False)
    assert (links.tolist(), greedy) == ([39], 0)
    pairs = chain_of(1, 20)
    i, j, scores = arrays(pairs)
    assert one_to_one(i, j, 0 * scores, single=False).greedy == 0
    assert len(assigned(i, j, 0 * scores + 7, "one-to-one", least=7)) >= 10
    for dtype in (np.int8, np.uint64):
        links = assigned(i.astype(dtype), j.astype(dtype), scores, "one-to-one")
        assert links.tolist() == assigned(i, j, scores, "one-to-one").tolist()
    huge = one_to_one(i, j, scores * 1e300, single=False).links
    assert huge.tolist() == one_to_one(i, j, scores, single=False).links.tolist()
    assert one_to_one(i[:0], j[:0], scores[:0], single=False).links.tolist() == []


def test_the_account_says_what_was_greedy(monkeypatch):
    """Products of a line differ by a digit, so that chains of pairs connect all of them."""
    table = {"name": [f"maker line {row // 10} model {row % 10}" for row in range(60)]}
    options = {"scoring": "points", "threshold": 95, "rules": ["all"]}
    exact = match_records(table, table, **options).summary
    assert exact.greedy == 0
    assert "greedy" not in repr(exact)
    monkeypatch.setattr(
        "lshfast.records.links.decision.one_to_one",
        partial(one_to_one, work=ExactWork(component=2)),
    )
    found = match_records(table, table, **options).summary
    assert found.greedy == found.links == 60
    assert "chosen the best first" in repr(found)


@pytest.mark.slow
def test_long_descending_chains_end():
    n = 20_000
    rows = np.arange(n)
    i, j = np.concatenate([rows, rows[:-1]]), np.concatenate([rows, rows[:-1] + 1])
    scores = np.concatenate([3.0 * n - 2 * rows, 3.0 * n - 2 * rows[:-1] - 1])
    links, greedy = one_to_one(i, j, scores, single=False)
    assert (links.tolist(), greedy) == (rows.tolist(), 0)
    links, greedy = one_to_one(i, j, scores, single=False, work=ExactWork(every=0))
    assert (links.tolist(), greedy) == (rows.tolist(), n)


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
    with pytest.raises(
        ValueError,
        match=r"assign must be one of one-to-one, many-to-one, .*, not 'best'",
    ):
        assigned(*arrays([(0, 0, 1)]), "best")
    with pytest.raises(
        ValueError, match=r"one shape \(n,\), not \(1,\), \(1,\) and \(2,\)"
    ):
        assigned(*arrays([(0, 0, 1)])[:2], np.ones(2), "one-to-one")
    with pytest.raises(
        TypeError, match="i and j must be integers, not int64 and float64"
    ):
        assigned([0], [0.5], [1.0], "one-to-one")
    with pytest.raises(ValueError, match="scores must be finite"):
        assigned([0], [0], [np.nan], "one-to-one")


@given(PAIRS)
def test_pairs_that_are_equally_good(pairs):
    i, j, scores = arrays(pairs)
    links = assigned(i, j, scores, "one-to-one")
    found = equally_good(i, j, scores, links, (5, 5))
    own = [
        dict(zip(side[links].tolist(), scores[links].tolist(), strict=True))
        for side in (i, j)
    ]
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
    names = [
        f"product {row * 7919 % 1000} of maker {row * 31 % 17}" for row in range(100)
    ]
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
    assert "several other pairs of these records are as good" in found.explain_pair(
        102, 103
    )
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
