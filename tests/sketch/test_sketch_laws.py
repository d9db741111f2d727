"""Laws of sketches: how they merge, that the way tokens come changes nothing, and that copies share nothing."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import (
    DistinctCounter,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    WeightedSets,
)
from lshfast.datasketch import (
    HyperLogLog,
    HyperLogLogPlusPlus,
    LeanMinHash,
    MinHash,
    MinHashLSHEnsemble,
    MinHashLSHForest,
    WeightedMinHash,
    bBitMinHash,
)
from lshfast.datasketch.weighted_minhash import WeightedMinHashGenerator
from lshfast.sketch import BBits, OnePermutation, sketch_multisets
from tests.conftest import csr

WORD64 = st.integers(0, 2**64 - 1)
TOKENS = st.lists(st.one_of(WORD64, st.sampled_from([0, 1, 2, 2**64 - 1])), max_size=12)
TIMES = st.dictionaries(st.integers(0, 5), st.integers(1, 4), max_size=5)
WEIGHTS = st.dictionaries(st.integers(0, 5), st.floats(1e-9, 1e9), max_size=5)
SIGNED = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-(2**40), 2**40)), max_size=8
)

K = 12
FAST, CLASSIC, GROUPS = MinHasher(K), MinHasher(K, "classic"), OnePermutation(K)
SHELLS, HASHER, COUNTER = WeightedMinHasher(K), SimHasher(), DistinctCounter(4)


def sets_of(rows):
    return TokenSets(*csr(rows))


def weighted(rows):
    offsets, tokens = csr([list(row) for row in rows])
    return WeightedSets(
        offsets, tokens, [float(weight) for row in rows for weight in row.values()]
    )


def counters(rows):
    sets = sets_of([[token for token, _ in row] for row in rows])
    return HASHER.counters(
        sets, np.array([weight for row in rows for _, weight in row], np.int64)
    )


def join(a, b):
    return a + b


def greater(a, b):
    return {
        token: max(a.get(token, 0), b.get(token, 0)) for token in a.keys() | b.keys()
    }


# Who merges, what is drawn, how rows of it are sketched, and what two of them merged are the sketch
# of.
WAYS = {
    "MinHasher fast": (FAST, TOKENS, lambda rows: FAST.sketch(sets_of(rows)), join),
    "MinHasher classic": (
        CLASSIC,
        TOKENS,
        lambda rows: CLASSIC.sketch(sets_of(rows)),
        join,
    ),
    "OnePermutation": (GROUPS, TOKENS, lambda rows: GROUPS.sketch(sets_of(rows)), join),
    "WeightedMinHasher": (
        SHELLS,
        WEIGHTS,
        lambda rows: SHELLS.sketch(weighted(rows)),
        greater,
    ),
    "sketch_multisets": (
        FAST,
        TIMES,
        lambda rows: sketch_multisets(FAST, weighted(rows)),
        greater,
    ),
    "SimHasher counters": (HASHER, SIGNED, counters, join),
    "DistinctCounter": (
        COUNTER,
        TOKENS,
        lambda rows: COUNTER.sketch(sets_of(rows)),
        join,
    ),
}
EACH = pytest.mark.parametrize("way", WAYS)
FEW = settings(max_examples=25)


@EACH
@FEW
@given(data=st.data())
def test_merging(way, data):
    maker, kind, sketch, joined = WAYS[way]
    rows = [data.draw(kind) for _ in range(3)]
    a, b, c, both, nothing = sketch([*rows, joined(rows[0], rows[1]), type(rows[0])()])
    before = a.tolist(), b.tolist()
    found = maker.merge(a, b)
    assert found.tolist() == both.tolist() == maker.merge(b, a).tolist()
    assert maker.merge(found, c).tolist() == maker.merge(a, maker.merge(b, c)).tolist()
    assert maker.merge(a, nothing).tolist() == a.tolist()
    assert (maker.merge(a, a).tolist() == a.tolist()) == (
        way != "SimHasher counters" or not a.any()
    )
    assert maker.merge(np.stack([a, b]), c).tolist() == [
        maker.merge(a, c).tolist(),
        maker.merge(b, c).tolist(),
    ]
    found[...] = 0
    maker.merge(a, a)[...] = 0
    assert (a.tolist(), b.tolist()) == before


@EACH
@FEW
@given(data=st.data())
def test_order_and_neighbours_do_not_matter(way, data):
    _, kind, sketch, _ = WAYS[way]
    row, other = data.draw(kind), data.draw(kind)
    shuffled = data.draw(
        st.permutations(list(row.items() if isinstance(row, dict) else row))
    )
    shuffled = type(row)(shuffled)
    alone = sketch([row]).tolist()
    assert sketch([shuffled]).tolist() == alone
    assert sketch([other, row, other])[1:2].tolist() == alone


@pytest.mark.parametrize(
    "maker", [FAST, CLASSIC, GROUPS, COUNTER], ids=lambda maker: repr(maker)
)
@FEW
@given(tokens=TOKENS, cuts=st.lists(st.integers(0, 12), max_size=3))
def test_parts_that_come_one_after_the_other(maker, tokens, cuts):
    """Merge after merge is the sketch of all, however often a part comes."""
    parts = np.split(
        np.array(tokens, np.uint64), sorted(min(cut, len(tokens)) for cut in cuts)
    )
    held = maker.sketch(sets_of([[]]))
    for part in [*parts, *parts[::-1]]:
        held = maker.merge(held, maker.sketch(TokenSets([0, len(part)], part)))
    assert held.tolist() == maker.sketch(sets_of([tokens])).tolist()


@FEW
@given(row=SIGNED, guest=SIGNED)
def test_what_was_added_is_taken_out_again(row, guest):
    a, b, negative = counters(
        [row, guest, [(token, -weight) for token, weight in guest]]
    )
    both = HASHER.merge(a, b)
    assert (
        HASHER.subtract(both, b).tolist()
        == HASHER.merge(both, negative).tolist()
        == a.tolist()
    )
    assert HASHER.subtract(a, b).tolist() == HASHER.merge(a, negative).tolist()
    assert (
        HASHER.codes_of(HASHER.subtract(both, b)).tolist()
        == HASHER.codes_of(a).tolist()
    )


@FEW
@given(a=TIMES, b=TIMES)
def test_counters_of_bags_add_multiplicities(a, b):
    rows = [list(Counter(times).elements()) for times in (a, b)]
    sums = Counter(a) + Counter(b)
    x, y = HASHER.counters(sets_of(rows))
    weighed = HASHER.counters(
        sets_of([list(sums)]), np.array(list(sums.values()), np.int64)
    )
    assert HASHER.merge(x, y).tolist() == weighed[0].tolist()


@pytest.mark.parametrize("bits", [1, 4, 16])
@FEW
@given(a=TOKENS, b=TOKENS)
def test_packing_comes_after_merging(bits, a, b):
    packer = BBits(bits, FAST)
    x, y, both = FAST.sketch(sets_of([a, b, a + b]))
    assert packer.pack(FAST.merge(x, y)).tolist() == packer.pack(both).tolist()
    assert packer.sketch(sets_of([a + b]))[0].tolist() == packer.pack(both).tolist()


# Copies


def copies_of(thing):
    """Return copies by every general way, and by a method of the thing's own."""
    made = [copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))]
    return [*made, thing.copy()] if hasattr(thing, "copy") else made


