"""The search of neighbors in tables: beside a search of all rows, under limits, with damaged tables, interrupted."""

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.kernels.tables import BandTables
from tests.kernels.tables_kit import int64, packed, tag_signatures
from tests.kernels.test_tables_damage import LEADS, rewritten
from tests.reference.hashing import EMPTY

BITS = "hamming", "bits", 1  # a payload of one word
ALL = 2**62  # rows


def held_of(rows, kind=None):
    """Return tables of rows with a payload of one word each."""
    held = BandTables(
        rows.shape[1] - 1, rows.shape[1] - 1, 1, kind, payload=1, apart=True
    )
    held.write(
        held.allot(len(rows)) if kind is None else held.admit(np.arange(len(rows)))[0],
        rows,
    )
    return held


def fixed_of(held, bands, gone=None, sections=None):
    sections = sections or packed(held)
    sections["signatures"] = sections["signatures"].reshape(-1, bands + 1)
    return BandTables.over(bands, bands, 1, None, sections, gone, payload=1, apart=True)


def found_by(held, buckets, points, *arguments):
    """Return {row: distance} of each query."""
    offsets, rows, distances = held.search(buckets, points, BITS, *arguments)
    parts = [
        dict(zip(rows[a:b].tolist(), distances[a:b].tolist(), strict=True))
        for a, b in pairwise(offsets)
    ]
    assert sum(map(len, parts)) == len(rows) == len(distances)
    return parts


def met_by(rows, buckets, point, skip=()):
    """Return {row: distance} of the rows that share a bucket with a query."""
    found = {}
    for number, row in enumerate(rows.tolist()):
        shared = any(
            row[j] != EMPTY and row[j] in buckets[j].tolist()
            for j in range(len(row) - 1)
        )
        if shared and number not in skip:
            found[number] = (row[-1] ^ int(point[0])).bit_count()
    return found


def drawn(seed, n, m, bands=3, probes=2, values=5):
    """Return rows and queries of few different buckets, some of which are missing."""
    generator = np.random.default_rng(seed)

    def buckets(*shape):
        made = generator.integers(0, values, shape).astype(np.uint64)
        made[generator.random(shape) < 0.15] = EMPTY
        return made

    rows = np.concatenate(
        [buckets(n, bands), generator.integers(0, 2**12, (n, 1)).astype(np.uint64)],
        axis=1,
    )
    return (
        rows,
        buckets(m, bands, probes),
        generator.integers(0, 2**12, (m, 1)).astype(np.uint64),
    )


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 64, 65, 500])
@pytest.mark.parametrize("probes", [1, 2, 9])
def test_rows_that_share_a_bucket(level, n, probes):
    rows, buckets, points = drawn([n, probes], n, 12, probes=probes, values=2 + n // 8)
    held = held_of(rows)
    for tables in (held, fixed_of(held, 3)):
        progress = np.zeros((12, 3), np.int64)
        found = found_by(tables, buckets, points, None, None, None, progress)
        expected = [met_by(rows, *query) for query in zip(buckets, points, strict=True)]
        assert found == expected
        assert progress.tolist() == [[len(one), 0, 0] for one in expected]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6), n=st.integers(0, 300), values=st.sampled_from([1, 2, 5, 40]),
    most=st.sampled_from([None, 1, 2, 10, 10**6]), within=st.sampled_from([None, -1.0, 0.0, 3.0, 5.5, float("inf")]),
)  # fmt: skip
def test_the_nearest(seed, n, values, most, within):
    """All rows as near as the last one that is wanted; which of them are returned, their keys decide."""
    rows, buckets, points = drawn(seed, n, 4, values=values)
    found = found_by(held_of(rows), buckets, points, most, within)
    for query, answer in enumerate(found):
        met = met_by(rows, buckets[query], points[query])
        near = {row: d for row, d in met.items() if within is None or d <= within}
        last = sorted(near.values())[: len(near) if most is None else most][-1:]
        assert answer == {
            row: d for row, d in near.items() if d <= (last[0] if last else -1)
        }


