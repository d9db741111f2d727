"""The scanner of JSON lines: every CPU level against the reference and against orjson, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels import json as kernels
from lshfast.kernels.text import Texts
from tests.kernels.test_sampling import unaligned
from tests.reference import json_lines as reference

orjson = pytest.importorskip("orjson")

# Bytes behind the lines, on which nothing may depend.
BEHIND = [b"\0", b'"', b"\\", b"\n", b"}", b"\x80", b"x"]

TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from('"\\/\n\t\b\0 é漢😀\u2028')), max_size=40
)
NUMBER = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBER, TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
RECORD = st.fixed_dictionaries(
    {}, optional={"text": TEXT | VALUE, "id": VALUE, "other": VALUE, "é": VALUE}
)
LINE = st.builds(
    lambda record, plain, separators: json.dumps(
        record, ensure_ascii=plain, separators=separators
    ).encode("utf-8", "surrogatepass"),
    RECORD,
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r:  ")]),
)
# What lines are made of, well and badly put together.
PART = st.sampled_from(
    [
        *[
            b"{",
            b"}",
            b"[",
            b"]",
            b":",
            b",",
            b'"',
            b" ",
            b"\n",
            b"\r",
            b"\t",
            b"\v",
            b"\0",
            b"\x1f",
            b"\x7f",
        ],
        *[
            b'"text"',
            b'"text":',
            b'"id":',
            b'{"text": "a"}',
            b'{"text": "a", ',
            b'"text": "b"',
            b"null",
            b"nul",
        ],
        *[
            b"true",
            b"0",
            b"-",
            b"1",
            b"01",
            b"1.5",
            b".5",
            b"1.",
            b"1e5",
            b"1E+",
            b"-0",
            b"1e999",
            b"NaN",
            b"Infinity",
        ],
        *[
            b"\\",
            b"\\n",
            b'\\"',
            b"\\u",
            b"\\u00e9",
            b"\\ud83d",
            b"\\ude00",
            b"\\uD83D\\uDE00",
            b"\\x",
            b"\\u12G4",
        ],
        *[
            b"\xc3\xa9",
            "漢".encode(),
            "😀".encode(),
            b"\x80",
            b"\xc0\xaf",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
        ],
        *[b"\xe6\xbc", b"\xef\xbb\xbf", b"x" * 62],
    ]
)
SOUP = st.lists(PART, max_size=30).map(b"".join)


@st.composite
def mutated(draw):
    """Change, cut out or put in some bytes of good lines."""
    data = bytearray(b"\n".join(draw(st.lists(LINE, min_size=1, max_size=3))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(PART)
    return bytes(data)


def scanned(data, text=b"text", keys=(), behind=b"\0", before=b""):
    """Return the rows as the reference does."""
    start, end = len(before), len(before) + len(data)
    whole = before + data + behind * kernels.PADDING
    found = kernels.scan(whole, start, end, text, keys)
    assert found.count == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    values = [found.values(key, lambda raw: raw) for key in range(len(keys))]
    undecided = found.undecided.tolist()
    lines = data.split(b"\n")
    spans = zip(
        found.lines.tolist(), found.starts.tolist(), found.stops.tolist(), strict=True
    )
    assert all(whole[first:last] == lines[line] for line, first, last in spans)
    texts = [text.decode() for text in Texts.of_buffer(found.texts, found.offsets)]
    return [
        (
            line,
            None if row in undecided else (texts[row], [each[row] for each in values]),
        )
        for row, line in enumerate(found.lines.tolist())
    ]


def plain(raw):
    """Return what `values` makes of a raw value: a str of strings without escapes."""
    return (
        raw[1:-1].decode() if raw and raw.startswith(b'"') and b"\\" not in raw else raw
    )


def expected(data, text=b"text", keys=()):
    rows = reference.scanned(data, text, keys)
    return [
        (line, row and (row[0], [plain(raw) for raw in row[1]])) for line, row in rows
    ]


@given(st.one_of(LINE, mutated(), SOUP), st.sampled_from(BEHIND), st.integers(0, 70))
@example(b'{"text": "a"}\r\n\v\f\n \n{"text": null}', b"}", 0)
@example(b'{"text": "' + b"x" * 53 + b"\\", b'"', 0)
@example(
    b'{"text": "a", "text": 1}\n{"text": 1, "text": "a"}\n{"\\u0074ext": "a"}', b"x", 0
)
def test_rows_equal_the_reference(level, data, behind, shift):
    keys = b"id", "é".encode(), b"text"
    assert scanned(data, b"text", keys, behind, b"#" * shift) == expected(
        data, b"text", keys
    )


@given(st.one_of(mutated(), SOUP))
def test_what_is_decided_orjson_reads_alike(level, data):
    """Or the standard library, where orjson refuses: numbers beyond doubles."""
    for line, row in scanned(data, keys=(b"id",)):
        if row is None:
            continue
        content = data.split(b"\n")[line]
        try:
            record = orjson.loads(content)
        except ValueError:
            record = json.loads(content)
        assert (record["text"] or "") == row[0]
        value = row[1][0]
        assert record.get("id") == (
            json.loads(value) if isinstance(value, bytes) else value
        )


@pytest.mark.parametrize(
    "part", ["x", "é", "漢", "😀", '\\"', "\\u00e9", "\\ud83d\\ude00"]
)
def test_strings_around_the_ends_of_blocks(level, part):
    """Every part at every place of a block of 64 bytes, in the text and in a string that is skipped."""
    for place in [0, 1, *range(36, 68), *range(100, 132)]:
        string = "a" * place + part + "b" * (place % 3)
        data = f'{{"other": "{string}", "text": "{string}"}}'.encode()
        assert scanned(data, behind=b'"') == [(0, (json.loads(f'"{string}"'), []))]
        # Ends of the data inside the string.
        for cut in range(1, min(40, len(string.encode()) + 2)):
            assert scanned(data[: -1 - cut], behind=b'"')[0][1] is None


INVALID = [
    b"\x80",
    b"\xc0\x80",
    b"\xc1\xbf",
    b"\xe0\x9f\xbf",
    b"\xed\xa0\x80",
    b"\xed\xbf\xbf",
    b"\xf0\x8f\xbf\xbf",
]
INVALID += [
    b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80",
    b"\xff",
    b"\xc3",
    b"\xe6\xbc",
    b"\xf0\x9f\x98",
    b"\xc3\xa9\xa9",
]


@pytest.mark.parametrize("invalid", INVALID, ids=repr)
def test_bytes_that_are_no_utf8_are_left_undecided(level, invalid):
    for place in [*range(4), *range(24, 36), *range(56, 68)]:
        for end in (b"", b"z" * 40):
            string = b"\xc3\xa9" * (place // 2) + b"y" * (place % 2) + invalid + end
            assert scanned(b'{"text": "' + string + b'"}') == [(0, None)]
            assert scanned(b'{"' + string + b'": 1, "text": "a"}') == [(0, None)]
            assert scanned(b'{"a": ["' + string + b'"], "text": "a"}') == [(0, None)]


@pytest.mark.parametrize(
    ("first", "last"),
    [(0x80, 0x8FF), (0xD7C0, 0xD7FF), (0xE000, 0xE040), (0xFFC0, 0x1003F)],
)
def test_characters_at_the_edges_of_utf8(level, first, last):
    text = "".join(map(chr, range(first, last + 1))) + "\U0010ffff"
    assert scanned(json.dumps({"text": text}, ensure_ascii=False).encode()) == [
        (0, (text, []))
    ]
    assert scanned(json.dumps({"text": text}).encode()) == [(0, (text, []))]


def test_depth_is_bounded(level):
    for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
        for depth in (1, 63, 64, 65, 127, 128):
            value = opened * depth + b"1" + closed * depth
            assert scanned(b'{"a": ' + value + b', "text": "t"}') == [(0, ("t", []))]
        value = opened * 129 + b"1" + closed * 129
        assert scanned(b'{"a": ' + value + b', "text": "t"}') == [(0, None)]
    assert scanned(b'{"a": ' + b"[" * 10**6) == [(0, None)]


def test_the_length_of_numbers_is_bounded(level):
    """Python refuses to convert integers of many digits; another parser reports such a line."""
    for digits in (b"9", b"-1", b"0.", b"1e"):
        for more, decided in ((640, True), (641, False)):
            value = digits + b"0" * (more - len(digits))
            for line in (
                b'{"text": "t", "id": ' + value + b"}",
                b'{"a": [' + value + b'], "text": "t"}',
            ):
                assert (scanned(line)[0][1] is not None) == decided
                assert scanned(line, keys=(b"id",)) == expected(line, keys=(b"id",))


def test_hostile_lines_take_time_in_proportion(level):
    """Quadratic work on these would take minutes."""
    many = 300_000
    for line in (
        b'{"text": "a", ' * many,
        b'{"text": "a"' + b', "text": "b"' * many + b"}",
        b'{"text": "' + b"\\u00e9" * many + b'"}',
        b'{"text": "' + b"\\ud83d" * many + b'"}',
        b'{"a": ' + b"[[1],[2]," * many + b'"text": 1}',
        b'{"a": ' + b"9" * 6 * many + b', "text": "a"}',
        b'{"text": "a"}\n' * many,
        b"{\n" * many,
        b"\n" * many,
    ):
        found = kernels.scan(line + bytes(kernels.PADDING), 0, len(line), b"text")
        assert found.count >= 1


def test_a_name_for_several_members(level):
    data = (
        b'{"text": "a\\n", "n": 1}\n{"n": 2, "text": "b", "text": "c"}\n{"text": null}'
    )
    assert scanned(data, b"text", (b"text", b"n")) == [
        (0, ("a\n", [b'"a\\n"', b"1"])),
        (1, ("c", ["c", b"2"])),
        (2, ("", [b"null", None])),
    ]
    assert scanned(b'{"": "a"}', b"") == [(0, ("a", []))]


def test_hardly_filled_buffers_are_not_held():
    line = b'{"other": "' + b"x" * 10_000 + b'", "text": "a"}'
    found = kernels.scan(line + bytes(kernels.PADDING), 0, len(line), b"text")
    assert found.texts.tobytes() == b"a"
    assert found.texts.base is None


def test_a_scan_ends_after_some_lines():
    lines = [b'{"text": "a"}\n', b"\n", b'{"text": "b"}\r\n', b'{"text": "c"}']
    data = b"".join(lines) + bytes(kernels.PADDING)
    end = len(data) - kernels.PADDING
    at = 0
    texts = b""
    for most in (1, 2, 5):
        found = kernels.scan(data, at, end, b"text", (), most)
        count = min(most, len(lines))
        assert found.count == count
        assert found.end == at + len(b"".join(lines[:count]))
        texts += found.texts.tobytes()
        at = found.end
        del lines[:count]
    assert texts == b"abc"
    assert at == end
    for most in (0, -1):
        with pytest.raises(
            ValueError, match=f"most_lines must be at least 1, not {most}"
        ):
            kernels.scan(data, 0, end, b"text", (), most)


def test_arguments_are_checked():
    data = b'{"text": "a"}' + bytes(kernels.PADDING)
    for start, end in ((-1, 2), (3, 2), (0, 14), (0, 2**62)):
        with pytest.raises(ValueError, match=r"start and end must be in 0\.\.13, not"):
            kernels.scan(data, start, end, b"text")
    with pytest.raises(
        ValueError, match=r"start and end must be in 0\.\.-64, not 0 and 0"
    ):
        kernels.scan(b"", 0, 0, b"text")
    with pytest.raises(ValueError, match="there must be at most 4 keys, not 5"):
        kernels.scan(data, 0, 13, b"text", (b"a", b"b", b"c", b"d", b"e"))
    with pytest.raises(TypeError):
        kernels.scan(data, 0, 13, "text")
    with pytest.raises(TypeError):
        kernels.scan(data, 0, 13, b"text", ("id",))
    found = kernels.scan(bytearray(data), 0, 13, b"text", (b"id",))
    with pytest.raises(IndexError, match="key must be less than 1, not 1"):
        found.values(1, json.loads)
    assert kernels.scan(np.frombuffer(data, np.uint8), 0, 0, b"text").count == 0


def test_an_error_of_loads_is_raised():
    data = b'{"text": "a", "id": 1}'
    found = kernels.scan(data + bytes(kernels.PADDING), 0, len(data), b"text", (b"id",))
    with pytest.raises(ZeroDivisionError):
        found.values(0, lambda raw: 1 // 0)
    assert found.values(0, json.loads) == [1]


def test_texts_of_a_buffer():
    texts = Texts.of_buffer(b"abcdef", np.array([1, 3, 3, 6], np.int64))
    assert list(texts) == [b"bc", b"", b"def"]
    assert list(Texts.of_buffer(b"", np.zeros(3, np.int64))) == [b"", b""]
    for offsets in ([], [0, 7], [-1, 2], [0, 5, 2, 6]):
        with pytest.raises(ValueError, match="offsets must rise from 0 to at most 6"):
            Texts.of_buffer(b"abcdef", np.array(offsets, np.int64))


@pytest.mark.few_cases
@given(
    st.lists(
        st.one_of(
            LINE,
            mutated().map(lambda data: data.split(b"\n")[0]),
            SOUP.map(lambda d: d.split(b"\n")[0]),
        )
    )
)
def test_spans_are_scanned_as_lines_are(level, lines):
    """In any order, with other bytes between them."""
    lines = [line for line in lines if line.strip()]
    data, starts = b"", []
    for line in lines:
        data += b'}"\n'
        starts.append(len(data))
        data += line
    stops = [start + len(line) for start, line in zip(starts, lines, strict=True)]
    order = np.arange(len(lines))[::-1]
    chosen = [np.array(places, np.int64)[order] for places in (starts, stops)]
    found = kernels.scan_spans(data + b'"' * kernels.PADDING, *chosen, b"text")
    rows = [reference.scanned(lines[row], b"text", ())[0][1] for row in order]
    assert found.undecided.tolist() == [
        row for row, wanted in enumerate(rows) if wanted is None
    ]
    texts = [text.decode() for text in Texts.of_buffer(found.texts, found.offsets)]
    assert texts == [wanted[0] if wanted else "" for wanted in rows]
    assert [found.starts.tolist(), found.stops.tolist()] == [
        places.tolist() for places in chosen
    ]


def test_unaligned_spans(tmp_path):
    data = b'{"text": "a"}' + bytes(kernels.PADDING)
    spans = [unaligned(np.array([number], np.int64)) for number in (0, 13)]
    assert kernels.scan_spans(data, *spans, b"text").texts.tobytes() == b"a"
    (tmp_path / "data").write_bytes(data)
    out = np.empty(13, np.uint8)
    with (tmp_path / "data").open("rb") as file:
        assert kernels.read_spans(file.fileno(), *spans, out)
    assert out.tobytes() == data[:13]


def test_spans_are_checked():
    data = b'{"text": "a"}' + bytes(kernels.PADDING)
    for starts, stops in (([-1], [2]), ([3], [3]), ([0], [14]), ([5], [2])):
        with pytest.raises(
            ValueError, match=r"lines must be in 0\.\.13 and not empty, not "
        ):
            kernels.scan_spans(
                data, np.array(starts, np.int64), np.array(stops, np.int64), b"text"
            )
    with pytest.raises(ValueError, match="as many stops as starts, not 2 and 1"):
        kernels.scan_spans(data, np.zeros(1, np.int64), np.ones(2, np.int64), b"text")
    assert (
        kernels.scan_spans(
            bytes(kernels.PADDING), *np.zeros((2, 0), np.int64), b"text"
        ).count
        == 0
    )


@given(
    st.lists(st.sampled_from([b"\n", b"a", b"\r", b"bcd" * 40]), max_size=60).map(
        b"".join
    ),
    st.data(),
)
def test_ends_of_lines(data, draw):
    end = draw.draw(st.integers(0, len(data)))
    start = draw.draw(st.integers(0, end))
    assert kernels.line_ends(data, start, end).tolist() == [
        i for i in range(start, end) if data[i] == 10
    ]


def test_ends_of_lines_are_checked():
    for start, end in ((0, 4), (3, 2)):
        with pytest.raises(
            ValueError, match=f"must be in 0..3, ascending, not {start} and {end}"
        ):
            kernels.line_ends(b"abc", start, end)


@given(
    st.lists(st.tuples(st.binary(max_size=9), st.booleans()), max_size=30),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)
def test_lines_are_joined_at_the_beginning(lines, line_end, ends):
    data = line_end.join(line for line, _ in lines) + (line_end if ends else b"")
    ends_of_lines = np.cumsum([len(line) + len(line_end) for line, _ in lines])
    is_kept = np.array([kept for _, kept in lines], bool)
    stops = (ends_of_lines - len(line_end)).astype(np.int64)[is_kept]
    lengths = np.array([len(line) for line, _ in lines], np.int64)[is_kept]
    buffer = bytearray(data + b"?")
    spans = (unaligned(places) for places in (stops - lengths, stops))
    size = kernels.join_lines(buffer, *spans, len(data))
    assert buffer[:size] == b"".join(line + b"\n" for line, kept in lines if kept)


@pytest.mark.parametrize(
    ("stops", "end", "size"),
    [([2], 5, 3), ([1], 5, -1), ([2, 5], 5, 6), ([2, 4], 5, -1), ([4], 4, 5)],
)
def test_lines_end_before_a_line_end_or_the_end(stops, end, size):
    starts = np.array([0, 3][: len(stops)], np.int64)
    data = bytearray(b"ab\ncd?")
    assert kernels.join_lines(data, starts, np.array(stops, np.int64), end) == size


def test_lines_to_join_are_checked():
    for starts, stops, places in (
        ([-1], [2], r"0\.\.3, not -1 to 2"),
        ([0], [4], r"0\.\.3, not 0 to 4"),
        ([2], [1], r"0\.\.3, not 2 to 1"),
        ([0, 1], [1, 2], r"2\.\.3, not 1 to 2"),
    ):
        with pytest.raises(ValueError, match=rf"lines must be in {places}"):
            kernels.join_lines(
                bytearray(4), np.array(starts, np.int64), np.array(stops, np.int64), 3
            )
    for end in (-1, 4):
        with pytest.raises(ValueError, match=rf"end must be in 0\.\.3, not {end}"):
            kernels.join_lines(bytearray(4), *np.zeros((2, 0), np.int64), end)
    with pytest.raises(ValueError, match="as many stops as starts, not 1 and 2"):
        kernels.join_lines(
            bytearray(4), np.zeros(2, np.int64), np.zeros(1, np.int64), 3
        )


@given(
    st.binary(max_size=200),
    st.lists(st.tuples(st.integers(0, 250), st.integers(0, 60)), max_size=6),
)
def test_spans_are_read_one_behind_the_other(tmp_path_factory, data, spans):
    path = tmp_path_factory.mktemp("spans") / "data"
    path.write_bytes(data)
    starts, sizes = (np.array([span[i] for span in spans], np.int64) for i in (0, 1))
    out = np.full(int(sizes.sum()) + 3, 7, np.uint8)
    with path.open("rb", buffering=0) as file:
        file.seek(5)
        whole = kernels.read_spans(file.fileno(), starts, sizes, out)
    assert whole == all(size == 0 or start + size <= len(data) for start, size in spans)
    if whole:
        assert (
            out.tobytes()
            == b"".join(data[start : start + size] for start, size in spans) + b"\7\7\7"
        )


def test_spans_that_cannot_be_read(tmp_path):
    path, out = tmp_path / "data", np.empty(8, np.uint8)
    path.write_bytes(bytes(100))

    def read(starts, sizes, number):
        return kernels.read_spans(
            number, np.array(starts, np.int64), np.array(sizes, np.int64), out
        )

    with path.open("wb") as file:
        with pytest.raises(OSError, match="Bad file descriptor"):
            read([0], [1], file.fileno())  # opened for writing only
        with pytest.raises(ValueError, match="as many starts as sizes, not 2 and 1"):
            read([0, 1], [1], file.fileno())
        with pytest.raises(ValueError, match="must not be negative, not -1 and 1"):
            read([-1], [1], file.fileno())
        with pytest.raises(ValueError, match="must not be negative, not 0 and -1"):
            read([0], [-1], file.fileno())
        with pytest.raises(
            ValueError, match="the spans have 9 bytes, and out has room for 8"
        ):
            read([0, 0], [1, 8], file.fileno())
        with pytest.raises(MemoryError):
            read([0, 0], [2**62, 2**62], file.fileno())
