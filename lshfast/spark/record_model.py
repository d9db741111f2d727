"""A model of records that workers can use: what was learnt from a sample, for any records.

Values are numbered as in the sample, and new ones behind them. So all that was learnt for a value
of the sample holds, and a value that the sample does not have weighs as its rarest ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from lshfast._common.types import Int32Array
from lshfast.records.comparison.exchanged import Exchange
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.nearness import EXACT_LEVEL, FieldLevels
from lshfast.records.comparison.synonyms import Synonyms
from lshfast.records.link_run import LinkRun
from lshfast.records.links.decision import among_unmatched
from lshfast.records.links.scoring import (
    IndependentFields,
    PairScorer,
    PointsScorer,
    WeightScorer,
)
from lshfast.records.tables.coded_fields import CodedField, written_values
from lshfast.records.tables.distinct_values import (
    MISSING,
    distinct_texts,
    has_whole_decimals,
)
from lshfast.records.tables.record_table import RecordTable, field_columns
from lshfast.records.values.forms import Reader, latin_texts, numbers_of, readers_of
from lshfast.records.weights.fellegi_sunter import FieldWeights, LinkWeights
from lshfast.records.weights.network import Network

# Between the values of a key of several fields; normal forms do not have it.
SEPARATOR = "\x1f"


@dataclass(frozen=True)
class FieldReading:
    """A field as the sample has it.

    Attributes
    ----------
    coded : CodedField
        With its values, and without the rows of the sample.
    readers : tuple of Reader
        For each side of a pair, what gives normal forms.
    markers : frozenset of str
        Strings that stand for a missing value.
    missing_forms : frozenset of str
        Their normal forms, as far as no other string of the sample has them.
    columns : tuple of str
        The column of each side.
    are_whole : tuple of bool
        Whether decimals that end in .0 are whole numbers, for each side.
    """

    coded: CodedField
    readers: tuple[Reader, ...]
    markers: frozenset[str]
    missing_forms: frozenset[str]
    columns: tuple[str, str]
    are_whole: tuple[bool, bool]

    @classmethod
    def of(cls, coded: CodedField, tables: Sequence[RecordTable]) -> FieldReading:
        """Return how a field of the tables of the sample is read."""
        markers = frozenset(marker.value for marker in coded.markers)
        readers = [
            reader
            for reader, _ in readers_of(coded.field, _read(coded, markers, tables))
        ]
        forms = {form for reader in readers for form in reader([*markers])}
        once = np.arange(len(coded.values), dtype=np.int32)
        second = coded.field.column_of(len(tables) - 1)
        are_whole = [
            has_whole_decimals(column, _rewrite_of(coded))
            for column in field_columns(coded.field, tables)
        ]
        return cls(
            replace(coded, codes=(once, once)),
            (readers[0], readers[-1]),
            markers,
            frozenset(forms.difference(coded.values)),
            (coded.field.name, second),
            (are_whole[0], are_whole[-1]),
        )

    @property
    def name(self) -> str:
        """The name of the field."""
        return self.coded.field.name

    def forms(self, column: Any, side: int) -> tuple[Int32Array, list[str]]:
        """Return the number of each row's normal form, -1 if it is missing, and the forms.

        Forms may be empty, which stands for a missing value, too.
        """
        (codes,), strings = distinct_texts(
            [column], _rewrite_of(self.coded), self.are_whole[side]
        )
        readable = [
            place
            for place, text in enumerate(strings)
            if text.strip() and text not in self.markers
        ]
        forms = [""] * len(strings)
        texts = [strings[place] for place in readable]
        for place, form in zip(readable, self.readers[side](texts), strict=True):
            if form not in self.missing_forms:
                forms[place] = form
        return codes.astype(np.int32), forms

    def coded_rows(self, columns: tuple[Any, Any]) -> CodedField:
        """Return the field with the values of rows of both sides."""
        code_of = {value: code for code, value in enumerate(self.coded.values)}
        known = len(code_of)
        code_of[""] = MISSING
        codes = []
        for side, column in enumerate(columns):
            numbers, forms = self.forms(column, side)
            for form in forms:
                code_of.setdefault(form, len(code_of) - 1)
            of_form = [*(code_of[form] for form in forms), MISSING]
            codes.append(np.array(of_form, np.int32)[numbers])
        del code_of[""]
        new_values = [*code_of][known:]
        values_as_numbers = self.coded.numbers
        if values_as_numbers is not None and new_values:
            new_numbers = numbers_of(self.coded.field, new_values)
            assert new_numbers is not None
            values_as_numbers = np.concatenate([values_as_numbers, new_numbers])
        return replace(
            self.coded,
            codes=(codes[0], codes[1]),
            values=[*self.coded.values, *new_values],
            numbers=values_as_numbers,
        )


def _rewrite_of(coded: CodedField) -> Callable[[Sequence[str]], list[str]] | None:
    return latin_texts if coded.field.latin else None


def _read(
    coded: CodedField, markers: frozenset[str], tables: Sequence[RecordTable]
) -> list[list[str]]:
    """Return the strings of each table that are read; of ages, each as often as it occurs."""
    codes, strings = written_values(coded.field, tables)
    texts_of_tables = []
    for table_codes in codes:
        counts = np.bincount(table_codes + 1, minlength=len(strings) + 1)[1:]
        texts: list[str] = []
        for place in np.flatnonzero(counts).tolist():
            text = strings[place]
            if text.strip() and text not in markers:
                times = int(counts[place]) if coded.kind == "age" else 1
                texts += [text] * times
        texts_of_tables.append(texts)
    return texts_of_tables


@dataclass(frozen=True)
class ScoredField:
    """A field that is scored.

    Attributes
    ----------
    model : FieldReading
    levels : FieldLevels
    exchanged : frozenset of str
        The fields with which its values may be exchanged.
    """

    model: FieldReading
    levels: FieldLevels
    exchanged: frozenset[str]


@dataclass(frozen=True)
class RecordModel:
    """What was learnt from a sample, for records that may not be in it.

    Attributes
    ----------
    fields : list of ScoredField
        In the order of the scorers.
    key_fields : dict of str to FieldReading
        The fields of the rules, by their names.
    rules : list of tuple of str
        The fields of each rule, all of which must be equal.
    scorers : PairScorer
        Without comparers.
    weights : LinkWeights or None
        None for points.
    least : float
        The least score of a link.
    synonyms : Synonyms
    """

    fields: list[ScoredField]
    key_fields: dict[str, FieldReading]
    rules: list[tuple[str, ...]]
    scorers: PairScorer
    weights: LinkWeights | None
    least: float
    synonyms: Synonyms

    @classmethod
    def of(cls, run: LinkRun) -> RecordModel:
        """Return what a run over a sample has learnt.

        Raises
        ------
        ValueError
            If it has learnt something that holds for the records of the sample only.
        """
        linkage = run.linkage
        models = {
            name: FieldReading.of(coded, linkage.tables)
            for name, coded in linkage.fields.items()
        }
        scorers = run.scores.scorers
        comparers = list[FieldComparer]()
        for scorer in scorers:
            comparer = scorer.comparer
            if not isinstance(comparer, FieldComparer):
                raise ValueError(
                    "these tables are matched by the similarity of whole records, which weights "
                    "words by all records; link them on one machine, or give scoring='points'"
                )
            if comparer.coded.kind == "text":
                name = comparer.coded.field.name
                raise ValueError(
                    f"field {name!r} is of kind text, whose words are weighted by all records; "
                    f"link the tables on one machine, give another kind ('{name}:name'), or leave "
                    "the field out (ignore)"
                )
            comparers.append(comparer)
        fields = [
            ScoredField(
                models[comparer.coded.field.name],
                comparer.field_levels,
                frozenset(exchange.other.field.name for exchange in comparer.exchanges),
            )
            for comparer in comparers
        ]
        rules = [rule.keys for rule in run.options.rules or ()]
        key_fields = {name: models[name] for rule in rules for name in rule}
        return cls(
            fields,
            key_fields,
            rules,
            _with_comparers(scorers, [None] * len(fields)),
            run.scores.weights,
            run.scores.least,
            run.task.synonyms,
        )

    def of_tables(self, sizes: Sequence[int]) -> RecordModel:
        """Return the model of whole tables, of which those of the run were samples."""
        weights = self.weights
        if weights is None or weights.unmatched_bits is None:
            return self
        first, second = sizes
        whole_weights = among_unmatched(weights, (first, second))
        least = self.least + weights.prior_bits - whole_weights.prior_bits
        return replace(self, weights=whole_weights, least=least)

    def columns(self, side: int) -> list[str]:
        """Return the columns of one side that are compared."""
        return list(dict.fromkeys(field.model.columns[side] for field in self.fields))

    def key_columns(self, side: int) -> list[str]:
        """Return the columns of one side that rules look at."""
        models = self.key_fields.values()
        return list(dict.fromkeys(model.columns[side] for model in models))

    def bound(self, sides: tuple[Any, Any]) -> PairScorer:
        """Return scorers of rows; each side is a mapping of columns."""
        comparers = list[FieldComparer]()
        for field in self.fields:
            columns = field.model.columns
            coded = field.model.coded_rows((sides[0][columns[0]], sides[1][columns[1]]))
            once = np.arange(len(coded.values), dtype=np.int32)
            comparer = FieldComparer(replace(coded, codes=(once, once)), self.synonyms)
            comparer.coded = coded
            comparer.field_levels = field.levels
            comparer.labels = field.levels.labels
            comparers.append(comparer)
        for first, second in combinations(range(len(comparers)), 2):
            if comparers[second].coded.field.name in self.fields[first].exchanged:
                _connect(comparers[first], comparers[second])
        return _with_comparers(self.scorers, comparers)


def _connect(first: FieldComparer, second: FieldComparer) -> None:
    """Let two comparers know that their values may be exchanged."""
    for comparer, other, counts in ((first, second, True), (second, first, False)):
        exchange = Exchange.of(comparer.coded, other.coded, counts)
        if exchange is not None:
            comparer.exchanges.append(exchange)


def _with_comparers(scorers: PairScorer, comparers: Sequence[Any]) -> PairScorer:
    """Return scorers with other comparers, whose further values weigh as the rarest ones."""
    if isinstance(scorers, Network):
        fields = [*map(_extended, scorers.weights.fields, comparers)]
        weights = replace(scorers.weights, fields=fields)
        return replace(scorers, comparers=comparers, weights=weights)
    new_scorers = list[Any]()
    for scorer, comparer in zip(scorers, comparers, strict=True):
        if isinstance(scorer, WeightScorer):
            field_weights = _extended(scorer.weights, comparer)
            new_scorers.append(
                replace(scorer, comparer=comparer, weights=field_weights)
            )
        else:
            assert isinstance(scorer, PointsScorer)
            new_scorers.append(replace(scorer, comparer=comparer))
    return IndependentFields(new_scorers)


def _extended(weights: FieldWeights, comparer: FieldComparer | None) -> FieldWeights:
    """Return weights for all values of a comparer."""
    if comparer is None or weights.value_bits is None:
        return weights
    new = len(comparer.coded.values) - len(weights.value_bits)
    rarest = max(weights.value_bits, default=weights.bits[EXACT_LEVEL])
    value_bits = np.concatenate([weights.value_bits, np.full(new, rarest, np.float64)])
    similar_values = weights.similar_values
    if similar_values is not None:
        similar_values = similar_values.extended(len(value_bits))
    return replace(weights, value_bits=value_bits, similar_values=similar_values)
