"""Arrays whose rows come in parts, without a second copy of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lshfast._common.types import AnyArray


class GrowingArray:
    """An array that grows by rows. Parts are copied into it at once, so that they need not be kept.

    Parameters
    ----------
    dtype : dtype
    *shape : int
        The shape of a row.
    room : int, default 0
        Rows that are expected; there may be more or fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast._common.growing import GrowingArray
    >>> rows = GrowingArray(np.int64, 2)
    >>> rows.extend(np.array([[1, 2], [3, 4]]))
    >>> rows.extend(np.array([[5, 6]]))
    >>> rows.finished().tolist()
    [[1, 2], [3, 4], [5, 6]]
    """

    def __init__(self, dtype: npt.DTypeLike, *shape: int, room: int = 0) -> None:
        self._array: AnyArray = np.empty((room, *shape), dtype)
        self._filled = 0

    def __len__(self) -> int:
        return self._filled

    def extend(self, part: AnyArray) -> None:
        """Add rows at the end."""
        end = self._filled + len(part)
        if end > len(self._array):
            # numpy fills what is new with zeros, so it takes memory at once; large blocks are moved
            # without a copy.
            self._resize(max(end, len(self._array) + len(self._array) // 16))
        self._array[self._filled : end] = part
        self._filled = end

    def rows(self) -> AnyArray:
        """Return the rows so far, in memory that is valid until more are added."""
        return self._array[: self._filled]

    def finished(self) -> AnyArray:
        """Return the rows; nothing may be added after this."""
        self._resize(self._filled)
        return self._array

    def _resize(self, rows: int) -> None:
        if rows != len(self._array):
            self._array.resize((rows, *self._array.shape[1:]), refcheck=False)
