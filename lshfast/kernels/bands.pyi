from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

FIRST_PIECE: Final[int]
LONGEST_PIECE: Final[int]
MOST_HASHES_OF_KEYS: Final[int]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

def band_keys(
    signatures: npt.NDArray[np.uint64],
    bands: int,
    rows: int,
    out: npt.NDArray[np.uint64],
    apart: bool = False,
) -> None: ...
def pairs_of_band(
    keys: npt.NDArray[np.uint64],
    band: int,
    members: npt.NDArray[np.int64],
    limit: int,
    screen: Callable[
        [npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.bool_]
    ]
    | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def number_buckets(
    keys: npt.NDArray[np.uint64],
    band: int,
    members: npt.NDArray[np.int64],
    out: npt.NDArray[np.int32],
) -> int: ...
def sorted_numbers(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]: ...
def order(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]: ...
def filters_hold(
    filters: npt.NDArray[np.uint8],
    slots: npt.NDArray[np.uint64],
    rows: int,
    bits: int,
    hashes: int,
    first: int = 0,
) -> bool: ...
def hold_keys(
    filter: npt.NDArray[np.uint8], keys: npt.NDArray[np.uint64], bits: int, hashes: int
) -> npt.NDArray[np.bool_]: ...
def add_keys(
    filter: npt.NDArray[np.uint8], keys: npt.NDArray[np.uint64], bits: int, hashes: int
) -> npt.NDArray[np.bool_]: ...
def filters_add(
    filters: npt.NDArray[np.uint8],
    slots: npt.NDArray[np.uint64],
    rows: int,
    bits: int,
    hashes: int,
    first: int = 0,
) -> None: ...
