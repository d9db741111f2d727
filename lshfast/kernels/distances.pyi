from typing import Final

import numpy as np
import numpy.typing as npt

MEASURES: Final[tuple[str, ...]]
LAYOUTS: Final[tuple[str, ...]]
__test__: dict[str, str]

def words_of(measure: str, layout: str, dim: int) -> int: ...
def distances(
    a: npt.NDArray[np.uint64],
    b: npt.NDArray[np.uint64],
    measure: str,
    layout: str,
    dim: int,
    out: npt.NDArray[np.float64],
) -> None: ...
def distances_of_pairs(
    points: npt.NDArray[np.uint64],
    pairs: npt.NDArray[np.uint64],
    measure: str,
    layout: str,
    dim: int,
    out: npt.NDArray[np.float64],
) -> None: ...
