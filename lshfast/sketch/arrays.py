"""Arrays of sketches, which know their maker, so that those of another maker can be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.tokens import TokenSets, array_of


class SketchArray(np.ndarray[Any, np.dtype[Any]]):
    """Sketches that know their maker: an array with a row a set, whose rows and slices know the maker too.

    The result of a computation with it is a plain array. Writing into it does not change its maker: write into a plain
    copy, ``np.array(signatures)``. Functions that take sketches refuse those of another maker; plain arrays are taken
    on trust.

    Attributes
    ----------
    hasher : object or None
        The sketcher that made the array.

    Examples
    --------
    >>> from lshfast import MinHasher, TokenSets
    >>> signatures = MinHasher(seed=7).sketch(TokenSets.from_sets([["a"], ["b"]]))
    >>> signatures[0].hasher
    MinHasher(num_perm=128, scheme='fast', seed=7)
    >>> type(signatures == signatures[0]).__name__
    'ndarray'
    """

    hasher: Any

    def __array_finalize__(self, made_from: Any) -> None:
        self.hasher = getattr(made_from, "hasher", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __reduce__(self) -> tuple[Any, ...]:
        return made_by, (self.hasher, np.asarray(self), type(self))


def made_by(hasher: Any, array: npt.NDArray[Any], kind: type[SketchArray] = SketchArray) -> npt.NDArray[Any]:
    """Return an array as one that this sketcher made."""
    made = np.asarray(array).view(kind)
    made.hasher = hasher
    return made


def checked(
    values: npt.ArrayLike, name: str, maker: Any, dtype: type[np.generic], width: int, kind: str, unit: str
) -> npt.NDArray[Any]:
    """Return what a maker made, (..., width), as a plain array, or say why it is not that.

    Parameters
    ----------
    values : array_like
        Plain arrays are taken on trust.
    name : str
        Of the argument, for the message, as are `kind` ("signatures of ") and `unit` ("slots a signature").
    maker : object
    dtype : type
    width : int
        Of the last dimension.
    kind, unit : str

    Raises
    ------
    TypeError
        If the dtype is another.
    ValueError
        If the width is another, or the array is known to be another maker's.
    """
    if isinstance(values, TokenSets):  # numpy would make an array of them if they have one size
        raise TypeError(f"{name} must be {kind}{np.dtype(dtype)}, not TokenSets: sketch them first")
    array = array_of(values, name)
    if array.dtype != dtype:
        raise TypeError(f"{name} must be {kind}{np.dtype(dtype)}, not {array.dtype}")
    if array.ndim < 1 or array.shape[-1] != width:
        raise ValueError(f"{name} must have {width} {unit}, not shape {array.shape}")
    other = getattr(values, "hasher", None)
    if other is not None and other != maker:
        raise ValueError(f"{name} are of {other}, not of {maker}")
    return array
