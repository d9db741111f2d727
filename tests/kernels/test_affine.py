"""datasketch's hash values and SHA-1: every CPU level against the reference and hashlib; what the kernels refuse."""

import hashlib
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast import MinHasher, TokenSets
from lshfast.kernels import affine, sketch
from tests.conftest import csr
from tests.reference import affine as reference
from tests.reference.affine import MASK32, MASK64, P

# Around the lanes of each level (4, 8, 16), what they hold (8, 16, 32, 64), and the block of hashes
# (256).
COUNTS = [0, 1, 2, 3, 7, 8, 9, 255, 256, 257, 600]
SLOTS = [1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 129]
DTYPES = {"affine32": np.uint32, "affine64": np.uint64, "legacy": np.uint64}
OWN = {"classic": sketch.classic_constants, "fast": sketch.fast_constants}
SCHEMES = pytest.mark.parametrize("scheme", DTYPES)

EDGE = st.sampled_from(
    [0, 1, MASK32, P - 1, P, P + 1, 8 * P, 2**63, MASK64 - 1, MASK64]
)
WORD64 = st.one_of(st.integers(0, MASK64), EDGE)


def functions_of(scheme, a, b):
    return affine.Functions(
        scheme, len(a), np.array(a, DTYPES[scheme]), np.array(b, DTYPES[scheme])
    )


def own_functions(scheme, k, seed=1):
    return affine.Functions(scheme, k, *OWN[scheme](seed, k))


def fresh(scheme, *shape):
    return np.full(
        shape, reference.GREATEST.get(scheme, MASK64), DTYPES.get(scheme, np.uint64)
    )


def lowered(functions, scheme, hashes, k):
    values = fresh(scheme, k)
    functions.lower(np.array(hashes, np.uint64), values)
    return values.tolist()


def hashes_for(scheme, hashes):
    """Return hashes as the scheme reads them."""
    return [x & MASK32 for x in hashes] if scheme == "affine32" else hashes


@cache
def random_rows():
    generator = np.random.default_rng(3)
    return [generator.integers(0, 2**64, n, np.uint64).tolist() for n in COUNTS]


@cache
def expected(scheme, k):
    constants = reference.permutations(scheme, 7, k)
    return constants, [
        reference.hash_values(scheme, hashes_for(scheme, row), *constants)
        for row in random_rows()
    ]


# Hash values


@SCHEMES
@pytest.mark.parametrize("k", SLOTS)
def test_hash_values(level, scheme, k):
    constants, sketches = expected(scheme, k)
    functions = functions_of(scheme, *constants)
    values = fresh(scheme, len(COUNTS), k)
    functions.lower_rows(*csr(random_rows()), values)
    for n, hashes, row, wanted in zip(
        COUNTS, random_rows(), values.tolist(), sketches, strict=True
    ):
        assert row == wanted, f"{n} hashes"
        assert lowered(functions, scheme, hashes, k) == wanted


@SCHEMES
@settings(max_examples=40)
@given(
    rows=st.lists(st.lists(WORD64, max_size=12), max_size=3),
    constants=st.lists(st.tuples(WORD64, WORD64), min_size=1, max_size=40),
)
@example(
    rows=[[MASK64], [0], []],
    constants=[
        (MASK64, MASK64),
        (1, 0),
        (0, P),
        (0, P - 1),
        (0, 7 * P),
        (0, 8 * P + 7),
    ],
)
def test_any_constants(level, scheme, rows, constants):
    greatest = MASK32 if scheme == "affine32" else MASK64
    a, b = [x & greatest for x, _ in constants], [y & greatest for _, y in constants]
    values = fresh(scheme, len(rows), len(a))
    functions_of(scheme, a, b).lower_rows(*csr(rows), values)
    assert values.tolist() == [
        reference.hash_values(scheme, hashes_for(scheme, row), a, b) for row in rows
    ]


