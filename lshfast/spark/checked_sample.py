"""`lshfast.spark.check`: what a run with some parameters finds and misses, measured on a sample."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from lshfast._common.checks import check_int
from lshfast._engine.account.short_texts import warn_of
from lshfast._engine.options.rules import options_of, takes_options
from lshfast._engine.plan import RECALL, Plan
from lshfast.kernels.text import Texts
from lshfast.quality.api import (
    MOST_SAMPLE,
    PLAN_OPTIONS,
    check_plan,
    checked_draw,
    checked_items,
)
from lshfast.quality.result import CheckResult
from lshfast.quality.run import CheckOptions
from lshfast.shingling import Unit
from lshfast.spark.api import RowChoice, kind_of_column, source_of
from lshfast.spark.draw import Draw
from lshfast.spark.frame_rows import FrameRows
from lshfast.spark.ids import check_ids
from lshfast.spark.session import check_pyspark, running
from lshfast.spark.tasks import naming_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Unpack

    from lshfast._engine.options.types import SparkSampleOptions


@takes_options("spark.check")
def check(
    df: DataFrame,
    text: str = "text",
    id: str = "id",
    *,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    sample: int = 4000,
    examples: int = 0,
    **options: Unpack[SparkSampleOptions],
) -> CheckResult:
    """Measure on a sample what `dedup` and `pairs` with these parameters find, and what they miss.

    If `df` has at most `sample` rows, the figures are those of `lshfast.check` for the texts in the
    order of their ids. Of more rows, a sample is drawn by the hashes of the ids, and compared
    exactly with all rows, where these are. The estimates are unbiased, and each has a 95 %
    interval. They do not depend on the number of partitions and executors.

    Parameters
    ----------
    df, text, id
        As for `lshfast.spark.dedup`. Spark reads the texts four times.
    threshold, unit, size, measure
        As for `lshfast.check`.
    sample : int, default 4000
        About how many rows are compared with all others, at least 1. All rows have one probability
        to be drawn, so a corpus with few duplicates needs a larger sample than `lshfast.check`
        does. Each worker holds the sample, and the driver about twice as many rows, and those that
        are near to the sample. If these are more than 262,144, fewer rows of the sample are used,
        but at least 64. More than 1,048,576 rows near to these 64 are an error.
    examples : int, default 0
        How many pairs are shown for each step of similarities of .05, by their ids.
    seed : int or "random", default 1
        As for `lshfast.spark.dedup`; it also decides which rows are drawn.

    Returns
    -------
    CheckResult
        The figures of all rows of `df`.

    Raises
    ------
    ImportError, TypeError, ValueError, FormatError
        As for `lshfast.spark.passages`.
    OverflowError
        If more than 1,048,576 rows are near to 64 rows of the sample, as in a crowd of millions of
        similar rows.

    Warns
    -----
    ShortTextsWarning
        As for `lshfast.check`.

    See Also
    --------
    lshfast.check : Check texts in memory.
    lshfast.spark.dedup : Remove near-duplicate rows of a DataFrame of Spark.

    Examples
    --------
    >>> import lshfast.spark
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()  # doctest: +SKIP
    >>> words = "the cat sat on the mat and saw the dog that lay there in the warm sun all day"
    >>> shorter = words.removesuffix(" day")
    >>> pages = spark.createDataFrame(
    ...     [(1, words), (2, shorter), (3, "a bird")], ["id", "text"]
    ... )  # doctest: +SKIP
    >>> result = lshfast.spark.check(pages, threshold=0.8, size=2)  # doctest: +SKIP
    >>> result.recall, result.pairs.value  # doctest: +SKIP
    (Estimate(value=1.0, low=1.0, high=1.0), 1.0)
    """
    record = options_of("spark.check", locals(), options)
    check_pyspark()
    plan = cast("Plan", check_plan("text", record.picked(PLAN_OPTIONS)))
    check_options = CheckOptions(
        check_int("sample", sample, 1, MOST_SAMPLE),
        RECALL if record.recall is None else record.recall,
        check_int("examples", examples, 0, MOST_SAMPLE),
    )
    kind_of_column(df, text, ("text",))
    source = source_of(df, text, id, RowChoice())
    with running(df.sparkSession):
        number = check_ids(source.frame)
        if number <= check_options.sample:
            result = _of_all(source, plan, check_options)
        else:
            result = _of_drawn(source, number, plan, check_options)
    warn_of(result.advice)
    return result


def _of_all(source: FrameRows, plan: Plan, options: CheckOptions) -> CheckResult:
    """Check all rows on the driver."""
    table = source.frame.orderBy("id").toArrow()
    ids = table.column("id")
    with naming_text(ids):
        result = checked_items(
            table.column("text"),
            plan,
            "text",
            replace(options, key_of=partial(_id_of, ids)),
        )
    assert isinstance(result, CheckResult)
    return result


def _of_drawn(
    source: FrameRows, number: int, plan: Plan, options: CheckOptions
) -> CheckResult:
    """Check a sample, with all rows that are near to it."""
    with ExitStack() as held_frames:

        def persisted(frame: DataFrame) -> DataFrame:
            frame = frame.persist()
            held_frames.callback(frame.unpersist)
            return frame

        draw = Draw(source.frame.select("id", "text"), plan, persisted)
        table, drawn = draw.rows(number, options.sample)
    ids = table.column("id")
    return checked_draw(
        Texts(table.column("text")),
        plan,
        replace(options, key_of=partial(_id_of, ids)),
        drawn,
    )


def _id_of(ids: Any, row: int) -> Any:
    return ids[row].as_py()
