from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from lshfast.kernels.text import Texts

_Int64: TypeAlias = npt.NDArray[np.int64]
_UInt32: TypeAlias = npt.NDArray[np.uint32]
_UInt64: TypeAlias = npt.NDArray[np.uint64]

MATCH: Final[np.dtype[np.void]]
NO_UNIT: Final[int]
__test__: dict[str, str]

def winnow(
    offsets: _Int64, hashes: _UInt64, window: int
) -> tuple[_Int64, _Int64, _Int64]: ...

@final
class Vocabulary:
    def __new__(cls, multiplier: int) -> Vocabulary: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

def units_of(
    texts: Texts, counts: _Int64, vocabulary: Vocabulary | None, unique: bool
) -> _UInt32: ...
def extend(
    a: _UInt32,
    b: _UInt32,
    x: _Int64,
    y: _Int64,
    low: _Int64,
    high: _Int64,
    k: int,
    least: int,
) -> npt.NDArray[np.void]: ...
def cover(
    a: _UInt32,
    b: _UInt32,
    x: _Int64,
    y: _Int64,
    counts: _Int64,
    starts: _Int64,
    ends: _Int64,
    least: int,
) -> npt.NDArray[np.void]: ...
def hash_windows(
    units: _UInt32, first: _Int64, counts: _Int64, length: int, multiplier: int
) -> _UInt64: ...
def are_equal(
    a: _UInt32, b: _UInt32, x: _Int64, y: _Int64, lengths: _Int64
) -> npt.NDArray[np.bool_]: ...
def locate(texts: Texts, rows: _Int64, units: _Int64, words: bool) -> _Int64: ...
def have_same_words(
    texts: Texts,
    i: _Int64,
    i_start: _Int64,
    i_end: _Int64,
    j: _Int64,
    j_start: _Int64,
    j_end: _Int64,
) -> bool: ...
def slices(texts: Texts, rows: _Int64, starts: _Int64, ends: _Int64) -> list[bytes]: ...
