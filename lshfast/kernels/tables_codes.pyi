from typing import Final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType, disjoint_base

MEASURES: Final[tuple[str, ...]]
LAYOUTS: Final[tuple[str, ...]]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

@disjoint_base
class CodeSearcher:
    def __new__(
        cls,
        measure: tuple[str, str, int],
        factors: npt.NDArray[np.float32],
        bits: int,
        near: npt.NDArray[np.uint8],
        enough: npt.NDArray[np.float64],
        most: float,
        least: float,
    ) -> CodeSearcher: ...
