"""Kernels run in threads with little stack: those of musl have 128 KB, and the callers of kernels need some of it."""

import subprocess
import sys

PROGRAM = """
import threading

import numpy as np

from lshfast.kernels import affine, bands, bits, cardinality, kmers, sets, simhash, sketch, text, trees, weighted

K = 128
texts = text.Texts(["the quick brown fox " * 5000, "naïve café, 東京 " * 3000, ""])
numbers = np.arange(10_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
offsets = np.array([0, 300, len(numbers)], np.int64)
weights = np.linspace(0.1, 3, len(numbers))
rows, members = np.arange(5000, dtype=np.int64), np.arange(10_000, dtype=np.int64)
signatures = np.repeat(numbers[:5000, None], K, axis=1) ^ np.arange(K, dtype=np.uint64)
out, codes = np.empty((2, K), np.uint64), np.empty((2, 2), np.uint64)


def work():
    text.word_shingles(texts, 3, 1)
    text.character_shingles(texts, 5, 1)
    text.tokens_of_texts(texts, 1)
    sketch.classic(offsets, numbers, *sketch.classic_constants(1, K), out)
    sketch.fast(offsets, numbers, *sketch.fast_constants(1, K), out)
    affine.Functions("classic", K, *sketch.classic_constants(1, K)).lower(numbers, np.full(K, 2**64 - 1, np.uint64))
    affine.sha1([b"token"] * 1000, 64)
    bits.groups(offsets, numbers, bits.group_constant(1), out)
    simhash.codes(offsets, numbers, simhash.constants(1, 2), codes)
    cardinality.update(numbers, cardinality.constant(1), np.zeros(1 << 10, np.uint8))
    bands.band_keys(out, 16, 8, np.empty((2, 16), np.uint64))
    bands.pairs_of_band((numbers % 5000).reshape(-1, 1), 0, members, 10**6)
    bands.order(numbers)
    kmers.KmerReader(31, 2**60).sample(b"GATTACAN" * 5000, np.empty(40_000, np.uint64), True)
    sets.distinct(offsets, numbers)
    trees.Run.build(signatures, rows, 8)
    weighted.shells(offsets, numbers, weights, weighted.constants(1, K)[0], 900.0, out)
    done.append(True)


done = []
work()
threading.stack_size(64 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(done) == 2
"""


def test_kernels_need_little_stack():
    """A thread of 64 KB runs kernels of every stage; too little stack ends the process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        done.stderr or f"the process ended with {done.returncode}"
    )
