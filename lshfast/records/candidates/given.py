"""Rules of a user that are the only evidence: their pairs are links if no field can decide.

A key of accounts that each occur once or twice says that two records are the same although nothing
else agrees. Other fields decide where they can: people with one telephone are a household if they
have a surname in common and differ in their given names. A key of towns or surnames identifies
nobody, so it never links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lshfast.records.candidates.blocks import NO_KEY, combined_keys
from lshfast.records.candidates.rules import KeyBlocks
from lshfast.records.candidates.union import CandidatePairs, rules_of
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.nearness import EXACT_LEVEL, MISSING_LEVEL
from lshfast.records.linkage import BlockingRule, Linkage
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.distinct_values import as_text
from lshfast.records.tables.fields import Kind
from lshfast.records.tables.record_table import plain_value
from lshfast.records.weights.fellegi_sunter import (
    LARGEST_WEIGHT,
    LinkWeights,
    distribution,
    levels_by_chance,
    share_of,
    weights_of,
)

MOST_RECORDS = 3.0  # with a key that several records have, on average
MOST_COMMON = 0.05  # of all pairs agree in a field that tells records apart
# Shares of the pairs of keys that agree in a field: above that of strangers, and like matches.
RELATED = 0.1
SAME = 0.5
MOST_VALUES = 2000  # of the sample
CODE_LIKE = 0.9  # of the values of a code have a digit or an @
# The kinds of fields that may have codes, and their least number of letters and digits: prices have
# fewer.
CODE_LENGTH: Mapping[Kind, int] = {
    "code": 1,
    "phone": 1,
    "text": 1,
    "name": 1,
    "number": 6,
}
LEAST_CHANCE = 0.1  # of the pairs that agree in a key, for those that do by chance


def identifying_rules(linkage: Linkage, rules: Sequence[BlockingRule]) -> list[int]:
    """Return the numbers of the rules whose keys identify records, such as account numbers."""
    return [
        number
        for number, rule in enumerate(rules)
        if isinstance(rule, KeyBlocks)
        and all(isinstance(key, str) for key in rule.keys)
        and names_records(linkage, rule)
    ]


def names_records(linkage: Linkage, rule: KeyBlocks) -> bool:
    """Return whether few records of a table have the same key, and a field of the key has codes."""
    coded = [linkage.field(name) for name in rule.keys]
    for keys in combined_keys(coded)[: 1 if linkage.b is None else 2]:
        sizes = np.unique(keys[keys != NO_KEY], return_counts=True)[1]
        several = sizes[sizes > 1]
        if len(several) and several.mean() > MOST_RECORDS:
            return False
    return any(
        has_codes(written_values(linkage, field), CODE_LENGTH.get(field.kind))
        for field in coded
    )


def written_values(linkage: Linkage, coded: CodedField) -> list[str]:
    """Return a sample of the first table's values as they are written (normal forms have no @)."""
    column = linkage.a.column(coded.field.name)
    rows = np.flatnonzero(coded.codes[0] >= 0)
    sample = rows[:: len(rows) // MOST_VALUES + 1].tolist()
    return [as_text(plain_value(column[row])) for row in sample]


def has_codes(values: Sequence[str], shortest: int | None) -> bool:
    """Return whether nearly all values have a digit or an @, and enough letters and digits.

    Examples
    --------
    >>> (
    ...     has_codes(["AC-17", "AC-18"], 1),
    ...     has_codes(["Ann Lee", "Eve Stone"], 1),
    ...     has_codes(["9.99"], 6),
    ... )
    (True, False, False)
    """
    if shortest is None:
        return False
    codes = 0
    for value in values:
        marked = "@" in value or any(map(str.isdigit, value))
        codes += marked and sum(map(str.isalnum, value)) >= shortest
    return bool(values) and codes >= CODE_LIKE * len(values)


def weights_of_rules(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    rules: Sequence[BlockingRule],
    candidates: CandidatePairs,
) -> LinkWeights | None:
    """Return weights that link the pairs of identifying rules; None if other fields contradict.

    Only agreement in the fields of these rules counts. The prior is the share of their pairs among
    all pairs.
    """
    numbers = identifying_rules(linkage, rules)
    brought = np.zeros(len(candidates), bool)
    names: set[str] = set()
    for number in numbers:
        brought |= rules_of(candidates.masks, number)
        names |= set(rules[number].keys)  # type: ignore[attr-defined] # a KeyBlocks
    count = int(brought.sum())
    if not count:
        return None
    i, j = linkage.rows_of(candidates.places[brought])
    fields = []
    shares = []
    all_chance = levels_by_chance(linkage, comparers)
    for comparer, u in zip(comparers, all_chance, strict=True):
        is_key = comparer.coded.field.name in names
        levels = comparer.levels(comparer.coded.codes[0][i], comparer.coded.codes[1][j])
        if not is_key and u[EXACT_LEVEL] <= MOST_COMMON:
            shares.append(agreeing_share(comparer, levels))
        m = distribution(levels, len(u))
        weights = weights_of(comparer, m, u, 0.0, frequencies=False)
        bits = np.zeros(len(u))
        if is_key:
            bits[EXACT_LEVEL] = min(
                -float(np.log2(LEAST_CHANCE * u[EXACT_LEVEL])), LARGEST_WEIGHT
            )
        fields.append(replace(weights, bits=bits))
    related = any(share >= RELATED for share in shares)
    if related and any(share < SAME for share in shares):
        return None
    return LinkWeights(fields, share_of(count, linkage), float(count), 0)


def agreeing_share(comparer: FieldComparer, levels: npt.NDArray[np.uint8]) -> float:
    """Return the share of pairs with both values that agree in a field, 1 if none has both."""
    present = levels != MISSING_LEVEL
    return (
        float(comparer.field_levels.close[levels[present]].mean())
        if present.any()
        else 1.0
    )
