"""The page of a run on Spark: counts of its table, and some rows with their texts, which the driver
asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast._engine.evidence import (
    COLUMNS,
    LARGE_GROUPS,
    LEAST,
    LEAST_SIMILAR,
    TEXT_CHARACTERS,
    WHOLE_RANGE,
    Evidence,
    ExamplePair,
    InputRows,
    of_large_group,
    places_in_group,
    spread,
)
from lshfast._io.pages.differences import compare
from lshfast.spark.run import FILE
from lshfast.spark.session import configured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SimilarRows(NamedTuple):
    """Two rows that are shown: their similarity, and their ids."""

    similarity: float
    id: Any
    other: Any


def evidence_of_removed(
    found: DataFrame, texts: DataFrame | None, names: Mapping[str, str]
) -> Evidence:
    """Return what the page shows of removed rows.

    Parameters
    ----------
    found : DataFrame
        As `lshfast.spark.dedup` returns it, with the column FILE; persisted.
    texts : DataFrame or None
        The columns id and text of the rows that were read; None to show no texts.
    names : mapping of str to str
        The names of all files, by URL, also of those without rows.
    """
    from pyspark.sql import functions as F

    removed = found.where("not keep").select(
        "similarity", F.col(found.columns[0]).alias("id"), "kept_key", "group"
    )
    one_each = removed.groupBy("group").agg(
        F.min(F.struct("similarity", "id", "kept_key")).alias("pair")
    )
    files = found.groupBy(FILE).agg(
        F.count("*").alias("read"), F.count_if(~F.col("keep")).alias("removed")
    )
    with configured(found.sparkSession), ExitStack() as held:
        sizes = found.groupBy("group").count().where("count > 1").persist()
        held.callback(sizes.unpersist)
        of_size = sizes.groupBy("count").agg(F.count("*").alias("groups"))
        group_sizes = {row["count"]: row["groups"] for row in of_size.collect()}
        counts = {row[FILE]: (row["read"], row["removed"]) for row in files.collect()}
        inputs = [InputRows(name, *counts.get(url, (0, 0))) for url, name in names.items()]
        groups = dict(_largest_groups(removed, sizes))
        return _evidence(
            removed.drop("group"), one_each, group_sizes, groups, texts, inputs, removing=True
        )


def evidence_of_similar(
    found: DataFrame, texts: DataFrame | None, read: Mapping[str, int], names: Mapping[str, str]
) -> Evidence:
    """Return what the page shows of pairs, as `lshfast.spark.pairs` returns them.

    `read` has the rows of each file, by URL; the others are as for removed rows.
    """
    from pyspark.sql import functions as F

    pairs = found.select("similarity", "id_i", "id_j")
    inputs = [InputRows(name, read.get(url, 0), 0) for url, name in names.items()]
    with configured(found.sparkSession):
        return _evidence(
            pairs, pairs.select(F.struct("*").alias("pair")), {}, {}, texts, inputs, removing=False
        )


def _largest_groups(
    removed: DataFrame, sizes: DataFrame
) -> Iterator[tuple[str, list[SimilarRows]]]:
    """Yield what the rows are examples of, and some removed rows of the largest groups of three or
    more rows.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    largest = (
        sizes.where("count > 2").orderBy(F.desc("count"), "group").limit(LARGE_GROUPS).collect()
    )
    if not largest:
        return
    order = F.row_number().over(Window.partitionBy("group").orderBy("id")) - 1
    members = removed.where(F.col("group").isin([row["group"] for row in largest])).withColumn(
        "place", order
    )
    wanted = {row["group"]: places_in_group(row["count"] - 1) for row in largest}
    every = sorted({place for places in wanted.values() for place in places})
    some = members.where(F.col("place").isin(every)).orderBy("place").collect()
    for row in largest:
        own = [
            one
            for one in some
            if one["group"] == row["group"] and one["place"] in wanted[row["group"]]
        ]
        pairs = [SimilarRows(one["similarity"], one["id"], one["kept_key"]) for one in own]
        yield of_large_group(row["count"], row["group"]), pairs


def _evidence(
    pairs: DataFrame,
    candidates: DataFrame,
    group_sizes: Mapping[int, int],
    groups: Mapping[str, list[SimilarRows]],
    texts: DataFrame | None,
    inputs: Sequence[InputRows],
    *,
    removing: bool,
) -> Evidence:
    """Return what a page shows of pairs of rows, whose least similar ones are among the candidates,
    and of groups.
    """
    from pyspark.sql import functions as F

    column = F.least(F.floor(F.col("similarity") * COLUMNS), F.lit(COLUMNS)).alias("column")
    first = F.min(F.struct(*pairs.columns)).alias("pair")
    columns = (
        pairs.groupBy(column).agg(F.count("*").alias("rows"), first).orderBy("column").collect()
    )
    counts = np.zeros(COLUMNS + 1, np.int64)
    for row in columns:
        counts[row["column"]] = row["rows"]
    least = [SimilarRows(*row["pair"]) for row in candidates.orderBy("pair").limit(LEAST).collect()]
    others = [SimilarRows(*columns[place]["pair"]) for place in spread(len(columns)).tolist()]
    chosen = {
        LEAST_SIMILAR[removing]: least,
        WHOLE_RANGE[removing]: [pair for pair in others if pair not in least],
    }
    chosen |= groups
    held = None
    if texts is not None:
        held = _texts_of(
            texts, {key for some in chosen.values() for pair in some for key in pair[1:]}
        )
    examples = {
        reason: [_example(pair, held) for pair in some] for reason, some in chosen.items() if some
    }
    return Evidence(counts, group_sizes, examples, inputs)


def _example(pair: SimilarRows, texts: Mapping[Any, str] | None) -> ExamplePair:
    left, right = ([], []) if texts is None else compare(texts[pair.id], texts[pair.other])
    return ExamplePair(str(pair.id), str(pair.other), pair.similarity, left, right)


def _texts_of(frame: DataFrame, ids: Iterable[Any]) -> dict[Any, str]:
    """Return the beginnings of the texts with some ids."""
    from pyspark.sql import functions as F

    wanted = frame.where(F.col("id").isin(list(ids)))
    rows = wanted.select("id", F.substring("text", 1, TEXT_CHARACTERS).alias("text")).collect()
    return {row["id"]: _decoded(row["text"]) for row in rows}


def _decoded(text: str | bytes | bytearray | None) -> str:
    if text is None or isinstance(text, str):
        return text or ""
    return bytes(text).decode("utf-8", "replace")
