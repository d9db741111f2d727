"""A run in two or three sentences, as a page and a notebook begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import NamedTuple, get_args

from lshfast._common.choices import ItemMeasure, PairMeasure
from lshfast._common.display import counted
from lshfast._common.types import Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.summary import Summary
from lshfast._engine.plan import AnyPlan
from lshfast._items.measures import is_distance

# What counts as near the threshold, in similarity or as a share of the radius.
NEAR_THRESHOLD = 0.05


class NearThreshold(NamedTuple):
    """The rows or pairs up to a similarity, or from a distance on, that is near the threshold."""

    rows: int
    bound: float


def removal_sentences(
    summary: Summary,
    plan: AnyPlan,
    near: NearThreshold | None = None,
    refused: bool = False,
) -> list[str]:
    """Return what a run has removed, and how similar that is to what is kept.

    A run that is refused would remove it, and has written nothing.
    """
    if not summary.read:
        return ["No rows were read."]
    if not summary.removed:
        return [f"No row was removed; {counted(summary.read, 'row')} in all."]
    parts = " and ".join(_removed_parts(summary))
    verb = "was" if summary.removed == 1 else "were"
    if refused:
        verb = "would be"
    count = f"{summary.removed:,} of {counted(summary.read, 'row')} {verb} removed"
    sentences = [f"{count}: {parts}. {_promise(summary, plan)}"]
    if near is not None and near.rows:
        sentences.append(_near_sentence(near, summary))
    return sentences


def pair_sentences(
    summary: Summary, plan: AnyPlan, group_sizes: Mapping[int, int]
) -> list[str]:
    """Return how many pairs a run has found, and the groups that they connect."""
    if not summary.pairs:
        all_rows = counted(summary.read, "row")
        return [f"No two rows are {_alike(summary, plan)}; {all_rows} in all."]
    verb = "is" if summary.pairs == 1 else "are"
    pairs = counted(summary.pairs, "pair")
    sentences = [f"{pairs} of rows {verb} {_alike(summary, plan)}."]
    if group_sizes:
        rows = sum(size * count for size, count in group_sizes.items())
        sentences.append(
            f"{rows:,} of {counted(summary.read, 'row')} are in such a pair: "
            f"{counted(sum(group_sizes.values()), 'group')}, of which the largest has "
            f"{counted(max(group_sizes), 'row')}."
        )
    return sentences


def near_threshold(
    plan: AnyPlan, measure: ItemMeasure, counts: Int64Array
) -> NearThreshold | None:
    """Return the rows whose similarity is near the threshold; None if these are all rows.

    `counts` has the rows in equal parts of [0, 1), and at 1: by similarity, or by
    1 - distance / radius.
    """
    parts = len(counts) - 1
    distance = is_distance(measure)
    least = 0.0 if distance else plan.threshold
    end = ceil(round((least + NEAR_THRESHOLD) * parts, 6))
    if end > parts or counts[end:].sum() == 0:
        return None
    share = end / parts
    bound = plan.threshold * (1 - share) if distance else share
    return NearThreshold(int(counts[:end].sum()), bound)


def _removed_parts(summary: Summary) -> Iterator[str]:
    similar = summary.near_duplicates
    if summary.same_key:
        rows = "rows with the key of another one"
        yield counted(summary.same_key, "row with the key of another one", rows)
    if summary.copies:
        yield counted(summary.copies, "exact copy", "exact copies")
    if similar:
        yield counted(similar, "near-duplicate")
    if summary.earlier:
        entries = "rows that are similar to earlier ones"
        yield counted(summary.earlier, "row that is similar to an earlier one", entries)


def _promise(summary: Summary, plan: AnyPlan) -> str:
    """Return how similar a removed row is to the row that is kept in its place."""
    bound = f"{plan.threshold:g}"
    if summary.verify == "none":
        return "Similarities were not compared with the threshold."
    kept_row = "the row that is kept in its place"
    if plan.groups == "components":
        return f"A chain of rows that are {_alike(summary, plan)} connects each with {kept_row}."
    if summary.measure == "containment":
        return f"Each is contained in {kept_row} by a share of at least {bound}."
    if is_distance(summary.measure):
        return f"Each is at a distance of at most {bound} from {kept_row}."
    estimated = summary.verify == "signature"
    each = "By an estimate, each" if estimated else "Each"
    promise = f"{each} has a similarity of at least {bound} to {kept_row}"
    of_entries = summary.earlier and summary.measure in get_args(PairMeasure)
    if of_entries and not estimated and summary.earlier_verify != "exact":
        promise += "; the similarity to an earlier row is an estimate"
    return f"{promise}."


def _alike(summary: Summary, plan: AnyPlan) -> str:
    """Return what similar rows are, as a predicate."""
    bound = f"{plan.threshold:g}"
    if is_distance(summary.measure):
        return f"at a distance of at most {bound}"
    if summary.measure == "containment":
        return f"contained, one in the other, by a share of at least {bound}"
    most = "" if summary.most is None else f" and at most {summary.most:g}"
    return f"similar by at least {bound}{most}"


def _near_sentence(near: NearThreshold, summary: Summary) -> str:
    """Return which removed rows to look at first."""
    name = SIMILARITY_NAMES[summary.measure]
    side = "above" if is_distance(summary.measure) else "below"
    verb = "has" if near.rows == 1 else "have"
    return f"{near.rows:,} of them {verb} a {name} {side} {near.bound:g}: look at these first."
