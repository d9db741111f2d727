"""Signatures of one permutation and packed ones: every CPU level against the reference, and what is refused."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import bits
from tests.conftest import csr
from tests.kernels.test_sketch import unmix64
from tests.reference import bits as reference
from tests.reference.hashing import EMPTY, MASK64, Domain, draw, mix64

# Around the lanes of each level (4, 8), its bytes (32, 64) and words of each width, and the block
# of tokens (256).
COUNTS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 127, 255, 256, 257, 600]
SLOTS = [
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
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    255,
    256,
    257,
    520,
    1000,
]
WIDTHS = [1, 2, 4, 8, 16]

WORD64 = st.integers(0, MASK64)
EDGE = st.sampled_from([0, 1, 2**56 - 1, 2**63, MASK64 - 1, MASK64])
TOKENS = st.lists(st.one_of(WORD64, EDGE), max_size=20)
SLOT = st.one_of(st.integers(0, 3), WORD64, EDGE)
WIDTH = pytest.mark.parametrize("width", WIDTHS)


def grouped(offsets, tokens, k, seed=1):
    out = np.zeros((len(offsets) - 1, k), np.uint64)
    bits.groups(offsets, tokens, bits.group_constant(seed), out)
    return out


def counts_of(a, b):
    """Return the library's (equal, skipped) of the rows of b."""
    equal, skipped = np.full((2, len(b)), -7, np.int32)
    bits.compare(a, b, equal, skipped)
    return list(zip(equal.tolist(), skipped.tolist(), strict=True))


def packed_of(signatures, width):
    out = np.zeros(
        (len(signatures), bits.words_of(signatures.shape[1], width)), np.uint64
    )
    bits.pack(signatures, width, out)
    return out


def packed_counts(a, b, k, width):
    equal = np.full(len(b), -7, np.int32)
    bits.compare_packed(a, b, k, width, equal)
    return equal.tolist()


@cache
def random_signatures(n, k):
    """Return signatures of few different values a slot, so that many agree; some slots and rows without a value."""
    rng = np.random.default_rng(n * 1000 + k)
    signatures = rng.integers(0, 3, (n, k)).astype(np.uint64) + np.arange(
        k, dtype=np.uint64
    ) * np.uint64(2**50)
    signatures[rng.random((n, k)) < 0.2] = EMPTY
    signatures[1::5] = EMPTY
    return signatures


# Against the reference


@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 9, 16, 100, 128, 1000])
def test_groups(level, k):
    rng = np.random.default_rng(7)
    rows = [rng.integers(0, 2**64, n, np.uint64).tolist() for n in COUNTS]
    assert grouped(*csr(rows), k).tolist() == [
        reference.one_permutation(row, k, 1) for row in rows
    ]


@settings(max_examples=40)
@given(rows=st.lists(TOKENS, max_size=3), k=st.integers(1, 40), seed=WORD64)
@example(rows=[], k=1, seed=0)
@example(rows=[[], [0], [MASK64] * 9, [0] * 300, [0, MASK64], []], k=33, seed=MASK64)
def test_groups_of_any_tokens(level, rows, k, seed):
    assert grouped(*csr(rows), k, seed).tolist() == [
        reference.one_permutation(row, k, seed) for row in rows
    ]


@pytest.mark.parametrize("k", [1, 3, 8, 1000, 65536])
def test_the_first_and_the_last_group(level, k):
    """Tokens whose hash is all zeros or all ones: the least and the greatest value, and neither is EMPTY."""
    constant = draw(1, Domain.GROUP, 0)
    low, high = grouped(*csr([[unmix64(h) ^ constant] for h in (0, MASK64)]), k)
    assert np.flatnonzero(low != EMPTY).tolist() == [0]
    assert low[0] == 0
    assert np.flatnonzero(high != EMPTY).tolist() == [k - 1]
    assert high[k - 1] == 2**56 - 1


