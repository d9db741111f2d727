from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_Texts: TypeAlias = tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], list[object]]

__test__: dict[str, str]

def is_arrow(source: object) -> bool: ...
def checked_source(source: Any, name: str = "texts") -> Any: ...
def read_texts(source: Any) -> _Texts: ...
def read_texts_in_parts(source: Any, rows: int) -> Iterator[_Texts]: ...
def read_column(
    source: Any, one_length: bool = False
) -> tuple[npt.NDArray[np.int64] | None, _Texts | npt.NDArray[np.integer[Any]]]: ...
