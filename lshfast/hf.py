"""Near-duplicates in data sets of Hugging Face's `datasets`.

Rows are not copied: the column is read as Arrow, and the result is a selection of rows, or the rows
with further columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from lshfast._common.arrow_columns import checked_column
from lshfast._common.checks import ADDED_COLUMNS, check_annotation, check_int
from lshfast._common.column_paths import (
    ColumnNames,
    checked_columns,
    joined_text,
    names_of,
    shown_columns,
    value_at,
)
from lshfast._common.extras import optional, pa
from lshfast._common.types import Int64Array
from lshfast._engine.account.report import DedupResult
from lshfast._engine.column_options import column_of_table, stored_columns
from lshfast._engine.executors.memory import dedup as dedup_items
from lshfast.index.lsh_index import LSHIndex
from lshfast.sketch.minhash import Scheme

if TYPE_CHECKING:
    from datasets import (  # type: ignore[import-untyped]
        Dataset,
        DatasetDict,
        IterableDataset,
        IterableDatasetDict,
    )

    AnyDataset = TypeVar(
        "AnyDataset", Dataset, DatasetDict, IterableDataset, IterableDatasetDict
    )

# Rows of a stream that are compared at once.
BATCH_ROWS = 4096


def dedup(
    dataset: AnyDataset,
    column: str | Sequence[str] = "text",
    *,
    annotate: bool = False,
    keep: Any = "first",
    splits: Sequence[str] | None = None,
    batch_size: int = BATCH_ROWS,
    **options: Any,
) -> AnyDataset:
    """Remove near-duplicate rows of a data set, or mark them.

    Parameters
    ----------
    dataset : Dataset, DatasetDict, IterableDataset or IterableDatasetDict of datasets
        In memory, memory-mapped, or a stream. Rows that were filtered, sorted or shuffled before
        are taken in their order. The splits of a DatasetDict, or of an IterableDatasetDict, are
        compared with each other.
    column : str or sequence of str, default "text"
        The column to compare rows by: texts, lists (sets), or embeddings, as for `lshfast.dedup`;
        in a stream, texts. ``a.b`` is b inside the struct a, and ``a[].b`` is b inside each element
        of the list a, such as ``messages[].content``. The texts of several columns, and of the
        elements of lists, are joined with a line end; nulls are left out.
    annotate : bool, default False
        Keep all rows, and add the columns duplicate_of and similarity (or distance): the number of
        the row that is kept instead, and None for rows that are kept. In a DatasetDict,
        duplicate_of is like ``"test:17"``.
    keep : str or array_like, default "first"
        As for `lshfast.dedup`; for splits and streams "first" only.
    splits : sequence of str, optional
        For splits, their order of preference: a row is removed for a similar
        row of a split before its own. By default "train" is the last one: rows of the training data
        that are like rows of the others go, which is decontamination.
    batch_size : int, default 4096
        For a stream, the rows that are compared at once.
    **options
        Further arguments of `lshfast.dedup`: threshold, measure, recall, size, ... For a stream,
        those of signatures.

    Returns
    -------
    Dataset, DatasetDict, IterableDataset or IterableDatasetDict of datasets
        Of the same type. The rows of a Dataset are selected, so that fingerprints of caches are
        those of `select`. The result of a stream is a stream: each pass over it compares the rows
        once more, with an index that grows by the signatures of the rows that are kept, 1 KB each.
        A row is removed for a row of an earlier batch by their estimated similarity. A pass over a
        split of an IterableDatasetDict reads the splits that are preferred to it, too.

    Raises
    ------
    TypeError
        If `dataset` is no data set, or the column has another type in another split, or no texts in
        a stream.
    ValueError
        If there is no such column or split, or an option is not valid; with `annotate`, if there
        are columns of these names, or with `against`.
    ImportError
        If `datasets` is not installed (``pip install "lshfast[hf]"``).

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.dedup_files : Remove near-duplicate rows of files.

    Examples
    --------
    >>> import lshfast.hf
    >>> from datasets import Dataset, DatasetDict  # doctest: +SKIP
    >>> texts = ["a rose is a rose is a rose", "A rose is a rose is a rose!", "a dog"]
    >>> rows = Dataset.from_dict({"text": texts})  # doctest: +SKIP
    >>> lshfast.hf.dedup(rows)["text"][:]  # doctest: +SKIP
    ['a rose is a rose is a rose', 'a dog']
    >>> lshfast.hf.dedup(rows, annotate=True)["duplicate_of"][:]  # doctest: +SKIP
    [None, 0, None]
    >>> test = Dataset.from_dict({"text": texts[:1]})  # doctest: +SKIP
    >>> both = DatasetDict(train=rows, test=test)  # doctest: +SKIP
    >>> {
    ...     name: split.num_rows for name, split in lshfast.hf.dedup(both).items()
    ... }  # doctest: +SKIP
    {'train': 1, 'test': 1}
    """
    datasets = optional("datasets", "hf")
    names = checked_columns(column)
    if annotate:
        check_annotation((), options)
    if isinstance(dataset, datasets.DatasetDict):
        if not (isinstance(keep, str) and keep == "first"):
            raise ValueError(
                f"keep must be 'first' for a DatasetDict, whose splits have an order, not {keep!r}"
            )
        return _dedup_splits(dataset, names, annotate, splits, options)
    if isinstance(dataset, (datasets.IterableDatasetDict, datasets.IterableDataset)):
        batch_size = check_int("batch_size", batch_size, 1)
        _check_stream_options(annotate, keep, options)
        if isinstance(dataset, datasets.IterableDatasetDict):
            order = _order_of_splits(dataset, splits)
            return _dedup_streams(dataset, names, order, batch_size, options)
    if splits is not None:
        raise ValueError("splits is for a DatasetDict, and this data set has one split")
    if isinstance(dataset, datasets.IterableDataset):
        return _dedup_stream(dataset, names, batch_size, options)
    if not isinstance(dataset, datasets.Dataset):
        expected = (
            "a Dataset, a DatasetDict, an IterableDataset or an IterableDatasetDict"
        )
        raise TypeError(
            f"dataset must be {expected} of the package datasets, not {type(dataset).__name__}"
        )
    result = dedup_items(_column(dataset, names), keep=keep, **options)
    if annotate:
        keepers = pa.array(result.keeper, mask=result.keep)
        return _annotated(dataset, keepers, result)
    return dataset.select(np.flatnonzero(result.keep))


def _column(dataset: Any, column: ColumnNames) -> Any:
    """Return a column as Arrow, in the order of the rows; several columns are joined."""
    of_column = stored_columns(dataset.column_names, column)
    only = dataset.select_columns(of_column)
    for name in of_column:
        checked_column(only.data.table, f"dataset, column {name!r}")
    if only._indices is not None:
        only = only.flatten_indices()
    return column_of_table(only.data.table, column)


def _value_name(result: DedupResult) -> str:
    return (
        "distance"
        if "distance" in (result.pairs.dtype.names or ())
        else ADDED_COLUMNS[1]
    )


def _annotated(
    dataset: Any, duplicates: Any, result: DedupResult, rows: slice = slice(None)
) -> Any:
    """Return a data set with two columns about its duplicates.

    Their types do not depend on the rows, so that data sets and splits have the same ones.
    """
    values = pa.array(result.similarity[rows], mask=result.keep[rows])
    for name, added in ((ADDED_COLUMNS[0], duplicates), (_value_name(result), values)):
        if name in dataset.column_names:
            raise ValueError(f"there is a column {name!r} already")
        dataset = dataset.add_column(name, added)
    return dataset


def _dedup_splits(
    dataset: Any,
    column: ColumnNames,
    annotate: bool,
    splits: Sequence[str] | None,
    options: dict[str, Any],
) -> Any:
    """Remove rows of splits that are like rows of a preferred split, or like earlier rows."""
    names = _order_of_splits(dataset, splits)
    columns = [_column(dataset[name], column) for name in names]
    result = dedup_items(_one_column(columns, names), **options)
    ends = np.cumsum([len(each) for each in columns], dtype=np.int64)
    kept_splits = {}
    for name, end, each in zip(names, ends.tolist(), columns, strict=True):
        rows = slice(end - len(each), end)
        if annotate:
            duplicates = []
            for is_kept, keeper in zip(
                result.keep[rows], result.keeper[rows], strict=True
            ):
                duplicates.append(None if is_kept else _place(int(keeper), names, ends))
            labels = pa.array(duplicates, pa.string())
            kept_splits[name] = _annotated(dataset[name], labels, result, rows)
        else:
            kept_splits[name] = dataset[name].select(np.flatnonzero(result.keep[rows]))
    return type(dataset)({name: kept_splits[name] for name in dataset})


def _order_of_splits(dataset: Any, splits: Sequence[str] | None) -> list[str]:
    """Return the names of the splits, the preferred ones first."""
    names = (
        sorted(dataset, key=lambda name: name == "train")
        if splits is None
        else list(splits)
    )
    if sorted(names) != sorted(dataset):
        raise ValueError(
            f"splits must be the splits of the data set, {', '.join(dataset)}, not "
            f"{', '.join(names)}"
        )
    if not names:
        raise ValueError("dataset has no splits")
    return names


def _one_column(columns: list[Any], names: list[str]) -> Any:
    """Return the columns of all splits as one; without rows, a column may have no type."""
    try:
        tables = [pa.table([column], ["column"]) for column in columns]
        return pa.concat_tables(tables, promote_options="permissive")["column"]
    except pa.ArrowException:
        types = ", ".join(
            f"{each.type} ({name})" for each, name in zip(columns, names, strict=True)
        )
        raise TypeError(
            f"the column must have one type in all splits, not {types}"
        ) from None


def _place(row: int, names: list[str], ends: Int64Array) -> str:
    """Return the split of a row of all splits, and its number there."""
    split = int(np.searchsorted(ends, row, side="right"))
    return f"{names[split]}:{row - (int(ends[split - 1]) if split else 0)}"


def _check_stream_options(annotate: bool, keep: Any, options: dict[str, Any]) -> None:
    """Raise ValueError for options that are not those of streams."""
    if annotate:
        raise ValueError(
            "annotate is not for a stream: the number of a row is not known"
        )
    if not (isinstance(keep, str) and keep == "first"):
        raise ValueError(f"keep must be 'first' for a stream, not {keep!r}")
    kinds = {"kind", "radius", "measure", "exact", "groups"} & options.keys()
    if kinds:
        raise ValueError(
            f"{min(kinds)} is not an option of a stream, whose rows are compared with an index of "
            "texts"
        )
    _new_index(options)  # so that a wrong option is an error now


def _dedup_stream(
    dataset: Any, column: ColumnNames, batch_size: int, options: dict[str, Any]
) -> Any:
    """Return a stream of the rows that are kept."""
    return _kept_stream([dataset], column, batch_size, options)


def _dedup_streams(
    dataset: Any,
    column: ColumnNames,
    names: list[str],
    batch_size: int,
    options: dict[str, Any],
) -> Any:
    """Return streams of the rows of each split that are kept; preferred splits come first."""
    streams = {
        name: _kept_stream(
            [dataset[other] for other in names[: place + 1]],
            column,
            batch_size,
            options,
        )
        for place, name in enumerate(names)
    }
    return type(dataset)({name: streams[name] for name in dataset})


def _kept_stream(
    streams: list[Any], column: ColumnNames, batch_size: int, options: dict[str, Any]
) -> Any:
    """Return a stream of the rows of the last of some streams that are not like rows before."""
    datasets = optional("datasets", "hf")
    last = streams[-1]
    for stream in streams:
        if stream.column_names is not None:
            stored_columns(stream.column_names, column)
    kept_rows = datasets.IterableDataset.from_generator(
        _KeptRows(streams, column, batch_size, options), features=last.features
    )
    formatting = last._formatting
    return (
        kept_rows
        if formatting is None
        else kept_rows.with_format(formatting.format_type)
    )


@dataclass(frozen=True)
class _KeptRows:
    """Yields the rows of the last of some streams that are not like rows before.

    It is a class because `datasets` pickles a function with all functions that it calls.
    """

    streams: list[Any]
    column: ColumnNames
    batch_size: int
    options: dict[str, Any]

    def __call__(self) -> Iterator[dict[str, Any]]:
        index = _new_index(self.options)
        row_count = 0
        last_place = len(self.streams) - 1
        for place, stream in enumerate(self.streams):
            for batch in stream.with_format(None).iter(self.batch_size):
                values = _texts_of_batch(batch, self.column, row_count)
                keys = range(row_count, row_count + len(values))
                result = dedup_items(
                    values, keys=keys, against=index, add=True, **self.options
                )
                row_count += len(keys)
                if place == last_place:
                    for row in np.flatnonzero(result.keep).tolist():
                        yield {name: batch[name][row] for name in batch}


def _texts_of_batch(
    batch: dict[str, Any], column: ColumnNames, start: int
) -> Sequence[Any]:
    """Return the texts of a batch of a stream, whose rows begin with the number `start`."""
    names = names_of(column)
    of_column = stored_columns(list(batch), column)
    if of_column == [column]:
        values = batch[of_column[0]]
        _check_texts(values, of_column[0], start)
        return cast("Sequence[Any]", values)
    columns = [batch[name] for name in of_column]
    texts = []
    for row, values in enumerate(zip(*columns, strict=True), start):
        record = dict(zip(of_column, values, strict=True))
        try:
            text = joined_text([value_at(record, name) for name in names])
        except (LookupError, TypeError):
            raise ValueError(
                f"row {row}: there is no {shown_columns(column)}"
            ) from None
        if text is None:
            raise TypeError(
                f"row {row}: {shown_columns(column)} must have texts in a stream"
            )
        texts.append(text)
    return texts


def _check_texts(values: Sequence[Any], column: str, start: int) -> None:
    """Raise TypeError unless the values of rows from `start` of a stream are texts."""
    for row, value in enumerate(values, start):
        if not (value is None or isinstance(value, (str, bytes))):
            kind = type(value).__name__
            raise TypeError(
                f"row {row}: the column {column!r} must have texts in a stream, not a value of "
                f"type {kind}"
            )


def _new_index(options: dict[str, Any]) -> LSHIndex:
    """Return an index for the rows of a stream."""
    from lshfast._engine.plan import make_plan

    index_options = dict(options)
    index_options.pop("threads", None)
    index_options.pop("progress", None)
    parameters = make_plan(**index_options).parameters
    return LSHIndex(
        threshold=parameters.threshold,
        num_perm=parameters.num_perm,
        bands=parameters.bands,
        rows_per_band=parameters.rows_per_band,
        scheme=cast(Scheme, parameters.scheme),
        seed=parameters.seed,
        shingles=parameters.shingles,
    )


__all__ = ["dedup"]
