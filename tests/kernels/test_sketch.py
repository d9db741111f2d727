"""MinHash signatures: every CPU level against the reference, and MinHasher's laws and errors."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast import MinHasher, TokenSets
from lshfast.kernels import sketch
from tests.conftest import csr
from tests.reference import minhash
from tests.reference.hashing import EMPTY, MASK64, Domain, P, draw, mix64, multiplier

# Around the lanes of each level (4, 8), the tokens of a set that is hashed for several rounds at
# once (12), the registers (16), the block of tokens (256), and the cap of 254 rounds.
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
    11,
    12,
    13,
    15,
    16,
    17,
    127,
    128,
    129,
    255,
    256,
    257,
    600,
]
SLOTS = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 128, 129, 256, 1000]

CONSTANTS = {"classic": sketch.classic_constants, "fast": sketch.fast_constants}
KERNELS = {"classic": sketch.classic, "fast": sketch.fast}
REFERENCE = {"classic": minhash.classic, "fast": minhash.fast}
SCHEMES = pytest.mark.parametrize("scheme", KERNELS)

WORD64 = st.integers(0, MASK64)
EDGE = st.sampled_from(
    [0, 1, P - 1, P, P + 1, 2**52 - 1, 2**52, 2**63, MASK64 - 1, MASK64]
)
TOKENS = st.lists(st.one_of(WORD64, EDGE), max_size=20)


def sketches(scheme, offsets, tokens, k, seed):
    """Return the library's signatures of the rows of (offsets, tokens)."""
    out = np.zeros((len(offsets) - 1, k), np.uint64)
    KERNELS[scheme](offsets, tokens, *CONSTANTS[scheme](seed, k), out)
    return out


def sketched(scheme, rows, k, seed=1):
    return sketches(scheme, *csr(rows), k, seed).tolist()


@cache
def random_rows():
    """Return one row of each count, of random tokens."""
    generator = np.random.default_rng(7)
    return [generator.integers(0, 2**64, n, np.uint64).tolist() for n in COUNTS]


@cache
def expected(scheme, k):
    """Return the reference's signatures of `random_rows`; the levels share one computation."""
    return [REFERENCE[scheme](row, k, 1) for row in random_rows()]


def unmix64(y):
    """Return the x of which y is the mix64, so that tokens can be chosen by what they become."""
    y ^= y >> 31 ^ y >> 62
    y = y * pow(0x94D049BB133111EB, -1, 2**64) & MASK64
    y ^= y >> 27 ^ y >> 54
    y = y * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK64
    return y ^ y >> 30 ^ y >> 60


# Against the reference


@SCHEMES
@pytest.mark.parametrize("k", SLOTS)
def test_signatures(level, scheme, k):
    found = sketched(scheme, random_rows(), k)
    for n, signature, reference in zip(COUNTS, found, expected(scheme, k), strict=True):
        assert signature == reference, f"{n} tokens"


@pytest.mark.few_cases
@SCHEMES
@settings(max_examples=40)
@given(rows=st.lists(TOKENS, max_size=3), k=st.integers(1, 40), seed=WORD64)
@example(rows=[], k=1, seed=0)
@example(rows=[[], [0], [MASK64] * 9, [0] * 300, [0, MASK64], []], k=33, seed=MASK64)
def test_any_tokens(level, scheme, rows, k, seed):
    assert sketched(scheme, rows, k, seed) == [
        REFERENCE[scheme](row, k, seed) for row in rows
    ]


def test_classic_at_the_edges_of_the_field(level):
    """Tokens that become 0, p, 2^61, 2^64 - 1 and the like, and others that some function sends to 0, 1 or p - 1."""
    k, seed = 24, 5
    edges = [
        0,
        1,
        2**52 - 1,
        2**52,
        P - 1,
        P,
        P + 1,
        2 * P,
        7 * P,
        8 * P,
        8 * P + 7,
        MASK64 - 1,
        MASK64,
    ]
    for i in range(k):
        a = multiplier(draw(seed, Domain.CLASSIC, 2 * i))
        b = draw(seed, Domain.CLASSIC, 2 * i + 1) % P
        edges += [(value - b) * pow(a, -1, P) % P for value in (0, 1, P - 1)]
    rows = [[unmix64(edge)] for edge in edges]
    found = sketched("classic", rows, k, seed)
    assert found == [minhash.classic(row, k, seed) for row in rows]
    assert {0, 1, P - 1} <= {slot for signature in found for slot in signature}


