"""The table of what is fuzzed from Python. ``kernels/`` has a program of C for each further target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz import files, index_files, producers, readers
from tests.fuzz.damage import damaged


class Target(NamedTuple):
    """What an input is, and what is tried with it.

    Attributes
    ----------
    seeds : callable
        Returns valid inputs; it may write files in a folder.
    attempt : callable
        Tries an input in a folder of its own; what it raises is a finding.
    damaged : callable
        Changes an input, given others.
    """

    seeds: Callable[[Path], list[bytes]]
    attempt: Callable[[bytes, Path], None]
    damaged: Callable[[bytes, list[bytes], Random], bytes] = damaged


def reader(
    make: Callable[[Random], bytes],
    suffix: str,
    expected: Callable[[bytes], list[object] | None] | None = None,
) -> Target:
    attempt = readers.reading(suffix, expected)
    return Target(readers.seeds_of(make), attempt, readers.damaged_file)


TARGETS: dict[str, Target] = {
    "jsonl-file": reader(readers.jsonl_file, ".jsonl", readers.texts_of_json),
    "csv-file": reader(readers.csv_file, ".csv", readers.texts_of_csv),
    "parquet-file": reader(readers.parquet_file, ".parquet"),
    "arrow-file": reader(readers.arrow_file, ".arrow", readers.texts_of_arrow),
    "feather-file": reader(readers.feather_file, ".feather"),
    "npy-file": reader(readers.npy_file, ".npy"),
    "npz-file": reader(readers.npz_file, ".npz"),
    "word-file": reader(readers.word_file, ".docx"),
    "pdf-file": reader(readers.pdf_file, ".pdf"),
    "compressed-file": Target(
        readers.compressed_seeds, readers.try_compressed, readers.damaged_compressed
    ),
    "encoded-file": Target(
        readers.encoded_seeds, readers.try_encoded, readers.damaged_file
    ),
    "sequence-file": Target(
        files.sequence_seeds, files.try_sequences, readers.damaged_file
    ),
    "signature-file": Target(files.signature_seeds, files.try_signatures),
    "image-file": Target(files.image_seeds, files.try_image),
    "index-file": Target(index_files.seeds, index_files.try_index, index_files.mutated),
    "own-files": Target(files.own_seeds, files.try_own, files.damaged_own),
    "arrow-producer": Target(producers.seeds, producers.try_arrow),
    "numpy-producer": Target(producers.seeds, producers.try_numpy),
}
