"""Blocking rules for fields of which nothing is known but their values.

Keys of one, two or three fields are chosen that together bring most matches and few pairs. The
pairs of a key are counted in a sample of the records. The chance that a match is among them follows
from an assumption: equal values in each field, independently, with a probability that depends on
the kind of the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from lshfast._common.threads import ordered_map
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.records.candidates.blocks import KeyGroups, combined_keys
from lshfast.records.candidates.nearest import NearestBlocks
from lshfast.records.candidates.reach import ChosenRules, among, seed_places, worthwhile
from lshfast.records.candidates.rules import EveryPair, KeyBlocks, LshBlocks, SortBlocks
from lshfast.records.comparison.full_names import are_texts
from lshfast.records.distinct import distinct_numbers
from lshfast.records.linkage import BlockingRule, Linkage
from lshfast.records.tables.fields import Kind
from lshfast.records.tables.record_table import CodedField, RecordTable
from lshfast.records.weights.calibration import MOST_ROWS

COMPARE_ALL = 20_000  # pairs of tables that need no blocking
# Rows of both tables, up to which each record is compared with the nearest ones in each text field.
MOST_ROWS_BY_FIELD = 20_000
# So many pairs of one table are all compared, after the rules have brought those from which weights
# are estimated. A run takes 5 s for 1,300 citations (1 to 2 s without), and 19 s for as many
# records with long texts.
COMPARE_ALL_SINGLE = 1_000_000
SAMPLE_ROWS = 10_000  # of each table, to count the pairs of keys
FIRST_STEP = (
    4  # each fourth row of the sample shows whether LSH brings far too many pairs
)
PAIRS_A_ROW = (
    10.0  # all keys bring at most so many pairs for each record of both tables
)
FREE_PAIRS = 0.25  # pairs for each record that a key may bring at no cost in the choice
MOST_FIELDS = 10
MOST_KEY_FIELDS = 3
# Of two tables that are not small, keys alone are enough if they bring this part of the seeds of a
# sample, which are at least so similar: .998 or more of people and .84 or less of films, products,
# titles and payments.
REACHED = 0.98
LEAST_SIMILARITY = 0.4
FEWEST_SAMPLED = 100

# Assumed probability that a match agrees in a field, if both records have it.
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
class _Key:
    fields: tuple[int, ...]
    pairs: float


@dataclass(frozen=True)
class _KeyLimits:
    """The number of keys, the recall at which the choice ends, the least that a further key adds,
    and their pairs.
    """

    most: int = 10
    enough: float = 0.998
    least_gain: float = 0.0005
    pairs_a_row: float = PAIRS_A_ROW


# Of keys that no other rule helps: 0.9998 of the matches of two tables of 100,000 people, and not
# 0.9992.
ALONE = _KeyLimits(14, 0.9995, 0.0002, 5.0)


def default_rules(linkage: Linkage) -> ChosenRules:
    """Choose blocking rules: keys, the nearest records, and LSH of texts; all pairs of small
    tables.

    For two tables with enough seeds, rules that bring no further seeds are left out.
    """
    if linkage.all_pairs <= COMPARE_ALL:
        return ChosenRules([EveryPair()])
    names = [name for name, field in linkage.fields.items() if len(field.values)]
    sample = [
        _sample(size, linkage.seed, side) for side, size in enumerate(linkage.sizes)
    ]
    if linkage.b is None:
        sample[1] = sample[0]
    scale = linkage.all_pairs / max(1, _all_pairs(sample, linkage.b is None))
    rules = _keys(linkage, names, sample, scale)
    if linkage.b is not None and _rows(linkage) <= MOST_ROWS:
        if rules and _rows(linkage) > MOST_ROWS_BY_FIELD:
            more = _keys(linkage, names, sample, scale, ALONE)
            seeds = _reached(linkage, more, sample)
            if seeds is not None:
                return ChosenRules(more, seeds=seeds, alone=True)
        texts = [
            name
            for name in names
            if are_texts(linkage.fields[name].kind, linkage.fields[name].values)
        ]
        by_field = len(names) > 1 and _rows(linkage) <= MOST_ROWS_BY_FIELD
        rules = rules or [SortBlocks(name) for name in names]
        return _reaching(
            linkage, [*rules, *(NearestBlocks(name) for name in texts if by_field)]
        )
    rules += [LshBlocks(name) for name in names if _suits_lsh(linkage, name, sample)]
    rules = rules or [SortBlocks(name) for name in names]
    if _rows(linkage) > MOST_ROWS:
        return ChosenRules(rules)
    near = NearestBlocks().pairs(linkage)
    return ChosenRules(
        [*rules, NearestBlocks()],
        [*(None for _ in rules), near],
        seed_places(linkage, near),
    )


def mixture_rules(linkage: Linkage) -> ChosenRules:
    """Choose blocking rules for a mixture: keys that bring nearly all matches; all pairs of small
    tables.
    """
    if linkage.all_pairs <= COMPARE_ALL_SINGLE:
        return ChosenRules([EveryPair()])
    names = [name for name, field in linkage.fields.items() if len(field.values)]
    sample = [
        _sample(size, linkage.seed, side) for side, size in enumerate(linkage.sizes)
    ]
    if linkage.b is None:
        sample[1] = sample[0]
    scale = linkage.all_pairs / max(1, _all_pairs(sample, linkage.b is None))
    rules = _keys(linkage, names, sample, scale, ALONE)
    return ChosenRules(rules or [SortBlocks(name) for name in names])


def _suits_lsh(linkage: Linkage, name: str, sample: list[Int64Array]) -> bool:
    """Return whether a field has texts, and few enough pairs of them are similar: in a part of the
    sample, then in all.

    Pairs of the part say it of fields with twice too many.
    """
    if linkage.fields[name].kind != "text":
        return False
    for step, most in ((FIRST_STEP, 2 * PAIRS_A_ROW), (1, PAIRS_A_ROW)):
        some = [rows[::step] for rows in sample]
        found = LshBlocks(name).pairs(_sampled(linkage, some))
        scale = linkage.all_pairs / max(1, _all_pairs(some, linkage.b is None))
        crowded = found.skipped and not len(found.places)
        if crowded or scale * len(found.places) > most * _rows(linkage):
            return False
    return True


def _reaching(linkage: Linkage, rules: list[BlockingRule]) -> ChosenRules:
    """Return the nearest records and, of some rules, those that bring further seeds; all if there
    are few seeds.
    """
    rules = [*rules, NearestBlocks()]
    found = list(ordered_map(lambda rule: rule.pairs(linkage), rules, linkage.threads))
    seeds = seed_places(linkage, found[-1])
    kept = (
        range(len(rules))
        if seeds is None
        else [*worthwhile(found[:-1], seeds), len(rules) - 1]
    )
    return ChosenRules([rules[r] for r in kept], [found[r] for r in kept], seeds)


def _reached(
    linkage: Linkage, keys: list[BlockingRule], sample: list[Int64Array]
) -> UInt64Array | None:
    """Return the places of seeds of a sample of two tables if keys bring nearly all of them, else
    None.

    The match of a record is often not in the sample, and then the nearest record is hardly similar:
    it is no seed.
    """
    small = _sampled(linkage, sample)
    seeds = seed_places(small, NearestBlocks().pairs(small))
    if seeds is None:
        return None
    i, j = small.rows_of(seeds)
    similar = small.record_texts.compared(i, j)[1] >= LEAST_SIMILARITY
    seeds = seeds[similar]
    i = i[similar]
    j = j[similar]
    reached = np.logical_or.reduce(
        [among(seeds, key.pairs(small).places) for key in keys]
    )
    if len(seeds) < FEWEST_SAMPLED or reached.mean() < REACHED:
        return None
    return (sample[0][i] * linkage.sizes[1] + sample[1][j]).astype(np.uint64)


def compares_all(linkage: Linkage) -> bool:
    """Return whether all pairs are compared besides those of the default rules."""
    return linkage.b is None and COMPARE_ALL < linkage.all_pairs <= COMPARE_ALL_SINGLE


def _rows(linkage: Linkage) -> int:
    return len(linkage.a) + (0 if linkage.b is None else len(linkage.b))


def _sampled(linkage: Linkage, sample: list[Int64Array]) -> Linkage:
    """Return a sample of the records; it has their fields only, and only the values that occur in
    it.
    """
    fields = {
        name: _sampled_field(field, sample) for name, field in linkage.fields.items()
    }
    first, second = (RecordTable({"row": rows}) for rows in sample)
    return replace(
        linkage, a=first, b=None if linkage.b is None else second, fields=fields
    )


def _sampled_field(field: CodedField, sample: list[Int64Array]) -> CodedField:
    codes = [own[rows] for own, rows in zip(field.codes, sample, strict=True)]
    # 0 is that of missing values.
    used, places = distinct_numbers(np.concatenate(codes).astype(np.int64) + 1)
    missing = 1 if len(used) and used[0] == 0 else 0
    first, second = np.split((places - missing).astype(np.int32), [len(codes[0])])
    used = used[missing:] - 1
    values = [field.values[place] for place in used.tolist()]
    numbers = None if field.numbers is None else field.numbers[used]
    return replace(field, codes=(first, second), values=values, numbers=numbers)


def _keys(
    linkage: Linkage,
    names: list[str],
    sample: list[Int64Array],
    scale: float,
    limits: _KeyLimits | None = None,
) -> list[BlockingRule]:
    """Choose keys greedily: the one that adds most recall for its pairs, until they suffice or cost
    too much.
    """
    small = _sampled(linkage, sample)
    singles = [
        _Key((f,), _count(small, [name]) * scale) for f, name in enumerate(names)
    ]
    useful = sorted(range(len(names)), key=lambda f: (singles[f].pairs, f))[
        :MOST_FIELDS
    ]
    keys = [singles[f] for f in useful]
    free = {key.fields for key in keys if key.pairs <= FREE_PAIRS * _rows(linkage)}
    for size in range(2, MOST_KEY_FIELDS + 1):
        for fields in combinations(sorted(useful), size):
            if any(part in free for part in combinations(fields, size - 1)):
                free.add(fields)  # a further field can only cost matches
                continue
            keys.append(_Key(fields, _count(small, [names[f] for f in fields]) * scale))
            if keys[-1].pairs <= FREE_PAIRS * _rows(linkage):
                free.add(fields)
    return _chosen(linkage, names, useful, keys, limits or _KeyLimits())


def _chosen(
    linkage: Linkage,
    names: list[str],
    useful: list[int],
    keys: list[_Key],
    limits: _KeyLimits,
) -> list[BlockingRule]:
    rows = _rows(linkage)
    agrees, chances = _patterns([_agreement(linkage, names[f]) for f in useful])
    covers = [
        np.all(agrees[:, [useful.index(f) for f in key.fields]], axis=1) for key in keys
    ]
    chosen: list[BlockingRule] = []
    left = np.ones(len(chances), bool)
    budget = limits.pairs_a_row * rows
    while len(chosen) < limits.most and chances[left].sum() > 1 - limits.enough:
        gains = [float(chances[left & cover].sum()) for cover in covers]
        costs = [max(key.pairs, FREE_PAIRS * rows) for key in keys]
        allowed = [
            k
            for k, key in enumerate(keys)
            if key.pairs <= budget and gains[k] >= limits.least_gain
        ]
        if not allowed:
            break
        best = max(
            allowed,
            key=lambda k: (gains[k] / costs[k] ** 0.5, -len(keys[k].fields), -k),
        )
        chosen.append(KeyBlocks(*(names[f] for f in keys[best].fields)))
        budget -= keys[best].pairs
        left &= ~covers[best]
    return chosen


def _sample(size: int, seed: int, side: int) -> Int64Array:
    if size <= SAMPLE_ROWS:
        return np.arange(size, dtype=np.int64)
    return np.sort(
        np.random.default_rng([seed, 3, side]).choice(size, SAMPLE_ROWS, replace=False)
    )


def _all_pairs(sample: list[Int64Array], single: bool) -> int:
    first, second = map(len, sample)
    return first * (first - 1) // 2 if single else first * second


def _count(linkage: Linkage, names: list[str]) -> float:
    """Return the number of pairs of a key; half a pair if there is none."""
    a, b = combined_keys([linkage.fields[name] for name in names])
    return max(
        0.5, float(KeyGroups.of(a, None if linkage.b is None else b).pairs.sum())
    )


def _agreement(linkage: Linkage, name: str) -> float:
    """Return the assumed probability that both records of a match have a field, and agree in it."""
    field = linkage.fields[name]
    return min(field.present) * AGREE[field.kind]


def _patterns(
    agreement: list[float],
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.bool_]], Float64Array]:
    """Return all patterns of agreement of some fields, and their probabilities."""
    count = len(agreement)
    agrees = (
        (
            np.arange(2**count, dtype=np.int64)[:, None]
            >> np.arange(count, dtype=np.int64)
        )
        & 1
    ).astype(bool)
    chances = np.where(agrees, agreement, 1 - np.array(agreement)).prod(axis=1)
    return agrees, chances
