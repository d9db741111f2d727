"""The page of similar genomes: their pairs, and the groups that these connect."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.display import Figure, counted
from lshfast._common.types import Float64Array, Int64Array
from lshfast._io.pages.page import render, short
from lshfast._io.pages.svg import Bar, Bin, bars, histogram, matrix
from lshfast.genomes.search import Least
from lshfast.join.groups import component_groups
from lshfast.join.jaccard import PAIR

# What is shown: pairs and groups in tables, names of a group, bars, and genomes of the picture of
# all pairs.
MOST_PAIRS = 200
MOST_GROUPS = 100
MOST_NAMES = 12
MOST_BARS = 12
MOST_CELLS = 23

COLUMNS = 20  # of the histogram of similarities

NAMES = {
    "ani": "ANI",
    "mash_ani": "ANI (Mash)",
    "jaccard": "Jaccard similarity",
    "containment": "containment",
}


class GenomeGroup(NamedTuple):
    """Genomes that are connected by pairs: their number, first names, and the range of the
    similarities of pairs.
    """

    genomes: int
    names: list[str]
    pairs: int
    low: float
    high: float


def page_of(
    found: npt.NDArray[np.void],
    names: Sequence[str],
    others: Sequence[str] | None,
    least: Least,
    *,
    title: str,
    account: Iterable[Figure],
    bottom: bool = False,
    command: str = "",
) -> str:
    """Return the page of a comparison.

    Parameters
    ----------
    found : ndarray of GENOME_PAIR
        Similar pairs, see `lshfast.genomes.pairs`.
    names : sequence of str
        The names of the genomes.
    others : sequence of str, optional
        Those of the genomes with which they were compared; None for a comparison with each other.
    least : Least
        The threshold.
    title : str
    account : iterable of Figure
    bottom : bool
        Whether the sketches have the smallest hashes, from which no interval follows.
    command : str
        The command that repeats the comparison.
    """
    values: Float64Array = found[least.column]
    low = max(least.value, floor(100 * values.min()) / 100) if len(found) else 0.0
    low = min(low, 0.99)
    paired = np.unique(np.concatenate([found["i"], found["j"]]) if others is None else found["i"])
    labels = _labels(len(names), found) if others is None else None
    groups = [] if labels is None else _groups(labels, paired)
    cards = [("genomes", len(names)), *([] if others is None else [("compared with", len(others))])]
    cards += [("pairs", len(found)), *([("groups", len(groups))] if others is None else [])]
    cards.append(("in no pair", len(names) - len(paired)))
    shown = np.argsort(-values, kind="stable")[:MOST_PAIRS]
    return render(
        "genomes.html",
        title=title,
        cards=[(name, f"{value:,}") for name, value in cards],
        measure=NAMES[least.column],
        histogram=_histogram(values, low, least) if len(found) else None,
        sizes=_sizes(groups, names) if groups else None,
        matrix=_matrix(found, values, groups, names, low) if groups else None,
        groups=[_group(rows, found, values, names, labels) for rows in groups[:MOST_GROUPS]],
        more_groups=max(len(groups) - MOST_GROUPS, 0),
        pairs=[
            (
                short(names[pair["i"]]),
                short((others or names)[pair["j"]]),
                float(pair[least.column]),
                float(pair["ani"]),
                float(pair["ani_low"]),
                float(pair["ani_high"]),
                int(pair["shared"]),
                float(pair["jaccard"]),
            )
            for pair in found[shown]
        ],
        more_pairs=len(found) - len(shown),
        intervals=not bottom,
        least=least,
        low=low,
        account=[*account],
        command=command,
    )


def _labels(n: int, found: npt.NDArray[np.void]) -> Int64Array:
    """Return the smallest row of the group of each row."""
    pairs = np.zeros(len(found), PAIR)
    pairs["i"], pairs["j"] = found["i"], found["j"]
    return component_groups(n, pairs).labels


def _groups(labels: Int64Array, paired: Int64Array) -> list[Int64Array]:
    """Return the rows of each group of two or more, the largest group first."""
    order = paired[np.argsort(labels[paired], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []
    return sorted(groups, key=lambda rows: (-len(rows), int(rows[0])))


def _group(
    rows: Int64Array,
    found: npt.NDArray[np.void],
    values: Float64Array,
    names: Sequence[str],
    labels: Any,
) -> GenomeGroup:
    own = values[labels[found["i"]] == labels[rows[0]]]
    shown = [short(names[row]) for row in rows[:MOST_NAMES].tolist()]
    more = [f"and {len(rows) - MOST_NAMES:,} more"] if len(rows) > MOST_NAMES else []
    return GenomeGroup(len(rows), shown + more, len(own), float(own.min()), float(own.max()))


def _histogram(values: Float64Array, low: float, least: Least) -> Any:
    counts, edges = np.histogram(np.clip(values, low, 1), COLUMNS, (low, 1))
    borders = pairwise(edges.tolist())
    columns = [
        Bin(left, right, count)
        for (left, right), count in zip(borders, counts.tolist(), strict=True)
    ]
    shown = low <= least.value
    label = NAMES[least.column] + (
        f"; the dashed line is the threshold, {least.value:g}" if shown else ""
    )
    return histogram(
        columns,
        f"Pairs by their {NAMES[least.column]}",
        axis=(low, 1.0),
        x_label=label,
        mark=least.value if shown else None,
    )


def _sizes(groups: Sequence[Int64Array], names: Sequence[str]) -> Any:
    rows = [Bar(_brief(names[rows[0]]), len(rows), f"{len(rows):,}") for rows in groups[:MOST_BARS]]
    return bars(rows, f"The largest groups: {counted(len(groups[0]), 'genome')}", names=170)


def _matrix(
    found: npt.NDArray[np.void],
    values: Float64Array,
    groups: Sequence[Int64Array],
    names: Sequence[str],
    low: float,
) -> Any:
    """Return the similarities of the genomes of the largest groups."""
    rows = np.concatenate(groups)[:MOST_CELLS]
    place = {row: at for at, row in enumerate(rows.tolist())}
    cells = {(at, at): 1.0 for at in range(len(rows))}
    inside = np.isin(found["i"], rows) & np.isin(found["j"], rows)
    some = found[inside]
    for i, j, value in zip(
        some["i"].tolist(), some["j"].tolist(), values[inside].tolist(), strict=True
    ):
        cells[place[i], place[j]] = cells[place[j], place[i]] = max(value - low, 0) / (1 - low)
    return matrix(
        [_brief(names[row]) for row in rows.tolist()], cells, "Similarities of all pairs of genomes"
    )


def _brief(name: str) -> str:
    """Return the last part of a path, cut so that it fits beside a picture."""
    return short(os.path.basename(name) or name, 24)
