"""The kernels of Hamming search: every CPU level against the reference, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.kernels import hamming
from tests.reference import hamming as reference

# Around the lanes of each level (2, 4, 8), four of them at a time, and the group of columns (32).
COUNTS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65]
WORDS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64]
EDGE = st.sampled_from([0, 1, 2**63, 2**64 - 1, 0x5555555555555555])


def random_codes(n, words, seed=1):
    """Return codes at all distances from code 0: row i has about i / n of its bits flipped."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 2**64, words, np.uint64)
    flips = rng.random((n, words, 64)) < np.linspace(0, 1, max(n, 1))[:n, None, None]
    return base ^ np.packbits(flips, axis=-1, bitorder="little").view(np.uint64)[..., 0]


def split(hits):
    """Return (query, row, distance) of hits."""
    return [(hit >> 45, hit & 2**32 - 1, hit >> 32 & 8191) for hit in hits.tolist()]


def near(codes, query, radius):
    """Return the rows of the codes within a radius of one query, in the order in which they are found."""
    return [row for _, row, _ in split(hamming.scan_within(codes, query[None], radius))]


def expected(codes, queries, radius, live=None, first_row=0):
    return [
        (j, first_row + row, distance)
        for j, query in enumerate(queries.tolist())
        for row, distance in reference.within(codes.tolist(), query, radius)
        if live is None or live[row]
    ]


@pytest.mark.parametrize("words", WORDS)
def test_near(level, words):
    codes = random_codes(70, words)
    for n in [count for count in COUNTS if count <= 70]:
        for radius in (0, 1, 32 * words - 1, 32 * words, 64 * words - 1, 64 * words):
            found = near(codes[:n], codes[0], radius)
            assert found == sorted(
                row
                for row, _ in reference.within(
                    codes[:n].tolist(), codes[0].tolist(), radius
                )
            )


@pytest.mark.parametrize(
    ("words", "piece"), [(1, 1024), (2, 1024), (3, 672), (8, 256), (33, 32), (64, 32)]
)
def test_near_in_several_pieces(level, words, piece):
    """The pieces of a scan are the columns that it has room for, in groups of 32 rows."""
    for n in (piece - 1, piece, piece + 1, 2 * piece + 33):
        codes = random_codes(n, words)
        numbers = [
            (row, reference.distance(code, codes[0].tolist()))
            for row, code in enumerate(codes.tolist())
        ]
        assert near(codes, codes[0], 25 * words) == [
            row for row, distance in numbers if distance <= 25 * words
        ]
        best = hamming.Best(1, 5)
        best.scan(codes, codes[:1])
        wanted = sorted(numbers, key=lambda pair: (pair[1], pair[0]))[:5]
        assert [(row, distance) for _, row, distance in split(best.hits()[1])] == wanted


@settings(max_examples=25)
@given(data=st.data(), words=st.integers(1, 64), radius=st.integers(0, 4096))
def test_near_of_any_codes(level, data, words, radius):
    code = st.lists(
        st.one_of(EDGE, st.integers(0, 2**64 - 1)), min_size=words, max_size=words
    )
    codes = np.array(data.draw(st.lists(code, min_size=1, max_size=6)), np.uint64)
    radius = min(radius, 64 * words)
    rows = sorted(
        row for row, _ in reference.within(codes.tolist(), codes[0].tolist(), radius)
    )
    assert near(codes, codes[0], radius) == rows


