"""Fields that depend on each other: strangers agree in both of them more often than by chance.

They are the edges of the networks of matches and strangers, such as a full name and its parts, or a
town and a postcode.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float32Array, Float64Array, Int64Array
from lshfast.records.comparison.nearness import EXACT_LEVEL, MISSING_LEVEL
from lshfast.records.weights.patterns import PairPatterns

EQUAL, CLOSE, DIFFERENT, ABSENT = range(4)  # of two values
MOSTLY_DIFFERENT, SIMILAR, ALL_ABSENT = range(3)  # of the values of several fields
MOST_COMMON = 0.05  # of all pairs agree in a field that tells records apart
MOST_DIFFERENT = 0.5  # of the matches may differ in a field
# Fields of which each pair is tested by itself, without both in what makes a stranger. Of more
# fields, all pairs are tested at once: 60 fields of 20,000 × 20,000 records take 18 s of processor
# time in all, 30 fields 8 s.
MOST_ONE_BY_ONE = 12
MOST_PARENTS = 12  # of a field, in the networks
PATTERNS_AT_ONCE = 1 << 16  # whose pairs of fields are counted
MOST_PRODUCTS = 1 << 17  # of numbers, in one matrix product: BLAS uses one thread
# Agreements of strangers in two fields, as times the agreements in independent fields.
LEAST_LIFT = 1.2
LEAST_SHARE = 0.5  # of all agreements in two fields, for those of strangers
SIGNIFICANT = 4.0  # standard errors
FEWEST_TOGETHER = 5.0  # agreements of strangers in two fields
LEAST_FOLLOWING = 0.5  # of the pairs that agree in either of two fields agree in both
FEWEST_DIFFERENT = 2  # fields or groups of dependent ones, if there are so many
TINY = 1e-300

Levels = npt.NDArray[np.uint8]
Edge = tuple[int, int]


def sums_by(places: Int64Array, weights: Float64Array, size: int) -> Float64Array:
    """Return the sums of the weights at each place."""
    return np.asarray(np.bincount(places, weights, minlength=size), np.float64)


def agreeing_levels(patterns: PairPatterns, field: int, close: BoolArray) -> BoolArray:
    """Return which levels mean agreement: equal values, and close ones that are rare by chance."""
    counts = np.bincount(
        patterns.levels[:, field], patterns.counts, minlength=len(close)
    )
    present = max(counts[MISSING_LEVEL + 1 :].sum(), TINY)
    chance = np.cumsum(np.where(close, counts, 0.0), dtype=np.float64) / present
    rare = chance <= MOST_COMMON
    rare[: EXACT_LEVEL + 1] = True
    return np.asarray(close & rare)


def states_of_levels(close: BoolArray) -> Levels:
    """Return the state of two values for each level of a field, of which some mean agreement."""
    states = np.where(close, CLOSE, DIFFERENT).astype(np.uint8)
    states[EXACT_LEVEL] = EQUAL
    states[MISSING_LEVEL] = ABSENT
    return states


def telling_fields(
    patterns: PairPatterns, fields: int, edges: Iterable[Edge]
) -> list[int]:
    """Return the fields that tell records apart: at most a twentieth of all pairs agree in them.

    Fields that fewer others depend on come first.
    """
    telling = []
    for field in range(fields):
        levels = patterns.levels[:, field]
        present = patterns.counts[levels != MISSING_LEVEL].sum()
        if (
            present
            and patterns.counts[levels == EXACT_LEVEL].sum() <= MOST_COMMON * present
        ):
            telling.append(field)
    degree = {field: sum(field in edge for edge in edges) for field in telling}
    return sorted(telling, key=lambda field: (degree[field], field))


def independent_of(fields: Sequence[int], edges: set[Edge]) -> list[int]:
    """Return fields of which no two depend on each other, chosen in their order."""
    independent: list[int] = []
    for field in fields:
        if all(
            (min(field, other), max(field, other)) not in edges for other in independent
        ):
            independent.append(field)
    return independent


def independent_fields(
    holds: Sequence[BoolArray], fields: Sequence[int], edges: Collection[Edge]
) -> Int64Array:
    """Count for each pair the independent fields in which it has something in common."""
    counted_pairs: list[BoolArray] = []
    for place, field in enumerate(fields):
        counted = holds[place]
        for other, before in zip(fields, counted_pairs, strict=False):
            if (min(field, other), max(field, other)) in edges:
                counted = counted & ~before
        counted_pairs.append(counted)
    return np.asarray(np.sum(counted_pairs, axis=0, dtype=np.int64))


def components_of(fields: Sequence[int], edges: set[Edge]) -> list[list[int]]:
    """Return the groups of some fields that edges connect."""
    label = {field: field for field in fields}
    for first, second in sorted(edges):
        if first in label and second in label and label[first] != label[second]:
            replaced = label[second]
            for field, component in label.items():
                if component == replaced:
                    label[field] = label[first]
    groups: dict[int, list[int]] = {}
    for field in fields:
        groups.setdefault(label[field], []).append(field)
    return [groups[component] for component in sorted(groups)]


def parents_of(
    order: Sequence[int], place: int, edges: Collection[Edge]
) -> tuple[int, ...]:
    """Return the last MOST_PARENTS fields of an order before a place on which its field depends."""
    field = order[place]
    parents = [
        other
        for other in order[:place]
        if (min(field, other), max(field, other)) in edges
    ]
    return tuple(parents[-MOST_PARENTS:])


def order_of(equal: Sequence[float]) -> list[int]:
    """Order the fields of a network by their number of equal pairs, the most frequent first.

    Finer values, such as an address, follow from coarser ones and other fields.
    """
    return sorted(range(len(equal)), key=lambda field: (-equal[field], field))


def dependent_pairs(
    patterns: PairPatterns,
    close: Sequence[BoolArray],
    edges: set[Edge],
) -> set[Edge]:
    """Add to the edges those between fields in which strangers agree together.

    Strangers differ in at least half of their other fields, of which dependent ones count once.
    """
    edges = set(edges)
    if len(close) > MOST_ONE_BY_ONE:
        return dependent_at_once(patterns, close, edges)
    pairs = list(combinations(range(len(close)), 2))
    follow = {edge: follow_from_each_other(patterns, edge) for edge in pairs}
    while True:
        excess = {
            edge: excess_of(patterns, close, edge, edges, follow[edge])
            for edge in pairs
            if edge not in edges
        }
        best = max(excess, key=lambda edge: (excess[edge], edge), default=None)
        if best is None or not excess[best]:
            return edges
        edges.add(best)


def dependent_at_once(
    patterns: PairPatterns,
    close: Sequence[BoolArray],
    edges: set[Edge],
) -> set[Edge]:
    """Do the same as dependent_pairs for many fields, of which all count in what makes a stranger.

    The number of sampled patterns falls in proportion to the fields, so time grows linearly.
    """
    step = -(-len(close) // MOST_ONE_BY_ONE)
    sample = np.sort(
        np.random.default_rng(len(close)).permutation(len(patterns.counts))[::step]
    )
    patterns = patterns.thinned(sample, step)
    equal = [np.arange(len(levels), dtype=np.int64) == EXACT_LEVEL for levels in close]
    while True:
        strangers = patterns.counts * differs_in_most(patterns, close, (), edges)
        lift = np.zeros((len(close), len(close)))
        for agreeing in (equal, close):
            together, first, second, total, variance, in_all = pair_counts(
                patterns, agreeing, strangers
            )
            expected = first * second / np.maximum(total, TINY)
            lift = np.maximum(lift, clear_excess(together, expected, variance, in_all))
        lifted = {(f, g) for f, g in combinations(range(len(close)), 2) if lift[f, g]}
        if lifted <= edges:
            return edges
        edges |= lifted


def pair_counts(
    patterns: PairPatterns, agreeing: Sequence[BoolArray], strangers: Float64Array
) -> tuple[Float64Array, ...]:
    """Count for each pair of fields the strangers that agree in both, in the first, in the second.

    Then come the strangers that have both, the variance of the first number, and how many of all
    pairs agree in both: six float64 arrays (fields, fields).
    """
    size = len(agreeing)
    together, first, total, variance, in_all = np.zeros((5, size, size))
    agree_in_one = np.zeros(size)
    for start in range(0, len(strangers), PATTERNS_AT_ONCE):
        part = slice(start, start + PATTERNS_AT_ONCE)
        levels = patterns.levels[part]
        absent = levels == MISSING_LEVEL
        columns = [agrees[levels[:, field]] for field, agrees in enumerate(agreeing)]
        agree = np.stack(columns, axis=1) & ~absent
        # Sums of single precision suffice: errors of sampling are a thousand times as large.
        values = agree.astype(np.float32)
        weights = strangers[part].astype(np.float32)
        weighted = values * weights[:, None]
        together += products(weighted, values)
        agree_in_one += weighted.sum(axis=0, dtype=np.float64)
        counts = patterns.counts[part, None].astype(np.float32)
        in_all += products(values, values * counts)
        sampled = patterns.variances[part] > 0
        variances = patterns.variances[part][sampled, None].astype(np.float32)
        variance += products(values[sampled], values[sampled] * variances)
        incomplete = absent.any(axis=1)
        lacking = absent[incomplete].astype(np.float32)
        first -= products(weighted[incomplete], lacking)
        total += products(1 - lacking, (1 - lacking) * weights[incomplete, None])
        total += weights[~incomplete].sum(dtype=np.float64)
    # Rounding of single precision may leave less than none.
    first = np.maximum(first + agree_in_one[:, None], 0.0)
    return together, first, first.T, total, variance, in_all


def products(first: Float32Array, second: Float32Array) -> Float64Array:
    """Return the sums of the products of each two columns, of rows that are multiplied a few at a
    time.

    BLAS starts threads for more rows, which take ten times the processor time of the products.
    """
    size = first.shape[1]
    rows = max(1, MOST_PRODUCTS // size**2)
    whole = len(first) - len(first) % rows
    parts = [side[:whole].reshape(-1, rows, size) for side in (first, second)]
    sums = np.matmul(parts[0].transpose(0, 2, 1), parts[1]).sum(
        axis=0, dtype=np.float64
    )
    return np.asarray(sums + first[whole:].T @ second[whole:])


def clear_excess(
    together: Any, expected: Any, variance: Any, in_all: Any
) -> Float64Array:
    """Return the lift of the agreements of strangers in two fields; 0 if it is not clear."""
    error = np.sqrt(expected + variance)
    least = np.maximum(LEAST_LIFT * expected, expected + SIGNIFICANT * error)
    least = np.maximum(np.maximum(FEWEST_TOGETHER, least), LEAST_SHARE * in_all)
    clear = together > least
    return np.where(clear, together / np.maximum(expected, 1.0), 0.0)


def excess_of(
    patterns: PairPatterns,
    close: Sequence[BoolArray],
    pair: Edge,
    edges: set[Edge],
    follow: bool,
) -> float:
    """Return the lift of the agreements of strangers in two fields; 0 if it is not clear.

    They are equal in both, or close in both: values such as numbers of a series are often close
    and seldom equal.
    """
    levels = [patterns.levels[:, field] for field in pair]
    present = (levels[0] != MISSING_LEVEL) & (levels[1] != MISSING_LEVEL)
    strangers = patterns.counts * present
    strangers = strangers * differs_in_most(
        patterns, close, pair, edges, clearly=not follow
    )
    equal = [present & (level == EXACT_LEVEL) for level in levels]
    total = strangers.sum()
    if not total:
        return 0.0
    best = 0.0
    for agrees in (
        equal,
        [
            present & close[field][level]
            for field, level in zip(pair, levels, strict=True)
        ],
    ):
        both = agrees[0] & agrees[1]
        together = strangers[both].sum()
        expected = strangers[agrees[0]].sum() * strangers[agrees[1]].sum() / total
        variance = patterns.variances[both].sum()
        lift = clear_excess(together, expected, variance, patterns.counts[both].sum())
        best = max(best, float(lift))
    return best


def follow_from_each_other(patterns: PairPatterns, pair: Edge) -> bool:
    """Return whether most pairs that agree in either of two fields agree in both, as in an artist
    and the only label of this artist.
    """
    first, second = (patterns.levels[:, field] == EXACT_LEVEL for field in pair)
    numbers = [patterns.counts @ agree for agree in (first, second, first & second)]
    return bool(numbers[2] > LEAST_FOLLOWING * max(numbers[:2]))


def differs_in_most(
    patterns: PairPatterns,
    close: Sequence[BoolArray],
    excluded: Sequence[int],
    edges: set[Edge],
    clearly: bool = False,
) -> BoolArray:
    """Return which patterns differ in half of the other fields; dependent fields count once.

    Clearly: in more than half, and in two if there are so many, as matches that moved do not.
    """
    groups = components_of(
        [field for field in range(len(close)) if field not in excluded], edges
    )
    if not groups:
        return np.zeros(len(patterns.counts), bool)
    states = np.stack([state_of(patterns, close, fields) for fields in groups], axis=1)
    differing = (states == MOSTLY_DIFFERENT).sum(axis=1)
    present = (states != ALL_ABSENT).sum(axis=1)
    if clearly:
        enough = differing >= min(FEWEST_DIFFERENT, len(groups))
        return np.asarray(enough & (differing * 2 > present))
    return np.asarray(differing >= np.maximum(1, 0.5 * present))


def state_of(
    patterns: PairPatterns, close: Sequence[BoolArray], fields: Sequence[int]
) -> Levels:
    """Return whether each pattern differs in most of some fields, not, or has none of them."""
    levels = patterns.levels[:, list(fields)]
    present = levels != MISSING_LEVEL
    columns = [close[field][levels[:, k]] for k, field in enumerate(fields)]
    agreeing = np.stack(columns, axis=1) & present
    count = present.sum(axis=1)
    state = np.where(
        (count - agreeing.sum(axis=1)) * 2 > count, MOSTLY_DIFFERENT, SIMILAR
    )
    state[count == 0] = ALL_ABSENT
    return state.astype(np.uint8)
