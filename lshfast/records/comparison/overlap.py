"""Similarity of texts by their words and by their character trigrams, weighted by rarity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map, pieces
from lshfast._common.types import BoolArray, Int64Array
from lshfast.kernels import terms as kernels
from lshfast.records.distinct import distinct_hashes
from lshfast.shingling import Unit, shingle
from lshfast.tokens import TokenSets

DIGIT = re.compile(r"\d")
PREFIX_LETTERS = 3  # of a word that may be the beginning of a code
PIECE_TERMS = 1 << 23  # terms of pairs that are compared at a time
PIECE_SORTED = 1 << 18  # terms that are sorted at a time, or as many as are distinct
PIECE_TEXTS = 1 << 10  # texts whose nearest ones are searched at a time


class TermVectors:
    """Unit vectors of texts: for each distinct term, log(1 + N / n) if n of N texts have it.

    Parameters
    ----------
    sets : TokenSets
        The terms of each text.
    counts : ndarray of int64, shape (texts,)
        How many records have each text.
    threads : int
    """

    def __init__(self, sets: TokenSets, counts: Int64Array, threads: int) -> None:
        distinct, places = distinct_hashes(sets.tokens)
        count = max(1, len(distinct))
        self._threads = threads
        texts_of = np.maximum(counts, 1)
        having = np.zeros(count)
        sizes = np.zeros(len(sets), np.int64)
        parts = [np.zeros(0, np.int32)]
        for piece in pieces(sets.counts, max(count, PIECE_SORTED)):
            term_counts = sets.counts[piece]
            # The terms of each row, ascending, each once.
            keys = (
                np.repeat(np.arange(len(term_counts), dtype=np.int64), term_counts)
                * count
            )
            keys += places[sets.offsets[piece.start] : sets.offsets[piece.stop]]
            keys.sort()
            rows, terms = np.divmod(keys[np.diff(keys, prepend=-1) > 0], count)
            having += np.bincount(terms, texts_of[piece][rows], minlength=count)
            sizes[piece] = np.bincount(rows, minlength=len(term_counts))
            parts.append(terms.astype(np.int32))
        self._terms = np.concatenate(parts)
        self._offsets = np.append(0, np.cumsum(sizes, dtype=np.int64))
        weights = np.log1p(texts_of.sum() / np.maximum(having, 1))[self._terms]
        for piece in pieces(sizes, PIECE_SORTED):
            part = weights[self._offsets[piece.start] : self._offsets[piece.stop]]
            term_counts = sizes[piece]
            rows = np.repeat(np.arange(len(term_counts), dtype=np.int64), term_counts)
            part /= np.sqrt(np.bincount(rows, part**2, minlength=len(term_counts)))[
                rows
            ]
        self._rows = kernels.TermRows(self._offsets, self._terms, weights, count)

    def cosines(self, a: Int64Array, b: Int64Array) -> npt.NDArray[np.float32]:
        """Return the cosines of pairs of texts; faster if equal places of `a` follow each other."""
        counts = np.diff(self._offsets)
        cosines = np.zeros(len(a), np.float32)
        a = np.ascontiguousarray(a)
        b = np.ascontiguousarray(b)

        def work(piece: slice) -> None:
            cosines[piece] = self._rows.products(a[piece], b[piece])

        for _ in ordered_map(
            work, pieces(counts[a] + counts[b], PIECE_TERMS), self._threads
        ):
            pass
        return cosines

    def frequencies(self, texts: Int64Array) -> Int64Array:
        """Return how many of some different texts have each term."""
        is_counted = np.zeros(self._rows.n, bool)
        is_counted[texts] = True
        terms = self._terms[np.repeat(is_counted, np.diff(self._offsets))]
        return np.bincount(terms, minlength=self._rows.terms_count)

    def nearest(
        self,
        texts: Int64Array,
        candidates: Int64Array,
        counting_terms: BoolArray,
        neighbors: int,
    ) -> tuple[Int64Array, Int64Array]:
        """Return pairs (text, other) of some texts and their nearest different ones, in order.

        Parameters
        ----------
        texts, others : ndarray of int64
            Places of texts; those of the others are ascending. Of equally near ones, the first are
            taken.
        kept : ndarray of bool, shape (terms,)
            The terms that count. Texts without a common one are not near.
        neighbors : int
        """
        if not len(candidates):
            return candidates, candidates
        index = kernels.TermIndex(self._rows, candidates, counting_terms.view(np.uint8))
        own_places = np.searchsorted(candidates, texts)
        own_places[own_places == len(candidates)] = 0
        own_places[candidates[own_places] != texts] = -1

        def work(start: int) -> tuple[Int64Array, Int64Array]:
            part = slice(start, start + PIECE_TEXTS)
            excluded = own_places[part].astype(np.int32)
            places, counts = index.nearest(self._rows, texts[part], excluded, neighbors)
            is_near = np.arange(places.shape[1], dtype=np.int64) < counts[:, None]
            return np.repeat(texts[part], counts), candidates[places[is_near]]

        parts = [
            (candidates[:0], candidates[:0]),
            *ordered_map(work, range(0, len(texts), PIECE_TEXTS), self._threads),
        ]
        first, second = zip(*parts, strict=True)
        return np.concatenate(first), np.concatenate(second)


class TextSimilarity:
    """The similarity of texts: the mean of the cosines of their words and trigrams.

    If both texts have words with digits, the similarity is multiplied by (1 + c) / 2, with the
    cosine c of these words (`numbers_in`): numbers of houses, parts and versions distinguish texts
    that are similar otherwise.

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
        numbers = [""] * len(texts)
        for place in np.flatnonzero(may_have_digits(texts)).tolist():
            numbers[place] = " ".join(numbers_in(texts[place]))
        self.numbered = np.fromiter(map(bool, numbers), bool, len(texts))
        terms: list[tuple[Sequence[str], Unit, int]] = [
            (texts, "char", 3),
            (texts, "word", 1),
            (numbers, "word", 1),
        ]

        def vectors(kind: tuple[Sequence[str], Unit, int]) -> TermVectors:
            return TermVectors(
                shingle(list(kind[0]), *kind[1:], threads=threads), counts, threads
            )

        self.trigrams, self._words, self._numbers = ordered_map(vectors, terms, threads)

    def cosines(
        self, a: Int64Array, b: Int64Array
    ) -> tuple[
        npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]
    ]:
        """Return the cosines of trigrams, words, and words with digits (0 without any)."""
        number_cosines = np.zeros(len(a), np.float32)
        numbered = np.flatnonzero(self.numbered[a] & self.numbered[b])
        number_cosines[numbered] = self._numbers.cosines(a[numbered], b[numbered])
        return self.trigrams.cosines(a, b), self._words.cosines(a, b), number_cosines

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
        similarities = (words + trigrams) / np.float32(2)
        numbered = self.numbered[a] & self.numbered[b]
        similarities[numbered] *= (1 + numbers[numbered]) / np.float32(2)
        return np.asarray(similarities, np.float32)


