"""Copies in one table: whether similar records are the same thing, or members of a family.

Similarity does not show it: two models of a camera are more alike than two descriptions of one. The
words do. Two copies have hardly a known word or a number that contradicts the other record; members
of a family have other model numbers, colours or editions. How often similar records contradict each
other without meaning it is measured among pairs that are not each other's nearest, and so are no
copies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.candidates.record_texts import joined_values
from lshfast.records.linkage import Linkage
from lshfast.records.links.decision import ChosenLinks
from lshfast.records.results.outlook import MANY_CUT
from lshfast.records.weights.calibration import (
    FEWEST_SEEDS,
    Calibration,
    FoundSeeds,
)
from lshfast.records.weights.rivals import MARGIN, PairsWithin

MOST_JUDGED = 3_000  # links, and rivals of linked records
MOST_CONTROLS = 20_000  # pairs that are no copies
# Links that join families contradict each other in numbers at least this often: as a share of the
# links, and as times the share of their rivals. Links of citations, restaurants, sites, songs and
# articles: at most .69 of the rivals; of catalogues without copies: .88 to 2.2.
MANY_CONTRADICTED = 0.2
AS_OFTEN = 0.8
# Of links by agreement patterns: .81 of discs, most of which are wrong, and .06 of songs.
MOSTLY_DIFFERENT = 0.5
# Of the records of catalogues and bibliographies without copies, .008 to .021 are nobody's copy and
# contradict nothing.
FEWEST_COPIES = 0.03
CHANCE_COPIES = 0.015
MOST_COUNTED = 2  # known words that both records have and the other lacks
# Of the seeds of one table, which links left: fewer without different words show that words of
# copies differ, too (.35 of discs, .53 of songs; .1 of sites, where words do not tell).
FEWEST_ALIKE = 0.25
# The fewest records with a word that is known, the most with a rare code, and its least length.
KNOWN_WORD = 2
RARE_CODE = 2
LONG_CODE = 4
# Of codes that two records have: the square of their number by chance, as times the product of
# those of one record and of three, and the greatest part of them if codes are to tell copies.
CHANCE_OF_TWO = 1.5
MOST_BY_CHANCE = 0.5
# Chance is measured between these similarities.
SIMILARITIES = np.array([0.3, 0.45, 0.6, 0.75, 0.9], np.float64)
STEPS = 300
# Pairs of strangers and of copies that what is expected counts for, before any is seen.
CONTROLS_GIVEN = 20.0
COPIES_GIVEN = 10.0
FIRST_SHARE = 0.1
# Of the copies: no, one-sided and mutual differences.
EXPECTED_STEPS = np.array([0.6, 0.25, 0.15], np.float64)
STATES = 3 * 3 * 2
LIKELY = 0.5  # probability of pairs that may be links
# The range of the search for a prior, in bits, and how often it is halved.
MOST_BITS = 100.0
HALVINGS = 60
SURE = 0.9  # probability of copies from which weights are learnt, and of others

UNREAD_KINDS = "number", "age"  # whose digits differ by rounding and time


@dataclass(frozen=True)
class WordEvidence:
    """How the words of pairs of records compare.

    Attributes
    ----------
    numbers : ndarray of int64, shape (pairs,)
        How many of the two records have a word with a digit that the other lacks.
    words : ndarray of int64, shape (pairs,)
        How many other words, up to 2, both records have that the other lacks and a third record
        has.
    shares_code : ndarray of bool, shape (pairs,)
        Whether they share a long word with a digit that no third record has, unless as many words
        would have two records by chance.
    shares_number : ndarray of bool, shape (pairs,)
        Whether they share a word with a digit.
    """

    numbers: Int64Array
    words: Int64Array
    shares_code: BoolArray
    shares_number: BoolArray

    @property
    def contradicted(self) -> BoolArray:
        """Which pairs have different numbers, and no code that only they have."""
        return np.asarray((self.numbers == 2) & ~self.shares_code)

    @property
    def different(self) -> BoolArray:
        """Which pairs have two known words each that the other record lacks."""
        return np.asarray(self.words == MOST_COUNTED)

    @property
    def possible(self) -> BoolArray:
        """Which pairs may be copies: more speaks for it than against it."""
        supports = (
            2 * self.shares_code
            + (self.words == 0)
            + ((self.numbers == 0) & self.shares_number)
        )
        opposes = (self.numbers == 2).astype(np.int64) + (self.words == 2)
        return np.asarray(supports > opposes)

    @property
    def states(self) -> Int64Array:
        """A number for what each pair has, in 0..STATES - 1."""
        return self.numbers + 3 * self.words + 9 * self.shares_code


class RecordWords:
    """The words of the records of one table.

    Numeric fields, and fields that differ in matches, are not read.
    """

    def __init__(self, linkage: Linkage, differing: Collection[str] = ()) -> None:
        self._fields = [
            field
            for name, field in linkage.fields.items()
            if field.kind not in UNREAD_KINDS and name not in differing
        ]

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        """The words of each record."""
        places, texts = joined_values(self._fields)
        words = [*(frozenset(text.split()) for text in texts), frozenset()]
        return [words[place] for place in places[0].tolist()]

    @cached_property
    def _counts(self) -> Counter[str]:
        """How many records have each word."""
        return Counter(chain.from_iterable(self._words))

    @cached_property
    def _codes_tell(self) -> bool:
        """Whether rare codes are rather shared by copies than by chance.

        If records get n codes at random, such as house numbers, the codes of k records are Poisson
        distributed: those of two are the square root of 3/2 times those of one and of three.
        """
        records_of_codes = Counter(
            count for word, count in self._counts.items() if is_code(word)
        )
        product = records_of_codes[1] * records_of_codes[3]
        by_chance = math.sqrt(CHANCE_OF_TWO * product)
        return by_chance < MOST_BY_CHANCE * records_of_codes[2]

    def compared(self, i: Int64Array, j: Int64Array) -> WordEvidence:
        """Compare the words of pairs of rows."""
        pairs = zip(i.tolist(), j.tolist(), strict=True)
        rows = np.array([self._compare(*pair) for pair in pairs], np.int64).reshape(
            -1, 4
        )
        return WordEvidence(rows[:, 0], rows[:, 1], rows[:, 2] > 0, rows[:, 3] > 0)

    def _compare(self, first: int, second: int) -> tuple[int, int, bool, bool]:
        a = self._words[first]
        b = self._words[second]
        a_has_number, a_words = self._different(a - b)
        b_has_number, b_words = self._different(b - a)
        shared = [word for word in a & b if has_digit(word)]
        shares_code = self._codes_tell and any(
            is_code(word) and self._counts[word] <= RARE_CODE for word in shared
        )
        return (
            a_has_number + b_has_number,
            min(MOST_COUNTED, a_words, b_words),
            shares_code,
            bool(shared),
        )

    def _different(self, words_of_one: frozenset[str]) -> tuple[bool, int]:
        """Return whether words of one record alone have a number, and how many are known."""
        words = [word for word in words_of_one if not has_digit(word)]
        known_words = sum(self._counts[word] >= KNOWN_WORD for word in words)
        return len(words) < len(words_of_one), known_words


def has_digit(word: str) -> bool:
    """Return whether a word has a digit.

    Examples
    --------
    >>> has_digit("kdl40"), has_digit("black")
    (True, False)
    """
    return any(map(str.isdigit, word))


def is_code(word: str) -> bool:
    """Return whether a word is long, and has a digit."""
    return len(word) >= LONG_CODE and has_digit(word)


def contradicted_share(words: RecordWords, i: Int64Array, j: Int64Array) -> float:
    """Return the share of sampled pairs that contradict each other in numbers; 0 of no pairs."""
    contradicted = words.compared(spread(i), spread(j)).contradicted
    return float(contradicted.mean()) if len(contradicted) else 0.0


def seeds_alike(words: RecordWords, seeds: FoundSeeds) -> FoundSeeds | None:
    """Return the seeds without different words; None if words do not tell copies.

    They do not if few seeds are without, or if the others contradict each other as rarely as copies
    do: names of authors and of journals are written in several ways.
    """
    index = np.flatnonzero(seeds.seeds)
    evidence = words.compared(seeds.i[index], seeds.j[index])
    different = evidence.different
    fewest = max(FEWEST_SEEDS, FEWEST_ALIKE * len(index))
    if (~different).sum() < fewest:
        return None
    if not different.any():
        return None
    if evidence.contradicted[different].mean() <= MANY_CONTRADICTED:
        return None
    alike = seeds.seeds.copy()
    alike[index[different]] = False
    return replace(seeds, seeds=alike)


def differ_mostly(words: RecordWords, links: ChosenLinks) -> bool:
    """Return whether most links join records of different words, as of albums of an artist."""
    different = words.compared(spread(links.i), spread(links.j)).different
    return bool(len(different)) and float(different.mean()) > MOSTLY_DIFFERENT


def contradict_often(words: RecordWords, links: ChosenLinks) -> bool:
    """Return whether many links contradict each other in numbers."""
    return contradicted_share(words, links.i, links.j) > MANY_CONTRADICTED


def join_families(
    words: RecordWords, pairs: NearPairsOfRecords, links: ChosenLinks
) -> bool:
    """Return whether links contradict each other as often as rivals do, and so join families.

    Rivals are the nearest records of linked records in other groups. Many links that were cut from
    their groups show the same.
    """
    assert links.clusters is not None
    groups = links.clusters.labels
    linked = np.zeros(len(groups), bool)
    linked[links.i] = True
    linked[links.j] = True
    outside = (groups[pairs.i] != groups[pairs.j]) & (linked[pairs.i] | linked[pairs.j])
    rivals = pairs.best(np.flatnonzero(outside), linked)
    if not len(rivals):
        return False
    cut = links.clusters.cut > MANY_CUT * len(links.i)
    of_links = contradicted_share(words, links.i, links.j)
    of_rivals = contradicted_share(words, pairs.i[rivals], pairs.j[rivals])
    return cut or of_links > AS_OFTEN * of_rivals


def spread(rows: Int64Array, most: int = MOST_JUDGED) -> Int64Array:
    """Return at most about `most` rows at equal distances."""
    return rows[:: len(rows) // most + 1]


class NearPairsOfRecords:
    """Candidates of one table by the similarity of whole records.

    Parameters
    ----------
    i, j : ndarray of int64, shape (pairs,)
    similarities : ndarray of float64, shape (pairs,)
    size : int
        Rows of the table.
    """

    def __init__(
        self, i: Int64Array, j: Int64Array, similarities: Float64Array, size: int
    ) -> None:
        self.i = i
        self.j = j
        self.similarities = similarities
        rows = np.append(i, j)
        values = np.append(similarities, similarities)
        order = np.lexsort((-values, rows))
        firsts = np.flatnonzero(np.diff(rows[order], prepend=-1) != 0)
        best = np.zeros(size)
        second = np.zeros(size)
        best[rows[order[firsts]]] = values[order[firsts]]
        seconds = firsts[firsts + 1 < np.append(firsts[1:], len(order))] + 1
        second[rows[order[seconds]]] = values[order[seconds]]
        self.mutual = (
            (similarities >= best[i]) & (similarities >= best[j]) & (similarities > 0)
        )
        self.by_far = self.mutual & (
            np.maximum(second[i], second[j]) < MARGIN * similarities
        )

    def best(self, places: Int64Array, records: BoolArray) -> Int64Array:
        """Return the nearest of some pairs for each of some records, each pair once."""
        order = places[np.argsort(-self.similarities[places], kind="stable")]
        nearest = []
        for side in (self.i, self.j):
            rows, first = np.unique(side[order], return_index=True)
            nearest.append(order[first[records[rows]]])
        return np.unique(np.concatenate(nearest))


def probable_copies(
    words: RecordWords, pairs: NearPairsOfRecords
) -> tuple[Int64Array, Float64Array]:
    """Return the pairs that are each other's nearest by far, and their probability of being copies.

    They are a mixture of copies and other pairs. How the words of other pairs compare is known from
    pairs that are not each other's nearest; expectation maximisation estimates the rest.
    """
    nearest_pairs = np.flatnonzero(pairs.by_far)
    controls = spread(np.flatnonzero(~pairs.mutual), MOST_CONTROLS)
    evidence = words.compared(pairs.i[nearest_pairs], pairs.j[nearest_pairs])
    control = words.compared(pairs.i[controls], pairs.j[controls]).states
    step = np.searchsorted(SIMILARITIES, pairs.similarities)
    steps = len(SIMILARITIES) + 1
    by_step = np.zeros((steps, STATES))
    np.add.at(by_step, (step[controls], control), 1.0)
    of_any = (by_step.sum(axis=0) + 0.5) / (by_step.sum() + 0.5 * STATES)
    controls_of_step = by_step.sum(axis=1, keepdims=True)
    by_chance = (by_step + CONTROLS_GIVEN * of_any) / (
        controls_of_step + CONTROLS_GIVEN
    )
    state = evidence.states
    near_step = step[nearest_pairs]
    states = np.arange(STATES, dtype=np.int64)
    expected = EXPECTED_STEPS[states % 3] * EXPECTED_STEPS[states // 3 % 3] / 2
    of_copies = expected
    step_of_copies = np.full(steps, 1 / steps, np.float64)
    step_of_others = distribution_of(np.bincount(near_step, minlength=steps) + 1.0)
    share = FIRST_SHARE
    probabilities = np.zeros(len(nearest_pairs))
    for _ in range(STEPS):
        copies = share * step_of_copies[near_step] * of_copies[state]
        other_pairs = (
            (1 - share) * step_of_others[near_step] * by_chance[near_step, state]
        )
        probabilities = np.where(
            evidence.possible, copies / (copies + other_pairs), 0.0
        )
        share = (probabilities.sum() + 0.5) / (len(nearest_pairs) + 10)
        of_copies = distribution_of(
            np.bincount(state, probabilities, STATES) + COPIES_GIVEN * expected
        )
        step_of_copies = distribution_of(
            np.bincount(near_step, probabilities, steps) + 1.0
        )
        step_of_others = distribution_of(
            np.bincount(near_step, 1 - probabilities, steps) + 1.0
        )
    return nearest_pairs, probabilities


def distribution_of(weights: npt.NDArray[np.floating[Any]]) -> Float64Array:
    """Return weights as parts of their sum."""
    return np.asarray(weights / weights.sum())


class PairsOfCopies(PairsWithin):
    """Pairs of one table whose seeds are known: the pairs whose words show that they are copies.

    Parameters
    ----------
    near : NearPairsOfRecords
    size : int
        Rows of the table.
    families : ndarray of int64
        Pairs that words show to be no copies, by their index.
    """

    def __init__(
        self, near_pairs: NearPairsOfRecords, size: int, families: Int64Array
    ) -> None:
        super().__init__(near_pairs.i, near_pairs.j, size)
        self._families = families

    def rivals(self, links: BoolArray) -> BoolArray:
        """Return the pairs that are no copies."""
        rivals = np.zeros(len(links), bool)
        rivals[self._families] = True
        return rivals & ~links


@dataclass(frozen=True)
class Copies:
    """Copies among the nearest records of one table.

    Attributes
    ----------
    seeds : FoundSeeds
        The surest copies, from which weights are learnt.
    index : ndarray of int64, shape (copies,)
        The pairs that are rather copies than not.
    precision : float
        The part of them that are copies.
    """

    seeds: FoundSeeds
    index: Int64Array
    precision: float

    def calibrated(self, learnt: Calibration) -> Calibration:
        """Return weights whose prior makes the mean probability of the copies the precision."""
        scores = learnt.scores[self.index]
        low = -MOST_BITS
        high = MOST_BITS
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            probabilities = 1 / (1 + np.exp2(-np.clip(scores + middle, -1000, 1000)))
            if probabilities.mean() < self.precision:
                low = middle
            else:
                high = middle
        prior = float(1 / (1 + np.exp2(-middle)))
        weights = replace(
            learnt.weights, prior=prior, matches=self.precision * len(self.index)
        )
        return replace(learnt, weights=weights, scores=scores)


def copies_of(
    linkage: Linkage, words: RecordWords, near_pairs: NearPairsOfRecords
) -> Copies | None:
    """Return the copies among the nearest records; None if there are hardly any."""
    # They are ascending, as the candidates are.
    near_by_far, probabilities = probable_copies(words, near_pairs)
    if probabilities.sum() < FEWEST_COPIES * len(linkage.a):
        return None
    seeds = np.zeros(len(near_pairs.i), bool)
    seeds[near_by_far[probabilities >= SURE]] = True
    records = np.zeros(len(linkage.a), bool)
    records[near_pairs.i[seeds]] = True
    records[near_pairs.j[seeds]] = True
    rivals = np.flatnonzero(
        (records[near_pairs.i] | records[near_pairs.j]) & ~near_pairs.mutual
    )
    rivals = spread(rivals, MOST_CONTROLS)
    contradicted = ~words.compared(near_pairs.i[rivals], near_pairs.j[rivals]).possible
    families = np.append(rivals[contradicted], near_by_far[probabilities < 1 - SURE])
    cosines, _ = linkage.record_texts.compared(near_pairs.i, near_pairs.j)
    pairs = PairsOfCopies(near_pairs, len(linkage.a), families)
    found_seeds = FoundSeeds(
        near_pairs.i, near_pairs.j, cosines, pairs, seeds, pairs.rivals(seeds), 1
    )
    likely = probabilities >= LIKELY
    by_chance = CHANCE_COPIES * len(linkage.a) / max(1, int(likely.sum()))
    precision = min(float(probabilities[likely].mean()), max(1 - by_chance, LIKELY))
    return Copies(found_seeds, near_by_far[likely], precision)
