"""What the outputs of a run show: pairs with their scores, field by field, and doubtful pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast.records.chosen_fields import unpaired_columns
from lshfast.records.links.decision import CandidateScores, all_points, links_above
from lshfast.records.links.labels import NO_LABELS, PairLabels
from lshfast.records.options import LinkOptions
from lshfast.records.results.field_pairs import FieldPair, columns_of_field, text_of
from lshfast.records.results.rates import RateTable
from lshfast.records.results.summary import LinkSummary
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.dependent import DependentField
from lshfast.records.tables.keys import LeftOut
from lshfast.records.tables.record_table import (
    RecordTable,
    field_columns,
    plain_value,
    values_at,
)
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
    _scored: CandidateScores
    left_out: Sequence[LeftOut] = ()
    dependent: Sequence[DependentField] = ()
    labels: PairLabels = NO_LABELS

    def __len__(self) -> int:
        return len(self.i)

    @property
    def single(self) -> bool:
        """Whether the links are within one table."""
        return self._scored.linkage.single

    @property
    def names(self) -> list[str]:
        """Names of the fields that are compared."""
        return [coded.field.name for coded in self.fields]

    @property
    def unpaired(self) -> tuple[list[str], list[str]]:
        """Columns of each table that are not compared because the other has none of their name.

        There are none if the fields are given, or within one table.
        """
        return unpaired_columns(self._scored.linkage.tables, self.options)

    @property
    def tables(self) -> tuple[RecordTable, RecordTable]:
        """The two tables; for links within one table, both are this one."""
        tables = self._scored.linkage.tables
        return tables[0], tables[-1]


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
    scored : CandidateScores
    """

    def __init__(self, run: Linked, scored: CandidateScores) -> None:
        self.run = run
        self.scored = scored
        self.linkage = scored.linkage
        self.least = scored.least

    @cached_property
    def margin(self) -> float:
        """How far below the threshold pairs are of interest."""
        if self.run.weights is not None:
            return MARGIN_BITS
        return MARGIN_POINTS * all_points(self.scored.scorers)

    @cached_property
    def below(self) -> NearPairs:
        """The pairs that a lower threshold would link besides the links, down to the margin.

        The candidates are scored again, because a run keeps only what its threshold needs.
        """
        run = self.run
        assign = run.options.assignment(run.single)
        scored = self.scored.down_to(self.least - self.margin)
        links = links_above(scored, assign, run.labels)
        columns = self.linkage.sizes[1]
        is_link = np.isin(links.i * columns + links.j, run.i * columns + run.j)
        below = np.flatnonzero((links.scores < self.least) & ~is_link)
        below = below[np.argsort(-links.scores[below], kind="stable")]
        return NearPairs(links.i[below], links.j[below], links.scores[below])

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
        parts = self.scored.scorers.parts(_arrays(rows))[0]
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
        return field_columns(coded.field, self.run.tables)

    def review(self, most: int) -> dict[str, list[Any]]:
        """Return doubtful pairs as columns, the greatest score first; see `LinkResult.review`."""
        run = self.run
        below = self.below
        links = self.doubtful[:most][::-1]
        i = np.append(run.i[links], below.i[:most])
        j = np.append(run.j[links], below.j[:most])
        scores = np.append(run.scores[links], below.scores[:most])
        first, second = run.tables
        columns: dict[str, list[Any]] = {
            "answer": [None] * len(i),
            "id_a": [first.ids[row] for row in i.tolist()],
            "id_b": [second.ids[row] for row in j.tolist()],
            "linked": [place < len(links) for place in range(len(i))],
            "score": scores.round(4).tolist(),
        }
        if run.weights is not None and run.probabilities is not None:
            chances_below = run.weights.probability(below.scores[:most])
            chances = np.append(run.probabilities[links], chances_below)
            columns["probability"] = chances.round(6).tolist()
        for coded in self.linkage.fields.values():
            names = columns_of_field(coded.field)
            left, right = self.columns(coded)
            columns[names.left] = list(map(text_of, values_at(left, i)))
            columns[names.right] = list(map(text_of, values_at(right, j)))
        return columns

    def compared(self, pair: ScoredPair) -> list[ComparedField]:
        """Return how the records of a pair compare, field by field."""
        rows = _arrays(pair.rows)
        fields = []
        for part, scorer in zip(pair.parts.tolist(), self.scored.scorers, strict=True):
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
