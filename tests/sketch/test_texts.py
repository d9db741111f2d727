"""Texts, the column of texts that kernels read: from everywhere, and from columns that lie."""

import ctypes
import datetime
import gc
import pickle
import re
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lshfast import dedup
from lshfast.kernels import text
from lshfast.kernels.text import Texts
from tests.conftest import rows_of
from tests.fuzz.producers import ArrowArray, inside
from tests.kernels.test_text import KERNELS, expected

# Where texts come from

# Up to twelve bytes lie inside an Arrow view, thirteen elsewhere.
LINES = [
    "",
    "plain",
    "naïve Ünïcode",
    "twelve bytes",
    "thirteen byte",
    "中文 字",
    "a long text " * 9,
    "𐐀",
]
VALUES = [line.encode() for line in LINES]

# A table of one column: a null and these.
TABLE = ["one two three", "four", "one, TWO, three"]
RELATION = duckdb.sql(
    "select 1 as id, unnest([null, 'one two three', 'four', 'one, TWO, three']) as text"
)


def objects(lines):
    array = np.empty(len(lines), object)
    array[:] = lines
    return array


def cut(array):
    """Return a slice of the middle of an array with more at either end."""
    return pa.concat_arrays([array[:3], array, array[:2]])[3:-2]


def chunked(array):
    return pa.chunked_array(
        [array[:0], cut(array)[:3], array[3:4], array[4:4], array[4:]], array.type
    )


STRINGS = {"string": pa.string(), "large_string": pa.large_string()}
BINARIES = {"binary": pa.binary(), "large_binary": pa.large_binary()}
if hasattr(pa, "string_view"):
    STRINGS["string_view"], BINARIES["binary_view"] = pa.string_view(), pa.binary_view()

SOURCES = {
    "list": list,
    "tuple": tuple,
    "generator": lambda lines: (line for line in lines),
    "object array": objects,
    "U array": np.array,
    "list of bytes": lambda lines: [line.encode() for line in lines],
    "S array": lambda lines: np.array([line.encode() for line in lines]),
    "mixed list": lambda lines: [
        line.encode() if i % 2 else line for i, line in enumerate(lines)
    ],
    "Texts": lambda lines: Texts(list(lines)),
    "polars": pl.Series,
    "polars pieces": lambda lines: pl.concat(
        [pl.Series(lines[:3]), pl.Series(lines[3:])], rechunk=False
    ),
    "polars binary": lambda lines: pl.Series([line.encode() for line in lines]),
    "pandas object": lambda lines: pd.Series(lines, dtype=object),
    "pandas str": lambda lines: pd.Series(lines, dtype="str"),
    "pandas string[python]": lambda lines: pd.Series(lines, dtype="string[python]"),
    "pandas string[pyarrow]": lambda lines: pd.Series(lines, dtype="string[pyarrow]"),
}
if hasattr(np.dtypes, "StringDType"):
    SOURCES["StringDType array"] = lambda lines: np.array(
        lines, np.dtypes.StringDType()
    )
ARROW = {**STRINGS, **BINARIES}
ARROWS = {"": lambda array: array, " cut": cut, " chunked": chunked}
for shape, change in ARROWS.items():
    for name, kind in ARROW.items():
        # Cast, because a string_view cannot be concatenated in every version.
        SOURCES[name + shape] = lambda lines, kind=kind, change=change: change(
            pa.array(lines)
        ).cast(kind)
each_source = pytest.mark.parametrize("build", SOURCES.values(), ids=SOURCES)


@each_source
def test_sources(build):
    texts = Texts(build(LINES))
    assert len(texts) == len(LINES)
    assert [texts[row] for row in range(len(texts))] == VALUES
    assert texts[-1] == VALUES[-1]
    assert texts.nbytes == sum(map(len, VALUES))
    for unit, kernel in KERNELS.items():
        assert rows_of(*kernel(texts, 2, 1)) == [
            expected(unit, line, 2, 1) for line in LINES
        ]


