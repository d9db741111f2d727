"""The plan of a run over items of any kind, from the options of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast, get_args

from lshfast._common.choices import Kind, PointKind
from lshfast._engine.options.rules import refuse_for_kind
from lshfast._engine.plan import Plan, make_plan
from lshfast._items.measures import PointPlan, check_item_measure, make_point_plan

AnyPlan: TypeAlias = Plan | PointPlan

# The arguments of `make_point_plan`.
OF_POINTS = (
    "measure",
    "threshold",
    "radius",
    "recall",
    "exact",
    "groups",
    "threads",
    "seed",
    "top",
    "most",
    "max_candidates",
)

# Those of them that are none of `make_plan`.
ONLY_OF_POINTS = ("radius", "max_candidates")


def plan_for(kind: Kind, options: Mapping[str, Any]) -> AnyPlan:
    """Check the options of a run over items of a kind; an option that was not given has its
    default, or is missing.

    Raises
    ------
    ValueError, TypeError
        If an option is not one of this kind, or has a wrong value; the error names both.

    Examples
    --------
    >>> (
    ...     plan_for("code", {"radius": 3}).measure,
    ...     plan_for("text", {"threshold": None}).threshold,
    ... )
    ('hamming', 0.8)
    """
    refuse_for_kind(kind, options)
    measure = check_item_measure(kind, options.get("measure"))
    if kind in get_args(PointKind):
        given = {name: value for name, value in options.items() if name in OF_POINTS}
        return make_point_plan(cast(PointKind, kind), **given | {"measure": measure})
    given = {
        name: value for name, value in options.items() if name not in ONLY_OF_POINTS
    }
    return replace(make_plan(**given | {"measure": measure}), sets=kind == "set")


def plan_of_options(options: Mapping[str, Any]) -> AnyPlan:
    """Return the plan of a run again, from the `options` of its result; they hold `keep`, too."""
    given = {
        name: value for name, value in options.items() if name not in ("keep", "kind")
    }
    if given.get("recall") == 1:
        given = {name: value for name, value in given.items() if name != "recall"} | {
            "exact": True
        }
    return plan_for(options.get("kind", "text"), given)
