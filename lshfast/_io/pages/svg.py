"""Pictures as inline SVG. Their colours are in style.css."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import floor, log10
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.types import Float64Array
from lshfast._common.visible import visible

# Units of a picture, about a pixel each: its width, the height of a plot and of a bar of a list,
# and margins. A narrow window shows a picture smaller and its text larger (style.css): a character
# is at most so wide there, a wide one so much wider, and a line so high.
WIDTH = 480
HEIGHT = 226
BAR = 26
LEFT = 52
RIGHT = 44
TOP = 14
BOTTOM = 46
CHARACTER = 10
WIDE_CHARACTERS = frozenset("ABCDEFGHKMNOPQRSTUVWXYZmw_@%")
WIDER = 2
LINE = 18
HEIGHTS = 0, 0.5, 1  # of a plot, at which lines are


class Bar(NamedTuple):
    """A bar of a list.

    Attributes
    ----------
    name : str
    value : float
        Its length, at least 0.
    label : str
        What is written after it.
    kind : str
        A class of style.css: kept, removed or plain.
    """

    name: str
    value: float
    label: str
    kind: str = "plain"


class Bin(NamedTuple):
    """A column of a histogram: its bounds, its number of rows, its class as in `Bar`."""

    low: float
    high: float
    rows: int
    kind: str = "plain"


def bins_of_shares(shares: Float64Array, columns: int) -> list[Bin]:
    """Return a histogram of numbers in [0, 1], of columns of equal width."""
    numbers = np.clip(np.floor(shares * columns), 0, columns - 1).astype(np.int64)
    counts = np.bincount(numbers, minlength=columns).tolist()
    return [
        Bin(number / columns, (number + 1) / columns, count)
        for number, count in enumerate(counts)
    ]


def element(name: str, *inside: Any, **attributes: Any) -> Any:
    """Return an element as Markup; `_` in names of attributes is a hyphen, at the end nothing."""
    optional(
        "jinja2"
    )  # of which markupsafe is a part: the error names the package to install
    escape = optional("markupsafe").escape
    markup = optional("markupsafe").Markup
    parts = [
        f' {key.rstrip("_").replace("_", "-")}="{escape(_shown(value))}"'
        for key, value in attributes.items()
    ]
    content = "".join(str(escape(_shown(part))) for part in inside)
    return markup(f"<{name}{''.join(parts)}>{content}</{name}>")


def picture(height: float, title: str, *inside: Any, width: float = WIDTH) -> Any:
    """Return a picture of this size; `title` describes it to those who cannot see it."""
    box = f"0 0 {_shown(width)} {_shown(height)}"
    return element(
        "svg",
        element("title", title),
        *inside,
        viewBox=box,
        role="img",
        class_="picture" if width < WIDTH else "picture wide",
    )


def bars(rows: Sequence[Bar], title: str) -> Any:
    """Return horizontal bars, one below the other, with names of at most 28 characters."""
    most = max((row.value for row in rows), default=0) or 1
    names = _width_of([row.name for row in rows]) + 12
    room = WIDTH - names - 12 - _width_of([row.label for row in rows])
    drawn = []
    for number, row in enumerate(rows):
        top = number * BAR
        length = row.value / most * room
        drawn += [
            element("text", row.name, x=names - 8, y=top + 17, class_="name"),
            element(
                "rect",
                x=names,
                y=top + 4,
                width=max(length, 1),
                height=BAR - 8,
                class_=f"bar {row.kind}",
            ),
            element(
                "text", row.label, x=names + length + 6, y=top + 17, class_="label"
            ),
        ]
    return picture(len(rows) * BAR, title, *drawn)


def _width_of(labels: Sequence[str]) -> int:
    """Return the width of the longest label in a narrow window."""
    return max(
        (
            CHARACTER * len(label)
            + WIDER * sum(map(WIDE_CHARACTERS.__contains__, label))
            for label in labels
        ),
        default=0,
    )


def gauge(share: float, kind: str = "removed") -> Any:
    """Return a short bar of which a share, in [0, 1], is filled.

    `kind` is a class of style.css, as for a `Bar`.
    """
    return stripe([(0, 100, "empty"), (0, 100 * share, kind)])


def stripe(parts: Iterable[tuple[float, float, str]]) -> Any:
    """Return a short stripe, 100 wide, of parts: the start, the width and the class of each."""
    drawn = [
        element("rect", x=start, y=3, width=width, height=8, class_=kind)
        for start, width, kind in parts
    ]
    return element(
        "svg", *drawn, viewBox="0 0 100 14", class_="gauge", aria_hidden="true"
    )


def matrix(
    names: Sequence[str], cells: Mapping[tuple[int, int], float], title: str
) -> Any:
    """Return cells in rows with these names; they are darker for greater numbers in [0, 1].

    They are squares, unless there are so many that rows of that height would overlap.
    """
    room = _width_of(names) + 12
    side = min((WIDTH - room) / max(len(names), 1), BAR)
    tall = max(side, LINE)
    drawn = [
        element("text", name, x=room - 8, y=tall * (row + 0.5) + 4, class_="name")
        for row, name in enumerate(names)
    ]
    drawn += [
        element(
            "rect",
            x=room + side * column,
            y=tall * row,
            width=side - 0.5,
            height=tall - 0.5,
            class_="kept",
            fill_opacity=f"{0.2 + 0.8 * value:.2f}",
        )
        for (row, column), value in cells.items()
    ]
    return picture(tall * len(names), title, *drawn)


def histogram(
    columns: Sequence[Bin],
    title: str,
    *,
    axis: tuple[float, float],
    x_label: str,
    curve: Iterable[tuple[float, float]] = (),
    mark: float | None = None,
    others: Mapping[str, Iterable[tuple[float, float]]] | None = None,
) -> Any:
    """Return a histogram, and a curve of probabilities over it; without columns, the curve alone.

    Parameters
    ----------
    columns : sequence of Bin
    title, x_label : str
    axis : tuple of two floats
        What the axis reaches from and to.
    curve : iterable of (x, probability)
        Its scale, from 0 to 1, is on the right, or on the left if there are no columns.
    mark : float, optional
        Where a vertical line is.
    others : mapping of str to iterable of (x, probability), optional
        Other curves, with a line and a name each in the upper left corner.
    """
    low, high = axis
    most = _round_up(max((column.rows for column in columns), default=0))
    probabilities = ["0", "0.5", "1"]
    counts = [f"{half * most // 2:,}" for half in range(3)]
    left = max(LEFT, _width_of(counts) + 8)
    wide = WIDTH - left - RIGHT
    tall = HEIGHT - TOP - BOTTOM

    def across(x: float) -> float:
        return left + (x - low) / (high - low) * wide

    def up(share: float) -> float:
        return TOP + (1 - share) * tall

    def line(curve: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{_shown(across(x))},{_shown(up(y))}" for x, y in curve)

    points = line(curve)
    only_points = bool(points) and not columns
    drawn = [_grid(probabilities if only_points else counts, up, left)]
    for column in columns:
        if column.rows:
            start = across(column.low)
            right = across(column.high)
            label = f"{column.low:.2f} to {column.high:.2f}: {column.rows:,}"
            drawn.append(
                element(
                    "rect",
                    element("title", label),
                    x=start + 0.5,
                    y=up(column.rows / most),
                    width=max(right - start - 1, 1),
                    height=tall * column.rows / most,
                    class_=f"bar {column.kind}",
                )
            )
    if points:
        drawn.append(element("polyline", points=points, class_="curve"))
    for number, (name, other) in enumerate((others or {}).items()):
        drawn += _named_curve(number, name, line(other))
    if points and not only_points:
        x = WIDTH - RIGHT + 6
        for y, label in zip(HEIGHTS, probabilities, strict=True):
            drawn.append(element("text", label, x=x, y=up(y) + 4, class_="tick right"))
    if mark is not None:
        drawn.append(
            element(
                "line",
                x1=across(mark),
                x2=across(mark),
                y1=TOP - 6,
                y2=TOP + tall,
                class_="mark",
            )
        )
    drawn += _axis_labels(low, high, across)
    drawn.append(
        element("text", x_label, x=left + wide / 2, y=HEIGHT - 6, class_="axis middle")
    )
    return picture(HEIGHT, title, *drawn)


def _grid(labels: Sequence[str], up: Any, left: float) -> Any:
    """Return lines at no, half and all of the height, with their labels on the left."""
    drawn = []
    for share, label in zip(HEIGHTS, labels, strict=True):
        drawn.append(
            element(
                "line",
                x1=left,
                x2=WIDTH - RIGHT,
                y1=up(share),
                y2=up(share),
                class_="grid",
            )
        )
        drawn.append(
            element("text", label, x=left - 6, y=up(share) + 4, class_="tick left")
        )
    return element("g", *drawn)


def _axis_labels(
    low: float, high: float, across: Callable[[float], float]
) -> list[Any]:
    labels = []
    decimals = max(1 - floor(log10((high - low) / 5)), 0)
    for step in range(6):
        x = low + (high - low) * step / 5
        label = f"{x:.{decimals}f}"
        y = HEIGHT - BOTTOM + 16
        labels.append(element("text", label, x=across(x), y=y, class_="tick middle"))
    return labels


def _named_curve(number: int, name: str, points: str) -> list[Any]:
    """Return a dashed curve, and its line and name in the upper left corner."""
    dashes = f"{2 + 3 * number} 3"
    top = TOP + 12 + 15 * number
    sample = f"{LEFT + 6},{top - 4} {LEFT + 34},{top - 4}"
    return [
        element("polyline", points=points, class_="curve", stroke_dasharray=dashes),
        element("polyline", points=sample, class_="curve", stroke_dasharray=dashes),
        element("text", name, x=LEFT + 40, y=top, class_="label"),
    ]


def _round_up(count: int) -> int:
    """Return the least even number of one or two digits and zeros that is not less than another."""
    step = 2 * int(10 ** max(len(str(count)) - 2, 0))
    return max(-(-count // step) * step, 2)


def _shown(value: Any) -> Any:
    """Return numbers with one decimal, and text without control characters."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible(value, lines=True)
    return value
