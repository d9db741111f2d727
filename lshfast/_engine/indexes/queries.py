"""Look up texts, sets, vectors or codes, in files or single ones, in the index in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.display import Figure, counted, figure
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._engine.account.display import SIMILARITY_NAMES, Account, empty_note
from lshfast._engine.frame import Job
from lshfast._engine.indexes.files import open_for, opened_any
from lshfast._engine.indexes.run_indexes import ARROW_KINDS
from lshfast._engine.indexes.searches import NearQuery, search_of
from lshfast._engine.inputs import Inputs
from lshfast._io import Reject, id_kind
from lshfast._items.measures import is_distance


class Answers(NamedTuple):
    """The matches of rows as columns: keys of row and entry, and their similarity or distance.

    Of texts and sets, the similarity is estimated. `name` is "similarity" or "distance".
    """

    keys: list[Any]
    matches: list[Any]
    values: list[float]
    name: str


@dataclass(frozen=True, kw_only=True)
class QuerySummary(Account):
    """The figures of a run that queried an index.

    Attributes
    ----------
    empty : int
        Rows without shingles or items, or without a vector, its direction or a code.
    matched : int
        Rows with at least one match.
    matches : int
        Matches of all rows.
    faults : sequence of Reject
        Rows that could not be read.
    measure : str
    items : str
        The kind of the rows: "text", "set", "weighted", "vector" or "code".
    bound : float or None
        The least similarity, or the greatest distance, of a match; None if there is none.
    recall : float
        Probability that an entry exactly at the bound becomes a candidate.
    apart : float or None
        The greatest similarity, or the least distance, of a match; None if there is none.
    """

    PARTS: ClassVar[tuple[str, ...]] = "accepted", "rejected"

    accepted: int
    empty: int
    matched: int
    matches: int
    faults: Sequence[Reject]
    measure: ItemMeasure
    items: Kind
    bound: float | None
    recall: float
    apart: float | None = None

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        rejected = f"{counted(self.rejected, 'row')} rejected" if self.rejected else ""
        estimated = self.measure == "jaccard"
        name = SIMILARITY_NAMES[self.measure]
        ends = ("most", "least") if is_distance(self.measure) else ("least", "most")
        limits = zip(ends, (self.bound, self.apart), strict=True)
        within = " and ".join(
            f"at {end} {limit:g}" for end, limit in limits if limit is not None
        )
        bound = f"{'estimated ' * estimated}{name}: {within}" if within else ""
        yield figure(
            "read",
            self.read,
            rejected,
            empty_note(self.empty, self.measure, self.items),
        )
        yield figure("matched", self.matched, "rows that are similar to an entry")
        yield figure("matches", self.matches, bound)
        if self.bound is not None:
            of = "candidates" if estimated else "entries"
            before = ", before estimates are compared" if estimated else ""
            yield figure(
                "recall",
                f"{self.recall:.4f}",
                f"of {of} exactly at that {name}{before}",
            )


def query_one(
    path: str,
    text: str,
    query: NearQuery,
    *,
    kind: Kind | None = None,
    output: str | None = None,
    overwrite: bool = False,
) -> tuple[list[Any], list[float], str]:
    """Look up one item in a text, and write the table to `output` if given; see `query_files`.

    Returns
    -------
    keys : list
        The most similar first.
    values : list of float
    name : str
        What the values are: "similarity" or "distance".
    """
    job = Job([output], "stop", overwrite)
    with opened_any(path) as index:
        job.check(path)
        search = search_of(index, path, query, kind)
        entries = search.one(text)
        name = SIMILARITY_NAMES[search.plan.measure]
        kinds = {name: "double", "match": ARROW_KINDS[index.key_kind]}
    if output:
        with job.writing():
            job.write(output, {"match": entries.keys, name: entries.values}, kinds)
    return entries.keys, entries.values, name


def query_files(
    path: str,
    inputs: Inputs,
    show: Callable[[Answers], object],
    query: NearQuery,
    *,
    output: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> QuerySummary:
    """Look up the rows of files in the index in a file, which determines their kind.

    Parameters
    ----------
    path : path
        The file of the index.
    inputs : Inputs
    show : callable
        Called with `Answers` in pieces, in the order of the rows, with the best match of each row
        first.
    query : NearQuery
    output : path, optional
        The file for a table of the answers, which are then not shown. Skipped rows are recorded in
        a file next to it.
    overwrite : bool
        Whether an existing file is replaced.
    progress : callable, optional
        As for `build_index`.
    """
    job = Job([output], inputs.on_error, overwrite)
    with opened_any(path) as index:
        search = search_of(index, path, query, inputs.kind)
        corpus = job.add(open_for(index, inputs, search.plan)[0])
        job.check(path)
        name = SIMILARITY_NAMES[search.plan.measure]
        table = Answers([], [], [], name)
        row = 0
        empty = 0
        matched = 0
        matches = 0
        with (
            job.reading(corpus),
            closing(search.every(corpus, job, progress)) as pieces,
        ):
            for entries in pieces:
                counts = np.diff(entries.offsets)
                rows = np.repeat(int64_range(row, row + len(counts)), counts).tolist()
                keys = [corpus.key(row) for row in rows]
                answers = Answers(keys, entries.keys, entries.values, name)
                if output is None:
                    show(answers)
                else:
                    for column, new_values in zip(table[:3], answers[:3], strict=True):
                        column += new_values
                row += len(counts)
                empty += entries.empty
                matched += int(np.count_nonzero(counts))
                matches += len(entries.keys)
        if output:
            columns = {"key": table.keys, "match": table.matches, name: table.values}
            kinds = {
                "key": id_kind(corpus),
                "match": ARROW_KINDS[index.key_kind],
                name: "double",
            }
            with job.writing():
                job.write(output, columns, kinds)
        copy_bound = search.apart
        return job.account(
            QuerySummary,
            accepted=corpus.accepted,
            empty=empty,
            matched=matched,
            matches=matches,
            faults=list(corpus.rejected),
            measure=search.plan.measure,
            items=search.plan.kind,
            bound=search.bound,
            apart=copy_bound.most if copy_bound.least is None else copy_bound.least,
            recall=search.recall,
        )
