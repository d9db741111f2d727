"""Band keys against the reference on each CPU level, and candidate pairs by sorting against brute force."""

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import bands
from tests.reference import minhash
from tests.reference.hashing import EMPTY, Domain, draw, mix64

WORD64 = st.integers(0, 2**64 - 1)
NO_LIMIT = 2**62


def keys_of(signatures, b, r):
    """Return the library's keys as lists."""
    signatures = np.array(signatures, np.uint64)
    out = np.zeros((len(signatures), b), np.uint64)
    bands.band_keys(signatures, b, r, out)
    return out.tolist()


def pairs_of(keys, band=0, members=None, limit=NO_LIMIT):
    """Return the library's pairs of a band as a list of tuples."""
    keys = np.asarray(keys, np.uint64)
    members = np.arange(len(keys)) if members is None else np.asarray(members, np.int64)
    left, right = bands.pairs_of_band(keys, band, members, limit)
    assert left.dtype == right.dtype == np.int64
    return list(zip(left.tolist(), right.tolist(), strict=True))


def brute_force(keys, band=0, members=None):
    """Return the sorted pairs of members that share this band's key and none of an earlier band."""
    rows = range(len(keys)) if members is None else members
    buckets = defaultdict(list)
    for row in rows:
        if keys[row][band] != EMPTY:
            buckets[keys[row][band]].append(row)
    pairs = (pair for bucket in buckets.values() for pair in combinations(bucket, 2))
    return sorted(
        (i, j)
        for i, j in pairs
        if not minhash.is_candidate(keys[i][:band], keys[j][:band])
    )


# Keys


