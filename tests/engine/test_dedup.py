"""dedup and pairs from end to end, judged by Python sets of word tuples."""

import gc
import re
import threading
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import ShortTextsWarning, component_groups, dedup, pairs
from lshfast._engine.account.findings import ReadRows
from lshfast._engine.clock import Clock
from lshfast._engine.plan import make_plan
from lshfast._engine.run import find_duplicates
from lshfast._engine.sketching import sketch_rows
from lshfast.join import PAIR
from lshfast.kernels.text import Texts, tokens_of_texts
from tests.reference import sets
from tests.reference import text as reference

SIZE = 3
VOCABULARY = reference.words("""time year people way day man thing woman life child world school state family student
group country problem hand part place case week company system program question work number night point home water room
mother area money story fact month lot right study book eye job word business issue side kind head house service friend
father power hour game line end member law car city community name team minute idea body back face others level office
door health person art war history party result change morning reason research girl air Zürich naïve Москва 東京""")


def shingles(text, size=SIZE):
    """Return the set of tuples of `size` words of a text, of all its words where there are fewer."""
    words = reference.words(text)
    width = min(size, len(words))
    return (
        {tuple(words[at : at + width]) for at in range(len(words) - width + 1)}
        if words
        else set()
    )


def jaccard(a, b, size=SIZE):
    return ratio(shingles(a, size), shingles(b, size))


def ratio(a, b):
    return len(a & b) / len(a | b) if a | b else 0.0


def similar(texts, threshold, size=SIZE):
    """Return all pairs at the threshold as (i, j, similarity)."""
    rows = enumerate(shingles(text, size) for text in texts)
    found = [(i, j, ratio(a, b)) for (i, a), (j, b) in combinations(rows, 2)]
    return [pair for pair in found if pair[2] >= threshold]


@pytest.fixture(scope="module")
def texts():
    """Some 130 texts: originals, near-duplicates of all degrees, copies in other dress, short and empty ones."""
    rng = np.random.default_rng(7)
    made = [
        "",
        "  ...\n",
        "Hello there",
        "hello, THERE!",
        "there hello",
        "Hello",
        "one two three",
    ]
    for _ in range(30):
        words = rng.choice(VOCABULARY, rng.integers(25, 90)).tolist()
        made.append(" ".join(words))
        for _ in range(rng.integers(0, 5)):
            near = list(words)
            for at in rng.integers(0, len(words), rng.integers(1, 6)):
                near[at] = str(rng.choice(VOCABULARY))
            made.append(" ".join(near))
        if rng.random() < 0.4:
            made.append("  " + ", ".join(words).upper() + "!")
    return [made[row] for row in rng.permutation(len(made))]


@pytest.fixture(scope="module")
def megabytes(texts):
    """Three megabytes, which is several pieces of work: near-duplicates among texts that are like no other."""
    numbers = np.random.default_rng(5).integers(0, 10**6, (3500, 120)).tolist()
    near = [f"{text} {number}" for number in range(5) for text in texts]
    return [*near, *(" ".join(map(str, row)) for row in numbers), *near[:100], *texts]


@pytest.fixture(scope="module")
def truth(texts):
    """All pairs of similarity .6, by brute force."""
    return similar(texts, 0.6)


def run(texts, **kwargs):
    """Run dedup so that it misses nothing: all pairs that agree in one slot of 128 are looked at."""
    return dedup(
        texts,
        **{"size": SIZE, "threshold": 0.6, "bands": 128, "rows_per_band": 1, **kwargs},
    )


