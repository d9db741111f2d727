"""Texts as sequences of numbers, equal for equal words or characters, for comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lshfast._common.rows import int64_range, run_begins
from lshfast._common.run_key import P, draw_hash_key
from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array, UInt32Array
from lshfast.kernels import passages, unicode
from lshfast.kernels.text import Texts, word_shingles
from lshfast.passages.plan import PassagePlan
from lshfast.shingling import PIECE_BYTES

# The first of the numbers between texts: hashes of words are less.
_BETWEEN = np.uint32(1 << 31)


@dataclass(frozen=True)
class UnitTexts:
    """Some texts as units, one after the other; each number between texts is unique.

    Attributes
    ----------
    starts : int64 (n,)
        The place of each text's first unit in `units`.
    counts : int64 (n,)
        Its number of units.
    units : uint32 (m,)
    """

    starts: Int64Array
    counts: Int64Array
    units: UInt32Array

    def rows_of(self, places: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the text of each place, and the unit in it."""
        rows = np.searchsorted(self.starts, places, side="right") - 1
        return rows.astype(np.int64), places - self.starts[rows]

    def place(self, places: Int64Array, per_row: Int64Array) -> Int64Array:
        """Convert numbers of units, `per_row` for each text, to places in `units`."""
        return places + np.repeat(int64_range(1, len(self.starts) + 1), per_row)


def draw_multiplier() -> int:
    """Draw a secret multiplier of hashes."""
    import secrets

    return 1 + secrets.randbelow(P - 2)


def make_vocabulary(plan: PassagePlan) -> passages.Vocabulary | None:
    """Return an empty vocabulary; None for characters, which need none."""
    return passages.Vocabulary(draw_multiplier()) if plan.unit == "word" else None


def number_units(
    texts: Texts,
    counts: Int64Array,
    vocabulary: passages.Vocabulary | None,
    is_held: bool,
) -> UnitTexts:
    """Return normalized texts as units. New words are added to the vocabulary if `is_held`."""
    units = passages.units_of(texts, counts, vocabulary, is_held)
    return UnitTexts(np.cumsum(counts + 1, dtype=np.int64) - counts, counts, units)


def hash_words(texts: Texts, counts: Int64Array, bits: int) -> UnitTexts:
    """Return texts as hashes of their words under a new key.

    Different words may have one hash of `bits`. This is much faster than numbers of a vocabulary.
    At most 31 bits, and fewer than 2**31 texts.
    """
    if len(texts) >= _BETWEEN:
        raise MemoryError(f"{len(texts)} texts are too many to be compared at once")
    starts = np.cumsum(counts + 1, dtype=np.int64) - counts
    key = draw_hash_key()
    units = np.empty(int(counts.sum()) + len(counts) + 1, np.uint32)
    between = np.append(starts - 1, len(units) - 1)
    for rows in pieces(texts.lengths, PIECE_BYTES):
        _, words = word_shingles(texts.take(rows), 1, key)
        piece = units[between[rows.start] : between[rows.stop]]
        is_word = np.ones(len(piece), np.bool_)
        is_word[between[rows] - between[rows.start]] = False
        piece[is_word] = words & np.uint64((1 << bits) - 1)
    units[between] = _BETWEEN + np.arange(len(between), dtype=np.uint32)
    return UnitTexts(starts, counts, units)


def bounds_of(texts: Texts, rows: Any, units: Any, plan: PassagePlan) -> Int64Array:
    """Return where units begin and end: first byte, end byte, first character, end character.

    The result is int64 (n, 4). The units are those of the normal form, and the places are those of
    the texts as they are: of characters that became others together, each gets the place of all.
    """
    if not len(rows):
        return np.empty((0, 4), np.int64)
    order = np.lexsort((units, rows))
    rows = rows[order]
    units = units[order]
    new = run_begins(rows, units)
    places = _places_of(texts, rows[new], units[new], plan)
    bounds = np.empty((len(order), 4), np.int64)
    bounds[order] = places[np.cumsum(new, dtype=np.int64) - 1]
    return bounds


def _places_of(
    texts: Texts, rows: Int64Array, units: Int64Array, plan: PassagePlan
) -> Int64Array:
    """Return the bounds of units that rise by text and number."""
    words = plan.unit == "word"
    if plan.normalize == "none":
        return passages.locate(texts, rows, units, words)
    is_first = run_begins(rows)
    located = texts.take(rows[is_first])
    numbers = np.cumsum(is_first, dtype=np.int64) - 1
    places = passages.locate(plan.normalized(located), numbers, units, words)
    return unicode.origins(located, plan.normalize, numbers, places)
