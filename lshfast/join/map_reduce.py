"""The search for candidates as a map and a reduce function (Rajaraman, Ullman, exercise 3.4.4).

`map_buckets` turns signatures into (band, bucket key, row); `reduce_buckets` turns all records of
some buckets into the rows that each row is to be compared with. Partial results merge in any order,
so an engine may combine them early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.rows import int64_range, run_begins, runs_of
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.banding.bands import Bands
from lshfast.join.banded import MOST_PAIRS
from lshfast.sketch.minhash import EMPTY


@dataclass(frozen=True)
class Buckets:
    """Rows by bucket: some or all rows of some buckets, sorted by (band, key, row).

    Attributes
    ----------
    band : ndarray of int64, shape (m,)
    key : ndarray of uint64, shape (m,)
        The bucket key, as returned by `Bands.keys`. An engine sends all records of one (band, key)
        to one reducer.
    row : ndarray of int64, shape (m,)

    See Also
    --------
    lshfast.join.map_buckets : Divide the buckets of keys among tasks.
    lshfast.join.reduce_buckets : Say which rows of some buckets are to be compared.
    """

    band: Int64Array
    key: UInt64Array
    row: Int64Array

    def __len__(self) -> int:
        return len(self.row)

    @staticmethod
    def merge(parts: Sequence[Buckets]) -> Buckets:
        """Return the records of all parts, each once; the order of merges does not matter."""
        band, key, row = (
            np.concatenate(
                [np.empty(0, dtype), *(getattr(part, name) for part in parts)]
            )
            for name, dtype in (
                ("band", np.int64),
                ("key", np.uint64),
                ("row", np.int64),
            )
        )
        order = np.lexsort((row, key, band))
        band = band[order]
        key = key[order]
        row = row[order]
        repeated = (np.diff(band) == 0) & (key[1:] == key[:-1]) & (np.diff(row) == 0)
        first = np.concatenate([np.ones(min(1, len(row)), bool), ~repeated])
        return Buckets(band[first], key[first], row[first])

    def split(self, parts: int) -> list[Buckets]:
        """Divide complete buckets among `parts` reducers by their keys, as an engine does."""
        parts = check_int("parts", parts, 1, 2**63 - 1)
        reducers = self.key % np.uint64(parts)
        return [
            Buckets(
                self.band[reducers == part],
                self.key[reducers == part],
                self.row[reducers == part],
            )
            for part in range(parts)
        ]


@dataclass(frozen=True)
class Comparisons:
    """The rows to compare: rows[n] with others[offsets[n] : offsets[n + 1]], all greater.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Rows with at least one other row, ascending.
    offsets : ndarray of int64, shape (n + 1,)
    others : ndarray of int64, shape (m,)
        Ascending for each row.

    See Also
    --------
    lshfast.join.reduce_buckets : Say which rows of some buckets are to be compared.
    """

    rows: Int64Array
    offsets: Int64Array
    others: Int64Array

    @property
    def pairs(self) -> tuple[Int64Array, Int64Array]:
        """The pairs (i, j), sorted, as `candidates` returns them."""
        return np.repeat(self.rows, np.diff(self.offsets)), self.others

    @staticmethod
    def merge(parts: Sequence[Comparisons]) -> Comparisons:
        """Return the comparisons of all parts, each once; the order of merges does not matter."""
        pairs = [part.pairs for part in parts]
        empty = np.empty(0, np.int64)
        return _comparisons(
            np.concatenate([empty, *(i for i, _ in pairs)]),
            np.concatenate([empty, *(j for _, j in pairs)]),
        )


def map_buckets(signatures: UInt64Array, rows: npt.ArrayLike, bands: Bands) -> Buckets:
    """Return the buckets of signatures, b records for each row that is not empty (map).

    Parameters
    ----------
    signatures : ndarray of uint64, shape (n, k)
    rows : array_like of int, shape (n,)
        The row number of each signature, at least 0, in all of the data.
    bands : Bands

    Returns
    -------
    Buckets

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape, or a row number is out of range.

    See Also
    --------
    lshfast.join.reduce_buckets : The reduce function: the pairs of buckets.
    lshfast.join.external_candidates : Find the pairs that share a bucket, in bounded memory.

    Examples
    --------
    >>> from lshfast import Bands, MinHasher, TokenSets
    >>> from lshfast.join import Buckets, map_buckets, reduce_buckets
    >>> sets = TokenSets.from_sets(
    ...     [["a", "b", "c"], ["x"], ["a", "b", "c"], ["a", "b", "c", "d"]]
    ... )
    >>> signatures, bands = MinHasher(128).sketch(sets), Bands(32, 4)
    >>> parts = [
    ...     map_buckets(signatures[:2], [0, 1], bands),
    ...     map_buckets(signatures[2:], [2, 3], bands),
    ... ]
    >>> found = reduce_buckets(Buckets.merge(parts))
    >>> found.rows.tolist(), found.offsets.tolist(), found.others.tolist()
    ([0, 2], [0, 2, 3], [2, 3, 3])
    """
    numbers = np.asarray(rows)
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise TypeError(f"rows must be ints, not {numbers.dtype}")
    if numbers.shape != (len(signatures),):
        raise ValueError(
            f"rows must be {len(signatures)} numbers, one a signature, not of shape {numbers.shape}"
        )
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= 2**63):
        raise ValueError(
            f"rows must be in 0..2**63 - 1, not {numbers.min()}..{numbers.max()}"
        )
    keys = bands.keys(signatures)
    places, band = np.nonzero(keys != EMPTY)
    row = numbers.astype(np.int64)[places]
    return Buckets.merge([Buckets(band.astype(np.int64), keys[places, band], row)])


def reduce_buckets(buckets: Buckets, *, most: int = MOST_PAIRS) -> Comparisons:
    """Return, for each row i, the rows j > i that share a bucket with it (reduce).

    Parameters
    ----------
    buckets : Buckets
        All records of each bucket that is in it; see `Buckets.merge`. Results for different buckets
        are merged by `Comparisons.merge`.
    most : int, default 2**28
        The largest number of pairs to write, at least 0. A pair counts once for each bucket that
        both rows share.

    Returns
    -------
    Comparisons

    Raises
    ------
    OverflowError
        If there are more than `most` pairs.
    TypeError, ValueError
        If `most` is not an int, or below 0.

    See Also
    --------
    lshfast.join.map_buckets : The map function: the buckets of signatures.
    lshfast.join.external_candidates : Find the pairs that share a bucket, in bounded memory.
    """
    most = check_int("most", most, 0)
    n = len(buckets)
    starts, stops = runs_of(buckets.band, buckets.key)
    # The number of later records in the bucket of each record.
    later = np.repeat(stops, stops - starts) - int64_range(1, n + 1)
    total = int(later.sum())
    if total > most:
        raise OverflowError(
            f"more than {most} candidate pairs: raise the threshold or the number of rows a band"
        )
    place = np.repeat(int64_range(n), later)
    other = place + 1 + int64_range(total)
    other -= np.repeat(np.cumsum(later, dtype=np.int64) - later, later)
    return _comparisons(buckets.row[place], buckets.row[other])


def _comparisons(i: Int64Array, j: Int64Array) -> Comparisons:
    """Return pairs, i < j, in any order as comparisons."""
    order = np.lexsort((j, i))
    i = i[order]
    j = j[order]
    first = run_begins(i, j)
    i = i[first]
    j = j[first]
    starts, _ = runs_of(i)
    return Comparisons(i[starts], np.append(starts, len(i)), j)
