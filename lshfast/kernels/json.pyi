from collections.abc import Callable
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

PADDING: Final[int]
__test__: dict[str, str]

@final
class ScannedLines:
    @property
    def count(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def lines(self) -> npt.NDArray[np.int64]: ...
    @property
    def starts(self) -> npt.NDArray[np.int64]: ...
    @property
    def stops(self) -> npt.NDArray[np.int64]: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...
    @property
    def texts(self) -> npt.NDArray[np.uint8]: ...
    @property
    def undecided(self) -> npt.NDArray[np.int64]: ...
    def values(self, key: int, loads: Callable[[bytes], Any]) -> list[Any]: ...

def scan(
    data: bytes | bytearray | memoryview | npt.NDArray[np.uint8],
    start: int,
    end: int,
    text: bytes,
    keys: tuple[bytes, ...] = (),
    most_lines: int = ...,
) -> ScannedLines: ...
def scan_spans(
    data: bytes | bytearray | npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    text: bytes,
) -> ScannedLines: ...
def line_ends(
    data: bytes | bytearray | npt.NDArray[np.uint8], start: int, end: int
) -> npt.NDArray[np.int64]: ...
def join_lines(
    data: bytearray | npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    end: int,
) -> int: ...
def read_spans(
    file: int,
    starts: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> bool: ...
