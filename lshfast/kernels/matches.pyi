import numpy as np
import numpy.typing as npt

__test__: dict[str, str]

def order_matches(
    offsets: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int64],
    scores: npt.NDArray[np.int64],
    most: int | None = None,
) -> None: ...
