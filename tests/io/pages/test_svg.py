"""Pictures: their numbers are where the axis says, and names are text."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from lshfast._io.pages.svg import Bar, Bin, bars, element, gauge, histogram, matrix


def parsed(picture):
    return ElementTree.fromstring(str(picture))


def test_names_are_escaped():
    drawn = str(
        bars([Bar("<script>", 1, "a & b"), Bar("\x1b\u202e", 2, "x")], 'says "so"')
    )
    assert "<script>" not in drawn
    assert "\x1b" not in drawn
    assert parsed(drawn).findtext("title") == 'says "so"'


def test_bars_are_proportional():
    rects = parsed(
        bars([Bar("all", 200, ""), Bar("half", 100, ""), Bar("none", 0, "")], "bars")
    ).findall("rect")
    wide = [float(rect.get("width")) for rect in rects]
    assert wide[0] == pytest.approx(2 * wide[1], rel=0.01)
    assert wide[2] == 1  # can be seen


def test_columns_have_the_height_of_their_counts():
    drawn = parsed(
        histogram([Bin(0, 0.5, 20), Bin(0.5, 1, 10)], "t", axis=(0, 1), x_label="x")
    )
    tall = [float(rect.get("height")) for rect in drawn.iter("rect")]
    assert tall[0] == pytest.approx(2 * tall[1], rel=0.01)
    assert [rect.findtext("title") for rect in drawn.iter("rect")] == [
        "0.00 to 0.50: 20",
        "0.50 to 1.00: 10",
    ]


def test_a_curve_goes_from_the_bottom_to_the_top():
    drawn = parsed(
        histogram([], "t", axis=(0, 1), x_label="x", curve=[(0, 0), (1, 1)], mark=0.5)
    )
    (first_x, first_y), (last_x, last_y) = (
        map(float, point.split(","))
        for point in drawn.find("polyline").get("points").split()
    )
    assert first_x < last_x
    assert first_y > last_y
    assert float(drawn.findall("line")[-1].get("x1")) == pytest.approx(
        (first_x + last_x) / 2, abs=0.1
    )


def test_no_columns_and_no_bars_are_pictures_too():
    assert parsed(histogram([], "t", axis=(0, 1), x_label="x")).tag == "svg"
    assert parsed(bars([], "t")).tag == "svg"


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_gauge_is_filled(share):
    assert float(parsed(gauge(share)).findall("rect")[1].get("width")) == 100 * share


def test_attributes_are_escaped():
    assert (
        str(element("a", class_='x" onload="y'))
        == '<a class="x&#34; onload=&#34;y"></a>'
    )


def test_the_names_and_the_numbers_of_a_picture_have_room():
    """A character is 10 units wide where a narrow window shows pictures smaller and their text larger."""
    name, label = "n" * 24, "1,000,000 (100.0%)"
    drawn = parsed(bars([Bar(name, 1_000_000, label)], "t"))
    (first, last) = drawn.findall("text")
    assert float(first.get("x")) >= 10 * len(name)
    assert float(last.get("x")) + 10 * len(label) <= 480
    drawn = parsed(histogram([Bin(0, 1, 12_000_000)], "t", axis=(0, 1), x_label="x"))
    counts = [text for text in drawn.iter("text") if text.get("class") == "tick left"]
    assert all(float(text.get("x")) >= 10 * len(text.text) for text in counts)


def test_the_rows_of_a_matrix_do_not_overlap():
    names = [f"genome-{number:02}" for number in range(23)]
    drawn = parsed(matrix(names, {(row, row): 1.0 for row in range(23)}, "t"))
    places = [float(text.get("y")) for text in drawn.findall("text")]
    assert min(below - above for above, below in pairwise(places)) >= 18
