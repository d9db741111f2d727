"""The stages of a run after sketching: bucket keys → candidates → pairs → groups.

Texts are referenced in place. Their tokens are not stored: verification computes the tokens of
candidates again, with the secret key of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lshfast._common.progress import Progress
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.account.findings import Findings
from lshfast._engine.account.report import DedupResult
from lshfast._engine.account.short_texts import advice_for
from lshfast._engine.against import Earlier, find_earlier
from lshfast._engine.clock import Clock
from lshfast._engine.columns import Column
from lshfast._engine.common_shingles import ignoring_common
from lshfast._engine.pairs.exact import ExactPairs, collection_of
from lshfast._engine.pairs.similar import SimilarPairs
from lshfast._engine.plan import Keep, KeepValues, Plan
from lshfast._engine.preference import preference_of
from lshfast._engine.sketching import (
    LEAST_ROW_BYTES,
    RowStore,
    SketchedRows,
    sketch_rows,
)
from lshfast.join.comparison import Comparison
from lshfast.join.copies import with_copies
from lshfast.join.group_pairs import pairs_for_groups
from lshfast.join.groups import (
    Groups,
    climbing_pairs,
    component_groups,
    larger_first,
    star_groups,
)
from lshfast.join.jaccard import estimate, verify
from lshfast.join.short_crowds import pairs_of_short_crowd
from lshfast.kernels.text import Texts
from lshfast.shingling import PIECE_BYTES
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex


# An exact join for groups ends if there are more similar pairs for each row than this. The pairs
# that determine the groups are fewer than the rows.
MOST_PAIRS = 64


@dataclass(frozen=True)
class PartRun:
    """The rows of a part of a run, or of a whole run, what was found among them, and the plan with
    common shingles.
    """

    sketches: SketchedRows
    found: Findings
    plan: Plan

    @property
    def column(self) -> Column:
        """The rows as they are held."""
        return self.sketches.rows.column

    def result(self, clock: Clock, **known: Any) -> DedupResult:
        """Return the result of the run; `known` is what `Findings.result` takes besides."""
        advice = advice_for(self.sketches.rows.column, self.plan)
        return self.found.result(self.plan, clock, advice=advice, **known)


def run_part(
    batches: Iterable[Texts | Column],
    plan: Plan,
    clock: Clock,
    *,
    keep: Keep | KeepValues | Callable[[], Int64Array] = "first",
    against: LSHIndex | None = None,
    indexed: bool = False,
    similar: Callable[[SimilarPairs, SketchedRows], object] | None = None,
    store: RowStore | None = None,
    progress: Progress | None = None,
) -> PartRun:
    """Find the groups of some rows, and all similar pairs if they are wanted.

    Parameters
    ----------
    batches : iterable of Texts or Column
    plan : Plan
    clock : Clock
    keep : str, array_like of shape (n,), or callable
        A policy, or a value for each row; a callable returns the values, once all batches have been
        read.
    against : LSHIndex, optional
        An index: rows that are similar to an entry are removed first.
    indexed : bool, default False
        Whether rows will be added to an index, which takes their signatures.
    similar : callable, optional
        Called with all similar pairs, which it takes in batches, and the rows.
    store : RowStore, optional
        Holds the signatures, which are in memory otherwise.
    progress : callable, optional
    """
    indexed = indexed or against is not None
    batches, plan = ignoring_common(batches, plan, clock, progress)
    sketches = sketch_rows(
        batches,
        plan,
        clock,
        progress,
        indexed=indexed,
        grouped=similar is None and store is None,
        store=store,
    )
    values = keep() if callable(keep) else keep
    earlier = remove_earlier(sketches, plan, clock, against)
    every = None
    if similar is not None:
        every = SimilarPairs(sketches, plan, clock, progress)
        similar(every, sketches)
    preference = preference_of(values, sketches.rows.column)
    found = find_duplicates(
        sketches,
        plan,
        clock,
        preference=preference,
        earlier=earlier,
        every=every,
        progress=progress,
    )
    return PartRun(sketches, found, plan)


def remove_earlier(
    sketches: SketchedRows, plan: Plan, clock: Clock, against: LSHIndex | None
) -> Earlier | None:
    """Find the rows that are similar to an entry of an index, and exclude them from comparisons;
    None for no index.
    """
    if against is None:
        return None
    with clock.stage("earlier"):
        earlier = find_earlier(against, sketches.signatures, plan)
        sketches.set_aside(earlier.rows)
    return earlier


def find_duplicates(
    sketches: SketchedRows,
    plan: Plan,
    clock: Clock,
    *,
    preference: npt.ArrayLike | None = None,
    earlier: Earlier | None = None,
    every: SimilarPairs | None = None,
    progress: Progress | None = None,
) -> Findings:
    """Find the groups, and the similar pairs that determine them.

    Parameters
    ----------
    sketches : SketchedRows
    plan : Plan
    clock : Clock
    preference : array_like of shape (n,), optional
        Of two similar rows, the one with the greater value is kept; the first by default. With
        containment, the one with the larger set is kept, and the value decides among sets of one
        size.
    earlier : Earlier, optional
        Rows that were removed for an entry of an index, see `remove_earlier`.
    every : SimilarPairs, optional
        All similar pairs of this run, after its batches were used. If one batch held all of them,
        they are not searched again.
    progress : callable, optional
        Called with ("verify", done, total).
    """
    by_size = plan.measure == "containment"
    if plan.exact or (every is not None and every.only is not None):
        if every is not None and every.only is not None:
            similar = every.only
            compared = 0
        else:
            similar, compared = find_exact_pairs(
                sketches, plan, clock, preference, progress
            )
        if by_size:
            rows = np.unique(np.concatenate([similar["i"], similar["j"]]))
            preference = prefer_larger(sketches, rows, plan, preference, clock)
    else:
        short = sketches.tokens is not None
        joined = (
            find_pairs_of_short_crowd(sketches, plan, preference, clock, progress)
            if short
            else None
        )
        if short and joined is None:
            sketches = sketch_rows([sketches.rows.column], plan, clock, progress)
        if by_size:
            preference = prefer_larger(
                sketches, sketches.meeting(plan.threads), plan, preference, clock
            )
        similar, compared = joined or find_pairs_for_groups(
            sketches, plan, preference, clock, progress, join_short=not short
        )
    groups = group(sketches, similar, plan, preference, clock)
    pairs = with_copies(similar, sketches.copies)
    found = len(pairs)
    if every is not None:
        found = every.found
        compared = every.candidates
    return Findings.of(
        groups,
        pairs,
        sketches.copies,
        earlier,
        pairs_found=found,
        candidates=compared,
        empty=int(sketches.empty.sum()),
    )


def prefer_larger(
    sketches: SketchedRows,
    rows: Int64Array,
    plan: Plan,
    preference: npt.ArrayLike | None,
    clock: Clock,
) -> Int64Array:
    """Return a preference for the rows with larger sets, of those that may be in a similar pair."""
    with clock.stage("match"):
        return larger_first(sketches.set_sizes(rows, plan.threads), preference)


def find_exact_pairs(
    sketches: SketchedRows,
    plan: Plan,
    clock: Clock,
    preference: npt.ArrayLike | None,
    progress: Progress | None = None,
) -> tuple[npt.NDArray[np.void], int]:
    """Return all similar pairs of different rows, sorted, and the number of pairs that were
    compared.

    If they are more than MOST_PAIRS for each row, the pairs that determine the groups are returned
    instead.
    """
    every = ExactPairs(sketches, plan)
    with clock.stage("verify", int(sketches.rows.column.nbytes.sum())):
        found = every.at_most(MOST_PAIRS * len(sketches), _report_to(progress))
    if found is not None:
        return found, every.candidates
    n = len(sketches)
    different = np.flatnonzero(
        (sketches.copies == np.arange(n, dtype=np.int64)) & ~sketches.empty
    )
    keys = np.full((n, 1), EMPTY, np.uint64)
    keys[different] = 0
    in_one_bucket = replace(sketches, signatures=np.zeros((n, 1), np.uint64), keys=keys)
    if plan.measure == "containment":
        preference = prefer_larger(sketches, different, plan, preference, clock)
    return find_pairs_for_groups(in_one_bucket, plan, preference, clock, progress)


def _report_to(progress: Progress | None) -> Callable[[int, int], None] | None:
    return (lambda done, total: progress("verify", done, total)) if progress else None


def comparison_of(plan: Plan) -> Comparison:
    """Return how rows are compared for groups."""
    threshold = 0.0 if plan.verify == "none" else plan.threshold
    chains = plan.groups == "components"
    return Comparison(
        threshold,
        plan.verify == "exact",
        chains,
        plan.threads,
        plan.measure,
        plan.capped,
    )


def find_pairs_for_groups(
    sketches: SketchedRows,
    plan: Plan,
    preference: npt.ArrayLike | None,
    clock: Clock,
    progress: Progress | None = None,
    *,
    join_short: bool = True,
) -> tuple[npt.NDArray[np.void], int]:
    """Return similar pairs that determine the groups, sorted, and the number of pairs that were
    compared.
    """
    with clock.stage("verify", int(sketches.rows.column.nbytes.sum())):
        return pairs_for_groups(
            sketches.rows,
            sketches.signatures,
            sketches.keys,
            replace(comparison_of(plan), join_short=join_short),
            copies=sketches.copies,
            preference=preference,
            progress=_report_to(progress),
        )


def find_pairs_of_short_crowd(
    sketches: SketchedRows,
    plan: Plan,
    preference: npt.ArrayLike | None,
    clock: Clock,
    progress: Progress | None = None,
) -> tuple[npt.NDArray[np.void], int] | None:
    """Return what `find_pairs_for_groups` returns, for a crowd of short rows; None if too many
    pairs are similar.
    """
    column = sketches.rows.column
    hasher = plan.hasher

    def sketch(rows: Int64Array) -> UInt64Array:
        signatures = np.empty((len(rows), hasher.num_perm), np.uint64)

        def work(part: slice) -> None:
            signatures[part] = hasher.sketch(
                column.take(rows[part]).tokens(hasher.seed), threads=1
            )

        for_each_piece(
            work,
            np.maximum(column.nbytes[rows], LEAST_ROW_BYTES),
            PIECE_BYTES,
            plan.threads,
        )
        return signatures

    with clock.stage("verify", int(column.nbytes.sum())):
        return pairs_of_short_crowd(
            collection_of(sketches, plan.threads),
            sketch,
            plan.bands,
            comparison_of(plan),
            preference=preference,
            progress=_report_to(progress),
        )


def group(
    sketches: SketchedRows,
    similar: npt.NDArray[np.void],
    plan: Plan,
    preference: npt.ArrayLike | None,
    clock: Clock,
) -> Groups:
    """Group the rows, and compute the similarity to the keeper of each row that is not paired with
    it.
    """
    make = star_groups if plan.groups == "star" else component_groups
    with clock.stage("group", 0):
        if plan.groups == "components" and plan.measure == "containment":
            similar = climbing_pairs(
                len(sketches), similar, copies=sketches.copies, preference=preference
            )
        groups = make(
            len(sketches), similar, copies=sketches.copies, preference=preference
        )
        unknown = np.flatnonzero(np.isnan(groups.similarity))
        if len(unknown):
            left = np.minimum(unknown, groups.keeper[unknown])
            right = np.maximum(unknown, groups.keeper[unknown])
            if plan.verify == "exact":
                found = verify(
                    sketches.rows,
                    left,
                    right,
                    0.0,
                    measure=plan.measure,
                    threads=plan.threads,
                )
                groups.similarity[unknown] = found["similarity"]
            else:
                groups.similarity[unknown] = estimate(sketches.signatures, left, right)
        return groups
