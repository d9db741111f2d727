"""Tables of text: fields, weights, and the pipeline of the blocking rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from lshfast._common.display import counted
from lshfast._common.visible import visible
from lshfast.records.candidates.reach import Reach
from lshfast.records.candidates.union import RuleReport
from lshfast.records.results.run_view import Linked
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import CodedField
from lshfast.records.weights.fellegi_sunter import LinkWeights

SHOWN_MARKERS = 6  # of a field


def fields_text(run: Linked) -> str:
    """Return the fields with their kinds and values, and the columns that are not counted."""
    lines = [
        f"{'field':<24}{'kind':<10}{'values':>10}{'present in a':>14}{'in b':>8}   not of this kind"
    ]
    for coded in run.fields:
        first, second = coded.present
        refused = ""
        if any(coded.refused):
            refused = " and ".join(f"{number:,}" for number in coded.refused)
        name = f"{visible(columns_shown(coded.field)):<24}{coded.kind:<10}"
        figures = f"{len(coded.values):>10,}{first:>13.1%}{second:>9.1%}"
        lines.append(f"{name}{figures}   {refused}".rstrip())
    return "\n".join([*lines, *notes_of(run)])


def columns_shown(field: Field) -> str:
    """Return the columns of a field as an option names them."""
    return f"{field.name}={field.other}" if field.other else field.name


def notes_of(run: Linked) -> list[str]:
    """Return what values of columns decided, and the columns that are not compared, and why."""
    notes = []
    for coded in run.fields:
        for side, note in enumerate(coded.notes):
            table = f" in {'ab'[side]}" if len(coded.notes) > 1 else ""
            if note:
                notes.append(visible(f"{coded.field.column_of(side)}{table}: {note}"))
    notes += [_missing_values(coded) for coded in run.fields if coded.markers]
    return [*notes, *map(str, run.dependent), *map(str, run.left_out)]


def _missing_values(coded: CodedField) -> str:
    """Return the values of a field that count as missing, with their rows in each table."""
    shown = []
    for marker in coded.markers[:SHOWN_MARKERS]:
        rows = " and ".join(f"{count:,}" for count in marker.rows)
        shown.append(f"{shortened(marker.value)!r} ({rows})")
    hidden = len(coded.markers) - SHOWN_MARKERS
    if hidden > 0:
        shown.append(f"and {hidden:,} more")
    return f"{coded.field.name}: counts as missing: {', '.join(shown)}"


def weights_text(weights: LinkWeights) -> str:
    """Return the probabilities and weights of all levels."""
    lines = [f"{'field':<20}{'level':<36}{'m':>10}{'u':>12}{'bits':>8}"]
    for field in weights.fields:
        factor = "" if field.factor == 1 else f" x {field.factor:.2f}"
        name = visible(field.field + factor)
        levels = zip(field.labels, field.m, field.u, field.bits, strict=True)
        for label, m, u, bits in islice(levels, 1, None):
            lines.append(
                f"{name:<20}{visible(label):<36}{m:>10.4f}{u:>12.3g}{bits:>8.2f}"
            )
            name = ""
    lines.append(f"expected matches: {weights.matches:,.1f}")
    # With factors, the prior is no share of the pairs.
    if all(field.factor == 1 for field in weights.fields):
        lines[-1] += f"; one pair of {1 / weights.prior:,.0f} is a match"
    return "\n".join(lines)


def shortened(key: str) -> str:
    """Return a key of a block, at most 60 characters of it."""
    return key if len(key) <= 60 else f"{key[:57]}..."


def rules_text(rules: Sequence[RuleReport], reach: Reach | None = None) -> str:
    """Return the table of the rules: the pairs of each, alone and together with each other rule.

    If the reach was measured, the share of the seeds that each rule and all reach is shown too.
    """
    names = [visible(rule.rule) for rule in rules]
    width = max([*map(len, names), 4])
    header = f"{'':>3} {'rule':<{width}}{'pairs':>13}{'alone':>13}{'links':>11}"
    if reach is not None:
        header += f"{'reached':>10}"
    lines = [header + "".join(f"{f'with {r}':>13}" for r in range(1, len(rules) + 1))]
    for number, rule in enumerate(rules, 1):
        line = f"{number:>3} {names[number - 1]:<{width}}"
        line += f"{rule.pairs:>13,}{rule.alone:>13,}{rule.links:>11,}"
        if reach is not None:
            line += f"{'-' if rule.reach is None else f'{rule.reach:.1%}':>10}"
        for other, pairs in enumerate(rule.shared, 1):
            line += f"{'-' if other == number else f'{pairs:,}':>13}"
        lines.append(line)
    if reach is not None:
        line = f"these rules reach {reach.share:.1%} of {counted(reach.seeds, 'seed pair')}"
        if any(rule.reach is None for rule in rules):
            line += " without nearest, by which these are found"
        lines.append(line)
    return "\n".join([*lines, *_skipped_lines(rules)])


def _skipped_lines(rules: Sequence[RuleReport]) -> Iterator[str]:
    """Yield a line for each rule that left out blocks."""
    for number, rule in enumerate(rules, 1):
        if rule.skipped:
            largest = "; ".join(
                f"{shortened(block.key)!r} {block.pairs:,}"
                for block in rule.largest_skipped
            )
            yield (
                f"rule {number} left out {counted(rule.skipped, 'block')} above the cap, "
                f"{rule.skipped_pairs:,} pairs; the largest: {largest}"
            )
