from typing import Literal

import numpy as np
import numpy.typing as npt

from lshfast.kernels.text import Texts

__test__: dict[str, str]

def normalized(texts: Texts, form: Literal["NFC", "NFKC"]) -> Texts: ...
def origins(
    texts: Texts,
    form: Literal["NFC", "NFKC"],
    rows: npt.NDArray[np.int64],
    bounds: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]: ...
def forms_in(texts: Texts) -> npt.NDArray[np.uint8]: ...
def sentences(text: str) -> list[str]: ...
