"""Link the records of files: read the tables, find the links, write them."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

import numpy as np

from lshfast._common.display import Figure, figure
from lshfast._common.progress import Progress
from lshfast._common.visible import printable
from lshfast._engine.account.display import Account
from lshfast._engine.clusters.file import OpenClusters
from lshfast._engine.clusters.lasting import ClusterFigures, ClusterUpdate
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs
from lshfast._io import DataError, check_file
from lshfast._io.streams import is_stream
from lshfast._io.whole_tables import WholeTable, read_whole
from lshfast.records.comparison.synonyms import Synonyms
from lshfast.records.job_outputs import RecordOutputs as RecordOutputs
from lshfast.records.job_outputs import write_outputs
from lshfast.records.linking import link_tables
from lshfast.records.links.labels import MarkedPair, marked_pairs
from lshfast.records.options import LinkOptions
from lshfast.records.results.merged import KeepRule
from lshfast.records.results.result import LinkResult
from lshfast.records.results.summary import LinkSummary
from lshfast.records.tables.record_table import PairIds, RecordTable

SPREADSHEET_ENCODING = "cp1252"


@dataclass(frozen=True)
class RecordInputs:
    """The files of one or two tables, one path each, and files of pairs that people have marked."""

    tables: Sequence[Inputs]
    labels: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The path of each table."""
        return [table.paths[0] for table in self.tables]


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkAccount(Account):
    """The account of a run that links the records of one or two tables.

    Attributes
    ----------
    linked, unlinked : int
        read = linked + unlinked + rejected.
    tables : list of tuple
        Path, linked, unlinked and rejected records of each table.
    summary : LinkSummary
    clusters : ClusterFigures or None
        The figures of the groups with lasting ids, if there are any.
    """

    PARTS: ClassVar[tuple[str, ...]] = "linked", "unlinked", "rejected"

    linked: int
    unlinked: int
    tables: list[tuple[str, int, int, int]]
    summary: LinkSummary
    clusters: ClusterFigures | None = None

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table: of the tables, the links, and the stages."""
        yield from self._figures(("records", "linked", "seconds"))
        times = self.summary.seconds
        yield figure(
            "seconds",
            f"{sum(times.values()):,.2f}",
            *(f"{name} {s:.1f}" for name, s in times.items()),
        )

    def counts(self) -> Iterator[Figure]:
        """Yield the lines of the tables and the links."""
        yield from self._figures(("records", "linked", "reached", "above", "seconds"))

    def _figures(self, left_out: Collection[str]) -> Iterator[Figure]:
        for path, *counts in self.tables:
            total = sum(counts)
            parts = zip(counts, self.PARTS, strict=True)
            numbers = [f"{count:,} {name}" for count, name in parts]
            note = f"{path}: {' + '.join(numbers)} = {total:,} read"
            yield figure("records", total, note)
        for line in self.summary.figures():
            if line.name not in left_out:
                yield line
        if self.clusters is not None:
            yield figure("clusters", self.clusters.clusters, self.clusters.note)


def link_files(
    inputs: RecordInputs,
    outputs: RecordOutputs,
    options: LinkOptions,
    progress: Progress | None = None,
    pair: tuple[str, str] | None = None,
) -> tuple[LinkResult, LinkAccount]:
    """Link the records of two tables in files, or of one, and write the links.

    Parameters
    ----------
    inputs : RecordInputs
    outputs : RecordOutputs
        Files get their names when all are complete.
    options : LinkOptions
    progress : callable, optional
        Called with ("input", bytes of input read, total bytes) and ("link", stages done, all
        stages).
    pair : (str, str), optional
        The ids of two records that must exist, which is checked before they are linked.

    Returns
    -------
    LinkResult
    LinkAccount

    Raises
    ------
    DataError
        If the data are invalid. The message is one line with file, line and reason.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    """
    job = Job(
        outputs.tables, inputs.tables[0].on_error, outputs.overwrite, page=outputs.page
    )
    _check(job, inputs, outputs, options)
    labels = [read_labels(path) for path in inputs.labels]
    marks = list(map(marks_of, inputs.labels, labels))
    tables: list[WholeTable] = []
    for table in inputs.tables:
        with _naming_options_of_b() if tables else nullcontext():
            tables.append(job.add(table.read_whole(progress)))
    _check_files(job, outputs, [*tables, *labels])
    records = [
        RecordTable(table.columns, source.id_column, source.paths[0], ids=table.ids)
        for table, source in zip(tables, inputs.tables, strict=True)
    ]
    if pair is not None:
        PairIds(records).rows_of(*pair)
    if outputs.merged is not None:
        KeepRule.parse(outputs.keep_rule).check(records)
    if any(marks):
        options = replace(options, labels=[*options.labels, *chain(*marks)])
    output = outputs.clusters
    with nullcontext() if output is None else output.opened() as clusters:
        result = link_tables(records, options, progress)
        update = None if clusters is None else _clusters_after(clusters, result)
        with job.writing():
            write_outputs(job, result, outputs)
            if clusters is not None and update is not None:
                description = {
                    "fields": result.names,
                    "scoring": options.scoring,
                    "threshold": result.summary.threshold,
                }
                clusters.write(update, description, outputs.overwrite)
    figures = None if update is None else update.figures
    return result, _account_of(job, inputs, tables, result.summary, figures)


def _check_files(
    job: Job, outputs: RecordOutputs, tables: Sequence[WholeTable]
) -> None:
    """Check that no output replaces an input."""
    files = [file.location for table in tables for file in table.files]
    paths = [*job.paths, *outputs.pictures]
    for path in paths:
        if path is not None and not is_stream(path):
            check_file(path, files, overwrite=True)
    if outputs.clusters is not None:
        outputs.clusters.check(files, paths)


def _account_of(
    job: Job,
    inputs: RecordInputs,
    tables: Sequence[WholeTable],
    summary: LinkSummary,
    clusters: ClusterFigures | None,
) -> LinkAccount:
    rejected = [len(table.rejected) for table in tables]
    advice = [
        f"{name} has one column; {table.advice}"
        for name, table in zip(inputs.names, tables, strict=True)
        if table.advice
    ]
    rows = zip(inputs.names, summary.linked, summary.unlinked, rejected, strict=False)
    return job.account(
        LinkAccount,
        linked=sum(summary.linked),
        unlinked=sum(summary.unlinked),
        tables=list(rows),
        summary=summary,
        clusters=clusters,
        advice="; ".join(advice),
    )


@contextmanager
def _naming_options_of_b() -> Iterator[None]:
    """Name the option for the encoding of the second table in the advice of an error."""
    try:
        yield
    except DataError as error:
        reason = error.reason.replace("(--encoding ", "(--encoding-b ")
        raise error.with_reason(reason) from error


def read_labels(path: str) -> WholeTable:
    """Return a file of labels, which may be one of UTF-8 that a spreadsheet has saved in cp1252.

    An id that is another one in cp1252 is unknown, so no pair is mistaken for another.
    """
    try:
        return read_whole(path)
    except DataError as error:
        if not error.reason.startswith("not UTF-8"):
            raise
        return read_whole(path, encoding=SPREADSHEET_ENCODING)


def marks_of(path: str, table: WholeTable) -> tuple[MarkedPair, ...]:
    """Return the pairs that are marked in a file of labels; errors name its line."""
    return marked_pairs(
        table.columns, printable(path), [str(place) for place in table.ids]
    )


def _clusters_after(clusters: OpenClusters, result: LinkResult) -> ClusterUpdate:
    """Return the groups with lasting ids after a run.

    Raises
    ------
    ValueError
        If a record of the first of two tables, which must be new, has the id of an earlier record.
    """
    first, second = result.tables
    keys = list(first.ids)
    if result.single:
        return clusters.update(keys, result.groups())
    earlier = {*clusters.earlier.keys, *second.ids}
    repeated_id = next((key for key in keys if key in earlier), None)
    if repeated_id is not None:
        raise ValueError(
            f"{first.name}: id {repeated_id!r} is that of an earlier record; those of new "
            "records must be new"
        )
    links = [second.ids[row] for row in result.j.tolist()]
    return clusters.update(
        keys, np.arange(len(keys), dtype=np.int64), (result.i, links)
    )


def read_synonyms(path: str | None, nicknames: bool = False) -> Synonyms:
    """Return the English synonyms and those of a CSV file: each first word relates to its line.

    With `nicknames`, the nicknames of the package of this name are added.

    Raises
    ------
    DataError
        If the file is not UTF-8, or not valid CSV.
    OSError
        If it cannot be read.
    """
    make = Synonyms.nicknames if nicknames else Synonyms.english
    if path is None:
        return make()
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [
                [word for word in line if word.strip()] for line in csv.reader(file)
            ]
    except UnicodeDecodeError:
        raise DataError(path, None, "not UTF-8") from None
    except csv.Error as error:
        raise DataError(path, None, f"not valid CSV: {error}") from None
    return make(lines)


def _check(
    job: Job, inputs: RecordInputs, outputs: RecordOutputs, options: LinkOptions
) -> None:
    job.check()
    outputs.check(job)
    if (outputs.rates or outputs.plot) and options.held_out is None:
        raise ValueError(
            "the rate of true matches needs a field that is held out of the scores"
        )
    if outputs.groups is not None and len(inputs.tables) > 1:
        raise ValueError("groups are those of one table, not of two")
