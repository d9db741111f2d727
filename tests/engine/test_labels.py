"""A threshold from labels: simulated labellers, intervals that hold, and a sample that does not depend on batches."""

import numpy as np
import pytest

from lshfast._engine.pages.pair_sample import SAMPLE_PAIRS, PairSample, band_of
from lshfast.join.pair_arrays import PAIR
from lshfast.quality import edges_from, threshold_of
from lshfast.quality.labels import FIRST_LABELS, Labels, _rising, next_band

EDGES = edges_from(0.5)
BANDS = len(EDGES) - 1
MIDDLES = (EDGES[:-1] + EDGES[1:]) / 2
PAIRS = np.array([3000, 2000, 1500, 1000, 800, 600, 500, 400, 400, 500])


def rising(middle, width):
    return 1 / (1 + np.exp(-(MIDDLES - middle) / width))


# The shares of "same" by band, and the pairs.
CORPORA = {
    "gradual": (rising(0.75, 0.06), PAIRS),
    "sharp": (rising(0.7, 0.02), PAIRS),
    "a step": (np.repeat([0.0, 1.0], 5), PAIRS),
    "all the same": (np.ones(BANDS), np.full(BANDS, 300)),
    "many below": (rising(0.7, 0.03), 2 ** np.arange(16, 6, -1)),
    "late": (np.array([0.02] * 8 + [0.3, 0.9]), PAIRS),
}


class Labeller:
    """Labels pairs whose truth is drawn at first; the pairs of a band are asked in random order."""

    def __init__(self, shares, pairs, seed):
        random = np.random.default_rng(seed)
        self.pairs = np.asarray(pairs)
        self.truth = [
            random.random(n) < share for n, share in zip(pairs, shares, strict=True)
        ]
        self.same, self.different = np.zeros(len(pairs), int), np.zeros(len(pairs), int)
        self.seed = seed

    def label(self, times, wanted=None):
        for _ in range(times):
            asked = self.same + self.different
            left = np.minimum(self.pairs, SAMPLE_PAIRS) - asked
            band = next_band(
                Labels(self.pairs, self.same, self.different), asked, left, wanted
            )
            if band is None:
                break
            counts = self.same if self.truth[band][asked[band]] else self.different
            counts[band] += 1
        return self

    def estimate(self, wanted=None):
        similarity = np.repeat(MIDDLES, self.same + self.different)
        same = np.concatenate(
            [
                np.arange(s + d) < s
                for s, d in zip(self.same, self.different, strict=True)
            ]
        )
        return threshold_of(
            similarity, same, EDGES, self.pairs, precision=wanted, seed=self.seed
        )

    def rates(self):
        """The true precision, recall and F1 by threshold."""
        same = np.array([truth.sum() for truth in self.truth])
        true, above = same[::-1].cumsum()[::-1], self.pairs[::-1].cumsum()[::-1]
        return true / above, true / same.sum(), 2 * true / (above + same.sum())


# Each corpus with each of both, and these with each other. Each corpus is in a trial of few labels
# that is not weekly, and the first one in both.
TRIALS = [
    pytest.param(
        corpus,
        wanted,
        (40, 150)[(place + turn) % 2],
        marks=[pytest.mark.weekly] * (place > 0 and (place + turn) % 2 == 1),
    )
    for place, corpus in enumerate(CORPORA)
    for turn, wanted in enumerate([None, 0.95])
]


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "wanted", "labels"), TRIALS)
def test_intervals_hold_the_true_rates(corpus, wanted, labels):
    trials, held = 75, {"precision": 0, "recall": 0, "threshold": 0}
    for seed in range(trials):
        labeller = Labeller(*CORPORA[corpus], seed).label(labels, wanted)
        found = labeller.estimate(wanted)
        precision, recall, f1 = labeller.rates()
        at = (
            BANDS - 1
            if found.threshold is None
            else found.thresholds.tolist().index(found.threshold)
        )
        for name, truth in (("precision", precision), ("recall", recall)):
            low, high = getattr(found, f"{name}_intervals")[at]
            held[name] += low - 1e-12 <= truth[at] <= high + 1e-12
        good = f1 == f1.max() if wanted is None else precision >= wanted
        low, high = found.interval or (0, 1)
        held["threshold"] += not good.any() or low <= EDGES[np.argmax(good)] <= high
    assert held["precision"] >= 0.93 * trials, held
    assert held["recall"] >= 0.93 * trials, held
    assert held["threshold"] >= 0.9 * trials, held


