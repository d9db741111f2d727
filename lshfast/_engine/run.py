"""The stages of a run after sketching: bucket keys → candidates → pairs → groups.

Texts are referenced in place. Their tokens are not stored: verification computes the tokens of
candidates again, with the secret key of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lshfast._common.progress import Progress
from lshfast._common.types import Float64Array, Int64Array
from lshfast._engine.account.findings import Findings, ReadRows
from lshfast._engine.account.report import DedupResult
from lshfast._engine.account.short_texts import advice_for
from lshfast._engine.clock import Clock
from lshfast._engine.columns import Column
from lshfast._engine.kinds.kind import Request
from lshfast._engine.pairs.listed import PairArray
from lshfast._engine.plan import Plan
from lshfast._engine.preference import preference_of, preference_of_rows
from lshfast._engine.sketching import (
    RowStore,
    SketchedRows,
    signatures_of,
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
from lshfast.join.jaccard import verify
from lshfast.join.screening import estimate
from lshfast.kernels.text import Texts
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast._engine.against import Earlier
    from lshfast._engine.earlier_texts import EarlierRowsOf
    from lshfast._engine.key_copies import KeyCopies
    from lshfast._engine.pairs.similar import SimilarPairs
    from lshfast.index.lsh_index import LSHIndex


# An exact join for groups ends if there are more similar pairs for each row than this. The pairs
# that determine the groups are fewer than the rows.
MOST_PAIRS = 64


@dataclass(frozen=True)
class PartRun:
    """The rows of a run or of a part of it, the findings, and the plan with common shingles."""

    sketches: SketchedRows
    found: Findings
    plan: Plan

    @property
    def column(self) -> Column:
        """The rows as they are held."""
        return self.sketches.rows.column

    def result(
        self, clock: Clock, rows: ReadRows, indexed: int | None = None
    ) -> DedupResult:
        """Return the result of the run; see `Findings.result`."""
        advice = advice_for(self.sketches.rows.column, self.plan)
        return self.found.result(self.plan, clock, rows, indexed, advice)


def run_part(
    batches: Iterable[Texts | Column],
    plan: Plan,
    clock: Clock,
    request: Request,
    store: RowStore | None = None,
) -> PartRun:
    """Find the groups of rows, and all similar pairs if they are requested.

    `store` holds the signatures, which are in memory otherwise.
    """
    progress = request.progress
    if plan.ignore_common is not None:
        from lshfast._engine.common_shingles import ignoring_common

        batches, plan = ignoring_common(batches, plan, clock, progress)
    sketches = sketch_rows(
        batches,
        plan,
        clock,
        progress,
        indexed=request.indexed or request.against is not None,
        grouped=request.similar is None,
        screened=request.exact_keys is None and store is None,
        store=store,
    )
    keep = request.keep() if callable(request.keep) else request.keep
    key_copies = None
    if request.exact_keys is not None:
        from lshfast._engine.key_copies import find_key_copies

        with clock.stage("match", 0):
            preference = preference_of_rows(keep, sketches.rows.column)
            key_copies = find_key_copies(request.exact_keys(), preference)
            sketches.set_aside(key_copies.rows)
    earlier = None
    if request.against is not None:
        earlier = remove_earlier(sketches, plan, clock, request.against, progress)
    similar_pairs = None
    if request.similar is not None:
        from lshfast._engine.pairs.similar import SimilarPairs

        similar_pairs = SimilarPairs(sketches, plan, clock, progress)
        request.similar(similar_pairs)
    findings = find_duplicates(
        sketches,
        plan,
        clock,
        preference=None if keep is None else preference_of(keep, sketches.rows.column),
        earlier=earlier,
        key_copies=key_copies,
        similar_pairs=similar_pairs,
        progress=progress,
    )
    return PartRun(sketches, findings, plan)


def remove_earlier(
    sketches: SketchedRows,
    plan: Plan,
    clock: Clock,
    against: LSHIndex | EarlierRowsOf,
    progress: Progress | None = None,
) -> Earlier:
    """Find the rows that are similar to an earlier one, and exclude them from comparisons."""
    from lshfast._engine.against import find_earlier
    from lshfast._engine.earlier_texts import EarlierRowsOf, find_earlier_texts

    with clock.stage("earlier"):
        if isinstance(against, EarlierRowsOf):
            earlier = find_earlier_texts(sketches, plan, against, progress)
        else:
            earlier = find_earlier(against, sketches.signatures, plan)
        earlier = earlier.among(~sketches.aside)
        sketches.set_aside(earlier.rows)
    return earlier


def find_duplicates(
    sketches: SketchedRows,
    plan: Plan,
    clock: Clock,
    *,
    preference: npt.ArrayLike | None = None,
    earlier: Earlier | None = None,
    key_copies: KeyCopies | None = None,
    similar_pairs: SimilarPairs | None = None,
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
    key_copies : KeyCopies, optional
        Rows that were removed by their exact keys.
    similar_pairs : SimilarPairs, optional
        All similar pairs of this run, after its batches were used. If one batch held all of them,
        they are not searched again.
    progress : callable, optional
        Called with ("verify", done, total).
    """
    search = _GroupSearch(sketches, plan, clock, preference, progress)
    all_pairs = None if similar_pairs is None else similar_pairs.only
    pairs = search.pairs(all_pairs)
    groups = search.groups(pairs)
    sketches = search.sketches
    pairs = with_copies(pairs, sketches.copies)
    pairs_found = len(pairs)
    candidates = search.compared
    if similar_pairs is not None:
        pairs_found = similar_pairs.found
        candidates = similar_pairs.candidates
    return Findings.of(
        groups,
        pairs,
        sketches.copies,
        earlier,
        key_copies,
        pairs_found=pairs_found,
        candidates=candidates,
        empty=int(sketches.empty.sum()),
    )


