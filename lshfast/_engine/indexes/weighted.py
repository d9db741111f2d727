"""The index of weighted sets in a file, and in a run over files: an `LSHIndex` of their weighted
MinHash signatures.

Elements are hashed under the seed of the index, so that all runs make the same signatures. The
index does not hold the sets, so similarities to entries are estimates, as for texts and sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.indexes.items import NOT_APART, Apart, ItemAnswers, ItemIndex
from lshfast._engine.indexes.run_indexes import Indexes, naming, opened_weighted
from lshfast._items.held_points import COPIED_BYTES, PIECE_BYTES, HeldSets, release
from lshfast._items.measures import PointPlan, make_point_plan
from lshfast._items.weighted import SignatureReader
from lshfast.banding.bands import Bands
from lshfast.families.sets import WeightedMinHashFamily
from lshfast.index.keys import listed
from lshfast.index.lsh_index import WEIGHTED, LSHIndex
from lshfast.index.stores.values import OnDuplicate
from lshfast.sketch.weighted import WeightedMinHasher

if TYPE_CHECKING:
    from lshfast._engine.points import PointRows

# The slots of a signature in a new index.
NUM_PERM = 128


class WeightedIndex(ItemIndex[LSHIndex]):
    """An index of weighted sets by `WeightedMinHashFamily`; its words are signatures."""

    @property
    def format(self) -> WeightedMinHasher:
        """What makes the signatures."""
        hasher: WeightedMinHasher = self._family.hasher(self.index.parameters.num_perm)
        return hasher

    @property
    def seed(self) -> int:
        """The seed of the signatures, and of the hashes of elements."""
        return int(self._family.seed)

    @property
    def _family(self) -> Any:
        return self.index.family

    # ---- plans ----

    def plan(
        self,
        kind: Kind | None = None,
        measure: ItemMeasure | None = None,
        threshold: float | None = None,
        radius: float | None = None,
        *,
        unbounded: bool = False,
        threads: int | None = None,
    ) -> PointPlan:
        with naming(self.name):
            if kind not in (None, "weighted", "set"):
                raise ValueError(f"this is an index of weighted sets, not of {kind}s")
            if unbounded:
                threshold = None
            if kind is None and not self.index.parameters.shingles:
                raise ValueError(
                    "this index does not say what its items are: kind='weighted' (--as weighted) "
                    "says that they are "
                    "weighted sets, and LSHIndex(shingles='weighted') stores it"
                )
            plan = make_point_plan(
                "weighted",
                measure=measure,
                threshold=threshold,
                radius=radius,
                threads=threads,
                seed=self.seed,
            )
            if threshold is not None:
                return plan
            least = self.index.parameters.threshold
            bound = 0.0 if unbounded or least is None else least
            return replace(plan, bound=bound)

    def reader(self, plan: PointPlan) -> SignatureReader:
        return SignatureReader(self.format, plan.threads)

    def recall(self, plan: PointPlan) -> float:
        return float(self.index.bands.probability(plan.bound))

    # ---- searching ----

    def points_of(self, words: UInt64Array) -> UInt64Array:
        return words

    def answers(
        self,
        points: UInt64Array,
        plan: PointPlan,
        k: int | None = None,
        copy_bound: Apart = NOT_APART,
    ) -> ItemAnswers:
        entries: Any = self.index.query(
            points,
            k=k,
            threshold=plan.bound,
            most=copy_bound.most,
            threads=plan.threads,
        )
        return ItemAnswers(entries.offsets, listed(entries.keys), entries.similarity)

    def check_run(self, items: PointRows, plan: PointPlan) -> None:
        index_threshold = self.index.parameters.threshold
        if index_threshold is not None and plan.bound < index_threshold:
            raise ValueError(
                f"{self.name}: this index promises to find sets of similarity "
                f"{index_threshold:g}, and the threshold of this run is {plan.bound:g}"
            )

    def pieces_of(
        self, items: PointRows, places: Int64Array, plan: PointPlan
    ) -> Iterator[tuple[Int64Array, UInt64Array]]:
        assert items.offsets is not None
        sets = HeldSets(items.offsets, items.words)
        hasher = self.format
        row_bytes = 8 * hasher.num_perm
        nbytes = row_bytes + COPIED_BYTES * sets.lengths[places]
        for portion in pieces(nbytes, PIECE_BYTES):
            rows = places[portion]
            for piece, weighted_sets in sets.take(rows).weighted(row_bytes):
                signatures = hasher.sketch(weighted_sets, threads=plan.threads)
                yield rows[piece], np.asarray(signatures)
            release(items.words)


def bands_of_new(plan: PointPlan) -> Bands | None:
    """Return the bands of a new index for the threshold and the recall of the plan.

    None if the slots do not reach this recall; then there can be no index.
    """
    if 1 - (1 - plan.bound) ** NUM_PERM < _recall(plan):
        return None
    return Bands.choose(plan.bound, NUM_PERM, recall=_recall(plan))


def new_weighted_index(
    name: str, plan: PointPlan, on_duplicate: OnDuplicate
) -> WeightedIndex:
    """Return an empty index in memory for weighted sets with this threshold, recall and seed."""
    index = LSHIndex(
        plan.bound,
        NUM_PERM,
        recall=_recall(plan),
        family=WeightedMinHashFamily(seed=plan.seed),
        shingles=WEIGHTED,
        on_duplicate=on_duplicate,
    )
    return WeightedIndex(name, index, on_duplicate)


def _recall(plan: PointPlan) -> float:
    return 0.95 if plan.complete else plan.recall


@contextmanager
def weighted_index_of_run(indexes: Indexes, plan: PointPlan) -> Iterator[WeightedIndex]:
    """Open the index of earlier rows, or prepare a new one; the end of the block writes nothing."""
    if indexes.against is None:
        yield new_weighted_index(indexes.name, plan, indexes.on_duplicate)
        return
    mode = indexes.mode_of_points
    with opened_weighted(indexes.against, mode, indexes.on_duplicate) as index:
        yield WeightedIndex(indexes.against, index, indexes.on_duplicate)
