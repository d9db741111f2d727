"""Checks of texts whose pairs are known: small data exactly, large data by intervals that hold the truth."""

import json
from math import isnan

import numpy as np
import pytest

import lshfast
from lshfast._engine.plan import make_plan
from lshfast.quality import CheckResult, Estimate
from lshfast.quality.estimates import measured
from lshfast.quality.excerpts import differing
from lshfast.quality.job import check_files
from lshfast.quality.near_pairs import Near, Tally, finder
from lshfast.quality.run import CheckOptions, edges_of
from lshfast.quality.sampling import degrees, draw
from lshfast.quality.valley import valley


def documents(rng, n, words=60, vocabulary=5000):
    return [rng.integers(0, vocabulary, words).tolist() for _ in range(n)]


def edited(words, edits, rng):
    words = list(words)
    for _ in range(edits):
        words[rng.integers(len(words))] = int(rng.integers(5000))
    return words


def as_texts(rows):
    return [" ".join(f"w{word}" for word in row) for row in rows]


def corpus(kind, n=1500):
    """Return texts with groups of near-duplicates."""
    rng = np.random.default_rng(7)
    if kind == "few":
        rows = documents(rng, n)
        rows[-40:] = [edited(row, 1 + rng.integers(3), rng) for row in rows[:40]]
    elif kind == "templates":
        frames = documents(rng, 20)
        rows = [
            edited(frames[rng.integers(20)], rng.integers(4), rng) for _ in range(n)
        ]
    else:
        rows = []
        while len(rows) < n:
            words = documents(rng, 1)[0]
            for _ in range(10):
                rows.append(words)
                words = edited(words, 1, rng)
    return as_texts(rows)


def truth(texts, **options):
    """Return the pairs of different texts, and which of them the bands find."""
    plan = make_plan(**options)
    sets = lshfast.shingle(texts, size=plan.shingles.size, seed=plan.hasher.seed)
    copies = lshfast.find_copies(sets)
    rows = np.flatnonzero(copies == np.arange(len(sets)))
    pairs = lshfast.exact.pairs(sets.take(rows), threshold=plan.threshold)
    keys = plan.bands.keys(plan.hasher.sketch(sets.take(rows)))
    found = (keys[pairs["i"]] == keys[pairs["j"]]).any(axis=1)
    return pairs, found, plan, sets.take(rows)


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["few", "templates", "chains"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 0.7, "recall": 0.5},
        {"bands": 6, "rows_per_band": 12, "seed": 9},
    ],
)
def test_small_data_are_counted_exactly(kind, options):
    texts = corpus(kind)
    result = lshfast.check([*texts, texts[0], ""], **options)
    pairs, found, _, _ = truth(texts, **options)
    assert (result.complete, result.copies, result.empty) == (
        True,
        len(texts) + 1 - result.distinct,
        1,
    )
    assert result.recall == Estimate(*[pytest.approx(found.mean())] * 3)
    assert result.recall.exact
    assert result.pairs == Estimate(*[pytest.approx(len(pairs))] * 3)
    ends = np.unique(np.concatenate([pairs["i"], pairs["j"]]))
    assert result.near_rows.value == pytest.approx(len(ends))
    reached = np.unique(np.concatenate([pairs["i"][found], pairs["j"][found]]))
    assert result.row_recall.value == pytest.approx(len(reached) / len(ends))
    assert sum(one.pairs.value for one in result.by_similarity) == pytest.approx(
        len(pairs)
    )
    assert result.promised == pytest.approx(
        make_plan(**options).bands.probability(pairs["similarity"]).mean(), abs=1e-5
    )


def test_promises_by_similarity():
    rng = np.random.default_rng(3)
    sets = (
        [set(range(20))]
        + [set(range(20 - cut)) for cut in range(1, 9)]
        + [set(rng.integers(100, 900, 20).tolist())]
    )
    plan = make_plan(threshold=0.5)
    pairs = lshfast.exact.pairs(sets, threshold=0.5)
    for one in lshfast.check(sets, threshold=0.5).by_similarity:
        inside = pairs["similarity"][
            (pairs["similarity"] >= one.low) & (pairs["similarity"] < one.high)
        ]
        assert one.pairs.value == pytest.approx(len(inside))
        if len(inside):
            assert one.promised == pytest.approx(
                plan.bands.probability(inside).mean(), abs=1e-5
            )


def test_the_candidates_of_small_data_are_those_of_the_bands():
    texts = corpus("templates", 200)
    _, _, plan, sets = truth(texts)
    i, j = lshfast.candidates(plan.bands.keys(plan.hasher.sketch(sets)))
    similar = lshfast.verify(sets, i, j, plan.threshold)
    result = lshfast.check(texts)
    assert result.candidates == pytest.approx(len(i) / len(sets))
    assert result.unverified_precision.value == pytest.approx(len(similar) / len(i))
    assert result.precision == 1


