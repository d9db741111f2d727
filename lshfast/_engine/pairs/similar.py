"""All similar pairs of a run, in batches: memory grows with the number of rows, not of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lshfast._common.progress import Progress
from lshfast._engine.clock import Clock
from lshfast._engine.pairs.listed import PairArray, listed, lists_copies
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import SketchedRows
from lshfast.join.all_pairs import AllPairs
from lshfast.join.comparison import Comparison
from lshfast.join.copies import copy_pairs
from lshfast.join.pair_arrays import PAIR, sort_pairs

if TYPE_CHECKING:
    from lshfast._engine.pairs.exact import ExactPairs


def _exact_pairs(sketches: SketchedRows, plan: Plan) -> ExactPairs:
    from lshfast._engine.pairs.exact import ExactPairs

    return ExactPairs(sketches, plan)


class SimilarPairs:
    """The similar pairs of a run that are listed, ascending, in batches.

    An exact copy is paired with its first copy only.

    Attributes
    ----------
    sketches : SketchedRows
        The rows.
    found : int
        The number of pairs that iteration has yielded.
    only : structured ndarray or None
        The similar pairs of rows that are not copies, if one batch held all of them.
    """

    def __init__(
        self,
        sketches: SketchedRows,
        plan: Plan,
        clock: Clock,
        progress: Progress | None = None,
    ) -> None:
        self.sketches: SketchedRows = sketches
        self._plan = plan
        self._clock = clock
        self._progress = progress
        threshold = 0.0 if plan.verify == "none" else plan.threshold
        comparison = Comparison(
            threshold,
            plan.verify == "exact",
            threads=plan.threads,
            measure=plan.measure,
        )
        self._pairs: ExactPairs | AllPairs
        with clock.stage("match", 0):
            if plan.exact:
                self._pairs = _exact_pairs(sketches, plan)
            else:
                self._pairs = AllPairs(
                    sketches.rows,
                    sketches.signatures,
                    sketches.keys,
                    comparison,
                    sketches.copies,
                    sketches.sketched,
                )
        self._copies = (
            copy_pairs(sketches.copies) if lists_copies(plan) else np.empty(0, PAIR)
        )
        sort_pairs(self._copies)
        self._nbytes = int(sketches.rows.column.nbytes.sum())
        self._done = 0
        # Without candidates there is still one batch, of the pairs of copies.
        self._ended = False
        self._upto = (0, 0)
        self.found: int = 0
        self.only: PairArray | None = None

    @property
    def candidates(self) -> int:
        """The number of pairs sharing a bucket that were found so far."""
        return self._pairs.candidates

    def __iter__(self) -> Iterator[PairArray]:
        """Yield the pairs in batches, copies included."""
        for pairs in listed(self._noted(), self._plan):
            all_pairs = self._with_copies(pairs)
            self.found += len(all_pairs)
            yield all_pairs

    def of_different_rows(self) -> Iterator[PairArray]:
        """Yield all similar pairs of rows that are not copies, listed or not."""
        while not self._ended:
            yield self._next()

    def _noted(self) -> Iterator[PairArray]:
        """Yield the pairs of `of_different_rows`, and set `only`."""
        pairs = self._next()
        self.only = pairs if self._ended else None
        yield pairs
        yield from self.of_different_rows()

    def _next(self) -> PairArray:
        """Return the next similar pairs without copies; they are complete up to `_upto`."""
        with self._clock.stage("match", 0):
            i, j = self._pairs.next_candidates()
        self._ended = self._pairs.done
        nbytes = self._nbytes
        self._nbytes = 0
        with self._clock.stage("verify", nbytes):
            pairs = self._pairs.verified(i, j, self._tell)
        self._done += len(i)
        n = len(self.sketches)
        self._upto = (n, n) if self._ended else (int(i[-1]), int(j[-1]))
        return pairs

    def _tell(self, pairs_done: int, total: int) -> None:
        if self._progress:
            self._progress(
                "verify",
                self._done + pairs_done,
                self._done + total if self._ended else None,
            )

    def _with_copies(self, similar: PairArray) -> PairArray:
        """Add the pairs of copies up to the pair up to which `similar` is complete."""
        upto = self._upto
        at = int(np.searchsorted(self._copies["i"], upto[0], side="left"))
        at += int(
            np.searchsorted(
                self._copies["j"][self._copies["i"] == upto[0]], upto[1], side="right"
            )
        )
        added = self._copies[:at]
        self._copies = self._copies[at:]
        if not len(added):
            return similar
        pairs = np.concatenate([similar, added])
        sort_pairs(pairs)
        return pairs