def words(low, high):
    return [b"%d" % i for i in range(low, high)]


@EACH
def test_copies_of_arrays(way):
    _, kind, sketch, _ = WAYS[way]
    first = sketch(
        [
            [1, 3]
            if kind is TOKENS
            else [(1, 2), (3, 4)]
            if kind is SIGNED
            else {1: 2, 3: 4}
        ]
    )
    before = first.tolist()
    for other in copies_of(first):
        assert other.tolist() == before
        assert vars(other) == vars(first)  # they know their maker too
        other[...] = 1
        assert first.tolist() == before


def test_writing_in_place_keeps_the_maker_s_name():
    signatures = FAST.sketch(sets_of([[1, 3]]))
    plain = np.array(signatures)
    plain[0, 0] = signatures[0, 1] = 7
    assert signatures.hasher == FAST
    assert type(plain) is np.ndarray
    assert plain[0, 1] != 7


@pytest.mark.parametrize("dtype", ["c16", "f8", "?", "i1"])
def test_no_tokens_of_any_type_are_no_tokens(dtype):
    """Without a warning about a cast."""
    sets = TokenSets([0, 0], np.empty(0, dtype))
    assert sets.tokens.dtype == np.uint64


def test_token_sets_are_views_that_cannot_be_written():
    offsets, tokens = np.array([0, 1, 3]), np.array([7, 8, 9], np.uint64)
    sets, own = TokenSets(offsets, tokens), TokenSets(offsets.copy(), tokens.copy())
    for array in (
        sets.offsets,
        sets.tokens,
        sets[0],
        sets.take([0]).tokens,
        pickle.loads(pickle.dumps(sets)).tokens,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert np.shares_memory(sets.tokens, tokens)
    tokens[0] = 5  # the owner still may, and what it writes shows
    assert (sets[0].tolist(), own[0].tolist()) == ([5], [7])
    offsets[2] = 10**9  # nothing is read outside the arrays even then
    for sketch in (FAST.sketch, GROUPS.sketch, HASHER.sketch, COUNTER.sketch):
        with pytest.raises(ValueError, match="offsets"):
            sketch(sets)
    assert FAST.sketch(own).shape == (2, K)


@pytest.mark.parametrize("scheme", ["affine32", "legacy", "fast"])
@FEW
@given(
    a=st.lists(st.binary(max_size=4), max_size=8),
    b=st.lists(st.binary(max_size=4), max_size=8),
)
def test_merging_takes_from_the_other_and_leaves_it(scheme, a, b):
    x, y, both = MinHash.bulk([a, b, a + b], num_perm=K, scheme=scheme)
    for kind in (MinHash, LeanMinHash):
        left, right = (
            (x.copy(), y.copy())
            if kind is MinHash
            else (LeanMinHash(x), LeanMinHash(y))
        )
        left.merge(right)
        assert (
            left.hashvalues.tolist()
            == both.hashvalues.tolist()
            == kind.union(x, y).hashvalues.tolist()
        )
        assert right.hashvalues.tolist() == y.hashvalues.tolist()
        left.clear()
        assert right.hashvalues.tolist() == y.hashvalues.tolist()
        right.merge(right)
        assert right.hashvalues.tolist() == y.hashvalues.tolist()


@pytest.mark.parametrize("kind", [HyperLogLog, HyperLogLogPlusPlus])
@FEW
@given(
    a=st.lists(st.binary(max_size=4), max_size=8),
    b=st.lists(st.binary(max_size=4), max_size=8),
)
def test_counters_of_the_drop_in_leave_the_other(kind, a, b):
    left, right, both = kind(4), kind(4), kind(4)
    for made, items in ((left, a), (right, b), (both, a + b)):
        made.update_batch(items)
    before = right.digest().tolist()
    left.merge(right)
    left.merge(left)
    assert left == both
    left.update_batch(words(0, 50))
    left.clear()
    assert right.digest().tolist() == before


def test_copies_of_lean_sketches():
    sketch = next(MinHash.generator([words(0, 9)], num_perm=K))
    lean = LeanMinHash(sketch)
    more = LeanMinHash(next(MinHash.generator([words(5, 99)], num_perm=K)))
    before = lean.hashvalues.tolist()
    for made in [*copies_of(lean), LeanMinHash(lean)]:
        assert made == lean
        assert hash(made) == hash(lean)
        made.merge(more)
        assert made != lean
        made.clear()
        assert lean.hashvalues.tolist() == before
    sketch.update_batch(words(5, 99))
    assert lean.hashvalues.tolist() == before


def test_copies_of_few_bits():
    sketch = next(MinHash.generator([words(0, 9)], num_perm=64))
    few = bBitMinHash(sketch, 4, 0.25)
    before = few.hashvalues.tolist()
    for made in copies_of(few):
        assert made == few
        assert made.jaccard(few) == 1
        made.hashvalues[:] = 0
        assert few.hashvalues.tolist() == before
    sketch.update_batch(words(5, 99))
    assert few.hashvalues.tolist() == before


def test_copies_of_weighted_sketches():
    generator = WeightedMinHashGenerator(3, 8)
    sketch = generator.minhash([1, 2, 3])
    before = sketch.hashvalues.tolist()
    for made in copies_of(sketch):
        assert isinstance(made, WeightedMinHash)
        assert made == sketch
        made.hashvalues[:] = 0
        assert sketch.hashvalues.tolist() == before
    sketch.digest()[:] = 0
    assert sketch.hashvalues.tolist() == before
    for again in copies_of(generator):
        assert again.minhash([1, 2, 3]) == sketch


def test_copies_of_forests():
    a, b = MinHash.bulk([words(0, 9), words(50, 90)], num_perm=16)
    forest = MinHashLSHForest(16, 4)
    forest.add("a", a)
    forest.index()
    for made in copies_of(forest):
        made.add("b", b)
        made.keys["a"].clear()
        assert made.query(b, 1) == ["b"]
        assert "b" not in forest
        assert forest.query(a, 2, with_scores=True) == [("a", 1.0)]
        assert forest.get_minhash_hashvalues("a").tolist() == a.hashvalues.tolist()
    held = forest.get_minhash_hashvalues("a")
    held[:] = 0
    a.clear()
    assert forest.get_minhash_hashvalues("a").any()
    assert forest.get_minhash_hashvalues("a").tolist() != a.hashvalues.tolist()


def test_copies_of_ensembles():
    a, b = MinHash.bulk([words(0, 9), words(50, 90)], num_perm=16)
    full, empty = MinHashLSHEnsemble(0.5, 16), MinHashLSHEnsemble(0.5, 16)
    full.index([("a", a, 9)])
    for made in copies_of(full):
        assert list(made.query(a, 9, with_scores=True)) == list(
            full.query(a, 9, with_scores=True)
        )
    for made in copies_of(empty):
        made.index([("b", b, 40)])
        assert list(made.query(b, 40)) == ["b"]
        assert empty.is_empty()
        assert "b" not in empty
    query = a.copy()
    a.clear()
    assert list(full.query(query, 9)) == ["a"]
