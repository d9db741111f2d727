"""`lshfast.spark.passages`: passages that texts share, in a corpus or with other texts."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.choices import NormalForm
from lshfast._common.extras import optional
from lshfast._common.run_key import draw_hash_numbers
from lshfast._engine.clock import Clock
from lshfast.kernels.text import TextError, Texts
from lshfast.passages.plan import PassagePlan, PassageUnit, make_passage_plan
from lshfast.passages.run import hold_texts
from lshfast.spark.api import RowChoice, kind_of_column, source_of
from lshfast.spark.components import (
    Components,
    components_of_edges,
    components_of_records,
)
from lshfast.spark.frame_rows import FrameRows
from lshfast.spark.ids import check_ids
from lshfast.spark.limits import Limits
from lshfast.spark.passage_tasks import (
    AgainstTask,
    PassageTask,
    SampleRecordTask,
    SampleTask,
    passages_schema,
    sample_records,
)
from lshfast.spark.row_filter import join_by_id
from lshfast.spark.session import check_pyspark, running
from lshfast.spark.sql import F
from lshfast.spark.tasks import ChainTask, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def passages(
    df: DataFrame,
    text: str = "text",
    id: str = "id",
    *,
    against: Any = None,
    length: int = 50,
    unit: PassageUnit = "word",
    most_copies: int | None = 16,
    normalize: NormalForm = "none",
    limits: Limits | None = None,
) -> DataFrame:
    """Find all passages that two rows of a DataFrame share, or that rows share with other texts.

    The passages are those of `lshfast.passages.find` for the texts in the order of their ids,
    whatever the number of partitions and executors. The call runs the job; the result is persisted.

    Parameters
    ----------
    df : DataFrame
        Spark reads it once with `against`, and twice without. So its rows must be the same each
        time.
    text : str, default "text"
        Name of the column of texts, of type string or binary (UTF-8). A null is a text without
        passages.
    id : str, default "id"
        Name of the column of ids: integers or strings, all different and not null. With `against`,
        it is not checked that they are different.
    against : DataFrame, iterable of str or bytes, or Arrow column, optional
        Other texts, such as a benchmark: then passages that a row shares with one of these are
        found, and no others. They are collected to the driver and sent to each Python worker, which
        holds them as `lshfast.passages.find` does. A DataFrame has columns of the same names, and
        different ids.
    length : int, default 50
        Words or characters of the shortest passage, in 1..65536.
    unit : {"word", "char"}, default "word"
    most_copies : int or None, default 16
        As for `lshfast.passages.find`, in 1..2**31 - 1.
    normalize : {"none", "NFC", "NFKC"}, default "none"
        As for `lshfast.passages.find`.
    limits : Limits, optional
        Sizes from which the run proceeds in another way. The result does not depend on them.

    Returns
    -------
    DataFrame
        One row for each passage, in no particular order:

        - id_i, id_j: the ids of two rows, id_i <= id_j; with `against`, of a row and of another
          text, or the number of this text, from 0, if it is of no DataFrame;
        - units: long, the length in words or characters;
        - i_unit, j_unit: long, the first word or character in each text, from 0;
        - i_start, i_end, i_start_byte, i_end_byte, and those of j: long, where the passage is in
          each text, in characters, and in bytes of UTF-8. An end is the number behind the last one.

    Raises
    ------
    ImportError
        If PySpark is not installed, or a worker cannot import lshfast.
    TypeError
        If `df` is not a DataFrame of Spark, or a column has another type; the error names the
        argument.
    ValueError
        If a column is missing, an id is null or occurs twice, a text is not UTF-8 (the error names
        its id), or an argument is out of range.
    FormatError
        If a worker has another version of lshfast.

    See Also
    --------
    lshfast.passages.find : Find the passages that texts in memory share.
    lshfast.spark.dedup : Remove near-duplicate rows of a DataFrame of Spark.

    Notes
    -----
    Without `against`, each text has about 2 / (length - size + 2) samples a word, where size is the
    lesser of length / 2 and 16. Up to ``limits.driver_records`` samples, of 8 bytes, are collected
    to the driver; of more, 16 bytes are shuffled. Rows that share a sample are connected, and the
    texts of a connected component are sent to one task, which needs the memory of
    `lshfast.passages.find` for them. So remove near-duplicates first, and choose `length` so that
    boilerplate does not connect most rows.

    References
    ----------
    S. Schleimer, D. S. Wilkerson and A. Aiken, "Winnowing: local algorithms for document
    fingerprinting", 2003. K. Lee et al., "Deduplicating training data makes language models
    better", 2022.

    Examples
    --------
    >>> import lshfast.spark
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()  # doctest: +SKIP
    >>> pages = spark.createDataFrame(
    ...     [(1, "Nothing."), (2, "Q: what is the boiling point of water? A: 100")],
    ...     ["id", "text"],
    ... )  # doctest: +SKIP
    >>> questions = ["What is the boiling point of water"]
    >>> found = lshfast.spark.passages(
    ...     pages, against=questions, length=6
    ... )  # doctest: +SKIP
    >>> found.select(
    ...     "id_i", "id_j", "units", "i_start", "i_end"
    ... ).show()  # doctest: +SKIP
    +----+----+-----+-------+-----+
    |id_i|id_j|units|i_start|i_end|
    +----+----+-----+-------+-----+
    |   2|   0|    7|      3|   37|
    +----+----+-----+-------+-----+
    >>> clean = pages.join(
    ...     found.selectExpr("id_i AS id"), "id", "left_anti"
    ... )  # doctest: +SKIP
    """
    check_pyspark()
    plan = make_passage_plan(length, unit, most_copies, 1, normalize=normalize)
    kind_of_column(df, text, ("text",))
    source = source_of(df, text, id, RowChoice())
    with running(df.sparkSession):
        if against is not None:
            other_texts = _other_texts(against, text, id)
            _check_texts(other_texts, plan)
            return _passages_against(source, other_texts, plan)
        return _passages_within(source, plan, limits or Limits())


def _other_texts(against: Any, text: str, id: str) -> Table:
    """Return other texts as a table on the driver, with ids or their numbers, in this order."""
    from pyspark.sql import DataFrame

    pa = optional("pyarrow", "spark")
    if isinstance(against, DataFrame):
        kind_of_column(against, text, ("text",))
        frame = source_of(against, text, id, RowChoice()).frame
        check_ids(frame, "id of against")
        return frame.orderBy("id").toArrow()
    try:
        texts = Texts(against)  # reads an iterator, which cannot be read again
    except TypeError as error:
        raise TypeError(f"against: {error}") from None
    except ValueError as error:
        raise ValueError(f"against: {error}") from None
    numbers = range(len(texts))
    encoded_texts = [texts[number] for number in numbers]
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "text": pa.array(encoded_texts, pa.large_binary()),
        }
    )


def _check_texts(other_texts: Table, plan: PassagePlan) -> None:
    """Raise ValueError if one of the texts that all workers will hold cannot be used."""
    try:
        hold_texts([Texts(other_texts.column("text"))], plan, Clock())
    except TextError as error:
        other_id = other_texts.column("id")[error.row].as_py()
        raise ValueError(
            f"against: the text with id {other_id!r} {error.reason}"
        ) from None


def _passages_against(
    source: FrameRows, other_texts: Table, plan: PassagePlan
) -> DataFrame:
    """Return the passages that rows share with other texts, persisted."""
    kind_of_other = _kind_of(other_texts.schema.field("id").type)
    result = source.frame.mapInArrow(
        AgainstTask(plan, other_texts, secrets.randbits(64)),
        passages_schema(source.type_of("id"), kind_of_other),
    ).persist()
    return _computed(result)


def _kind_of(arrow_type: Any) -> str:
    from pyspark.sql.pandas.types import from_arrow_type

    return str(from_arrow_type(arrow_type).simpleString())


def _computed(result: DataFrame) -> DataFrame:
    """Run the job of a persisted result."""
    try:
        result.count()
    except BaseException:
        result.unpersist()
        raise
    return result


def _passages_within(source: FrameRows, plan: PassagePlan, limits: Limits) -> DataFrame:
    """Return the passages that rows share with each other, persisted."""
    # With a secret seed, nobody can write ids that have one node.
    seed = F.lit(secrets.randbits(63))
    rows = source.frame.withColumn("node", F.xxhash64(seed, "id"))
    kind = source.type_of("id")
    schema = f"id {kind}, node long, keys binary, repeats boolean"
    with ExitStack() as held_frames:
        sampled = rows.mapInArrow(SampleTask(plan, draw_hash_numbers()), schema)
        sampled = sampled.persist()
        held_frames.callback(sampled.unpersist)
        check_ids(sampled)
        components = _components(sampled, limits)
        sets = sampled.select("id", "node").join(components.labels, "node")
        sets = sets.select("id", "label").persist()
        held_frames.callback(sets.unpersist)
        texts = join_by_id(source.frame, sets, sets.count(), limits.joins, "inner")
        result = (
            texts.repartition("label")
            .sortWithinPartitions("label", "id")
            .mapInArrow(PassageTask(plan), passages_schema(kind, kind))
            .persist()
        )
        return _computed(result)


def _components(sampled: DataFrame, limits: Limits) -> Components:
    """Return the components of rows that share a sample, or that have one twice."""
    # A row without samples shares none, and there may be many more of them than samples.
    rows = sampled.where(F.octet_length("keys") > 0).select("node", "keys", "repeats")
    key_bytes = rows.agg(F.sum(F.octet_length("keys"))).collect()[0][0] or 0
    if key_bytes // 8 > limits.driver_records:
        records = (
            rows.mapInArrow(SampleRecordTask(), "key long, node long")
            .repartition("key")
            .sortWithinPartitions("key")
        )
        edges = records.mapInArrow(ChainTask(), "u long, v long")
        return components_of_edges(edges, limits.driver_records)
    collected: Any = rows.toArrow()
    records_of_batches = [sample_records(batch) for batch in collected.to_batches()]
    no_records = (np.empty(0, np.int64), np.empty(0, np.int64))
    keys, nodes = map(np.concatenate, zip(no_records, *records_of_batches, strict=True))
    return components_of_records(sampled.sparkSession, keys, nodes)
