"""The kinds of items as objects: what a run asks of texts, sets, weighted sets, vectors and codes.

`kind_of` returns the kind of a plan. A run asks it, and never which kind it is: `sets` has the
kinds whose items are compared by shingles or elements, `points` those that are compared by
distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lshfast._common.choices import Kind
from lshfast._engine.plans import AnyPlan

if TYPE_CHECKING:
    from lshfast._engine.kinds.kind import ItemKind


def kind_of(plan: AnyPlan) -> ItemKind:
    """Return the kind of the items of a plan."""
    return item_kind(plan.kind)


def item_kind(name: Kind) -> ItemKind:
    """Return a kind by its name; its modules are imported with the first use."""
    if name in ("text", "set"):
        from lshfast._engine.kinds.sets import SetKind

        return SetKind(name)
    from lshfast._engine.kinds.points import PointKindOf, WeightedKind

    return WeightedKind(name) if name == "weighted" else PointKindOf(name)
