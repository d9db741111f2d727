"""Pairs for a person to mark: the links nearest to the threshold, and the pairs below it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lshfast.records.results.field_pairs import columns_of_field, text_of
from lshfast.records.results.run_view import RunView
from lshfast.records.tables.record_table import values_at


def review_columns(view: RunView, most: int) -> dict[str, list[Any]]:
    """Return the pairs as columns, the greatest score first; see `LinkResult.review`."""
    run = view.run
    below = view.below
    links = view.doubtful[:most][::-1]
    i = np.append(run.i[links], below.i[:most])
    j = np.append(run.j[links], below.j[:most])
    scores = np.append(run.scores[links], below.scores[:most])
    first, second = run.tables
    columns: dict[str, list[Any]] = {
        "answer": [None] * len(i),
        "id_a": [first.ids[row] for row in i.tolist()],
        "id_b": [second.ids[row] for row in j.tolist()],
        "linked": [place < len(links) for place in range(len(i))],
        "score": scores.round(4).tolist(),
    }
    if run.weights is not None and run.probabilities is not None:
        chances_below = run.weights.probability(below.scores[:most])
        chances = np.append(run.probabilities[links], chances_below)
        columns["probability"] = chances.round(6).tolist()
    for coded in view.linkage.fields.values():
        names = columns_of_field(coded.field)
        left, right = view.columns(coded)
        columns[names.left] = list(map(text_of, values_at(left, i)))
        columns[names.right] = list(map(text_of, values_at(right, j)))
    return columns
