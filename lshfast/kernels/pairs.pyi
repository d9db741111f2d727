from typing import Final, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

MISSING: Final[int]
EQUAL: Final[int]
DIFFERENT: Final[int]
__test__: dict[str, str]

def merged(
    places: npt.NDArray[np.uint64],
    bits: npt.NDArray[np.uint32],
    others: npt.NDArray[np.uint64],
    other_bits: npt.NDArray[np.uint32],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]: ...
def codes_of_keys(
    keys: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64], none: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def rows_by_code(
    codes: npt.NDArray[np.int64], count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

@final
class FieldCodes:
    rows_a: int
    rows_b: int
    def __new__(
        cls,
        a: npt.NDArray[np.int32],
        b: npt.NDArray[np.int32],
        equal: npt.NDArray[np.float64],
        starts: npt.NDArray[np.int64],
        unequal: npt.NDArray[np.float64],
        missing: npt.NDArray[np.float64],
    ) -> Self: ...
    def scores(
        self, places: npt.NDArray[np.uint64], least: float
    ) -> tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.uint8],
        npt.NDArray[np.float64],
        npt.NDArray[np.float64],
    ]: ...

def letters(
    points: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]: ...
def least_edits(
    masks: npt.NDArray[np.uint64],
    lengths: npt.NDArray[np.int64],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]: ...
def most_similar(
    masks: npt.NDArray[np.uint64],
    lengths: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.uint32],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]: ...
