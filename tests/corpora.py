"""What the tests of readers and writers share: rows in every format, made and read by other means than lshfast's."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lshfast._io import Batch, Corpus, DataError, open_corpus
from lshfast.kernels.text import Texts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = [
    "plain",
    "",
    'two\nlines, "quoted"',
    "Größe 漢字 😀",
    "nul \0 inside",
    "\ufeffmark",
    "x" * 5000,
    " ",
]
ROWS = [
    {"key": f"k{i}", "text": text, "year": 2000 + i} for i, text in enumerate(TEXTS)
]
LINE_FORMATS = [
    kind + codec for kind in (".jsonl", ".csv") for codec in ("", ".gz", ".zst")
]
LINE_FORMATS += [".jsonl.bz2", ".csv.xz"]
FORMATS = [*LINE_FORMATS, ".parquet"]
HIDDEN = "\ue000"  # in the place of NUL, which the csv module of Python 3.10 refuses
BATCH_BYTES = [1, 100, 8 << 20]


def pack(data: bytes, path: Path) -> Path:
    """Write bytes, compressed as the name says."""
    if path.suffix in (".gz", ".bz2", ".xz"):
        data = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[path.suffix].compress(data)
    elif path.suffix == ".zst":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(data)
        data = sink.getvalue().to_pybytes()
    path.write_bytes(data)
    return path


def unpack(path: Path) -> bytes:
    """Read a whole file, decompressed as the name says."""
    if path.suffix in (".gz", ".bz2", ".xz"):
        return {".gz": gzip, ".bz2": bz2, ".xz": lzma}[path.suffix].decompress(
            path.read_bytes()
        )
    if path.suffix == ".zst":
        with pa.CompressedInputStream(
            pa.BufferReader(path.read_bytes()), "zstd"
        ) as stream:
            return bytes(stream.read())
    return path.read_bytes()


def make(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format that the name says, by other means than lshfast's."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
        return path
    if ".csv" in path.name:
        out = io.StringIO()
        csv.writer(out).writerow(rows[0])
        csv.writer(out).writerows(
            [str(v).replace("\0", HIDDEN) for v in row.values()] for row in rows
        )
        return pack(out.getvalue().replace(HIDDEN, "\0").encode(), path)
    return pack(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(),
        path,
    )


def load(path: Path) -> list[dict[str, Any]]:
    """Read rows back, by other means than lshfast's."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    text = unpack(path).decode()
    if ".csv" in path.name:
        rows = list(
            csv.reader(io.StringIO(text.replace("\0", HIDDEN), newline=""), strict=True)
        )
        return [
            dict(zip(rows[0], (v.replace(HIDDEN, "\0") for v in row), strict=True))
            for row in rows[1:]
        ]
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read(inputs: Any, **options: Any) -> tuple[Corpus, list[str]]:
    """Run pass one; the texts of all batches."""
    corpus = open_corpus(inputs, **options)
    texts = [text for batch in corpus.batches() for text in texts_of(batch)]
    return corpus, texts


def texts_of(batch: Batch) -> list[str]:
    """Return the texts of a batch as str."""
    return [text.decode() for text in Texts(batch.texts)]


def keep_all(corpus: Corpus) -> Any:
    return np.ones(corpus.accepted, bool)


def bad_row(path: Path, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    return caught.value


# The words of `similar_texts`.
WORDS = [f"word{number}" for number in range(3000)]


def similar_texts(rng: random.Random, n: int) -> list[str]:
    """Return texts with copies, texts that differ in a word, chains of them, and empty texts."""
    texts: list[str] = []
    for number in range(n):
        kind = rng.random()
        if texts and kind < 0.2:
            words = rng.choice(texts).split()
        elif texts and kind < 0.5:
            words = rng.choice(texts).split()
            words[rng.randrange(len(words)) if words else 0 :][:1] = [f"own{number}é"]
            if words:
                words[rng.randrange(len(words))] = f"other{number}é"
        else:
            words = rng.choices(WORDS, k=rng.choice([0, 60, 80, 90, 150]))
        texts.append(" ".join(words))
    return texts
