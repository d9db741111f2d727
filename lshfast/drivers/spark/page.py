"""The page of a run on Spark: counts of its table, and some rows with their texts, which the driver asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast.engine.dedup_page import (
    COLUMNS,
    LEAST,
    LEAST_SIMILAR,
    TEXT_CHARACTERS,
    WHOLE_RANGE,
    Evidence,
    ExamplePair,
    spread,
)
from lshfast.reports.differences import compare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SimilarRows(NamedTuple):
    """Two rows that are shown: their similarity, and their ids."""

    similarity: float
    id: Any
    other: Any


def evidence_of_removed(found: DataFrame, texts: DataFrame | None) -> Evidence:
    """Return what the page shows of removed rows.

    Parameters
    ----------
    found : DataFrame
        As `lshfast.spark.dedup` returns it.
    texts : DataFrame or None
        The columns id and text of the rows that were read; None to show no texts.
    """
    from pyspark.sql import functions as F

    removed = found.where("not keep").select("similarity", F.col(found.columns[0]).alias("id"), "kept_key", "group")
    one_each = removed.groupBy("group").agg(F.min(F.struct("similarity", "id", "kept_key")).alias("pair"))
    sizes = found.groupBy("group").count().where("count > 1").groupBy("count").agg(F.count("*").alias("groups"))
    group_sizes = {row["count"]: row["groups"] for row in sizes.collect()}
    return _evidence(removed.drop("group"), one_each, group_sizes, texts, removing=True)


def evidence_of_similar(found: DataFrame, texts: DataFrame | None) -> Evidence:
    """Return what the page shows of pairs, as `lshfast.spark.pairs` returns them; `texts` as for removed rows."""
    from pyspark.sql import functions as F

    pairs = found.select("similarity", "id_i", "id_j")
    return _evidence(pairs, pairs.select(F.struct("*").alias("pair")), {}, texts, removing=False)


def _evidence(
    pairs: DataFrame, candidates: DataFrame, group_sizes: Mapping[int, int], texts: DataFrame | None, *, removing: bool
) -> Evidence:
    """Return what a page shows of pairs of rows, whose least similar ones are among the candidates."""
    from pyspark.sql import functions as F

    column = F.least(F.floor(F.col("similarity") * COLUMNS), F.lit(COLUMNS)).alias("column")
    first = F.min(F.struct(*pairs.columns)).alias("pair")
    columns = pairs.groupBy(column).agg(F.count("*").alias("rows"), first).orderBy("column").collect()
    counts = np.zeros(COLUMNS + 1, np.int64)
    for row in columns:
        counts[row["column"]] = row["rows"]
    least = [SimilarRows(*row["pair"]) for row in candidates.orderBy("pair").limit(LEAST).collect()]
    others = [SimilarRows(*columns[place]["pair"]) for place in spread(len(columns)).tolist()]
    chosen = {LEAST_SIMILAR[removing]: least, WHOLE_RANGE[removing]: [pair for pair in others if pair not in least]}
    held = None if texts is None else _texts_of(texts, {key for pair in [*least, *others] for key in pair[1:]})
    examples = {reason: [_example(pair, held) for pair in some] for reason, some in chosen.items() if some}
    return Evidence(counts, group_sizes, examples)


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
