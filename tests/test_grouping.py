"""Groups without a list of all pairs: they are those that all pairs give, with far fewer comparisons."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import Bands, MinHasher, TokenSets, candidates, component_groups, find_copies, star_groups, verify
from lshfast.join import grouping
from lshfast.join.grouping import Comparison, pairs_for_groups
from lshfast.join.verify import as_pairs, estimate, screen
from lshfast.kernels import bands as band_kernels
from lshfast.kernels import grouping as kernels
from tests.conftest import csr

EMPTY = 2**64 - 1
HASHER = MinHasher(32)
BANDS = Bands(8, 2)


class Corpus:
    """Token sets with what a run knows of them, and the groups that all pairs of candidates give."""

    def __init__(self, rows, threshold, preference):
        self.sets = TokenSets.from_sets(rows)
        self.signatures = HASHER.sketch(self.sets)
        self.keys = BANDS.keys(self.signatures)
        self.copies = find_copies(self.sets)
        self.threshold, self.preference = threshold, preference

    def groups(self, pairs, chains):
        make = component_groups if chains else star_groups
        return make(len(self.sets), pairs, copies=self.copies, preference=self.preference)

    def of_all_pairs(self, exact, chains):
        i, j = candidates(self.keys, copies=self.copies)
        if exact:
            stay = screen(self.signatures, i, j, self.threshold)
            return self.groups(verify(self.sets, i[stay], j[stay], self.threshold), chains)
        similarity = estimate(self.signatures, i, j)
        stay = similarity >= self.threshold
        return self.groups(as_pairs(i[stay], j[stay], similarity[stay]), chains)

    def walked(self, exact, chains, threads=1, rows=None):
        comparison = Comparison(self.threshold, exact, chains, threads)
        return pairs_for_groups(
            rows or self.sets, self.signatures, self.keys, comparison, copies=self.copies, preference=self.preference
        )


def family(seed, n, common):
    """Make n sets, half of them with some elements of an earlier one changed, all with `common` elements in common."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        if rows and rng.random() < 0.5:
            row = set(rng.choice(rows))
            for _ in range(rng.randrange(8)):
                row.discard(rng.choice(sorted(row)))
                row.add(rng.randrange(10**6))
        else:
            row = {rng.randrange(60) for _ in range(rng.randrange(1, 20))}
        rows.append(row | set(range(10**6, 10**6 + common)))
    return rows


@pytest.fixture(params=["whole", "pieces", "crowds", "crowds in pieces"])
def sizes(request, monkeypatch):
    """Cut the walk as large collections cut it."""
    if "pieces" in request.param:
        monkeypatch.setattr(grouping, "PIECE", 40)
    if "crowds" in request.param:
        monkeypatch.setattr(grouping, "CROWD", 2)
        monkeypatch.setattr(grouping, "FEW", 3)


@pytest.mark.slow
@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("common", [0, 12])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_groups_are_those_of_all_pairs(sizes, chains, common, threads):
    for seed in range(12):
        corpus = Corpus(family(seed, 120, common), 0.5, np.random.default_rng(seed).integers(0, 5, 120))
        pairs, _ = corpus.walked(True, chains, threads)
        found, expected = corpus.groups(pairs, chains), corpus.of_all_pairs(True, chains)
        assert found.keeper.tolist() == expected.keeper.tolist()
        assert found.labels.tolist() == expected.labels.tolist()
        if not chains:
            assert found.similarity.tolist() == expected.similarity.tolist()


@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("threshold", [0.0, 0.6])
def test_the_groups_of_estimates_are_those_of_all_pairs(chains, threshold):
    corpus = Corpus(family(3, 150, 2), threshold, None)
    found = corpus.groups(corpus.walked(False, chains)[0], chains)
    assert found.keeper.tolist() == corpus.of_all_pairs(False, chains).keeper.tolist()


@settings(max_examples=200)
@given(
    st.lists(st.sets(st.integers(0, 12), max_size=8), max_size=24),
    st.sampled_from([0.3, 0.5, 0.8, 1.0]),
    st.booleans(),
    st.sampled_from([0, 1, 300]),
)
def test_any_sets(rows, threshold, chains, crowd):
    corpus = Corpus(rows, threshold, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "CROWD", crowd)
        patch.setattr(grouping, "FEW", crowd)
        found = corpus.groups(corpus.walked(True, chains)[0], chains)
    assert found.keeper.tolist() == corpus.of_all_pairs(True, chains).keeper.tolist()


def template_pages(n, own, seed=1):
    rng, common = np.random.default_rng(seed), np.arange(400)
    return TokenSets.from_sets([np.append(common, rng.integers(10**3, 10**12, own)) for _ in range(n)])


@pytest.mark.parametrize("chains", [False, True])
def test_a_template_takes_one_comparison_a_row(chains):
    """Ten thousand pages of a common template are 5 * 10**7 similar pairs: nobody needs them."""
    sets = template_pages(10_000, 20)
    hasher, bands = MinHasher(128), Bands(18, 7)
    signatures = hasher.sketch(sets)
    pairs, compared = pairs_for_groups(sets, signatures, bands.keys(signatures), Comparison(0.8, True, chains))
    assert len(pairs) == compared == 9_999
    assert pairs["i"].tolist() == [0] * 9_999


def test_pages_that_are_nearly_similar_are_told_apart_by_their_rare_tokens():
    """Most pairs of pages share a bucket, and none is similar: prefixes tell without looking at 10**7 pairs."""
    sets = template_pages(5_000, 60)
    hasher, bands = MinHasher(128), Bands(18, 7)
    signatures = hasher.sketch(sets)
    pairs, compared = pairs_for_groups(sets, signatures, bands.keys(signatures), Comparison(0.8))
    assert len(pairs) == 0
    assert compared < 50_000


