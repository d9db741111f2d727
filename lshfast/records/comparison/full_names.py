"""Full names: which columns hold them, and how near two of them are.

A full name is compared word by word, since its parts may be exchanged, written as initials or left
out. The least similar of the words decides: the given names of two members of a family differ, but
most letters are equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from lshfast._common.extras import optional
from lshfast._common.stop_words import stop_words_of
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.comparison.letters import Letters
from lshfast.records.distinct import distinct_numbers

MOST_WORDS = 4
SEVERAL_WORDS = 1.5  # on average
LEAST_SHARE = 0.9  # of the values: two to four words of letters
LEAST_DIFFERENT = 0.3  # of the rows: two equal tables have half
MOST_NEW = (
    0.7  # different words among all words: names consist of names that others have, too
)
# part of the values with a word, and with any such word, as of streets and schools
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
    words = [value.casefold().replace(",", ", ").split() for value in values]
    shaped = [
        2 <= len(parts) <= MOST_WORDS and all(map(_is_name, parts)) for parts in words
    ]
    if float(np.fromiter(shaped, float, len(words)) @ shares) < LEAST_SHARE:
        return False
    parts_of = [{part.strip(".,") for part in parts} for parts in words]
    counts = Counter(part for parts in parts_of for part in parts)
    frequent = {
        part
        for part, count in counts.items()
        if len(part) > 1 and count > FREQUENT * len(words)
    }
    grammar = {word for word in stop_words_of(None).words if len(word) > 1}
    return (
        len(counts) <= MOST_NEW * counts.total()
        and _part(bool(parts & frequent) for parts in parts_of) <= MOST_FREQUENT
        and _part(bool(parts & grammar) for parts in parts_of) <= MOST_GRAMMAR
        and _part(_is_list(value) for value in values) <= MOST_LISTS
    )


def have_several_words(values: Sequence[str]) -> bool:
    """Return whether names in normal form have several words, more than one and a half on
    average.
    """
    return sum(value.count(" ") for value in values) > (SEVERAL_WORDS - 1) * len(values)


def are_texts(kind: str, values: Sequence[str]) -> bool:
    """Return whether values of a kind, in normal form, are texts or names of several words."""
    return kind == "text" or (kind == "name" and have_several_words(values))


def _part(conditions: Iterable[bool]) -> float:
    return float(np.mean(list(conditions)))


def _is_name(word: str) -> bool:
    """Return whether a word has letters only, besides signs between or after them."""
    return all(part.isalpha() for part in _SIGNS.split(word.rstrip(".,")))


def _is_list(value: str) -> bool:
    """Return whether there are several words on both sides of a comma or another sign between
    names.
    """
    parts = [part.split() for part in re.split(r"[,;/&]", value)]
    return sum(len(part) > 1 for part in parts) > 1


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
            parts = value.split()
            if len(parts) <= MOST_WORDS and len(value) <= longest:
                self._words[place, : len(parts)] = [
                    number.setdefault(part, len(number)) for part in parts
                ]
        self._counts = (self._words >= 0).sum(axis=1)
        self._texts = np.fromiter(number, object, len(number))
        self._firsts = np.fromiter((word[0] for word in number), object, len(number))
        self._single = np.fromiter(
            (len(word) == 1 for word in number), bool, len(number)
        )
        short = np.fromiter(
            (len(word) <= SHORTEST for word in number), bool, len(number)
        )
        self._short = np.append(short, False)[self._words]
        self._initials = np.zeros(len(values), bool)
        for column in self._words.T:
            self._initials |= (
                (column >= 0) & self._single[column] if len(number) else False
            )

    def comparable(self, a: Int64Array, b: Int64Array) -> BoolArray:
        """Return which pairs of names have words to compare, and not too many."""
        return np.asarray((self._counts[a] > 0) & (self._counts[b] > 0))

    def may_be_similar(self, a: Int64Array, b: Int64Array, least: float) -> BoolArray:
        """Return which pairs may have at least a similarity, by their letters, or by an initial and
        an equal word.
        """
        may = self._letters.may_be_similar(a, b, least)
        places = np.flatnonzero(~may & (self._initials[a] | self._initials[b]))
        words = self._words[a[places], :, None]
        may[places] = ((words >= 0) & (words == self._words[b[places], None, :])).any(
            axis=(1, 2)
        )
        return may

    def similarities(
        self, a: Int64Array, b: Int64Array, least: float
    ) -> npt.NDArray[np.float32]:
        """Return the similarity of the least similar words of pairs of names, in [0, 1]; 0 below
        `least`.

        Words are assigned to each other, the most similar first, in any order.
        """
        near = self._word_similarities(self._words[a], self._words[b], least)
        fewer = np.minimum(self._counts[a], self._counts[b])
        more = np.maximum(self._counts[a], self._counts[b])
        rows = np.arange(len(a), dtype=np.int64)
        similarity = np.ones(len(a), np.float32)
        for step in range(MOST_WORDS):
            best = near.reshape(len(a), MOST_WORDS * MOST_WORDS).argmax(axis=1)
            left, right = np.divmod(best, MOST_WORDS)
            value = near[rows, left, right]
            if step > 1:  # "Jr." in one name and an initial in the other
                short = self._short[a, left] | self._short[b, right]
                value = np.where(short, np.maximum(value, LEFT_OUT), value)
            similarity = np.where(
                step < fewer, np.minimum(similarity, value), similarity
            )
            near[rows, left, :] = -1
            near[rows, :, right] = -1
        most = np.where(more > fewer, np.where(fewer > 1, LEFT_OUT, ONE_WORD), 1.0)
        similarity = np.minimum(similarity, most)
        return np.where(similarity < least, 0, similarity).astype(np.float32)

    def _word_similarities(
        self, a: Int64Array, b: Int64Array, least: float
    ) -> npt.NDArray[np.float32]:
        """Return the similarities of all words of pairs of names, float32 (pairs, words, words); -1
        without a word.
        """
        shape = (len(a), MOST_WORDS, MOST_WORDS)
        first = np.broadcast_to(a[:, :, None], shape).reshape(-1)
        second = np.broadcast_to(b[:, None, :], shape).reshape(-1)
        present = np.flatnonzero((first >= 0) & (second >= 0))
        count = max(1, len(self._texts))
        keys, place = distinct_numbers(first[present] * count + second[present])
        left, right = np.divmod(keys, count)
        similar = np.ones(len(keys), np.float32)
        unequal = np.flatnonzero(left != right)
        scorer = optional(
            "rapidfuzz.distance", "records"
        ).JaroWinkler.normalized_similarity
        cpdist = optional("rapidfuzz.process", "records").cpdist
        left = left[unequal]
        right = right[unequal]
        similar[unequal] = cpdist(
            self._texts[left],
            self._texts[right],
            scorer=scorer,
            score_cutoff=least,
            workers=self._threads,
        )
        initial = (self._single[left] | self._single[right]) & (
            self._firsts[left] == self._firsts[right]
        )
        similar[unequal] = np.where(initial, INITIAL, similar[unequal])
        found = np.full(len(first), -1, np.float32)
        found[present] = similar[place]
        return found.reshape(shape)
