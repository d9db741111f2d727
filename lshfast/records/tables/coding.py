"""The fields of a run with codes for their values, and what is decided by several of them
together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.visible import visible
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import (
    CodedField,
    RecordTable,
    code_field,
    without_values,
)
from lshfast.records.values.missing import MissingValues

UNIQUE = 0.8  # least part of the values of a field that are different, if it tells records apart
# How many times as often as the next one a value occurs that nearly no other record should have.
FAR = 5
FEWEST = 5  # times that it occurs at least
MOST = 20  # such values of a field
SAMPLE = 1000  # rows with such a value
TOLD_APART = (
    0.8  # least part of the values of another field that are different in these rows
)
REFUSED = 0.05  # part of the values of a field that are not of its kind, of which the run warns
SHOWN_CHARACTERS = 40  # of an example


def code_fields(
    a: RecordTable,
    b: RecordTable | None,
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
        ordered_map(lambda field: code_field(field, a, b, missing), fields, threads)
    )
    if not missing.recognised:
        return coded
    elsewhere = frozenset(
        marker.value.strip() for own in coded for marker in own.markers
    )
    again = [elsewhere.intersection(map(str.strip, own.doubtful)) for own in coded]
    for place, words in enumerate(again):
        if words:
            coded[place] = code_field(fields[place], a, b, missing, words)
    return [without_values(own, _frequent_dummies(own, coded), a, b) for own in coded]


def _frequent_dummies(
    coded: CodedField, fields: Sequence[CodedField]
) -> npt.NDArray[np.bool_]:
    """Return which values are far too frequent for a field, and shared by records that other fields
    tell apart.
    """
    dropped = np.zeros(len(coded.values), bool)
    if coded.kind not in ("code", "phone", "date") and not _are_addresses(coded.values):
        return dropped
    others = [
        own
        for own in fields
        if own is not coded and own.field.column_of(0) != coded.field.column_of(0)
    ]
    sides = (0,) if coded.codes[0] is coded.codes[1] else (0, 1)
    for side in sides:
        codes = coded.codes[side]
        counts = np.bincount(codes[codes >= 0], minlength=len(coded.values))
        for code in _frequent_values(counts):
            rows = np.flatnonzero(codes == code)
            shares = [
                _different(own.codes[side], rows)
                for own in others
                if _is_unique(own.codes[side])
            ]
            dropped[code] |= bool(shares) and float(np.mean(shares)) >= TOLD_APART
    return dropped


def _are_addresses(values: Sequence[str]) -> bool:
    """Return whether most of some values are e-mail addresses, which end in a top-level domain in
    normal form.
    """
    sample = values[:: max(1, len(values) // 100)]
    ends = (
        "com",
        "org",
        "net",
        "edu",
        "de",
        "fr",
        "it",
        "es",
        "pl",
        "nl",
        "uk",
        "se",
        "no",
        "dk",
        "pt",
        "br",
        "ru",
        "info",
    )
    count = sum(
        value.rpartition(" ")[2] in ends and value.count(" ") >= 2 for value in sample
    )
    return len(sample) > 0 and 2 * count > len(sample)


def _frequent_values(counts: npt.NDArray[np.int64]) -> list[int]:
    """Return the values that are far more frequent than all others, if these are nearly unique."""
    order = np.argsort(-counts, kind="stable")[: MOST + 1]
    top = counts[order]
    nexts = np.append(top[1:], 0)[: len(top)]
    ends = np.flatnonzero((top >= FEWEST) & (top >= FAR * np.maximum(nexts, 1)))[:MOST]
    for end in reversed(ends.tolist()):
        rest = counts.copy()
        rest[order[: end + 1]] = 0
        if np.count_nonzero(rest) >= max(UNIQUE * rest.sum(), FEWEST):
            return [int(code) for code in order[: end + 1]]
    return []


def _is_unique(codes: npt.NDArray[np.int32]) -> bool:
    present = codes[codes >= 0]
    return len(present) > 0 and len(np.unique(present)) >= UNIQUE * 0.5 * len(present)


def _different(codes: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]) -> float:
    """Return which part of the values in some rows are different."""
    chosen = codes[rows[:SAMPLE]]
    present = chosen[chosen >= 0]
    return len(np.unique(present)) / len(present) if len(present) else 1.0


def value_warnings(fields: Sequence[CodedField], names: Sequence[str]) -> list[str]:
    """Return warnings of values that are not of the kind of their field, with some of them.

    Parameters
    ----------
    fields : sequence of CodedField
    names : sequence of str
        The names of the tables.
    """
    found = []
    for coded in fields:
        shares = [
            f"{refused / (refused + int((codes >= 0).sum())):.0%} in {name}"
            for refused, codes, name in zip(
                coded.refused, coded.codes, names, strict=False
            )
            if refused > REFUSED * (refused + int((codes >= 0).sum()))
        ]
        if shares:
            shown = ", ".join(repr(text[:SHOWN_CHARACTERS]) for text in coded.examples)
            what = {"date": "dates", "number": "numbers", "age": "ages or dates"}.get(
                coded.kind, "letters or digits"
            )
            found.append(
                visible(
                    f"{coded.field.name}: values that are no {what} count as missing, "
                    f"{' and '.join(shares)}, such as "
                    f"{shown}; --field {coded.field.name}:text (fields=) compares them as they "
                    "are written"
                )
            )
    return found
