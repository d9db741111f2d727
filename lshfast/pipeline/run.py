"""The stages of a run after the pass over its rows: bucket keys → candidates → pairs → groups.

Texts are referenced in place. Their tokens are not kept: verification makes those of candidates again, under the key of
the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.progress import Progress
from lshfast.index.lsh_index import LSHIndex
from lshfast.join.banded import candidates
from lshfast.join.copies import with_copies
from lshfast.join.group_pairs import Comparison, pairs_for_groups
from lshfast.join.groups import Groups, component_groups, star_groups
from lshfast.join.jaccard import as_pairs, estimate, screen, verify
from lshfast.pipeline.against import NOTHING_EARLIER, Earlier, find_earlier
from lshfast.pipeline.plan import Plan
from lshfast.pipeline.report import DedupResult, Summary
from lshfast.pipeline.short_texts import advice_for
from lshfast.pipeline.sketching import Clock, SketchedRows
from lshfast.tokens import BoolArray, Int64Array


@dataclass(frozen=True)
class Findings:
    """What a run found out about its rows.

    Attributes
    ----------
    sketches : SketchedRows
    plan : Plan
    groups : Groups
        With rows that were removed for an earlier entry in the groups of these.
    pairs : structured ndarray
        Similar pairs, copies included.
    candidates : int
        Pairs that were compared.
    group_sizes : ndarray of int64
        Of the groups among the rows that no earlier entry removed.
    earlier : Earlier or None
        None where the run was not held against an index.
    """

    sketches: SketchedRows
    plan: Plan
    groups: Groups
    pairs: npt.NDArray[np.void]
    candidates: int
    group_sizes: Int64Array
    earlier: Earlier | None

    @property
    def kept(self) -> BoolArray:
        """Whether each row is kept: bool (n,)."""
        return np.asarray(self.groups.keeper == np.arange(len(self.sketches), dtype=np.int64))

    @property
    def kept_rows(self) -> Int64Array:
        """The rows that are kept, ascending."""
        return np.flatnonzero(self.kept)

    def result(
        self, clock: Clock, *, keys: Sequence[Any] | None, read: int, rejected: int = 0, indexed: int | None = None
    ) -> DedupResult:
        """Return the result of the run.

        Parameters
        ----------
        clock : Clock
        keys : sequence, optional
            One a row.
        read, rejected : int
            Rows that the source of the batches read and refused.
        indexed : int, optional
            Entries that are new or replaced in an index.
        """
        n, kept, sizes = len(self.sketches), self.kept, self.group_sizes
        summary = Summary(
            read=read,
            kept=int(kept.sum()),
            removed=int((~kept).sum()),
            rejected=rejected,
            empty=int(self.sketches.empty.sum()),
            copies=int((self.sketches.copies != np.arange(n, dtype=np.int64)).sum()),
            candidates=self.candidates,
            pairs=len(self.pairs),
            groups=int((sizes > 1).sum()),
            largest_group=int(sizes.max()) if n else 0,
            bands=self.plan.bands.bands,
            rows=self.plan.bands.rows,
            recall=self.plan.recall,
            verify=self.plan.verify,
            stages=clock.stages,
            seconds=clock.seconds,
            earlier=0 if self.earlier is None else len(self.earlier.rows),
            indexed=indexed,
            advice=advice_for(self.sketches.rows.column, self.plan),
        )
        groups, earlier = self.groups, None if self.earlier is None else self.earlier.column(n)
        return DedupResult(kept, groups.labels, groups.keeper, groups.similarity, self.pairs, summary, keys, earlier)


def find_duplicates(
    sketches: SketchedRows,
    plan: Plan,
    clock: Clock,
    *,
    preference: npt.ArrayLike | None = None,
    against: LSHIndex | None = None,
    every_pair: bool = False,
    progress: Progress | None = None,
) -> Findings:
    """Find similar pairs, and the groups that follow from them.

    Parameters
    ----------
    sketches : SketchedRows
    plan : Plan
    clock : Clock
    preference : array_like of shape (n,), optional
        Of two similar rows that of the greater value is kept, the first by default.
    against : LSHIndex, optional
        Rows similar to one of its entries are removed first, and are not compared with other rows.
    every_pair : bool, default False
        Find all similar pairs, not only those that the groups rest on.
    progress : callable, optional
        Called with ("verify", done, total).
    """
    earlier = NOTHING_EARLIER
    if against is not None:
        with clock.stage("earlier"):
            earlier = find_earlier(against, sketches.signatures, plan)
            sketches.set_aside(earlier.rows)
    if every_pair:
        similar, compared = find_pairs(sketches, plan, clock, progress)
    else:
        similar, compared = find_pairs_for_groups(sketches, plan, preference, clock, progress)
    groups = group(sketches, similar, plan, preference, clock)
    own = np.ones(len(sketches), bool)
    own[earlier.rows] = False
    sizes = np.bincount(groups.labels[own], minlength=1)
    earlier.fill_in(groups)
    pairs = with_copies(similar, sketches.copies)
    return Findings(sketches, plan, groups, pairs, compared, sizes, None if against is None else earlier)


def find_pairs(
    sketches: SketchedRows, plan: Plan, clock: Clock, progress: Progress | None = None
) -> tuple[npt.NDArray[np.void], int]:
    """Return the similar pairs of different rows, sorted, and the number of candidates they were chosen from."""
    nbytes = int(sketches.rows.column.nbytes.sum())
    met: list[int] = []

    def worth_a_look(i: Int64Array, j: Int64Array) -> BoolArray:
        met.append(len(i))
        if plan.verify == "exact":
            return screen(sketches.signatures, i, j, plan.threshold)
        least = plan.threshold if plan.verify == "signature" else 0.0
        return np.asarray(estimate(sketches.signatures, i, j) >= least)

    with clock.stage("match", 0):
        i, j = candidates(sketches.keys, copies=sketches.copies, screen=worth_a_look, threads=plan.threads)
    with clock.stage("verify", nbytes):
        if plan.verify != "exact":
            return as_pairs(i, j, estimate(sketches.signatures, i, j)), sum(met)
        tell = (lambda done, total: progress("verify", done, total)) if progress else None
        return verify(sketches.rows, i, j, plan.threshold, threads=plan.threads, progress=tell), sum(met)


def find_pairs_for_groups(
    sketches: SketchedRows, plan: Plan, preference: npt.ArrayLike | None, clock: Clock, progress: Progress | None = None
) -> tuple[npt.NDArray[np.void], int]:
    """Return the similar pairs that the groups rest on, sorted, and the number of pairs that were compared."""
    threshold = 0.0 if plan.verify == "none" else plan.threshold
    comparison = Comparison(threshold, plan.verify == "exact", plan.groups == "components", plan.threads)
    tell = (lambda done, total: progress("verify", done, total)) if progress else None
    with clock.stage("verify", int(sketches.rows.column.nbytes.sum())):
        return pairs_for_groups(
            sketches.rows,
            sketches.signatures,
            sketches.keys,
            comparison,
            copies=sketches.copies,
            preference=preference,
            progress=tell,
        )


def group(
    sketches: SketchedRows, similar: npt.NDArray[np.void], plan: Plan, preference: npt.ArrayLike | None, clock: Clock
) -> Groups:
    """Group the rows, and fill in the similarities to the keepers that no pair tells."""
    make = star_groups if plan.groups == "star" else component_groups
    with clock.stage("group", 0):
        groups = make(len(sketches), similar, copies=sketches.copies, preference=preference)
        unknown = np.flatnonzero(np.isnan(groups.similarity))
        if len(unknown):
            left = np.minimum(unknown, groups.keeper[unknown])
            right = np.maximum(unknown, groups.keeper[unknown])
            if plan.verify == "exact":
                found = verify(sketches.rows, left, right, 0.0, threads=plan.threads)
                groups.similarity[unknown] = found["similarity"]
            else:
                groups.similarity[unknown] = estimate(sketches.signatures, left, right)
        return groups