@pytest.mark.parametrize("k", [1, 3, 7, 8, 1000])
def test_fast_at_the_edges_of_a_hash(level, k):
    """Tokens whose hash is all zeros or all ones: the first and the last slot, the least and the greatest value."""
    first_round = draw(1, Domain.FAST_ROUND, 0)
    first_slot = draw(1, Domain.FAST_SLOT, 0)
    rows = [
        [unmix64(hashed) ^ constant]
        for hashed in (0, MASK64)
        for constant in (first_round, first_slot)
    ]
    found = sketched("fast", rows, k)
    assert found == [minhash.fast(row, k, 1) for row in rows]
    assert found[0][0] == 0
    assert found[2][k - 1] == 2**56 - 1


@SCHEMES
def test_the_longest_signature(level, scheme):
    """Spot checks of 65,536 slots, of which one token fills few before the direct minima."""
    token = 123456789
    [signature] = sketched(scheme, [[token]], 65536)
    for i in (0, 1, 4095, 40000, 65534, 65535):
        if scheme == "classic":
            a = multiplier(draw(1, Domain.CLASSIC, 2 * i))
            b = draw(1, Domain.CLASSIC, 2 * i + 1) % P
            assert signature[i] == (a * mix64(token) + b) % P
        else:
            direct = (254 << 56) + mix64(token ^ draw(1, Domain.FAST_SLOT, i)) % 2**56
            assert signature[i] == direct or signature[i] >> 56 < 254
    if scheme == "fast":
        assert sum(slot >> 56 < 254 for slot in signature) <= 254


@SCHEMES
@pytest.mark.parametrize("seed", [0, 1, MASK64])
@pytest.mark.parametrize("k", [1, 15, 16, 17, 1015, 1016, 1024])
def test_constants(scheme, seed, k):
    first, second = (array.tolist() for array in CONSTANTS[scheme](seed, k))
    if scheme == "fast":
        assert first == [
            draw(seed, Domain.FAST_ROUND, r) for r in range(minhash.rounds_of(k))
        ]
        assert second == [draw(seed, Domain.FAST_SLOT, i) for i in range(k)]
    else:
        assert first[:k] == [
            multiplier(draw(seed, Domain.CLASSIC, 2 * i)) for i in range(k)
        ]
        assert second[:k] == [
            draw(seed, Domain.CLASSIC, 2 * i + 1) % P for i in range(k)
        ]


# Laws


@SCHEMES
@pytest.mark.parametrize("k", [1, 16, 100, 300])
def test_order_repeats_and_pieces_do_not_matter(level, scheme, k):
    tokens = np.random.default_rng(3).integers(0, 2**64, 700, np.uint64)
    whole = sketches(scheme, np.array([0, 700], np.int64), tokens, k, 1)[0]
    shuffled = np.random.default_rng(4).permutation(
        np.concatenate([tokens, tokens[:300], tokens[:1].repeat(256)])
    )
    assert (
        sketches(scheme, np.array([0, len(shuffled)], np.int64), shuffled, k, 1)[
            0
        ].tolist()
        == whole.tolist()
    )
    for cuts in ([0, 1, 700], [0, 255, 256, 700], [0, 0, 350, 350, 699, 700]):
        pieces = sketches(scheme, np.array(cuts, np.int64), tokens, k, 1)
        assert pieces.min(axis=0).tolist() == whole.tolist()


@SCHEMES
@given(a=TOKENS, b=TOKENS, k=st.integers(1, 70), seed=WORD64)
def test_merge_is_the_union(scheme, a, b, k, seed):
    hasher = MinHasher(k, scheme, seed)
    left, right, both = hasher.sketch(TokenSets(*csr([a, b, a + b])))
    assert hasher.merge(left, right).tolist() == both.tolist()


# Buffers


@SCHEMES
def test_read_only_and_sliced_arrays(level, scheme):
    offsets, tokens = csr([[1, 2, 3], [], [4], list(range(300))])
    whole = sketches(scheme, offsets, tokens, 20, 1)
    offsets.flags.writeable = tokens.flags.writeable = False
    assert sketches(scheme, offsets, tokens, 20, 1).tolist() == whole.tolist()
    assert sketches(scheme, offsets[1:], tokens, 20, 1).tolist() == whole[1:].tolist()
    assert (
        sketches(scheme, offsets[2:4], tokens[:4], 20, 1).tolist()
        == whole[2:3].tolist()
    )
    assert sketches(scheme, offsets[:1], tokens, 20, 1).shape == (0, 20)
    assert sketches(scheme, np.array([0, 0], np.int64), tokens[:0], 20, 1).tolist() == [
        [EMPTY] * 20
    ]


