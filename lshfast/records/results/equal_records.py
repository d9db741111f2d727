"""Links between records that are equal in all fields compared: copies, or members of one group.

Members of a household have one surname, street and telephone. If a table has no other field, its
records do not show whether two equal ones are one person or two. Equal records within each of two
tables are different members, so they show how many equal records of both tables are different
members, too. In one table nothing shows it, and all of its equal records may be members.

A table with copies of some records looks otherwise: fewer records have equal ones, and nearly all
of these have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import runs_of
from lshfast._common.types import BoolArray, Int64Array
from lshfast.kernels import bands as kernels
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.weights.roles import are_births, are_full_names

FEWEST_EQUAL = 10  # links between equal records, of which something is said
FEWEST_WITHIN = 5  # pairs of equal records within a table
# Different members among links, as times those among all pairs of equal records: records with
# several equal ones have no link.
MORE_LINKED = 2.0
# Of the links of one table: at most .45 where records are entered twice by hand, at least .57 of
# households with half of the people twice.
MANY_EQUAL = 0.5
# Of tables of households: at least .7 of the records have equal ones, and at least .2 of the groups
# have more than two. Of tables of which each fifth record is copied at random: .3 and .1.
MANY_IN_GROUPS = 0.4
MANY_OF_SEVERAL = 0.125
# Other members of the group of a record, on average: more are a street.
MOST_MEMBERS = 5.0
MOST_LEFT_OUT = 12  # fields of which one or two are left out in turn
DEVIATIONS = 2.0  # standard errors


@dataclass(frozen=True)
class EqualLinks:
    """The links between equal records.

    Attributes
    ----------
    number : int
    in_doubt : float
        The part of all links that may join different members of groups; 0 without a reason to doubt
        equal records.
    """

    number: int = 0
    in_doubt: float = 0.0

    @classmethod
    def among(
        cls,
        fields: Sequence[CodedField],
        i: Int64Array,
        j: Int64Array,
        unmarked: BoolArray,
    ) -> EqualLinks:
        """Count the unmarked links between records that are equal in all fields, and judge them.

        Parameters
        ----------
        fields : sequence of CodedField
        i, j : ndarray of int64, shape (n,)
            The rows of the links.
        unmarked : ndarray of bool, shape (n,)
            Which links nobody marked.
        """
        equal = unmarked.copy()
        for field in fields:
            first, second = field.codes_of(i, j)
            equal &= first == second
        number = int(equal.sum())
        if number < FEWEST_EQUAL or any(map(tells_persons, fields)):
            return cls(number)
        sides = range(len(fields[0].table_codes))
        if not all(has_groups(fields, side) for side in sides):
            return cls(number)
        unmarked_count = int(unmarked.sum())
        if len(sides) > 1:
            part = min(1.0, MORE_LINKED * part_of_members(fields, i[equal]))
            return cls(number, part * unmarked_count / len(i))
        if number < MANY_EQUAL * unmarked_count or tell_members(fields, number):
            return cls(number)
        return cls(number, unmarked_count / len(i))


def tells_persons(field: CodedField) -> bool:
    """Return whether members of a group differ in a field: a full name or a date of birth."""
    return are_full_names(field) or are_births(field)


def has_groups(fields: Sequence[CodedField], side: int) -> bool:
    """Return whether most records have equal ones in the table, and many have more than one."""
    sizes = sizes_of_groups(np.sum(hashed_columns(fields, side), axis=0))
    several = sizes[sizes > 1]
    return bool(
        several.sum() >= MANY_IN_GROUPS * sizes.sum()
        and np.count_nonzero(several > 2) >= MANY_OF_SEVERAL * len(several)
    )


def tell_members(fields: Sequence[CodedField], number: int) -> bool:
    """Return whether one field of a table or two tell the members of small groups apart.

    More pairs than by chance are equal in all other fields and differ in these: also more than
    `number`, since copies with errors are fewer than copies.
    """
    columns = hashed_columns(fields, 0)
    chances = [equal_pairs(column) for column in columns]
    record = np.asarray(np.sum(columns, axis=0, dtype=np.uint64))
    pairs = len(record) * (len(record) - 1) / 2
    in_all = equal_pairs(record)
    numbers = range(min(len(fields), MOST_LEFT_OUT))
    for left_out in chain(combinations(numbers, 1), combinations(numbers, 2)):
        shared = [place for place in range(len(fields)) if place not in left_out]
        if not shared:
            continue
        left_out_columns = [columns[place] for place in left_out]
        group = record - np.asarray(np.sum(left_out_columns, axis=0, dtype=np.uint64))
        members = equal_pairs(group) - in_all
        by_chance = pairs * float(np.prod([chances[place] / pairs for place in shared]))
        is_small = members <= MOST_MEMBERS / 2 * len(record)
        if is_small and members > max(2 * by_chance, number):
            return True
    return False


def hashed_columns(
    fields: Sequence[CodedField], side: int
) -> list[npt.NDArray[np.uint64]]:
    """Return columns with a random number in the place of each value, missing ones included."""
    columns = []
    for seed, field in enumerate(fields):
        rng = np.random.default_rng(seed)
        numbers = rng.integers(0, 2**64, len(field.values) + 1, np.uint64)
        columns.append(numbers[field.codes[side]])
    return columns


def equal_pairs(numbers: npt.NDArray[np.uint64]) -> float:
    """Return how many pairs of numbers are equal."""
    sizes = sizes_of_groups(numbers).astype(np.float64)
    return float((sizes * (sizes - 1)).sum()) / 2


def sizes_of_groups(numbers: npt.NDArray[np.uint64]) -> Int64Array:
    """Return how often each number occurs."""
    ordered = kernels.sorted_numbers(numbers.copy())  # sorted in place
    starts, stops = runs_of(ordered)
    return stops - starts


def part_of_members(fields: Sequence[CodedField], linked: Int64Array) -> float:
    """Return which part of the pairs of equal records of two tables may be different members.

    Of a records and b records of one group, a² / 2 pairs are within the first table, b² / 2 within
    the second and a · b between them. Records with fewer values than half of the linked ones tell
    nothing; `linked` are rows of the first table.
    """
    values = np.sum([field.codes[0][linked] >= 0 for field in fields], axis=0)
    fewest_values = float(np.median(values))
    tables = []
    within = []
    for side in (0, 1):
        table = full_records(fields, side, fewest_values)
        tables.append(table)
        within.append(equal_pairs(table))
        if within[side] < FEWEST_WITHIN:
            return 0.0
    both = equal_pairs(np.concatenate(tables)) - sum(within)
    part = 2 * (within[0] * within[1]) ** 0.5 / both
    error = (1 / within[0] + 1 / within[1]) ** 0.5 / 2
    return float(part * (1 + DEVIATIONS * error))


def full_records(
    fields: Sequence[CodedField], side: int, fewest_values: float
) -> npt.NDArray[np.uint64]:
    """Return a number for each record of a table that has enough values; equal ones have one."""
    columns = hashed_columns(fields, side)
    records = np.asarray(np.sum(columns, axis=0, dtype=np.uint64))
    values = np.sum([field.codes[side] >= 0 for field in fields], axis=0)
    return np.asarray(records[values >= fewest_values])
