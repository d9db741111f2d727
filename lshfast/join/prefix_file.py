"""Files of a PrefixIndex: its sets. The tables are built when a file is opened, so nothing in it has to be trusted.

A header of 88 bytes, little-endian: the magic number (8 bytes); the version, the number of the measure, whether the
threshold is a fraction, and the number of what it holds (uint32 each); the threshold as a float64 and zero, or its
numerator and denominator (uint64 each); the seed; the number of ids ever used; n; m (uint64 each); the checksum of the
sections; the checksum of the header before it. Then the sections: ids (int64, n, ascending), offsets (int64, n + 1) and
tokens (uint64, m, different ones in each set). Checksums are those of `lshfast.kernels.checksum`.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import BinaryIO, Literal, TypeAlias

import numpy as np

from lshfast.common.atomic_files import atomic_file, printable
from lshfast.common.errors import FormatError
from lshfast.common.types import Int64Array
from lshfast.join.thresholds import MEASURES, Measure, Threshold, rule_of
from lshfast.kernels.checksum import checksum
from lshfast.tokens import TokenSets

MAGIC, VERSION = b"LSHFPRE\0", 1

# What an index holds. With a seed that was given, "any": TokenSets and other sets were hashed with one seed. With a
# random one, sets that the index hashed and TokenSets have nothing in common.
Held: TypeAlias = Literal["any", "nothing", "sets", "TokenSets"]
HELD: tuple[Held, ...] = "any", "nothing", "sets", "TokenSets"

_HEAD = struct.Struct("<8sIIII8s8sQQQQQ")
_SUM = struct.Struct("<Q")
HEADER_BYTES = _HEAD.size + _SUM.size
MOST_IDS = 2**62


@dataclass(frozen=True)
class SavedSets:
    """What a file holds."""

    measure: Measure
    threshold: Threshold
    held: Held
    seed: int
    next_id: int
    ids: Int64Array
    sets: TokenSets


def write_sets(path: str | os.PathLike[str], saved: SavedSets, overwrite: bool) -> None:
    """Write a file that `read_sets` reads."""
    sections = [
        np.ascontiguousarray(saved.ids, "<i8"),
        np.ascontiguousarray(saved.sets.offsets, "<i8"),
        np.ascontiguousarray(saved.sets.tokens, "<u8"),
    ]
    fraction = isinstance(saved.threshold, Fraction)
    if isinstance(saved.threshold, Fraction):
        terms = _SUM.pack(saved.threshold.numerator), _SUM.pack(saved.threshold.denominator)
    else:
        terms = struct.pack("<d", saved.threshold), bytes(8)
    head = _HEAD.pack(
        MAGIC, VERSION, MEASURES.index(saved.measure), fraction, HELD.index(saved.held), *terms, saved.seed,
        saved.next_id, len(saved.ids), len(saved.sets.tokens), checksum(*sections),
    )  # fmt: skip
    with atomic_file(path, overwrite) as file:
        file.write(head + _SUM.pack(checksum(head)))
        for section in sections:
            file.write(section.data)


def read_sets(path: str | os.PathLike[str]) -> SavedSets:
    """Read a file and check all of it; errors name the file and the reason."""
    try:
        with open(path, "rb") as file:
            return _read(file.read(HEADER_BYTES), os.fstat(file.fileno()).st_size, file)
    except FormatError as error:
        raise FormatError(f"{printable(os.fspath(path))}: {error}") from None


def _read(head: bytes, nbytes: int, file: BinaryIO) -> SavedSets:
    if head[: len(MAGIC)] != MAGIC:
        raise FormatError("header: not a PrefixIndex of lshfast")
    if len(head) < HEADER_BYTES or _SUM.unpack(head[_HEAD.size :])[0] != checksum(head[: _HEAD.size]):
        raise FormatError("header: damaged")
    _, version, measure, fraction, held, *terms, seed, next_id, n, m, own_sum = _HEAD.unpack(head[: _HEAD.size])
    if version != VERSION:
        raise FormatError(f"header: version {version}; this lshfast reads version {VERSION}")
    if measure >= len(MEASURES) or fraction > 1 or held >= len(HELD) or next_id > MOST_IDS:
        raise FormatError("header: values out of range")
    if nbytes != HEADER_BYTES + 8 * (2 * n + 1 + m):
        raise FormatError(f"the file has {nbytes} bytes, not {HEADER_BYTES + 8 * (2 * n + 1 + m)}")
    sections = [np.fromfile(file, dtype, count) for dtype, count in (("<i8", n), ("<i8", n + 1), ("<u8", m))]
    if [len(section) for section in sections] != [n, n + 1, m] or checksum(*sections) != own_sum:
        raise FormatError("sections: damaged")
    try:
        threshold = _threshold(terms, fraction)
        rule_of(MEASURES[measure], threshold)
        sets = TokenSets(sections[1], sections[2])
    except ValueError as error:
        raise FormatError(str(error)) from None
    ids = sections[0].astype(np.int64)
    if n and (ids[0] < 0 or ids[-1] >= next_id or (np.diff(ids) <= 0).any()):
        raise FormatError(f"ids: they must rise from 0 to below {next_id}")
    if sets.offsets[0] != 0 or sets.offsets[-1] != m or len(sets.distinct().tokens) != m:
        raise FormatError("sets: they must cover all tokens, with different ones in each set")
    return SavedSets(MEASURES[measure], threshold, HELD[held], seed, next_id, ids, sets)


def _threshold(terms: list[bytes], fraction: int) -> Threshold:
    if not fraction:
        return float(struct.unpack("<d", terms[0])[0])
    p, q = (_SUM.unpack(term)[0] for term in terms)
    if q == 0:
        raise ValueError("threshold: its denominator is 0")
    return Fraction(p, q)
