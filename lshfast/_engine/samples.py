"""Samples of the rows of inputs that are not read as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np

from lshfast._common.types import Int64Array
from lshfast._engine.inputs import Inputs
from lshfast._io import Corpus
from lshfast._io.files import File
from lshfast._io.lines import is_plain
from lshfast._io.sources import LocalFile
from lshfast.kernels.text import Texts

# Bytes of a place: the sample has the lines that begin in it.
PLACE_BYTES = 1 << 20

# Places whose lines are in files at a time.
PLACES_AT_ONCE = 64

# Files whose first bytes are looked at, and files whose beginnings are read.
MOST_CHECKED = 1000
MOST_FILES = 10_000
MOST_REMOTE_FILES = 256

UTF8_MARK = b"\xef\xbb\xbf"


def has_places(corpus: Corpus) -> bool:
    """Return whether any line can be read by its place: local, uncompressed JSONL in UTF-8."""
    return not corpus.held and all(
        map(is_plain, corpus.files[:: len(corpus.files) // MOST_CHECKED + 1])
    )


def place_count(corpus: Corpus) -> int:
    """Return the number of places in all inputs, one behind the other."""
    return -(-corpus.total_bytes // PLACE_BYTES)


def bytes_of(corpus: Corpus, places: Int64Array) -> int:
    """Return how many bytes these places have."""
    return int(np.minimum(PLACE_BYTES, corpus.total_bytes - places * PLACE_BYTES).sum())


def lines_of(corpus: Corpus, places: Int64Array) -> Iterator[bytes]:
    """Yield the lines that begin in each of some places, in ascending order."""
    ends = np.cumsum([file.size for file in corpus.files], dtype=np.int64)
    for place in places.tolist():
        begin = place * PLACE_BYTES
        lines = []
        for index in range(int(np.searchsorted(ends, begin, side="right")), len(ends)):
            file = corpus.files[index]
            start = int(ends[index]) - corpus.files[index].size
            if start >= begin + PLACE_BYTES:
                break
            lines.append(
                _lines_from(
                    file,
                    max(0, begin - start),
                    min(file.size, begin + PLACE_BYTES - start),
                )
            )
        yield b"".join(lines)


def _lines_from(file: File, begin: int, end: int) -> bytes:
    """Return the lines of a file that begin in begin..end, as whole lines."""
    with closing(file.source.open()) as stream:
        stream.seek(max(0, begin - 1))
        data = stream.read(end - max(0, begin - 1))
        if begin:  # the line before may end with the byte before
            data = data[data.find(b"\n") + 1 or len(data) :]
        pieces = [data]
        size = len(data) - (data.rfind(b"\n") + 1)
        while (
            pieces[-1]
            and not pieces[-1].endswith(b"\n")
            and size <= file.layout.max_row_bytes
        ):
            piece = stream.read(PLACE_BYTES)
            pieces.append(piece[: piece.find(b"\n") + 1 or len(piece)])
            size += len(pieces[-1])
    lines = b"".join(pieces)
    lines = lines if begin else lines.removeprefix(UTF8_MARK)
    return lines + b"\n" if lines and not lines.endswith(b"\n") else lines


def corpora_of_places(
    corpus: Corpus, places: Int64Array, folder: str
) -> Iterator[tuple[Int64Array, Corpus]]:
    """Yield some places at a time, and a corpus of which each file has the lines of one."""
    pieces = lines_of(corpus, places)
    for at in range(0, len(places), PLACES_AT_ONCE):
        batch = places[at : at + PLACES_AT_ONCE]
        paths = [
            os.path.join(folder, f"place-{number}.jsonl")
            for number in range(len(batch))
        ]
        for path in paths:
            with open(path, "wb") as out:
                out.write(next(pieces))
        yield batch, corpus_of(paths, corpus)


def corpus_of(paths: list[str], corpus: Corpus) -> Corpus:
    """Open files of lines of a corpus."""
    return Corpus(
        corpus.layout,
        [replace(file, layout=corpus.layout) for file in Inputs(paths).open().files],
    )


class Beginning:
    """The first texts of a file, about `nbytes`, in batches.

    Attributes
    ----------
    source_bytes : int
        The bytes of the file that they were in, after they have been read.
    complete : bool
        Whether these are all texts of the file.
    """

    def __init__(self, corpus: Corpus, file: int, nbytes: int) -> None:
        layout = replace(
            corpus.layout, batch_bytes=min(nbytes, corpus.layout.batch_bytes)
        )
        self._corpus = Corpus(layout, [replace(corpus.files[file], layout=layout)])
        self._nbytes = nbytes
        self.source_bytes: int = 0
        self.complete: bool = False

    def __iter__(self) -> Iterator[Texts]:
        remaining_bytes = self._nbytes
        for batch in self._corpus.batches():
            if remaining_bytes <= 0:
                return
            texts = Texts(batch.texts)
            self.source_bytes += batch.source_bytes
            remaining_bytes -= texts.nbytes
            yield texts
        self.complete = True


def files_in_random_order(corpus: Corpus) -> list[int]:
    """Return the numbers of the files whose beginnings are sampled."""
    local = all(isinstance(file.source, LocalFile) for file in corpus.files)
    order: list[int] = np.random.default_rng(1).permutation(len(corpus.files)).tolist()
    return order[: MOST_FILES if local else MOST_REMOTE_FILES]
