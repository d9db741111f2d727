"""Files of a HammingIndex: a header, the keys, and the codes; blocks are made again when a file is opened.

    0     magic, version, kind of the keys, bits, radius; number of entries, and bytes of the keys; checksums of the
          keys, of the codes, and of the header before it
    128   keys: int64 (n,); or of strs, int64 (n + 1,) places in the UTF-8 bytes that follow
    .     zeros up to a multiple of 64
    .     codes: uint64 (n, words)

All numbers are little-endian.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lshfast.common.atomic_files import atomic_file
from lshfast.common.errors import FormatError
from lshfast.common.progress import Progress
from lshfast.common.types import UInt64Array
from lshfast.index.hamming.plan import MAX_BITS
from lshfast.index.keys import check_utf8, kind_of
from lshfast.index.stores.base import Column
from lshfast.index.stores.file_sections import STEP_BYTES, mapped, named_format
from lshfast.kernels.checksum import checksum
from lshfast.kernels.hamming import MAX_ROWS

MAGIC = b"LSHFHAM\0"
VERSION = 1
KINDS = "int", "str"
HEADER = struct.Struct("<8sIIIIQQQQ")
FIRST_BYTE, ALIGNMENT = 128, 64


@dataclass(frozen=True)
class CodeFile:
    """The content of a file."""

    bits: int
    radius: int
    keys: Column
    codes: UInt64Array


def write_codes(
    path: str | os.PathLike[str], content: CodeFile, overwrite: bool = False, progress: Progress | None = None
) -> None:
    """Write a file, which appears when it is complete.

    Raises
    ------
    TypeError
        If the keys are neither all ints of 64 bits nor all strs.
    FileExistsError
        If the file exists and is not an index of this kind, and `overwrite` is false.
    """
    kind = kind_of(content.keys)
    if kind not in KINDS:
        raise TypeError("a file needs keys that are all ints of 64 bits or all strs")
    keys = _packed(content.keys)
    codes = np.ascontiguousarray(content.codes, "<u8").reshape(-1).view(np.uint8)
    sums = checksum(keys), checksum(codes)
    header = HEADER.pack(
        MAGIC, VERSION, KINDS.index(kind), content.bits, content.radius, len(content.codes), len(keys), *sums
    )
    header += struct.pack("<Q", checksum(header))
    total, done = len(keys) + len(codes), 0
    with atomic_file(path, overwrite or _is_ours(path)) as file:
        file.write(header.ljust(FIRST_BYTE, b"\0"))
        for part in (keys, np.zeros(-len(keys) % ALIGNMENT, np.uint8), codes):
            for at in range(0, len(part), STEP_BYTES):
                file.write(part[at : at + STEP_BYTES].data)
                done += len(part[at : at + STEP_BYTES])
                if progress:
                    progress("save", min(done, total), total)


def read_codes(path: str | os.PathLike[str]) -> CodeFile:
    """Read a file, and check everything in it but whether keys are different.

    Raises
    ------
    FormatError
        If the file is not an index of this kind, or is damaged.
    """
    with open(path, "rb") as file, named_format(path):
        data = mapped(file)
        header = bytes(data[: HEADER.size + 8])
        if header[:8] != MAGIC or len(header) < HEADER.size + 8:
            raise FormatError("header: not a Hamming index of lshfast")
        if struct.unpack_from("<Q", header, HEADER.size)[0] != checksum(header[: HEADER.size]):
            raise FormatError("header: its checksum is wrong")
        _, version, kind, bits, radius, n, key_bytes, *sums = HEADER.unpack_from(header)
        if version != VERSION:
            raise FormatError(f"header: version {version}; this library reads version {VERSION}")
        if kind >= len(KINDS) or not 1 <= bits <= MAX_BITS or radius > bits or n >= MAX_ROWS:
            raise FormatError(f"header: kind {kind}, {bits} bits, radius {radius}, {n} entries are out of range")
        words = -(-bits // 64)
        start = FIRST_BYTE + key_bytes + -key_bytes % ALIGNMENT
        if start + 8 * words * n != len(data):
            raise FormatError(f"the file has {len(data)} bytes; the header requires {start + 8 * words * n}")
        parts = data[FIRST_BYTE : FIRST_BYTE + key_bytes], data[start:]
        for part, name, wanted in zip(parts, ("keys", "codes"), sums, strict=True):
            if checksum(part) != wanted:
                raise FormatError(f"{name}: the checksum is wrong")
        codes = np.array(parts[1].view("<u8"), np.uint64).reshape(n, words)
        if bits % 64 and (codes[:, -1] >> np.uint64(bits % 64)).any():
            raise FormatError(f"codes: one has bits at {bits} and above")
        return CodeFile(bits, radius, _unpacked(parts[0], KINDS[kind], n), codes)


def _packed(keys: Column) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return keys as bytes."""
    if isinstance(keys, np.ndarray):
        return np.ascontiguousarray(keys, "<i8").view(np.uint8)
    check_utf8(keys)
    parts = [key.encode() for key in keys]
    places = np.cumsum([0, *map(len, parts)], dtype="<i8")
    return np.concatenate([places.view(np.uint8), np.frombuffer(b"".join(parts), np.uint8)])


def _unpacked(data: np.ndarray[tuple[int], np.dtype[np.uint8]], kind: str, n: int) -> Column:
    """Return keys from their bytes, or raise FormatError."""
    if kind == "int":
        if len(data) != 8 * n:
            raise FormatError(f"keys: {len(data)} bytes for {n} ints")
        return np.array(data.view("<i8"), np.int64)
    if len(data) < 8 * (n + 1):
        raise FormatError(f"keys: {len(data)} bytes for the places of {n} strs")
    places, texts = data[: 8 * (n + 1)].view("<i8").tolist(), bytes(data[8 * (n + 1) :])
    if places[0] != 0 or places[-1] != len(texts) or any(a > b for a, b in pairwise(places)):
        raise FormatError(f"keys: places must ascend from 0 to {len(texts)}")
    try:
        return [texts[a:b].decode() for a, b in pairwise(places)]
    except UnicodeDecodeError:
        raise FormatError("keys: not valid UTF-8") from None


def _is_ours(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an index of this kind, or empty, so that it may be replaced."""
    try:
        with open(path, "rb") as file:
            return file.read(8) in (MAGIC, b"")
    except FileNotFoundError:
        return False
