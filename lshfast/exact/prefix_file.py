"""Files of a PrefixIndex: keys and sets.

The tables are built when a file is opened, so nothing has to be trusted. Two sections follow the
header: the keys, as in other files of entries; offsets (int64, n + 1) and tokens (uint64, m,
different ones in each set). In version 1 the keys are ascending numbers in the section of the sets.
file-format.md defines the format.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from lshfast._common.container import Container, named_format
from lshfast._common.errors import FormatError
from lshfast.index.entry_file import KINDS, packed_keys, unpacked_keys
from lshfast.index.keys import Column, listed
from lshfast.join.thresholds import MEASURES, Measure, Threshold, rule_of
from lshfast.tokens import TokenSets

# The kind of sets in an index. With a given seed, "any": TokenSets and other sets were hashed with
# one seed. With a random one, sets that the index hashed and TokenSets have nothing in common.
Held: TypeAlias = Literal["any", "nothing", "sets", "TokenSets"]
HELD: tuple[Held, ...] = ("any", "nothing", "sets", "TokenSets")

# The number of the measure, whether the threshold is a fraction, the numbers of the kind of sets
# and of the kind of keys; the threshold; the seed; n; m; the bytes of the keys.
FILE = Container(
    b"LSHFPRE\0", (2,), "IIII8s8sQQQQ", "a PrefixIndex of lshfast", ("keys", "sets"), 8
)

# In version 1, the file has no kind of keys, and before n the number of ids ever used. The keys are
# below it.
NUMBERED = Container(FILE.magic, (1,), "III8s8sQQQQ", FILE.name, ("sections",), 8)
MOST_IDS = 2**62

_START = struct.Struct("<8sI")
_TERM = struct.Struct("<Q")


@dataclass(frozen=True)
class SavedSets:
    """The content of a file."""

    measure: Measure
    threshold: Threshold
    held: Held
    seed: int
    keys: Column
    sets: TokenSets


def write_sets(path: str | os.PathLike[str], saved: SavedSets, overwrite: bool) -> None:
    """Write a file that `read_sets` reads."""
    kind, keys = packed_keys(saved.keys)
    offsets = np.ascontiguousarray(saved.sets.offsets, "<i8")
    tokens = np.ascontiguousarray(saved.sets.tokens, "<u8")
    is_fraction = isinstance(saved.threshold, Fraction)
    if isinstance(saved.threshold, Fraction):
        terms = (
            _TERM.pack(saved.threshold.numerator),
            _TERM.pack(saved.threshold.denominator),
        )
    else:
        terms = (struct.pack("<d", saved.threshold), bytes(8))
    fields = (
        MEASURES.index(saved.measure),
        is_fraction,
        HELD.index(saved.held),
        kind,
        *terms,
        saved.seed,
        len(saved.keys),
        len(saved.sets.tokens),
        len(keys),
    )
    FILE.write(path, fields, [[keys], [offsets, tokens]], overwrite)


def read_sets(path: str | os.PathLike[str]) -> SavedSets:
    """Read a file and check all of it; errors name the file and the reason."""
    with open(path, "rb") as file:
        numbered = file.read(_START.size) == _START.pack(NUMBERED.magic, 1)
    if numbered:
        (measure, fraction, held_number, *terms, seed, next_id, n, m), (data,) = (
            NUMBERED.read(path, _numbered_sizes)
        )
        packed = data[: 8 * n]
        data = data[8 * n :]
        kind_number = 0
    else:
        (
            (measure, fraction, held_number, kind_number, *terms, seed, n, m, _),
            (packed, data),
        ) = FILE.read(path, _sizes)
    offsets, tokens = np.split(data.view("<u8").astype(np.uint64), [n + 1])
    with named_format(path):
        keys = unpacked_keys(packed, kind_number, n)
        try:
            threshold = _threshold(terms, fraction)
            rule_of(MEASURES[measure], threshold)
            sets = TokenSets(offsets.view(np.int64), tokens)
        except ValueError as error:
            raise FormatError(str(error)) from None
        if numbered and n:
            in_range = keys[0] >= 0 and keys[-1] < next_id
            if not in_range or (np.diff(keys) <= 0).any():
                raise FormatError(f"ids: they must rise from 0 to below {next_id}")
        if len(set(listed(keys))) < n:
            raise FormatError("keys: one occurs twice")
        covers_tokens = sets.offsets[0] == 0 and sets.offsets[-1] == m
        if not covers_tokens or len(sets.distinct().tokens) != m:
            raise FormatError(
                "sets: they must cover all tokens, with different ones in each set"
            )
    return SavedSets(MEASURES[measure], threshold, HELD[held_number], seed, keys, sets)


def _sizes(
    measure: int, fraction: int, held_number: int, kind: int, *counts: Any
) -> list[int]:
    *_, n, m, key_bytes = counts
    if (
        measure >= len(MEASURES)
        or fraction > 1
        or held_number >= len(HELD)
        or kind >= len(KINDS)
    ):
        raise FormatError("header: values out of range")
    return [key_bytes, 8 * (n + 1 + m)]


def _numbered_sizes(
    measure: int, fraction: int, held_number: int, *counts: Any
) -> list[int]:
    *_, next_id, n, m = counts
    _sizes(measure, fraction, held_number, 0, n, m, 8 * n)
    if next_id > MOST_IDS:
        raise FormatError("header: values out of range")
    return [8 * (2 * n + 1 + m)]


def _threshold(terms: list[bytes], fraction: int) -> Threshold:
    if not fraction:
        return float(struct.unpack("<d", terms[0])[0])
    p, q = (_TERM.unpack(term)[0] for term in terms)
    if q == 0:
        raise ValueError("threshold: its denominator is 0")
    return Fraction(p, q)
