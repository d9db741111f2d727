"""Files of a PrefixIndex: its sets. The tables are built when a file is opened, so nothing in it has to be trusted.

One section follows the header: ids (int64, n, ascending), offsets (int64, n + 1) and tokens (uint64, m, different ones
in each set). docs/file-format.md defines the format.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from lshfast.common.container import Container, named_format
from lshfast.common.errors import FormatError
from lshfast.common.types import Int64Array
from lshfast.join.thresholds import MEASURES, Measure, Threshold, rule_of
from lshfast.tokens import TokenSets

# What an index holds. With a seed that was given, "any": TokenSets and other sets were hashed with one seed. With a
# random one, sets that the index hashed and TokenSets have nothing in common.
Held: TypeAlias = Literal["any", "nothing", "sets", "TokenSets"]
HELD: tuple[Held, ...] = "any", "nothing", "sets", "TokenSets"

# The number of the measure, whether the threshold is a fraction, and the number of what it holds; the threshold; the
# seed; the number of ids ever used; n; m.
FILE = Container(b"LSHFPRE\0", (1,), "III8s8sQQQQ", "a PrefixIndex of lshfast", ("sections",), 8)
MOST_IDS = 2**62

_TERM = struct.Struct("<Q")


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
        terms = _TERM.pack(saved.threshold.numerator), _TERM.pack(saved.threshold.denominator)
    else:
        terms = struct.pack("<d", saved.threshold), bytes(8)
    fields = (
        MEASURES.index(saved.measure), fraction, HELD.index(saved.held), *terms, saved.seed, saved.next_id,
        len(saved.ids), len(saved.sets.tokens),
    )  # fmt: skip
    FILE.write(path, fields, [sections], overwrite)


def read_sets(path: str | os.PathLike[str]) -> SavedSets:
    """Read a file and check all of it; errors name the file and the reason."""
    (measure, fraction, held, *terms, seed, next_id, n, m), (data,) = FILE.read(path, _sizes)
    numbers, offsets, tokens = np.split(data.view("<u8").astype(np.uint64), [n, 2 * n + 1])
    ids = numbers.view(np.int64)
    with named_format(path):
        try:
            threshold = _threshold(terms, fraction)
            rule_of(MEASURES[measure], threshold)
            sets = TokenSets(offsets.view(np.int64), tokens)
        except ValueError as error:
            raise FormatError(str(error)) from None
        if n and (ids[0] < 0 or ids[-1] >= next_id or (np.diff(ids) <= 0).any()):
            raise FormatError(f"ids: they must rise from 0 to below {next_id}")
        if sets.offsets[0] != 0 or sets.offsets[-1] != m or len(sets.distinct().tokens) != m:
            raise FormatError("sets: they must cover all tokens, with different ones in each set")
    return SavedSets(MEASURES[measure], threshold, HELD[held], seed, next_id, ids, sets)


def _sizes(measure: int, fraction: int, held: int, *rest: Any) -> list[int]:
    *_, next_id, n, m = rest
    if measure >= len(MEASURES) or fraction > 1 or held >= len(HELD) or next_id > MOST_IDS:
        raise FormatError("header: values out of range")
    return [8 * (2 * n + 1 + m)]


def _threshold(terms: list[bytes], fraction: int) -> Threshold:
    if not fraction:
        return float(struct.unpack("<d", terms[0])[0])
    p, q = (_TERM.unpack(term)[0] for term in terms)
    if q == 0:
        raise ValueError("threshold: its denominator is 0")
    return Fraction(p, q)
