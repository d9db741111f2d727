import numpy as np
import numpy.typing as npt

__test__: dict[str, str]

def cheapest(
    costs: npt.NDArray[np.float64],
    probes: int,
    chosen: npt.NDArray[np.uint32] | None = None,
) -> npt.NDArray[np.float64]: ...
def signs(
    coordinates: npt.NDArray[np.float32], rows: int, out: npt.NDArray[np.uint64]
) -> None: ...
def polytopes(
    coordinates: npt.NDArray[np.float32],
    outputs: int,
    rows: int,
    out: npt.NDArray[np.uint64],
) -> None: ...
def lines(
    positions: npt.NDArray[np.float64], rows: int, out: npt.NDArray[np.uint64]
) -> None: ...
