"""The kinds of items as objects: what a run asks of texts, sets, weighted sets, vectors and codes.

`item_kind` returns a kind by its name. A run asks it, and never which kind it is: `kind` says what
each can do, `sets` has the kinds whose items are compared by shingles or elements, and `points`
those that are compared by distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lshfast._common.choices import Kind

if TYPE_CHECKING:
    from lshfast._engine.kinds.kind import ItemKind


def item_kind(name: Kind) -> ItemKind:
    """Return a kind by its name; its modules are imported with the first use."""
    if name in ("text", "set"):
        from lshfast._engine.kinds.sets import SetKind

        return SetKind(name)
    from lshfast._engine.kinds.points import PointKindOf, WeightedKind

    return WeightedKind(name) if name == "weighted" else PointKindOf(name)
