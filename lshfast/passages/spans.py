"""Matches as spans of texts, in units, bytes and characters; and the bytes of later copies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lshfast._common.types import Int64Array, RecordArray
from lshfast.kernels.text import Texts
from lshfast.passages.plan import PassagePlan
from lshfast.passages.search import RowMatches
from lshfast.passages.units import bounds_of

_PLACES = "start", "end", "start_byte", "end_byte"

# A passage of `units` words or characters in the texts i and j. In each, it begins at a unit, and
# takes a range of characters and of bytes; an end is the number behind the last one.
SPAN = np.dtype(
    [
        ("i", np.int64),
        ("j", np.int64),
        ("i_unit", np.int64),
        ("j_unit", np.int64),
        ("units", np.int64),
    ]
    + [(f"{side}_{place}", np.int64) for side in "ij" for place in _PLACES]
)

# Bytes of a text that later copies take.
CUT = np.dtype([("row", np.int64), ("start", np.int64), ("end", np.int64)])

Spans = RecordArray
Cuts = RecordArray


class Ranges(NamedTuple):
    """Ranges of units that neither meet nor overlap, sorted."""

    rows: Int64Array
    start: Int64Array
    end: Int64Array

    def units(self, n: int) -> Int64Array:
        """Return how many units of each of n texts are in a range."""
        sums = np.zeros(n, np.int64)
        np.add.at(sums, self.rows, self.end - self.start)
        return sums


def union_of(
    counts: Int64Array, rows: Int64Array, start: Int64Array, units: Int64Array
) -> Ranges:
    """Return the union of ranges of units of texts that have `counts` units."""
    base = np.cumsum(counts + 1, dtype=np.int64) - counts
    first = base[rows] + start
    order = np.argsort(first, kind="stable")
    end = (first + units)[order]
    rows = rows[order]
    first = first[order]
    reach = np.maximum.accumulate(end) if len(end) else end
    new = np.flatnonzero(np.append(True, first[1:] > reach[:-1])[: len(first)])
    ends = reach[np.append(new[1:], len(first)) - 1] if len(first) else reach
    rows = rows[new]
    first = first[new]
    return Ranges(rows, first - base[rows], ends - base[rows])


def spans_of(matches: RowMatches, y_side: str) -> Spans:
    """Return matches as spans without characters and bytes; `y_side` is their second side."""
    spans = np.zeros(len(matches.x), SPAN)
    x_side = "i" if y_side == "j" else "j"
    names = x_side, f"{x_side}_unit", y_side, f"{y_side}_unit", "units"
    for name, column in zip(names, matches, strict=True):
        spans[name] = column
    return spans


def in_order(spans: Spans) -> Spans:
    """Return spans sorted by (i, i_unit, j, j_unit)."""
    return spans[np.lexsort([spans[name] for name in ("j_unit", "j", "i_unit", "i")])]


def locate(spans: Spans, sides: dict[str, Texts], plan: PassagePlan) -> None:
    """Write where the spans begin and end in the texts of some sides ("i", "j")."""
    for texts in {id(texts): texts for texts in sides.values()}.values():
        names = [side for side, column in sides.items() if column is texts]
        rows = np.concatenate([spans[name] for name in names] * 2)
        first = np.concatenate([spans[f"{name}_unit"] for name in names])
        last = first + np.concatenate([spans["units"] for _ in names]) - 1
        bounds = bounds_of(texts, rows, np.concatenate([first, last]), plan)
        begins = bounds[: len(first)]
        ends = bounds[len(first) :]
        for number, name in enumerate(names):
            part = slice(number * len(spans), (number + 1) * len(spans))
            spans[f"{name}_start"] = begins[part, 2]
            spans[f"{name}_end"] = ends[part, 3]
            spans[f"{name}_start_byte"] = begins[part, 0]
            spans[f"{name}_end_byte"] = ends[part, 1]


def cuts_of(
    texts: Texts, counts: Int64Array, ranges: Ranges, plan: PassagePlan
) -> Cuts:
    """Return the bytes of ranges, which end where the next unit outside of ranges begins."""
    inside = ranges.end < counts[ranges.rows]
    rows = np.concatenate([ranges.rows, ranges.rows[inside]])
    bounds = bounds_of(
        texts, rows, np.concatenate([ranges.start, ranges.end[inside]]), plan
    )[:, 0]
    cuts = np.zeros(len(ranges.rows), CUT)
    cuts["row"] = ranges.rows
    cuts["start"] = bounds[: len(cuts)]
    cuts["end"] = texts.lengths[ranges.rows]
    cuts["end"][inside] = bounds[len(cuts) :]
    return cuts
