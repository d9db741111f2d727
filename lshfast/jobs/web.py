"""Mirror hosts of the URLs in files, and contraction of the link graph in files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lshfast.common.atomic_files import all_or_none
from lshfast.common.checks import check_account
from lshfast.common.growing import GrowingArray
from lshfast.common.progress import Progress
from lshfast.common.types import Int64Array
from lshfast.drivers.inputs import Inputs
from lshfast.jobs.columns import ColumnReader
from lshfast.join.thresholds import Threshold
from lshfast.readers import check_outputs, rejects_beside, write_rejects, write_table, write_tables
from lshfast.web.contraction import Contraction, contract
from lshfast.web.mirrors import HostSets, MirrorPlan, Mirrors

# Rows of a table whose names are in memory at a time.
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class MirrorSummary:
    """The figures of a search for mirrors in files: rows = urls + rejected, and hosts = kept + removed.

    Attributes
    ----------
    read, urls, rejected : int
        Rows that were read, those that are URLs, and bad rows.
    hosts, kept, removed, few : int
        Hosts; hosts that are kept; mirrors of these; and hosts with too few paths to be compared, which are kept.
    compared : int
        Pairs of hosts that were compared.
    threshold, recall, seconds : float
    delimiters : dict of str to str
        As for `lshfast.engine.report.Summary`.
    """

    read: int
    urls: int
    rejected: int
    hosts: int
    kept: int
    removed: int
    few: int
    compared: int
    threshold: float
    recall: float
    seconds: float
    delimiters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ContractionSummary:
    """The figures of a contraction of files: read = links + repeated + same + rejected, and nodes = kept + removed.

    Attributes
    ----------
    read, links, repeated, same, rejected : int
        Rows that were read; links of the contracted graph; links that fell together with others or became links of a
        class to itself; pairs of nodes known to be the same; and bad rows.
    nodes, kept, removed : int
        Nodes, classes, and nodes that are merged into another one.
    rounds : int
    seconds : float
    delimiters : dict of str to str
        As for `lshfast.engine.report.Summary`.
    """

    read: int
    links: int
    repeated: int
    same: int
    rejected: int
    nodes: int
    kept: int
    removed: int
    rounds: int
    seconds: float
    delimiters: dict[str, str] = field(default_factory=dict)


def mirrors_of_files(
    inputs: Inputs, output: str, plan: MirrorPlan, *, overwrite: bool = False, progress: Progress | None = None
) -> tuple[Mirrors, MirrorSummary]:
    """Find the mirror hosts among URLs in files, and write them to a table.

    Parameters
    ----------
    inputs : Inputs
        `column` holds the URLs, and `id_column`, if it is given, the contents or their checksums.
    output : path
        The table: host, mirror_of, similarity, paths, common, agreement (see `Mirror`). Rejected rows are written
        beside it if bad rows are skipped.
    plan : MirrorPlan
    overwrite : bool
        Whether existing files are replaced.
    progress : callable, optional
        Called with ("input", bytes read, total) and ("verify", hosts done, total).

    Raises
    ------
    DataError
        If a row is not a URL and bad rows stop the run, or a file is damaged.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is created.
    """
    start = time.perf_counter()
    reader = ColumnReader(inputs)
    rejects = _check_outputs(reader, [output], overwrite)
    hosts = HostSets(plan, inputs.id_column is not None)
    for names in reader.batches(progress):
        bad = hosts.add(names.first, names.second if inputs.id_column is not None else None)
        for place, reason in bad.items():
            reader.refuse(names, place, reason)
    found = hosts.mirrors(progress)
    removed = np.flatnonzero(~found.keep)
    table: dict[str, Any] = {
        "host": [found.hosts[row] for row in removed.tolist()],
        "mirror_of": [found.hosts[row] for row in found.keeper[removed].tolist()],
        "similarity": found.similarity[removed],
        "paths": found.paths[removed],
        "common": found.common[removed],
        "agreement": found.agreement[removed],
    }
    with all_or_none():
        write_table(output, table, overwrite, {"host": "string", "mirror_of": "string"})
        if rejects:
            write_rejects(rejects, reader.rejected, overwrite)
    summary = MirrorSummary(
        read=reader.read,
        urls=found.urls,
        rejected=len(reader.rejected),
        hosts=len(found.hosts),
        kept=len(found.hosts) - len(removed),
        removed=len(removed),
        few=found.few,
        compared=found.compared,
        threshold=plan.threshold,
        recall=float(plan.bands.probability(plan.threshold)),
        seconds=time.perf_counter() - start,
        delimiters=reader.delimiters,
    )
    check_account(summary.read, urls=summary.urls, rejected=summary.rejected)
    return found, summary


def contract_files(
    inputs: Inputs,
    output: str,
    *,
    labels: str | None = None,
    same: Sequence[str] = (),
    threshold: Threshold = 0.9,
    min_links: int = 1,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ContractionSummary:
    """Contract the link graph in files, and write its links (see `lshfast.web.contract`).

    A node is a name. Nodes are numbered by their first occurrence, so a class is named by its first node.

    Parameters
    ----------
    inputs : Inputs
        `column` and `id_column` hold the two nodes of a link.
    output : path
        The table of the links that are left: source, target.
    labels : path, optional
        A table of the merged nodes: node, merged_into.
    same : paths
        Files of pairs of nodes that are known to be the same, in the columns of the inputs.
    threshold, min_links
        As for `contract`.
    overwrite : bool
        Whether existing files are replaced.
    progress : callable, optional
        Called with ("input", bytes read, total) and ("merge", merged nodes, None).

    Raises
    ------
    DataError, ValueError, OSError
        As for `mirrors_of_files`.
    """
    start = time.perf_counter()
    reader = ColumnReader(inputs)
    others = ColumnReader(replace(inputs, paths=same)) if same else None
    outputs = [output] if labels is None else [output, labels]
    rejects = _check_outputs(reader, outputs, overwrite, others.files if others else [])
    numbers = _Numbers()
    source, target = _links_of(reader, numbers, progress)
    pairs = None if others is None else np.column_stack(_links_of(others, numbers, None))
    found = contract(
        source, target, threshold=threshold, nodes=len(numbers), same=pairs, min_links=min_links, progress=progress
    )
    rejected = [*reader.rejected, *(others.rejected if others else [])]
    names = list(numbers)
    with all_or_none():
        _write_links(output, names, found, overwrite)
        if labels is not None:
            merged = np.flatnonzero(found.labels != np.arange(len(names), dtype=np.int64))
            columns = {"node": merged, "merged_into": found.labels[merged]}
            table = {name: [names[node] for node in nodes.tolist()] for name, nodes in columns.items()}
            write_table(labels, table, overwrite, dict.fromkeys(table, "string"))
        if rejects:
            write_rejects(rejects, rejected, overwrite)
    summary = ContractionSummary(
        read=reader.read + (others.read if others else 0),
        links=len(found.source),
        repeated=len(source) - len(found.source),
        same=0 if pairs is None else len(pairs),
        rejected=len(rejected),
        nodes=len(names),
        kept=found.kept,
        removed=found.removed,
        rounds=found.rounds,
        seconds=time.perf_counter() - start,
        delimiters=reader.delimiters | (others.delimiters if others else {}),
    )
    check_account(
        summary.read, links=summary.links, repeated=summary.repeated, same=summary.same, rejected=summary.rejected
    )
    return summary


class _Numbers(dict[str, int]):
    """The number of each name, in the order of first use."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


