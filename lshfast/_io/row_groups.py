"""Row groups of Parquet in batches of a bounded decoded size, whatever the encoding.

A dictionary of a few kilobytes can stand for gigabytes of decoded texts, so the size of a row group
in the file does not bound what its rows take. Before a group is read, the longest value of each
dictionary is looked up. A batch then has so few rows that it fits even if each of them holds this
value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lshfast._common.arrow_columns import check_arrow
from lshfast._common.extras import optional, pa

# A batch takes at most this multiple of the wanted bytes if all its rows hold the longest
# dictionary values.
_MOST_TIMES = 2

# Batches of few rows are joined until they have this share of the wanted bytes: each call of
# pyarrow takes 30 us.
_LEAST_SHARE = 1 / 16

# The most rows of the first batch and of any batch. The bytes of a row may grow after the rows that
# were measured.
_FIRST_ROWS = 1 << 10
_MOST_ROWS = 1 << 16

# The bytes assumed for a value that may share a prefix with earlier values: those of a page.
_PAGE_BYTES = 1 << 20


def bounded_batches(
    source: Any,
    dictionaries: Any,
    group: int,
    names: list[str] | None,
    batch_bytes: int,
) -> Iterator[Any]:
    """Yield the rows of a row group in record batches of about `wanted` decoded bytes.

    `source` is a pyarrow.parquet.ParquetFile, and `dictionaries` the same file opened with
    ``read_dictionary=`` the columns of `dictionary_columns`. `names` are the columns to read, None
    for all.
    """
    about = source.metadata.row_group(group)
    is_dictionary = pa.types.is_dictionary
    average = max(1, about.total_byte_size // max(1, about.num_rows))
    longest = _longest_row(dictionaries, group, names)
    most = min(_MOST_ROWS, max(1, _MOST_TIMES * batch_bytes // max(1, longest)))
    rows = min(most, _FIRST_ROWS, max(1, batch_bytes // average))
    batches = []
    size = 0
    for batch in _checked_batches(source, rows, group, names):
        nbytes = max(1, sum(map(_decoded_bytes, batch.columns)))
        batches.append(batch)
        size += nbytes
        # Joining arrays of dictionaries takes several times their bytes.
        if size >= batch_bytes * _LEAST_SHARE or any(
            map(is_dictionary, batch.schema.types)
        ):
            yield _joined(batches)
            batches = []
            size = 0
        rows = min(most, 4 * rows, max(1, batch_bytes * len(batch) // nbytes))
        source.reader.set_batch_size(rows)  # of the next batch
    if batches:
        yield _joined(batches)


def _checked_batches(
    source: Any, rows: int, group: int, names: list[str] | None
) -> Iterator[Any]:
    """Yield record batches of a row group, whose lists are checked against damaged pages."""
    for batch in source.iter_batches(rows, row_groups=[group], columns=names):
        for column in batch.columns:
            check_arrow(column)
        yield batch


def dictionary_columns(source: Any) -> list[str]:
    """Return the columns that pyarrow can read without decoding their dictionaries."""
    return [leaf.path for leaf in _leaves(source) if leaf.physical_type == "BYTE_ARRAY"]


def _leaves(source: Any) -> Iterator[Any]:
    return map(source.schema.column, range(len(source.schema)))


def _longest_row(dictionaries: Any, group: int, names: list[str] | None) -> int:
    """Return the bytes of a row that holds the longest value of each dictionary."""
    total = 0
    for leaf in _leaves(dictionaries):
        if names is not None and not any(
            f"{leaf.path}.".startswith(f"{name}.") for name in names
        ):
            continue
        if leaf.physical_type == "BYTE_ARRAY":
            # Prefixes have no dictionary; other errors are found again.
            try:
                first = next(
                    _checked_batches(dictionaries, 1, group, [leaf.path]), None
                )
            except (
                pa.ArrowException,
                OSError,
            ):
                total += _PAGE_BYTES
            else:
                total += 0 if first is None else _longest_value(first.column(0))
        elif leaf.physical_type == "FIXED_LEN_BYTE_ARRAY":
            total += leaf.length
    return total


def _longest_value(column: Any) -> int:
    """Return the bytes of the longest value of a dictionary inside structs and lists."""
    types = pa.types
    kind = column.type
    if types.is_dictionary(kind):
        return int(
            optional("pyarrow.compute").max(_lengths(column.dictionary)).as_py() or 0
        )
    if types.is_struct(kind):
        return max(map(_longest_value, column.flatten()), default=0)
    if types.is_nested(kind) and hasattr(column, "flatten"):
        return _longest_value(column.flatten())
    return 0


def _decoded_bytes(column: Any) -> int:
    """Return the bytes of a column, as if each row held its own copy of its dictionary value."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = _lengths(column.dictionary).take(column.indices)
    return int(column.indices.nbytes) + int(
        optional("pyarrow.compute").sum(lengths).as_py() or 0
    )


def _lengths(values: Any) -> Any:
    """Return the bytes of each value of a dictionary, which are strings or bytes in Parquet."""
    return optional("pyarrow.compute").binary_length(values)


def _joined(batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
