"""Mirror hosts of the URLs in files, and contraction of the link graph in files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from lshfast._common.display import Figure, counted, figure
from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, names_of, parts_of_rows
from lshfast._common.types import Int64Array
from lshfast._engine.account.display import Account
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs
from lshfast._engine.name_columns import ColumnReader
from lshfast._engine.pages.run_pages import PageOutput, named
from lshfast.web.contraction import Contraction, contract
from lshfast.web.host_sets import HostSets, MirrorPlan
from lshfast.web.mirrors import Mirrors
from lshfast.web.page import paths_of_hosts

# Rows of a table whose names are in memory at a time.
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class MirrorSummary(Account):
    """The figures of a search for mirrors in files.

    Attributes
    ----------
    urls : int
        Rows that are URLs: read = urls + rejected.
    hosts, kept, removed, few : int
        Hosts; hosts that are kept; mirrors of these; and hosts with too few paths to be compared,
        which are kept.
    compared : int
        Pairs of hosts that were compared.
    threshold, recall : float
    """

    PARTS: ClassVar[tuple[str, ...]] = "urls", "rejected"

    urls: int
    hosts: int
    kept: int
    removed: int
    few: int
    compared: int
    threshold: float
    recall: float

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        few = (
            f"{counted(self.few, 'host')} with too few paths to be compared"
            if self.few
            else ""
        )
        recall = f"recall at the threshold {self.threshold:g}: {self.recall:.4f}"
        yield figure(
            "read", self.read, f"{self.urls:,} URLs + {self.rejected:,} rejected"
        )
        yield figure(
            "hosts",
            self.hosts,
            f"{self.kept:,} kept + {self.removed:,} mirrors of them",
            few,
        )
        yield figure("compared", self.compared, f"pairs of hosts; {recall}")


@dataclass(frozen=True, kw_only=True)
class ContractionSummary(Account):
    """The figures of a contraction of files.

    Attributes
    ----------
    links, repeated, same : int
        Rows: links of the contracted graph; links that fell together with others or became links of
        a class to itself; and pairs of nodes known to be the same. read = links + repeated + same +
        rejected.
    nodes, kept, removed : int
        Nodes, classes, and nodes that are merged into another one: nodes = kept + removed.
    rounds : int
    left_out, partly_compared : int
        Nodes whose blocks `max_block` left out, and classes that were not compared with all that
        may be similar.
    """

    PARTS: ClassVar[tuple[str, ...]] = "links", "repeated", "same", "rejected"

    links: int
    repeated: int
    same: int
    nodes: int
    kept: int
    removed: int
    rounds: int
    left_out: int
    partly_compared: int

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        same = f" + {self.same:,} pairs of equal nodes" if self.same else ""
        links = (
            f"{self.links:,} links left + {self.repeated:,} repeated or within a class"
        )
        yield figure("read", self.read, f"{links}{same} + {self.rejected:,} rejected")
        yield figure(
            "nodes",
            self.nodes,
            f"{self.kept:,} kept + {self.removed:,} merged into them",
        )
        yield figure("rounds", self.rounds, "with merges")
        if self.left_out:
            partly = (
                f"above --max-block; {counted(self.partly_compared, 'node')} kept that may "
                "be similar to others"
            )
            yield figure("left out", self.left_out, f"linked nodes {partly}")


def mirrors_of_files(
    inputs: Inputs,
    output: str,
    plan: MirrorPlan,
    *,
    page: PageOutput | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> tuple[Mirrors, MirrorSummary]:
    """Find the mirror hosts among URLs in files, and write them to a table.

    Parameters
    ----------
    inputs : Inputs
        `column` holds the URLs, and `id_column`, if it is given, the contents or their checksums.
    output : path
        The table: host, mirror_of, similarity, paths, common, agreement (see `Mirror`). Rejected
        rows are written beside it if bad rows are skipped.
    plan : MirrorPlan
    page : PageOutput, optional
        A page that shows the mirrors. For paths of hosts, the files are read again.
    overwrite : bool
        Whether existing files are replaced.
    progress : callable, optional
        Called with ("input", bytes read, total) and ("verify", hosts done, total).

    Raises
    ------
    DataError
        If a row is not a URL and bad rows stop the run, or a file is damaged.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    """
    job = Job([output], inputs.on_error, overwrite, page=page)
    reader = job.add(ColumnReader(inputs))
    job.check()
    hosts = HostSets(plan, inputs.id_column is not None)
    for names in reader.batches(progress):
        bad = hosts.add(
            names.first, names.second if inputs.id_column is not None else None
        )
        for place, reason in bad.items():
            reader.refuse(names, place, reason)
    mirrors = hosts.mirrors(progress)
    removed = np.flatnonzero(~mirrors.keep)
    table: dict[str, Any] = {
        "host": names_of(mirrors.hosts, removed),
        "mirror_of": names_of(mirrors.hosts, mirrors.keeper[removed]),
        "similarity": mirrors.similarity[removed],
        "paths": mirrors.paths[removed],
        "common": mirrors.common[removed],
        "agreement": mirrors.agreement[removed],
    }
    with job.writing():
        job.write(output, table, {"host": "string", "mirror_of": "string"})
        job.write_page(partial(_mirrors_page, reader, mirrors, plan))
    summary = job.account(
        MirrorSummary,
        urls=mirrors.urls,
        hosts=len(mirrors.hosts),
        kept=len(mirrors.hosts) - len(removed),
        removed=len(removed),
        few=mirrors.few,
        compared=mirrors.compared,
        threshold=plan.threshold,
        recall=plan.recall,
    )
    return mirrors, summary


def _mirrors_page(
    reader: ColumnReader, mirrors: Mirrors, plan: MirrorPlan, page: PageOutput
) -> str:
    """Return the page of the mirrors in files."""

    def paths_of(hosts: Collection[str]) -> Mapping[str, Collection[str]]:
        return paths_of_hosts(
            (url for names in reader.again().batches() for url in names.first),
            hosts,
            plan.clean_urls,
        )

    return mirrors.page(
        paths_of if page.texts else None,
        title=f"Mirror hosts in {named([file.name for file in reader.files])}",
        threshold=plan.threshold,
        contents=reader.inputs.id_column is not None,
        command=page.command,
    )


def contract_files(
    inputs: Inputs,
    output: str,
    *,
    labels: str | None = None,
    same: Sequence[str] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> ContractionSummary:
    """Contract the link graph in files, and write its links (see `lshfast.web.contract`).

    A node is a name. Nodes are numbered by their first occurrence, so a class is named by its first
    node.

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
    overwrite : bool
        Whether existing files are replaced.
    progress : callable, optional
        Called with ("input", bytes read, total) and ("merge", merged nodes, None).
    **options
        `threshold`, `min_links`, `size` and `max_block`, as for `contract`.

    Raises
    ------
    DataError, ValueError, OSError
        As for `mirrors_of_files`.
    """
    job = Job([output, labels], inputs.on_error, overwrite)
    reader = job.add(ColumnReader(inputs))
    canonical_reader = (
        job.add(ColumnReader(replace(inputs, paths=same))) if same else None
    )
    job.check()
    numbers = _Numbers()
    source, target = _links_of(reader, numbers, progress)
    pairs = None
    if canonical_reader is not None:
        pairs = np.column_stack(_links_of(canonical_reader, numbers, None))
    contraction = contract(
        source, target, nodes=len(numbers), same=pairs, progress=progress, **options
    )
    names = list(numbers)
    with job.writing():
        job.write(
            output,
            _link_tables(names, contraction),
            {"source": "string", "target": "string"},
        )
        if labels is not None:
            merged = np.flatnonzero(contraction.labels != int64_range(len(names)))
            columns = {"node": merged, "merged_into": contraction.labels[merged]}
            table = {name: names_of(names, nodes) for name, nodes in columns.items()}
            job.write(labels, table, dict.fromkeys(table, "string"))
    return job.account(
        ContractionSummary,
        links=len(contraction.source),
        repeated=len(source) - len(contraction.source),
        same=0 if pairs is None else len(pairs),
        nodes=len(names),
        kept=contraction.kept,
        removed=contraction.removed,
        rounds=contraction.rounds,
        left_out=len(contraction.left_out),
        partly_compared=len(contraction.partly_compared),
    )


class _Numbers(dict[str, int]):
    """The number of each name, in the order of first use."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


