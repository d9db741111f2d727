"""Columns that number the records, or name them in one table only: they do not show that two
records are the same.

Equal row numbers of two tables pair records by chance. Equal numbers of books or persons pair the
right records. The other fields distinguish these cases: if numbers mean something, records with
equal numbers are more alike in the other fields than records with neighbouring numbers. Neighbours
are the control, because tables may be sorted. Samples of the values and of the pairs are used: .07
s for two tables of 200,000 records.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import visible
from lshfast.records.comparison.overlap import TermVectors
from lshfast.records.linkage import Linkage
from lshfast.records.tables.record_table import CodedField, Int32Array
from lshfast.shingling import shingle

DIFFERENT = 0.95  # least part of the values of a column that differ
# with values: for codes, for running numbers, for 1, 2, 3...
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
    >>> from lshfast.records.tables.record_table import RecordTable, code_field
    >>> table = RecordTable(
    ...     {"row": range(30), "name": ["Ann Lee", "Bob Ray", "Eve Orr"] * 10}
    ... )
    >>> fields = {name: code_field(Field(name), table, None) for name in table.names}
    >>> [str(found) for found in keys_left_out(Linkage(table, None, fields))]
    ['row: row numbers, not compared']
    """
    suspects = {
        name: reason
        for name, coded in linkage.fields.items()
        if name not in keep and (reason := _suspected(linkage, coded)) is not None
    }
    others = [
        coded
        for name, coded in linkage.fields.items()
        if name not in suspects and len(coded.values)
    ]
    if not suspects or not others:
        return []
    found = []
    for name, kind in suspects.items():
        coded = linkage.fields[name]
        if linkage.b is None and kind != CODES:
            found.append(LeftOut(name, kind))
            continue
        alike = _alike(coded, _rows_of(linkage, coded), others)
        if alike is None:
            whose = "other record" if linkage.b is None else "record of the other table"
            found.append(LeftOut(name, f"{kind} that no {whose} has"))
        elif not alike:
            found.append(
                LeftOut(name, f"{kind}; records with equal ones are not alike")
            )
    return found


def _suspected(linkage: Linkage, coded: CodedField) -> str | None:
    """Return what the values of a field are that are nearly all different in each table; None if
    they may vary.
    """
    if coded.kind in ("date", "category"):
        return None
    kinds = []
    for side, table in enumerate(
        (linkage.a,) if linkage.b is None else (linkage.a, linkage.b)
    ):
        codes = coded.codes[side]
        present = codes[codes >= 0]
        if len(coded.values) < DIFFERENT * len(present):
            return None
        counts = np.bincount(present, minlength=len(coded.values))
        distinct = int(np.count_nonzero(counts))
        if len(present) < FEWEST_IN_ORDER or distinct < DIFFERENT * len(present):
            return None
        kind = _running(coded, codes, np.flatnonzero(counts))
        if kind is None and len(present) >= FEWEST_ROWS and coded.kind != "number":
            kind = (
                CODES
                if _code_like(table.column(coded.field.column_of(side)), codes)
                else None
            )
        if kind is None:
            return None
        kinds.append(kind)
    return CODES if CODES in kinds else RUNNING if RUNNING in kinds else ROWS


def _spread(rows: Int64Array, most: int) -> Int64Array:
    """Return the rows, or `most` of them at equal distances."""
    return (
        rows
        if len(rows) <= most
        else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
    )


def _running(coded: CodedField, codes: Int32Array, used: Int64Array) -> str | None:
    """Return what running numbers the used values of one table are; None for other values."""
    present = codes[codes >= 0]
    kind, in_order = _numbers(coded, present[:SAMPLE_VALUES])
    if (
        in_order is not None
        and in_order[0] in (0, 1)
        and (np.diff(in_order) == 1).all()
    ):
        return kind
    if len(used) < FEWEST_RUNNING:
        return None
    kind, numbers = _numbers(coded, _spread(used, SAMPLE_VALUES))
    if numbers is None:
        return None
    low, high = np.quantile(numbers, [TRIMMED, 1 - TRIMMED])
    dense = len(used) * (1 - 2 * TRIMMED) >= DENSE * (high - low + 1)
    return kind if dense else None


def _numbers(
    coded: CodedField, codes: Int64Array | Int32Array
) -> tuple[str, Float64Array | None]:
    """Return the integers of values that differ in an integer only, such as A001 and A002; None for
    other values.
    """
    if coded.numbers is not None:
        numbers = coded.numbers[codes]
        return ROWS, numbers if (numbers == np.floor(numbers)).all() else None
    values = [
        value for code in codes.tolist() if len(value := coded.values[code]) <= LONGEST
    ]
    matches = [found for value in values if (found := _RUNNING.fullmatch(value))]
    around = Counter((found[1], found[3]) for found in matches)
    if not around:
        return RUNNING, None
    common, count = around.most_common(1)[0]
    if count < (1 - TRIMMED) * len(codes):
        return RUNNING, None
    numbers = np.array(
        [int(found[2]) for found in matches if (found[1], found[3]) == common],
        np.float64,
    )
    return RUNNING if any(common) else ROWS, numbers


