"""The index of weighted sets in a file, and in a run over files: an `LSHIndex` of their weighted MinHash signatures.

Elements are hashed under the seed of the index, so that all runs make the same signatures. The index does not hold the
sets, so similarities to entries are estimates, as for texts and sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast.banding.bands import Bands
from lshfast.common.choices import ItemMeasure, Kind
from lshfast.common.progress import Progress
from lshfast.common.threads import pieces
from lshfast.common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.drivers.indexes import WEIGHTED, Indexes, add_rows, naming, opened_weighted
from lshfast.drivers.point_indexes import PointAnswers
from lshfast.engine.against import Earlier
from lshfast.families.sets import WeightedMinHashFamily
from lshfast.index.keys import Column, listed
from lshfast.index.lsh_index import LSHIndex
from lshfast.index.stores.values import OnDuplicate
from lshfast.kinds.held_points import COPIED_BYTES, PIECE_BYTES, HeldSets, release
from lshfast.kinds.measures import PointPlan, make_point_plan
from lshfast.kinds.weighted import SignatureReader
from lshfast.readers import Corpus
from lshfast.sketch.weighted import WeightedMinHasher

if TYPE_CHECKING:
    from lshfast.engine.points import PointRows

# The slots of a signature in a new index.
NUM_PERM = 128


@dataclass
class WeightedIndex:
    """An index of weighted sets, with the methods of a `PointIndex`; its words are signatures.

    Attributes
    ----------
    name : str
        Its file, in messages.
    index : LSHIndex
        Of the family `WeightedMinHashFamily`.
    on_duplicate : {"error", "skip", "replace"}
    """

    name: str
    index: LSHIndex
    on_duplicate: OnDuplicate

    def __len__(self) -> int:
        return len(self.index)

    @property
    def kind(self) -> str | None:
        """The type of the keys, "int" or "str"; None if there are none."""
        return self.index.store.kind

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
        """Return the plan of rows that are added, or looked up; see `PointIndex.plan`."""
        with naming(self.name):
            if kind not in (None, "weighted", "set"):
                raise ValueError(f"this is an index of weighted sets, not of {kind}s")
            if unbounded:
                threshold = None
            if kind is None and not self.index.parameters.shingles:
                raise ValueError(
                    "this index does not say what its items are: kind='weighted' (--as weighted) says that they are "
                    "weighted sets, and LSHIndex(shingles='weighted') stores it"
                )
            plan = make_point_plan(
                "weighted", measure=measure, threshold=threshold, radius=radius, threads=threads, seed=self.seed
            )
            if threshold is not None:
                return plan
            own = self.index.parameters.threshold
            return replace(plan, bound=0.0 if unbounded or own is None else own)

    def reader(self, plan: PointPlan) -> SignatureReader:
        """Return a reader of sets, which returns their signatures."""
        return SignatureReader(self.format, plan.threads)

    def recall(self, plan: PointPlan) -> float:
        """Return the probability that an entry at the bound is a candidate."""
        return float(self.index.bands.probability(plan.bound))

    # ---- searching ----

    def answers(self, words: UInt64Array, format: Any, plan: PointPlan, k: int | None = None) -> PointAnswers:
        """Return the entries within the bound of each signature, or the k most similar, the most similar first."""
        found: Any = self.index.query(words, k=k, threshold=plan.bound, threads=plan.threads)
        return PointAnswers(found.offsets, listed(found.keys), found.similarity)

    def earlier(self, items: PointRows, plan: PointPlan) -> Earlier:
        """Return the rows that are similar to an entry, each with its most similar entry."""
        own = self.index.parameters.threshold
        if own is not None and plan.bound < own:
            raise ValueError(
                f"{self.name}: this index promises to find sets of similarity {own:g}, and the threshold of this run "
                f"is {plan.bound:g}"
            )
        rows, keys, values = [np.empty(0, np.int64)], list[Any](), list[Float64Array]([np.empty(0)])
        for some, signatures in self.sketched(items, np.arange(len(items), dtype=np.int64), plan):
            found = self.answers(signatures, None, plan, k=1)
            rows.append(some[np.flatnonzero(np.diff(found.offsets))])
            keys += found.keys
            values.append(found.values)
        return Earlier(np.concatenate(rows), keys, np.concatenate(values))

    def sketched(self, items: PointRows, rows: Int64Array, plan: PointPlan) -> Iterator[tuple[Int64Array, UInt64Array]]:
        """Yield some rows of a run at a time with their signatures."""
        assert items.offsets is not None
        sets, hasher = HeldSets(items.offsets, items.words), self.format
        row_bytes = 8 * hasher.num_perm
        for taken in pieces(row_bytes + COPIED_BYTES * sets.lengths[rows], PIECE_BYTES):
            for piece, part in sets.take(rows[taken]).weighted(row_bytes):
                yield rows[taken][piece], np.asarray(hasher.sketch(part, threads=plan.threads))
            release(items.words)

    # ---- changing ----

    def add(
        self, numbers: Int64Array, places: Int64Array, words: UInt64Array, format: Any, plan: PointPlan, corpus: Corpus
    ) -> int:
        """Insert signatures under the keys of their rows; see `PointIndex.add`."""
        return add_rows(self.index, self.name, corpus, numbers[places], words[places])

    def add_rows(self, items: PointRows, places: Int64Array, plan: PointPlan, corpus: Corpus) -> int:
        """Insert rows of a run under their keys, and return the number of entries that are new or replaced."""
        parts = self.sketched(items, places, plan)
        return sum(add_rows(self.index, self.name, corpus, items.numbers[some], words) for some, words in parts)

    def contains(self, keys: Column) -> BoolArray:
        """Return which keys are in the index."""
        return self.index.store.contains(keys)

    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys, which are in the index."""
        self.index.remove(keys)

    # ---- files ----

    def save(self, path: str, *, overwrite: bool = False, progress: Progress | None = None) -> None:
        """Write the index; the file gets its name when it is complete."""
        self.index.save(path, overwrite=overwrite, progress=progress)

    def commit(self, *, progress: Progress | None = None) -> None:
        """Write the changes to the file that was opened."""
        self.index.commit(progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Rewrite the file that was opened without removed entries."""
        self.index.compact(progress=progress)

    def verify(self) -> None:
        """Check the whole index; an error names what is damaged."""
        self.index.verify()

    def stats(self) -> Any:
        """Return the figures of the index."""
        return self.index.stats()


def bands_of_new(plan: PointPlan) -> Bands | None:
    """Return the bands of a new index, which find a set at the threshold with the recall of the plan.

    None if the slots do not reach this recall; then there can be no index.
    """
    if 1 - (1 - plan.bound) ** NUM_PERM < _recall(plan):
        return None
    return Bands.choose(plan.bound, NUM_PERM, recall=_recall(plan))


def new_weighted_index(name: str, plan: PointPlan, on_duplicate: OnDuplicate) -> WeightedIndex:
    """Return an empty index in memory for weighted sets with this threshold, recall and seed."""
    index = LSHIndex(
        plan.bound, NUM_PERM, recall=_recall(plan), family=WeightedMinHashFamily(seed=plan.seed), shingles=WEIGHTED,
        on_duplicate=on_duplicate,
    )  # fmt: skip
    return WeightedIndex(name, index, on_duplicate)


def _recall(plan: PointPlan) -> float:
    return 0.95 if plan.complete else plan.recall


@contextmanager
def weighted_index_of_run(indexes: Indexes, plan: PointPlan) -> Iterator[WeightedIndex]:
    """Open the index of earlier rows, or prepare a new one; the end of the block writes nothing."""
    if indexes.against is None:
        yield new_weighted_index(indexes.name, plan, indexes.on_duplicate)
        return
    with opened_weighted(indexes.against, "c", indexes.on_duplicate) as index:
        yield WeightedIndex(indexes.against, index, indexes.on_duplicate)
