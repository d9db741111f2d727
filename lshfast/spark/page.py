"""The page of a run on Spark: counts of its table, and texts of some rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshfast._engine.pages.evidence import (
    AS_THEY_ARE,
    COLUMNS,
    LARGE_GROUPS,
    LEAST,
    LEAST_SIMILAR,
    TEXT_CHARACTERS,
    WHOLE_RANGE,
    ComparedForm,
    Evidence,
    ExamplePair,
    InputRows,
    of_large_group,
    places_in_group,
)
from lshfast._io.pages.differences import Span
from lshfast._io.pages.page import over_range
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
    result: DataFrame,
    texts: DataFrame | None,
    names: Mapping[str, str],
    form: ComparedForm = AS_THEY_ARE,
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
    form : ComparedForm
        In which the run compared texts.
    """
    from pyspark.sql import functions as F

    removed = result.where("not keep").select(
        "similarity", F.col(result.columns[0]).alias("id"), "kept_key", "group"
    )
    one_each = removed.groupBy("group").agg(
        F.min(F.struct("similarity", "id", "kept_key")).alias("pair")
    )
    files = result.groupBy(FILE).agg(
        F.count("*").alias("read"), F.count_if(~F.col("keep")).alias("removed")
    )
    with configured(result.sparkSession), ExitStack() as stack:
        sizes = result.groupBy("group").count().where("count > 1").persist()
        stack.callback(sizes.unpersist)
        of_size = sizes.groupBy("count").agg(F.count("*").alias("groups"))
        group_sizes = {row["count"]: row["groups"] for row in of_size.collect()}
        counts = {row[FILE]: (row["read"], row["removed"]) for row in files.collect()}
        inputs = [
            InputRows(name, *counts.get(url, (0, 0))) for url, name in names.items()
        ]
        groups = dict(_largest_groups(removed, sizes))
        return _evidence(
            removed.drop("group"),
            one_each,
            group_sizes,
            groups,
            texts,
            inputs,
            removing=True,
            form=form,
        )


def evidence_of_similar(
    similar_pairs: DataFrame,
    texts: DataFrame | None,
    rows_read: Mapping[str, int],
    names: Mapping[str, str],
    form: ComparedForm = AS_THEY_ARE,
) -> Evidence:
    """Return what the page shows of pairs, as `lshfast.spark.pairs` returns them.

    `rows_read` has the rows of each file, by URL; the others are as for removed rows.
    """
    from pyspark.sql import functions as F

    pairs = similar_pairs.select("similarity", "id_i", "id_j")
    inputs = [InputRows(name, rows_read.get(url, 0), 0) for url, name in names.items()]
    with configured(similar_pairs.sparkSession):
        return _evidence(
            pairs,
            pairs.select(F.struct("*").alias("pair")),
            {},
            {},
            texts,
            inputs,
            removing=False,
            form=form,
        )


def _largest_groups(
    removed: DataFrame, sizes: DataFrame
) -> Iterator[tuple[str, list[SimilarRows]]]:
    """Yield headings and removed rows of the largest groups of three or more rows."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    largest = (
        sizes.where("count > 2")
        .orderBy(F.desc("count"), "group")
        .limit(LARGE_GROUPS)
        .collect()
    )
    if not largest:
        return
    order = F.row_number().over(Window.partitionBy("group").orderBy("id")) - 1
    members = removed.where(
        F.col("group").isin([row["group"] for row in largest])
    ).withColumn("place", order)
    places_by_group = {
        row["group"]: places_in_group(row["count"] - 1) for row in largest
    }
    all_places = sorted(
        {place for places in places_by_group.values() for place in places}
    )
    shown_members = (
        members.where(F.col("place").isin(all_places)).orderBy("place").collect()
    )
    for row in largest:
        rows_of_group = [
            one
            for one in shown_members
            if one["group"] == row["group"]
            and one["place"] in places_by_group[row["group"]]
        ]
        pairs = [
            SimilarRows(one["similarity"], one["id"], one["kept_key"])
            for one in rows_of_group
        ]
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
    form: ComparedForm,
) -> Evidence:
    """Return the evidence of pairs of rows, the least similar first, and of groups."""
    from pyspark.sql import functions as F

    column = F.least(F.floor(F.col("similarity") * COLUMNS), F.lit(COLUMNS)).alias(
        "column"
    )
    first = F.min(F.struct(*pairs.columns)).alias("pair")
    columns = (
        pairs.groupBy(column)
        .agg(F.count("*").alias("rows"), first)
        .orderBy("column")
        .collect()
    )
    counts = np.zeros(COLUMNS + 1, np.int64)
    for row in columns:
        counts[row["column"]] = row["rows"]
    least = [
        SimilarRows(*row["pair"])
        for row in candidates.orderBy("pair").limit(LEAST).collect()
    ]
    pairs_of_columns = [
        SimilarRows(*columns[place]["pair"])
        for place in over_range(len(columns)).tolist()
    ]
    pairs_by_reason = {
        LEAST_SIMILAR[removing]: least,
        WHOLE_RANGE[removing]: [pair for pair in pairs_of_columns if pair not in least],
    }
    pairs_by_reason |= groups
    shown_texts = None
    if texts is not None:
        keys = set[Any]()
        for shown_pairs in pairs_by_reason.values():
            for pair in shown_pairs:
                keys.update(pair[1:])
        shown_texts = _texts_of(texts, keys)
    examples = {
        reason: [_example(pair, shown_texts, form) for pair in shown_pairs]
        for reason, shown_pairs in pairs_by_reason.items()
        if shown_pairs
    }
    return Evidence(counts, group_sizes, examples, inputs, form)


def _example(
    pair: SimilarRows, texts: Mapping[Any, str] | None, form: ComparedForm
) -> ExamplePair:
    row_spans: list[Span] = []
    other_spans: list[Span] = []
    if texts is not None:
        row_spans, other_spans = form.differences(texts[pair.id], texts[pair.other])
    return ExamplePair(
        str(pair.id), str(pair.other), pair.similarity, row_spans, other_spans
    )


def _texts_of(frame: DataFrame, ids: Iterable[Any]) -> dict[Any, str]:
    """Return the beginnings of the texts with some ids."""
    from pyspark.sql import functions as F

    shown_rows = frame.where(F.col("id").isin(list(ids)))
    rows = shown_rows.select(
        "id", F.substring("text", 1, TEXT_CHARACTERS).alias("text")
    ).collect()
    return {row["id"]: _decoded(row["text"]) for row in rows}


def _decoded(text: str | bytes | bytearray | None) -> str:
    if text is None or isinstance(text, str):
        return text or ""
    return bytes(text).decode("utf-8", "replace")
