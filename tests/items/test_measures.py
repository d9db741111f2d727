"""The measures of points: what is checked, and values at which pairs are just similar."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast._items.measures import make_point_plan
from lshfast.index.neighbors.points import PointFormat

COSINE = PointFormat("angle", 4, "float64", None)


@pytest.mark.parametrize(
    ("kind", "options", "error", "reason"),
    [
        (
            "vector",
            {"measure": "jaccard"},
            ValueError,
            "measure must be one of cosine, .* for vectors, not 'jaccard'",
        ),
        (
            "code",
            {"measure": "cosine"},
            ValueError,
            "measure must be one of hamming, tanimoto for codes, not 'cosine'",
        ),
        (
            "vector",
            {"threshold": 0},
            ValueError,
            r"threshold must be in \(0, 1\], not 0",
        ),
        (
            "vector",
            {"threshold": 1.5},
            ValueError,
            r"threshold must be in \(0, 1\], not 1.5",
        ),
        (
            "vector",
            {"threshold": math.nan},
            ValueError,
            r"threshold must be in \(0, 1\], not nan",
        ),
        ("vector", {"threshold": "0.9"}, TypeError, "threshold must be"),
        (
            "vector",
            {"radius": 1},
            ValueError,
            "radius is for distances, and cosine is a similarity.*, not 1",
        ),
        (
            "vector",
            {"measure": "angle"},
            ValueError,
            "radius is needed for the measure angle",
        ),
        (
            "vector",
            {"measure": "angle", "radius": 3.2},
            ValueError,
            "above 0 and at most 3.14159, not 3.2",
        ),
        (
            "vector",
            {"measure": "euclidean", "radius": 0},
            ValueError,
            "a finite number above 0, not 0",
        ),
        (
            "vector",
            {"measure": "euclidean", "radius": math.inf},
            ValueError,
            "a finite number above 0, not inf",
        ),
        (
            "vector",
            {"measure": "manhattan", "radius": math.nan},
            ValueError,
            "a finite number above 0, not nan",
        ),
        (
            "vector",
            {"measure": "manhattan", "radius": "1"},
            TypeError,
            "radius must be",
        ),
        (
            "vector",
            {"measure": "euclidean", "radius": 1, "threshold": 0.5},
            ValueError,
            "threshold is for similarities",
        ),
        (
            "vector",
            {"measure": "euclidean", "radius": 1, "most": 2},
            ValueError,
            "most is an upper bound of simil",
        ),
        (
            "vector",
            {"most": 0.5},
            ValueError,
            r"most must be in 0.95..1, from the threshold, not 0.5",
        ),
        ("vector", {"recall": 1}, ValueError, r"recall must be in \(0, 1\), not 1"),
        (
            "vector",
            {"recall": 0.9, "exact": True},
            ValueError,
            "recall must not be given for exact=True",
        ),
        (
            "vector",
            {"groups": "stars"},
            ValueError,
            "groups must be one of star, components, not 'stars'",
        ),
        ("vector", {"top": 0}, ValueError, "top must be in 1"),
        ("vector", {"top": 1.5}, TypeError, "top must be"),
        ("vector", {"threads": 0}, ValueError, "threads must be at least 1, not 0"),
        ("vector", {"seed": -1}, ValueError, "seed must be"),
        (
            "code",
            {},
            ValueError,
            "radius is needed for the measure hamming: the bits that may differ",
        ),
        ("code", {"radius": 1.5}, TypeError, "radius must be an int"),
        ("code", {"radius": -1}, ValueError, r"radius must be in 0\.\."),
        (
            "code",
            {"radius": 3, "threshold": 0.5},
            ValueError,
            "threshold is for similarities, and hamming is a distance",
        ),
    ],
)
def test_what_is_refused(kind, options, error, reason):
    with pytest.raises(error, match=reason):
        make_point_plan(kind, **options)


def test_defaults():
    vector, code = make_point_plan("vector"), make_point_plan("code", radius=3.0)
    assert (vector.measure, vector.bound, vector.recall, vector.complete) == (
        "cosine",
        0.95,
        0.95,
        False,
    )
    assert (code.measure, code.bound, code.recall, code.complete) == (
        "hamming",
        3.0,
        1.0,
        True,
    )
    assert make_point_plan("code", radius=3, recall=0.9).recall == 0.9
    assert make_point_plan("vector", exact=True).complete


@given(st.floats(0, 1, exclude_min=True))
@example(1.0)
@example(math.nextafter(1, 0))
@example(1 - 1e-12)
@example(5e-324)
@example(0.95)
def test_the_value_at_a_threshold_is_the_largest(threshold):
    value = make_point_plan("vector", threshold=threshold).value_of(COSINE)
    assert 0 <= value <= 2
    assert 1 - value >= threshold
    assert 1 - math.nextafter(value, 3) < threshold


@given(st.sampled_from(["angle", "euclidean", "manhattan"]), st.floats(1e-300, 3.14))
@example("angle", math.pi)
@example("euclidean", 1e300)
@example("euclidean", 5e-324)
@example("angle", 5e-324)
def test_the_value_at_a_radius_is_the_largest(measure, radius):
    format = PointFormat(measure, 4, "float64", None)
    value = make_point_plan("vector", measure=measure, radius=radius).value_of(format)
    assert format.distances(value) <= radius
    if radius < 1e100 and radius != math.pi:
        assert format.distances(np.nextafter(value, np.inf)) > radius
