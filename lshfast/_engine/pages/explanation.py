"""Why a row was removed or kept: its group, the kept row, and what the two texts share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.choices import ItemMeasure
from lshfast._common.display import Figure, Shown, counted, escape, figure
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import BoolArray
from lshfast._common.visible import visible
from lshfast._engine.account.display import SIMILARITY_NAMES, bound_name
from lshfast._engine.pages.evidence import Decided, TextsOf, compared_form
from lshfast._engine.plan import AnyPlan, Plan
from lshfast._io.pages.differences import Differences, Span
from lshfast._io.pages.page import short
from lshfast.kernels.passages import locate, slices
from lshfast.kernels.text import Texts
from lshfast.shingling import Shingles

# Other rows of a group, and passages that both texts have, that are named; characters of a passage
# that are shown.
MOST_ROWS = 10
MOST_PASSAGES = 5
PASSAGE_CHARACTERS = 200

COMMON = "Common shingles did not count in the run; here they do, so the similarities differ."

# How spans are marked in plain text.
MARKS = {"same": ("", ""), "gap": ("", ""), "moved": ("<", ">")}


class SharedShingles(NamedTuple):
    """The common shingles of two texts.

    Attributes
    ----------
    own, other, shared : int
        Different shingles of the row, of the other row, and of both.
    similarity : float
        The measure of the run for these two, exact.
    found : float
        Probability, over all seeds, that bands find a pair with this similarity; 1 for an exact
        join.
    passages : list of str
        The longest passages of the row all of whose shingles the other row has; empty for shingles
        of stop words.
    exact : bool
        Whether the run found its pairs by an exact join.
    """

    own: int
    other: int
    shared: int
    similarity: float
    found: float
    passages: list[str]
    exact: bool = False


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """Why a row was removed or kept.

    Attributes
    ----------
    key, kept_key : object
        The key of the row, and of the row that is kept instead; equal if the row is kept.
    kept : bool
    similarity : float or None
        The similarity that the run found; None for two rows that it did not compare.
    threshold : float
    group : list
        Keys of the rows that were removed for the same kept row, the first ones.
    group_size : int
        How many there are, with the kept one.
    shared : SharedShingles or None
        None if a text is not known, or there is nothing to compare with.
    differences : Differences or None
    measure : str
        What the similarity is; if it is a distance, `similarity` and `threshold` are the distance
        and the radius.
    note : str
        What limits the explanation, or "".
    """

    key: Any
    kept_key: Any
    kept: bool
    similarity: float | None
    threshold: float
    group: list[Any]
    group_size: int
    shared: SharedShingles | None = None
    differences: Differences | None = None
    measure: ItemMeasure = "jaccard"
    note: str = ""

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *self.lines()])

    def _repr_html_(self) -> str:
        below = "\n".join(self.lines()).strip("\n")
        table = super()._repr_html_()
        if not below:
            return table
        return f"{table}<pre style='white-space: pre-wrap'>{escape(below)}</pre>"

    def lines(self) -> Iterator[str]:
        """Yield the lines after the table: common passages, and the differences."""
        if self.shared is not None and self.shared.passages:
            yield "\n  Passages that both have:"
            yield from (
                f"    {visible(short(passage, PASSAGE_CHARACTERS))}"
                for passage in self.shared.passages
            )
        if self.differences is not None:
            row_spans, other_spans = self.differences
            legend = "words of this row only are between [- and -], moved ones between < and >"
            yield f"\n  {_shown_key(self.key)}  ({legend})"
            yield _indented(marked(row_spans, "[-", "-]"))
            yield (
                f"\n  {_shown_key(self.kept_key)}  (words of this row only are between {{+ and +}})"
            )
            yield _indented(marked(other_spans, "{+", "+}"))

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        what = (
            "kept"
            if self.kept
            else f"removed; {_shown_key(self.kept_key)} is kept instead"
        )
        if self.similarity is None and not self.kept:
            what = f"compared with {_shown_key(self.kept_key)}"
        return f"{_shown_key(self.key)}: {what}", self._figures(), self.note

    def _figures(self) -> Iterator[Figure]:
        name = SIMILARITY_NAMES[self.measure]
        if self.similarity is not None and not self.kept:
            yield figure(
                name,
                f"{self.similarity:.4f}",
                f"the {bound_name(self.measure)} is {self.threshold:g}",
            )
        if self.group_size > 1:
            names = [_shown_key(key) for key in self.group]
            unnamed_count = self.group_size - 1 - (not self.kept) - len(self.group)
            if unnamed_count > 0:
                names.append(f"{unnamed_count:,} more")
            decision = (
                "this row is kept"
                if self.kept
                else f"{_shown_key(self.kept_key)} is kept"
            )
            also = (
                f"also removed: {', '.join(names)}"
                if names
                else "no other row was removed for it"
            )
            yield figure("group", counted(self.group_size, "row"), decision, also)
        elif self.kept:
            yield figure("group", "1 row", "no row was removed for this one")
        if self.shared is not None:
            s = self.shared
            yield figure(
                "shingles",
                s.shared,
                f"in both; {s.own:,} in this row, {s.other:,} in the other",
            )
            below = (
                ""
                if s.similarity >= self.threshold
                else f"below the threshold {self.threshold:g}"
            )
            yield figure(
                "exact", f"{s.similarity:.4f}", f"{name} of the two texts", below
            )
            if s.exact:
                yield figure("join", "exact", "every similar pair is found")
            else:
                probability = (
                    "the probability that bands find a pair of this similarity"
                )
                yield figure("found with", f"{s.found:.4f}", probability)


def _shown_key(key: object) -> str:
    """Return a key as one line."""
    return visible(short(key))


def explain_row(
    result: Decided, row: int, plan: AnyPlan, texts_of: TextsOf | None
) -> Explanation:
    """Explain the decision for a row; `texts_of` returns the texts of ascending rows, by row."""
    keeper = int(result.keeper[row])
    members = np.flatnonzero(result.labels == result.labels[row])
    other_members = members[(members != row) & (members != keeper)]
    other_keys = [
        int(other) if result.keys is None else result.keys[other]
        for other in other_members[:MOST_ROWS].tolist()
    ]
    shared = differences = None
    text_plan = plan.of_texts
    earlier_text = None
    if keeper < 0 and result.earlier_texts is not None:
        earlier_text = result.earlier_texts[row]
    has_text = keeper >= 0 or earlier_text is not None
    are_shown = plan.kind in ("text", "set")
    if texts_of is not None and are_shown and has_text and keeper != row:
        rows = [row] if keeper < 0 else [row, keeper]
        texts = texts_of(np.unique(np.array(rows, np.int64)))
        kept_text = texts[keeper] if earlier_text is None else earlier_text
        if text_plan is not None:
            shared = shared_of(texts[row], kept_text, text_plan)
        differences = compared_form(plan).differences(texts[row], kept_text)
    return Explanation(
        row if result.keys is None else result.keys[row],
        result.kept_key(row),
        kept=bool(result.keep[row]),
        similarity=float(result.similarity[row]),
        threshold=plan.threshold,
        group=other_keys,
        group_size=len(members) + (keeper < 0),
        shared=shared,
        differences=differences,
        measure=plan.measure,
        note="" if plan.ignore_common is None else COMMON,
    )


def shared_of(text: str, other: str, plan: Plan) -> SharedShingles:
    """Return the common shingles of two texts, by the shingles and the measure of a run."""
    texts = plan.shingles.normalized(
        Texts([text.encode("utf-8", "replace"), other.encode("utf-8", "replace")])
    )
    tokens = plan.shingles.all_tokens_of(texts, draw_hash_key())
    rows = [
        tokens.tokens[tokens.offsets[row] : tokens.offsets[row + 1]] for row in (0, 1)
    ]
    first_set, second_set = map(np.unique, rows)
    common = np.intersect1d(first_set, second_set)
    union = len(first_set) + len(second_set) - len(common)
    base = (
        min(len(first_set), len(second_set)) if plan.measure == "containment" else union
    )
    similarity = len(common) / base if base else 0.0
    jaccard = len(common) / max(union, 1)
    probability = 1.0 if plan.exact else float(plan.bands.probability(jaccard))
    passages: list[str] = []
    if plan.shingles.unit in ("word", "char"):  # whose places can be found
        passages = _passages(texts, np.isin(rows[0], common), plan.shingles)
    return SharedShingles(
        len(first_set),
        len(second_set),
        len(common),
        similarity,
        probability,
        passages,
        plan.exact,
    )


def _passages(texts: Texts, shared: BoolArray, shingles: Shingles) -> list[str]:
    """Return the longest runs of shingles of the first text that are shared, as text."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], shared, [False]))))
    first = edges[::2].astype(np.int64)
    end = edges[1::2].astype(np.int64)
    longest = np.argsort(first - end, kind="stable")[:MOST_PASSAGES]
    if not len(longest):
        return []
    # Words, or characters.
    units = int(shingles._replace(size=1).all_tokens_of(texts, 0).offsets[1])
    first = first[longest]
    # A short text has one shingle with fewer words.
    last = np.minimum(end[longest] + shingles.size - 2, units - 1)
    border_units, places = np.unique(np.concatenate((first, last)), return_inverse=True)
    first_text = np.zeros(len(border_units), np.int64)
    bounds = locate(texts, first_text, border_units, shingles.unit == "word")[places]
    begins = bounds[: len(first), 0].copy()
    ends = bounds[len(first) :, 1].copy()
    texts_of_runs = slices(texts, np.zeros(len(first), np.int64), begins, ends)
    return [passage.decode("utf-8", "replace") for passage in texts_of_runs]


def marked(spans: Sequence[Span], begin: str, end: str) -> str:
    """Return spans as plain text, with marks around what is not in both texts."""
    marks = MARKS | {"other": (begin, end)}
    return "".join(
        visible(span.text, lines=True).join(marks[span.kind]) for span in spans
    )


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))
