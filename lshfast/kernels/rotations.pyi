from typing import Final

import numpy as np
import numpy.typing as npt

MAX_DIM: Final[int]
__test__: dict[str, str]

def shape(dim: int) -> tuple[int, int]: ...
def factors(seed: int, rotations: int, dim: int) -> npt.NDArray[np.float32]: ...
def rotate(
    values: npt.NDArray[np.float32] | npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64] | None,
    columns: npt.NDArray[np.int64] | None,
    dim: int,
    factors: npt.NDArray[np.float32],
    out: npt.NDArray[np.float32],
) -> int: ...
def codes(
    values: npt.NDArray[np.float32] | npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64] | None,
    columns: npt.NDArray[np.int64] | None,
    dim: int,
    factors: npt.NDArray[np.float32],
    count: int,
    out: npt.NDArray[np.uint64],
    zero: npt.NDArray[np.uint8],
) -> int: ...
def farthest(
    values: npt.NDArray[np.float32] | npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64] | None,
    columns: npt.NDArray[np.int64] | None,
    dim: int,
    factors: npt.NDArray[np.float32],
    outputs: int,
    out: npt.NDArray[np.uint64],
) -> int: ...
