from typing import Final

import numpy as np
import numpy.typing as npt

MOST_KEYS: Final[int]
SECOND_DRAWS: Final[int]
TABLE_WORDS: Final[int]
__test__: dict[str, str]

def words(seed: int, number: int, first: int, count: int) -> npt.NDArray[np.uint64]: ...
def polynomial(
    keys: npt.NDArray[np.uint64],
    coefficients: npt.NDArray[np.uint64],
    prime: int,
    buckets: int,
    out: npt.NDArray[np.uint64],
) -> int: ...
def multiply_shift(
    keys: npt.NDArray[np.uint64], a: int, bits: int, out: npt.NDArray[np.uint64]
) -> None: ...
def lines(
    keys: npt.NDArray[np.uint64],
    line: npt.NDArray[np.uint64],
    buckets: int,
    out: npt.NDArray[np.uint64],
) -> None: ...
def tabulation(
    keys: npt.NDArray[np.uint64],
    tables: npt.NDArray[np.uint64],
    buckets: int,
    out: npt.NDArray[np.uint64],
) -> None: ...
def build(
    keys: npt.NDArray[np.uint64],
    values: npt.NDArray[np.uint64],
    first: npt.NDArray[np.uint64],
    second: npt.NDArray[np.uint64],
    most: int,
) -> tuple[
    int | None,
    npt.NDArray[np.uint64] | None,
    npt.NDArray[np.uint64] | None,
    npt.NDArray[np.uint64] | None,
]: ...
def look_up(
    keys: npt.NDArray[np.uint64],
    first: npt.NDArray[np.uint64],
    second: npt.NDArray[np.uint64],
    directory: npt.NDArray[np.uint64],
    cells: npt.NDArray[np.uint64],
    values: npt.NDArray[np.uint64],
    found: npt.NDArray[np.uint8],
) -> None: ...
