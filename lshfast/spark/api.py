"""`lshfast.spark.dedup` and `pairs`: near-duplicates among the rows of a Spark DataFrame."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from lshfast._common.choices import ItemMeasure, Kind, plural, usual_measure
from lshfast._common.column_paths import checked_columns, is_joined
from lshfast._common.visible import printable
from lshfast._engine.account.report import Summary
from lshfast._engine.indexes.run_indexes import (
    COLUMNS_OF_EARLIER_FILES,
    OF_INDEX,
    Indexes,
    columns_of_earlier,
    plan_against,
)
from lshfast._engine.kinds import item_kind
from lshfast._engine.options.declaration import check_names
from lshfast._engine.options.declared import OPTIONS as DECLARED
from lshfast._engine.options.rules import TAKES, of_group, takes_options
from lshfast._engine.plan import (
    AnyPlan,
    Grouping,
    Keep,
    Plan,
    check_bands_only,
    plan_for,
)
from lshfast._engine.preference import check_keep_measure
from lshfast._io.sources import is_url
from lshfast.shingling import Unit
from lshfast.spark.by_value import Guard, counted_by
from lshfast.spark.earlier import EarlierFrame
from lshfast.spark.exact_keys import KEY, NamedKeys
from lshfast.spark.frame_rows import FILE, FrameRows
from lshfast.spark.ids import ID_TYPES
from lshfast.spark.limits import Limits
from lshfast.spark.points import VectorRun
from lshfast.spark.run import Run
from lshfast.spark.session import check_pyspark
from lshfast.spark.sql import F
from lshfast.spark.tasks import EntriesTask, draw_content_key
from lshfast.spark.text_columns import text_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from typing_extensions import Unpack

    from lshfast._engine.options.types import SparkDedupOptions, SparkPairOptions

# The run over items of each kind, the types of their columns, and their measures.
RUNS: dict[Kind, type[Run]] = {"text": Run, "vector": VectorRun}
TYPES_OF: dict[Kind, tuple[str, ...]] = {
    "text": ("string", "binary"),
    "vector": ("array<float>", "array<double>"),
}
MEASURES_ON_SPARK: dict[Kind, tuple[ItemMeasure, ...]] = {
    "text": ("jaccard", "containment"),
    "vector": ("cosine",),
}

# Types of exact keys that Arrow does not have: years and months.
INTERVALS_OF_MONTHS = "interval year", "interval month"

# The options of a plan that a run on a cluster takes, and one that finds pairs only.
OF_PLAN = set(of_group("plan"))
OPTIONS = [name for name in TAKES["spark.dedup"].names if name in OF_PLAN]
OPTIONS_OF_PAIRS = [name for name in TAKES["spark.pairs"].names if name in OF_PLAN]

# Names of the columns of the result, besides that of the ids.
RESULT = "keep", "kept_key", "similarity", "group"


class EntriesOfIndex(NamedTuple):
    """The entries of an index as a task of the workers, and the plan of a run against them."""

    plan: Plan
    task: EntriesTask


@dataclass(frozen=True)
class RowChoice:
    """Which rows stay.

    Attributes
    ----------
    keep : str or Column
        As for `dedup`.
    exact_key : NamedKeys, optional
    earlier : EarlierFrame, optional
        Rows similar to one of them are removed first.
    entries : EntriesOfIndex, optional
        Rows similar to one of them are removed first.
    """

    keep: Keep | Column = "first"
    exact_key: NamedKeys | None = None
    earlier: EarlierFrame | None = None
    entries: EntriesOfIndex | None = None

    @property
    def result(self) -> list[str]:
        """The names of the columns of the result, besides that of the ids."""
        names = list(RESULT)
        if self.earlier is not None or self.entries is not None:
            names.append("earlier")
        if self.exact_key is not None:
            names.append("same_key")
        return names


@takes_options("spark.dedup")
def dedup(
    df: DataFrame,
    text: str | Sequence[str] = "text",
    id: str = "id",
    *,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    exact: bool | None = None,
    groups: Grouping = "star",
    keep: Keep | Column = "first",
    against: DataFrame | str | os.PathLike[str] | None = None,
    measure: ItemMeasure | None = None,
    **options: Unpack[SparkDedupOptions],
) -> DataFrame:
    """Find near-duplicates among the rows of a DataFrame, and choose the rows to keep.

    The result is that of `lshfast.dedup` for the texts in the order of their ids, whatever the
    number of partitions and executors. Strings are in the order of their code points. The call runs
    the job; the result is persisted.

    Parameters
    ----------
    df : DataFrame
        Spark reads it twice, so its rows must be the same each time. Persist it if it is expensive
        to compute.
    text : str, default "text"
        Name of the column of texts, of type string or binary (UTF-8), or of vectors, of type
        array<float> or array<double>; a.b is field b of column a. Several names, and ``a[].b``,
        field b of the elements of a, are for strings, which are joined with a line end. A null is a
        text without shingles: the row is kept. So is a vector that is null, or has zeros only.
    id : str, default "id"
        Name of the column of ids: integers or strings, all different and not null.
    threshold, unit, size, groups, measure
        As for `lshfast.dedup`. Vectors have the measure "cosine", and a threshold of 0.95 by
        default; options of shingles and signatures are not for them.
    exact : bool, optional
        Spark has no exact join. So True is an error, and measure="containment" needs False: bands
        then find the pairs, and miss most pairs of very different lengths.
    ignore_common : float, optional
        As for `lshfast.dedup`. Spark reads `df` once more, and sorts the different shingles of all
        texts.
    keep : {"first", "last", "longest", "shortest"} or Column, default "first"
        The row of a group to keep: the one with the least or the greatest id, by length as for
        `lshfast.dedup`, or the one with the greatest value of a column, such as ``df.date``. Among
        equal values the row with the least id is kept.
    against : DataFrame or path, optional
        Earlier texts: a row that is similar to one of them is removed for the most similar one of
        the first 256 in the order of their ids, before rows are compared with each other. Their ids
        may be equal to each other, and to ids of `df`; they are not null. Or the path of an index
        of texts, which every worker can open: a row is removed for the most similar entry, by
        estimates, which miss about half of the rows exactly at the threshold. The run has the
        options that the index stores.
    against_column : str or sequence of str, optional
        The columns of the texts of `against`, if they are not those of `text`.
    against_id_column : str, optional
        The column of the ids of `against`, if it is not that of `id`.
    exact_key : str, optional
        A column of `df` of any type, whose values are keys: of the rows with equal ones, the row
        that `keep` prefers is compared with others, and the others are removed for it, whatever
        their texts. ``url:COLUMN`` compares URLs as `lshfast.dedup_files` does. A row with a null,
        NaN or empty value has no key.
    by : str, optional
        A column of `df`, such as a source: the figures of `dedup_with_summary` say how many rows
        with each of its values were removed. Spark reads `df` once more.
    max_removed : float, optional
        If a larger share of all rows, in (0, 1], is removed, or of the rows with a value of `by`
        that at least 20 rows have, the call raises `TooManyRemovedError`.

    Returns
    -------
    DataFrame
        One row for each row of `df`, in no particular order:

        - the id, under its name in `df`;
        - keep: boolean, whether the row is kept;
        - kept_key: id of the row, or earlier row, that is kept instead; the id of the row itself if
          it is kept. If one of `df` and `against` has strings as ids, and the other integers, a
          string;
        - similarity: double, similarity to that row, in [0, 1]; 1 if the row is kept;
        - group: the least id of its group;
        - earlier: boolean, whether the row was removed for an earlier one; with `against`;
        - same_key: boolean, whether the row was removed by its key; with `exact_key`.

    Raises
    ------
    ImportError
        If PySpark is not installed.
    TypeError
        If `df` or `against` is not a DataFrame of Spark, or a column has another type; the error
        names the argument.
    ValueError
        If a column is missing, an id is null or occurs twice, a value of `keep` is missing, a text
        is not UTF-8, a vector has another length than others or a value that is null or not finite
        (the error names its id), or an argument is out of range.
    TooManyRemovedError
        If more rows are removed than `max_removed`.

    See Also
    --------
    lshfast.spark.dedup_with_summary : Also returns the figures of the run.

    References
    ----------
    A. Z. Broder, "On the resemblance and containment of documents", 1997.

    Examples
    --------
    >>> import lshfast.spark
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()  # doctest: +SKIP
    >>> pages = spark.createDataFrame(
    ...     [(1, "one two three"), (2, "One, two, three!"), (3, "four")], ["id", "text"]
    ... )
    ... # doctest: +SKIP
    >>> found = lshfast.spark.dedup(pages)  # doctest: +SKIP
    >>> found.orderBy("id").show()  # doctest: +SKIP
    +---+-----+--------+----------+-----+
    | id| keep|kept_key|similarity|group|
    +---+-----+--------+----------+-----+
    |  1| true|       1|       1.0|    1|
    |  2|false|       1|       1.0|    1|
    |  3| true|       3|       1.0|    3|
    +---+-----+--------+----------+-----+
    >>> kept = pages.join(found.where("keep").select("id"), "id")  # doctest: +SKIP
    """
    return dedup_with_summary(
        df,
        text,
        id,
        threshold=threshold,
        unit=unit,
        size=size,
        exact=exact,
        groups=groups,
        keep=keep,
        against=against,
        measure=measure,
        **options,
    )[0]


def dedup_with_summary(
    df: DataFrame,
    text: str | Sequence[str] = "text",
    id: str = "id",
    *,
    keep: Keep | Column = "first",
    against: DataFrame | str | os.PathLike[str] | None = None,
    by: str | None = None,
    max_removed: float | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> tuple[DataFrame, Summary]:
    """Find near-duplicates as `dedup` does, and return the result with the figures of the run.

    Parameters
    ----------
    df, text, id, keep, against, by, max_removed
        As for `dedup`.
    limits : Limits, optional
        Sizes from which the run proceeds in another way. The result does not depend on them.
    **options
        The other parameters of `dedup`.

    Returns
    -------
    DataFrame
        See `dedup`.
    Summary
        See `lshfast.Summary`. `stages` contains the seconds of each stage, and the bytes of all
        texts. `candidates` depends on the limits, because components of many rows are divided
        before rows are compared. `advice` is empty.

    Raises
    ------
    ImportError, TypeError, ValueError, TooManyRemovedError
        As for `dedup`.

    See Also
    --------
    lshfast.spark.dedup : Remove near-duplicate rows of a DataFrame of Spark.
    lshfast.spark.pairs_with_summary : Also returns the figures of the run.

    Examples
    --------
    >>> import lshfast.spark
    >>> found, summary = lshfast.spark.dedup_with_summary(pages)  # doctest: +SKIP
    >>> summary.read, summary.kept, summary.removed  # doctest: +SKIP
    (3, 2, 1)
    """
    exact_key = options.pop("exact_key", None)
    names = {
        name: options.pop(name, None) for name in COLUMNS_OF_EARLIER_FILES.values()
    }
    index = os.fspath(against) if isinstance(against, (str, os.PathLike)) else None
    columns = columns_of_earlier(names, against is not None and index is None)
    earlier = None
    if against is not None and index is None:
        earlier = earlier_of(
            against, columns.get("column", text), columns.get("id_column", id)
        )
    choice = RowChoice(
        keep,
        None if exact_key is None else NamedKeys.of(exact_key),
        earlier,
        None if index is None else entries_of(index, options),
    )
    return dedup_frame(df, text, id, choice, Guard(by, max_removed), limits, options)


def earlier_of(
    against: Any, text: str | Sequence[str], id: str, shown: bool = False
) -> EarlierFrame:
    """Check and return earlier rows, whose texts may be shown."""
    check_frame("against", against)
    try:
        kind_of_column(against, text, ("text",))
        return EarlierFrame.of(source_of(against, text, id, RowChoice()).frame, shown)
    except TypeError as error:
        raise TypeError(f"against: {error}") from None
    except ValueError as error:
        raise ValueError(f"against: {error}") from None


def entries_of(path: str, options: Mapping[str, Any]) -> EntriesOfIndex:
    """Return the entries of an index, which every worker opens, and the plan of a run against it.

    The user need not repeat the options that the index stores.
    """
    indexes = Indexes(path if is_url(path) else os.path.abspath(path))
    given = {name: value for name, value in options.items() if value is not None}
    of_index = {
        name: given[name]
        for name in OF_INDEX
        if name in given and given[name] != DECLARED[name].default
    }
    of_run = {name: value for name, value in given.items() if name not in OF_INDEX}
    place = str(indexes.against)
    plan = plan_against(place, of_index, **{**of_run, "threads": 1})
    check_bands_only(plan, "spark", "dedup")
    with indexes.opened(plan) as index:
        assert index is not None
        kind = index.key_kind
    if kind == "uint":
        raise ValueError(
            f"against: {printable(path)} has keys of 2**63 and above, which are no integers of "
            "Spark; give the files of the rows of its entries"
        )
    type_of_keys = "string" if kind == "str" else "bigint"
    return EntriesOfIndex(plan, EntriesTask(place, indexes.state(), type_of_keys))


def dedup_frame(
    df: DataFrame,
    text: str | Sequence[str],
    id: str,
    choice: RowChoice,
    guard: Guard,
    limits: Limits | None,
    options: dict[str, Any],
    *,
    files: bool = False,
    kinds: Sequence[Kind] = tuple(RUNS),
) -> tuple[DataFrame, Summary]:
    """Return the result of `dedup_with_summary`; with `files`, also the column FILE."""
    kind = kind_of_column(df, text, kinds)
    plan = plan_of("dedup", OPTIONS, options, kind)
    if choice.entries is not None:
        if kind != "text":
            raise ValueError(f"an index on Spark is for texts, not for {plural(kind)}")
        plan = choice.entries.plan
    if isinstance(choice.keep, str):
        check_keep_measure(choice.keep, plan.measure)
    if choice.earlier is not None:
        item_kind(kind).check_earlier_texts(plan)
    source = source_of(df, text, id, choice, files)
    name = df.select(id).columns[0]
    if name.lower() in choice.result:  # Spark may ignore the case
        raise ValueError(
            f"id: the result has a column {name.lower()!r} of its own; rename that of the ids"
        )
    guard.check(df)
    run = run_of(kind, source, plan, limits, choice.earlier)
    if choice.entries is not None:
        run.entries = choice.entries.task
    result, summary = run.result()
    try:
        summary = counted_by(df, id, result, summary, guard)
    except BaseException:
        result.unpersist()
        raise
    return result.withColumnRenamed("id", name), summary


@takes_options("spark.pairs")
def pairs(
    df: DataFrame,
    text: str | Sequence[str] = "text",
    id: str = "id",
    *,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    exact: bool | None = None,
    measure: ItemMeasure | None = None,
    **options: Unpack[SparkPairOptions],
) -> DataFrame:
    """Find all pairs of similar rows of a DataFrame.

    The pairs are those of `lshfast.pairs` with exact=False for the texts in the order of their ids,
    whatever the number of partitions and executors. An exact copy is paired only with the first
    row, in this order, that has the same tokens. The call runs the job; the result is persisted.

    Parameters
    ----------
    df, text, id
        As for `dedup`.
    threshold, unit, size, measure
        As for `lshfast.pairs`.
    exact : bool, optional
        As for `dedup`.

    Returns
    -------
    DataFrame
        One row for each pair, in no particular order:

        - id_i, id_j: the ids, id_i < id_j;
        - similarity: double, in [0, 1].

    Raises
    ------
    ImportError, TypeError, ValueError
        As for `dedup`.

    See Also
    --------
    lshfast.spark.pairs_with_summary : Also returns the figures of the run.

    References
    ----------
    A. Z. Broder, "On the resemblance and containment of documents", 1997.

    Examples
    --------
    >>> import lshfast.spark
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()  # doctest: +SKIP
    >>> pages = spark.createDataFrame(
    ...     [
    ...         (1, "one two three four"),
    ...         (2, "two three four five"),
    ...         (3, "One two three four."),
    ...     ],
    ...     ["id", "text"],
    ... )  # doctest: +SKIP
    >>> lshfast.spark.pairs(pages, threshold=0.3, size=2).orderBy(
    ...     "id_i", "id_j"
    ... ).show()  # doctest: +SKIP
    +----+----+----------+
    |id_i|id_j|similarity|
    +----+----+----------+
    |   1|   2|       0.5|
    |   1|   3|       1.0|
    +----+----+----------+
    """
    return pairs_with_summary(
        df,
        text,
        id,
        threshold=threshold,
        unit=unit,
        size=size,
        exact=exact,
        measure=measure,
        **options,
    )[0]


def pairs_with_summary(
    df: DataFrame,
    text: str | Sequence[str] = "text",
    id: str = "id",
    *,
    limits: Limits | None = None,
    **options: Any,
) -> tuple[DataFrame, Summary]:
    """Find all pairs of similar rows as `pairs` does; return them with the run's figures.

    Parameters
    ----------
    df, text, id
        As for `dedup`.
    limits : Limits, optional
        Sizes from which the run proceeds in another way. The result does not depend on them.
    **options
        The other parameters of `pairs`.

    Returns
    -------
    DataFrame
        See `pairs`.
    Summary
        See `dedup_with_summary`. `pairs` is the number of rows of the result. No row is removed,
        and no groups are found: `kept` equals `read`, and `groups` is 0.

    Raises
    ------
    ImportError, TypeError, ValueError
        As for `dedup`.

    See Also
    --------
    lshfast.spark.pairs : Find all similar pairs on Spark.
    lshfast.spark.dedup_with_summary : The same with the figures of the run.

    Examples
    --------
    >>> import lshfast.spark
    >>> found, summary = lshfast.spark.pairs_with_summary(
    ...     pages, threshold=0.3, size=2
    ... )  # doctest: +SKIP
    >>> summary.read, summary.pairs, summary.copies  # doctest: +SKIP
    (3, 2, 1)
    """
    kind = kind_of_column(df, text)
    plan = plan_of("pairs", OPTIONS_OF_PAIRS, options, kind)
    return run_of(kind, source_of(df, text, id, RowChoice()), plan, limits).pairs()


def run_of(
    kind: Kind,
    source: FrameRows,
    plan: AnyPlan,
    limits: Limits | None,
    earlier: EarlierFrame | None = None,
) -> Run:
    """Return a run over rows whose items are of a kind."""
    run: Any = RUNS[kind]
    return run(source, plan, draw_content_key(), limits or Limits(), earlier)  # type: ignore[no-any-return]


def plan_of(
    function: str, allowed: Sequence[str], options: dict[str, Any], kind: Kind = "text"
) -> AnyPlan:
    """Return the plan of a run; raise TypeError for an argument that the function does not have."""
    check_pyspark()
    check_names(function, options, allowed)
    measure = usual_measure(options.get("measure"))
    allowed_measures = MEASURES_ON_SPARK[kind]
    if measure is not None and measure not in allowed_measures:
        raise ValueError(
            f"measure must be {' or '.join(allowed_measures)} for {plural(kind)} on Spark, not "
            f"{measure!r}"
        )
    plan = plan_for(kind, {"exact": None, **options, "threads": 1})
    check_bands_only(plan, "spark", function)
    return plan


def kind_of_column(
    df: DataFrame, text: str | Sequence[str], kinds: Sequence[Kind] = tuple(RUNS)
) -> Kind:
    """Return the kind of the items of a column by its type, which must be one of `kinds`."""
    check_frame("df", df)
    if not isinstance(text, str) or is_joined(text):
        text_column(df, checked_columns(text, "text"))
        return "text"
    type_name = type_of_column(df, "text", text)
    for kind in kinds:
        if type_name in TYPES_OF[kind]:
            return kind
    allowed = [name for kind in kinds for name in TYPES_OF[kind]]
    raise TypeError(_other_type("text", text, allowed, type_name))


def check_frame(name: str, df: object) -> None:
    """Raise an error if an argument is no DataFrame of Spark, or a stream."""
    check_pyspark()
    from pyspark.sql import DataFrame

    if not isinstance(df, DataFrame):
        raise TypeError(f"{name} must be a DataFrame of Spark, not {type(df).__name__}")
    if df.isStreaming:
        raise ValueError(
            f"{name} must not be a stream: the result is known only when all rows have been read"
        )


def type_of_column(df: DataFrame, argument: str, name: str) -> str:
    """Return the type of a column as Spark writes it; raise an error if there is no such column."""
    from pyspark.errors import AnalysisException

    if not isinstance(name, str):
        raise TypeError(f"{argument} must be the name of a column, not {name!r}")
    try:
        return str(df.select(F.col(name)).schema[0].dataType.simpleString())
    except AnalysisException:
        raise ValueError(
            f"{argument}: there is no column {name!r} among {', '.join(df.columns)}"
        ) from None


def _other_type(
    argument: str, name: str, allowed: Sequence[str], type_name: str
) -> str:
    return f"{argument}: column {name!r} must be of type {', '.join(allowed)}, not {type_name}"


def source_of(
    df: DataFrame,
    text: str | Sequence[str],
    id: str,
    choice: RowChoice,
    files: bool = False,
) -> FrameRows:
    """Check and return the columns of a run; with `files`, also the file of each row."""
    from pyspark.sql import Column

    check_frame("df", df)
    type_of_ids = type_of_column(df, "id", id)
    if type_of_ids not in ID_TYPES:
        raise TypeError(_other_type("id", id, ID_TYPES, type_of_ids))
    columns = [
        F.col(id).alias("id"),
        text_column(df, checked_columns(text, "text")).alias("text"),
    ]
    policy: str | None = None
    keep = choice.keep
    if isinstance(keep, Column):
        columns.append(keep.alias("value"))
    elif keep in get_args(Keep):
        policy = keep
    else:
        raise ValueError(
            f"keep must be one of {', '.join(get_args(Keep))}, or a Column, not {keep!r}"
        )
    values_of_keys = None
    if choice.exact_key is not None:
        key_column, values_of_keys = choice.exact_key
        keys = F.col(key_column)
        if type_of_column(df, "exact_key", key_column).startswith(INTERVALS_OF_MONTHS):
            keys = keys.cast("interval year to month").cast("string")
        columns.append(keys.alias(KEY))
    if files:
        columns.append(F.input_file_name().alias(FILE))
    return FrameRows(df.select(*columns), policy, values_of_keys)