@settings(max_examples=40)
@given(
    scheme=st.sampled_from([*DTYPES, *OWN]),
    hashes=st.lists(WORD64, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    k=st.integers(1, 70),
)
def test_parts_in_any_order_are_the_whole(level, scheme, hashes, cuts, k):
    functions = (
        own_functions(scheme, k)
        if scheme in OWN
        else functions_of(scheme, *reference.permutations(scheme, 1, k))
    )
    whole, parts = lowered(functions, scheme, hashes, k), fresh(scheme, k)
    edges = sorted({0, len(hashes), *(cut for cut in cuts if cut < len(hashes))})
    for low, high in reversed([*pairwise(edges)]):
        functions.lower(np.array(hashes[low:high][::-1], np.uint64), parts)
    assert parts.tolist() == whole
    for number in hashes:
        functions.lower(number, parts)
    assert parts.tolist() == whole


@pytest.mark.parametrize("scheme", OWN)
@pytest.mark.parametrize("k", [1, 2, 3, 16, 100, 255, 256, 257, 300, 1500])
def test_own_schemes_are_the_library_s(level, scheme, k):
    rows = [*random_rows(), [5], [5, 5], [6]]
    offsets, tokens = csr(rows)
    functions, values = own_functions(scheme, k, 9), fresh(scheme, len(rows), k)
    functions.lower_rows(offsets, tokens, values)
    assert np.array_equal(
        values, MinHasher(k, scheme, 9).sketch(TokenSets(offsets, tokens))
    )
    one_by_one = fresh(scheme, k)
    for token in rows[7]:
        functions.lower(token, one_by_one)
    assert np.array_equal(one_by_one, values[7])


def test_long_batches_and_threads_without_the_interpreter_lock(level):
    hashes = np.random.default_rng(5).integers(0, 2**64, 5000, np.uint64)
    constants = reference.permutations("affine64", 1, 3)
    assert lowered(
        functions_of("affine64", *constants), "affine64", hashes, 3
    ) == reference.hash_values("affine64", hashes.tolist(), *constants)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 100])
def test_equal(level, dtype, n):
    generator = np.random.default_rng(n)
    a, b = (generator.integers(0, 3, n).astype(dtype) for _ in range(2))
    assert affine.equal(a, b) == sum(x == y for x, y in zip(a, b, strict=True))
    assert affine.equal(a, a.copy()) == n


# SHA-1


def test_sha1_of_each_length(level):
    """Around the padding (55, 56) and the blocks (64) of the function, with each alignment of a start."""
    data = np.random.default_rng(1).bytes(400)
    tokens = [data[start : start + n] for start, n in enumerate(range(300))]
    heads = [reference.sha1_head(token, 64) for token in tokens]
    assert affine.sha1(tokens, 64).tolist() == heads
    lying_anywhere = [
        memoryview(data)[start : start + n] for start, n in enumerate(range(300))
    ]
    assert affine.sha1(lying_anywhere, 64).tolist() == heads
    assert affine.sha1(iter(tokens), 32).tolist() == [head & MASK32 for head in heads]
    held = affine.Tokens([tokens[:7], [], iter(tokens[7:])])
    assert held.offsets.tolist() == [0, 7, 7, 300]
    assert held.sha1(64).tolist() == heads
    assert [affine.sha1_hash64(token) for token in tokens] == heads
    assert [affine.sha1_hash32(token) for token in tokens] == [
        head & MASK32 for head in heads
    ]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 15, 16, 17, 31, 33, 255, 256, 257, 273])
