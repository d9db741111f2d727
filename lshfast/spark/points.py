"""The stages of a run over vectors on a cluster.

They are those of `Run`, and these differ:

1. *Sketch.* Only hashes of the vectors are computed, by which equal ones are recognized.
2. *Sets.* The buckets are chosen as on one machine, from the number of different vectors and the
   distances of the same random pairs of them. Rows that share a bucket, and whose codes are near,
   are connected. All others are dissimilar on one machine, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.types import Float64Array, Int64Array
from lshfast._items.buckets import BucketPlan, plan_buckets, sampled_places
from lshfast._items.items import METRICS
from lshfast._items.measures import PointPlan
from lshfast.index.neighbors.points import PointFormat
from lshfast.spark.components import (
    Components,
    components_of_edges,
    components_of_links,
)
from lshfast.spark.point_tasks import (
    KeyTask,
    MarkTask,
    NearCodesTask,
    PointGroupTask,
    PointPairTask,
    SampledPairsTask,
    near_nodes,
)
from lshfast.spark.run import Run, TextSets
from lshfast.spark.sql import F
from lshfast.spark.tasks import RecordTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# `monotonically_increasing_id` numbers the rows of a partition from its number times 2**33.
PARTITION_BITS = 33

# The type of the coordinates, by the type of the column.
DTYPES = {"array<float>": "float32", "array<double>": "float64"}


@dataclass
class VectorRun(Run):
    """One run over vectors on a cluster."""

    plan: PointPlan  # type: ignore[assignment]
    _format: PointFormat | None = field(default=None, init=False)
    _buckets: BucketPlan | None = field(default=None, init=False)

    content = "width"

    def _with_sketches(self) -> DataFrame:
        task = MarkTask(self.plan, self.key, self.source.exact_key)
        types = self._types_of_rows()
        schema = f"{types}, low long, high long, length long, width long"
        return self.source.frame.mapInArrow(task, schema)

    def _check_rows(self, sketched: DataFrame) -> dict[str, int]:
        """Return figures of the rows as `Run` does; vectors of several lengths raise ValueError."""
        figures = super()._check_rows(sketched)
        vectors = (
            sketched.where("width is not null").select("id", "width").orderBy("id")
        )
        first = vectors.first()
        width = 1 if first is None else first["width"]
        other = vectors.where(F.col("width") != width).first()
        if first is not None and other is not None:
            raise ValueError(
                f"the vector with id {other['id']!r} has {other['width']} coordinates, not "
                f"{width} as the one with id {first['id']!r}"
            )
        metric = METRICS.get(self.plan.measure, self.plan.measure)
        dtype = DTYPES[self.source.type_of("text")]
        self._format = PointFormat(metric, width, dtype, None)
        return figures

    def _find_sets(self, sketched: DataFrame, texts: int) -> TextSets:
        """Return the different vectors with near ones."""
        assert self._format is not None
        different = sketched.where("id = first and width is not null").select(
            "id", F.col("low").alias("node")
        )
        distances = self._sampled_distances(different, texts)
        buckets = plan_buckets(self._format, self.plan, texts, distances)
        self._buckets = buckets
        if not texts:
            return TextSets(different.withColumnRenamed("node", "label"), 0)
        reached = buckets.probability(self.plan.distance_of(self._format))
        self.plan = replace(self.plan, bands=buckets.bands, reached=reached)
        task = KeyTask(self.plan, self._format, buckets, self.key)
        schema = f"id {self.source.type_of('id')}, node long, keys binary, codes binary"
        # Copies are left out after the vectors, which are not shuffled for it.
        copies = sketched.where("id != first").select("id")
        keyed = (
            self.source.frame.select("id", "text")
            .mapInArrow(task, schema)
            .join(copies, "id", "left_anti")
            .select("node", "keys", "codes")
        )
        components = self._components(keyed, buckets, texts)
        labels = components.labels
        sets = different.join(labels, "node").select("id", "label")
        if components.nodes is not None:
            return TextSets(sets, components.nodes)
        sets = self._persist(sets)
        return TextSets(sets, sets.count())

    def _components(
        self, keyed: DataFrame, buckets: BucketPlan, texts: int
    ) -> Components:
        """Return the components of rows that share a bucket and have near codes."""
        if texts * buckets.bands.bands <= self.limits.driver_records:
            table: Any = keyed.toArrow()
            return components_of_links(self._session, *near_nodes(table, buckets.most))
        records = (
            keyed.mapInArrow(RecordTask(), "key long, node long, codes binary")
            .repartition("key")
            .sortWithinPartitions("key")
        )
        edges = records.mapInArrow(NearCodesTask(buckets.most), "u long, v long")
        return components_of_edges(edges, self.limits.driver_records)

    def _sampled_distances(self, different: DataFrame, n: int) -> Float64Array:
        """Return the distances of the random pairs from which one machine chooses the buckets."""
        if n < 2:
            return np.empty(0)
        assert self._format is not None
        places = np.unique(np.concatenate(sampled_places(n, self.plan.seed)))
        sampled_ids = self._ids_at(different, places)
        task = SampledPairsTask(self.plan, self._format, n)
        distances = (
            self.source.frame.select("id", "text")
            .join(F.broadcast(sampled_ids), "id")
            .select("place", "text")
            .repartition(1)
            .mapInArrow(task, "distance double")
        )
        table = distances.toArrow()
        return np.asarray(table.column("distance").to_numpy(), np.float64)

    def _ids_at(self, different: DataFrame, places: Int64Array) -> DataFrame:
        """Return the ids at some places in the order of ids: id and place."""
        pa = optional("pyarrow", "spark")
        ordered = self._persist(
            different.select("id")
            .repartitionByRange("id")
            .sortWithinPartitions("id")
            .select("id", F.monotonically_increasing_id().alias("number"))
        )
        part = F.shiftright("number", PARTITION_BITS).alias("part")
        sizes = {
            row["part"]: row["count"] for row in ordered.groupBy(part).count().collect()
        }
        parts = np.array(sorted(sizes), np.int64)
        counts = np.array([sizes[number] for number in parts.tolist()], np.int64)
        starts = np.cumsum(counts, dtype=np.int64) - counts
        of_place = np.searchsorted(starts, places, "right") - 1
        numbers = (parts[of_place] << PARTITION_BITS) + places - starts[of_place]
        wanted = self._session.createDataFrame(
            pa.table({"number": numbers, "place": places})
        )
        return ordered.join(F.broadcast(wanted), "number").select("id", "place")

    def _group_task(self) -> PointGroupTask:
        assert self._format is not None
        assert self._buckets is not None
        return PointGroupTask(
            self.plan, self.source.keep, format=self._format, buckets=self._buckets
        )

    def _pair_task(self) -> PointPairTask:
        assert self._format is not None
        assert self._buckets is not None
        return PointPairTask(self.plan, format=self._format, buckets=self._buckets)
