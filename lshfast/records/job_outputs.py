"""What a run that links records writes: tables, a page and a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lshfast._common.atomic_files import atomic_file
from lshfast._common.checks import check_int, check_plot
from lshfast._engine.clusters.file import ClusterOutput
from lshfast._engine.frame import Job
from lshfast._engine.pages.run_pages import PageOutput
from lshfast._io import check_different, check_place
from lshfast._io.files import Format
from lshfast._io.output import Output, output_format
from lshfast.records.choices import KEEP_RECORD, REVIEWED
from lshfast.records.results.merged import KeepRule
from lshfast.records.results.plots import plot_rates
from lshfast.records.results.result import LinkResult
from lshfast.records.tables.distinct_values import as_text, is_missing

LINKS_AT_ONCE = 1 << 16  # links whose values are Python objects at a time


@dataclass(frozen=True)
class RecordOutputs:
    """The outputs; None for none.

    Attributes
    ----------
    links : path
        The links: ids, score, probability, and the score of each field.
    groups : path, optional
        For each record of one table: its id, the id of the first record of its group, and the size
        of the group.
    rates, plot : path, optional
        The rate of true matches by score, as a table and as a plot; they need a field that is held
        out.
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
        A file of groups with lasting ids, which is read and replaced, and the table of what has
        changed in them. The records of one table are all records. Of two tables, those of the first
        are new, and join the groups of the records of the second that they are linked to.
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

    def check(self, job: Job) -> None:
        """Raise an error if an option has a wrong value, or the plot cannot be written."""
        check_int("review_pairs", self.reviewed, 1)
        KeepRule.parse(self.keep_rule)
        if self.keep_record is not None and self.merged is None:
            raise ValueError(
                "keep_record (--keep-record) needs merged (--merged), whose records it chooses"
            )
        styled = any(
            isinstance(path, Output) and (path.delimiter or path.bom)
            for path in job.paths
        )
        if styled and not any(
            output_format(path)[0] in ("csv", "tsv") for path in job.paths
        ):
            raise ValueError(
                "output_delimiter (--output-delimiter) and bom (--bom) need an output named .csv"
            )
        if self.plot is not None:
            check_plot(self.plot)
            check_place(self.plot, overwrite=self.overwrite)
            check_different([*job.paths, *filter(None, self.pictures)])

    @property
    def keep_rule(self) -> str:
        """The rule by which the merged list chooses records."""
        return self.keep_record or KEEP_RECORD


def write_outputs(job: Job, result: LinkResult, outputs: RecordOutputs) -> None:
    """Write what a run found; within `Job.writing`, all files appear or none."""
    kinds = _id_kinds(result)
    if outputs.links is not None:
        job.write(outputs.links, link_columns(result), kinds)
    if outputs.groups is not None:
        job.write(
            outputs.groups,
            group_columns(result),
            dict.fromkeys(("id", "group"), kinds["id_a"]),
        )
    if outputs.review is not None:
        review = result.review(outputs.reviewed)
        texts = [
            name for name in review if name == "answer" or name.startswith(("a.", "b."))
        ]
        job.write(outputs.review, review, kinds | dict.fromkeys(texts, "string"))
    if outputs.merged is not None:
        _write_merged(job, result, outputs.merged, outputs.keep_rule)
    job.write_page(lambda page: result.page(texts=page.texts, command=page.command))
    if outputs.rates is not None and result.rates is not None:
        job.write(outputs.rates, result.rates.columns())
    if outputs.plot is not None and result.rates is not None:
        unit = "score (points)" if result.weights is None else "score (bits)"
        axes = plot_rates(result.rates, threshold=result.summary.threshold, unit=unit)
        with atomic_file(outputs.plot, outputs.overwrite) as stream:
            axes.figure.canvas.print_figure(
                stream, format=Path(outputs.plot).suffix[1:].lower()
            )


def link_columns(result: LinkResult) -> Iterator[dict[str, Any]]:
    """Yield the links as tables of columns, in parts; the first part may be empty."""
    for start in range(0, max(1, len(result)), LINKS_AT_ONCE):
        yield result.columns(slice(start, start + LINKS_AT_ONCE))


def group_columns(result: LinkResult) -> dict[str, Any]:
    """Return the id of each record of one table, the first id of its group, and the size of it."""
    groups = result.groups()
    ids = result.tables[0].ids
    return {
        "id": [ids[row] for row in range(len(groups))],
        "group": [ids[row] for row in groups.tolist()],
        "size": np.bincount(groups, minlength=len(groups))[groups],
    }


def _write_merged(job: Job, result: LinkResult, path: str, keep_rule: str) -> None:
    """Write one list of all records, with the types that the format can hold."""
    format = output_format(path)[0]
    merged = {
        name: written_values(values, format)
        for name, values in result.merged(keep_rule).items()
    }
    empty = [
        name
        for name, values in merged.items()
        if all(value is None for value in values)
    ]
    ids = {"id": _id_kinds(result)["id_a"]} if result.single else _id_kinds(result)
    kinds = dict.fromkeys(empty, "string") | {
        name: kind for name, kind in ids.items() if name in merged
    }
    job.write(path, merged, kinds)


def written_values(values: list[Any], format: Format) -> list[Any]:
    """Return the values of a column of a merged list as a format can hold them.

    JSONL holds all. Cells of CSV have the ids of a list with "; " between them. A column of Parquet
    has one type: values of several types are strings there.
    """
    if format == "jsonl":
        return values
    types = {type(value) for value in values if value is not None}
    if list in types:
        return (
            values
            if format == "parquet"
            else ["; ".join(map(str, ids)) for ids in values]
        )
    are_numbers = types <= {int, float} and all(map(_is_storable, values))
    if are_numbers or types in ({str}, {bool}):
        return values
    return [None if is_missing(value) else as_text(value) for value in values]


def _is_storable(number: float | None) -> bool:
    return number is None or isinstance(number, float) or -(1 << 63) <= number < 1 << 63


def _id_kinds(result: LinkResult) -> dict[str, str]:
    """Return Arrow's names for the types of the ids."""
    first, second = result.tables
    return {"id_a": _kind(first.ids), "id_b": _kind(second.ids)}


def _kind(ids: Sequence[object]) -> str:
    return "int64" if len(ids) and isinstance(ids[0], int) else "string"
