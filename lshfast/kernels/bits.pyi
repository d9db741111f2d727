import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def group_constant(seed: int) -> int: ...
def groups(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    constant: int,
    out: npt.NDArray[np.uint64],
) -> None: ...
def compare(
    a: npt.NDArray[np.uint64],
    b: npt.NDArray[np.uint64],
    equal: npt.NDArray[np.int32],
    skipped: npt.NDArray[np.int32],
) -> None: ...
def words_of(k: int, bits: int) -> int: ...
def pack(
    signatures: npt.NDArray[np.uint64], bits: int, out: npt.NDArray[np.uint64]
) -> None: ...
def compare_packed(
    a: npt.NDArray[np.uint64],
    b: npt.NDArray[np.uint64],
    k: int,
    bits: int,
    equal: npt.NDArray[np.int32],
) -> None: ...
