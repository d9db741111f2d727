"""Some pairs as examples: a few for each step of similarities, with different texts marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.visible import visible
from lshfast._engine.columns import Column, ShingledTexts
from lshfast.quality.near_pairs import Near
from lshfast.quality.result import Example
from lshfast.quality.sampling import RowSample

# Examples begin this far below the threshold, in steps.
BELOW = 0.2
STEP = 0.05

WORD_BEGINS = re.compile(r"\s+(?=\S)")
LAST_WORD = re.compile(r"\s+\S*\Z")

# Characters of a text before the first difference, and in all.
BEFORE = 30
SHOWN = 90


class _Pair(NamedTuple):
    priority: float
    i: int
    j: int
    similarity: float
    found: bool


class Chosen:
    """Pairs chosen at random, at most `most` in each step of similarities."""

    def __init__(
        self, most: int, threshold: float, sample: RowSample, rng: np.random.Generator
    ) -> None:
        self._most = most
        self._least = threshold - BELOW
        self._sample = sample
        self._rng = rng
        self._steps: dict[int, dict[tuple[int, int], _Pair]] = {}

    def add(self, near_pairs: Near) -> None:
        """Offer pairs."""
        if not self._most:
            return
        steps = np.floor((1 - near_pairs.similarity) / STEP + 1e-9).astype(np.int64)
        priorities = self._rng.random(len(steps))
        for step in np.unique(steps[near_pairs.similarity >= self._least]).tolist():
            places = np.flatnonzero(
                (steps == step) & (near_pairs.similarity >= self._least)
            )
            pairs_of_step = self._steps.setdefault(step, {})
            first = np.argsort(priorities[places])[: 2 * self._most]
            for at in places[first].tolist():
                i, j = sorted(
                    (
                        int(self._sample.rows[near_pairs.place[at]]),
                        int(near_pairs.row[at]),
                    )
                )
                similarity = float(near_pairs.similarity[at])
                is_found = bool(near_pairs.found[at, 0])
                pairs_of_step[i, j] = _Pair(
                    float(priorities[at]), i, j, similarity, is_found
                )
            ranks = sorted(pairs_of_step.values())[: self._most]
            self._steps[step] = {(pair.i, pair.j): pair for pair in ranks}

    def pairs(self) -> list[_Pair]:
        """Return the pairs, the most similar first."""
        all_pairs: list[_Pair] = []
        for pairs_of_step in self._steps.values():
            all_pairs += pairs_of_step.values()
        return sorted(all_pairs, key=lambda pair: (-pair.similarity, pair.i, pair.j))


def examples_of(
    pairs: Sequence[_Pair], column: Column, key_of: Callable[[int], Any]
) -> tuple[Example, ...]:
    """Return pairs with their keys and texts."""
    examples = []
    for pair in pairs:
        first_text, second_text = differing(*_texts(column, pair.i, pair.j))
        keys = key_of(pair.i), key_of(pair.j)
        examples.append(
            Example(*keys, pair.similarity, pair.found, first_text, second_text)
        )
    return tuple(examples)


def _texts(column: Column, i: int, j: int) -> tuple[str, str]:
    """Return the texts of two rows, or nothing for sets."""
    if not isinstance(column, ShingledTexts):
        return "", ""
    texts = column.texts.take(np.array([i, j], np.int64))
    return texts[0].decode("utf-8", "replace"), texts[1].decode("utf-8", "replace")


def differing(first_text: str, second_text: str) -> tuple[str, str]:
    """Return both texts from shortly before they begin to differ, on one line each.

    Examples
    --------
    >>> from lshfast.quality.excerpts import differing
    >>> differing("a rose is a rose", "a rose is red")
    ('a rose is a rose', 'a rose is red')
    """
    shared = min(len(first_text), len(second_text))
    at = next(
        (place for place in range(shared) if first_text[place] != second_text[place]),
        shared,
    )
    start = max(0, min(at - BEFORE, max(len(first_text), len(second_text)) - SHOWN))
    start = _next_word(first_text, start, at)
    return _cut(first_text, start, at), _cut(second_text, start, at)


def _next_word(text: str, start: int, stop: int) -> int:
    """Return where the first word begins from `start` on, or `start` if none begins by `stop`."""
    if start == 0 or text[start - 1].isspace():
        return start
    begin = WORD_BEGINS.search(text, start, stop)
    return start if begin is None else begin.end()


def _cut(text: str, start: int, at: int) -> str:
    """Return a text from `start` on, to the end of a word behind `at` unless that is too far."""
    stop = start + SHOWN
    if stop < len(text) and not text[stop].isspace():
        last_word = LAST_WORD.search(text, start, stop)
        if last_word is not None and last_word.start() > at:
            stop = last_word.start()
    return (
        ("…" if start else "")
        + visible(text[start:stop])
        + ("…" if stop < len(text) else "")
    )
