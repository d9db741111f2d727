"""Similarity of texts by their words and by their character trigrams, each weighted by its rarity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map, pieces
from lshfast.common.types import Float64Array, Int64Array
from lshfast.shingling import Unit, shingle

DIGIT = re.compile(r"\d")
PIECE_TERMS = 1 << 20  # terms of pairs that are compared at a time


class TermVectors:
    """Unit vectors of texts: for each distinct term, log(1 + N / n) if n of N texts have it.

    Parameters
    ----------
    texts : sequence of str
    unit : {"word", "char"}
    size : int
        Words or characters of a term.
    counts : ndarray of int64, shape (texts,)
        How many records have each text.
    threads : int

    Attributes
    ----------
    count : int
        The number of different terms.
    offsets : ndarray of int64, shape (texts + 1,)
        Where the terms of each text begin and end.
    terms : ndarray of int64
        The numbers of the terms of all texts, ascending in each text.
    weights : ndarray of float64
        The components of the unit vectors, in the order of `terms`.
    """

    def __init__(self, texts: Sequence[str], unit: Unit, size: int, counts: Int64Array, threads: int) -> None:
        sets = shingle(list(texts), unit, size, threads=threads).distinct()
        distinct, terms = np.unique(sets.tokens, return_inverse=True)
        self.offsets, self._threads, self.count = sets.offsets, threads, max(1, len(distinct))
        rows = np.repeat(np.arange(len(sets), dtype=np.int64), sets.counts)
        # The terms of each row, ascending.
        self.terms = np.sort(rows * self.count + terms.reshape(-1)) - rows * self.count
        having = np.bincount(self.terms, np.maximum(counts, 1)[rows], minlength=self.count)
        weights = np.log1p(np.maximum(counts, 1).sum() / np.maximum(having, 1))[self.terms]
        lengths = np.sqrt(np.bincount(rows, weights**2, minlength=max(1, len(sets))))
        self.weights = weights / lengths[rows]

    def cosines(self, a: Int64Array, b: Int64Array) -> npt.NDArray[np.float32]:
        """Return the cosines of pairs of texts, by their places."""
        counts = np.diff(self.offsets)
        found = np.zeros(len(a), np.float32)

        def work(rows: slice) -> None:
            found[rows] = self._some(a[rows], b[rows], counts)

        for _ in ordered_map(work, pieces(counts[a] + counts[b], PIECE_TERMS), self._threads):
            pass
        return found

    def _some(self, a: Int64Array, b: Int64Array, counts: Int64Array) -> Float64Array:
        first, first_keys = self._expanded(a, counts)
        second, second_keys = self._expanded(b, counts)
        if not len(first_keys) or not len(second_keys):
            return np.zeros(len(a))
        place = np.searchsorted(second_keys, first_keys)
        place[place == len(second_keys)] = 0
        both = second_keys[place] == first_keys
        products = self.weights[first[both]] * self.weights[second[place[both]]]
        return np.asarray(np.bincount(first_keys[both] // self.count, products, minlength=len(a)), np.float64)

    def _expanded(self, texts: Int64Array, counts: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the places of all terms of some texts, and keys of (text, term), ascending."""
        many = counts[texts]
        ends = np.cumsum(many, dtype=np.int64)
        places = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
        places += np.repeat(self.offsets[texts] - (ends - many), many)
        return places, np.repeat(np.arange(len(texts), dtype=np.int64), many) * self.count + self.terms[places]


class TextSimilarity:
    """The similarity of texts: the mean of the cosines of their words and of their character trigrams.

    If both texts have words with digits, the similarity is multiplied by (1 + c) / 2, with the cosine c of these words:
    the numbers of houses, parts and versions tell apart what is alike otherwise.

    Parameters
    ----------
    texts : sequence of str
        Different texts in normal form.
    counts : ndarray of int64, shape (texts,)
        How many records have each text.
    threads : int

    Attributes
    ----------
    trigrams : TermVectors
    numbered : ndarray of bool, shape (texts,)
        Whether each text has words with digits.
    """

    def __init__(self, texts: Sequence[str], counts: Int64Array, threads: int) -> None:
        numbers = [" ".join(filter(DIGIT.search, text.split())) for text in texts]
        self.numbered = np.fromiter(map(bool, numbers), bool, len(texts))
        terms: list[tuple[Sequence[str], Unit, int]] = [(texts, "char", 3), (texts, "word", 1), (numbers, "word", 1)]
        vectors = ordered_map(lambda kind: TermVectors(*kind, counts, threads), terms, threads)
        self.trigrams, self._words, self._numbers = vectors

    def cosines(
        self, a: Int64Array, b: Int64Array
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the cosines of the trigrams, of the words, and of the words with digits; these are 0 without any."""
        found = np.zeros(len(a), np.float32)
        numbered = np.flatnonzero(self.numbered[a] & self.numbered[b])
        found[numbered] = self._numbers.cosines(a[numbered], b[numbered])
        return self.trigrams.cosines(a, b), self._words.cosines(a, b), found

    def of(self, a: Int64Array, b: Int64Array) -> npt.NDArray[np.float32]:
        """Return the similarities of pairs of texts, by their places, in [0, 1]."""
        return self.joined(a, b, *self.cosines(a, b))

    def joined(
        self,
        a: Int64Array,
        b: Int64Array,
        trigrams: npt.NDArray[np.float32],
        words: npt.NDArray[np.float32],
        numbers: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.float32]:
        """Return the similarities of pairs of texts from their cosines."""
        found = (words + trigrams) / np.float32(2)
        numbered = self.numbered[a] & self.numbered[b]
        found[numbered] *= (1 + numbers[numbered]) / np.float32(2)
        return np.asarray(found, np.float32)


def distinct_counts(codes: Sequence[npt.NDArray[Any]], values: int) -> Int64Array:
    """Return how many rows of some columns have each value."""
    return np.asarray(sum(np.bincount(part[part >= 0], minlength=values) for part in codes), np.int64)
