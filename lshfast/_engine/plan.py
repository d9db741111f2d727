"""The checked parameters of a run, one frozen record that all stages receive.

`Plan` is the record of texts and sets; `plan_for` makes the plan for items of any kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, get_args

import numpy.typing as npt

from lshfast._common.checks import check_int, check_most, check_number
from lshfast._common.choices import Grouping as Grouping
from lshfast._common.choices import ItemMeasure, Kind, PairMeasure, PointKind, plural
from lshfast._common.choices import Verify as Verify
from lshfast._common.threads import thread_count
from lshfast._engine.options.declaration import Driver, Options, check_names
from lshfast._engine.options.declared import NAMES, OPTIONS
from lshfast._engine.options.rules import NAMES_OF_PLAN, refuse_for_kind
from lshfast._items.measures import PointPlan, check_item_measure, make_point_plan
from lshfast.banding.bands import Bands, check_recall, check_threshold, choose_bands
from lshfast.join.jaccard import check_measure, equal_jaccard
from lshfast.shingling import (
    BYTES_OF_TOKEN,
    CommonShingles,
    Shingles,
    check_shingles,
)
from lshfast.sketch.minhash import MinHasher

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lshfast._engine.options.types import PlanOptions
    from lshfast._items.sets import SetReader
    from lshfast.index.stores.values import Parameters

Keep: TypeAlias = Literal["first", "last", "longest", "shortest"]


class _Array(Protocol):
    """A numpy array, or a column of pandas, polars or pyarrow."""

    def __array__(self) -> npt.NDArray[Any]: ...


# One value per row. This is numpy's array_like without str, so that a misspelled policy is an error
# of type.
KeepValues: TypeAlias = list[Any] | tuple[Any, ...] | range | _Array

# The least similarity, and the probability to find a pair that has it, by default.
THRESHOLD = 0.8
RECALL = 0.95

# The ways of running that have the exact join, as messages name them.
ONE_MACHINE = "lshfast.dedup, lshfast.pairs or lshfast dedup without --memory"

# The part of an array that waits for further rows while it grows.
SLACK = 1 / 16

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

# The options of a plan of texts or sets.
OF_SETS = {name: OPTIONS[name] for name in NAMES_OF_PLAN if name not in ONLY_OF_POINTS}

# What an index of sets has in the place of the name of its shingles.
SETS = "set"

# For the estimate of memory: bytes of a str object and of its entry in the column; bytes of the
# place of a text that is read again; 64-bit words per row of fingerprints, copies and groups; bytes
# of the batches and tokens of one thread; bytes of the interpreter with pyarrow.
TEXT_OVERHEAD = 72
PLACE_BYTES = 24
ROW_WORDS = 24
WORK_BYTES = 48 << 20
BASE_BYTES = 120 << 20

# For the same estimate, bytes that an exact join takes for a token.
EXACT_BYTES = 20


@dataclass(frozen=True)
class Plan:
    """The checked parameters of a run; `make_plan` creates it."""

    threshold: float
    shingles: Shingles
    hasher: MinHasher
    # None for an exact join; an index beside it chooses them when it needs them.
    chosen_bands: Bands | None
    verify: Verify
    groups: Grouping
    threads: int
    exact: bool = False  # the pairs come from an exact join instead of bands
    exact_by_default: bool = False  # the user did not choose the exact join
    # "text" or "set"; of sets of elements, the shingles are not used.
    kind: Kind = "text"
    measure: PairMeasure = "jaccard"
    capped: bool = False  # memory is limited, so long rows are worked on one at a time
    # Shingles in more than this share of the texts do not count.
    ignore_common: float | None = None
    # Of the pairs that are listed, those with this many most similar rows of a row stay.
    top: int | None = None
    # Of the pairs that are listed, those that are more similar are left out.
    most: float | None = None
    # The recall of the bands of an index beside an exact join.
    recall_of_bands: float = field(default=RECALL, compare=False)

    @property
    def of_texts(self) -> Plan | None:
        """This plan if the rows are texts, which can be shown and compared word by word."""
        return self if self.kind == "text" else None

    def reader(self, format: object = None, indexed: bool = False) -> SetReader | None:
        """Return the reader that converts a column of files; None for texts."""
        if self.kind != "set":
            return None
        from lshfast._items.sets import SetReader

        return SetReader()

    @cached_property
    def bands(self) -> Bands:
        """The bands of a run, or of the index beside an exact join."""
        if self.chosen_bands is not None:
            return self.chosen_bands
        return choose_bands(
            self.equal_jaccard, self.hasher.num_perm, recall=self.recall_of_bands
        )

    @cached_property
    def equal_jaccard(self) -> float:
        """Jaccard similarity of two sets of one size whose similarity equals the threshold."""
        return equal_jaccard(self.measure, self.threshold)

    @property
    def recall(self) -> float:
        """Probability to find a pair whose similarity equals the threshold."""
        return 1.0 if self.exact else float(self.bands.probability(self.equal_jaccard))

    @property
    def parameters(self) -> Parameters:
        """Parameters of an index for the signatures of this run."""
        from lshfast.index.stores.values import Parameters

        bands = self.bands
        hasher = self.hasher
        return Parameters(
            hasher.num_perm,
            bands.bands,
            bands.rows_per_band,
            hasher.scheme,
            hasher.seed,
            self.threshold,
            SETS if self.kind == "set" else self.shingles.name,
        )

    def ignoring(self, common: CommonShingles) -> Plan:
        """Return this plan for texts in which these shingles do not count."""
        return replace(self, shingles=self.shingles._replace(common=common))

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `make_plan` that give this plan again, without the threads."""
        words = self.shingles.stop_words
        bands = self.chosen_bands
        arguments: dict[str, Any] = {
            "threshold": self.threshold,
            "verify": self.verify,
            "groups": self.groups,
            "measure": self.measure,
            "unit": self.shingles.unit,
            "size": self.shingles.size,
            "stop_words": words and list(words.words),
            "num_perm": self.hasher.num_perm,
            "scheme": self.hasher.scheme,
            "seed": self.hasher.seed,
        }
        if bands is not None:
            arguments["bands"] = bands.bands
            arguments["rows_per_band"] = bands.rows_per_band
        if self.exact or self.measure == "containment":
            arguments["exact"] = self.exact
        if self.shingles.normalize != "none":
            arguments["normalize"] = self.shingles.normalize
        for name in ("ignore_common", "top", "most"):
            if getattr(self, name) is not None:
                arguments[name] = getattr(self, name)
        return arguments

    @property
    def figures(self) -> dict[str, Any]:
        """What the summary of a run says of its plan."""
        bands, rows = (
            (0, 0) if self.exact else (self.bands.bands, self.bands.rows_per_band)
        )
        common = self.shingles.common
        return {
            "bands": bands,
            "rows_per_band": rows,
            "recall": self.recall,
            "verify": self.verify,
            "measure": self.measure,
            "normalize": self.shingles.normalize,
            "ignored_shingles": None if common is None else len(common),
            "top": self.top,
            "most": self.most,
        }

    def described(self) -> dict[str, Any]:
        """Return the parameters as plans in files have them: rows_per_band is named "rows"."""
        return {
            "rows" if name == "rows_per_band" else name: value
            for name, value in self.arguments.items()
        }

    def memory(self, rows: int, nbytes: int, in_memory: bool = True) -> dict[str, int]:
        """Estimate the bytes that a run over `rows` items of `nbytes` bytes takes, by purpose.

        `in_memory` tells whether the items are held in memory, or are read again if they are needed
        again.
        """
        tokens = nbytes // BYTES_OF_TOKEN[self.shingles.unit]
        bands = 0 if self.chosen_bands is None else self.chosen_bands.bands
        exact = {"exact join": EXACT_BYTES * tokens} if self.exact else {}
        return {
            plural(self.kind): nbytes + TEXT_OVERHEAD * rows
            if in_memory
            else PLACE_BYTES * rows,
            "signatures": round(8 * self.hasher.num_perm * rows * (1 + SLACK)),
            "bucket keys": 8 * (bands + ROW_WORDS) * rows,
            **exact,
            "work": WORK_BYTES * self.threads,
            "Python and libraries": BASE_BYTES,
        }


