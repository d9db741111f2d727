"""Two texts beside each other: what one has and the other has not, word by word.

The work and the size of what is shown are limited, whatever the texts are: words are cut, texts are
compared from their first difference on for MOST_WORDS words, and only what surrounds differences is
shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from lshfast._common.extras import optional

# Words of each text that are compared, words shown around a difference, characters shown of a text,
# and the words that a passage must have to count as moved.
MOST_WORDS = 4000
AROUND = 12
MOST_CHARACTERS = 3000
MOVED = 4

Kind: TypeAlias = Literal["same", "other", "moved", "gap"]

# A word of at most 40 characters, an ideograph, white space, or another character.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]{{1,40}}|\s{{1,40}}|[^\w\s]"


class Span(NamedTuple):
    """Text of one kind: in both texts, in this text only, elsewhere in the other, or left out."""

    kind: Kind
    text: str


class Differences(NamedTuple):
    """The spans of two texts."""

    left: list[Span]
    right: list[Span]


def compare(first_text: str, second_text: str) -> Differences:
    """Compare two texts word by word.

    Returns
    -------
    Differences
        The spans of each text, in order. A gap says how much is left out.

    Raises
    ------
    ImportError
        If rapidfuzz is not installed.

    Examples
    --------
    >>> from lshfast._io.pages.differences import compare
    >>> [tuple(span) for span in compare("a red rose", "a white rose").right]
    [('same', 'a '), ('other', 'white'), ('same', ' rose')]
    """
    skipped = _common_start(first_text, second_text)
    words, cut = zip(
        *(_words(text, skipped) for text in (first_text, second_text)), strict=True
    )
    one, other = words
    changes = optional("rapidfuzz.distance").Indel.opcodes(one, other)
    kinds: tuple[list[Kind], list[Kind]] = ["same"] * len(one), ["same"] * len(other)
    for tag, *borders in changes:
        if tag != "equal":
            for side, (start, end) in enumerate((borders[:2], borders[2:])):
                kinds[side][start:end] = ["other"] * (end - start)
    _mark_moved(words, kinds)
    return Differences(
        *(_spans(words[side], kinds[side], skipped, cut[side]) for side in (0, 1))
    )


def excerpt(text: str) -> list[Span]:
    """Return the beginning of a text that is compared with none."""
    return [
        Span("same", text[:MOST_CHARACTERS]),
        *_gap(len(text) - MOST_CHARACTERS, "character"),
    ]


def _common_start(first_text: str, second_text: str) -> int:
    """Return how many characters before the first difference need no comparison.

    They end some words before the difference.
    """
    if first_text == second_text:
        return 0
    low = 0
    high = min(len(first_text), len(second_text))
    while low < high:  # the equal start has low..high characters
        middle = (low + high + 1) // 2
        if first_text[low:middle] == second_text[low:middle]:
            low = middle
        else:
            high = middle - 1
    return max(0, low - 60 * AROUND) if low > 120 * AROUND else 0


def _words(text: str, start: int) -> tuple[list[str], int]:
    """Return the words that are compared, and how many characters follow them."""
    words: list[str] = []
    end = start
    # Compiled when it is first used, and kept by re.
    for match in re.compile(_WORD).finditer(text, start):
        if len(words) == MOST_WORDS:
            break
        words.append(match[0])
        end = match.end()
    return words, len(text) - end


def _mark_moved(words: Sequence[list[str]], kinds: Sequence[list[Kind]]) -> None:
    """Mark what only one text has here, if the other has it elsewhere."""
    grams = [dict(_grams(words[side], kinds[side])) for side in (0, 1)]
    both = set(grams[0].values()) & set(grams[1].values())
    for side in (0, 1):
        for start, gram in grams[side].items():
            if gram in both:
                kinds[side][start : start + 2 * MOVED - 1] = ["moved"] * (2 * MOVED - 1)


def _grams(
    words: list[str], kinds: list[Kind]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield runs of MOVED words in one text only, with the text between, and their start."""
    size = 2 * MOVED - 1
    for start in range(len(words) - size + 1):
        if words[start].strip() and all(
            kind == "other" for kind in kinds[start : start + size]
        ):
            yield start, tuple(words[start : start + size])


def _spans(words: list[str], kinds: list[Kind], skipped: int, cut: int) -> list[Span]:
    """Return the spans of a text: what surrounds differences, up to MOST_CHARACTERS."""
    shown = [False] * len(words)
    reach = 2 * AROUND  # words and what is between them
    changed = [place for place, kind in enumerate(kinds) if kind != "same"] or [0]
    for place in changed:
        start = max(0, place - reach)
        end = place + reach + 1
        shown[start:end] = [True] * (min(end, len(words)) - start)
    spans = _gap(skipped, "character")
    length = left_out = 0
    for word, kind, is_shown in zip(words, kinds, shown, strict=True):
        if not is_shown or length > MOST_CHARACTERS:
            left_out += bool(word.strip())
            continue
        spans += _gap(left_out, "word")
        left_out = 0
        length += len(word)
        if spans and spans[-1].kind == kind:
            spans[-1] = Span(kind, spans[-1].text + word)
        else:
            spans.append(Span(kind, word))
    return [*spans, *_gap(left_out, "word"), *_gap(cut, "character")]


def _gap(number: int, noun: str) -> list[Span]:
    return (
        [Span("gap", f"… {number:,} {noun}{'' if number == 1 else 's'} …")]
        if number > 0
        else []
    )