@SCHEMES
def test_nothing_is_written_beside_the_output(level, scheme):
    offsets, tokens = csr([list(range(40)), [], [7]])
    framed = np.full((5, 19), 12345, np.uint64)
    KERNELS[scheme](offsets, tokens, *CONSTANTS[scheme](1, 19), framed[1:4])
    assert framed[1:4].tolist() == sketches(scheme, offsets, tokens, 19, 1).tolist()
    assert (framed[[0, 4]] == 12345).all()


@SCHEMES
def test_unaligned_tokens(level, scheme):
    tokens = np.arange(1, 301, dtype=np.uint64)
    raw = np.zeros(301 * 8, np.uint8)
    for shift in (1, 4, 7):
        unaligned = raw[shift : shift + 300 * 8].view(np.uint64)
        unaligned[:] = tokens
        assert not unaligned.flags.aligned
        for buffer in (unaligned, memoryview(unaligned)):
            try:
                found = sketches(scheme, np.array([0, 300], np.int64), buffer, 20, 1)
            except ValueError:
                continue  # refused
            assert (
                found.tolist()
                == sketches(
                    scheme, np.array([0, 300], np.int64), tokens, 20, 1
                ).tolist()
            )


@SCHEMES
@pytest.mark.parametrize(
    ("offsets", "out"),
    [
        ([0, 2, 1], (2, 4)),
        ([-1, 2], (1, 4)),
        ([0, 4], (1, 4)),
        ([0, 2**62], (1, 4)),
        ([3, 0], (1, 4)),
        ([0, 2, -(2**63)], (2, 4)),
        ([], (0, 4)),
        ([0, 1, 2], (1, 4)),
        ([0, 1, 2], (3, 4)),
        ([0, 3], (1, 0)),
        ([0, 3], (1, 65537)),
        ([0, 3], (1, 17)),  # with constants of 4
    ],
    ids=str,
)
def test_bad_rows_and_shapes_are_refused(scheme, offsets, out):
    offsets, tokens = np.array(offsets, np.int64), np.arange(3, dtype=np.uint64)
    with pytest.raises(ValueError, match=r"must (rise|have|be)"):
        KERNELS[scheme](
            offsets, tokens, *CONSTANTS[scheme](1, 4), np.zeros(out, np.uint64)
        )


@SCHEMES
@pytest.mark.parametrize("k", [0, 65537])
def test_slots_out_of_range(scheme, k):
    with pytest.raises(ValueError, match=rf"1\.\.65536, not {k}"):
        CONSTANTS[scheme](1, k)


@SCHEMES
@pytest.mark.parametrize("change", ["short", "other", "none", "uneven"])
def test_wrong_constants_are_refused(scheme, change):
    first, second = CONSTANTS[scheme](1, 20)
    wrong = {
        "short": (first[:-1], second[:-1]),
        "other": CONSTANTS[scheme](1, 12),
        "none": (first[:0], second[:0]),
        "uneven": (first, second[:-1]),
    }[change]
    with pytest.raises(
        ValueError, match=rf"must be those of {scheme}_constants\(seed, 20\)"
    ):
        KERNELS[scheme](
            np.array([0, 2], np.int64),
            np.arange(2, dtype=np.uint64),
            *wrong,
            np.zeros((1, 20), np.uint64),
        )


@SCHEMES
@pytest.mark.parametrize(
    ("tokens", "error"),
    [(None, TypeError), (np.arange(3.0), ValueError), (np.arange(3), ValueError),
     (np.arange(3, dtype=">u8"), ValueError), (np.arange(6, dtype=np.uint64)[::2], ValueError),
     (np.zeros((3, 1), np.uint64), ValueError)],
)  # fmt: skip
def test_other_arrays_are_refused(scheme, tokens, error):
    with pytest.raises(error):
        sketches(scheme, np.array([0, 3], np.int64), tokens, 4, 1)


# MinHasher


