"""A run over items of any kind: texts and sets by their shingles, points by their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from lshfast._common.progress import Progress
from lshfast._engine.any_plan import AnyPlan
from lshfast._engine.clock import Clock
from lshfast._engine.listed_pairs import PairArray
from lshfast._engine.run import PartRun, run_part
from lshfast._items.measures import PointPlan

if TYPE_CHECKING:
    from lshfast._engine.points import PointRun
    from lshfast.index.neighbors.points import PointFormat


def run_items(
    batches: Iterable[Any],
    plan: AnyPlan,
    clock: Clock,
    *,
    format_of: Callable[[], PointFormat | None] = lambda: None,
    keep: Any = "first",
    against: Any = None,
    indexed: bool = False,
    similar: Callable[[Iterable[PairArray]], object] | None = None,
    folder: str | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> PartRun | PointRun:
    """Find the groups of items, and all similar pairs if they are wanted.

    Parameters
    ----------
    batches : iterable of Texts, Column or PointBatch
        What the plan is for.
    plan : Plan or PointPlan
    clock : Clock
    format_of, folder, memory
        Of points; see `run_points`.
    keep, progress
        As for `run_part` or `run_points`.
    against : LSHIndex, or for points an object with a method `earlier`, optional
        Rows that are similar to an entry are removed first.
    indexed : bool, default False
        Of texts and sets; see `run_part`.
    similar : callable, optional
        Called with the similar pairs that are listed, in batches.
    """
    if isinstance(plan, PointPlan):
        from lshfast._engine.points import run_points

        return run_points(
            batches,
            format_of,
            plan,
            clock,
            keep=keep,
            similar=similar,
            folder=folder,
            memory=memory,
            earlier=None if against is None else against.earlier,
            progress=progress,
        )
    take = None if similar is None else lambda every, _: similar(every.batches())
    return run_part(
        batches,
        plan,
        clock,
        keep=keep,
        against=against,
        indexed=indexed,
        similar=take,
        progress=progress,
    )
