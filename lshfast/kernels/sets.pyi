import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType, disjoint_base

__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def distinct(
    offsets: npt.NDArray[np.int64], tokens: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...
def sample(
    offsets: npt.NDArray[np.int64], tokens: npt.NDArray[np.uint64], one_in: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...
def fingerprints(
    offsets: npt.NDArray[np.int64], tokens: npt.NDArray[np.uint64], key: tuple[int, int]
) -> npt.NDArray[np.uint64]: ...
def similarities(
    offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    threshold: float,
    containment: bool = False,
) -> npt.NDArray[np.float64]: ...
def agreements(
    signatures: npt.NDArray[np.uint64],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]: ...

@disjoint_base
class Components:
    def __new__(cls, n: int) -> Components: ...
    def join(
        self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
    ) -> None: ...
    def finished(self) -> npt.NDArray[np.int64]: ...

def components(
    left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.int64]: ...
def stars(
    order: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    neighbours: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
