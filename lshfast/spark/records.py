"""`lshfast.spark.match_records` and `dedup_records`: records that describe the same thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lshfast.records.options import LinkOptions, takes_link_options
from lshfast.spark.record_run import RecordFrame, RecordLimits, linked_frames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Unpack

    from lshfast.records.options import LinkOptionTypes


@takes_link_options
def match_records(
    a: DataFrame,
    b: DataFrame,
    id: str | tuple[str, str] = "id",
    *,
    limits: RecordLimits | None = None,
    **options: Unpack[LinkOptionTypes],
) -> DataFrame:
    """Link the records of two DataFrames that describe the same thing.

    Tables of at most `RecordLimits.driver_rows` rows together are collected, in the order of their
    ids, and linked by `lshfast.records.match_records`: the links are those of one machine. Of
    larger ones, the driver learns the model from a sample of the rows. Rules of keys then find the
    candidates on the cluster, and workers score them by this model. The driver collects the pairs
    that score enough, and chooses the links.

    Parameters
    ----------
    a, b : DataFrame
        Spark reads them several times, so their rows must be the same each time.
    id : str or (str, str), default "id"
        Column of the ids, or the columns of the two tables: integers or strings, all different and
        not null.
    limits : RecordLimits, optional
        Sizes from which records are linked in another way.
    **options
        As for `lshfast.records.match_records`. Tables that are not collected need `rules`, all of
        them keys of fields (``"key:surname+postcode"``). They cannot have `labels` or `held_out`,
        and no field that is scored may be of kind text or address.

    Returns
    -------
    DataFrame
        One row for each link, in no particular order:

        - id_a, id_b: the ids;
        - score: double, in bits, or points;
        - probability: double, of a match; null for points.

    Raises
    ------
    ImportError
        If PySpark or rapidfuzz is not installed.
    TypeError, ValueError
        If an argument has the wrong type or value, an id is null or occurs twice, or tables that
        are not collected have an option that they cannot have; the error names it.
    OverflowError
        If more than `RecordLimits.pairs` pairs score enough for a link.

    See Also
    --------
    lshfast.spark.dedup_records : Find duplicate records of one DataFrame.
    lshfast.records.match_records : The same on one machine, with explanations of links.

    References
    ----------
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969.

    Examples
    --------
    >>> import lshfast.spark
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> spark = SparkSession.builder.master("local[2]").getOrCreate()  # doctest: +SKIP
    >>> columns = ["id", "name", "phone"]
    >>> ours = spark.createDataFrame(
    ...     [
    ...         (1, "William Jones", "555 0123"),
    ...         (2, "Ann Lee", "555 0199"),
    ...         (3, "Eve Stone", "555 0100"),
    ...     ],
    ...     columns,
    ... )  # doctest: +SKIP
    >>> theirs = spark.createDataFrame(
    ...     [(7, "Ann Lee", "555-0198"), (8, "Bill Jones", "555-0123")], columns
    ... )  # doctest: +SKIP
    >>> lshfast.spark.match_records(ours, theirs, scoring="points").select(
    ...     "id_a", "id_b", "score"
    ... ).orderBy("id_a").show()  # doctest: +SKIP
    +----+----+-----+
    |id_a|id_b|score|
    +----+----+-----+
    |   1|   8|199.0|
    |   2|   7|199.0|
    +----+----+-----+
    """
    ids = id if isinstance(id, tuple) else (id, id)
    if len(ids) != 2:
        raise ValueError(f"id must be a name or two names, not {len(ids)} names")
    link_options = LinkOptions.of("match_records", options)
    tables = [
        RecordFrame.of(a, ids[0], "a"),
        RecordFrame.of(b, ids[1], "b"),
    ]
    return linked_frames(tables, link_options, limits or RecordLimits())


@takes_link_options
def dedup_records(
    a: DataFrame,
    id: str = "id",
    *,
    limits: RecordLimits | None = None,
    **options: Unpack[LinkOptionTypes],
) -> DataFrame:
    """Link the records of one DataFrame that describe the same thing.

    Parameters
    ----------
    a, id, limits
        As for `match_records`.
    **options
        As for `lshfast.records.dedup_records`, with the limits that `match_records` names.

    Returns
    -------
    DataFrame
        One row for each link, as for `match_records`, with id_a < id_b, and two more columns:

        - group_a, group_b: the least id of the group of each record. They differ if other pairs
          contradict the link.

    Raises
    ------
    ImportError, TypeError, ValueError, OverflowError
        As for `match_records`.

    See Also
    --------
    lshfast.spark.match_records : Link the records of two DataFrames.
    lshfast.records.dedup_records : The same on one machine, with explanations of links.

    Examples
    --------
    >>> import lshfast.spark
    >>> people = spark.createDataFrame(
    ...     [
    ...         (1, "Ann Lee", "1980-05-01"),
    ...         (2, "Eve Stone", "1971-11-30"),
    ...         (3, "Anne Lee", "1980-05-01"),
    ...     ],
    ...     ["id", "name", "born"],
    ... )  # doctest: +SKIP
    >>> lshfast.spark.dedup_records(people, scoring="points").select(
    ...     "id_a", "id_b", "group_a"
    ... ).show()  # doctest: +SKIP
    +----+----+-------+
    |id_a|id_b|group_a|
    +----+----+-------+
    |   1|   3|      1|
    +----+----+-------+
    """
    link_options = LinkOptions.of("dedup_records", options)
    if link_options.assign in ("many-to-one", "one-to-many"):
        raise ValueError(
            "assign must be 'one-to-one' or 'many-to-many' within one table, not "
            f"{link_options.assign!r}"
        )
    tables = [RecordFrame.of(a, id, "a")]
    return linked_frames(tables, link_options, limits or RecordLimits())
