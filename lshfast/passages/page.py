"""The page of a search for shared passages: how much of each text they cover, and texts beside each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from lshfast._common.display import Figure, counted
from lshfast._common.types import Int64Array
from lshfast._io.pages.diagrams import SharedPart, covered, text_map
from lshfast._io.pages.page import render, short
from lshfast._io.pages.svg import Bar, Bin, bars, histogram
from lshfast.passages.plan import PassagePlan
from lshfast.passages.spans import Ranges, Spans

# What is shown: pairs of texts with the most in common, and others; texts of a table; parts of a
# text in a stripe; passages of a pair in a map, and as text; characters of a passage at its
# beginning and its end, and around it.
MOST_ALIKE = 6
OVER_RANGE = 6
MOST_TEXTS = 40
MOST_FILES = 40
MOST_PARTS = 100
MOST_BANDS = 200
MOST_SHOWN = 8
BEGINNING = 450
END = 150
AROUND = 160
LONG_WORD = 24  # characters; shorter words are not cut
MAP_CHARACTERS = 50  # of the names in a map

COLUMNS = 20  # of the histogram of shares

# Of a file: its name, its rows, those that are too short, those with a passage, its passages, and
# its rows with passages that are not listed.
FileRow: TypeAlias = tuple[str, int, int, int, int, int]

PieceKind: TypeAlias = Literal["same", "gap", "passage"]


class FoundSpans(Protocol):
    """What a page shows of a `SharedPassages`."""

    @property
    def spans(self) -> Spans: ...
    @property
    def units(self) -> Int64Array: ...
    @property
    def covered(self) -> Int64Array: ...
    @property
    def against_units(self) -> Int64Array | None: ...
    @property
    def against_covered(self) -> Int64Array | None: ...
    @property
    def unlisted(self) -> Int64Array: ...
    @property
    def against_unlisted(self) -> Int64Array | None: ...
    @property
    def plan(self) -> PassagePlan: ...
    def places(self, side: str) -> Ranges:
        """Return the ranges of units that passages cover in the texts of a side, listed or not."""


@dataclass(frozen=True)
class PageSide:
    """The texts of one side: the key of a row, and the texts of ascending rows, or None if they are
    not shown.
    """

    key: Callable[[int], object] = int
    texts: Callable[[Int64Array], Mapping[int, str]] | None = None


class Piece(NamedTuple):
    """Text of one side: between passages, left out, or the passage of a number."""

    kind: PieceKind
    text: str
    number: int = 0


class TextShare(NamedTuple):
    """How much of a text passages cover.

    Its key, units, those in passages, where these are, texts that share them, and units in no
    listed passage.
    """

    key: str
    units: int
    covered: int
    stripe: Any
    others: int
    unlisted: int

    @property
    def share(self) -> float:
        """The covered part, in [0, 1]."""
        return self.covered / max(self.units, 1)


class PairExample(NamedTuple):
    """Two texts that share passages."""

    keys: tuple[str, str]
    note: str
    map: Any
    left: list[Piece]
    right: list[Piece]


class TextPair(NamedTuple):
    """Two texts, the numbers of their spans, and the units in these."""

    i: int
    j: int
    spans: Int64Array
    units: int


def page_of(
    found: FoundSpans,
    sides: tuple[PageSide, PageSide],
    *,
    title: str,
    account: Iterable[Figure],
    files: Sequence[FileRow] = (),
    command: str = "",
    texts: bool = True,
) -> str:
    """Return the page of a search.

    Parameters
    ----------
    found : FoundSpans
    sides : tuple of two PageSides
        The texts, and the others; within one corpus, both are the same.
    title : str
    account : iterable of Figure
    files : sequence of FileRow
        Those of the other texts.
    command : str
        The command that repeats the search.
    texts : bool
        Whether texts are shown; the page says so if not.
    """
    against = found.against_units is not None
    return render(
        "passages.html",
        title=title,
        found=found,
        against=against,
        unit=found.plan.unit,
        cards=_cards(found),
        account=[*account],
        shares=_shares(counts_of_side(found, "j" if against else "i")),
        lengths=_lengths(found.spans["units"], found.plan),
        tables=[*_tables(found, sides)],
        unlisted=unlisted_note(found),
        files=sorted(files, key=lambda row: -row[3])[:MOST_FILES],
        examples={reason: some for reason, some in _examples(found, sides, texts) if some},
        texts=texts,
        command=command,
    )


class SideCounts(NamedTuple):
    """The units of each text of a side, how many of them are in passages, and in passages that are
    not listed alone.
    """

    units: Int64Array
    covered: Int64Array
    unlisted: Int64Array


def counts_of_side(found: FoundSpans, side: str) -> SideCounts:
    """Return the counts of the texts i or j; within one corpus, both are the same."""
    units = found.against_units
    covered = found.against_covered
    unlisted = found.against_unlisted
    if side == "i" or units is None or covered is None or unlisted is None:
        return SideCounts(found.units, found.covered, found.unlisted)
    return SideCounts(units, covered, unlisted)


def rows_with_unlisted(found: FoundSpans) -> int:
    """Return how many texts, of both sides, have passages that are not listed."""
    sides = (
        [found.unlisted]
        if found.against_unlisted is None
        else [found.unlisted, found.against_unlisted]
    )
    return sum(int((unlisted > 0).sum()) for unlisted in sides)


def unlisted_note(found: FoundSpans) -> str:
    """Return how many texts have passages that are not listed, and why; "" if there are none."""
    texts = rows_with_unlisted(found)
    return (
        f"{counted(texts, 'text')} with passages that are not listed: {left_out(found.plan)}"
        if texts
        else ""
    )


def left_out(plan: PassagePlan) -> str:
    """Return why passages are not listed."""
    return (
        f"of runs of {counted(plan.length, plan.unit)} that occur at more than "
        f"{plan.most_copies:,} places, only the "
        "first place is listed (most_copies, --most-copies)"
    )


def unlisted_figures(found: FoundSpans) -> Iterator[Figure]:
    """Yield the line of the account for texts with passages that are not listed, if there
    are any.
    """
    note = unlisted_note(found)
    if note:
        texts, _, reason = note.partition(" ")
        yield Figure("not listed", texts, reason)


def _cards(found: FoundSpans) -> list[tuple[str, str, str]]:
    """Return names, values and notes of the figures at the top."""
    own = counts_of_side(found, "i")
    share = own.covered.sum() / max(int(own.units.sum()), 1)
    cards = [
        ("passages", f"{len(found.spans):,}", ""),
        ("texts", f"{len(own.units):,}", ""),
        (
            "texts with passages" if found.against_units is not None else "texts with copies",
            f"{int((own.covered > 0).sum()):,}",
            "",
        ),
        (f"{found.plan.unit}s covered", f"{int(own.covered.sum()):,}", f"{share:.1%}"),
    ]
    if found.against_units is not None:
        other = counts_of_side(found, "j")
        touched = int((other.covered > 0).sum())
        cards.append(("other texts", f"{len(other.units):,}", ""))
        cards.append(
            ("of them contaminated", f"{touched:,}", f"{touched / max(len(other.units), 1):.1%}")
        )
    return cards


def _shares(own: SideCounts) -> Any:
    """Return the histogram of the texts by the part of them that is covered."""
    rows = np.flatnonzero(own.covered)
    if not len(rows):
        return None
    share = own.covered[rows] / own.units[rows]
    counts = np.bincount(
        np.minimum(np.floor(share * COLUMNS).astype(np.int64), COLUMNS - 1), minlength=COLUMNS
    )
    columns = [
        Bin(at / COLUMNS, (at + 1) / COLUMNS, int(number)) for at, number in enumerate(counts)
    ]
    title = "Texts with passages by the share that these cover"
    return histogram(columns, title, axis=(0.0, 1.0), x_label="share of the text in passages")


def _lengths(units: Int64Array, plan: PassagePlan) -> Any:
    """Return how many passages there are of each length, in steps that double."""
    rows = []
    low = plan.length
    while low <= int(units.max(initial=0)):
        number = int(((units >= low) & (units < 2 * low)).sum())
        rows.append(Bar(f"{low:,} to {2 * low - 1:,}", number, f"{number:,}"))
        low *= 2
    return bars(rows, f"Passages by their length in {plan.unit}s") if rows else None


def _tables(
    found: FoundSpans, sides: tuple[PageSide, PageSide]
) -> Iterator[tuple[str, list[TextShare]]]:
    """Yield the texts of which most is covered."""
    if found.against_units is not None:
        yield "The other texts of which passages cover most", _covered_texts(found, sides[1], "j")
        yield "The texts of which passages cover most", _covered_texts(found, sides[0], "i")
    else:
        yield "The texts of which later copies cover most", _covered_texts(found, sides[0], "j")


def _covered_texts(found: FoundSpans, own: PageSide, side: str) -> list[TextShare]:
    counts = counts_of_side(found, side)
    rows = np.flatnonzero(counts.covered)
    order = np.lexsort((-counts.covered[rows], -counts.covered[rows] / counts.units[rows]))
    shown = rows[order[:MOST_TEXTS]]
    spans = found.spans[np.isin(found.spans[side], shown)]
    places = found.places(side)
    other = "i" if side == "j" else "j"
    found_rows = []
    for row in shown.tolist():
        mine = spans[spans[side] == row]
        units = int(counts.units[row])
        stripe = covered(_parts(places, row, units)[:MOST_PARTS])
        others = mine[other]
        if found.against_units is None:
            others = others[others != row]
        found_rows.append(
            TextShare(
                short(own.key(row)),
                units,
                int(counts.covered[row]),
                stripe,
                len(np.unique(others)),
                int(counts.unlisted[row]),
            )
        )
    return found_rows


def _parts(places: Ranges, row: int, units: int) -> list[tuple[float, float]]:
    """Return where passages are in a text, as parts of it, each place once."""
    ranges = slice(*np.searchsorted(places.rows, (row, row + 1)).tolist())
    bounds = zip(places.start[ranges].tolist(), places.end[ranges].tolist(), strict=True)
    return [(start / max(units, 1), end / max(units, 1)) for start, end in bounds]


def _examples(
    found: FoundSpans, sides: tuple[PageSide, PageSide], texts: bool
) -> Iterator[tuple[str, list[PairExample]]]:
    """Yield why pairs of texts are shown, and the pairs."""
    pairs = _pairs(found)
    spread = np.linspace(
        MOST_ALIKE, len(pairs) - 1, min(max(len(pairs) - MOST_ALIKE, 0), OVER_RANGE)
    )
    chosen = {
        "Texts with the most in common": pairs[:MOST_ALIKE],
        "Other texts": [
            pairs[place] for place in np.unique(spread.round().astype(np.int64)).tolist()
        ],
    }
    known: list[Mapping[int, str]] = [{}, {}]
    if texts:
        every = [pair for some in chosen.values() for pair in some]
        known = [
            _texts(sides[0], [pair.i for pair in every]),
            _texts(sides[1], [pair.j for pair in every]),
        ]
    for reason, some in chosen.items():
        yield reason, [_example(found, sides, pair, known) for pair in some]


def _texts(side: PageSide, rows: Iterable[int]) -> Mapping[int, str]:
    wanted = np.array(sorted(set(rows)), np.int64)
    return {} if side.texts is None or not len(wanted) else side.texts(wanted)


def _pairs(found: FoundSpans) -> list[TextPair]:
    """Return for each text j the text i with which it has most in common, those with most in common
    first.
    """
    spans = found.spans
    if not len(spans):
        return []
    order = np.lexsort((spans["i"], spans["j"]))
    i = spans["i"][order]
    j = spans["j"][order]
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(i) != 0) | (np.diff(j) != 0)]))
    units = np.add.reduceat(spans["units"][order], starts)
    ends = np.append(starts[1:], len(order))
    best = np.argsort(-units, kind="stable")
    _, first = np.unique(j[starts[best]], return_index=True)
    chosen = best[np.sort(first)]
    return [
        TextPair(
            int(i[starts[at]]),
            int(j[starts[at]]),
            np.sort(order[starts[at] : ends[at]]),
            int(units[at]),
        )
        for at in (chosen if len(chosen) < 1000 else chosen[_thinned(len(chosen))]).tolist()
    ]


def _thinned(size: int) -> Int64Array:
    """Return the first places, and some over the whole of `size`."""
    spread = np.linspace(MOST_ALIKE, size - 1, OVER_RANGE).round().astype(np.int64)
    return np.append(np.arange(MOST_ALIKE, dtype=np.int64), spread)


def _example(
    found: FoundSpans,
    sides: tuple[PageSide, PageSide],
    pair: TextPair,
    known: Sequence[Mapping[int, str]],
) -> PairExample:
    spans = found.spans[pair.spans]
    keys = short(sides[0].key(pair.i)), short(sides[1].key(pair.j))
    units = (
        int(counts_of_side(found, "i").units[pair.i]),
        int(counts_of_side(found, "j").units[pair.j]),
    )
    bands = []
    for i, j, size in spans[["i_unit", "j_unit", "units"]][:MOST_BANDS].tolist():
        first, second = (
            (at / total, (at + size) / total) for at, total in zip((i, j), units, strict=True)
        )
        bands.append(SharedPart(first, second, counted(size, found.plan.unit)))
    note = f"{counted(len(spans), 'passage')}, {counted(pair.units, found.plan.unit)} together"
    longest = np.sort(np.argsort(-spans["units"], kind="stable")[:MOST_SHOWN])
    if len(spans) > len(longest):
        note += f"; the {len(longest)} longest are shown"
    names = [
        f"{short(key, MAP_CHARACTERS)}: {counted(size, found.plan.unit)}"
        for key, size in zip(keys, units, strict=True)
    ]
    drawn = text_map(names[0], names[1], bands, note)
    left, right = (
        _pieces(known[at][row], spans[longest], side) if row in known[at] else []
        for at, (side, row) in enumerate((("i", pair.i), ("j", pair.j)))
    )
    return PairExample(keys, note, drawn, left, right)


def _pieces(text: str, spans: Spans, side: str) -> list[Piece]:
    """Return passages of a text with what is around them; of passages that overlap, the later one
    is shown in part.
    """
    starts = spans[f"{side}_start"].tolist()
    ends = spans[f"{side}_end"].tolist()
    pieces: list[Piece] = []
    done = 0
    for place in sorted(range(len(starts)), key=lambda at: (starts[at], ends[at])):
        start = max(starts[place], done)
        end = max(ends[place], done)
        pieces += _between(text, done, start, bool(pieces))
        pieces += _passage(text[start:end], place + 1)
        done = end
    end = _word_end(text, done + AROUND)
    return [*pieces, Piece("same", text[done:end]), *_gap(len(text) - end)]


def _between(text: str, start: int, end: int, after: bool) -> list[Piece]:
    """Return what is between two passages, or before the first; of a long part, its ends."""
    before = AROUND if after else 0
    if end - start <= before + AROUND:
        return [Piece("same", text[start:end])]
    left = _word_end(text, start + before) if after else start
    right = _word_start(text, end - AROUND)
    return [Piece("same", text[start:left]), *_gap(right - left), Piece("same", text[right:end])]


def _passage(text: str, number: int) -> list[Piece]:
    """Return a passage; of a long one, its beginning and its end."""
    if len(text) <= BEGINNING + END:
        return [Piece("passage", text, number)]
    left = _word_end(text, BEGINNING)
    right = _word_start(text, len(text) - END)
    return [
        Piece("passage", text[:left], number),
        *_gap(right - left),
        Piece("passage", text[right:]),
    ]


def _word_end(text: str, place: int) -> int:
    """Return the space nearest before a place at which a text is cut, or the place if it is in a
    long word.
    """
    space = text.rfind(" ", place - LONG_WORD, place + 1)
    return place if place >= len(text) or space < 0 else space


def _word_start(text: str, place: int) -> int:
    """Return where the next word begins after a place at which a text is cut, or the place if it is
    in a long word.
    """
    space = text.find(" ", place - 1, place + LONG_WORD)
    return place if space < 0 else space + 1


def _gap(characters: int) -> list[Piece]:
    return [Piece("gap", f"… {counted(characters, 'character')} …")] if characters > 0 else []
