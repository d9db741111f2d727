"""Full names: which columns hold them, and how near two of them are.

A full name is compared word by word, since its parts may be exchanged, written as initials or left
out. The least similar of the words decides: the given names of two members of a family differ, but
most letters are equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lshfast._common.stop_words import stop_words_of
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.comparison.letters import Letters, jaro_winkler
from lshfast.records.distinct import distinct_numbers

MOST_WORDS = 4
SEVERAL_WORDS = 1.5  # on average
LEAST_SHARE = 0.9  # of the values: two to four words of letters
LEAST_DIFFERENT = 0.3  # of the rows: two equal tables have half
# Different words among all words: names consist of names that others have, too.
MOST_NEW = 0.7
# A word is frequent in this part of the values; names have one in this part, at most: streets and
# schools have more.
FREQUENT = 0.1
MOST_FREQUENT = 0.5
MOST_GRAMMAR = 0.25  # of the values with a stop word, as of titles
MOST_LISTS = 0.1  # of the values with several words on both sides of a comma, as of lists of names
INITIAL = 0.86  # similarity of an initial and a word: clearly near, as those of two typing errors
LEFT_OUT = 0.86  # the most if a word of three is left out
SHORTEST = 2  # letters of a third word of which both names may have another
ONE_WORD = 0.75  # the most if one name is one of the words of the other

_SIGNS = re.compile(r"[.'’\-]")  # within names, such as those of O'Neill and Anne-Marie


def are_full_names(
    values: Sequence[str], shares: Float64Array, different: float
) -> bool:
    """Return whether most values are names of several words, such as those of persons.

    Parameters
    ----------
    values : sequence of str
        Different values, as they are written.
    shares : ndarray of float64, shape (values,)
        The part of the rows of these values that have each value.
    different : float
        All different values of the column, as part of its rows.
    """
    if different < LEAST_DIFFERENT:
        return False
    words_of_values = [value.casefold().replace(",", ", ").split() for value in values]
    are_shaped = [
        2 <= len(words) <= MOST_WORDS and all(map(_is_name, words))
        for words in words_of_values
    ]
    if float(np.asarray(are_shaped, float) @ shares) < LEAST_SHARE:
        return False
    if sum(map(_is_list, values)) > MOST_LISTS * len(values):
        return False
    return _are_words_of_names(
        [{word.strip(".,") for word in words} for words in words_of_values]
    )


def _are_words_of_names(values: Sequence[set[str]]) -> bool:
    """Return whether values share words as names do, but few a frequent word or a stop word."""
    counts = Counter(word for words in values for word in words)
    if len(counts) > MOST_NEW * counts.total():
        return False
    most = FREQUENT * len(values)
    frequent = {word for word in counts if len(word) > 1 and counts[word] > most}
    grammar = {word for word in stop_words_of(None).words if len(word) > 1}
    for suspected, share in ((frequent, MOST_FREQUENT), (grammar, MOST_GRAMMAR)):
        having = sum(not words.isdisjoint(suspected) for words in values)
        if having > share * len(values):
            return False
    return True


def have_several_words(values: Sequence[str]) -> bool:
    """Return whether names in normal form have more than one and a half words on average."""
    return sum(value.count(" ") for value in values) > (SEVERAL_WORDS - 1) * len(values)


def are_texts(kind: str, values: Sequence[str]) -> bool:
    """Return whether values of a kind, in normal form, are texts or names of several words."""
    return kind == "text" or (kind == "name" and have_several_words(values))


def _is_name(word: str) -> bool:
    """Return whether a word has letters only, besides signs between or after them."""
    return all(part.isalpha() for part in _SIGNS.split(word.rstrip(".,")))


def _is_list(value: str) -> bool:
    """Return whether several words are on both sides of a comma or another sign between names."""
    parts = re.split(r"[,;/&]", value)
    return sum(len(part.split()) > 1 for part in parts) > 1


class FullNames:
    """The words of names in normal form.

    Parameters
    ----------
    values : sequence of str
        Different names; words that are synonyms of each other should be the same.
    longest : int
        Characters of a name of which the words are compared.
    threads : int
    """

    def __init__(self, values: Sequence[str], longest: int, threads: int) -> None:
        self._threads = threads
        self._letters = Letters(values)
        number: dict[str, int] = {}
        self._words = np.full((len(values), MOST_WORDS), -1, np.int64)
        for place, value in enumerate(values):
            words = value.split()
            if len(words) <= MOST_WORDS and len(value) <= longest:
                self._words[place, : len(words)] = [
                    number.setdefault(word, len(number)) for word in words
                ]
        self._counts = (self._words >= 0).sum(axis=1)
        self._texts = np.fromiter(number, object, len(number))
        self._firsts = np.fromiter((word[0] for word in number), object, len(number))
        sizes = np.fromiter(map(len, number), np.int64, len(number))
        self._single = sizes == 1
        # Of no word, whose place is -1, neither is true.
        self._short = np.append(sizes <= SHORTEST, False)[self._words]
        is_initial: BoolArray = np.append(self._single, False)[self._words]
        self._has_initial: BoolArray = np.asarray(is_initial.any(axis=1))

    def comparable(self, a: Int64Array, b: Int64Array) -> BoolArray:
        """Return which pairs of names have words to compare, and not too many."""
        return np.asarray((self._counts[a] > 0) & (self._counts[b] > 0))

    def may_be_similar(self, a: Int64Array, b: Int64Array, least: float) -> BoolArray:
        """Return which pairs may be similar, by their letters, or an initial and an equal word."""
        may_be_similar = self._letters.may_be_similar(a, b, least)
        has_initial = self._has_initial[a] | self._has_initial[b]
        places = np.flatnonzero(~may_be_similar & has_initial)
        words = self._words[a[places], :, None]
        is_equal = (words >= 0) & (words == self._words[b[places], None, :])
        may_be_similar[places] = is_equal.any(axis=(1, 2))
        return may_be_similar

    def similarities(
        self, a: Int64Array, b: Int64Array, least: float
    ) -> npt.NDArray[np.float32]:
        """Return the similarity of the least similar words of pairs of names, in [0, 1]; 0 below
        `least`.

        Words are assigned to each other, the most similar first, in any order.
        """
        similarities = self._word_similarities(self._words[a], self._words[b], least)
        by_pair = similarities.reshape(len(a), MOST_WORDS * MOST_WORDS)
        fewer_words = np.minimum(self._counts[a], self._counts[b])
        more_words = np.maximum(self._counts[a], self._counts[b])
        rows = np.arange(len(a), dtype=np.int64)
        lowest = np.ones(len(a), np.float32)
        for step in range(MOST_WORDS):
            word_a, word_b = np.divmod(by_pair.argmax(axis=1), MOST_WORDS)
            value = similarities[rows, word_a, word_b]
            if step > 1:  # "Jr." in one name and an initial in the other
                short = self._short[a, word_a] | self._short[b, word_b]
                value = np.where(short, np.maximum(value, LEFT_OUT), value)
            lowest = np.where(step < fewer_words, np.minimum(lowest, value), lowest)
            similarities[rows, word_a, :] = -1
            similarities[rows, :, word_b] = -1
        limit = np.where(fewer_words > 1, LEFT_OUT, ONE_WORD)
        lowest = np.minimum(lowest, np.where(more_words > fewer_words, limit, 1.0))
        return np.where(lowest < least, 0, lowest).astype(np.float32)

    def _word_similarities(
        self, a: Int64Array, b: Int64Array, least: float
    ) -> npt.NDArray[np.float32]:
        """Return the similarities of all words of pairs of names, float32 (pairs, words, words).

        They are -1 without a word.
        """
        shape = (len(a), MOST_WORDS, MOST_WORDS)
        first = np.broadcast_to(a[:, :, None], shape).reshape(-1)
        second = np.broadcast_to(b[:, None, :], shape).reshape(-1)
        present = np.flatnonzero((first >= 0) & (second >= 0))
        count = max(1, len(self._texts))
        keys, place = distinct_numbers(first[present] * count + second[present])
        words_a, words_b = np.divmod(keys, count)
        similar = np.ones(len(keys), np.float32)
        unequal = np.flatnonzero(words_a != words_b)
        words_a = words_a[unequal]
        words_b = words_b[unequal]
        similar[unequal] = jaro_winkler(
            self._texts[words_a], self._texts[words_b], least, self._threads
        )
        is_initial = self._single[words_a] | self._single[words_b]
        is_initial &= self._firsts[words_a] == self._firsts[words_b]
        similar[unequal[is_initial]] = INITIAL
        similarities = np.full(len(first), -1, np.float32)
        similarities[present] = similar[place]
        return similarities.reshape(shape)
