"""Pairs of rows that met in a bucket, as they are collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lshfast._common.rows import run_begins
from lshfast._common.types import AnyArray, Float64Array, Int32Array


@dataclass(frozen=True)
class Meeting:
    """Similar pairs: the numbers of the rows, left < right, and the values of the measure."""

    left: Int32Array
    right: Int32Array
    value: Float64Array

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def none(cls) -> Meeting:
        """Return no pairs."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))

    @classmethod
    def joined(cls, parts: Sequence[Meeting]) -> Meeting:
        """Return the pairs of several, at least one."""
        left_rows, right_rows = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("left", "right")
        )
        return cls(
            left_rows, right_rows, np.concatenate([part.value for part in parts])
        )

    def of(self, places: AnyArray) -> Meeting:
        """Return some of the pairs."""
        return Meeting(self.left[places], self.right[places], self.value[places])

    def different(self) -> Meeting:
        """Return the pairs without repetitions, sorted."""
        order = np.lexsort((self.right, self.left))
        return self.of(order[run_begins(self.left[order], self.right[order])])


def joined_parts(parts: list[Meeting], least: int) -> list[Meeting]:
    """Return the pairs of many parts in parts of at least `least` pairs, except the last."""
    large_parts = list[Meeting]()
    waiting = list[Meeting]()
    count = 0
    for part in parts:
        waiting.append(part)
        count += len(part)
        if count >= least:
            large_parts.append(Meeting.joined(waiting))
            waiting = []
            count = 0
    if waiting:
        large_parts.append(Meeting.joined(waiting))
    return large_parts


def spanning(meeting: Meeting, labels: Int32Array) -> Meeting:
    """Return the first of the pairs of each two components, without pairs of one component."""
    left_labels = labels[meeting.left].astype(np.uint64)
    right_labels = labels[meeting.right].astype(np.uint64)
    low = np.minimum(left_labels, right_labels)
    high = np.maximum(left_labels, right_labels)
    _, first = np.unique(low << np.uint64(32) | high, return_index=True)
    first = first[low[first] != high[first]]
    return meeting.of(first)
