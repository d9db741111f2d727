"""Samples, units and places of units against short definitions of them, and arguments that are refused."""

from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels import passages, text
from tests.conftest import csr
from tests.kernels.test_sampling import unaligned
from tests.passages.test_find import TEXT
from tests.reference import passages as reference

INT64 = np.int64
NONE = np.zeros(0, INT64)
NO_UNITS = np.zeros(0, np.uint32)


def winnowed(hashes, window):
    """Return (place, first window) of each sample, by definition: of each window the last of its least hashes."""
    places = [
        max(range(q, q + window), key=lambda i: (-hashes[i], i))
        for q in range(max(0, len(hashes) - window + 1))
    ]
    return [
        (place, q) for q, place in enumerate(places) if q == 0 or places[q - 1] != place
    ]


HASHES = st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1)), max_size=40)


@given(st.lists(HASHES, max_size=4), st.integers(1, 9))
@example([[], [1], [1, 1]], 2)
@example([[5, 4, 3, 2, 1], [1, 2, 3, 4, 5], [2**64 - 1] * 20], 3)
def test_winnow(rows, window):
    offsets, places, lows = passages.winnow(*csr(rows), window)
    assert (
        offsets.tolist()
        == np.cumsum([0, *(len(winnowed(row, window)) for row in rows)]).tolist()
    )
    assert list(zip(places.tolist(), lows.tolist(), strict=True)) == [
        s for row in rows for s in winnowed(row, window)
    ]


def counted(texts, unit):
    return np.array([len(reference.units_of(text, unit)) for text in texts], INT64)


@pytest.mark.slow
@given(st.lists(TEXT, max_size=5))
@example(
    [" ".join(f"w{i}{'é' * (i % 20)}" for i in range(5000))]
)  # more words than a vocabulary has room for at first
@example(["ȺȾ" * 40_000, "Ⱥ", "ⱥ"])  # whose lower case is longer
def test_words_have_equal_numbers_if_they_are_equal(texts):
    vocabulary = passages.Vocabulary(2**60 + 7)
    words = [
        [found.value for found in reference.units_of(text, "word")] for text in texts
    ]
    numbers: dict[str, int] = {}
    wanted = [2**32 - 2]
    for row, found in enumerate(words):
        wanted += [numbers.setdefault(word, len(numbers)) for word in found] + [
            2**32 - 3 - row
        ]
    counts = counted(texts, "word")
    assert (
        passages.units_of(text.Texts(texts), counts, vocabulary, True).tolist()
        == wanted
    )
    assert len(vocabulary) == len(numbers)
    again = passages.units_of(
        text.Texts(["unheard", *texts]), np.append(INT64(1), counts), vocabulary, False
    ).tolist()
    assert again[:3] == [passages.NO_UNIT] * 3
    assert [n for n in again[3:] if n != passages.NO_UNIT] == [
        n for n in wanted if n < len(numbers)
    ]


@given(st.lists(TEXT, max_size=4))
def test_characters_are_their_lower_case(texts):
    found = passages.units_of(
        text.Texts(texts), counted(texts, "char"), None, False
    ).tolist()
    wanted = [passages.NO_UNIT]
    for each in texts:
        wanted += [ord(unit.value) for unit in reference.units_of(each, "char")] + [
            passages.NO_UNIT
        ]
    assert found == wanted


# Words are counted in blocks of ASCII: these texts have blocks inside and between words, and
# characters that end them.
LONG = st.lists(
    st.sampled_from(
        ["a" * 70, "Word_9 " * 9, ", " * 40, "one two", "é", "漢", "e\u0301", " "]
    ),
    max_size=30,
).map("".join)


@given(
    st.lists(st.one_of(TEXT, LONG), max_size=4),
    st.sampled_from(["word", "char"]),
    st.randoms(use_true_random=False),
)
@example(["a b " * 500], "word", Random(3))
def test_locate(texts, unit, random):
    share = random.choice([0.5, 0.02])
    wanted = [
        (
            row,
            number,
            len(text[: u.start].encode()),
            len(text[: u.end].encode()),
            u.start,
            u.end,
        )
        for row, text in enumerate(texts)
        for number, u in enumerate(reference.units_of(text, unit))
        if random.random() < share
    ]
    rows = np.array([w[0] for w in wanted], INT64)
    numbers = np.array([w[1] for w in wanted], INT64)
    found = passages.locate(text.Texts(texts), rows, numbers, unit == "word")
    assert found.tolist() == [list(w[2:]) for w in wanted]


@given(
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40),
    st.integers(1, 8),
    st.integers(1, 2**61 - 2),
)
def test_hashes_of_windows(units, length, multiplier):
    if len(units) < length:
        return
    array, p = np.array(units, np.uint32), 2**61 - 1
    count = len(units) - length + 1
    found = passages.hash_windows(
        array, np.zeros(1, INT64), np.full(1, count, INT64), length, multiplier
    )
    windows = [units[i : i + length] for i in range(count)]
    assert found.tolist() == [
        sum((u + 1) * pow(multiplier, length - 1 - i, p) for i, u in enumerate(window))
        % p
        for window in windows
    ]


