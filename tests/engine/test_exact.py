"""`dedup` and `pairs` with exact=True: all similar pairs, whatever the bands would miss."""

import tracemalloc

import numpy as np
import pytest

import lshfast
from lshfast import exact
from lshfast._engine.pairs import exact as exact_pairs
from lshfast._engine.plan import make_plan
from lshfast.join.groups import climbing_pairs, larger_first


@pytest.fixture(scope="module")
def texts():
    """Return texts with near copies of many degrees, exact copies and empty texts."""
    rng = np.random.default_rng(1)
    words = [f"w{number}" for number in range(300)]
    made = [list(rng.choice(words, 30)) for _ in range(60)]
    for row in range(300):
        near = list(made[rng.integers(0, len(made))])
        near[rng.integers(0, len(near))] = f"new{row}"
        made.append(near)
    return [" ".join(text) for text in made] + [
        "",
        " ".join(made[3]),
        " ".join(made[0]),
        "",
    ]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
def test_pairs(texts, threshold, threads):
    expected = exact.pairs(
        lshfast.shingle(texts, size=2), threshold=threshold, method="prefix"
    )
    found = lshfast.pairs(
        texts,
        threshold=threshold,
        size=2,
        exact=True,
        copies="all",
        threads=threads,
        recall=0.01,
    )
    assert np.array_equal(found, expected)
    banded = lshfast.pairs(texts, threshold=threshold, size=2, copies="all")
    assert set(banded.tolist()) <= set(found.tolist())
    first = lshfast.pairs(texts, threshold=threshold, size=2, exact=True)
    assert set(first.tolist()) <= set(found.tolist())


def test_f14_bands_below_and_above_the_threshold(texts):
    """(1 / b)**(1 / r) below the threshold favours recall, above it speed. Signatures or sets check what is found."""
    every = lshfast.pairs(texts, threshold=0.6, size=2, exact=True)
    found, candidates = {}, {}
    for name, bands, rows in (("below", 32, 4), ("above", 8, 16)):
        chosen = {"threshold": 0.6, "size": 2, "bands": bands, "rows_per_band": rows}
        assert ((1 / bands) ** (1 / rows) < 0.6) == (name == "below")
        found[name] = set(lshfast.pairs(texts, **chosen).tolist())
        candidates[name] = len(lshfast.pairs(texts, **chosen, verify="none"))
        estimated = lshfast.pairs(texts, **chosen, verify="signature")
        assert len(found[name]) <= candidates[name] >= len(estimated)
        assert estimated["similarity"].min() >= 0.6
    assert found["above"] < found["below"] <= set(every.tolist())
    assert len(found["below"]) > 0.95 * len(every) > 2 * len(found["above"])
    assert candidates["above"] < candidates["below"]


@pytest.mark.parametrize("groups", ["star", "components"])
def test_dedup(texts, groups):
    told = []
    result = lshfast.dedup(
        texts,
        threshold=0.6,
        size=2,
        exact=True,
        groups=groups,
        bands=1,
        rows_per_band=128,
        progress=lambda *a: told.append(a),
    )
    sure = lshfast.dedup(texts, threshold=0.6, size=2, groups=groups, recall=1 - 1e-9)
    assert result.keep.tolist() == sure.keep.tolist()
    assert (result.summary.recall, result.summary.bands) == (1.0, 0)
    assert "every similar pair is found" in str(result)
    assert any(stage == "verify" and done == total for stage, done, total in told)


def test_against_an_index(texts):
    """Rows that are removed for an earlier entry are not compared."""
    seen = lshfast.LSHIndex(shingles="word:2", threshold=0.6)
    lshfast.dedup(
        texts[:100], threshold=0.6, size=2, against=seen, add=True, exact=True
    )
    result = lshfast.dedup(texts[100:], threshold=0.6, size=2, against=seen, exact=True)
    assert result.summary.earlier > 0
    earlier = set(np.flatnonzero(result.keeper < 0).tolist())
    assert not earlier & set(result.pairs["i"].tolist() + result.pairs["j"].tolist())


