"""Vectors, codes and sets in every form in which they come: what is read, and which rows are bad, and why."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast._items.items import PointReader
from lshfast._items.kind import ambiguous, kind_of, kind_of_arrow, kind_of_value
from lshfast._items.sets import read_sets
from lshfast.index.neighbors.points import PointFormat
from lshfast.kernels.text import Texts

VECTORS = [[0.5, -1.0, 2.0], None, [3.0, 4.0, -5.5]]

# Lists within each other that neither Python's decoder of JSON nor its repr can take.
DEEP = "[" * 20_000 + "]" * 20_000


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def read(kind, *columns, measure=None):
    """Return the points of columns: None for rows without one; and the reasons of bad rows, of the last column."""
    reader = PointReader(
        kind, measure or ("hamming" if kind == "code" else "euclidean")
    )
    points, bad = [], {}
    for column in columns:
        batch, bad = reader.read(column)
        given = iter(
            []
            if reader.format is None
            else reader.format.points_of(batch.words).tolist()
        )
        points += [None if missing else next(given) for missing in batch.missing]
        assert all(batch.missing[row] for row in bad)
    return points, bad


@pytest.mark.parametrize(
    "column",
    [
        VECTORS,
        [None if row is None else np.array(row, np.float32) for row in VECTORS],
        ["[0.5, -1, 2.0]", None, "[3,4,-5.5]"],
        ["[0.5, -1, 2.0]", " ", "[3,4,-5.5]"],
        Texts(["[0.5, -1, 2.0]", "", "[3,4,-5.5]"]),
        pa.array(["[0.5, -1, 2.0]", None, "[3,4,-5.5]"]),
        *(pa.array(VECTORS, pa.list_(kind)) for kind in (pa.float32(), pa.float64())),
        pa.array(
            [None if row is None else np.array(row, np.float16) for row in VECTORS],
            pa.list_(pa.float16()),
        ),
        pa.array(VECTORS, pa.large_list(pa.float32())),
        *(
            pa.array(VECTORS, pa.list_(kind, 3))
            for kind in (pa.float32(), pa.float64())
        ),
        pa.array([[9.0], *VECTORS, [1.0]], pa.list_(pa.float64())).slice(1, 3),
        pa.array([None, *VECTORS, [7.0, 8.0, 9.0]], pa.list_(pa.float32(), 3)).slice(
            1, 3
        ),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'type', '')}",
)
def test_forms_of_vectors(column):
    assert read("vector", column) == (VECTORS, {})


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int16, np.int64]
)
def test_arrays_of_vectors(dtype):
    rows = np.array([[1, 2], [3, 4], [0, 5]], dtype)
    assert read("vector", rows) == (rows.astype(float).tolist(), {})
    assert read("vector", rows[::2]) == (rows[::2].astype(float).tolist(), {})
    assert read("vector", pa.array(list(rows)))[0] == rows.astype(float).tolist()


@pytest.mark.parametrize(
    "column", [lambda rows: rows, lambda rows: pa.array(rows, pa.list_(pa.float64()))]
)
@pytest.mark.parametrize(
    ("row", "measure", "reason"),
    [
        ([], "euclidean", "the vector has no coordinates"),
        ([1.0], "euclidean", "the vector has 1 coordinates, not 2 as the rows before"),
        (
            [1.0] * 70_000,
            "euclidean",
            "the vector has 70000 coordinates, more than 65535",
        ),
        ([1.0, np.nan], "euclidean", "coordinate 1 is nan, not a finite number"),
        ([np.inf, 1.0], "cosine", "coordinate 0 is inf, not a finite number"),
        ([-np.inf, np.inf], "manhattan", "coordinate 0 is -inf, not a finite number"),
        ([1e100, 0.0], "euclidean", r"coordinate 0 is 1e\+100, not in -1e\+75..1e\+75"),
        ([1.0, -1e300], "cosine", r"coordinate 1 is -1e\+300, not in -1e\+75..1e\+75"),
    ],
)
def test_a_bad_vector_leaves_the_others_as_they_are(column, row, measure, reason):
    others = [[1.0, 2.0], [3.0, 4.0]]
    points, bad = read("vector", column([*others, row]), measure=measure)
    assert points == [*others, None]
    assert list(bad) == [2]
    assert bad[2] == reason.replace("\\", "")
    if not row or len(row) > 2:  # it does not decide what the others are
        points, bad = read("vector", column([row, *others]), measure=measure)
        assert points == [None, *others]
        assert list(bad) == [0]
    with pytest.raises(ValueError, match=f"row 2: {reason}"):
        lshfast.dedup(
            [*others, row], kind="vector", measure=measure, **bound_of(measure)
        )


def bound_of(measure):
    return {} if measure == "cosine" else {"radius": 0.1}


NO_VECTORS = [
    *(
        "nan",
        "[1, 2",
        "x",
        '["1", "2"]',
        "[1, null]",
        "[[1, 2]]",
        "3",
        "true",
        "[true, false]",
        "[1, 2]x",
        DEEP,
    ),
    *(
        {"a": 1},
        {1.0, 2.0},
        [True, False],
        ["1", "2"],
        [None, 1.0],
        3,
        [[1.0, 2.0]],
        b"\xff",
        object(),
    ),
    *(nested(2000), "[" + "9" * 5000 + "]", [10**400, 1], [10**5000]),
]


@pytest.mark.parametrize("value", NO_VECTORS, ids=lambda value: type(value).__name__)
def test_what_is_no_vector(value):
    points, bad = read("vector", [value, [1.0, 2.0]])
    assert points == [None, [1.0, 2.0]]
    assert bad[0].startswith("not a list of numbers: ")
    assert len(bad[0]) < 120


def test_numbers_of_json_that_no_double_holds():
    assert read("vector", ["[1e400, 1]", "[NaN, 1]", "[1e-400, 1]"]) == (
        [None, None, [0.0, 1.0]],
        {
            0: "coordinate 0 is inf, not a finite number",
            1: "coordinate 0 is nan, not a finite number",
        },
    )


def test_nulls_in_lists_of_arrow():
    for kind in (
        pa.list_(pa.int64()),
        pa.list_(pa.float32()),
        pa.list_(pa.float32(), 2),
        pa.large_list(pa.float64()),
    ):
        column = pa.array([[7, 8], [1, 2], None, [3, None]], kind)
        for start in (0, 1):
            points, bad = read("vector", column.slice(start))
            assert points == [[7.0, 8.0], [1.0, 2.0], None, None][start:]
            assert bad == {3 - start: "a coordinate is null"}


def test_the_first_batch_decides_the_format():
    assert read("vector", [None], [[1.0, 2.0]], np.array([[3, 4]], np.float32)) == (
        [None, [1.0, 2.0], [3.0, 4.0]],
        {},
    )
    assert read("vector", np.ones((1, 2), np.float32), [[1e39, 1.0], [2.0, 3.0]]) == (
        [[1.0, 1.0], None, [2.0, 3.0]],
        {0: "coordinate 0 is 1e+39, not in -3.40282e+38..3.40282e+38"},
    )
    points, bad = read("vector", np.ones((1, 2)), np.ones((2, 3)))
    assert points == [[1.0, 1.0], None, None]
    assert bad == dict.fromkeys(
        (0, 1), "the vector has 3 coordinates, not 2 as the rows before"
    )


def test_rows_without_a_point_take_no_memory():
    """A wide vector among many nulls and narrow ones: an array of all of them would take 40 GB."""
    batch, bad = PointReader("vector", "euclidean").read(
        [[0.5] * 50_000, *([[1.0]] * 50_000), *([None] * 50_000)]
    )
    assert batch.words.shape == (1, 50_000)
    assert len(bad) == 50_000


@pytest.mark.parametrize(
    "items",
    [
        np.zeros(4),
        np.zeros((2, 2, 2)),
        np.array([["a"]]),
        np.zeros((3, 0)),
        np.zeros((1, 70_000)),
    ],
)
def test_arrays_that_are_no_vectors(items):
    with pytest.raises(ValueError, match="vectors must"):
        lshfast.dedup(items, kind="vector")


@pytest.mark.parametrize(
    "items", ["[1, 2]", b"ab", {"a": [1.0]}, {1.0, 2.0}, 5, 0.5, None]
)
@pytest.mark.parametrize("kind", ["vector", "code"])
def test_what_is_no_sequence(items, kind):
    with pytest.raises(
        TypeError,
        match="vectors and codes must be a sequence or a column of them, not ",
    ):
        lshfast.dedup(items, kind=kind, **({"radius": 1} if kind == "code" else {}))


# ---- codes ----

CODES = [0x0123456789ABCDEF, None, 0xFFFFFFFFFFFFFFFE]


def big_endian(code):
    return None if code is None else code.to_bytes(8, "big")


@pytest.mark.parametrize(
    "column",
    [
        CODES,
        ["0123456789abcdef", None, "FFFFFFFFFFFFFFFE"],
        ["0123456789abcdef", "", "FFFFFFFFFFFFFFFE"],
        Texts(["0123456789abcdef", "", "FFFFFFFFFFFFFFFE"]),
        [*map(big_endian, CODES)],
        [None if code is None else [*big_endian(code)] for code in CODES],
        pa.array(CODES, pa.uint64()),
        pa.array(
            [
                None if code is None else code - 2**64 * (code >= 2**63)
                for code in CODES
            ],
            pa.int64(),
        ),
        pa.array(["0123456789abcdef", None, "FFFFFFFFFFFFFFFE"]),
        pa.array(["0123456789abcdef", None, "FFFFFFFFFFFFFFFE"]).dictionary_encode(),
        *(
            pa.array([*map(big_endian, CODES)], kind)
            for kind in (pa.binary(), pa.binary(8), pa.large_binary())
        ),
        pa.array([b"x" * 8, *map(big_endian, CODES)], pa.binary(8)).slice(1),
        *(
            pa.array(
                [None if code is None else [*big_endian(code)] for code in CODES], kind
            )
            for kind in (
                pa.list_(pa.uint8()),
                pa.list_(pa.uint8(), 8),
                pa.large_list(pa.uint8()),
            )
        ),
        pa.array(
            [None if code is None else [code] for code in CODES],
            pa.list_(pa.uint64(), 1),
        ),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'type', '')}",
)
def test_forms_of_codes(column):
    assert read("code", column) == (
        [None if code is None else [code] for code in CODES],
        {},
    )


def test_codes_of_booleans_and_words():
    bits = np.random.default_rng(1).integers(0, 2, (4, 70)).astype(bool)
    apart = [[int((a != b).sum()) for b in bits] for a in bits]
    words = np.random.default_rng(2).integers(0, 2**64, (4, 3), np.uint64)
    for items in (bits, bits.tolist()):
        found = lshfast.pairs(items, kind="code", radius=70)
        assert [
            apart[i][j] for i, j in zip(found["i"], found["j"], strict=True)
        ] == found["distance"].tolist()
        assert len(found) == 6
    assert read("code", words)[0] == words.tolist()


def test_bad_codes():
    points, bad = read(
        "code",
        [
            "0f",
            "f",
            "zz",
            "0x",
            "0f0f",
            15,
            b"f",
            " f",
            1.5,
            True,
            "é",
            nested(2000),
            "ff",
        ],
    )
    assert [point for point in points if point] == [[15], [255]]
    assert sorted(bad) == [*range(1, 12)]
    assert bad[1] == "the code must be 2 hexadecimal digits as the rows before, not 'f'"
    assert bad[2] == "a code must be hexadecimal digits, not 'zz'"
    assert read("code", ["f" * 1200])[1] == {
        0: "a code must be codes of 1..512 bytes, not bytes of shape (1, 600)"
    }
    assert read("code", ["0fff", "abc"], ["0ffff"]) == (
        [[0xFFF], None, None],
        {0: "the code must be 4 hexadecimal digits as the rows before, not '0ffff'"},
    )


def test_texts_that_are_no_codes_say_how_to_give_them():
    for codes in (["184467", "11641"], ["ff", "-12"]):
        reason = read("code", codes)[1][1]
        assert "read as decimal numbers if different lengths" in reason
    lines = "ff00\n" * 10_000
    (reason,) = read("code", [lines])[1].values()
    assert reason.endswith('; format="lines" (--format lines) reads one code a line')
    assert len(reason) < 200


def test_ints_have_the_words_of_the_first_batch():
    assert read("code", [2**70, 5, "zz"])[0] == [[0, 64], [5, 0], None]
    assert read("code", [2**70, 5], [7]) == ([[0, 64], [5, 0], [7, 0]], {})
    points, bad = read("code", [5], [2**70, -1, 6])
    assert points == [[5], None, None, [6]]
    assert bad[0].startswith("the code has 128 bits, not 64 as the rows before")
    assert bad[1].endswith("not -1")


# ---- sets ----


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('["a", 1]', "not a list of one type: ['a', 1]"),
        ([1, 2], "not a list of strings, as sets are: [1, 2]"),
        ("[true]", "not a list of strings, as sets are: [True]"),
        ("[[1]]", "not a list of strings, as sets are: [[1]]"),
        ("[1e400]", "not a list of strings, as sets are: [inf]"),
        ('{"a": 1}', "not a list of strings, as sets are: {'a': 1}"),
        ('["a"', "not a list of strings, as sets are: '[\"a\"'"),
        ('["\\ud800"]', "a string has a lone surrogate: ['\\ud800']"),
        (["a", None], "not a list of one type: ['a', None]"),
    ],
)
def test_bad_sets(value, reason):
    (offsets, elements), bad = read_sets([["a", "b"], value, None, "", '["c", "a"]'])
    assert offsets.tolist() == [0, 2, 2, 2, 2, 4]
    assert [elements[row] for row in range(4)] == [b"a", b"b", b"c", b"a"]
    assert bad == {1: reason}


def test_sets_that_are_too_large_to_be_shown():
    bad = read_sets(
        [[1], DEEP, nested(2000), [10**5000], [2**64], "[-9223372036854775809]"]
    )[1]
    assert sorted(bad) == [1, 2, 3, 4, 5]
    assert max(map(len, bad.values())) < 120


# The word of the element -1, by docs/reference/definitions.md.
MINUS_ONE = 13029008266876403067


def test_sets_of_arrow():
    for kind in (pa.list_(pa.string()), pa.large_list(pa.large_string())):
        (offsets, elements), bad = read_sets(
            pa.array([["z"], ["a", "b"], None, [], ["a"]], kind).slice(1)
        )
        assert (offsets.tolist(), [elements[row] for row in range(3)], bad) == (
            [0, 2, 2, 2, 3],
            [b"a", b"b", b"a"],
            {},
        )
    offsets, elements = read_sets(pa.array([[-1, 5], None], pa.list_(pa.int64())))[0]
    assert (offsets.tolist(), elements.tolist()) == ([0, 2, 2], [MINUS_ONE, 5])


# ---- kinds ----


@pytest.mark.parametrize(
    ("type_of", "kind", "several"),
    [
        (pa.string(), "text", []),
        (pa.large_string(), "text", []),
        (pa.null(), "text", []),
        (pa.dictionary(pa.int32(), pa.string()), "text", []),
        (pa.binary(8), "code", []),
        (pa.list_(pa.float32()), "vector", []),
        (pa.list_(pa.float16(), 3), "vector", []),
        (pa.large_list(pa.float64()), "vector", []),
        (pa.list_(pa.string()), "set", []),
        (pa.list_(pa.int32()), "set", []),
        (pa.list_(pa.uint8()), None, ["set", "vector", "code"]),
        (pa.list_(pa.int64(), 3), None, ["set", "vector"]),
        (pa.list_(pa.uint64(), 3), None, ["set", "vector", "code"]),
        (pa.uint64(), None, ["code"]),
        (pa.float64(), None, []),
        (pa.list_(pa.list_(pa.float32())), None, []),
        (pa.list_(pa.bool_()), None, []),
        (pa.struct([("text", pa.string())]), None, []),
    ],
    ids=str,
)
def test_kinds_of_types(type_of, kind, several):
    assert kind_of_arrow(type_of) == kind
    if kind is None:
        assert ambiguous(type_of) == several


def test_kinds_of_values():
    values = [
        "a",
        [1.0, 2],
        [1, 2],
        ["a"],
        [],
        None,
        [None],
        [True],
        ["a", 1],
        {"a": 1},
        5,
        np.zeros(2),
    ]
    kinds = [
        "text",
        "vector",
        "set",
        "set",
        None,
        None,
        None,
        None,
        None,
        "weighted",
        None,
        "vector",
    ]
    assert [kind_of_value(value) for value in values] == kinds


def test_kinds_of_collections():
    chunked = pa.chunked_array([[[0.5, 1.0]], [[0.5, 1.0], None]])
    for items in (
        np.ones((2, 3)),
        [[0.5]],
        [None, [0.5]],
        [np.ones(2)],
        chunked,
        chunked.chunk(0),
        (np.ones(2),),
    ):
        assert kind_of(items) == "vector"
    for items in (
        ["a"],
        [{"a"}],
        [[1, 2]],
        [],
        np.array(["a"]),
        pa.array(["a"]),
        pa.array([["a"]]),
        iter("a"),
    ):
        assert kind_of(items) == "text"
    assert lshfast.dedup(chunked).keep.tolist() == [True, False, True]


def test_the_format_of_an_index():
    format = PointFormat("angle", 2, "float32", None)
    reader = PointReader("vector", "angle", format)
    batch, bad = reader.read([[3.0], [1.0, 2.0], None, [1e39, 0.0]])
    assert reader.format is format
    assert bad == {
        0: "the vector has 1 coordinates, not 2 as the index has",
        3: "coordinate 0 is 1e+39, not in -3.40282e+38..3.40282e+38",
    }
    assert batch.missing.tolist() == [True, False, True, True]
    assert format.points_of(batch.words).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (
            np.ones((2, 3), np.float32),
            "the vector has 3 coordinates, not 2 as the index has",
        ),
        (
            pa.array([[1.0] * 3] * 2, pa.list_(pa.float32(), 3)),
            "the vector has 3 coordinates, not 2 as the index has",
        ),
        (
            pa.array([["a"], ["b"]]),
            "vectors must be lists of numbers, not list<item: string>",
        ),
    ],
)
def test_a_column_of_other_vectors_than_the_index(column, reason):
    batch, bad = PointReader(
        "vector", "euclidean", PointFormat("euclidean", 2, "float32", None)
    ).read(column)
    assert bad == {0: reason, 1: reason}
    assert (len(batch), len(batch.words)) == (2, 0)


def test_codes_of_other_lengths_than_the_index():
    def bad_in(bits, column):
        return PointReader(
            "code", "hamming", PointFormat("hamming", bits, "float32", None)
        ).read(column)[1]

    assert bad_in(128, ["0" * 16]) == {
        0: "the code has 64 bits, not 128 as the index has: '0000000000000000'"
    }
    assert bad_in(64, pa.array([bytes(16), None], pa.binary(16))) == {
        0: "the code has 128 bits, not 64 as the index has"
    }
    assert bad_in(64, [5, 2**64 - 1]) == {}
    assert bad_in(60, np.array([2**60, 7], np.uint64)) == {
        0: "the code has more than 60 bits, which the index has"
    }


@pytest.mark.parametrize(
    "mark", ["0x{}", "0X{}", "pdq {}", "PDQ: {}", " {} ", "phash,0x{}"]
)
@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "txt"])
def test_codes_of_published_lists(tmp_path, mark, suffix):
    digits = [f"{number:016x}" for number in (0xAB01, 0xAB03, 12345, 0xAB01)]
    texts = [mark.format(code) for code in digits]
    kept = lshfast.dedup_codes(texts, 1).keep
    assert kept.tolist() == [True, False, True, False]
    path = tmp_path / f"a.{suffix}"
    if suffix == "txt":
        path.write_text("".join(f"{text}\n" for text in texts))
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    else:
        pq.write_table(pa.table({"text": texts}), path)
    format = "lines" if suffix == "txt" else None
    result = lshfast.dedup_files(path, kind="code", radius=1, format=format)
    assert result.keep.tolist() == kept.tolist()


@pytest.mark.parametrize(
    "text", ["md5 f8f8f8f8f8f8f8f8", "0xg8f8", "pdq", "0x", "pdq f8 f8"]
)
def test_other_marks_are_no_codes(text):
    with pytest.raises(ValueError, match="row 0 is"):
        lshfast.dedup_codes([text, text], 1)
