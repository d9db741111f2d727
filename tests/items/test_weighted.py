"""Weighted sets: what is read, what similarities are, and what share of the pairs is found."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshfast
from lshfast import WeightedSets
from lshfast._items import rare_elements, weighted
from lshfast._items.buckets import choose_set_buckets
from lshfast._items.held_points import HeldSets, PointFile
from lshfast._items.kind import kind_of
from lshfast._items.measures import make_point_plan
from lshfast._items.weighted import ELEMENT_WORDS, WeightedReader
from lshfast.join import component_groups, star_groups
from lshfast.kernels import weighted as kernels
from lshfast.kernels.text import tokens_of_integers, tokens_of_texts


def similarity_of(a, b):
    """Return sum min / sum max, rounded once."""
    both = [
        (Fraction(a.get(element, 0)), Fraction(b.get(element, 0)))
        for element in {*a, *b}
    ]
    most = sum(map(max, both), Fraction(0))
    return float(sum(map(min, both), Fraction(0)) / most) if most else 0.0


def held(rows):
    batch, bad = WeightedReader().read(rows)
    assert not bad
    counts = np.zeros(len(rows), np.int64)
    counts[~batch.missing] = batch.counts
    return HeldSets(np.concatenate([[0], np.cumsum(counts)]), batch.words)


WEIGHTS = st.one_of(
    st.integers(1, 4),
    st.sampled_from([0.1, 0.2, 0.7, 1e290, 5e-324]),
    st.floats(1e-9, 1e9, exclude_min=True),
)
SETS = st.lists(
    st.one_of(st.none(), st.dictionaries(st.sampled_from("abcdefé"), WEIGHTS)),
    max_size=12,
)


# ---- similarities ----


@given(SETS)
def test_similarities_are_those_of_the_definition(rows):
    sets, n = held(rows), len(rows)
    pairs = np.array([j << 32 | i for i in range(n) for j in range(n)], np.uint64)
    found = -sets.values(pairs)
    right = [
        similarity_of(rows[i] or {}, rows[j] or {}) for i in range(n) for j in range(n)
    ]
    assert found.tolist() == pytest.approx(right, rel=1e-15, abs=0)
    assert np.array_equal(found.reshape(n, n), found.reshape(n, n).T)


def test_decimal_weights_have_the_similarity_that_they_seem_to_have():
    tenths = {f"part {number}": 0.1 for number in range(10)}
    assert lshfast.pairs([tenths, tenths | {"other": 1}], threshold=0.5).tolist() == [
        (0, 1, 0.5)
    ]


def test_similarities_do_not_depend_on_the_secret_key_or_the_order_of_elements():
    rng = np.random.default_rng(1)
    rows = [
        dict(
            zip(rng.permutation(40)[:25].tolist(), rng.random(25).tolist(), strict=True)
        )
        for _ in range(30)
    ]
    turned = [dict(reversed(row.items())) for row in rows]
    first, second = (
        lshfast.pairs(some, threshold=0.01, exact=True) for some in (rows, turned)
    )
    assert len(first) == 30 * 29 // 2
    assert np.array_equal(first, second)


@pytest.mark.parametrize("elements", ["texts", "integers"])
def test_elements_with_equal_public_hashes_are_different(elements, monkeypatch):
    """Anyone can make elements with equal hashes under a public seed, but not under the key of a run."""

    def texts(values, key):
        return (
            np.full(len(values), 5, np.uint64)
            if key == weighted.ORDER_SEED
            else tokens_of_texts(values, key)
        )

    def integers(values, key):
        return (
            np.full(len(values), 5, np.uint64)
            if key == weighted.ORDER_SEED
            else tokens_of_integers(values, key)
        )

    monkeypatch.setattr(weighted, "tokens_of_texts", texts)
    monkeypatch.setattr(weighted, "tokens_of_integers", integers)
    rows = [{"a": 1, "b": 2}, {"c": 1, "b": 2}, {"d": 3}, {"b": 2, "a": 1}]
    if elements == "integers":
        rows = [{ord(name): weight for name, weight in row.items()} for row in rows]
    found = lshfast.pairs(rows, threshold=0.1, copies="all")
    assert found.tolist() == [(0, 1, 0.5), (0, 3, 1.0), (1, 3, 0.5)]


def test_the_kernel_checks_its_arguments():
    offsets, elements = np.array([0, 1, 2]), np.ones((2, ELEMENT_WORDS), np.uint64)
    pair, out = np.array([1 << 32], np.uint64), np.empty(1)
    for wrong in ((np.array([0, 1, 3]), elements, pair, out), (offsets, elements[:, :2].copy(), pair, out),
                  (offsets, elements, pair, np.empty(2)), (offsets, elements, pair << np.uint64(1), out),
                  (np.array([0, 2, 1]), elements, pair, out), (offsets, elements, pair * 2, out)):  # fmt: skip
        with pytest.raises(ValueError, match="must"):
            kernels.similarities(*wrong)
    none = np.empty((0, ELEMENT_WORDS), np.uint64)
    kernels.similarities(np.zeros(3, np.int64), none, pair, out)
    assert out.tolist() == [0]


@pytest.mark.parametrize("touched", [1, 1 << 18, 1 << 25])
def test_sets_in_a_file_have_the_same_similarities(touched, tmp_path):
    """They are read some pairs at a time, and their memory is released."""
    rng = np.random.default_rng(1)
    sets = held(
        [
            {
                element: rng.random() + 0.1
                for element in rng.permutation(20)[:8].tolist()
            }
            for _ in range(50)
        ]
    )
    file = PointFile(str(tmp_path / "points.bin"))
    file.extend(sets.elements)
    mapped = HeldSets(sets.offsets, file.finished(), touched)
    pairs = rng.integers(0, 50, 300, np.uint64) << np.uint64(32) | rng.integers(
        0, 50, 300, np.uint64
    )
    assert np.array_equal(mapped.values(pairs), sets.values(pairs))
    assert mapped.values(pairs[:0]).tolist() == []
    assert np.array_equal(mapped.hashes(np.arange(50)), sets.hashes(np.arange(50)))


# ---- groups and recall ----


@given(
    SETS,
    st.sampled_from([0.3, 0.8, 1.0]),
    st.sampled_from(["star", "components"]),
    st.booleans(),
)
def test_groups_are_those_of_all_pairs(rows, threshold, groups, exact):
    n, make = len(rows), star_groups if groups == "star" else component_groups
    similar = [
        (i, j, similarity_of(rows[i] or {}, rows[j] or {}))
        for i in range(n)
        for j in range(i + 1, n)
    ]
    near = np.array(
        [pair for pair in similar if pair[2] >= threshold],
        [("i", "<i8"), ("j", "<i8"), ("similarity", "<f8")],
    )
    result = lshfast.dedup(rows, kind="weighted", threshold=threshold, groups=groups, exact=exact or None, recall=None
                           if exact else 0.999999)  # fmt: skip
    assert result.keeper.tolist() == make(n, near).keeper.tolist()
    assert result.summary.empty == sum(not row for row in rows)


def crowd(n, *, own, of, weights=(1.0,)):
    """Return sets of 30 common elements and some of many rare ones."""
    rng = np.random.default_rng(n)
    rows = []
    for _ in range(n):
        rare = rng.integers(0, of, own).tolist()
        scale = float(rng.choice(weights))
        rows.append(
            {f"common {number}": scale for number in range(30)}
            | {f"rare {number}": scale for number in rare}
        )
    return rows


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("n", [700, 1400])
def test_sets_just_below_the_threshold_are_not_compared_with_each_other(
    n, groups, exact
):
    """All share 30 of about 35 elements, so their similarity is .75, and they share buckets."""
    rows = crowd(n, own=5, of=10**9)
    result = lshfast.dedup(rows, threshold=0.8, groups=groups, exact=exact)
    assert result.summary.removed == 0
    assert result.summary.candidates < 20 * n


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("threshold", [0.3, 0.8, 0.87])
@pytest.mark.parametrize(
    "weights", [(1.0,), (1e-300, 3e-5, 3.1e-5, 1e280), (5e-324, 1e-323)]
)
@pytest.mark.parametrize("block", [None, 4000])
def test_crowds_have_the_groups_of_all_pairs(block, weights, threshold, monkeypatch):
    if block is not None:
        monkeypatch.setattr(rare_elements, "BLOCK_ELEMENTS", block)
    rows, n = crowd(300, own=4, of=150, weights=weights), 300
    places = np.array([j << 32 | i for j in range(n) for i in range(j)], np.uint64)
    values = -held(rows).values(places)
    every = np.empty(len(places), lshfast.join.PAIR)
    every["i"], every["j"], every["similarity"] = (
        places & np.uint64(2**32 - 1),
        places >> np.uint64(32),
        values,
    )
    every = every[every["similarity"] >= threshold]
    every.sort(order=["i", "j"])
    found = lshfast.pairs(rows, threshold=threshold, exact=True, copies="all")
    assert np.array_equal(found, every)
    assert set(lshfast.pairs(rows, threshold=threshold, copies="all").tolist()) <= set(
        every.tolist()
    )
    for groups, form in (("star", star_groups), ("components", component_groups)):
        result = lshfast.dedup(rows, threshold=threshold, groups=groups, exact=True)
        assert result.keeper.tolist() == form(n, every).keeper.tolist()


@pytest.mark.one_case
@pytest.mark.parametrize("threshold", [0.3, 0.8, 0.95])
def test_recall_at_the_threshold_is_the_promised_one(threshold):
    """Pairs whose similarity is the threshold, of sets that are similar to no others."""
    rng, pairs = np.random.default_rng(1), 4000
    rows = []
    for pair in range(pairs):
        weights = rng.gamma(1, 1, 5) + 1e-3
        rows.append(
            {5 * pair + place: weight for place, weight in enumerate(weights.tolist())}
        )
        rows.append(
            {
                element: weight * threshold * (1 + 1e-12)
                for element, weight in rows[-1].items()
            }
        )
    sets = held(rows)
    plan = make_point_plan(
        "weighted", threshold=threshold, recall=0.9, seed=3, threads=1
    )
    buckets = choose_set_buckets(sets, plan, np.arange(len(sets)))
    assert 0.9 <= buckets.recall <= 1
    left, right = np.arange(0, 2 * pairs, 2), np.arange(1, 2 * pairs, 2)
    met = np.zeros(pairs, np.bool_)
    for band in range(buckets.bands.bands):
        met |= buckets.keys(band, left) == buckets.keys(band, right)
    error = math.sqrt(buckets.recall * (1 - buckets.recall) / pairs)
    assert abs(met.mean() - buckets.recall) <= 4 * error
    assert (
        lshfast.dedup(rows, threshold=threshold, recall=0.9, seed=3).summary.removed
        == met.sum()
    )


def test_which_set_of_a_group_is_kept():
    rows = [{"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 0.1}, {"a": 1.1, "b": 1}, {"z": 1}]
    for keep, kept in (("first", 0), ("last", 2), ("longest", 1), ([0, 1, 5, 2], 2)):
        result = lshfast.dedup(rows, keep=keep)
        assert np.flatnonzero(result.keep).tolist() == [kept, 3]
    # of equally long ones a hash decides, and not the order
    shortest = [rows[lshfast.dedup(rows, keep="shortest").keeper[1]]]
    assert shortest == [
        rows[::-1][lshfast.dedup(rows[::-1], keep="shortest").keeper[2]]
    ]


# ---- reading ----

ROWS = [{"red": 2, "blue": 1.5}, None, {"é": 0.25}, {}, {"red": 7}]


def arrow_forms():
    pairs = [None if row is None else list(row.items()) for row in ROWS]
    structs = [
        None if row is None else [{"name": name, "n": n} for name, n in row]
        for row in pairs
    ]
    string_keys = pa.map_(pa.string(), pa.float64())
    yield pa.array(pairs, string_keys)
    yield pa.array([[("x", 1.0)], *pairs], string_keys).slice(1)
    yield pa.array(pairs, pa.map_(pa.large_string(), pa.float32()))
    for kind in (pa.list_, pa.large_list):
        yield pa.array(
            structs, kind(pa.struct([("name", pa.string()), ("n", pa.float64())]))
        )
    yield pa.MapArray.from_arrays(
        pa.array([0, 2, 2, 3, 3, 4], pa.int32()),
        pa.array(["red", "blue", "é", "red"]).dictionary_encode(),
        pa.array([2, 1.5, 0.25, 7]),
    )


@pytest.mark.parametrize(
    "column", [*arrow_forms()], ids=lambda column: str(column.type)[:40]
)
def test_columns_of_arrow_are_read_as_mappings_are(column):
    assert kind_of(column) == "weighted"
    wanted = WeightedReader()
    batch, reader = wanted.read(ROWS)[0], WeightedReader()
    reader._key = wanted._key
    found, bad = reader.read(column)
    assert not bad
    assert (
        found.missing.tolist()
        == [False, True, False, True, False]
        == batch.missing.tolist()
    )
    assert np.array_equal(found.words, batch.words)
    assert found.counts.tolist() == [2, 1, 1]
    some = np.array([4, 1, 0])
    assert found.take(some).counts.tolist() == [1, 2]
    assert np.array_equal(
        found.take(some).words, np.concatenate([batch.words[3:], batch.words[:2]])
    )


def test_weights_of_equal_elements_add_up():
    column = pa.array(
        [[("a", 1), ("b", 2), ("a", 3)], [("a", 4), ("b", 2)]],
        pa.map_(pa.string(), pa.int32()),
    )
    assert lshfast.pairs(column, threshold=1.0).tolist() == [(0, 1, 1.0)]


def test_each_form_gives_the_same_pairs():
    texts = ['{"red": 2, "blue": 1.5}', "", '{"é": 0.25}', "{}", '{"red": 7}']
    numbers = [
        row and {ord(name[0]): weight for name, weight in row.items()} for row in ROWS
    ]
    sets = WeightedSets.from_sets([row or {} for row in ROWS])
    for items, kind in (
        (ROWS, None),
        (ROWS, "set"),
        (texts, "weighted"),
        (numbers, None),
        (sets, None),
    ):
        found = lshfast.pairs(items, kind=kind, threshold=0.2, exact=True)
        assert found.tolist() == [(0, 4, 2 / 8.5)]
        assert lshfast.dedup(
            items, kind=kind, threshold=0.2, exact=True
        ).keep.tolist() == [True] * 4 + [False]
    pandas = pytest.importorskip("pandas")
    assert lshfast.pairs(pandas.Series(ROWS), threshold=0.2, exact=True).tolist() == [
        (0, 4, 2 / 8.5)
    ]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (
            {"a": 0},
            "the weight of 'a' must be above 0 and at most 1e+290, not 0: leave out an element that is absent",
        ),
        (
            {"b": 1, "a": -0.5},
            "the weight of 'a' must be above 0 and at most 1e+290, not -0.5",
        ),
        ({"a": 10**400}, "not a number of more than 300 digits"),
        ({"a": True}, "the weight of 'a' must be a number, not True"),
        ({"a": "1"}, "the weight of 'a' must be a number, not '1'"),
        ({1: 1.0}, "the element 1 is not one of strings"),
        ({"\ud800": 1.0}, "lone surrogate"),
        (
            ["a"],
            r"not an object of elements and their weights, as weighted sets are: \['a'\]",
        ),
    ],
)
def test_bad_rows_are_named(bad, reason):
    with pytest.raises(ValueError, match=f"^row 1: .*{reason.replace('+', '.')}"):
        lshfast.dedup([{"red": 1}, bad], kind="weighted")


def test_bad_rows_of_arrow_are_empty_and_named():
    kind = pa.list_(pa.struct([("name", pa.string()), ("n", pa.float64())]))
    good = [{"name": "a", "n": 1.0}]
    rows = [
        good,
        [*good, {"name": None, "n": 1.0}],
        [{"name": "b", "n": None}, *good],
        [{"name": "c", "n": -1.0}],
        good,
    ]
    batch, bad = WeightedReader().read(pa.array(rows, kind))
    assert batch.missing.tolist() == [False, True, True, True, False]
    assert bad == {
        1: "an element is missing",
        2: "the weight of 'b' must be a number, not None",
        3: "the weight of 'c' must be above 0 and at most 1e+290, not -1",
    }
    reader = WeightedReader()
    assert not reader.read([{1: 1}])[1]
    assert reader.read(pa.array([good, []], kind))[1] == {
        0: "its elements are not integers, as those before"
    }


def test_records_are_no_weighted_sets():
    with pytest.raises(TypeError, match="pass its texts"):
        lshfast.dedup([{"text": "a text", "n": 1}])
    for kind in (
        pa.map_(pa.string(), pa.string()),
        pa.map_(pa.float64(), pa.float64()),
        pa.map_(pa.string(), pa.bool_()),
    ):
        with pytest.raises(TypeError):
            lshfast.dedup(pa.array([], kind))
    with pytest.raises(
        ValueError, match=r"^num_perm is for texts and sets, not for weighted sets$"
    ):
        lshfast.dedup(ROWS, num_perm=64)
    with pytest.raises(
        ValueError,
        match="measure must be one of jaccard for weighted sets, not 'containment'",
    ):
        lshfast.dedup(ROWS, measure="containment")
    with pytest.raises(
        ValueError,
        match=r"^against is an index of texts or sets, and the run is over weighted sets$",
    ):
        lshfast.dedup(ROWS, against=lshfast.LSHIndex())


def weighted_index(threshold=0.6, seed=3, **options):
    family = lshfast.families.WeightedMinHashFamily(seed=seed)
    return lshfast.LSHIndex(
        threshold, recall=0.9999, family=family, shingles="weighted", **options
    )


def test_runs_against_an_index_remove_what_is_similar_to_its_entries():
    rng = np.random.default_rng(4)
    rows = [
        {f"{row} {item}": 1 + rng.random() for item in range(20)} for row in range(60)
    ]
    again = [
        {item: weight * (1 + 0.05 * rng.random()) for item, weight in row.items()}
        for row in rows[:20]
    ]
    index = weighted_index()
    options = {"against": index, "threshold": 0.6, "seed": 3}
    first = lshfast.dedup([*rows[:40], {}], keys=range(41), add=True, **options)
    assert (first.summary.removed, first.summary.indexed, len(index)) == (0, 40, 40)
    result = lshfast.dedup(
        [*again, *rows[40:], rows[50]],
        keys=[100 + row for row in range(41)],
        add=True,
        **options,
    )
    assert [removal[:2] for removal in result.removed] == [
        *((100 + row, row) for row in range(20)),
        (140, 130),
    ]
    assert result.summary.earlier == 20
    assert all(removal.similarity > 0.8 for removal in result.removed)
    assert (result.summary.indexed, len(index)) == (20, 60)
    with pytest.raises(ValueError, match=r"^keys\[0\] = 5 is in the index already"):
        lshfast.dedup([{"new": 1}, {"other": 2}], keys=[5, 300], add=True, **options)
    assert len(index) == 60


def test_what_an_index_of_weighted_sets_refuses():
    index = weighted_index()
    for rows, options, said in (
        (ROWS, {"seed": 1}, "seed is 3 in this index, not 1"),
        (
            ROWS,
            {"seed": 3, "threshold": 0.5},
            "this index promises to find sets of similarity 0.6",
        ),
        (
            ["a b"],
            {},
            "against is an index of weighted sets, and the run is over texts or sets",
        ),
        (
            [{"a"}],
            {},
            "against is an index of weighted sets, and the run is over texts or sets",
        ),
        (
            np.ones((2, 3), np.float32),
            {},
            "against is for texts and sets, weighted or not, not for vectors",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            lshfast.dedup(rows, against=index, **options)


def test_a_check_finds_the_recall():
    rng = np.random.default_rng(1)
    rows = [
        {element: rng.random() + 0.1 for element in rng.permutation(30)[:12].tolist()}
        for _ in range(300)
    ]  # fmt: skip
    check = lshfast.check(rows, threshold=0.4, sample=300)
    every = lshfast.pairs(rows, threshold=0.4, exact=True)
    found = lshfast.pairs(rows, threshold=0.4)
    assert check.complete
    assert check.pairs.value == len(every) > 50
    assert check.recall.value == pytest.approx(len(found) / len(every))
    some = lshfast.check(rows, threshold=0.4, sample=50)
    assert 0 < some.sampled < 300
    assert some.pairs.low <= len(every) <= some.pairs.high
