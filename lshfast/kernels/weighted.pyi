from typing import Final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

LANES: Final[int]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def exact_log(x: float) -> float: ...
def exact_exponential(v: int) -> float: ...
def constants(seed: int, k: int) -> tuple[int, npt.NDArray[np.uint64]]: ...
def shells(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    weights: npt.NDArray[np.float64],
    constant: int,
    points: float,
    out: npt.NDArray[np.uint64],
) -> None: ...
def icws(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    weights: npt.NDArray[np.float64],
    constant: int,
    slots: npt.NDArray[np.uint64],
    out: npt.NDArray[np.uint64],
) -> None: ...
def multisets(
    tokens: npt.NDArray[np.uint64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]: ...
def similarities(
    offsets: npt.NDArray[np.int64],
    elements: npt.NDArray[np.uint64],
    pairs: npt.NDArray[np.uint64],
    out: npt.NDArray[np.float64],
) -> None: ...
def samples_of(
    offsets: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    logs: npt.NDArray[np.float32],
    tables: npt.NDArray[np.float32],
    margin: float,
    shifted: bool,
    out: npt.NDArray[np.int64],
) -> None: ...
def agreement(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> int: ...
def agreements(
    a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]: ...
