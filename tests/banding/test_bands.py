"""Bands: the S-curve's printed values, the choice of bands and rows, their keys, and the errors."""

import math
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lshfast import Bands, MinHasher, TokenSets, choose_bands
from lshfast.banding.scurve import (
    approximate_threshold,
    false_rates,
    half_point,
    scurve,
    steepest,
)
from tests.reference import minhash
from tests.reference import scurve as reference

TENTHS = np.arange(1, 10) / 10
EMPTY = 2**64 - 1


def printed(*values):
    """Return what rounds to numbers given as strings: half a unit of the last digit either way."""
    digits = [len(value.partition(".")[2]) or 4 for value in values]
    close = [
        pytest.approx(float(value), abs=0.5000001 * 10**-d)
        for value, d in zip(values, digits, strict=True)
    ]
    return close[0] if len(close) == 1 else close


# The choice


@pytest.mark.parametrize(
    ("num_perm", "threshold", "bands", "rows"),
    [
        (128, 0.5, 42, 3),
        (128, 0.7, 25, 5),
        (128, 0.8, 18, 7),
        (128, 0.9, 10, 12),
        (256, 0.5, 64, 4),
        (256, 0.7, 36, 7),
        (256, 0.8, 28, 9),
        (256, 0.9, 16, 16),
    ],
)
def test_bands_for_a_recall_of_95_percent(num_perm, threshold, bands, rows):
    choice = choose_bands(threshold, num_perm)
    assert choice == Bands(bands, rows)
    assert choice.probability(threshold) >= 0.95
    assert Bands(num_perm // (rows + 1), rows + 1).probability(threshold) < 0.95


@pytest.mark.parametrize(
    ("num_perm", "threshold", "bands", "rows"),
    [
        (128, 0.3, 37, 3),
        (128, 0.5, 25, 5),
        (128, 0.6, 18, 7),
        (128, 0.7, 14, 9),
        (128, 0.8, 9, 13),
        (128, 0.9, 5, 25),
        (128, 0.95, 3, 42),
        (256, 0.5, 42, 6),
        (256, 0.7, 25, 10),
        (256, 0.8, 17, 15),
        (256, 0.9, 9, 28),
    ],
)
def test_bands_of_the_least_area_are_the_peers(num_perm, threshold, bands, rows):
    choice = choose_bands(threshold, num_perm, weights=(0.5, 0.5))
    assert choice == Bands(bands, rows)
    assert 0.30 < choice.probability(threshold) < 0.65  # of the pairs at the threshold


def test_weights_move_the_choice():
    few_false, balanced, few_missed = (
        choose_bands(0.8, 32, weights=w) for w in [(0.9, 0.1), (1, 1), (0.1, 0.9)]
    )
    assert few_false.half_point > balanced.half_point > few_missed.half_point
    assert choose_bands(0.8, 32, weights=(3, 0)) == Bands(1, 32)


@pytest.mark.slow
@given(st.floats(0.01, 1), st.integers(1, 300), st.floats(0.01, 0.999))
def test_choice_equals_the_reference(threshold, num_perm, recall):
    odds = [
        reference.probability(threshold, num_perm // r, r)
        for r in range(1, num_perm + 1)
    ]
    assume(min(abs(p - recall) for p in odds) > 1e-12)
    try:
        expected = reference.choose(threshold, num_perm, recall)
    except ValueError:
        with pytest.raises(ValueError, match=f"out of reach of num_perm {num_perm}"):
            choose_bands(threshold, num_perm, recall=recall)
    else:
        assert choose_bands(threshold, num_perm, recall=recall) == Bands(*expected)


def test_threshold_one_takes_one_band():
    assert choose_bands(1, 128, recall=0.999) == Bands(1, 128)


# The S-curve


@given(st.floats(0, 1), st.integers(1, 500), st.integers(1, 60))
def test_s_curve_equals_the_reference(s, bands, rows):
    expected = reference.probability(s, bands, rows)
    assert scurve(s, bands, rows) == pytest.approx(expected, abs=1e-12)
    assert Bands(bands, rows).probability(s) == scurve(s, bands, rows)


@given(st.integers(1, 500), st.integers(1, 60))
def test_points_of_the_s_curve_equal_the_reference(bands, rows):
    assert (
        half_point(bands, rows)
        == Bands(bands, rows).half_point
        == reference.half_point(bands, rows)
    )
    assert scurve(half_point(bands, rows), bands, rows) == pytest.approx(0.5)
    assert approximate_threshold(bands, rows) == reference.approximate_threshold(
        bands, rows
    )
    assert steepest(bands, rows) == pytest.approx(reference.steepest(bands, rows))


@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (20, 5), (1, 128), (128, 1)])
def test_s_curve_at_its_ends(bands, rows):
    assert scurve([0, 1], bands, rows).tolist() == [0, 1]
    assert (scurve(0, bands, rows), scurve(1.0, bands, rows)) == (0, 1)
    assert not np.signbit(scurve(0.0, bands, rows))


