"""Kernels of pairs of records beside dicts and loops, and what they refuse."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA, JaroWinkler

from lshfast.kernels import pairs

NONE = 2**64 - 1
PLACES = st.dictionaries(
    st.integers(0, 30) | st.integers(2**63, NONE), st.integers(1, 7), max_size=20
)
KEYS = st.lists(st.sampled_from([0, 1, 2, 5, 2**63, NONE - 1, NONE]), max_size=200)
NO_NUMBERS, NO_ROWS = np.zeros(0, np.uint64), np.zeros(0, np.int64)


def lists_of(bits):
    places = sorted(bits)
    return np.array(places, np.uint64), np.array(
        [bits[place] for place in places], np.uint32
    )


@given(PLACES, PLACES)
def test_merged_lists_have_the_bits_of_both(one, other):
    places, bits = pairs.merged(*lists_of(one), *lists_of(other))
    both = {
        place: one.get(place, 0) | other.get(place, 0)
        for place in one.keys() | other.keys()
    }
    assert [found.tolist() for found in (places, bits)] == [
        found.tolist() for found in lists_of(both)
    ]


@given(KEYS, KEYS)
def test_keys_are_numbered_in_their_order(keys, others):
    numbers = {}
    codes = [
        -1 if key == NONE else numbers.setdefault(key, len(numbers)) for key in keys
    ]
    found, of_others, firsts = pairs.codes_of_keys(
        np.array(keys, np.uint64), np.array(others, np.uint64), NONE
    )
    assert found.tolist() == codes
    assert of_others.tolist() == [
        -1 if key == NONE else numbers.get(key, -1) for key in others
    ]
    assert [keys[row] for row in firsts] == [*numbers]
    assert firsts.tolist() == [codes.index(code) for code in range(len(numbers))]


def test_many_keys():
    keys = np.random.default_rng(1).integers(0, 50_000, 100_000).astype(np.uint64)
    codes, _, firsts = pairs.codes_of_keys(keys, NO_NUMBERS, NONE)
    assert len(firsts) == len(np.unique(keys))
    assert (keys[firsts][codes] == keys).all()
    assert (np.diff(firsts) > 0).all()


@given(st.lists(st.integers(-1, 5), max_size=40))
def test_rows_come_in_the_order_of_their_codes(codes):
    rows, starts = pairs.rows_by_code(np.array(codes, np.int64), 6)
    assert [rows[first:last].tolist() for first, last in pairwise(starts.tolist())] == [
        [row for row, code in enumerate(codes) if code == own] for own in range(6)
    ]


def score(first, second, equal, unequal, missing):
    """Return the levels of the fields of a pair, the known score, and what different values score at most."""
    levels, known, most = [], 0.0, 0.0
    for a, b, own, different, none in zip(
        first, second, equal, unequal, missing, strict=True
    ):
        if a < 0 or b < 0:
            levels.append(pairs.MISSING)
            known += none
        elif a == b:
            levels.append(pairs.EQUAL)
            known += own[a]
        else:
            levels.append(pairs.DIFFERENT)
            most += different
    return levels, known, most


@pytest.mark.parametrize("fields", [1, 2, 17])
@pytest.mark.parametrize("least", [-1e9, 0.1, 1e9])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 300])
def test_pairs_that_may_score_enough(fields, least, count):
    rng = np.random.default_rng(count)
    sizes = rng.integers(1, 4, fields)
    tables = [
        np.stack([rng.integers(-1, size, rows) for size in sizes], axis=1).astype(
            np.int32
        )
        for rows in (9, 7)
    ]
    equal = [rng.normal(size=size) for size in sizes]
    unequal, missing = rng.normal(size=fields), rng.normal(size=fields)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    codes = pairs.FieldCodes(*tables, np.concatenate(equal), starts, unequal, missing)
    assert (codes.rows_a, codes.rows_b) == (9, 7)
    places = rng.integers(0, 9 * 7, count).astype(np.uint64)
    every = [
        score(tables[0][place // 7], tables[1][place % 7], equal, unequal, missing)
        for place in places.tolist()
    ]
    chosen = [
        number for number, (_, known, most) in enumerate(every) if known + most >= least
    ]
    numbers, levels, known, most = codes.scores(places, least)
    assert numbers.tolist() == chosen
    assert levels.shape == (fields, len(chosen))
    assert levels.T.tolist() == [every[number][0] for number in chosen]
    assert [known.tolist(), most.tolist()] == [
        [every[number][part] for number in chosen] for part in (1, 2)
    ]


def test_no_table_is_read_beyond_its_end():
    codes, starts, scores = np.zeros((3, 1), np.int32), np.array([0, 1]), np.ones(1)
    fields = pairs.FieldCodes(codes, codes[:2], scores, starts, scores, scores)
    with pytest.raises(ValueError, match=r"^places must be below 3 \* 2, not 6$"):
        fields.scores(np.array([1, 6], np.uint64), 0.0)
    with pytest.raises(
        ValueError,
        match=r"^codes must be below the number of values of their field, unlike .* row 1$",
    ):
        pairs.FieldCodes(
            codes, np.array([[0], [1]], np.int32), scores, starts, scores, scores
        )
    with pytest.raises(
        ValueError,
        match=r"^both tables must have the same fields, at least one, not 1 and 2$",
    ):
        pairs.FieldCodes(
            codes, np.zeros((3, 2), np.int32), scores, starts, scores, scores
        )
    for wrong in ([1, 1], [0, 2]):
        with pytest.raises(
            ValueError, match=r"^starts must rise from 0 to 1, not from"
        ):
            pairs.FieldCodes(codes, codes, scores, np.array(wrong), scores, scores)
    with pytest.raises(ValueError, match=r"^starts must rise, unlike 2 and 1$"):
        pairs.FieldCodes(
            np.zeros((1, 2), np.int32),
            np.zeros((1, 2), np.int32),
            scores,
            np.array([0, 2, 1]),
            *[np.ones(2)] * 2,
        )
    with pytest.raises(
        ValueError, match=r"^scores of 1 fields are needed, not 2, 1 and 1$"
    ):
        pairs.FieldCodes(codes, codes, scores, starts, np.ones(2), scores)
    with pytest.raises(ValueError, match=r"^codes must be below 2, not 2$"):
        pairs.rows_by_code(np.array([0, 2]), 2)
    with pytest.raises(ValueError, match=r"^as many bits as places are needed"):
        pairs.merged(
            NO_NUMBERS, np.zeros(1, np.uint32), NO_NUMBERS, np.zeros(0, np.uint32)
        )


WORDS = st.text(
    st.sampled_from("aab0bcé" + chr(ord("a") + 32) + "\U0001f600"), max_size=12
)


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_bounds_by_letters(words):
    """Masks are those of a count of the letters, and bounds are those of the definition."""
    points = [[ord(letter) for letter in word] for word in words]
    starts = np.cumsum([0, *map(len, points)])
    masks = pairs.letters(np.array([*chain.from_iterable(points)], np.uint32), starts)
    for own, mask in zip(points, masks.tolist(), strict=True):
        counts = np.bincount(np.array(own, np.int64) % 32, minlength=32).tolist()
        assert mask == sum(
            (count > 0) << at | (count > 1) << at + 32
            for at, count in enumerate(counts)
        )
    a, b = (part.reshape(-1) for part in np.indices((len(words), len(words))))
    lengths = np.diff(starts)
    firsts = np.array([(own or [0])[0] for own in points], np.uint32)
    edits = pairs.least_edits(masks, lengths, a, b)
    similar = pairs.most_similar(masks, lengths, firsts, a, b)
    for first, second, fewest, most in zip(
        a, b, edits.tolist(), similar.tolist(), strict=True
    ):
        one, other = int(masks[first]), int(masks[second])
        unshared = (one & ~other).bit_count(), (other & ~one).bit_count()
        sizes = len(words[first]), len(words[second])
        assert (
            fewest
            == max(*unshared, abs(sizes[0] - sizes[1]))
            <= OSA.distance(words[first], words[second])
        )
        sizes = max(1, sizes[0]), max(1, sizes[1])
        shared = min(sizes[0] - unshared[0], sizes[1] - unshared[1])
        jaro = (shared / sizes[0] + shared / sizes[1] + 1) / 3 if shared > 0 else 0.0
        assert most == (
            jaro + 0.4 * (1 - jaro) if firsts[first] == firsts[second] else jaro
        )
        assert (
            most
            >= JaroWinkler.normalized_similarity(words[first], words[second]) - 1e-9
        )


def test_no_string_is_read_beyond_the_last():
    masks = np.zeros(2, np.uint64)
    lengths = np.ones(2, np.int64)
    places = np.array([0, 2])
    with pytest.raises(
        ValueError, match=r"^places must be below 2, the number of strings$"
    ):
        pairs.least_edits(masks, lengths, places, places)
    with pytest.raises(
        ValueError, match=r"^places must be below 0, the number of strings$"
    ):
        pairs.least_edits(masks[:0], lengths[:0], places, places)
    with pytest.raises(
        ValueError, match=r"^as many lefts as rights are needed, not 2 and 1$"
    ):
        pairs.least_edits(masks, lengths, places, places[:1])
    with pytest.raises(
        ValueError, match=r"^2 strings must have as many lengths and first letters"
    ):
        pairs.most_similar(
            masks, lengths, np.zeros(1, np.uint32), places[:1], places[:1]
        )
    with pytest.raises(
        ValueError,
        match=r"^starts must rise from 0 to at most 1, the number of code points$",
    ):
        pairs.letters(np.zeros(1, np.uint32), np.array([0, 2]))
    assert pairs.least_edits(masks, lengths, NO_ROWS, NO_ROWS).tolist() == []


def test_unaligned_and_read_only_input():
    keys = np.frombuffer(b"\0" + np.array([7, 7, 9], np.uint64).tobytes(), np.uint8)[
        1:
    ].view(np.uint64)
    assert pairs.codes_of_keys(keys, keys[1:], NONE)[0].tolist() == [0, 0, 1]
