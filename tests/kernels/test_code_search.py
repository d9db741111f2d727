"""The search of neighbors by codes, beside its definition: on each CPU level, in one table and in several."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.kernels.tables import BandTables, search_codes
from tests.kernels.tables_kit import packed

BITS = "hamming", "bits", 1  # a payload of one word


def held_of(rows, head):
    """Return tables of rows, each a code and a payload of one word."""
    words = rows.shape[1] - 1
    held = BandTables(words, 1, 1, None, payload=1, apart=True, head=head)
    held.write(held.allot(len(rows)), rows)
    return held


def fixed_of(held, head, gone=None):
    sections = packed(held)
    words = sections["signatures"].size // held.limit
    sections["signatures"] = sections["signatures"].reshape(held.limit, words)
    return BandTables.over(
        words - 1, 1, 1, None, sections, gone, payload=1, apart=True, head=head
    )


def drawn(seed, n, m, words):
    """Return rows and queries whose codes differ in few bits, and numbers and distances of their levels."""
    generator = np.random.default_rng(seed)

    def near(shape, bits):
        flips = np.zeros(shape, np.uint64)
        for _ in range(bits):
            flips ^= np.where(
                generator.random(shape) < 0.5,
                np.uint64(1) << generator.integers(0, 64, shape).astype(np.uint64),
                0,
            ).astype(np.uint64)
        return flips

    base = generator.integers(0, 2**64, words, dtype=np.uint64)
    codes, queries = base ^ near((n, words), 8), base ^ near((m, words), 4)
    rows = np.concatenate(
        [codes, generator.integers(0, 2**12, (n, 1)).astype(np.uint64)], axis=1
    )
    return rows, queries, generator.integers(0, 2**12, (m, 1)).astype(np.uint64)


def ends(reach, steep=0.3):
    """Return `near` and `enough` of the levels 0..reach."""
    levels = np.arange(reach + 1)
    return (0.6 * levels + 1).astype(np.uint8), steep * levels - 1.0


def found_by(tables, queries, points, *arguments):
    """Return {row: distance} of each query, and the numbers of examined rows."""
    offsets, rows, distances, examined = search_codes(
        tables, queries, points, BITS, *arguments
    )
    parts = [
        dict(zip(rows[a:b].tolist(), distances[a:b].tolist(), strict=True))
        for a, b in pairwise(offsets)
    ]
    assert sum(map(len, parts)) == len(rows) == len(distances)
    return parts, examined.tolist()


def definition(
    rows, query, point, head, near, enough, most=None, within=None, limit=None, skip=()
):
    """Return {row: distance} and the number of examined rows, of a search with a limit or to the end."""
    hits = []
    for number, row in enumerate(rows.tolist()):
        bits = [(a ^ int(b)).bit_count() for a, b in zip(row, query, strict=False)]
        level = max(
            sum(bits),
            next(
                (
                    v
                    for v, most_bits in enumerate(near)
                    if most_bits >= sum(bits[:head])
                ),
                10**6,
            ),
        )
        if level < len(near) and number not in skip:
            hits.append((level, number, (row[-1] ^ int(point[0])).bit_count()))
    found, examined, counted, before = {}, 0, 0, 0
    for level, number, distance in sorted(hits):
        best = sorted(found.values())[: most or 1]
        if (
            most
            and level > before
            and len(best) == most
            and best[-1] <= enough[level - 1]
        ):
            break
        before = level
        is_near = within is None or distance <= within
        examined += 1
        if is_near:
            found[number] = distance
        counted += limit is not None and (limit[0] == "closest" or not is_near)
        if limit is not None and (
            counted >= limit[1] or (limit[0] == "first" and is_near)
        ):
            break
    last = sorted(found.values())[: most or len(found)][-1:]
    return {number: d for number, d in found.items() if d <= last[0]}, examined


@pytest.mark.few_cases
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 64, 511, 513, 1025])
@pytest.mark.parametrize(("head", "words"), [(1, 2), (2, 3), (2, 6), (1, 5), (2, 11)])
def test_every_level_finds_what_the_definition_does(level, n, head, words):
    rows, queries, points = drawn([n, words], n, 5, words)
    near, enough = ends(14 * words)
    held = held_of(rows, head)
    for tables in (held, fixed_of(held, head)) if n else (held,):
        for most in (None, 3):
            found, examined = found_by([tables], queries, points, near, enough, most)
            for query in range(5):
                expected = definition(
                    rows, queries[query], points[query], head, near, enough, most
                )
                assert found[query] == expected[0]
                assert (
                    examined[query] >= expected[1]
                )  # more before all codes were scanned


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 700), cut=st.floats(0, 1),
    most=st.sampled_from([None, 1, 2, 10, 10**6]), within=st.sampled_from([None, -1.0, 0.0, 4.0, float("inf")]),
    limit=st.sampled_from([None, ("closest", 1), ("closest", 30), ("first", 1), ("first", 20), ("closest", 10**9)]),
    reach=st.integers(0, 60), steep=st.sampled_from([0.0, 0.1, 0.5]),
)  # fmt: skip
def test_one_table_or_several(seed, n, cut, most, within, limit, reach, steep):
    """The answer does not depend on the tables that rows are in, nor on the other queries."""
    rows, queries, points = drawn(seed, n, 4, 4)
    (near, enough), middle = ends(reach, steep), round(cut * n)
    parts = [held_of(rows[:middle], 2), held_of(rows[middle:], 2)]
    whole = found_by(
        [held_of(rows, 2)], queries, points, near, enough, most, within, limit
    )[0]
    halves = found_by(parts, queries, points, near, enough, most, within, limit)[0]
    for query in range(4):
        expected = definition(
            rows, queries[query], points[query], 2, near, enough, most, within, limit
        )[0]
        joined = {
            (row if row < 2**32 else row - 2**32 + middle): d
            for row, d in halves[query].items()
        }
        alone = found_by(
            [held_of(rows, 2)],
            queries[[query]],
            points[[query]],
            near,
            enough,
            most,
            within,
            limit,
        )[0]
        assert whole[query] == joined == alone[0] == expected


@pytest.mark.parametrize("fixed", [False, True])
def test_rows_that_are_gone(level, fixed):
    rows, queries, points = drawn(3, 300, 4, 4)
    near, enough = ends(60)
    held, gone = held_of(rows, 2), np.arange(0, 300, 3)
    if fixed:
        marks = np.zeros(300, np.uint8)
        marks[gone] = 1
        held = fixed_of(held, 2, marks)
    else:
        held.discard(gone)
    found = found_by([held], queries, points, near, enough, 5)[0]
    for query in range(4):
        assert (
            found[query]
            == definition(
                rows, queries[query], points[query], 2, near, enough, 5, skip={*gone}
            )[0]
        )


def test_rows_that_are_used_again():
    rows, queries, points = drawn(4, 100, 4, 4)
    near, enough = ends(60)
    held = held_of(rows, 2)
    held.discard(np.arange(50))
    held.write(held.allot(50), rows[:50][::-1].copy())
    found = found_by([held], queries, points, near, enough, 7)[0]
    for query in range(4):
        expected = definition(rows, queries[query], points[query], 2, near, enough, 7)[
            0
        ]
        assert sorted(found[query].values()) == sorted(expected.values())


def test_equal_codes_do_not_stall():
    """A limit bounds the distances that are computed; without one, all equal rows are found."""
    rows, queries, points = drawn(5, 1, 3, 4)
    rows = np.repeat(rows, 20_000, axis=0)
    held, (near, enough) = held_of(rows, 2), ends(60)
    assert (
        found_by([held], queries, points, near, enough, None, None, ("closest", 10))[1]
        == [10] * 3
    )
    found, examined = found_by([held], queries, points, near, enough, 2)
    assert list(map(len, found)) == examined == [20_000] * 3


def test_room_ends_a_search_early():
    rows, queries, points = drawn(6, 50, 600, 4)
    near, enough = ends(200)
    arguments = (
        [held_of(rows, 2)],
        queries,
        points,
        BITS,
        near,
        enough,
        None,
        None,
        None,
    )
    whole, few = search_codes(*arguments), search_codes(*arguments, 100)
    answered = len(few[0]) - 1
    assert 1 <= answered < 600
    assert (few[0] == whole[0][: answered + 1]).all()
    assert (few[1] == whole[1][: few[0][-1]]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": []}, "there must be 1 to 65535 tables, not 0"),
        (
            {"tables": [BandTables(4, 4, 1, payload=1, apart=True)]},
            "only tables with codes",
        ),
        (
            {"codes": np.zeros((2, 3), np.uint64)},
            r"codes must be \(m, 4\), not \(2, 3\)",
        ),
        (
            {"points": np.zeros((1, 1), np.uint64)},
            r"points must be \(2, 1\), not \(1, 1\)",
        ),
        ({"measure": ("hamming", "bits", 2)}, "needs a payload of 2 words, not 1"),
        ({"near": np.zeros(5, np.uint8)}, "near must have 11 numbers that do not fall"),
        (
            {"near": np.arange(11, dtype=np.uint8)[::-1].copy()},
            "near must have 11 numbers that do not fall",
        ),
        (
            {"enough": np.zeros(0), "near": np.zeros(0, np.uint8)},
            "enough must have 1 to 257 distances, not 0",
        ),
        (
            {"enough": np.zeros(258), "near": np.zeros(258, np.uint8)},
            "enough must have 1 to 257 distances, not 258",
        ),
        ({"most": 0}, "most and limit must be at least 1"),
        ({"limit": ("closest", 0)}, "most and limit must be at least 1"),
        ({"within": float("nan")}, "within a number"),
    ],
)
def test_what_is_refused(change, message):
    given = {
        "tables": [BandTables(4, 1, 1, payload=1, apart=True, head=2)],
        "codes": np.zeros((2, 4), np.uint64),
        "points": np.zeros((2, 1), np.uint64),
        "measure": BITS,
        "near": np.zeros(11, np.uint8),
        "enough": np.zeros(11),
    }
    with pytest.raises(ValueError, match=message):
        search_codes(**(given | change))


@pytest.mark.parametrize(
    ("words", "head", "apart"), [(4, 4, True), (65, 2, True), (4, 2, False)]
)
def test_codes_that_are_refused(words, head, apart):
    with pytest.raises(
        ValueError,
        match=f"a code must have {head + 1} to 64 slots of bands apart, not {words}",
    ):
        BandTables(words, 1, 1, payload=1, apart=apart, head=head)
