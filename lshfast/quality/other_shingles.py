"""The pairs of a sample by other shingles than those of the run.

The sample is compared with other rows that are drawn, not with all. If many rows are similar by
other shingles, so are most pairs of both draws: 4,000 by 5,000 rows are 20 million pairs. Then
fewer rows are compared, and each pair counts more, so the estimates stay unbiased.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.columns import Column, KeyedRows, ShingledTexts
from lshfast._engine.plan import Plan
from lshfast.quality.near_pairs import Near, SampleJoin, Tally
from lshfast.quality.sampling import RowSample
from lshfast.shingling import Shingles, Unit, check_shingles

# Other shingles, and about how many rows are compared with the sample by these.
SHINGLES: tuple[tuple[Unit, int], ...] = (
    ("word", 1),
    ("word", 3),
    ("word", 5),
    ("char", 9),
)
OTHER_ROWS = 5000

# About how many pairs may be similar by other shingles, which take 40 bytes each. Their number is
# estimated from PILOT_ROWS rows; at least so many are compared.
MOST_PAIRS = 1 << 20
PILOT_ROWS = 64


@dataclass(frozen=True)
class OtherJoin:
    """What counts the pairs of other shingles.

    Attributes
    ----------
    shingles : Shingles
    rows : KeyedRows
        All rows, with these shingles.
    join : SampleJoin
    tally : Tally
    among : RowSample
        The rows that are compared with the sample.
    is_compared : ndarray of bool, shape (n,)
        Whether each row is one of them.
    is_reduced : bool
        Whether they are fewer than those of other shingles, because too many pairs are similar.
    """

    shingles: Shingles
    rows: KeyedRows
    join: SampleJoin
    tally: Tally
    among: RowSample
    is_compared: BoolArray
    is_reduced: bool

    def near(self, column: Column, rows: Int64Array) -> Near:
        """Return the pairs of the sample with those of some rows that are compared."""
        compared_places = np.flatnonzero(self.is_compared[rows])
        compared_column = column.take(compared_places)
        assert isinstance(compared_column, ShingledTexts)
        tokens = replace(compared_column, shingles=self.shingles).tokens(
            self.rows.key.tokens
        )
        place, row, similarity = self.join.near(rows[compared_places], tokens)
        return Near(place, row, similarity, np.zeros((len(row), 1), np.bool_))


def other_joins(
    rows: KeyedRows,
    plan: Plan,
    sample: RowSample,
    among: RowSample,
    rng: np.random.Generator,
) -> list[OtherJoin]:
    """Return what counts the pairs of a sample with other rows, for each of the other shingles."""
    assert isinstance(rows.column, ShingledTexts)
    joins = []
    edges = np.array([plan.threshold, np.nextafter(1, 2)], np.float64)
    for unit, size in SHINGLES:
        shingles = check_shingles(unit, size, normalize=plan.shingles.normalize)
        if shingles[:2] == plan.shingles[:2]:
            continue
        rows_of_shingles = KeyedRows(
            ShingledTexts(rows.column.texts, shingles), rows.key
        )
        join = SampleJoin(rows_of_shingles, sample.rows, plan.threshold, plan.threads)
        compared = _compared(rows_of_shingles, join, among, rng)
        is_compared = np.zeros(len(among.rates), np.bool_)
        is_compared[compared.rows] = True
        tally = Tally(sample, edges, [plan.bands], compared)
        joins.append(
            OtherJoin(
                shingles,
                rows_of_shingles,
                join,
                tally,
                compared,
                is_compared,
                compared is not among,
            )
        )
    return joins


def _compared(
    rows: KeyedRows, join: SampleJoin, among: RowSample, rng: np.random.Generator
) -> RowSample:
    """Return the rows to compare: those that were drawn, or some of them if pairs are too many."""
    size = min(PILOT_ROWS, len(among.rows))
    pilot = np.sort(rng.choice(among.rows, size, replace=False))
    pilot_pairs = sum(map(len, _places(rows, join, pilot)))
    expected_pairs = pilot_pairs * len(among.rows) / max(1, size)
    if expected_pairs <= MOST_PAIRS:
        return among
    share = min(1.0, max(MOST_PAIRS / expected_pairs, PILOT_ROWS / len(among.rows)))
    is_kept = rng.random(len(among.rows)) < share
    unit = 1 / 2 if among.complete else among.unit
    return RowSample(among.rows[is_kept], among.rates * share, unit / share, False)


def _places(
    rows: KeyedRows, join: SampleJoin, row_numbers: Int64Array
) -> Iterator[Int64Array]:
    """Yield the rows of the sample that are near to some rows, once for each pair."""
    tokens = rows.column.take(row_numbers).tokens(rows.key.tokens)
    for places, _, _ in join.near_in_parts(row_numbers, tokens):
        yield places
