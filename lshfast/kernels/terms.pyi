from typing import final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

__test__: dict[str, str]

@final
class TermRows:
    n: int
    terms_count: int
    def __new__(
        cls,
        offsets: npt.NDArray[np.int64],
        terms: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64],
        terms_count: int,
    ) -> Self: ...
    def products(
        self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]: ...

@final
class TermIndex:
    n: int
    def __new__(
        cls, vectors: TermRows, rows: npt.NDArray[np.int64], kept: npt.NDArray[np.uint8]
    ) -> Self: ...
    def nearest(
        self,
        vectors: TermRows,
        rows: npt.NDArray[np.int64],
        own: npt.NDArray[np.int32],
        neighbors: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