def _links_of(reader: ColumnReader, numbers: _Numbers, progress: Progress | None) -> tuple[Int64Array, Int64Array]:
    """Read pairs of names as pairs of numbers."""
    links = GrowingArray(np.int64)
    for names in reader.batches(progress):
        second = list(map(str, names.second))
        pairs: list[Any] = [None] * (2 * len(second))  # in the order of the rows, so that the numbers are
        pairs[::2], pairs[1::2] = names.first, second
        if "" in pairs:
            bad = {place // 2 for place, name in enumerate(pairs) if not name}
            for place in sorted(bad):
                reader.refuse(names, place, "a node has no name")
            pairs = [name for place, name in enumerate(pairs) if place // 2 not in bad]
        links.extend(np.fromiter(map(numbers.__getitem__, pairs), np.int64, len(pairs)))
    found = links.finished().reshape(-1, 2)
    return found[:, 0].copy(), found[:, 1].copy()


def _write_links(path: str, names: list[str], found: Contraction, overwrite: bool) -> None:
    def tables() -> Iterator[dict[str, list[str]]]:
        for at in range(0, max(1, len(found.source)), ROWS_AT_ONCE):
            columns = {"source": found.source, "target": found.target}
            yield {
                name: [names[node] for node in nodes[at : at + ROWS_AT_ONCE].tolist()]
                for name, nodes in columns.items()
            }

    write_tables(path, tables(), overwrite, {"source": "string", "target": "string"})


def _check_outputs(reader: ColumnReader, outputs: list[str], overwrite: bool, others: Sequence[str] = ()) -> str | None:
    """Check the outputs before anything is read; return the path for rejected rows if bad rows are skipped."""
    rejects = rejects_beside(outputs[0]) if reader.inputs.on_error == "skip" else None
    check_outputs([*outputs, rejects], [*reader.files, *others], overwrite)
    return rejects