def assert_same(a, b):
    for name in ("keep", "labels", "keeper", "similarity", "pairs"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.removed == b.removed


# Pairs


def test_all_pairs_are_found_exactly(texts, truth):
    assert len(truth) > 60
    found = pairs(
        texts, size=SIZE, threshold=0.6, bands=128, rows_per_band=1, copies="all"
    )
    assert found.tolist() == truth


def test_copies_are_paired_with_the_first(texts, truth):
    first = {row: row for row in range(len(texts))}
    # Texts of the corpus that are equal as sets are so as lists.
    for i, j, s in reversed(truth):
        if s == 1:
            first[j] = i
    expected = [
        (i, j, s) for i, j, s in truth if first[i] == i and (first[j] == j or s == 1)
    ]
    assert (
        pairs(texts, size=SIZE, threshold=0.6, bands=128, rows_per_band=1).tolist()
        == expected
    )


def test_the_pairs_of_a_run_are_those_of_its_groups(texts, truth):
    """Of stars each removed row and its keeper; of components as many as join the rows; all of them are similar."""
    similar = {(i, j): s for i, j, s in truth}
    result = run(texts)
    removed = np.flatnonzero(~result.keep)
    assert len(result.pairs) == len(removed)
    assert [similar[i, j] for i, j, _ in result.pairs.tolist()] == [
        s for _, _, s in result.pairs.tolist()
    ]
    chained = run(texts, groups="components")
    joined = component_groups(len(texts), chained.pairs)
    assert len(chained.pairs) == chained.summary.removed
    assert (
        joined.labels.tolist()
        == component_groups(len(texts), np.array(truth, PAIR)).labels.tolist()
    )


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=7).map(" ".join), max_size=14),
    st.integers(1, 3),
    st.sampled_from([0.4, 0.5, 2 / 3, 0.75, 1]),
)
def test_tiny_texts_equal_brute_force(texts, size, threshold):
    """Repeated words, short and empty texts and copies at every turn; a miss has odds of 10**-28."""
    options = {"size": size, "threshold": threshold, "bands": 128, "rows_per_band": 1}
    found = pairs(texts, **options, copies="all")
    assert found.tolist() == similar(texts, threshold, size)
    result = dedup(texts, **options)
    assert result.keeper.tolist() == sets.star(
        len(texts), found.tolist(), range(len(texts))
    )


@pytest.mark.one_case
@pytest.mark.parametrize("scheme", ["fast", "classic"])
@pytest.mark.parametrize(
    ("threshold", "common", "own"),
    [(0.5, 60, 30), (0.7, 70, 15), (0.8, 80, 10), (0.9, 90, 5)],
)
def test_recall_of_planted_pairs(scheme, threshold, common, own):
    """Pairs of texts that share `common` words and have `own` each besides, all words different: at the threshold."""
    planted = 1000
    words = np.arange(planted * (common + 2 * own)).reshape(planted, -1)
    rows = [
        row
        for w in words.tolist()
        for row in (w[: common + own], w[:common] + w[common + own :])
    ]
    found = pairs(
        [" ".join(map(str, row)) for row in rows],
        size=1,
        threshold=threshold,
        scheme=scheme,
    )
    assert set(found["similarity"].tolist()) == {threshold}
    assert {(i // 2, j) for i, j in found[["i", "j"]].tolist()} <= {
        (pair, 2 * pair + 1) for pair in range(planted)
    }
    assert len(found) >= (0.95 - 4 * (0.95 * 0.05 / planted) ** 0.5) * planted


# Groups and what is kept


def test_star_keeps_a_similar_text_for_each_removed_one(texts, truth):
    result = run(texts)
    assert 30 < result.summary.removed < 90
    for row, kept, similarity in result.removed:
        assert result.keep[kept]
        assert not result.keep[row]
        assert similarity == jaccard(texts[row], texts[kept]) >= 0.6
    assert result.keeper.tolist() == sets.star(len(texts), truth, range(len(texts)))
    assert np.array_equal(result.keeper[result.keep], np.flatnonzero(result.keep))


@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest", "array"])
def test_keep_policies(texts, truth, groups, keep):
    rows = range(len(texts))
    lengths = [len(text.encode()) for text in texts]
    scores = np.random.default_rng(3).integers(0, 5, len(texts))
    wish = {
        "first": [0] * len(texts),
        "last": rows,
        "longest": lengths,
        "shortest": [-n for n in lengths],
    }
    ties = (
        tokens_of_texts(Texts(texts), 1).tolist()
        if keep in ("longest", "shortest")
        else [0] * len(texts)
    )
    order = sorted(
        rows, key=lambda row: (-wish.get(keep, scores)[row], -ties[row], row)
    )
    if groups == "star":
        expected = sets.star(len(texts), truth, order)
    else:
        labels = sets.components(len(texts), truth)
        expected = [
            next(row for row in order if labels[row] == label) for label in labels
        ]
    result = run(texts, groups=groups, keep=scores if keep == "array" else keep)
    assert result.keeper.tolist() == expected
    assert result.labels.tolist() == [expected.index(kept) for kept in expected]


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("keep", ["longest", "shortest"])
@pytest.mark.parametrize("groups", ["star", "components"])
@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "c", "d", "e", "B"]), max_size=8).map(
            " ".join
        ),
        max_size=16,
    ),
    st.randoms(),
)
def test_which_texts_are_kept_does_not_depend_on_the_order(keep, groups, texts, random):
    """Most of these texts have the length of others, and are similar to several."""
    options = {
        "size": 1,
        "threshold": 0.5,
        "bands": 128,
        "rows_per_band": 1,
        "keep": keep,
        "groups": groups,
    }

    def kept(texts):
        result = dedup(texts, **options)
        return sorted(texts[row] for row in np.flatnonzero(result.keep))

    shuffled = random.sample(texts, len(texts))
    assert kept(shuffled) == kept(texts)
    assert (
        dedup(texts, **options, seed=2).keep.tolist()
        == dedup(texts, **options).keep.tolist()
    )