@pytest.mark.parametrize("k", SLOTS)
def test_compare(level, k):
    a, b = random_signatures(12, k), random_signatures(13, k)[:12].copy()
    b[::3, : k // 2] = a[::3, : k // 2]
    assert counts_of(a, b) == [
        reference.compare(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    for one in a[:3]:
        assert counts_of(one[None], b) == [
            reference.compare(one.tolist(), y) for y in b.tolist()
        ]


@settings(max_examples=40)
@given(data=st.data(), k=st.integers(1, 40))
def test_compare_any_slots(level, data, k):
    a, b = (
        np.array(data.draw(st.lists(SLOT, min_size=k, max_size=k)), np.uint64)[None]
        for _ in range(2)
    )
    assert counts_of(a, b) == [reference.compare(a[0].tolist(), b[0].tolist())]
    assert counts_of(a, b) == counts_of(b, a)


@pytest.mark.few_cases
@WIDTH
@pytest.mark.parametrize("k", SLOTS)
def test_packing_and_packed_comparison(level, width, k):
    a, b = random_signatures(12, k), random_signatures(13, k)[:12].copy()
    b[::3, : k // 2] = a[::3, : k // 2]
    b[2, : k - 1] = a[2, : k - 1]
    short, other = packed_of(a, width), packed_of(b, width)
    assert short.tolist() == [pack_or_empty(row, width) for row in a.tolist()]
    rows = list(zip(short.tolist(), other.tolist(), strict=True))
    assert packed_counts(short, other, k, width) == [
        reference.equal_slots(x, y, k, width) for x, y in rows
    ]
    for one in short[:3]:
        expected = [
            reference.equal_slots(one.tolist(), y, k, width) for y in other.tolist()
        ]
        assert packed_counts(one[None], other, k, width) == expected


def pack_or_empty(row, width):
    """Return the reference's words; the library takes a signature for empty by its first slot."""
    return reference.pack([EMPTY] * len(row) if row[0] == EMPTY else row, width)


@pytest.mark.few_cases
@settings(max_examples=40)
@given(data=st.data(), k=st.integers(1, 140), width=st.sampled_from(WIDTHS))
def test_packed_comparison_of_any_words(level, data, k, width):
    words = bits.words_of(k, width)
    tail = MASK64 >> (-k * width) % 64

    def drawn():
        row = data.draw(
            st.lists(st.one_of(WORD64, EDGE), min_size=words, max_size=words)
        )
        return row if row[0] == EMPTY else [*row[:-1], row[-1] & tail]

    a = np.array([drawn() for _ in range(3)], np.uint64)
    b = np.array([drawn() for _ in range(3)], np.uint64)
    expected = [
        reference.equal_slots(x, y, k, width)
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert packed_counts(a, b, k, width) == expected


@WIDTH
def test_a_first_word_of_all_ones_is_not_taken_for_an_empty_set(level, width):
    k = 64 // width
    ones = np.full((1, k), unmix64(MASK64), np.uint64)
    [words] = packed_of(ones, width).tolist()
    assert words == [MASK64 - 1] == reference.pack(ones[0].tolist(), width)
    assert packed_counts(packed_of(ones, width), packed_of(ones, width), k, width) == [
        k
    ]
    assert packed_of(ones[:, 1:].copy(), width).tolist() == [[MASK64 >> width]]


def test_more_rows_than_a_block(level):
    signatures = np.repeat(random_signatures(12, 20), 60, axis=0)
    packed = packed_of(signatures, 2)
    expected = [
        reference.equal_slots(packed[0].tolist(), row, 20, 2)
        for row in packed[::60].tolist()
    ]
    assert packed_counts(packed[:1], packed, 20, 2) == np.repeat(expected, 60).tolist()
    own = [-1 if row[0] == EMPTY else 20 for row in signatures.tolist()]
    assert packed_counts(packed, packed, 20, 2) == own


@pytest.mark.slow
def test_the_longest_signatures(level):
    a = np.arange(2 * 65536, dtype=np.uint64).reshape(2, 65536)
    assert counts_of(a, a) == [(65536, 0)] * 2
    assert counts_of(a[:1], a) == [(65536, 0), (0, 0)]
    for width in WIDTHS:
        packed = packed_of(a, width)
        [same, other] = packed_counts(packed[:1], packed, 65536, width)
        assert same == 65536
        assert other == sum(
            mix64(x) % 2**width == mix64(x + 65536) % 2**width for x in range(65536)
        )


# Laws


@pytest.mark.parametrize("k", [1, 16, 100, 300])
def test_order_repeats_and_pieces_do_not_matter(level, k):
    tokens = np.random.default_rng(3).integers(0, 2**64, 700, np.uint64)
    whole = grouped(np.array([0, 700]), tokens, k)[0]
    shuffled = np.random.default_rng(4).permutation(
        np.concatenate([tokens, tokens[:300], tokens[:1].repeat(256)])
    )
    assert (
        grouped(np.array([0, len(shuffled)]), shuffled, k)[0].tolist() == whole.tolist()
    )
    for cuts in ([0, 1, 700], [0, 255, 256, 700], [0, 0, 350, 350, 699, 700]):
        assert grouped(np.array(cuts), tokens, k).min(axis=0).tolist() == whole.tolist()


# Buffers


def test_read_only_and_sliced_arrays(level):
    offsets, tokens = csr([[1, 2, 3], [], [4], list(range(300))])
    whole = grouped(offsets, tokens, 20)
    offsets.flags.writeable = tokens.flags.writeable = False
    assert grouped(offsets, tokens, 20).tolist() == whole.tolist()
    assert grouped(offsets[1:], tokens, 20).tolist() == whole[1:].tolist()
    assert grouped(offsets[:1], tokens, 20).shape == (0, 20)
    whole.flags.writeable = False
    packed = packed_of(whole, 4)
    packed.flags.writeable = False
    assert counts_of(whole[3:], whole[3:]) == [(20, 0)]
    assert packed_counts(packed[3:], packed[3:], 20, 4) == [20]


def test_nothing_is_written_beside_the_output(level):
    offsets, tokens = csr([list(range(40)), [], [7]])
    framed = np.full((5, 19), 12345, np.uint64)
    bits.groups(offsets, tokens, bits.group_constant(1), framed[1:4])
    assert framed[1:4].tolist() == grouped(offsets, tokens, 19).tolist()
    assert (framed[[0, 4]] == 12345).all()
    signatures = random_signatures(3, 100)
    for width in WIDTHS:
        words = bits.words_of(100, width)
        framed = np.full((5, words), 12345, np.uint64)
        bits.pack(signatures, width, framed[1:4])
        assert (framed[[0, 4]] == 12345).all()
        equal = np.full(5, 12345, np.int32)
        bits.compare_packed(framed[1:2], framed[1:4], 100, width, equal[1:4])
        assert (equal[[0, 4]] == 12345).all()
        assert 12345 not in equal[1:4]
    equal, skipped = np.full((2, 5), 12345, np.int32)
    bits.compare(signatures[:1], signatures, equal[1:4], skipped[1:4])
    assert (equal[[0, 4]] == 12345).all()
    assert (skipped[[0, 4]] == 12345).all()


def test_no_rows(level):
    none = np.zeros((0, 16), np.uint64)
    assert counts_of(none, none) == []
    assert counts_of(np.zeros((1, 16), np.uint64), none) == []
    assert packed_of(none, 8).shape == (0, 2)
    assert packed_counts(np.zeros((1, 2), np.uint64), none[:, :2], 16, 8) == []


@pytest.mark.parametrize(
    ("offsets", "out"),
    [
        ([0, 2, 1], (2, 4)),
        ([-1, 2], (1, 4)),
        ([0, 4], (1, 4)),
        ([0, 2**62], (1, 4)),
        ([], (0, 4)),
        ([0, 1, 2], (1, 4)),
        ([0, 1, 2], (3, 4)),
        ([0, 3], (1, 0)),
        ([0, 3], (1, 65537)),
    ],
    ids=str,
)
def test_bad_rows_and_shapes_are_refused(offsets, out):
    offsets, tokens = np.array(offsets, np.int64), np.arange(3, dtype=np.uint64)
    with pytest.raises(ValueError, match=r"must (rise|have)"):
        bits.groups(offsets, tokens, 1, np.zeros(out, np.uint64))


WORDS = np.zeros((3, 4), np.uint64)
SHORT = np.zeros((3, 3), np.uint64)
COUNT = np.zeros(3, np.int32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bits.compare(WORDS, SHORT, COUNT, COUNT), "must have rows of 3, not of 4 and 3"),
        (lambda: bits.compare(WORDS[:2], WORDS, COUNT, COUNT), "a must have 1 row or 3, as b has, not 2"),
        (lambda: bits.compare(WORDS[:0], WORDS, COUNT, COUNT), "a must have 1 row or 3, as b has, not 0"),
        (lambda: bits.compare(WORDS, WORDS, COUNT[:2], COUNT), "equal must have 3 elements.*, not 2"),
        (lambda: bits.compare(WORDS, WORDS, COUNT, COUNT[:2]), "skipped must have 3 elements.*, not 2"),
        (lambda: bits.compare(WORDS[:, :0], WORDS[:, :0], COUNT, COUNT), r"1\.\.65536 slots, not 0"),
        (lambda: bits.words_of(0, 1), r"1\.\.65536 slots, not 0"),
        (lambda: bits.words_of(65537, 1), r"1\.\.65536 slots, not 65537"),
        (lambda: bits.words_of(4, 3), "bits must be one of 1, 2, 4, 8, 16, not 3"),
        (lambda: bits.words_of(4, 0), "bits must be one of 1, 2, 4, 8, 16, not 0"),
        (lambda: bits.words_of(4, -1), "bits must be one of 1, 2, 4, 8, 16, not -1"),
        (lambda: bits.words_of(4, 32), "bits must be one of 1, 2, 4, 8, 16, not 32"),
        (lambda: bits.pack(WORDS, 5, WORDS), "bits must be one of 1, 2, 4, 8, 16, not 5"),
        (lambda: bits.pack(WORDS, 8, WORDS), r"out must be \(3, 1\), not \(3, 4\)"),
        (lambda: bits.pack(WORDS, 16, np.zeros((2, 1), np.uint64)), r"out must be \(3, 1\), not \(2, 1\)"),
        (lambda: bits.compare_packed(WORDS, WORDS, 128, 1, COUNT), "must have rows of 2, not of 4 and 4"),
        (lambda: bits.compare_packed(WORDS, WORDS, 128, 2, COUNT[:1]), "equal must have 3 elements.*, not 1"),
        (lambda: bits.compare_packed(WORDS[:2], WORDS, 128, 2, COUNT), "a must have 1 row or 3, as b has, not 2"),
        (lambda: bits.compare_packed(WORDS, WORDS, 128, 3, COUNT), "bits must be one of 1, 2, 4, 8, 16, not 3"),
        (lambda: bits.compare_packed(WORDS, WORDS, 0, 2, COUNT), r"1\.\.65536 slots, not 0"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("array", "error"),
    [(None, TypeError), (np.zeros((3, 4)), ValueError), (np.zeros((3, 4), np.int64), ValueError),
     (np.zeros((3, 8), np.uint64)[:, ::2], ValueError), (np.zeros(4, np.uint64), ValueError)],
)  # fmt: skip
def test_other_arrays_are_refused(array, error):
    for call in (
        lambda: bits.compare(array, WORDS, COUNT, COUNT),
        lambda: bits.pack(array, 16, WORDS[:, :1].copy()),
        lambda: bits.compare_packed(array, WORDS, 16, 16, COUNT),
    ):
        with pytest.raises(error):
            call()
