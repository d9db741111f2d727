"""Weights of agreement by Fellegi and Sunter, estimated without labels.

u is the distribution of the levels among random pairs: exact for equal values, by the frequencies
of the values, and from a sample for the other levels. m is the distribution among matches, by
expectation maximisation over the candidates. Candidates of a rule that are no matches are alike in
what the rule looks for, and in what depends on it: so they have a distribution for each rule. The
weights do not depend on how the rules choose pairs: they are log2(m / u), and the prior is the
share of matches among all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.types import Float64Array, Int64Array
from lshfast.records.candidates.union import CandidatePairs, rules_of
from lshfast.records.comparison.levels import GRADED, FieldComparer
from lshfast.records.comparison.nearness import EXACT_LEVEL, MISSING_LEVEL
from lshfast.records.distinct import distinct_rows
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.weights.similar_values import SimilarValues

RANDOM_PAIRS = 200_000  # for u
FEW_PAIRS = 1 << 19  # of so few pairs, all are used for u
TRAINING_PAIRS = 200_000  # candidates for m
ITERATIONS = 200
TOLERANCE = 1e-7  # of the largest change of a probability
SMOOTHING = 0.5  # observations added to each level of u
PRIOR_MATCHES = 20.0  # observations added to the levels of m, distributed by EXPECTED
# The same for the pairs that a rule brings by chance, distributed as u.
PRIOR_PAIRS = 5.0
FIRST_SHARE = 0.3  # matches for each record, before anything is known
TINY = 1e-12
# Probabilities of equal and of wholly different values of a match, before anything is known.
EXPECTED = 0.7
EXPECTED_OTHER = 0.1
# Least share of the agreements of random pairs that is attributed to chance.
LEAST_CHANCE = 0.1
LARGEST_WEIGHT = 40.0  # bits
# Pairs of matches for each record of one table, at most; of two tables, one for each record.
MOST_DUPLICATES = 2.0


@dataclass(frozen=True)
class FieldWeights:
    """The weights of one field.

    Attributes
    ----------
    field : str
        Name of the field.
    labels : tuple of str
        What the levels mean.
    m, u : ndarray of float64, shape (levels,)
        Probability of each level among matches, and among random pairs, if both values are present.
        0 for the level of missing values.
    bits : ndarray of float64, shape (levels,)
        The weight of each level: log2(m / u) times the factor; levels that are out of order are
        pooled. 0 for missing values.
    value_bits : ndarray of float64, shape (values,), or None
        The weights of equal values, by the value: agreement on a rare value weighs more. None if
        all weigh the same, as for texts and numbers.
    similar_values : SimilarValues or None
        What the rarity of similar values adds. None if it adds nothing.
    """

    field: str
    labels: tuple[str, ...]
    m: Float64Array
    u: Float64Array
    bits: Float64Array
    value_bits: Float64Array | None
    graded: bool = False
    factor: float = 1.0
    similar_values: SimilarValues | None = None

    @property
    def best_unequal(self) -> float:
        """The greatest weight of different values."""
        return float(self.bits[EXACT_LEVEL + (not self.graded) :].max())

    def scaled(self, factor: float) -> FieldWeights:
        """Return these weights times a factor, at least 0."""
        values = None if self.value_bits is None else self.value_bits * factor
        similar_values = self.similar_values
        if similar_values is not None:
            similar_values = similar_values.scaled(factor)
        return replace(
            self,
            bits=self.bits * factor,
            value_bits=values,
            similar_values=similar_values,
            factor=self.factor * factor,
        )


@dataclass(frozen=True)
class LinkWeights:
    """The estimated weights of all fields.

    Attributes
    ----------
    fields : list of FieldWeights
    prior : float
        The share of matches among all pairs.
    matches : float
        The expected number of matches among the candidates.
    iterations : int
        Steps of expectation maximisation.
    of_most : float
        If agreement patterns of two tables are the evidence: the matches of the last step, as times
        the records of the smaller table. Above 1, the fit ended at this bound. Otherwise 0.
    unmatched_bits : float or None
        How much greater the odds of records that have no other match are than `prior` says, if each
        has one at most. None if a record may have several, or if the weights know its rivals.
    """

    fields: list[FieldWeights]
    prior: float
    matches: float
    iterations: int
    of_most: float = 0.0
    unmatched_bits: float | None = None

    @property
    def prior_bits(self) -> float:
        """The prior as log2 odds, of records that have no other match."""
        prior_bits = float(np.log2(self.prior) - np.log2(1 - self.prior))
        return prior_bits + (self.unmatched_bits or 0.0)

    def probability(self, bits: npt.ArrayLike) -> Float64Array:
        """Return the probability of a match, from the sum of the weights of a pair."""
        total = np.asarray(bits, np.float64) + self.prior_bits
        return np.asarray(1 / (1 + np.exp2(-np.clip(total, -1000, 1000))))

    def bits_of(self, probability: float) -> float:
        """Return the sum of weights at which the probability of a match has this value, in
        (0, 1).
        """
        return float(np.log2(probability) - np.log2(1 - probability)) - self.prior_bits


def pairs_for_chance(linkage: Linkage) -> tuple[Int64Array, Int64Array]:
    """Return the pairs from which u is estimated: all, if they are few, otherwise random ones."""
    first, second = linkage.sizes
    if linkage.all_pairs > FEW_PAIRS:
        return random_rows(linkage, RANDOM_PAIRS)
    if linkage.b is None:
        i, j = np.triu_indices(first, 1)
        return i.astype(np.int64), j.astype(np.int64)
    places = np.arange(first * second, dtype=np.int64)
    return places // max(1, second), places % max(1, second)


def random_rows(linkage: Linkage, size: int) -> tuple[Int64Array, Int64Array]:
    """Draw pairs of different records, independently; the same for the same seed."""
    rng = np.random.default_rng([linkage.seed, 1])
    first, second = linkage.sizes
    i = rng.integers(0, first, size)
    if linkage.b is not None:
        return i, rng.integers(0, second, size)
    j = rng.integers(0, second - 1, size)
    return i, j + (j >= i)


def levels_by_chance(
    linkage: Linkage, comparers: Sequence[FieldComparer]
) -> list[Float64Array]:
    """Return u of each field."""
    rows = pairs_for_chance(linkage)

    def chance_of(comparer: FieldComparer) -> Float64Array:
        return chance_levels(linkage, comparer, rows)

    return list(ordered_map(chance_of, comparers, linkage.threads))


def chance_levels(
    linkage: Linkage, comparer: FieldComparer, rows: tuple[Int64Array, Int64Array]
) -> Float64Array:
    """Return u of a field: the distribution of the levels of random pairs with both values."""
    coded = comparer.coded
    levels = comparer.levels(coded.codes[0][rows[0]], coded.codes[1][rows[1]])
    counts = np.bincount(levels, minlength=len(comparer.labels)).astype(np.float64)
    equal = equal_by_chance(linkage, coded)
    unequal = counts[EXACT_LEVEL + 1 :] + SMOOTHING
    frequencies = np.zeros(len(comparer.labels))
    frequencies[EXACT_LEVEL] = equal
    frequencies[EXACT_LEVEL + 1 :] = (1 - equal) * unequal / unequal.sum()
    return frequencies


def distribution(levels: npt.NDArray[np.uint8], size: int) -> Float64Array:
    """Return the frequencies of the levels but the one of missing values; none of them is 0."""
    counts = np.bincount(levels, minlength=size) + 0.5
    counts[MISSING_LEVEL] = 0
    return np.asarray(counts / counts.sum(), np.float64)


def equal_by_chance(linkage: Linkage, coded: CodedField) -> float:
    """Return the probability that two random records have equal values, if both have one."""
    counts = [
        np.bincount(codes[codes >= 0], minlength=len(coded.values)).astype(np.float64)
        for codes in coded.codes
    ]
    if linkage.b is None:
        rows = counts[0].sum()
        pairs = rows * (rows - 1) / 2
        equal = (counts[0] * (counts[0] - 1) / 2).sum()
    else:
        pairs = counts[0].sum() * counts[1].sum()
        equal = (counts[0] * counts[1]).sum()
    return float((equal + SMOOTHING) / (pairs + 2 * SMOOTHING)) if pairs else 0.5


def estimate_weights(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    candidates: CandidatePairs,
    *,
    frequencies: bool = True,
) -> LinkWeights:
    """Estimate weights from the data, without labels.

    Parameters
    ----------
    linkage : Linkage
    comparers : sequence of FieldComparer
    candidates : CandidatePairs
    frequencies : bool
        Whether agreement on a rare value weighs more than agreement on a frequent one.

    References
    ----------
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. W. E. Winkler, "Using the
    EM algorithm for weight computation in the Fellegi-Sunter model of record linkage", 1988;
    "Frequency-based matching in Fellegi-Sunter model of record linkage", 1989.
    """
    places = candidates.places
    u = levels_by_chance(linkage, comparers)
    training = candidates
    if len(places) > TRAINING_PAIRS:
        rng = np.random.default_rng([linkage.seed, 2])
        numbers = np.sort(rng.choice(len(places), TRAINING_PAIRS, replace=False))
        training = replace(
            candidates, places=places[numbers], masks=candidates.masks[numbers]
        )
    rules = largest_rules(training)
    i, j = linkage.rows_of(training.places)
    levels = ordered_map(
        lambda c: c.levels(c.coded.codes[0][i], c.coded.codes[1][j]),
        comparers,
        linkage.threads,
    )
    columns = [rules, *levels]
    where, pattern = distinct_rows(columns)
    patterns = np.stack([column[where] for column in columns], axis=1)
    counts = np.bincount(pattern, minlength=len(where))
    scale = len(places) / max(1, len(training))
    weighted = np.asarray(counts * scale, np.float64)
    m, matches, steps = maximise(patterns[:, 1:], patterns[:, 0], weighted, u, linkage)
    prior = share_of(matches, linkage)
    fields = [
        weights_of(
            comparer, own_m, without_matches(own_u, own_m, prior), prior, frequencies
        )
        for comparer, own_m, own_u in zip(comparers, m, u, strict=True)
    ]
    return LinkWeights(fields, prior, matches, steps)


def largest_rules(candidates: CandidatePairs) -> npt.NDArray[np.uint8]:
    """Return for each pair the number of the rule that brought it; of several, the one with most
    pairs.
    """
    order = sorted(
        range(len(candidates.reports)),
        key=lambda rule: (candidates.reports[rule].pairs, -rule),
    )
    rule_of_pair = np.zeros(len(candidates), np.uint8)
    for rule in order:
        rule_of_pair[rules_of(candidates.masks, rule)] = rule
    return rule_of_pair


def share_of(matches: float, linkage: Linkage) -> float:
    """Return the share of matches among all pairs, above 0 and below 1."""
    most = max(1, linkage.all_pairs)
    return float(
        np.clip(matches, 0.5 / (most + 1), most - 0.5 / (most + 1)) / (most + 1)
    )


def maximise(
    patterns: npt.NDArray[np.uint8],
    groups: npt.NDArray[np.integer[Any]],
    counts: Float64Array,
    u: Sequence[Float64Array],
    linkage: Linkage,
) -> tuple[list[Float64Array], float, int]:
    """Estimate m and the number of matches by expectation maximisation.

    The candidates of a rule are a mixture of matches, with the distributions m that all rules
    share, and of pairs that the rule brings by chance, with distributions of its own. These begin
    as u, limited to the levels that occur.

    Parameters
    ----------
    patterns : ndarray of uint8, shape (p, fields)
        The distinct combinations of levels among the candidates of a rule.
    groups : ndarray of integers, shape (p,)
        The number of the rule.
    counts : ndarray of float64, shape (p,)
        How many candidates of the rule have each combination.
    u : sequence of ndarray of float64
        The distributions of the levels of random pairs.
    linkage : Linkage

    Returns
    -------
    m : list of ndarray of float64
    matches : float
        Expected number of matches among the candidates.
    iterations : int
    """
    expected = [_expected(len(levels)) for levels in u]
    m = [levels.copy() for levels in expected]
    rules = int(groups.max()) + 1 if len(groups) else 0
    places = [
        groups.astype(np.int64) * len(levels) + patterns[:, field]
        for field, levels in enumerate(u)
    ]
    totals = [
        _sums(place, counts, (rules, len(levels)))
        for place, levels in zip(places, u, strict=True)
    ]
    chance = [_limited(levels, total) for levels, total in zip(u, totals, strict=True)]
    rule_levels = [levels.copy() for levels in chance]
    sizes = np.bincount(groups, counts, minlength=rules)
    most = min(linkage.sizes) * (1.0 if linkage.b is not None else MOST_DUPLICATES)
    shares = np.clip(FIRST_SHARE * min(linkage.sizes) / np.maximum(sizes, 1), 1e-9, 0.5)
    matches = 0.0
    step = 0
    while step < ITERATIONS:
        step += 1
        odds = np.log(shares / (1 - shares))[groups]
        for place, matching, other in zip(places, m, rule_levels, strict=True):
            ratio = np.log(np.maximum(matching, TINY)) - np.log(np.maximum(other, TINY))
            ratio[:, MISSING_LEVEL] = 0.0
            odds += ratio.reshape(-1)[place]
        posterior = counts / (1 + np.exp(-np.clip(odds, -700, 700)))
        new_m = []
        for field, prior in enumerate(expected):
            sums = _sums(places[field], posterior, totals[field].shape)
            weights = sums.sum(axis=0) + PRIOR_MATCHES * prior
            weights[MISSING_LEVEL] = 0
            new_m.append(weights / weights.sum())
            rule_levels[field] = _distribution(
                totals[field] - sums, PRIOR_PAIRS * chance[field]
            )
        total = float(posterior.sum())
        change = max(
            float(np.abs(new - old).max()) for new, old in zip(new_m, m, strict=True)
        )
        change = max(change, abs(total - matches) / max(1.0, total))
        shares = (np.bincount(groups, posterior, minlength=rules) + 1) / (sizes + 2)
        m = new_m
        matches = total
        if change < TOLERANCE:
            break
    return m, min(matches, most), step


def _sums(
    places: Int64Array, weights: Float64Array, shape: tuple[int, ...]
) -> Float64Array:
    """Return the sums of weights by rule (rows) and level, from their places in this matrix."""
    return (
        np.bincount(places, weights, minlength=shape[0] * shape[1])
        .astype(np.float64)
        .reshape(shape)
    )


def _limited(u: Float64Array, totals: Float64Array) -> Float64Array:
    """Return u for each rule (rows), limited to the levels that its candidates have."""
    limited = np.where(totals > 0, np.maximum(u, TINY), TINY)
    limited[:, MISSING_LEVEL] = 0
    return np.asarray(limited / limited.sum(axis=1, keepdims=True))


def _distribution(sums: Float64Array, prior: Float64Array) -> Float64Array:
    """Return the distribution of levels for each rule (rows), with prior observations."""
    weights = np.maximum(sums, 0) + prior
    weights[:, MISSING_LEVEL] = 0
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _expected(levels: int) -> Float64Array:
    """Return a distribution with equal values most likely, and each further level but the last half
    as likely.
    """
    expected = np.zeros(levels)
    expected[EXACT_LEVEL] = EXPECTED
    steps = 0.5 ** np.arange(levels - 2, dtype=np.int64)
    expected[EXACT_LEVEL + 1 :] = (1 - EXPECTED - EXPECTED_OTHER) * steps / steps.sum()
    expected[-1] += EXPECTED_OTHER
    return expected


def _ratio(
    m: Float64Array, u: Float64Array, unordered: int | None = None
) -> Float64Array:
    """Return m / u, not increasing with the level: levels out of order are pooled; 1 for missing
    values. One level may have no place in the order.

    R. E. Barlow et al., "Statistical inference under order restrictions", 1972.

    Examples
    --------
    >>> import numpy as np
    >>> _ratio(np.array([0, 0.8, 0, 0.2]), np.array([0, 0.1, 0.1, 0.8])).round(
    ...     3
    ... ).tolist()
    [1.0, 8.0, 0.222, 0.222]
    """
    if unordered is not None:
        ratio = _ratio(np.delete(m, unordered), np.delete(u, unordered))
        unordered_ratio = m[unordered] / max(u[unordered], TINY)
        return np.insert(
            ratio, unordered, np.clip(unordered_ratio, 1.0, 2.0**LARGEST_WEIGHT)
        )
    pools: list[tuple[float, float, int]] = []
    for matches, strangers in zip(
        m[EXACT_LEVEL:].tolist(), u[EXACT_LEVEL:].tolist(), strict=True
    ):
        pool = matches, max(strangers, 1e-300), 1
        while pools and pools[-1][0] * pool[1] < pool[0] * pools[-1][1]:
            before = pools.pop()
            pool = before[0] + pool[0], before[1] + pool[1], before[2] + pool[2]
        pools.append(pool)
    ratio = np.ones(len(m))
    ratio[EXACT_LEVEL:] = np.repeat(
        [pool[0] / pool[1] for pool in pools], [pool[2] for pool in pools]
    )
    return np.clip(ratio, 2.0**-LARGEST_WEIGHT, 2.0**LARGEST_WEIGHT)


def without_matches(u: Float64Array, m: Float64Array, prior: float) -> Float64Array:
    """Return the distribution of the levels of random pairs that are no matches."""
    strangers = np.maximum(u - prior * m, LEAST_CHANCE * u)
    return np.asarray(strangers / strangers.sum())


def with_prior(
    weights: LinkWeights,
    comparers: Sequence[FieldComparer],
    linkage: Linkage,
    prior: float,
    frequencies: bool,
) -> LinkWeights:
    """Return the weights at another share of matches among all pairs: random pairs have more or
    fewer of them.
    """
    difference = prior - weights.prior
    fields = [
        weights_of(
            comparer,
            field.m,
            without_matches(field.u, field.m, difference),
            prior,
            frequencies,
        )
        for comparer, field in zip(comparers, weights.fields, strict=True)
    ]
    return LinkWeights(fields, prior, prior * linkage.all_pairs, weights.iterations)


def weights_of(
    comparer: FieldComparer,
    m: Float64Array,
    u: Float64Array,
    prior: float,
    frequencies: bool,
    graded: bool = False,
) -> FieldWeights:
    """Return the weights of a field from m and u; `graded` interpolates them for names, texts
    and numbers.
    """
    exchanged = EXACT_LEVEL + 1 if comparer.field_levels.exchanged else None
    bits = np.log2(_ratio(m, u, exchanged))
    by_value = None
    if (
        frequencies
        and comparer.coded.kind not in ("text", "number")
        and len(comparer.coded.values)
    ):
        by_value = bits_of_values(comparer.coded, m[EXACT_LEVEL], u[EXACT_LEVEL], prior)
        different = (
            bits[EXACT_LEVEL + 1 :] if exchanged is None else bits[exchanged + 1 :]
        )
        by_value = np.clip(
            by_value, different[0] if len(different) else 0, LARGEST_WEIGHT
        )
    graded = graded and comparer.coded.kind in GRADED
    return FieldWeights(
        comparer.coded.field.name, comparer.labels, m, u, bits, by_value, graded
    )


def bits_of_values(coded: CodedField, m: float, u: float, prior: float) -> Float64Array:
    """Return the weight of agreement on each value of a field, from m and u of equal values.

    Two records agree on a value by chance with the product of its frequencies in the tables. Most
    values of a column of dates or phones are not in a table: those that are occur once, so their
    frequency there is far above that among all values. Of values drawn by Ewens' formula, two are
    equal with probability u = 1 / (1 + unseen), and one that occurs c times in n has the frequency
    c / (n + unseen).

    References
    ----------
    W. J. Ewens, "The sampling theory of selectively neutral alleles", Theoretical Population
    Biology 1972.
    """
    counts = [
        np.bincount(codes[codes >= 0], minlength=len(coded.values)).astype(np.float64)
        for codes in coded.codes
    ]
    within_one = coded.codes[0] is coded.codes[1]
    records = counts[0] if within_one else counts[0] + counts[1]
    sizes = [max(count.sum(), 1.0) for count in counts]
    unseen = 1 / max(u, TINY) - 1
    # The two records of a match have one value. Within one table, a pair has two orders.
    matched = prior * m * sizes[0] * sizes[1] * records / max(records.sum(), 1.0)
    matched = np.minimum(matched, np.minimum(*counts))
    entities = records - matched / 2 if within_one else records - matched
    frequency = entities / (entities.sum() + unseen)
    first, second = (count + unseen * frequency for count in counts)
    same = matched + counts[0] if within_one else matched
    agreeing = np.maximum(first * second - same, (unseen * frequency) ** 2)
    chance = agreeing / ((sizes[0] + unseen) * (sizes[1] + unseen))
    return np.asarray(np.log2(m * frequency + TINY) - np.log2(chance + TINY))