@pytest.mark.parametrize("column", [list, np.array, pl.Series])
def test_preference_may_be_a_column_of_strings(column):
    texts = ["one two three", "One, two, three!", "one two three"]
    assert dedup(
        texts, keep=column(["2023-01", "2025-11", "2024"])
    ).keeper.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "column", [pd.Series, pa.array, lambda dates: np.array(dates, object)]
)
def test_preference_may_be_a_column_of_strings_that_numpy_sees_as_objects(column):
    test_preference_may_be_a_column_of_strings(column)


def test_components_chain_and_say_how_far():
    words = [str(n) for n in range(130)]
    chain = [" ".join(words[at : at + 100]) for at in range(0, 31, 6)]
    star, linked = (
        run(chain, groups=groups, threshold=0.8) for groups in ("star", "components")
    )
    assert star.keeper.tolist() == [0, 0, 2, 2, 4, 4]
    assert linked.keeper.tolist() == [0] * 6
    exact = [jaccard(chain[0], text) for text in chain]
    assert exact[1] > 0.8 > exact[2] > exact[5]
    assert linked.similarity.tolist() == exact
    assert [removal.similarity for removal in linked.removed] == exact[1:]
    assert (linked.summary.groups, linked.summary.largest_group) == (1, 6)
    estimated = run(
        chain, groups="components", threshold=0.8, verify="signature"
    ).similarity
    assert np.array_equal(estimated * 128 % 1, np.zeros(6))
    assert np.abs(estimated - exact).max() < 0.2


def test_c10_clusters_of_web_pages():
    """Tuples of words, all similar pairs, and their components: many pages are similar to the first by a chain only."""
    rng = np.random.default_rng(10)
    pages, cluster = [], []
    for number in range(40):
        words = rng.choice(VOCABULARY, 60).tolist()
        # Versions, each made from the one before.
        for _ in range(int(rng.integers(1, 6))):
            words[int(rng.integers(60))] = f"word{len(pages)}"
            pages.append(" ".join(words))
            cluster.append(number)
    found = dedup(pages, size=SIZE, threshold=0.85, groups="components", exact=True)
    assert found.labels.tolist() == [cluster.index(number) for number in cluster]
    apart = [
        row
        for row, first in enumerate(found.labels.tolist())
        if jaccard(pages[row], pages[first]) < 0.85
    ]
    assert len(apart) > 10
    assert all(jaccard(pages[row], pages[row - 1]) >= 0.85 for row in apart)


def test_d12_verify_modes(texts):
    """All candidates; those whose estimate, a multiple of 1/128, is enough; and those that are right."""
    options = {"size": SIZE, "threshold": 0.6, "bands": 32, "rows_per_band": 4}
    exact, signature, none = (
        pairs(texts, verify=verify, **options)
        for verify in ("exact", "signature", "none")
    )
    estimates = {(i, j): s for i, j, s in none.tolist()}
    assert len(none) > len(signature) > len(exact) / 2
    assert set(signature.tolist()) == {
        (*p, s) for p, s in estimates.items() if s >= 0.6
    }
    for i, j, similarity in exact.tolist():
        assert similarity == jaccard(texts[i], texts[j]) >= 0.6
    for (i, j), estimate in estimates.items():
        assert estimate * 128 % 1 == 0
        assert abs(estimate - jaccard(texts[i], texts[j])) < 6 * 0.5 / 128**0.5
    for verify in ("exact", "signature", "none"):
        result = run(texts, verify=verify)
        assert result.summary.verify == verify
        assert result.summary.removed == len(result.pairs) >= result.summary.copies


