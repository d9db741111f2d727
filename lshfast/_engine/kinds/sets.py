"""Texts and sets: their sets of shingles or elements are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from lshfast._common.choices import Kind
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._engine.account.short_texts import advice_for
from lshfast._engine.clock import Clock
from lshfast._engine.columns import ShingledTexts, column_of
from lshfast._engine.indexes.plan_of_index import (
    check_earlier,
    check_indexed,
    check_same_run,
)
from lshfast._engine.indexes.run_indexes import Indexes, add_rows, new_index
from lshfast._engine.inputs import text_batches
from lshfast._engine.kinds.kind import (
    Insertion,
    ItemKind,
    ItemsInMemory,
    NewIndex,
    PairsInMemory,
    Request,
)
from lshfast._engine.pairs.listed import listed, not_above
from lshfast._engine.plan import Plan
from lshfast._engine.run import PartRun, run_part
from lshfast._engine.sketching import sketch_rows, sketched
from lshfast._io import Corpus
from lshfast.join.copies import with_copies
from lshfast.join.pair_arrays import joined_pairs
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.stores.values import OnDuplicate


class SetKind(ItemKind):
    """Texts, or sets of elements."""

    def hold(self, items: Any, plan: Plan, kind_name: Kind | None) -> ItemsInMemory:
        column = column_of(items, plan.shingles, kind_name)
        kind: Kind = "text" if isinstance(column, ShingledTexts) else "set"
        if kind_name not in (None, kind):
            raise TypeError(
                f"texts must be {kind_name}s for kind={kind_name!r}, not {kind}s"
            )
        return ItemsInMemory(SetKind(kind), replace(plan, kind=kind), column)

    def batches(
        self, corpus: Corpus, indexes: Indexes, index: Any, progress: Progress | None
    ) -> Iterator[Any]:
        batches = text_batches(corpus, progress)
        if index is None:
            return batches
        return indexes.checked(index, corpus, batches)

    def run(
        self, batches: Iterable[Any], plan: Plan, clock: Clock, request: Request
    ) -> PartRun:
        return run_part(batches, plan, clock, request)

    def pairs(
        self,
        items: ItemsInMemory,
        copies: Literal["first", "all"],
        progress: Progress | None,
    ) -> PairsInMemory:
        plan = items.plan
        clock = Clock()
        batches: Iterable[Any] = [items.batch]
        if plan.ignore_common is not None:
            from lshfast._engine.common_shingles import ignoring_common

            batches, plan = ignoring_common(batches, plan, clock, progress)
        sketches = sketch_rows(batches, plan, clock, progress, screened=True)
        advice = advice_for(sketches.rows.column, plan)
        from lshfast._engine.pairs.similar import SimilarPairs

        similar = SimilarPairs(sketches, plan, clock, progress)
        if copies == "first":
            return PairsInMemory(joined_pairs(similar), advice, None)
        different = joined_pairs(listed(similar.of_different_rows(), plan))
        pairs = not_above(with_copies(different, sketches.copies, copies), plan)
        return PairsInMemory(pairs, advice, None)

    def check_index(self, index: LSHIndex, plan: Plan) -> None:
        if index.holds == "weighted":
            raise ValueError(
                "against is an index of weighted sets, and the run is over texts or sets"
            )
        check_same_run(index.parameters, plan)

    def check_earlier_texts(self, plan: Plan) -> None:
        check_earlier(plan)

    def insert_kept(self, index: LSHIndex, part: PartRun, keys: Sequence[Any]) -> int:
        rows = part.found.kept_rows
        from lshfast._engine.against import new_keys

        return index.insert(new_keys(index, keys, rows), part.sketches.signatures[rows])

    def new_index(self, name: str, plan: Plan, on_duplicate: OnDuplicate) -> NewIndex:
        check_indexed(plan)
        index = new_index(plan, on_duplicate)
        return NewIndex(index, type(index))

    def fill_index(self, insertion: Insertion, k: int | None) -> int:
        corpus = insertion.corpus
        progress = insertion.progress
        clock = insertion.job.clock
        texts: Iterator[Any] = text_batches(corpus, progress)
        if insertion.plan.kind == "text":
            texts = insertion.forms.of(texts)
        sketches = sketched(
            texts, insertion.plan, clock, lambda piece: piece.signatures, progress
        )
        row = 0
        empty = 0
        with closing(sketches) as pieces:
            for signatures in pieces:
                rows = int64_range(row, row + len(signatures))
                with clock.stage("insert"):
                    add_rows(insertion.index, insertion.path, corpus, rows, signatures)
                row += len(signatures)
                empty += int((signatures[:, 0] == EMPTY).sum())
        return empty

    def opened_index(self, indexes: Indexes, plan: Plan) -> AbstractContextManager[Any]:
        return indexes.opened(plan)

    def add_kept(
        self, run: PartRun, index: Any, indexes: Indexes, corpus: Corpus
    ) -> int | None:
        return indexes.add(index, corpus, run.found.kept_rows, run.sketches.signatures)

    def commit(self, index: Any, path: str, progress: Progress | None) -> None:
        index.commit(progress=progress)

    def check_indexed(self, plan: Plan) -> None:
        check_indexed(plan)