@each_source
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_parts(build, rows):
    parts = list(text.texts_in_parts(build(LINES), rows))
    assert [part[row] for part in parts for row in range(len(part))] == VALUES
    assert max(map(len, parts)) <= rows


@each_source
def test_sources_without_texts(build):
    texts = Texts(build([""])).take(slice(0, 0))
    assert (len(texts), texts.nbytes) == (0, 0)
    for kernel in KERNELS.values():
        assert rows_of(*kernel(texts, 1, 1)) == []
    assert text.tokens_of_texts(texts, 1).tolist() == []


@pytest.mark.parametrize("kind", ARROW.values(), ids=str)
def test_empty_arrow_columns(kind):
    for column in (
        pa.array([], kind),
        pa.chunked_array([], kind),
        pa.array(["a"]).cast(kind)[1:],
    ):
        assert rows_of(*text.word_shingles(Texts(column), 1, 1)) == []


@each_source
def test_packed(build):
    texts = Texts(build(list(LINES)))
    for rows in ([], [0], list(range(len(LINES)))[::-1], [2, 0, 2]):
        assert texts.take(np.array(rows, np.int64)).packed().decode() == "".join(
            LINES[row] for row in rows
        )


@pytest.mark.slow
@each_source
def test_sources_may_be_dropped(only_new_garbage, build):
    """The texts keep alive what they point at, through every way to cut and join them."""
    lines = [f"{line} {number}" for line in LINES for number in range(50)]
    source = build(list(lines))
    texts = Texts(source)
    rows = np.arange(0, len(lines), 3)
    part = Texts.concatenate([texts.take(rows), texts.take(slice(5, 9))])
    del source, texts
    gc.collect()
    junk = [
        f"{number} overwrites freed memory with something else"
        for number in range(2000)
    ]
    assert [part[row].decode() for row in range(len(part))] == [
        lines[row] for row in rows
    ] + lines[5:9]
    assert junk


@pytest.mark.parametrize(
    "rows",
    [slice(None), slice(2, 5), slice(None, None, 2), slice(None, None, -1), slice(3, 3), np.array([5, 0, 5]),
     np.array([-1]), np.arange(len(LINES)) % 3 == 1, [2, 4]],
    ids=str,
)  # fmt: skip
def test_take(rows):
    part = Texts(LINES).take(rows)
    taken = objects(LINES)[rows].tolist()
    assert [part[row].decode() for row in range(len(part))] == taken
    for unit, kernel in KERNELS.items():
        assert rows_of(*kernel(part, 2, 1)) == [
            expected(unit, line, 2, 1) for line in taken
        ]


def test_texts_cannot_be_changed():
    """A length that grows would be read beyond the text."""
    texts = Texts(["some", "texts"])
    for part in (texts, texts.take([1, 0]), Texts.concatenate([texts, texts])):
        with pytest.raises(AttributeError):
            part.lengths = np.array([1, 2])
        with pytest.raises(ValueError, match="read-only"):
            part.lengths[0] = 10**6
        with pytest.raises(ValueError, match="read-only"):
            part.addresses[0] += np.uint64(1)


def test_concatenate():
    whole = Texts.concatenate(
        [pa.array(LINES[:2]), Texts([]), LINES[2:], pl.Series(["more"])]
    )
    assert [whole[row].decode() for row in range(len(whole))] == [*LINES, "more"]
    assert len(Texts.concatenate([])) == 0


MISSING = {
    "list": list,
    "list with NaN": lambda lines: [
        float("nan") if line is None else line for line in lines
    ],
    "list with NA": lambda lines: [pd.NA if line is None else line for line in lines],
    "object array": objects,
    "polars": pl.Series,
    "pandas object": lambda lines: pd.Series(lines, dtype=object),
    "pandas str": lambda lines: pd.Series(lines, dtype="str"),
    "pandas string": lambda lines: pd.Series(lines, dtype="string[pyarrow]"),
}
for shape, change in ARROWS.items():
    for name, kind in ARROW.items():
        MISSING[name + shape] = lambda lines, kind=kind, change=change: change(
            pa.array(lines)
        ).cast(kind)


