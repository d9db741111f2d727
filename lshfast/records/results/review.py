"""Pairs for a person to mark: the links nearest to the threshold, and the pairs below it, with both
records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast.records.results.explain import Explainer
from lshfast.records.results.field_pairs import columns_of_field, text_of
from lshfast.records.results.near import NearPairs
from lshfast.records.tables.record_table import plain_value


def review_columns(
    explainer: Explainer,
    below: NearPairs,
    probabilities: Float64Array | None,
    most: int,
) -> dict[str, list[Any]]:
    """Return the pairs as columns, the greatest score first; see `LinkResult.review`."""
    nearest = doubtful_links(explainer)[:most][::-1]
    i = np.concatenate([explainer.i[nearest], below.i[:most]])
    j = np.concatenate([explainer.j[nearest], below.j[:most]])
    scores = np.concatenate([explainer.scores[nearest], below.scores[:most]])
    first, second = explainer.tables
    pairs = list(zip(i.tolist(), j.tolist(), strict=True))
    columns: dict[str, list[Any]] = {
        "answer": [None] * len(scores),
        "id_a": [first.ids[row] for row, _ in pairs],
        "id_b": [second.ids[row] for _, row in pairs],
        "linked": [place < len(nearest) for place in range(len(scores))],
        "score": scores.round(4).tolist(),
    }
    if explainer.weights is not None and probabilities is not None:
        chances = np.concatenate(
            [probabilities[nearest], explainer.weights.probability(below.scores[:most])]
        )
        columns["probability"] = chances.round(6).tolist()
    for coded in explainer.linkage.fields.values():
        names = columns_of_field(coded.field)
        left, right = explainer.columns(coded)
        columns[names.left] = [text_of(plain_value(left[row])) for row, _ in pairs]
        columns[names.right] = [text_of(plain_value(right[row])) for _, row in pairs]
    return columns


def doubtful_links(explainer: Explainer) -> Int64Array:
    """Return the links that nobody has marked, the least score first."""
    order = np.argsort(explainer.scores, kind="stable")
    return order[~explainer.labels.mark(explainer.i[order], explainer.j[order])]
