"""Scores of candidates: the sum of the scores of their fields.

Equal codes are found first, for all fields. Strings are compared only in pairs that can still reach
the least score: in such a pair, each field that is not compared yet has its greatest score for
different values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.kernels import pairs
from lshfast.records.candidates.record_texts import RecordComparer
from lshfast.records.comparison.levels import Agreement, FieldComparer
from lshfast.records.comparison.nearness import (
    EQUAL,
    EXACT_LEVEL,
    EXCHANGED,
    MISSING_LEVEL,
)
from lshfast.records.linkage import Linkage
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.fields import Field
from lshfast.records.weights.fellegi_sunter import FieldWeights

PIECE = 1 << 18  # pairs that are compared at a time
SLACK = 1e-6  # rounding errors of bounds stay below
MISSING_SHARE = 0.5  # of its points, for a field that is missing
WORTH_COPYING = 0.9  # the rest of the pairs is copied if at most this part is left


class Comparer(Protocol):
    """A comparison of values by their codes."""

    @property
    def coded(self) -> CodedField:
        """The field that is compared."""


class FieldScorer(Protocol):
    """The scores of one field."""

    @property
    def comparer(self) -> Comparer:
        """How the values of the field are compared."""

    @property
    def missing(self) -> float:
        """The score of a missing value."""

    @property
    def best_unequal(self) -> float:
        """An upper bound of the score of different values."""

    @property
    def worst(self) -> float:
        """The least score."""

    @property
    def equal(self) -> Float64Array:
        """The score of equal values, by their code."""

    def unequal(
        self, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]
    ) -> Float64Array:
        """Return the scores of pairs of different codes, neither of them -1."""

    def explained(self, i: Int64Array, j: Int64Array) -> list[str]:
        """Return for pairs of rows how the values compare."""


class PairScorer(Protocol):
    """Scores of pairs of rows, as sums of the scores of their fields."""

    def __iter__(self) -> Iterator[FieldScorer]:
        """Yield the scorers of the fields."""

    def parts(self, rows: tuple[Int64Array, Int64Array]) -> Float64Array:
        """Return the score of each field of pairs of rows, float64 (pairs, fields)."""

    def above(
        self, linkage: Linkage, places: UInt64Array, least: float
    ) -> tuple[Int64Array, Float64Array]:
        """Return the pairs with at least a score, by their index in `places`, and their scores."""


@dataclass(frozen=True)
class WeightScorer:
    """Score a field by the weights of Fellegi and Sunter, in bits."""

    comparer: FieldComparer
    weights: FieldWeights
    missing: float = 0.0

    @property
    def best_unequal(self) -> float:
        """The greatest score of different values."""
        return self.weights.best_unequal

    @property
    def worst(self) -> float:
        """The least score."""
        return float(self.weights.bits[-1])

    @property
    def equal(self) -> Float64Array:
        """The score of equal values, by their code."""
        if self.weights.value_bits is not None:
            return self.weights.value_bits
        return np.full(len(self.comparer.coded.values), self.weights.bits[1])

    def unequal(
        self, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]
    ) -> Float64Array:
        """Return the scores of pairs of different codes, neither of them -1."""
        if self.weights.graded:
            return self._graded(self.comparer.similarities(a, b))
        return self.weights.bits[self.comparer.levels(a, b)]

    def of_agreement(
        self, codes: npt.NDArray[np.int32], agreement: Agreement
    ) -> Float64Array:
        """Return the scores of pairs from the code of one value and the agreement of both."""
        levels, similarities = agreement
        scores = np.where(
            levels == MISSING_LEVEL, self.missing, np.append(self.equal, 0.0)[codes]
        )
        different = np.flatnonzero(levels > EXACT_LEVEL)
        if self.weights.graded and similarities is not None:
            scores[different] = self._graded(similarities[different].astype(np.float64))
        else:
            scores[different] = self.weights.bits[levels[different]]
        return scores

    def _graded(self, similarities: Float64Array) -> Float64Array:
        """Return scores of different values, linear between the middles of the levels."""
        kind = self.comparer.coded.kind
        inner = [
            1 - limit if kind == "number" else limit
            for limit in self.comparer.field_levels.limits
        ]
        limits = np.array([1.0, *inner, 0.0], np.float64)
        middles = np.append(1.0, (limits[:-1] + limits[1:]) / 2)
        bits = self.weights.bits
        if self.comparer.field_levels.exchanged:
            bits = np.delete(bits, EXACT_LEVEL + 1)
        return np.asarray(
            np.interp(similarities, middles[::-1], bits[:0:-1]), np.float64
        )

    def explained(self, i: Int64Array, j: Int64Array) -> list[str]:
        """Return for pairs of rows the label of their level."""
        labels = [
            self.comparer.labels[level] for level in self.comparer.levels_of_rows(i, j)
        ]
        for exchange in self.comparer.exchanges:
            for place in np.flatnonzero(exchange.holds(i, j)).tolist():
                labels[place] = EXCHANGED
        return labels


@dataclass(frozen=True)
class RecordScorer:
    """Score whole records by the cosines of `RecordComparer`, in bits.

    Attributes
    ----------
    comparer : RecordComparer
    bits : ndarray of float64, shape (terms,)
        The score of a cosine of 1, at least 0.
    """

    comparer: RecordComparer
    bits: Float64Array
    missing: float = 0.0

    @property
    def best_unequal(self) -> float:
        """An upper bound of the score of different records."""
        return float(self.bits.sum())

    @property
    def worst(self) -> float:
        """The least score."""
        return 0.0

    @property
    def equal(self) -> Float64Array:
        """The score of equal texts, by their code."""
        return np.asarray(
            self.bits.sum() - self.bits[2] * ~self.comparer.numbered, np.float64
        )

    def unequal(
        self, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]
    ) -> Float64Array:
        """Return the scores of pairs of different codes, neither of them -1."""
        return np.asarray(self.comparer.cosines(a, b) @ self.bits, np.float64)

    def explained(self, i: Int64Array, j: Int64Array) -> list[str]:
        """Return for pairs of rows their cosines."""
        a, b = self.comparer.coded.codes_of(i, j)
        return [
            ", ".join(
                f"{name} {cosine:.2f}"
                for name, cosine in zip(self.comparer.terms, cosines, strict=True)
            )
            for cosines in self.comparer.cosines(a, b).tolist()
        ]


@dataclass(frozen=True)
class PointsScorer:
    """Score a field by points: all for equal values, less for others.

    The first edit costs the penalty of the field, and d edits cost d**2 times as many points, but
    at most all.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.2: three
    fields of 100 points, and penalties that grow quadratically with the edit distance.
    """

    comparer: FieldComparer

    @property
    def field(self) -> Field:
        """The field, which has the points, the penalty, and the unit of an edit."""
        return self.comparer.coded.field

    @property
    def missing(self) -> float:
        """The score of a missing value: half of all points."""
        return MISSING_SHARE * self.field.points

    @property
    def best_unequal(self) -> float:
        """An upper bound of the score of different values."""
        kind = self.comparer.coded.kind
        if kind == "category":
            return 0.0
        least = 0.0 if kind in ("number", "date", "age") else 1.0
        return float(self.of_edits(np.array([least], np.float64))[0])

    @property
    def worst(self) -> float:
        """The least score."""
        return 0.0

    @property
    def equal(self) -> Float64Array:
        """The score of equal values, by their code."""
        return np.full(len(self.comparer.coded.values), self.field.points)

    def of_edits(self, edits: Float64Array) -> Float64Array:
        """Return the points for numbers of edits."""
        penalty = self.field.penalty
        with np.errstate(invalid="ignore", over="ignore"):
            costs = penalty * edits**2 if penalty else 0.0
            lost = np.where(np.isinf(edits), np.inf, costs)
        return np.maximum(self.field.points - lost, 0.0)

    def unequal(
        self, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]
    ) -> Float64Array:
        """Return the scores of pairs of different codes, neither of them -1."""
        return self.of_edits(self.comparer.edits(a, b, self.field.unit, self._most))

    @property
    def _most(self) -> int | None:
        """The greatest number of edits that may leave points; None if any number does."""
        penalty = self.field.penalty
        most = (self.field.points / penalty) ** 0.5 if penalty else np.inf
        return int(most) + 1 if most < 2**31 else None

    def explained(self, i: Int64Array, j: Int64Array) -> list[str]:
        """Return for pairs of rows the number of edits."""
        a, b = self.comparer.coded.codes_of(i, j)
        edits = self.comparer.edits(a, b, self.field.unit)
        return list(map(edits_text, edits.tolist()))


def edits_text(edits: float) -> str:
    """Return a number of edits as text."""
    if np.isnan(edits):
        return "missing"
    if edits in (0, np.inf):
        return EQUAL if edits == 0 else "other"
    return f"{edits:.4g} edit{'' if edits == 1 else 's'}"


@dataclass(frozen=True)
class IndependentFields:
    """Scores of pairs whose fields are scored one by one."""

    scorers: Sequence[FieldScorer]

    def __iter__(self) -> Iterator[FieldScorer]:
        return iter(self.scorers)

    def parts(self, rows: tuple[Int64Array, Int64Array]) -> Float64Array:
        """Return the score of each field (columns) of each pair."""
        parts = np.empty((len(rows[0]), len(self.scorers)))
        for field, scorer in enumerate(self.scorers):
            a, b = (scorer.comparer.coded.codes[side][rows[side]] for side in (0, 1))
            missing = (a | b) < 0
            scores = np.where(missing, scorer.missing, np.append(scorer.equal, 0.0)[a])
            different = np.flatnonzero(~missing & (a != b))
            if len(different):
                scores[different] = scorer.unequal(a[different], b[different])
            parts[:, field] = scores
        return parts

    def above(
        self, linkage: Linkage, places: UInt64Array, least: float
    ) -> tuple[Int64Array, Float64Array]:
        """Return the pairs with at least a score, by their index in `places`, and their scores."""
        scorers = self.scorers
        tables = [
            np.stack([s.comparer.coded.codes[side] for s in scorers], axis=1)
            for side in (0, 1)
        ]
        equal = [scorer.equal for scorer in scorers]
        codes = pairs.FieldCodes(
            tables[0],
            tables[1],
            np.concatenate(equal),
            np.cumsum([0, *map(len, equal)], dtype=np.int64),
            np.array([scorer.best_unequal for scorer in scorers], np.float64),
            np.array([scorer.missing for scorer in scorers], np.float64),
        )

        def compared(start: int) -> tuple[Int64Array, Float64Array]:
            index, scores = _compared(
                linkage, places[start : start + PIECE], codes, scorers, least
            )
            return start + index, scores

        parts = list(
            ordered_map(compared, range(0, len(places), PIECE), linkage.threads)
        )
        return joined_scores(parts)


def joined_scores(
    parts: Sequence[tuple[Int64Array, Float64Array]],
) -> tuple[Int64Array, Float64Array]:
    """Return the pairs of several parts and their scores."""
    if not parts:
        return np.empty(0, np.int64), np.empty(0)
    return np.concatenate([index for index, _ in parts]), np.concatenate(
        [score for _, score in parts]
    )


def _compared(
    linkage: Linkage,
    places: UInt64Array,
    codes: pairs.FieldCodes,
    scorers: Sequence[FieldScorer],
    least: float,
) -> tuple[Int64Array, Float64Array]:
    """Compare strings of pairs field by field, without pairs that cannot reach the least score."""
    # The score of the compared fields, and a bound of the score of the others.
    index, levels, score, bound = codes.scores(places, least - SLACK)
    i, j = linkage.rows_of(places[index])
    # The fields that can lower the bound most come first.
    for field in sorted(
        range(len(scorers)),
        key=lambda f: (scorers[f].worst - scorers[f].best_unequal, f),
    ):
        rows = np.flatnonzero(levels[field] == pairs.DIFFERENT)
        if not len(rows):
            continue
        scorer = scorers[field]
        first, second = scorer.comparer.coded.codes
        score[rows] += scorer.unequal(first[i[rows]], second[j[rows]])
        bound[rows] -= scorer.best_unequal
        keep = score + bound >= least - SLACK
        if keep.sum() < WORTH_COPYING * len(keep):
            index = index[keep]
            levels = levels[:, keep]
            score = score[keep]
            bound = bound[keep]
            i = i[keep]
            j = j[keep]
    keep = score >= least
    return index[keep], score[keep]
