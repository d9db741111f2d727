"""A whole search: texts that come in batches, with each other or with texts that are held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array
from lshfast._engine.clock import Clock, Stage
from lshfast.kernels.passages import have_same_words
from lshfast.kernels.text import Texts
from lshfast.passages.plan import PassagePlan
from lshfast.passages.sampling import Samples, make_sampler, sample_all, sample_pieces
from lshfast.passages.search import (
    HeldTexts,
    MatchesWithin,
    RowMatches,
    RowRuns,
    search_within,
)
from lshfast.passages.spans import (
    CUT,
    SPAN,
    Cuts,
    Ranges,
    Spans,
    cuts_of,
    in_order,
    locate,
    spans_of,
    union_of,
)

_BYTES = "i", "i_start_byte", "i_end_byte", "j", "j_start_byte", "j_end_byte"


@dataclass(frozen=True)
class FoundPassages:
    """What a search has found.

    Attributes
    ----------
    spans : ndarray of SPAN
        Sorted by (i, i_unit, j, j_unit).
    cuts : ndarray of CUT
        The bytes of the texts that are later copies, or passages of the other texts, or that the
        plan says; sorted, apart from each other.
    units, covered, cut : int64 (n,)
        Units of each text (0 if it is shorter than a shortest passage); how many of them are later
        copies, or in passages of the other texts; and how many are in `cuts`.
    other_units, other_covered : int64 (m,) or None
        The same for the other texts; None for a search within texts.
    held : Texts
        The texts that are in memory.
    held_side : {"i", "j"}
        The numbers of spans that refer to them (within texts, both do).
    held_ranges : Ranges
        The units of the held texts that are covered, also by passages that are not among the spans,
        since their runs occur at more than `most_copies` places.
    stages : dict of str to Stage
    """

    spans: Spans
    cuts: Cuts
    units: Int64Array
    covered: Int64Array
    cut: Int64Array
    other_units: Int64Array | None
    other_covered: Int64Array | None
    held: Texts
    held_side: str
    held_ranges: Ranges
    stages: dict[str, Stage]


def find_within(
    batches: Iterable[Texts],
    plan: PassagePlan,
    clock: Clock,
    progress: Progress | None = None,
    *,
    word_bits: int = 31,
) -> FoundPassages:
    """Search for the passages that texts share with each other.

    Words are compared by hashes of `word_bits` bits, and those of the passages by their letters. If
    these differ, which happens once in 2**word_bits comparisons of different words, the search is
    done again with numbers of words. Texts in a normal form are compared by numbers at once.
    """
    by_hash = plan.unit == "word" and plan.normalize == "none"
    with clock.stage("sample"):
        texts, samples = sample_all(batches, make_sampler(plan), plan.threads)
    clock.add("sample", 0, texts.nbytes)
    with clock.stage("compare"):
        search = search_within(
            texts, samples, plan, progress, word_bits if by_hash else None
        )
    with clock.stage("locate"):
        spans = _located(search.matches, texts, plan)
        if by_hash and not have_same_words(texts, *(spans[name] for name in _BYTES)):
            search = search_within(texts, samples, plan, progress)
            spans = _located(search.matches, texts, plan)
        counts = samples.counts
        matches = search.matches
        ranges = union_of(counts, matches.y, matches.y_unit, matches.units)
        cut_ranges = _cut_ranges(search, ranges, counts, plan)
        cuts = cuts_of(texts, counts, cut_ranges, plan)
        covered = ranges.units(len(texts))
        return FoundPassages(
            spans,
            cuts,
            counts,
            covered,
            covered if cut_ranges is ranges else cut_ranges.units(len(texts)),
            None,
            None,
            texts,
            "j",
            ranges,
            clock.stages,
        )


def _cut_ranges(
    search: MatchesWithin, later_copies: Ranges, counts: Int64Array, plan: PassagePlan
) -> Ranges:
    """Return the units of texts that a plan cuts; `later_copies` are those of all later copies."""
    matches = search.matches
    if plan.more_than is not None:
        runs = [search.later_runs]
        if plan.remove == "all":
            runs.append(search.first_runs)
    elif plan.remove == "all":
        runs = [
            RowRuns(matches.x, matches.x_unit, matches.units),
            RowRuns(matches.y, matches.y_unit, matches.units),
        ]
    else:
        return later_copies
    return union_of(
        counts, *(np.concatenate(column) for column in zip(*runs, strict=True))
    )


def _located(matches: RowMatches, texts: Texts, plan: PassagePlan) -> Spans:
    spans = in_order(spans_of(matches, "j"))
    locate(spans, {"i": texts, "j": texts}, plan)
    return spans


class _StreamPiece(NamedTuple):
    """What was found for some texts, numbered from 0: matches, groups of windows, bytes read."""

    spans: Spans
    cuts: Cuts
    units: Int64Array
    covered: Int64Array
    windows: Int64Array
    nbytes: int


def hold_texts(batches: Iterable[Texts], plan: PassagePlan, clock: Clock) -> HeldTexts:
    """Keep texts whose passages are searched for."""
    with clock.stage("hold"):
        held_texts = HeldTexts(batches, plan)
    clock.add("hold", 0, held_texts.texts.nbytes)
    return held_texts


def find_against(
    batches: Iterable[Texts],
    held_texts: HeldTexts,
    plan: PassagePlan,
    clock: Clock,
    progress: Progress | None = None,
    *,
    held_side: str = "j",
) -> FoundPassages:
    """Search a stream of texts for passages of texts that are kept in memory.

    The held texts are the others, whose passages are searched for; or, with ``held_side="i"``, the
    texts themselves, and the others are read in batches.
    """
    side = "i" if held_side == "j" else "j"

    def find(texts: Texts, samples: Samples) -> _StreamPiece:
        matches, windows = held_texts.find(texts, samples)
        spans = spans_of(matches, side)
        locate(spans, {side: texts}, plan)
        ranges = union_of(samples.counts, matches.y, matches.y_unit, matches.units)
        cuts = (
            cuts_of(texts, samples.counts, ranges, plan)
            if side == "i"
            else np.empty(0, CUT)
        )
        return _StreamPiece(
            spans, cuts, samples.counts, ranges.units(len(texts)), windows, texts.nbytes
        )

    columns = [GrowingArray(kind) for kind in (SPAN, CUT, np.int64, np.int64)]
    found_groups = np.zeros(held_texts.window_groups, np.bool_)
    row = bytes_read = 0
    with clock.stage("compare"):
        for piece in sample_pieces(batches, held_texts.sampler, find, plan.threads):
            piece.spans[side] += row
            piece.cuts["row"] += row
            for column, part in zip(columns, piece[:4], strict=True):
                column.extend(part)
            found_groups[piece.windows] = True
            row += len(piece.units)
            bytes_read += piece.nbytes
            if progress:
                progress("compare", bytes_read, None)
    clock.add("compare", 0, bytes_read)
    with clock.stage("locate"):
        spans, cuts, units, covered = (column.finished() for column in columns)
        spans = in_order(spans)
        locate(spans, {held_side: held_texts.texts}, plan)
        rows, first = held_texts.windows_of(found_groups)
        both = (
            np.concatenate([spans[held_side], rows]),
            np.concatenate([spans[f"{held_side}_unit"], first]),
        )
        lengths = np.concatenate(
            [spans["units"], np.full(len(rows), plan.length, np.int64)]
        )
        ranges = union_of(held_texts.counts, *both, lengths)
        sides = [
            (units, covered),
            (held_texts.counts, ranges.units(len(held_texts.texts))),
        ]
        if held_side == "i":
            sides = sides[::-1]
            cuts = cuts_of(held_texts.texts, held_texts.counts, ranges, plan)
        return FoundPassages(
            spans,
            cuts,
            *sides[0],
            sides[0][1],
            *sides[1],
            held_texts.texts,
            held_side,
            ranges,
            clock.stages,
        )
