"""Scores of pairs by a fitted mixture: a field's weight depends on the fields that it follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.nearness import EXACT_LEVEL
from lshfast.records.distinct import places_among
from lshfast.records.linkage import Linkage
from lshfast.records.links.labels import NO_LABELS, PairLabels
from lshfast.records.links.scoring import (
    PIECE,
    FieldScorer,
    WeightScorer,
    joined_scores,
)
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.weights.dependence import Edge
from lshfast.records.weights.differing import fit_without_differing
from lshfast.records.weights.fellegi_sunter import (
    LARGEST_WEIGHT,
    FieldWeights,
    LinkWeights,
    equal_by_chance,
    weights_of,
)
from lshfast.records.weights.mixture import FieldModel, Mixture
from lshfast.records.weights.patterns import (
    PairPatterns,
    count_patterns,
    levels_of,
    with_marks,
)
from lshfast.records.weights.roles import FieldRoles, names_records
from lshfast.records.weights.similar_values import similar_values

MOST_MATCHES = 1.0  # of each record of the smaller of two tables, on average
# Bits of a parent's state and of a level in the key of joint levels.
STATE_BITS = 2
LEVEL_BITS = 4
TINY = 1e-300

Levels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class GivenWeights:
    """The weights of a field's levels, given the states of its parents.

    Attributes
    ----------
    parents : tuple of int
    parent_states : tuple of ndarray of uint8
        The state of each level of each parent.
    keys : ndarray of int64, shape (joint levels,)
        Ascending; see `keys_of`.
    bits : ndarray of float64, shape (joint levels,)
    """

    parents: tuple[int, ...]
    parent_states: tuple[Levels, ...]
    keys: Int64Array
    bits: Float64Array

    @classmethod
    def of(cls, model: FieldModel, patterns: PairPatterns) -> GivenWeights:
        """Return the weights of a fitted field."""
        keys = np.zeros(len(model.level), np.int64)
        keys[model.of_pattern] = keys_of(
            patterns.levels.T, model.parents, model.parent_states, model.field
        )
        order = np.argsort(keys)
        bits = np.clip(model.logarithm / np.log(2), -LARGEST_WEIGHT, LARGEST_WEIGHT)
        return cls(model.parents, model.parent_states, keys[order], bits[order])


@dataclass(frozen=True)
class Network:
    """Scores pairs of records.

    Attributes
    ----------
    comparers : sequence of FieldComparer
    weights : LinkWeights
    given : dict of int to GivenWeights
        For the fields that have parents.
    reached : float
        The part of the expected matches that are candidates.
    by_twos : tuple of str
        Fields among which dependence was sought by twos only, since there are many.
    differing : tuple of str
        Fields that differ in nearly all matches, without those that name one record each: a code
        that differs says that two articles are a family.
    """

    comparers: Sequence[FieldComparer]
    weights: LinkWeights
    given: dict[int, GivenWeights]
    reached: float = 1.0
    by_twos: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[FieldScorer]:
        return map(WeightScorer, self.comparers, self.weights.fields)

    def of_patterns(
        self,
        linkage: Linkage,
        places: UInt64Array,
        patterns: PairPatterns,
        least: float,
    ) -> tuple[Int64Array, Float64Array]:
        """Return the index and score of each candidate above a score, from their patterns."""
        levels = patterns.levels.T
        base = np.zeros(levels.shape[1])
        for field in range(len(levels)):
            if field in self.given:
                base += self._given_bits(field, levels)
            else:
                base += self.weights.fields[field].bits[levels[field]]
        most = sum(self._rarest_bits(field) for field in range(len(levels)))
        index = np.flatnonzero(base[patterns.candidates] >= least - most)
        scores = base[patterns.candidates[index]]
        rows = linkage.rows_of(places[index])
        for field, comparer in enumerate(self.comparers):
            weights = self.weights.fields[field]
            if field in self.given or weights.value_bits is None:
                continue
            level = levels[field][patterns.candidates[index]]
            codes = comparer.coded.codes_of(*rows)
            scores += self._bits(field, level, codes) - weights.bits[level]
        is_above = scores >= least
        return index[is_above], scores[is_above]

    def _rarest_bits(self, field: int) -> float:
        """Return how much more the rarest value of a field weighs than the mean one."""
        weights = self.weights.fields[field]
        if (
            field in self.given
            or weights.value_bits is None
            or not len(weights.value_bits)
        ):
            return 0.0
        rarest = float(weights.value_bits.max() - weights.bits[EXACT_LEVEL])
        if weights.similar_values is not None:
            rarest = max(rarest, weights.similar_values.most)
        return max(0.0, rarest)

    def above(
        self, linkage: Linkage, places: UInt64Array, least: float
    ) -> tuple[Int64Array, Float64Array]:
        """Return the pairs with at least a score, by their index in `places`, and their scores."""

        def scored(start: int) -> tuple[Int64Array, Float64Array]:
            scores = self.parts(linkage.rows_of(places[start : start + PIECE])).sum(
                axis=1
            )
            index = np.flatnonzero(scores >= least)
            return start + index, scores[index]

        starts = range(0, len(places), PIECE)
        return joined_scores(list(ordered_map(scored, starts, linkage.threads)))

    def parts(self, rows: tuple[Int64Array, Int64Array]) -> Float64Array:
        """Return the score of each field of pairs of rows, float64 (pairs, fields)."""
        levels = levels_of(self.comparers, rows, 1)
        parts = np.zeros((levels.shape[1], len(levels)))
        for field, comparer in enumerate(self.comparers):
            if field in self.given:
                parts[:, field] = self._given_bits(field, levels)
            else:
                codes = comparer.coded.codes_of(*rows)
                parts[:, field] = self._bits(field, levels[field], codes)
        return parts

    def _bits(
        self,
        field: int,
        level: Levels,
        codes: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    ) -> Float64Array:
        """Return the weights of a field without parents: rare values weigh more, if they are equal
        or similar.
        """
        weights = self.weights.fields[field]
        bits = weights.bits[level]
        if weights.value_bits is not None:
            equal = np.flatnonzero(level == EXACT_LEVEL)
            bits[equal] = weights.value_bits[codes[0][equal]]
        if weights.similar_values is not None:
            bits += weights.similar_values.bits(level, *codes)
        return bits

    def _given_bits(self, field: int, levels: Levels) -> Float64Array:
        """Return the weights of a field given its parents, or without them for new combinations."""
        given_weights = self.given[field]
        keys = keys_of(
            levels, given_weights.parents, given_weights.parent_states, field
        )
        places, is_known = places_among(keys, given_weights.keys)
        bits = self.weights.fields[field].bits[levels[field]]
        return np.where(is_known, given_weights.bits[places], bits)


def information_of(linkage: Linkage, coded: CodedField) -> float:
    """Return the information of equal values in bits: less if values are often missing."""
    return min(coded.present) * -float(np.log2(equal_by_chance(linkage, coded)))


def suits_mixture(linkage: Linkage, edges: set[Edge]) -> bool:
    """Return whether other fields than free texts identify records at least as well as the texts.

    Free texts identify by their rank among rivals (F1 of Abt-Buy: .71 by patterns, .96 by ranks).
    """
    fields = list(linkage.fields.values())
    information = [information_of(linkage, field) for field in fields]
    free_bits = sum(information[number] for number in free_texts(fields, edges))
    is_other = [field.kind != "text" for field in fields]
    return sum(compress(information, is_other)) >= free_bits


def free_texts(fields: Sequence[CodedField], edges: set[Edge]) -> set[int]:
    """Return the numbers of the texts that do not depend on fields of other kinds.

    An e-mail address, which depends on a name, is not free.
    """
    texts = {number for number, field in enumerate(fields) if field.kind == "text"}
    bound = {number for edge in edges if set(edge) - texts for number in edge}
    return texts - bound


def keys_of(
    levels: Levels, parents: Sequence[int], parent_states: Sequence[Levels], field: int
) -> Int64Array:
    """Return a number for the parents' states and the level of a field of each pair."""
    keys = np.zeros(levels.shape[1], np.int64)
    for parent, states in zip(parents, parent_states, strict=True):
        keys = keys << STATE_BITS | states[levels[parent]]
    return np.asarray(keys << LEVEL_BITS | levels[field])


