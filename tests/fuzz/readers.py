"""Files of strangers, read in both passes; each is written in one of the formats.

Whatever is read gives rows, or a DataError that names the file. Texts are compared with those of json, csv and pyarrow,
where these read the same file.

An input is a byte with the options of reading, and the file behind it.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lshfast._io import DataError, open_corpus, write_rows
from tests.corpora import pack, unpack
from tests.fuzz.damage import damaged

OUTPUTS = [".parquet", ".jsonl", ".csv"]
COMPRESSED = [".jsonl.gz", ".csv.zst", ".csv.bz2", ".jsonl.xz"]
ENCODINGS = ["utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis"]

# The bits of the first byte of an input.
SKIP, OUTPUT, SHORT, IDS = 1, 2, 8, 16
MOST_OPTIONS = 32


def rows_of(chance: Random) -> list[dict[str, Any]]:
    return [
        {
            "id": f"k{i}",
            "text": f"Größe {i} " * chance.randrange(9),
            "n": [i] * chance.randrange(3),
            "é": {"a": i},
        }
        for i in range(chance.randrange(1, 9))
    ]


# ---- small files ----


def jsonl_file(chance: Random) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows_of(chance))


def csv_file(chance: Random) -> bytes:
    return b"id,text\n" + b"".join(
        b'%d,"%s"\r\n' % (i, row["text"].encode())
        for i, row in enumerate(rows_of(chance))
    )


def arrow_table(chance: Random) -> pa.Table:
    table = pa.Table.from_pylist(rows_of(chance))
    if chance.random() < 0.5:
        table = table.set_column(1, "text", table["text"].dictionary_encode())
    return table


def parquet_file(chance: Random) -> bytes:
    sink = io.BytesIO()
    compression = chance.choice(["none", "snappy", "zstd"])
    pq.write_table(arrow_table(chance), sink, row_group_size=3, compression=compression)
    return sink.getvalue()


def arrow_file(chance: Random, new: Callable[..., Any] = pa.ipc.new_stream) -> bytes:
    sink = io.BytesIO()
    table = arrow_table(chance)
    compression = chance.choice([None, "lz4", "zstd"])
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=3)
    return sink.getvalue()


def feather_file(chance: Random) -> bytes:
    return arrow_file(chance, pa.ipc.new_file)


def npy_file(chance: Random) -> bytes:
    sink = io.BytesIO()
    np.save(sink, np.array([row["text"] for row in rows_of(chance)]))
    return sink.getvalue()


def npz_file(chance: Random) -> bytes:
    sink = io.BytesIO()
    rows = rows_of(chance)
    methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]
    with zipfile.ZipFile(sink, "w", chance.choice(methods)) as archive:
        for name in ("text", "id"):
            with archive.open(f"{name}.npy", "w") as member:
                column = np.array([row[name] for row in rows])
                np.lib.format.write_array(member, column)
    return sink.getvalue()


def word_file(chance: Random) -> bytes:
    import docx

    document = docx.Document()
    for row in rows_of(chance):
        document.add_paragraph(row["text"])
    table = document.add_table(rows=2, cols=2)
    table.cell(0, 0).text = "cell"
    sink = io.BytesIO()
    document.save(sink)
    return sink.getvalue()


def pdf_file(chance: Random) -> bytes:
    """Write a page of text, with objects and their offsets."""
    shown = b" ".join(
        b"(%s) Tj 0 -14 Td" % row["text"].encode("latin-1") for row in rows_of(chance)
    )
    contents = b"BT /F1 12 Tf 20 700 Td %s ET" % shown
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(contents), contents),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return data + trailer % (len(objects) + 1, start)


def seeds_of(make: Callable[[Random], bytes]) -> Callable[[Path], list[bytes]]:
    """Return the seeds of a format: each with other options."""

    def seeds(_: Path) -> list[bytes]:
        chance = Random(0)
        return [bytes([option]) + make(chance) for option in range(0, MOST_OPTIONS, 3)]

    return seeds


def damaged_file(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """Change the options, or else the file."""
    if chance.random() < 0.1 or not data:
        return bytes([chance.randrange(MOST_OPTIONS)]) + data[1:]
    return data[:1] + damaged(data[1:], [other[1:] for other in others], chance)


# ---- reading ----


def options_of(option: int) -> dict[str, Any]:
    output = [None, "jsonl", "csv", "parquet"][option // OUTPUT % 4]
    return {
        "on_error": "skip" if option & SKIP else "stop",
        "output": output,
        "max_row_bytes": 100 if option & SHORT else 1 << 28,
        **({"id_column": "id"} if option & IDS else {}),
    }


def read(path: Path, options: dict[str, Any]) -> list[Any] | None:
    """Read a file, and write its rows in a format that its bytes choose; return its texts, None if it is refused."""
    texts: list[Any] = []
    try:
        corpus = open_corpus(path, **options)
        for batch in corpus.batches():
            texts += batch.strings()
    except DataError as error:
        if error.path != str(path):
            raise
        return None
    suffix = OUTPUTS[zlib.crc32(path.read_bytes()) % len(OUTPUTS)]
    out = path.parent / f"out{suffix}"
    try:
        write_rows(corpus, out, keep=np.ones(corpus.accepted, bool), overwrite=True)
    except DataError as error:
        if error.path not in (str(path), str(out)):
            raise
    return texts


def reading(
    suffix: str, expected: Callable[[bytes], list[Any] | None] | None = None
) -> Callable[[bytes, Path], None]:
    """Return what reads a file of a format; `expected` are texts that must be among those read."""

    def attempt(data: bytes, folder: Path) -> None:
        if not data:
            return
        path = folder / f"a{suffix}"
        path.write_bytes(data[1:])
        options = options_of(data[0])
        texts = read(path, options)
        all_rows = options["output"] is None and not data[0] & SHORT
        if expected is None or texts is None or not all_rows:
            return
        wanted = expected(data[1:])
        remaining = iter(texts)
        if wanted is not None and not all(text in remaining for text in wanted):
            raise AssertionError(f"{texts} without some of {wanted}")

    return attempt


def texts_of_json(data: bytes) -> list[Any]:
    """Return the texts of lines about which parsers agree: objects without names that are repeated."""

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            raise ValueError("a name is repeated")
        return dict(pairs)

    def refused(name: str) -> None:
        raise ValueError(name)

    texts = []
    for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        try:
            row = json.loads(
                line.decode(), object_pairs_hook=object_of, parse_constant=refused
            )
            text = row["text"]
            row["id"].encode()
            json.dumps(row, ensure_ascii=False).encode()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if isinstance(text, str) and "\0" not in text:
            texts.append(text)
    return texts


def texts_of_csv(data: bytes) -> list[Any] | None:
    """Return the texts of a file of which each row has as many fields as the first."""
    try:
        text = data.decode()
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (ValueError, csv.Error):
        return None
    if "\0" in text or not rows or rows[0] != ["id", "text"]:
        return None
    if any(len(row) != 2 or not row[0] for row in rows):
        return None
    ids = [row[0] for row in rows]
    return [row[1] for row in rows[1:]] if len(set(ids)) == len(ids) else None


def texts_of_arrow(data: bytes) -> list[Any] | None:
    """Return the texts of a stream that pyarrow reads and finds valid."""
    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
        column = table["text"].to_pylist()
    except (pa.ArrowException, KeyError, ValueError, OSError):
        return None
    return column if all(isinstance(text, str) for text in column) else None


# ---- compressed data and encodings ----


def compressed_seeds(folder: Path) -> list[bytes]:
    """Return compressed files, each behind the number of its suffix."""
    chance = Random(0)
    seeds = []
    for number, suffix in enumerate(COMPRESSED):
        data = csv_file(chance) if ".csv" in suffix else jsonl_file(chance)
        seeds.append(bytes([number]) + pack(data, folder / f"a{suffix}").read_bytes())
    return seeds


def damaged_compressed(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """Change compressed data, or what is compressed in it."""
    number, content = data[:1], data[1:]
    path = Path(f"a{COMPRESSED[data[0] % len(COMPRESSED)]}")
    if chance.random() < 0.5:
        return number + damaged(content, [other[1:] for other in others], chance)
    return number + repacked(content, path, chance)


def repacked(content: bytes, path: Path, chance: Random) -> bytes:
    """Change what is compressed, if it can be unpacked."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content)
        try:
            plain = unpack(copy)
        except Exception:
            return damaged(content, [], chance)
        return pack(damaged(plain, [], chance), copy).read_bytes()


def try_compressed(data: bytes, folder: Path) -> None:
    if data:
        path = folder / f"a{COMPRESSED[data[0] % len(COMPRESSED)]}"
        path.write_bytes(data[1:])
        read(path, {"on_error": "skip", "id_column": "id"})


def encoded_seeds(_: Path) -> list[bytes]:
    chance = Random(0)
    return [
        bytes([number]) + csv_file(chance).decode().encode(encoding, "replace")
        for number, encoding in enumerate(ENCODINGS)
    ]


def try_encoded(data: bytes, folder: Path) -> None:
    if data:
        path = folder / "a.csv"
        path.write_bytes(data[1:])
        encoding = ENCODINGS[data[0] % len(ENCODINGS)]
        read(path, {"on_error": "skip", "encoding": encoding})
