import numpy as np
import numpy.typing as npt

__test__: dict[str, str]

def leaders_of_sets(
    offsets: npt.NDArray[np.int64],
    ranks: npt.NDArray[np.uint32],
    universe: int,
    p: int,
    q: int,
    common: int | None = None,
) -> npt.NDArray[np.int64]: ...
