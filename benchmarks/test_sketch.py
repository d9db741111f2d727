"""Tokens to signatures of 128 slots, and text to signatures, on one thread."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from conftest import Measure
from stages import BYTES, NS, SHINGLES, TOKENS, random_sets, sign

from lshfast import MinHasher
from lshfast.kernels.text import Texts
from lshfast.shingling import Unit

pytestmark = [
    pytest.mark.benchmark(group="sketch", max_time=0.5),
    pytest.mark.usefixtures("level"),
]


def test_classic(measure: Measure) -> None:
    sets, hasher = random_sets(200, 1_000), MinHasher(128, "classic")
    steps = len(sets.tokens) * hasher.num_perm
    signatures = measure(
        "classic, a token and function",
        NS,
        steps,
        partial(hasher.sketch, sets, threads=1),
    )
    assert signatures.shape == (len(sets), hasher.num_perm)


@pytest.mark.parametrize("size", [20, 200, 2_000])
def test_fast(measure: Measure, size: int) -> None:
    sets, hasher = random_sets(1_000_000 // size, size), MinHasher(128)
    call = partial(hasher.sketch, sets, threads=1)
    signatures = measure(f"fast, {size:,} tokens a set", TOKENS, len(sets.tokens), call)
    assert signatures.shape == (len(sets), hasher.num_perm)


@pytest.mark.parametrize(("unit", "size"), SHINGLES)
def test_texts_to_signatures(
    measure: Measure, columns: dict[str, pa.Array], unit: Unit, size: int
) -> None:
    column, hasher = columns["library"], MinHasher(128)
    call = partial(sign, hasher, column, unit, size)
    signatures = measure(
        f"library, {unit}s {size}: to fast signatures",
        BYTES,
        Texts(column).nbytes,
        call,
    )
    assert signatures.shape == (len(column), hasher.num_perm)
