"""Tables of text: fields, weights, and the pipeline of the blocking rules."""

from __future__ import annotations

from collections.abc import Sequence

from lshfast._common.display import counted
from lshfast._common.visible import visible
from lshfast.records.candidates import RuleReport
from lshfast.records.dependent import DependentField
from lshfast.records.keys import LeftOut
from lshfast.records.reach import Reach
from lshfast.records.tables import CodedField
from lshfast.records.weights import LinkWeights

SHOWN_MARKERS = 6  # of a field


def fields_text(
    fields: Sequence[CodedField],
    dependent: Sequence[DependentField] = (),
    left_out: Sequence[LeftOut] = (),
) -> str:
    """Return the fields with their kinds, how many rows have a value, and the columns that are not
    counted.
    """
    lines = [
        f"{'field':<24}{'kind':<10}{'values':>10}{'present in a':>14}{'in b':>8}   not of this kind"
    ]
    for coded in fields:
        name = visible(coded.field.name + (f"={coded.field.other}" if coded.field.other else ""))
        first, second = coded.present
        refused = (
            " and ".join(f"{number:,}" for number in coded.refused) if any(coded.refused) else ""
        )
        lines.append(
            f"{name:<24}{coded.kind:<10}{len(coded.values):>10,}{first:>13.1%}{second:>9.1%}   "
            f"{refused}".rstrip()
        )
    return "\n".join([*lines, *all_notes(fields, dependent, left_out)])


def all_notes(
    fields: Sequence[CodedField], dependent: Sequence[DependentField], left_out: Sequence[LeftOut]
) -> list[str]:
    """Return what the values of columns decided, and the columns that are not compared, with the
    reasons.
    """
    return [*notes_of(fields), *map(str, dependent), *map(str, left_out)]


def notes_of(fields: Sequence[CodedField]) -> list[str]:
    """Return what the values of columns decided, such as the order of dates and what is missing, as
    lines of text.
    """
    return [*_forms_of(fields), *map(missing_text, (coded for coded in fields if coded.markers))]


def missing_text(coded: CodedField) -> str:
    """Return the values of a field that count as missing, with the rows of each table that have
    them.
    """
    shown = [
        f"{shortened(marker.value)!r} ({' and '.join(f'{rows:,}' for rows in marker.rows)})"
        for marker in coded.markers[:SHOWN_MARKERS]
    ]
    more = len(coded.markers) - SHOWN_MARKERS
    return (
        f"{coded.field.name}: counts as missing: "
        f"{', '.join(shown)}{f', and {more:,} more' if more > 0 else ''}"
    )


def _forms_of(fields: Sequence[CodedField]) -> list[str]:
    return [
        visible(
            f"{coded.field.column_of(side)}{' in ' + 'ab'[side] if len(coded.notes) > 1 else ''}: "
            f"{note}"
        )
        for coded in fields
        for side, note in enumerate(coded.notes)
        if note
    ]


def weights_text(weights: LinkWeights) -> str:
    """Return the probabilities and weights of all levels."""
    lines = [f"{'field':<20}{'level':<36}{'m':>10}{'u':>12}{'bits':>8}"]
    for own in weights.fields:
        name = visible(own.field if own.factor == 1 else f"{own.field} x {own.factor:.2f}")
        for label, m, u, bits in list(zip(own.labels, own.m, own.u, own.bits, strict=True))[1:]:
            lines.append(f"{name:<20}{visible(label):<36}{m:>10.4f}{u:>12.3g}{bits:>8.2f}")
            name = ""
    lines.append(f"expected matches: {weights.matches:,.1f}")
    # With factors, the prior is no share of the pairs.
    if all(own.factor == 1 for own in weights.fields):
        lines[-1] += f"; one pair of {1 / weights.prior:,.0f} is a match"
    return "\n".join(lines)


def shortened(key: str) -> str:
    """Return a key of a block, at most 60 characters of it."""
    return key if len(key) <= 60 else f"{key[:57]}..."


def rules_text(rules: Sequence[RuleReport], reach: Reach | None = None) -> str:
    """Return the table of the pipeline: the pairs that each rule brought, alone and with each other
    rule.

    If it was measured, the part of the seeds that each rule reaches, and all together, are shown
    too.
    """
    names = [visible(rule.rule) for rule in rules]
    width = max([*map(len, names), 4])
    header = f"{'':>3} {'rule':<{width}}{'pairs':>13}{'alone':>13}{'links':>11}"
    if reach is not None:
        header += f"{'reached':>10}"
    lines = [header + "".join(f"{f'with {r}':>13}" for r in range(1, len(rules) + 1))]
    for number, rule in enumerate(rules, 1):
        shared = "".join(
            f"{'-' if other == number else f'{pairs:,}':>13}"
            for other, pairs in enumerate(rule.shared, 1)
        )
        part = "" if reach is None else f"{'-' if rule.reach is None else f'{rule.reach:.1%}':>10}"
        counts = f"{rule.pairs:>13,}{rule.alone:>13,}{rule.links:>11,}"
        lines.append(f"{number:>3} {names[number - 1]:<{width}}{counts}{part}{shared}")
    if reach is not None:
        without = (
            " without nearest, by which these are found"
            if any(rule.reach is None for rule in rules)
            else ""
        )
        lines.append(
            f"these rules reach {reach.share:.1%} of {counted(reach.seeds, 'seed pair')}{without}"
        )
    for number, rule in enumerate(rules, 1):
        if rule.skipped:
            largest = "; ".join(
                f"{shortened(block.key)!r} {block.pairs:,}" for block in rule.largest_skipped
            )
            blocks = f"{rule.skipped:,} block{'s' if rule.skipped > 1 else ''}"
            lines.append(
                f"rule {number} left out {blocks} above the cap, {rule.skipped_pairs:,} pairs; "
                f"the largest: {largest}"
            )
    return "\n".join(lines)