def test_sets_and_nothing():
    assert lshfast.pairs(
        [{1, 2, 3}, {2, 3}, set()], threshold=0.6, exact=True
    ).tolist() == [(0, 1, 2 / 3)]
    assert len(lshfast.pairs([], exact=True)) == 0
    assert lshfast.dedup(["", "a", "b"], exact=True).keep.tolist() == [True, True, True]


def test_verification_must_be_exact():
    with pytest.raises(
        ValueError, match="verify must be 'exact' for an exact join, not 'none'"
    ):
        lshfast.pairs(["a"], exact=True, verify="none")
    assert "exact join" in make_plan(exact=True).memory(10, 1000)
    assert "exact join" not in make_plan().memory(10, 1000)


@pytest.fixture(scope="module")
def similar_sets():
    """Return sets of different sizes that share most of their elements, and some others."""
    rng = np.random.default_rng(5)
    own = (rng.integers(100, 10**9, rng.integers(1, 9)).tolist() for _ in range(600))
    return [
        set(range(30)).union(row) if number % 6 else set(row)
        for number, row in enumerate(own)
    ]


def groups_of_all_pairs(sets, measure, groups, preference):
    """Return the kept row of each row, from the list of all similar pairs."""
    pairs, n = exact.pairs(sets, threshold=0.6, measure=measure), len(sets)
    if measure == "containment":
        preference = larger_first(np.array([len(row) for row in sets]), preference)
        if groups == "components":
            pairs = climbing_pairs(n, pairs, preference=preference)
    form = lshfast.star_groups if groups == "star" else lshfast.component_groups
    return form(n, pairs, preference=preference)


@pytest.mark.parametrize("given", [None, True])
@pytest.mark.parametrize("measure", ["jaccard", "containment"])
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_groups_of_many_similar_sets_need_few_comparisons(
    similar_sets, keep, groups, measure, given
):
    """The sets have n² / 3 similar pairs. The groups are those of all of them."""
    n = len(similar_sets)
    if measure == "jaccard" and not given:
        pytest.skip("bands are the default")
    result = lshfast.dedup(
        similar_sets,
        threshold=0.6,
        exact=given,
        measure=measure,
        groups=groups,
        keep=keep,
    )
    preference = None if keep == "first" else np.arange(n)
    expected = groups_of_all_pairs(similar_sets, measure, groups, preference)
    assert result.keeper.tolist() == expected.keeper.tolist()
    assert result.summary.candidates < 20 * n
    assert result.summary.pairs < n


@pytest.mark.slow
@pytest.mark.parametrize("elements", [200, 1500])
@pytest.mark.parametrize("measure", ["jaccard", "containment"])
def test_pairs_are_found_in_memory_that_does_not_grow_with_their_number(
    elements, measure, monkeypatch
):
    """200 different elements are searched as bits, more of them by prefixes."""
    monkeypatch.setattr(exact_pairs, "BATCH_PAIRS", 1 << 14, raising=False)
    rng = np.random.default_rng(6)
    sets = [
        set(range(8)) | set(rng.integers(8, elements, rng.integers(2, 5)).tolist())
        for _ in range(1200)
    ]
    sets += sets[:3]
    arguments = {
        "threshold": 0.3,
        "exact": True,
        "measure": measure,
        "num_perm": 512,
        "threads": 1,
    }
    expected = exact.pairs(sets, threshold=0.3, measure=measure, copies="first")
    assert len(expected) > 300 * len(sets)
    assert np.array_equal(lshfast.pairs(sets, **arguments), expected)
    tracemalloc.start()
    distant = lshfast.pairs(sets, **arguments, most=0.58)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(distant, expected[expected["similarity"] <= 0.58])
    assert peak < 1.5 * expected.nbytes
