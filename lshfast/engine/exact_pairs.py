"""All similar pairs of a run by an exact join instead of bands: none is missed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lshfast.common.growing import GrowingArray
from lshfast.common.types import Int64Array
from lshfast.engine.plan import Plan
from lshfast.engine.sketching import SketchedRows
from lshfast.join.jaccard import PAIR, sort_pairs
from lshfast.join.set_ranks import Collection, tokens_of
from lshfast.sketch.minhash import EMPTY
from lshfast.tokens import TokenSets


class ExactPairs:
    """The similar pairs of different rows, found by one exact join; it has the interface of `AllPairs`.

    Parameters
    ----------
    sketches : SketchedRows
        Only first copies are compared, and no rows that were set aside. The tokens of all of them are in memory during
        the join.
    plan : Plan
    """

    def __init__(self, sketches: SketchedRows, plan: Plan) -> None:
        self._sketches, self._plan = sketches, plan
        self.candidates: int = 0
        self.done: bool = False
        self._found: npt.NDArray[np.void] = np.empty(0, PAIR)

    def pairs(self, report: Callable[[int, int], None] | None = None) -> npt.NDArray[np.void]:
        """Return the similar pairs, sorted."""
        found = self.at_most(None, report)
        assert found is not None
        return found

    def at_most(
        self, most: int | None, report: Callable[[int, int], None] | None = None
    ) -> npt.NDArray[np.void] | None:
        """Return the similar pairs, sorted; None as soon as there are more than `most`."""
        from lshfast.join.exact_join import Join
        from lshfast.join.thresholds import rule_of

        rule, threads = rule_of(self._plan.measure, self._plan.threshold), self._plan.threads
        join = Join.of([collection_of(self._sketches, threads)], rule, "auto", threads)
        parts = join.parts((lambda stage, done, total: report(done, total or 0)) if report else None)
        whole = GrowingArray(PAIR)
        for part in parts:
            if most is not None and len(whole) + len(part) > most:
                return None
            whole.extend(part)
        found = whole.finished()
        self.candidates, self.done = join.candidates, True
        sort_pairs(found)
        return found

    def next_candidates(self) -> tuple[Int64Array, Int64Array]:
        """Return all similar pairs (i, j)."""
        self._found = self.pairs()
        return np.ascontiguousarray(self._found["i"]), np.ascontiguousarray(self._found["j"])

    def verified(
        self, i: Int64Array, j: Int64Array, progress: Callable[[int, int], None] | None = None
    ) -> npt.NDArray[np.void]:
        """Return the pairs that `next_candidates` returned, with their similarity."""
        if progress:
            progress(len(i), len(i))
        return self._found


def collection_of(sketches: SketchedRows, threads: int) -> Collection:
    """Return the rows to be compared, hashed with the key of the run."""
    numbers = np.arange(len(sketches), dtype=np.int64)
    first = (sketches.copies == numbers) & ~sketches.empty
    tokens = sketches.take_tokens()
    if tokens is not None:
        return Collection(tokens, sketches.copies, np.flatnonzero(first))
    set_aside = (sketches.keys == EMPTY).all(axis=1) if sketches.keys.shape[1] else sketches.empty
    rows = np.flatnonzero(first & ~set_aside)
    some = tokens_of(sketches.rows, rows, threads)
    offsets = np.zeros(len(sketches) + 1, np.int64)
    offsets[rows + 1] = some.counts
    return Collection(TokenSets(np.cumsum(offsets, dtype=np.int64), some.tokens), sketches.copies, rows)