def test_other_parameters_are_counted_exactly_on_small_data():
    texts = corpus("templates", 300)
    found = {one.name: one for one in lshfast.check(texts).alternatives}
    assert found["recall 0.95"].bands == lshfast.choose_bands(0.8).bands
    for name, options in (
        ("word 3", {"size": 3}),
        ("char 9", {"unit": "char", "size": 9}),
    ):
        different = list(dict.fromkeys(texts))
        pairs = lshfast.exact.pairs(
            lshfast.shingle(different, **options), threshold=0.8
        )
        assert found[name].pairs.value == pytest.approx(len(pairs))
        assert found[name].recall is None
    for threshold in (0.6, 0.7, 0.9):
        pairs, hits, _, _ = truth(texts, threshold=threshold)
        one = found[f"threshold {threshold}"]
        assert (one.pairs.value, one.recall.value) == (
            pytest.approx(len(pairs)),
            pytest.approx(hits.mean()),
        )


@pytest.mark.slow
def test_a_sample_of_large_data():
    texts = corpus("templates")
    pairs, found, _, _ = truth(texts)
    result = lshfast.check(texts, sample=200)
    assert not result.complete
    assert result.sampled < 300
    assert result.recall.low <= found.mean() <= result.recall.high
    assert result.pairs.low <= len(pairs) <= result.pairs.high
    assert (
        result.recall.low < result.recall.high
    )  # of no width only if all rows were compared
    again = lshfast.check(texts, sample=200, threads=2)
    assert again == result
    assert lshfast.check(texts, sample=200, seed=2).sampled != result.sampled


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sample"),
    [
        ("few", 60),
        ("templates", 150),
        pytest.param("chains", 200, marks=pytest.mark.weekly),
    ],
)
def test_estimates_are_unbiased(kind, sample):
    """The mean over many samples is within four standard errors of the truth."""
    pairs, _, plan, sets = truth(corpus(kind))
    met = degrees(plan.hasher.sketch(sets), np.arange(len(sets)), plan.threshold, 1)
    totals = []
    for seed in range(200):
        rows = draw(len(sets), np.arange(len(sets)), met, sample, seed)
        totals.append(
            estimates(pairs, np.ones(len(pairs), bool), rows, plan).pairs.value
        )
    error = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - len(pairs)) <= 4 * error + 1e-9


def estimates(pairs, found, rows, plan):
    """Return the estimates from the pairs of the drawn rows."""
    place = np.full(len(rows.rates), -1)
    place[rows.rows] = np.arange(len(rows.rows))
    tally = Tally(rows, edges_of(plan.threshold), [plan.bands])
    for own, other in (("i", "j"), ("j", "i")):
        drawn = place[pairs[own]] >= 0
        some = pairs[drawn]
        tally.add(
            Near(
                place[some[own]], some[other], some["similarity"], found[drawn][:, None]
            )
        )
    return measured(tally, rows, slice(tally.bin_at(plan.threshold), None))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["few", "templates", "chains"])
@pytest.mark.parametrize("recall", [0.5, 0.95])
def test_intervals_hold_the_truth(kind, recall):
    """Of 60 intervals of 95 %, at least 52: fewer come with probability 1 in 1,000."""
    pairs, _, plan, sets = truth(corpus(kind), recall=recall)
    held = 0
    for seed in range(60):
        plan = make_plan(recall=recall, seed=seed)
        signatures = plan.hasher.sketch(sets)
        found = finder(signatures, [plan.bands])(pairs["i"], pairs["j"])[:, 0]
        rows = draw(
            len(sets),
            np.arange(len(sets)),
            degrees(signatures, np.arange(len(sets)), 0.8, 1),
            150,
            seed,
        )
        interval = estimates(pairs, found, rows, plan).recall
        held += interval.low <= found.mean() <= interval.high
    assert held >= 52


@pytest.mark.weekly
@pytest.mark.parametrize("kind", ["templates", "chains"])
def test_intervals_hold_what_a_run_leaves(kind):
    """Of 40 intervals of 95 %, at least 33: fewer come with probability 1 in 1,000."""
    texts = corpus(kind, 1000)
    held = 0
    for seed in range(40):
        options = {"threshold": 0.7, "recall": 0.4, "seed": seed}
        keep = lshfast.dedup(texts, **options).keep
        kept = [text for text, stays in zip(texts, keep, strict=True) if stays]
        left = lshfast.pairs(kept, threshold=0.7, exact=True)
        assert len(left) > 0
        estimate = lshfast.check(kept, sample=150, **options).pairs
        assert not estimate.exact
        held += estimate.low <= len(left) <= estimate.high
    assert held >= 33


@pytest.mark.parametrize(
    ("texts", "distinct"),
    [
        ([], 0),
        (["a b c"], 1),
        (["a b c"] * 5, 1),
        (["", " ", None], 0),
        (["a b c d e f", "g h i j k l"], 2),
    ],
)
def test_data_without_pairs(texts, distinct):
    result = lshfast.check(texts, sample=10**6)
    assert (result.read, result.distinct, result.complete) == (
        len(texts),
        distinct,
        True,
    )
    assert isnan(result.recall.value)
    assert result.pairs == Estimate(0, 0, 0)
    assert result.suggested_threshold is None
    assert "no pair at or above the threshold was seen" in repr(result)
    assert json.loads(result.to_json())["recall"] == {
        "value": None,
        "low": 0,
        "high": 1,
    }
    assert "<table>" in result._repr_html_()


