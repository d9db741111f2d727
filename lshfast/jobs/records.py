"""Link the records of files: read the tables, find the links, write them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lshfast.common.atomic_files import atomic_file, printable
from lshfast.common.checks import check_int, check_plot
from lshfast.common.display import Figure, figure
from lshfast.common.progress import Progress
from lshfast.drivers.pages import PageOutput
from lshfast.engine.cluster_file import ClusterOutput, OpenClusters
from lshfast.engine.clusters import ClusterFigures, ClusterUpdate
from lshfast.engine.display import Account
from lshfast.jobs.frame import Job
from lshfast.readers import DataError, check_different, check_file, check_place
from lshfast.readers.files import MAX_COLUMNS, MAX_ROW_BYTES, Format, OnError
from lshfast.readers.output import Output, output_format
from lshfast.readers.streams import is_stream
from lshfast.readers.whole_tables import WholeTable, read_whole
from lshfast.records.choices import KEEP_RECORD, REVIEWED
from lshfast.records.explain import rows_of_pair
from lshfast.records.labels import MarkedPair, marked_pairs
from lshfast.records.linking import link_tables
from lshfast.records.merged import KeepRule
from lshfast.records.options import LinkOptions
from lshfast.records.plots import plot_rates
from lshfast.records.result import LinkResult
from lshfast.records.summary import LinkSummary
from lshfast.records.synonyms import Synonyms
from lshfast.records.tables import RecordTable, as_text, is_missing

SPREADSHEET_ENCODING = "cp1252"
LINKS_AT_ONCE = 1 << 16  # links whose values are Python objects at a time


@dataclass(frozen=True)
class RecordInputs:
    """The files of one or two tables, and the options of reading; see `lshfast.readers.open_corpus`.

    `labels` are files of pairs that people have marked.
    """

    a: str
    b: str | None = None
    id_column: str | None = None
    id_column_b: str | None = None
    glob: str | None = None
    on_error: OnError = "stop"
    encoding: str = "utf-8"
    format: Format | None = None
    max_row_bytes: int = MAX_ROW_BYTES
    delimiter: str | None = None
    max_columns: int = MAX_COLUMNS
    labels: Sequence[str] = ()

    def read(self, progress: Progress | None) -> list[WholeTable]:
        """Read the tables; `progress` is called with ("input", bytes of input read, total bytes) for each."""
        tell: Callable[[int, int], object] | None = None
        if progress is not None:
            own = progress

            def tell(done: int, total: int) -> None:
                own("input", done, total)

        ids = [self.id_column, self.id_column_b or self.id_column]
        return [
            read_whole(
                path, id_column=column, glob=self.glob, on_error=self.on_error, encoding=self.encoding,
                format=self.format, max_row_bytes=self.max_row_bytes, delimiter=self.delimiter,
                max_columns=self.max_columns, progress=tell,
            )
            for path, column in zip([self.a, self.b], ids, strict=True) if path is not None
        ]  # fmt: skip


@dataclass(frozen=True)
class RecordOutputs:
    """The outputs; None for none.

    Attributes
    ----------
    links : path
        The links: ids, score, probability, and the score of each field.
    groups : path, optional
        For each record of one table: its id, the id of the first record of its group, and the size of the group.
    rates, plot : path, optional
        The rate of true matches by score, as a table and as a plot; they need a field that is held out.
    overwrite : bool
        Whether existing files are replaced.
    review : path, optional
        The pairs nearest to the threshold, for a person to mark; see `LinkResult.review`.
    page : PageOutput, optional
        A page that shows what was found.
    reviewed : int
        The most links, and the most other pairs, of the review.
    merged : path, optional
        One list of all records; see `LinkResult.merged`.
    keep_record : str, optional
        Which of several records a row of the list has; None for the default.
    clusters : ClusterOutput, optional
        A file of groups with lasting ids, which is read and replaced, and the table of what has changed in them. The
        records of one table are all records. Of two tables, those of the first are new, and join the groups of the
        records of the second that they are linked to.
    """

    links: str | None
    groups: str | None = None
    rates: str | None = None
    plot: str | None = None
    overwrite: bool = False
    review: str | None = None
    page: PageOutput | None = None
    reviewed: int = REVIEWED
    clusters: ClusterOutput | None = None
    merged: str | None = None
    keep_record: str | None = None

    @property
    def tables(self) -> list[str | None]:
        """All tables that are written."""
        changes = None if self.clusters is None else self.clusters.changes
        return [self.links, self.groups, self.rates, self.review, changes, self.merged]

    @property
    def pictures(self) -> list[str | None]:
        """The plot and the page."""
        return [self.plot, None if self.page is None else self.page.path]


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
        yield figure("seconds", f"{sum(times.values()):,.2f}", *(f"{name} {s:.1f}" for name, s in times.items()))

    def counts(self) -> Iterator[Figure]:
        """Yield the lines of the tables and the links."""
        yield from self._figures(("records", "linked", "reached", "above", "seconds"))

    def _figures(self, left_out: Collection[str]) -> Iterator[Figure]:
        for path, *counts in self.tables:
            parts = " + ".join(f"{count:,} {name}" for count, name in zip(counts, self.PARTS, strict=True))
            yield figure("records", sum(counts), f"{path}: {parts} = {sum(counts):,} read")
        yield from (line for line in self.summary.figures() if line.name not in left_out)
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
        Called with ("input", bytes of input read, total bytes) and ("link", stages done, all stages).
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
        If an option is invalid, or an output cannot be written; then no file with its name is created.
    """
    job = Job(outputs.tables, inputs.on_error, outputs.overwrite, page=outputs.page)
    keep_rule = KeepRule.parse(outputs.keep_record or KEEP_RECORD)
    _check(job, inputs, outputs, options)
    labels = [read_labels(path) for path in inputs.labels]
    marks = [mark for path, table in zip(inputs.labels, labels, strict=True) for mark in marks_of(path, table)]
    tables = [job.add(table) for table in inputs.read(progress)]
    files = [file.location for table in (*tables, *labels) for file in table.files]
    for path in [*job.paths, *outputs.pictures]:  # no output may replace an input
        if path is not None and not is_stream(path):
            check_file(path, files, overwrite=True)
    sides = [
        RecordTable(table.columns, column, name, ids=table.ids)
        for table, column, name in zip(
            tables, (inputs.id_column, inputs.id_column_b or inputs.id_column), _names(inputs), strict=False
        )
    ]
    if pair is not None:
        rows_of_pair((sides[0], sides[1] if len(sides) > 1 else None), *pair)
    if outputs.merged is not None:
        keep_rule.check(sides)
    if outputs.clusters is not None:
        outputs.clusters.check(files, [*job.paths, *outputs.pictures])
    if marks:
        options = replace(options, labels=[*options.labels, *marks])
    with nullcontext() if outputs.clusters is None else outputs.clusters.opened() as clusters:
        result = link_tables(sides[0], sides[1] if len(sides) > 1 else None, options, progress)
        update = None if clusters is None else _clusters_after(clusters, result)
        with job.writing():
            _write(job, result, outputs)
            if clusters is not None and update is not None:
                told = {"fields": result.names, "scoring": options.scoring, "threshold": result.summary.threshold}
                clusters.write(update, told, outputs.overwrite)
    summary, rejected = result.summary, [len(table.rejected) for table in tables]
    return result, job.account(
        LinkAccount,
        linked=sum(summary.linked),
        unlinked=sum(summary.unlinked),
        tables=[*zip(_names(inputs), summary.linked, summary.unlinked, rejected, strict=False)],
        summary=summary,
        clusters=None if update is None else update.figures,
        advice="; ".join(
            f"{name} has one column; {table.advice}"
            for name, table in zip(_names(inputs), tables, strict=True)
            if table.advice
        ),
    )


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
    return marked_pairs(table.columns, printable(path), [str(place) for place in table.ids])


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
    taken = next((key for key in keys if key in earlier), None)
    if taken is not None:
        raise ValueError(f"{first.name}: id {taken!r} is that of an earlier record; those of new records must be new")
    links = [second.ids[row] for row in result.j.tolist()]
    return clusters.update(keys, np.arange(len(keys), dtype=np.int64), (result.i, links))


