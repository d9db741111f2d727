"""The findings of a run; the one place that makes its result and its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from lshfast._common.choices import ItemMeasure
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.account.report import DedupResult, Summary
from lshfast._engine.clock import Clock, Stage
from lshfast._engine.plan import Plan, Verify
from lshfast._items.measures import PointPlan, is_distance

if TYPE_CHECKING:
    from lshfast._common.value_codes import ValueCodes
    from lshfast._engine.account.earlier import EarlierFigures
    from lshfast._engine.against import Earlier
    from lshfast._engine.key_copies import KeyCopies
    from lshfast.join.groups import Groups

# Pairs of a run by distance.
DISTANCE_PAIR = np.dtype([("i", np.int64), ("j", np.int64), ("distance", np.float64)])


@dataclass(frozen=True)
class ReadRows:
    """The rows of a run as their source counts and names them.

    Attributes
    ----------
    keys : sequence, optional
        One key per row; the row numbers by default.
    read, rejected : int
        Rows that the source read, and rows that it rejected.
    by : ValueCodes, optional
        The values of the rows in a column.
    notes : dict
        Attributes of the summary about the source: see `input_notes`.
    """

    keys: Sequence[Any] | None
    read: int
    rejected: int = 0
    by: ValueCodes | None = None
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """The pairs and groups of n rows.

    Attributes
    ----------
    groups : Groups
        Rows that were removed for the same earlier entry are one group.
    pairs : structured ndarray
        Similar pairs, copies included; see `named_pairs`.
    pairs_found : int
        Those that were written where all similar pairs are written to a file, else the length of
        `pairs`.
    candidates, copies, empty : int
        As in `Summary`.
    group_sizes : ndarray of int64
        Sizes of the groups of rows that were not removed for an earlier entry, by the smallest row.
    earlier : Earlier or None
        None if the run used no index.
    key_copies : KeyCopies or None
        The rows that were removed by their exact keys; None if rows have no such keys.
    limited, left_out : int or None
        As in `Summary`.
    """

    groups: Groups
    pairs: npt.NDArray[np.void]
    pairs_found: int
    candidates: int
    copies: int
    empty: int
    group_sizes: Int64Array
    earlier: Earlier | None = None
    key_copies: KeyCopies | None = None
    limited: int | None = None
    left_out: int | None = None

    @classmethod
    def of(
        cls,
        groups: Groups,
        pairs: npt.NDArray[np.void],
        copies: Int64Array,
        earlier: Earlier | None,
        key_copies: KeyCopies | None = None,
        *,
        pairs_found: int,
        candidates: int,
        empty: int,
        value_of_copies: float = 1.0,
    ) -> Findings:
        """Return the findings.

        Rows that were removed for an entry of an index, or by their exact keys, join the groups.
        """
        rows = int64_range(len(copies))
        if earlier is not None:
            earlier.fill_in(groups)
        if key_copies is not None:
            key_copies.fill_in(groups, value_of_copies)
        sizes = np.bincount(groups.labels[groups.keeper >= 0], minlength=1)
        return cls(
            groups,
            pairs,
            pairs_found,
            candidates,
            int((copies != rows).sum()),
            empty,
            sizes,
            earlier,
            key_copies,
        )

    @property
    def kept(self) -> BoolArray:
        """Whether each row is kept: bool (n,)."""
        keeper = self.groups.keeper
        return np.asarray(keeper == int64_range(len(keeper)))

    @property
    def kept_rows(self) -> Int64Array:
        """The rows that are kept, in ascending order: int64 (m,)."""
        return np.flatnonzero(self.kept)

    def result(
        self,
        plan: Plan | PointPlan,
        clock: Clock,
        rows: ReadRows,
        indexed: int | None = None,
        advice: str = "",
    ) -> DedupResult:
        """Return the result of the run.

        `indexed` counts the entries of an index that are new or replaced; `advice` is about the
        texts, and the advice in `rows.notes` takes precedence.
        """
        is_kept = self.kept
        removed_by_value = None
        if rows.by is not None:
            from lshfast._engine.account.by_value import CountsByValue

            removed_by_value = CountsByValue.of(rows.by, is_kept).summary()
        sizes = self.group_sizes
        groups = self.groups
        summary = summary_of(
            plan,
            clock.stages,
            clock.seconds,
            read=rows.read,
            kept=int(is_kept.sum()),
            removed=int((~is_kept).sum()),
            rejected=rows.rejected,
            empty=self.empty,
            copies=self.copies,
            candidates=self.candidates,
            pairs=self.pairs_found,
            groups=int((sizes > 1).sum()),
            largest_group=int(sizes.max()) if len(is_kept) else 0,
            earlier=0 if self.earlier is None else len(self.earlier.rows),
            earlier_texts=None if self.earlier is None else self.earlier.figures,
            same_key=0 if self.key_copies is None else len(self.key_copies.rows),
            limited=self.limited,
            left_out=self.left_out,
            indexed=indexed,
            by=removed_by_value,
            **{"advice": advice} | rows.notes,
        )
        columns: dict[str, Any] = {}
        if self.earlier is not None:
            columns = self.earlier.columns(len(is_kept))
        if self.key_copies is not None:
            columns["same_key"] = self.key_copies.flags(len(is_kept))
            if self.earlier is not None:
                self.key_copies.fill_in_keys(columns["earlier"])
                if self.earlier.texts is not None:
                    texts = self.key_copies.filled_in(self.earlier.texts)
                    columns["earlier_texts"] = texts
        return DedupResult(
            is_kept,
            groups.labels,
            groups.keeper,
            groups.similarity,
            self.pairs,
            summary,
            rows.keys,
            options=plan.arguments,
            **columns,
        )


def named_pairs(
    pairs: npt.NDArray[np.void], measure: ItemMeasure
) -> npt.NDArray[np.void]:
    """Return pairs whose third field is named distance if the measure is a distance."""
    return pairs.view(DISTANCE_PAIR) if is_distance(measure) else pairs


def summary_of(
    plan: Plan | PointPlan, stages: Mapping[str, Stage], seconds: float, **figures: Any
) -> Summary:
    """Return the summary of a run from its plan, its stages and its other figures."""
    earlier_verify: Verify | Literal[""] = ""
    texts: EarlierFigures | None = figures.get("earlier_texts")
    if texts is not None:
        earlier_verify = texts.verify
    elif figures.get("earlier"):
        is_compared = plan.figures["verify"] != "none"
        earlier_verify = "signature" if is_compared else "none"
    return Summary(
        **figures,
        **plan.figures,
        items=plan.kind,
        earlier_verify=earlier_verify,
        stages=dict(stages),
        seconds=seconds,
    )
