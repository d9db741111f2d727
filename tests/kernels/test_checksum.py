"""The checksum of files against its definition."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels.checksum import checksum
from tests.reference import tables as reference


def test_checksums():
    """Of all lengths up to some blocks of 32 bytes and more."""
    data = np.random.default_rng(1).bytes(1000)
    for length in [*range(101), 127, 128, 129, 1000]:
        assert checksum(data[:length]) == reference.checksum(data[:length])
        assert checksum(b"\0" * length) == reference.checksum(b"\0" * length)
    assert len({checksum(b"\0" * length) for length in range(200)}) == 200
    assert checksum() == checksum(b"") == checksum(b"", b"") == reference.checksum(b"")


@given(st.lists(st.binary(max_size=90), max_size=8))
@example([b"a" * 31, b"b", b"", b"c" * 33, b"d" * 64])
@example([b"x"] * 70)
def test_checksums_of_pieces(pieces):
    assert checksum(*pieces) == reference.checksum(b"".join(pieces))


def test_any_split_gives_the_same_checksum():
    data = np.random.default_rng(2).bytes(100)
    wanted = reference.checksum(data)
    assert {checksum(data[:i], data[i:]) for i in range(101)} == {wanted}
    splits = ((i, j) for i in range(0, 101, 3) for j in range(i, 101, 7))
    assert {checksum(data[:i], data[i:j], data[j:]) for i, j in splits} == {wanted}


def test_any_change_changes_the_checksum():
    data = np.random.default_rng(3).bytes(100)
    sums = {checksum(data)}
    for place, flip in product(range(100), range(1, 256)):
        sums.add(checksum(data[:place], bytes([data[place] ^ flip]), data[place + 1 :]))
    assert len(sums) == 1 + 100 * 255


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.uint32, np.int64, np.uint64, np.float64]
)
def test_checksums_of_arrays(dtype):
    array = np.arange(60).astype(dtype).reshape(12, 5)
    array.flags.writeable = False
    assert checksum(array, array[3:4], array[:0]) == reference.checksum(
        array.tobytes() + array[3:4].tobytes()
    )
    with pytest.raises(TypeError):
        checksum(array[:, ::2])
    with pytest.raises(TypeError):
        checksum("text")
