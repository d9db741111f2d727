"""The column that `keep` names: each sketch task writes its values, and they are ranked."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import parts_of_rows
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._io.keys import clashing_order
from lshfast.join.external.record_spool import RecordReader, RecordSpool
from lshfast.stages.sketching import OF_ORDERS, restored_corpus
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.string_ranks import Strings, ranked_strings

# Bytes of strings that are checked at a time.
DECODED_BYTES = 1 << 20

# The bit by which signed integers are out of the order of unsigned ones.
SIGN = np.uint64(1 << 63)


def check_kinds(plan: StagePlan, kinds: Sequence[str | None]) -> None:
    """Raise DataError if the values of some shards are strings, and of others numbers.

    `kinds` has the kind of the values of each shard, "str", "int" or "float", or None for a shard
    without rows.
    """
    first = next((kind for kind in kinds if kind is not None), None)
    for shard, kind in enumerate(kinds):
        if kind is not None and (kind == "str") != (first == "str"):
            value = _Values(plan, shard, kind).first(kind)
            corpus = restored_corpus(plan, shard, False)
            raise corpus.fault(0, clashing_order(corpus.layout, value))


class Preferences:
    """Words by which rows are preferred to others; rows with smaller words come first.

    Numbers are their own order; strings are ranked, those of all rows that share a bucket together.

    Parameters
    ----------
    plan : StagePlan
    first_row : ndarray of int64, shape (shards + 1,)
    kinds : sequence of str or None
        As for `check_kinds`.
    labels : RecordSpool
        Has the rows as first words, ascending.
    folder : str
        Gets files of strings.
    """

    def __init__(
        self,
        plan: StagePlan,
        first_row: Int64Array,
        kinds: Sequence[str | None],
        labels: RecordSpool,
        folder: str,
    ) -> None:
        self._plan = plan
        self._first_row = first_row
        self._kinds = kinds
        self._shard = -1
        self._values: _Values | None = None
        self._ranks: RecordReader | None = None
        if "str" in kinds:
            self._ranks = ranked_strings(
                plan,
                first_row,
                lambda shard: self._of_shard(shard).strings(),
                labels,
                folder,
            ).reader()

    def of(self, shard: int, rows: Int64Array) -> UInt64Array:
        """Return the words of some rows of a shard; the rows of all calls ascend."""
        if self._plan.order_column is None or shard >= self._plan.new_shards:
            # Of equal texts, the first one is preferred unless the last one is wanted.
            words = rows.astype(np.uint64)
            return ~words if self._plan.keep == "last" else words
        if self._ranks is not None:
            ranks = self._ranks.take(len(rows))[:, 1].view(np.int64)
        else:
            numbers = self._of_shard(shard).numbers[rows - self._first_row[shard]]
            ranks = _ranks_of_numbers(numbers, "float" in self._kinds)
        preferred_last = self._plan.keep.startswith("max")
        return ~(ranks if preferred_last else ~ranks).view(np.uint64) ^ SIGN

    def _of_shard(self, shard: int) -> _Values:
        if self._values is None or shard != self._shard:
            self._values = _Values(self._plan, shard, self._kinds[shard] or "int")
            self._shard = shard
        return self._values


def _ranks_of_numbers(values: npt.NDArray[Any], are_floats: bool) -> Int64Array:
    """Return integers in the order of these numbers."""
    ranks: Int64Array = values
    if are_floats:
        # The bits of doubles are in their order, that of negative ones reversed; -0 becomes 0.
        bits = (values.astype(np.float64) + 0.0).view(np.int64)
        ranks = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    return ranks


def ranks_of_preferences(words: UInt64Array) -> Int64Array:
    """Return values for these words; rows with greater values are preferred."""
    return (~words ^ SIGN).view(np.int64)


class _Values:
    """The values of the rows of a shard: numbers, or of strings the lengths.

    Attributes
    ----------
    numbers : ndarray of int64, float64 or uint64, shape (m,)
    """

    numbers: npt.NDArray[Any]

    def __init__(self, plan: StagePlan, shard: int, kind: str) -> None:
        with TaskFile(plan, "sketch", shard) as file:
            arrays = file.only(OF_ORDERS)
            self._fault = file.fault
            self.numbers = arrays["orders"]
            self._data = arrays["values"]
            if len(self.numbers) != file.rows:
                raise file.fault("it has not one order value for each row")
            if kind != "str":
                self.numbers = self.numbers.view(
                    np.float64 if kind == "float" else np.int64
                )
                if (self.numbers != self.numbers).any():
                    raise file.fault("an order value is not a number")
            elif (self.numbers > len(self._data)).any() or int(
                self.numbers.sum()
            ) != len(self._data):
                raise file.fault("its order values have other lengths")

    def strings(self) -> Strings:
        """Return the values if they are strings."""
        decoder = getincrementaldecoder("utf-8")("surrogatepass")
        try:
            for part in parts_of_rows(len(self._data), DECODED_BYTES):
                decoder.decode(self._data[part].tobytes())
            decoder.decode(b"", final=True)
        except ValueError as error:
            raise self._fault(f"its order values are damaged: {error}") from None
        ends = np.cumsum(self.numbers, dtype=np.uint64).astype(np.int64)
        return Strings(self._data, np.concatenate([np.zeros(1, np.int64), ends]))

    def first(self, kind: str) -> Any:
        """Return the first value."""
        if kind != "str":
            return self.numbers[0].item()
        first_bytes = self._data[: int(self.numbers[0])].tobytes()
        return first_bytes.decode(errors="surrogatepass")
