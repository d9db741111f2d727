"""Plots: what is drawn where, the files, and the errors."""

import math
import pickle
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lshfast import Bands
from lshfast.families import plan_recall, plan_work, plot_curve
from tests.families.thin import ThinBits, ThinLines

FAMILY, LINES = ThinBits(1000), ThinLines()
AND_OR = FAMILY.and_(4).or_(4)
HISTOGRAM = np.array([500, 300, 100, 50, 20, 10, 5, 4, 3, 20]), np.linspace(0, 1, 11)
MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


def lines(ax):
    """Return the points of the lines of a plot by their labels."""
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bars(ax):
    """Return the heights of the bars, by label."""
    (below,) = (other for other in ax.figure.axes if other is not ax)
    return {
        bar.get_label(): [patch.get_height() for patch in bar]
        for bar in below.containers
    }


def test_bands_over_similarity():
    ax = plot_curve(Bands(20, 5), threshold=0.8)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "similarity",
        "probability of becoming a candidate",
    )
    assert (ax.get_xlim(), ax.get_ylim()[0]) == ((0, 1), 0)
    drawn = lines(ax)["20 bands of 5 rows"]
    assert np.array_equal(drawn[:, 1], Bands(20, 5).probability(drawn[:, 0]))
    assert (drawn[0, 0], drawn[-1, 0]) == (0, 1)
    assert lines(ax)["threshold 0.8: 0.9996"].tolist() == [
        [0.8, pytest.approx(0.99964, abs=5e-6)]
    ]
    assert lines(ax)["half at 0.5087"].tolist() == [
        [pytest.approx(0.5087, abs=5e-6), 0.5]
    ]
    assert legend(ax) == [
        "20 bands of 5 rows",
        "one function",
        "threshold 0.8: 0.9996",
        "half at 0.5087",
    ]


def test_bands_over_distance():
    ax = plot_curve(Bands(1, 5), over="distance", threshold=0.2)
    assert ax.get_xlabel() == "distance (1 − similarity)"
    drawn = lines(ax)["1 band of 5 rows"]
    assert drawn[:, 1] == pytest.approx((1 - drawn[:, 0]) ** 5)
    assert "threshold 0.2: 0.3277" in legend(ax)
    assert "half at 0.1294" in legend(ax)


def test_family_over_distance():
    ax = plot_curve(AND_OR, sensitivity=AND_OR.sensitivity(0.2, 0.6))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("distance", "collision probability")
    drawn = lines(ax)["thin-bits, AND of 4, OR of 4"]
    assert drawn[:, 1] == pytest.approx(AND_OR.collision_probability(drawn[:, 0]))
    assert lines(ax)["one function"][:, 1] == pytest.approx(1 - drawn[:, 0])
    assert lines(ax)["at 0.2: 0.8785"].tolist() == [
        [0.2, pytest.approx(0.8785, abs=5e-5)]
    ]
    assert lines(ax)["at 0.6: 0.09853"].tolist() == [
        [0.6, pytest.approx(0.0985, abs=5e-5)]
    ]


def test_family_over_similarity():
    ax = plot_curve(AND_OR, over="similarity", threshold=0.7244920)
    assert ax.get_xlabel() == "collision probability of one function of thin-bits"
    assert "threshold 0.7245: 0.7245" in legend(ax)
    assert lines(ax)["one function"][:, 0] == pytest.approx(
        lines(ax)["one function"][:, 1]
    )


def test_one_function_has_one_curve():
    assert legend(plot_curve(FAMILY)) == ["thin-bits", "half at 0.5"]
    assert legend(plot_curve(Bands(1, 1))) == ["1 band of 1 row", "half at 0.5"]


def test_plan_has_its_threshold_and_axis():
    plan = plan_recall(0.2, family=FAMILY)
    ax = plot_curve(plan)
    assert ax.get_xlabel() == "distance"
    assert f"threshold 0.2: {plan.recall:.4f}" in legend(ax)
    assert "thin-bits, 18 bands of 7 rows" in legend(ax)
    assert f"threshold 0.8: {plan.recall:.4f}" in legend(
        plot_curve(plan, over="similarity")
    )
    assert f"threshold 0.2: {plan.recall:.4f}" in legend(
        plot_curve(plan_recall(0.8), over="distance")
    )
    assert f"threshold 0.3: {float(plan.probability(0.3)):.4f}" in legend(
        plot_curve(plan, threshold=0.3)
    )


def test_unlimited_distances_are_drawn_as_far_as_needed():
    ax = plot_curve(LINES.and_(3).or_(5))
    low, high = ax.get_xlim()
    assert low == 0
    assert LINES.and_(3).or_(5).collision_probability(high) == pytest.approx(0.05)
    assert plot_curve(LINES, threshold=100).get_xlim()[1] == pytest.approx(105)


def test_limits():
    ax = plot_curve(AND_OR, limits=(0, 0.3), threshold=0.5, sensitivity=(0.2, 0.6))
    assert ax.get_xlim() == (0, 0.3)
    assert legend(ax) == [
        "thin-bits, AND of 4, OR of 4",
        "one function",
        "at 0.2: 0.8785",
    ]
    assert plot_curve(LINES, limits=(1, 7)).get_xlim() == (1, 7)


class Certain(ThinLines):
    """Everything collides."""

    def collision_probability(self, distance):
        return np.ones(np.shape(distance))


def test_a_curve_without_a_half_point():
    ax = plot_curve(Certain())
    assert legend(ax) == ["thin-lines"]
    assert ax.get_xlim() == (0, 1)