polars_categories = pytest.mark.skipif(
    tuple(map(int, pl.__version__.split(".")[:2])) < (1, 36),
    reason="polars before 1.36 gives codes without texts",
)


@pytest.mark.parametrize("row", [0, 3, 9])
@pytest.mark.parametrize("build", MISSING.values(), ids=MISSING)
def test_a_null_is_a_text_of_no_bytes(build, row):
    lines = [f"a text of some length, number {i}" for i in range(10)]
    lines[row] = None
    column = Texts(build(lines))
    assert [column[at].decode() for at in range(10)] == [line or "" for line in lines]
    parts = list(text.texts_in_parts(build(lines), 4))
    assert [part[at].decode() for part in parts for at in range(len(part))] == [
        line or "" for line in lines
    ]


@pytest.mark.parametrize(
    "column",
    [pa.nulls(3), pa.chunked_array([pa.nulls(2), pa.nulls(1)]), pl.Series([None] * 3)],
)
def test_a_column_of_nulls_alone(column):
    assert Texts(column).lengths.tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", ARROWS)
@pytest.mark.parametrize("values", ["string", "large_string", "binary"])
@pytest.mark.parametrize(
    "indices",
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"],
)
def test_dictionary_encoded_columns_are_decoded(values, indices, shape):
    lines = ["b", None, "a", "b", "", "a text that no view holds", None, "b"]
    kind = pa.dictionary(getattr(pa, indices)(), getattr(pa, values)())
    column = ARROWS[shape](pa.array(lines))
    found = (
        column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    )
    encoded = found.cast(getattr(pa, values)()).dictionary_encode().cast(kind)
    expected = [(line or "").encode() for line in found.to_pylist()]
    for column in (encoded, encoded.combine_chunks()):
        texts = Texts(column)
        assert [texts[row] for row in range(len(texts))] == expected
        parts = list(text.texts_in_parts(column, 2))
        assert [part[row] for part in parts for row in range(len(part))] == expected


def test_a_dictionary_may_hold_null():
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 1]), pa.array(["a", None])
    )
    assert [Texts(column)[row] for row in range(4)] == [b"a", b"", b"", b""]


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(
            pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
            marks=polars_categories,
        ),
        pytest.param(
            pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["a", "b"])),
            marks=polars_categories,
        ),
        pd.Series(["b", None, "a", "b"], dtype="category"),
        pd.Series(["b", None, "a", "b"], dtype="category", index=[4, 3, 2, 1])[
            [True, True, True, True]
        ],
    ],
)
def test_categorical_columns_are_decoded(column):
    assert [Texts(column)[row] for row in range(4)] == [b"b", b"", b"a", b"b"]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(RELATION.select("text"), id="duckdb"),
        pytest.param(RELATION["text"], id="duckdb column"),
        pytest.param(pa.table({"text": [None, *TABLE]}), id="pyarrow"),
        pytest.param(
            pa.table({"text": ["x", None, *TABLE]}).slice(1).to_batches()[0], id="slice"
        ),
        pytest.param(pl.DataFrame({"text": [None, *TABLE]}), id="polars"),
        pytest.param(pd.DataFrame({"text": [None, *TABLE]}), id="pandas"),
        pytest.param(
            pa.StructArray.from_arrays([pa.array(["x", None, *TABLE])], ["text"])[1:],
            id="struct",
        ),
    ],
)
def test_tables_of_one_column(table):
    texts = Texts(table)
    assert [texts[row].decode() for row in range(len(texts))] == ["", *TABLE]
    assert dedup(table).keep.tolist() == [True, True, True, False]


