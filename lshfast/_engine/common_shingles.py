"""The exact set of shingles that occur in over a given share of the texts, in bounded memory.

The texts are read twice. The first reading counts in a table, whose entries are shared by the
shingles with the same highest bits of their tokens: a shingle whose entry is small enough is not
common. The second reading counts the others one by one. The tokens are made with a secret key, so
nobody can choose which shingles share an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.progress import Progress
from lshfast._common.rows import concatenated
from lshfast._common.run_key import draw_hash_numbers
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.clock import Clock
from lshfast._engine.columns import Column, ShingledTexts
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import noted, processed
from lshfast.kernels.text import HashKey, Texts
from lshfast.shingling import CommonShingles
from lshfast.tokens import TokenSets

# The table has 2**TABLE_BITS entries of 4 bytes. A text adds 1 to an entry at most, however many
# shingles it has.
TABLE_BITS = 22

# What the counts of a run within a given amount of memory take: the table, and the tokens of pieces
# that wait.
COUNT_BYTES = 64 << 20

# Tokens of pieces that wait to be counted together.
HELD_TOKENS = 1 << 18

# Tokens of shingles, ascending, and in how many texts each occurs.
Counts: TypeAlias = tuple[UInt64Array, Int64Array]


class TableCounts(NamedTuple):
    """Upper bounds of the number of texts with each shingle, by its token's highest bits."""

    table: npt.NDArray[np.uint32]
    texts: int


def new_table() -> npt.NDArray[np.uint32]:
    """Return an empty table."""
    return np.zeros(1 << TABLE_BITS, np.uint32)


def summed(parts: list[Counts]) -> Counts:
    """Return the sums of counts of several parts."""
    tokens = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
    counts = concatenated(part[1] for part in parts)
    different, places = np.unique(tokens, return_inverse=True)
    sums = np.zeros(len(different), np.int64)
    np.add.at(sums, places.reshape(-1), counts)
    return different, sums


def above_share(counts: npt.NDArray[np.integer], share: float, texts: int) -> BoolArray:
    """Return which counts are more than this share of the texts."""
    return np.asarray(counts > share * texts)


def ignoring_common(
    batches: Iterable[Texts | Column],
    plan: Plan,
    clock: Clock,
    progress: Progress | None = None,
) -> tuple[Iterable[Texts | Column], Plan]:
    """Return rows and a plan in which common shingles do not count, if the plan says so.

    Texts that can be read again do not stay in memory.
    """
    if plan.ignore_common is None or plan.shingles.common is not None:
        return batches, plan
    columns: list[Column] = []
    plan = find_common(
        lambda: columns or noted(batches, plan, columns), plan, clock, progress
    )
    return [
        replace(column, shingles=plan.shingles)
        for column in columns
        if isinstance(column, ShingledTexts)
    ], plan


def find_common(
    batches_of: Callable[[], Iterable[Texts | Column]],
    plan: Plan,
    clock: Clock,
    progress: Progress | None = None,
) -> Plan:
    """Find the common shingles, and return the plan of a run in which they do not count.

    Parameters
    ----------
    batches_of : callable
        Called twice; returns all rows of the run, in batches.
    plan : Plan
        Its `ignore_common` is not None.
    clock : Clock
    progress : callable, optional

    Raises
    ------
    ValueError
        If the rows are not texts.
    """
    share = plan.ignore_common
    assert share is not None
    numbers = draw_hash_numbers()
    table, texts = count_places(batches_of(), plan, numbers, clock, progress)
    likely = above_share(table, share, texts)
    del table
    tokens, counts = count_likely(batches_of(), plan, numbers, likely, clock, progress)
    return plan.ignoring(
        CommonShingles(numbers, tokens[above_share(counts, share, texts)])
    )


def count_places(
    batches: Iterable[Texts | Column],
    plan: Plan,
    numbers: tuple[int, int, int, int],
    clock: Clock,
    progress: Progress | None = None,
) -> TableCounts:
    """Count the texts in a table; `numbers` are the secret key of the tokens."""
    key = HashKey(*numbers)
    table = new_table()
    texts = 0

    def places_of(column: Column) -> TokenSets:
        sets = _sets_of(column, key)
        return TokenSets(
            sets.offsets, sets.tokens >> np.uint64(64 - TABLE_BITS)
        ).distinct()

    for places in processed(batches, plan, clock, places_of, progress, "count"):
        np.add.at(table, places.tokens, np.uint32(1))
        texts += len(places)
    return TableCounts(table, texts)


def count_likely(
    batches: Iterable[Texts | Column],
    plan: Plan,
    numbers: tuple[int, int, int, int],
    likely: BoolArray,
    clock: Clock,
    progress: Progress | None = None,
) -> Counts:
    """Count the texts of the shingles that `likely` selects by the table of bounds."""
    key = HashKey(*numbers)

    def counts_of(column: Column) -> Counts:
        tokens = _sets_of(column, key).distinct().tokens
        different, counts = np.unique(
            tokens[likely[tokens >> np.uint64(64 - TABLE_BITS)]], return_counts=True
        )
        return different, counts.astype(np.int64)

    likely_counts = summed([])
    waiting = list[Counts]()
    waiting_tokens = 0
    for part in processed(batches, plan, clock, counts_of, progress, "count"):
        waiting.append(part)
        waiting_tokens += len(part[0])
        if waiting_tokens > len(likely_counts[0]) + HELD_TOKENS:
            likely_counts = summed([likely_counts, *waiting])
            waiting = []
            waiting_tokens = 0
    return summed([likely_counts, *waiting])


def _sets_of(column: Column, key: HashKey) -> TokenSets:
    if not isinstance(column, ShingledTexts):
        raise ValueError(
            "ignore_common is for texts, and these are sets, compared by their elements"
        )
    return column.tokens(key)
