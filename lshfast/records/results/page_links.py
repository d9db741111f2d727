"""Links and groups of records as a page shows them: fields with scores and values, and graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.display import counted
from lshfast._common.types import Int64Array
from lshfast._io.pages.diagrams import Edge, Scale, graph, step
from lshfast._io.pages.differences import Span
from lshfast._io.pages.page import short
from lshfast.kernels.sets import components
from lshfast.records.results.explain import ComparedField, Explainer, PairScore
from lshfast.records.results.linked import Linked
from lshfast.records.results.near import NearPairs
from lshfast.records.results.review import doubtful_links
from lshfast.records.tables.record_table import as_text, is_missing

# What is shown: links over the range of scores, links and other pairs next to the threshold, fields
# of a pair, groups of each kind, records of a group, and fields and characters of a record.
OVER_RANGE = 8
NEXT_TO_THRESHOLD = 4
MOST_FIELDS = 24
MOST_GROUPS = 6
MOST_NODES = 12
NODE_FIELDS = 3
NAME_CHARACTERS = 60
NODE_CHARACTERS = 80
VALUE_CHARACTERS = 400


class FieldRow(NamedTuple):
    """A field of a link: its score, a step of the sum, how values compare, and both values."""

    name: str
    score: str
    step: Any
    how: str
    left: list[Span]
    right: list[Span]


class LinkExample(NamedTuple):
    """A pair of records.

    Attributes
    ----------
    keys : (str, str)
    score : float
    probability : float or None
        None for points.
    rows : list of FieldRow
    missing : list of str
        The fields of which both lack a value.
    answer : str or None
        The mark of a person.
    """

    keys: tuple[str, str]
    score: float
    probability: float | None
    rows: list[FieldRow]
    missing: list[str]
    answer: str | None


class Node(NamedTuple):
    """A record of a group: its number in the graph, its id, its group, and some values."""

    number: int
    key: str
    group: str
    values: list[str]


class GroupExample(NamedTuple):
    """Records that links connect, as a graph, and how many more records and links there are."""

    title: str
    graph: Any
    nodes: list[Node]
    others: str


def examples_over_range(
    result: Linked, explainer: Explainer, texts: bool
) -> list[LinkExample]:
    """Return some links over the range of scores, without those that are shown as doubtful."""
    order = np.argsort(-result.scores, kind="stable")
    doubtful = doubtful_links(explainer)[:NEXT_TO_THRESHOLD]
    clear_links = order[~np.isin(order, doubtful)]
    places = (
        np.linspace(0, max(len(clear_links) - 1, 0), min(len(clear_links), OVER_RANGE))
        .round()
        .astype(np.int64)
    )
    return [
        _link(result, explainer, link, texts) for link in clear_links[places].tolist()
    ]


def doubtful_examples(
    result: Linked, explainer: Explainer, below: NearPairs, texts: bool
) -> dict[str, list[LinkExample]]:
    """Return the unmarked pairs next to the threshold by their headings, if there are any."""
    nearest = doubtful_links(explainer)[:NEXT_TO_THRESHOLD].tolist()
    links = [_link(result, explainer, link, texts) for link in nearest]
    pairs_below = []
    for i, j in zip(
        below.i[:NEXT_TO_THRESHOLD].tolist(),
        below.j[:NEXT_TO_THRESHOLD].tolist(),
        strict=True,
    ):
        pair = explainer.score((i, j))
        pairs_below.append(
            _example(explainer, pair, explainer.probability(pair.score), texts)
        )
    headings = {
        "Links just above the threshold": links,
        "Pairs just below the threshold, which are not linked": pairs_below,
    }
    return {heading: pairs for heading, pairs in headings.items() if pairs}


def _scale(parts: Sequence[float], mark: float) -> Scale:
    """Return an axis for the sums of some scores."""
    sums = np.cumsum([0.0, *parts], dtype=np.float64)
    return Scale(min(float(sums.min()), mark), max(float(sums.max()), mark), mark)


def _link(result: Linked, explainer: Explainer, link: int, texts: bool) -> LinkExample:
    rows = int(result.i[link]), int(result.j[link])
    probability = (
        None if result.probabilities is None else float(result.probabilities[link])
    )
    pair = PairScore(rows, float(result.scores[link]), result.parts[link])
    return _example(explainer, pair, probability, texts)


def _example(
    explainer: Explainer, pair: PairScore, probability: float | None, texts: bool
) -> LinkExample:
    """Return a pair with its fields: those of the greatest scores if there are many."""
    keys = tuple(
        short(table.ids[row])
        for table, row in zip(explainer.tables, pair.rows, strict=True)
    )
    every_field = explainer.compared(pair)
    missing = [
        field for field in every_field if field.pair is not None and field.pair.missing
    ]
    fields = [field for field in every_field if field not in missing] or every_field
    places = sorted(range(len(fields)), key=lambda place: -abs(fields[place].score))[
        :MOST_FIELDS
    ]
    shown = [fields[place] for place in sorted(places)]
    scale = _scale([field.score for field in shown], explainer.least)
    rows = []
    total = 0.0
    for field in shown:
        left, right = _values(field) if texts else ([], [])
        name = short(field.name, NAME_CHARACTERS)
        bar = step(total, total + field.score, scale)
        rows.append(FieldRow(name, signed(field.score), bar, field.how, left, right))
        total += field.score
    if len(fields) > len(shown):
        name = counted(len(fields) - len(shown), "other field")
        rows.append(
            FieldRow(
                name,
                signed(pair.score - total),
                step(total, pair.score, scale),
                "",
                [],
                [],
            )
        )
    rows.append(
        FieldRow("sum", f"{pair.score:.2f}", step(0.0, pair.score, scale), "", [], [])
    )
    names = [short(field.name, NAME_CHARACTERS) for field in missing[:MOST_FIELDS]]
    return LinkExample(
        (keys[0], keys[1]),
        pair.score,
        probability,
        rows,
        names,
        explainer.labels.answer(pair.rows),
    )


def _values(field: ComparedField) -> tuple[list[Span], list[Span]]:
    """Return both values of a field, with what differs marked."""
    if field.pair is None:
        return [], []
    pair = field.pair.cut(VALUE_CHARACTERS)
    if pair.left is None or pair.right is None:
        first, second = (
            [Span("gap", "missing") if text is None else Span("same", text)]
            for text in pair[1:]
        )
        return first, second
    differences = pair.differences
    return differences.left, differences.right


def groups(
    result: Linked, explainer: Explainer, texts: bool
) -> Iterator[tuple[str, list[GroupExample]]]:
    """Yield the largest groups of one table, and the chains of links that were cut."""
    clusters = result.summary.clusters
    if clusters is None or not len(result.i):
        return
    largest = _largest(np.bincount(clusters.labels))
    yield (
        "The largest groups",
        [_group(result, explainer, clusters.labels == own, texts) for own in largest],
    )
    cut = clusters.labels[result.i] != clusters.labels[result.j]
    if cut.any():
        chains = components(result.i, result.j, len(clusters.labels))
        most = _largest(np.bincount(chains[result.i[cut]]), 1)
        yield (
            "Chains of links that were cut, because other pairs in them contradict",
            [_group(result, explainer, chains == own, texts) for own in most],
        )


def _largest(sizes: Int64Array, least: int = 2) -> list[int]:
    order = np.argsort(-sizes, kind="stable")[:MOST_GROUPS]
    return [int(label) for label in order.tolist() if sizes[label] >= least]


def _group(
    result: Linked, explainer: Explainer, inside: Any, texts: bool
) -> GroupExample:
    """Return the graph of some rows: at first those with a cut link, then by number."""
    clusters = result.summary.clusters
    table = explainer.tables[0]
    assert clusters is not None
    labels = clusters.labels
    rows = np.flatnonzero(inside)
    links = np.flatnonzero(inside[result.i] & inside[result.j])
    cut = links[labels[result.i[links]] != labels[result.j[links]]]
    first = np.unique(np.append(result.i[cut], result.j[cut]))
    shown = np.sort(np.append(first, rows[~np.isin(rows, first)])[:MOST_NODES]).tolist()
    number = {row: place for place, row in enumerate(shown)}
    edges = [
        Edge(
            number[i],
            number[j],
            f"{score:.1f}",
            "edge" if labels[i] == labels[j] else "cut",
        )
        for i, j, score in zip(
            *(column[links].tolist() for column in (result.i, result.j, result.scores)),
            strict=True,
        )
        if i in number and j in number
    ]
    several = len(set(labels[rows].tolist())) > 1
    nodes = [
        Node(
            place + 1,
            short(table.ids[row]),
            short(table.ids[int(labels[row])], NAME_CHARACTERS) if several else "",
            _values_of(explainer, row) if texts else [],
        )
        for row, place in number.items()
    ]
    hidden = [
        counted(len(rows) - len(shown), "more record")
        if len(rows) > len(shown)
        else "",
        counted(len(links) - len(edges), "more link")
        if len(links) > len(edges)
        else "",
    ]
    title = f"{counted(len(rows), 'record')}, {counted(len(links), 'link')}" + (
        f", {len(cut):,} cut" if len(cut) else ""
    )
    names = [str(node.number) for node in nodes]
    return GroupExample(
        title, graph(names, edges, title), nodes, " and ".join(filter(None, hidden))
    )


def _values_of(explainer: Explainer, row: int) -> list[str]:
    """Return the first values of a record of one table that are not missing."""
    record = explainer.tables[0].record(row)
    values = [record[name] for name in explainer.linkage.fields if name in record]
    return [
        short(as_text(value), NODE_CHARACTERS)
        for value in values
        if not is_missing(value)
    ][:NODE_FIELDS]


def signed(score: float) -> str:
    """Return a score with its sign and two decimals; what rounds to zero is positive."""
    return f"{round(score, 2) + 0.0:+.2f}"