def numbers_in(text: str) -> list[str]:
    """Return the words with digits, also joined with a short word before: "kd 200" is "kd200".

    Examples
    --------
    >>> numbers_in("radio kd 200 of 1980")
    ['200', 'kd200', '1980', 'of1980']
    """
    words = text.split()
    numbers = []
    for before, word in zip(["", *words], words, strict=False):
        if not word.isalpha() and DIGIT.search(word):
            numbers += (
                [word, before + word] if 0 < len(before) <= PREFIX_LETTERS else [word]
            )
    return numbers


def may_have_digits(texts: Sequence[str]) -> BoolArray:
    """Return which texts in normal form have digits or characters beyond ASCII; bool (texts,).

    Examples
    --------
    >>> may_have_digits(["4 elm court", "elm court", "élan"]).tolist()
    [True, False, True]
    """
    may_have = np.zeros(len(texts), bool)
    characters = np.frombuffer("\n".join(texts).encode("utf-8", "replace"), np.uint8)
    places = np.flatnonzero((characters - np.uint8(ord("0")) < 10) | (characters > 127))
    may_have[np.searchsorted(np.flatnonzero(characters == ord("\n")), places)] = True
    return may_have


def distinct_counts(codes: Sequence[npt.NDArray[Any]], values: int) -> Int64Array:
    """Return how many rows of some columns have each value."""
    return np.asarray(
        sum(np.bincount(part[part >= 0], minlength=values) for part in codes), np.int64
    )