def _code_like(column: Sequence[object], codes: Int32Array) -> bool:
    """Return whether nearly all values, as they were read, are single words of ASCII that have a
    digit.
    """
    rows = _spread(np.flatnonzero(codes >= 0), SAMPLE_VALUES // 4)
    texts = [
        str(getattr(value, "as_py", lambda value=value: value)()).strip()
        for value in (column[r] for r in rows)
    ]
    short = [text for text in texts if len(text) <= LONGEST and text.isascii()]
    good = sum(len(text.split()) == 1 and any(map(str.isdigit, text)) for text in short)
    return good >= CODE_LIKE * len(texts)


def _rows_of(linkage: Linkage, coded: CodedField) -> tuple[Int64Array, Int64Array]:
    """Return for each value a row of each table that has it, -1 for none; of one table, the last
    and the first row.
    """
    codes, second = coded.codes
    if linkage.b is not None:
        return _last_rows(coded, codes), _last_rows(coded, second)
    first = _last_rows(coded, codes[::-1])
    return _last_rows(coded, codes), np.where(first < 0, first, len(codes) - 1 - first)


def _last_rows(coded: CodedField, codes: Int32Array) -> Int64Array:
    """Return for each value the last row that has it; -1 for none."""
    found = np.full(len(coded.values), -1, np.int64)
    rows = np.flatnonzero(codes >= 0)
    found[codes[rows]] = rows
    return found


def _alike(
    coded: CodedField, rows: tuple[Int64Array, Int64Array], others: Sequence[CodedField]
) -> bool | None:
    """Return whether records with equal values are more alike in other fields than those with
    neighbouring values.

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
    near = places[:, None] + np.array(NEIGHBOURS, np.int64)
    inside = (near >= 0) & (near < len(order))
    if not inside.any():
        return True
    i = first[order[places]]
    j = second[order[places]]
    control = np.repeat(i, inside.sum(axis=1)), second[order[near[inside]]]
    comparable = _comparable(others, i, j)
    if not comparable.any():
        return True
    if not comparable.all():
        i = i[comparable]
        j = j[comparable]
        kept = np.repeat(comparable, inside.sum(axis=1)) & _comparable(others, *control)
        control = control[0][kept], control[1][kept]
        if not kept.any():
            return True
    found = _similarities(others, np.append(i, control[0]), np.append(j, control[1]))
    same = found[: len(i)]
    rest = np.sort(found[len(i) :])
    below = np.searchsorted(rest, same, side="left") + np.searchsorted(
        rest, same, side="right"
    )
    margin = max(ALIKE - 0.5, ERRORS / (12 * len(i)) ** 0.5)
    return bool(below.mean() >= 2 * len(rest) * (0.5 + margin))


def _comparable(
    fields: Sequence[CodedField], i: Int64Array, j: Int64Array
) -> npt.NDArray[np.bool_]:
    """Return which pairs of records have a value of the same field; others are neither alike nor
    different.
    """
    found = np.zeros(len(i), bool)
    for own in fields:
        found |= (own.codes[0][i] >= 0) & (own.codes[1][j] >= 0)
    return found


def _ordered(coded: CodedField, codes: Int64Array) -> Int64Array:
    """Return the values in the order of their strings; of many values, those of one range."""
    chosen = codes.tolist()
    values = coded.values
    if len(chosen) > MOST_SORTED:
        sample = sorted(values[code] for code in _spread(codes, SAMPLE_VALUES).tolist())
        low = sample[len(sample) // 4]
        high = sample[
            len(sample) // 4 + SAMPLE_VALUES * MOST_SORTED // (2 * len(codes))
        ]
        chosen = [code for code in chosen if low <= values[code] <= high]
    return np.array(sorted(chosen, key=values.__getitem__), np.int64)


def _similarities(
    fields: Sequence[CodedField], i: Int64Array, j: Int64Array
) -> Float64Array:
    """Return the cosines of the character trigrams of all fields of pairs of records; rare trigrams
    weigh more.
    """
    rows, places = zip(
        *(np.unique(own, return_inverse=True) for own in (i, j)), strict=True
    )
    texts = [
        text for side, own in enumerate(rows) for text in _texts(fields, side, own)
    ]
    vectors = TermVectors(shingle(texts, "char", 3), np.ones(len(texts), np.int64), 1)
    return vectors.cosines(places[0], len(rows[0]) + places[1]).astype(np.float64)


def _texts(fields: Sequence[CodedField], side: int, rows: Int64Array) -> list[str]:
    """Return the beginnings of all values of some records."""
    columns = [
        [
            f" {field.values[code][:COMPARED]} " if code >= 0 else ""
            for code in field.codes[side][rows].tolist()
        ]
        for field in fields
    ]
    return ["".join(values) for values in zip(*columns, strict=True)]