def test_empty_and_short_texts():
    texts = ["", "a b", "A, b.", "...", "b a", "", "a", "a b c d e f", "!"]
    result = dedup(texts, threshold=0.1)
    assert result.keep.tolist() == [
        True,
        True,
        False,
        True,
        True,
        True,
        True,
        True,
        True,
    ]
    assert result.removed == [(2, 1, 1.0)]
    assert (result.summary.empty, result.summary.copies) == (4, 1)
    assert result.pairs.tolist() == [(1, 2, 1.0)]
    for groups in ("star", "components"):
        nothing = dedup(["", " ", ""], groups=groups, verify="none")
        assert nothing.keep.all()
        assert (nothing.summary.empty, nothing.summary.kept, len(nothing.pairs)) == (
            3,
            3,
            0,
        )


@pytest.mark.parametrize(
    "column",
    [
        ["one two", None, "one two", float("nan"), None],
        np.array(["one two", None, "one two", pd.NA, None], object),
        pd.Series(["one two", None, "one two", np.nan, None], dtype=object),
        pd.Series(["one two", None, "one two", None, None], dtype="category"),
        pl.Series(["one two", None, "one two", None, None]),
        pa.array(["one two", None, "one two", None, None]),
    ],
)
def test_null_texts_are_kept_and_counted_as_empty(column):
    result = dedup(column)
    assert result.keep.tolist() == [True, True, False, True, True]
    assert (result.summary.empty, result.summary.kept) == (3, 4)
    assert pairs(column).tolist() == [(0, 2, 1.0)]


def test_no_texts():
    for groups in ("star", "components"):
        result = dedup([], groups=groups)
        assert (len(result.keep), result.removed, result.summary.read) == (0, [], 0)
    assert len(pairs([])) == len(pairs([], copies="all")) == 0


@pytest.mark.slow
def test_two_thousand_copies_among_a_thousand_others():
    rng = np.random.default_rng(2)
    others = [
        " ".join(map(str, row)) for row in rng.integers(0, 10**6, (1000, 30)).tolist()
    ]
    texts = [
        *others[:500],
        *["the same old story told once more in the very same old words"] * 2000,
        *others[500:],
    ]
    with pytest.warns(ShortTextsWarning, match="half of them have at most 13 words"):
        result = dedup(texts)
    assert (result.summary.copies, result.summary.pairs, result.summary.removed) == (
        1999,
        1999,
        1999,
    )
    assert result.summary.candidates < 10
    assert result.pairs.tolist() == [(500, j, 1.0) for j in range(501, 2500)]
    with pytest.warns(ShortTextsWarning):
        assert len(pairs(texts, copies="all")) == 2000 * 1999 // 2


@pytest.mark.slow
def test_a_text_of_twenty_megabytes():
    words = list(
        map(str, np.random.default_rng(4).integers(0, 10**6, 2_950_000).tolist())
    )
    long = " ".join(words)
    assert len(long) > 20_000_000
    near = " ".join([*words[:1_000_000], "and", "more", *words[1_000_000:]])
    found = pairs([long, "short", near, long])
    assert found[["i", "j"]].tolist() == [(0, 2), (0, 3)]
    shared = (
        len(words) - 4 - 4
    )  # of the shingles, all different, two words put between take four and make six
    assert found["similarity"].tolist() == [shared / (shared + 4 + 6), 1.0]


# The record


def test_every_row_is_accounted_for(texts):
    result = run(texts)
    said = result.summary
    assert said.read == len(texts) == said.kept + said.removed + said.rejected
    assert said.rejected == 0
    assert said.kept == result.keep.sum() == len(set(result.keeper.tolist()))
    assert said.removed == len(result.removed)
    assert said.empty == sum(not shingles(text) for text in texts) == 2
    assert said.copies == (result.pairs["similarity"] == 1).sum()
    sizes = np.bincount(result.labels)
    assert (said.groups, said.largest_group) == ((sizes > 1).sum(), sizes.max())
    assert (said.bands, said.rows_per_band, said.pairs) == (128, 1, len(result.pairs))
    assert dedup(texts, threshold=0.9).summary.recall == pytest.approx(
        1 - (1 - 0.9**12) ** 10
    )


@pytest.mark.parametrize("keys", [list, np.array, tuple, "".join])
def test_keys_name_the_rows(keys):
    texts = ["one two three", "x", "One, two, three!", "one two three"]
    assert [
        tuple(r) for r in dedup(texts, keys=keys(["a", "b", "c", "d"])).removed
    ] == [("c", "a", 1), ("d", "a", 1)]
    assert list(dedup(texts).iter_removed()) == [(2, 0, 1), (3, 0, 1)]