def _links_of(
    reader: ColumnReader, numbers: _Numbers, progress: Progress | None
) -> tuple[Int64Array, Int64Array]:
    """Read pairs of names as pairs of numbers."""
    links = GrowingArray(np.int64)
    for names in reader.batches(progress):
        second = list(map(str, names.second))
        # In the order of the rows, so that the numbers are.
        pairs: list[Any] = [None] * (2 * len(second))
        pairs[::2], pairs[1::2] = names.first, second
        if "" in pairs:
            bad = {place // 2 for place, name in enumerate(pairs) if not name}
            for place in sorted(bad):
                reader.refuse(names, place, "a node has no name")
            pairs = [name for place, name in enumerate(pairs) if place // 2 not in bad]
        links.extend(np.fromiter(map(numbers.__getitem__, pairs), np.int64, len(pairs)))
    link_pairs = links.finished().reshape(-1, 2)
    return link_pairs[:, 0].copy(), link_pairs[:, 1].copy()


def _link_tables(
    names: list[str], contraction: Contraction
) -> Iterator[dict[str, list[str]]]:
    """Yield the table of the links that are left, in parts, the first of which may be empty."""
    columns = {"source": contraction.source, "target": contraction.target}
    for part in parts_of_rows(max(1, len(contraction.source)), ROWS_AT_ONCE):
        yield {name: names_of(names, nodes[part]) for name, nodes in columns.items()}
