"""Packed sets: each form comes back, and damaged bytes are refused."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast._engine.columns import ArrowLists, Elements, PackedSets
from lshfast._items import kind as kind_of_items
from lshfast._items.packed_sets import counts_of, pack, unpack
from lshfast._items.sets import SetReader
from lshfast.kernels.text import Texts

STRINGS = st.lists(st.lists(st.text(max_size=5), max_size=6), max_size=6)
# The word of the element -1, by docs/reference/definitions.md.
MINUS_ONE = 13029008266876403067

INTEGERS = st.lists(st.lists(st.integers(-(2**63), 2**64 - 1), max_size=6), max_size=6)


def column_of(rows):
    packed, bad = SetReader().read(rows)
    assert not bad
    return PackedSets(packed)


@pytest.mark.slow
@given(st.one_of(STRINGS, INTEGERS), st.data())
def test_packed_sets_are_hashed_as_the_sets_are(rows, data):
    rows = [
        [part for part in row if not isinstance(part, str) or part.isprintable()]
        for row in rows
    ]
    column, wanted = column_of(rows), Elements(rows)
    order = np.array(data.draw(st.permutations(range(len(rows)))), np.int64)
    for own, right in ((column, wanted), (column.take(order), wanted.take(order))):
        assert own.lengths.tolist() == right.lengths.tolist()
        assert own.tokens(5).tokens.tolist() == right.tokens(5).tokens.tolist()
        assert own.tokens(5).offsets.tolist() == right.tokens(5).offsets.tolist()
        assert own.hashes(7).tolist() == right.hashes(7).tolist()
    other = order[::-1].copy()
    assert column.equal(order, other).tolist() == [
        rows[i] == rows[j] for i, j in zip(order, other, strict=True)
    ]


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.int16())],
)
def test_columns_of_arrow_are_read_without_python_objects(kind, monkeypatch):
    values = (
        [["x"], ["a", "bé", ""], None, [], ["a"]]
        if "string" in str(kind)
        else [[1], [-1, 2, 3], None, [], [2]]
    )
    monkeypatch.setattr(kind_of_items, "decoded_lists", None)
    found, bad = SetReader().read(pa.array(values, kind).slice(1))
    assert not bad
    offsets, elements = unpack(found)
    assert offsets.tolist() == [0, 3, 3, 3, 4]
    flat = (
        [elements[i].decode() for i in range(4)]
        if isinstance(elements, Texts)
        else elements.tolist()
    )
    assert flat == (
        ["a", "bé", "", "a"] if "string" in str(kind) else [MINUS_ONE, 2, 3, 2]
    )


def test_the_first_element_decides_for_later_batches():
    reader = SetReader()
    assert not reader.read([None, [], ["a"]])[1]
    for later in ([[1]], pa.array([[1], []])):
        assert reader.read(later)[1] == {0: "not a list of strings, as sets are: [1]"}
    found, bad = reader.read(pa.array([["a", None], ["b"]]))
    assert list(bad) == [0]
    assert counts_of(found).tolist() == [0, 1]


def unpacked(data):
    """Return what a packed set holds; None if it is refused."""
    try:
        return unpack(Texts([data]))
    except ValueError:
        return None


def test_damaged_sets_are_refused():
    strings = pack(np.array([0, 2, 3]), Texts(["red", "blue", "x"]))
    integers = pack(np.array([0, 2, 3]), np.array([1, 2, 3], np.uint64))
    with pytest.raises(TypeError, match="both"):
        unpack(Texts([strings[0], integers[0]]))
    for row in (strings[0], integers[0]):
        for place in range(len(row)):
            for other in (
                row[:place],
                row[:place] + b"\xfe" + row[place + 1 :],
                row + b"1234567",
            ):
                found = unpacked(other)
                assert found is None or found[0][-1] == len(found[1])
    with pytest.raises(ValueError, match="damaged"):
        counts_of(Texts([b"1234"]))


def test_columns_of_lists_are_still_hashed():
    lists = ArrowLists(np.array([0, 1, 3]), Texts(["a", "b", "c"]))
    assert (
        lists.take(np.array([1])).tokens(3).tokens.tolist()
        == column_of([["b", "c"]]).tokens(3).tokens.tolist()
    )
