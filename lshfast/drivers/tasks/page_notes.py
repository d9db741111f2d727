"""What a verify task notes for the page of a run in stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from lshfast.common.types import Float64Array, Int64Array
from lshfast.engine.dedup_page import LEAST, columns_of, counts_of


def noted(rows: Int64Array, kept: Int64Array, similarity: Float64Array, sizes: Iterable[int]) -> dict[str, Any]:
    """Return what a verify task notes of its removed rows and of the sizes of its groups, as values of JSON."""
    order = np.lexsort((rows, similarity))
    _, first = np.unique(kept[order], return_index=True)
    least = order[np.sort(first)][:LEAST]  # of each group the least similar row
    by_row = np.argsort(rows)
    _, first = np.unique(columns_of(similarity[by_row]), return_index=True)

    def pairs(places: Int64Array) -> list[tuple[int, int, float]]:
        columns = rows[places].tolist(), kept[places].tolist(), similarity[places].tolist()
        return list(zip(*columns, strict=True))

    return {
        "similarities": counts_of(similarity).tolist(),
        "group_sizes": sorted(Counter(sizes).items()),
        "least": pairs(least),
        "whole_range": pairs(by_row[first]),
    }
