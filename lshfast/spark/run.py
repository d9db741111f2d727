"""The stages of a run on a cluster.

1. *Sketch.* Each text gets its bucket keys and a keyed hash of its bytes. Of the rows with equal
   texts, one represents all: the one that would be kept.
2. *Sets.* Rows that share a bucket are connected. No row of one connected component shares a bucket
   with a row of another one, so no pair and no group contains rows of both.
3. *Engine.* The texts of components of two or more rows are read again. The rows of a component are
   sent to one task, which runs the engine of one machine on them. So the groups and pairs are those
   of one machine.

Of the rows with one exact key, only the preferred one takes part in the steps after the sketch.
Earlier rows are connected with the new rows that share a bucket with them (`earlier`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lshfast._common.run_key import draw_hash_numbers
from lshfast._engine.account.findings import summary_of
from lshfast._engine.account.report import Summary
from lshfast._engine.clock import Stage
from lshfast._engine.pairs.listed import lists_copies
from lshfast._engine.plan import Plan
from lshfast.join.comparison import Comparison
from lshfast.shingling import CommonShingles
from lshfast.spark.components import (
    Components,
    components_of_buckets,
    components_of_edges,
)
from lshfast.spark.earlier import (
    EarlierFrame,
    SketchedEarlierRows,
    node_of_earlier,
    with_earlier,
)
from lshfast.spark.exact_keys import (
    KEY,
    KEY_HIGH,
    KEY_LOW,
    TIE,
    window_of_keys,
)
from lshfast.spark.frame_rows import FILE, FrameRows
from lshfast.spark.ids import common_type, refuse_ids
from lshfast.spark.limits import Limits
from lshfast.spark.row_filter import join_by_id
from lshfast.spark.session import running
from lshfast.spark.set_tasks import EngineTask, PairTask
from lshfast.spark.sql import F
from lshfast.spark.tasks import (
    EARLIER,
    EARLIER_ID,
    ENTRY_SIMILARITY,
    ChainTask,
    ContentKey,
    CountTask,
    EntriesTask,
    RecordTask,
    ScreenTask,
    SketchTask,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# The column of the sketched rows that says which of them are removed by their exact keys.
SAME_KEY = "removed by its key"


@dataclass(frozen=True)
class TextSets:
    """The texts that share a bucket: id and label of their component; at most `number` rows.

    Those of earlier rows are apart: None in a run without.
    """

    frame: DataFrame
    number: int
    of_earlier: TextSets | None = None


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
    earlier: EarlierFrame | None = None
    entries: EntriesTask | None = None
    read_of_files: dict[str, int] = field(default_factory=dict, init=False)
    _persisted_frames: ExitStack = field(default_factory=ExitStack)
    _sketched_earlier: SketchedEarlierRows | None = field(default=None, init=False)
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
            sketched, sets, row_figures = self._match()
            with self._stage("verify"):
                groups_of_texts = self._find_groups(sets)
                pairs = self._sum_figures(groups_of_texts)
            with self._stage("group"):
                rows = self._table_of_rows(sketched, groups_of_texts)
                groups = self._figures_of_rows(rows)
                equal = row_figures["equal"]
                earlier_texts = None
                if self._sketched_earlier is not None:
                    equal -= self._equal_to_removed(sketched, groups_of_texts)
                    earlier_texts = self._sketched_earlier.figures
        summary = self._summary(
            row_figures,
            **groups,
            copies=equal + pairs["copies"],
            candidates=pairs["candidates"],
            pairs=equal + pairs["pairs"],
            earlier_texts=earlier_texts,
        )
        return rows, summary

    def pairs(self) -> tuple[DataFrame, Summary]:
        """Return all similar pairs, persisted, and the figures; `source.keep` is "first"."""
        with self._running():
            sketched, sets, row_figures = self._match()
            for name in self.source.files:
                self.read_of_files = {
                    row[name]: row["count"]
                    for row in sketched.groupBy(name).count().collect()
                }
            with self._stage("verify"):
                similar_pairs = self._find_pairs(sets)
                compared = self._figures_of_pairs(similar_pairs)
                pairs = self._with_equal_texts(sketched, similar_pairs)
                number = pairs.count()
        equal = row_figures["equal"]
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
        with self._persisted_frames, running(self._session):
            yield

    def _match(self) -> tuple[DataFrame, TextSets, dict[str, int]]:
        """Return the sketched rows, the texts that share a bucket, and figures of the rows."""
        if self.plan.ignore_common is not None:
            with self._stage("count"):
                self._ignore_common(self.plan.ignore_common)
        with self._stage("sketch"):
            sketched = self._sketch()
            row_figures = self._check_rows(sketched)
            if self.earlier is not None:
                sketches = self._persist(self.earlier.sketched(self.plan, self.key))
                self._sketched_earlier = SketchedEarlierRows.of(
                    self.earlier, sketches, self.plan
                )
        with self._stage("match"):
            return (
                sketched,
                self._find_sets(sketched, row_figures["texts"]),
                row_figures,
            )

    def _ignore_common(self, share: float) -> None:
        """Find the shingles in more than this share of the texts, and ignore them."""
        numbers = draw_hash_numbers()
        texts = self.source.frame.select("id", "text")
        parts = texts.mapInArrow(
            CountTask(self.plan, numbers), "token long, texts long"
        )
        counts = self._persist(
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

    def _summary(self, row_figures: dict[str, int], **figures: Any) -> Summary:
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

    def _persist(self, frame: DataFrame) -> DataFrame:
        """Persist a frame until the end of the run."""
        frame = frame.persist()
        self._persisted_frames.callback(frame.unpersist)
        return frame

    def _sketch(self) -> DataFrame:
        """Return each row with its sketch, and with the row that represents its text (`first`)."""
        from pyspark.sql import Window

        rows = self._with_sketches()
        # A row without content represents itself only, and so does one that its key removes.
        is_alone = F.col(self.content).isNull()
        if self.source.exact_key is not None:
            of_key = window_of_keys(self.source.order_of_keys())
            same_key = F.first("id").over(of_key) != F.col("id")
            rows = rows.withColumn(SAME_KEY, same_key)
            is_alone = is_alone | F.col(SAME_KEY)
        first = F.first("id").over(
            Window.partitionBy("low", "high", F.when(is_alone, F.col("id"))).orderBy(
                *self.source.order()
            )
        )
        rows = rows.withColumn("first", first)
        if self.source.exact_key is not None:
            # What becomes of the preferred row with its key becomes of a row.
            rows = rows.withColumn("first", F.first("first").over(of_key))
            if self.entries is not None:
                rows = rows.withColumn(EARLIER, F.first(EARLIER).over(of_key))
        return self._persist(rows)

    def _with_sketches(self) -> DataFrame:
        """Return the columns of the rows without the texts, and their sketches."""
        ties = self.source.exact_key is not None and self.source.by_length
        task = SketchTask(
            self.plan,
            self.key,
            ties=ties,
            exact_key=self.source.exact_key,
            entries=self.entries,
        )
        schema = (
            f"{self._types_of_rows()}, low long, high long, length long, keys binary"
        )
        if self.entries is not None:
            schema += f", {self.entries.schema}"
        if ties:
            schema += f", `{TIE}` long"
        return self.source.frame.mapInArrow(task, schema)

    def _types_of_rows(self) -> str:
        """Return the columns of `returned_columns` with their types."""
        types = {
            name: self.source.type_of(name)
            for name in self.source.frame.columns
            if name not in ("text", KEY)
        }
        if self.source.exact_key is not None:
            types |= {KEY_LOW: "long", KEY_HIGH: "long"}
        return ", ".join(f"`{name}` {kind}" for name, kind in types.items())

    def _check_rows(self, sketched: DataFrame) -> dict[str, int]:
        """Return figures of the rows; raise ValueError for ids and values that cannot be used."""
        full = F.col(self.content).isNotNull()
        is_empty = ~full
        if self.entries is not None:
            is_empty = is_empty & F.col(ENTRY_SIMILARITY).isNull()
        is_first = F.col("first") == F.col("id")
        same_key = self._same_key()
        aggregates = {
            "read": F.count("*"),
            "ids": F.count("id"),
            "different": F.count_distinct("id"),
            "empty": F.count_if(is_empty),
            "texts": F.count_if(full & is_first),
            "equal": F.count_if(full & ~is_first & ~same_key),
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

    def _same_key(self) -> Column:
        """Return whether a row is removed by its exact key."""
        return F.lit(False) if self.source.exact_key is None else F.col(SAME_KEY)

    def _equal_to_removed(self, sketched: DataFrame, groups_of_texts: DataFrame) -> int:
        """Return the number of rows with the bytes of a text that is removed for an earlier row."""
        removed = groups_of_texts.where(F.col(EARLIER).isNotNull())
        removed_texts = removed.select(F.col("id").alias("first"))
        equal = sketched.where((F.col("id") != F.col("first")) & ~self._same_key())
        return equal.join(removed_texts, "first", "left_semi").count()

    def _find_sets(self, sketched: DataFrame, texts: int) -> TextSets:
        """Return the different texts that share a bucket."""
        different = sketched.where("id = first and keys is not null").withColumn(
            "node", F.col("low")
        )
        earlier = self._sketched_earlier
        most_keys = texts * self.plan.bands.bands
        if earlier is None and most_keys <= self.limits.driver_records:
            text_components = components_of_buckets(different, self.plan.bands.bands)
        else:
            records = _records(different.select("node", "keys"))
            if earlier is not None:
                records = records.union(
                    earlier.records(records, most_keys, self.limits.joins)
                )
            text_components = components_of_edges(
                _edges(records), self.limits.driver_records
            )
        # Others have no least agreement.
        screened = self.plan.verify != "none" and self.plan.measure == "jaccard"
        nodes = text_components.nodes
        if screened and (nodes is None or nodes > self.limits.set_rows):
            text_components = self._divide(different, text_components)
        sets = (
            different.select("id", "node")
            .join(text_components.labels, "node")
            .select("id", "label")
        )
        if nodes is None or nodes > self.limits.broadcast_rows:
            sets = self._persist(sets)  # for the filter, and for the join
        number = sets.count() if nodes is None else nodes
        if earlier is None:
            return TextSets(sets, number)
        of_earlier = self._persist(earlier.sets(text_components.labels))
        return TextSets(sets, number, TextSets(of_earlier, of_earlier.count()))

    def _divide(self, different: DataFrame, text_components: Components) -> Components:
        """Divide large components: connect only rows of a bucket with enough equal slots."""
        sizes = text_components.labels.groupBy("label").count()
        large = self._persist(sizes.where(F.col("count") > self.limits.set_rows))
        number = large.agg(F.sum("count")).collect()[0][0]
        if number is None:
            return text_components
        nodes = text_components.labels.join(large, "label", "left_semi").select("node")
        coded = self._sketch_codes(
            self.source.frame, different, nodes, number, F.col("low")
        )
        earlier = self._sketched_earlier
        if earlier is not None:
            frame = earlier.rows.frame
            texts = earlier.one_of_each_text()
            node = node_of_earlier(F.col("low"))
            coded = coded.union(self._sketch_codes(frame, texts, nodes, number, node))
        edges = _edges(_records(coded), ScreenTask(self._least()))
        divided = components_of_edges(edges, self.limits.driver_records)
        labels = (
            text_components.labels.join(large, "label", "left_anti")
            .select("node", "label")
            .union(divided.labels)
        )
        return Components(labels, text_components.nodes)

    def _sketch_codes(
        self,
        frame: DataFrame,
        rows: DataFrame,
        nodes: DataFrame,
        number: int,
        node: Column,
    ) -> DataFrame:
        """Return node, keys and codes of the rows of a frame with at most `number` nodes."""
        ids = rows.join(nodes, "node", "left_semi").select("id")
        kind = frame.schema["id"].dataType.simpleString()
        schema = (
            f"id {kind}, low long, high long, length long, keys binary, codes binary"
        )
        texts = join_by_id(
            frame.select("id", "text"), ids, number, self.limits.joins, "left_semi"
        )
        task = SketchTask(self.plan, self.key, codes=True)
        coded = texts.mapInArrow(task, schema)
        return coded.select(node.alias("node"), "keys", "codes")

    def _least(self) -> int:
        """Return the least number of equal slots of a similar pair."""
        comparison = Comparison(self.plan.threshold, self.plan.verify == "exact")
        return comparison.least_shared(self.plan.hasher.num_perm)

    def _find_groups(self, sets: TextSets) -> DataFrame:
        """Return the removed texts, and the figures of each batch in a row without id."""
        kind = self.source.type_of("id")
        counts = "candidates long, pairs long, copies long"
        schema = f"id {kind}, kept {kind}, similarity double, {counts}"
        if self.earlier is not None:
            schema += f", `{EARLIER}` {self.earlier.type_of_keys}, `{EARLIER_ID}` long"
        return self._persist(
            self._texts_of(sets).mapInArrow(self._group_task(), schema)
        )

    def _group_task(self) -> EngineTask:
        return EngineTask(self.plan, self.source.keep)

    def _texts_of(self, sets: TextSets) -> DataFrame:
        """Return the texts of sets; those of a set are neighbours, in the order of their ids."""
        limits = self.limits.joins
        frame = self.source.frame.drop(FILE, KEY)
        texts = join_by_id(frame, sets.frame, sets.number, limits, "inner")
        order: list[str | Column] = ["label", "id"]
        if self.earlier is not None and sets.of_earlier is not None:
            frame = self.earlier.frame
            of_earlier = sets.of_earlier
            earlier_texts = join_by_id(
                frame, of_earlier.frame, of_earlier.number, limits, "inner"
            )
            texts = with_earlier(texts, earlier_texts)
            # Earlier rows, which have no id, come last.
            order = ["label", F.col("id").isNull(), "id", EARLIER, EARLIER_ID]
        return texts.repartition("label").sortWithinPartitions(*order)

    def _sum_figures(self, groups: DataFrame) -> dict[str, int]:
        names = "candidates", "pairs", "copies"
        sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names]
        return dict(groups.agg(*sums).collect()[0].asDict())

    def _find_pairs(self, sets: TextSets) -> DataFrame:
        """Return all similar pairs of different texts; rows without ids count candidates."""
        kind = self.source.type_of("id")
        schema = f"id_i {kind}, id_j {kind}, similarity double, copy boolean, candidates long"
        return self._persist(self._texts_of(sets).mapInArrow(self._pair_task(), schema))

    def _pair_task(self) -> PairTask:
        return PairTask(self.plan)

    def _figures_of_pairs(self, similar_pairs: DataFrame) -> dict[str, int]:
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

    def _table_of_rows(
        self, sketched: DataFrame, groups_of_texts: DataFrame
    ) -> DataFrame:
        """Return the table of all rows, which stays persisted after the run."""
        from pyspark.sql import Window

        removed = groups_of_texts.where("id is not null").withColumnRenamed(
            "id", "first"
        )
        rows = sketched.join(removed, "first", "left")
        same_key = self._same_key()
        kept_id = F.coalesce("kept", "first")
        kept_key = kept_id
        kept_by = [kept_key]
        is_earlier = F.lit(False)
        similarities = [F.col("similarity"), F.lit(1.0)]
        earlier = self.earlier or self.entries
        if earlier is not None:
            type_of_ids = self.source.type_of("id")
            kind = common_type(type_of_ids, earlier.type_of_keys)
            is_earlier = F.col(EARLIER).isNotNull()
            kept_key = F.coalesce(F.col(EARLIER).cast(kind), kept_id.cast(kind))
            kept_by = [kept_key, is_earlier]
        if self.entries is not None:
            similarities.insert(0, F.col(ENTRY_SIMILARITY))
        similarity = F.when(same_key, 1.0).otherwise(F.coalesce(*similarities))
        group = kept_key  # the first row of its group
        if self.source.keep != "first" or earlier is not None:
            group = F.min("id").over(Window.partitionBy(*kept_by))
        columns = {
            "keep": (F.col("id") == kept_id) & ~is_earlier,
            "kept_key": kept_key,
            "similarity": similarity,
            "group": group,
        }
        if earlier is not None:
            columns["earlier"] = is_earlier
        if self.source.exact_key is not None:
            columns["same_key"] = same_key
        named = [column.alias(name) for name, column in columns.items()]
        shown = [] if self.earlier is None else self.earlier.columns_of_result
        return rows.select("id", *named, *self.source.files, *shown).persist()

    def _figures_of_rows(self, rows: DataFrame) -> dict[str, int]:
        """Return the figures of the table of all rows by their names in the summary."""
        for name in ("earlier", "same_key"):
            if name not in rows.columns:
                rows = rows.withColumn(name, F.lit(False))
        sizes = rows.groupBy("kept_key", "earlier").agg(
            F.count("*").alias("rows"),
            F.count_if("keep").alias("kept"),
            F.count_if("same_key").alias("same_key"),
        )
        size = F.when(~F.col("earlier"), F.col("rows"))
        figures = {
            "kept": F.sum("kept"),
            "removed": F.sum(F.col("rows") - F.col("kept")),
            "groups": F.count_if(size > 1),
            "largest_group": F.max(size),
            "earlier": F.sum(
                F.when(F.col("earlier"), F.col("rows") - F.col("same_key"))
            ),
            "same_key": F.sum("same_key"),
        }
        row = sizes.agg(
            *(
                F.coalesce(value, F.lit(0)).alias(name)
                for name, value in figures.items()
            )
        ).collect()[0]
        return dict(row.asDict())


def _records(rows: DataFrame) -> DataFrame:
    """Return a record for each band of rows, which have node, keys, and codes if they have them."""
    has_codes = "codes" in rows.columns
    schema = "key long, node long" + (", codes binary" if has_codes else "")
    return rows.mapInArrow(RecordTask(), schema)


def _edges(records: DataFrame, screen: ScreenTask | None = None) -> DataFrame:
    """Return edges that connect the rows of each bucket, or the similar ones of them."""
    by_bucket = records.repartition("key").sortWithinPartitions("key")
    return by_bucket.mapInArrow(screen or ChainTask(), "u long, v long")
