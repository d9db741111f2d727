"""The stages of a run on a cluster.

1. *Sketch.* Each text gets its bucket keys and a keyed hash of its bytes. Of the rows with equal
   texts, one represents all: the one that would be kept.
2. *Sets.* Rows that share a bucket are connected. No row of one connected component shares a bucket
   with a row of another one, so no pair and no group contains rows of both.
3. *Engine.* The texts of components of two or more rows are read again. The rows of a component are
   sent to one task, which runs the engine of one machine on them. So the groups and pairs are those
   of one machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lshfast._common.run_key import draw_hash_numbers
from lshfast._engine.account.findings import summary_of
from lshfast._engine.account.report import Summary
from lshfast._engine.clock import Stage
from lshfast._engine.pairs.listed import lists_copies
from lshfast._engine.plan import Plan
from lshfast.join.jaccard import least_agreement
from lshfast.shingling import CommonShingles
from lshfast.spark.components import (
    Components,
    components_of_buckets,
    components_of_edges,
)
from lshfast.spark.ids import refuse_ids
from lshfast.spark.row_filter import JoinLimits, join_by_id
from lshfast.spark.session import running
from lshfast.spark.tasks import (
    ChainTask,
    ContentKey,
    CountTask,
    EngineTask,
    PairTask,
    RecordTask,
    ScreenTask,
    SketchTask,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# The column of a run and of its result with the URL of the file of each row, if they are wanted.
FILE = "file of the row"


@dataclass(frozen=True)
class Limits:
    """Sizes from which a run proceeds in another way. The result does not depend on them.

    Attributes
    ----------
    driver_records : int
        Up to so many bucket keys, or samples of passages, of 8 bytes, are collected to the driver,
        which finds the components of rows that share buckets. More keys are sorted on the cluster;
        then up to so many edges between rows, of 16 bytes, are collected. More edges are contracted
        on the cluster.
    set_rows : int
        A component of more texts is divided by comparing their signatures.
    broadcast_rows : int
        If at most so many texts share a bucket with another one, their ids are sent to all
        executors, 60 bytes each. Of more texts, a Bloom filter of 10 bits each is sent.
    filter_bytes : int
        The most bytes of this filter, which the driver holds, and each executor. It has 10 bits a
        text up to 214 million texts. Of 430 million it has 5 bits each, and passes 9 % of the other
        texts instead of 1.2 %; of 860 million, 40 %.

    See Also
    --------
    lshfast.spark.dedup : Remove near-duplicates on Spark.
    lshfast.spark.pairs : Find all similar pairs on Spark.
    """

    driver_records: int = 1 << 24
    set_rows: int = 1 << 16
    broadcast_rows: int = 1 << 20
    filter_bytes: int = 1 << 28

    @property
    def joins(self) -> JoinLimits:
        """Those of joins of texts by id."""
        return JoinLimits(self.broadcast_rows, self.filter_bytes)


@dataclass(frozen=True)
class TextSets:
    """The texts that share a bucket: id and label of their component; at most `number` rows."""

    frame: DataFrame
    number: int


@dataclass(frozen=True)
class FrameRows:
    """The rows of a run.

    Attributes
    ----------
    frame : DataFrame
        Its columns are id and text, value if the rows to keep are chosen by values, and FILE if
        files are counted.
    keep : str or None
        A policy; None to keep the row with the greatest value.
    """

    frame: DataFrame
    keep: str | None

    def type_of(self, name: str) -> str:
        """Return the type of a column as Spark writes it in a schema."""
        return str(self.frame.schema[name].dataType.simpleString())

    @property
    def files(self) -> list[str]:
        """The column of files, if there is one."""
        return [FILE] if FILE in self.frame.columns else []

    def order(self) -> list[Column]:
        """Return the order of preference of rows with equal texts."""
        from pyspark.sql import functions as F

        if self.keep is None:
            return [F.col("value").desc(), F.col("id").asc()]
        return [F.col("id").desc() if self.keep == "last" else F.col("id").asc()]


@dataclass
class Run:
    """One run on a cluster; `result` or `pairs` is called once.

    After `pairs`, `read_of_files` has the number of rows of each file by its URL, if files are
    counted.
    """

    source: FrameRows
    plan: Plan
    key: ContentKey
    limits: Limits
    read_of_files: dict[str, int] = field(default_factory=dict, init=False)
    _held: ExitStack = field(default_factory=ExitStack)
    _stages: dict[str, Stage] = field(default_factory=dict)
    _began: float = field(default_factory=time.perf_counter)

    # The column of the sketches that is null for a row without content.
    content: ClassVar[str] = "keys"

    @property
    def _session(self) -> SparkSession:
        return self.source.frame.sparkSession

    def result(self) -> tuple[DataFrame, Summary]:
        """Return the table of all rows, which is persisted, and the figures."""
        with self._running():
            sketched, sets, row_figures = self._matched()
            with self._stage("verify"):
                groups_of_texts = self._found(sets)
                pairs = self._figures(groups_of_texts)
            with self._stage("group"):
                rows = self._rows(sketched, groups_of_texts)
                groups = self._groups(rows)
        equal = row_figures["read"] - row_figures["empty"] - row_figures["texts"]
        summary = self._summary(
            row_figures,
            kept=groups["kept"],
            removed=groups["removed"],
            copies=equal + pairs["copies"],
            candidates=pairs["candidates"],
            pairs=equal + pairs["pairs"],
            groups=groups["groups"],
            largest_group=groups["largest"],
        )
        return rows, summary

    def pairs(self) -> tuple[DataFrame, Summary]:
        """Return all similar pairs, persisted, and the figures; `source.keep` is "first"."""
        with self._running():
            sketched, sets, row_figures = self._matched()
            for name in self.source.files:
                self.read_of_files = {
                    row[name]: row["count"]
                    for row in sketched.groupBy(name).count().collect()
                }
            with self._stage("verify"):
                similar_pairs = self._similar(sets)
                compared = self._figures_of_pairs(similar_pairs)
                pairs = self._with_equal_texts(sketched, similar_pairs)
                number = pairs.count()
        equal = row_figures["read"] - row_figures["empty"] - row_figures["texts"]
        summary = self._summary(
            row_figures,
            kept=row_figures["read"],
            removed=0,
            copies=equal + compared["copies"],
            candidates=compared["candidates"],
            pairs=number,
            groups=0,
            largest_group=0,
        )
        return pairs, summary

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Configure a run and check its workers; at the end, release its persisted frames."""
        with self._held, running(self._session):
            yield

    def _matched(self) -> tuple[DataFrame, TextSets, dict[str, int]]:
        """Return the sketched rows, the texts that share a bucket, and figures of the rows."""
        if self.plan.ignore_common is not None:
            with self._stage("count"):
                self._ignore_common(self.plan.ignore_common)
        with self._stage("sketch"):
            sketched = self._sketched()
            row_figures = self._checked(sketched)
        with self._stage("match"):
            return sketched, self._sets(sketched, row_figures["texts"]), row_figures

    def _ignore_common(self, share: float) -> None:
        """Find the shingles in more than this share of the texts, and ignore them."""
        from pyspark.sql import functions as F

        numbers = draw_hash_numbers()
        texts = self.source.frame.select("id", "text")
        parts = texts.mapInArrow(
            CountTask(self.plan, numbers), "token long, texts long"
        )
        counts = self._persisted(
            parts.groupBy("token").agg(F.sum("texts").alias("texts"))
        )
        rows = counts.where("token is null").first()
        common = counts.where(
            F.col("token").isNotNull()
            & (F.col("texts") > share * (rows["texts"] if rows else 0))
        )
        tokens = np.array(
            [row["token"] for row in common.select("token").collect()], np.int64
        ).view(np.uint64)
        self.plan = self.plan.ignoring(CommonShingles(numbers, np.sort(tokens)))

    def _summary(self, row_figures: dict[str, int], **figures: int) -> Summary:
        return summary_of(
            self.plan,
            {
                name: Stage(stage.seconds, row_figures["nbytes"])
                for name, stage in self._stages.items()
            },
            time.perf_counter() - self._began,
            read=row_figures["read"],
            rejected=0,
            empty=row_figures["empty"],
            **figures,
        )

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._stages[name] = Stage(time.perf_counter() - start, 0)

    def _persisted(self, frame: DataFrame) -> DataFrame:
        """Persist a frame until the end of the run."""
        frame = frame.persist()
        self._held.callback(frame.unpersist)
        return frame

    def _sketched(self) -> DataFrame:
        """Return each row with its sketch, and with the row that represents its text (`first`)."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        # A row without content represents itself only.
        id_without_content = F.when(F.col(self.content).isNull(), F.col("id"))
        first = F.first("id").over(
            Window.partitionBy("low", "high", id_without_content).orderBy(
                *self.source.order()
            )
        )
        return self._persisted(self._with_sketches().withColumn("first", first))

    def _with_sketches(self) -> DataFrame:
        """Return the columns of the rows without the texts, and their sketches."""
        task = SketchTask(self.plan, self.key)
        types = self._types_of_rows()
        return self.source.frame.mapInArrow(
            task, f"{types}, low long, high long, length long, keys binary"
        )

    def _types_of_rows(self) -> str:
        """Return the columns of the rows without the texts, with their types."""
        names = [name for name in self.source.frame.columns if name != "text"]
        return ", ".join(f"`{name}` {self.source.type_of(name)}" for name in names)

    def _checked(self, sketched: DataFrame) -> dict[str, int]:
        """Return figures of the rows; raise ValueError for ids and values that cannot be used."""
        from pyspark.sql import functions as F

        full = F.col(self.content).isNotNull()
        aggregates = {
            "read": F.count("*"),
            "ids": F.count("id"),
            "different": F.count_distinct("id"),
            "empty": F.count_if(~full),
            "texts": F.count_if(full & (F.col("first") == F.col("id"))),
            "nbytes": F.coalesce(F.sum("length"), F.lit(0)),
        }
        if self.source.keep is None:
            missing = F.col("value").isNull()
            if self.source.type_of("value") in ("float", "double"):
                missing = missing | F.isnan("value")
            aggregates["missing"] = F.count_if(missing)
        figures: dict[str, int] = (
            sketched.agg(*(value.alias(name) for name, value in aggregates.items()))
            .collect()[0]
            .asDict()
        )
        refuse_ids(sketched, figures)
        if figures.get("missing"):
            raise ValueError(
                f"keep: values must not be missing, as they are in {figures['missing']} of the rows"
            )
        return figures

    def _sets(self, sketched: DataFrame, texts: int) -> TextSets:
        """Return the different texts that share a bucket."""
        from pyspark.sql import functions as F

        different = sketched.where("id = first and keys is not null").withColumn(
            "node", F.col("low")
        )
        if texts * self.plan.bands.bands <= self.limits.driver_records:
            text_components = components_of_buckets(different, self.plan.bands.bands)
        else:
            text_components = components_of_edges(
                self._edges(different.select("node", "keys")),
                self.limits.driver_records,
            )
        # Others have no least agreement.
        screened = self.plan.verify != "none" and self.plan.measure == "jaccard"
        nodes = text_components.nodes
        if screened and (nodes is None or nodes > self.limits.set_rows):
            text_components = self._divided(different, text_components)
        sets = (
            different.select("id", "node")
            .join(text_components.labels, "node")
            .select("id", "label")
        )
        if nodes is None or nodes > self.limits.broadcast_rows:
            sets = self._persisted(sets)  # for the filter, and for the join
        return TextSets(sets, sets.count() if nodes is None else nodes)

    def _edges(self, rows: DataFrame, screen: ScreenTask | None = None) -> DataFrame:
        """Return edges that connect the rows of each bucket, or the similar ones of them."""
        schema = "key long, node long" + (", codes binary" if screen else "")
        records = (
            rows.mapInArrow(RecordTask(), schema)
            .repartition("key")
            .sortWithinPartitions("key")
        )
        return records.mapInArrow(screen or ChainTask(), "u long, v long")

    def _divided(self, different: DataFrame, text_components: Components) -> Components:
        """Divide large components: connect only rows of a bucket with enough equal slots."""
        from pyspark.sql import functions as F

        sizes = text_components.labels.groupBy("label").count()
        large = self._persisted(sizes.where(F.col("count") > self.limits.set_rows))
        number = large.agg(F.sum("count")).collect()[0][0]
        if number is None:
            return text_components
        nodes = text_components.labels.join(large, "label", "left_semi").select("node")
        ids = different.join(nodes, "node", "left_semi").select("id")
        schema = (
            f"id {self.source.type_of('id')}, low long, high long, length long, keys binary, "
            "codes binary"
        )
        task = SketchTask(self.plan, self.key, codes=True)
        texts = join_by_id(
            self.source.frame.select("id", "text"),
            ids,
            number,
            self.limits.joins,
            "left_semi",
        ).mapInArrow(task, schema)
        edges = self._edges(
            texts.select(F.col("low").alias("node"), "keys", "codes"),
            ScreenTask(self._least()),
        )
        divided = components_of_edges(edges, self.limits.driver_records)
        labels = (
            text_components.labels.join(large, "label", "left_anti")
            .select("node", "label")
            .union(divided.labels)
        )
        return Components(labels, text_components.nodes)

    def _least(self) -> int:
        """Return the least number of equal slots of a similar pair."""
        k = self.plan.hasher.num_perm
        plan = self.plan
        if plan.verify == "exact":
            return least_agreement(k, plan.threshold)
        return next(slots for slots in range(k + 1) if slots / k >= plan.threshold)

    def _found(self, sets: TextSets) -> DataFrame:
        """Return the removed texts, and the figures of each batch in a row without id."""
        kind = self.source.type_of("id")
        counts = "candidates long, pairs long, copies long"
        schema = f"id {kind}, kept {kind}, similarity double, {counts}"
        return self._persisted(
            self._texts_of(sets).mapInArrow(self._group_task(), schema)
        )

    def _group_task(self) -> EngineTask:
        return EngineTask(self.plan, self.source.keep)

    def _texts_of(self, sets: TextSets) -> DataFrame:
        """Return the texts of sets; those of a set are neighbours, in the order of their ids."""
        texts = join_by_id(
            self.source.frame.drop(FILE),
            sets.frame,
            sets.number,
            self.limits.joins,
            "inner",
        )
        return texts.repartition("label").sortWithinPartitions("label", "id")

    def _figures(self, groups: DataFrame) -> dict[str, int]:
        from pyspark.sql import functions as F

        names = "candidates", "pairs", "copies"
        sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names]
        return dict(groups.agg(*sums).collect()[0].asDict())

    def _similar(self, sets: TextSets) -> DataFrame:
        """Return all similar pairs of different texts; rows without ids count candidates."""
        kind = self.source.type_of("id")
        schema = f"id_i {kind}, id_j {kind}, similarity double, copy boolean, candidates long"
        return self._persisted(
            self._texts_of(sets).mapInArrow(self._pair_task(), schema)
        )

    def _pair_task(self) -> PairTask:
        return PairTask(self.plan)

    def _figures_of_pairs(self, similar_pairs: DataFrame) -> dict[str, int]:
        from pyspark.sql import functions as F

        candidates = F.coalesce(F.sum("candidates"), F.lit(0)).alias("candidates")
        return dict(
            similar_pairs.agg(candidates, F.count_if("copy").alias("copies"))
            .collect()[0]
            .asDict()
        )

    def _with_equal_texts(
        self, sketched: DataFrame, similar_pairs: DataFrame
    ) -> DataFrame:
        """Add the pairs of rows with equal texts; the result stays persisted after the run.

        The row that represents equal texts can itself be a copy: its tokens are those of an earlier
        row, with another text. All rows with its text are paired with that row.
        """
        from pyspark.sql import functions as F

        earlier = similar_pairs.where("copy").select(
            F.col("id_j").alias("first"), F.col("id_i").alias("earlier")
        )
        equal = (
            sketched.where("id != first")
            .select("id", "first")
            .join(earlier, "first", "left")
        )
        first = F.coalesce("earlier", "first").alias("id_i")
        copies = equal.select(
            first, F.col("id").alias("id_j"), F.lit(1.0).alias("similarity")
        )
        different = similar_pairs.where("id_j is not null").select(
            "id_i", "id_j", "similarity", "copy"
        )
        if not lists_copies(self.plan):
            return different.where("not copy").drop("copy").persist()
        return different.drop("copy").union(copies).persist()

    def _rows(self, sketched: DataFrame, groups_of_texts: DataFrame) -> DataFrame:
        """Return the table of all rows, which stays persisted after the run."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        removed = groups_of_texts.where("id is not null").select(
            F.col("id").alias("first"), "kept", "similarity"
        )
        kept_text = F.coalesce("kept", "first")
        group = F.col("kept_key")  # the first row of its group
        if self.source.keep != "first":
            group = F.min("id").over(Window.partitionBy("kept_key"))
        files = self.source.files
        rows = sketched.select("id", "first", *files).join(removed, "first", "left")
        similarity = F.coalesce("similarity", F.lit(1.0)).alias("similarity")
        rows = rows.select("id", kept_text.alias("kept_key"), similarity, *files)
        keep = (F.col("id") == F.col("kept_key")).alias("keep")
        return rows.select(
            "id", keep, "kept_key", "similarity", group.alias("group"), *files
        ).persist()

    def _groups(self, rows: DataFrame) -> dict[str, int]:
        from pyspark.sql import functions as F

        sizes = rows.groupBy("kept_key").agg(
            F.count("*").alias("rows"), F.count_if("keep").alias("kept")
        )
        figures = {
            "kept": F.sum("kept"),
            "removed": F.sum(F.col("rows") - F.col("kept")),
            "groups": F.count_if(F.col("rows") > 1),
            "largest": F.max("rows"),
        }
        row = sizes.agg(
            *(
                F.coalesce(value, F.lit(0)).alias(name)
                for name, value in figures.items()
            )
        ).collect()[0]
        return dict(row.asDict())
