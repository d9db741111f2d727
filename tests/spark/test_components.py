"""Components of edges, on the driver and on the cluster."""

import numpy as np
import pyarrow as pa
import pytest

from lshfast.spark.components import components_of_buckets, components_of_edges
from tests.shares import share_of


def edges_of(spark, pairs):
    pairs = np.sort(np.array(pairs, np.int64).reshape(-1, 2), axis=1)
    return spark.createDataFrame(pa.table({"u": pairs[:, 1], "v": pairs[:, 0]}))


def labels(found):
    return dict(map(tuple, found.labels.select("node", "label").collect()))


def components_of(pairs):
    """Return the smallest node of the component of each node."""
    label_of = {}
    for node in sorted({node for pair in pairs for node in pair}):
        waiting = [] if node in label_of else [node]
        while waiting:
            reached = waiting.pop()
            if reached not in label_of:
                label_of[reached] = node
                waiting += [u for u, v in pairs if v == reached]
                waiting += [v for u, v in pairs if u == reached]
    return label_of


@pytest.mark.one_case
@pytest.mark.parametrize("driver_records", [0, 1000])
def test_labels_are_the_smallest_nodes(spark, driver_records):
    """Of small graphs, chains and random edges, some of which are there twice; on the cluster, and on the driver."""
    rng = np.random.default_rng(1)
    random = rng.integers(0, 400, (300, 2))
    nodes = np.arange(1000, 1000 + share_of(200))
    chain = np.stack([nodes[:-1], nodes[1:]], axis=1)
    large = (
        np.concatenate([random[random[:, 0] != random[:, 1]], chain]) * 2**53 - 2**60
    )
    pairs = [(1, 2), (3, 2), (3, 9), (-7, 5), (5, 8), (8, -7), *large.tolist()]
    found = components_of_edges(edges_of(spark, pairs + pairs[:50]), driver_records)
    expected = components_of(pairs)
    assert labels(found) == expected
    assert {node: expected[node] for node in (9, 8)} == {9: 1, 8: -7}
    assert found.nodes == (len(expected) if driver_records else None)


@pytest.mark.parametrize("rows", [0, 6])
def test_texts_that_share_buckets(spark, rows):
    empty = 2**64 - 1
    keys = np.array(
        [[1, 9], [2, 9], [9, 1], [2, 8], [empty, 7], [empty, 7]], np.uint64
    )[:rows]
    texts = [(5 - row, bytearray(own.tobytes())) for row, own in enumerate(keys)]
    frame = spark.createDataFrame(texts, "node long, keys binary").repartition(3)
    found = components_of_buckets(frame, 2)
    groups = {}
    for node, label in labels(found).items():
        groups.setdefault(label, set()).add(node)
    assert sorted(map(sorted, groups.values())) == ([[0, 1], [2, 4, 5]] if rows else [])
    assert all(label in group for label, group in groups.items())
    assert found.nodes == sum(map(len, groups.values()))


def test_equal_edges_are_counted_once(spark):
    """Ten buckets give the same edge; the driver joins edges of which few differ."""
    edges = edges_of(spark, [(1, 2), (2, 3)] * 10)
    for driver_records in (20, 2):
        found = components_of_edges(edges, driver_records)
        assert labels(found) == {1: 1, 2: 1, 3: 1}
        assert found.nodes == 3
