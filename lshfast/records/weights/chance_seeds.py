"""How many seeds of two tables are expected by chance: as many as there are within a table.

A record of one table matches none of the same table. So pairs that are each other's nearest by far
between two halves of one table are not the same thing, but only alike. If two tables share few
records or none, there are about as many such pairs between half of one and half of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lshfast._common.types import Int64Array
from lshfast.records.candidates.record_texts import RecordTexts
from lshfast.records.choices import NEIGHBORS
from lshfast.records.linkage import Linkage
from lshfast.records.weights.rivals import PairsBetween

ERRORS = 2.0  # standard errors


@dataclass(frozen=True)
class ChanceSeeds:
    """Seeds between halves of tables.

    Attributes
    ----------
    between : float
        Between half of one table and half of the other.
    within : int
        Between the halves of one table: of the table with fewer, since a table with several
        records of one thing has more.
    """

    between: float
    within: int

    @classmethod
    def of(cls, linkage: Linkage) -> ChanceSeeds:
        """Count the seeds between halves of two tables, which are drawn at random."""
        texts = linkage.record_texts
        rng = np.random.default_rng([linkage.seed, 4])
        first, second = (halves_of(numbers, rng) for numbers in texts.numbers)
        between = [
            seeds_between(texts, a, b) for a, b in zip(first, second, strict=True)
        ]
        within = [seeds_between(texts, *halves) for halves in (first, second)]
        return cls(float(np.mean(between)), min(within))

    @property
    def share(self) -> float:
        """Which part of the seeds of two tables is expected by chance; above 1 at times."""
        return float(self.within / max(1.0, self.between))

    def share_of_all(self, seeds: int) -> float:
        """Return the share of the seeds of whole tables, which have twice as many by chance."""
        return 2 * self.within / max(1.0, float(seeds))

    @property
    def greatest_share(self) -> float:
        """The greatest share that the numbers allow for, with ERRORS standard errors of both."""
        within = self.within + ERRORS * (self.within + 1) ** 0.5
        between = self.between - ERRORS * (self.between / 2) ** 0.5
        return float(within / max(1.0, between))


def halves_of(
    numbers: Int64Array, rng: np.random.Generator
) -> tuple[Int64Array, Int64Array]:
    """Divide numbers at random; each half ascends."""
    shuffled = rng.permutation(numbers)
    middle = len(shuffled) // 2
    return np.sort(shuffled[:middle]), np.sort(shuffled[middle:])


def seeds_between(texts: RecordTexts, first: Int64Array, second: Int64Array) -> int:
    """Return how many texts are each other's nearest by far, of two ascending lists of numbers."""
    left, right = texts.nearest_between(first, second, NEIGHBORS)
    alike = np.intersect1d(first, second)
    pairs = np.unique(
        np.stack([np.append(left, alike), np.append(right, alike)], axis=1), axis=0
    )
    similarity = texts.similarity
    i, j = pairs[:, 0].copy(), pairs[:, 1].copy()
    similarities = np.asarray(
        similarity.joined(i, j, *similarity.cosines(i, j)), np.float64
    )
    sizes = len(texts.texts), len(texts.texts)
    seeds, _ = PairsBetween(i, j, sizes, "one-to-one").seeds(similarities)
    return int(seeds.sum())
