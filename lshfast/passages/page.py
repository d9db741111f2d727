"""The page of a search for shared passages: how much they cover, and texts as examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from lshfast._common.display import Figure, counted
from lshfast._common.rows import int64_range, runs_of
from lshfast._common.types import Int64Array
from lshfast._io.pages.diagrams import SharedPart, covered, text_map
from lshfast._io.pages.page import over_range, render, short
from lshfast._io.pages.svg import Bar, bars, bins_of_shares, histogram
from lshfast.passages.pairs import TextPairs, one_of_each_crowd
from lshfast.passages.plan import PassagePlan
from lshfast.passages.spans import Ranges, Spans

# What is shown: pairs of texts with the most in common, and others; texts of a table; parts of a
# text in a stripe; passages of a pair in a map, and as text; characters of a passage at its
# beginning and its end, and around it.
MOST_ALIKE = 6
OVER_RANGE = 6
MOST_TEXTS = 40
MOST_FILES = 40
MOST_PAIRS = 40
EXCERPT = 160  # characters of the longest passage of a pair
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
    def pairs(self) -> TextPairs: ...
    @property
    def plan(self) -> PassagePlan: ...
    def texts(self, which: Int64Array, /) -> list[str]:
        """Return the texts of some spans."""

    def places(self, side: str) -> Ranges:
        """Return the ranges of units that passages cover in the texts of a side, listed or not."""


@dataclass(frozen=True)
class PageSide:
    """The texts of one side: the key of a row, and the texts of ascending rows, or None.

    None means that texts are not shown.
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


class PairShares(NamedTuple):
    """Two texts that share passages: their keys and shares, and what is said of the passages.

    `crowd` says how many texts have the longest passage, if these are more than two.
    """

    keys: tuple[str, str]
    shares: tuple[float, float]
    passages: int
    longest: int
    crowd: str
    text: str


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
    spans: FoundSpans,
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
    spans : FoundSpans
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
    against = spans.against_units is not None
    pairs = _pair_shares(spans, sides, texts)
    return render(
        "passages.html",
        title=title,
        sentences=_sentences(spans, pairs),
        found=spans,
        against=against,
        unit=spans.plan.unit,
        cards=_cards(spans),
        account=[*account],
        shares=_shares(counts_of_side(spans, "j" if against else "i")),
        pairs=pairs,
        pair_count=len(spans.pairs),
        lengths=_lengths(spans.spans["units"], spans.plan),
        tables=[*_tables(spans, sides)],
        unlisted=unlisted_note(spans),
        files=sorted(files, key=lambda row: -row[3])[:MOST_FILES],
        examples={
            reason: pairs for reason, pairs in _examples(spans, sides, texts) if pairs
        },
        texts=texts,
        command=command,
    )


class SideCounts(NamedTuple):
    """The units of each text of a side, those in passages, and those in unlisted ones only."""

    units: Int64Array
    covered: Int64Array
    unlisted: Int64Array


def counts_of_side(spans: FoundSpans, side: str) -> SideCounts:
    """Return the counts of the texts i or j; within one corpus, both are the same."""
    units = spans.against_units
    covered = spans.against_covered
    unlisted = spans.against_unlisted
    if side == "i" or units is None or covered is None or unlisted is None:
        return SideCounts(spans.units, spans.covered, spans.unlisted)
    return SideCounts(units, covered, unlisted)


def rows_with_unlisted(spans: FoundSpans) -> int:
    """Return how many texts, of both sides, have passages that are not listed."""
    sides = [spans.unlisted]
    if spans.against_unlisted is not None:
        sides.append(spans.against_unlisted)
    return sum(int((unlisted > 0).sum()) for unlisted in sides)


def unlisted_note(spans: FoundSpans) -> str:
    """Return how many texts have passages that are not listed, and why; "" if there are none."""
    texts = rows_with_unlisted(spans)
    if not texts:
        return ""
    return f"{counted(texts, 'text')} with passages that are not listed: {left_out(spans.plan)}"


def left_out(plan: PassagePlan) -> str:
    """Return why passages are not listed."""
    return (
        f"of runs of {counted(plan.length, plan.unit)} that occur at more than "
        f"{plan.most_copies:,} places, only the "
        "first place is listed (most_copies, --most-copies)"
    )