@st.composite
def signatures(draw_from):
    k = draw_from(st.integers(1, 24))
    row = st.one_of(st.lists(WORD64, min_size=k, max_size=k), st.just([EMPTY] * k))
    r = draw_from(st.integers(1, k))
    return draw_from(st.lists(row, max_size=6)), draw_from(st.integers(1, k // r)), r


@given(signatures())
@example(([[5]], 1, 1))
@example(([[0] * 256, [EMPTY] * 256], 256, 1))
@example(([[7] * 256], 1, 256))
def test_band_keys(level, case):
    rows, b, r = case
    # A first slot of all ones makes a row empty, whatever follows: no scheme gives that to a set
    # with tokens.
    rows = [row if row[0] != EMPTY else [EMPTY] * len(row) for row in rows]
    if rows:
        assert keys_of(rows, b, r) == [minhash.band_keys(row, b, r) for row in rows]


@pytest.mark.parametrize("r", range(1, 18))
def test_all_numbers_of_bands(r, level):
    """Up to forty, side by side and left over: empty rows, rows that end all ones, slots behind the last band."""
    generator = np.random.default_rng(r)
    for b in range(1, 41):
        rows = generator.integers(
            0, 2**64, (4, b * r + generator.integers(0, 3)), np.uint64
        )
        rows[1] = EMPTY
        rows[2, 1:] = EMPTY
        rows[3, 0], rows[3, generator.integers(1, rows.shape[1] + 1) :] = 0, EMPTY - 1
        assert keys_of(rows, b, r) == [
            minhash.band_keys(row, b, r) for row in rows.tolist()
        ]


@pytest.mark.parametrize("offset", range(9))
def test_signatures_anywhere_in_memory(offset, level):
    """Those of a view, which begin at any slot, and keys that are written behind others."""
    whole = np.random.default_rng(offset).integers(0, 2**63, 9 + 3 * 68, np.uint64)
    rows = whole[offset : offset + 3 * 68].reshape(3, 68)
    out = np.zeros(3 * 17 + 20, np.uint64)
    bands.band_keys(rows, 17, 4, out[offset : offset + 3 * 17].reshape(3, 17))
    expected = [key for row in rows.tolist() for key in minhash.band_keys(row, 17, 4)]
    assert out.tolist() == [0] * offset + expected + [0] * (20 - offset)


def test_no_rows():
    out = np.zeros((0, 3), np.uint64)
    bands.band_keys(np.zeros((0, 9), np.uint64), 3, 3, out)
    left, right = bands.pairs_of_band(out, 2, np.arange(0), NO_LIMIT)
    assert len(left) == len(right) == 0


@pytest.mark.parametrize("b", [1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 40])
def test_a_key_is_never_that_of_an_empty_row(b, level):
    """The slots whose keys would be all ones: mix64 undone."""
    y = EMPTY
    y ^= y >> 31 ^ y >> 62
    y = y * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    y ^= y >> 27 ^ y >> 54
    y = y * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    y ^= y >> 30 ^ y >> 60
    assert mix64(y) == EMPTY
    slots = [y ^ draw(0, Domain.BAND, band) for band in range(b)]
    assert keys_of([slots, [EMPTY] * b], b, 1) == [[EMPTY - 1] * b, [EMPTY] * b]
    slots[b // 2] ^= 1
    assert keys_of([slots], b, 1) == [minhash.band_keys(slots, b, 1)]


def test_read_only_signatures():
    rows = np.arange(1, 25, dtype=np.uint64).reshape(2, 12)
    rows.flags.writeable = False
    out = np.zeros((2, 4), np.uint64)
    bands.band_keys(rows, 4, 3, out)
    assert out.tolist() == [minhash.band_keys(row, 4, 3) for row in rows.tolist()]


@pytest.mark.parametrize(
    ("shape", "b", "r", "out", "message"),
    [
        ((2, 8), 0, 2, (2, 0), r"1\.\.8.*not 0 x 2"),
        ((2, 8), 2, 0, (2, 2), r"1\.\.8.*not 2 x 0"),
        ((2, 8), 3, 3, (2, 3), r"1\.\.8.*not 3 x 3"),
        ((2, 8), 2**32, 2**32, (2, 4), r"1\.\.8.*not 4294967296 x 4294967296"),
        ((2, 0), 1, 1, (2, 1), "not 1 x 1"),
        ((2, 8), 4, 2, (2, 3), r"out must be \(2, 4\), not \(2, 3\)"),
        ((2, 8), 4, 2, (3, 4), r"out must be \(2, 4\), not \(3, 4\)"),
    ],
)
def test_bad_bands_are_refused(shape, b, r, out, message):
    with pytest.raises(ValueError, match=message):
        bands.band_keys(np.ones(shape, np.uint64), b, r, np.zeros(out, np.uint64))


# Pairs


@st.composite
def tables(draw_from):
    """Keys of few values, so that buckets are large, with empty rows among them."""
    b = draw_from(st.integers(1, 4))
    key = st.sampled_from([0, 1, 2, 2**55, 2**63, EMPTY - 1])
    row = st.one_of(st.lists(key, min_size=b, max_size=b), st.just([EMPTY] * b))
    keys = draw_from(st.lists(row, min_size=1, max_size=90))
    members = sorted(draw_from(st.sets(st.integers(0, len(keys) - 1))))
    return keys, draw_from(st.sampled_from([None, members]))


@settings(max_examples=100)
@given(tables())
@example(([[EMPTY, EMPTY]] * 70, None))
@example(([[1, 1]] * 70, []))
@example(([[1, 2]] * 70, [3]))
def test_pairs(case):
    keys, members = case
    b = len(keys[0])
    found = [pairs_of(keys, band, members) for band in range(b)]
    assert [sorted(pairs) for pairs in found] == [
        brute_force(keys, band, members) for band in range(b)
    ]
    # Over all bands each candidate comes once.
    chosen = set(range(len(keys)) if members is None else members)
    candidates = [
        pair for pair in minhash.candidate_pairs(keys) if chosen.issuperset(pair)
    ]
    assert sorted(pair for pairs in found for pair in pairs) == candidates


# The sort goes by eleven bits at a time and, up to 64 records, by insertion.
SPREADS = {
    "random": lambda generator, n: generator.integers(
        0, 2**64 - 1, max(n // 2, 1), np.uint64
    ),
    "low digit": lambda generator, n: np.arange(n // 2 + 1, dtype=np.uint64),
    "high digit": lambda generator, n: np.arange(512, dtype=np.uint64) << np.uint64(55),
    "third digit": lambda generator, n: (
        (np.arange(2048, dtype=np.uint64) << np.uint64(22)) + np.uint64(5)
    ),
    "one digit differs": lambda generator, n: (
        np.uint64(1) << np.arange(64, dtype=np.uint64)
    ),
    "one key": lambda generator, n: np.full(1, 2**63 + 7, np.uint64),
}


@pytest.mark.few_cases
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 128, 5000])
def test_sorting(spread, n):
    """Buckets are whole, and their rows stay in ascending order."""
    if spread == "one key" and n == 5000:
        n = 300  # pairs grow with the square
    generator = np.random.default_rng(n)
    keys = generator.choice(SPREADS[spread](generator, n), (n, 1)).tolist()
    members = sorted(generator.choice(n, max(1, 4 * n // 5), replace=False).tolist())
    for chosen in (None, members):
        found = pairs_of(keys, 0, chosen)
        assert all(i < j for i, j in found)
        assert sorted(found) == brute_force(keys, 0, chosen)


def rows_for(count):
    """Return bucket sizes that make this many pairs."""
    sizes = []
    while count:
        size = next(
            size for size in range(2, count + 3) if size * (size + 1) // 2 > count
        )
        sizes.append(size)
        count -= size * (size - 1) // 2
    return sizes


PIECE = bands.FIRST_PIECE


@pytest.mark.parametrize(
    "count",
    [
        0,
        1,
        PIECE - 1,
        PIECE,
        PIECE + 1,
        3 * PIECE - 1,
        3 * PIECE,
        3 * PIECE + 1,
        50_000,
    ],
)
def test_pairs_come_in_pieces(count):
    """The walk over the buckets stops when a piece of its output is full and goes on from there."""
    keys = [[key] for key, size in enumerate(rows_for(count)) for _ in range(size)]
    keys = (
        np.random.default_rng(1)
        .permutation(np.array([*keys, [EMPTY], [EMPTY]], np.uint64))
        .tolist()
    )
    found = pairs_of(keys)
    assert len(found) == count
    assert sorted(found) == brute_force(keys)


def test_pieces_of_a_later_band():
    """Pairs met in an earlier band are passed over, however many there are."""
    keys = np.random.default_rng(2).integers(0, 3, (300, 2)).tolist()
    assert sorted(pairs_of(keys, 1)) == brute_force(keys, 1)
    assert pairs_of([[1, 1]] * 300, 1) == []


@pytest.mark.parametrize("count", [1, 10, PIECE - 1, PIECE, PIECE + 1, 20_000])
def test_the_limit(count):
    keys = [[key] for key, size in enumerate(rows_for(count)) for _ in range(size)]
    assert len(pairs_of(keys, limit=count)) == count
    for limit in {0, count // 2, count - 1}:
        with pytest.raises(
            OverflowError, match=f"band 0 alone holds more than {limit} candidate pairs"
        ):
            pairs_of(keys, limit=limit)


def test_a_huge_bucket_is_refused_early():
    """A million equal rows make 5 * 10**11 pairs: the limit is what keeps memory in bounds."""
    with pytest.raises(OverflowError, match="more than 100000 candidate pairs"):
        bands.pairs_of_band(
            np.ones((1_000_000, 1), np.uint64), 0, np.arange(1_000_000), 100_000
        )


@pytest.mark.parametrize(
    ("keys", "band", "members", "message"),
    [
        ([[1, 2]], 2, [0], r"band must be below 2, the number of bands, not 2"),
        ([[1, 2]], 0, [1], r"members must rise within 0\.\.0"),
        ([[1, 2]], 0, [-1], r"members must rise within 0\.\.0"),
        ([[1, 2]] * 3, 0, [0, 2**40], r"members must rise within 0\.\.2"),
        ([[1, 2]] * 3, 0, [2, 1], r"members must rise within 0\.\.2"),
        ([[1, 2]] * 3, 0, [1, 1], r"members must rise within 0\.\.2"),
        ([[1, 2]] * 3, 0, [0, -(2**63)], r"members must rise within 0\.\.2"),
    ],
)
def test_bad_rows_are_refused(keys, band, members, message):
    with pytest.raises(ValueError, match=message):
        pairs_of(keys, band, members)
