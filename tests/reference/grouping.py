"""What the kernels of grouping compute, as its definition says."""

from __future__ import annotations

from collections.abc import Sequence


def shared_slots(signatures: Sequence[Sequence[int]]) -> list[int]:
    """Return in how many slots each signature has a value that another one has in the same slot."""
    columns = [list(column) for column in zip(*signatures, strict=True)]
    return [
        sum(column.count(column[row]) > 1 for column in columns)
        for row in range(len(signatures))
    ]
