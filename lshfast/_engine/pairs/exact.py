"""All similar pairs of a run by an exact join instead of bands, in batches: none is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import without_stage
from lshfast._common.types import Int64Array
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import SketchedRows
from lshfast.join.all_pairs import BATCH_PAIRS
from lshfast.join.pair_arrays import PAIR, joined_pairs, sort_pairs
from lshfast.join.set_ranks import Collection, tokens_of
from lshfast.tokens import TokenSets

if TYPE_CHECKING:
    from lshfast.join.exact_join import Join

# Pairs for each row up to which they are one batch.
BATCH_ROW_PAIRS = 16


class ExactPairs:
    """The similar pairs of different rows, ascending, in batches, like `AllPairs`.

    Up to a number of pairs for each row they are one batch, which one exact join finds. More are
    found row by row, so that memory does not grow with the number of pairs. This takes about twice
    as long.

    Parameters
    ----------
    sketches : SketchedRows
        Only first copies are compared, and no rows that were set aside. The tokens of all of them
        are in memory.
    plan : Plan
    """

    def __init__(self, sketches: SketchedRows, plan: Plan) -> None:
        self._sketches = sketches
        self._plan = plan
        self._batches: Iterator[npt.NDArray[np.void]] | None = None
        self._batch: npt.NDArray[np.void] = np.empty(0, PAIR)
        self.candidates: int = 0
        self.done: bool = False

    def at_most(
        self, most: int, report: Callable[[int, int], None] | None = None
    ) -> npt.NDArray[np.void] | None:
        """Return the similar pairs, sorted; None as soon as there are more than `most`."""
        return self._at_most(self._join(), most, report)

    def next_candidates(self) -> tuple[Int64Array, Int64Array]:
        """Return the next similar pairs (i, j), or the last ones."""
        if self._batches is None:
            self._batches = self._batches_of(self._join())
        self._batch = next(self._batches)
        return np.ascontiguousarray(self._batch["i"]), np.ascontiguousarray(
            self._batch["j"]
        )

    def verified(
        self,
        i: Int64Array,
        j: Int64Array,
        progress: Callable[[int, int], None] | None = None,
    ) -> npt.NDArray[np.void]:
        """Return the pairs that `next_candidates` returned, with their similarity."""
        if progress:
            progress(len(i), len(i))
        return self._batch

    def _join(self) -> Join:
        from lshfast.join.exact_join import Join
        from lshfast.join.thresholds import rule_of

        rule = rule_of(self._plan.measure, self._plan.threshold)
        threads = self._plan.threads
        return Join.of([collection_of(self._sketches, threads)], rule, "auto", threads)

    def _at_most(
        self, join: Join, most: int, report: Callable[[int, int], None] | None = None
    ) -> npt.NDArray[np.void] | None:
        from lshfast.join.exact_join import MorePairsError

        try:
            pairs = joined_pairs(join.parts(without_stage(report), most))
        except MorePairsError:
            return None
        sort_pairs(pairs)
        self.candidates = join.candidates
        return pairs

    def _batches_of(self, join: Join) -> Iterator[npt.NDArray[np.void]]:
        """Yield the batches, and set `done` before the last one."""
        pairs = self._at_most(
            join, max(BATCH_PAIRS, BATCH_ROW_PAIRS * len(self._sketches))
        )
        if pairs is not None:
            self.done = True
            yield pairs
            return
        batch = GrowingArray(PAIR)
        for part in join.sorted_parts():
            if len(batch) >= BATCH_PAIRS:
                yield batch.finished()
                batch = GrowingArray(PAIR)
            batch.extend(part)
        self.candidates = join.candidates
        self.done = True
        yield batch.finished()


def collection_of(sketches: SketchedRows, threads: int) -> Collection:
    """Return the rows to be compared, hashed with the key of the run."""
    rows = sketches.compared_rows
    tokens = sketches.take_tokens()
    if tokens is not None:
        return Collection(tokens, sketches.copies, rows)
    token_sets = tokens_of(sketches.rows, rows, threads)
    offsets = np.zeros(len(sketches) + 1, np.int64)
    offsets[rows + 1] = token_sets.counts
    return Collection(
        TokenSets(np.cumsum(offsets, dtype=np.int64), token_sets.tokens),
        sketches.copies,
        rows,
    )
