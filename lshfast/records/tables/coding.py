"""The coded fields of a run, and what several fields decide together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lshfast._common.threads import ordered_map
from lshfast._common.types import BoolArray, Int32Array, Int64Array
from lshfast._common.visible import visible
from lshfast.records.tables.coded_fields import CodedField, code_field, without_values
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import RecordTable
from lshfast.records.values.missing import MissingValues

UNIQUE = 0.8  # least part of the values of a field that are different, if it tells records apart
# How many times as often as the next one a value occurs that nearly no other record should have.
FAR = 5
FEWEST = 5  # times that it occurs at least
MOST = 20  # such values of a field
SAMPLE = 1000  # rows with such a value
# Least part of the values of another field that are different in these rows.
TOLD_APART = 0.8
REFUSED = 0.05  # part of the values of a field that are not of its kind, of which the run warns
SHOWN_CHARACTERS = 40  # of an example
NOUNS = {"date": "dates", "number": "numbers", "age": "ages or dates"}


def code_fields(
    tables: Sequence[RecordTable],
    fields: Sequence[Field],
    missing: MissingValues,
    threads: int,
) -> list[CodedField]:
    """Number the values of fields in two tables, or in one.

    A word that may be a name counts as missing if it does in another field. A code, telephone, date
    or e-mail address counts as missing if it is far more frequent than the next ones in a field of
    nearly unique values, although other fields tell the records apart that have it.
    """
    coded = list(
        ordered_map(lambda field: code_field(field, tables, missing), fields, threads)
    )
    if not missing.recognised:
        return coded
    markers = (marker for field in coded for marker in field.markers)
    elsewhere = frozenset(marker.value.strip() for marker in markers)
    for place, field in enumerate(coded):
        words = elsewhere.intersection(map(str.strip, field.doubtful))
        if words:
            coded[place] = code_field(fields[place], tables, missing, words)
    return [
        without_values(field, _frequent_dummies(field, coded), tables)
        for field in coded
    ]


def _frequent_dummies(coded: CodedField, fields: Sequence[CodedField]) -> BoolArray:
    """Return which values are far too frequent, and shared by records that other fields tell apart.

    It looks at codes, telephones, dates and e-mail addresses.
    """
    dropped = np.zeros(len(coded.values), bool)
    is_issued = coded.kind in ("code", "phone", "date") or coded.are_mail_addresses
    if not is_issued:
        return dropped
    column = coded.field.column_of(0)
    other_fields = [field for field in fields if field.field.column_of(0) != column]
    for side, codes in enumerate(coded.table_codes):
        counts = np.bincount(codes[codes >= 0], minlength=len(coded.values))
        frequent = _frequent_values(counts)
        if not frequent:
            continue
        unique = [
            field.codes[side]
            for field in other_fields
            if _share_of_distinct(field.codes[side]) >= UNIQUE * 0.5
        ]
        for code in frequent if unique else ():
            rows = np.flatnonzero(codes == code)[:SAMPLE]
            shares = [_share_of_distinct(other[rows], 1.0) for other in unique]
            dropped[code] |= float(np.mean(shares)) >= TOLD_APART
    return dropped


def _frequent_values(counts: Int64Array) -> list[int]:
    """Return the values that are far more frequent than all others, if these are nearly unique."""
    order = np.argsort(-counts, kind="stable")[: MOST + 1]
    top = counts[order]
    nexts = np.append(top[1:], 0)[: len(top)]
    ends = np.flatnonzero((top >= FEWEST) & (top >= FAR * np.maximum(nexts, 1)))[:MOST]
    for end in reversed(ends.tolist()):
        other_counts = counts.copy()
        other_counts[order[: end + 1]] = 0
        least_distinct = max(UNIQUE * other_counts.sum(), FEWEST)
        if np.count_nonzero(other_counts) >= least_distinct:
            return [int(code) for code in order[: end + 1]]
    return []


def _share_of_distinct(codes: Int32Array, of_none: float = 0.0) -> float:
    """Return the number of different values as a share of the rows with a value."""
    present = codes[codes >= 0]
    return len(np.unique(present)) / len(present) if len(present) else of_none


def value_warnings(fields: Sequence[CodedField], names: Sequence[str]) -> list[str]:
    """Return warnings of values that are not of the kind of their field, with some of them.

    Parameters
    ----------
    fields : sequence of CodedField
    names : sequence of str
        The names of the tables.
    """
    warnings = []
    for coded in fields:
        shares = []
        for refused, codes, name in zip(
            coded.refused, coded.codes, names, strict=False
        ):
            share = refused / max(1, refused + int((codes >= 0).sum()))
            if share > REFUSED:
                shares.append(f"{share:.0%} in {name}")
        if shares:
            examples = [repr(text[:SHOWN_CHARACTERS]) for text in coded.examples]
            what = NOUNS.get(coded.kind, "letters or digits")
            warning = (
                f"{coded.field.name}: values that are no {what} count as missing, "
                f"{' and '.join(shares)}, such as {', '.join(examples)}; --field "
                f"{coded.field.name}:text (fields=) compares them as they are written"
            )
            warnings.append(visible(warning))
    return warnings
