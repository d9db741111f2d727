"""Types of arrays."""

from __future__ import annotations

import os
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Int64Array: TypeAlias = npt.NDArray[np.int64]
UInt64Array: TypeAlias = npt.NDArray[np.uint64]
Float64Array: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
Int32Array: TypeAlias = npt.NDArray[np.int32]
UInt32Array: TypeAlias = npt.NDArray[np.uint32]
Float32Array: TypeAlias = npt.NDArray[np.float32]
AnyArray: TypeAlias = npt.NDArray[Any]
RecordArray: TypeAlias = npt.NDArray[np.void]

# A path in the file system.
PathLike: TypeAlias = str | os.PathLike[str]

# Pairs of rows: a structured array with the fields i, j and similarity.
PairArray: TypeAlias = RecordArray

# Arrays whose number of dimensions is known to a type checker.
Scalar = TypeVar("Scalar", bound=np.generic)
Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[Scalar]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[Scalar]]
# Arrays whose number of dimensions is not known. A type checker accepts them for this type, which
# no array really has. The first overload of a function takes this type and returns Any; without it,
# such arrays would match the overload for vectors.
AnyShape: TypeAlias = np.ndarray[
    tuple[NoReturn, NoReturn, NoReturn, NoReturn], np.dtype[Scalar]
]
