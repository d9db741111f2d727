"""What the tests of Hamming search share: codes, and plans that use blocks for few codes."""

import numpy as np

from lshfast.index.hamming import plan as hamming_plan
from lshfast.index.hamming import rows as hamming_rows
from lshfast.index.hamming import segments as hamming_segments


def clustered(n, words, flips=4, seed=2, bits=64):
    """Return codes some of which are equal or within a few bits of each other."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2**bits, (n // 8 + 1, words), np.uint64)[
        rng.integers(0, n // 8 + 1, n)
    ]
    for _ in range(flips):
        flip = np.where(
            rng.random(n) < 0.6,
            np.uint64(1) << rng.integers(0, bits, n).astype(np.uint64),
            np.uint64(0),
        )
        codes[np.arange(n), rng.integers(0, words, n)] ^= flip
    return codes


def small_segments(monkeypatch):
    """Make segments of few rows, so that small indexes have several of them."""
    monkeypatch.setattr(hamming_rows, "TAIL_ROWS", 16)
    monkeypatch.setattr(hamming_segments, "LEAST_GAIN", 0)
    monkeypatch.setattr(hamming_segments, "scan_of", expensive_scan)
    monkeypatch.setattr(
        hamming_segments, "_plan", hamming_segments._plan.__wrapped__
    )  # without what it remembers
    use_plan(monkeypatch, small_blocks)


def grow(index, codes):
    """Insert codes in batches of 20, some of which replace earlier ones; remove some; return what stays, by key."""
    model = {}
    for low in range(0, len(codes), 20):
        keys = [*range(low % 500, low % 500 + 20)]
        index.insert(keys, codes[low : low + 20])
        for key in keys:
            model.pop(key, None)
        model |= zip(keys, codes[low : low + 20].tolist(), strict=True)
        index.remove(keys[:3])
        for key in keys[:3]:
            del model[key]
    return model


def small_blocks(n, bits, radius, free, **_):
    return (
        scan(n, bits, radius)
        if free < 15
        else hamming_plan.plan_of(n, bits, radius, (6, 5, 4))
    )


def use_plan(monkeypatch, choose):
    """Let `choose` choose the blocks."""
    monkeypatch.setattr(hamming_plan, "LEAST_GAIN", 0)
    monkeypatch.setattr(hamming_plan, "scan_of", expensive_scan)
    monkeypatch.setattr(hamming_plan, "choose_blocks", choose)


def scan(n, bits, radius, **_):
    return hamming_plan.HammingPlan("scan", n, bits, radius)


def expensive_scan(n, bits, radius):
    return scan(10**9, bits, radius)