AnyPlan: TypeAlias = Plan | PointPlan


def make_plan(**values: Unpack[PlanOptions]) -> Plan:
    """Check the options of a run over texts or sets; errors name argument, value and range.

    By default, pairs by containment come from an exact join: bands find few pairs of very different
    sizes.
    """
    check_names("make_plan", values, OF_SETS)
    options = Options(OF_SETS.values(), {}).with_(**values)  # None is checked, too
    threshold = THRESHOLD
    if options.threshold is not None:
        threshold = check_threshold(options.threshold)
    shingles = check_shingles(
        options.unit,
        options.size,
        options.stop_words,
        normalize=options.normalize,
    )
    _check_choices(options.verify, options.groups)
    measure = _check_measure_of(options.measure, options.verify, bool(options.exact))
    if options.ignore_common is not None:
        share = check_number("ignore_common", options.ignore_common)
        if not 0 < share < 1:
            raise ValueError(
                f"ignore_common must be in (0, 1), not {options.ignore_common}"
            )
    top = options.top
    if top is not None:
        top = check_int("top", top, 1, 2**31 - 1)
    check_most(options.most, threshold)
    by_default = options.exact is None and measure == "containment"
    joins_exactly = by_default or bool(options.exact)
    hasher = MinHasher(options.num_perm, options.scheme, options.seed)
    recall = RECALL if options.recall is None else options.recall
    bands = None
    if joins_exactly and options.bands is None and options.rows_per_band is None:
        check_recall(recall)
    else:
        bands = Bands.choose(
            equal_jaccard(measure, threshold),
            options.num_perm,
            recall=recall,
            bands=options.bands,
            rows_per_band=options.rows_per_band,
        )
    return Plan(
        threshold,
        shingles,
        hasher,
        bands,
        options.verify,
        options.groups,
        thread_count(options.threads),
        joins_exactly,
        by_default,
        measure=measure,
        ignore_common=options.ignore_common,
        top=top,
        most=options.most,
        recall_of_bands=recall,
    )