@pytest.mark.parametrize("index", [-1, 2, 2**31 - 1])
def test_indices_beyond_a_dictionary_are_refused(index):
    indices = pa.array([0, index], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    with pytest.raises(
        ValueError, match=r"texts\[1\]: a malformed Arrow dictionary index"
    ):
        Texts(column)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("one text", "column of texts, not one str"),
        (b"one text", "column of texts, not one str or bytes"),
        (["fine", 5], r"texts\[1\] is of type int, not str or bytes"),
        (["fine", ["a"]], r"texts\[1\] is of type list, not str or bytes"),
        (
            ["fine", np.array([1, 2])],
            r"texts\[1\] is of type ndarray, not str or bytes",
        ),
        ([bytearray(b"a")], r"texts\[0\] is of type bytearray, not str or bytes"),
        (
            np.arange(3, dtype=np.int64),
            r"texts\[0\] is of type int64, not str or bytes",
        ),
        (
            pa.array([1, 2]),
            "texts is of type Int64Array, with int64 values; pass a column of strings or binary",
        ),
        (pa.array([1.5]), "with float64 values"),
        (pa.array([["a"]]), "with list<string> values"),
        (pa.array([1, 2]).dictionary_encode(), "with int64 values"),
        (pa.array([datetime.date(2024, 1, 1)]), r"with date32\[day\] values"),
        pytest.param(pl.Series([1, 2]), "texts is of type Series, with int64 values"),
        (pd.Series([1, 2]), "int"),
        (
            pa.table({"body": ["a"], "id": [1]}),
            r"texts is of type Table; pass one column of it, such as df\['body'\]",
        ),
        (
            pa.RecordBatch.from_pydict({"text": ["a"], "id": [1]}),
            r"is of type RecordBatch; pass one .* df\['text'\]",
        ),
        (pa.array([{"id": 1, "body": "a"}]), "pass one of them, such as 'body'"),
        (
            pa.array([{"text": "a"}, None]),
            "StructArray, a struct that may be null; pass its column",
        ),
        (
            pa.table({"id": [1]}),
            "texts is of type Table, with int64 values; pass a column of strings",
        ),
        (RELATION, r"DuckDBPyRelation; pass one column of it, such as df\['text'\]"),
        (
            pa.array([{"id": 1, "text": "a"}]),
            r"StructArray, with columns \(struct\); .* such as 'text'",
        ),
        (
            pa.array([{"a": {"text": "a"}}]),
            r"StructArray, with columns \(struct\); .* such as 'text'",
        ),
        (
            pl.DataFrame({"id": [1], "text": ["a"]}),
            r"is of type DataFrame; pass one column .*, such as df\['text'\]",
        ),
        (
            pd.DataFrame({"id": [1], "text": ["a"]}),
            r"is of type DataFrame; pass one column .*, such as df\['text'\]",
        ),
        (
            pl.LazyFrame({"text": ["a"]}),
            r"texts is of type LazyFrame, .* such as df.collect\(\)\['text'\]",
        ),
        (5, "int"),
        (None, "NoneType"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_column_of_texts(source, message):
    with pytest.raises(TypeError, match=message):
        Texts(source)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.bool_(), "bool"),
        (pa.float16(), "float16"),
        (pa.binary(3), "fixed_size_binary[3]"),
        (pa.decimal128(19, 10), "decimal128(19, 10)"),
        (pa.decimal256(40, 2), "decimal256(40, 2)"),
        (pa.date64(), "date64[ms]"),
        (pa.time32("s"), "time32[s]"),
        (pa.time64("ns"), "time64[ns]"),
        (pa.timestamp("us"), "timestamp[us]"),
        (pa.timestamp("ns", "Europe/Berlin"), "timestamp[ns, tz=Europe/Berlin]"),
        (pa.duration("ms"), "duration[ms]"),
        (pa.month_day_nano_interval(), "month_day_nano_interval"),
        (pa.list_(pa.float32()), "list<float32>"),
        (pa.large_list(pa.list_(pa.string())), "large_list<list>"),
        (pa.list_(pa.string(), 4), "fixed_size_list[4]"),
        (pa.map_(pa.string(), pa.string()), "map"),
        (pa.run_end_encoded(pa.int32(), pa.string()), "run-end encoded"),
    ],
    ids=str,
)
def test_errors_name_types_as_arrow_does(kind, name):
    column = (
        pa.RunEndEncodedArray.from_arrays([1], ["a"])
        if name == "run-end encoded"
        else pa.array([], kind)
    )
    for column_of in Texts, dedup:
        if column_of is dedup and kind == pa.list_(pa.float32()):
            continue  # these are vectors
        with pytest.raises(
            TypeError, match=re.escape(f" with {name} values; pass a column of strings")
        ):
            column_of(column)


