"""Kernels of packed codes: bits at positions, groups of bits, masked hashes and distances, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.kernels import sampling
from tests.reference.hashing import EMPTY, MASK64, mix64

# Around the rows that are transposed together, and those from which on they are.
ROWS = [0, 1, 11, 12, 13, 63, 64, 65, 76, 130]
WORDS, COUNTS = [1, 2, 3], [1, 2, 63, 64, 65, 200]


def codes_of(n, words, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, (n, words), np.uint64)


def integers_of(codes):
    return [sum(word << 64 * w for w, word in enumerate(row)) for row in codes.tolist()]


def unaligned(array):
    copy = (
        np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    )
    copy[...] = array
    return copy


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("words", WORDS)
def test_bits(n, words):
    codes = codes_of(n, words)
    for count in COUNTS:
        positions = (
            np.random.default_rng(count)
            .integers(0, 64 * words, count)
            .astype(np.uint64)
        )
        out = np.full((n, -(-count // 64)), MASK64, np.uint64)
        sampling.bits(codes, positions, out)
        for code, found in zip(integers_of(codes), integers_of(out), strict=True):
            assert found == sum(
                (code >> p & 1) << j for j, p in enumerate(positions.tolist())
            ), count


@given(
    st.lists(st.integers(0, MASK64), min_size=1, max_size=4),
    st.integers(1, 63),
    st.integers(0, 9),
)
def test_buckets(words, rows, fewer):
    bands = max(0, 64 * len(words) // rows - fewer)
    out = np.zeros((1, bands), np.uint64)
    sampling.buckets(np.array([words], np.uint64), rows, out)
    code = sum(word << 64 * w for w, word in enumerate(words))
    assert out[0].tolist() == [
        code >> rows * band & (1 << rows) - 1 for band in range(bands)
    ]


@pytest.mark.parametrize("words", WORDS)
def test_masked(words):
    codes, masks = codes_of(30, words), codes_of(5, words, 2)
    masks[0], codes[0] = 0, EMPTY
    out = np.empty((30, 5), np.uint64)
    sampling.masked(codes, masks, out)
    for code, row in zip(codes.tolist(), out.tolist(), strict=True):
        for mask, found in zip(masks.tolist(), row, strict=True):
            h = 0
            for word, kept in zip(code, mask, strict=True):
                h = mix64(h ^ word & kept)
            assert found == h


def test_a_hash_is_never_empty():
    y = EMPTY
    y ^= y >> 31 ^ y >> 62
    y = y * pow(0x94D049BB133111EB, -1, 2**64) & MASK64
    y ^= y >> 27 ^ y >> 54
    y = y * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK64
    y ^= y >> 30 ^ y >> 60
    assert mix64(y) == EMPTY
    out = np.empty((1, 1), np.uint64)
    sampling.masked(np.array([[y]], np.uint64), np.array([[EMPTY]], np.uint64), out)
    assert out.tolist() == [[EMPTY - 1]]


@pytest.mark.parametrize("words", WORDS)
def test_distances(words):
    a, b = codes_of(70, words), codes_of(70, words, 2)
    a[0], b[0] = 0, EMPTY
    out = np.empty(70, np.int64)
    sampling.distances(a, b, out)
    expected = [
        (x ^ y).bit_count() for x, y in zip(integers_of(a), integers_of(b), strict=True)
    ]
    assert out.tolist() == expected
    sampling.distances(a[:1], b, out)
    assert out.tolist() == [(integers_of(a)[0] ^ y).bit_count() for y in integers_of(b)]


def test_inputs_may_lie_anywhere():
    codes = codes_of(20, 2)
    positions = np.arange(9, dtype=np.uint64)
    masks = codes_of(3, 2, 2)
    for kernel, inputs, shape, dtype in (
        (sampling.bits, (codes, positions), (20, 1), np.uint64),
        (sampling.masked, (codes, masks), (20, 3), np.uint64),
        (sampling.distances, (codes, codes[::-1].copy()), 20, np.int64),
    ):
        first, second = np.empty(shape, dtype), np.empty(shape, dtype)
        kernel(*inputs, first)
        for each in inputs:
            each.flags.writeable = False
        kernel(*map(unaligned, inputs), second)
        assert (first == second).all()
        with pytest.raises(ValueError, match="out must be aligned"):
            kernel(*inputs, unaligned(first))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sampling.bits(
                codes_of(2, 1), np.array([64], np.uint64), np.empty((2, 1), np.uint64)
            ),
            "in 0..63, not 64",
        ),
        (
            lambda: sampling.bits(
                codes_of(2, 0), np.zeros(1, np.uint64), np.empty((2, 1), np.uint64)
            ),
            "positions must be",
        ),
        (
            lambda: sampling.bits(
                codes_of(2, 1), np.zeros(65, np.uint64), np.empty((2, 1), np.uint64)
            ),
            r"shape \(2, 2\)",
        ),
        (
            lambda: sampling.bits(
                codes_of(2, 1), np.zeros(1, np.uint64), np.empty((3, 1), np.uint64)
            ),
            r"shape \(2, 1\)",
        ),
        (
            lambda: sampling.buckets(codes_of(2, 1), 64, np.empty((2, 1), np.uint64)),
            "rows must be in 1..63",
        ),
        (
            lambda: sampling.buckets(codes_of(2, 1), 0, np.empty((2, 1), np.uint64)),
            "rows must be in 1..63",
        ),
        (
            lambda: sampling.buckets(codes_of(2, 1), 9, np.empty((2, 8), np.uint64)),
            "8 x 9 bits do not fit",
        ),
        (
            lambda: sampling.buckets(codes_of(2, 1), 9, np.empty((1, 7), np.uint64)),
            "out must have shape",
        ),
        (
            lambda: sampling.masked(
                codes_of(2, 1), codes_of(2, 2), np.empty((2, 2), np.uint64)
            ),
            "masks must have shape",
        ),
        (
            lambda: sampling.masked(
                codes_of(2, 1), codes_of(2, 1), np.empty((2, 3), np.uint64)
            ),
            "out must have shape",
        ),
        (
            lambda: sampling.masked(
                codes_of(2, 0), codes_of(2, 0), np.empty((2, 2), np.uint64)
            ),
            "at least one word",
        ),
        (
            lambda: sampling.distances(
                codes_of(2, 1), codes_of(3, 1), np.empty(3, np.int64)
            ),
            "a must have shape",
        ),
        (
            lambda: sampling.distances(
                codes_of(1, 2), codes_of(3, 1), np.empty(3, np.int64)
            ),
            "a must have shape",
        ),
        (
            lambda: sampling.distances(
                codes_of(1, 1), codes_of(3, 1), np.empty(2, np.int64)
            ),
            "out must have 3 numbers",
        ),
        (
            lambda: sampling.distances(
                codes_of(1, 0), codes_of(3, 0), np.empty(3, np.int64)
            ),
            "at least one word",
        ),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
