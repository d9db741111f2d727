"""The entries of a MinHashLSHEnsemble on a Redis server, and their search by bands.

For the basename NAME there is a MinHashLSH NAME-i-r for each partition i and number of rows r, both
two bytes, big-endian. datasketch does not store the bounds of the partitions. The list storage
NAME-partitions stores them, so that other processes can query the ensemble: its keys are num_perm,
rows, lowers and uppers, its values are decimal.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import pack
from typing import Any

import numpy as np

from lshfast._common.types import Int64Array
from lshfast.datasketch.key_pickles import given_keys
from lshfast.datasketch.lsh import MinHashLSH
from lshfast.datasketch.storage import ordered_storage

Bounds = list[tuple[int | None, int | None]]


class StoredSets:
    """The sets of an ensemble on a server.

    Parameters
    ----------
    config : dict
        The storage_config, with a basename.
    num_perm, num_part : int
    rows : list of int
        The numbers of rows for which there are indexes.
    prepickle : bool, optional

    Attributes
    ----------
    indexes : list of dict of MinHashLSH
        For each partition a dict from r to the index of its sets.
    """

    def __init__(
        self,
        config: dict[str, Any],
        num_perm: int,
        num_part: int,
        rows: list[int],
        prepickle: bool | None,
    ) -> None:
        self.indexes = empty_indexes(num_perm, num_part, rows, config, prepickle)
        self._shape: dict[bytes, list[int]] = {b"num_perm": [num_perm], b"rows": rows}
        self._record = ordered_storage(config, config["basename"] + b"-partitions")
        self._bounds: Bounds | None = None

    def insert(self, indexes: list[dict[int, MinHashLSH]], bounds: Bounds) -> None:
        """Store the entries of indexes in memory, one for each of `self.indexes`, and bounds."""
        for stored, indexes_in_memory in zip(self.indexes, indexes, strict=True):
            for r, index in stored.items():
                index.merge(indexes_in_memory[r])
        for name, values in self._shape.items():
            self._record.insert(name, *map(_decimal, values))
        for name, bound in zip(
            (b"lowers", b"uppers"), zip(*bounds, strict=True), strict=True
        ):
            self._record.insert(name, *map(_decimal, bound))
        self._bounds = bounds

    def bounds(self) -> Bounds:
        """Return the smallest and greatest size in each partition; None if there are no entries.

        Raises
        ------
        ValueError
            If the entries are of an ensemble with other parameters, or of datasketch.
        """
        if self._bounds is not None:
            return self._bounds
        if self.is_empty():
            return [(None, None)] * len(self.indexes)
        names = (*self._shape, b"lowers", b"uppers")
        *shape, lowers, uppers = (
            list(map(_number, values)) for values in self._record.getmany(*names)
        )
        if (
            len(lowers) != len(self.indexes)
            or len(uppers) != len(lowers)
            or shape != list(self._shape.values())
        ):
            raise ValueError(
                "the entries on the server are of an ensemble of datasketch, which does not store "
                "its partitions, or "
                "of other parameters than this one's"
            )
        self._bounds = list(zip(lowers, uppers, strict=True))
        return self._bounds

    def is_empty(self) -> bool:
        """Return whether there are no entries."""
        return all(
            index.is_empty()
            for part in self.indexes
            for index in list(part.values())[:1]
        )

    def holds(self, key: Any) -> bool:
        """Return whether a key has an entry."""
        return any(
            key in index for part in self.indexes for index in list(part.values())[:1]
        )

    def find(
        self, minhash: Any, size: int, xqs: np.ndarray[Any, Any], params: Int64Array
    ) -> Iterator[Any]:
        """Yield the keys that share one of the bands for the upper size of their partition."""
        for part, (_, upper) in zip(self.indexes, self.bounds(), strict=True):
            if upper is None:
                continue
            bands, r = params[
                min(int(np.searchsorted(xqs, upper / size)), len(xqs) - 1)
            ].tolist()
            index = part[r]
            row, form = index._asking(minhash)
            keys = index._entries.find(row, form, bands)
            yield from given_keys(keys, index._loads) if index.prepickle else keys


def empty_indexes(
    num_perm: int,
    num_part: int,
    rows: list[int],
    config: dict[str, Any] | None = None,
    prepickle: bool | None = None,
) -> list[dict[int, MinHashLSH]]:
    """Return for each partition a dict from r to an index, in memory or by a storage_config."""
    indexes: list[dict[int, MinHashLSH]] = []
    for part in range(num_part):
        indexes.append({})
        for r in rows:
            index_config = None
            if config is not None:
                basename = (config["basename"], pack(">H", part), pack(">H", r))
                index_config = config | {"basename": b"-".join(basename)}
            indexes[part][r] = MinHashLSH(
                num_perm=num_perm,
                params=(num_perm // r, r),
                storage_config=index_config,
                prepickle=prepickle,
            )
    return indexes


def _decimal(number: int | None) -> bytes:
    return b"" if number is None else b"%d" % number


def _number(text: bytes) -> int | None:
    return int(text) if text else None
