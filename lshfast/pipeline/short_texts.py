"""Shingles for short texts: whether those of a run suit its texts, and which ones do.

Changing one word of a text in the middle changes `size` of its m shingles of `size` words, which leaves a similarity of
(m - size) / (m + size). With 5 words a shingle that is .8 or more only if the text has 49 words.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Any, NamedTuple

import numpy as np

from lshfast.kernels.text import TextError, Texts
from lshfast.pipeline.columns import Column, ShingledTexts
from lshfast.pipeline.plan import Plan
from lshfast.shingling import Unit, shingle
from lshfast.tokens import Int64Array

# Texts that are measured, at regular intervals. The length of those of more bytes is estimated from their bytes.
SAMPLE_ROWS = 1000
LONG_BYTES = 1024
BYTES_PER_WORD = 6

# Characters that a changed word changes.
CHANGED = {"word": 1, "char": 5}

# Shingles in the order in which they are preferred, and the least similarity that two changed words must leave.
CHOICES: tuple[tuple[Unit, int, float], ...] = (
    ("word", 5, 0.6), ("word", 4, 0.6), ("word", 3, 0.6), ("word", 2, 0.5), ("char", 5, 0.5),
)  # fmt: skip

# The highest threshold that is recommended. A run with a higher one warns as if it had this one: its user has chosen to
# find fewer texts with a changed word.
HIGHEST = 0.8

# Nothing is advised for fewer texts.
FEWEST_TEXTS = 100


class ShortTextsWarning(UserWarning):
    """Most texts are so short that texts that differ in one word are below the threshold."""


class Recommendation(NamedTuple):
    """Shingles and threshold that suit some texts, as arguments of `dedup`: ``dedup(texts, **found._asdict())``."""

    unit: Unit
    size: int
    threshold: float


@dataclass(frozen=True)
class Lengths:
    """Lengths of a sample of texts, those without words left out; sorted."""

    words: Int64Array
    characters: Int64Array

    def median(self, unit: Unit) -> int:
        """Return the median length in words or in characters."""
        lengths = self.words if unit == "word" else self.characters
        return int(lengths[(len(lengths) - 1) // 2])


def lengths_of(texts: Texts) -> Lengths:
    """Measure a sample of texts."""
    rows = np.empty(0, np.int64)
    if len(texts):
        rows = np.unique(np.linspace(0, len(texts) - 1, SAMPLE_ROWS).astype(np.int64))
    nbytes = texts.lengths[rows]
    counts = {"word": nbytes // BYTES_PER_WORD, "char": nbytes.copy()}
    short = nbytes <= LONG_BYTES
    for unit, numbers in counts.items():
        try:
            numbers[short] = shingle(texts.take(rows[short]), unit, 1, threads=1).counts  # type: ignore[arg-type]
        except TextError as error:
            raise TextError(int(rows[short][error.row]), error.reason) from None
    wordy = counts["word"] > 0
    return Lengths(*(np.sort(counts[unit][wordy]) for unit in ("word", "char")))


def similarity_after(changes: int, length: int, unit: Unit, size: int) -> float:
    """Return the similarity of a text of so many words (characters) to itself with some words in its middle changed."""
    shingles = max(length - size + 1, 1)
    changed = min(changes * (size + CHANGED[unit] - 1), shingles)
    return (shingles - changed) / (shingles + changed)


def recommend(texts: Any) -> Recommendation:
    """Choose shingles and a threshold by the lengths of texts.

    The size is the largest of 3 to 5 words with which two changed words in a text of median length leave a similarity
    of at least .6. Where there is none, it is 2 words if that leaves .5, else 5 or 4 characters. The threshold is that
    similarity, rounded down to a multiple of .05, but at least .5 and at most .8.

    Parameters
    ----------
    texts : sequence of str or bytes, or Arrow column
        As for `shingle`. A thousand of them, in even steps, are looked at; those without words do not count.

    Returns
    -------
    Recommendation
        unit, size and threshold.

    Examples
    --------
    >>> import lshfast
    >>> tweets = [f"bus {number} of our town is late again, so we will all be late today" for number in range(200)]
    >>> lshfast.recommend(tweets)
    Recommendation(unit='word', size=2, threshold=0.55)
    >>> lshfast.dedup(tweets, **lshfast.recommend(tweets)._asdict()).summary.kept
    1
    """
    return recommendation(lengths_of(Texts(texts)))


def recommendation(lengths: Lengths) -> Recommendation:
    """Choose shingles and a threshold for texts of these lengths; see `recommend`."""
    if not len(lengths.words):
        return Recommendation("word", 5, HIGHEST)
    for unit, size, least in CHOICES:
        similarity = similarity_after(2, lengths.median(unit), unit, size)
        if similarity >= least:
            return Recommendation(unit, size, min(HIGHEST, floor(similarity * 20 + 1e-9) / 20))
    return Recommendation("char", 4, 0.5)


def advice_for(column: Column, plan: Plan) -> str:
    """Return what to say where most texts are too short for the shingles and the threshold of a run; else ""."""
    if len(column) < FEWEST_TEXTS or plan.threshold == 1 or not isinstance(column, ShingledTexts):
        return ""
    wanted = min(plan.threshold, HIGHEST)
    lengths = lengths_of(column.texts)
    if len(lengths.words) < FEWEST_TEXTS:
        return ""
    reached = similarity_after(1, lengths.median(plan.unit), plan.unit, plan.size)
    if reached >= wanted:
        return ""
    better = recommendation(lengths)
    gained = similarity_after(1, lengths.median(better.unit), better.unit, better.size) - better.threshold
    if gained <= reached - wanted:
        return ""
    return (
        f"most texts are short: half of them have at most {lengths.median('word')} words. In such a text one changed "
        f"word leaves a similarity of about {reached:.2f}, below the threshold {plan.threshold:g}. "
        f"Better for these texts: unit {better.unit}, size {better.size}, threshold {better.threshold:g}"
    )
