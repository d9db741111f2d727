"""A run in parts: rows of different components of buckets are never compared.

The labels of components are all that has to be known of all rows at once. The rows of a part are
read again, and go through the same stages as the rows of a run in memory; a row that shares no
bucket is in no part. Of rows with the same bytes, only the preferred one is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.types import Float64Array, Int64Array
from lshfast._engine.account.findings import Findings
from lshfast._engine.against import Earlier
from lshfast._engine.clock import Clock
from lshfast._engine.earlier_texts import EarlierRowsOf, EarlierRowsRead
from lshfast._engine.key_copies import KeyCopies
from lshfast._engine.kinds.kind import Request
from lshfast._engine.pairs.listed import listed, renumbered
from lshfast._engine.pairs.similar import SimilarPairs
from lshfast._engine.parts.pair_runs import PairRuns
from lshfast._engine.parts.part_numbers import PartNumbers
from lshfast._engine.parts.spool import StoredSignatures
from lshfast._engine.plan import Keep, Plan
from lshfast._engine.run import PartRun, run_part
from lshfast._engine.sketching import RowStore
from lshfast.join.copies import with_copies
from lshfast.join.groups import Groups, best_copies, preferred, smallest
from lshfast.join.pair_arrays import PAIR
from lshfast.kernels.text import Texts

if TYPE_CHECKING:
    from typing_extensions import Self

# The part of a row that shares no bucket with another row.
NO_PART = -1


def divide(labels: Int64Array, costs: Int64Array, most: int) -> npt.NDArray[np.int32]:
    """Divide rows into parts so that all rows of a component are in one part.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        The smallest row of each row's component, in any numbering.
    costs : ndarray of int64, shape (n,)
        The memory that each row takes in its part.
    most : int
        The memory of a part. A component that takes more is a part of its own.

    Returns
    -------
    ndarray of int32, shape (n,)
        The number of each row's part, from 0 in the order of components; NO_PART for a row that is
        alone.
    """
    size = np.bincount(labels)
    total = np.bincount(labels, weights=costs)
    first = np.flatnonzero(size > 1)  # the labels of components of several rows
    cost = total[first].astype(np.int64)
    del total
    numbers = PartNumbers(most)
    part_of_component = numbers.final(numbers.of(cost))
    part_of_label = np.full(len(size), NO_PART, np.int32)
    part_of_label[first] = part_of_component
    return part_of_label[labels]


def compared_copies(
    first: Int64Array, keep: str, ranks: Int64Array | None
) -> Int64Array:
    """Return, for each row, the preferred row with the same bytes.

    Parameters
    ----------
    first : ndarray of int64, shape (n,)
        The first row with the same bytes.
    keep : str
        The policy, as for `run_files`.
    ranks : ndarray of int64, shape (n,), optional
        Values by which rows are preferred, if the policy names a column.
    """
    if ranks is None and keep != "last":  # of equal texts, the first is preferred
        return first
    values = int64_range(len(first)) if ranks is None else ranks
    return best_copies(preferred(len(first), values), first)[0][first]


@dataclass(frozen=True)
class PartResult:
    """The findings of a part; rows are numbers in the part.

    Attributes
    ----------
    keeper : ndarray of int64, shape (m,)
        -1 for a row that is removed for an earlier one.
    similarity : ndarray of float64, shape (m,)
        As in `Groups`.
    copies : ndarray of int64, shape (m,)
        The first copy of each row.
    pairs : structured ndarray with fields i, j, similarity
        The pairs of first copies that determine the groups.
    candidates : int
        As in `Summary`.
    earlier : ndarray of int64
        The number of the earlier row for each row that is removed for one.
    """

    keeper: Int64Array
    similarity: Float64Array
    copies: Int64Array
    pairs: npt.NDArray[np.void]
    candidates: int
    earlier: Int64Array

    @classmethod
    def of(cls, part: PartRun) -> Self:
        """Return the findings of a part without its rows."""
        findings = part.found
        copies = part.sketches.copies
        different = findings.pairs[copies[findings.pairs["j"]] == findings.pairs["j"]]
        groups = findings.groups
        earlier = [] if findings.earlier is None else findings.earlier.keys
        return cls(
            groups.keeper,
            groups.similarity,
            copies,
            different,
            findings.candidates,
            np.array(earlier, np.int64),
        )

    @classmethod
    def of_columns(
        cls, columns: Mapping[str, npt.NDArray[Any]], candidates: int
    ) -> Self:
        """Return the findings that `columns` describes."""
        pairs = columns["pairs"].view(PAIR)
        return cls(
            columns["keeper"],
            columns["similarity"],
            columns["copies"],
            pairs,
            candidates,
            columns["earlier"],
        )

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the findings as columns of numbers."""
        return {
            "keeper": self.keeper,
            "similarity": self.similarity,
            "copies": self.copies,
            "pairs": self.pairs.view(np.uint64),
            "earlier": self.earlier,
        }


class PartRoom(NamedTuple):
    """The memory of a part, the bytes of a row in it without its text, and a new file.

    The signatures of a component that takes more than the memory are in the file, so the system may
    take their pages back.
    """

    memory: int
    row_bytes: int
    signatures: str


