"""What LSHIndex, LSHForest and LSHEnsemble say of arguments that they cannot use: one line that names the value."""

import re

import numpy as np
import pyarrow as pa
import pytest

from lshfast import LSHEnsemble, LSHForest, LSHIndex, MinHash, MinHasher, TokenSets

SIGNATURES = MinHasher(16).sketch(TokenSets.from_sets([["a"], ["b"]]))
INDEXES = {
    kind.__name__: kind(num_perm=16) for kind in (LSHIndex, LSHForest, LSHEnsemble)
}
for index in INDEXES.values():
    index.insert(
        ["a", "b"], SIGNATURES, *([[1, 1]] if isinstance(index, LSHEnsemble) else [])
    )


def calls(index, signatures):
    """Return a query and an insertion of these signatures."""
    sizes = [[1, 1]] if isinstance(index, LSHEnsemble) else []
    return lambda: index.query(signatures, *sizes), lambda: index.insert(
        ["x", "y"], signatures, *sizes
    )


def refused(call, error, message):
    """Check that the error has one line that begins so, and that nothing was inserted."""
    with pytest.raises(error, match="^" + re.escape(message)) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200
    assert all(len(index) == 2 for index in INDEXES.values())


BY_KIND = pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)


@BY_KIND
@pytest.mark.parametrize(
    ("signatures", "error", "message"),
    [
        (None, TypeError, "signatures must be uint64, not None"),
        ("a text", TypeError, "signatures must be uint64, not texts: "),
        (b"a text", TypeError, "signatures must be uint64, not texts: "),
        (["a text", "another"], TypeError, "signatures must be uint64, not texts: "),
        (np.array(["a text"]), TypeError, "signatures must be uint64, not texts: "),
        (pa.array(["a text"]), TypeError, "signatures must be uint64, not texts: "),
        ([], TypeError, "signatures must be uint64, not an empty list"),
        ({"a"}, TypeError, "signatures must be uint64, not set"),
        ([{"a"}], TypeError, "signatures must be uint64, not list"),
        (MinHash(16), TypeError, "signatures must be uint64, not MinHash"),
        (5, TypeError, "signatures must be uint64, not int64"),
        (SIGNATURES.tolist(), TypeError, "signatures must be uint64, not "),
        (pa.array([1, 2]), TypeError, "signatures must be uint64, not int64"),
        (
            np.asarray(SIGNATURES).astype(float),
            TypeError,
            "signatures must be uint64, not float64",
        ),
        (
            np.uint64(5),
            ValueError,
            "signatures must have num_perm = 16 slots each, not shape ()",
        ),
        (
            np.zeros(5, np.uint64),
            ValueError,
            "signatures must have num_perm = 16 slots each, not shape (5,)",
        ),
        (
            np.zeros((2, 2, 16), np.uint64),
            ValueError,
            "signatures must have num_perm = 16 slots each, not shape (2, 2",
        ),
        (
            [[1], [1, 2]],
            ValueError,
            "signatures must be an array with rows of one length",
        ),
        (
            MinHasher(16, seed=3).sketch(TokenSets.from_sets([["a"]] * 2)),
            ValueError,
            "signatures are of seed 3; 1 is",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_signature(index, signatures, error, message):
    for call in calls(index, signatures):
        refused(call, error, message)


@pytest.mark.parametrize("name", ["LSHForest", "LSHEnsemble"])
@pytest.mark.parametrize("sets", [[["a"]], [range(16)] * 2])
def test_sets_come_with_advice(name, sets):
    for call in calls(INDEXES[name], TokenSets.from_sets(sets)):
        refused(
            call,
            TypeError,
            "signatures must be uint64, not TokenSets: sketch them first",
        )


def test_texts_come_with_advice():
    advice = "hasher.sketch(lshfast.shingle(texts))"
    for name, told in {
        "LSHIndex": "shingles='word:5'",
        "LSHForest": advice,
        "LSHEnsemble": advice,
    }.items():
        for call in calls(INDEXES[name], "a text"):
            with pytest.raises(TypeError, match=re.escape(told)):
                call()


@BY_KIND
@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (0, ValueError, "k must be at least 1, not 0"),
        (-1, ValueError, "k must be at least 1, not -1"),
        (1.5, TypeError, "k must be an int, not 1.5"),
        ("ten", TypeError, "k must be an int, not 'ten'"),
        (True, TypeError, "k must be an int, not True"),
    ],
)
def test_wrong_k(index, k, error, message):
    sizes = [[1, 1]] if isinstance(index, LSHEnsemble) else []
    refused(lambda: index.query(SIGNATURES, *sizes, k=k), error, message)


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        (None, TypeError, "sizes must be ints, not None"),
        ("two", TypeError, "sizes must be ints, not <U3"),
        ([1.0, 2.0], TypeError, "sizes must be ints, not float64"),
        (1, ValueError, "sizes must be a number for each signature, not of shape ()"),
        (
            [[1], [1, 2]],
            ValueError,
            "sizes must be an array with rows of one length, not a list of other lengths",
        ),
        ([1, -1], ValueError, "sizes must be in 0..2**53, not sizes[1] = -1"),
    ],
    ids=repr,
)
def test_wrong_sizes(sizes, error, message):
    ensemble = INDEXES["LSHEnsemble"]
    refused(lambda: ensemble.query(SIGNATURES, sizes), error, message)
    refused(lambda: ensemble.insert(["x", "y"], SIGNATURES, sizes), error, message)


@pytest.mark.parametrize(
    "other",
    [None, "index.lsh", INDEXES["LSHForest"]],
    ids=lambda other: type(other).__name__,
)
def test_what_is_no_index_and_no_store(other):
    kind = type(other).__name__
    refused(
        lambda: INDEXES["LSHIndex"].merge(other),
        TypeError,
        f"other must be an LSHIndex, not {kind}",
    )
    refused(
        lambda: LSHIndex.on(other),
        TypeError,
        "store must be a Store, such as LmdbStore or RedisStore, not ",
    )
    if other is not None:
        refused(lambda: LSHIndex(store=other), TypeError, "store must be a Store")
