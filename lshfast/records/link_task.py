"""What is linked: the fields of the tables, as they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.visible import visible
from lshfast.records.candidates.names import named_fields
from lshfast.records.comparison.levels import FieldComparer, connect_exchanged
from lshfast.records.comparison.synonyms import Synonyms
from lshfast.records.linkage import Linkage
from lshfast.records.options import LinkOptions
from lshfast.records.tables.coding import code_fields, value_warnings
from lshfast.records.tables.content import shared_content
from lshfast.records.tables.dependent import DependentField, dependent_fields
from lshfast.records.tables.fields import Field, checked_fields
from lshfast.records.tables.keys import LeftOut, keys_left_out
from lshfast.records.tables.record_table import CodedField, RecordTable, code_field
from lshfast.records.values.addresses import with_address_parts
from lshfast.records.values.missing import MissingValues
from lshfast.records.weights.network import suits_mixture


@dataclass(frozen=True)
class LinkTask:
    """The fields of the tables that are linked.

    Attributes
    ----------
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
    synonyms : Synonyms
    markers : dict of str to dict of str to tuple of int
        Values of each field that mean that there is none, and their rows.
    doubts : list of str
        Warnings of values.
    comparers : list of FieldComparer
        Of the scored fields.
    """

    linkage: Linkage
    scored: list[CodedField]
    held_out: CodedField | None
    left_out: list[LeftOut]
    dependent: list[DependentField]
    edges: set[tuple[int, int]]
    mixed: bool
    synonyms: Synonyms
    markers: dict[str, dict[str, tuple[int, ...]]]
    doubts: list[str]

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


def coded_task(a: RecordTable, b: RecordTable | None, options: LinkOptions) -> LinkTask:
    """Read the fields of the tables, and choose those that are scored."""
    chosen, held_out = chosen_fields(a, b, options)
    threads = thread_count(options.threads)
    seed = int(options.seed)
    a, b, chosen = with_address_parts(a, b, chosen)
    missing = MissingValues.of(
        options.missing, [*a.columns, *([] if b is None else b.columns)]
    )
    coded = {
        field.field.name: field for field in code_fields(a, b, chosen, missing, threads)
    }
    held_out_field = None if held_out is None else code_field(held_out, a, b, missing)
    markers = {
        name: {marker.value: marker.rows for marker in field.markers}
        for name, field in coded.items()
        if field.markers
    }
    read = [*coded.values(), *([] if held_out_field is None else [held_out_field])]
    doubts = value_warnings(read, "a" if b is None else "ab")
    left_out: list[LeftOut] = []
    if options.fields is None:
        left_out = keys_left_out(
            Linkage(a, b, coded), named_fields(options.rules or ())
        )
    for column in left_out:
        del coded[column.name]
    linkage = Linkage(a, b, coded, seed, threads)
    edges = shared_content(list(coded.values()), seed)
    mixed = options.scoring == "weights" and suits_mixture(linkage, edges)
    # Fields that the user names are always scored. Blocking rules use all.
    dependent: list[DependentField] = []
    if options.fields is None and not mixed:
        dependent = dependent_fields([a] if b is None else [a, b], [*coded], seed)
    names = {field.name for field in dependent}
    scored = [field for name, field in coded.items() if name not in names]
    if dependent:
        edges = shared_content(scored, seed)
    synonyms = Synonyms.english() if options.synonyms is None else options.synonyms
    return LinkTask(
        linkage,
        scored,
        held_out_field,
        left_out,
        dependent,
        edges,
        mixed,
        synonyms,
        markers,
        doubts,
    )


def chosen_fields(
    a: RecordTable, b: RecordTable | None, options: LinkOptions
) -> tuple[list[Field], Field | None]:
    """Return the fields to compare and the field that is held out, after checking that their
    columns exist.
    """
    held_out = (
        None if options.held_out is None else checked_fields([options.held_out])[0]
    )
    if options.fields is None:
        both = [name for name in a.names if b is None or name in b.names]
        chosen = [Field(name) for name in both]
    else:
        chosen = checked_fields(options.fields)
    if held_out is not None and held_out.kind == "address":
        raise ValueError(
            "an address is compared by its parts, so it cannot be held out; hold out another column"
        )
    left_out = {*options.ignore, *([] if held_out is None else [held_out.name])}
    for name in options.ignore:
        if name not in a.columns and (b is None or name not in b.columns):
            a.column(name)
    chosen = [one for one in chosen if one.name not in left_out]
    for one in [*chosen, *([] if held_out is None else [held_out])]:
        a.column(one.name)
        if b is not None:
            b.column(one.column_of(1))
    if not chosen:
        shown = visible(
            " and ".join(
                ", ".join(table.names) or "none"
                for table in (a, b)
                if table is not None
            )
        )
        raise ValueError(
            f"there is no field to compare; columns are: {shown}; fields (--field A=B) pairs others"
        )
    return chosen, held_out
