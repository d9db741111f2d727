from typing import Final

import numpy as np
import numpy.typing as npt

WORDS: Final[int]
__test__: dict[str, str]

def sort_records(
    records: npt.NDArray[np.uint64], scratch: npt.NDArray[np.uint64]
) -> None: ...
def are_sorted(records: npt.NDArray[np.uint64]) -> bool: ...
def count_until(records: npt.NDArray[np.uint64], first: int, second: int) -> int: ...
def records_of_band(
    keys: npt.NDArray[np.uint64],
    band: int,
    first_row: int,
    out: npt.NDArray[np.uint64],
    chosen: npt.NDArray[np.uint8] | None = None,
) -> int: ...
def pairs_of_records(
    records: npt.NDArray[np.uint64], i: int, j: int, out: npt.NDArray[np.uint64]
) -> tuple[int, int, int]: ...
