from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

__test__: dict[str, str]

MOST_LETTERS: int
MOST_NAME_BYTES: int
FAULTS: dict[int, str]

@disjoint_base
class KmerReader:
    most: int
    def __new__(cls, k: int, most: int) -> KmerReader: ...
    @property
    def k(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def record_line(self) -> int: ...
    @property
    def letters(self) -> int: ...
    @property
    def name(self) -> bytes: ...
    @property
    def cut(self) -> bool: ...
    @property
    def amino_acids(self) -> float: ...
    def look_again(self) -> None: ...
    def read(
        self, data: Any, start: int, out: npt.NDArray[np.uint64], records: bool
    ) -> tuple[int, int, bool]: ...
    def finish(self) -> None: ...
    def sample(
        self, characters: Any, out: npt.NDArray[np.uint64], begins: bool
    ) -> int: ...

def bottom_shared(
    offsets: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
    other_offsets: npt.NDArray[np.int64],
    other_hashes: npt.NDArray[np.uint64],
    i: npt.NDArray[np.int64],
    j: npt.NDArray[np.int64],
    bottom: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