@pytest.mark.parametrize("index", [[2, 1, 0], [7, 8, 9]])
def test_keys_of_a_pandas_column_are_taken_in_order(index):
    texts = ["one two three", "One, two, three!", "x"]
    assert dedup(texts, keys=pd.Series(["a", "b", "c"], index=index)).removed == [
        ("b", "a", 1.0)
    ]


# The same from everywhere

COLUMNS = {
    "bytes": lambda texts: [text.encode() for text in texts],
    "tuple": tuple,
    "numpy objects": lambda texts: np.array(texts, object),
    "numpy strings": np.array,
    "pandas": pd.Series,
    "pandas objects": lambda texts: pd.Series(
        texts, dtype=object, index=range(len(texts), 0, -1)
    ),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow large": lambda texts: pa.array(texts, pa.large_string()),
    **(
        {"arrow views": lambda texts: pa.array(texts, pa.string_view())}
        if hasattr(pa, "string_view")
        else {}
    ),
    "arrow binary": lambda texts: pa.array(
        [text.encode() for text in texts], pa.binary()
    ),
    "arrow chunks": lambda texts: pa.chunked_array(
        [texts[:10], [], texts[10:]], pa.string()
    ),
    "arrow slice": lambda texts: pa.array(["x", None, *texts, "x"])[2:-1],
}


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_of_all_kinds_give_the_same(texts, column):
    assert_same(run(COLUMNS[column](texts)), run(texts))


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"verify": "signature"},
        {"groups": "components"},
        {"unit": "char", "size": 9},
    ],
)
def test_threads_do_not_matter(megabytes, options):
    options = {"size": SIZE, "threshold": 0.6, **options}
    one, *others = (
        dedup(megabytes, threads=threads, **options) for threads in (1, 2, 3, None)
    )
    assert one.summary.removed > 600
    for other in others:
        assert_same(one, other)
        assert one.summary.candidates == other.summary.candidates


def test_scheme_and_seed_do_not_matter_where_nothing_is_missed(texts):
    for options in ({"scheme": "classic"}, {"seed": 2}, {"num_perm": 256}):
        assert_same(run(texts), run(texts, **options))


# Progress


def test_progress_is_told(texts):
    calls = []
    dedup(texts, size=SIZE, threshold=0.6, progress=lambda *call: calls.append(call))
    stages = [stage for stage, *_ in calls]
    assert stages == sorted(stages)
    assert set(stages) == {"sketch", "verify"}
    assert calls[stages.count("sketch") - 1] == (
        "sketch",
        sum(len(text.encode()) for text in texts),
        None,
    )
    last, done, total = calls[-1]
    assert (last, done) == ("verify", total)


@pytest.mark.few_cases
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("stage", ["sketch", "verify"])
def test_progress_may_interrupt(megabytes, only_new_garbage, stage, threads):
    def interrupt(at, done, total):
        if at == stage:
            raise KeyboardInterrupt

    before = threading.active_count()
    interrupted = False
    try:
        dedup(megabytes, size=SIZE, threads=threads, progress=interrupt)
    except KeyboardInterrupt:
        interrupted = True
    assert interrupted
    gc.collect()
    assert threading.active_count() == before  # no thread of the run is left


# Errors name the argument, the value and the range

IMPOSSIBLE = [
    ({"threshold": 0}, ValueError, "threshold must be in (0, 1], not 0"),
    (
        {"unit": "line"},
        ValueError,
        "unit must be 'word', 'char', 'symbol' or 'stopword', not 'line'",
    ),
    ({"size": 0}, ValueError, "size must be in 1..256, not 0"),
    ({"num_perm": 65537}, ValueError, "num_perm must be in 1..65536, not 65537"),
    ({"num_perm": 12.5}, TypeError, "num_perm must be an int, not 12.5"),
    ({"scheme": "slow"}, ValueError, "scheme must be 'fast' or 'classic', not 'slow'"),
    ({"recall": 1}, ValueError, "recall must be in (0, 1), not 1"),
    (
        {"recall": 0.999999, "num_perm": 4},
        ValueError,
        "recall 0.999999 at threshold 0.8 is out of reach of num_perm 4",
    ),
    ({"bands": 20}, ValueError, "bands and rows_per_band go together"),
    (
        {"bands": 20, "rows_per_band": 10},
        ValueError,
        "bands x rows must be at most num_perm = 128, not 20 x 10",
    ),
    ({"bands": 0, "rows_per_band": 10}, ValueError, "bands must be at least 1, not 0"),
    (
        {"verify": "no"},
        ValueError,
        "verify must be one of exact, signature, none, not 'no'",
    ),
    ({"threads": 0}, ValueError, "threads must be at least 1, not 0"),
    ({"seed": -1}, ValueError, "seed must be in 0..2**64 - 1, not -1"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), IMPOSSIBLE)
