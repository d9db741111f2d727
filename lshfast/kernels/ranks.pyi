from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

__test__: dict[str, str]

MOST_SETS: int

@disjoint_base
class TokenFilter:
    def __new__(cls, noted: int) -> Self: ...
    def note(
        self,
        offsets: npt.NDArray[np.int64],
        tokens: npt.NDArray[np.uint64],
        rows: npt.NDArray[np.int64],
        slice: int = 0,
        slices: int = 1,
    ) -> None: ...
    def pick(
        self,
        offsets: npt.NDArray[np.int64],
        tokens: npt.NDArray[np.uint64],
        rows: npt.NDArray[np.int64],
        limits: npt.NDArray[np.uint64],
    ) -> tuple[
        npt.NDArray[np.bool_],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint64],
    ]: ...

@disjoint_base
class TokenParts:
    parts: int
    sets: int
    def __new__(
        cls, pieces: Sequence[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]]
    ) -> Self: ...
    def divide(self, piece: int) -> None: ...
    def group(self, first: int, last: int) -> None: ...
    def ranks(
        self,
    ) -> tuple[
        npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32], int
    ]: ...
