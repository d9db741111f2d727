"""A run that links the records of DataFrames: on the driver, or on the cluster.

On the cluster:

1. *Model.* The driver learns it from a sample of the rows.
2. *Candidates.* Keys of the rules are joined.
3. *Scores.* Workers score the candidates by the model.
4. *Links.* The driver collects the pairs that score enough, and chooses among them as a run on one
   machine does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array
from lshfast.records.candidates.rules import KeyBlocks
from lshfast.records.candidates.union import CandidatePairs
from lshfast.records.linkage import Linkage
from lshfast.records.linking import link_tables, linked_run
from lshfast.records.links.decision import CandidateScores, ChosenLinks, links_of
from lshfast.records.options import LinkOptions
from lshfast.records.tables.record_table import RecordTable
from lshfast.spark.api import check_frame, type_of_column
from lshfast.spark.ids import ID_TYPES, check_ids
from lshfast.spark.record_model import RecordModel
from lshfast.spark.record_tasks import RecordKeyTask, ScoreTask
from lshfast.spark.session import running
from lshfast.spark.sql import F
from lshfast.spark.workers import pa

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# A row is in the sample if the hash of its id, of so many values, is below a bound.
HASH_VALUES = 1 << 30


@dataclass(frozen=True)
class RecordLimits:
    """Sizes from which records are linked in another way.

    Attributes
    ----------
    driver_rows : int
        Tables of at most so many rows together are collected and linked on the driver, with the
        result of one machine.
    sample_rows : int
        About so many rows of both tables together are the sample of larger ones, from which the
        driver learns the model; all rows if there are not more. Half of them are of each table, or
        all rows of a smaller one.
    pairs : int
        The most pairs that may score enough for a link, of 24 bytes and two ids, which the driver
        collects.

    See Also
    --------
    lshfast.spark.match_records : Link the records of two DataFrames.
    """

    driver_rows: int = 200_000
    sample_rows: int = 200_000
    pairs: int = 1 << 24


class RecordFrame(NamedTuple):
    """A DataFrame of records, its column of ids, and the name of the argument."""

    frame: DataFrame
    id: str
    name: str

    @classmethod
    def of(cls, frame: DataFrame, id: str, name: str) -> RecordFrame:
        """Return a checked argument."""
        check_frame(name, frame)
        column_name = _name_of_column(frame, id, name)
        kind = frame.schema[column_name].dataType.simpleString()
        if kind not in ID_TYPES:
            raise TypeError(
                f"id: column {id!r} of {name} must be a column of type {', '.join(ID_TYPES)}, "
                f"not {kind}"
            )
        return cls(frame, column_name, name)

    def checked_rows(self) -> int:
        """Return the number of rows; raise ValueError for ids that are null or occur twice."""
        ids = self.frame.select(_column(self.id).alias("id"))
        return check_ids(ids, f"id of {self.name}")

    def sampled(self, share: float) -> RecordTable:
        """Collect about a share of the rows, in the order of their ids; all for 1 or more.

        Equal ids of two tables are drawn independently. Otherwise matches with equal ids would be
        too large a share of the pairs of two samples.
        """
        frame = self.frame
        id_column = _column(self.id)
        if share < 1:
            number = F.pmod(F.xxhash64(F.lit(self.name), id_column), F.lit(HASH_VALUES))
            frame = frame.where(number < int(share * HASH_VALUES))
        table = frame.orderBy(id_column).toArrow()
        return RecordTable(table, self.id, self.name)

    def rows_of(self, names: Sequence[str], key: str, struct: str) -> DataFrame:
        """Return the ids, and some columns in a struct."""
        columns = [_column(name).alias(name) for name in names]
        return self.frame.select(
            _column(self.id).alias(key), F.struct(*columns).alias(struct)
        )


def _name_of_column(frame: DataFrame, id: str, name: str) -> str:
    """Return the name of the column of ids as a DataFrame has it; Spark may ignore its case.

    A field of a struct, which Spark finds as well, raises ValueError.
    """
    if id in frame.columns:
        return id
    type_of_column(frame, "id", id)
    for column_name in frame.columns:
        if column_name.lower() == id.lower():
            return column_name
    raise ValueError(
        f"id: {id!r} is not the name of a column of {name}, which are {', '.join(frame.columns)}; "
        "add a field of a struct as a column with DataFrame.withColumn, and give its name"
    )


def _column(name: str) -> Column:
    """Return a column by its whole name, which may have dots and backticks."""
    escaped_name = name.replace("`", "``")
    return F.col(f"`{escaped_name}`")


def linked_frames(
    tables: list[RecordFrame], options: LinkOptions, limits: RecordLimits
) -> DataFrame:
    """Return the links of two tables, or within one."""
    session = tables[0].frame.sparkSession
    with running(session):
        sizes = [table.checked_rows() for table in tables]
        if sum(sizes) <= limits.driver_rows:
            collected = [table.sampled(1.0) for table in tables]
            result = link_tables(collected, options)
            keys_a, keys_b = result.keys()
            groups = result.groups() if len(tables) == 1 else None
            return _frame_of_links(
                tables,
                _LinkColumns(
                    keys_a,
                    keys_b,
                    result.scores,
                    result.probabilities,
                    None if groups is None else _keys(collected[0], groups[result.i]),
                    None if groups is None else _keys(collected[0], groups[result.j]),
                ),
            )
        return _RecordRun(tables, options, limits).links(sizes)


def sample_shares(sizes: Sequence[int], sample_rows: int) -> list[float]:
    """Return the share of each table's rows in a sample; 1 or more for all rows.

    Two tables have half of the sample each. What the smaller one does not need is for the other.
    """
    return [
        max(sample_rows / len(sizes), sample_rows - (sum(sizes) - size)) / max(1, size)
        for size in sizes
    ]


def _keys(table: RecordTable, rows: Int64Array) -> list[Any]:
    return [table.ids[row] for row in rows.tolist()]


class _LinkColumns(NamedTuple):
    """Links as columns; of one table, with the groups of both records."""

    id_a: Sequence[Any]
    id_b: Sequence[Any]
    score: npt.NDArray[np.float64]
    probability: npt.NDArray[np.float64] | None
    group_a: Sequence[Any] | None = None
    group_b: Sequence[Any] | None = None


def _frame_of_links(tables: list[RecordFrame], links: _LinkColumns) -> DataFrame:
    """Return links as a DataFrame, with ids of their types in the tables."""
    types = [table.frame.schema[table.id].dataType for table in (*tables, *tables)]
    arrow_types = [
        pa.string() if kind.simpleString() == "string" else pa.int64() for kind in types
    ]
    ids = {"id_a": 0, "id_b": 1, "group_a": 0, "group_b": 0}
    columns = dict[str, Any]()
    for name, values in links._asdict().items():
        if name in ids:
            if values is not None:
                columns[name] = pa.array(list(values), arrow_types[ids[name]])
        elif values is None:
            columns[name] = pa.nulls(len(links.score), pa.float64())
        else:
            columns[name] = pa.array(values, pa.float64())
    frame = tables[0].frame.sparkSession.createDataFrame(pa.table(columns))
    casts = {
        name: F.col(name).cast(types[ids[name]]) for name in ids if name in columns
    }
    return frame.withColumns(casts)


class _RecordRun:
    """Records that are too many to collect."""

    def __init__(
        self, tables: list[RecordFrame], options: LinkOptions, limits: RecordLimits
    ) -> None:
        self._tables = tables
        self._options = options
        self._limits = limits
        self._sides = tables * 2 if len(tables) == 1 else tables
        self._is_single = len(tables) == 1
        _check_options(options, limits)

    def links(self, sizes: Sequence[int]) -> DataFrame:
        """Return the links of tables of some sizes."""
        shares = sample_shares(sizes, self._limits.sample_rows)
        sample = [
            table.sampled(share)
            for table, share in zip(self._tables, shares, strict=True)
        ]
        run = linked_run(sample, self._options)
        model = RecordModel.of(run).of_tables(sizes)
        pairs = self._pairs_above(model)
        options = replace(self._options, assign=run.options.assign)
        links = self._chosen(pairs, model, options) if len(pairs) else self._none()
        return _frame_of_links(self._tables, links)

    def _none(self) -> _LinkColumns:
        """Return no links."""
        groups: list[Any] | None = [] if self._is_single else None
        return _LinkColumns([], [], np.empty(0), None, groups, groups)

    def _pairs_above(self, model: RecordModel) -> Any:
        """Return the pairs that score enough for a link as a table of Arrow."""
        with ExitStack() as held_frames:
            scored = self._scored(model, held_frames)
            count = scored.agg(F.count("*").alias("pairs")).collect()[0]["pairs"]
            if count > self._limits.pairs:
                raise OverflowError(
                    f"{count:,} pairs score enough for a link, more than "
                    f"{self._limits.pairs:,}: raise the threshold, or limits.pairs"
                )
            return scored.toArrow()

    def _scored(self, model: RecordModel, held_frames: ExitStack) -> DataFrame:
        """Return the pairs that score enough, which are persisted until the stack is closed."""
        candidates = self._candidates(model, held_frames)
        for side, (table, key) in enumerate(
            zip(self._sides, ("id_a", "id_b"), strict=True)
        ):
            rows = table.rows_of(model.columns(side), key, key[-1])
            candidates = candidates.join(rows, key)
        types = [table.frame.schema[table.id].dataType for table in self._sides]
        schema = f"id_a {types[0].simpleString()}, id_b {types[1].simpleString()}, score double"
        pairs = candidates.select("id_a", "id_b", "a", "b")
        scored = pairs.mapInArrow(ScoreTask(model), schema).persist()
        held_frames.callback(scored.unpersist)
        return scored

    def _keys(self, model: RecordModel, held_frames: ExitStack) -> list[DataFrame]:
        """Return the keys of both sides, which are persisted: they are read twice."""
        keys = []
        for side, table in enumerate(self._tables):
            kind = table.frame.schema[table.id].dataType.simpleString()
            rows = table.rows_of(model.key_columns(side), "id", "row")
            task = RecordKeyTask(model, side)
            keys_of_table = rows.mapInArrow(task, f"rule int, key string, id {kind}")
            keys_of_table = keys_of_table.persist()
            held_frames.callback(keys_of_table.unpersist)
            keys.append(keys_of_table)
        return keys * 2 if self._is_single else keys

    def _candidates(self, model: RecordModel, held_frames: ExitStack) -> DataFrame:
        """Return the pairs of the rules, each once; blocks above their caps are left out."""
        keys = self._keys(model, held_frames)
        sizes = [
            side.groupBy("rule", "key").agg(F.count("*").alias(f"rows_{name}"))
            for side, name in zip(keys, "ab", strict=True)
        ]
        caps = F.array(*(F.lit(rule.max_block) for rule in self._options.rules or ()))
        pairs = F.col("rows_a") * F.col("rows_b")
        if self._is_single:
            pairs = F.col("rows_a") * (F.col("rows_a") - 1) / 2
        blocks = (
            sizes[0]
            .join(sizes[1], ["rule", "key"])
            .where((pairs <= F.element_at(caps, F.col("rule") + 1)) & (pairs > 0))
            .select("rule", "key")
        )
        first = keys[0].withColumnRenamed("id", "id_a").join(blocks, ["rule", "key"])
        second = keys[1].withColumnRenamed("id", "id_b")
        joined = first.join(second, ["rule", "key"]).select("id_a", "id_b").distinct()
        return joined.where("id_a < id_b") if self._is_single else joined

    def _chosen(
        self, pairs: Any, model: RecordModel, options: LinkOptions
    ) -> _LinkColumns:
        """Choose the links among pairs, as one machine does."""
        ids = [pairs.column(name).to_numpy() for name in ("id_a", "id_b")]
        if self._is_single:
            keys = np.unique(np.concatenate(ids))
            names = [keys, keys]
        else:
            names = [np.unique(column) for column in ids]
        i, j = (
            np.searchsorted(side, column).astype(np.int64)
            for side, column in zip(names, ids, strict=True)
        )
        places = (i * max(1, len(names[1])) + j).astype(np.uint64)
        order = np.argsort(places)
        rows = [RecordTable({"row": int64_range(len(side))}) for side in names]
        scorers = model.scorers
        if self._is_single:  # groups need the scores of further pairs
            columns = self._columns_of(names[0], model)
            scorers = model.bound((columns, columns))
        candidates = CandidatePairs(places[order], np.zeros(len(places), np.uint32), [])
        scores = CandidateScores(
            Linkage(rows[: len(self._tables)], {}),
            candidates,
            model.weights,
            scorers,
            model.least,
            int64_range(len(places)),
            pairs.column("score").to_numpy()[order],
        )
        links: ChosenLinks = links_of(scores, options.assignment(self._is_single))
        groups = None if links.clusters is None else links.clusters.labels
        return _LinkColumns(
            names[0][links.i].tolist(),
            names[1][links.j].tolist(),
            links.scores,
            links.probabilities,
            None if groups is None else names[0][groups[links.i]].tolist(),
            None if groups is None else names[0][groups[links.j]].tolist(),
        )

    def _columns_of(self, keys: npt.NDArray[Any], model: RecordModel) -> dict[str, Any]:
        """Return the columns of the records with some ids, which are sorted."""
        table = self._tables[0]
        kind = table.frame.schema[table.id].dataType
        wanted = table.frame.sparkSession.createDataFrame(
            pa.table({"id": pa.array(keys.tolist())})
        ).select(F.col("id").cast(kind))
        rows = table.rows_of(model.columns(0), "id", "row").join(wanted, "id")
        collected: Any = rows.orderBy("id").select("row.*").toArrow()
        return {
            name: collected.column(name).combine_chunks()
            for name in collected.column_names
        }


def _check_options(options: LinkOptions, limits: RecordLimits) -> None:
    """Raise ValueError for options that records which are not collected cannot have."""
    reason = f"tables of more than {limits.driver_rows:,} rows together"
    if options.rules is None:
        raise ValueError(
            f"rules are needed for {reason}, such as ['key:surname+postcode'], or a greater "
            "limits.driver_rows"
        )
    for rule in options.rules:
        if not isinstance(rule, KeyBlocks) or callable(rule.keys[0]):
            raise ValueError(
                f"rules: {rule.name} is not a key of fields (key:FIELD+FIELD), which {reason} need"
            )
    if len(options.labels):
        raise ValueError(f"labels are not for {reason}")
    if options.held_out is not None:
        raise ValueError(f"held_out is not for {reason}")
    if options.addresses:
        raise ValueError(f"fields: addresses are not for {reason}; name their parts")