def learn_network(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    places: UInt64Array,
    *,
    edges: set[Edge],
    frequencies: bool,
    sampled: float = 1.0,
    labels: PairLabels = NO_LABELS,
) -> tuple[Network, PairPatterns]:
    """Fit a mixture to the patterns of all pairs; the pairs at `places` are counted one by one.

    Marked pairs are matches, or strangers, in each step. They are no sample, since people look at
    doubtful pairs: each counts once and says nothing about the pairs that nobody marked.
    """
    patterns = count_patterns(linkage, comparers, places, sampled)
    if len(labels):
        patterns = with_marks(
            patterns, places, labels.places(linkage.sizes[1]), labels.same
        )
    mixture = fitted_mixture(linkage, comparers, patterns, edges)
    matches = patterns.matches(mixture.probabilities)
    fields: list[FieldWeights] = [None] * len(comparers)  # type: ignore[list-item] # filled below
    given_weights = {}
    for model in mixture.models:
        field = model.field
        match_sums = model.joint_sums(matches)
        m = model.match_levels(match_sums)
        u = model.stranger_levels(match_sums)
        # A rare value that others depend on says less than its frequency: a rare name in a town is
        # a family's.
        is_independent = not any(field in edge for edge in mixture.edges)
        fields[field] = weights_of(
            comparers[field], m, u, mixture.share, frequencies and is_independent
        )
        if fields[field].value_bits is not None:
            learnt = similar_values(
                comparers[field],
                patterns.levels[patterns.candidates, field],
                comparers[field].coded.codes_of(*linkage.rows_of(places)),
                mixture.probabilities[patterns.candidates],
                1 / u[EXACT_LEVEL] - 1,
            )
            fields[field] = replace(fields[field], similar_values=learnt)
        if model.parents:
            given_weights[field] = GivenWeights.of(model, patterns)
    prior = mixture.share
    weights = LinkWeights(
        fields,
        prior,
        float(prior * linkage.all_pairs),
        mixture.steps,
        mixture.of_most,
    )
    # All that the sample shows, so that further rules are tried where they may be missing.
    expected = float((patterns.counts * mixture.probabilities).sum())
    among_candidates = float((patterns.counted * mixture.probabilities).sum())
    reached = among_candidates / expected if expected >= 1 else 1.0
    names = [comparer.coded.field.name for comparer in comparers]
    by_twos = tuple(
        name for number, name in enumerate(names) if number not in mixture.searched
    )
    differing = [
        names[number]
        for number in sorted(mixture.differing)
        if not names_records(comparers[number].coded)
    ]
    return Network(
        comparers, weights, given_weights, reached, by_twos, tuple(differing)
    ), patterns


def fitted_mixture(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    patterns: PairPatterns,
    edges: set[Edge],
) -> Mixture:
    """Fit a mixture to the patterns, with what the tables and fields say about matches."""
    most_matches = float(linkage.all_pairs)
    if linkage.b is not None:
        most_matches = MOST_MATCHES * min(linkage.sizes)
    roles = FieldRoles.of(linkage, comparers)
    return fit_without_differing(patterns, roles, edges, most_matches)