@SCHEMES
@pytest.mark.parametrize("k", [1, 20, 129])
def test_minhasher(level, scheme, k):
    rows = [[3, 1, 2], [], [MASK64], list(range(300))]
    signatures = MinHasher(k, scheme, seed=9).sketch(TokenSets(*csr(rows)))
    assert signatures.dtype == np.uint64
    assert signatures.tolist() == [REFERENCE[scheme](row, k, 9) for row in rows]


@SCHEMES
def test_similarity(scheme):
    rows = [[], [], list(range(20)), list(range(10, 30)), list(range(20))]
    hasher = MinHasher(64, scheme)
    signatures = hasher.sketch(TokenSets(*csr(rows)))
    table = [[hasher.similarity(a, b) for a in signatures] for b in signatures]
    assert table == [
        [minhash.similarity(a, b) for a in signatures.tolist()]
        for b in signatures.tolist()
    ]
    assert table[0] == [0, 0, 0, 0, 0]
    assert table[2][4] == 1
    # Row by row, and one against many.
    assert hasher.similarity(signatures, signatures).tolist() == [0, 0, 1, 1, 1]
    assert hasher.similarity(signatures[2], signatures).tolist() == table[2]
    assert hasher.similarity(signatures[:, None], signatures).tolist() == table


@SCHEMES
def test_threads_change_nothing(scheme):
    generator = np.random.default_rng(2)
    counts = generator.integers(0, 20_000, 60)
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    sets = TokenSets(offsets, generator.integers(0, 2**64, offsets[-1], np.uint64))
    alone = MinHasher(16, scheme).sketch(sets, threads=1)
    for threads in (2, 5, None):
        assert (MinHasher(16, scheme).sketch(sets, threads=threads) == alone).all()
    assert (sketches(scheme, sets.offsets, sets.tokens, 16, 1) == alone).all()


def test_no_sets():
    signatures = MinHasher(16).sketch(TokenSets([0], []))
    assert signatures.shape == (0, 16)
    assert MinHasher(16).similarity(signatures, signatures).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_perm": 0}, ValueError, r"num_perm must be in 1\.\.65536, not 0"),
        ({"num_perm": -1}, ValueError, r"num_perm must be in 1\.\.65536, not -1"),
        ({"num_perm": 65537}, ValueError, r"num_perm must be in 1\.\.65536, not 65537"),
        ({"num_perm": 16.0}, TypeError, r"num_perm must be an int, not 16\.0"),
        ({"num_perm": True}, TypeError, "num_perm must be an int, not True"),
        ({"num_perm": "16"}, TypeError, "num_perm must be an int, not '16'"),
        (
            {"scheme": "slow"},
            ValueError,
            "scheme must be 'fast' or 'classic', not 'slow'",
        ),
        ({"scheme": None}, ValueError, "scheme must be 'fast' or 'classic', not None"),
        ({"seed": -1}, ValueError, r"seed must be in 0\.\.2\*\*64 - 1, not -1"),
        (
            {"seed": 2**64},
            ValueError,
            r"seed must be in 0\.\.2\*\*64 - 1, not 18446744073709551616",
        ),
        ({"seed": 1.5}, TypeError, r"seed must be an int or 'random', not 1\.5"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        MinHasher(**arguments)


@pytest.mark.parametrize("call", ["merge", "similarity"])
@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (np.zeros(8, np.int64), TypeError, "must be signatures of uint64, not int64"),
        (np.zeros(8), TypeError, "must be signatures of uint64, not float64"),
        ([1, 2], TypeError, "must be signatures of uint64"),
        (
            np.zeros(9, np.uint64),
            ValueError,
            r"must have 8 slots a signature, not shape \(9,\)",
        ),
        (
            np.zeros((8, 2), np.uint64),
            ValueError,
            r"must have 8 slots a signature, not shape \(8, 2\)",
        ),
        (np.uint64(1), ValueError, r"must have 8 slots a signature, not shape \(\)"),
    ],
)
def test_wrong_signatures_are_named(call, side, wrong, error, message):
    right = np.zeros(8, np.uint64)
    sides = (wrong, right) if side == "a" else (right, wrong)
    with pytest.raises(error, match=f"{side} {message}"):
        getattr(MinHasher(8), call)(*sides)


def test_sketch_wants_token_sets():
    with pytest.raises(
        TypeError, match=r"TokenSets \(see TokenSets\.from_sets\), not list"
    ):
        MinHasher(8).sketch([[1, 2]])
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        MinHasher(8).sketch(TokenSets([0], []), threads=0)