def read_synonyms(path: str | None, nicknames: bool = False) -> Synonyms:
    """Return the English synonyms and those of a CSV file; the first word of a line is related to the others.

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
            lines = [[word for word in line if word.strip()] for line in csv.reader(file)]
    except UnicodeDecodeError:
        raise DataError(path, None, "not UTF-8") from None
    except csv.Error as error:
        raise DataError(path, None, f"not valid CSV: {error}") from None
    return make(lines)


def _names(inputs: RecordInputs) -> list[str]:
    return [path for path in (inputs.a, inputs.b) if path is not None]


def _check(job: Job, inputs: RecordInputs, outputs: RecordOutputs, options: LinkOptions) -> None:
    job.check()
    check_int("review_pairs", outputs.reviewed, 1)
    if outputs.plot is not None:
        check_plot(outputs.plot)
        check_place(outputs.plot, overwrite=outputs.overwrite)
        check_different([*job.paths, outputs.plot, *([] if outputs.page is None else [outputs.page.path])])
    if (outputs.rates or outputs.plot) and options.held_out is None:
        raise ValueError("the rate of true matches needs a field that is held out of the scores")
    if outputs.keep_record is not None and outputs.merged is None:
        raise ValueError("keep_record (--keep-record) needs merged (--merged), whose records it chooses")
    if _are_styled(outputs.tables) and not any(output_format(path)[0] in ("csv", "tsv") for path in job.paths):
        raise ValueError("output_delimiter (--output-delimiter) and bom (--bom) need an output named .csv")
    if outputs.groups is not None and inputs.b is not None:
        raise ValueError("groups are those of one table, not of two")


def _are_styled(paths: Sequence[str | None]) -> bool:
    return any(isinstance(path, Output) and (path.delimiter or path.bom) for path in paths)


def _write(job: Job, result: LinkResult, outputs: RecordOutputs) -> None:
    if outputs.links is not None:
        job.write(outputs.links, link_columns(result), _kinds(result))
    if outputs.groups is not None:
        labels, ids = result.groups(), result.tables[0].ids
        table: dict[str, Any] = {
            "id": [ids[row] for row in range(len(labels))],
            "group": [ids[row] for row in labels.tolist()],
            "size": np.bincount(labels, minlength=len(labels))[labels],
        }
        job.write(outputs.groups, table, dict.fromkeys(("id", "group"), _kind(ids)))
    if outputs.review is not None:
        review = result.review(outputs.reviewed)
        texts = dict.fromkeys((name for name in review if name == "answer" or name[:2] in ("a.", "b.")), "string")
        job.write(outputs.review, review, _kinds(result) | texts)
    if outputs.merged is not None:
        kind = output_format(outputs.merged)[0]
        merged = result.merged(outputs.keep_record or KEEP_RECORD)
        columns = {name: written_values(values, kind) for name, values in merged.items()}
        kinds = {"id": _kind(result.tables[0].ids)} if result.single else _kinds(result)
        job.write(outputs.merged, columns, {name: own for name, own in kinds.items() if name in columns})
    job.write_page(lambda page: result.page(texts=page.texts, command=page.command))
    if outputs.rates is not None and result.rates is not None:
        job.write(outputs.rates, result.rates.columns())
    if outputs.plot is not None and result.rates is not None:
        unit = "score (points)" if result.weights is None else "score (bits)"
        axes = plot_rates(result.rates, threshold=result.summary.threshold, unit=unit)
        with atomic_file(outputs.plot, outputs.overwrite) as stream:
            axes.figure.canvas.print_figure(stream, format=Path(outputs.plot).suffix[1:].lower())


def written_values(values: list[Any], format: Format) -> list[Any]:
    """Return the values of a column of a merged list as a format can hold them.

    JSONL holds all. Cells of CSV have the ids of a list with "; " between them. A column of Parquet has one type:
    values of several types are strings there.
    """
    if format == "jsonl":
        return values
    kinds = {type(value) for value in values if value is not None}
    if list in kinds:
        return values if format == "parquet" else ["; ".join(map(str, ids)) for ids in values]
    known = kinds in ({str}, {bool}, {float}) or (kinds <= {int, float} and all(map(_is_storable, values)))
    return values if known or not kinds else [None if is_missing(value) else as_text(value) for value in values]


def _is_storable(number: float | None) -> bool:
    return number is None or isinstance(number, float) or -(1 << 63) <= number < 1 << 63


def link_columns(result: LinkResult) -> Iterator[dict[str, Any]]:
    """Yield the links as tables of columns, in parts; the first part may be empty."""
    for start in range(0, max(1, len(result)), LINKS_AT_ONCE):
        yield result.columns(slice(start, start + LINKS_AT_ONCE))


def _kinds(result: LinkResult) -> dict[str, str]:
    first, second = result.tables
    return {"id_a": _kind(first.ids), "id_b": _kind(second.ids)}


def _kind(ids: Sequence[object]) -> str:
    return "int64" if len(ids) and isinstance(ids[0], int) else "string"
