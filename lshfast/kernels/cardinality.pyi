from typing import Any, Final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

MIN_P: Final[int]
MAX_P: Final[int]
MIN_NUM_PERM: Final[int]
MAX_NUM_PERM: Final[int]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def constant(seed: int) -> int: ...
def update(
    tokens: npt.NDArray[np.uint64], constant: int, registers: npt.NDArray[np.uint8]
) -> None: ...
def update_rows(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    constant: int,
    registers: npt.NDArray[np.uint8],
) -> None: ...
def update_hashes(
    hashes: npt.NDArray[np.uint64], width: int, registers: npt.NDArray[np.uint8]
) -> None: ...
def register_estimates(
    registers: npt.NDArray[np.uint8], width: int, out: npt.NDArray[np.float64]
) -> None: ...
def check_registers(registers: npt.NDArray[Any], width: int) -> int: ...
def register_estimate(registers: npt.NDArray[Any], width: int) -> float: ...
def register_sum(registers: npt.NDArray[Any], width: int) -> tuple[float, int]: ...
def classic_estimates(
    signatures: npt.NDArray[np.uint64], out: npt.NDArray[np.float64]
) -> None: ...
def fast_estimates(
    signatures: npt.NDArray[np.uint64], out: npt.NDArray[np.float64]
) -> None: ...
def fast_variance(n: float, k: int) -> float: ...
