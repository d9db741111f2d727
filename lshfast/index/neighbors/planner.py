"""The choice of the plan of near-neighbour search: the least product of work and memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int, check_number
from lshfast._common.types import Float64Array
from lshfast.families.family import Family
from lshfast.families.probing import Probing
from lshfast.families.vectors import Hyperplanes
from lshfast.index.neighbors.codes import (
    CodesPlan,
    bytes_of_codes,
    found_within,
    reach_for,
)
from lshfast.index.neighbors.plan import (
    NeighborsPlan,
    entry_bytes_of,
    found_in,
    probabilities_of_meeting,
    usual_probability,
)
from lshfast.index.neighbors.points import PointFormat, check_radius

# The limits of the planner. An index with `memory` may have more tables.
MOST_BANDS = 512
MOST_ROWS = 64
PROBES = (1, 4, 16, 64)

# Groups of families whose best plan without probing costs more than the cheapest by this factor are
# not considered.
WORSE = 2.0

# Probing lowered the cost of the best plan by tables of n entries by less than the factor
# n ** GAIN_EXPONENT: 2.7 of 4.6 for 10,000 entries, 4.6 of 10 for 1,000,000, 15.7 of 21.5 for
# 100,000,000, over 4 radii and 64 to 768 dimensions. If codes cost less than this share of the best
# plan without probing, no other one is looked for: that takes seconds.
GAIN_EXPONENT = 1 / 6

# Nanoseconds of a bucket that is looked up, and found by probing; of a candidate, and of each byte
# of its point.
LOOKUP_NS = 60.0
PROBE_NS = 100.0
CANDIDATE_NS = 60.0
BYTE_NS = 0.12

# Nanoseconds of a hash function of families whose time depends little on the points.
HASH_NS = {
    "bit-sampling": 1.0,
    "coordinate-cells": 5.0,
    "hyperplanes": 5.0,
    "cross-polytope": 450.0,
}

# Bits of codes that the planner considers. Nanoseconds of a bit of a query's code; of a head that
# is scanned; of a code whose head is near, and of each bit of it.
CODE_BITS = (256, 320, 384, 512, 640)
HASH_BIT_NS = 5.0
SCAN_NS = 0.12
PASS_NS = 4.0
PASS_BIT_NS = 0.008

# If the user gives no sample of distances: the factor between the radius and the distance of the
# nearest other points, and their share for angles and bits, where the rest is as far away as
# independent vectors or codes are.
FAR = 2.0
FAR_SHARE = 0.01

# Distances at which probabilities are computed, and between which their logarithms are
# interpolated.
KNOTS = 8

# The margin that is subtracted from simulated probabilities, so that errors break no promise.
MARGIN = 0.005

# The share of the misses that the plan of a family may have. The components of Cauchy lines have
# heavy tails: the lines of one index together may be less suitable for a data set than the average,
# by which the promise is computed.
MISSES = {"cauchy-lines": 0.2}


class Choice(NamedTuple):
    """The place of a family in its group, rows, and the place of the probes in PROBES."""

    family: int
    rows: int
    probes: int


@dataclass(frozen=True)
class PlanRequest:
    """The arguments of `NearNeighbors` that a plan must meet."""

    points: PointFormat
    radius: float
    recall: float
    n: int
    c: float | None = None
    sample: npt.ArrayLike | None = field(default=None, compare=False)
    memory: int | None = None
    bands: int | None = None
    rows_per_band: int | None = None
    probes: int | None = None
    method: str | None = None

    def __post_init__(self) -> None:
        values = {
            "radius": check_radius("radius", self.radius, self.points),
            "recall": check_number("recall", self.recall),
            "n": check_int("n", self.n, 1, 2**62),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.radius == 0:
            raise ValueError("radius must be above 0")
        if not 0 < self.recall < 1:
            raise ValueError(f"recall must be in (0, 1), not {self.recall}")
        if self.c is not None:
            object.__setattr__(self, "c", check_number("c", self.c))
            if not 1 < self.c < math.inf:
                raise ValueError(f"c must be a finite number above 1, not {self.c}")
        limits = {
            "memory": 2**62,
            "bands": 2**15,
            "rows_per_band": 2**10,
            "probes": 2**12,
        }
        for name, most in limits.items():
            if getattr(self, name) is not None:
                object.__setattr__(
                    self, name, check_int(name, getattr(self, name), 1, most)
                )
        self._check_method()

    def _check_method(self) -> None:
        """Raise ValueError if the method is unknown, or does not go with other arguments."""
        if self.method not in (None, "tables", "codes"):
            raise ValueError(f"method must be 'tables' or 'codes', not {self.method!r}")
        if self.method == "codes":
            if self.points.metric != "angle":
                raise ValueError(
                    "method 'codes' is for the metrics 'angle' and 'cosine', not "
                    f"{self.points.metric!r}"
                )
            for name in ("bands", "rows_per_band", "probes"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is for method 'tables', not 'codes'")

    @property
    def by_codes(self) -> bool:
        """Whether a plan by codes is possible."""
        tables = (self.bands, self.rows_per_band, self.probes) != (None, None, None)
        return self.method != "tables" and self.points.metric == "angle" and not tables

    @cached_property
    def others(self) -> tuple[Float64Array, Float64Array]:
        """Distances of other entries, ascending, and their shares.

        The smallest distances of a sample have bins of their own.
        """
        if self.sample is None:
            far = min((self.c or FAR) * self.radius, self.points.longest)
            independent = self.points.longest / 2
            if not far < independent < np.inf:
                return np.array([far], np.float64), np.ones(1)
            distances = np.array([far, independent], np.float64)
            return distances, np.array([FAR_SHARE, 1 - FAR_SHARE], np.float64)
        sample = array_of(self.sample, "sample")
        if sample.dtype.kind not in "iuf":
            raise TypeError(f"sample must be numbers, not {sample.dtype}")
        ordered = np.sort(sample.astype(np.float64).reshape(-1))
        in_range = (
            (ordered >= 0) & (ordered <= self.points.longest) & (ordered < np.inf)
        )
        if not len(ordered) or not in_range.all():
            raise ValueError(
                f"sample must be at least one distance, and all in [0, {self.points.longest:g}]"
            )
        places = np.geomspace(1, len(ordered), min(64, len(ordered)))
        ends = np.unique(np.rint(places).astype(np.int64))
        counts = np.diff(np.concatenate([[0], ends]))
        sums = np.add.reduceat(ordered, np.concatenate([[0], ends[:-1]]))
        return sums / counts, counts / len(ordered)

    @cached_property
    def most_bands(self) -> int:
        """The most tables."""
        if self.bands is not None:
            return self.bands
        if self.memory is None:
            return MOST_BANDS
        least = self.n * entry_bytes_of(1, self.points)
        if self.memory < least:
            raise ValueError(
                f"memory must be at least {least:,} bytes for {self.n:,} entries, not "
                f"{self.memory:,}"
            )
        one = entry_bytes_of(1, self.points) - entry_bytes_of(0, self.points)
        return int((self.memory // self.n - entry_bytes_of(0, self.points)) // one)


def plan_neighbors(
    request: PlanRequest, groups: Sequence[Sequence[Family[Any]]]
) -> NeighborsPlan:
    """Choose family, bands, rows and probes.

    Parameters
    ----------
    request : PlanRequest
    groups : sequence of sequences of Family
        The families to choose from. The families of a group differ in one parameter, and are in its
        order.

    Raises
    ------
    ValueError
        If no plan keeps the promise within the memory.
    """
    codes = plan_codes(request, groups) if request.by_codes else None
    if codes is not None and request.method == "codes":
        return codes
    planners = [NeighborsPlanner(request, group) for group in groups]
    starts = [planner.start() for planner in planners]
    least = min(cost for _, cost in starts)
    plans = [
        planner.plan(planner.improved(choice))
        for planner, (choice, cost) in zip(planners, starts, strict=True)
        if cost <= WORSE * least and not planner.costs_far_more(choice, codes)
    ]
    allowed_plans = [plan for plan in plans if plan.bands <= request.most_bands]
    allowed_plans += [] if codes is None else [codes]
    if not allowed_plans:
        fewest = min(plan.bands for plan in plans)
        possible = "" if fewest >= 2**30 else f", but {fewest} tables do"
        raise ValueError(
            f"no plan of at most {request.most_bands} tables finds entries at radius "
            f"{request.radius:g} with probability {request.recall:g}{possible}: "
            "allow more memory, or a lower recall or radius"
        )
    return min(allowed_plans, key=cost_of)


def plan_codes(
    request: PlanRequest, groups: Sequence[Sequence[Family[Any]]]
) -> CodesPlan | None:
    """Return the plan by codes that costs least, or None if all need too much memory.

    Raises
    ------
    ValueError
        If `method` is "codes" and there is none.
    """
    points = request.points
    p = request.radius / math.pi
    base = next(
        family
        for group in groups
        for family in group
        if isinstance(family, Hyperplanes)
    )
    distances, shares = request.others
    plans: list[CodesPlan] = []
    for bits in CODE_BITS:
        nbytes = request.n * bytes_of_codes(bits, points, request.n)
        if request.memory is not None and nbytes > request.memory:
            continue
        head_reach, reach = reach_for(bits, request.recall, p)
        passing = float(
            shares @ found_within(distances / math.pi, bits, head_reach, bits)
        )
        found_share = float(
            shares @ found_within(distances / math.pi, bits, head_reach, reach)
        )
        candidates = request.n * found_share
        work = bits * HASH_BIT_NS + request.n * (
            SCAN_NS + passing * (PASS_NS + bits * PASS_BIT_NS)
        )
        work += candidates * (CANDIDATE_NS + BYTE_NS * 8 * points.measure.words)
        plans.append(
            CodesPlan(
                points.metric,
                points.dim,
                points.dtype,
                points.nonzeros,
                base,
                1,
                1,
                1,
                request.radius,
                request.recall,
                request.n,
                request.c,
                candidates,
                work,
                bits,
                reach,
            )
        )
    if not plans and request.method == "codes":
        least = request.n * bytes_of_codes(CODE_BITS[0], points, request.n)
        raise ValueError(
            f"memory must be at least {least:,} bytes for codes of {request.n:,} entries"
        )
    plan = min(plans, key=cost_of, default=None)
    while (
        plan is not None
        and plan.reach < plan.bits
        and plan.recall_at(plan.radius) < plan.recall
    ):
        plan = replace(plan, reach=plan.reach + 1)
    return plan


class NeighborsPlanner:
    """The search among families, rows and probes, from the best choice without probing."""

    probes: tuple[int, ...]
    misses: float

    def __init__(self, request: PlanRequest, families: Sequence[Family[Any]]) -> None:
        self.request = request
        self.families = families
        self.probes = PROBES if request.probes is None else (request.probes,)
        if not isinstance(families[0], Probing):
            if self.probes[0] > 1:
                raise ValueError(
                    f"probes must be 1 for {families[0].name}, not {self.probes[0]}: it has no "
                    "multi-probe"
                )
            self.probes = (1,)
        self.misses = (1 - request.recall) * MISSES.get(families[0].name, 1.0)
        self._costs: dict[Choice, float] = {}
        self._met: dict[Choice, float] = {}

    def start(self) -> tuple[Choice, float]:
        """Return the best choice with the fewest probes, and its cost."""
        fixed = self.request.rows_per_band
        rows = range(1, MOST_ROWS + 1) if fixed is None else (fixed,)
        choices = [
            Choice(family, row, 0)
            for family in range(len(self.families))
            for row in rows
        ]
        if self.probes[0] > 1:  # simulations take a while
            choices = choices[:: max(1, len(choices) // 16)]
        best = min(choices, key=self.cost)
        return best, self.cost(best)

    def costs_far_more(self, start: Choice, codes: CodesPlan | None) -> bool:
        """Return whether probing cannot make the best choice without it as cheap as codes."""
        if codes is None or self.request.c is not None:
            return False
        # Probing may lower the number of tables to what is allowed.
        if self.plan(start).bands > self.request.most_bands:
            return False
        most_gain: float = self.request.n**GAIN_EXPONENT
        return bool(self.cost(start) > most_gain * cost_of(codes))

    def improved(self, choice: Choice) -> Choice:
        """Return the choice that no step from it improves."""
        better: Choice | None = choice
        while better is not None:
            choice = better
            least = self.cost(choice)
            steps = (
                step
                for step in self._steps(choice)
                if self._bound(step) < least and self.cost(step) < least
            )
            better = next(steps, None)
        return choice

    def _steps(self, choice: Choice) -> Iterator[Choice]:
        steps = [
            (0, 1, 1),
            (0, 2, 1),
            (0, 0, 1),
            (0, 0, -1),
            (0, -1, -1),
            (0, -2, -1),
            (1, 0, 0),
            (-1, 0, 0),
        ]
        steps += [
            (1, 2, 0),
            (-1, -2, 0),
            (1, -2, 0),
            (-1, 2, 0),
            (0, 1, 0),
            (0, -1, 0),
            (0, 3, 0),
            (0, -3, 0),
        ]
        scale = max(1, choice.rows // 8)
        fixed = self.request.rows_per_band
        for step in steps:
            family = choice.family + step[0]
            rows = choice.rows + scale * step[1]
            probes = choice.probes + step[2]
            allowed = 1 <= rows <= MOST_ROWS if fixed is None else rows == fixed
            if (
                allowed
                and 0 <= family < len(self.families)
                and 0 <= probes < len(self.probes)
            ):
                yield Choice(family, rows, probes)

    def cost(self, choice: Choice) -> float:
        """Return the cost of the plan, far more if it has too many tables; it is computed once."""
        if choice not in self._costs:
            self._costs[choice] = self._cost(choice)
        return self._costs[choice]

    def _bound(self, choice: Choice) -> float:
        """Return a lower bound of the cost, which needs no simulation.

        With fewer rows and more probes, entries share buckets more often.

        The later buckets of a band are less likely to hold an entry than the first ones.
        """
        family = self.families[choice.family]
        rows = choice.rows
        probes = self.probes[choice.probes]
        if choice in self._costs or probes == 1:
            return self.cost(choice)
        meeting = (
            probes * float(family.collision_probability(self.request.radius)) ** rows
        )
        for (other, fewer, place), known_meeting in self._met.items():
            if other == choice.family and fewer <= rows:
                meeting = min(
                    meeting, known_meeting * max(1.0, probes / self.probes[place])
                )
        bands = self.request.bands or bands_for(min(meeting, 1.0), self.misses)
        distances, shares = self.request.others
        first = usual_probability(family, distances) ** rows
        candidates = self.request.n * float(shares @ found_in(np.asarray(first), bands))
        work = self._work(family, bands, rows, probes, candidates)
        return work * entry_bytes_of(bands, self.request.points)

    def _cost(self, choice: Choice) -> float:
        request = self.request
        family = self.families[choice.family]
        if request.c is not None and request.rows_per_band is None:
            far_distance = min(request.c * request.radius, request.points.longest)
            far_probability = float(family.collision_probability(far_distance))
            if request.n * far_probability**choice.rows > 1:
                return 1e30 / choice.rows
        plan = self.plan(choice)
        if plan.bands > request.most_bands:
            return 1e15 * plan.bands
        return cost_of(plan)

    def plan(self, choice: Choice) -> NeighborsPlan:
        """Return the plan of a choice, with the bands that it needs."""
        request = self.request
        points = self.request.points
        family = self.families[choice.family]
        rows = choice.rows
        probes = self.probes[choice.probes]
        meeting = float(probabilities_of_meeting(family, request.radius, rows, probes))
        self._met[choice] = meeting
        if probes > 1:
            meeting = max(
                meeting - MARGIN,
                float(family.collision_probability(request.radius)) ** rows,
            )
        bands = request.bands or bands_for(meeting, self.misses)
        candidates = self._candidates(family, bands, rows, probes)
        work = self._work(family, bands, rows, probes, candidates)
        recall = float(found_in(np.array(meeting), bands))
        return NeighborsPlan(
            points.metric,
            points.dim,
            points.dtype,
            points.nonzeros,
            family,
            bands,
            rows,
            probes,
            request.radius,
            recall,
            request.n,
            request.c,
            candidates,
            work,
        )

    def _work(
        self, family: Family[Any], bands: int, rows: int, probes: int, candidates: float
    ) -> float:
        """Return the rough time of a query, in nanoseconds."""
        points = self.request.points
        searching = bands * probes * (LOOKUP_NS + (probes > 1) * PROBE_NS)
        examining = candidates * (CANDIDATE_NS + BYTE_NS * 8 * points.measure.words)
        return bands * rows * hash_ns(family, points) + searching + examining

    def _candidates(
        self, family: Family[Any], bands: int, rows: int, probes: int
    ) -> float:
        distances, shares = self.request.others
        first = np.maximum(usual_probability(family, distances) ** rows, 1e-300)
        meeting = first
        if probes > 1:
            places = np.linspace(0, 1, len(distances))
            knots = np.unique(np.interp(np.linspace(0, 1, KNOTS), places, distances))
            first_at_knots = np.maximum(
                family.collision_probability(knots) ** rows, 1e-300
            )
            at_knots = probabilities_of_meeting(family, knots, rows, probes)
            log_gains = np.log(np.maximum(at_knots, first_at_knots) / first_at_knots)
            meeting = np.minimum(
                first * np.exp(np.interp(distances, knots, log_gains)), 1
            )
        return self.request.n * float(shares @ found_in(meeting, bands))


def cost_of(plan: NeighborsPlan) -> float:
    """Return the product of the work of a query and the memory of an entry."""
    return plan.work * plan.entry_bytes


def bands_for(meeting: float, misses: float) -> int:
    """Return the least number of bands with at most this probability of meeting in none."""
    if meeting >= 1:
        return 1
    bands = math.log(misses) / math.log1p(-meeting) if meeting > 1e-12 else math.inf
    return math.ceil(bands) if bands < 2**30 else 2**30


def hash_ns(family: Family[Any], points: PointFormat) -> float:
    """Return the rough time of one hash function of a point, in nanoseconds."""
    if family.name in HASH_NS:
        return HASH_NS[family.name]
    return 5 + 0.06 * (points.nonzeros or points.dim)
