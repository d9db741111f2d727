"""The rows of a check on a cluster: a sample of the different rows, and all that are near to it.

Rows are drawn by a hash of their id, each with one probability, so the pairs of a drawn row with
all rows are a sample of all pairs. Only a few thousand texts leave the executors.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lshfast._common.run_key import draw_fingerprint_key, draw_hash_numbers
from lshfast._common.types import Int64Array
from lshfast._engine.plan import Plan
from lshfast.quality.other_shingles import OTHER_ROWS
from lshfast.quality.run import DrawnRows, RowNumbers, edges_of
from lshfast.spark.check_tasks import NearLimits, NearTask, PrintTask
from lshfast.spark.sql import F
from lshfast.spark.tasks import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The hashes by which rows are drawn are below this.
HASHES = 1 << 32

# The most rows near to a sample that are collected. If there are more, as in a crowd of similar
# rows, the last rows of the sample are left out, but never more than to LEAST_SAMPLE of them. More
# than MOST_CROWD rows near to these are not collected, either.
MOST_NEAR = 1 << 18
LEAST_SAMPLE = 64
MOST_CROWD = 1 << 20

# Pairs that one task returns before it leaves out the last rows of the sample. Copies are in pairs
# here, so this is more than MOST_NEAR.
MOST_PAIRS = 1 << 21


class PairsOfSample(NamedTuple):
    """Pairs of a place in the sample and the id of a different row.

    Attributes
    ----------
    frame : DataFrame
        place, id.
    counts : ndarray of int64
        The number of pairs of each place.
    limit : int
        The first place whose pairs may be incomplete; the size of the sample if all are complete.
    """

    frame: DataFrame
    counts: Int64Array
    limit: int

    @property
    def used(self) -> int:
        """How many rows of the sample are used."""
        sums = np.cumsum(self.counts, dtype=np.int64)
        fitting = int(np.searchsorted(sums, MOST_NEAR, side="right"))
        return max(fitting, min(LEAST_SAMPLE, len(self.counts)))


class DrawRate(NamedTuple):
    """A draw of all rows whose hash with a seed is below a limit."""

    seed: int
    limit: int

    @classmethod
    def of(cls, seed: int, size: int, different: int) -> DrawRate:
        """Return the draw of about `size` of some different rows."""
        return cls(seed % HASHES, min(HASHES, -(-HASHES * size // max(1, different))))

    @property
    def rate(self) -> float:
        """The probability of a row to be drawn."""
        return self.limit / HASHES

    def hash(self) -> Column:
        """Return the hash of the id of a row."""
        return F.pmod(F.xxhash64("id", F.lit(self.seed)), F.lit(HASHES))

    def has(self) -> Column:
        """Return whether a row is drawn."""
        return self.hash() < self.limit


@dataclass(frozen=True)
class Draw:
    """The draw of the rows of a check.

    Attributes
    ----------
    frame : DataFrame
        id and text of all rows.
    plan : Plan
    persisted : callable
        Persists a frame until the end of the draw.
    """

    frame: DataFrame
    plan: Plan
    persisted: Callable[[DataFrame], DataFrame]

    def rows(self, read: int, sample_size: int) -> tuple[Table, DrawnRows]:
        """Return id and text of the rows that are compared, in the order of ids."""
        different, numbers = self._different(read)
        seed = self.plan.hasher.seed
        sample = DrawRate.of(seed, sample_size, numbers.different)
        among_size = max(OTHER_ROWS, sample_size)
        among = DrawRate.of(seed + 1, among_size, numbers.different)
        near, sample = self._near(different, sample, numbers)
        chosen = near.union(different.where(among.has()).select("id")).distinct()
        return self._collected(chosen, sample, among, numbers)

    def _different(self, read: int) -> tuple[DataFrame, RowNumbers]:
        """Return the ids of different rows with shingles, and the numbers of all `read` rows."""
        kind = self.frame.schema["id"].dataType.simpleString()
        task = PrintTask(self.plan, draw_hash_numbers(), draw_fingerprint_key())
        prints = self.frame.mapInArrow(task, f"id {kind}, low long, high long")
        rows_by_print = self.persisted(
            prints.groupBy("low", "high").agg(
                F.min("id").alias("id"), F.count("*").alias("rows")
            )
        )
        empty_rows = rows_by_print.where("low IS NULL").first()
        empty = 0 if empty_rows is None else int(empty_rows["rows"])
        different = rows_by_print.where("low IS NOT NULL").select("id")
        return different, RowNumbers(read, empty, different.count())

    def _near(
        self, different: DataFrame, sample: DrawRate, numbers: RowNumbers
    ) -> tuple[DataFrame, DrawRate]:
        """Return the different rows near to the sample, and the sample that is used."""
        ids = different.where(sample.has())
        sampled = self.frame.join(F.broadcast(ids), "id").withColumn(
            "hash", sample.hash()
        )
        table = sampled.orderBy("hash", "id").toArrow()
        least = float(edges_of(self.plan.threshold)[0])
        limits = NearLimits(MOST_PAIRS, LEAST_SAMPLE, MOST_CROWD)
        task = NearTask(self.plan, table, least, limits, secrets.randbits(64))
        pairs = self._pairs(self.frame, different, task)
        copies = numbers.read - numbers.empty - numbers.different
        if pairs.used > pairs.limit and copies:
            # The limit counts copies. Their texts are left out before the join.
            frame = self.frame.join(different, "id", "left_semi")
            pairs = self._pairs(frame, different, task)
        used = pairs.used
        near = pairs.frame.where(F.col("place") < used).select("id")
        if used > pairs.limit or (
            int(pairs.counts[:used].sum()) > MOST_CROWD
            and near.distinct().count() > MOST_CROWD
        ):
            raise OverflowError(
                f"the least sample, of {used} rows, is near to more than {MOST_CROWD} rows, which "
                "the driver would collect: use a higher threshold or larger shingles, or check a "
                "part of the rows"
            )
        if used < len(table):
            hashes = table.column("hash").to_numpy()
            sample = sample._replace(limit=int(hashes[used]))
        return near, sample

    def _pairs(
        self, frame: DataFrame, different: DataFrame, task: NearTask
    ) -> PairsOfSample:
        """Return the pairs of the sample with the different ones of some rows."""
        kind = self.frame.schema["id"].dataType.simpleString()
        marked_ids = different.withColumn("is different", F.lit(True))
        returned = self.persisted(
            frame.mapInArrow(task, f"place long, id {kind}")
            .join(marked_ids, "id", "left")
            .where("id IS NULL OR `is different`")
            .select("place", "id")
        )
        counts = np.zeros(len(task.sample), np.int64)
        limit = len(counts)
        figures = returned.groupBy("place").agg(
            F.count("id").alias("pairs"), F.count("*").alias("rows")
        )
        for row in figures.collect():
            if row["pairs"]:
                counts[row["place"]] = row["pairs"]
            if row["pairs"] < row["rows"]:
                limit = min(limit, row["place"])
        return PairsOfSample(returned.where("id IS NOT NULL"), counts, limit)

    def _collected(
        self,
        chosen: DataFrame,
        sample: DrawRate,
        among: DrawRate,
        numbers: RowNumbers,
    ) -> tuple[Table, DrawnRows]:
        """Return the chosen rows, and how they were drawn."""
        drawn = self.frame.join(F.broadcast(chosen), "id").select(
            "id",
            "text",
            sample.has().alias("is sampled"),
            among.has().alias("is among"),
        )
        table = drawn.orderBy("id").toArrow()
        return table, DrawnRows(
            _rows_where(table, "is sampled"),
            _rows_where(table, "is among"),
            sample.rate,
            among.rate,
            numbers,
        )


def _rows_where(table: Table, name: str) -> Int64Array:
    """Return the rows of a table in which a column is true."""
    return np.flatnonzero(table.column(name).to_numpy()).astype(np.int64)
