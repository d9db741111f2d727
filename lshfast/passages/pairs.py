"""Pairs of texts that share passages: how much of each text is in the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range, run_begins, runs_of
from lshfast._common.types import Int64Array, RecordArray
from lshfast.kernels.sets import components
from lshfast.passages.spans import Spans, union_of

# Two texts i and j; the number of their passages; the units of each that are in these, and their
# share of the text; the units of the longest passage, its number among the spans, the number of
# texts that listed passages connect with exactly this run, and the first of these (in a search
# against other texts, the first of the others).
TEXT_PAIR = np.dtype(
    [
        ("i", np.int64),
        ("j", np.int64),
        ("passages", np.int64),
        ("i_units", np.int64),
        ("j_units", np.int64),
        ("i_share", np.float64),
        ("j_share", np.float64),
        ("longest", np.int64),
        ("span", np.int64),
        ("texts", np.int64),
        ("first", np.int64),
    ]
)

TextPairs = RecordArray


def text_pairs(
    spans: Spans, units: Int64Array, other_units: Int64Array | None
) -> TextPairs:
    """Return the pairs of different texts with a passage, the greatest share of a text first.

    `units` are those of the texts i, and `other_units` those of the texts j; None within texts.
    """
    numbers = int64_range(len(spans))
    within = other_units is None
    if other_units is None:
        numbers = numbers[spans["i"] != spans["j"]]
        other_units = units
    numbers = numbers[np.lexsort((spans["j"][numbers], spans["i"][numbers]))]
    spans = spans[numbers]
    starts, ends = runs_of(spans["i"], spans["j"])
    pairs = np.zeros(len(starts), TEXT_PAIR)
    if not len(pairs):
        return pairs
    counts = ends - starts
    pair_of_span = np.repeat(int64_range(len(pairs)), counts)
    pairs["passages"] = counts
    for side, side_units in (("i", units), ("j", other_units)):
        pairs[side] = spans[side][starts]
        totals = side_units[pairs[side]]
        first = np.ascontiguousarray(spans[f"{side}_unit"])
        covered = union_of(totals, pair_of_span, first, spans["units"])
        pairs[f"{side}_units"] = covered.units(len(pairs))
        pairs[f"{side}_share"] = pairs[f"{side}_units"] / totals
    # The longest passage of each pair, the first of equally long ones.
    by_length = np.lexsort((numbers, -spans["units"], pair_of_span))
    longest = by_length[starts]
    pairs["longest"] = spans["units"][longest]
    pairs["span"] = numbers[longest]
    crowds = crowds_of(spans, within)
    pairs["texts"] = crowds.texts[longest]
    pairs["first"] = crowds.first[longest]
    share = np.maximum(pairs["i_share"], pairs["j_share"])
    order = np.lexsort((pairs["j"], pairs["i"], -pairs["longest"], -share))
    return pairs[order]


def one_of_each_crowd(pairs: TextPairs) -> TextPairs:
    """Return pairs without those whose longest passage is in three texts or more, but the first."""
    in_crowd = pairs["texts"] > 2
    crowds = np.where(in_crowd, pairs["first"], int64_range(len(pairs)))
    columns = np.stack([in_crowd, crowds, np.where(in_crowd, pairs["longest"], 0)])
    _, first = np.unique(columns, axis=1, return_index=True)
    return pairs[np.sort(first)]


class Crowds(NamedTuple):
    """For each span, how many texts have its run, the first of them, and the crowd's number."""

    texts: Int64Array
    first: Int64Array
    numbers: Int64Array


def crowds_of(spans: Spans, within: bool) -> Crowds:
    """Return the texts that spans connect, directly or through others, with equal runs of units."""
    # The texts j of a search against others get negative numbers, the first one the least.
    other_texts = (
        spans["j"] if within else spans["j"] - int(spans["j"].max(initial=0)) - 1
    )
    columns = (
        np.concatenate([spans["i"], other_texts]),
        np.concatenate([spans["i_unit"], spans["j_unit"]]),
        np.concatenate([spans["units"], spans["units"]]),
    )
    order = np.lexsort(columns[::-1])
    starts, ends = runs_of(*(column[order] for column in columns))
    runs = np.empty(len(order), np.int64)
    runs[order] = np.repeat(int64_range(len(starts)), ends - starts)
    first_runs, second_runs = np.split(runs, 2)
    crowd_of_run = components(first_runs, second_runs, len(starts))
    texts_of_runs = columns[0][order][starts]
    # Runs are sorted by their texts, so the first run of a crowd is in its first text.
    by_crowd = np.lexsort((texts_of_runs, crowd_of_run))
    crowds = crowd_of_run[by_crowd]
    texts = texts_of_runs[by_crowd]
    crowd_starts, _ = runs_of(crowds)
    is_new_text = run_begins(crowds, texts).astype(np.int64)
    sizes = np.add.reduceat(is_new_text, crowd_starts)
    place = np.searchsorted(crowds[crowd_starts], crowd_of_run[first_runs])
    first = texts[crowd_starts][place]
    if not within:
        first = first + int(spans["j"].max(initial=0)) + 1
    return Crowds(sizes[place].astype(np.int64), first, place.astype(np.int64))
