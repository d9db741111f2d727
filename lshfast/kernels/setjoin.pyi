from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

__test__: dict[str, str]

_Rule: TypeAlias = tuple[int, int, int, float]

MOST_TOKENS: int
MOST_WORDS: int

def need(rule: _Rule, a: int, b: int) -> int: ...
def indexed_prefixes(
    rule: _Rule, sizes: npt.NDArray[np.uint32], own: bool
) -> npt.NDArray[np.uint32]: ...
def longest_prefixes(
    rule: _Rule, sizes: npt.NDArray[np.uint32], probing: bool
) -> npt.NDArray[np.uint32]: ...

@disjoint_base
class TokenRanks:
    def __new__(cls) -> Self: ...
    @property
    def distinct(self) -> int: ...
    def count(
        self,
        offsets: npt.NDArray[np.int64],
        tokens: npt.NDArray[np.uint64],
        rows: npt.NDArray[np.int64],
        most: int = ...,
    ) -> bool: ...
    def entries(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
    def assign(self, tokens: npt.NDArray[np.uint64]) -> None: ...
    def number(
        self,
        offsets: npt.NDArray[np.int64],
        tokens: npt.NDArray[np.uint64],
        rows: npt.NDArray[np.int64],
        rule: _Rule,
        probing: bool,
    ) -> tuple[
        npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]
    ]: ...

@disjoint_base
class SetRecords:
    sizes: npt.NDArray[np.uint32]
    n: int
    most: int
    def __new__(
        cls,
        sizes: npt.NDArray[np.uint32],
        counts: npt.NDArray[np.uint32],
        starts: npt.NDArray[np.uint64],
        ranks: npt.NDArray[np.uint32],
        most: int,
    ) -> Self: ...
    def bitmaps(self, by_words: bool) -> npt.NDArray[np.uint64]: ...

@disjoint_base
class SizeClasses:
    sets: SetRecords
    def __new__(cls, rule: _Rule, sets: SetRecords) -> Self: ...

@disjoint_base
class Prefixes(SizeClasses):
    own: bool
    postings: int
    def __new__(
        cls, rule: _Rule, sets: SetRecords, own: bool, by_suffix: bool = False
    ) -> Self: ...

@disjoint_base
class Search:
    index: Prefixes
    probes: SetRecords
    under_way: bool
    def __new__(cls, index: Prefixes, probes: SetRecords) -> Self: ...
    @property
    def candidates(self) -> int: ...
    def steps(self, posting_cost: int, candidate_cost: int) -> int: ...
    def run(self, first: int, last: int, most: int = ...) -> npt.NDArray[np.uint32]: ...

@disjoint_base
class BitSearch:
    index: SizeClasses
    probes: SetRecords
    under_way: bool
    def __new__(
        cls,
        index: SizeClasses,
        words: npt.NDArray[np.uint64],
        probes: SetRecords,
        probe_words: npt.NDArray[np.uint64],
        own: bool,
    ) -> Self: ...
    @property
    def candidates(self) -> int: ...
    def steps(self, posting_cost: int, candidate_cost: int) -> int: ...
    def run(self, first: int, last: int, most: int = ...) -> npt.NDArray[np.uint32]: ...