class EarlierOfPart(NamedTuple):
    """The texts of the earlier rows of a part, and their numbers, ascending."""

    texts: Texts
    numbers: Int64Array

    def as_read(self) -> EarlierRowsOf:
        """Return the rows in the form in which a run takes them; their keys are the numbers."""
        numbers = self.numbers
        return EarlierRowsOf(
            EarlierRowsRead(
                [self.texts], lambda rows: numbers[rows].tolist(), shown=False
            )
        )


def compare_part(
    texts: Texts,
    first: Int64Array,
    plan: Plan,
    clock: Clock,
    room: PartRoom,
    *,
    keep: Keep | Int64Array,
    pairs: PairRuns | None = None,
    earlier: EarlierOfPart | None = None,
    progress: Progress | None = None,
) -> PartResult:
    """Compare the texts of a part.

    Parameters
    ----------
    texts : Texts
    first : ndarray of int64, shape (m,)
        The first row of the run with the same bytes as each text.
    plan : Plan
    clock : Clock
    room : PartRoom
    keep : str or ndarray of int64, shape (m,)
        As for `run_part`.
    pairs : PairRuns, optional
        Takes all similar pairs, with the first rows of the run that have the same tokens.
    earlier : EarlierOfPart, optional
        Earlier rows of the part; rows that are similar to one of them are removed first.
    progress : callable, optional
    """

    def take(similar_pairs: SimilarPairs) -> None:
        assert pairs is not None
        numbers = first_rows(similar_pairs.sketches.copies, first)
        batches = (
            renumbered(batch, numbers) for batch in similar_pairs.of_different_rows()
        )
        pairs.add_all(listed(batches, plan))

    stored: AbstractContextManager[RowStore | None] = nullcontext()
    if texts.nbytes + len(texts) * room.row_bytes > room.memory:
        stored = StoredSignatures(room.signatures, plan.hasher.num_perm)
    with stored as store:
        similar = None if pairs is None else take
        against = None if earlier is None else earlier.as_read()
        request = Request(
            keep=keep, against=against, similar=similar, progress=progress
        )
        return PartResult.of(run_part([texts], plan, clock, request, store))


class Merged:
    """The results of all parts of a run together.

    Parameters
    ----------
    compared_rows : ndarray of int64, shape (n,)
        For each row the most preferred row with the same bytes. Only these are in parts.
    first : ndarray of int64, shape (n,)
        The first row with the same bytes.

    Attributes
    ----------
    first : ndarray of int64, shape (n,)
        The first row of the run that is known to have the same tokens.
    """

    def __init__(self, compared_rows: Int64Array, first: Int64Array) -> None:
        n = len(compared_rows)
        self.first: Int64Array = first.copy()
        self._compared_rows = compared_rows
        self._keeper = int64_range(n)
        self._similarity = np.ones(n)
        # The number of the earlier row for which a row is removed, or -1.
        self._earlier = np.full(n, -1, np.int64)
        self._pairs = [np.empty(0, PAIR)]
        self._candidates = 0

    def add(self, rows: Int64Array, result: PartResult) -> None:
        """Add the result of a part that has these rows, in this order."""
        first = self.first
        is_earlier = result.keeper < 0
        keeper = np.where(is_earlier, int64_range(len(rows)), result.keeper)
        self._keeper[rows] = rows[keeper]
        self._earlier[rows[is_earlier]] = result.earlier
        self._similarity[rows] = result.similarity
        first[rows] = first_rows(result.copies, first[rows])
        self._pairs.append(renumbered(result.pairs, first[rows]))
        self._candidates += result.candidates

    def earlier(self) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return the rows that are removed for earlier rows, the numbers of these, similarities."""
        numbers = self._earlier[self._compared_rows]
        rows = np.flatnonzero(numbers >= 0)
        return rows, numbers[rows], self._similarity[self._compared_rows[rows]]

    def findings(
        self,
        empty: int = 0,
        earlier: Earlier | None = None,
        key_copies: KeyCopies | None = None,
    ) -> tuple[Findings, Int64Array]:
        """Return the findings of the run, and first copies; `empty` rows have no shingles.

        Rows that were removed for an earlier entry of an index, or by their keys, are in no part;
        those that were removed for earlier rows of their parts are given by `earlier`.
        """
        self._keeper = self._keeper[self._compared_rows]
        self._similarity = self._similarity[self._compared_rows]
        self.first = self.first[self._compared_rows]
        if earlier is not None:
            self.first[earlier.rows] = earlier.rows  # they are nobody's copies
        pairs = np.concatenate(self._pairs)
        self._pairs = []
        pairs = with_copies(pairs, self.first)
        groups = Groups(self._keeper, self._similarity, smallest(self._keeper))
        findings = Findings.of(
            groups,
            pairs,
            self.first,
            earlier,
            key_copies,
            pairs_found=len(pairs),
            candidates=self._candidates,
            empty=empty,
        )
        return findings, self.first


def first_rows(copies: Int64Array, first: Int64Array) -> Int64Array:
    """Return, for each row of a part, the first row of the run with the same tokens.

    `copies` has the first copies in the part, and `first` the first rows of the run with the same
    bytes.
    """
    smallest_first = first.copy()
    np.minimum.at(smallest_first, copies, first)
    return smallest_first[copies]
