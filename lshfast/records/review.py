"""Pairs for a person to mark: the links nearest to the threshold, and the pairs below it, with both records."""

from __future__ import annotations

from typing import Any

import numpy as np

from lshfast.common.types import Float64Array
from lshfast.records.explain import Explainer
from lshfast.records.near import NearPairs
from lshfast.records.tables import as_text, is_missing, plain_value


def review_columns(
    explainer: Explainer, below: NearPairs, probabilities: Float64Array | None, most: int
) -> dict[str, list[Any]]:
    """Return the pairs as columns, the greatest score first; see `LinkResult.review`."""
    nearest = np.argsort(explainer.scores, kind="stable")[:most][::-1]
    rows = np.concatenate([[explainer.i[nearest], explainer.j[nearest]], [below.i[:most], below.j[:most]]], axis=1)
    scores = np.concatenate([explainer.scores[nearest], below.scores[:most]])
    first, second = explainer.tables
    own, others = rows.tolist()
    found: dict[str, list[Any]] = {
        "same": [None] * len(scores),
        "id_a": [first.ids[row] for row in own],
        "id_b": [second.ids[row] for row in others],
        "linked": [place < len(nearest) for place in range(len(scores))],
        "score": scores.round(4).tolist(),
    }
    if explainer.weights is not None and probabilities is not None:
        chances = np.concatenate([probabilities[nearest], explainer.weights.probability(below.scores[:most])])
        found["probability"] = chances.round(6).tolist()
    for coded in explainer.linkage.fields.values():
        for side, table, places in (("a", first, own), ("b", second, others)):
            name = coded.field.column_of("ab".index(side))
            found[f"{side}.{name}"] = [_text(plain_value(table.column(name)[row])) for row in places]
    return found


def _text(value: Any) -> str | None:
    return None if is_missing(value) else as_text(value)