def test_s_curve_keeps_small_probabilities():
    """1 - (1 - s^r)^b in floating point is 0 here; b s^r is right."""
    assert scurve(0.01, 50, 10) == pytest.approx(50 * 0.01**10, rel=1e-12, abs=0)


def test_s_curve_takes_arrays_of_any_shape():
    grid = np.linspace(0, 1, 12).reshape(3, 4)
    assert np.array_equal(
        scurve(grid, 20, 5).ravel(), [scurve(s, 20, 5) for s in grid.ravel()]
    )


@given(st.floats(0.01, 0.99), st.integers(1, 60), st.integers(1, 20))
def test_false_rates_are_the_areas(threshold, bands, rows):
    """Against the closed form: (1 - s^r)^b is a sum of powers of s for few bands, a Riemann sum for many."""
    s = (np.arange(20_000) + 0.5) / 20_000
    below, above = threshold * s, threshold + (1 - threshold) * s
    positive, negative = false_rates(threshold, bands, rows)
    assert positive == pytest.approx(
        threshold * scurve(below, bands, rows).mean(), abs=1e-6
    )
    assert negative == pytest.approx(
        (1 - threshold) * (1 - scurve(above, bands, rows)).mean(), abs=1e-6
    )


# What the course texts print (numbers of the checklist)


def test_b4_seven_tables():
    assert scurve([0.5, 0.25], 7, 1).tolist() == printed("0.99219", "0.86652")


@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (1, 2), (6, 2)])
def test_b2_rows_hashed_to_few_buckets(bands, rows):
    """g(MinHash) with values in 1..m adds the probability 1 / m that different rows share a bucket."""
    assert Bands(1, 1).probability([0, 0.4, 1], buckets=8).tolist() == pytest.approx(
        [1 / 8, 0.4 + 0.6 / 8, 1]
    )
    shared, pairs, buckets = 2 / 3, 4000, 8
    tokens = np.random.default_rng(2).integers(0, 2**64, (pairs, 60), np.uint64)
    halves = [
        TokenSets(np.arange(0, 50 * pairs + 1, 50), part.ravel())
        for part in (tokens[:, :50], tokens[:, 10:])
    ]
    keys = [
        Bands(bands, rows).keys(MinHasher(bands * rows, "classic").sketch(half))
        % np.uint64(buckets)
        for half in halves
    ]
    p = Bands(bands, rows).probability(shared, buckets=buckets)
    assert abs((keys[0] == keys[1]).any(axis=1).mean() - p) < 4 * math.sqrt(
        p * (1 - p) / pairs
    )


def test_b2_refuses_no_buckets():
    with pytest.raises(ValueError, match="buckets must be at least 1, not 0"):
        Bands(2, 2).probability(0.5, buckets=0)


def test_b6_threshold():
    bands = Bands(30, 5)
    assert bands.approximate_threshold == printed("0.50650")
    # The text says one half.
    assert bands.probability(bands.approximate_threshold) == printed("0.638")
    assert bands.half_point == printed("0.46961")
    assert (Bands(10, 10).half_point, Bands(10, 10).approximate_threshold) == tuple(
        printed("0.7631", "0.7943")
    )


def test_b7_scan_of_ten_million_clips():
    assert scurve([0.9, 0.7], 50, 25).tolist() == printed("0.97588", "0.006683")
    # Clips of similarity .9 and .7; ten are what is sought.
    histogram = np.array([10_000, 9_989_990])
    assert round(10 + float(scurve([0.9, 0.7], 50, 25) @ histogram)) == 76_536


def test_d9_one_pair_in_2809_is_missed():
    assert scurve([0.8, 0.4], 1, 5).tolist() == printed("0.32768", "0.01024")
    assert round(1 / (1 - scurve(0.8, 20, 5))) == 2809
    assert scurve(0.4, 20, 5) == printed("0.186")


def test_d10_table():
    table = printed(
        "0.006381",
        "0.047494",
        "0.186050",
        "0.470051",
        "0.801902",
        "0.974781",
        "0.999644",
    )
    assert scurve(TENTHS[1:8], 20, 5).tolist() == table


def test_d11_steepest_point():
    assert list(steepest(20, 5)) == printed("0.52636", "3.5061")
    assert steepest(7, 1) == (0, 7)


def test_f12_threshold():
    assert Bands(16, 4).approximate_threshold == 0.5
    assert Bands(16, 4).half_point == printed("0.45377")
    assert Bands(20, 5).approximate_threshold == printed("0.54928")
    assert Bands(20, 5).half_point == printed("0.50870")


def test_f13_twenty_bands_of_five():
    assert 1 - scurve(0.8, 1, 5) == printed("0.672")
    assert math.trunc(1e5 * (1 - scurve(0.8, 20, 5))) == 35
    assert scurve(0.8, 20, 5) == printed("0.99964")
    rise = scurve(0.6, 20, 5) - scurve(0.4, 20, 5)
    assert rise > 0.6
    assert rise / 0.2 > 3


