"""Checks of the arguments of hash functions: 64-bit keys, and numbers of buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of
from lshfast._common.types import UInt64Array


def words_of(values: npt.ArrayLike, name: str = "keys") -> UInt64Array:
    """Return integers as 64-bit words, C-contiguous, or raise an error that names the argument.

    Parameters
    ----------
    values : array_like of integers, shape (n,)
        In 0..2**64 - 1. Arrays of uint64 are not copied.
    name : str
        Name of the argument in errors.

    Returns
    -------
    ndarray of uint64, shape (n,)

    Raises
    ------
    TypeError
        If the values are not integers.
    ValueError
        If there is not one dimension, or a value is out of range.
    """
    array = array_of(values, name)
    if array.ndim == 0 and array.dtype.kind not in "iu":  # a set, an iterator, a str
        raise TypeError(
            f"{name} must be an array or a sequence of integers, not {type(values).__name__}"
        )
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if len(array) == 0:
        return np.zeros(0, np.uint64)
    # Numpy converts ints to floats or objects if some need 64 bits.
    if not isinstance(values, np.ndarray) and array.dtype.kind in "fO":
        ints = values if isinstance(values, (list, tuple)) else array.tolist()
        return _words_of_ints(list(ints), name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise ValueError(f"{name} must be in 0..2**64 - 1, not {array.min()}")
    return np.ascontiguousarray(array, np.uint64)


def _words_of_ints(values: list[Any], name: str) -> UInt64Array:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} must be integers, not {value!r}")
        if not 0 <= value < 2**64:
            raise ValueError(f"{name} must be in 0..2**64 - 1, not {value}")
    return np.array(values, np.uint64)
