"""Tables with the keys of rows: in portions, so that few keys are in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Int64Array
from lshfast._engine.clock import naming_stage
from lshfast._engine.pairs.listed import PairArray
from lshfast._io import write_tables
from lshfast.join.pair_arrays import PAIR

# The rows of a table whose keys are in memory at a time, and the bytes of these keys if they are in
# a file.
ROWS_AT_ONCE = 1 << 16
KEY_BYTES_AT_ONCE = 8 << 20

Table: TypeAlias = dict[str, "list[Any] | npt.NDArray[Any]"]


class Keyed(Protocol):
    """Rows that have keys, such as a corpus."""

    def keys_of(self, rows: Int64Array) -> list[str | int]:
        """Return the keys of some rows."""
        ...

    def key_bytes(self, rows: Int64Array) -> Int64Array:
        """Return the bytes that are read from a file for the keys of some rows."""
        ...


def write_pairs(
    path: str | os.PathLike[str],
    batches: Iterable[PairArray],
    keyed: Keyed,
    similarity: str,
    overwrite: bool,
    kinds: Mapping[str, str],
) -> None:
    """Write batches of pairs (key_i, key_j, similarity); `similarity` names the third column."""

    def tables() -> Iterator[Table]:
        for pairs in chain([np.empty(0, PAIR)], batches):
            for part in portions(keyed, pairs["i"], pairs["j"]):
                yield {
                    "key_i": keyed.keys_of(pairs["i"][part]),
                    "key_j": keyed.keys_of(pairs["j"][part]),
                    similarity: pairs["similarity"][part],
                }

    with naming_stage("write"):
        write_tables(path, tables(), overwrite, kinds)


def portions(keyed: Keyed, *columns: Int64Array) -> Iterator[slice]:
    """Yield slices of a table that has the keys of these rows in its columns: one at least."""
    at = 0
    n = len(columns[0])
    while True:
        window = slice(at, at + ROWS_AT_ONCE)
        nbytes = np.cumsum(
            sum(keyed.key_bytes(rows[window]) for rows in columns), dtype=np.int64
        )
        end = at + max(1, int(np.searchsorted(nbytes, KEY_BYTES_AT_ONCE, "right")))
        yield slice(at, end)
        at = end
        if at >= n:
            return
