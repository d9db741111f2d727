from typing import Final, final

import numpy as np
import numpy.typing as npt

LEAST_ROOM: Final[int]
__test__: dict[str, str]

@final
class Meetings:
    def __new__(
        cls,
        left_keys: npt.NDArray[np.uint64],
        left_rows: npt.NDArray[np.int32],
        right_keys: npt.NDArray[np.uint64],
        right_rows: npt.NDArray[np.int32],
        codes: npt.NDArray[np.uint64],
        most: int,
        limits: npt.NDArray[np.int32],
        labels: npt.NDArray[np.int32] | None = None,
        points: npt.NDArray[np.uint64] | None = None,
        measure: tuple[str, str, int] | None = None,
        order: npt.NDArray[np.int64] | None = None,
        value: float = 2,
    ) -> Meetings: ...
    @property
    def done(self) -> bool: ...
    @property
    def compared(self) -> int: ...
    @property
    def screened(self) -> int: ...
    def find(self, out: npt.NDArray[np.uint64]) -> int: ...
