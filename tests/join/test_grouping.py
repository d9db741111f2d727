"""Groups without a list of all pairs: they are those that all pairs give, with far fewer comparisons."""

import gc
import random
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import (
    Bands,
    MinHasher,
    TokenSets,
    candidates,
    component_groups,
    find_copies,
    star_groups,
    verify,
)
from lshfast.join import group_pairs, short_rows
from lshfast.join.comparison import SCREENED, Comparison, WalkLimits
from lshfast.join.group_pairs import pairs_for_groups
from lshfast.join.groups import larger_first
from lshfast.join.pair_arrays import as_pairs
from lshfast.join.screening import estimate, screen
from lshfast.kernels import available, use
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
        return make(
            len(self.sets), pairs, copies=self.copies, preference=self.preference
        )

    def of_all_pairs(self, exact, chains):
        i, j = candidates(self.keys, copies=self.copies)
        if exact:
            stay = screen(self.signatures, i, j, self.threshold)
            return self.groups(
                verify(self.sets, i[stay], j[stay], self.threshold), chains
            )
        similarity = estimate(self.signatures, i, j)
        stay = similarity >= self.threshold
        return self.groups(as_pairs(i[stay], j[stay], similarity[stay]), chains)

    def walked(self, exact, chains, threads=1, join_short=True, **limits):
        walk = {"join_short": join_short, "limits": WalkLimits(**limits)}
        comparison = Comparison(self.threshold, exact, chains, threads, **walk)
        return pairs_for_groups(
            self.sets,
            self.signatures,
            self.keys,
            comparison,
            copies=self.copies,
            preference=self.preference,
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


PIECES = {"piece_tokens": 40}
CROWDS = {"crowd": 2, "few": 3}
SCREENED_SOON = {"screened": 2}
# Whether short rows are joined, and limits that cut the walk as large collections cut it.
WALKS = {
    "whole": (False, {}),
    "pieces": (False, PIECES),
    "crowds": (False, CROWDS),
    "crowds in pieces": (False, PIECES | CROWDS),
    "screened": (False, SCREENED_SOON),
    "screened crowds": (False, SCREENED_SOON | CROWDS),
    "crowds joined": (True, CROWDS),
}


@pytest.mark.slow
@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("common", [0, 12])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("walk", WALKS)
def test_the_groups_are_those_of_all_pairs(walk, chains, common, threads):
    join_short, limits = WALKS[walk]
    for seed in range(12):
        corpus = Corpus(
            family(seed, 120, common),
            0.5,
            np.random.default_rng(seed).integers(0, 5, 120),
        )
        pairs, _ = corpus.walked(True, chains, threads, join_short=join_short, **limits)
        found = corpus.groups(pairs, chains)
        expected = corpus.of_all_pairs(True, chains)
        assert found.keeper.tolist() == expected.keeper.tolist()
        assert found.labels.tolist() == expected.labels.tolist()
        if not chains:
            assert found.similarity.tolist() == expected.similarity.tolist()


@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("threshold", [0.0, 0.6])
@pytest.mark.parametrize("screened", [2, 10**6])
def test_the_groups_of_estimates_are_those_of_all_pairs(chains, threshold, screened):
    corpus = Corpus(family(3, 150, 2), threshold, None)
    found = corpus.groups(corpus.walked(False, chains, screened=screened)[0], chains)
    assert found.keeper.tolist() == corpus.of_all_pairs(False, chains).keeper.tolist()


@settings(max_examples=80)
@given(
    st.lists(st.sets(st.integers(0, 12), max_size=8), max_size=24),
    st.sampled_from([0.3, 0.5, 0.8, 1.0]),
    st.booleans(),
    st.sampled_from([0, 1, 300]),
    st.booleans(),
)
def test_any_sets(rows, threshold, chains, crowd, join_short):
    corpus = Corpus(rows, threshold, None)
    pairs, _ = corpus.walked(
        True, chains, join_short=join_short, crowd=crowd, few=crowd
    )
    found = corpus.groups(pairs, chains)
    assert found.keeper.tolist() == corpus.of_all_pairs(True, chains).keeper.tolist()


def tiny(n, seed=1):
    """Make n sets of 1 to 12 of 60 elements: most meet many others, of which few are similar."""
    rng = np.random.default_rng(seed)
    return TokenSets.from_sets(
        [rng.zipf(1.3, rng.integers(1, 13)) % 60 for _ in range(n)]
    )


@pytest.mark.few_cases
@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("measure", ["jaccard", "containment"])
@pytest.mark.parametrize("preferred", [False, True])
def test_short_rows_are_placed_as_by_the_walk(chains, measure, preferred, monkeypatch):
    """A crowd of short rows is joined; the pairs are the same, and so are their similarities."""
    sets = tiny(3000)
    signatures = HASHER.sketch(sets)
    keys, copies = BANDS.keys(signatures), find_copies(sets)
    preference = (
        np.random.default_rng(2).integers(0, 9, len(sets)) if preferred else None
    )
    if measure == "containment":
        preference = larger_first(sets.distinct().counts, preference)
    monkeypatch.setattr(short_rows, "MOST_PAIRS", 1000)
    place, joined, found = short_rows.place_short_rows, [], []

    def placed(*arguments, **options):
        joined.append(place(*arguments, **options))
        return joined[-1]

    monkeypatch.setattr(group_pairs, "place_short_rows", placed)
    for join_short in (True, False):
        comparison = Comparison(
            0.5,
            True,
            chains,
            2,
            measure,
            join_short=join_short,
            limits=WalkLimits(crowd=4),
        )
        pairs, _ = pairs_for_groups(
            sets, signatures, keys, comparison, copies=copies, preference=preference
        )
        found.append(pairs.tolist())
    assert len(joined) == 1
    assert joined[0] > 0
    assert found[0] == found[1]
    assert len(found[0]) > 300


def test_short_rows_with_too_many_similar_pairs_are_walked(monkeypatch):
    monkeypatch.setattr(short_rows, "MOST_PAIRS", 1)
    sets = tiny(3000)
    signatures = HASHER.sketch(sets)
    keys, copies = BANDS.keys(signatures), find_copies(sets)
    ended = pairs_for_groups(sets, signatures, keys, Comparison(0.5), copies=copies)
    walked = pairs_for_groups(
        sets, signatures, keys, Comparison(0.5, join_short=False), copies=copies
    )
    assert ended[0].tolist() == walked[0].tolist()
    assert ended[1] == walked[1]


def template_pages(n, own, seed=1):
    rng, common = np.random.default_rng(seed), np.arange(400)
    return TokenSets.from_sets(
        [np.append(common, rng.integers(10**3, 10**12, own)) for _ in range(n)]
    )


@pytest.mark.one_case
@pytest.mark.parametrize("chains", [False, True])
def test_a_template_takes_one_comparison_a_row(chains):
    """Ten thousand pages of a common template are 5 * 10**7 similar pairs: nobody needs them."""
    sets = template_pages(10_000, 20)
    hasher, bands = MinHasher(128), Bands(18, 7)
    signatures = hasher.sketch(sets)
    pairs, compared = pairs_for_groups(
        sets, signatures, bands.keys(signatures), Comparison(0.8, True, chains)
    )
    assert len(pairs) == compared == 9_999
    assert pairs["i"].tolist() == [0] * 9_999


def test_pages_that_are_nearly_similar_are_told_apart_by_their_rare_tokens():
    """Most pairs of pages share a bucket, and none is similar: nobody compares 10**7 pairs."""
    sets = template_pages(5_000, 60)
    hasher, bands = MinHasher(128), Bands(18, 7)
    signatures = hasher.sketch(sets)
    pairs, compared = pairs_for_groups(
        sets, signatures, bands.keys(signatures), Comparison(0.8)
    )
    assert len(pairs) == 0
    assert compared < 50_000


def scattered(n, seed=1):
    """Make sets of 400 that are alike by .86 to .90: own elements in three of 80 places, the others in common."""
    rng = np.random.default_rng(seed)
    rows = []
    for row in range(n):
        elements = np.arange(400)
        for place in rng.choice(80, 3, replace=False):
            elements[5 * place : 5 * place + 5] = (
                1000 * (row + 1) + 5 * place + np.arange(5)
            )
        rows.append(elements)
    return TokenSets.from_sets(rows)


@pytest.mark.slow
@pytest.mark.parametrize("chains", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_texts_scattered_just_below_the_threshold_are_hardly_compared(chains):
    """Nearly all pairs share a bucket and pass the screen, and have frequent elements in their prefixes."""
    n, threshold = 1_000, 0.91
    sets = scattered(n)
    hasher, bands = MinHasher(128), Bands(18, 7)
    signatures = hasher.sketch(sets)
    keys = bands.keys(signatures)
    pairs, compared = pairs_for_groups(
        sets, signatures, keys, Comparison(threshold, True, chains)
    )
    i, j = candidates(keys)
    stay = screen(signatures, i, j, threshold)
    assert stay.sum() > 180_000
    make = component_groups if chains else star_groups
    assert (
        make(n, pairs).keeper.tolist()
        == make(n, verify(sets, i[stay], j[stay], threshold)).keeper.tolist()
    )
    assert compared < 10_000


@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
def test_crowds_on_each_cpu_level(level):
    if level not in available():
        pytest.skip(f"this machine has no {level}")
    with use(level):
        for chains in False, True:
            corpus = Corpus(family(9, 150, 90), 0.8, None)
            found = corpus.groups(corpus.walked(True, chains, **CROWDS)[0], chains)
            assert (
                found.keeper.tolist()
                == corpus.of_all_pairs(True, chains).keeper.tolist()
            )


def test_rows_are_fetched_piece_by_piece():
    """No more tokens are at hand than two pieces, a row that is needed again, and those of a sample."""

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
    comparison = Comparison(
        0.8, threads=2, limits=WalkLimits(piece_tokens=10_000, run_tokens=5_000, few=10)
    )
    pairs, _ = pairs_for_groups(rows, signatures, BANDS.keys(signatures), comparison)
    assert len(pairs) == 499
    assert rows.most <= 10_000


class Unread(TokenSets):
    """Rows whose tokens nobody may need."""

    def take(self, rows):
        raise AssertionError(f"tokens of {len(rows)} rows were taken")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("exact", [True, False])
def test_rows_that_share_one_band_and_differ_are_not_compared(exact, threads):
    n = SCREENED + 1
    rng = np.random.default_rng(1)
    signatures = rng.integers(0, 2**63, (n, 32), np.uint64)
    signatures[:, :2] = 7
    sets = Unread(
        np.arange(n + 1, dtype=np.int64), rng.integers(0, 2**63, n, np.uint64)
    )
    comparison = Comparison(0.8, exact, threads=threads)
    pairs, compared = pairs_for_groups(
        sets, signatures, BANDS.keys(signatures), comparison
    )
    assert (len(pairs), compared) == (0, 0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("capped", [True, False])
@pytest.mark.parametrize("few", [3, 256])
def test_rows_are_let_go_of_without_a_garbage_collection(threads, capped, few):
    """The rows of a part take most of the memory of a run within a cap."""
    corpus = Corpus(family(6, 100, 3), 0.5, None)

    class Rows:
        def __init__(self, sets):
            self._sets, self.sizes = sets, sets.sizes

        def take(self, rows):
            return self._sets.take(rows)

    rows = Rows(corpus.sets)
    there = weakref.ref(rows)
    collects = gc.isenabled()
    gc.disable()
    try:
        comparison = Comparison(
            0.5, threads=threads, capped=capped, limits=WalkLimits(few=few)
        )
        pairs_for_groups(rows, corpus.signatures, corpus.keys, comparison)
        del rows
        assert there() is None
    finally:
        if collects:
            gc.enable()


def test_progress_reaches_all_rows():
    said = []
    corpus = Corpus(family(5, 100, 3), 0.5, None)
    comparison = Comparison(0.5)
    pairs_for_groups(
        corpus.sets,
        corpus.signatures,
        corpus.keys,
        comparison,
        progress=lambda done, total: said.append((done, total)),
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


@given(
    st.lists(st.tuples(*[st.sampled_from([EMPTY, 0, 1, *CLASHING])] * 2), max_size=40),
    st.randoms(),
)
def test_buckets_are_rows_of_one_key(rows, rng):
    members = list(range(len(rows)))
    rng.shuffle(members)
    keys = np.array(rows, np.uint64).reshape(-1, 2)
    for band in range(2):
        numbers = np.full((len(rows), 2), -1, np.int32)
        count = band_kernels.number_buckets(
            keys, band, np.array(members, np.int64), numbers
        )
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
        ({"of": np.array([0, 1, 4], np.int64)}, "rows below 4"),
        ({"of": np.array([0, 1], np.int64)}, "3 rows"),
        ({"threshold": float("nan")}, "threshold"),
        ({"signatures": np.zeros((4, 0), np.uint64)}, "at least 1"),
    ],
)
def test_states_that_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        state(**changes)


def test_rows_that_cannot_be_held():
    offsets, tokens = csr([[1, 2], [3]])
    for rows, places in (
        ([0, 3], offsets),
        ([0, -1], offsets),
        ([0], offsets),
        ([0, 1], offsets + 2),
    ):
        with pytest.raises(ValueError, match="must be"):
            state().hold(np.array(rows, np.int32), places, tokens)


def test_walks_that_cannot_be():
    one = state()
    with pytest.raises(ValueError, match="end must be"):
        one.walk(0, 4)
    with pytest.raises(ValueError, match="row 0 is not held"):
        one.walk(0, 3)
    one.hold(np.array([0], np.int32), *csr([[1, 2]]))
    with pytest.raises(ValueError, match="row 1 is not held"):
        one.walk(0, 3)
    with pytest.raises(ValueError, match="there must be a crowd"):
        one.add_to_crowd(0, 1)
    with pytest.raises(ValueError, match="numbers, not 5"):
        one.begin_crowd(np.zeros(5, np.uint8), 2)


def test_counts_of_buckets_that_wrap_are_refused():
    """Their sum would be 0, and rows would be noted in buckets that have no memory."""
    counts = np.full(4, 2**62, np.int64)
    for count in counts, np.array([-1, 2, 2, 2], np.int64):
        with pytest.raises(ValueError, match="counts of buckets"):
            state(buckets=np.zeros((3, 4), np.int32), counts=count)
        with pytest.raises(ValueError, match="counts of buckets"):
            kernels.join_buckets(np.zeros((0, 4), np.int32), count)


def test_pairs_that_cannot_be():
    grouping = state()
    for pairs, message in (
        ([1 << 32 | 1], "rows of pairs must ascend within"),
        ([9 << 32], "rows of pairs must ascend within"),
        ([2 << 32, 1 << 32], "pairs must ascend"),
        ([1 << 32, 1 << 32], "pairs must ascend"),
    ):
        with pytest.raises(ValueError, match=message):
            grouping.place_pairs(0, 3, np.array(pairs, np.uint64))
    with pytest.raises(ValueError, match=r"rows of pairs must ascend within"):
        grouping.meeting(np.array([1 << 63], np.uint64))
    with pytest.raises(ValueError, match="rows must be within"):
        grouping.place_pairs(2, 1, np.empty(0, np.uint64))


def walked_pairs(pairs, signatures, bands, rows, least, chains):
    """Return the pairs that decide groups, a pair at a time."""
    group, found = list(range(len(signatures))), []
    for left, right in pairs:
        a, b = signatures[left], signatures[right]
        share = any(
            np.array_equal(a[at : at + rows], b[at : at + rows])
            for at in range(0, bands * rows, rows)
        )
        if not share or a[0] == EMPTY or np.count_nonzero(a == b) < least:
            continue
        if chains and group[left] != group[right]:
            group = [group[left] if label == group[right] else label for label in group]
        elif not chains and group[left] == left and group[right] == right:
            group[right] = left
        else:
            continue
        found.append((left, right))
    return found


@settings(max_examples=100)
@given(
    st.integers(0, 20), st.sampled_from([(1, 1), (2, 3), (8, 4), (11, 6)]), st.integers(0, 3), st.integers(0, 40),
    st.booleans(), st.sampled_from(available()), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_banded_pairs_are_those_of_the_walk(
    n, banding, more, least, chains, level, seed
):
    rng, (bands, rows) = np.random.default_rng(seed), banding
    signatures = rng.choice(
        np.array([1, 2, EMPTY], np.uint64),
        (n, bands * rows + more),
        p=[0.8, 0.15, 0.05],
    )
    pairs = [
        (left, right)
        for right in range(n)
        for left in range(right)
        if rng.random() < 0.7
    ]
    numbers = np.array([right << 32 | left for left, right in pairs], np.uint64)
    with use(level):
        found = kernels.find_banded_pairs(
            numbers, signatures, bands, rows, least, chains
        ).tolist()
    expected = walked_pairs(pairs, signatures, bands, rows, least, chains)
    assert found == [right << 32 | left for left, right in expected]


def test_banded_pairs_that_cannot_be():
    signatures = np.ones((3, 8), np.uint64)
    for pairs, message in (
        ([1 << 32 | 1], "rows of pairs must ascend within"),
        ([3 << 32], "rows of pairs must ascend within"),
        ([2 << 32, 1 << 32], "pairs must ascend"),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.find_banded_pairs(
                np.array(pairs, np.uint64), signatures, 4, 2, 0, False
            )
    for bands, rows in ((0, 1), (1, 0), (3, 3), (2**63, 2)):
        with pytest.raises((ValueError, OverflowError, MemoryError)):
            kernels.find_banded_pairs(
                np.array([1 << 32], np.uint64), signatures, bands, rows, 0, False
            )


def held(**changes):
    one = state(**changes)
    return one, one.hold(
        np.arange(3, dtype=np.int32), *csr([[1, 2], [1, 2, 3], [1, 2]])
    )


def test_a_row_is_placed_once():
    one, _ = held(signatures=np.ones((4, 8), np.uint64))
    assert one.walk(0, 2) == 1
    with pytest.raises(ValueError, match="row 0 has been placed"):
        one.walk(0, 3)
    one.start(1, 9)
    with pytest.raises(ValueError, match="row 1 has been placed"):
        one.step(3)


@pytest.mark.parametrize("chains", [False, True])
def test_a_walk_compares_the_rows_from_its_first_on(chains):
    """A walk that begins at row i has room for n - i pairs, which others could not fill."""
    n = 50
    one = state(
        buckets=np.zeros((n, 1), np.int32), signatures=np.ones((n, 8), np.uint64), of=np.zeros(n, np.int64),
        exact=False, chains=chains,
    )  # fmt: skip
    for row in range(n):
        assert one.walk(row, row + 1) == 0
    assert (one.left == -1).all()


def test_rows_that_are_held_are_a_copy():
    one = state(signatures=np.ones((4, 8), np.uint64))
    rows = np.arange(3, dtype=np.int32)
    number = one.hold(rows, *csr([[1, 2], [1, 2, 3], [1, 2]]))
    rows[:] = 10**9
    one.release(number)
    with pytest.raises(KeyError):
        one.release(number)
    with pytest.raises(ValueError, match="row 0 is not held"):
        one.walk(0, 3)


def test_crowds_that_cannot_be():
    counts = np.zeros(1 << kernels.COUNT_BITS, np.uint8)
    for changes in {"exact": False}, {"threshold": 0.0}:
        with pytest.raises(ValueError, match="a crowd tells nothing"):
            state(**changes).begin_crowd(counts, 2)
    one, _ = held()
    with pytest.raises(ValueError, match="not 0"):
        one.begin_crowd(counts, 0)
    one.begin_crowd(counts, 2)
    with pytest.raises(ValueError, match="row 0 is not held, or not placed"):
        one.add_to_crowd(0, 1)
    with pytest.raises(ValueError, match="step by step"):
        one.walk(0, 3)


def test_crowds_are_let_go_of():
    """Each crowd has counts of its own: no more than one lot of them is kept."""
    one, _ = held()
    kept = []
    for _ in range(3):
        counts = np.zeros(1 << kernels.COUNT_BITS, np.uint8)
        kept.append(weakref.ref(counts))
        one.begin_crowd(counts, 2)
        del counts
    assert [reference() is None for reference in kept] == [True, True, False]
    one.end_crowd()
    assert kept[2]() is None


@pytest.mark.parametrize("threshold", [0.0, 1e-300])
def test_rows_that_meet_a_crowd_in_different_bands(threshold):
    """A row meets more earlier ones than a crowd, each in a band of its own, and at threshold 0 all are similar."""
    n = 12
    keys = np.arange(n * n, dtype=np.uint64).reshape(n, n)
    keys[-1] = np.diag(keys)
    signatures = np.ones((n, 4), np.uint64)
    sets = TokenSets.from_sets([{row} for row in range(n)])
    comparison = Comparison(threshold, True, True, limits=WalkLimits(crowd=2, few=2))
    pairs, _ = pairs_for_groups(sets, signatures, keys, comparison)
    assert len(pairs) == (0 if threshold else n - 1)


@pytest.mark.slow
def test_a_chain_passes_what_is_joined_already():
    """A few strange pages in the bucket of a chain do not make it compare each pair of the others."""
    n, strange = 4_000, [3, 50, 900]
    rows = [[*range(400), n + row, 2 * n + row] for row in range(n)]
    for row in strange:
        rows[row] = [*range(200), *range(10**6 * (row + 1), 10**6 * (row + 1) + 200)]
    sets = TokenSets.from_sets(rows)
    signatures, keys = np.ones((n, 8), np.uint64), np.zeros((n, 2), np.uint64)
    pairs, compared = pairs_for_groups(
        sets, signatures, keys, Comparison(0.8, True, True)
    )
    assert len(pairs) == n - 1 - len(strange)
    assert compared < 6 * n


def test_rows_of_tokens_that_are_chosen_for_one_word():
    """The lower halves of all tokens are equal: a crowd lists few words, and its groups are right."""
    rng = random.Random(4)
    rows = [{rng.randrange(40) << 34 | 7 for _ in range(30)} for _ in range(60)]
    for chains in False, True:
        corpus = Corpus(rows, 0.7, None)
        corpus.sets = TokenSets(*csr([sorted(row) for row in rows]))
        found = corpus.groups(corpus.walked(True, chains, crowd=1, few=1)[0], chains)
        assert (
            found.keeper.tolist() == corpus.of_all_pairs(True, chains).keeper.tolist()
        )
