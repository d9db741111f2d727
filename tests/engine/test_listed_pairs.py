"""Which similar pairs are listed: the most similar of each row, and those below a bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshfast._engine.pairs.listed as listing
from lshfast import pairs
from lshfast._engine.plan import make_plan
from lshfast.join import PAIR

rows_of_pairs = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from([0.5, 0.6, 0.75, 0.9, 1.0]),
    ),
    max_size=40,
).map(
    lambda found: sorted(
        {(min(i, j), max(i, j)): s for i, j, s in found if i != j}.items()
    )
)


def array_of(found):
    return np.array([(i, j, s) for (i, j), s in found], PAIR)


def reference(found, k):
    """Return the pairs that one of their rows has among its k most similar."""
    chosen = set()
    for row in range(10):
        own = [(-s, i + j - row, (i, j)) for (i, j), s in found if row in (i, j)]
        chosen |= {pair for *_, pair in sorted(own)[:k]}
    return [(i, j, s) for (i, j), s in found if (i, j) in chosen]


@given(
    rows_of_pairs,
    st.integers(1, 4),
    st.integers(1, 7),
    st.sampled_from([None, 0.5, 0.8]),
)
def test_the_most_similar_of_each_row(found, k, size, most):
    plan = make_plan(threshold=0.5, top=k, most=most)
    whole = array_of(found)
    batches = [whole[at : at + size] for at in range(0, len(whole), size)]
    (chosen,) = listing.listed(batches, plan, most_waiting=5)
    assert chosen.tolist() == reference(
        [pair for pair in found if most is None or pair[1] <= most], k
    )


@given(rows_of_pairs, st.sampled_from([0.5, 0.7, 1.0]))
def test_an_upper_bound(found, most):
    plan = make_plan(threshold=0.5, most=most)
    chosen = np.concatenate([array_of([]), *listing.listed([array_of(found)], plan)])
    assert chosen.tolist() == [(i, j, s) for (i, j), s in found if s <= most]


TEXTS = [
    "a b c d e",
    "a b c d f",
    "a b c g h",
    "a b c d e",
    "x y z",
    "x y z",
    "a b c d e f",
]


def test_copies_are_listed_beside_the_most_similar():
    found = pairs(TEXTS, size=1, threshold=0.2, exact=True, top=1)
    assert found[["i", "j"]].tolist() == [(0, 2), (0, 3), (0, 6), (1, 6), (4, 5)]


def test_a_bound_below_1_leaves_copies_out():
    found = pairs(TEXTS, size=1, threshold=0.2, exact=True, most=0.9)
    assert (found["similarity"] <= 0.9).all()
    assert {(0, 3), (4, 5)}.isdisjoint(found[["i", "j"]].tolist())
    every = pairs(TEXTS, size=1, threshold=0.2, exact=True)
    assert found.tolist() == [pair for pair in every.tolist() if pair[2] <= 0.9]


def test_all_copies_have_the_pairs_of_the_first():
    found = pairs(
        TEXTS, size=1, threshold=0.2, exact=True, top=1, most=0.99, copies="all"
    )
    every = pairs(TEXTS, size=1, threshold=0.2, exact=True, top=1, most=0.99)
    assert set(every.tolist()) < set(found.tolist())
    assert (3, 6) in found[["i", "j"]].tolist()


@pytest.mark.parametrize("exact", [True, False])
def test_batches_of_bands_and_of_the_exact_join(exact):
    rng = np.random.default_rng(4)
    texts = [
        " ".join(f"w{word}" for word in rng.integers(0, 12, 9)) for _ in range(300)
    ]
    options = {"size": 1, "threshold": 0.7, "exact": exact, "seed": 7}
    every = pairs(texts, **options)
    found = [((int(i), int(j)), float(s)) for i, j, s in every.tolist() if s < 1]
    k = 2
    chosen = set()
    for row in range(300):
        own = [(-s, i + j - row, (i, j)) for (i, j), s in found if row in (i, j)]
        chosen |= {pair for *_, pair in sorted(own)[:k]}
    wanted = [pair for pair in every.tolist() if pair[2] < 1 and pair[:2] in chosen]
    assert pairs(texts, top=k, most=0.99, **options).tolist() == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top must be in 1..2147483647, not 0"),
        ({"most": 0.3}, r"most must be in 0.8..1, from the threshold, not 0.3"),
        ({"most": 1.5}, r"most must be in 0.8..1, from the threshold, not 1.5"),
        ({"most": float("nan")}, "most must be in 0.8..1"),
    ],
)
def test_bad_values(options, message):
    with pytest.raises(ValueError, match=message):
        pairs(["a"], **options)