@settings(max_examples=50)
@given(data=st.data(), words=st.integers(1, 4))
def test_select(level, data, words):
    codes = random_codes(5, words)
    places = data.draw(
        st.lists(st.integers(0, 64 * words - 1), max_size=26, unique=True)
    )
    mask = [
        sum(1 << place % 64 for place in places if place // 64 == w)
        for w in range(words)
    ]
    found = hamming.select(codes, np.array(mask, np.uint64)).tolist()
    assert found == [reference.selected(code, mask) for code in codes.tolist()]


def test_unaligned_and_read_only_codes(level):
    codes = random_codes(40, 2)
    memory = np.empty(codes.nbytes + 1, np.uint8)
    shifted = memory[1:].view(np.uint64).reshape(codes.shape)
    shifted[:] = codes
    shifted.flags.writeable = False
    assert near(shifted, shifted[0], 50) == near(codes, codes[0], 50)
    assert hamming.ones(shifted).tolist() == hamming.ones(codes).tolist()
    found = hamming.Counted(shifted, ordered=True).within(shifted[:1], 0.5)
    assert sorted(found.tolist()) == sorted(
        hamming.Counted(codes, ordered=False).within(codes[:1], 0.5).tolist()
    )


@pytest.mark.few_cases
@pytest.mark.parametrize("words", [1, 2, 5, 40])
@pytest.mark.parametrize("n", [0, 1, 9, 1300])
def test_scan_within(level, n, words):
    codes, live = random_codes(n, words), np.arange(n) % 3 != 1
    queries = random_codes(3, words, seed=1)
    for radius in (0, 20 * words, 64 * words):
        found = split(np.sort(hamming.scan_within(codes, queries, radius)))
        assert found == expected(codes, queries, radius)
        found = split(
            np.sort(
                hamming.scan_within(codes, queries, radius, live.astype(np.uint8), 7)
            )
        )
        assert found == expected(codes, queries, radius, live, 7)


@pytest.mark.parametrize("words", [1, 3, 64])
@pytest.mark.parametrize("k", [1, 2, 10, 700])
def test_nearest_by_scan(level, words, k):
    codes, queries = random_codes(600, words), random_codes(2, words)
    codes[::2] = codes[0]  # many at the same distance
    live = (np.arange(600) % 4 != 0).astype(np.uint8)
    best = hamming.Best(2, k)
    best.scan(codes[:500], queries, live[:500])
    best.scan(codes[500:], queries, live[500:], 500)
    counts, hits = best.hits()
    wanted = [
        pair
        for j in range(2)
        for pair in expected(codes, queries[j : j + 1], 64 * words, live)[:k]
    ]
    assert [(row, distance) for _, row, distance in split(hits)] == [
        (row, distance) for _, row, distance in wanted
    ]
    assert counts.tolist() == [min(k, 450)] * 2


@pytest.mark.parametrize("k", [1, 3, 40, 1500])
def test_nearest_of_codes_that_come_nearer(level, k):
    codes = random_codes(3000, 2)[
        ::-1
    ].copy()  # each is offered when most before it are farther
    best = hamming.Best(1, k)
    for start in range(0, 3000, 700):
        best.scan(codes[start : start + 700], codes[-1:], None, start)
    _, hits = best.hits()
    wanted = sorted(
        (distance, row)
        for row, distance in reference.within(codes.tolist(), codes[-1].tolist(), 128)
    )
    assert [(distance, row) for _, row, distance in split(hits)] == wanted[:k]


def sparse_codes(n, words, seed=1):
    """Return codes of all numbers of ones, some of them equal, some without ones, some with all."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n, words, 64)) < rng.random((n, 1, 1)) ** 2
    codes = np.packbits(bits, axis=-1, bitorder="little").view(np.uint64)[..., 0]
    codes[1:n:7] = codes[: len(codes[1:n:7])]
    codes[2:n:50], codes[3:n:60] = 0, 2**64 - 1
    return codes


@pytest.mark.parametrize("words", [1, 2, 3, 5, 33, 64])
def test_ones(level, words):
    codes = sparse_codes(40, words)
    for n in (0, 1, 40):
        assert hamming.ones(codes[:n]).tolist() == [
            reference.distance(code, [0]) for code in codes[:n].tolist()
        ]


@pytest.mark.few_cases
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("words", [1, 2, 5, 64])
@pytest.mark.parametrize("n", [0, 1, 33, 400])
def test_similarity(level, n, words, ordered):
    codes, live = sparse_codes(n, words), np.arange(n) % 5 != 1
    queries = np.concatenate([codes[:6], sparse_codes(4, words, seed=2)])
    counted = hamming.Counted(codes, ordered)
    wanted = [
        [
            (row, value)
            for row, value in reference.similar(codes.tolist(), query)
            if live[row]
        ]
        for query in queries.tolist()
    ]
    for least in (1e-300, 0.2, 0.5, 2 / 3, 1.0):
        hits = split(np.sort(counted.within(queries, least, live.astype(np.uint8), 7)))
        rows = [
            (j, 7 + row)
            for j, found in enumerate(wanted)
            for row, value in sorted(found)
            if value >= least
        ]
        assert [(j, row) for j, row in sorted((j, row) for j, row, _ in hits)] == rows
    for k in (1, 3, 500):
        best = hamming.Best(len(queries), k)
        best.similar(counted, queries, live.astype(np.uint8), 7)
        counts, hits = best.hits()
        pairs = np.repeat(
            np.arange(len(queries), dtype=np.uint64), counts
        ) << np.uint64(32)
        pairs |= (hits & np.uint64(2**32 - 1)) - np.uint64(7)
        values = hamming.similarities(codes, queries, pairs)
        found = [
            (pair >> 32, pair & 2**32 - 1, value)
            for pair, value in zip(pairs.tolist(), values, strict=True)
        ]
        assert found == [
            (j, row, value) for j, some in enumerate(wanted) for row, value in some[:k]
        ]


def test_similarity_of_several_parts(level):
    """The k best are the same, whatever the parts, and in whatever order they are offered."""
    codes = sparse_codes(900, 3)
    queries, ends = codes[::100].copy(), [0, 10, 400, 900]
    whole, parts = hamming.Best(9, 20), hamming.Best(9, 20)
    whole.similar(hamming.Counted(codes, True), queries)
    for low, high in [*pairwise(ends)][::-1]:
        parts.similar(
            hamming.Counted(codes[low:high], low > 10), queries, first_row=low
        )
    assert [part.tolist() for part in whole.hits()] == [
        part.tolist() for part in parts.hits()
    ]


def blocks_of(codes, widths):
    """Return blocks of consecutive bits."""
    edges = np.cumsum([0, *widths]).tolist()
    masks = np.zeros((len(widths), codes.shape[1]), np.uint64)
    for mask, (low, high) in zip(masks, pairwise(edges), strict=True):
        for bit in range(low, high):
            mask[bit // 64] |= np.uint64(1 << bit % 64)
    blocks = hamming.Blocks(codes, masks)
    for i in range(len(widths)):
        blocks.fill(i)
    return blocks


def clustered(n, words, seed=2):
    """Return codes some of which are within a few bits of each other."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2**64, (n // 8 + 1, words), np.uint64)[
        rng.integers(0, n // 8 + 1, n)
    ]
    for _ in range(4):
        flips = np.where(
            rng.random(n) < 0.6,
            np.uint64(1) << rng.integers(0, 64, n).astype(np.uint64),
            np.uint64(0),
        )
        codes[np.arange(n), rng.integers(0, words, n)] ^= flips
    return codes


@pytest.mark.parametrize(
    ("words", "widths", "radius", "levels"),
    [
        (1, [16, 16, 16, 16], 3, [1, 1, 1, 1]),
        (1, [8, 8, 8, 8], 3, [1, 1, 1, 1]),
        (1, [20, 20], 3, [2, 2]),
        (1, [12, 5, 9], 5, [3, 2, 1]),
        (1, [4], 2, [3]),
        (1, [2], 4, [5]),
        (1, [0], 4, [1]),
        (2, [16, 16, 16, 16], 3, [1, 1, 1, 1]),
        (2, [10, 60 % 26, 20], 6, [3, 2, 2]),
        (16, [16, 16, 16, 16, 16], 4, [1, 1, 1, 1, 1]),
    ],
)
def test_blocks(level, words, widths, radius, levels):
    codes = clustered(200, words)
    blocks, levels = blocks_of(codes, widths), np.array(levels, np.uint8)
    queries, live = codes[:20], (np.arange(200) % 5 != 0).astype(np.uint8)
    hits, _ = blocks.within(queries, radius, levels)
    assert split(np.sort(hits)) == expected(codes, queries, radius)
    hits, _ = blocks.within(queries, radius, levels, live, 1000)
    assert split(np.sort(hits)) == expected(codes, queries, radius, live, 1000)
    found = np.concatenate(
        [
            blocks.pairs(i, 0, 2**width, radius, levels, 10**6)
            for i, width in enumerate(widths)
        ]
    )
    assert len(np.unique(found)) == len(found)  # each pair in one block only
    wanted = reference.pairs(codes.tolist(), radius)
    assert sorted((pair >> 32, pair & 2**32 - 1) for pair in found.tolist()) == [
        (i, j) for i, j, _ in wanted
    ]
    assert hamming.distances(codes, np.sort(found)).tolist() == [
        distance for _, _, distance in wanted
    ]


@pytest.mark.parametrize("k", [1, 3, 20, 401])
@pytest.mark.parametrize("words", [1, 2])
def test_nearest_by_blocks(level, words, k):
    codes = clustered(3000, words)
    queries = np.concatenate([codes[:8], random_codes(3, words)])
    blocks = blocks_of(codes[500:], [10, 10, 10])
    live = (np.arange(3000) % 5 != 0).astype(np.uint8)
    best = hamming.Best(len(queries), k)
    best.scan(codes[:500], queries, live[:500])
    scanned = best.search(blocks, queries, live[500:], 500)
    assert 0 < scanned <= len(queries)  # the far queries are scanned
    plain = hamming.Best(len(queries), k)
    plain.scan(codes, queries, live)
    assert [part.tolist() for part in best.hits()] == [
        part.tolist() for part in plain.hits()
    ]


def test_a_crowded_bucket_is_scanned(level):
    codes = clustered(500, 1)
    codes &= ~np.uint64(0xFF)  # all in one bucket of the first block
    blocks = blocks_of(codes, [8, 8, 8, 8])
    hits, scanned = blocks.within(codes[:20], 3, np.ones(4, np.uint8))
    assert scanned == 20
    assert split(np.sort(hits)) == expected(codes, codes[:20], 3)


def test_copies(level):
    rng = np.random.default_rng(3)
    for words in (1, 2, 16):
        codes = rng.integers(0, 3, (2000, words)).astype(np.uint64)
        first = {}
        wanted = [
            first.setdefault(tuple(code), row)
            for row, code in enumerate(codes.tolist())
        ]
        assert hamming.copies(codes).tolist() == wanted


@pytest.mark.parametrize("batch", [1, 7, 200])
@pytest.mark.parametrize(
    ("words", "widths", "levels"),
    [(1, [0], [1]), (1, [9, 9, 9, 9], [1, 1, 1, 1]), (2, [9, 9], [2, 2])],
)
def test_keepers(level, batch, words, widths, levels):
    codes = clustered(200, words)
    blocks, levels = blocks_of(codes, widths), np.array(levels, np.uint8)
    keepers = hamming.Keepers(blocks, 3, levels)
    keeper_of = np.full(200, hamming.NO_ROW, np.uint32)
    for low in range(0, 200, batch):
        high = min(low + batch, 200)
        for i, width in enumerate(widths):
            keepers.match(i, 0, 2**width, low, high, keeper_of[low:high])
        keepers.settle(low, high, keeper_of[low:high])
    assert keeper_of.tolist() == reference.keepers(codes.tolist(), 3)
    with pytest.raises(RuntimeError, match="keepers have taken"):
        blocks.within(codes, 3, levels)


@settings(max_examples=50)
@given(data=st.data())
def test_int_keys(data):
    """A dict beside the table: keys that are put again, dropped and found."""
    table, model, live = hamming.IntKeys(), {}, np.zeros(400, np.uint8)
    key, row = st.integers(-20, 20) | st.sampled_from([-(2**63), 2**63 - 1]), 0
    for keys in data.draw(
        st.lists(st.lists(key, unique=True, max_size=20), max_size=12)
    ):
        if data.draw(st.booleans()):
            keys = np.array(keys, np.int64)
            rows = np.arange(row, row + len(keys), dtype=np.int64)
            table.put(keys, rows, table.find(keys), live)
            model |= zip(keys.tolist(), rows.tolist(), strict=True)
            row += len(keys)
        else:
            keys = [key for key in keys if key in model]
            table.drop(table.find(np.array(keys, np.int64)), live)
            for key in keys:
                del model[key]
        everything = np.array([*range(-21, 22), -(2**63), 2**63 - 1], np.int64)
        assert table.find(everything).tolist() == [
            model.get(key, -1) for key in everything.tolist()
        ]
        assert np.flatnonzero(live).tolist() == sorted(model.values())
        assert table.take(np.array([*model.values()], np.int64)).tolist() == [*model]
        assert len(table) == len(model)


def test_int_keys_are_put_completely_or_not_at_all():
    table, live = hamming.IntKeys(), np.zeros(8, np.uint8)
    table.put(np.array([5]), np.array([0]), np.array([-1]), live)
    with pytest.raises(ValueError, match="key 7 has a row already"):
        table.put(np.array([5, 7, 7]), np.array([1, 2, 3]), np.array([0, -1, -1]), live)
    assert table.find(np.array([5, 7])).tolist() == [0, -1]
    assert live.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


CODES, LEVELS = np.zeros((3, 2), np.uint64), np.ones(1, np.uint8)
MASKS = np.array([[1, 0]], np.uint64)


def filled():
    blocks = hamming.Blocks(CODES, MASKS)
    blocks.fill(0)
    return blocks


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hamming.scan_within(CODES, CODES[:, :1].copy(), 1), "queries must have 2 words, not 1"),
        (lambda: hamming.scan_within(CODES, CODES, 129), r"radius must be in 0\.\.128, not 129"),
        (lambda: hamming.scan_within(CODES, CODES, -1), r"radius must be in 0\.\.128, not -1"),
        (lambda: hamming.scan_within(CODES[:, :0], CODES[:, :0], 0), r"must have 1\.\.64 words, not 0"),
        (lambda: hamming.scan_within(*[np.zeros((1, 65), np.uint64)] * 2, 0), r"1\.\.64 words, not 65"),
        (lambda: hamming.ones(CODES[:, :0]), r"must have 1\.\.64 words, not 0"),
        (lambda: hamming.similarities(CODES, CODES[:1], np.array([2**32], np.uint64)), "below 1 and 3, not 1 and 0"),
        (lambda: hamming.similarities(CODES, CODES[:, :1].copy(), np.empty(0, np.uint64)), "2 words, not 1"),
        (lambda: hamming.Counted(CODES, True).within(CODES[:, :1].copy(), 0.5), "queries must have 2 words, not 1"),
        (lambda: hamming.Counted(CODES, True).within(CODES, 0.0), "least must be above 0 and at most 1, not 0.0"),
        (lambda: hamming.Counted(CODES, True).within(CODES, float("nan")), "at most 1, not nan"),
        (lambda: hamming.Counted(CODES, True).within(CODES, 0.5, np.ones(2, np.uint8)), "live must have 3 elements"),
        (lambda: hamming.Counted(CODES, True).move(CODES[:2]), "another shape"),
        (lambda: hamming.Best(2, 1).similar(hamming.Counted(CODES, True), CODES), "there must be 2 queries, not 3"),
        (lambda: hamming.select(CODES, CODES[0, :1]), "a mask must have 2 words, not 1"),
        (lambda: hamming.select(CODES, np.array([2**27 - 1, 0], np.uint64)), "at most 26 bits, not 27"),
        (lambda: hamming.scan_within(CODES, CODES, 1, np.ones(2, np.uint8)), "live must have 3 elements, not 2"),
        (lambda: hamming.distances(CODES, np.array([3], np.uint64)), "rows must be below 3, not 0 and 3"),
        (lambda: hamming.Best(3, 0), "k must be at least 1"),
        (lambda: hamming.Best(2, 1).scan(CODES, CODES), "there must be 2 queries, not 3"),
        (lambda: hamming.Blocks(CODES, MASKS[:0]), r"1\.\.16 blocks, not 0"),
        (lambda: hamming.Blocks(CODES, np.concatenate([MASKS, MASKS])), "a bit is in two blocks"),
        (lambda: hamming.Blocks(CODES, MASKS).sizes(0), "block 0 is not filled"),
        (lambda: filled().fill(0), "block 0 is filled already"),
        (lambda: filled().within(CODES, 1, np.ones(2, np.uint8)), "levels must have 1 elements"),
        (lambda: filled().within(CODES[:, :1].copy(), 1, LEVELS), "queries must have 2 words, not 1"),
        (lambda: filled().pairs(1, 0, 1, 1, LEVELS, 9), "block 1 is not filled"),
        (lambda: filled().pairs(0, 0, 3, 1, LEVELS, 9), "values must be below 2, not 3"),
        (lambda: filled().bucket(0, 2), "value must be below 2, not 2"),
        (lambda: filled().move(CODES[:2]), "another shape"),
        (lambda: hamming.Keepers(filled(), 1, LEVELS).settle(1, 2, np.zeros(1, np.uint32)), "rows must be from 0"),
        (lambda: hamming.Keepers(filled(), 1, LEVELS).match(0, 0, 3, 0, 1, np.zeros(1, np.uint32)), "no values up to"),
        (lambda: hamming.IntKeys().drop(np.array([0]), np.zeros(4, np.uint8)), "row 0 has no key"),
        (lambda: hamming.IntKeys().put(np.array([1]), np.array([4]), np.array([-1]), np.zeros(4, np.uint8)), "below 4"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
