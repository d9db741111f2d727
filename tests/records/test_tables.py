"""Tables of records: their sources, ids, and kinds of columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.records import Field, RecordTable
from lshfast.records.tables import distinct_values
from lshfast.records.tables.coded_fields import code_field
from lshfast.records.tables.distinct_values import encoded

COLUMNS = {"name": ["Ann", "Bob", None, "ann "], "age": [30, 41, None, 30]}


@pytest.mark.parametrize(
    "source",
    [
        COLUMNS,
        {name: np.array(values, object) for name, values in COLUMNS.items()},
        pa.table(COLUMNS),
        pd.DataFrame(
            {"name": COLUMNS["name"], "age": pd.array(COLUMNS["age"], "Int64")}
        ),
        pl.DataFrame(COLUMNS),
        [
            {"name": "Ann", "age": 30},
            {"name": "Bob", "age": 41},
            {},
            {"name": "ann ", "age": 30},
        ],
    ],
    ids=["dict", "numpy", "arrow", "pandas", "polars", "records"],
)
def test_every_source_gives_the_same_codes(source):
    table = RecordTable(source)
    assert table.names == ["name", "age"]
    for name in table.names:
        coded = code_field(Field(name, kind="name"), [table])
        assert coded.codes[0].tolist() == [0, 1, -1, 0]
        assert coded.codes[1] is coded.codes[0]
        assert coded.refused == (0, 0)


def test_values_of_mixed_types_are_coded_as_strings():
    table = RecordTable({"x": [1, "1", 2.5, True, None, float("nan"), "  "]})
    coded = code_field(Field("x", kind="code"), [table])
    assert coded.values == ["1", "25"]
    assert coded.codes[0][4:].tolist() == [-1, -1, -1]


def test_arrow_and_python_number_values_alike(monkeypatch):
    columns = [["b", None, "a", "b", ""], ["a", "c", None]]
    codes, values = encoded(columns)
    by_arrow = [[None if c < 0 else values[c] for c in part.tolist()] for part in codes]
    monkeypatch.setattr(
        "lshfast.records.tables.distinct_values._encoded_by_arrow", lambda columns: None
    )
    codes, values = encoded(columns)
    by_python = [
        [None if c < 0 else values[c] for c in part.tolist()] for part in codes
    ]
    assert [[v or None for v in part] for part in by_arrow] == by_python


@given(
    st.lists(st.sampled_from(["b", None, "a", "", "ü", " ", "a" * 70]), max_size=30),
    st.integers(0, 30),
    st.booleans(),
)
def test_strings_of_arrow_are_numbered_in_their_order(values, cut, all_hashes_equal):
    """In several chunks, with and without nulls, and if all strings have the same hash."""
    column = pa.chunked_array([values[:cut], values[cut:]], pa.string())
    numbers = {}
    expected = [
        -1 if value is None else numbers.setdefault(value, len(numbers))
        for value in values
    ]
    with pytest.MonkeyPatch.context() as patch:
        if all_hashes_equal:
            patch.setattr(
                distinct_values,
                "tokens_of_texts",
                lambda texts, key: np.zeros(len(texts), np.uint64),
            )
        codes, strings = encoded([column, column])
    assert [part.tolist() for part in codes] == [expected, expected]
    assert strings == [*numbers]


def test_any_stream_of_arrow_is_a_table():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)

    assert RecordTable(Stream()).record(1) == {"name": "Bob", "age": 41}


def test_rows_of_pandas_are_found_by_place():
    frame = pd.DataFrame(COLUMNS).iloc[1:]
    table = RecordTable({name: frame[name] for name in COLUMNS})
    assert table.record(0)["name"] == "Bob"
    assert table.record(2)["name"] == "ann "


def test_integers_with_missing_values_equal_integers_and_strings():
    """A column of integers with missing values is one of floats in many libraries."""
    first = RecordTable({"x": [2000.0, float("nan"), 2010.0, 0.5]})
    for other in ([2010, 2000], ["2010", "2000"], np.array([2010, 2000], np.float32)):
        coded = code_field(Field("x", kind="code"), [first, RecordTable({"x": other})])
        assert coded.values[:3] == ["2000", "2010", "05"]
        assert coded.codes[1].tolist() == [1, 0]


def test_bad_tables():
    with pytest.raises(TypeError, match=r"^a must be a table: .*, not int$"):
        RecordTable(7, name="a")
    with pytest.raises(
        TypeError, match=r"column 'x' must be a sequence of values, not str"
    ):
        RecordTable({"x": "text"})
    with pytest.raises(TypeError, match=r"names of columns must be strings, not 3"):
        RecordTable({3: ["x"]})
    with pytest.raises(
        ValueError, match=r"columns must be of one length, not x: 1, y: 2"
    ):
        RecordTable({"x": ["a"], "y": ["a", "b"]})
    with pytest.raises(ValueError, match=r"^left: no column 'z'; columns are: x$"):
        RecordTable({"x": ["a"]}, name="left").column("z")


def test_values_without_a_meaning_are_refused():
    for value in ([["a"]], {"a": 1}, [{"a": 1}], np.zeros((2, 2))):
        with pytest.raises(
            TypeError,
            match=r"^a: column 'x': values must be strings, numbers or dates, not",
        ):
            code_field(Field("x"), [RecordTable({"x": [value, "b"]}, name="a")])
    assert code_field(
        Field("x", kind="name"), [RecordTable({"x": [b"Z\xc3\xb6e", "zoe"]})]
    ).values == ["zoe"]


def test_ids_are_unique_and_present():
    with pytest.raises(
        TypeError,
        match=r"records: the id of row 1 must be a string or number, not \[2\]",
    ):
        RecordTable({"id": [1, [2]]}, "id")
    assert RecordTable({"k": [3, 1], "x": ["a", "b"]}, "k").ids == [3, 1]
    with pytest.raises(ValueError, match=r"^b: the id 'p' of row 2 is taken by row 0$"):
        RecordTable({"k": ["p", "q", "p"]}, "k", "b")
    with pytest.raises(ValueError, match=r"the id of row 1 is missing in column 'k'"):
        RecordTable({"k": ["p", None]}, "k")
    with pytest.raises(ValueError, match=r"no column 'id'"):
        RecordTable({"k": ["p"]}, "id")
    with pytest.raises(ValueError, match=r"one id for each of 1 rows, not 2"):
        RecordTable({"k": ["p"]}, ids=["p", "q"])


DIGITS = [str(1000 + 7 * i) for i in range(60)]
KINDS = [
    (
        "name",
        [
            f"{a}{b}"
            for a in ("smith", "jones", "lee", "brown", "khan")
            for b in "abcdefghijkl"
        ],
    ),
    ("text", [f"{i} long street name" for i in range(60)]),
    ("code", DIGITS),
    ("code", [f"{digits[:2]}-{digits[2:]}" for digits in DIGITS]),
    ("number", [f"{i}.50" for i in range(60)]),
    ("number", [f"${i}.50" for i in range(60)]),
    ("date", [f"19{i:02d}-03-0{i % 9 + 1}" for i in range(40, 99)]),
    ("date", [f"19{i:02d}1{i % 3}0{i % 9 + 1}" for i in range(40, 99)]),
    ("category", ["nsw", "vic", "qld"] * 20),
    ("category", [None, ""] * 30),
]


@pytest.mark.parametrize(("kind", "values"), KINDS)
def test_kinds_are_guessed(kind, values):
    assert code_field(Field("x"), [RecordTable({"x": values})]).kind == kind


def test_typing_errors_do_not_change_the_kind():
    values = [f"19{i:02d}-03-0{i % 9 + 1}" for i in range(40, 99)] * 3 + [
        "19x3-03-01",
        "1950-33-01",
        "in May",
    ]
    coded = code_field(Field("x"), [RecordTable({"x": values})])
    assert coded.kind == "date"
    assert coded.refused == (3, 3)
    assert (coded.codes[0][-3:] == -1).all()


def test_fields_of_strings():
    assert Field.parse("a=b:code:points=50:penalty=2:unit=3") == Field(
        "a", "b", "code", 50, 2, 3
    )
    assert Field.parse("a:penalty=0") == Field("a", penalty=0)
    for wrong in ("", ":name", "a=b=c", "a:name:x", "a:name:code"):
        with pytest.raises(ValueError, match="field"):
            Field.parse(wrong)
    with pytest.raises(
        ValueError,
        match=r"kind must be one of name, text, .* phone, address, not 'place'",
    ):
        Field.parse("a:place")
    with pytest.raises(
        ValueError, match=r"no option 'weight'; options are: points, penalty, unit"
    ):
        Field.parse("a:weight=3")
    with pytest.raises(ValueError, match=r"points must be above 0 and finite, not 0"):
        Field("a", points=0)
    with pytest.raises(
        ValueError, match=r"penalty must be at least 0 and finite, not nan"
    ):
        Field("a", penalty=float("nan"))
    with pytest.raises(TypeError, match=r"name must be the name of a column, not 3"):
        Field(3)
