"""Two texts beside each other: what one has and the other has not, word by word.

What does not count in the comparison of the two, such as case, is shown and never marked alone.

The work and the size of what is shown are limited, whatever the texts are: words are cut, texts are
compared from their first difference on for MOST_WORDS words, and only what surrounds differences is
shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from lshfast._common.extras import optional

# Words of each text that are compared, words shown around a difference, the most words between two
# differences that are shown all, characters shown of a text, and the words that a passage must have
# to count as moved.
MOST_WORDS = 4000
AROUND = 12
SHORT_GAP = 4
MOST_CHARACTERS = 3000
MOVED = 4

# Words behind the first difference of two texts among which the first one that counts is searched.
MOST_UNCOUNTED = 50_000

Kind: TypeAlias = Literal["same", "other", "moved", "gap"]

# A word of at most 40 characters, an ideograph, white space, or another character.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]{{1,40}}|\s{{1,40}}|[^\w\s]"


class Counting(NamedTuple):
    """What counts when two texts are compared."""

    case: bool = True
    accents: bool = True
    punctuation: bool = True
    white_space: bool = True

    @property
    def uncounted(self) -> str:
        """What does not count, as words of a sentence: "case and white space", or ""."""
        names = [
            name.replace("_", " ")
            for name, counts in self._asdict().items()
            if not counts
        ]
        return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


EVERYTHING = Counting()


class Word(NamedTuple):
    """A word of a text or what is between words, its start, and what it is compared as.

    `form` is None if it does not count.
    """

    text: str
    start: int
    form: str | None


class Span(NamedTuple):
    """Text of one kind: in both texts, in this text only, elsewhere in the other, or left out."""

    kind: Kind
    text: str


class Differences(NamedTuple):
    """The spans of two texts."""

    left: list[Span]
    right: list[Span]


def compare(
    first_text: str,
    second_text: str,
    counting: Counting = EVERYTHING,
    in_order: bool = True,
) -> Differences:
    """Compare two texts word by word.

    Parameters
    ----------
    first_text, second_text : str
    counting : Counting
        What counts. Between two marked words, what does not count is marked with them.
    in_order : bool, default True
        Whether the order of the words counts. If not, a word is marked if it is nowhere in the
        other text.

    Returns
    -------
    Differences
        The spans of each text, in order. A gap says how much is left out. Where one text has what
        the other has not, both are shown around this place.

    Raises
    ------
    ImportError
        If rapidfuzz is not installed.

    Examples
    --------
    >>> from lshfast._io.pages.differences import Counting, compare
    >>> [tuple(span) for span in compare("a red rose", "a white rose").right]
    [('same', 'a '), ('other', 'white'), ('same', ' rose')]
    >>> compare("A rose!", "a rose", Counting(case=False, punctuation=False)).left
    [Span(kind='same', text='A rose!')]
    """
    starts = _starts(first_text, second_text, counting) if in_order else (0, 0)
    sides = [
        _MarkedText(text, start, counting)
        for text, start in zip((first_text, second_text), starts, strict=True)
    ]
    if not in_order:
        _mark_without_order(sides)
        return Differences(*(side.spans() for side in sides))
    changes = optional("rapidfuzz.distance").Indel.opcodes(
        *(side.forms for side in sides)
    )
    for tag, *borders in changes:
        if tag != "equal":
            for side, (start, end) in zip(
                sides, (borders[:2], borders[2:]), strict=True
            ):
                side.mark(start, end)
    _mark_moved(sides, MOVED if not counting.white_space else 2 * MOVED - 1)
    return Differences(*(side.spans() for side in sides))


def excerpt(text: str) -> list[Span]:
    """Return the beginning of a text that is compared with none."""
    return [
        Span("same", text[:MOST_CHARACTERS]),
        *_gap(len(text) - MOST_CHARACTERS, "character"),
    ]


class _MarkedText:
    """The words of a text from a place on, and which of those that count are marked.

    Attributes
    ----------
    forms : list of str
        Of the words that count.
    kinds : list of Kind
        Theirs.
    """

    def __init__(self, text: str, start: int, counting: Counting) -> None:
        self._words = list(islice(_words(text, start, counting), MOST_WORDS))
        end = (
            self._words[-1].start + len(self._words[-1].text) if self._words else start
        )
        self._skipped = start
        self._cut = len(text) - end
        # The places of the words that count, and of the end.
        self._places = [
            place for place, word in enumerate(self._words) if word.form is not None
        ]
        self._borders: list[int] = []
        self.forms = [word.form for word in self._words if word.form is not None]
        self.kinds: list[Kind] = ["same"] * len(self.forms)

    def mark(self, start: int, end: int) -> None:
        """Mark a range of the words that count, which the other text has not; it may be empty."""
        self.kinds[start:end] = ["other"] * (end - start)
        if start < len(self._places):
            self._borders.append(self._places[start])
        elif self._words:
            self._borders.append(len(self._words) - 1)

    def spans(self) -> list[Span]:
        """Return the spans of the text: what surrounds differences, up to MOST_CHARACTERS."""
        shown = self._shown()
        spans = _gap(self._skipped, "character")
        length = left_out = 0
        for word, kind, is_shown in zip(
            self._words, self._all_kinds(), shown, strict=True
        ):
            if not is_shown or length > MOST_CHARACTERS:
                left_out += bool(word.text.strip())
                continue
            spans += _gap(left_out, "word")
            left_out = 0
            text = word.text if word.form is not None else _few_lines(word.text)
            length += len(text)
            if spans and spans[-1].kind == kind:
                spans[-1] = Span(kind, spans[-1].text + text)
            else:
                spans.append(Span(kind, text))
        return [*spans, *_gap(left_out, "word"), *_gap(self._cut, "character")]

    def _all_kinds(self) -> list[Kind]:
        """Return the kind of each word; what does not count has that of both its neighbours."""
        kinds: list[Kind] = ["same"] * len(self._words)
        previous_kind: Kind = "same"
        previous_place = -1
        for place, kind in zip(self._places, self.kinds, strict=True):
            first = previous_place + 1 if kind == previous_kind else place
            kinds[first : place + 1] = [kind] * (place + 1 - first)
            previous_kind = kind
            previous_place = place
        return kinds

    def _shown(self) -> list[bool]:
        """Return which words are shown: those around differences, or the first ones."""
        shown = [False] * len(self._words)
        reach = 2 * AROUND  # words and what is between them
        changed = [
            place
            for place, kind in zip(self._places, self.kinds, strict=True)
            if kind != "same"
        ]
        last_end = 0
        for place in sorted([*changed, *self._borders]) or [0]:
            start = max(0, place - reach)
            start -= self._is_space(start - 1)
            if start - last_end <= 2 * SHORT_GAP:
                start = last_end
            end = place + reach + 1
            end = min(max(end + self._is_space(end), last_end), len(shown))
            shown[start:end] = [True] * (end - start)
            last_end = end
        if len(shown) - last_end <= 2 * SHORT_GAP:
            shown[last_end:] = [True] * (len(shown) - last_end)
        return shown

    def _is_space(self, place: int) -> bool:
        """Return whether there is white space at a place among the words."""
        return 0 <= place < len(self._words) and self._words[place].text.isspace()


def _few_lines(space: str) -> str:
    """Return what does not count with one empty line in place of several."""
    return "\n\n" if space.isspace() and space.count("\n") > 2 else space


def _starts(first_text: str, second_text: str, counting: Counting) -> tuple[int, int]:
    """Return how many characters of each text before the first difference need no comparison.

    They end some words before the difference.
    """
    start = _common_start(first_text, second_text)
    if counting == EVERYTHING or first_text == second_text:
        return start, start
    # Pairs of words that count, as far as they are equal.
    forms = [
        (
            word
            for word in islice(_words(text, start, counting), MOST_UNCOUNTED)
            if word.form is not None
        )
        for text in (first_text, second_text)
    ]
    equal_words: deque[tuple[int, int]] = deque(maxlen=5 * AROUND)
    for first, second in zip(*forms, strict=False):
        if first.form != second.form:
            break
        equal_words.append((first.start, second.start))
    else:
        return start, start
    if equal_words and equal_words[0][0] - start > 120 * AROUND:
        return equal_words[0]
    return start, start


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


def _words(text: str, start: int, counting: Counting) -> Iterator[Word]:
    """Yield the words of a text from a place on, and what is between them."""
    in_word = False
    # Compiled when it is first used, and kept by re.
    for match in re.compile(_WORD).finditer(text, start):
        shown = match[0]
        is_mark = in_word and unicodedata.category(shown[0])[0] == "M"
        in_word = is_mark or shown[0].isalnum() or shown[0] == "_"
        if in_word:
            form = _form(shown, counting) or None
        elif shown.isspace():
            form = shown if counting.white_space else None
        else:
            form = shown if counting.punctuation else None
        yield Word(shown, match.start(), form)


def _form(word: str, counting: Counting) -> str:
    """Return what a word is compared as; "" for marks that do not count."""
    if word.isascii():
        return word if counting.case else word.lower()
    if not counting.accents:
        decomposed = unicodedata.normalize("NFKD", word)
        word = "".join(
            character
            for character in decomposed
            if not unicodedata.combining(character)
        )
    if not counting.case:
        # Letter by letter, since the lower case of shingles depends on no other letter.
        word = "".join(character.lower()[0] for character in word)
    return word


def _mark_without_order(sides: Sequence[_MarkedText]) -> None:
    """Mark the words that the other text has nowhere."""
    forms = [set(side.forms) for side in sides]
    for side, other_forms in zip(sides, reversed(forms), strict=True):
        for place, form in enumerate(side.forms):
            if form not in other_forms:
                side.mark(place, place + 1)


def _mark_moved(sides: Sequence[_MarkedText], size: int) -> None:
    """Mark what only one text has here, if the other has it elsewhere.

    A passage has at least `size` of the words that count, or of these and what is between them.
    """
    grams = [dict(_grams(side, size)) for side in sides]
    both = set(grams[0].values()) & set(grams[1].values())
    for side, grams_of_side in zip(sides, grams, strict=True):
        for start, gram in grams_of_side.items():
            if gram in both:
                side.kinds[start : start + size] = ["moved"] * size


def _grams(side: _MarkedText, size: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield runs of words that only one text has, and their start."""
    for start in range(len(side.forms) - size + 1):
        if side.forms[start].strip() and all(
            kind == "other" for kind in side.kinds[start : start + size]
        ):
            yield start, tuple(side.forms[start : start + size])


def _gap(number: int, noun: str) -> list[Span]:
    return (
        [Span("gap", f"… {number:,} {noun}{'' if number == 1 else 's'} …")]
        if number > 0
        else []
    )