class _GroupSearch:
    """The search for the pairs that determine groups, and for the groups.

    Attributes
    ----------
    sketches : SketchedRows
        Rows of a crowd that were only hashed are sketched if too many of their pairs are similar.
    compared : int
        The number of pairs that were compared.
    """

    sketches: SketchedRows
    compared: int

    def __init__(
        self,
        sketches: SketchedRows,
        plan: Plan,
        clock: Clock,
        preference: npt.ArrayLike | None,
        progress: Progress | None,
    ) -> None:
        self.sketches = sketches
        self.compared = 0
        self._plan = plan
        self._clock = clock
        self._preference = preference
        self._progress = progress
        self._report = None
        if progress is not None:
            self._report = partial(progress, "verify")

    def pairs(self, all_pairs: PairArray | None) -> PairArray:
        """Return similar pairs that determine the groups, sorted; `all_pairs` has all, if known."""
        by_size = self._plan.measure == "containment"
        if all_pairs is not None or self._plan.exact:
            pairs = self._exact_pairs() if all_pairs is None else all_pairs
            if by_size:
                rows = np.unique(np.concatenate([pairs["i"], pairs["j"]]))
                self._preference = self._larger_first(rows)
            return pairs
        was_joined = self.sketches.tokens is not None
        if was_joined:
            short_pairs = self._pairs_of_short_crowd()
            if short_pairs is not None:
                return short_pairs
            column = self.sketches.rows.column
            self.sketches = sketch_rows(
                [column], self._plan, self._clock, self._progress
            )
        if by_size:
            rows = self.sketches.meeting(self._plan.threads)
            self._preference = self._larger_first(rows)
        return self._pairs_for_groups(
            self.sketches, self._preference, join_short=not was_joined
        )

    def groups(self, similar: PairArray) -> Groups:
        """Group the rows, and compute the similarity of each row to its keeper."""
        plan = self._plan
        sketches = self.sketches
        preference = self._preference
        chains = plan.groups == "components"
        form_groups = component_groups if chains else star_groups
        with self._clock.stage("group", 0):
            if chains and plan.measure == "containment":
                similar = climbing_pairs(
                    len(sketches),
                    similar,
                    copies=sketches.copies,
                    preference=preference,
                )
            groups = form_groups(
                len(sketches), similar, copies=sketches.copies, preference=preference
            )
            unpaired = np.flatnonzero(np.isnan(groups.similarity))
            if len(unpaired):
                keepers = groups.keeper[unpaired]
                i = np.minimum(unpaired, keepers)
                j = np.maximum(unpaired, keepers)
                groups.similarity[unpaired] = self._similarity(i, j)
            return groups

    def _similarity(self, i: Int64Array, j: Int64Array) -> Float64Array:
        """Return the similarity of rows, which is estimated if pairs are not verified exactly."""
        plan = self._plan
        if plan.verify != "exact":
            return estimate(self.sketches.signatures, i, j)
        pairs = verify(
            self.sketches.rows,
            i,
            j,
            0.0,
            measure=plan.measure,
            threads=plan.threads,
        )
        return np.asarray(pairs["similarity"])

    def _larger_first(self, rows: Int64Array) -> Int64Array:
        """Return a preference for larger sets among `rows`, which may be in a similar pair."""
        with self._clock.stage("match"):
            sizes = self.sketches.set_sizes(rows, self._plan.threads)
            return larger_first(sizes, self._preference)

    def _verifying(self) -> AbstractContextManager[None]:
        """Measure a block as the stage "verify" of all rows."""
        nbytes = int(self.sketches.rows.column.nbytes.sum())
        return self._clock.stage("verify", nbytes)

    def _exact_pairs(self) -> PairArray:
        """Return all similar pairs of different rows, sorted.

        If they are more than MOST_PAIRS for each row, return pairs that determine the groups.
        """
        from lshfast._engine.pairs.exact import ExactPairs

        sketches = self.sketches
        n = len(sketches)
        join = ExactPairs(sketches, self._plan)
        with self._verifying():
            pairs = join.at_most(MOST_PAIRS * n, self._report)
        if pairs is not None:
            self.compared = join.candidates
            return pairs
        different = sketches.compared_rows
        keys = np.full((n, 1), EMPTY, np.uint64)
        keys[different] = 0
        signatures = np.zeros((n, 1), np.uint64)
        in_one_bucket = replace(sketches, signatures=signatures, keys=keys)
        preference = self._preference
        if self._plan.measure == "containment":
            preference = self._larger_first(different)
        return self._pairs_for_groups(in_one_bucket, preference)

    def _pairs_for_groups(
        self,
        sketches: SketchedRows,
        preference: npt.ArrayLike | None,
        join_short: bool = True,
    ) -> PairArray:
        """Return similar pairs that determine the groups, sorted, of rows that share a bucket."""
        with self._verifying():
            pairs, self.compared = pairs_for_groups(
                sketches.rows,
                sketches.signatures,
                sketches.keys,
                comparison_of(self._plan, join_short),
                copies=sketches.copies,
                preference=preference,
                sketched=sketches.sketched,
                progress=self._report,
            )
        return pairs

    def _pairs_of_short_crowd(self) -> PairArray | None:
        """Return similar pairs that determine the groups of a crowd of short rows.

        None if too many pairs are similar.
        """
        from lshfast._engine.pairs.exact import collection_of
        from lshfast.join.short_rows import pairs_of_short_crowd

        plan = self._plan
        sketch = partial(signatures_of, self.sketches.rows.column, plan=plan)
        with self._verifying():
            pairs_and_count = pairs_of_short_crowd(
                collection_of(self.sketches, plan.threads),
                sketch,
                plan.bands,
                comparison_of(plan),
                preference=self._preference,
                progress=self._report,
            )
        if pairs_and_count is None:
            return None
        pairs, self.compared = pairs_and_count
        return pairs


def comparison_of(plan: Plan, join_short: bool = True) -> Comparison:
    """Return how rows are compared for groups."""
    return Comparison(
        0.0 if plan.verify == "none" else plan.threshold,
        plan.verify == "exact",
        plan.groups == "components",
        plan.threads,
        plan.measure,
        plan.capped,
        join_short,
    )