@pytest.mark.parametrize(
    ("rows", "bands", "values", "half", "approximate"),
    [
        (
            3,
            10,
            ".00996 .0772 .2394 .4839 .7369 .9123 .9850 .9992 1",
            "0.40609",
            "0.46416",
        ),
        (
            6,
            20,
            ".00002 .00128 .01448 .0788 .2702 .6154 .9182 .9977 1",
            "0.56935",
            "0.60696",
        ),
        (5, 50, ".0005 .0159 .1145 .4023 .7956 .9825 .9999 1 1", "0.42439", "0.45731"),
    ],
)
def test_f15_exercises(rows, bands, values, half, approximate):
    assert scurve(TENTHS, bands, rows).tolist() == printed(*values.split())
    assert half_point(bands, rows) == printed(half)
    assert approximate_threshold(bands, rows) == printed(approximate)
    assert scurve(0.01, bands, rows) == pytest.approx(bands * 0.01**rows, rel=1e-3)


# Keys


@given(
    st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=8), max_size=4),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_keys_equal_the_reference(rows, bands, rows_a_band):
    signatures = MinHasher(81).sketch(TokenSets.from_sets(rows))
    keys = Bands(bands, rows_a_band).keys(signatures)
    assert keys.tolist() == [
        minhash.band_keys(s, bands, rows_a_band) for s in signatures.tolist()
    ]
    assert [all(key == EMPTY for key in row) for row in keys.tolist()] == [
        not row for row in rows
    ]


# Errors name the argument, the value and the range


@pytest.mark.parametrize("threshold", [0, -1, 1.5, math.nan, math.inf])
def test_thresholds_out_of_range(threshold):
    with pytest.raises(
        ValueError, match=re.escape(f"threshold must be in (0, 1], not {threshold}")
    ):
        choose_bands(threshold)


@pytest.mark.parametrize("threshold", [True, "x", None, [0.5]])
def test_thresholds_of_the_wrong_kind(threshold):
    with pytest.raises(
        TypeError, match=re.escape(f"threshold must be a number, not {threshold!r}")
    ):
        choose_bands(threshold)


@pytest.mark.parametrize("recall", [0, 1, -0.5, 1.5, math.nan])
def test_recalls_out_of_range(recall):
    with pytest.raises(
        ValueError, match=re.escape(f"recall must be in (0, 1), not {recall}")
    ):
        choose_bands(0.8, recall=recall)


def test_recall_out_of_reach():
    message = (
        "recall 0.95 at threshold 0.1 is out of reach of num_perm 16: at most 0.8147"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        choose_bands(0.1, 16)


@pytest.mark.parametrize("num_perm", [0, -5, 65537])
def test_num_perm_out_of_range(num_perm):
    with pytest.raises(
        ValueError, match=f"num_perm must be in 1..65536, not {num_perm}"
    ):
        choose_bands(0.8, num_perm)


@pytest.mark.parametrize("weights", [(-1, 2), (0.5, -0.1), (0, 0)])
def test_weights_out_of_range(weights):
    said = f"weights must be finite, not negative, and not both 0; they are {tuple(map(float, weights))}"
    with pytest.raises(ValueError, match=re.escape(said)):
        choose_bands(0.8, 16, weights=weights)


@pytest.mark.parametrize(
    ("bands", "rows", "error", "message"),
    [
        (0, 5, ValueError, "bands must be at least 1, not 0"),
        (5, -1, ValueError, "rows_per_band must be at least 1, not -1"),
        (1.0, 5, TypeError, "bands must be an int, not 1.0"),
        (5, True, TypeError, "rows_per_band must be an int, not True"),
        ("5", 5, TypeError, "bands must be an int, not '5'"),
    ],
)
def test_impossible_bands(bands, rows, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Bands(bands, rows)


def test_more_slots_than_a_signature_has():
    assert Bands(20, 5).slots == 100
    with pytest.raises(ValueError, match="20 x 5 slots do not fit in signatures of 99"):
        Bands(20, 5).keys(np.zeros((2, 99), np.uint64))


@pytest.mark.parametrize(
    "signatures",
    [np.zeros((2, 128)), np.zeros((2, 128), np.int64), np.zeros(128, np.uint64)],
)
def test_signatures_of_the_wrong_kind(signatures):
    with pytest.raises(TypeError, match="signatures must be uint64"):
        Bands(20, 5).keys(signatures)


@pytest.mark.parametrize("similarity", [-0.1, 1.1, math.nan, [0.5, 2]])
def test_similarities_out_of_range(similarity):
    with pytest.raises(ValueError, match=re.escape("similarity must be in [0, 1]")):
        scurve(similarity, 20, 5)


# Errors name the argument


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"recall": "x"}, TypeError, "recall"),
        ({"num_perm": 1.5}, TypeError, "num_perm"),
        ({"num_perm": "x"}, TypeError, "num_perm"),
        ({"num_perm": True, "recall": 0.5}, TypeError, "num_perm"),
        ({"weights": (math.nan, 1)}, ValueError, "weights"),
        ({"weights": (math.inf, 1)}, ValueError, "weights"),
        ({"weights": ("a", "b")}, TypeError, "weights"),
        ({"weights": (1,)}, (TypeError, ValueError), "weights"),
    ],
)
def test_errors_name_the_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        choose_bands(0.8, **{"num_perm": 16, **arguments})