@pytest.mark.parametrize("function", [dedup, pairs])
def test_impossible_arguments(function, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        function(["a b", "a b"], **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": "stars"}, "groups must be one of star, components, not 'stars'"),
        (
            {"keep": "newest"},
            "keep must be one of first, last, longest, shortest, or one value per row, not 'newest'",
        ),
        (
            {"keep": [1, 2, 3]},
            "keep: one value a row is needed to prefer rows by: 2, not shape (3,)",
        ),
        ({"keys": ["a"]}, "keys must have one key per text: 2 keys, not 1"),
        ({"keys": [5, 5]}, "keys must differ: 5 is the key of texts 0 and 1"),
    ],
)
def test_impossible_arguments_of_dedup(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        dedup(["a b", "a b"], **arguments)
    with pytest.raises(ValueError, match="copies must be 'first' or 'all', not 'none'"):
        pairs(["a b", "a b"], copies="none")


@pytest.mark.parametrize("column", ["list", "arrow"])
def test_impossible_texts(column):
    with pytest.raises(ValueError, match=re.escape("texts[1]: not UTF-8 at byte 1")):
        dedup([b"a", b"b\xff"] if column == "list" else pa.array([b"a", b"b\xff"]))
    message = (
        re.escape("texts[1] is of type int")
        if column == "list"
        else "with int64 values"
    )
    with pytest.raises(TypeError, match=message):
        dedup(["a", 1] if column == "list" else pa.array([1]))


@pytest.mark.parametrize("bad", [5, 3.5, "\ud800"])
def test_a_column_of_objects_names_the_row_of_a_value_that_is_no_text(bad):
    for column in (
        np.array(["a", None, bad], object),
        pd.Series(["a", None, bad], dtype=object),
    ):
        with pytest.raises((TypeError, ValueError), match=re.escape("texts[2]")):
            dedup(column)
    mixed = pd.Series(["a b", b"a b", None, float("nan"), pd.NA], dtype=object)
    assert dedup(mixed).keep.tolist() == [True, False, True, True, True]


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_name_the_row_in_later_pieces(megabytes, threads):
    with pytest.raises(
        ValueError, match=re.escape(f"texts[{len(megabytes)}]: not UTF-8 at byte 3")
    ):
        dedup([*megabytes, b"caf\xc3", "x"], threads=threads)


@pytest.mark.parametrize(
    ("texts", "arguments", "error", "message"),
    [
        (["a", "b"], {"recall": "x"}, TypeError, "recall"),
        (["a", "b"], {"unit": ["word"]}, (TypeError, ValueError), "unit"),
        (["a", "b"], {"keep": [1, 2, 3]}, ValueError, "keep"),
        (["a", "b"], {"keep": [1.0, float("nan")]}, ValueError, "keep"),
        (["a", "b"], {"keep": [1, "x"]}, TypeError, "keep"),
        pytest.param(
            ["a", "b"],
            {"keep": np.array(["2024-01", "NaT"], "M8[D]")},
            ValueError,
            "keep",
        ),
        (["a", "b"], {"keys": [["a"], ["b"]]}, TypeError, "keys"),
        (None, {}, TypeError, "texts"),
    ],
)
def test_errors_name_the_argument(texts, arguments, error, message):
    with pytest.raises(error, match=message):
        dedup(texts, **arguments)


def test_a_lost_row_ends_the_run():
    """The source's own count is held against what the stages account for."""
    clock, plan, column = Clock(), make_plan(), Texts(["a b c", "d e f", "a b c"])
    found = find_duplicates(sketch_rows([column.take([0])], plan, clock), plan, clock)
    with pytest.raises(
        RuntimeError,
        match=r"rows were lost: 1 kept [+] 0 removed [+] 0 rejected are not 3 read",
    ):
        found.result(plan, clock, ReadRows(None, len(column)))
