"""The forms in which codes are given: all of one code are the same words."""

from functools import partial

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import HammingIndex, LSHIndex, NearNeighbors, TanimotoIndex, dedup_codes
from lshfast.families import BitSampling, Covering
from lshfast.families.packed import codes_of


def forms(numbers, bits):
    """Yield each form of codes."""
    digits, size, words = -(-bits // 4), -(-bits // 8), -(-bits // 64)
    texts = [f"{number:0{digits}x}" for number in numbers]
    packed = [number.to_bytes(size, "big") for number in numbers]
    yield numbers
    yield tuple(numbers)
    if bits <= 64:
        for column in (
            lambda given: [*map(np.uint64, given)],
            pandas.Series,
            polars.Series,
            pyarrow.array,
        ):
            yield column(np.array(numbers, np.uint64))
    for column in (list, np.array, pandas.Series, polars.Series, pyarrow.array):
        yield column(texts)
    yield [text.upper() for text in texts]
    yield packed
    yield np.array(packed, f"S{size}")
    yield np.frombuffer(b"".join(packed), np.uint8).reshape(-1, size)
    yield np.array(
        [[digit == "1" for digit in f"{number:0{bits}b}"] for number in numbers]
    )
    arrays = np.array(
        [
            [number >> 64 * word & 2**64 - 1 for word in range(words)]
            for number in numbers
        ],
        np.uint64,
    )
    yield from (arrays, arrays.view(np.int64), arrays.astype(">u8"))


@given(st.data(), st.integers(1, 200))
def test_forms_of_one_code_are_equal(data, bits):
    numbers = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=5))
    wanted = [
        [number >> 64 * word & 2**64 - 1 for word in range(-(-bits // 64))]
        for number in numbers
    ]
    for codes in forms(numbers, bits):
        assert codes_of(codes, bits).tolist() == wanted


@pytest.mark.parametrize(
    "one",
    [
        "0f" * 8,
        b"\x0f" * 8,
        0x0F0F0F0F0F0F0F0F,
        np.uint64(0x0F0F0F0F0F0F0F0F),
        np.array([0x0F0F0F0F0F0F0F0F])[0],
    ],
)
def test_one_code(one):
    index = HammingIndex(64)
    assert index.insert("a", one) == 1
    assert index.insert(["b", "c"], [one, one]) == 2
    assert [match.key for match in index.within(one)] == ["a", "b", "c"]
    assert len(index.query([one], k=2)) == 1
    assert (
        index.within(
            np.unpackbits(np.full(8, 15, np.uint8)).astype(bool).reshape(8, 8)
        )[0].distance
        == 0
    )
    neighbors = NearNeighbors("hamming", radius=3, dim=64, n=10)
    neighbors.insert(["a"], [one])
    assert neighbors.query(one, k=1)[0].key == "a"


def test_one_signed_code():
    index = HammingIndex(64)
    index.insert(["a"], np.array([[-2]]))
    assert index.query(np.int64(-1))[0].distance == 1


WORDS = np.array([0b0111, 0b1111, 0b1110_0000, 2**63 + 1], np.uint64)
INDEXES = [
    lambda: HammingIndex(64, radius=1),
    lambda: TanimotoIndex(64, threshold=0.7),
    lambda: NearNeighbors("hamming", radius=3, dim=64, n=10),
    lambda: LSHIndex(family=BitSampling(64), bands=64, rows_per_band=1),
]


@pytest.mark.parametrize(
    "words", [WORDS, WORDS.view(np.int64), WORDS[:3].astype(np.uint16), WORDS[::-1]]
)
@pytest.mark.parametrize("make", INDEXES)
def test_words_in_a_row_are_codes_of_one_word_in_indexes_too(make, words):
    keys = [f"k{row}" for row in range(len(words))]
    index, other = make(), make()
    assert (
        index.insert(keys, words)
        == other.insert(keys, words.reshape(-1, 1))
        == len(words)
    )
    column = other.query(words.reshape(-1, 1), k=2)
    answers = index.query(words, k=2)
    assert len(answers) == len(words)
    assert [list(answer) for answer in answers] == [list(answer) for answer in column]
    # One code has one answer.
    assert list(index.query(words[:1], k=2)) == list(column[0])
    if hasattr(index, "within"):
        assert [answer[0].key for answer in index.within(words)] == keys
    assert (
        index.insert(["one"], words[:1])
        == index.insert("two", words[:1])
        == index.insert([], words[:0].copy()) + 1
        == 1
    )
    assert len(index.query(words[:0], k=1)) == 0
    with pytest.raises(ValueError, match=r"must be a key for each .*, not 2 for 1"):
        index.insert(["x", "y"], words[:1])
    with pytest.raises(ValueError, match=r"must be a key for each .*, not 2 for"):
        index.insert(["x", "y"], words)


@pytest.mark.parametrize(
    "function", [BitSampling(64).distance, lambda a, b: Covering(64, 3).distance(a, b)]
)
def test_families_take_words_in_a_row(function):
    assert (
        function(WORDS, WORDS[::-1]).tolist()
        == function(WORDS[:, None], WORDS[::-1, None]).tolist()
    )


@pytest.mark.parametrize(
    ("bits", "shape", "allowed"),
    [
        (64, (1, 3), r"\(n, 1\) or \(n,\) with a word for each code, not \(1, 3\)"),
        (
            20,
            (2, 1, 1),
            r"\(n, 1\) or \(n,\) with a word for each code, not \(2, 1, 1\)",
        ),
        (65, (3,), r"\(n, 2\) or \(2,\), not \(3,\)"),
        (128, (1,), r"\(n, 2\) or \(2,\), not \(1,\)"),
        (
            None,
            (2, 1, 1),
            r"\(n, words\) with 1..64 words or \(n,\) with a word for each code, not",
        ),
    ],
)
def test_errors_name_the_shapes_that_are_taken(bits, shape, allowed):
    words = np.zeros(shape, np.uint64)
    calls = (
        [HammingIndex(bits).query, TanimotoIndex(bits).query]
        if bits
        else [partial(dedup_codes, radius=1)]
    )
    for call in calls:
        with pytest.raises(ValueError, match=rf"codes must have shape {allowed}"):
            call(words)


def test_codes_without_a_given_width():
    assert dedup_codes(["00f", "00e", "f00"], radius=1).keep.tolist() == [
        True,
        False,
        True,
    ]
    assert dedup_codes([2**255, 0, 1], radius=1).keep.tolist() == [True, False, True]
    assert dedup_codes(np.eye(5, dtype=bool), radius=1).keep.tolist() == [True] * 5
    assert dedup_codes(np.array([-1, -2, 0]), radius=1).keep.tolist() == [
        True,
        False,
        True,
    ]
    assert dedup_codes(np.array([1, 3], np.uint16), radius=1).keep.tolist() == [
        True,
        False,
    ]
    assert len(dedup_codes([], radius=1)) == 0


@pytest.mark.parametrize("column", [pandas.Series, polars.Series, pyarrow.array])
def test_a_column_has_a_code_in_each_row(column):
    index = HammingIndex(128)
    assert index.insert(["a", "b"], column([5, 6])) == 2
    assert [answer[0].key for answer in index.within(column([6, 5]), 0)] == ["b", "a"]
    assert dedup_codes(column([-1, -2, 0]), radius=1).keep.tolist() == [
        True,
        False,
        True,
    ]
    with pytest.raises(ValueError, match="row 0 is -1"):
        index.within(column([-1]))


@pytest.mark.parametrize(
    ("codes", "bits", "error", "message"),
    [
        (["0" * 16, "0" * 15 + "g"], 64, ValueError, "hexadecimal digits, and row 1 is '000000000000000g'"),
        (["0" * 16, "0 " * 8], 64, ValueError, "hexadecimal digits, and row 1 is '0 0 "),
        (["0" * 16, "0" * 15], 64, ValueError, "one length, 16 as row 0, and row 1 is '000"),
        (["0" * 15], 64, ValueError, "16 hexadecimal digits, for 64 bits, and row 0 is"),
        (["0g1f"], None, ValueError, "hexadecimal digits, and row 0 is '0g1f'"),
        ([b"\0" * 8, b"\0" * 7], 64, ValueError, "one length, 8 as row 0"),
        ([b"\0" * 7], 64, ValueError, "8 bytes, for 64 bits"),
        ([b"\0" * 513], None, ValueError, r"1\.\.512 bytes"),
        ([""], None, ValueError, r"1\.\.512 bytes"),
        (["00", None], None, TypeError, "one type, and row 1 is a NoneType"),
        (["00", b"00"], None, TypeError, "one type, and row 1 is a bytes"),
        ([1, 2**64], 64, ValueError, r"0\.\.2\*\*64 - 1, and row 1 is 18446744073709551616"),
        ([1, -1], 64, ValueError, "row 1 is -1"),
        ([2**4096], None, ValueError, r"0\.\.2\*\*4096 - 1"),
        (np.zeros((2, 5000), bool), None, ValueError, r"with 1..4096 bits, not \(2, 5000\)"),
        ([1 << 20000], 64, ValueError, "and row 0 is a number of 20001 bits"),
        ([8], 3, ValueError, r"0\.\.2\*\*3 - 1, and row 0 is 8"),
        (["8"], 3, ValueError, "zeros in bit 3 and above, but row 0"),
        ([True, False], None, ValueError, r"shape \(n, ...\) with 1..4096 bits, not \(2,\)"),
        (np.zeros((2, 8), bool), 9, ValueError, r"shape \(n, 9\), or 9 in all, not \(2, 8\)"),
        (np.array([-1], np.int8), None, ValueError, "must not be negative, as -1 is"),
        ("0f", None, TypeError, "codes must be a list or a column of codes, not one str"),
        (np.zeros(2), None, TypeError, "codes must be uint64, int64, booleans, bytes, hexadecimal strings or ints"),
        ([object()], 64, TypeError, "hexadecimal strings or ints, and row 0 is a object"),
    ],
)  # fmt: skip
def test_errors(codes, bits, error, message):
    with pytest.raises(error, match=message):
        codes_of(codes, bits)
