"""Files that cannot be read end a command in one line that names the file, whatever is wrong with them."""

import bz2
import gzip
import io
import lzma
import pickle
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.commands import run

VECTORS = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def header(text, version=(1, 0), data=b""):
    """Return an .npy file with this text as its header."""
    text = text.encode().ljust(117) + b"\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text + data


def shape(value, descr="<f4", data=b""):
    return header(
        f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {value}, }}", data=data
    )


def npz(data=None, method=zipfile.ZIP_DEFLATED, flag=0, name="text.npy"):
    """Return an archive of one array; `flag` is set in both headers of the member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, npy(VECTORS) if data is None else data)
    out = bytearray(stream.getvalue())
    out[out.find(b"PK\3\4") + 6] |= flag
    out[out.find(b"PK\1\2") + 8] |= flag
    return bytes(out)


def changed(data, place, more):
    """Return bytes with others at a place, which is counted from the end if it is negative."""
    place %= len(data)
    return data[:place] + more + data[place + len(more) :]


def packed(data, suffix):
    if suffix == "zst":
        return pa.compress(data, codec="zstd", asbytes=True)
    return {"gz": gzip, "bz2": bz2, "xz": lzma}[suffix].compress(data)


def parquet():
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": ["a b c", "d e f"] * 20}), stream)
    return stream.getvalue()


def arrow():
    stream = io.BytesIO()
    table = pa.table({"text": ["a b c", "d e f"] * 20})
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


LINES = b'{"text": "a b c"}\n' * 50
DAMAGED = {
    "an open bracket.npy": header("("),
    "an indent.npy": header("  {'descr'"),
    "a null.npy": header("\0"),
    "deep.npy": header("[" * 20_000 + "]" * 20_000),
    "a long header.npy": header("{'descr': '<f4', 'x': '" + "a" * 60_000 + "'}"),
    "a long header of version 2.npy": header("{'descr': '<f4', 'x': '" + "a" * 600_000 + "'}", (2, 0)),
    "a header of 4 GB.npy": b"\x93NUMPY\2\0\xff\xff\xff\xff" + b" " * 99,
    "code.npy": header("__import__('os').getpid()"),
    "a long number.npy": shape(f"({'9' * 5000}, 4)"),
    "negative rows.npy": shape("(-5, 4)"),
    "negative rows of numbers.npy": shape("(-5,)"),
    "a negative width.npy": shape("(5, -4)"),
    "two negative sizes.npy": shape("(-5, -4)"),
    "rows beyond int64.npy": shape("(2**63, 4)".replace("2**63", str(2**63))),
    "bytes beyond int64.npy": shape(f"({2**62}, 8)"),
    "a wide row.npy": shape(f"(5, {2**40})"),
    "no bytes.npy": shape(f"({2**62},)", "|S0"),
    "a long string.npy": shape("(5,)", "|S2147483647", b"a" * 100),
    "an unknown type.npy": shape("(2, 4)", "(,)f4", bytes(99)),
    "an object.npy": npy(np.array([{1}, "a"], object), allow_pickle=True),
    "cut.npy": npy(VECTORS)[:-7],
    "a version.npy": changed(npy(VECTORS), 6, b"\x09"),
    "encrypted.npz": npz(flag=1),
    "bad deflate.npz": changed(npz(), 60, b"\xff" * 30),
    "bad lzma.npz": changed(npz(method=zipfile.ZIP_LZMA), 55, b"\xff" * 60),
    "bad bzip2.npz": changed(npz(method=zipfile.ZIP_BZIP2), 55, b"\xff" * 60),
    "cut.npz": npz()[:-30],
    "an object.npz": npz(npy(np.array([{1}], object), allow_pickle=True)),
    "an open bracket.npz": npz(header("(")),
    "no array.npz": npz(name="text.txt"),
    "a pickle.npy": pickle.dumps([1, 2]),
    "a workbook.csv": npz(name="xl/workbook.xml"),
    "a workbook.xlsx": npz(name="xl/workbook.xml"),
    "cut.parquet": parquet()[:-5],
    "changed.parquet": changed(parquet(), -12, b"\xff" * 4),
    "text.parquet": b"hello",
    "cut.arrow": arrow()[:-9],
    "changed.arrow": changed(arrow(), -30, b"\xff" * 12),
    "text.arrow": b"hello, this is text",
    **{f"cut.jsonl.{suffix}": packed(LINES, suffix)[:-9] for suffix in ("gz", "zst", "bz2", "xz")},
    **{f"changed.csv.{suffix}": changed(packed(b"text\n" + LINES, suffix), 25, b"\xff" * 8)
       for suffix in ("gz", "zst", "bz2", "xz")},
    **{f"plain.jsonl.{suffix}": LINES for suffix in ("gz", "zst", "bz2", "xz")},
    "compressed.jsonl": gzip.compress(LINES)[:-9],
    "lz4.jsonl.lz4": b"\x04\x22\x4d\x18" + bytes(30),
    "not UTF-8.jsonl": b'{"text": "\xff"}\n',
    "not UTF-8.csv": b"text\n\xff\n",
    "not UTF-8.tsv": b"text\n\xff\n",
    "not UTF-8.txt": b"\xff\xfe\xfa",
    "deep.jsonl": b'{"text": "a", "b": ' + b"[" * 100_000 + b"\n",
    "no JSON.jsonl": b"<html>\n",
}  # fmt: skip


def message_of(*arguments):
    """Run a command that fails; return the line that it says."""
    result = run(*arguments)
    assert result.exit_code in (1, 2), result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in lines[0]
    return lines[0]


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_input(tmp_path, monkeypatch, name, on_error):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(DAMAGED[name])
    arguments = [
        "dedup",
        name,
        "-o",
        "out.jsonl",
        "--on-error",
        on_error,
        "--threads",
        "1",
        "-q",
    ]
    if name.endswith(("npy", "npz")):
        arguments += ["--as", "vector"]
    if on_error == "skip":
        result = run(*arguments)
        if result.exit_code == 0:  # the rows alone are bad
            assert name in (tmp_path / "out.jsonl.rejects.jsonl").read_text()
            return
    message = message_of(*arguments)
    assert message.startswith(f"lshfast: error: {name}:")
    assert len(message) < 600
    assert "0x7f" not in message  # no address of an object of Python
    assert not (tmp_path / "out.jsonl").exists()


def test_an_archive_of_arrays_is_not_taken_for_a_workbook(tmp_path):
    path = tmp_path / "encrypted.npz"
    path.write_bytes(npz(flag=1))
    message = message_of("dedup", path, "-o", tmp_path / "out.jsonl")
    assert "encrypted" in message
    assert "workbook" not in message


def test_a_bad_row_is_named_with_its_row(tmp_path):
    vectors = VECTORS.copy()
    vectors[3, 2] = np.nan
    path = tmp_path / "nan.npy"
    path.write_bytes(npy(vectors))
    assert "nan.npy: row 4: coordinate 2 is nan" in message_of(
        "dedup", path, "-o", tmp_path / "out.jsonl"
    )


@pytest.mark.parametrize(
    "data", [b"", b"LSHFAST\0", b"hello", bytes(200), b"PAR1" + bytes(50)]
)
@pytest.mark.parametrize("command", [
    ["index", "info", "PATH"], ["index", "query", "PATH", "rows.jsonl"], ["index", "add", "PATH", "rows.jsonl"],
    ["dedup", "rows.jsonl", "-o", "out.jsonl", "--against", "PATH"],
    ["dedup", "rows.jsonl", "-o", "out.jsonl", "--clusters", "PATH"],
    ["records", "dedup", "PATH", "-o", "out.csv"], ["genomes", "PATH", "-o", "out.csv"],
    ["explain", "a", "rows.jsonl", "--removed", "PATH"],
])  # fmt: skip
def test_other_files_of_commands(tmp_path, monkeypatch, data, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(LINES)
    name = (
        "bad.parquet"
        if {"--clusters", "records"} & set(command)
        else "bad.fa"
        if command[0] == "genomes"
        else "bad"
    )
    (tmp_path / name).write_bytes(data)
    message = message_of(*[name if part == "PATH" else part for part in command])
    assert name in message
