"""SimHash kernels: every CPU level against the reference, and what they refuse."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import simhash
from tests.conftest import csr
from tests.reference import simhash as reference
from tests.reference.hashing import MASK64, draw, mix64

# Around the lanes (4, 8), their groups of eight (32, 64), the blocks of weights (256) and of counts
# (504).
COUNTS = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    255,
    256,
    257,
    503,
    504,
    505,
    1007,
    1009,
    2000,
]
RULES = ("minus", "plus", "random")

WORD64 = st.integers(0, MASK64)
TOKENS = st.lists(
    st.one_of(WORD64, st.sampled_from([0, 1, 2**63, MASK64])), max_size=20
)
WEIGHT = st.one_of(st.integers(-3, 3), st.integers(-(2**58), 2**58))


def codes(offsets, tokens, words=1, seed=1):
    out = np.zeros((len(offsets) - 1, words), np.uint64)
    simhash.codes(offsets, tokens, simhash.constants(seed, words), out)
    return out


def counters(offsets, tokens, weights=None, words=1, seed=1):
    out = np.zeros((len(offsets) - 1, 64 * words), np.int64)
    simhash.counters(offsets, tokens, weights, simhash.constants(seed, words), out)
    return out


def unmix64(y):
    """Return the x of which y is the mix64, so that tokens can be chosen by what they become."""
    y ^= y >> 31 ^ y >> 62
    y = y * pow(0x94D049BB133111EB, -1, 2**64) & MASK64
    y ^= y >> 27 ^ y >> 54
    y = y * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK64
    return y ^ y >> 30 ^ y >> 60


def token_of(hashed, seed=1):
    """Return the token whose first word of hash is given."""
    return unmix64(hashed) ^ draw(seed, reference.SIMHASH, 0)


@cache
def random_rows():
    generator = np.random.default_rng(7)
    return [generator.integers(0, 2**64, n, np.uint64).tolist() for n in COUNTS]


@cache
def expected(words):
    return [reference.counters(row, words, 1) for row in random_rows()]


# Against the reference


@pytest.mark.one_case
@pytest.mark.parametrize("words", [1, 2, 3])
def test_codes_and_counters(level, words):
    offsets, tokens = csr(random_rows())
    ones = np.ones(len(tokens), np.int64)
    found = codes(offsets, tokens, words).tolist()
    counted = counters(offsets, tokens, words=words).tolist()
    weighed = counters(offsets, tokens, ones, words).tolist()
    for n, row, counts, weights, right in zip(
        COUNTS, found, counted, weighed, expected(words), strict=True
    ):
        assert counts == right, f"{n} tokens"
        assert weights == right, f"{n} tokens"
        assert row == reference.code(right), f"{n} tokens"


@settings(max_examples=40)
@given(rows=st.lists(TOKENS, max_size=3), words=st.integers(1, 3), seed=WORD64)
@example(rows=[], words=1, seed=0)
@example(rows=[[], [0], [MASK64] * 9, [0] * 300, [0, MASK64], []], words=2, seed=MASK64)
def test_any_tokens(level, rows, words, seed):
    right = [reference.counters(row, words, seed) for row in rows]
    assert counters(*csr(rows), words=words, seed=seed).tolist() == right
    assert codes(*csr(rows), words, seed).tolist() == [
        reference.code(row) for row in right
    ]


@settings(max_examples=40)
@given(
    row=st.lists(st.tuples(WORD64, WEIGHT), max_size=20),
    words=st.integers(1, 2),
    seed=WORD64,
)
@example(row=[(5, 2**63 - 1)], words=1, seed=1)
@example(row=[(5, -(2**63) + 1)], words=1, seed=1)
def test_any_weights(level, row, words, seed):
    tokens, weights = [token for token, _ in row], [weight for _, weight in row]
    found = counters(*csr([tokens]), np.array(weights, np.int64), words, seed)
    assert found.tolist() == [reference.counters(tokens, words, seed, weights)]


@pytest.mark.parametrize("n", [1, 8, 63, 64, 504, 505, 1008, 66_000])
def test_counters_that_are_as_large_as_can_be(level, n):
    """Hashes of all ones, and of all ones and all zeros by turns: every carry there is, and none."""
    full, none, low = token_of(MASK64), token_of(0), token_of(2**32 - 1)
    rows = [
        [full] * n,
        [none] * n,
        [low] * n,
        [full, none] * (n // 2) + [full] * (n % 2),
    ]
    offsets, tokens = csr(rows)
    sides = [[n] * 64, [-n] * 64, [n] * 32 + [-n] * 32, [n % 2] * 64]
    assert counters(offsets, tokens).tolist() == sides
    assert codes(offsets, tokens).tolist() == [
        [MASK64 - 1],
        [0],
        [2**32 - 1],
        [MASK64 - n % 2],
    ]


def test_the_longest_code(level):
    offsets, tokens = csr([[3, 1, 4], []])
    assert codes(offsets, tokens, 64).tolist() == [
        reference.code(reference.counters([3, 1, 4], 64, 1)),
        [MASK64] * 64,
    ]


def test_constants_and_hashes(level):
    for seed in (0, 1, MASK64):
        assert simhash.constants(seed, 64).tolist() == [
            draw(seed, reference.SIMHASH, w) for w in range(64)
        ]
    for n in COUNTS[:14]:
        tokens = np.random.default_rng(n).integers(0, 2**64, n, np.uint64)
        assert simhash.hashes(tokens, 2**63 + 5).tolist() == [
            mix64(x ^ (2**63 + 5)) for x in tokens.tolist()
        ]


@settings(max_examples=40)
@given(data=st.data(), words=st.integers(1, 2), dim=st.integers(0, 12))
def test_dots(level, data, words, dim):
    masks = data.draw(
        st.lists(
            st.lists(WORD64, min_size=words, max_size=words), min_size=dim, max_size=dim
        )
    )
    bits = [
        [1 if mask[i // 64] >> i % 64 & 1 else -1 for mask in masks]
        for i in range(64 * words)
    ]
    masks = np.array(masks, np.uint64).reshape(dim, words)
    for numbers, kernel, dtype in (
        (st.integers(-(2**59), 2**59), simhash.dots, np.int64),
        (st.floats(-1e300, 1e300), simhash.dots_of_doubles, np.float64),
    ):
        rows = data.draw(
            st.lists(st.lists(numbers, min_size=dim, max_size=dim), max_size=3)
        )
        out = np.ones((len(rows), 64 * words), dtype)
        kernel(np.array(rows, dtype).reshape(len(rows), dim), masks, out)
        assert out.tolist() == [reference.dots(row, bits) for row in rows]


@settings(max_examples=100)
@given(
    signs=st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=1, max_size=200),
    rule=st.sampled_from(RULES),
    seed=WORD64,
)
@example(signs=[1] * 64, rule="minus", seed=1)
@example(signs=[1] * 127 + [0], rule="plus", seed=1)
@example(signs=[0] * 64, rule="random", seed=1)
@example(signs=[0] * 65, rule="plus", seed=1)
@example(signs=[0] * 70 + [-1] + [0] * 9, rule="random", seed=MASK64)
def test_settle(signs, rule, seed):
    found = np.array([reference.words_of([sign > 0 for sign in signs])], np.uint64)
    zeros = np.array([reference.words_of([sign == 0 for sign in signs])], np.uint64)
    simhash.settle(found, zeros, len(signs), RULES.index(rule), seed)
    assert found[0].tolist() == reference.code(signs, rule, seed)


@given(data=st.data(), words=st.integers(1, 3))
def test_distances(data, words):
    code = st.lists(st.one_of(WORD64, st.just(MASK64)), min_size=words, max_size=words)
    rows = data.draw(st.lists(st.tuples(code, code), min_size=1, max_size=4))
    bits = data.draw(st.integers(64 * words - 63, 64 * words))
    a, b = (np.array(side, np.uint64) for side in zip(*rows, strict=True))
    found = np.empty(len(rows), np.int32)
    simhash.distances(a, b, bits, found)
    assert found.tolist() == [reference.distance(x, y, bits) for x, y in rows]
    simhash.distances(b[:1], a, bits, found)
    assert found.tolist() == [reference.distance(x, rows[0][1], bits) for x, _ in rows]


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        ([[], [1, -1]], -1),
        ([[2**63 - 1], [-(2**63) + 1], [0]], -1),
        ([[1], [2**62, 2**62], [2**63 - 1, 1]], 1),
        ([[-(2**63)]], 0),
        ([[-(2**62), 5, -(2**62)]], 0),
        ([[-(2**63), -(2**63)]], 0),
        ([[2**62] * 5], 0),
    ],
)
def test_overflowing(rows, first):
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    weights = np.array([weight for row in rows for weight in row], np.int64)
    assert simhash.overflowing(offsets, weights) == first


# Buffers


def test_read_only_sliced_and_unaligned_arrays(level):
    offsets, tokens = csr([[1, 2, 3], [], [4], list(range(300))])
    weights = np.arange(len(tokens)) - 100
    whole, weighed = codes(offsets, tokens, 2), counters(offsets, tokens, weights, 2)
    for array in (offsets, tokens, weights):
        array.flags.writeable = False
    assert codes(offsets[1:], tokens, 2).tolist() == whole[1:].tolist()
    assert counters(offsets[1:], tokens, weights, 2).tolist() == weighed[1:].tolist()
    assert codes(offsets[2:4], tokens[:4], 2).tolist() == whole[2:3].tolist()
    assert codes(offsets[:1], tokens, 2).shape == (0, 2)
    assert codes(np.array([0, 0]), tokens[:0], 2).tolist() == [[MASK64] * 2]
    assert counters(np.array([0, 0]), tokens[:0], weights[:0]).tolist() == [[0] * 64]
    shifted = np.concatenate([tokens[:1], tokens])[1:]
    assert codes(offsets, shifted, 2).tolist() == whole.tolist()


def test_nothing_is_written_beside_the_output(level):
    offsets, tokens = csr([list(range(40)), [], [7]])
    framed = np.full((5, 3), 12345, np.uint64)
    counted = np.full((5, 192), 12345, np.int64)
    constants = simhash.constants(1, 3)
    simhash.codes(offsets, tokens, constants, framed[1:4])
    simhash.counters(offsets, tokens, None, constants, counted[1:4])
    assert framed[1:4].tolist() == codes(offsets, tokens, 3).tolist()
    assert counted[1:4].tolist() == counters(offsets, tokens, words=3).tolist()
    assert (framed[[0, 4]] == 12345).all()
    assert (counted[[0, 4]] == 12345).all()


@pytest.mark.parametrize(
    ("offsets", "out"),
    [
        ([0, 2, 1], (2, 1)),
        ([-1, 2], (1, 1)),
        ([0, 4], (1, 1)),
        ([0, 2**62], (1, 1)),
        ([3, 0], (1, 1)),
        ([], (0, 1)),
        ([0, 1, 2], (1, 1)),
        ([0, 1, 2], (3, 1)),
        ([0, 3], (1, 2)),
    ],
    ids=str,
)
def test_bad_rows_and_shapes_are_refused(offsets, out):
    offsets, tokens = np.array(offsets, np.int64), np.arange(3, dtype=np.uint64)
    with pytest.raises(ValueError, match=r"must (rise|have)"):
        simhash.codes(
            offsets, tokens, simhash.constants(1, 1), np.zeros(out, np.uint64)
        )
    with pytest.raises(ValueError, match=r"must (rise|have)"):
        simhash.counters(
            offsets,
            tokens,
            None,
            simhash.constants(1, 1),
            np.zeros((out[0], 64 * out[1]), np.int64),
        )


def test_other_sizes_are_refused():
    one, tokens = np.array([0, 3], np.int64), np.arange(3, dtype=np.uint64)
    for words in (0, 65):
        with pytest.raises(ValueError, match=rf"1\.\.64 words, not {words}"):
            simhash.constants(1, words)
        with pytest.raises(ValueError, match=rf"1\.\.64 words, not {words}"):
            simhash.codes(
                one, tokens, np.zeros(words, np.uint64), np.zeros((1, words), np.uint64)
            )
    for weights in (np.zeros(2, np.int64), np.zeros(0, np.int64)):
        with pytest.raises(
            ValueError, match=f"as many as the tokens, 3, not {len(weights)}"
        ):
            counters(one, tokens, weights)
    masks = np.zeros((4, 1), np.uint64)
    for kernel, dtype in (
        (simhash.dots, np.int64),
        (simhash.dots_of_doubles, np.float64),
    ):
        for x, out, name in (
            ((2, 3), (2, 64), "masks"),
            ((2, 4), (1, 64), "out"),
            ((2, 4), (2, 65), "out"),
        ):
            with pytest.raises(ValueError, match=rf"{name} must have shape"):
                kernel(np.zeros(x, dtype), masks, np.zeros(out, dtype))
    two = np.zeros((3, 2), np.uint64)
    for bits in (0, 64, 129):
        with pytest.raises(ValueError, match=rf"bits must be in 65\.\.128, not {bits}"):
            simhash.settle(two, two.copy(), bits, 0, 1)
        with pytest.raises(ValueError, match=rf"bits must be in 65\.\.128, not {bits}"):
            simhash.distances(two, two, bits, np.empty(3, np.int32))
    with pytest.raises(ValueError, match=r"rule must be in 0\.\.2, not 3"):
        simhash.settle(two, two.copy(), 128, 3, 1)
    with pytest.raises(
        ValueError, match=r"zeros must have shape \(3, 2\), not \(2, 2\)"
    ):
        simhash.settle(two, two[:2].copy(), 128, 0, 1)
    for other in (two[:2], two[:, :1].copy(), two[:0]):
        with pytest.raises(ValueError, match="a must have shape"):
            simhash.distances(other, two, 128, np.empty(3, np.int32))
    with pytest.raises(
        ValueError, match="out must have 3 elements, one for each row of b, not 2"
    ):
        simhash.distances(two, two, 128, np.empty(2, np.int32))
    with pytest.raises(ValueError, match="offsets must rise from 0 to at most 2"):
        simhash.overflowing(one, np.zeros(2, np.int64))
