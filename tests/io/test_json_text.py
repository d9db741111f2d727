"""JSON without orjson: the same values and bytes as with it, and errors instead of crashes where memory runs out."""

import datetime
import json
import math
import re
import subprocess
import sys
import uuid
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast._io.json_text import dumps, loads

UTC = datetime.timezone.utc
INDIA = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
AMSTERDAM = datetime.timezone(datetime.timedelta(minutes=19, seconds=32))  # before 1937

# What is written, byte for byte.
WRITTEN = [
    (0.1, "0.1"), (1.0, "1.0"), (-0.0, "-0.0"), (1e15, "1000000000000000.0"), (1e16, "1e+16"), (1.5e300, "1.5e+300"),
    (1e-4, "0.0001"), (1e-5, "0.00001"), (-1.25e-5, "-0.0000125"), (1e-6, "1e-6"), (1.5e-9, "1.5e-9"),
    (1e-10, "1e-10"), (5e-324, "5e-324"), (math.nan, "null"), (math.inf, "null"), (-math.inf, "null"),
    ([1.0, 1e-7, math.nan, -math.inf, 2e-5], "[1.0,1e-7,null,null,0.00002]"), ([1.0, 2, "e-05"], '[1.0,2,"e-05"]'),
    (2**64 - 1, "18446744073709551615"), (-(2**63), "-9223372036854775808"), (True, "true"), (None, "null"), ([], "[]"),
    ({}, "{}"), ({"a": [1, {"b": ()}]}, '{"a":[1,{"b":[]}]}'), ("é😀\x7f\u2028", '"é😀\x7f\u2028"'),
    ('\x00\x1f\n\r\t\b\f"\\/', r'"\u0000\u001f\n\r\t\b\f\"\\/"'), (b"bytes", '"bytes"'),
    (Decimal("1.50"), "1.50"), (uuid.UUID(int=5), f'"{uuid.UUID(int=5)}"'),
    (datetime.datetime(2020, 1, 2, 3, 4, 5, 678), '"2020-01-02T03:04:05.000678"'),
    (datetime.datetime(1, 1, 1, tzinfo=UTC), '"0001-01-01T00:00:00+00:00"'),
    (datetime.datetime(2020, 1, 1, tzinfo=INDIA), '"2020-01-01T00:00:00+05:30"'),
    (datetime.datetime(1900, 1, 1, tzinfo=AMSTERDAM), '"1900-01-01T00:00:00+00:20"'),
    (datetime.date(2020, 1, 2), '"2020-01-02"'), (datetime.time(1, 2, 3, 4), '"01:02:03.000004"'),
]  # fmt: skip

NOT_WRITTEN = [
    (2**64, "Integer exceeds 64-bit range"), (-(2**63) - 1, "Integer exceeds 64-bit range"),
    ("\ud800", "str is not valid UTF-8: surrogates not allowed"), ({"\ud800": 1}, "surrogates not allowed"),
    ({1: 2}, "Dict key must be str"), (b"\xff", "invalid start byte"), (datetime.timedelta(1), "timedelta is no JSON"),
    ({1}, "set is no JSON"), (datetime.time(1, tzinfo=UTC), "must not have tzinfo"),
]  # fmt: skip

# What is read; None: refused.
READ = [
    (b"18446744073709551615", 2**64 - 1), (b"18446744073709551616", 2.0**64), (b"-9223372036854775809", -(2.0**63)),
    (b"9" * 30, 1e30), (b"[1,[18446744073709551616]]", [1, [2.0**64]]), (b"[0.5,18446744073709551616]", [0.5, 2.0**64]),
    (b'{"a":["x",null,{"b":-9223372036854775809}]}', {"a": ["x", None, {"b": -(2.0**63)}]}),
    (b"[[],{},[1,2]]", [[], {}, [1, 2]]),
    (b"[18446744073709551615,true,-9223372036854775808]", [2**64 - 1, True, -(2**63)]),
    (b"9" * 310, None), (b"9" * 5000, None), (b"NaN", None), (b"[Infinity]", None),
    (b'"\\ud800"', None), (b'"\\ude00x"', None), (b'"\\ud83d\\ude00"', "😀"), (b'{"a":1,"a":2}', {"a": 2}),
    (b" [1] \r\n", [1]), (b"\xef\xbb\xbf1", None), (b"01", None), (b"1.", None), (b'"\x01"', None), (b'"\xff"', None),
    (b'"\xed\xa0\x80"', None), (b"[1,]", None), (b"", None), (b"[" * 100_000, None), (b"0.1", 0.1), (b"-0", 0),
]  # fmt: skip


@pytest.mark.parametrize(("value", "said"), WRITTEN)
def test_what_is_written(value, said):
    assert dumps(value) == said


@pytest.mark.parametrize(("value", "said"), NOT_WRITTEN)
def test_what_is_not_written(value, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        dumps(value)
    with pytest.raises(TypeError, match=re.escape(said)):
        dumps({"a": [value]})


def is_refused(data):
    try:
        loads(data)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize(("data", "value"), READ)
def test_what_is_read(data, value):
    if value is None:
        assert is_refused(data)
    else:
        for given_as in (data, bytearray(data), memoryview(data)):
            found = loads(given_as)
            assert repr(found) == repr(value)


def test_nested_too_deep_is_an_error():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(TypeError, match="nested too deep"):
        dumps(value)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(st.floats())
    ),
)


@given(VALUES)
def test_orjson_reads_and_writes_the_same(value):
    orjson = pytest.importorskip("orjson", "3.13")
    written = orjson.dumps(value)
    assert dumps(value).encode() == written
    assert repr(loads(written)) == repr(orjson.loads(written))


LITTLE_MEMORY = """
import resource, sys
import lshfast._cli.main, lshfast._engine.executors.local.run, pyarrow.parquet
from lshfast.__main__ import main
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = held + (int(sys.argv.pop(1)) << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
main()
"""


# Megabytes more than are in use; pyarrow itself ends a process that cannot start a thread.
LIMITS = [
    ("sets.jsonl", (20, 800)),
    pytest.param("sets.jsonl", (20, 60, 90, 800), marks=pytest.mark.weekly),
    ("texts.parquet", (120, 160, 200, 250, 800)),
]


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux",
    reason="limits the address space to a little more than is in use",
)
@pytest.mark.parametrize(("name", "limits"), LIMITS)
def test_lack_of_memory_is_an_error_and_no_crash(tmp_path, name, limits):
    """At every limit the run is complete, or one line says that memory ran out."""
    source, out = tmp_path / name, tmp_path / "out.jsonl"
    if name == "sets.jsonl":
        source.write_text(
            json.dumps({"text": list(range(10**9, 10**9 + 600_000))}) + "\n"
        )
    else:
        pq.write_table(pa.table({"text": ["a"], "more": ['"\n' * 12_000_000]}), source)
    endings = set()
    for megabytes in limits:
        done = subprocess.run(
            [sys.executable, "-c", LITTLE_MEMORY, str(megabytes), "dedup", source, "-o", out, "--threads", "1", "-q",
             "--overwrite"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        endings.add(done.returncode)
        assert done.returncode in (0, 1), (megabytes, done.returncode, done.stderr)
        if done.returncode:
            assert re.fullmatch(
                "lshfast: error: .*(out of memory|malloc|alloc|thread).*\n", done.stderr
            ), done.stderr
    assert endings == {0, 1}
