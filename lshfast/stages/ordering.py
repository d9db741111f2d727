"""The column that `keep` names: each sketch task writes its values, and they are ranked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.inputs import ranks_of
from lshfast._io.keys import clashing_order
from lshfast._io.string_file import StringFile
from lshfast.kernels.text import Texts
from lshfast.stages.sketching import OF_ORDERS, restored_corpus
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.task_reader import Arrays, TaskFile


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


def ranks_of_rows(
    plan: StagePlan,
    first_row: Int64Array,
    kinds: Sequence[str | None],
    rows: Int64Array,
) -> Int64Array:
    """Return a value for each of some rows of the run, ascending, by which they are preferred."""
    with tempfile.TemporaryDirectory(
        prefix="lshfast-", ignore_cleanup_errors=True
    ) as folder:
        strings = StringFile(os.path.join(folder, "orders.strings"))
        numbers: list[npt.NDArray[Any]] = [
            np.empty(0, np.float64 if "float" in kinds else np.int64)
        ]
        for shard, kind in enumerate(kinds):
            low, high = np.searchsorted(rows, first_row[shard : shard + 2])
            if low == high:
                continue
            values = _Values(plan, shard, kind or "int").at(
                rows[low:high] - first_row[shard]
            )
            if isinstance(values, np.ndarray):
                numbers.append(values)
            else:
                for value in values:
                    strings.append(value)
        if "str" in kinds:
            return ranks_of(strings, plan.keep)
        return ranks_of(np.concatenate(numbers, dtype=numbers[0].dtype), plan.keep)


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
