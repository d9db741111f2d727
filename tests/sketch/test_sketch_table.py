"""The table of sketches: each "merge", "stream", "remove" and "index" is tried."""

from pathlib import Path

import numpy as np
import pytest

from lshfast import (
    Bands,
    DistinctCounter,
    LSHForest,
    LSHIndex,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    WeightedSets,
)
from lshfast.datasketch import (
    HyperLogLog,
    LeanMinHash,
    MinHash,
    MinHashLSH,
    bBitMinHash,
)
from lshfast.families import SignVectors, SimHashFamily, WeightedMinHashFamily
from lshfast.sketch import BBits, OnePermutation, SignSketcher, sketch_multisets

# The family of a sketcher.
FAMILIES = {
    WeightedMinHasher: lambda hasher: WeightedMinHashFamily(hasher.scheme, hasher.seed),
    SimHasher: lambda hasher: SimHashFamily(hasher.seed),
    SignSketcher: lambda hasher: SignVectors(hasher.dim, hasher.seed),
}

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "indexes.md"

A, B = range(0, 300), range(200, 420)
UNION = range(0, 420)


def plain(kind):
    return lambda tokens: kind.sketch(TokenSets.from_sets([tokens]))


def weighted(hasher):
    """Sketch weights that are greater in B, so that the greater ones of A and B are A's alone and all of B's."""
    weights = {
        id(A): lambda x: 1.5,
        id(B): lambda x: 2.5,
        id(UNION): lambda x: 2.5 if x in B else 1.5,
    }
    return lambda tokens: hasher.sketch(
        WeightedSets.from_sets([{x: weights[id(tokens)](x) for x in tokens}])
    )


def multisets(hasher):
    times = {
        id(A): lambda x: 1,
        id(B): lambda x: 3,
        id(UNION): lambda x: 3 if x in B else 1,
    }
    return lambda tokens: sketch_multisets(
        hasher, WeightedSets.from_sets([{x: times[id(tokens)](x) for x in tokens}])
    )


def both_occurrences(hasher):
    """Counters count occurrences, so the parts come to all tokens of both."""

    def sketch(tokens):
        sets = TokenSets.from_sets([[*A, *B] if tokens is UNION else tokens])
        return hasher.counters(sets)

    return sketch


def vector(tokens):
    return SignSketcher(len(UNION)).sketch(np.isin(UNION, tokens).astype(np.int64))


def updated(made, tokens):
    made.update_batch([b"%d" % token for token in tokens])
    return made


class Union:
    """The union of a class of the drop-in, as a merge."""

    def __init__(self, kind):
        self.merge = kind.union


def numbers(sketch):
    """Return the array that a sketch is, or holds."""
    return getattr(sketch, "hashvalues", getattr(sketch, "reg", sketch))


def index(sketch, b, r):
    """Hand a sketch to what makes buckets: as it is, or with the family of its sketcher."""
    family = FAMILIES.get(type(getattr(sketch, "hasher", None)))
    if family is not None and sketch.dtype == np.uint64:
        made = LSHIndex(family=family(sketch.hasher), bands=8, rows_per_band=8)
        made.insert("key", sketch.reshape(-1))
        assert made.query(sketch.reshape(-1)) == ["key"]
    if (
        isinstance(getattr(sketch, "hasher", None), (SimHasher, SignSketcher))
        and sketch.dtype == np.uint64
    ):
        return
    if isinstance(sketch, np.ndarray):
        assert Bands(b, r).keys(sketch).shape == (1, b)
        weighted = isinstance(getattr(sketch, "hasher", None), WeightedMinHasher)
        for made in (
            LSHIndex(num_perm=b * r, threshold=0.5),
            LSHForest(num_perm=b * r),
        ):
            if weighted:
                with pytest.raises(
                    ValueError,
                    match=f"scheme '{sketch.hasher.scheme}'; 'fast' is needed",
                ):
                    made.insert(["key"], sketch)
            made.insert(["key"], np.asarray(sketch) if weighted else sketch)
            assert "key" in made
    else:
        lsh = MinHashLSH(params=(b, r))
        lsh.insert("key", sketch)
        assert lsh.query(sketch) == ["key"]


# What sketches a set, and the object whose merge and subtract are tried, by the first cell of a
# row.
WAYS = {
    "`MinHasher`": (plain(MinHasher()), MinHasher()),
    "`OnePermutation`": (plain(OnePermutation()), OnePermutation()),
    "`BBits`": (plain(BBits(4, MinHasher())), BBits(4, MinHasher())),
    "`WeightedMinHasher` shells": (weighted(WeightedMinHasher()), WeightedMinHasher()),
    "`WeightedMinHasher` icws": (
        weighted(WeightedMinHasher(scheme="icws")),
        WeightedMinHasher(scheme="icws"),
    ),
    "`sketch_multisets`": (multisets(MinHasher()), MinHasher()),
    "`SimHasher` counters": (both_occurrences(SimHasher()), SimHasher()),
    "`SimHasher` codes": (plain(SimHasher()), None),
    "`SignSketcher`": (vector, None),
    "`DistinctCounter`": (plain(DistinctCounter(8)), DistinctCounter(8)),
    "`LeanMinHash`": (
        lambda tokens: LeanMinHash(updated(MinHash(), tokens)),
        Union(LeanMinHash),
    ),
    "`bBitMinHash`": (lambda tokens: bBitMinHash(updated(MinHash(), tokens), 4), None),
    "`HyperLogLog`": (
        lambda tokens: updated(HyperLogLog(), tokens),
        Union(HyperLogLog),
    ),
}
BY_HAND = {"minimum": np.minimum, "maximum": np.maximum, "sum": np.add}


def table():
    """Return the rows of the table, each as a dict by the names of its columns."""
    section = (
        GUIDE.read_text(encoding="utf-8").split("## Which sketch")[1].split("\n## ")[0]
    )
    lines = section.splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


@pytest.mark.parametrize("row", table(), ids=lambda row: row["sketch"])
def test_the_table_is_true(row):
    sketch, maker = WAYS[row["sketch"]]
    made = sketch(A), sketch(B), sketch(UNION)
    a, b, union = map(numbers, made)
    if row["merge"] in BY_HAND:
        assert np.array_equal(BY_HAND[row["merge"]](a, b), union)
        assert np.array_equal(numbers(maker.merge(*made[:2])), union)
        assert row["stream"] == "yes"  # part after part is merge after merge
    else:
        assert row["merge"] == row["stream"] == "no"
        assert not any(
            np.array_equal(by_hand(a, b), union) for by_hand in BY_HAND.values()
        )
        if maker is None:
            assert not hasattr(made[0], "merge")
        else:
            with pytest.raises((TypeError, ValueError), match="merge"):
                maker.merge(a, b)
    if row["remove"] == "subtract":
        assert np.array_equal(maker.subtract(union, b), a)
    else:
        assert row["remove"] == "no"
        assert not hasattr(maker, "subtract")
    if row["index"] == "yes":
        index(made[0], 16, 8)
    else:
        assert row["index"] == "no"
        with pytest.raises((TypeError, ValueError)):
            index(made[0], 1, 1)


def test_the_table_has_every_way():
    assert {row["sketch"] for row in table()} == set(WAYS)
