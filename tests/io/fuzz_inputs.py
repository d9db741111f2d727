"""Read mutated inputs in both passes: python -m tests.io.fuzz_inputs FOLDER SEED ROUNDS.

A process of its own, since a damaged Parquet file may end it. The number of each round is printed before it, so that
the one that ended the process is known. Whatever happens is rows, or a DataError that names the file.
"""

from __future__ import annotations

import io
import json
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lshfast._io import DataError, open_corpus, write_rows
from tests.corpora import pack

KINDS = [
    ".parquet",
    ".arrow",
    ".feather",
    ".jsonl",
    ".csv",
    ".jsonl.gz",
    ".csv.zst",
    ".csv.bz2",
    ".jsonl.xz",
    ".npy",
    ".npz",
]


def sample(kind: str, chance: random.Random) -> bytes:
    """Make the bytes of a small input."""
    rows = [
        {
            "id": f"k{i}",
            "text": f"Größe {i} " * chance.randrange(9),
            "n": [i] * chance.randrange(3),
            "é": {"a": i},
        }
        for i in range(chance.randrange(1, 9))
    ]
    if kind in (".parquet", ".arrow", ".feather"):
        sink = io.BytesIO()
        table = pa.Table.from_pylist(rows)
        if chance.random() < 0.5:
            table = table.set_column(1, "text", table["text"].dictionary_encode())
        if kind != ".parquet":
            options = pa.ipc.IpcWriteOptions(
                compression=chance.choice([None, "lz4", "zstd"])
            )
            new = pa.ipc.new_stream if kind == ".arrow" else pa.ipc.new_file
            with new(sink, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=3)
            return sink.getvalue()
        pq.write_table(
            table,
            sink,
            row_group_size=3,
            compression=chance.choice(["none", "snappy", "zstd"]),
        )
        return sink.getvalue()
    if kind in (".npy", ".npz"):
        sink = io.BytesIO()
        texts = np.array([row["text"] for row in rows])
        if kind == ".npy":
            np.save(sink, texts)
            return sink.getvalue()
        method = chance.choice(
            [
                zipfile.ZIP_STORED,
                zipfile.ZIP_DEFLATED,
                zipfile.ZIP_LZMA,
                zipfile.ZIP_BZIP2,
            ]
        )
        with zipfile.ZipFile(sink, "w", method) as archive:
            for name, column in (
                ("text", texts),
                ("id", np.array([row["id"] for row in rows])),
            ):
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, column)
        return sink.getvalue()
    if ".csv" in kind:
        return b"id,text\n" + b"".join(
            b'%d,"%s"\r\n' % (i, row["text"].encode()) for i, row in enumerate(rows)
        )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Change, cut out or repeat some bytes."""
    out = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        at = (
            chance.randrange(len(out))
            if chance.random() < 0.4
            else len(out) - 1 - int(chance.random() ** 2 * len(out))
        )
        what = chance.randrange(5)
        if what < 3:
            out[at] = chance.choice(
                [0, 1, 0x7F, 0x80, 0xFF, out[at] ^ 1 << chance.randrange(8)]
            )
        elif what == 3:
            del out[at : at + chance.randrange(1, 9)]
        else:
            out[at:at] = out[at : at + chance.randrange(1, 9)]
        out = out or bytearray(b"\n")
    return bytes(out)


def attempt(path: Path, options: dict[str, Any]) -> str:
    """Read a file, and write its rows in every format; return what went through."""
    try:
        corpus = open_corpus(path, **options)
        for _ in corpus.batches():
            pass
    except DataError as error:
        if error.path != str(path):
            raise
        return "refused"
    done = "read"
    for kind in (".parquet", ".jsonl", ".csv"):
        out = path.parent / f"out{kind}"
        try:
            write_rows(corpus, out, keep=np.ones(corpus.accepted, bool), overwrite=True)
            done += kind
        except DataError as error:
            if error.path not in (str(path), str(out)):
                raise
    return done


def main(folder: Path, seed: int, rounds: int) -> None:
    for number in range(rounds):
        print(number, flush=True)
        chance = random.Random(f"{seed}.{number}")
        kind = chance.choice([".parquet", ".parquet", *KINDS])
        data = sample(kind, chance)
        path = folder / f"a{kind}"
        if chance.random() < 0.5 or kind in (".parquet", ".arrow", ".feather"):
            pack(data, path)
            path.write_bytes(mutated(path.read_bytes(), chance))
        else:
            pack(mutated(data, chance), path)
        options: dict[str, Any] = {"on_error": chance.choice(["stop", "skip"])}
        options["output"] = chance.choice([None, "jsonl", "csv", "parquet"])
        options["max_row_bytes"] = chance.choice([100, 1 << 28])
        if chance.random() < 0.5:
            options["id_column"] = "id"
        print(attempt(path, options))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