def test_labels_narrow_the_interval_and_find_the_threshold():
    widths = []
    labeller = Labeller(*CORPORA["sharp"], 1)
    for _ in range(4):
        found = labeller.label(60).estimate()
        low, high = found.at_threshold
        widths.append(high - low)
    assert widths[0] > widths[-1]
    assert widths[-1] < 0.15
    best = EDGES[np.argmax(labeller.rates()[2])]
    assert abs(found.threshold - best) < 0.051
    assert found.interval.low <= best <= found.interval.high


def test_labels_of_all_pairs_leave_nothing_open():
    pairs = np.full(BANDS, 6)
    labeller = Labeller(rising(0.75, 0.05), pairs, 3).label(1000)
    assert (labeller.same + labeller.different == pairs).all()
    found, (precision, recall, f1) = labeller.estimate(), labeller.rates()
    assert np.allclose(found.precision, precision)
    assert np.allclose(found.recall, recall)
    assert np.allclose(found.f1, f1)
    assert all(
        np.allclose(interval, value)
        for interval, value in zip(found.precision_intervals, precision, strict=True)
    )
    assert found.threshold == EDGES[np.argmax(f1)]


def test_the_least_threshold_with_a_precision():
    labeller = Labeller(np.repeat([0.0, 1.0], 5), np.full(BANDS, 50), 0).label(400, 0.9)
    found = labeller.estimate(0.9)
    assert found.threshold == 0.75
    assert found.precision[5] >= 0.9 > found.precision[4]
    none = (
        Labeller(np.zeros(BANDS), np.full(BANDS, 50), 0).label(100, 0.9).estimate(0.9)
    )
    assert (none.threshold, none.interval, none.at_threshold) == (None, None, None)
    assert repr(none).startswith("no threshold has precision 0.9, from 100 labels\n")


def test_each_band_gets_labels_first():
    labeller = Labeller(*CORPORA["many below"], 1).label(FIRST_LABELS * BANDS)
    assert (labeller.same + labeller.different == FIRST_LABELS).all()
    asked = np.zeros(BANDS, int)
    assert next_band(Labels(PAIRS, asked, asked), asked, PAIRS) == BANDS - 1
    assert next_band(Labels(PAIRS, asked, asked), asked, asked) is None


def test_a_wanted_precision_brings_labels_near_its_threshold():
    shares, pairs = CORPORA["many below"]
    labeller = Labeller(shares, pairs, 1).label(150, 0.9)
    at = EDGES.tolist().index(labeller.estimate(0.9).threshold)
    near = (labeller.same + labeller.different)[max(0, at - 2) :].sum()
    assert near > 100


def test_no_labels_and_no_pairs():
    found = threshold_of([], [], EDGES, PAIRS)
    assert (found.threshold, found.interval) == (None, None)
    assert found.precision_intervals[0].low == 0
    assert found.precision_intervals[0].high == 1
    assert repr(found).startswith("no pairs are labelled, from 0 labels\n")
    nothing = threshold_of([], [], EDGES, PAIRS * 0)
    assert len(nothing.thresholds) == 0
    assert "There are no pairs." in repr(nothing)


def test_a_lower_threshold_may_be_better():
    advice = "A lower threshold may be better."
    assert advice in repr(Labeller(np.ones(BANDS), PAIRS, 1).label(40).estimate())
    assert advice not in repr(Labeller(*CORPORA["gradual"], 1).label(100).estimate())


