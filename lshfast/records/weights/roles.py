"""What fields say about a pair before any pattern of agreement is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.comparison.full_names import have_several_words
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.nearness import EXACT_LEVEL, MISSING_LEVEL
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.weights.fellegi_sunter import equal_by_chance, random_rows

# A field is decisive if this part of its values, at most, is repeated; of this many values or more.
MOST_REPEATED = 0.01
FEWEST_VALUES = 20
HALF_A_PAIR = 0.5  # that is added to the agreeing pairs of a table, which may have none
SAMPLED_PAIRS = 200_000  # of each table
# Of the share of close values within the tables, for those between them; and the fewest of a sample
# within a table: two tables of codes of one record each say nothing.
LEAST_BETWEEN = 0.15
FEWEST_CLOSE = 30.0
# Nine tenths of the dates of birth of a table are not nearer to each other.
BIRTHS_DAYS = 20 * 365.0


@dataclass(frozen=True)
class FieldRoles:
    """What the levels and values of some fields say about a pair. Fields are given by number.

    Attributes
    ----------
    close : tuple of ndarray of bool
        Which levels of each field mean that values are equal or nearly so.
    doubtful : tuple of ndarray of bool
        Which levels of each field count neither as agreement nor as difference, if they are rare
        by chance.
    decisive : dict of int to ndarray of float64, shape (levels,)
        Fields whose values are different in nearly all records of a table; equal ones of two tables
        are never outvoted. With them, the greatest part of strangers that has each level, by pairs
        within the tables: 1 where it was not measured.
    issued : frozenset of int
        Fields of e-mail addresses. An address is often made of a name, and is given out once: the
        addresses of two namesakes are similar, but equal no more often than those of others.
    full_names : frozenset of int
        Full names of persons: a different one is another given name and another surname.
    may_differ : frozenset of int
        Fields that may differ in all matches.
    coded_otherwise : frozenset of int
        Fields that the two tables write in different ways, such as codes of one table and words of
        the other: differences say nothing.
    """

    close: tuple[BoolArray, ...]
    doubtful: tuple[BoolArray, ...]
    decisive: Mapping[int, Float64Array] = attribute(default_factory=dict)
    issued: frozenset[int] = frozenset()
    full_names: frozenset[int] = frozenset()
    may_differ: frozenset[int] = frozenset()
    coded_otherwise: frozenset[int] = frozenset()

    @classmethod
    def of(cls, linkage: Linkage, comparers: Sequence[FieldComparer]) -> FieldRoles:
        """Return the roles of the fields of a linkage."""
        fields = list(enumerate(comparer.coded for comparer in comparers))
        levels = [comparer.field_levels for comparer in comparers]
        alone = sum(field.kind != "category" for _, field in fields) == 1
        return cls(
            tuple(field_levels.close for field_levels in levels),
            tuple(field_levels.doubtful for field_levels in levels),
            {
                n: most_within(linkage, comparers[n], alone)
                for n, field in fields
                if is_decisive(linkage, field, alone)
            },
            frozenset(n for n, field in fields if field.are_mail_addresses),
            frozenset(n for n, field in fields if are_full_names(field)),
            frozenset(n for n, field in fields if tells_no_person(field)),
            frozenset(
                n for n, _ in fields if are_coded_otherwise(linkage, comparers[n])
            ),
        )

    @property
    def measured(self) -> list[int]:
        """Fields of which pairs within the tables show how often strangers agree."""
        return [
            number
            for number, most in self.decisive.items()
            if (most[self.close[number]] < 1).all()
        ]

    def of_fields(self, kept: Sequence[int]) -> FieldRoles:
        """Return the roles of some fields, which are numbered anew in their order."""

        def renumbered(fields: frozenset[int]) -> frozenset[int]:
            return frozenset(n for n, field in enumerate(kept) if field in fields)

        return FieldRoles(
            tuple(self.close[field] for field in kept),
            tuple(self.doubtful[field] for field in kept),
            {
                number: self.decisive[field]
                for number, field in enumerate(kept)
                if field in self.decisive
            },
            renumbered(self.issued),
            renumbered(self.full_names),
            renumbered(self.may_differ),
            renumbered(self.coded_otherwise),
        )


def are_coded_otherwise(linkage: Linkage, comparer: FieldComparer) -> bool:
    """Return whether values of two tables agree far more rarely than those of either table."""
    if linkage.b is None or max(linkage.sizes) < 2:
        return False
    codes = comparer.coded.codes
    within = min(equal_pairs_within(side) for side in codes)
    if equal_by_chance(linkage, comparer.coded) >= LEAST_BETWEEN * within:
        return False
    rng = np.random.default_rng([linkage.seed, 10])
    rows = [pairs_within(len(side), rng) for side in codes]
    close_within = min(
        close_share(comparer, side[first], side[second])
        for side, (first, second) in zip(codes, rows, strict=True)
    )
    i, j = random_rows(linkage, SAMPLED_PAIRS)
    between = close_share(comparer, codes[0][i], codes[1][j])
    is_common = close_within * SAMPLED_PAIRS >= FEWEST_CLOSE
    return is_common and between < LEAST_BETWEEN * close_within


def equal_pairs_within(codes: npt.NDArray[np.int32]) -> float:
    """Return which part of the pairs of the values of one table is equal."""
    counts = np.bincount(codes[codes >= 0]).astype(np.float64)
    size = float(counts.sum())
    return float((counts * (counts - 1)).sum()) / max(size * (size - 1), 1.0)


def close_share(
    comparer: FieldComparer, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]
) -> float:
    """Return which part of the pairs of present values is close."""
    levels = comparer.levels(a, b)
    levels = levels[levels != MISSING_LEVEL]
    return float(comparer.field_levels.close[levels].mean()) if len(levels) else 0.0


def is_decisive(linkage: Linkage, coded: CodedField, alone: bool) -> bool:
    """Return whether equal values of a field of two tables identify one record each.

    If a field is the only evidence, equal values decide as well, and pairs within the tables show
    how often strangers have them.
    """
    if linkage.b is None:
        return False
    return names_records(coded) or (alone and coded.kind != "category")


def equal_within(coded: CodedField) -> float:
    """Return which part of the pairs of records of one table are equal, of two tables."""
    counts = [np.bincount(codes[codes >= 0]) for codes in coded.codes]
    equal = sum(float((count * (count - 1)).sum()) for count in counts) / 2
    pairs = sum(float(count.sum()) * float(count.sum() - 1) for count in counts) / 2
    return (equal + HALF_A_PAIR) / max(pairs, 1.0)


def most_within(linkage: Linkage, comparer: FieldComparer, alone: bool) -> Float64Array:
    """Return the part of the pairs within two tables that has each level, of equal or close values.

    Strangers of two tables agree as the records of each table do. If a field is the only evidence,
    nothing else shows what strangers are like, and close values are measured too.
    """
    most = np.ones(len(comparer.labels))
    if alone:
        close = comparer.field_levels.close
        rng = np.random.default_rng([linkage.seed, 9])
        counts = np.full(len(most), HALF_A_PAIR, np.float64)
        for codes in comparer.coded.codes:
            first, second = pairs_within(len(codes), rng)
            levels = comparer.levels(codes[first], codes[second])
            counts += np.bincount(levels, minlength=len(most))
        counts[MISSING_LEVEL] = 0
        most[close] = (counts / counts.sum())[close]
    most[EXACT_LEVEL] = equal_within(comparer.coded)
    return most


def pairs_within(size: int, rng: np.random.Generator) -> tuple[Int64Array, Int64Array]:
    """Return all pairs of different rows of a table, or a sample of them."""
    if size * (size - 1) // 2 <= SAMPLED_PAIRS:
        first, second = np.triu_indices(size, 1)
        return first.astype(np.int64), second.astype(np.int64)
    first = rng.integers(0, size, SAMPLED_PAIRS)
    second = rng.integers(0, size - 1, SAMPLED_PAIRS)
    return first, second + (second >= first)


def names_records(coded: CodedField) -> bool:
    """Return whether hardly any value of a field occurs twice in a table."""
    for codes in coded.codes:
        counts = np.bincount(codes[codes >= 0])
        if (
            counts.sum() < FEWEST_VALUES
            or counts[counts > 1].sum() > MOST_REPEATED * counts.sum()
        ):
            return False
    return True


def are_full_names(coded: CodedField) -> bool:
    """Return whether a field has given names and surnames together."""
    return coded.kind == "name" and have_several_words(coded.values)


def tells_no_person(coded: CodedField) -> bool:
    """Return whether a field may differ in all matches: a code, number, or no date of birth."""
    if coded.kind == "date":
        has_values = coded.numbers is not None and bool(len(coded.numbers))
        return has_values and not are_births(coded)
    return coded.kind in ("code", "number")


def are_births(coded: CodedField) -> bool:
    """Return whether a field has dates that are as far from each other as dates of birth."""
    if coded.kind != "date" or coded.numbers is None or not len(coded.numbers):
        return False
    first, last = np.nanquantile(coded.numbers, (0.05, 0.95))
    return bool(last - first >= BIRTHS_DAYS)
