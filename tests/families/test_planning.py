"""Plans: the numbers that textbooks print, brute force beside each choice, simulated candidates, and the errors."""

import math
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lshfast import Bands, LSHIndex, choose_bands
from lshfast.banding.scurve import scurve
from lshfast.families import (
    BandPlan,
    Costs,
    GaussianLines,
    amplification_for,
    distance_at,
    plan_bands,
    plan_recall,
    plan_weights,
    plan_work,
    probe_success,
    rho,
)
from lshfast.families.plans import BAND_BYTES
from tests.families.thin import ThinBits, ThinLines, pairs_at
from tests.reference import cascade as reference

FAMILY, LINES = ThinBits(1000), ThinLines()
CLIPS = [10, 10_000, 9_989_990], [1, 0.9, 0.7]
MILLION = 10**6


def falling(seed, size=4000):
    """Return a histogram of similarities: most items are far, few are near."""
    rng = np.random.default_rng(seed)
    sample = np.concatenate([rng.beta(2, 8, size), rng.beta(20, 4, size // 50)])
    return np.histogram(sample, bins=25, range=(0, 1))


def flipped(histogram):
    """Return the histogram of 1 - value."""
    counts, places = np.asarray(histogram[0]), np.asarray(histogram[1])
    return counts[::-1], (1 - places)[::-1]


# What the course texts print (numbers of the checklist)


def test_a18_approximate_range_query():
    """With c = 2 and r a third of the coordinates."""
    assert FAMILY.sensitivity(1 / 3, 2 * 1 / 3)[2:] == pytest.approx((2 / 3, 1 / 3))


def test_a19_probe_step():
    """1/2 - 1/e for the rows and tables that are not rounded."""
    k, tables = reference.rows(MILLION, 1 / 3), reference.tables(MILLION, 2 / 3, 1 / 3)
    assert probe_success(MILLION, 2 / 3, 1 / 3, k, tables) == pytest.approx(
        0.1321, abs=2e-3
    )
    assert probe_success(MILLION, 2 / 3, 1 / 3, k, tables) >= 1 / 2 - 1 / math.e


def test_a20_rows_and_tables():
    """The text promises 1 - 1/e. The rounded 13 rows have only .57 with the 164 tables, and need 195."""
    assert rho(2 / 3, 1 / 3) == pytest.approx(0.36907, abs=5e-6)
    assert reference.rows(MILLION, 1 / 3) == pytest.approx(12.58, abs=5e-3)
    assert MILLION ** rho(2 / 3, 1 / 3) == pytest.approx(163.84, abs=5e-3)
    plan = amplification_for(MILLION, 2 / 3, 1 / 3)
    assert (plan.rows_per_band, plan.bands) == (13, 164)
    assert plan.recall == pytest.approx(1 - (1 - (2 / 3) ** 13) ** 164)
    assert plan.recall < 0.5705 < 1 - 1 / math.e
    promised = amplification_for(MILLION, 2 / 3, 1 / 3, recall=1 - 1 / math.e)
    assert (promised.rows_per_band, promised.bands) == (13, 195)
    assert plan.expected_candidates == pytest.approx(
        MILLION * (1 - (1 - 3.0**-13) ** 164)
    )
    assert plan.expected_candidates < 164  # one a table, or fewer


def test_b5_b6_hits():
    assert plan_bands(Bands(30, 5), 0.51).half_point == pytest.approx(0.46961, abs=5e-6)


def test_b7_ten_million_clips():
    """The text rounds the probabilities first, and arrives at about 80,000."""
    plan = plan_bands(Bands(50, 25), 0.9, histogram=CLIPS)
    assert plan.probability([0.9, 0.7]).tolist() == [
        pytest.approx(0.97588, abs=5e-6),
        pytest.approx(0.006683, abs=5e-7),
    ]
    assert plan_bands(Bands(1, 25), 0.9).probability([0.9, 0.7]) == pytest.approx(
        [0.07179, 1.341e-4], rel=1e-4
    )
    assert round(plan.expected_candidates) == 76_536
    rounded = [
        float(f"{p:.{digits}f}")
        for p, digits in zip(plan.probability([0.9, 0.7]), (2, 3), strict=True)
    ]
    assert round(10 + rounded[0] * 10_000 + rounded[1] * 9_989_990) == 79_740
    assert plan.n == 10_000_000
    assert plan.expected_missed == pytest.approx(10_000 * (1 - plan.recall))
    assert plan.expected_false == pytest.approx(9_989_990 * plan.probability(0.7))


def test_b7_less_work_with_the_same_memory():
    given_plan = plan_bands(Bands(50, 25), 0.9, histogram=CLIPS)
    cheaper = plan_work(0.9, CLIPS, recall=given_plan.recall, memory=given_plan.memory)
    assert cheaper.recall >= given_plan.recall
    assert cheaper.work <= given_plan.work
    assert cheaper.memory <= given_plan.memory
    unlimited = plan_work(0.9, CLIPS, recall=given_plan.recall, functions=65_536)
    assert unlimited.work < given_plan.work / 5


def test_b8_memory_grows_with_items_and_bands():
    """An index of t tables needs O(n t)."""
    memory = [
        [plan_bands(Bands(t, 8), 0.2, family=FAMILY, n=n).memory for t in (10, 20)]
        for n in (1000, 2000)
    ]
    assert memory[1] == [2 * one for one in memory[0]]
    assert 1.8 < memory[0][1] / memory[0][0] <= 2


def test_c12_memory_of_the_tables():
    """67 tables of 25 million pages: 12 bytes an entry are 300 MB a table and 20.1 GB in all."""
    n, bands = 25 * MILLION, 67
    assert n * BAND_BYTES == 300_000_000
    assert bands * n * BAND_BYTES == 20_100_000_000
    memory = [
        plan_bands(Bands(each, 8), 0.2, family=FAMILY, n=n).memory
        for each in (bands, 1)
    ]
    words = 8 * n  # of each band: what an index keeps of a row
    assert memory[0] - memory[1] == (bands - 1) * (n * BAND_BYTES + words)


@pytest.mark.parametrize(
    ("bits", "radius", "epsilon", "exponent"),
    [(100, 10, 1, 0.47216), (100, 1, 1, 0.49747), (256, 32, 0.5, 0.64309)],
)
def test_c8_exponent_of_hamming_distance(bits, radius, epsilon, exponent):
    """A text has rho = 1 / (1 + epsilon). That is an upper bound, which is reached as radius / bits goes to 0."""
    found = rho(1 - radius / bits, 1 - (1 + epsilon) * radius / bits)
    assert found == pytest.approx(exponent, abs=5e-6)
    assert found <= 1 / (1 + epsilon)
    assert rho(1 - 1e-9, 1 - (1 + epsilon) * 1e-9) == pytest.approx(
        1 / (1 + epsilon), rel=1e-6
    )


def test_c9_three_candidates_a_table():
    """Joint success 2/3 - 1/e. A text has 1 / rho for rho in the exponent of p1**k = n**-rho."""
    p1, p2 = 0.9, 0.8
    k, tables = reference.rows(MILLION, p2), reference.tables(MILLION, p1, p2)
    assert p1**k == pytest.approx(MILLION ** -rho(p1, p2)) == pytest.approx(1 / tables)
    found = probe_success(MILLION, p1, p2, k, tables, far_limit=3)
    assert found >= 2 / 3 - 1 / math.e
    assert found == pytest.approx(0.29879, abs=3e-3)


# rho, rows and tables


@given(st.integers(1, 10**9), st.floats(0.05, 0.99), st.floats(0.01, 0.9))
def test_rows_and_tables_equal_the_reference(n, p1, p2):
    assume(p2 < p1 - 1e-6)
    plan = amplification_for(n, p1, p2)
    k = reference.rows(n, p2)
    assert plan.rows_per_band == max(1, math.ceil(k * (1 - 1e-12)))
    assert plan.bands == math.ceil(n ** rho(p1, p2) * (1 - 1e-12))
    assert n * p2**plan.rows_per_band <= 1 + 1e-9
    assert plan.n == n


def test_integers_are_not_rounded_up():
    assert amplification_for(3**12, 2 / 3, 1 / 3).rows_per_band == 12
    assert amplification_for(10**6, 0.1**0.5, 0.1).bands == 1000
    assert amplification_for(1, 2 / 3, 1 / 3).bands == 1


def test_ends_of_rho():
    assert rho(1, 0.5) == 0
    assert rho(0.5, 0) == 0
    assert amplification_for(100, 1, 0.5).recall == 1
    assert probe_success(100, 1, 0, 1, 1) == 1
    assert probe_success(100, 0.9, 0.8, 1, 1) == 0  # eighty far items in the bucket


@given(st.floats(0.3, 0.95), st.floats(0.01, 0.999))
def test_tables_for_a_recall_are_the_fewest(p1, recall):
    plan = amplification_for(1000, p1, 0.2, recall=recall)
    assert plan.recall >= recall
    assert plan.bands == 1 or scurve(p1, plan.bands - 1, plan.rows_per_band) < recall


# A recall, and weights


@given(st.floats(0.05, 1), st.integers(1, 300), st.floats(0.01, 0.99))
def test_plan_of_a_recall_is_that_of_choose_bands(threshold, functions, recall):
    try:
        expected = choose_bands(threshold, functions, recall=recall)
    except ValueError:
        with pytest.raises(
            ValueError, match=f"is out of reach of functions {functions}: at most"
        ):
            plan_recall(threshold, functions, recall=recall)
    else:
        plan = plan_recall(threshold, functions, recall=recall, n=100)
        assert Bands(plan.bands, plan.rows_per_band) == expected
        assert plan.recall == expected.probability(threshold)
        assert plan.half_point == expected.half_point
        assert plan.memory == 100 * (8 * functions + 12 * plan.bands + 12)


def test_plan_of_a_recall_at_a_distance():
    plan = plan_recall(0.2, family=FAMILY, recall=0.95)
    assert Bands(plan.bands, plan.rows_per_band) == choose_bands(0.8)
    assert plan.family == FAMILY
    assert plan.half_point == pytest.approx(
        1 - Bands(plan.bands, plan.rows_per_band).half_point
    )
    lines = plan_recall(1.5, family=LINES, n=1000)
    assert Bands(lines.bands, lines.rows_per_band) == choose_bands(0.4)
    assert lines.memory == 1000 * (20 * lines.bands + 12)


@pytest.mark.one_case
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.9, 0.1), (0, 1), (3, 0)])
def test_plan_of_weights_is_that_of_choose_bands(weights):
    expected = choose_bands(0.7, 64, weights=weights)
    for plan in (
        plan_weights(0.7, 64, weights=weights),
        plan_weights(0.3, 64, weights=weights, family=FAMILY),
    ):
        assert Bands(plan.bands, plan.rows_per_band) == expected


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("weights", [(1, 1), (1, 50), (0.1, 20)])
def test_plan_of_weights_has_the_least_errors(weights):
    histogram = falling(1)
    plan = plan_weights(0.6, 40, weights=weights, histogram=histogram)
    errors = [
        weights[0] * other.expected_false + weights[1] * other.expected_missed
        for b in range(1, 41)
        for r in range(1, 40 // b + 1)
        for other in [plan_bands(Bands(b, r), 0.6, histogram=histogram)]
    ]
    assert weights[0] * plan.expected_false + weights[
        1
    ] * plan.expected_missed == pytest.approx(min(errors))


@pytest.mark.slow
def test_weights_of_missed_items_raise_the_recall():
    histogram = falling(2)
    recalls = [
        plan_weights(0.6, weights=(1, w), histogram=histogram).recall
        for w in (0.1, 1, 10, 1000)
    ]
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[-1]


# The least work


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("threshold", [0.4, 0.7])
@pytest.mark.parametrize("costs", [None, Costs(1, 5, 1), Costs(0.01, 0, 3)])
def test_no_bands_with_the_recall_cost_less(seed, threshold, costs):
    histogram, functions, recall = falling(seed), 120, 0.9
    plan = plan_work(
        threshold, histogram, functions=functions, recall=recall, costs=costs
    )
    others = [
        Bands(b, r)
        for b in range(1, functions + 1)
        for r in range(1, functions // b + 1)
    ]
    work = [
        plan_bands(other, threshold, histogram=histogram, costs=costs).work
        for other in others
        if other.probability(threshold) >= recall
    ]
    assert plan.work == pytest.approx(min(work), rel=1e-12)
    assert plan.recall >= recall
    assert plan.bands * plan.rows_per_band <= functions


def test_plans_of_distances_mirror_those_of_similarities():
    histogram = falling(3)
    of_similarity = plan_work(0.7, histogram, n=MILLION)
    of_distance = plan_work(0.3, flipped(histogram), n=MILLION, family=FAMILY)
    assert (of_distance.bands, of_distance.rows_per_band) == (
        of_similarity.bands,
        of_similarity.rows_per_band,
    )
    assert of_distance.expected_candidates == pytest.approx(
        of_similarity.expected_candidates
    )
    assert of_distance.expected_false == pytest.approx(of_similarity.expected_false)
    assert of_distance.expected_missed == pytest.approx(of_similarity.expected_missed)


@pytest.mark.parametrize("threshold", [0.72, 0.7, 0.69, 0.999])
def test_candidates_within_and_beyond_the_threshold_are_all(threshold):
    """The threshold divides its bin."""
    plan = plan_bands(Bands(20, 9), threshold, histogram=falling(4), n=MILLION)
    counts, edges = falling(4)
    within = (
        MILLION
        * (counts * np.clip((edges[1:] - threshold) / np.diff(edges), 0, 1)).sum()
        / counts.sum()
    )
    found = plan.expected_candidates - plan.expected_false
    assert found + plan.expected_missed == pytest.approx(within)
    points = edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(1000) + 0.5) / 1000
    false = (
        counts * np.where(points < threshold, plan.probability(points), 0).mean(axis=1)
    ).sum()
    assert plan.expected_false == pytest.approx(
        false * MILLION / counts.sum(), rel=1e-3
    )


def test_memory_limits_the_bands():
    free = plan_work(0.7, falling(5), n=MILLION)
    limited = plan_work(0.7, falling(5), n=MILLION, memory=free.memory // 2)
    assert limited.memory <= free.memory // 2
    assert limited.work >= free.work
    assert limited.recall >= 0.95


def test_counts_of_a_sample_are_scaled():
    histogram = falling(6)
    plans = [
        plan_work(0.7, (scale * histogram[0], histogram[1]), n=50_000)
        for scale in (1, 7)
    ]
    assert plans[0].work == pytest.approx(plans[1].work)
    whole = plan_bands(Bands(9, 13), 0.7, histogram=histogram)
    assert whole.n == histogram[0].sum()
    ten = plan_bands(Bands(9, 13), 0.7, histogram=histogram, n=10 * whole.n)
    assert ten.expected_candidates == pytest.approx(10 * whole.expected_candidates)


def test_items_are_spread_evenly_in_a_bin():
    plan = plan_bands(Bands(20, 5), 0.5, histogram=([1000], [0.2, 0.9]))
    points = 0.2 + 0.7 * (np.arange(100_000) + 0.5) / 100_000
    assert plan.expected_candidates == pytest.approx(
        1000 * Bands(20, 5).probability(points).mean(), rel=1e-4
    )


def test_equal_items_need_one_function():
    """Nothing but equal items is wanted, and nothing else exists."""
    plan = plan_work(1, ([100], [1]))
    assert (plan.bands, plan.rows_per_band, plan.recall) == (1, 1, 1)
    free = plan_work(1, ([5, 95], [1, 0.5]), costs=Costs(0, 0, 1), functions=65_536)
    assert free.expected_candidates == 5
    assert free.rows_per_band < 100  # more rows do not find fewer


def test_expected_candidates_are_those_of_an_index():
    """Planted data: as many candidates as the plan says, within four standard errors."""
    family, distance, pairs = ThinBits(500, 9), 0.25, 400
    plan = plan_bands(
        Bands(12, 6), distance, family=family, histogram=([pairs], [distance])
    )
    first, second = pairs_at(distance, pairs, 500, seed=8)
    buckets = [
        family.buckets(items, plan.bands, plan.rows_per_band)
        for items in (first, second)
    ]
    found = (buckets[0] == buckets[1]).any(axis=1).sum()
    error = math.sqrt(pairs * plan.recall * (1 - plan.recall))
    assert abs(found - plan.expected_candidates) <= 4 * error


def test_memory_is_about_that_of_an_index():
    bands, rows, n = 18, 7, 20_000
    signatures = np.random.default_rng(1).integers(
        0, 2**63, size=(n, 128), dtype=np.uint64
    )
    index = LSHIndex(bands=bands, rows_per_band=rows, num_perm=128)
    index.insert(range(n), signatures)
    plan = plan_bands(Bands(bands, rows), 0.8, n=n, words=128)
    assert plan.memory == pytest.approx(index.stats().nbytes, rel=0.35)


# Plans


def test_a_plan_is_a_record():
    plan = plan_recall(0.8, n=10, histogram=falling(1))
    with pytest.raises(FrozenInstanceError):
        plan.bands = 3
    assert plan == plan_recall(0.8, n=10, histogram=falling(1))
    assert isinstance(plan, BandPlan)


def test_a_plan_prints_what_to_expect():
    lines = str(plan_work(0.9, CLIPS, memory=10**11)).splitlines()
    names = [
        "bands x rows",
        "recall",
        "half found at",
        "candidates",
        "false",
        "missed",
        "work",
        "memory",
    ]
    assert [line[:14].rstrip() for line in lines] == names
    assert lines[3].endswith("a query, of 10,000,000 items")
    assert len({line.index("   ", 25) for line in lines}) == 1
    few = str(plan_recall(0.2, family=FAMILY))
    assert "at distance 0.2" in few
    assert "of thin-bits" in few
    assert "candidates" not in few
    assert "memory" not in few


@given(st.floats(0.001, 1))
def test_distance_at(probability):
    assert distance_at(FAMILY, probability) == pytest.approx(1 - probability, abs=1e-12)
    assert distance_at(LINES, probability) == pytest.approx(
        1 / probability - 1, rel=1e-9, abs=1e-12
    )
    assert distance_at(FAMILY.and_(3), probability) == pytest.approx(
        1 - probability ** (1 / 3), abs=1e-9
    )


@pytest.mark.parametrize("width", [1e-300, 1e-40, 1, 1e35, 1e300])
def test_distance_at_has_the_unit_of_the_width(width):
    assert distance_at(GaussianLines(3, width), 0.60955) / width == pytest.approx(
        0.5, abs=1e-5
    )


class Flat(ThinLines):
    """Never below one half."""

    def collision_probability(self, distance):
        return 0.5 + 0.4 / (1 + np.asarray(distance, np.float64))


def test_distances_that_a_curve_does_not_determine():
    assert distance_at(Flat(), 0.4) == math.inf
    assert distance_at(FAMILY.or_(2), 1e-30) == pytest.approx(1)
    with pytest.raises(ValueError, match=re.escape("probability 0.95 is not reached")):
        distance_at(Flat(), 0.95)
    assert plan_bands(Bands(1, 20), 0.1, family=Flat()).half_point is None


# Errors


@pytest.mark.parametrize("threshold", [0, -0.5, 1.5, math.nan])
def test_similarities_out_of_range(threshold):
    for plan in (
        plan_recall,
        plan_weights,
        lambda t: plan_bands(Bands(2, 2), t),
        lambda t: plan_work(t, CLIPS),
    ):
        with pytest.raises(
            ValueError, match=re.escape(f"threshold must be in (0, 1], not {threshold}")
        ):
            plan(threshold)


@pytest.mark.parametrize("threshold", [-0.5, 1.5, math.nan, math.inf])
def test_distances_out_of_range(threshold):
    with pytest.raises(
        ValueError,
        match=re.escape(f"threshold must be a distance in 0..1.0, not {threshold}"),
    ):
        plan_recall(threshold, family=FAMILY)
    with pytest.raises(ValueError, match=r"threshold must be a distance in 0\.\.inf"):
        plan_recall(math.inf, family=LINES)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0}, ValueError, "n must be at least 1, not 0"),
        ({"n": 2.5}, TypeError, "n must be an int, not 2.5"),
        ({"functions": 0}, ValueError, "functions must be at least 1, not 0"),
        ({"recall": 1}, ValueError, "recall must be in (0, 1), not 1"),
        ({"recall": 0.0}, ValueError, "recall must be in (0, 1), not 0.0"),
        ({"recall": "x"}, TypeError, "recall must be a number, not 'x'"),
        ({"memory": 0}, ValueError, "memory must be at least 1, not 0"),
        ({"family": "minhash"}, TypeError, "family must be a family, not 'minhash'"),
        ({"costs": 3}, TypeError, "costs must be Costs, not 3"),
        (
            {"histogram": [1, 2, 3]},
            TypeError,
            "histogram must be (counts, values) or (counts, edges)",
        ),
        (
            {"histogram": ([1, 2], [0.1])},
            ValueError,
            "this one has counts (2,) and values (1,)",
        ),
        (
            {"histogram": ([1], [0.1, 0.2, 0.3])},
            ValueError,
            "this one has counts (1,) and values (3,)",
        ),
        (
            {"histogram": ([[1]], [[0.1]])},
            ValueError,
            "this one has counts (1, 1) and values (1, 1)",
        ),
        ({"histogram": ([], [])}, ValueError, "counts of the histogram must"),
        (
            {"histogram": ([0, 0], [0.1, 0.2])},
            ValueError,
            "must have a positive finite sum, not 0.0",
        ),
        (
            {"histogram": ([1, -1], [0.1, 0.2])},
            ValueError,
            "counts of the histogram must be in 0..",
        ),
        (
            {"histogram": ([1, math.nan], [0.1, 0.2])},
            ValueError,
            "counts of the histogram must be in 0..",
        ),
        (
            {"histogram": ([1, 1], [0.1, 1.2])},
            ValueError,
            "values of the histogram must be in 0..1.0, not 1.2",
        ),
        (
            {"histogram": ([1, 1], [0.1, 0.3, 0.2])},
            ValueError,
            "edges of the histogram must increase",
        ),
        (
            {"histogram": ([0.1, 0.2], [0.1, 0.2])},
            ValueError,
            "n must be given with a histogram whose counts have the sum",
        ),
        (
            {"threshold": 0.01, "functions": 20},
            ValueError,
            "(collision probability 0.01) is out of reach of functions 20",
        ),
        (
            {"memory": 10**6},
            ValueError,
            "is out of reach of functions 2048 and memory 1000000",
        ),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        plan_work(**{"threshold": 0.9, "histogram": CLIPS, **arguments})


