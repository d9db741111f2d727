"""Signatures to band keys, candidates and verified pairs, and the whole job, on one thread and on two."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from conftest import Measure
from stages import BYTES, THRESHOLD, random_sets

from lshfast import TokenSets, candidates, choose_bands, dedup, verify
from lshfast._common.types import UInt64Array
from lshfast.kernels.text import Texts

pytestmark = pytest.mark.benchmark(group="join", max_time=1.0)

THREADS = pytest.mark.parametrize("threads", [1, 2])
BANDS = choose_bands(THRESHOLD)
SETS, SIZE = 20_000, 300


@pytest.fixture(scope="module")
def signatures() -> UInt64Array:
    """Return 100,000 signatures: half of them agree with one of the other half in nine slots of ten."""
    rng = np.random.default_rng(1)
    first, other = rng.integers(0, 2**63, (2, 50_000, 128), dtype=np.uint64)
    return np.concatenate(
        [first, np.where(rng.random(first.shape) < 0.9, first, other)]
    )


@pytest.fixture(scope="module")
def near_sets() -> TokenSets:
    """Return sets, then their near-copies: nine tokens of ten are the same, a similarity of .82."""
    first, other = (
        random_sets(SETS, SIZE, seed).tokens.reshape(SETS, SIZE) for seed in (1, 2)
    )
    near = np.concatenate(
        [first[:, : SIZE * 9 // 10], other[:, SIZE * 9 // 10 :]], axis=1
    )
    return TokenSets(
        np.arange(2 * SETS + 1) * SIZE, np.concatenate([first, near]).reshape(-1)
    )


def test_band_keys(measure: Measure, signatures: UInt64Array) -> None:
    keys = measure(
        "band keys",
        "M keys/s",
        len(signatures) * BANDS.bands,
        partial(BANDS.keys, signatures),
    )
    assert keys.shape == (len(signatures), BANDS.bands)


@THREADS
def test_candidates(measure: Measure, signatures: UInt64Array, threads: int) -> None:
    keys = BANDS.keys(signatures)
    call = partial(candidates, keys, threads=threads)
    i, j = measure(f"candidates, threads={threads}", "M keys/s", keys.size, call)
    assert np.all(j - i == len(keys) // 2)


@THREADS
def test_verify(measure: Measure, near_sets: TokenSets, threads: int) -> None:
    i = np.arange(SETS)
    call = partial(verify, near_sets, i, i + SETS, THRESHOLD, threads=threads)
    pairs = measure(f"verify, threads={threads}", "M pairs/s", SETS, call)
    assert len(pairs) == SETS


@THREADS
def test_dedup(measure: Measure, sources: list[str], threads: int) -> None:
    column = pa.array(sources, pa.large_string())
    call = partial(dedup, column, threads=threads)
    result = measure(
        f"dedup of the library, threads={threads}", BYTES, Texts(column).nbytes, call
    )
    assert len(result.keep) == len(sources)
