"""Readers of vectors, codes and weighted sets, by their kind, and collections of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from lshfast.common.choices import ItemMeasure
from lshfast.common.extras import optional
from lshfast.index.neighbors.points import PointFormat
from lshfast.kinds.items import PointBatch, PointReader
from lshfast.kinds.measures import PointKind
from lshfast.kinds.weighted import ORDER_SEED, SignatureReader, WeightedReader
from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets


def reader_of(
    kind: PointKind,
    measure: ItemMeasure,
    format: PointFormat | WeightedMinHasher | None = None,
    seed: int = ORDER_SEED,
    threads: int = 1,
) -> Any:
    """Return a reader of a kind: a `PointReader` of points of a format, or a `WeightedReader`, whose seed it is.

    Given a sketcher of weighted sets as the format, return a `SignatureReader`.
    """
    if isinstance(format, WeightedMinHasher):
        return SignatureReader(format, threads)
    return WeightedReader(seed) if kind == "weighted" else PointReader(kind, measure, format)


def read_points(items: Any, kind: PointKind, measure: ItemMeasure) -> tuple[PointBatch, PointFormat | None]:
    """Return the points of a collection in memory; the first bad row raises ValueError."""
    reader = reader_of(kind, measure)
    batch, bad = reader.read(_column(items))
    if bad:
        row = min(bad)
        raise ValueError(f"row {row}: {bad[row]}")
    return batch, reader.format


def _column(items: Any) -> Any:
    """Return a collection as an array of numpy or pyarrow, or as a list."""
    if isinstance(items, np.ndarray):
        return items if items.dtype != object else list(items)
    if isinstance(items, WeightedSets):
        return items
    if getattr(getattr(items, "dtype", None), "kind", "") == "O":  # pandas
        return list(items)
    if hasattr(items, "__arrow_c_stream__") or hasattr(items, "__arrow_c_array__"):
        pa = optional("pyarrow")
        return items if isinstance(items, pa.Array) else pa.chunked_array(items).combine_chunks()
    if isinstance(items, (str, bytes, Mapping, Set)) or not isinstance(items, Iterable):
        raise TypeError(
            f"weighted sets, vectors and codes must be a sequence or a column of them, not {type(items).__name__}"
        )
    return list(items)
