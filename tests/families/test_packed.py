"""The forms in which codes are given: all of one code are the same words."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import HammingIndex, NearNeighbors, dedup_codes
from lshfast.families.packed import codes_of


def forms(numbers, bits):
    """Yield each form of codes."""
    digits, size, words = -(-bits // 4), -(-bits // 8), -(-bits // 64)
    texts, packed = [f"{number:0{digits}x}" for number in numbers], [number.to_bytes(size, "big") for number in numbers]
    yield numbers
    yield tuple(numbers)
    if bits <= 64:
        for column in (lambda given: [*map(np.uint64, given)], pandas.Series, polars.Series, pyarrow.array):
            yield column(np.array(numbers, np.uint64))
    for column in (list, np.array, pandas.Series, polars.Series, pyarrow.array):
        yield column(texts)
    yield [text.upper() for text in texts]
    yield packed
    yield np.array(packed, f"S{size}")
    yield np.frombuffer(b"".join(packed), np.uint8).reshape(-1, size)
    yield np.array([[digit == "1" for digit in f"{number:0{bits}b}"] for number in numbers])
    arrays = np.array([[number >> 64 * word & 2**64 - 1 for word in range(words)] for number in numbers], np.uint64)
    yield from (arrays, arrays.view(np.int64), arrays.astype(">u8"))


@given(st.data(), st.integers(1, 200))
def test_forms_of_one_code_are_equal(data, bits):
    numbers = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=5))
    wanted = [[number >> 64 * word & 2**64 - 1 for word in range(-(-bits // 64))] for number in numbers]
    for codes in forms(numbers, bits):
        assert codes_of(codes, bits).tolist() == wanted


@pytest.mark.parametrize(
    "one",
    ["0f" * 8, b"\x0f" * 8, 0x0F0F0F0F0F0F0F0F, np.uint64(0x0F0F0F0F0F0F0F0F), np.array([0x0F0F0F0F0F0F0F0F])[0]],
)
def test_one_code(one):
    index = HammingIndex(64)
    assert index.insert("a", one) == 1
    assert index.insert(["b", "c"], [one, one]) == 2
    assert [match.key for match in index.within(one)] == ["a", "b", "c"]
    assert len(index.query([one], k=2)) == 1
    assert index.within(np.unpackbits(np.full(8, 15, np.uint8)).astype(bool).reshape(8, 8))[0].distance == 0
    neighbors = NearNeighbors("hamming", radius=3, dim=64, n=10)
    neighbors.insert(["a"], [one])
    assert neighbors.query(one, k=1)[0].key == "a"


def test_one_signed_code():
    index = HammingIndex(64)
    index.insert(["a"], np.array([[-2]]))
    assert index.query(np.int64(-1))[0].distance == 1


def test_the_error_for_words_in_a_row_names_a_form_that_works():
    """One word could be a code of one word, or a batch of one code; so an index takes no row of words."""
    index, words = HammingIndex(64), np.array([-1, -2, 0])
    with pytest.raises(ValueError, match=r"not \(3,\); reshape\(-1, 1\) makes a column of them$"):
        index.insert(range(3), words)
    assert index.insert(range(3), words.reshape(-1, 1)) == 3


def test_codes_without_a_given_width():
    assert dedup_codes(["00f", "00e", "f00"], radius=1).keep.tolist() == [True, False, True]
    assert dedup_codes([2**255, 0, 1], radius=1).keep.tolist() == [True, False, True]
    assert dedup_codes(np.eye(5, dtype=bool), radius=1).keep.tolist() == [True] * 5
    assert dedup_codes(np.array([-1, -2, 0]), radius=1).keep.tolist() == [True, False, True]
    assert dedup_codes(np.array([1, 3], np.uint16), radius=1).keep.tolist() == [True, False]
    assert len(dedup_codes([], radius=1)) == 0


@pytest.mark.parametrize("column", [pandas.Series, polars.Series, pyarrow.array])
def test_a_column_has_a_code_in_each_row(column):
    index = HammingIndex(128)
    assert index.insert(["a", "b"], column([5, 6])) == 2
    assert [answer[0].key for answer in index.within(column([6, 5]), 0)] == ["b", "a"]
    assert dedup_codes(column([-1, -2, 0]), radius=1).keep.tolist() == [True, False, True]
    with pytest.raises(ValueError, match="row 0 is -1"):
        index.within(column([-1]))


@pytest.mark.parametrize(
    ("codes", "bits", "error", "message"),
    [
        (["0" * 16, "0" * 15 + "g"], 64, ValueError, "hexadecimal digits, and row 1 is '000000000000000g'"),
        (["0" * 16, "0 " * 8], 64, ValueError, "hexadecimal digits, and row 1 is '0 0 "),
        (["0" * 16, "0" * 15], 64, ValueError, "one length, 16 as row 0, and row 1 is '000"),
        (["0" * 15], 64, ValueError, "16 hexadecimal digits, for 64 bits, and row 0 is"),
        (["0x1f"], None, ValueError, "hexadecimal digits, and row 0 is '0x1f'"),
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
