import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

__test__: dict[str, str]

COUNT_BITS: int
SLOTS_AT_ONCE: int
MOST_BUCKETS: int
SUMS: int
DONE: int
MISSING: int
CROWDED: int
FULL: int

def join_buckets(
    buckets: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]: ...
def slot_hashes(
    signatures: npt.NDArray[np.uint64],
    of: npt.NDArray[np.int64],
    first: int,
    step: int,
    slots: int,
) -> npt.NDArray[np.uint32]: ...
def count_hashes(
    hashes: npt.NDArray[np.uint32], seen: npt.NDArray[np.uint8]
) -> None: ...
def add_shared(
    hashes: npt.NDArray[np.uint32],
    seen: npt.NDArray[np.uint8],
    shared: npt.NDArray[np.uint32],
) -> None: ...
def find_banded_pairs(
    pairs: npt.NDArray[np.uint64],
    signatures: npt.NDArray[np.uint64],
    bands: int,
    rows: int,
    least: int,
    chains: bool,
) -> npt.NDArray[np.uint64]: ...

@disjoint_base
class CrowdedBuckets:
    def __new__(cls) -> Self: ...
    def crowded(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]: ...

@disjoint_base
class Grouping:
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    similarity: npt.NDArray[np.float64]
    def __new__(
        cls,
        buckets: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        signatures: npt.NDArray[np.uint64],
        of: npt.NDArray[np.int64],
        least: int,
        threshold: float,
        exact: bool,
        chains: bool,
        containment: bool = False,
    ) -> Self: ...
    @property
    def compared(self) -> int: ...
    @property
    def longest(self) -> int: ...
    def hold(
        self,
        rows: npt.NDArray[np.int32],
        offsets: npt.NDArray[np.int64],
        tokens: npt.NDArray[np.uint64],
    ) -> int: ...
    def release(self, number: int) -> None: ...
    def walk(self, begin: int, end: int) -> int: ...
    def start(self, row: int, crowd: int) -> None: ...
    def step(self, end: int) -> tuple[int, int, int]: ...
    def missing(self, end: int, most: int) -> npt.NDArray[np.int32]: ...
    def meeting(self, pairs: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]: ...
    def place_pairs(
        self, begin: int, end: int, pairs: npt.NDArray[np.uint64]
    ) -> int: ...
    def count(
        self, tokens: npt.NDArray[np.uint64], counts: npt.NDArray[np.uint8]
    ) -> None: ...
    def begin_crowd(self, counts: npt.NDArray[np.uint8], frequent: int) -> None: ...
    def end_crowd(self) -> None: ...
    def make_room(self) -> None: ...
    def add_to_crowd(self, begin: int, end: int) -> None: ...

@disjoint_base
class RowPairs:
    def __new__(
        cls,
        buckets: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        signatures: npt.NDArray[np.uint64],
        of: npt.NDArray[np.int64],
        least: int,
    ) -> Self: ...
    @property
    def met(self) -> int: ...
    @property
    def done(self) -> bool: ...
    def batch(
        self, most: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
