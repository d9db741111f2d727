"""MinHashLSHForest and MinHashLSHEnsemble: what they find beside the truth and the installed datasketch, and refuse."""

from __future__ import annotations

import base64
import copy
import pickle
import threading

import numpy as np
import pytest

from lshfast.datasketch import (
    LeanMinHash,
    MinHash,
    MinHashLSH,
    MinHashLSHEnsemble,
    MinHashLSHForest,
    WeightedMinHashLSHForest,
    bBitMinHash,
    lshforest,
)
from lshfast.datasketch.lshensemble_search import cutoffs_of
from tests.datasketch.test_lsh import Weighted, named_in

EMPTY_32 = 2**32 - 1


def lean(values, scheme="affine32", seed=1):
    return LeanMinHash(seed=seed, hashvalues=values, scheme=scheme)


def near(n, num_perm=64, **options):
    """Return a sketch that shares about n of 40 tokens with `near(40)`."""
    sketch = MinHash(num_perm, **options)
    sketch.update_batch([b"%d" % token for token in range(40 - n, 80 - n)])
    return sketch


def of_range(size, num_perm=64, **options):
    sketch = MinHash(num_perm, **options)
    sketch.update_batch([b"%d" % token for token in range(size)])
    return sketch


def planted(groups, each, num_perm=128, seed=3):
    """Return signatures in groups, and the centres of the groups."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, EMPTY_32, (groups, num_perm)).astype(np.uint32)
    values = np.repeat(centres, each, axis=0)
    noise = rng.integers(0, EMPTY_32, values.shape).astype(np.uint32)
    return np.where(
        rng.random(values.shape) < rng.uniform(0.3, 0.95, (len(values), 1)),
        values,
        noise,
    ), centres


# The forest


@pytest.fixture
def forest():
    forest = MinHashLSHForest(num_perm=64)
    for n in (40, 38, 35, 20, 0):
        forest.add(n, near(n))
    forest.index()
    return forest


def right(found, values, centre, k):
    """Count the found that share as many slots with the centre as the true kth does."""
    shared = (values == centre).sum(axis=1)
    return int((shared[found] >= np.sort(shared)[-k]).sum())


@pytest.mark.parametrize("trees", [1, 8, 30])
def test_the_most_similar_are_found(trees):
    values, centres = planted(40, 25)
    forest = MinHashLSHForest(128, trees)
    for key, one in enumerate(values):
        forest.add(key, lean(one))
    forest.index()
    found = [forest.query(lean(centre), 10) for centre in centres]
    assert all(len(keys) == len(set(keys)) == 10 for keys in found)
    share = (
        sum(
            right(keys, values, centre, 10)
            for keys, centre in zip(found, centres, strict=True)
        )
        / 400
    )
    assert share > 0.9 - 4 * (0.9 * 0.1 / 400) ** 0.5


def test_more_of_the_most_similar_are_found_than_by_datasketch():
    peer = pytest.importorskip("datasketch")
    values, centres = planted(30, 25)
    ours, theirs = MinHashLSHForest(128), peer.MinHashLSHForest(128)
    for key, one in enumerate(values):
        ours.add(key, lean(one))
        theirs.add(key, peer.LeanMinHash(seed=1, hashvalues=one, scheme="affine32"))
    ours.index()
    theirs.index()
    counts = [0, 0]
    for centre in centres:
        sketch = peer.LeanMinHash(seed=1, hashvalues=centre, scheme="affine32")
        counts[0] += right(ours.query(sketch, 10), values, centre, 10)
        counts[1] += right(theirs.query(sketch, 10), values, centre, 10)
        assert len(ours.query(sketch, 10)) >= len(theirs.query(sketch, 10))
    assert counts[0] >= counts[1]


def test_answers_are_best_first(forest):
    found = forest.query(near(40), 4, with_scores=True)
    assert [key for key, _ in found] == forest.query(near(40), 4)
    assert found[0] == (40, 1.0)
    assert found == sorted(found, key=lambda match: -match[1])
    assert dict(found) == {key: near(40).jaccard(near(key)) for key, _ in found}


def test_keys_are_found_after_index():
    forest = MinHashLSHForest(64)
    forest.index()
    assert forest.is_empty()
    forest.add("a", near(40))
    assert "a" in forest
    assert forest.is_empty()
    assert forest.query(near(40), 3) == []
    forest.index()
    assert not forest.is_empty()
    forest.add("b", near(40))
    forest.index()
    assert sorted(forest.query(near(40), 3)) == ["a", "b"]


@pytest.mark.parametrize(
    ("num_perm", "trees", "used"),
    [(16, 4, 16), (16, 3, 15), (7, 7, 7), (1, 1, 1), (128, 5, 125)],
)
def test_hash_values_are_given_back(num_perm, trees, used):
    forest = MinHashLSHForest(num_perm, trees)
    forest.add("a", near(3, 130))
    forest.add("empty", MinHash(130))
    assert (forest.l, forest.k) == (trees, num_perm // trees)
    assert forest.hashranges[-1][1] == used
    values = forest.get_minhash_hashvalues("a")
    assert values.dtype == np.uint32
    assert values.tolist() == near(3, 130).hashvalues[:used].tolist()
    assert forest.get_minhash_hashvalues("empty").tolist() == [EMPTY_32] * used
    values[:] = 0
    assert forest.get_minhash_hashvalues("a").any()
    with pytest.raises(KeyError, match="q"):
        forest.get_minhash_hashvalues("q")


@pytest.mark.parametrize(
    "scheme", ["affine32", "affine64", "legacy", "classic", "fast"]
)
def test_schemes_of_the_forest(scheme):
    forest = MinHashLSHForest(64, 4)
    for n in (40, 38, 0):
        forest.add(n, near(n, scheme=scheme))
    forest.add("empty", MinHash(64, scheme=scheme))
    forest.index()
    for one in (forest, pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert one.query(near(40, scheme=scheme), 2) == [40, 38]
        assert one.query(MinHash(64, scheme=scheme), 2) == ["empty"]
        assert "empty" in one
        assert np.array_equal(
            one.get_minhash_hashvalues(38), near(38, scheme=scheme).hashvalues
        )
        with pytest.raises(ValueError, match="compared"):
            one.query(near(40, scheme="legacy" if scheme != "legacy" else "fast"), 2)


@pytest.mark.parametrize(
    "scheme", ["affine32", "affine64", "legacy", "classic", "fast"]
)
def test_tables_of_the_forest(scheme):
    """Read before, between and after additions, they hold what was added, and searches go on as before."""
    forest, early = MinHashLSHForest(64, 4), MinHashLSHForest(64, 4)
    assert early.hashtables == [{}] * 4
    assert early.sorted_hashtables == [[]] * 4
    for n in range(40):
        for one in (forest, early):
            one.add(n, near(n, scheme=scheme))
            one.index() if n % 13 == 5 else None
        assert len(early.hashtables[0]) <= n + 1
    assert forest.hashtables == early.hashtables
    assert (
        forest.sorted_hashtables
        == early.sorted_hashtables
        == pickle.loads(pickle.dumps(early)).sorted_hashtables
    )
    assert forest.keys == early.keys == pickle.loads(pickle.dumps(early)).keys
    for tree, table in enumerate(forest.hashtables):
        assert sorted(key for keys in table.values() for key in keys) == list(range(40))
        assert all(n in table[forest.keys[n][tree]] for n in range(40))
        assert set(forest.sorted_hashtables[tree]) < set(
            table
        )  # those at the last index()
    assert forest.query(near(20, scheme=scheme), 3) == early.query(
        near(20, scheme=scheme), 3
    )


def test_many_keys_before_index(monkeypatch):
    """Keys go into the forest some at a time, and none is found before `index`."""
    monkeypatch.setattr(lshforest, "BATCH", 7)
    forest = MinHashLSHForest(64, 4)
    for n in range(40):
        forest.add(n, near(n))
        assert forest.is_empty()
        assert forest.query(near(n), 1) == []
    forest.index()
    assert [forest.query(near(n), 1) for n in range(40)] == [[n] for n in range(40)]


def test_parts_of_the_ensemble(ensemble):
    """Its partitions hold each set once, under the sizes that are said, and are made anew for what is indexed."""
    made = MinHashLSHEnsemble(0.8, 64, 4, 4)
    assert (made.lowers, made.uppers) == ([None] * 4, [None] * 4)
    assert all(index.is_empty() for part in made.indexes for index in part.values())
    made.index([(size, of_range(size), size) for size in range(1, 41)])
    assert made.lowers == [1, *(upper + 1 for upper in made.uppers[:-1])]
    assert made.uppers[-1] == 40
    for lower, upper, part in zip(made.lowers, made.uppers, made.indexes, strict=True):
        assert sorted(part) == sorted(set(made.params[:, 1].tolist()))
        for r, index in part.items():
            assert (index.b, index.r, sorted(index.keys)) == (
                64 // r,
                r,
                list(range(lower, upper + 1)),
            )
            assert upper in index.query(of_range(upper))
    again = pickle.loads(pickle.dumps(made))
    assert (again.lowers, again.uppers, again.params.tolist()) == (
        made.lowers,
        made.uppers,
        made.params.tolist(),
    )


def test_weighted_sketches_of_the_forest():
    values = np.stack([np.arange(16), -np.arange(16)], axis=1)
    other = values.copy()
    other[8:] = 3
    forest = WeightedMinHashLSHForest(16, 4)
    forest.add("a", Weighted(values))
    forest.add("b", Weighted(other))
    forest.index()
    for one in (forest, pickle.loads(pickle.dumps(forest))):
        assert one.query(Weighted(values), 2, with_scores=True) == [
            ("a", 1.0),
            ("b", 0.5),
        ]
        assert one.get_minhash_hashvalues("b").tolist() == other.tolist()


def test_what_a_forest_and_an_ensemble_show():
    forest = MinHashLSHForest(64, l=4)
    ensemble = MinHashLSHEnsemble(0.8, 64, num_part=2, m=4)
    forest.add("a", near(1))
    ensemble.index([(n, near(n), 9) for n in (1, 2)])
    assert repr(forest) == "MinHashLSHForest(1 key, l=4, k=16)"
    assert (
        repr(ensemble)
        == "MinHashLSHEnsemble(2 keys, threshold=0.8, num_perm=64, num_part=2, m=4)"
    )


def test_bad_calls_of_the_forest(forest):
    for arguments, error in {
        (0, 1): ValueError,
        (16, 0): ValueError,
        (16, 17): ValueError,
        ("a", 1): TypeError,
        (16, 2.0): TypeError,
        (16, True): TypeError,
    }.items():
        with pytest.raises(error, match="must be"):
            MinHashLSHForest(*arguments)
    with pytest.raises(ValueError, match="already been added: 40"):
        forest.add(40, near(3))
    with pytest.raises(TypeError, match="unhashable"):
        forest.add([], near(3))
    for k, error in (
        (0, ValueError),
        (-1, ValueError),
        (1.5, TypeError),
        ("a", TypeError),
        (True, TypeError),
    ):
        with pytest.raises(error, match="k must be"):
            forest.query(near(40), k)
    for given, error, message in (
        (near(40, 63), ValueError, "at least 64 slots, not 63"),
        (near(40, scheme="legacy"), ValueError, "scheme affine32, not legacy"),
        (near(40, seed=2), ValueError, "seed 1, not 2"),
        (Weighted([[1, 2]] * 64), ValueError, "weighted"),
        ("a" * 64, TypeError, "is needed, not str"),
        (bBitMinHash(near(40), 8), TypeError, "is needed, not bBitMinHash"),
        (MinHashLSH(num_perm=64), TypeError, "is needed, not MinHashLSH"),
    ):
        with pytest.raises(error, match=message):
            forest.query(given, 1)
        with pytest.raises(error, match=message):
            forest.add("new", given)
    assert "new" not in forest
    assert forest.query(near(40), 1) == [40]


@pytest.mark.parametrize("indexed", [True, False])
def test_pickles_of_the_forest(indexed):
    forest = MinHashLSHForest(64)
    assert pickle.loads(pickle.dumps(forest)).is_empty()
    forest.add(("a", 1), near(40))
    if indexed:
        forest.index()
    data = pickle.dumps(forest, 5)
    assert {name.partition(".lshforest.")[0] for name in named_in(data)} <= {
        "lshfast.datasketch"
    }
    again = pickle.loads(data)
    assert again.is_empty() == (not indexed)
    again.add("b", near(40))
    again.index()
    assert sorted(map(str, again.query(near(40), 5))) == ["('a', 1)", "b"]
    assert "b" not in forest
    with pytest.raises(ValueError, match="format 1"):
        MinHashLSHForest.__new__(MinHashLSHForest).__setstate__({})


def test_threads_add_and_query():
    forest, errors, start = MinHashLSHForest(64), [], threading.Barrier(4)
    forest.add("first", near(-40))
    forest.index()

    def add(mine):
        try:
            start.wait()
            for n in mine:
                forest.add(n, near(40 * n))
                assert forest.query(near(40 * n), 1) == [n]
                assert forest.query(near(-40), 1) == ["first"]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(range(k, 100, 4),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(forest.keys) == 101


# The ensemble

SIZES = (5, 10, 20, 40, 80, 160, 320)


@pytest.fixture
def ensemble():
    made = MinHashLSHEnsemble(threshold=0.8, num_perm=64, num_part=4, m=4)
    made.index([(f"s{size}", of_range(size), size) for size in SIZES])
    return made


@pytest.mark.parametrize("size", SIZES)
def test_sets_that_contain_the_query_are_found(ensemble, size):
    found = list(ensemble.query(of_range(size), size))
    assert f"s{size}" in found
    assert len(found) == len(set(found))
    within_reach = {f"s{other}" for other in SIZES if size <= other <= 2 * size}
    assert within_reach <= set(found)
    assert not {f"s{other}" for other in SIZES if other < 0.6 * size} & set(found)


def test_containments_are_estimated(ensemble):
    found = list(ensemble.query(of_range(40), 40, with_scores=True))
    assert [key for key, _ in found] == list(ensemble.query(of_range(40), 40))
    assert dict(found)["s40"] == 1.0
    assert all(0 < containment <= 1 for _, containment in found)
    assert found == sorted(found, key=lambda match: -match[1])


@pytest.mark.slow
def test_the_ensemble_finds_more_than_that_of_datasketch_and_less_in_vain():
    peer = pytest.importorskip("datasketch")
    rng, entries, queries = np.random.default_rng(7), [], []
    for group in range(25):
        size, base = int(rng.integers(40, 200)), group * 100_000
        queries.append((sketch_of(range(base, base + size)), size, set()))
        for place in range(8):
            common = int(rng.uniform(0.3, 1) * size)
            extra = int(rng.uniform(0, 3) * size)
            tokens = [
                *range(base, base + common),
                *range(base + 5000 * (place + 1), base + 5000 * (place + 1) + extra),
            ]
            if common >= 0.8 * size:
                queries[-1][2].add(len(entries))
            entries.append((len(entries), sketch_of(tokens), len(tokens)))
    hits, given = [], []
    for library, make in (
        (MinHashLSHEnsemble, lambda one: one),
        (peer.MinHashLSHEnsemble, peer.LeanMinHash),
    ):
        made = library(0.8, 64, num_part=8, m=4)
        made.index([(key, make(sketch), size) for key, sketch, size in entries])
        answers = [
            (set(made.query(make(sketch), size)), wanted)
            for sketch, size, wanted in queries
        ]
        hits.append(sum(len(found & wanted) for found, wanted in answers))
        given.append(sum(len(found) for found, _ in answers))
    assert hits[0] > hits[1]
    assert hits[0] / given[0] > hits[1] / given[1]


def sketch_of(tokens):
    sketch = MinHash(64)
    sketch.update_batch([b"%d" % token for token in tokens])
    return sketch


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1, 1.0])
def test_thresholds_of_the_ensemble(threshold):
    made = MinHashLSHEnsemble(threshold, 64)
    made.index([("a", of_range(40), 40), ("b", of_range(60), 60)])
    assert set(made.query(of_range(40), 40)) == {"a", "b"}


def test_bad_calls_of_the_ensemble(ensemble):
    for arguments, error, message in (
        ({"threshold": 1.1}, ValueError, "threshold"),
        ({"threshold": "a"}, TypeError, "threshold"),
        ({"num_perm": 1}, ValueError, "num_perm"),
        ({"num_part": 0}, ValueError, "num_part must be at least 1, not 0"),
        ({"num_part": 2.0}, TypeError, "num_part must be an int"),
        ({"m": 1}, ValueError, r"m must be in 2..num_perm = 128, not 1"),
        ({"m": 129}, ValueError, "not 129"),
        ({"weights": (0.5, 0.6)}, ValueError, "weights"),
        ({"storage_config": {"type": "paper"}}, ValueError, "Unknown storage type"),
    ):
        with pytest.raises(error, match=message):
            MinHashLSHEnsemble(**arguments)
    with pytest.raises(ValueError, match="non-empty index"):
        ensemble.index([("a", of_range(5), 5)])
    for size, error in (
        (0, ValueError),
        (-1, ValueError),
        (2.5, TypeError),
        (True, TypeError),
        (None, TypeError),
    ):
        with pytest.raises(error, match="ize"):
            next(ensemble.query(of_range(5), size))
    for given, error, message in (
        (of_range(5, 63), ValueError, "must have 64 slots, not 63"),
        (of_range(5, scheme="legacy"), ValueError, "scheme"),
        (of_range(5, seed=2), ValueError, "seed"),
        ("a", TypeError, "is needed, not str"),
    ):
        answers = ensemble.query(given, 5)
        with pytest.raises(error, match=message):
            next(answers)


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        ([], ValueError, "entries is empty"),
        (
            [("a", of_range(5), 5), ("a", of_range(6), 6)],
            ValueError,
            "already exists: 'a'",
        ),
        ([("a", of_range(5), 0)], ValueError, "size must be positive, not 0"),
        ([("a", of_range(5), "5")], TypeError, "must be an int, not '5'"),
        (
            [("a", of_range(5), 5), ("b", of_range(5, scheme="fast"), 5)],
            ValueError,
            "scheme",
        ),
        ([("a", of_range(5), 5), ("b", of_range(5, seed=3), 5)], ValueError, "seed"),
        ([("a", of_range(5, 32), 5)], ValueError, "64 slots, not 32"),
        ([([], of_range(5), 5)], TypeError, "unhashable"),
    ],
)
def test_bad_entries_leave_the_ensemble_empty(entries, error, message):
    made = MinHashLSHEnsemble(0.8, 64)
    with pytest.raises(error, match=message):
        made.index(iter(entries))
    assert made.is_empty()
    assert "a" not in made
    made.index([("b", of_range(5, scheme="legacy"), 5)])
    assert list(made.query(of_range(5, scheme="legacy"), 5)) == ["b"]


def test_the_list_of_entries_is_left_alone():
    entries = [("a", of_range(9), 9), ("b", of_range(5), 5)]
    MinHashLSHEnsemble(0.8, 64).index(entries)
    assert [key for key, _, _ in entries] == ["a", "b"]


def test_empty_sets_in_the_ensemble():
    made = MinHashLSHEnsemble(0.8, 64)
    assert list(made.query(of_range(5), 5)) == []
    made.index([("empty", MinHash(64), 1), ("a", of_range(5), 5)])
    assert "empty" in made
    assert list(made.query(MinHash(64), 1)) == ["empty"]
    assert list(made.query(of_range(5), 5)) == ["a"]


@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy", "fast"])
def test_pickles_of_the_ensemble(scheme):
    made = MinHashLSHEnsemble(0.8, 64)
    assert pickle.loads(pickle.dumps(made)).is_empty()
    made.index([(("s", size), of_range(size, scheme=scheme), size) for size in SIZES])
    data = pickle.dumps(made, 5)
    assert {name.partition(".lshensemble.")[0] for name in named_in(data)} <= {
        "lshfast.datasketch"
    }
    again = pickle.loads(data)
    for size in SIZES:
        query = of_range(size, scheme=scheme)
        assert list(again.query(query, size, True)) == list(
            made.query(query, size, True)
        )
    assert ("s", 5) in again
    with pytest.raises(ValueError, match="non-empty"):
        again.index([("a", of_range(5), 5)])


def test_the_first_query_of_an_ensemble_builds_nothing():
    made = MinHashLSHEnsemble(0.8, 64, weights=(0.4, 0.6))
    made.index([(size, of_range(size), size) for size in SIZES])
    for ensemble in (made, pickle.loads(pickle.dumps(made))):
        before, misses = dict(vars(ensemble)), cutoffs_of.cache_info().misses
        assert 5 in set(ensemble.query(of_range(5), 5))
        assert vars(ensemble) == before
        assert cutoffs_of.cache_info().misses == misses


# What `small` returns of each, written by Python 3.10 with numpy 1.25 by protocol 5.
PICKLED = {
    "forest": """
        gAWV0gAAAAAAAACMHGxzaGZhc3QuZGF0YXNrZXRjaC5sc2hmb3Jlc3SUjBBNaW5IYXNoTFNIRm9yZXN0lJOUKYGUfZQojAd2ZXJzaW9u
        lEsBjAVzaGFwZZRLAksChpSMBGtleXOUXZQojAFhlIwBYpRLAYaUTmWMBGZvcm2UjAhhZmZpbmUzMpRLAYwDPHU0lIeUjAVuYW1lc5RD
        MAAAAAEAAAACAAAAAwAAAAQAAAABAAAAAgAAAAUAAAAG/////////////////////5SMB2luZGV4ZWSUSwN1Yi4=
    """,
    "ensemble": """
        gAWVEgEAAAAAAACMHmxzaGZhc3QuZGF0YXNrZXRjaC5sc2hlbnNlbWJsZZSMEk1pbkhhc2hMU0hFbnNlbWJsZZSTlCmBlH2UKIwHdmVy
        c2lvbpRLAYwJdGhyZXNob2xklEc/4AAAAAAAAIwFc2hhcGWUSwRLEEsCh5SMB3dlaWdodHOURz/gAAAAAAAARz/gAAAAAAAAhpSMBGtl
        eXOUXZQojAFhlIwBYpRLAYaUTmWMBGZvcm2UjAhhZmZpbmUzMpRLAYwDPHU0lIeUjAZ2YWx1ZXOUQzABAAAAAgAAAAMAAAAEAAAAAQAA
        AAIAAAAFAAAABgAAAP////////////////////+UjAVzaXplc5RdlChLCksKSwpldWIu
    """,
}


def small(kind):
    entries = [
        ("a", lean([1, 2, 3, 4])),
        (("b", 1), lean([1, 2, 5, 6])),
        (None, lean([EMPTY_32] * 4)),
    ]
    if kind == "ensemble":
        made = MinHashLSHEnsemble(0.5, 4, m=2)
        made.index([(key, sketch, 10) for key, sketch in entries])
        return made
    made = MinHashLSHForest(4, 2)
    for key, sketch in entries:
        made.add(key, sketch)
    made.index()
    return made


@pytest.mark.parametrize("kind", PICKLED)
def test_pickles_of_other_versions_of_python(kind):
    for read in (small(kind), pickle.loads(base64.b64decode(PICKLED[kind]))):
        keys = list(read.query(lean([1, 2, 3, 4]), 10))
        assert keys == ["a", ("b", 1)]
        assert None in read
        with pytest.raises(ValueError, match="scheme"):
            list(read.query(lean([1, 2, 3, 4], "legacy"), 10))