def unlisted_figures(spans: FoundSpans) -> Iterator[Figure]:
    """Yield the line of the account for texts with unlisted passages, if there are any."""
    note = unlisted_note(spans)
    if note:
        texts, _, reason = note.partition(" ")
        yield Figure("not listed", texts, reason)


def _cards(spans: FoundSpans) -> list[tuple[str, str, str]]:
    """Return names, values and notes of the figures at the top."""
    first_counts = counts_of_side(spans, "i")
    share = first_counts.covered.sum() / max(int(first_counts.units.sum()), 1)
    rows = int((first_counts.covered > 0).sum())
    counted_places = "later copies" if spans.against_units is None else "passages"
    cards = [
        ("passages", f"{len(spans.spans):,}", ""),
        ("texts", f"{len(first_counts.units):,}", ""),
        (f"texts with {counted_places}", f"{rows:,}", ""),
        (
            f"{spans.plan.unit}s in {counted_places}",
            f"{int(first_counts.covered.sum()):,}",
            f"{share:.1%}",
        ),
    ]
    if spans.against_units is not None:
        other = counts_of_side(spans, "j")
        touched = int((other.covered > 0).sum())
        cards.append(("other texts", f"{len(other.units):,}", ""))
        cards.append(
            (
                "of them contaminated",
                f"{touched:,}",
                f"{touched / max(len(other.units), 1):.1%}",
            )
        )
    return cards


def _sentences(spans: FoundSpans, pairs: Sequence[PairShares]) -> list[str]:
    """Return how many texts share passages, and the two that share most."""
    length = counted(spans.plan.length, spans.plan.unit)
    count = counted(len(spans.units), "text")
    if not len(spans.pairs):
        return [f"No texts share a passage of at least {length}; {count} in all."]
    if spans.against_units is None:
        rows = len(np.unique([spans.pairs["i"], spans.pairs["j"]]))
        pair_count = counted(len(spans.pairs), "pair")
        texts = (
            f"{rows:,} of {count} share passages of at least {length} with another one: "
            f"{pair_count} of texts."
        )
    else:
        rows = len(np.unique(spans.pairs["j"]))
        other_count = counted(len(spans.against_units), "other text")
        verb = "shares" if rows == 1 else "share"
        texts = f"{rows:,} of {other_count} {verb} passages of at least {length} with the {count}."
    first, second = pairs[0].keys
    shares = pairs[0].shares
    return [
        texts,
        f"The greatest share: {shares[0]:.1%} of {first} and {shares[1]:.1%} of {second} are in "
        "passages that both have.",
    ]


def _pair_shares(
    spans: FoundSpans, sides: tuple[PageSide, PageSide], texts: bool
) -> list[PairShares]:
    """Return the pairs of texts with the greatest shares in passages; of a crowd, one pair."""
    pairs = one_of_each_crowd(spans.pairs)[:MOST_PAIRS]
    passages = spans.texts(np.ascontiguousarray(pairs["span"])) if texts else []
    rows = []
    for number, pair in enumerate(pairs):
        crowd = ""
        if pair["texts"] > 2:
            first = short(sides[1].key(int(pair["first"])), MAP_CHARACTERS)
            crowd = f"in {int(pair['texts']):,} texts, as {first}"
        rows.append(
            PairShares(
                (
                    short(sides[0].key(int(pair["i"]))),
                    short(sides[1].key(int(pair["j"]))),
                ),
                (float(pair["i_share"]), float(pair["j_share"])),
                int(pair["passages"]),
                int(pair["longest"]),
                crowd,
                short(passages[number], EXCERPT) if texts else "",
            )
        )
    return rows


def _shares(side_counts: SideCounts) -> Any:
    """Return the histogram of the texts by the part of them that is covered."""
    rows = np.flatnonzero(side_counts.covered)
    if not len(rows):
        return None
    share = side_counts.covered[rows] / side_counts.units[rows]
    return histogram(
        bins_of_shares(share, COLUMNS),
        "Texts with passages by the share that these cover",
        axis=(0.0, 1.0),
        x_label="share of the text in passages",
    )


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
    spans: FoundSpans, sides: tuple[PageSide, PageSide]
) -> Iterator[tuple[str, list[TextShare]]]:
    """Yield the texts of which most is covered."""
    if spans.against_units is not None:
        yield (
            "The other texts of which passages cover most",
            _covered_texts(spans, sides[1], "j"),
        )
        yield (
            "The texts of which passages cover most",
            _covered_texts(spans, sides[0], "i"),
        )
    else:
        yield (
            "The texts of which later copies cover most",
            _covered_texts(spans, sides[0], "j"),
        )


