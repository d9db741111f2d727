"""dedup and pairs of Arrow columns of lists: they answer as for the same lists of Python objects."""

import ctypes
import gc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import LSHIndex, dedup, pairs, shingle

EVERY_SLOT = {"bands": 128, "rows_per_band": 1}

polars_categories = pytest.mark.skipif(
    tuple(map(int, pl.__version__.split(".")[:2])) < (1, 36),
    reason="polars before 1.36 gives codes without texts",
)

RNG = np.random.default_rng(5)
BASES = [RNG.integers(0, 10**6, 40).tolist() for _ in range(20)]
INTEGERS = [*BASES, *([*base[:37], -1] for base in BASES), None, [], *BASES[:5]]
TEXTS = [
    None if row is None else [f"é{element}" for element in row] for row in INTEGERS
]


def same(column, lists, /, **options):
    """Check that a column and the Python lists of the same rows have the same answers."""
    found, expected = dedup(column, **options), dedup(lists, **options)
    assert found.keeper.tolist() == expected.keeper.tolist()
    np.testing.assert_array_equal(found.similarity, expected.similarity)
    assert (found.summary.empty, found.summary.copies) == (
        expected.summary.empty,
        expected.summary.copies,
    )
    assert (
        pairs(column, copies="all", **options).tolist()
        == pairs(lists, copies="all", **options).tolist()
    )


STRINGS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
if hasattr(pa, "string_view"):
    STRINGS += [pa.string_view(), pa.binary_view()]


@pytest.mark.parametrize("lists", [pa.list_, pa.large_list])
@pytest.mark.parametrize("kind", STRINGS, ids=str)
def test_lists_of_texts(lists, kind):
    encoded = [
        None if row is None else [element.encode() for element in row] for row in TEXTS
    ]
    same(
        pa.array(encoded if "binary" in str(kind) else TEXTS, lists(kind)),
        TEXTS,
        threshold=0.7,
    )


@pytest.mark.parametrize("lists", [pa.list_, pa.large_list])
@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32()],
    ids=str,
)
def test_lists_of_small_integers(lists, kind):
    least = 0 if str(kind).startswith("u") else -100
    rows = [RNG.integers(least, 100, 8).tolist() for _ in range(50)] + [
        [least, 1],
        [1, least],
    ]
    same(pa.array(rows, lists(kind)), rows, threshold=0.5, kind="set")


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.large_list(pa.int64())], ids=str
)
def test_lists_of_integers(kind):
    same(pa.array(INTEGERS, kind), INTEGERS, threshold=0.7)


def test_integers_of_64_bits():
    rows = [[2**64 - 1, 2**63], [2**63, 2**64 - 1], [2**63, 1]]
    same(pa.array(rows, pa.list_(pa.uint64())), rows)


def test_lists_of_a_dictionary():
    values = pa.array(["a", "b", "c", "a"]).dictionary_encode()
    same(
        pa.ListArray.from_arrays([0, 2, 4], values),
        [["a", "b"], ["c", "a"]],
        threshold=0.1,
    )


def test_lists_without_elements():
    assert dedup(pa.array([[], None, []])).summary.empty == 3
    assert len(dedup(pa.array([], pa.list_(pa.string())))) == 0
    assert len(dedup(pa.chunked_array([], pa.list_(pa.int32())))) == 0


@pytest.mark.parametrize("rows", [TEXTS, INTEGERS], ids=["texts", "integers"])
def test_parts_of_a_column(rows):
    column = pa.array(rows)
    same(column[3:41], rows[3:41], threshold=0.7)
    same(
        pa.chunked_array([column[30:], column[:0], column[2:7]]),
        rows[30:] + rows[2:7],
        threshold=0.7,
    )


def test_null_rows_whose_lists_are_not_empty():
    values = pa.array(["a", "b", "c", "a", "b"])
    offsets = pa.array([0, 2, 3, 5], pa.int32())
    bits = pa.py_buffer(bytes([0b101]))
    column = pa.Array.from_buffers(
        pa.list_(pa.string()), 3, [bits, offsets.buffers()[1]], children=[values]
    )
    assert column.to_pylist() == [["a", "b"], None, ["a", "b"]]
    same(column, column.to_pylist())
    same(column[1:], column[1:].to_pylist())


@pytest.mark.parametrize("rows", [TEXTS, INTEGERS], ids=["texts", "integers"])
def test_polars(rows):
    same(pl.Series(rows), rows, threshold=0.7)
    same(pl.DataFrame({"tags": rows})["tags"][5:30], rows[5:30], threshold=0.7)


@polars_categories
def test_polars_categories():
    rows = [["a", "b"], ["b", "a"], ["c"]]
    same(pl.Series(rows, dtype=pl.List(pl.Categorical)), rows)


def test_pandas():
    same(
        pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.list_(pa.string()))),
        TEXTS,
        threshold=0.7,
    )


