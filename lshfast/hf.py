"""Near-duplicates in data sets of Hugging Face's `datasets`.

Rows are not copied: the column is read as Arrow, and the result is a selection of rows, or the rows
with further columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from lshfast._common.arrow_columns import checked_column
from lshfast._common.checks import ADDED_COLUMNS, check_annotation, check_int
from lshfast._common.extras import optional
from lshfast._common.types import Int64Array
from lshfast._engine.account.report import DedupResult
from lshfast._engine.executors.memory import dedup as dedup_items
from lshfast.index.lsh_index import LSHIndex
from lshfast.sketch.minhash import Scheme

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, IterableDataset  # type: ignore[import-untyped]

    AnyDataset = TypeVar("AnyDataset", Dataset, DatasetDict, IterableDataset)

# Rows of a stream that are compared at once.
BATCH_ROWS = 4096


def dedup(
    dataset: AnyDataset,
    column: str = "text",
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
    dataset : datasets.Dataset, datasets.DatasetDict or datasets.IterableDataset
        In memory, memory-mapped, or a stream. Rows that were filtered, sorted or shuffled before
        are taken in their order. The splits of a DatasetDict are compared with each other.
    column : str, default "text"
        The column to compare rows by: texts, lists (sets), or embeddings, as for `lshfast.dedup`;
        in a stream, texts.
    annotate : bool, default False
        Keep all rows, and add the columns duplicate_of and similarity (or distance): the number of
        the row that is kept instead, and None for rows that are kept. In a DatasetDict,
        duplicate_of is like ``"test:17"``.
    keep : str or array_like, default "first"
        As for `lshfast.dedup`; for a DatasetDict "first" only.
    splits : sequence of str, optional
        For a DatasetDict, the order in which splits are preferred: a row is removed for a similar
        row of a split before its own. By default "train" is the last one: rows of the training data
        that are like rows of the others go, which is decontamination.
    batch_size : int, default 4096
        For a stream, the rows that are compared at once.
    **options
        Further arguments of `lshfast.dedup`: threshold, measure, recall, size, ... For a stream,
        those of signatures.

    Returns
    -------
    datasets.Dataset, datasets.DatasetDict or datasets.IterableDataset
        Of the same type. The rows of a Dataset are selected, so that fingerprints of caches are
        those of `select`. The result of a stream is a stream: each pass over it compares the rows
        once more, with an index that grows by the signatures of the rows that are kept, 1 KB each.
        A row is removed for a row of an earlier batch by their estimated similarity.

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
    if annotate:
        check_annotation((), options)
    if isinstance(dataset, datasets.DatasetDict):
        if not (isinstance(keep, str) and keep == "first"):
            raise ValueError(
                f"keep must be 'first' for a DatasetDict, whose splits have an order, not {keep!r}"
            )
        return _dedup_splits(dataset, column, annotate, splits, options)
    if splits is not None:
        raise ValueError("splits is for a DatasetDict, and this data set has one split")
    if isinstance(dataset, datasets.IterableDataset):
        batch_size = check_int("batch_size", batch_size, 1)
        return _dedup_stream(dataset, column, annotate, batch_size, keep, options)
    if not isinstance(dataset, datasets.Dataset):
        expected = "a Dataset, a DatasetDict or an IterableDataset"
        raise TypeError(
            f"dataset must be {expected} of the package datasets, not {type(dataset).__name__}"
        )
    result = dedup_items(_column(dataset, column), keep=keep, **options)
    if annotate:
        keepers = optional("pyarrow").array(result.keeper, mask=result.keep)
        return _annotated(dataset, keepers, result)
    return dataset.select(np.flatnonzero(result.keep))


def _column(dataset: Any, name: str) -> Any:
    """Return a column as Arrow, in the order of the rows."""
    if name not in dataset.column_names:
        raise ValueError(
            f"there is no column {name!r}; columns are: "
            f"{', '.join(map(repr, dataset.column_names))}"
        )
    only = dataset.select_columns([name])
    checked_column(only.data.table, f"dataset, column {name!r}")
    if only._indices is not None:
        only = only.flatten_indices()
    return only.data.table.column(name)


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
    pa = optional("pyarrow")
    values = pa.array(result.similarity[rows], mask=result.keep[rows])
    for name, added in ((ADDED_COLUMNS[0], duplicates), (_value_name(result), values)):
        if name in dataset.column_names:
            raise ValueError(f"there is a column {name!r} already")
        dataset = dataset.add_column(name, added)
    return dataset


def _dedup_splits(
    dataset: Any,
    column: str,
    annotate: bool,
    splits: Sequence[str] | None,
    options: dict[str, Any],
) -> Any:
    """Remove rows of splits that are like rows of a preferred split, or like earlier rows."""
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
    pa = optional("pyarrow")
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


def _one_column(columns: list[Any], names: list[str]) -> Any:
    """Return the columns of all splits as one; without rows, a column may have no type."""
    pa = optional("pyarrow")
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


def _dedup_stream(
    dataset: Any,
    column: str,
    annotate: bool,
    batch_size: int,
    keep: Any,
    options: dict[str, Any],
) -> Any:
    """Return a stream of the rows that are kept."""
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
    datasets = optional("datasets", "hf")
    columns = dataset.column_names
    if columns is not None and column not in columns:
        raise ValueError(
            f"there is no column {column!r}; columns are: {', '.join(map(repr, columns))}"
        )
    _new_index(options)  # so that a wrong option is an error now

    def rows() -> Iterator[dict[str, Any]]:
        index = _new_index(options)
        row_count = 0
        for batch in dataset.with_format(None).iter(batch_size):
            if column not in batch:
                raise ValueError(
                    f"there is no column {column!r}; columns are: {', '.join(map(repr, batch))}"
                )
            names = list(batch)
            _check_texts(batch[column], column, row_count)
            keys = range(row_count, row_count + len(batch[column]))
            result = dedup_items(
                batch[column], keys=keys, against=index, add=True, **options
            )
            row_count += len(keys)
            for row in np.flatnonzero(result.keep).tolist():
                yield {name: batch[name][row] for name in names}

    stream = datasets.IterableDataset.from_generator(rows, features=dataset.features)
    formatting = dataset._formatting
    return stream if formatting is None else stream.with_format(formatting.format_type)


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