def test_sha1_of_many_at_once(level, n):
    """Around sixteen short tokens at a time: alone, and with long ones and others than bytes among them."""
    data = np.random.default_rng(n).bytes(200)
    short = [data[i : i + i % 56] for i in range(n)]
    for tokens in (
        short,
        [data[: 60 + i] if i % 3 == 1 else token for i, token in enumerate(short)],
    ):
        heads = [reference.sha1_head(token, 64) for token in tokens]
        assert affine.sha1(tokens, 64).tolist() == heads
        assert affine.Tokens([tokens]).sha1(64).tolist() == heads
        mixed = [
            bytearray(token) if i % 5 == 2 else token for i, token in enumerate(tokens)
        ]
        assert affine.sha1(mixed, 64).tolist() == heads
        assert affine.Tokens([mixed]).sha1(32).tolist() == [
            head & MASK32 for head in heads
        ]


def test_tokens_take_no_more_rows_than_they_need():
    rows = iter([[b"a", b"b"], [], [b"c"], [b"d"]])
    for size, offsets in [(3, [0, 2, 2, 3]), (9, [0, 1]), (9, [0])]:
        assert affine.Tokens(rows, size).offsets.tolist() == offsets
    assert len(affine.Tokens(iter([[], [], []]), 2)) == 2


@given(st.lists(st.binary(max_size=200), max_size=40))
def test_sha1_of_any_bytes(level, tokens):
    assert affine.sha1(tokens, 64).tolist() == [
        reference.sha1_head(token, 64) for token in tokens
    ]
    assert affine.Tokens([tokens]).sha1(64).tolist() == [
        reference.sha1_head(token, 64) for token in tokens
    ]


def test_long_data(level):
    data = bytes(range(256)) * 5000 + b"x"
    assert affine.sha1_hash64(data) == reference.sha1_head(data, 64)


BYTES_LIKE = [
    b"bytes",
    bytearray(b"bytearray"),
    memoryview(b"memoryview"),
    memoryview(b"memoryview")[3:],
    np.frombuffer(b"array", np.uint8),
    np.array([1.5, 2.5]),
    np.zeros((2, 2)),
    np.int64(7),
    np.bytes_(b"scalar"),
    bytearray(),
]


def test_what_hashlib_takes():
    heads = [
        int.from_bytes(hashlib.sha1(token).digest()[:8], "little")
        for token in BYTES_LIKE
    ]
    assert affine.sha1(BYTES_LIKE, 64).tolist() == heads
    assert affine.Tokens([BYTES_LIKE, []]).sha1(64).tolist() == heads


@pytest.mark.parametrize(
    "token",
    ["str", np.str_("str"), 1, None, 1.5, [1], memoryview(b"abcdef")[::2], object()],
)
def test_what_hashlib_refuses(token):
    with pytest.raises((TypeError, BufferError)) as theirs:
        hashlib.sha1(token)
    for call in (affine.sha1_hash32, affine.sha1_hash64):
        with pytest.raises(theirs.type):
            call(token)
    with pytest.raises(theirs.type):
        affine.sha1([b"fine", token], 32)
    with pytest.raises(theirs.type):
        affine.Tokens([[b"fine"], [token]])


def test_tokens_keep_what_could_change():
    token = bytearray(b"before")
    held = affine.Tokens([[token]])
    token[:] = b"behind"
    assert held.sha1(64).tolist() == [reference.sha1_head(b"before", 64)]


# This library's own tokens


@settings(max_examples=80)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.text(st.characters(codec="utf-8"), max_size=20),
            st.integers(-(2**63), MASK64),
        )
    ),
    WORD64,
)
def test_native_tokens(tokens, seed):
    wanted = TokenSets.from_sets([tokens], seed=seed).tokens
    assert np.array_equal(affine.native(tokens, seed), wanted)
    rows = affine.NativeRows(seed)
    assert rows.fill(iter([[], tokens]), 1000) is None
    before = rows.rows()
    rows.add_hashes(wanted)
    assert rows.fill(iter([iter(tokens)]), 1000) is None
    assert (len(rows), rows.size) == (4, 3 * len(tokens))
    assert np.array_equal(before[1], wanted)
    offsets, found = rows.rows()
    assert offsets.tolist() == [0, 0, *(len(tokens) * i for i in (1, 2, 3))]
    assert np.array_equal(found, np.tile(wanted, 3))
    assert [affine.native_hash(token, seed) for token in tokens] == wanted.tolist()


