"""Amplification: the numbers that textbooks print, exact arithmetic beside it, collisions counted, and the errors."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import Bands
from lshfast.banding.scurve import approximate_threshold
from lshfast.families import NO_VALUE, Amplified, Cascade, Family, family_of
from tests.families.thin import ThinBits, ThinLines, pairs_at
from tests.reference import cascade as reference

TENTHS = np.arange(1, 10) / 10
FAMILY = ThinBits(1000)
STEPS = st.lists(
    st.tuples(st.sampled_from(["and", "or"]), st.integers(1, 9)), max_size=3
).map(tuple)
MIXED = st.tuples(
    st.booleans(), st.lists(st.integers(2, 12), min_size=2, max_size=4)
).map(
    lambda drawn: tuple(
        ("and" if i % 2 == drawn[0] else "or", count)
        for i, count in enumerate(drawn[1])
    )
)


def printed(*values):
    """Return what rounds to numbers given as strings: half a unit of the last digit either way."""
    digits = [len(value.partition(".")[2]) or 4 for value in values]
    close = [
        pytest.approx(float(value), abs=0.5000001 * 10**-d)
        for value, d in zip(values, digits, strict=True)
    ]
    return close[0] if len(close) == 1 else close


# What the course texts print (numbers of the checklist)


def test_a18_sensitivity():
    """Bit sampling within a third of the coordinates, against twice as far."""
    assert FAMILY.sensitivity(1 / 3, 2 / 3) == pytest.approx(
        (1 / 3, 2 / 3, 2 / 3, 1 / 3)
    )


def test_b4_or_of_seven():
    assert FAMILY.or_(7).curve([1 / 2, 1 / 4]).tolist() == printed("0.99219", "0.86652")


def test_b6_half_point_is_not_the_approximate_threshold():
    """A text says that a pair is found with probability 1/2 at (1/t)**(1/r). It is found with 1 - 1/e or more."""
    curve = FAMILY.and_(5).or_(30)
    assert curve.half_point == printed("0.46961")
    assert curve.curve(approximate_threshold(30, 5)) == printed("0.638")
    assert FAMILY.and_(10).or_(10).half_point == printed("0.7631")


def test_d9_twenty_bands_of_five():
    assert FAMILY.and_(5).curve([0.8, 0.4]).tolist() == printed("0.32768", "0.01024")
    assert round(1 / (1 - FAMILY.and_(5).or_(20).curve(0.8))) == 2809
    assert FAMILY.and_(5).or_(20).curve(0.4) == printed("0.186")


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
    assert FAMILY.and_(5).or_(20).curve(TENTHS[1:8]).tolist() == table


def test_d11_slope_of_twenty_bands_of_five():
    """A text says "about 2.3". That is the slope near .41; the steepest is 3.506, and 3.466 at the half-point."""
    cascade = FAMILY.and_(5).or_(20).cascade
    assert list(cascade.steepest()) == printed("0.52636", "3.50606")
    assert cascade.slope(cascade.half_point) == printed("3.466")
    assert cascade.slope(0.41) == pytest.approx(2.3, abs=0.05)


def test_f12_half_points():
    """(1/b)**(1/r) is .5 and .54928, which are not the half-points."""
    assert FAMILY.and_(4).or_(16).half_point == printed("0.45377")
    assert FAMILY.and_(5).or_(20).half_point == printed("0.50870")


def test_f13_rise():
    curve = FAMILY.and_(5).or_(20).curve
    assert 1 - FAMILY.and_(5).curve(0.8) == printed("0.672")
    assert curve(0.8) == printed("0.99964")
    assert curve(0.6) - curve(0.4) > 0.6


@pytest.mark.parametrize(
    ("rows", "bands", "values", "half"),
    [
        (3, 10, ".00996 .0772 .2394 .4839 .7369 .9123 .9850 .9992 1", "0.40609"),
        (6, 20, ".00002 .00128 .01448 .0788 .2702 .6154 .9182 .9977 1", "0.56935"),
        (5, 50, ".0005 .0159 .1145 .4023 .7956 .9825 .9999 1 1", "0.42439"),
    ],
)
def test_f15_exercises(rows, bands, values, half):
    curve = FAMILY.and_(rows).or_(bands)
    assert curve.curve(TENTHS).tolist() == printed(*values.split())
    assert curve.half_point == printed(half)
    assert curve.curve(1e-6) == pytest.approx(bands * 1e-6**rows, rel=1e-9)


def test_f18_sensitivity():
    """Of a family of collision probability 1 - distance, such as MinHash."""
    assert FAMILY.sensitivity(0.3, 0.6) == pytest.approx((0.3, 0.6, 0.7, 0.4))


def test_f19_and_then_or():
    """The text calls the slope "never much higher than 2"; it reaches 2.45."""
    curve = FAMILY.and_(4).or_(4)
    table = "0.0064 0.0320 0.0985 0.2275 0.4260 0.6666 0.8785 0.9860"
    assert curve.curve(TENTHS[1:]).tolist() == printed(*table.split())
    assert curve.fixed_point() == printed("0.7244920")
    assert list(curve.steepest()) == printed("0.66874", "2.44998")
    assert list(curve.sensitivity(0.2, 0.6)) == printed(
        "0.2", "0.6", "0.8785", "0.0985"
    )


def test_f20_or_then_and():
    curve = FAMILY.or_(4).and_(4)
    table = "0.0140 0.1215 0.3334 0.5740 0.7725 0.9015 0.9680 0.9936"
    assert curve.curve(TENTHS[:8]).tolist() == printed(*table.split())
    assert curve.fixed_point() == printed("0.2755080")
    assert list(curve.steepest()) == printed("0.33126", "2.44998")
    assert list(curve.sensitivity(0.2, 0.6)) == printed(
        "0.2", "0.6", "0.9936", "0.5740"
    )


def test_f21_cascade_of_256():
    """The text gives (.99999996, .0008715) for AND-OR then OR-AND. That is the other order, with a 9 too many."""
    first = FAMILY.and_(4).or_(4).or_(4).and_(4)
    assert first.cascade.functions == 256
    assert first.curve([0.8, 0.2]).tolist() == [
        printed("0.9991285"),
        pytest.approx(4.094e-7, rel=1e-4),
    ]
    second = FAMILY.or_(4).and_(4).and_(4).or_(4)
    assert second.curve([0.8, 0.2]).tolist() == printed("0.9999995906", "0.00087148")


@pytest.mark.parametrize(
    ("steps", "fixed"),
    [
        ([("and", 2), ("or", 3)], "0.3893907"),
        ([("or", 3), ("and", 2)], "0.1516251"),
        ([("and", 2), ("or", 2), ("and", 2)], "0.8474446"),
        ([("or", 2), ("and", 2), ("or", 2), ("and", 2)], "0.3819660"),
    ],
)
def test_f22_fixed_points(steps, fixed):
    assert Amplified(FAMILY, tuple(steps)).fixed_point() == printed(fixed)


def test_f22_fixed_points_in_closed_form():
    """p**3 - 2 p + 1 is 0 at 1 and at the golden ratio; the dual construction has 1 minus it, also twice in a row."""
    golden = (math.sqrt(5) - 1) / 2
    assert FAMILY.and_(2).or_(2).fixed_point() == pytest.approx(golden, rel=1e-15)
    assert FAMILY.or_(2).and_(2).fixed_point() == pytest.approx(1 - golden, rel=1e-15)
    assert FAMILY.or_(2).and_(2).or_(2).and_(2).fixed_point() == pytest.approx(
        1 - golden, rel=1e-15
    )


@pytest.mark.parametrize(
    ("rows", "bands"), [(5, 20), (2, 2), (13, 164), (1, 7), (7, 1), (1, 1)]
)
def test_f22_steepest_points(rows, bands):
    point = ((rows - 1) / (rows * bands - 1)) ** (1 / rows) if rows * bands > 1 else 0
    assert FAMILY.and_(rows).or_(bands).steepest()[0] == pytest.approx(point)
    if rows > 1:
        point = 1 - ((bands - 1) / (rows * bands - 1)) ** (1 / bands)
        assert FAMILY.or_(bands).and_(rows).steepest()[0] == pytest.approx(point)


# Against exact arithmetic


@given(st.floats(0, 1), STEPS)
def test_curve_equals_the_reference(p, steps):
    exact = reference.curve(Fraction(p), list(steps))
    found = float(Cascade(steps).curve(p))
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
    assert 1 - found == pytest.approx(float(1 - exact), rel=1e-12, abs=2e-16)


@given(st.floats(0, 1), STEPS)
def test_slope_equals_the_reference(p, steps):
    expected = float(reference.slope(Fraction(p), list(steps)))
    assert float(Cascade(steps).slope(p)) == pytest.approx(
        expected, rel=1e-10, abs=1e-300
    )


@pytest.mark.parametrize("p", [1e-300, 1e-20, 1e-9, 1 - 1e-9, 1 - 2**-53])
def test_curves_keep_digits_at_both_ends(p):
    """1 - (1 - p)**b in floating point is 0 for the smallest of these, where b p is right."""
    assert Cascade().or_(1000).and_(1).curve(p) == pytest.approx(
        float(1 - (1 - Fraction(p)) ** 1000), rel=1e-14
    )
    many = Cascade().or_(2**40).and_(2)
    assert many.curve(1e-30) == pytest.approx((2**40 * 1e-30) ** 2, rel=1e-12, abs=0)
    dual = Cascade().and_(2**40).or_(2)  # misses 1 - (1 - 2**-53)**(2**40) squared
    assert 1 - dual.curve(1 - 2**-53) == pytest.approx(2.0**-26, rel=1e-3)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50), STEPS)
def test_curves_rise_from_0_to_1(points, steps):
    values = Cascade(steps).curve([0, *sorted(points), 1])
    assert (values[0], values[-1]) == (0, 1)
    assert not np.signbit(values[0])
    assert (np.diff(values) >= -1e-15).all()
    assert ((values >= 0) & (values <= 1)).all()


@given(st.floats(0, 1), STEPS, STEPS)
def test_steps_compose(p, inner, outer):
    both = Cascade((*inner, *outer))
    assert both.curve(p) == pytest.approx(
        Cascade(outer).curve(Cascade(inner).curve(p)), rel=1e-9, abs=1e-13
    )
    assert both.functions == Cascade(inner).functions * Cascade(outer).functions


@given(st.floats(1e-6, 1 - 1e-6), STEPS)
def test_inverse(probability, steps):
    cascade = Cascade(steps)
    assert cascade.curve(cascade.inverse(probability)) == pytest.approx(
        probability, rel=1e-6
    )
    assert cascade.inverse([0, 1]).tolist() == [0, 1]


@given(st.floats(0, 1), STEPS)
def test_and_is_or_of_what_does_not_collide(p, steps):
    dual = Cascade(
        tuple(({"and": "or", "or": "and"}[step], count) for step, count in steps)
    )
    assert dual.curve(1 - p) == pytest.approx(
        1 - Cascade(steps).curve(p), rel=1e-6, abs=1e-13
    )


@given(MIXED)
def test_one_fixed_point(steps):
    """The curve is below the diagonal at smaller probabilities, and above it at larger ones."""
    cascade = Cascade(steps)
    fixed = cascade.fixed_point()
    assert 0 < fixed < 1
    assert cascade.curve(fixed) == pytest.approx(fixed, rel=1e-11)
    odds = fixed / (1 - fixed) * np.array([1e-3, 0.5, 0.99, 1.01, 2, 1e3])
    points = odds / (1 + odds)
    assert (np.sign(cascade.curve(points) - points) == [-1, -1, -1, 1, 1, 1]).all()


@given(MIXED)
def test_no_point_is_steeper(steps):
    cascade = Cascade(steps)
    p, slope = cascade.steepest()
    points = np.concatenate(
        [
            np.linspace(0, 1, 2001),
            p + (1 - p) * np.logspace(-12, 0, 50),
            p * (1 - np.logspace(-12, 0, 50)),
        ]
    )
    assert slope == cascade.slope(p)
    assert (cascade.slope(points) <= slope * (1 + 1e-11)).all()


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0, 1))
def test_and_then_or_is_banding(rows, bands, p):
    curve = FAMILY.and_(rows).or_(bands)
    assert curve.curve(p) == pytest.approx(Bands(bands, rows).probability(p), rel=1e-12)
    assert curve.half_point == pytest.approx(Bands(bands, rows).half_point, rel=1e-12)


def test_curves_take_arrays_of_any_shape():
    grid = np.linspace(0, 1, 12).reshape(3, 4)
    curve = FAMILY.and_(3).or_(4)
    assert curve.curve(grid).shape == curve.collision_probability(grid).shape == (3, 4)
    assert curve.collision_probability(0.25).shape == ()
    assert np.array_equal(curve.collision_probability(grid), curve.curve(1 - grid))


# Functions


@pytest.mark.parametrize(
    "steps",
    [
        (("and", 3),),
        (("or", 3),),
        (("and", 2), ("or", 3)),
        (("or", 3), ("and", 2)),
        (("and", 2), ("or", 2), ("and", 2)),
        (("or", 2), ("and", 2), ("or", 2), ("and", 2)),
    ],
)
@pytest.mark.parametrize("distance", [0.1, 0.3, 0.6])
def test_pairs_collide_as_often_as_the_curve_says(steps, distance):
    pairs, count = 200, 50
    family = Amplified(ThinBits(400, 7), steps)
    first, second = pairs_at(distance, pairs, 400, seed=3)
    found = family.collide(first, second, count)
    assert found.shape == (pairs, count)
    p = float(family.collision_probability(distance))
    # Pairs share the functions, which are independent.
    error = found.mean(axis=0).std(ddof=1) / math.sqrt(count)
    assert abs(found.mean() - p) <= 4 * error


def test_functions_are_groups_of_those_of_the_base():
    first, second = pairs_at(0.3, 50, 100, seed=5)
    base = ThinBits(100, 2)
    found = base.collide(first, second, 24).reshape(50, 4, 3, 2)
    assert np.array_equal(
        base.and_(2).or_(3).collide(first, second, 4), found.all(axis=3).any(axis=2)
    )
    assert np.array_equal(
        base.or_(2).and_(3).collide(first, second, 4), found.any(axis=3).all(axis=2)
    )


def test_values_of_and_are_buckets_of_the_base():
    items, _ = pairs_at(0.5, 50, 100, seed=5)
    base = ThinBits(100)
    assert np.array_equal(base.and_(6).hash(items, 4), base.buckets(items, 4, 6))
    assert np.array_equal(base.and_(2).buckets(items, 4, 3), base.buckets(items, 4, 6))
    assert base.and_(2).hash(items, 5).max() <= 3


class NoValues(ThinBits):
    """Vectors that begin with 1 have no value."""

    def hash(self, items, count, *, threads=None):
        values = super().hash(items, count)
        values[items[:, 0] == 1] = NO_VALUE
        return values


def test_items_without_values_collide_with_none():
    items = np.array([[0, 1, 1], [1, 1, 1]], np.uint8)
    family = NoValues(3)
    assert family.and_(2).or_(3).collide(items, items, 5).tolist() == [
        [True] * 5,
        [False] * 5,
    ]
    assert (family.and_(3).hash(items, 2)[1] == NO_VALUE).all()


def test_distance_is_that_of_the_base():
    first, second = pairs_at(0.3, 5, 100, seed=1)
    assert ThinBits(100).and_(2).or_(3).distance(first, second).tolist() == [0.3] * 5
    assert FAMILY.or_(2).max_distance == 1
    assert ThinLines().or_(2).max_distance == math.inf


# Equal constructions are equal


@given(STEPS)
def test_round_trip(steps):
    family = Amplified(FAMILY, steps)
    assert family_of(family.describe()) == family
    assert hash(family_of(family.describe())) == hash(family)
    built: Family = FAMILY
    for step, count in steps:
        built = built.and_(count) if step == "and" else built.or_(count)
    assert Amplified(built, ()) == family


def test_equal_constructions_are_equal():
    assert (
        FAMILY.and_(2).and_(3)
        == FAMILY.and_(6)
        == Amplified(FAMILY.and_(3), (("and", 2),))
        != FAMILY.and_(5)
    )
    assert FAMILY.and_(2).or_(1) == FAMILY.and_(2) == FAMILY.or_(1).and_(2).and_(1)
    assert Cascade().and_(2).or_(1).and_(3) == Cascade((("and", 6),))
    assert FAMILY.and_(2).or_(3).cascade == Cascade().and_(2).or_(3)


# Errors


@pytest.mark.parametrize("count", [0, -3])
@pytest.mark.parametrize("step", ["and_", "or_"])
def test_counts_out_of_range(step, count):
    for start in (FAMILY, Cascade()):
        with pytest.raises(ValueError, match=f"count must be at least 1, not {count}"):
            getattr(start, step)(count)


@pytest.mark.parametrize("count", [2.0, "3", None, True])
def test_counts_of_the_wrong_kind(count):
    for start in (FAMILY, Cascade()):
        with pytest.raises(
            TypeError, match=re.escape(f"count must be an int, not {count!r}")
        ):
            start.and_(count)


def test_counts_that_are_too_large():
    with pytest.raises(
        ValueError, match=re.escape(f"count must be in 1..{2**53}, not {2**60}")
    ):
        Cascade().or_(2**60)
    with pytest.raises(
        ValueError, match=re.escape(f"count must be in 1..{2**53}, not {2**60}")
    ):
        FAMILY.and_(2**30).and_(2**30)


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ((("xor", 2),), ValueError, "a step must be 'and' or 'or', not 'xor'"),
        (("and", 2), TypeError, "a step must be a pair such as ('and', 4), not 'and'"),
        (
            ((2, "and"),),
            TypeError,
            "a step must be a pair such as ('and', 4), not (2, 'and')",
        ),
        (
            "and",
            TypeError,
            "steps must be a tuple of pairs such as ('and', 4), not 'and'",
        ),
        (5, TypeError, "steps must be a tuple of pairs such as ('and', 4), not 5"),
    ],
)
def test_wrong_steps(steps, error, message):
    for make in (Cascade, lambda steps: Amplified(FAMILY, steps)):
        with pytest.raises(error, match=re.escape(message)):
            make(steps)
    description = json.dumps(
        {"family": "amplified", "base": FAMILY._description(), "steps": steps}
    )
    with pytest.raises(ValueError, match="step"):
        family_of(description)


def test_base_that_is_no_family():
    with pytest.raises(TypeError, match="base must be a family, not 'minhash'"):
        Amplified("minhash", ())


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, math.inf])
def test_probabilities_out_of_range(p):
    for of in (Cascade().curve, Cascade().slope, FAMILY.and_(2).curve):
        with pytest.raises(ValueError, match=re.escape(f"p must be in 0..1, not {p}")):
            of([0.5, p])
    with pytest.raises(
        ValueError, match=re.escape(f"probability must be in 0..1, not {p}")
    ):
        Cascade().inverse(p)


def test_probabilities_of_the_wrong_kind():
    with pytest.raises(TypeError, match="p must be numbers"):
        Cascade().curve("x")


def test_or_has_no_values():
    items = np.zeros((2, 1000), np.uint8)
    for family in (FAMILY.or_(2), FAMILY.and_(2).or_(3)):
        with pytest.raises(ValueError, match="have several values each: use collide"):
            family.hash(items, 2)
        with pytest.raises(ValueError, match="have several values each: use collide"):
            family.buckets(items, 2, 3)


@pytest.mark.parametrize("steps", [(), (("and", 3),), (("or", 4), ("or", 2))])
def test_one_kind_of_step_has_no_fixed_point(steps):
    with pytest.raises(
        ValueError, match="only a cascade of both AND and OR has a fixed point"
    ):
        Amplified(FAMILY, steps).fixed_point()
