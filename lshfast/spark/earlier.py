"""Earlier rows of a run on a cluster: new rows are compared with them, and they are never removed.

Only the buckets of new rows are looked at: an earlier row that shares no bucket with a new one is
read once, and is not shuffled. The others go to the sets of these new rows.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lshfast._engine.account.earlier import EarlierFigures
from lshfast._engine.earlier_texts import MOST_SIMILAR_ROWS
from lshfast._engine.plan import Plan
from lshfast.spark.row_filter import JoinLimits, join_by_id
from lshfast.spark.sql import F
from lshfast.spark.tasks import (
    EARLIER,
    EARLIER_ID,
    ContentKey,
    RecordTask,
    SketchTask,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from typing_extensions import Self


@dataclass(frozen=True)
class EarlierFrame:
    """The earlier rows of a run.

    Attributes
    ----------
    frame : DataFrame
        Its columns are EARLIER, the keys, which need not be different; text; and id, a hash of
        both.
    shown : bool
        Whether the result has the column EARLIER_ID.
    """

    frame: DataFrame
    shown: bool = False

    @classmethod
    def of(cls, ids_and_texts: DataFrame, shown: bool = False) -> Self:
        """Return the rows of a frame with the columns id and text."""
        # With a secret seed, nobody can write rows that have one hash.
        seed = F.lit(secrets.randbits(63))
        frame = ids_and_texts.select(
            F.xxhash64(seed, "id", "text").alias("id"),
            F.col("id").alias(EARLIER),
            "text",
        )
        return cls(frame, shown)

    @property
    def columns_of_result(self) -> list[str]:
        """The columns of the result for those who show the texts of earlier rows."""
        return [EARLIER_ID] if self.shown else []

    @property
    def type_of_keys(self) -> str:
        """The type of the keys as Spark writes it in a schema."""
        return str(self.frame.schema[EARLIER].dataType.simpleString())

    def with_texts(self, removed: DataFrame, name: str) -> DataFrame:
        """Add the texts of the earlier rows for which rows are removed, as a column."""
        texts = self.frame.select(
            F.col("id").alias(EARLIER_ID), F.col("text").cast("string").alias(name)
        )
        wanted = removed.select(EARLIER_ID).distinct()
        texts = texts.join(wanted, EARLIER_ID, "left_semi").dropDuplicates([EARLIER_ID])
        return removed.join(texts, EARLIER_ID, "left")

    def sketched(self, plan: Plan, key: ContentKey) -> DataFrame:
        """Return the sketches of the rows: id, EARLIER, node and keys, null without shingles.

        Rows with equal texts have one node, and it is not that of a new row.
        """
        task = SketchTask(plan, key, named_by=EARLIER, named_as="against: ")
        schema = (
            f"id long, `{EARLIER}` {self.type_of_keys}, low long, high long, length long, "
            "keys binary"
        )
        return self.frame.mapInArrow(task, schema).select(
            "id", EARLIER, node_of_earlier(F.col("low")).alias("node"), "keys"
        )


@dataclass(frozen=True)
class SketchedEarlierRows:
    """The earlier rows of a run, and their sketches, which are persisted."""

    rows: EarlierFrame
    sketches: DataFrame
    figures: EarlierFigures

    @classmethod
    def of(cls, rows: EarlierFrame, sketches: DataFrame, plan: Plan) -> Self:
        """Return rows with their sketches; raise ValueError for keys that are null."""
        counts = sketches.agg(
            F.count("*").alias("read"), F.count(EARLIER).alias("keys")
        ).collect()[0]
        nulls = counts["read"] - counts["keys"]
        if nulls:
            raise ValueError(
                f"against: ids must not be null, as they are in {nulls} of the rows"
            )
        return cls(rows, sketches, EarlierFigures(plan.verify, counts["read"]))

    def records(
        self, new_records: DataFrame, most_keys: int, limits: JoinLimits
    ) -> DataFrame:
        """Return key and node of each row in the buckets of new rows, of at most `most_keys`."""
        keys = new_records.select(F.col("key").alias("id")).distinct()
        records = (
            self.sketches.where("keys is not null")
            .select("node", "keys")
            .mapInArrow(RecordTask(), "key long, node long")
            .withColumnRenamed("key", "id")
        )
        shared = join_by_id(records, keys, most_keys, limits, "left_semi")
        return shared.withColumnRenamed("id", "key")

    def one_of_each_text(self) -> DataFrame:
        """Return id and node of one of the rows with each text."""
        return self.sketches.select("id", "node").dropDuplicates(["node"])

    def sets(self, labels: DataFrame) -> DataFrame:
        """Return id and label of the rows whose nodes have labels.

        A new row is compared with its first similar rows, so further copies of a text are left out.
        """
        from pyspark.sql import Window

        copy = F.row_number().over(Window.partitionBy("node").orderBy(EARLIER, "id"))
        return (
            self.sketches.select("id", EARLIER, "node")
            .join(labels, "node")
            .withColumn("copy", copy)
            .where(F.col("copy") <= MOST_SIMILAR_ROWS)
            .select("id", "label")
            .distinct()
        )


def node_of_earlier(low: Column) -> Column:
    """Return the nodes of earlier rows by a hash of their texts."""
    return F.xxhash64(F.lit("earlier"), low)


def with_earlier(new_texts: DataFrame, earlier_texts: DataFrame) -> DataFrame:
    """Return the texts of new rows and of earlier ones, which have no id."""
    kinds = {frame.schema["text"].dataType for frame in (new_texts, earlier_texts)}
    if len(kinds) > 1:
        as_bytes = F.col("text").cast("binary")
        new_texts = new_texts.withColumn("text", as_bytes)
        earlier_texts = earlier_texts.withColumn("text", as_bytes)
    earlier_texts = earlier_texts.withColumnRenamed("id", EARLIER_ID)
    return new_texts.unionByName(earlier_texts, allowMissingColumns=True)
