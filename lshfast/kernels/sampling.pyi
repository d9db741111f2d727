import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def bits(
    codes: npt.NDArray[np.uint64],
    positions: npt.NDArray[np.uint64],
    out: npt.NDArray[np.uint64],
) -> None: ...
def buckets(
    codes: npt.NDArray[np.uint64], rows: int, out: npt.NDArray[np.uint64]
) -> None: ...
def masked(
    codes: npt.NDArray[np.uint64],
    masks: npt.NDArray[np.uint64],
    out: npt.NDArray[np.uint64],
) -> None: ...
def distances(
    a: npt.NDArray[np.uint64], b: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]
) -> None: ...
