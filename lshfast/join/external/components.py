"""Connected components of more rows than fit into memory, by shared buckets or by links.

A union-find takes 8 bytes a row, however many links there are. Links between more rows are
contracted in files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.join.external.bucket_runs import BucketRuns
from lshfast.join.external.contraction import LEAST_CONTRACTION, contract_links
from lshfast.kernels.sets import Components, components

# Records that are processed at once outside of kernels.
PIECE_RECORDS = 1 << 16

# Links that are reduced to a spanning forest at a time.
PIECE_LINKS = 1 << 20

# Bytes of the union-find for each row, and of the arrays that find the rows of components in it.
UNION_BYTES = 24


def links(batches: Iterable[UInt64Array]) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield (left, right) of consecutive records with one first word: a chain for each bucket."""
    last = np.empty((0, 2), np.uint64)
    for batch in batches:
        for part in parts_of_rows(len(batch), PIECE_RECORDS):
            piece = np.concatenate([last, batch[part]])
            same = np.flatnonzero(piece[1:, 0] == piece[:-1, 0])
            rows = piece[:, 1].astype(np.int64)
            yield rows[same], rows[same + 1]
            last = piece[-1:].copy()


def links_of_runs(
    runs: BucketRuns, memory: int
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield links (left, right) of the rows that share a bucket, band by band.

    The records, which are settled, are merged in this memory and then removed.
    """
    for band in range(len(runs)):
        yield from links(runs.records(band, memory))
        runs.forget(band)


def components_of_runs(runs: BucketRuns, memory: int) -> Int64Array:
    """Return the smallest row that each row is joined to by a chain of shared buckets, int64 (n,).

    The memory is as for `links_of_runs`. A row takes 8 more bytes.
    """
    graph = Components(runs.n)
    for earlier_rows, later_rows in links_of_runs(runs, memory):
        graph.join(earlier_rows, later_rows)
    return np.asarray(graph.finished(), np.int64)


def components_of_links(
    pairs: Iterable[tuple[Int64Array, Int64Array]], rows: int, memory: int
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the rows that occur in links, ascending, and the label of each.

    The label is the smallest row of the component.

    If the union-find of all rows does not fit into the memory, the links are contracted in files of
    a temporary folder, in at least `LEAST_CONTRACTION` bytes.
    """
    if UNION_BYTES * rows <= memory:
        graph = Components(rows)
        for first_ends, second_ends in pairs:
            graph.join(first_ends, second_ends)
        smallest_rows = np.asarray(graph.finished(), np.int64)
        linked_rows = np.flatnonzero(
            np.bincount(smallest_rows, minlength=1)[smallest_rows] > 1
        )
        yield linked_rows, smallest_rows[linked_rows]
        return
    with TemporaryFolder() as folder:
        yield from contract_links(
            pairs, folder, "links", max(memory, LEAST_CONTRACTION)
        )


def components_of_ends(
    first_ends: Int64Array, second_ends: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Return the different ends of links, ascending, and the smallest end of each component."""
    nodes, places = np.unique(np.stack([first_ends, second_ends]), return_inverse=True)
    first_ends, second_ends = places.reshape(2, -1).astype(np.int64)
    return nodes, nodes[components(first_ends, second_ends, len(nodes))]


def spanning_links(
    pairs: Iterable[tuple[Int64Array, Int64Array]], rows: int, memory: int
) -> Iterator[Int64Array]:
    """Yield links (m, 2) with the same components, from rows to the smallest of their component.

    They are a spanning forest, or one of each portion of the links if the union-find of all rows
    does not fit into the memory.
    """
    if UNION_BYTES * rows <= memory:
        for linked_rows, labels in components_of_links(pairs, rows, memory):
            yield _not_to_themselves(linked_rows, labels)
        return
    portion: list[tuple[Int64Array, Int64Array]] = []
    count = 0
    for first_ends, second_ends in pairs:
        portion.append((first_ends, second_ends))
        count += len(first_ends)
        if count >= PIECE_LINKS:
            yield _spanning(portion)
            portion = []
            count = 0
    if count:
        yield _spanning(portion)


def _spanning(pairs: list[tuple[Int64Array, Int64Array]]) -> Int64Array:
    ends = map(np.concatenate, zip(*pairs, strict=True))
    return _not_to_themselves(*components_of_ends(*ends))


def _not_to_themselves(nodes: Int64Array, labels: Int64Array) -> Int64Array:
    is_other = nodes != labels
    return np.stack([nodes[is_other], labels[is_other]], axis=1)
