from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType, disjoint_base

_Int64: TypeAlias = npt.NDArray[np.int64]
_UInt64: TypeAlias = npt.NDArray[np.uint64]
_UInt32: TypeAlias = npt.NDArray[np.uint32]
_UInt8: TypeAlias = npt.NDArray[np.uint8]
_Float64: TypeAlias = npt.NDArray[np.float64]

MOST_LEVELS: Final[int]
MOST_ROWS: Final[int]
FIRST_PIECE: Final[int]
SAMPLE: Final[int]
LARGE: Final[int]
HUGE_PAGE: Final[int]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def large_empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]: ...
def slot_marks(signatures: _UInt64) -> _UInt64: ...

@disjoint_base
class Run:
    @property
    def members(self) -> _Int64: ...
    @property
    def codes(self) -> _UInt64: ...
    @property
    def rows(self) -> _UInt32: ...
    @property
    def crowds(self) -> _Float64: ...
    @property
    def nbytes(self) -> int: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> int: ...
    @staticmethod
    def build(
        signatures: _UInt64, rows: _Int64, trees: int, singles: bool = False
    ) -> Run: ...
    @staticmethod
    def merge(a: Run, b: Run, live: _UInt8) -> Run: ...

@disjoint_base
class Snapshot:
    def __new__(
        cls,
        signatures: _UInt64,
        marks: _UInt64,
        live: _UInt8,
        sizes: _Int64 | None,
        trees: int,
        groups: Sequence[Sequence[Run]],
        loose: Sequence[int] | _Int64,
        steps: _UInt32,
        spare: list[Any],
        singles: bool = False,
    ) -> Snapshot: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def top(self, queries: _UInt64, k: int) -> tuple[_Int64, _Int64, _Int64]: ...
    def within(
        self,
        queries: _UInt64,
        query_sizes: _Int64,
        counts: _UInt32,
        threshold: float,
        slack: float = 0.0,
    ) -> tuple[_Int64, _Int64, _Float64]: ...
