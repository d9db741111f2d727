"""MinHash, LeanMinHash and bBitMinHash beside an installed datasketch: values, bytes, converted objects."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lshfast.datasketch as ours
from lshfast.datasketch.convert import from_datasketch

datasketch = pytest.importorskip(
    "datasketch", minversion="2.0", reason="datasketch 2.0 is not installed"
)

SCHEMES = ("affine32", "affine64", "legacy")
EACH = pytest.mark.parametrize("scheme", SCHEMES)
TOKENS = st.lists(st.binary(max_size=8), max_size=12)
SEEDS = st.integers(0, 2**32 - 1)
ORDERS = ["@", "=", "<", ">", "!"]


def both(tokens, **choices):
    pair = ours.MinHash(**choices), datasketch.MinHash(**choices)
    for sketch in pair:
        sketch.update_batch(tokens)
    return pair


def words(low, high):
    return [b"%d" % i for i in range(low, high)]


def hash16(token):
    return int.from_bytes(token[:2], "big")


def same(mine, theirs):
    assert mine.hashvalues.dtype == theirs.hashvalues.dtype
    assert np.array_equal(mine.hashvalues, theirs.hashvalues)
    assert (mine.seed, mine.scheme, len(mine)) == (
        theirs.seed,
        theirs.scheme,
        len(theirs),
    )


@EACH
@settings(max_examples=40)
@given(
    tokens=TOKENS,
    more=TOKENS,
    seed=SEEDS,
    k=st.integers(1, 150),
    hashfunc=st.sampled_from([None, hash16]),
)
def test_updates(level, scheme, tokens, more, seed, k, hashfunc):
    mine, theirs = both(tokens, num_perm=k, seed=seed, scheme=scheme, hashfunc=hashfunc)
    assert np.array_equal(mine.permutations, theirs.permutations)
    same(mine, theirs)
    assert mine.is_empty() == theirs.is_empty()
    assert mine.count() == theirs.count()
    for token in more:
        mine.update(token)
        theirs.update(token)
    same(mine, theirs)
    mine2, theirs2 = both(more, num_perm=k, seed=seed, scheme=scheme, hashfunc=hashfunc)
    assert mine.jaccard(mine2) == theirs.jaccard(theirs2)
    assert mine.jaccard(theirs2) == theirs.jaccard(mine2)
    same(ours.MinHash.union(mine, mine2), datasketch.MinHash.union(theirs, theirs2))
    mine.merge(mine2)
    theirs.merge(theirs2)
    same(mine, theirs)


@EACH
def test_bulk(scheme):
    rows = [words(i, 3 * i) for i in range(30)]
    mine = ours.MinHash.bulk(rows, num_perm=33, seed=9, scheme=scheme)
    for sketch, other, lazy in zip(
        mine,
        datasketch.MinHash.bulk(rows, num_perm=33, seed=9, scheme=scheme),
        ours.MinHash.generator(rows, num_perm=33, seed=9, scheme=scheme),
        strict=True,
    ):
        same(sketch, other)
        same(lazy, other)


@EACH
def test_each_takes_the_other_s_permutations(scheme):
    mine, theirs = both(words(0, 9), num_perm=16, seed=3, scheme=scheme)
    for kind in (ours.MinHash, datasketch.MinHash):
        for of in (mine, theirs):
            made = kind(
                num_perm=16, seed=3, permutations=of.permutations, scheme=scheme
            )
            made.update_batch(words(0, 9))
            same(made, theirs)


@EACH
@pytest.mark.parametrize("byteorder", ORDERS)
@pytest.mark.parametrize("k", [1, 6, 128])
def test_lean_bytes(scheme, byteorder, k):
    mine, theirs = both(words(0, 40), num_perm=k, seed=2, scheme=scheme)
    mine, theirs = ours.LeanMinHash(mine), datasketch.LeanMinHash(theirs)
    assert mine.bytesize(byteorder) == theirs.bytesize(byteorder)
    buffers = bytearray(mine.bytesize(byteorder)), bytearray(mine.bytesize(byteorder))
    mine.serialize(buffers[0], byteorder)
    theirs.serialize(buffers[1], byteorder)
    assert buffers[0] == buffers[1]
    same(ours.LeanMinHash.deserialize(buffers[1], byteorder), theirs)
    same(mine, datasketch.LeanMinHash.deserialize(buffers[0], byteorder))
    assert ours.LeanMinHash(theirs) == mine


@EACH
@pytest.mark.parametrize("b", [1, 2, 3, 4, 8, 11, 16, 32])
@pytest.mark.parametrize("k", [1, 64, 100])
def test_b_bit(scheme, b, k):
    x = both(words(0, 40), num_perm=k, scheme=scheme)
    y = both(words(10, 50), num_perm=k, scheme=scheme)
    for r in (
        (0.0, 0.25) if b < 3 else (0.0,)
    ):  # of more bits, datasketch takes 2 b for 2**b where r is not 0
        mine, theirs = ours.bBitMinHash(x[0], b, r), datasketch.bBitMinHash(x[1], b, r)
        assert np.array_equal(mine.hashvalues, theirs.hashvalues)
        assert mine.bytesize() == theirs.bytesize()
        assert mine.__getstate__() == theirs.__getstate__()
        expected = theirs.jaccard(datasketch.bBitMinHash(y[1], b, r))
        assert mine.jaccard(ours.bBitMinHash(y[0], b, r)) == pytest.approx(
            expected, rel=1e-12
        )
        assert from_datasketch(theirs) == mine == ours.bBitMinHash(x[1], b, r)


# Objects that are converted


@EACH
def test_converted_sketches(scheme):
    mine, theirs = both(words(0, 40), num_perm=20, seed=5, scheme=scheme)
    for sketch in (theirs, pickle.loads(pickle.dumps(theirs))):
        found = from_datasketch(sketch)
        assert type(found) is ours.MinHash
        assert found == mine
        found.update(b"more")
        sketch.update(b"more")
        same(found, sketch)
        assert found.hashfunc in (ours.sha1_hash32, ours.sha1_hash64)
        assert pickle.loads(pickle.dumps(found)) == found
    lean = from_datasketch(datasketch.LeanMinHash(theirs))
    assert type(lean) is ours.LeanMinHash
    same(lean, theirs)
    own = datasketch.MinHash(
        4, hashfunc=hash16, scheme=scheme, permutations=([1, 3, 5, 7], [1, 2, 3, 4])
    )
    if scheme == "legacy":
        own.permutations = np.array(own.permutations, np.uint64)
    found = from_datasketch(own)
    assert found.hashfunc is hash16
    own.update(b"ab")
    found.update(b"ab")
    same(found, own)


def test_a_sketch_of_before_schemes():
    """What datasketch pickled before 2.0 had no scheme, and datasketch 2.0 loads it as legacy."""
    theirs = datasketch.MinHash(8, scheme="legacy")
    theirs.update(b"a")
    state = theirs.__getstate__()
    del state["scheme"]
    old = object.__new__(datasketch.MinHash)
    old.__setstate__(state)
    assert from_datasketch(old) == both([b"a"], num_perm=8, scheme="legacy")[0]


def test_converted_weighted():
    theirs = datasketch.WeightedMinHashGenerator(5, 16, 3)
    vector = [1.0, 0.0, 2.0, 0.5, 3.0]
    found = from_datasketch(theirs).minhash(vector)
    assert np.array_equal(found.hashvalues, theirs.minhash(vector).hashvalues)
    sketch = from_datasketch(theirs.minhash(vector))
    assert sketch.jaccard(found) == 1.0


def test_converted_hyperloglogs():
    for mine, theirs in (
        (ours.hyperloglog.HyperLogLog, datasketch.HyperLogLog(7)),
        (ours.hyperloglog.HyperLogLogPlusPlus, datasketch.HyperLogLogPlusPlus(9)),
    ):
        for token in words(0, 500):
            theirs.update(token)
        found = from_datasketch(theirs)
        assert type(found) is mine
        assert np.array_equal(found.reg, theirs.reg)


@EACH
@pytest.mark.parametrize("params", [(8, 4), (5, 6)])
@pytest.mark.parametrize("prepickle", [False, True])
def test_converted_indexes(scheme, params, prepickle):
    rows = {key: words(key * 10, key * 10 + 40) for key in range(12)}
    theirs = datasketch.MinHashLSH(num_perm=32, params=params, prepickle=prepickle)
    sketches = {
        key: both(row, num_perm=32, scheme=scheme, seed=4) for key, row in rows.items()
    }
    sketches[-1] = both([], num_perm=32, scheme=scheme, seed=4)
    for key, (_, sketch) in sketches.items():
        theirs.insert(key, sketch)
    theirs.insert(0, sketches[5][1], check_duplication=False)
    found = from_datasketch(pickle.loads(pickle.dumps(theirs)), seed=4)
    for key, (mine, sketch) in sketches.items():
        assert key in found
        assert {*found.query(mine)} == {*theirs.query(sketch)}
    found.insert("new", sketches[3][0])
    with pytest.raises(ValueError, match="seed"):
        found.query(ours.MinHash(32, seed=1, scheme=scheme))


def test_converted_forest():
    rows = {key: words(key * 10, key * 10 + 40) for key in range(12)}
    theirs = datasketch.MinHashLSHForest(num_perm=33, l=4)
    sketches = {key: both(row, num_perm=33) for key, row in rows.items()}
    for key, (_, sketch) in sketches.items():
        theirs.add(key, sketch)
    theirs.index()
    found = from_datasketch(theirs)
    for key, (mine, _) in sketches.items():
        assert found.query(mine, 1) == [key]


def test_what_cannot_be_converted():
    hashed = datasketch.MinHashLSH(threshold=0.5, num_perm=16, hashfunc=hash)
    with pytest.raises(ValueError, match="hashfunc"):
        from_datasketch(hashed)
    for thing in (5, None, ours.MinHash(), datasketch.MinHashLSHEnsemble(num_perm=16)):
        with pytest.raises(TypeError, match="from_datasketch takes"):
            from_datasketch(thing)


@EACH
def test_permutations_of_theirs(scheme):
    given = np.array(
        [range(1, 33, 2), range(16)], np.uint32 if scheme == "affine32" else np.uint64
    )
    own = datasketch.MinHash(16, permutations=given, scheme=scheme)
    mine, theirs = both(words(0, 20), num_perm=16, scheme=scheme)
    alike = ours.MinHash(16, permutations=given, scheme=scheme)
    for sketch in (own, alike):
        sketch.update_batch(words(0, 20))
    index = ours.MinHashLSH(0.5, 16)
    index.insert("theirs", theirs)
    assert index.query(mine) == index.query(theirs) == ["theirs"]
    lean = ours.LeanMinHash(own)
    assert (
        alike.jaccard(own)
        == alike.jaccard(lean)
        == from_datasketch(own).jaccard(alike)
        == 1.0
    )
    for call in (
        mine.jaccard,
        mine.merge,
        index.query,
        ours.LeanMinHash(mine).jaccard,
        ours.bBitMinHash(mine).jaccard,
    ):
        for other in (own, lean, ours.bBitMinHash(own)):
            if (call.__self__.__class__ is ours.bBitMinHash) == isinstance(
                other, ours.bBitMinHash
            ):
                with pytest.raises(ValueError, match="permutations"):
                    call(other)
