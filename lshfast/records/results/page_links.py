"""Links and groups of records as a page shows them: fields with scores and values, and graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.display import counted
from lshfast._common.types import BoolArray, Int64Array
from lshfast._io.pages.diagrams import Edge, Scale, graph, step
from lshfast._io.pages.differences import Span
from lshfast._io.pages.page import over_range, short
from lshfast.kernels.sets import components
from lshfast.records.comparison.nearness import EQUAL
from lshfast.records.results.run_view import ComparedField, RunView, ScoredPair
from lshfast.records.results.text_tables import signed
from lshfast.records.tables.distinct_values import as_text, is_missing

# What is shown besides links over the range of scores: links and other pairs next to the threshold,
# fields of a pair, groups of each kind, records of a group, and fields and characters of a record.
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


def examples_over_range(view: RunView, texts: bool) -> list[LinkExample]:
    """Return some links over the range of scores, without those that are shown as doubtful."""
    order = np.argsort(-view.run.scores, kind="stable")
    doubtful = view.doubtful[:NEXT_TO_THRESHOLD]
    clear_links = order[~np.isin(order, doubtful)]
    links = clear_links[over_range(len(clear_links))].tolist()
    return [_example(view, view.link(link), texts) for link in links]


def doubtful_examples(view: RunView, texts: bool) -> dict[str, list[LinkExample]]:
    """Return the unmarked pairs next to the threshold by their headings, if there are any."""
    headings = {
        "Links just above the threshold": view.doubtful_links(NEXT_TO_THRESHOLD),
        "Pairs just below the threshold, which are not linked": view.pairs_below(
            NEXT_TO_THRESHOLD
        ),
    }
    return {
        heading: [_example(view, pair, texts) for pair in pairs]
        for heading, pairs in headings.items()
        if pairs
    }


def _example(view: RunView, pair: ScoredPair, texts: bool) -> LinkExample:
    """Return a pair with its fields: those of the greatest scores if there are many."""
    missing: list[ComparedField] = []
    fields: list[ComparedField] = []
    for field in view.compared(pair):
        is_missing_in_both = field.pair is not None and field.pair.missing
        (missing if is_missing_in_both else fields).append(field)
    if not fields:
        fields = missing
    first, second = view.run.tables
    return LinkExample(
        (short(first.ids[pair.rows[0]]), short(second.ids[pair.rows[1]])),
        pair.score,
        pair.probability,
        list(_field_rows(fields, pair.score, view.least, texts)),
        [short(field.name, NAME_CHARACTERS) for field in missing[:MOST_FIELDS]],
        view.run.labels.answer(pair.rows),
    )


def _field_rows(
    fields: Sequence[ComparedField], score: float, least: float, texts: bool
) -> Iterator[FieldRow]:
    """Yield the rows of a table: the fields, those that are not shown together, and the sum."""
    order = sorted(range(len(fields)), key=lambda place: -abs(fields[place].score))
    shown = [fields[place] for place in sorted(order[:MOST_FIELDS])]
    scale = _scale([field.score for field in shown], least)
    total = 0.0
    for field in shown:
        left, right = _values(field) if texts else ([], [])
        name = short(field.name, NAME_CHARACTERS)
        bar = step(total, total + field.score, scale)
        yield FieldRow(name, signed(field.score), bar, field.how, left, right)
        total += field.score
    if len(fields) > len(shown):
        name = counted(len(fields) - len(shown), "other field")
        bar = step(total, score, scale)
        yield FieldRow(name, signed(score - total), bar, "", [], [])
    yield FieldRow("sum", f"{score:.2f}", step(0.0, score, scale), "", [], [])


def _scale(parts: Sequence[float], mark: float) -> Scale:
    """Return an axis for the sums of some scores."""
    sums = np.cumsum([0.0, *parts], dtype=np.float64)
    return Scale(min(float(sums.min()), mark), max(float(sums.max()), mark), mark)


def _values(field: ComparedField) -> Sequence[list[Span]]:
    """Return both values of a field, with what differs marked."""
    if field.pair is None:
        return [], []
    pair = field.pair.cut(VALUE_CHARACTERS)
    if pair.left is not None and pair.right is not None and field.how != EQUAL:
        return pair.differences
    return [
        [Span("gap", "missing") if text is None else Span("same", text)]
        for text in pair[1:]
    ]


def groups(view: RunView, texts: bool) -> Iterator[tuple[str, list[GroupExample]]]:
    """Yield the largest groups of one table, and the chains of links that were cut."""
    run = view.run
    clusters = run.summary.clusters
    if clusters is None or not len(run):
        return
    labels = clusters.labels
    sizes = np.bincount(labels)
    yield "The largest groups", _groups(view, labels, sizes, 2, texts)
    cut = labels[run.i] != labels[run.j]
    if cut.any():
        chains = components(run.i, run.j, len(labels))
        cuts = np.bincount(chains[run.i[cut]])
        yield (
            "Chains of links that were cut, because other pairs in them contradict",
            _groups(view, chains, cuts, 1, texts),
        )


def _groups(
    view: RunView, labels: Int64Array, sizes: Int64Array, least: int, texts: bool
) -> list[GroupExample]:
    """Return the largest groups of rows, by their sizes."""
    order = np.argsort(-sizes, kind="stable")[:MOST_GROUPS]
    largest = [label for label in order.tolist() if sizes[label] >= least]
    return [_group(view, labels == label, texts) for label in largest]


def _group(view: RunView, inside: BoolArray, texts: bool) -> GroupExample:
    """Return the graph of some rows: at first those with a cut link, then by number."""
    run = view.run
    labels = _labels_of(view)
    rows = np.flatnonzero(inside)
    links = np.flatnonzero(inside[run.i] & inside[run.j])
    cut = links[labels[run.i[links]] != labels[run.j[links]]]
    cut_rows = np.unique(np.append(run.i[cut], run.j[cut]))
    other_rows = rows[~np.isin(rows, cut_rows)]
    shown = np.sort(np.append(cut_rows, other_rows)[:MOST_NODES])
    edges = _edges(view, links, shown)
    nodes = _nodes(view, rows, shown, texts)
    hidden_records = len(rows) - len(shown)
    hidden_links = len(links) - len(edges)
    hidden = [
        counted(hidden_records, "more record") if hidden_records else "",
        counted(hidden_links, "more link") if hidden_links else "",
    ]
    title = f"{counted(len(rows), 'record')}, {counted(len(links), 'link')}"
    if len(cut):
        title += f", {len(cut):,} cut"
    picture = graph([str(node.number) for node in nodes], edges, title)
    return GroupExample(title, picture, nodes, " and ".join(filter(None, hidden)))


def _labels_of(view: RunView) -> Int64Array:
    """Return the group of each row of one table."""
    clusters = view.run.summary.clusters
    assert clusters is not None
    return clusters.labels


def _edges(view: RunView, links: Int64Array, shown: Int64Array) -> list[Edge]:
    """Return the links between rows that are shown, as edges between their places."""
    run = view.run
    labels = _labels_of(view)
    drawn = links[np.isin(run.i[links], shown) & np.isin(run.j[links], shown)]
    i = run.i[drawn]
    j = run.j[drawn]
    first = np.searchsorted(shown, i).tolist()
    second = np.searchsorted(shown, j).tolist()
    scores = [f"{score:.1f}" for score in run.scores[drawn].tolist()]
    kinds = np.where(labels[i] != labels[j], "cut", "edge").tolist()
    return list(map(Edge, first, second, scores, kinds))


def _nodes(
    view: RunView, rows: Int64Array, shown: Int64Array, texts: bool
) -> list[Node]:
    """Return the rows that are shown, with their groups if the rows have several."""
    ids = view.run.tables[0].ids
    labels = _labels_of(view)
    has_several = len(np.unique(labels[rows])) > 1
    nodes = []
    for number, row in enumerate(shown.tolist(), 1):
        group = ""
        if has_several:
            group = short(ids[int(labels[row])], NAME_CHARACTERS)
        values = _first_values(view, row) if texts else []
        nodes.append(Node(number, short(ids[row]), group, values))
    return nodes


def _first_values(view: RunView, row: int) -> list[str]:
    """Return the first values of a record of one table that are not missing."""
    record = view.run.tables[0].record(row)
    values = [record[name] for name in view.linkage.fields if name in record]
    texts = [as_text(value) for value in values if not is_missing(value)]
    return [short(text, NODE_CHARACTERS) for text in texts[:NODE_FIELDS]]
