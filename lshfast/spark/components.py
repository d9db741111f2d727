"""Connected components of rows that share buckets: on the driver, or on the cluster.

On the cluster, edges are contracted to stars by the alternating large-star and small-star
operations of R. Kiveris, S. Lattanzi, V. Mirrokni, V. Rastogi, S. Vassilvitskii, "Connected
Components in MapReduce and Beyond", SoCC 2014. An edge (u, v) has u > v. Each operation keeps the
components and does not add edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array
from lshfast.join.banded import number_buckets
from lshfast.join.external.components import components_of_ends
from lshfast.kernels import grouping as kernels
from lshfast.spark.binary_columns import array_of_binary
from lshfast.spark.sql import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Components:
    """The label of each node's component (node, label), and the number of nodes if known."""

    labels: DataFrame
    nodes: int | None


def components_of_buckets(texts: DataFrame, bands: int) -> Components:
    """Return the components of two or more texts, given their bucket keys (node, keys)."""
    table: Any = texts.select("node", "keys").toArrow()
    parts = [
        array_of_binary(chunk, np.uint64)
        for chunk in table.column("keys").chunks
        if len(chunk)
    ]
    keys = np.concatenate([np.empty((0, bands), np.uint64), *parts])
    buckets, counts = number_buckets(keys, int64_range(len(keys)), 1)
    _, first, members, sizes = np.unique(
        kernels.join_buckets(buckets, counts),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    meeting = np.flatnonzero(sizes[members] > 1)
    nodes = table.column("node").to_numpy()
    return _from_driver(
        texts.sparkSession, nodes[meeting], nodes[first[members[meeting]]]
    )


def components_of_records(
    session: SparkSession, keys: Int64Array, nodes: Int64Array
) -> Components:
    """Return the components of nodes that have a key in common."""
    order = np.argsort(keys, kind="stable")
    is_next = keys[order[1:]] == keys[order[:-1]]
    left = nodes[order[:-1][is_next]]
    right = nodes[order[1:][is_next]]
    return components_of_links(session, left, right)


def components_of_links(
    session: SparkSession, left: Int64Array, right: Int64Array
) -> Components:
    """Return the components of links between nodes, which are on the driver."""
    nodes, labels = components_of_ends(left, right)
    return _from_driver(session, nodes, labels)


def components_of_edges(edges: DataFrame, driver_records: int) -> Components:
    """Return the components of edges (u, v); of more than `driver_records`, on the cluster.

    Rows that share several buckets have an edge for each, of which one is enough.
    """
    with _persisted(edges) as edges:
        if edges.count() <= driver_records:
            return components_on_driver(edges)
        with _persisted(edges.distinct()) as different:
            if different.count() <= driver_records:
                return components_on_driver(different)
            return Components(components_on_cluster(different), None)


@contextmanager
def _persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Yield a table that is kept while the block runs."""
    kept_rows = frame.persist()
    try:
        yield kept_rows
    finally:
        kept_rows.unpersist()


def components_on_driver(edges: DataFrame) -> Components:
    """Collect edges, and find their components."""
    table: Any = edges.toArrow()
    left, right = (table.column(name).to_numpy() for name in ("u", "v"))
    return components_of_links(edges.sparkSession, left, right)


def _from_driver(
    session: SparkSession, nodes: Int64Array, labels: Int64Array
) -> Components:
    pa = optional("pyarrow", "spark")
    return Components(
        session.createDataFrame(pa.table({"node": nodes, "label": labels})), len(nodes)
    )


def components_on_cluster(edges: DataFrame) -> DataFrame:
    """Contract different edges (u, v) to stars; return the smallest node of each component.

    Each round is checkpointed: in the checkpoint directory of the context if one is set, or else on
    the executors.
    """
    before = None
    while True:
        edges = _checkpointed(_small_star(_large_star(edges)))
        figures = edges.agg(
            F.count("*"), F.sum(F.xxhash64("u", "v").cast("decimal(38,0)"))
        ).collect()[0]
        if figures == before:
            break
        before = figures
    centres = edges.select(
        F.col("v").alias("node"), F.col("v").alias("label")
    ).distinct()
    return edges.select(F.col("u").alias("node"), F.col("v").alias("label")).union(
        centres
    )


def _large_star(edges: DataFrame) -> DataFrame:
    """Connect the larger neighbours of each node to the smallest of the node and its neighbours."""
    both = edges.union(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
    least = both.groupBy("u").agg(F.least(F.col("u"), F.min("v")).alias("least"))
    larger = edges.select(F.col("v").alias("u"), F.col("u").alias("larger"))
    return (
        larger.join(least, "u")
        .select(F.col("larger").alias("u"), F.col("least").alias("v"))
        .distinct()
    )


def _small_star(edges: DataFrame) -> DataFrame:
    """Connect each node and its smaller neighbours to the smallest of these."""
    least = edges.groupBy("u").agg(F.min("v").alias("least"))
    moved = (
        edges.join(least, "u")
        .where("v > least")
        .select(F.col("v").alias("u"), F.col("least").alias("v"))
    )
    return moved.union(least.select("u", F.col("least").alias("v"))).distinct()


def _checkpointed(frame: DataFrame) -> DataFrame:
    context = getattr(frame.sparkSession, "_sc", None)
    if context is not None and context.getCheckpointDir():
        return frame.checkpoint()
    return frame.localCheckpoint()