# Columns that lie


class Stream:
    """A column whose stream is the given object."""

    def __init__(self, answer):
        self.answer = answer

    def __arrow_c_stream__(self, requested_schema=None):
        return self.answer


class Array:
    """A column whose schema and array are the given object."""

    def __init__(self, answer):
        self.answer = answer

    def __arrow_c_array__(self, requested_schema=None):
        return self.answer


def test_an_array_without_a_stream_is_read():
    assert Texts(Array(pa.array(["a", "bc"]).__arrow_c_array__()))[1] == b"bc"


@pytest.mark.parametrize(
    "source",
    [
        Stream(None),
        Stream(5),
        Stream(pa.string().__arrow_c_schema__()),
        Stream(pa.array(["a"]).__arrow_c_array__()),
        Array(None),
        Array(()),
        Array((None, None)),
        Array(pa.array(["a"]).__arrow_c_array__()[::-1]),
        Array(pa.array(["a"]).__arrow_c_array__()[:1]),
        Array(pa.table({"text": ["a"]}).__arrow_c_stream__()),
    ],
)
def test_wrong_capsules_are_refused(source):
    with pytest.raises((TypeError, ValueError)):
        Texts(source)


def test_errors_of_the_source_are_passed_on():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("out of paper")

    with pytest.raises(RuntimeError, match="out of paper"):
        Texts(Broken())


has_streams = pytest.mark.skipif(
    not hasattr(pa.ChunkedArray, "__arrow_c_stream__"), reason="pyarrow before 16"
)

FUNCTIONS_OF_STREAMS = ["get_schema", "get_next", "get_last_error"]


@has_streams
@pytest.mark.parametrize("missing", range(len(FUNCTIONS_OF_STREAMS)))
def test_streams_without_a_function_are_refused(missing):
    capsule = pa.chunked_array([["a"]]).__arrow_c_stream__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    functions = (ctypes.c_void_p * len(FUNCTIONS_OF_STREAMS)).from_address(
        pointer_of(capsule, b"arrow_array_stream")
    )
    functions[missing] = None
    with pytest.raises(ValueError, match="a malformed Arrow stream: missing functions"):
        Texts(Stream(capsule))


READ_TWICE = """
import gc
import pyarrow as pa
from lshfast.kernels.text import Texts
lines = [f"some text {{i}}" for i in range(100_000)]
capsule = {column}.{method}()
column = type("Column", (), {{"{method}": lambda self, requested_schema=None: capsule}})()
{first}(column)
gc.collect()
try:
    Texts(column)
except ValueError as error:
    print(error)
"""


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "method", "first"),
    [
        pytest.param(
            "pa.chunked_array([lines])",
            "__arrow_c_stream__",
            "pa.chunked_array",
            marks=[has_streams, pytest.mark.slow],
        ),
        pytest.param(
            "pa.chunked_array([lines])",
            "__arrow_c_stream__",
            "Texts",
            marks=has_streams,
        ),
        ("pa.array(lines)", "__arrow_c_array__", "pa.array"),
        pytest.param(
            "pa.array(lines)", "__arrow_c_array__", "Texts", marks=pytest.mark.slow
        ),
    ],
)
def test_a_column_is_read_once(column, method, first):
    """Who reads a capsule empties it, and what it held is freed. A crash would end the process, so it is another's."""
    code = READ_TWICE.format(column=column, method=method, first=first)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "released" in done.stdout


class ArrowStream(ctypes.Structure):
    GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    _fields_ = [("get_schema", GET), ("get_next", GET), ("get_last_error", ERROR)]