def test_rows_are_fetched_piece_by_piece(monkeypatch):
    """No more tokens are at hand than two pieces, a row that is needed again, and those of a sample."""
    monkeypatch.setattr(grouping, "PIECE", 10_000)
    monkeypatch.setattr(grouping, "FEW", 10)

    class Fetched:
        def __init__(self, sets):
            self._sets, self.sizes, self.most = sets, sets.sizes, 0

        def take(self, rows):
            self.most = max(self.most, int(self.sizes[rows].sum()))
            return self._sets.take(rows)

    sets = template_pages(500, 20)
    hasher = MinHasher(32)
    signatures = hasher.sketch(sets)
    rows = Fetched(sets)
    pairs, _ = pairs_for_groups(rows, signatures, BANDS.keys(signatures), Comparison(0.8, threads=2))
    assert len(pairs) == 499
    assert rows.most <= 10_000


def test_progress_reaches_all_rows():
    said = []
    corpus = Corpus(family(5, 100, 3), 0.5, None)
    comparison = Comparison(0.5)
    pairs_for_groups(
        corpus.sets, corpus.signatures, corpus.keys, comparison, progress=lambda done, total: said.append((done, total))
    )
    assert said
    assert said[-1][0] == said[-1][1]
    assert [done for done, _ in said] == sorted(done for done, _ in said)


# Buckets


def halves_that_clash(n):
    """Return n keys whose mixed values agree in their upper halves."""
    found, mask = [], 2**64 - 1

    def unmix(x):
        x = (x ^ (x >> 31) ^ (x >> 62)) * pow(0x94D049BB133111EB, -1, 2**64) & mask
        x = (x ^ (x >> 27) ^ (x >> 54)) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & mask
        return x ^ (x >> 30) ^ (x >> 60)

    for low in range(n):
        found.append(unmix(5 << 32 | low))
    return found


CLASHING = halves_that_clash(4)


@given(st.lists(st.tuples(*[st.sampled_from([EMPTY, 0, 1, *CLASHING])] * 2), max_size=40), st.randoms())
def test_buckets_are_rows_of_one_key(rows, rng):
    members = list(range(len(rows)))
    rng.shuffle(members)
    keys = np.array(rows, np.uint64).reshape(-1, 2)
    for band in range(2):
        numbers = np.full((len(rows), 2), -1, np.int32)
        count = band_kernels.number_buckets(keys, band, np.array(members, np.int64), numbers)
        held = {}
        for place, member in enumerate(members):
            if rows[member][band] != EMPTY:
                held.setdefault(rows[member][band], []).append(place)
        shared = [places for places in held.values() if len(places) > 1]
        assert count == len(shared)
        assert len({numbers[places[0], band] for places in shared}) == count
        for places in shared:
            assert len(set(numbers[places, band].tolist())) == 1
        assert (numbers[:, band] >= 0).sum() == sum(map(len, shared))
        assert (numbers[:, 1 - band] == -1).all()


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 5)), max_size=30))
def test_joining_rows_by_buckets(rows):
    buckets = np.array(rows, np.int32).reshape(-1, 2)
    labels = kernels.join_buckets(buckets, np.array([4, 6], np.int64)).tolist()
    expected = list(range(len(rows)))
    for _ in rows:
        for i, a in enumerate(rows):
            for j, b in enumerate(rows):
                if any(x == y >= 0 for x, y in zip(a, b, strict=True)):
                    expected[i] = expected[j] = min(expected[i], expected[j])
    assert labels == expected


# What the kernels refuse


def state(**changes):
    arguments = {
        "buckets": np.zeros((3, 1), np.int32),
        "counts": np.ones(1, np.int64),
        "signatures": np.zeros((4, 8), np.uint64),
        "of": np.arange(3, dtype=np.int64),
        "least": 1,
        "threshold": 0.5,
        "exact": True,
        "chains": False,
    }
    return kernels.Grouping(**(arguments | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buckets": np.full((3, 1), 1, np.int32)}, "below the count"),
        ({"buckets": np.full((3, 1), -2, np.int32)}, "below the count"),
        ({"counts": np.ones(2, np.int64)}, "one count a band"),
        ({"of": np.array([0, 1, 4])}, "rows below 4"),
        ({"of": np.array([0, 1])}, "3 rows"),
        ({"threshold": float("nan")}, "threshold"),
        ({"signatures": np.zeros((4, 0), np.uint64)}, "at least 1"),
    ],
)
def test_states_that_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        state(**changes)


def test_rows_that_cannot_be_held():
    offsets, tokens = csr([[1, 2], [3]])
    for rows, places in ([0, 3], offsets), ([0, -1], offsets), ([0], offsets), ([0, 1], offsets + 2):
        with pytest.raises(ValueError, match="must be"):
            state().hold(np.array(rows, np.int32), places, tokens)


def test_walks_that_cannot_be():
    one = state()
    with pytest.raises(ValueError, match="end must be"):
        one.walk(0, 4)
    with pytest.raises(ValueError, match="row 0 is not at hand"):
        one.walk(0, 3)
    one.hold(np.array([0], np.int32), *csr([[1, 2]]))
    with pytest.raises(ValueError, match="row 1 is not at hand"):
        one.walk(0, 3)
    with pytest.raises(ValueError, match="prefixes in use"):
        one.add_prefixes(0, 1)
    with pytest.raises(ValueError, match="numbers, not 5"):
        one.look_up_by_prefix(np.zeros(5, np.uint8))