def _covered_texts(
    found_spans: FoundSpans, page_side: PageSide, side: str
) -> list[TextShare]:
    counts = counts_of_side(found_spans, side)
    rows = np.flatnonzero(counts.covered)
    order = np.lexsort(
        (-counts.covered[rows], -counts.covered[rows] / counts.units[rows])
    )
    shown = rows[order[:MOST_TEXTS]]
    spans = found_spans.spans[np.isin(found_spans.spans[side], shown)]
    places = found_spans.places(side)
    other = "i" if side == "j" else "j"
    shares = []
    for row in shown.tolist():
        mine = spans[spans[side] == row]
        units = int(counts.units[row])
        stripe = covered(_parts(places, row, units)[:MOST_PARTS])
        other_rows = mine[other]
        if found_spans.against_units is None:
            other_rows = other_rows[other_rows != row]
        key = short(page_side.key(row))
        sharing_texts = len(np.unique(other_rows))
        unlisted = int(counts.unlisted[row])
        shares.append(
            TextShare(
                key, units, int(counts.covered[row]), stripe, sharing_texts, unlisted
            )
        )
    return shares


def _parts(places: Ranges, row: int, units: int) -> list[tuple[float, float]]:
    """Return where passages are in a text, as parts of it, each place once."""
    ranges = slice(*np.searchsorted(places.rows, (row, row + 1)).tolist())
    bounds = zip(
        places.start[ranges].tolist(), places.end[ranges].tolist(), strict=True
    )
    return [(start / max(units, 1), end / max(units, 1)) for start, end in bounds]


def _examples(
    spans: FoundSpans, sides: tuple[PageSide, PageSide], texts: bool
) -> Iterator[tuple[str, list[PairExample]]]:
    """Yield why pairs of texts are shown, and the pairs."""
    pairs = _pairs(spans)
    other_pairs = pairs[MOST_ALIKE:]
    places = over_range(len(other_pairs), OVER_RANGE)
    pairs_by_reason = {
        "Texts with the most in common": pairs[:MOST_ALIKE],
        "Other texts": [other_pairs[place] for place in places.tolist()],
    }
    texts_of_sides: list[Mapping[int, str]] = [{}, {}]
    if texts:
        all_pairs = [
            pair for reason_pairs in pairs_by_reason.values() for pair in reason_pairs
        ]
        texts_of_sides = [
            _texts(sides[0], [pair.i for pair in all_pairs]),
            _texts(sides[1], [pair.j for pair in all_pairs]),
        ]
    for reason, reason_pairs in pairs_by_reason.items():
        yield (
            reason,
            [_example(spans, sides, pair, texts_of_sides) for pair in reason_pairs],
        )


def _texts(side: PageSide, rows: Iterable[int]) -> Mapping[int, str]:
    row_numbers = np.array(sorted(set(rows)), np.int64)
    return {} if side.texts is None or not len(row_numbers) else side.texts(row_numbers)


def _pairs(found_spans: FoundSpans) -> list[TextPair]:
    """Return for each text j the text i that shares most with it, the largest share first."""
    spans = found_spans.spans
    if not len(spans):
        return []
    order = np.lexsort((spans["i"], spans["j"]))
    i = spans["i"][order]
    j = spans["j"][order]
    starts, ends = runs_of(i, j)
    units = np.add.reduceat(spans["units"][order], starts)
    best = np.argsort(-units, kind="stable")
    _, first = np.unique(j[starts[best]], return_index=True)
    best_pairs = best[np.sort(first)]
    if len(best_pairs) >= 1000:
        best_pairs = best_pairs[_thinned(len(best_pairs))]
    pairs = []
    for number in best_pairs.tolist():
        start = starts[number]
        numbers_of_spans = np.sort(order[start : ends[number]])
        pairs.append(
            TextPair(int(i[start]), int(j[start]), numbers_of_spans, int(units[number]))
        )
    return pairs


