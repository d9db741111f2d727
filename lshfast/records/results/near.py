"""The pairs next to the threshold: what a lower one would link, and the links that a higher one
would lose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast.records.choices import Assignment
from lshfast.records.links.decision import CandidateScores, links_above
from lshfast.records.results.explain import Explainer

# below the threshold: bits, or a part of all points
MARGIN_BITS = 8.0
MARGIN_POINTS = 0.1


class NearPairs(NamedTuple):
    """Pairs of rows that are no links: sorted by score, the greatest first."""

    i: Int64Array
    j: Int64Array
    scores: Float64Array

    def __len__(self) -> int:
        return len(self.scores)


def margin_of(explainer: Explainer) -> float:
    """Return how far below the threshold pairs are of interest."""
    if explainer.weights is not None:
        return MARGIN_BITS
    return MARGIN_POINTS * sum(
        own.comparer.coded.field.points for own in explainer.scorers
    )


def pairs_below(explainer: Explainer, assign: Assignment) -> NearPairs:
    """Return the pairs that a lower threshold would link besides the links, down to a margin.

    The candidates are scored again, because a run keeps only what its threshold needs.
    """
    linkage = explainer.linkage
    candidates = explainer.candidates
    least = explainer.least
    lower = least - margin_of(explainer)
    index, scores = explainer.scorers.above(linkage, candidates.places, lower)
    found = CandidateScores(explainer.weights, explainer.scorers, lower, index, scores)
    links = links_above(linkage, candidates, found, assign, lower, explainer.labels)
    columns = linkage.sizes[1]
    others = ~np.isin(links.i * columns + links.j, explainer.i * columns + explainer.j)
    below = np.flatnonzero((links.scores < least) & others)
    below = below[np.argsort(-links.scores[below], kind="stable")]
    return NearPairs(links.i[below], links.j[below], links.scores[below])
