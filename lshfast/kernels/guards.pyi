import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

class Stopped(Exception): ...

def watch(over: threading.Event | None) -> None: ...
def is_running(thread: int) -> bool: ...
def sketch_in_pieces(
    kernel: Callable[..., None],
    offsets: npt.NDArray[np.int64],
    columns: Sequence[npt.NDArray[Any]],
    out: npt.NDArray[np.uint64],
    step: int,
) -> None: ...