@has_streams
@pytest.mark.parametrize("fails", ["get_schema", "get_next"])
@pytest.mark.parametrize("message", [b"out of paper", None])
def test_errors_of_a_stream_are_passed_on(fails, message):
    capsule = pa.chunked_array([["a"]]).__arrow_c_stream__()
    told = ctypes.create_string_buffer(message) if message else None
    fail = ArrowStream.GET(lambda stream, out: 5)
    tell = ArrowStream.ERROR(lambda stream: ctypes.addressof(told) if told else None)
    stream = inside(capsule, b"arrow_array_stream", ArrowStream)
    setattr(stream, fails, fail)
    stream.get_last_error = tell
    with pytest.raises(
        ValueError,
        match="the Arrow stream failed" + (": out of paper" if message else "$"),
    ):
        Texts(Stream(capsule))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("length", -1),
        ("offset", -1),
        ("n_children", 0),
        ("length", 3),
        ("offset", 1),
        ("offset", 2**63 - 1),
    ],
)
def test_malformed_tables_of_one_column_are_refused(field, value):
    schema, capsule = pa.array([{"text": "a"}, {"text": "b"}]).__arrow_c_array__()
    setattr(inside(capsule, b"arrow_array", ArrowArray), field, value)
    with pytest.raises(ValueError, match="a malformed Arrow struct"):
        Texts(Array((schema, capsule)))


def test_a_dictionary_without_indices_is_refused():
    schema, capsule = pa.array(["a", "b"]).dictionary_encode().__arrow_c_array__()
    inside(capsule, b"arrow_array", ArrowArray).buffers[1] = None
    with pytest.raises(ValueError, match="a malformed Arrow array: missing buffers"):
        Texts(Array((schema, capsule)))


@pytest.mark.parametrize(
    ("field", "value"),
    [("length", -1), ("offset", -1), ("n_buffers", 0), ("n_buffers", 2)],
)
@pytest.mark.parametrize("kind", STRINGS.values(), ids=str)
def test_malformed_arrays_are_refused(kind, field, value):
    schema, capsule = pa.array(["a", "b"]).cast(kind).__arrow_c_array__()
    setattr(inside(capsule, b"arrow_array", ArrowArray), field, value)
    with pytest.raises(ValueError, match="malformed Arrow array"):
        Texts(Array((schema, capsule)))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()], ids=str
)
@pytest.mark.parametrize(
    ("at", "offset", "row"), [(0, -1, 0), (1, 9, 1), (2, 3, 1), (2, -(2**31), 1)]
)
def test_malformed_offsets_are_placed(kind, at, offset, row):
    offsets = np.array([0, 4, 6], np.int64 if "large" in str(kind) else np.int32)
    column = pa.Array.from_buffers(
        kind, 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"some bytes")]
    )
    offsets[at] = offset
    for read in (Texts, lambda source: list(text.texts_in_parts(source, 1))):
        with pytest.raises(
            ValueError, match=rf"texts\[{row}\]: a malformed Arrow offset"
        ):
            read(Array(column.__arrow_c_array__()))


@pytest.mark.skipif("string_view" not in STRINGS, reason="this pyarrow has no views")
@pytest.mark.parametrize(
    ("length", "buffer", "start"),
    [
        (-1, 0, 0),
        (13, -1, 0),
        (13, 1, 0),
        (13, 0, -1),
        (13, 0, 8),
        (21, 0, 0),
        (2**31 - 1, 0, 2**31 - 1),
    ],
)
def test_malformed_views_are_placed(length, buffer, start):
    views = np.array([[0, 0, 0, 0], [length, 0, buffer, start]], np.int32)
    buffers = [None, pa.py_buffer(views), pa.py_buffer(b"twenty bytes of text")]
    with pytest.raises(ValueError, match=r"texts\[1\]: a malformed Arrow view"):
        Texts(pa.Array.from_buffers(pa.string_view(), 2, buffers))