LISTS = st.lists(
    st.none() | st.lists(st.sampled_from(["", "a", "b", "é"]), max_size=5), max_size=10
)


@settings(max_examples=25)
@given(LISTS, st.integers(0, 5), st.sampled_from([0.4, 0.5, 1]))
def test_lists_equal_python_lists(rows, start, threshold):
    same(
        pa.array(rows, pa.list_(pa.string()))[start:],
        rows[start:],
        threshold=threshold,
        **EVERY_SLOT,
    )


def test_the_longest_list_is_kept():
    column = pa.array([["a", "b"], ["a", "b", "c"], ["a", "b", "b", "b"]])
    assert dedup(column, threshold=0.5, keep="shortest").keeper.tolist() == [0, 0, 0]
    assert dedup(column, threshold=0.5, keep="longest").keeper.tolist() == [2, 2, 2]


@pytest.mark.slow
def test_many_lists_in_several_pieces():
    rows = [range(start, start + 400) for start in range(0, 1_200_000, 400)]
    column = pa.array([*rows, *rows[::7]], pa.list_(pa.int64()))
    result = dedup(column, threads=2)
    assert result.keeper.tolist() == [*range(3000), *range(0, 3000, 7)]


def test_lists_against_an_index():
    index = LSHIndex(shingles="tags")
    column = pa.array(TEXTS)
    assert dedup(column[:20], keys=list(range(20)), against=index, add=True).keep.all()
    assert not dedup(column[-5:], keys=list("abcde"), against=index).keep.any()


@pytest.mark.parametrize(
    "null", [[["a"], None, ["b", None]], [[1], [2], [None]]], ids=["texts", "integers"]
)
def test_a_null_in_a_list_is_refused(null):
    with pytest.raises(
        TypeError, match=r"texts\[2\] holds a null; elements are str, bytes or int"
    ):
        dedup(pa.array(null))


def test_a_null_in_a_dictionary_is_refused():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(TypeError, match=r"texts\[0\] holds a null"):
        dedup(pa.ListArray.from_arrays([0, 2], values))


@pytest.mark.parametrize("options", [{"unit": "char"}, {"size": 2}])
def test_lists_have_no_shingles(options):
    with pytest.raises(ValueError, match="is for texts, and these are sets"):
        dedup(pa.array([["a"]]), **options)


def test_texts_are_no_lists():
    with pytest.raises(
        TypeError,
        match=r"with list<string> values; pass a column of strings or binary$",
    ):
        shingle(pa.array([["a"]]))


@pytest.mark.few_cases
@pytest.mark.parametrize(
    "rows", [TEXTS, INTEGERS, ["a", "b"]], ids=["texts", "integers", "no lists"]
)
@pytest.mark.parametrize("error", [False, True])
def test_columns_are_released(only_new_garbage, rows, error):
    """Whether they are read to the end, or refused."""
    before = pa.total_allocated_bytes()
    column = pa.array([*rows, [None]] if error and rows[0] != "a" else rows)
    if error:
        with pytest.raises((TypeError, ValueError)):
            dedup(column, size=2 if rows[0] != "a" else 0)
    else:
        dedup(column)
    del column
    gc.collect()
    assert pa.total_allocated_bytes() == before


# Columns that lie


class Damaged:
    """A column of lists whose array was changed by a function of its struct."""

    class Struct(ctypes.Structure):
        _fields_ = [
            (name, ctypes.c_int64)
            for name in ("length", "nulls", "offset", "n_buffers", "n_children")
        ] + [
            ("buffers", ctypes.POINTER(ctypes.c_void_p)),
            ("children", ctypes.POINTER(ctypes.c_void_p)),
        ]

    def __init__(self, column, change):
        self.column, self.change = column, change

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self.column.__arrow_c_array__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = (
            ctypes.c_void_p,
            [ctypes.py_object, ctypes.c_char_p],
        )
        self.change(
            self.Struct.from_address(pointer(array, b"arrow_array")), self.Struct
        )
        return schema, array


def shorter_child(array, struct):
    struct.from_address(array.children[0]).length = 2


def no_offsets(array, struct):
    array.buffers[1] = None


def no_child(array, struct):
    array.n_children = 0


def negative(array, struct):
    array.length = -1


def falling_offsets(array, struct):
    ctypes.c_int32.from_address(array.buffers[1] + 8).value = 1


@pytest.mark.parametrize(
    "change", [shorter_child, no_offsets, no_child, negative, falling_offsets]
)
@pytest.mark.parametrize(
    "values", [["a", "b", "c", "a"], [1, 2, 3, 1]], ids=["texts", "integers"]
)
def test_malformed_lists_are_refused(change, values):
    column = pa.ListArray.from_arrays(
        pa.array(np.array([0, 2, 4], np.int32)), pa.array(values)
    )
    with pytest.raises(ValueError, match="malformed Arrow"):
        dedup(Damaged(column, change))
