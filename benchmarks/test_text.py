"""Text to tokens, on one thread: MB of UTF-8 a second."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from conftest import Measure
from stages import BYTES, SCRIPTS, SHINGLES

from lshfast import shingle
from lshfast.kernels.text import Texts
from lshfast.shingling import Unit

pytestmark = pytest.mark.benchmark(group="text", max_time=0.5)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("texts", ["library", *SCRIPTS])
@pytest.mark.parametrize(("unit", "size"), SHINGLES)
def test_shingle(
    measure: Measure, columns: dict[str, pa.Array], texts: str, unit: Unit, size: int
) -> None:
    column = columns[texts]
    call = partial(shingle, column, unit, size, threads=1)
    sets = measure(
        f"{texts}, {unit}s {size}: to tokens", BYTES, Texts(column).nbytes, call
    )
    assert len(sets) == len(column)