def test_histogram_under_the_curve():
    ax = plot_curve(Bands(20, 5), histogram=HISTOGRAM)
    drawn = bars(ax)
    assert drawn["items"] == HISTOGRAM[0].tolist()
    shares = np.array(drawn["expected candidates"]) / drawn["items"]
    probability = Bands(20, 5).probability
    assert (shares > probability(HISTOGRAM[1][:-1])).all()
    assert (shares < probability(HISTOGRAM[1][1:])).all()
    assert legend(ax)[-2:] == ["items", "expected candidates"]
    plan = plan_work(0.8, HISTOGRAM)
    assert sum(
        bars(plot_curve(plan, histogram=HISTOGRAM))["expected candidates"]
    ) == pytest.approx(plan.expected_candidates, rel=1e-4)


def test_histogram_of_values():
    clips = [10, 10_000, 9_989_990], [1, 0.9, 0.7]
    ax = plot_curve(Bands(50, 25), histogram=clips)
    assert sum(bars(ax)["expected candidates"]) == pytest.approx(76_535.5, abs=0.05)
    (below,) = (other for other in ax.figure.axes if other is not ax)
    assert below.get_yscale() == "log"
    # The bar at the end is not cut off.
    assert below.containers[0][0].get_bbox().x1 == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("kind", MAGIC)
def test_files(tmp_path, kind):
    path = tmp_path / f"curve.{kind}"
    plot_curve(AND_OR, histogram=HISTOGRAM, path=path)
    assert path.read_bytes().startswith(MAGIC[kind])


@pytest.mark.slow
def test_axes_of_the_user(tmp_path):
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert plot_curve(AND_OR, ax=left, histogram=HISTOGRAM) is left
    assert len(figure.axes) == 3  # and the counts
    assert plot_curve(Bands(20, 5), ax=right, path=tmp_path / "both.png") is right
    assert "items" in legend(left)
    assert "items" not in legend(right)
    inner = Figure().subfigures(1, 2)[0].subplots()
    plot_curve(AND_OR, ax=inner, path=tmp_path / "inner.png")
    assert (tmp_path / "inner.png").exists()


@pytest.mark.slow
def test_no_text_is_outside_or_on_the_curve():
    ax = plot_curve(
        plan_recall(0.2, family=FAMILY),
        sensitivity=(0.1, 0.3),
        histogram=HISTOGRAM,
        over="distance",
    )
    figure = ax.figure
    FigureCanvasAgg(figure).draw()
    boxes = [
        ax.get_legend().get_window_extent(),
        ax.xaxis.label.get_window_extent(),
        ax.yaxis.label.get_window_extent(),
    ]
    assert not any(box.overlaps(ax.get_window_extent()) for box in boxes)
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


DRAW = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[2:]))  # imports of these fail
from lshfast import Bands
from lshfast.families import plot_curve
plot_curve(Bands(2, 3), path=sys.argv[1])
"""


@pytest.mark.slow
def test_pyplot_is_not_needed(tmp_path):
    path = tmp_path / "curve.png"
    subprocess.run(
        [sys.executable, "-c", DRAW, path, "matplotlib.pyplot", "tkinter"], check=True
    )
    assert path.exists()


def test_without_matplotlib(tmp_path):
    command = [sys.executable, "-c", DRAW, tmp_path / "curve.png", "matplotlib"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.endswith(
        'ImportError: matplotlib is missing: pip install "lshfast[plots]"\n'
    )


# Errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"curve": 3}, TypeError, "curve must be a Family, Bands or a BandPlan, not 3"),
        (
            {"over": "angle"},
            ValueError,
            "over must be one of distance, similarity, not 'angle'",
        ),
        (
            {"threshold": 1.5},
            ValueError,
            "threshold must be a distance in 0..1, not 1.5",
        ),
        (
            {"threshold": math.nan},
            ValueError,
            "threshold must be a distance in 0..1, not nan",
        ),
        ({"threshold": "x"}, TypeError, "threshold must be a number, not 'x'"),
        (
            {"curve": Bands(2, 2), "threshold": -1},
            ValueError,
            "threshold must be a similarity in 0..1, not -1",
        ),
        (
            {"curve": LINES, "threshold": math.inf},
            ValueError,
            "threshold must be a distance in 0..inf, not inf",
        ),
        ({"sensitivity": 0.2}, TypeError, "sensitivity must be two values, not 0.2"),
        (
            {"sensitivity": (0.2, 2)},
            ValueError,
            "sensitivity must be a distance in 0..1, not 2",
        ),
        (
            {"limits": (0.5, 0.5)},
            ValueError,
            "limits must be increasing, not (0.5, 0.5)",
        ),
        ({"limits": (0, 2)}, ValueError, "limits must be a distance in 0..1, not 2"),
        ({"limits": 1}, TypeError, "limits must be two values, not 1"),
        (
            {"histogram": ([1], [1, 2, 3])},
            ValueError,
            "values of the histogram must be in 0..1.0, not 2",
        ),
        (
            {"histogram": ([1], [0.1, 0.2, 0.3])},
            ValueError,
            "this one has counts (1,) and values (3,)",
        ),
        ({"path": "curve.xyz"}, ValueError, "Format 'xyz' is not supported"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        plot_curve(**{"curve": AND_OR, **arguments})


@pytest.mark.slow
def test_a_notebook_shows_a_picture():
    """A figure without pyplot has no picture of its own in a notebook."""
    ax = plot_curve(Bands(20, 5), threshold=0.8)
    picture = ElementTree.fromstring(pickle.loads(pickle.dumps(ax))._repr_svg_())
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}path"))) > 20
    figure = Figure()
    assert not hasattr(plot_curve(Bands(20, 5), ax=figure.add_subplot()), "_repr_svg_")
