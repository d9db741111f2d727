"""Readers of vectors, codes and weighted sets, by their kind, and collections of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.arrow_columns import checked_column
from lshfast._common.choices import ItemMeasure, PointKind
from lshfast._common.extras import optional
from lshfast._items.items import PointBatch, PointReader
from lshfast._items.kind import is_missing
from lshfast._items.weighted import ORDER_SEED, SignatureReader, WeightedReader
from lshfast.index.neighbors.points import PointFormat
from lshfast.kernels.arrow import is_arrow
from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets


def reader_of(
    kind: PointKind,
    measure: ItemMeasure,
    format: PointFormat | WeightedMinHasher | None = None,
    seed: int = ORDER_SEED,
    threads: int = 1,
) -> Any:
    """Return the reader of a kind: a `PointReader` of a format, or a `WeightedReader` of a seed.

    Given a sketcher of weighted sets as the format, return a `SignatureReader`.
    """
    if isinstance(format, WeightedMinHasher):
        return SignatureReader(format, threads)
    return (
        WeightedReader(seed)
        if kind == "weighted"
        else PointReader(kind, measure, format)
    )


class PointsInMemory(NamedTuple):
    """The points of a collection, the format of their words, and advice on other meanings."""

    batch: PointBatch
    format: PointFormat | None
    advice: str


def read_points(items: Any, kind: PointKind, measure: ItemMeasure) -> PointsInMemory:
    """Return the points of a collection in memory; the first bad row raises ValueError."""
    reader = reader_of(kind, measure)
    batch, bad = reader.read(_column(items))
    if bad:
        row = min(bad)
        raise ValueError(f"row {row}: {bad[row]}")
    return PointsInMemory(batch, reader.format, reader.advice)


def _column(items: Any) -> Any:
    """Return a collection as a list, or as a numpy or pyarrow array whose memory is checked."""
    if isinstance(items, np.ndarray):
        return items if items.dtype != object else list(items)
    if isinstance(items, WeightedSets):
        return items
    dtype = getattr(items, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":  # pandas
        return [None if is_missing(item) else item for item in items]
    if is_arrow(items):
        return _arrow_column(items)
    if isinstance(items, (str, bytes, Mapping, Set)) or not isinstance(items, Iterable):
        raise TypeError(
            "weighted sets, vectors and codes must be a sequence or a column of them, not "
            f"{type(items).__name__}"
        )
    return list(items)


def _arrow_column(items: Any) -> Any:
    """Return an Arrow column of any library as an array of pyarrow, whose memory is checked."""
    pa = optional("pyarrow")
    source = items.read_all() if isinstance(items, pa.RecordBatchReader) else items
    column = checked_column(source, "texts")
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        column = pa.chunked_array(column)
    # A table of one column.
    if pa.types.is_struct(column.type) and column.type.num_fields == 1:
        column = column.flatten()[0]
    return column if isinstance(column, pa.Array) else column.combine_chunks()
