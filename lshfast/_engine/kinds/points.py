"""Weighted sets, vectors and codes: items that are compared by their similarities or distances."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lshfast._common.choices import Kind, plural
from lshfast._common.progress import Progress
from lshfast._engine.account.findings import named_pairs
from lshfast._engine.against import new_keys
from lshfast._engine.clock import Clock
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.inputs import item_batches
from lshfast._engine.kinds.kind import (
    Insertion,
    ItemKind,
    ItemsInMemory,
    NewIndex,
    PairsInMemory,
    Request,
)
from lshfast._engine.points import PointRun, pairs_of_points, run_points
from lshfast._io import Corpus
from lshfast._items.measures import PointPlan
from lshfast._items.reading import read_points

if TYPE_CHECKING:
    from lshfast._engine.indexes.weighted import WeightedIndex
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.stores.values import OnDuplicate


class PointKindOf(ItemKind):
    """Vectors, or codes."""

    in_parts = False
    empty_are_entries = False

    def hold(
        self, items: Any, plan: PointPlan, kind_name: Kind | None
    ) -> ItemsInMemory:
        batch, format, advice = read_points(items, plan.kind, plan.measure)
        return ItemsInMemory(self, plan, batch, format, advice)

    def batches(
        self, corpus: Corpus, indexes: Indexes, index: Any, progress: Progress | None
    ) -> Iterator[Any]:
        return item_batches(corpus, progress)

    def run(
        self, batches: Iterable[Any], plan: PointPlan, clock: Clock, request: Request
    ) -> PointRun:
        return run_points(batches, plan, clock, request)

    def pairs(
        self,
        items: ItemsInMemory,
        copies: Literal["first", "all"],
        progress: Progress | None,
    ) -> PairsInMemory:
        pairs, limited = pairs_of_points(items, copies, progress)
        pairs_with_values = named_pairs(pairs, items.plan.measure)
        return PairsInMemory(pairs_with_values, items.advice, limited)

    def check_index(self, index: LSHIndex, plan: PointPlan) -> None:
        raise ValueError(
            f"against is for texts and sets, weighted or not, not for {plural(self.name)}"
        )

    def insert_kept(self, index: LSHIndex, part: PointRun, keys: Sequence[Any]) -> int:
        raise NotImplementedError(
            "an index in memory has texts and sets, weighted or not"
        )

    def new_index(
        self, name: str, plan: PointPlan, on_duplicate: OnDuplicate
    ) -> NewIndex:
        from lshfast._engine.indexes.points import class_for, new_point_index

        if self.name == "code" and not plan.complete:
            raise ValueError(
                "recall is for vectors: an index of codes finds all entries within the bound"
            )
        return NewIndex(new_point_index(name, plan, on_duplicate), class_for(plan))

    def fill_index(self, insertion: Insertion, k: int | None) -> int:
        index = insertion.index
        plan = insertion.plan
        reader = insertion.reader
        job = insertion.job
        corpus = insertion.corpus
        batches = job.points(corpus, insertion.progress)
        if index.index is None:
            # A new index is planned for the number of its points, so these are read before.
            waiting = list(batches)
            format = None if reader is None else reader.format
            if format is None:
                raise ValueError(
                    f"there is no {self.name} in the inputs, of which an index could be made"
                )
            with job.clock.stage("plan"):
                if k is not None:
                    words = [batch.words for batch in waiting]
                    plan = index.choose_bound(words, format, plan, k)
                index.begin(format, plan, sum(len(batch.words) for batch in waiting))
            batches = (waiting.pop(0) for _ in range(len(waiting)))
        row = 0
        empty = 0
        for batch in batches:
            numbers = row + np.flatnonzero(~batch.missing)
            with job.clock.stage("insert"):
                index.add(numbers, batch.words, plan, corpus)
            row += len(batch)
            empty += len(batch) - len(numbers)
        return empty

    def opened_index(
        self, indexes: Indexes, plan: PointPlan
    ) -> AbstractContextManager[Any]:
        from lshfast._engine.indexes.points import index_of_run

        return index_of_run(indexes, plan)

    def check_indexed(self, plan: PointPlan) -> None:
        pass  # the index compares its own parameters when it is opened

    def add_kept(
        self, run: PointRun, index: Any, indexes: Indexes, corpus: Corpus
    ) -> int | None:
        if not len(run.rows):
            return None
        places = np.flatnonzero(run.found.kept[run.rows.numbers])
        added: int = index.add_rows(run.rows, places, run.plan, corpus)
        return added

    def commit(self, index: Any, path: str, progress: Progress | None) -> None:
        if os.path.isdir(path):
            index.commit(progress=progress)
            return
        index.save(path, overwrite=True, progress=progress)


class WeightedKind(PointKindOf):
    """Weighted sets, whose index is one of signatures."""

    def check_index(self, index: LSHIndex, plan: PointPlan) -> None:
        if index.holds != "weighted":
            raise ValueError(
                "against is an index of texts or sets, and the run is over weighted sets"
            )
        seed = self.earlier(index).seed
        if plan.seed != seed:
            raise ValueError(f"seed is {seed} in this index, not {plan.seed}")

    def earlier(self, index: LSHIndex) -> WeightedIndex:
        from lshfast._engine.indexes.weighted import WeightedIndex

        return WeightedIndex("against", index, index.on_duplicate)

    def insert_kept(self, index: LSHIndex, part: PointRun, keys: Sequence[Any]) -> int:
        numbers = part.rows.numbers
        places = np.flatnonzero(part.found.kept[numbers])
        # All of them are checked before the first ones are inserted.
        new_keys(index, keys, numbers[places])
        pieces = self.earlier(index).pieces_of(part.rows, places, part.plan)
        return sum(
            index.insert(new_keys(index, keys, numbers[piece]), signatures)
            for piece, signatures in pieces
        )

    def new_index(
        self, name: str, plan: PointPlan, on_duplicate: OnDuplicate
    ) -> NewIndex:
        from lshfast._engine.indexes.weighted import new_weighted_index

        index = new_weighted_index(name, plan, on_duplicate)
        return NewIndex(index, type(index.index), index.format)

    def opened_index(
        self, indexes: Indexes, plan: PointPlan
    ) -> AbstractContextManager[Any]:
        from lshfast._engine.indexes.weighted import weighted_index_of_run

        return weighted_index_of_run(indexes, plan)