def test_no_windows_take_no_time():
    """Whatever their length is: no power of the multiplier is computed."""
    for first in (NONE, ints(0)):
        assert passages.hash_windows(UNITS, first, first, len(UNITS), 3).tolist() == []
    assert passages.hash_windows(UNITS, NONE, NONE, 2**63, 3).tolist() == []


def test_unaligned_inputs():
    units = np.array([1, 2, 3, 1, 2, 3, 0], np.uint32)
    x = ints(0)
    y = ints(3)
    counts = ints(3)
    odd = unaligned(units)
    inputs = [odd, odd, *map(unaligned, (x, y, counts))]
    assert passages.are_equal(*inputs).tolist() == [True]
    assert passages.cover(*inputs[:4], unaligned(ints(1)), NONE, NONE, 3).tolist() == [
        (0, 3, 3)
    ]
    assert passages.extend(*inputs[:4], unaligned(y), unaligned(y), 3, 3).tolist() == [
        (0, 3, 3)
    ]
    hashes = passages.hash_windows(odd, inputs[2], unaligned(ints(5)), 3, 7)
    assert hashes.tolist() == passages.hash_windows(units, x, ints(5), 3, 7).tolist()
    assert passages.slices(
        text.Texts(["abcd"]), *map(unaligned, (x, ints(1), ints(3)))
    ) == [b"bc"]


def test_ranges():
    units = np.array([1, 2, 3, 1, 2, 3, 0], np.uint32)
    equal = passages.are_equal(
        units, units[::-1].copy(), ints(0, 0, 3), ints(0, 3, 1), ints(1, 1, 2)
    )
    assert equal.tolist() == [False, True, False]
    assert passages.are_equal(
        units, units, ints(0, 0, 1), ints(3, 0, 4), ints(3, 7, 3)
    ).tolist() == [True, True, False]


@given(
    st.lists(TEXT, min_size=1, max_size=4),
    st.integers(0, 9),
    st.sampled_from([str.upper, str.lower, str]),
)
@example(["a b"], 0, lambda text: text + " c")
@example(["ȺȾ " * 40_000], 1, str.lower)
def test_same_words(texts, shift, change):
    others = [
        change(text)
        for text in texts[shift % len(texts) :] + texts[: shift % len(texts)]
    ]
    rows = np.arange(len(texts))
    sizes = [len(text.encode()) for text in [*texts, *others]]
    ranges = np.array(sizes).reshape(2, -1)
    none = np.zeros_like(rows)
    for row, (one, other) in enumerate(zip(texts, others, strict=True)):
        wanted = [
            [unit.value for unit in reference.units_of(text, "word")]
            for text in (one, other)
        ]
        columns = (rows, none, ranges[0], rows + len(rows), none, ranges[1])
        found = passages.have_same_words(
            text.Texts(texts + others), *(column[row : row + 1] for column in columns)
        )
        assert found == (wanted[0] == wanted[1])


def test_same_words_of_ranges():
    texts = text.Texts(["one two three", "x One,\nTWO.", ""])

    def same(*columns):
        return passages.have_same_words(texts, *(ints(*column) for column in columns))

    assert same((0,), (0,), (7,), (1,), (2,), (10,))
    assert same((0, 2), (0, 0), (7, 0), (1, 2), (2, 0), (10, 0))
    assert not same((0, 0), (0, 0), (7, 7), (1, 1), (2, 0), (10, 10))
    assert not same((0,), (0,), (7,), (1,), (2,), (5,))
    assert same((), (), (), (), (), ())


def test_slices():
    texts = text.Texts(["abc", "", "漢字"])
    rows, starts, ends = (
        np.array(column, INT64) for column in ([0, 1, 2, 2], [1, 0, 0, 3], [3, 0, 6, 6])
    )
    assert passages.slices(texts, rows, starts, ends) == [
        b"bc",
        b"",
        "漢字".encode(),
        "字".encode(),
    ]
    for row, start, end, error in ((3, 0, 0, IndexError), (-1, 0, 0, IndexError), (0, 2, 1, ValueError),
                                   (0, 0, 4, ValueError), (0, -1, 1, ValueError)):  # fmt: skip
        with pytest.raises(error):
            passages.slices(
                texts, *(np.array([number], INT64) for number in (row, start, end))
            )


def ints(*numbers):
    return np.array(numbers, INT64)