def _thinned(size: int) -> Int64Array:
    """Return the first places, and some over the whole of `size`."""
    places = MOST_ALIKE + over_range(size - MOST_ALIKE, OVER_RANGE)
    return np.append(int64_range(MOST_ALIKE), places)


def _example(
    found_spans: FoundSpans,
    sides: tuple[PageSide, PageSide],
    pair: TextPair,
    texts_of_sides: Sequence[Mapping[int, str]],
) -> PairExample:
    spans = found_spans.spans[pair.spans]
    keys = short(sides[0].key(pair.i)), short(sides[1].key(pair.j))
    units = (
        int(counts_of_side(found_spans, "i").units[pair.i]),
        int(counts_of_side(found_spans, "j").units[pair.j]),
    )
    bands = []
    for i, j, size in spans[["i_unit", "j_unit", "units"]][:MOST_BANDS].tolist():
        first, second = (
            (at / total, (at + size) / total)
            for at, total in zip((i, j), units, strict=True)
        )
        bands.append(SharedPart(first, second, counted(size, found_spans.plan.unit)))
    size = counted(pair.units, found_spans.plan.unit)
    note = f"{counted(len(spans), 'passage')}, {size} together"
    longest = np.sort(np.argsort(-spans["units"], kind="stable")[:MOST_SHOWN])
    if len(spans) > len(longest):
        note += f"; the {len(longest)} longest are shown"
    names = [
        f"{short(key, MAP_CHARACTERS)}: {counted(size, found_spans.plan.unit)}"
        for key, size in zip(keys, units, strict=True)
    ]
    drawn = text_map(names[0], names[1], bands, note)
    first_spans, second_spans = (
        _pieces(texts_of_sides[at][row], spans[longest], side)
        if row in texts_of_sides[at]
        else []
        for at, (side, row) in enumerate((("i", pair.i), ("j", pair.j)))
    )
    return PairExample(keys, note, drawn, first_spans, second_spans)


def _pieces(text: str, spans: Spans, side: str) -> list[Piece]:
    """Return passages of a text with their surroundings; overlapping parts are shown once."""
    starts = spans[f"{side}_start"].tolist()
    ends = spans[f"{side}_end"].tolist()
    pieces: list[Piece] = []
    last_end = 0
    for place in sorted(range(len(starts)), key=lambda at: (starts[at], ends[at])):
        start = max(starts[place], last_end)
        end = max(ends[place], last_end)
        pieces += _between(text, last_end, start, bool(pieces))
        pieces += _passage(text[start:end], place + 1)
        last_end = end
    end = _word_end(text, last_end + AROUND)
    return [*pieces, Piece("same", text[last_end:end]), *_gap(len(text) - end)]


def _between(text: str, start: int, end: int, after: bool) -> list[Piece]:
    """Return what is between two passages, or before the first; of a long part, its ends."""
    before = AROUND if after else 0
    if end - start <= before + AROUND:
        return [Piece("same", text[start:end])]
    first_end = _word_end(text, start + before) if after else start
    right = _word_start(text, end - AROUND)
    return [
        Piece("same", text[start:first_end]),
        *_gap(right - first_end),
        Piece("same", text[right:end]),
    ]


def _passage(text: str, number: int) -> list[Piece]:
    """Return a passage; of a long one, its beginning and its end."""
    if len(text) <= BEGINNING + END:
        return [Piece("passage", text, number)]
    first_end = _word_end(text, BEGINNING)
    right = _word_start(text, len(text) - END)
    return [
        Piece("passage", text[:first_end], number),
        *_gap(right - first_end),
        Piece("passage", text[right:]),
    ]


def _word_end(text: str, place: int) -> int:
    """Return the space nearest before a place, where a text is cut; the place in a long word."""
    space = text.rfind(" ", place - LONG_WORD, place + 1)
    return place if place >= len(text) or space < 0 else space


def _word_start(text: str, place: int) -> int:
    """Return the next word after a place, where a text is cut; the place in a long word."""
    space = text.find(" ", place - 1, place + LONG_WORD)
    return place if space < 0 else space + 1


def _gap(characters: int) -> list[Piece]:
    return (
        [Piece("gap", f"… {counted(characters, 'character')} …")]
        if characters > 0
        else []
    )
