from typing import Any, Final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

MAX_NUM_PERM: Final[int]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def is_signature(array: npt.NDArray[Any], k: int) -> bool: ...
def classic_constants(
    seed: int, k: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
def fast_constants(
    seed: int, k: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
def classic(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    a: npt.NDArray[np.uint64],
    b: npt.NDArray[np.uint64],
    out: npt.NDArray[np.uint64],
) -> None: ...
def fast(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    rounds: npt.NDArray[np.uint64],
    slots: npt.NDArray[np.uint64],
    out: npt.NDArray[np.uint64],
) -> None: ...
