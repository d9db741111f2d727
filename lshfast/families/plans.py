"""`BandPlan`, a choice of bands and rows with its expectations, `Costs`, and `BandPlanner`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, check_number
from lshfast._common.types import Float64Array
from lshfast.banding.bands import Bands
from lshfast.banding.scurve import scurve
from lshfast.families.curves import (
    Histogram,
    Spread,
    check_value,
    collision_probability,
    distance_at,
)
from lshfast.families.family import Family

# Families whose signatures an index keeps; of other families it keeps one word for each band.
SIGNATURES = frozenset({"minhash", "weighted-minhash"})

# Bytes of an entry in the tables of an index in memory: for its key, and for each band.
KEY_BYTES = 12
BAND_BYTES = 12


@dataclass(frozen=True)
class Costs:
    """The costs of the parts of a query, in units of one exact comparison of two items.

    The defaults are rounded figures of an index in memory, where a look-up and a comparison each
    wait about once for memory. Replace them with your own measurements.

    Parameters
    ----------
    function : float, default 0.1
        To compute one hash function of the query.
    bucket : float, default 1
        To look up one bucket.
    candidate : float, default 1
        To compare the query with one candidate.

    Raises
    ------
    TypeError, ValueError
        If a cost is not a number, or is negative or infinite.

    See Also
    --------
    lshfast.families.plan_work : Choose bands for a recall at the least work.
    """

    function: float = 0.1
    bucket: float = 1.0
    candidate: float = 1.0

    def __post_init__(self) -> None:
        for name in ("function", "bucket", "candidate"):
            if not 0 <= check_number(name, getattr(self, name)) < math.inf:
                raise ValueError(
                    f"{name} must be finite and not negative, not {getattr(self, name)}"
                )


@dataclass(frozen=True)
class BandPlan:
    """A choice of bands and rows with the results to expect; `print` shows it as a table.

    Attributes
    ----------
    bands, rows_per_band : int
        b and r. Items are candidates if they collide under all r functions of at least one of the b
        bands.
    threshold : float
        The distance, or without a family the similarity, at which the recall holds.
    recall : float
        Probability that a pair at the threshold becomes a candidate.
    family : Family or None
        The family whose functions are used.
    n : int or None
        Number of items.
    memory : int or None
        Bytes of an index in memory of the n items, without the items themselves.
    expected_candidates, expected_false, expected_missed : float or None
        Expected numbers of the candidates of a query, of candidates beyond the threshold, and of
        items within the threshold that are not candidates. None without a histogram.
    work : float or None
        Expected cost of a query, in comparisons. None without a histogram.

    See Also
    --------
    lshfast.families.plan_bands : What to expect of given bands and rows.
    lshfast.families.plan_recall : Choose the most rows that reach a recall.
    lshfast.families.plan_work : Choose bands for a recall at the least work.
    """

    bands: int
    rows_per_band: int
    threshold: float
    recall: float
    family: Family[Any] | None = None
    n: int | None = None
    memory: int | None = None
    expected_candidates: float | None = None
    expected_false: float | None = None
    expected_missed: float | None = None
    work: float | None = None

    @property
    def half_point(self) -> float | None:
        """The distance or similarity of probability 1/2; None if distance 0 has less."""
        p = Bands(self.bands, self.rows_per_band).half_point
        if self.family is None:
            return p
        if collision_probability(self.family, 0.0) < p:
            return None
        return distance_at(self.family, p)

    def probability(self, values: npt.ArrayLike) -> Float64Array:
        """Return the probability that pairs at these distances or similarities are candidates."""
        p = collision_probability(self.family, values)
        return np.asarray(scurve(p, self.bands, self.rows_per_band))

    def __str__(self) -> str:
        value = "similarity" if self.family is None else "distance"
        family_note = "" if self.family is None else f" of {self.family.name}"
        functions = f"functions: {self.bands * self.rows_per_band:,}{family_note}"
        recall_note = f"at {value} {self.threshold:.4g}"
        lines = [
            _line(
                "bands x rows", f"{self.bands:,} x {self.rows_per_band:,}", functions
            ),
            _line("recall", f"{self.recall:.4f}", recall_note),
        ]
        if self.half_point is not None:
            lines.append(_line("half found at", f"{self.half_point:.4g}", value))
        if self.work is not None:
            lines += self._lines_of_work()
        if self.memory is not None:
            lines.append(_line("memory", f"{self.memory / 1e6:,.1f} MB", "of an index"))
        return "\n".join(lines)

    def _lines_of_work(self) -> list[str]:
        """Return the lines that a plan with a histogram has in addition."""
        items = "" if self.n is None else f", of {self.n:,} items"
        false_note = "candidates beyond the threshold"
        missed_note = "items within the threshold, not candidates"
        return [
            _line("candidates", f"{self.expected_candidates:,.1f}", f"a query{items}"),
            _line("false", f"{self.expected_false:,.1f}", false_note),
            _line("missed", f"{self.expected_missed:,.1f}", missed_note),
            _line("work", f"{self.work:,.1f}", "comparisons a query"),
        ]


class BandPlanner:
    """Computes the plans for one threshold."""

    family: Family[Any] | None
    threshold: float
    p: float
    costs: Costs

    def __init__(
        self,
        threshold: float,
        family: Family[Any] | None,
        n: int | None,
        histogram: Histogram | None,
        costs: Costs | None,
    ) -> None:
        self.family = family
        self.threshold = check_value("threshold", threshold, family)
        self.p = float(collision_probability(family, self.threshold))
        self.n = None if n is None else check_int("n", n, 1)
        if costs is not None and not isinstance(costs, Costs):
            raise TypeError(f"costs must be Costs, not {costs!r}")
        self.costs = costs or Costs()
        self.spread: Spread | None = None
        if histogram is not None:
            self.spread = Spread.of(histogram, self.threshold, family, self.n)
            self.n = self.n or round(self.spread.total)
            if self.n == 0:
                raise ValueError(
                    "n must be given with a histogram whose counts have the sum "
                    f"{self.spread.total}"
                )

    def plan(self, bands: Bands, words: int | None = None) -> BandPlan:
        """Return the plan of these bands for an index that keeps `words` words of an item."""
        if words is None:
            words = self.words(bands.slots, bands.bands)
        else:
            words = check_int("words", words, 0)
        recall = float(scurve(self.p, bands.bands, bands.rows_per_band))
        memory = None if self.n is None else self.memory(bands.bands, words)
        plan = BandPlan(
            bands.bands,
            bands.rows_per_band,
            self.threshold,
            recall,
            self.family,
            self.n,
            memory,
        )
        if self.spread is None:
            return plan
        candidates, false, missed = self.candidates(bands)
        work = self.work(bands)
        return replace(
            plan,
            expected_candidates=candidates,
            expected_false=false,
            expected_missed=missed,
            work=work,
        )

    def candidates(self, bands: Bands) -> tuple[float, float, float]:
        """Return the expected candidates, false candidates and missed items."""
        assert self.spread is not None
        return self.spread.candidates(bands)

    def work(self, bands: Bands) -> float:
        """Return the expected cost of a query."""
        return self._overhead(bands) + self.costs.candidate * self.candidates(bands)[0]

    def least_work(self, bands: Bands, recall: float) -> float:
        """Return a lower bound of the cost with at least these bands and rows, and this recall."""
        assert self.spread is not None
        p = self.spread.probabilities
        counts = self.spread.counts
        equal_items = counts[p == 1].sum()
        near_items = counts[(self.p <= p) & (p < 1)].sum()
        candidates = equal_items + recall * near_items
        return self._overhead(bands) + self.costs.candidate * float(candidates)

    def _overhead(self, bands: Bands) -> float:
        return self.costs.function * bands.slots + self.costs.bucket * bands.bands

    def words(self, slots: int, bands: int) -> int:
        """Return the words that an index keeps for an item: its signature, or one a band."""
        keeps_signatures = self.family is None or self.family.name in SIGNATURES
        return slots if keeps_signatures else bands

    def memory(self, bands: int, words: int) -> int:
        """Return the bytes of an index of the n items."""
        assert self.n is not None
        return self.n * (8 * words + BAND_BYTES * bands + KEY_BYTES)

    def beyond(self, recall: float) -> str:
        """Return the beginning of an error about a recall that cannot be reached."""
        value = "similarity" if self.family is None else "distance"
        return (
            f"recall {recall} at {value} {self.threshold} (collision probability {self.p:.4g}) "
            "is out of reach"
        )


def _line(name: str, figure: str, note: str) -> str:
    return f"{name:<14}{figure:>16}   {note}"
