"""Pairs of sketches against a comparison of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import genomes
from lshfast.genomes import GENOME_PAIR, KmerSketches, Sampling
from lshfast.genomes.ani import ani_of_containment, ani_of_jaccard
from lshfast.genomes.sketches import sketches_of
from tests.reference import kmers

K = 7


def sketches(rows, scaled=1, bottom=0, k=K):
    sets = sketches_of(np.array(sorted(row), np.uint64) for row in rows)
    return KmerSketches(
        [str(row) for row in range(len(rows))], sets, Sampling(k, scaled, bottom)
    )


def all_pairs(rows, others=None):
    within = others is None
    others = rows if within else others
    for i, a in enumerate(rows):
        for j, b in enumerate(others):
            if (i < j or not within) and a & b:
                yield i, j, a, b


items = st.lists(st.sets(st.integers(0, 20), max_size=10), max_size=7)
thresholds = st.sampled_from([0.0, 1e-9, 0.25, 1 / 3, 0.5, 0.8, 0.9, 1.0])


@pytest.mark.slow
@given(
    items,
    st.none() | items,
    st.sampled_from(["ani", "jaccard", "containment"]),
    thresholds,
)
def test_all_pairs_of_scaled_sketches(rows, others, name, least):
    found = genomes.pairs(
        sketches(rows),
        None if others is None else sketches(others),
        **{name: least},
        threads=2,
    )
    expected = []
    for i, j, a, b in all_pairs(rows, others):
        shared = len(a & b)
        jaccard, contained = shared / len(a | b), shared / min(len(a), len(b))
        ani = float(ani_of_containment([contained], K)[0])
        if {"ani": ani, "jaccard": jaccard, "containment": contained}[name] >= least:
            mash = float(ani_of_jaccard([jaccard], K)[0])
            expected.append(
                (
                    i,
                    j,
                    shared,
                    jaccard,
                    contained,
                    shared / len(a),
                    shared / len(b),
                    ani,
                    mash,
                )
            )
    columns = [
        column for column in GENOME_PAIR.names if column not in ("ani_low", "ani_high")
    ]
    assert found[columns].tolist() == expected
    assert (found["ani_low"] <= found["ani"] + 1e-12).all()
    assert (found["ani"] <= found["ani_high"] + 1e-12).all()


@given(
    items,
    st.none() | items,
    st.sampled_from(["ani", "jaccard"]),
    thresholds,
    st.integers(1, 8),
)
def test_all_pairs_of_the_smallest_hashes(rows, others, name, least, bottom):
    def cut(rows):
        return [set(sorted(row)[:bottom]) for row in rows]

    rows, others = cut(rows), None if others is None else cut(others)
    own = sketches(rows, bottom=bottom)
    found = genomes.pairs(
        own,
        None if others is None else sketches(others, bottom=bottom),
        **{name: least},
    )
    expected = []
    for i, j, a, b in all_pairs(rows, others):
        shared, together = kmers.bottom_shared(a, b, bottom)
        mash = float(ani_of_jaccard([shared / together], K)[0])
        if (mash if name == "ani" else shared / together) >= least:
            expected.append((i, j, shared, shared / together, mash))
    assert found[["i", "j", "shared", "jaccard", "mash_ani"]].tolist() == expected
    assert np.isnan(found["ani"]).all()


def test_collections_with_different_scales():
    """Both have the hashes of the greater scale."""
    text = "GATTACACCGTTGCAACGTAGGCATTTCAG" * 3
    fine, coarse = (
        genomes.sketch([text, text[:40]], k=9, scaled=scaled) for scaled in (2, 5)
    )
    same = genomes.pairs(coarse, coarse, ani=0)
    assert (
        genomes.pairs(fine, coarse, ani=0).tolist()
        == genomes.pairs(coarse, fine, ani=0).tolist()
        == same.tolist()
    )


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("between", [False, True])
def test_few_hashes_give_no_ani(size, between):
    """Sketches that were sampled; one with 8 hashes gives an ANI, and so do all k-mers."""
    rows = [set(range(size)), set(range(size)), set(range(100))]
    few = sketches(rows, scaled=1000, k=31)
    others = few if between else None
    count = 8 if between else 3
    with pytest.warns(
        UserWarning,
        match=f"^{count} pairs left out that have no ANI.*fewer than 8 hashes; a smaller",
    ):
        found = genomes.pairs(few, others)
    assert len(found) == (1 if between else 0)  # the sketch of 100 with itself
    for least in ({"containment": 0.5}, {"jaccard": 0.0}):
        found = genomes.pairs(few, others, **least)
        small = (found["i"] != 2) | (found["j"] != 2)
        assert small.sum() == count
        for name in ("ani", "mash_ani"):
            assert np.isnan(found[name][small]).all()
            assert not np.isnan(found[name][~small]).any()
        assert (found["ani_low"][small] < 0.025 ** (1 / size / 31) + 1e-9).all()
        assert (found["ani_high"] == 1).all()
    assert len(genomes.pairs(sketches(rows, scaled=1, k=31), ani=0.9)) == 3


@pytest.mark.slow
def test_eight_hashes_give_an_ani():
    for size, count in ((8, 1), (9, 1)):
        found = genomes.pairs(
            sketches([set(range(size)), set(range(40))], scaled=1000, k=31)
        )
        assert found["ani"].tolist() == [1.0] * count


def test_a_pair_below_the_threshold_is_not_called_unknown():
    assert (
        len(
            genomes.pairs(
                sketches([{1, 2, 3, 4, 5}, {5, *range(50, 80)}], scaled=1000, k=31),
                ani=0.99,
            )
        )
        == 0
    )


def test_the_default_threshold():
    rows = [set(range(1000)), set(range(300, 1000)), set(range(900, 1500))]
    found = genomes.pairs(sketches(rows, k=31))
    assert found[["i", "j"]].tolist() == [(0, 1)]
    assert genomes.pairs(sketches(rows, k=31), ani=0.92)[["i", "j"]].tolist() == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]


def test_errors():
    own = sketches([{1}])
    for call, error, reason in [
        (lambda: genomes.pairs([{1}]), TypeError, "must be KmerSketches"),
        (lambda: genomes.pairs(own, [{1}]), TypeError, "must be KmerSketches"),
        (
            lambda: genomes.pairs(own, ani=1.5),
            ValueError,
            r"ani must be in 0\.\.1, not 1.5",
        ),
        (
            lambda: genomes.pairs(own, ani=float("nan")),
            ValueError,
            r"ani must be in 0\.\.1, not nan",
        ),
        (
            lambda: genomes.pairs(own, jaccard="a"),
            TypeError,
            "jaccard must be a number",
        ),
        (
            lambda: genomes.pairs(own, ani=0.9, jaccard=0.1),
            ValueError,
            "only one of ani, jaccard and containment",
        ),
        (
            lambda: genomes.pairs(sketches([{1}], bottom=5), containment=0.5),
            ValueError,
            "do not estimate a containment",
        ),
        (
            lambda: genomes.pairs(own, sketches([{1}], k=9)),
            ValueError,
            "the same k and bottom, not k=7, bottom=0 and k=9",
        ),
        (
            lambda: genomes.pairs(own, sketches([{1}], bottom=5)),
            ValueError,
            "the same k and bottom",
        ),
        (
            lambda: genomes.pairs(own, threads=0),
            ValueError,
            "threads must be at least 1",
        ),
    ]:
        with pytest.raises(error, match=reason):
            call()
