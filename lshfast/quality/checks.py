"""What a check compares of each kind of items, in memory and in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

from lshfast._common.choices import Kind, PointKind
from lshfast._common.progress import Progress
from lshfast._engine.clock import Clock
from lshfast._engine.columns import ShingledTexts, column_of
from lshfast._engine.inputs import item_batches, text_batches
from lshfast._engine.plan import Plan
from lshfast._io import Corpus
from lshfast._items.measures import PointPlan
from lshfast.kernels.text import Texts
from lshfast.quality.result import CheckResult
from lshfast.quality.run import CheckOptions, check_rows

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader
    from lshfast.quality.points import PointCheck

    Checked = CheckResult | PointCheck


class CheckedItems(NamedTuple):
    """The number of rows that were checked, and the figures of the result."""

    rows: int
    figures: dict[str, Any]


class ItemCheck(ABC):
    """The check of a kind of items.

    Attributes
    ----------
    without : tuple of str
        The options of a check that the kind does not take.
    """

    without: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def result(self) -> Callable[..., Checked]:
        """The class of the result."""

    @abstractmethod
    def of_items(
        self,
        items: Any,
        plan: Any,
        kind: Kind | None,
        options: CheckOptions,
        clock: Clock,
        progress: Progress | None,
    ) -> CheckedItems:
        """Check items in memory; `kind` is what the caller says of them."""

    @abstractmethod
    def of_corpus(
        self,
        corpus: Corpus,
        reader: AnyReader | None,
        plan: Any,
        options: CheckOptions,
        clock: Clock,
        progress: Progress | None,
    ) -> dict[str, Any]:
        """Check the rows of a corpus, and return the figures of the result."""


class SetCheck(ItemCheck):
    """The check of texts or sets, by their signatures."""

    @property
    def result(self) -> Callable[..., CheckResult]:
        return CheckResult

    def of_items(
        self,
        items: Any,
        plan: Plan,
        kind: Kind | None,
        options: CheckOptions,
        clock: Clock,
        progress: Progress | None,
    ) -> CheckedItems:
        column = column_of(items, plan.shingles, kind)
        kind_of_rows: Kind = "text" if isinstance(column, ShingledTexts) else "set"
        plan = replace(plan, kind=kind_of_rows)
        return CheckedItems(
            len(column), check_rows([column], plan, options, clock, progress)
        )

    def of_corpus(
        self,
        corpus: Corpus,
        reader: AnyReader | None,
        plan: Plan,
        options: CheckOptions,
        clock: Clock,
        progress: Progress | None,
    ) -> dict[str, Any]:
        batches = text_batches(corpus, progress)
        if corpus.total_bytes <= options.held_bytes:
            batches = (Texts(batch) for batch in batches)
        return check_rows(
            batches, plan, replace(options, key_of=corpus.key), clock, progress
        )


class PointsCheck(ItemCheck):
    """The check of weighted sets, vectors or codes, by their distances."""

    without = ("examples", "html")

    @property
    def result(self) -> Callable[..., PointCheck]:
        from lshfast.quality.points import PointCheck

        return PointCheck

    def of_items(
        self,
        items: Any,
        plan: PointPlan,
        kind: Kind | None,
        options: CheckOptions,
        clock: Clock,
        progress: Progress | None,
    ) -> CheckedItems:
        from lshfast._engine.points import PointRows
        from lshfast._items.reading import read_points
        from lshfast.quality.points import check_points

        points = read_points(items, plan.kind, plan.measure)
        rows = PointRows.of([points.batch], lambda: points.format)
        figures = check_points(rows, plan, options.sample, clock, progress)
        return CheckedItems(rows.n, {**figures, "advice": points.advice})

    def of_corpus(
        self,
        corpus: Corpus,
        reader: AnyReader | None,
        plan: PointPlan,
        options: CheckOptions,
        clock: Clock,
        progress: Progress | None,
    ) -> dict[str, Any]:
        from lshfast._engine.points import PointRows
        from lshfast.quality.points import check_points

        with clock.stage("read"):
            rows = PointRows.of(
                item_batches(corpus, progress),
                lambda: None if reader is None else reader.format,
            )
        return check_points(rows, plan, options.sample, clock, progress)


CHECKS: dict[Kind, ItemCheck] = {
    "text": SetCheck(),
    "set": SetCheck(),
    **dict.fromkeys(get_args(PointKind), PointsCheck()),
}