def _check_choices(verify: Verify, groups: Grouping) -> None:
    for name, value, allowed in (
        ("verify", verify, Verify),
        ("groups", groups, Grouping),
    ):
        if value not in get_args(allowed):
            raise ValueError(
                f"{name} must be one of {', '.join(get_args(allowed))}, not {value!r}"
            )


def _check_measure_of(
    measure: ItemMeasure | None, verify: Verify, exact: bool
) -> PairMeasure:
    """Return the measure of a run; raise ValueError if its pairs cannot be verified so."""
    if exact and verify != "exact":
        raise ValueError(f"verify must be 'exact' for an exact join, not {verify!r}")
    checked = check_measure("jaccard" if measure is None else measure)
    if checked == "containment" and verify != "exact":
        raise ValueError(
            f"verify must be 'exact' for measure='containment', not {verify!r}: signatures "
            "estimate Jaccard"
        )
    return checked


def check_bands_only(plan: AnyPlan, driver: Driver, command: str = "dedup") -> None:
    """Raise ValueError if a plan joins exactly, for a way of running that has bands only."""
    if not plan.exact:
        return
    name_of_driver = NAMES[driver].replace("lshfast dedup", f"lshfast {command}")
    default = (
        f"measure={plan.measure!r} has exact=True by default, and "
        if plan.exact_by_default
        else ""
    )
    missed = (
        "; they miss most pairs of very different sizes"
        if plan.measure == "containment"
        else ""
    )
    reason = OPTIONS["exact"].without[driver]
    refusal = f"{default}exact is not an option of {name_of_driver}: {reason}"
    raise ValueError(
        f"{refusal}. Run {ONE_MACHINE} instead, or give exact=False (--no-exact): bands find the "
        f"pairs{missed}"
    )


def described_plan(parameters: Mapping[str, Any], threads: int) -> Plan:
    """Return the plan with these parameters, as `Plan.described` returns them."""
    arguments = {
        "rows_per_band" if name == "rows" else name: value
        for name, value in parameters.items()
    }
    return make_plan(**arguments, threads=threads)


def plan_for(kind: Kind, options: Mapping[str, Any]) -> AnyPlan:
    """Check the options of a run over items of a kind; those that are missing have their defaults.

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
    arguments = dict(options, measure=check_item_measure(kind, options.get("measure")))
    if kind in get_args(PointKind):
        of_points = {name: arguments[name] for name in OF_POINTS if name in arguments}
        return make_point_plan(cast(PointKind, kind), **of_points)
    for name in ONLY_OF_POINTS:
        arguments.pop(name, None)
    return replace(make_plan(**arguments), kind=kind)


def plan_of_options(options: Mapping[str, Any], items: Kind = "text") -> AnyPlan:
    """Return the plan of a run again, from the `options` of its result; they hold `keep`, too.

    `items` distinguishes sets from texts, whose options are the same.
    """
    arguments = dict(options)
    arguments.pop("keep", None)
    kind = arguments.pop("kind", "text")
    if arguments.get("recall") == 1:
        del arguments["recall"]
        arguments["exact"] = True
    plan = plan_for(kind, arguments)
    if items == "set" and plan.of_texts is not None:
        return replace(plan.of_texts, kind=items)
    return plan
