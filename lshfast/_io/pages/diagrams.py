"""Diagrams as inline SVG: steps of a sum, graphs, maps of two texts; style.css colours them."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any, NamedTuple

from lshfast._io.pages.svg import WIDTH, element, picture, stripe

# Units of the diagrams: a step is drawn in a line of text; the radius of a node, and the room
# around a graph; the width and the height of a graph; the heights of the text in a map and between
# two texts.
STEP_WIDTH = 160
STEP_HEIGHT = 16
NODE = 11
AROUND = 30
GRAPH_WIDTH = 300
GRAPH_HEIGHT = 240
LINE_HEIGHT = 50  # of a graph of one or two nodes
STRIPE = 16
BETWEEN = 46


class Scale(NamedTuple):
    """The ends of an axis, and a place on it that is marked."""

    low: float
    high: float
    mark: float | None = None

    def at(self, value: float, width: float) -> float:
        """Return the place of a value, limited to the axis."""
        return (
            min(max((value - self.low) / max(self.high - self.low, 1e-9), 0.0), 1.0)
            * width
        )


class Edge(NamedTuple):
    """An edge between two nodes, with its label; `kind` is its class: edge or cut."""

    first: int
    second: int
    label: str
    kind: str = "edge"


class SharedPart(NamedTuple):
    """A passage in two texts: its bounds in each, as parts of the text in [0, 1]; its label."""

    left: tuple[float, float]
    right: tuple[float, float]
    label: str


def step(start: float, end: float, scale: Scale) -> Any:
    """Return a step of a sum from one value to another, as a bar on the axis of all steps."""
    first, second = sorted((scale.at(start, STEP_WIDTH), scale.at(end, STEP_WIDTH)))
    kind = "kept" if end >= start else "removed"
    drawn = [
        element(
            "rect",
            x=first,
            y=3,
            width=max(second - first, 1.0),
            height=STEP_HEIGHT - 6,
            class_=kind,
        )
    ]
    for value, name in ((0.0, "grid"), (scale.mark, "mark")):
        if value is not None and scale.low <= value <= scale.high:
            place = scale.at(value, STEP_WIDTH)
            drawn.append(
                element("line", x1=place, x2=place, y1=0, y2=STEP_HEIGHT, class_=name)
            )
    box = f"0 0 {STEP_WIDTH} {STEP_HEIGHT}"
    return element("svg", *drawn, viewBox=box, class_="step", aria_hidden="true")


def graph(names: Sequence[str], edges: Sequence[Edge], title: str) -> Any:
    """Return a graph with its nodes on a circle, clockwise from the top; two are on a line.

    If there are few nodes, edges have their labels.
    """
    height = GRAPH_HEIGHT
    places = [_on_circle(number, len(names)) for number in range(len(names))]
    if len(names) <= 2:
        height = LINE_HEIGHT
        ends = (AROUND, GRAPH_WIDTH - AROUND)
        places = [(float(end), height / 2) for end in ends[: len(names)]]
    drawn = []
    for edge in edges:
        (x1, y1) = places[edge.first]
        (x2, y2) = places[edge.second]
        text = f"{names[edge.first]} - {names[edge.second]}: {edge.label}"
        drawn.append(
            element(
                "line",
                element("title", text),
                x1=x1,
                y1=y1,
                x2=x2,
                y2=y2,
                class_=edge.kind,
            )
        )
    if len(edges) <= 6:
        drawn += [_edge_label(edge, places) for edge in edges]
    for name, (x, y) in zip(names, places, strict=True):
        drawn.append(element("circle", cx=x, cy=y, r=NODE, class_="node"))
        drawn.append(element("text", name, x=x, y=y + 4, class_="middle node-name"))
    return picture(height, title, *drawn, width=GRAPH_WIDTH)


def _on_circle(number: int, size: int) -> tuple[float, float]:
    angle = 2 * pi * number / max(size, 1) - pi / 2
    across = GRAPH_WIDTH / 2 - AROUND
    up = GRAPH_HEIGHT / 2 - AROUND
    return GRAPH_WIDTH / 2 + across * cos(angle), GRAPH_HEIGHT / 2 + up * sin(angle)


def _edge_label(edge: Edge, places: Sequence[tuple[float, float]]) -> Any:
    """Return the label of an edge, near its first node: labels of crossing edges stay apart."""
    (x1, y1) = places[edge.first]
    (x2, y2) = places[edge.second]
    return element(
        "text",
        edge.label,
        x=x1 + 0.42 * (x2 - x1),
        y=y1 + 0.42 * (y2 - y1) - 4,
        class_="middle tick",
    )


def text_map(
    first_text: str, second_text: str, passages: Sequence[SharedPart], title: str
) -> Any:
    """Return two texts as stripes of equal length, with bands between their passages."""
    top = STRIPE + 6.0
    below = STRIPE + 6.0 + STRIPE + BETWEEN
    drawn = [
        element("rect", x=0, y=y, width=WIDTH, height=STRIPE, rx=2, class_="empty")
        for y in (top, below)
    ]
    for passage in passages:
        (a, b), (c, d) = (_stretch(part) for part in passage[:2])
        points = [(a, top + STRIPE), (b, top + STRIPE), (d, below), (c, below)]
        band = element("title", passage.label)
        drawn.append(
            element(
                "polygon",
                band,
                points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points),
                class_="band",
            )
        )
        drawn.append(
            element("rect", x=a, y=top, width=b - a, height=STRIPE, class_="removed")
        )
        drawn.append(
            element("rect", x=c, y=below, width=d - c, height=STRIPE, class_="removed")
        )
    drawn.append(element("text", first_text, x=0, y=STRIPE, class_="label"))
    drawn.append(
        element("text", second_text, x=0, y=below + STRIPE + 15, class_="label")
    )
    return picture(below + STRIPE + 20, title, *drawn)


def covered(parts: Sequence[tuple[float, float]]) -> Any:
    """Return a text as a short stripe; the parts that passages cover, in [0, 1], are filled."""
    filled = [
        (100 * start, max(100 * (end - start), 0.5), "removed") for start, end in parts
    ]
    return stripe([(0, 100, "empty"), *filled])


def _stretch(part: tuple[float, float]) -> tuple[float, float]:
    """Return a part of a text in units of the picture, at least one wide."""
    start = min(part[0] * WIDTH, WIDTH - 1.0)
    return start, max(part[1] * WIDTH, start + 1.0)