UNITS = np.arange(10, dtype=np.uint32)
WRONG = [
    lambda: passages.winnow(ints(0, 3), np.zeros(2, np.uint64), 1),
    lambda: passages.winnow(ints(0, 2, 1), np.zeros(2, np.uint64), 1),
    lambda: passages.winnow(NONE, np.zeros(2, np.uint64), 1),
    lambda: passages.winnow(ints(0, 2), np.zeros(2, np.uint64), 0),
    lambda: passages.Vocabulary(0),
    lambda: passages.Vocabulary(2**61 - 1),
    lambda: passages.units_of(
        text.Texts(["a b"]), ints(1), passages.Vocabulary(1), True
    ),
    lambda: passages.units_of(
        text.Texts(["a b"]), ints(3), passages.Vocabulary(1), True
    ),
    lambda: passages.units_of(
        text.Texts(["a b"]), ints(-1), passages.Vocabulary(1), True
    ),
    lambda: passages.units_of(text.Texts(["a b"]), NONE, passages.Vocabulary(1), True),
    lambda: passages.units_of(text.Texts([b"a\xff"]), ints(2), None, True),
    lambda: passages.extend(UNITS, UNITS, ints(9), ints(0), ints(0), ints(0), 2, 2),
    lambda: passages.extend(UNITS, UNITS, ints(0), ints(-1), ints(0), ints(0), 2, 2),
    lambda: passages.extend(UNITS, UNITS, ints(0), ints(0, 1), ints(0), ints(0), 2, 2),
    lambda: passages.extend(UNITS, NO_UNITS, ints(0), ints(0), ints(0), ints(0), 1, 1),
    lambda: passages.cover(UNITS, UNITS, ints(0), ints(5), ints(5), NONE, NONE, 2),
    lambda: passages.cover(UNITS, UNITS, ints(0), ints(5), ints(2**62), NONE, NONE, 2),
    lambda: passages.cover(UNITS, UNITS, ints(0), ints(5), ints(0), NONE, NONE, 2),
    lambda: passages.cover(UNITS, UNITS, ints(0), ints(5), ints(1), ints(0), NONE, 2),
    lambda: passages.cover(UNITS, UNITS, ints(-1), ints(5), ints(1), NONE, NONE, 2),
    lambda: passages.hash_windows(UNITS, ints(0), ints(11), 1, 5),
    lambda: passages.hash_windows(UNITS, ints(-1), ints(1), 1, 5),
    lambda: passages.hash_windows(UNITS, ints(0), ints(1), 0, 5),
    lambda: passages.hash_windows(UNITS, ints(0), ints(1), 1, 2**61 - 1),
    lambda: passages.hash_windows(UNITS, ints(0), ints(-1), 1, 5),
    lambda: passages.are_equal(UNITS, UNITS, ints(8), ints(0), ints(3)),
    lambda: passages.are_equal(UNITS, UNITS, ints(0), ints(8), ints(3)),
    lambda: passages.are_equal(UNITS, UNITS, ints(0), NONE, ints(3)),
    lambda: passages.are_equal(UNITS, UNITS, ints(0), ints(0), ints(-1)),
    lambda: passages.locate(text.Texts(["a b"]), ints(0, 0), ints(1, 0), True),
    lambda: passages.locate(text.Texts(["a b"]), ints(0), ints(2), True),
    lambda: passages.locate(text.Texts(["a b"]), ints(0), ints(3), False),
    lambda: passages.locate(text.Texts(["a b"]), ints(1), ints(0), True),
    lambda: passages.locate(text.Texts(["a b"]), ints(0), ints(-1), True),
    lambda: passages.locate(text.Texts([b"\xff"]), ints(0), ints(0), True),
    lambda: passages.have_same_words(
        text.Texts(["a b"]), ints(1), ints(0), ints(1), ints(0), ints(0), ints(1)
    ),
    lambda: passages.have_same_words(
        text.Texts(["a b"]), ints(0), ints(0), ints(4), ints(0), ints(0), ints(1)
    ),
    lambda: passages.have_same_words(
        text.Texts(["a b"]), ints(0), ints(2), ints(1), ints(0), ints(0), ints(1)
    ),
    lambda: passages.have_same_words(
        text.Texts(["a b"]), ints(0), ints(0), ints(1), ints(0), ints(-1), ints(1)
    ),
    lambda: passages.have_same_words(
        text.Texts(["a b"]), ints(0), ints(0), ints(1), ints(0), ints(0), ints(4)
    ),
    lambda: passages.have_same_words(
        text.Texts(["a b"]), ints(0), ints(0), ints(1), NONE, ints(0), ints(1)
    ),
    lambda: passages.have_same_words(
        text.Texts(["a b"]), ints(0), ints(0), ints(1), ints(-1), ints(0), ints(1)
    ),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_refused(number):
    with pytest.raises(ValueError):  # noqa: PT011
        WRONG[number]()


def test_a_vocabulary_is_not_pickled():
    import pickle

    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(passages.Vocabulary(5))