def test_no_pairs_in_a_sample_are_no_proof():
    result = lshfast.check(
        as_texts(documents(np.random.default_rng(1), 500)), sample=50
    )
    assert result.pairs.value == 0
    assert result.pairs.high > 0
    assert (result.recall.low, result.recall.high) == (0, 1)


def test_sets_have_no_other_shingles():
    result = lshfast.check(
        [{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}], threshold=0.8, examples=1
    )
    assert result.pairs.value == 1
    assert {one.unit for one in result.alternatives} == {"word"}
    assert [(one.key_i, one.key_j, one.left) for one in result.examples] == [(0, 1, "")]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"sample": 0}, "sample must be"),
        ({"examples": -1}, "examples must be"),
        ({"threshold": 0}, r"threshold must be in \(0, 1\], not 0"),
        ({"bands": 3}, "bands and rows_per_band go together"),
    ],
)
def test_wrong_options(options, error):
    with pytest.raises(ValueError, match=error):
        lshfast.check(["a"], **options)


def test_wrong_texts():
    with pytest.raises(TypeError):
        lshfast.check([3])
    with pytest.raises(TypeError, match="sample"):
        lshfast.check(["a"], sample="many")


def test_examples_show_where_texts_differ():
    words = [f"w{number}" for number in range(300)]
    other = [*words[:150], "\x1b[31m", *words[151:]]
    result = lshfast.check([" ".join(words), " ".join(other)], examples=2)
    (example,) = result.examples
    assert (example.key_i, example.key_j, example.found) == (0, 1, True)
    assert "w150 w151" in example.left
    assert r"\x1b[31m w151" in example.right
    assert "\x1b" not in repr(result)
    assert differing("a" * 200, "a" * 200 + "b")[1].endswith("b")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (" ".join(["rose"] * 80), " ".join(["rose"] * 40 + ["tulip"] + ["rose"] * 40)),
        ("a" * 300, "a" * 150 + "b" * 150),  # one word, which is cut
        (" " * 300 + "x", " " * 300 + "y"),
        ("", "a rose " * 40),
        ("it was " * 20 + "b" * 300, "it was " * 20 + "c" * 300),
    ],
)
def test_examples_are_cut_between_words(first, second):
    for text, cut in zip((first, second), differing(first, second), strict=True):
        inside = cut.strip("…")
        assert inside in text
        assert len(inside) <= 90
        words = text.split()
        if max(map(len, words), default=0) < 30:
            assert set(cut.replace("…", " ").split()) <= set(words)


def test_what_is_left_after_a_run():
    texts = corpus("templates")
    kept = [
        text
        for text, keep in zip(texts, lshfast.dedup(texts, recall=0.3).keep, strict=True)
        if keep
    ]
    left, found, _, _ = truth(kept, recall=0.3)
    result = lshfast.check(kept, recall=0.3)
    assert len(left) > 0
    assert found.sum() == 0
    assert (result.pairs.value, result.recall.value) == (len(left), 0)


def test_a_valley_suggests_a_threshold():
    def counts(values):
        return [
            Estimate(value, value - 2 * value**0.5, value + 2 * value**0.5)
            for value in values
        ]

    edges = np.array([0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8])
    assert valley(edges, counts([900, 300, 100, 20, 150, 700])) == pytest.approx(
        0.68, abs=0.011
    )
    assert valley(edges, counts([900, 500, 300, 150, 50, 20])) is None  # no second peak
    assert valley(edges, counts([9, 5, 4, 3, 6, 8])) is None  # too few pairs to tell
    assert valley(edges, counts([0] * 6)) is None


@pytest.mark.parametrize("held", [0, 2**29])
def test_files(tmp_path, held):
    path, out = tmp_path / "texts.jsonl", tmp_path / "check.json"
    texts = corpus("templates", 300)
    path.write_text(
        "".join(
            json.dumps({"text": text, "id": f"k{row}"}) + "\n"
            for row, text in enumerate(texts)
        )
    )
    from lshfast._engine.inputs import Inputs

    options = CheckOptions(examples=1, held_bytes=held)
    result = check_files(
        Inputs([str(path)], id_column="id"), str(out), make_plan(), options
    )
    assert isinstance(result, CheckResult)
    assert result.recall == lshfast.check(texts).recall
    assert json.loads(out.read_text("utf-8"))["pairs"]["value"] == result.pairs.value
    assert result.examples[0].key_i.startswith("k")
    with pytest.raises(FileExistsError):
        check_files(Inputs([str(path)]), str(out), make_plan(), options)
    with pytest.raises(ValueError, match="the output is one of the inputs"):
        check_files(Inputs([str(path)]), str(path), make_plan(), options)
