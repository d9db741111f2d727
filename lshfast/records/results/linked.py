"""The links of a run, and what its outputs show of them: scores of pairs, field by field, and the
pairs next to the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast.records.candidates.union import CandidatePairs
from lshfast.records.linkage import Linkage
from lshfast.records.links.decision import CandidateScores, links_above
from lshfast.records.links.labels import NO_LABELS, PairLabels
from lshfast.records.links.scoring import PairScorer
from lshfast.records.options import LinkOptions
from lshfast.records.results.field_pairs import FieldPair, text_of
from lshfast.records.results.rates import RateTable
from lshfast.records.results.summary import LinkSummary
from lshfast.records.tables.dependent import DependentField
from lshfast.records.tables.keys import LeftOut
from lshfast.records.tables.record_table import CodedField, RecordTable, plain_value
from lshfast.records.weights.fellegi_sunter import LinkWeights

# Pairs below the threshold that are of interest: within so many bits, or this part of all points.
MARGIN_BITS = 8.0
MARGIN_POINTS = 0.1


class NearPairs(NamedTuple):
    """Pairs of rows that are no links: sorted by score, the greatest first."""

    i: Int64Array
    j: Int64Array
    scores: Float64Array


@dataclass(frozen=True, repr=False)
class Linked:
    """The links of a run; `LinkResult` documents the attributes."""

    i: Int64Array
    j: Int64Array
    scores: Float64Array
    probabilities: Float64Array | None
    parts: Float64Array
    fields: list[CodedField]
    weights: LinkWeights | None
    rates: RateTable | None
    summary: LinkSummary
    options: LinkOptions
    _linkage: Linkage
    _scorers: PairScorer
    _candidates: CandidatePairs
    left_out: Sequence[LeftOut] = ()
    dependent: tuple[DependentField, ...] = ()
    labels: PairLabels = NO_LABELS

    def __len__(self) -> int:
        return len(self.i)

    @property
    def single(self) -> bool:
        """Whether the links are within one table."""
        return self._linkage.b is None

    @property
    def names(self) -> list[str]:
        """Names of the fields that are compared."""
        return [coded.field.name for coded in self.fields]

    @property
    def tables(self) -> tuple[RecordTable, RecordTable]:
        """The two tables; for links within one table, both are this one."""
        a = self._linkage.a
        b = self._linkage.b
        return a, a if b is None else b

    @cached_property
    def _margin(self) -> float:
        """How far below the threshold pairs are of interest."""
        if self.weights is not None:
            return MARGIN_BITS
        return MARGIN_POINTS * sum(coded.field.points for coded in self.fields)

    @cached_property
    def _below(self) -> NearPairs:
        """The pairs that a lower threshold would link besides the links, down to the margin.

        The candidates are scored again, because a run keeps only what its threshold needs.
        """
        linkage = self._linkage
        candidates = self._candidates
        threshold = self.summary.threshold
        least = threshold - self._margin
        index, scores = self._scorers.above(linkage, candidates.places, least)
        scored = CandidateScores(self.weights, self._scorers, least, index, scores)
        assign = self.options.assignment(self.single)
        links = links_above(linkage, candidates, scored, assign, least, self.labels)
        columns = linkage.sizes[1]
        is_link = np.isin(links.i * columns + links.j, self.i * columns + self.j)
        below = np.flatnonzero((links.scores < threshold) & ~is_link)
        below = below[np.argsort(-links.scores[below], kind="stable")]
        return NearPairs(links.i[below], links.j[below], links.scores[below])


class ScoredPair(NamedTuple):
    """A pair of rows: its score, the score of each field, and its probability (None for points)."""

    rows: tuple[int, int]
    score: float
    parts: Float64Array
    probability: float | None
    is_link: bool


class ComparedField(NamedTuple):
    """A field of a pair of records.

    `how` says how the values compare. `values` are those of both records; None for whole records,
    which have no value of their own.
    """

    name: str
    score: float
    how: str
    values: tuple[Any, Any] | None

    @property
    def pair(self) -> FieldPair | None:
        """The values as strings; None for whole records."""
        if self.values is None:
            return None
        return FieldPair(self.name, *map(text_of, self.values))


class RunView:
    """A run as its outputs see it: pairs of records with their scores and values.

    Parameters
    ----------
    run : Linked
    """

    def __init__(self, run: Linked) -> None:
        self.run = run
        self.least = run.summary.threshold
        self.margin = run._margin
        self.linkage = run._linkage
        self.candidates = run._candidates

    @property
    def below(self) -> NearPairs:
        """The pairs that a lower threshold would link, the greatest score first."""
        return self.run._below

    @property
    def doubtful(self) -> Int64Array:
        """The links that nobody has marked, the least score first."""
        run = self.run
        order = np.argsort(run.scores, kind="stable")
        return order[~run.labels.mark(run.i[order], run.j[order])]

    def probability(self, score: float) -> float | None:
        """Return the probability of a match of a pair with a score; None for points."""
        weights = self.run.weights
        return None if weights is None else float(weights.probability(score))

    def link(self, link: int) -> ScoredPair:
        """Return a link by its number."""
        run = self.run
        chances = run.probabilities
        return ScoredPair(
            (int(run.i[link]), int(run.j[link])),
            float(run.scores[link]),
            run.parts[link],
            None if chances is None else float(chances[link]),
            True,
        )

    def pair(self, rows: tuple[int, int]) -> ScoredPair:
        """Return any two records, which are scored now."""
        parts = self.run._scorers.parts(_arrays(rows))[0]
        score = float(parts.sum())
        return ScoredPair(rows, score, parts, self.probability(score), False)

    def doubtful_links(self, most: int) -> list[ScoredPair]:
        """Return the unmarked links next to the threshold, the least score first."""
        return list(map(self.link, self.doubtful[:most].tolist()))

    def pairs_below(self, most: int) -> list[ScoredPair]:
        """Return the pairs next to the threshold that are not linked."""
        i = self.below.i[:most].tolist()
        j = self.below.j[:most].tolist()
        return list(map(self.pair, zip(i, j, strict=True)))

    def columns(self, coded: CodedField) -> list[Any]:
        """Return the columns of a field in both tables."""
        return [
            table.column(coded.field.column_of(side))
            for side, table in enumerate(self.run.tables)
        ]

    def compared(self, pair: ScoredPair) -> list[ComparedField]:
        """Return how the records of a pair compare, field by field."""
        rows = _arrays(pair.rows)
        fields = []
        for part, scorer in zip(pair.parts.tolist(), self.run._scorers, strict=True):
            coded = scorer.comparer.coded
            name = coded.field.name
            values = None
            if name in self.linkage.fields:
                left, right = self.columns(coded)
                first, second = pair.rows
                values = plain_value(left[first]), plain_value(right[second])
            how = scorer.explained(*rows)[0]
            fields.append(ComparedField(name, part, how, values))
        return fields


def _arrays(rows: tuple[int, int]) -> tuple[Int64Array, Int64Array]:
    """Return a pair of rows as arrays."""
    return np.array(rows[:1], np.int64), np.array(rows[1:], np.int64)