@pytest.mark.parametrize("count", [1, 2, 5, 32, 33, 100, ALL])
@pytest.mark.parametrize("n", [3, 60, 400])
def test_limits(level, n, count):
    rows, buckets, points = drawn([n, count], n, 10, values=2)
    held, half = held_of(rows), n // 2
    parts = [held_of(rows[:half]), held_of(rows[half:])]
    for query in range(10):
        one = slice(query, query + 1)
        met = met_by(rows, buckets[query], points[query])
        for tables in ([held], parts):
            # so many rows, wherever they are met
            progress, found = np.zeros((1, 3), np.int64), {}
            for first, table in zip((0, half), tables, strict=False):
                new = found_by(
                    table,
                    buckets[one],
                    points[one],
                    None,
                    None,
                    ("closest", count),
                    progress,
                )[0]
                found |= {first + row: d for row, d in new.items()}
            assert (
                progress[0, 0] == progress[0, 1] == len(found) == min(count, len(met))
            )
            assert progress[0, 2] == (len(met) >= count)
            assert found.items() <= met.items()
            # the first near one, or so many that are far
            progress, found, radius = np.zeros((1, 3), np.int64), {}, 3
            for first, table in zip((0, half), tables, strict=False):
                new = found_by(
                    table,
                    buckets[one],
                    points[one],
                    None,
                    radius,
                    ("first", count),
                    progress,
                )[0]
                found |= {first + row: d for row, d in new.items()}
            examined, far, ended = progress[0].tolist()
            assert found.items() <= met.items()
            assert all(d <= radius for d in found.values())
            assert len(found) <= 1
            assert far == examined - len(found) <= count
            assert ended == (far == count or len(found) == 1)
            assert ended or examined == len(met)


def test_the_first_buckets_come_first():
    """The first bucket of each band is searched before the second one of any."""
    rows = np.array([[1, 9, 0], [9, 1, 1], [2, 9, 2], [9, 2, 3]], np.uint64)
    buckets = np.array([[[1, 2], [1, 2]]], np.uint64)
    points = np.zeros((1, 1), np.uint64)
    orders = [
        set(found_by(held_of(rows), buckets, points, None, None, ("closest", n))[0])
        for n in range(1, 5)
    ]
    assert orders == [{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}]


def test_rows_that_share_a_tag_only():
    """They are not met, but where they share another bucket they are, also if the tag came first."""
    values = tag_signatures([7] * 40, k=3)
    rows = np.concatenate([values, np.arange(40, dtype=np.uint64)[:, None]], axis=1)
    rows[30:, 2] = rows[0, 2]
    held, buckets = held_of(rows), values[:1, :, None]
    assert found_by(held, buckets, np.zeros((1, 1), np.uint64))[0].keys() == {
        0,
        *range(30, 40),
    }
    assert found_by(held, buckets, np.zeros((1, 1), np.uint64), None, None, ("closest", 11))[0].keys() == {
        0, *range(30, 40)
    }  # fmt: skip


def test_rows_that_are_gone_or_removed():
    rows, buckets, points = drawn(5, 80, 6)
    gone = (np.arange(80) % 3 == 0).astype(np.uint8)
    held = held_of(rows)
    expected = [
        met_by(rows, *query, np.flatnonzero(gone))
        for query in zip(buckets, points, strict=True)
    ]
    assert found_by(fixed_of(held, 3, gone), buckets, points) == expected
    held.discard(np.flatnonzero(gone))
    assert found_by(held, buckets, points) == expected


