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
from lshfast.spark.frame_rows import FILE
from lshfast.spark.session import configured
from lshfast.spark.sql import F
from lshfast.spark.tasks import EARLIER_ID

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class SimilarRows(NamedTuple):
    """Two rows that are shown: their similarity, and their ids.

    `earlier` has the EARLIER_ID of the other one, if it is an earlier row.
    """

    similarity: float
    id: Any
    other: Any
    earlier: int | None = None


class ShownTexts(NamedTuple):
    """The texts that a page shows some of: id and text of the rows, and of earlier rows."""

    rows: DataFrame
    earlier: DataFrame | None = None


def evidence_of_removed(
    result: DataFrame,
    texts: ShownTexts | None,
    names: Mapping[str, str],
    form: ComparedForm = AS_THEY_ARE,
) -> Evidence:
    """Return what the page shows of removed rows.

    Parameters
    ----------
    result : DataFrame
        As `lshfast.spark.dedup` returns it, with the column FILE, and with EARLIER_ID in a run
        against earlier rows; persisted.
    texts : ShownTexts or None
        None to show no texts.
    names : mapping of str to str
        The names of all files, by URL, also of those without rows.
    form : ComparedForm
        In which the run compared texts.
    """
    of_pair: list[str | Column] = [
        "similarity",
        F.col(result.columns[0]).alias("id"),
        "kept_key",
    ]
    in_groups = result
    removed_rows = result.where("not keep")
    if "earlier" in result.columns:
        in_groups = result.where("not earlier")
    if EARLIER_ID in result.columns:
        of_pair.append(EARLIER_ID)
    elif "earlier" in result.columns:
        # The entries of an index have no texts that could be shown.
        removed_rows = removed_rows.where("not earlier")
    removed = removed_rows.select(*of_pair, "group")
    one_each = removed.groupBy("group").agg(
        F.min(F.struct(*removed.drop("group").columns)).alias("pair")
    )
    files = result.groupBy(FILE).agg(
        F.count("*").alias("read"), F.count_if(~F.col("keep")).alias("removed")
    )
    with configured(result.sparkSession), ExitStack() as stack:
        of_group = (
            F.count("*").alias("count"),
            F.count_if(~F.col("keep")).alias("removed"),
        )
        sizes = result.groupBy("group").agg(*of_group).where("count > 1").persist()
        stack.callback(sizes.unpersist)
        of_groups = in_groups.groupBy("group").count().where("count > 1")
        of_size = of_groups.groupBy("count").agg(F.count("*").alias("groups"))
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
    texts: ShownTexts | None,
    rows_read: Mapping[str, int],
    names: Mapping[str, str],
    form: ComparedForm = AS_THEY_ARE,
) -> Evidence:
    """Return what the page shows of pairs, as `lshfast.spark.pairs` returns them.

    `rows_read` has the rows of each file, by URL; the others are as for removed rows.
    """
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
    places_by_group = {row["group"]: places_in_group(row["removed"]) for row in largest}
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
            SimilarRows(*(one[name] for name in removed.columns if name != "group"))
            for one in rows_of_group
        ]
        yield of_large_group(row["count"], row["group"]), pairs


def _evidence(
    pairs: DataFrame,
    candidates: DataFrame,
    group_sizes: Mapping[int, int],
    groups: Mapping[str, list[SimilarRows]],
    texts: ShownTexts | None,
    inputs: Sequence[InputRows],
    *,
    removing: bool,
    form: ComparedForm,
) -> Evidence:
    """Return the evidence of pairs of rows, the least similar first, and of groups."""
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
    texts_of = None
    if texts is not None:
        all_pairs = [pair for pairs in pairs_by_reason.values() for pair in pairs]
        texts_of = _TextsOfPairs.of(texts, all_pairs)
    examples = {
        reason: [_example(pair, texts_of, form) for pair in shown_pairs]
        for reason, shown_pairs in pairs_by_reason.items()
        if shown_pairs
    }
    return Evidence(counts, group_sizes, examples, inputs, form)


class _TextsOfPairs(NamedTuple):
    """The beginnings of texts by the ids of rows and of earlier rows, as strings.

    Ids of kept rows are strings in a run whose earlier rows have strings as ids.
    """

    rows: Mapping[str, str]
    earlier: Mapping[str, str]

    @classmethod
    def of(cls, texts: ShownTexts, pairs: Iterable[SimilarRows]) -> _TextsOfPairs:
        """Return the texts of some pairs."""
        ids = set[Any]()
        earlier_ids = set[int]()
        for pair in pairs:
            ids.add(pair.id)
            if pair.earlier is None:
                ids.add(pair.other)
            else:
                earlier_ids.add(pair.earlier)
        earlier_texts = {}
        if texts.earlier is not None and earlier_ids:
            earlier_texts = _texts_of(texts.earlier, earlier_ids)
        return cls(_texts_of(texts.rows, ids), earlier_texts)

    def of_pair(self, pair: SimilarRows) -> tuple[str, str]:
        """Return the two texts of a pair."""
        text = self.rows[str(pair.id)]
        if pair.earlier is None:
            return text, self.rows[str(pair.other)]
        return text, self.earlier[str(pair.earlier)]


def _example(
    pair: SimilarRows, texts: _TextsOfPairs | None, form: ComparedForm
) -> ExamplePair:
    row_spans: list[Span] = []
    other_spans: list[Span] = []
    if texts is not None:
        row_spans, other_spans = form.differences(*texts.of_pair(pair))
    return ExamplePair(
        str(pair.id), str(pair.other), pair.similarity, row_spans, other_spans
    )


def _texts_of(frame: DataFrame, ids: Iterable[Any]) -> dict[str, str]:
    """Return the beginnings of the texts with some ids, by these as strings."""
    shown_rows = frame.where(F.col("id").cast("string").isin([*map(str, ids)]))
    rows = shown_rows.select(
        "id", F.substring("text", 1, TEXT_CHARACTERS).alias("text")
    ).collect()
    return {str(row["id"]): _decoded(row["text"]) for row in rows}


def _decoded(text: str | bytes | bytearray | None) -> str:
    if text is None or isinstance(text, str):
        return text or ""
    return bytes(text).decode("utf-8", "replace")
