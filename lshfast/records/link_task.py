"""What is linked: the fields of the tables, as they are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

from lshfast._common.threads import ordered_map, thread_count
from lshfast.records.candidates.names import named_fields
from lshfast.records.choices import Assignment
from lshfast.records.chosen_fields import (
    chosen_fields,
    overlooked_columns,
    overlooked_text,
)
from lshfast.records.comparison.levels import FieldComparer, connect_exchanged
from lshfast.records.comparison.synonyms import Synonyms
from lshfast.records.linkage import Linkage
from lshfast.records.links.labels import PairLabels, labels_of
from lshfast.records.options import LinkOptions
from lshfast.records.tables.coded_fields import CodedField, code_field
from lshfast.records.tables.coding import code_fields, value_warnings
from lshfast.records.tables.content import shared_content
from lshfast.records.tables.dependent import DependentField, dependent_fields
from lshfast.records.tables.elsewhere import elsewhere_text, fields_elsewhere
from lshfast.records.tables.keys import LeftOut, keys_left_out
from lshfast.records.tables.record_table import RecordTable, names_of
from lshfast.records.values.addresses import with_address_parts
from lshfast.records.values.missing import MissingValues
from lshfast.records.weights.network import suits_mixture


@dataclass(frozen=True)
class LinkTask:
    """The fields of the tables that are linked.

    Attributes
    ----------
    options : LinkOptions
        The options of the call.
    labels : PairLabels
    linkage : Linkage
    scored : list of CodedField
        The fields that are scored.
    held_out : CodedField or None
    left_out : list of LeftOut
    dependent : list of DependentField
    edges : set of (int, int)
        Numbers of scored fields that share their content.
    mixed : bool
        Whether agreement patterns tell matches from strangers; if not, the ranks of whole records
        do.
    markers : dict of str to dict of str to tuple of int
        Values of each field that mean that there is none, and their rows.
    doubts : list of str
        Warnings of values.
    comparers : list of FieldComparer
        Of the scored fields.
    """

    options: LinkOptions
    labels: PairLabels
    linkage: Linkage
    scored: list[CodedField]
    held_out: CodedField | None
    left_out: list[LeftOut]
    dependent: list[DependentField]
    edges: set[tuple[int, int]]
    mixed: bool
    markers: dict[str, dict[str, tuple[int, ...]]]
    doubts: list[str]

    @property
    def assign(self) -> Assignment:
        """How links are assigned at first."""
        return self.options.assignment(self.linkage.single)

    @cached_property
    def synonyms(self) -> Synonyms:
        """The synonyms of the call, or the English ones."""
        synonyms = self.options.synonyms
        return english_synonyms() if synonyms is None else synonyms

    @cached_property
    def comparers(self) -> list[FieldComparer]:
        """The comparers of the scored fields."""
        make = partial(
            FieldComparer, synonyms=self.synonyms, threads=self.linkage.threads
        )
        comparers = list(ordered_map(make, self.scored, self.linkage.threads))
        if self.mixed:
            connect_exchanged(comparers)
        return comparers


@cache
def english_synonyms() -> Synonyms:
    """The built-in synonyms, which nothing changes; their normal forms are computed once."""
    return Synonyms.english()


def coded_task(tables: Sequence[RecordTable], options: LinkOptions) -> LinkTask:
    """Read the fields of the tables, and choose those that are scored."""
    labels = labels_of(options.labels, tables)
    compared, held_out = chosen_fields(tables, options)
    tables, compared = with_address_parts(tables, compared)
    columns = [name for table in tables for name in table.columns]
    missing = MissingValues.of(options.missing, columns)
    threads = thread_count(options.threads)
    fields = code_fields(tables, compared, missing, threads)
    held_out_fields = [code_field(field, tables, missing) for field in held_out]
    if options.held_out_window is not None:
        check_differences(held_out_fields)
    doubts = value_warnings([*fields, *held_out_fields], names_of(tables))
    overlooked = overlooked_columns(tables, options)
    if overlooked:
        doubts.append(overlooked_text([field.name for field in compared], overlooked))
    coded = {field.field.name: field for field in fields}
    left_out: list[LeftOut] = []
    if options.fields is None:
        rule_fields = named_fields(options.rules or ())
        left_out = keys_left_out(Linkage(tables, coded), rule_fields)
    for column in left_out:
        del coded[column.name]
    seed = int(options.seed)
    linkage = Linkage(tables, coded, seed, threads)
    edges = shared_content(list(coded.values()), seed)
    elsewhere = fields_elsewhere(list(coded.values()), seed)
    if elsewhere:
        doubts.append(elsewhere_text(elsewhere))
    # Whole records of two tables are compared as texts if their values are in different columns.
    by_texts = bool(elsewhere) and not linkage.single
    mixed = (
        options.scoring == "weights" and not by_texts and suits_mixture(linkage, edges)
    )
    # Fields that the user names are always scored. Blocking rules use all.
    dependent: list[DependentField] = []
    if options.fields is None and not mixed:
        dependent = dependent_fields(tables, [*coded], seed)
    scored = without_fields(coded, dependent)
    if dependent:
        edges = shared_content(scored, seed)
    return LinkTask(
        options,
        labels,
        linkage,
        scored,
        next(iter(held_out_fields), None),
        left_out,
        dependent,
        edges,
        mixed,
        markers_of(fields),
        doubts,
    )


def check_differences(fields: Sequence[CodedField]) -> None:
    """Raise ValueError for fields of which no two values are nearer to each other than others."""
    for field in fields:
        if field.kind == "category":
            name = field.field.name
            raise ValueError(
                f"held_out_window limits a difference, but the values of the category {name!r} are "
                "equal or not: leave out the window, or hold out a number or a date "
                "(NAME:number, NAME:date)"
            )


def without_fields(
    coded: Mapping[str, CodedField], dependent: Sequence[DependentField]
) -> list[CodedField]:
    """Return the fields that do not follow from others."""
    names = {field.name for field in dependent}
    return [field for name, field in coded.items() if name not in names]


def markers_of(fields: Sequence[CodedField]) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the values of each field that mean that there is none, and their rows."""
    return {
        field.field.name: {marker.value: marker.rows for marker in field.markers}
        for field in fields
        if field.markers
    }