def test_empty_bands_are_left_out():
    found = threshold_of(
        [0.86, 0.87, 0.92],
        [True, False, True],
        [0.5, 0.8, 0.9, 0.95, 1],
        [0, 20, 30, 0],
    )
    assert found.thresholds.tolist() == [0.5, 0.9]
    assert found.pairs.tolist() == [50, 30]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.9], [True, False], [0.8, 1], [5]), "one label per similarity"),
        (([0.9], [True], [0.8, 1], [5, 6]), "there must be one count"),
        (([0.9], [True], [1, 0.8], [5]), "edges must ascend"),
        (([0.7], [True], [0.8, 1], [5]), r"similarity must be in 0\.8\.\.1"),
        (
            ([0.9, 0.9], [True, True], [0.8, 1], [1]),
            "more pairs of a band are labelled",
        ),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        threshold_of(*arguments)
    with pytest.raises(ValueError, match="precision must be in"):
        threshold_of([], [], EDGES, PAIRS, precision=1.5)


def test_a_display_of_at_most_80_columns():
    found = Labeller(*CORPORA["gradual"], 1).label(100).estimate()
    lines = [*found.lines()]
    assert len(lines) == BANDS + 1
    assert max(map(len, lines)) <= 80
    assert sum(line.endswith(" *") for line in lines) == 1
    assert found._repr_html_().count("<tr>") == BANDS


def test_edges_and_bands():
    assert edges_from(0.97).tolist() == [0.97, 1.0]
    assert edges_from(0.9).tolist() == [0.9, 0.95, 1.0]
    assert band_of([0.5, 0.55, 0.9499, 0.95, 1.0], EDGES).tolist() == [0, 1, 8, 9, 9]


def made_pairs(n):
    pairs = np.zeros(n, PAIR)
    random = np.random.default_rng(4)
    pairs["i"], pairs["j"] = np.arange(n), np.arange(n) + 1
    pairs["similarity"] = random.uniform(0.5, 1, n)
    return pairs


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_the_sample_does_not_depend_on_batches(batch):
    pairs = made_pairs(1000)
    whole, parts = PairSample(EDGES, 9, 20), PairSample(EDGES, 9, 20)
    whole.add(pairs)
    for start in range(0, len(pairs), batch):
        parts.add(pairs[start : start + batch])
    assert (whole.counts == parts.counts).all()
    assert whole.counts.sum() == 1000
    for one, other in zip(whole.pairs(), parts.pairs(), strict=True):
        assert len(one) == 20
        assert (one == other).all()
    other_seed = PairSample(EDGES, 10, 20)
    other_seed.add(pairs)
    assert (other_seed.pairs()[0] != whole.pairs()[0]).any()


def test_each_pair_is_in_a_sample_equally_often():
    pairs, seeds = made_pairs(200), 400
    pairs["similarity"] = 0.5
    taken = np.zeros(200)
    for seed in range(seeds):
        sample = PairSample(EDGES, seed, 50)
        sample.add(pairs)
        taken[sample.pairs()[0]["i"]] += 1
    error = np.sqrt(seeds * 0.25 * 0.75)
    assert abs(taken - seeds / 4).max() < 4.5 * error


def pooled(values, weights):
    """Isotonic regression by pooling neighbours that fall."""
    blocks = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, a, n), (other, b, m) = blocks[-2:]
            blocks[-2:] = [[(one * a + other * b) / (a + b), a + b, n + m]]
    return [value for value, _, times in blocks for _ in range(times)]


def test_isotonic_regression_is_that_of_pooling():
    random = np.random.default_rng(2)
    for bands in (1, 2, 5, 11):
        values, weights = random.random((20, bands)), random.uniform(1, 9, bands)
        assert np.allclose(
            _rising(values, weights), [pooled(row, weights) for row in values]
        )