def test_distances_at_which_nothing_collides():
    for plan in (
        plan_recall,
        lambda d, family: plan_work(d, ([5], [0.5]), family=family),
    ):
        with pytest.raises(
            ValueError,
            match=re.escape(
                "recall 0.95 at distance 1.0 (collision probability 0) is out"
            ),
        ):
            plan(1, family=FAMILY)


@pytest.mark.parametrize("weights", [(0, 0), (-1, 2), (math.inf, 1), (math.nan, 1)])
def test_weights_out_of_range(weights):
    for histogram in (None, CLIPS):
        with pytest.raises(
            ValueError, match="weights must be finite, not negative, and not both 0"
        ):
            plan_weights(0.8, weights=weights, histogram=histogram)


@pytest.mark.parametrize("weights", [1, (1,), (1, 2, 3), ("a", "b")])
def test_weights_of_the_wrong_kind(weights):
    with pytest.raises(TypeError, match="weights must be"):
        plan_weights(0.8, weights=weights)


@pytest.mark.parametrize("cost", ["function", "bucket", "candidate"])
def test_wrong_costs(cost):
    for value in (-1, math.inf, math.nan):
        with pytest.raises(
            ValueError, match=f"{cost} must be finite and not negative, not {value}"
        ):
            Costs(**{cost: value})
    with pytest.raises(TypeError, match=f"{cost} must be a number"):
        Costs(**{cost: "x"})


