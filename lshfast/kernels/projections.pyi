from typing import Any, Final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

MOST_COORDINATES: Final[int]
MOST_FUNCTIONS: Final[int]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def gaussian(word: int) -> float: ...
def cauchy(word: int) -> float: ...
def draw_lines(seed: int, cauchy: bool, out: npt.NDArray[np.float32]) -> None: ...
def offsets(seed: int, count: int) -> npt.NDArray[np.float64]: ...
def dense(
    vectors: npt.NDArray[Any],
    matrix: npt.NDArray[np.float32],
    offsets: npt.NDArray[np.float64],
    width: float,
    positions: npt.NDArray[np.float64] | None,
    values: npt.NDArray[np.uint64] | None,
) -> int: ...
def rising(
    starts: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], dim: int
) -> bool: ...
def sparse(
    starts: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    data: npt.NDArray[Any],
    matrix: npt.NDArray[np.float32],
    offsets: npt.NDArray[np.float64],
    width: float,
    positions: npt.NDArray[np.float64] | None,
    values: npt.NDArray[np.uint64] | None,
) -> int: ...
