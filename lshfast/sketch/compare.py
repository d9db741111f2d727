"""Comparison of signatures with broadcasting, and the selection of the most similar rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from lshfast._common.types import AnyArray, Int32Array, Int64Array, UInt64Array
from lshfast.kernels import bits as kernels

# Compares one row with n rows, or n rows with n rows, and writes one or more numbers for each pair.
Kernel: TypeAlias = Callable[..., None]


def compared(
    kernel: Kernel, a: UInt64Array, b: UInt64Array, counts: int
) -> list[Int32Array]:
    """Compare two arrays of rows, (..., width); their leading dimensions are broadcast.

    Parameters
    ----------
    kernel : callable
        Called with one row, (1, width), or n rows, (n, width), with n rows, (n, width), and with
        `counts` arrays of int32, (n,), which it fills. It must be symmetric in the first two
        arguments.
    a, b : ndarray of uint64, shape (..., width)
    counts : int
        Numbers that the kernel computes for each pair.

    Returns
    -------
    list of ndarray of int32, shape (...)

    Raises
    ------
    ValueError
        If the leading dimensions cannot be broadcast.
    """
    shape = fitted(a, b)
    out = [np.empty(shape, np.int32) for _ in range(counts)]
    _compare(kernel, a, b, out)
    return out


def fitted(a: AnyArray, b: AnyArray, action: str = "compared") -> tuple[int, ...]:
    """Return the broadcast leading dimensions of two arrays of rows, or raise ValueError."""
    if a.ndim == 1 or a.shape == b.shape:
        return b.shape[:-1]
    try:
        return np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ValueError(
            "a and b must have the same number of rows, or one of them a single row: "
            f"rows of shape {a.shape} cannot be {action} with those of shape {b.shape}"
        ) from None


def _compare(
    kernel: Kernel, a: UInt64Array, b: UInt64Array, out: list[Int32Array]
) -> None:
    width = a.shape[-1]
    if b.size == width:
        a, b = b, a
    if a.size == width or a.shape == b.shape:
        kernel(_rows(a, width), _rows(b, width), *[each.reshape(-1) for each in out])
        return
    for i in range(len(out[0])):
        left_signature = _element(a, i, out[0].ndim)
        right_signature = _element(b, i, out[0].ndim)
        _compare(
            kernel,
            left_signature,
            right_signature,
            [each[i : i + 1].reshape(each.shape[1:]) for each in out],
        )


def _element(side: UInt64Array, i: int, dimensions: int) -> UInt64Array:
    """Return element i of a side, or the only one; a side of fewer dimensions stands for all."""
    return side[min(i, len(side) - 1)] if side.ndim > dimensions else side


def _rows(array: UInt64Array, width: int) -> UInt64Array:
    is_plain = array.flags.c_contiguous and array.flags.aligned
    return (array if is_plain else np.array(array, order="C")).reshape(-1, width)


def equal_slots(a: UInt64Array, b: UInt64Array) -> Int32Array:
    """Return the numbers of equal slots of signatures; slots without a value do not count.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> from lshfast.sketch.compare import equal_slots
    >>> signatures = MinHasher(16).sketch(
    ...     TokenSets.from_sets([["a"], ["b"], ["a"], []])
    ... )
    >>> equal_slots(signatures[0], signatures).tolist()
    [16, 0, 16, 0]
    """
    return compared(kernels.compare, a, b, 2)[0]


def best_rows(equal: Int32Array, most: int) -> Int64Array:
    """Return the rows with the greatest counts, the greatest first, then the smaller row.

    Rows with a negative count are omitted, so there may be fewer than `most`.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.sketch.compare import best_rows
    >>> best_rows(np.array([3, 9, -1, 3, 9, 3], np.int32), 4).tolist()
    [1, 4, 0, 3]
    """
    least = 0
    if 0 < most < len(equal):
        place = len(equal) - most
        least = int(np.partition(equal, place)[place])
    better = np.flatnonzero(equal > max(least, -1))
    if least >= 0:
        ties = np.flatnonzero(equal == least)
        better = np.concatenate([better, ties[: max(most - len(better), 0)]])
    order = np.argsort(-equal[better], kind="stable")
    return np.asarray(better[order][:most])