def test_bands_of_the_wrong_kind():
    with pytest.raises(TypeError, match=re.escape("bands must be Bands, not (20, 5)")):
        plan_bands((20, 5), 0.8)


class Wrong(ThinLines):
    """Not a probability."""

    def collision_probability(self, distance):
        return 2 - np.asarray(distance, np.float64)


def test_families_with_wrong_probabilities():
    with pytest.raises(
        ValueError,
        match=re.escape("collision_probability of thin-lines must be in 0..1, not 1.5"),
    ):
        plan_recall(0.5, family=Wrong())


@pytest.mark.parametrize(
    ("p1", "p2"), [(0.3, 0.3), (0.2, 0.4), (1.2, 0.5), (0.5, -0.1), (math.nan, 0.1)]
)
def test_probabilities_out_of_order(p1, p2):
    message = re.escape(
        f"probabilities must be 0 <= p2 < p1 <= 1, not p1 = {p1} and p2 = {p2}"
    )
    for of in (
        rho,
        lambda a, b: amplification_for(10, a, b),
        lambda a, b: probe_success(10, a, b, 2, 2),
    ):
        with pytest.raises(ValueError, match=message):
            of(p1, p2)


def test_wrong_arguments_of_the_theory():
    with pytest.raises(ValueError, match="n must be at least 1, not 0"):
        amplification_for(0, 0.5, 0.2)
    with pytest.raises(
        ValueError, match=re.escape("recall must be in (0, 1), not 2.0")
    ):
        amplification_for(10, 0.5, 0.2, recall=2)
    with pytest.raises(
        ValueError,
        match=re.escape("needs more than 2**53 tables of 98 rows with p1 = 0.01"),
    ):
        amplification_for(10**200, 0.01, 0.009, recall=0.9)
    with pytest.raises(
        ValueError, match="rows_per_band must be at least 1 and finite, not 0"
    ):
        probe_success(10, 0.5, 0.2, 0, 1)
    with pytest.raises(
        ValueError, match="tables must be at least 1 and finite, not inf"
    ):
        probe_success(10, 0.5, 0.2, 1, math.inf)
    with pytest.raises(ValueError, match="far_limit must be above 0 and finite, not 0"):
        probe_success(10, 0.5, 0.2, 1, 1, far_limit=0)
