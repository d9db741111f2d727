"""Shingles for short texts and for code: `recommend`, and warnings about shingles that do not fit.

A change of one word in the middle of a text changes `size` of its m shingles of `size` words. The
similarity is then (m - size) / (m + size). With 5 words per shingle, it is .8 or more only if the
text has at least 49 words.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast._common import decimal_codes
from lshfast._common.choices import PairMeasure
from lshfast._common.rows import evenly_spaced
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.normal_forms import (
    ADVICE,
    FormCounts,
    MixedFormsWarning,
    form_counts,
)
from lshfast._engine.columns import Column, ShingledTexts
from lshfast._engine.plan import Plan
from lshfast._io.stored_texts import StoredTexts
from lshfast.kernels.text import TextError, Texts
from lshfast.shingling import Shingles, Unit

if TYPE_CHECKING:
    from lshfast._engine.account.crowds import Limited

# Texts that are measured, at regular intervals. Of texts with more than LONG_BYTES, the words and
# symbols are estimated from the bytes.
SAMPLE_ROWS = 1000
LONG_BYTES = 1024
BYTES_PER_WORD = 6
BYTES_PER_SYMBOL = 3

# Of longer texts in the sample, so many of at most so many bytes are read for their symbols.
LONG_TEXTS = 64
MOST_BYTES = 1 << 16

# Its multiples mod 1 are spread evenly, and have no period.
GOLDEN_SECTION = (5**0.5 - 1) / 2

# Texts are like code or URLs if in most of them at least this share of the symbols are operators
# and punctuation. Measured shares: prose .1 to .25, licences .27, sources of Python .46 and of C
# .52, URLs .5.
CODE_SHARE = 0.35

CODE_ADVICE = (
    f"in most texts at least {CODE_SHARE:.0%} of the words and other characters are operators and "
    "punctuation, as in code and URLs. Words leave them out, so ?id=1 and /id/1 are the same. "
    "Better for such texts: unit symbol"
)

# The number of characters, symbols or words that differ if one word is changed.
CHANGED = {"word": 1, "symbol": 1, "char": 5}

# Shingles in order of preference, and for each the least similarity that must remain after a change
# of two words. Where texts are like code, they are of symbols instead of words.
CHOICES: tuple[tuple[Unit, int, float], ...] = (
    ("word", 5, 0.6),
    ("word", 4, 0.6),
    ("word", 3, 0.6),
    ("word", 2, 0.5),
    ("char", 5, 0.5),
)

# The highest threshold that is recommended. A run with a higher threshold warns as if it had this
# one, because its user has chosen to find fewer texts with a changed word.
HIGHEST = 0.8

# There is no warning for fewer texts. Texts are not like code if fewer of them were read.
FEWEST_TEXTS = 100
FEWEST_SHARES = 32

CODE_UNITS: tuple[Unit, Unit] = ("word", "symbol")


class ShortTextsWarning(UserWarning):
    """Most texts are so short that a change of one word leaves a similarity below the threshold.

    `dedup` and `pairs` warn with it; `recommend` finds better shingles and a better threshold.

    See Also
    --------
    lshfast.recommend : Recommend shingles and a threshold for texts of a length.
    lshfast.Recommendation : Recommended shingles and threshold.

    Examples
    --------
    >>> import warnings
    >>> import lshfast
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = lshfast.dedup(
    ...         [f"bus {number} of our town is late again" for number in range(200)]
    ...     )
    >>> caught[0].category.__name__
    'ShortTextsWarning'
    """


class CodeTextsWarning(UserWarning):
    """Most texts have as many operators and punctuation as code or URLs, and words leave them out.

    `dedup` and `pairs` warn with it if the unit of shingles is "word" or "stopword"; the unit
    "symbol" keeps operators and punctuation.

    See Also
    --------
    lshfast.shingle : Convert texts to sets of shingles; defines the units.

    Examples
    --------
    >>> import warnings
    >>> import lshfast
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = lshfast.dedup(
    ...         [f"for (i = 0; i < {n}; i++) x[i] = 0;" for n in range(200)]
    ...     )
    >>> caught[0].category.__name__
    'CodeTextsWarning'
    """


class Recommendation(NamedTuple):
    """Recommended shingles and threshold, as arguments of `dedup`.

    Attributes
    ----------
    unit : {"word", "symbol", "char"}
    size : int
        Words, symbols or characters per shingle, 2 to 5.
    threshold : float
        In 0.5..0.8, a multiple of 0.05.

    See Also
    --------
    lshfast.recommend : Recommend shingles and a threshold for texts of a length.
    lshfast.ShortTextsWarning : The warning that texts are too short for the shingles.

    Examples
    --------
    >>> import lshfast
    >>> lshfast.recommend(["a text of six words, repeated"] * 200)._asdict()
    {'unit': 'char', 'size': 4, 'threshold': 0.5}
    """

    unit: Unit
    size: int
    threshold: float


@dataclass(frozen=True)
class Lengths:
    """Sorted lengths of a sample of texts, without texts that have no words; and their forms.

    `symbol_shares` has the shares of operators and punctuation among the symbols of texts.
    """

    words: Int64Array
    symbols: Int64Array
    characters: Int64Array
    symbol_shares: Float64Array
    forms: FormCounts

    def median(self, unit: Unit) -> int:
        """Return the median length in words, symbols or characters."""
        if unit == "word":
            lengths = self.words
        elif unit == "symbol":
            lengths = self.symbols
        else:
            lengths = self.characters
        return int(lengths[(len(lengths) - 1) // 2])

    @property
    def are_like_code(self) -> bool:
        """Whether most texts have as many operators and punctuation as code or URLs."""
        shares = self.symbol_shares
        n = len(shares)
        is_enough = n >= min(FEWEST_SHARES, len(self.words))
        return is_enough and n > 0 and bool(shares[(n - 1) // 2] >= CODE_SHARE)

    @property
    def are_many(self) -> bool:
        """Whether there are enough texts for a warning."""
        return len(self.words) >= FEWEST_TEXTS


def sample_for(n: int, plan: Plan) -> Int64Array:
    """Return the rows of n that a run measures: none if it gives no advice in any case."""
    return evenly_spaced(n if plan.kind == "text" else 0, SAMPLE_ROWS)


def lengths_of(texts: Texts | StoredTexts) -> Lengths:
    """Measure a sample of texts."""
    rows = evenly_spaced(len(texts), SAMPLE_ROWS)
    nbytes = texts.lengths[rows]
    return lengths_of_sample(rows, nbytes, texts.take(rows[are_read(nbytes)]))


def are_read(nbytes: Int64Array) -> BoolArray:
    """Return which texts of a sample are read, given their lengths: all short and some long ones.

    Long ones only show whether texts are like code or URLs, and their normal forms. They are at
    irregular places: every second text may be in another language.
    """
    is_read = nbytes <= LONG_BYTES
    long_places = np.flatnonzero(~is_read & (nbytes <= MOST_BYTES))
    if len(long_places) > LONG_TEXTS:
        shares = np.arange(LONG_TEXTS, dtype=np.float64) * GOLDEN_SECTION % 1
        long_places = long_places[(shares * len(long_places)).astype(np.int64)]
    is_read[long_places] = True
    return np.asarray(is_read)


def lengths_of_sample(rows: Int64Array, nbytes: Int64Array, texts: Texts) -> Lengths:
    """Measure the texts of a sample, given their lengths and those texts that `are_read`."""
    read_rows = rows[are_read(nbytes)]
    try:
        words, symbols = (
            Shingles(unit, 1).tokens_of(texts, 0).counts for unit in CODE_UNITS
        )
    except TextError as error:
        raise TextError(int(read_rows[error.row]), error.reason) from None
    counts: dict[Unit, Int64Array] = {
        "word": nbytes // BYTES_PER_WORD,
        "symbol": nbytes // BYTES_PER_SYMBOL,
        "char": nbytes.copy(),
    }
    short = nbytes <= LONG_BYTES
    is_short = texts.lengths <= LONG_BYTES
    counts["word"][short] = words[is_short]
    counts["symbol"][short] = symbols[is_short]
    counts["char"][short] = (
        Shingles("char", 1).tokens_of(texts.take(is_short), 0).counts
    )
    wordy = counts["word"] > 0
    shares = 1 - words[symbols > 0] / symbols[symbols > 0]
    return Lengths(
        np.sort(counts["word"][wordy]),
        np.sort(counts["symbol"][wordy]),
        np.sort(counts["char"][wordy]),
        np.sort(shares),
        form_counts(texts),
    )


def similarity_after(changes: int, length: int, unit: Unit, size: int) -> float:
    """Return the similarity of a text of `length` units to its copy with `changes` changed."""
    shingles = max(length - size + 1, 1)
    changed = min(changes * (size + CHANGED[unit] - 1), shingles)
    return (shingles - changed) / (shingles + changed)


def recommend(texts: Any) -> Recommendation:
    """Recommend shingles and a threshold for the lengths of texts, and for code.

    The recommended size is the largest of 5, 4 and 3 words for which a change of two words in a
    text of median length leaves a similarity of at least .6. If none does, it is 2 words if they
    leave at least .5, else 5 characters if they leave at least .5, else 4 characters. The threshold
    is this similarity, rounded down to a multiple of .05, at least .5 and at most .8. Symbols take
    the place of words if in most texts at least 35 % of the symbols are operators and punctuation,
    as in code and URLs.

    Parameters
    ----------
    texts : sequence of str or bytes, or Arrow column
        As for `shingle`. At most 1,000 texts at regular intervals are measured; texts without words
        are ignored.

    Returns
    -------
    Recommendation
        `unit`, `size` and `threshold`, which can be passed to `dedup` with ``**found._asdict()``.

    Raises
    ------
    TypeError
        If a text is not str or bytes.
    ValueError
        If a text in the sample is not UTF-8 or has a lone surrogate; the error names its row and
        position.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.Recommendation : Recommended shingles and threshold.
    lshfast.ShortTextsWarning : The warning that texts are too short for the shingles.

    Examples
    --------
    >>> import lshfast
    >>> tweets = [
    ...     f"bus {number} of our town is late again, so we will all be late today"
    ...     for number in range(200)
    ... ]
    >>> lshfast.recommend(tweets)
    Recommendation(unit='word', size=2, threshold=0.55)
    >>> lshfast.dedup(tweets, **lshfast.recommend(tweets)._asdict()).summary.kept
    1
    """
    return recommendation(lengths_of(Texts(texts)))


def recommendation(lengths: Lengths) -> Recommendation:
    """Recommend shingles and a threshold for these lengths; see `recommend`."""
    if not len(lengths.words):
        return Recommendation("word", 5, HIGHEST)
    for unit, size, least in CHOICES:
        if unit == "word" and lengths.are_like_code:
            unit = "symbol"
        similarity = similarity_after(2, lengths.median(unit), unit, size)
        if similarity >= least:
            return Recommendation(
                unit, size, min(HIGHEST, floor(similarity * 20 + 1e-9) / 20)
            )
    return Recommendation("char", 4, 0.5)


def advice_for(column: Column, plan: Plan) -> str:
    """Return advice if texts are in several forms, like code, or too short; or else ""."""
    if not isinstance(column, ShingledTexts):
        return ""
    return advice_of(lengths_of(column.texts), plan)


def advice_of(lengths: Lengths, plan: Plan) -> str:
    """Return the advice of `advice_for` for a sample of texts with these lengths and forms."""
    return lengths.forms.advice(plan.shingles.normalize) or _advice_of_lengths(
        lengths, plan
    )


def _advice_of_lengths(lengths: Lengths, plan: Plan) -> str:
    unit = plan.shingles.unit
    if not lengths.are_many:
        return ""
    if unit in ("word", "stopword") and lengths.are_like_code:
        return CODE_ADVICE
    # The number of shingles after stop words does not follow from the length; and symbols were
    # chosen for other reasons than the length.
    if unit in ("stopword", "symbol"):
        return ""
    target = min(plan.equal_jaccard, HIGHEST)
    if plan.threshold == 1:
        return ""
    reached = similarity_after(1, lengths.median(unit), unit, plan.shingles.size)
    if reached >= target:
        return ""
    better = recommendation(lengths)
    gained = (
        similarity_after(1, lengths.median(better.unit), better.unit, better.size)
        - better.threshold
    )
    if gained <= reached - target:
        return ""
    similarity = reached if plan.measure == "jaccard" else 2 * reached / (1 + reached)
    return (
        f"most texts are short: half of them have at most {lengths.median('word')} words. In such "
        f"a text one changed word leaves a {SIMILARITY_NAMES[plan.measure]} of about "
        f"{similarity:.2f}, below the threshold {plan.threshold:g}. "
        f"Better for these texts: unit {better.unit}, size {better.size}, "
        f"threshold {threshold_for(plan.measure, better):g}"
    )


def threshold_for(measure: PairMeasure, better: Recommendation) -> float:
    """Return the recommended threshold; equal-sized texts have containment 2 J / (1 + J)."""
    if measure == "jaccard":
        return better.threshold
    return floor(40 * better.threshold / (1 + better.threshold) + 1e-9) / 20


def warn_of(advice: str, limited: Limited | None = None) -> None:
    """Warn the caller of a public function of advice, and of comparisons that were left out."""
    if advice == decimal_codes.ADVICE:
        decimal_codes.warn_of_decimal_codes(advice)
    elif advice == ADVICE:
        warnings.warn(advice, MixedFormsWarning, stacklevel=3)
    elif advice:
        category = CodeTextsWarning if advice == CODE_ADVICE else ShortTextsWarning
        warnings.warn(advice, category, stacklevel=3)
    if limited is not None and limited.rows:
        from lshfast._engine.account.crowds import CrowdWarning

        message = f"{limited.rows:,} {limited.note}"
        warnings.warn(message, CrowdWarning, stacklevel=3)
