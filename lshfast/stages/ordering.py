"""The column that `keep` names: each sketch task writes its values, and they are ranked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.inputs import ranks_of
from lshfast._io.keys import clashing_order
from lshfast._io.string_file import StringFile
from lshfast.join.external.record_spool import RecordSpool
from lshfast.kernels.text import Texts
from lshfast.stages.sketching import OF_ORDERS, restored_corpus
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.task_reader import Arrays, TaskFile

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
            value = next(iter(_Values(plan, shard, kind).at(np.zeros(1, np.int64))))
            value = value if isinstance(value, str) else value.item()
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
        Gets a file of strings.
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
        self._ranks = np.empty(0, np.int64)
        if "str" in kinds:
            strings = StringFile(os.path.join(folder, "orders.strings"))
            self._add_strings(labels, strings)
            self._ranks = ranks_of(strings, plan.keep)

    def of(self, shard: int, rows: Int64Array) -> UInt64Array:
        """Return the words of some rows of a shard; the rows of all calls ascend."""
        if self._plan.order_column is None:
            # Of equal texts, the first one is preferred unless the last one is wanted.
            words = rows.astype(np.uint64)
            return ~words if self._plan.keep == "last" else words
        if "str" in self._kinds:
            ranks = self._ranks[: len(rows)]
            self._ranks = self._ranks[len(rows) :]
        else:
            values = self._of_shard(shard).at(rows - self._first_row[shard])
            numbers = np.asarray(values)
            ranks = _ranks_of_numbers(numbers, "float" in self._kinds, self._plan.keep)
        return ~ranks.view(np.uint64) ^ SIGN

    def _of_shard(self, shard: int) -> _Values:
        if self._values is None or shard != self._shard:
            self._values = _Values(self._plan, shard, self._kinds[shard] or "int")
            self._shard = shard
        return self._values

    def _add_strings(self, labels: RecordSpool, strings: StringFile) -> None:
        reader = labels.reader()
        for shard in range(len(self._kinds)):
            rows = reader.until(int(self._first_row[shard + 1]))[:, 0].view(np.int64)
            if len(rows):
                for value in self._of_shard(shard).at(rows - self._first_row[shard]):
                    strings.append(value)


def _ranks_of_numbers(
    values: npt.NDArray[Any], are_floats: bool, keep: str
) -> Int64Array:
    """Return integers in the order in which max:COLUMN or min:COLUMN prefers these numbers."""
    ranks: Int64Array = values
    if are_floats:
        # The bits of doubles are in their order, that of negative ones reversed; -0 becomes 0.
        bits = (values.astype(np.float64) + 0.0).view(np.int64)
        ranks = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    return ranks if keep.startswith("max") else ~ranks


def ranks_of_preferences(words: UInt64Array) -> Int64Array:
    """Return values for these words; rows with greater values are preferred."""
    return (~words ^ SIGN).view(np.int64)


class _Values:
    """The values of the rows of a shard."""

    def __init__(self, plan: StagePlan, shard: int, kind: str) -> None:
        with TaskFile(plan, "sketch", shard) as file:
            self._fault = file.fault
            self._numbers, self._strings = _values_of(file, file.only(OF_ORDERS), kind)

    def at(self, rows: Int64Array) -> npt.NDArray[Any] | list[str]:
        """Return the values of some rows."""
        if self._strings is None:
            return self._numbers[rows]
        try:
            return [
                self._strings[row].decode(errors="surrogatepass")
                for row in rows.tolist()
            ]
        except ValueError as error:
            raise self._fault(f"its order values are damaged: {error}") from None


def _values_of(
    file: TaskFile, arrays: Arrays, kind: str
) -> tuple[npt.NDArray[Any], Texts | None]:
    """Check the values of a shard, and return them: numbers, or strings."""
    words: UInt64Array = arrays["orders"]
    if len(words) != file.rows:
        raise file.fault("it has not one order value for each row")
    if kind != "str":
        numbers = words.view(np.float64 if kind == "float" else np.int64)
        if (numbers != numbers).any():
            raise file.fault("an order value is not a number")
        return numbers, None
    data = arrays["values"]
    if (words > len(data)).any() or int(words.sum()) != len(data):
        raise file.fault("its order values have other lengths")
    ends = np.cumsum(words, dtype=np.uint64).astype(np.int64)
    return words, Texts.of_buffer(data, np.concatenate([np.zeros(1, np.int64), ends]))
