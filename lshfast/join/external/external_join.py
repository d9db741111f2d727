"""Candidates of more rows than fit into memory, by sorted files of (bucket key, row) and of pairs.

This is the first-cut algorithm of A. Broder et al. for all pairs: the records of each band are
sorted, rows with equal keys make pairs, the pairs of all bands are sorted, and equal ones are
counted. With the slots of signatures as keys, the count of a pair is the number of slots in which
its signatures agree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from math import isqrt

import numpy as np

from lshfast._common.atomic_files import naming
from lshfast._common.checks import check_int
from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.types import BoolArray, Int64Array, PathLike, UInt64Array
from lshfast.join.banded import MOST_PAIRS
from lshfast.join.copies import check_copies
from lshfast.join.external.bucket_runs import BucketRuns, least_memory
from lshfast.join.external.components import PIECE_RECORDS, components_of_runs
from lshfast.join.external.run_file import RECORD_BYTES
from lshfast.join.external.sorted_runs import SortedRuns
from lshfast.kernels import runs as kernels

# The default memory of a join in bytes.
MEMORY = 256 << 20

# More memory than any system has.
MOST_MEMORY = 2**60

HIGHEST = 2**64 - 1


class ExternalJoin:
    """The rows that share buckets, found in bounded memory by sorted files.

    Use it as a context manager, which removes all its files at the end, also after an error. Add
    the bucket keys of all rows, then call `pairs` or `components` once.

    Parameters
    ----------
    bands : int
        At least 1: the number of keys of a row.
    folder : path
        An existing folder for temporary files: at most 16 bytes a key, and 16 bytes for each band
        that two rows share. They are in a new folder inside of it, which only this user can read.
    memory : int, default 2**28
        Bytes that arrays of the join take at the same time, at least 786,432 and at least 65,536
        (bands + 1); `components` takes 8 more a row. What the process takes for other things is not
        part of it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.
    OSError
        If a file cannot be written, for example because the disk is full; the message names it.
    FormatError
        If a file was changed or damaged after it was written.

    See Also
    --------
    lshfast.join.external_candidates : Find the pairs that share a bucket, in bounded memory.
    lshfast.join.SortedRuns : Sort records that do not fit into memory.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from lshfast.join import ExternalJoin
    >>> with tempfile.TemporaryDirectory() as folder, ExternalJoin(2, folder) as join:
    ...     join.add(np.array([[7, 1], [7, 2], [8, 2], [7, 2]], np.uint64))
    ...     [
    ...         pair
    ...         for part in join.pairs()
    ...         for pair in zip(*(column.tolist() for column in part))
    ...     ]
    [(0, 1, 1), (0, 3, 1), (1, 2, 1), (1, 3, 2), (2, 3, 1)]
    """

    def __init__(self, bands: int, folder: PathLike, *, memory: int = MEMORY) -> None:
        self.bands: int = check_int("bands", bands, 1)
        self._memory = min(
            check_int("memory", memory, least_memory(self.bands)), MOST_MEMORY
        )
        name = os.fsdecode(folder)
        with naming(name):
            self._folder = TemporaryFolder(name, ".lshfast-")
        try:
            self._runs = BucketRuns(self._folder.name, self.bands, self._memory)
        except BaseException:
            self._folder.cleanup()
            raise
        self._joined = False
        self._closed = False
        self.written: int = 0

    def __enter__(self) -> ExternalJoin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._runs.n

    def close(self) -> None:
        """Remove all files; the join cannot be used after this."""
        self._closed = True
        self._folder.cleanup()

    def add(self, keys: UInt64Array, *, chosen: BoolArray | None = None) -> None:
        """Add the next rows.

        Parameters
        ----------
        keys : ndarray of uint64, shape (m, b)
            Bucket keys, as for `candidates`. 2**64 - 1 is the key of no bucket.
        chosen : ndarray of bool, shape (m,), optional
            Rows that are not chosen get a number, but are in no pair: copies of other rows, for
            example.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape, or the join was used or closed.
        """
        _check_keys(keys)
        if keys.shape[1] != self.bands:
            raise ValueError(
                f"keys must have {self.bands} columns, one a band, not {keys.shape[1]}"
            )
        if chosen is not None and not _are_marks(chosen, len(keys)):
            raise ValueError(
                f"chosen must be an array of {len(keys)} bools, not {_kind_of(chosen)}"
            )
        if self._joined or self._closed:
            raise ValueError("rows cannot be added after the join")
        self._runs.add(np.ascontiguousarray(keys), chosen)

    def pairs(
        self,
        *,
        screen: Callable[[Int64Array, Int64Array], BoolArray] | None = None,
        most: int = MOST_PAIRS,
    ) -> Iterator[tuple[Int64Array, Int64Array, Int64Array]]:
        """Yield all pairs of rows that share a bucket.

        Parameters
        ----------
        screen : callable, optional
            Called with (i, j) of some pairs at a time, once for each band that they share. Returns
            a bool array of the pairs to keep; the others take no space.
        most : int, default 2**28
            The largest number of pairs to keep.

        Yields
        ------
        i, j : ndarray of int64
            i < j, each pair once, sorted by (i, j) over all arrays, none of which is empty.
        shared : ndarray of int64
            The number of bands whose bucket the two rows share, at least 1.

        Raises
        ------
        OverflowError
            If there are more than `most` pairs.
        TypeError, ValueError
            If `screen` returns something else, `most` is no int or below 0, or the join was used or
            closed.
        """
        most = check_int("most", most, 0)
        self._begin()
        records = self._memory // (4 * RECORD_BYTES)
        buffer = np.empty((records, 2), np.uint64)
        scratch = np.empty((records, 2), np.uint64)
        with SortedRuns(self._folder.name, "pairs", buffer, scratch) as pair_runs:
            for band in range(self.bands):
                self._add_pairs(band, pair_runs, screen, most)
                self._runs.forget(band)
            self.written = self._runs.written
            total = 0
            for i, j, shared in counted(pair_runs.merged(self._memory // 2)):
                total += len(i)
                if total > most:
                    raise OverflowError(
                        f"more than {most} candidate pairs: raise the threshold or the number of "
                        "rows a band"
                    )
                if len(i):
                    yield i, j, shared
            self.written += pair_runs.written

    def _add_pairs(
        self,
        band: int,
        pair_runs: SortedRuns,
        screen: Callable[[Int64Array, Int64Array], BoolArray] | None,
        most: int,
    ) -> None:
        """Add the pairs of one band to `pair_runs`."""
        too_many = OverflowError(
            f"band {band} alone holds more than {most} candidate pairs"
        )
        # A bucket of more rows has more pairs than `most`; screened, its rows must at least fit.
        rows = isqrt(2 * most) + 2
        if screen is not None:
            rows = max(rows, self._memory // (8 * RECORD_BYTES))
        piece = np.empty((0 if screen is None else PIECE_RECORDS, 2), np.uint64)
        pair_count = 0
        for records in whole_buckets(
            self._runs.records(band, self._memory // 2), rows, too_many
        ):
            i = 0
            j = 1
            while i < len(records):
                room = pair_runs.room() if screen is None else piece
                count, i, j = kernels.pairs_of_records(records, i, j, room)
                if screen is None:
                    pair_runs.take(count)
                else:
                    kept_pairs = _screened(piece[:count], screen)
                    count = len(kept_pairs)
                    pair_runs.add(kept_pairs)
                pair_count += count
                if pair_count > most:
                    raise too_many

    def components(self) -> Int64Array:
        """Return the smallest row joined to each row by shared buckets, int64 (n,).

        The time is proportional to the number of records, also where many rows share a bucket.
        """
        self._begin()
        labels = components_of_runs(self._runs, self._memory // 2)
        self.written = self._runs.written
        return labels

    def _begin(self) -> None:
        if self._joined or self._closed:
            raise ValueError("a join can be used once, before it is closed")
        self._joined = True
        self._runs.settle()


def external_candidates(
    keys: UInt64Array | Iterable[UInt64Array],
    folder: PathLike,
    *,
    memory: int = MEMORY,
    copies: Int64Array | None = None,
    screen: Callable[[Int64Array, Int64Array], BoolArray] | None = None,
    most: int = MOST_PAIRS,
) -> tuple[Int64Array, Int64Array]:
    """Return the pairs of rows that share a bucket key in the same band, found in bounded memory.

    The result equals the one of `candidates`. `ExternalJoin` gives it in parts, for results that do
    not fit into memory.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n, b), or iterable of such arrays
        Bucket keys of all rows, or of consecutive parts of them. An array may be a numpy.memmap.
    folder : path
        An existing folder for temporary files; see `ExternalJoin`.
    memory : int, default 2**28
        Bytes that the join takes besides the result; see `ExternalJoin`.
    copies, screen, most
        As for `candidates`.

    Returns
    -------
    i, j : ndarray of int64
        i < j, each pair once, sorted by (i, j).

    Raises
    ------
    TypeError, ValueError, OSError, OverflowError, FormatError
        As for `ExternalJoin` and its `pairs`, or if `copies` does not fit.

    See Also
    --------
    lshfast.candidates : Find the pairs of rows that share a bucket.
    lshfast.join.map_buckets : The map function: the buckets of signatures.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from lshfast.join import external_candidates
    >>> keys = np.array([[7, 1], [7, 2], [8, 2], [7, 2]], np.uint64)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     i, j = external_candidates([keys[:2], keys[2:]], folder)
    >>> list(zip(i.tolist(), j.tolist()))
    [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    parts = _parts(keys)
    first = next(parts, None)
    if first is None:
        raise ValueError("keys must be at least one array, also if it has no rows")
    _check_keys(first)
    with ExternalJoin(first.shape[1], folder, memory=memory) as join:
        for part in (first, *parts) if copies is None else ():
            join.add(part)
        if copies is not None:
            _add_first_copies(join, first, parts, copies)
        parts_of_pairs = list(join.pairs(screen=screen, most=most))
    empty = np.empty(0, np.int64)
    i = np.concatenate([empty, *(part_i for part_i, _, _ in parts_of_pairs)])
    j = np.concatenate([empty, *(part_j for _, part_j, _ in parts_of_pairs)])
    return i, j


def _parts(keys: UInt64Array | Iterable[UInt64Array]) -> Iterator[UInt64Array]:
    """Yield the keys in parts; an array is divided, so that a mapped one is not read as a whole."""
    if not isinstance(keys, np.ndarray):
        if not hasattr(keys, "__iter__"):
            raise TypeError(
                f"keys must be an array or an iterable of arrays, not {type(keys).__name__}"
            )
        yield from keys
    elif keys.ndim != 2 or len(keys) <= PIECE_RECORDS:
        yield keys
    else:
        yield from (keys[part] for part in parts_of_rows(len(keys), PIECE_RECORDS))


def _check_keys(keys: object) -> None:
    if not isinstance(keys, np.ndarray) or keys.dtype != np.uint64 or keys.ndim != 2:
        raise TypeError(f"keys must be uint64 (n, b), not {_kind_of(keys)}")


def _are_marks(marks: object, n: int) -> bool:
    return (
        isinstance(marks, np.ndarray)
        and marks.dtype == np.bool_
        and marks.shape == (n,)
    )


def _kind_of(value: object) -> str:
    return (
        f"{value.dtype} {value.shape}"
        if isinstance(value, np.ndarray)
        else type(value).__name__
    )


def _screened(
    pairs: UInt64Array, screen: Callable[[Int64Array, Int64Array], BoolArray]
) -> UInt64Array:
    """Return the pairs that `screen` keeps."""
    marks = screen(*_rows_of(pairs))
    if not _are_marks(marks, len(pairs)):
        raise TypeError(
            f"screen must return an array of {len(pairs)} bools, not {_kind_of(marks)}"
        )
    return pairs[marks]


def _add_first_copies(
    join: ExternalJoin,
    first: UInt64Array,
    parts: Iterable[UInt64Array],
    copies: Int64Array,
) -> None:
    copies = check_copies(len(copies), copies)
    for part in (first, *parts):
        rows = int64_range(len(join), len(join) + len(part))
        if len(join) + len(part) <= len(copies):
            join.add(part, chosen=copies[rows] == rows)
        else:
            raise ValueError(
                f"copies must be one row number a row, not {len(copies)} for {rows[-1] + 1} rows "
                "or more"
            )
    check_copies(len(join), copies)


def whole_buckets(
    batches: Iterable[UInt64Array], most: int, error: Exception
) -> Iterator[UInt64Array]:
    """Yield sorted records; one array of at most `most` has all records of a first word.

    Raise `error` for a longer array.
    """
    open_bucket = np.empty((0, 2), np.uint64)
    for batch in batches:
        records = batch
        if len(open_bucket):
            end = kernels.count_until(records, int(open_bucket[0, 0]), HIGHEST)
            open_bucket = np.concatenate([open_bucket, records[:end]])
            if len(open_bucket) > most:
                raise error
            if end == len(records):
                continue
            yield open_bucket
            records = records[end:]
        last = int(records[-1, 0])
        start = kernels.count_until(records, last - 1, HIGHEST) if last else 0
        yield records[:start]
        open_bucket = records[start:].copy()
    yield open_bucket


def counted(
    batches: Iterable[UInt64Array],
) -> Iterator[tuple[Int64Array, Int64Array, Int64Array]]:
    """Yield each of some sorted pairs once, with the number of times that it occurs."""
    last_pair = np.empty((0, 2), np.uint64)
    times = 0
    for batch in batches:
        for part in parts_of_rows(len(batch), PIECE_RECORDS):
            piece = np.concatenate([last_pair, batch[part]])
            starts = np.flatnonzero((piece[1:] != piece[:-1]).any(axis=1)) + 1
            bounds = np.concatenate([[0], starts, [len(piece)]])
            counts = np.diff(bounds)
            if len(last_pair):
                counts[0] += times - 1
            yield *_rows_of(piece[bounds[:-2]]), counts[:-1]
            last_pair = piece[-1:].copy()
            times = int(counts[-1])
    if len(last_pair):
        yield *_rows_of(last_pair), np.array([times], np.int64)


def _rows_of(pairs: UInt64Array) -> tuple[Int64Array, Int64Array]:
    """Return the two words of records as arrays of int64."""
    return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
