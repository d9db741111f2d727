from typing import Final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

MAX_BITS: Final[int]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def constants(seed: int, words: int) -> npt.NDArray[np.uint64]: ...
def hashes(tokens: npt.NDArray[np.uint64], constant: int) -> npt.NDArray[np.uint64]: ...
def overflowing(
    offsets: npt.NDArray[np.int64], weights: npt.NDArray[np.int64]
) -> int: ...
def codes(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    constants: npt.NDArray[np.uint64],
    out: npt.NDArray[np.uint64],
) -> None: ...
def counters(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    weights: npt.NDArray[np.int64] | None,
    constants: npt.NDArray[np.uint64],
    out: npt.NDArray[np.int64],
) -> None: ...
def dots(
    vectors: npt.NDArray[np.int64],
    masks: npt.NDArray[np.uint64],
    out: npt.NDArray[np.int64],
) -> None: ...
def dots_of_doubles(
    vectors: npt.NDArray[np.float64],
    masks: npt.NDArray[np.uint64],
    out: npt.NDArray[np.float64],
) -> None: ...
def settle(
    codes: npt.NDArray[np.uint64],
    zeros: npt.NDArray[np.uint64],
    bits: int,
    rule: int,
    seed: int,
) -> None: ...
def distances(
    a: npt.NDArray[np.uint64],
    b: npt.NDArray[np.uint64],
    bits: int,
    out: npt.NDArray[np.int32],
) -> None: ...
