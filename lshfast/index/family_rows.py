"""`FamilyRows`: the rows that the items of a family have in an index."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from numbers import Number
from typing import Any

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.types import UInt64Array
from lshfast.banding.bands import Bands
from lshfast.families.bits import BitSampling, Covering
from lshfast.families.codes import BitFamily, buckets_of_bits
from lshfast.families.family import NO_VALUE, Amplified, Family, family_of
from lshfast.families.packed import codes_of
from lshfast.families.sets import MinHashFamily, SimHashFamily, WeightedMinHashFamily
from lshfast.families.vectors import SignVectors
from lshfast.index.measure import Measure
from lshfast.index.stores.values import Parameters
from lshfast.shingling import Shingles, are_texts, shingle, shingles_of_texts

# The families that take packed codes, and the families that take sketches and check their sketcher.
OF_CODES = (BitSampling, Covering)
OF_SKETCHES = (WeightedMinHashFamily, SimHashFamily, SignVectors)


@dataclass(frozen=True)
class FamilyRows:
    """Makes the rows of an index from the items of a family.

    A row of `WeightedMinHashFamily` is a signature. Other rows are the values of the buckets of all
    bands. For a `BitFamily`, the packed values of all functions follow, whose equal bits are
    counted.

    Parameters
    ----------
    family : Family
        Not amplified, and not `MinHashFamily`, whose index has a scheme and a seed instead.
    parameters : Parameters
        The parameters of the index.
    bands : Bands
        Numbers of bands, and of functions per band.
    """

    family: Family[Any]
    parameters: Parameters
    bands: Bands
    _shingles: Shingles | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_shingles", shingles_of_texts(self.parameters.shingles)
        )

    @property
    def fresh(self) -> bool:
        """Whether the rows are always arrays that nobody else has."""
        return isinstance(self.family, BitFamily)

    def rows_of(self, items: Any, threads: int | None) -> tuple[UInt64Array, bool]:
        """Return the rows of items, uint64 (n, words), and whether a single item was given.

        A single item is an array of one dimension, a list of numbers, or a text. Codes are in the
        forms of `codes_of`.

        Raises
        ------
        TypeError, ValueError
            If the family does not take the items.
        """
        if isinstance(items, (list, tuple)) and items and isinstance(items[0], Number):
            items = np.asarray(items)
        if (
            not isinstance(items, np.ndarray)
            and are_texts(items)
            and self._shingles is not None
        ):
            is_single = isinstance(items, (str, bytes))
            seed = getattr(self.family, "seed", 1)
            texts = [items] if is_single else items
            sets = shingle(texts, *self._shingles[:5], seed=seed, threads=threads)
            return self._rows(sets, threads), is_single
        self._check_sketcher(items)
        is_single = isinstance(items, np.ndarray) and items.ndim == 1
        if is_single and isinstance(self.family, OF_CODES):
            codes = codes_of(items, self.family.bits, "items")
            is_single = codes.ndim == 1
            items = codes.reshape(-1, codes.shape[-1])
        elif is_single:
            items = items[np.newaxis]  # a SketchArray keeps its sketcher
        return self._rows(items, threads), is_single

    def _check_sketcher(self, items: Any) -> None:
        """Raise ValueError for the sketches of a sketcher if the family takes items."""
        maker = getattr(items, "hasher", None)
        if maker is not None and not isinstance(self.family, OF_SKETCHES):
            raise ValueError(
                f"items are of {maker}, and {self.family} takes no sketches but items"
            )

    def _rows(self, items: Any, threads: int | None) -> UInt64Array:
        p = self.parameters
        bands = self.bands.bands
        functions = self.bands.rows_per_band
        if isinstance(self.family, WeightedMinHashFamily):
            return np.ascontiguousarray(
                self.family.hash(items, p.num_perm, threads=threads)
            )
        if not isinstance(self.family, BitFamily):
            buckets = self.family.buckets(items, bands, functions, threads=threads)
            return np.ascontiguousarray(checked_buckets(self.family, buckets, bands))
        codes, has_none = self.family.codes(items, bands * functions, threads=threads)
        rows = np.empty((len(codes), p.words), np.uint64)
        rows[:, :bands] = buckets_of_bits(codes, bands, functions)
        rows[:, bands:] = codes
        if has_none is not None:
            rows[has_none, :bands] = NO_VALUE
        return rows


def checked_buckets(family: Family[Any], buckets: Any, bands: int) -> UInt64Array:
    """Return the buckets that a family has computed; raise an error for other arrays."""
    dtype = getattr(buckets, "dtype", type(buckets).__name__)
    if dtype != np.uint64 or not isinstance(buckets, np.ndarray):
        raise TypeError(f"the buckets of {family} must be uint64, not {dtype}")
    if buckets.ndim != 2 or buckets.shape[1] != bands:
        raise ValueError(
            f"the buckets of {family} must be (n, {bands}), not {buckets.shape}"
        )
    return buckets


def base_of(family: Family[Any]) -> tuple[Family[Any], int]:
    """Return the family under all AND steps, and the number of its functions in a function.

    Raises
    ------
    TypeError
        If it is not a family.
    ValueError
        If it has an OR step. The bands of an index are the OR.
    """
    if not isinstance(family, Family):
        raise TypeError(
            f"family must be a Family, such as MinHashFamily(), not {family!r}"
        )
    functions = 1
    while isinstance(family, Amplified):
        if any(step != "and" for step, _ in family.steps):
            raise ValueError(
                f"family must have no OR step, since the bands of an index are the OR: {family}"
            )
        functions *= prod(count for _, count in family.steps)
        family = family.base
    return family, functions


def parameters_of(
    family: Family[Any],
    num_perm: int | None,
    bands: int | None,
    rows_per_band: int | None,
    threshold: float | None,
    recall: float,
    shingles: str,
) -> Parameters:
    """Return the parameters of an index of a family that is not MinHash, as for `LSHIndex`."""
    base, functions = base_of(family)
    if isinstance(base, WeightedMinHashFamily):
        num_perm = base.hasher(128 if num_perm is None else num_perm).num_perm
        if functions > 1:
            rows_of_family = 1 if rows_per_band is None else rows_per_band
            rows_per_band = functions * check_int("rows_per_band", rows_of_family, 1)
        threshold = 0.8 if threshold is None else threshold
        banding = Bands.choose(
            threshold, num_perm, recall=recall, bands=bands, rows_per_band=rows_per_band
        )
        return Parameters(
            num_perm,
            banding.bands,
            banding.rows_per_band,
            "",
            0,
            threshold,
            shingles,
            base.describe(),
        )
    if num_perm is not None:
        raise ValueError(
            f"num_perm is the length of MinHash signatures: give bands and rows_per_band for {base}"
        )
    if bands is None:
        raise ValueError(
            f"give bands and rows_per_band for {base}: threshold and recall choose those of "
            "MinHash signatures"
        )
    rows_of_family = check_int(
        "rows_per_band", 1 if rows_per_band is None else rows_per_band, 1
    )
    banding = Bands(bands, functions * rows_of_family)
    amplified = base if banding.rows_per_band == 1 else base.and_(banding.rows_per_band)
    description = amplified.describe()
    parameters = Parameters(
        banding.bands, banding.bands, 1, "", 0, threshold, shingles, description
    )
    if not isinstance(base, BitFamily):
        return parameters
    measure = Measure("hamming", "bits", banding.slots)
    return replace(parameters, payload=measure.words, measure=measure.text)


def family_rows(parameters: Parameters) -> FamilyRows:
    """Return the `FamilyRows` of an index with these parameters.

    Raises
    ------
    ValueError
        If the family is not known, or the parameters are not those of an `LSHIndex` of the family.
    """
    p = parameters
    family, functions = base_of(family_of(p.family))
    if isinstance(family, WeightedMinHashFamily):
        return FamilyRows(family, p, Bands(p.bands, p.rows_per_band))
    expected = parameters_of(
        family, None, p.bands, functions, p.threshold, 0.5, p.shingles
    )
    if p.measure and p.measure != expected.measure:
        raise ValueError(
            f"this index keeps points with the measure {p.measure!r}: open it with NearNeighbors"
        )
    expected.check_same(p)
    return FamilyRows(family, p, Bands(p.bands, functions))


def plain_family(family: Family[Any]) -> MinHashFamily | None:
    """Return the family if it is MinHash, whose index needs no family."""
    base, functions = base_of(family)
    if isinstance(base, MinHashFamily) and functions > 1:
        raise ValueError(
            f"give the rows of each band as rows_per_band={functions}, and the family without "
            f"AND: {base}"
        )
    return base if isinstance(base, MinHashFamily) else None
