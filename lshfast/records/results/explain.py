"""Why two records were linked or not, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.display import counted
from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import visible
from lshfast.records.candidates.union import CandidatePairs, rules_of
from lshfast.records.linkage import Linkage
from lshfast.records.links.labels import NO_LABELS, PairLabels
from lshfast.records.links.scoring import PairScorer
from lshfast.records.results.field_pairs import FieldPair, text_of
from lshfast.records.tables.ids import RecordIds
from lshfast.records.tables.record_table import (
    CodedField,
    RecordTable,
    is_missing,
    plain_value,
)
from lshfast.records.weights.fellegi_sunter import LinkWeights

SHOWN_LINKS = 3  # of a record, to other records


def row_of(table: RecordTable, key: Any) -> int:
    """Return the row of an id; the string "7" is also the integer 7.

    Raises
    ------
    ValueError
        If no record has the id.

    Examples
    --------
    >>> from lshfast.records import RecordTable
    >>> from lshfast.records.results.explain import row_of
    >>> row_of(RecordTable({"id": [5, 7], "name": ["Ann", "Bob"]}, "id"), "7")
    1
    """
    return RecordIds(table).row_of(key)


def rows_of_pair(
    tables: tuple[RecordTable, RecordTable | None], id_a: Any, id_b: Any
) -> tuple[int, int]:
    """Return the rows of two ids in two tables, or in one, the smaller first.

    Raises
    ------
    ValueError
        If no record has one of the ids, or both are the same record.
    """
    a, b = tables
    first = row_of(a, id_a)
    second = row_of(a if b is None else b, id_b)
    if b is not None:
        return first, second
    if first == second:
        raise ValueError(
            visible(f"{a.name}: {id_a!r} and {id_b!r} are the same record")
        )
    return min(first, second), max(first, second)


@dataclass(frozen=True)
class PairScore:
    """The score of a pair of rows, and that of each field."""

    rows: tuple[int, int]
    score: float
    parts: Float64Array


class ComparedField(NamedTuple):
    """A field of a pair of records.

    Attributes
    ----------
    name : str
    score : float
    how : str
        How the values compare.
    values : (object, object), or None
        The values of both records; None for whole records, which have no value of their own.
    """

    name: str
    score: float
    how: str
    values: tuple[Any, Any] | None

    @property
    def pair(self) -> FieldPair | None:
        """The values as strings; None for whole records."""
        return (
            None
            if self.values is None
            else FieldPair(self.name, *map(text_of, self.values))
        )


@dataclass(frozen=True)
class Explainer:
    """What is needed to explain pairs of records of a run.

    Attributes
    ----------
    linkage : Linkage
    scorers : PairScorer
    weights : LinkWeights or None
        None for points.
    candidates : CandidatePairs
        The compared pairs.
    i, j, scores : ndarray, shape (n,)
        Rows and scores of the links.
    least : float
        The least score of a link.
    groups : callable
        Returns the group of each record of one table.
    labels : PairLabels
        The marks of people.
    """

    linkage: Linkage
    scorers: PairScorer
    weights: LinkWeights | None
    candidates: CandidatePairs
    i: Int64Array
    j: Int64Array
    scores: Float64Array
    least: float
    groups: Callable[[], Int64Array]
    labels: PairLabels = NO_LABELS

    def text(self, pair: PairScore, verdict: Sequence[str] = ()) -> str:
        """Return ids, score and verdict, and both values and the score of each field, as lines."""
        lines = [
            f"{self._ids(pair.rows)}: {self._score(pair.score)}",
            *(f"  {line}" for line in verdict),
        ]
        for field in self.compared(pair):
            line = f"  {field.name:<20}{field.score:>+8.2f}  {field.how}"
            if field.values is not None:
                line += ": " + " | ".join(
                    "missing" if is_missing(value) else repr(value)
                    for value in field.values
                )
            lines.append(line)
        return "\n".join(map(visible, lines))

    def compared(self, pair: PairScore) -> list[ComparedField]:
        """Return how the records of a pair compare, field by field."""
        i, j = (np.array([row], np.int64) for row in pair.rows)
        fields = []
        for part, scorer in zip(pair.parts.tolist(), self.scorers, strict=True):
            coded = scorer.comparer.coded
            values = (
                self.values(coded, pair.rows)
                if coded.field.name in self.linkage.fields
                else None
            )
            how = scorer.explained(i, j)[0]
            fields.append(ComparedField(coded.field.name, part, how, values))
        return fields

    def values(self, coded: CodedField, rows: tuple[int, int]) -> tuple[Any, Any]:
        """Return the values of two records in a field, as they are written."""
        left, right = self.columns(coded)
        return plain_value(left[rows[0]]), plain_value(right[rows[1]])

    def columns(self, coded: CodedField) -> tuple[Any, Any]:
        """Return the columns of a field in both tables."""
        first, second = self.tables
        return first.column(coded.field.column_of(0)), second.column(
            coded.field.column_of(1)
        )

    def probability(self, score: float) -> float | None:
        """Return the probability of a match of a pair with a score; None for points."""
        return None if self.weights is None else float(self.weights.probability(score))

    def score(self, rows: tuple[int, int]) -> PairScore:
        """Return the score of any two records."""
        i, j = (np.array([row], np.int64) for row in rows)
        parts = self.scorers.parts((i, j))[0]
        return PairScore(rows, float(parts.sum()), parts)

    def verdict(self, pair: PairScore) -> list[str]:
        """Return why two records were linked or not, as lines."""
        least = self.least
        reaches = pair.score >= self.least
        compared = f"the score is {'at least' if reaches else 'below'} the threshold of {least:.2f}"
        rules = self._rules(pair.rows)
        mark = self.labels.answer(pair.rows)
        if mark is not None:
            linked = "linked" if mark == "same" else "not linked"
            lines = [f"{linked}: the pair is marked {mark}", compared]
            return (
                lines
                if rules is None
                else [*lines, f"compared because of {', '.join(rules)}"]
            )
        if rules is None:
            lines = [
                "not linked: no blocking rule brought this pair, so it was not compared",
                compared,
            ]
            skipped = sum(report.skipped for report in self.candidates.reports)
            if skipped:
                lines.append(
                    f"the rules left out {counted(skipped, 'block')} above the cap"
                )
            return [*lines, *self._group(pair.rows)]
        brought = f"compared because of {', '.join(rules)}"
        if ((self.i == pair.rows[0]) & (self.j == pair.rows[1])).any():
            return [f"linked: {compared}", brought]
        if not reaches:
            return [f"not linked: {compared}", brought, *self._group(pair.rows)]
        rivals = self._rivals(pair.rows)
        why = (
            "other links were better"
            if rivals
            else "several other pairs of these records are as good"
        )
        return [f"not linked, although {compared}: {why}", brought, *rivals]

    @property
    def tables(self) -> tuple[RecordTable, RecordTable]:
        """The two tables; for links within one table, both are this one."""
        a = self.linkage.a
        b = self.linkage.b
        return a, a if b is None else b

    def _ids(self, rows: tuple[int, int]) -> str:
        first, second = self.tables
        return f"{first.ids[rows[0]]} - {second.ids[rows[1]]}"

    def _score(self, score: float) -> str:
        """Return a score with its unit, and the probability of a match."""
        probability = self.probability(score)
        return (
            f"{score:.2f} points"
            if probability is None
            else f"{score:.2f} bits, probability {probability:.4f}"
        )

    def _rules(self, rows: tuple[int, int]) -> list[str] | None:
        """Return the rules that brought a pair; None if it was not compared."""
        candidates = self.candidates
        place = np.uint64(rows[0] * self.linkage.sizes[1] + rows[1])
        at = int(np.searchsorted(candidates.places, place))
        if at == len(candidates) or candidates.places[at] != place:
            return None
        mask = candidates.masks[at : at + 1]
        return [
            report.rule
            for rule, report in enumerate(candidates.reports)
            if rules_of(mask, rule)[0]
        ]

    def _group(self, rows: tuple[int, int]) -> list[str]:
        """Return a line if two records of one table are in one group."""
        if self.linkage.b is not None:
            return []
        groups = self.groups()
        return (
            ["links to other records put both in one group"]
            if groups[rows[0]] == groups[rows[1]]
            else []
        )

    def _rivals(self, rows: tuple[int, int]) -> list[str]:
        """Return the best links of two records to others as lines."""
        shares_record = (self.i == rows[0]) | (self.j == rows[1])
        if self.linkage.b is None:
            shares_record |= (self.i == rows[1]) | (self.j == rows[0])
        rivals = np.flatnonzero(shares_record)
        best = rivals[np.argsort(-self.scores[rivals], kind="stable")][:SHOWN_LINKS]
        return [
            f"linked instead: {self._ids((int(self.i[link]), int(self.j[link])))}, "
            f"{self._score(self.scores[link])}"
            for link in best.tolist()
        ]
