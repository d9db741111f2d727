"""Blocking rules for fields of which nothing is known but their values.

Keys of one, two or three fields are chosen that together bring most matches and few pairs. The
pairs of a key are counted in a sample of the records. The chance that a match is among them follows
from an assumption: equal values in each field with a probability that depends on the kind of the
field. Some matches have changed, as those of people who moved house, and agree in fewer fields;
otherwise fields are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from lshfast._common.threads import ordered_map
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.records.candidates.blocks import KeyGroups, combined_keys
from lshfast.records.candidates.nearest import NearestBlocks
from lshfast.records.candidates.reach import ChosenRules, seed_places, worthwhile
from lshfast.records.candidates.rules import EveryPair, KeyBlocks, LshBlocks, SortBlocks
from lshfast.records.comparison.full_names import are_texts
from lshfast.records.distinct import distinct_numbers, places_among
from lshfast.records.linkage import BlockingRule, Linkage
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.content import sampled_rows
from lshfast.records.tables.fields import Kind
from lshfast.records.tables.record_table import RecordTable
from lshfast.records.weights.calibration import MOST_ROWS

COMPARE_ALL = 20_000  # pairs of tables that need no blocking
# Rows of both tables, up to which each record is compared with the nearest ones in each text field.
MOST_ROWS_BY_FIELD = 20_000
# Pairs of one table that are all compared, after the rules have brought those from which weights
# are estimated. A run takes 5 s for 1,300 citations (1 to 2 s without), and 19 s for as many
# records with long texts.
COMPARE_ALL_SINGLE = 1_000_000
SAMPLE_ROWS = 10_000  # of each table, to count the pairs of keys
# Each fourth row of a sample shows whether LSH brings far too many pairs
FIRST_STEP = 4
PAIRS_A_ROW = 10.0  # of all keys together, for each record of both tables
FREE_PAIRS = 0.25  # pairs for each record that a key may bring at no cost in the choice
MOST_FIELDS = 10
MOST_KEY_FIELDS = 3
# Of two tables that are not small, keys alone are enough if they bring this part of the seeds of a
# sample that have this similarity: .998 or more of people and .84 or less of films, products,
# titles and payments.
REACHED = 0.98
LEAST_SIMILARITY = 0.4
FEWEST_SAMPLED = 100

# Assumed share of matches that have changed, and how often they agree in a field, compared with
# others. Without them, keys may all have an address in them.
CHANGED = 0.3
CHANGED_AGREE = 0.5
# Assumed probability that an unchanged match agrees in a field, if both records have it.
AGREE: Mapping[Kind, float] = {
    "name": 0.8,
    "text": 0.6,
    "code": 0.85,
    "number": 0.6,
    "date": 0.85,
    "category": 0.85,
    "phone": 0.85,
    "age": 0.6,
}


@dataclass(frozen=True)
class KeyLimits:
    """When the choice of keys ends.

    Attributes
    ----------
    most : int
        Keys.
    enough : float
        The chance that a match agrees in a key.
    least_gain : float
        What a further key adds to this chance.
    pairs_a_row : float
        The pairs of all keys, for each record of both tables.
    """

    most: int = 10
    enough: float = 0.998
    least_gain: float = 0.0005
    pairs_a_row: float = PAIRS_A_ROW


USUAL = KeyLimits()
# Of keys that no other rule helps: 0.9998 of the matches of two tables of 100,000 people, and not
# 0.9992.
ALONE = KeyLimits(14, 0.9995, 0.0002, 5.0)


@dataclass(frozen=True)
class Key:
    """Fields that are equal in the pairs of a key, and the number of these pairs."""

    fields: tuple[str, ...]
    pairs: float


@dataclass(frozen=True)
class RuleSample:
    """Some records of the tables, by which rules are chosen.

    Attributes
    ----------
    whole : Linkage
        The tables.
    rows : list of ndarray of int64
        The rows of the sample in each of two tables; the same twice for one table.
    """

    whole: Linkage
    rows: list[Int64Array]

    @classmethod
    def of(cls, linkage: Linkage) -> RuleSample:
        """Draw a sample; the same for the same seed."""
        rows = [
            sampled_rows(size, SAMPLE_ROWS, [linkage.seed, 3, side])
            for side, size in enumerate(linkage.sizes)
        ]
        if linkage.b is None:
            rows[1] = rows[0]
        return cls(linkage, rows)

    @cached_property
    def linkage(self) -> Linkage:
        """The records of the sample, with the values that occur in it, and their fields only."""
        fields = {
            name: sampled_field(field, self.rows)
            for name, field in self.whole.fields.items()
        }
        rows_of_tables = zip(self.whole.tables, self.rows, strict=False)
        tables = [RecordTable({"row": rows}) for _, rows in rows_of_tables]
        return replace(self.whole, tables=tables, fields=fields)

    @cached_property
    def scale(self) -> float:
        """How many pairs a pair of the sample stands for."""
        return self.whole.all_pairs / max(1, self.linkage.all_pairs)

    def key(self, fields: tuple[str, ...]) -> Key:
        """Return a key with the expected number of its pairs; half a pair of the sample if it has
        none.
        """
        linkage = self.linkage
        a, b = combined_keys([linkage.fields[name] for name in fields])
        pairs = KeyGroups.of(a, None if linkage.b is None else b).pairs.sum()
        return Key(fields, max(0.5, float(pairs)) * self.scale)


def default_rules(linkage: Linkage) -> ChosenRules:
    """Choose blocking rules: keys, the nearest records, and LSH of texts; all pairs of small
    tables.

    For two tables with enough seeds, rules that bring no further seeds are left out.
    """
    if linkage.all_pairs <= COMPARE_ALL:
        return ChosenRules([EveryPair()])
    sample = RuleSample.of(linkage)
    keys = chosen_keys(sample, USUAL)
    if linkage.b is not None and linkage.rows <= MOST_ROWS:
        return rules_of_two_tables(sample, keys)
    rules = [
        *keys,
        *(LshBlocks(name) for name in linkage.fields if suits_lsh(sample, name)),
    ]
    rules = rules or sorted_by_each(linkage)
    if linkage.rows > MOST_ROWS:
        return ChosenRules(rules)
    nearest_pairs = NearestBlocks().pairs(linkage)
    return ChosenRules(
        [*rules, NearestBlocks()],
        [*(None for _ in rules), nearest_pairs],
        seed_places(linkage, nearest_pairs),
    )


def rules_of_two_tables(sample: RuleSample, keys: list[BlockingRule]) -> ChosenRules:
    """Choose the rules of two tables that are neither small nor very large."""
    linkage = sample.whole
    rows = linkage.rows
    if keys and rows > MOST_ROWS_BY_FIELD:
        keys_alone = chosen_keys(sample, ALONE)
        seeds = reached_seeds(sample, keys_alone)
        if seeds is not None:
            return ChosenRules(keys_alone, seeds=seeds, alone=True)
    rules = keys or sorted_by_each(linkage)
    names = filled_fields(linkage)
    if len(names) > 1 and rows <= MOST_ROWS_BY_FIELD:
        fields = [linkage.fields[name] for name in names]
        rules = [
            *rules,
            *(
                NearestBlocks(name)
                for name, field in zip(names, fields, strict=True)
                if are_texts(field.kind, field.values)
            ),
        ]
    return reaching_rules(linkage, rules)


def mixture_rules(linkage: Linkage) -> ChosenRules:
    """Choose blocking rules for a mixture: keys that bring nearly all matches; all pairs of small
    tables.
    """
    if linkage.all_pairs <= COMPARE_ALL_SINGLE:
        return ChosenRules([EveryPair()])
    keys = chosen_keys(RuleSample.of(linkage), ALONE)
    return ChosenRules(keys or sorted_by_each(linkage))


def compares_all(linkage: Linkage) -> bool:
    """Return whether all pairs are compared besides those of the default rules."""
    return linkage.b is None and COMPARE_ALL < linkage.all_pairs <= COMPARE_ALL_SINGLE


def filled_fields(linkage: Linkage) -> list[str]:
    """Return the names of the fields that have values."""
    return [name for name, field in linkage.fields.items() if len(field.values)]


def sorted_by_each(linkage: Linkage) -> list[BlockingRule]:
    """Return rules that sort the records by each field."""
    return [SortBlocks(name) for name in filled_fields(linkage)]


def suits_lsh(sample: RuleSample, name: str) -> bool:
    """Return whether a field has texts of which few enough pairs are similar.

    A part of the sample shows it of fields with twice too many.
    """
    linkage = sample.whole
    field = linkage.fields[name]
    if field.kind != "text" or not len(field.values):
        return False
    for step, most in ((FIRST_STEP, 2 * PAIRS_A_ROW), (1, PAIRS_A_ROW)):
        part = RuleSample(linkage, [rows[::step] for rows in sample.rows])
        similar = LshBlocks(name).pairs(part.linkage)
        crowded = similar.skipped and not len(similar.places)
        if crowded or part.scale * len(similar.places) > most * linkage.rows:
            return False
    return True


def reaching_rules(linkage: Linkage, rules: list[BlockingRule]) -> ChosenRules:
    """Return the nearest records and, of some rules, those that bring further seeds; all if there
    are few seeds.
    """
    rules = [*rules, NearestBlocks()]
    pairs = list(ordered_map(lambda rule: rule.pairs(linkage), rules, linkage.threads))
    seeds = seed_places(linkage, pairs[-1])
    numbers = list(range(len(rules)))
    if seeds is not None:
        numbers = [*worthwhile(pairs[:-1], seeds), len(rules) - 1]
    return ChosenRules([rules[r] for r in numbers], [pairs[r] for r in numbers], seeds)


def reached_seeds(sample: RuleSample, keys: list[BlockingRule]) -> UInt64Array | None:
    """Return the places of seeds of a sample of two tables if keys bring nearly all of them, else
    None.

    The match of a record is often not in the sample, and then the nearest record is hardly similar:
    it is no seed.
    """
    linkage = sample.linkage
    seeds = seed_places(linkage, NearestBlocks().pairs(linkage))
    if seeds is None:
        return None
    i, j = linkage.rows_of(seeds)
    is_similar = linkage.record_texts.compared(i, j)[1] >= LEAST_SIMILARITY
    seeds = seeds[is_similar]
    is_reached = np.zeros(len(seeds), bool)
    for key in keys:
        is_reached |= places_among(seeds, key.pairs(linkage).places)[1]
    if len(seeds) < FEWEST_SAMPLED or is_reached.mean() < REACHED:
        return None
    rows_a, rows_b = sample.rows
    places = rows_a[i[is_similar]] * sample.whole.sizes[1] + rows_b[j[is_similar]]
    return places.astype(np.uint64)


def sampled_field(field: CodedField, sample: list[Int64Array]) -> CodedField:
    """Return a field of some rows, with the values that occur in them."""
    codes = [side[rows] for side, rows in zip(field.codes, sample, strict=True)]
    # 0 is the code of missing values.
    numbers, places = distinct_numbers(np.concatenate(codes).astype(np.int64) + 1)
    missing = 1 if len(numbers) and numbers[0] == 0 else 0
    first, second = np.split((places - missing).astype(np.int32), [len(codes[0])])
    kept_codes = numbers[missing:] - 1
    return replace(
        field,
        codes=(first, second),
        values=[field.values[code] for code in kept_codes.tolist()],
        numbers=None if field.numbers is None else field.numbers[kept_codes],
    )


def chosen_keys(sample: RuleSample, limits: KeyLimits) -> list[BlockingRule]:
    """Choose keys greedily: the one that adds most recall for its pairs, until they suffice or cost
    too much.
    """
    linkage = sample.whole
    rows = linkage.rows
    keys = possible_keys(sample)
    names = [key.fields[0] for key in keys if len(key.fields) == 1]
    agrees, chances = agreement_patterns(
        [agreement_of(linkage.fields[name]) for name in names]
    )
    covers = [
        agrees[:, [names.index(name) for name in key.fields]].all(axis=1)
        for key in keys
    ]
    costs = [max(key.pairs, FREE_PAIRS * rows) ** 0.5 for key in keys]
    chosen: list[Key] = []
    uncovered = np.ones(len(chances), bool)
    budget = limits.pairs_a_row * rows
    while len(chosen) < limits.most and chances[uncovered].sum() > 1 - limits.enough:
        gains = [float(chances[uncovered & cover].sum()) for cover in covers]
        allowed = [
            number
            for number, key in enumerate(keys)
            if key.pairs <= budget and gains[number] >= limits.least_gain
        ]
        if not allowed:
            break
        best = max(
            allowed,
            key=lambda k: (gains[k] / costs[k], -len(keys[k].fields), -k),
        )
        chosen = [*without_narrower(chosen, keys[best]), keys[best]]
        budget = limits.pairs_a_row * rows - sum(key.pairs for key in chosen)
        uncovered &= ~covers[best]
    return [KeyBlocks(*key.fields) for key in chosen]


def without_narrower(keys: list[Key], wide: Key) -> list[Key]:
    """Return the keys whose pairs a wide key does not bring all."""
    return [key for key in keys if not set(wide.fields) <= set(key.fields)]


def possible_keys(sample: RuleSample) -> list[Key]:
    """Return the possible keys of one to three fields, keys of one field first.

    A key that hardly brings pairs needs no further field, which can only cost matches.
    """
    free_pairs = FREE_PAIRS * sample.whole.rows
    names = filled_fields(sample.whole)
    singles = [sample.key((name,)) for name in names]
    useful = sorted(range(len(names)), key=lambda field: singles[field].pairs)
    useful = useful[:MOST_FIELDS]
    keys = [singles[field] for field in useful]
    free = {key.fields for key in keys if key.pairs <= free_pairs}
    ordered_names = [names[field] for field in sorted(useful)]
    for size in range(2, MOST_KEY_FIELDS + 1):
        for fields in combinations(ordered_names, size):
            if any(part in free for part in combinations(fields, size - 1)):
                free.add(fields)
                continue
            key = sample.key(fields)
            keys.append(key)
            if key.pairs <= free_pairs:
                free.add(fields)
    return keys


def agreement_of(field: CodedField) -> float:
    """Return the assumed probability that both records of a match have a field, and agree in it."""
    return min(field.present) * AGREE[field.kind]


def agreement_patterns(agreement: list[float]) -> tuple[BoolArray, Float64Array]:
    """Return all patterns of agreement of some fields, (patterns, fields), and their
    probabilities, from the probability that an unchanged match agrees in each field.
    """
    fields = np.arange(len(agreement), dtype=np.int64)
    patterns = np.arange(2 ** len(agreement), dtype=np.int64)
    agrees = ((patterns[:, None] >> fields) & 1).astype(bool)
    unchanged = pattern_chances(agrees, np.array(agreement))
    changed = pattern_chances(agrees, CHANGED_AGREE * np.array(agreement))
    return agrees, (1 - CHANGED) * unchanged + CHANGED * changed


def pattern_chances(agrees: BoolArray, agreement: Float64Array) -> Float64Array:
    """Return the probabilities of patterns of agreement if fields are independent."""
    chances = np.where(agrees, agreement, 1 - agreement)
    return np.asarray(chances.prod(axis=1), np.float64)