def test_memory_that_is_not_aligned():
    rows, buckets, points = drawn(6, 50, 3)
    expected = found_by(held_of(rows), buckets, points)
    shifted = []
    for array in (buckets, points):
        raw = np.zeros(array.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(array.tobytes(), np.uint8)
        shifted.append(raw[1:].view(np.uint64).reshape(array.shape))
        shifted[-1].flags.writeable = False
    assert found_by(held_of(rows), *shifted) == expected
    progress = np.zeros(73, np.uint8)[1:].view(np.int64).reshape(3, 3)
    with pytest.raises(ValueError, match="out must be aligned"):
        found_by(held_of(rows), *shifted, None, None, None, progress)


def test_distances_that_are_no_numbers_are_left_out():
    rows = np.zeros((5, 2), np.uint64)
    rows[:, 1].view(np.float64)[:] = [1.0, np.nan, -np.inf, 3.0, np.inf]
    for most in (None, 1, 2, 9):
        held = held_of(rows)
        _, found, distances = held.search(
            np.zeros((1, 1, 1), np.uint64),
            np.zeros((1, 1), np.uint64),
            ("euclidean", "float64", 1),
            most,
        )
        expected = [(0, 1.0), (3, 9.0), (2, np.inf), (4, np.inf)]
        assert sorted(zip(found.tolist(), distances.tolist(), strict=True)) == sorted(
            expected[: 4 if most == 9 else most]
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((np.zeros((1, 2, 1), np.uint64), np.zeros((1, 1), np.uint64), BITS), r"buckets must be \(m, 3, probes\)"),
        ((np.zeros((1, 3, 0), np.uint64), np.zeros((1, 1), np.uint64), BITS), r"buckets must be \(m, 3, probes\)"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((2, 1), np.uint64), BITS), r"points must be \(1, 1\), not \(2, 1\)"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((1, 2), np.uint64), BITS), r"points must be \(1, 1\), not \(1, 2\)"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((1, 1), np.uint64), ("hamming", "bits", 2)), "a payload of 2 words"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((1, 1), np.uint64), ("cosine", "bits", 1)), "there is no measure"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((1, 1), np.uint64), BITS, 0), "most and limit must be at least 1"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((1, 1), np.uint64), BITS, None, float("nan")), "within a number"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((1, 1), np.uint64), BITS, None, None, ("first", 0)), "at least 1"),
        ((np.zeros((1, 3, 1), np.uint64), np.zeros((1, 1), np.uint64), BITS, None, None, None, np.zeros((2, 3), int)),
         r"progress must be \(1, 3\)"),
    ],
)  # fmt: skip
def test_arguments_that_are_refused(arguments, said):
    held = held_of(drawn(1, 10, 1)[0])
    with pytest.raises(ValueError, match=said):
        held.search(*arguments)


def test_tables_that_are_not_apart_are_refused():
    held = BandTables(2, 2, 1, None, payload=1)
    with pytest.raises(
        ValueError, match="only tables whose bands are judged apart can be searched"
    ):
        held.search(np.zeros((1, 2, 1), np.uint64), np.zeros((1, 1), np.uint64), BITS)
    with pytest.raises(
        ValueError, match="rows must be 1 if bands are judged apart, not 2"
    ):
        BandTables(4, 2, 2, None, apart=True)
    with pytest.raises(
        ValueError, match="signatures must have at most 65536 slots, not 65537"
    ):
        BandTables(4, 2, 2, None, payload=65533)
    with pytest.raises(
        ValueError,
        match="bits must be at most 64, those of a payload of bands apart, not 65",
    ):
        BandTables(4, 4, 1, None, payload=1, apart=True, bits=65)


# Damage


@pytest.mark.parametrize("lead", LEADS)
def test_entries_that_lead_nowhere(lead):
    rows, buckets, points = drawn(9, 40, 4)
    sections = packed(held_of(rows))
    units = len(sections["pool"]) // 4
    fixed = fixed_of(
        None, 3, sections=rewritten(sections, lambda entry: LEADS[lead](entry, units))
    )
    if lead == "into the middle of a block":  # which may look like a block
        with suppress(ValueError):
            fixed.search(buckets, points, BITS)
    else:
        with pytest.raises(
            ValueError, match="an entry of the tables leads out of them"
        ):
            fixed.search(buckets, points, BITS)


@pytest.mark.slow
def test_every_byte_may_be_damaged():
    """An answer that is true of the rows, or a ValueError."""
    rows, buckets, points = drawn(3, 14, 4)
    sections = packed(held_of(rows))
    for name, array in sections.items():
        raw = array.tobytes()
        for place in range(array.nbytes):
            for flip in {0xFF, 1 << place % 8}:
                data = bytearray(raw)
                data[place] ^= flip
                changed = np.frombuffer(bytes(data), array.dtype).reshape(array.shape)
                try:
                    fixed = fixed_of(None, 3, sections={**sections, name: changed})
                    found = found_by(fixed, buckets, points, 5)
                except ValueError:
                    continue
                held = changed if name == "signatures" else rows
                for query, answer in enumerate(found):
                    assert (
                        answer.items()
                        <= met_by(held, buckets[query], points[query]).items()
                    )


def test_bands_apart_are_where_a_search_finds_them():
    rows, buckets, points = drawn(11, 200, 1)
    held = held_of(rows, "int")
    assert held.unsound() is None
    assert int(held.bucket_sizes()[2]) == sum(
        int((np.unique(rows[rows[:, j] != EMPTY, j], return_counts=True)[1] ** 2).sum())
        for j in range(3)
    )
    held.discard(np.arange(200))
    assert held.bucket_sizes()[1] == 0
    assert found_by(held, buckets, points) == [{}]
    assert held.find(int64(3)).tolist() == [-1]
