"""The page of similar genomes: their pairs, and the groups that these connect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import floor
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.display import Figure, counted
from lshfast._common.types import Float64Array, Int64Array, RecordArray
from lshfast._io.pages.page import brief_names, render, short
from lshfast._io.pages.svg import Bar, Bin, bars, histogram, matrix
from lshfast.genomes.search import Least
from lshfast.genomes.sketches import KmerSketches
from lshfast.join.groups import component_groups
from lshfast.join.pair_arrays import PAIR

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
    """Genomes connected by pairs: their number, first names, and range of similarities."""

    genomes: int
    names: list[str]
    pairs: int
    low: float
    high: float


def page_of(
    similar: RecordArray,
    sketches: KmerSketches,
    other_sketches: KmerSketches | None,
    least: Least,
    *,
    title: str,
    account: Iterable[Figure],
    command: str = "",
) -> str:
    """Return the page of a comparison.

    Parameters
    ----------
    similar : ndarray of GENOME_PAIR
        Similar pairs, see `lshfast.genomes.pairs`.
    sketches : KmerSketches
    other_sketches : KmerSketches, optional
        The genomes with which they were compared; None for a comparison with each other.
    least : Least
        The threshold.
    title : str
    account : iterable of Figure
    command : str
        The command that repeats the comparison.
    """
    names = sketches.names
    other_names = names if other_sketches is None else other_sketches.names
    values: Float64Array = similar[least.column]
    low = max(least.value, floor(100 * values.min()) / 100) if len(similar) else 0.0
    low = min(low, 0.99)
    cards = [("genomes", len(names))]
    labels = None
    groups: list[Int64Array] = []
    if other_sketches is None:
        paired = np.unique(np.concatenate([similar["i"], similar["j"]]))
        labels = _labels(len(names), similar)
        groups = _groups(labels, paired)
        cards += [("pairs", len(similar)), ("groups", len(groups))]
    else:
        paired = np.unique(similar["i"])
        cards += [("compared with", len(other_names)), ("pairs", len(similar))]
    cards.append(("in no pair", len(names) - len(paired)))
    shown = np.argsort(-values, kind="stable")[:MOST_PAIRS]
    # `take`, since records[numbers] may be anything if memory is refused.
    shown_pairs = similar.take(shown)
    brief = _brief_names(groups, names) if groups else {}
    return render(
        "genomes.html",
        title=title,
        sentences=_sentences(len(names), len(similar), len(paired), groups, least),
        cards=[(name, f"{value:,}") for name, value in cards],
        measure=NAMES[least.column],
        histogram=_histogram(values, low, least) if len(similar) else None,
        sizes=_sizes(groups, brief) if groups else None,
        matrix=_matrix(similar, values, groups, brief, low) if groups else None,
        groups=[
            _group(rows, similar, values, names, labels)
            for rows in groups[:MOST_GROUPS]
        ],
        more_groups=max(len(groups) - MOST_GROUPS, 0),
        pairs=[
            (
                short(names[pair["i"]]),
                short(other_names[pair["j"]]),
                float(pair[least.column]),
                float(pair["ani"]),
                float(pair["ani_low"]),
                float(pair["ani_high"]),
                int(pair["shared"]),
                float(pair["jaccard"]),
            )
            for pair in shown_pairs
        ],
        more_pairs=len(similar) - len(shown),
        # From the smallest hashes no interval follows.
        intervals=not sketches.sampling.bottom,
        least=least,
        low=low,
        account=[*account],
        command=command,
    )


def _sentences(
    genomes: int, pairs: int, paired: int, groups: Sequence[Int64Array], least: Least
) -> list[str]:
    """Return how many genomes are similar, and the groups that they are in."""
    bound = f"{NAMES[least.column]} of at least {least.value:g}"
    if not pairs:
        return [
            f"No genome is in a pair with {bound}; {counted(genomes, 'genome')} in all."
        ]
    sentences = [
        f"{paired:,} of {counted(genomes, 'genome')} are in a pair with {bound}: "
        f"{counted(pairs, 'pair')}."
    ]
    if groups:
        sentences.append(
            f"The pairs connect them into {counted(len(groups), 'group')}, of which the largest "
            f"has {counted(len(groups[0]), 'genome')}."
        )
    return sentences


def _labels(n: int, similar: RecordArray) -> Int64Array:
    """Return the smallest row of the group of each row."""
    pairs = np.zeros(len(similar), PAIR)
    pairs["i"] = similar["i"]
    pairs["j"] = similar["j"]
    return component_groups(n, pairs).labels


def _groups(labels: Int64Array, paired: Int64Array) -> list[Int64Array]:
    """Return the rows of each group of two or more, the largest group first."""
    order = paired[np.argsort(labels[paired], kind="stable")]
    groups = (
        np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        if len(order)
        else []
    )
    return sorted(groups, key=lambda rows: (-len(rows), int(rows[0])))


def _group(
    rows: Int64Array,
    similar: RecordArray,
    values: Float64Array,
    names: Sequence[str],
    labels: Any,
) -> GenomeGroup:
    group_values = values[labels[similar["i"]] == labels[rows[0]]]
    shown = [short(names[row]) for row in rows[:MOST_NAMES].tolist()]
    unnamed = [f"and {len(rows) - MOST_NAMES:,} more"] if len(rows) > MOST_NAMES else []
    return GenomeGroup(
        len(rows),
        shown + unnamed,
        len(group_values),
        float(group_values.min()),
        float(group_values.max()),
    )


def _histogram(values: Float64Array, low: float, least: Least) -> Any:
    counts, edges = np.histogram(np.clip(values, low, 1), COLUMNS, (low, 1))
    borders = pairwise(edges.tolist())
    columns = [
        Bin(start, end, count)
        for (start, end), count in zip(borders, counts.tolist(), strict=True)
    ]
    shown = low <= least.value
    label = NAMES[least.column]
    if shown:
        label += f"; the dashed line is the threshold, {least.value:g}"
    return histogram(
        columns,
        f"Pairs by their {NAMES[least.column]}",
        axis=(low, 1.0),
        x_label=label,
        mark=least.value if shown else None,
    )


def _sizes(groups: Sequence[Int64Array], brief: Mapping[int, str]) -> Any:
    rows = [
        Bar(brief[int(rows[0])], len(rows), f"{len(rows):,}")
        for rows in groups[:MOST_BARS]
    ]
    return bars(rows, f"The largest groups: {counted(len(groups[0]), 'genome')}")


def _matrix(
    similar: RecordArray,
    values: Float64Array,
    groups: Sequence[Int64Array],
    brief: Mapping[int, str],
    low: float,
) -> Any:
    """Return the similarities of the genomes of the largest groups."""
    rows = _rows_of_matrix(groups)
    place = {row: at for at, row in enumerate(rows)}
    cells = {(at, at): 1.0 for at in range(len(rows))}
    inside = np.isin(similar["i"], rows) & np.isin(similar["j"], rows)
    shown_pairs = similar[inside]
    for pair, value in zip(shown_pairs, values[inside].tolist(), strict=True):
        i = place[int(pair["i"])]
        j = place[int(pair["j"])]
        cells[i, j] = max(value - low, 0) / (1 - low)
        cells[j, i] = cells[i, j]
    return matrix(
        [brief[row] for row in rows], cells, "Similarities of all pairs of genomes"
    )


def _brief_names(groups: Sequence[Int64Array], names: Sequence[str]) -> dict[int, str]:
    """Return short names of the genomes that the pictures name, by their rows."""
    firsts = [int(rows[0]) for rows in groups[:MOST_BARS]]
    rows = list(dict.fromkeys(firsts + _rows_of_matrix(groups)))
    return dict(zip(rows, brief_names([names[row] for row in rows]), strict=True))


def _rows_of_matrix(groups: Sequence[Int64Array]) -> list[int]:
    rows: list[int] = np.concatenate(groups)[:MOST_CELLS].tolist()
    return rows
