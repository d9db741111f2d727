"""Tables of text: fields, weights, and the pipeline of the blocking rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from lshfast._common.display import counted
from lshfast._common.visible import cut_off, visible
from lshfast._io.pages.page import short
from lshfast.records.candidates.reach import Reach
from lshfast.records.candidates.union import RuleReport
from lshfast.records.results.run_view import Linked
from lshfast.records.results.text_tables import aligned, signed
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import names_of
from lshfast.records.weights.fellegi_sunter import LinkWeights

SHOWN_MARKERS = 6  # of a field
SHOWN_NAMES = 6  # of columns
NAME_CHARACTERS = 20  # of a table or column in a note
FIELD_CHARACTERS = 60
FEW_RULES = 3  # whose common pairs fit 80 columns


def fields_text(run: Linked) -> str:
    """Return the fields with their kinds and values, and the columns that are not counted."""
    names = _short_names(run)
    present = ["present"]
    if not run.single:
        present = [f"present in {names[0]}", f"in {names[1]}"]
    rows = [("field", "kind", "values", *present, "not of this kind")]
    for coded in run.fields:
        name = columns_shown(coded.field)
        shares = [f"{share:.1%}" for share in coded.present[: len(names)]]
        refused = _numbers(coded.refused[: len(names)]) if any(coded.refused) else ""
        rows.append((name, coded.kind, f"{len(coded.values):,}", *shares, refused))
    return "\n".join([aligned(rows, left_columns=2), *notes_of(run)])


def _short_names(run: Linked) -> list[str]:
    """Return the names of the tables, once if there is one."""
    names = names_of(run.tables)[: 1 if run.single else 2]
    return [short(name, NAME_CHARACTERS) for name in names]


def _numbers(numbers: Sequence[int]) -> str:
    return " and ".join(f"{number:,}" for number in numbers)


def columns_shown(field: Field) -> str:
    """Return the columns of a field as an option names them."""
    return f"{field.name}={field.other}" if field.other else field.name


def notes_of(run: Linked) -> list[str]:
    """Return the columns that are not compared, and why; and what values of columns decided."""
    return [*unpaired_notes(run), *notes_of_values(run)]


def notes_of_values(run: Linked) -> list[str]:
    """Return what values of columns decided."""
    notes = []
    names = _short_names(run)
    for coded in run.fields:
        for side, note in enumerate(coded.notes):
            table = "" if run.single else f" in {names[side]}"
            if note:
                notes.append(visible(f"{coded.field.column_of(side)}{table}: {note}"))
    notes += [_missing_values(coded) for coded in run.fields if coded.markers]
    return [*notes, *map(str, run.dependent), *map(str, run.left_out)]


def unpaired_notes(run: Linked) -> list[str]:
    """Return a note on the columns that only one of two tables has, if there are any."""
    if not any(run.unpaired):
        return []
    sides = zip(run.unpaired, _short_names(run), strict=True)
    unpaired = ", ".join(
        f"{_listed(names)} of {table}" for names, table in sides if names
    )
    reason = "the other table has no column of this name"
    if all(run.unpaired):
        reason = "columns with other names in the other table: --field A=B"
    columns = run.tables[0].columns
    compared = [name for name in run.names if name in columns]
    return [f"compared: {_listed(compared)}; not compared: {unpaired} ({reason})"]


def _listed(names: Sequence[str]) -> str:
    """Return the first of some names of columns, and how many more there are."""
    shown = [short(visible(name), NAME_CHARACTERS) for name in names[:SHOWN_NAMES]]
    hidden = len(names) - SHOWN_NAMES
    if hidden > 0:
        shown.append(f"and {hidden:,} more")
    return ", ".join(shown)


def _missing_values(coded: CodedField) -> str:
    """Return the values of a field that count as missing, with their rows in each table."""
    shown = []
    for marker in coded.markers[:SHOWN_MARKERS]:
        shown.append(f"{cut_off(marker.value)!r} ({_numbers(marker.rows)})")
    hidden = len(coded.markers) - SHOWN_MARKERS
    if hidden > 0:
        shown.append(f"and {hidden:,} more")
    return f"{coded.field.name}: counts as missing: {', '.join(shown)}"


class LevelRow(NamedTuple):
    """The weight of a level of a field; `field` is empty if it is that of the row before."""

    field: str
    level: str
    m: str
    u: str
    bits: str


def level_rows(weights: LinkWeights, most_fields: int | None = None) -> list[LevelRow]:
    """Return the levels of all fields, or of the first ones, without those of missing values."""
    rows = []
    for field in weights.fields[:most_fields]:
        factor = "" if field.factor == 1 else f" × {field.factor:.2f}"
        name = short(field.field, FIELD_CHARACTERS) + factor
        levels = zip(field.labels, field.m, field.u, field.bits, strict=True)
        for label, m, u, bits in islice(levels, 1, None):
            rows.append(LevelRow(name, label, f"{m:.4f}", f"{u:.3g}", signed(bits)))
            name = ""
    return rows


def weights_text(weights: LinkWeights) -> str:
    """Return the probabilities and weights of all levels."""
    table = aligned([LevelRow._fields, *level_rows(weights)], left_columns=2)
    text = f"{table}\nexpected matches: {weights.matches:,.1f}"
    # With factors, the prior is no share of the pairs.
    if all(field.factor == 1 for field in weights.fields):
        text += f"; one pair of {1 / weights.prior:,.0f} is a match"
    return text


def rules_text(rules: Sequence[RuleReport], reach: Reach | None = None) -> str:
    """Return the table of the rules: the pairs of each, alone and, of few, in common.

    If the reach was measured, the share of the seeds that each rule and all reach is shown too.
    """
    common_rules = range(len(rules) if len(rules) <= FEW_RULES else 0)
    header = ["", "rule", "pairs", "alone", "links"]
    if reach is not None:
        header.append("reached")
    rows = [[*header, *(f"with {other + 1}" for other in common_rules)]]
    for number, rule in enumerate(rules):
        counts = [f"{count:,}" for count in (rule.pairs, rule.alone, rule.links)]
        row = [f"{number + 1}", rule.rule, *counts]
        if reach is not None:
            row.append("-" if rule.reach is None else f"{rule.reach:.1%}")
        shared = [f"{rule.shared[other]:,}" for other in common_rules]
        if shared:
            shared[number] = "-"
        rows.append([*row, *shared])
    lines = [aligned(rows, left_columns=2)]
    if reach is not None:
        line = f"these rules reach {reach.share:.1%} of {counted(reach.seeds, 'seed pair')}"
        if any(rule.reach is None for rule in rules):
            line += " without nearest, by which these are found"
        lines.append(line)
    return "\n".join([*lines, *skipped_lines(rules)])


def skipped_lines(rules: Sequence[RuleReport], texts: bool = True) -> Iterator[str]:
    """Yield a line for each rule that left out blocks; with texts, their keys, which are values."""
    for number, rule in enumerate(rules, 1):
        if not rule.skipped:
            continue
        blocks = f"{counted(rule.skipped, 'block')} with {counted(rule.skipped_pairs, 'pair')}"
        largest = [
            f"{cut_off(block.key)!r} ({counted(block.pairs, 'pair')})"
            for block in rule.largest_skipped
        ]
        keys = f"; the largest: {', '.join(largest)}" if texts else ""
        yield f"rule {number} left out {blocks}, above the cap{keys}"
