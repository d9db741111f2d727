"""The measures of each kind of items, and the plan of a run over points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from lshfast._common.checks import Seed, check_int, check_most, check_number, check_seed
from lshfast._common.choices import (
    Grouping,
    ItemMeasure,
    Kind,
    PointKind,
    Verify,
    plural,
    usual_measure,
)
from lshfast._common.threads import thread_count
from lshfast._common.types import Float64Array
from lshfast.banding.bands import Bands

if TYPE_CHECKING:
    from lshfast._items.items import PointReader
    from lshfast._items.weighted import SignatureReader, WeightedReader
    from lshfast.index.neighbors.points import PointFormat
    from lshfast.sketch.weighted import WeightedMinHasher

# The measures of each kind, the default first.
MEASURES_OF: dict[Kind, tuple[ItemMeasure, ...]] = {
    "text": ("jaccard", "containment"),
    "set": ("jaccard", "containment"),
    "weighted": ("jaccard",),
    "vector": ("cosine", "angle", "euclidean", "manhattan"),
    "code": ("hamming", "tanimoto"),
}

# The measures that are similarities; the others are distances.
SIMILARITIES: tuple[ItemMeasure, ...] = ("jaccard", "containment", "cosine", "tanimoto")

# For the estimate of memory: bytes of the interpreter with pyarrow and of a batch; of a row, for
# its marks, codes and groups; of a row while a thread sorts it, in the blocks of a complete join of
# codes, and for its cells in a crowd; and of the points that a thread reads at once.
BASE_BYTES = 240 << 20
ROW_BYTES = 200
SORT_BYTES = 40
CODE_BYTES = 80
CROWD_BYTES = 200
CHUNK_BYTES = 1 << 25

# The least that `max_candidates` may be: about two rows a cell would find nothing.
LEAST_CANDIDATES = 256

# Least similarity by default.
THRESHOLDS: dict[ItemMeasure, float] = {"jaccard": 0.8, "cosine": 0.95, "tanimoto": 0.7}


def is_distance(measure: ItemMeasure) -> bool:
    """Return whether a measure is a distance, with a radius, or a similarity, with a threshold.

    Examples
    --------
    >>> is_distance("hamming"), is_distance("cosine")
    (True, False)
    """
    return measure not in SIMILARITIES


@dataclass(frozen=True)
class PointPlan:
    """The checked parameters of a run over weighted sets, vectors or codes.

    Use `make_point_plan` to create it.

    Attributes
    ----------
    kind : {"weighted", "vector", "code"}
    measure : {"jaccard", "cosine", "angle", "euclidean", "manhattan", "hamming", "tanimoto"}
    bound : float
        The threshold of a similarity, or the radius of a distance.
    recall : float
        Probability that a pair at the bound is found, in (0, 1]; 1 if all pairs are found.
    groups : {"star", "components"}
    threads, seed : int
    top : int or None
        Of the pairs that are listed, only those with the nearest rows of a row.
    most : float or None
        Of the pairs that are listed, only those that are not more similar.
    max_candidates : int or None
        Rows that share buckets with more others, counted in each bucket, are compared in cells of a
        forest.
    bands : Bands or None
        The bands and their rows, once the points are known; None if all pairs are found without
        bands.
    reached : float or None
        The recall of these bands, which is at least `recall`.
    """

    kind: PointKind
    measure: ItemMeasure
    bound: float
    recall: float
    groups: Grouping
    threads: int
    seed: int
    top: int | None = None
    most: float | None = None
    max_candidates: int | None = None
    bands: Bands | None = field(default=None, compare=False)
    reached: float | None = field(default=None, compare=False)

    # What plans of texts have.
    verify: ClassVar[Verify] = "exact"
    ignore_common: ClassVar[None] = None
    of_texts: ClassVar[None] = None

    @property
    def threshold(self) -> float:
        """The bound, by the name that plans of texts have for it."""
        return self.bound

    @property
    def complete(self) -> bool:
        """Whether all similar pairs are found."""
        return self.recall == 1

    @property
    def exact(self) -> bool:
        """The same, by the name that plans of texts have for it."""
        return self.complete

    @property
    def exact_by_default(self) -> bool:
        """Whether all similar pairs are found if nothing else is said."""
        return self.kind == "code"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `make_point_plan` for this plan, as JSON values, without the threads."""
        bound = "radius" if is_distance(self.measure) else "threshold"
        values: dict[str, Any] = {
            "kind": self.kind,
            "measure": self.measure,
            bound: self.bound,
            "recall": self.recall,
        }
        values |= {"groups": self.groups, "seed": self.seed}
        optional = {
            name: getattr(self, name) for name in ("top", "most", "max_candidates")
        }
        return values | {
            name: value for name, value in optional.items() if value is not None
        }

    def described(self) -> dict[str, Any]:
        """Return the parameters as the manifest of a work folder has them."""
        return self.arguments

    def reader(
        self,
        format: PointFormat | WeightedMinHasher | None = None,
        indexed: bool = False,
    ) -> PointReader | WeightedReader | SignatureReader:
        """Return what converts a column of files; see `Inputs.open_kind`."""
        from lshfast._items.reading import reader_of

        seed = {"seed": self.seed} if indexed else {}
        reader: PointReader | WeightedReader | SignatureReader = reader_of(
            self.kind, self.measure, format, **seed, threads=self.threads
        )
        return reader

    def memory_for(self, rows: int, words: int, in_memory: bool) -> int:
        """Estimate the peak memory of a run in bytes; `in_memory` says where the points are."""
        bands = 0 if self.bands is None else self.bands.bands
        bits = 0 if self.bands is None else self.bands.bands * self.bands.rows_per_band
        has_bits = self.measure in ("cosine", "angle", "hamming")
        row_bytes = ROW_BYTES + SORT_BYTES * self.threads
        row_bytes += bits // 8 + 8 if has_bits else 8 * bands
        if self.bands is None and self.complete:
            row_bytes += CODE_BYTES
        if self.max_candidates is not None:
            row_bytes += CROWD_BYTES
        if in_memory:
            row_bytes += 8 * words
        return BASE_BYTES + CHUNK_BYTES * self.threads + rows * row_bytes

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of the plan in the summary of a run."""
        bands, rows = (
            (0, 0)
            if self.bands is None
            else (self.bands.bands, self.bands.rows_per_band)
        )
        listing = {
            "max_candidates": self.max_candidates,
            "top": self.top,
            "most": self.most,
        }
        of_bands = {
            "bands": bands,
            "rows_per_band": rows,
            "recall": self.reached or self.recall,
        }
        return of_bands | {"verify": self.verify, "measure": self.measure} | listing

    def distance_of(self, format: PointFormat | None) -> float:
        """Return the distance at the bound: an angle for the cosine, 1 - threshold for sets."""
        if self.measure == "jaccard":
            return 1 - self.bound
        assert format is not None
        if self.measure == "cosine":
            return math.acos(self.bound)
        return min(self.bound, format.longest)

    def value_of(self, format: PointFormat | None) -> float:
        """Return the largest value of a similar pair, as `HeldItems.values` gives it."""
        if self.measure == "jaccard":
            return -self.bound
        assert format is not None
        if self.measure == "cosine":
            return format.value_at_cosine(self.bound)
        return format.value_at(min(self.bound, format.longest))

    def reported(
        self, format: PointFormat | None, values: Float64Array
    ) -> Float64Array:
        """Return the similarities or distances of values of `HeldItems.values`."""
        if self.measure == "jaccard":
            return -values
        assert format is not None
        return 1 - values if self.measure == "cosine" else format.distances(values)

    def of_distances(self, distances: Float64Array) -> Float64Array:
        """Return the reported similarities or distances for distances of the format."""
        if self.measure == "jaccard":
            return 1 - distances
        return (
            1 - 2 * np.sin(distances / 2) ** 2
            if self.measure == "cosine"
            else distances
        )


def make_point_plan(
    kind: PointKind,
    *,
    measure: ItemMeasure | None = None,
    threshold: float | None = None,
    radius: float | None = None,
    recall: float | None = None,
    exact: bool | None = None,
    groups: Grouping = "star",
    threads: int | None = None,
    seed: Seed = 1,
    top: int | None = None,
    most: float | None = None,
    max_candidates: int | None = None,
) -> PointPlan:
    """Check the parameters of a run over points; errors name the argument, the value and the range.

    Parameters
    ----------
    kind : {"weighted", "vector", "code"}
    measure : str, optional
        By default "jaccard" for weighted sets, "cosine" for vectors, and "hamming" for codes.
    threshold : float, optional
        Least similarity, in (0, 1]; by default .8 for "jaccard", .95 for "cosine", and .7 for
        "tanimoto".
    radius : float, optional
        Greatest distance, above 0 (for codes at least 0), for the other measures, which need it.
    recall : float, optional
        In (0, 1). By default .95 for weighted sets and vectors; for codes, all pairs are found.
    exact : bool, optional
        If true, all pairs are found.
    groups, threads, seed, top, most, max_candidates : optional
        As for `lshfast.dedup`.
    """
    measure = check_item_measure(kind, measure)
    if groups not in get_args(Grouping):
        raise ValueError(
            f"groups must be one of {', '.join(get_args(Grouping))}, not {groups!r}"
        )
    top = None if top is None else check_int("top", top, 1, 2**31 - 1)
    if is_distance(measure):
        bound = _radius(kind, measure, threshold, radius)
    else:
        bound = _threshold(measure, threshold, radius)
    check_most_by(measure, bound, most)
    least_recall = _recall(kind, measure, recall, exact)
    if max_candidates is not None:
        max_candidates = check_int(
            "max_candidates", max_candidates, LEAST_CANDIDATES, 2**31 - 1
        )
        if least_recall == 1:
            remedy = (
                "leave out exact (--exact)" if exact else "give a recall (--recall)"
            )
            if measure == "tanimoto":
                remedy = "the measure tanimoto has no other runs"
            raise ValueError(
                f"max_candidates is for runs with buckets, and this one finds all pairs: {remedy}"
            )
    return PointPlan(
        kind,
        measure,
        bound,
        least_recall,
        groups,
        thread_count(threads),
        check_seed(seed),
        top,
        most,
        max_candidates,
    )


def check_most_by(measure: ItemMeasure, bound: float, most: float | None) -> None:
    """Raise ValueError if `most` does not suit the measure and its bound."""
    if most is None:
        return
    if is_distance(measure):
        raise ValueError(
            f"most is an upper bound of similarities, and measure={measure!r} is a distance"
        )
    check_most(most, bound)


def _recall(
    kind: PointKind, measure: ItemMeasure, recall: float | None, exact: bool | None
) -> float:
    """Return the least recall of a run, 1 if it finds all pairs."""
    if recall is not None and not 0 < check_number("recall", recall) < 1:
        raise ValueError(f"recall must be in (0, 1), not {recall}")
    if measure == "tanimoto" and (recall is not None or exact is False):
        raise ValueError(
            "recall and exact=False are not for the measure tanimoto, by which all pairs are found"
        )
    if exact and recall is not None:
        raise ValueError(
            f"recall must not be given for exact=True, which finds all pairs, not {recall}"
        )
    finds_all = exact if exact is not None else kind == "code" and recall is None
    if finds_all:
        return 1.0
    return 0.95 if recall is None else float(recall)


def check_item_measure(kind: Kind, measure: ItemMeasure | None) -> ItemMeasure:
    """Return the measure, or the kind's default for None; others of the kind raise ValueError.

    Examples
    --------
    >>> check_item_measure("vector", None), check_item_measure("vector", "l2")
    ('cosine', 'euclidean')
    """
    allowed = MEASURES_OF[kind]
    if measure is None:
        return allowed[0]
    measure = usual_measure(measure)
    if measure not in allowed:
        raise ValueError(
            f"measure must be one of {', '.join(allowed)} for {plural(kind)}, not {measure!r}"
        )
    return measure


def _threshold(
    measure: ItemMeasure, threshold: float | None, radius: float | None
) -> float:
    if radius is not None:
        raise ValueError(
            f"radius is for distances, and {measure} is a similarity: give a threshold, not "
            f"{radius}"
        )
    value = (
        THRESHOLDS[measure]
        if threshold is None
        else check_number("threshold", threshold)
    )
    if not 0 < value <= 1:
        raise ValueError(f"threshold must be in (0, 1], not {threshold}")
    return float(value)


def _radius(
    kind: PointKind, measure: ItemMeasure, threshold: float | None, radius: float | None
) -> float:
    if threshold is not None:
        raise ValueError(
            f"threshold is for similarities, and {measure} is a distance: give a radius, not "
            f"{threshold}"
        )
    if radius is None:
        example = "a distance"
        if kind == "code":
            example = "the bits that may differ, such as 3 of 64 or 31 of 256"
        raise ValueError(f"radius is needed for the measure {measure}: {example}")
    if kind == "code":
        bits = (
            int(radius) if isinstance(radius, float) and radius.is_integer() else radius
        )
        return float(check_int("radius", bits, 0, 2**20))  # type: ignore[arg-type]
    value = float(check_number("radius", radius))
    most = math.pi if measure == "angle" else math.inf
    if not 0 < value <= most or value == math.inf:
        end = "" if most == math.inf else f" and at most {most:g}"
        raise ValueError(f"radius must be a finite number above 0{end}, not {radius}")
    return value
