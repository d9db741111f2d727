"""Columns that number or name the records of one table: they do not show that records are equal.

Equal row numbers of two tables pair records by chance. Equal numbers of books or persons pair the
right records. The other fields distinguish these cases: if numbers mean something, records with
equal numbers are more alike in the other fields than records with neighbouring numbers. Neighbours
are the control, because tables may be sorted. Samples of the values and of the pairs are used: .07
s for two tables of 200,000 records.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from lshfast._common.rows import evenly_spaced
from lshfast._common.types import BoolArray, Float64Array, Int32Array, Int64Array
from lshfast._common.visible import visible
from lshfast.records.comparison.overlap import TermVectors
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.record_table import RecordTable, values_at
from lshfast.shingling import shingle

DIFFERENT = 0.95  # least part of the values of a column that differ
# The fewest rows with values in a column of codes, of running numbers, and of 1, 2, 3...
FEWEST_ROWS = 100
FEWEST_RUNNING = 20
FEWEST_IN_ORDER = 5
SAMPLE_VALUES = 2000  # of a column
CODE_LIKE = 0.95  # least part of them that are single words with a digit
DENSE = 0.5  # least part of the numbers of a range that occur
TRIMMED = 0.01  # the part of the numbers at each end of the range that does not count
MOST_SORTED = 100_000  # values
SAMPLE_PAIRS = 400  # with equal values
# In the order of the values, whose records are compared with those of equal values.
NEIGHBOURS = (-3, -2, -1, 1, 2, 3)
# Least probability that a pair with equal values is more alike than one with neighbouring values.
ALIKE = 0.65
ERRORS = 2.5  # standard errors by which this probability is above a half
LONGEST = 100  # characters of a running number or code
COMPARED = 60  # characters of a value, at most
ROWS = "row numbers"
RUNNING = "running numbers"
CODES = "codes"
_RUNNING = re.compile(r"(\D*)(\d{1,15})(\D*)")


@dataclass(frozen=True)
class LeftOut:
    """A column that both tables have and that is not compared.

    Attributes
    ----------
    name : str
    reason : str

    Examples
    --------
    >>> from lshfast.records.tables.keys import LeftOut
    >>> print(LeftOut("id", "row numbers"))
    id: row numbers, not compared
    """

    name: str
    reason: str

    def __str__(self) -> str:
        shown = f"{self.name}: {self.reason}, not compared"
        # Which may differ in typing errors, so that a person may know better.
        if CODES in self.reason:
            shown += (
                f"; fields (--field {self.name}) or a rule (--block key:{self.name}) that "
                "names it keeps it"
            )
        return visible(shown)


def keys_left_out(linkage: Linkage, keep: Collection[str] = ()) -> list[LeftOut]:
    """Return the fields that number or name records and say nothing about other records.

    These are fields whose values are nearly all different in each table, and are running numbers,
    or single words with digits (codes). Within one table, running numbers are left out, and codes
    of which no two are equal. Equal values of other codes, and of both in two tables, must belong
    to records that are alike in the other fields.

    Parameters
    ----------
    linkage : Linkage
    keep : collection of str
        Fields that are not looked at.

    Returns
    -------
    list of LeftOut
        In the order of the fields. It is empty if no other field is left to compare.

    Examples
    --------
    >>> from lshfast.records.tables.fields import Field
    >>> from lshfast.records.tables.keys import keys_left_out
    >>> from lshfast.records.linkage import Linkage
    >>> from lshfast.records.tables.coded_fields import code_field
    >>> from lshfast.records.tables.record_table import RecordTable
    >>> table = RecordTable(
    ...     {"row": range(30), "name": ["Ann Lee", "Bob Ray", "Eve Orr"] * 10}
    ... )
    >>> fields = {name: code_field(Field(name), [table]) for name in table.names}
    >>> [str(found) for found in keys_left_out(Linkage([table], fields))]
    ['row: row numbers, not compared']
    """
    suspects: dict[str, str] = {}
    other_fields: list[CodedField] = []
    for name, coded in linkage.fields.items():
        kind = None if name in keep else _suspected(linkage, coded)
        if kind is not None:
            suspects[name] = kind
        elif len(coded.values):
            other_fields.append(coded)
    if not other_fields:
        return []
    left_out = []
    for name, kind in suspects.items():
        reason = kind
        if not linkage.single or kind == CODES:
            coded = linkage.fields[name]
            alike = _alike(coded, _rows_of(linkage, coded), other_fields)
            if alike:
                continue
            reason = f"{kind}; records with equal ones are not alike"
            if alike is None:
                whose = "record of the other table"
                if linkage.single:
                    whose = "other record"
                reason = f"{kind} that no {whose} has"
        left_out.append(LeftOut(name, reason))
    return left_out


def _suspected(linkage: Linkage, coded: CodedField) -> str | None:
    """Return what nearly unique values are in all tables: codes, running or row numbers, or None.

    None stands for values that may vary.
    """
    if coded.kind in ("date", "category"):
        return None
    kinds = [
        _kind_of_keys(table, coded, side) for side, table in enumerate(linkage.tables)
    ]
    if None in kinds:
        return None
    return max(kinds, key=(ROWS, RUNNING, CODES).index)


def _kind_of_keys(table: RecordTable, coded: CodedField, side: int) -> str | None:
    """Return what the values of one table are if nearly all of them are different, else None."""
    codes = coded.codes[side]
    present = codes[codes >= 0]
    counts = np.bincount(present, minlength=len(coded.values))
    distinct = np.flatnonzero(counts)
    if len(present) < FEWEST_IN_ORDER or len(distinct) < DIFFERENT * len(present):
        return None
    kind = _running(coded, present, distinct)
    may_be_codes = len(present) >= FEWEST_ROWS and coded.kind != "number"
    if kind is None and may_be_codes:
        column = table.column(coded.field.column_of(side))
        kind = CODES if _code_like(column, codes) else None
    return kind


def _spread(rows: Int64Array, most: int) -> Int64Array:
    """Return the rows, or `most` of them at equal distances."""
    return rows[evenly_spaced(len(rows), most)]


def _running(
    coded: CodedField, present: Int32Array, distinct: Int64Array
) -> str | None:
    """Return what running numbers the used values of one table are; None for other values."""
    kind, in_order = _numbers(coded, present[:SAMPLE_VALUES])
    if len(in_order) and in_order[0] in (0, 1) and (np.diff(in_order) == 1).all():
        return kind
    if len(distinct) < FEWEST_RUNNING:
        return None
    kind, numbers = _numbers(coded, _spread(distinct, SAMPLE_VALUES))
    if not len(numbers):
        return None
    low, high = np.quantile(numbers, [TRIMMED, 1 - TRIMMED])
    is_dense = len(distinct) * (1 - 2 * TRIMMED) >= DENSE * (high - low + 1)
    return kind if is_dense else None


def _numbers(
    coded: CodedField, codes: Int64Array | Int32Array
) -> tuple[str, Float64Array]:
    """Return the integers of values that differ in an integer only, such as A001 and A002.

    There are none for other values.
    """
    if coded.numbers is not None:
        numbers = coded.numbers[codes]
        return ROWS, numbers if (numbers == np.floor(numbers)).all() else numbers[:0]
    numbers_around: dict[tuple[str, str], list[int]] = {}
    for code in codes.tolist():
        match = _RUNNING.fullmatch(coded.values[code][: LONGEST + 1])
        if match is not None and len(match[0]) <= LONGEST:
            numbers_around.setdefault((match[1], match[3]), []).append(int(match[2]))
    around = max(numbers_around, key=lambda key: len(numbers_around[key]), default=None)
    if around is None or len(numbers_around[around]) < (1 - TRIMMED) * len(codes):
        return RUNNING, np.zeros(0)
    numbers = np.array(numbers_around[around], np.float64)
    return RUNNING if any(around) else ROWS, numbers


def _code_like(column: Sequence[object], codes: Int32Array) -> bool:
    """Return whether nearly all values, as read, are single words of ASCII with a digit."""
    rows = _spread(np.flatnonzero(codes >= 0), SAMPLE_VALUES // 4)
    texts = [str(value).strip() for value in values_at(column, rows)]
    short = [text for text in texts if len(text) <= LONGEST and text.isascii()]
    good = sum(len(text.split()) == 1 and any(map(str.isdigit, text)) for text in short)
    return good >= CODE_LIKE * len(texts)


def _rows_of(linkage: Linkage, coded: CodedField) -> tuple[Int64Array, Int64Array]:
    """Return for each value a row of each table that has it, -1 for none.

    Of one table, these are the last and the first row.
    """
    codes, second = coded.codes
    if not linkage.single:
        return _last_rows(coded, codes), _last_rows(coded, second)
    from_end = _last_rows(coded, codes[::-1])
    first = np.where(from_end < 0, -1, len(codes) - 1 - from_end)
    return _last_rows(coded, codes), first


def _last_rows(coded: CodedField, codes: Int32Array) -> Int64Array:
    """Return for each value the last row that has it; -1 for none."""
    last_rows = np.full(len(coded.values), -1, np.int64)
    rows = np.flatnonzero(codes >= 0)
    last_rows[codes[rows]] = rows
    return last_rows


def _alike(
    coded: CodedField,
    rows: tuple[Int64Array, Int64Array],
    other_fields: Sequence[CodedField],
) -> bool | None:
    """Return whether records with equal values are more alike in other fields than neighbours.

    None if no two records have equal values.
    """
    first, second = rows
    equal = (first >= 0) & (second >= 0)
    if coded.codes[0] is coded.codes[1]:
        equal &= first != second
    if not equal.any():
        return None
    order = _ordered(coded, np.flatnonzero(second >= 0))
    places = np.flatnonzero(equal[order])
    if not len(places):  # none in the range that is looked at
        order = _ordered(coded, np.flatnonzero(equal))
        places = np.arange(len(order), dtype=np.int64)
    places = _spread(places, SAMPLE_PAIRS)
    neighbours = places[:, None] + np.array(NEIGHBOURS, np.int64)
    inside = (neighbours >= 0) & (neighbours < len(order))
    repeats = inside.sum(axis=1)
    i = first[order[places]]
    j = second[order[places]]
    control_i = np.repeat(i, repeats)
    control_j = second[order[neighbours[inside]]]
    comparable = _comparable(other_fields, i, j)
    if not comparable.all():
        is_control = np.repeat(comparable, repeats)
        is_control &= _comparable(other_fields, control_i, control_j)
        i = i[comparable]
        j = j[comparable]
        control_i = control_i[is_control]
        control_j = control_j[is_control]
    if not len(control_i):
        return True
    similarities = _similarities(
        other_fields, np.append(i, control_i), np.append(j, control_j)
    )
    same, control = np.split(similarities, [len(i)])
    control.sort()
    below = np.searchsorted(control, same, side="left")
    below += np.searchsorted(control, same, side="right")
    margin = max(ALIKE - 0.5, ERRORS / (12 * len(i)) ** 0.5)
    return bool(below.mean() >= 2 * len(control) * (0.5 + margin))


def _comparable(
    fields: Sequence[CodedField], i: Int64Array, j: Int64Array
) -> BoolArray:
    """Return which pairs of records have values of the same field; only they can be alike."""
    comparable = np.zeros(len(i), bool)
    for field in fields:
        comparable |= np.minimum(*field.codes_of(i, j)) >= 0
    return comparable


def _ordered(coded: CodedField, codes: Int64Array) -> Int64Array:
    """Return the values in the order of their strings; of many values, those of one range."""
    values = coded.values
    ordered_codes = codes.tolist()
    if len(codes) > MOST_SORTED:
        sample = sorted(values[code] for code in _spread(codes, SAMPLE_VALUES).tolist())
        start = len(sample) // 4
        low = sample[start]
        high = sample[start + SAMPLE_VALUES * MOST_SORTED // (2 * len(codes))]
        ordered_codes = [code for code in ordered_codes if low <= values[code] <= high]
    return np.array(sorted(ordered_codes, key=values.__getitem__), np.int64)


def _similarities(
    fields: Sequence[CodedField], i: Int64Array, j: Int64Array
) -> Float64Array:
    """Return the cosines of the character trigrams of all fields of pairs of records."""
    rows_a, places_a = np.unique(i, return_inverse=True)
    rows_b, places_b = np.unique(j, return_inverse=True)
    texts = [*_texts(fields, 0, rows_a), *_texts(fields, 1, rows_b)]
    vectors = TermVectors(shingle(texts, "char", 3), np.ones(len(texts), np.int64), 1)
    return vectors.cosines(places_a, len(rows_a) + places_b).astype(np.float64)


def _texts(fields: Sequence[CodedField], side: int, rows: Int64Array) -> list[str]:
    """Return the beginnings of all values of some records."""
    texts = [""] * len(rows)
    for field in fields:
        for place, code in enumerate(field.codes[side][rows].tolist()):
            if code >= 0:
                texts[place] += f" {field.values[code][:COMPARED]} "
    return texts
