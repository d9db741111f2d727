"""Arrays that store the sketcher that made them, so sketches of another one are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of
from lshfast._common.types import AnyArray
from lshfast.tokens import TokenSets


class SketchArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of sketches with one row per set, and the sketcher that made it.

    Rows and slices have the same sketcher. The result of a computation is a plain array. Functions
    that take sketches refuse sketches of another one; they cannot check plain arrays. The
    attribute does not change if the array is written to, so write to a plain copy,
    ``np.array(signatures)``, instead.

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

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False
    ) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __reduce__(self) -> tuple[Any, ...]:
        return made_by, (self.hasher, np.asarray(self), type(self))


def made_by(
    hasher: Any, array: AnyArray, kind: type[SketchArray] = SketchArray
) -> AnyArray:
    """Return an array as a `SketchArray` of this sketcher."""
    sketches = np.asarray(array).view(kind)
    sketches.hasher = hasher
    return sketches


def checked(
    values: npt.ArrayLike,
    name: str,
    maker: Any,
    dtype: type[np.generic],
    width: int,
    kind: str,
    unit: str,
) -> AnyArray:
    """Return sketches, (..., width), as a plain array, or raise an error for others.

    Parameters
    ----------
    values : array_like
        For a plain array, only dtype and width are checked.
    name : str
        Name of the argument, for error messages.
    maker : object
        The sketcher.
    dtype : type
    width : int
        Size of the last dimension.
    kind, unit : str
        Words for error messages: "signatures of ", "slots a signature".

    Raises
    ------
    TypeError
        If the dtype differs.
    ValueError
        If the width differs, or a different sketcher made the array.
    """
    # numpy would make an array of TokenSets if they have one size.
    if isinstance(values, TokenSets):
        raise TypeError(
            f"{name} must be {kind}{np.dtype(dtype)}, not TokenSets: sketch them first"
        )
    array = array_of(values, name)
    if array.dtype != dtype:
        raise TypeError(f"{name} must be {kind}{np.dtype(dtype)}, not {array.dtype}")
    if array.ndim < 1 or array.shape[-1] != width:
        raise ValueError(f"{name} must have {width} {unit}, not shape {array.shape}")
    other = getattr(values, "hasher", None)
    if other is not None and other != maker:
        raise ValueError(f"{name} are of {other}, not of {maker}")
    return array