@pytest.mark.parametrize("kind", STRINGS.values(), ids=str)
@pytest.mark.parametrize("buffer", ["all", 1, 2, -1])
def test_missing_buffers_are_refused(kind, buffer):
    """The last buffer of views has the sizes of the others."""
    column = pa.array(["a", "a text of thirteen bytes"]).cast(kind)
    schema, capsule = column.__arrow_c_array__()
    array = inside(capsule, b"arrow_array", ArrowArray)
    if buffer == "all":
        array.buffers = type(array.buffers)()
    else:
        array.buffers[buffer % array.n_buffers] = None
    with pytest.raises(ValueError, match=r"a malformed Arrow array: .*missing buffers"):
        Texts(Array((schema, capsule)))


class ArrowSchema(ctypes.Structure):
    """The struct of a type in the C data interface."""


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
ArrowSchema._fields_ = [
    *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
    *((name, ctypes.c_int64) for name in ("flags", "n_children")),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", RELEASE),
]


def without_children(schema):
    schema.children = type(schema.children)()


def without_child(schema):
    schema.children[0] = type(schema.children[0])()


def without_format(schema):
    schema.format = None


def without_format_of_child(schema):
    schema.children[0].contents.format = None


@pytest.mark.parametrize(
    ("change", "values"),
    [
        (without_format, [["a"]]),
        *(
            (change, values)
            for change in (without_children, without_child, without_format_of_child)
            for values in (
                [{"text": "a"}],
                [{"text": "a", "b": "c"}],
                [["a"]],
                [[1.5]],
                [[[1.5]]],
            )
        ),
    ],
)
def test_types_with_missing_parts_are_refused(change, values):
    capsule, array = pa.array(values).__arrow_c_array__()
    schema = inside(capsule, b"arrow_schema", ArrowSchema)
    # Fields are views of their memory, of which this keeps copies.
    own_release = RELEASE(ctypes.cast(schema.release, ctypes.c_void_p).value)
    children = ctypes.cast(schema.children, type(schema.children))
    own_children = [ctypes.cast(children[0], ctypes.POINTER(ArrowSchema))]
    own_format = own_children[0].contents.format

    @RELEASE
    def release(moved):
        own_children[0].contents.format = own_format
        children[0] = own_children[0]
        moved.contents.children = children
        moved.contents.release = own_release
        own_release(moved)

    schema.release = release
    change(schema)
    with pytest.raises(ValueError, match="a malformed Arrow schema"):
        text.read_column(Array((capsule, array)))


def test_texts_are_pickled_by_what_they_hold():
    column = Texts(["a text", "", "Füße"])
    restored = pickle.loads(pickle.dumps(column.take(slice(None, None, -1))))
    assert [restored[row] for row in range(3)] == ["Füße".encode(), b"", b"a text"]


@pytest.mark.parametrize("name", ["addresses", "lengths"])
def test_addresses_cannot_be_written(name):
    for column in (
        Texts(["a", "b"]),
        Texts(["a", "b"]).take([1]),
        Texts.concatenate([["a"], ["b"]]),
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(column, name)[0] = 5


# Which texts have the same bytes


@pytest.mark.parametrize("source", SOURCES)
def test_equal_texts(source):
    lines = [*LINES, *LINES[::-1], "thirteen byt3", "é", "e\u0301"]
    column = Texts(SOURCES[source](lines))
    left, right = (
        grid.reshape(-1) for grid in np.indices((len(lines), len(lines)), np.int64)
    )
    assert column.equal(left, right).tolist() == [
        lines[i] == lines[j] for i, j in zip(left, right, strict=True)
    ]


@pytest.mark.parametrize(
    ("left", "right"), [([2], [0]), ([0], [2]), ([-1], [0]), ([0], [2**62])]
)
def test_rows_of_equal_texts_have_a_range(left, right):
    with pytest.raises(IndexError, match=r"rows must be in 0\.\.1, not "):
        Texts(["a", "a"]).equal(np.array(left, np.int64), np.array(right, np.int64))


def test_as_many_lefts_as_rights():
    with pytest.raises(
        ValueError, match="as many lefts as rights are needed, not 1 and 2"
    ):
        Texts(["a"]).equal(np.zeros(1, np.int64), np.zeros(2, np.int64))
    assert (
        Texts([]).equal(np.array([], np.int64), np.array([], np.int64)).tolist() == []
    )
