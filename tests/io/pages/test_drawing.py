"""Drawings: well-formed SVG that carries its colours, and is saved as a file that appears whole."""

import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import lshfast
from lshfast import NearNeighbors
from lshfast._io.pages.drawing import Drawing, Panel
from lshfast._io.pages.svg import HEIGHT, Bar, bars, histogram

NAME = "{http://www.w3.org/2000/svg}"
TEXTS = [
    "one two three four five six",
    "One two three four five six!",
    "one two three four five seven",
    "other",
]


@pytest.fixture
def drawing():
    curve = histogram(
        [], "curve", axis=(0.0, 1.0), x_label="x", curve=[(0.0, 0.0), (1.0, 1.0)]
    )
    return Drawing(
        [
            Panel("<curve>", curve, HEIGHT),
            Panel("bars", bars([Bar("a & b", 1, "1")], "bars"), 26),
        ]
    )


def test_a_drawing_has_its_panels_below_each_other(drawing):
    root = ElementTree.fromstring(drawing._repr_svg_())
    assert root.tag == f"{NAME}svg"
    panels = root.findall(f"{NAME}svg")
    ends = [
        (float(panel.get("y")), float(panel.get("y")) + float(panel.get("height")))
        for panel in panels
    ]
    assert ends[0][1] < ends[1][0]
    assert ends[1][1] < float(root.get("height"))
    assert [text.text for text in root.findall(f"{NAME}text")] == ["<curve>", "bars"]
    assert repr(drawing) == "<Drawing: <curve>; bars>"


def test_all_rules_apply_to_drawings_only_and_name_their_colors(drawing):
    style = ElementTree.fromstring(drawing._repr_svg_()).findtext(f"{NAME}style")
    assert "var(" not in style
    assert style.count("prefers-color-scheme: dark") == 1
    selectors = re.findall(
        r"([^{}]+)\{[^{}]*\}",
        style.replace("@media (prefers-color-scheme: dark) {", ""),
    )
    assert len(selectors) > 30
    for selector in selectors:
        assert all(
            part.strip().startswith(".lshfast ") for part in selector.split(",")
        ), selector


def test_a_drawing_is_saved(drawing, tmp_path):
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawing._repr_svg_()
    with pytest.raises(FileExistsError):
        drawing.save(tmp_path / "a.svg")
    drawing.save(tmp_path / "a.svg", overwrite=True)
    with pytest.raises(ValueError, match=r"a\.png: a drawing must be named \.svg"):
        drawing.save(tmp_path / "a.png")


def test_a_curve_alone_has_its_scale_on_the_left():
    drawn = ElementTree.fromstring(
        str(histogram([], "t", axis=(0.0, 20.0), x_label="x", curve=[(0.0, 0.5)]))
    )
    ticks = [
        text for text in drawn.iter("text") if text.get("class").startswith("tick")
    ]
    assert [text.text for text in ticks if "left" in text.get("class")] == [
        "0",
        "0.5",
        "1",
    ]
    assert [text.text for text in ticks if "right" in text.get("class")] == []
    middle = [text.text for text in ticks if "middle" in text.get("class")]
    assert middle == ["0.0", "4.0", "8.0", "12.0", "16.0", "20.0"]


def test_a_result_is_drawn():
    result = lshfast.dedup(TEXTS, threshold=0.3, size=2)
    drawn = ElementTree.fromstring(result.plot()._repr_svg_())
    columns = [
        rect
        for rect in drawn.iter(f"{NAME}rect")
        if rect.find(f"{NAME}title") is not None
    ]
    assert len(columns) == 1
    assert "Groups by number of rows" in repr(result.plot())
    assert "Groups" not in repr(lshfast.dedup(TEXTS[:1]).plot())
    assert lshfast.dedup([]).plot()._repr_svg_()


@pytest.mark.parametrize("metric", ["angle", "euclidean", "manhattan", "hamming"])
def test_a_plan_is_drawn(metric):
    plan = NearNeighbors(metric, radius=2, dim=64, n=1000).plan
    drawn = ElementTree.fromstring(plan.plot()._repr_svg_())
    curve = drawn.find(f".//{NAME}polyline").get("points").split()
    places = np.array([point.split(",") for point in curve], float)
    assert (np.diff(places[:, 0]) > 0).all()
    assert (
        np.diff(places[:, 1]) > -0.6
    ).all()  # down the page: the recall decreases, but for simulations


WITHOUT = """
import sys
sys.modules["matplotlib"] = None
from lshfast.__main__ import main
main()
"""


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("name", ["curve.svg", "curve.png"])
def test_tune_draws_svg_without_matplotlib(tmp_path, name):
    command = [sys.executable, "-c", WITHOUT, "tune", "--plot", tmp_path / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if name.endswith("png"):
        assert (
            done.stderr
            == 'lshfast: error: matplotlib is missing: pip install "lshfast[plots]"\n'
        )
        assert done.returncode == 2
        assert os.listdir(tmp_path) == []
    else:
        assert done.returncode == 0
        assert ElementTree.parse(tmp_path / name).getroot().tag == f"{NAME}svg"
