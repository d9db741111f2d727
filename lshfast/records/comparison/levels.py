"""Comparison of values: levels of agreement, and numbers of edits, by rapidfuzz for strings.

All functions here take the codes of values, so that two values are compared once however many
records have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.extras import optional
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.comparison.exchanged import Exchange
from lshfast.records.comparison.full_names import FullNames, have_several_words
from lshfast.records.comparison.letters import Letters, compared, jaro_winkler
from lshfast.records.comparison.nearness import (
    EXACT_LEVEL,
    LEVELS,
    MISSING_LEVEL,
    FieldLevels,
)
from lshfast.records.comparison.overlap import TextSimilarity, distinct_counts
from lshfast.records.comparison.synonyms import Synonyms, words_of
from lshfast.records.distinct import distinct_numbers
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.fields import Kind
from lshfast.records.values.dates import digits_of
from lshfast.records.values.strings import LONG

# Kinds whose values have similarities.
GRADED: tuple[Kind, ...] = ("name", "text", "number")
LEAST_SIMILAR_NAMES = LEVELS["name"][1][-1]
MOST_EDITS = int(LEVELS["code"][1][-1])  # of codes that are close


class Agreement(NamedTuple):
    """How pairs of values compare.

    Attributes
    ----------
    levels : ndarray of uint8, shape (pairs,)
    similarities : ndarray of float32, shape (pairs,), or None
        Those of different names, texts or numbers; see `FieldComparer.similarities`. None for other
        kinds.
    """

    levels: npt.NDArray[np.uint8]
    similarities: npt.NDArray[np.float32] | None


class FieldComparer:
    """Compare values of one field by their codes.

    Parameters
    ----------
    coded : CodedField
    synonyms : Synonyms
        Used for names and texts.
    threads : int
    """

    coded: CodedField
    field_levels: FieldLevels
    labels: tuple[str, ...]

    def __init__(self, coded: CodedField, synonyms: Synonyms, threads: int = 1) -> None:
        self.coded = coded
        self._synonyms = synonyms
        self._threads = threads
        self.field_levels = FieldLevels.of(coded)
        self.labels = self.field_levels.labels
        self.exchanges: list[Exchange] = []
        values = coded.values
        self._has_synonym: BoolArray | None = None
        canonical = values
        if coded.kind in ("name", "text") and len(synonyms):
            words = words_of(values)
            self._has_synonym = synonyms.known_among(words)
            canonical = synonyms.canonical_forms(values, words)
        if coded.kind == "text":
            counts = distinct_counts(coded.codes, len(values))
            self._texts = TextSimilarity(canonical, counts, threads)
        self._names: FullNames | None = None
        if coded.kind == "name" and have_several_words(values):
            self._names = FullNames(canonical, LONG, threads)
        self._values = np.fromiter(values, object, len(values))
        self._long = np.fromiter(map(len, values), np.int64, len(values)) > LONG
        self._beginnings = self._values
        if self._long.any():
            beginnings = (value[:LONG] for value in values)
            self._beginnings = np.fromiter(beginnings, object, len(values))

    @cached_property
    def _letters(self) -> Letters:
        """The letters of the beginnings of the values."""
        return Letters(self._beginnings.tolist())

    @cached_property
    def _digits(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The years, months and days of dates."""
        return digits_of(self.coded.values)

    def levels(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """Return the levels of pairs of codes; codes may be equal or -1."""
        return self._agreement(a, b, graded=False).levels

    def levels_of_rows(self, i: Int64Array, j: Int64Array) -> npt.NDArray[np.uint8]:
        """Return the levels of pairs of rows, also if values are exchanged with another field."""
        levels = self.levels(*self.coded.codes_of(i, j))
        if self.exchanges:
            different = np.flatnonzero(levels > EXACT_LEVEL)
            i = i[different]
            j = j[different]
        for exchange in self.exchanges:
            level = EXACT_LEVEL + 1 if exchange.counts else MISSING_LEVEL
            levels[different[exchange.holds(i, j)]] = level
        return levels

    def agreement(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Agreement:
        """Return the levels and similarities of pairs of codes; equal pairs are compared once."""
        return self._agreement(a, b, graded=self.coded.kind in GRADED)

    def _agreement(
        self, a: npt.NDArray[Any], b: npt.NDArray[Any], graded: bool
    ) -> Agreement:
        levels = np.full(len(a), len(self.labels) - 1, np.uint8)
        similarities = np.zeros(len(a), np.float32) if graded else None
        levels[a == b] = EXACT_LEVEL
        missing = (a < 0) | (b < 0)
        levels[missing] = MISSING_LEVEL
        open_pairs = np.flatnonzero(~missing & (a != b))
        if self.coded.kind in ("name", "code", "phone"):
            open_pairs = open_pairs[self._may_be_near(a[open_pairs], b[open_pairs])]
        if len(open_pairs) and self.coded.kind != "category":
            first, second, place = self._distinct(a[open_pairs], b[open_pairs])
            similar = self._similarities(first, second) if graded else None
            levels[open_pairs] = self._levels(first, second, similar)[place]
            if similarities is not None and similar is not None:
                similarities[open_pairs] = similar[place]
        return Agreement(levels, similarities)

    def _may_be_near(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> BoolArray:
        """Return which pairs of different names or codes may be close, by their letters."""
        if self.coded.kind != "name":
            may_be_near = self._letters.least_edits(a, b) <= MOST_EDITS
            return np.asarray(may_be_near | self._long[a] | self._long[b])
        if self._names is not None:
            is_comparable = self._names.comparable(a, b)
            return (
                self._names.may_be_similar(a, b, LEAST_SIMILAR_NAMES) | ~is_comparable
            )
        may_be_near = self._letters.may_be_similar(a, b, LEAST_SIMILAR_NAMES)
        if self._has_synonym is not None:
            may_be_near |= self._has_synonym[a] & self._has_synonym[b]
        return may_be_near

    def similarities(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Float64Array:
        """Return the similarities of pairs of different codes of a name, text or number, in [0, 1].

        Those of names are 0 below .75. Those of numbers are 1 less the difference, relative to the
        greater one or, of crowded numbers, to the unit of their limits; at least 0.
        """
        first, second, place = self._distinct(a, b)
        return self._similarities(first, second)[place].astype(np.float64)

    def edits(
        self,
        a: npt.NDArray[Any],
        b: npt.NDArray[Any],
        unit: float | None,
        most: int | None = None,
    ) -> Float64Array:
        """Return the differences of pairs of codes in edits; 0 for equal codes, NaN if one is -1.

        Strings: the least number of insertions, deletions and replacements of characters and
        exchanges of neighbouring characters; a word that a synonym replaces is one edit. In strings
        of more than 1,000 characters, an exchange is two edits, synonyms do not count, and more
        than 1,000 edits count as 1,001. If `most` is given, more than `most` edits count as any
        number above it, which takes less time. Numbers and dates: the difference in units.
        Categories: infinite.
        """
        edits = np.zeros(len(a), np.float64)
        missing = (a < 0) | (b < 0)
        edits[missing] = np.nan
        open_pairs = np.flatnonzero(~missing & (a != b))
        if len(open_pairs):
            first, second, place = self._distinct(a[open_pairs], b[open_pairs])
            edits[open_pairs] = self._edits(first, second, unit, most)[place]
        return edits

    def _distinct(
        self, a: npt.NDArray[Any], b: npt.NDArray[Any]
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return the distinct pairs of codes, smaller code first, and the place of each pair."""
        count = max(1, len(self.coded.values))
        low = np.minimum(a, b).astype(np.int64)
        high = np.maximum(a, b)
        keys, place = distinct_numbers(low * count + high)
        first, second = np.divmod(keys, count)
        return first, second, place

    def _levels(
        self, a: Int64Array, b: Int64Array, similarities: npt.NDArray[np.float32] | None
    ) -> npt.NDArray[np.uint8]:
        """Return the levels of different values, from similarities of names and texts if given."""
        kind = self.coded.kind
        limits = self.field_levels.limits
        if kind in ("name", "text"):
            if similarities is None:
                similarities = self._similarities(a, b)
            steps = np.array(limits[::-1], np.float32)
            reached = np.searchsorted(steps, similarities, side="right")
            levels = len(self.labels) - 1 - reached
        elif kind in ("code", "phone"):
            levels = 1 + np.minimum(self._osa(a, b, MOST_EDITS), MOST_EDITS + 1)
        elif kind == "date":
            levels = self._levels_of_dates(a, b)
        else:
            differences = self._difference_in_units(a, b)
            levels = 2 + np.searchsorted(limits, differences, side="left")
        return levels.astype(np.uint8)

    def _levels_of_dates(self, a: Int64Array, b: Int64Array) -> Int64Array:
        """Return the levels of different dates: by days, but for typing errors."""
        days = self._difference(a, b)
        is_typing_error = (self._osa(a, b, 1) <= 1) | self._exchanged(a, b)
        finer = self.field_levels.days
        by_days = 1 + np.searchsorted(self.field_levels.limits, days, side="left")
        levels = 2 + len(finer) + np.where(is_typing_error, 0, by_days)
        finer_level = np.searchsorted(finer, days, side="left")
        return np.where(finer_level < len(finer), 2 + finer_level, levels)

    def _similarities(self, a: Int64Array, b: Int64Array) -> npt.NDArray[np.float32]:
        """Return similarities of names, texts or numbers; of names, 0 below the last limit."""
        if self.coded.kind == "text":
            return self._texts.of(a, b)
        if self.coded.kind == "number":
            nearness = np.maximum(0.0, 1 - self._difference_in_units(a, b))
            return nearness.astype(np.float32)
        least = LEAST_SIMILAR_NAMES
        similarities = np.zeros(len(a), np.float32)
        rows = np.arange(len(a), dtype=np.int64)
        names = self._names
        if names is not None:
            is_comparable = names.comparable(a, b)
            by_word = rows[is_comparable]
            by_word = by_word[names.may_be_similar(a[by_word], b[by_word], least)]
            similarities[by_word] = names.similarities(a[by_word], b[by_word], least)
            rows = rows[~is_comparable]
        similarities[rows] = self._whole_similarities(a[rows], b[rows])
        return similarities

    def _whole_similarities(
        self, a: Int64Array, b: Int64Array
    ) -> npt.NDArray[np.float32]:
        """Return similarities of whole names; of nicknames at least the first limit."""
        least = LEAST_SIMILAR_NAMES
        similarities = np.zeros(len(a), np.float32)
        places = np.flatnonzero(self._letters.may_be_similar(a, b, least))
        first = self._beginnings[a[places]]
        second = self._beginnings[b[places]]
        similarities[places] = jaro_winkler(first, second, least, self._threads)
        scorer = optional("rapidfuzz.distance", "records").JaroWinkler
        for place, name, other, _ in self._rewritten(a, b):
            similarity = LEVELS["name"][1][0]
            if name != other:
                similarity = scorer.normalized_similarity(name, other)
            similarities[place] = max(similarities[place], similarity)
        return similarities

    def _edits(
        self, a: Int64Array, b: Int64Array, unit: float | None, most: int | None
    ) -> Float64Array:
        kind = self.coded.kind
        if kind == "category":
            return np.full(len(a), np.inf)
        if kind == "number" and unit is None:
            return 100 * self._relative(a, b)
        if kind in ("number", "date", "age"):
            with np.errstate(over="ignore"):
                units = self._difference(a, b) / (1.0 if unit is None else unit)
            return np.minimum(units, np.finfo(np.float64).max)
        edits = self._osa(a, b, most).astype(np.float64)
        distance = optional("rapidfuzz.distance", "records").OSA.distance
        for place, first, second, replaced in self._rewritten(a, b):
            changes = replaced + distance(first, second, score_cutoff=most)
            edits[place] = min(edits[place], changes)
        return edits

    def _rewritten(
        self, a: Int64Array, b: Int64Array
    ) -> list[tuple[int, str, str, int]]:
        """Return pairs in which synonyms replace words: place, both strings, replacements."""
        if self._has_synonym is None:
            return []
        rewritten = []
        may_change = self._has_synonym[a] & self._has_synonym[b]
        may_change &= ~self._long[a] & ~self._long[b]
        for at in np.flatnonzero(may_change).tolist():
            first = self._values[a[at]]
            second = self._values[b[at]]
            changed, count = self._synonyms.rewritten(first, second)
            if count:
                rewritten.append((at, changed, second, count))
        return rewritten

    def _osa(self, a: Int64Array, b: Int64Array, most: int | None) -> npt.NDArray[Any]:
        """Return numbers of edits; beyond `most`, they are `most` + 1.

        Of long values, an exchange is two edits, and there are at most `LONG` + 1: more would take
        quadratic time.
        """
        distances = optional("rapidfuzz.distance", "records")
        long = self._long[a] | self._long[b]
        if most is None:
            edits = np.zeros(len(a), np.int64)
            short = ~long
        else:
            edits = np.full(len(a), most + 1, np.int64)
            short = ~long & (self._letters.least_edits(a, b) <= most)
        long_cutoff = LONG if most is None else min(most, LONG)
        for is_compared, scorer, cutoff in (
            (short, distances.OSA.distance, most),
            (long, distances.Levenshtein.distance, long_cutoff),
        ):
            rows = np.flatnonzero(is_compared)
            if len(rows):
                first = self._values[a[rows]]
                second = self._values[b[rows]]
                edits[rows] = compared(scorer, first, second, cutoff, self._threads)
        return edits

    def _difference(self, a: Int64Array, b: Int64Array) -> Float64Array:
        """Return the differences of numbers, of ages in years, or of dates in days."""
        numbers = self.coded.numbers
        assert numbers is not None
        with np.errstate(over="ignore"):
            return np.asarray(np.abs(numbers[a] - numbers[b]))

    def _difference_in_units(self, a: Int64Array, b: Int64Array) -> Float64Array:
        """Return the differences of ages in years, of numbers in the unit of their limits."""
        unit = self.field_levels.unit
        if self.coded.kind == "number" and unit is None:
            return self._relative(a, b)
        return self._difference(a, b) / (unit or 1.0)

    def _relative(self, a: Int64Array, b: Int64Array) -> Float64Array:
        """Return the differences of numbers relative to the greater absolute value."""
        numbers = self.coded.numbers
        assert numbers is not None
        largest = np.maximum(np.abs(numbers[a]), np.abs(numbers[b]))
        with np.errstate(over="ignore"):
            differences = np.abs(numbers[a] / largest - numbers[b] / largest)
        return np.asarray(differences)

    def _exchanged(self, a: Int64Array, b: Int64Array) -> BoolArray:
        """Return whether dates differ by exchanged days and months."""
        year, month, day = self._digits
        return np.asarray(
            (year[a] == year[b]) & (month[a] == day[b]) & (day[a] == month[b])
        )


def connect_exchanged(comparers: Sequence[FieldComparer]) -> None:
    """Let the comparers of names know with which other names theirs may be exchanged."""
    names = [comparer for comparer in comparers if comparer.coded.kind == "name"]
    for first, second in combinations(names, 2):
        exchange = Exchange.of(first.coded, second.coded, True)
        counterpart = Exchange.of(second.coded, first.coded, False)
        if exchange is not None and counterpart is not None:
            first.exchanges.append(exchange)
            second.exchanges.append(counterpart)
    for comparer in names:
        if any(exchange.counts for exchange in comparer.exchanges):
            comparer.field_levels = comparer.field_levels.with_exchanged()
            comparer.labels = comparer.field_levels.labels
