from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from lshfast.kernels.gate import Gate
from lshfast.kernels.keys import KeyTable
from lshfast.kernels.tables_codes import CodeSearcher

BLOCK_BYTES: Final[int]
CELLS_FROM: Final[int]
__test__: dict[str, str]

_Int64: TypeAlias = npt.NDArray[np.int64]
_UInt64: TypeAlias = npt.NDArray[np.uint64]
_Gone: TypeAlias = Iterable[tuple[npt.NDArray[np.uint8], _Int64]]

def mark(gone: _Gone) -> None: ...
def search_codes(
    tables: list[BandTables],
    codes: _UInt64,
    points: _UInt64,
    measure: tuple[str, str, int],
    near: npt.NDArray[np.uint8],
    enough: npt.NDArray[np.float64],
    most: int | None = None,
    within: float | None = None,
    limit: tuple[str, int] | None = None,
    room: int | None = None,
) -> tuple[_Int64, _Int64, npt.NDArray[np.float64], _Int64]: ...
def search_point(
    tables: list[BandTables],
    searcher: CodeSearcher,
    point: Any,
    most: int | None = None,
    within: float | None = None,
) -> tuple[list[Any], list[float], _UInt64] | None: ...

@disjoint_base
class BandTables:
    fixed: bool
    def __new__(
        cls,
        num_perm: int,
        bands: int,
        rows: int,
        kind: str | None = None,
        payload: int = 0,
        apart: bool = False,
        bits: int = 0,
        head: int = 0,
    ) -> BandTables: ...
    def __len__(self) -> int: ...
    @property
    def limit(self) -> int: ...
    def allot(self, n: int) -> _Int64: ...
    def arrange(self, measure: tuple[str, str, int], least: int = ...) -> bool: ...
    def admit(
        self, names: Any, keys: KeyTable | None = None
    ) -> tuple[_Int64, npt.NDArray[np.bool_]]: ...
    def release(self, rows: _Int64) -> None: ...
    def find(self, names: Any) -> _Int64: ...
    def find_one(self, name: Any) -> int | None: ...
    def names_of(self, rows: _Int64) -> Any: ...
    def is_either(self) -> bool: ...
    def read_as(self, kind: str) -> None: ...
    def tags_of(self, rows: _Int64) -> npt.NDArray[np.uint32]: ...
    def rows_in_use(self) -> _Int64: ...
    def insert(
        self,
        names: Any,
        signatures: _UInt64,
        on_duplicate: str,
        known: npt.NDArray[np.bool_] | None = None,
        copy: bool = True,
        gone: _Gone = (),
        keys: KeyTable | None = None,
    ) -> int: ...
    def discard(
        self, rows: _Int64, gone: _Gone = (), keys: KeyTable | None = None
    ) -> None: ...
    def discard_one(self, name: Any) -> bool: ...
    def hand_over(self, old: _Int64, new: _Int64) -> None: ...
    def write(self, rows: _Int64, signatures: _UInt64, copy: bool = True) -> None: ...
    def erase(self, rows: _Int64) -> None: ...
    def signatures_of(self, rows: _Int64, out: _UInt64 | None = None) -> _UInt64: ...
    def query(
        self, signatures: _UInt64, least: int | None = None, room: int | None = None
    ) -> tuple[_Int64, _Int64, _Int64 | None]: ...
    def query_one(
        self, signature: _UInt64, least: int | None = None, gate: Gate | None = None
    ) -> tuple[list[Any], list[int] | None]: ...
    def query_plain(self, signature: Any, gate: Gate) -> list[Any] | None: ...
    def search(
        self,
        buckets: _UInt64,
        points: _UInt64,
        measure: tuple[str, str, int],
        most: int | None = None,
        within: float | None = None,
        limit: tuple[str, int] | None = None,
        progress: _Int64 | None = None,
        room: int | None = None,
    ) -> tuple[_Int64, _Int64, npt.NDArray[np.float64]]: ...
    def insert_one(self, name: Any, signature: _UInt64) -> bool | None: ...
    def insert_plain(self, name: Any, signature: Any) -> bool: ...
    def nbytes(self) -> tuple[int, int, int]: ...
    def bucket_sizes(self) -> tuple[_Int64, int, float]: ...
    def sections(self) -> dict[str, list[npt.NDArray[Any]]]: ...
    @staticmethod
    def over(
        num_perm: int,
        bands: int,
        rows: int,
        kind: str | None,
        sections: dict[str, npt.NDArray[Any]],
        gone: npt.NDArray[np.uint8] | None = None,
        payload: int = 0,
        apart: bool = False,
        bits: int = 0,
        head: int = 0,
    ) -> BandTables: ...
    def tidy(self) -> None: ...
    def room(self) -> int: ...
    def unsound(self) -> int | None: ...
