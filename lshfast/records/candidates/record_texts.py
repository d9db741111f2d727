"""Whole records as texts: the values of all fields one after the other, and the nearest texts.

The names of fields, and how values are divided among them, make no difference here. So whole
records show which records may be the same before anything is known of the fields.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.comparison.overlap import (
    TermVectors,
    TextSimilarity,
    distinct_counts,
)
from lshfast.records.distinct import distinct_rows
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.distinct_values import encoded
from lshfast.records.tables.fields import Field
from lshfast.shingling import shingle
from lshfast.tokens import TokenSets

# Products of two weights for the cosines of one rule: in all, and more for each text. Beyond, the
# terms of most texts are left out; they weigh least.
PRODUCTS = 200_000_000
PRODUCTS_A_TEXT = 2_000
WRITTEN_TERMS = "words as written", "trigrams as written"


class RecordTexts:
    """The values of some fields as one text a record.

    Parameters
    ----------
    coded : list of CodedField
    single : bool
        Whether the fields belong to one table.
    threads : int

    Attributes
    ----------
    texts : list of str
        The different texts.
    places : list of ndarray of int64
        For each table and row the number of its text, -1 if all its values are missing.
    """

    def __init__(self, coded: list[CodedField], single: bool, threads: int) -> None:
        self.places, self.texts = joined_values(coded)
        self._single = single
        self._threads = threads

    @property
    def numbers(self) -> list[Int64Array]:
        """The numbers of the texts of each table, ascending."""
        return [
            np.flatnonzero(np.bincount(place[place >= 0], minlength=len(self.texts)))
            for place in self.places
        ]

    @cached_property
    def similarity(self) -> TextSimilarity:
        """The similarities of the texts."""
        tables = self.places[:1] if self._single else self.places
        return TextSimilarity(
            self.texts, distinct_counts(tables, len(self.texts)), self._threads
        )

    def compared(
        self, i: Int64Array, j: Int64Array
    ) -> tuple[Float64Array, Float64Array]:
        """Return the cosines (pairs, 3) of pairs of rows, and their similarities in [0, 1].

        The cosines compare trigrams, words and numbers; see `TextSimilarity`. All are 0 if a
        record has no values.
        """
        both, a, b = pairs_of_texts(self.places, i, j)
        cosines = np.zeros((len(i), 3))
        similarities = np.zeros(len(i))
        parts = self.similarity.cosines(a, b)
        cosines[both] = np.stack(parts, axis=1)
        similarities[both] = self.similarity.joined(a, b, *parts)
        return cosines, similarities

    def nearest(
        self, neighbors: int, sample: Int64Array | None = None
    ) -> tuple[Int64Array, Int64Array]:
        """Return pairs of different texts (left, right), one of them near the other.

        Left is a text of the first table, and right one of the second, by cosines of trigrams. With
        `sample`, only the nearest of these texts of the first table and of their nearest count.
        """
        trigrams = self.similarity.trigrams
        first = self.numbers[0]
        second = self.numbers[-1]
        terms = self._affordable_terms(first, second)
        sought = first if sample is None else sample
        lefts, right = trigrams.nearest(sought, second, terms, neighbors)
        if sample is None and self._single:
            return lefts, right
        if sample is not None:
            second = second[np.isin(second, np.concatenate([sample, right]))]
        more_right, more_left = trigrams.nearest(second, first, terms, neighbors)
        return np.concatenate([lefts, more_left]), np.concatenate([right, more_right])

    def nearest_between(
        self, first: Int64Array, second: Int64Array, neighbors: int
    ) -> tuple[Int64Array, Int64Array]:
        """Return the same for texts of two lists, by their numbers, in any order of the tables."""
        trigrams = self.similarity.trigrams
        terms = self._affordable_terms(first, second)
        lefts, right = trigrams.nearest(first, second, terms, neighbors)
        more_right, more_left = trigrams.nearest(second, first, terms, neighbors)
        return np.concatenate([lefts, more_left]), np.concatenate([right, more_right])

    def _affordable_terms(self, first: Int64Array, second: Int64Array) -> BoolArray:
        """Return which terms are compared between texts of two lists."""
        trigrams = self.similarity.trigrams
        return _affordable(
            trigrams.frequencies(first), trigrams.frequencies(second), len(self.texts)
        )


class WrittenTexts:
    """Records of two tables as they are written, with punctuation and the case of letters.

    Normal forms leave both out, but they distinguish words with the same letters: `*args` is
    another word than `args`.

    Parameters
    ----------
    coded : list of CodedField
        Their values are as they are written.
    threads : int

    Attributes
    ----------
    places : list of ndarray of int64
        For each table and row the number of its text, -1 if all its values are missing.
    """

    def __init__(self, coded: list[CodedField], threads: int) -> None:
        self.places, texts = joined_values(coded)
        counts = distinct_counts(self.places, len(texts))
        # Lone surrogates, which no hash takes, become question marks.
        valid_texts = (
            text if text.isascii() else text.encode("utf-8", "replace").decode()
            for text in texts
        )
        words = [text.split() for text in valid_texts]
        spaced = [*map(" ".join, words)]
        numbers = encoded([[*chain.from_iterable(words)]])[0][0]
        offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
        tokens = TokenSets(offsets, numbers.astype(np.uint64))
        self._words = TermVectors(tokens, counts, threads)
        self._trigrams = TermVectors(
            shingle(spaced, "char", 3, threads=threads), counts, threads
        )

    def cosines(self, a: Int64Array, b: Int64Array) -> Float64Array:
        """Return the cosines of words between white space, and of trigrams, of pairs of texts.

        Parameters
        ----------
        a, b : ndarray of int64, shape (pairs,)
            Numbers of texts.

        Returns
        -------
        ndarray of float64, shape (pairs, 2)
        """
        cosines = [self._words.cosines(a, b), self._trigrams.cosines(a, b)]
        return np.stack(cosines, axis=1).astype(np.float64)

    def compared(self, i: Int64Array, j: Int64Array) -> Float64Array:
        """Return the same for pairs of rows; 0 if a record has no values."""
        both, a, b = pairs_of_texts(self.places, i, j)
        cosines = np.zeros((len(i), 2))
        cosines[both] = self.cosines(a, b)
        return cosines


class RecordComparer:
    """Compare whole records by the codes of their texts.

    Parameters
    ----------
    texts : RecordTexts
    written : WrittenTexts or None
        The same records as they are written; None if only normal forms are compared. Otherwise,
        records with different writings have different codes.
    names : container of str
        Names of the fields.

    Attributes
    ----------
    coded : CodedField
        The texts as one more field, with the name `NAME`, and underscores after it if it is the
        name of a field.
    """

    NAME = "all_fields"

    def __init__(
        self, texts: RecordTexts, written: WrittenTexts | None, names: Container[str]
    ) -> None:
        name = self.NAME
        while name in names:
            name += "_"
        numbers = [np.concatenate(texts.places)]
        if written is not None:
            numbers.append(np.concatenate(written.places))
        where, place = distinct_rows(numbers)
        distinct = np.stack([column[where] for column in numbers], axis=1)
        codes = place.astype(np.int32)
        if len(distinct) and distinct[0, 0] < 0:  # records without values sort first
            distinct = distinct[1:]
            codes = codes - 1
        self._numbers = distinct
        first, second = np.split(codes, [len(texts.places[0])])
        values = [texts.texts[number] for number in distinct[:, 0].tolist()]
        self.coded = CodedField(
            Field(name, kind="text"), (first, second), values, None, (0, 0)
        )
        self._similarity = texts.similarity
        self._written = written

    @property
    def numbered(self) -> BoolArray:
        """Whether each text has words with digits."""
        return self._similarity.numbered[self._numbers[:, 0]]

    @property
    def terms(self) -> tuple[str, ...]:
        """What the cosines compare."""
        return (
            "trigrams",
            "words",
            "numbers",
            *([] if self._written is None else WRITTEN_TERMS),
        )

    def cosines(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Float64Array:
        """Return the cosines of pairs of codes; float64 (pairs, terms)."""
        first = self._numbers[a]
        second = self._numbers[b]
        columns = self._similarity.cosines(first[:, 0], second[:, 0])
        cosines = np.stack(columns, axis=1).astype(np.float64)
        if self._written is None:
            return cosines
        return np.column_stack(
            [cosines, self._written.cosines(first[:, 1], second[:, 1])]
        )


def _affordable(first: Int64Array, second: Int64Array, texts: int) -> BoolArray:
    """Return which terms have few enough products in all, rare terms first, by frequencies."""
    products = first.astype(np.float64) * second
    order = np.argsort(products, kind="stable")
    few = np.cumsum(products[order], dtype=np.float64) <= max(
        PRODUCTS, PRODUCTS_A_TEXT * texts
    )
    affordable = np.zeros(len(products), bool)
    affordable[order[few & (products[order] > 0)]] = True
    return affordable


def pairs_of_texts(
    places: list[Int64Array], i: Int64Array, j: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return which pairs of rows have two texts, by their index, and the numbers of these texts."""
    a = places[0][i]
    b = places[1][j]
    both = np.flatnonzero((a >= 0) & (b >= 0))
    return both, a[both], b[both]


def joined_values(coded: list[CodedField]) -> tuple[list[Int64Array], list[str]]:
    """Return the number of each row's joined values, for each table, and the distinct ones.

    A missing value is left out; a row without any value has the number -1.
    """
    if len(coded) == 1:
        return [codes.astype(np.int64) for codes in coded[0].codes], coded[0].values
    columns = [np.concatenate(field.codes) for field in coded]
    where, place = distinct_rows(columns)
    values = [
        map([*field.values, ""].__getitem__, codes[where].tolist())
        for field, codes in zip(coded, columns, strict=True)
    ]
    texts = [" ".join(filter(None, row)) for row in zip(*values, strict=True)]
    if texts and not texts[0]:  # -1 in all fields sorts first
        place = place - 1
        texts = texts[1:]
    return np.split(place, [len(coded[0].codes[0])]), texts
