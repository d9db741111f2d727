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
from lshfast.quality.run import OTHER_ROWS, DrawnRows, RowNumbers, edges_of
from lshfast.spark.check_tasks import NearTask, PrintTask
from lshfast.spark.tasks import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The hashes by which rows are drawn are below this.
HASHES = 1 << 32

# The most rows near to a sample that are collected. If there are more, as in a crowd of similar
# rows, the last rows of the sample are left out, but never more than to LEAST_SAMPLE of them.
MOST_NEAR = 1 << 18
LEAST_SAMPLE = 64


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
        from pyspark.sql import functions as F

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
        near, sample = self._near(different, sample)
        chosen = (
            near.select("id")
            .union(different.where(among.has()).select("id"))
            .distinct()
        )
        return self._collected(chosen, sample, among, numbers)

    def _different(self, read: int) -> tuple[DataFrame, RowNumbers]:
        """Return the ids of different rows with shingles, and the numbers of all `read` rows."""
        from pyspark.sql import functions as F

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
        self, different: DataFrame, sample: DrawRate
    ) -> tuple[DataFrame, DrawRate]:
        """Return the different rows near to the sample, and the sample that is used."""
        from pyspark.sql import functions as F

        ids = different.where(sample.has())
        sampled = self.frame.join(F.broadcast(ids), "id").withColumn(
            "hash", sample.hash()
        )
        table = sampled.orderBy("hash", "id").toArrow()
        kind = self.frame.schema["id"].dataType.simpleString()
        least = float(edges_of(self.plan.threshold)[0])
        task = NearTask(self.plan, table, least, secrets.randbits(64))
        pairs = self.persisted(
            self.frame.mapInArrow(task, f"place long, id {kind}").join(
                different, "id", "left_semi"
            )
        )
        near_counts = np.zeros(len(table), np.int64)
        for row in pairs.groupBy("place").count().collect():
            near_counts[row["place"]] = row["count"]
        used = _used_rows(near_counts)
        if used < len(table):
            hashes = table.column("hash").to_numpy()
            sample = sample._replace(limit=int(hashes[used]))
        return pairs.where(F.col("place") < used), sample

    def _collected(
        self,
        chosen: DataFrame,
        sample: DrawRate,
        among: DrawRate,
        numbers: RowNumbers,
    ) -> tuple[Table, DrawnRows]:
        """Return the chosen rows, and how they were drawn."""
        from pyspark.sql import functions as F

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


def _used_rows(near_counts: Int64Array) -> int:
    """Return how many rows of a sample are used, given the rows near to each."""
    fitting = int(np.searchsorted(np.cumsum(near_counts), MOST_NEAR, side="right"))
    return max(fitting, min(LEAST_SAMPLE, len(near_counts)))


def _rows_where(table: Table, name: str) -> Int64Array:
    """Return the rows of a table in which a column is true."""
    return np.flatnonzero(table.column(name).to_numpy()).astype(np.int64)