@pytest.mark.parametrize(
    "token",
    [1.5, None, True, -(2**63) - 1, 2**64, "\ud800", np.int64(5), bytearray(b"a")],
)
def test_tokens_that_are_left_to_python(token):
    assert affine.native_hash(token, 1) is None
    assert affine.native(["a", token], 1) is None
    left = [["a", token], np.array([7]), "str"]
    rows, others = affine.NativeRows(1), iter([["b"], *left, ["c"]])
    for row in left:
        assert rows.fill(others, 9) is row
        assert (len(rows), rows.size) == (1, 1)
    assert rows.fill(others, 9) is None
    assert (len(rows), rows.size) == (2, 2)
    values = fresh("fast", 8)
    assert not own_functions("fast", 8).lower_native(["a", token], 1, values)
    assert values.tolist() == [MASK64] * 8


# What is refused


def test_constants_are_checked():
    good = np.ones(4, np.uint32)
    for a, b in [(good[:3], good), (good, good[:3]), (good[:0], good[:0])]:
        with pytest.raises(ValueError, match="affine32 of 4 functions takes"):
            affine.Functions("affine32", 4, a, b)
    with pytest.raises(ValueError, match="k must be at least 1"):
        affine.Functions("affine32", 0, good[:0], good[:0])
    with pytest.raises(ValueError, match="mismatch"):
        affine.Functions("affine64", 4, good, good)
    with pytest.raises(KeyError):
        affine.Functions("affine16", 4, good, good)
    a, b = sketch.classic_constants(1, 17)
    for scheme, k in [("classic", 16), ("classic", 33), ("fast", 17)]:
        with pytest.raises(ValueError, match="functions takes"):
            affine.Functions(scheme, k, a, b)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(3, np.uint32),
        np.zeros(4, np.uint64),
        np.zeros(2, np.uint64),
        np.zeros(4, np.int32),
        np.zeros(4, np.float32),
        np.zeros(8, np.uint32)[::2],
        np.frombuffer(bytes(16), np.uint32),
    ],
)
def test_values_are_checked(values):
    functions = functions_of("affine32", [1, 3, 5, 7], [0, 1, 2, 3])
    hashes = np.arange(3, dtype=np.uint64)
    for call in (
        lambda: functions.lower(hashes, values),
        lambda: functions.lower(5, values),
        lambda: functions.lower_sha1([b"a"], 32, values),
        lambda: functions.lower_rows(np.array([0, 3]), hashes, values[None, :]),
    ):
        with pytest.raises((ValueError, BufferError)):
            call()


@pytest.mark.parametrize("offsets", [[], [0, 4], [-1, 2], [0, 2, 1], [0, 1, 3]])
def test_rows_are_checked(offsets):
    functions = functions_of("affine64", [1, 3], [0, 1])
    with pytest.raises(ValueError, match=r"offsets must rise|values must be"):
        functions.lower_rows(
            np.array(offsets, np.int64),
            np.arange(3, dtype=np.uint64),
            fresh("affine64", 1, 2),
        )


def test_other_arguments_are_checked():
    functions = functions_of("affine64", [1, 3], [0, 1])
    values = fresh("affine64", 2)
    for number in (-1, 2**64):
        with pytest.raises(OverflowError):
            functions.lower(number, values)
    with pytest.raises((TypeError, ValueError)):
        functions.lower(1.5, values)
    with pytest.raises(ValueError, match="bits must be 32 or 64"):
        affine.sha1([], 16)
    with pytest.raises(ValueError, match="one length"):
        affine.equal(values, values[:1])
    with pytest.raises(TypeError, match="uint32"):
        affine.equal(values, values.astype(np.uint32))
    with pytest.raises(TypeError, match="uint32"):
        affine.equal(values.astype(np.uint8), values.astype(np.uint8))
